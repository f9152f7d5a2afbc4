"""Exact samples against enumeration, and against a coupling that follows every state.

Tests of laws have a false-alarm rate of 1e-6 and controls that must fail them.
"""

import numpy as np
import pytest

from bayesmrf.base import Kind
from bayesmrf.engines import CouplingFromThePast
from bayesmrf.errors import OptionError
from bayesmrf.graphs import complete, cycle, path
from bayesmrf.models import Agreement, Boltzmann, Ising
from bayesmrf.models.pairwise import pairwise
from bayesmrf.rng import lane_generators, next_uint32
from bayesmrf.samplers import cftp
from bayesmrf.samplers.cftp import is_attractive, sample_exact
from tests.oracle.bounds import P
from tests.oracle.states import all_states
from tests.statistical.test_swendsen_wang import law, p_value, random_field, random_graph

LANES = 64


def balanced(model):
    """Whether some gauge makes all couplings >= 0: all of them are tried."""
    x = 2 * all_states(len(model.field)).astype(int) - 1
    u, v = model.edges.T
    return (model.coupling * x[:, u] * x[:, v] >= 0).all(axis=1).any()


def random_case(rng, case, strength=0.3):
    """A field of 6 nodes and 10 edges, attractive, turned over at some nodes, or frustrated."""
    if case == "frustrated":
        while balanced(model := random_field(rng, 6, 10, strength)):
            pass
        return model
    model = random_field(rng, 6, 10, strength, (1,))
    if case == "gauge":
        u, v = model.edges.T
        gauge = rng.permutation([1, 1, 1, -1, -1, -1])
        model = model._replace(coupling=model.coupling * gauge[u] * gauge[v])
    return model


CASES = pytest.mark.parametrize("case", ["attractive", "gauge", "frustrated"])


# The law of the samples


@CASES
def test_law_is_the_enumerated_one(rng, case):
    model = random_case(rng, case)
    draws = sample_exact(model, 50_001, rng)
    assert p_value(draws.states, law(model)) > P
    # Controls: one coupling or one field wrong by 0.3.
    coupling, field = model.coupling.copy(), model.field.copy()
    coupling[0] += 0.3
    field[0] += 0.3
    for wrong in (model._replace(coupling=coupling), model._replace(field=field)):
        assert p_value(draws.states, law(wrong)) < P


def couple(model, rng, variant):
    """64 samples: the algorithm written again over its compiled sweep, and two famous ways to get it wrong."""
    n = len(model.field)
    result, met = np.zeros((LANES, n), np.int8), np.zeros(LANES, bool)
    low, high = np.full((n, LANES), -1, np.int8), np.full((n, LANES), 1, np.int8)
    generators = [lane_generators(rng, 1, LANES)[0] for _ in range(30)]
    steps = 1
    while not met.all():
        if variant == "forwards":  # stops at the first meeting instead of at a given time
            cftp._sweep(model, low, high, generators[0], 1)
        else:
            low[...], high[...] = -1, 1
            if variant == "fresh numbers":
                generators = [lane_generators(rng, 1, LANES)[0] for _ in range(30)]
            for t in reversed(range(steps)):  # sweep t from the end belongs to generator bit_length(t)
                block = t.bit_length()
                if t == steps - 1 or (t + 1).bit_length() > block:
                    generator = generators[block].copy()
                cftp._sweep(model, low, high, generator, 1)
            steps *= 2
        new = (low == high).all(axis=0) & ~met
        result[new] = low.T[new] > 0
        met |= new
    return result


@pytest.mark.parametrize("last", [-0.5, 0.5], ids=["gauge", "frustrated"])
def test_numbers_must_be_reused_and_time_must_run_from_the_past(rng, last):
    model = pairwise(cycle(3), np.array([-0.6, last, 0.6]), np.array([-1.0, -1.0, 0.3]), 0)
    right = {"past": True, "fresh numbers": False, "forwards": False}
    for variant, passes in right.items():
        states = np.concatenate([couple(model, rng, variant) for _ in range(200)])
        assert bool(p_value(states, law(model)) > P) is passes, variant


def follow_all(model, seeds):
    """Follow every state, in plain numpy, through the random numbers of one block; return its samples and depths."""
    n = len(model.field)
    weights = np.zeros((n, n))
    for w, (u, v) in zip(model.coupling, model.edges, strict=True):
        weights[u, v] = weights[v, u] = w
    steps = []  # thresholds (n, 64) of each sweep, the last one first
    states, depths = np.zeros((LANES, n)), np.zeros(LANES, int)
    for k, seed in enumerate(seeds):
        new = [[uniforms(seed) for _ in range(n)] for _ in range(max(1, 2**k // 2))]
        steps += new[::-1]
        x = np.repeat(2.0 * all_states(n)[None] - 1, LANES, axis=0)
        for u in reversed(steps):
            for i in range(n):
                up = 1 / (1 + np.exp(-2 * (model.field[i] + x @ weights[i])))
                x[:, :, i] = np.where(u[i][:, None] < up, 1, -1)
        met = (x == x[:, :1]).all(axis=(1, 2))
        states[met], depths[met & (depths == 0)] = x[met, 0] > 0, 2**k
        if met.all():
            break
    return states, depths


def uniforms(generators):
    return np.array([(next_uint32(generators, lane) + 0.5) / 2**32 for lane in range(LANES)])


@CASES
def test_samples_are_those_of_a_coupling_that_follows_every_state(rng, case):
    """Attractive couplings: the intervals are the extreme chains, and meet when all do. Frustrated: never before."""
    model = random_case(rng, case)
    seed = int(rng.integers(2**32))
    draws = sample_exact(model, LANES, np.random.default_rng(seed))
    same_numbers = np.random.default_rng(seed)
    seeds = [lane_generators(same_numbers, 1, LANES)[0] for _ in range(20)]
    states, depths = follow_all(model, seeds)
    np.testing.assert_array_equal(draws.states, states)
    if case == "frustrated":
        assert (draws.depths >= depths).all()
    else:
        np.testing.assert_array_equal(draws.depths, depths)
    assert set(draws.depths) <= {2**k for k in range(17)}


def test_going_further_back_changes_no_sample(rng):
    """Ten samples go as far back as the slowest of ten needs; among 64 they go further."""
    model, seed = random_case(rng, "frustrated"), int(rng.integers(2**32))
    few, many, more = (sample_exact(model, n, np.random.default_rng(seed)) for n in (10, 64, 130))
    for other in (many, more):
        np.testing.assert_array_equal(few.states, other.states[:10])
        np.testing.assert_array_equal(few.depths, other.depths[:10])
    assert (more.states != sample_exact(model, 130, np.random.default_rng(seed + 1)).states).any()
    assert (more.states[:64] != more.states[64:128]).any()


@pytest.mark.parametrize("n_edges", [0, 1], ids=["no edges", "isolated nodes"])
def test_law_where_nodes_have_no_neighbours(rng, n_edges):
    model = random_field(rng, 4, n_edges, 0.5)
    draws = sample_exact(model, 50_000, rng)
    assert p_value(draws.states, law(model)) > P
    assert p_value(draws.states, law(model._replace(field=model.field + 0.1))) < P
    if n_edges == 0:
        assert (draws.depths == 1).all()


@pytest.mark.parametrize("model", [Ising, Boltzmann, Agreement])
def test_engine_draws_from_the_model(rng, model):
    model = model(random_graph(rng, 5, 7))
    theta = rng.uniform(-0.8, 0.8, model.n_features)
    engine = CouplingFromThePast()
    states = engine.sample(model, theta, engine.prepare(model), 50_000, rng)
    assert states.shape == (50_000, 5)
    assert states.dtype == np.int8
    assert p_value(states, law(model.pairwise(theta))) > P
    assert p_value(states, law(model.pairwise(theta + 0.3))) < P


# The parts


def test_attractive_up_to_turned_nodes(rng):
    seen = set()
    for _ in range(60):
        model = random_field(rng, 6, int(rng.integers(4, 11)), 0.4)
        model.coupling[rng.random(len(model.coupling)) < 0.3] = 0  # couplings of zero are no edges
        seen.add(balanced(model))
        assert is_attractive(model) == balanced(model)
    assert seen == {True, False}
    for n_nodes, right in ((4, True), (5, False)):  # antiferromagnets on even and odd cycles
        assert is_attractive(pairwise(cycle(n_nodes), -np.ones(n_nodes), np.ones(n_nodes), 0)) is right


def test_thresholds_are_logistic(rng):
    generators = lane_generators(rng, 1, LANES)[0]
    generators[:, 0] = generators[:, 1] = 0  # the smallest uniform, and (below) the largest
    generators[0, 1] = 2**32 - 1
    odds, found = np.empty(LANES), np.empty(LANES)
    for _ in range(50):
        u = uniforms(generators.copy())
        cftp._thresholds(generators, odds, odds.view(np.int64), found)
        np.testing.assert_allclose(found, (np.log(u) - np.log1p(-u)) / 2, rtol=1e-11, atol=1e-11)


def test_compiled_sweep_is_its_python_form(rng, monkeypatch):
    model, generators = random_case(rng, "frustrated"), lane_generators(rng, 1, LANES)[0]
    fast = np.full((6, LANES), -1, np.int8), np.full((6, LANES), 1, np.int8), generators
    slow = tuple(a.copy() for a in fast)
    cftp._sweep(model, *fast, 3)
    for name in ("next_uint32", "_thresholds"):
        monkeypatch.setattr(cftp, name, getattr(cftp, name).py_func)
    with np.errstate(over="ignore"):
        cftp._sweep.py_func(model, *slow, 3)
    for a, b in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (fast[0] <= fast[1]).all()


# What is refused


def test_giving_up_says_why_and_what_to_do(rng):
    frustrated = pairwise(complete(4), np.full(6, -8.0), np.zeros(4), 0)
    with pytest.raises(OptionError, match=r"max_sweeps=64 .* 10 of 10 .* 100% .*frustrated.*elimin"):
        sample_exact(frustrated, 10, rng, max_sweeps=100)
    theta = np.full(2, 8.0)
    with pytest.raises(OptionError, match=r"max_sweeps=1 .* 3 of 3 .*attractive.*larger max_sweeps"):
        CouplingFromThePast(max_sweeps=1).sample(Ising(path(3), fields=False), theta, None, 3, rng)


def test_the_limit_may_be_reached(rng):
    model, seed = random_case(rng, "attractive"), int(rng.integers(2**32))
    deepest = int(sample_exact(model, 64, np.random.default_rng(seed)).depths.max())
    assert sample_exact(model, 64, np.random.default_rng(seed), deepest).depths.max() == deepest
    with pytest.raises(OptionError, match="not coalesced"):
        sample_exact(model, 64, np.random.default_rng(seed), deepest - 1)


def test_wrong_options_are_refused(rng):
    for n in (0, -1, 2.5):
        with pytest.raises(OptionError, match=f"max_sweeps must be .*, got {n}"):
            CouplingFromThePast(max_sweeps=n)
        with pytest.raises(OptionError, match=f"n_samples must be .*, got {n}"):
            CouplingFromThePast().sample(Ising(path(3)), np.zeros(5), None, n, rng)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_parameters_that_are_not_finite_are_refused(rng, value):
    with pytest.raises(OptionError, match=f"theta must be finite, got '{value} as the field of node 1'"):
        CouplingFromThePast().sample(Ising(path(3)), np.array([0, 0, 0, value, 0]), None, 5, rng)


def test_engine_says_what_it_is():
    engine = CouplingFromThePast()
    assert (engine.name, engine.answers, engine.kind) == ("cftp", {"sample"}, Kind.EXACT)
