"""Methods of `GroupedMRF`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..declare.option import Checked, option
from ..declare.registry import Registry
from ..declare.rule import COUNT, FLAG, STATES, STEP, choice, integer, optional
from .rows import BY_MOMENTS, PARTICLES, MethodRow, on


@dataclass(frozen=True)
class Tree:
    """Exact sampler of groups on forests without fields, where all conditionals are Beta."""


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


@dataclass(frozen=True)
class AuxiliaryParticles(Checked):
    """Metropolis-Hastings with particles (Liu and Page 2013, Algorithm 1).

    With ``inner="exact"`` and ``restart=False`` the chain is exact.

    Parameters
    ----------
    n_sweeps
        With ``inner="gibbs"``; refused otherwise.
    """

    inner: str = option("gibbs", choice("gibbs", "exact"), "How particles are drawn.", label="inner")
    n_sweeps: int = option(50, COUNT, "Gibbs sweeps of each particle.", label="n_sweeps")
    n_proposals: int = option(
        5, integer(1, 10**4), "M, proposals for the group of each edge in one step.", label="n_proposals"
    )
    n_walk: int = option(100, COUNT, "S, steps of the random walk of a value.", label="n_walk")
    sigma_q: float = option(0.001, STEP, "Standard deviation of the walk.", label="sigma_q")
    restart: bool = option(True, FLAG, "Whether the walk restarts at the tied estimate, as published.", label="restart")

    @property
    def kind(self) -> str:
        """Description of the stationary distribution."""
        if self.inner == "gibbs":
            return f"approximate (particles from {self.n_sweeps} Gibbs sweeps)"
        return "approximate (values restart at the tied estimate)" if self.restart else "exact"


@dataclass(frozen=True)
class StrippedBeta:
    """Groups by the stripped Beta likelihood (Liu and Page 2013, section 3.2): fast and approximate."""


def kind_of(row: MethodRow, options: Any, is_forest: bool) -> str:
    """Return "exact", or "approximate (...)", of some options.

    Parameters
    ----------
    row : MethodRow
    options : object
    is_forest : bool
        Whether the graph is a forest, and nodes have no fields.
    """
    if isinstance(options, StrippedBeta) and is_forest:
        return "exact (a forest)"
    return options.kind if isinstance(options, AuxiliaryParticles) else row.kind


GROUPS = Registry(
    "method",
    "methods",
    [
        MethodRow(
            "tree",
            Tree,
            "Gibbs sampling with Beta conditionals, on a forest",
            "exact, on forests without node fields",
            "exact",
            {"groups": on("agreement")},
        ),
        MethodRow(
            "exact",
            Exact,
            "Gibbs sampling with exact moments of every edge given the others",
            "exact, on narrow graphs",
            "exact",
            BY_MOMENTS,
        ),
        MethodRow(
            "particle",
            Particle,
            "Gibbs sampling with moments from particles that follow the parameters",
            "close to the posterior, on any graph",
            PARTICLES,
            BY_MOMENTS,
            "close to the posterior, and the closer the more particles there are",
        ),
        MethodRow(
            "auxiliary-variable",
            AuxiliaryParticles,
            "Metropolis-Hastings with particles (Algorithm 1 of Liu and Page)",
            "close to the posterior, and slow",
            "approximate (particles from 50 Gibbs sweeps)",
            {"groups": on("agreement"), "fields": on("agreement")},
            "close to the posterior, but not the posterior itself however long the run",
        ),
        MethodRow(
            "stripped-beta",
            StrippedBeta,
            "the likelihood of each edge replaced by a Beta density",
            "rough and fast, on any graph",
            "approximate (stripped Beta likelihood)",
            {"groups": on("agreement"), "fields": on("agreement")},
            "fast on any graph, but it finds more groups than the posterior has",
        ),
    ],
)
