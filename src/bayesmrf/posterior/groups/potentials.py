"""What samplers of groups of potentials share: their state, its start, and the normal base in the form they need."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import OptionError
from ...priors import DirichletProcess, MultivariateNormal, Normal


class PotentialGrouping(NamedTuple):
    """Groups and their values."""

    groups: np.ndarray  # (n_edges,) int32, labels 0..k-1
    values: np.ndarray  # (k, p) potential of each group
    alpha: float


def base_precision(base: Any, p: int) -> tuple[np.ndarray, float]:
    """Precision of a normal base of p parameters, and the log constant of its density.

    Raises
    ------
    OptionError
        Where the base is not normal, or not of p parameters.
    """
    if isinstance(base, Normal):
        scale = np.atleast_1d(np.asarray(base.scale, dtype=np.float64))
        if scale.shape not in ((1,), (p,)):
            raise OptionError(
                f"base: {scale.size} scales came, one for all or one for each of {p} parameters is wanted"
            )
        covariance = np.diag(np.broadcast_to(scale**2, p))
    elif isinstance(base, MultivariateNormal):
        covariance = base.covariance
        if covariance.shape != (p, p):
            raise OptionError(f"base: a covariance of shape {covariance.shape} came, ({p}, {p}) is wanted")
    else:
        raise OptionError(f"base: {base!r} came, a normal law of {p} parameters is wanted")
    precision = np.linalg.inv(covariance)
    return precision, float(0.5 * (np.linalg.slogdet(precision)[1] - p * np.log(2 * np.pi)))


def initial_potentials(potentials: np.ndarray, prior: DirichletProcess, rng: np.random.Generator) -> PotentialGrouping:
    """k-means on an estimate of all potentials (n_edges, p), K = max(1, floor(alpha ln r)) as in Liu and Page."""
    from sklearn.cluster import KMeans

    potentials = np.round(potentials, 9)  # equal but for rounding is equal
    k = min(max(1, int(prior.alpha_start * np.log(len(potentials)))), len(np.unique(potentials, axis=0)))
    fit = KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(potentials)
    found = PotentialGrouping(fit.labels_.astype(np.int32), fit.cluster_centers_, prior.alpha_start)
    return compact_potentials(found)


def compact_potentials(grouping: PotentialGrouping) -> PotentialGrouping:
    """Relabel groups 0..k-1 in order of first appearance, dropping empty ones."""
    kept, first, labels = np.unique(grouping.groups, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return PotentialGrouping(rank[labels].astype(np.int32), grouping.values[kept[order]].copy(), grouping.alpha)
