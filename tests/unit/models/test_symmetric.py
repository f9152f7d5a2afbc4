"""Nodes with m states and a table for each edge: the model, and the engines that take it, against enumeration."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import (
    Bethe,
    Brief,
    Elimination,
    Enumeration,
    FromExact,
    Gibbs,
    MeanField,
    Persistent,
    SwendsenWang,
    Tempered,
)
from bayesmrf.errors import OptionError
from bayesmrf.graphs import Graph
from bayesmrf.inference.elimination import engine as elimination
from bayesmrf.inference.elimination import many_states as categorical_elimination
from bayesmrf.inference.registry import engines_that_answer
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Potts, Symmetric
from bayesmrf.models.categorical import log_potential
from tests.oracle.bounds import assert_other_share, assert_share
from tests.oracle.potts import infer, p_value
from tests.oracle.states import gradient_of_log_z, random_graph
from tests.oracle.symmetric import features, law, pairs

EXACT = [Enumeration(), Elimination()]
by_exact = pytest.mark.parametrize("engine", EXACT, ids=lambda e: e.name)
CASES = [
    (graphs.cycle(3), 2, False),
    (graphs.grid(2, 3), 3, False),
    (graphs.grid(2, 3), 3, True),
    (graphs.cycle(4), 4, True),
]
by_case = pytest.mark.parametrize(("graph", "m", "fields"), CASES)


@by_case
def test_statistics_and_potential_are_the_definition(graph, m, fields, rng):
    model = Symmetric(graph, m, fields)
    states, s = features(model)
    theta = rng.normal(size=model.n_features)
    assert s.shape[1] == model.n_features == len(set(model.feature_names))
    assert model.n_parameters == len(pairs(m, fields)) == (m * (m - 1) // 2 if fields else m * (m + 1) // 2 - 1)
    weights = rng.integers(0, 5, len(states))
    np.testing.assert_allclose(model.statistics(states, weights), weights @ s / weights.sum(), atol=1e-14)
    np.testing.assert_allclose(log_potential(model.categorical(theta), states), s @ theta, atol=1e-12)
    np.testing.assert_array_equal(model.feature_low, s.min(axis=0))
    np.testing.assert_array_equal(s.max(axis=0), 1)


def test_names_say_which_states():
    graph = Graph(2, np.array([[0, 1]]), ("a", "b"))
    assert Symmetric(graph, 2).feature_names == ["a-b=0,1", "a-b=1,1"]
    assert Symmetric(graph, 3, True).feature_names == ["a-b=1,1", "a-b=1,2", "a-b=2,2", "a=1", "a=2", "b=1", "b=2"]


@by_exact
@by_case
def test_log_z_and_moments_are_the_enumerated_ones(engine, graph, m, fields, rng):
    model = Symmetric(graph, m, fields)
    s = features(model)[1]
    for scale in (0.1, 1.5, 10.0):
        theta = rng.normal(0, scale, model.n_features)
        log_z, p = law(model, theta)
        found = infer(engine, model, theta)
        assert found.log_z == pytest.approx(log_z, rel=1e-11)
        np.testing.assert_allclose(found.moments, p @ s, atol=1e-11)
        assert infer(engine, model, theta + 1e-6).log_z != pytest.approx(log_z, rel=1e-11)


def test_random_graphs(rng):
    for _ in range(30):
        m, fields = int(rng.integers(2, 5)), bool(rng.integers(2))
        model = Symmetric(random_graph(rng, int(rng.integers(1, 7 if m < 4 else 6)), rng.random()), m, fields)
        theta = rng.normal(0, rng.uniform(0, 8), model.n_features)
        log_z, p = law(model, theta)
        for engine in EXACT:
            found = infer(engine, model, theta)
            assert found.log_z == pytest.approx(log_z, rel=1e-11, abs=1e-11)
            np.testing.assert_allclose(found.moments, p @ features(model)[1], atol=1e-11)


@by_exact
def test_moments_are_the_gradient_of_log_z(engine, rng):
    model = Symmetric(random_graph(rng, 5, 0.7), 3, True)
    theta = rng.normal(0, 0.5, model.n_features)
    gradient = gradient_of_log_z(engine, model, theta)
    np.testing.assert_allclose(infer(engine, model, theta).moments, gradient, rtol=0, atol=1e-7)


@by_exact
def test_tables_that_reward_agreement_are_the_potts_model(engine, rng):
    graph, m = random_graph(rng, 5, 0.7), 3
    potts, symmetric = Potts(graph, m, fields=False), Symmetric(graph, m)
    coupling = rng.normal(size=graph.n_edges)
    # J on the diagonal, less the constant J at (0, 0): pairs that differ have -J.
    theta = np.array([0 if k == j else -c for c in coupling for k, j in symmetric.pairs])
    one, two = infer(engine, potts, coupling), infer(engine, symmetric, theta)
    assert one.log_z == pytest.approx(two.log_z + coupling.sum())
    differ = np.array([k != j for k, j in symmetric.pairs])
    np.testing.assert_allclose(
        one.moments, 1 - two.moments.reshape(graph.n_edges, -1)[:, differ].sum(axis=1), atol=1e-12
    )


@by_exact
def test_potts_without_fields_has_fields_of_zero(engine, rng):
    graph, m = random_graph(rng, 5, 0.7), 3
    coupling = rng.normal(size=graph.n_edges)
    bare, full = Potts(graph, m, fields=False), Potts(graph, m)
    one, two = infer(engine, bare, coupling), infer(engine, full, np.append(coupling, np.zeros(10)))
    assert one.log_z == pytest.approx(two.log_z)
    np.testing.assert_allclose(one.moments, two.moments[: graph.n_edges], atol=1e-12)
    states = engine.sample(full, np.append(coupling, np.zeros(10)), engine.prepare(full), 50, rng)
    np.testing.assert_allclose(bare.statistics(states), full.statistics(states)[: graph.n_edges])
    assert bare.feature_names == graph.edge_names
    assert bare.n_features == graph.n_edges


SAMPLERS = [Enumeration(), Elimination(), Gibbs(60), Gibbs(60, n_jobs=2)]


@pytest.mark.parametrize("engine", SAMPLERS, ids=lambda e: f"{e.name}-{getattr(e, 'n_jobs', 1)}")
@pytest.mark.parametrize("fields", [False, True])
def test_sampled_frequencies_are_the_enumerated_ones(engine, fields, rng):
    model = Symmetric(graphs.grid(2, 2), 3, fields)
    theta = rng.normal(0, 0.5, model.n_features)
    plan, n = engine.prepare(model), 60_000
    truth = law(model, theta)[1]
    assert p_value(model, engine.sample(model, theta, plan, n, rng), truth) > 1e-6
    wrong = theta + 0.3 * np.sign(rng.normal(size=len(theta)))
    assert p_value(model, engine.sample(model, wrong, plan, n, rng), truth) < 1e-6


def test_moments_of_chains(rng):
    model = Symmetric(graphs.cycle(5), 3, True)
    theta = rng.normal(0, 0.4, model.n_features)
    engine = Persistent(n_chains=6000, n_sweeps=40)
    found = engine.infer(model, theta, None, state=engine.start(model, rng)).moments
    truth = law(model, theta)[1] @ features(model)[1]
    assert_share(6000 * found, 6000, truth)
    assert_other_share(6000 * found, 6000, law(model, theta + 0.5)[1] @ features(model)[1])


def test_compiled_elimination_is_py_func(rng, monkeypatch):
    model = Symmetric(random_graph(rng, 5, 0.6), 3, True)
    theta, engine = rng.normal(0, 2, model.n_features), Elimination()
    plan = engine.prepare(model)
    compiled = engine.infer(model, theta, plan)
    for module, names in (
        (elimination, ("categorical_moments",)),
        (categorical_elimination, ("spread", "_sum_out", "_forward", "_gain", "_add_pair")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain = engine.infer(model, theta, plan)
    assert compiled.log_z == pytest.approx(plain.log_z, rel=1e-13)
    np.testing.assert_allclose(compiled.moments, plain.moments, atol=1e-13)


def test_what_does_not_take_tables_says_so(rng):
    model = Symmetric(graphs.path(2), 3)
    theta = np.zeros(model.n_features)
    taken = [*EXACT, Persistent(64), Brief(np.zeros((3, 2), int)), Gibbs(1), FromExact(Elimination(), 8), Tempered(20)]
    assert {e.name for e in taken} == set(engines_that_answer((), model))
    for engine in (MeanField(), Bethe(), SwendsenWang(1), Persistent(64, moves="swendsen-wang")):
        with pytest.raises(OptionError, match=f"an engine for the model 'symmetric'.* got '{engine.name}'"):
            Likelihood(model, theta, 10, engine)
    with pytest.raises(OptionError, match=r"n_states must be .*, got 1"):
        Symmetric(graphs.path(2), 1)
