r"""Bayes factors of edges from how many draws have them, without the full conditional of an edge.

With p0 the probability of an edge in a draw, its prior odds o = p0 / (1 - p0) and gamma = 1 if the draw has the edge,

.. math:: \mathrm E[\gamma / o] = \mathrm E[P_1 / o], \qquad \mathrm E[1 - \gamma] = \mathrm E[P_0],

as :math:`P_1 = \mathrm E[\gamma | rest]` and p0 is part of the rest. So the means of gamma / o and 1 - gamma over all
draws estimate the same factor as those of `bayesmrf.results.edge_evidence`, which average P_1 and P_0 over some draws.
The former have the smaller error where many draws have the edge and many do not; the latter where few have, or lack it.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..models.panel import DENSITIES
from .blocks import Columns, divided, variable
from .communities import blocks_of
from .display import display_in
from .rank_diagnostics import batch, effective_sizes

if TYPE_CHECKING:
    import xarray as xr

_LARGEST = 0.15  # error of a log10 up to which it is taken for one: a mean of rare draws may miss all that matter
_FEWEST = 20  # draws with the edge, and without it, from which an error is estimated


class Counted(NamedTuple):
    """Bayes factors from numbers of draws; NaN where too few have the edge, or lack it; all (n_edges,)."""

    log10: np.ndarray
    error: np.ndarray


def counted_evidence(tree: xr.DataTree, log_odds: np.ndarray, is_fixed: np.ndarray, is_local: bool) -> Counted:
    """Estimate the Bayes factor of each edge, or difference.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    log_odds : (n_edges,) array
        Prior log odds, means over the prior where they differ between draws.
    is_fixed : (n_edges,) array of bool
        Whether they are the same in all draws.
    is_local : bool
        Whether prior odds are those of each draw.
    """
    counted = Counted(*np.full((2, len(log_odds)), np.nan))
    if is_local and not is_fixed.all() and blocks_of(tree) is not None:
        return counted  # draws have no odds
    included = Columns(variable(tree, "included"), function=partial(np.not_equal, 0))
    n_chains, n_draws, _ = included.shape
    share = included.means()
    least = _FEWEST / (n_chains * n_draws)
    known = np.flatnonzero((share >= least) & (share <= 1 - least) & np.isfinite(log_odds))
    odds = _OddsOfDraws(tree)
    for part in divided(len(known), batch(n_chains, n_draws)) if len(known) else ():
        edges = known[part]
        gamma = included[:, :, edges].astype(float)
        inverse: Any = np.exp(-log_odds[edges])
        if is_local and not is_fixed[edges].all():
            inverse = np.where(is_fixed[edges], inverse, odds.inverse(edges))
        above, below = gamma * inverse, 1 - gamma
        top, bottom = above.mean(axis=(0, 1)), below.mean(axis=(0, 1))
        influence = above / top - below / bottom
        counted.log10[edges] = np.log10(top / bottom)
        size = effective_sizes(influence)
        counted.error[edges] = influence.std(axis=(0, 1), ddof=1) / np.sqrt(size) / np.log(10)
    counted.log10[~(counted.error <= _LARGEST)] = np.nan
    counted.error[~(counted.error <= _LARGEST)] = np.nan
    return counted


class _OddsOfDraws:
    """The prior odds of edges in each draw."""

    def __init__(self, tree: xr.DataTree) -> None:
        posterior: Any = tree["posterior"].dataset
        self.densities = {name: posterior[name].values for name in DENSITIES.values() if name in posterior}
        self.kinds = display_in(tree).edge_kinds

    def inverse(self, edges: np.ndarray) -> np.ndarray:
        """Return 1 / odds of some edges, (n_chains, n_draws, n), or (n_chains, n_draws, 1) if all have the same."""
        if self.kinds is None:
            p = self.densities["density"][:, :, None]
        else:
            p = np.stack([self.densities[DENSITIES[kind]] for kind in self.kinds[edges]], axis=2)
        return np.asarray((1 - p) / p)
