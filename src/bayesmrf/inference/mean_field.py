"""A lower bound from independent nodes: naive mean field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import BINARY, MOMENTS, POTTS, Inference, Kind, Model
from ..compiled import copy_to, leaf
from ..models.categorical import Categorical, compiled_form
from .iterative import Iterative


@dataclass(frozen=True)
class MeanField(Iterative):
    r"""Engine of the best distribution with independent nodes.

    By Jensen's inequality, for any q with means m (Murray and Ghahramani 2004, eq. 11),

    .. math:: \log Z \ge \sum_{(u,v)} J_{uv} m_u m_v + \sum_i h_i m_i + \sum_i H(m_i),

    with H the entropy of a spin with mean m_i. Given the others, the best mean is :math:`m_i = \tanh(h_i + \sum_j
    J_{ij} m_j)`; setting one node after another to it never decreases the bound. At the maximum, the gradient of the
    bound is E_q[s], with E_q[x_u x_v] = m_u m_v: these are the moments.

    The bound has several maxima if couplings are strong, and m = 0 is stationary without fields. So the ascent starts
    from m = tanh(h), all m = 1 and all m = -1, and the highest of the three maxima is used. Global flips permute the
    starts, so that log Z has the symmetry of the model.

    With m states a node the best q_i(k) is proportional to exp(h_ik + sum_j J_ij q_j(k)), and the m + 1 starts are q_i
    proportional to exp(h_ik), and all nodes in one state.

    Parameters
    ----------
    max_iterations : int
        Largest number of sweeps of an ascent. Without convergence the result is still a lower bound.
    tolerance : float
        Largest change of a mean in a sweep at convergence.
    """

    name = "mean-field"
    families = frozenset({BINARY, POTTS})
    kind = Kind.LOWER

    def infer(self, model: Model, theta: np.ndarray, plan: None, want: str = MOMENTS, state: Any = None) -> Inference:
        """Compute log Z and moments together."""
        p = compiled_form(model, theta)
        many, (u, v) = isinstance(p, Categorical), p.edges.T
        ascend = solve_categorical if many else solve
        log_z, means, n_iterations, change = ascend(p, self.max_iterations, self.tolerance)
        best = int(np.argmax(log_z))
        node = means[best] if many else np.tanh(means[best])
        pair = (node[u] * node[v]).sum(axis=1) if many else node[u] * node[v]
        moments = model.moments(pair, node)
        return self._answer(log_z[best] + p.offset, moments, int(n_iterations[best]), float(change[best]))


@leaf
def entropy(local):
    """Return the entropy log 2cosh(local) - local tanh(local) of a spin, without cancellation."""
    e = np.exp(-2 * abs(local))
    return np.log1p(e) + 2 * abs(local) * e / (1 + e)


@leaf
def solve(p, max_iterations, tolerance):
    """Ascend from each start; return bound (without offset), fields (n_starts, n_nodes), m = tanh, sweeps, change."""
    n = len(p.field)
    local = np.empty((3, n))
    log_z = np.zeros(3)
    n_iterations = np.zeros(3, np.int64)
    change = np.zeros(3)
    for start in range(3):
        mean = np.tanh(p.field) if start == 0 else np.full(n, 3.0 - 2.0 * start)
        change[start] = tolerance
        while n_iterations[start] < max_iterations and not change[start] < tolerance:
            n_iterations[start] += 1
            change[start] = 0.0
            for i in range(n):
                total = p.field[i]
                for k in range(p.starts[i], p.starts[i + 1]):
                    total += p.coupling[p.edge_of[k]] * mean[p.neighbours[k]]
                new = np.tanh(total)
                change[start] = max(change[start], abs(new - mean[i]))
                local[start, i] = total
                mean[i] = new
        for i in range(n):
            log_z[start] += p.field[i] * mean[i] + entropy(local[start, i])
        for e in range(len(p.coupling)):
            log_z[start] += p.coupling[e] * mean[p.edges[e, 0]] * mean[p.edges[e, 1]]
    return log_z, local, n_iterations, change


@leaf
def softmax(log_weight, q):
    """Fill ``q`` with probabilities proportional to exp(log_weight); return the log of their sum."""
    top = log_weight.max()
    total = 0.0
    for k in range(len(q)):
        q[k] = np.exp(log_weight[k] - top)
    for k in range(len(q)):  # a loop of its own: see docs/notes/compiled_code.md
        total += q[k]
    for k in range(len(q)):
        q[k] /= total
    return top + np.log(total)


@leaf
def solve_categorical(p, max_iterations, tolerance):
    """Ascend from each start; return bound (without offset), q (n_starts, n_nodes, m), sweeps, change."""
    n, m = p.field.shape
    q = np.zeros((m + 1, n, m))
    log_z = np.zeros(m + 1)
    n_iterations = np.zeros(m + 1, np.int64)
    change = np.zeros(m + 1)
    local = np.empty(m)
    new = np.empty(m)
    for start in range(m + 1):
        for i in range(n):
            if start == 0:
                softmax(p.field[i], q[0, i])
            else:
                q[start, i, m - start] = 1.0
        change[start] = tolerance
        while n_iterations[start] < max_iterations and not change[start] < tolerance:
            n_iterations[start] += 1
            change[start] = 0.0
            log_z[start] = 0.0
            for i in range(n):
                copy_to(local, p.field[i])
                for a in range(p.starts[i], p.starts[i + 1]):
                    for k in range(m):
                        local[k] += p.coupling[p.edge_of[a]] * q[start, p.neighbours[a], k]
                log_sum = softmax(local, new)
                for k in range(m):
                    change[start] = max(change[start], abs(new[k] - q[start, i, k]))
                    q[start, i, k] = new[k]
                    # Entropy and own field: -log q_k + h_k = log_sum - local_k + h_k.
                    log_z[start] += new[k] * (log_sum - local[k] + p.field[i, k])
        for e in range(len(p.coupling)):
            for k in range(m):
                log_z[start] += p.coupling[e] * q[start, p.edges[e, 0], k] * q[start, p.edges[e, 1], k]
    return log_z, q, n_iterations, change
