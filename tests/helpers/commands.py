"""Commands given inside the process, and in one of their own that is stopped in its midst."""

import re
import subprocess
import sys
import time

from bayesmrf.errors import StoreError
from bayesmrf.runs.checkpoint import steps_of


def one_sentence(given, *fragments):
    code, _, err = given
    assert code == 2
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    for fragment in fragments:
        assert re.search(fragment, err), f"{fragment!r} is not in {err!r}"


# Commits after every step.
STOPPABLE = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import bayesmrf.runs.checkpoint
bayesmrf.runs.checkpoint.pause = lambda *_: 0.0
import bayesmrf.progress
bayesmrf.progress.FIRST = bayesmrf.progress.LONG = float('inf')
from bayesmrf.cli import main
main()
"""


def stopped_by(how, arguments, store, folder, after=30):
    """Give a command in ``folder`` and a signal when its chains have made more steps; exit code, output and errors."""
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPABLE, *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    begun = time.monotonic()
    while time.monotonic() - begun < 120 and process.poll() is None:
        try:
            if min(steps_of(folder / store)[0]) > after:
                break
        except StoreError:
            pass
        time.sleep(0.02)
    process.send_signal(how)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err
