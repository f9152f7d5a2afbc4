"""Clusters of connected nodes as trees of parents; the root is the smallest node."""

from __future__ import annotations

from ..compiled import strict_leaf


@strict_leaf
def root(parent, i):
    """Find the root of node i, halving paths on the way."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@strict_leaf
def bind(parent, u, v):
    """Merge the clusters of u and v.

    As no parent has a larger number, one pass upwards makes all trees flat.
    """
    a, b = root(parent, u), root(parent, v)
    parent[max(a, b)] = min(a, b)
