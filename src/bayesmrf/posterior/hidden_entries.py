"""Data augmentation (Tanner and Wong 1987): hidden entries are drawn before each step of a kernel for complete data."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from ..base import SAMPLE, Kernel
from ..likelihood import Likelihood, Memory


class HiddenEntriesState(NamedTuple):
    """State of the kernel, and memory of the sampler of hidden entries."""

    inner: Any
    memory: Memory


@dataclass(frozen=True, eq=False)
class DrawHiddenEntries:
    """Draw the hidden entries given theta and the observed ones, then make a step of a kernel on the completed data.

    If the kernel leaves the posterior given complete data invariant, the pair (theta, hidden entries) has the joint
    posterior as its stationary distribution.

    Parameters
    ----------
    kernel : Kernel
        Its data are a field ``s_bar``, or those of its ``likelihood``; its State has a field ``theta``, and holds
        nothing that depends on the data.
    likelihood : Likelihood
        With hidden entries, whose engine samples them (see `Likelihood.complete`).
    """

    kernel: Any
    likelihood: Likelihood

    def __post_init__(self) -> None:
        self.likelihood.require_hidden(self.name, {SAMPLE})

    @property
    def name(self) -> str:
        """That of the kernel."""
        return str(self.kernel.name)

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Those of the kernel."""
        return dict(self.kernel.dims)

    def init(self, rng: np.random.Generator) -> HiddenEntriesState:
        """Start where the kernel does."""
        return HiddenEntriesState(self.kernel.init(rng), self.likelihood.start(rng))

    def step(self, rng: np.random.Generator, state: HiddenEntriesState) -> tuple[HiddenEntriesState, NamedTuple]:
        """Draw the hidden entries once, and make one step of the kernel."""
        sums, memory = self.likelihood.complete(state.inner.theta, rng, state.memory)
        inner, info = self.given(sums / self.likelihood.sizes).step(rng, state.inner)
        return HiddenEntriesState(inner, memory), info

    def given(self, s_bar: np.ndarray) -> Kernel:
        """Return the kernel on complete data."""
        if any(f.name == "s_bar" for f in fields(self.kernel)):
            return replace(self.kernel, s_bar=s_bar)
        return replace(self.kernel, likelihood=self.kernel.likelihood.replaced(s_bar))
