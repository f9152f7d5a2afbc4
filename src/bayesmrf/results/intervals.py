"""Ends of the intervals of many columns of draws: of all draws, or of those that include a column."""

from __future__ import annotations

import numpy as np

from ..declare.rule import PROBABILITY
from .blocks import Columns, stacked

_BLOCK = 512  # columns that are sorted together


def central(probability: float) -> tuple[float, float]:
    """Return the quantile levels of a central interval."""
    PROBABILITY.check("probability", probability)
    return (1 - probability) / 2, (1 + probability) / 2


def intervals(draws: np.ndarray, tails: tuple[float, float]) -> np.ndarray:
    """Return quantiles (2, n) of the columns of ``draws`` (n_draws, n)."""
    ends = np.empty((2, draws.shape[1]))
    for i in range(0, draws.shape[1], _BLOCK):
        ends[:, i : i + _BLOCK] = np.quantile(draws[:, i : i + _BLOCK], tails, axis=0)
    return ends


def intervals_given(draws: Columns, included: Columns, tails: tuple[float, float]) -> np.ndarray:
    """Compute `given_inclusion` of columns, which are read in blocks: the means and intervals of all tables of edges.

    Parameters
    ----------
    draws : Columns
        With a dimension of groups of people or without; groups of an item follow each other in the result.
    included : Columns
        Whether an item exists, or the groups differ in it, in each draw: of all groups together.
    tails : (float, float)
        Quantile levels of the ends of intervals.

    Returns
    -------
    (3, n_items * n_groups) array
    """
    parts = []
    for block in draws.blocks():
        values, exists = stacked(draws[:, :, block]), stacked(included[:, :, block])
        if values.ndim == 3:
            exists = np.repeat(exists, values.shape[1], axis=1)
            values = values.swapaxes(1, 2).reshape(len(values), -1)
        parts.append(given_inclusion(values, exists, tails))
    return np.concatenate(parts, axis=1)


def given_inclusion(draws: np.ndarray, included: np.ndarray, tails: tuple[float, float]) -> np.ndarray:
    """Return means and quantiles (3, n) of the columns of ``draws`` over those that include them; NaN if none does."""
    moments = np.full((3, draws.shape[1]), np.nan)
    for i in range(0, draws.shape[1], _BLOCK):
        here = included[:, i : i + _BLOCK] != 0
        n = here.sum(axis=0)
        existing = np.flatnonzero(n)
        ordered = np.sort(np.where(here, draws[:, i : i + _BLOCK], np.inf)[:, existing], axis=0)
        last = n[existing] - 1
        rank = np.arange(len(ordered))[:, None]
        moments[0, i + existing] = np.where(rank <= last, ordered, 0.0).sum(axis=0) / n[existing]
        for k, q in enumerate(tails, start=1):
            below = np.floor(q * last).astype(int)
            above, column = np.minimum(below + 1, last), np.arange(len(existing))
            low, high = ordered[below, column], ordered[above, column]
            moments[k, i + existing] = low + (q * last - below) * (high - low)
    return moments


def excluding_zero(draws: np.ndarray) -> float:
    """Return the probability of the largest ellipsoid around the mean of draws (n_draws, n) that excludes zero.

    It is the share of draws that are nearer to their mean than zero is, in units of their covariance.
    """
    mean = draws.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(draws.T, ddof=0).reshape(2 * draws.shape[1:]))
    scaled = (np.vstack([draws - mean, mean]) @ vectors) / np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300)))
    square = (scaled**2).sum(axis=1)
    return float((square[:-1] < square[-1]).mean())
