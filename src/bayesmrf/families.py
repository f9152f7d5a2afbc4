"""Models of estimators before the graph is known: their options, and the meaning of their parameters.

GroupedMRF(model=families.Potts(n_states=3))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from .base import TABLES, OnGraph
from .data.level_names import MIXED, NOMINAL
from .declare.option import Checked, needs, option
from .declare.registries import Registry
from .declare.rule import FACTORY, NONE, SCORES, Rule, choice, either, instance, integer, is_score
from .errors import OptionError, in_python
from .names import listed, quoted

if TYPE_CHECKING:
    from .graphs import Graph


_N_STATES = either(choice("auto"), integer(2, 127), expected="'auto' or an integer from 2 to 127")
_OWN_STATES = either(_N_STATES, NONE, expected=_N_STATES.expected + in_python(", or None"))
_NEUTRAL = Rule(
    "None, or a mapping of names of columns to scores >= 0",
    lambda v: v is None or (isinstance(v, Mapping) and all(map(is_score, v.values()))),
    (None,),
)
AUTO = "auto"  # the model that fits the levels of the data


class _Family(Checked):
    """Options of a model, which is the class of the same name in `bayesmrf.models`.

    ``n_states`` says which levels are read from the data, as in `bayesmrf.data.states.check_states`.
    """

    n_states: ClassVar[Any] = None
    shares_levels: ClassVar[bool] = False  # whether edges compare the levels of their ends
    takes: ClassVar[tuple[str, ...]] = ()  # what it reads as answers, as in `bayesmrf.data.infer_columns`
    are_ordered: ClassVar[bool] = True  # whether the levels of simulated tables have an order

    @property
    def without_columns(self) -> Any:
        """These options without those that name columns."""
        return self

    @property
    def _model(self) -> Any:
        name = type(self).__name__
        return getattr(import_module(f"bayesmrf.models.{name.lower()}"), name)

    def on(self, graph: Graph, sizes: tuple[int, ...], fields: bool, ordered: Any = None) -> Any:
        """Return the model on a graph, whose nodes have ``sizes`` states."""
        return self._model(graph, fields)


@dataclass(frozen=True)
class _ManyStates(_Family):
    n_states: int | str = option("auto", _N_STATES)  # type: ignore[misc]
    shares_levels: ClassVar[bool] = True
    takes: ClassVar[tuple[str, ...]] = ("names", "numbers", "values")

    def on(self, graph: Graph, sizes: tuple[int, ...], fields: bool, ordered: Any = None) -> Any:
        """Return the model on a graph, whose nodes have ``sizes`` states."""
        return self._model(graph, max(sizes), fields)


@dataclass(frozen=True)
class Agreement(_Family):
    """Two states; an edge rewards agreement of its ends (`bayesmrf.models.agreement.Agreement`)."""


@dataclass(frozen=True)
class Boltzmann(_Family):
    """Two states coded {0, 1}: weights and biases (`bayesmrf.models.boltzmann.Boltzmann`)."""


@dataclass(frozen=True)
class Ising(_Family):
    """Two states coded {-1, +1}: couplings and fields (`bayesmrf.models.ising.Ising`)."""


@dataclass(frozen=True)
class Potts(_ManyStates):
    """Many states; an edge rewards agreement of its ends (`bayesmrf.models.potts.Potts`).

    Parameters
    ----------
    n_states : int or "auto"
        The data are 0, ..., n_states - 1; "auto" uses the levels that occur, in their order.
    """


@dataclass(frozen=True)
class Symmetric(_ManyStates):
    """Many states; each edge has a symmetric table of log potentials (`bayesmrf.models.symmetric.Symmetric`).

    Parameters
    ----------
    n_states : int or "auto"
        As in `Potts`.
    """


@dataclass(frozen=True)
class Ordinal(_Family):
    """Ordered categories, a number of them for each node; an edge rewards products of scores.

    The model is `bayesmrf.models.ordinal.Ordinal`. The categories of a column are the integers from its smallest to its
    largest value, or pandas' ordered categories.

    Parameters
    ----------
    neutral
        Its thresholds are not free, but :math:`a x + b (x - r)^2` (`bayesmrf.models.ordinal.Ordinal`).
    scores
        A column with fewer levels has the first of them. They increase from 0.
    """

    takes: ClassVar[tuple[str, ...]] = ("numbers", "values")
    unused: str = option(
        "keep",
        choice("keep", "merge"),
        "Categories in this range that never occur are kept, with a warning, or left out: the scores of those above "
        "are then lower by one.",
    )
    neutral: Any = option(
        None, _NEUTRAL, "Score of the neutral category (from 0, such as 2 of five) by the name of a column."
    )
    scores: Any = option(
        None,
        SCORES,
        "Scores of the categories from the lowest, such as (0, 1, 3, 7) for numbers of days, instead of 0, 1, 2, ...",
    )

    @property
    def n_states(self) -> str:
        """Which levels are read from the data."""
        return self.unused

    @property
    def without_columns(self) -> Ordinal:
        """These options without neutral categories."""
        return replace(self, neutral=None)

    def on(self, graph: Graph, sizes: tuple[int, ...], fields: bool, ordered: Any = None) -> Any:
        """Return the model on a graph, whose nodes have ``sizes`` categories."""
        if self.neutral is None:
            return self._model(graph, max(sizes), fields, tuple(sizes), None, self.scores)
        number, found = {name: i for i, name in enumerate(graph.names)}, [None] * graph.n_nodes
        for name, score in self.neutral.items():
            if str(name) not in number:
                columns = listed([quoted(column) for column in graph.names])
                raise OptionError(option="neutral", got=name, expected=f"scores by the names of columns ({columns})",
                                  remedy=f"there is no column {quoted(str(name))}")  # fmt: skip
            node = number[str(name)]
            if sizes[node] < 3:
                raise OptionError(option="neutral", got=name, expected="names of columns with three levels or more")
            top = sizes[node] - 1 if self.scores is None else self.scores[: sizes[node]][-1]
            if not score <= top:
                expected = f"a score from 0 to {top:g} for column {quoted(str(name))}"
                raise OptionError(option="neutral", got=score, expected=expected)
            found[node] = score
        return self._model(graph, max(sizes), fields, tuple(sizes), tuple(found), self.scores)


@dataclass(frozen=True)
class Nominal(_Family):
    """Categories without order, next to ordered and yes/no columns; an edge has a table of log odds ratios.

    The model is `bayesmrf.models.nominal.Nominal`. A column has pandas' categories, ordered or not, or is yes/no (0 and
    1, or booleans); the values of any other, words or codes, have no order.

    Parameters
    ----------
    numbers
        The model "auto" takes them as "ordered", next to pandas' categories without order.
    """

    takes: ClassVar[tuple[str, ...]] = ("names", "numbers", "values")
    are_ordered: ClassVar[bool] = False

    numbers: str = option(
        "nominal",
        choice("nominal", "ordered"),
        "Whether the numbers of a column that is neither yes/no nor of pandas' categories have an order.",
    )

    @property
    def n_states(self) -> str:
        """Which levels are read from the data."""
        return NOMINAL if self.numbers == "nominal" else MIXED

    def on(self, graph: Graph, sizes: tuple[int, ...], fields: bool, ordered: Any = None) -> Any:
        """Return the model on a graph, whose nodes have ``sizes`` categories, which may be ``ordered``."""
        return self._model(graph, max(sizes), fields, tuple(sizes), ordered)


@dataclass(frozen=True)
class Custom(_Family):
    """A user-defined model.

    Parameters
    ----------
    make
        Any class with the attributes of `bayesmrf.base.Model` will do. `SpikeSlabMRF` and `CompareMRF` also make the
        model of a single edge, for their default prior.
    """

    make: Callable[[Graph], Any] = field(
        metadata=needs(
            FACTORY, "Returns the model on a `Graph`, such as a subclass of `bayesmrf.models.PairwiseModel`."
        )
    )
    n_states: int | str | None = option(  # type: ignore[misc]
        None, _OWN_STATES, "Number of states of a node; None for that of a subclass of `PairwiseModel`, else two."
    )
    takes: ClassVar[tuple[str, ...]] = ("names", "numbers", "values")

    def __post_init__(self) -> None:
        from .graphs import path
        from .models.bases import PairwiseModel

        super().__post_init__()
        if self.n_states is None and isinstance(self.make, type) and issubclass(self.make, PairwiseModel):
            size = self.make(path(1)).n_states
            object.__setattr__(self, "n_states", size if size > 2 else None)

    def on(self, graph: Graph, sizes: tuple[int, ...], fields: bool, ordered: Any = None) -> Any:
        """Return the model on a graph."""
        found = self.make(graph)
        if not isinstance(found, OnGraph):
            raise OptionError(
                option="model",
                got=type(found).__name__,
                expected="a callable that returns a model with the attributes of bayesmrf.base.Model",
                remedy="return, for example, bayesmrf.models.boltzmann.Boltzmann(graph, fields=True)",
            )
        from .models.agreeing_tables import require_agreement

        _require_symmetric(found)
        require_agreement(found)
        return found


def _require_symmetric(model: Any) -> None:
    """Check that an edge has no direction, as samplers of states do not know one.

    Raises
    ------
    OptionError
    """
    import numpy as np

    if model.family == TABLES:
        tables = model.categorical(np.arange(1.0, 1 + model.n_features)).coupling
        if not np.allclose(tables, tables.transpose(0, 2, 1)):
            expected = "one whose log potentials do not depend on the order of the ends of an edge"
            raise OptionError(option="model", got=model.name, expected=expected)


@dataclass(frozen=True)
class FamilyRow:
    """A model."""

    name: str
    options: type
    many_states: bool  # whether nodes may have more than two states
    estimators: frozenset[str]  # estimators that support it
    # edge, node: names of the parameters of an edge and of a node
    edge: str
    node: str
    brief: str  # which columns and parameters it has, for help texts
    meaning: str  # interpretation of the parameters, for reports
    shared: str = ""  # what edges of a group share (`GroupedMRF`): an "agreement", a "weight" or a "table"
    tables: bool = False  # whether an edge has a table of parameters, whose size depends on its ends
    neutral: str = ""  # meaning of the parameters of columns with a neutral category, as a further sentence
    chosen_by: str = ""  # what levels of the data make "auto" choose it


FAMILIES = Registry(
    "model",
    "families",
    [
        FamilyRow(
            "agreement",
            Agreement,
            False,
            frozenset({"GroupedMRF", "BayesianMRF", "SpikeSlabMRF", "MaximumLikelihoodMRF"}),
            "logit of agreement",
            "field",
            "logits of agreements of yes/no columns, and fields over -1/+1",
            "An edge's parameter is the logit of its agreement: half the log odds ratio of its two ends, given all "
            "other nodes; a field is half the log odds of yes where the others cancel.",
            shared="agreement",
        ),
        FamilyRow(
            "boltzmann",
            Boltzmann,
            False,
            frozenset({"BayesianMRF", "SpikeSlabMRF", "CompareMRF", "MaximumLikelihoodMRF"}),
            "weight",
            "bias",
            "weights and biases of yes/no columns over 0/1",
            "A weight is the log odds ratio of the two ends, coded 0 and 1, given all other nodes; a bias the log odds "
            "of 1 where all others are 0.",
        ),
        FamilyRow(
            "ising",
            Ising,
            False,
            frozenset({"BayesianMRF", "SpikeSlabMRF", "MaximumLikelihoodMRF"}),
            "coupling",
            "field",
            "couplings and fields of yes/no columns over -1/+1",
            "A coupling is a quarter of the log odds ratio of the two ends, coded -1 and +1, given all other nodes; a "
            "field is half the log odds of +1 where the others cancel.",
        ),
        FamilyRow(
            "potts",
            Potts,
            True,
            frozenset({"GroupedMRF", "BayesianMRF", "SpikeSlabMRF", "CompareMRF", "MaximumLikelihoodMRF"}),
            "coupling",
            "field",
            "one coupling for each edge of columns with any levels",
            "A coupling is the log odds of two alike ends against two given unlike states, fields apart; a field is "
            "the log odds of its state against the first state where the neighbours favour neither.",
            shared="agreement",
        ),
        FamilyRow(
            "ordinal",
            Ordinal,
            True,
            frozenset({"GroupedMRF", "BayesianMRF", "SpikeSlabMRF", "CompareMRF", "MaximumLikelihoodMRF"}),
            "weight",
            "threshold",
            "weights and thresholds of ordered levels",
            "A weight is the log odds ratio of the two ends for each step of both up their categories, given all other "
            "nodes; a threshold is the log odds of its category against the lowest where all others are in theirs.",
            shared="weight",
            neutral=" Of a column with a neutral category, linear x + quadratic ((x - r)² - r²) takes the place of the "
            "threshold of the category with score x; r is the score of the neutral one.",
            chosen_by="the ordered levels",
        ),
        FamilyRow(
            "nominal",
            Nominal,
            True,
            frozenset({"BayesianMRF", "SpikeSlabMRF", "CompareMRF", "MaximumLikelihoodMRF"}),
            "strength",
            "log weight",
            "a table of log odds ratios for each edge of columns without order, next to ordered and yes/no ones",
            "An edge has a table of log odds ratios of the categories of its two ends, given all other nodes; its "
            "strength is their root mean square, or their value for a step of both ends, with its sign, where both are "
            "ordered or yes/no. A log weight is that of a category against the mean of all of the node, or, of an "
            "ordered node, against the first.",
            tables=True,
            chosen_by="categories without order",
        ),
        FamilyRow(
            "symmetric",
            Symmetric,
            True,
            frozenset({"GroupedMRF", "MaximumLikelihoodMRF"}),
            "log potential",
            "field",
            "a table for each edge of columns with any levels",
            "An edge has a symmetric table of log potentials, one for each pair of states of its ends.",
            shared="table",
        ),
    ],
)


def chosen_by_data(name: str) -> Any:
    """Return the model of a name that "auto" stands for: the numbers next to categories without order are ordered."""
    return Nominal(numbers="ordered") if name == "nominal" else name


def families_of(estimator: str) -> Registry[FamilyRow]:
    """Return the models that an estimator has."""
    return Registry("model", "families", [row for row in FAMILIES if estimator in row.estimators])


def model_rule(estimator: str) -> Rule:
    """Return the rule of the parameter ``model`` of an estimator."""
    named, own = families_of(estimator).rule(AUTO), either(FACTORY, instance("families", "Custom"))
    return either(named, own, expected=named.expected + in_python(f", or {own.expected}"))
