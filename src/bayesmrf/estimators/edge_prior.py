"""Warnings about a prior of the edges that dominates the data."""

from __future__ import annotations

import warnings
from math import log, pi

import numpy as np
from scipy import stats

from ..errors import PriorWarning
from ..models.boltzmann import Boltzmann

_ALL = 0.95  # share of the candidates that counts as all of them
_SUPPORTED = log(3)  # log Bayes factor above which the data support an edge
_FALSE_ALARM = 1e-6  # significance level of dependence


def log_bayes_factors(weights: np.ndarray, slab_scale: np.ndarray, cauchy: bool) -> np.ndarray:
    """Return the log Bayes factor of each edge against its absence, with the other edges as in the posterior.

    By Savage and Dickey it is the slab's density at 0 over that of the weight given the data, with a normal
    approximation of the posterior of the weight; NaN if fewer than two draws have the edge.

    Parameters
    ----------
    weights : (n_draws, n_edges) array
        0 where an edge is absent.
    slab_scale : (n_draws,) array
    cauchy : bool
        Whether the slab is Cauchy; otherwise it is normal.
    """
    top = -np.log(slab_scale).mean() - (log(pi) if cauchy else 0.5 * log(2 * pi))
    there = weights != 0
    n = there.sum(axis=0)
    enough = np.maximum(n, 1)
    mean = weights.sum(axis=0) / enough
    variance = (there * (weights - mean) ** 2).sum(axis=0) / enough
    with np.errstate(divide="ignore", invalid="ignore"):
        found = top + 0.5 * np.log(2 * pi * variance) + 0.5 * mean**2 / variance
    return np.where(n > 1, found, np.nan)


def strongest_pair(model: Boltzmann, s_bar: np.ndarray, n: float) -> tuple[str, float, float]:
    """Return the candidate whose ends are the most correlated in the data, the correlation, and its p-value.

    The p-value is that of the largest of all correlations (Bonferroni).
    """
    r, (u, v) = model.n_edges, model.graph.edges.T
    p = s_bar[r:]
    spread = np.sqrt(p * (1 - p))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = np.nan_to_num((s_bar[:r] - p[u] * p[v]) / (spread[u] * spread[v]), nan=0.0)
    e = int(np.abs(correlation).argmax())
    p_value = r * stats.chi2.sf(n * correlation[e] ** 2, 1)
    return model.feature_names[e], float(correlation[e]), float(p_value)


def warn_of_prior(
    weights: np.ndarray, slab_scale: np.ndarray, cauchy: bool, model: Boltzmann, s_bar: np.ndarray | None, n: float
) -> None:
    """Warn if nearly all edges are included without support by the data, or none despite clear dependence."""
    found = int(((weights != 0).mean(axis=0) > 0.5).sum())
    r = weights.shape[1]
    if found >= _ALL * r:
        supported = int((log_bayes_factors(weights, slab_scale, cauchy) > _SUPPORTED).sum())
        if supported <= r / 2:
            warnings.warn(
                f"{found} of {r} candidate edges have an inclusion above 0.5, but the data by themselves support only "
                f"{supported} of them (Bayes factor > 3): the prior puts the others in. Use a fixed "
                "density and a slab of fixed scale, such as SpikeSlab(density=0.5, slab=Cauchy(1.0)).",
                PriorWarning,
                stacklevel=3,
            )
    elif found == 0 and s_bar is not None:
        pair, correlation, p_value = strongest_pair(model, s_bar, n)
        if p_value < _FALSE_ALARM:
            warnings.warn(
                f"No candidate edge has an inclusion above 0.5, but the ends of {pair} have a correlation of "
                f"{correlation:.2f} (p = {p_value:.0e} over all pairs): the prior keeps the edges out. Use a larger "
                "density, such as SpikeSlab(density=0.5), or a wider slab.",
                PriorWarning,
                stacklevel=3,
            )
