"""Statements about the network of a draw, such as "A--B > A--C & B--C = 0": read from text, and checked in draws."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from ...errors import OptionError
from ...graphs import Graph
from ...names import listed, quoted

_EXAMPLE = 'an example is "A--B > A--C & B--C = 0"'
_COMPARE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    ">=": operator.ge, "<=": operator.le, "!=": operator.ne, "==": operator.eq, ">": operator.gt, "<": operator.lt,
    "=": operator.eq,
}  # fmt: skip
_MOST = 10  # comparisons with 0 whose prior probability is a sum
_ROUNDING = 1e-9  # of the strengths of tables that are opposite in two groups
_QUOTED = re.compile(r"""\s*("[^"]*"|'[^']*')\s*""")
_PLAIN = re.compile(r"(?:(?!--|[<>=!&\[\]\"']).)*", re.DOTALL)


class Side(NamedTuple):
    """An edge, of a group of people where there are several; or a number."""

    edge: int  # -1 for a number
    group: int
    number: float


class Clause(NamedTuple):
    """A comparison; a statement holds where all of its clauses do."""

    left: Side
    compare: str
    right: Side
    by_strength: bool = False  # whether an edge of the two has no sign, so that sizes are compared


class Language(NamedTuple):
    """What statements may be about."""

    graph: Graph
    groups: Sequence[str] | None  # labels of groups of people; None of one network
    signed: np.ndarray  # (n_edges,) whether the number of an edge has a sign

    def read(self, text: str) -> list[Clause]:
        """Return the clauses of a statement.

        Raises
        ------
        OptionError
            If it cannot be read, or names what is not there.
        """
        rest, clauses = text, []
        while True:
            left, rest = self._side(rest, text)
            sign = next((s for s in _COMPARE if rest.startswith(s)), None)
            if sign is None and left.edge >= 0 and (not rest or rest.startswith("&")):  # that the edge exists
                sign, right = "!=", Side(-1, 0, 0.0)
            elif sign is None:
                raise self._refusal(text, "edges, or comparisons of edges by >, <, >=, <=, = or !=")
            else:
                right, rest = self._side(rest[len(sign) :], text)
            clauses.append(self._clause(left, "=" if sign == "==" else sign, right, text))
            if not rest:
                return clauses
            if not rest.startswith("&"):
                raise self._refusal(text, "comparisons that are joined by &")
            rest = rest[1:]

    def _refusal(self, got: str, expected: str, remedy: str = "") -> OptionError:
        return OptionError(option="statement", got=got, expected=expected, remedy=remedy or _EXAMPLE)

    def _name(self, rest: str) -> tuple[str, str, bool]:
        """Take a name off the front of a text: one in quotes, or all until a sign."""
        if match := _QUOTED.match(rest):
            return match[1][1:-1], rest[match.end() :], True
        match = _PLAIN.match(rest)
        assert match is not None
        return match[0].strip(), rest[match.end() :], False

    def _side(self, rest: str, text: str) -> tuple[Side, str]:
        name, rest, is_quoted = self._name(rest)
        if not rest.startswith("--"):
            try:
                value = np.nan if is_quoted else float(name)
            except ValueError:
                value = np.nan
            if not np.isfinite(value):
                raise self._refusal(text, "edges, two nodes joined by --, or finite numbers on both sides")
            return Side(-1, 0, value), rest
        other, rest, _ = self._name(rest[2:])
        edge, group = self._edge(name, other, text), ""
        if rest.startswith("["):
            group, rest, _ = self._name(rest[1:])
            if not rest.startswith("]"):
                raise self._refusal(
                    text, "about groups of people between [ and ]", 'an example is "A--B [g] > A--B [h]"'
                )
            rest = rest[1:].lstrip()
        return Side(edge, self._group(group, text), np.nan), rest

    def _edge(self, *pair_and_text: str) -> int:
        *pair, text = pair_and_text
        names = {name: i for i, name in enumerate(self.graph.names)}
        for name in pair:
            if name not in names:
                known = listed([*map(quoted, names)], 10)
                raise self._refusal(text, "about nodes of the data", f"{quoted(name)} is none of {known}")
        ends = sorted(names[name] for name in pair)
        same = np.flatnonzero((np.sort(self.graph.edges, axis=1) == ends).all(axis=1))
        if not len(same):
            remedy = f"{quoted(pair[0])} and {quoted(pair[1])} are no candidate"
            raise self._refusal(text, "about pairs that are candidates", remedy)
        return int(same[0])

    def _group(self, label: str, text: str) -> int:
        if self.groups is None and not label:
            return 0
        if self.groups is None:
            raise self._refusal(text, "about edges without a group", "this posterior has one network")
        if label not in self.groups:
            known = listed([*map(quoted, self.groups)], 10)
            raise self._refusal(
                text, "about edges with their group of people", f'write "A--B [g] > 0"; groups are {known}'
            )
        return list(self.groups).index(label)

    def _clause(self, left: Side, compare: str, right: Side, text: str) -> Clause:
        edges, number = [s.edge for s in (left, right) if s.edge >= 0], np.nansum([left.number, right.number])
        if not edges:
            raise self._refusal(text, "comparisons with an edge on one side at least")
        if len(edges) == 1 and compare in ("=", "!=") and number != 0:
            raise self._refusal(text, "comparisons by = or != with 0 or with another edge",
                                "a weight has no probability of being one other number")  # fmt: skip
        if len(edges) == 1 and number == 0 and compare not in ("=", "!=") and not self.signed[edges[0]]:
            raise self._refusal(
                text, "comparisons of an edge with a table of log odds by = 0 or != 0", "its strength has no sign"
            )
        return Clause(left, compare, right, not all(self.signed[edge] for edge in edges))


def holds(clauses: Sequence[Clause], weights: np.ndarray, edges: Sequence[int]) -> np.ndarray:
    """Return whether a statement holds in each draw, (n_draws,), of weights (n_draws, n_groups, n) of ``edges``."""
    place, is_true = {e: i for i, e in enumerate(edges)}, np.ones(len(weights), bool)

    def value(side: Side) -> np.ndarray:
        if side.edge < 0:
            return np.full(len(weights), side.number)
        return weights[:, side.group, place[side.edge]]

    for clause in clauses:
        left, right = value(clause.left), value(clause.right)
        if clause.by_strength:
            left, right = np.abs(left), np.abs(right)
            right = np.where(np.isclose(left, right, rtol=_ROUNDING, atol=0), left, right)
        is_true &= _COMPARE[clause.compare](left, right)
    return is_true


def edges_of(clauses: Sequence[Clause]) -> list[int]:
    """Return the edges that a statement is about."""
    return sorted({side.edge for c in clauses for side in (c.left, c.right) if side.edge >= 0})


class KnownPrior(NamedTuple):
    """Prior probabilities of edges that are known exactly; a function returns None where they are not."""

    absent: Callable[[Sequence[int]], float | None]  # probability that all of some edges are absent, in all groups
    equal: Callable[[int], float | None]  # that an edge has the same number in two groups of people
    exchangeable: Callable[[Sequence[int]], bool]  # whether the sizes of two edges have the same joint distribution


def exact_prior(clauses: Sequence[Clause], known: KnownPrior) -> float | None:
    """Return the prior probability of a statement where it is known exactly, else None.

    These are comparisons with 0 of different edges, and one comparison of two edges, or of an edge in two groups. The
    prior of weights is the same for w and -w, of each edge alone; that of sizes is the same if two edges, or groups,
    change places.
    """
    (first, *others), edges = clauses, edges_of(clauses)
    if all(min(c.left.edge, c.right.edge) < 0 for c in clauses):
        is_zero = all(0 in (c.left.number, c.right.number) for c in clauses)
        return _with_zero(clauses, known) if is_zero and len(edges) == len(clauses) <= _MOST else None
    if others or min(first.left.edge, first.right.edge) < 0:
        return None
    if len(edges) == 1:
        tie = None if first.left.group == first.right.group else known.equal(edges[0])
    else:
        tie = known.absent(edges)
        if first.compare not in ("=", "!=") and first.by_strength:
            same_group = first.left.group == first.right.group
            tie = tie if same_group and known.exchangeable(edges) else None
    if tie is None:
        return None
    return {"=": tie, "!=": 1 - tie}.get(first.compare, (1 + tie) / 2 if "=" in first.compare else (1 - tie) / 2)


def _with_zero(clauses: Sequence[Clause], known: KnownPrior) -> float | None:
    """Compute the probability of comparisons of different edges with 0: a sum over which of them are absent.

    Edges that exist have either sign with probability 1/2, whatever the others have.
    """
    total = 0.0
    edges = [max(c.left.edge, c.right.edge) for c in clauses]
    present = [{"=": 0.0, "!=": 1.0}.get(c.compare, 0.5) for c in clauses]  # whether it holds for one that exists
    absent = [float(c.compare != "!=" and "=" in c.compare) for c in clauses]
    # The probability that those of S are absent, whatever the others are, has the factors (absent - present) of S.
    for is_absent in product((False, True), repeat=len(edges)):
        factor = prod(a - p if y else p for y, p, a in zip(is_absent, present, absent, strict=True))
        absent_edges = [e for e, y in zip(edges, is_absent, strict=True) if y]
        if factor:
            p = known.absent(absent_edges) if absent_edges else 1.0
            if p is None:
                return None
            total += factor * p
    return total
