"""Figures for papers of intervals: the weight of each edge that is shown, of every kind of result, and differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...names import shown
from ...results.bayes_factors import text_of
from ...show.figures import Figure
from ...show.style import COLOURS, GREY, INK, axes
from .drawn import which

_MOST = 60  # rows of a figure
_ROW, _MARGINS = 0.135, 0.62  # inches
_FONT, _LONGEST = 6.5, 34  # points; letters of a label
_SHAPES = "osD^v"


def draw_edges(s: Any, options: Figure) -> Any:
    """Draw the weight of each edge that is shown with its interval, those with most evidence first."""
    # Evidence for differences says nothing of the weights in groups of people.
    chosen = np.arange(s.n_edges) if s.has_populations else np.flatnonzero(which(s, options.shown))
    values, groups = s.forest, s.groups if s.has_populations else [""]
    size = np.abs(np.nan_to_num(values)).max(axis=(0, 1))[chosen]
    factors = s.evidence.get("bayes_factor", np.ones(s.n_edges)) if not s.has_populations else np.ones(s.n_edges)
    rows = chosen[np.lexsort((-size, -np.nan_to_num(factors[chosen])))]
    labels = [edge_label(s, e) for e in rows]
    factors = factors[rows] if s.evidence and not s.has_populations else None
    return _draw(s, options, labels, values[:, :, rows], groups, factors, s.terms.edge)


def draw_differences(s: Any, options: Figure) -> Any:
    """Draw the difference of each edge that is shown with its interval, those with most evidence first."""
    table, n = s.differences, s.pairs
    size = np.abs(table["difference"].fillna(0).to_numpy()).reshape(-1, n).max(axis=1)
    chosen = np.flatnonzero(which(s, options.shown))
    rows = chosen[np.lexsort((-size[chosen], -s.inclusion[chosen]))]
    values = table[["difference", "lower", "upper"]].to_numpy().reshape(-1, n, 3).transpose(2, 1, 0)[:, :, rows]
    first = table.iloc[:n]
    pairs = [f"{b} − {a}" for a, b in zip(first["group"], first["other"], strict=True)] if n > 1 else [""]
    labels = [edge_label(s, e) for e in rows]
    factors = s.evidence["bayes_factor"][rows] if s.evidence else None
    return _draw(s, options, labels, values, pairs, factors, f"difference: {s.direction}")


def edge_label(s: Any, e: int) -> str:
    """Return the two ends of an edge as a figure shows them."""
    u, v = s.ends[e]
    sign = "→" if s.has_lags and e < s.n_lagged else "–"
    return shown(f"{s.names[u]} {sign} {s.names[v]}", _LONGEST)


def _draw(
    s: Any,
    options: Figure,
    labels: Sequence[str],
    values: np.ndarray,
    groups: Sequence[str],
    factors: np.ndarray | None,
    title: str,
) -> Any:
    """Draw means with intervals (3, n_groups, n_rows), and the Bayes factors of the edges next to them."""
    n_all, labels, values = len(labels), labels[:_MOST], values[:, :, :_MOST]
    n, several = len(labels), len(groups) > 1
    height = _MARGINS + _ROW * max(n, 1) * (1 + 0.35 * (len(groups) - 1)) + 0.3 * several
    ax = axes(None, (options.inches, height))
    ax.axvline(0, color=GREY, linewidth=0.7, zorder=0)
    for g, group in enumerate(groups if n else []):
        mean, low, high = values[:, g]
        y = np.arange(n) + (0.62 * (g / (len(groups) - 1) - 0.5) if several else 0.0)
        colour = COLOURS[g % len(COLOURS)]
        ax.hlines(y, low, high, colors=colour, linewidth=1.1)
        hollow = np.where((low > 0) | (high < 0), colour, "white")
        ax.scatter(mean, y, s=11, c=hollow, edgecolors=colour, linewidths=0.9, zorder=3, marker=_SHAPES[g % 5],
                   label=shown(group, _LONGEST) if group else None)  # fmt: skip
    ax.set_yticks(range(n), labels, fontsize=_FONT, parse_math=False)
    ax.set_ylim(max(n, 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.tick_params(axis="x", labelsize=_FONT)
    few = f" ({n} of {n_all:,})" if n < n_all else ""
    ax.set_xlabel(f"{title}, mean and {100 * s.probability:g} % interval{few}", fontsize=_FONT, parse_math=False)
    if factors is not None:
        right = ax.secondary_yaxis("right")
        right.set_yticks(range(n), [text_of(f) if np.isfinite(f) else "" for f in factors[:_MOST]], fontsize=_FONT)
        right.tick_params(axis="y", length=0, labelcolor=INK)
        right.spines["right"].set_visible(False)
        ax.set_title("Bayes factor", fontsize=_FONT, color=GREY, loc="right")
    if several and n:
        ax.legend(fontsize=_FONT, frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(len(groups), 4),
                  handletextpad=0.2, columnspacing=0.8, borderaxespad=0.1)  # fmt: skip
    if not n:
        ax.text(0.5, 0.5, "no edge is included", transform=ax.transAxes, ha="center", fontsize=_FONT, color=GREY)
    return ax
