r"""Belief propagation over nodes with m states, compiled; see `bayesmrf.inference.bethe.engine`.

A message is the logarithm of a function of the receiver's state, less its mean over the m states:

.. math:: u_{ki}(x) = \log \big(e^{J_{ki}} c_{ki}(x) + 1 - c_{ki}(x)\big) + \text{const}, \qquad
          c_{ki}(x) \propto \exp \Big(h_{kx} + \sum_{j \ne i} u_{jk}(x)\Big).
"""

from __future__ import annotations

import numpy as np

from ...compiled import leaf
from ..mean_field import softmax

TINY = 1e-300  # replaces zero in a logarithm


@leaf
def _ahead(plan, p, initial, tolerance):
    """Initialise the messages within the component whose first node is i, (n_nodes, m).

    They start at zero, except that if states are tied for the largest sum of fields (with the same field at every node)
    the last of them starts ahead by twice ``initial``: equal beliefs would stay equal.
    """
    n, m = p.field.shape
    total = np.zeros((n, m))
    for i in range(n):
        total[plan.root[i]] += p.field[i]
    tied = np.ones((n, m), np.bool_)
    for i in range(n):
        best = np.argmax(total[plan.root[i]])
        for k in range(m):
            # A start below the tolerance would stop the iteration.
            if abs(p.field[i, k] - p.field[i, best]) > tolerance:
                tied[plan.root[i], k] = False
    ahead = np.zeros((n, m))
    for i in range(n):
        if tied[i].sum() > 1:
            ahead[i] = -2 * initial / m
            ahead[i, np.flatnonzero(tied[i])[-1]] += 2 * initial
    return ahead


@leaf
def next_node(plan, n_iterations, step):
    """Return the node of a step of a sweep: on a forest first from the leaves to the roots, then back to the leaves."""
    return plan.order[len(plan.order) - 1 - step if n_iterations % 2 == 1 else step]


@leaf
def _total(p, message, i, total):
    """Fill ``total`` with the field of node i and all messages to it."""
    for x in range(len(total)):
        total[x] = p.field[i, x]
        for k in range(p.starts[i], p.starts[i + 1]):
            total[x] += message[k, x]


@leaf
def categorical_propagate(plan, p, initial, damping, max_iterations, tolerance):
    """Iterate messages (2 n_edges, m) to the fixed point; return them, the number of sweeps and the last change."""
    n, m = p.field.shape
    ahead = _ahead(plan, p, initial, tolerance)
    message = np.empty((len(p.neighbours), m))
    for i in range(n):
        for k in range(p.starts[i], p.starts[i + 1]):
            message[k] = ahead[plan.root[i]]
    total = np.empty(m)
    cavity = np.empty(m)
    q = np.empty(m)
    new = np.empty(m)
    n_iterations = 0
    change = tolerance
    while n_iterations < max_iterations and not change < tolerance:
        n_iterations += 1
        change = 0.0
        for step in range(n):
            i = next_node(plan, n_iterations, step)
            _total(p, message, i, total)
            for k in range(p.starts[i], p.starts[i + 1]):
                coupling = p.coupling[p.edge_of[k]]
                for x in range(m):
                    cavity[x] = total[x] - message[k, x]
                softmax(cavity, q)
                # The larger of the two factors is 1.
                agree, differ = np.exp(min(coupling, 0.0)), np.exp(min(-coupling, 0.0))
                mean = 0.0
                for x in range(m):
                    # 1 - q[x], without cancellation.
                    rest = 0.0
                    for y in range(m):
                        if y != x:
                            rest += q[y]
                    new[x] = np.log(max(agree * q[x] + differ * rest, TINY))
                    mean += new[x] / m
                for x in range(m):
                    difference = new[x] - mean - message[plan.reverse[k], x]
                    change = max(change, abs(difference))
                    message[plan.reverse[k], x] += (1 - damping) * difference
    return message, n_iterations, change


@leaf
def categorical_beliefs(plan, p, message):
    """Return log Z_B without the offset, P(x_u = x_v) of each edge and P(x_i = k) of each node."""
    n, m = p.field.shape
    total = np.empty((n, m))
    node = np.empty((n, m))
    log_z = 0.0
    for i in range(n):
        _total(p, message, i, total[i])
        log_z -= (p.starts[i + 1] - p.starts[i] - 1) * softmax(total[i], node[i])
    pair = np.empty(len(p.coupling))
    q = np.empty(m)
    r = np.empty(m)
    for i in range(n):
        for k in range(p.starts[i], p.starts[i + 1]):
            j, e = p.neighbours[k], p.edge_of[k]
            if i < j:
                log_z += softmax(total[i] - message[k], q) + softmax(total[j] - message[plan.reverse[k]], r)
                same, other = 0.0, 0.0
                for x in range(m):
                    for y in range(m):
                        if x == y:
                            same += q[x] * r[y]
                        else:
                            other += q[x] * r[y]
                same, other = p.coupling[e] + np.log(max(same, TINY)), np.log(max(other, TINY))
                pair[e] = 1 / (1 + np.exp(other - same))
                log_z += max(same, other) + np.log1p(np.exp(-abs(same - other)))
    return log_z, pair, node
