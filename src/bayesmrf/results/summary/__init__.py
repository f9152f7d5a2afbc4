"""Summaries of a run in tables and sentences, for the command line and the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import OptionError
from .. import posterior_of
from ..blocks import in_turn
from ..invalid_draws import invalid_values
from .common import INTERVAL, Summary, count, rows
from .differences import DifferenceSummary
from .grouped import GroupedSummary
from .inclusion import InclusionSummary
from .panel import PanelSummary
from .parameter_summary import ParameterSummary
from .structure import StructureSummary

__all__ = [
    "INTERVAL",
    "AnySummary",
    "DifferenceSummary",
    "GroupedSummary",
    "InclusionSummary",
    "PanelSummary",
    "ParameterSummary",
    "StructureSummary",
    "Summary",
    "count",
    "kind_of",
    "rows",
    "summarise",
]


AnySummary = DifferenceSummary | GroupedSummary | PanelSummary | ParameterSummary | StructureSummary


def summarise(tree: Any, probability: float = 0.9) -> AnySummary:
    """Summarise a posterior over groups of edges, which edges exist, lagged ones too, differences between groups, or
    parameters.

    Parameters
    ----------
    tree : estimator, xarray.DataTree, path or Summary
        A fitted estimator, its ``posterior_``, the path of a stored run; or a summary, which is returned as it is.
    probability : float
        Of the central intervals in tables.

    Raises
    ------
    OptionError
        If it is none of these, or draws are not finite.
    """
    if isinstance(tree, AnySummary):
        return tree
    tree = posterior_of(tree)
    for name, draws in tree["posterior"].data_vars.items():
        if draws.dtype.kind == "f" and (n := sum(int((~np.isfinite(v)).sum()) for v in in_turn(draws.variable))):
            raise OptionError(
                f"tree must have finite draws, but {n:,} values of {name!r} are infinite or NaN; leave out these "
                f"draws. {invalid_values(tree)}"
            )
    return kind_of(tree)(tree, probability)


def kind_of(tree: Any) -> type[AnySummary]:
    """Return the class of summaries of a posterior."""
    if "transitions" in tree.attrs:
        return PanelSummary
    if "groups" in tree["posterior"].coords:
        return GroupedSummary
    if "group" in tree["posterior"].dims:
        return DifferenceSummary
    return StructureSummary if "included" in tree["posterior"].data_vars else ParameterSummary
