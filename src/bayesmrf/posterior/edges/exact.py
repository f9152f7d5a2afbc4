"""Edges with a spike-and-slab prior, exact ("Bayes Exact" of Chen and Welling 2012, with larger moves)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...base import MOMENTS
from ...likelihood import Likelihood
from ...options import Checked
from ...priors import SpikeSlab
from ..conditionals.centred import centred_lines
from ..conditionals.exact_scan import ScanProblem, require_exact, scan
from ..conditionals.rivals import alike_in, rivals_in
from ..conditionals.spike import draw_hyper, edge_prior
from .spike_slab import EDGE_DIMS, start_theta


class SpikeSlabExactState(NamedTuple):
    """Weights of the candidate edges (0 if absent) and biases; p0; the slab's precision."""

    theta: np.ndarray
    density: float
    precision: float


class SpikeSlabExactInfo(NamedTuple):
    """Draw, and its log likelihood."""

    theta: np.ndarray
    included: np.ndarray
    n_edges: int
    density: float
    slab_scale: float
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class SpikeSlabExact(Checked):
    """Birth, death or move of every edge in turn by its exact full conditional; then the parameters of every node.

    A birth proposes a weight around the mode of its full conditional, at any distance from 0. Up to 2^20 states a step
    is compiled, with the weights of all states in a table; on larger graphs the engine is called after each accepted
    move. At the end of a scan, swaps of as many pairs of rival edges as there are nodes are proposed (see
    `bayesmrf.posterior.conditionals.rivals.rival_pairs`), and, up to 2^20 states, nodes that are almost equal in the
    data move together (see `bayesmrf.posterior.conditionals.alike_nodes`).

    Parameters
    ----------
    likelihood : Likelihood
        Of a model whose graph is the candidate edges, with an exact engine that computes ``moments``.
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for no edges.
    n_scans : int
        Scans over all edges and biases that make one step.
    pairs : (n_pairs, 2) int array or None
        Rival edges; None to choose them by the statistics of the data.
    """

    likelihood: Likelihood
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    start: np.ndarray | None = None
    n_scans: int = 1
    pairs: np.ndarray | None = None

    name = "spike_slab_exact"
    needs = frozenset({MOMENTS})
    dims = EDGE_DIMS | {"log_likelihood": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        require_exact(self.likelihood, self.name)
        if self.pairs is None:
            lik = self.likelihood
            object.__setattr__(self, "pairs", rivals_in(lik.model, lik.s_bar, lik.n_samples))

    @cached_property
    def _problem(self) -> ScanProblem:
        lik, prior = self.likelihood, edge_prior(self.prior)
        scales = np.full(self._model.n_features, prior.bias_precision)
        scales[: self._model.n_edges] = prior.precision
        return ScanProblem(centred_lines(self._model, lik.s_bar, lik.n_samples, prior.tilt), prior, scales)

    @cached_property
    def _alike(self) -> np.ndarray:
        lik = self.likelihood
        return alike_in(lik.model, lik.s_bar, lik.n_samples)

    @property
    def _model(self) -> Any:
        return self.likelihood.model

    def init(self, rng: np.random.Generator) -> SpikeSlabExactState:
        """Start at ``start``."""
        lik, prior = self.likelihood, edge_prior(self.prior)
        theta = start_theta(self._model, lik.s_bar, lik.n_samples, self.start)
        weights = theta[: self._model.n_edges]
        hyper = draw_hyper(rng, prior, np.count_nonzero(weights), len(weights), float(weights @ weights))
        return SpikeSlabExactState(theta, *hyper)

    def step(
        self, rng: np.random.Generator, state: SpikeSlabExactState
    ) -> tuple[SpikeSlabExactState, SpikeSlabExactInfo]:
        """Run ``n_scans`` scans."""
        lik, theta = self.likelihood, state.theta.copy()
        density, precision, log_z = scan(
            rng, lik, self._problem, theta, self.n_scans, np.asarray(self.pairs), self._alike
        )
        included = theta[: self._model.n_edges] != 0
        info = SpikeSlabExactInfo(
            theta, included, int(included.sum()), density, precision**-0.5, lik.log_likelihood(theta, log_z)
        )
        return SpikeSlabExactState(theta, density, precision), info
