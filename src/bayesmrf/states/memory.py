"""Particles of x in memory: one byte a node and particle within a step, one bit between steps.

The local field of a node is computed from the rows of its neighbours; that of a *hub* (more than 32 neighbours) is
stored and updated with every change, so the cost of an edge is bounded by that of its less connected end and the
adjacent hubs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float32, int8, uint64

from ..compiled import leaf
from ..graphs import Graph
from ..rng import lane_generators

TILE = 1024  # particles processed together: their data fit into the L1 cache
_MOST_KEYS = 128
HUB = 32  # neighbours beyond which a node's local field is stored


class Particles(NamedTuple):
    """Packed particles: particle c is bit c % 64 of word c // 64."""

    words: np.ndarray  # (n_nodes, n_words) uint64
    lanes: np.ndarray  # (n_words, 4, 64) uint32, one xoshiro128++ generator for each particle


class RefreshGraph(NamedTuple):
    """The graph's compressed rows (see `bayesmrf.graphs.Adjacency`), and which nodes are hubs."""

    edges: np.ndarray  # (n_edges, 2) int32
    starts: np.ndarray  # (n_nodes + 1,) int64
    neighbours: np.ndarray  # (2 n_edges,) int32
    edge_of: np.ndarray  # (2 n_edges,) int32
    hub_of: np.ndarray  # (n_nodes,) int32, index of the hub, or -1
    n_hubs: int
    rivals: np.ndarray  # (n_edges, k) int32, edges with which each may be swapped; -1 for none


class UnpackedParticles(NamedTuple):
    """Unpacked particles, their theta, and work space."""

    x: np.ndarray  # (n_nodes, n_particles) int8 in {-1, +1}
    lanes: np.ndarray  # (4, n_particles) uint32
    theta: np.ndarray  # (n_features,)
    hubs: np.ndarray  # (n_hubs, n_particles) float32, local fields
    tanh_u: np.ndarray  # (n_particles,) float32, of the current edge
    tanh_v: np.ndarray
    old_u: np.ndarray  # (n_particles,) int8, of the ends redrawn last
    old_v: np.ndarray
    key: np.ndarray  # (n_particles,) uint8, states of the neighbours of both ends (see `particle_keys`)
    ends: np.ndarray  # (2, 128) tanh of the local field of either end, by its bits of the key
    n_bits: np.ndarray  # (2,) number of bits; -1 if there are too many for a key
    key_weights: np.ndarray  # (128,), weight of the particles by key
    weights: np.ndarray  # (n_particles,) float32, of mean 1 (see `bayesmrf.states.weights`)
    total: np.ndarray  # (2,) A and B of the current edge (see `bayesmrf.states.refresh`), summed over the particles
    sums: np.ndarray  # (n_tiles, 3), over the particles of a tile
    cluster: np.ndarray  # (n_nodes,) int64, nodes to be flipped
    label: np.ndarray  # (n_nodes,) int64, index of the last cluster of each node
    n_grown: np.ndarray  # (1,) int64, index of the last cluster


def refresh_graph(graph: Graph, hub: int = HUB, rivals: np.ndarray | None = None) -> RefreshGraph:
    """Return the rows of a graph; nodes with more than ``hub`` neighbours are hubs."""
    is_hub = np.diff(graph.adjacency.starts) > hub
    hub_of = np.where(is_hub, np.cumsum(is_hub) - 1, -1).astype(np.int32)
    rivals = np.empty((graph.n_edges, 0), np.int32) if rivals is None else rivals
    return RefreshGraph(*graph.rows, hub_of, int(is_hub.sum()), rivals)


def start_particles(n_particles: int, n_nodes: int, rng: np.random.Generator) -> Particles:
    """Start particles at uniform random states, their number rounded up to a multiple of 64."""
    n_words = -(-n_particles // 64)
    words = rng.integers(0, 2**64, size=(n_nodes, n_words), dtype=np.uint64)
    return Particles(words, lane_generators(rng, n_words, 64))


def unpack(particles: Particles, graph: RefreshGraph, theta: np.ndarray) -> UnpackedParticles:
    """Return a working copy of the particles at ``theta``."""
    n_nodes, n_words = particles.words.shape
    m = 64 * n_words
    x = np.empty((n_nodes, m), np.int8)
    _unpack(particles.words, x)
    lanes = np.ascontiguousarray(particles.lanes.transpose(1, 0, 2)).reshape(4, m)
    unpacked = UnpackedParticles(
        x,
        lanes,
        theta.copy(),
        hubs=np.empty((graph.n_hubs, m), np.float32),
        tanh_u=np.empty(m, np.float32),
        tanh_v=np.empty(m, np.float32),
        old_u=np.empty(m, np.int8),
        old_v=np.empty(m, np.int8),
        key=np.empty(m, np.uint8),
        ends=np.empty((2, _MOST_KEYS)),
        n_bits=np.empty(2, np.int64),
        key_weights=np.empty(_MOST_KEYS),
        weights=np.ones(m, np.float32),
        total=np.empty(2),
        sums=np.empty((-(-m // TILE), 3)),
        cluster=np.empty(n_nodes, np.int64),
        label=np.zeros(n_nodes, np.int64),
        n_grown=np.zeros(1, np.int64),
    )
    fill_hubs(graph, unpacked)
    return unpacked


def pack(unpacked: UnpackedParticles) -> Particles:
    """Pack the particles for the time between steps."""
    words = np.empty((len(unpacked.x), unpacked.x.shape[1] // 64), np.uint64)
    _pack(unpacked.x, words)
    lanes = unpacked.lanes.reshape(4, -1, 64).transpose(1, 0, 2)
    return Particles(words, lanes.copy())


@leaf
def _unpack(words, x):
    for i in range(len(words)):
        for k in range(words.shape[1]):
            word = words[i, k]
            for bit in range(64):
                x[i, 64 * k + bit] = int8(2 * int8((word >> uint64(bit)) & uint64(1)) - 1)


@leaf
def _pack(x, words):
    for i in range(len(words)):
        for k in range(words.shape[1]):
            word = uint64(0)
            for bit in range(64):
                word |= uint64(x[i, 64 * k + bit] > 0) << uint64(bit)
            words[i, k] = word


@leaf
def bias_of(unpacked, i, r):
    """Return the field of node i, or 0 in a model without fields."""
    return float32(unpacked.theta[r + i]) if len(unpacked.theta) > r else float32(0)


@leaf
def fill_hubs(graph, unpacked):
    """Compute the local fields of all hubs."""
    r = len(graph.edges)
    for i in range(len(graph.hub_of)):
        if graph.hub_of[i] >= 0:
            h = unpacked.hubs[graph.hub_of[i]]
            h[:] = bias_of(unpacked, i, r)
            for k in range(graph.starts[i], graph.starts[i + 1]):
                w, x = float32(0.5 * unpacked.theta[graph.edge_of[k]]), unpacked.x[graph.neighbours[k]]
                if w != 0:
                    for lane in range(len(h)):
                        h[lane] += w * float32(x[lane])


@leaf
def _change(x, old, out):
    for lane in range(len(out) >> 6 << 6):
        out[lane] = float32(int8(x[lane] - old[lane]))


@leaf
def _add(w, change, h):
    for lane in range(len(h) >> 6 << 6):
        h[lane] += w * change[lane]


@leaf
def update_hubs(graph, unpacked, i, old, without):
    """Update the local fields of hubs next to node i, whose states were ``old``, except across edge ``without``."""
    change = np.empty(len(old), np.float32)
    _change(unpacked.x[i], old, change)
    for k in range(graph.starts[i], graph.starts[i + 1]):
        hub, e = graph.hub_of[graph.neighbours[k]], graph.edge_of[k]
        if hub >= 0 and e != without and unpacked.theta[e] != 0:
            _add(float32(0.5 * unpacked.theta[e]), change, unpacked.hubs[hub])


@leaf
def update_hub(graph, unpacked, i, j, new, was, old):
    """Update the local field of hub i for the edge to j, with former coupling ``was`` and former states ``old``."""
    hub = graph.hub_of[i]
    if hub >= 0 and (new != 0 or was != 0):
        h, x = unpacked.hubs[hub], unpacked.x[j]
        w, w_old = float32(new), float32(was)
        for lane in range(len(h)):
            h[lane] += w * float32(x[lane]) - w_old * float32(old[lane])
