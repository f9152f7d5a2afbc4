"""Figures 1 to 8 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.stats import norm

from papers.store import Record

from . import hidden_units, measures, words
from .common import CV, LAPLACE, MORE, TRUTH
from .hidden_units import TRUE_UNITS
from .words import PARAMETERS, SLICES

# Colour-blind safe colours (Okabe and Ito).
COLOURS = {
    TRUTH: "#000000",
    "laplace": "#0072b2",
    "laplace0": "#56b4e9",
    "map": "#d55e00",
    "bic": "#e69f00",
    "harmonic-1": "#d55e00",
    "harmonic-4": "#e69f00",
    "bridge-geometric": "#009e73",
    "bridge-optimal": "#cc79a7",
    "dic": "#999999",
    CV: "#d55e00",
}
POINT = ("laplace0", "laplace", "map", "bic", TRUTH)
DRAWN = (LAPLACE, "harmonic-1", "harmonic-4", "bridge-geometric", "bridge-optimal", f"bridge-geometric{MORE}",
         f"bridge-optimal{MORE}", "dic", TRUTH)  # fmt: skip
NEAR = (TRUTH, "laplace", "laplace0", "harmonic-1", "harmonic-4")  # are always in the frame
_SHOWN = 6  # parameters in figure 5


def example(records: list[Record]) -> Figure | None:
    """Figure 1: log evidence and cross-validated log likelihood of the first machine, at its largest data."""
    table = hidden_units.rows(records)
    table = table[table["replicate"] == table["replicate"].min()]
    sizes = table[table["method"] == LAPLACE].groupby("n")["k"].nunique()
    if sizes.empty:
        return None
    n = int(sizes[sizes == sizes.max()].index.max())
    figure = Figure(figsize=(4.6, 5), layout="constrained")
    for axes, method in zip(figure.subplots(2, 1, sharex=True), (LAPLACE, CV), strict=True):
        mine = table[(table["method"] == method) & (table["n"] == n)].sort_values("k")
        if mine.empty:
            continue
        error = mine["sd_over_folds"] if method == CV else None
        axes.errorbar(mine["k"], mine["score"] / n, error, fmt="o-", ms=3, capsize=2, color=COLOURS[method])
        axes.axvline(TRUE_UNITS, color="#999999", lw=0.8)
        if method == LAPLACE:
            # One hidden unit is far below: only the neighbourhood of the best is shown.
            top, low = mine["score"].max() / n, mine["score"].sort_values().iloc[len(mine) // 3] / n
            axes.set_ylim(low - 0.5 * (top - low), top + 0.2 * (top - low))
        axes.set_ylabel("log evidence / N" if method == LAPLACE else "log likelihood of an\nobservation left out")
    figure.axes[0].set_title(f"first machine, N = {n:,}; bars: one sd over folds")
    figure.axes[1].set_xlabel("hidden units")
    return figure


def chosen(records: list[Record]) -> Figure | None:
    """Figure 2: number of hidden units chosen, mean and sd over machines."""
    table = measures.of_units(records)
    if table.empty:
        return None
    figure = Figure(figsize=(5, 3.4), layout="constrained")
    axes = figure.subplots()
    for method, shift in ((LAPLACE, 0.94), (CV, 1.06), (TRUTH, 1.0)):
        mine = table[table["method"] == method]
        if mine.empty:
            continue
        numbers = mine.groupby("n")["chosen"].agg(["mean", "std", "size"])
        label = f"{method} (machines: {', '.join(map(str, sorted(set(numbers['size']))))})"
        axes.errorbar(numbers.index * shift, numbers["mean"], numbers["std"].fillna(0), fmt="o-", ms=4, capsize=3,
                      color=COLOURS[method], label=label)  # fmt: skip
    axes.axhline(TRUE_UNITS, color="#999999", lw=0.8)
    axes.set(xscale="log", xlabel="observations", ylabel="hidden units chosen")
    axes.legend(frameon=False)
    return figure


def evidence(records: list[Record], curve: str) -> Figure | None:
    """Plot figures 4, 6 and 7: log evidence per document, methods at a mode above, those from draws below.

    Means over subsets: of AIS over all, and of the distances from it for the other methods, which may have been run on
    fewer. Methods far away are outside the frame, as in the paper.
    """
    table = measures.curves(words.rows(records)).get(curve)
    if table is None:
        return None
    axis = "n" if curve == measures.DOCUMENTS else "k"
    score = table["log_evidence"] / table["n"]
    truth = score[table["method"] == TRUTH].groupby(table[axis]).mean().reindex(table[axis])
    table = table.assign(score=(table["away"] + truth.to_numpy()).fillna(score))
    figure = Figure(figsize=(9.5, 3.9), layout="constrained")
    for axes, methods in zip(figure.subplots(1, 2), (POINT, DRAWN), strict=True):
        _lines(axes, table, axis, methods)
        axes.set_xlabel("documents" if axis == "n" else "hidden units")
        axes.legend(frameon=False, fontsize=6.5)
        if axis == "n":
            axes.set_xscale("log")
        near = table[table["method"].isin(methods) & table["method"].isin(NEAR)]["score"].dropna()
        if len(near):
            low, high = near.min(), near.max()
            axes.set_ylim(low - 0.8 * (high - low), high + 0.3 * (high - low))
        if axis == "k":
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.axes[0].set_ylabel("log evidence of a document")
    return figure


def distance(records: list[Record], curve: str) -> Figure | None:
    """Plot the distances from AIS on a scale that shows all methods; filled points are above AIS."""
    table = measures.curves(words.rows(records)).get(curve)
    if table is None or table["away"].isna().all():
        return None
    axis = "n" if curve == measures.DOCUMENTS else "k"
    figure = Figure(figsize=(6.5, 4.2), layout="constrained")
    axes = figure.subplots()
    names = [m for m in (*POINT[:-1], *DRAWN[1:-1]) if m in set(table["method"])]
    for method in names:
        mine = table[table["method"] == method].groupby(axis)["away"].mean().dropna()
        style = dict(
            color=COLOURS[method.rstrip(MORE)],
            ls=":" if method.endswith(MORE) else "--" if method in DRAWN[1:] else "-",
            lw=1,
        )
        axes.plot(mine.index, mine.abs(), label=method, **style)
        for side, face in ((mine > 0, style["color"]), (mine <= 0, "white")):
            axes.plot(mine.index[side], mine.abs()[side], "o", ms=4, mfc=face, mec=style["color"])
    axes.set(yscale="log", xlabel="documents" if axis == "n" else "hidden units",
             ylabel="|distance from AIS|, nats a document", title="filled: above AIS; open: below")  # fmt: skip
    if axis == "n":
        axes.set_xscale("log")
    axes.legend(frameon=False, fontsize=6.5, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def slices(records: list[Record]) -> Figure | None:
    """Figure 3: the posterior along flat directions of the first subset, Laplace's normal, and the trapezoid."""
    record = next((r for r in records if r["cell"][3] == SLICES), None)
    if record is None:
        return None
    figure = Figure(figsize=(9.5, 3), layout="constrained")
    shown = record["slices"]
    for axes, one in zip(figure.subplots(1, len(shown), sharey=True), shown, strict=True):
        t, left, right = np.array(one["t"]), one["left"], one["right"]
        axes.plot(t, one["density"], color=COLOURS[TRUTH], label="posterior")
        axes.plot(t, np.exp(-0.5 * one["eigenvalue"] * t**2), "--", color=COLOURS["laplace0"], label="normal")
        # Its sides, from the density of the mode to 0, have their middles at the two ends.
        corners = [1.5 * left, 0.5 * left, 0.5 * right, 1.5 * right]
        axes.plot(corners, [0, 1, 1, 0], color=COLOURS["bridge-optimal"], label="trapezoid")
        axes.set(xlabel="distance from the mode", title=f"eigenvalue {one['eigenvalue']:.2g}")
    figure.axes[0].set_ylabel("density / density of the mode")
    figure.axes[0].legend(frameon=False, fontsize=7)
    return figure


def histograms(records: list[Record]) -> Figure | None:
    """Figure 5: parameters at one mode."""
    record = next((r for r in records if r["cell"][3] == PARAMETERS), None)
    if record is None:
        return None
    shown = np.linspace(0, len(record["low"]) - 1, _SHOWN).astype(int)
    figure = Figure(figsize=(9.5, 4.6), layout="constrained")
    for axes, i in zip(figure.subplots(2, _SHOWN // 2).ravel(), shown, strict=True):
        ends = np.linspace(record["low"][i], record["high"][i], len(record["hmc"]["counts"][i]) + 1)
        for name, colour in (("hmc", "#cc79a7"), ("langevin", "#d55e00")):
            counts = np.array(record[name]["counts"][i])
            axes.stairs(counts / counts.sum() / np.diff(ends), ends, color=colour, label=name)
        x = np.linspace(ends[0], ends[-1], 200)
        axes.plot(x, norm.pdf(x, record["laplace"]["mean"][i], record["laplace"]["sd"][i]), color=COLOURS[LAPLACE],
                  label=LAPLACE)  # fmt: skip
        axes.set(yticks=[], xlabel=f"parameter {i}")
    figure.axes[0].legend(frameon=False, fontsize=7)
    _, n, k, _ = record["cell"]
    figure.suptitle(f"{n} documents, {k} hidden units")
    return figure


def folds(records: list[Record]) -> Figure | None:
    """Figure 8: cross-validated log likelihood of a document, mean and sd over folds."""
    table = measures.curves(words.rows(records)).get(measures.UNITS)
    if table is None or CV not in set(table["method"]):
        return None
    mine = table[(table["method"] == CV) & (table["replicate"] == table["replicate"].min())].sort_values("k")
    figure = Figure(figsize=(4.6, 3), layout="constrained")
    axes = figure.subplots()
    axes.errorbar(mine["k"], mine["log_evidence"] / mine["n"], mine["sd_over_folds"], fmt="o-", ms=3, capsize=3,
                  color=COLOURS[CV])  # fmt: skip
    axes.set(xlabel="hidden units", ylabel="log likelihood of a document left out", title="bars: one sd over folds")
    return figure


def _lines(axes: Axes, table: pd.DataFrame, axis: str, methods: Iterable[str]) -> None:
    for method in [m for m in methods if m in set(table["method"])]:
        mine = table[table["method"] == method].groupby(axis)["score"].agg(["mean", "std"]).dropna(subset=["mean"])
        style = "--" if method == TRUTH else ":" if method.endswith(MORE) else "-"
        axes.plot(mine.index, mine["mean"], style, marker=".", ms=4, lw=1.2, color=COLOURS[method.rstrip(MORE)],
                  label=method)  # fmt: skip


FIGURES: dict[str, dict[str, Callable[[list[Record]], Figure | None]]] = {
    "hidden-units": {"-1-example": example, "-2-chosen": chosen},
    "five-words": {
        "-3-slices": slices,
        "-4-documents": partial(evidence, curve=measures.DOCUMENTS),
        "-4-distance": partial(distance, curve=measures.DOCUMENTS),
        "-5-parameters": histograms,
        "-6-units": partial(evidence, curve=measures.UNITS),
        "-6-distance": partial(distance, curve=measures.UNITS),
        "-8-folds": folds,
    },
    "full": {
        "-7-units": partial(evidence, curve=measures.UNITS),
        "-7-distance": partial(distance, curve=measures.UNITS),
        "-8-folds": folds,
    },
}
