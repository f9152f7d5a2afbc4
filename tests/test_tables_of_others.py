"""Tables as people have them (shared/tables): each is read with its right meaning, or what to do is said."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from bayesmrf import SpikeSlabMRF
from bayesmrf.data.even_steps import recoded
from bayesmrf.errors import LevelsWarning
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.results.convergence import verdict

PRIOR = SpikeSlab(Beta(1, 1), Cauchy(1.0), 10.0)  # that of the right values, whatever the default is
OPTIONS = {"prior": PRIOR, "n_chains": 2, "random_state": 1, "progress": False}


@pytest.fixture
def tables(data_folder):
    """The folder of the made-up tables, which lies next to the real data."""
    folder = data_folder.parent / "tables"
    if not folder.is_dir():
        pytest.skip("the made-up tables are not here")
    return folder


def fitted(table, n_draws=200, **more):
    return SpikeSlabMRF(method="exact", n_draws=n_draws, **OPTIONS, **more).fit(table)


def near(found, right, n):
    """Within 0.02 of probabilities, and 5 standard errors of ``n`` independent draws."""
    found, right = np.asarray(found), np.asarray(right)
    return (np.abs(found - right) < 0.02 + 5 * np.sqrt(right * (1 - right) / n)).all()


STEPS = "levels in equal steps, and no column has one between them: 'a', 'b', 'c', 'd'"


@pytest.mark.parametrize("codes", ["1_3_5", "5_10_15", "10_20_30", "0_25_50"])
def test_the_same_answers_in_other_numbers_have_one_posterior(codes, tables):
    usual = fitted(pd.read_csv(tables / "codes_1_2_3.csv"))
    table = pd.read_csv(tables / f"codes_{codes}.csv")
    with pytest.warns(LevelsWarning, match=STEPS):
        est = fitted(table)
    assert est.model_ == "ordinal"
    np.testing.assert_array_equal(est.posterior_["posterior"]["theta"], usual.posterior_["posterior"]["theta"])
    assert f"a={codes.rpartition('_')[2]}" in est.feature_names_  # levels keep their names
    assert "levels in equal steps" in verdict(est.posterior_).sentence


def test_ordered_categories_keep_the_levels_between(tables):
    table = pd.read_csv(tables / "codes_1_3_5.csv").apply(lambda c: pd.Categorical(c, range(1, 6), ordered=True))
    with pytest.warns(LevelsWarning, match=r"never occur \(2, 4\)"):
        est = fitted(table)
    assert "a=4" in est.feature_names_


def test_inclusions_are_those_of_quadrature(tables):
    table = pd.read_csv(tables / "codes_0_25_50.csv")
    found = []
    for pair in combinations("abcd", 2):
        with pytest.warns(LevelsWarning, match="equal steps"):
            found.append(fitted(table[list(pair)], 4000).table("edges")["inclusion"][0])
    assert near(found, [0.992, 0.305, 0.999, 0.902, 1.0, 0.254], 2000)


def test_the_command_says_so_too(tables, bayesmrf):
    code, _, err = bayesmrf("structure", tables / "codes_10_20_30.csv", "--n-draws", 20, "--seed", 1)
    assert code == 0
    assert STEPS in " ".join(err.split())


RECODED = {
    "one coding": ({"a": [1, 3, 5], "b": [1, 5]}, {"a": (1, 3, 5), "b": (1, 3, 5)}),
    "filled by another": ({"a": [1, 3, 5], "b": [1, 2, 3]}, {}),
    "an unused level of one column": ({"a": [1, 2, 3, 5], "b": [1, 2, 3, 4, 5]}, {}),
    "an unused level of one column in steps": ({"a": [10, 20, 40], "b": [10, 30, 40]},
                                               {"a": (10, 20, 30, 40), "b": (10, 20, 30, 40)}),
    "yes/no columns do not fill": ({"a": [1, 3, 5], "sex": [1, 2]}, {"a": (1, 3, 5)}),
    "another scale does not fill": ({"a": [0, 25, 50], "b": [1, 2, 3]}, {"a": (0, 25, 50)}),
    "most levels are never used": ({"a": [0, 10, 50, 100]}, {}),
    "too many levels": ({"a": np.arange(0, 130, 10)}, {}),
    "a code": ({"a": [10, 20, 30, 99]}, {}),
    "fractions": ({"a": [0.5, 1.5, 2.5]}, {}),
    "nothing": ({"a": [], "b": [3], "c": [np.inf, 1.0]}, {}),
    "texts": ({"a": ["1", "3"]}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", RECODED)
def test_steps_that_no_column_fills_are_a_coding(case):
    columns, levels = RECODED[case]
    assert recoded({name: np.array(values) for name, values in columns.items()}) == levels


def test_levels_of_new_rows_and_of_rows_that_were_not_seen():
    table = pd.DataFrame({"a": [10, 20, 30, 20] * 5, "b": [30, 20, 10, 30] * 5})
    weights = np.r_[np.ones(19), 0.0]
    table.iloc[19] = 25, 30
    with pytest.warns(LevelsWarning, match="10, 15, 20, 25, 30"), pytest.warns(LevelsWarning, match="never occur"):
        SpikeSlabMRF(model="ordinal", n_draws=5, **OPTIONS).fit(table, sample_weight=weights)
    with pytest.warns(LevelsWarning, match="equal steps"):
        est = fitted(table[:19], 5)
    assert set(np.unique(est.sample(20, random_state=1))) <= {10, 20, 30}
