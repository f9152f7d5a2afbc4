"""The Potts model and the engines that take it, against an enumeration written here from the definition.

Statistical tests have false alarms of 1e-6 a test, and controls that must fail the same check.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2, norm

from bayesmrf import graphs, run
from bayesmrf.base import LOG_Z
from bayesmrf.errors import DataError, OptionError, TooWideError
from bayesmrf.graphs import Graph
from bayesmrf.inference import categorical_bethe, categorical_elimination, elimination, mean_field
from bayesmrf.inference.auto import choose, is_cheap
from bayesmrf.inference.bethe import Bethe
from bayesmrf.inference.chains import Brief, FromExact, Persistent
from bayesmrf.inference.elimination import Elimination, cost
from bayesmrf.inference.enumeration import Enumeration
from bayesmrf.inference.mean_field import MeanField
from bayesmrf.inference.pseudo_likelihood import PseudoLikelihood
from bayesmrf.inference.tree import Tree
from bayesmrf.likelihood import Likelihood, engines_that_answer
from bayesmrf.models.agreement import Agreement
from bayesmrf.models.boltzmann import Boltzmann
from bayesmrf.models.categorical import MANY_STATES, log_potential
from bayesmrf.models.clamped import Clamped
from bayesmrf.models.clamped_categorical import HiddenStates, clamp
from bayesmrf.models.potts import Potts
from bayesmrf.posterior.exchange import Exchange
from bayesmrf.posterior.langevin import Langevin
from bayesmrf.posterior.metropolis import Metropolis
from bayesmrf.priors import Normal
from bayesmrf.samplers import categorical_gibbs, gibbs, swendsen_wang
from bayesmrf.samplers.cftp import CouplingFromThePast
from bayesmrf.samplers.gibbs import Chains, Gibbs, start, sweep, to_states
from bayesmrf.samplers.swendsen_wang import SwendsenWang

FALSE_ALARM = 1e-6
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


def all_states(d, m):
    return np.array(list(itertools.product(range(m), repeat=d)), dtype=np.int8).reshape(m**d, d)


def features(model):
    """Every state and its statistics, by loops over the definition."""
    d, m = model.graph.n_nodes, model.n_states
    states = all_states(d, m)
    columns = [states[:, u] == states[:, v] for u, v in model.graph.edges]
    columns += [states[:, i] == k for i in range(d) for k in range(1, m)]
    return states, np.array(columns, dtype=float).reshape(len(columns), len(states)).T


def law(model, theta):
    """Log Z, and the probability of each state."""
    log_weight = features(model)[1] @ theta
    top = log_weight.max()
    log_z = top + math.log(math.fsum(np.exp(log_weight - top)))
    return log_z, np.exp(log_weight - log_z)


def infer(engine, model, theta):
    return engine.infer(model, theta, engine.prepare(model))


def assert_same(found, model, theta):
    log_z, p = law(model, theta)
    assert found.log_z == pytest.approx(log_z, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(found.moments, p @ features(model)[1], rtol=0, atol=1e-11)


def random_graph(rng, d, density):
    pairs = np.stack(np.triu_indices(d, 1), axis=1)
    edges = rng.permutation(pairs[rng.random(len(pairs)) < density])
    return Graph(d, np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1]))


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
    with pytest.raises(OptionError, match=r"n_states: .* came, a whole number from 2 to 127 is wanted"):
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
    plan = engine.prepare(model)
    step = 1e-4
    gradient = [
        (engine.infer(model, theta + e, plan, LOG_Z).log_z - engine.infer(model, theta - e, plan, LOG_Z).log_z)
        / (2 * step)
        for e in step * np.eye(model.n_features)
    ]
    np.testing.assert_allclose(engine.infer(model, theta, plan).moments, gradient, rtol=0, atol=1e-7)


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
    assert found.log_z == pytest.approx((features(model)[1] @ theta).max(), rel=1e-12)
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


def as_potts(binary, theta):
    """The Potts model with two states that is the same law, its theta, and how much larger the binary log Z is."""
    graph = binary.graph
    edge, node = theta[: graph.n_edges], theta[graph.n_edges :]
    if isinstance(binary, Agreement):  # h x = 2 h [x = 1] - h
        return Potts(graph, 2), np.concatenate([edge, 2 * node]), -node.sum()
    # 2 s_u s_v = [s_u = s_v] - 1 + s_u + s_v
    own = node + sum(np.bincount(end, edge / 2, minlength=graph.n_nodes) for end in graph.edges.T)
    return Potts(graph, 2), np.concatenate([edge / 2, own]), -edge.sum() / 2


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


def test_binary_samples_have_the_law_of_two_states(rng):
    binary = Agreement(graphs.cycle(5), True)
    theta = rng.normal(0, 0.6, binary.n_features)
    potts, same_theta, _ = as_potts(binary, theta)
    truth = law(potts, same_theta)[1]
    for engine in (Elimination(), Gibbs(60)):
        states = engine.sample(binary, theta, engine.prepare(binary), 50_000, rng)
        assert p_value(potts, states, truth) > FALSE_ALARM


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


# Samplers


def p_value(model, states, probabilities):
    """Pearson's chi-squared test of states against a law on all of them; rare states are pooled."""
    d, m = model.graph.n_nodes, model.n_states
    number = states.astype(np.int64) @ (m ** np.arange(d)[::-1])
    order = np.argsort(probabilities)
    seen = np.bincount(number, minlength=len(probabilities))[order]
    expected = len(states) * probabilities[order]
    cells = np.unique((np.cumsum(expected) - expected) // 100, return_inverse=True)[1]
    seen, expected = np.bincount(cells, seen), np.bincount(cells, expected)
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1)


def problem(rng, d=5, m=3, low=-0.8):
    model = Potts(random_graph(rng, d, 0.7), m)
    theta = rng.uniform(-0.6, 0.6, model.n_features)
    theta[: model.n_edges] = rng.uniform(low, 0.8, model.n_edges)
    return model, theta


SAMPLERS = [Enumeration(), Elimination(), Gibbs(60), Gibbs(60, n_jobs=2), SwendsenWang(20)]


@pytest.mark.parametrize("engine", SAMPLERS, ids=lambda e: f"{e.name}-{getattr(e, 'n_jobs', 1)}")
@pytest.mark.parametrize("m", [2, 3, 5])
def test_sampled_frequencies_are_the_enumerated_ones(engine, m, rng):
    model, theta = problem(rng, 5 if m < 5 else 4, m, low=0.1 if engine.name == "swendsen-wang" else -0.8)
    plan, n = engine.prepare(model), 60_001
    truth = law(model, theta)[1]
    states = engine.sample(model, theta, plan, n, rng)
    assert states.shape == (n, model.graph.n_nodes)
    assert states.dtype == np.int8
    assert p_value(model, states, truth) > FALSE_ALARM
    # Controls: one coupling or one field wrong.
    for j in (0, len(theta) - 1):
        wrong = theta.copy()
        wrong[j] += 0.3
        assert p_value(model, engine.sample(model, wrong, plan, n, rng), truth) < FALSE_ALARM


def test_strong_fields_are_sampled_as_they_are(rng):
    """Independent nodes with states of probability 1e-2 to 1e-4 beside common ones."""
    model = Potts(Graph(2, np.zeros((0, 2), int)), 4)
    theta = np.array([-4.5, 5.0, -2.0, 6.0, 0.5, -1.0])
    truth = law(model, theta)[1]
    for engine in (Gibbs(1), SwendsenWang(1)):
        assert p_value(model, engine.sample(model, theta, None, 400_000, rng), truth) > FALSE_ALARM
        off = engine.sample(model, theta + 0.2, None, 400_000, rng)
        assert p_value(model, off, truth) < FALSE_ALARM


def transition(model, theta, state):
    """Law of one cluster sweep from ``state``: the sum over all sets of bonds."""
    states, _ = features(model)
    d, m, edges = model.graph.n_nodes, model.n_states, model.graph.edges
    field = np.column_stack([np.zeros(d), theta[len(edges) :].reshape(d, m - 1)])
    opens = [1 - np.exp(-w) if state[u] == state[v] else 0.0 for w, (u, v) in zip(theta, edges, strict=False)]
    total = np.zeros(len(states))
    for bonds in itertools.product((False, True), repeat=len(edges)):
        row = np.full(len(states), np.prod([p if b else 1 - p for p, b in zip(opens, bonds, strict=True)]))
        label = np.arange(d)
        for _ in range(d):
            for u, v in edges[list(bonds)]:
                label[[u, v]] = label[[u, v]].min()
        for root in np.unique(label):
            cluster = np.flatnonzero(label == root)
            weight = np.exp(field[cluster].sum(axis=0))
            same = (states[:, cluster] == states[:, cluster[:1]]).all(axis=1)
            row *= same * (weight / weight.sum())[states[:, cluster[0]]]
        total += row
    return total


def test_one_cluster_sweep_has_the_enumerated_transition_law(rng):
    model = Potts(graphs.cycle(4), 3)
    theta = np.concatenate([rng.uniform(0.3, 1.2, 4), rng.uniform(-0.6, 0.6, 8)])
    state = np.array([1, 1, 1, rng.integers(0, 3)], dtype=np.int8)
    chains = start(60_000, 4, rng, state[None], 3)
    swendsen_wang.sweep(model.categorical(theta), chains, 1, 60_000)
    row = transition(model, theta, state)
    np.testing.assert_allclose(row.sum(), 1)
    assert p_value(model, to_states(chains, 60_000, 3), row) > FALSE_ALARM
    # Control: the heat bath, which has the same stationary law.
    chains = start(60_000, 4, rng, state[None], 3)
    sweep(model.categorical(theta), chains, 1)
    assert p_value(model, to_states(chains, 60_000, 3), row) < FALSE_ALARM


def moments_agree(found, model, theta, n):
    """Whether all moments are within the z-score that bounds the false alarms of the whole set."""
    mean = law(model, theta)[1] @ features(model)[1]
    error = np.sqrt(mean * (1 - mean) / n)
    return (np.abs(found - mean) < norm.isf(FALSE_ALARM / 2 / len(mean)) * error).all()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_moments_of_chains_are_the_enumerated_ones(n_jobs, rng):
    model, theta = problem(rng)
    n = 60_001
    engine = Persistent(n, n_sweeps=15, n_jobs=n_jobs)
    state = engine.start(model, rng)
    for _ in range(4):  # it is the chains' memory that brings them there
        found = engine.infer(model, theta, engine.prepare(model), "moments", state)
        state = found.state
    assert moments_agree(found.moments, model, theta, n)
    assert not moments_agree(found.moments, model, theta + 0.1, n)
    # Brief chains forget the data when there are many sweeps.
    brief = Brief(rng.integers(0, 3, (20, 5)), n, n_sweeps=60, n_jobs=n_jobs)
    found = brief.infer(model, theta, brief.prepare(model), "moments", brief.start(model, rng))
    assert moments_agree(found.moments, model, theta, n)


def test_counts_are_the_statistics_of_the_states(rng):
    model, theta = problem(rng, 7, 4)
    for n in (1, 63, 64, 100, 321):
        chains = start(n, 7, rng, n_states=4)
        agree, node = gibbs.counts(model.categorical(theta), chains, n)
        expected = model.statistics(to_states(chains, n, 4))
        np.testing.assert_allclose(model.moments(agree / n, node / n), expected, atol=1e-15)


def test_brief_chains_restart_at_the_data(rng):
    """At couplings of 60 a chain whose nodes share a state stays there."""
    model = Potts(graphs.complete(5), 4)
    theta = np.concatenate([np.full(10, 60.0), np.zeros(15)])
    data = np.repeat(rng.integers(0, 4, (30, 1)), 5, axis=1)
    engine = Brief(data)
    plan, state = engine.prepare(model), engine.start(model, rng)
    for _ in range(2):
        found = engine.infer(model, theta, plan, "moments", state)
        np.testing.assert_allclose(found.moments, model.statistics(data))
    engine.infer(model, np.zeros_like(theta), plan, "moments", state)
    np.testing.assert_allclose(engine.infer(model, theta, plan, "moments", state).moments, model.statistics(data))


def test_same_seed_same_states_for_any_number_of_threads(rng):
    model, theta = problem(rng)
    seed = int(rng.integers(2**32))
    draws = [
        engine.sample(model, theta, None, 500, np.random.default_rng(s))
        for engine, s in ((Gibbs(3), seed), (Gibbs(3, n_jobs=2), seed), (Gibbs(3), seed + 1))
    ]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert (draws[0] != draws[2]).any()


def test_states_that_are_none_are_refused(rng):
    model, _ = problem(rng)
    for value in (3, -1, 1.5):
        data = np.zeros((4, 5))
        data[2, 3] = value
        with pytest.raises(DataError, match=rf"states: {value:.1f} came in row 2, column 3; code the states as 0 to 2"):
            Brief(data).prepare(model)


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
        (categorical_elimination, ("_spread", "_sum_out", "_forward")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name).py_func)
    plain = engine.infer(model, theta, plan)
    assert compiled.log_z == pytest.approx(plain.log_z, rel=1e-13)
    assert alone == pytest.approx(engine.infer(model, theta, plan, LOG_Z).log_z, rel=1e-13)
    np.testing.assert_allclose(compiled.moments, plain.moments, atol=1e-13)
    np.testing.assert_array_equal(states, engine.sample(model, theta, plan, 20, np.random.default_rng(5)))


def test_compiled_sweeps_are_their_python_forms(rng, monkeypatch):
    model, theta = problem(rng, 4, 3, low=0.1)
    form = model.categorical(theta)
    fast = start(64, 4, rng, n_states=3)
    slow = Chains(fast.states.copy(), fast.lanes.copy())
    agree, node = gibbs.counts(form, fast, 50)
    plain_agree, plain_node = np.empty_like(agree), np.empty_like(node)
    categorical_gibbs.categorical_counts.py_func(form.edges, slow.states, 50, plain_agree, plain_node)
    np.testing.assert_array_equal(agree, plain_agree)
    np.testing.assert_array_equal(node, plain_node)
    for module in (categorical_gibbs, swendsen_wang):
        monkeypatch.setattr(module, "next_uint32", module.next_uint32.py_func)
    monkeypatch.setattr(categorical_gibbs, "symmetric_uniform", categorical_gibbs.symmetric_uniform.py_func)
    for name in ("_uniform", "_root", "_draw"):
        monkeypatch.setattr(swendsen_wang, name, getattr(swendsen_wang, name).py_func)
    compiled = categorical_gibbs.categorical_sweep
    with np.errstate(over="ignore"):
        compiled(form, fast.states, fast.lanes, 2)
        compiled.py_func(form, slow.states, slow.lanes, 2)
        np.testing.assert_array_equal(fast.lanes, slow.lanes)
        # Rounding differs in the last bits of float32: a draw falls between the two once in a million.
        assert (fast.states != slow.states).mean() < 0.05
        slow.states[...] = fast.states
        swendsen_wang.sweep(form, fast, 2, 30)
        swendsen_wang._categorical_sweep.py_func(form.edges, form.coupling, form.field, *slow, 30, 2)
    np.testing.assert_array_equal(fast.lanes, slow.lanes)
    np.testing.assert_array_equal(fast.states, slow.states)


@pytest.mark.parametrize("engine", [MeanField(max_iterations=4), Bethe(max_iterations=4)], ids=lambda e: e.name)
def test_compiled_iterations_are_their_python_forms(engine, rng, monkeypatch):
    from bayesmrf.inference import bethe

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


# What samplers of theta need


def test_one_moment_gives_the_change_of_log_z(rng):
    model, theta = problem(rng)
    s_bar = model.statistics(rng.integers(0, 3, (40, 5)))
    likelihood = Likelihood(model, s_bar, 40, Elimination())
    moments = likelihood.moments(theta)
    for j in range(model.n_features):
        for delta in (-1.3, 0.4, 6.0):
            moved = theta.copy()
            moved[j] += delta
            expected = likelihood.log_ratio(theta, moved)
            assert likelihood.coordinate_log_ratio(moments[j], j, delta) == pytest.approx(expected, abs=1e-9)


def test_the_score_is_the_gradient_of_the_log_likelihood(rng):
    model, theta = problem(rng)
    likelihood = Likelihood(model, model.statistics(rng.integers(0, 3, (40, 5))), 40, Elimination())
    step = 1e-4 * np.eye(model.n_features)
    slope = [(likelihood.log_ratio(theta - e, theta + e)) / 2e-4 for e in step]
    np.testing.assert_allclose(likelihood.score(theta), slope, atol=1e-4)


N = 12


def grid_posterior(model, s_bar):
    """Mean and second moments of theta under unit normal priors, by the trapezoidal rule on a cube around 0."""
    s = features(model)[1]
    axis = np.linspace(-4.5, 4.5, 16)
    theta = np.stack(np.meshgrid(*[axis] * s.shape[1], indexing="ij"), axis=-1).reshape(-1, s.shape[1])
    log_z = np.log(np.exp(theta @ s.T).sum(axis=1))
    log_p = N * (theta @ s_bar - log_z) - (theta**2).sum(axis=1) / 2
    w = np.exp(log_p - log_p.max())
    w /= w.sum()
    return np.concatenate([w @ theta, w @ theta**2])


def score_of(kernel, exact, rng, n_chains=48):
    """Largest (mean over independent chains - exact) / standard error; fewer than 1e-6 of runs pass 7."""
    draws = run.sample(kernel, n_draws=100, n_warmup=30, n_chains=n_chains, random_state=rng, progress=False)
    theta = draws.values["theta"]
    per_chain = np.concatenate([theta.mean(axis=1), (theta**2).mean(axis=1)], axis=1)
    z = (per_chain.mean(axis=0) - exact) / (per_chain.std(axis=0, ddof=1) / np.sqrt(n_chains))
    return np.abs(z).max()


def test_exact_kernels_match_the_grid(rng):
    model = Potts(graphs.path(2), 3)
    states = rng.integers(0, 3, (N, 2))
    states[: N // 2, 1] = states[: N // 2, 0]
    s_bar = model.statistics(states)
    exact, prior = grid_posterior(model, s_bar), Normal(1.0)
    likelihood, start = Likelihood(model, s_bar, N, Elimination()), exact[:5]
    for kernel in (
        Metropolis(likelihood, prior, start, 0.9),
        Langevin(likelihood, prior, start, 0.6, adjusted=True),
        Exchange(likelihood, prior, start, 0.9),
    ):
        assert score_of(kernel, exact, rng) < 7
    wrong = Likelihood(model, s_bar[[0, 2, 1, 4, 3]] + np.array([0, 0.2, 0, 0, 0]), N, Elimination())
    assert score_of(Metropolis(wrong, prior, start, 0.9), exact, rng) > 7


# What is refused


@pytest.mark.parametrize(
    "engine", [Tree(), CouplingFromThePast(), PseudoLikelihood(np.zeros((3, 2), int))], ids=lambda e: e.name
)
def test_engines_of_binary_models_refuse(engine):
    message = rf"engine '{engine.name}': a model with 3 states a node came, binary ones are wanted; .*elimination"
    with pytest.raises(OptionError, match=message):
        engine.prepare(Potts(graphs.path(2), 3))


def test_the_engines_named_are_those_that_take_many_states():
    taken = [*EXACT, MeanField(), Bethe(), Persistent(64), Brief(np.zeros((3, 2), int)), Gibbs(1), SwendsenWang(1)]
    taken.append(FromExact(Elimination(), 8))
    assert {e.name for e in taken} == set(MANY_STATES)
    assert set(engines_that_answer(())) - {"tree", "cftp", "pseudo-likelihood"} <= set(MANY_STATES)
    model = Potts(graphs.path(2), 3)
    rng = np.random.default_rng()
    for engine in taken:
        plan, state = engine.prepare(model), engine.start(model, rng)
        for question in engine.answers - {"sample"}:
            engine.infer(model, np.zeros(5), plan, question, state)
        if "sample" in engine.answers:
            assert engine.sample(model, np.zeros(5), plan, 3, rng).shape == (3, 2)


def test_what_works_on_binary_models_only_says_so():
    with pytest.raises(OptionError, match="model 'potts': nodes have 3 states, and this is for binary models"):
        Potts(graphs.path(2), 3).pairwise(np.zeros(5))


def test_negative_couplings_have_no_clusters(rng):
    model = Potts(graphs.path(3), 3)
    theta = np.zeros(model.n_features)
    theta[1] = -0.25
    with pytest.raises(OptionError, match=r"theta: the coupling of edge 1 is -0\.25; cluster moves over more than two"):
        SwendsenWang().sample(model, theta, None, 5, rng)
    for j, message in ((0, "coupling of edge 0 is nan"), (5, "field of node 1 is nan")):
        theta = np.zeros(model.n_features)
        theta[j] = np.nan
        with pytest.raises(OptionError, match=message):
            SwendsenWang().sample(model, theta, None, 5, rng)


# Hidden entries


def test_clamped_is_enumeration_over_hidden_entries(rng):
    model = Potts(graphs.complete(4), 3)
    theta = rng.normal(size=model.n_features)
    every, s = features(model)
    for share in (0.0, 0.3, 1.0):
        states = rng.integers(0, 3, (9, 4)).astype(np.int8)
        states[rng.random(states.shape) < share] = -1
        log_z, moments = 0.0, np.zeros(model.n_features)
        probability = []
        for row in states:
            fits = ((every == row) | (row < 0)).all(axis=1)
            log_weight = s[fits] @ theta
            top = np.logaddexp.reduce(log_weight)
            p = np.exp(log_weight - top)
            log_z += top
            moments += p @ s[fits]
            probability += [[p @ (every[fits, i] == k) for k in range(3)] for i in np.flatnonzero(row < 0)]
        clamped = clamp(model, states)
        for engine in EXACT if clamped.graph.n_nodes <= 12 else [Elimination()]:
            found = infer(engine, clamped, theta)
            assert found.log_z == pytest.approx(log_z, rel=1e-11)
            np.testing.assert_allclose(found.moments, moments, atol=1e-10)
        assert infer(MeanField(), clamped, theta).log_z < log_z + 1e-9
        if share == 0.3:
            hidden = infer(Elimination(), HiddenStates(model, states), theta)
            np.testing.assert_allclose(hidden.moments, probability, atol=1e-12)
            # Control: another state seen is another table.
            states[tuple(np.argwhere(states >= 0)[0])] += 1
            states[states == 3] = 0
            assert infer(Elimination(), clamp(model, states), theta).log_z != pytest.approx(log_z, rel=1e-6)


def test_samples_of_hidden_entries_fill_the_table(rng):
    model = Potts(graphs.path(3), 3)
    theta = rng.normal(size=model.n_features)
    states = np.array([[0, -1, 2], [1, 2, 2], [-1, -1, 1]], dtype=np.int8)
    clamped = clamp(model, states)
    drawn = Elimination().sample(clamped, theta, Elimination().prepare(clamped), 40_000, rng)
    expected = infer(Elimination(), clamped, theta).moments
    sums = np.array([3 * model.statistics(clamped.fill(x)) for x in drawn[:1000]])
    np.testing.assert_allclose(clamped.statistics(drawn[:1000]), sums.mean(axis=0), atol=1e-12)
    spread = np.maximum(sums.std(axis=0), 0.02)
    assert (np.abs(clamped.statistics(drawn) - expected) < 7 * spread / np.sqrt(40_000) + 1e-12).all()
    assert not (np.abs(sums[0] - expected) < 7 * spread / np.sqrt(40_000)).all()


def test_seen_statistics_are_means_over_what_was_seen():
    model = Potts(graphs.path(2), 3)
    clamped = clamp(model, np.array([[0, -1], [1, 1], [2, 1], [-1, -1], [1, -1]], dtype=np.int8))
    np.testing.assert_allclose(clamped.seen_statistics(), [0.5, 0.5, 0.25, 1, 0])
    assert type(clamp(Boltzmann(graphs.path(2)), np.zeros((1, 2), np.int8))) is Clamped
    with pytest.raises(OptionError, match="this is for binary models"):
        clamped.pairwise(np.zeros(5))
