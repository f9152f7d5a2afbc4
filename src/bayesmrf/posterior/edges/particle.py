"""Edges with a spike-and-slab prior between nodes with many states, with moments from particles that follow theta.

Each edge in turn has its full conditional, centred on the data, from the joint distribution of its ends, which is
averaged over particles given their other nodes (`bayesmrf.particles.tables`): over one half of them to propose a
weight, over the other to accept it, so that the two errors are independent. The error of the log ratio has its penalty
(`..conditionals.penalty`). Then the particles are weighted by the ratio of the two densities, so that they do not lag
behind theta, and both ends are redrawn in each of them; a half in which few have most of the weight is resampled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log1p
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...errors import OptionError
from ...models.categorical import is_categorical
from ...particles.table_features import follow_feature, grown_by_feature, mean_shares, shares_of_states
from ...particles.tables import (
    TableGraph,
    TableParticles,
    cells_again,
    edge_cells,
    follow_edge,
    follow_weights,
    grown_weights,
    redraw_ends,
    redraw_node,
    resample,
    spreads,
    start_particles,
    sweep,
    table_graph,
    unpack,
    weigh_node,
)
from ..conditionals.centred import (
    CentredModel,
    centred_lines,
    edge_line,
    move_edge,
    node_line,
    node_row,
    pair_values,
)
from ..conditionals.exact_scan import ScanProblem, normal_prior
from ..conditionals.line import line_log_density, line_mode
from ..conditionals.penalty import penalty
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import birth_log_ratio, edge_prior, log_slab_odds, node_precision
from ..conditionals.student_t import draw_t, log_t, propose_move
from .spike_slab import SWEEPS, EdgeInfo, EdgeKernel, drawn, with_hyper
from .table_swaps import Swaps, swaps_of, visit_rivals

START = 20  # sweeps of the particles before the first step
REDRAWN = 2.0  # mean number of times a scan redraws each node for edges that stay absent


class SpikeSlabParticleState(NamedTuple):
    """Weights (0 if absent) and fields, p0, the slab's precision, the particles, and the number of steps."""

    theta: np.ndarray
    density: float
    precision: float
    particles: TableParticles
    age: int


@dataclass(frozen=True, eq=False)
class SpikeSlabParticle(EdgeKernel):
    """Birth, death or move of every edge in turn, then every field, with moments from particles.

    Parameters
    ----------
    model : CentredModel
        Potts or ordinal, with fields.
    s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    n_particles : int
        Rounded up to a multiple of 128.
    pairs : (n_pairs, 2) int array or None
        Rival edges; None to choose them by the statistics of the data.
    n_scans : int
        Scans over all edges and fields that make one step.
    n_settle : int
        Steps of a single scan at the start: warm-up needs as many steps as there are draws, but fewer scans.
    """

    n_particles: int = 1024
    pairs: np.ndarray | None = None
    n_scans: int = 2
    n_settle: int = 0

    name = "spike_slab_particle"

    def __post_init__(self) -> None:
        super().__post_init__()
        model: Any = self.model
        if not (is_categorical(model) and isinstance(model, CentredModel) and model.fields):
            expected = f"potts or ordinal with fields for {self.name!r}"
            raise OptionError(option="model", got=model.name, expected=expected)
        if self.pairs is None:
            object.__setattr__(self, "pairs", rivals_in(model, self.s_bar, self.n_samples))

    @property
    def particle_sweeps(self) -> int:
        """Gibbs sweeps of single particles that a step is worth."""
        return SWEEPS * self.n_scans * self.n_particles

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self.model)

    @cached_property
    def _swaps(self) -> Swaps:
        return swaps_of(self.model, self._problem.lines, np.asarray(self.pairs), self.s_bar, self.n_samples)

    @cached_property
    def _problem(self) -> ScanProblem:
        model, prior = self.model, edge_prior(self.prior)
        lines = centred_lines(model, self.s_bar, float(self.n_samples), prior.tilt)
        return ScanProblem(lines, prior, np.full(model.n_features, prior.bias_precision))

    def init(self, rng: np.random.Generator) -> SpikeSlabParticleState:
        """Start at ``start``, with particles swept there."""
        (theta, density, precision), model, r = self.first(rng), self.model, self.model.n_edges
        particles = start_particles(-(-self.n_particles // 128) * 128, model.graph.n_nodes, model.n_states, rng)
        unpacked = unpack(particles, theta[:r, None] * self.model.gains, model.categorical(theta).field)
        for _ in range(START):
            sweep(self._graph, unpacked)
        kept = TableParticles(unpacked.x, unpacked.lanes)
        return SpikeSlabParticleState(theta, density, precision, kept, 0)

    def step(self, rng: np.random.Generator, state: SpikeSlabParticleState) -> tuple[SpikeSlabParticleState, EdgeInfo]:
        """Visit all edges, in random order, and all fields."""
        model, r = self.model, self.model.n_edges
        theta = state.theta.copy()
        unpacked = unpack(state.particles, theta[:r, None] * self.model.gains, model.categorical(theta).field)
        for _ in range(1 if state.age < self.n_settle else self.n_scans):
            _, density, precision = with_hyper(rng, self.prior, theta, r)
            order, gains = rng.permutation(r), model.gains
            _scan(rng, self._graph, unpacked, self._problem, self._swaps, gains, theta, order, density, precision)
        kept = TableParticles(unpacked.x, unpacked.lanes)
        new = SpikeSlabParticleState(theta, density, precision, kept, state.age + 1)
        return new, drawn(theta, theta[:r] != 0, density, precision)


@strict_leaf
def _scan(rng, graph, unpacked, problem, swaps, gains, theta, order, density, precision):
    """Visit the edges in ``order``, propose swaps of rival edges, then visit the fields of all nodes."""
    lines, prior, scales = problem.lines, problem.prior, problem.scales.copy()
    r, log_slab = len(order), log_slab_odds(prior, density, precision)
    scales[:r] = precision
    now = scales.copy()
    redrawn = 0.5 * REDRAWN * len(unpacked.x) / max(r, 1)
    weights, share = np.empty(unpacked.x.shape[1], np.float32), np.empty(unpacked.at_u.shape, np.float32)
    for at in range(r):
        if at % len(unpacked.x) == 0:
            sweep(graph, unpacked)
        e = order[at]
        i, j = lines.edges[e, 0], lines.edges[e, 1]
        normal_prior(rng, prior, lines, e, i, j, theta, scales, now)
        was = theta[e]
        _visit(rng, graph, unpacked, lines, gains, e, i, j, theta, now, log_slab, weights)
        # With many more candidates than edges, particles need not be redrawn for each of them.
        if was != 0 or theta[e] != 0 or rng.random() < redrawn:
            redraw_ends(graph, unpacked, e)
    visit_rivals(rng, graph, unpacked, problem, swaps, gains, theta, scales, now, weights)
    for i in range(len(unpacked.x)):
        weigh_node(graph, unpacked, i)
        for k in range(lines.starts[i], lines.starts[i + 1]):
            now[k] = node_precision(rng, prior, scales[k], theta[k])
            visit_field(rng, unpacked, lines, i, k, theta, now, share, weights)
        redraw_node(unpacked, i)
    for first in (0, len(weights) >> 1):
        resample(rng, unpacked, first)


@strict_leaf
def visit_field(rng, unpacked, lines, i, k, theta, now, share, weights):
    """Propose another value of parameter k of node i, after `weigh_node`; ``share`` and ``weights`` are room."""
    half, a, f = len(weights) >> 1, theta[k], lines.features[k - len(lines.edges)]
    cells = np.empty((2, len(f)))
    shares_of_states(unpacked, share)
    for side in range(2):
        mean_shares(unpacked, i, f, share, side * half, (side + 1) * half, cells[side])
    mode, scale = line_mode(node_line(lines, cells[0], k, theta, now))
    line, new = node_line(lines, cells[1], k, theta, now), draw_t(rng, mode, scale)
    ratio = line_log_density(new, line) - log_t(new, mode, scale) - line_log_density(a, line) + log_t(a, mode, scale)
    chance = log1p(-rng.random())
    if not chance < ratio:
        return
    grown_by_feature(unpacked, f, new - a, share, weights)
    others, own = spreads(unpacked.weights, weights)
    if not chance < ratio - penalty(lines.n, own, others, half):
        return
    theta[k] = new
    follow_feature(unpacked, i, f, new - a)
    follow_weights(rng, unpacked, weights)


@strict_leaf
def _move(unpacked, lines, gains, e, theta, value):
    """Move edge e along its line, and the potentials of the particles with it."""
    i, j = lines.edges[e, 0], lines.edges[e, 1]
    move_edge(lines, e, i, j, theta, value)
    follow_edge(unpacked, gains, e, theta[e], i, node_row(lines, theta, i), j, node_row(lines, theta, j))


@strict_leaf
def _grow(graph, unpacked, lines, e, theta, value, weights):
    """Set the weights of the particles if edge e moves along its line to ``value``."""
    i, j = lines.edges[e, 0], lines.edges[e, 1]
    values, log_factors = pair_values(lines, e, i, j), np.empty(len(lines.values) ** 2)
    for x in range(len(log_factors)):  # of two states, a tuple
        log_factors[x] = (value - theta[e]) * values[x]
    grown_weights(graph, unpacked, e, log_factors, weights)


@strict_leaf
def _visit(rng, graph, unpacked, lines, gains, e, i, j, theta, now, log_slab, weights):
    """Propose another weight of edge e = ij if it is present, then its birth or death; let the particles follow.

    Were only those weights redrawn that do not die, the stationary distribution would be different.
    """
    half, cells = len(weights) >> 1, np.empty((2, len(lines.values) ** 2))
    for side in range(2):
        edge_cells(graph, unpacked, e, side * half, (side + 1) * half, cells[side])
    for move in range(0 if theta[e] != 0 else 1, 2):
        a, new = theta[e], 0.0
        mode, scale = line_mode(edge_line(lines, cells[0], cells[0].sum(), e, i, j, theta, now))
        line = edge_line(lines, cells[1], cells[1].sum(), e, i, j, theta, now)
        if move == 0:
            new, ratio = propose_move(rng, a, mode, scale)
            ratio += line_log_density(new, line) - line_log_density(a, line)
        elif a == 0:
            new = draw_t(rng, mode, scale)
            ratio = log_slab + birth_log_ratio(line, new, mode, scale)
        else:
            ratio = -log_slab - birth_log_ratio(line, a, mode, scale)
        chance = log1p(-rng.random())  # compared before the penalty, which is never negative
        if not (chance < ratio and chance < ratio - _penalty(graph, unpacked, lines, e, theta, new, weights)):
            continue
        follow_weights(rng, unpacked, weights)
        _move(unpacked, lines, gains, e, theta, new)
        if move == 0:
            for side in range(2):
                cells_again(graph, unpacked, e, side * half, (side + 1) * half, cells[side])


@strict_leaf
def _penalty(graph, unpacked, lines, e, theta, new, weights):
    """Return the penalty of a move of edge e along its line; set the weights of the particles that follow."""
    half = len(weights) >> 1
    _grow(graph, unpacked, lines, e, theta, new, weights)
    others, own = spreads(unpacked.weights, weights)
    return penalty(lines.n, own, others, half)
