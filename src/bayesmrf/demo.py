"""The demonstration: known groups, then real data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import datasets, graphs, metrics, plots
from .estimators import GroupedMRF
from .inference.elimination.engine import Elimination
from .models.agreement import Agreement
from .report import Section, check_out, paragraph, picture, sections, table, write_page
from .results.summary import GroupedSummary, count
from .rng import OTHER, descendant

if TYPE_CHECKING:
    from rich.console import Console

TRUE_AGREEMENTS = (0.9, 0.7, 0.5, 0.3, 0.1)

RISK_FACTORS = {
    "A": "smoking",
    "B": "mental work",
    "C": "physical work",
    "D": "blood pressure",
    "E": "lipoproteins",
    "F": "family history",
}

_GRID = (
    "The 24 edges of a 4 x 4 grid belong to five groups, and the edges of a group share one agreement. Maximum "
    "likelihood estimates each edge separately. The Bayesian estimators find which edges belong together and pool "
    "their data, so that their estimates are closer to the truth."
)
_CORONARY = (
    "Six risk factors for coronary heart disease of 1,841 men employed in a Czech car factory (Reinis et al. 1981): "
    "smoking, strenuous mental work, strenuous physical work, systolic blood pressure above 140, ratio of beta to "
    "alpha lipoproteins above 3, coronary heart disease in the family. All 15 pairs are edges, and each factor has a "
    "field for its frequency. Sampled by the exact method."
)


class Grid(NamedTuple):
    """A grid with known groups, and its estimates."""

    truth: np.ndarray
    groups: np.ndarray
    agreement: dict[str, np.ndarray]
    n_groups: dict[str, str]
    distance: dict[str, str]


def run_demo(
    out: Path,
    seed: int,
    console: Console,
    *,
    n_samples: int = 1000,
    n_draws: tuple[int, int] = (400, 2000),
    n_chains: int = 4,
) -> tuple[Grid, GroupedSummary]:
    """Print both parts and write the report; the report of an earlier demonstration is replaced.

    Parameters
    ----------
    out : Path
        The HTML file.
    seed : int
        Seed of the data and of the chains.
    console : rich.console.Console
        Where to print.
    n_samples : int
        Observations of the grid.
    n_draws : tuple of int
        Draws of each chain, of the grid and of the real data.
    n_chains : int
        Chains of each run.
    """
    from .cli.show import show

    check_out(out, overwrite=False, replace_own=True)
    console.rule("1. A grid whose groups are known")
    console.print(f"{_GRID}\n")
    console.print("Sampling; the first run compiles for half a minute ...\n", style="dim")
    grid = known_grid(seed, n_samples, n_draws[0], n_chains)
    _print_grid(grid, n_samples, console)
    console.print()
    console.rule("2. Real data: risk factors for coronary heart disease")
    console.print(_CORONARY)
    summary = GroupedSummary(coronary(seed, n_draws[1], n_chains).posterior_)
    show(summary, console)
    body: list[Section] = [("1. A grid whose groups are known", _grid_html(grid, n_samples))]
    body += [("2. Risk factors for coronary heart disease", paragraph(_CORONARY)), *sections(summary)]
    write_page(out, "bayesmrf: a demonstration", "Recovery of known groups, then groups in real data.", body)
    console.print(f"\nThe report, with pictures: {out}", soft_wrap=True)
    return grid, summary


def known_grid(seed: int, n_samples: int, n_draws: int, n_chains: int) -> Grid:
    """Draw data from a 4 x 4 grid with five groups, and estimate the agreements.

    As in section 4.2 of Liu and Page (2013), except that the agreements of the groups are evenly spaced, and each
    group has at least one edge.
    """
    rng = descendant(np.random.SeedSequence(seed), OTHER + 2)
    model, engine = Agreement(graphs.grid(4, 4)), Elimination()
    groups = rng.permutation(np.append(np.arange(5), rng.integers(5, size=model.n_edges - 5)))
    truth = np.array(TRUE_AGREEMENTS)[groups]
    theta = np.log(truth / (1 - truth))
    states = engine.sample(model, theta, engine.prepare(model), n_samples, rng)
    agreement: dict[str, np.ndarray] = {}
    n_groups = {"truth": "5", "MLE": f"{model.n_edges}"}
    distance = {"truth": "0", "MLE": f"{metrics.variation_of_information(np.arange(model.n_edges), groups):.2f}"}
    for method in ("stripped-beta", "exact"):
        options = {"graph": model.graph, "method": method, "fields": False, "n_warmup": 100}
        est = _estimator(seed, n_draws, n_chains, **options).fit(states)
        agreement |= {"MLE": est.mle_, method: est.agreement_}
        n_groups[method] = f"{np.average(est.n_groups_.index, weights=est.n_groups_):.1f}"
        distance[method] = f"{metrics.variation_of_information(est.groups_, groups):.2f}"
    return Grid(truth, groups, agreement, n_groups, distance)


def coronary(seed: int, n_draws: int, n_chains: int) -> GroupedMRF:
    """Fit the table of 1,841 men."""
    data = datasets.coronary()
    estimator = _estimator(seed, n_draws, n_chains, graph="complete", method="exact", n_warmup=500)
    return estimator.fit(data[list(RISK_FACTORS)].rename(columns=RISK_FACTORS), sample_weight=data["count"])


def _estimator(seed: int, n_draws: int, n_chains: int, **options: Any) -> GroupedMRF:
    return GroupedMRF(n_draws=n_draws, n_chains=n_chains, random_state=seed, progress=False, **options)


def _rows(grid: Grid) -> tuple[list[str], list[list[str]]]:
    """Make the table of the grid: the range of estimates in each true group, then their errors."""
    rows = []
    for g, value in enumerate(TRUE_AGREEMENTS):
        inside = grid.groups == g
        ranges = [f"{a[inside].min():.2f} to {a[inside].max():.2f}" for a in grid.agreement.values()]
        rows.append([f"group {g + 1}: {count(inside.sum(), 'edge')}", f"{value:.2f}", *ranges])
    errors = [f"{metrics.mean_absolute_error(a, grid.truth):.4f}" for a in grid.agreement.values()]
    rows.append(["mean absolute error", "0", *errors])
    rows.append(["number of groups", *(grid.n_groups[k] for k in ("truth", *grid.agreement))])
    rows.append(["distance from the true groups (nats)", *(grid.distance[k] for k in ("truth", *grid.agreement))])
    return ["edges: smallest to largest estimate", "truth", *grid.agreement], rows


def _print_grid(grid: Grid, n_samples: int, console: Console) -> None:
    from .cli.show import new_table

    header, rows = _rows(grid)
    shown = new_table(f"4 x 4 grid, {n_samples:,} observations", header[:1], header[1:])
    for i, row in enumerate(rows):
        shown.add_row(*row, end_section=i == len(TRUE_AGREEMENTS) - 1)
    console.print(shown)


def _grid_html(grid: Grid, n_samples: int) -> str:
    drawn = picture(
        lambda: plots.plot_estimates(grid.truth, grid.agreement, grid.groups),
        f"Errors of the estimates from {n_samples:,} observations, edge by edge.",
    )
    return paragraph(_GRID) + table(*_rows(grid)) + drawn
