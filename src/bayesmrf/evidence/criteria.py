"""Scores at one point: the log posterior at its mode, and BIC at the maximum of the likelihood.

They are the first three and the first four terms of Chen and Welling 2012 evidence, eq. 5: Laplace's approximation
without the volume of the posterior.
"""

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
from .target import Evidence, Target


class Point(NamedTuple):
    """The first three terms of Laplace's approximation at a point, with the standard error of log Z."""

    parts: dict[str, float]
    error: float
    status: str


_SEARCH = instance("evidence.mode", "ModeSearch")


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
        _SEARCH,
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
            found = target.anneal(theta, rng, self.n_chains, self.temperatures)
            value, error, status = found.log_z, found.standard_error, found.status
        parts = {
            "data": target.positive(theta),
            "log_z": -target.n_samples * value,
            "log_prior": target.log_prior(theta),
        }
        return Point(parts, error, f"log Z at the mode: {status}" if status else "")


@dataclass(frozen=True, eq=False, kw_only=True)
class MAP(AtMode):
    """Log posterior density at its mode, log p(X | theta) + log p(theta).

    ``standard_error`` is that of log Z. The terms are ``data``, ``log_z`` and ``log_prior``.

    Parameters
    ----------
    search, n_chains, temperatures
        As in `AtMode`.
    """

    name = "map"

    def _estimate(self, target: Target, rng: np.random.Generator, work: Mode, progress: bool) -> Evidence:
        point = self.point(target, self._checked(work).theta, rng)
        parts = point.parts | self._more(target)
        status, error = (work.status, point.status), target.n_samples * point.error
        return target.evidence(self.name, sum(parts.values()), error, parts, status, {"theta": work.theta})

    def _more(self, target: Target) -> dict[str, float]:
        """Return the terms in addition to those of the log posterior."""
        return {}


@dataclass(frozen=True, eq=False, kw_only=True)
class BIC(MAP):
    """Bayesian information criterion with the prior, log p(X | theta) + log p(theta) - F/2 log N.

    It is computed at the maximum of the likelihood. Schwarz's criterion has no prior: omit the term ``log_prior``.
    ``standard_error`` is that of log Z. The terms are ``data``, ``log_z``, ``log_prior`` and ``dimension``.

    Parameters
    ----------
    n_chains, temperatures
        As in `AtMode`.
    """

    search: ModeSearch = option(ModeSearch(penalised=False), _SEARCH, "How the maximum of the likelihood is found.")

    name = "bic"

    def _more(self, target: Target) -> dict[str, float]:
        return {"dimension": -target.n_features / 2 * np.log(target.n_samples)}
