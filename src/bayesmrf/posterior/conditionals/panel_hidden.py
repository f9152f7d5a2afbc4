r"""Missing answers of a panel, each redrawn given all others.

An answer is part of two transitions: of the one to its row, and of the one from it. With the row before y, the row x of
the answer, and the row after z,

.. math:: p(x_i = k \mid \mathrm{rest}) \propto p(x \mid y)\, p(z \mid x)
          \propto \exp\Big(\mu_{ik} + k \big(a_i + \sum_j B_{ji} y_j + \sum_u W_{iu} x_u\big)
          + k \sum_j B_{ij} z_j\Big) \Big/ Z(x),

with the scores k of the categories. Without W, Z(x) is a product over items; else a sum over all states of a row. A row
without a row before has the shares of the answers of each item instead of p(x | y), as first waves have no model.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...states.panel_tables import lagged_field
from ...states.row_chains import draw_code
from .panel_scan import log_states


class PanelHidden(NamedTuple):
    """A table of rows, those that follow each other, and its missing answers."""

    rows: np.ndarray  # (n, d) categories, 0 where one is missing
    cells: np.ndarray  # (n_missing, 2), row and item
    before: np.ndarray  # (n_transitions,) rows
    after: np.ndarray
    person: np.ndarray  # (n,) the person of each row, from 0
    log_share: np.ndarray  # (d, m) of the categories of each item

    @classmethod
    def of(
        cls, values: np.ndarray, sizes: Sequence[int], before: np.ndarray, after: np.ndarray, person: np.ndarray
    ) -> PanelHidden | None:
        """Return the missing answers, -1 in ``values``, of the rows of transitions of each ``person``, if any."""
        is_used = np.zeros(len(values), bool)
        is_used[before] = is_used[after] = True
        cells = np.argwhere((values < 0) & is_used[:, None])
        if not len(cells):
            return None
        log_share = np.full((len(sizes), max(sizes)), -np.inf)
        for i, m in enumerate(sizes):
            counts = np.bincount(values[values[:, i] >= 0, i].astype(int), minlength=m) + 0.5
            log_share[i, :m] = np.log(counts / counts.sum())
        of_row = np.zeros(len(values), int)
        of_row[before] = of_row[after] = person
        return cls(np.maximum(values, 0).astype(int), cells, before, after, of_row, log_share)


@strict_leaf
def log_normaliser(x, theta, own, tables, joined):
    """Return log Z of the row after x; ``joined`` are the exponentials of states without fields, or empty."""
    d, total, weights = len(tables.sizes), 0.0, np.ones(max(1, len(joined)))
    n = 1
    for i in range(d):
        h, first = lagged_field(theta, own[i], x, i), tables.starts[i]
        top, sum_ = 0.0, 0.0
        for k in range(1, tables.sizes[i]):
            top = max(top, (0.0 if len(joined) else theta[first + k - 1]) + k * h)
        if len(joined):  # states are numbered with the last item first to change
            m = tables.sizes[i]
            for s in range(n - 1, -1, -1):
                for k in range(m - 1, -1, -1):
                    weights[s * m + k] = weights[s] * exp(k * h - top)
            n *= m
        else:
            sum_ = exp(-top)
            for k in range(1, tables.sizes[i]):
                sum_ += exp(theta[first + k - 1] + k * h - top)
            total += log(sum_)
        total += top
    if len(joined):
        sum_ = 0.0
        for s in range(n):
            sum_ += weights[s] * joined[s]
        total += log(sum_)
    return total


@strict_leaf
def redraw_missing(rng, x, hidden, theta, own, tables, previous, following):
    """Redraw the missing answers of the rows x in turn, in place.

    ``own`` (n_people, d) are intercepts; ``previous`` and ``following`` (n,) the rows before and after each, or -1.
    """
    d, joined = len(tables.sizes), log_states(tables, theta)
    if len(joined):  # as probabilities, but for a constant
        joined = np.exp(joined - joined.max())
    p = np.empty(len(tables.score))
    for c in range(len(hidden.cells)):
        row, i = hidden.cells[c]
        m, before, after, a = tables.sizes[i], previous[row], following[row], own[hidden.person[row]]
        h = 0.0
        if before >= 0:
            h = lagged_field(theta, a[i], x[before], i)
            for e in range(len(tables.pairs)):
                u, v = tables.pairs[e]
                if u == i or v == i:
                    h += theta[d * d + e] * x[row, v if u == i else u]
        if after >= 0:
            for j in range(d):
                h += theta[i * d + j] * x[after, j]
        top = -np.inf
        for k in range(m):
            p[k] = k * h
            if before < 0:
                p[k] += hidden.log_share[i, k]
            elif k > 0:
                p[k] += theta[tables.starts[i] + k - 1]
            if after >= 0:
                x[row, i] = k
                p[k] -= log_normaliser(x[row], theta, a, tables, joined)
            top = max(top, p[k])
        total = 0.0
        for k in range(m):
            p[k] = exp(p[k] - top)
            total += p[k]
        x[row, i] = draw_code(rng, p[:m] / total)


def neighbours(hidden: PanelHidden) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows before and after each row, or -1, (n,) each."""
    previous, following = np.full((2, len(hidden.rows)), -1)
    previous[hidden.after], following[hidden.before] = hidden.before, hidden.after
    return previous, following


def completed(hidden: PanelHidden, values: np.ndarray) -> np.ndarray:
    """Return the rows with values in the place of missing answers."""
    x = hidden.rows.copy()
    x[tuple(hidden.cells.T)] = values
    return x
