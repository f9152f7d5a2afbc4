"""A lock, so that one process at a time writes into a folder; locks of killed processes are removed.

A process first writes a lock file with host, process and start time into the folder, and then looks for other lock
files. If one of them belongs to a process that still runs, it removes its own. As each process writes before it looks,
at least one of two simultaneous processes sees the other. Lock files of processes that have ended are removed: names
are unique, so that a new file cannot be mistaken for an old one.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .errors import StoreError

_NAME = re.compile(r"(\.?)bayesmrf-\d+-[0-9a-f]+\.lock")  # with a dot while it is being written
_KEYS = ("host", "machine", "boot", "process", "started", "since")
_WAIT = 0.2  # seconds in which a simultaneous process removes its file


def is_lock(name: str) -> bool:
    """Return whether a file of this name is a lock, or an incomplete one."""
    return _NAME.fullmatch(name) is not None


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other processes, and other runs of this one, from writing into ``folder``, which is created if necessary.

    Raises
    ------
    StoreError
        If another process holds the lock (the message names it), or if the folder cannot be written.
    """
    try:
        mine = _announce(folder)
    except FileNotFoundError as e:
        if folder.is_dir():  # its holder has removed incomplete files
            raise StoreError(f"{folder} is in use by another process; wait until it ends") from e
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
        yield
    finally:
        mine.unlink(missing_ok=True)


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
            if holder and _may_run(holder):
                found[path] = holder
            else:
                path.unlink(missing_ok=True)
    return found


def _read(path: Path) -> dict[str, Any] | None:
    """Read the holder of a lock; None if no running process can have written the file."""
    try:
        holder = json.loads(path.read_bytes()) if path.is_file() and not path.is_symlink() else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(holder, dict) or set(holder) != set(_KEYS) or type(holder["process"]) is not int:
        return None
    return holder if 0 < holder["process"] < 2**31 else None


def _me() -> dict[str, Any]:
    """Describe this process, so that another on the same machine can check whether it still runs."""
    values = (
        socket.gethostname(),
        _machine(),
        _contents("/proc/sys/kernel/random/boot_id"),
        os.getpid(),
        _started(os.getpid()),
        datetime.now(UTC).isoformat(timespec="seconds"),
    )
    return dict(zip(_KEYS, values, strict=True))


def _may_run(holder: dict[str, Any]) -> bool:
    """Return whether a holder may still run; unknown, and so True, on another machine or in another container."""
    me = _me()
    if (holder["host"], holder["machine"]) != (me["host"], me["machine"]):
        return True
    if holder["boot"] != me["boot"]:
        return False
    return _started(holder["process"]) == holder["started"]  # its number may belong to a new process


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


def _in_use(folder: Path, path: Path, holder: dict[str, Any]) -> StoreError:
    me, process = _me(), f"process {holder['process']}"
    if (holder["host"], holder["machine"]) != (me["host"], me["machine"]):
        who = f"{process} on {holder['host']!r}"
        remedy = f"wait until it ends, or, if it no longer runs, remove {path}"
    else:
        who = "another run of this process" if holder["process"] == me["process"] else f"{process} on this machine"
        remedy = "wait until it ends, or give another path"
    return StoreError(f"{folder} is in use by {who} since {holder['since']!s:.25}; {remedy}")
