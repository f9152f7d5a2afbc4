"""Edges with a spike-and-slab prior between nodes with many states, with moments from particles that follow theta.

Each edge in turn has its full conditional, centred on the data, from the joint distribution of its ends, which is
averaged over particles given their other nodes (`bayesmrf.particles.tables`): over one half of them to propose a
weight, over the other to accept it, so that the two errors are independent. Then both ends are redrawn in every
particle under its new parameters. The error of the log ratio has its penalty (`..conditionals.penalty`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log1p
from typing import Any, NamedTuple

import numpy as np

from ...compiled import copy_to, strict_leaf
from ...errors import OptionError
from ...models.categorical import is_categorical
from ...particles.table_triples import rival_cells, spread_of_joint
from ...particles.tables import (
    TableGraph,
    TableParticles,
    edge_cells,
    follow_edge,
    redraw_ends,
    redraw_node,
    spread_of_growth,
    start_particles,
    state_share,
    table_graph,
    unpack,
    weigh_node,
)
from ..conditionals.alike_nodes import triple_of
from ..conditionals.centred import CentredModel, centred_lines, edge_line, move_edge, own_line, pair_values
from ..conditionals.exact_scan import ScanProblem, normal_prior
from ..conditionals.line import line_log_density, line_mode
from ..conditionals.penalty import penalty
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import birth_log_ratio, edge_prior, log_slab_odds, node_precision, visit_node
from ..conditionals.student_t import draw_t, log_t
from .spike_slab import SWEEPS, EdgeInfo, EdgeKernel, drawn, with_hyper

_START = 20  # sweeps of the particles before the first step
_SWAPS = 4  # proposed in a scan, for each node
_REDRAWN = 2.0  # mean number of times a scan redraws each node for edges that stay absent


class SpikeSlabParticleState(NamedTuple):
    """Weights (0 if absent) and fields, p0, the slab's precision, and the particles."""

    theta: np.ndarray
    density: float
    precision: float
    particles: TableParticles


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
    """

    n_particles: int = 1024
    pairs: np.ndarray | None = None

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
        return SWEEPS * self.n_particles

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self.model)

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
        for _ in range(_START):
            for i in range(model.graph.n_nodes):
                weigh_node(self._graph, unpacked, i)
                redraw_node(unpacked, i)
        kept = TableParticles(unpacked.x, unpacked.lanes)
        return SpikeSlabParticleState(theta, density, precision, kept)

    def step(self, rng: np.random.Generator, state: SpikeSlabParticleState) -> tuple[SpikeSlabParticleState, EdgeInfo]:
        """Visit all edges, in random order, and all fields."""
        model, r = self.model, self.model.n_edges
        theta, density, precision = with_hyper(rng, self.prior, state.theta.copy(), r)
        edges = theta[:r]
        unpacked = unpack(state.particles, edges[:, None] * self.model.gains, model.categorical(theta).field)
        order, pairs = rng.permutation(r), np.asarray(self.pairs)
        _scan(rng, self._graph, unpacked, self._problem, self.model.gains, theta, order, pairs, density, precision)
        kept = TableParticles(unpacked.x, unpacked.lanes)
        return SpikeSlabParticleState(theta, density, precision, kept), drawn(theta, edges != 0, density, precision)


@strict_leaf
def _scan(rng, graph, unpacked, problem, gains, theta, order, pairs, density, precision):
    """Visit the edges in ``order``, then the fields of all nodes; propose swaps of some of the ``pairs`` of edges."""
    lines, prior, scales = problem.lines, problem.prior, problem.scales.copy()
    r, log_slab = len(order), log_slab_odds(prior, density, precision)
    scales[:r] = precision
    now = scales.copy()
    redrawn = 0.5 * _REDRAWN * len(unpacked.x) / max(r, 1)
    for e in order:
        i, j = lines.edges[e]
        normal_prior(rng, prior, lines, e, i, j, theta, scales, now)
        new = _visit(rng, graph, unpacked, lines, e, i, j, theta, now, log_slab)
        # With many more candidates than edges, particles need not be redrawn for each of them.
        if theta[e] == 0 and new == 0 and rng.random() > redrawn:
            continue
        changed = new != theta[e]
        if changed:
            move_edge(lines, e, i, j, theta, new)
            follow_edge(unpacked, lines.starts, theta, gains, e, i, j)
        redraw_ends(graph, unpacked, e)
        if changed:
            _sweep(graph, unpacked, 1)
    if len(pairs) > 0:
        for _ in range(_SWAPS * len(unpacked.x)):
            k = int(rng.random() * len(pairs))
            _swap(rng, graph, unpacked, problem, gains, theta, pairs[k, 0], pairs[k, 1], scales, now)
    for i in range(len(unpacked.x)):
        weigh_node(graph, unpacked, i)
        for k in range(lines.starts[i], lines.starts[i + 1]):
            x = k - lines.starts[i] + 1
            now[k] = node_precision(rng, prior, scales[k], theta[k])
            q, before = state_share(unpacked, x), theta[k]
            theta[k] = visit_node(rng, own_line(lines, q, 1 - q, k, 0.0, 1.0, theta, now))
            unpacked.at_u[x] *= np.float32(exp(theta[k] - before))
            unpacked.field[i, x] = theta[k]
        redraw_node(unpacked, i)
        _sweep(graph, unpacked, 3)


@strict_leaf
def _sweep(graph, unpacked, n_sweeps):
    """Redraw all nodes of every particle, so that the particles do not lag behind a change of the graph."""
    for _ in range(n_sweeps):
        for i in range(len(unpacked.x)):
            weigh_node(graph, unpacked, i)
            redraw_node(unpacked, i)


@strict_leaf
def _swap(rng, graph, unpacked, problem, gains, theta, e, f, scales, now):
    """Propose to swap two edges that share a node, one present and one absent; see `exact_scan`."""
    if (theta[e] != 0) == (theta[f] != 0):
        return
    if theta[e] == 0:
        e, f = f, e
    lines, prior, m, a = problem.lines, problem.prior, len(problem.lines.values), theta[e]
    n_particles = unpacked.x.shape[1]
    half = n_particles >> 1
    (hub, v, w), _, _ = triple_of(lines.edges, e, f, m)
    normal_prior(rng, prior, lines, e, hub, v, theta, scales, now)
    normal_prior(rng, prior, lines, f, hub, w, theta, scales, now)
    g_e, g_f, log_factors = pair_values(lines, hub, v), pair_values(lines, hub, w), np.empty(m * m)
    of_e, of_f, joint = np.empty(m * m), np.empty(m * m), np.empty((m * m, n_particles), np.float32)
    for x in range(m * m):
        log_factors[x] = -a * g_e[x]
    before = theta.copy()
    move_edge(lines, e, hub, v, theta, 0.0)
    rival_cells(graph, unpacked, (hub, v, w), e, f, log_factors, 0, half, of_e, of_f, joint)
    mode_e, scale_e = line_mode(edge_line(lines, of_e, of_e.sum(), e, hub, v, theta, now))
    mode_f, scale_f = line_mode(edge_line(lines, of_f, of_f.sum(), f, hub, w, theta, now))
    b = draw_t(rng, mode_f, scale_f)
    rival_cells(graph, unpacked, (hub, v, w), e, f, log_factors, half, n_particles, of_e, of_f, joint)
    line_e = edge_line(lines, of_e, of_e.sum(), e, hub, v, theta, now)
    line_f = edge_line(lines, of_f, of_f.sum(), f, hub, w, theta, now)
    ratio = birth_log_ratio(line_f, b, mode_f, scale_f) - birth_log_ratio(line_e, a, mode_e, scale_e)
    for x in range(m * m):
        log_factors[x] = b * g_f[x]
    others, own = (
        spread_of_joint(joint, log_factors, 0, half),
        spread_of_joint(joint, log_factors, half, n_particles),
    )
    if log1p(-rng.random()) >= ratio - penalty(lines.n, own, others, half):
        copy_to(theta, before)
        return
    move_edge(lines, f, hub, w, theta, b)
    for edge in (e, f):
        i, j = lines.edges[edge]
        follow_edge(unpacked, lines.starts, theta, gains, edge, i, j)
    for edge in (e, f):
        edge_cells(graph, unpacked, edge, 0, n_particles, of_e)
        redraw_ends(graph, unpacked, edge)
    _sweep(graph, unpacked, 3)


@strict_leaf
def _visit(rng, graph, unpacked, lines, e, i, j, theta, now, log_slab):
    """Propose the birth or death of edge e = ij, or another weight; return the weight, 0 if absent."""
    values, n_particles, a = pair_values(lines, i, j), unpacked.x.shape[1], theta[e]
    half, cells = n_particles >> 1, np.empty(len(values))
    edge_cells(graph, unpacked, e, 0, half, cells)
    mode, scale = line_mode(edge_line(lines, cells, cells.sum(), e, i, j, theta, now))
    edge_cells(graph, unpacked, e, half, n_particles, cells)
    line = edge_line(lines, cells, cells.sum(), e, i, j, theta, now)
    new = draw_t(rng, mode, scale) if a == 0 else 0.0
    ratio = log_slab + birth_log_ratio(line, new if a == 0 else a, mode, scale)
    ratio = ratio if a == 0 else -ratio
    if log1p(-rng.random()) < ratio - _penalty(graph, unpacked, e, line, values, new):
        return new
    if a == 0:
        return 0.0
    new = draw_t(rng, mode, scale)
    ratio = line_log_density(new, line) - log_t(new, mode, scale) - line_log_density(a, line) + log_t(a, mode, scale)
    return new if log1p(-rng.random()) < ratio - _penalty(graph, unpacked, e, line, values, new) else a


@strict_leaf
def _penalty(graph, unpacked, e, line, values, new):
    """Return the penalty of a move of edge e along its line."""
    n_particles, sample = unpacked.x.shape[1], line.samples[0]
    half, log_factors = n_particles >> 1, np.empty(len(values))
    for x in range(len(values)):  # of two states, a tuple
        log_factors[x] = (new - sample.at) * values[x]
    others = spread_of_growth(graph, unpacked, e, log_factors, 0, half)
    own = spread_of_growth(graph, unpacked, e, log_factors, half, n_particles)
    return penalty(sample.n, own, others, half)
