"""Tables, heat map and section of which edges exist."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ...names import short_names
from ...results.bayes_factors import LIMITS
from ...results.categories import DIFFERENCES, WORDS, cut_offs
from ...results.edge_evidence import evidence_table, has_evidence
from ...results.median_model import ABOVE, EDGES, NO_EDGE, in_median_model
from ...results.summary import InclusionSummary, StructureSummary, Summary
from ...show.figures import PictureOf, resized
from ...show.page import Section, as_figure, listed, paragraph, picture, section_of
from ...show.style import MOST_NAMED, PALE, axes, colour_bar, plot_of, with_inclusion
from ...show.tables import ENDS, EVIDENCE, Column, Table, at_most, first_rows, interval, marked, number, table, text
from ..registry import Answer
from ..run.shown import log_odds
from . import drawn, forest
from .networks import plot_evidence_network, plot_network, plot_networks

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_EDGES, MOST_LIKELY = 500, 20  # rows of the page, and of the terminal
NONE_LIKELY = f"{NO_EDGE.capitalize()}."
_MAY_CHANGE = "*: the category may change with a longer run. "
BAYES_FACTOR = f"Bayes factor: evidence for the edge over no edge; {cut_offs(WORDS)} {_MAY_CHANGE}"
OF_DIFFERENCE = f"Bayes factor: evidence for a difference over none; {cut_offs(DIFFERENCES)} {_MAY_CHANGE}"
STRONGEST = f"{ABOVE.capitalize()}, strongest first"
_MOST_SIGNED = 40  # nodes up to which the signs of weights are written
_MOST_ORDERED = 300  # nodes up to which the leaves are ordered optimally
_LETTERS = 14  # of the label below, in an inch
_LETTER = 0.06  # inches that a letter of a name takes next to the cells
_LONGEST = 24  # letters of a name
_NETWORK = f"{EDGES.capitalize()}. Width: mean weight where the edge exists; dashed: negative; pale: less probable."
_WEIGHTS = (
    f"Left: {EDGES}. Width and saturation: mean weight where the edge exists; dashed: "
    "negative. Right: evidence for each edge, in the same layout."
)
_SCALE = "and the slab scale is the scale of the prior of their weights"
CLASSES_OF_EVIDENCE, CLASSES_OF_DIFFERENCES = (
    f"Blue: {names[0]}, with a Bayes factor above {LIMITS[1]:g}; yellow: {names[-1]}, below 1/{LIMITS[1]:g}; dashed: "
    "weaker evidence, grey where it is inconclusive."
    for names in (WORDS, DIFFERENCES)
)


@table("edges", StructureSummary)
def edges(s: StructureSummary) -> Table:
    """Candidates by decreasing inclusion; the terminal lists those that are likely, the strongest first."""
    titles = STRONGEST, "Candidates, most probable first"
    return edges_of(s, "edges", s.edge_table, titles, f"mean of the {s.terms.edge}", counted(s))


def edges_of(
    s: InclusionSummary,
    name: str,
    frame: pd.DataFrame,
    titles: tuple[str, str],
    weight: str = "mean",
    lead: str = "",
    ends: Column = ENDS,
) -> Table:
    """Return a table of edges by decreasing inclusion.

    Parameters
    ----------
    s : InclusionSummary
    name : str
    frame : DataFrame
        Its rows, in the order of the edges.
    titles : tuple of str
        Those of the edges that are likely, and of all.
    weight : str
        What a weight is, where the edge exists.
    lead : str
        What a terminal prints before.
    ends : Column
        The two ends of an edge, with their direction if they have one.
    """
    frame = frame.sort_values("inclusion", ascending=False, kind="stable", ignore_index=True)
    likely = frame[in_median_model(frame["inclusion"])]
    likely = likely.sort_values("weight", key=np.abs, ascending=False, kind="stable")
    most, factors = at_most(MOST_LIKELY, len(likely)), EVIDENCE if s.evidence else ()
    return Table(
        name,
        frame,
        (ends, marked("inclusion"), marked("weight"), interval(s), *factors),
        first_rows(titles[0], likely, most, rest=weaker(len(likely), most)),
        first_rows(titles[1], frame, MOST_EDGES, "most probable edges"),
        lead,
        f"Inclusion: probability of the edge. Weight: {weight} where the edge exists, with its {interval(s).head}. "
        f"{BAYES_FACTOR if factors else ''}{s.terms.meaning}",
    )


def counted(s: InclusionSummary) -> str:
    """Return how sure the evidence is, how many edges there are, and their density, a line each."""
    return f"{opening(s)}{s.number.capitalize()}: {s.n_edges_sentence}.\n{s.density_sentence}."


def opening(s: InclusionSummary) -> str:
    """Return how sure the words of the headline are, as a line before others."""
    return f"{s.stability_sentence}\n" if s.stability_sentence else ""


@table("evidence", InclusionSummary, lambda s: has_evidence(s.tree) and not s.has_lags, listed=False)
def evidence(s: InclusionSummary) -> Table:
    """Bayes factor of each edge, or difference, against its absence, the largest first."""
    frame = evidence_table(s.tree)
    return Table(
        "evidence",
        frame,
        (ENDS, *EVIDENCE, number("log10_bf_error", "error of log10"), number("pareto_k", "Pareto k")),
        wide=first_rows("", frame, MOST_EDGES, "largest Bayes factors"),
        lead=opening(s),
        note=OF_DIFFERENCE if s.has_populations else BAYES_FACTOR,
    )


def weaker(n: int, most: int) -> str:
    """Return how many of ``n`` likely edges are not among the first, or that there is none."""
    if not n:
        return NONE_LIKELY
    return f"Not listed: {n - most:,} weaker {EDGES}." if n > most else ""


@table("nodes", StructureSummary)
def nodes(s: StructureSummary) -> Table:
    """Parameters of nodes."""
    return nodes_of(s, s.node_table, (text("node", s.terms.node), number("mean"), interval(s)))


def nodes_of(s: Summary, frame: pd.DataFrame, columns: tuple[Column, ...]) -> Table:
    """Return a table of parameters of nodes."""
    wide = first_rows("", frame, MOST_EDGES, f"first ({s.terms.node})")
    return Table("nodes", frame, columns, wide=wide, note=s.terms.meaning)


@plot_of("SpikeSlabMRF, CompareMRF, or GroupedMRF with a spike")
def plot_inclusion(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the probability of each edge, as a heat map whose nodes are ordered by clustering.

    The order is by average linkage with distance 1 - inclusion, so that nodes that share edges are adjacent. A minus
    marks likely edges (inclusion above 0.5) with a negative mean weight or difference (of more than two groups, the
    largest difference of two), or, for groups of edges, an agreement below 0.5; cells
    without a candidate are hatched. Up to 60 nodes are named.
    """
    summary = with_inclusion(tree)
    d, (u, v) = len(summary.names), summary.ends.T
    values = np.full((d, d), np.nan)
    values[u, v] = values[v, u] = summary.inclusion
    order = _order(np.nan_to_num(values))
    values = values[np.ix_(order, order)]
    side, labels = min(8.6, max(3.4, 2.2 + 0.22 * d)), short_names(summary.names, _LONGEST)
    names = _LETTER * max(map(len, labels)) if d <= MOST_NAMED else 0.0
    ax = axes(ax, (side + names + 0.9, side + names))
    ax.patch.set(hatch="////", edgecolor=PALE, facecolor="white")
    image = ax.imshow(np.ma.masked_invalid(values), cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    if d <= MOST_NAMED:
        named = [labels[i] for i in order]
        size, turned = 8 if d <= 30 else 5.5, 90 if max(map(len, named)) > 2 else 0
        ax.set_xticks(range(d), named, rotation=turned, fontsize=size, parse_math=False)
        ax.set_yticks(range(d), named, fontsize=size, parse_math=False)
    else:
        ax.set(xticks=[], yticks=[])
    said = [] if d <= MOST_NAMED else [f"{d:,} nodes, ordered by clustering"]
    likely, (column, zero) = summary.likely, summary.signed_by
    negative = likely.index[likely[column] < zero].to_numpy()
    if d <= _MOST_SIGNED and len(negative):
        place = np.argsort(order)
        for i, j in summary.ends[negative]:
            for x, y in ((place[i], place[j]), (place[j], place[i])):
                ax.text(x, y, "−", ha="center", va="center_baseline", color="white", fontsize=8, fontweight="bold")
        said.append(f"−: {summary.if_negative}")
    if len(u) < d * (d - 1) // 2:
        said.append("hatched: no candidate")
    ax.set_xlabel("\n".join(wrap("; ".join(said), int(_LETTERS * side))), parse_math=False)
    colour_bar(ax, image, f"inclusion:\nprobability of {summary.of_what}")
    return ax


def _order(inclusion: np.ndarray) -> np.ndarray:
    """Order the nodes by average linkage."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    distance = 1 - inclusion
    np.fill_diagonal(distance, 0)
    near = squareform(distance, checks=False)
    return leaves_list(linkage(near, "average", optimal_ordering=len(inclusion) <= _MOST_ORDERED))


def section(s: StructureSummary) -> list[Section]:
    """Return the sections of the page on which edges exist."""
    if not edges.is_in(s):
        return []
    table = edges(s)
    return [
        ("Which edges exist", numbers(s) + _network(s)),
        ("Probability of each edge", inclusion_part(s, _SCALE)),
        ("Edges", paragraph(table.note) + listed(table)),
        *section_of(log_odds, "Log odds of categories", s),
        *section_of(nodes, nodes_title(s), s),
    ]


def _network(s: StructureSummary) -> str:
    """Draw the network of weights and, where it is known, the evidence for each edge next to it."""
    if s.evidence:
        return as_figure(picture(lambda: plot_networks(s), f"{_WEIGHTS} {CLASSES_OF_EVIDENCE}"))
    return as_figure(picture(lambda: plot_network(s), _NETWORK))


def nodes_title(s: Summary) -> str:
    """Return what parameters of nodes are called in a title."""
    return f"{s.terms.node.capitalize()}{'es' if s.terms.node.endswith('s') else 's'}"


def inclusion_part(s: InclusionSummary, also: str = "") -> str:
    """Return the inclusion of each edge; ``also`` explains other quantities."""
    text = (
        "The inclusion of an edge is the posterior probability that it exists: near 1 the data support the edge, near "
        "0 its absence. The density is the share of the candidates that exist"
        f"{', ' if also else ''}{also}."
    )
    return probable(s, "Inclusion of each edge; nodes that share edges are next to each other.", text)


def probable(s: InclusionSummary, caption: str, text: str) -> str:
    """Return the plot of inclusions, with an explanation."""
    return picture(lambda: plot_inclusion(s), caption) + paragraph(text)


def numbers(s: InclusionSummary) -> str:
    """Return the number of edges and the density."""
    return "".join(map(paragraph, counted(s).splitlines()))


ANSWER = Answer(
    "edges",
    (edges, evidence, nodes),
    (plot_inclusion, plot_network, plot_networks, plot_evidence_network),
    (
        PictureOf("network", Summary, drawn.draw_network, lambda s: s.has_network),
        PictureOf("networks", Summary, resized(plot_networks), lambda s: s.has_populations),
        PictureOf("evidence", InclusionSummary, drawn.draw_evidence, lambda s: s.evidence and not s.has_lags),
        PictureOf("edges", Summary, forest.draw_edges, lambda s: s.has_network and s.styled_by != "group"),
        PictureOf("inclusion", InclusionSummary, resized(plot_inclusion), lambda s: s.spike and not s.has_lags),
    ),
    section,
    methods=("evidence_table",),
)
