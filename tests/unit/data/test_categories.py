"""Ordered categories of frames and files: their order holds, in Python and on the command line alike."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf import RBM, BayesianMRF, CompareMRF, SpikeSlabMRF
from bayesmrf.cli.table_options import read_votes
from bayesmrf.data.chosen_model import ordered_column
from bayesmrf.data.column_options import ColumnOptions
from bayesmrf.data.frames import in_pandas
from bayesmrf.data.states import check_states, decode
from bayesmrf.errors import DataError
from bayesmrf.results import load
from tests.helpers.commands import one_sentence

QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 2, "progress": False}
SMALL = ["--n-draws", 20, "--n-warmup", 10, "--n-chains", 2, "--seed", 2]
WORDS = ["often", "some", "never"]  # not in the order of the alphabet


@pytest.fixture
def table(rng):
    """Three columns that go together: numbers from high to low, words, and two words."""
    z = rng.integers(0, 3, 120)
    y = np.where(rng.random(120) < 0.7, z, rng.integers(0, 3, 120))
    return pd.DataFrame(
        {
            "down": pd.Categorical(3 - z, [3, 2, 1], ordered=True),
            "word": pd.Categorical.from_codes(y, WORDS, ordered=True),
            "two": pd.Categorical.from_codes(z // 2, ["yes", "no"], ordered=True),
            "sex": pd.Categorical.from_codes(rng.integers(0, 2, 120), ["w", "m"]),
        }
    )


WRITTEN = {
    "feather": (pd.DataFrame.to_feather, pd.read_feather, ["down", "word", "two"]),
    "parquet": (pd.DataFrame.to_parquet, pd.read_parquet, ["word", "two"]),  # keeps the order of texts only
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_the_order_of_a_file_holds(kind, table, folder, bayesmrf):
    """The command has the draws of the estimator with the table itself, and with that of Arrow's types."""
    write, read, columns = WRITTEN[kind]
    write(table[columns], f"t.{kind}")
    read_back = read_votes(folder / f"t.{kind}")[0]
    for name in columns:
        assert list(read_back[name].dtype.categories) == list(table[name].dtype.categories)
        assert read_back[name].dtype.ordered
    code, _, err = bayesmrf("posterior", f"t.{kind}", *SMALL, "--out", "r_run")
    assert (code, err) == (0, "")
    draws = load("r_run")["posterior"]["theta"].to_numpy()
    for X in (table[columns], read(f"t.{kind}", dtype_backend="pyarrow")):
        np.testing.assert_array_equal(BayesianMRF(**QUICK).fit(X).theta_, draws.mean(axis=(0, 1)))
    backwards = table[columns].assign(word=table["word"].cat.reorder_categories(WORDS[::-1], ordered=True))
    assert (BayesianMRF(**QUICK).fit(backwards).theta_ != draws.mean(axis=(0, 1))).any()  # control


def test_groups_are_in_the_order_of_the_file(table, folder, bayesmrf):
    table.to_feather("t.feather")
    code, _, err = bayesmrf("compare", "t.feather", "--by", "sex", *SMALL, "--out", "r_run")
    assert (code, err) == (0, "")
    est = CompareMRF(**QUICK).fit(table.drop(columns="sex"), table["sex"])
    assert est.groups_.tolist() == ["w", "m"]
    np.testing.assert_array_equal(load("r_run")["posterior"]["theta"].to_numpy(), est.posterior_["posterior"]["theta"])


def test_a_code_of_missing_values_is_no_category(folder, table):
    declared = pd.CategoricalDtype([*WORDS, "refused"], ordered=True)
    texts = table["word"].astype(object).mask(np.arange(120) < 5, "refused")
    pd.DataFrame({"word": texts.astype(declared), "two": table["two"]}).to_parquet("t.parquet")
    found = read_votes(folder / "t.parquet", asked=ColumnOptions(missing=("refused",)))[0]
    assert list(found["word"].dtype.categories) == WORDS
    assert found["word"].isna().sum() == 5


def test_two_ordered_categories_are_yes_and_no(table, rng):
    """The second is yes: the draws are those of 0/1, and samples have the words."""
    numbers = pd.DataFrame({"two": table["two"].cat.codes, "b": rng.integers(0, 2, 120), "c": rng.integers(0, 2, 120)})
    X = numbers.assign(two=table["two"])
    est, same = BayesianMRF(**QUICK).fit(X), BayesianMRF(**QUICK).fit(numbers)
    assert est.model_ == "boltzmann"
    np.testing.assert_array_equal(est.theta_, same.theta_)
    backwards = X.assign(two=X["two"].cat.reorder_categories(["no", "yes"], ordered=True))
    np.testing.assert_array_equal(est.score_samples(X), same.score_samples(numbers))
    np.testing.assert_array_equal(est.score_samples(backwards), same.score_samples(numbers))  # by values
    assert set(est.sample(50)[:, 0]) == {"yes", "no"}
    states = check_states(X.mask(np.eye(120, 3, dtype=bool)), missing=True)
    assert (states.values < 0).sum() == 3
    np.testing.assert_array_equal(decode(check_states(X).values, check_states(X).coding)[:, 0], X["two"].astype(object))
    machine = RBM(1, n_steps=50, random_state=1).fit(X)
    np.testing.assert_array_equal(machine.transform(backwards), machine.transform(X))


def test_two_ordered_categories_next_to_counted_levels(table, rng):
    assert ordered_column(table[["two"]].assign(n=rng.integers(0, 4, 120))) == "n"


def test_two_ordered_categories_of_a_file(table, folder, bayesmrf, rng):
    table[["two"]].assign(b=rng.integers(0, 2, 120)).to_parquet("t.parquet")
    code, out, err = bayesmrf("structure", "t.parquet", *SMALL)
    assert (code, err) == (0, "")
    assert "boltzmann" in out


def test_intervals_of_pandas_cut(rng):
    hours = pd.DataFrame(rng.normal(size=(200, 2)), columns=["work", "sleep"])
    cut = hours.apply(lambda column: pd.cut(column, [-9, -1, 0, 1, 9]))
    codes = hours.apply(lambda column: pd.cut(column, [-9, -1, 0, 1, 9], labels=False))
    est, same = SpikeSlabMRF(**QUICK).fit(cut), SpikeSlabMRF(**QUICK).fit(codes)
    assert est.model_ == same.model_ == "ordinal"
    np.testing.assert_array_equal(est.theta_, same.theta_)
    assert list(in_pandas(cut)["work"].dtype.categories) == ["(-9, -1]", "(-1, 0]", "(0, 1]", "(1, 9]"]
    assert isinstance(cut["work"].dtype.categories, pd.IntervalIndex)  # the user's table is left alone
    groups = pd.cut(rng.permutation(hours["work"]), [-9, 0, 9])
    assert CompareMRF(**QUICK).fit(codes, groups).groups_.tolist() == ["(-9, 0]", "(0, 9]"]


def test_categories_without_order(rng):
    """Two may be no and yes, which is asked; of three it is clear."""
    codes = rng.integers(0, 3, 60)
    two, three = (pd.Categorical.from_codes(codes % m, ["red", "blue", "green"][:m]) for m in (2, 3))
    with pytest.raises(
        DataError, match=r"two values without a natural order: 'a' \(red, blue\); .*levels=\['FIRST,LAST'\]"
    ):
        SpikeSlabMRF(**QUICK).fit(pd.DataFrame({"a": two, "b": codes % 2}))
    est = SpikeSlabMRF(**QUICK).fit(pd.DataFrame({"a": two, "b": rng.integers(0, 2, 60), "c": three}))
    assert est.model_ == "nominal"


def test_more_than_two_ordered_categories_are_for_the_ordinal_model(table):
    with pytest.raises(DataError, match=r"'word' must have two ordered .*; merge them .*or set model='ordinal'"):
        SpikeSlabMRF(model="ising", **QUICK).fit(table[["word", "two"]])


def test_the_command_says_what_to_do_about_categories(table, folder, bayesmrf):
    table[["word", "two", "sex"]].to_parquet("t.parquet")
    one_sentence(bayesmrf("structure", "t.parquet", "--drop", "sex", "--model", "ising"), "--model ordinal")
    table[["two", "sex"]].to_parquet("t.parquet")
    said = r"two values without a natural order: 'sex' \(\w, \w\); .* with --levels FIRST,LAST"
    one_sentence(bayesmrf("structure", "t.parquet"), said)
