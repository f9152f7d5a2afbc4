"""Plot of the networks of several groups, and of their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..names import shown
from ..results.blocks import stacked
from ..results.summary import INTERVAL, DifferenceSummary, ParameterSummary, summarise
from .layout import layout
from .network import by_inclusion, draw_edges, name_nodes, signed, unsigned
from .style import INK, axes, plot_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMED = 60  # nodes that are named


@plot_of("CompareMRF")
def plot_networks(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the network of each group next to each other, and last the edges in which they differ, in one layout.

    Edges are wide if strong, and dashed if negative; the widths of all groups have one scale. Those whose 90 % interval
    contains zero are pale. Differences are drawn if their inclusion is above 0.5: of two groups by the sign of the
    difference, the second group minus the first; of more groups by the largest difference of two.
    """
    s = summarise(tree)
    if not isinstance(s, DifferenceSummary):
        has_edges = not isinstance(s, ParameterSummary) or s.n_weights
        single = "plot_network for a single network" if has_edges else "plot_parameters"
        raise OptionError(f"tree must be a posterior of CompareMRF; use {single}.")
    n_panels = len(s.groups) + 1
    columns = min(n_panels, 3)
    n_rows = -(-n_panels // columns)
    ax = axes(ax, (3.6 * columns, 3.9 * n_rows))
    ax.axis("off")
    place = layout(len(s.names), s.ends)
    weights = s.edge_columns()
    means, (low, high) = weights.means(), weights.map(lambda draws: np.quantile(stacked(draws), INTERVAL, axis=0))
    sure, doubtful = ("90 % interval excludes zero", 0.9), ("90 % interval contains zero", 0.25)
    looks = [
        signed(mean, np.where((a > 0) | (b < 0), sure[1], doubtful[1]), s.terms.edge, sure, doubtful,
               float(np.abs(means).max(initial=0.0)), unsigned(s))
        for mean, a, b in zip(means, low, high, strict=True)
    ]  # fmt: skip
    titles = [*(f"{name} (n = {size:g})" for name, size in zip(s.groups, s.sizes, strict=True)), "differences"]
    ends = [*[s.ends] * len(looks), s.drawn]
    for k, (look, title, own) in enumerate(zip([*looks, by_inclusion(s)], titles, ends, strict=True)):
        row, column = divmod(k, columns)
        panel = ax.inset_axes((column / columns, 1 - (row + 0.97) / n_rows, 0.94 / columns, 0.85 / n_rows))
        draw_edges(panel, place[own], look, look.order)
        panel.scatter(place[:, 0], place[:, 1], s=20, color=INK, zorder=2, linewidths=0)
        if len(s.names) <= _MOST_NAMED:
            name_nodes(panel, list(s.names), place, np.bincount(s.ends.ravel(), minlength=len(s.names)))
        panel.set_title(shown(title), fontsize=9, color=INK, parse_math=False)
        panel.margins(0.12)
        panel.axis("off")
        if look.handles and k >= len(looks) - 1:
            panel.legend(handles=look.handles, loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False,
                         fontsize=7, handlelength=3.2)  # fmt: skip
    return ax
