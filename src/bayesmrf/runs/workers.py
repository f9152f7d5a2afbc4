"""Chains in other processes or on other machines, by an executor or dask.

A worker advances one chain for some seconds and sends its State and draws back. The calling process commits them and
sends the State out again. So workers share nothing, need no common disk, and have nothing to lose but these seconds.
"""

from __future__ import annotations

import hashlib
import pickle
import re
import socket
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from copy import deepcopy
from importlib.metadata import version
from typing import Any

import cloudpickle

from ..base import Kernel
from ..declare.rule import is_client
from ..errors import OptionError, WorkerError, argument
from ..threads import one_thread
from .chain import Chain, DrawBuffer, Outcome, Plan, advance, interruptible
from .checkpoint import Position

SECONDS = 5.0  # of work on a chain between two exchanges
CONNECT = 10.0  # seconds to wait for a scheduler
TRIES = 3  # of a chain whose worker ended, by new workers
_KERNELS_KEPT = 4  # of a worker that serves several runs

VERSIONS = f"bayesmrf {version('bayesmrf')} on Python {sys.version_info.major}.{sys.version_info.minor}"
_kernels: dict[str, Kernel] = {}  # of this worker, by checksum


def work(versions: str, key: str, pickled: bytes | None, *chain: Any) -> Outcome | None:
    """Advance a chain in a worker; None if the worker does not know the kernel."""
    check_version(versions)
    if pickled is not None and key not in _kernels:
        while len(_kernels) >= _KERNELS_KEPT:
            _kernels.pop(next(iter(_kernels)), None)
        _kernels[key] = pickle.loads(pickled)
    kernel = _kernels.get(key)
    return None if kernel is None else _advance(kernel, *chain)


def check_version(versions: str) -> None:
    """Raise WorkerError if this worker has other versions than the process that calls it."""
    if versions != VERSIONS:
        raise WorkerError(f"a worker on {socket.gethostname()!r} runs {VERSIONS}, and this process {versions}; install "
                          "the same versions for all workers")  # fmt: skip


def _advance(kernel: Kernel, plan: Plan, start: Position, seconds: float) -> Outcome:
    buffer, first = DrawBuffer(plan, 1), plan.kept(start.steps)
    start = deepcopy(start)  # some executors, such as of ray, send arrays that cannot be written to
    with one_thread(), interruptible(buffer):
        outcome = advance(kernel, buffer, 0, start, time.monotonic() + seconds)
    values = buffer.between(0, first, plan.kept(outcome.position.steps))
    # The class of Info may be one that was made here, which cannot be pickled.
    latest = None if outcome.latest is None else outcome.latest._asdict()
    outcome = outcome._replace(latest=latest, first=first, values=values)
    return outcome if outcome.error is None else outcome._replace(error=sendable(outcome.error))


def sendable(error: BaseException) -> BaseException:
    """Return an error that can be pickled, with its traceback as a note."""
    text = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(f"In a worker on {socket.gethostname()!r}:\n{text}")
    return error


class ByExecutor:
    """Calls of `work` by an executor, in other processes or on other machines."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.pending: dict[Future[Any], int] = {}

    def run(self, calls: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """Begin calls, named by chains; return results, or errors, of calls that ended; empty if no call is left."""
        refused = {}
        for chain, call in calls.items():
            try:
                self.pending[self.executor.submit(work, *call)] = chain
            except Exception as e:  # such as an executor whose processes have ended
                refused[chain] = e
        if refused:
            return refused
        done, _ = wait(self.pending, return_when=FIRST_COMPLETED)
        return {self.pending.pop(future): _result(future) for future in done}

    def cancel(self) -> None:
        """Leave out the calls that have not begun."""
        self.pending = {future: chain for future, chain in self.pending.items() if not future.cancel()}


class ByDask(ByExecutor):
    """Calls of a dask Client.

    If a worker ends dask blames every call that was there. Those it gives up are then made with no other call at work,
    so that the one that ended the worker is found.
    """

    def __init__(self, client: Any) -> None:
        from distributed import KilledWorker

        super().__init__(client.get_executor(pure=False))
        self.blamed: type[Exception] = KilledWorker
        self.waiting: dict[int, Sequence[Any]] = {}
        self.suspects: set[int] = set()

    def run(self, calls: Mapping[int, Sequence[Any]]) -> dict[int, Any]:
        """See `ByExecutor`."""
        self.waiting |= calls
        begin, suspects = sorted(self.waiting), sorted(self.suspects & set(self.waiting))
        if suspects:
            begin = [] if self.pending else suspects[:1]
        results = super().run({chain: self.waiting.pop(chain) for chain in begin})
        for chain, result in results.items():
            if isinstance(result, self.blamed) and chain not in self.suspects:
                self.suspects.add(chain)
                results[chain] = BrokenExecutor(str(result))
            else:
                self.suspects.discard(chain)
        return results

    def cancel(self) -> None:
        """See `ByExecutor`."""
        self.waiting.clear()
        super().cancel()


def _result(future: Future[Any]) -> Any:
    try:
        return future.result()
    except Exception as e:
        return e


def workers_of(executor: Any) -> ByExecutor | None:
    """Return the workers of an option ``executor``; None for threads of this process."""
    return None if executor is None else (ByDask if is_client(executor) else ByExecutor)(executor)


def connect(address: str) -> Any:
    """Return a Client of the dask scheduler at an address.

    Raises
    ------
    OptionError
        If dask.distributed is not installed, or the scheduler cannot be reached.
    """
    expected = "the address of a dask scheduler that can be reached, such as tcp://10.0.0.7:8786"
    if not re.fullmatch(r"(tcp|tls)://[^\s/:]+:\d{1,5}", address):
        raise OptionError(option="cluster", got=address, expected=expected)
    try:
        from distributed import Client
    except ImportError:
        raise OptionError(f"{argument('cluster')} needs dask.distributed; run pip install 'bayesmrf[dask]'.") from None
    try:
        return Client(address, timeout=CONNECT, set_as_default=False)
    except (OSError, ValueError):
        raise OptionError(option="cluster", got=address, expected=expected) from None


def run_chains(kernel: Kernel, chains: Sequence[Chain], buffer: DrawBuffer, workers: ByExecutor) -> None:
    """Make the remaining steps of chains by workers."""
    pickled = cloudpickle.dumps(kernel)
    key = hashlib.blake2b(pickled, digest_size=16).hexdigest()
    tries = dict.fromkeys(range(len(chains)), 0)

    def call(chain: Chain, kernel: bytes | None) -> tuple[Any, ...]:
        return VERSIONS, key, kernel, buffer.plan, chain.position, SECONDS

    calls = {chain.index: call(chain, pickled) for chain in chains if chain.goes_on}
    while outcomes := workers.run(calls):
        calls = {}
        for index, outcome in outcomes.items():
            chain = chains[index]
            if outcome is None:
                calls[index] = call(chain, pickled)
            elif isinstance(outcome, Outcome):
                tries[index] = 0
                if outcome.error is not None:
                    chain.save()
                chain.take(outcome)
                if chain.goes_on:
                    calls[index] = call(chain, None)
            elif isinstance(outcome, BrokenExecutor) and tries[index] < TRIES:
                tries[index] += 1
                calls[index] = call(chain, pickled)
            elif not buffer.stop:
                chain.save()
                chain.error = _lost(chain, outcome)
                buffer.stop = isinstance(outcome, WorkerError)
        if buffer.stop:
            calls = {}
            workers.cancel()
    for chain in chains:
        chain.save()


def _lost(chain: Chain, error: Exception) -> WorkerError:
    """Return the error of a chain that no worker could go on with."""
    if isinstance(error, WorkerError):
        return error
    again = "; call again with the same checkpoint and new workers to continue" if chain.store else ""
    lost = WorkerError(f"chain {chain.number} lost its workers ({told(error)}){again}")
    lost.__cause__ = error
    return lost


def told(error: Exception) -> str:
    """Return the type and the first sentence of an error."""
    sentence = re.split(r"\.\s", str(error))[0]
    return f"{type(error).__name__}: {sentence:.300}"
