"""Conditional Bayes factors of edges at draws of a run, from which `bayesmrf.results.edge_evidence` has evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import OptionError
from ..likelihood import Likelihood
from ..models.bases import edge_starts
from ..posterior.conditionals.edge_factors import Places, log_factors
from ..posterior.conditionals.group_lines import BASELINE, DIFFERENCE, GroupProblem
from ..posterior.conditionals.group_problem import lines_of, one_group_problem
from ..posterior.conditionals.spike import draw_cauchy_precision, draw_precision, edge_prior, has_cauchy_scale
from ..posterior.edges.differences import DifferencePrior, DifferencesKernel
from ..priors import SpikeSlab
from ..results import WithPosterior
from ..results import edge_evidence as results
from ..results.bayes_factors import LIMITS
from ..results.blocks import variable
from ..results.communities import blocks_of, draw_log_odds
from ..results.edge_evidence import FEWEST, evidence_table, has_evidence
from ..rng import OTHER, descendant
from .mode_check import spread_draws
from .pair_probabilities import PairProbabilities

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_KEY = 55  # of the random numbers
_WORK = 2**22  # exponentials of all evaluations
_LARGE = 2**27  # the same of those that are evaluated in any case
_LEAST, _SPARSE = 200, 10  # draws that are evaluated in any case, or one of ten
_BATCH = 2**20  # exponentials of draws that are evaluated together
_POINTS = 65  # exponentials of an integral, for each state of the ends
_STATE = 2  # exponentials that take as long as a state of a table
_ROUNDING = 1e-12  # of a baseline that is absent, relative to the weights
_IMPUTATIONS = 10  # draws of the hidden entries at a theta, of which the last is used


class WithEvidence(WithPosterior):
    """Estimators whose edges, or differences, may be absent."""

    def evidence_table(self, kind: str = "local", limits: tuple[float, float] = LIMITS) -> pd.DataFrame:
        """Return the Bayes factor of each edge (or difference between groups) against its absence, in words, too.

        Parameters
        ----------
        kind : {"local", "marginal"}
            * local: the factor of the edge given all else, averaged over draws without it, the density p0 held. An edge
              of which the data say nothing has 1.
            * marginal: posterior over prior odds. Under a learnt density what other edges teach about p0 counts, too.
        limits : (float, float)
            Bayes factors from which an edge is weakly included, and included; their inverses are the other limits.

        Returns
        -------
        DataFrame
            The largest factors first: first, second, prior (probability of the edge), kind (of a panel), bayes_factor
            (from 10^-4 to 10^4, which are bounds; NaN of an edge that is forced, forbidden or not identified),
            log10_bf_error (Monte Carlo standard error of its log10; NaN if it is not known), pareto_k (above 0.7 the
            error is not known), evidence ("included", "weakly included", "inconclusive", "weakly excluded", "excluded",
            "forced", "forbidden", or "not identified" if no row shows both ends) and near_limit (whether the word may
            change with more draws).

        Raises
        ------
        OptionError
            If an option is not valid, or the run has no Bayes factors.
        """
        check_is_fitted(self)
        if not has_evidence(self.posterior_):
            raise OptionError("the run has no Bayes factors of its edges, as an earlier version made it; fit again.")
        return evidence_table(self.posterior_, kind, limits)


class EdgeTerms(NamedTuple):
    """What the full conditionals of edges need of an estimator, after its draws."""

    make: Callable[[np.ndarray], GroupProblem]  # from mean statistics of complete data, (G, F), to constants of lines
    contrast: np.ndarray  # (G, q), that of differences, or (1, 0) for edges
    n_spiked: int  # parameters, of edges first, that have a baseline and differences
    is_exact: bool  # whether the run computes moments exactly


def terms_of_edges(model: Any, n: float, prior: SpikeSlab, is_exact: bool) -> EdgeTerms:
    """Return the terms of edges of n observations."""

    def make(sums: np.ndarray) -> GroupProblem:
        lines = lines_of(model, sums[0].copy(), n, edge_prior(prior).tilt)
        return one_group_problem(model, lines, prior, np.empty((0, 2), np.int64))

    return EdgeTerms(make, np.zeros((1, 0)), int(edge_starts(model)[-1]), is_exact)


def terms_of_differences(likelihood: Likelihood, prior: DifferencePrior, is_exact: bool) -> EdgeTerms:
    """Return the terms of differences between groups."""
    model: Any = likelihood.model

    def make(sums: np.ndarray) -> GroupProblem:
        return DifferencesKernel(likelihood.replaced(sums), *prior).problem

    n_spiked = int(edge_starts(model)[-1]) if prior.biases == "free" else model.n_features
    return EdgeTerms(make, prior.contrast, n_spiked, is_exact)


def add_edge_evidence(
    tree: xr.DataTree, likelihood: Likelihood, terms: EdgeTerms, seeds: np.random.SeedSequence
) -> None:
    """Add the log Bayes factors of edges, or differences, given all else as group ``edge_evidence``, in place.

    Draws are evenly spread over all chains; how many depends on sizes only, never on time.

    Where moments come from chains, or integrals are estimates, noise of variance s^2 in the log odds x of an edge adds
    s^2 / 2 times the second derivative to the mean of its probability 1 / (1 + exp(-x)). A shift of x by
    s^2 / 2 tanh(x / 2) removes that, and in both tails the bias of the odds.

    Parameters
    ----------
    tree : xarray.DataTree
    likelihood : Likelihood
        Hidden entries are drawn given theta.
    terms : EdgeTerms
    seeds : numpy.random.SeedSequence
        Of the run, whose own random numbers do not change.
    """
    theta, model, (n_groups, q) = variable(tree, "theta"), likelihood.model, terms.contrast.shape
    (n_chains, n_draws), rng = theta.shape[:2], descendant(seeds, OTHER, _KEY)
    part, memory = DIFFERENCE if q else BASELINE, likelihood.start(rng)
    is_hidden = any(sample.hidden is not None for sample in likelihood.samples)
    problem = terms.make(np.array([s.s_bar for s in likelihood.samples]))
    cells = PairProbabilities(model, [sample.n_samples for sample in likelihood.samples], terms.is_exact, rng)
    each = int(n_groups * (model.n_edges * _POINTS * model.n_states**2 + _STATE * cells.work))
    least = _LEAST if cells.n_chains < np.inf else max(_LEAST, n_chains * n_draws // _SPARSE)
    least = min(least, max(_LARGE // each, FEWEST))
    most = least if is_hidden else max(_WORK // each, least)  # missing answers are drawn again for each of them
    which = np.array(spread_draws(n_chains, n_draws, most))
    scale, p = (_of_draws(tree, name)[tuple(which.T)] for name in ("slab_scale", "density"))
    found, noise = np.empty((2, len(which), model.n_edges), np.float32)
    width = 1 if is_hidden else max(1, _BATCH // each)
    for first in range(0, len(which), width):
        some = slice(first, first + width)
        natural = _read(theta, which[some]).astype(np.float64).reshape(-1, n_groups, model.n_features)
        weights = _coordinates(natural[..., : terms.n_spiked], terms.contrast)
        if is_hidden:
            point = np.concatenate([weights.ravel(), natural[..., terms.n_spiked :].ravel()])
            for _ in range(_IMPUTATIONS):
                sums, memory = likelihood.complete(point, rng, memory)
            problem = terms.make(np.reshape(sums / likelihood.sizes, (n_groups, -1)))
        own = scale[some] ** -2.0
        base = [_precision(rng, problem, x) for x in weights] if q else own
        at = Places(weights, natural, cells.at(problem, natural), np.stack([base, own], axis=1))
        found[some], noise[some] = log_factors(rng, model, problem, at, part, cells.n_chains)
    prior = problem.prior if q else problem.baseline
    with np.errstate(divide="ignore"):
        log_odds = (np.log(p) - np.log1p(-p))[:, None]
    if (blocks := blocks_of(tree)) is not None:
        labels, there = (_read(variable(tree, name), which) for name in ("blocks", "included"))
        log_odds = draw_log_odds(rng, blocks, labels, there, model.graph.edges)
    elif prior.is_given:
        log_odds = np.repeat(prior.log_odds[None, : model.n_edges], len(which), axis=0)
    found += 0.5 * noise * np.tanh(0.5 * (log_odds + found))
    results.add_edge_evidence(tree, which, found, log_odds if log_odds.shape[1] > 1 else log_odds[:, 0])


def _of_draws(tree: xr.DataTree, name: str) -> np.ndarray:
    """Return a number of each draw, (n_chains, n_draws), which may be a constant of the run."""
    posterior = tree["posterior"].dataset
    sizes = posterior.sizes["chain"], posterior.sizes["draw"]
    values = (posterior if name in posterior else tree["constant_data"].dataset)[name].values
    return np.broadcast_to(values, sizes)


def _read(draws: Any, which: np.ndarray) -> np.ndarray:
    """Return some draws (n, 2), chain after chain, of a variable."""
    chains = np.unique(which[:, 0])
    return np.concatenate([draws[int(chain), which[which[:, 0] == chain, 1]].values for chain in chains])


def _coordinates(natural: np.ndarray, contrast: np.ndarray) -> np.ndarray:
    """Return baselines and differences (n, 1 + q, P) of parameters in each group; what is absent is exactly 0.

    The columns of the contrasts have the length 1 / sqrt(2).
    """
    base = natural.mean(axis=1, keepdims=True)
    own = 2 * contrast.T @ (natural - base) * (natural != natural[:, :1]).any(axis=1, keepdims=True)
    absent = np.abs(base) < _ROUNDING * np.abs(natural).max(axis=1, keepdims=True)
    return np.concatenate([np.where(absent, 0.0, base), own], axis=1)


def _precision(rng: np.random.Generator, problem: GroupProblem, weights: np.ndarray) -> float:
    """Return the precision of the slab of baselines, drawn given these if it is learnt."""
    starts = problem.places[: problem.n_edges + 1]
    base, sizes = weights[0, : starts[-1]], np.diff(starts).astype(float)
    squares = np.add.reduceat(base**2, starts[:-1])
    if has_cauchy_scale(problem.baseline):
        return float(draw_cauchy_precision(rng, problem.baseline, squares, sizes))
    return float(draw_precision(rng, problem.baseline, sizes[squares > 0].sum(), squares.sum()))
