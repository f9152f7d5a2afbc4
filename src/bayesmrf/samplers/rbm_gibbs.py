r"""Block Gibbs sampling of restricted Boltzmann machines, compiled.

All hidden units are drawn at once given the visible ones, and all visible ones given the hidden,

.. math:: p(z_k = 1 \mid x) = \sigma(\beta_k + W_k x), \qquad p(x_d = 1 \mid z) = \sigma(\alpha_d + z^T W_d).

The fields of many chains are one matrix product. 64 generators serve the units in turn, so that draws of any number of
units vectorise.
"""

from __future__ import annotations

import numpy as np

from ..compiled import leaf
from ..compiled.lanes import HALF, ONE, symmetric_uniform, tanh_ratio
from ..models.rbm import RBMWeights
from ..rng import lane_generators, next_uint32


def generators(rng: np.random.Generator) -> np.ndarray:
    """Make the 64 generators of `draw_units`, uint32 (4, 64)."""
    return lane_generators(rng, 1, 64)[0]


def sweep(weights: RBMWeights, visible: np.ndarray, n_sweeps: int, lanes: np.ndarray) -> np.ndarray:
    """Run ``n_sweeps`` sweeps of all hidden and visible units; return the visible states (n_chains, n_visible)."""
    x = np.ascontiguousarray(visible, dtype=np.float32)
    w, alpha, beta = (part.astype(np.float32) for part in weights)
    z = np.empty((len(x), len(beta)), np.float32)
    for _ in range(n_sweeps):
        draw_units(x @ w.T, beta, lanes, z)
        draw_units(z @ w, alpha, lanes, x)
    return x.astype(np.int8)


@leaf
def draw_units(field, bias, lanes, units):
    """Draw ``units`` from their probabilities sigma(field + bias), which overwrite ``field``; both (n, m)."""
    for i in range(len(field)):
        for j in range(len(bias)):
            field[i, j] = HALF * (field[i, j] + bias[j])
    flat, drawn = field.reshape(-1), units.reshape(-1)
    for first in range(0, len(flat), 64):
        for lane in range(min(64, len(flat) - first)):
            p, q = tanh_ratio(flat[first + lane])
            drawn[first + lane] = symmetric_uniform(next_uint32(lanes, lane)) * q < p
            flat[first + lane] = HALF + HALF * (p / q)


@leaf
def mean_units(field, bias):
    """Replace ``field`` (n, m) by the probabilities sigma(field + bias)."""
    for i in range(len(field)):
        for j in range(len(bias)):
            p, q = tanh_ratio(HALF * (field[i, j] + bias[j]))
            field[i, j] = HALF * (ONE + p / q)
