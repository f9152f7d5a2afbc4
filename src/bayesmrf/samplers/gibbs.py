r"""Single-site Gibbs sampling of many chains at once.

A sweep visits the nodes in order and draws each given its neighbours (Geman and Geman 1984),

.. math:: p(x_i = +1 \mid x_{-i}) = \tfrac12 (1 + \tanh h_i), \qquad h_i = b_i + \sum_{j \sim i} w_{ij} x_j,

for x in {-1, +1}; `bayesmrf.samplers.categorical_gibbs` is for m states. Chains are independent, and 64 of them (a
*block*) are contiguous in memory and updated together. A node of a block is 64 bytes, one cache line: a chain takes one
byte a node.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import float32, uint64

from ..base import EVERY_FAMILY, SAMPLE, Kind, Model, Stateless
from ..compiled import leaf
from ..compiled.lanes import DOWN, UP, popcount, symmetric_uniform, tanh_ratio
from ..declare.option import option
from ..declare.rule import COUNT, JOBS
from ..errors import DataError, OptionError
from ..models.categorical import Categorical, compiled_form, states_of
from ..models.pairwise import Pairwise
from ..rng import lane_generators, next_uint32
from ..threads import count_jobs
from .categorical_gibbs import categorical_counts, categorical_sweep

LANES = 64  # the bits of a word in `counts`; 128 lanes are hardly faster


class Chains(NamedTuple):
    """Independent chains on one graph; chain c is lane c % 64 of block c // 64."""

    states: np.ndarray  # (n_blocks, n_nodes, 64) int8 in {-1, +1}, or in {0, ..., m - 1} of a categorical model
    lanes: np.ndarray  # (n_blocks, 4, 64) uint32, one xoshiro128++ generator for each chain


def check_positive(name: str, value: Any) -> int:
    """Return ``value`` if it is an integer >= 1, else raise OptionError."""
    COUNT.check(name, value)
    return int(value)


def start(
    n_chains: int,
    n_nodes: int,
    rng: np.random.Generator,
    states: np.ndarray | None = None,
    n_states: int | None = None,
) -> Chains:
    """Start chains from uniform random states, or chain c from row ``c % len(states)`` of given ones.

    Parameters
    ----------
    n_chains : int
        Number of chains. Blocks are filled up with extra chains, which are ignored.
    n_nodes : int
        Number of nodes.
    rng : numpy.random.Generator
        Seeds the lane generators (and draws the random states).
    states : (n_samples, n_nodes) array in {0, 1} or {0, ..., n_states - 1}, optional
        Where to start; by default at uniform random states.
    n_states : int, optional
        Of a categorical model; None for binary ones.

    Raises
    ------
    OptionError
        If ``n_chains`` is not an integer >= 1.
    DataError
        If ``states`` is empty, or has the wrong number of columns or wrong values.
    """
    if states is not None:
        x = from_states(states, n_chains, n_nodes, n_states)
    else:
        n_blocks = -(-check_positive("n_chains", n_chains) // LANES)
        x = rng.integers(0, n_states or 2, size=(n_blocks, n_nodes, LANES), dtype=np.int8)
        if n_states is None:
            x <<= 1
            x -= 1
    return Chains(x, lane_generators(rng, len(x), LANES))


def from_states(states: np.ndarray, n_chains: int, n_nodes: int, n_states: int | None = None) -> np.ndarray:
    """Lay out states as in `Chains`; chain c gets row ``c % len(states)``."""
    states = np.asarray(states)
    if states.ndim != 2 or len(states) == 0 or states.shape[1] != n_nodes:
        expected = f"an array of shape (n_samples, {n_nodes}) with at least one row, a column for each node"
        raise DataError(option="states", got=states, expected=expected)
    known = (states == 0) | (states == 1) if n_states is None else np.isin(states, np.arange(n_states))
    if not known.all():
        row, column = np.argwhere(~known)[0]
        expected = "0 or 1" if n_states is None else f"integers from 0 to {n_states - 1}"
        got = f"{states[row, column]} in row {row}, column {column}"
        raise DataError(option="states", got=got, expected=expected)
    n_blocks = -(-check_positive("n_chains", n_chains) // LANES)
    rows = np.arange(n_blocks * LANES).reshape(n_blocks, LANES) % len(states)
    x = states[rows].swapaxes(1, 2).astype(np.int8, order="C")
    if n_states is None:
        x <<= 1
        x -= 1
    return x


def to_states(chains: Chains, n_chains: int, n_states: int | None = None) -> np.ndarray:
    """Return the states of the first ``n_chains`` chains, (n_chains, n_nodes) int8."""
    check_room(chains, n_chains)
    blocks = chains.states[: -(-n_chains // LANES)].swapaxes(1, 2)
    states = blocks.reshape(-1, blocks.shape[2])[:n_chains]
    return np.maximum(states, 0) if n_states is None else states.copy()


def sweep(model: Pairwise | Categorical, chains: Chains, n_sweeps: int, n_jobs: int = 1) -> None:
    """Advance all chains, in place, by ``n_sweeps`` systematic scans over the nodes.

    Parameters
    ----------
    model : Pairwise or Categorical
        The field at one theta.
    chains : Chains
        Overwritten.
    n_sweeps : int
        Number of scans.
    n_jobs : int
        Threads; -1 is one for each core. Each chain has its own generator, so the states do not depend on ``n_jobs``.

    Raises
    ------
    OptionError
        If ``n_sweeps`` is not an integer >= 1, ``n_jobs`` is 0, or the number of nodes differs from that of the chains.
    """
    check_positive("n_sweeps", n_sweeps)
    n_jobs = count_jobs(n_jobs, len(chains.states))
    check_nodes(model, chains)
    visit = categorical_sweep if isinstance(model, Categorical) else pairwise_sweep
    if n_jobs == 1:
        visit(model, chains.states, chains.lanes, n_sweeps)
        return
    bounds = np.linspace(0, len(chains.states), n_jobs + 1).astype(int)
    parts = [(chains.states[a:b], chains.lanes[a:b]) for a, b in pairwise(bounds)]
    futures = [_pool(n_jobs - 1).submit(partial(visit, model, *part, n_sweeps)) for part in parts[1:]]
    visit(model, *parts[0], n_sweeps)
    for future in futures:
        future.result()


def counts(model: Pairwise | Categorical, chains: Chains, n_chains: int) -> tuple[np.ndarray, np.ndarray]:
    """Count agreements and ones (or every state) over the first ``n_chains`` chains.

    Returns
    -------
    agree : (n_edges,) int64
        Number of chains in which the two ends of an edge agree; for a model with tables (n_edges, m, m), in which they
        are in each pair of states.
    ones : (n_nodes,) int64
        Number of chains in which a node is +1; for a categorical model (n_nodes, m), in which it is in each state.
    """
    check_room(chains, n_chains)
    check_nodes(model, chains)
    agree = np.empty(model.coupling.shape, dtype=np.int64)
    if isinstance(model, Categorical):
        node = np.empty(model.field.shape, dtype=np.int64)
        categorical_counts(model.edges, chains.states, n_chains, agree, node)
        return agree, node
    ones = np.empty(chains.states.shape[1], dtype=np.int64)
    _count(model.edges, chains.states, n_chains, agree, ones)
    return agree, ones


class SweepEngine(Stateless, ABC):
    """Base of engines whose samples are the states of chains, one for each, that start at uniform random states."""

    answers = frozenset({SAMPLE})
    kind = Kind.APPROXIMATE

    @abstractmethod
    def _advance(self, form: Pairwise | Categorical, chains: Chains, n_chains: int) -> None:
        """Advance the chains, in place."""

    def sample(
        self, model: Model, theta: np.ndarray, plan: None, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw ``(n_samples, n_nodes)`` int8 states in {0, ..., n_states - 1}."""
        n_states = states_of(model)
        chains = start(check_positive("n_samples", n_samples), model.graph.n_nodes, rng, n_states=n_states)
        self._advance(compiled_form(model, theta), chains, n_samples)
        return to_states(chains, n_samples, n_states)


@dataclass(frozen=True)
class Gibbs(SweepEngine):
    """Engine that draws samples by Gibbs sweeps from uniform random states; one chain for each sample.

    The samples are independent of each other; their distribution is p(x | theta) only in the limit of large
    ``n_sweeps``.

    Parameters
    ----------
    n_jobs
        The samples do not depend on it.
    """

    n_sweeps: int = option(100, COUNT, "Sweeps of each chain.", label="Gibbs sweeps")
    n_jobs: int = option(1, JOBS, "Threads; -1 is one for each core.")

    name = "gibbs"
    families = EVERY_FAMILY

    def _advance(self, form: Pairwise | Categorical, chains: Chains, n_chains: int) -> None:
        sweep(form, chains, self.n_sweeps, self.n_jobs)


def check_nodes(model: Pairwise | Categorical, chains: Chains) -> None:
    """Refuse chains on another number of nodes."""
    if len(model.field) != chains.states.shape[1]:
        expected, n_nodes = f"for {len(model.field)} nodes", chains.states.shape[1]
        raise OptionError(option="chains", got=n_nodes, expected=expected, remedy="start chains for this model")


def check_room(chains: Chains, n_chains: int) -> None:
    """Refuse more chains than were started."""
    room = len(chains.states) * LANES
    if check_positive("n_chains", n_chains) > room:
        raise OptionError(option="n_chains", got=n_chains, expected=f"at most the {room} chains that were started")


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that are kept between calls: starting them costs as much as a sweep of a 30 x 30 grid."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="gibbs")


if hasattr(os, "register_at_fork"):  # a forked process has none of its parent's threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


@leaf
def pairwise_sweep(model, states, lanes, n_sweeps):
    """Run blocks of lanes, (n_blocks, n_nodes, n_lanes) in {-1, +1}, through systematic scans."""
    n_blocks, n_nodes, n_lanes = states.shape
    # Tells the compiler that n_lanes is a multiple of 64; a constant 64 would be unrolled and not vectorised.
    n_lanes = n_lanes >> 6 << 6
    h = np.empty(n_lanes, np.float32)
    for b in range(n_blocks):
        x, generators = states[b], lanes[b]
        for _ in range(n_sweeps):
            for i in range(n_nodes):
                field = float32(model.field[i])
                for lane in range(n_lanes):
                    h[lane] = field
                stop = model.starts[i + 1]
                # Two neighbours at a time halve the memory traffic of h; an odd last one is paired with a coupling of
                # zero.
                for k in range(model.starts[i], stop, 2):
                    j, w = model.neighbours[k], float32(model.coupling[model.edge_of[k]])
                    j2, w2 = j, float32(0)
                    if k + 1 < stop:
                        j2, w2 = model.neighbours[k + 1], float32(model.coupling[model.edge_of[k + 1]])
                    for lane in range(n_lanes):
                        h[lane] += w * float32(x[j, lane]) + w2 * float32(x[j2, lane])
                for lane in range(n_lanes):
                    p, q = tanh_ratio(h[lane])
                    x[i, lane] = UP if symmetric_uniform(next_uint32(generators, lane)) * q < p else DOWN


@leaf
def _count(edges, states, n_chains, agree, ones):
    n_blocks, n_nodes = (n_chains + 63) >> 6, states.shape[1]
    # The 64 lanes of a block make one word, in which extra lanes are zero at both ends of an edge.
    words = np.empty((n_nodes, n_blocks), np.uint64)
    for b in range(n_blocks):
        n_lanes = min(64, n_chains - 64 * b)
        counted = ~uint64(0) >> uint64(64 - n_lanes)
        for i in range(n_nodes):
            word = uint64(0)
            for lane in range(64):
                word |= uint64(states[b, i, lane] > 0) << uint64(lane)
            words[i, b] = word & counted
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        differ = uint64(0)
        for b in range(n_blocks):
            differ += popcount(words[u, b] ^ words[v, b])
        agree[e] = n_chains - int(differ)
    for i in range(n_nodes):
        up = uint64(0)
        for b in range(n_blocks):
            up += popcount(words[i, b])
        ones[i] = up
