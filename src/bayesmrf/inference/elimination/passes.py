"""The passes of variable elimination, compiled: forward for log Z, back for moments and samples.

They use the `bayesmrf.inference.elimination.engine.EliminationPlan` of a graph.
"""

from __future__ import annotations

import numpy as np

from ...compiled import copy_to, leaf
from ...compiled.lanes import MOST, exp_rest, power_bits


@leaf
def spread(k, m, subset, low, high):
    """Map each entry s of the parent's bag to the entry ``low[s % n_low] + high[s // n_low]`` of the child's table.

    It gathers the digits of s, to base m, that are in ``subset``. Two lists of about m^(k/2) numbers suffice for all
    m^k entries. Returns n_low and n_high, the lengths of the lists.
    """
    low[0] = 0
    high[0] = 0
    stride, size = 1, 1
    n_low = 1
    for b in range(k):
        if b == (k + 1) // 2:
            n_low, size = size, 1
        part = low if b < (k + 1) // 2 else high
        inside = subset >> b & 1
        for digit in range(1, m):
            for s in range(size):
                part[digit * size + s] = part[s] + inside * digit * stride
        if inside:
            stride *= m
        size *= m
    return (size, 1) if k < 2 else (n_low, size)


@leaf
def _sum_out(up, down, table):
    """Set ``table`` = log(exp(up) + exp(down)) and ``up`` to exp(up) / (exp(up) + exp(down)); ``down`` is overwritten.

    With g = |up - down|, both follow from exp(-g) and log(1 + exp(-g)), whose series (see `bayesmrf.compiled.lanes`)
    agree with the C library to the last bits: log(1 + t) = 2 artanh(t / (2 + t)), argument < 1/3.
    """
    power = down.view(np.int64)
    for s in range(len(table)):
        gap = up[s] - down[s]
        table[s] = max(up[s], down[s])
        up[s] = gap
        power[s] = power_bits(min(abs(gap), MOST))
    for s in range(len(table)):
        ratio = exp_rest(min(abs(up[s]), MOST)) * down[s]
        z = ratio / (2 + ratio)
        series = 0.0
        for n in range(35, 0, -2):
            series = series * z * z + 1 / n
        table[s] += 2 * z * series
        up[s] = (1.0 if up[s] > 0 else ratio) / (1 + ratio)


@leaf
def less_first(table):
    """Subtract the first entry from all, and return it: differences stay small while the sums grow with the graph."""
    first = table[0]
    for s in range(len(table)):
        table[s] -= first
    return first


@leaf
def forward(plan, coupling, field, message, conditional):
    """Fill ``message`` (each table minus its first entry) and, if it is not empty, ``conditional``; return log Z."""
    n = len(plan.order)
    up = np.empty(1 << plan.width)
    down = np.empty(1 << plan.width)
    low = np.empty(1 << (plan.width + 1) // 2, np.int64)
    high = np.empty_like(low)
    log_z = 0.0
    for i in range(n):
        start, k = plan.starts[i], plan.starts[i + 1] - plan.starts[i]
        up[0] = field[plan.order[i]]
        for b in range(k):
            e = plan.bag_edges[start + b]
            c = coupling[e] if e >= 0 else 0.0
            for s in range(1 << b):
                up[(1 << b) + s] = up[s] + c
                up[s] -= c
        for s in range(1 << k):
            down[s] = -up[s]
        for j in plan.children[plan.child_starts[i] : plan.child_starts[i + 1]]:
            table = message[plan.tables[j] : plan.tables[j + 1]]
            half = len(table) // 2
            n_low, n_high = spread(k, 2, plan.subset[j], low, high)
            for t in range(n_high):
                down_part, up_part = table[high[t] : half], table[half + high[t] :]
                for s in range(n_low):
                    down[t * n_low + s] += down_part[low[s]]
                    up[t * n_low + s] += up_part[low[s]]
        table = message[plan.tables[i] : plan.tables[i + 1]]
        _sum_out(up[: 1 << k], down[: 1 << k], table)
        if len(conditional) > 0:
            copy_to(conditional[plan.tables[i] : plan.tables[i + 1]], up)
        log_z += less_first(table)
    return log_z


@leaf
def log_z_of(plan, coupling, field):
    """Return log Z without the offset."""
    return forward(plan, coupling, field, np.empty(plan.tables[-1]), np.empty(0))


@leaf
def moments_of(plan, coupling, field):
    """Return log Z without the offset, E[x_u x_v] of each edge and E[x_v] of each node."""
    n = len(plan.order)
    message = np.empty(plan.tables[-1])
    conditional = np.empty(plan.tables[-1])
    log_z = forward(plan, coupling, field, message, conditional)
    # The messages are no longer needed; the marginals of the bags overwrite them.
    marginal = message
    pair = np.empty(len(coupling))
    node = np.empty(n)
    up = np.empty(1 << plan.width)
    down = np.empty(1 << plan.width)
    low = np.empty(1 << (plan.width + 1) // 2, np.int64)
    high = np.empty_like(low)
    for i in range(n - 1, -1, -1):
        start, k = plan.starts[i], plan.starts[i + 1] - plan.starts[i]
        first = plan.tables[i]
        if k == 0:
            marginal[first] = 1.0
        for s in range(1 << k):
            up[s] = marginal[first + s] * conditional[first + s]
            down[s] = marginal[first + s] - up[s]
        for j in plan.children[plan.child_starts[i] : plan.child_starts[i + 1]]:
            table = marginal[plan.tables[j] : plan.tables[j + 1]]
            half = len(table) // 2
            table[:] = 0.0
            n_low, n_high = spread(k, 2, plan.subset[j], low, high)
            for t in range(n_high):
                down_part, up_part = table[high[t] : half], table[half + high[t] :]
                for s in range(n_low):
                    down_part[low[s]] += down[t * n_low + s]
                    up_part[low[s]] += up[t * n_low + s]
        # E[x_v x_u] is a signed sum of P(+1, x_N) - P(-1, x_N); bits are summed out one by one, the highest first.
        for s in range(1 << k):
            up[s] -= down[s]
        for b in range(k - 1, -1, -1):
            difference = 0.0
            for s in range(1 << b):
                difference += up[(1 << b) + s] - up[s]
                up[s] += up[(1 << b) + s]
            if plan.bag_edges[start + b] >= 0:
                pair[plan.bag_edges[start + b]] = difference
        node[plan.order[i]] = up[0]
    return log_z, pair, node


@leaf
def sample_states(plan, coupling, field, n_samples, rng):
    """Sample independent exact states (n_samples, n_nodes) in {0, 1}."""
    n = len(plan.order)
    message = np.empty(plan.tables[-1])
    conditional = np.empty(plan.tables[-1])
    forward(plan, coupling, field, message, conditional)
    states = np.empty((n_samples, n), np.int8)
    for t in range(n_samples):
        x = states[t]
        for i in range(n - 1, -1, -1):
            entry = plan.tables[i]
            for e in range(plan.starts[i], plan.starts[i + 1]):
                entry += x[plan.bags[e]] << (e - plan.starts[i])
            x[plan.order[i]] = rng.random() < conditional[entry]
    return states
