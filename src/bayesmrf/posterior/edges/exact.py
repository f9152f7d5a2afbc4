"""Edges with a spike-and-slab prior, exact ("Bayes Exact" of Chen and Welling 2012, with larger moves)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..conditionals.exact_scan import ScanProblem, require_exact, scan, scan_problem
from ..conditionals.rivals import swaps_in
from ..conditionals.spike import edge_prior, own_odds, prior_scales
from .spike_slab import EdgeFit, EdgeState, ExactEdges, drawn, with_blocks


@dataclass(frozen=True, eq=False)
class SpikeSlabExact(ExactEdges):
    """Birth, death or move of every edge in turn by its exact full conditional; then the parameters of every node.

    A birth proposes a weight around the mode of its full conditional, at any distance from 0. Up to 2^20 states a step
    is compiled, with the weights of all states in a table; on larger graphs the engine is called after each accepted
    move. At the end of a scan, half as many swaps of rival edges as there are nodes are proposed (see
    `bayesmrf.posterior.conditionals.rivals.swaps_in`), and, up to 2^20 states, nodes that are almost
    equal in the data move together (see `bayesmrf.posterior.conditionals.alike_nodes`).

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

    pairs: np.ndarray | None = None

    name = "spike_slab_exact"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_exact(self.likelihood, self.name)
        if self.pairs is None:
            lik = self.likelihood
            object.__setattr__(self, "pairs", swaps_in(lik.model, lik.s_bar, lik.n_samples))

    @cached_property
    def _problem(self) -> ScanProblem:
        prior = edge_prior(self.prior, self._model.graph)
        scales = prior_scales(prior, self._model.n_edges, self._model.n_features)
        pairs = np.asarray(self.pairs)
        return scan_problem(self.likelihood, prior, scales, pairs[prior.free[pairs].all(axis=1)])

    def step(self, rng: np.random.Generator, state: EdgeState) -> tuple[EdgeState, EdgeFit]:
        """Run ``n_scans`` scans."""
        lik, theta = self.likelihood, state.theta.copy()
        problem = self._problem._replace(prior=own_odds(self._problem.prior, state.blocks))
        density, precision, log_z = scan(rng, lik, problem, theta, self.n_scans)
        included = theta[: self._model.n_edges] != 0
        info = EdgeFit(*drawn(theta, included, density, precision), lik.log_likelihood(theta, log_z))
        labels = problem.prior.blocks.labels
        return EdgeState(theta, density, precision, labels), with_blocks(info, labels)
