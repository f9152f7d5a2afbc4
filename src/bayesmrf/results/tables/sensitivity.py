"""Tables of the sensitivity to the prior of edges."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..bayes_factors import bounded
from ..sensitivity import ENOUGH, table_of_priors
from ..summary import Summary
from .base import ENDS, FACTOR, Listing, Table, number, table, text

_SHOWN = 4  # of how many priors of a path one is listed


def has_sensitivity(s: Summary) -> bool:
    """Return whether `sensitivity` was computed."""
    return "sensitivity" in s.tree.children


@table("sensitivity", Summary, has_sensitivity)
def sensitivity(s: Summary) -> Table:
    """Shares of edges with evidence for and against them, under each prior."""
    frame = pd.DataFrame(table_of_priors(s.tree))
    some = frame.groupby("prior", sort=False).cumcount() % _SHOWN == 0
    whole = "{:,.0f}"
    share = "{:.0%}"
    return Table(
        "sensitivity",
        frame,
        (
            text("prior"),
            number("value", each="{:.3g}"),
            number("included", each=share),
            number("inconclusive", each=share),
            number("excluded", each=share),
            number("n_effective", "effective draws", whole),
        ),
        Listing("Sensitivity to the prior", frame[some]),
        Listing("Shares by prior", frame),
        note=NOTE,
    )


NOTE = (
    "Inclusion: the prior probability of each edge. Scale: that of the slab over the one of the fit, whose density it "
    "has. Included: Bayes factor above 10; excluded: below 1/10; inconclusive: the others. Where there are fewer than "
    f"{ENOUGH:,} effective draws, shares are uncertain."
)


@table("sensitivity-edges", Summary, has_sensitivity, listed=False)
def sensitivity_of_edges(s: Summary) -> Table:
    """Inclusion and Bayes factor of each edge under each prior."""
    found = s.tree["sensitivity"].dataset
    n_priors, n_edges = found["inclusion"].shape
    each = {name: np.repeat(values, n_edges) for name, values in table_of_priors(s.tree).items()}
    frame = pd.DataFrame(
        {name: np.tile(ends, n_priors) for name, ends in s.named_ends.items()}
        | {name: each[name] for name in ("prior", "value")}
        | {"inclusion": found["inclusion"].values.ravel()}
        | {"bayes_factor": bounded(found["log10_bayes_factor"].values.ravel())}
        | {"log10_bf_error": found["log10_bf_error"].values.ravel(), "trusted": each["trusted"]}
    )
    columns = (ENDS, text("prior"), number("value"), number("inclusion"), FACTOR)
    return Table("sensitivity-edges", frame, columns)
