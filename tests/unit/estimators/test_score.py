"""`score` is the mean log predictive density on every graph, so that models on different graphs can be compared."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from bayesmrf import RBM, BayesianMRF, GroupedMRF, MaximumLikelihoodMRF, SpikeSlabMRF, graphs, metrics
from bayesmrf.answers.predictions import mixture, normaliser, partly_seen
from bayesmrf.engines import Elimination, Tempered
from bayesmrf.errors import ApproximateScoreWarning, ConvergenceWarning
from bayesmrf.inference.elimination.engine import cost
from bayesmrf.models import Agreement
from tests.oracle.bounds import assert_estimate, assert_other_estimate

ENGINE = Elimination()


def out_of_reach(monkeypatch):
    """No graph is narrow enough for elimination."""
    monkeypatch.setattr(normaliser, "_MOST_BYTES", 1)


@pytest.fixture
def strong(rng):
    """A loop of four strong edges, and 300 states."""
    model = Agreement(graphs.cycle(4), fields=True)
    theta = np.array([1.5, 1.2, -1.2, -1.5, 0.3, 0, 0, -0.3])
    return model.graph, ENGINE.sample(model, theta, ENGINE.prepare(model), 300, rng)


def exact(est, X):
    model = est._model()
    return metrics.log_likelihood(model, est.theta_, X, ENGINE) / len(X)


def enumerated(model, thetas, X):
    """Log of the mean over thetas of p(x | theta) of each row, by the sum over all states."""
    states = np.array(list(product(range(model.n_states), repeat=model.graph.n_nodes)), dtype=np.int8)
    features = np.array([model.statistics(x[None]) for x in states])
    log_p = features @ thetas.T
    log_p -= np.logaddexp.reduce(log_p, axis=0)
    each = np.logaddexp.reduce(log_p, axis=1) - np.log(len(thetas))
    return each[X @ model.n_states ** np.arange(model.graph.n_nodes)[::-1]]


FEW = {"n_draws": 100, "n_warmup": 20, "n_chains": 2, "random_state": 0, "progress": False}
POSTERIORS = {
    "boltzmann": BayesianMRF(**FEW),
    "many states": BayesianMRF(model="potts", **FEW),
    "groups": GroupedMRF(**FEW),
    "groups of tables": GroupedMRF(model="symmetric", **FEW),
    "groups, absent edges": GroupedMRF(candidates="complete", fields="grouped", **FEW),
    "edges": SpikeSlabMRF(method="exact", **FEW),
}


def test_samples_of_many_draws_give_one_warning(strong, monkeypatch):
    """Two rounds are too few for the models of all draws."""
    graph, X = strong
    est = BayesianMRF(graph, model="ising", **FEW).fit(X)
    monkeypatch.setattr(partly_seen, "is_cheap", lambda *_: False)
    monkeypatch.setattr(mixture, "Tempered", lambda: Tempered(n_sweeps=2))
    with pytest.warns(ConvergenceWarning, match="of the samples came from independent nodes") as said:
        est.sample(300)
    assert len(said) == 1


def test_scores_warn_where_few_draws_count(rng):
    """Standard errors are those of independent sets of draws, and a row that one draw in ten explains is named."""
    est = BayesianMRF(graphs.path(2), **FEW).fit(rng.integers(0, 2, (40, 2)))
    draws = est.posterior_["posterior"]["theta"]
    sets, rare = [], np.array([[1, 1]])
    for _ in range(200):
        strength = np.where(rng.random(draws.shape[:2]) < 0.1, 2.0, -8.0)
        draws[:] = np.stack([strength, *np.zeros((2, *strength.shape))], axis=-1)
        each, error, away = est._mixture.log_predictive(np.array([[1, 1], [0, 0]]), "bayes")
        sets.append((each[0], error[0], each.mean(), mixture.error_of_mean(away)[0]))
    row, error, mean, of_mean = np.array(sets).T
    # The relative error of a standard deviation of 200 draws is 0.05, more as these have tails.
    assert abs(np.std(row) / error.mean() - 1) < 0.4
    assert abs(np.std(mean) / of_mean.mean() - 1) < 0.4
    with pytest.warns(
        ApproximateScoreWarning, match=r"^the log density of 1 of 2 rows has a standard error of up to 0"
    ):
        est.score_samples(np.array([[1, 1], [0, 0]]))
    with pytest.warns(ApproximateScoreWarning, match=r"^the score has a standard error.*average='mean'"):
        est.score(rare)
    draws[:] = 0.0  # control: equal draws have no error
    assert max(map(np.max, est._mixture.log_predictive(rare, "bayes")[1:])) < 1e-12
    est.score(rare)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")  # 15 rows
@pytest.mark.parametrize("name", POSTERIORS)
def test_the_score_is_averaged_over_draws(name, rng):
    """The log of the mean density over 100 of 200 draws; control: the density at the posterior mean is another."""
    m = 3 if name in ("many states", "groups of tables") else 2
    X = rng.integers(0, m, (15, 3))
    X[:m] = np.arange(m)[:, None]
    est = clone(POSTERIORS[name]).fit(X)
    draws = est.posterior_["posterior"]["theta"].values.reshape(200, -1)
    thetas = draws[np.unique(np.linspace(0, 199, 100).astype(int))]
    each = enumerated(est._model(), thetas, X)
    np.testing.assert_allclose(est.score_samples(X), each, rtol=1e-9)
    assert est.score(X) == pytest.approx(each.mean())
    weights = np.arange(15)
    assert est.score(X, sample_weight=weights) == pytest.approx(np.average(each, weights=weights))
    assert np.abs(est.score_samples(X, average="mean") - each).max() > 1e-3
    assert (est.score_kind_, est.log_z_error_) == ("log predictive", 0)


ORDER = ["no", "maybe", "yes"]


def categories(levels, ordered=True):
    dtype = pd.CategoricalDtype(levels, ordered=ordered)
    return lambda x: x.map(ORDER.__getitem__).astype(dtype)


FORMS = {  # of the table that is fitted, then of those that are scored
    "boltzmann": [lambda x: 2 * x - 1, lambda x: x, lambda x: x.astype(bool), lambda x: x.astype("Int64")],
    "ordinal": [categories(ORDER), categories(ORDER[::-1]), lambda x: x.map(ORDER.__getitem__)],
    "potts": [categories(ORDER), categories(ORDER[::-1]), categories(sorted(ORDER), ordered=False)],
}


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")  # few draws
@pytest.mark.parametrize("model", FORMS)
def test_scores_of_rows_in_another_form(model, rng):
    """Columns and categories in another order, other codings, and levels that new rows do not have."""
    m, names = 2 if model == "boltzmann" else 3, list("abc")
    states = np.array(list(product(range(m), repeat=3)))
    x = np.vstack([rng.integers(0, m, (20, 3)), states])
    first, *others = FORMS[model]
    est = BayesianMRF(model=model, **FEW).fit(first(pd.DataFrame(x, columns=names)))
    draws = est.posterior_["posterior"]["theta"].values.reshape(200, -1)
    each = enumerated(est._model(), draws[np.unique(np.linspace(0, 199, 100).astype(int))], states)
    for form in [first, *others]:
        new = form(pd.DataFrame(states, columns=names)[names[::-1]])
        np.testing.assert_allclose(est.score_samples(new), each, rtol=1e-9)
        np.testing.assert_allclose(est.score_samples(new[-1:]), each[-1:], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")  # of a machine that was changed
def test_log_z_is_that_of_the_draws_that_are_averaged(rng):
    """Also where they were changed after a score: draws dropped, or theta_ set."""
    X = rng.integers(0, 2, (30, 3))
    est = BayesianMRF(**FEW).fit(X)
    for average in ("bayes", "mean"):
        est.score(X, average=average)
    est.posterior_ = est.posterior_.isel(draw=slice(50, None))
    est.theta_ = 2 * est.theta_
    thetas = est.posterior_["posterior"]["theta"].values.reshape(100, -1)
    np.testing.assert_allclose(est.score_samples(X), enumerated(est._model(), thetas, X), rtol=1e-9)
    at = est.score_samples(X, average="mean")
    np.testing.assert_allclose(at, enumerated(est._model(), est.theta_[None], X), rtol=1e-9)
    machine = RBM(n_hidden=1, n_steps=5, random_state=0).fit(X)
    machine.score(X)
    machine.theta_ = machine.theta_ + 1
    assert np.exp(machine.score_samples(np.array(list(product((0, 1), repeat=3))))).sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["maximum likelihood", "boltzmann", "ising"])
def test_the_score_is_known_where_elimination_does_not_reach(kind, strong, monkeypatch):
    graph, X = strong
    if kind == "maximum likelihood":
        est = MaximumLikelihoodMRF(graph).fit(X)
        assert est.score(X) == pytest.approx(exact(est, X), abs=1e-9)
    else:
        est = BayesianMRF(graph, model=kind, n_draws=50, n_chains=2, random_state=0, progress=False).fit(X)
    what = "log likelihood" if kind == "maximum likelihood" else "log predictive"
    assert est.score_kind_ == what
    assert est.log_z_error_ == 0
    right = est.score(X)
    est._log_z = {}
    out_of_reach(monkeypatch)
    assert est.score_kind_ == f"{what}, log Z by annealed importance sampling"
    assert 0 < est.log_z_error_ < 0.1
    assert_estimate(est.score(X), right, est.log_z_error_)
    assert est.score(X) == est.score(X)
    # control: the pseudo-likelihood is another quantity
    pseudo = metrics.log_pseudo_likelihood(est._model(), est.theta_, X) / len(X)
    assert_other_estimate(pseudo, right, est.log_z_error_)


def test_models_on_two_graphs_are_in_the_same_order_by_either_way(strong, monkeypatch):
    """By the pseudo-likelihood on the wider graph alone, a comparison is of two quantities."""
    graph, X = strong
    path = graphs.path(4)
    wide, narrow = (MaximumLikelihoodMRF(g).fit(X) for g in (graph, path))
    right = exact(wide, X) - exact(narrow, X)
    assert right > 0
    monkeypatch.setattr(normaliser, "_MOST_BYTES", cost(path)[1])
    for est in (wide, narrow):
        est._log_z = {}
    assert wide.score_kind_ != narrow.score_kind_ == "log likelihood"
    assert_estimate(wide.score(X) - narrow.score(X), right, wide.log_z_error_)


def test_a_search_over_graphs_is_not_silent_where_log_z_is_not_known(strong, monkeypatch):
    graph, X = strong
    search = GridSearchCV(MaximumLikelihoodMRF(), {"graph": [graphs.path(4), graph]}, cv=2)
    search.fit(X)  # a warning would be an error
    assert search.best_params_["graph"] is graph
    out_of_reach(monkeypatch)
    rough = normaliser.annealed.forward
    monkeypatch.setattr(
        normaliser.annealed, "forward", lambda model, theta, rng, n, t: rough(model, 20 * theta, rng, 4, 2)
    )
    with pytest.warns(ApproximateScoreWarning, match=r"log Z, and .* differences between models are"):
        search.fit(X)


def test_the_mixture_of_edges_that_come_and_go(strong, monkeypatch):
    _, X = strong
    est = SpikeSlabMRF(method="exact", n_draws=100, n_chains=2, random_state=0, progress=False).fit(X)
    right = est.score(X)
    est._log_z = {}
    out_of_reach(monkeypatch)
    assert abs(est.score(X) - right) < 0.05


def test_log_z_of_many_states_is_annealed(rng, monkeypatch):
    X = rng.integers(0, 3, (40, 3))
    est = BayesianMRF(model="potts", n_draws=10, n_chains=2, progress=False).fit(X)
    right = est.score(X)
    est._log_z = {}
    out_of_reach(monkeypatch)
    assert abs(est.score(X) - right) < 0.05
