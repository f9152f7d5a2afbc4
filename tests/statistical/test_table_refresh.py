"""Particles of many states: probabilities of an edge's categories, and redraws that leave their law."""

from itertools import product

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.models import Ordinal, Potts, Symmetric
from bayesmrf.states.edge_tables import (
    edge_categories,
    edge_cells,
    follow_weights,
    grown_weights,
    resample,
    start_particles,
    table_graph,
    unpack,
)
from bayesmrf.states.table_features import state_share
from bayesmrf.states.table_sweeps import redraw_ends, redraw_node, refresh, sweep, weigh_node
from bayesmrf.states.table_triples import grown_jointly, rival_cells
from tests.oracle.bounds import Comparison, assert_estimate

ENGINE = Elimination()
M = 8192
CASES = [
    Potts(graphs.cycle(4), 3, fields=False),
    Potts(graphs.grid(2, 3), 4),
    Symmetric(graphs.cycle(3), 2),
    Symmetric(graphs.grid(2, 3), 3, True),
]
by_case = pytest.mark.parametrize("model", CASES, ids=lambda m: f"{m.name}-{m.n_states}")


def exact_particles(model, theta, rng, n_particles=M):
    """Particles drawn exactly, with the graph's rows."""
    rows, r = table_graph(model), model.n_edges
    form = model.categorical(theta)
    unpacked = unpack(
        start_particles(n_particles, model.graph.n_nodes, model.n_states, rng),
        theta[: r * model.n_parameters].reshape(r, -1),
        form.field,
    )
    unpacked.x[...] = ENGINE.sample(model, theta, ENGINE.prepare(model), n_particles, rng).T
    return rows, unpacked


def moments(model, theta):
    return ENGINE.infer(model, theta, ENGINE.prepare(model)).moments


RESAMPLED = 2**0.5  # noise of particles that were resampled, relative to independent ones


def have_moments(model, unpacked, theta, noise=1.0):
    """Whether the particles, which are independent of each other, have the exact moments, but for noise."""
    q, m = moments(model, theta), unpacked.x.shape[1]
    error = noise * np.sqrt(q * (1 - q) / m)
    return Comparison().estimates(model.statistics(unpacked.x.T), q, error).holds


def problem(model, rng):
    theta = rng.normal(0, 0.6, model.n_features)
    return theta, *exact_particles(model, theta, rng)


@by_case
def test_categories_are_the_moments(model, rng):
    theta, rows, unpacked = problem(model, rng)
    p = model.n_parameters
    q = moments(model, theta)[: model.n_edges * p].reshape(-1, p)
    found = {"right": Comparison(), "wrong": Comparison()}
    for name in found:
        for i in range(model.n_edges):
            if name == "wrong":
                unpacked.potentials[i] += 0.5
            share, between = edge_categories(rows, unpacked, i)
            assert share.sum() == pytest.approx(1)
            assert 0 <= between < 1
            # A particle says less than a count does: the binomial error is a bound.
            found[name].estimates(share[1:], q[i], np.sqrt(max(between, 1e-3) * q[i] * (1 - q[i]) / M))
    assert found["right"].holds
    assert not found["wrong"].holds


@by_case
def test_redraws_leave_the_law_and_follow_theta(model, rng):
    theta, rows, unpacked = problem(model, rng)
    for _ in range(3):
        refresh(rows, unpacked, rng.permutation(model.n_edges))
        for i in range(model.graph.n_nodes):
            weigh_node(rows, unpacked, i)
            redraw_node(unpacked, i)
    assert have_moments(model, unpacked, theta)
    new = theta + np.where(np.arange(model.n_features) < model.n_edges * model.n_parameters, 0.4, 0.0)
    assert not have_moments(model, unpacked, new)
    unpacked.potentials[...] += 0.4
    for _ in range(30):
        refresh(rows, unpacked, rng.permutation(model.n_edges))
    assert have_moments(model, unpacked, new)


def test_both_ends_are_redrawn_together(rng):
    """One edge, both ends at 0: one redraw brings the joint law, which two single draws would not."""
    model, theta = Symmetric(graphs.path(2), 3), np.array([-2.0, 1.0, 2.0, -1.0, 0.5])
    rows, unpacked = exact_particles(model, theta, rng)
    unpacked.x[...] = 0
    assert not have_moments(model, unpacked, theta)
    edge_categories(rows, unpacked, 0)
    redraw_ends(rows, unpacked, 0)
    assert have_moments(model, unpacked, theta)


def test_shares_of_a_nodes_states(rng):
    model = Potts(graphs.grid(2, 3), 4)
    theta, rows, unpacked = problem(model, rng)
    q = moments(model, theta)[model.n_edges :].reshape(-1, 3)
    for i in range(6):
        weigh_node(rows, unpacked, i)
        found = np.array([state_share(unpacked, i, k) for k in range(4)])
        assert found.sum() == pytest.approx(1, abs=1e-3)
        assert_estimate(found[1:], q[i], np.sqrt(q[i] * (1 - q[i]) / M), bias=1e-3)


@pytest.mark.parametrize("follows", [True, False])
def test_weights_do_not_lag_behind_theta(follows, rng):
    """Two moves that raise both triangles of a graph; without weights (the control) the other nodes lag."""
    model = Potts(graphs.complete(4), 3, fields=False)
    theta = np.full(6, 0.3)
    rows, unpacked = exact_particles(model, theta, rng)
    agree, cells, weights = np.eye(3).ravel(), np.empty(9), np.empty(M, np.float32)
    for i, change in ((0, 1.5), (5, 1.5), (1, 1.0)):
        for first in (0, M // 2):
            edge_cells(rows, unpacked, i, first, first + M // 2, cells)
        grown_weights(rows, unpacked, i, change * agree, weights)
        if follows:
            follow_weights(rng, unpacked, weights)
        theta[i] += change
        unpacked.potentials[i] = theta[i]
        redraw_ends(rows, unpacked, i)
    for first in (0, M // 2):
        resample(rng, unpacked, first)
    assert have_moments(model, unpacked, theta, RESAMPLED) == follows


def test_fewer_states_than_other_nodes_have(rng):
    """Two yes/no nodes in a graph with seven categories: a pair 6, 6 would have exp(36 w) times the weight of 0, 0.

    Given the third node, and of rivals without it, distributions are exact in every particle.
    """
    model, weights, n = Ordinal(graphs.complete(3), 7, sizes=(2, 2, 7)), np.array([3.0, 0.2, -0.1]), 256
    own = rng.standard_normal(8)
    theta = np.concatenate([weights, own])
    rows = table_graph(model)
    particles = start_particles(n, 3, 7, rng)
    unpacked = unpack(particles, weights[:, None] * model.gains, model.categorical(theta).field)
    sweep(rows, unpacked)
    x = np.array(list(product(range(2), range(2), range(7))))

    def law(pair, weights):
        products = np.stack([x[:, 0] * x[:, 1], x[:, 0] * x[:, 2], x[:, 1] * x[:, 2]], axis=1)
        p = np.exp(products @ weights + own[0] * x[:, 0] + own[1] * x[:, 1] + np.append(0, own[2:])[x[:, 2]])
        found = np.zeros((7, 7))
        np.add.at(found, tuple(x[:, pair].T), p / p.sum())
        return found

    g, of_e, of_f = np.outer(np.arange(7), np.arange(7)).ravel().astype(float), np.empty(49), np.empty(49)
    joint, grown = np.empty((49, n), np.float32), np.empty(n, np.float32)
    without = weights * [0, 1, 1]
    rival_cells(rows, unpacked, (0, 1, 2), 0, 1, -3 * g, 0, n, of_e, of_f, joint)
    np.testing.assert_allclose((of_e / of_e.sum()).reshape(7, 7), law([0, 1], without), atol=1e-5)
    np.testing.assert_allclose((of_f / of_f.sum()).reshape(7, 7), law([0, 2], without), atol=1e-5)
    assert np.abs(law([0, 2], without) - law([0, 2], without * [0, 0, 1])).max() > 0.01  # edge f there, or not
    grown_jointly(unpacked, 0, 2, joint, 4 * g, grown)
    np.testing.assert_allclose(grown, grown[0], rtol=1e-4)
    cells = np.empty(49)
    unpacked.x[2] = 0
    edge_cells(rows, unpacked, 0, 0, n, cells)
    pair = law([0, 1], weights * [1, 0, 0])
    np.testing.assert_allclose(cells.reshape(7, 7), pair, atol=1e-5)
    assert not cells.reshape(7, 7)[2:].any()
    assert not cells.reshape(7, 7)[:, 2:].any()
    grown_weights(rows, unpacked, 0, 3 * g, grown)
    np.testing.assert_allclose(grown, grown[0], rtol=1e-4)
