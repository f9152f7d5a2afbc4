"""`score` is the mean log likelihood on every graph, so that models on different graphs can be compared."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from bayesmrf import BayesianMRF, MaximumLikelihoodMRF, SpikeSlabMRF, graphs, metrics
from bayesmrf.errors import ApproximateScoreWarning, OptionError
from bayesmrf.estimators import normaliser
from bayesmrf.inference.elimination.two_states import Elimination, cost
from bayesmrf.models.agreement import Agreement

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


@pytest.mark.parametrize("kind", ["maximum likelihood", "boltzmann", "ising"])
def test_the_score_is_the_likelihood_where_elimination_does_not_reach(kind, strong, monkeypatch):
    graph, X = strong
    if kind == "maximum likelihood":
        est = MaximumLikelihoodMRF(graph).fit(X)
    else:
        est = BayesianMRF(graph, model=kind, n_draws=50, n_chains=2, random_state=0, progress=False).fit(X)
    assert est.score_kind_ == "log likelihood"
    assert est.log_z_error_ == 0
    assert est.score(X) == pytest.approx(exact(est, X), abs=1e-9)
    est._log_z = None
    out_of_reach(monkeypatch)
    assert est.score_kind_ == "log likelihood, log Z by annealed importance sampling"
    assert 0 < est.log_z_error_ < 0.1
    assert abs(est.score(X) - exact(est, X)) < 6 * est.log_z_error_
    assert est.score(X) == est.score(X)
    # control: the pseudo-likelihood is another quantity
    pseudo = metrics.log_pseudo_likelihood(est._model(), est.theta_, X) / len(X)
    assert abs(pseudo - exact(est, X)) > 6 * est.log_z_error_


def test_models_on_two_graphs_are_in_the_same_order_by_either_way(strong, monkeypatch):
    """By the pseudo-likelihood on the wider graph alone, a comparison is of two quantities."""
    graph, X = strong
    path = graphs.path(4)
    wide, narrow = (MaximumLikelihoodMRF(g).fit(X) for g in (graph, path))
    right = exact(wide, X) - exact(narrow, X)
    assert right > 0
    monkeypatch.setattr(normaliser, "_MOST_BYTES", cost(path)[1])
    for est in (wide, narrow):
        est._log_z = None
    assert wide.score_kind_ != narrow.score_kind_ == "log likelihood"
    assert abs(wide.score(X) - narrow.score(X) - right) < 6 * wide.log_z_error_


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
    with pytest.warns(ApproximateScoreWarning, match="log Z has a standard error of .* differences between models are"):
        search.fit(X)


def test_the_mixture_of_edges_that_come_and_go(strong, monkeypatch):
    _, X = strong
    est = SpikeSlabMRF(method="exact", n_draws=100, n_chains=2, random_state=0, progress=False).fit(X)
    right = est.score(X)
    out_of_reach(monkeypatch)
    assert abs(est.score(X) - right) < 0.05


def test_many_states_out_of_reach_are_refused(rng, monkeypatch):
    X = rng.integers(0, 3, (40, 3))
    est = BayesianMRF(model="potts", n_draws=10, n_chains=2, progress=False).fit(X)
    assert np.isfinite(est.score(X))
    est._log_z = None
    out_of_reach(monkeypatch)
    with pytest.raises(OptionError, match=r"^score needs log Z, which is out of reach for nodes with 3 states"):
        est.score(X)
