"""Options of the estimators that sample a posterior, and of the commands that run them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

from ..declare.option import option
from ..declare.rule import (
    EXECUTOR,
    FLAG,
    JOBS,
    MOST_CHAINS,
    MOST_DRAWS,
    PATH,
    SEED,
    either,
    instance,
    integer,
    optional,
)
from .stopping import MOST, OF_A_TASK

_CHECKPOINT = optional(either(PATH, instance("runs.store", "Checkpoint"), expected="a path or a Checkpoint"))


@dataclass(eq=False, repr=False, kw_only=True)
class RunOptions:
    """Options of the estimators that sample a posterior; see `bayesmrf.GroupedMRF`."""

    n_draws: int | None = option(
        None,
        optional(integer(1, MOST_DRAWS)),
        "Draws per chain.",
        unset=f"until good, at most {MOST:,}; {OF_A_TASK:,} with --chain, of which collect judges",
    )
    n_warmup: int = option(500, integer(0, MOST_DRAWS), "Warm-up steps of each chain, before its first draw.")
    n_chains: int = option(4, integer(1, MOST_CHAINS), "Number of chains; convergence diagnostics need several.")
    thin: int = option(1, integer(1, MOST_DRAWS), "Steps per draw.")
    random_state: Any = option(None, SEED)
    n_jobs: int | None = option(
        None,
        optional(JOBS),
        "Number of chains run in parallel; -1: one for each core, -2: leave one free.",
        unset="one for each core",
    )
    executor: Any = option(None, EXECUTOR)
    progress: bool = option(True, FLAG)
    checkpoint: Any = option(None, _CHECKPOINT)

    def __sklearn_clone__(self) -> Any:
        """Clone with the same executor, which cannot be copied."""
        bare = copy(self)
        bare.executor = None
        new = super(RunOptions, bare).__sklearn_clone__()  # type: ignore[misc]
        return new.set_params(executor=self.executor)

    def __getstate__(self) -> Any:
        """Return what is pickled: an executor is of this process alone."""
        return dict(super().__getstate__()) | {"executor": None}  # type: ignore[call-overload]
