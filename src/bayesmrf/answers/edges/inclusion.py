"""Plots of a posterior over which edges exist."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ...names import short_names
from ...show.style import MOST_NAMED, PALE, axes, colour_bar, plot_of, with_inclusion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_SIGNED = 40  # nodes up to which the signs of weights are written
_MOST_ORDERED = 300  # nodes up to which the leaves are ordered optimally
_LETTERS = 14  # of the label below, in an inch
_LETTER = 0.06  # inches that a letter of a name takes next to the cells
_LONGEST = 24  # letters of a name


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
