"""Methods of `SpikeSlabMRF` and `CompareMRF`."""

from __future__ import annotations

from dataclasses import dataclass

from ..declare.option import Checked, option
from ..declare.rule import COUNT, MOMENTUM, STATES, STEP, choice, optional
from ..errors import OptionError, argument
from ..plugins import OpenRegistry
from .groups import Exact
from .rows import OF_EDGES, WITH_TABLES, YES_NO, MethodRow, on


@dataclass(frozen=True)
class ReversibleJump(Checked):
    """Single-edge birth and death at any weight, with moments from persistent chains.

    Parameters
    ----------
    n_particles
        With fewer than observations, births of strong edges are rarely accepted. None for the number of observations,
        within 256 and 16,384.
    moments
        Where moments come from:

        * chains: moments are those of the persistent chains, which follow the weights.
        * bank: log Z is that of a bank of states at the mean of the posterior, which pilot runs find
          (`bayesmrf.states.bank`); blocks of births, deaths and swaps by a quadratic surrogate are accepted or rejected
          by it. A finding says by how much another bank changes the result.
        * extrapolated: 4,096 chains measure moments once, at the mean of the posterior, from which those at all draws
          are extrapolated (`bayesmrf.states.reference`): for yes/no columns of many observations, at least
          20 for each weight and bias.
        * auto: a bank for columns of more than two levels, and for 1,000 to 4,096 yes/no rows, if there are twice as
          many rows as effective parameters (those of nodes, and a third of those of edges), at most 600 parameters of
          all groups, five rows of each group with each level, and no option of chains. Extrapolated for more yes/no
          rows where that is accurate and no value is missing. Else chains. Tests before the first draw decide; a
          finding says so where they fail.
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
        label="simulated states",
        unset="depends on the data",
    )
    moments: str = option(
        "auto",
        choice("auto", "bank", "chains", "extrapolated"),
        "Where moments come from: a bank of states, chains that follow the weights, or one point from which they are "
        "extrapolated.",
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
        if self.moments in ("bank", "extrapolated") and self.n_particles is not None:
            expected = f"omitted for {argument('moments', self.moments)}"
            raise OptionError(option="n_particles", got=self.n_particles, expected=expected)


_FROM_STATES = (
    "expectations are estimated from simulated states; in tests, inclusion probabilities were within 0.01 of the exact "
    "ones"
)
EDGES = OpenRegistry(
    "method",
    "methods",
    [
        MethodRow(
            "reversible-jump",
            ReversibleJump,
            "single-edge birth and death at any weight, with moments from persistent chains",
            "edges of any strength come and go, with any number of columns",
            "approximate (moments from persistent chains)",
            dict.fromkeys(OF_EDGES, YES_NO | WITH_TABLES) | {"biases": WITH_TABLES},
            _FROM_STATES,
            "bayesmrf.estimators.edge_methods:reversible_jump",
            births="any",
        ),
        MethodRow(
            "exact",
            Exact,
            "birth and death of edges at any weight, with exact moments",
            "the same without error, for some twenty columns or few candidates",
            "exact",
            dict.fromkeys((*OF_EDGES, "biases"), YES_NO | WITH_TABLES),
            build="bayesmrf.estimators.edge_methods:exact",
            births="any",
        ),
    ],
)

COMPARISONS = OpenRegistry(
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
            build="bayesmrf.estimators.comparison_methods:exact",
            births="any",
        ),
        MethodRow(
            "reversible-jump",
            ReversibleJump,
            "birth and death of the difference of every edge, with moments from persistent chains of each group",
            "any number of columns",
            "approximate (moments from persistent chains)",
            dict.fromkeys(OF_EDGES, on("boltzmann") | WITH_TABLES),
            _FROM_STATES,
            "bayesmrf.estimators.comparison_methods:reversible_jump",
            births="any",
        ),
    ],
)

# What "reversible-jump" does with a bank of states.
BANK = MethodRow(
    "reversible-jump",
    ReversibleJump,
    "blocks of births, deaths and swaps of edges, with normalizing constants from simulated states",
    "",
    "approximate (log Z from a bank of states)",
    reason="the normalizing constant is estimated from simulated states, which all chains share, so that R-hat does "
    "not show its error; the findings of the run say how much an independent set of states changes the result",
    births="any",
)

# What it does with many observations.
EXTRAPOLATED = MethodRow(
    "reversible-jump",
    ReversibleJump,
    "birth and death of edges at any weight, with moments extrapolated from those at the mean of the posterior",
    "",
    "approximate (moments extrapolated from one point)",
    reason="log Z is exact along each coordinate but quadratic between coordinates, and all chains of a run share the "
    "noise of the moments, which R-hat does not show",
    births="any",
)

OF_KIND = {row.kind: row for row in (BANK, EXTRAPOLATED)}  # what a run did, where its method has several ways
