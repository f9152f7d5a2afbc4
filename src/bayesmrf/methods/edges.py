"""Methods of `SpikeSlabMRF` and `CompareMRF`."""

from __future__ import annotations

from dataclasses import dataclass

from ..declare.option import Checked, option
from ..declare.registry import Registry
from ..declare.rule import COUNT, MOMENTUM, STATES, STEP, choice, integer, number, optional
from ..errors import OptionError, argument
from .groups import Exact
from .rows import MANY_STATES, OF_EDGES, WITH_TABLES, YES_NO, MethodRow, on


@dataclass(frozen=True)
class ReversibleJump(Checked):
    """Single-edge birth and death at any weight, with moments from persistent chains.

    Parameters
    ----------
    n_particles
        With fewer than observations, births of strong edges are rarely accepted. None for the number of observations,
        within 256 and 16,384.
    moments
        * chains: moments are those of the persistent chains, which follow the weights.
        * extrapolated: 4,096 chains measure moments once, at the mean of the posterior, from which those at all draws
          are extrapolated (`bayesmrf.states.reference`): for yes/no columns of many observations, at least
          20 for each weight and bias.
        * auto: extrapolated where that is accurate, ``n_particles`` is None and no value is missing, else chains. A
          test before the first draw decides; a finding says so where it fails.
    epsilon
        It is shortened where the posterior is stiffer, and such that the noise of the moments hardly widens the
        posterior.
    momentum
        It is refused where moments are extrapolated, as is ``epsilon``.
    n_iterations
        A step of warm-up has half of them.
    """

    n_particles: int | None = option(
        None,
        optional(STATES),
        "Persistent chains that follow the weights.",
        label="particles",
        unset="depends on the data",
    )
    moments: str = option(
        "auto",
        choice("auto", "chains", "extrapolated"),
        "Where moments come from: chains that follow the weights, or one point from which they are extrapolated.",
        label="moments",
    )
    epsilon: float = option(
        0.2, STEP, "Largest step of Langevin dynamics, in posterior standard deviations.", label="step epsilon"
    )
    momentum: float = option(
        0.5, MOMENTUM, "Share of the momentum that is kept, in [0, 1).", label="share of momentum kept"
    )
    n_iterations: int | None = option(
        None,
        optional(COUNT),
        "Iterations in a step.",
        label="iterations in a step",
        unset="20, or 10 with more than two levels or several groups",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.moments == "extrapolated" and self.n_particles is not None:
            expected = f"omitted for {argument('moments', 'extrapolated')}"
            raise OptionError(option="n_particles", got=self.n_particles, expected=expected)


@dataclass(frozen=True)
class LangevinJumps(Checked):
    """Algorithm 1 of Chen and Welling (2012): persistent chains, Langevin dynamics and reversible jumps near 0.

    Parameters
    ----------
    n_particles
        Rounded up to a multiple of 64 unless ``model`` is "boltzmann".
    width
        The variance of the estimated ratio grows with its square (Chen and Welling 2012 structure, eq. 11).
    """

    n_particles: int = option(
        100,
        integer(2, 10**7),  # a variance is estimated
        "Persistent chains that follow the weights.",
        label="particles",
    )
    n_sweeps: int = option(1, COUNT, "Gibbs sweeps of an iteration.", label="Gibbs sweeps")
    epsilon: float = option(
        1e-3, STEP, "Step of Langevin dynamics, in posterior standard deviations.", label="step epsilon"
    )
    momentum: float = option(
        0.9, MOMENTUM, "Share of the momentum that is kept, in [0, 1).", label="share of momentum kept"
    )
    width: float = option(
        0.01,
        number(0, 10, ends="(]", good=(0.01, 10)),
        "Half width of the jumps, in standard deviations of a weight.",
        label="width of jumps",
    )
    n_iterations: int = option(1000, COUNT, "Iterations in a step.", label="iterations in a step")


EDGES = Registry(
    "method",
    "methods",
    [
        MethodRow(
            "reversible-jump",
            ReversibleJump,
            "single-edge birth and death at any weight, with moments from persistent chains",
            "edges of any strength come and go, with any number of columns",
            "approximate (moments from persistent chains)",
            dict.fromkeys(OF_EDGES, YES_NO | WITH_TABLES),
            "births and deaths allow for the noise of moments from finitely many particles, but the Langevin steps "
            "between them are neither accepted nor rejected",
        ),
        MethodRow(
            "exact",
            Exact,
            "birth and death of edges at any weight, with exact moments",
            "the same without error, for some twenty columns or few candidates",
            "exact",
            dict.fromkeys(OF_EDGES, YES_NO | WITH_TABLES),
        ),
        MethodRow(
            "langevin",
            LangevinJumps,
            "Langevin dynamics of the weights, and reversible jumps of weak edges (Algorithm 1 of Chen and Welling)",
            "the published algorithm, in which only weak edges come and go",
            "approximate (moments from persistent chains)",
            dict.fromkeys(OF_EDGES, YES_NO | MANY_STATES),
            "no step of a weight is accepted or rejected, and moments are estimates by finitely many particles",
        ),
    ],
)

COMPARISONS = Registry(
    "method",
    "methods",
    [
        MethodRow(
            "exact",
            Exact,
            "birth and death of the difference of every edge, with exact moments in each group",
            "by sums over all joint states of the columns",
            "exact",
            dict.fromkeys(OF_EDGES, on("boltzmann") | WITH_TABLES),
        ),
        MethodRow(
            "reversible-jump",
            ReversibleJump,
            "birth and death of the difference of every edge, with moments from persistent chains of each group",
            "any number of columns",
            "approximate (moments from persistent chains)",
            dict.fromkeys(OF_EDGES, on("boltzmann") | WITH_TABLES),
            "births and deaths allow for the noise of moments from finitely many particles, but the Langevin steps "
            "between them are neither accepted nor rejected",
        ),
    ],
)

# What "reversible-jump" does with many observations.
EXTRAPOLATED = MethodRow(
    "reversible-jump",
    ReversibleJump,
    "birth and death of edges at any weight, with moments extrapolated from those at the mean of the posterior",
    "",
    "approximate (moments extrapolated from one point)",
    reason="log Z is exact along each coordinate but quadratic between coordinates, and all chains of a run share the "
    "noise of the moments, which R-hat does not show",
)
