r"""Groups on any graph of two-state nodes, with moments from particles that follow theta edge by edge.

* Clusters of nodes are flipped in the particles (`bayesmrf.states.cluster_flips`), as strongly coupled nodes would
  lag behind theta, and the weights of the particles follow each move of a scan (`bayesmrf.states.weights`).
* A scan is one of *local refresh* (`bayesmrf.states.refresh`): edges in random order; q_i is the mean over the
  particles of the probability given the other nodes; the edge's group is drawn by Liu and Page 2013, eq. 4, with its
  exact one-edge likelihood; the edge's two ends are redrawn in every particle, under the new value, before the next
  edge. Edges are not drawn in parallel from one set of moments, as that would amplify the posterior correlation of
  neighbouring edges.
* Every edge is reassigned jointly with one near it (`bayesmrf.posterior.groups.moves.pairs`), where single moves would
  be rejected.
* Values of groups with one edge are drawn in the same way, one by one; values of larger groups, and node fields, with
  the particles as an importance sample (`bayesmrf.posterior.groups.moves.values`); grouped fields are scanned like
  edges.
* Splits and merges of groups are accepted with the same importance sample. Half the variance of the log ratio is
  subtracted from it (the penalty method, Ceperley and Dewing 1999). Other draws allow for the variance that the
  particles add (`bayesmrf.posterior.conditionals.noisy_draws`).

With a ``sampler``, particles are drawn by an exact engine before every use, and the chain tends to the exact one as
``n_particles`` grows. Without, particles may also lag behind theta.

An edge's q has a standard error, and the log likelihood of a value that is one posterior standard deviation away has
n |d log L / dq| times that,

.. math:: \sqrt{\frac{n}{m} \cdot \frac{\mathrm{Var}_p\, q_p}{q (1 - q)}},

with q_p the probability given one of the m particles. Its 95 % quantile over the edges is reported as
``likelihood_noise``; it is at most sqrt(n / m).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...base import SAMPLE
from ...declare.option import Checked, option
from ...declare.rule import STATES
from ...likelihood import Likelihood
from ...models.agreement import Agreement
from ...states.cluster_flips import flip_clusters
from ...states.importance import START_SWEEPS
from ...states.memory import (
    Particles,
    RefreshGraph,
    UnpackedParticles,
    fill_hubs,
    pack,
    refresh_graph,
    start_particles,
    unpack,
)
from ...states.refresh import refresh
from ...states.weights import even_out, forget
from .blocks import Block
from .dirichlet_process import Grouping, group_totals, sums_of_counts
from .moves.fields import FEW, scan_fields
from .moves.jumps import accept_jump
from .moves.pairs import scan_pairs
from .moves.split_merge import Proposal
from .moves.values import group_counts, move_values, node_counts
from .scans import scan_coordinates, scan_groups, scan_order

PARTICLE_DIMS: dict[str, tuple[str, ...]] = {"likelihood_noise": (), "acceptance_values": ()}
_LEAST, _MOST_BYTES = 1024, 2**30
_MOST_PARTICLES = 10**7 // 64 * 64  # largest number of particles
_START_FLIPS = 16  # random clusterings in each sweep before the first step
_FLIPS = 8  # random clusterings in a step


def default_particles(n_samples: float, n_nodes: int) -> int:
    """Return ten particles for each observation, at least 1,024, at most ten million or 1 GiB at one byte a node.

    Their noise in an edge's log likelihood is at most sqrt(n / n_particles) nats, 0.32 with ten.
    """
    most = max(_LEAST, min(_MOST_PARTICLES, _MOST_BYTES // max(1, n_nodes)))
    return -(-int(min(max(_LEAST, 10 * n_samples), most)) // 64) * 64


@dataclass(frozen=True, eq=False)
class TwoStateParticles(Checked):
    """Particles of a model of two-state nodes.

    Parameters
    ----------
    model : Agreement
    n_particles : int
        Rounded up to a multiple of 64.
    sampler : Likelihood, optional
        With an exact sampling engine, to redraw the particles before every use.
    rivals : (n_edges, k) int array, optional
        Edges with which each edge may be swapped (`bayesmrf.posterior.conditionals.rivals.rivals`).
    """

    model: Agreement
    n_particles: int = option(1024, STATES)
    sampler: Likelihood | None = None
    rivals: np.ndarray | None = None

    name = "particle"
    dims = PARTICLE_DIMS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sampler is not None:
            self.sampler.require("grouped_particle", {SAMPLE})

    @cached_property
    def graph(self) -> RefreshGraph:
        """Rows of the graph."""
        return refresh_graph(self.model.graph, rivals=self.rivals)

    def start(self, theta: np.ndarray, rng: np.random.Generator) -> Particles:
        """Return particles refreshed at theta."""
        particles = start_particles(self.n_particles, self.model.graph.n_nodes, rng)
        if self.sampler is not None:
            return particles
        unpacked = unpack(particles, self.graph, theta)
        for _ in range(START_SWEEPS):
            order = rng.permutation(np.flatnonzero(theta))
            refresh(self.graph, unpacked, order)
            flip_clusters(rng, self.graph, unpacked, _START_FLIPS)
        return pack(unpacked)

    def thaw(self, memory: Particles, theta: np.ndarray, s_bar: np.ndarray, n: float) -> TwoStateWalk:
        """Return the mutable state at theta, with the mean statistics of n observations."""
        return TwoStateWalk(self, unpack(memory, self.graph, theta), s_bar, n)


class TwoStateWalk:
    """Mutable theta within a step, and the particles that follow it."""

    def __init__(self, marginals: TwoStateParticles, unpacked: UnpackedParticles, s_bar: np.ndarray, n: float):
        low = marginals.model.feature_low
        self._marginals, self._graph, self._unpacked = marginals, marginals.graph, unpacked
        self._counts, self._n = sums_of_counts((s_bar - low) / (1 - low), n), n
        self._accepted, self._noise = 0.0, 0.0

    @property
    def theta(self) -> np.ndarray:
        """Parameters of the particles."""
        return self._unpacked.theta

    def freeze(self) -> Particles:
        """Return the particles to be kept."""
        return pack(self._unpacked)

    def stats(self) -> dict[str, float]:
        """Return statistics of the step."""
        return {"likelihood_noise": self._noise, "acceptance_values": self._accepted}

    def mix(self, rng: np.random.Generator) -> None:
        """Flip clusters, and redraw nodes one by one, as nodes without edges are redrawn by no other move."""
        if self._marginals.sampler is None:
            model = self._marginals.model
            flip_clusters(rng, self._graph, self._unpacked, _FLIPS)
            refresh(self._graph, self._unpacked, np.arange(model.n_edges, model.n_features))

    def scan(
        self, rng: np.random.Generator, block: Block, state: Grouping, n_pairs: int
    ) -> tuple[Grouping, np.ndarray]:
        """Reassign all edges, then pairs of them; return the log odds nu of the edges."""
        urn, r = block.open(state), len(state.groups)
        nu, between = np.empty(r), np.empty(r)
        common = rng, self._graph, self._unpacked, self._counts, self._n
        for order in self._turns(scan_order(rng, r)):
            self._renew(rng)
            scan_groups(*common, order, urn, nu, between)
        for order in self._turns(np.concatenate([scan_order(rng, r) for _ in range(n_pairs)])):
            self._renew(rng)
            scan_pairs(*common, order, urn)
        self._even_out(rng)
        self._noise = float(np.sqrt(self._n / self._unpacked.x.shape[1] * np.quantile(between, 0.95)))
        return block.close(urn, state), nu

    def move_values(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the values of groups with one edge one by one, then those of larger groups."""
        unpacked, groups, values, prior = self._unpacked, state.groups, state.values.copy(), block.constants(state)
        sizes, totals = group_totals(groups, block.counts, len(values))
        alone = np.flatnonzero(np.append(sizes, 0.0)[groups] == 1)
        for order in self._turns(alone):
            self._renew(rng)
            scan_coordinates(rng, self._graph, unpacked, self._counts, self._n, prior, order)
        self._even_out(rng)
        values[groups[alone]] = unpacked.theta[alone]
        self._renew(rng)
        counts = group_counts(self._graph.edges, np.flatnonzero(groups >= 0), groups, len(values), unpacked.x)
        self._accepted = float(move_values(rng, counts, sizes, 1.0, totals, values, self._n, prior, unpacked.x))
        state = state._replace(values=values)
        self._place(block, block.theta(state))
        return state

    def move_fields(self, rng: np.random.Generator, block: Block, state: Grouping) -> Grouping:
        """Redraw the groups of the nodes, if their fields are grouped, and all values."""
        urn, unpacked = block.open(state), self._unpacked
        groups, theta = urn.groups, unpacked.theta[block.first :]
        common = self._graph, unpacked, self._counts, self._n
        for regroup in (True, False) if block.grouped else (False,):
            alone = np.flatnonzero(urn.sizes[groups] == 1) if block.grouped and not regroup else np.arange(len(groups))
            self._renew(rng)
            ones = (unpacked.x[alone] > 0).sum(axis=1)
            rare = np.minimum(ones, unpacked.x.shape[1] - ones) < FEW
            order, few = rng.permutation(alone[~rare]), alone[rare]
            done = scan_fields(rng, order, theta, block.counts, self._n, urn, regroup, unpacked.x)
            fill_hubs(self._graph, unpacked)
            # After too many resamplings, the remaining ones by local refresh, and so are those with a rare state.
            for rest in self._turns(block.first + np.concatenate([order[done:], few])):
                self._renew(rng)
                if regroup:
                    scan_groups(rng, *common, rest, urn, *np.empty((2, len(groups))))
                else:
                    scan_coordinates(rng, *common, urn.prior, rest)
                    urn.values[groups[rest - block.first]] = unpacked.theta[rest] / block.unit
            self._even_out(rng)
        state = block.close(urn, state)
        if block.grouped:
            sizes, totals = group_totals(state.groups, block.counts, len(state.values))
            self._renew(rng)
            counts = node_counts(state.groups, len(state.values), unpacked.x)
            move_values(rng, counts, sizes, 1.0, totals, state.values, self._n, block.constants(state), unpacked.x)
            self._place(block, block.theta(state))
        return state

    def accept(self, rng: np.random.Generator, block: Block, tried: Proposal, theta: np.ndarray) -> bool:
        """Accept or reject a split or a merge, which moves all parameters to ``theta``."""
        self._renew(rng)
        if not accept_jump(rng, tried, self._graph.edges, block.counts, self._n, self._unpacked.x):
            return False
        self._place(block, theta[block.first : block.end])
        return True

    def _place(self, block: Block, theta: np.ndarray) -> None:
        self._unpacked.theta[block.first : block.end] = theta
        fill_hubs(self._graph, self._unpacked)

    def _even_out(self, rng: np.random.Generator) -> None:
        """Resample the particles by their weights."""
        even_out(rng, self._unpacked)
        fill_hubs(self._graph, self._unpacked)

    def _turns(self, order: np.ndarray) -> Any:
        """Divide coordinates into scans: one for all, or one for each if exact particles are drawn for each."""
        return [order] if self._marginals.sampler is None else order[:, None]

    def _renew(self, rng: np.random.Generator) -> None:
        """Draw exact particles, if there is a sampler."""
        sampler, unpacked = self._marginals.sampler, self._unpacked
        if sampler is not None:
            states = sampler.engine.sample(sampler.model, unpacked.theta, sampler.plan, unpacked.x.shape[1], rng)
            unpacked.x[...] = 2 * states.T - 1
            forget(unpacked)
            fill_hubs(self._graph, unpacked)
