r"""Chains of the row after each row before: states whose fields differ between rows.

With the conditional probabilities :math:`q_{ck}` of an item in each chain given its other items, a change of theta
along the item changes the density of a chain, its other items given, by

.. math:: w_c = \sum_k q_{ck} \frac{p_{rk}(\mathrm{new})}{p_{rk}(\mathrm{old})},

by which chains are resampled within each half of their row before the item is redrawn. As each transition has its own
field, a row has chains in proportion to its transitions. Clusters of items are flipped as in
`bayesmrf.states.level_flips`, by fields that differ between rows.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np

from ..compiled import strict_leaf
from ..samplers.resampling import copy_columns, systematic
from .cluster_flips import by_cluster, random_clusters
from .panel_tables import PanelTables, lagged_field

_SWEEPS = 20  # with which chains start
_LARGEST = 300.0  # field times the largest score, beyond which a category is certain


class RowChains(NamedTuple):
    """Chains of the row after each distinct row before."""

    x: np.ndarray  # (d, n_chains) int8
    first: np.ndarray  # (n_rows + 1,) where the chains of each row begin, an even number each


def first_chains(n: np.ndarray, each: int) -> np.ndarray:
    """Return where the chains of each row begin, an even number ``each`` for each of its n transitions."""
    return np.append(0, np.cumsum(each * n.astype(int)))


def start_chains(
    rng: np.random.Generator, tables: PanelTables, each: int, theta: np.ndarray, own: np.ndarray
) -> np.ndarray:
    """Return chains that were swept from random categories."""
    first = first_chains(tables.n, each)
    x = np.array([rng.integers(0, m, first[-1]) for m in tables.sizes], dtype=np.int8)
    chains = RowChains(x, first)
    for _ in range(_SWEEPS):
        flip_clusters(rng, chains, tables, theta, own)
        sweep(rng, chains, tables, theta, own)
    return chains.x


@strict_leaf
def add_neighbours(h, x, pairs, weights, i, label, c):
    """Add the weights of an item's neighbours, times their scores, to fields; not of neighbours with label c."""
    for e in range(len(pairs)):
        u, v = pairs[e]
        j = v if u == i else u
        if (u == i or v == i) and weights[e] != 0 and label[j] != c:
            for a in range(len(h)):
                h[a] += weights[e] * x[j, a]


@strict_leaf
def fill_fields(h, chains, tables, theta, own, i, label, c):
    """Fill h (n_chains,) with the fields of item i, without those of neighbours with label c."""
    d = len(tables.sizes)
    for r in range(len(tables.n)):
        h[chains.first[r] : chains.first[r + 1]] = lagged_field(theta, own[r, i], tables.before[:, r], i)
    add_neighbours(h, chains.x, tables.pairs, theta[d * d : tables.starts[0]], i, label, c)


@strict_leaf
def fill_item(q, h, biases):
    """Fill q (n_chains, m) with the probabilities of the categories of an item given its fields."""
    m = q.shape[1]
    if m == 2:
        for c in range(len(h)):
            q[c, 1] = 1 / (1 + exp(-max(min(h[c] + biases[0], 700.0), -700.0)))
            q[c, 0] = 1 - q[c, 1]
        return
    for c in range(len(h)):
        top, total = 0.0, 0.0
        q[c, 0] = 0.0
        for k in range(1, m):
            q[c, k] = biases[k - 1] + k * h[c]
            top = max(top, q[c, k])
        for k in range(m):
            q[c, k] = exp(q[c, k] - top)
            total += q[c, k]
        for k in range(m):
            q[c, k] /= total


@strict_leaf
def conditionals_of(chains, tables, theta, own, i):
    """Return the probabilities of the categories of item i given the others, (n_chains, m_i)."""
    n, label = chains.x.shape[1], np.zeros(len(tables.sizes), np.int64)
    h, q = np.empty(n), np.empty((n, tables.sizes[i]))
    fill_fields(h, chains, tables, theta, own, i, label, 1)
    fill_item(q, h, theta[tables.starts[i] : tables.starts[i + 1]])
    return q


@strict_leaf
def redraw(rng, x, q):
    """Redraw an item of all chains with probabilities q (n_chains, m)."""
    for c in range(len(x)):
        x[c] = draw_code(rng, q[c])


@strict_leaf
def fill_odds(z, chains, tables, theta, own):
    """Fill z (d, n_chains) with the exponentials of the fields of all items."""
    label, most = np.zeros(len(z), np.int64), _LARGEST / (len(tables.score) - 1)
    for i in range(len(z)):
        fill_fields(z[i], chains, tables, theta, own, i, label, 1)
        for c in range(z.shape[1]):
            z[i, c] = exp(max(min(z[i, c], most), -most))


@strict_leaf
def fill_pair(q, z, x, u, v, first, second, weight):
    """Fill q (n_chains, m w) with the joint probabilities of items u and v given all others, from `fill_odds`."""
    m, w = len(first) + 1, len(second) + 1
    joined, at_u, at_v, without_v, without_u = np.empty((m, w)), np.ones(m), np.ones(w), np.empty(w), np.empty(m)
    for k in range(m):
        without_u[k] = exp(-weight * k)
        at_u[k] = exp(first[k - 1]) if k > 0 else 1.0
    for b in range(w):
        without_v[b] = exp(-weight * b)
        at_v[b] = exp(second[b - 1]) if b > 0 else 1.0
        for k in range(m):
            joined[k, b] = exp(weight * k * b) * at_u[k] * at_v[b]
    for c in range(len(q)):
        by_u, by_v = z[u, c] * without_v[x[v, c]], z[v, c] * without_u[x[u, c]]
        total, of_u = 0.0, 1.0
        for k in range(m):
            one = of_u
            for b in range(w):
                q[c, k * w + b] = joined[k, b] * one
                total += q[c, k * w + b]
                one *= by_v
            of_u *= by_u
        total = 1 / total
        for k in range(m * w):
            q[c, k] *= total


@strict_leaf
def multiply(z, weight, x, m):
    """Multiply odds by the exponential of a weight times the scores x, one of m each."""
    table = np.empty(m)
    for k in range(m):
        table[k] = exp(weight * k)
    for c in range(len(z)):
        z[c] *= table[x[c]]


@strict_leaf
def follow_odds(z, tables, weights, i, before, after):
    """Let the odds of the neighbours of item i follow its change."""
    for e in range(len(weights)):
        u, v = tables.pairs[e]
        if (u == i or v == i) and weights[e] != 0:
            j = v if u == i else u
            multiply(z[j], weights[e], after, tables.sizes[i])
            multiply(z[j], -weights[e], before, tables.sizes[i])


@strict_leaf
def averages(q, first):
    """Return the averages of q over the first and the second half of the chains of each row, (2, n_rows, K)."""
    out = np.zeros((2, len(first) - 1, q.shape[1]))
    for r in range(len(first) - 1):
        middle = (first[r] + first[r + 1]) // 2
        for c in range(first[r], first[r + 1]):
            half = int(c >= middle)
            for k in range(q.shape[1]):
                out[half, r, k] += q[c, k]
        for half in range(2):
            for k in range(q.shape[1]):
                out[half, r, k] /= middle - first[r]
    return out


@strict_leaf
def follow(rng, chains, decision, z):
    """Resample the chains of each half of each row by the ratio of densities, with their conditionals, which follow.

    ``z`` (k, n_chains) are other numbers of chains.
    """
    q, first, k_of = decision.q, chains.first, decision.q.shape[1]
    growth = np.empty(k_of)
    for r in range(len(first) - 1):
        is_same = True
        for k in range(k_of):
            growth[k] = decision.p[r, k] / decision.start[r, k] if decision.start[r, k] > 0 else 0.0
            is_same = is_same and decision.p[r, k] == decision.start[r, k]
        if is_same:
            continue
        middle = (first[r] + first[r + 1]) // 2
        for low, high in ((first[r], middle), (middle, first[r + 1])):
            weights = np.empty(high - low)
            for c in range(low, high):
                w = 0.0
                for k in range(k_of):
                    q[c, k] *= growth[k]
                    w += q[c, k]
                for k in range(k_of):
                    q[c, k] /= w
                weights[c - low] = w
            spare, dead = systematic(rng, weights)
            copy_columns(q.T, low + spare, low + dead)
            copy_columns(chains.x, low + spare, low + dead)
            copy_columns(z, low + spare, low + dead)


@strict_leaf
def draw_code(rng, p):
    """Draw an index with probabilities p."""
    left, last = rng.random(), len(p) - 1
    for k in range(last):
        left -= p[k]
        if left < 0:
            return k
    return last


@strict_leaf
def sweep(rng, chains, tables, theta, own):
    """Redraw each item of each chain in turn."""
    for i in range(len(tables.sizes)):
        redraw(rng, chains.x[i], conditionals_of(chains, tables, theta, own, i))


@strict_leaf
def flip_clusters(rng, chains, tables, theta, own):
    """Flip all clusters of more than one item by Gibbs sampling, by categories at the same place of each item."""
    d, m, n = len(tables.sizes), len(tables.score), chains.x.shape[1]
    weights, image = theta[d * d : tables.starts[0]], np.empty((d, m), np.int64)
    is_all, inner, a, b = rng.random() < 0.5, rng.random() < 0.5, rng.random(), rng.random()
    width = np.empty(d)
    for i in range(d):
        size = tables.sizes[i]
        start, stop = (
            (0, size - 1) if is_all else (min(int(a * size), int(b * size)), max(int(a * size), int(b * size)))
        )
        width[i] = stop - start
        for k in range(m):
            is_moved = start <= k <= stop and (inner or k in (start, stop))
            image[i, k] = start + stop - k if is_moved else k
    interaction = np.empty(len(weights))
    for e in range(len(weights)):
        interaction[e] = weights[e] * width[tables.pairs[e, 0]] * width[tables.pairs[e, 1]]
    label = random_clusters(rng, tables.pairs, interaction, d)
    order, starts = by_cluster(label)
    for j in range(len(starts) - 1):
        if starts[j + 1] - starts[j] > 1:
            members = order[starts[j] : starts[j + 1]]
            _flip(rng, chains, tables, theta, own, members, label, image, np.empty(n), np.zeros(n))


@strict_leaf
def _flip(rng, chains, tables, theta, own, members, label, image, h, energy):
    """Flip a cluster in each chain with the probability of its image; h and energy are room for a number each."""
    d, x, c, biases = len(tables.sizes), chains.x, label[members[0]], np.zeros(len(tables.score))
    for i in members:
        fill_fields(h, chains, tables, theta, own, i, label, c)
        biases[1 : tables.sizes[i]] = theta[tables.starts[i] : tables.starts[i + 1]]
        for a in range(len(h)):
            k = x[i, a]
            energy[a] += biases[k] - biases[image[i, k]] + h[a] * (k - image[i, k])
    for e in range(len(tables.pairs)):
        u, v = tables.pairs[e]
        w = theta[d * d + e]
        if label[u] == c and label[v] == c and w != 0:
            for a in range(len(h)):
                energy[a] += w * (x[u, a] * x[v, a] - image[u, x[u, a]] * image[v, x[v, a]])
    for a in range(len(h)):
        if rng.random() * (1 + exp(min(energy[a], 700.0))) < 1:
            for i in members:
                x[i, a] = image[i, x[i, a]]
