"""The transitions of a panel as arrays that scans read."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import strict_leaf
from ..models.panel import Panel


class PanelTables(NamedTuple):
    """The transitions, by distinct rows before (of each person, if people have intercepts), and what scans read.

    ``counts`` (d, n_rows, m) are numbers of transitions to each category, ``covariates`` (d, n_rows) scores of the row
    before less their mean, ``sums`` (d, d) those of their products with the scores after; ``digits`` (d, n_states) are
    the categories of all states of a row, and ``states`` and ``row_of`` those of distinct transitions, which occur
    ``times``: all empty without W, and where chains stand for a table.
    """

    counts: np.ndarray
    n: np.ndarray
    before: np.ndarray
    covariates: np.ndarray
    centre: np.ndarray
    centre_after: np.ndarray
    sums: np.ndarray
    score: np.ndarray
    sizes: np.ndarray
    starts: np.ndarray  # of thresholds in theta, (d + 1,)
    pairs: np.ndarray  # (n_pairs, 2)
    pair_sums: np.ndarray
    digits: np.ndarray
    states: np.ndarray
    row_of: np.ndarray
    times: np.ndarray
    people: np.ndarray  # first row of each person, and the number of rows; empty if intercepts are common


def panel_tables(
    model: Panel, before: np.ndarray, after: np.ndarray, person: np.ndarray | None = None, with_states: bool = True
) -> PanelTables:
    """Return the transitions by distinct rows before them, and by person if one is given.

    Parameters
    ----------
    model : Panel
    before, after : (n, d) int array
        Categories before and after each transition.
    person : (n,) int array, optional
        People in order, from 0, each of whom has a transition.
    with_states : bool
        Whether items within a wave are joined by a table of all states.
    """
    d, sizes, m = model.n_nodes, np.array(model.sizes), max(model.sizes)
    keys = before if person is None else np.column_stack([person, before])
    distinct, first, row = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    row, n_rows = row.ravel(), len(distinct)
    score = np.arange(m, dtype=float)
    counts = np.zeros((d, n_rows, m))
    for i in range(d):
        np.add.at(counts[i], (row, after[:, i]), 1.0)
    rows = before[first].T.astype(float)
    centre, centre_after = before.mean(axis=0), after.mean(axis=0)
    covariates = rows - centre[:, None]
    u, v = model.pairs.T
    products = (after[:, u] - centre_after[u]) * (after[:, v] - centre_after[v]) - centre_after[u] * centre_after[v]
    digits, states, times = np.zeros((d, 0), int), np.zeros((0, 2), int), np.zeros(0, int)
    if model.within and with_states:
        digits = np.array(np.unravel_index(np.arange(np.prod(sizes)), sizes))
        state = np.ravel_multi_index(tuple(after.T), tuple(sizes))
        states, times = np.unique(np.stack([row, state], axis=1), axis=0, return_counts=True)
    people = np.zeros(0, int)
    if person is not None:
        people = np.append(np.unique(distinct[:, 0], return_index=True)[1], n_rows)
    return PanelTables(
        counts, np.bincount(row, minlength=n_rows).astype(float), rows, covariates, centre, centre_after,
        covariates @ (counts @ score).T, score, sizes, model.starts, model.pairs.astype(int), products.sum(axis=0),
        digits, states[:, 1].copy(), states[:, 0].copy(), times.astype(float), people,
    )  # fmt: skip


@strict_leaf
def lagged_field(theta, own, before, i):
    """Return the field of item i after a row with scores ``before`` (d,), with its own intercept."""
    d, h = len(before), own
    for j in range(d):
        h += theta[j * d + i] * before[j]
    return h
