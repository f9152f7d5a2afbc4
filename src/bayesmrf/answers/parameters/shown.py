"""Tables and section of the parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ...results.summary import ParameterSummary
from ...show.page import Section, as_figure, listed, paragraph, picture, section_of
from ...show.tables import ENDS, Listing, Table, at_most, first_rows, interval, number, rest_of, table, text
from ..edges.networks import plot_network
from ..registry import Answer
from ..run.shown import log_odds
from .pictures import plot_marginals, plot_parameters, plot_strength

MOST_PARAMETERS = 500  # rows of the page
MOST_NODES = 200  # rows of the table of strengths
_MOST = {True: 20, False: 10}  # parameters of edges, and of nodes, that the terminal lists


@table("parameters", ParameterSummary)
def parameters(s: ParameterSummary) -> Table:
    """Parameters that were sampled, or strengths of tables, edges first, by decreasing absolute mean."""
    rows = s.strongest.reset_index()
    frame = pd.DataFrame({"parameter": rows["feature"], "kind": _kinds(s, rows["is_edge"])} | _values(rows))
    shown = frame.assign(parameter=rows["label"])
    size = rows["mean"].abs().to_numpy()
    wide = np.sort(np.argsort(-size, kind="stable")[:MOST_PARAMETERS])
    narrow, left_out = [], []
    for is_edge, most in _MOST.items():
        part = np.flatnonzero(rows["is_edge"] == is_edge)
        most = at_most(most, len(part))
        narrow += list(part[:most])
        if len(part) > most:
            clear = rows["clear"].to_numpy()[part[most:]].sum()
            kind = s.terms.edge if is_edge else s.terms.node
            left_out.append(f"{len(part) - most:,} weaker ({kind}), {clear:,} of them excluding zero")
    return Table(
        "parameters",
        frame,
        (text("parameter", longest=None), text("kind"), text("excludes_zero", "excludes zero"), number("mean"),
         number("sd"), interval(s)),
        Listing("Parameters, strongest first", shown.iloc[narrow], f"Not listed: {'; '.join(left_out)}."
                if left_out else "", "kind"),
        Listing(f"Values, with the {interval(s).head} (from, to)", shown.iloc[wide],
                rest_of(len(frame), MOST_PARAMETERS, "strongest parameters")),
        note=s.terms.meaning + s.display.note,
    )  # fmt: skip


def _kinds(s: ParameterSummary, is_edge: pd.Series[bool]) -> np.ndarray:
    return np.where(is_edge, s.terms.edge, s.terms.node).astype(object)


def _values(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Select the columns of values, of which the first says whether the interval excludes zero."""
    return {name: table[name] for name in ("excludes_zero", "mean", "sd", "lower", "upper")}


@table("edges", ParameterSummary, lambda s: s.n_weights > 0)
def edges(s: ParameterSummary) -> Table:
    """Parameters of edges, by decreasing absolute mean."""
    weights = s.table.iloc[: s.n_weights].reset_index(drop=True)
    frame = pd.DataFrame(s.named_ends | _values(weights)).rename(columns={"mean": "weight"})
    frame = frame.sort_values("weight", key=np.abs, ascending=False, kind="stable", ignore_index=True)
    clear = text("excludes_zero", "excludes zero")
    return Table("edges", frame, (ENDS, clear, number("weight", s.terms.edge), number("sd"), interval(s)))


@table("nodes", ParameterSummary, lambda s: 0 < s.n_weights < len(s.table))
def nodes(s: ParameterSummary) -> Table:
    """Parameters of nodes."""
    fields = s.table.iloc[s.n_weights :].reset_index()
    frame = pd.DataFrame({"node": fields["feature"]} | _values(fields))
    clear = text("excludes_zero", "excludes zero")
    return Table("nodes", frame, (text("node", s.terms.node), clear, number("mean"), number("sd"), interval(s)))


@table("strength", ParameterSummary, lambda s: s.n_weights > 0)
def strength(s: ParameterSummary) -> Table:
    """Strength of each node, the strongest first."""
    frame = s.strength_table
    wide = first_rows("", frame, MOST_NODES, "strongest nodes")
    return Table("strength", frame, (text("node"), number("strength"), interval(s)), wide=wide)


def section(s: ParameterSummary) -> list[Section]:
    """Return the sections of the page on the parameters, and on the network where each edge has one."""
    if not parameters.is_in(s):
        return []
    caption = "Posterior mean and 90 % interval; hollow if the interval contains zero."
    drawn = picture(lambda: plot_parameters(s), caption)
    first = ("Parameters", paragraph(s.terms.meaning) + drawn + listed(parameters(s)))
    if not s.n_weights:
        return [first]
    network = f"Width: size of the mean {s.terms.edge}; dashed: negative; pale: its 90 % interval contains zero."
    return [
        ("Network", as_figure(picture(lambda: plot_network(s), network))),
        first,
        ("Strength of the nodes", _strength(s)),
        *section_of(log_odds, "Log odds of categories", s),
    ]


def _strength(s: ParameterSummary) -> str:
    text = (
        "The strength of a node is the sum of the absolute parameters of its edges, computed in every draw. As a sum "
        "of absolute values it is above zero even if the intervals of all edges contain zero."
    )
    drawn = picture(lambda: plot_strength(s), "Strength of each node with its 90 % interval.")
    return paragraph(text) + drawn + listed(strength(s))


ANSWER = Answer(
    "parameters",
    (parameters, edges, nodes, strength),
    (plot_parameters, plot_strength, plot_marginals),
    section=section,
)
