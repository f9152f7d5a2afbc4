"""Rows of methods: what they support, in which words they are refused; and users' own methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..base import Engine, Kernel
from ..declare.option import Checked, needs, option
from ..declare.registries import Registry
from ..declare.rule import KERNEL_FACTORY, KIND
from ..errors import OptionError, argument
from ..names import one_of

if TYPE_CHECKING:
    from ..likelihood import Likelihood


@dataclass(frozen=True)
class Custom(Checked):
    """A user-defined method of any estimator that samples.

    Parameters
    ----------
    make : callable
        Returns the kernel, with the attributes of `bayesmrf.base.Kernel`, for a `bayesmrf.likelihood.Likelihood` and a
        prior. Its draws in `BayesianMRF` and `LabelFieldMRF` have ``theta``, of as many parameters as the likelihood.
        Those in `SpikeSlabMRF` and `CompareMRF` have

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
        reason. Approximate draws of `BayesianMRF` are checked by Stein's identities.
    """

    make: Callable[[Likelihood, Any], Kernel] = field(metadata=needs(KERNEL_FACTORY))
    kind: str = option("approximate (user-defined method)", KIND)


class Built(NamedTuple):
    """A kernel of this package, of which an estimator checks nothing, and what results say of it."""

    kernel: Any
    sweeps: float = 0  # Gibbs sweeps of single particles that a step is worth; 0 where moments are exact
    engine: Engine | None = None  # by which moments are computed, or states drawn
    kind: str = ""  # with these options; empty for that of the row
    attrs: dict[str, Any] = {}  # noqa: RUF012 - of the result, besides the options
    row: MethodRow | None = None  # by which results are described, if it is another one


# Features of methods, and their names in messages.
FEATURES = {
    "groups": "this model",
    "fields": "node fields",
    "spike": "absent edges",
    "field_groups": "grouped fields",
    "missing": "missing values",
    "biases": "a logistic-beta prior of the biases",
}


@dataclass(frozen=True)
class MethodRow:
    """A method.

    Its builder is called with the options and a `bayesmrf.estimators.built_kernels.Problem`, and returns a kernel,
    whose first draw is checked, or a `Built`.
    """

    name: str
    options: type
    sentence: str  # what it does, for reports
    brief: str  # what it is for, for help texts
    kind: str  # "exact", or "approximate (...)", of the default options
    # For each of `FEATURES`, the models (`bayesmrf.families`) with which the method supports it
    supports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    reason: str = ""  # why its draws are approximate, for reports; empty if they are exact
    build: Any = ""  # the builder, or where it is, such as "urn_sampler.kernel:build"
    on_forests: bool = False  # whether "auto" prefers it on forests
    # Where edges are born and die: at "any" weight, with a taper of Cauchy slabs, or only at a "weak" one; or not known
    births: str = ""


def row_of(options: Any, rows: Registry[MethodRow]) -> MethodRow:
    """Return the row of a method; a user-defined one supports all but grouped fields, as the kernel itself checks.

    Raises
    ------
    OptionError
    """
    if isinstance(options, Custom):
        return MethodRow("custom", Custom, "", "", options.kind, dict.fromkeys(_OF_OWN, _EVERY))
    return rows.row(options)


def stored_options(options: Any) -> dict[str, Any]:
    """Return the options of a method that are stored with its draws: none of a user-defined one."""
    return {} if isinstance(options, Custom) else asdict(options)


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


def on(*models: str) -> frozenset[str]:
    """Return the models with which a method supports a feature."""
    return frozenset(models)


UNORDERED = on("agreement", "potts", "symmetric")
BY_MOMENTS = dict.fromkeys(FEATURES, UNORDERED | on("ordinal")) | {"field_groups": UNORDERED}
PARTICLES = "approximate (moments from particles)"
YES_NO, MANY_STATES = on("boltzmann", "ising", "agreement"), on("potts", "ordinal")
WITH_TABLES = MANY_STATES | on("nominal")  # edges may have several parameters
_EVERY = UNORDERED | YES_NO | MANY_STATES
OF_EDGES = ("spike", "missing")
_OF_OWN = FEATURES.keys() - {"field_groups"}  # of which the kernel is not told
