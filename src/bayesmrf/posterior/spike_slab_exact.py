"""Edges with a spike-and-slab prior, exact ("Bayes Exact" of Chen and Welling 2012, with larger moves)."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np

from ..base import MOMENTS
from ..compiled import leaf, strict_leaf
from ..errors import OptionError
from ..likelihood import Likelihood
from ..models.boltzmann import Boltzmann
from ..priors import SpikeSlab
from .edges import EDGE_DIMS, bias_line, draw_hyper, edge_line, edge_prior, log_slab_odds, start_theta, visit_bias
from .edges import visit_edge as _visit_edge

MAX_TABLE = 15  # nodes: a table of 2^15 weights fits in the cache


class SpikeSlabExactState(NamedTuple):
    """Weights of the candidate edges (0 where there is none) and biases; p0; the slab's precision."""

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
class SpikeSlabExact:
    """Every edge in turn is born, dies or moves by its exact law given all else; then every bias (see `edges`).

    A birth proposes a weight from where the likelihood wants it, however far from 0. Up to 15 nodes the probabilities
    of all states lie in a table, an accepted move multiplies three quarters of it, and a step is compiled; on larger
    graphs the engine is asked anew after each accepted move.

    Parameters
    ----------
    likelihood : Likelihood
        Of a `Boltzmann` model whose graph is the candidate edges, with an exact engine that answers ``moments``.
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for no edges.
    n_scans : int
        Scans over all edges and biases that make one step.
    """

    likelihood: Likelihood
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    start: np.ndarray | None = None
    n_scans: int = 1

    name = "spike_slab_exact"
    needs = frozenset({MOMENTS})
    dims = EDGE_DIMS | {"log_likelihood": ()}

    def __post_init__(self) -> None:
        self.likelihood.require(self.name, self.needs)
        if not self.likelihood.is_exact:
            raise OptionError(
                f"engine: {self.name!r} needs an exact engine, {self.likelihood.engine.name!r} is not; take enumeration "
                "or elimination, or a method for engines that are not exact"
            )

    @property
    def _model(self) -> Boltzmann:
        return self.likelihood.model  # type: ignore[return-value]

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
        """``n_scans`` scans."""
        lik, r = self.likelihood, self._model.n_edges
        theta = state.theta.copy()
        if self._model.graph.n_nodes <= MAX_TABLE:
            *hyper, log_z = _scan_table(
                rng,
                edge_prior(self.prior),
                lik.n_samples,
                lik.n_samples * lik.s_bar,
                self._model.graph.edges,
                theta,
                self.n_scans,
            )
        else:
            hyper, log_z = self._scan_engine(rng, theta)
        new = SpikeSlabExactState(theta, hyper[0], hyper[1])
        included = theta[:r] != 0
        info = SpikeSlabExactInfo(
            theta, included, int(included.sum()), new.density, new.precision**-0.5, lik.log_likelihood(theta, log_z)
        )
        return new, info

    def _scan_engine(self, rng: np.random.Generator, theta: np.ndarray) -> tuple[tuple[float, float], float]:
        lik, prior, n, edges = self.likelihood, edge_prior(self.prior), self.likelihood.n_samples, self._model.graph.edges
        r, means = len(edges), lik.s_bar[self._model.n_edges :]
        moments = lik.moments(theta)
        for _ in range(self.n_scans):
            weights = theta[:r]
            hyper = draw_hyper(rng, prior, np.count_nonzero(weights), r, float(weights @ weights))
            for e, (i, j) in enumerate(edges):
                m, m_i, m_j = moments[e], moments[r + i], moments[r + j]
                new = visit_edge(
                    rng, prior, n, n * lik.s_bar[e], means[i], means[j], theta, e, r + i, r + j,
                    m, max(m_i - m, 0.0), max(m_j - m, 0.0), max(1 - m_i - m_j + m, 0.0), *hyper,
                )  # fmt: skip
                if new:
                    moments = lik.moments(theta)
            for i in range(r, len(theta)):
                line = bias_line(moments[i], theta[i], n * lik.s_bar[i], n, prior.bias_precision)
                value = visit_bias(rng, line)
                if value != theta[i]:
                    theta[i] = value
                    moments = lik.moments(theta)
        return hyper, lik.log_z(theta)


@strict_leaf
def visit_edge(rng, prior, n, s, c_i, c_j, theta, e, i, j, p11, p10, p01, p00, density, precision):
    """Visit edge e, whose biases are theta[i] and theta[j]; change theta in place, and say whether it changed."""
    a = theta[e]
    line = edge_line(
        p11, p10, p01, p00, c_i, c_j, a, theta[i], theta[j], s, n * c_i, n * c_j, n, precision, prior.bias_precision
    )
    new = _visit_edge(rng, line, a, log_slab_odds(density, precision))
    theta[e] = new
    theta[i] -= (new - a) * c_j
    theta[j] -= (new - a) * c_i
    return new != a


@strict_leaf
def _scan_table(rng, prior, n, sums, edges, theta, n_scans):
    """Scans with the weights of all states in a table; returns p0, the slab's precision and log Z."""
    r = len(edges)
    n_nodes = len(theta) - r
    table, total, top = _table(edges, theta, n_nodes)
    density = precision = 0.0
    # What a move multiplies Z by is not in the table: state 0...0 always has the weight it began with.
    for _ in range(n_scans):
        n_included, squares = 0, 0.0
        for e in range(r):
            n_included += theta[e] != 0
            squares += theta[e] ** 2
        density, precision = draw_hyper(rng, prior, n_included, r, squares)
        for e in range(r):
            i, j = edges[e, 0], edges[e, 1]
            w11, w10, w01 = _pair_sums(table, i, j)
            c_i, c_j = sums[r + i] / n if n > 0 else 0.5, sums[r + j] / n if n > 0 else 0.5
            before, before_i, before_j = theta[e], theta[r + i], theta[r + j]
            w00 = max(total - w11 - w10 - w01, 0.0)
            if visit_edge(
                rng, prior, n, sums[e], c_i, c_j, theta, e, r + i, r + j,
                w11 / total, w10 / total, w01 / total, w00 / total, density, precision,
            ):  # fmt: skip
                f_i, f_j = exp(theta[r + i] - before_i), exp(theta[r + j] - before_j)
                f_ij = f_i * f_j * exp(theta[e] - before)
                _scale_pair(table, i, j, f_ij, f_i, f_j)
                total = w11 * f_ij + w10 * f_i + w01 * f_j + w00
        for i in range(n_nodes):
            w1 = _node_sum(table, i)
            before = theta[r + i]
            theta[r + i] = visit_bias(rng, bias_line(w1 / total, before, sums[r + i], n, prior.bias_precision))
            if theta[r + i] != before:
                factor = exp(theta[r + i] - before)
                _scale_node(table, i, factor)
                total += w1 * (factor - 1)
    return density, precision, top + log(total)


@strict_leaf
def _table(edges, theta, n_nodes):
    """Weights of all states, relative to the largest; their sum; log of the largest. Bit i of a state is x_i."""
    r = len(edges)
    weights = np.zeros((n_nodes, n_nodes))
    for e in range(r):
        i, j = max(edges[e, 0], edges[e, 1]), min(edges[e, 0], edges[e, 1])
        weights[i, j] = theta[e]
    table, local = np.zeros(1 << n_nodes), np.empty(1 << n_nodes)
    for i in range(n_nodes):
        local[0] = theta[r + i]
        for j in range(i):
            for k in range(1 << j):
                local[k + (1 << j)] = local[k] + weights[i, j]
        for k in range(1 << i):
            table[k + (1 << i)] = table[k] + local[k]
    top = table.max()
    for k in range(len(table)):
        table[k] = exp(table[k] - top)
    return table, table.sum(), top


@leaf
def _pair_sums(table, i, j):
    """Summed weights of the states with (x_i, x_j) = (1, 1), (1, 0) and (0, 1)."""
    u, v = min(i, j), max(i, j)
    one_u, one_v = 1 << u, 1 << v
    both = only_u = only_v = 0.0
    for high in range(0, len(table), 2 * one_v):
        for middle in range(high, high + one_v, 2 * one_u):
            for k in range(middle, middle + one_u):
                only_u += table[k + one_u]
                only_v += table[k + one_v]
                both += table[k + one_u + one_v]
    return both, only_u if u == i else only_v, only_v if u == i else only_u


@leaf
def _scale_pair(table, i, j, both, only_i, only_j):
    """Multiply the weights of the states with (x_i, x_j) = (1, 1), (1, 0) and (0, 1)."""
    u, v = min(i, j), max(i, j)
    only_u, only_v = (only_i, only_j) if u == i else (only_j, only_i)
    one_u, one_v = 1 << u, 1 << v
    for high in range(0, len(table), 2 * one_v):
        for middle in range(high, high + one_v, 2 * one_u):
            for k in range(middle, middle + one_u):
                table[k + one_u] *= only_u
                table[k + one_v] *= only_v
                table[k + one_u + one_v] *= both


@leaf
def _node_sum(table, i):
    """Summed weights of the states with x_i = 1."""
    one, total = 1 << i, 0.0
    for high in range(one, len(table), 2 * one):
        for k in range(high, high + one):
            total += table[k]
    return total


@leaf
def _scale_node(table, i, factor):
    """Multiply the weights of the states with x_i = 1."""
    one = 1 << i
    for high in range(one, len(table), 2 * one):
        for k in range(high, high + one):
            table[k] *= factor
