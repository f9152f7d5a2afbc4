"""Weights of particles follow moves of theta that redraw few nodes; without them (the control) the others lag."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.models import Agreement, Ordinal, Potts, Symmetric
from bayesmrf.posterior.groups.kernels import particle_groups
from bayesmrf.priors import DirichletProcess, Normal
from bayesmrf.states.edge_tables import edge_categories, edge_cells
from bayesmrf.states.memory import pack, unpack
from bayesmrf.states.refresh import edge_moment, move_to
from bayesmrf.states.table_sweeps import redraw_ends
from bayesmrf.states.weights import KEPT, even_out, follow_states, forget, n_effective, set_weights
from tests.oracle.bounds import assert_estimate, assert_other_estimate
from tests.statistical import test_table_refresh as many_states
from tests.statistical.test_grouped_particle import STAR, M, exact_particles, have_moments

ENGINE = Elimination()
MOVES = {0: 1.5, 5: 1.5, 1: 1.0}


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("graph", [graphs.complete(4), graphs.complete(9)], ids=["by keys", "one by one"])
def test_two_states(graph, fields, follows, rng):
    theta = np.repeat([0.3, 0.1], [graph.n_edges, fields * graph.n_nodes])
    model, rows, unpacked = exact_particles(graph, theta, M, rng, fields)
    moves = MOVES | ({graph.n_edges: 0.4} if fields else {})
    for i, change in moves.items():
        edge_moment(rows, unpacked, i)
        theta[i] += change
        move_to(rows, unpacked, i, theta[i])
        if not follows:
            forget(unpacked)
    even_out(rng, unpacked)
    assert (unpacked.weights == 1).all()
    assert have_moments(model, unpacked, theta, many_states.RESAMPLED) == follows


def test_weights_count_in_moments(rng):
    """Weights that turn particles of one theta into those of another, and these as they are, have the same moments."""
    theta, target = np.zeros(9), 0.4 * rng.choice([-1, 1], 9)
    _, rows, unpacked = exact_particles(STAR, theta, M, rng)
    _, _, others = exact_particles(STAR, target, M, rng)
    agree = unpacked.x[STAR.edges[:, 0]] == unpacked.x[STAR.edges[:, 1]]
    weights = np.exp(target @ agree).astype(np.float32)
    unpacked.weights[:] = weights / weights.mean()
    unpacked.theta[:] = target

    def odds(particles):
        return np.array([edge_moment(rows, particles, i) for i in range(9)]).T

    (nu, between), (true, _) = odds(unpacked), odds(others)
    error = np.sqrt(np.maximum(between, 1e-4) / 0.25) * np.sqrt(1 / n_effective(unpacked.weights) + 1 / M)
    assert_estimate(nu, true, error)
    unpacked.weights[:] = 1
    assert_other_estimate(odds(unpacked)[0], true, error)


@pytest.mark.parametrize("follows", [True, False])
@pytest.mark.parametrize("look", ["categories", "cells"])
def test_many_states(look, follows, rng):
    model, theta = Potts(graphs.complete(4), 3, fields=False), np.full(6, 0.3)
    rows, unpacked = many_states.exact_particles(model, theta, rng)
    room, m = np.empty(many_states.M, np.float32), many_states.M
    for i, change in MOVES.items():
        if look == "cells":
            edge_cells(rows, unpacked, i, 0, m, np.empty(9))
        else:
            edge_categories(rows, unpacked, i)
        if follows:
            follow_states(rows, unpacked, i, change * np.eye(3).ravel(), room)
        theta[i] += change
        unpacked.potentials[i] = theta[i]
        redraw_ends(rows, unpacked, i)
    even_out(rng, unpacked)
    assert many_states.have_moments(model, unpacked, theta, many_states.RESAMPLED) == follows


def test_uneven_weights_are_forgotten(rng):
    _, _, unpacked = exact_particles(STAR, np.zeros(9), 1024, rng)
    weights = np.exp(0.4 * rng.standard_normal(1024)).astype(np.float32)
    set_weights(unpacked, 7 * weights)
    np.testing.assert_allclose(unpacked.weights, weights / weights.mean(), rtol=1e-5)
    assert n_effective(unpacked.weights) == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-4)
    set_weights(unpacked, weights**3)
    assert n_effective(weights**3 / np.mean(weights**3)) < KEPT * 1024
    assert (unpacked.weights == 1).all()


def particles_at(marginals, theta, rng):
    """Exact states at theta, as the memory of marginals."""
    model = marginals.model
    memory = marginals.start(theta, rng)
    states = ENGINE.sample(model, theta, ENGINE.prepare(model), marginals.n_particles, rng).T
    if model.n_states > 2:
        return memory._replace(x=states)
    unpacked = unpack(memory, marginals.graph, theta)
    unpacked.x[...] = 2 * states - 1
    return pack(unpacked)


SCANNED = {
    "two states": Agreement(graphs.complete(9)),
    "potts": Potts(graphs.complete(7), 3, fields=False),
    "tables": Symmetric(graphs.complete(4), 3, fields=False),
    "ordinal": Ordinal(graphs.complete(4), 3),
}


@pytest.mark.parametrize("name", SCANNED)
def test_particles_have_the_moments_of_theta_after_a_scan(name, rng):
    """Of few observations of nodes that are often alike, so that edges move far from 0."""
    model, n = SCANNED[name], 40.0
    x = rng.integers(0, model.n_states, (int(n), 1)) * np.ones((1, model.graph.n_nodes), dtype=int)
    x = np.where(rng.random(x.shape) < 0.3, rng.integers(0, model.n_states, x.shape), x)
    s_bar = model.statistics(x.astype(np.int8))
    prior = DirichletProcess() if name in ("two states", "potts") else DirichletProcess(base=Normal(1.0))
    kernel = particle_groups(model, s_bar, n, prior, np.zeros(model.n_features), n_particles=M)
    before, after = [], []
    for _ in range(16):
        (block, _), state = kernel._blocks, kernel.init(rng)
        walk = kernel.marginals.thaw(particles_at(kernel.marginals, state.theta, rng), state.theta, s_bar, n)
        walk.scan(rng, block, state.edges, 1)
        before.append(score(model, walk._unpacked.x.T, state.theta))
        after.append(score(model, walk._unpacked.x.T, walk.theta))
    # Uneven weights are forgotten in some scans. If all were, or were not resampled, 6 to 20.
    assert np.quantile(after, 0.25) < 4.5 < np.max(before)


def score(model, x, theta):
    """Largest score of the moments of states against exact ones; they are independent of each other."""
    found = ENGINE.infer(model, theta, ENGINE.prepare(model))
    states = np.maximum(x, 0)
    each = np.array([model.statistics(row[None]) for row in states[:2000]])
    return np.abs(
        (model.statistics(states) - found.moments) / np.maximum(each.std(axis=0), 0.01) * np.sqrt(len(x))
    ).max()
