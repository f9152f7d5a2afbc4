r"""Weights within blocks of rows that are alike, such as churches, next to those of all rows.

Two rows i and j of one block that exchange their values of node u have, given all other nodes, the log odds

.. math:: (x_{iu} - x_{ju}) \sum_v W_{uv} (x_{iv} - x_{jv}),

in which biases and thresholds cancel, also those of the block: the pairwise form of conditional logistic regression
(Liang 1987), for yes/no nodes and those of ordered levels (adjacent categories). W maximises the sum over the nodes and
over pairs of rows of a block; and, for the weights of all rows, over pairs of any rows. Standard errors are those of a
sum over pairs that share rows; of differences between the two, those of independent blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import expit, stdtrit

from ..threads import one_thread
from .counts_and_labels import FEWEST_BLOCKS
from .states import States, are_ordered

_MOST, _WIDEST = 10_000, 50  # rows and columns that are looked at
_MOST_PAIRS, _WORK = 100_000, 2**30  # pairs of rows, and these times the cube of the number of nodes
_PRECISION = 0.01  # of weights, which keeps those finite that no pair of rows limits
_STEPS, _CLOSE = 50, 1e-8  # of Newton's method
_SURE, _CHANCE = 0.95, 0.01  # of an interval; that any weight seems another one within blocks by chance


class Change(NamedTuple):
    """A log odds ratio that has another sign within blocks, or is not distinguishable from 0 in one of the two."""

    edge: tuple[str, str]
    pooled: float
    within: float
    error: float  # standard error of that within


class Conditional(NamedTuple):
    """What the weights of pairs of nodes, given all other nodes, say of rows that are alike.

    Parameters
    ----------
    factors : (n_pairs,) array
        Standard error of each weight, or of its differences between groups, by blocks, divided by that of rows.
    changes : tuple of Change
        Weights that differ within blocks.
    """

    factors: np.ndarray
    changes: tuple[Change, ...]


class Weights(NamedTuple):
    """Estimates of the weights of all pairs of nodes, in the order of `itertools.combinations`.

    Parameters
    ----------
    weights : (n_pairs,) array
    informed : (n_pairs,) array
        Variance by the curvature of what is maximised, which is large where few pairs of rows say anything.
    by_row : (n_pairs,) array
        Variance for independent rows.
    by_block : (n_blocks, n_pairs) array
        What each block contributes to the error; the sum of squares is the variance.
    n_informative : (n_pairs,) array
        Number of blocks with rows that differ in both nodes.
    """

    weights: np.ndarray
    informed: np.ndarray
    by_row: np.ndarray
    by_block: np.ndarray
    n_informative: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """Standard errors: the largest one of those of independent rows, of blocks, and by the curvature."""
        return np.sqrt(np.maximum.reduce([self.by_row, (self.by_block**2).sum(axis=0), self.informed]))


def conditional(parts: Sequence[States], codes: Sequence[np.ndarray]) -> Conditional | None:
    """Compare weights within blocks with those of all rows; None if less than half of the rows are complete.

    Weights that change within blocks have another sign there, or are distinguishable from 0 (outside a 95 % interval)
    in one of the two only, and differ more than by chance.

    Parameters
    ----------
    parts : sequence of States
        The rows of each group of people; of columns without order no change is returned.
    codes : sequence of (n,) int array
        The block of each row of each part.
    """
    names = parts[0].names[:_WIDEST]
    x, block, group = _rows(parts, codes)
    n_rows = min(sum(len(s.values) for s in parts), _MOST)
    if len(names) < 2 or len(x) < n_rows / 2 or min(np.bincount(group, minlength=len(parts))) <= len(names):
        return None
    pooled = estimate(x, group, block)
    each = [pooled] if len(parts) == 1 else [
        estimate(x[group == g], group[group == g], block[group == g], pooled.by_block.shape[0])
        for g in range(len(parts))
    ]  # fmt: skip
    cells = np.unique(np.column_stack([group, block]), axis=0, return_inverse=True)[1].ravel()
    changes: tuple[Change, ...] = ()
    if (np.bincount(cells) > 1).any():
        changes = _changes(parts[0], pooled, estimate(x, cells, block, pooled.by_block.shape[0]))
    return Conditional(_factors(each), changes)


def _factors(each: Sequence[Weights]) -> np.ndarray:
    """Return standard errors by blocks over those of rows: of weights, or of the differences of several groups."""
    share = 1.0 if len(each) == 1 else 1 - 1 / len(each)
    of = np.array([w.by_block for w in each])
    apart = of if len(each) == 1 else of - of.mean(axis=0)
    rows = share * np.sum([w.by_row for w in each], axis=0)
    factors: np.ndarray = np.sqrt((apart**2).sum(axis=(0, 1)) / np.where(rows > 0, rows, np.inf))
    return factors


def _changes(states: States, pooled: Weights, within: Weights) -> tuple[Change, ...]:
    names = states.names[:_WIDEST]
    pairs = list(combinations(range(len(names)), 2))
    n = len(pooled.by_block)
    spread = np.sqrt(((pooled.by_block - within.by_block) ** 2).sum(axis=0) * n / max(n - 1, 1))
    score = np.abs(pooled.weights - within.weights) / np.maximum(spread, 1e-300)
    limit, far = (stdtrit(n - 1, 1 - p / 2) for p in (1 - _SURE, _CHANCE / len(pairs)))

    def sign(of: Weights) -> np.ndarray:
        return np.sign(of.weights) * (np.abs(of.weights) > limit * of.errors)

    ordered = are_ordered(states.coding, len(states.names))
    changed = (score > far) & (sign(pooled) != sign(within)) & (within.n_informative >= FEWEST_BLOCKS)
    return tuple(
        Change((names[u], names[v]), float(pooled.weights[k]), float(within.weights[k]), float(within.errors[k]))
        for k, (u, v) in enumerate(pairs)
        if changed[k] and ordered[u] and ordered[v]
    )


@one_thread()
def estimate(x: np.ndarray, cells: np.ndarray, blocks: np.ndarray, n_blocks: int | None = None) -> Weights:
    """Return the weights between the columns of ``x`` (n, d) from pairs of rows of one cell.

    Parameters
    ----------
    x : (n, d) float array
    cells : (n,) int array
        Pairs of rows of one cell are compared: blocks, or all rows.
    blocks : (n,) int array
        Which rows may depend on each other, from 0.
    n_blocks : int, optional
        Of all tables; that of these rows by default.
    """
    d = x.shape[1]
    first, second = _pairs(cells, min(_MOST_PAIRS, _WORK // d**3))
    step = x[first] - x[second]
    edges = np.zeros((d, d), int)
    u, v = np.triu_indices(d, 1)
    edges[u, v] = edges[v, u] = np.arange(len(u))
    places = [np.delete(edges[node], node) for node in range(d)]
    used = [np.flatnonzero(step[:, node]) for node in range(d)]
    terms = [np.delete(step[rows], node, axis=1) * step[rows][:, [node]] for node, rows in enumerate(used)]
    weights = np.zeros(len(u))
    for _ in range(_STEPS):
        slope, curve = -_PRECISION * weights, _PRECISION * np.eye(len(u))
        for place, z in zip(places, terms, strict=True):
            p = expit(-(z @ weights[place]))
            slope[place] += p @ z
            curve[np.ix_(place, place)] += (z * (p * (1 - p))[:, None]).T @ z
        move = np.linalg.solve(curve, slope)
        weights = weights + move
        if np.abs(move).max() < _CLOSE:
            break
    scores = [z * expit(-(z @ weights[place]))[:, None] for place, z in zip(places, terms, strict=True)]
    of = _Scores(places, used, scores, len(first))
    n = n_blocks or int(blocks.max()) + 1
    shared = blocks[first] == blocks[second]  # such a pair counts once for its block
    rows = of.sums(len(x), first, second, np.ones(len(first), bool))
    sums = of.sums(n, blocks[first], blocks[second], ~shared)
    inverse = np.linalg.inv(curve)
    spread = _once(of.squares(np.ones(len(first))), rows) * ((rows @ inverse) ** 2).sum(axis=0)
    by_block = np.sqrt(_once(of.squares(~shared), sums)) * (sums @ inverse)
    return Weights(weights, np.diag(inverse), spread, by_block, (sums != 0).sum(axis=0))


class _Scores(NamedTuple):
    """Derivatives by the weights of what is maximised: of each node, for the pairs of rows in which it differs."""

    places: list[np.ndarray]  # of its weights
    used: list[np.ndarray]  # pairs of rows
    scores: list[np.ndarray]
    n_pairs: int

    def sums(self, n: int, first: np.ndarray, second: np.ndarray, is_counted: np.ndarray) -> np.ndarray:
        """Return sums (n, n_weights) over the pairs of ``first``, and of ``second`` where it ``is_counted``."""
        at = np.arange(self.n_pairs)
        ends, pair = np.append(first, second[is_counted]), np.append(at, at[is_counted])
        of = csr_array((np.ones(len(ends)), (ends, pair)), shape=(n, self.n_pairs)).tocsc()
        totals = np.zeros((n, len(self.places) * (len(self.places) - 1) // 2))
        for place, used, score in zip(self.places, self.used, self.scores, strict=True):
            totals[:, place] += of[:, used] @ score
        return totals

    def squares(self, is_counted: np.ndarray) -> np.ndarray:
        """Return sums of squares of the derivative by each weight over the pairs of rows that are counted."""
        totals, each = np.empty(len(self.places) * (len(self.places) - 1) // 2), np.zeros(self.n_pairs)
        for u, v in combinations(range(len(self.places)), 2):  # the derivatives of two nodes add up
            each[:] = 0.0
            each[self.used[u]] += self.scores[u][:, v - 1]
            each[self.used[v]] += self.scores[v][:, u]
            totals[self.places[u][v - 1]] = (each**2) @ is_counted
        return totals


def _once(twice: np.ndarray, sums: np.ndarray) -> np.ndarray:
    """Compute the share of the sums of squares that remains if terms that count twice count once."""
    return np.maximum(1 - twice / np.maximum((sums**2).sum(axis=0), 1e-300), 0.5)


def _rows(parts: Sequence[States], codes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first complete rows by block, with their blocks and groups."""
    values = np.concatenate([s.scores[:, :_WIDEST] for s in parts])
    block, group = np.concatenate(codes), np.repeat(np.arange(len(parts)), [len(s.values) for s in parts])
    order = np.lexsort((*values.T, block))  # whatever the order of rows of a block
    order = order[(values[order] >= 0).all(axis=1)][:_MOST]
    return values[order].astype(float), np.unique(block[order], return_inverse=True)[1].ravel(), group[order]


def _pairs(cells: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs of rows of one cell, about ``most`` in all: of each row with those at evenly spread distances."""
    order = np.argsort(cells, kind="stable")
    each = max(most // max(len(cells), 1), 1)  # of a row
    first, second = list[np.ndarray](), list[np.ndarray]()
    for rows in np.split(order, np.flatnonzero(np.diff(cells[order])) + 1):
        n, half = len(rows), len(rows) // 2
        steps = min(each, half)
        for distance in dict.fromkeys(round(half * (k + 1) / steps) for k in range(steps)):
            at = np.arange(half if 2 * distance == n else n)
            first.append(rows[at])
            second.append(rows[(at + distance) % n])
    return np.concatenate(first), np.concatenate(second)
