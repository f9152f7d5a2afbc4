"""Nodes that hardly any row shows: mirrored parameters are the same distribution, and chains find both modes."""

import itertools
import warnings

import numpy as np
import pytest

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, convergence, graphs
from bayesmrf.engines import Phases
from bayesmrf.errors import BayesMRFWarning, ConvergenceWarning
from bayesmrf.inference.chains import Persistent
from bayesmrf.inference.elimination.two_states import Elimination
from bayesmrf.likelihood import Hidden, Likelihood
from bayesmrf.models.agreement import Agreement
from bayesmrf.models.boltzmann import Boltzmann
from bayesmrf.models.clamped import Clamped
from bayesmrf.models.ising import Ising
from bayesmrf.models.mirror import can_mirror, mirrored
from bayesmrf.models.ordinal import Ordinal
from bayesmrf.models.potts import Potts
from bayesmrf.posterior.mirror import Mirror
from bayesmrf.priors import Cauchy, Normal
from tests.bounds import assert_mean, assert_other_mean

GRAPH = graphs.Graph(4, np.array([[0, 1], [2, 1], [1, 3], [0, 3]]))
SIZES = (2, 4, 3, 3)
MODELS = {
    "boltzmann": Boltzmann(GRAPH),
    "ising": Ising(GRAPH),
    "ising without fields": Ising(GRAPH, False),
    "agreement": Agreement(GRAPH, True),
    "agreement without fields": Agreement(GRAPH),
    "ordinal": Ordinal(GRAPH, 4, True, SIZES),
}
STAR = [("a", "d"), ("b", "d"), ("c", "d")]


def probabilities(model, theta):
    """Each state, and its probability."""
    sizes = SIZES if isinstance(model, Ordinal) else [2] * 4
    states = np.array(list(itertools.product(*map(range, sizes))), np.int8)
    log_weight = np.array([model.statistics(row[None]) @ theta for row in states])
    p = np.exp(log_weight - log_weight.max())
    return states, p / p.sum()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("node", [1, 3])
def test_mirrored_parameters_are_the_distribution_of_reversed_states(name, node, rng):
    model = MODELS[name]
    assert can_mirror(model)
    theta = rng.normal(size=model.n_features)
    new = mirrored(model, theta, node)
    np.testing.assert_allclose(mirrored(model, new, node), theta, atol=1e-12)
    assert np.abs(new - theta).max() > 0.1
    (states, p), (_, q) = (probabilities(model, t) for t in (theta, new))
    sizes = states.max(axis=0) + 1
    reverse = states.copy()
    reverse[:, node] = sizes[node] - 1 - states[:, node]
    np.testing.assert_allclose(q[np.ravel_multi_index(reverse.T, sizes)], p, atol=1e-12)


def test_models_without_mirrors():
    """Boltzmann machines need biases; couplings of a Potts model do not reverse; scores may be unequally far apart."""
    odd = [Boltzmann(GRAPH, False), Potts(GRAPH, 3), Ordinal(GRAPH, 3, True, None, None, (0, 1, 3))]
    assert not any(map(can_mirror, odd))


def test_moves_have_the_posterior_of_two_points(rng):
    """Moves of one node alone visit two points, with probabilities proportional to the posterior."""
    model = Boltzmann(graphs.complete(4))
    x = rng.integers(0, 2, (40, 4)).astype(np.int8)
    x[3:, 2] = -1
    engine = Elimination()
    data = Likelihood(model, np.zeros(model.n_features), 40, engine, Hidden(Clamped(model, x), engine))
    theta = 0.3 * rng.normal(size=model.n_features)
    there = [theta, mirrored(model, theta, 2)]

    def share(prior):
        log_p = [data.evaluate(t, "log_z").log_likelihood + prior.log_density(t).sum() for t in there]
        return 1 / (1 + np.exp(log_p[1] - log_p[0]))

    move, at, seen = Mirror(data, Normal(0.4), (2,)), theta, []
    for _ in range(4000):
        at = move(at, rng)
        seen.append(np.allclose(at, theta))
    assert_mean(np.array(seen, float)[None], share(Normal(0.4)))
    assert_other_mean(np.array(seen, float)[None], share(Normal(0.4)) + 0.15)


def answers(n=100, seed=1):
    """Three columns that agree, and a fourth with a yes and a no, both where all others are yes.

    To exchange yes and no of the fourth column changes nothing: each sign of its edges has the probability 1/2.
    """
    rng = np.random.default_rng(seed)
    x = np.where(rng.random((n, 4)) < 0.85, rng.random((n, 1)) < 0.5, rng.random((n, 4)) < 0.5).astype(float)
    x[:, 3] = np.nan
    x[:2] = 1
    x[1, 3] = 0
    return x


def named(x):
    import pandas as pd

    return pd.DataFrame(x, columns=list("abcd"))


def fitted(estimator, x, **options):
    estimator.set_params(random_state=0, progress=False, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesMRFWarning)
        return estimator.fit(named(x))


EXACT = {
    "gibbs": lambda: BayesianMRF(STAR, model="ising", kernel="gibbs"),
    "hamiltonian": lambda: BayesianMRF(STAR, model="ising", kernel="hamiltonian"),
    "metropolis": lambda: BayesianMRF(STAR, model="ising", kernel="metropolis"),
    "cauchy": lambda: BayesianMRF(STAR, model="ising", prior=Cauchy(1.0)),
}


@pytest.mark.parametrize("name", EXACT)
def test_both_signs_are_found(name):
    est = fitted(EXACT[name](), answers(), n_draws=200, n_warmup=100)
    weights = est.posterior_["posterior"]["theta"].values[:, :, 0]
    assert np.abs((weights > 0).mean(axis=1) - 0.5).max() < 0.1
    assert np.abs(weights).mean() > 0.3
    assert abs(est.missing_["probability"].mean() - 0.5) < 0.1
    assert "Missing" not in convergence.verdict(est.posterior_).sentence


def test_one_sign_is_found_without_mirrors(monkeypatch):
    """The control: each chain keeps a sign, and nothing is said."""
    monkeypatch.setattr("bayesmrf.estimators.rarely_observed.FEW", 0)
    est = fitted(EXACT["gibbs"](), answers(), n_draws=400, n_warmup=200)
    shares = (est.posterior_["posterior"]["theta"].values[:, :, 0] > 0).mean(axis=1)
    assert np.isin(shares, (0, 1)).all()
    assert "Missing" not in convergence.verdict(est.posterior_).sentence


def test_edges_that_may_be_absent_have_both_signs():
    """Of a Boltzmann machine, whose biases change with the signs; they have a nearly flat prior."""
    est = fitted(SpikeSlabMRF(STAR, method="exact"), answers(), n_draws=600, n_warmup=200)
    weights = est.posterior_["posterior"]["theta"].values[:, :, 0]
    assert np.abs((weights > 0).mean() - (weights < 0).mean()) < 0.2
    assert "Missing" not in convergence.verdict(est.posterior_).sentence


SHORT = {"n_draws": 30, "n_warmup": 10, "n_chains": 2}


@pytest.mark.parametrize(
    "estimator",
    [
        GroupedMRF(STAR),
        BayesianMRF(STAR, kernel="langevin"),
        BayesianMRF(STAR, ties="edges"),
        SpikeSlabMRF(STAR, method="one-edge"),
    ],
    ids=["groups", "langevin", "ties", "one-edge"],
)
def test_what_has_no_mirrors_says_so(estimator):
    est = fitted(estimator, answers(), **SHORT)
    found = convergence.verdict(est.posterior_)
    assert found.grade == "bad"
    assert found.sentence.startswith("Missing values: fewer than 30 rows have a value of d, which may be too few for")
    x = answers()
    x[:60, 3] = x[:60, 0]
    assert "Missing" not in convergence.verdict(fitted(estimator, x, **SHORT).posterior_).sentence


def test_the_mirror_of_gibbs_has_its_tapered_prior():
    """Scans multiply a Cauchy prior by a wide normal density, and biases change with a mirror."""
    est = BayesianMRF(STAR, model="boltzmann", prior=Cauchy(1.0), kernel="gibbs")
    density = est._prepare(named(answers()), None).kernel.mirror.prior
    theta = np.array([30.0, -2.0])
    np.testing.assert_allclose(density.log_density(theta), Cauchy(1.0).log_density(theta) - theta**2 / (2 * 50**2))


@pytest.mark.parametrize("engine", [None, Persistent(64), "persistent"])
def test_chains_of_hidden_entries_have_no_ladder(engine):
    """Its weights follow theta, and hidden entries are drawn at theta."""
    est = BayesianMRF(STAR, kernel="exchange", engine=Phases("exact", hidden=engine))
    found = est._prepare(named(answers()), None).likelihood.hidden.engine
    assert not isinstance(found, Persistent) or not found.tempered
    wide = SpikeSlabMRF("complete", method="one-edge")
    x = np.where(np.random.default_rng(0).random((40, 24)) < 0.7, np.nan, np.arange(40)[:, None] % 2)
    assert not wide._prepare(x)[1].hidden.engine.tempered


def test_fit_of_groups_of_people_warns():
    x = named(answers())
    x.loc[2:3, "d"] = [1, 0]
    est = CompareMRF(random_state=0, progress=False, **SHORT)
    with pytest.warns(ConvergenceWarning, match="^Missing values: fewer than 30 rows have a value of d, which may be"):
        est.fit(x, np.arange(100) // 2 % 2)
