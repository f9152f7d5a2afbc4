"""Draws from the priors of networks: which edges exist, and their weights."""

from __future__ import annotations

from dataclasses import replace
from math import exp
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

from ..data.pair_probabilities import edge_probabilities
from ..graphs import Graph
from ..posterior.edges.differences import contrasts
from ..priors import CAUCHY_TAPER, Beta, Cauchy, Gamma, Moment, Normal, SpikeSlab, has_pairs

_LEAST = 1e-100  # a Gamma variable of small shape rounds to 0
Slab = Gamma | Normal | Cauchy | Moment


def draw_slab(slab: Slab, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw the parameters of edges that exist, (n_draws, n_edges, n_parameters): spherical within an edge."""
    n = shape[0]
    if isinstance(slab, Gamma):  # one precision for all edges of a draw
        precision = np.maximum(rng.standard_gamma(slab.shape, n), _LEAST) / slab.rate
        return rng.standard_normal(shape) / np.sqrt(precision)[:, None, None]
    if isinstance(slab, Normal):
        return float(slab.scale) * rng.standard_normal(shape)
    found, power = np.empty((n * shape[1], shape[2])), 2 * isinstance(slab, Moment)
    rest = np.arange(len(found))
    while len(rest):  # draws of the density are kept with the probability of its taper
        size = len(rest), shape[2]
        drawn = rng.standard_normal(size)
        squares = rng.standard_gamma(0.5 * (size[1] + power), size[0]) / rng.standard_gamma(0.5, size[0])
        drawn *= float(slab.scale) * np.sqrt(squares / (drawn**2).sum(axis=1))[:, None]
        keep = rng.random(size[0]) < np.exp(-0.5 * (drawn**2).sum(axis=1) / CAUCHY_TAPER**2)
        found[rest[keep]] = drawn[keep]
        rest = rest[~keep]
    return found.reshape(shape)


class EdgesPrior(NamedTuple):
    """The prior of some edges."""

    density: Any  # a Beta prior of p0, its value, or the probability of each edge
    slab: Slab


def prior_of(prior: Any, graph: Graph, edges: np.ndarray) -> EdgesPrior | None:
    """Return the prior of some edges of a graph, from a `SpikeSlab` or a slab that all have; None of unknown ones."""
    density, slab = (prior.density, prior.slab) if isinstance(prior, SpikeSlab) else (1.0, prior)
    if isinstance(prior, SpikeSlab) and has_pairs(prior):
        density = edge_probabilities(density, graph)[edges]
    known = isinstance(density, Beta | float | int | np.ndarray) and isinstance(slab, Slab)
    return EdgesPrior(density, slab) if known else None


def draw_present(prior: EdgesPrior, n_draws: int, n_edges: int, rng: np.random.Generator) -> np.ndarray:
    """Draw which edges exist, (n_draws, n_edges)."""
    p0 = prior.density
    each = rng.beta(p0.a, p0.b, (n_draws, 1)) if isinstance(p0, Beta) else p0
    return np.asarray(rng.random((n_draws, n_edges)) < each)


def all_absent(prior: EdgesPrior, n_edges: int) -> float:
    """Return the prior probability that some edges are all absent."""
    p0 = prior.density
    if isinstance(p0, Beta):
        return exp(betaln(p0.a, p0.b + n_edges) - betaln(p0.a, p0.b))
    return float(np.prod(1 - np.broadcast_to(p0, n_edges)))


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
    if not isinstance(prior.slab, Gamma) and isinstance(own := prior.slab.scale, Gamma):
        scale = rng.standard_gamma(own.shape, n_draws) / own.rate  # of all edges; the taper is relative to it
        unit = prior._replace(slab=replace(prior.slab, scale=1.0))
        return scale[:, None, None] * draw_edges(unit, sizes, n_draws, rng, n_copies)
    ends, there = np.cumsum(sizes), draw_present(prior, n_draws, len(sizes), rng)
    found = np.zeros((n_draws, n_copies, int(ends[-1])))
    if isinstance(prior.slab, Gamma):  # one precision for all parameters
        drawn = draw_slab(prior.slab, (n_draws, 1, n_copies * int(ends[-1])), rng).reshape(found.shape)
        return drawn * np.repeat(there, sizes, axis=1)[:, None]
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        drawn = draw_slab(prior.slab, (n_draws, len(same), n_copies * int(size)), rng) * there[:, same, None]
        places = (ends[same] - size)[:, None] + np.arange(size)
        found[:, :, places] = drawn.reshape(n_draws, len(same), n_copies, size).swapaxes(1, 2)
    return found


def draw_groups(
    prior: EdgesPrior, baseline: EdgesPrior, n_groups: int, sizes: np.ndarray, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the parameters of the edges of groups of people, (n_draws, n_groups, n_parameters of all edges)."""
    common = draw_edges(baseline, sizes, n_draws, rng)
    apart = draw_edges(prior, sizes, n_draws, rng, n_groups - 1)
    return common + np.einsum("gk,nkp->ngp", contrasts([1.0] * n_groups), apart)
