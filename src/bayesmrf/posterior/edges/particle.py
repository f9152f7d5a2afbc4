"""Edges with a spike-and-slab prior between nodes with many states, with moments from particles that follow theta.

Each edge in turn has its full conditional from the probability that its ends agree, which is averaged over the
particles given their other nodes (`bayesmrf.particles.tables`); then both ends are redrawn in every particle under its
new parameter. The error of the log ratio of a birth or death is nearly normal with variance s^2, and s^2 / 2 is
subtracted from the ratio (the penalty method, Ceperley and Dewing 1999).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, log1p
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...errors import OptionError
from ...models.categorical import is_categorical
from ...models.potts import Potts
from ...options import Checked
from ...particles.tables import (
    TableGraph,
    TableParticles,
    edge_categories,
    redraw_ends,
    redraw_node,
    start_particles,
    state_share,
    table_graph,
    unpack,
    weigh_node,
)
from ...priors import SpikeSlab
from ..conditionals.line import Line, LineSample, growth, line_mode
from ..conditionals.log_concave import draw_around
from ..conditionals.spike import (
    birth_log_ratio,
    draw_hyper,
    edge_prior,
    log_slab_odds,
    normal_precision,
    visit_node,
)
from ..conditionals.student_t import draw_t
from .spike_slab import EDGE_DIMS, start_theta

_START = 20  # sweeps of the particles before the first step
_REDRAWN = 2.0  # mean number of times a scan redraws each node for edges that stay absent


class SpikeSlabParticleState(NamedTuple):
    """Couplings (0 if absent) and fields, p0, the slab's precision, and the particles."""

    theta: np.ndarray
    density: float
    precision: float
    particles: TableParticles


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
    model : Potts
        With fields; its graph is the candidate edges.
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for no edges.
    n_particles : int
        Rounded up to a multiple of 64.
    """

    model: Potts
    s_bar: np.ndarray
    n_samples: float
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    start: np.ndarray | None = None
    n_particles: int = 1024

    name = "spike_slab_particle"
    dims = EDGE_DIMS

    def __post_init__(self) -> None:
        super().__post_init__()
        model: Any = self.model
        if not is_categorical(model) or model.n_parameters > 1 or not model.fields:
            raise OptionError(option="model", got=model.name, expected=f"potts with fields for {self.name!r}")

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self.model)

    def init(self, rng: np.random.Generator) -> SpikeSlabParticleState:
        """Start at ``start``, with particles swept there."""
        model, prior, r = self.model, edge_prior(self.prior), self.model.n_edges
        theta = start_theta(model, self.s_bar, self.n_samples, self.start)
        density, precision = draw_hyper(rng, prior, np.count_nonzero(theta[:r]), r, float(theta[:r] @ theta[:r]))
        particles = start_particles(self.n_particles, model.graph.n_nodes, model.n_states, rng)
        unpacked = unpack(particles, theta[:r, None], model.categorical(theta).field)
        for _ in range(_START):
            for i in range(model.graph.n_nodes):
                weigh_node(self._graph, unpacked, i)
                redraw_node(unpacked, i)
        return SpikeSlabParticleState(theta, density, precision, TableParticles(unpacked.x, unpacked.lanes))

    def step(
        self, rng: np.random.Generator, state: SpikeSlabParticleState
    ) -> tuple[SpikeSlabParticleState, SpikeSlabParticleInfo]:
        """Visit all edges, in random order, and all fields."""
        model, prior, r, n = self.model, edge_prior(self.prior), self.model.n_edges, float(self.n_samples)
        edges = state.theta[:r]
        density, precision = draw_hyper(rng, prior, np.count_nonzero(edges), r, float(edges @ edges))
        unpacked = unpack(state.particles, edges[:, None], model.categorical(state.theta).field)
        _scan(rng, self._graph, unpacked, rng.permutation(r), n * self.s_bar, n, prior, density, precision)
        theta = np.concatenate([unpacked.potentials.ravel(), unpacked.field[:, 1:].ravel()])
        included = theta[:r] != 0
        info = SpikeSlabParticleInfo(theta, included, int(included.sum()), density, precision**-0.5)
        return SpikeSlabParticleState(theta, density, precision, TableParticles(unpacked.x, unpacked.lanes)), info


@strict_leaf
def _scan(rng, graph, unpacked, order, sums, n, prior, density, precision):
    """Visit the edges in ``order``, then the fields of all nodes."""
    r, m, log_slab = len(order), len(graph.category), log_slab_odds(prior, density, precision)
    redrawn = 0.5 * _REDRAWN * len(unpacked.x) / max(r, 1)
    for e in order:
        before = unpacked.potentials[e, 0]
        new = _visit(rng, graph, unpacked, e, sums[e], n, prior, precision, log_slab)
        # With many more candidates than edges, particles need not be redrawn for each of them.
        if before == 0 and new == 0 and rng.random() > redrawn:
            continue
        unpacked.potentials[e, 0] = new
        redraw_ends(graph, unpacked, e)
    for i in range(len(unpacked.x)):
        weigh_node(graph, unpacked, i)
        for k in range(1, m):
            q, old = state_share(unpacked, k), unpacked.field[i, k]
            sample = LineSample((q, 1 - q), (1.0, 0.0), old, n)
            new = visit_node(rng, Line((sample,), sums[r + i * (m - 1) + k - 1], prior.bias_precision, 0.0))
            unpacked.at_u[k] *= np.float32(exp(new - old))
            unpacked.field[i, k] = new
        redraw_node(unpacked, i)


@strict_leaf
def _visit(rng, graph, unpacked, e, score, n, prior, precision, log_slab):
    """Propose the birth or death of an edge, then redraw its coupling if it is present; return it, 0 if absent."""
    a = unpacked.potentials[e, 0]
    q, between = edge_categories(graph, unpacked, e)
    kappa = normal_precision(rng, prior.cauchy, precision, a)
    sample = LineSample((q[1], q[0]), (1.0, 0.0), a, n)
    line = Line((sample,), score, kappa, 0.0)
    mode, scale = line_mode(line)
    new = draw_t(rng, mode, scale) if a == 0 else a
    ratio, change = log_slab + birth_log_ratio(line, new, mode, scale), new
    if a != 0:
        change, ratio = -a, -ratio
    slope = (exp(change) - 1) / growth(sample, a + change)
    penalty = 0.5 * n * (n + 1) * between * q[0] * q[1] * slope * slope / unpacked.x.shape[1]
    if (log1p(-rng.random()) < ratio - penalty) == (a != 0):
        return 0.0
    return draw_around(rng, line, mode, scale)
