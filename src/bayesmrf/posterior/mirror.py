"""Moves between mirrored modes of nodes that were observed in few rows.

The data hardly determine the signs of the weights of such a node, as of a hidden unit: the posterior has a mode for
each, and the moves of other kernels do not lead from one to the other. All parameters of the node are mirrored at once
(`bayesmrf.models.mirror.mirrored`, which is its own inverse and keeps the volume), and the move is accepted by the
ratio of the posterior densities given the observed entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..likelihood import Likelihood
from ..models.mirror import mirrored


class Density(Protocol):
    """A log density of theta, up to factors that mirrors do not change."""

    def log_density(self, theta: np.ndarray) -> np.ndarray: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Mirror:
    """Metropolis moves that mirror each of some nodes in turn.

    Parameters
    ----------
    likelihood : Likelihood
        Of the observed entries, by exact engines.
    prior : Density
    nodes : tuple of int
    """

    likelihood: Likelihood
    prior: Density
    nodes: tuple[int, ...]

    def __call__(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return theta after the moves: the same object if none was accepted."""
        for node in self.nodes:
            new = mirrored(self.likelihood.model, theta, node)
            ratio = self.likelihood.log_ratio(theta, new)
            ratio += float(self.prior.log_density(new).sum() - self.prior.log_density(theta).sum())
            if np.log1p(-rng.random()) < ratio:
                theta = new
        return theta


@dataclass(frozen=True, eq=False)
class Around:
    """Moves before each step of a kernel, under its name and with its draws."""

    kernel: Any

    @property
    def name(self) -> str:
        """That of the kernel."""
        return self.kernel.name

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Those of the kernel."""
        return self.kernel.dims


@dataclass(frozen=True, eq=False)
class Mirrored(Around):
    """Mirror nodes, then make a step of a kernel.

    Parameters
    ----------
    kernel : Kernel
        Its State has a field ``theta``, and its method ``moved`` returns the State with another theta.
    mirror : Mirror
    """

    mirror: Mirror

    def init(self, rng: np.random.Generator) -> Any:
        """Start where the kernel does."""
        return self.kernel.init(rng)

    def step(self, rng: np.random.Generator, state: Any) -> tuple[Any, NamedTuple]:
        """Mirror the nodes, and make one step."""
        theta = self.mirror(state.theta, rng)
        return self.kernel.step(rng, state if theta is state.theta else self.kernel.moved(state, theta))
