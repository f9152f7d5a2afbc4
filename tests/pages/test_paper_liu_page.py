"""The reproduction of Liu and Page (2013): estimates of small models, likelihoods of votes, and its tables."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from bayesmrf import metrics
from bayesmrf.learning.sparse_path import log_conditionals
from bayesmrf.models import Agreement
from papers.liu_page_2013.common import STRUCTURE_METHODS, Settings
from papers.liu_page_2013.experiments import FULL, QUICK
from papers.liu_page_2013.structure import estimate
from papers.liu_page_2013.tables import senate_table
from tests.oracle.bounds import assert_estimate, assert_other_estimate

PAIRS = list(combinations(range(6), 2))


@pytest.fixture(scope="module")
def squares(module_rng):
    """Six nodes in two triangles, each with an agreement of its own: 3,000 states, and labels of all pairs."""
    states = np.array(np.unravel_index(np.arange(64), (2,) * 6)).T
    groups = np.array([0 if v < 3 else 1 if u >= 3 else -1 for u, v in PAIRS])
    theta = np.array([1.0, -0.8, 0.0])[groups]
    agrees = np.array([states[:, u] == states[:, v] for u, v in PAIRS], float).T
    p = np.exp(agrees @ theta)
    return states[module_rng.choice(64, size=3000, p=p / p.sum())], groups, expit(theta)


OPTIONS = {"n_draws": 60, "n_warmup": 30}


@pytest.mark.parametrize("method", STRUCTURE_METHODS)
def test_methods_find_two_triangles(method, squares, rng):
    states, groups, agreement = squares
    options = OPTIONS | ({"method": "exact"} if method == "spike-slab" else {})
    found = estimate(method, states, 6, options, rng)
    assert ((found.groups >= 0) == found.included).all()
    assert (found.included | (groups < 0)).all()  # no edge is missed
    # Edges have standard errors of 0.01; L1 with as many edges as there are shrinks them.
    assert np.abs(found.agreement - agreement).max() < (0.25 if method == "l1-size" else 0.06)
    # The parameters are those of the model: the pseudo-likelihood sees the same agreements.
    weights = np.zeros((6, 6))
    weights[tuple(np.array(PAIRS).T)] = np.log(found.agreement) - np.log1p(-found.agreement)
    theta = np.concatenate([2 * weights[np.triu_indices(6, 1)], -(weights + weights.T).sum(axis=0)])
    by_hand = log_conditionals(theta, states).sum()
    assert metrics.log_pseudo_likelihood(found.model, found.theta, states) == pytest.approx(by_hand, abs=40)
    if method in (*STRUCTURE_METHODS[:4], "spike-particle-fields"):
        assert found.n_groups < 4
        assert metrics.variation_of_information(found.groups, groups) < 0.5
    else:
        assert len(np.unique(found.groups[found.included])) == found.included.sum() == found.n_groups


@pytest.mark.filterwarnings(
    "ignore:in .* columns some answers dominate:bayesmrf.errors.FieldsWarning"
)  # as the command does
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.DependentRowsWarning")  # votes are like those before them
def test_votes_with_learnt_edges(data_folder, rng, tmp_path):
    plan, settings = QUICK["structure-senate"], Settings("structure-senate", int(rng.integers(2**31)), quick=True)
    row = plan.run(settings, (0, 2, "stripped-beta-learnt"), tmp_path)
    assert set(row) == set(plan.measures)
    assert row["n_edges"] == plan.n_edges
    assert row["lpl_test"] < row["lpl_train"] < 0
    assert 1 <= row["n_groups"] < 40


def test_every_method_of_the_senate_has_its_gain():
    """The gains are computed by hand: over the mean of both replicates, from the MLE of the same session and kind."""
    nan = np.nan
    likelihoods = ["lpl_train", "lpl_test", "ll_train", "ll_test"]
    rows = pd.DataFrame(
        [
            (0, 1, "stripped-beta", -101.25, -201.0, -300.0, -405.0, 3.0),
            (0, 1, "mle", -100.0, -200.0, -300.0, -400.0, nan),
            (1, 1, "mle", -102.0, -204.0, -306.0, -408.0, nan),
            (0, 1, "particle", -90.0, -210.0, -303.5, nan, 4.0),
            (0, 1, "exact", -101.0, -202.0, -303.0, -404.0, 2.0),
            (0, 1, "particle-fields", -9.0, -18.0, -33.0, -44.0, 4.0),  # no MLE with fields
            (0, 2, "mle-fields", -10.0, -20.0, -30.0, -40.0, nan),
            (0, 2, "particle-fields", -9.0, -18.5, -33.0, -1044.0, 4.0),
            (0, 2, "stripped-beta", -1.0, -2.0, -3.0, -4.0, 3.0),  # no MLE without
        ],
        columns=["replicate", "session", "method", *likelihoods, "n_groups"],
    ).assign(seconds=1.0)
    published = {
        1: {
            "mle": {"lpl_train": -50.0, "lpl_test": -60.0},
            "stripped-beta": {"lpl_train": -53.0, "lpl_test": -55.5},
        }
    }
    lines = list(zip(*(column.cells for column in senate_table(rows, published).columns), strict=True))
    assert [line[1] for line in lines] == [
        *["mle", "exact", "stripped-beta", "particle"],
        *["gain of exact", "gain of stripped-beta", "gain of particle"],
        *["mle, paper", "stripped-beta, paper", "gain of stripped-beta, paper"],
        "particle-fields",
        *["stripped-beta", "mle-fields", "particle-fields", "gain of particle-fields"],
    ]
    assert {line[1]: line[2:] for line in lines if line[1].startswith("gain")} == {
        "gain of exact": ("+0.00", "+0.00", "+0.00", "+0.00", "", ""),
        "gain of stripped-beta": ("-0.25", "+1.00", "+3.00", "-1.00", "", ""),
        "gain of particle": ("+11.00", "-8.00", "-0.50", "", "", ""),
        "gain of stripped-beta, paper": ("-3.00", "+4.50", "", "", "", ""),
        "gain of particle-fields": ("+1.00", "+1.50", "-3.00", "-1004.00", "", ""),
    }
    assert lines[0] == ("1", "mle", "-101.00", "-202.00", "-303.00", "-404.00", "", "1 s")


@pytest.mark.parametrize(("n_sweeps", "passes"), [(400, True), (2, False)])
def test_samples_are_checked(n_sweeps, passes, rng):
    plan = replace(FULL["large-grid"], graph=("grid", 6, 6), n_sweeps=n_sweeps)
    model = Agreement(plan.make_graph())
    states, z = plan.draw(model, np.full(model.n_edges, 1.0), 2000, rng)
    assert states.shape == (2000, 36)
    (assert_estimate if passes else assert_other_estimate)(z, 0, 1)
