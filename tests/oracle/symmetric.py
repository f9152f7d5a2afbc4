"""The model with a symmetric table for each edge, by enumeration written from its definition."""

import itertools

import numpy as np

from tests.oracle.potts import all_states
from tests.oracle.states import normalised


def pairs(m, fields):
    """Unordered pairs of states with a parameter: all but those of the reference."""
    every = itertools.combinations_with_replacement(range(m), 2)
    return [p for p in every if (0 not in p if fields else p != (0, 0))]


def features(model):
    """Every state and its statistics, by loops over the definition."""
    d, m = model.graph.n_nodes, model.n_states
    states = all_states(d, m)
    columns = [
        np.array([tuple(sorted((x[u], x[v]))) == pair for x in states])
        for u, v in model.graph.edges
        for pair in pairs(m, model.fields)
    ]
    if model.fields:
        columns += [states[:, i] == k for i in range(d) for k in range(1, m)]
    return states, np.array(columns, dtype=float).reshape(len(columns), len(states)).T


def law(model, theta):
    """Log Z, and the probability of each state."""
    return normalised(features(model)[1] @ theta)
