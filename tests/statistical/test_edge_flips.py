"""Cluster flips of the chains behind edges that come and go, and how long a Langevin step they allow.

Chains are independent given theta, so that tolerances are those of independent draws; false alarms 1e-6.
"""

import itertools

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.models import Boltzmann, Ising, Ordinal
from bayesmrf.posterior.edges.bit_chains import BitChains
from bayesmrf.posterior.edges.line_steps import GroupMomentum
from bayesmrf.posterior.edges.many_states import SpikeSlabManyStates
from bayesmrf.posterior.edges.stiffness import stiffness
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.rng import lane_generators
from bayesmrf.states import persistent_chains as edge_chains
from bayesmrf.states.chain_flips import flip_clusters, flip_correlated
from bayesmrf.states.edge_tables import TableParticles
from tests.oracle.bounds import P
from tests.statistical.test_gibbs import law_p_value

N_CHAINS = 12_800
K7 = graphs.complete(7)


def chains_at(states, rng):
    """Chains at given states, (n_chains, n_nodes), a multiple of 128."""
    n_chains, d = states.shape
    blocks = edge_chains.unpack(edge_chains.start_chains(n_chains, d, rng), n_chains)
    blocks.states[:] = states.T.reshape(d, -1, edge_chains.LANES).transpose(1, 0, 2)
    return blocks


def states_of(blocks):
    return blocks.states.transpose(0, 2, 1).reshape(-1, blocks.states.shape[1]).astype(int)


def law(graph, theta):
    """All states in binary order and their probabilities."""
    states = np.array(list(itertools.product((0, 1), repeat=graph.n_nodes)))
    energy = [sum(w * x[u] * x[v] for w, (u, v) in zip(theta, graph.edges, strict=False)) for x in states]
    p = np.exp(np.array(energy) + states @ theta[graph.n_edges :])
    return states, p / p.sum()


@pytest.mark.parametrize("correlated", [False, True])
def test_flips_leave_the_law_as_it_is(correlated, rng):
    """Exact draws, weights of both signs, some edges absent; biases that are not those of the draws must show."""
    graph = graphs.Graph(6, graphs.complete(6).edges[rng.permutation(15)])
    theta = np.concatenate([rng.normal(0, 2, 15) * (rng.random(15) < 0.7), rng.normal(0, 1, 6)])
    states, p = law(graph, theta)
    correlation = np.cov(states[rng.choice(len(states), 100, p=p)].T)

    def p_value(at):
        blocks = chains_at(states[rng.choice(len(states), N_CHAINS, p=p)], rng)
        rows = edge_chains.start_rows(graph, theta[:15] != 0)
        for _ in range(60):
            if correlated:
                flip_correlated(rng, blocks, rows, at, correlation)
            else:
                flip_clusters(rng, blocks, rows, at)
        return law_p_value(states_of(blocks), p)

    assert p_value(theta) > P
    assert p_value(np.concatenate([theta[:15], theta[15:] + 1.0])) < P


def test_flips_carry_chains_between_modes(rng):
    """Two camps of four that oppose each other, all started on one side: sweeps alone leave them there."""
    graph = graphs.complete(8)
    u, v = graph.edges.T
    weights = np.where((u < 4) == (v < 4), 7.0, -1.5)
    biases = -0.5 * np.bincount(graph.edges.ravel(), np.repeat(weights, 2))  # as likely turned over
    theta = np.concatenate([weights, biases])

    def p_value(flips):
        blocks = chains_at(np.tile(np.arange(8) < 4, (N_CHAINS, 1)).astype(np.int8), rng)
        rows = edge_chains.start_rows(graph, weights != 0)
        for _ in range(60):
            if flips:
                flip_clusters(rng, blocks, rows, theta)
            edge_chains.sweep(blocks, rows, theta)
        return law_p_value(states_of(blocks), law(graph, theta)[1])

    assert p_value(True) > P
    assert p_value(False) < P


def test_correlated_nodes_flip_together(rng):
    """Two patterns that few edges hold up, all chains in the first: one flip of correlated nodes is enough.

    Clusters drawn by the edges are rarely all nodes: in 12 % of flips, and in 10 of 20 with a probability of 1e-5.
    """
    graph, sign = graphs.complete(12), np.repeat([1, -1], 6)
    u, v = graph.edges.T
    weights = 1.6 * sign[u] * sign[v] * np.isin((v - u) % 12, (1, 4, 8, 11))
    theta = np.concatenate([weights, 0.04 * sign - 0.5 * np.bincount(graph.edges.ravel(), np.repeat(weights, 2))])
    states, p = law(graph, theta)
    covariance = np.cov(states.T, aweights=p)
    correlation = covariance / np.sqrt(np.outer(covariance.diagonal(), covariance.diagonal()))

    def crossings(flip, *more):
        found = 0
        for _ in range(20):
            blocks = chains_at(np.tile((sign > 0).astype(np.int8), (1280, 1)), rng)
            flip(rng, blocks, edge_chains.start_rows(graph, weights != 0), theta, *more)
            found += (states_of(blocks) @ sign > 0).mean() < 0.8
        return found

    assert crossings(flip_correlated, np.linalg.matrix_power(correlation, 4)) >= 18
    assert crossings(flip_clusters) < 10


def chains_of(kernel, theta, states, rng):
    """Chains of a kernel in these states."""
    walker, n_states, share = kernel.walker, kernel.model.n_states, np.full((1, 21), 0.5)
    if n_states > 2:
        chains = TableParticles(states.T[None].copy(), lane_generators(rng, len(states) // 64, 64)[None])
        return walker.unpack_chains(chains, theta, walker.problem, share)
    rows = edge_chains.start_rows(kernel.model.graph, theta.weights[0] != 0)
    of = walker.constants(walker.problem, theta.now[0], share)
    return BitChains(of, rows, chains_at(states, rng), np.zeros(28))


@pytest.mark.parametrize("model", [Boltzmann(K7), Ising(K7), Ordinal(K7, 3)], ids=lambda m: m.name)
def test_stiffness_is_the_largest_eigenvalue(model, rng):
    """Of the scaled covariance of the chains' features along their lines, by NumPy; not that of the states alone.

    Edges that were just born have no direction yet.
    """
    n, n_chains, m, (u, v) = 40.0, 256, model.n_states, K7.edges.T
    camp = rng.random((n_chains, 1)) < 0.5
    states = ((m - 1) * ((rng.random((n_chains, 7)) < 0.9) ^ camp)).astype(np.int8)
    kind = SpikeSlabTwoStates if m == 2 else SpikeSlabManyStates
    kernel = kind(model, model.statistics(rng.integers(0, m, (40, 7)).astype(np.int8)), n)
    n_own = model.n_features - 21
    theta = kernel._theta(np.concatenate([rng.normal(size=21) * (rng.random(21) < 0.7), rng.normal(size=n_own)]))
    problem, steps, chains = kernel.walker.problem, kernel.design.steps, chains_of(kernel, theta, states, rng)
    direction = GroupMomentum(rng.standard_normal((1, 21)), rng.standard_normal((1, n_own)))
    direction.weights[0, :10] = 0.0
    for _ in range(200):
        found = stiffness(problem, steps, chains, theta, direction)

    features = np.array([model.statistics(x[None]) for x in states])
    own, k = features[:, 21:].reshape(n_chains, 7, -1), n_own // 7
    features[:, :21] -= (problem.lines.pull[0, :, 0] * own[:, u]).sum(axis=2)
    features[:, :21] -= (problem.lines.pull[0, :, 1] * own[:, v]).sum(axis=2)
    factor = np.zeros((model.n_features, model.n_features))
    factor[:21, :21] = np.diag(steps.scale[1, 0] * (theta.weights[0] != 0))
    for i in range(7):
        place = slice(21 + i * k, 21 + (i + 1) * k)
        factor[place, place] = steps.factor[0, i]
    covariance = n * factor.T @ np.cov(features.T, bias=True) @ factor
    assert found == pytest.approx(np.linalg.eigvalsh(covariance)[-1], rel=1e-4)
    assert found != pytest.approx(np.linalg.eigvalsh(covariance[21:, 21:])[-1], rel=1e-2)
    assert not direction.weights[0, theta.weights[0] == 0].any()
