"""Gibbs sweeps, counts, and the engines on them, against enumeration written here.

Statistical tests run thousands of independent chains, so their tolerances are those of independent draws. Each has a
false-alarm rate of 1e-6, and a control that must fail the same check.
"""

import itertools

import numpy as np
import pytest
from numba import njit
from scipy.stats import chi2

from bayesmrf import rng as lanes_module
from bayesmrf.base import Kind
from bayesmrf.engines import Brief, Gibbs, Persistent
from bayesmrf.errors import DataError, OptionError
from bayesmrf.graphs import Graph
from bayesmrf.models import Agreement
from bayesmrf.models.pairwise import pairwise
from bayesmrf.samplers import gibbs
from bayesmrf.samplers.following import watch
from bayesmrf.samplers.gibbs import Chains, counts, start, sweep, to_states
from tests.oracle.bounds import Comparison, P


def random_graph(rng, n_nodes, n_edges):
    pairs = np.array(list(itertools.combinations(range(n_nodes), 2)))
    edges = rng.permutation(pairs)[:n_edges]
    return Graph(n_nodes, np.where(rng.random((n_edges, 1)) < 0.5, edges, edges[:, ::-1]))


def random_field(rng, n_nodes=6, n_edges=9):
    """Couplings weak enough that a few dozen sweeps forget any start, and no state is rare."""
    return pairwise(
        random_graph(rng, n_nodes, n_edges), rng.uniform(-0.5, 0.5, n_edges), rng.uniform(-0.3, 0.3, n_nodes), 0
    )


def enumerate_law(model):
    """All states in {0, 1}, in binary order, and their probabilities: the definition, by loops."""
    states = list(itertools.product((0, 1), repeat=len(model.field)))
    weight = []
    for state in states:
        x = [2 * s - 1 for s in state]
        energy = sum(h * x[i] for i, h in enumerate(model.field))
        energy += sum(w * x[u] * x[v] for w, (u, v) in zip(model.coupling, model.edges, strict=True))
        weight.append(np.exp(energy))
    return np.array(states), np.array(weight) / sum(weight)


def law_p_value(states, probabilities):
    """Pearson's chi-squared test of states against a law on all of them; rare states are pooled."""
    number = states @ (1 << np.arange(states.shape[1])[::-1])
    seen = np.bincount(number, minlength=len(probabilities))
    order = np.argsort(probabilities)
    expected, seen = len(states) * probabilities[order], seen[order]
    cells = np.cumsum(expected) // 50
    expected, seen = (np.bincount(np.unique(cells, return_inverse=True)[1], weights=v) for v in (expected, seen))
    return chi2.sf(((seen - expected) ** 2 / expected).sum(), len(expected) - 1)


def run(model, rng, n_chains, n_sweeps, n_jobs=1):
    chains = start(n_chains, len(model.field), rng)
    sweep(model, chains, n_sweeps, n_jobs)
    return chains


# The law of the chains


def test_stationary_law_is_the_enumerated_one(rng):
    n_chains = 100_001
    model = random_field(rng)
    _, law = enumerate_law(model)
    assert law_p_value(to_states(run(model, rng, n_chains, 100), n_chains), law) > P
    # Controls: one coupling or one field wrong by 0.2.
    coupling, field = model.coupling.copy(), model.field.copy()
    coupling[rng.integers(len(coupling))] += 0.2
    field[rng.integers(len(field))] += 0.2
    for wrong in (model._replace(coupling=coupling), model._replace(field=field)):
        assert law_p_value(to_states(run(wrong, rng, n_chains, 100), n_chains), law) < P


@pytest.mark.parametrize("n_edges", [0, 1], ids=["no edges", "isolated nodes"])
def test_law_where_nodes_have_no_neighbours(rng, n_edges):
    n_chains = 50_000
    model = random_field(rng, n_nodes=4, n_edges=n_edges)
    chains = run(model, rng, n_chains, 30)
    assert law_p_value(to_states(chains, n_chains), enumerate_law(model)[1]) > P
    assert counts(model, chains, n_chains)[0].shape == (n_edges,)
    wrong = model._replace(field=model.field + 0.1)
    assert law_p_value(to_states(chains, n_chains), enumerate_law(wrong)[1]) < P


def moments_agree(found, features, law, n_chains):
    mean = law @ features
    error = np.sqrt((law @ features**2 - mean**2) / n_chains)
    return Comparison().estimates(found, mean, error).holds


def agreement_features(graph, states):
    u, v = graph.edges.T
    return np.hstack([states[:, u] == states[:, v], 2 * states - 1]).astype(float)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_persistent_moments_are_the_enumerated_ones(rng, n_jobs):
    n_chains = 100_001
    graph = random_graph(rng, 9, 14)
    model, theta = Agreement(graph, fields=True), rng.uniform(-0.8, 0.8, 14 + 9)
    theta[14:] *= 0.4
    engine = Persistent(n_chains, n_sweeps=20, n_jobs=n_jobs)
    state = engine.start(model, rng)
    for _ in range(5):  # it is the chains' memory that brings them there
        answer = engine.infer(model, theta, engine.prepare(model), "moments", state)
        state = answer.state
    states, law = enumerate_law(model.pairwise(theta))
    assert moments_agree(answer.moments, agreement_features(graph, states), law, n_chains)
    wrong = theta.copy()
    wrong[0] += 0.3
    law = enumerate_law(model.pairwise(wrong))[1]
    assert not moments_agree(answer.moments, agreement_features(graph, states), law, n_chains)


def test_gibbs_engine_draws_from_the_model(rng):
    model, theta = Agreement(random_graph(rng, 5, 7)), rng.uniform(-0.8, 0.8, 7)
    states = Gibbs(n_sweeps=60).sample(model, theta, None, 50_000, rng)
    assert states.shape == (50_000, 5)
    assert states.dtype == np.int8
    assert law_p_value(states, enumerate_law(model.pairwise(theta))[1]) > P
    assert law_p_value(states, enumerate_law(model.pairwise(theta + 0.3))[1]) < P


def test_brief_is_one_scan_from_the_data(rng):
    """One edge, one scan from (1, 1): x_0 given x_1 = 1, then x_1 given the new x_0."""
    n_chains = 200_000
    model, theta = Agreement(Graph(2, np.array([[0, 1]])), fields=True), rng.uniform([1.5, 0, 0], [2.5, 0.4, 0.4])
    engine = Brief(np.ones((1, 2), dtype=np.int8), n_chains)
    plan, state = engine.prepare(model), engine.start(model, rng)
    coupling, first, second = theta[0] / 2, theta[1], theta[2]
    states = np.array(list(itertools.product((0, 1), repeat=2)))
    x = 2 * states - 1
    law = (1 + x[:, 0] * np.tanh(first + coupling)) / 2 * (1 + x[:, 1] * np.tanh(second + coupling * x[:, 0])) / 2
    features = agreement_features(model.graph, states)
    for _ in range(2):  # the second call starts at the data again
        moments = engine.infer(model, theta, plan, "moments", state).moments
        assert moments_agree(moments, features, law, n_chains)
    # Control: chains that go on instead take a second scan.
    persistent = Persistent(n_chains).infer(model, theta, None, "moments", watch(state)).moments
    assert not moments_agree(persistent, features, law, n_chains)


def test_strong_couplings_freeze_and_stay_finite(rng):
    """At |J| = 20 a chain started at a ground state stays there, and random ones reach finite moments."""
    graph = Graph(4, np.array([[0, 1], [1, 2], [2, 3]]))
    model, theta = Agreement(graph), np.array([40.0, -40.0, 40.0])
    data = np.array([[0, 0, 1, 1]] * 3 + [[1, 1, 0, 0]])
    engine = Brief(data, n_chains=400, n_sweeps=50)
    plan, state = engine.prepare(model), engine.start(model, rng)
    engine.infer(model, np.zeros(3), plan, "moments", state)  # scrambles the chains: the next call must restart
    np.testing.assert_array_equal(engine.infer(model, theta, plan, "moments", state).moments, [1, 0, 1])
    np.testing.assert_array_equal(to_states(state, 400), np.tile(data, (100, 1)))
    moments = Persistent(n_sweeps=100).infer(model, 1e6 * theta, None, "moments", watch(start(1024, 4, rng))).moments
    assert np.isfinite(moments).all()
    assert ((moments >= 0) & (moments <= 1)).all()


# The compiled parts


def test_compiled_sweep_is_its_python_form(rng, monkeypatch):
    model = random_field(rng, n_nodes=5, n_edges=6)
    fast = start(64, 5, rng)
    slow = Chains(fast.states.copy(), fast.lanes.copy())
    sweep(model, fast, 3)
    for name in ("next_uint32", "tanh_ratio", "symmetric_uniform"):
        monkeypatch.setattr(gibbs, name, getattr(gibbs, name).py_func)
    with np.errstate(over="ignore"):
        gibbs.pairwise_sweep.py_func(model, slow.states, slow.lanes, 3)
    np.testing.assert_array_equal(fast.lanes, slow.lanes)
    # Fused multiply-adds round differently, which may turn a spin once in 1e7 updates: one lane may differ, not two.
    assert (fast.states != slow.states).any(axis=(0, 1)).sum() <= 1


def test_compiled_counts_are_their_python_form(rng, monkeypatch):
    model = random_field(rng, n_nodes=5, n_edges=6)
    chains = start(100, 5, rng)
    monkeypatch.setattr(gibbs, "popcount", gibbs.popcount.py_func)
    agree, ones = np.empty(6, np.int64), np.empty(5, np.int64)
    with np.errstate(over="ignore"):
        gibbs._count.py_func(model.edges, chains.states, 100, agree, ones)
    for compiled, python in zip(counts(model, chains, 100), (agree, ones), strict=True):
        np.testing.assert_array_equal(compiled, python)


@njit
def tanh_by_ratio(h, out):
    for i in range(len(h)):
        p, q = gibbs.tanh_ratio(h[i])
        out[i] = p / q


def test_tanh_is_accurate():
    h = np.linspace(-12, 12, 1_000_003).astype(np.float32)
    out = np.empty(len(h))
    tanh_by_ratio(h, out)
    assert np.abs(out - np.tanh(h.astype(float))).max() < 1e-6


@njit
def uniforms(lanes, out):
    for i in range(out.shape[0]):
        for lane in range(out.shape[1]):
            out[i, lane] = gibbs.symmetric_uniform(gibbs.next_uint32(lanes, lane))


def test_uniforms_fill_the_open_interval(rng):
    out = np.empty((2000, 64))
    uniforms(lanes_module.lane_generators(rng, 1, 64)[0], out)
    assert np.abs(out).max() < 1
    seen = np.bincount(((out.ravel() + 1) * 50).astype(int), minlength=100)
    expected = out.size / 100
    assert chi2.sf(((seen - expected) ** 2 / expected).sum(), 99) > P
    squeezed = np.bincount(((0.97 * out.ravel() + 1) * 50).astype(int), minlength=100)
    assert chi2.sf(((squeezed - expected) ** 2 / expected).sum(), 99) < P


def xoshiro128pp(s):
    """Blackman and Vigna (2021), over Python's integers; yields outputs and changes ``s``."""

    def rotate(x, k):
        return (x << k | x >> 32 - k) & 0xFFFFFFFF

    while True:
        yield (rotate((s[0] + s[3]) & 0xFFFFFFFF, 7) + s[0]) & 0xFFFFFFFF
        t = s[1] << 9 & 0xFFFFFFFF
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 11)


def test_lanes_run_xoshiro(rng):
    # The authors' generator started from 1, 2, 3, 4.
    published = [641, 1573767, 3222811527, 3517856514, 836907274, 4247214768, 3867114732, 1355841295]
    assert list(itertools.islice(xoshiro128pp([1, 2, 3, 4]), 8)) == published
    lanes = lanes_module.lane_generators(rng, 2, 64)
    streams = []
    for block, lane in itertools.product(range(2), range(64)):
        expected = list(itertools.islice(xoshiro128pp([int(s) for s in lanes[block, :, lane]]), 20))
        assert [lanes_module.next_uint32(lanes[block], lane) for _ in range(20)] == expected
        streams.append(tuple(expected[:4]))
    assert len(set(streams)) == 128


def test_a_sweep_takes_one_number_a_node_of_each_lane(rng):
    chains = start(64, 5, rng)
    seeds = chains.lanes.copy()
    sweep(random_field(rng, n_nodes=5, n_edges=4), chains, 3)
    for lane in range(64):
        s = [int(v) for v in seeds[0, :, lane]]
        next(itertools.islice(xoshiro128pp(s), 15, None))  # fifteen numbers taken, the sixteenth only shown
        np.testing.assert_array_equal(chains.lanes[0, :, lane], s)


# Many chains, threads, layout


@pytest.mark.parametrize("n_chains", [1, 63, 64, 65, 200])
def test_counts_are_those_of_the_states(rng, n_chains):
    model = random_field(rng, n_nodes=7, n_edges=12)
    chains = run(model, rng, n_chains, 5)
    states = to_states(chains, n_chains)
    assert states.shape == (n_chains, 7)
    assert set(np.unique(states)) <= {0, 1}
    u, v = model.edges.T
    agree, ones = counts(model, chains, n_chains)
    assert agree.dtype == ones.dtype == np.int64
    np.testing.assert_array_equal(agree, (states[:, u] == states[:, v]).sum(axis=0))
    np.testing.assert_array_equal(ones, states.sum(axis=0))


@pytest.mark.parametrize("value", [-1, 1])
def test_extra_lanes_are_never_counted(rng, value):
    model = random_field(rng)
    chains = run(model, rng, 70, 5)
    before, states = counts(model, chains, 70), to_states(chains, 70)
    chains.states[1, :, 6:] = value
    np.testing.assert_array_equal(counts(model, chains, 70)[0], before[0])
    np.testing.assert_array_equal(counts(model, chains, 70)[1], before[1])
    np.testing.assert_array_equal(to_states(chains, 70), states)


def test_same_seed_same_states_for_any_number_of_threads(rng):
    model, seed = random_field(rng), int(rng.integers(2**32))
    one, two, nine = (run(model, np.random.default_rng(seed), 300, 4, n_jobs) for n_jobs in (1, 2, 9))
    for other in (two, nine):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.lanes, other.lanes)
    assert (one.states != run(model, np.random.default_rng(seed + 1), 300, 4).states).any()


def test_sweeps_add_up(rng):
    model = random_field(rng)
    once = start(128, 6, rng)
    parts = Chains(once.states.copy(), once.lanes.copy())
    sweep(model, once, 5)
    sweep(model, parts, 2)
    sweep(model, parts, 3)
    np.testing.assert_array_equal(once.states, parts.states)


def test_chains_start_at_given_states(rng):
    states = rng.integers(0, 2, (30, 6))
    np.testing.assert_array_equal(to_states(start(100, 6, rng, states), 100), states[np.arange(100) % 30])


def test_chains_start_uniformly(rng):
    states = to_states(start(64_000, 4, rng), 64_000)
    assert law_p_value(states, np.full(16, 1 / 16)) > P
    tilted = np.linspace(0.9, 1.1, 16) / 16
    assert law_p_value(states, tilted) < P


# What is refused


@pytest.mark.parametrize("n_chains", [0, -3, 2.5, None])
def test_a_wrong_number_of_chains_is_refused(rng, n_chains):
    with pytest.raises(OptionError, match="n_chains must be an integer from 1"):
        start(n_chains, 4, rng)


@pytest.mark.parametrize("option", ["n_chains", "n_sweeps", "n_jobs"])
def test_wrong_options_are_refused(option):
    with pytest.raises(OptionError, match=f"{option} must be .*, got 0"):
        Persistent(**{option: 0})
    with pytest.raises(OptionError, match=f"{option} must be .*, got 0"):
        Brief(np.zeros((2, 3)), **{option: 0})
    if option != "n_chains":
        with pytest.raises(OptionError, match=f"{option} must be .*, got 0"):
            Gibbs(**{option: 0})


def test_wrong_calls_are_refused(rng):
    model = random_field(rng)
    chains = start(64, 6, rng)
    with pytest.raises(OptionError, match=r"n_sweeps must be .*, got 0"):
        sweep(model, chains, 0)
    with pytest.raises(OptionError, match=r"n_jobs must be .*, got 0"):
        sweep(model, chains, 1, 0)
    for too_many in (lambda: counts(model, chains, 65), lambda: to_states(chains, 65)):
        with pytest.raises(OptionError, match="at most the 64 chains that were started, got 65"):
            too_many()
    for wrong in (lambda: sweep(model, start(64, 5, rng), 1), lambda: counts(model, start(64, 5, rng), 64)):
        with pytest.raises(OptionError, match="chains must be for 6 nodes, got 5"):
            wrong()


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (np.zeros((0, 4)), r"shape \(0, 4\)"),
        (np.zeros((3, 5)), r"shape \(3, 5\)"),
        (np.zeros(4), r"shape \(4,\)"),
        (np.array([[0, 1, 1, 0], [0, -1, 1, 0]]), "got .*-1 in row 1, column 1"),
    ],
)
def test_wrong_states_are_refused(rng, states, message):
    with pytest.raises(DataError, match=message):
        start(64, 4, rng, states)


def test_engines_refuse_bad_calls(rng):
    model = Agreement(Graph(2, np.array([[0, 1]])))
    theta = np.zeros(1)
    with pytest.raises(OptionError, match=r"n_samples must be .*, got 0"):
        Gibbs().sample(model, theta, None, 0, rng)
    for engine in (Persistent(), Brief(np.zeros((1, 2)))):
        plan = engine.prepare(model)
        with pytest.raises(OptionError, match=r"make it with start\(model, rng\)"):
            engine.infer(model, theta, plan, "moments", None)
    with pytest.raises(OptionError, match="states must be the data"):
        Brief().prepare(model)


def test_engines_say_what_they_are():
    brief = Brief(np.zeros((1, 2)))
    assert [(e.name, e.answers, e.kind) for e in (Gibbs(), Persistent(), brief)] == [
        ("gibbs", {"sample"}, Kind.APPROXIMATE),
        ("persistent", {"moments"}, Kind.RANDOM),
        ("brief", {"moments"}, Kind.RANDOM),
    ]
