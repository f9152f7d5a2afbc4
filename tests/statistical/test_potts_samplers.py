"""Samplers of the states of a Potts model, chains, hidden entries, and samplers of theta.

Statistical tests have false alarms of 1e-6 a test, and controls that must fail the same check.
"""

import itertools

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Brief, Elimination, Enumeration, Gibbs, MeanField, Persistent, SwendsenWang
from bayesmrf.errors import DataError, OptionError
from bayesmrf.graphs import Graph
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import Exchange, Langevin, Metropolis
from bayesmrf.models import Agreement, Boltzmann, Potts
from bayesmrf.models.categorical import binary_form
from bayesmrf.models.clamped import Clamped
from bayesmrf.models.clamped_categorical import HiddenStates, clamp
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.priors import Normal
from bayesmrf.published.exchange import ExchangeKernel
from bayesmrf.runs import run
from bayesmrf.samplers import categorical_gibbs, gibbs, swendsen_wang
from bayesmrf.samplers.gibbs import Chains, start, sweep, to_states
from tests.oracle.bounds import Comparison, P, assert_estimate, assert_mean, assert_other_estimate, assert_other_mean
from tests.oracle.potts import as_potts, features, infer, law, p_value, problem

EXACT = [Enumeration(), Elimination()]


# Samplers

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
    assert p_value(model, states, truth) > P
    # Controls: one coupling or one field wrong.
    for j in (0, len(theta) - 1):
        wrong = theta.copy()
        wrong[j] += 0.3
        assert p_value(model, engine.sample(model, wrong, plan, n, rng), truth) < P


def test_strong_fields_are_sampled_as_they_are(rng):
    """Independent nodes with states of probability 1e-2 to 1e-4 beside common ones."""
    model = Potts(Graph(2, np.zeros((0, 2), int)), 4)
    theta = np.array([-4.5, 5.0, -2.0, 6.0, 0.5, -1.0])
    truth = law(model, theta)[1]
    for engine in (Gibbs(1), SwendsenWang(1)):
        assert p_value(model, engine.sample(model, theta, None, 400_000, rng), truth) > P
        off = engine.sample(model, theta + 0.2, None, 400_000, rng)
        assert p_value(model, off, truth) < P


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
    assert p_value(model, to_states(chains, 60_000, 3), row) > P
    # Control: the heat bath, which has the same stationary law.
    chains = start(60_000, 4, rng, state[None], 3)
    sweep(model.categorical(theta), chains, 1)
    assert p_value(model, to_states(chains, 60_000, 3), row) < P


def moments_agree(found, model, theta, n):
    return Comparison().counts(n * found, n, law(model, theta)[1] @ features(model)[1]).holds


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
        with pytest.raises(DataError, match=rf"states must be .* from 0 to 2, got .*{value:.1f} in row 2, column 3"):
            Brief(data).prepare(model)


def test_binary_samples_have_the_law_of_two_states(rng):
    binary = Agreement(graphs.cycle(5), True)
    theta = rng.normal(0, 0.6, binary.n_features)
    potts, same_theta, _ = as_potts(binary, theta)
    truth = law(potts, same_theta)[1]
    for engine in (Elimination(), Gibbs(60)):
        states = engine.sample(binary, theta, engine.prepare(binary), 50_000, rng)
        assert p_value(potts, states, truth) > P


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
    for name in ("_redraw_clusters", "_uniform", "bind", "_draw"):
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
        swendsen_wang._sweep.py_func(form.edges, form.coupling, form.field, *slow, 30, 2)
    np.testing.assert_array_equal(fast.lanes, slow.lanes)
    np.testing.assert_array_equal(fast.states, slow.states)


def test_negative_couplings_have_no_clusters(rng):
    model = Potts(graphs.path(3), 3)
    theta = np.zeros(model.n_features)
    theta[1] = -0.25
    with pytest.raises(OptionError, match=r"theta must be couplings >= 0 .*\(edge 1\), got -0\.25"):
        SwendsenWang().sample(model, theta, None, 5, rng)
    for j, message in (
        (0, "theta must be finite, got 'nan as the coupling of edge 0'"),
        (5, "got 'nan as the field of node 1'"),
    ):
        theta = np.zeros(model.n_features)
        theta[j] = np.nan
        with pytest.raises(OptionError, match=message):
            SwendsenWang().sample(model, theta, None, 5, rng)


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


def draws_of(kernel, rng):
    draws = run.sample(kernel, n_draws=100, n_warmup=30, n_chains=48, random_state=rng, progress=False)
    theta = draws.values["theta"]
    return np.concatenate([theta, theta**2], axis=2)


def test_exact_kernels_match_the_grid(rng):
    model = Potts(graphs.path(2), 3)
    states = rng.integers(0, 3, (N, 2))
    states[: N // 2, 1] = states[: N // 2, 0]
    s_bar = model.statistics(states)
    exact, prior = grid_posterior(model, s_bar), Normal(1.0)
    likelihood, start = Likelihood(model, s_bar, N, Elimination()), exact[:5]
    for kernel in (
        MetropolisKernel(likelihood, prior, start, Metropolis(0.9)),
        LangevinKernel(likelihood, prior, start, Langevin(0.6, adjusted=True)),
        ExchangeKernel(likelihood, prior, start, Exchange(0.9)),
    ):
        assert_mean(draws_of(kernel, rng), exact)
    wrong = Likelihood(model, s_bar[[0, 2, 1, 4, 3]] + np.array([0, 0.2, 0, 0, 0]), N, Elimination())
    assert_other_mean(draws_of(MetropolisKernel(wrong, prior, start, Metropolis(0.9)), rng), exact)


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
    tables = np.tile(clamped.states, (1000, 1, 1))
    tables[:, clamped.states < 0] = drawn[:1000]
    sums = np.array([3 * model.statistics(x) for x in tables])
    np.testing.assert_allclose(clamped.statistics(drawn[:1000]), sums.mean(axis=0), atol=1e-12)
    error = np.maximum(sums.std(axis=0), 0.02) / np.sqrt(40_000)
    assert_estimate(clamped.statistics(drawn), expected, error)
    assert_other_estimate(sums[0], expected, error)


def test_seen_statistics_are_means_over_what_was_seen():
    model = Potts(graphs.path(2), 3)
    clamped = clamp(model, np.array([[0, -1], [1, 1], [2, 1], [-1, -1], [1, -1]], dtype=np.int8))
    np.testing.assert_allclose(clamped.seen_statistics(), [0.5, 0.5, 0.25, 1, 0])
    assert type(clamp(Boltzmann(graphs.path(2)), np.zeros((1, 2), np.int8))) is Clamped
    with pytest.raises(OptionError, match="must be a binary model"):
        binary_form(clamped, np.zeros(5))
