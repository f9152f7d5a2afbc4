"""Edges with a spike-and-slab prior, exact ("Bayes Exact" of Chen and Welling 2012, with larger moves)."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import NamedTuple

import numpy as np

from ...base import MOMENTS
from ...compiled import leaf, strict_leaf
from ...errors import OptionError
from ...likelihood import Likelihood
from ...models.boltzmann import Boltzmann
from ...options import check_fields
from ...priors import SpikeSlab
from .spike_slab import (
    EDGE_DIMS,
    bias_line,
    draw_hyper,
    draw_slab_precision,
    edge_line,
    edge_prior,
    log_slab_odds,
    start_theta,
    visit_bias,
    visit_edge,
)

MAX_TABLE = 20  # nodes: 8 MiB


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

    A birth proposes a weight from where the likelihood wants it, however far from 0. Up to 20 nodes a step
    is compiled, and the weights of all states lie in a table; on larger graphs the engine is asked anew after each
    accepted move.

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
        check_fields(self)
        self.likelihood.require(self.name, self.needs)
        if not self.likelihood.is_exact:
            raise OptionError(
                f"engine: {self.name!r} needs an exact engine, {self.likelihood.engine.name!r} is not; take "
                "enumeration or elimination, or a method for engines that are not exact"
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
        lik, prior, n, edges = (
            self.likelihood,
            edge_prior(self.prior),
            self.likelihood.n_samples,
            self._model.graph.edges,
        )
        r, means = len(edges), lik.s_bar[self._model.n_edges :]
        moments = lik.moments(theta)
        for _ in range(self.n_scans):
            weights = theta[:r]
            hyper = draw_hyper(rng, prior, np.count_nonzero(weights), r, float(weights @ weights))
            for e, (i, j) in enumerate(edges):
                m, m_i, m_j = moments[e], moments[r + i], moments[r + j]
                new = _visit(
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
def _visit(rng, prior, n, s, c_i, c_j, theta, e, i, j, p11, p10, p01, p00, density, precision):
    """Visit edge e, whose biases are theta[i] and theta[j]; change theta in place, and say whether it changed."""
    a = theta[e]
    slab = draw_slab_precision(rng, prior, precision, a)
    line = edge_line(
        p11, p10, p01, p00, c_i, c_j, a, theta[i], theta[j], s, n * c_i, n * c_j, n, slab, prior.bias_precision
    )
    new = visit_edge(rng, line, a, log_slab_odds(prior, density, precision))
    theta[e] = new
    theta[i] -= (new - a) * c_j
    theta[j] -= (new - a) * c_i
    return new != a


@strict_leaf
def _scan_table(rng, prior, n, sums, edges, theta, n_scans):
    """Scans with the weights of all states in a table; returns p0, the slab's precision and log Z.

    Nodes are in four blocks. The edges and biases of two blocks see the others through the summed weights of the
    blocks' own states alone, a small table. So the large one is read and written once for each two blocks.
    """
    r = len(edges)
    n_nodes = len(theta) - r
    edge_of = np.full((n_nodes, n_nodes), -1)
    for e in range(r):
        edge_of[edges[e, 0], edges[e, 1]] = edge_of[edges[e, 1], edges[e, 0]] = e
    n_blocks = min(4, n_nodes)
    bounds = np.array([b * n_nodes // n_blocks for b in range(n_blocks + 1)])
    table, top = _table(edges, theta, n_nodes)
    old, small, members = np.empty(1), np.empty(1), np.empty(n_nodes, np.int64)
    density = precision = 0.0
    for _ in range(n_scans):
        n_included, squares = 0, 0.0
        for e in range(r):
            n_included += theta[e] != 0
            squares += theta[e] ** 2
        density, precision = draw_hyper(rng, prior, n_included, r, squares)
        for b in range(n_blocks):
            for c in range(b + 1, n_blocks):
                k = 0
                for i in range(n_nodes):
                    if bounds[b] <= i < bounds[b + 1] or bounds[c] <= i < bounds[c + 1]:
                        members[k] = i
                        k += 1
                small = np.zeros(1 << k)
                _sum_out(table, small, bounds[b], bounds[b + 1], bounds[c], bounds[c + 1])
                old = small.copy()
                # Pairs inside a block, and biases, are visited once in a scan.
                first, last = c == b + 1, c == n_blocks - 1 and b == n_blocks - 2
                _scan_blocks(
                    rng, prior, n, sums, edge_of, theta, density, precision,
                    small, members[:k], bounds[b + 1] - bounds[b], first, last,
                )  # fmt: skip
                for x in range(len(small)):
                    small[x] = small[x] / old[x] if old[x] > 0 else 1.0
                _scale(table, small, bounds[b], bounds[b + 1], bounds[c], bounds[c + 1])
    return density, precision, top + log(table.sum())


@strict_leaf
def _scan_blocks(rng, prior, n, sums, edge_of, theta, density, precision, table, members, n_first, first, last):
    """Visit the edges between the first ``n_first`` members and the others; those among either if ``first``, ``last``,
    and their biases then.
    """
    r = len(theta) - len(edge_of)
    total = table.sum()
    for v in range(len(members)):
        for u in range(v):
            e = edge_of[members[u], members[v]]
            if e < 0 or (v < n_first and not first) or (u >= n_first and not last):
                continue
            i, j = r + members[u], r + members[v]
            w11, w10, w01 = _pair_sums(table, u, v)
            w00 = max(total - w11 - w10 - w01, 0.0)
            c_i, c_j = (sums[i] / n, sums[j] / n) if n > 0 else (0.5, 0.5)
            before, before_i, before_j = theta[e], theta[i], theta[j]
            if _visit(
                rng, prior, n, sums[e], c_i, c_j, theta, e, i, j,
                w11 / total, w10 / total, w01 / total, w00 / total, density, precision,
            ):  # fmt: skip
                f_i, f_j = exp(theta[i] - before_i), exp(theta[j] - before_j)
                f_ij = f_i * f_j * exp(theta[e] - before)
                _scale_pair(table, u, v, f_ij, f_i, f_j)
                total = w11 * f_ij + w10 * f_i + w01 * f_j + w00
    for u in range(len(members)):
        if (u < n_first and first) or (u >= n_first and last):
            i = r + members[u]
            w1 = _node_sum(table, u)
            before = theta[i]
            theta[i] = visit_bias(rng, bias_line(min(w1 / total, 1.0), before, sums[i], n, prior.bias_precision))
            if theta[i] != before:
                factor = exp(theta[i] - before)
                _scale_node(table, u, factor)
                total += w1 * (factor - 1)


@strict_leaf
def _table(edges, theta, n_nodes):
    """Weights of all states, relative to the largest, and its log. Bit i of a state is x_i."""
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
    return table, top


@leaf
def _sum_out(table, small, b0, b1, c0, c1):
    """Sum the weights over all bits but b0..b1-1 and c0..c1-1, into ``small``."""
    for high in range(0, len(table), 1 << c1):
        for y in range(1 << (c1 - c0)):
            out = y << (b1 - b0)
            start = high + (y << c0)
            for middle in range(start, start + (1 << c0), 1 << b1):
                if b0 == 0:
                    for x in range(1 << b1):
                        small[out + x] += table[middle + x]
                else:
                    for x in range(1 << (b1 - b0)):
                        total = 0.0
                        for k in range(middle + (x << b0), middle + (x << b0) + (1 << b0)):
                            total += table[k]
                        small[out + x] += total


@leaf
def _scale(table, factors, b0, b1, c0, c1):
    """Multiply the weights by a factor for each value of the bits b0..b1-1 and c0..c1-1."""
    for high in range(0, len(table), 1 << c1):
        for y in range(1 << (c1 - c0)):
            out = y << (b1 - b0)
            start = high + (y << c0)
            for middle in range(start, start + (1 << c0), 1 << b1):
                if b0 == 0:
                    for x in range(1 << b1):
                        table[middle + x] *= factors[out + x]
                else:
                    for x in range(1 << (b1 - b0)):
                        factor = factors[out + x]
                        for k in range(middle + (x << b0), middle + (x << b0) + (1 << b0)):
                            table[k] *= factor


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
