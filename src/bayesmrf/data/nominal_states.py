"""Nominal columns that a model of ordered or shared levels would misread.

An edge of the Potts model rewards equal levels, and one of the ordinal model products of scores. Neither describes
columns whose levels have other names, other meanings, or no order.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.stats import chi2

from ..errors import DataError, LevelsWarning, argument, in_python
from ..findings import tell
from ..names import listed, quoted
from .cells import present
from .formats import MEASURE
from .frames import in_pandas, is_frame
from .states import States, levels_of

_X = argument("X")
_FALSE_ALARM = 1e-6  # of an edge
_MOST_PAIRS = 50  # the most associated ones, of which tables are fitted
_MOST_LEVELS = 20
_N_STEPS = 200
_NOMINAL = f"set {argument('model', 'nominal')}, which compares no levels (groups of edges do not have it)"


def warn_of_nominal(X: Any, states: States) -> None:
    """Warn of columns that SPSS calls nominal, and whose codes the ordinal model takes in order."""
    X = in_pandas(X)
    measure = X.attrs.get(MEASURE, {}) if is_frame(X) else {}
    nominal = [
        name
        for name, size in zip(states.names, states.sizes, strict=True)
        if size > 2 and measure.get(name) == "nominal"
    ]
    if nominal:
        tell(
            f"{len(nominal)} column(s) of {_X} with more than two codes are nominal in SPSS, and "
            f"{argument('model', 'ordinal')} takes the codes in their order: {listed(list(map(quoted, nominal)))}; "
            f"set {argument('model', 'nominal')} or drop them, unless the codes are in order",
            LevelsWarning,
        )


def require_shared_levels(X: Any, states: States, model: str, n_states: Any) -> None:
    """Refuse columns of different levels for a model whose edges compare levels.

    Levels are the categories of a column. Columns of plain values may lack some levels, but two of them that share none
    are refused, unless ``n_states`` of the model says that the levels are 0, ..., n_states - 1.

    Raises
    ------
    DataError
    """
    from pandas import CategoricalDtype

    X = in_pandas(X)
    kinds = list(X.dtypes) if is_frame(X) else []
    categories = {i: kind.categories for i, kind in enumerate(kinds) if isinstance(kind, CategoricalDtype)}
    by_model = isinstance(n_states, int) and states.coding == tuple(range(n_states))
    known: dict[tuple[bool, frozenset[Any]], str] = {}
    for i, name in enumerate(states.names):
        declared = i in categories
        levels = present(categories[i]) if declared else _seen(states, i)
        known.setdefault((declared, frozenset(levels)), name)
    for ((one, a), first), ((other, b), second) in itertools.combinations(known.items(), 2):
        plain = not (one or other)
        if plain and (by_model or min(len(a), len(b)) < 2 or a & b):
            continue
        if one != other and (b if one else a) <= (a if one else b):
            continue
        same = "" if plain else f", or give them the same categories{in_python(' (.cat.set_categories)')}"
        raise DataError(
            f"{_X} must have the same levels in all columns with {argument('model', model)}, whose edges compare "
            f"levels, but column {quoted(first)} has {_listed(a)} and {quoted(second)} {_listed(b)}; {_NOMINAL}, or "
            f"code them in their order and set {argument('model', 'ordinal')} if they have one{same}."
        )


def warn_of_meanings(states: States, edges: np.ndarray, category: np.ndarray, model: str) -> None:
    r"""Warn of edges about which equal levels carry little information, although ends are associated or share no level.

    The table n of an edge's ends is fitted by :math:`\mu_{kl} = \exp(a_k + b_l + w_{c(k, l)})`, with the categories
    c(k, l) of the model, by iterative proportional fitting. An edge is named if the likelihood ratio
    :math:`G^2 = 2 \sum_{kl} n_{kl} \log(n_{kl} / \mu_{kl})` that is left is more than the part that c accounts for, and
    has less than ``1e-6`` of the distribution of chi-square above it.

    Parameters
    ----------
    states : States
    edges : (n_edges, 2) array
    category : (m, m) array of int
        The categories of the model, such as 1 where states are equal and 0 elsewhere.
    model : str
    """
    tables = [_table(states, u, v) for u, v in edges]
    apart = [e for e, n in enumerate(tables) if _share_none(n)]
    if apart:
        tell(
            f"{len(apart)} edge(s) join columns of {_X} that share no level in the data, the first "
            f"{_named(states, edges[apart[0]])}, so that the prior determines their parameters; leave them out, or "
            f"{_NOMINAL}",
            LevelsWarning,
        )
    if states.n_states > _MOST_LEVELS:
        return  # tables are too sparse
    whole = np.array([_ratio(n, np.outer(n.sum(axis=1), n.sum(axis=0)) / max(n.sum(), 1.0)) for n in tables])
    for e in np.argsort(-whole, kind="stable")[:_MOST_PAIRS]:
        if chi2.sf(whole[e], 1) > _FALSE_ALARM:
            return
        left, free = _left(tables[e], category)
        if free > 0 and left > whole[e] / 2 and chi2.sf(left, free) < _FALSE_ALARM:
            tell(
                f"columns {_named(states, edges[e])} are associated, but hardly by equal levels: "
                f"{argument('model', model)} leaves {left:.0f} of the chi-square {whole[e]:.0f} ({free} degrees of "
                "freedom), and may find no edge. A level counts as the same state in all columns; if it means "
                f"different things, {_NOMINAL}, or code levels in their order and set "
                f"{argument('model', 'ordinal')} if they have one",
                LevelsWarning,
            )
            return


def _listed(levels: frozenset[Any]) -> str:
    return listed(sorted(repr(level) for level in levels), 7)


def _named(states: States, edge: np.ndarray) -> str:
    return " and ".join(quoted(states.names[i]) for i in edge)


def _seen(states: States, column: int) -> list[Any]:
    values = np.unique(states.values[:, column])
    return [levels_of(states.coding, column)[k] for k in values[values >= 0]]


def _table(states: States, u: int, v: int) -> np.ndarray:
    """Return how often each pair of states was observed, (m, m)."""
    m, x, y = states.n_states, states.values[:, u].astype(np.int64), states.values[:, v].astype(np.int64)
    both = (x >= 0) & (y >= 0)
    weights = None if states.weights is None else states.weights[both]
    return np.bincount(x[both] * m + y[both], weights, m * m).reshape(m, m).astype(float)


def _share_none(n: np.ndarray) -> bool:
    one, other = n.any(axis=1), n.any(axis=0)
    return bool(min(one.sum(), other.sum()) > 1 and not (one & other).any())


def _ratio(n: np.ndarray, fitted: np.ndarray) -> float:
    positive = n > 0
    return 2.0 * float((n[positive] * np.log(n[positive] / fitted[positive])).sum())


def _left(n: np.ndarray, category: np.ndarray) -> tuple[float, int]:
    """Return the likelihood ratio that the model leaves of a table, and its degrees of freedom."""
    rows, columns = np.flatnonzero(n.any(axis=1)), np.flatnonzero(n.any(axis=0))
    n, category = n[np.ix_(rows, columns)], np.unique(category[np.ix_(rows, columns)], return_inverse=True)[1]
    category = category.reshape(n.shape)
    total = np.bincount(category.ravel(), n.ravel())
    mu = (total[category] > 0).astype(float)  # of a category that never occurs, the potential is minus infinity
    free = mu > 0
    for _ in range(_N_STEPS):
        before = mu
        mu = mu * (n.sum(axis=1) / mu.sum(axis=1))[:, None]
        mu = mu * (n.sum(axis=0) / mu.sum(axis=0))
        mu = mu * (total / np.maximum(np.bincount(category.ravel(), mu.ravel()), 1e-300))[category]
        if np.allclose(mu, before, rtol=1e-6, atol=0):
            break
    of = (*np.indices(n.shape), category)
    one_hot = [np.eye(k)[c[free]] for k, c in zip((*n.shape, len(total)), of, strict=True)]
    return _ratio(n, mu), int(free.sum() - np.linalg.matrix_rank(np.hstack(one_hot)))
