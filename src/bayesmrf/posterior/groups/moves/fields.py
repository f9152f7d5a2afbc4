"""Node fields, one after another, with particles of x as an importance sample.

When the field of node u moves by delta, a particle's weight is multiplied by exp(delta x_u). Where the weights have
become uneven, the particles are resampled. Redraws of single nodes would lag behind in a strongly coupled network,
where every field influences every node.
"""

from __future__ import annotations

from math import exp, log

import numpy as np

from ....compiled import strict_leaf
from ....states.importance import LEAST, resample
from ...conditionals.log_concave import draw_exactly
from ...conditionals.noisy_draws import coordinate_with
from ...conditionals.one_coordinate import OneCoordinate
from ..dirichlet_process import value_of
from ..prior import reassign

TURNS = 4  # resamplings in one scan of the fields
FEW = 20  # particles of a node in its rarest state, below which counts say too little of its field


@strict_leaf
def scan_fields(rng, order, fields, ones, n, urn, regroup, x):
    """Redraw the groups (``regroup``) or the values of the nodes in ``order``, each with the weights of those before.

    Values v = 2 h of nodes in groups of their own are drawn exactly. The scan ends after ``TURNS`` resamplings. Returns
    the number of nodes visited; ``fields`` and ``x`` change in place.
    """
    m, turns = x.shape[1], 0
    weights = np.ones(m)
    for done, u in enumerate(order):
        row, total, square, up = x[u], 0.0, 0.0, 0.0
        for p in range(m):
            total += weights[p]
            square += weights[p] * weights[p]
            up += weights[p] * (row[p] > 0)
        if total * total < LEAST * m * square:
            resample(rng, np.log(weights), x)
            weights[:] = 1.0
            turns += 1
            if turns == TURNS:
                return done
            total, square, up = float(m), float(m), float((row > 0).sum())
        # Half a particle is added in each state: a state without particles may have a small probability.
        nu = log((up / total * m + 0.5) / ((1 - up / total) * m + 0.5)) - 2 * fields[u]
        noise = n * square / (total * total)
        if regroup:
            reassign(rng, u, ones[u], n, nu, noise, urn)
        else:
            alone = OneCoordinate(ones[u], n, nu, urn.prior.a, urn.prior.b, urn.prior.kappa)
            urn.values[urn.groups[u]] = draw_exactly(rng, coordinate_with(alone, noise, ones[u])) - nu
        value = 0.5 * value_of(urn, u)
        raised, lowered = exp(value - fields[u]), exp(fields[u] - value)
        for p in range(m):
            weights[p] *= raised if row[p] > 0 else lowered
        fields[u] = value
    resample(rng, np.log(weights), x)
    return len(order)
