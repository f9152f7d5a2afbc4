"""Figures 2 to 11 of the paper, and the reliability diagram."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.store import Record

from . import calibration, curves, data, measures
from .common import BASELINES, LEARNT, SAMPLERS

# Colour-blind safe colours (Okabe and Ito).
COLOURS = {
    "exact": "#0072b2",
    "reversible-jump": "#009e73",
    "langevin": "#d55e00",
    "wainwright-max": "#cc79a7",
    "wainwright-min": "#999999",
    "pseudo-l1": "#000000",
    "momentum 0.9": "#0072b2",
    "momentum 0": "#d55e00",
    curves.LONG: "#e69f00",
}


def momentum(records: list[Record]) -> Figure | None:
    """Figure 2: autocorrelation of two parameters, and means and sds of all, with and without momentum."""
    runs = {r["cell"][2]: r for r in records if r["cell"][2] in curves.MIXING}
    if len(runs) < 2:
        return None
    figure = Figure(figsize=(7, 5.5), layout="constrained")
    grid = figure.subplots(2, 2)
    one, other = (runs[m] for m in curves.MIXING)
    often = np.flatnonzero(np.array(one["inclusion"]) > 0.9)  # biases always are
    order = sorted(often, key=lambda i: one["time"][i])
    for axes, i in zip(grid[0], (order[len(order) // 4], order[3 * len(order) // 4]), strict=True):
        for method, record in runs.items():
            lags = curves.LAG_STEP * np.arange(len(record["correlation"][i]))
            axes.plot(lags, record["correlation"][i], color=COLOURS[method], label=method)
        axes.axhline(0, color="#999999", lw=0.8)
        axes.set(xlabel="lag, in draws (1,000 iterations each)", ylabel="autocorrelation", title=f"parameter {i}")
        axes.legend(frameon=False)
    for axes, k in zip(grid[1], ("mean", "sd"), strict=True):
        _diagonal(axes, np.array(other[k]), np.array(one[k]), COLOURS["momentum 0.9"])
        axes.set(xlabel=f"posterior {k}, momentum 0", ylabel=f"posterior {k}, momentum 0.9")
    return figure


def histograms(records: list[Record]) -> Figure | None:
    """Plot figure 3: the weights of four edges given that they exist."""
    first = [r for r in records if r["cell"][0] == 0 and r["cell"][3] == LEARNT and "counts" in r]
    sizes = sorted({r["cell"][1] for r in first})
    size = 100 if 100 in sizes else sizes[0] if sizes else None
    first = [r for r in first if r["cell"][1] == size]
    exact = next((r for r in first if r["cell"][2] == "exact"), None)
    if exact is None:
        return None
    # Edges that exist in 30 to 100 % of the draws, spread over them.
    order = np.argsort(exact["inclusion"])
    order = order[np.array(exact["inclusion"])[order] > 0.3]
    if not len(order):
        return None
    shown = order[np.linspace(0, len(order) - 1, 4).astype(int)]
    figure = Figure(figsize=(10, 3.2), layout="constrained")
    for axes, e in zip(figure.subplots(1, 4), shown, strict=True):
        for r in first:
            counts = np.array(r["counts"][e])
            if counts.sum():
                ends = np.linspace(r["low"][e], r["high"][e], len(counts) + 1)
                height = counts / counts.sum() / np.diff(ends)
                axes.stairs(height, ends, color=COLOURS[r["cell"][2]], label=r["cell"][2])
        names = "\n".join(f"{r['cell'][2]} {r['inclusion'][e]:.2f}" for r in first)
        axes.set_title(f"inclusion\n{names}", fontsize=7)
        axes.set(yticks=[], xlabel=f"weight {e}")
    figure.axes[0].legend(frameon=False, fontsize=7)
    return figure


def against_exact(records: list[Record]) -> Figure | None:
    """Figure 4: inclusion, mean and sd of every edge at every p0, n = 100."""
    table = measures.pairs_of(records, 100)
    if table.empty:
        return None
    methods = list(table["method"].unique())
    figure = Figure(figsize=(9.5, 3 * len(methods)), layout="constrained")
    grid = figure.subplots(len(methods), 3, squeeze=False)
    for method, line in zip(methods, grid, strict=True):
        mine = table[table["method"] == method]
        often = mine[(mine["inclusion"] > 0.1) & (mine["exact_inclusion"] > 0.1)]
        for axes, (k, part) in zip(line, {"inclusion": mine, "mean": often, "sd": often}.items(), strict=True):
            _diagonal(axes, part[f"exact_{k}"], part[k], COLOURS[method])
            axes.set(xlabel=f"{k}, exact", ylabel=f"{k}, {method}")
    return figure


def trace(records: list[Record]) -> Figure | None:
    """Plot the weight of the slowest-mixing edge, by Algorithm 1; 0 if it is absent."""
    record = next((r for r in records if "trace" in r), None)
    if record is None:
        return None
    figure = Figure(figsize=(9, 2.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(record["trace"], lw=0.5, color=COLOURS[curves.LONG])
    effective, inclusion = min(record["n_effective"]), record["inclusion"][record["hardest"]]
    axes.set_title(f"{effective:.0f} effective draws of its inclusion ({inclusion:.2f})")
    axes.set(xlabel="draw (100,000 iterations each)", ylabel=f"weight {record['hardest']}")
    return figure


def likelihood(records: list[Record], n: int, models: tuple[str, ...]) -> Figure | None:
    """Figures 6, 7 and 10: CLL against density, mean and sd over data sets; points have p0 learnt.

    If there is a true model its CLL is subtracted, as data sets would differ mostly by the entropy of their models.
    """
    table = _less_best(curves.rows([r for r in records if r["cell"][1] == n]))
    if table.empty:
        return None
    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axes = figure.subplots()
    for method in [m for m in models if m in set(table["method"])]:
        mine = table[table["method"] == method]
        colour, style = COLOURS[method.split(",")[0]], "--" if method.endswith("PM") else "-"
        lines = [measures.at(*measures.curve(part), measures.GRID) for _, part in mine.groupby("replicate")]
        if lines:
            # Only densities that half of the data sets have.
            values = np.ma.masked_invalid(lines)
            values[:, values.count(axis=0) < len(lines) / 2] = np.ma.masked
            mean, sd = values.mean(axis=0), values.std(axis=0)
            axes.plot(measures.GRID, mean, style, color=colour, label=method)
            axes.fill_between(measures.GRID, mean - sd, mean + sd, color=colour, alpha=0.12, lw=0)
        learnt = mine[mine["p0"] == LEARNT]
        if len(learnt):
            axes.plot(learnt["density"].mean(), learnt["cll"].mean(), "s" if style == "--" else "o", color=colour)
    top, middle = table["cll"].max(), table["cll"].median()
    axes.set_ylim(middle - 1.5 * (top - middle), top + 0.1 * (top - middle))  # Wain falls far below at the dense end
    truth = [r["true_density"] for r in records if "true_density" in r]
    if truth:
        axes.axvline(np.mean(truth), color="#999999", lw=0.8)
    axes.set(xscale="log", xlabel="density of edges", ylabel=_cll_name(table), title=f"n = {n}")
    axes.legend(frameon=False, fontsize=7)
    return figure


def recovery(records: list[Record]) -> Figure | None:
    """Figures 5 and 9: precision against recall, and CLL against F1, n = 100."""
    table = _less_best(curves.rows([r for r in records if r["cell"][1] == 100]))
    if table.empty:
        return None
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for method in [m for m in COLOURS if m in set(table["method"])]:
        colour = COLOURS[method]
        mine = table[(table["method"] == method) & (table["replicate"] == table["replicate"].min())]
        part = mine[mine["p0"] != LEARNT].sort_values("recall")
        left.plot(part["recall"], part["precision"], ".-", color=colour, lw=1, ms=3, label=method)
        every = table[(table["method"] == method) & (table["p0"] != LEARNT)]
        right.plot(every["f1"], every["cll"], ".", color=colour, ms=2, alpha=0.5)
        learnt = table[(table["method"] == method) & (table["p0"] == LEARNT)]
        left.plot(mine.loc[mine["p0"] == LEARNT, "recall"], mine.loc[mine["p0"] == LEARNT, "precision"], "o",
                  color=colour)  # fmt: skip
        right.plot(learnt["f1"], learnt["cll"], "o", color=colour, ms=6, mec="black", label=method)
    left.set(xlabel="recall", ylabel="precision", title="first data set; large points: p0 learnt")
    top, middle = table["cll"].max(), table["cll"].median()
    right.set(xlabel="F1", ylabel=_cll_name(table), title="all data sets; large points: p0 learnt",
              ylim=(middle - 1.5 * (top - middle), top + 0.1 * (top - middle)))  # fmt: skip
    left.legend(frameon=False, fontsize=7)
    return figure


def shrinkage(records: list[Record]) -> Figure | None:
    """Figure 8: weights of the true edges and of those found, at a sparse and a dense point."""
    first = [r for r in records if r["cell"][:2] == [0, 100] and r["cell"][3] != LEARNT and "true_density" in r]
    models = ("wainwright-max", "pseudo-l1", "reversible-jump, PM")
    if not first:
        return None
    figure = Figure(figsize=(10, 5), layout="constrained")
    for axes, wanted in zip(figure.subplots(2, 1), (0.03, 0.65), strict=True):
        for model in models:
            there = [row for r in first for row in r["rows"] if row["model"] == model and row["density"] > 0]
            if not there:
                continue
            row = min(there, key=lambda row: abs(np.log(row["density"] / wanted)))
            true, value = (np.abs(row["weights"][k]) for k in ("true", "value"))
            order = np.argsort(true, kind="stable")
            place = np.arange(-len(order), 0)
            axes.plot(place, value[order], ".", ms=3, color=COLOURS[model.split(",")[0]],
                      label=f"{model}, density {row['density']:.2f}")  # fmt: skip
            if model == models[0]:
                axes.plot(place, true[order], "-", color="#e69f00", label="true, of the same")
        axes.set(xlim=(-420, 5), ylabel="|weight|", xlabel="edges found by each, sorted by true weight (last 420)")
        axes.legend(frameon=False, fontsize=7)
    return figure


def images(records: list[Record]) -> Figure | None:
    """Figure 11: 36 samples of each model at the density nearest 0.2, of the largest data."""
    n = max((r["cell"][1] for r in records), default=0)
    mine = [row for r in records if r["cell"][:2] == [0, n] for row in r.get("rows", ()) if "images" in row]
    if not mine:
        return None
    models = sorted({row["model"] for row in mine})
    figure = Figure(figsize=(2.1 * len(models), 2.9), layout="constrained")
    for axes, model in zip(figure.subplots(1, len(models), squeeze=False)[0], models, strict=True):
        rows = [row for row in mine if row["model"] == model and row["density"] > 0]
        if rows:
            row = min(rows, key=lambda row: abs(np.log(row["density"] / measures.NO_TRUTH)))
            pixels = np.array([[c == "1" for c in image] for image in row["images"]])
            tiles = pixels.reshape(6, 6, data.N_ROWS, data.N_COLUMNS).astype(float)
            tiles = np.pad(tiles, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=0.5)
            axes.imshow(tiles.swapaxes(1, 2).reshape(6 * (data.N_ROWS + 1), -1), cmap="gray", interpolation="nearest")
            axes.set_title(f"{model}\ndensity {row['density']:.2f}, n = {n}", fontsize=7)
        axes.set_axis_off()
    return figure


def reliability(records: list[Record]) -> Figure | None:
    """Plot the share of pairs that are edges against inclusion, with two standard errors."""
    curve = calibration.reliability(records)
    if curve.empty:
        return None
    methods = list(curve["method"].unique())
    figure = Figure(figsize=(3.2 * len(methods), 3.2), layout="constrained")
    for axes, method in zip(figure.subplots(1, len(methods), squeeze=False)[0], methods, strict=True):
        mine = curve[curve["method"] == method]
        sets = sum(r["cell"][2:] == [method, "small"] for r in records)
        axes.plot([0, 1], [0, 1], color="#999999", lw=0.8)
        axes.errorbar(mine["inclusion"], mine["exists"], 2 * mine["error"], fmt="o", ms=4, color=COLOURS[method])
        axes.set(xlabel="inclusion", ylabel="share that exists", title=f"{method}, {sets} data sets", aspect="equal",
                 xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))  # fmt: skip
    return figure


def mistakes(records: list[Record]) -> Figure | None:
    """Plot false and missed edges of every method on the block graphs and lattices."""
    table = calibration.rows(records)
    table = table[table["part"] != "small"] if len(table) else table
    if table.empty:
        return None
    places = list(table.groupby(["part", "n"]).groups)
    figure = Figure(figsize=(3 * len(places), 5), layout="constrained")
    grid = figure.subplots(2, len(places), squeeze=False)
    for line, measure in zip(grid, ("false", "missed"), strict=True):
        for axes, (part, n) in zip(line, places, strict=True):
            here = table[(table["part"] == part) & (table["n"] == n)]
            methods = [m for m in (*SAMPLERS, *BASELINES) if m in set(here["method"])]
            for k, method in enumerate(methods):
                _points(axes, k, here.loc[here["method"] == method, measure], COLOURS[method])
            axes.set_xticks(range(len(methods)), methods, rotation=40, ha="right", fontsize=6)
            axes.set_title(f"{measure} edges: {part}, n = {n}")
            axes.set_ylim(bottom=0)
    return figure


def _less_best(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(cll=table["cll"] - table["best"].astype(float).fillna(0.0)) if len(table) else table


def _cll_name(table: pd.DataFrame) -> str:
    return "CLL less the true model's" if table["best"].notna().any() else "mean conditional log likelihood"


def _points(axes: Axes, place: int, values: pd.Series, colour: str) -> None:
    counts = values.value_counts()
    axes.scatter(np.full(len(counts), place), counts.index, s=20 + 10 * counts, color=colour, alpha=0.6, lw=0)
    axes.plot([place - 0.3, place + 0.3], [values.mean()] * 2, color="black", lw=1)


def _diagonal(axes: Axes, x: np.ndarray, y: np.ndarray, colour: str) -> None:
    both = np.array([x, y], dtype=float)
    both = both[:, np.isfinite(both).all(axis=0)]
    if both.size == 0:
        return
    low, high = both.min(), both.max()
    axes.plot([low, high], [low, high], color="#999999", lw=0.8)
    axes.plot(x, y, ".", ms=3, alpha=0.6, color=colour)


_ALL = ("langevin", "reversible-jump", "reversible-jump, PM", *BASELINES)
_BLOCK = ("exact", "exact, PM", *BASELINES)
FIGURES: dict[str, dict[str, Callable[[list[Record]], Figure | None]]] = {
    "block": {
        "-2-momentum": momentum,
        "-3-histograms": histograms,
        "-4-exact": against_exact,
        "-4-trace": trace,
        "-6-likelihood": partial(likelihood, n=100, models=_BLOCK),
        "-7-inference": partial(likelihood, n=100, models=SAMPLERS),
        "-9-recovery": recovery,
    },
    "lattice": {
        "-5-9-recovery": recovery,
        "-6-likelihood": partial(likelihood, n=100, models=_ALL),
        "-8-shrinkage": shrinkage,
    },
    "mnist": {
        "-10-100": partial(likelihood, n=100, models=_ALL),
        "-10-1000": partial(likelihood, n=1000, models=_ALL),
        "-11-images": images,
    },
    "calibration": {"-reliability": reliability, "-mistakes": mistakes},
}
