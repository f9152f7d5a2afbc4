"""Rows that are alike because they follow each other, as in a time series, though the model takes them as independent.

Products of rows at a distance of l are compared with those of rows that are farther apart. With x_t the states of row t
minus their means, x_t . x_{t+l} is a sum over nodes, and half of its square, less the squares, one over pairs of nodes.
Their excess over those of distant rows, as a share of that at l = 0, is the mean autocorrelation rho_l of the
statistics of nodes and of edges. The variance of a mean of dependent rows is 1 + 2 sum_l rho_l times that of
independent ones, and so are, about, the variances of the parameters.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.special import stdtr

from ..errors import DependentRowsWarning
from ..findings import tell
from ..threads import one_thread
from .repeated_rows import repeated_rows
from .states import States

_FEWEST = 100  # rows
_MOST = 10_000  # rows that are read
_LAGS = 50  # that count as near, at most, and a tenth of the rows; as many after them count as far
_BLOCK = 128  # rows whose products are computed together
_CHANCE = 1e-6  # probability that independent rows seem alike, for nodes and for edges
_CHANCE_OF_HALF = 0.01  # the same of each half
_MATTERS, _HARDLY = 1.1, 1.05  # least factor of standard deviations; largest of rows that are kept
_NOISE = 2.0  # standard errors below which an autocorrelation ends the sum
_SORTED = 5  # least number of rows of the first, and of the last state of a column that may be sorted


class DependentRows(NamedTuple):
    """How far rows depend on those before them.

    Parameters
    ----------
    edges, nodes : float
        Factors of the standard deviations of weights, and of the means of nodes, at least 1.
    apart : int or None
        Distance of rows whose dependence does not matter; None if it is more than a tenth of their number, or than 50.
    """

    edges: float
    nodes: float
    apart: int | None

    def said(self, effect: str) -> str:
        """Return what is wrong, with an effect of it, and what to do."""
        keep = f"keep one row of {self.apart}" if self.apart else "do not rely on it"
        return (
            "Dependent rows: rows that follow each other are alike, as in a time series, and the likelihood takes them "
            f"as independent. {effect}: use PanelMRF (bayesmrf panel), where each row depends on the one before, "
            f"{keep}, or ignore this if the table was sorted, by groups for example."
        )

    @property
    def effect(self) -> str:
        """What dependent rows mean for the number of edges; "" if nothing."""
        return ", and edges may be too many"

    @property
    def factors(self) -> str:
        """How much larger standard deviations should be."""
        return (
            f"Standard deviations of weights should be about {self.edges:.1f} times as large, of the means of nodes "
            f"{self.nodes:.1f} times"
        )


def warn_of_dependent_rows(parts: Sequence[States]) -> None:
    """Warn if rows depend on each other, and say what this means for a posterior."""
    if remark := remark_on_rows(parts):
        tell(remark, DependentRowsWarning)


def remark_on_rows(parts: Sequence[States], evidence: bool = False) -> str:
    """Say what dependent rows mean for a posterior or an evidence; empty if rows are independent."""
    rows = repeated_rows(parts) or dependent_rows(parts)
    if rows is None:
        return ""
    if evidence:
        return rows.said(f"Differences of log evidence may be too large by a factor of about {rows.edges**2:.1f}")
    return rows.said(f"{rows.factors}{rows.effect}")


def dependent_rows(parts: Sequence[States]) -> DependentRows | None:
    """Measure the dependence between successive rows of each part; None if rows are independent.

    Where a table is sorted by a column, rows are compared with those of the same value of it. Tables whose equal rows
    follow each other, and counts of rows, have no order of their own. Independent rows are taken as dependent if both
    halves of them seem so, with a probability of about 2e-6.
    """
    tables = [x for states in parts for x in _ordered(states)]
    if not tables:
        return None
    n_lags = min(_LAGS, min(map(len, tables)) // 10)
    # Of rare states a single pair of rows may count for much: dependence is in both halves.
    halves = np.array([[_products(half, n_lags) for half in np.array_split(x, 2)] for x in tables]).sum(axis=0)
    nodes, edges = (_Autocorrelation.of(halves[:, k], halves[:, 2]) for k in (0, 1))
    if min(nodes.chance, edges.chance) > _CHANCE or max(nodes.factor(), edges.factor()) < _MATTERS:
        return None
    enough = [k for k in range(2, n_lags + 1) if max(nodes.factor(k), edges.factor(k)) < _HARDLY]
    return DependentRows(edges.factor(), nodes.factor(), enough[0] if enough else None)


class _Autocorrelation(NamedTuple):
    """Of the statistics of nodes or edges at lags 1, 2, ...; its error, and the probability of the first by chance."""

    rho: np.ndarray
    error: float
    chance: float

    def factor(self, apart: int = 1) -> float:
        """Factor of standard deviations, if one row of ``apart`` is kept."""
        end = np.append(np.flatnonzero(self.rho <= _NOISE * self.error), len(self.rho))[0]
        return float(np.sqrt(1 + 2 * self.rho[apart - 1 : end : apart].sum()))

    @classmethod
    def of(cls, sums: np.ndarray, numbers: np.ndarray) -> _Autocorrelation:
        """From sums of products of two halves, and their numbers, at lags 0, 1, ..., 2 ``n_lags``."""
        rho, error = _excess(sums.sum(axis=0) / numbers.sum(axis=0))
        of_halves = [_excess(half) for half in sums / numbers]
        chances = [stdtr(len(r) - 1, -r[0] / e) if e > 0 else 1.0 for r, e in of_halves]
        both = np.prod(chances) * (1 - np.log(max(np.prod(chances), 1e-300)))  # Fisher's combination
        return cls(rho, error, float(both if max(chances) < _CHANCE_OF_HALF else 1.0))


def _excess(means: np.ndarray) -> tuple[np.ndarray, float]:
    """Return autocorrelations at the near lags, and their standard error, from mean products at all."""
    n_lags = len(means) // 2
    near, far = means[1 : n_lags + 1], means[n_lags + 1 :]
    scale = max(means[0] - far.mean(), 1e-12)
    return (near - far.mean()) / scale, float(far.std(ddof=1) * np.sqrt(1 + 1 / n_lags) / scale)


def _ordered(states: States) -> list[np.ndarray]:
    """Centre the first rows, and divide them into pieces whose order is informative."""
    values, weights = states.scores, states.counts
    if weights is not None:
        if (weights > 1).any():
            return []
        values = values[weights > 0]
    values = values[:_MOST]
    x = values / np.maximum(np.array(states.sizes) - 1, 1, dtype=np.float32)
    missing = values < 0
    x[missing] = 0.0
    x -= x.sum(axis=0) / np.maximum((~missing).sum(axis=0), 1, dtype=np.float32)
    x[missing] = 0.0
    return [x[piece] for piece in _pieces(values, 0)]


def _pieces(values: np.ndarray, start: int) -> list[slice]:
    """Return the rows between which no column is sorted, and that are enough, as slices of rows from ``start``.

    Rows that were sorted by a column are divided where it changes. None are left where equal rows follow each other, as
    where a table of counts was spread into rows.
    """
    if len(values) < _FEWEST:
        return []
    steps = np.diff(values.astype(np.int16), axis=0)
    first, last = ((values == values[i]).sum(axis=0) for i in (0, -1))
    monotone = (steps >= 0).all(axis=0) | (steps <= 0).all(axis=0)
    by = monotone & (values[0] != values[-1]) & (np.minimum(first, last) >= _SORTED)
    if by.any():
        ends = np.flatnonzero((steps[:, by] != 0).any(axis=1)) + 1
        bounds = [0, *ends.tolist(), len(values)]
        return [s for a, b in itertools.pairwise(bounds) for s in _pieces(values[a:b], start + a)]
    n_runs = 1 + int((steps != 0).any(axis=1).sum())
    if n_runs < 0.9 * len(values) and n_runs == len(np.unique(values, axis=0)):
        return []
    return [slice(start, start + len(values))]


@one_thread()
def _products(x: np.ndarray, n_lags: int) -> np.ndarray:
    """Return sums of products of rows for nodes, for edges, and numbers of pairs of rows, (3, 2 n_lags + 1)."""
    far = 2 * n_lags
    sums = np.zeros((3, far + 1))
    sums[2] = len(x) - np.arange(far + 1)
    padded = np.concatenate([x, np.zeros((far, x.shape[1]), x.dtype)])
    for start in range(0, len(x), _BLOCK):
        rows, after = x[start : start + _BLOCK], padded[start : start + _BLOCK + far]
        of_nodes, of_squares = _diagonals(rows @ after.T), _diagonals(rows**2 @ (after**2).T)
        sums[:2] += of_nodes.sum(axis=0), ((of_nodes**2).sum(axis=0) - of_squares.sum(axis=0)) / 2
    return sums


def _diagonals(products: np.ndarray) -> np.ndarray:
    """Return products of rows t and t + lag as [t, lag], from those of all rows of a block with all after its first."""
    products = products.astype(np.float64)
    (n, n_after), (down, right) = products.shape, products.strides
    return as_strided(products, (n, n_after - n + 1), (down + right, right), writeable=False)
