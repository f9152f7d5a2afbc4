"""Groups of people whose networks may differ in some edges, with moments from particles that follow the parameters.

The moves are those of `bayesmrf.posterior.conditionals.group_scan`, on graphs of any size, by particles
(`bayesmrf.posterior.edges.particle_scan`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...declare.option import option
from ...declare.rule import instance
from ...errors import OptionError
from ...methods import Particle
from ...models.boltzmann import has_these_features
from ...models.categorical import is_categorical
from ...models.ordinal import Ordinal
from ...states.tables import TableGraph, TableParticles, table_graph
from .differences import DifferencesKernel
from .particle_scan import scan, started, unpacked
from .particle_swaps import Swaps
from .spike_slab import SWEEPS, EdgeInfo, n_particles_of


class GroupParticlesState(NamedTuple):
    """phi of `bayesmrf.posterior.edges.differences.group_maps`, and the particles of all groups, stacked."""

    theta: np.ndarray
    particles: TableParticles


@dataclass(frozen=True, eq=False)
class GroupParticles(DifferencesKernel):
    """Birth, death or move of the baseline and of the difference of every edge, with moments from particles.

    Parameters
    ----------
    likelihood, contrast, prior, baseline, biases, n_scans
        As in `DifferencesKernel`.
    options : Particle
        The number of particles of each group must be given; it is rounded up to a multiple of 128.
    """

    options: Particle = option(Particle(n_particles=1024), instance("methods", "Particle"))

    name = "group_particles"

    def __post_init__(self) -> None:
        super().__post_init__()
        n_particles_of(self.options)
        if not (is_categorical(self._model) or has_these_features(self._model)):
            expected = f"one of many states, or with the features of boltzmann, for {self.name!r}"
            raise OptionError(option="model", got=self._model.name, expected=expected)

    @property
    def n_particles(self) -> int:
        """Requested number of particles of each group."""
        return n_particles_of(self.options)

    @property
    def particle_sweeps(self) -> int:
        """Gibbs sweeps of single particles that a step is worth."""
        return SWEEPS * self.n_scans * self.n_particles * len(self.contrast)

    @cached_property
    def _tables(self) -> Any:
        """The model with a table of states for each node."""
        model = self._model
        return model if is_categorical(model) else Ordinal(model.graph, 2)

    @cached_property
    def _graph(self) -> TableGraph:
        return table_graph(self._tables)

    @cached_property
    def _swaps(self) -> Swaps:
        return Swaps(np.full(self._model.n_edges, np.inf), self._model.graph.n_nodes)

    def init(self, rng: np.random.Generator) -> GroupParticlesState:
        """Start without weights, with particles swept there."""
        phi = self.first()
        natural = self.group_theta(phi).natural
        return GroupParticlesState(phi, started(self._tables, self._graph, natural, self.n_particles, rng))

    def step(self, rng: np.random.Generator, state: GroupParticlesState) -> tuple[GroupParticlesState, EdgeInfo]:
        """Run ``n_scans`` scans."""
        theta, tables, drawn = self.group_theta(state.theta), self._tables, np.zeros(4)
        stacked = unpacked(tables, state.particles, theta.natural)
        for _ in range(self.n_scans):
            order = rng.permutation(self._model.n_edges)
            drawn = scan(rng, self._graph, stacked, self._problem, self._swaps, tables.gains, theta, order)
        particles = TableParticles(stacked.x, stacked.lanes)
        return GroupParticlesState(self.phi(theta), particles), self.draw(theta, drawn[0], drawn[1])
