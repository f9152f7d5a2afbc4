r"""Rows of the same person, or church, which a model takes as independent: by how much standard errors are wrong.

Rows with one label of the index of a table (an identifier) are a block, or those of one round of a column that counts
up and begins again. The influence z of a row on the log odds ratio of two columns is the residual of their product
after the two columns, that on the mean of a column its deviation. The standard error by blocks divided by that of
independent rows is

.. math:: \sqrt{\sum_b (\sum_{i \in b} z_i)^2 / \sum_i z_i^2},

for two yes/no columns that of a logistic regression with errors clustered by person. It finds rows that depend on each
other; the factors of weights, given all other columns, are those of `bayesmrf.data.within_blocks`. Where groups of
people are compared, both are those of differences: influences, divided by the sum of their squares in a group, have the
sign of the group. People who are in both groups make them less than 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ..names import listed, quoted
from .counts_and_labels import FEWEST_BLOCKS, Blocks
from .states import States
from .within_blocks import Change, conditional

_CHANCE = 1e-6  # probability that a table of independent rows seems dependent
_CHANCE_OF_ONE = 0.01  # the same of any further weight or mean in a table of which one is dependent
_MATTERS = 1.1  # least factor of standard errors
_MOST, _WIDEST = 10_000, 50  # rows of a group and columns that are looked at, the first ones
_SINGULAR = 1e-9  # share of a sum of squares that is left of a product that its two columns determine
_FEW_ROWS = 10  # of a block, of which one may be kept
_TREND = 3  # degree of the polynomial by which rows of near numbers, such as ages, may be alike


class RepeatedRows(NamedTuple):
    """How far rows of one block depend on each other.

    Parameters
    ----------
    edges, nodes : float
        The largest factors of the standard errors of a weight, and of the mean of a node, at least 1; of several groups
        those of their differences.
    edge : (str, str) or None
        The columns of the weight with the largest factor.
    same : str
        What rows of a block have in common.
    least, least_nodes : float
        The least factors of differences between groups that share blocks, at most 1.
    least_edge : (str, str) or None
    n_groups : int
    n_rows : float
        Mean number of the rows of a block.
    changes : tuple of `bayesmrf.data.within_blocks.Change`
        Weights that differ within blocks.
    also : tuple of str
        What rows of other blocks, which depend on each other less, have in common.
    """

    edges: float
    nodes: float
    edge: tuple[str, str] | None
    same: str
    least: float = 1.0
    least_nodes: float = 1.0
    least_edge: tuple[str, str] | None = None
    n_groups: int = 1
    n_rows: float = 1.0
    changes: tuple[Change, ...] = ()
    also: tuple[str, ...] = ()

    def said(self, effect: str) -> str:
        """Return what is wrong, with an effect of it, and what to do."""
        also = f" To a lesser degree, so are rows {listed(list(self.also))}." if self.also else ""
        within = f" {_changes_in_words(self.changes, self.same)}" if self.changes else ""
        if self.least < 1 or self.least_nodes < 1:
            return (
                f"Dependent rows: rows {self.same} are alike, and are in several groups, which the likelihood takes as "
                f"independent. {effect}: use PanelMRF (bayesmrf panel) if the groups are waves, in which each row "
                f"depends on the one before, or treat the intervals of differences as cautious.{also}{within}"
            )
        kept = "keep one row of each person, " if self.n_rows <= _FEW_ROWS else ""
        return (
            f"Dependent rows: rows {self.same} are alike, as those of one person are, and the likelihood takes them as "
            f"independent. {effect}: use PanelMRF (bayesmrf panel) if they are waves, in which each row depends on the "
            f"one before, {kept}or do not rely on it.{also}{within}"
        )

    @property
    def factors(self) -> str:
        """How much larger, or smaller, standard deviations should be."""
        what, means = ("weights", "the means of nodes") if self.n_groups == 1 else (
            "differences of weights", "differences of the means of nodes")  # fmt: skip
        if self.least < 1 or self.least_nodes < 1:
            edge = "" if self.least_edge is None else f" ({_edge(self.least_edge)})"
            said = (
                f"Intervals of differences are too wide, and differences may be missed: standard deviations of {what} "
                f"should be smaller, down to {self.least:.1f} times as large{edge}, of {means} down to "
                f"{self.least_nodes:.1f} times"
            )
            if self.edge is None:
                return said
            return f"{said}; but for other edges larger, up to {self.edges:.1f} times ({_edge(self.edge)})"
        if self.edge is None:
            return f"Standard deviations of {means} should be up to {self.nodes:.1f} times as large"
        return (
            f"Standard deviations of {what} should be up to {self.edges:.1f} times as large "
            f"({_edge(self.edge)}), of {means} up to {self.nodes:.1f} times"
        )

    @property
    def effect(self) -> str:
        """What dependent rows mean for the number of edges; "" if nothing."""
        return "" if self.least < 1 or self.least_nodes < 1 else ", and edges may be too many"


def repeated_rows(parts: Sequence[States]) -> RepeatedRows | None:
    """Measure the dependence between rows of one block; None if there are no blocks, or no dependence.

    Rows depend on each other if, for a weight or a mean, products of two rows of one block are too large by chance in
    both halves of the blocks, and its standard error is 10 % too small. Those of several groups may be too small as
    well, for differences between groups, and their standard error too large. If the labels are numbers, such as ages,
    the same must hold of what is left after a smooth trend. Of several columns of labels the one with the largest
    factor is returned, with the names of others.
    """
    parts = [s if s.weights is None else s.at(np.flatnonzero(s.weights > 0)) for s in parts]
    every = _labels(parts)
    judged = [one for labels in every if (one := _judged(parts, labels, _CHANCE / len(every))) is not None]
    if not judged:
        return None
    judged.sort(key=lambda one: -max(one.edges, one.nodes, 1 / one.least, 1 / one.least_nodes))
    return judged[0]._replace(also=tuple(one.same for one in judged[1:]))


def _judged(parts: Sequence[States], labels: Sequence[Blocks], chance: float) -> RepeatedRows | None:
    """Measure the dependence between rows with the same label in each part."""
    names, n_groups = parts[0].names[:_WIDEST], len(parts)
    d, sides = len(names), 1 if n_groups == 1 else 2
    factors, high, low = _compared(parts, labels)
    sure, likely = (-float(ndtri(np.sqrt(p / sides / len(factors)))) for p in (chance, _CHANCE_OF_ONE))  # of each half
    if sides == 1:
        low = np.full_like(low, -np.inf)

    def is_sure(factors: np.ndarray, high: np.ndarray, low: np.ndarray) -> bool:
        return bool((((high > sure) & (factors > _MATTERS)) | ((low > sure) & (factors < 1 / _MATTERS))).any())

    if not is_sure(factors, high, low):
        return None
    if labels[0].numbers is not None:
        rest, above, below = _compared(parts, labels, is_trend=True)
        if not is_sure(rest, above, below if sides == 2 else low):
            return None
    of_weights = conditional(parts, [part.codes for part in labels])
    if of_weights is not None:
        factors = np.append(factors[:d], of_weights.factors)
    factors = np.where((high > likely) | (low > likely), factors, 1.0)
    pairs = [(names[u], names[v]) for u, v in combinations(range(d), 2)]
    nodes, edges = factors[:d], np.append(factors[d:], 1.0)
    most, least = int(edges.argmax()), int(edges.argmin())
    codes = np.concatenate([part.codes for part in labels])
    return RepeatedRows(
        float(edges.max(initial=1.0)), float(nodes.max(initial=1.0)), pairs[most] if edges[most] > 1 else None,
        labels[0].same, float(edges.min()), float(nodes.min(initial=1.0)), pairs[least] if edges[least] < 1 else None,
        n_groups, len(codes) / len(np.unique(codes)), () if of_weights is None else of_weights.changes,
    )  # fmt: skip


def _labels(parts: Sequence[States]) -> list[list[Blocks]]:
    """Return the blocks of rows of each part, for each column of labels; empty if there are few, or counts of rows.

    Without labels of rows, they are the rows from a lowest value to the next highest one of a column that counts up
    and begins again, such as the wave of a panel.
    """
    if any(s.counts is not None and (s.counts > 1).any() for s in parts):
        return []
    columns = [list(labels) for labels in zip(*(s.blocks for s in parts), strict=True)]
    if not columns:
        columns = [_rounds(parts)]
    codes = [np.concatenate([part.codes for part in column]) if column else np.empty(0, int) for column in columns]
    return [
        column
        for column, of in zip(columns, codes, strict=True)
        if of.size and (np.bincount(of) > 1).sum() >= FEWEST_BLOCKS
    ]


def _rounds(parts: Sequence[States]) -> list[Blocks]:
    """Return the rounds of the first column that counts up and begins again in each part; empty if there is none."""
    rounds, start = list[Blocks](), 0
    for states in parts:
        values = states.scores
        low, high = values.min(axis=0, initial=127), values.max(axis=0, initial=-1)
        again = (values[1:] == low) & (values[:-1] == high)
        counts_up = ((np.diff(values.astype(np.int16), axis=0) == 1) | again).all(axis=0) & (low >= 0) & (low < high)
        first = np.flatnonzero(counts_up)
        if not first.size:
            return []
        codes = start + np.cumsum(values[:, first[0]] == low[first[0]])
        rounds.append(Blocks(codes, f"between which {quoted(states.names[first[0]])} counts up"))
        start = int(codes[-1]) + 1
    return rounds


class _Cells(NamedTuple):
    """Where the rows of a block and group, and the cells of a block, begin; rows are sorted by both."""

    rows: np.ndarray
    cells: np.ndarray
    n_groups: int


def _compared(
    parts: Sequence[States], labels: Sequence[Blocks], is_trend: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the factor of each node and each pair, and how far products of two rows are too large, and too small.

    These are in standard errors of independent rows, the smaller of two halves of the blocks.
    """
    orders = [np.argsort(part.codes, kind="stable")[:_MOST] for part in labels]
    blocks = np.concatenate([part.codes[order] for part, order in zip(labels, orders, strict=True)])
    group = np.repeat(np.arange(len(parts)), list(map(len, orders)))
    order = np.lexsort((group, blocks))
    is_first = np.append(True, np.diff(blocks[order]) != 0)
    cells = np.flatnonzero(is_first | np.append(True, np.diff(group[order]) != 0))
    at = _Cells(cells, np.flatnonzero(is_first[cells]), len(parts))
    sums = [_of_blocks(z[order], at) for z in _influences(parts, labels, orders, is_trend)]
    squares, between = (each := np.concatenate(sums)).sum(axis=1)[:, :2].T
    factors = np.sqrt(np.maximum(1 + between / np.where(squares > 0, squares, np.inf), 0.0))
    scores = each[:, :, 1] / np.sqrt(np.maximum(each[:, :, 2], 1e-300))
    return factors, scores.min(axis=1), (-scores).min(axis=1)


def _influences(
    parts: Sequence[States], labels: Sequence[Blocks], orders: Sequence[np.ndarray], is_trend: bool
) -> list[np.ndarray]:
    """Return influences of the rows of all parts on the nodes, and then on the pairs of each node with later ones."""
    influences = []
    for states, of, order in zip(parts, labels, orders, strict=True):
        values = states.scores[order, :_WIDEST]
        observed = values >= 0
        x = np.where(observed, values, 0.0)
        x = np.where(observed, x - x.sum(axis=0) / np.maximum(observed.sum(axis=0), 1), 0.0)
        if is_trend and of.numbers is not None:
            x = np.where(observed, x - _trend(x, of.numbers, of.codes[order]), 0.0)
        z = [x]
        if not states.blocks:  # a sorted column is alike in any rows that follow each other
            steps = np.diff(values.astype(np.int16), axis=0)
            z[0] = np.where((steps >= 0).all(axis=0) | (steps <= 0).all(axis=0), 0.0, x)
        z += [_of_pairs(x, observed, u) for u in range(x.shape[1] - 1)]
        if len(parts) > 1:
            z = [each / np.maximum((each**2).sum(axis=0), 1e-300) for each in z]
        influences.append(z)
    return [np.concatenate(each) for each in zip(*influences, strict=True)]


def _of_pairs(x: np.ndarray, observed: np.ndarray, u: int) -> np.ndarray:
    """Return the residuals of the products of column ``u`` and each later one after the two columns."""
    both = observed[:, u + 1 :] & observed[:, [u]]
    rest = np.stack([both, x[:, [u]] * both, x[:, u + 1 :] * both])
    z = rest[1] * rest[2]
    gram, sums = np.einsum("inv,jnv->vij", rest, rest), np.einsum("inv,nv->vi", rest, z)
    z = z - np.einsum("inv,vi->nv", rest, np.einsum("vij,vj->vi", np.linalg.pinv(gram, _SINGULAR, True), sums))
    z[:, (z**2).sum(axis=0) < _SINGULAR * gram[:, 1, 1] * gram[:, 2, 2] / len(z)] = 0.0
    return z


def _trend(x: np.ndarray, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Predict the columns of a row by a polynomial in the rank of its number."""
    rank = np.unique(numbers, return_inverse=True)[1] / max(len(numbers) - 1, 1)
    at = np.append(rank, 0.5)[np.minimum(codes, len(rank))]  # rows without a number are in the middle
    design = np.vander(at - 0.5, _TREND + 1)
    predicted: np.ndarray = design @ np.linalg.lstsq(design, x, rcond=None)[0]
    return predicted


def _of_blocks(z: np.ndarray, at: _Cells) -> np.ndarray:
    """Return sums over the blocks of each half for each column of influences (n_rows, n_columns), (n_columns, 2, 3).

    They are those of squares of influences, of products of two rows of a block, and the variance of these. Of several
    groups influences are those on the differences of a group from the mean of all.
    """
    same, other = (1.0, 0.0) if at.n_groups == 1 else (1 - 1 / at.n_groups, -1 / at.n_groups)
    squares, fourth = np.add.reduceat(z**2, at.rows), np.add.reduceat(z**4, at.rows)
    totals = np.add.reduceat(z, at.rows)
    within, fourths, apart, both = (np.add.reduceat(v, at.cells) for v in (squares, fourth, totals**2, squares**2))
    across, crossed = np.add.reduceat(totals, at.cells) ** 2 - apart, within**2 - both
    between = same * (apart - within) + other * across
    each = np.stack([same * within, between, 2 * (same**2 * (both - fourths) + other**2 * crossed)], axis=-1)
    return np.stack([each[half::2].sum(axis=0) for half in (0, 1)], axis=1)


def _edge(ends: tuple[str, str]) -> str:
    return f"{ends[0]} – {ends[1]}"


def _changes_in_words(changes: Sequence[Change], same: str) -> str:
    """Return which log odds ratios differ within blocks."""
    each = [f"{_edge(c.edge)} {c.within:.2f} (standard error {c.error:.2f}) instead of {c.pooled:.2f}" for c in changes]
    n = len(changes)
    has, differs = (f"{n} log odds ratios have", "differ") if n > 1 else ("one log odds ratio has", "differs")
    return (
        f"Within rows {same} (conditional logistic regression) {has} another sign than in all rows, or {differs} from "
        f"0 in only one of the two: {listed(each, 6, total=True)}."
    )
