"""Systematic resampling of weighted states."""

from __future__ import annotations

import numpy as np

from ..compiled import strict_leaf


@strict_leaf
def systematic(rng, weights):
    """Resample systematically; return the particles drawn twice, and those not drawn, which become their copies.

    Returns
    -------
    spare, dead : int arrays of the same length
        Particle ``dead[k]`` becomes a copy of ``spare[k]``; one drawn c times is c - 1 times in ``spare``.
    """
    m = len(weights)
    scale = m / weights.sum()
    spare, dead = np.empty(m, np.int64), np.empty(m, np.int64)
    n_spare, n_dead, drawn, position = 0, 0, 0, rng.random()
    for p in range(m):
        position += scale * weights[p]
        copies = max(0, min(int(position), m) - drawn)
        drawn += copies
        # Written always, and kept by the counter: a branch would be mispredicted for many particles.
        dead[n_dead] = spare[n_spare] = p
        n_dead += int(copies == 0)
        n_spare += int(copies > 1)
        for _ in range(copies - 2):
            spare[n_spare] = p
            n_spare += 1
    n_moved = min(n_spare, n_dead)
    return spare[:n_moved], dead[:n_moved]


@strict_leaf
def copy_columns(rows, spare, dead):
    """Let the columns ``dead`` of an array be copies of ``spare``."""
    for i in range(len(rows)):
        for k in range(len(dead)):
            rows[i, dead[k]] = rows[i, spare[k]]
