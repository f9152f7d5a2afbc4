"""Plot of the networks of a panel: lagged edges with directions, and edges within a wave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.median_model import ABOVE
from ...results.summary import PanelSummary
from ...show.layout import layout
from ...show.networks import ALPHAS, draw_edges, name_nodes, paler, signed
from ...show.style import DASHED, INK, axes, of_kind, plot_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 60  # nodes that are named
_BEND = 0.18  # of an arrow, so that both directions are seen


@plot_of("PanelMRF")
def plot_panel(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the lagged network, and next to it the network within a wave if there is one, in one layout.

    Edges with an inclusion above 0.5 are drawn: wide if strong, dashed if negative, pale if less probable; widths of
    both networks have one scale. Arrows lead from an item to those that follow it, a loop to the item itself.
    """
    s = of_kind(tree, PanelSummary, "a posterior of PanelMRF; use plot_network")
    n_panels = 1 + s.within
    ax = axes(ax, (5.2 * n_panels, 5.0))
    ax.axis("off")
    likely, ends = s.in_median_model, s.ends
    weights = np.nan_to_num(s.edge_table["weight"].to_numpy())
    top = float(np.abs(weights[likely]).max(initial=0.0))
    joined = ends[likely & (ends[:, 0] != ends[:, 1])]
    angle = 2 * np.pi * np.arange(len(s.names)) / len(s.names)
    place = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if len(joined) >= len(s.names):  # else most nodes would be far away
        place = layout(len(s.names), joined)
    low, high = place.min(axis=0), place.max(axis=0)
    room = 0.22 * float((high - low).max() + 1e-9)  # for loops and names
    lagged = np.arange(len(ends)) < s.n_lagged
    for k, (title, edges) in enumerate((("lagged", lagged & likely), ("within a wave", ~lagged & likely))[:n_panels]):
        panel = ax.inset_axes((k / n_panels, 0.1, 0.96 / n_panels, 0.84))
        look = signed(weights[edges], paler(s.inclusion[edges]), "weight", *ALPHAS, top)
        if k == 0:
            _draw_arrows(panel, place, ends[edges], look)
        else:
            draw_edges(panel, place[ends[edges]], look, look.order)
        panel.scatter(place[:, 0], place[:, 1], s=40, color=INK, zorder=2, linewidths=0)
        if len(s.names) <= _MOST_NAMED:
            name_nodes(panel, list(s.names), place, np.bincount(ends[edges].ravel(), minlength=len(s.names)))
        panel.set_title(title if edges.any() else f"{title}: no {ABOVE}", fontsize=9, color=INK)
        panel.set_aspect("equal")
        panel.set(xlim=(low[0] - room, high[0] + room), ylim=(low[1] - room, high[1] + room))
        panel.axis("off")
        if look.handles:
            panel.legend(handles=look.handles, loc="upper center", bbox_to_anchor=(0.5, 0.02), ncols=2, frameon=False,
                         fontsize=7, handlelength=3.2)  # fmt: skip
    return ax


def _draw_arrows(panel: Axes, place: np.ndarray, ends: np.ndarray, look: Any) -> None:
    """Draw directed edges as bent arrows, and loops as circles away from the middle."""
    from matplotlib.patches import Circle, FancyArrowPatch, PathPatch
    from matplotlib.path import Path

    middle, size = place.mean(axis=0), 0.07 * float(np.ptp(place, axis=0).max() + 1e-9)
    for e in look.order:
        u, v = ends[e]
        style: dict[str, Any] = {
            "linewidth": look.widths[e], "linestyle": DASHED if look.dashed[e] else "solid", "zorder": 1,
        }  # fmt: skip
        if u == v:
            away = place[u] - middle
            length = float(np.hypot(*away))
            away = away / length if length > 0 else np.array([0.0, 1.0])
            panel.add_patch(Circle(tuple(place[u] + size * away), size, fill=False, edgecolor=look.colours[e], **style))
        else:
            across = (place[v] - place[u])[::-1] * (1, -1)
            middle_of = (place[u] + place[v]) / 2 + _BEND * across  # control point of a quadratic curve
            curve = Path([place[u], middle_of, place[v]], [Path.MOVETO, Path.CURVE3, Path.CURVE3])
            panel.add_patch(PathPatch(curve, fill=False, edgecolor=look.colours[e], **style))
            # Dashes would break the outline of a head, which is drawn apart.
            near = 0.2**2 * place[u] + 2 * 0.2 * 0.8 * middle_of + 0.8**2 * place[v]
            panel.add_patch(
                FancyArrowPatch(
                    tuple(near), tuple(place[v]), arrowstyle="-|>", mutation_scale=8 + 2 * look.widths[e], shrinkA=0,
                    shrinkB=4, linewidth=0, color=look.colours[e], zorder=1.5,
                )
            )  # fmt: skip
