"""Scores and samples of CompareMRF: each row in the network of its group, averaged over draws."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score

from bayesmrf import CompareMRF
from bayesmrf.answers.predictions import normaliser
from bayesmrf.answers.predictions.mixture import error_of_mean
from bayesmrf.data.group_labels import codes_of
from bayesmrf.errors import ApproximateScoreWarning, BayesMRFError, DataError, OptionError
from bayesmrf.inference.elimination.engine import cost
from tests.oracle.bounds import assert_mean, assert_other_mean
from tests.unit.estimators.test_score import enumerated, out_of_reach

QUICK = {"n_draws": 100, "n_warmup": 50, "n_chains": 2, "progress": False, "random_state": 1}
NAMES = ["Ann", "Bob", "Cid", "Dan"]
CASES = {
    "two groups": (2, 2, {}),
    "three groups": (2, 3, {}),
    "absent edges": (2, 2, {"baseline": "spike-slab"}),
    "ordinal": (3, 2, {}),
    "ordinal, three groups": (3, 3, {"baseline": "spike-slab", "biases": "slab"}),
    "persistent chains": (2, 2, {"method": "reversible-jump"}),
}

pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")


def table_of(rng, n_levels, n_groups, n=60):
    """Ann is like Bob in the first group, and unlike him in the others."""
    table = pd.DataFrame(rng.integers(0, n_levels, (n * n_groups, 4)), columns=NAMES)
    group = np.repeat(np.arange(n_groups), n)
    same = rng.random(len(table)) < 0.8
    table["Bob"] = table["Bob"].mask(same, np.where(group == 0, table["Ann"], n_levels - 1 - table["Ann"]))
    return table, pd.Series([f"g{g}" for g in group])


@pytest.fixture(scope="module")
def fitted(module_rng):
    table, groups = table_of(module_rng, 2, 2)
    return CompareMRF(**QUICK).fit(table, groups), table, groups


def densities(est, X, groups, average="bayes"):
    """The log density of each row under 100 of 200 draws of its group, or theta_ of likely edges, by all states."""
    draws = est.posterior_["posterior"]["theta"].values
    draws = draws.reshape(-1, *draws.shape[2:])[np.unique(np.linspace(0, 199, 100).astype(int))]
    theta = est.theta_.copy()
    theta[:, : len(est.edges_)][:, est.edge_inclusion_[tuple(est.edges_.T)] <= 0.5] = 0  # given that edges exist
    draws = draws if average == "bayes" else theta[None]
    numbers = [list(est.groups_).index(g) for g in groups]
    every = [enumerated(est._model(), draws[:, g], X.to_numpy()) for g in range(len(est.groups_))]
    return np.array([every[g][i] for i, g in enumerate(numbers)])


@pytest.mark.parametrize("name", CASES)
def test_the_score_is_that_of_the_group(name, rng):
    """Control: the density in the network of another group is another."""
    n_levels, n_groups, options = CASES[name]
    table, groups = table_of(rng, n_levels, n_groups)
    est = CompareMRF(**options, **QUICK).fit(table, groups)
    for average in ("bayes", "mean"):
        each = densities(est, table, groups, average)
        np.testing.assert_allclose(est.score_samples(table, groups, average=average), each, rtol=1e-9)
        assert est.score(table, groups, average=average) == pytest.approx(each.mean())
        weights = rng.integers(0, 3, len(table))
        weights[groups == "g1"] = 0
        found = est.score(table, groups, weights, average)
        assert found == pytest.approx(np.average(each, weights=weights))
    assert abs(each - densities(est, table, groups[::-1])).max() > 0.1
    again = est.score_samples(table[NAMES[::-1]], groups.astype("category"))  # columns and labels in other forms
    np.testing.assert_array_equal(again, est.score_samples(table, [f" {g}" for g in groups]))
    assert est.score_samples(table[groups == "g1"], groups[groups == "g1"]).shape == (60,)
    assert (est.score_kind_, est.log_z_error_) == ("log predictive", 0.0)


@pytest.mark.parametrize("name", ["two groups", "ordinal, three groups"])
@pytest.mark.parametrize("average", ["bayes", "mean"])
def test_samples_of_a_group(name, average, rng):
    """Means and products are those of all states with their densities; control: those of another group."""
    n_levels, n_groups, options = CASES[name]
    table, groups = table_of(rng, n_levels, n_groups)
    levels = np.array([-1, 1] if n_levels == 2 else [1, 2, 3])
    est = CompareMRF(**options, **QUICK).fit(table.apply(lambda x: levels[x]), groups)
    states = pd.DataFrame(np.indices((n_levels,) * 4).reshape(4, -1).T, columns=NAMES)
    u, v = est.edges_.T

    def moments(x):
        return np.concatenate([x, x[:, u] * x[:, v]], axis=1)

    exact = []
    for label in est.groups_:
        log_p = densities(est, states, [label] * len(states), average)
        assert logsumexp(log_p) == pytest.approx(0)
        exact.append(np.exp(log_p) @ moments(levels[states.to_numpy()]))
    drawn = est.sample(20_000, "g1", rng, average)
    assert set(np.unique(drawn)) == set(levels)
    assert_mean(moments(drawn)[:, None], exact[1])
    assert_other_mean(moments(drawn)[:, None], exact[0])
    np.testing.assert_array_equal(est.sample(5, "g1"), est.sample(5, group="g1"))


def test_cross_validation(rng):
    """Groups are the y of scikit-learn; a network of each group predicts better than the same networks exchanged."""
    table, groups = table_of(rng, 2, 2)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(CompareMRF(**QUICK), table, groups, cv=folds)
    train, test = next(iter(folds.split(table, groups)))
    est = CompareMRF(**QUICK).fit(table.iloc[train], groups.iloc[train])
    assert scores[0] == est.score(table.iloc[test], groups.iloc[test])
    other = groups.iloc[test].map({"g0": "g1", "g1": "g0"})
    assert scores[0] > est.score(table.iloc[test], other) + 0.3


def test_old_log_z_is_forgotten(fitted, rng):
    _, table, groups = fitted
    est = CompareMRF(**QUICK).fit(table, groups)
    before = est.score(table, groups)
    assert est.set_params(model="ordinal").score(table, groups) == before  # the model of theta_ until the next fit
    est.theta_[1] = 0.0
    assert est.score_samples(table[groups == "g1"], groups[groups == "g1"], "mean") == pytest.approx(-4 * np.log(2))
    est.posterior_["posterior"]["theta"][:, :, 1] = 0.0
    assert est.score_samples(table[groups == "g1"], groups[groups == "g1"]) == pytest.approx(-4 * np.log(2))
    other, labels = table_of(rng, 2, 3)
    new = clone(est).fit(other, labels).score(other, labels)
    assert est.fit(other, labels).score(other, labels) == new


def test_log_z_by_annealing(fitted, monkeypatch):
    """One warning for all groups; the estimates have the errors that they say."""
    est, table, groups = fitted
    est = clone(est).fit(table, groups)
    exact = est.score(table, groups)
    out_of_reach(monkeypatch)
    est._log_z = {}
    assert est.score(table, groups) == pytest.approx(exact, abs=0.1)
    assert 0 < est.log_z_error_ < 0.1
    assert est.score_kind_ == "log predictive, log Z by annealed importance sampling"
    monkeypatch.setattr(normaliser, "LARGEST_ERROR", 0.0)
    with pytest.warns(ApproximateScoreWarning, match="log Z, and with it the score, has a standard error of") as said:
        est.score(table, groups)
    assert len(said) == 1


def test_edges_that_a_draw_lacks_are_left_out(rng, monkeypatch):
    """Log Z is exact where the edges that exist are within reach, though all candidates together are not."""
    est = CompareMRF(baseline="spike-slab", **QUICK).fit(*table_of(rng, 2, 2))
    monkeypatch.setattr(normaliser, "_MOST_BYTES", cost(est._model().graph, 2**28, None)[1] - 1)
    fields, found = est._mixture.fields("bayes", 0), est._mixture.normalisers("bayes", 0)
    complete = [model.n_edges == len(est.edges_) for model, _ in fields]
    assert 0 < np.mean(complete) < 1
    assert [z.error > 0 for z in found] == complete


def test_scores_warn_where_few_draws_count(fitted, rng):
    """The error of a mean over groups allows for draws that are large in both of them."""
    est, table, groups = fitted
    est, rows, labels = clone(est).fit(table, groups), np.ones((2, 4), dtype=int), ["g0", "g1"]
    draws = est.posterior_["posterior"]["theta"]
    for common in (True, False):
        sets = []
        for _ in range(100):
            large = rng.random((*draws.shape[:2], 1 if common else 2, 1)) < 0.1
            draws[:] = np.where(large, 1.0, -1.0)
            each, _, away, weights = est._mixture.log_predictive_of_rows(rows, "bayes", groups=labels)
            sets.append((each @ weights, error_of_mean(away)[0]))
        mean, error = np.array(sets).T
        # The relative error of a standard deviation of 100 draws is 0.07, more as these have tails.
        assert abs(np.std(mean) / error.mean() - 1) < 0.4
    draws[:] = -1.0
    draws[0, :20] = 1.0
    # Groups with equal draws have the error of one of them; control: independent groups would have it over sqrt(2).
    both, one = (est._mixture.log_predictive_of_rows(rows[:n], "bayes", groups=labels[:n])[2] for n in (2, 1))
    assert error_of_mean(both) == pytest.approx(error_of_mean(one))
    with pytest.warns(ApproximateScoreWarning, match=r"^the score has a standard error.*average='mean'"):
        est.score(rows, labels)
    with pytest.warns(ApproximateScoreWarning, match="^the log density of 2 of 2 rows has a standard error"):
        est.score_samples(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        est.score(rows, labels, average="mean")


FITTED = r"\('g0', 'g1'\)"
BAD = {
    "other label": (["g0", "g7"], f"groups must be labels of the fitted groups {FITTED}, got 'g7' in row 1; leave out"),
    "a number": ([0, 1], f"groups must be labels of the fitted groups {FITTED}, got 0 in row 0"),
    "missing": (
        ["g0", None],
        r"groups must not have missing labels, but 1 row\(s\) have none, the first of them row 1",
    ),
    "one for all": ("g0", "groups must be 2 labels, one for each row of the data, got 'g0'"),
    "none": (None, "groups must be 2 labels, one for each row of the data, got None"),
    "lists": ([["g0"], ["g0", "g1"]], "groups must be texts, numbers or categories, got"),
    "index": (pd.Series(["g0", "g1"], [5, 6]), "groups must have the index of X"),
}


@pytest.mark.parametrize("name", BAD)
def test_labels_that_are_refused(fitted, name):
    est, table, _ = fitted
    labels, message = BAD[name]
    for use in (est.score, est.score_samples):
        with pytest.raises(DataError, match=message) as e:
            use(table[:2], labels)
        assert "\n" not in str(e.value)


@pytest.mark.parametrize("group", [None, "g7", 0, ["g0"], np.nan])
def test_groups_of_samples_that_are_refused(fitted, group):
    est, _, _ = fitted
    with pytest.raises(OptionError, match=f"group must be the label of a fitted group {FITTED}, got "):
        est.sample(3, group)
    with pytest.raises(BayesMRFError, match="n_samples must be"):
        est.sample(-1, "g0")
    with pytest.raises(NotFittedError):
        CompareMRF().sample(3, "g0")


def test_labels_of_new_rows():
    """Numbers are the same in each type, and categories need not have the order of the fitted ones."""
    for given in (np.array([2, 10]), [2.0, 10.0], pd.Categorical([2, 10], [10, 2]), pd.Series([2, 10], dtype="Int64")):
        np.testing.assert_array_equal(codes_of(given, None, 2, np.array([2, 10], dtype=object)), [0, 1])
