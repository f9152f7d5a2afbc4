"""How many people a study needs: shares of edges that simulated tables decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...show.tables import Column, Listing, Table, number

if TYPE_CHECKING:
    import pandas as pd

GOAL = 0.8  # share of true edges found that a plan names a number of people for
SHARES = {  # the number of edges of a replicate that a share counts, and those that it is of
    "found": ("found", "present"),
    "ruled_out": ("ruled_out", "absent"),
    "undecided": ("inconclusive", "edges"),
    "wrongly_found": ("wrongly_found", "absent"),
    "wrongly_ruled_out": ("wrongly_ruled_out", "present"),
}


@dataclass(frozen=True, eq=False)
class Plan:
    """What tables of several sizes tell about the edges of known networks.

    Parameters
    ----------
    replicates : sequence of dict
        One for each simulated table: its number of people ``n``, and numbers of edges.
    noun : str
        "edge", or "difference" between two groups of people.
    truth : str
        The networks, in words.
    """

    replicates: Sequence[dict[str, Any]]
    noun: str
    truth: str

    @cached_property
    def frame(self) -> pd.DataFrame:
        """For each number of people, shares of edges and their Monte Carlo standard errors.

        Columns: n; found, of the true edges (evidence above 10); ruled_out, of the absent ones (below 1/10);
        undecided, of all; wrongly_found, of the absent ones; wrongly_ruled_out, of the true ones; ``..._error`` of
        each; replicates. The share of an empty set is NaN.
        """
        import pandas as pd

        rows = []
        for n in sorted({one["n"] for one in self.replicates}):
            of_n = [one for one in self.replicates if one["n"] == n]
            row: dict[str, Any] = {"n": n}
            for name, (top, bottom) in SHARES.items():
                row[name], row[f"{name}_error"] = ratio([one[top] for one in of_n], [one[bottom] for one in of_n])
            rows.append(row | {"replicates": len(of_n)})
        return pd.DataFrame(rows)

    @property
    def sentence(self) -> str:
        """How many people find four of five true edges, and what the largest table tells."""
        frame, last = self.frame, self.frame.iloc[-1]
        enough = frame[frame["found"] >= GOAL]
        goal = (
            f"{enough['n'].iloc[0]:,.0f} people find {GOAL:.0%} of the true {self.noun}s"
            if len(enough)
            else f"{last['n']:,.0f} people are too few to find {GOAL:.0%} of the true {self.noun}s"
        )
        each = (("found", "true", "found"), ("ruled_out", "absent", "ruled out"))
        parts = [f"{last[k]:.0%} of the {which} {self.noun}s are {how}" for k, which, how in each if last[k] >= 0]
        return f"{goal}: with {last['n']:,.0f}, {' and '.join(parts)}."

    @property
    def table(self) -> Table:
        """The frame as a table."""
        share = "{:.2f}"
        heads = ("found", "ruled out", "undecided", "wrongly found", "wrongly ruled out")
        columns = [number("n", "people", "{:,.0f}")]
        for name, head in zip(SHARES, heads, strict=True):
            columns.append(Column(head, (name, f"{name}_error"), share, "{} ± {}", (head, "± error")))
        columns.append(number("replicates", each="{:,.0f}"))
        note = (
            f"Shares over simulated tables from {self.truth}, with their standard errors. Found: evidence above 10, of "
            f"the true {self.noun}s; ruled out: below 1/10, of the absent ones; undecided: neither, of all."
        )
        return Table(
            "plan", self.frame, tuple(columns), Listing("", self.frame), Listing("", self.frame), self.sentence, note
        )


def ratio(top: Sequence[float], bottom: Sequence[float]) -> tuple[float, float]:
    """Return a ratio of sums over replicates, and its standard error by the delta method."""
    a, b = np.asarray(top, float), np.asarray(bottom, float)
    if not b.sum():
        return np.nan, np.nan
    share = a.sum() / b.sum()
    if len(a) < 2:
        return float(share), np.nan
    return float(share), float(np.sqrt(((a - share * b) ** 2).sum() * len(a) / (len(a) - 1)) / b.sum())
