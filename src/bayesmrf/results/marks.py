"""Which figures of edges, or differences, have too large an error, so that tables mark them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from .blocks import Columns, divided, variable
from .edge_evidence import ERROR as FACTOR_ERROR
from .edge_evidence import Evidence, is_uncertain, not_identified
from .judged_series import IN_DOUBT, indicators
from .rank_diagnostics import batch, effective_sizes

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Vehtari et al. (2021): R-hat at most 1.01, and 100 effective draws a chain.
GOOD_R_HAT, GOOD_ESS = 1.01, 100
ERROR = 0.01  # largest Monte Carlo error of an inclusion that is not marked
MOST_MARKED = 0.05  # share of the edges of a good run that may be marked
EDGE = "edge"  # a column of `bayesmrf.results.convergence.of_edges`: the edge of each weight, -1 for others
_NOUNS, _OF_GROUPS = ("edges",), ("differences of edges", "differences of nodes", "edges")
_FEW_TIMES = 1.5  # as many draws, guessed where no error is known
_FEWEST = 25  # effective draws of an indicator; with fewer, of one that is rare, chains disagree


def shortfall_of(table: pd.DataFrame, r_hat: float, ess: float, columns: list[str]) -> np.ndarray:
    """Return the factor by which each row of diagnostics misses thresholds of R-hat and ESS; -1 for constants."""
    factors = np.fmax((table["r_hat"].to_numpy() - 1) / (r_hat - 1), ess / table[columns].to_numpy().min(axis=1))
    return np.nan_to_num(factors, nan=-1)


def few_draws(table: pd.DataFrame, inclusion: np.ndarray, n_chains: int) -> np.ndarray:
    """Return the edges, or differences, of whose weights there are too few draws for an interval, (n_edges,) bool.

    These miss the thresholds of a good run over the draws that have the edge, or are in fewer than a tenth of all.

    Parameters
    ----------
    table : DataFrame
        From `bayesmrf.results.convergence.of_edges`.
    inclusion : (n_edges,) array
        Edges that never exist have no weight.
    n_chains : int
    """
    rows = table[table[EDGE] >= 0].dropna(subset=["ess_bulk"])
    missed = shortfall_of(rows, GOOD_R_HAT, GOOD_ESS * n_chains, ["ess_bulk", "ess_tail"]) > 1
    enough = np.zeros(len(inclusion), dtype=bool)
    enough[rows[EDGE]] = True
    enough[rows.loc[missed, EDGE]] = False
    return np.asarray((inclusion > 0) & ~enough)


def errors_of_inclusions(exists: Columns) -> np.ndarray:
    """Return the Monte Carlo errors of the means of indicators, (n,).

    It is that of 25 effective draws where these suffice for an error of 0.01, of what is rare, or lacks rarely.
    """
    share = exists.means()
    variance = share * (1 - share)
    errors: np.ndarray = np.sqrt(variance / _FEWEST)
    far = np.flatnonzero(errors > ERROR)
    for block in divided(len(far), batch(*exists.shape[:2])) if len(far) else ():
        errors[far[block]] = np.sqrt(variance[far[block]] / effective_sizes(exists[:, :, far[block]]))
    return errors


def edge_errors(tree: xr.DataTree) -> np.ndarray:
    """Return the Monte Carlo error of the inclusion of each edge, or difference, (n_edges,)."""
    return errors_of_inclusions(Columns(variable(tree, "included"), function=partial(np.not_equal, 0)))


def too_many_marked(tree: xr.DataTree, table: pd.DataFrame, evidence: Evidence | None) -> tuple[str, float]:
    """Say how many edges are marked, if they are more than 5 % of all; and how many times as many draws mend that.

    Otherwise the text is empty, and the number 1. Squares of errors fall as draws grow.

    Marked are an edge whose inclusion has an error above 0.01; and one in a tenth of the draws or more with too few of
    them for its weight (`few_draws`), or with a Bayes factor from 10^-1.5 to 10^1.5, the error of whose log10 is above
    0.05, or not known. Of differences of nodes, and of edges in any group of people, inclusions count alone.

    Parameters
    ----------
    tree : xarray.DataTree
    table : DataFrame
        From `bayesmrf.results.convergence.of_edges`.
    evidence : Evidence or None
        Bayes factors of the edges, if there are any.
    """
    nouns = _OF_GROUPS if "group" in variable(tree, "theta").dims else _NOUNS
    for i, ((names, exists), noun) in enumerate(zip(indicators(tree), nouns, strict=False)):
        errors = errors_of_inclusions(exists)
        times = (errors / ERROR) ** 2
        marks = {
            f"Monte Carlo error of inclusions up to {errors.max(initial=0):.3f}, recommended {ERROR}": errors > ERROR
        }
        if i == 0:
            share = exists.means()
            n_edges, n_chains = tree["constant_data"].sizes["edge"], exists.shape[0]
            known = ~not_identified(tree)
            inclusion = np.zeros(n_edges)
            inclusion[known] = share
            few = few_draws(table, inclusion, n_chains)[known]
            marks["too few draws for weights"] = few & (share >= IN_DOUBT[0])
            times = np.maximum(times, np.where(marks["too few draws for weights"], _FEW_TIMES, 0.0))
            if evidence is not None:
                # Under a sparse prior the factor of an edge without evidence has few draws, or none, in any run.
                far = is_uncertain(evidence)[known] & (share >= IN_DOUBT[0])
                largest = np.nanmax(evidence.error[known][far], initial=0.0)
                squares = (evidence.error[known] / FACTOR_ERROR) ** 2
                wanted = np.where(np.isfinite(squares), squares, _FEW_TIMES)
                times = np.maximum(times, np.where(far, wanted, 0.0))
                marks[f"error of log10 Bayes factors up to {largest:.3f}, recommended {FACTOR_ERROR}"] = far
        marked = np.any(list(marks.values()), axis=0)
        if np.count_nonzero(marked) > MOST_MARKED * len(names):
            why = "; ".join(what for what, which in marks.items() if which.any())
            n = f"{np.count_nonzero(marked):,} of {len(names):,} {noun}"
            most = int(MOST_MARKED * len(names))
            said = f"{n} are marked, recommended at most {MOST_MARKED:.0%} ({why})"
            return said, max(1.0, float(np.sort(times)[::-1][most]))
    return "", 1.0
