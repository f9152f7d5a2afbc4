"""Pairs of yes/no columns with a combination that never occurs, as where one follows from the other by definition.

Under independence a cell with E expected rows is empty with a probability of at most exp(-E). A cell counts if E is at
least 5, and so large that any of the m cells with E of 5 or more is empty by chance with a probability of at most 0.01,
E > log(100 m). Whatever its reason, an empty cell is a fact: the likelihood increases along a line on which the weight
of the edge goes to infinity, and the bias of an end with it, so that the tails of the prior determine the weight.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import log
from typing import NamedTuple

import numpy as np

from ..errors import EqualColumnsWarning, PriorWarning, argument
from ..findings import NOTE, tell
from ..names import listed, quoted, shown
from ..threads import one_thread
from .states import States, levels_of

_FEWEST = 5.0  # rows that are expected in a cell
_CHANCE = 0.01  # probability that a table of independent columns has a cell that counts
_ALONE = 10  # rows in which a part alone decides, of which related columns would agree with chance 2^-10
_SHOWN = 3  # pairs, and rules, that are named
_ROWS = 2**14  # that are counted together
_WIDEST = 2000  # columns


class EmptyCell(NamedTuple):
    """Columns and their states that no row has together, and how many rows would have them if they were unrelated."""

    columns: tuple[int, int]
    states: tuple[int, int]
    expected: float


def empty_cells(values: np.ndarray, weights: np.ndarray | None, columns: Collection[int]) -> list[EmptyCell]:
    """Return the cells of the tables of pairs of yes/no columns that no row is in, the most surprising first.

    Pairs with two empty cells, as copies have, are left out.

    Parameters
    ----------
    values : (n_rows, n_columns) int array
        States; -1 where missing.
    weights : (n_rows,) array, optional
        How often each row was observed.
    columns : collection of int
        Those that are yes/no.
    """
    at = np.array(sorted(columns), dtype=int)
    n = _tables(values[:, at], weights)
    total = n.sum(axis=(0, 1))
    expected = n.sum(axis=1)[:, None] * n.sum(axis=0)[None] / np.maximum(total, 1.0)
    upper = np.triu(np.ones(total.shape, dtype=bool), 1)
    tested = int(((expected >= _FEWEST) & upper).sum())
    least = max(_FEWEST, log(max(tested, 1) / _CHANCE))
    empty = (n == 0) & (expected >= least) & upper
    empty &= empty.sum(axis=(0, 1)) == 1
    cells = [
        EmptyCell((int(at[i]), int(at[j])), (int(a), int(b)), float(expected[a, b, i, j]))
        for a, b, i, j in np.argwhere(empty)
    ]
    return sorted(cells, key=lambda cell: -cell.expected)


@one_thread()
def _tables(x: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Count the rows in each cell of the table of each pair of columns, (2, 2, n_columns, n_columns)."""
    one, first, both = np.zeros((3, x.shape[1], x.shape[1]))
    for start in range(0, len(x), _ROWS):
        rows = x[start : start + _ROWS]
        w = np.ones(len(rows), np.float32) if weights is None else weights[start : start + _ROWS]
        yes, observed = (rows == 1).astype(w.dtype), rows >= 0
        one += (yes * w[:, None]).T @ yes
        if observed.all():
            first += (w @ yes)[:, None]  # the first is 1 and the second is observed
            both += w.sum()
        else:
            first += (yes * w[:, None]).T @ observed.astype(w.dtype)
            both += (observed * w[:, None]).T @ observed.astype(w.dtype)
    return np.array([[both - first - first.T + one, first.T - one], [first - one, one]])


class Rule(NamedTuple):
    """A column that is 1 if any, or all, of several others have a state."""

    column: int
    is_any: bool
    others: tuple[tuple[int, int], ...]  # columns and states


def rules(values: np.ndarray, cells: list[EmptyCell]) -> list[Rule]:
    """Find columns that are exactly the "or", or the "and", of two or more others, by their empty cells.

    Each of the others alone decides in ten rows or more: columns that nearly always agree would follow the rule, too.
    """
    derived = []
    sides: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for (i, j), (a, b), _ in cells:  # x_i = a never with x_j = b: x_i = a implies x_j = 1 - b, and the reverse
        sides.setdefault((i, a), []).append((j, b))
        sides.setdefault((j, b), []).append((i, a))
    for (column, state), others in sides.items():
        rows = values[(values[:, [column, *(o for o, _ in others)]] >= 0).all(axis=1)]
        # None of the others has its state where the column has this one. If the column has it wherever none does:
        holds = {(o, s): rows[:, o] == s for o, s in sorted(others)}
        if len(rows) and np.array_equal(~np.any([*holds.values()], axis=0), rows[:, column] == state):
            least = [one for one in holds if not any(_is_part(holds, one, other) for other in holds)]
            if np.min(_times_alone([holds[one] for one in least])) >= _ALONE:
                derived.append(Rule(column, state == 0, tuple((o, s if state == 0 else 1 - s) for o, s in least)))
    return sorted(rule for rule in derived if len(rule.others) > 1)


def _times_alone(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Count the rows in which one part alone has its state, and so decides."""
    each = np.array(parts)
    return (each & (each.sum(axis=0) == 1)).sum(axis=1)


def _is_part(holds: dict[tuple[int, int], np.ndarray], one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Check whether a column has its state only where another one has, and so adds nothing."""
    if one == other or (holds[one] & ~holds[other]).any():
        return False
    return bool((holds[one] != holds[other]).any()) or one > other


def warn_of_empty_cells(states: States, related: Sequence[Sequence[str]]) -> None:
    """Warn of pairs of yes/no columns with a combination that never occurs, and of columns that follow from others.

    Parameters
    ----------
    states : States
    related : sequence of sequences of str
        Columns that are already known to be made of each other.
    """
    columns = [i for i, size in enumerate(states.sizes) if size == 2]
    if not 2 <= len(columns) <= _WIDEST:
        return
    counted = slice(None) if states.weights is None else states.weights > 0
    values, weights = states.values[counted], None if states.weights is None else states.weights[counted]
    names, known = states.names, [set(group) for group in related]
    cells = [c for c in empty_cells(values, weights, columns) if not any(_names(c, names) <= group for group in known)]
    made = rules(values, cells)
    if made:
        texts = [_rule_in_words(rule, states) for rule in made]
        more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        tell(
            f"columns of {argument('X')} are made of others: {'; '.join(texts[:_SHOWN])}{more}. Edges among these "
            "columns show how they were computed, and only the prior limits the weights; drop the columns that are "
            "made of others",
            EqualColumnsWarning,
        )
    rest = [cell for cell in cells if not {rule.column for rule in made} & {*cell.columns}]
    if rest:
        texts = [
            " with ".join(_level(states, i, k) for i, k in zip(cell.columns, cell.states, strict=True))
            + f" ({cell.expected:,.0f} rows expected)"
            for cell in rest
        ]
        tell(
            f"combinations that never occur: {listed(texts, _SHOWN, total=True)}. Expected is the number of rows "
            "if the two columns were unrelated. The data do not limit the weight of an edge between two such columns, "
            "which is as large as the tails of the prior allow: report that the columns are related, not how strongly; "
            "drop one of them if it follows from the other by definition",
            PriorWarning,
            NOTE,
        )


def _names(cell: EmptyCell, names: Sequence[str]) -> set[str]:
    return {names[i] for i in cell.columns}


def _level(states: States, column: int, state: int) -> str:
    return f"{quoted(states.names[column])} = {shown(str(levels_of(states.coding, column)[state]))}"


def _rule_in_words(rule: Rule, states: States) -> str:
    ones = all(state == 1 for _, state in rule.others)
    each = [quoted(states.names[i]) if ones else _level(states, i, k) for i, k in rule.others]
    word = "or" if rule.is_any else "and"
    return f"{quoted(states.names[rule.column])} is the '{word}' of {listed(each, 8, total=True)}"
