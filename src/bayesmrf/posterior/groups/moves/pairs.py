r"""Joint reassignment of two edges that are close to each other.

If two clusters of strongly coupled nodes are joined by two edges, the data determine little but the sum of the two
parameters: moves of single edges cannot leave a wrong pair of groups, as each would cost tens of nats. The two
statistics have four states, whose probabilities P in the current model give the likelihood of both parameters exactly,

.. math:: \log L(\theta_i + \delta, \theta_j + \epsilon) - \log L = S_i \delta + S_j \epsilon
          - n \log \sum_{a, b \in \{0, 1\}} P_{ab} e^{a \delta + b \epsilon}.

Both groups are drawn jointly, by Gibbs sampling over the existing groups and two new ones (Neal 2000, algorithm 8, for
a block of two): a group without other edges is one of the new ones, the others have values from the base distribution.
If edges may be absent, absence is another choice, so that edge u-v can replace edge u-w, where v and w are similar in
the data (`bayesmrf.posterior.conditionals.rivals`).

Pairs with a small posterior correlation are skipped. The odds ratio P_11 P_00 / (P_10 P_01) is the same at all values
of the two parameters, and gives the correlation of the two statistics where both agree with the data
(`screened_correlation`), which is that of the two parameters in the posterior. As the choice does not depend on the two
parameters, the posterior is invariant.
"""

from __future__ import annotations

from math import exp, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from ....compiled import leaf, strict_leaf
from ....states.cluster_flips import flip_near
from ....states.memory import TILE
from ....states.refresh import edge_moment, move_to
from ....states.weights import n_effective
from ...conditionals.noisy_draws import more
from ..dirichlet_process import ABSENT, logit_beta_variate, open_group, put, take_out
from ..prior import log_odds_absent
from ..scans import MATERIAL, N_FLIPS

_CORRELATED = 0.3  # pairs with less correlation are skipped
_N_LOOKED_AT = 1024  # particles from which it is estimated
_NEW = -2  # label of a new group among the choices
_SMALL = 1e-9
_DROP = 40.0  # choices e^-40 times as probable as the best are never drawn


@leaf
def _weigh_agreements(x_u, x_v, y_u, y_v, weights):
    """Sum the weights of all particles, and of those in which the ends of both edges agree, of either edge."""
    both, first, second, total = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for lane in range(len(x_u) >> 6 << 6):
        w = weights[lane]
        a, b = w if x_u[lane] == x_v[lane] else np.float32(0), w if y_u[lane] == y_v[lane] else np.float32(0)
        both += a if y_u[lane] == y_v[lane] else np.float32(0)
        first += a
        second += b
        total += w
    return both, first, second, total


@strict_leaf
def near_edge(rng, graph, i):
    """Choose another edge near edge i, or a rival; -1 if there is none.

    The former has an end in common with edge i, or with a neighbour of an end.
    """
    k = graph.rivals.shape[1]
    if k > 0 and rng.random() < 0.5:
        return graph.rivals[i, int(rng.random() * k)]
    node = graph.edges[i, int(rng.random() < 0.5)]
    if rng.random() < 0.5:
        first = graph.starts[node]
        node = graph.neighbours[first + int(rng.random() * (graph.starts[node + 1] - first))]
    first = graph.starts[node]
    j = graph.edge_of[first + int(rng.random() * (graph.starts[node + 1] - first))]
    return j if j != i else -1


@strict_leaf
def screened_correlation(p11, p10, p01, p00, p, q):
    """Return the correlation of events of probabilities p and q with the odds ratio of p11 to p00 (Plackett)."""
    excess = p11 * p00 / (p10 * p01) - 1
    if abs(excess) < _SMALL:
        return 0.0
    c = 1 + (p + q) * excess
    both = 2 * (excess + 1) * p * q / (c + sqrt(max(0.0, c * c - 4 * excess * (excess + 1) * p * q)))
    return (both - p * q) / sqrt(p * (1 - p) * q * (1 - q))


@strict_leaf
def _agreements(edges, x, weights, i, j, m):
    """Weigh the particles in which edges i and j agree: both, i alone, j alone, neither.

    These are the first ``m`` particles, and one more.
    """
    u, v, y, z = x[edges[i, 0]], x[edges[i, 1]], x[edges[j, 0]], x[edges[j, 1]]
    both, first, second, total = 0.0, 0.0, 0.0, 0.0
    for start in range(0, m, TILE):
        at = slice(start, min(start + TILE, m))
        found = _weigh_agreements(u[at], v[at], y[at], z[at], weights[at])
        both, first, second, total = both + found[0], first + found[1], second + found[2], total + found[3]
    return both + 0.25, first - both + 0.25, second - both + 0.25, total - first - second + both + 0.25


class PairMove(NamedTuple):
    """New values of two edges, and the standard deviation of the particles' log weights for their move; < 0 for no
    move.
    """

    first: float
    second: float
    spread: float


@strict_leaf
def draw_pair(rng, edges, x, weights, at, s, n, i, j, urn):
    """Redraw the groups of edges i and j, whose parameters are ``at``, with weighted particles."""
    stays, m, prior, k = PairMove(at[0], at[1], -1.0), len(weights), urn.prior, urn.k[0]
    p, q = (s[i] + 0.5) / (n + 1), (s[j] + 0.5) / (n + 1)
    p11, p10, p01, p00 = _agreements(edges, x, weights, i, j, min(m, _N_LOOKED_AT))
    if abs(screened_correlation(p11, p10, p01, p00, p, q)) < _CORRELATED:
        return stays
    if m > _N_LOOKED_AT:
        p11, p10, p01, p00 = _agreements(edges, x, weights, i, j, m)
    old_i, old_j = urn.groups[i], urn.groups[j]
    take_out(urn, i)
    take_out(urn, j)
    offered, weight, label = np.empty(k + 3), np.empty(k + 3), np.full(k + 3, _NEW)
    n_offered = 0
    for c in range(k):
        if urn.sizes[c] > 0:
            offered[n_offered], weight[n_offered], label[n_offered] = urn.values[c], urn.sizes[c], c
            n_offered += 1
    for slot in range(2):
        c = old_i if slot == 0 else old_j
        alone = c >= 0 and urn.sizes[c] == 0 and (slot == 0 or old_i != old_j)
        offered[n_offered + slot] = urn.values[c] if alone else logit_beta_variate(rng, prior.a, prior.b)
        weight[n_offered + slot] = 0.5 * prior.alpha
    offered[n_offered + 2], weight[n_offered + 2], label[n_offered + 2] = 0.0, 1.0, ABSENT
    shares, noise = (p11, p10, p01, p00), n / n_effective(weights)
    g, h = _draw_pair(rng, offered, weight, n_offered, prior, at, s[i], s[j], n, noise, shares)
    for e, choice in ((i, g), (j, h)):  # both may be in the same new group
        if label[choice] == _NEW:
            label[choice] = open_group(urn, offered[choice])
        put(urn, e, label[choice])
    if offered[g] == at[0] and offered[h] == at[1]:
        return stays
    change_i, change_j = offered[g] - at[0], offered[h] - at[1]
    total = p11 + p10 + p01 + p00
    mean = (p11 + p10) / total * change_i + (p11 + p01) / total * change_j
    square = (p11 * (change_i + change_j) ** 2 + p10 * change_i**2 + p01 * change_j**2) / total
    return PairMove(offered[g], offered[h], max(0.0, square - mean * mean))


@strict_leaf
def scan_pairs(rng, graph, unpacked, successes, n, order, urn):
    """Reassign each edge in ``order`` together with one near it."""
    theta = unpacked.theta
    for i in order:
        j = near_edge(rng, graph, i)
        if j < 0:
            continue
        at = theta[i], theta[j]
        moved = draw_pair(rng, graph.edges, unpacked.x, unpacked.weights, at, successes, n, i, j, urn)
        if moved.spread < 0:
            continue
        for e, value in ((i, moved.first), (j, moved.second)):
            edge_moment(graph, unpacked, e)
            move_to(graph, unpacked, e, value)
        if n * moved.spread > MATERIAL**2:
            for turn in range(N_FLIPS):
                flip_near(rng, graph, unpacked, i if turn % 2 else j)


@strict_leaf
def pair_prior(weight, n_old, prior):
    """Return the log prior of two edges in the groups offered, (k, k), up to a constant.

    The choices are ``n_old`` groups of other edges, two new ones, and absence (last, if edges may be absent).
    """
    size, absent, n_others = n_old + 3 if prior.density < 1 else n_old + 2, n_old + 2, weight[:n_old].sum()
    one = np.log(weight[:size])
    if size > absent:
        one[absent] = log_odds_absent(prior, n_others + 1)
    table = np.empty((size, size))
    for g in range(size):
        table[g] = one[g] + one
    for g in range(n_old):
        table[g, g] = one[g] + log(weight[g] + 1)
    for g in range(n_old, absent):
        for h in range(n_old, absent):
            table[g, h] = one[g] if h == g else one[g] + log(prior.alpha)
    if size > absent:
        table[absent, absent] = 2 * log_odds_absent(prior, n_others) + log1p(1 / (prior.alpha + n_others))
    return table


@strict_leaf
def _draw_pair(rng, offered, weight, n_old, prior, at, s_i, s_j, n, noise, shares):
    (theta_i, theta_j), (p11, p10, p01, p00), log_prior = at, shares, pair_prior(weight, n_old, prior)
    size, share = len(log_prior), 1 / (p00 + p10 + p01 + p11)
    constant, slope, up = np.empty(size), np.empty(size), np.empty((2, size))
    for h in range(size):
        up[0, h], up[1, h] = exp(offered[h] - theta_i), exp(offered[h] - theta_j)
        constant[h], slope[h] = share * (p00 + p01 * up[1, h]), share * (p10 + p11 * up[1, h])
    table = _likely(log_prior, offered, theta_i, theta_j, s_i, s_j, n, constant, slope, up)
    if noise > 0:  # observations are added, as in `reassign`
        total, mean_i, mean_j = 0.0, 0.0, 0.0
        for g in range(size):
            for h in range(size):
                weight_of, z = table[g, h], constant[h] + slope[h] * up[0, g]
                total += weight_of
                mean_i += weight_of * slope[h] * up[0, g] / z
                mean_j += weight_of * share * up[1, h] * (p01 + p11 * up[0, g]) / z
        added = more(noise) * n
        s_i, s_j, n = s_i + added * mean_i / total, s_j + added * mean_j / total, n + added
        table = _likely(log_prior, offered, theta_i, theta_j, s_i, s_j, n, constant, slope, up)
    u = rng.random() * table.sum()
    for g in range(size):
        for h in range(size):
            u -= table[g, h]
            if u < 0:
                return g, h
    return n_old + 1, n_old + 1


@strict_leaf
def _likely(log_prior, offered, theta_i, theta_j, s_i, s_j, n, constant, slope, up):
    """Return the weights of all choices of two values, at most 1; Z grows by ``constant`` + ``slope`` exp(delta)."""
    table, top, size = np.empty(log_prior.shape), -np.inf, len(log_prior)
    for g in range(size):
        gain = s_i * (offered[g] - theta_i)
        for h in range(size):
            gains = gain + s_j * (offered[h] - theta_j)
            table[g, h] = log_prior[g, h] + gains - n * log(constant[h] + slope[h] * up[0, g])
            top = max(top, table[g, h])
    for g in range(size):
        for h in range(size):
            table[g, h] = exp(table[g, h] - top) if table[g, h] > top - _DROP else 0.0
    return table
