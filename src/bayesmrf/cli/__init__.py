"""The command line: ``bayesmrf demo``, ``groups``, ``posterior``, ``structure``, ``evidence`` and ``report``.

User-fixable errors are one line on standard error, with exit code 2. Slow imports are inside the commands.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Any

__all__ = ["main", "run"]

_DROPPED = threading.Event()  # whether an interruption was dropped by Python, or ended the command unexpectedly


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    from . import app

    return app.run(arguments)


def main() -> None:
    """Run the command ``bayesmrf``, and end the process with its exit code.

    An interruption never ends with the code 0. Python drops the exceptions of callbacks, such as those of compilation
    and of garbage collection: such an interruption is repeated, and what fails in between is its consequence. When all
    is done SIGINT ends the process: Python would drop an interruption while it ends its threads, and return the code
    as if there had been none.
    """
    sys.unraisablehook = _repeated
    try:
        code = run(sys.argv[1:])
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
    except BaseException as e:
        if not isinstance(e, KeyboardInterrupt) and not _DROPPED.is_set():
            raise
        code = 0  # interrupted during the imports, for the second time, or in a callback
        _DROPPED.set()
    if code == 0 and _DROPPED.is_set():
        print("interrupted: give the same command again", file=sys.stderr)
        code = 130
    sys.exit(code)


def _repeated(dropped: Any) -> None:
    """Interrupt the main thread again if the exception that Python drops is an interruption."""
    if not issubclass(dropped.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)
        return
    _DROPPED.set()
    later = threading.Timer(0.01, _thread.interrupt_main)  # when this function has returned
    later.daemon = True
    later.start()
