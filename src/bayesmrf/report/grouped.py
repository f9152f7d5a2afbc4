"""What a page says of a posterior over groups of edges."""

from __future__ import annotations

from collections.abc import Sequence

from .. import plots
from ..summary import GroupedSummary
from ..summary import rows as by_row
from .page import Section, paragraph, picture, table
from .shared import convergence, run_again, what_was_run

MOST_EDGES = 500  # rows of the table of edges
MOST_GROUPS = 100  # rows of the table of groups
_MOST_SIZES = 12  # groups of a bound whose size is told
_NETWORK = "Edges coloured by group; wide: strong; dashed: the ends tend to differ (agreement below 0.5)."
_CITE = (
    "J. Liu and D. Page, Bayesian Estimation of Latently-grouped Parameters in Undirected Graphical Models, Advances "
    "in Neural Information Processing Systems 26 (2013)"
)


def sections(summary: GroupedSummary) -> list[Section]:
    """What the page says about one run."""
    named = [
        ("What was run", what_was_run(summary, str(summary.attrs.get("method", "unknown")))),
        ("Number of groups", _number_of_groups(summary)),
        ("Groups", _groups(summary)),
        ("How sure is the partition?", _ball(summary)),
        ("Network", picture(lambda: plots.plot_network(summary), _NETWORK)),
        ("Edges", _edges(summary)),
    ]
    if len(summary.field_table):
        named.append(("Node fields", _fields(summary)))
    shown = "the number of groups and the edges that mixed worst"
    return [
        *named,
        ("Have the chains converged?", convergence(summary, shown, "Number of groups")),
        ("Run it again, cite it", run_again(summary, _CITE)),
    ]


def _number_of_groups(s: GroupedSummary) -> str:
    return paragraph(f"{s.n_groups_sentence}.") + picture(
        lambda: plots.plot_n_groups(s), "Posterior probability of each number of groups."
    )


def _groups(s: GroupedSummary) -> str:
    listed = s.group_table.loc[s.group_table["size"].nlargest(MOST_GROUPS).index].sort_index()
    rows = [
        (g, f"{r.size:,}", f"{r.agreement:.3f}", f"{r.low:.3f} to {r.high:.3f}", "; ".join(s.examples(g, 4)))
        for g, r in zip(listed.index, listed.itertuples(index=False), strict=True)
    ]
    text = (
        "An edge's agreement is its pull on its two ends, all else being equal: 0.5 says nothing, more makes them "
        "alike, less makes them differ. Shown is the one partition of the edges that is closest to all draws (it "
        "minimises the posterior expected variation of information). A group's agreement is the mean over its edges."
    )
    if len(listed) < len(s.group_table):
        text += f" The {MOST_GROUPS} largest of {len(s.group_table):,} groups are listed."
    return paragraph(text) + table(["group", "edges", "agreement", "90 % interval", "for example"], rows)


def _ball(s: GroupedSummary) -> str:
    rows = [
        (name, r.groups, f"{r.distance:.3f}", _sizes(r.sizes))
        for name, r in zip(s.ball_table.index, by_row(s.ball_table), strict=True)
    ]
    text = (
        f"{s.ball_sentence}. The smallest such ball that holds 95 % of the draws is their credible ball (Wade and "
        "Ghahramani 2018). Its extremes are shown: the most distant partition in it, the most distant of those with "
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
    """Sizes, the largest first; many are cut short."""
    listed = ", ".join(f"{n:,}" for n in sizes[:_MOST_SIZES])
    return listed if len(sizes) <= _MOST_SIZES else f"{listed} and {len(sizes) - _MOST_SIZES:,} smaller ones"


def _edges(s: GroupedSummary) -> str:
    edges, note = s.edge_table, ""
    if len(edges) > MOST_EDGES:
        weakness = -(edges["agreement"] - 0.5).abs()
        edges = edges.loc[weakness.sort_values(kind="stable").index[:MOST_EDGES]]
        note = paragraph(
            f"The {MOST_EDGES} strongest edges (agreement farthest from 0.5) are listed; {s.n_edges - MOST_EDGES:,} "
            "others are left out, and are in the result itself."
        )
    edges = edges.sort_values(["group", "agreement"], ascending=[True, False], kind="stable")
    rows = [
        (e.first, e.second, e.group, f"{e.agreement:.3f}", f"{e.low:.3f}", f"{e.high:.3f}", f"{e.mle:.3f}")
        for e in edges.itertuples(index=False)
    ]
    header = ["one end", "other end", "group", "agreement", "from", "to", "maximum likelihood"]
    shown = picture(
        lambda: plots.plot_agreement(s),
        "Agreement of each edge with its 90 % interval; grouping draws the estimates of a group together.",
    )
    listed = table(header, rows, sortable=True)
    return f"{shown}{note}<details open><summary>Values, with the 90 % interval (from, to)</summary>{listed}</details>"


def _fields(s: GroupedSummary) -> str:
    rows = [(f.node, f"{f.field:.3f}", f"{f.low:.3f} to {f.high:.3f}") for f in s.field_table.itertuples(index=False)]
    text = "A node's field h multiplies its state in {-1, +1}: above 0 it tends to yes, below 0 to no, all else equal."
    fixed = s.attrs.get("method") == "stripped-beta"
    text += " This method keeps fields at their tied maximum likelihood estimate in every step." if fixed else ""
    return paragraph(text) + table(["node", "field h", "90 % interval"], rows, sortable=True)
