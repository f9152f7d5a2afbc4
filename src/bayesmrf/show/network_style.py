"""Styles of the edges of networks: by sign and size, by inclusion, by group, and by evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..results.categories import FORCED, WORDS
from ..results.median_model import INCLUSION, certainty
from ..results.summary import GroupedSummary, InclusionSummary, ParameterSummary, Summary, count
from .style import COLOURS, DASHED, GREY, INK, MOST_IN_LEGEND, group_colours

ALPHAS = (("inclusion 1", 0.9), (f"inclusion {INCLUSION:g}", 0.2))  # of edges that may be absent
MOST_WIDE = 500  # edges of groups that may be wide, and edges that are in colour whatever their length
# Blue for presence and yellow for absence, as in evidence plots of easybgm and JASP, without their red.
# From the first category to the last, then those of edges that are forced.
_COLOURS = ("#36648b", "#86a2b9", "#bfbfbf", "#f9d183", "#eeb004", INK)
_WIDTHS = (2.8, 2.2, 1.8, 1.6, 1.4, 2.0)
_SOLID = (True, False, False, False, True, True)
_RANKS = (4, 3, 2, 1, 0, 5)  # the first category is drawn on top of the others, and what is forced on top of all
_AT_FULL_WIDTH = 60  # edges


class Look(NamedTuple):
    """Style of the edges: colours with alpha (n_edges, 4), widths, dashed or not, order; and the legend."""

    colours: np.ndarray
    widths: np.ndarray
    dashed: np.ndarray
    order: np.ndarray
    handles: list[Any]


def _by_group(summary: GroupedSummary) -> Look:
    groups, table = summary.group_table, summary.likely
    a = table["agreement"].clip(1e-6, 1 - 1e-6).to_numpy()
    colours, strength = group_colours(len(groups)), np.abs(np.log(a / (1 - a)))
    width = 0.5 + (3.5 if len(a) <= MOST_WIDE else 1.0) * strength / strength.max(initial=1.0)
    shown = list(groups.index[: MOST_IN_LEGEND if len(groups) > MOST_IN_LEGEND + 1 else None])
    handles = [
        line_of(
            f"group {g}: agreement {groups['agreement'][g]:.2f}, {count(groups['size'][g], 'edge')}",
            colours[g - 1],
            2.5,
            bool(groups["agreement"][g] < 0.5),
        )
        for g in shown
    ]
    if len(shown) < len(groups):
        handles.append(line_of(f"and {len(groups) - len(shown)} more groups", "none"))
    edge_colours = colours[summary.groups[summary.shown]].copy()
    edge_colours[:, 3] = 0.85
    if summary.spike:
        edge_colours[:, 3] = paler(table["inclusion"].to_numpy())
        handles += _doubt(*ALPHAS) if len(a) else []
    return Look(edge_colours, width, a < 0.5, np.argsort(strength), handles)


def _by_sign(summary: ParameterSummary) -> Look:
    table = summary.table[summary.table["is_edge"]]
    value, clear = table["mean"].to_numpy(), table["clear"].to_numpy()
    sure, doubtful = ("90 % interval excludes zero", 0.9), ("90 % interval contains zero", 0.35)
    alpha = np.where(clear, sure[1], doubtful[1])
    return signed(value, alpha, summary.terms.edge, sure, doubtful, unsigned=~summary.display.signed)


def by_inclusion(summary: InclusionSummary) -> Look:
    """Style edges that are likely to exist, or to differ between groups, by their mean."""
    table, unsigned = summary.likely, ~summary.display.signed[summary.in_median_model]
    alpha = paler(table["inclusion"].to_numpy())
    return signed(table["weight"].to_numpy(), alpha, summary.weighed, *ALPHAS, unsigned=unsigned)


_LOOKS: dict[str, Callable[[Any], Look]] = {"group": _by_group, "sign": _by_sign, "inclusion": by_inclusion}


def look_of(summary: Summary) -> Look:
    """Style the edges of a network of a posterior."""
    return _LOOKS[summary.styled_by](summary)


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
        *_doubt(sure, doubtful),
    ]
    if unsigned is not None and unsigned.any():
        table = line_of(f"{noun} {mark:g} of a table", neither, _width(mark, top))
        handles = [table, *handles[0 if not unsigned.all() else 2 :]]
    return Look(colours, _width(size, top), value < 0, np.lexsort((size, alpha)), handles if len(value) else [])


def _doubt(*said: tuple[str, float]) -> list[Any]:
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


def colours_of(names: tuple[str, ...]) -> dict[str, str]:
    """Return the colour of each category of evidence, from the first to the last, and of what is forced."""
    return dict(zip((*names, FORCED), _COLOURS, strict=True))


def by_evidence(words: np.ndarray, names: tuple[str, ...] = WORDS) -> Look:
    """Style edges by their categories; those that have none are not among the edges to draw."""
    from matplotlib.colors import to_rgba_array

    colours, every = colours_of(names), list(colours_of(names))
    known = np.array([every.index(word) if word in colours else -1 for word in words], dtype=np.int64)
    thin = float(np.clip(np.sqrt(_AT_FULL_WIDTH / max(len(known), 1)), 0.35, 1.0))
    widths, dashed = thin * np.array([*_WIDTHS, 0.0])[known], ~np.array([*_SOLID, False])[known]
    handles = [
        line_of(f"{word} ({int((known == k).sum()):,})", colours[word], _WIDTHS[k], not _SOLID[k])
        for k, word in enumerate(every)
        if word != FORCED or (known == k).any()
    ]
    rank = np.array([*_RANKS, -1])[known]
    order = np.argsort(rank, kind="stable")
    shades = to_rgba_array([*colours.values(), "none"])[known]
    return Look(shades, widths, dashed, order[rank[order] >= 0], handles)
