"""Modes that a model has and the data do not have, against closed forms.

All weights of a complete graph are b and all biases a over {0, 1}, so that the number N of ones has p(N = k)
proportional to C(d, k) exp(a k + b k (k - 1) / 2).
"""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq, fsolve
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from bayesmrf import CompareMRF, SpikeSlabMRF, graphs, results
from bayesmrf.data.states import States
from bayesmrf.errors import ApproximatePosteriorWarning, BayesMRFWarning
from bayesmrf.estimators import prepared
from bayesmrf.estimators.prepared import check_modes
from bayesmrf.inference import annealed
from bayesmrf.inference.unseen_modes import ModeSearch, _parts, count_tails, unseen
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann, Ordinal, Potts
from bayesmrf.models.categorical import compiled_form
from bayesmrf.report import write_report
from bayesmrf.results import convergence
from bayesmrf.results.blocks import spread_draws
from bayesmrf.samplers.gibbs import start, sweep, to_states
from tests.oracle.bounds import P as RATE
from tests.oracle.bounds import assert_estimate, assert_other_estimate
from tests.oracle.states import all_states

D, MASS = 20, 0.3
MODEL = Boltzmann(graphs.complete(D))
SEARCH = ModeSearch(n_chains=64, temperatures=100, n_followed=512, n_sweeps=20)


def counts(a, b, d=D):
    """Probability of each number of ones, and log Z."""
    k = np.arange(d + 1)
    each = gammaln(d + 1) - gammaln(k + 1) - gammaln(d - k + 1) + a * k + b * k * (k - 1) / 2
    return np.exp(each - logsumexp(each)), logsumexp(each)


def theta_of(a, b):
    return np.concatenate([np.full(MODEL.n_edges, b), np.full(D, a)])


B = 0.5
A = brentq(lambda a: counts(a, B)[0][D // 2 + 1 :].sum() - MASS, -8, -2)  # the mode with many ones has 0.3
P, LOG_Z = counts(A, B)
THETA = theta_of(A, B)


def rows(p, n, rng):
    """Draw rows, the number of ones from p."""
    number = rng.choice(len(p), n, p=p / p.sum())
    return states_of(rng.random((n, len(p) - 1)).argsort(axis=1) < number[:, None])


def states_of(x, coding="01"):
    return States(np.asarray(x, dtype=np.int8), tuple(map(str, range(x.shape[1]))), None, coding)


def few_ones(n, rng):
    """Draw rows from the mode with few ones alone."""
    return rows(np.where(np.arange(D + 1) > D // 2, 0, P), n, rng)


def searched(states, rng, model=MODEL, theta=THETA, search=SEARCH):
    data = count_tails(states)
    found = search.tails(model, theta, states, data, rng)
    return unseen(found.mean, found.error, data, search.n_followed), found


def test_a_mode_without_data_is_found(rng):
    assert P[5:15].sum() < 0.001  # a barrier that no chain crosses
    for _ in range(5):
        found, tails = searched(few_ones(1000, rng), rng)
        assert found.state == 1
        assert found.share < 0.01  # the tail may begin at the outermost rows
        assert found.ratio > 2
        assert 0.1 < found.probability < P[found.most + 1 :].sum()
        assert tails.mean[0, 1, D // 2] == 0  # chains from the data miss it
    # With as few rows as this its absence is no surprise.
    assert searched(few_ones(40, rng), rng)[0].ratio < 1


def test_parts_of_z_are_unbiased(rng, monkeypatch):
    """Annealing from nearly full nodes against the exact P(N > q) Z; a shorter ladder fails."""
    exact = P.sum() - np.cumsum(P)

    def parts():
        run = annealed.forward(MODEL, THETA, rng, 2000, 100, np.full(D, 0.95))
        mean, error = _parts(run, 2, D + 1, LOG_Z)[:, 1]
        np.testing.assert_allclose(mean[0], np.mean(np.exp(run.log_weights - LOG_Z) * (run.states.sum(axis=1) > 0)))
        return mean, error

    mean, error = parts()
    beyond = slice(D // 2, D)  # the barrier, which few chains cross: the rest may fall short
    assert_estimate(mean[beyond], exact[beyond], error[beyond])
    assert ((mean - exact)[:D] < norm.isf(RATE / D) * error[:D]).all()
    monkeypatch.setattr(annealed, "ladder_of", lambda temperatures: np.linspace(0, 0.5, temperatures + 1))
    mean, error = parts()
    assert_other_estimate(mean[beyond], exact[beyond], error[beyond])


def test_bounds_hold(rng):
    """Lower bounds against exact tails: annealed ones for both states and every q, others beyond all rows."""
    states = few_ones(500, rng)
    tails, exact = searched(states, rng)[1], np.array([p.sum() - np.cumsum(p) for p in (P[::-1], P)])
    lower = tails.mean - norm.isf(RATE) * tails.error
    assert (lower[1:] <= exact + 1e-9).all()
    assert lower[1:, 1, D // 2].max() > MASS / 3
    beyond = count_tails(states).above == 0
    assert (lower[0] <= exact + 1e-9)[beyond].all()
    # Estimates from few chains exceed tails by chance, but are never above 1, and so their mean over draws is not.
    few = ModeSearch(n_chains=8, temperatures=2, n_followed=16, n_sweeps=10)
    assert max(searched(states, rng, theta=2 * THETA, search=few)[1].mean.max() for _ in range(60)) <= 1


def test_a_model_with_the_modes_of_the_data_is_not_flagged(rng):
    """Thirty data sets; the false-alarm rate of each is 1e-6 a tail."""
    for _ in range(30):
        assert searched(rows(P, 1000, rng), rng)[0].ratio < 1


def test_posterior_draws_are_not_flagged(rng):
    """Models of six nodes with random parameters, at draws of the normal posterior around the truth."""
    model, x = Boltzmann(graphs.complete(6)), all_states(6)
    s = np.column_stack([*(x[:, u] * x[:, v] for u, v in model.graph.edges), x]).astype(float)
    for _ in range(30):
        theta = rng.normal(0, 0.7, model.n_features)
        p = np.exp(s @ theta - logsumexp(s @ theta))
        sample = rng.choice(len(p), 300, p=p)
        fisher = 300 * np.cov(s.T, aweights=p, ddof=0) + np.eye(len(theta))
        mean = theta + np.linalg.solve(fisher, s[sample].sum(axis=0) - 300 * p @ s - theta)
        draw = rng.multivariate_normal(mean, np.linalg.inv(fisher))
        assert searched(states_of(x[sample]), rng, model, draw)[0].ratio < 1


def test_a_model_that_fits_badly_is_not_flagged(rng):
    """Numbers of ones from 5 to 10, all equally likely; the pairwise model of the same moments has tails beyond."""
    p = np.where((np.arange(D + 1) >= 5) & (np.arange(D + 1) <= 10), 1 / 6, 0)
    k = np.arange(D + 1)
    a, b = fsolve(lambda t: (counts(*t)[0] - p) @ np.column_stack([k, k**2 / 10]), [-0.6, 0])
    assert counts(a, b)[0][11:].sum() > 0.02
    states = rows(p, 20_000, rng)
    found, tails = searched(states, rng, theta=theta_of(a, b))
    assert found.ratio < 1
    assert (tails.mean[0, 1, 10] - 5 * tails.error[0, 1, 10]) * 20_000 > 42  # far more than 20,000 rows allow


def test_tails_that_chains_reach_from_the_data_are_no_modes(rng):
    states = rows(counts(-3.0, 0.0)[0], 5000, rng)
    found, tails = searched(states, rng, theta=theta_of(-1.0, 0.0))
    assert found.ratio < 1
    assert (tails.mean[1:, 1] > 100 * count_tails(states).above[1] / 5000 + 0.01).any()  # however far from the rows


def test_many_states(rng):
    """A Potts model whose fields favour state 0, and whose agreement all nodes in state 2."""
    d = 12
    model = Potts(graphs.complete(d), 3)
    n = np.array([(i, j, d - i - j) for i in range(d + 1) for j in range(d + 1 - i)])

    def log_p(h):
        each = gammaln(d + 1) - gammaln(n + 1).sum(axis=1) + 0.7 * (n * (n - 1) / 2).sum(axis=1) + n @ [0, -2, h]
        return each - logsumexp(each)

    h = brentq(lambda h: np.exp(log_p(h))[n[:, 2] > 6].sum() - 0.3, -2, 2)
    p = np.exp(log_p(h))
    theta = np.concatenate([np.full(model.n_edges, 0.7), np.tile([-2.0, h], d)])

    def table(p):
        found = n[rng.choice(len(p), 500, p=p / p.sum())]
        order = rng.random((500, d)).argsort(axis=1)
        return states_of((order[:, :, None] >= np.cumsum(found, axis=1)[:, None, :2]).sum(axis=2), (0, 1, 2))

    found, _ = searched(table(np.where(n[:, 2] > 6, 0, p)), rng, model, theta)
    assert found.ratio > 1
    assert found.state == 2
    assert found.probability < p[n[:, 2] > found.most].sum()
    for _ in range(5):
        assert searched(table(p), rng, model, theta)[0].ratio < 1


def test_missing_values_count_in_every_state():
    data = count_tails(states_of(np.array([[1, 1, -1], [0, 1, 0], [1, -1, 0]])))
    np.testing.assert_array_equal(data.above, [[3, 2, 0, 0], [3, 2, 1, 0]])
    np.testing.assert_allclose(data.margins[:, 1], [2 / 3, 1, 0])


def test_draws_are_spread_and_end_with_the_last():
    assert spread_draws(2, 100, 6) == [(0, 32), (0, 65), (0, 99), (1, 32), (1, 65), (1, 99)]
    assert spread_draws(4, 100, 3) == [(0, 99), (1, 99), (2, 99)]
    assert spread_draws(1, 3, 20) == [(0, 0), (0, 1), (0, 2)]


@pytest.fixture
def fitted(rng, monkeypatch):
    """A run of persistent chains, whose draws are then replaced by ones with a mode that the data do not have."""
    monkeypatch.setattr(prepared, "ModeSearch", lambda: SEARCH)
    states = few_ones(1000, rng)
    est = SpikeSlabMRF(method=ReversibleJump(n_particles=128, n_iterations=1), n_draws=10, n_warmup=0, n_chains=2,
                       random_state=0, progress=False)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        est.fit(states.values)
    draws = est.posterior_["posterior"]["theta"].values.copy()
    est.posterior_["posterior"]["theta"].values[:] = THETA + rng.normal(0, 1e-3, draws.shape)
    return est, states, draws


def test_fit_warns_and_results_keep_the_verdict(fitted, tmp_path, monkeypatch):
    est, states, _ = fitted
    seeds = np.random.SeedSequence(0)
    assert "mode_check" not in est.posterior_.children  # too short a run
    check_modes(est, [states], seeds, 0)
    assert "mode_check" not in est.posterior_.children  # exact moments
    check_modes(est, [states], seeds, 1e7)
    tree = est.posterior_
    check = tree["mode_check"]
    assert check["chain_number"].values.tolist() == [0] * 10 + [1] * 10
    assert (check["ratio"].values > 1).all()
    found = convergence.verdict(tree)
    assert found.grade == "bad"
    assert found.sentence.startswith("Unseen modes: in 20 of 20 draws checked, states with more than ")
    assert "use more than 128 particles, or use an exact method." in found.sentence
    with pytest.warns(ApproximatePosteriorWarning, match="^Unseen modes"):
        convergence.warn_unless_converged(tree)
    results.save(tree, tmp_path / "run")
    assert convergence.verdict(results.load(tmp_path / "run")) == found
    assert "Unseen modes: in 20 of 20" in write_report(tmp_path / "run", tmp_path / "run.html").read_text()


def test_the_check_changes_no_draw(fitted, monkeypatch):
    est, states, draws = fitted
    monkeypatch.setattr(prepared, "_SHARE", 1e3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        again = est.set_params(random_state=0).fit(states.values).posterior_
    np.testing.assert_array_equal(again["posterior"]["theta"].values, draws)
    assert "mode_check" in again.children
    assert again["mode_check"].attrs["ratio"] < 1


def test_the_models_of_all_groups_are_searched(rng, monkeypatch):
    """The draws of one group have a mode without data; the control has it in none."""
    monkeypatch.setattr(prepared, "ModeSearch", lambda: SEARCH)
    x, people = few_ones(2000, rng).values, np.repeat(["men", "women"], 1000)
    est = CompareMRF(
        method=ReversibleJump(n_particles=128), n_draws=4, n_warmup=0, n_chains=2, random_state=0, progress=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        est.fit(x, people)
    draws = est.posterior_["posterior"]["theta"].values
    independent = theta_of(np.log(x.mean() / (1 - x.mean())), 0.0)
    draws[:] = independent + rng.normal(0, 1e-3, draws.shape)
    draws[:, :, 1] += THETA - independent
    parts, seeds = [states_of(x[people == sex]) for sex in est.groups_], np.random.SeedSequence(0)
    check_modes(est, parts, seeds, 1e7)
    said = convergence.verdict(est.posterior_).sentence
    assert said.startswith("Unseen modes: in 8 of 8 draws checked of group women, states with more than ")
    assert "use more than 128 particles" in said
    draws[:, :, 1] = draws[:, :, 0]
    check_modes(est, parts, seeds, 1e7)
    assert est.posterior_["mode_check"].attrs["ratio"] < 1


@pytest.mark.parametrize("name", ["ordinal", "potts"])
@pytest.mark.parametrize("seen", [False, True])
def test_runs_of_many_states(name, seen, rng, monkeypatch):
    """Draws with a mode of the last level, as of chains that are kept from it; the control has rows in it, too.

    Ten items are mostly all at the first of three levels, or mostly all at the last with 0.3.
    """
    monkeypatch.setattr(prepared, "ModeSearch", lambda: SEARCH)
    graph, odds = graphs.complete(10), np.log(0.3 / 0.7) / 10
    if name == "ordinal":
        model, theta = Ordinal(graph, 3), np.append(np.full(45, 0.5), np.tile([odds / 2 - 4.5, odds - 9.0], 10))
    else:
        model, theta = Potts(graph, 3), np.append(np.full(45, 0.8), np.tile([-2.0, odds], 10))
    rows = np.zeros((1000, 10), np.int8)
    rows[: 300 * seen] = 2
    chains = start(1000, 10, rng, rows, 3)
    sweep(compiled_form(model, theta), chains, 50)
    x = to_states(chains, 1000, 3)
    assert abs(((x == 2).mean(axis=1) > 0.5).mean() - 0.3 * seen) < 0.01  # a barrier that few chains cross
    x[np.arange(30), np.arange(30) % 10] = np.repeat([0, 1, 2], 10)  # each item has all levels
    est = SpikeSlabMRF(model=name, method=ReversibleJump(n_particles=128, n_iterations=1), n_draws=4, n_warmup=0,
                       n_chains=2, random_state=0, progress=False)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        est.fit(x)
    assert "mode_check" not in est.posterior_.children
    est.posterior_["posterior"]["theta"].values[:] = theta
    check_modes(est, [states_of(x, (0, 1, 2))], np.random.SeedSequence(0), 1e7)
    check, found = est.posterior_["mode_check"], convergence.verdict(est.posterior_)
    assert (check.attrs["ratio"] > 1) != seen
    assert found.sentence.startswith("Unseen modes: in 8 of 8 draws checked, states with more than ") != seen
    assert seen or " nodes at 2 " in found.sentence, found.sentence
