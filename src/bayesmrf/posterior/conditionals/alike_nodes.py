r"""Moves of two nodes that are almost equal in the data.

If x_v and x_w differ in few rows, the data determine the sums :math:`\theta_{uv} + \theta_{uw}` and :math:`b_v + b_w`,
and hardly the differences. The posterior is a ridge, along which moves of one coordinate take very many scans, and the
birth of an edge next to its rival has little room. Here the two edges to a third node u move along the ridge,

.. math:: \theta_{uv} = s - t, \qquad \theta_{uw} = t, \qquad s \text{ fixed},

and then the parameters of v and w likewise. The feature of t is :math:`f(x_u, x_w) - f(x_u, x_v)`: 0 where the two
nodes are equal, so that its full conditional is a line (`bayesmrf.posterior.conditionals.line`) of three values. At t =
0 and t = s one of the two edges is absent.
"""

from __future__ import annotations

from math import exp, log1p

import numpy as np

from ...compiled import strict_leaf
from .line import Line, LineSample, line_log_density, line_mode
from .log_concave import draw_around
from .slab_leaves import has_slab_factor, log_slab_factor
from .spike import node_precision, normal_precision
from .state_table import scale_triple, triple_sums
from .student_t import draw_t, log_t


@strict_leaf
def triple_of(edges, e, f, m):
    """Return three nodes: the one that edges e and f share, the other end of e, and the other end of f.

    Then the places of their digits in the states of the three, to base m, and the nodes in increasing order.
    """
    hub, v = edges[e, 0], edges[e, 1]
    if hub != edges[f, 0] and hub != edges[f, 1]:
        hub, v = v, hub
    w = edges[f, 0] + edges[f, 1] - hub
    first, last = min(hub, v, w), max(hub, v, w)
    nodes, ones = (first, hub + v + w - first - last, last), (m, 1, m * m)
    places = ones[int(hub > v) + int(hub > w)], ones[int(v > hub) + int(v > w)], ones[int(w > hub) + int(w > v)]
    return (hub, v, w), places, nodes


@strict_leaf
def pair_states(s, places, m):
    """Return the states of the ends of edges e and f, hub first, in state s of their three nodes (`triple_of`)."""
    one_hub, one_v, one_w = places
    x = s // one_hub % m * m
    return x + s // one_v % m, x + s // one_w % m


@strict_leaf
def add_pair_weights(weights, places, m, g, change, of_e, of_f):
    """Add the ``weights`` (m^3,) of the states of three nodes to those of the states of the ends of edges e and f.

    They are times the exponential of ``change`` times the feature ``g`` of e.
    """
    for s in range(len(weights)):
        k, j = pair_states(s, places, m)
        weight = weights[s] * exp(change * g[k])
        of_e[k] += weight
        of_f[j] += weight


@strict_leaf
def follow_swap(table, places, nodes, cells, g_e, change_e, g_f, change_f):
    """Let a table follow the changes of edges e and f with the features ``g_e`` and ``g_f``; ``cells`` is room."""
    m, flat = len(cells), cells.ravel()
    for s in range(len(flat)):
        k, j = pair_states(s, places, m)
        flat[s] = exp(change_e * g_e[k] + change_f * g_f[j])
    scale_triple(table, m, nodes, cells)


@strict_leaf
def visit_share(rng, line, t, whole, log_slabs, prior, kind):
    """Draw t, the part of ``whole`` that the second parameter has.

    Where there is a spike, each of t = 0, t = ``whole`` and any other t stands for a set of edges: one of the other two
    is proposed, and t from a Student t at the line's mode where both edges would exist. ``log_slabs`` are those of both
    edges (`visit_edge`); there is no spike if both are infinite.
    """
    mode, scale = line_mode(line)
    if min(log_slabs) < np.inf:
        now = 0 if t == 0 else 1 if t == whole else 2
        new = t if now == 2 else draw_t(rng, mode, scale)
        log_weights = (
            line_log_density(0.0, line) + ridge_factor(prior, kind, 0.0, whole) - log_slabs[1],
            line_log_density(whole, line) + ridge_factor(prior, kind, whole, whole) - log_slabs[0],
            line_log_density(new, line) + ridge_factor(prior, kind, new, whole) - log_t(new, mode, scale),
        )
        other = (now + 1 + int(rng.random() < 0.5)) % 3
        if log1p(-rng.random()) < log_weights[other] - log_weights[now]:
            now = other
        if now < 2:
            return 0.0 if now == 0 else whole
        t = new
    new = draw_around(rng, line, mode, scale)
    if kind != 1 and has_slab_factor(prior.slab):
        ratio = ridge_factor(prior, kind, new, whole) - ridge_factor(prior, kind, t, whole)
        return new if log1p(-rng.random()) < ratio else t
    return new


@strict_leaf
def ridge_factor(prior, kind, t, whole):
    """Return the sum of `log_slab_factor` over the edges that are present at t along a direction of `ridge`."""
    if kind == 0:
        first = log_slab_factor(prior.slab, t * t) if t != 0 else 0.0
        return first + (log_slab_factor(prior.slab, (whole - t) ** 2) if t != whole else 0.0)
    return log_slab_factor(prior.slab, t * t) if kind == 2 else 0.0


@strict_leaf
def ridge(lines, theta, e, f, v, w, places, between, way, k, c, g):
    """Find a direction that the data hardly determine; return its kind, and the part of its feature that is constant.

    Directions are numbered by ``way``: the two edges, each parameter of the two nodes v and w, and, for two states, the
    probabilities of the states in which v and w differ. Written are the parameters ``k`` (3,) that move, their moves
    ``c`` (3,) relative to the second one, and the rest ``g`` (m^3,) of its feature in the states of the three nodes.
    The kind is 0 for edges, which may be absent, 1 for parameters of nodes, 2 for both, and -1 if nothing can move.
    """
    m, form, values, first_v, first_w = len(lines.values), lines.form, lines.values, lines.starts[v], lines.starts[w]
    (one_hub, one_v, one_w), base, kind = places, 0.0, 0
    k[0], k[1], k[2], c[0], c[1], c[2] = e, f, e, -1.0, 1.0, 0.0
    if way == 0:
        if theta[e] == 0 and theta[f] == 0:
            return -1, 0.0
    elif way <= lines.starts[v + 1] - first_v:
        k[0], k[1], kind = first_v + way - 1, first_w + way - 1, 1
    else:  # the probability of a state in which the two nodes differ
        if theta[between] == 0:
            return -1, 0.0
        k[0], k[1], k[2], kind = first_v, between, first_w, 2
        x = way - 2
        c[0] = (values[0, 1 - x] - values[1, 1 - x]) / form.unit
        c[2] = (values[x, 0] - values[x, 1]) / form.unit
        base = values[x, x] + (c[0] + c[2]) * (form.low + form.unit * x)
    for s in range(m**3):
        x, y, z = s // one_hub % m, s // one_v % m, s // one_w % m
        if kind == 0:
            g[s] = values[x, z] - values[x, y]
        elif kind == 1:
            g[s] = form.unit * (int(z == way) - int(y == way))
        else:
            g[s] = values[y, z] + c[0] * (form.low + form.unit * y) + c[2] * (form.low + form.unit * z) - base
        if abs(g[s]) < 1e-9:
            g[s] = 0.0
    return kind, base


@strict_leaf
def ridge_prior(rng, prior, lines, theta, scales, k, c, base):
    """Return what does not depend on probabilities: the data's sum, and precision and mean of the normal prior."""
    r, score, kappa, pull = len(lines.edges), -lines.n * base, 0.0, 0.0
    for i in range(3):
        if k[i] < r:
            precision = normal_precision(rng, prior, scales[k[i]], theta[k[i]])
        else:
            precision = node_precision(rng, prior, scales[k[i]], theta[k[i]])
        score += c[i] * lines.sums[k[i]]
        kappa += c[i] * c[i] * precision
        pull += c[i] * precision * theta[k[i]]
    return score, kappa, theta[k[1]] - pull / kappa


@strict_leaf
def ridge_line(lines, weights, g, t, score, kappa, mu):
    """Return the line of t, from the ``weights`` (m^3,) of the states with the feature ``g``."""
    unit, up, down, total = 0.0, 0.0, 0.0, 0.0
    for s in range(len(g)):
        unit = max(unit, abs(g[s]))
        total += weights[s]
        up += weights[s] if g[s] > 0 else 0.0
        down += weights[s] if g[s] < 0 else 0.0
    shares = up / total, down / total, max(total - up - down, 0.0) / total, 0.0
    return Line((LineSample(shares, (unit, -unit, 0.0, 0.0), t, lines.n),), score, kappa, mu)


@strict_leaf
def visit_alike(rng, prior, lines, table, e, f, between, theta, scales, log_slab):
    """Redraw edges e and f, and parameters of their ends v and w, along the directions that the data hardly determine.

    ``table`` has the weights of all states, and follows. The edge ``between`` v and w is -1 if there is none, and
    ``log_slab`` is the log of the slab's top.
    """
    m = len(lines.values)
    (_, v, w), places, nodes = triple_of(lines.edges, e, f, m)
    n_own = min(lines.starts[v + 1] - lines.starts[v], lines.starts[w + 1] - lines.starts[w])
    cells, weights = np.empty((m, m * m)), np.empty(m**3)
    g, log_factors, k, c = np.empty(m**3), np.zeros(m**3), np.empty(3, np.int64), np.empty(3)
    triple_sums(table, m, nodes, cells)
    flat = cells.ravel()
    for way in range(n_own + 1 + 2 * int(m == 2 and n_own == 1)):
        kind, base = ridge(lines, theta, e, f, v, w, places, between, way, k, c, g)
        if kind < 0:
            continue
        for s in range(m**3):
            weights[s] = flat[s] * exp(log_factors[s])
        t, whole = theta[k[1]], theta[e] + theta[f]
        score, kappa, mu = ridge_prior(rng, prior, lines, theta, scales, k, c, base)
        line = ridge_line(lines, weights, g, t, score, kappa, mu)
        log_slabs = (np.inf, np.inf)
        if kind == 0:
            log_slabs = (prior.log_odds[e] + log_slab, prior.log_odds[f] + log_slab)
        new = visit_share(rng, line, t, whole, log_slabs, prior, kind)
        for s in range(m**3):
            log_factors[s] += (new - t) * (g[s] + base)
        if kind == 0:
            theta[e], theta[f] = whole - new, new
        else:
            for i in range(3):
                theta[k[i]] += c[i] * (new - t)
    for s in range(m**3):
        flat[s] = exp(log_factors[s])
    scale_triple(table, m, nodes, cells)
