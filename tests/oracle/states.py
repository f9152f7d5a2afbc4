"""Enumeration written again: nothing of the package but `Graph`, ``model.graph`` and ``model.fields`` is used.

The formula is that of Liu and Page's model: x in {-1, +1}^d has log weight sum_c theta_c [x_u = x_v] + sum_u h_u x_u,
with theta = (theta_1, ..., theta_r[, h_1, ..., h_d]).
"""

import itertools
import math

import numpy as np

from bayesmrf.graphs import Graph


def all_states(d):
    """All states, (2^d, d) in {0, 1}, in lexicographic order."""
    return np.array(list(itertools.product((0, 1), repeat=d)), dtype=np.int8).reshape(2**d, d)


def _statistics(model):
    states = all_states(model.graph.n_nodes)
    columns = [states[:, u] == states[:, v] for u, v in model.graph.edges]
    if model.fields:
        columns += [2 * states[:, u] - 1 for u in range(model.graph.n_nodes)]
    return np.array(columns, dtype=float).reshape(len(columns), len(states)).T


def log_sum(a):
    """Log of the sum of exponentials along the last axis; scipy's takes ten times as long where there are few."""
    top = a.max(axis=-1, keepdims=True)
    return np.log(np.exp(a - top).sum(axis=-1)) + top[..., 0]


def normalised(log_weight):
    """Log of the sum of weights, added up exactly rounded, and the probability of each state."""
    top = log_weight.max()
    log_z = top + math.log(math.fsum(np.exp(log_weight - top)))
    return log_z, np.exp(log_weight - log_z)


def log_z(model, theta):
    """Log of the sum of weights."""
    return normalised(_statistics(model) @ theta)[0]


def probabilities(model, theta):
    """Probability of each row of ``all_states``."""
    return normalised(_statistics(model) @ theta)[1]


def moments(model, theta):
    """Expectation of the statistics: (agreement of each edge[, mean of x_u for each node])."""
    return probabilities(model, theta) @ _statistics(model)


def state_numbers(states):
    """Row of ``all_states`` that equals each of ``states`` (n_samples, d)."""
    d = states.shape[1]
    return states.astype(np.int64) @ (1 << np.arange(d)[::-1])


def gradient_of_log_z(engine, model, theta, step=1e-4):
    """Central differences of an engine's log Z; error: step^2 / 6 times the third cumulant, and rounding / step."""
    plan = engine.prepare(model)
    sides = [[engine.infer(model, theta + s * e, plan).log_z for s in (1, -1)] for e in step * np.eye(len(theta))]
    return np.array([(more - less) / (2 * step) for more, less in sides])


def random_graph(rng, d, density):
    """Each pair is an edge with probability ``density``; the order of edges and of their ends is random."""
    pairs = np.stack(np.triu_indices(d, 1), axis=1)
    edges = rng.permutation(pairs[rng.random(len(pairs)) < density])
    return Graph(d, np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1]))
