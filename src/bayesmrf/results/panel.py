"""Conditional Bayes factors of the edges of a panel, in its tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray as xr


def add_edge_evidence(tree: xr.DataTree, log_factor: np.ndarray, prior_log_odds: np.ndarray) -> xr.DataTree:
    """Add the group ``edge_evidence``, in place, and return the tree.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    log_factor, prior_log_odds : (n_chains, n_draws, n_edges) array
        The log of the conditional Bayes factor of docs/definitions.md, NaN in draws without it, and of the prior odds.
    """
    import xarray as xr

    chain, draw = np.nonzero(np.isfinite(log_factor).all(axis=2))
    posterior = tree["posterior"].dataset
    tree["edge_evidence"] = xr.DataTree(
        xr.Dataset(
            {
                "log_factor": (("evaluation", "edge"), log_factor[chain, draw].astype(np.float32)),
                "prior_log_odds": (("evaluation", "edge"), prior_log_odds[chain, draw].astype(np.float32)),
            },
            coords={
                "chain_number": ("evaluation", posterior["chain"].values[chain]),
                "draw_number": ("evaluation", draw),
                "edge": posterior["edge"].values,
            },
        )
    )
    return tree
