r"""Evidence for each edge, or difference: Bayes factors, their errors, and words.

In an evaluated draw L is the Bayes factor of an edge given all else, and o are its prior odds:
:math:`P_1 = o L / (1 + o L)` is the probability that it exists given the rest, and :math:`P_0 = 1 - P_1`. Both are
averaged over all draws. The local Bayes factor is the mean of L over draws without the edge,
:math:`\mathrm E[P_1 / o] / \mathrm E[P_0]`; the marginal one are posterior over prior odds. Of an edge that many draws
have and many do not, `bayesmrf.results.counted_evidence` has the smaller error, and is taken.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from ..declare.rule import choice
from ..errors import OptionError
from .bayes_factors import BOUND, LIMITS, bounded
from .communities import blocks_of
from .counted_evidence import counted_evidence
from .display import display_in
from .identified import not_identified
from .pareto import pareto_k
from .rank_diagnostics import effective_sizes

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

KIND = choice("local", "marginal")
WORDS = ("included", "weakly included", "inconclusive", "weakly excluded", "excluded")
FORCED, FORBIDDEN = "forced", "forbidden"
NOT_IDENTIFIED = "not identified"  # the rows say nothing of the edge
_RELIABLE = 0.7  # Pareto k up to which a mean has an error
_ERRORS = 2.0  # from a limit, within which a word is near it
NEAR, ERROR = 1.5, 0.05  # log10 of Bayes factors whose error matters, and how large it may be
FEWEST = 40  # evaluations from which there is an error
_ALIKE = 0.2  # standard deviation of terms, over their mean, below which their largest ones are like the others


class Evidence(NamedTuple):
    """Evidence for each edge; all (n_edges,)."""

    log10: np.ndarray  # of the Bayes factor; NaN of an edge that is forced, forbidden, or not identified
    error: np.ndarray  # Monte Carlo standard error of that; NaN if it is not known
    pareto_k: np.ndarray  # of the largest terms of the smaller mean; NaN where terms are alike, or few, or counted
    log_odds: np.ndarray  # prior log odds, infinite if the edge is forced or forbidden
    is_silent: np.ndarray | bool = False  # whether the rows say nothing of it


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
    return Evidence(size, error, k, log_odds, silent)


def is_uncertain(found: Evidence) -> np.ndarray:
    """Return whether the log10 of a Bayes factor is between -1.5 and 1.5, with an error above 0.05 or not known."""
    return np.asarray((np.abs(found.log10) <= NEAR) & ~(found.error <= ERROR))


def _log_mean(logs: np.ndarray) -> np.ndarray:
    return np.asarray(np.logaddexp.reduce(logs, axis=0) - np.log(len(logs)))


def _mean_log_odds(tree: xr.DataTree) -> float:
    """Average the prior log odds of an edge over the prior of the density, or of blocks, if it is learnt."""
    if (blocks := blocks_of(tree)) is not None:
        return float(logit(blocks.mean()))
    density = json.loads(tree.attrs.get("prior", "{}")).get("density", {"a": 1, "b": 1})
    return float(np.log(density["a"] / density["b"])) if isinstance(density, dict) else np.nan


def check_limits(limits: Any) -> tuple[float, float]:
    """Return the two limits of words.

    Raises
    ------
    OptionError
    """
    expected = "two numbers of which 1 <= first < second <= 10,000"
    try:
        weak, strong = map(float, limits)
    except (TypeError, ValueError):
        raise OptionError(option="limits", got=limits, expected=expected) from None
    if not 1 <= weak < strong <= 10**BOUND:
        raise OptionError(option="limits", got=limits, expected=expected)
    return weak, strong


def evidence_columns(found: Evidence, limits: tuple[float, float] = LIMITS) -> dict[str, np.ndarray]:
    """Return the columns bayes_factor, log10_bf_error, pareto_k, evidence and near_limit.

    Factors beyond 10^4 and below 10^-4 are these bounds.
    """
    size, ends = found.log10, np.log10(check_limits(limits))
    words = np.array(WORDS, dtype=object)[np.searchsorted([-ends[1], -ends[0], ends[0], ends[1]], -size)]
    words[np.broadcast_to(found.is_silent, words.shape)] = NOT_IDENTIFIED
    words[found.log_odds == np.inf], words[found.log_odds == -np.inf] = FORCED, FORBIDDEN
    away = np.abs(np.abs(size)[:, None] - ends).min(axis=1)
    near = np.where(np.isnan(found.error), np.abs(size) < BOUND, away <= _ERRORS * found.error)
    return {
        "bayes_factor": bounded(size),
        "log10_bf_error": found.error,
        "pareto_k": found.pareto_k,
        "evidence": words,
        "near_limit": near.astype(bool),
    }


def headline(words: np.ndarray, noun: str) -> str:
    """Return how many edges that have a Bayes factor are included, excluded, and inconclusive."""
    has = ~np.isin(words, (FORCED, FORBIDDEN, NOT_IDENTIFIED))
    included, excluded = (int((words == word).sum()) for word in (WORDS[0], WORDS[-1]))
    rest = int(has.sum()) - included - excluded
    silent = int((words == NOT_IDENTIFIED).sum())
    more = f"; {silent:,} not identified" if silent else ""
    return f"{included:,} of {int(has.sum()):,} {noun} included, {excluded:,} excluded, {rest:,} inconclusive{more}"


def doubt_sentence(columns: dict[str, np.ndarray], noun: str = "pairs") -> str:
    """Return how many words are near a limit, and of how many Bayes factors the error is not known."""
    near = int(columns["near_limit"].sum())
    unknown = int((columns["near_limit"] & np.isnan(columns["log10_bf_error"])).sum())
    if not near:
        return ""
    text = f"More draws may change the word of {near:,} {noun if near > 1 else noun[:-1]}, as a limit lies within two "
    return f"{text}errors of the Bayes factor{f', or its error is unknown ({unknown:,})' if unknown else ''}."


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
    frame = pd.DataFrame(table | evidence_columns(factors, limits))
    order = np.argsort(-np.where(np.isnan(factors.log10), -np.inf, factors.log10), kind="stable")
    return frame.iloc[order].reset_index(drop=True)
