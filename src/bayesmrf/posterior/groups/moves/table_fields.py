"""Fields of nodes with many states, with particles of x as an importance sample (as in
`bayesmrf.posterior.groups.moves.fields`).
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from ....compiled import copy_to, leaf, strict_leaf
from ....models.categorical import NEVER
from ....priors import FIELD_SCALE
from ....states.importance import LEAST, resample
from ....states.table_features import state_share
from ....states.table_sweeps import redraw_node, weigh_node
from ....states.weights import n_effective, set_weights
from ...conditionals.centred import node_line, node_row
from ...conditionals.log_concave import draw_exactly
from ...conditionals.noisy_draws import coordinate_with, line_with
from ...conditionals.one_coordinate import OneCoordinate
from ...conditionals.one_potential import OnePotential
from ..prior import reassign_potential
from .fields import FEW, TURNS

_PRECISION = FIELD_SCALE**-2
_SMALL = 1e-12


@strict_leaf
def draw_fields(rng, graph, unpacked, order, counts, n):
    """Redraw the fields of the nodes in ``order``, then the nodes in every particle under them.

    Each state's field has an exact full conditional (`bayesmrf.posterior.conditionals.one_coordinate`); ``counts``
    (n_nodes, m - 1) are the observations in states 1 to m - 1. Particles are weighted by the moves made. Nodes with a
    rare state, and after too many resamplings the remaining nodes, are redrawn with their fields, one by one.
    """
    n_particles = unpacked.x.shape[1]
    weights, turns, alone = np.ones(n_particles), 0, np.zeros(len(unpacked.x), np.bool_)
    for i in order:
        row = unpacked.x[i]
        alone[i] = turns == TURNS or _has_rare_state(row, len(graph.category))
        if alone[i]:
            continue
        for k in range(1, len(graph.category)):
            total, square, there = 0.0, 0.0, 0.0
            for p in range(n_particles):
                total += weights[p]
                square += weights[p] * weights[p]
                there += weights[p] * (row[p] == k)
            # Half a particle is added in and out of the state: a state without particles may have a small probability.
            share = there / total * n_particles
            nu = log((share + 0.5) / (n_particles - share + 0.5)) - unpacked.field[i, k]
            noise = n * square / (total * total)
            value = _draw_value(rng, counts[i, k - 1], n, nu, noise)
            factor = exp(value - unpacked.field[i, k])
            for p in range(n_particles):
                weights[p] *= factor if row[p] == k else 1.0
            unpacked.field[i, k] = value
        if total * total < LEAST * n_particles * square:
            resample(rng, np.log(weights), unpacked.x)
            weights[:] = 1.0
            turns += 1
    resample(rng, np.log(weights), unpacked.x)
    for i in order:
        if alone[i]:
            _draw_field(rng, graph, unpacked, i, counts, n)
    for i in order:
        weigh_node(graph, unpacked, i)
        redraw_node(unpacked, i)


@leaf
def _has_rare_state(row, m):
    """Return whether a state of a node is in so few particles that its field needs probabilities given neighbours."""
    found = np.zeros(m, np.int64)
    for state in row:
        found[state] += 1
    return found.min() < FEW


@strict_leaf
def scan_fields(rng, graph, unpacked, order, counts, n, urn):
    """Reassign the nodes in ``order`` to groups that share the fields of all states.

    Particles are weighted by the moves made, and redrawn node by node at the end, as in `draw_fields`.
    """
    n_particles, m = unpacked.x.shape[1], len(graph.category)
    weights, turns, alone = np.ones(n_particles), 0, np.zeros(len(unpacked.x), np.bool_)
    share, change = np.empty(m), np.zeros(m)
    for i in order:
        row = unpacked.x[i]
        alone[i] = turns == TURNS or _has_rare_state(row, m)
        if alone[i]:
            continue
        total, square = 0.0, 0.0
        share[:] = 0.0
        for p in range(n_particles):
            total += weights[p]
            square += weights[p] * weights[p]
            share[row[p]] += weights[p]
        # One particle is added, evenly over the states.
        share = share / total * n_particles + 1 / m
        if total * total < LEAST * n_particles * square:
            resample(rng, np.log(weights), unpacked.x)
            weights[:] = 1.0
            turns += 1
        nu = np.log(share[1:] / share[0]) - unpacked.field[i, 1:]
        conditional = OnePotential(counts[i], n, nu, urn.prior.precision, urn.prior.log_constant)
        reassign_potential(rng, i, conditional, n * square / (total * total), urn)
        value = urn.values[urn.groups[i]]
        copy_to(change[1:], value - unpacked.field[i, 1:])
        copy_to(unpacked.field[i, 1:], value)
        factor = np.exp(change)
        for p in range(n_particles):
            weights[p] *= factor[row[p]]
    resample(rng, np.log(weights), unpacked.x)
    for i in order:
        if alone[i]:
            weigh_node(graph, unpacked, i)
            noise = 0.0
            for y in range(m):
                share[y] = state_share(unpacked, i, y)
                noise = max(noise, n / n_particles * _between(unpacked, np.arange(m) == y))
            nu = np.log(share[1:] / share[0]) - unpacked.field[i, 1:]
            conditional = OnePotential(counts[i], n, nu, urn.prior.precision, urn.prior.log_constant)
            reassign_potential(rng, i, conditional, noise, urn)
            copy_to(unpacked.field[i, 1:], urn.values[urn.groups[i]])
            weigh_node(graph, unpacked, i)
            redraw_node(unpacked, i)
    for i in order:
        weigh_node(graph, unpacked, i)
        redraw_node(unpacked, i)


@strict_leaf
def draw_node_lines(rng, graph, unpacked, lines, precision, theta, order):
    """Redraw the parameters of the nodes in ``order`` along their lines, and each node in every particle under them.

    The weights of the particles follow.
    """
    m = len(graph.category)
    share = np.empty(m)
    for i in order:
        weigh_node(graph, unpacked, i)
        for x in range(m):
            share[x] = state_share(unpacked, i, x) if unpacked.field[i, x] > NEVER else 0.0  # if the node has the state
        before = unpacked.weights / unpacked.at_u.sum(axis=0)
        for k in range(lines.starts[i], lines.starts[i + 1]):
            f, at = lines.features[k - len(lines.edges)], theta[k]
            line = node_line(lines, share, k, theta, precision)
            noise = lines.n / n_effective(unpacked.weights) * _between(unpacked, f)
            theta[k] = draw_exactly(rng, line_with(line, noise, line.score))
            for y in np.flatnonzero(f):
                factor = exp((theta[k] - at) * f[y])
                share[y] *= factor
                unpacked.at_u[y] *= np.float32(factor)
        copy_to(unpacked.field[i], node_row(lines, theta, i))
        set_weights(unpacked, before * unpacked.at_u.sum(axis=0))
        redraw_node(unpacked, i)


@leaf
def _between(unpacked, f):
    """Return the share of the variance of a feature f (m,) of a node that is between the particles, by ``at_u``."""
    n_particles, m = unpacked.x.shape[1], len(f)
    total, square, between = 0.0, 0.0, 0.0
    for p in range(n_particles):
        whole, mean, own = 0.0, 0.0, 0.0
        for y in range(m):
            a = unpacked.at_u[y, p]
            whole += a
            mean += a * f[y]
            own += a * f[y] * f[y]
        mean /= whole
        total += mean
        square += own / whole
        between += mean * mean
    total /= n_particles
    return max(0.0, between / n_particles - total * total) / max(square / n_particles - total * total, _SMALL)


@strict_leaf
def _draw_value(rng, s, n, nu, noise):
    """Draw the field of a state, of which there are s in n observations."""
    return draw_exactly(rng, coordinate_with(OneCoordinate(s, n, nu, 0.0, 0.0, _PRECISION), noise, s)) - nu


@strict_leaf
def _draw_field(rng, graph, unpacked, i, counts, n):
    weigh_node(graph, unpacked, i)
    for k in range(1, len(graph.category)):
        there, elsewhere = state_share(unpacked, i, k), 0.0
        for y in range(len(graph.category)):
            elsewhere += state_share(unpacked, i, y) if y != k else 0.0
        nu = log(there / elsewhere) - unpacked.field[i, k]
        noise = n / unpacked.x.shape[1] * _between(unpacked, np.arange(len(graph.category)) == k)
        value = _draw_value(rng, counts[i, k - 1], n, nu, noise)
        unpacked.at_u[k] *= np.float32(exp(value - unpacked.field[i, k]))
        unpacked.field[i, k] = value
    redraw_node(unpacked, i)
