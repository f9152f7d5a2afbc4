r"""Evidence for each edge, or difference: Bayes factors, their errors, and words.

In an evaluated draw L is the Bayes factor of an edge given all else, and o are its prior odds:
:math:`P_1 = o L / (1 + o L)` is the probability that it exists given the rest, and :math:`P_0 = 1 - P_1`. Both are
averaged over all draws. The local Bayes factor is the mean of L over draws without the edge,
:math:`\mathrm E[P_1 / o] / \mathrm E[P_0]`; the marginal one are posterior over prior odds.

Of an edge that many draws have and many do not, the factor by counts has the smaller error, and is taken. With gamma
= 1 if a draw has the edge,

.. math:: \mathrm E[\gamma / o] = \mathrm E[P_1 / o], \qquad \mathrm E[1 - \gamma] = \mathrm E[P_0],

as :math:`P_1 = \mathrm E[\gamma | rest]` and p0 is part of the rest. So the means of gamma / o and 1 - gamma over all
draws estimate the same factor.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from ..declare.rule import choice
from ..models.panel import DENSITIES
from .bayes_factors import BOUND, LIMITS, bounded
from .blocks import Columns, divided, variable
from .categories import FORBIDDEN, FORCED, NOT_IDENTIFIED, WORDS, categories, check_limits, words_in
from .communities import blocks_of
from .display import display_in
from .rank_diagnostics import batch, effective_sizes, pareto_k

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

KIND = choice("local", "marginal")
_PARTS = 4  # of the evaluations, whose categories show whether one may change where the error is not known
_RELIABLE = 0.7  # Pareto k up to which a mean has an error
_ERRORS = 2.0  # from a limit, within which a word is near it
NEAR, ERROR = 1.5, 0.05  # log10 of Bayes factors whose error matters, and how large it may be
FEWEST = 40  # evaluations from which there is an error
_ALIKE = 0.2  # standard deviation of terms, over their mean, below which their largest ones are like the others
FIELD = "not_identified"  # of ``constant_data``, where there are any: whether the rows say nothing of each edge
_LARGEST = 0.15  # error of a log10 up to which it is taken for one: a mean of rare draws may miss all that matter
_FEWEST = 20  # draws with the edge, and without it, from which an error is estimated


class Evidence(NamedTuple):
    """Evidence for each edge; all (n_edges,)."""

    log10: np.ndarray  # of the Bayes factor; NaN of an edge that is forced, forbidden, or not identified
    error: np.ndarray  # Monte Carlo standard error of that; NaN if it is not known
    pareto_k: np.ndarray  # of the largest terms of the smaller mean; NaN where terms are alike, or few, or counted
    log_odds: np.ndarray  # prior log odds, infinite if the edge is forced or forbidden
    is_silent: np.ndarray | bool = False  # whether the rows say nothing of it
    parts: np.ndarray | None = None  # (_PARTS, n_edges), the log10 by each part of the evaluations


def add_edge_evidence(tree: xr.DataTree, draws: np.ndarray, log_factor: np.ndarray, prior_log_odds: np.ndarray) -> None:
    """Add the log Bayes factors of edges given all else at some draws as group ``edge_evidence``, in place.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    draws : (n, 2) array
        Chain and draw of each evaluation, chain after chain, as many of each.
    log_factor : (n, n_edges) array
    prior_log_odds : (n,) or (n, n_edges) array
        Of the edge given all else.
    """
    import xarray as xr

    chain, draw = np.array(draws).T
    numbers = np.asarray(tree["posterior"].dataset["chain"])[chain]
    along = ("evaluation", "edge")
    variables = {"log_factor": (along, log_factor), "prior_log_odds": (along[: prior_log_odds.ndim], prior_log_odds)}
    coords = {"chain_number": ("evaluation", numbers), "draw_number": ("evaluation", draw)}
    edge = {"edge": np.array(tree["constant_data"].dataset["edge"].values.tolist(), dtype=object)}
    tree["edge_evidence"] = xr.DataTree(xr.Dataset(variables, coords=coords | edge))


def add_recorded_evidence(tree: xr.DataTree, log_factor: np.ndarray, prior_log_odds: np.ndarray) -> None:
    """Add what a kernel computed at some of its draws (`add_edge_evidence`), in place; nothing if there are none.

    Parameters
    ----------
    tree : xarray.DataTree
    log_factor, prior_log_odds : (n_chains, n_draws, n_edges) array
        NaN in draws without them.
    """
    known = np.isfinite(log_factor).all(axis=2)
    known &= known.cumsum(axis=1) <= known.sum(axis=1).min()  # as many of each chain
    if known.any():
        logs, odds = (values[known].astype(np.float32) for values in (log_factor, prior_log_odds))
        add_edge_evidence(tree, np.argwhere(known), logs, odds)


def has_evidence(tree: xr.DataTree) -> bool:
    """Return whether a run has Bayes factors of its edges."""
    return "edge_evidence" in tree.children


def evidence(tree: xr.DataTree, kind: str = "local") -> Evidence:
    """Compute the Bayes factor of each edge.

    Parameters
    ----------
    tree : xarray.DataTree
        With the group ``edge_evidence``.
    kind : {"local", "marginal"}
    """
    KIND.check("kind", kind)
    group = tree["edge_evidence"].to_dataset()
    log_l, chain = group["log_factor"].values.astype(np.float64), group["chain_number"].values
    log_o = group["prior_log_odds"].values.reshape(len(log_l), -1)
    fixed, n_chains = (log_o == log_o[0]).all(axis=0), len(np.unique(chain))
    prior = np.where(fixed, log_o[0], _mean_log_odds(tree))
    log_odds = np.broadcast_to(prior, log_l.shape[1:])
    is_open = np.isfinite(prior)
    log_o, prior = np.where(is_open, log_o, 0.0), np.where(is_open, prior, 0.0)
    log_1, log_0 = -np.logaddexp(0, -log_o - log_l), -np.logaddexp(0, log_o + log_l)
    above = log_1 - log_o if kind == "local" else log_1 - prior
    top, bottom = _log_mean(above), _log_mean(log_0)
    parts = np.array([_log_mean(a) - _log_mean(b) for a, b in zip(*map(_divided, (above, log_0)), strict=True)])
    log_factor, influence = top - bottom, np.exp(above - top) - np.exp(log_0 - bottom)
    error, k = np.full((2, len(log_factor)), np.nan)
    if len(log_l) >= FEWEST:
        series = influence.reshape(n_chains, -1, influence.shape[1])
        error = influence.std(axis=0, ddof=1) / np.sqrt(effective_sizes(series))
        error[(influence == influence[:1]).all(axis=0)] = 0.0
        smaller = np.where(_log_mean(log_1) < _log_mean(log_0), log_1, log_0)
        terms = np.exp(smaller - smaller.max(axis=0))
        vary = np.flatnonzero(terms.std(axis=0) > _ALIKE * terms.mean(axis=0))
        k[vary] = pareto_k(smaller[:, vary])
        error[k > _RELIABLE] = np.nan
    error /= np.log(10)
    log_factor /= np.log(10)
    odds, fixed = (np.broadcast_to(x, log_factor.shape) for x in (np.where(is_open, prior, np.nan), fixed))
    counted = counted_evidence(tree, odds, fixed, kind == "local")
    better = counted.error < np.where(np.isnan(error), np.inf, error)
    log_factor[better], error[better], k[better] = counted.log10[better], counted.error[better], np.nan
    silent = not_identified(tree)
    has = is_open & ~silent
    size, error, k = (np.where(has, x, np.nan) for x in (log_factor, error, k))
    return Evidence(size, error, k, log_odds, silent, parts / np.log(10))


def is_uncertain(found: Evidence) -> np.ndarray:
    """Return whether the log10 of a Bayes factor is between -1.5 and 1.5, with an error above 0.05 or not known."""
    return np.asarray((np.abs(found.log10) <= NEAR) & ~(found.error <= ERROR))


def _divided(logs: np.ndarray) -> list[np.ndarray]:
    return np.array_split(logs, min(_PARTS, len(logs)))


def _log_mean(logs: np.ndarray) -> np.ndarray:
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def _mean_log_odds(tree: xr.DataTree) -> float:
    """Average the prior log odds of an edge over the prior of the density, or of blocks, if it is learnt."""
    if (blocks := blocks_of(tree)) is not None:
        return float(logit(blocks.mean()))
    density = json.loads(tree.attrs.get("prior", "{}")).get("density", {"a": 1, "b": 1})
    return float(np.log(density["a"] / density["b"])) if isinstance(density, dict) else np.nan


def evidence_columns(
    found: Evidence, limits: tuple[float, float] = LIMITS, names: tuple[str, ...] = WORDS
) -> dict[str, np.ndarray]:
    """Return the columns bayes_factor, log10_bf_error, pareto_k, evidence and near_limit.

    Factors beyond 10^4 and below 10^-4 are these bounds. ``names`` are the words of the categories. A category is near
    a limit, that is, a longer run may change it, if a cut-off is within two errors; or, where the error is not known,
    if parts of the run differ in it.
    """
    size, ends = found.log10, np.log10(check_limits(limits))
    words = np.array([*names, ""], dtype=object)[categories(size, limits)]
    words[np.broadcast_to(found.is_silent, words.shape)] = NOT_IDENTIFIED
    words[found.log_odds == np.inf], words[found.log_odds == -np.inf] = FORCED, FORBIDDEN
    away = np.abs(np.abs(size)[:, None] - ends).min(axis=1)
    unstable = np.abs(size) < BOUND
    if found.parts is not None:
        unstable = (categories(found.parts, limits) != categories(size, limits)).any(axis=0) & np.isfinite(size)
    near = np.where(np.isnan(found.error), unstable, away <= _ERRORS * found.error)
    return {
        "bayes_factor": bounded(size),
        "log10_bf_error": found.error,
        "pareto_k": found.pareto_k,
        "evidence": words,
        "near_limit": near.astype(bool),
    }


def evidence_table(tree: xr.DataTree, kind: str = "local", limits: tuple[float, float] = LIMITS) -> pd.DataFrame:
    """Return the evidence for each edge, or difference, the strongest first; those without a factor last.

    Columns first and second (the ends), prior (probability of the edge), kind in a panel, and those of
    `evidence_columns`.
    """
    import pandas as pd

    factors, constant = evidence(tree, kind), tree["constant_data"].to_dataset()
    names = np.array([str(n) for n in constant["node"].values], dtype=object)
    first, second = names[constant["edges"].values].T
    table = {"first": first, "second": second, "prior": expit(factors.log_odds)}
    if (kinds := display_in(tree).edge_kinds) is not None:
        table["kind"] = kinds
    frame = pd.DataFrame(table | evidence_columns(factors, limits, words_in(tree)))
    order = np.argsort(-np.where(np.isnan(factors.log10), -np.inf, factors.log10), kind="stable")
    return frame.iloc[order].reset_index(drop=True)


def not_identified(tree: xr.DataTree) -> np.ndarray:
    """Return whether the rows say nothing of each edge, or difference: (n_edges,) bool."""
    constant = tree["constant_data"].dataset
    if FIELD not in constant:
        return np.zeros(constant.sizes.get("edge", 0), dtype=bool)
    return np.asarray(constant[FIELD].values, dtype=bool)


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
