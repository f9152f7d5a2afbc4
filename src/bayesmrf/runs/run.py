"""A run: its chains in threads or by workers, interruption, checkpoint."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from functools import cached_property, partial
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from ..base import Kernel
from ..declare.option import options_of
from ..declare.rule import FLAG
from ..errors import OptionError, StoppedWarning, argument
from ..memory import check_draws
from ..rng import as_seed_sequence, described_sequence, generator_to_array, spawn_generators
from ..threads import count_jobs, one_thread
from .chain import Chain, DrawBuffer, Plan, interruptible
from .chain_bars import chain_bars
from .checkpoint import UNTIL_GOOD, ChainStore, keep_n_draws, opened, seed_of
from .draws import SparseDraws
from .identity import describe
from .run_options import RunOptions
from .stopping import FIRST, MOST, OF_A_TASK, Outlook, StoppingRule, interim_checks
from .store import CHECKPOINT, Checkpoint, as_checkpoint, is_ours, read_kind
from .workers import ByExecutor, run_chains, workers_of

_log = logging.getLogger(__name__)

_SHARE = 3  # of memory is for draws whose number nobody gave: results are computed from them
TIMES = ("time_before_draws", "time_after_draws")  # seconds of a fit next to those of its draws, stored with them


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
    short : str or None
        What the draws of a run until good are short of at the most draws; empty if it ended before.
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
    short: str | None = None

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
    n_draws: int | None,
    n_warmup: int = 0,
    n_chains: int = 4,
    thin: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
    executor: Any = None,
    progress: bool = True,
    checkpoint: str | PathLike[str] | Checkpoint | None = None,
    overwrite: bool = False,
    judge: Callable[[Draws], Outlook] | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Draws:
    """Run the chains of ``kernel``, and record every ``thin``-th state after ``n_warmup`` steps.

    Each chain has its own generator, spawned from one seed: the draws do not depend on ``n_jobs`` and ``executor``.

    Parameters
    ----------
    kernel : Kernel
        The transition.
    n_draws : int or None
        Draws kept of each chain. None runs until ``judge`` finds them good at two looks in a row, after 500, 625,
        781, ... draws, at most 20,000 or a third of the memory. A chain that runs alone makes 1,221.
    n_warmup, n_chains, thin : int
        Steps before the first draw, chains, and steps for one draw.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed from which the generators of the chains are spawned.
    n_jobs : int, optional
        Number of chains run in parallel, in threads; by default that of `joblib.parallel_config`, or one for each core.
        -1 is one for each core, -2 leaves one core free.
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
    judge : callable, optional
        Says what draws are short of, nothing (an empty text) if they are good.
    sizes : mapping of str to int
        Sizes of dimensions, from which the memory of the draws is computed.

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
    options = {
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
        declared.rule.check(name, options[name])
    FLAG.check("overwrite", overwrite)
    if n_draws is None and judge is None:
        raise OptionError(option="n_draws", got=n_draws, expected="an integer, as nothing judges the draws")
    most = check_draws(kernel.dims, sizes or {}, FIRST if n_draws is None else n_draws, n_chains)
    place = as_checkpoint(checkpoint)
    chain = None if place is None else place.chain
    counts = interim_checks(min(MOST, max(FIRST, most // _SHARE))) if n_draws is None else [int(n_draws)]
    first = counts[0] if chain is None or n_draws is not None else min(OF_A_TASK, counts[-1])
    plan = Plan(first, int(n_warmup), int(thin))
    if place is not None and chain is not None:
        if chain >= n_chains:
            raise OptionError(option="chain", got=chain, expected=f"an integer from 0 to {n_chains - 1}")
        if overwrite or place.overwrite:
            raise OptionError(
                f"{argument('chain', chain)} does not support {argument('overwrite', True)}; remove the folder."
            )
    buffer = DrawBuffer(plan, int(n_chains) if chain is None else 1)
    stopping = StoppingRule(counts)
    if judge is not None and n_draws is None and chain is None:
        stopping = StoppingRule(counts, lambda: judge(_block(kernel, buffer, time.time() - buffer.began, seed or {})))
    workers = workers_of(executor)
    seed = None if random_state is None and checkpoint is not None else _describe(as_seed_sequence(random_state))
    if place is None:
        assert seed is not None
        generators = _spawn(seed, int(n_chains))
        stores: Sequence[ChainStore | None] = [None] * buffer.n_chains
        chains, run_time = _run_chains(kernel, buffer, stopping, generators, stores, workers, n_jobs, progress)
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
        } | ({UNTIL_GOOD: True} if n_draws is None else {})
        fresh, replace = _describe(np.random.SeedSequence()), overwrite or place.overwrite
        with opened(Path(place.path), settings, fresh, replace, modules, chain) as (settings, stores):
            seed = settings["seed"]
            generators = _spawn(seed, int(n_chains))
            generators = generators if chain is None else [generators[chain]]
            buffer.plan_until(settings["n_draws"])  # of which the store may have draws
            if chain is not None:
                stopping.counts = [settings["n_draws"]]
            stopping.keep, stopping.joins = partial(keep_n_draws, Path(place.path), settings), place.joins
            chains, run_time = _run_chains(kernel, buffer, stopping, generators, stores, workers, n_jobs, progress)
    draws = _block(kernel, buffer, run_time, seed)
    is_whole = draws.complete and stopping.has_ended
    draws = replace_fields(draws, complete=is_whole, short=stopping.short if stopping.judge else None)
    if chain is not None:  # of which others are part, or which a look at it may make longer
        whole = is_whole and n_chains == 1 and n_draws is not None
        draws = replace_fields(draws, chains=(chain,) * draws.n_chains, complete=whole)
    for ended in chains:
        error: Any = ended.error
        if error is not None and not isinstance(error, KeyboardInterrupt):
            error.draws = draws
            error.add_note(
                f"Chain {ended.number} failed in step {buffer.steps[ended.index] + 1} of {buffer.plan.n_steps}; the "
                f"attribute `draws` of this error contains {draws.n_draws} draws of {draws.n_chains} chain(s)."
            )
            raise error
    if draws.n_draws == 0:
        raise KeyboardInterrupt("the run was stopped before the first draw")
    if not is_whole:
        again = "" if checkpoint is None else "; call again with the same checkpoint to continue the run"
        of = buffer.plan.n_draws if stopping.judge is None else f"at most {counts[-1]}"
        warnings.warn(
            f"the run was stopped: {draws.n_draws} of {of} draws of {draws.n_chains} of {buffer.n_chains} chains "
            f"are returned{again}",
            StoppedWarning,
            stacklevel=2,
        )
    return draws


def _run_chains(
    kernel: Kernel,
    buffer: DrawBuffer,
    stopping: StoppingRule,
    generators: Sequence[np.ndarray],
    stores: Sequence[ChainStore | None],
    workers: ByExecutor | None,
    n_jobs: int | None,
    progress: bool,
) -> tuple[list[Chain], float]:
    """Run the remaining steps of all chains; return them, and the seconds of the whole run."""
    plan, has_run = buffer.plan, False
    chains = [Chain(kernel, buffer, i, generators[i], store) for i, store in enumerate(stores)]
    if stores[0] and any(buffer.steps):
        _log.info("%s contains a stopped run: continuing, its chains have at least %d of %d draws",
                  stores[0].folder.parents[1], plan.kept(min(buffer.steps)), plan.n_draws)  # fmt: skip
    earlier = max((store.record["run_time"] for store in stores if store), default=0.0)
    buffer.began = time.time() - earlier
    shown = [chain.index for chain in chains if chain.goes_on or stopping.judge]
    looks = stopping.counts if stopping.judge else ()
    with interruptible(buffer), chain_bars(buffer, shown, progress, stores[0] is not None, looks):
        for _ in stopping.stages(buffer):
            todo = [chain for chain in chains if chain.goes_on]
            if not todo:
                continue
            has_run = True
            if workers is not None:
                run_chains(kernel, chains, buffer, workers)
            else:  # chains use the cores as threads
                with one_thread():
                    run = Parallel(n_jobs=count_jobs(n_jobs, buffer.n_chains), require="sharedmem", batch_size=1)
                    run(delayed(copy_context().run)(chain.run) for chain in todo)  # for what is told in them
    return chains, time.time() - buffer.began if has_run else earlier


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


def _describe(seeds: np.random.SeedSequence) -> dict[str, Any]:
    """Describe a SeedSequence in plain JSON values."""
    entropy: Any = seeds.entropy
    entropy = int(entropy) if np.ndim(entropy) == 0 else [int(i) for i in entropy]
    return {"entropy": entropy, "spawn_key": [int(i) for i in seeds.spawn_key], "spawned": seeds.n_children_spawned}


def _spawn(seed: dict[str, Any], n_chains: int) -> list[np.ndarray]:
    """Make the generators of the chains, as arrays, from a described SeedSequence."""
    return [generator_to_array(rng) for rng in spawn_generators(described_sequence(seed), n_chains)]


def _block(kernel: Kernel, buffer: DrawBuffer, run_time: float, seed: dict[str, Any]) -> Draws:
    """Choose the largest full block of chains by draws, which omits interrupted chains with few draws."""
    plan = buffer.plan
    kept = np.minimum([plan.kept(s) for s in buffer.steps], plan.n_draws)
    n = max(kept, key=lambda k: k * np.count_nonzero(kept >= k))
    chains = np.flatnonzero(kept >= n) if n else np.arange(0)
    fields = {name: buffer.block(name, chains, n) for name in kernel.dims if n}
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
