r"""Splits and merges of groups (Jain and Neal 2004; 2007 for values that are not integrated out).

A merge joins two groups with neighbouring values (any two, if items have several parameters), a split divides one
group; two edges are anchors, one in each part. The parts of a split come from restricted Gibbs sampling: after a few
scans from a launch state that depends on the anchors alone, the last scan is the proposal, whose probability is known.
The acceptance of a merge uses the probability of proposing its reverse.

Proposals use the likelihood of each edge with all others held fixed (`bayesmrf.posterior.groups.moves.fits`), which is
exact on a forest and approximate elsewhere. The caller accepts or rejects them with the likelihood of the whole
model, so that the posterior is invariant for *any* likelihoods that do not depend on the present state.
"""

from __future__ import annotations

from math import lgamma, log
from typing import Any, NamedTuple

import numpy as np

from ....compiled import strict_leaf
from ...conditionals.one_coordinate import log_sigmoid, sigmoid
from .fits import draw_around, draw_values, gain_of, log_base, value_proposal

_N_LAUNCH = 3  # restricted scans from a launch state
NONE, SPLIT, MERGE, LEAVE, JOIN = 0, 1, -1, 2, -2  # the last two: one item (`transfers`)


class Proposal(NamedTuple):
    """A split or merge, and its acceptance ratio without the likelihood.

    An item that leaves a group is the second part of a split, one that joins a group that of a merge.
    """

    kind: int  # NONE if nothing can be proposed
    members: np.ndarray  # edges of both parts
    part: np.ndarray  # (n_edges,) int8: 1 for edges of the second part, elsewhere 0
    first: int  # label of the group split, or of the first part
    second: int  # label of the second part of a merge; of an item that leaves or joins, after it
    value: Any  # of the merged parts: a number, or (p,) of potentials
    value_first: Any
    value_second: Any
    log_ratio: float


@strict_leaf
def no_proposal(values):
    """Return a proposal of the kind NONE for groups with ``values``."""
    zero = 0.0 if values.ndim == 1 else np.zeros(values.shape[1])
    return Proposal(NONE, np.empty(0, np.int64), np.empty(0, np.int8), 0, 0, zero, zero, zero, 0.0)


@strict_leaf
def _restricted_scan(rng, members, anchors, part, wanted, first, second, fits):
    """Reassign all but the anchors to the two parts; return the log probability of the outcome (or of ``wanted``)."""
    sizes = np.zeros(2)
    for i in members:
        sizes[part[i]] += 1
    found = 0.0
    for i in members:
        if i in (anchors[0], anchors[1]):
            continue
        sizes[part[i]] -= 1
        gain = gain_of(i, first, second, fits) + log(sizes[1] / sizes[0])
        part[i] = wanted[i] if len(wanted) else int(rng.random() < sigmoid(gain))
        sizes[part[i]] += 1
        found += log_sigmoid(gain) if part[i] == 1 else log_sigmoid(-gain)
    return found


@strict_leaf
def _split_parts(rng, members, anchors, wanted, n_items, fits):
    """Propose the parts of a split; return them and the log probability of proposing them (of ``wanted``, if given)."""
    part = np.zeros(n_items, np.int8)
    none = np.empty(0, np.int8)
    for i in members:
        part[i] = int(rng.random() < 0.5)
    part[anchors[0]], part[anchors[1]] = 0, 1
    first, _ = value_proposal(anchors[:1], part, -1, fits)
    second, _ = value_proposal(anchors[1:], part, -1, fits)
    for _ in range(_N_LAUNCH):
        _restricted_scan(rng, members, anchors, part, none, first, second, fits)
        mode, scale = value_proposal(members, part, 0, fits)
        first = draw_around(rng, mode, scale, fits)
        mode, scale = value_proposal(members, part, 1, fits)
        second = draw_around(rng, mode, scale, fits)
    found = _restricted_scan(rng, members, anchors, part, wanted, first, second, fits)
    return part, found


@strict_leaf
def draw_anchors(rng, groups, first, second):
    """Draw two anchors, in a group or one in each of two; return the members (1 for the second group), too."""
    members = np.flatnonzero((groups == first) | (groups == second))
    anchors, size = np.empty(2, np.int64), len(members)
    if first == second:
        if size > 1:
            x = int(rng.random() * size)
            y = int(rng.random() * (size - 1))
            anchors[0], anchors[1] = members[x], members[y + (y >= x)]
        return members, np.zeros(len(groups), np.int8), anchors
    ones, twos = np.flatnonzero(groups == first), np.flatnonzero(groups == second)
    anchors[0], anchors[1] = ones[int(rng.random() * len(ones))], twos[int(rng.random() * len(twos))]
    return members, (groups == second).astype(np.int8), anchors


@strict_leaf
def _draw_two(rng, values):
    """Draw two groups that are neighbours in value; any two if values are potentials, which have no order."""
    k = len(values)
    if values.ndim > 1:
        first, second = int(rng.random() * k), int(rng.random() * (k - 1))
        return first, second + (second >= first)
    order = np.argsort(values)
    x = int(rng.random() * (k - 1))
    return (order[x + 1], order[x]) if rng.random() < 0.5 else (order[x], order[x + 1])


@strict_leaf
def _are_neighbours(values, first, value_first, value_second):
    """Return whether two parts of the group ``first`` could be drawn by `_draw_two`."""
    if values.ndim == 1:
        low, high = min(value_first, value_second), max(value_first, value_second)
        for c in range(len(values)):
            if c != first and low < values[c] < high:
                return False
    return True


@strict_leaf
def propose(rng, groups, values, alpha, fits):
    """Propose a split of a random group or, with equal probability, a merge of two groups (`_draw_two`).

    ``groups`` are labelled 0..k-1 without gaps; ``fits`` are `Trials`, `Parabolas` or `Categories`.
    """
    k, none = len(values), no_proposal(values)
    split = rng.random() < 0.5
    if split:
        first = second = int(rng.random() * k)
    elif k < 2:
        return none
    else:
        first, second = _draw_two(rng, values)
    members, part, anchors = draw_anchors(rng, groups, first, second)
    size = len(members)
    if size < 2:
        return none
    wanted = part[:0] if split else part
    parts, log_parts = _split_parts(rng, members, anchors, wanted, len(groups), fits)
    n_second = np.count_nonzero(parts)
    n_first = size - n_second
    value, value_first, value_second, log_merge, log_split = draw_values(
        rng, split, members, parts, values[first], values[first], values[second], fits
    )
    if split and not _are_neighbours(values, first, value_first, value_second):
        return none  # no merge would propose the reverse
    # Ratio of the state with two groups to that with one, then of the numbers of ways to propose each from the other.
    ratio = log(alpha) + lgamma(n_first) + lgamma(n_second) - lgamma(size)
    ratio += log_base(value_first, fits) + log_base(value_second, fits) - log_base(value, fits)
    k_one = k if split else k - 1
    n_pairs = k_one if values.ndim == 1 else k_one * (k_one + 1) / 2
    ways_to_merge = -log(2.0 * n_pairs * n_first * n_second) + log_merge
    ways_to_split = -log(float(k_one * size * (size - 1))) + log_parts
    ways_to_split += log_split
    ratio += ways_to_merge - ways_to_split
    kind = SPLIT if split else MERGE
    return Proposal(kind, members, parts, first, second, value, value_first, value_second, kind * ratio)


def apply(proposal: Proposal, groups: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return groups and values after the proposal, labels without gaps."""
    groups, values = groups.copy(), values.copy()
    if proposal.kind in (LEAVE, JOIN):
        groups[proposal.part == 1] = proposal.second
        values[proposal.first] = proposal.value_first if proposal.kind == LEAVE else proposal.value
        return groups, values
    if proposal.kind == SPLIT:
        values = np.concatenate([values, [proposal.value_second]])
        values[proposal.first] = proposal.value_first
        groups[proposal.members[proposal.part[proposal.members] == 1]] = len(values) - 1
        return groups, values
    last = len(values) - 1
    values[proposal.first] = proposal.value
    groups[proposal.members] = proposal.first
    if proposal.second != last:
        values[proposal.second] = values[last]
        groups[groups == last] = proposal.second
    return groups, values[:last].copy()


def shifts(proposal: Proposal) -> tuple[Any, Any]:
    """Return the shifts of the values of the edges of the two parts."""
    if proposal.kind > 0:
        return proposal.value_first - proposal.value, proposal.value_second - proposal.value
    return proposal.value - proposal.value_first, proposal.value - proposal.value_second


def before(proposal: Proposal) -> tuple[Any, Any]:
    """Return the values of the edges of the two parts before the move."""
    if proposal.kind > 0:
        return proposal.value, proposal.value
    return proposal.value_first, proposal.value_second
