"""Groups of edges that share a potential on any graph, with pair marginals from many particles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...models.symmetric import Symmetric
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
from ..conditionals.one_potential import OnePotential, reassign_potential
from .dirichlet_process import GROUPED_DIMS, draw_alpha
from .moves.potential_values import move_potentials
from .moves.table_fields import draw_fields
from .potentials import PotentialGrouping, base_precision, compact_potentials, initial_potentials

_START = 20  # scans of the particles before the first step


class SymmetricParticleState(NamedTuple):
    """Groups and their potentials; fields; the particles."""

    edges: PotentialGrouping
    field: np.ndarray  # (n_nodes, m)
    particles: TableParticles


class SymmetricParticleInfo(NamedTuple):
    """Draw; the noise of an edge's log likelihood; share accepted of values."""

    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    likelihood_noise: float
    acceptance_values: float


@dataclass(frozen=True, eq=False)
class GroupedSymmetricParticle:
    """Gibbs sampling of groups of potentials with pair marginals from particles that follow theta edge by edge.

    * An edge's group: as in `bayesmrf.posterior.groups.symmetric`, with the probabilities of the edge's categories
      averaged over the particles (`table_refresh`), whose two ends are redrawn under the new potential before the next
      edge is looked at.
    * Values of groups with more than one edge: by importance weights of the particles (`potential_values`).
    * Fields, node by node (`table_fields`); alpha.

    Parameters
    ----------
    model : Symmetric
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    prior : DirichletProcess
        With a normal base.
    start : (n_features,) array
        Estimate blind to groups from which the chain starts.
    n_particles : int
        Rounded up to a multiple of 64.
    """

    model: Symmetric
    s_bar: np.ndarray
    n_samples: float
    prior: DirichletProcess
    start: np.ndarray
    n_particles: int = 1024

    name = "grouped_symmetric_particle"
    dims = GROUPED_DIMS | {"likelihood_noise": (), "acceptance_values": ()}

    def __post_init__(self) -> None:
        check_fields(self)

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self.model)

    @cached_property
    def _base(self) -> tuple[np.ndarray, float]:
        return base_precision(self.prior.base, self.model.n_parameters)

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Observations of each edge in each category, and of each node in each state but the first."""
        counts, r, p = np.rint(self.n_samples * self.s_bar), self.model.n_edges, self.model.n_parameters
        return counts[: r * p].reshape(r, p), counts[r * p :].reshape(-1, self.model.n_states - 1)

    def init(self, rng: np.random.Generator) -> SymmetricParticleState:
        """Start from k-means on the potentials of the estimate, with particles refreshed there."""
        r, p = self.model.n_edges, self.model.n_parameters
        edges = initial_potentials(self.start[: r * p].reshape(r, p), self.prior, rng)
        field = self.model.categorical(self.start).field
        particles = start_particles(self.n_particles, self.model.graph.n_nodes, self.model.n_states, rng)
        crowd = unpack(particles, edges.values[edges.groups], field)
        for _ in range(_START):
            refresh(self._graph, crowd, rng.permutation(r))
        return SymmetricParticleState(edges, field, TableParticles(crowd.x, crowd.lanes))

    def step(
        self, rng: np.random.Generator, state: SymmetricParticleState
    ) -> tuple[SymmetricParticleState, SymmetricParticleInfo]:
        """One scan: groups of all edges, values of all groups, fields of all nodes, alpha."""
        crowd = unpack(state.particles, state.edges.values[state.edges.groups], state.field)
        n, (precision, _) = float(self.n_samples), self._base
        edges, between = self._scan(rng, crowd, state.edges)
        accepted = move_potentials(rng, self._graph, crowd.x, edges, self._counts[0], n, precision)
        crowd.potentials[...] = edges.values[edges.groups]
        draw_fields(rng, self._graph, crowd, rng.permutation(len(self._counts[1])), self._counts[1], n)
        k = len(edges.values)
        edges = edges._replace(alpha=draw_alpha(rng, edges.alpha, self.prior, k, self.model.n_edges))
        fields = crowd.field[:, 1:].ravel() if self.model.fields else np.empty(0)
        theta = np.concatenate([crowd.potentials.ravel(), fields])
        noise = float(np.sqrt(n / crowd.x.shape[1] * np.quantile(between, 0.95)))
        info = SymmetricParticleInfo(theta, edges.groups, k, edges.alpha, noise, accepted)
        return SymmetricParticleState(edges, crowd.field, TableParticles(crowd.x, crowd.lanes)), info

    def _scan(
        self, rng: np.random.Generator, crowd: TableCrowd, state: PotentialGrouping
    ) -> tuple[PotentialGrouping, np.ndarray]:
        """Reassign all edges."""
        groups, values, r = state.groups.copy(), state.values.copy(), self.model.n_edges
        sizes, between = np.bincount(groups, minlength=len(values)).astype(np.float64), np.empty(r)
        order, n = rng.permutation(r), float(self.n_samples)
        values, k = _scan_groups(
            rng, self._graph, crowd, order, self._counts[0], n, groups, values, sizes, state.alpha, *self._base, between
        )
        return compact_potentials(state._replace(groups=groups, values=values[:k])), between


@strict_leaf
def _scan_groups(rng, graph, crowd, order, counts, n, groups, values, sizes, alpha, precision, log_constant, between):
    """Reassign the edges in ``order`` one by one, each from the particles as they are then; (values, k)."""
    k = len(values)
    for i in order:
        q, between[i] = edge_categories(graph, crowd, i)
        nu = np.log(q[1:] / q[0]) - crowd.potentials[i]
        law = OnePotential(counts[i], n, nu, precision, log_constant)
        values, sizes, k = reassign_potential(rng, i, law, groups, values, sizes, k, alpha)
        crowd.potentials[i] = values[groups[i]]
        redraw_ends(graph, crowd, i)
    return values, k
