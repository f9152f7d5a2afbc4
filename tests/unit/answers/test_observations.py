"""Log likelihoods of persons, leave-one-out and log priors: against sums over all states, refits and integrals."""

from functools import partial

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from scipy.special import logsumexp

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF
from bayesmrf.answers.loo import compute as loo
from bayesmrf.answers.predictions.normaliser import Normaliser
from bayesmrf.errors import ApproximateScoreWarning, OptionError
from bayesmrf.posterior.edges.differences import contrasts
from bayesmrf.priors import CAUCHY_TAPER, Beta, Cauchy, Gamma, LogisticBeta, Moment, Normal, SpikeSlab, WeightsAndBiases
from bayesmrf.results.log_prior import Present, log_slab, mean_log, normalised_slab
from tests.oracle import spike_slab as spike_slab_oracle
from tests.oracle.states import all_states

QUICK = {"n_draws": 60, "n_warmup": 30, "n_chains": 2, "progress": False, "random_state": 2, "n_jobs": 1}
PRIOR = SpikeSlab(density=Beta(1.0, 2.0), slab=Cauchy(0.8), bias_scale=2.0)
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")


@pytest.fixture(scope="module")
def answers():
    rng = np.random.default_rng(7)
    states = all_states(3)
    p = np.exp(1.2 * states[:, 0] * states[:, 1] - 0.8 * states[:, 1] * states[:, 2] - 0.2 * states.sum(axis=1))
    return pd.DataFrame(states[rng.choice(8, 60, p=p / p.sum())].astype(float), columns=list("abc"))


def log_p(theta, rows):
    """Sums over all states with the values of each row."""
    states = all_states(3).astype(float)
    f = np.concatenate([states[:, [0, 0, 1]] * states[:, [1, 2, 2]], states], axis=1)
    energy = theta @ f.T
    fits = (np.isnan(rows)[:, None] | (rows[:, None] == states)).all(axis=2)
    return np.array([logsumexp(energy[..., fit], axis=-1) for fit in fits]).T - logsumexp(energy, axis=-1)[:, None]


def thetas(est, group=None):
    theta = est.posterior_["posterior"]["theta"].values
    theta = theta if group is None else theta[:, :, group]
    return theta.reshape(-1, theta.shape[-1])


@pytest.mark.parametrize("kind", ["edges", "parameters", "groups"])
def test_log_likelihoods_are_sums_over_states(kind, answers, tmp_path):
    est = {
        "edges": SpikeSlabMRF(prior=PRIOR, model="boltzmann", **QUICK),
        "parameters": BayesianMRF(model="boltzmann", **QUICK),
        "groups": GroupedMRF(candidates="complete", method="exact", **QUICK),
    }[kind]
    est.fit(answers)
    X, weights = answers.iloc[:12].copy(), np.array([1, 2, 0, 3] * 3)
    X.iloc[0, 1] = X.iloc[3, 0] = X.iloc[3, 2] = np.nan
    table = est.add_log_likelihood(X, weights)
    found = est.posterior_["log_likelihood"]["answers"]
    assert found.dims == ("chain", "draw", "person")
    np.testing.assert_array_equal(found["row"], np.repeat(np.arange(12), weights))
    if kind != "groups":  # agreements are another coding
        exact = np.repeat(log_p(thetas(est), X.to_numpy()), weights, axis=1)
        np.testing.assert_allclose(found.values.reshape(exact.shape), exact, atol=1e-10)
    normaliser = est.posterior_["normaliser"]
    assert (normaliser["log_z_error"] == 0).all()
    by_arviz = arviz_stats.loo(est.posterior_, reff=1.0)
    assert table["persons"].item() == by_arviz.n_data_points == 18
    assert table["elpd"].item() == pytest.approx(by_arviz.elpd, abs=0.3)
    assert table["se"].item() == pytest.approx(by_arviz.se, rel=0.05)
    bayesmrf.results.save(est, tmp_path / "r_run")
    again = bayesmrf.load(tmp_path / "r_run")
    pd.testing.assert_frame_equal(again.table("loo"), table)
    assert "How well are persons predicted?" in again.report(tmp_path / "r.html").read_text()


def test_one_of_many_persons_with_the_same_answers_is_left_out(answers):
    """Refits without one person of each pattern; without all persons of the pattern, they say something else."""
    options = {"prior": PRIOR, "method": "exact", "n_draws": 4000, "n_warmup": 50, "progress": False, "n_jobs": 1}
    count = answers.groupby(list("abc")).size().rename("n").reset_index()
    X, n = count[list("abc")], count["n"].to_numpy()
    est = SpikeSlabMRF(random_state=1, n_chains=2, **options).fit(X, sample_weight=n)
    est.add_log_likelihood(X, n)
    loo = est.posterior_["loo"]["elpd"].values
    for i in (int(n.argmax()), int(n.argmin())):
        for left_out, agree in ((1, True), (int(n[i]), n[i] == 1)):
            rest = n - left_out * (np.arange(len(n)) == i)
            refit = SpikeSlabMRF(random_state=2, n_chains=2, **options).fit(X, sample_weight=rest)
            away = abs(refit.score_samples(X)[i] - loo[i])  # of 100 draws
            assert away < 0.1 if agree else away > 0.2


def test_each_person_has_the_network_of_its_group(answers):
    groups = np.repeat(["h", "g"], 30)
    est = CompareMRF(model="boltzmann", **QUICK).fit(answers, groups)
    est.add_log_likelihood(answers, groups)
    found = est.posterior_["log_likelihood"]["answers"].values.reshape(120, 60)
    rows = answers.to_numpy()
    np.testing.assert_allclose(found[:, 30:], log_p(thetas(est, 0), rows[30:]), atol=1e-10)
    np.testing.assert_allclose(found[:, :30], log_p(thetas(est, 1), rows[:30]), atol=1e-10)
    assert est.posterior_["normaliser"]["log_z"].dims == ("chain", "draw", "group")
    first = est.add_log_likelihood(answers, groups, n_draws=20)
    assert est.posterior_["log_likelihood"].sizes["draw"] == 20
    assert first["persons"].item() == 60


def test_the_error_of_log_z_counts_for_each_person(answers, monkeypatch, rng):
    """A noise of log Z, common to all persons, moves their sum by as much as the table says."""
    est = SpikeSlabMRF(prior=PRIOR, **QUICK).fit(answers)
    exact = est.add_log_likelihood(answers)["elpd"].item()
    noise = 0.4

    def noisy(model, theta, *_):
        right = real(model, theta)
        return Normaliser(right.log_z + noise * rng.standard_normal(), noise, "")

    real = loo.normaliser
    monkeypatch.setattr(loo, "normaliser", noisy)
    with pytest.warns(ApproximateScoreWarning, match="nats"):
        tables = [est.add_log_likelihood(answers) for _ in range(30)]
    claimed = tables[0]["log_z_error"].item()
    assert claimed == pytest.approx(60 * noise / np.sqrt(120))
    spread = np.std([t["elpd"].item() for t in tables], ddof=1)
    assert 0.4 < spread / claimed < 1.8  # sd of the ratio 0.13; importance weights add to it
    assert abs(np.mean([t["elpd"].item() for t in tables]) - exact) < 60 * noise**2 + 5 * claimed / np.sqrt(30)


def test_correct_predictions(answers):
    est = SpikeSlabMRF(prior=PRIOR, **QUICK).fit(answers)
    X, weights = answers.iloc[:20].copy(), np.arange(20)
    X.iloc[5, 1] = np.nan
    est.add_log_likelihood(X, weights)
    table = est.table("prediction").set_index("node")
    seen = X["b"].notna().to_numpy()
    likely = est.predict_conditional(X, ["b"]).argmax(axis=1)
    right = (likely == X["b"].to_numpy())[seen]
    w = weights[seen]
    assert table.loc["b", "correct"] == pytest.approx(w[right].sum() / w.sum())
    ones = (w * X["b"][seen]).sum() / w.sum()
    assert table.loc["b", "base_rate"] == pytest.approx(max(ones, 1 - ones))


@pytest.mark.parametrize("slab", [Cauchy(0.8), Normal(1.4), Gamma(2.0, 3.0)])
@pytest.mark.parametrize("density", [0.3, Beta(1.0, 2.0)])
def test_log_priors_are_those_of_the_terms(slab, density, answers):
    prior = SpikeSlab(density=density, slab=slab, bias_scale=2.0)
    est = SpikeSlabMRF(prior=prior, method="exact", model="boltzmann", **QUICK).fit(answers)
    est.add_log_prior()
    found = {name: v.values.ravel() for name, v in est.posterior_["log_prior"].data_vars.items()}
    theta = thetas(est)
    k = (theta[:, :3] != 0).sum(axis=1)
    np.testing.assert_allclose(found["density"], [spike_slab_oracle.log_structure(t != 0, prior) for t in theta[:, :3]])
    weights = [spike_slab_oracle.log_weights_prior(t[:3][t[:3] != 0], prior) for t in theta]
    means = np.array([mean_of_log(slab, i) for i in range(4)])
    np.testing.assert_allclose(found["slab"], weights - means[k], atol=1e-9)
    biases = stats.norm.logpdf(theta[:, 3:], scale=2.0).sum(axis=1)
    np.testing.assert_allclose(np.diff(found["biases"]), np.diff(biases), atol=1e-9)


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("slab", [Cauchy(0.8), Normal(1.4), Gamma(2.0, 3.0), Moment(0.6)])
def test_a_power_of_the_slab_keeps_the_prior_odds_of_an_edge(slab, size):
    """Up to the square of the power less 1; that of the density itself does not."""

    def total(power, of_slab):
        def shell(x):
            r = np.exp(x)
            present = Present(np.zeros(1, dtype=int), np.array([r * r]), np.array([size]))
            area = 2 * np.pi if size == 2 else 2.0
            return (
                area * r**size * float(np.exp(log_slab(slab, present, 1) + (power - 1) * of_slab(slab, present, 1))[0])
            )

        return integrate.quad(shell, -25, np.log(20 * CAUCHY_TAPER), limit=400, points=[-5, 0, 3])[0]

    assert total(1.0, log_slab) == pytest.approx(1, abs=1e-3)
    for power in (0.99, 1.01):
        assert abs(np.log(total(power, normalised_slab))) < 1e-3
        assert abs(np.log(total(power, log_slab))) > 5e-3


def mean_of_log(slab, n, size=1):
    """Of n edges of some parameters."""
    return slab.mean_logs(partial(mean_log, slab), Present(np.zeros(n, int), np.ones(n), np.full(n, size)), 1)[0]


def test_means_of_logs_are_entropies():
    assert mean_of_log(Normal(1.7), 3) == pytest.approx(-3 * stats.norm(scale=1.7).entropy(), rel=1e-6)
    assert mean_of_log(Normal(1.7), 1, 2) == pytest.approx(-2 * stats.norm(scale=1.7).entropy(), rel=1e-6)
    assert mean_of_log(Cauchy(0.01), 1) == pytest.approx(-np.log(4 * np.pi * 0.01), abs=5e-3)  # hardly tapered
    t = stats.t(4.0, scale=np.sqrt(3.0 / 2.0))
    assert mean_of_log(Gamma(2.0, 3.0), 1) == pytest.approx(-t.entropy(), rel=1e-6)


@pytest.mark.parametrize("baseline", ["slab", "spike-slab"])
@pytest.mark.parametrize("biases", ["free", "slab"])
def test_log_priors_of_differences(baseline, biases, answers):
    groups = np.repeat(["g", "h", "i"], 20)
    prior = SpikeSlab(density=0.4, slab=Normal(0.9), bias_scale=2.0)
    est = CompareMRF(prior=prior, baseline=baseline, biases=biases, model="boltzmann", **QUICK).fit(answers, groups)
    est.add_log_prior()
    found = {name: v.values.ravel() for name, v in est.posterior_["log_prior"].data_vars.items()}
    theta = est.posterior_["posterior"]["theta"].values.reshape(-1, 3, 6)
    there = est.posterior_["posterior"]["included"].values.reshape(-1, 3) == 1
    delta = 2 * np.einsum("tk,ntf->nkf", contrasts([20, 20, 20]), theta)
    normal = stats.norm(scale=0.9)
    each = normal.logpdf(delta).sum(axis=1) + 2 * normal.entropy()
    n = 3 if biases == "free" else 6
    each[:, :3] *= there
    np.testing.assert_allclose(found["slab"], each[:, :n].sum(axis=1), atol=1e-8)
    k = there.sum(axis=1)
    np.testing.assert_allclose(found["density"], k * np.log(0.4) + (3 - k) * np.log(0.6))
    b = theta[:, :, :3].mean(axis=1)
    own = normal.logpdf(b) + normal.entropy()
    if baseline == "slab":
        np.testing.assert_allclose(found["baseline"], own.sum(axis=1), atol=1e-8)
    else:
        exists = np.abs(b) > 1e-9
        assert not exists.all()
        np.testing.assert_allclose(found["baseline"], (own * exists).sum(axis=1), atol=1e-8)
        uniform = SpikeSlab(density=Beta(1.0, 1.0))
        graph = [spike_slab_oracle.log_structure(there, uniform) for there in exists]
        np.testing.assert_allclose(found["baseline_density"], graph)
    nodes = theta[:, :, 3:] if biases == "free" else theta[:, :, 3:].mean(axis=1)
    exact = stats.norm.logpdf(nodes, scale=2.0).reshape(len(theta), -1).sum(axis=1)
    np.testing.assert_allclose(np.diff(found["biases"]), np.diff(exact), atol=1e-8)


def test_log_priors_of_parameters_and_power_scaling(answers):
    est = BayesianMRF(prior=WeightsAndBiases(0.7, 2.0), model="boltzmann", **QUICK).fit(answers)
    est.add_log_prior()
    theta = thetas(est)
    for name, part, scale in (("weights", theta[:, :3], 0.7), ("biases", theta[:, 3:], 2.0)):
        found = est.posterior_["log_prior"][name].values.ravel()
        np.testing.assert_allclose(np.diff(found), np.diff(stats.norm.logpdf(part, scale=scale).sum(axis=1)))
    est.add_log_likelihood(answers)
    assert len(arviz_stats.psense_summary(est.posterior_, var_names=["theta"])) == 6
    beta = SpikeSlabMRF(prior=SpikeSlab(biases=LogisticBeta(0.5, 0.5)), method="exact", **QUICK).fit(answers)
    beta.add_log_prior()
    beta.add_log_likelihood(answers)
    assert len(arviz_stats.psense_summary(beta.posterior_, var_names=["n_edges", "density"], filter_vars="like")) >= 1
    with pytest.raises(OptionError, match="groups of edges"):
        GroupedMRF(candidates="complete", method="exact", **QUICK).fit(answers).add_log_prior()
