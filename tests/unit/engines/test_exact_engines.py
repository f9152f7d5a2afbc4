"""Elimination = enumeration = an enumeration written again, in log Z, moments and the law of samples."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from bayesmrf import graphs
from bayesmrf.base import LOG_Z, Kind
from bayesmrf.engines import Elimination, Enumeration
from bayesmrf.errors import OptionError, TooWideError
from bayesmrf.graphs import Graph
from bayesmrf.inference.elimination import engine as elimination
from bayesmrf.inference.elimination import passes as elimination_passes
from bayesmrf.inference.elimination.engine import cost, width
from bayesmrf.models import Agreement
from tests.oracle import states as oracle
from tests.oracle.states import random_graph

ENGINES = [Enumeration(), Elimination()]
by_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
by_fields = pytest.mark.parametrize("fields", [False, True], ids=["plain", "fields"])

# Connected, disconnected, with isolated nodes, without edges, and one node alone.
GRAPHS = {
    "one node": Graph(1, np.zeros((0, 2), int)),
    "no edges": Graph(5, np.zeros((0, 2), int)),
    "one edge": graphs.path(2),
    "star": Graph(7, np.array([(3, v) for v in range(7) if v != 3])),
    "tree": graphs.binary_tree(3),
    "cycle": graphs.cycle(9),
    "grid": graphs.grid(3, 4),
    "4x4 grid": graphs.grid(4, 4),
    "complete": graphs.complete(9),
    "parts": Graph(12, np.array([(0, 4), (4, 8), (0, 8), (1, 2), (11, 5), (5, 7), (7, 9), (9, 11), (5, 9)])),
    "bipartite": Graph(11, np.array([(u, v) for u in range(3) for v in range(3, 11)])),
}
by_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


def random_theta(rng, model, scale=1.5):
    return rng.normal(0, scale, model.n_features)


def infer(engine, model, theta):
    return engine.infer(model, theta, engine.prepare(model))


def assert_same(found, model, theta):
    exact = oracle.log_z(model, theta)
    assert found.log_z == pytest.approx(exact, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(found.moments, oracle.moments(model, theta), rtol=0, atol=1e-10)


@by_engine
@by_fields
@by_graph
def test_log_z_and_moments_are_those_of_the_oracle(engine, fields, graph, rng):
    model = Agreement(graph, fields)
    for scale in (0.1, 1.5, 8.0):
        theta = random_theta(rng, model, scale)
        assert_same(infer(engine, model, theta), model, theta)


@settings(max_examples=60, deadline=None)
@given(
    d=st.integers(1, 13),
    density=st.floats(0, 1),
    scale=st.floats(0, 10),
    fields=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_random_graphs(d, density, scale, fields, seed):
    rng = np.random.default_rng(seed)
    model = Agreement(random_graph(rng, d, density), fields)
    theta = random_theta(rng, model, scale)
    for engine in ENGINES:
        assert_same(infer(engine, model, theta), model, theta)


@by_fields
@pytest.mark.parametrize("density", [0.15, 0.3, 0.6])
def test_random_graphs_of_16_nodes(density, fields, rng):
    model = Agreement(random_graph(rng, 16, density), fields)
    theta = random_theta(rng, model)
    for engine in ENGINES:
        assert_same(infer(engine, model, theta), model, theta)


def test_the_comparison_notices_a_wrong_parameter(rng):
    model = Agreement(graphs.grid(3, 3), True)
    theta = random_theta(rng, model)
    wrong = theta.copy()
    wrong[rng.integers(len(theta))] += 1e-6
    with pytest.raises(AssertionError):
        assert_same(infer(Elimination(), model, wrong), model, theta)


@by_engine
@by_fields
def test_moments_are_the_gradient_of_log_z(engine, fields, rng):
    model = Agreement(random_graph(rng, 10, 0.4), fields)
    theta = random_theta(rng, model)
    gradient = oracle.gradient_of_log_z(engine, model, theta)
    np.testing.assert_allclose(infer(engine, model, theta).moments, gradient, rtol=0, atol=2e-8)


@by_engine
def test_log_z_alone_is_the_log_z_that_comes_with_moments(engine, rng):
    model = Agreement(graphs.grid(3, 3), True)
    theta = random_theta(rng, model)
    plan = engine.prepare(model)
    alone = engine.infer(model, theta, plan, LOG_Z)
    assert alone.log_z == engine.infer(model, theta, plan).log_z
    assert alone.moments is None


@by_engine
@by_fields
@by_graph
def test_zero_theta(engine, fields, graph):
    model = Agreement(graph, fields)
    found = infer(engine, model, np.zeros(model.n_features))
    assert found.log_z == pytest.approx(graph.n_nodes * np.log(2), rel=1e-14)
    np.testing.assert_allclose(found.moments[: graph.n_edges], 0.5, atol=1e-14)
    np.testing.assert_allclose(found.moments[graph.n_edges :], 0, atol=1e-14)


@by_engine
def test_flipping_all_nodes(engine, rng):
    model = Agreement(random_graph(rng, 11, 0.3), True)
    theta = random_theta(rng, model)
    r = model.n_edges
    flipped = np.concatenate([theta[:r], -theta[r:]])
    one, two = infer(engine, model, theta), infer(engine, model, flipped)
    assert one.log_z == pytest.approx(two.log_z, rel=1e-13)
    np.testing.assert_allclose(one.moments[:r], two.moments[:r], atol=1e-13)
    np.testing.assert_allclose(one.moments[r:], -two.moments[r:], atol=1e-13)
    # Without fields both flips are the same model, so that no node has a direction.
    no_field = infer(engine, model, np.concatenate([theta[:r], np.zeros(model.graph.n_nodes)]))
    np.testing.assert_allclose(no_field.moments[r:], 0, atol=1e-13)


@by_engine
@by_fields
def test_relabelling_nodes_and_edges(engine, fields, rng):
    graph = random_graph(rng, 11, 0.4)
    model = Agreement(graph, fields)
    theta = random_theta(rng, model)
    new_number, shuffle = rng.permutation(graph.n_nodes), rng.permutation(graph.n_edges)
    relabelled = Agreement(Graph(graph.n_nodes, new_number[graph.edges][shuffle]), fields)
    old_number = np.argsort(new_number)
    feature = np.concatenate([shuffle, graph.n_edges + old_number]) if fields else shuffle
    one, two = infer(engine, model, theta), infer(engine, relabelled, theta[feature])
    assert one.log_z == pytest.approx(two.log_z, rel=1e-13)
    np.testing.assert_allclose(one.moments[feature], two.moments, atol=1e-13)


@pytest.mark.parametrize(
    "graph",
    [graphs.binary_tree(11), graphs.path(20_000), Graph(20_000, np.array([(0, v) for v in range(1, 20_000)]))],
    ids=["binary tree", "path", "star"],
)
def test_large_forests_have_a_closed_form(graph, rng):
    keep = rng.random(graph.n_edges) < 0.9
    forest = Graph(graph.n_nodes, graph.edges[keep])
    model = Agreement(forest)
    theta = random_theta(rng, model, 3)
    found = infer(Elimination(), model, theta)
    n_components = forest.n_nodes - forest.n_edges
    assert width(forest) == 1
    assert found.log_z == pytest.approx(n_components * np.log(2) + np.logaddexp(0, theta).sum(), rel=1e-12)
    np.testing.assert_allclose(found.moments, 1 / (1 + np.exp(-theta)), atol=1e-12)


def test_a_ladder_of_thousands_of_nodes_against_transfer_matrices(rng):
    """2 x L grid with strong parameters: the transfer matrices are multiplied in logarithms."""
    length = 3000
    model = Agreement(graphs.grid(2, length), True)
    theta = rng.uniform(-50, 50, model.n_features)
    number = {tuple(sorted(e)): c for c, e in enumerate(model.graph.edges.tolist())}
    x = np.array([(-1, -1), (-1, 1), (1, -1), (1, 1)])
    field = theta[model.n_edges :]
    log_weight = np.zeros(1)
    for i in range(length):
        rung = theta[number[i, length + i]] * (x[:, 0] == x[:, 1]) + x @ field[[i, length + i]]
        step = np.zeros((len(log_weight), 4))
        if i:
            for row, c in enumerate((number[i - 1, i], number[length + i - 1, length + i])):
                step += theta[c] * (x[:, None, row] == x[None, :, row])
        log_weight = np.logaddexp.reduce(log_weight[:, None] + step, axis=0) + rung
    exact = np.logaddexp.reduce(log_weight)
    assert infer(Elimination(), model, theta).log_z == pytest.approx(exact, rel=1e-10)


@by_engine
@by_fields
def test_extreme_theta_is_finite_and_exact(engine, fields, rng):
    model = Agreement(graphs.grid(3, 4), fields)
    for theta in (
        np.full(model.n_features, 50.0),
        np.full(model.n_features, -50.0),
        rng.choice([-50.0, 50.0], model.n_features),
    ):
        assert_same(infer(engine, model, theta), model, theta)


def test_opposed_hubs_do_not_underflow():
    """Two sets of 400 leaves push a node either way, each by a factor of e^20000: linear tables would be zero."""
    leaves = np.arange(1, 801)
    model = Agreement(Graph(801, np.stack([np.zeros(800, int), leaves], axis=1)), True)
    h = np.concatenate([[0.25], np.full(400, 50.0), np.full(400, -50.0)])
    found = infer(Elimination(), model, np.concatenate([np.full(800, 50.0), h]))
    up, down = np.logaddexp(50 + 50, -50), np.logaddexp(50, 50 - 50)
    assert found.log_z == pytest.approx(400 * (up + down) + np.logaddexp(0.25, -0.25), rel=1e-12)
    assert found.moments[800] == pytest.approx(np.tanh(0.25), abs=1e-10)


def chi_squared_fails(states, probability):
    """Goodness of fit at false alarm 1e-6; states expected fewer than 10 times are pooled."""
    count = np.bincount(oracle.state_numbers(states), minlength=len(probability)).astype(float)
    expected = probability * len(states)
    rare = expected < 10
    if rare.any():
        count = np.append(count[~rare], count[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
        if expected[-1] < 10 and len(expected) > 1:
            keep = np.argmax(expected[:-1])
            count[keep] += count[-1]
            expected[keep] += expected[-1]
            count, expected = count[:-1], expected[:-1]
    if len(count) == 1:
        return False
    return ((count - expected) ** 2 / expected).sum() > chi2.isf(1e-6, len(count) - 1)


@by_engine
@by_fields
@pytest.mark.parametrize("name", ["one node", "no edges", "parts", "grid", "complete"])
def test_samples_follow_the_law(engine, fields, name, rng):
    model = Agreement(GRAPHS[name], fields)
    theta = random_theta(rng, model, 1.0)
    states = engine.sample(model, theta, engine.prepare(model), 100_000, rng)
    assert states.dtype == np.int8
    assert states.shape == (100_000, model.graph.n_nodes)
    assert not chi_squared_fails(states, oracle.probabilities(model, theta))


@by_engine
def test_the_test_of_samples_notices_a_wrong_law(engine, rng):
    model = Agreement(graphs.grid(3, 3), True)
    theta = random_theta(rng, model, 1.0)
    wrong = theta.copy()
    wrong[0] += 0.5
    plan = engine.prepare(model)
    assert chi_squared_fails(engine.sample(model, wrong, plan, 100_000, rng), oracle.probabilities(model, theta))
    # One node mirrored: the kind of error that a swapped bit makes.
    states = engine.sample(model, theta, plan, 100_000, rng)
    states[:, 4] ^= 1
    assert chi_squared_fails(states, oracle.probabilities(model, theta))


@by_engine
def test_same_generator_same_samples(engine):
    model = Agreement(graphs.grid(3, 3))
    theta = np.linspace(-1, 1, model.n_features)
    plan = engine.prepare(model)
    one, two, other = (engine.sample(model, theta, plan, 50, np.random.default_rng(s)) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


@by_fields
def test_compiled_is_py_func(fields, rng, monkeypatch):
    model = Agreement(random_graph(rng, 9, 0.4), fields)
    theta = random_theta(rng, model)
    engine = Elimination()
    plan = engine.prepare(model)
    compiled = engine.infer(model, theta, plan)
    log_z_alone = engine.infer(model, theta, plan, LOG_Z).log_z
    states = engine.sample(model, theta, plan, 20, np.random.default_rng(5))
    for module, names in (
        (elimination, ("log_z_of", "moments_of", "sample_states")),
        (elimination_passes, ("spread", "_sum_out", "forward")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain = engine.infer(model, theta, plan)
    assert compiled.log_z == pytest.approx(plain.log_z, rel=1e-13)
    assert log_z_alone == pytest.approx(engine.infer(model, theta, plan, LOG_Z).log_z, rel=1e-13)
    np.testing.assert_allclose(compiled.moments, plain.moments, atol=1e-13)
    np.testing.assert_array_equal(states, engine.sample(model, theta, plan, 20, np.random.default_rng(5)))


def test_threads_share_a_plan(rng):
    model = Agreement(graphs.grid(7, 7), True)
    engine = Elimination()
    plan = engine.prepare(model)
    thetas = rng.normal(size=(64, model.n_features))
    alone = [engine.infer(model, theta, plan) for theta in thetas]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda theta: engine.infer(model, theta, plan), thetas))
    for one, two in zip(alone, together, strict=True):
        assert one.log_z == two.log_z
        np.testing.assert_array_equal(one.moments, two.moments)


def test_the_plan_is_not_changed_by_use(rng):
    model = Agreement(graphs.grid(4, 4), True)
    engine = Elimination()
    plan = engine.prepare(model)
    before = [np.copy(a) for a in plan]
    engine.infer(model, random_theta(rng, model), plan)
    engine.sample(model, random_theta(rng, model), plan, 10, rng)
    for a, b in zip(before, plan, strict=True):
        np.testing.assert_array_equal(a, b)


@by_engine
def test_what_an_engine_says_of_itself(engine):
    assert engine.kind is Kind.EXACT
    assert engine.answers == {"log_z", "moments", "sample"}
    assert engine.start(Agreement(graphs.grid(2, 2)), np.random.default_rng(0)) is None


def test_elimination_refuses_a_graph_that_is_too_wide():
    with pytest.raises(
        TooWideError, match=r"900 nodes has width at least \d+ .* at least [\d.]+ GiB, more than max_bytes"
    ):
        Elimination().prepare(Agreement(graphs.grid(30, 30)))
    # 100 nodes all joined: 2^99 entries are named, and not asked for.
    with pytest.raises(TooWideError, match=r"width at least 99 .* at least 1.8.e\+22 GiB"):
        Elimination().prepare(Agreement(graphs.complete(100)))
    with pytest.raises(
        TooWideError, match="GiB; use persistent chains, a graph with fewer edges, or a larger max_bytes"
    ):
        Elimination(max_bytes=100).prepare(Agreement(graphs.grid(3, 3)))


def test_memory_allowed_is_memory_named():
    graph = graphs.grid(6, 6)
    _, n_bytes = cost(graph)
    Elimination(max_bytes=n_bytes).prepare(Agreement(graph))
    with pytest.raises(TooWideError):
        Elimination(max_bytes=n_bytes - 1).prepare(Agreement(graph))


def test_cost_is_broken_off_early():
    found_width, n_bytes = cost(graphs.grid(40, 40), max_bytes=1e6)
    assert n_bytes > 1e6
    assert found_width < width(graphs.grid(40, 40))
    assert cost(graphs.complete(5)) == (4, 16 * (16 + 8 + 4 + 2 + 1 + 16))


def test_enumeration_refuses_too_many_nodes():
    with pytest.raises(TooWideError, match=r"25 nodes would need 1 GiB for 2\^25 states, more than max_nodes = 20"):
        Enumeration().prepare(Agreement(graphs.path(25)))


@pytest.mark.parametrize("bad", [0, -1, float("nan")])
def test_options_are_checked(bad):
    with pytest.raises(OptionError, match="max_bytes"):
        Elimination(max_bytes=bad)
    with pytest.raises(OptionError, match="max_nodes"):
        Enumeration(max_nodes=bad)
