"""The four estimators of posteriors have the same methods; predictions and intervals are those of enumeration."""

from inspect import signature
from itertools import product

import numpy as np
import pandas as pd
import pytest

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF
from bayesmrf.errors import DataError, OptionError

pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
QUICK = {"n_draws": 40, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 1}
KINDS = (BayesianMRF, SpikeSlabMRF, GroupedMRF, CompareMRF)
FACE = {
    "fit": ["X", "sample_weight", "survey_weight"],
    "check": ["X", "sample_weight", "survey_weight"],
    "load": ["path"],
    "table": ["name", "probability", "edge"],
    "matrix": ["column"],
    "plot": ["kind", "path", "options"],
    "report": ["path", "overwrite", "to", "nodes"],
    "methods_text": [],
    "export": ["out", "to", "overwrite", "spreadsheet_safe"],
    "interval": ["probability"],
    "statistic": ["function", "of", "name"],
    "statistics": ["names", "communities", "probability", "between", "n_draws"],
    "strength": [],
    "correlation": [],
    "sample": ["n_samples", "random_state", "average", "clamped"],
    "score": ["X", "sample_weight", "average", "clamped"],
    "score_samples": ["X", "average", "clamped"],
    "predict_conditional": ["X", "nodes", "average"],
    "conditional_log_likelihood": ["X", "nodes", "average"],
    "predictive_checks": ["X", "sample_weight", "random_state"],
    "add_log_likelihood": ["X", "sample_weight", "n_draws"],
    "add_log_prior": [],
    "probability": ["statement", "n_prior", "random_state"],
    "sensitivity": ["X", "sample_weight", "checkpoint", "survey_weight"],
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_all_have_the_same_methods(kind):
    """Of several groups of people, each row has a label as well."""
    more = {"self", "y", "groups", "group"}
    found = {name: [p for p in signature(getattr(kind, name)).parameters if p not in more] for name in FACE}
    assert found == FACE
    public = {name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name))}
    scikit_learn = {"get_params", "set_params", "get_metadata_routing", "set_fit_request", "set_score_request"}
    own = {"co_clustering", "compare", "evidence_table", *scikit_learn}
    assert public - own - {name for name in public if name.endswith("_request")} == {*FACE}


CASES = {
    "parameters": (BayesianMRF(kernel="metropolis"), 2),
    "parameters, agreement": (BayesianMRF(model="agreement", kernel="metropolis"), 2),
    "parameters, potts": (BayesianMRF(model="potts"), 3),
    "groups": (GroupedMRF(), 2),
    "groups, absent edges": (GroupedMRF(candidates="complete", fields=False), 2),
    "groups of tables": (GroupedMRF(model="symmetric"), 3),
    "differences": (CompareMRF(baseline="spike-slab"), 2),
    "differences, levels": (CompareMRF(), 3),
    "three groups": (CompareMRF(), 2),
}


@pytest.fixture(scope="module", params=CASES)
def fitted(request, module_rng):
    """An estimator, its table, the group of each row, and the draws of theta for each row's group."""
    est, m = CASES[request.param]
    latent = module_rng.standard_normal((120, 1)) + module_rng.standard_normal((120, 4))
    table = pd.DataFrame(np.digitize(latent, np.linspace(-1, 1, m - 1) if m > 2 else [0.0]), columns=list("abcd"))
    n_groups = 3 if request.param == "three groups" else 2
    people = np.arange(120) % n_groups
    is_grouped = isinstance(est, CompareMRF)
    table.loc[people == 1, "a"] = m - 1 - table.loc[people == 1, "a"]
    est = est.set_params(**QUICK).fit(*((table, people) if is_grouped else (table,)))
    theta = est.posterior_["posterior"]["theta"].values
    theta = theta.reshape(80, -1, theta.shape[-1])[:, people if is_grouped else np.zeros(120, dtype=int)]
    return est, table, (people,) if is_grouped else (), theta


def conditional(model, thetas, row, nodes, m):
    """The mean over thetas of the probability of each joint state of some nodes given the others of a row."""
    every = np.array(list(product(range(m), repeat=len(nodes))))
    full = np.repeat(row[None], len(every), axis=0).astype(np.int8)
    full[:, nodes] = every
    log_p = thetas @ np.array([model.statistics(x[None]) for x in full]).T
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    return (p / p.sum(axis=1, keepdims=True)).mean(axis=0)


def test_conditional_probabilities_are_those_of_enumeration(fitted):
    """Control: those of the draws of another row's group, or of other draws, are others."""
    est, table, people, theta = fitted
    model, m, rows = est._model(), est._model().n_states, table.to_numpy()
    nodes = [2, 0]
    found = est.predict_conditional(table, *people, ["c", "a"])
    assert found.shape == (120, m**2)
    wanted = np.array([conditional(model, theta[:, i], rows[i], nodes, m) for i in range(120)])
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    other = theta[:, 1] if people else theta[:40, 0]
    assert np.abs(conditional(model, other, rows[0], nodes, m) - found[0]).max() > 1e-4
    log_p = est.conditional_log_likelihood(table, *people, nodes)
    np.testing.assert_allclose(log_p, np.log(wanted[np.arange(120), m * rows[:, 2] + rows[:, 0]]), rtol=1e-9)
    one = est.predict_conditional(table[:3], *(p[:3] for p in people), ["c", "a"], average="mean")
    np.testing.assert_allclose(one.sum(axis=1), 1)


def test_the_nodes_that_are_predicted_are_not_read(fitted):
    est, table, people, _ = fitted
    wanted = est.predict_conditional(table[:5], *(p[:5] for p in people), ["b"])
    gone = table[:5].astype(object).assign(b=np.nan)
    np.testing.assert_array_equal(est.predict_conditional(gone, *(p[:5] for p in people), ["b"]), wanted)
    of_nothing = est.conditional_log_likelihood(gone, *(p[:5] for p in people), ["b"])
    assert np.isnan(of_nothing).all()  # rows without an answer do not count as predicted with certainty
    with pytest.raises(OptionError, match=r"^nodes: 'x' is not a node"):
        est.predict_conditional(table, *people, ["x"])
    if people:
        with pytest.raises(DataError, match="must be labels of the fitted groups"):
            est.predict_conditional(table, np.full(120, 7), ["b"])


def test_intervals_and_statistics_are_those_of_the_draws(fitted):
    """In the groups that there are, each in its rows; control: other tails are others."""
    est, _, people, _ = fitted
    theta = est.posterior_["posterior"]["theta"].values
    draws = theta.reshape(80, -1)
    found = est.interval(0.6)
    np.testing.assert_allclose(found["mean"], draws.mean(axis=0))
    np.testing.assert_allclose(found[["lower", "upper"]].T, np.quantile(draws, [0.2, 0.8], axis=0))
    assert not np.allclose(found["lower"], np.quantile(draws, 0.1, axis=0))
    names = est.feature_names_.tolist()
    labels = [str(g) for g in est.groups_] if people else []
    assert found.index.tolist() == ([*product(labels, names)] if people else names)
    total = est.statistic(lambda t: t.sum())
    assert total.dims == ("chain", "draw", "group")[: theta.ndim - 1]
    np.testing.assert_allclose(total, theta.sum(axis=-1))
    weights = est.statistic(lambda g: len(g.edges), of="graph")
    r, p = len(est.edges_), est._model().n_parameters
    np.testing.assert_array_equal(
        weights, theta[..., : r * p].reshape(*theta.shape[:-1], r, p).any(axis=-1).sum(axis=-1)
    )


def test_correlations_are_those_of_enumeration(fitted):
    """Of each group of people; control: those of another draw are others."""
    est, _, people, _ = fitted
    model = est._model()
    if model.n_states > 2:
        with pytest.raises(OptionError, match="take `statistic`"):
            est.correlation()
        return
    found, theta = est.correlation(), est.posterior_["posterior"]["theta"].values
    assert found.dims == ("chain", "draw", *(["group"] if people else []), "edge")
    every = np.array(list(product(range(2), repeat=4)), dtype=np.int8)
    s = np.array([model.statistics(x[None]) for x in every])
    known = []
    for at in ((0, 0), (1, 17)):
        p = np.exp(np.atleast_2d(theta[at]) @ s.T)
        p /= p.sum(axis=1, keepdims=True)
        known.append(np.array([[c[u, v] for u, v in est.edges_] for c in (_correlations(every, q) for q in p)]))
        np.testing.assert_allclose(np.atleast_2d(found.values[at]), known[-1], atol=1e-9)
    assert not np.allclose(np.atleast_2d(found.values[1, 17]), known[0])


def _correlations(x, p):
    mean = p @ x
    covariance = (x - mean).T @ (p[:, None] * (x - mean))
    sd = np.sqrt(np.diag(covariance))
    return covariance / np.outer(sd, sd)


def test_attributes_of_a_fit_say_that_there_was_none():
    from sklearn.exceptions import NotFittedError

    est = bayesmrf.SpikeSlabMRF()
    with pytest.raises(NotFittedError, match="SpikeSlabMRF has no inclusion_ before it is fitted; call fit first"):
        _ = est.inclusion_
    with pytest.raises(AttributeError, match="'SpikeSlabMRF' object has no attribute 'inclusions'"):
        _ = est.inclusions
    assert not hasattr(est, "theta_")


def test_dir_has_public_names_only():
    assert dir(bayesmrf) == sorted(bayesmrf.__all__)


def test_a_column_of_the_main_table_is_a_matrix_of_the_nodes(fitted):
    """Control: the matrix of another column is another."""
    est, *_ = fitted
    names = list("abcd")
    name = "differences" if isinstance(est, CompareMRF) else "edges"
    column = "inclusion" if isinstance(est, CompareMRF) else "lower"
    square = est.matrix(column)
    assert (list(square.index), list(square.columns)) == (names, names)
    assert square.equals(square.T)
    assert np.isnan(np.diag(square)).all()
    rows = est.table(name)
    for first, second, value in zip(rows["first"], rows["second"], rows[column], strict=True):
        assert square.loc[first, second] == value or np.isnan(value)
    other = "bayes_factor" if isinstance(est, CompareMRF) else "upper"
    assert not est.matrix(other).equals(square)
    with pytest.raises(OptionError, match=r"column must be a column of the table .*, got 'nothing'"):
        est.matrix("nothing")
    if isinstance(est, CompareMRF) and len(est.groups_) > 2:
        with pytest.raises(OptionError, match=r"one value for each pair, got 'difference'; table\('differences'\)"):
            est.matrix("difference")
