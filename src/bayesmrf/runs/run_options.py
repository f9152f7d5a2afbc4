"""Options of the estimators that sample a posterior, and of the commands that run them."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False, repr=False, kw_only=True)
class RunOptions:
    """Options of the estimators that sample a posterior; see `bayesmrf.GroupedMRF`."""

    n_draws: int = 1000
    n_warmup: int = 500
    n_chains: int = 4
    thin: int = 1
    random_state: Any = None
    n_jobs: int | None = None
    executor: Any = None
    progress: bool = True
    checkpoint: Any = None

    def __sklearn_clone__(self) -> Any:
        """Clone with the same executor, which cannot be copied."""
        bare = copy(self)
        bare.executor = None
        new = super(RunOptions, bare).__sklearn_clone__()  # type: ignore[misc]
        return new.set_params(executor=self.executor)

    def __getstate__(self) -> Any:
        """Return what is pickled: an executor is of this process alone."""
        return dict(super().__getstate__()) | {"executor": None}  # type: ignore[call-overload]
