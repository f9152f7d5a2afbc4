"""Prior probability of each edge, from a matrix or from a table of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import OptionError, argument
from ..graphs import Graph
from ..names import listed, quoted
from .frames import in_pandas

OTHERS = "*"  # in the place of both ends: all pairs that are not named
_EXPECTED = "a symmetric matrix of probabilities, or two nodes and a probability a row"


def edge_probabilities(density: Any, graph: Graph) -> np.ndarray:
    """Return the prior probability of each edge of a graph, (n_edges,).

    Parameters
    ----------
    density : array, DataFrame or list
        A symmetric matrix (n_nodes, n_nodes), in the order of the nodes, or of a DataFrame with their names as columns
        and index; or rows with the names or numbers of two nodes and a probability, of which "*" and "*" stand for all
        candidates that no other row names. Of a pair that is no edge of the graph it may say anything but 1.
    graph : Graph

    Raises
    ------
    OptionError
        If a probability is not in [0, 1], or missing, or is 1 without an edge; the matrix is not symmetric, has a
        diagonal that is not 0, or another size; a pair has two rows; or a name is not that of a node.
    """
    density = in_pandas(density, "density")
    read = _matrix if _is_matrix(density, graph.n_nodes) else _of_pairs
    matrix, others = read(density, graph.names)
    _refuse_forced(matrix, graph)
    probabilities: np.ndarray = matrix[tuple(graph.edges.T)]
    probabilities = np.where(np.isnan(probabilities), others, probabilities)
    if (missing := np.flatnonzero(np.isnan(probabilities))).size:
        u, v = graph.edges[missing[0]]
        raise _refused(
            f"without {len(missing):,} of {len(probabilities):,} pairs, such as {_pair(graph.names, u, v)}",
            "a probability of each pair that may have an edge",
            f"add them, or a row {OTHERS!r}, {OTHERS!r}, P for all pairs that are not named",
        )
    if len(probabilities) and not probabilities.any():
        raise _refused("0 for all pairs", "above 0 for at least one pair", "0 forbids an edge")
    return probabilities


def names_pairs(density: Any, graph: Graph) -> np.ndarray:
    """Return which edges of a graph the probabilities of `edge_probabilities` name, (n_edges,): of a matrix all."""
    density = in_pandas(density, "density")
    if _is_matrix(density, graph.n_nodes):
        return np.ones(graph.n_edges, dtype=bool)
    named: np.ndarray = ~np.isnan(_of_pairs(density, graph.names)[0][tuple(graph.edges.T)])
    return named


def _is_matrix(density: Any, n_nodes: int) -> bool:
    """Return whether this is a matrix, not rows of two nodes and a probability."""
    shape = getattr(density, "shape", (0, 3))
    if hasattr(density, "iloc") and n_nodes == 3 == shape[0]:
        is_number = len(density.select_dtypes("number").columns) == 3
        return is_number and {*map(str, density.index)} == {*map(str, density.columns)}
    return bool(shape[1] != 3 or n_nodes == 3 == shape[0])


def _refuse_forced(matrix: np.ndarray, graph: Graph) -> None:
    """Refuse the probability 1 of a pair that is no candidate, whose edge cannot exist."""
    forced = np.triu(matrix == 1, 1)
    forced[graph.edges.min(axis=1), graph.edges.max(axis=1)] = False
    if (pairs := np.argwhere(forced)).size:
        got, remedy = f"1 of {_pair(graph.names, *pairs[0])}", f"give 0, or add the pair to {argument('candidates')}"
        raise _refused(got, "below 1 for pairs that are no candidates", remedy)


def _matrix(density: Any, names: Sequence[str]) -> tuple[np.ndarray, float]:
    """Read a matrix in the order of the nodes; entries that are missing are NaN."""
    d = len(names)
    if hasattr(density, "iloc"):
        rows, columns = list(map(str, density.index)), list(map(str, density.columns))
        if twice := next((n for labels in (rows, columns) for n in labels if labels.count(n) > 1), None):
            raise _refused(f"{quoted(twice)} twice", "a matrix with a row and a column for each node", "remove one")
        if set(rows) == set(columns):
            _require_nodes(columns, names)
            if len(columns) == d == len(rows):
                density = density.iloc[[rows.index(n) for n in names], [columns.index(n) for n in names]]
        elif set(columns) == set(names) and len(rows) == d and rows == list(map(str, range(d))):
            density = density.iloc[:, [columns.index(n) for n in names]]
            if columns != list(names):
                raise _refused("columns in another order than the rows", _EXPECTED, "give it the nodes as index, too")
        density = density.to_numpy()
    matrix = _numbers(density)
    if matrix.shape != (d, d):
        expected = f"a matrix ({d}, {d}), a row and a column for each node"
        raise _refused(f"shape {matrix.shape}", expected, "or a table of pairs: two nodes and a probability a row")
    if (loops := np.flatnonzero(np.nan_to_num(matrix.diagonal()) != 0)).size:
        got = f"{matrix[loops[0], loops[0]]:g} of {_pair(names, loops[0], loops[0])}"
        raise _refused(got, "a matrix whose diagonal is 0", "an edge joins two nodes: set the diagonal to 0")
    matrix = np.where(np.eye(d, dtype=bool), 0.0, matrix)
    _require_probabilities(matrix.ravel(), lambda k: _pair(names, *divmod(k, d)))
    if (apart := np.argwhere(~np.isclose(matrix, matrix.T, equal_nan=True))).size:
        u, v = apart[0]
        got = f"{matrix[u, v]:g} and {matrix[v, u]:g} of {_pair(names, u, v)}"
        raise _refused(got, "a symmetric matrix", "an edge has no direction: give both entries the same value")
    return matrix, np.nan


def _of_pairs(table: Any, names: Sequence[str]) -> tuple[np.ndarray, float]:
    """Read a table of pairs as a matrix, NaN for pairs that are not named, and the probability of those."""
    rows = list(table.itertuples(index=False, name=None)) if hasattr(table, "iloc") else [tuple(row) for row in table]
    if wrong := next((row for row in rows if len(row) != 3), None):
        raise _refused(f"a row of {len(wrong)} entries", _EXPECTED)
    p, others = _numbers([row[2] for row in rows]), np.nan
    _require_probabilities(p, lambda k: " - ".join(quoted(str(end)) for end in rows[k][:2]), missing=True)
    number = {name: i for i, name in enumerate(names)}
    ends = [tuple(map(str, row[:2])) for row in rows]
    named = {end for pair in ends if pair != (OTHERS, OTHERS) for end in pair}
    if not named <= {*number} and all(_are_numbers(row[:2]) for row in rows if row[:2] != (OTHERS, OTHERS)):
        number = {str(i): i for i in range(len(names))}
        ends = [(a.removesuffix(".0"), b.removesuffix(".0")) for a, b in ends]
        named = {end.removesuffix(".0") for end in named}
    _require_nodes(sorted(named), list(number))
    matrix = np.full((len(names), len(names)), np.nan)
    for (a, b), value in zip(ends, p, strict=True):
        if (a, b) == (OTHERS, OTHERS):
            if not np.isnan(others):
                raise _refused(f"two rows for {OTHERS!r} - {OTHERS!r}", "each pair of two nodes once", "remove one")
            others = value
            continue
        u, v = number[a], number[b]
        if u == v:
            got = f"{_pair(names, u, v)}, which joins a node to itself"
            raise _refused(got, "pairs of two nodes", "remove the row")
        if not np.isnan(matrix[u, v]):
            got = f"two rows for {_pair(names, u, v)}"
            raise _refused(got, "each pair of two nodes once, in either order", "remove one")
        matrix[u, v] = matrix[v, u] = value
    return matrix, others


def _are_numbers(pair: Sequence[Any]) -> bool:
    return all(isinstance(end, int | float | np.number) and not isinstance(end, bool) for end in pair)


def _numbers(entries: Any) -> np.ndarray:
    try:
        return np.asarray(entries, dtype=np.float64)
    except (TypeError, ValueError):
        raise _refused("entries that are no numbers", _EXPECTED) from None


def _require_probabilities(p: np.ndarray, name: Any, missing: bool = False) -> None:
    """Check that numbers are in [0, 1]; NaN is a pair that is not named, unless ``missing`` values are refused."""
    wrong = np.flatnonzero(~((p >= 0) & (p <= 1)) & (missing | ~np.isnan(p)))
    if wrong.size:
        remedy = "0 forbids an edge, and 1 forces it"
        raise _refused(f"{p[wrong[0]]:g} of {name(int(wrong[0]))}", "probabilities in [0, 1]", remedy)


def _require_nodes(named: Sequence[str], names: Sequence[str]) -> None:
    known = set(names)
    if missing := sorted({name for name in named if name not in known}):
        columns = listed(list(map(quoted, names)))
        raise _refused(listed(list(map(quoted, missing))), "columns of the data", f"the columns are {columns}")


def _pair(names: Sequence[str], u: int, v: int) -> str:
    return f"{quoted(names[u])} - {quoted(names[v])}"


def _refused(got: str, expected: str, remedy: str = "give these") -> OptionError:
    return OptionError(f"{argument('density')} must be {expected}, got {got}; {remedy}.")
