"""Tables of differences between groups, from the draws of their parameters."""

from __future__ import annotations

import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .intervals import given_inclusion

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def difference_table(tree: xr.DataTree, tails: tuple[float, float]) -> pd.DataFrame:
    """Return the differences of all edges in order; the table "differences" of `bayesmrf.CompareMRF`.

    One row for each edge and each pair of groups. Columns first and second (the ends), group and other (the labels of
    the two groups), difference (mean of the weight in the other group minus that in the group, given that the groups
    differ in this edge), lower, upper, inclusion (probability that they differ) and the Bayes factors for a difference
    (bayes_factor, infinite if every draw has it) and against it (bayes_factor_against, infinite if none has it); if
    baselines may be absent, also edge_inclusion (see ``CompareMRF.edge_inclusion_``).

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_`` of `bayesmrf.CompareMRF`.
    tails : (float, float)
        Quantile levels of the ends of intervals.
    """
    constant = tree["constant_data"].to_dataset()
    ends, names = constant["edges"].values, _texts(constant["node"])
    included = tree["posterior"].to_dataset()["included"].values.reshape(-1, len(ends)) != 0
    table = {"first": names[ends[:, 0]], "second": names[ends[:, 1]]}
    weights = _draws(tree)[..., : len(ends)]
    found = _table(tree, table, weights, included, tails)
    if may_be_absent(tree):
        n_pairs = len(found) // len(ends)
        found["edge_inclusion"] = np.repeat(exist_in_groups(weights).mean(axis=0), n_pairs)
    return found


def differ(theta: np.ndarray) -> np.ndarray:
    """Return whether the groups differ in each parameter (..., n_groups, n) of nodes: if not, all have one number."""
    found: np.ndarray = (theta != theta[..., :1, :]).any(axis=-2)
    return found


def exist_in_groups(weights: np.ndarray) -> np.ndarray:
    """Return whether each edge (..., n_groups, n) exists: with a baseline or a difference, it does in all groups."""
    found: np.ndarray = (weights != 0).any(axis=-2)
    return found


def may_be_absent(tree: xr.DataTree) -> bool:
    """Return whether baselines have a spike."""
    return str(tree.attrs["baseline"]).startswith("SpikeSlab")


def bias_table(tree: xr.DataTree, tails: tuple[float, float]) -> pd.DataFrame:
    """Return the differences of all parameters of nodes, with their name in the place of the ends of an edge.

    Where biases are free in each group, they always differ: there is no inclusion, and no Bayes factor.
    """
    r = len(tree["constant_data"].to_dataset()["edges"])
    values = _draws(tree)[..., r:]
    table = {"parameter": _texts(tree["posterior"].to_dataset()["feature"])[r:]}
    if tree.attrs["biases"] != "spike-slab":
        found = _table(tree, table, values, np.ones((len(values), values.shape[2]), dtype=bool), tails)
        return found.drop(columns=["inclusion", "bayes_factor", "bayes_factor_against"])
    return _table(tree, table, values, differ(values), tails)


def _texts(labels: Any) -> np.ndarray:
    """Return labels as Python's texts, which stored ones are not."""
    return np.array([str(label) for label in labels.values], dtype=object)


def _draws(tree: xr.DataTree) -> np.ndarray:
    """Return the draws of theta, (n_draws, n_groups, n_features)."""
    theta = tree["posterior"].to_dataset()["theta"].values
    return theta.reshape(-1, *theta.shape[2:])


def _table(
    tree: xr.DataTree, table: dict[str, Any], values: np.ndarray, included: np.ndarray, tails: tuple[float, float]
) -> pd.DataFrame:
    """Return the differences of ``values`` (n_draws, n_groups, n) given that they are ``included`` (n_draws, n)."""
    import pandas as pd

    share, odds, groups = included.mean(axis=0), _prior_odds(tree), _texts(tree["posterior"].to_dataset()["group"])
    with np.errstate(divide="ignore"):
        factor, against = share / (1 - share) / odds, (1 - share) / share * odds
    parts = []
    for a, b in combinations(range(len(groups)), 2):
        mean, lower, upper = given_inclusion(values[:, b] - values[:, a], included, tails)
        pair = {"group": groups[a], "other": groups[b]}
        moments = {"difference": mean, "lower": lower, "upper": upper, "inclusion": share}
        parts.append(pd.DataFrame(table | pair | moments | {"bayes_factor": factor, "bayes_factor_against": against}))
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def _prior_odds(tree: xr.DataTree) -> float:
    """Return the prior odds that the groups differ in a parameter."""
    density = json.loads(tree.attrs["prior"])["density"]
    p = density["a"] / (density["a"] + density["b"]) if isinstance(density, dict) else density
    return float(p / (1 - p))
