"""Plots of a posterior over parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ...declare.rule import Rule, are_texts, optional
from ...errors import OptionError
from ...names import short_names, shown
from ...results.summary import ParameterSummary
from ...show.style import (
    COLOURS,
    GREY,
    INK,
    MOST_NAMED,
    PALE,
    PANELS,
    Intervals,
    as_text,
    axes,
    legend_of,
    name_rows,
    parameters,
    plot_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PANELS = 42
_COLUMNS = 7
_LONGEST = 50  # letters of a label
_LETTERS = 14  # of the label below, in an inch
_LINE = 16  # letters of a line of the title of a panel
_GRID = 256  # points of a density
_WIDEST = 1.5  # how far a panel may extend beyond the range of the first posterior, in such ranges
_STYLES: tuple[Any, ...] = ("-", (0, (5, 1.6)), (0, (1, 1.2)), (0, (6, 1.5, 1, 1.5)), (0, (3, 1.2, 1, 1.2, 1, 1.2)))
# From dark to light, so that neighbours also differ in greyscale.
_LINES = ("#1f2430", "#D55E00", "#0072B2", "#CC79A7", "#009E73", "#E69F00", "#56B4E9", "#5D3A9B")


@plot_of("BayesianMRF")
def plot_parameters(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot each parameter with its 90 % interval, edges first, by decreasing mean; hollow if it contains zero.

    Up to 60 parameters have a row each with their name; more are drawn next to each other without names.
    """
    summary = parameters(tree)
    table = summary.table.iloc[np.lexsort((-summary.table["mean"], ~summary.table["is_edge"]))]
    n_edges, n = int(table["is_edge"].sum()), len(table)
    frame = Intervals(ax, n, 0, GREY)
    ax, named = frame.ax, frame.named
    colour = np.where(table["is_edge"], COLOURS[0], COLOURS[1])
    frame.lines(table["lower"].to_numpy(), table["upper"].to_numpy(), colour)
    style: dict[str, Any] = {"s": 20 if named else 5, "zorder": 4, "linewidths": 1.2 if named else 0.5}
    style |= {"edgecolors": colour, "facecolors": np.where(table["clear"], colour, "white")}
    frame.points(table["mean"].to_numpy(), **style)
    names = [shown(label, _LONGEST) for label in table["label"]]
    along = f"{n:,} parameters: edges, then nodes, by falling mean"
    frame.label(names, along, "posterior mean and 90 % interval")
    if 0 < n_edges < n:
        (ax.axhline if named else ax.axvline)(n_edges - 0.5, color=PALE, linewidth=0.8, zorder=0)
    _explain(ax, summary, below=not named)
    return ax


@plot_of("BayesianMRF")
def plot_strength(tree: Any, ax: Axes | None = None) -> Axes:
    """Plot the strength centrality of each node, the sum of its absolute edge parameters, with 90 % interval.

    With more than 60 nodes only the strongest are shown.
    """
    table = parameters(tree).strength_table
    strongest = table.iloc[:MOST_NAMED]
    ax = axes(ax, (7.2, max(1.6, 0.9 + 0.19 * len(strongest))))
    place = np.arange(len(strongest))
    ax.hlines(place, strongest["lower"], strongest["upper"], colors=COLOURS[2], linewidth=2, alpha=0.6)
    ax.scatter(strongest["strength"], place, s=20, color=COLOURS[2], zorder=3)
    name_rows(ax, [shown(n, _LONGEST) for n in strongest["node"]])
    ax.set_xlim(left=0)
    few = f" ({len(strongest)} strongest of {len(table):,} nodes)" if len(strongest) < len(table) else ""
    ax.set_xlabel(f"strength: posterior mean and 90 % interval{few}")
    return ax


def plot_marginals(
    trees: Mapping[str, Any] | Any, features: Sequence[str] | None = None, axes: Sequence[Axes] | None = None
) -> np.ndarray:
    """Plot the marginal posterior density of each parameter, of one posterior or of several in the same panel.

    As in figure 1 of Murray and Ghahramani (2004): the first is solid, the others differ in colour and in dashes.
    Panels show the range of the first, and up to 1.5 times that range beyond it.

    Parameters
    ----------
    trees : estimator, xarray.DataTree, path, Summary, or mapping of str to these
        BayesianMRF, fitted, its ``posterior_``, or the path of a stored run, of the same model.
    features : sequence of str, optional
        Parameters to show, as in coordinate ``feature``: all, or the 42 strongest of the first posterior.
    axes : sequence of Axes, optional
        Where to draw, one for each parameter.

    Returns
    -------
    (n_features,) array of Axes

    Raises
    ------
    OptionError
        If a parameter is unknown to one of the posteriors, or ``axes`` are too few.
    """
    PANELS.check("axes", axes)
    optional(Rule("a list of parameters", are_texts)).check("features", features)
    if isinstance(trees, Mapping) and not trees:
        raise OptionError(option="trees", got=trees, expected="a posterior, or a mapping with at least one")
    posteriors = trees if isinstance(trees, Mapping) and "posterior" not in trees else {"": trees}
    summaries = {name: parameters(t) for name, t in posteriors.items()}
    first = next(iter(summaries.values()))
    strong = set(first.table["mean"].abs().nlargest(_MOST_PANELS).index)
    wanted = [f for f in first.table.index if f in strong] if features is None else list(features)
    for name, s in summaries.items():
        unknown = next((f for f in wanted if f not in s.table.index), None)
        if unknown is not None:
            raise OptionError(
                f"features must be parameters of the posterior; {name or 'it'} has no parameter {unknown!r}."
            )
    panels = _panels(len(wanted)) if axes is None else list(axes)
    if len(panels) < len(wanted):
        raise OptionError(
            option="axes", got=len(panels), expected=f"at least {len(wanted)} axes, one for each parameter"
        )
    panels = panels[: len(wanted)]
    for feature, title, ax in zip(wanted, _titles(first.table["label"][wanted].tolist()), panels, strict=True):
        _marginal(summaries, feature, title, ax)
    if axes is None and panels:
        few = "" if len(wanted) == len(first.table) else f" ({len(wanted)} of {len(first.table):,})"
        _finish(panels, list(summaries), few.replace(" of", " strongest of") if features is None else few)
    return np.array(panels, dtype=object)


def _explain(ax: Axes, summary: ParameterSummary, below: bool) -> None:
    """Add the legend of `plot_parameters`, with the kinds of parameters that exist."""
    from matplotlib.lines import Line2D

    kinds = [(True, summary.terms.edge, COLOURS[0]), (False, summary.terms.node, COLOURS[1])]
    handles = [Line2D([], [], color=c, marker="o", markersize=4.5, label=name) for part, name, c in kinds
               if (summary.table["is_edge"] == part).any()]  # fmt: skip
    hollow: dict[str, Any] = {"marker": "o", "markersize": 4.5, "markerfacecolor": "white"}
    handles.append(Line2D([], [], color=GREY, linewidth=2, **hollow, label="interval contains zero"))
    legend_of(ax, 3, below, handles=handles)


def _panels(n: int) -> list[Axes]:
    from matplotlib.figure import Figure

    columns = n if n <= _COLUMNS else min(range(_COLUMNS, 3, -1), key=lambda c: -n % c)  # few empty panels
    rows = -(-n // columns)
    figure = Figure(figsize=(max(3.8, 1.4 * columns), 1.25 * rows + 0.6), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in grid[n:]:
        spare.remove()
    return list(grid[:n])


def _titles(labels: Sequence[str]) -> list[str]:
    """Make the titles of panels; long ones have the ends of an edge below each other, without shared first words."""
    parts = [[label] if len(label) <= _LINE else label.split(" – ", 1) for label in labels]
    every = [part for label in parts for part in label]
    short = dict(zip(every, short_names(every, _LINE), strict=True))
    return [" –\n".join(short[part] for part in label) for label in parts]


def _marginal(summaries: Mapping[str, ParameterSummary], feature: str, title: str, ax: Axes) -> None:
    axes(ax, (1, 1))
    draws = [s.draws_of(feature) for s in summaries.values()]
    ends = np.array([np.quantile(d, [0.001, 0.999]) for d in draws])
    (low, high), room = ends[0], _WIDEST * max(np.ptp(ends[0]), 1e-9)
    low, high = max(ends[:, 0].min(), low - room), min(ends[:, 1].max(), high + room)
    margin = 0.08 * max(high - low, 0.1 * abs(low), 1e-9)  # equal draws, too, have ticks that differ
    at = np.linspace(low - margin, high + margin, _GRID)
    for i, (name, d) in enumerate(zip(summaries, draws, strict=True)):
        density = _density(d, at)
        colour = _LINES[i % len(_LINES)]
        if i == 0 and len(draws) > 1:
            ax.fill_between(at, density, color=PALE, alpha=0.5, linewidth=0, zorder=1)
        ax.plot(at, density, color=colour, linestyle=_STYLES[i % len(_STYLES)], linewidth=1.3, label=name, zorder=2 + i)
    if at[0] < 0 < at[-1]:
        ax.axvline(0, color=GREY, linewidth=0.6, zorder=0)
    ax.set_xlim(at[0], at[-1])
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=3)
    ax.tick_params(axis="x", labelsize=7)
    ax.set_title(shown(title, None, keep="\n"), fontsize=8, color=INK, pad=3, parse_math=False)


def _density(draws: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Estimate a density on an even grid by a Gaussian kernel with Silverman's rule, from binned draws."""
    from scipy.ndimage import gaussian_filter1d
    from scipy.stats import iqr

    step = at[1] - at[0]
    spread = min(float(draws.std()), float(iqr(draws)) / 1.349) or float(draws.std())
    width = max(0.9 * spread * len(draws) ** -0.2, step)
    pad = int(np.ceil(4 * width / step))  # draws just outside contribute
    edges = at[0] + step * (np.arange(-pad, len(at) + pad + 1) - 0.5)
    counts = np.histogram(draws, edges)[0] / (len(draws) * step)
    return gaussian_filter1d(counts, width / step, mode="constant")[pad : pad + len(at)]


def _finish(panels: list[Axes], names: list[str], few: str) -> None:
    """Add the label and legend of the whole figure."""
    figure = panels[0].get_figure(root=True)
    assert figure is not None
    label = wrap(f"value of the parameter{few}; height: posterior density", int(_LETTERS * figure.get_figwidth()))
    figure.supxlabel("\n".join(label), fontsize=9, color=INK)
    if len(names) > 1:
        legend = figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside upper left",
            ncols=min(len(names), 4),
            frameon=False,
            fontsize=9,
            handlelength=3.2,
        )
        as_text(legend)
