"""Whether a split or merge of groups is accepted, with particles of x as an importance sample."""

from __future__ import annotations

from math import log

import numpy as np

from ..dirichlet_process import group_totals
from .split_merge import Proposal, shifts
from .values import add_half_particle, group_counts, log_mean_weight, resample


def accept_jump(
    rng: np.random.Generator, tried: Proposal, edges: np.ndarray, successes: np.ndarray, n: float, x: np.ndarray
) -> bool:
    r"""Accept or reject; where accepted, the particles ``x`` are resampled to be at the new values.

    Z changes by the mean weight of the particles. The noise of its logarithm has a known variance v / m, and n times
    it is in the log ratio: half of n (n + 1) v / m is taken off (the penalty method, Ceperley and Dewing 1999).
    """
    counts = group_counts(edges, tried.members, tried.part, 2, x)
    change = np.array(shifts(tried))
    log_weights = (change @ counts).astype(np.float64)
    found = log_mean_weight(log_weights)
    sizes, totals = group_totals(tried.part[tried.members], successes[tried.members], 2)
    for row, size, delta in zip(counts, sizes, change, strict=True):
        found = add_half_particle(found, row, size, delta)
    ratio = change @ totals - n * found.value
    penalty = 0.5 * n * (n + 1) * found.spread / x.shape[1]
    if not log(1 - rng.random()) < ratio + tried.log_ratio - penalty:
        return False
    resample(rng, log_weights, x, counts)
    return True
