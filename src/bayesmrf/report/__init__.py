"""One self-contained HTML page about a posterior."""

from __future__ import annotations

from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import Any

from .. import results
from ..answers import registry
from ..answers.registry import main_rows
from ..answers.run.methods_text import paragraphs
from ..answers.run.shown import verdict
from ..answers.study.shown import write_calibration, write_plan
from ..declare.option import named
from ..declare.rule import choice
from ..errors import OptionError
from ..results.summary import AnySummary, summarise
from ..runs.sealed import as_written
from ..show.figures import data_names
from ..show.interactive import can_explore, network_view
from ..show.nodes_table import nodes_of
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

_FIRST, _NAMES = 10, {"lagged": "lagged edges"}  # rows of the main table; what they are


@named
def write_report(
    tree: Any, out: str | PathLike[str], overwrite: bool = False, to: str = "html", nodes: Any = None
) -> Path:
    """Write one self-contained HTML file: what was found, a network to explore, and how to report and reproduce it.

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
    nodes : DataFrame or path, optional
        More about nodes, by which the page can colour them: names in the index, or in the first column of a file.

    Returns
    -------
    Path
        ``out``.

    Raises
    ------
    StoreError
        If ``tree`` is a path without a finished result, or ``out`` exists already or cannot be written.
    OptionError
        If ``to`` is none of these, Word files cannot be written, or ``nodes`` is no table of the nodes of the result.
    """
    choice("html", *SUFFIXES).check("to", to)
    if nodes is not None and to != "html":
        raise OptionError(option="nodes", got=nodes, expected="omitted, as text for a paper does not use it")
    out = check_out(out, overwrite)
    from_disk = isinstance(tree, str | PathLike)
    posterior = results.posterior_of(tree)
    # The attributes of an untrusted store may have any type.
    with as_written(Path(tree)) if from_disk else nullcontext():
        summary = summarise(posterior)
        if to != "html":
            return write_manuscript(summary, out, to)
        more = None if nodes is None else nodes_of(nodes, data_names(summary))
        front, parts = headed(summary, more)
        sentence, parts = summary.data_sentence, [*front, *parts]
        answer = f"{summary.headline}." if summary.headline else ""
    return write_page(out, summary.title, sentence, parts, answer, len(front))


def sections(summary: AnySummary) -> list[Section]:
    """Return the sections of the report on one run."""
    front, others = headed(summary)
    return [*front, *others]


def headed(summary: AnySummary, nodes: Any = None) -> tuple[list[Section], list[Section]]:
    """Return the sections that a reader wants first, with the findings and the network, and all others."""
    (title, answer), *others = registry.sections(summary)
    view = network_view(summary, nodes) if can_explore(summary) else ""
    report = "".join(map(paragraph, paragraphs(summary)))
    front = [(title, verdict(summary) + view + answer), ("How to report this result", report)]
    if (main := main_rows(summary, _FIRST)) is not None:
        made, heads, cells = main
        certain = "most certain" if summary.spike and made.name != "groups" else "first"
        title = f"The {len(cells)} {certain} {_NAMES.get(made.name, made.name)}"
        front.insert(1, (title, table(heads, cells) + paragraph(made.note)))
    return front, others
