r"""Transfers of one item to another group, with the value of one of both groups changed so that a weighted sum stays.

Where the values of groups are far apart in posterior standard deviations, an item seldom changes its group while all
values are held fixed, as the items that stay would have to move with it. Let item e, with the curvature :math:`c_e` of
its log likelihood (`bayesmrf.posterior.groups.moves.fits.Parabolas`), move from a group with the value s to one with
the value d. It *joins* that group, with C the sum of the curvatures of those there, if

.. math:: d' = \frac{C d + c_e s}{C + c_e},

and s stays. The inverse is that it *leaves* a group: s' = s + c_e (s - d) / C, with C of those that remain, and d
stays. The Jacobian of the first is C / (C + c_e).
"""

from __future__ import annotations

from math import log

import numpy as np

from ....compiled import strict_leaf
from .fits import log_base
from .split_merge import JOIN, LEAVE, Proposal, no_proposal


@strict_leaf
def propose_transfer(rng, groups, values, fits):
    """Propose that a random item joins, or with equal probability leaves, another group; ``fits`` are `Parabolas`.

    ``groups`` are labelled 0..k-1 without gaps.
    """
    k, groups, there = len(values), groups.astype(np.int64), np.flatnonzero(groups >= 0)
    if k < 2:
        return no_proposal(values)
    e = there[int(rng.random() * len(there))]
    source, target = groups[e], int(rng.random() * (k - 1))
    target += target >= source
    joins = rng.random() < 0.5
    changed = target if joins else source
    part, rest, n_source, n_target = np.zeros(len(groups), np.int8), 0.0, 0, 0
    part[e] = 1
    for i in there:
        n_source += groups[i] == source
        n_target += groups[i] == target
        if groups[i] == changed and i != e:
            rest += fits.curvature[i]
    if n_source < 2:
        return no_proposal(values)
    members = np.flatnonzero((groups == changed) | (part == 1))
    s, d, share = values[source], values[target], fits.curvature[e] / (fits.curvature[e] + rest)
    ratio = log(n_target / (n_source - 1.0))
    if joins:
        new = d + share * (s - d)
        ratio += log_base(new, fits) - log_base(d, fits) + log(1 - share)
        return Proposal(JOIN, members, part, target, target, new, d, s, ratio)
    new = s + share / (1 - share) * (s - d)
    ratio += log_base(new, fits) - log_base(s, fits) - log(1 - share)
    return Proposal(LEAVE, members, part, source, target, s, new, d, ratio)
