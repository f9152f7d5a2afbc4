"""Log prior densities of the edges of draws, term by term: which edges exist, and their weights under any slab."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, exp, lgamma, log, pi, tan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.integrate import quad

from ..posterior.conditionals.slabs import log_densities
from ..priors import Normal, Present, Prior, Slab, SpikeSlab
from .blocks import at_draws, variable
from .differences import differ
from .display import display_in

if TYPE_CHECKING:
    import xarray as xr

_BLOCK = 2**21  # parameters that are read at a time
_ROUNDED = 1e-20  # squared weight of a baseline that is absent, at most


class EdgeTerms(NamedTuple):
    """What the prior of edges depends on, of some draws."""

    n_present: np.ndarray  # (n,), edges (or differences) that exist, of the uncertain ones
    n_candidates: int  # that are neither forbidden nor forced
    pairs: np.ndarray  # (n,), log probabilities of graphs where edges have their own; else 0
    slab: np.ndarray  # (n_slabs, n), log densities of the weights under each slab


def edge_terms(
    tree: xr.DataTree,
    numbers: np.ndarray,
    slabs: Sequence[Any],
    probability: np.ndarray | None = None,
    of_slab: Callable[..., np.ndarray] | None = None,
) -> EdgeTerms:
    """Return the prior terms of draws by their numbers among those of all chains.

    Differences between groups of people have those of `bayesmrf.posterior.edges.differences.contrasts`. ``slabs`` is
    empty where weights have no slab, as in groups of edges that share them; ``probability`` (n_edges,) has those of
    edges that have their own, of which 0 forbids one, and 1 forces it. ``of_slab`` is `log_slab` or `normalised_slab`.
    """
    where, biases = variable(tree, "included"), str(tree.attrs.get("biases", "free"))
    p = np.full(where.shape[-1], 0.5) if probability is None else probability
    free = (p > 0) & (p < 1)
    some_p = np.where(free, p, 0.5)  # of the log odds 0
    log_odds = np.log(some_p) - np.log1p(-some_p)
    rest = 0.0 if probability is None else float(np.log1p(-p[free]).sum())
    counts, pairs, slab, n_nodes = [], [], [], 0
    step = max(1, _BLOCK // max(1, int(np.prod(variable(tree, "theta").shape[2:]))))
    for block in np.split(numbers, range(step, len(numbers), step)):
        included = at_draws(where, block).astype(bool)
        counts.append(included[:, free].sum(axis=1))
        pairs.append(included @ log_odds + rest)
        if slabs or biases == "spike-slab":
            present, nodes = present_in(tree, at_draws(variable(tree, "theta"), block), included, biases)
            counts[-1] += nodes.sum(axis=1)
            n_nodes = nodes.shape[1]
            slab.append(
                np.array([(of_slab or log_slab)(s, present, len(block)) for s in slabs]).reshape(len(slabs), len(block))
            )
    under = np.concatenate(slab, axis=1) if slab else np.empty((0, len(numbers)))
    return EdgeTerms(np.concatenate(counts), int(free.sum()) + n_nodes, np.concatenate(pairs), under)


def present_in(tree: xr.DataTree, theta: np.ndarray, included: np.ndarray, biases: str) -> tuple[Present, np.ndarray]:
    """Return the weights that exist, and which parameters of nodes, that may be absent, do."""
    starts = display_in(tree).edge_starts
    sizes, nodes, coordinates = np.diff(starts), np.empty((len(theta), 0), dtype=bool), 1
    squares = theta**2
    if theta.ndim == 3:  # the coordinates of a difference have this length, whatever the contrasts
        coordinates = theta.shape[1] - 1
        squares = 2 * ((theta - theta.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        if biases == "spike-slab":
            nodes = differ(theta[..., starts[-1] :])
    square = np.add.reduceat(squares[:, : starts[-1]], starts[:-1], axis=1)
    if biases != "free":
        exists = nodes if biases == "spike-slab" else np.ones_like(squares[:, starts[-1] :], dtype=bool)
        square = np.concatenate([square, squares[:, starts[-1] :]], axis=1)
        included = np.concatenate([included, exists], axis=1)
        sizes = np.concatenate([sizes, np.ones(exists.shape[1], dtype=int)])
    draw, item = np.nonzero(included)
    return Present(draw, square[draw, item], coordinates * sizes[item]), nodes


def log_slab(slab: Slab, present: Present, n_draws: int) -> np.ndarray:
    """Return the log density of the weights of the edges that exist; a scale with a prior is integrated out.

    Parameters
    ----------
    slab : Slab
        As in `bayesmrf.priors.SpikeSlab`.
    present : Present
    n_draws : int

    Returns
    -------
    (n_draws,) array
    """
    draw, square, size = present

    def at(precision: float) -> np.ndarray:
        each = np.empty(len(draw))
        for k in np.unique(size).tolist():
            each[size == k] = log_densities(slab, precision, square[size == k], k)
        return np.bincount(draw, each, n_draws)

    return slab.log_joint(at, present, n_draws)


def mean_log(slab: Slab, size: int = 1) -> float:
    """Return the mean of the log density of a slab under itself, of an edge of ``size`` weights, by quadrature over
    their length.
    """
    scale, area = float(slab.scale), log(2) + size / 2 * log(pi) - lgamma(size / 2)

    def of_angle(angle: float) -> float:
        r = scale * tan(angle)
        at = float(log_slab(slab, Present(np.zeros(1, dtype=int), np.array([r * r]), np.array([size])), 1)[0])
        return at * exp(at + area + (size - 1) * log(max(r, 1e-300)) + log(scale) - 2 * log(cos(angle)))

    return float(quad(of_angle, 0, pi / 2 - 1e-9, limit=200)[0])


def spike_slab_terms(tree: xr.DataTree, prior: SpikeSlab, baseline: Any = None) -> dict[str, np.ndarray]:
    """Return the log prior of each draw: of which edges exist, of their weights, and of the parameters of nodes.

    Parameters
    ----------
    tree : xarray.DataTree
    prior : SpikeSlab
        Of edges, or of differences between groups.
    baseline : slab or SpikeSlab, optional
        Of the baselines of groups of people.
    """
    constant, theta = tree["constant_data"].dataset, variable(tree, "theta")
    n, starts = theta.shape[0] * theta.shape[1], display_in(tree).edge_starts
    first = int(starts[-1])
    edge_p = constant["edge_probability"].values if "edge_probability" in constant else None
    slabs = [prior.slab] if prior.slab.has_mean_log else []
    terms = edge_terms(tree, np.arange(n), slabs, edge_p, normalised_slab)
    log_priors = dict(zip(["slab"], terms.slab, strict=False))
    graph = prior.inclusion.log_graph(terms.n_present, terms.n_candidates, terms.pairs)
    if graph is not None:
        log_priors = {"density": graph} | log_priors
    nodes = np.concatenate([at_draws(theta[..., first:], block) for block in _blocks(theta)])
    if baseline is not None:
        log_priors |= _baselines(tree, starts, baseline)
        is_free = tree.attrs["biases"] == "free"
        nodes = nodes if is_free else nodes.mean(axis=1)
    own_prior = prior.biases or Normal(prior.bias_scale)
    return log_priors | {"biases": own_prior.log_density(nodes).reshape(n, -1).sum(axis=1)}


def _baselines(tree: xr.DataTree, starts: np.ndarray, baseline: Any) -> dict[str, np.ndarray]:
    """Compute the log prior of the baselines, the means over groups, which may be absent."""
    theta, constant = variable(tree, "theta"), tree["constant_data"].dataset
    is_spiked, slab = baseline.has_spike, baseline.slab
    edge_p = constant["baseline_probability"].values if "baseline_probability" in constant else None
    parts: list[np.ndarray] = []
    graphs: list[np.ndarray] = []
    for block in _blocks(theta):
        weights = at_draws(theta[..., : starts[-1]], block).mean(axis=1)
        square = np.add.reduceat(weights**2, starts[:-1], axis=1)
        exists = square > _ROUNDED if is_spiked else np.ones_like(square, dtype=bool)
        draw, item = np.nonzero(exists)
        present = Present(draw, square[draw, item], np.diff(starts)[item])
        parts += [normalised_slab(slab, present, len(block))] if slab.has_mean_log else []
        if edge_p is not None:
            with np.errstate(divide="ignore"):
                graphs.append(np.where(exists, np.log(edge_p), np.log1p(-edge_p)).sum(axis=1))
        elif is_spiked:
            graphs.append(baseline.inclusion.log_graph(exists.sum(axis=1), exists.shape[1]))
    more = {"baseline_density": np.concatenate(graphs)} if graphs else {}
    return ({"baseline": np.concatenate(parts)} if parts else {}) | more


def parameter_terms(tree: xr.DataTree, prior: Prior) -> dict[str, np.ndarray]:
    """Return the log prior of each draw of parameters without a spike: of weights, and of parameters of nodes."""
    posterior = tree["posterior"].dataset
    draws = posterior["phi" if "phi" in posterior else "theta"].values
    each = prior.log_density(draws.reshape(-1, draws.shape[-1]))
    if "phi" in posterior:  # parameters that edges or nodes share
        return {"parameters": each.sum(axis=1)}
    first = int(display_in(tree).edge_starts[-1])
    log_priors = {"weights": each[:, :first].sum(axis=1)}
    return log_priors | ({"biases": each[:, first:].sum(axis=1)} if each.shape[1] > first else {})


def _blocks(theta: xr.Variable) -> list[np.ndarray]:
    """Divide the numbers of all draws into blocks."""
    n, step = theta.shape[0] * theta.shape[1], max(1, _BLOCK // max(1, int(np.prod(theta.shape[2:]))))
    return np.split(np.arange(n), range(step, n, step))


def add_log_prior(tree: xr.DataTree, terms: dict[str, np.ndarray]) -> None:
    """Add group ``log_prior`` with terms (n_chains * n_draws,) to a tree, in place."""
    import xarray as xr

    posterior = tree["posterior"].dataset
    shape = posterior.sizes["chain"], posterior.sizes["draw"]
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values}
    values = {name: (("chain", "draw"), term.reshape(shape)) for name, term in terms.items()}
    tree["log_prior"] = xr.DataTree(xr.Dataset(values, coords=coords))


def normalised_slab(slab: Slab, present: Present, n_draws: int) -> np.ndarray:
    """Return `log_slab`, less its mean under the slab for the weights that exist, so that powers keep prior odds."""
    means = slab.mean_logs(lambda k: mean_log(slab, k), present, n_draws)
    return log_slab(slab, present, n_draws) - means
