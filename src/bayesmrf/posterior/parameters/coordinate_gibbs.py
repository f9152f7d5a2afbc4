"""Gibbs sampling of theta: every coordinate in turn from its exact full conditional."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...declare.option import Checked, needs
from ...declare.rule import PRIOR
from ...errors import OptionError, argument
from ...likelihood import Likelihood
from ...methods.parameters import KERNELS, WIDEST, takes_prior
from ..conditionals.exact_scan import ScanProblem, require_exact, scan, scan_problem
from ..conditionals.spike import own_odds, plain_prior
from .adaptation import dispersed


class CoordinateGibbsState(NamedTuple):
    """Present draw."""

    theta: np.ndarray


class CoordinateGibbsInfo(NamedTuple):
    """Draw, and its log likelihood."""

    theta: np.ndarray
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class CoordinateGibbs(Checked):
    """Draw every parameter of an edge exactly along its centred line, then every parameter of a node.

    Parameters
    ----------
    likelihood : Likelihood
        With an exact engine that answers ``moments``; the model's nodes have fields.
    prior : Normal or Cauchy
        With scales <= 100. A Cauchy density is tapered by a normal one of standard deviation 50
        (`bayesmrf.priors.CAUCHY_TAPER`), which differs only at weights that no data can distinguish.
    start : (n_features,) array
    root : (n_features,) or (n_features, n_features) array or None
        Chains start at ``start`` plus this times standard normal numbers.
    """

    likelihood: Likelihood
    prior: Any = field(metadata=needs(PRIOR))
    start: np.ndarray
    root: np.ndarray | None = None

    name = "gibbs"
    dims = {"theta": ("feature",), "log_likelihood": ()}  # noqa: RUF012

    def __post_init__(self) -> None:
        super().__post_init__()
        require_exact(self.likelihood, self.name)
        if not takes_prior(KERNELS.row(self.name), self.prior):
            raise OptionError(
                option="prior",
                got=self.prior,
                expected=f"priors.Normal or priors.Cauchy with scales <= {WIDEST:g} for {argument('kernel', 'gibbs')}",
                remedy=f"{argument('kernel', 'auto')} takes any prior",
            )

    @cached_property
    def _problem(self) -> ScanProblem:
        scales = np.full(self.likelihood.model.n_features, np.asarray(self.prior.scale, dtype=np.float64) ** -2.0)
        unit = replace(self.prior, scale=1.0)
        prior = plain_prior(unit, unit, self.likelihood.model.n_edges)
        return scan_problem(self.likelihood, prior, scales)

    def init(self, rng: np.random.Generator) -> CoordinateGibbsState:
        """Start at ``start``, or around it."""
        return CoordinateGibbsState(dispersed(self.start, self.root, rng))

    def step(
        self, rng: np.random.Generator, state: CoordinateGibbsState
    ) -> tuple[CoordinateGibbsState, CoordinateGibbsInfo]:
        """Make one scan."""
        lik, theta = self.likelihood, state.theta.copy()
        problem = self._problem._replace(prior=own_odds(self._problem.prior))
        _, _, log_z = scan(rng, lik, problem, theta, 1)
        return CoordinateGibbsState(theta), CoordinateGibbsInfo(theta, lik.log_likelihood(theta, log_z))
