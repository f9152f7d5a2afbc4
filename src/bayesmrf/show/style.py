"""The common style of all plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import getdoc
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..declare.rule import Rule, is_list, optional
from ..errors import OptionError
from ..names import shown
from ..results.median_model import NO_EDGE
from ..results.summary import AnySummary, GroupedSummary, InclusionSummary, ParameterSummary, Summary, summarise

if TYPE_CHECKING:
    from matplotlib.axes import Axes

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S", bound=Summary)

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#5D3A9B", "#4D4D4D")
INK, GREY, PALE = "#1f2430", "#6b7280", "#d6dae0"
DASHED = (0, (2.5, 1.2))
MOST_NAMED = 60  # edges or parameters that have a row with their name
MOST_IN_LEGEND = 8


_PARAMETERS = """

Parameters
----------
tree : estimator, xarray.DataTree, path or Summary
    {}, fitted, its ``posterior_``, or the path of a stored run.
ax : Axes, optional
    Where to draw."""


def plot_of(estimators: str) -> Callable[[F], F]:
    """Return a decorator that documents the posterior and the axes of a plot."""

    def document(function: F) -> F:
        function.__doc__ = f"{getdoc(function)}{_PARAMETERS.format(estimators)}"
        return function

    return document


def of_kind(tree: Any, kind: type[S], expected: str, where: Callable[[S], bool] = lambda _: True) -> S:
    """Return the summary of a posterior of the kind that a picture shows.

    Parameters
    ----------
    tree : estimator, xarray.DataTree, path or Summary
    kind : type
        Of summaries.
    expected : str
        What the message says that it must be, in which ``{s}`` is the summary.
    where : callable
        Whether the picture shows such a summary.

    Raises
    ------
    OptionError
    """
    s = summarise(tree)
    if not (isinstance(s, kind) and where(s)):
        raise OptionError(f"tree must be {expected.format(s=s)}.")
    return s


def grouped(tree: Any) -> GroupedSummary:
    """Return the summary of a posterior over groups."""
    return of_kind(tree, GroupedSummary, "a posterior of GroupedMRF; this one has no groups, use {s.picture}")


def parameters(tree: Any) -> ParameterSummary:
    """Return the summary of a posterior over parameters."""
    return of_kind(tree, ParameterSummary, "a posterior of BayesianMRF; this one is over {s.over}, use {s.picture}")


def undirected(tree: Any) -> AnySummary:
    """Return the summary of a posterior whose edges have no direction."""
    s = summarise(tree)
    if s.has_lags:
        raise OptionError(f"tree must be a posterior with one network; this is one of {s.estimator}, use {s.picture}.")
    return s


def with_inclusion(tree: Any) -> InclusionSummary:
    """Return the summary of a posterior over which edges exist, or differ."""
    expected = ("a posterior of SpikeSlabMRF or CompareMRF, or of GroupedMRF with candidates; in this one all edges "
                "exist, use {s.picture}")  # fmt: skip
    return of_kind(undirected(tree), InclusionSummary, expected, lambda s: s.spike)


def _is_axes(value: Any) -> bool:
    from matplotlib.axes import Axes

    return isinstance(value, Axes)


_AXES = Rule("an Axes of matplotlib", _is_axes)
PANELS = optional(Rule("a list of Axes of matplotlib", lambda v: is_list(v) and all(map(_AXES.allows, v))))


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the axes given, or those of a new figure, in the common style."""
    optional(_AXES).check("ax", ax)
    if ax is None:
        from matplotlib.figure import Figure

        from .shown_axes import ShownAxes

        ax = Figure(figsize=size, layout="constrained").add_subplot(axes_class=ShownAxes)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(PALE)
    ax.tick_params(colors=GREY, labelsize=8)
    ax.xaxis.label.set(size=9, color=INK)
    ax.yaxis.label.set(size=9, color=INK)
    return ax


def no_edges(ax: Axes | None) -> Axes:
    """Return axes with the text that no edge is likely."""
    ax = axes(ax, (4.6, 1.2))
    ax.text(0.5, 0.5, NO_EDGE, fontsize=9, color=GREY, ha="center", va="center")
    ax.axis("off")
    return ax


def group_colours(n_groups: int) -> np.ndarray:
    """Return a colour for each group: different hues for up to eight groups, else a sequential scale."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba_array

    if n_groups <= len(COLOURS):
        return to_rgba_array(COLOURS[:n_groups])
    return colormaps["viridis"](np.linspace(0.92, 0.0, n_groups))


def as_text(legend: Any) -> None:
    """Show the labels of a legend as they are: no mathematics between dollar signs, no invisible characters."""
    for label in legend.get_texts():
        label.set(parse_math=False, text=shown(label.get_text()))


def legend_of(ax: Axes, ncols: int, below: bool = False, **more: Any) -> Any:
    """Add a legend above the axes, or below them."""
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0, -0.16)} if below else {
        "loc": "lower left", "bbox_to_anchor": (0, 1.0)}  # fmt: skip
    legend = ax.legend(ncols=ncols, frameon=False, fontsize=8, borderaxespad=0.2, **place, **more)
    as_text(legend)
    return legend


def set_integer_ticks(axis: Any) -> None:
    """Put ticks at integers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator(nbins=12, integer=True, min_n_ticks=1))


class Intervals:
    """Values with intervals along a line: up to 60 in a row each with its name, more next to each other without names.

    Parameters
    ----------
    ax : Axes or None
        Where to draw.
    n : int
        Number of values.
    at : float
        Where a reference line is drawn.
    colour : str
        Of that line.
    """

    def __init__(self, ax: Axes | None, n: int, at: float, colour: str):
        self.n, self.named, self.place = n, n <= MOST_NAMED, np.arange(n)
        self.ax = axes(ax, (7.2, max(2.0, 0.9 + 0.19 * n)) if self.named else (7.2, 3.6))
        (self.ax.axvline if self.named else self.ax.axhline)(at, color=colour, linewidth=1, zorder=1)

    def lines(self, low: Any, high: Any, colour: Any) -> None:
        """Draw the intervals."""
        width = 2 if self.named else max(0.5, min(2.0, 300 / self.n))
        draw = self.ax.hlines if self.named else self.ax.vlines
        draw(self.place, low, high, colors=colour, linewidth=width, alpha=0.6, zorder=3, rasterized=self.n > 2000)

    def points(self, value: Any, **style: Any) -> None:
        """Draw values."""
        x, y = (value, self.place) if self.named else (self.place, value)
        self.ax.scatter(x, y, rasterized=self.n > 2000, **style)

    def label(self, names: Sequence[str], along: str, across: str) -> None:
        """Write the names, or ``along`` in their place, and what the values are."""
        if self.named:
            name_rows(self.ax, names)
            self.ax.set_xlabel(across)
        else:
            self.ax.set_xlim(-0.01 * self.n, 1.01 * self.n)
            self.ax.set(xlabel=along, ylabel=across)


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Write a name next to each row, the first on top."""
    ax.set_yticks(range(len(names)), names, fontsize=8, parse_math=False)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)


def colour_bar(ax: Axes, image: Any, label: str) -> None:
    """Add a scale of probabilities."""
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.85, pad=0.02)
    bar.set_label(label, fontsize=9, color=INK)
    bar.ax.tick_params(labelsize=8, colors=GREY)
    bar.outline.set_visible(False)
