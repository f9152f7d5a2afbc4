"""Arithmetic of compiled sweeps: one uniform draw, one tanh and 64 bits of many chains at a time."""

from __future__ import annotations

import numpy as np
from numba import float32, int32, uint64

from .compiled import leaf

# Numerator (odd powers) and denominator (even powers) of the minimax rational approximation of tanh on [-9, 9], beyond
# which tanh is 1 to within 3e-8 and a spin is certain. The absolute error is 2e-8, or 4e-7 once evaluated in float32.
BOUND = np.float32(9)
P1, P3, P5, P7, P9 = np.array([0.999999906, 0.133731968, 3.48658085e-3, 2.04718146e-5, 1.3184204e-8], np.float32)
Q2, Q4, Q6, Q8 = np.array([0.467064937, 0.0258419751, 3.27138373e-4, 7.70265487e-7], np.float32)
ONE, HALF, STEP = np.float32(1), np.float32(0.5), np.float32(2.0**-23)
PAIRS, NIBBLES, BYTES = np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
ODD = np.uint64(0x5555555555555555)


@leaf
def tanh_ratio(h):
    """Numerator and denominator (positive) of tanh(h), so that u < tanh(h) needs no division."""
    h = min(max(h, -BOUND), BOUND)
    y = h * h
    return h * (P1 + y * (P3 + y * (P5 + y * (P7 + y * P9)))), ONE + y * (Q2 + y * (Q4 + y * (Q6 + y * Q8)))


@leaf
def symmetric_uniform(bits):
    """Uniform on the odd multiples of 2^-24 in (-1, 1), of the upper 24 of 32 random bits."""
    return (float32(int32(int32(bits) >> int32(8))) + HALF) * STEP


@leaf
def popcount(word):
    """Number of ones in a 64-bit word; LLVM knows this form and makes one instruction of it."""
    word = word - ((word >> uint64(1)) & ODD)
    word = (word & PAIRS) + ((word >> uint64(2)) & PAIRS)
    word = (word + (word >> uint64(4))) & NIBBLES
    return (word * BYTES) >> uint64(56)
