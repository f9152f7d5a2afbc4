"""Arithmetic of compiled sweeps: uniform draws, tanh, exp and log of many numbers at a time, and 64 bits of chains.

Functions of the C library do not vectorise. Here exp(-g) = 2^-n exp(r) with |r| < 0.35, exp(r) by Taylor: one loop
fills an array with the bits of 2^-n, the next multiplies by the series. Logarithms are log((1 + z) / (1 - z)) =
2 artanh(z).
"""

from __future__ import annotations

import numpy as np
from numba import float32, int32, uint64

from .leaves import leaf

# Numerator (odd powers) and denominator (even powers) of the minimax rational approximation of tanh on [-9, 9], beyond
# which tanh is 1 to within 3e-8 and a spin is certain. The absolute error is 2e-8, or 4e-7 once evaluated in float32.
BOUND = np.float32(9)
P1, P3, P5, P7, P9 = np.array([0.999999906, 0.133731968, 3.48658085e-3, 2.04718146e-5, 1.3184204e-8], np.float32)
Q2, Q4, Q6, Q8 = np.array([0.467064937, 0.0258419751, 3.27138373e-4, 7.70265487e-7], np.float32)
ONE, HALF, STEP = np.float32(1), np.float32(0.5), np.float32(2.0**-23)
UP, DOWN = np.int8(1), np.int8(-1)  # states of a node
PAIRS, NIBBLES, BYTES = np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
ODD = np.uint64(0x5555555555555555)
LOG_2 = float(np.log(2))
INVERSE_LOG_2 = 1 / LOG_2
SQRT_HALF = int(np.float64(0.5**0.5).view(np.int64))  # its bits
MOST = 700.0  # exp(-g) of more is negligible relative to 1
# The same in float32, with the Taylor series to r^6 for its precision.
LOG_2_F, INVERSE_LOG_2_F, MOST_F = np.float32(np.log(2)), np.float32(1 / np.log(2)), np.float32(80)
C2, C3, C4, C5, C6 = np.array([1 / 2, 1 / 6, 1 / 24, 1 / 120, 1 / 720], np.float32)


@leaf
def power_bits(g):
    """Return the bits of the float64 2^-n, n = g / log 2 rounded, for g from 0 to `MOST`."""
    return np.int64(1023 - np.int32(g * INVERSE_LOG_2 + 0.5)) << 52


@leaf
def exp_rest(g):
    """Return exp(-g) over the 2^-n of `power_bits`, to the last bits of float64."""
    r = np.int32(g * INVERSE_LOG_2 + 0.5) * LOG_2 - g
    series = 1.0
    for n in range(13, 0, -1):
        series = 1 + series * r * (1 / n)
    return series


@leaf
def power_bits_f(g):
    """Return `power_bits` of a float32 from 0 to `MOST_F`."""
    return int32(int32(127) - int32(g * INVERSE_LOG_2_F + HALF)) << int32(23)


@leaf
def exp_rest_f(g):
    """Return `exp_rest` of a float32."""
    r = float32(int32(g * INVERSE_LOG_2_F + HALF)) * LOG_2_F - g
    return ONE + r * (ONE + r * (C2 + r * (C3 + r * (C4 + r * (C5 + r * C6)))))


@leaf
def exp_rows_f(rows, first, last, top, room):
    """Replace float32 logarithms by their exponentials relative to the largest of each column, from first to last - 1.

    ``top`` (last - first,) becomes the largest; ``room`` is work space of this length, a multiple of 64.
    """
    power, size = room.view(np.int32), (last - first) >> 6 << 6
    for k in range(len(rows)):
        row = rows[k, first:last]
        for lane in range(size):
            top[lane] = max(top[lane], row[lane]) if k > 0 else row[lane]
    for k in range(len(rows)):
        row = rows[k, first:last]
        for lane in range(size):
            row[lane] = min(top[lane] - row[lane], MOST_F)
            power[lane] = power_bits_f(row[lane])
        for lane in range(size):
            row[lane] = exp_rest_f(row[lane]) * room[lane]


@leaf
def tanh_ratio(h):
    """Return numerator and denominator (positive) of tanh(h), so that u < tanh(h) needs no division."""
    h = min(max(h, -BOUND), BOUND)
    y = h * h
    return h * (P1 + y * (P3 + y * (P5 + y * (P7 + y * P9)))), ONE + y * (Q2 + y * (Q4 + y * (Q6 + y * Q8)))


@leaf
def symmetric_uniform(bits):
    """Convert the upper 24 of 32 random bits to a uniform number on the odd multiples of 2^-24 in (-1, 1)."""
    return (float32(int32(int32(bits) >> int32(8))) + HALF) * STEP


@leaf
def popcount(word):
    """Count the ones in a 64-bit word; LLVM compiles this form to one instruction."""
    word = word - ((word >> uint64(1)) & ODD)
    word = (word & PAIRS) + ((word >> uint64(2)) & PAIRS)
    word = (word + (word >> uint64(4))) & NIBBLES
    return (word * BYTES) >> uint64(56)
