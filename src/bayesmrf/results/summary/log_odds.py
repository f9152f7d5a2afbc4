"""Tables of log odds of edges between columns without order, by the names of the categories."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from ..blocks import stacked
from ..intervals import intervals
from .common import Summary

if TYPE_CHECKING:
    import pandas as pd


def log_odds_table(s: Summary) -> pd.DataFrame:
    """Return the tables of all edges: a row for each pair of categories (and each group of people).

    ``log_odds`` is the mean log potential over the draws in which the edge exists, centred over the categories of both
    ends (`bayesmrf.models.nominal.Nominal.log_odds`): entries above 0 are pairs that occur together more often than
    the other edges and the nodes make them.
    """
    import pandas as pd

    model: Any = s.display
    theta, names, parts = s["posterior"]["theta"], s.nodes, []
    groups = [str(g) for g in theta["group"].values] if "group" in theta.dims else [None]
    for e, (u, v) in enumerate(s.ends):
        first, last = model.edge_starts[e : e + 2]
        draws = stacked(theta.variable[..., first:last].values).reshape(s.n_draws, len(groups), -1)
        draws = draws[draws.any(axis=(1, 2))]
        cells = list(itertools.product(range(model.sizes[u]), range(model.sizes[v])))
        for g, label in enumerate(groups):
            theta_of_edge = np.zeros((len(draws), model.n_features))
            theta_of_edge[:, first:last] = draws[:, g]
            values = model.log_odds(theta_of_edge, e).reshape(len(draws), len(cells))
            unknown = np.full(len(cells), np.nan)
            low, high = intervals(values, s.tails) if len(draws) else (unknown, unknown)
            rows = {
                "first": names[u],
                "second": names[v],
                "first_level": [model.label(u, a) for a, _ in cells],
                "second_level": [model.label(v, b) for _, b in cells],
            } | ({} if label is None else {"group": label})
            mean = values.mean(axis=0) if len(draws) else unknown
            parts.append(pd.DataFrame(rows | {"log_odds": mean, "lower": low, "upper": high}))
    return pd.concat(parts, ignore_index=True)
