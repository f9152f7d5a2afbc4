"""How networks are drawn: the style of their edges, and the names of their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..names import short_names
from ..results.median_model import INCLUSION, certainty
from .style import COLOURS, DASHED, GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ALPHAS = (("inclusion 1", 0.9), (f"inclusion {INCLUSION:g}", 0.2))  # of edges that may be absent


class Look(NamedTuple):
    """Style of the edges: colours with alpha (n_edges, 4), widths, dashed or not, order; and the legend."""

    colours: np.ndarray
    widths: np.ndarray
    dashed: np.ndarray
    order: np.ndarray
    handles: list[Any]


def draw_edges(ax: Axes, segments: np.ndarray, look: Look, chosen: np.ndarray) -> None:
    """Draw the ``chosen`` edges, the first at the bottom; those that are dashed on top."""
    from matplotlib.collections import LineCollection

    for dashed in (False, True):
        edges = chosen[look.dashed[chosen] == dashed]
        ax.add_collection(
            LineCollection(
                segments[edges],
                colors=look.colours[edges],
                linewidths=look.widths[edges],
                linestyles=DASHED if dashed else "solid",
                zorder=1,
                capstyle="butt" if dashed else "round",
            )
        )


def paler(inclusion: np.ndarray) -> np.ndarray:
    """Return the alpha of edges of the median probability model."""
    return 0.2 + 0.7 * certainty(inclusion)


def signed(
    value: np.ndarray,
    alpha: np.ndarray,
    noun: str,
    sure: tuple[str, float],
    doubtful: tuple[str, float],
    top: float = 0.0,
    unsigned: np.ndarray | None = None,
) -> Look:
    """Style edges by sign (colour, dashes) and size (width); ``sure`` and ``doubtful`` name two of the alphas.

    The widest edges have the size ``top``, if it is larger than all of these. Those ``unsigned`` have a third colour.
    """
    from matplotlib.colors import to_rgba

    size, top = np.abs(value), max(float(np.abs(value).max(initial=0)), top, 1e-12)
    positive, negative, neither = (np.array(to_rgba(c)) for c in COLOURS[:3])
    colours = np.where((value < 0)[:, None], negative, positive)
    if unsigned is not None:
        colours[unsigned] = neither
    colours[:, 3] = alpha
    mark = float(f"{top / 2:.1g}")
    handles = [
        line_of(f"{noun} +{mark:g}", positive, _width(mark, top)),
        line_of(f"{noun} −{mark:g}", negative, _width(mark, top), True),
        *doubt(sure, doubtful),
    ]
    if unsigned is not None and unsigned.any():
        table = line_of(f"{noun} {mark:g} of a table", neither, _width(mark, top))
        handles = [table, *handles[0 if not unsigned.all() else 2 :]]
    return Look(colours, _width(size, top), value < 0, np.lexsort((size, alpha)), handles if len(value) else [])


def doubt(*said: tuple[str, float]) -> list[Any]:
    """Make lines of the legend that explain alphas."""
    from matplotlib.colors import to_rgba

    return [line_of(label, (*to_rgba(GREY)[:3], a), 1.5) for label, a in said]


def _width(size: Any, top: float) -> Any:
    """Compute the width in points of an edge whose parameter has this size."""
    return 0.6 + 4.4 * size / top


def line_of(label: str, colour: Any, width: float = 1.0, dashed: bool = False) -> Any:
    """Return a line of a legend."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linewidth=width, linestyle=DASHED if dashed else "solid", label=label)


def name_nodes(ax: Axes, names: list[str], place: np.ndarray, degree: np.ndarray) -> None:
    """Write names above their nodes, those with many edges first; names that would overlap are omitted."""
    n, figure = len(names), ax.get_figure(root=True)
    size, most = (9, 24) if n <= 30 else (7, 16) if n <= 60 else (5.5, 12)
    assert figure is not None
    inch = np.ptp(place, axis=0) / (0.85 * figure.get_size_inches() * ax.get_position().size)
    taken: list[tuple[float, float, float]] = []
    labels = short_names(names, most)
    for i in np.argsort(-degree, kind="stable"):
        short, (x, y) = labels[i], place[i]
        width, height = 0.62 * size / 72 * len(short) * inch[0], 0.9 * size / 72 * inch[1]
        if n > 30 and any(abs(x - u) < (width + w) / 2 and abs(y - v) < height for u, v, w in taken):
            continue
        taken.append((x, y, width))
        ax.annotate(
            short,
            (x, y),
            xytext=(0, 5 if n <= 30 else 3.5),
            textcoords="offset points",
            ha="center",
            fontsize=size,
            color=INK,
            zorder=3,
            parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4},
        )
