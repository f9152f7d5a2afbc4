"""One self-contained HTML page about a posterior."""

from __future__ import annotations

from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from .. import results
from ..answers import registry
from ..answers.run.methods_text import paragraphs
from ..answers.run.shown import verdict
from ..answers.study.shown import write_calibration, write_plan
from ..declare.option import named
from ..declare.rule import choice
from ..results.summary import AnySummary, summarise
from ..runs.sealed import as_written
from ..show.page import Section, check_out, paragraph, picture, table, write_page
from .manuscript import SUFFIXES, write_manuscript

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


@named
def write_report(tree: Any, out: str | PathLike[str], overwrite: bool = False, to: str = "html") -> Path:
    """Write one self-contained HTML file: tables, figures, convergence, and how to reproduce the run.

    Or, for a paper, paragraphs about data, methods and results, references, and the table of the edges.

    Parameters
    ----------
    tree : estimator, xarray.DataTree or path
        A fitted estimator, also of a run that was interrupted, its ``posterior_``, or the path of a result.
    out : path
        The file to write.
    overwrite : bool
        Replace an existing file.
    to : {"html", "text", "latex", "docx"}
        The page, or the paragraphs and the table as plain text, as a part of a LaTeX document, or as a Word file.

    Returns
    -------
    Path
        ``out``.

    Raises
    ------
    StoreError
        If ``tree`` is a path without a finished result, or ``out`` exists already or cannot be written.
    OptionError
        If ``to`` is none of these, or Word files cannot be written.
    """
    choice("html", *SUFFIXES).check("to", to)
    out = check_out(out, overwrite)
    from_disk = isinstance(tree, str | PathLike)
    posterior = results.posterior_of(tree)
    # The attributes of an untrusted store may have any type.
    with as_written(Path(tree)) if from_disk else nullcontext():
        summary = summarise(posterior)
        if to != "html":
            return write_manuscript(summary, out, to)
        sentence, parts = summary.data_sentence, sections(summary)
        answer = f"{summary.headline}." if summary.headline else ""
    return write_page(out, summary.title, sentence, parts, answer)


def sections(summary: AnySummary) -> list[Section]:
    """Return the sections of the report on one run: the first answer below the findings, then the others."""
    (title, answer), *others = registry.sections(summary)
    report = "".join(map(paragraph, paragraphs(summary)))
    return [(title, verdict(summary) + answer), *others[:1], ("How to report this result", report), *others[1:]]
