"""Persistent chains of models with two modes, against sums over all states.

All weights of a complete graph are b and all biases a over {0, 1}; the mode with many ones has a probability of 0.3,
and few states are between the modes.
"""

import re
import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp

from bayesmrf import BayesianMRF, graphs
from bayesmrf.engines import Persistent
from bayesmrf.errors import BayesMRFWarning, ConvergenceWarning
from bayesmrf.methods import Langevin
from bayesmrf.models import Boltzmann, Potts
from bayesmrf.results import convergence
from bayesmrf.samplers import ladder
from tests.oracle.bounds import assert_mean, assert_other_mean
from tests.oracle.states import all_states
from tests.unit.engines.test_unseen_modes import counts

D, B, MASS = 12, 1.0, 0.3
GRAPH = graphs.complete(D)
MODEL = Boltzmann(GRAPH)
A = brentq(lambda a: counts(a, B, D)[0][D // 2 + 1 :].sum() - MASS, -15, -1)
THETA = np.concatenate([np.full(MODEL.n_edges, B), np.full(D, A)])
STATES = all_states(D)
FEATURES = np.column_stack([*(STATES[:, u] * STATES[:, v] for u, v in GRAPH.edges), STATES]).astype(float)
MANY = STATES.sum(axis=1) > D // 2


def mass(theta):
    """Probability of the mode with many ones."""
    log_p = FEATURES @ theta
    return np.exp(log_p - logsumexp(log_p))[MANY].sum()


def run(engine, rng, thetas, model=MODEL):
    """Memory after one call for each theta."""
    memory = engine.start(model, rng)
    for theta in thetas:
        memory = engine.infer(model, theta, None, state=memory).state
    return memory


def run_on(engine, memory, n_calls):
    """Memory after more calls at the same theta; that before is changed, too."""
    for _ in range(n_calls):
        memory = engine.infer(MODEL, THETA, None, state=memory).state
    return memory


def share(memory, n, model=MODEL):
    """Whether each of n chains is in the mode with many ones, as chains of one draw."""
    return (Persistent(n).states(model, memory, n).sum(axis=1) > D // 2)[:, None]


def test_chains_come_to_modes_by_their_weights(rng):
    """At a fixed theta; without the ladder chains stay where they started."""
    n = 512
    found = run(Persistent(n), rng, [THETA] * 1000)
    assert found.round_trips > 20
    assert_mean(share(found, n).astype(float), MASS)
    stuck = run(Persistent(n, tempered=False), rng, [THETA] * 1000)
    assert np.isnan(stuck.round_trips)
    assert_other_mean(share(stuck, n).astype(float), MASS)


@pytest.mark.parametrize(("tempered", "n_runs"), [(True, 32), (False, 128)])
def test_few_chains_come_to_modes(rng, tempered, n_runs):
    """The others of the block of 64 show that they keep their mode, too."""
    engine, found = Persistent(8, tempered=tempered), []
    for _ in range(n_runs):
        memory = run(engine, rng, [THETA] * 400)
        found.append([share(memory := run_on(engine, memory, 50), 8).mean() for _ in range(4)])
    (assert_mean if tempered else assert_other_mean)(np.array(found), MASS)


def test_the_rungs_have_their_own_distributions(rng):
    """Numbers of ones at the lowest rung, of independent nodes, and at one half of the way up."""
    form = MODEL.pairwise(THETA)
    chains = ladder.start(64, D, rng, STATES[rng.integers(len(STATES), size=64)])
    laid = ladder.start_ladder(form, STATES[rng.integers(len(STATES), size=500)], rng)
    numbers = []
    for t in range(10_000):
        ladder.sweep(form, chains, 1)
        laid = ladder.swap_round(form, laid._replace(n_rounds=laid.n_rounds % 99), chains)  # rungs stay
        if t >= 200 and t % 10 == 0:
            numbers.append((laid.chains.states > 0).sum(axis=1).mean(axis=1))
    ones = STATES.sum(axis=1)
    for k, b in enumerate(laid.temperatures):
        log_p = b * FEATURES @ THETA + (1 - b) * 2 * STATES @ laid.base
        exact = np.exp(log_p - logsumexp(log_p)) @ ones
        assert_mean(np.array(numbers)[None, :, k], exact)
        assert_other_mean(np.array(numbers)[None, :, k], exact + 2)


def test_shares_of_modes_follow_theta_at_once(rng, monkeypatch):
    """Biases grow in forty steps, and the mode with many ones from 0.3 to 0.89; without weights shares lag behind."""
    n, last = 1024, THETA + np.repeat([0, 0.25], [MODEL.n_edges, D])
    assert mass(last) > 0.85
    steps = [*[THETA] * 600, *(THETA + t * (last - THETA) for t in np.linspace(0, 1, 41)[1:])]
    found = run(Persistent(n), rng, steps)
    assert_mean(share(found, n).astype(float), mass(last), bias=0.05)
    monkeypatch.setattr("bayesmrf.inference.chains.move", lambda form, followed: True)
    assert_other_mean(share(run(Persistent(n), rng, steps), n).astype(float), mass(last), bias=0.05)


def test_a_long_step_is_late(rng):
    """Weights of a few chains alone tell nothing; they are forgotten, and the call is late."""
    engine = Persistent(256)
    memory = run(engine, rng, [THETA] * 200)
    far = THETA + np.repeat([0, 1.5], [MODEL.n_edges, D])
    assert engine.infer(MODEL, far, None, state=memory).stats["late"]
    assert not engine.infer(MODEL, far, None, state=memory).stats["late"]


def test_chains_that_mix_get_no_ladder(rng):
    weak = np.concatenate([np.full(MODEL.n_edges, 0.1), np.full(D, -0.5)])
    seed = rng.integers(2**32)
    found, plain = (run(Persistent(256, tempered=t), np.random.default_rng(seed), [weak] * 400) for t in (True, False))
    assert np.isnan(found.round_trips)
    np.testing.assert_array_equal(found.chains.states, plain.chains.states)


def test_many_states(rng):
    """A Potts model of agreeing nodes has a mode for each state, one of which is more probable."""
    model, n = Potts(graphs.complete(6), 3), 512
    theta = np.concatenate([np.full(model.n_edges, 1.4), np.tile([0.0, 0.15], 6)])
    x = np.stack(np.meshgrid(*[np.arange(3)] * 6), axis=-1).reshape(-1, 6)
    log_p = np.array([model.statistics(row[None].astype(np.int8)) @ theta for row in x])
    exact = np.exp(log_p - logsumexp(log_p)) @ (x == 2)
    found = run(Persistent(n), rng, [theta] * 1500, model)
    assert found.round_trips > 20
    assert_mean((Persistent(n).states(model, found, n) == 2)[:, None].astype(float), exact)
    assert_other_mean((Persistent(n).states(model, found, n) == 0)[:, None].astype(float), exact)


def rows(n, rng):
    p = counts(A, B, D)[0]
    number = rng.choice(D + 1, n, p=p / p.sum())
    return (rng.random((n, D)).argsort(axis=1) < number[:, None]).astype(int)


def fitted(x, engine, quiet=True, **options):
    options = {"n_draws": 1500, "n_warmup": 1000, "n_chains": 2, "kernel": "langevin"} | options
    est = BayesianMRF(GRAPH, engine=engine, random_state=0, progress=False, **options)
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", BayesMRFWarning)
        return est.fit(x)


def test_probabilities_of_modes_vary_as_they_should(rng):
    """Over draws of Langevin dynamics, compared with exact moments; chains that keep their mode make it eight times as
    much, though means and standard deviations of single parameters are the same.
    """
    x = rows(500, rng)

    def masses(engine):
        theta = fitted(x, engine).posterior_["posterior"]["theta"].values[:, ::10].reshape(-1, MODEL.n_features)
        return np.array([mass(t) for t in theta])

    exact, found, kept = masses("enumeration"), masses("persistent"), masses(Persistent(tempered=False))
    assert abs(found.mean() - exact.mean()) < 0.1
    # Logarithms of the ratios were 0.8 and 2.1 with standard deviations of 0.2 and 0.13 over 20 data sets.
    assert found.std() < 4.5 * exact.std() < kept.std()


def test_a_run_with_a_ladder_continues(rng, tmp_path):
    """The same draws in one go and in two parts."""
    x, options = rows(200, rng), {"n_draws": 100, "n_warmup": 200, "n_chains": 1}
    whole = fitted(x, "persistent", **options)
    assert whole.posterior_["sample_stats"]["round_trips"].values[0, -1] > 0
    for n in (40, 100):
        parts = fitted(x, "persistent", **(options | {"n_draws": n}), checkpoint=tmp_path / "run")
    np.testing.assert_array_equal(
        parts.posterior_["posterior"]["theta"].values, whole.posterior_["posterior"]["theta"].values
    )


def test_steps_are_shortened_until_chains_can_follow(rng):
    """In warm-up only; chains without a ladder leave the step as it is."""
    x = rows(200, rng)
    step, whole = (
        fitted(x, engine, n_draws=200).posterior_["sample_stats"]
        for engine in ("persistent", Persistent(tempered=False))
    )
    assert (np.ptp(step["step_size"].values, axis=1) == 0).all()
    assert np.ptp(whole["step_size"].values) == 0
    assert step["step_size"].values.max() < 0.8 * whole["step_size"].values.min()
    assert step["late"].values.mean() < 0.2


@pytest.mark.filterwarnings("ignore:columns .* determine each other", "ignore:combinations that never occur")
def test_chains_that_do_not_follow_are_said(rng):
    """In the warning of `fit`, and in what is stored: few round trips, or steps that are too long."""
    x = rows(200, rng)
    said = {}
    for name, epsilon, n_draws in (("few", None, 20), ("long", 0.6, 400), ("fine", 0.1, 400)):
        est = fitted(x, "persistent", n_draws=n_draws, kernel=Langevin(epsilon=epsilon, precondition=True))
        said[name] = convergence.verdict(est.posterior_)
    assert said["few"].grade == said["long"].grade == "bad"
    assert re.match(
        "Modes: the chains behind the moments keep their mode, and came from independent nodes [0-4][.][0-9] "
        "times each, too rarely",
        said["few"].sentence,
    )
    assert re.match("Modes: .* and in [0-9]+% of the steps theta moved too far", said["long"].sentence)
    assert "Modes" not in said["fine"].sentence
    with pytest.warns(ConvergenceWarning, match="^Modes: .*use a shorter step or an exact engine"):
        fitted(x, "persistent", n_draws=400, kernel=Langevin(epsilon=0.6, precondition=True), quiet=False)
