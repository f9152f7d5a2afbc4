"""Summaries of a run in tables and sentences, for the command line and the report."""

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
    """Summarise a posterior over groups of edges, over which edges exist, or over parameters.

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_`` of `GroupedMRF`, `BayesianMRF` or `SpikeSlabMRF`, or a result of `bayesmrf.results.load`. A
        summary is returned as it is.
    """
    if isinstance(tree, GroupedSummary | ParameterSummary | StructureSummary):
        return tree
    if "groups" in tree["posterior"].coords:
        return GroupedSummary(tree)
    return StructureSummary(tree) if "included" in tree["posterior"].data_vars else ParameterSummary(tree)
