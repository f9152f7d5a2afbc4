"""Tables on the terminal: the measures and the published numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd
from rich.table import Table

from papers.findings import means
from papers.shown import table as frame_table
from papers.store import Record

from .common import METHODS, STRUCTURE_METHODS
from .experiments import FULL
from .published import SECONDS
from .published import SENATE as SENATE_PAPER
from .simulations import Simulation

# Measure: heading, and format of a number.
SIMULATION = {
    "error": ("Mean absolute error of the estimate", "{:.4f}"),
    "log_likelihood": ("Log {}likelihood of test data, less the oracle's", "{:.1f}"),
    "vi_difference": ("VI difference, nats", "{:.3f}"),
    "n_groups": ("Number of groups (truth: {})", "{:.2f}"),
    "seconds": ("Run time, seconds of one core", "{:.2f}"),
}
LIKELIHOODS = dict.fromkeys(["lpl_train", "lpl_test", "ll_train", "ll_test"], "{:.2f}")
SENATE = LIKELIHOODS | {"n_groups": "{:.2f}", "seconds": "{:.0f} s"}
SENATE_PUBLISHED = SENATE | {"seconds": "{:.0f} min"}


def tables(experiment: str, records: list[Record]) -> list[Table | str]:
    """Return the tables of an experiment, and the check of the samples by Gibbs sweeps."""
    plan, rows = FULL[experiment], FULL[experiment].rows(records)
    if experiment == "senate":
        return [senate_table(rows, SENATE_PAPER)]
    if not isinstance(plan, Simulation):
        return [frame_table("Means over replicates", structure_means(rows))]
    found: list[Table | str] = [*simulation_tables(plan, rows, SECONDS.get(experiment, {}))]
    if rows["data_z"].notna().any():
        z = ", ".join(f"{v:+.1f}" for v in rows.drop_duplicates("replicate")["data_z"])
        found.append(
            f"Between the first and the second half of the sweeps the mean log potential of the test data moved by {z} "
            "standard errors (one number a replicate).\n"
        )
    return found


def simulation_tables(plan: Simulation, rows: pd.DataFrame, seconds: Mapping[str, Any]) -> list[Table]:
    """Return one table per measure: a row per number of training samples, a column per method."""
    present = [m for m in METHODS if m in set(rows["method"])]
    tables = []
    for measure, (heading, form) in SIMULATION.items():
        paper = seconds if measure == "seconds" else {}
        table = Table(title=heading.format(plan.n_groups if measure == "n_groups" else "pseudo-" * bool(plan.n_sweeps)))
        table.add_column("n", justify="right")
        columns: dict[str, pd.Series] = {}
        for method in present:
            if measure == "log_likelihood" and "oracle" in present:
                if method == "oracle":
                    continue
                pair = means(rows, measure, [method, "oracle"], "n")
                columns[method] = pair[method] - pair["oracle"]
            else:
                columns[method] = means(rows, measure, [method], "n")[method]
            if columns[method].empty:
                del columns[method]
        for method in columns:
            table.add_column(method, justify="right")
        for method in paper:
            table.add_column(f"{method}, paper", justify="right")
        for n in sorted(rows["n"].unique()):
            cells = [_format(form, column.get(n, math.nan)) for column in columns.values()]
            table.add_row(str(n), *cells, *(_format("{:.1f}", paper[m].get(n, math.nan)) for m in paper))
        count = rows.groupby(["method", "n"]).size().groupby("method").agg(["min", "max"]).loc[present]
        table.caption = "replicates: " + ", ".join(
            f"{m} {least}" if least == most else f"{m} {least} to {most}" for m, least, most in count.itertuples()
        )
        tables.append(table)
    return tables


def senate_table(rows: pd.DataFrame, published: Mapping[int, Any]) -> Table:
    """Return table 2 with the published numbers. The graphs differ: only the gains over the MLE can be compared."""
    table = Table(title="Log pseudo-likelihood (LPL) and log likelihood (LL) of votes, by the session trained on")
    for name in ("session", "method"):
        table.add_column(name)
    for name in ("LPL train", "LPL test", "LL train", "LL test", "groups", "time"):
        table.add_column(name, justify="right")
    for session, part in rows.groupby("session"):
        ours = part.drop(columns=["session", "replicate"]).groupby("method").mean()
        sources = [("mle", "", ours, SENATE), ("mle-fields", "", ours, SENATE)]
        if session in published:
            sources.insert(1, ("mle", ", paper", pd.DataFrame(published[session]).T, SENATE_PUBLISHED))
        for base, whose, given, forms in sources:
            values = given.reindex(columns=list(forms))
            names = [m for m in METHODS if m in values.index and m.endswith("-fields") == base.endswith("-fields")]
            for name in names:
                cells = [_format(form, values[measure].get(name, math.nan)) for measure, form in forms.items()]
                table.add_row(str(session), name + whose, *cells)
            for name in names if base in names else ():
                if name != base:
                    gain = values.loc[name] - values.loc[base]
                    cells = [_format("{:+.2f}", gain[measure]) for measure in LIKELIHOODS]
                    table.add_row("", f"gain of {name}{whose}", *cells, "", "", style="bold")
            table.add_section()
    return table


def structure_means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per point and method: every measure, averaged over replicates."""
    axis = str(rows.columns[1])
    grouped = rows.drop(columns="replicate").groupby([axis, "method"], sort=False)
    found = grouped.mean().assign(replicates=grouped.size()).reset_index()
    place = found["method"].map(STRUCTURE_METHODS.index)
    return found.assign(place=place).sort_values([axis, "place"], ignore_index=True).drop(columns="place")


def _format(form: str, value: float) -> str:
    return "" if math.isnan(value) else form.format(value)
