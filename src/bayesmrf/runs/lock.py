"""A lock, so that one process at a time writes into a folder; locks of killed processes are removed.

A process first writes a lock file with host, process and start time into the folder, and then looks for other lock
files. If one of them belongs to a process that still runs, it removes its own. As each process writes before it looks,
at least one of two simultaneous processes sees the other. Lock files of processes that have ended are removed: names
are unique, so that a new file cannot be mistaken for an old one.

Whether a process of another machine still runs cannot be asked. So a holder renews the time of its file, and one that
was not renewed for `LEASE` seconds is removed. Times are compared by the clock of the file system, which may be
shared by a network: that of the other file with that of one's own. A holder that was suspended for so long finds its
file gone, and writes no more (`bayesmrf.runs.checkpoint.ChainStore.commit`).
"""

from __future__ import annotations

import json
import os
import random
import re
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..errors import StoreError

_NAME = re.compile(r"(\.?)bayesmrf-\d+-[0-9a-f]+\.lock")  # with a dot while it is being written
_WAIT = 0.2  # seconds in which a simultaneous process removes its file
LEASE = 60.0  # seconds for which a lock of another machine is valid without being renewed
_BEAT = 10.0  # seconds between two renewals
RENEWING = "bayesmrf-locks"  # the thread that renews them
_HELD: set[Path] = set()  # lock files of this process
_RENEWED = threading.Event()  # whether that thread runs
_LOCK = threading.Lock()


def is_lock(name: str) -> bool:
    """Return whether a file of this name is a lock, or an incomplete one."""
    return _NAME.fullmatch(name) is not None


@contextmanager
def hold(folder: Path, patience: float = 0.0) -> Iterator[Path]:
    """Keep other processes, and other runs of this one, from writing into ``folder``, which is created if necessary.

    Parameters
    ----------
    folder : Path
    patience : float
        Seconds to wait for the holder to end.

    Yields
    ------
    Path
        The lock file. It is gone if another machine took the lock over, because this process had stopped renewing it.

    Raises
    ------
    StoreError
        If another process holds the lock (the message names it), or if the folder cannot be written.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            mine = _acquire(folder)
            break
        except _InUse:
            if time.monotonic() >= deadline:
                raise
            time.sleep(random.uniform(0.1, 1))  # not in step with others that wait
    try:
        with _LOCK:
            _HELD.add(mine)
            if not _RENEWED.is_set():
                _RENEWED.set()
                threading.Thread(target=_renew, name=RENEWING, daemon=True).start()
        yield mine
    finally:
        with _LOCK:
            _HELD.discard(mine)
        mine.unlink(missing_ok=True)


class _InUse(StoreError):
    """Another process holds the lock."""


def _acquire(folder: Path) -> Path:
    """Write a lock file and look for others."""
    try:
        mine = _announce(folder)
    except FileNotFoundError as e:
        if folder.is_dir():  # its holder has removed incomplete files
            raise _InUse(f"{folder} is in use by another process; wait until it ends") from e
        raise StoreError(f"{folder} cannot be written ({e.strerror}); give another path") from e
    except OSError as e:
        raise StoreError(f"{folder} cannot be written ({e.strerror}); give another path, or make room") from e
    try:
        others = _others(mine)
        if others and all(mine < other for other in others):
            time.sleep(_WAIT)
            others = _others(mine)
        if others:
            raise _in_use(folder, *others.popitem())
        for path in folder.glob(".bayesmrf-*.lock"):  # incomplete files of killed processes
            path.unlink(missing_ok=True)
    except BaseException:
        mine.unlink(missing_ok=True)
        raise
    return mine


def _renew() -> None:
    """Renew the times of the lock files of this process, while there are any."""
    while True:
        with _LOCK:
            held = list(_HELD)
            if not held:
                _RENEWED.clear()
                return
        for path in held:
            with suppress(OSError):
                os.utime(path)
        time.sleep(_BEAT)


def _announce(folder: Path) -> Path:
    """Write a lock file with this process; it is complete when it appears."""
    folder.mkdir(parents=True, exist_ok=True)
    mine = folder / f"bayesmrf-{os.getpid()}-{secrets.token_hex(4)}.lock"
    partial = folder / f".{mine.name}"
    try:
        with partial.open("x") as file:
            json.dump(_me(), file)
        partial.replace(mine)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    return mine


def _others(mine: Path) -> dict[Path, dict[str, Any]]:
    """Return the lock files of other processes that may still run, and remove the rest."""
    found = {}
    for path in mine.parent.iterdir():
        if path != mine and is_lock(path.name) and not path.name.startswith("."):
            holder = _read(path)
            if holder and _may_run(holder) and not (_is_elsewhere(holder) and _age(path, mine) > LEASE):
                found[path] = holder
            else:
                path.unlink(missing_ok=True)
    return found


def _age(path: Path, mine: Path) -> float:
    """Return the seconds since a lock file was renewed, by the clock of the file system."""
    os.utime(mine)
    try:
        with path.open("rb") as file, mine.open("rb") as now:  # opened, so that a network file system asks its server
            return os.fstat(now.fileno()).st_mtime - os.fstat(file.fileno()).st_mtime
    except OSError:
        return 0.0


def _read(path: Path) -> dict[str, Any] | None:
    """Read the holder of a lock; None if no running process can have written the file."""
    try:
        holder = json.loads(path.read_bytes()) if path.is_file() and not path.is_symlink() else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(holder, dict) or set(holder) != set(_me()) or type(holder["process"]) is not int:
        return None
    return holder if 0 < holder["process"] < 2**31 else None


def _me() -> dict[str, Any]:
    """Describe this process, so that another on the same machine can check whether it still runs."""
    return {
        "host": socket.gethostname(),
        "machine": _machine(),
        "boot": _contents("/proc/sys/kernel/random/boot_id"),
        "process": os.getpid(),
        "started": _started(os.getpid()),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _may_run(holder: dict[str, Any]) -> bool:
    """Return whether a holder may still run; unknown, and so True, on another machine or in another container."""
    if _is_elsewhere(holder):
        return True
    if holder["boot"] != _contents("/proc/sys/kernel/random/boot_id"):
        return False
    return _started(holder["process"]) == holder["started"]  # its number may belong to a new process


def _is_elsewhere(holder: dict[str, Any]) -> bool:
    """Return whether a holder is on another machine, or in another container."""
    return (holder["host"], holder["machine"]) != (socket.gethostname(), _machine())


def _started(process: int) -> str | None:
    """Return when a process began, in ticks since the machine did ("" if unknown); None if it has ended."""
    if Path("/proc/self/stat").exists():
        state, *fields = _contents(f"/proc/{process}/stat").rpartition(")")[2].split() or ["X"]
        return None if state in "ZX" else fields[18]
    if os.name == "posix":
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
    return ""


def _machine() -> str:
    """Identify the machine and, in a container, its process namespace."""
    try:
        numbering = os.readlink("/proc/self/ns/pid")
    except OSError:
        numbering = ""
    return f"{_contents('/etc/machine-id')} {numbering}"


def _contents(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _in_use(folder: Path, path: Path, holder: dict[str, Any]) -> _InUse:
    process = f"process {holder['process']}"
    if _is_elsewhere(holder):
        who = f"{process} on {holder['host']!r}"
        remedy = f"wait until it ends, or, if it no longer runs, wait for {LEASE:.0f} s, or remove {path}"
    else:
        who = "another run of this process" if holder["process"] == os.getpid() else f"{process} on this machine"
        remedy = "wait until it ends, or give another path"
    return _InUse(f"{folder} is in use by {who} since {holder['since']!s:.25}; {remedy}")
