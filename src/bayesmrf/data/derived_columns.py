"""Columns that others determine exactly: totals and means of items, dummies of one answer, copies.

They make the centred table singular. With the columns in their order, a column is a combination of those before it if
these leave less than 1e-9 of its variance (Cholesky factor of the correlations). A single row of N that breaks a
relation leaves about 1 / N, and rounding about 1e-16 times the condition of the columns before: 1e-9 lies between them
for the 10,000 rows that are looked at. Then the relation must hold in every row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from ..errors import EqualColumnsWarning, argument
from ..findings import tell
from ..names import listed, quoted
from .codebook import DUMMY, TOTAL
from .states import States

if TYPE_CHECKING:
    import pandas as pd


_LEFT = 1e-9  # share of the variance of a column that others leave, below which they determine it
_CHANCE = 1e-3  # probability that a column of a table follows from others by chance
_EXACT = 1e-6  # largest error of a value
_SIMPLE = 1000  # largest denominator of a coefficient
FIRST = 10_000  # rows that are looked at before all are
_ZERO = 0.4 / _SIMPLE  # weights that round to zero
_BLOCK = 64  # columns of a block of the Cholesky factor
_FEWEST = 20  # rows without a missing value
_WIDEST = 2000  # columns, whose products take 32 MB
_SHOWN = 8  # columns that are named
COPY = "copy"  # a kind of relation, not of a column


class Relation(NamedTuple):
    """Columns of which the first follows from the others.

    Parameters
    ----------
    columns : tuple of str
    kind : str
        "total of others", also of means and other combinations, "dummy of others", or "copy".
    sentence : str
        What they are, and what to do.
    """

    columns: tuple[str, ...]
    kind: str
    sentence: str


def relations(frame: pd.DataFrame) -> list[Relation]:
    """Return the exact linear relations between the columns of numbers of a table.

    They hold in all rows in which the columns have values; those with most missing ones are left out if there would be
    few such rows.
    """
    numbers = frame.select_dtypes(["number", "bool"])
    return linear_relations(numbers.to_numpy(dtype=np.float64, na_value=np.nan), list(map(str, numbers.columns)))


def warn_of_derived_columns(derived: Sequence[Relation]) -> None:
    """Warn of columns that others determine, except copies."""
    texts = [relation.sentence for relation in derived if relation.kind != COPY]
    if texts:
        more = f"; and {len(texts) - 3} more" if len(texts) > 3 else ""
        tell(f"columns of {argument('X')} are made of others: {'; '.join(texts[:3])}{more}", EqualColumnsWarning)


def linear_relations(table: np.ndarray, names: Sequence[str]) -> list[Relation]:
    """Find exact linear relations between columns of numbers (n_rows, n_columns); NaN are missing."""
    if table.shape[1] > _WIDEST:
        return []
    complete, kept = _complete(table)
    if len(complete) < _FEWEST:
        return []
    sure = math.log(max(len(kept), 2) ** 2 / 2 / _CHANCE)
    pivots, made, weights = _candidates(complete[:FIRST])
    share = np.array([1 - sure / max(log_ways(complete[:, j]), sure) for j in made])
    # Of what rounds to no zero there is no less than this, and with so many others a relation may hold by chance.
    few = 1 + (np.abs(weights) > 1 / _SIMPLE).sum(axis=0) < share * len(complete)
    exact = []
    for j, w in zip(made[few], weights[:, few].T, strict=True):
        parts = [(int(pivots[i]), Fraction(w[i]).limit_denominator(_SIMPLE)) for i in np.flatnonzero(np.abs(w) > _ZERO)]
        parts = [(i, c) for i, c in parts if c]
        left = complete[:, j] - complete[:, [i for i, _ in parts]] @ np.array([float(c) for _, c in parts])
        free = 1 - (len(parts) + 1) / len(complete)
        if parts and np.ptp(left) < _EXACT and log_ways(complete[:, j]) * free > sure:
            terms = [*((names[kept[i]], -c) for i, c in parts), (names[kept[j]], Fraction(1))]
            two = all(len(np.unique(complete[:, i])) == 2 for i in (j, *(i for i, _ in parts)))
            exact.append(_relation(terms, float(left[0]), two))
    return exact


def _complete(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Select the rows without missing values among the columns with enough values; return also the columns' numbers."""
    missing = ~np.isfinite(table)
    order = np.argsort(missing.sum(axis=0), kind="stable")
    lost = np.logical_or.accumulate(missing[:, order], axis=1).sum(axis=0)
    kept = np.sort(order[2 * lost <= len(table)])
    return table[~missing[:, kept].any(axis=1)][:, kept], kept


def _candidates(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the columns that earlier ones do not determine, the other columns, and the weights of the first in them.

    This is the Cholesky factor of the correlations without the columns that are determined, in blocks of columns, so
    that nearly all of the work is products of matrices: a second for 2,000 columns.
    """
    scale = x.std(axis=0)
    varies = np.flatnonzero(scale > 0)
    x, scale = (x[:, varies] - x[:, varies].mean(axis=0)) / scale[varies], scale[varies]
    rest, d = x.T @ x / len(x), len(varies)
    is_pivot = np.zeros(d, bool)
    factor = np.zeros((d, d))  # its rows are those of pivots
    for a in range(0, d, _BLOCK):
        b = min(a + _BLOCK, d)
        for j in range(a, b):
            if rest[j, j] > _LEFT:
                is_pivot[j] = True
                factor[j, j:] = rest[j, j:] / math.sqrt(rest[j, j])
                rest[j + 1 : b, j + 1 :] -= np.outer(factor[j, j + 1 : b], factor[j, j + 1 :])
        rest[b:, b:] -= factor[a:b, b:].T @ factor[a:b, b:]
    pivots, made = np.flatnonzero(is_pivot), np.flatnonzero(~is_pivot)
    weights = solve_triangular(factor[np.ix_(pivots, pivots)], factor[np.ix_(pivots, made)]) if len(made) else (
        np.zeros((len(pivots), 0)))  # fmt: skip
    return varies[pivots], varies[made], weights * scale[made] / scale[pivots][:, None]


def _relation(terms: list[tuple[str, Fraction]], constant: float, two: bool) -> Relation:
    """Return the relation that the sum of columns times factors, the ``terms``, is constant in every row."""
    every = tuple(name for name, _ in terms)
    names = (every[-1], *every[:-1])  # the last one follows from those before it
    if len(terms) == 2:
        return Relation(names, COPY, f"column {quoted(names[0])} is a copy of {quoted(names[1])}; drop one of them")
    sides = [[(name, c) for name, c in terms if (c > 0) == is_plus] for is_plus in (True, False)]
    if not all(sides) and len({c for _, c in terms}) == 1:
        why = "as the dummies of one answer do" if two else "so that edges among them show how they were made"
        made = f"add up to {constant:g} in every row, {why}"
        return Relation(names, DUMMY, f"{_named(every)} {made}; make them one column, or drop all but one")
    alone = next((i for i in (0, 1) if len(sides[i]) == 1 and len({c for _, c in sides[1 - i]}) == 1), None)
    if alone is not None:
        (whole, factor), parts = sides[alone][0], sides[1 - alone]
        share = abs(factor / parts[0][1])
        kinds = {Fraction(1): "sum", Fraction(len(parts)): "mean"}
        made = kinds.get(share, f"sum, divided by {float(share):g},")
        items = tuple(name for name, _ in parts)
        sentence = (
            f"column {quoted(whole)} is the {made} of {_named(items)} in every row, so that edges among them show how "
            "it was made; drop it"
        )
        return Relation((whole, *items), TOTAL, sentence)
    sentence = f"column {quoted(names[0])} is determined by {_named(names[1:])} in every row; drop it"
    return Relation(names, TOTAL, sentence)


def _named(names: tuple[str, ...]) -> str:
    return listed(list(map(quoted, names)), _SHOWN, total=True)


def log_ways(column: np.ndarray) -> float:
    """Return the log of the number of columns with these values in another order, up to their names."""
    counts = np.unique(column, return_counts=True)[1].tolist()
    return math.lgamma(len(column) + 1) - sum(math.lgamma(c + 1) for c in counts) - math.lgamma(len(counts) + 1)


_CHANCE = 1e-3  # probability that columns of a table are equal by chance
_FIRST = 1000  # rows that are compared before all are


def warn_of_equal(states: States) -> None:
    """Warn of columns that are equal in every row, up to the names of their states."""
    rows = states.values if states.weights is None else states.values[states.weights > 0]
    same = [list(range(rows.shape[1]))]
    for n in (_FIRST, len(rows)):
        same = [alike for columns in same for alike in _equal(rows[:n], columns)]
    sure = math.log(rows.shape[1] ** 2 / 2 / _CHANCE)
    pairs = [(i, j) for i, *others in same for j in others if log_ways(rows[:, i]) > sure]
    if pairs:
        first, second = (quoted(states.names[i]) for i in pairs[0])
        more = f", and {len(pairs) - 1} other pair(s)," if len(pairs) > 1 else ""
        tell(
            f"columns {first} and {second} of {argument('X')}{more} determine each other in every row, so that the "
            "data do not determine the edge between them, nor how they share edges to others; drop one of them if it "
            "is a copy",
            EqualColumnsWarning,
        )


def _equal(rows: np.ndarray, columns: list[int]) -> list[list[int]]:
    """List the sets of two or more equal columns."""
    groups: dict[bytes, list[int]] = {}
    for i in columns:
        groups.setdefault(_in_order_of_appearance(rows[:, i]).tobytes(), []).append(i)
    return [alike for alike in groups.values() if len(alike) > 1]


def _in_order_of_appearance(column: np.ndarray) -> np.ndarray:
    """Number the states of a column as they first appear; a missing value is one of them."""
    _, first, place = np.unique(column, return_index=True, return_inverse=True)
    return first.argsort().argsort().astype(np.int8)[place]
