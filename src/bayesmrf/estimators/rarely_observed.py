"""Columns and pairs of columns that were observed in too few rows: signs of edges, and edges, that the data lack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data.check_columns import pairs_observed
from ..data.states import States
from ..data.transitions import Transitions
from ..errors import ConvergenceWarning, DataError, UnobservedPairsWarning, argument, in_python
from ..findings import tell
from ..graphs import Graph
from ..models.panel import Panel
from ..names import listed, shown
from ..results.convergence import MISSING

FEW = 30  # rows: with so many, a mode with other signs of edges that matter has hardly any probability
ONE_ROW = in_python("X.groupby(PERSON).first()", "--combine-rows PERSON")  # of each person
_NO_DRAWS = (
    "determined by the prior, not by the data. Neither they nor the parameters of their ends are judged for "
    "convergence, as more draws do not change this"
)


def rarely_observed(states: States, graph: Graph) -> list[int]:
    """Return the nodes with edges that were observed in fewer than 30 rows, and in fewer than not."""
    is_observed = states.values >= 0
    n_observed = is_observed.sum(axis=0) if states.weights is None else states.weights @ is_observed
    few = (n_observed < FEW) & (2 * n_observed < states.n_samples)
    return [int(i) for i in np.intersect1d(np.flatnonzero(few), graph.edges)]


def warn_of_rare_levels(parts: Sequence[States], graph: Graph) -> None:
    """Tell of columns of which the data of a group of people hardly determine the signs of edges, if there are any."""
    nodes = sorted({i for part in parts for i in rarely_observed(part, graph)})
    if nodes:
        names = shown(", ".join(graph.names[i] for i in nodes))
        tell(
            f"{MISSING}: fewer than {FEW} rows have a value of {names}, which may be too few for the signs of edges. "
            "The posterior then has a mode for each sign, and all chains may be in one of them: drop such columns.",
            ConvergenceWarning,
        )


class Silent(NamedTuple):
    """Edges of which the rows say nothing, (n_edges,) bool each, and in which groups of people."""

    in_all: np.ndarray  # in all groups
    in_most: np.ndarray  # in all groups but one at most, so that groups cannot be compared there
    is_never: np.ndarray  # of these, whether no row of some group shows both ends; else one is constant
    groups: list[str]  # of which some rows say nothing and others do

    @classmethod
    def of(cls, samples: Sequence[States], graph: Graph, labels: Sequence[Any] = ()) -> Silent:
        """Return the edges of which the rows of each group say nothing; none of a table without missing values."""
        each, never = np.zeros((2, len(samples), graph.n_edges), dtype=bool)
        for g, states in enumerate(samples):
            if (states.values < 0).any():
                observed = pairs_observed(states.values, states.values, states.weights)
                each[g], never[g] = (x[tuple(graph.edges.T)] for x in (observed.is_silent, observed.is_never))
        n = each.sum(axis=0)
        in_all, in_most = n == len(samples), n > max(len(samples) - 2, 0)
        groups = [str(label) for label, one in zip(labels, each, strict=False) if (one & in_most & ~in_all).any()]
        return cls(in_all, in_most, np.asarray(never.any(axis=0)), groups)

    def settle(self, graph: Graph, is_asked: np.ndarray, what: str) -> tuple[Graph, np.ndarray]:
        """Leave out the edges of which no row says anything, unless a user asks for them.

        Parameters
        ----------
        graph : Graph
        is_asked : (n_edges,) array of bool
            Which edges a user names, or must exist.
        what : str
            What the prior determines of those that are kept.

        Returns
        -------
        graph : Graph
        not_identified : (n_edges,) array of bool
            Which of its edges are not identified by the rows.

        Raises
        ------
        DataError
            If no edge is left.

        Warns
        -----
        UnobservedPairsWarning
        """
        out = self.in_all & ~is_asked
        if out.all() and len(out):
            raise DataError(
                f"{argument('X')} must have rows that show two columns together, got none in which both vary; if "
                f"several rows belong to one person, make one row of them with {ONE_ROW}."
            )
        if out.any():
            tell(
                f"Never observed together: {self._pairs(graph, out)}. The data say nothing about edges between them: "
                "these are assumed absent, and all other edges are estimated under this assumption. If several rows "
                f"belong to one person, make one row of them with {ONE_ROW}; to keep such an edge, name its pair in "
                f"{argument('candidates')}.",
                UnobservedPairsWarning,
            )
        if (kept := self.in_most & ~out).any():
            where = f", in the group {listed(list(map(shown, self.groups)), 3)}" if self.groups else ""
            tell(
                f"Not identified: {self._pairs(graph, kept)}{where}. {what} {_NO_DRAWS}.",
                UnobservedPairsWarning,
            )
        if out.any():
            graph = Graph(graph.n_nodes, graph.edges[~out], graph.names)
        return graph, kept[~out]

    def _pairs(self, graph: Graph, which: np.ndarray) -> str:
        """Return which pairs no row shows, and in which one column is constant."""
        texts = [f"{shown(graph.names[u])} – {shown(graph.names[v])}" for u, v in graph.edges]
        return _in_words(texts, which & self.is_never, which & ~self.is_never, "row")


def silent_edges(states: States, steps: Transitions, model: Panel) -> np.ndarray:
    """Return of which edges of a panel the transitions say nothing, (n_edges,), and tell of them."""
    before, after = states.values[steps.before], states.values[steps.after]
    silent, never = np.zeros((2, model.n_edges), dtype=bool)
    if (before < 0).any() or (after < 0).any():
        lagged, within = pairs_observed(before, after), pairs_observed(after, after)
        for each, a, b in ((silent, lagged.is_silent, within.is_silent), (never, lagged.is_never, within.is_never)):
            each[:] = np.concatenate([a.ravel(), b[tuple(model.pairs.T)]])
    if silent.any():
        texts = [shown(name) for name in model.edge_names]
        tell(
            f"Not identified: {_in_words(texts, silent & never, silent & ~never, 'transition')}. Their inclusion and "
            f"weights are {_NO_DRAWS}.",
            UnobservedPairsWarning,
        )
    return silent


def _in_words(texts: Sequence[str], never: np.ndarray, constant: np.ndarray, unit: str) -> str:
    """Say which pairs are never observed together, and in which one end is constant where both are."""
    phrases = [
        f"{why} {len(names):,} pair{'s' * (len(names) > 1)} ({listed(names, 3)})"
        for selected, why in (
            (never, f"no {unit} shows both ends of"),
            (constant, f"one end is constant in all {unit}s that show the other end of"),
        )
        if (names := [text for text, is_in in zip(texts, selected, strict=True) if is_in])
    ]
    return "; ".join(phrases)
