"""What a reader wants to know of a run, in tables and sentences: the command line and the report show the same."""

from __future__ import annotations

from typing import Any

from .base import INTERVAL, Summary, count, rows
from .grouped import GroupedSummary
from .parameters import ParameterSummary, compare

__all__ = ["INTERVAL", "GroupedSummary", "ParameterSummary", "Summary", "compare", "count", "rows", "summarise"]


def summarise(tree: Any) -> GroupedSummary | ParameterSummary:
    """The summary that suits what the tree holds: groups of edges, or parameters alone.

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_`` of `GroupedMRF` or `BayesianMRF`, or what `bayesmrf.results.load` reads. A summary is returned
        as it is.
    """
    if isinstance(tree, GroupedSummary | ParameterSummary):
        return tree
    return GroupedSummary(tree) if "groups" in tree["posterior"].coords else ParameterSummary(tree)
