"""What all methods of evidence are: options, a call, and a check of what they need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..options import Checked
from .target import Evidence, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class Work(Checked, ABC):
    """Something that takes a target and can be refused before it starts; its fields are its options."""

    def require(self, target: Target) -> None:
        """Raise an error where this cannot be done for ``target``, before any work."""
        del target

    @abstractmethod
    def __call__(self, target: Target, rng: np.random.Generator, *, progress: bool = False) -> Any:
        """Do it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Method(Work):
    """A method of evidence. Its fields are its options; call it with a target."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the method with these options."""

    @property
    def work(self) -> Work | None:
        """What is done first, and once for all methods whose `work` is equal: the search for the mode, the draws."""
        return None

    def require(self, target: Target) -> None:
        """Raise an error where the method cannot be used for ``target``, before any work."""
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
            The result of `work`; computed here when absent.
        progress : bool
            Whether to show progress on standard error.
        """
        self.require(target)
        if work is None and self.work is not None:
            work = self.work(target, rng, progress=progress)
        return self._estimate(target, rng, work, progress)

    @abstractmethod
    def _estimate(self, target: Target, rng: np.random.Generator, work: Any, progress: bool) -> Evidence:
        """Estimate the evidence from what `work` gave."""
