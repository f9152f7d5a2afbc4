"""Tables of differences between groups, from the draws of their parameters."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from .bayes_factors import LIMITS
from .blocks import Columns, variable
from .categories import DIFFERENCES
from .display import display_in
from .edge_evidence import evidence, evidence_columns, has_evidence
from .intervals import central, intervals_given

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def difference_table(tree: xr.DataTree, tails: tuple[float, float]) -> pd.DataFrame:
    """Return the differences of all edges in order; the table "differences" of `bayesmrf.CompareMRF`.

    One row for each edge and each pair of groups. Columns first and second (the ends), group and other (the labels of
    the two groups), difference (mean of the weight in the other group minus that in the group, given that the groups
    differ in this edge), lower, upper, inclusion (probability that they differ) and the evidence for a difference
    (`bayesmrf.results.edge_evidence.evidence_columns`), if it was computed; if baselines may be absent, also
    edge_inclusion (see ``CompareMRF.edge_inclusion_``).

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_`` of `bayesmrf.CompareMRF`.
    tails : (float, float)
        Quantile levels of the ends of intervals.
    """
    constant = tree["constant_data"].to_dataset()
    ends, names = constant["edges"].values, _texts(constant["node"])
    table = {"first": names[ends[:, 0]], "second": names[ends[:, 1]]}
    items = variable(tree, "theta"), 0, len(ends), display_in(tree)
    frame = _table(tree, table, items, Columns(variable(tree, "included")), tails)
    if has_evidence(tree):
        for name, values in evidence_columns(evidence(tree), LIMITS, DIFFERENCES).items():
            frame[name] = np.repeat(values, len(frame) // len(ends))
    if may_be_absent(tree):
        exist = Columns(variable(tree, "theta"), 0, len(ends), exist_in_groups, display_in(tree))
        frame["edge_inclusion"] = np.repeat(exist.means(), len(frame) // len(ends))
    return frame


def differ(theta: np.ndarray) -> np.ndarray:
    """Return whether the groups differ in each parameter (..., n_groups, n) of nodes: if not, all have one number."""
    return np.asarray((theta != theta[..., :1, :]).any(axis=-2))


def exist_in_groups(weights: np.ndarray) -> np.ndarray:
    """Return whether each edge (..., n_groups, n) exists: with a baseline or a difference, it does in all groups."""
    return np.asarray((weights != 0).any(axis=-2))


def may_be_absent(tree: xr.DataTree) -> bool:
    """Return whether baselines have a spike."""
    return str(tree.attrs["baseline"]).startswith("SpikeSlab")


def bias_table(tree: xr.DataTree, tails: tuple[float, float]) -> pd.DataFrame:
    """Return the differences of all parameters of nodes, with their name in the place of the ends of an edge.

    Where biases are free in each group, they always differ: there is no inclusion. Those of nodes
    without order are then log weights of their categories, as `bayesmrf.models.nominal.Nominal.shown_nodes` has them.
    """
    display, theta = display_in(tree), variable(tree, "theta")
    r = int(display.edge_starts[-1])
    table: dict[str, Any] = {"parameter": np.array(display.shown_node_names, dtype=object)}
    if tree.attrs["biases"] != "spike-slab":
        theta, r = type(theta)(theta.dims, display.shown_nodes(theta[..., r:].values)), 0
        frame = _table(tree, table, (theta, r, None, None), Columns(theta, r, None, _always), tails)
        return frame.drop(columns="inclusion")
    return _table(tree, table, (theta, r, None, None), Columns(theta, r, None, differ), tails)


def _texts(labels: Any) -> np.ndarray:
    """Convert labels to Python's texts, which stored ones are not."""
    return np.array([str(label) for label in labels.values], dtype=object)


def _always(theta: np.ndarray) -> np.ndarray:
    return np.ones((*theta.shape[:2], theta.shape[3]), dtype=bool)


def minus(theta: np.ndarray, a: int, b: int) -> np.ndarray:
    """Return the parameters of group b minus those of group a."""
    return np.asarray(theta[:, :, b] - theta[:, :, a])


def _table(
    tree: xr.DataTree, table: dict[str, Any], items: tuple[Any, ...], included: Columns, tails: tuple[float, float]
) -> pd.DataFrame:
    """Summarise the differences of some parameters, or edges with tables, given that they are ``included``."""
    import pandas as pd

    (theta, first, last, display), groups = items, _texts(tree["posterior"].to_dataset()["group"])
    share, parts = included.means(), []
    for a, b in combinations(range(len(groups)), 2):
        differences = Columns(theta, first, last, partial(minus, a=a, b=b), display)
        mean, lower, upper = intervals_given(differences, included, tails)
        pair = {"group": groups[a], "other": groups[b]}
        moments = {"difference": mean, "lower": lower, "upper": upper, "inclusion": share}
        parts.append(pd.DataFrame(table | pair | moments))
    return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)


def compared(draws: xr.DataArray, probability: float) -> pd.DataFrame:
    """Return means and intervals of a quantity of each group, and of its differences, from draws with their group.

    Raises
    ------
    OptionError
    """
    import pandas as pd
    import xarray as xr

    if not (isinstance(draws, xr.DataArray) and {"chain", "draw", "group"} <= {*draws.dims}):
        expected = "draws of each group, with the dimensions chain, draw and group"
        raise OptionError(option="draws", got=draws, expected=expected, remedy="take `statistic` or `strength`")
    rest = [d for d in draws.dims if d not in ("chain", "draw", "group")]
    stacked = np.asarray(draws.transpose("chain", "draw", "group", *rest), dtype=float)
    stacked = stacked.reshape(-1, draws.sizes["group"], *stacked.shape[3:])
    values = {str(g): stacked[:, i] for i, g in enumerate(draws["group"].values)}
    values |= {f"{b} - {a}": values[b] - values[a] for a, b in combinations(list(values), 2)}
    places = [grid.ravel() for grid in np.meshgrid(*(draws[d].values for d in rest), indexing="ij")]
    parts = []
    for name, x in values.items():
        lower, upper = np.quantile(x, central(probability), axis=0)
        each = {k: np.ravel(v) for k, v in (("mean", x.mean(axis=0)), ("lower", lower), ("upper", upper))}
        each |= {str(d): labels for d, labels in zip(rest, places, strict=True)}
        parts.append(pd.DataFrame(each).assign(group=name))
    return pd.concat(parts).set_index(["group", *rest])
