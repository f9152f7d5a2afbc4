"""Enumeration written again: nothing of the package but ``model.graph`` and ``model.fields`` is used.

The formula is that of Liu and Page's model: x in {-1, +1}^d has log weight sum_c theta_c [x_u = x_v] + sum_u h_u x_u,
with theta = (theta_1, ..., theta_r[, h_1, ..., h_d]).
"""

import itertools
import math

import numpy as np


def all_states(d):
    """All states, (2^d, d) in {0, 1}, in lexicographic order."""
    return np.array(list(itertools.product((0, 1), repeat=d)), dtype=np.int8).reshape(2**d, d)


def _statistics(model):
    states = all_states(model.graph.n_nodes)
    columns = [states[:, u] == states[:, v] for u, v in model.graph.edges]
    if model.fields:
        columns += [2 * states[:, u] - 1 for u in range(model.graph.n_nodes)]
    return np.array(columns, dtype=float).reshape(len(columns), len(states)).T


def log_z(model, theta):
    """Log of the sum of weights, added up exactly rounded."""
    log_weight = _statistics(model) @ theta
    top = log_weight.max()
    return top + math.log(math.fsum(np.exp(log_weight - top)))


def probabilities(model, theta):
    """Probability of each row of ``all_states``."""
    return np.exp(_statistics(model) @ theta - log_z(model, theta))


def moments(model, theta):
    """Expectation of the statistics: (agreement of each edge[, mean of x_u for each node])."""
    return probabilities(model, theta) @ _statistics(model)


def state_numbers(states):
    """Row of ``all_states`` that equals each of ``states`` (n_samples, d)."""
    d = states.shape[1]
    return states.astype(np.int64) @ (1 << np.arange(d)[::-1])
