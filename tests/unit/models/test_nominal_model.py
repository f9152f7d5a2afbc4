"""The nominal model next to sums over all states, and what its contrasts promise."""

import itertools

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.inference.chains import Persistent
from bayesmrf.inference.elimination.engine import Elimination
from bayesmrf.inference.enumeration import Enumeration
from bayesmrf.models import Nominal, Ordinal, nominal
from bayesmrf.models.clamped_categorical import ClampedCategorical
from bayesmrf.models.nominal import contrasts

SIZES, ORDERED = (3, 2, 4, 3), (False, True, False, True)


@pytest.fixture
def model():
    # Edges in both orders of their ends, whose tables are not symmetric.
    return Nominal(graphs.Graph(4, np.array([[1, 0], [0, 2], [3, 1], [2, 3], [0, 3]])), 4, True, SIZES, ORDERED)


@pytest.fixture
def theta(model, rng):
    return rng.normal(size=model.n_features)


@pytest.fixture
def truth(model, theta):
    states = np.array(list(itertools.product(*map(range, SIZES))))
    tables, fields = model.table(theta), model.field_table(theta[model.edge_starts[-1] :])
    log_weight = fields[np.arange(4), states].sum(axis=1)
    for table, (u, v) in zip(tables, model.graph.edges, strict=True):
        log_weight += table[states[:, u], states[:, v]]
    log_z = np.log(np.exp(log_weight).sum())
    return states, np.exp(log_weight - log_z), log_z


@pytest.mark.parametrize("engine", [Enumeration(), Elimination()], ids=["enumeration", "elimination"])
def test_engines_agree_with_sums_over_states(model, theta, truth, engine, rng):
    states, p, log_z = truth
    moments, plan = p @ model.features(states), engine.prepare(model)
    found = engine.infer(model, theta, plan)
    np.testing.assert_allclose(found.log_z, log_z, rtol=1e-12)
    np.testing.assert_allclose(found.moments, moments, atol=1e-12)
    np.testing.assert_allclose(theta @ model.features(states).T - np.log(p), log_z, atol=1e-10)
    drawn = engine.sample(model, theta, plan, 40_000, rng)
    error = np.sqrt(p @ (model.features(states) - moments) ** 2 / 40_000)
    assert (np.abs(model.statistics(drawn) - moments) < 5 * error).all()  # a false alarm in 50,000 runs
    np.testing.assert_allclose(model.statistics(drawn), model.features(drawn).mean(axis=0), atol=1e-12)


def test_a_transposed_table_is_another_model(model, theta, truth):
    other = Nominal(graphs.Graph(4, model.graph.edges[:, ::-1].copy()), 4, True, SIZES, ORDERED)
    engine = Elimination()
    found = engine.infer(other, theta, engine.prepare(other)).log_z  # the same numbers, of transposed matrices
    assert abs(found - truth[2]) > 1e-3


def test_gibbs_chains_agree_with_sums_over_states(model, theta, truth, rng):
    states, p, _ = truth
    moments = p @ model.features(states)
    engine = Persistent(n_chains=2048)
    memory, plan, seen = engine.start(model, rng), engine.prepare(model), []
    for _ in range(120):
        found = engine.infer(model, theta, plan, state=memory)
        memory, seen = found.state, [*seen, found.moments]
    means = np.array(seen[20:])
    error = means.reshape(10, 10, -1).mean(axis=1).std(axis=0, ddof=1) / np.sqrt(10)
    # Student's t of 9: a false alarm in 2,000 runs of 22 features.
    assert (np.abs(means.mean(axis=0) - moments) < 8 * error).all()


def test_observed_neighbours_at_either_end(model, theta, truth, rng):
    states, p, log_z = truth
    rows = states[rng.integers(len(states), size=8)].astype(np.int8)
    rows[rng.random(rows.shape) < 0.4] = -1
    clamped, engine = ClampedCategorical(model, rows), Elimination()
    found = engine.infer(clamped, theta, engine.prepare(clamped))
    expected, moments = 0.0, 0.0
    for row in rows:
        there = ((states == row) | (row < 0)).all(axis=1)
        expected += np.log(p[there].sum()) + log_z
        moments = moments + p[there] @ model.features(states[there]) / p[there].sum()
    np.testing.assert_allclose(found.log_z, expected, rtol=1e-12)
    np.testing.assert_allclose(found.moments, moments, atol=1e-11)


def test_ranges_of_features(model):
    features = model.features(np.array(list(itertools.product(*map(range, SIZES)))))
    np.testing.assert_allclose(model.feature_low, features.min(axis=0))
    np.testing.assert_allclose(model.feature_high, features.max(axis=0))


@pytest.mark.parametrize("size", [2, 3, 7])
def test_contrasts_keep_all_categories_at_the_same_distance(size):
    rows = contrasts(size)
    apart = rows[:, :, None] - rows[:, None, :]
    np.testing.assert_allclose((apart**2).sum(axis=0), 1 - np.eye(size), atol=1e-12)
    np.testing.assert_allclose(rows.sum(axis=1), 0, atol=1e-12)


def log_odds_ratios(sizes, rng):
    """Of all pairs of categories of both ends, (n_ratios, 20,000), of standard normal parameters; and strengths."""
    model = Nominal(graphs.path(2), max(sizes), True, sizes)
    theta = np.zeros((20_000, model.n_features))
    theta[:, : model.edge_starts[-1]] = rng.normal(size=(20_000, model.edge_starts[-1]))
    table = model.table(theta)[:, 0]
    ratios = np.array([
        table[:, a, c] - table[:, b, c] - table[:, a, d] + table[:, b, d]
        for a, b in itertools.combinations(range(sizes[0]), 2) for c, d in itertools.combinations(range(sizes[1]), 2)
    ])  # fmt: skip
    return ratios, model.strength(theta)[:, 0]


def have_one_scale(ratios):
    return (np.abs(ratios.std(axis=1) - 1) < 5 / np.sqrt(2 * ratios.shape[1])).all()  # a false alarm in 50,000 runs


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5), (4, 2)])
def test_log_odds_ratios_have_one_scale(sizes, rng, monkeypatch):
    """The control has the contrasts of all categories to the first, whose slab depends on which that is."""
    ratios, strength = log_odds_ratios(sizes, rng)
    assert have_one_scale(ratios)
    np.testing.assert_allclose(strength, np.sqrt((ratios**2).mean(axis=0)), rtol=1e-10)
    monkeypatch.setattr(nominal, "contrasts", lambda m: np.eye(m)[1:])
    assert have_one_scale(log_odds_ratios(sizes, rng)[0]) == (max(sizes) == 2)


def test_without_nominal_nodes_it_is_the_ordinal_model(rng):
    graph, sizes = graphs.complete(3), (2, 3, 4)
    ordinal, model = Ordinal(graph, 4, True, sizes), Nominal(graph, 4, True, sizes, (True,) * 3)
    assert model.feature_names == ordinal.feature_names
    states = np.array(list(itertools.product(*map(range, sizes))))
    np.testing.assert_allclose(model.features(states), ordinal.features(states))
    theta = rng.normal(size=model.n_features)
    np.testing.assert_allclose(model.strength(theta), np.abs(theta[:3]))
