"""Sections of the report on a posterior over groups of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import plots
from ..summary import GroupedSummary
from ..summary import rows as by_row
from .page import Section, paragraph, picture, table
from .shared import details, page, rest_of
from .structure import CITE as CITE_SPIKE
from .structure import MOST_EDGES, given_existence, inclusion

MOST_GROUPS = 100  # rows of the table of groups
_LIKELY = "edges with an inclusion above 0.5"
_MOST_SIZES = 12  # groups of a bound whose size is listed
_NETWORK = "Edges coloured by group; wide: strong; dashed: the ends tend to differ (agreement below 0.5)."
_NETWORK_SPIKE = f"{_NETWORK[:-1]}; pale: less probable. Shown are edges with an inclusion above 0.5."
_CITE = (
    "J. Liu and D. Page, Bayesian Estimation of Latently-grouped Parameters in Undirected Graphical Models, Advances "
    "in Neural Information Processing Systems 26 (2013)"
)


def sections(summary: GroupedSummary) -> list[Section]:
    """Return the sections of the report on one run."""
    s, there = summary, len(summary.shown)
    judged, cite, network = "the number of groups, and the edges and fields with the worst convergence", _CITE, _NETWORK
    if s.spike:
        judged = "the numbers of groups and of edges, the density, and the edges and fields with the worst convergence"
        cite, network = f"{_CITE}; edges that may be absent: {CITE_SPIKE}", _NETWORK_SPIKE
    parts = [
        (s.spike, "Which edges exist", lambda: inclusion(s)),
        (True, "Number of groups", lambda: _number_of_groups(s)),
        (there > 0, "Groups", lambda: _groups(s)),
        (len(s.entries) > 0, "Tables of the groups", lambda: _potentials(s)),
        (there > 1 or not s.spike, "Uncertainty of the partition", lambda: _ball(s)),
        (there > 0, "Network", lambda: picture(lambda: plots.plot_network(s), network)),
        (True, "Edges", lambda: _edges(s)),
        (len(s.field_table) > 0, "Thresholds" if _is_ordinal(s) else "Node fields", lambda: _fields(s)),
    ]
    return page(s, [(title, say()) for wanted, title, say in parts if wanted], judged, "Number of groups", cite)


def _is_ordinal(s: GroupedSummary) -> bool:
    return s.attrs.get("model") == "ordinal"


def _number_of_groups(s: GroupedSummary) -> str:
    return paragraph(f"{s.n_groups_sentence}.") + picture(
        lambda: plots.plot_n_groups(s), "Posterior probability of each number of groups."
    )


def _groups(s: GroupedSummary) -> str:
    listed = s.group_table.loc[s.group_table["size"].nlargest(MOST_GROUPS).index].sort_index()
    rows = [
        (g, f"{r.size:,}", f"{r.agreement:.3f}", f"{r.lower:.3f} to {r.upper:.3f}", "; ".join(s.examples(g, 4)))
        for g, r in zip(listed.index, listed.itertuples(index=False), strict=True)
    ]
    text = (
        "The agreement of an edge is its effect on its two ends, other things equal: 0.5 means no effect, above 0.5 "
        "they tend to agree, below 0.5 to differ. The table shows the partition of the "
        f"{_LIKELY if s.spike else 'edges'} that is closest to all draws (it minimises the posterior expected "
        "variation of information). The agreement of a "
        f"group is the mean over its edges{' that exist' if s.spike else ''}."
    )
    if s.entries:
        text += (
            " The agreement of a table is the mean of its log potentials over equal states minus that over unequal "
            "ones, mapped to (0, 1)."
        )
    if _is_ordinal(s):
        text += (
            " The agreement of ordered categories is the logistic function of half the weight: the probability that "
            "two ends that are each in one of two adjacent categories, with even odds, are both in the lower or the "
            "higher."
        )
    if len(listed) < len(s.group_table):
        text += f" The {MOST_GROUPS} largest of {len(s.group_table):,} groups are listed."
    return paragraph(text) + table(["group", "edges", "agreement", "90 % interval", "for example"], rows)


def _potentials(s: GroupedSummary) -> str:
    """Return the log potentials of each group, one row per pair of states or parameter."""
    found = s.potential_table(s.groups)
    listed = found[found["group"] <= MOST_GROUPS]
    rows = [(p.group, p.entry, f"{p.potential:.3f}", f"{p.lower:.3f} to {p.upper:.3f}") for p in by_row(listed)]
    own = " Log potentials are means over its edges that exist." if s.spike else ""
    text = f"The edges of a group share a table.{own} {s.reference_sentence}"
    if len(listed) < len(found):
        text += f" The first {MOST_GROUPS} groups are listed."
    return paragraph(text) + table(["group", "states", "log potential", "90 % interval"], rows)


def _ball(s: GroupedSummary) -> str:
    rows = [
        (name, r.groups, f"{r.distance:.3f}", _sizes(r.sizes))
        for name, r in zip(s.ball_table.index, by_row(s.ball_table), strict=True)
    ]
    text = (
        f"{s.ball_sentence}. The smallest such ball that contains 95 % of the draws is their credible ball (Wade and "
        "Ghahramani 2018). Its bounds are shown: the most distant partition in it, the most distant of those with "
        "the fewest groups, and of those with the most."
    )
    listed = table(["partition", "groups", "distance (nats)", "edges of its groups"], rows)
    strips = picture(
        lambda: plots.plot_credible_ball(s),
        "The groups of the edges in these partitions, in the colours of the point partition; grey groups have no "
        "counterpart there.",
    )
    heat = picture(
        lambda: plots.plot_co_clustering(s),
        "Posterior similarity: dark blocks share a group in nearly every draw, pale ones in few.",
    )
    return paragraph(text) + listed + strips + heat


def _sizes(sizes: Sequence[int]) -> str:
    """Return sizes as text, the largest first; long lists are cut."""
    listed = ", ".join(f"{n:,}" for n in sizes[:_MOST_SIZES])
    return listed if len(sizes) <= _MOST_SIZES else f"{listed} and {len(sizes) - _MOST_SIZES:,} smaller ones"


def _edges(s: GroupedSummary) -> str:
    text = "Agreement of each edge with its 90 % interval; grouping shrinks the estimates of a group together."
    if s.spike:
        text = f"{text[:-1]}. Shown are edges with an inclusion above 0.5, and their agreement where they exist."
    shown = picture(lambda: plots.plot_agreement(s), text) if len(s.shown) else paragraph(f"There are no {_LIKELY}.")
    note, header, rows = _candidates(s) if s.spike else _all_edges(s)
    return shown + note + details("Values, with the 90 % interval (from, to)", header, rows)


def _candidates(s: GroupedSummary) -> tuple[str, list[str], list[Any]]:
    """Return the rows of edges that may be absent: likely ones by group, then the others by decreasing inclusion."""
    order = s.edge_table["inclusion"].sort_values(ascending=False, kind="stable").index
    edges, note = s.edge_table.loc[order[:MOST_EDGES]], rest_of(order, MOST_EDGES, "most probable edges")
    likely = s.by_group[s.by_group.index.isin(edges.index)]
    others = edges[edges["group"] == 0].sort_values("inclusion", ascending=False, kind="stable")
    rows = [
        (e.first, e.second, f"{e.inclusion:.3f}", e.group or "–", *given_existence(e, e.agreement))
        for part in (likely, others)
        for e in by_row(part)
    ]
    return note, ["one end", "other end", "inclusion", "group", "agreement", "from", "to"], rows


def _all_edges(s: GroupedSummary) -> tuple[str, list[str], list[Any]]:
    """Return the rows of edges that all exist, by group."""
    order = (-(s.edge_table["agreement"] - 0.5).abs()).sort_values(kind="stable").index
    note = rest_of(order, MOST_EDGES, "strongest edges (agreement farthest from 0.5)")
    edges = s.edge_table.loc[np.sort(order[:MOST_EDGES])].sort_values(
        ["group", "agreement"], ascending=[True, False], kind="stable"
    )
    rows = [
        (e.first, e.second, e.group, f"{e.agreement:.3f}", f"{e.lower:.3f}", f"{e.upper:.3f}", f"{e.mle:.3f}")
        for e in edges.itertuples(index=False)
    ]
    return note, ["one end", "other end", "group", "agreement", "from", "to", s.mle_name], rows


def _fields(s: GroupedSummary) -> str:
    named = _is_ordinal(s) or s.family is None
    header, found = ["node", s.terms.node if named else "field h", "90 % interval"], s.field_table
    rows = [(f.node, f"{f.field:.3f}", f"{f.lower:.3f} to {f.upper:.3f}") for f in by_row(found)]
    text = "The field h of a node multiplies its state in {-1, +1}: it favours yes above 0, no below 0."
    if _is_ordinal(s):
        text = "A threshold is the log odds of its category against the lowest where all other nodes are in theirs."
        text += s.neutral_clause
    elif s.family is None:
        text = s.terms.meaning
    elif s.levels:
        text = f"The field h of a state (from 0) of a node is its log odds against {s.levels[0]}, other things equal."
    fixed = s.attrs.get("method") == "stripped-beta"
    text += " This method keeps fields at their tied maximum likelihood estimate in every step." if fixed else ""
    if not s.fields_grouped:
        return paragraph(text) + table(header, rows, sortable=True)
    text += " Nodes of one group share theirs; shown is the partition of the nodes closest to all draws."
    order = np.lexsort((-found["field"], found["group"]))
    rows = [(rows[i][0], found["group"][i], *rows[i][1:]) for i in order]
    said = paragraph(f"Number of groups: {s.field_groups_sentence}.")
    return said + paragraph(text) + table(["node", "group", *header[1:]], rows, sortable=True)
