"""Figures as in the paper: error, likelihood and VI difference (1, 4, 5), number of groups and run time (2, 3, 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from papers.shown import Makers
from papers.store import Record

from .common import METHODS, STRUCTURE_METHODS
from .experiments import FULL
from .published import SECONDS, SENATE
from .simulations import Simulation

COLOURS = dict(zip(METHODS, ["#666666", "#000000", "#0072b2", "#009e73", "#d55e00", "#0072b2"], strict=False))
MARKERS = dict(zip(METHODS, "so^vD^", strict=False))
COLOURS["particle"], MARKERS["particle"] = "#cc79a7", "P"
COLOURS |= dict(zip(STRUCTURE_METHODS, ["#009e73", "#cc79a7", "#d55e00", "#e69f00", "#0072b2", "#000000", "#888888",
                                        "#cc79a7"], strict=True))  # fmt: skip
MARKERS |= dict(zip(STRUCTURE_METHODS, "^PvDosx*", strict=True))


def measures(plan: Simulation, rows: pd.DataFrame) -> Figure:
    """Error, likelihood of test data and VI difference against the number of training samples, with standard errors."""
    figure = Figure(figsize=(9.5, 3.1), layout="constrained")
    error, likelihood, vi = figure.subplots(1, 3)
    _lines(error, rows, "error")
    error.set(ylabel="mean absolute error", title="(a) error of estimate")
    if error.get_xscale() == "log":
        error.set_yscale("log")
    else:
        error.set_ylim(0, None)
    oracle = rows[rows["method"] == "oracle"].set_index(["replicate", "n"])["log_likelihood"]
    place = pd.MultiIndex.from_frame(rows[["replicate", "n"]])
    relative = rows.assign(log_likelihood=rows["log_likelihood"].to_numpy() - oracle.reindex(place).to_numpy())
    _lines(likelihood, relative, "log_likelihood")
    kind = "pseudo-" if plan.n_sweeps else ""
    likelihood.set(ylabel=f"log {kind}likelihood, less the oracle's", title=f"(b) log {kind}likelihood of test data")
    _lines(vi, rows, "vi_difference")
    vi.set(ylabel="VI difference (nats)", title="(c) grouping against random")
    error.legend(frameon=False)
    return figure


def groups(plan: Simulation, rows: pd.DataFrame, published: Mapping[str, Mapping[int, float]]) -> Figure:
    """Boxplots over replicates of the mean number of groups, and run times."""
    methods = [m for m in METHODS if m in plan.bayes and m in set(rows["method"])]
    figure = Figure(figsize=(2.7 * (len(methods) + 1) + 1.8, 3.1), layout="constrained")
    *boxes, clock = np.atleast_1d(figure.subplots(1, len(methods) + 1))
    points = sorted(rows["n"].unique())
    top = rows["n_groups"].max() * 1.05
    for axes, method in zip(boxes, methods, strict=True):
        part = rows[rows["method"] == method]
        found = [part.loc[part["n"] == n, "n_groups"] for n in points]
        colour = {"color": COLOURS[method]}
        axes.boxplot(found, tick_labels=[str(n) for n in points], medianprops=colour, flierprops={"ms": 3})
        axes.axhline(plan.n_groups, color="#999999", lw=1, ls=":")
        axes.tick_params(axis="x", rotation=90 if len(points) > 5 else 0)
        title = f"groups found by {method}\n(dotted: truth)"
        axes.set(
            xlabel="training samples n", ylabel="number of groups", title=title, ylim=(0, max(top, plan.n_groups * 1.2))
        )
    _lines(clock, rows, "seconds")
    for method, times in published.items():
        clock.plot(
            list(times), list(times.values()), ls="none", marker="x", color=COLOURS[method], label=f"{method}, paper"
        )
    clock.set(yscale="log", ylabel="seconds of one core", title="run time")
    clock.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1.1))
    return figure


def gains(rows: pd.DataFrame) -> Figure:
    """Plot the gain of grouping in log pseudo-likelihood over maximum likelihood, on training and test votes."""
    figure = Figure(figsize=(7.5, 3), layout="constrained")
    for axes, session in zip(figure.subplots(1, 2, sharey=True), (1, 2), strict=True):
        part = rows[rows["session"] == session].groupby("method")[["lpl_train", "lpl_test"]].mean()
        suffixed = part[part.index.str.endswith("-fields")]
        table = {"ours": part, "ours, with fields": suffixed.rename(index=lambda m: m.removesuffix("-fields"))}
        table["paper"] = pd.DataFrame(SENATE[session]).T
        for i, (whose, values) in enumerate(table.items()):
            if {"mle", "stripped-beta"} <= set(values.index):
                gain = values.loc["stripped-beta"] - values.loc["mle"]
                heights = [gain["lpl_train"], gain["lpl_test"]]
                place = np.arange(2) + 0.27 * (i - 1)
                bars = axes.bar(place, heights, 0.25, label=whose, color=["#0072b2", "#56b4e9", "#999999"][i])
                axes.bar_label(bars, fmt="%.0f", fontsize=7)
        axes.axhline(0, color="black", lw=0.8)
        axes.set_xticks([0, 1], [f"train (session {session})", f"test (session {3 - session})"])
        axes.set_title(f"trained on session {session}")
        axes.margins(y=0.12)
    figure.axes[0].set_ylabel("log pseudo-likelihood,\nstripped-beta less mle")
    figure.axes[0].legend(frameon=False)
    return figure


def blocks(rows: pd.DataFrame) -> Figure:
    """Structure, groups, values and prediction against the number of training samples, with standard errors."""
    figure = Figure(figsize=(11.5, 3.1), layout="constrained")
    panels = {
        "f1": ("F1 of edges", "(a) edges"),
        "vi": ("VI to the truth (nats)", "(b) groups, no edge being one"),
        "error": ("mean absolute error", "(c) agreement of all pairs"),
        "lpl_test": ("log pseudo-likelihood, less the truth's", "(d) test data"),
    }
    for axes, (measure, (label, title)) in zip(figure.subplots(1, 4), panels.items(), strict=True):
        _lines(axes, rows, measure)
        axes.set(ylabel=label, title=title, xscale="log")
        points = sorted(rows["n"].unique())
        axes.set_xticks(points, map(str, points))
        axes.minorticks_off()
    figure.axes[-1].set_yscale("symlog", linthresh=10)
    figure.axes[-1].legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def votes(rows: pd.DataFrame) -> Figure:
    """Plot the log pseudo-likelihood of the votes of the other session, and numbers of edges and groups."""
    figure = Figure(figsize=(9.5, 3.4), layout="constrained")
    panels = {"lpl_test": "log pseudo-likelihood of test votes", "n_edges": "edges", "n_groups": "groups"}
    for axes, (measure, label) in zip(figure.subplots(1, 3, sharey=True), panels.items(), strict=True):
        for session, part in rows.groupby("session"):
            means = part.groupby("method")[measure].mean()
            present = [m for m in STRUCTURE_METHODS if m in means.index]
            axes.plot(means[present], present, "os"[session - 1], label=f"trained on session {session}")
        axes.set(xlabel=label)
        axes.grid(axis="y", lw=0.4)
        axes.locator_params(axis="x", nbins=4)
    figure.axes[0].invert_yaxis()
    figure.axes[0].legend(frameon=False)
    return figure


def _lines(axes: Axes, rows: pd.DataFrame, measure: str) -> None:
    for method in MARKERS:
        table = rows[(rows["method"] == method) & rows[measure].notna()].groupby("n")[measure].agg(["mean", "sem"])
        if len(table):
            look, sem = f"-{MARKERS[method]}", table["sem"].fillna(0)
            style = {"color": COLOURS[method], "lw": 1, "ms": 4, "label": method}
            axes.errorbar(table.index, table["mean"], sem, None, look, **style)
    wide = rows["n"].max() > 20 * rows["n"].min()
    axes.set(xlabel="training samples n", xscale="log" if wide else "linear")


def _of(name: str, make: Callable[..., Figure], *first: object) -> Callable[[list[Record]], Figure]:
    return lambda records: make(*first, FULL[name].rows(records))


def _simulation(name: str) -> Makers:
    plan = FULL[name]
    assert isinstance(plan, Simulation)
    return {"": _of(name, measures, plan), "-groups": _of(name, partial(groups, published=SECONDS.get(name, {})), plan)}


FIGURES: dict[str, Makers] = {
    **{name: _simulation(name) for name, plan in FULL.items() if isinstance(plan, Simulation)},
    "senate": {"": _of("senate", gains)},
    "structure": {"": _of("structure", blocks)},
    "structure-senate": {"": _of("structure-senate", votes)},
}
