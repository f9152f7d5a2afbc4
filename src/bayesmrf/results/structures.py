"""Structures that were visited: sets of edges that exist, or differ, with their shares of the draws."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .blocks import in_turn, variable

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

SHARE = 0.9  # of the draws, which the most probable structures carry


def structure_table(tree: xr.DataTree, names: list[str]) -> pd.DataFrame:
    """Return the structures of all draws by decreasing share.

    Columns are n_edges, probability, cumulative, and edges: their names, separated by semicolons.

    Parameters
    ----------
    tree : xarray.DataTree
        With the variable ``included``.
    names : list of str
        Name of each edge.
    """
    import pandas as pd

    r = len(names)
    bits = np.concatenate([np.packbits(part != 0, axis=1) for part in in_turn(variable(tree, "included"))])
    whole = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, times = np.unique(whole, return_index=True, return_counts=True)
    order = np.lexsort((first, -times))  # of equally many draws, the one that was visited first
    included = np.unpackbits(bits[first[order]], axis=1, count=r).astype(bool)
    share = times[order] / len(bits)
    edges = ["; ".join(names[e] for e in np.flatnonzero(row)) for row in included]
    return pd.DataFrame(
        {"n_edges": included.sum(axis=1), "probability": share, "cumulative": np.cumsum(share), "edges": edges}
    )


def number_that_carry(cumulative: np.ndarray, share: float = SHARE) -> int:
    """Return how many of the most probable structures have this share of the draws together."""
    return int(np.searchsorted(cumulative, share - 1e-12) + 1)
