"""A network in a figure for a paper: nodes as circles that do not touch, with their labels or numbers, and a legend.

Data coordinates are points of the figure, so that what overlaps is known before it is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..declare.rule import is_list
from ..errors import OptionError
from ..names import short_names, shown
from ..results.summary import summarise
from .drawn_networks import draw_arrows, draw_edges, layers
from .figures import Figure, by_node, data_names
from .layout import layout, spread
from .network_style import Look
from .style import GREY, INK, MOST_IN_LEGEND, as_text, axes, group_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINT = 72.0
_COVER = 0.42  # diameter of nodes, relative to the distance of as many on a square grid
_SIZES = 8.0, 26.0  # points, of a node
_FONT, _SMALL, _KEY_FONT = 7.0, 5.0, 6.0  # points, of labels, of those in nodes at least, and of the key and legend
_LINE = 9.0  # points, of a line of the legend and the key
_MOST_OUTSIDE, _LONGEST, _IN_KEY = 30, 22, 40  # nodes with labels next to them; letters of these, and in the key
_FLATTEST = 0.62  # height over width
_STEPS = 600  # of the layout of labels
_GAP = 3.0  # points between nodes
_LOOPS = 1.2  # diameters of nodes that loops need


class Drawing(NamedTuple):
    """A network to draw: names of nodes, ends (n, 2) and style of its edges, which may be arrows, and remarks."""

    names: Sequence[str]
    ends: np.ndarray
    look: Look
    placed_by: np.ndarray  # ends (n, 2) of the edges whose springs place the nodes
    is_directed: bool = False
    remark: str = ""


def draw_one(drawing: Drawing, options: Figure, nodes: Sequence[str], colours: Any = None) -> Axes:
    """Draw a network at the width of a figure.

    Parameters
    ----------
    drawing : Drawing
    options : Figure
    nodes : sequence of str
        Names of the nodes in the data, by which positions and groups are known.
    colours : sequence, optional
        The group of each node; None for one colour.
    """
    n, width = len(nodes), _POINT * options.inches
    size = float(np.clip(_COVER * width / np.sqrt(max(n, 1)), *_SIZES)) if options.node_size is None else float(
        options.node_size)  # fmt: skip
    texts = [shown(name, _LONGEST) for name in drawing.names]
    inside = _font_inside(texts, size)
    wanted = positions(options.layout, nodes, drawing.placed_by)
    loops = _LOOPS * size if drawing.is_directed else 0.0

    def places(more: float) -> np.ndarray:
        place = _scaled(wanted, width, 0.5 * size + _GAP + more + loops)
        if _is_stated(options.layout):
            return place
        return _scaled(spread(place, size + _GAP + more), width, 0.5 * size + _GAP + more + loops)

    if not inside and n <= _MOST_OUTSIDE:
        place = places(_LINE)
        ax = _draw(drawing, options, place, size, colours, texts, "beside", _FONT)
        if not _overlap(ax, place, size):
            return ax
    labels, how = (texts, "inside") if inside else ([str(i + 1) for i in range(n)], "numbered")
    font = inside or _font_inside(labels, size, 0.0)
    return _draw(drawing, options, places(0.0), size, colours, labels, how, font)


def positions(value: Any, nodes: Sequence[str], ends: np.ndarray) -> np.ndarray:
    """Return places (n_nodes, 2) of nodes, by name of a layout, as they are stated, or as in another result.

    Raises
    ------
    OptionError
        If they are not known for each node.
    """
    if isinstance(value, str) and value == "spring":
        return layout(len(nodes), ends)
    if isinstance(value, str) and value == "circle":
        angle = np.pi / 2 - 2 * np.pi * np.arange(len(nodes)) / len(nodes)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)
    import pandas as pd

    expected = "'spring', 'circle', two numbers for each node, by its name or in the order of nodes, or another result"
    if isinstance(value, pd.DataFrame):
        value = {name: tuple(row) for name, *row in value.itertuples()}
    if (isinstance(value, Mapping) and "posterior" not in value) or is_list(value):
        of_nodes = by_node("layout", value, list(nodes))
    else:
        other = summarise(value)
        of_nodes = dict(zip(data_names(other), layout(len(other.names), other.drawn), strict=True))
    missing = next((name for name in nodes if name not in of_nodes), None)
    if missing is not None:
        raise OptionError(option="layout", got=f"no position of {missing!r}", expected=expected)
    try:
        place = np.array([[float(x) for x in of_nodes[name]] for name in nodes])
    except (TypeError, ValueError):
        raise OptionError(option="layout", got=value, expected=expected) from None
    if place.shape != (len(nodes), 2) or not np.isfinite(place).all():
        raise OptionError(option="layout", got=value, expected=expected)
    return place


def _is_stated(value: Any) -> bool:
    """Return whether distances between nodes mean something, such as places on a head."""
    return not (isinstance(value, str) and value in ("spring", "circle"))


def _scaled(place: np.ndarray, width: float, margin: float) -> np.ndarray:
    """Return places in points, in a frame as wide as the figure."""
    low, extent = place.min(axis=0), np.maximum(np.ptp(place, axis=0), 1e-9)
    room = width - 2 * margin
    scale = min(room / extent[0], room / extent[1])
    moved = (place - low) * scale
    height = max(float(np.ptp(moved[:, 1])), _FLATTEST * width - 2 * margin)
    return np.asarray(moved + margin + 0.5 * (np.array([room, height]) - np.ptp(moved, axis=0)))


def _font_inside(texts: Sequence[str], size: float, least: float = _SMALL) -> float:
    """Return the size of the font with which all texts are within a node; 0 if it were too small."""
    widest = max((_width(text, 1.0) for text in texts), default=1.0)
    font = min(_FONT, 0.86 * size / max(widest, 0.7))
    return font if font >= least else 0.0


def _width(text: str, font: float) -> float:
    """Return the width of a text in points."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text or " ", size=10.0).get_extents().width) * font / 10.0


def _draw(
    drawing: Drawing,
    options: Figure,
    place: np.ndarray,
    size: float,
    colours: Any,
    labels: Sequence[str],
    how: str,
    font: float,
) -> Axes:
    """Draw all parts, with labels inside nodes, beside them, or in a key of numbers."""
    width, n = _POINT * options.inches, len(place)
    height = float(place[:, 1].max() + place[:, 1].min()) if n else 20.0  # a margin is below and above
    fills, handles = _fills(colours, n, options.theme == "grey")
    handles = [*drawing.look.handles, *handles]
    columns = max(1, min(len(handles), int(width // _column([h.get_label() for h in handles], 30.0))))
    key = _key_of(drawing.names, width) if how == "numbered" else []
    below = _LINE * (-(-len(handles) // columns) + 0.8 + len(key) + bool(key) + bool(drawing.remark) * 1.2)
    ax = axes(None, (options.inches, (height + below) / _POINT))
    figure: Any = ax.get_figure(root=True)
    figure.set_layout_engine("none")
    ax.set_position((0.0, below / (height + below), 1.0, height / (height + below)))
    ax.set(xlim=(0, width), ylim=(0, height))
    ax.axis("off")
    for chosen in layers(drawing.look):
        if drawing.is_directed:
            draw_arrows(ax, place, drawing.ends, drawing.look._replace(order=chosen), size)
        else:
            draw_edges(ax, place[drawing.ends], drawing.look, chosen)
    edge = "none" if how == "beside" and colours is None else INK
    fills = np.array([INK] * n) if edge == "none" else fills
    shrunk = 0.45 if edge == "none" else 1.0
    ax.scatter(place[:, 0], place[:, 1], s=(shrunk * size) ** 2, c=list(fills), edgecolors=edge, linewidths=0.7,
               zorder=2)  # fmt: skip
    _write(ax, place, labels, how, font, shrunk * size)
    line = below - 0.3 * _LINE
    if drawing.remark:
        figure.text(0.02, line / (height + below), drawing.remark, fontsize=_KEY_FONT, color=GREY, va="top",
                    parse_math=False)  # fmt: skip
        line -= 1.2 * _LINE
    if handles:
        as_text(figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.015, line / (height + below)),
                              ncols=columns, frameon=False, fontsize=_KEY_FONT, handlelength=2.6, columnspacing=1.0,
                              labelspacing=0.35, borderaxespad=0.0))  # fmt: skip
    for i, row in enumerate(key):
        y = _LINE * (len(key) - i - 0.3) / (height + below)
        for j, text in enumerate(row):
            figure.text(0.02 + 0.98 * j / len(row), y, text, fontsize=_KEY_FONT, color=INK, va="center",
                        parse_math=False)  # fmt: skip
    return ax


def _write(ax: Axes, place: np.ndarray, labels: Sequence[str], how: str, font: float, size: float) -> None:
    """Write the labels of nodes."""
    style: dict[str, Any] = {"fontsize": font, "color": INK, "parse_math": False, "zorder": 4}
    if how != "beside":
        for (x, y), label in zip(place, labels, strict=True):
            ax.text(x, y, label, ha="center", va="center_baseline", **style)
        return
    from adjustText import adjust_text

    box = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.3}
    texts = [ax.text(x, y + 0.5 * size + 1, label, ha="center", va="bottom", bbox=box, **style)
             for (x, y), label in zip(place, labels, strict=True)]  # fmt: skip
    # Points on the rims of nodes, which labels leave free.
    angle = np.linspace(0, 2 * np.pi, 8, endpoint=False)
    rims = place[:, None] + 0.5 * size * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    adjust_text(texts, *rims.reshape(-1, 2).T, ax=ax, iter_lim=_STEPS, expand=(1.02, 1.08), min_arrow_len=1e9)


def boxes(texts: Sequence[Any]) -> np.ndarray:
    """Return left, bottom, right and top (n, 4) of texts in pixels."""
    figure = texts[0].get_figure(root=True)
    return np.array([text.get_tightbbox(figure._get_renderer()).extents for text in texts])


def overlaps(a: np.ndarray, b: np.ndarray, slack: float = 0.0) -> np.ndarray:
    """Return which boxes (n, 4) overlap which of others (m, 4) by more than a slack, (n, m)."""
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    return np.asarray((high - low > slack).all(axis=2))


def _overlap(ax: Axes, place: np.ndarray, size: float) -> bool:
    """Return whether a label covers another one or a node, or leaves the figure."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure: Any = ax.get_figure(root=True)
    FigureCanvasAgg(figure).draw()
    labels = boxes(ax.texts)
    centre, radius = ax.transData.transform(place), 0.45 * 0.5 * size * figure.dpi / _POINT
    nodes = np.hstack([centre - radius, centre + radius])
    frame = figure.bbox.extents
    is_out = (labels[:, :2] < frame[:2] - 1).any() or (labels[:, 2:] > frame[2:] + 1).any()
    return bool(np.triu(overlaps(labels, labels), 1).any() or overlaps(labels, nodes, 1.0).any() or is_out)


def _column(texts: Sequence[str], more: float) -> float:
    """Return the width in points of a column of texts."""
    return more + max((_width(text, _KEY_FONT) for text in texts), default=0.0)


def _key_of(names: Sequence[str], width: float) -> list[list[str]]:
    """Return rows of numbers and names, which are read down the columns."""
    texts = [f"{i + 1}  {name}" for i, name in enumerate(short_names(list(names), _IN_KEY))]
    columns = max(1, int(width // _column(texts, 8.0)))
    n_rows = -(-len(texts) // columns)
    columns = -(-len(texts) // n_rows)
    return [[texts[k] if (k := j * n_rows + i) < len(texts) else "" for j in range(columns)] for i in range(n_rows)]


def _fills(groups: Any, n: int, in_grey: bool) -> tuple[Any, list[Any]]:
    """Return the colour of each node, and the legend of groups; greys differ in lightness."""
    from matplotlib.lines import Line2D

    if groups is None:
        return ["white"] * n, []
    each = list(dict.fromkeys(str(g) for g in groups if g is not None))
    tints = 0.45 * group_colours(max(len(each), 1)) + 0.55
    if in_grey:
        tints = np.repeat(np.linspace(0.95, 0.55, len(tints))[:, None], 4, axis=1)
        tints[:, 3] = 1.0
    colours = [(1.0, 1.0, 1.0, 1.0) if g is None else tuple(tints[each.index(str(g))]) for g in groups]
    handles = [
        Line2D([], [], marker="o", linestyle="none", markersize=5, markerfacecolor=tuple(tints[k]),
               markeredgecolor=INK, markeredgewidth=0.6, label=shown(each[k], _LONGEST))
        for k in range(min(len(each), MOST_IN_LEGEND))
    ]  # fmt: skip
    return colours, handles
