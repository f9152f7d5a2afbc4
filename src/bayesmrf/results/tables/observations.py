"""Tables of single observations: leave-one-out, and predictions of nodes."""

from __future__ import annotations

import pandas as pd

from ..observations import loo_table
from ..summary import Summary
from .base import Listing, Table, number, table, text

_LOO = (
    "Sum over persons of the log density of their answers given those of all others (nats): of two models of the same "
    "table, the larger one predicts better. Pareto k above 0.7: the estimate of a person is not sure."
)
_PREDICTED = (
    "Correct: share of persons whose answer is the most probable one given their other answers. Base rate: share of "
    "the most frequent answer."
)


def has_observations(s: Summary) -> bool:
    """Return whether log likelihoods were added."""
    return "loo" in s.tree.children


@table("loo", Summary, has_observations)
def loo(s: Summary) -> Table:
    """Leave-one-out by importance sampling."""
    frame, whole, one = loo_table(s.tree), "{:,.0f}", "{:,.1f}"
    columns = (
        number("persons", each=whole),
        number("elpd", each=one),
        number("se", "standard error", one),
        number("p", "effective parameters", one),
        number("largest_k", "largest Pareto k", "{:.2f}"),
        number("unsure", "unsure persons", whole),
        number("log_z_error", "error of log Z", "{:.2g}"),
    )
    return Table("loo", frame, columns, Listing("Leave-one-out", frame), Listing("", frame), note=_LOO)


@table("prediction", Summary, has_observations)
def prediction(s: Summary) -> Table:
    """Shares of correct predictions of each node, next to the base rate."""
    found = s.tree["prediction"].dataset
    frame = pd.DataFrame({"node": s.nodes, "correct": found["correct"].values, "base_rate": found["base_rate"].values})
    columns = (text("node"), number("correct"), number("base_rate", "base rate"))
    return Table(
        "prediction", frame, columns, Listing("Correct predictions", frame), Listing("", frame), note=_PREDICTED
    )
