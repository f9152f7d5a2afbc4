"""Base classes of the methods of evidence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..declare.option import Checked
from .target import Evidence, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class Work(Checked, ABC):
    """A callable that takes a target and checks it before it starts; its fields are its options.

    Attributes
    ----------
    decides : str
        The option that may be "exact"; empty if there is none.
    """

    decides: ClassVar[str] = ""

    def require(self, target: Target) -> None:
        """Raise an error if this cannot be computed for ``target``, before any work."""
        if self.decides and getattr(self, self.decides) == "exact":
            target.require_exact(f"{self.decides}='exact'")

    @abstractmethod
    def __call__(self, target: Target, rng: np.random.Generator, *, progress: bool = False) -> Any:
        """Compute the result for ``target``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Method(Work):
    """A method of evidence. Its fields are its options; call it with a target."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the method with these options."""

    @property
    def work(self) -> Work | None:
        """The search for the mode or the posterior draws, which methods with an equal `work` share."""
        return None

    def require(self, target: Target) -> None:
        """Raise an error if the method cannot be used for ``target``, before any work."""
        if self.work is not None:
            self.work.require(target)

    def __call__(
        self, target: Target, rng: np.random.Generator, work: Any = None, *, progress: bool = False
    ) -> Evidence:
        """Estimate the evidence.

        Parameters
        ----------
        target : Target
        rng : numpy.random.Generator
        work : object, optional
            The result of `work`. By default it is computed.
        progress : bool
            Whether to show progress on standard error.
        """
        self.require(target)
        if work is None and self.work is not None:
            work = self.work(target, rng, progress=progress)
        return self._estimate(target, rng, work, progress)

    @abstractmethod
    def _estimate(self, target: Target, rng: np.random.Generator, work: Any, progress: bool) -> Evidence:
        """Estimate the evidence from the result of `work`."""
