"""Scores at one point: the log posterior at its mode, and BIC at the maximum of the likelihood.

They are the first three and the first four terms of Chen and Welling 2012 evidence, eq. 5: Laplace's approximation
without the volume of the posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..declare.option import option
from ..evidence.at_mode import SEARCH, AtMode
from ..evidence.mode import Mode, ModeSearch
from ..evidence.target import Evidence, Target


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
        """Compute the terms in addition to those of the log posterior."""
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

    search: ModeSearch = option(ModeSearch(penalised=False), SEARCH, "How the maximum of the likelihood is found.")

    name = "bic"

    def _more(self, target: Target) -> dict[str, float]:
        return {"dimension": -target.n_features / 2 * np.log(target.n_samples)}
