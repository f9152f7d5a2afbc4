"""Figures as in the paper: histograms (1), fractions near the truth (2), posterior of sigma (3); and coverage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.store import Record

from . import artificial, coronary, coverage, labels

# Colour-blind safe colours (Okabe and Ito), and the paper's line styles.
LOOKS = {
    "exact": ("#0072b2", "-"),
    "loopy": ("#cc79a7", "--"),
    "brief": ("#d55e00", ":"),
    "mean-field": ("#000000", "-."),
    "tree": ("#009e73", "-."),
    "loopy-walk": ("#999999", "-"),
    "exchange": ("#0072b2", "-"),
    "loopy-zero": ("#882255", "--"),
    "loopy-ratio": ("#56b4e9", "--"),
    "loopy-langevin": ("#e69f00", ":"),
    "samples": ("#f0e442", ":"),
    "samples-reused": ("#999999", ":"),
}

SCALES = {
    "brief": "brief Langevin",
    "loopy-zero": "loopy, messages from 0",
    "loopy": "loopy, messages from 1",
    "exchange": "exchange",
}


def parameters(records: list[Record]) -> Figure:
    """Figure 1: marginal density of each parameter, biases on the diagonal."""
    figure = Figure(figsize=(11, 8.5), layout="constrained")
    grid = figure.subplots(6, 6)
    names = records[0]["features"]
    nodes = names[-6:]
    for i in range(6):
        for j in range(6):
            axes = grid[i, j]
            if j < i:
                axes.set_axis_off()
                continue
            name = nodes[i] if i == j else f"{nodes[i]}-{nodes[j]}"
            shown = ["exact", "loopy", "brief"]
            shown += {"A": ["mean-field"], "A-B": ["tree"]}.get(name, [])  # once each, as in the paper
            for method in shown:
                _density(axes, [r for r in records if r["cell"][1] == method], names.index(name), method)
                if method == shown[0]:
                    top = axes.get_ylim()[1]
            axes.set_ylim(0, 1.2 * top)  # a stuck chain would hide the others
            axes.set_title(f"$b_{{{nodes[i]}}}$" if i == j else f"$W_{{{nodes[i]}{nodes[j]}}}$", pad=2)
            axes.set_yticks([])
            axes.spines["left"].set_visible(False)
            axes.tick_params(labelsize=6, pad=1)
    present = [m for m in ("exact", "mean-field", "tree", "loopy", "brief") if any(r["cell"][1] == m for r in records)]
    handles = [mpl.lines.Line2D([], [], color=LOOKS[m][0], ls=LOOKS[m][1], label=m) for m in present]
    grid[4, 0].legend(handles=handles, loc="center", frameon=False, fontsize=9)
    return figure


def ranges(records: list[Record]) -> Figure:
    """Plot the range of the draws against the number of iterations, and the sds against exact ones."""
    figure = Figure(figsize=(9.3, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for method in coronary.OPTIONS:
        colour, style = LOOKS[method]
        for i, r in enumerate(r for r in records if r["cell"][1] == method):
            left.plot(r["range_at"], r["range"], style, color=colour, lw=1.2, label=None if i else method)
    left.set(
        xscale="log",
        yscale="log",
        xlabel="iterations",
        ylabel="greatest less least draw",
        title="(a) range so far, mean over parameters",
    )
    left.legend(frameon=False, fontsize=7)
    away = coronary.distances(records)
    for method in away.index.unique(0) if len(away) else ():
        part = away.loc[method]
        right.plot(part["distance"], part["sd_ratio"], "o", ms=3, color=LOOKS[method][0], label=method)
    right.axhline(1, color="#999999", lw=0.8)
    right.axvline(0, color="#999999", lw=0.8)
    right.set_xscale("symlog", linthresh=1)
    right.set(yscale="log", xlabel="(mean - exact mean) / exact sd", ylabel="sd / exact sd", title="(b) each parameter")
    right.legend(frameon=False, fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def near_truth(records: list[Record]) -> Figure | None:
    """Figure 2: an example histogram, and fractions of draws within 0.1 of the truth, sorted, for each first system."""
    first = [r for r in records if "skipped" not in r and r["cell"][0] == 0 and r["cell"][2] == 1]
    sizes = sorted({r["cell"][1] for r in first})
    if not first:
        return None
    figure = Figure(figsize=(3.1 * (1 + len(sizes)), 3), layout="constrained")
    left, *rest = figure.subplots(1, 1 + len(sizes))
    for axes, n_edges in zip(rest, sizes, strict=True):
        for r in (r for r in first if r["cell"][1] == n_edges):
            colour, style = LOOKS[r["cell"][3]]
            near = np.sort(r["near"])
            axes.plot(np.arange(1, len(near) + 1), near, style, color=colour, lw=1.2, label=r["cell"][3])
        axes.set(xlabel="parameters, sorted", ylabel="fraction within 0.1 of the truth", title=f"{n_edges} edges")
        axes.legend(frameon=False, fontsize=7)
    for r in (r for r in first if r["cell"][1] == sizes[0]):
        _density(left, [r], 0, r["cell"][3])
    example = next(r for r in first if r["cell"][1] == sizes[0])
    left.axvline(example["truth"][example["shown"][0]], color="black", lw=0.8)
    left.set(xlabel=f"weight {example['shown_features'][0]}", yticks=[], title=f"an example, {sizes[0]} edges")
    return figure


def stronger(records: list[Record]) -> Figure | None:
    """Coverage, error and width against the strength of the weights."""
    table = artificial.measures(records)
    if table.empty:
        return None
    figure = Figure(figsize=(9, 2.9), layout="constrained")
    titles = {
        "coverage": "truths inside the 95 % interval",
        "error": "error of the mean, in prior sds",
        "sd": "posterior sd, in prior sds",
    }
    for axes, (measure, title) in zip(figure.subplots(1, 3), titles.items(), strict=True):
        for n_edges, marker in zip(sorted(table["edges"].unique()), "os", strict=False):
            for method in ("loopy", "brief", "exact"):
                part = table[(table["edges"] == n_edges) & (table["method"] == method)]
                means = part.groupby("scale")[measure].mean()
                if len(means):
                    label = f"{method}, {n_edges} edges"
                    colour, style = LOOKS[method]
                    axes.plot(means.index, means, style, marker=marker, ms=4, color=colour, lw=1, label=label)
        axes.set(xlabel="standard deviation of the weights", title=title)
    figure.axes[0].axhline(0.95, color="#999999", lw=0.8)
    figure.axes[0].legend(frameon=False, fontsize=6)
    return figure


def scales(records: list[Record], plan: type[labels.Labels] = labels.Labels) -> Figure:
    """Figure 3: the data, and draws of (sigma_x, sigma_y) by each method."""
    methods = [m for m in SCALES if any(r["cell"] == [0, m] for r in records)]
    figure = Figure(figsize=(3 * (1 + len(methods)), 3.1), layout="constrained")
    data, *rest = np.atleast_1d(figure.subplots(1, 1 + len(methods)))
    shown = [r for r in records if r["cell"][0] == 0]
    points, seen = plan.draw(len(next((r["cross"] for r in shown if "cross" in r), range(80))))
    for value, marker, size in ((labels.CROSS, "x", 16), (labels.RING, "o", 14), (labels.HIDDEN, ".", 8)):
        here = points[seen == value]
        face = {} if marker == "x" else {"facecolors": "none" if marker == "o" else "black"}
        data.scatter(here[:, 0], here[:, 1], marker=marker, s=size, lw=0.8, color="black", clip_on=False, **face)
    data.set(xlabel="x", ylabel="y", title=f"(a) {len(points)} points", aspect="equal")
    for axes, method, letter in zip(rest, methods, "bcde", strict=False):
        sigma = np.array(next(r["sigma"] for r in shown if r["cell"][1] == method))
        axes.scatter(sigma[:, 0], sigma[:, 1], s=3, lw=0, alpha=0.5, color=LOOKS[method][0])
        limits = (0, 10 if np.quantile(sigma, 0.75) < 10 else 40)
        axes.set(
            xlabel=r"$\sigma_x$", ylabel=r"$\sigma_y$", title=f"({letter}) {SCALES[method]}", xlim=limits, ylim=limits
        )
        axes.set_aspect("equal")
    return figure


def intervals(records: list[Record]) -> Figure | None:
    """Ratio of sds and coverage of each method, with two Monte Carlo standard errors either way."""
    table = coverage.measures(records).drop(index="reference", errors="ignore")
    if table.empty:
        return None
    figure = Figure(figsize=(9, 0.28 * len(table) + 1.1), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    place = np.arange(len(table))[::-1]
    for axes, measure, target, within in ((left, "sd_ratio", 1.0, 0.03), (right, "coverage", 0.95, 0.02)):
        axes.axvspan(target - within, target + within, color="#dddddd", lw=0)
        axes.axvline(target, color="#999999", lw=0.8)
        axes.errorbar(table[measure], place, xerr=2 * table[f"{measure}_error"], fmt="o", ms=4, lw=1, color="#0072b2")
    left.set_yticks(place, list(table.index))
    left.set(xscale="log", xlabel="sd / exact sd", title="width")
    ticks = [t for t in (0.5, 0.6, 0.8, 1, 1.25, 1.6, 2, 3) if left.get_xlim()[0] <= t <= left.get_xlim()[1]]
    left.set_xticks(ticks, [f"{t:g}" for t in ticks])
    left.minorticks_off()
    right.set(xlabel="truths inside the 95 % interval", title="coverage")
    return figure


FIGURES: dict[str, dict[str, Callable[[list[Record]], Figure | None]]] = {
    "coronary": {"": parameters, "-ranges": ranges},
    "artificial": {"": near_truth, "-stronger": stronger},
    "labels": {"": scales},
    "labels-chains": {"": partial(scales, plan=labels.Chains)},
    "coverage": {"": intervals},
    "coverage-complete": {"": intervals},
}


def _density(axes: Axes, records: list[Record], feature: int, method: str) -> None:
    """Plot the histogram of one feature over all chains of a method, as a density."""
    if not records:
        return
    low, high = (np.array([r["histogram"][k][feature] for r in records]) for k in ("low", "high"))
    counts = [np.array(r["histogram"]["counts"][feature]) for r in records]
    edges = np.linspace(low.min(), high.max(), len(counts[0]) + 1)
    total = np.zeros(len(edges) - 1)
    for a, b, c in zip(low, high, counts, strict=True):
        own = np.linspace(a, b if b > a else a + 1, len(c) + 1)
        total += np.diff(np.interp(edges, own, np.concatenate([[0], np.cumsum(c)])))
    colour, style = LOOKS[method]
    axes.plot((edges[1:] + edges[:-1]) / 2, total / total.sum() / np.diff(edges), style, color=colour, lw=1)
