"""Options of the published samplers."""

from __future__ import annotations

from dataclasses import dataclass

from ..declare.option import Checked, option
from ..declare.rule import COUNT, FLAG, MOMENTUM, STEP, choice, integer, number, optional
from ..errors import OptionError, argument
from ..methods.parameters import AROUND, START


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
        label="simulated states",
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


@dataclass(frozen=True)
class Tree:
    """Exact sampler of groups on forests without fields, where all conditionals are Beta."""


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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inner == "exact" and self.n_sweeps != type(self).n_sweeps:  # the default is not one given
            expected = f"omitted with {argument('inner', 'exact')}, whose particles need no sweeps"
            raise OptionError(option="n_sweeps", got=self.n_sweeps, expected=expected, remedy="remove it")

    @property
    def kind(self) -> str:
        """Description of the stationary distribution."""
        if self.inner == "gibbs":
            return f"approximate (particles from {self.n_sweeps} Gibbs sweeps)"
        return "approximate (values restart at the tied estimate)" if self.restart else "exact"


@dataclass(frozen=True)
class StrippedBeta:
    """Groups by the stripped Beta likelihood (Liu and Page 2013, section 3.2): fast and approximate."""


@dataclass(frozen=True)
class Exchange(Checked):
    """The exchange algorithm (`bayesmrf.published.exchange`).

    Parameters
    ----------
    step_size
        As in `Metropolis`; None always uses uncorrelated combinations of the parameters.
    start
        As in `Metropolis`.
    """

    step_size: float | None = option(
        None, optional(STEP), "Standard deviation of the proposals.", label="step size", unset="adapted during warm-up"
    )
    start: str = option("mode", START, AROUND)


@dataclass(frozen=True)
class AuxiliaryVariable(Checked):
    """The single auxiliary variable method (`bayesmrf.published.auxiliary_variable`).

    Parameters
    ----------
    step_size
        As in `Exchange`, with the multiple 2.4, which is not adapted.
    start
        With one standard deviation, as proposals further from the reference are rarely accepted.
    """

    step_size: float | None = option(
        None, optional(STEP), "Standard deviation of the proposals.", label="step size", unset="from the mode"
    )
    start: str = option("mode", START, AROUND)
