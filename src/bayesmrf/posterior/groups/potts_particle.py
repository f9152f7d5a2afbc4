"""Groups of edges of a Potts model on any graph, with moments from many particles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...models.potts import Potts
from ...options import check_fields
from ...particles.tables import (
    TableCrowd,
    TableGraph,
    TableParticles,
    edge_categories,
    redraw_ends,
    refresh,
    start_particles,
    table_graph,
    unpack,
)
from ...priors import DirichletProcess
from ..conditionals.log_concave import draw
from ..conditionals.one_coordinate import OneCoordinate
from .dirichlet_process import GROUPED_DIMS, Grouping, compact, draw_alpha, group_totals, initial_grouping
from .moves.jumps import accept_jump
from .moves.split_merge import NONE, SPLIT, apply, propose
from .moves.table_fields import draw_fields
from .moves.values import group_counts, move_values
from .prior import draw_density, group_prior, reassign, value_of

_START = 20  # scans of the particles before the first step
_FORGET = 0.7  # the mean of nu over the scans gives the t-th a weight of t^-0.7


class PottsParticleState(NamedTuple):
    """Groups; fields; the particles; the mean of nu over the scans so far, and their number."""

    edges: Grouping
    field: np.ndarray  # (n_nodes, m)
    particles: TableParticles
    nu: np.ndarray
    n_scans: int


class PottsParticleInfo(NamedTuple):
    """Draw; the noise of an edge's log likelihood; shares accepted of values; splits and merges."""

    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    density: float
    likelihood_noise: float
    acceptance_values: float
    n_splits: int
    n_merges: int


@dataclass(frozen=True, eq=False)
class GroupedPottsParticle:
    """Gibbs sampling of groups with q from particles that follow theta edge by edge, of nodes with many states.

    A step is that of `bayesmrf.posterior.groups.particle`: a scan of local refresh (`table_refresh`), values of groups
    with one edge in the same way, values of larger groups by importance weights, fields node by node (`table_fields`),
    splits and merges, alpha and p0. What it has not are flips of clusters and joint moves of two edges, so that
    particles lag farther behind where couplings are strong.

    Parameters
    ----------
    model : Potts
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    prior : DirichletProcess
    start : (n_features,) array
        Estimate from which the chain starts.
    n_particles : int
        Rounded up to a multiple of 64.
    n_jumps : int
        Splits and merges tried in a step.
    """

    model: Potts
    s_bar: np.ndarray
    n_samples: float
    prior: DirichletProcess
    start: np.ndarray
    n_particles: int = 1024
    n_jumps: int = 10

    name = "grouped_potts_particle"
    dims = (
        GROUPED_DIMS
        | {"density": (), "likelihood_noise": (), "acceptance_values": ()}
        | {"n_splits": (), "n_merges": ()}
    )

    def __post_init__(self) -> None:
        check_fields(self)

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self.model)

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Observations in which the ends of each edge agree, and in which each node is in each state but the first."""
        counts, r = np.rint(self.n_samples * self.s_bar), self.model.n_edges
        return counts[:r], counts[r:].reshape(-1, self.model.n_states - 1)

    def init(self, rng: np.random.Generator) -> PottsParticleState:
        """Start from k-means on the estimate, with particles refreshed there."""
        r, n_nodes = self.model.n_edges, self.model.graph.n_nodes
        edges = initial_grouping(1 / (1 + np.exp(-self.start[:r])), self.prior, rng)
        field = self.model.categorical(self.start).field
        particles = start_particles(self.n_particles, n_nodes, self.model.n_states, rng)
        crowd = unpack(particles, edges.spread()[:, None], field)
        for _ in range(_START):
            refresh(self._graph, crowd, rng.permutation(r))
        return PottsParticleState(edges, field, TableParticles(crowd.x, crowd.lanes), np.zeros(r), 0)

    def step(self, rng: np.random.Generator, state: PottsParticleState) -> tuple[PottsParticleState, PottsParticleInfo]:
        """One scan of the edges, values and fields, splits and merges, alpha and p0."""
        crowd = unpack(state.particles, state.edges.spread()[:, None], state.field)
        edges, nu, between = self._scan(rng, crowd, state.edges)
        mean_nu = state.nu + (nu - state.nu) * (1 + state.n_scans) ** -_FORGET
        accepted = self._move_values(rng, crowd, edges)
        draw_fields(rng, self._graph, crowd, rng.permutation(len(self._counts[1])), self._counts[1], self.n_samples)
        edges, n_splits, n_merges = self._jump(rng, crowd, edges, mean_nu)
        groups = edges.groups
        alpha = draw_alpha(rng, edges.alpha, self.prior, len(edges.values), int((groups >= 0).sum()))
        edges = edges._replace(alpha=alpha, density=draw_density(rng, self.prior, groups))
        fields = crowd.field[:, 1:].ravel() if self.model.fields else np.empty(0)
        noise = float(np.sqrt(self.n_samples / crowd.x.shape[1] * np.quantile(between, 0.95)))
        theta, k = np.concatenate([edges.spread(), fields]), len(edges.values)
        info = PottsParticleInfo(theta, groups, k, alpha, edges.density, noise, accepted, n_splits, n_merges)
        particles = TableParticles(crowd.x, crowd.lanes)
        return PottsParticleState(edges, crowd.field, particles, mean_nu, state.n_scans + 1), info

    def _scan(
        self, rng: np.random.Generator, crowd: TableCrowd, state: Grouping
    ) -> tuple[Grouping, np.ndarray, np.ndarray]:
        """Reassign all edges."""
        r, s = self.model.n_edges, self._counts[0]
        groups, values = state.groups.copy(), state.values.copy()
        sizes, _ = group_totals(groups, s, len(values))
        prior, nu, between = group_prior(self.prior, state), np.empty(r), np.empty(r)
        values, _, k = _scan_groups(
            rng, self._graph, crowd, rng.permutation(r), s, self.n_samples, groups, values, sizes, prior, nu, between
        )
        return compact(state._replace(groups=groups, values=values[:k])), nu, between

    def _move_values(self, rng: np.random.Generator, crowd: TableCrowd, edges: Grouping) -> float:
        """Values of groups with one edge one by one, then those of larger groups; they change in place."""
        groups, values, s = edges.groups, edges.values, self._counts[0]
        prior = group_prior(self.prior, edges)
        sizes, totals = group_totals(groups, s, len(values))
        alone = np.flatnonzero(np.append(sizes, 0.0)[groups] == 1)
        _scan_values(rng, self._graph, crowd, alone, s, self.n_samples, prior)
        values[groups[alone]] = crowd.potentials[alone, 0]
        counts = group_counts(self._graph.edges, np.flatnonzero(groups >= 0), groups, len(values), crowd.x)
        accepted = move_values(rng, counts, sizes, totals, values, float(self.n_samples), prior, crowd.x)
        crowd.potentials[:, 0] = edges.spread()
        return float(accepted)

    def _jump(
        self, rng: np.random.Generator, crowd: TableCrowd, edges: Grouping, nu: np.ndarray
    ) -> tuple[Grouping, int, int]:
        """Try splits and merges; particles follow."""
        groups, values, s, n = edges.groups, edges.values, self._counts[0], float(self.n_samples)
        made, prior = {-1: 0, 1: 0}, group_prior(self.prior, edges)
        for _ in range(self.n_jumps):
            tried = propose(rng, groups, values, s, nu, n, prior.alpha, prior.a, prior.b)
            if tried.kind != NONE and accept_jump(rng, tried, self._graph.edges, s, n, crowd.x):
                groups, values = apply(tried, groups, values)
                made[tried.kind] += 1
                crowd.potentials[:, 0] = np.append(values, 0.0)[groups]
        return compact(edges._replace(groups=groups, values=values)), made[SPLIT], made[-SPLIT]


@strict_leaf
def _nu(q, potential):
    return log(q[1] / q[0]) - potential


@strict_leaf
def _scan_groups(rng, graph, crowd, order, successes, n, groups, values, sizes, prior, nu, between):
    """Reassign the edges in ``order`` one by one, each from the particles as they are then; (values, sizes, k)."""
    k = len(values)
    for i in order:
        q, between[i] = edge_categories(graph, crowd, i)
        nu[i] = _nu(q, crowd.potentials[i, 0])
        values, sizes, k = reassign(rng, i, successes[i], n, nu[i], groups, values, sizes, k, prior)
        crowd.potentials[i, 0] = value_of(groups, values, i)
        redraw_ends(graph, crowd, i)
    return values, sizes, k


@strict_leaf
def _scan_values(rng, graph, crowd, order, successes, n, prior):
    """Exact draws of the edges in ``order``, which share their values with no other."""
    for i in order:
        nu = _nu(edge_categories(graph, crowd, i)[0], crowd.potentials[i, 0])
        law = OneCoordinate(successes[i], n, nu, prior.a, prior.b, prior.kappa)
        crowd.potentials[i, 0] = draw(rng, law) - nu
        redraw_ends(graph, crowd, i)
