"""The choice of the model by the levels of the data, where it is "auto"."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..base import BINARY
from ..data.equal_columns import warn_of_equal
from ..data.frames import in_pandas, is_frame, record_columns
from ..data.levels import remedy_of
from ..data.missing import unmasked
from ..data.nominal import require_shared_levels, warn_of_meanings, warn_of_nominal
from ..data.ordered_levels import MOST_LEVELS, ordered_scales
from ..data.sample_weight import check_weights
from ..data.states import ColumnLevels, States, check_states, levels_of
from ..data.yes_no import to_numbers
from ..errors import DataError, LevelsWarning, argument
from ..families import AUTO, Custom
from ..findings import tell
from ..graphs import Graph
from ..models.two_arrays import TwoArrays
from ..names import digits, quoted
from .base import read_graph
from .fitted import Fitted
from .option_objects import OptionObjects

_log = logging.getLogger(__name__)
_STRAY = 0.02  # share of the answers of a column, up to which levels that yes/no columns lack may be mistakes


def ordered_column(X: Any) -> str | None:
    """Return the name of the first column with more than two ordered levels; None if there is none.

    Ordered levels are pandas' ordered categories or, in a table of integers from 0, at most 12 levels. None is returned
    for a table with identifiers, with columns on different scales, or with codes of missing values, which are not
    answers (`bayesmrf.data.levels.find_foreign`).

    Raises
    ------
    DataError
        If columns next to ordered categories are such.
    """
    X = in_pandas(X)
    if is_frame(X):
        scales = ordered_scales(X)
        first = next((name for name, column in scales.items() if column.max(initial=0) > 2), None)
        if first is not None:
            _check_others(X, scales)
            return first
        X = X.loc[:, [str(name) not in scales for name in X.columns]]
    names, columns = _answers(X)
    seen = [column[column == column] for column in columns]  # NaN is missing
    if all(column.max(initial=0) <= 1 for column in seen) or not all(map(_is_counted, seen)) or remedy_of(seen, names):
        return None
    small = (i for i, column in enumerate(seen) if column.max(initial=0) <= MOST_LEVELS)
    return next((names[i] for i in small if 2 < len(np.unique(seen[i])) <= MOST_LEVELS), None)


def _texts(levels: Sequence[Any]) -> tuple[str, ...]:
    """Return a text for each level, with few digits if these differ."""
    short = tuple(f"{level:g}" if isinstance(level, float) else str(level) for level in levels)
    return short if len(set(short)) == len(short) else tuple(map(str, levels))


def _is_counted(column: np.ndarray) -> bool:
    """Return whether all values of a column are integers from 0."""
    return bool(((column >= 0) & (column == np.round(column))).all())


def _check_others(X: Any, scales: dict[str, np.ndarray]) -> None:
    """Refuse a table whose columns next to those of ordered categories, which have ``scales``, are not answers."""
    names, columns = _answers(X.loc[:, [str(name) not in scales for name in X.columns]])
    seen = [column[column == column] for column in columns]
    # The categories are part of the scale: without them a single column, such as an age, is on a scale of its own.
    unless = f"or set {argument('model', 'ordinal')} if all values are answers."
    remedy = remedy_of([*seen, *scales.values()], [*names, *scales], len(names))
    if remedy:
        raise DataError(f"{argument('X')} must contain answers only: {remedy}, {unless}")
    for name, column in zip(names, seen, strict=True):
        if not _is_counted(column):
            value = next(v for v in column if v < 0 or v != np.round(v))
            raise DataError(f"{argument('X')} must contain integers from 0 next to ordered categories, got "
                            f"{digits(value)} in column {quoted(name)}; recode or drop it, {unless}")  # fmt: skip


def _answers(X: Any) -> tuple[list[str], list[np.ndarray]]:
    """Return names and values of the columns of a table of numbers; none of another one."""
    X = in_pandas(X)
    named = is_frame(X)
    values = X.to_numpy() if named else unmasked(X)
    if values.ndim != 2 or not values.size or np.iscomplexobj(values):
        return [], []
    names = [str(c) for c in X.columns] if named else [str(i) for i in range(values.shape[1])]
    try:
        numbers, _ = to_numbers(values, tuple(names))
    except DataError:
        return [], []
    return names, list(numbers.T)


def _counts(column: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the levels of a column, and how often each was observed."""
    there = column == column  # NaN is missing
    levels, place = np.unique(column[there], return_inverse=True)
    return levels, np.bincount(place, None if weights is None else weights[there], len(levels))


def _warn_of_stray_levels(X: Any, sample_weight: Any = None) -> None:
    """Warn if all columns have the same two levels but for a few answers."""
    weights = check_weights(sample_weight, in_pandas(X), len(X))
    names, columns = _answers(X)
    counted = [_counts(column, weights) for column in columns]
    usual = {tuple(levels) for levels, _ in counted if len(levels) == 2}
    if len(usual) != 1:
        return
    (two,) = usual
    strays = [(i, ~np.isin(levels, two), counts) for i, (levels, counts) in enumerate(counted)]
    strays = [(i, stray, counts) for i, stray, counts in strays if stray.any()]
    if any(counts[stray].sum() > max(1, _STRAY * counts.sum()) for _, stray, counts in strays):
        return
    i, stray, counts = strays[0]
    more = f", as have {len(strays) - 1} other column(s)" if len(strays) > 1 else ""
    tell(
        f"{argument('model', AUTO)} is ordinal only because column {quoted(names[i])} has the value "
        f"{counted[i][0][stray][0]:g} in {counts[stray][0]:,.0f} of {counts.sum():,.0f} rows{more}, where all other "
        f"answers are {two[0]:g} or {two[1]:g}; correct it or make it missing if it is a mistake, else give "
        f"{argument('model', 'ordinal')}",
        LevelsWarning,
    )


def choose_model(X: Any, yes_no: str) -> str:
    """Return "ordinal" if a column of X has more than two ordered levels, else the model ``yes_no``."""
    return yes_no if ordered_column(X) is None else "ordinal"


class ChosenModel(Fitted, OptionObjects):
    """Estimators of several models. "auto" is "ordinal" for data with ordered levels, else a model of yes/no nodes.

    ``model_`` is the name of the model that was fitted. It stays the model of ``theta_`` until the next fit, whatever
    the parameters are set to.
    """

    yes_no: ClassVar[str] = "boltzmann"
    model: Any
    fields: Any = True
    edges_: np.ndarray
    _graph: Graph
    _names: tuple[str, ...]
    _coding: Any
    _log_z: Any
    _family: Any
    _has_fields: bool
    model_: str

    def _model(self, graph: Graph | None = None) -> Any:
        """Return the model on a graph, or on that of the data."""
        levels = [levels_of(self._coding, i) for i in range(self._graph.n_nodes)]
        sizes = tuple(map(len, levels))
        model: Any = self._family.on(graph or self._graph, sizes, self._has_fields)
        of_levels = isinstance(model, TwoArrays) and model.family != BINARY and tuple(model.used.sum(axis=1)) == sizes
        if not of_levels:
            return model  # or a callable's, with states that the data do not have
        return replace(model, state_names=tuple(map(_texts, levels)))

    @property
    def _chooses(self) -> bool:
        return isinstance(self.model, str) and self.model == AUTO

    def _choose_model(self, X: Any, sample_weight: Any = None) -> None:
        """Forget a former fit, choose the model by the data if it is "auto", and say so in the log."""
        self._forget()
        if self._chooses:
            column = ordered_column(X)
            self.model_ = self.yes_no if column is None else "ordinal"
            if column is not None:
                _warn_of_stray_levels(X, sample_weight)
                _log.info("The model is ordinal, as column %s has more than two ordered levels.", quoted(column))
        self._family, self._has_fields = self.object("model"), bool(self.fields)

    def _read(
        self,
        X: Any,
        sample_weight: Any,
        progress: bool = False,
        missing: bool = False,
        option: str = "graph",
        tied: bool = False,
    ) -> States:
        """Check the data, and read the graph from the parameter ``option``; ``tied`` edges are not each estimated."""
        family = self.object("model")
        states = check_states(X, sample_weight, missing=missing, n_states=family.n_states, ordinal=True)
        name = type(family).__name__.lower()
        if family.shares_levels:
            require_shared_levels(X, states, name, family.n_states)
        if isinstance(states.coding, ColumnLevels):
            warn_of_nominal(X, states)
        if not tied:
            warn_of_equal(states)
        record_columns(self, X, len(states.names))
        self._graph = read_graph(getattr(self, option), states, progress, option)
        self.edges_ = self._graph.edges
        self._names, self._coding, self._log_z = states.names, states.coding, {}
        if family.shares_levels:
            warn_of_meanings(states, self._graph.edges, self._model().category, name)
        return states

    def object(self, name: str) -> Any:
        """Return the value of a parameter as an object; of the model "auto", the one that was chosen."""
        if name != "model":
            return super().object(name)
        if callable(self.model):
            return Custom(self.model)
        return self.read["model"](self._of_fit.get("model_", self.yes_no)) if self._chooses else super().object(name)
