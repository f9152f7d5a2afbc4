"""The table of differences between groups, from the draws of their parameters."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def difference_table(tree: xr.DataTree, tails: tuple[float, float]) -> pd.DataFrame:
    """Return the differences of all edges in order; see `bayesmrf.CompareMRF.difference_table`.

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_`` of `bayesmrf.CompareMRF`.
    tails : (float, float)
        Quantile levels of the ends of intervals.
    """
    import pandas as pd

    posterior, constant = tree["posterior"].to_dataset(), tree["constant_data"].to_dataset()
    ends, theta, included = constant["edges"].values, posterior["theta"].values, posterior["included"].values != 0
    weights = theta.reshape(-1, *theta.shape[2:])[..., : len(ends)]
    included = included.reshape(-1, len(ends))
    share, odds = included.mean(axis=0), _prior_odds(tree)
    with np.errstate(divide="ignore"):
        factor, against = share / (1 - share) / odds, (1 - share) / share * odds
    names, groups = constant["node"].values, posterior["group"].values
    parts = []
    for a, b in combinations(range(len(groups)), 2):
        difference = weights[:, b] - weights[:, a]
        found = np.full((len(ends), 3), np.nan)
        for e in np.flatnonzero(share):
            there = difference[included[:, e], e]
            found[e] = there.mean(), *np.quantile(there, tails)
        table = {"first": names[ends[:, 0]], "second": names[ends[:, 1]]}
        if len(groups) > 2:
            table |= {"group": groups[a], "other": groups[b]}
        table |= {"difference": found[:, 0], "lower": found[:, 1], "upper": found[:, 2], "inclusion": share}
        parts.append(pd.DataFrame(table | {"bayes_factor": factor, "bayes_factor_against": against}))
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _prior_odds(tree: xr.DataTree) -> float:
    """Return the prior odds that the groups differ in an edge."""
    density = json.loads(tree.attrs["prior"])["density"]
    p = density["a"] / (density["a"] + density["b"]) if isinstance(density, dict) else density
    return float(p / (1 - p))
