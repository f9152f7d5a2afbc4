"""Partitions of items: distances, the point partition of many, its credible ball, and the prior.

A partition (grouping) of n items is a vector of n integer labels; only which items share a label matters. Posterior
draws of a grouping are an array ``(n_draws, n_items)``. Nothing here has the size n_items^2, except `co_clustering` of
selected items, and the average-linkage trees of at most 5,000 items.
"""

from __future__ import annotations

from .ball import CredibleBall, credible_ball
from .distance import canonical, expected_vi, random_partition, variation_of_information, vi_difference
from .point import point_partition
from .prior import log_prior, set_partitions
from .similarity import MOST_CO_CLUSTERING_ITEMS, co_clustering

__all__ = [
    "MOST_CO_CLUSTERING_ITEMS",
    "CredibleBall",
    "canonical",
    "co_clustering",
    "credible_ball",
    "expected_vi",
    "log_prior",
    "point_partition",
    "random_partition",
    "set_partitions",
    "variation_of_information",
    "vi_difference",
]
