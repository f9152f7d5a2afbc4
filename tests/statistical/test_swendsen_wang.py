"""Cluster sweeps against enumeration written here, with false alarms of 1e-6 a test and controls that must fail."""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.stats import chi2

from bayesmrf.base import Kind
from bayesmrf.engines import SwendsenWang
from bayesmrf.errors import OptionError
from bayesmrf.graphs import Graph
from bayesmrf.models import Boltzmann, Ising
from bayesmrf.models.pairwise import pairwise
from bayesmrf.samplers import clusters, gibbs, swendsen_wang
from bayesmrf.samplers.gibbs import Chains, counts, start, to_states
from bayesmrf.samplers.swendsen_wang import sweep
from tests.oracle.bounds import P
from tests.oracle.states import all_states, state_numbers


def random_graph(rng, n_nodes, n_edges):
    pairs = np.array(list(itertools.combinations(range(n_nodes), 2))).reshape(-1, 2)
    return Graph(n_nodes, rng.permutation(pairs)[:n_edges])


def random_field(rng, n_nodes, n_edges, strength, signs=(-1, 1)):
    """Couplings of sizes from ``strength`` to one half more, with random ones of ``signs``; fields of either sign."""
    coupling = rng.choice(signs, n_edges) * strength * rng.uniform(1, 1.5, n_edges)
    field = rng.choice([-1, 1], n_nodes) * rng.uniform(0.2, 0.5, n_nodes)
    return pairwise(random_graph(rng, n_nodes, n_edges), coupling, field, 0)


def law(model):
    """Probability of each of ``all_states``, edge by edge."""
    x = 2.0 * all_states(len(model.field)) - 1
    energy = x @ model.field
    for w, (u, v) in zip(model.coupling, model.edges, strict=True):
        energy += w * x[:, u] * x[:, v]
    return np.exp(energy) / np.exp(energy).sum()


def p_value(states, probabilities):
    """Pearson's chi-squared test of states against a law; rare states are pooled into cells of 50 or more."""
    order = np.argsort(probabilities)
    seen = np.bincount(state_numbers(states), minlength=len(probabilities))[order]
    expected = len(states) * probabilities[order]
    assert (seen[expected == 0] == 0).all()
    cells = np.unique((np.cumsum(expected) - expected) // 100, return_inverse=True)[1]
    seen, expected = np.bincount(cells, seen), np.bincount(cells, expected)
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1)


def run(model, rng, n_chains, n_sweeps, states=None):
    chains = start(n_chains, len(model.field), rng, states)
    sweep(model, chains, n_sweeps, n_chains)
    return to_states(chains, n_chains)


# The law of the chains


@pytest.mark.parametrize("signs", [(1,), (-1,), (-1, 1)], ids=["attractive", "repulsive", "mixed"])
def test_stationary_law_is_the_enumerated_one(rng, signs):
    model = random_field(rng, 6, 10, 0.4, signs)
    truth = law(model)
    assert p_value(run(model, rng, 50_001, 60), truth) > P
    # Controls: the moves of a sampler that ignores the fields, and of one whose bonds open with 1 - exp(-|J|).
    for wrong in (model._replace(field=0 * model.field), model._replace(coupling=model.coupling / 2)):
        assert p_value(run(wrong, rng, 50_001, 60), truth) < P


def transition(model, state):
    """Law of one sweep from ``state``: the sum over all sets of bonds, with clusters by networkx."""
    x = 2.0 * state - 1
    states = 2.0 * all_states(len(x)) - 1
    opens = [
        1 - np.exp(-2 * abs(w)) if w * x[u] * x[v] > 0 else 0.0
        for w, (u, v) in zip(model.coupling, model.edges, strict=True)
    ]
    total = np.zeros(len(states))
    for bonds in itertools.product((False, True), repeat=len(opens)):
        probability = np.prod([p if b else 1 - p for p, b in zip(opens, bonds, strict=True)])
        graph = nx.Graph(model.edges[np.array(bonds)].tolist())
        graph.add_nodes_from(range(len(x)))
        row = np.full(len(states), probability)
        for cluster in map(list, nx.connected_components(graph)):
            f = model.field[cluster] @ x[cluster]
            stays, turns = (states[:, cluster] == x[cluster]).all(1), (states[:, cluster] == -x[cluster]).all(1)
            row *= (stays * np.exp(f) + turns * np.exp(-f)) / (np.exp(f) + np.exp(-f))
        total += row
    return total


def test_one_sweep_has_the_enumerated_transition_law(rng):
    model = random_field(rng, 5, 7, 0.5)
    state = all_states(5)[law(model).argmax()]  # most edges are satisfied: clusters of all sizes
    after = run(model, rng, 50_000, 1, state[None])
    row = transition(model, state)
    np.testing.assert_allclose(row.sum(), 1)
    assert p_value(after, row) > P
    # Control: the heat bath, which has the same stationary law.
    chains = start(50_000, 5, rng, state[None])
    gibbs.sweep(model, chains, 1)
    assert p_value(to_states(chains, 50_000), row) < P


def test_clusters_turn_over_where_single_spins_are_frozen(rng):
    """At |J| = 20 two states are left, and the fields say how often each is seen."""
    graph = Graph(5, np.array([[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]))
    gauge = rng.choice([-1, 1], 5)
    coupling = 20.0 * gauge[graph.edges[:, 0]] * gauge[graph.edges[:, 1]]
    model = pairwise(graph, coupling, gauge * np.array([0.3, -0.1, 0.0, 0.2, -0.1]), 0)
    truth = law(model)
    assert np.sort(truth)[-2:].sum() > 1 - 1e-12
    n_chains = 20_000
    frozen = (gauge > 0).astype(np.int8)[None]
    states = run(model, rng, n_chains, 3, frozen)
    kept = truth > 1e-12
    assert p_value(states, np.where(kept, truth, 0) / truth[kept].sum()) > P
    chains = start(n_chains, 5, rng, frozen)
    gibbs.sweep(model, chains, 3)
    assert (to_states(chains, n_chains) == frozen).all()


@pytest.mark.parametrize("n_edges", [0, 1], ids=["no edges", "isolated nodes"])
def test_law_where_nodes_have_no_neighbours(rng, n_edges):
    model = random_field(rng, 4, n_edges, 0.5)
    states = run(model, rng, 50_000, 20)
    assert p_value(states, law(model)) > P
    assert p_value(states, law(model._replace(field=model.field + 0.1))) < P


@pytest.mark.parametrize("model", [Ising, Boltzmann])
def test_engine_draws_from_the_model(rng, model):
    model = model(random_graph(rng, 5, 7))
    theta = rng.uniform(-0.8, 0.8, model.n_features)
    states = SwendsenWang(n_sweeps=60).sample(model, theta, None, 50_000, rng)
    assert states.shape == (50_000, 5)
    assert states.dtype == np.int8
    assert p_value(states, law(model.pairwise(theta))) > P
    assert p_value(states, law(model.pairwise(theta + 0.3))) < P


# The compiled parts and the chains


def test_compiled_sweep_is_its_python_form(rng, monkeypatch):
    model = random_field(rng, 6, 9, 0.4)
    fast = start(64, 6, rng)
    slow = Chains(fast.states.copy(), fast.lanes.copy())
    sweep(model, fast, 3, 20)
    monkeypatch.setattr(swendsen_wang, "next_uint32", swendsen_wang.next_uint32.py_func)
    monkeypatch.setattr(clusters, "root", clusters.root.py_func)
    for name in ("_flip_clusters", "_uniform", "bind"):
        monkeypatch.setattr(swendsen_wang, name, getattr(swendsen_wang, name).py_func)
    with np.errstate(over="ignore"):
        swendsen_wang._sweep.py_func(model.edges, model.coupling, model.field, *slow, 20, 3)
    np.testing.assert_array_equal(fast.lanes, slow.lanes)
    np.testing.assert_array_equal(fast.states, slow.states)


def test_same_seed_same_states(rng):
    model, seed = random_field(rng, 6, 9, 0.4), int(rng.integers(2**32))
    first, second, other = (run(model, np.random.default_rng(s), 300, 4) for s in (seed, seed, seed + 1))
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()


def test_sweeps_add_up_and_take_turns_with_gibbs(rng):
    model = random_field(rng, 6, 9, 0.4)
    once = start(128, 6, rng)
    parts = Chains(once.states.copy(), once.lanes.copy())
    sweep(model, once, 5)
    sweep(model, parts, 2)
    sweep(model, parts, 3)
    np.testing.assert_array_equal(once.states, parts.states)
    chains = start(50_000, 6, rng)
    for _ in range(20):
        sweep(model, chains, 1)
        gibbs.sweep(model, chains, 1)
    assert p_value(to_states(chains, 50_000), law(model)) > P
    assert (counts(model, chains, 50_000)[1] == to_states(chains, 50_000).sum(axis=0)).all()


def test_chains_beyond_those_wanted_stay(rng):
    model = random_field(rng, 6, 9, 0.4)
    all_of_them = start(128, 6, rng)
    some, before = Chains(all_of_them.states.copy(), all_of_them.lanes.copy()), all_of_them.states.copy()
    sweep(model, all_of_them, 5)
    sweep(model, some, 5, 70)
    np.testing.assert_array_equal(to_states(some, 70), to_states(all_of_them, 70))
    np.testing.assert_array_equal(some.states[1, :, 6:], before[1, :, 6:])


# What is refused


def test_wrong_calls_are_refused(rng):
    model, chains = random_field(rng, 6, 9, 0.4), start(64, 6, rng)
    for n in (0, -1, 2.5):
        with pytest.raises(OptionError, match=f"n_sweeps must be .*, got {n}"):
            SwendsenWang(n_sweeps=n)
        with pytest.raises(OptionError, match=f"n_sweeps must be .*, got {n}"):
            sweep(model, chains, n)
        with pytest.raises(OptionError, match=f"n_chains must be .*, got {n}"):
            sweep(model, chains, 1, n)
    with pytest.raises(OptionError, match="at most the 64 chains that were started, got 65"):
        sweep(model, chains, 1, 65)
    with pytest.raises(OptionError, match="chains must be for 6 nodes, got 5"):
        sweep(model, start(64, 5, rng), 1)
    with pytest.raises(OptionError, match=r"n_samples must be .*, got 0"):
        SwendsenWang().sample(Ising(random_graph(rng, 3, 2)), np.zeros(5), None, 0, rng)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_parameters_that_are_not_finite_are_refused(rng, value):
    model, theta = Ising(random_graph(rng, 4, 3)), np.zeros(7)
    theta[2] = value
    with pytest.raises(OptionError, match=f"theta must be finite, got '{value} as the coupling of edge 2"):
        SwendsenWang().sample(model, theta, None, 5, rng)
    theta[2], theta[6] = 0, value
    with pytest.raises(OptionError, match=f"theta must be finite, got '{value} as the field of node 3"):
        SwendsenWang().sample(model, theta, None, 5, rng)


def test_engine_says_what_it_is():
    engine = SwendsenWang()
    assert (engine.name, engine.answers, engine.kind) == ("swendsen-wang", {"sample"}, Kind.APPROXIMATE)
