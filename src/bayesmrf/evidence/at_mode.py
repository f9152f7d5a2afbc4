"""Base of the methods of evidence that start from a mode: the likelihood and the prior there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..declare.option import option
from ..declare.rule import instance
from ..errors import OptionError
from ..inference.annealed import CHAINS, TEMPERATURES
from .method import Method, Work
from .mode import Mode, ModeSearch
from .target import Target


class Point(NamedTuple):
    """The first three terms of Laplace's approximation at a point, with the standard error of log Z."""

    parts: dict[str, float]
    error: float
    status: str


SEARCH = instance("evidence.mode", "ModeSearch")


@dataclass(frozen=True, eq=False, kw_only=True)
class AtMode(Method):
    """Methods that start from a mode.

    Parameters
    ----------
    n_chains
        As in `bayesmrf.inference.annealed.forward`.
    temperatures
        As in `bayesmrf.inference.annealed.forward`.
    """

    search: ModeSearch = option(
        ModeSearch(),
        SEARCH,
        "How the mode is found, and how log Z is computed there (``log_z``): by the exact sum, or by annealed "
        "importance sampling.",
    )
    n_chains: int = option(100, CHAINS, "Chains of annealing, where Z cannot be summed.", label="chains")
    temperatures: int | np.ndarray = option(
        1000, TEMPERATURES, "Temperatures of annealing, where Z cannot be summed.", label="temperatures"
    )

    @property
    def work(self) -> Work | None:
        """``search``."""
        return self.search

    def _checked(self, mode: Mode) -> Mode:
        """Return the mode; raise OptionError if it is of the likelihood instead of the posterior, or the reverse."""
        if mode.penalised != self.search.penalised:
            kinds, is_posterior = ("likelihood", "posterior"), self.search.penalised
            raise OptionError(
                f"work must be a mode of the {kinds[is_posterior]} for method {self.name!r}, not of the "
                f"{kinds[mode.penalised]}; find it with ModeSearch(penalised={is_posterior})."
            )
        return mode

    def point(self, target: Target, theta: np.ndarray, rng: np.random.Generator) -> Point:
        """Compute the likelihood and the prior at ``theta``."""
        value, error, status = 0.0, 0.0, ""
        if self.search.is_exact(target):
            value = target.log_z(theta)
        else:
            estimated = target.anneal(theta, rng, self.n_chains, self.temperatures)
            value, error, status = estimated.log_z, estimated.standard_error, estimated.status
        parts = {
            "data": target.positive(theta),
            "log_z": -target.n_samples * value,
            "log_prior": target.log_prior(theta),
        }
        return Point(parts, error, f"log Z at the mode: {status}" if status else "")
