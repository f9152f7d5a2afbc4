"""Draws from the priors of networks: which edges exist, and their weights."""

from __future__ import annotations

from math import exp
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

from ..data.pair_probabilities import edge_probabilities
from ..graphs import Graph
from ..posterior.edges.differences import contrasts
from ..priors import Beta, Blocks, DirichletProcess, Gamma, LogisticBeta, Slab, SpikeSlab, has_pairs
from ..results.communities import probability_of_edge

_SOME = 4096  # draws of blocks that are arrays at a time


class EdgesPrior(NamedTuple):
    """The prior of some edges."""

    density: Any  # a Beta prior of p0, its value, the probability of each edge, or `Blocks`
    slab: Slab
    ends: np.ndarray  # (n_edges, 2)


def prior_of(prior: Any, graph: Graph, edges: np.ndarray) -> EdgesPrior:
    """Return the prior of some edges of a graph, from a `SpikeSlab`, or a slab that all have."""
    density, slab = (prior.density, prior.slab) if isinstance(prior, SpikeSlab) else (1.0, prior)
    if isinstance(prior, SpikeSlab) and has_pairs(prior):
        density = edge_probabilities(density, graph)[edges]
    return EdgesPrior(density, slab, graph.edges[edges])


def draw_present(prior: EdgesPrior, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw which edges exist, (n_draws, n_edges)."""
    p0, shape = prior.density, (n_draws, len(prior.ends))
    if isinstance(p0, Blocks):
        parts = [_probabilities(p0, prior.ends, min(_SOME, n_draws - k), rng) for k in range(0, n_draws, _SOME)]
        return np.asarray(rng.random(shape) < np.concatenate(parts))
    each = rng.beta(p0.a, p0.b, (n_draws, 1)) if isinstance(p0, Beta) else p0
    return np.asarray(rng.random(shape) < each)


def _probabilities(prior: Blocks, ends: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw blocks of the ends of edges, and return the probability of each edge given these, (n, n_edges)."""
    nodes, places = np.unique(ends, return_inverse=True)
    blocks = _blocks(prior, n, len(nodes), rng)
    k = int(blocks.max()) + 1
    q = rng.beta(prior.between.a, prior.between.b, (n, k, k))
    q[:, np.arange(k), np.arange(k)] = rng.beta(prior.within.a, prior.within.b, (n, k))
    pair = np.sort(blocks[:, places.reshape(ends.shape)], axis=2)
    return q[np.arange(n)[:, None], pair[..., 0], pair[..., 1]]


def _blocks(prior: Blocks, n: int, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the block of each node, (n, n_nodes); partitions of some nodes have the prior of these nodes alone."""
    if prior.partition == "mixture":
        components = 1 + rng.poisson(prior.rate, n)
        share = rng.standard_gamma(prior.concentration, (n, int(components.max())))
        share[np.arange(share.shape[1]) >= components[:, None]] = 0
        cumulated = np.cumsum(share, axis=1)
        at = rng.random((n, n_nodes, 1)) * cumulated[:, None, -1:]
        return np.asarray((at > cumulated[:, None]).sum(axis=2))
    return _process(prior.concentration, n, n_nodes, rng)


def _process(alpha: float, n: int, n_items: int, rng: np.random.Generator) -> np.ndarray:
    """Draw partitions of items by a Dirichlet process, (n, n_items): labels in order of first appearance."""
    labels = np.zeros((n, n_items), dtype=int)
    for i in range(1, n_items):  # as one of the items before, or a new block
        like = rng.integers(0, i, n)
        new = rng.random(n) * (alpha + i) < alpha
        labels[:, i] = np.where(new, labels[:, :i].max(axis=1) + 1, labels[np.arange(n), like])
    return labels


def all_absent(prior: EdgesPrior) -> float | None:
    """Return the prior probability that all edges are absent; None of several edges between blocks."""
    p0, n = prior.density, len(prior.ends)
    if isinstance(p0, Blocks):
        return 1 - probability_of_edge(p0) if n == 1 else None
    if isinstance(p0, Beta):
        return exp(betaln(p0.a, p0.b + n) - betaln(p0.a, p0.b))
    return float(np.prod(1 - np.broadcast_to(p0, n)))


def has_one_density(prior: EdgesPrior) -> bool:
    """Return whether all edges have the same prior probability, and any two of them can change places."""
    return isinstance(prior.density, Blocks | Beta) or len(np.unique(prior.density)) == 1


def draw_edges(
    prior: EdgesPrior, sizes: np.ndarray, n_draws: int, rng: np.random.Generator, n_copies: int = 1
) -> np.ndarray:
    """Draw the parameters of edges, (n_draws, n_copies, n_parameters of all edges), 0 where an edge is absent.

    Parameters
    ----------
    prior : EdgesPrior
    sizes : (n_edges,) int array
        Parameters of each edge.
    n_draws : int
    rng : numpy.random.Generator
    n_copies : int
        Numbers of each parameter, which are 0 or not together: the coordinates of a difference.
    """
    scale, slab = prior.slab.draw_scale(n_draws, rng)
    present = draw_present(prior, n_draws, rng)
    drawn = scale * slab.draw_edges(np.asarray(sizes), n_draws, n_copies, rng)
    return np.asarray(drawn * np.repeat(present, sizes, axis=1)[:, None])


def draw_groups(
    prior: EdgesPrior, baseline: EdgesPrior, n_groups: int, sizes: np.ndarray, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the parameters of the edges of groups of people, (n_draws, n_groups, n_parameters of all edges)."""
    common = draw_edges(baseline, sizes, n_draws, rng)
    apart = draw_edges(prior, sizes, n_draws, rng, n_groups - 1)
    return common + np.einsum("gk,nkp->ngp", contrasts([1.0] * n_groups), apart)


def draw_process(prior: DirichletProcess, n_edges: int, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Draw the value of each edge from a Dirichlet process, 0 where it is absent, and return the number of groups."""
    alpha = prior.alpha
    if isinstance(alpha, Gamma):
        alpha = rng.standard_gamma(alpha.shape) / alpha.rate
    p0 = 1.0 if prior.density is None else prior.density
    present = np.flatnonzero(rng.random(n_edges) < (rng.beta(p0.a, p0.b) if isinstance(p0, Beta) else p0))
    groups = _process(float(alpha), 1, len(present), rng)[0]
    n_groups = int(groups.max(initial=-1)) + 1
    base = LogisticBeta(prior.base.a, prior.base.b) if isinstance(prior.base, Beta) else prior.base
    values = np.zeros(n_edges)
    values[present] = base.sample(1, n_groups, rng)[0][groups]
    return values, n_groups
