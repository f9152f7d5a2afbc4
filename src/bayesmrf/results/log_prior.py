"""Log prior densities of the edges of draws, term by term: which edges exist, and their weights under any slab."""

from __future__ import annotations

from collections.abc import Sequence
from math import lgamma, log, pi
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import betaln

from ..posterior.conditionals.spike import log_top
from ..priors import CAUCHY_TAPER, Beta, Cauchy, Gamma, Moment
from .blocks import at_draws, nominal_of, variable
from .differences import differ

if TYPE_CHECKING:
    import xarray as xr

_BLOCK = 2**21  # parameters that are read at a time
_LOG_SCALES = np.linspace(-8, 6, 141)  # of a Cauchy slab whose scale is learnt


class EdgeTerms(NamedTuple):
    """What the prior of edges depends on, of some draws."""

    n_present: np.ndarray  # (n,), edges (or differences) that exist, of those in doubt
    n_candidates: int  # that are neither forbidden nor forced
    pairs: np.ndarray  # (n,), log probabilities of graphs where edges have their own; else 0
    slab: np.ndarray  # (n_slabs, n), log densities of the weights under each slab


class Present(NamedTuple):
    """Weights of the edges that exist in some draws: those of an edge, or of its difference, count together."""

    draw: np.ndarray  # (n_items,), which increase
    square: np.ndarray  # (n_items,), squared length of the weights
    size: np.ndarray  # (n_items,), how many they are


def edge_terms(
    tree: xr.DataTree, numbers: np.ndarray, slabs: Sequence[Any], probability: np.ndarray | None = None
) -> EdgeTerms:
    """Return the prior terms of draws by their numbers among those of all chains.

    Differences between groups of people have those of `bayesmrf.posterior.edges.differences.contrasts`. ``slabs`` is
    empty where weights have no slab, as in groups of edges that share them; ``probability`` (n_edges,) has those of
    edges that have their own, of which 0 forbids one, and 1 forces it.
    """
    where, biases = variable(tree, "included"), str(tree.attrs.get("biases", "free"))
    p = np.full(where.shape[-1], 0.5) if probability is None else probability
    free = (p > 0) & (p < 1)
    some_p = np.where(free, p, 0.5)  # of the log odds 0
    log_odds = np.log(some_p) - np.log1p(-some_p)
    rest = 0.0 if probability is None else float(np.log1p(-p[free]).sum())
    counts, pairs, slab, n_nodes = [], [], [], 0
    step = max(1, _BLOCK // max(1, int(np.prod(variable(tree, "theta").shape[2:]))))
    for some in np.split(numbers, range(step, len(numbers), step)):
        included = at_draws(where, some).astype(bool)
        counts.append(included[:, free].sum(axis=1))
        pairs.append(included @ log_odds + rest)
        if slabs or biases == "spike-slab":
            present, nodes = _present(tree, at_draws(variable(tree, "theta"), some), included, biases)
            counts[-1] += nodes.sum(axis=1)
            n_nodes = nodes.shape[1]
            slab.append(np.array([log_slab(s, present, len(some)) for s in slabs]).reshape(len(slabs), len(some)))
    under = np.concatenate(slab, axis=1) if slab else np.empty((0, len(numbers)))
    return EdgeTerms(np.concatenate(counts), int(free.sum()) + n_nodes, np.concatenate(pairs), under)


def _present(tree: xr.DataTree, theta: np.ndarray, included: np.ndarray, biases: str) -> tuple[Present, np.ndarray]:
    """Return the weights that exist, and which parameters of nodes, that may be absent, do."""
    nominal, n_edges = nominal_of(tree), included.shape[1]
    starts = np.arange(n_edges + 1) if nominal is None else np.asarray(nominal.edge_starts)
    sizes, nodes, coordinates = np.diff(starts), np.empty((len(theta), 0), dtype=bool), 1
    squares = theta**2
    if theta.ndim == 3:  # the coordinates of a difference have this length, whatever the contrasts
        coordinates = theta.shape[1] - 1
        squares = 2 * ((theta - theta.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        if biases == "spike-slab":
            nodes = differ(theta[..., starts[-1] :])
    square = np.add.reduceat(squares[:, : starts[-1]], starts[:-1], axis=1)
    if biases != "free":
        there = nodes if biases == "spike-slab" else np.ones_like(squares[:, starts[-1] :], dtype=bool)
        square = np.concatenate([square, squares[:, starts[-1] :]], axis=1)
        included = np.concatenate([included, there], axis=1)
        sizes = np.concatenate([sizes, np.ones(there.shape[1], dtype=int)])
    draw, item = np.nonzero(included)
    return Present(draw, square[draw, item], coordinates * sizes[item]), nodes


def log_graph(density: Beta | float, n_present: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the log prior probability of a graph with some of the candidates; p0 is integrated out if it has a prior.

    Parameters
    ----------
    density : Beta or float
    n_present : (n,) int array
    n_candidates : int

    Returns
    -------
    (n,) array
    """
    n_absent = n_candidates - n_present
    if isinstance(density, Beta):
        found = betaln(density.a + n_present, density.b + n_absent) - betaln(density.a, density.b)
    else:
        found = n_present * np.log(density) + n_absent * np.log1p(-density)
    return np.asarray(found)


def log_slab(slab: Any, present: Present, n_draws: int) -> np.ndarray:
    """Return the log density of the weights of the edges that exist; a scale with a prior is integrated out.

    Parameters
    ----------
    slab : Cauchy, Moment, Normal or Gamma
        As in `bayesmrf.priors.SpikeSlab`.
    present : Present
    n_draws : int

    Returns
    -------
    (n_draws,) array
    """
    draw, square, size = present
    if isinstance(slab, Gamma):
        n = np.bincount(draw, size, n_draws)
        rate = slab.rate + np.bincount(draw, square, n_draws) / 2
        constant = np.vectorize(lgamma)(slab.shape + n / 2) - lgamma(slab.shape) + slab.shape * log(slab.rate)
        return np.asarray(constant - n / 2 * log(2 * pi) - (slab.shape + n / 2) * np.log(rate))
    if isinstance(slab.scale, Gamma):
        return _log_learnt(slab, present, n_draws)
    scale = float(slab.scale)
    if isinstance(slab, Cauchy | Moment):
        power = 2 * isinstance(slab, Moment)
        each = _log_tops(slab, size) - square / (2 * CAUCHY_TAPER**2)
        each -= (size + 1 + power) / 2 * np.log1p(square / scale**2)
        each += power / 2 * np.log(square) if power else 0.0
    else:
        each = -square / (2 * scale**2) - size * (log(scale) + log(2 * pi) / 2)
    return np.bincount(draw, each, n_draws)


def _log_tops(slab: Any, size: np.ndarray) -> Any:
    """Return the log density at 0 for numbers of coordinates."""
    tops = {k: log_top(slab, k) for k in np.unique(size).tolist()}
    return next(iter(tops.values())) if len(tops) == 1 else np.array([tops[k] for k in size.tolist()])


def _log_learnt(slab: Any, present: Present, n_draws: int) -> np.ndarray:
    """Return the log density under a Cauchy slab whose scale is integrated out, by the trapezoidal rule in its log.

    The taper is relative to the scale, as in `bayesmrf.posterior.conditionals.slab_scale`.
    """
    draw, square, size = present
    prior, top, n = slab.scale, np.bincount(draw, _log_tops(slab, size) + np.zeros(len(draw)), n_draws), size
    constant = prior.shape * log(prior.rate) - lgamma(prior.shape)
    terms = []
    for t in _LOG_SCALES:
        x = square * np.exp(-2 * t)
        each = -n * t - x / (2 * CAUCHY_TAPER**2) - (n + 1) / 2 * np.log1p(x)
        terms.append(np.bincount(draw, each, n_draws) + constant + prior.shape * t - prior.rate * np.exp(t))
    step = _LOG_SCALES[1] - _LOG_SCALES[0]
    return np.asarray(top + np.logaddexp.reduce(terms, axis=0) + np.log(step))
