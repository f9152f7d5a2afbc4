"""What a reader wants to know of a run, in tables and sentences: the command line and the report show the same."""

from __future__ import annotations

from typing import Any

from .base import INTERVAL, Summary, count, rows
from .grouped import GroupedSummary
from .inclusion import InclusionSummary
from .parameters import ParameterSummary, compare
from .structure import StructureSummary

__all__ = [
    "INTERVAL",
    "GroupedSummary",
    "InclusionSummary",
    "ParameterSummary",
    "StructureSummary",
    "Summary",
    "compare",
    "count",
    "rows",
    "summarise",
]


def summarise(tree: Any) -> GroupedSummary | ParameterSummary | StructureSummary:
    """The summary that suits what the tree holds: groups of edges, edges that come and go, or parameters alone.

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_`` of `GroupedMRF`, `BayesianMRF` or `SpikeSlabMRF`, or what `bayesmrf.results.load` reads. A
        summary is returned as it is.
    """
    if isinstance(tree, GroupedSummary | ParameterSummary | StructureSummary):
        return tree
    if "groups" in tree["posterior"].coords:
        return GroupedSummary(tree)
    return StructureSummary(tree) if "included" in tree["posterior"].data_vars else ParameterSummary(tree)
