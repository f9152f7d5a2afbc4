"""One process at a time writes into a folder: a lock that a kill leaves harmless.

Whoever wants the folder puts a file of its own there, with host, process and start time, and then looks for the files
of others. If one of them is of a process that still runs, it takes its own back. Since each writes before it looks, of
two that come at the same moment at least one sees the other. Files of processes that have ended are removed: no name is
used twice, so that nobody's new file can be mistaken for an old one.
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
_WAIT = 0.2  # seconds in which another that came at the same moment takes its file back


def is_lock(name: str) -> bool:
    """Whether a file of this name is a lock, or was to become one."""
    return _NAME.fullmatch(name) is not None


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keep other processes, and other runs of this one, from writing into ``folder``, which is made if need be.

    Raises
    ------
    StoreError
        If another process holds it, which is named, or if the folder cannot be written.
    """
    try:
        mine = _announce(folder)
    except FileNotFoundError as e:
        if folder.is_dir():  # its holder has cleared away what was half written
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
        for path in folder.glob(".bayesmrf-*.lock"):  # of processes that a kill has kept from writing them
            path.unlink(missing_ok=True)
        yield
    finally:
        mine.unlink(missing_ok=True)


def _announce(folder: Path) -> Path:
    """Write a file that says who wants the folder; it is whole when it appears."""
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
    """Files of other holders that may still run; those that have ended are removed."""
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
    """Who holds it; None for what no running process can have written."""
    try:
        holder = json.loads(path.read_bytes()) if path.is_file() and not path.is_symlink() else None
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(holder, dict) or set(holder) != set(_KEYS) or type(holder["process"]) is not int:
        return None
    return holder if 0 < holder["process"] < 2**31 else None


def _me() -> dict[str, Any]:
    """Describe this process, so that another on the same machine can tell whether it still runs."""
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
    """Whether a holder still runs; that of another machine, or in another container, may."""
    me = _me()
    if (holder["host"], holder["machine"]) != (me["host"], me["machine"]):
        return True
    if holder["boot"] != me["boot"]:
        return False
    return _started(holder["process"]) == holder["started"]  # a number may belong to a new process


def _started(process: int) -> str | None:
    """When a process began, in ticks since the machine did ("" where that is not known); None if it has ended."""
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
    """The machine and, in a container, its processes' own numbering."""
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
