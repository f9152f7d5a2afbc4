#!/usr/bin/env bash
# One would guess: a lock whose holder was killed can be taken by the next process on the same host ("Peers can reclaim a
# crashed holder's PID marker on the same host", says the docstring of SoftFileLock).
# What happens (filelock 4.3.1, Linux): as long as nobody has waited for the killed process, it is a zombie, os.kill(pid, 0)
# succeeds, and it counts as the living holder. SoftFileLock is never free then; SoftFileLease only to who waits until the
# lease was seen unchanged for its whole duration. When the process was waited for, both are free at once.
# Why it matters here: in a container whose first process waits for no orphans, and under a launcher that does not wait for
# its children, killed runs stay zombies until the container ends. So runs use leases, and a second run observes a lease
# that was not renewed for a minute, instead of being refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet filelock==4.3.1 2>/dev/null || {
  echo "the pinned packages could not be installed" >&2
  exit 2
}
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import subprocess
import sys
from pathlib import Path

import filelock

print("filelock", filelock.__version__)
seen = {}
for name, options in {"SoftFileLock": {}, "SoftFileLease": {"lease_duration": 2.0}}.items():
    make = f"lock = filelock.{name}({name + '.lock'!r}, **{options})"
    code = f"import filelock, time; {make}; lock.acquire(); print('held', flush=True); time.sleep(600)"
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    holder.stdout.readline()
    holder.kill()
    while Path(f"/proc/{holder.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        pass

    def is_free(timeout: float) -> bool:
        lock = getattr(filelock, name)(f"{name}.lock", **options)
        try:
            with lock.acquire(timeout=timeout):
                return True
        except filelock.Timeout:
            return False

    zombie = [is_free(0), is_free(1), is_free(5)]
    holder.wait()
    seen[name] = (zombie, is_free(0))
    print(f"{name}: free to who waits 0, 1, 5 s for a zombie: {zombie}; when it was waited for: {seen[name][1]}")

assert seen == {"SoftFileLock": ([False, False, False], True), "SoftFileLease": ([False, False, True], True)}
PYTHON
