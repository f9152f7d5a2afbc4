"""Methods of `GroupedMRF`."""

from __future__ import annotations

from dataclasses import dataclass

from ..declare.option import Checked, option
from ..declare.rule import STATES, optional
from ..plugins import OpenRegistry
from .rows import BY_MOMENTS, PARTICLES, MethodRow


@dataclass(frozen=True)
class Exact:
    """Samplers with exact moments in every step; the graph must be small or of small treewidth."""


@dataclass(frozen=True)
class Particle(Checked):
    """Groups of edges, or edges or differences that may be absent, on any graph, with moments from particles.

    The particles follow theta.

    Parameters
    ----------
    n_particles
        None for ten for each observation, or four where edges or differences may be absent, at least 1,024, at most 1
        GiB a chain.
    """

    n_particles: int | None = option(
        None,
        optional(STATES),
        "Number of states of x in memory (of each group of people).",
        label="particles",
        unset="depends on the data",
    )


GROUPS = OpenRegistry(
    "method",
    "methods",
    [
        MethodRow(
            "exact",
            Exact,
            "Gibbs sampling with exact moments of every edge given the others",
            "exact, on narrow graphs",
            "exact",
            BY_MOMENTS,
            build="bayesmrf.estimators.grouped_methods:exact",
        ),
        MethodRow(
            "particle",
            Particle,
            "Gibbs sampling with moments from particles that follow the parameters",
            "close to the posterior, on any graph",
            PARTICLES,
            BY_MOMENTS,
            "close to the posterior, and the closer the more particles there are",
            "bayesmrf.estimators.grouped_methods:particle",
        ),
    ],
)
