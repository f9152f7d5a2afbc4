"""The credible ball of a point partition (Wade and Ghahramani 2018)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..declare.rule import number
from ..errors import DataError
from .distance import canonical, distances, joined
from .point import point_partition

_LEVEL = number(0, 1, ends="(]", good=(0.95, 1))
_EQUAL = 1e-9  # nats: smaller differences of distances are due to rounding


class CredibleBall(NamedTuple):
    """The smallest ball, in variation of information, that contains a given share of the draws, and its bounds.

    Bounds are draws in the ball, canonical, each once, in the order of the draws; usually there is one of each kind.
    """

    center: np.ndarray  # (n_items,)
    radius: float  # nats
    share: float  # of the draws within
    horizontal: np.ndarray  # (m, n_items): the most distant
    upper: np.ndarray  # (m, n_items): of those with the fewest groups the most distant
    lower: np.ndarray  # (m, n_items): of those with the most groups the most distant


def credible_ball(draws: Any, center: Any = None, level: float = 0.95) -> CredibleBall:
    r"""Compute the credible ball of Wade and Ghahramani (2018) around a grouping c*.

    Its radius is the least e with P(VI(c, c*) <= e) >= level, where P are the draws. Of the draws c inside, the bounds
    are those farthest from c*: of all (horizontal), of those with the fewest groups (upper vertical), of those with the
    most groups (lower vertical).

    Parameters
    ----------
    draws : (..., n_items) integer array
        Groupings from the posterior; leading dimensions (chain, draw) are joined.
    center : (n_items,) integer array, optional
        c*; by default `point_partition` of the draws.
    level : float
        Least share of the draws in the ball, above 0 and at most 1.
    """
    _LEVEL.check("level", level)
    labels = canonical(joined(draws))
    middle = point_partition(labels) if center is None else canonical(center)
    if middle.ndim != 1:
        raise DataError(option="center", got=middle, expected="an array of shape (n_items,), one label for each item")
    away = distances(middle.astype(np.int32), labels)
    rank = int(np.ceil(level * len(away) - _EQUAL)) - 1  # 0.95 of 20 draws are 19 despite rounding
    radius = float(np.sort(away)[rank])
    inside = np.flatnonzero(away <= radius + _EQUAL)
    n_groups = labels[inside].max(axis=1) + 1

    def farthest(among: np.ndarray) -> np.ndarray:
        bounds = labels[among[away[among] >= away[among].max() - _EQUAL]]
        first = np.unique(bounds, axis=0, return_index=True)[1]
        return bounds[np.sort(first)].astype(np.int64)

    fewest, most = inside[n_groups == n_groups.min()], inside[n_groups == n_groups.max()]
    share = len(inside) / len(away)
    return CredibleBall(middle.astype(np.int64), radius, share, farthest(inside), farthest(fewest), farthest(most))
