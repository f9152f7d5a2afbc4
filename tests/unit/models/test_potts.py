"""The Potts model and the engines that take it, against an enumeration from the definition."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.base import LOG_Z
from bayesmrf.engines import (
    Bethe,
    Brief,
    CouplingFromThePast,
    Elimination,
    Enumeration,
    FromExact,
    Gibbs,
    MeanField,
    Persistent,
    PseudoLikelihood,
    SwendsenWang,
    Tempered,
    Tree,
)
from bayesmrf.errors import OptionError, TooWideError
from bayesmrf.graphs import Graph
from bayesmrf.inference import mean_field
from bayesmrf.inference.auto import choose, is_cheap
from bayesmrf.inference.bethe import many_states as categorical_bethe
from bayesmrf.inference.elimination import engine as elimination
from bayesmrf.inference.elimination import many_states as categorical_elimination
from bayesmrf.inference.elimination.engine import cost
from bayesmrf.inference.registry import engines_that_answer
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement, Boltzmann, Potts
from bayesmrf.models.categorical import binary_form, log_potential
from tests.oracle.potts import as_potts, assert_same, features, infer, law
from tests.oracle.states import gradient_of_log_z, random_graph

EXACT = [Enumeration(), Elimination()]
by_exact = pytest.mark.parametrize("engine", EXACT, ids=lambda e: e.name)

# Connected, disconnected, with isolated nodes, without edges, and one node alone.
CASES = {
    "one node": (Graph(1, np.zeros((0, 2), int)), 4),
    "no edges": (Graph(4, np.zeros((0, 2), int)), 3),
    "tree": (graphs.binary_tree(2), 3),
    "cycle": (graphs.cycle(6), 3),
    "grid": (graphs.grid(2, 4), 3),
    "complete": (graphs.complete(5), 4),
    "parts": (Graph(7, np.array([(4, 0), (5, 4), (0, 5), (6, 2)])), 3),
    "bipartite": (Graph(6, np.array([(u, v) for u in range(2) for v in range(2, 6)])), 3),
    "two states": (graphs.grid(3, 3), 2),
    "many states": (graphs.cycle(3), 11),
}
by_case = pytest.mark.parametrize(("graph", "m"), CASES.values(), ids=CASES.keys())


# The model


@by_case
def test_statistics_and_potential_are_the_definition(graph, m, rng):
    model = Potts(graph, m)
    states, s = features(model)
    theta = rng.normal(size=model.n_features)
    assert s.shape[1] == model.n_features == len(model.feature_names) == len(set(model.feature_names))
    weights = rng.integers(0, 5, len(states))
    np.testing.assert_allclose(model.statistics(states, weights), weights @ s / weights.sum(), atol=1e-14)
    np.testing.assert_allclose(model.statistics(states), s.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(log_potential(model.categorical(theta), states), s @ theta, atol=1e-12)
    np.testing.assert_array_equal(model.feature_low, s.min(axis=0))
    np.testing.assert_array_equal(s.max(axis=0), 1)


def test_names_say_which_state():
    graph = Graph(2, np.array([[0, 1]]), ("a", "b"))
    assert Potts(graph, 3).feature_names == ["a-b", "a=1", "a=2", "b=1", "b=2"]


@pytest.mark.parametrize("n_states", [1, 0, -3, 2.5, 128, "3", None])
def test_numbers_of_states_that_are_none(n_states):
    with pytest.raises(OptionError, match=r"n_states must be .*, got .*"):
        Potts(graphs.path(2), n_states)


# Exact engines


@by_exact
@by_case
def test_log_z_and_moments_are_the_enumerated_ones(engine, graph, m, rng):
    model = Potts(graph, m)
    for scale in (0.1, 1.5, 10.0):
        theta = rng.normal(0, scale, model.n_features)
        assert_same(infer(engine, model, theta), model, theta)


def test_random_graphs(rng):
    for _ in range(40):
        m = int(rng.integers(2, 5))
        d = int(rng.integers(1, 8 if m < 4 else 7))
        model = Potts(random_graph(rng, d, rng.random()), m)
        theta = rng.normal(0, rng.uniform(0, 8), model.n_features)
        for engine in EXACT:
            assert_same(infer(engine, model, theta), model, theta)


def test_the_comparison_notices_a_wrong_parameter(rng):
    model = Potts(graphs.grid(2, 3), 3)
    theta = rng.normal(size=model.n_features)
    wrong = theta.copy()
    wrong[rng.integers(len(theta))] += 1e-6
    with pytest.raises(AssertionError):
        assert_same(infer(Elimination(), model, wrong), model, theta)


@pytest.mark.parametrize("engine", [*EXACT, MeanField(tolerance=1e-13), Bethe(tolerance=1e-13)], ids=lambda e: e.name)
def test_moments_are_the_gradient_of_log_z(engine, rng):
    model = Potts(random_graph(rng, 6, 0.6), 3)
    theta = rng.normal(0, 0.4, model.n_features)
    gradient = gradient_of_log_z(engine, model, theta)
    np.testing.assert_allclose(infer(engine, model, theta).moments, gradient, rtol=0, atol=1e-7)


@by_exact
def test_log_z_alone_is_the_log_z_that_comes_with_moments(engine, rng):
    model = Potts(graphs.grid(2, 4), 3)
    theta = rng.normal(size=model.n_features)
    alone = engine.infer(model, theta, engine.prepare(model), LOG_Z)
    assert alone.log_z == infer(engine, model, theta).log_z
    assert alone.moments is None


@pytest.mark.parametrize("engine", [*EXACT, MeanField(), Bethe()], ids=lambda e: e.name)
@by_case
def test_zero_theta(engine, graph, m):
    model = Potts(graph, m)
    found = infer(engine, model, np.zeros(model.n_features))
    assert found.log_z == pytest.approx(graph.n_nodes * np.log(m), rel=1e-12)
    np.testing.assert_allclose(found.moments, 1 / m, atol=1e-7)


@by_exact
def test_permuting_states_and_nodes(engine, rng):
    graph, m = random_graph(rng, 6, 0.5), 4
    model = Potts(graph, m)
    theta = rng.normal(0, 2, model.n_features)
    field = np.column_stack([np.zeros(6), theta[graph.n_edges :].reshape(6, m - 1)])
    node, state = rng.permutation(6), rng.permutation(m)
    moved = np.empty_like(field)
    moved[np.ix_(node, state)] = field
    other = Potts(Graph(6, node[graph.edges]), m)
    # The reference state has another number now: its field is taken from all others, and log Z grows by it.
    reference = moved[:, :1].copy()
    other_theta = np.concatenate([theta[: graph.n_edges], (moved - reference)[:, 1:].ravel()])
    one, two = infer(engine, model, theta), infer(engine, other, other_theta)
    assert one.log_z == pytest.approx(two.log_z + reference.sum(), rel=1e-12)
    np.testing.assert_allclose(one.moments[: graph.n_edges], two.moments[: graph.n_edges], atol=1e-12)


def test_a_long_path_has_a_closed_form(rng):
    m, d = 5, 20_000
    model = Potts(graphs.path(d), m)
    coupling = rng.normal(0, 3, d - 1)
    found = infer(Elimination(), model, np.concatenate([coupling, np.zeros(d * (m - 1))]))
    assert found.log_z == pytest.approx(np.log(m) + np.logaddexp(coupling, np.log(m - 1)).sum(), rel=1e-12)
    np.testing.assert_allclose(found.moments[: d - 1], 1 / (1 + (m - 1) * np.exp(-coupling)), atol=1e-12)
    np.testing.assert_allclose(found.moments[d - 1 :], 1 / m, atol=1e-12)


def test_strong_parameters_do_not_overflow(rng):
    model = Potts(graphs.grid(3, 3), 3)
    theta = rng.choice([-1, 1], model.n_features) * rng.uniform(200, 1000, model.n_features)
    found = infer(Elimination(), model, theta)
    assert found.log_z == pytest.approx(np.logaddexp.reduce(features(model)[1] @ theta), rel=1e-12)
    assert ((found.moments >= 0) & (found.moments <= 1 + 1e-12)).all()


def test_models_too_large_are_refused():
    with pytest.raises(TooWideError, match=r"enumeration over 14 nodes would need .* GiB for 3\^14 states"):
        Enumeration().prepare(Potts(graphs.path(14), 3))
    Enumeration().prepare(Potts(graphs.path(12), 3))
    wide = graphs.complete(13)
    Elimination(max_bytes=2**20).prepare(Agreement(wide))
    with pytest.raises(TooWideError, match=r"width 12 and would need 0\.0356 GiB"):
        Elimination(max_bytes=2**20).prepare(Potts(wide, 3))
    with pytest.raises(TooWideError, match="width at least"):
        Elimination(max_bytes=2**20).prepare(Potts(graphs.complete(200), 3))


def test_cost_counts_the_tables_of_m_states():
    # Bags of 4, 3, 2, 1 and 0 nodes: a message and three probabilities an entry, and three rows to work on.
    assert cost(graphs.complete(5), n_states=3) == (4, 8 * (4 * (81 + 27 + 9 + 3 + 1) + 3 * 81))
    assert is_cheap(graphs.grid(12, 12))
    assert not is_cheap(graphs.grid(12, 12), 4)
    assert choose(graphs.grid(12, 12), n_states=4).name == "persistent"
    assert choose(graphs.grid(5, 5), n_states=4).name == "elimination"


# Two states: the same as the binary models


@pytest.mark.parametrize("engine", [*EXACT, MeanField(), Bethe()], ids=lambda e: e.name)
@pytest.mark.parametrize("make", [lambda g: Agreement(g, True), Boltzmann], ids=["agreement", "boltzmann"])
def test_two_states_are_the_binary_models(engine, make, rng):
    for strength in (0.0, 0.5, 3.0):
        binary = make(random_graph(rng, 8, 0.5))
        theta = rng.normal(0, strength, binary.n_features)
        potts, same_theta, gap = as_potts(binary, theta)
        one, two = infer(engine, binary, theta), infer(engine, potts, same_theta)
        assert one.log_z == pytest.approx(two.log_z + gap, abs=1e-6)
        agree, up = two.moments[: potts.n_edges], two.moments[potts.n_edges :]
        u, v = potts.graph.edges.T
        if isinstance(binary, Agreement):
            expected = np.concatenate([agree, 2 * up - 1])
        else:
            expected = np.concatenate([(agree - 1 + up[u] + up[v]) / 2, up])
        np.testing.assert_allclose(one.moments, expected, atol=2e-6)


# Approximations


def test_mean_field_is_a_lower_bound(rng):
    gaps = []
    for _ in range(200):
        m = int(rng.integers(2, 5))
        model = Potts(random_graph(rng, int(rng.integers(1, 6)), rng.random()), m)
        theta = rng.normal(0, rng.uniform(0, 4), model.n_features)
        for engine in (MeanField(), MeanField(max_iterations=1)):
            gaps.append(law(model, theta)[0] - infer(engine, model, theta).log_z)
    assert min(gaps) > -1e-10
    assert max(gaps) > 0.1  # the bound is not the answer itself


def test_mean_field_is_exact_without_edges(rng):
    model = Potts(Graph(4, np.zeros((0, 2), int)), 5)
    theta = rng.normal(0, 3, model.n_features)
    assert_same(infer(MeanField(), model, theta), model, theta)


def test_mean_field_takes_the_highest_maximum():
    """Couplings so strong that all nodes share a state, and a field that is best where the first start does not go."""
    model = Potts(graphs.complete(6), 3)
    field = np.zeros((6, 2))
    field[0] = [0.0, 3.0]
    field[1:] = [0.2, -0.3]
    theta = np.concatenate([np.full(15, 3.0), field.ravel()])
    log_z = law(model, theta)[0]
    assert infer(MeanField(), model, theta).log_z == pytest.approx(log_z, abs=1.2)
    np.testing.assert_allclose(infer(MeanField(), model, theta).moments[15::2], 0, atol=0.05)
    np.testing.assert_allclose(infer(MeanField(), model, theta).moments[16::2], 1, atol=0.05)


@pytest.mark.parametrize("graph", [graphs.binary_tree(2), graphs.path(7), Graph(6, np.array([(0, 3), (3, 5), (1, 2)]))])
@pytest.mark.parametrize("m", [3, 4])
def test_bethe_is_exact_on_forests(graph, m, rng):
    model = Potts(graph, m)
    for scale in (0.3, 2.0, 10.0):
        theta = rng.normal(0, scale, model.n_features)
        for field in (1.0, 0.0):
            theta[model.n_edges :] *= field
            found = infer(Bethe(), model, theta)
            assert found.status == ""
            log_z, p = law(model, theta)
            assert found.log_z == pytest.approx(log_z, rel=1e-9, abs=1e-9)
            np.testing.assert_allclose(found.moments, p @ features(model)[1], atol=1e-8)


def test_bethe_is_close_where_loops_are_weak_and_not_exact(rng):
    model = Potts(graphs.cycle(4), 3)
    theta = rng.normal(0, 0.3, model.n_features)
    error = infer(Bethe(), model, theta).log_z - law(model, theta)[0]
    assert 0 < abs(error) < 0.05
    theta = np.concatenate([np.full(4, 2.5), np.zeros(8)])
    assert abs(infer(Bethe(), model, theta).log_z - law(model, theta)[0]) > 0.05


def test_bethe_leaves_the_symmetric_point_where_couplings_are_strong():
    """All six nodes of a complete graph in one state: log Z is about log m + sum J, which equal beliefs cannot say."""
    model = Potts(graphs.complete(6), 3)
    for field in (np.zeros(12), np.tile([-8.0, 0.0], 6), np.tile([-0.5, -0.5], 6)):
        theta = np.concatenate([np.full(15, 3.0), field])
        found = infer(Bethe(), model, theta)
        assert found.status == ""
        assert found.log_z == pytest.approx(law(model, theta)[0], abs=1.2)  # one state of three has been chosen


def test_what_has_not_converged_says_so(rng):
    model = Potts(graphs.complete(6), 3)
    theta = rng.normal(0, 2, model.n_features)
    for engine in (MeanField(max_iterations=1), Bethe(max_iterations=1)):
        assert "not converged after max_iterations = 1" in infer(engine, model, theta).status


# The compiled parts


def test_compiled_elimination_is_py_func(rng, monkeypatch):
    model = Potts(random_graph(rng, 5, 0.6), 3)
    theta = rng.normal(0, 2, model.n_features)
    engine = Elimination()
    plan = engine.prepare(model)
    compiled, alone = engine.infer(model, theta, plan), engine.infer(model, theta, plan, LOG_Z).log_z
    states = engine.sample(model, theta, plan, 20, np.random.default_rng(5))
    for module, names in (
        (elimination, ("categorical_log_z", "categorical_moments", "categorical_samples")),
        (categorical_elimination, ("spread", "_sum_out", "_forward")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain = engine.infer(model, theta, plan)
    assert compiled.log_z == pytest.approx(plain.log_z, rel=1e-13)
    assert alone == pytest.approx(engine.infer(model, theta, plan, LOG_Z).log_z, rel=1e-13)
    np.testing.assert_allclose(compiled.moments, plain.moments, atol=1e-13)
    np.testing.assert_array_equal(states, engine.sample(model, theta, plan, 20, np.random.default_rng(5)))


@pytest.mark.parametrize("engine", [MeanField(max_iterations=4), Bethe(max_iterations=4)], ids=lambda e: e.name)
def test_compiled_iterations_are_their_python_forms(engine, rng, monkeypatch):
    from bayesmrf.inference.bethe import engine as bethe

    model = Potts(graphs.cycle(4), 3)
    for theta in (rng.normal(size=model.n_features), np.r_[np.full(4, 2.0), np.zeros(8)]):
        compiled = infer(engine, model, theta)
        with monkeypatch.context() as patch:
            for module, names in (
                (mean_field, ("softmax", "solve_categorical")),
                (categorical_bethe, ("softmax", "_ahead", "_total")),
                (bethe, ("categorical_propagate", "categorical_beliefs")),
            ):
                for name in names:
                    patch.setattr(module, name, getattr(module, name).py_func)
            plain = infer(engine, model, theta)
        assert compiled.log_z == pytest.approx(plain.log_z, rel=1e-12)
        np.testing.assert_allclose(compiled.moments, plain.moments, atol=1e-12)


# What is refused


@pytest.mark.parametrize(
    "engine", [Tree(), CouplingFromThePast(), PseudoLikelihood(np.zeros((3, 2), int))], ids=lambda e: e.name
)
def test_engines_of_binary_models_refuse(engine):
    message = rf"engine must be an engine for the model 'potts' with 3 states a node, got '{engine.name}'.*elimination"
    model = Potts(graphs.path(2), 3)
    with pytest.raises(OptionError, match=message):
        Likelihood(model, np.zeros(5), 10, engine)


def test_the_engines_named_are_those_that_take_many_states(rng):
    taken = [*EXACT, MeanField(), Bethe(), Persistent(64), Brief(np.zeros((3, 2), int)), Gibbs(1), SwendsenWang(1)]
    taken += [FromExact(Elimination(), 8), Tempered(20)]
    assert {e.name for e in taken} == set(engines_that_answer((), Potts(graphs.path(2), 3)))
    assert set(engines_that_answer(())) == {e.name for e in taken} | {"tree", "cftp", "pseudo-likelihood"}
    model = Potts(graphs.path(2), 3)
    for engine in taken:
        plan, state = engine.prepare(model), engine.start(model, rng)
        for question in engine.answers - {"sample"}:
            engine.infer(model, np.zeros(5), plan, question, state)
        if "sample" in engine.answers:
            assert engine.sample(model, np.zeros(5), plan, 3, rng).shape == (3, 2)


def test_what_works_on_binary_models_only_says_so():
    with pytest.raises(OptionError, match=r"model must be a binary model.*, got 'potts .3 states a node.'"):
        binary_form(Potts(graphs.path(2), 3), np.zeros(5))
