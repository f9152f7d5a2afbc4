"""Measures for the findings: of each method on each data set, features of its curve over densities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from papers.store import Record

from . import curves
from .common import LEARNT, PATH

NO_TRUTH = 0.2  # without a truth: the density of figure 11
APPROXIMATE = ("reversible-jump", "langevin", curves.LONG)
SPARSE, DENSE = 0.5, 0.7  # half of the true density; a share of all candidates
GRID = np.geomspace(0.01, 0.95, 40)  # densities at which two curves are compared


def of_curves(records: list[Record]) -> pd.DataFrame:
    """Return one row per replicate, size of data and model.

    ``learnt``: p0 with its prior; the others are of the curve over fixed p0, or over the path of penalties. ``peak`` is
    the largest conditional log likelihood (CLL), ``sparse_loss`` and ``dense_loss`` the decrease from there to half the
    true density and to density 0.7, ``share_above`` the share of common densities at which the curve is above that of
    pseudo-l1.
    """
    table = curves.rows(records)
    found: list[dict[str, Any]] = []
    # Not defined for a true graph without edges.
    truth = {tuple(r["cell"][:2]): r.get("true_density", NO_TRUTH) or np.nan for r in records if "rows" in r}
    fits = dict([*table.groupby(["replicate", "n", "method"], sort=False)]) if len(table) else {}
    lines = {key: curve(mine) for key, mine in fits.items()}
    for (replicate, n, method), mine in fits.items():
        about = {"replicate": replicate, "n": n, "method": method, "seconds": mine["seconds"].mean()}
        target = truth[replicate, n]
        line, rival = lines[replicate, n, method], lines.get((replicate, n, "pseudo-l1"))
        about |= _curve(mine, *line, target) | (_against(*line, *rival) if rival else {})
        learnt = mine[mine["p0"] == LEARNT]
        if len(learnt):
            one = learnt.iloc[0]
            about |= {k: one[k] for k in ("density", "cll", "precision", "recall", "f1", "false", "missed") if k in one}
            about["density_ratio"] = one["density"] / target
            same = (table["replicate"] == replicate) & (table["n"] == n)
            about |= _rivals(one, table[same & (table["p0"] == PATH)])
        found.append(about)
    pairs = pairs_of(records)
    found += [_accuracy(*key, own) for key, own in pairs.groupby(["replicate", "n", "method"])] if len(pairs) else []
    found += _momentum(records) + _long(records)
    return pd.DataFrame(found)


def curve(mine: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return density and CLL of a model over fixed p0 or the path, by increasing density."""
    part = mine[mine["p0"] != LEARNT].sort_values("density")
    part = part[part["density"] > 0].groupby("density", as_index=False)["cll"].mean()
    return part["density"].to_numpy(), part["cll"].to_numpy()


def at(density: np.ndarray, cll: np.ndarray, wanted: Any) -> Any:
    """Interpolate the CLL in log density; NaN beyond the ends, and if no model has an edge."""
    if len(density) == 0:
        return np.full(np.shape(wanted), np.nan)
    return np.interp(np.log(wanted), np.log(density), cll, left=np.nan, right=np.nan)


def _curve(mine: pd.DataFrame, density: np.ndarray, cll: np.ndarray, target: float) -> dict[str, Any]:
    if len(density) < 2:
        return {}
    peak = int(np.argmax(cll))
    out = {"peak": cll[peak], "peak_ratio": density[peak] / target}
    out["sparse_loss"] = cll[peak] - at(density, cll, SPARSE * target)
    out["dense_loss"] = cll[peak] - at(density, cll, DENSE)
    if "f1" in mine:
        out["best_f1"] = mine.loc[mine["p0"] != LEARNT, "f1"].max()
        ratio = mine[(mine["p0"] != LEARNT) & (mine["density"] > 0)]
        for name, where in (("sparse_strength", SPARSE * target), ("dense_strength", DENSE)):
            if not len(ratio) or np.isnan(where):
                continue
            near = ratio.iloc[(np.log(ratio["density"]) - np.log(where)).abs().argmin()]
            out[name] = near["strength"]
    return out


def _against(density: np.ndarray, cll: np.ndarray, others: np.ndarray, rival: np.ndarray) -> dict[str, Any]:
    """Return the share of the densities that both curves cover at which this one is above."""
    if min(len(density), len(others)) < 2:
        return {}
    mine_at, rival_at = at(density, cll, GRID), at(others, rival, GRID)
    both = np.isfinite(mine_at) & np.isfinite(rival_at)
    return {"share_above": (mine_at > rival_at)[both].mean()} if both.any() else {}


def _rivals(one: pd.Series, paths: pd.DataFrame) -> dict[str, Any]:
    """Return whether any point of a path of penalties is above in both F1 and CLL; CLL minus the best of all paths."""
    if not len(paths):
        return {}
    out = {"cll_gain": one["cll"] - paths["cll"].max()}
    if "f1" in one and np.isfinite(one["f1"]):
        out["f1_gain"] = one["f1"] - paths["f1"].max()
        out["beaten"] = float(((paths["f1"] > one["f1"]) & (paths["cll"] > one["cll"])).any())
    return out


def pairs_of(records: list[Record], n: int | None = None) -> pd.DataFrame:
    """Return the edges of figure 4: inclusion, mean and sd by an approximate sampler and by the exact one."""
    exact = {tuple(r["cell"]): r for r in records if r["cell"][2] == "exact"}
    found = []
    for record in records:
        replicate, size, method, setting = record["cell"]
        other = exact.get((replicate, size, "exact", setting))
        if method not in APPROXIMATE or other is None or n not in (None, size):
            continue
        one = pd.DataFrame({"replicate": replicate, "n": size, "method": method, "p0": setting}, index=range(len(
            record["inclusion"])))  # fmt: skip
        for k in ("inclusion", "mean", "sd"):
            one[k] = pd.array(record[k], dtype="Float64").to_numpy(dtype=float, na_value=np.nan)
            one[f"exact_{k}"] = pd.array(other[k], dtype="Float64").to_numpy(dtype=float, na_value=np.nan)
        found.append(one)
    return pd.concat(found, ignore_index=True) if found else pd.DataFrame()


def _accuracy(replicate: int, n: int, method: str, table: pd.DataFrame) -> dict[str, Any]:
    """Compare with exact: mean and largest difference of inclusion; means and sds of edges in a tenth of the draws."""
    away = (table["inclusion"] - table["exact_inclusion"]).abs()
    often = table[(table["inclusion"] > 0.1) & (table["exact_inclusion"] > 0.1)]
    shift = (often["mean"] - often["exact_mean"]).abs() / often["exact_sd"]
    about = {"replicate": replicate, "n": n, "method": f"{method} against exact"}
    about |= {"inclusion_away": away.mean(), "inclusion_worst": away.max()}
    return about | {"mean_away": shift.mean(), "sd_ratio": (often["sd"] / often["exact_sd"]).median()}


def _long(records: list[Record]) -> list[dict[str, Any]]:
    """Return effective draws of the long chain for uncertain inclusions, and the largest distance from exact (z).

    Exact has many times as many draws, so that the standard error is that of the long chain only.
    """
    found = []
    for record in (r for r in records if "n_effective" in r):
        replicate, n, method, _ = record["cell"]
        exact = next((r for r in records if r["cell"] == [replicate, n, "exact", LEARNT]), None)
        about = {"replicate": replicate, "n": n, "method": method, "seconds": record["seconds"]}
        effective, p = np.array(record["n_effective"]), np.array(record["inclusion"])
        about |= {"n_effective": float(np.median(effective)), "n_effective_least": float(effective.min())}
        if exact is not None:
            doubt = (p > 0.05) & (p < 0.95)
            error = np.sqrt(p[doubt] * (1 - p[doubt]) / effective)
            about["worst_z"] = float(np.max(np.abs(p - np.array(exact["inclusion"]))[doubt] / error))
        found.append(about)
    return found


def _momentum(records: list[Record]) -> list[dict[str, Any]]:
    """Return, for figure 2, the integrated autocorrelation time, and distances of means and sds from the other run."""
    found = []
    mixing = {r["cell"][2]: r for r in records if r["cell"][2] in curves.MIXING}
    for method, record in mixing.items():
        about = {"replicate": record["cell"][0], "n": record["cell"][1], "method": method, "seconds": record["seconds"]}
        always = np.array(record["inclusion"]) > 0.9
        times = np.array(record["time"])[always]
        about["autocorrelation_time"] = float(np.median(times)) if len(times) else np.nan
        other = mixing.get(next(m for m in curves.MIXING if m != method))
        if other is not None:
            # The other run has no sd of a weight that it never included.
            both = always & (np.array(other["sd"]) > 0)
            if both.any():
                sd = np.array(other["sd"])[both]
                shift = np.abs(np.array(record["mean"]) - np.array(other["mean"]))[both]
                about["mean_away"] = float(np.median(shift / sd))
                about["sd_ratio"] = float(np.median(np.array(record["sd"])[both] / sd))
        found.append(about)
    return found
