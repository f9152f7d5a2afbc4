"""Tables, picture and sections of every run: what was run, convergence, findings, and missing values."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...data.codebook import Codebook, frame_of_text
from ...declare.rule import Rule, optional
from ...names import LONGEST, shown
from ...results.summary import Summary, count, summarise
from ...results.summary.log_odds import log_odds_table
from ...results.until_good import CRITERION
from ...show.figures import PictureOf, resized
from ...show.page import Section, escape, listed, paragraph, picture, section_of
from ...show.style import MOST_IN_LEGEND, axes, group_colours, legend_of, plot_of, set_integer_ticks
from ...show.tables import ENDS, Column, Listing, Table, interval, number, rest_of, table, text
from ..registry import Answer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SAID = ("question", "kind", "levels", "counts", "codes", "does")  # columns of a codebook that are texts
_MAY_LACK = ("question", "codes", "does", "counts")  # those that may be empty
MOST_MISSING = 100  # rows of the table of missing values
_MOST_JUDGED = 7  # rows of the table of convergence
_LONGEST_LABEL = 30  # letters of a label, which is as high as the axes
_MOST_POINTS = 2000  # of a chain that are drawn
_MOST_TABLES = 10  # edges of the page whose log odds are listed
# Options of the command line that estimators do not have.
_ASKED = (("Graph", "graph"), ("Candidate edges", "candidates"), ("Levels that count as yes", "binarize"))


@table("missing", Summary, lambda s: s.n_missing > 0)
def missing(s: Summary) -> Table:
    """Missing values, and the probabilities of their states; rows of the data are numbered from 0 in the frame."""
    frame = s.missing_table
    note = f"{count(s.n_missing, 'value was', 'values were')} missing, and summed over or drawn together with the "
    note += "parameters."
    if len(frame) > MOST_MISSING:
        note += f" The first {MOST_MISSING} probabilities are listed."
    listed = frame.iloc[:MOST_MISSING].assign(row=lambda rows: rows["row"] + 1)
    return Table(
        "missing",
        frame,
        (number("row", each="{:,.0f}"), text("node"), text("state"), number("probability")),
        Listing("", frame.iloc[:0], s.missing_sentence),
        Listing("Probabilities", listed),
        note=note,
    )


@table("columns", Summary, lambda s: bool(s.attrs.get("columns")), listed=False)
def columns(s: Summary) -> Table:
    """What each column was read as: its wording, its kind, its levels in order, their counts, and what was missing."""
    frame = frame_of_text(s.attrs["columns"])  # as it was written: an edited codebook has no counts, the data have
    frame = frame[[name for name in frame if name not in _MAY_LACK or (frame[name] != "").any()]]
    said = [text(name, longest=None) for name in _SAID if name in frame]
    columns = (text("name"), *said, number("missing", each="{:,.0f}"))
    return Table("columns", frame, columns, wide=Listing("", frame))


@table("log_odds", Summary, lambda s: s.display.has_tables and s.n_edges > 0, listed=False)
def log_odds(s: Summary) -> Table:
    """Log odds of the categories of the ends of each edge; the page lists those of the edges with the largest."""
    frame = log_odds_table(s)
    group = [text("group")] if "group" in frame else []
    levels = (text("first_level", "level"), text("second_level", "level of the other"))
    ends = frame.groupby(["first", "second"], sort=False)
    size = (frame["log_odds"] ** 2).groupby(ends.ngroup()).mean()
    largest = (size * s.share_informing).nlargest(_MOST_TABLES).index  # a few draws of an edge say little of it
    return Table(
        "log_odds",
        frame,
        (ENDS, *levels, *group, number("log_odds", "log odds"), interval(s)),
        wide=Listing("", frame[ends.ngroup().isin(largest)], rest_of(ends.ngroups, _MOST_TABLES, "strongest edges")),
        note="Log odds of two categories together, centred over those of both ends: above 0 they are together more "
        "often than other edges and the nodes make them. The log odds ratio of two categories of either end is the "
        "difference of two entries, less that of the other two.",
    )


@table("convergence", Summary)
def convergence(s: Summary) -> Table:
    """R-hat and effective sample sizes of all quantities that vary, those with the worst convergence first."""
    frame = s.diagnostics.rename_axis("quantity").reset_index()
    whole = "{:,.0f}"
    columns: tuple[Column, ...] = (
        text("quantity", longest=2 * LONGEST),
        number("mean"),
        number("sd"),
        number("r_hat", "R-hat"),
    )
    columns += (number("ess_bulk", "bulk ESS", whole), number("ess_tail", "tail ESS", whole))
    return Table("convergence", frame, columns, wide=Listing("", frame.iloc[:_MOST_JUDGED]))


@table("findings", Summary)
def findings(s: Summary) -> Table:
    """Findings of the run, the worst first: the verdict on its chains, and every warning of `fit`."""
    frame = pd.DataFrame(s.verdict.sentences, columns=["severity", "text"])
    said = Listing("", frame.iloc[:0], "\n".join(frame["text"]))
    return Table("findings", frame, (text("severity"), text("text", longest=None)), said)


@plot_of("GroupedMRF, BayesianMRF, SpikeSlabMRF, CompareMRF or PanelMRF")
def plot_trace(tree: Any, ax: Axes | None = None, feature: str | None = None) -> Axes:
    """Plot one quantity along each chain: draws pale, their running mean over a twentieth of the run bold.

    Converged chains vary over the same range. For long chains an evenly spaced selection of draws is shown.

    ``feature`` is a parameter, as in coordinate ``feature``; by default it is the number of groups, the number of edges
    if they may be absent, or else the parameter with the largest R-hat. Parameters of a posterior of CompareMRF differ
    between groups, and are not shown.

    Raises
    ------
    OptionError
        If ``feature`` is not a parameter of the posterior, or the posterior is of CompareMRF.
    """
    optional(Rule("the name of a parameter", lambda v: isinstance(v, str))).check("feature", feature)
    summary = summarise(tree)
    label, series = summary.trace() if feature is None else (feature, summary.trace_of(feature))
    ax = axes(ax, (7.2, 2.6))
    window = max(1, series.sizes["draw"] // 20)
    draw, chains = series["draw"].values, series["chain"].values
    every = -(-len(draw) // _MOST_POINTS)
    for chain, values, colour in zip(chains, series.values, group_colours(len(chains)), strict=True):
        running = np.convolve(values, np.full(window, 1 / window), mode="valid")
        at = draw[window - 1 :] - (window - 1) / 2
        ax.plot(draw[::every], values[::every], color=colour, linewidth=0.5, alpha=0.3)
        dot = "o" if len(at) == 1 else None  # a line of one point is invisible
        ax.plot(at[::every], running[::every], color=colour, linewidth=1.5, marker=dot, label=f"chain {chain}")
    if np.issubdtype(series.dtype, np.integer):
        set_integer_ticks(ax.yaxis)
    ax.set_xlim(0, max(1, draw[-1]))
    ax.set_xlabel("draw")
    ax.set_ylabel(shown(label, _LONGEST_LABEL), parse_math=False)
    if len(chains) <= MOST_IN_LEGEND:
        legend_of(ax, 4)
    return ax


def verdict(s: Summary) -> str:
    """Return the findings of the run, each in a separate paragraph."""
    return "".join(paragraph(sentence, f"verdict {severity}") for severity, sentence in s.verdict.sentences)


def section(s: Summary) -> list[Section]:
    """Return the last sections of every page: how the results were computed, and which answers were missing."""
    return [
        *section_of(columns, "Wording and levels of the items", s),
        ("What was run", _what_was_run(s)),
        ("Have the chains converged?", _convergence(s)),
        ("Reproduce and cite", _run_again(s)),
        *section_of(missing, "Missing values", s),
    ]


def _what_was_run(s: Summary) -> str:
    """Return data, graph, method, exactness, draws and options."""
    a = s.attrs
    facts = [("Data", f"{a['data_file']}: {s.data_sentence}" if "data_file" in a else s.data_sentence)]
    facts += [("Columns", "; ".join(Codebook.of_text(a["columns"]).lines()))] if a.get("columns") else []
    facts += [(name, str(a[key])) for name, key in _ASKED if key in a]
    facts += [("Method", s.method_sentence), ("Exact or approximate", s.kind_sentence)]
    facts += [("Draws", s.draws_sentence)]
    facts += [(label[0].upper() + label[1:], value) for label, value in s.options.items()]
    facts += [("Run time", s.time_sentence), ("Created", str(a.get("created_at", "unknown")))]
    cut = "" if a.get("complete", True) else paragraph(
        "This run was stopped before its end; the report is on the draws until then.", "verdict fair")  # fmt: skip
    return f"{cut}{_facts(facts)}"


def _convergence(s: Summary) -> str:
    """Return the verdict, the diagnostics, and the trace of one quantity."""
    text = (
        "R-hat compares the chains (1.00: they agree). The effective sample size (ESS) is the number "
        "of independent draws with the same precision: bulk for means, tail for the ends of intervals. "
        f"{count(len(s.diagnostics), 'quantity', 'quantities')} were checked; shown are {s.judged}."
    )
    if "short" in s.attrs:
        text += f" {CRITERION}"
    caption = f"{s.trace_title} along each chain: converged chains vary over the same range."
    return paragraph(text) + listed(convergence(s), sortable=False) + picture(lambda: plot_trace(s), caption)


def _run_again(s: Summary) -> str:
    """Return the command, seed, versions, and the source of the method."""
    a = s.attrs
    versions = ", ".join(f"{k} {v}" for k, v in json.loads(a.get("versions", "{}")).items())
    seed = str(a.get("seed", "unknown"))
    items = [("Seed", seed), ("Versions", versions), ("Data and graph (SHA-256)", str(a.get("data_hash", "unknown")))]
    command = ""
    if "command" in a:
        line = a["command"] if "--seed" in a["command"] else f"{a['command']} --seed {seed}"
        command = f"<pre>{escape(line)}</pre>"
    same = paragraph("The same seed, data, options and versions give the same draws.")
    cite = paragraph(f"Method: {s.source}. Software: bayesmrf, in the version above.")
    return f"{same}{command}{_facts(items)}{cite}"


def _facts(items: Iterable[tuple[str, str]]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(k)}</dt><dd>{escape(v)}</dd>' for k, v in items)}</dl>"


ANSWER = Answer(
    "run",
    (missing, columns, log_odds, convergence, findings),
    (plot_trace,),
    (PictureOf("trace", Summary, resized(plot_trace)),),
    section,
    methods=("methods_text",),
)
