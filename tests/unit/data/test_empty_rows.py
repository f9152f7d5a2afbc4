"""Rows in which every value is missing say nothing: they are left out, which changes no bit of the posterior."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import bayesmrf
from bayesmrf import RBM, BayesianMRF, CompareMRF, GroupedMRF, MaximumLikelihoodMRF, SpikeSlabMRF
from bayesmrf.data.states import check_states
from bayesmrf.errors import BayesMRFWarning, ConvergenceWarning, DataError, EmptyRowsWarning
from bayesmrf.results import load, save

QUICK = {"n_draws": 6, "n_warmup": 3, "n_chains": 1, "random_state": 1, "progress": False}
ESTIMATORS = {
    "bayesian": BayesianMRF(**QUICK),
    "spike-slab": SpikeSlabMRF(method="exact", **QUICK),
    "grouped": GroupedMRF(method="exact", **QUICK),
    "compare": CompareMRF(method="exact", **QUICK),
}
EMPTY = [0, 7, 8, 39]
N_ROWS = 60


@pytest.fixture
def table(rng):
    X = pd.DataFrame((rng.random((N_ROWS, 4)) < 0.5).astype(float), columns=list("abcd"))
    X.iloc[[3, 11], [1, 2]] = np.nan
    X.iloc[20, 1:] = np.nan  # a single answer says something of the fields
    X.iloc[EMPTY] = np.nan
    return X


def fitted(name, X, keep=slice(None), weights=None):
    group = [np.arange(N_ROWS)[keep] % 2] if name == "compare" else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return ESTIMATORS[name].fit(
            X.iloc[keep].reset_index(drop=True), *group, sample_weight=None if weights is None else weights[keep]
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_posterior_is_that_without_them(name, weighted, table):
    kept = np.setdiff1d(np.arange(N_ROWS), EMPTY)
    weights = None
    if weighted:
        weights = np.tile([1, 2, 1, 0], N_ROWS // 4)
        weights[[0, 11, 3]] = 2, 0, 1  # rows of weight 0 with missing values, and an empty one that was seen twice
    n = len(EMPTY) if weights is None else int(weights[EMPTY].sum())
    with pytest.warns(EmptyRowsWarning, match=rf"^{n} row\(s\) of X were left out, as every value"):
        est = fitted(name, table, weights=weights)
    draws, missing, tree = est.posterior_["posterior"]["theta"].values, est.missing_, est.posterior_
    with warnings.catch_warnings():
        warnings.simplefilter("error", EmptyRowsWarning)
        without = fitted(name, table, kept, weights)
    np.testing.assert_array_equal(draws, without.posterior_["posterior"]["theta"])
    assert tree.attrs["data_hash"] == without.posterior_.attrs["data_hash"]
    assert float(tree["observed_data"].attrs["n_samples"]) == (len(kept) if weights is None else weights[kept].sum())
    own = without.missing_
    pd.testing.assert_frame_equal(missing, own.assign(row=kept[own["row"]]), check_dtype=False)
    assert sorted(set(missing["row"])) == ([3, 11, 20] if weights is None else [3, 20])
    # Control: rows of one answer are read.
    kept = np.setdiff1d(kept, [20])
    fewer = fitted(name, table, kept, weights).posterior_["posterior"]["theta"].values
    assert not np.array_equal(draws, fewer)


@pytest.fixture(scope="module")
def complete(module_rng):
    return pd.DataFrame((module_rng.random((N_ROWS, 4)) < 0.6).astype(float), columns=list("abcd"))


SCORED = ESTIMATORS | {
    "likelihood": MaximumLikelihoodMRF(model="boltzmann", random_state=1),
    "hidden units": RBM(n_hidden=2, n_steps=50, random_state=1),
}


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ApproximateScoreWarning")
@pytest.mark.parametrize("name", SCORED)
def test_they_are_not_predicted(name, table, complete):
    """Scores are those of the other rows; control: their density, 1, would change the mean."""
    group = np.arange(N_ROWS) % 2
    given = [group] if name == "compare" else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = SCORED[name].fit(complete, *given)
    kept = np.setdiff1d(np.arange(N_ROWS), EMPTY)
    few = (table.iloc[kept], *(g[kept] for g in given))
    weights = np.where(np.isin(np.arange(N_ROWS), EMPTY), 50, 1)
    right = est.score(*few)
    with pytest.warns(EmptyRowsWarning, match=r"^4 row\(s\) of X were left out, as every value in them is missing"):
        assert est.score(table, *given) == pytest.approx(right, rel=1e-12)
    with pytest.warns(EmptyRowsWarning, match=r"^200 row\(s\) of X were left out"):
        assert est.score(table, *given, sample_weight=weights) == pytest.approx(right, rel=1e-12)
    with pytest.warns(EmptyRowsWarning, match=r"^4 row\(s\) of X have no density \(NaN\), as every value"):
        each = est.score_samples(table, *given)
    assert np.isnan(each[EMPTY]).all()
    np.testing.assert_allclose(each[kept], est.score_samples(*few), rtol=1e-12)
    assert each[kept].mean() == pytest.approx(right, rel=1e-12)
    assert abs(np.where(np.isnan(each), 0, each).mean() - right) > 0.05  # control
    # Where a is held, row 20, of which it is the only answer, says nothing.
    nothing = [*EMPTY, 20]
    rest = np.setdiff1d(np.arange(N_ROWS), nothing)
    with pytest.warns(EmptyRowsWarning, match=r"^5 row.* as every value that is predicted in them is missing"):
        held = est.score(table, *given, clamped=["a"])
    assert held == pytest.approx(est.score(table.iloc[rest], *(g[rest] for g in given), clamped=["a"]), rel=1e-12)
    with pytest.raises(DataError, match="X must have a row with an answer, but every value is missing"):
        est.score(table.iloc[EMPTY], *(g[EMPTY] for g in given))
    # What is known of a node of an empty row is its marginal probability.
    p = est.predict_conditional(table, *given, nodes=["b"])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert np.ptp(p[EMPTY][:: 2 if given else 1], axis=0).max() < 1e-12 or given


def test_log_likelihoods_and_checks_are_those_without_them(table, complete, tmp_path):
    given = [np.arange(N_ROWS) % 2]
    kept = np.setdiff1d(np.arange(N_ROWS), EMPTY)
    few = (table.iloc[kept], *(g[kept] for g in given))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        est = clone(ESTIMATORS["compare"]).set_params(n_draws=200).fit(complete, *given)
    with pytest.warns(EmptyRowsWarning, match="^4 row"):
        loo = est.add_log_likelihood(table, *given)
    np.testing.assert_array_equal(est.posterior_["log_likelihood"]["row"], kept)
    np.testing.assert_array_equal(est.posterior_["loo"]["row"], kept)
    prediction = est.table("prediction")
    save(est, tmp_path / "r_run")
    pd.testing.assert_frame_equal(bayesmrf.load(tmp_path / "r_run").table("loo"), loo)
    pd.testing.assert_frame_equal(loo, est.add_log_likelihood(*few))
    pd.testing.assert_frame_equal(prediction, est.table("prediction"))
    with pytest.warns(EmptyRowsWarning, match="^4 row"):
        checks = est.predictive_checks(table, *given, random_state=1)
    without = est.predictive_checks(*few, random_state=1)
    numbers = {f"row {i}": f"row {row}" for i, row in enumerate(kept)}
    pd.testing.assert_frame_equal(checks, without.assign(what=without["what"].replace(numbers)))
    with pytest.warns(EmptyRowsWarning, match="^7 row.* have no density .* that is predicted in them"):
        log_p = est.conditional_log_likelihood(table, *given, nodes=["b", "c"])
    assert np.flatnonzero(np.isnan(log_p)).tolist() == sorted([*EMPTY, 3, 11, 20])


def test_what_is_left_is_complete(table):
    """Methods for complete data take a table whose other rows have no gaps."""
    X = table.dropna(how="any").reset_index(drop=True)
    padded = pd.concat([X, X.iloc[:5] * np.nan], ignore_index=True)
    with pytest.warns(EmptyRowsWarning, match="^5 row"):
        states = check_states(padded, missing=True)
    assert states.places.tolist() == list(range(len(X)))
    assert (states.values >= 0).all()
    weights = np.ones(len(padded))
    weights[len(X) :] = 0  # never seen: nothing was left out
    with warnings.catch_warnings():
        warnings.simplefilter("error", BayesMRFWarning)
        np.testing.assert_array_equal(check_states(padded, weights, missing=True).values, states.values)
    with pytest.raises(DataError, match="observed values in every column, but all are missing in 4"):
        check_states(padded * np.nan, missing=True)


def test_a_group_of_empty_rows_is_refused(table):
    X = table.copy()
    X.iloc[40:] = np.nan
    with (
        pytest.warns(EmptyRowsWarning),
        pytest.raises(DataError, match="at least 10 rows each, but 'late' has 0"),
    ):
        CompareMRF(**QUICK).fit(X, np.repeat(["early", "late"], [40, 20]))


def test_the_command_line_says_how_many(bayesmrf, table, folder):
    table.to_csv("t.csv", index=False)
    run = ["--n-draws", 4, "--n-warmup", 2, "--n-chains", 1, "--seed", 1]
    for command in ("posterior", "structure"):
        code, _, err = bayesmrf(command, "t.csv", *run, "--out", f"{command}_run")
        assert code == 0
        assert err.count("warning: 4 row(s) of the data were left out, as every value in them is missing; ") == 1
        assert load(f"{command}_run")["observed_data"].attrs["n_samples"] == N_ROWS - len(EMPTY)
