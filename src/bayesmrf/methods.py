"""Methods of `GroupedMRF`, `SpikeSlabMRF` and `CompareMRF`: their options, and what they support.

GroupedMRF(method=methods.Particle(n_particles=4096))
SpikeSlabMRF(method=methods.OneEdge(n_iterations=50))
SpikeSlabMRF(method=methods.Custom(make))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field
from typing import TYPE_CHECKING, Any

from .base import Kernel
from .declare.option import Checked, option
from .declare.registry import Registry
from .declare.rule import COUNT, FLAG, KERNEL_FACTORY, KIND, MOMENTUM, STATES, STEP, choice, integer, number, optional
from .errors import OptionError, argument
from .names import one_of

if TYPE_CHECKING:
    from .likelihood import Likelihood


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
    """

    n_particles: int | None = option(
        None,
        optional(STATES),
        "Number of states of x in memory (of each group of people).",
        "None for ten for each observation, or four where edges or differences may be absent, at least 1,024, at most "
        "1 GiB a chain.",
        label="particles",
        unset="depends on the data",
    )


@dataclass(frozen=True)
class AuxiliaryVariable(Checked):
    """Metropolis-Hastings with particles (Liu and Page 2013, Algorithm 1).

    With ``inner="exact"`` and ``restart=False`` the chain is exact.
    """

    inner: str = option("gibbs", choice("gibbs", "exact"), "How particles are drawn.", label="inner")
    n_sweeps: int = option(
        50, COUNT, "Gibbs sweeps of each particle.", 'With ``inner="gibbs"``; refused otherwise.', label="n_sweeps"
    )
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


@dataclass(frozen=True)
class OneEdge(Checked):
    """Single-edge birth and death at any weight, with moments from persistent chains."""

    n_particles: int | None = option(
        None,
        optional(STATES),
        "Persistent chains that follow the weights.",
        "With fewer than observations, births of strong edges are rarely accepted. None for the number of "
        "observations, within 256 and 16,384; or, if there are more than 4,096 observations and at least 20 for each "
        "weight and bias, for 4,096 chains that measure moments once, at the mean of the posterior, from which those "
        "at all draws are extrapolated (`bayesmrf.particles.reference`).",
        label="particles",
        unset="depends on the data",
    )
    epsilon: float = option(
        0.2,
        STEP,
        "Largest step of Langevin dynamics, in posterior standard deviations.",
        "It is shortened where the posterior is stiffer, and such that the noise of the moments hardly widens the "
        "posterior.",
        label="step epsilon",
    )
    momentum: float = option(
        0.5,
        MOMENTUM,
        "Share of the momentum that is kept, in [0, 1).",
        "It is refused where moments are extrapolated, as is ``epsilon``.",
        label="share of momentum kept",
    )
    n_iterations: int = option(
        20, COUNT, "Iterations in a step.", "A step of warm-up has half of them.", label="iterations in a step"
    )


@dataclass(frozen=True)
class Langevin(Checked):
    """Algorithm 1 of Chen and Welling (2012): persistent chains, Langevin dynamics and reversible jumps near 0."""

    n_particles: int = option(
        100,
        integer(2, 10**7),  # a variance is estimated
        "Persistent chains that follow the weights.",
        'Rounded up to a multiple of 64 unless ``model`` is "boltzmann".',
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
        "The variance of the estimated ratio grows with its square (Chen and Welling 2012 structure, eq. 11).",
        label="width of jumps",
    )
    n_iterations: int = option(1000, COUNT, "Iterations in a step.", label="iterations in a step")


@dataclass(frozen=True)
class Custom(Checked):
    """A user-defined method of `GroupedMRF`, `SpikeSlabMRF` or `CompareMRF`.

    Parameters
    ----------
    make : callable
        Returns the kernel, with the attributes of `bayesmrf.base.Kernel`, for a `bayesmrf.likelihood.Likelihood` and a
        prior. Its draws in `SpikeSlabMRF` and `CompareMRF` have

        * ``theta`` (feature): the weights of the candidate edges, 0 where an edge is absent, then the biases; of
          `CompareMRF` (group, feature), those of each group;
        * ``included`` (edge), bool: whether each edge exists; of `CompareMRF`, whether the groups differ in it;
        * ``density`` and ``slab_scale``, numbers: p0, and the scale of the slab.

        In `GroupedMRF`, which takes it without grouped fields only, they have

        * ``theta`` (feature): the parameters of the edges, equal within a group and 0 where an edge is absent, then the
          fields;
        * ``groups`` (edge), int: the group of each edge, from 0, or -1 where an edge is absent;
        * ``n_groups`` and ``alpha``, numbers; where edges may be absent also ``density``: p0.

        `SpikeSlabMRF` and `GroupedMRF` give the likelihood of theta, and their `bayesmrf.priors.SpikeSlab` or
        `bayesmrf.priors.DirichletProcess`. `CompareMRF` gives a likelihood with a sample for each group
        (``likelihood.samples``), whose ``curve`` maps the parameters of
        `bayesmrf.posterior.edges.differences.group_maps` to the theta of the group, and a
        `bayesmrf.posterior.edges.differences.DifferencePrior`. The engine is exact if that is cheap, else persistent
        chains; ``likelihood.replaced(s_bar, engine)`` is the likelihood with another engine.

        If values are missing, they are drawn before each step, and the likelihood is that of the completed table. The
        kernel must then be a dataclass with a field ``likelihood``, and its State a NamedTuple with the parameters of
        the likelihood as ``theta``, in which nothing depends on the data, such as the log likelihood at theta.
    kind : str
        "exact" if its draws are from the posterior wherever the engine is exact, or "approximate (...)" with the
        reason.
    """

    make: Callable[[Likelihood, Any], Kernel] = option(MISSING, KERNEL_FACTORY)
    kind: str = option("approximate (user-defined method)", KIND)


# Features of methods, and their names in messages.
FEATURES = {
    "groups": "this model",
    "fields": "node fields",
    "spike": "absent edges",
    "field_groups": "grouped fields",
    "missing": "missing values",
}


@dataclass(frozen=True)
class MethodRow:
    """A method."""

    name: str
    options: type
    sentence: str  # what it does, for reports
    brief: str  # what it is for, for help texts
    kind: str  # "exact", or "approximate (...)", of the default options
    # For each of `FEATURES`, the models (`bayesmrf.families`) with which the method supports it
    supports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    reason: str = ""  # why its draws are approximate, for reports; empty if they are exact


def row_of(options: Any, rows: Registry[MethodRow]) -> MethodRow:
    """Return the row of a method; a user-defined one supports all but grouped fields, as the kernel itself checks.

    Raises
    ------
    OptionError
    """
    if isinstance(options, Custom):
        return MethodRow("custom", Custom, "", "", options.kind, dict.fromkeys(_OF_OWN, _EVERY))
    return rows.row(options)


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
    return options.kind if isinstance(options, AuxiliaryVariable) else row.kind


def refusal(
    row: MethodRow, rows: Registry[MethodRow], features: Iterable[str], model: str, like: str = ""
) -> OptionError | None:
    """Return the error of the first feature that a method does not support with a model; None if it supports all.

    Parameters
    ----------
    row : MethodRow
    rows : Registry
        Methods among which alternatives are named.
    features : iterable of {"groups", "fields", "spike", "field_groups", "missing"}
    model : str
    like : str
        Name of the model in this package that a user's own one is like, for methods.
    """
    known = like or model
    for feature in features:
        if known in row.supports.get(feature, ()):
            continue
        able = [repr(r.name) for r in rows if known in r.supports.get(feature, ())]
        if able:
            what = f"{'' if feature == 'groups' else FEATURES[feature] + ' with '}{argument('model', model)}"
            return OptionError(option="method", got=row.name, expected=f"{one_of(able)} for {what}")
        models = sorted({repr(m) for r in rows for m in r.supports.get(feature, ())})
        return OptionError(option="model", got=model, expected=f"{one_of(models)} for {FEATURES[feature]}")
    return None


def _on(*models: str) -> frozenset[str]:
    return frozenset(models)


_UNORDERED = _on("agreement", "potts", "symmetric")
_BY_MOMENTS = dict.fromkeys(FEATURES, _UNORDERED | _on("ordinal")) | {"field_groups": _UNORDERED}
_PARTICLES = "approximate (moments from particles)"
_YES_NO, _MANY_STATES = _on("boltzmann", "ising", "agreement"), _on("potts", "ordinal")
_EVERY = _UNORDERED | _YES_NO | _MANY_STATES
_OF_EDGES = ("spike", "missing")
_OF_OWN = FEATURES.keys() - {"field_groups"}  # whose prior is not given

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
            {"groups": _on("agreement")},
        ),
        MethodRow(
            "exact",
            Exact,
            "Gibbs sampling with exact moments of every edge given the others",
            "exact, on narrow graphs",
            "exact",
            _BY_MOMENTS,
        ),
        MethodRow(
            "particle",
            Particle,
            "Gibbs sampling with moments from particles that follow the parameters",
            "close to the posterior, on any graph",
            _PARTICLES,
            _BY_MOMENTS,
            "close to the posterior, and the closer the more particles there are",
        ),
        MethodRow(
            "auxiliary-variable",
            AuxiliaryVariable,
            "Metropolis-Hastings with particles (Algorithm 1 of Liu and Page)",
            "close to the posterior, and slow",
            "approximate (particles from 50 Gibbs sweeps)",
            {"groups": _on("agreement"), "fields": _on("agreement")},
            "close to the posterior, but not the posterior itself however long the run",
        ),
        MethodRow(
            "stripped-beta",
            StrippedBeta,
            "the likelihood of each edge replaced by a Beta density",
            "rough and fast, on any graph",
            "approximate (stripped Beta likelihood)",
            {"groups": _on("agreement"), "fields": _on("agreement")},
            "fast on any graph, but it finds more groups than the posterior has",
        ),
    ],
)

EDGES = Registry(
    "method",
    "methods",
    [
        MethodRow(
            "one-edge",
            OneEdge,
            "single-edge birth and death at any weight, with moments from persistent chains",
            "edges of any strength between yes/no columns come and go",
            "approximate (moments from persistent chains)",
            dict.fromkeys(_OF_EDGES, _YES_NO),
            "births and deaths allow for the noise of moments from finitely many particles, but the Langevin steps "
            "between them are neither accepted nor rejected",
        ),
        MethodRow(
            "exact",
            Exact,
            "birth and death of edges at any weight, with exact moments",
            "the same without error, for some twenty columns or few candidates",
            "exact",
            dict.fromkeys(_OF_EDGES, _YES_NO | _MANY_STATES),
        ),
        MethodRow(
            "particle",
            Particle,
            "birth and death of edges at any weight, with moments from particles that follow the parameters",
            "the same for more levels, with any number of columns",
            _PARTICLES,
            dict.fromkeys(_OF_EDGES, _MANY_STATES),
            "births, deaths and changes of edges allow for the noise of moments from finitely many particles, but the "
            "draws of fields do not",
        ),
        MethodRow(
            "langevin",
            Langevin,
            "Langevin dynamics of the weights, and reversible jumps of weak edges (Algorithm 1 of Chen and Welling)",
            "the published algorithm, in which only weak edges come and go",
            "approximate (moments from persistent chains)",
            dict.fromkeys(_OF_EDGES, _YES_NO | _MANY_STATES),
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
            dict.fromkeys(_OF_EDGES, _on("boltzmann", "ordinal")),
        ),
        MethodRow(
            "particle",
            Particle,
            "birth and death of the difference of every edge, with moments from particles of each group that follow "
            "its parameters",
            "any number of columns",
            _PARTICLES,
            dict.fromkeys(_OF_EDGES, _on("boltzmann", "ordinal")),
            "moves allow for the noise of moments from finitely many particles",
        ),
    ],
)

# What "one-edge" does with many observations.
EXTRAPOLATED = MethodRow(
    "one-edge",
    OneEdge,
    "birth and death of edges at any weight, with moments extrapolated from those at the mean of the posterior",
    "",
    "approximate (moments extrapolated from one point)",
    reason="log Z is exact along each coordinate but quadratic between coordinates, and all chains of a run share the "
    "noise of the moments, which R-hat does not show",
)
