"""Panels whose Z is followed by chains of each row before: the chains, their noise, and the posterior."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from bayesmrf import PanelMRF, load, save
from bayesmrf.errors import ApproximateScoreWarning, OptionError
from bayesmrf.estimators import panel_predictive
from bayesmrf.models.panel import Panel
from bayesmrf.posterior.conditionals.row_line import Decision, RowLine, row_log_density, row_penalty
from bayesmrf.posterior.edges.panel_edges import PanelKernel
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.states import row_chains
from bayesmrf.states.panel_tables import panel_tables
from bayesmrf.states.row_chains import RowChains, averages, first_chains
from tests.long import few
from tests.statistical.test_panel_kernel import log_weights

SIZES = (3, 2, 2)
PRIOR = SpikeSlab(Beta(1, 1), Cauchy(1.0))


def truth(model, strength=1.0):
    theta = np.zeros(model.n_features)
    d = model.n_nodes
    theta[: d * d] = (0.9 * np.eye(d) + 0.6 * np.eye(d, k=1)).ravel()
    theta[d * d] = strength
    theta[model.n_edges :] = -0.6
    return theta


def simulated(rng, model, theta, n_people, n_waves, own=0.0):
    """Return rows before and after transitions, the person of each, and first waves."""
    rows = [np.array([rng.integers(0, m, n_people) for m in model.sizes]).T]
    a = own * rng.standard_normal((n_people, 1)) * np.ones(model.n_nodes)
    for _ in range(n_waves - 1):
        w, states = log_weights(model, theta, rows[-1], a)
        p = np.exp(w - logsumexp(w, axis=-1, keepdims=True)).cumsum(axis=-1)
        rows.append(states[(p < rng.random((n_people, 1))).sum(axis=-1)])
    x = np.stack(rows, axis=1)
    d = model.n_nodes
    return x[:, :-1].reshape(-1, d), x[:, 1:].reshape(-1, d), np.repeat(np.arange(n_people), n_waves - 1), x[:, 0]


# The chains of a row.


def shares_after(rng, model, theta, each, n_sweeps, with_flips):
    """Return shares of states of each distinct row, by chains that start in one state, and by enumeration."""
    before = np.array([[0, 0, 0], [0, 1, 0]])
    tables = panel_tables(model, before, before, with_states=False)
    chains = RowChains(np.zeros((model.n_nodes, 2 * each), np.int8), first_chains(tables.n, each))
    own = np.zeros((2, model.n_nodes))
    for _ in range(n_sweeps):
        if with_flips:
            row_chains.flip_clusters(rng, chains, tables, theta, own)
        row_chains.sweep(rng, chains, tables, theta, own)
    w, states = log_weights(model, theta, tables.before.T, 0.0)
    found = [(chains.x.T[:, None] == states).all(axis=2)[rows].mean(axis=0)
             for rows in (slice(None, each), slice(each, None))]  # fmt: skip
    return np.array(found), np.exp(w - logsumexp(w, axis=1, keepdims=True))


def test_chains_have_the_distribution_of_a_row_with_two_modes(rng):
    """Control: without flips of clusters they stay in the mode in which they start."""
    model, each = Panel(("a", "b", "c"), SIZES, True), 20_000
    theta = truth(model)
    theta[model.n_edges - 3 : model.n_edges] = 5.0, 4.0, 9.0  # a-b, a-c, b-c
    theta[model.n_edges :] = -4.5, -9.4, -9.0, -9.0
    found, wanted = shares_after(rng, model, theta, each, 40, True)
    assert wanted.max() < 0.9
    z = np.abs(found - wanted) / np.sqrt(wanted * (1 - wanted) / each + 1e-6)
    assert z.max() < 7  # of 24 shares of independent chains
    control, _ = shares_after(rng, model, theta, each, 40, False)
    assert np.abs(control - wanted).max() > 0.2


def test_averages_and_noise_are_those_of_independent_chains(rng):
    """The penalty is the bias of the log ratio and half of its variance; both are of the chains that decide."""
    n, v = np.array([1.0, 1, 2, 3] * 10), rng.standard_normal(40)
    g, each, shift = np.array([0.0, 1.0, 2.0]), 32, 0.5
    first = first_chains(n, each)
    mean, errors, penalties = rng.dirichlet([2.0, 2, 2], 40), [], []
    row, exact = np.repeat(np.arange(40), np.diff(first)), RowLine(mean, n, v, g, 0.0, 0.0, 0.0, 0.0)
    for _ in range(1500):
        q = rng.gamma(5 * mean[row])
        q /= q.sum(axis=1, keepdims=True)  # Dirichlet, with this mean
        p = averages(q, first)
        line = RowLine(p[1], n, v, g, 0.0, 0.0, 0.0, 0.0)
        errors.append(row_log_density(shift, line) - row_log_density(shift, exact))
        penalties.append(row_penalty(shift, line, Decision(p[1], q, p[1].copy(), first)))
        np.testing.assert_allclose(p.mean(axis=0)[3], q[row == 3].mean(axis=0))
    wanted = np.mean(errors) + 0.5 * np.var(errors)
    assert np.mean(penalties) == pytest.approx(wanted, rel=0.2)
    assert abs(np.mean(penalties) / 2 - wanted) > 0.3 * wanted


# The posterior.


def run(rng, kernel, n_steps, n_runs):
    """Return means of parameters, of their squares, and of edges, by run."""
    found = []
    for _run in range(n_runs):
        state, draws = kernel.init(rng), []
        for _ in range(n_steps):
            state, info = kernel.step(rng, state)
            draws += [np.concatenate([info.theta, info.theta**2, info.included, info.intercept_sd])]
        found.append(np.mean(draws[n_steps // 10 :], axis=0))
    return np.array(found)


@pytest.mark.parametrize("own", few([False, True], True))
def test_posterior_is_that_of_tables_of_states(own, module_rng):
    """Means of parameters within 0.1 standard deviations, inclusions within 0.04, beyond their errors.

    Control: chains of another table, in which the rows of people are exchanged, differ.
    """
    model = Panel(("a", "b", "c"), SIZES, True)
    before, after, person, first = simulated(module_rng, model, truth(model), 50, 3, 0.8 * own)
    first = first - first.mean(axis=0) if own else np.zeros((0, 3))
    given = person if own else None
    exact = PanelKernel(panel_tables(model, before, after, given), first, PRIOR)
    chains = PanelKernel(panel_tables(model, before, after, given, with_states=False), first, PRIOR, 32)
    other = PanelKernel(
        panel_tables(model, np.roll(before, 2, axis=0), after, given, with_states=False), first, PRIOR, 32
    )
    a, b, c = (run(module_rng, k, n, r) for k, n, r in ((exact, 3000, 5), (chains, 1200, 4), (other, 300, 2)))
    f, e = model.n_features, model.n_edges
    sd = np.sqrt(a[:, f : 2 * f].mean(axis=0) - a[:, :f].mean(axis=0) ** 2)
    scale = np.concatenate([sd, sd * (1 + 2 * np.abs(a[:, :f].mean(axis=0))), np.ones(e), np.ones(3)])
    allowed = np.concatenate([np.full(f, 0.1), np.full(f, 0.2), np.full(e, 0.04), np.full(3, 0.1)]) * scale
    error = np.sqrt(a.var(axis=0, ddof=1) / len(a) + b.var(axis=0, ddof=1) / len(b))
    far = np.abs(a.mean(axis=0) - b.mean(axis=0)) - allowed
    assert (far / np.maximum(error, 1e-12)).max() < 7, (a.mean(axis=0), b.mean(axis=0))
    assert np.abs(a.mean(axis=0) - c.mean(axis=0))[2 * f : 2 * f + e].max() > 0.3


# The estimator.

QUICK = {"n_draws": 60, "n_warmup": 30, "n_chains": 2, "progress": False, "random_state": 1}


@pytest.fixture(scope="module")
def table(module_rng):
    model = Panel(("a", "b", "c"), SIZES, True)
    before, after, *_ = simulated(module_rng, model, truth(model), 120, 2)
    rows = [pd.DataFrame(x, columns=list("abc")).assign(id=range(120), t=t) for t, x in enumerate((before, after))]
    return pd.concat(rows, ignore_index=True)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_predictions_by_annealing_are_those_of_sums(table, monkeypatch):
    est = PanelMRF(within=True, method="chains", **QUICK).fit(table, "id", "t")
    rows, score = table[["a", "b", "c"]].iloc[:20], est.score(table, "id", "t")
    wanted = est.predict_next(rows)
    monkeypatch.setattr(panel_predictive, "_MOST", 0)
    # 100 draws of 16 chains: the standard error of a probability is below 0.5 / 40
    assert np.abs(est.predict_next(rows) - wanted).max() < 5 * 0.5 / 40
    assert est.score(table, "id", "t") == pytest.approx(score, abs=0.02)
    with pytest.raises(OptionError, match=r"within must be False where .*; compare models by score"):
        est.add_log_likelihood(table, "id", "t")
    with monkeypatch.context() as patched:
        for name, value in {"_CHAINS": 2, "_STEPS": 1, "_ROUGH": 0.002}.items():
            patched.setattr(panel_predictive, name, value)
        with pytest.warns(ApproximateScoreWarning, match="too large by about"):
            est.score(table, "id", "t")
    other = est.predict_next(rows.iloc[::-1])
    assert np.abs(other - wanted).max() > 0.1  # control


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_a_run_with_chains_is_stored_and_resumed(tmp_path, table):
    options = {"within": True, "method": "chains", "intercepts": "own"}
    est = PanelMRF(**options, **QUICK).fit(table, "id", "t")
    assert est.posterior_.attrs["kind"].startswith("approximate")
    assert (
        "log_likelihood" not in est.posterior_["sample_stats"].data_vars if "sample_stats" in est.posterior_ else True
    )
    assert "chains" in est.report(tmp_path / "r.html").read_text()
    save(est, tmp_path / "r_run")
    assert load(tmp_path / "r_run").score(table, "id", "t") == est.score(table, "id", "t")
    for _ in range(2):
        again = PanelMRF(**options, **QUICK, checkpoint=tmp_path / "run").fit(table, "id", "t")
        np.testing.assert_array_equal(again.theta_, est.theta_)
    assert PanelMRF(within=True, **QUICK).fit(table, "id", "t").posterior_.attrs["kind"] == "exact"


def test_tables_or_chains_are_chosen_by_the_number_of_states(rng):
    rows = rng.integers(0, 2, (400, 16))
    with pytest.raises(
        OptionError, match=r"method must be 'auto' or 'chains' where .* rows before times 65,536 states"
    ):
        PanelMRF(within=True, method="exact", **QUICK).check(rows)
    with pytest.raises(OptionError, match="method must be 'auto' or 'exact' without within=True, got 'chains'"):
        PanelMRF(method="chains", **QUICK).check(rows)
    with pytest.raises(OptionError, match="within must be False where 32 chains for each of 299,999 transitions"):
        PanelMRF(within=True, **QUICK).check(rng.integers(0, 2, (300_000, 16)))
    for size, n_chains in ((16, 32), (5, 0)):
        kernel = PanelMRF(within=True, **QUICK)._prepare(rng.integers(0, 2, (400, size)), None, None).kernel
        assert kernel.n_row_chains == n_chains
