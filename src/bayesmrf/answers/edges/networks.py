"""Plots of several networks in one layout: weights and evidence, and those of groups of people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import OptionError
from ...names import short_names, shown
from ...results.edge_evidence import FORCED, WORDS
from ...results.median_model import EDGES, in_median_model
from ...results.summary import INTERVAL, DifferenceSummary, StructureSummary, Summary, summarise
from ...show.layout import layout
from ...show.networks import Look, draw_edges, line_of, name_nodes, signed
from ...show.style import GREY, INK, as_text, axes, plot_of
from .network import by_inclusion

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue for presence and yellow for absence, as in evidence plots of easybgm and JASP, without their red.
CLASSES = dict(zip(WORDS, ("#36648b", "#86a2b9", "#bfbfbf", "#f9d183", "#eeb004"), strict=True)) | {FORCED: INK}
# Points up to 60 edges: the many that are excluded do not hide the others.
_WIDTHS = dict(zip(CLASSES, (2.8, 2.2, 1.8, 1.6, 1.4, 2.0), strict=True))
_SOLID = (WORDS[0], WORDS[-1], FORCED)
_DRAWN = (*WORDS[::-1], FORCED)  # the last on top
_MOST_LETTERS, _MOST_NAMED = 200, 24  # of all names, and nodes, that have their names next to them; others are numbered
_IN_KEY = 26  # letters of a name in the key of numbers
_NAMES, _LINE = 2, 0.15  # names of the key next to each other below a network, and inches of a line
_AT_FULL_WIDTH = 60  # edges


class Panel(NamedTuple):
    """A network: its title, the ends (n, 2) and the style of its edges."""

    title: str
    ends: np.ndarray
    look: Look


@plot_of("SpikeSlabMRF or CompareMRF")
def plot_evidence_network(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the evidence for each pair: that its edge exists, or that the groups differ in it, in five classes.

    Blue edges are included and yellow ones excluded by their Bayes factor; paler and grey ones, of which the evidence
    is weaker, are dashed. Edges that the prior forces are black, those that it forbids are not drawn. The positions of
    the nodes are those of `plot_networks`. Nodes with long or many names are numbered.

    Raises
    ------
    OptionError
        If the run has no Bayes factors of its edges.
    """
    s = summarise(tree)
    if s.has_lags or not s.evidence:
        raise OptionError("tree must be a run with Bayes factors of its edges; use plot_network for its network.")
    return _panels(ax, s, [_evidence(s)], 1, 6.0)


@plot_of("SpikeSlabMRF or CompareMRF")
def plot_networks(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot networks next to each other in one layout: weights and evidence; or those of groups of people.

    Of a run of SpikeSlabMRF these are the edges with an inclusion above 0.5, wide and saturated if strong and dashed if
    negative, and the evidence for each pair, as in `plot_evidence_network`.

    Of CompareMRF it is the network of each group, then the edges in which they differ, and the evidence for each
    difference. Edges are wide if strong, and dashed if negative; the widths of all groups have one scale. Those whose
    90 % interval contains zero are pale. Where edges may be absent, those that exist with a probability above 0.5 are
    drawn, with their weights given that they exist. Differences are drawn if their inclusion is above 0.5: of two
    groups by the sign of the difference, the second group minus the first; of more groups by the largest difference.
    """
    s = summarise(tree)
    if not s.has_populations and (s.has_lags or not s.evidence):
        single = "plot_network for a single network" if s.has_network else "plot_parameters"
        raise OptionError(f"tree must be a posterior of CompareMRF, or of SpikeSlabMRF with evidence; use {single}.")
    panels = [*_NETWORKS[s.has_populations](s), *([_evidence(s)] if s.evidence else [])]
    columns = min(len(panels), 3 if len(panels) != 4 else 2)
    return _panels(ax, s, panels, columns, 4.6 if columns == 2 else 3.6)


def _weights(s: StructureSummary) -> list[Panel]:
    """Style the likely edges, in width and saturation by their weights."""
    weight = s.likely["weight"].to_numpy()
    share = np.abs(weight) / max(np.abs(weight).max(initial=0.0), 1e-12)
    none = ("", 0.0)
    look = signed(weight, 0.3 + 0.65 * share, s.terms.edge, none, none, unsigned=~s.display.signed[s.in_median_model])
    handles = [handle for handle in look.handles if handle.get_label()]
    return [Panel(f"weights of {EDGES}", s.drawn, look._replace(handles=handles))]


def _groups(s: DifferenceSummary) -> list[Panel]:
    """Style the network of each group, and the differences that are likely."""
    means, low, high = s.weights_given(INTERVAL).reshape(3, s.n_edges, -1).swapaxes(1, 2)
    exist = in_median_model(s.existence)
    means, low, high = means[:, exist], low[:, exist], high[:, exist]
    sure, doubtful = ("90 % interval excludes zero", 0.9), ("90 % interval contains zero", 0.25)
    looks = [
        signed(mean, np.where((a > 0) | (b < 0), sure[1], doubtful[1]), s.terms.edge, sure, doubtful,
               float(np.abs(means).max(initial=0.0)), ~s.display.signed[exist])
        for mean, a, b in zip(means, low, high, strict=True)
    ]  # fmt: skip
    titles = [f"{name} (n = {size:g})" for name, size in zip(s.groups, s.sizes, strict=True)]
    looks = [*[look._replace(handles=[]) for look in looks[:-1]], looks[-1]]  # one legend for all groups
    panels = [Panel(title, s.ends[exist], look) for title, look in zip(titles, looks, strict=True)]
    return [*panels, Panel("differences", s.drawn, by_inclusion(s))]


_NETWORKS: dict[bool, Callable[[Any], list[Panel]]] = {True: _groups, False: _weights}  # whether there are groups


def _evidence(s: Summary) -> Panel:
    """Style all pairs, by the class of their evidence."""
    return Panel(f"evidence for {s.thing}s", s.ends, by_evidence(s.evidence["evidence"]))


def by_evidence(words: np.ndarray) -> Look:
    """Style edges by their words; those that are forbidden are not among the edges to draw."""
    from matplotlib.colors import to_rgba_array

    known = [str(word) if word in CLASSES else "" for word in words]
    rank = np.array([_DRAWN.index(word) if word else -1 for word in known])
    thin = float(np.clip(np.sqrt(_AT_FULL_WIDTH / max(len(known), 1)), 0.35, 1.0))
    widths = thin * np.array([_WIDTHS.get(word, 0.0) for word in known])
    handles = [
        line_of(f"{word} ({known.count(word):,})", colour, _WIDTHS[word], word not in _SOLID)
        for word, colour in CLASSES.items()
        if word in known or word != FORCED
    ]
    order, dashed = np.argsort(rank, kind="stable"), np.array([word not in _SOLID for word in known])
    colours = to_rgba_array([CLASSES.get(word, "none") for word in known])
    return Look(colours, widths, dashed, order[rank[order] >= 0], handles)


def _panels(ax: Axes | None, s: Summary, panels: Sequence[Panel], columns: int, side: float) -> Axes:
    """Draw networks in a grid, with a legend below each, and below all the names of nodes that are numbered."""
    names, n, n_rows = s.names, len(s.names), -(-len(panels) // columns)
    numbered = n > _MOST_NAMED or n * max(map(len, names)) > _MOST_LETTERS
    n_lines = -(-n // (_NAMES * columns)) if numbered else 0
    below = _LINE * (n_lines + 1.5) if numbered else 0.0
    ax = axes(ax, (side * columns, (side + 0.5) * n_rows + below))
    key = below / ((side + 0.5) * n_rows + below)
    ax.axis("off")
    place = layout(n, s.ends if s.has_populations else s.drawn)
    labels = [f"{i}" for i in range(1, n + 1)] if numbered else list(names)
    height = (1 - key) / n_rows
    for k, (title, ends, look) in enumerate(panels):
        row, column = divmod(k, columns)
        bottom = 1 - (row + 1) * height
        panel = ax.inset_axes((column / columns, bottom + 0.14 * height, 0.96 / columns, 0.8 * height))
        for chosen in _layers(look):
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


def _layers(look: Look) -> list[np.ndarray]:
    """Divide edges into runs of equal dashes in their order, so that dashed ones are not all on top."""
    return np.split(look.order, np.flatnonzero(np.diff(look.dashed[look.order])) + 1)


def _key(ax: Axes, names: Sequence[str], n_lines: int, share: float, across: int) -> None:
    """Write the number and the name of each node in columns at the bottom, in a share of the height."""
    for i, name in enumerate(short_names(list(names), _IN_KEY)):
        column, line = divmod(i, n_lines)
        y = share * (1 - (line + 1) / (n_lines + 1))
        ax.text(column / across, y, f"{i + 1}  {name}", fontsize=7, color=INK, va="center", parse_math=False,
                transform=ax.transAxes)  # fmt: skip
