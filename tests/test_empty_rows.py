"""Rows in which every value is missing say nothing: they are left out, which changes no bit of the posterior."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF
from bayesmrf.data.states import check_states
from bayesmrf.errors import BayesMRFWarning, ConvergenceWarning, DataError, EmptyRowsWarning
from bayesmrf.results import load

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
        code, _, err = bayesmrf(command, "t.csv", *run, "--out", f"{command}.zarr")
        assert code == 0
        assert err.count("warning: 4 row(s) of the data were left out, as every value in them is missing; ") == 1
        assert load(f"{command}.zarr")["observed_data"].attrs["n_samples"] == N_ROWS - len(EMPTY)
