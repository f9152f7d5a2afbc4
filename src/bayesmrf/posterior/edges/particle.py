"""Edges with a spike-and-slab prior between nodes with many states, with moments from particles that follow theta.

They are the baselines of one group (`bayesmrf.posterior.edges.particle_scan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...declare.option import option
from ...declare.rule import COUNT, instance
from ...errors import OptionError
from ...methods import Particle
from ...models.categorical import is_categorical
from ...states.tables import TableGraph, TableParticles, table_graph
from ..conditionals.centred import CentredLines, centred_lines, has_lines
from ..conditionals.group_lines import GroupProblem, GroupTheta, stacked_lines
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import edge_prior, plain_prior, prior_scales
from .particle_scan import scan, started, unpacked
from .particle_swaps import Swaps, reach_of
from .spike_slab import SWEEPS, EdgeInfo, EdgeKernel, drawn, n_particles_of

_LOOKS = 20  # at pairs of rivals in a scan, for each node


class SpikeSlabParticleState(NamedTuple):
    """Weights (0 if absent) and fields, the particles, and the number of steps."""

    theta: np.ndarray
    particles: TableParticles
    age: int


@dataclass(frozen=True, eq=False)
class SpikeSlabParticle(EdgeKernel):
    """Birth, death or move of every edge in turn, then every field, with moments from particles.

    Parameters
    ----------
    model : TwoArrays
        Potts or ordinal, with fields.
    s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    options : Particle
        The number of particles must be given; it is rounded up to a multiple of 128.
    pairs : (n_pairs, 2) int array or None
        Rival edges; None to choose them by the statistics of the data.
    n_scans : int
        Scans over all edges and fields that make one step.
    n_settle : int
        Steps of a single scan at the start: warm-up needs as many steps as there are draws, but fewer scans.
    """

    options: Particle = option(Particle(n_particles=1024), instance("methods", "Particle"))
    pairs: np.ndarray | None = None
    n_scans: int = option(2, COUNT)
    n_settle: int = 0

    name = "spike_slab_particle"

    def __post_init__(self) -> None:
        super().__post_init__()
        n_particles_of(self.options)
        model: Any = self.model
        if not (model.fields and has_lines(model) and is_categorical(model)):
            expected = f"potts, ordinal or another PairwiseModel of many states with fields for {self.name!r}"
            raise OptionError(option="model", got=model.name, expected=expected)
        if self.pairs is None:
            object.__setattr__(self, "pairs", rivals_in(model, self.s_bar, self.n_samples))

    @property
    def n_particles(self) -> int:
        """Requested number of particles."""
        return n_particles_of(self.options)

    @property
    def particle_sweeps(self) -> int:
        """Gibbs sweeps of single particles that a step is worth."""
        return SWEEPS * self.n_scans * self.n_particles

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self.model)

    @cached_property
    def _lines(self) -> CentredLines:
        return centred_lines(self.model, self.s_bar, float(self.n_samples), edge_prior(self.prior).tilt)

    @cached_property
    def _swaps(self) -> Swaps:
        # Of the many pairs of rivals few can be swapped: strong edges are passed over.
        reach = reach_of(self.model, self._lines, self.s_bar, self.n_samples)
        return Swaps(reach, _LOOKS * self.model.graph.n_nodes)

    @cached_property
    def _problem(self) -> GroupProblem:
        model, prior = self.model, edge_prior(self.prior)
        return GroupProblem(
            stacked_lines([self._lines]), contrast=np.ones((1, 1)), drift=np.zeros(1), prior=plain_prior(False),
            log_top=0.0, baseline=prior, scales=prior_scales(prior, model.n_edges, model.n_features),
            n_spiked=model.n_edges, n_absent=0, rivals=np.asarray(self.pairs),
        )  # fmt: skip

    def init(self, rng: np.random.Generator) -> SpikeSlabParticleState:
        """Start at ``start``, with particles swept there."""
        theta = self.first(rng).theta
        return SpikeSlabParticleState(theta, started(self.model, self._graph, theta[None], self.n_particles, rng), 0)

    def step(self, rng: np.random.Generator, state: SpikeSlabParticleState) -> tuple[SpikeSlabParticleState, EdgeInfo]:
        """Run ``n_scans`` scans."""
        model, r, hyper = self.model, self.model.n_edges, np.zeros(4)
        natural = state.theta[None].copy()
        theta = GroupTheta(natural[:, :r].copy(), natural, np.ones(natural.shape))
        stacked = unpacked(model, state.particles, natural)
        for _ in range(1 if state.age < self.n_settle else self.n_scans):
            order = rng.permutation(r)
            hyper = scan(rng, self._graph, stacked, self._problem, self._swaps, model.gains, theta, order)
        found = natural[0]
        new = SpikeSlabParticleState(found, TableParticles(stacked.x, stacked.lanes), state.age + 1)
        return new, drawn(found, found[:r] != 0, hyper[2], hyper[3])
