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
from .spike import normal_precision
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
    places = ones[(hub > v) + (hub > w)], ones[(v > hub) + (v > w)], ones[(w > hub) + (w > v)]
    return (hub, v, w), places, nodes


@strict_leaf
def visit_share(rng, line, t, whole, log_slab):
    """Draw t, the part of ``whole`` that the second parameter has.

    Where there is a spike, each of t = 0, t = ``whole`` and any other t stands for a set of edges: one of the other two
    is proposed, and t from a Student t at the line's mode where both edges would exist. An infinite ``log_slab`` is no
    spike.
    """
    mode, scale = line_mode(line)
    if log_slab < np.inf:
        now = 0 if t == 0 else 1 if t == whole else 2
        new = t if now == 2 else draw_t(rng, mode, scale)
        log_weights = (
            line_log_density(0.0, line),
            line_log_density(whole, line),
            log_slab + line_log_density(new, line) - log_t(new, mode, scale),
        )
        other = (now + 1 + int(rng.random() < 0.5)) % 3
        if log1p(-rng.random()) < log_weights[other] - log_weights[now]:
            now = other
        if now < 2:
            return 0.0 if now == 0 else whole
    return draw_around(rng, line, mode, scale)


@strict_leaf
def visit_alike(rng, prior, lines, edge_of, table, e, f, theta, scales, log_slab):
    """Redraw edges e and f, and parameters of their ends v and w, along the directions that the data hardly determine.

    ``table`` has the weights of all states, and follows. ``edge_of`` (n_nodes, n_nodes) numbers the edges.
    """
    m, r = len(lines.values), len(lines.edges)
    (_, v, w), (one_hub, one_v, one_w), nodes = triple_of(lines.edges, e, f, m)
    between, form, values = edge_of[v, w], lines.form, lines.values
    first_v, first_w = lines.starts[v], lines.starts[w]
    n_own = min(lines.starts[v + 1] - first_v, lines.starts[w + 1] - first_w)
    cells, g, log_factors = np.empty((m, m * m)), np.empty(m**3), np.zeros(m**3)
    triple_sums(table, m, nodes, cells)
    flat = cells.ravel()
    k, c = np.empty(3, np.int64), np.empty(3)  # parameters that move, and their moves relative to the second one
    for way in range(n_own + 1 + 2 * int(m == 2 and n_own == 1)):
        base, kinds = 0.0, 0
        k[0], k[1], k[2], c[0], c[1], c[2] = e, f, e, -1.0, 1.0, 0.0
        if way == 0:
            if theta[e] == 0 and theta[f] == 0:
                continue
        elif way <= n_own:
            k[0], k[1], kinds = first_v + way - 1, first_w + way - 1, 1
        else:  # the probability of a state in which the two nodes differ
            if theta[between] == 0:
                continue
            k[0], k[1], k[2], kinds = first_v, between, first_w, 2
            x = way - 2
            c[0] = (values[0, 1 - x] - values[1, 1 - x]) / form.unit
            c[2] = (values[x, 0] - values[x, 1]) / form.unit
            base = values[x, x] + (c[0] + c[2]) * (form.low + form.unit * x)
        unit, up, down, total = 0.0, 0.0, 0.0, 0.0
        for s in range(m**3):
            x, y, z = s // one_hub % m, s // one_v % m, s // one_w % m
            if kinds == 0:
                g[s] = values[x, z] - values[x, y]
            elif kinds == 1:
                g[s] = form.unit * (int(z == way) - int(y == way))
            else:
                g[s] = values[y, z] + c[0] * (form.low + form.unit * y) + c[2] * (form.low + form.unit * z) - base
            if abs(g[s]) < 1e-9:
                g[s] = 0.0
            unit = max(unit, abs(g[s]))
            weight = flat[s] * exp(log_factors[s])
            total += weight
            up += weight if g[s] > 0 else 0.0
            down += weight if g[s] < 0 else 0.0
        t, score, kappa, pull = theta[k[1]], -lines.n * base, 0.0, 0.0
        for i in range(3):
            cauchy = prior.cauchy if k[i] < r else prior.cauchy_nodes
            precision = normal_precision(rng, cauchy, scales[k[i]], theta[k[i]])
            score += c[i] * lines.sums[k[i]]
            kappa += c[i] * c[i] * precision
            pull += c[i] * precision * theta[k[i]]
        shares = up / total, down / total, max(total - up - down, 0.0) / total, 0.0
        sample = LineSample(shares, (unit, -unit, 0.0, 0.0), t, lines.n)
        line = Line((sample,), score, kappa, t - pull / kappa)
        whole = theta[e] + theta[f]
        new = visit_share(rng, line, t, whole, log_slab if kinds == 0 else np.inf)
        for s in range(m**3):
            log_factors[s] += (new - t) * (g[s] + base)
        if kinds == 0:
            theta[e], theta[f] = whole - new, new
        else:
            for i in range(3):
                theta[k[i]] += c[i] * (new - t)
    for s in range(m**3):
        flat[s] = exp(log_factors[s])
    scale_triple(table, m, nodes, cells)
