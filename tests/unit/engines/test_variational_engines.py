"""Mean field and tree are lower bounds, tree and Bethe are exact on forests, and all three are functions of theta."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.base import Kind
from bayesmrf.engines import Bethe, MeanField, Tree
from bayesmrf.errors import OptionError
from bayesmrf.graphs import Graph
from bayesmrf.inference import mean_field, tree
from bayesmrf.inference.bethe import engine as bethe
from bayesmrf.models import Agreement, Boltzmann, Ising
from tests.oracle.states import all_states, random_graph

ENGINES = [MeanField(), Tree(), Bethe()]
by_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
exact_on_forests = pytest.mark.parametrize("engine", [Tree(), Bethe()], ids=lambda e: e.name)

MODELS = {
    "agreement": lambda g: Agreement(g),
    "agreement with fields": lambda g: Agreement(g, True),
    "ising": lambda g: Ising(g),
    "ising without fields": lambda g: Ising(g, False),
    "boltzmann": lambda g: Boltzmann(g),
}
by_model = pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())


def random_forest(rng, d, keep=0.85):
    """A random recursive tree with shuffled numbers, less some edges."""
    number = rng.permutation(d)
    edges = np.array([(number[rng.integers(i)], number[i]) for i in range(1, d) if rng.random() < keep])
    return Graph(d, rng.permutation(edges) if len(edges) else np.zeros((0, 2), int))


def infer(engine, model, theta):
    return engine.infer(model, theta, engine.prepare(model))


def exact(model, theta):
    """Log Z and moments by enumeration, from the definition of each model's statistics."""
    states = all_states(model.graph.n_nodes)
    u, v = model.graph.edges.T
    if isinstance(model, Boltzmann):
        edge, node = states[:, u] * states[:, v], states
    else:
        x = 2 * states - 1
        edge, node = (states[:, u] == states[:, v] if isinstance(model, Agreement) else x[:, u] * x[:, v]), x
    s = np.concatenate([edge, node] if model.fields else [edge], axis=1).astype(float)
    log_z = np.logaddexp.reduce(s @ theta)
    return log_z, np.exp(s @ theta - log_z) @ s


def random_models(rng, n_models):
    """With and without fields, attractive and frustrated, sparse and dense, weak and strong."""
    kinds = list(MODELS.values())
    for i in range(n_models):
        model = kinds[i % len(kinds)](random_graph(rng, int(rng.integers(1, 10)), rng.uniform(0, 1)))
        theta = rng.normal(0, rng.uniform(0, 4), model.n_features)
        coupling = theta[: model.n_edges]
        sign = i // len(kinds) % 3
        if sign:
            coupling[:] = abs(coupling) * (1 if sign == 1 else -1)
        yield model, theta


@pytest.mark.parametrize("max_iterations", [1, 1000])
def test_mean_field_below_tree_below_exact(max_iterations, rng):
    """Also where the ascents are broken off. The inequalities are certain; 1e-9 is for rounding."""
    better = 0
    for model, theta in random_models(rng, 200):
        low = infer(MeanField(max_iterations), model, theta).log_z
        middle = infer(Tree(max_iterations), model, theta).log_z
        assert low <= middle + 1e-9
        assert middle <= exact(model, theta)[0] + 1e-9
        better += middle > low + 1e-3
    assert better > 50


def test_bethe_would_fail_as_a_lower_bound(rng):
    """What the test above looks for exists: in frustrated models the Bethe approximation is above the truth."""
    model = Ising(graphs.complete(5), False)
    theta = np.full(model.n_features, -0.6)
    assert infer(Bethe(), model, theta).log_z > exact(model, theta)[0] + 0.01


@exact_on_forests
@by_model
def test_exact_on_forests(engine, build, rng):
    for d in range(1, 11):
        model = build(random_forest(rng, d))
        for scale in (0.1, 1.5, 8.0):
            theta = rng.normal(0, scale, model.n_features)
            found, (log_z, moments) = infer(engine, model, theta), exact(model, theta)
            assert found.status == ""
            assert found.log_z == pytest.approx(log_z, rel=1e-8, abs=1e-8)
            np.testing.assert_allclose(found.moments, moments, atol=1e-8)


def test_mean_field_is_not_exact_on_an_edge():
    model = Ising(graphs.path(2), False)
    log_z, moments = exact(model, np.ones(1))
    found = infer(MeanField(), model, np.ones(1))
    assert found.log_z < log_z - 0.1
    assert abs(found.moments - moments) > 0.05


@by_engine
@by_model
def test_nodes_without_edges(engine, build, rng):
    for d in (1, 6):
        model = build(Graph(d, np.zeros((0, 2), int)))
        theta = rng.normal(0, 2, model.n_features)
        found, (log_z, moments) = infer(engine, model, theta), exact(model, theta)
        assert found.log_z == pytest.approx(log_z, rel=1e-13)
        np.testing.assert_allclose(found.moments, moments, atol=1e-13)


@by_engine
def test_isolated_nodes_and_components_add_up(engine, rng):
    """Triangle 0 2 4, edge 5 1, node 3 alone: each part is solved as if the others were not there."""
    whole = Ising(Graph(6, np.array([(0, 2), (5, 1), (4, 2), (4, 0)])))
    theta = rng.uniform(-0.3, 0.3, whole.n_features)
    found = infer(engine, whole, theta)
    log_z = 0.0
    for nodes, edges, ends in (
        ([0, 2, 4], [0, 2, 3], [(0, 1), (2, 1), (2, 0)]),
        ([1, 5], [1], [(1, 0)]),
        ([3], [], []),
    ):
        part = Ising(Graph(len(nodes), np.array(ends, dtype=int).reshape(-1, 2)))
        index = edges + [4 + i for i in nodes]
        alone = infer(engine, part, theta[index])
        np.testing.assert_allclose(found.moments[index], alone.moments, atol=1e-6)
        log_z += alone.log_z
    assert found.log_z == pytest.approx(log_z, abs=1e-10)


@by_engine
@by_model
def test_zero_theta(engine, build):
    model = build(graphs.grid(3, 3))
    found = infer(engine, model, np.zeros(model.n_features))
    assert found.log_z == pytest.approx(9 * np.log(2), rel=1e-12)
    np.testing.assert_allclose(found.moments, exact(model, np.zeros(model.n_features))[1], atol=1e-7)


@pytest.mark.parametrize("length", [3, 4, 7])
def test_bethe_on_a_single_loop_misses_what_goes_round_it(length, rng):
    """Without fields Z = 2^n prod cosh J_e (1 + prod tanh J_e); belief propagation sees all but the last factor."""
    model = Ising(graphs.cycle(length), False)
    for around in (1.0, -1.0):
        theta = rng.uniform(0.5, 1.5, length)
        theta[0] *= around
        found, (log_z, _) = infer(Bethe(), model, theta), exact(model, theta)
        missed = np.log1p(np.prod(np.tanh(theta)))
        assert found.status == ""
        assert found.log_z + missed == pytest.approx(log_z, abs=1e-10)
        np.testing.assert_allclose(found.moments, np.tanh(theta), atol=1e-6)
    assert abs(missed) > 0.0009  # tanh(0.5)^7 at least is left out


@by_model
def test_bethe_is_close_where_couplings_are_weak(build, rng):
    """The terms left out are products of tanh J around loops, of four edges at least on the grid."""
    model = build(graphs.grid(3, 3))
    scale = {"ising": 1, "agreement": 2, "boltzmann": 4}[model.name]
    theta = rng.uniform(-0.5, 0.5, model.n_features)
    theta[: model.n_edges] = scale * rng.uniform(-0.1, 0.1, model.n_edges)
    found, (log_z, moments) = infer(Bethe(), model, theta), exact(model, theta)
    assert found.log_z == pytest.approx(log_z, abs=2e-3)
    np.testing.assert_allclose(found.moments, moments, atol=1e-2)
    assert abs(infer(MeanField(), model, theta).log_z - log_z) > abs(found.log_z - log_z)


def test_bethe_without_fields_leaves_the_symmetric_point():
    """In an ordered model only the log 2 for the sign of all nodes is missing; at E[x] = 0 it would be 8.6."""
    model = Ising(graphs.complete(8), False)
    theta = np.ones(model.n_features)
    log_z, moments = exact(model, theta)
    found = infer(Bethe(), model, theta)
    assert log_z - (8 * np.log(2) + 28 * np.log(np.cosh(1))) > 8
    assert found.log_z == pytest.approx(log_z - np.log(2), abs=1e-3)
    np.testing.assert_allclose(found.moments, moments, atol=1e-3)


def test_tree_keeps_the_symmetry_that_mean_field_breaks():
    model = Ising(graphs.complete(8), False)
    theta = np.ones(model.n_features)
    log_z, _ = exact(model, theta)
    assert infer(MeanField(), model, theta).log_z == pytest.approx(log_z - np.log(2), abs=1e-3)
    assert infer(Tree(), model, theta).log_z == pytest.approx(log_z, abs=1e-3)


def gradient_differs(engine, model, theta, moments):
    """Central differences of the engine's log Z against moments, the error of the differences being below 1e-6."""
    plan, step = engine.prepare(model), 1e-4
    difference = [
        (engine.infer(model, theta + e, plan).log_z - engine.infer(model, theta - e, plan).log_z) / (2 * step)
        for e in step * np.eye(model.n_features)
    ]
    return np.abs(difference - moments).max() > 1e-5


@pytest.mark.parametrize("engine", [MeanField, Tree, Bethe], ids=lambda e: e.name)
@by_model
def test_moments_are_the_gradient_of_log_z(engine, build, rng):
    """Couplings over {-1, +1} are below 0.3 and degrees at most 3, so that each engine has one solution; they differ
    by more than the step, so that the spanning tree stays what it is."""
    model = build(Graph(7, np.array([(0, 1), (2, 1), (2, 3), (3, 4), (4, 5), (6, 5), (0, 6), (1, 4), (6, 3)])))
    scale = {"ising": 1, "agreement": 2, "boltzmann": 4}[model.name]
    theta = rng.uniform(-0.8, 0.8, model.n_features)
    size = np.linspace(0.1, 0.29, model.n_edges) + rng.uniform(0, 0.01, model.n_edges)
    theta[: model.n_edges] = scale * rng.permutation(size) * rng.choice([-1, 1], model.n_edges)
    engine = engine(max_iterations=10_000, tolerance=1e-12)
    found = infer(engine, model, theta)
    assert found.status == ""
    assert not gradient_differs(engine, model, theta, found.moments)
    assert gradient_differs(engine, model, theta, exact(model, theta)[1])


@by_engine
def test_the_answer_does_not_depend_on_earlier_questions(engine, rng):
    model = Ising(graphs.grid(4, 4))
    plan = engine.prepare(model)
    kept = [np.copy(a) for a in plan or ()]
    thetas = rng.normal(0, 1, (6, model.n_features))
    first = [engine.infer(model, theta, plan) for theta in thetas]
    for i in rng.permutation(6):
        again = engine.infer(model, thetas[i], plan, "log_z", state=first[0].state)
        assert again.log_z == first[i].log_z
        np.testing.assert_array_equal(again.moments, first[i].moments)
    for before, after in zip(kept, plan or (), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("engine", [MeanField, Tree, Bethe], ids=lambda e: e.name)
def test_flipping_all_nodes(engine, rng):
    model = Ising(random_graph(rng, 8, 0.5))
    engine = engine(max_iterations=20_000, tolerance=1e-12)
    for scale in (0.2, 1.0):
        theta = rng.normal(0, scale, model.n_features)
        flipped = np.concatenate([theta[: model.n_edges], -theta[model.n_edges :]])
        one, two = infer(engine, model, theta), infer(engine, model, flipped)
        assert one.log_z == pytest.approx(two.log_z, rel=1e-9)
        np.testing.assert_allclose(one.moments[: model.n_edges], two.moments[: model.n_edges], atol=1e-6)
        np.testing.assert_allclose(one.moments[model.n_edges :], -two.moments[model.n_edges :], atol=1e-6)


def test_no_sweep_lowers_the_bound(rng):
    for model, theta in random_models(rng, 30):
        p = model.pairwise(theta)
        bounds = np.array([mean_field.solve(p, k, 1e-12)[0] for k in range(1, 15)])
        assert (np.diff(bounds, axis=0) > -1e-9).all()
        spanning = tree.SpanningTree(*tree._spanning_tree(p))
        paths = tree.TreePaths(*tree._paths(p, spanning))
        local = rng.normal(0, 2, model.graph.n_nodes)
        bounds = [tree._ascend(p, spanning, paths, local, k, 1e-12)[0] for k in range(1, 15)]
        assert (np.diff(bounds) > -1e-9).all()


def test_the_spanning_tree_is_the_strongest(rng):
    import networkx as nx

    for model, theta in random_models(rng, 20):
        p = model.pairwise(theta)
        spanning = tree.SpanningTree(*tree._spanning_tree(p))
        chosen = spanning.up_edge[spanning.up_edge >= 0]
        g = nx.Graph()
        g.add_weighted_edges_from((u, v, abs(c)) for (u, v), c in zip(p.edges.tolist(), p.coupling, strict=True))
        strongest = nx.maximum_spanning_tree(g).size("weight")
        assert abs(p.coupling[chosen]).sum() == pytest.approx(strongest)
        place = np.argsort(spanning.order)
        child = np.flatnonzero(spanning.parent >= 0)
        assert (place[spanning.parent[child]] < place[child]).all()


@by_engine
def test_extreme_theta_is_finite(engine, rng):
    model = Ising(graphs.grid(3, 4))
    for theta in (np.full(model.n_features, 400.0), rng.choice([-400.0, 400.0], model.n_features)):
        found = infer(engine, model, theta)
        assert np.isfinite(found.log_z)
        assert (abs(found.moments) <= 1 + 1e-12).all()
        if engine.kind is Kind.LOWER:
            assert found.log_z <= exact(model, theta)[0] * (1 + 1e-12)


@exact_on_forests
@pytest.mark.parametrize("graph", [graphs.binary_tree(11), graphs.path(20_000)], ids=["binary tree", "path"])
def test_large_forests_have_a_closed_form(engine, graph, rng):
    forest = Graph(graph.n_nodes, graph.edges[rng.random(graph.n_edges) < 0.9])
    theta = rng.normal(0, 3, forest.n_edges)
    found = infer(engine, Agreement(forest), theta)
    n_components = forest.n_nodes - forest.n_edges
    assert found.log_z == pytest.approx(n_components * np.log(2) + np.logaddexp(0, theta).sum(), rel=1e-12)
    np.testing.assert_allclose(found.moments, 1 / (1 + np.exp(-theta)), atol=1e-10)


@pytest.mark.parametrize("engine", [MeanField, Tree, Bethe], ids=lambda e: e.name)
def test_who_has_not_converged_says_so(engine, rng):
    model = Ising(graphs.grid(4, 4))
    theta = rng.uniform(0.1, 0.3, model.n_features)
    found = infer(engine(), model, theta)
    assert found.status == ""
    assert found.stats["change"] < 1e-8
    assert 1 < found.stats["n_iterations"] < 1000
    broken_off = infer(engine(max_iterations=2), model, theta)
    assert f"engine '{engine.name}': not converged after max_iterations = 2 (" in broken_off.status
    assert "raise" in broken_off.status
    assert broken_off.stats["n_iterations"] == 2
    assert broken_off.stats["change"] >= 1e-8


def test_damping_helps_where_belief_propagation_oscillates():
    model = Ising(graphs.complete(8))
    theta = np.concatenate([np.full(28, -0.4), np.full(8, 0.2)])
    assert "raise damping" in infer(Bethe(damping=0.0), model, theta).status
    assert infer(Bethe(damping=0.5), model, theta).status == ""


@pytest.mark.parametrize("strength", [0.15, 0.4])
def test_the_start_chooses_between_fixed_points(strength):
    """On K_6 without fields u = artanh(tanh J tanh 4u), which has a second solution if 4 tanh J > 1."""
    model = Ising(graphs.complete(6))
    theta = np.append(np.full(15, strength), np.zeros(6))
    low, high = (infer(Bethe(initial_message=start), model, theta) for start in (0.0, 1.0))
    assert low.log_z == pytest.approx(15 * np.log(4 * np.cosh(strength)) - 24 * np.log(2))
    np.testing.assert_allclose(low.moments[:15], np.tanh(strength))
    u = 1.0
    for _ in range(1000):
        u = np.arctanh(np.tanh(strength) * np.tanh(4 * u))
    pair = np.log(2 * np.exp(strength) * np.cosh(8 * u) + 2 * np.exp(-strength))
    assert high.log_z == pytest.approx(15 * pair - 24 * np.log(2 * np.cosh(5 * u)), abs=1e-6)
    assert (high.log_z > low.log_z + 0.1) == (strength > np.arctanh(1 / 4))


def test_damping_does_not_move_the_fixed_point(rng):
    model = Ising(graphs.grid(4, 4))
    theta = rng.uniform(-0.3, 0.3, model.n_features)
    answers = [infer(Bethe(damping=d), model, theta) for d in (0.0, 0.2, 0.7)]
    for other in answers[1:]:
        assert other.log_z == pytest.approx(answers[0].log_z, abs=1e-10)
        np.testing.assert_allclose(other.moments, answers[0].moments, atol=1e-6)
    assert answers[0].stats["n_iterations"] < answers[2].stats["n_iterations"]


LEAVES = {
    mean_field: ("entropy", "solve"),
    tree: (
        *("entropy", "solve", "_spanning_tree", "_by_node", "_paths"),
        *("_spin", "_marginals", "_enter", "_sweep", "_ascend"),
    ),
    bethe: ("_depth_first", "_total", "_propagate", "_log_2_cosh", "_beliefs"),
}


@by_engine
def test_compiled_is_py_func(engine, rng, monkeypatch):
    model = Ising(random_graph(rng, 7, 0.5))
    theta = rng.uniform(-0.25, 0.25, model.n_features)
    compiled = infer(engine, model, theta)
    for module, names in LEAVES.items():
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain = infer(engine, model, theta)
    assert compiled.log_z == pytest.approx(plain.log_z, rel=1e-12)
    # A last sweep more or less is worth the tolerance.
    np.testing.assert_allclose(compiled.moments, plain.moments, atol=1e-6)


@by_engine
def test_what_an_engine_says_of_itself(engine, rng):
    model = Ising(graphs.path(2))
    assert engine.kind is (Kind.APPROXIMATE if engine.name == "bethe" else Kind.LOWER)
    assert engine.answers == {"log_z", "moments"}
    assert engine.start(model, rng) is None


@pytest.mark.parametrize("engine", [MeanField, Tree, Bethe], ids=lambda e: e.name)
def test_options_are_checked(engine):
    for bad in (0, -1, 1.5):
        with pytest.raises(OptionError, match="max_iterations"):
            engine(max_iterations=bad)
    for bad in (0, -1.0, np.inf, np.nan):
        with pytest.raises(OptionError, match="tolerance"):
            engine(tolerance=bad)


@pytest.mark.parametrize("bad", [-0.1, 1.0, float("nan")])
def test_damping_is_checked(bad):
    with pytest.raises(OptionError, match="damping"):
        Bethe(damping=bad)
