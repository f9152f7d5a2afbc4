"""Tables and section of the structures that were visited, and of the number of edges."""

from __future__ import annotations

from ...results.structures import SHARE, number_that_carry, structure_table
from ...results.summary import InclusionSummary, Summary, count
from ...show.page import Section, listed, paragraph
from ...show.tables import Listing, Table, first_rows, number, table, text
from ..registry import Answer

_MOST = 20  # structures that the page lists


@table("structures", InclusionSummary, lambda s: s.spike, listed=False)
def structures(s: InclusionSummary) -> Table:
    """Sets of edges that exist (or differ between groups of people) in a draw, the most probable first."""
    frame = structure_table(s.tree, s.edge_texts)
    n, few = len(frame), number_that_carry(frame["cumulative"].to_numpy())
    once = int((frame["probability"] * s.n_draws < 1.5).sum())
    note = f"A structure is the set of the edges that {s.verb} in a draw. "
    if once == n > 1:
        note += (
            f"Each of the {n:,} draws has a different one, so the probability of any single one cannot be estimated."
        )
    else:
        share = f"{100 * SHARE:g} % of the draws"
        note += f"{count(s.n_draws, 'draw')} visited {count(n, 'structure')}; {few:,} of them carry {share}."
    if n > once > n / 2:
        note += f" {once:,} were visited once, so their probabilities cannot be estimated."
    columns = (number("n_edges", "edges", "{:,}"), number("probability"), number("cumulative"),
               text("edges", f"edges that {s.verb}", longest=None))  # fmt: skip
    most = first_rows("Structures, most probable first", frame, _MOST, "most probable structures")
    return Table("structures", frame, columns, note=note, wide=most if once < n else None)


@table("n-edges", InclusionSummary, lambda s: s.spike, listed=False)
def n_edges(s: InclusionSummary) -> Table:
    """Posterior probability of each number of edges that exist, or differ between groups of people."""
    import pandas as pd

    share = pd.Series(s.numbers).value_counts(normalize=True).sort_index()
    frame = pd.DataFrame({"n_edges": share.index.astype(int), "probability": share.to_numpy()})
    columns = (number("n_edges", "edges", "{:,}"), number("probability"))
    return Table("n-edges", frame, columns, wide=Listing("Number of edges", frame),
                 note=f"Probability of each number of edges that {s.verb}.")  # fmt: skip


def section(s: Summary) -> list[Section]:
    """Return the section, if edges (or their differences) may be absent."""
    if not structures.is_in(s):
        return []
    table = structures(s)
    return [("Structures", paragraph(table.note) + (listed(table) if table.wide else ""))]


ANSWER = Answer("structures", (structures, n_edges), section=section)
