"""How networks are drawn: edges and arrows, names of nodes, and several networks in one layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..names import short_names, shown
from .network_style import Look
from .style import DASHED, GREY, INK, as_text, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LETTERS, _MOST_NAMED = 200, 24  # of all names, and nodes, that have their names next to them; others are numbered
_IN_KEY = 26  # letters of a name in the key of numbers
_NAMES, _LINE = 2, 0.15  # names of the key next to each other below a network, and inches of a line
_BEND = 0.18  # of an arrow, so that both directions are seen
_QUADRATIC = [1, 3, 3]  # codes of matplotlib for a curve
_LENGTH, _HEAD = 0.6, "-|>,head_length=0.6,head_width=0.35"  # of arrow heads, in their scale


class Network(NamedTuple):
    """A network: its title, the ends (n, 2) and the style of its edges."""

    title: str
    ends: np.ndarray
    look: Look


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


def draw_arrows(panel: Axes, place: np.ndarray, ends: np.ndarray, look: Look, node: float = 0.0) -> None:
    """Draw directed edges as bent arrows that end at the rim of a node of so many points, and loops as circles away
    from the middle.
    """
    from matplotlib.patches import Circle, FancyArrowPatch, PathPatch
    from matplotlib.path import Path

    size, outward = _loops(place, node)
    for e in look.order:
        u, v = ends[e]
        style: dict[str, Any] = {
            "linewidth": look.widths[e], "linestyle": DASHED if look.dashed[e] else "solid", "zorder": 1,
        }  # fmt: skip
        if u == v:
            centre = tuple(place[u] + size * outward[u])
            panel.add_patch(Circle(centre, size, fill=False, edgecolor=look.colours[e], **style))
        else:
            across = (place[v] - place[u])[::-1] * (1, -1)
            middle_of = (place[u] + place[v]) / 2 + _BEND * across  # control point of a quadratic curve
            scale = 8 + 2 * look.widths[e]
            base, top = _head(place[u], middle_of, place[v], 0.5 * node, scale) if node else (0.8, 1.0)
            near, tip = (_on_curve(place[u], middle_of, place[v], t) for t in (base, top))
            until = base + (0.1 if node else 0.6) * (top - base)
            end = _on_curve(place[u], middle_of, place[v], until)
            shaft = Path([place[u], (1 - until) * place[u] + until * middle_of, end], _QUADRATIC)
            panel.add_patch(PathPatch(shaft, fill=False, edgecolor=look.colours[e], capstyle="butt", **style))
            # Dashes would break the outline of a head, which is drawn apart, and is wider than the shaft.
            panel.add_patch(
                FancyArrowPatch(
                    tuple(near), tuple(tip), arrowstyle=_HEAD, mutation_scale=scale, shrinkA=0,
                    shrinkB=0.0 if node else 4.0, linewidth=0, color=look.colours[e], zorder=1.5,
                )
            )  # fmt: skip


def _on_curve(start: np.ndarray, control: np.ndarray, end: np.ndarray, t: Any) -> np.ndarray:
    """Return a point of a quadratic curve, or points if ``t`` is an array (n, 1)."""
    point: np.ndarray = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t**2 * end
    return point


def _head(start: np.ndarray, control: np.ndarray, end: np.ndarray, rim: float, scale: float) -> tuple[float, float]:
    """Return where the head of an arrow begins on its curve, and where the curve meets the rim of a node."""
    t = np.linspace(0, 1, 201)[:, None]
    left = np.hypot(*(_on_curve(start, control, end, t) - end).T)
    top = float(t[np.argmax(left <= rim), 0])
    return min(float(t[np.argmax(left <= rim + _LENGTH * scale), 0]), top - 0.01), top


def _loops(place: np.ndarray, node: float) -> tuple[float, np.ndarray]:
    """Return the radius of loops, and the directions (n, 2) from the middle in which they are drawn."""
    away = place - place.mean(axis=0)
    length = np.hypot(*away.T)[:, None]
    outward = np.divide(away, length, where=length > 0, out=np.tile([0.0, 1.0], (len(place), 1)))
    return 0.55 * node if node else 0.07 * float(np.ptp(place, axis=0).max() + 1e-9), outward


def beyond_loops(place: np.ndarray, has_loop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where names of nodes with loops stand, (n, 2): above the loops, or below where these point down, (n,)."""
    size, outward = _loops(place, 0.0)
    is_below = outward[:, 1] < -1e-6
    ends = size * (outward + np.stack([np.zeros(len(place)), np.where(is_below, -1, 1)], axis=1))
    return place + has_loop[:, None] * ends, is_below


def name_nodes(
    ax: Axes, names: list[str], place: np.ndarray, degree: np.ndarray, is_below: np.ndarray | None = None
) -> None:
    """Write names above their nodes, or below, those with many edges first; names that would overlap are omitted."""
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
            xytext=(0, (5 if n <= 30 else 3.5) * (1 if is_below is None or not is_below[i] else -1)),
            textcoords="offset points",
            ha="center",
            va="baseline" if is_below is None or not is_below[i] else "top",
            fontsize=size,
            color=INK,
            zorder=3,
            parse_math=False,
            bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.4},
        )


def draw_networks(
    ax: Axes | None, names: Sequence[str], place: np.ndarray, networks: Sequence[Network], columns: int, side: float
) -> Axes:
    """Draw networks in a grid, with a legend below each, and below all the names of nodes that are numbered."""
    n, n_rows = len(names), -(-len(networks) // columns)
    numbered = n > _MOST_NAMED or n * max(map(len, names)) > _MOST_LETTERS
    n_lines = -(-n // (_NAMES * columns)) if numbered else 0
    below = _LINE * (n_lines + 1.5) if numbered else 0.0
    ax = axes(ax, (side * columns, (side + 0.5) * n_rows + below))
    key = below / ((side + 0.5) * n_rows + below)
    ax.axis("off")
    labels = [f"{i}" for i in range(1, n + 1)] if numbered else list(names)
    height = (1 - key) / n_rows
    for k, (title, ends, look) in enumerate(networks):
        row, column = divmod(k, columns)
        bottom = 1 - (row + 1) * height
        panel = ax.inset_axes((column / columns, bottom + 0.14 * height, 0.96 / columns, 0.8 * height))
        for chosen in layers(look):
            draw_edges(panel, place[ends], look, chosen)
        if numbered:
            size = 130 if n <= 30 else 90
            panel.scatter(place[:, 0], place[:, 1], s=size, facecolor="white", edgecolor=GREY, zorder=2, linewidths=0.8)
            for label, (x, y) in zip(labels, place, strict=True):
                panel.text(x, y, label, fontsize=7 if n <= 30 else 5.5, color=INK, ha="center", va="center", zorder=3)
        else:
            panel.scatter(place[:, 0], place[:, 1], s=20, color=INK, zorder=2, linewidths=0)
            name_nodes(panel, labels, place, np.bincount(ends.ravel(), minlength=n))
        panel.set_title(shown(title), fontsize=9, color=INK, parse_math=False)
        panel.margins(0.12)
        panel.axis("off")
        if look.handles:
            as_text(panel.legend(handles=look.handles, loc="upper center", bbox_to_anchor=(0.5, 0.02), frameon=False,
                                 fontsize=7, handlelength=3.2, ncols=2 if len(look.handles) > 4 else 1))  # fmt: skip
    if numbered:
        _key(ax, names, n_lines, key, _NAMES * columns)
    return ax


def layers(look: Look) -> list[np.ndarray]:
    """Divide edges into runs of equal dashes in their order, so that dashed ones are not all on top."""
    return np.split(look.order, np.flatnonzero(np.diff(look.dashed[look.order])) + 1)


def _key(ax: Axes, names: Sequence[str], n_lines: int, share: float, across: int) -> None:
    """Write the number and the name of each node in columns at the bottom, in a share of the height."""
    for i, name in enumerate(short_names(list(names), _IN_KEY)):
        column, line = divmod(i, n_lines)
        y = share * (1 - (line + 1) / (n_lines + 1))
        ax.text(column / across, y, f"{i + 1}  {name}", fontsize=7, color=INK, va="center", parse_math=False,
                transform=ax.transAxes)  # fmt: skip
