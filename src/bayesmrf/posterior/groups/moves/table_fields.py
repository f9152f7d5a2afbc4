"""Fields of nodes with many states, with particles of x as an importance sample (as in `field_moves`)."""

from __future__ import annotations

from math import exp, log

import numpy as np

from ....compiled import strict_leaf
from ....particles.tables import redraw_node, state_share, weigh_node
from ....priors import FIELD_SCALE
from ...conditionals.log_concave import draw
from ...conditionals.one_coordinate import OneCoordinate
from .fields import TURNS
from .values import LEAST, resample

_PRECISION = FIELD_SCALE**-2


@strict_leaf
def draw_fields(rng, graph, crowd, order, counts, n):
    """Redraw the fields of the nodes in ``order``, then the nodes in every particle under them.

    Each state's field has an exact conditional law (`bayesmrf.posterior.conditionals.one_coordinate`); ``counts``
    (n_nodes, m - 1) are the observations in states 1 to m - 1. Particles are weighted by the moves made; where they
    were resampled so often that they would be worn out, the last nodes are redrawn with their fields, one by one.
    """
    n_particles, none = crowd.x.shape[1], np.empty((0, 1), np.float32)
    weights, turns = np.ones(n_particles), 0
    for i in order:
        if turns == TURNS:
            _draw_field(rng, graph, crowd, i, counts, n)
            continue
        row = crowd.x[i]
        for k in range(1, len(graph.category)):
            total, square, there = 0.0, 0.0, 0.0
            for p in range(n_particles):
                total += weights[p]
                square += weights[p] * weights[p]
                there += weights[p] * (row[p] == k)
            # Half a particle more in and out of the state: none there is no proof that there never is.
            share = there / total * n_particles
            nu = log((share + 0.5) / (n_particles - share + 0.5)) - crowd.field[i, k]
            value = draw(rng, OneCoordinate(counts[i, k - 1], n, nu, 0.0, 0.0, _PRECISION)) - nu
            factor = exp(value - crowd.field[i, k])
            for p in range(n_particles):
                weights[p] *= factor if row[p] == k else 1.0
            crowd.field[i, k] = value
        if total * total < LEAST * n_particles * square:
            resample(rng, np.log(weights), crowd.x, none)
            weights[:] = 1.0
            turns += 1
    if turns < TURNS:
        resample(rng, np.log(weights), crowd.x, none)
    for i in order:
        weigh_node(graph, crowd, i)
        redraw_node(crowd, i)


@strict_leaf
def _draw_field(rng, graph, crowd, i, counts, n):
    weigh_node(graph, crowd, i)
    for k in range(1, len(graph.category)):
        q = state_share(crowd, k)
        nu = log(q / (1 - q)) - crowd.field[i, k]
        value = draw(rng, OneCoordinate(counts[i, k - 1], n, nu, 0.0, 0.0, _PRECISION)) - nu
        crowd.at_u[k] *= np.float32(exp(value - crowd.field[i, k]))
        crowd.field[i, k] = value
    redraw_node(crowd, i)
