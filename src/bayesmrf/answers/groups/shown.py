"""Tables and sections of a posterior over groups of edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ...results.median_model import EDGES
from ...results.summary import GroupedSummary
from ...show.figures import PictureOf, resized
from ...show.page import Section, listed, paragraph, picture
from ...show.tables import ENDS, Listing, Table, at_most, interval, number, rest_of, table, text
from ..edges.networks import plot_network
from ..edges.shown import MOST_EDGES, MOST_LIKELY, STRONGEST, inclusion_part, numbers, weaker
from ..registry import Answer
from . import pictures

MOST_GROUPS = 100  # rows of the page
_MOST_TABLES = 6  # groups whose tables the terminal lists
_MOST_SIZES = 12  # groups of a bound whose size is listed
_AGREEMENT = (
    "Agreement: 0.5 if the ends of an edge are unrelated, more if they tend to agree, less if they tend to differ."
)
_NUMBER = "Posterior probability of each number of groups."
_NETWORK = "Edges coloured by group; wide: strong; dashed: the ends tend to differ (agreement below 0.5)."
_NETWORK_SPIKE = f"{_NETWORK[:-1]}; pale: less probable. Shown are {EDGES}."


@table("edges", GroupedSummary)
def edges(s: GroupedSummary) -> Table:
    """Edges: those in groups by group and decreasing agreement, then the others by decreasing inclusion."""
    all_edges = s.edge_table
    others = all_edges[all_edges["group"] == 0]
    if s.spike:
        others = others.sort_values("inclusion", ascending=False, kind="stable")
        chosen, which = all_edges["inclusion"], "most probable edges"
    else:
        chosen, which = (all_edges["agreement"] - 0.5).abs(), "strongest edges (agreement farthest from 0.5)"
    frame = pd.concat([s.by_group, others])
    strongest = chosen.sort_values(ascending=False, kind="stable").index[:MOST_EDGES]
    listed = frame[frame.index.isin(strongest)]
    listed = listed.assign(group=np.array([f"{g}" if g else None for g in listed["group"]], dtype=object))
    wide = Listing(f"Values, with the {interval(s).head} (from, to)", listed, rest_of(len(frame), MOST_EDGES, which))
    said = (text("evidence"),) if "evidence" in frame else ()
    columns = (text("group"), number("agreement"), interval(s), *said)
    if not s.spike:
        return Table("edges", frame.reset_index(drop=True), (ENDS, *columns, number("mle", s.mle_name)), wide=wide)
    most = at_most(MOST_LIKELY, len(s.strongest))
    return Table(
        "edges",
        frame.reset_index(drop=True),
        (ENDS, number("inclusion"), *columns),
        Listing(STRONGEST, s.strongest.iloc[:most], weaker(len(s.strongest), most)),
        wide,
        f"Number of edges: {s.n_edges_sentence}.\n{s.density_sentence}.",
        "Inclusion: probability of the edge. Agreement: where the edge exists.",
    )


@table("groups", GroupedSummary)
def groups(s: GroupedSummary) -> Table:
    """Groups of the point partition, by decreasing agreement."""
    frame = _with_examples(s.group_table, s.examples)
    largest = np.sort(frame["size"].nlargest(MOST_GROUPS).index)
    rest = f"The {MOST_GROUPS} largest of {len(frame):,} groups are listed." if len(frame) > MOST_GROUPS else ""
    of = ", of these edges" if s.spike else ""
    return Table(
        "groups",
        frame,
        (text("group"), number("size", "edges", "{:,}"), number("agreement"), interval(s), _EXAMPLES),
        Listing(f"Groups (the partition closest to all draws{of})", frame),
        Listing("", frame.loc[largest], rest),
        note=f"{s.ball_sentence}.\n{_AGREEMENT}" if len(frame) else "",
    )


_EXAMPLES = text("examples", "for example", longest=None)


def _with_examples(frame: pd.DataFrame, examples: Callable[[int], list[str]]) -> pd.DataFrame:
    return (
        frame.assign(examples=["; ".join(examples(g)) for g in frame.index]).astype({"examples": object}).reset_index()
    )


@table("potentials", GroupedSummary, lambda s: len(s.entries) > 0 and len(s.shown) > 0)
def potentials(s: GroupedSummary) -> Table:
    """Log potentials of the tables that groups share."""
    frame = s.potential_table(s.groups)
    n = int(frame["group"].max())
    more = (
        f"Not listed: {n - _MOST_TABLES} more group{'s' if n > _MOST_TABLES + 1 else ''}." if n > _MOST_TABLES else ""
    )
    return Table(
        "potentials",
        frame,
        (text("group"), text("entry", "states"), number("potential", "log potential"), interval(s)),
        Listing("Log potentials of the groups", frame[frame["group"] <= _MOST_TABLES], more, "group"),
        Listing("", frame[frame["group"] <= MOST_GROUPS],
                f"The first {MOST_GROUPS} groups are listed." if n > MOST_GROUPS else ""),
        note=s.reference_sentence,
    )  # fmt: skip


@table("partitions", GroupedSummary, lambda s: len(s.shown) > 0)
def partitions(s: GroupedSummary) -> Table:
    """The point partition, and the bounds of its credible ball."""
    frame = s.ball_table.assign(sizes=[_sizes(sizes) for sizes in s.ball_table["sizes"]]).reset_index()
    columns = (text("partition"), number("groups", each="{}"), number("distance", "distance (nats)"),
               text("sizes", "edges of its groups", longest=None))  # fmt: skip
    return Table("partitions", frame, columns, wide=Listing("", frame), note=f"{s.ball_sentence}.")


@table("nodes", GroupedSummary, lambda s: len(s.field_table) > 0)
def nodes(s: GroupedSummary) -> Table:
    """Node fields, by group where nodes share them."""
    frame = s.field_table
    if s.fields_grouped:
        frame = frame.sort_values(["group", "field"], ascending=[True, False], kind="stable", ignore_index=True)
        frame.insert(1, "group", frame.pop("group"))
    group = [text("group")] if s.fields_grouped else []
    columns = (text("node"), *group, number("field", s.terms.node if s.has_named_nodes else "field h"), interval(s))
    return Table("nodes", frame, columns, wide=Listing("", frame))


@table("node-groups", GroupedSummary, lambda s: s.fields_grouped)
def node_groups(s: GroupedSummary) -> Table:
    """Groups of nodes that share a field, by decreasing field."""
    frame = _with_examples(s.field_group_table, s.field_examples)
    states = [text("state")] if "state" in frame else []
    meaning = f"log odds of a state against {s.levels[0]}" if s.levels else "above 0 a node tends to yes, below 0 to no"
    return Table(
        "node-groups",
        frame,
        (text("group"), number("size", "nodes", "{:,}"), *states, number("field"), interval(s), _EXAMPLES),
        Listing("Groups of node fields (the partition closest to all draws)", frame),
        lead=f"Number of groups of node fields: {s.field_groups_sentence}",
        note=f"Field: {meaning}, other things equal.",
    )


def _sizes(sizes: Sequence[int]) -> str:
    """Write sizes as text, the largest first; long lists are cut."""
    listed = ", ".join(f"{n:,}" for n in sizes[:_MOST_SIZES])
    return listed if len(sizes) <= _MOST_SIZES else f"{listed} and {len(sizes) - _MOST_SIZES:,} smaller ones"


def section(s: GroupedSummary) -> list[Section]:
    """Return the sections of the page on groups."""
    if not groups.is_in(s):
        return []
    n_shown, network = len(s.shown), _NETWORK_SPIKE if s.spike else _NETWORK
    parts: list[tuple[bool, str, Callable[[], Any]]] = [
        (s.spike, "Which edges exist", lambda: numbers(s) + inclusion_part(s)),
        (True, "Number of groups", lambda: picture(lambda: pictures.plot_n_groups(s), _NUMBER)),
        (n_shown > 0, "Groups", lambda: _groups(s)),
        (potentials.is_in(s), "Tables of the groups", lambda: _potentials(s)),
        (n_shown > 1 or not s.spike, "Uncertainty of the partition", lambda: _ball(s)),
        (n_shown > 0, "Network", lambda: picture(lambda: plot_network(s), network)),
        (True, "Edges", lambda: _edges(s)),
        (len(s.field_table) > 0, "Thresholds" if _has_thresholds(s) else "Node fields", lambda: _fields(s)),
    ]
    return [(title, say()) for wanted, title, say in parts if wanted]


def _has_thresholds(s: GroupedSummary) -> bool:
    return s.family is not None and s.has_named_nodes


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
    return paragraph(text) + listed(groups(s), sortable=False)


def _potentials(s: GroupedSummary) -> str:
    """Write the log potentials of each group, one row per pair of states or parameter."""
    how = " Log potentials are means over its edges that exist." if s.spike else ""
    table = potentials(s)
    return paragraph(f"The edges of a group share a table.{how} {table.note}") + listed(table, sortable=False)


def _ball(s: GroupedSummary) -> str:
    ball = partitions(s)
    text = (
        f"{ball.note} The smallest such ball that contains 95 % of the draws is their credible ball (Wade and "
        "Ghahramani 2018). Its bounds are shown: the most distant partition in it, the most distant of those with "
        "the fewest groups, and of those with the most."
    )
    strips = picture(
        lambda: pictures.plot_credible_ball(s),
        "The groups of the edges in these partitions, in the colours of the point partition; grey groups have no "
        "counterpart there.",
    )
    heat = picture(
        lambda: pictures.plot_co_clustering(s),
        "Posterior similarity: dark blocks share a group in nearly every draw, pale ones in few.",
    )
    return paragraph(text) + listed(ball, sortable=False) + strips + heat


def _edges(s: GroupedSummary) -> str:
    text = "Agreement of each edge with its 90 % interval; the estimates of a group are shrunk towards each other."
    if s.spike:
        text = f"{text[:-1]}. Shown are {EDGES}, and their agreement where they exist."
    shown = picture(lambda: pictures.plot_agreement(s), text) if len(s.shown) else paragraph(f"There are no {EDGES}.")
    return shown + listed(edges(s))


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
    return said + paragraph(text) + listed(nodes(s))


ANSWER = Answer(
    "groups",
    (edges, groups, potentials, partitions, nodes, node_groups),
    (
        pictures.plot_n_groups, pictures.plot_groups, pictures.plot_agreement, pictures.plot_estimates,
        pictures.plot_co_clustering, pictures.plot_credible_ball,
    ),
    (
        PictureOf("groups", GroupedSummary, resized(pictures.plot_groups)),
        PictureOf("edges", GroupedSummary, resized(pictures.plot_agreement)),
    ),
    section,
    methods=("co_clustering",),
)  # fmt: skip
