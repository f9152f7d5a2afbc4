"""Tables and section of single observations: leave-one-out, and predictions of nodes."""

from __future__ import annotations

import pandas as pd

from ...results.observations import loo_table
from ...results.summary import Summary
from ...show.page import Section, listed, paragraph
from ...show.tables import Listing, Table, number, table, text
from ..registry import Answer

_LOO = (
    "Sum over {} of the log density of their answers given those of all others (nats): of two models of the same "
    "table, the larger one predicts better. Pareto k above 0.7: an estimate is not sure."
)
_PREDICTED = (
    "Correct: share of {} whose answer is the most probable one given {}. Base rate: share of the most frequent answer."
)
_GIVEN = {"persons": "their other answers", "transitions": "the wave before"}


def has_observations(s: Summary) -> bool:
    """Return whether log likelihoods were added."""
    return "loo" in s.tree.children


def unit_of(s: Summary) -> str:
    """Return what is left out one at a time: "persons" or "transitions"."""
    return str(s["loo"].attrs.get("unit", "persons"))


@table("loo", Summary, has_observations)
def loo(s: Summary) -> Table:
    """Leave-one-out by importance sampling."""
    frame, whole, one, unit = loo_table(s.tree), "{:,.0f}", "{:,.1f}", unit_of(s)
    columns = (
        number(unit, each=whole),
        number("elpd", each=one),
        number("se", "standard error", one),
        number("p", "effective parameters", one),
        number("largest_k", "largest Pareto k", "{:.2f}"),
        number("unsure", f"unsure {unit}", whole),
        number("log_z_error", "error of log Z", "{:.2g}"),
    )
    return Table("loo", frame, columns, Listing("Leave-one-out", frame), Listing("", frame), note=_LOO.format(unit))


@table("prediction", Summary, has_observations)
def prediction(s: Summary) -> Table:
    """Shares of correct predictions of each node, next to the base rate."""
    data = s.tree["prediction"].dataset
    frame = pd.DataFrame({"node": s.nodes, "correct": data["correct"].values, "base_rate": data["base_rate"].values})
    columns = (text("node"), number("correct"), number("base_rate", "base rate"))
    note = _PREDICTED.format(unit_of(s), _GIVEN[unit_of(s)])
    return Table("prediction", frame, columns, Listing("Correct predictions", frame), Listing("", frame), note=note)


def section(s: Summary) -> list[Section]:
    """Return the section, if log likelihoods of persons were added."""
    if not has_observations(s):
        return []
    tables = loo(s), prediction(s)
    return [(f"How well are {unit_of(s)} predicted?", "".join(paragraph(t.note) + listed(t) for t in tables))]


ANSWER = Answer("loo", (loo, prediction), section=section, methods=("add_log_likelihood", "add_log_prior"))
