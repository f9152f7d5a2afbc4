r"""Groups on any graph, from the exact one-edge likelihood with moments from many particles."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...base import SAMPLE
from ...likelihood import Likelihood
from ...models.agreement import Agreement
from ...options import check_fields
from ...particles.cluster_flips import flip_clusters
from ...particles.memory import Crowd, Particles, RefreshGraph, fill_hubs, pack, refresh_graph, start_particles, unpack
from ...particles.refresh import refresh
from ...priors import DirichletProcess
from .dirichlet_process import GROUPED_DIMS, Grouping, compact, draw_alpha, group_totals, initial_grouping
from .moves.fields import scan_fields
from .moves.jumps import accept_jump
from .moves.pairs import rivals, scan_pairs
from .moves.split_merge import NONE, SPLIT, apply, propose
from .moves.values import group_counts, move_values, node_counts
from .prior import Block, draw_density, group_prior, start_fields
from .scans import RefreshData, scan_coordinates, scan_groups, scan_order

_LEAST, _MOST_BYTES = 1024, 2**30
_MOST_PARTICLES = 10**7 // 64 * 64  # as many as may be asked for
_START, _START_FLIPS = 20, 16  # scans of the particles before the first step, ways to bind nodes in each
_FLIPS = 8  # ways to bind nodes into clusters in a step
_FORGET = 0.7  # the mean of nu over the scans gives the t-th a weight of t^-0.7


class ParticleState(NamedTuple):
    """Groups of edges and of fields; the particles; the mean of nu over the scans so far, and their number."""

    edges: Grouping
    fields: Grouping
    particles: Particles
    nu: np.ndarray
    n_scans: int


class ParticleInfo(NamedTuple):
    """Draw; the noise of an edge's log likelihood; shares accepted of values; splits and merges."""

    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    density: float
    field_groups: np.ndarray
    likelihood_noise: float
    acceptance_values: float
    n_splits: int
    n_merges: int


def default_particles(n_samples: float, n_nodes: int) -> int:
    """Ten for each observation, at least 1,024; at most ten million, and as many as fill 1 GiB at one byte a node.

    The noise they put into an edge's log likelihood is at most sqrt(n / n_particles) nats, so 0.32 with ten.
    """
    most = max(_LEAST, min(_MOST_PARTICLES, _MOST_BYTES // max(1, n_nodes)))
    return -(-int(min(max(_LEAST, 10 * n_samples), most)) // 64) * 64


@dataclass(frozen=True, eq=False)
class GroupedParticle:
    r"""Gibbs sampling of groups with q from particles that follow theta edge by edge.

    A step is

    * flips of clusters of nodes in the particles (`cluster_flips`): strongly coupled ones would lag behind theta;
    * a scan of *local refresh* (`local_refresh`): edges in random order; q_i is the mean over the particles of what
      each says given the other nodes; the edge's group is drawn by eq. (4) of Liu and Page (2013) with its exact
      one-edge likelihood; the edge's two ends are drawn anew in every particle, under the new value, before the next
      edge. All edges at once from one set of moments would not do: posteriors of neighbouring edges are correlated,
      and parallel draws amplify that;
    * every edge together with one near it (`pair_moves`), where each alone would be held by the other;
    * values of groups with one edge in the same way, one by one;
    * values of larger groups, and node fields, with the particles as an importance sample (`group_values`); fields that
      are grouped are scanned as edges are;
    * splits and merges of groups (`split_merge`), decided with the same importance sample. The noise of their log
      ratio has a known variance, half of which is taken off (the penalty method, Ceperley and Dewing 1999);
    * alpha.

    With ``sampler``, particles are drawn afresh by an exact engine before every use, and what is left of error is the
    noise of finitely many: the chain tends to the exact one as ``n_particles`` grows. Without, particles also lag
    behind theta.

    An edge's q has a standard error, and the log likelihood of a value that is one posterior standard deviation away
    has n |d log L / dq| times that,

    .. math:: \sqrt{\frac{n}{m} \cdot \frac{\mathrm{Var}_p\, q_p}{q (1 - q)}},

    with q_p what one of the m particles says. Its 95 % quantile over the edges, as few noisy ones are enough
    to mislead all, is reported as ``likelihood_noise``; it is sqrt(n / m) at most.

    Parameters
    ----------
    model : Agreement
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    prior : DirichletProcess
    start : (n_features,) array
        Maximum likelihood estimate from which the chain starts.
    n_particles : int
        Rounded up to a multiple of 64.
    sampler : Likelihood, optional
        With an engine that answers ``sample``, where fresh exact particles are wanted.
    n_jumps : int
        Splits and merges tried in a step.
    n_pairs : int
        Joint reassignments of an edge and one near it in a step, for each edge.
    field_prior : DirichletProcess, optional
        Of node fields that are grouped; None for a field of its own for each node.
    """

    model: Agreement
    s_bar: np.ndarray
    n_samples: float
    prior: DirichletProcess
    start: np.ndarray
    n_particles: int = 1024
    sampler: Likelihood | None = None
    n_jumps: int = 10
    n_pairs: int = 2
    field_prior: DirichletProcess | None = None

    name = "grouped_particle"
    dims = (
        GROUPED_DIMS
        | {"density": (), "field_groups": ("node",)}
        | {"likelihood_noise": (), "acceptance_values": (), "n_splits": (), "n_merges": ()}
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.sampler is not None:
            self.sampler.require(self.name, {SAMPLE})

    @cached_property
    def _graph(self) -> RefreshGraph:
        low = self.model.feature_low[: self.model.n_edges]
        agreement = (self.s_bar[: len(low)] - low) / (1 - low)
        absent = self.prior.density is not None
        return refresh_graph(self.model.graph, rivals=rivals(self.model.graph, agreement) if absent else None)

    @cached_property
    def _blocks(self) -> tuple[Block, Block]:
        n, r, low = float(self.n_samples), self.model.n_edges, self.model.feature_low
        counts = np.rint(n * (self.s_bar - low) / (1 - low))
        return Block.edges(counts[:r], self.prior), Block.fields(r, counts[r:], low[r:], self.field_prior)

    def _data(self, *state: Grouping) -> RefreshData:
        successes = np.concatenate([b.successes for b in self._blocks])
        priors = [group_prior(b.prior, g, b.unit) for b, g in zip(self._blocks, state, strict=True)]
        return RefreshData(successes, float(self.n_samples), *priors)

    def _theta(self, *state: Grouping) -> np.ndarray:
        return np.concatenate([b.unit * g.spread() for b, g in zip(self._blocks, state, strict=True)])

    def init(self, rng: np.random.Generator) -> ParticleState:
        """Start from k-means on the maximum likelihood estimate, with particles refreshed there."""
        r = self.model.n_edges
        edges = initial_grouping(1 / (1 + np.exp(-self.start[:r])), self.prior, rng)
        fields = start_fields(self._blocks[1], self.start[r:], rng)
        particles = start_particles(self.n_particles, self.model.graph.n_nodes, rng)
        if self.sampler is None:
            theta = self._theta(edges, fields)
            crowd = unpack(particles, self._graph, theta)
            for _ in range(_START):
                order = rng.permutation(np.flatnonzero(theta))
                refresh(self._graph, crowd, order)
                flip_clusters(rng, self._graph, crowd, _START_FLIPS)
            particles = pack(crowd)
        return ParticleState(edges, fields, particles, np.zeros(r), 0)

    def step(self, rng: np.random.Generator, state: ParticleState) -> tuple[ParticleState, ParticleInfo]:
        """One scan of the edges, values and fields, splits and merges, alpha and p0."""
        graph, data = self._graph, self._data(state.edges, state.fields)
        crowd = unpack(state.particles, graph, self._theta(state.edges, state.fields))
        if self.sampler is None:
            flip_clusters(rng, graph, crowd, _FLIPS)
            # Nodes one by one: those without edges are redrawn by nothing else.
            refresh(graph, crowd, np.arange(self.model.n_edges, self.model.n_features))
        edges, nu, between = self._scan(rng, crowd, data, state.edges)
        mean_nu = state.nu + (nu - state.nu) * (1 + state.n_scans) ** -_FORGET
        edges, accepted = self._move_values(rng, crowd, data, edges)
        fields = self._move_fields(rng, crowd, data, state.fields) if self.model.fields else state.fields
        n_jumped = {-1: 0, 1: 0}
        groups, values = edges.groups, edges.values
        for _ in range(self.n_jumps):
            groups, values, kind = self._jump(rng, crowd, data, groups, values, mean_nu)
            if kind != NONE:
                n_jumped[kind] += 1
        edges = self._draw_constants(rng, self._blocks[0], compact(edges._replace(groups=groups, values=values)))
        if self._blocks[1].grouped:
            fields = self._draw_constants(rng, self._blocks[1], fields)
        noise = float(np.sqrt(data.n / crowd.x.shape[1] * np.quantile(between, 0.95)))
        info = ParticleInfo(
            crowd.theta,
            edges.groups,
            len(edges.values),
            edges.alpha,
            edges.density,
            fields.groups,
            noise,
            accepted,
            n_jumped[SPLIT],
            n_jumped[-SPLIT],
        )
        return ParticleState(edges, fields, pack(crowd), mean_nu, state.n_scans + 1), info

    def _scan(
        self, rng: np.random.Generator, crowd: Crowd, data: RefreshData, state: Grouping
    ) -> tuple[Grouping, np.ndarray, np.ndarray]:
        """Reassign all edges, then pairs of them."""
        graph, r = self._graph, len(state.groups)
        groups, values = state.groups.copy(), state.values.copy()
        sizes, _ = group_totals(groups, self._blocks[0].successes, len(values))
        k, nu, between = len(values), np.empty(r), np.empty(r)
        common = rng, graph, crowd, data
        for order in self._turns(scan_order(rng, r)):
            self._renew(rng, crowd)
            values, sizes, k = scan_groups(*common, order, groups, values, sizes, k, nu, between)
        for order in self._turns(np.concatenate([scan_order(rng, r) for _ in range(self.n_pairs)])):
            self._renew(rng, crowd)
            values, sizes, k = scan_pairs(*common, order, groups, values, sizes, k)
        return compact(state._replace(groups=groups, values=values[:k])), nu, between

    def _move_values(
        self, rng: np.random.Generator, crowd: Crowd, data: RefreshData, state: Grouping
    ) -> tuple[Grouping, float]:
        """Values of groups with one edge one by one, then those of larger groups."""
        graph, groups, values = self._graph, state.groups, state.values
        sizes, totals = group_totals(groups, self._blocks[0].successes, len(values))
        alone = np.flatnonzero(np.append(sizes, 0.0)[groups] == 1)
        for order in self._turns(alone):
            self._renew(rng, crowd)
            scan_coordinates(rng, graph, crowd, data, order)
        values[groups[alone]] = crowd.theta[alone]
        self._renew(rng, crowd)
        counts = group_counts(graph.edges, np.flatnonzero(groups >= 0), groups, len(values), crowd.x)
        accepted = move_values(rng, counts, sizes, totals, values, data.n, data.edges, crowd.x)
        crowd.theta[: len(groups)] = state.spread()
        fill_hubs(graph, crowd)
        return state, float(accepted)

    def _move_fields(self, rng: np.random.Generator, crowd: Crowd, data: RefreshData, state: Grouping) -> Grouping:
        """Groups of the nodes, where their fields are grouped, and values of all."""
        block = self._blocks[1]
        groups, values, theta = state.groups.copy(), state.values.copy(), crowd.theta[block.first :]
        sizes, _ = group_totals(groups, block.successes, len(values))
        k, common = len(values), (block.successes, data.n, data.fields)
        for regroup in (True, False) if block.grouped else (False,):
            alone = np.flatnonzero(sizes[groups] == 1) if block.grouped and not regroup else np.arange(len(groups))
            self._renew(rng, crowd)
            order = rng.permutation(alone)
            done, values, sizes, k = scan_fields(rng, order, theta, *common, groups, values, sizes, k, regroup, crowd.x)
            fill_hubs(self._graph, crowd)
            # So many that the particles would be worn out: the last ones by local refresh.
            for rest in self._turns(block.first + order[done:]):
                self._renew(rng, crowd)
                if regroup:
                    room = np.empty((2, len(groups)))
                    values, sizes, k = scan_groups(rng, self._graph, crowd, data, rest, groups, values, sizes, k, *room)
                else:
                    scan_coordinates(rng, self._graph, crowd, data, rest)
                    values[groups[rest - block.first]] = crowd.theta[rest] / block.unit
        state = compact(state._replace(groups=groups, values=values[:k]))
        if block.grouped:
            sizes, totals = group_totals(state.groups, block.successes, len(state.values))
            self._renew(rng, crowd)
            counts = node_counts(state.groups, len(state.values), crowd.x)
            move_values(rng, counts, sizes, totals, state.values, data.n, data.fields, crowd.x)
            crowd.theta[block.first :] = block.unit * state.spread()
            fill_hubs(self._graph, crowd)
        return state

    @staticmethod
    def _draw_constants(rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Alpha and p0."""
        n_there = int((state.groups >= 0).sum())
        alpha = draw_alpha(rng, state.alpha, block.prior, len(state.values), n_there)
        return state._replace(alpha=alpha, density=draw_density(rng, block.prior, state.groups))

    def _turns(self, order: np.ndarray) -> Any:
        """All coordinates in one scan; one at a time, where each has fresh particles."""
        return [order] if self.sampler is None else order[:, None]

    def _renew(self, rng: np.random.Generator, crowd: Crowd) -> None:
        """Fresh exact particles, where there is a sampler."""
        if self.sampler is not None:
            engine, m = self.sampler.engine, crowd.x.shape[1]
            states = engine.sample(self.sampler.model, crowd.theta, self.sampler.plan, m, rng)
            crowd.x[...] = 2 * states.T - 1
            fill_hubs(self._graph, crowd)

    def _jump(
        self,
        rng: np.random.Generator,
        crowd: Crowd,
        data: RefreshData,
        groups: np.ndarray,
        values: np.ndarray,
        nu: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, int]:
        """Try a split or a merge; particles follow."""
        s, n, prior = self._blocks[0].successes, data.n, data.edges
        tried = propose(rng, groups, values, s, nu, n, prior.alpha, prior.a, prior.b)
        if tried.kind == NONE:
            return groups, values, NONE
        self._renew(rng, crowd)
        if not accept_jump(rng, tried, self._graph.edges, s, n, crowd.x):
            return groups, values, NONE
        groups, values = apply(tried, groups, values)
        crowd.theta[: len(groups)] = np.append(values, 0.0)[groups]
        fill_hubs(self._graph, crowd)
        return groups, values, tried.kind
