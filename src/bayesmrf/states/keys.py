r"""A few bits of each particle as a byte, its *key*, and tables over keys.

A sum of couplings times states, w_1 x_1 + ... + w_k x_k, has 2^k possible values. If k is small, a function of it is
computed once for each value instead of once for each particle: the states are the bits of a key, which indexes a table,
and means over particles are sums over the weights of keys. Bytes are processed 64 particles at a time.
"""

from __future__ import annotations

import numpy as np
from numba import uint8, uint32, uint64

from ..compiled import leaf, strict_leaf
from ..rng import next_uint32

_CERTAIN = 2.0**32 - 1
_WAYS = 8  # parallel counters, as neighbours in memory often have the same key


@leaf
def add_states(x, bit, key):
    """Set ``bit`` in the keys of particles with x = +1."""
    bit = uint8(bit)
    for lane in range(len(key) >> 6 << 6):
        key[lane] = uint8(key[lane] | (bit if x[lane] > 0 else uint8(0)))


@leaf
def add_agreements(x, y, bit, key):
    """Set ``bit`` in the keys of particles with x = y."""
    bit = uint8(bit)
    for lane in range(len(key) >> 6 << 6):
        key[lane] = uint8(key[lane] | (bit if x[lane] == y[lane] else uint8(0)))


@leaf
def look_up(key, table, out):
    """Set ``out`` to the table's entry for each particle."""
    for lane in range(len(out) >> 6 << 6):
        out[lane] = table[key[lane]]


@leaf
def weigh_keys(key, weights, n_keys):
    """Sum the weights of the particles with each of the first ``n_keys`` keys."""
    ways = np.zeros((_WAYS, n_keys))
    for lane in range(0, len(key) >> 6 << 6, _WAYS):
        for way in range(_WAYS):
            ways[way, key[lane + way]] += weights[lane + way]
    for way in range(1, _WAYS):
        for k in range(n_keys):
            ways[0, k] += ways[way, k]
    return ways[0]


@strict_leaf
def threshold(p):
    """Return the threshold below which 32 random bits lie with probability p."""
    return uint32(min(max(p * 2.0**32, 0.0), _CERTAIN))


@leaf
def compare(draws, bound, below, above, out):
    """Set ``out`` to ``below`` where a draw is below its bound, else to ``above``."""
    for lane in range(len(draws) >> 6 << 6):
        out[lane] = below if draws[lane] < bound[lane] else above


@leaf
def random_bits(lanes, first, out):
    """Draw 32 random bits for each of the particles from ``first`` on."""
    start = uint64(first)  # an index that may be negative would not be vectorised
    for lane in range(len(out) >> 6 << 6):
        out[lane] = next_uint32(lanes, start + uint64(lane))
