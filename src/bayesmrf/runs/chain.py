"""One chain of a run: its steps, the buffer of its draws, and its commits."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..base import Kernel
from ..rng import generator_from_array, generator_to_array
from .checkpoint import ChainStore, Position
from .draws import SparseDraws, SparseRows, Stretch, is_sparse, loaded, stored
from .sealed import as_written


class Plan(NamedTuple):
    """Number of steps, and which of them are kept."""

    n_draws: int
    n_warmup: int
    thin: int

    @property
    def n_steps(self) -> int:
        """Steps of a whole chain."""
        return self.n_warmup + self.n_draws * self.thin

    def kept(self, steps: int) -> int:
        """Return the number of draws after ``steps`` steps."""
        return max(0, steps - self.n_warmup) // self.thin


class DrawBuffer:
    """Shared data of the chains of one process: their draws, their progress, and the request to stop.

    Threads write their draws where the caller reads them, without a copy.
    """

    def __init__(self, plan: Plan, n_chains: int) -> None:
        self.plan, self.n_chains, self.room = plan, n_chains, plan.n_draws
        self.values: dict[str, np.ndarray | list[SparseRows]] = {}
        self.steps = [0] * n_chains
        self.latest: list[Any] = [None] * n_chains
        self.began = time.time()
        self.outlook: Any = None  # of a run until good, after its first look
        self.stop = False
        self.lock = threading.Lock()

    def rows(
        self, name: str, chain: int, dims: tuple[str, ...], shape: tuple[int, ...], dtype: Any
    ) -> np.ndarray | SparseRows:
        """Allocate the draws (n_draws, ...) of one field of one chain."""
        with self.lock:
            if name not in self.values:
                self.values[name] = (
                    [SparseRows(shape, dtype) for _ in range(self.n_chains)]
                    if is_sparse(dims, shape, dtype)
                    else np.empty((self.n_chains, self.room, *shape), dtype)
                )
            return self.values[name][chain]

    def plan_until(self, n_draws: int) -> None:
        """Let the chains, which are at rest, end after so many draws; make room for them, one field after another."""
        self.plan = self.plan._replace(n_draws=n_draws)
        if n_draws > self.room:
            for name, old in self.values.items():
                if isinstance(old, np.ndarray):  # others grow by themselves
                    new = np.empty((self.n_chains, n_draws, *old.shape[2:]), old.dtype)
                    new[:, : self.room] = old
                    self.values[name] = new
            self.room = n_draws

    def between(self, chain: int, start: int, stop: int) -> dict[str, np.ndarray | Stretch]:
        """Return draws ``start`` to ``stop`` of a chain."""
        return {name: rows[chain][start:stop] for name, rows in self.values.items()}

    def block(self, name: str, chains: np.ndarray, n: int) -> np.ndarray | SparseDraws:
        """Return the first n draws of some chains."""
        rows = self.values[name]
        if isinstance(rows, np.ndarray):
            return rows[:, :n] if len(chains) == self.n_chains else rows[chains, :n]
        sparse = [rows[chain] for chain in chains]
        return SparseDraws([r.parts(n) for r in sparse], (len(sparse), n, *sparse[0].shape), sparse[0].dtype)


class Outcome(NamedTuple):
    """Result of the steps of a chain: its position, the error that ended it, and a worker's draws since ``first``."""

    position: Position
    latest: Any
    error: BaseException | None
    first: int
    values: dict[str, np.ndarray | Stretch]


def advance(kernel: Kernel, buffer: DrawBuffer, chain: int, start: Position, until: float) -> Outcome:
    """Make steps until the end of the chain, a time of the monotonic clock, a request to stop, or an error.

    A chain without a State gets its first one, and no step.
    """
    step, state, generator = start
    rng, plan, clock = generator_from_array(generator), buffer.plan, time.monotonic
    n_steps, n_warmup, thin = plan.n_steps, plan.n_warmup, plan.thin
    info = None
    rows: list[_Row] = []
    error: BaseException | None = None
    steps, latest = buffer.steps, buffer.latest
    try:
        going = state is not None
        if not going:
            state = kernel.init(rng)
        while going and step < n_steps and not buffer.stop:
            state, info = kernel.step(rng, state)
            kept, rest = divmod(step + 1 - n_warmup, thin)
            if kept > 0 and rest == 0:
                if not rows:
                    rows = _rows(kernel, buffer, chain, info)
                for row, value in zip(rows, info, strict=True):
                    if getattr(value, "dtype", type(value)) != row.kind:
                        row.check(value)
                    row.values[kept - 1] = value
            step += 1  # at the end, so that an interruption never counts a draw that is not written
            steps[chain], latest[chain] = step, info
            going = clock() < until
    except BaseException as e:
        error = e
    # An interrupted step may leave State and generator inconsistent: they are not used.
    position = Position(step, state, generator_to_array(rng)) if error is None else Position(step, None, generator)
    return Outcome(position, info, error, 0, {})


class Chain:
    """A chain in the process that collects its draws: its position, its rows in the buffer, and its commits.

    Attributes
    ----------
    position : Position
        After the last step that was taken.
    error : BaseException or None
        What ended it.
    index, number : int
        Its place on the buffer, and in the run, of which the buffer may have one chain alone.
    """

    def __init__(self, kernel: Kernel, buffer: DrawBuffer, index: int, generator: np.ndarray, store: ChainStore | None):
        self.kernel, self.buffer, self.index, self.store = kernel, buffer, index, store
        self.number = store.whose["chain"] if store else index
        self.error: BaseException | None = None
        self.position = self.saved = (store and store.load()) or Position(0, None, generator)
        buffer.steps[index] = self.position.steps
        if store:
            with as_written(store.folder):
                self._read(store)

    @property
    def goes_on(self) -> bool:
        """Whether steps remain that can be made."""
        return self.error is None and self.position.steps < self.buffer.plan.n_steps

    @property
    def due(self) -> float:
        """Time of the next commit, on the monotonic clock."""
        return self.store.due if self.store else np.inf

    def run(self) -> None:
        """Make all steps here, until a request to stop."""
        while self.goes_on and not self.buffer.stop:
            self.take(advance(self.kernel, self.buffer, self.index, self.position, self.due))
        self.save()

    def take(self, outcome: Outcome) -> None:
        """Take the outcome of `advance`, from this or another process, and commit it if a commit is due."""
        try:
            self._copy(outcome)
            if outcome.error is not None:
                raise outcome.error
            self.position = outcome.position
            if self.saved.state is None or time.monotonic() > self.due:
                self.save()  # the first fails early if the State cannot be stored
        except BaseException as e:
            self.error, self.buffer.stop = e, True

    def save(self) -> None:
        """Commit the steps since the last commit."""
        if self.store is None or self.error is not None or self.position is self.saved:
            return
        plan, names = self.buffer.plan, self.kernel.dims
        new = self.buffer.between(self.index, plan.kept(self.saved.steps), plan.kept(self.position.steps))
        try:
            draws = stored({name: new[name] for name in names if name in new})
            self.store.commit(*self.position, draws, time.time() - self.buffer.began)
            self.saved = self.position
        except BaseException as e:
            self.error, self.buffer.stop = e, True

    def _copy(self, outcome: Outcome) -> None:
        """Copy the draws of a worker into the buffer."""
        buffer, steps = self.buffer, outcome.position.steps
        for name, v in outcome.values.items():
            self._put(name, v, outcome.first)
        buffer.steps[self.index], buffer.latest[self.index] = steps, outcome.latest

    def _put(self, name: str, v: np.ndarray | Stretch, first: int) -> None:
        rows = self.buffer.rows(name, self.index, self.kernel.dims[name], v.shape[1:], v.dtype)
        _check_kind(name, v.dtype, v, rows)
        if isinstance(rows, SparseRows):
            rows.extend(v)
        else:
            rows[first : first + len(v)] = v

    def _read(self, store: ChainStore) -> None:
        """Copy the committed draws into the buffer."""
        at = 0
        for arrays in store.load_draws():
            part = loaded(arrays)
            n = len(next(iter(part.values())))
            for name, dims in self.kernel.dims.items():
                v = part[name]
                rows = self.buffer.rows(name, self.index, dims, v.shape[1:], v.dtype)
                room = rows.shape if isinstance(rows, SparseRows) else rows[at : at + n].shape[1:]
                if v.shape != (n, *room) or len(v.shape) != 1 + len(dims) or rows.dtype != v.dtype:
                    raise ValueError
                self._put(name, v, at)
            at += n
        if at != self.buffer.plan.kept(self.position.steps):
            raise ValueError


class _Row(NamedTuple):
    """Where the draws of one field of Info are written, and the type of the first of them."""

    name: str
    values: np.ndarray | SparseRows
    kind: Any

    def check(self, value: Any) -> None:
        """Refuse a value that would be truncated, such as a fraction among integers."""
        _check_kind(self.name, np.asarray(value).dtype, value, self.values)


def _check_kind(name: str, kind: np.dtype, value: Any, into: np.ndarray | SparseRows) -> None:
    if not np.can_cast(kind, into.dtype, "same_kind"):
        raise TypeError(f"Info.{name} is {value!r:.200} now and was {into.dtype} in the first draw")


def _rows(kernel: Kernel, buffer: DrawBuffer, chain: int, info: Any) -> list[_Row]:
    """Allocate the draws of a chain, in the order of the fields of Info."""
    if set(info._fields) != set(kernel.dims):
        raise TypeError(f"kernel {kernel.name}: dims names {sorted(kernel.dims)}, Info has {sorted(info._fields)}")
    rows = []
    for name, value in zip(info._fields, info, strict=True):
        a, dims = np.asarray(value), kernel.dims[name]
        if a.ndim != len(dims) or a.dtype.kind not in "biuf":
            raise TypeError(f"kernel {kernel.name}: Info.{name} is {a.dtype} {a.shape}, dims says {dims}")
        rows.append(_Row(name, buffer.rows(name, chain, dims, a.shape, a.dtype), getattr(value, "dtype", type(value))))
        rows[-1].check(value)
    return rows


@contextmanager
def interruptible(buffer: DrawBuffer) -> Iterator[None]:
    """Turn the first Ctrl-C into a request to stop between two steps; the second interrupts as usual."""

    def ask(signum: int, frame: Any) -> None:
        buffer.stop = True
        signal.signal(signal.SIGINT, signal.default_int_handler)

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        buffer.stop = True
