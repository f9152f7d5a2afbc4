"""The only loop: chains, warm-up, thinning, workers, interruption, checkpoint."""

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
from threadpoolctl import threadpool_limits

from . import options
from .base import Kernel
from .checkpoint import ChainStore, Position, opened, seed_of
from .errors import BayesMRFWarning
from .identity import modules_of, record_of
from .memory import check_draws
from .progress import chain_bars
from .rng import as_seed_sequence, generator_from_array, generator_to_array, spawn_generators
from .store import CHECKPOINT, as_written, is_ours, what

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Draws:
    """What the chains drew.

    Attributes
    ----------
    values : dict of str to (n_chains, n_draws, ...) array
        One array for each field of the kernel's Info.
    dims : dict of str to tuple of str
        Names of the dimensions behind chain and draw.
    kernel : str
        The kernel's name.
    n_warmup, thin : int
        As asked.
    chains : tuple of int
        Which chains these are: all of them, unless the run was interrupted.
    complete : bool
        False when the run was interrupted or failed before all draws were made.
    run_time : float
        Seconds of wall time, those before a resumption included.
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
    """How many steps, and which of them are kept."""

    n_draws: int
    n_warmup: int
    thin: int

    @property
    def n_steps(self) -> int:
        """Steps of a whole chain."""
        return self.n_warmup + self.n_draws * self.thin

    def kept(self, steps: int) -> int:
        """Draws that ``steps`` steps leave."""
        return max(0, steps - self.n_warmup) // self.thin


class _Board:
    """What the chains of one process share: their draws, how far each is, and the wish to stop.

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
        """Room (n_draws, ...) for the draws of one field of one chain."""
        with self.lock:
            if name not in self.values:
                self.values[name] = np.empty((self.n_chains, self.plan.n_draws, *shape), dtype)
            return self.values[name][chain]


class _Outcome(NamedTuple):
    """What a chain hands back: its draws since the start, and the error that ended it."""

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
    """Run the chains of ``kernel`` and keep every ``thin``-th of the states after ``n_warmup`` steps.

    Each chain has its own generator, spawned from one seed: the draws do not depend on ``n_jobs``.

    Parameters
    ----------
    kernel : Kernel
        What makes one step.
    n_draws, n_warmup, n_chains, thin : int
        Draws kept of each chain, steps before the first of them, chains, and steps for one draw.
    random_state : int, SeedSequence, Generator, RandomState or None
        Where the chains' generators descend from.
    n_jobs : int, optional
        Chains at work at one time, by default as many as there are cores, in threads. Inside `joblib.parallel_config`
        the backend named there is used; chains in other processes show no progress, and do not hear of a Ctrl-C that
        reaches this process alone.
    progress : bool
        False shows no bars. They are never shown when standard error is not a terminal.
    checkpoint : path, optional
        Folder (zarr) in which the run is kept as it goes, and from which it continues with the very same draws: those
        of the same kernel, with all it holds (see `bayesmrf.identity`).
    overwrite : bool
        Start anew where ``checkpoint`` holds another run.

    Returns
    -------
    Draws
        After an interruption (Ctrl-C) the largest full block of chains by draws, with a warning. A second Ctrl-C does
        not wait for the steps under way and may give the draws up.

    Raises
    ------
    OptionError
        If a number is out of its range.
    StoreError
        If the checkpoint is of another run, is damaged, or cannot be written.
    Exception
        Whatever a step raises, with the draws so far in its attribute ``draws``.
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
                f"error holds {draws.n_draws} draws of {draws.n_chains} chain(s)."
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
    """Run what is left of all chains; return what came of each, and the seconds that the whole run took."""
    plan, generators = board.plan, _spawn(seed, board.n_chains)
    starts = [_start(kernel, board, chain, generators[chain], store) for chain, store in enumerate(stores)]
    if stores[0] and any(start.steps for start in starts):
        least = plan.kept(min(start.steps for start in starts))
        _log.info("%s holds a run that was stopped: continuing, its chains have at least %d of %d draws",
                  stores[0].folder.parents[1], least, plan.n_draws)  # fmt: skip
    earlier = max((store.record["run_time"] for store in stores if store), default=0.0)
    began = time.time() - earlier
    todo = [chain for chain in range(board.n_chains) if starts[chain].steps < plan.n_steps]
    # Chains share the cores as threads: those of BLAS in addition only get in their way.
    one_thread = threadpool_limits(1, user_api="blas")
    with one_thread, _interruptible(board), chain_bars(board, todo, plan.n_warmup, plan.n_steps, plan.thin, progress):
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
    """The seed of a run: ``random_state`` or, where that is None, the seed of the checkpoint if there is one.

    For callers that draw random numbers themselves before `sample`, from children of this seed.
    """
    path = None if checkpoint is None or overwrite or random_state is not None else Path(checkpoint)
    if path is None or not is_ours(path) or what(path) != CHECKPOINT:
        seeds = as_seed_sequence(random_state)
        # A copy: children that a run takes of a SeedSequence are not counted in the caller's, so that it can go on.
        return np.random.SeedSequence(
            seeds.entropy, spawn_key=seeds.spawn_key, n_children_spawned=seeds.n_children_spawned
        )
    return seed_of(path)


def _n_jobs(n_jobs: int | None, n_chains: int) -> int:
    """Chains at work at one time: as asked, else as `joblib.parallel_config` says, else one for each core."""
    if n_jobs is None:
        _, n_jobs = get_active_backend()
    return min(n_chains, cpu_count()) if n_jobs is None else n_jobs


def _describe(seeds: np.random.SeedSequence) -> dict[str, Any]:
    """A SeedSequence in plain JSON values."""
    entropy: Any = seeds.entropy
    entropy = int(entropy) if np.ndim(entropy) == 0 else [int(i) for i in entropy]
    return {"entropy": entropy, "spawn_key": [int(i) for i in seeds.spawn_key], "spawned": seeds.n_children_spawned}


def _spawn(seed: dict[str, Any], n_chains: int) -> list[np.ndarray]:
    """Generators of the chains, as arrays, from a described SeedSequence."""
    key, spawned = tuple(seed["spawn_key"]), seed["spawned"]
    root = np.random.SeedSequence(seed["entropy"], spawn_key=key, n_children_spawned=spawned)
    return [generator_to_array(rng) for rng in spawn_generators(root, n_chains)]


def _start(kernel: Kernel, board: _Board, chain: int, generator: np.ndarray, store: ChainStore | None) -> Position:
    """Where a chain takes up: at its last commit, its draws brought to the board, or before its first step."""
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
    """Room for the draws of one field of Info, and the type of the first of them."""

    name: str
    values: np.ndarray
    kind: Any

    def check(self, value: Any) -> None:
        """Refuse a value that would be cut, such as a fraction among whole numbers."""
        if not np.can_cast(np.asarray(value).dtype, self.values.dtype, "same_kind"):
            raise TypeError(f"Info.{self.name} is {value!r} now and was {self.values.dtype} in the first draw")


def _run_chain(
    kernel: Kernel, chain: int, start: Position, board: _Board, store: ChainStore | None, began: float
) -> _Outcome:
    """Run one chain to its end, to the wish to stop or to an error."""
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
            commit()  # finds out at once what cannot be kept
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
            step += 1  # only now: an interruption never counts a draw that is not written
            steps[chain], latest[chain] = step, info
            if store is not None and clock() > store.due:
                commit()
        if step > start.steps:
            commit()
    except BaseException as e:
        # A step that did not end may leave State and generator half changed: they are not kept.
        board.stop, error = True, e
    values = {row.name: row.values[first : board.plan.kept(step)] for row in rows}
    return _Outcome(step, first, values, error)


def _rows(kernel: Kernel, board: _Board, chain: int, info: Any) -> list[_Row]:
    """Room for the draws of a chain, in the order of the fields of Info."""
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
    """Bring a chain's draws to the caller's board, where those of a thread already are."""
    board.steps[chain] = outcome.steps
    for name, v in outcome.values.items():
        target = board.rows(name, chain, v.shape[1:], v.dtype)[outcome.first : outcome.first + len(v)]
        if not np.may_share_memory(target, v):
            target[:] = v


def _block(kernel: Kernel, board: _Board, run_time: float, seed: dict[str, Any]) -> Draws:
    """Choose the largest full block of chains by draws; of interrupted chains, that leaves out those hardly begun."""
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
    """Turn the first Ctrl-C into a wish to stop, which the chains see between steps; the second interrupts as usual."""

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
