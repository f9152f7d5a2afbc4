"""Tables of every posterior: missing values, convergence, and findings."""

from __future__ import annotations

import pandas as pd

from ...data.codebook import frame_of_text
from ...names import LONGEST
from ...results.summary import Summary, count
from ...results.summary.log_odds import log_odds_table
from ...results.summary.structure import StructureSummary
from ...show.tables import ENDS, Column, Listing, Table, interval, number, rest_of, table, text
from ..registry import Answer

_SAID = ("question", "kind", "levels", "counts", "codes", "does")  # columns of a codebook that are texts
_MAY_LACK = ("question", "codes", "does", "counts")  # those that may be empty
MOST_MISSING = 100  # rows of the table of missing values
_MOST_JUDGED = 7  # rows of the table of convergence
_MOST_TABLES = 10  # edges of the page whose log odds are listed


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
    inclusion = s.inclusion if isinstance(s, StructureSummary) else 1.0  # a few draws of an edge say little of it
    largest = ((frame["log_odds"] ** 2).groupby(ends.ngroup()).mean() * inclusion).nlargest(_MOST_TABLES).index
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


ANSWER = Answer("run", (missing, columns, log_odds, convergence, findings))
