"""The loop over draws: chains, warm-up, thinning, workers, interruption, checkpoint."""

from __future__ import annotations

import logging
import signal
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed
from joblib.parallel import get_active_backend

from . import options
from .base import Kernel
from .blas import one_thread
from .checkpoint import ChainStore, Position, opened, seed_of
from .errors import BayesMRFWarning
from .identity import modules_of, record_of
from .memory import check_draws
from .progress import chain_bars
from .rng import as_seed_sequence, generator_from_array, generator_to_array, spawn_generators
from .store import CHECKPOINT, as_written, is_ours, read_kind

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the chains.

    Attributes
    ----------
    values : dict of str to (n_chains, n_draws, ...) array
        One array for each field of the kernel's Info.
    dims : dict of str to tuple of str
        Names of the dimensions behind chain and draw.
    kernel : str
        The kernel's name.
    n_warmup, thin : int
        As requested.
    chains : tuple of int
        Indices of the chains: all of them, unless the run was interrupted.
    complete : bool
        False when the run was interrupted or failed before all draws were made.
    run_time : float
        Seconds of wall time, including those before a resumption.
    seed : dict
        ``entropy``, ``spawn_key`` and ``spawned`` of the `numpy.random.SeedSequence` the chains descend from.
    """

    values: dict[str, np.ndarray]
    dims: dict[str, tuple[str, ...]]
    kernel: str
    n_warmup: int
    thin: int
    chains: tuple[int, ...]
    complete: bool
    run_time: float
    seed: dict[str, Any]

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.chains)

    @property
    def n_draws(self) -> int:
        """Draws of each chain."""
        return next(iter(self.values.values())).shape[1] if self.values else 0


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


class _Board:
    """Shared data of the chains of one process: their draws, their progress, and the request to stop.

    Threads write their draws where the caller reads them, without a copy. A worker process has a board of its own.
    """

    def __init__(self, plan: Plan, n_chains: int) -> None:
        self.plan, self.n_chains = plan, n_chains
        self.values: dict[str, np.ndarray] = {}
        self.steps = [0] * n_chains
        self.latest: list[Any] = [None] * n_chains
        self.stop = False
        self.lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Board, (self.plan, self.n_chains)

    def rows(self, name: str, chain: int, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Allocate the draws (n_draws, ...) of one field of one chain."""
        with self.lock:
            if name not in self.values:
                self.values[name] = np.empty((self.n_chains, self.plan.n_draws, *shape), dtype)
            return self.values[name][chain]


class _Outcome(NamedTuple):
    """Result of a chain: its draws since the start, and the error that ended it."""

    steps: int
    first: int
    values: dict[str, np.ndarray]
    error: BaseException | None


def sample(
    kernel: Kernel,
    *,
    n_draws: int,
    n_warmup: int = 0,
    n_chains: int = 4,
    thin: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
    checkpoint: str | PathLike[str] | None = None,
    overwrite: bool = False,
) -> Draws:
    """Run the chains of ``kernel``, and record every ``thin``-th state after ``n_warmup`` steps.

    Each chain has its own generator, spawned from one seed: the draws do not depend on ``n_jobs``.

    Parameters
    ----------
    kernel : Kernel
        The transition.
    n_draws, n_warmup, n_chains, thin : int
        Draws kept of each chain, steps before the first of them, chains, and steps for one draw.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed from which the generators of the chains are spawned.
    n_jobs : int, optional
        Number of chains run in parallel, by default one for each core, in threads. Inside `joblib.parallel_config`
        its backend is used; chains in other processes show no progress, and do not notice a Ctrl-C that
        reaches this process only.
    progress : bool
        False shows no bars. They are never shown when standard error is not a terminal.
    checkpoint : path, optional
        Folder (zarr) in which the run is stored, and from which it continues with the same draws if the kernel and all
        its fields are equal (see `bayesmrf.identity`).
    overwrite : bool
        Start again if ``checkpoint`` contains another run.

    Returns
    -------
    Draws
        After an interruption (Ctrl-C) the largest full block of chains by draws, with a warning. A second Ctrl-C does
        not wait for the current steps and may lose the draws.

    Raises
    ------
    OptionError
        If a number is out of range.
    StoreError
        If the checkpoint belongs to another run, is damaged, or cannot be written.
    Exception
        Any exception of a step, with the draws so far in its attribute ``draws``.
    KeyboardInterrupt
        If interrupted before the first draw.
    """
    options.check(
        {
            "n_draws": n_draws,
            "n_warmup": n_warmup,
            "n_chains": n_chains,
            "thin": thin,
            "random_state": random_state,
            "n_jobs": n_jobs,
            "progress": progress,
            "checkpoint": checkpoint,
            "overwrite": overwrite,
        }
    )
    check_draws(kernel.dims, {}, n_draws, n_chains)
    plan = Plan(int(n_draws), int(n_warmup), int(thin))
    board = _Board(plan, int(n_chains))
    seed = None if random_state is None and checkpoint is not None else _describe(as_seed_sequence(random_state))
    if checkpoint is None:
        assert seed is not None
        outcomes, run_time = _run_chains(kernel, board, seed, [None] * board.n_chains, n_jobs, progress)
    else:
        settings = {
            "version": version("bayesmrf"),
            "kernel": kernel.name,
            "identity": record_of(kernel),
            "n_chains": board.n_chains,
            **plan._asdict(),
            "seed": seed,
        }
        fresh, modules = _describe(np.random.SeedSequence()), modules_of(kernel)
        with opened(Path(checkpoint), settings, fresh, overwrite, modules) as (settings, stores):
            seed = settings["seed"]
            outcomes, run_time = _run_chains(kernel, board, seed, stores, n_jobs, progress)
    draws = _block(kernel, board, run_time, seed)
    for chain, outcome in outcomes.items():
        error: Any = outcome.error
        if error is not None and not isinstance(error, KeyboardInterrupt):
            error.draws = draws
            error.add_note(
                f"Chain {chain} failed in step {outcome.steps + 1} of {plan.n_steps}; the attribute `draws` of this "
                f"error contains {draws.n_draws} draws of {draws.n_chains} chain(s)."
            )
            raise error
    if draws.n_draws == 0:
        raise KeyboardInterrupt("the run was stopped before the first draw")
    if not draws.complete:
        again = "" if checkpoint is None else "; call again with the same checkpoint to continue the run"
        warnings.warn(
            f"the run was stopped: {draws.n_draws} of {n_draws} draws of {draws.n_chains} of {n_chains} chains are "
            f"returned{again}",
            BayesMRFWarning,
            stacklevel=2,
        )
    return draws


def _run_chains(
    kernel: Kernel,
    board: _Board,
    seed: dict[str, Any],
    stores: Sequence[ChainStore | None],
    n_jobs: int | None,
    progress: bool,
) -> tuple[dict[int, _Outcome], float]:
    """Run the remaining steps of all chains; return their outcomes, and the seconds of the whole run."""
    plan, generators = board.plan, _spawn(seed, board.n_chains)
    starts = [_start(kernel, board, chain, generators[chain], store) for chain, store in enumerate(stores)]
    if stores[0] and any(start.steps for start in starts):
        least = plan.kept(min(start.steps for start in starts))
        _log.info("%s contains a stopped run: continuing, its chains have at least %d of %d draws",
                  stores[0].folder.parents[1], least, plan.n_draws)  # fmt: skip
    earlier = max((store.record["run_time"] for store in stores if store), default=0.0)
    began = time.time() - earlier
    todo = [chain for chain in range(board.n_chains) if starts[chain].steps < plan.n_steps]
    # Chains use the cores as threads.
    with one_thread(), _interruptible(board), chain_bars(board, todo, plan.n_warmup, plan.n_steps, plan.thin, progress):
        outcomes = Parallel(n_jobs=_n_jobs(n_jobs, board.n_chains), prefer="threads", batch_size=1)(
            delayed(_run_chain)(kernel, chain, starts[chain], board, stores[chain], began) for chain in todo
        )
    found = dict(zip(todo, outcomes, strict=True))
    for chain, outcome in found.items():
        _collect(board, chain, outcome)
    return found, time.time() - began if todo else earlier


def seed_sequence(
    random_state: Any, checkpoint: str | PathLike[str] | None = None, overwrite: bool = False
) -> np.random.SeedSequence:
    """Return the seed of a run: ``random_state`` or, if that is None, the seed of the checkpoint if there is one.

    For callers that draw random numbers before `sample`, from children of this seed.
    """
    path = None if checkpoint is None or overwrite or random_state is not None else Path(checkpoint)
    if path is None or not is_ours(path) or read_kind(path) != CHECKPOINT:
        seeds = as_seed_sequence(random_state)
        # A copy, so that children spawned by a run do not change the SeedSequence of the caller.
        return np.random.SeedSequence(
            seeds.entropy, spawn_key=seeds.spawn_key, n_children_spawned=seeds.n_children_spawned
        )
    return seed_of(path)


def _n_jobs(n_jobs: int | None, n_chains: int) -> int:
    """Return the number of chains run in parallel: as given, as in `joblib.parallel_config`, or one for each core."""
    if n_jobs is None:
        _, n_jobs = get_active_backend()
    return min(n_chains, cpu_count()) if n_jobs is None else n_jobs


def _describe(seeds: np.random.SeedSequence) -> dict[str, Any]:
    """Describe a SeedSequence in plain JSON values."""
    entropy: Any = seeds.entropy
    entropy = int(entropy) if np.ndim(entropy) == 0 else [int(i) for i in entropy]
    return {"entropy": entropy, "spawn_key": [int(i) for i in seeds.spawn_key], "spawned": seeds.n_children_spawned}


def _spawn(seed: dict[str, Any], n_chains: int) -> list[np.ndarray]:
    """Make the generators of the chains, as arrays, from a described SeedSequence."""
    key, spawned = tuple(seed["spawn_key"]), seed["spawned"]
    root = np.random.SeedSequence(seed["entropy"], spawn_key=key, n_children_spawned=spawned)
    return [generator_to_array(rng) for rng in spawn_generators(root, n_chains)]


def _start(kernel: Kernel, board: _Board, chain: int, generator: np.ndarray, store: ChainStore | None) -> Position:
    """Return the start of a chain: its last commit, after copying its draws to the board, or before the first step."""
    position = store.load() if store else None
    if store is None or position is None:
        return Position(0, None, generator)
    board.steps[chain] = position.steps
    at = 0
    with as_written(store.folder):
        for part in store.load_draws():
            n = len(next(iter(part.values())))
            for name, dims in kernel.dims.items():
                v = part[name]
                rows = board.rows(name, chain, v.shape[1:], v.dtype)[at : at + n]
                if v.ndim != 1 + len(dims) or rows.shape != v.shape or rows.dtype != v.dtype:
                    raise ValueError
                rows[:] = v
            at += n
        if at != board.plan.kept(position.steps):
            raise ValueError
    return position


class _Row(NamedTuple):
    """Array for the draws of one field of Info, and the type of the first of them."""

    name: str
    values: np.ndarray
    kind: Any

    def check(self, value: Any) -> None:
        """Refuse a value that would be truncated, such as a fraction among integers."""
        if not np.can_cast(np.asarray(value).dtype, self.values.dtype, "same_kind"):
            raise TypeError(f"Info.{self.name} is {value!r} now and was {self.values.dtype} in the first draw")


def _run_chain(
    kernel: Kernel, chain: int, start: Position, board: _Board, store: ChainStore | None, began: float
) -> _Outcome:
    """Run one chain until its end, a request to stop, or an error."""
    step, state, generator = start
    rng = generator_from_array(generator)
    n_steps, n_warmup, thin = board.plan.n_steps, board.plan.n_warmup, board.plan.thin
    first = saved = board.plan.kept(step)
    rows: list[_Row] = []
    error: BaseException | None = None
    steps, latest, clock = board.steps, board.latest, time.monotonic

    def commit() -> None:
        nonlocal saved
        if store is not None:
            done = board.plan.kept(step)
            new = {row.name: row.values[saved:done] for row in rows}
            store.commit(step, state, generator_to_array(rng), new, time.time() - began)
            saved = done

    try:
        if state is None and not board.stop:
            state = kernel.init(rng)
            commit()  # fails early if the State cannot be stored
        while step < n_steps and not board.stop:
            state, info = kernel.step(rng, state)
            kept, rest = divmod(step + 1 - n_warmup, thin)
            if kept > 0 and rest == 0:
                if not rows:
                    rows = _rows(kernel, board, chain, info)
                for row, value in zip(rows, info, strict=True):
                    if getattr(value, "dtype", type(value)) != row.kind:
                        row.check(value)
                    row.values[kept - 1] = value
            step += 1  # at the end, so that an interruption never counts a draw that is not written
            steps[chain], latest[chain] = step, info
            if store is not None and clock() > store.due:
                commit()
        if step > start.steps:
            commit()
    except BaseException as e:
        # An interrupted step may leave State and generator inconsistent: they are not stored.
        board.stop, error = True, e
    values = {row.name: row.values[first : board.plan.kept(step)] for row in rows}
    return _Outcome(step, first, values, error)


def _rows(kernel: Kernel, board: _Board, chain: int, info: Any) -> list[_Row]:
    """Allocate the draws of a chain, in the order of the fields of Info."""
    if set(info._fields) != set(kernel.dims):
        raise TypeError(f"kernel {kernel.name}: dims names {sorted(kernel.dims)}, Info has {sorted(info._fields)}")
    rows = []
    for name, value in zip(info._fields, info, strict=True):
        a = np.asarray(value)
        if a.ndim != len(kernel.dims[name]) or a.dtype.kind not in "biuf":
            raise TypeError(f"kernel {kernel.name}: Info.{name} is {a.dtype} {a.shape}, dims says {kernel.dims[name]}")
        rows.append(_Row(name, board.rows(name, chain, a.shape, a.dtype), getattr(value, "dtype", type(value))))
    return rows


def _collect(board: _Board, chain: int, outcome: _Outcome) -> None:
    """Copy the draws of a chain to the board of the caller, unless it ran in a thread."""
    board.steps[chain] = outcome.steps
    for name, v in outcome.values.items():
        target = board.rows(name, chain, v.shape[1:], v.dtype)[outcome.first : outcome.first + len(v)]
        if not np.may_share_memory(target, v):
            target[:] = v


def _block(kernel: Kernel, board: _Board, run_time: float, seed: dict[str, Any]) -> Draws:
    """Choose the largest full block of chains by draws, which omits interrupted chains with few draws."""
    plan = board.plan
    kept = np.array([plan.kept(s) for s in board.steps])
    n = max(kept, key=lambda k: k * np.count_nonzero(kept >= k))
    chains = np.flatnonzero(kept >= n) if n else np.arange(0)
    whole = len(chains) == board.n_chains
    values = {name: board.values[name][:, :n] if whole else board.values[name][chains, :n] for name in kernel.dims if n}
    complete = bool((kept >= plan.n_draws).all())
    return Draws(
        values,
        dict(kernel.dims),
        kernel.name,
        plan.n_warmup,
        plan.thin,
        tuple(map(int, chains)),
        complete,
        run_time,
        seed,
    )


@contextmanager
def _interruptible(board: _Board) -> Iterator[None]:
    """Turn the first Ctrl-C into a request to stop between two steps; the second interrupts as usual."""

    def ask(signum: int, frame: Any) -> None:
        board.stop = True
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
        board.stop = True
