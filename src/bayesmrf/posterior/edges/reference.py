r"""Edges with a spike-and-slab prior where the observations are many: moments extrapolated from a reference.

The log of Z is that of `bayesmrf.states.reference`: exact along each coordinate through one point, and
quadratic between coordinates. The full conditional of a coordinate is then a line (see
`bayesmrf.posterior.conditionals.line`) with the states of the reference and the data's sum less :math:`n \sum_{l \ne
k} C_{kl} d_l`, so that births, deaths and moves are those of the exact method. Nothing is swept, and the draws have no
noise of moments but that of the reference.

With p parameters and n observations the log density of a state varies by about :math:`\sqrt{p / n}` over the posterior,
so that the error of the extrapolation vanishes as n / p grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...declare.option import Checked, needs, option
from ...declare.rule import COUNT, OBSERVATIONS
from ...models.boltzmann import Coding
from ...priors import SpikeSlab
from ...states.reference import CHAINS, Reference, residual, residual_values
from ..conditionals.exact_scan import draw_scales
from ..conditionals.line import Line, LineSample
from ..conditionals.spike import (
    EdgePrior,
    edge_prior,
    normal_precision,
    own_odds,
    require_finite,
    visit_edge,
    visit_node,
)
from .spike_slab import EDGE_DIMS, EdgeInfo, EdgeState, declare_blocks, drawn, start_theta, with_blocks, with_hyper


class ReferenceProblem(NamedTuple):
    """Constants of a scan; ``scales`` are scale^-2 of the prior of each parameter, unless drawn."""

    edges: np.ndarray  # (n_edges, 2)
    n: float
    sums: np.ndarray  # (n_features,) of the residuals of products, and of the nodes, in the data
    pull: np.ndarray  # (n_edges, 2), by which the parameters of the ends fall as that of the edge rises
    values: np.ndarray  # (n_edges, 4), of the residuals
    unit: float  # of the feature of a node
    prior: EdgePrior
    scales: np.ndarray
    at: np.ndarray  # (n_features,) of the reference
    cells: np.ndarray  # (n_edges, 4)
    ones: np.ndarray  # (n_nodes,)
    covariance: np.ndarray  # (n_features, n_features)
    is_normal: np.ndarray  # (n_features,) bool


@dataclass(frozen=True, eq=False)
class SpikeSlabReference(Checked):
    """Birth, death or move of every edge by its full conditional, with moments extrapolated from a reference.

    Parameters
    ----------
    model : object
        Of nodes with two states; its graph is the candidate edges.
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    reference : Reference
        Moments of the Boltzmann machine near the mean of the posterior.
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for the reference.
    n_scans : int
        Scans over all edges and biases that make one step.
    """

    model: Any
    s_bar: np.ndarray
    n_samples: float = field(metadata=needs(OBSERVATIONS))
    reference: Reference
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    start: np.ndarray | None = None
    n_scans: int = option(1, COUNT)

    name = "spike_slab_reference"
    n_particles = CHAINS
    particle_sweeps = 2**27  # at a reference, at least
    dims = EDGE_DIMS

    def __post_init__(self) -> None:
        super().__post_init__()
        declare_blocks(self)

    @cached_property
    def _problem(self) -> ReferenceProblem:
        model, known, n = self.model, self.reference, float(self.n_samples)
        prior = edge_prior(self.prior, model.graph)
        code, edges, r = Coding.of(model), model.graph.edges.astype(np.int64), model.n_edges
        scales = np.full(model.n_features, prior.bias_precision)
        scales[:r] = prior.precision
        units = np.repeat([code.edge, code.node], [r, model.n_features - r])
        sums = n * units * residual(code.statistics(model, self.s_bar), edges, known.pull)
        values = code.edge * residual_values(known.pull)
        pull = (code.edge * known.pull + code.shift) / code.node
        return ReferenceProblem(
            edges, n, sums, pull, values, code.node, prior, scales, code.theta(model, known.theta), known.cells,
            known.moments[r:], known.covariance * np.outer(units, units), known.is_normal,
        )  # fmt: skip

    def init(self, rng: np.random.Generator) -> EdgeState:
        """Start at ``start``."""
        start = self._problem.at if self.start is None else self.start
        theta = start_theta(self.model, self.s_bar, self.n_samples, start)
        return with_hyper(rng, self.prior, theta, self.model)

    def step(self, rng: np.random.Generator, state: EdgeState) -> tuple[EdgeState, EdgeInfo]:
        """Run ``n_scans`` scans."""
        r, theta = self.model.n_edges, state.theta.copy()
        problem = self._problem._replace(prior=own_odds(self._problem.prior, state.blocks))
        density, precision = _scan(rng, problem, theta, self.n_scans)
        require_finite(theta)
        labels = problem.prior.blocks.labels
        draw = drawn(theta, theta[:r] != 0, density, precision)
        return EdgeState(theta, density, precision, labels), with_blocks(draw, labels)


@strict_leaf
def _scan(rng, problem, theta, n_scans):
    """Visit every coordinate ``n_scans`` times; return p0 and the slab's precision."""
    edges, pull, prior, scales = problem.edges, problem.pull, problem.prior, problem.scales.copy()
    r, now = len(edges), scales.copy()
    density = precision = 0.0
    away = theta - problem.at  # d, in the coordinates of the lines
    for e in range(r):
        for end in range(2):
            away[r + edges[e, end]] += pull[e, end] * (theta[e] - problem.at[e])
    shift = np.zeros(len(theta))  # C d
    for k in range(len(theta)):
        _add(problem.covariance[k], away[k], shift)
    for _ in range(n_scans):
        density, precision, log_slab = draw_scales(rng, prior, scales, theta, r)
        for e in range(r):
            old = theta[e]
            now[e] = normal_precision(rng, prior, scales[e], old)
            line = _edge_line(problem, e, theta, now, away, shift)
            new = visit_edge(rng, line, old, prior.log_odds[e] + log_slab, prior)
            if new != old:
                theta[e] = new
                for end in range(2):
                    theta[r + edges[e, end]] -= pull[e, end] * (new - old)
                _move(problem, e, new - old, away, shift)
        for k in range(r, len(theta)):
            old = theta[k]
            theta[k] = visit_node(rng, _node_line(problem, k, old, now, away, shift))
            _move(problem, k, theta[k] - old, away, shift)
    return density, precision


@strict_leaf
def _edge_line(problem, e, theta, now, away, shift):
    """Return the line of edge e; ``now`` are precisions of normal priors."""
    r, kappa, mu, cells, values = len(problem.edges), now[e], 0.0, problem.cells[e], problem.values[e]
    for end in range(2):
        place, k = r + problem.edges[e, end], problem.pull[e, end]
        kappa += now[place] * k * k
        mu += now[place] * k * (theta[place] + theta[e] * k)
    p, g = (cells[0], cells[1], cells[2], cells[3]), (values[0], values[1], values[2], values[3])
    return _line(problem, e, p, g, problem.at[e], kappa, mu / kappa, away, shift)


@strict_leaf
def _node_line(problem, k, value, now, away, shift):
    """Return the line of the bias with index k."""
    one = problem.ones[k - len(problem.edges)]
    p, g = (1 - one, one, 0.0, 0.0), (0.0, problem.unit, 0.0, 0.0)
    return _line(problem, k, p, g, value - away[k], now[k], 0.0, away, shift)


@strict_leaf
def _line(problem, k, p, g, at, kappa, mu, away, shift):
    """Return the line of coordinate k, which has the states ``p`` at the reference ``at``, given the others."""
    n, own = problem.n, problem.covariance[k, k]
    score = problem.sums[k] - n * (shift[k] - own * away[k])
    if not problem.is_normal[k]:
        return Line((LineSample(p, g, at, n),), score, kappa, mu)
    score -= n * (p[0] * g[0] + p[1] * g[1] + p[2] * g[2] + p[3] * g[3])
    # A quadratic log Z is a normal prior, next to features that are always 0.
    sample = LineSample(p, (0.0, 0.0, 0.0, 0.0), at, n)
    return Line((sample,), score, kappa + n * own, (kappa * mu + n * own * at) / (kappa + n * own))


@strict_leaf
def _move(problem, k, change, away, shift):
    away[k] += change
    _add(problem.covariance[k], change, shift)


@strict_leaf
def _add(row, change, out):
    for k in range(len(row)):
        out[k] += change * row[k]
