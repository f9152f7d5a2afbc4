"""Fields of nodes with many states, drawn node by node with particles that follow."""

from __future__ import annotations

from math import exp, log

import numpy as np

from ..compiled import strict_leaf
from ..priors import FIELD_SCALE
from .one_coordinate import OneCoordinate, draw
from .table_refresh import redraw_node, state_share, weigh_node

_PRECISION = FIELD_SCALE**-2


@strict_leaf
def draw_fields(rng, graph, crowd, order, counts, n):
    """Redraw the fields of the nodes in ``order``, and the nodes in every particle under them.

    Each state's field has an exact conditional law (`bayesmrf.posterior.one_coordinate`); ``counts`` (n_nodes, m - 1)
    are the observations in states 1 to m - 1.
    """
    for i in order:
        weigh_node(graph, crowd, i)
        for k in range(1, len(graph.category)):
            q = state_share(crowd, k)
            nu = log(q / (1 - q)) - crowd.field[i, k]
            value = draw(rng, OneCoordinate(counts[i, k - 1], n, nu, 0.0, 0.0, _PRECISION)) - nu
            crowd.at_u[k] *= np.float32(exp(value - crowd.field[i, k]))
            crowd.field[i, k] = value
        redraw_node(crowd, i)
