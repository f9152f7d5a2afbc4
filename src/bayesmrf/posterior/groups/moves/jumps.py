"""Acceptance of splits and merges of groups, with particles of x as an importance sample."""

from __future__ import annotations

from math import log

import numpy as np

from ....states.importance import add_half_particle, log_mean_weight, resample
from ..dirichlet_process import group_totals
from .potential_values import category_counts
from .split_merge import Proposal, before, shifts
from .values import group_counts


def accept_jump(
    rng: np.random.Generator, tried: Proposal, edges: np.ndarray, successes: np.ndarray, n: float, x: np.ndarray
) -> bool:
    """Accept or reject a split or merge; if accepted, resample the particles ``x`` to the new values."""
    counts = group_counts(edges, tried.members, tried.part, 2, x)
    sizes, totals = group_totals(tried.part[tried.members], successes[tried.members], 2)
    return _accept(rng, tried, counts, np.array(before(tried)), np.array(shifts(tried)), sizes, totals, n, x)


def accept_jump_of_products(
    rng: np.random.Generator, tried: Proposal, products: np.ndarray, sums: np.ndarray, n: float, x: np.ndarray
) -> bool:
    """Accept or reject as `accept_jump` for products of scores, with their sums over the edges of both parts in each
    particle, ``products`` (2, n_particles), and those of each edge over the data, ``sums`` (n_edges,).
    """
    totals = np.bincount(tried.part[tried.members], sums[tried.members])
    return _accept(rng, tried, products, np.zeros(2), np.array(shifts(tried)), np.full(2, np.inf), totals, n, x)


def accept_jump_of_potentials(
    rng: np.random.Generator,
    tried: Proposal,
    edges: np.ndarray,
    category: np.ndarray,
    successes: np.ndarray,
    n: float,
    x: np.ndarray,
) -> bool:
    """Accept or reject as `accept_jump` for edges with tables: ``successes`` (n_edges, p), ``category`` (m, m)."""
    p = successes.shape[1]
    parts = [tried.members[tried.part[tried.members] == which] for which in (0, 1)]
    counts = np.concatenate([category_counts(edges, category, members, p, x) for members in parts])
    totals = np.concatenate([successes[members].sum(axis=0) for members in parts])
    sizes = np.repeat([float(len(members)) for members in parts], p)
    old, change = np.concatenate(before(tried)), np.concatenate(shifts(tried))
    return _accept(rng, tried, counts, old, change, sizes, totals, n, x)


def _accept(
    rng: np.random.Generator,
    tried: Proposal,
    counts: np.ndarray,
    before: np.ndarray,
    change: np.ndarray,
    sizes: np.ndarray,
    totals: np.ndarray,
    n: float,
    x: np.ndarray,
) -> bool:
    r"""Decide whether parameters move from ``before`` by ``change``; ``counts`` are their statistics in each particle.

    Z changes by the mean weight of the particles, whose logarithm has the variance v / m and enters the log ratio n
    times: half of n (n + 1) v / m is subtracted (the penalty method, Ceperley and Dewing 1999). That the same particles
    estimate v, and that weights are skewed, is of third order (`bayesmrf.posterior.conditionals.penalty`), which is
    left out: for a move by d posterior standard deviations about :math:`d^3 n^{3/2} / m^2`, or
    :math:`d^3 / (100 \sqrt n)` with ten particles a row.
    """
    log_weights = (change @ counts).astype(np.float64)
    mean_weight = log_mean_weight(log_weights)
    for row, size, value, delta in zip(counts, sizes, before, change, strict=True):
        mean_weight = add_half_particle(mean_weight, row, size, value, delta)
    ratio = change @ totals - n * mean_weight.value
    penalty = 0.5 * n * (n + 1) * mean_weight.spread / x.shape[1]
    if not log(1 - rng.random()) < ratio + tried.log_ratio - penalty:
        return False
    resample(rng, log_weights, x)
    return True
