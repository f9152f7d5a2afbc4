"""Measures for the findings: the distance of each method from AIS, and the number of hidden units chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from papers.store import Record

from . import hidden_units, words
from .common import BETTER, CV, TRUTH

DOCUMENTS, UNITS = "documents", "units"  # what varies along a curve
EITHER = "laplace or laplace0"
MANY = 7  # hidden units from which on they are many
LEAST = {CV: 8}  # candidates among which a method chooses, where not all of them were run
FEW = 50  # documents up to which they are few
_OTHER = (TRUTH, CV, "dic")  # not estimates of the evidence, or the reference itself


def of_words(records: list[Record]) -> pd.DataFrame:
    """Return one row per subset, curve and method, one per sampler of figure 5, and one per integral of figure 3.

    ``away`` is the mean distance from AIS in nats per document, ``worst`` the largest, ``highest`` the largest signed
    one, ``few`` the mean up to 50 documents, ``first`` and ``last`` the signed ones at the ends, ``closest`` the share
    of points at which no other method is nearer to AIS (over subsets with all methods), ``above_laplace0`` the mean of
    log evidence minus that of laplace0 (nats, from 7 hidden units on); for cross-validation ``range`` is the range of
    means over numbers of hidden units, in sds over folds. ``integral_ratio`` is the integral along the direction of
    least curvature of the normal (laplace0) or the trapezoid (laplace), to that of the posterior.
    """
    table = words.rows(records)
    found: list[dict[str, Any]] = []
    for name, curve in curves(table).items():
        axis = "n" if name == DOCUMENTS else "k"
        for replicate, one in curve.groupby("replicate"):
            about = {"replicate": replicate, "curve": name}
            winners = _winners(one, axis, set(curve["method"]))
            found += [
                about | {"method": method} | _distances(mine.sort_values(axis), one, axis, method, winners)
                for method, mine in one.groupby("method", sort=False)
                if method != TRUTH
            ]
            if len(winners):
                found.append(about | {"method": EITHER, "closest": winners.isin(BETTER).mean()})
    return pd.DataFrame([*found, *_modes(records), *_slices(records)])


def curves(table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the points with 3 hidden units (figure 4), and those with 100 documents (figures 6 to 8)."""
    if table.empty:
        return {}
    found = {}
    usual = table.groupby("k")["n"].nunique()
    if usual.max() > 1:
        found[DOCUMENTS] = table[table["k"] == usual.idxmax()]
    usual = table.groupby("n")["k"].nunique()
    if usual.max() > 1:
        found[UNITS] = table[table["n"] == usual.idxmax()]
    return found


def _winners(one: pd.DataFrame, axis: str, methods: set[str]) -> pd.Series:
    """Return the method nearest to AIS at each point; none for a subset on which not all rivals were run."""
    rivals = one[~one["method"].isin(_OTHER)].dropna(subset=["away"])
    if rivals.empty or not methods - {*_OTHER} <= set(rivals["method"]):
        return pd.Series(dtype=object)
    return rivals.loc[rivals["away"].abs().groupby(rivals[axis]).idxmin()].set_index(axis)["method"]


def _distances(mine: pd.DataFrame, one: pd.DataFrame, axis: str, method: str, winners: pd.Series) -> dict[str, float]:
    out: dict[str, float] = {}
    away = mine.dropna(subset=["away"])
    if len(away):
        size = away["away"].abs()
        out |= {"away": size.mean(), "worst": size.max(), "highest": away["away"].max()}
        out |= {"first": away["away"].iloc[0], "last": away["away"].iloc[-1], "points": len(away)}
        if axis == "n" and (away["n"] <= FEW).any():
            out["few"] = size[away["n"] <= FEW].mean()
        if method not in _OTHER and len(winners):
            out["closest"] = (winners == method).mean()
    if axis == "k":
        plain = one[one["method"] == "laplace0"].set_index("k")["log_evidence"]
        gain = mine.set_index("k")["log_evidence"] - plain
        gain = gain[gain.index >= MANY].dropna()
        if method not in _OTHER and len(gain):
            out["above_laplace0"] = gain.mean()
        if method == CV and len(mine) > 1:
            score = mine["log_evidence"] / mine["n"]
            out["range"] = np.ptp(score) / mine["sd_over_folds"].mean()
    return out


def _modes(records: list[Record]) -> list[dict[str, Any]]:
    """Return, for figure 5, the largest and median distance of means from those of HMC (sds), and median sd ratio."""
    found = []
    for record in records:
        if record["cell"][3] != words.PARAMETERS:
            continue
        exact = {k: np.array(record["hmc"][k]) for k in ("mean", "sd")}
        for method in ("langevin", "laplace"):
            mine = {k: np.array(record[method][k]) for k in ("mean", "sd")}
            shift = np.abs(mine["mean"] - exact["mean"]) / exact["sd"]
            about = {"replicate": record["cell"][0], "curve": "parameters", "method": method}
            ratio = mine["sd"] / exact["sd"]
            found.append(about | {"shift": np.median(shift), "worst_shift": shift.max(), "sd_ratio": np.median(ratio)})
    return found


def _slices(records: list[Record]) -> list[dict[str, Any]]:
    found = []
    for record in records:
        for one in record.get("slices", ())[:1]:
            for method, integral in (("laplace0", one["normal"]), ("laplace", one["trapezoid"])):
                about = {"replicate": record["cell"][0], "curve": words.SLICES, "method": method}
                found.append(about | {"integral_ratio": np.nan if integral is None else integral / one["posterior"]})
    return found


def of_units(records: list[Record]) -> pd.DataFrame:
    """Return one row per machine, size of data and method: of all candidates (`LEAST`), if they have been run.

    ``chosen`` is the number of hidden units with the highest score, ``rise`` how much larger it is than with the
    smallest data, ``within`` the share of candidates whose score is within one sd (over folds) of the best.
    """
    table = hidden_units.rows(records)
    if table.empty:
        return table
    candidates = sorted(table["k"].unique())
    found: list[dict[str, Any]] = []
    for (replicate, n, method), mine in table.groupby(["replicate", "n", "method"], sort=False):
        least = set(candidates[: LEAST.get(method)])
        score = mine[mine["k"].isin(least)].dropna(subset=["score"])
        if not least <= set(score["k"]):
            continue
        best = score.loc[score["score"].idxmax()]
        about = {"replicate": replicate, "n": n, "method": method, "chosen": int(best["k"])}
        if method == CV:
            away = (best["score"] - score["score"]) / n
            about["within"] = (away <= best["sd_over_folds"]).mean()
        found.append(about | {"seconds": mine["seconds"].sum()})
    out = pd.DataFrame(found)
    if len(out):
        first = out[out["n"] == out["n"].min()].set_index(["replicate", "method"])["chosen"]
        place = pd.MultiIndex.from_frame(out[["replicate", "method"]])
        out["rise"] = out["chosen"] - first.reindex(place).to_numpy()
    return out
