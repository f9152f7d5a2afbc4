"""A lock, so that one process at a time writes into a folder: a lease of filelock, which its holder renews.

The lease of a killed process is taken over: at once if it ran on this machine, else when it was not renewed for
`LEASE` seconds, as a process of another machine or container cannot be asked whether it still runs. A holder that was
suspended for so long finds its lease gone, and writes no more (`bayesmrf.runs.checkpoint.ChainStore.commit`).
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import LeaseSettingsMismatch, SoftFileLease, Timeout

from ..errors import StoreError, argument

_log = logging.getLogger(__name__)
_NAME = "bayesmrf.lock"
LEASE = 60.0  # seconds for which a lease is valid without being renewed
_OBSERVED = 1.5 * LEASE  # filelock takes a lease over after it has itself seen it unchanged for so long
_BEAT = 10.0  # seconds between two renewals


def is_lock(name: str) -> bool:
    """Return whether a file of this name is a lock, or one that is being taken over."""
    return name.startswith(_NAME)


@contextmanager
def hold(folder: Path, patience: float = 0.0, option: str = "") -> Iterator[None]:
    """Keep other processes, and other runs of this one, from writing into ``folder``, which is created if necessary.

    A lock that seems to be of a killed process is observed, for a minute, and then taken over if it is.

    Parameters
    ----------
    folder : Path
    patience : float
        Seconds to wait for the holder to end.
    option : str
        Argument that messages name, with a folder that a user gave.

    Raises
    ------
    StoreError
        If another process holds the lock (the message names it), or if the folder cannot be written.
    """
    path, named = folder / _NAME, f"{argument(option)}: {folder}" if option else str(folder)
    lease = SoftFileLease(path, lease_duration=LEASE, heartbeat_interval=_BEAT, thread_local=False, poll_interval=0.2)
    try:
        try:
            lease.acquire(timeout=patience)
        except Timeout:
            if not _is_abandoned(path):
                raise
            _log.info("%s was locked by a process that seems to have ended: waiting for a minute, to be sure", folder)
            lease.acquire(timeout=_OBSERVED)
    except (Timeout, LeaseSettingsMismatch) as e:
        raise _in_use(named, lease) from e
    except OSError as e:
        raise StoreError(f"{named} cannot be written ({e.strerror}); give another path, or make room") from e
    try:
        yield
    finally:
        lease.release()


def _is_abandoned(path: Path) -> bool:
    """Return whether a lock file was not renewed for `LEASE`, as far as the clocks of the two machines agree.

    An empty file, which a loss of power may leave, is never taken over by filelock: it gets some content.
    """
    try:
        old = time.time() - path.lstat().st_mtime > LEASE
        if old and path.is_file() and not path.is_symlink() and not path.stat().st_size:
            with path.open("r+b") as file:
                file.write(b"abandoned\n")  # what its writer may still write is longer
    except OSError:
        return False
    return old


def _in_use(named: str, lease: SoftFileLease) -> StoreError:
    # Each look reads the file again, which may have another owner by then, or none.
    ours, owner, remedy = lease.is_lock_held_by_us, lease.owner, "wait until it ends, or give another path"
    if ours:
        return StoreError(f"{named} is in use by another run of this process; {remedy}")
    if owner is None:
        return StoreError(f"{named} is in use by another process; {remedy}")
    host = owner.hostname.partition("?pidns-")[0]  # behind it, the numbering of processes in a container
    where = "this machine" if host == socket.gethostname() else repr(host)
    remedy += f"; if it no longer runs, call again in a minute, or remove {lease.lock_file}"
    return StoreError(f"{named} is in use by process {owner.pid} on {where}; {remedy}")
