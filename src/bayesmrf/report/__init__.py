"""One self-contained HTML page about a posterior."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from .. import results
from ..declare.arguments import named
from ..results.summary import (
    AnySummary,
    DifferenceSummary,
    GroupedSummary,
    PanelSummary,
    ParameterSummary,
    StructureSummary,
    summarise,
)
from ..runs.sealed import as_written
from ..show.page import Section, check_out, paragraph, picture, table, write_page
from . import differences, grouped, panel, parameters, structure
from .planning import write_calibration, write_plan

__all__ = [
    "Section",
    "check_out",
    "paragraph",
    "picture",
    "sections",
    "table",
    "write_calibration",
    "write_page",
    "write_plan",
    "write_report",
]

_REPORTS: dict[type, tuple[str, Callable[..., list[Section]]]] = {
    DifferenceSummary: ("Differences between groups", differences.sections),
    GroupedSummary: ("Groups of shared parameters", grouped.sections),
    PanelSummary: ("What follows what in time", panel.sections),
    ParameterSummary: ("Posterior of the parameters", parameters.sections),
    StructureSummary: ("Which edges exist", structure.sections),
}


@named
def write_report(tree: Any, out: str | PathLike[str], overwrite: bool = False) -> Path:
    """Write one self-contained HTML file: tables, figures, convergence, and how to reproduce the run.

    Parameters
    ----------
    tree : estimator, xarray.DataTree or path
        A fitted estimator, also of a run that was interrupted, its ``posterior_``, or the path of a result.
    out : path
        The file to write.
    overwrite : bool
        Replace an existing file.

    Returns
    -------
    Path
        ``out``.

    Raises
    ------
    StoreError
        If ``tree`` is a path without a finished result, or ``out`` exists already or cannot be written.
    """
    out = check_out(out, overwrite)
    from_disk = isinstance(tree, str | PathLike)
    posterior = results.posterior_of(tree)
    # The attributes of an untrusted store may have any type.
    with as_written(Path(tree)) if from_disk else nullcontext():
        summary = summarise(posterior)
        title, sentence, parts = _REPORTS[type(summary)][0], summary.data_sentence, sections(summary)
        answer = f"{summary.headline}." if summary.headline else ""
    return write_page(out, title, sentence, parts, answer)


def sections(summary: AnySummary) -> list[Section]:
    """Return the sections of the report on one run."""
    return _REPORTS[type(summary)][1](summary)
