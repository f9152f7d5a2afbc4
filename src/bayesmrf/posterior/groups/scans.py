"""Scans of theta, one coordinate at a time, with particles of x that follow each move before the next."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...compiled import strict_leaf
from ...states.cluster_flips import flip_near
from ...states.importance import redrawn_share
from ...states.refresh import edge_moment, move_to
from ...states.weights import n_effective
from ..conditionals.log_concave import draw_exactly
from ..conditionals.noisy_draws import coordinate_with
from ..conditionals.one_coordinate import OneCoordinate, sigmoid
from .dirichlet_process import ABSENT, value_of
from .prior import reassign

MATERIAL = 0.5  # posterior standard deviations of a coordinate, as far as they lie between particles
N_FLIPS = 2  # clusters proposed after a larger move
_RUN = 64  # coordinates next to each other in memory that are visited together


def scan_order(rng: np.random.Generator, size: int) -> np.ndarray:
    """Return a random order of coordinates: runs of 64 in random order, each of them in random order.

    Any order leaves the posterior invariant. With this one most of the states that an edge needs are in the L2 cache,
    as consecutive edges share nodes.
    """
    run = np.arange(size) // _RUN
    return np.argsort(rng.permutation(run[-1] + 1 if size else 0)[run] + rng.random(size))


@strict_leaf
def stays_absent(rng, graph, unpacked, was, now):
    """Return whether the particles need not follow."""
    return was == ABSENT and now == ABSENT and rng.random() > redrawn_share(len(unpacked.x), len(graph.edges))


@strict_leaf
def _move(rng, graph, unpacked, i, value, nu, between, n):
    """Move theta_i, and update the particles.

    A redraw of the two ends suffices for small moves. After a move that would weight the particles unevenly, whole
    clusters near the edge are flipped, too.
    """
    r = len(graph.edges)
    before = unpacked.theta[i] if i < r else 2 * unpacked.theta[i]  # a field's t is 2 h + nu
    after = value if i < r else 2 * value
    q = sigmoid(before + nu)
    move_to(graph, unpacked, i, value)
    if abs(after - before) * sqrt(n * q * (1 - q) * between) > MATERIAL:
        for _ in range(N_FLIPS):
            flip_near(rng, graph, unpacked, i)


@strict_leaf
def scan_groups(rng, graph, unpacked, successes, n, order, urn, nu, between):
    """Reassign the edges in ``order`` one by one with local refresh, each from the current particles.

    ``order`` may contain node fields instead (from n_edges on), with the groups and values v = 2 h of the nodes.
    ``successes`` (n_features,) are the samples of n in which the ends agree, and in which the node is 1. ``nu`` and
    ``between`` receive the results of `edge_moment`.
    """
    r = len(graph.edges)
    for feature in order:
        i, unit = (feature, 1.0) if feature < r else (feature - r, 0.5)
        nu[i], between[i] = edge_moment(graph, unpacked, feature)
        was, noise = urn.groups[i], n / n_effective(unpacked.weights) * between[i]
        reassign(rng, i, successes[feature], n, nu[i], noise, urn)
        if not stays_absent(rng, graph, unpacked, was, urn.groups[i]):
            _move(rng, graph, unpacked, feature, unit * value_of(urn, i), nu[i], between[i], n)


@strict_leaf
def scan_coordinates(rng, graph, unpacked, successes, n, prior, order):
    """Draw features exactly, one by one: edges in groups of their own, or node fields.

    A field has t = 2 h + nu, the logit of P(x_u = 1).
    """
    r = len(graph.edges)
    for i in order:
        nu, between = edge_moment(graph, unpacked, i)
        s, noise = successes[i], n / n_effective(unpacked.weights) * between
        p = coordinate_with(OneCoordinate(s, n, nu, prior.a, prior.b, prior.kappa), noise, s)
        value = draw_exactly(rng, p) - nu
        _move(rng, graph, unpacked, i, value if i < r else 0.5 * value, nu, between, n)
