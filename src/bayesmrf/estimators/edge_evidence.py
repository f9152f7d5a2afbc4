"""Conditional Bayes factors of edges at draws of a run, from which `bayesmrf.results.edge_evidence` has evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import MOMENTS
from ..errors import OptionError
from ..inference.chains import Persistent
from ..inference.elimination.engine import Elimination
from ..likelihood import Likelihood
from ..models.bases import edge_starts
from ..models.categorical import states_of
from ..posterior.conditionals.centred import node_shares, pair_cells
from ..posterior.conditionals.edge_factors import Places, log_factors, table_cells
from ..posterior.conditionals.group_lines import BASELINE, DIFFERENCE, GroupProblem, one_group
from ..posterior.conditionals.group_problem import lines_of, one_group_problem
from ..posterior.conditionals.spike import draw_precision, edge_prior
from ..posterior.conditionals.state_table import block_order
from ..posterior.edges.differences import DifferencePrior, DifferencesKernel
from ..priors import SpikeSlab
from ..progress import begin_part
from ..results import edge_evidence as results
from ..results.bayes_factors import LIMITS
from ..results.blocks import spread_draws, variable
from ..results.communities import blocks_of, draw_log_odds
from ..results.edge_evidence import FEWEST
from ..results.marks import MOST_MARKED
from ..rng import OTHER, descendant
from ..samplers.pair_counts import pair_shares
from ..threads import one_thread

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_KEY = 55  # of the random numbers
_FIRST, _MOST = 2**25, 2**30  # terms of the draws that are evaluated first, and of all
_MOST_HIDDEN = 200  # draws where missing answers are drawn again for each
_BATCH = 2**20  # terms of draws that are evaluated together
_POINTS, _FIXED = 65, 32  # of an integral, and terms of each besides those of the states of the ends
_STATE = 2  # terms that take as long as a state of a table
_ROUNDING = 1e-12  # of a baseline that is absent, relative to the weights
_IMPUTATIONS = 10  # draws of the hidden entries at a theta by chains, of which the last is used
TABLE = 2**20  # joint states that are summed over at a draw
_EACH = 8  # chains for each observation, within these numbers
_FEWEST_CHAINS, _MOST_CHAINS = 2**13, 2**17
_SWEEPS, _START = 16, 10  # sweeps between two draws, and times that before the first
_SLOW = 8  # times that a sweep of nodes with many states takes


def evidence_table(self: Any, kind: str = "local", limits: tuple[float, float] = LIMITS) -> pd.DataFrame:
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
        error is not known), evidence ("included", "weakly included", "inconclusive", "weakly excluded", "excluded", or
        for differences "different", "weakly different", "inconclusive", "weakly equal", "equal"; "forced",
        "forbidden", or "not identified" if no row shows both ends) and near_limit (whether the category may change
        with a longer run).

    Raises
    ------
    OptionError
        If an option is not valid, or the run has no Bayes factors.
    """
    check_is_fitted(self)
    if not results.has_evidence(self.posterior_):
        raise OptionError("the run has no Bayes factors of its edges, as an earlier version made it; fit again.")
    return results.evidence_table(self.posterior_, kind, limits)


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

    A tree that has the group is left as it is. Draws are evenly spread over all chains. First there are few; they are
    doubled until log10 Bayes factors between -1.5 and 1.5 have errors of at most 0.05 (but for 5 % of the edges), all
    draws are evaluated, or they would take too long, by sizes alone: never by time, or the number of threads.

    Parameters
    ----------
    tree : xarray.DataTree
        Of all draws of a run, or of those at an interim look.
    likelihood : Likelihood
        Hidden entries are drawn given theta.
    terms : EdgeTerms
    seeds : numpy.random.SeedSequence
        Of the run, whose own random numbers do not change.
    """
    if results.has_evidence(tree):
        return
    with one_thread():
        factors = _Factors(tree, likelihood, terms, descendant(seeds, OTHER, _KEY))
        for n in factors.numbers():
            factors.add_draws(n)
            if is_precise(tree):
                return


def is_precise(tree: xr.DataTree) -> bool:
    """Return whether the errors of Bayes factors mark at most as many edges as a good run may have."""
    return bool(results.is_uncertain(results.evidence(tree)).mean() <= MOST_MARKED)


class _Factors:
    """Conditional Bayes factors at draws of a run, of which more can be evaluated.

    Where moments come from chains, or integrals are estimates, noise of variance s^2 in the log odds x of an edge adds
    s^2 / 2 times the second derivative to the mean of its probability 1 / (1 + exp(-x)). A shift of x by
    s^2 / 2 tanh(x / 2) removes that, and in both tails the bias of the odds.
    """

    def __init__(self, tree: xr.DataTree, likelihood: Likelihood, terms: EdgeTerms, rng: np.random.Generator) -> None:
        self.tree, self.likelihood, self.terms, self.rng = tree, likelihood, terms, rng
        self.theta, model = variable(tree, "theta"), likelihood.model
        self.memory, samples = likelihood.start(rng), likelihood.samples
        self.is_hidden = any(sample.hidden is not None for sample in samples)
        self.problem = terms.make(np.array([sample.s_bar for sample in samples]))
        self.cells = PairProbabilities(model, [sample.n_samples for sample in samples], terms.is_exact, rng)
        n_groups = len(terms.contrast)
        self.work = int(n_groups * (model.n_edges * _POINTS * (model.n_states**2 + _FIXED) + _STATE * self.cells.work))
        self.which = np.empty((0, 2), int)  # draws that are evaluated, chain after chain
        self.log_factor = np.empty((0, model.n_edges), np.float32)
        self.log_odds = np.empty((0, 1))

    def numbers(self) -> Iterator[int]:
        """Yield how many draws of each chain are evaluated: twice as many as before, and all that there are."""
        n_chains, n_draws = self.theta.shape[:2]
        first, most = (max(FEWEST, terms // self.work) for terms in (_FIRST, _MOST))
        if self.is_hidden:
            first, most = FEWEST, min(most, _MOST_HIDDEN)
        n, most = (min(n_draws, max(1, number // n_chains)) for number in (min(first, most), most))
        while n < most:
            yield n
            n = min(2 * n, n_draws)
        if n == most or most == n_draws:
            yield n

    def add_draws(self, n: int) -> None:
        """Evaluate ``n`` draws of each chain, and add the factors to the tree; some may be known."""
        which = np.array(spread_draws(self.theta.shape[0], self.theta.shape[1], n * self.theta.shape[0]))
        is_new = ~(which[:, None] == self.which[None]).all(axis=2).any(axis=1)
        log_factor, log_odds = self._of(which[is_new])
        self.which = np.concatenate([self.which, which[is_new]])
        self.log_factor = np.concatenate([self.log_factor, log_factor])
        self.log_odds = np.concatenate([self.log_odds, log_odds]) if len(self.log_odds) else log_odds
        order = np.lexsort(self.which.T[::-1])
        odds = self.log_odds[order]
        odds = odds if odds.shape[1] > 1 else odds[:, 0]
        results.add_edge_evidence(self.tree, self.which[order], self.log_factor[order], odds)

    def _of(self, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute log factors (n, n_edges) at some draws, and prior log odds, (n, 1) or (n, n_edges)."""
        model, rng, problem, tree = self.likelihood.model, self.rng, self.problem, self.tree
        n_groups, q = self.terms.contrast.shape
        part = DIFFERENCE if q else BASELINE
        scale, p = (_of_draws(tree, name)[tuple(which.T)] for name in ("slab_scale", "density"))
        log_factor, noise = np.empty((2, len(which), model.n_edges), np.float32)
        width = 1 if self.is_hidden else max(1, _BATCH // self.work)
        for first in range(0, len(which), width):
            batch = slice(first, first + width)
            begin_part(f"{len(self.which) + first:,} of {len(self.which) + len(which):,} draws")
            natural = _read(self.theta, which[batch]).astype(np.float64).reshape(-1, n_groups, model.n_features)
            weights = _coordinates(natural[..., : self.terms.n_spiked], self.terms.contrast)
            if self.is_hidden:
                problem = self._completed(weights, natural)
            slab_precision = scale[batch] ** -2.0
            base = [_precision(rng, problem, x) for x in weights] if q else slab_precision
            at = Places(weights, natural, self.cells.at(problem, natural), np.stack([base, slab_precision], axis=1))
            log_factor[batch], noise[batch] = log_factors(rng, model, problem, at, part, self.cells.n_chains)
        log_odds = self._log_odds(problem.prior if q else problem.baseline, which, p)
        log_factor += 0.5 * noise * np.tanh(0.5 * (log_odds + log_factor))
        return log_factor, log_odds

    def _completed(self, weights: np.ndarray, natural: np.ndarray) -> GroupProblem:
        """Return the constants of lines of data whose missing answers are drawn at theta."""
        point = np.concatenate([weights.ravel(), natural[..., self.terms.n_spiked :].ravel()])
        for _ in range(1 if self.likelihood.completes_exactly else _IMPUTATIONS):
            sums, self.memory = self.likelihood.complete(point, self.rng, self.memory)
        return self.terms.make(np.reshape(sums / self.likelihood.sizes, (len(self.terms.contrast), -1)))

    def _log_odds(self, prior: Any, which: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Compute prior log odds of edges given all else at some draws, of densities p."""
        model = self.likelihood.model
        if (blocks := blocks_of(self.tree)) is not None:
            labels, included = (_read(variable(self.tree, name), which) for name in ("blocks", "included"))
            return draw_log_odds(self.rng, blocks, labels, included, model.graph.edges)
        if prior.is_given:
            return np.repeat(prior.log_odds[None, : model.n_edges], len(which), axis=0)
        with np.errstate(divide="ignore"):
            return (np.log(p) - np.log1p(-p))[:, None]


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
    """Split the parameters of groups into baselines and differences (n, 1 + q, P); what is absent is exactly 0.

    The columns of the contrasts have the length 1 / sqrt(2).
    """
    base = natural.mean(axis=1, keepdims=True)
    differences = 2 * contrast.T @ (natural - base) * (natural != natural[:, :1]).any(axis=1, keepdims=True)
    absent = np.abs(base) < _ROUNDING * np.abs(natural).max(axis=1, keepdims=True)
    return np.concatenate([np.where(absent, 0.0, base), differences], axis=1)


def _precision(rng: np.random.Generator, problem: GroupProblem, weights: np.ndarray) -> float:
    """Return the precision of the slab of baselines, drawn given these if it is learnt."""
    starts = problem.places[: problem.n_edges + 1]
    base, sizes = weights[0, : starts[-1]], np.diff(starts).astype(float)
    squares = np.add.reduceat(base**2, starts[:-1])
    return draw_precision(rng, problem.baseline, squares, sizes)


class PairProbabilities:
    """Probabilities of the states 00, 01, ... of the ends of each edge.

    Parameters
    ----------
    model : TwoArrays
    sizes : sequence of float
        Observations of each group.
    is_exact : bool
        Whether the run computes moments exactly, where all states do not fit into a table.
    rng : numpy.random.Generator
        For chains.
    """

    def __init__(self, model: Any, sizes: Sequence[float], is_exact: bool, rng: np.random.Generator) -> None:
        self.model, graph, m = model, model.graph, model.n_states
        self.n_chains, self.n_groups = np.inf, len(sizes)
        self.work: float = m**graph.n_nodes  # of a draw, in states
        self._order = block_order(graph.edges, graph.n_nodes) if m**graph.n_nodes <= TABLE else None
        self._exact = Elimination() if self._order is None and is_exact else None
        if self._exact is not None:
            self._plan, self.work = self._exact.prepare(model), TABLE
        elif self._order is None:
            self.n_chains = int(np.clip(_EACH * max(sizes), _FEWEST_CHAINS, _MOST_CHAINS))
            self._engine = Persistent(n_chains=self.n_chains, n_sweeps=_SWEEPS)
            self._memory = [self._engine.start(model, rng) for _ in sizes]
            self._left, self._values = _START, (-1, 1) if states_of(model) is None else range(m)
            self.work = self.n_chains * graph.n_nodes * _SWEEPS / 16 * (1 if m == 2 else _SLOW)

    def at(self, problem: GroupProblem, thetas: np.ndarray) -> np.ndarray:
        """Return them at the parameters of each group at some draws (n, G, F): (n, G, n_edges, m^2)."""
        model, (u, v), m = self.model, self.model.graph.edges.T, self.model.n_states
        cells = np.empty((*thetas.shape[:2], model.n_edges, m * m))
        if self._order is not None:
            for t in range(self.n_groups):
                table_cells(one_group(problem, t), self._order, thetas[:, t], cells[:, t])
            turned = np.flatnonzero(u > v)
            swapped = cells[:, :, turned].reshape(*cells.shape[:2], len(turned), m, m).swapaxes(3, 4)
            cells[:, :, turned] = swapped.reshape(*swapped.shape[:3], m * m)
            return cells
        for i, t in np.ndindex(thetas.shape[:2]):
            if self._exact is not None:
                moments = self._exact.infer(model, thetas[i, t], self._plan, MOMENTS).moments
                cells[i, t] = pair_cells(model, moments, node_shares(model, moments), np.arange(model.n_edges)).T
            else:
                for _ in range(self._left if i == 0 else 1):
                    self._memory[t] = self._engine.follow(model, thetas[i, t], self._memory[t])
                cells[i, t] = pair_shares(self._memory[t].chains, int(self.n_chains), model.graph.edges, self._values)
        self._left = 1
        return cells
