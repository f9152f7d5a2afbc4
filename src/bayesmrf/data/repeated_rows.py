r"""Rows of the same person, which a model takes as independent: by how much standard errors are too small.

Rows with one label of the index of a table (an identifier) are a block, or those of one round of a column that counts
up and begins again. The influence z of a row on the log odds ratio of two columns is the residual of their product
after the two columns, that on the mean of a column its deviation. The standard error by blocks divided by that of
independent rows is

.. math:: \sqrt{\sum_b (\sum_{i \in b} z_i)^2 / \sum_i z_i^2},

for two yes/no columns that of a logistic regression with errors clustered by person.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from ..names import quoted
from .states import Blocks, States

_CHANCE = 1e-6  # probability that a table of independent rows seems dependent
_CHANCE_OF_ONE = 0.01  # the same of any further weight or mean in a table of which one is dependent
_MATTERS = 1.1  # least factor of standard errors
_FEWEST = 20  # blocks of several rows
_MOST, _WIDEST = 10_000, 50  # rows and columns that are looked at, the first ones
_SINGULAR = 1e-9  # share of a sum of squares that is left of a product that its two columns determine


class RepeatedRows(NamedTuple):
    """How far rows of one block depend on each other.

    Parameters
    ----------
    edges, nodes : float
        The largest factors of the standard errors of a weight, and of the mean of a node, at least 1.
    edge : (str, str) or None
        The columns of the weight with the largest factor.
    same : str
        What rows of a block have in common.
    """

    edges: float
    nodes: float
    edge: tuple[str, str] | None
    same: str

    def said(self, effect: str) -> str:
        """Return what is wrong, with an effect of it, and what to do."""
        return (
            f"Dependent rows: rows {self.same} are alike, as those of one person are, and the likelihood takes them as "
            f"independent. {effect}: use PanelMRF (bayesmrf panel) if they are waves, in which each row depends on the "
            "one before, keep one row of each person, or do not rely on it."
        )

    @property
    def factors(self) -> str:
        """How much larger standard deviations should be."""
        if self.edge is None:
            return f"Standard deviations of the means of nodes should be up to {self.nodes:.1f} times as large"
        return (
            f"Standard deviations of weights should be up to {self.edges:.1f} times as large "
            f"({self.edge[0]} – {self.edge[1]}), of the means of nodes up to {self.nodes:.1f} times"
        )


def repeated_rows(parts: Sequence[States]) -> RepeatedRows | None:
    """Return how far rows of one block depend on each other; None if they do not, or no part has blocks.

    Rows depend on each other if, for a weight or a mean, products of two rows of one block are too large by chance in
    both halves of the blocks, and its standard error is 10 % too small.
    """
    seen = [s if s.weights is None else s.at(np.flatnonzero(s.weights > 0)) for s in parts]
    some = [(states, blocks) for states in seen if (blocks := _blocks(states)) is not None]
    if not some:
        return None
    names = some[0][0].names[:_WIDEST]
    d = len(names)
    found = np.sum([_sums(states, blocks.codes) for states, blocks in some], axis=0)
    own, between = found.sum(axis=1)[:, :2].T
    factors = np.sqrt(np.maximum(1 + between / np.where(own > 0, own, np.inf), 0.0))
    scores = (found[:, :, 1] / np.sqrt(np.maximum(found[:, :, 2], 1e-300))).min(axis=1)
    sure, likely = (-float(ndtri(np.sqrt(p / len(found)))) for p in (_CHANCE, _CHANCE_OF_ONE))  # of each half
    if not ((scores > sure) & (factors > _MATTERS)).any():
        return None
    factors = np.where(scores > likely, factors, 1.0)
    nodes, edges = factors[:d], factors[d:]
    first, second = list(combinations(range(d), 2))[edges.argmax()] if (edges > 1).any() else (0, 0)
    edge = (names[first], names[second]) if first != second else None
    return RepeatedRows(float(edges.max(initial=1.0)), float(nodes.max()), edge, some[0][1].same)


def _blocks(states: States) -> Blocks | None:
    """Return the block of each row; None if there are too few blocks, or counts of rows.

    Without labels of rows, they are the rows from a lowest value to the next highest one of a column that counts up
    and begins again, such as the wave of a panel.
    """
    values, weights, blocks = states.scores, states.counts, states.blocks
    if weights is not None and (weights > 1).any():
        return None
    if blocks is None:
        low, high = values.min(axis=0), values.max(axis=0)
        again = (values[1:] == low) & (values[:-1] == high)
        counts_up = ((np.diff(values.astype(np.int16), axis=0) == 1) | again).all(axis=0) & (low >= 0) & (low < high)
        first = np.flatnonzero(counts_up)
        if not first.size:
            return None
        begins = values[:, first[0]] == low[first[0]]
        blocks = Blocks(np.cumsum(begins), f"between which {quoted(states.names[first[0]])} counts up")
    return blocks if (np.bincount(blocks.codes) > 1).sum() >= _FEWEST else None


def _sums(states: States, blocks: np.ndarray) -> np.ndarray:
    """Return sums over the blocks of each half, for each node and each pair of them, (n_nodes + n_pairs, 2, 3).

    They are those of squares of influences, of products of two rows of a block, and the variance of these.
    """
    order = np.argsort(blocks, kind="stable")[:_MOST]
    values, starts = states.scores[order, :_WIDEST], np.unique(blocks[order], return_index=True)[1]
    there = values >= 0
    x = np.where(there, values, 0.0)
    x = np.where(there, x - x.sum(axis=0) / np.maximum(there.sum(axis=0), 1), 0.0)
    found = [_of_blocks(x, starts)]
    if states.blocks is None:  # a sorted column is alike in any rows that follow each other
        steps = np.diff(values.astype(np.int16), axis=0)
        found[0][(steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)] = 0.0
    for u in range(x.shape[1] - 1):
        seen = there[:, u + 1 :] & there[:, [u]]
        rest = np.stack([seen, x[:, [u]] * seen, x[:, u + 1 :] * seen])
        z = rest[1] * rest[2]
        gram, sums = np.einsum("inv,jnv->vij", rest, rest), np.einsum("inv,nv->vi", rest, z)
        z = z - np.einsum("inv,vi->nv", rest, np.einsum("vij,vj->vi", np.linalg.pinv(gram, _SINGULAR, True), sums))
        z[:, (z**2).sum(axis=0) < _SINGULAR * gram[:, 1, 1] * gram[:, 2, 2] / len(z)] = 0.0
        found.append(_of_blocks(z, starts))
    return np.concatenate(found)


def _of_blocks(z: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return what `_sums` does of influences (n_rows, n_columns), in which blocks follow each other."""
    squares, fourth = np.add.reduceat(z**2, starts), np.add.reduceat(z**4, starts)
    each = np.stack([squares, np.add.reduceat(z, starts) ** 2 - squares, 2 * (squares**2 - fourth)], axis=-1)
    return np.stack([each[half::2].sum(axis=0) for half in (0, 1)], axis=1)
