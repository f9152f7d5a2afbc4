"""Draws from the priors of networks: which edges exist, and their weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..graphs import Graph
from ..posterior.edges.differences import contrasts
from ..priors import Inclusion, Slab


class EdgesPrior(NamedTuple):
    """The prior of some edges."""

    inclusion: Inclusion
    slab: Slab
    ends: np.ndarray  # (n_edges, 2)

    @property
    def all_absent(self) -> float | None:
        """The prior probability that all edges are absent, if it is known."""
        return self.inclusion.all_absent(len(self.ends))


def prior_of(prior: Any, graph: Graph, edges: np.ndarray) -> EdgesPrior:
    """Return the prior of some edges of a graph, from a `SpikeSlab`, or a slab that all have."""
    return EdgesPrior(prior.inclusion.of(graph, edges), prior.slab, graph.edges[edges])


def draw_present(prior: EdgesPrior, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draw which edges exist, (n_draws, n_edges)."""
    p = prior.inclusion.draw(prior.ends, n_draws, rng)
    return np.asarray(rng.random((n_draws, len(prior.ends))) < p)


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
