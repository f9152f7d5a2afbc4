"""Sections of the report on a posterior over groups of edges."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import plots
from ..answers.edges.shown import inclusion_part
from ..answers.registry import table_of
from ..results.median_model import EDGES
from ..results.summary import GroupedSummary
from ..show.page import Section, listed, paragraph, picture

_NETWORK = "Edges coloured by group; wide: strong; dashed: the ends tend to differ (agreement below 0.5)."
_NETWORK_SPIKE = f"{_NETWORK[:-1]}; pale: less probable. Shown are {EDGES}."


def sections(summary: GroupedSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    s, n_shown, network = summary, len(summary.shown), _NETWORK_SPIKE if summary.spike else _NETWORK
    parts: list[tuple[bool, str, Callable[[], Any]]] = [
        (s.spike, "Which edges exist", lambda: inclusion_part(s)),
        (True, "Number of groups", lambda: _number_of_groups(s)),
        (n_shown > 0, "Groups", lambda: _groups(s)),
        (len(s.entries) > 0, "Tables of the groups", lambda: _potentials(s)),
        (n_shown > 1 or not s.spike, "Uncertainty of the partition", lambda: _ball(s)),
        (n_shown > 0, "Network", lambda: picture(lambda: plots.plot_network(s), network)),
        (True, "Edges", lambda: _edges(s)),
        (len(s.field_table) > 0, "Thresholds" if _has_thresholds(s) else "Node fields", lambda: _fields(s)),
    ]
    return [(title, say()) for wanted, title, say in parts if wanted]


def _has_thresholds(s: GroupedSummary) -> bool:
    return s.family is not None and s.has_named_nodes


def _number_of_groups(s: GroupedSummary) -> str:
    return picture(lambda: plots.plot_n_groups(s), "Posterior probability of each number of groups.")


def _groups(s: GroupedSummary) -> str:
    text = (
        "The agreement of an edge is its effect on its two ends, other things equal: 0.5 means no effect, above 0.5 "
        "they tend to agree, below 0.5 to differ. The table shows the partition of the "
        f"{EDGES if s.spike else 'edges'} that is closest to all draws (it minimises the posterior expected "
        "variation of information). The agreement of a "
        f"group is the mean over its edges{' that exist' if s.spike else ''}."
    )
    if s.entries:
        text += (
            " The agreement of a table is the mean of its log potentials over equal states minus that over unequal "
            "ones, mapped to (0, 1)."
        )
    if _has_thresholds(s):
        text += (
            " The agreement of ordered categories is the logistic function of half the weight: the probability that "
            "two ends that are each in one of two adjacent categories, with even odds, are both in the lower or the "
            "higher."
        )
    return paragraph(text) + listed(table_of(s, "groups"), sortable=False)


def _potentials(s: GroupedSummary) -> str:
    """Write the log potentials of each group, one row per pair of states or parameter."""
    how = " Log potentials are means over its edges that exist." if s.spike else ""
    table = table_of(s, "potentials")
    return paragraph(f"The edges of a group share a table.{how} {table.note}") + listed(table, sortable=False)


def _ball(s: GroupedSummary) -> str:
    partitions = table_of(s, "partitions")
    text = (
        f"{partitions.note} The smallest such ball that contains 95 % of the draws is their credible ball (Wade and "
        "Ghahramani 2018). Its bounds are shown: the most distant partition in it, the most distant of those with "
        "the fewest groups, and of those with the most."
    )
    strips = picture(
        lambda: plots.plot_credible_ball(s),
        "The groups of the edges in these partitions, in the colours of the point partition; grey groups have no "
        "counterpart there.",
    )
    heat = picture(
        lambda: plots.plot_co_clustering(s),
        "Posterior similarity: dark blocks share a group in nearly every draw, pale ones in few.",
    )
    return paragraph(text) + listed(partitions, sortable=False) + strips + heat


def _edges(s: GroupedSummary) -> str:
    text = "Agreement of each edge with its 90 % interval; the estimates of a group are shrunk towards each other."
    if s.spike:
        text = f"{text[:-1]}. Shown are {EDGES}, and their agreement where they exist."
    shown = picture(lambda: plots.plot_agreement(s), text) if len(s.shown) else paragraph(f"There are no {EDGES}.")
    return shown + listed(table_of(s, "edges"))


def _fields(s: GroupedSummary) -> str:
    text = "The field h of a node multiplies its state in {-1, +1}: it favours yes above 0, no below 0."
    if _has_thresholds(s):
        text = "A threshold is the log odds of its category against the lowest where all other nodes are in theirs."
        text += s.neutral_clause
    elif s.family is None:
        text = s.terms.meaning
    elif s.levels:
        text = f"The field h of a state (from 0) of a node is its log odds against {s.levels[0]}, other things equal."
    fixed = s.attrs.get("method") == "stripped-beta"
    text += " This method keeps fields at their tied maximum likelihood estimate in every step." if fixed else ""
    said = ""
    if s.fields_grouped:
        text += " Nodes of one group share theirs; shown is the partition of the nodes closest to all draws."
        said = paragraph(f"Number of groups: {s.field_groups_sentence}.")
    return said + paragraph(text) + listed(table_of(s, "nodes"))
