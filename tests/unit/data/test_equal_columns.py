"""Copies of a column are named; columns that are equal by chance are not."""

import warnings

import numpy as np
import pytest

from bayesmrf import BayesianMRF, GroupedMRF, MaximumLikelihoodMRF, SpikeSlabMRF
from bayesmrf.data import derived_columns as equal_columns
from bayesmrf.data.derived_columns import warn_of_equal
from bayesmrf.data.states import check_states
from bayesmrf.errors import BoundaryWarning, EqualColumnsWarning

QUICK = {"n_draws": 5, "n_warmup": 5, "n_chains": 1, "random_state": 1, "progress": False}
MAKE = {  # a column from the first, which has the levels 0 to 3; and whether it is a copy
    "equal": (lambda a: a, True),
    "in the other direction": (lambda a: 3 - a, True),
    "other in one row": (lambda a: np.where(np.arange(len(a)) == 7, 3 - a, a), False),
    "in other rows": (lambda a: np.roll(a, 1), False),
    "in two levels": (lambda a: 3.0 * (a > 1), False),
}


def named(*given, **more):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warn_of_equal(check_states(*given, **more))
    return [str(w.message) for w in found if w.category is EqualColumnsWarning]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("case", MAKE)
def test_copies_of_a_column(case, missing, rng, monkeypatch):
    monkeypatch.setattr(equal_columns, "_FIRST", 5)
    make, is_copy = MAKE[case]
    a = rng.permuted(np.resize([0.0, 1.0, 2.0, 3.0], (2, 40)), axis=1)
    X = np.array([a[0], a[1], make(a[0])]).T
    if missing:
        X[a[1] == 0, ::2] = np.nan
    found = named(X, missing=missing, n_states=4)
    assert len(found) == is_copy
    assert all(text.startswith("columns '0' and '2' of X determine each other in every row") for text in found)
    twice = named(np.hstack([X, X[:, 1:2]]), missing=missing, n_states=4)
    assert all((", and 1 other pair(s), determine" in text) == is_copy for text in twice)
    assert len(twice) == 1
    unseen = np.vstack([X, [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    assert named(unseen, np.arange(42) < 40, missing=missing, n_states=4) == found


def test_columns_that_are_equal_by_chance(rng):
    """Of 1,000 tables of independent columns one may have a warning; 10 have one with a probability below 1e-6."""
    n_named = 0
    for _ in range(1000):
        X = np.vstack([rng.integers(0, 2, (10, 6)), np.zeros((1, 6)), np.ones((1, 6))])
        n_named += len(named(X))
    assert n_named < 10
    rare = np.zeros((500, 5))
    rare[3] = 1  # all were active at one time
    assert not named(rare)


@pytest.mark.parametrize(
    "est",
    [
        BayesianMRF(**QUICK),
        SpikeSlabMRF(method="exact", **QUICK),
        GroupedMRF(**QUICK),
        MaximumLikelihoodMRF(),
    ],
    ids=lambda est: type(est).__name__,
)
@pytest.mark.filterwarnings("ignore:Not converged")
def test_estimators_name_copies(est, rng):
    """The edge of a column to another one was divided among its copies: one of inclusion 1 had 0.73, without a word."""
    X = rng.integers(0, 2, (60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BoundaryWarning)
        with pytest.warns(EqualColumnsWarning, match="'0' and '3' of X determine each other in every row"):
            est.fit(np.hstack([X, 1 - X[:, :1]]))


def test_tied_edges_are_determined_by_copies(rng):
    X = rng.integers(0, 2, (60, 3))
    BayesianMRF(ties="all", n_draws=200, n_warmup=100, random_state=1, progress=False).fit(np.hstack([X, X[:, :1]]))
