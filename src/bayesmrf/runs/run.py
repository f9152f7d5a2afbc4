"""A run: its chains in threads or by workers, interruption, checkpoint."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Sequence
from contextvars import copy_context
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cached_property
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from joblib.parallel import get_active_backend

from ..base import Kernel
from ..blas import one_thread
from ..declare.option import options_of
from ..declare.rule import FLAG
from ..errors import OptionError, StoppedWarning, argument
from ..memory import check_draws
from ..progress import chain_bars
from ..rng import as_seed_sequence, generator_to_array, spawn_generators
from .chain import Board, Chain, Plan, interruptible
from .checkpoint import ChainStore, described_sequence, opened, seed_of
from .draws import SparseDraws
from .identity import describe
from .run_options import RunOptions
from .store import CHECKPOINT, Checkpoint, as_checkpoint, is_ours, read_kind
from .workers import ByExecutor, run_chains, workers_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Draws:
    """Draws of the chains.

    Attributes
    ----------
    fields : dict of str to (n_chains, n_draws, ...) array or `bayesmrf.runs.draws.SparseDraws`
        One for each field of the kernel's Info.
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

    fields: dict[str, np.ndarray | SparseDraws]
    dims: dict[str, tuple[str, ...]]
    kernel: str
    n_warmup: int
    thin: int
    chains: tuple[int, ...]
    complete: bool
    run_time: float
    seed: dict[str, Any]

    @cached_property
    def values(self) -> dict[str, np.ndarray]:
        """One array (n_chains, n_draws, ...) for each field of the kernel's Info."""
        return {name: v.dense() if isinstance(v, SparseDraws) else v for name, v in self.fields.items()}

    @property
    def n_chains(self) -> int:
        """Number of chains."""
        return len(self.chains)

    @property
    def n_draws(self) -> int:
        """Draws of each chain."""
        return next(iter(self.fields.values())).shape[1] if self.fields else 0


def sample(
    kernel: Kernel,
    *,
    n_draws: int,
    n_warmup: int = 0,
    n_chains: int = 4,
    thin: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool = True,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    overwrite: bool = False,
) -> Draws:
    """Run the chains of ``kernel``, and record every ``thin``-th state after ``n_warmup`` steps.

    Each chain has its own generator, spawned from one seed: the draws do not depend on ``n_jobs`` and ``executor``.

    Parameters
    ----------
    kernel : Kernel
        The transition.
    n_draws, n_warmup, n_chains, thin : int
        Draws kept of each chain, steps before the first of them, chains, and steps for one draw.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed from which the generators of the chains are spawned.
    n_jobs : int, optional
        Number of chains run in parallel, in threads; by default that of `joblib.parallel_config`, or one for each core.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Workers that run the chains, as many as it has, instead of ``n_jobs``. A chain whose worker was killed is
        continued by another (see `bayesmrf.runs.workers`).
    progress : bool
        False shows nothing. True shows bars on a terminal, and elsewhere lines on standard error: the first after ten
        seconds, one a minute, and one about a run of hours as soon as it is known.
    checkpoint : path or Checkpoint, optional
        Folder in which the run is stored, and from which it continues with the same draws if the kernel and all
        its fields are equal (see `bayesmrf.runs.identity`).
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
    WorkerError
        If workers of ``executor`` have another version, or the worker of a chain was killed repeatedly, after the other
        chains have finished, with the draws in its attribute ``draws``.
    Exception
        Any exception of a step, with the draws so far in its attribute ``draws``.
    KeyboardInterrupt
        If interrupted before the first draw.
    """
    given = {
        "n_draws": n_draws,
        "n_warmup": n_warmup,
        "n_chains": n_chains,
        "thin": thin,
        "random_state": random_state,
        "n_jobs": n_jobs,
        "executor": executor,
        "progress": progress,
        "checkpoint": checkpoint,
    }
    for name, declared in options_of(RunOptions).items():
        declared.rule.check(name, given[name])
    FLAG.check("overwrite", overwrite)
    check_draws(kernel.dims, {}, n_draws, n_chains)
    plan = Plan(int(n_draws), int(n_warmup), int(thin))
    place = as_checkpoint(checkpoint)
    chain = None if place is None else place.chain
    if place is not None and chain is not None:
        if chain >= n_chains:
            raise OptionError(option="chain", got=chain, expected=f"an integer from 0 to {n_chains - 1}")
        if overwrite or place.overwrite:
            raise OptionError(
                f"{argument('chain', chain)} does not support {argument('overwrite', True)}; remove the folder."
            )
    board = Board(plan, int(n_chains) if chain is None else 1)
    workers = workers_of(executor)
    seed = None if random_state is None and checkpoint is not None else _describe(as_seed_sequence(random_state))
    if place is None:
        assert seed is not None
        generators = _spawn(seed, int(n_chains))
        chains, run_time = _run_chains(kernel, board, generators, [None] * board.n_chains, workers, n_jobs, progress)
    else:
        identity, modules = describe(kernel)
        settings = {
            "version": version("bayesmrf"),
            "kernel": kernel.name,
            "identity": identity,
            "n_chains": int(n_chains),
            **plan._asdict(),
            "seed": seed,
            "command": list(place.command),
        }
        fresh, replace = _describe(np.random.SeedSequence()), overwrite or place.overwrite
        with opened(Path(place.path), settings, fresh, replace, modules, chain) as (settings, stores):
            seed = settings["seed"]
            generators = _spawn(seed, int(n_chains))
            generators = generators if chain is None else [generators[chain]]
            chains, run_time = _run_chains(kernel, board, generators, stores, workers, n_jobs, progress)
    draws = _block(kernel, board, run_time, seed)
    if chain is not None:
        draws = replace_fields(draws, chains=(chain,) * draws.n_chains, complete=draws.complete and n_chains == 1)
    for found in chains:
        error: Any = found.error
        if error is not None and not isinstance(error, KeyboardInterrupt):
            error.draws = draws
            error.add_note(
                f"Chain {found.number} failed in step {board.steps[found.index] + 1} of {plan.n_steps}; the attribute "
                f"`draws` of this error contains {draws.n_draws} draws of {draws.n_chains} chain(s)."
            )
            raise error
    if draws.n_draws == 0:
        raise KeyboardInterrupt("the run was stopped before the first draw")
    if (draws.n_chains, draws.n_draws) != (board.n_chains, n_draws):
        again = "" if checkpoint is None else "; call again with the same checkpoint to continue the run"
        warnings.warn(
            f"the run was stopped: {draws.n_draws} of {n_draws} draws of {draws.n_chains} of {board.n_chains} chains "
            f"are returned{again}",
            StoppedWarning,
            stacklevel=2,
        )
    return draws


def _run_chains(
    kernel: Kernel,
    board: Board,
    generators: Sequence[np.ndarray],
    stores: Sequence[ChainStore | None],
    workers: ByExecutor | None,
    n_jobs: int | None,
    progress: bool,
) -> tuple[list[Chain], float]:
    """Run the remaining steps of all chains; return them, and the seconds of the whole run."""
    plan = board.plan
    chains = [Chain(kernel, board, i, generators[i], store) for i, store in enumerate(stores)]
    if stores[0] and any(board.steps):
        _log.info("%s contains a stopped run: continuing, its chains have at least %d of %d draws",
                  stores[0].folder.parents[1], plan.kept(min(board.steps)), plan.n_draws)  # fmt: skip
    earlier = max((store.record["run_time"] for store in stores if store), default=0.0)
    board.began = time.time() - earlier
    todo = [chain for chain in chains if chain.goes_on]
    shown = [chain.index for chain in todo]
    bars = chain_bars(board, shown, plan.n_warmup, plan.n_steps, plan.thin, progress, stores[0] is not None)
    with interruptible(board), bars:
        if workers is not None:
            run_chains(kernel, chains, board, workers)
        else:  # chains use the cores as threads
            with one_thread():
                run = Parallel(n_jobs=_n_jobs(n_jobs, board.n_chains), require="sharedmem", batch_size=1)
                run(delayed(copy_context().run)(chain.run) for chain in todo)  # for what is told in them
    return chains, time.time() - board.began if todo else earlier


def seed_sequence(
    random_state: Any, checkpoint: str | PathLike[str] | Checkpoint | None = None, overwrite: bool = False
) -> np.random.SeedSequence:
    """Return the seed of a run: ``random_state`` or, if that is None, the seed of the checkpoint if there is one.

    For callers that draw random numbers before `sample`, from children of this seed. Processes that run a chain each
    must have the same seed, which is 0 where there is none.
    """
    place = as_checkpoint(checkpoint)
    if place is not None and random_state is None and not (overwrite or place.overwrite):
        path = Path(place.path)
        if is_ours(path) and read_kind(path) == CHECKPOINT:
            return seed_of(path)
        random_state = None if place.chain is None else 0
    seeds = as_seed_sequence(random_state)
    # A copy, so that children spawned by a run do not change the SeedSequence of the caller.
    return np.random.SeedSequence(seeds.entropy, spawn_key=seeds.spawn_key, n_children_spawned=seeds.n_children_spawned)


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
    return [generator_to_array(rng) for rng in spawn_generators(described_sequence(seed), n_chains)]


def _block(kernel: Kernel, board: Board, run_time: float, seed: dict[str, Any]) -> Draws:
    """Choose the largest full block of chains by draws, which omits interrupted chains with few draws."""
    plan = board.plan
    kept = np.array([plan.kept(s) for s in board.steps])
    n = max(kept, key=lambda k: k * np.count_nonzero(kept >= k))
    chains = np.flatnonzero(kept >= n) if n else np.arange(0)
    fields = {name: board.block(name, chains, n) for name in kernel.dims if n}
    complete = bool((kept >= plan.n_draws).all())
    return Draws(
        fields,
        dict(kernel.dims),
        kernel.name,
        plan.n_warmup,
        plan.thin,
        tuple(map(int, chains)),
        complete,
        run_time,
        seed,
    )
