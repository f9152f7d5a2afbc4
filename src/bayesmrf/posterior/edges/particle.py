"""Edges with a spike-and-slab prior between nodes with many states, with moments from particles that follow theta.

Each edge in turn has its full conditional, centred on the data, from the joint distribution of its ends, which is
averaged over the particles given their other nodes (`bayesmrf.particles.tables`); then both ends are redrawn in every
particle under its new parameters. The error of the log ratio of a birth or death is nearly normal with variance s^2,
and s^2 / 2 is subtracted from the ratio (the penalty method, Ceperley and Dewing 1999).
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
from ...options import Checked
from ...particles.tables import (
    TableGraph,
    TableParticles,
    edge_cells,
    move_field,
    redraw_ends,
    redraw_node,
    start_particles,
    state_share,
    table_graph,
    unpack,
    variance_of_growth,
    weigh_node,
)
from ...particles.triples import triple_cells, variance_of_joint
from ...priors import SpikeSlab
from ..conditionals.alike_nodes import triple_of
from ..conditionals.centred import CentredModel, centred_lines, edge_line, move_edge, own_line, pair_values
from ..conditionals.exact_scan import ScanProblem, normal_prior, propose_swap
from ..conditionals.line import line_log_density, line_mode
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import birth_log_ratio, draw_hyper, edge_prior, log_slab_odds, node_precision, visit_node
from ..conditionals.student_t import draw_t, log_t
from .spike_slab import EDGE_DIMS, start_theta

_START = 20  # sweeps of the particles before the first step
_SWAPS = 4  # proposed in a scan, for each node
_REDRAWN = 2.0  # mean number of times a scan redraws each node for edges that stay absent


class SpikeSlabParticleState(NamedTuple):
    """Weights (0 if absent) and fields, p0, the slab's precision, the particles, and the mode and scale of each weight
    at its last visit.
    """

    theta: np.ndarray
    density: float
    precision: float
    particles: TableParticles
    centres: np.ndarray


class SpikeSlabParticleInfo(NamedTuple):
    """Draw."""

    theta: np.ndarray
    included: np.ndarray
    n_edges: int
    density: float
    slab_scale: float


@dataclass(frozen=True, eq=False)
class SpikeSlabParticle(Checked):
    """Birth, death or move of every edge in turn, then every field, with moments from particles.

    Parameters
    ----------
    model : CentredModel
        Potts or ordinal, with fields; its graph is the candidate edges.
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for no edges.
    n_particles : int
        Rounded up to a multiple of 64.
    pairs : (n_pairs, 2) int array or None
        Rival edges; None to choose them by the statistics of the data.
    """

    model: Any
    s_bar: np.ndarray
    n_samples: float
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    start: np.ndarray | None = None
    n_particles: int = 1024
    pairs: np.ndarray | None = None

    name = "spike_slab_particle"
    dims = EDGE_DIMS

    def __post_init__(self) -> None:
        super().__post_init__()
        model: Any = self.model
        if not (is_categorical(model) and isinstance(model, CentredModel) and model.fields):
            expected = f"potts or ordinal with fields for {self.name!r}"
            raise OptionError(option="model", got=model.name, expected=expected)
        if self.pairs is None:
            object.__setattr__(self, "pairs", rivals_in(model, self.s_bar, self.n_samples))

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self.model)

    @cached_property
    def _gains(self) -> np.ndarray:
        """Values of the feature of an edge but 0, in the order of the model's ``category``."""
        return np.unique(self.model.edge_values)[1:]

    @cached_property
    def _problem(self) -> ScanProblem:
        model, prior = self.model, edge_prior(self.prior)
        lines = centred_lines(model, self.s_bar, float(self.n_samples), prior.tilt)
        return ScanProblem(lines, prior, np.full(model.n_features, prior.bias_precision))

    def init(self, rng: np.random.Generator) -> SpikeSlabParticleState:
        """Start at ``start``, with particles swept there."""
        model, prior, r = self.model, edge_prior(self.prior), self.model.n_edges
        theta = start_theta(model, self.s_bar, self.n_samples, self.start)
        density, precision = draw_hyper(rng, prior, np.count_nonzero(theta[:r]), r, float(theta[:r] @ theta[:r]))
        particles = start_particles(self.n_particles, model.graph.n_nodes, model.n_states, rng)
        unpacked = unpack(particles, theta[:r, None] * self._gains, model.categorical(theta).field)
        for _ in range(_START):
            for i in range(model.graph.n_nodes):
                weigh_node(self._graph, unpacked, i)
                redraw_node(unpacked, i)
        kept = TableParticles(unpacked.x, unpacked.lanes)
        return SpikeSlabParticleState(theta, density, precision, kept, np.zeros((r, 2)))

    def step(
        self, rng: np.random.Generator, state: SpikeSlabParticleState
    ) -> tuple[SpikeSlabParticleState, SpikeSlabParticleInfo]:
        """Visit all edges, in random order, and all fields."""
        model, prior, r, theta = self.model, self._problem.prior, self.model.n_edges, state.theta.copy()
        edges = theta[:r]
        density, precision = draw_hyper(rng, prior, np.count_nonzero(edges), r, float(edges @ edges))
        unpacked = unpack(state.particles, edges[:, None] * self._gains, model.categorical(theta).field)
        centres = state.centres.copy()
        order, pairs = rng.permutation(r), np.asarray(self.pairs)
        _scan(rng, self._graph, unpacked, self._problem, self._gains, theta, centres, order, pairs, density, precision)
        included = edges != 0
        info = SpikeSlabParticleInfo(theta, included, int(included.sum()), density, precision**-0.5)
        kept = TableParticles(unpacked.x, unpacked.lanes)
        return SpikeSlabParticleState(theta, density, precision, kept, centres), info


@strict_leaf
def _scan(rng, graph, unpacked, problem, gains, theta, centres, order, pairs, density, precision):
    """Visit the edges in ``order``, then the fields of all nodes; propose swaps of some of the ``pairs`` of edges."""
    lines, prior, scales = problem.lines, problem.prior, problem.scales.copy()
    r, m, log_slab = len(order), len(lines.values), log_slab_odds(prior, density, precision)
    scales[:r] = precision
    now, cells = scales.copy(), np.empty(m * m)
    redrawn = 0.5 * _REDRAWN * len(unpacked.x) / max(r, 1)
    for e in order:
        i, j = lines.edges[e]
        edge_cells(graph, unpacked, e, cells)
        normal_prior(rng, prior, lines, e, i, j, theta, scales, now)
        line = edge_line(lines, cells, cells.sum(), e, i, j, theta, now)
        new = _visit(rng, graph, unpacked, e, line, pair_values(lines, i, j), theta[e], log_slab, centres[e])
        # With many more candidates than edges, particles need not be redrawn for each of them.
        if theta[e] == 0 and new == 0 and rng.random() > redrawn:
            continue
        changed = new != theta[e]
        if changed:
            move_edge(lines, e, i, j, theta, new)
            _follow(lines, unpacked, theta, gains, e, i, j)
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
def _follow(lines, unpacked, theta, gains, e, i, j):
    """Set the potential of edge e = ij and the fields of its ends, and update the weights of these."""
    for x in range(len(gains)):
        unpacked.potentials[e, x] = theta[e] * gains[x]
    move_field(unpacked, i, theta[lines.starts[i] : lines.starts[i + 1]], unpacked.at_u)
    move_field(unpacked, j, theta[lines.starts[j] : lines.starts[j + 1]], unpacked.at_v)


@strict_leaf
def _swap(rng, graph, unpacked, problem, gains, theta, e, f, scales, now):
    """Propose to swap two edges that share a node, one present and one absent; see `exact_scan`."""
    if (theta[e] != 0) == (theta[f] != 0):
        return
    if theta[e] == 0:
        e, f = f, e
    lines, prior, m, a = problem.lines, problem.prior, len(problem.lines.values), theta[e]
    (hub, v, w), _, _ = triple_of(lines.edges, e, f, m)
    normal_prior(rng, prior, lines, e, hub, v, theta, scales, now)
    normal_prior(rng, prior, lines, f, hub, w, theta, scales, now)
    g_e, g_f, log_factors = pair_values(lines, hub, v), pair_values(lines, hub, w), np.empty(m * m)
    of_e, of_f, joint = np.empty(m * m), np.empty(m * m), np.empty((m * m, unpacked.x.shape[1]), np.float32)
    for x in range(m * m):
        log_factors[x] = -a * g_e[x]
    triple_cells(graph, unpacked, (hub, v, w), e, f, log_factors, of_e, of_f, joint)
    before = theta.copy()
    move_edge(lines, e, hub, v, theta, 0.0)
    line_e = edge_line(lines, of_e, of_e.sum(), e, hub, v, theta, now)
    line_f = edge_line(lines, of_f, of_f.sum(), f, hub, w, theta, now)
    b, ratio = propose_swap(rng, line_e, line_f, a)
    for x in range(m * m):
        log_factors[x] = b * g_f[x]
    penalty = 0.5 * lines.n * (lines.n + 1) * variance_of_joint(joint, log_factors) / unpacked.x.shape[1]
    if log1p(-rng.random()) >= ratio - penalty:
        copy_to(theta, before)
        return
    move_edge(lines, f, hub, w, theta, b)
    for edge in (e, f):
        i, j = lines.edges[edge]
        _follow(lines, unpacked, theta, gains, edge, i, j)
    for edge in (e, f):
        edge_cells(graph, unpacked, edge, of_e)
        redraw_ends(graph, unpacked, edge)
    _sweep(graph, unpacked, 3)


@strict_leaf
def _visit(rng, graph, unpacked, e, line, values, a, log_slab, centre):
    """Propose the birth or death of an edge, then another weight if it is present; return the weight, 0 if absent.

    Weights are proposed from a t around the mode of the line at the last visit, ``centre``: the noise of the line now
    is then independent of the proposal.
    """
    mode, scale = centre
    centre[0], centre[1] = line_mode(line)
    if scale == 0:
        mode, scale = centre
    now = draw_t(rng, mode, scale) if a == 0 else a
    ratio = log_slab + birth_log_ratio(line, now, mode, scale)
    ratio = (ratio if a == 0 else -ratio) - _penalty(graph, unpacked, e, line, values, now, 0.0)
    if (log1p(-rng.random()) < ratio) == (a != 0):
        return 0.0
    new = draw_t(rng, mode, scale)
    ratio = line_log_density(new, line) - log_t(new, mode, scale)
    ratio -= (
        line_log_density(now, line) - log_t(now, mode, scale) + _penalty(graph, unpacked, e, line, values, new, now)
    )
    return new if log1p(-rng.random()) < ratio else now


@strict_leaf
def _penalty(graph, unpacked, e, line, values, one, two):
    """Return half of the variance of the difference of the line between two weights of edge e."""
    n, at, m = line.samples[0].n, line.samples[0].at, len(values)
    above, below = np.empty(m), np.empty(m)
    for x in range(m):
        above[x], below[x] = (one - at) * values[x], (two - at) * values[x]
    return 0.5 * n * (n + 1) * variance_of_growth(graph, unpacked, e, above, below) / unpacked.x.shape[1]
