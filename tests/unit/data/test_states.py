"""The table of observations: codings, every error message, weights; and the statistics of the agreement model."""

import io
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, MaximumLikelihoodMRF, graphs
from bayesmrf.data.states import check_states, decode
from bayesmrf.errors import ConstantColumnWarning, DataError, LevelsWarning
from bayesmrf.models import Agreement
from bayesmrf.models.pairwise import log_potential
from tests.helpers.tables_of_others import NotOfPandas
from tests.oracle import states as oracle

TABLE = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("X", "coding"),
    [
        (TABLE, "01"),
        (TABLE.astype(np.int8), "01"),
        (TABLE.astype(float), "01"),
        (TABLE.tolist(), "01"),
        (TABLE.astype(object), "01"),
        (2 * TABLE - 1, "pm1"),
        (2.0 * TABLE - 1, "pm1"),
        (TABLE.astype(bool), "bool"),
        (TABLE.astype(bool).astype(object), "bool"),
        (pd.DataFrame(TABLE), "01"),
        (pd.DataFrame(2 * TABLE - 1), "pm1"),
        (pd.DataFrame(TABLE.astype(bool)), "bool"),
    ],
)
def test_every_coding_is_read_and_given_back(X, coding):
    states = check_states(X)
    assert states.coding == coding
    assert states.values.dtype == np.int8
    assert states.names == ("0", "1", "2")
    np.testing.assert_array_equal(states.values, TABLE)
    np.testing.assert_array_equal(decode(states.values, states.coding), np.asarray(X))


def test_only_ones_are_read_as_either_coding():
    with pytest.warns(ConstantColumnWarning):
        states = check_states(np.ones((3, 2)))
    np.testing.assert_array_equal(states.values, 1)


def with_value(value, row=2, column=1, dtype=float):
    X = np.array(TABLE, dtype=dtype)
    X[row, column] = value
    return X


def test_the_ordinal_model_is_named_where_the_caller_has_it():
    remedy = "or set model='ordinal' if they are ordered levels"
    for levels in ([1, 2], [-1, 0, 1], [-2, -1, 0, 1, 2]):
        X = np.resize(levels, (30, 3))
        X[::2] = X[::2, ::-1]
        with pytest.raises(DataError, match=remedy):
            check_states(X, ordinal=True)
        with pytest.raises(DataError) as e:
            check_states(X)
        assert remedy not in str(e.value)
    with pytest.raises(DataError, match=remedy):
        BayesianMRF(progress=False).fit(np.resize([-1, 0, 1], (30, 3)))


def test_few_texts_may_be_codes_of_missing_values():
    X = np.tile(np.array([[0], [1]], dtype=object), (10, 2))
    X[3, 1] = "refused"
    with pytest.raises(DataError, match="column '1'; replace 'refused' by NaN if it means a missing value, else code"):
        check_states(X)
    X[:8, 1] = "refused"
    with pytest.raises(DataError, match="column '1'; code the states as 0/1"):
        check_states(X)


def frame(X):
    return pd.DataFrame(X, columns=["smokes", "works", "age"])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            with_value(2),
            r"X must be binary, .* the first is 2 in row 2, column '1'; code the states as 0/1",
        ),
        (with_value(0.5), r"X must be binary, but 1 value\(s\) are not, the first is 0\.5 in row 2, column '1'"),
        (frame(with_value(7)), r"the first is 7 in row 2, column 'works'"),
        (with_value(np.inf), r"X must be binary, but 1 value\(s\) are not, the first is inf in row 2, column '1'"),
        (
            with_value(-1),
            r"X must have one coding, but .* mixed \(5 zeros, the first in row 0, column '0', and 1 values -1\)",
        ),
        (
            with_value(np.nan),
            r"X must not have missing values \(NaN\), but 1 are .* the first in row 2, column '1'; drop",
        ),
        (
            frame(np.where(TABLE == 0, np.nan, 1)),
            r"missing values \(NaN\), but 5 are missing in 3 column\(s\), .* row 0, column 'smokes'",
        ),
        (with_value(None, dtype=object), r"X must .*(missing|numbers).*row 2, column '1'"),
        (
            with_value("yes", dtype=object),
            r"numbers, got 'yes' in row 2, column '1'; code the states as 0/1",
        ),
        (np.zeros((0, 3)), r"X must be a table with at least one row \(observation\), got an array of shape \(0, 3\)"),
        (frame(np.zeros((0, 3))), r"X must be a table with at least one row"),
        (np.zeros(3), r"X must be a table \(n_samples, n_nodes\), got an array of shape \(3,\)"),
        ([[0, 1], [1]], r"X must be a table \(n_samples, n_nodes\), got \[\[0, 1\], \[1\]\]; Reshape"),
        (with_value(10**400, dtype=object), r"numbers, got an integer of about \d+ digits in row 2, column '1'"),
        (with_value(1 - 1e-9), r"X must be binary, .* the first is 0\.999999999 in row 2"),
        (with_value(12345678), r"X must be binary, .* the first is 12345678 in row 2"),
    ],
    ids=[
        "two",
        "half",
        "frame",
        "inf",
        "mixed",
        "nan",
        "nans",
        "none",
        "text",
        "no rows",
        "empty frame",
        "one row",
        "ragged",
        "huge",
        "nearly 1",
        "many digits",
    ],
)
def test_tables_that_cannot_be_used(X, message):
    with pytest.raises(DataError, match=message):
        check_states(X)


GONE = np.array([[True, False, False], [False, False, True], [False, False, False], [False, True, False]])
WITH_GAPS = np.where(GONE, -1, TABLE)


@pytest.mark.parametrize(
    ("X", "coding"),
    [
        (np.where(GONE, np.nan, TABLE), "01"),
        (np.where(GONE, np.nan, TABLE).astype(np.float32), "01"),
        (np.where(GONE, np.nan, 2 * TABLE - 1), "pm1"),
        (np.where(GONE, None, TABLE), "01"),
        (np.where(GONE, None, TABLE.astype(bool).astype(object)), "bool"),
        (np.where(GONE, np.nan, TABLE.astype(bool).astype(object)), "bool"),
        (np.where(GONE, pd.NA, 2 * TABLE - 1), "pm1"),
        (pd.DataFrame(TABLE).mask(GONE), "01"),
        (pd.DataFrame(TABLE, dtype="Int64").mask(GONE), "01"),
        (pd.DataFrame(2 * TABLE - 1, dtype="Int8").mask(GONE), "pm1"),
        (pd.DataFrame(TABLE, dtype="boolean").mask(GONE), "bool"),
        (pd.DataFrame(TABLE, dtype="boolean").mask(GONE).astype({0: object, 1: "Int64"}), "01"),
    ],
)
def test_missing_values_are_minus_one_where_they_are_allowed(X, coding):
    states = check_states(X, missing=True)
    assert states.coding == coding
    assert states.values.dtype == np.int8
    np.testing.assert_array_equal(states.values, WITH_GAPS)
    with pytest.raises(
        DataError,
        match=r"missing values \(NaN\), but 3 are missing in 3 column\(s\), the first in row 0, col",
    ):
        check_states(X)


def test_a_full_table_is_the_same_whether_values_may_be_missing_or_not():
    for X in (TABLE, 2 * TABLE - 1, TABLE.astype(bool), pd.DataFrame(TABLE, dtype="Int64")):
        np.testing.assert_array_equal(check_states(X, missing=True).values, check_states(X).values)


def test_values_that_are_not_binary_are_found_beside_missing_ones():
    X = np.where(GONE, np.nan, TABLE)
    X[2, 2] = 3
    with pytest.raises(DataError, match=r"1 value\(s\) are not, the first is 3 in row 2, column '2'"):
        check_states(X, missing=True)
    X[2, 2] = -1
    with pytest.raises(DataError, match=r"one coding, but 0/1 and -1/\+1 are mixed"):
        check_states(X, missing=True)


def test_a_column_in_which_everything_is_missing_is_refused_in_data_to_learn_from():
    X = np.where(GONE, np.nan, TABLE)
    X[:, 1] = np.nan
    with pytest.raises(DataError, match=r"all are missing in 1 column\(s\): 'works'; drop them"):
        check_states(frame(X), missing=True)
    assert (check_states(frame(X), names=("smokes", "works", "age"), missing=True).values[:, 1] == -1).all()
    # Rows of weight zero have not been seen.
    X[0, 1] = 1
    with pytest.raises(DataError, match=r"all are missing in 1 column\(s\): '1'"):
        check_states(X, sample_weight=[0, 1, 1, 1], missing=True)
    with pytest.raises(DataError, match=r"all are missing in 2 column\(s\): '0', '1'"):
        check_states(np.full((3, 2), np.nan), missing=True)


def test_a_column_is_constant_where_its_seen_values_are():
    X = np.where(GONE, np.nan, TABLE)
    X[2, 2] = 1
    with pytest.warns(ConstantColumnWarning, match=r"1 column\(s\) of X are constant: '2'"):
        check_states(X, missing=True)


def test_the_table_that_came_is_left_alone():
    X = np.where(GONE, np.nan, TABLE)
    before = X.copy()
    check_states(X, missing=True).values[:] = 0
    np.testing.assert_array_equal(X, before)
    Y = TABLE.astype(np.int8)
    check_states(Y).values[:] = 0
    np.testing.assert_array_equal(Y, TABLE)


def test_a_constant_column_is_named_and_allowed():
    X = TABLE.copy()
    X[:, 1] = 1
    with pytest.warns(ConstantColumnWarning, match=r"1 column\(s\) of X are constant: 'works'"):
        states = check_states(frame(X))
    np.testing.assert_array_equal(states.values, X)


def test_a_column_is_constant_where_its_weight_is():
    with pytest.warns(ConstantColumnWarning, match=r"are constant: '2'"):
        check_states(TABLE, sample_weight=[1, 2, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_states(TABLE, sample_weight=[1, 2, 1, 1])


def test_weights_count_rows():
    states = check_states(TABLE, sample_weight=[3, 1, 2, 4])
    assert states.n_samples == 10
    assert check_states(TABLE).n_samples == 4


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2, 3], r"sample_weight must have shape \(4,\), one number for each row of X, got shape \(3,\)"),
        ([1, -2, 3, 4], r"sample_weight must contain integers >= 0, how often each row was seen, got -2 in row 1;"),
        ([1, 2, 0.5, 4], r"sample_weight must contain integers >= 0, .*, got 0\.5 in row 2;"),
        ([1, 2, 3, np.nan], r"sample_weight must contain integers >= 0, .*, got nan in row 3;"),
        ([0, 0, 0, 0], r"sample_weight must be above zero in at least one row"),
        (["a", "b", "c", "d"], r"sample_weight must contain numbers, one for each row of X, got"),
    ],
)
def test_weights_that_cannot_be_used(weights, message):
    with pytest.raises(DataError, match=message):
        check_states(TABLE, sample_weight=weights)


def test_columns_of_later_data_are_brought_to_the_order_of_the_first():
    first = frame(TABLE)
    later = first[["age", "smokes", "works"]].assign(extra=1)
    states = check_states(later, names=("smokes", "works", "age"))
    np.testing.assert_array_equal(states.values, TABLE)
    assert states.names == ("smokes", "works", "age")


def test_columns_that_later_data_lack():
    names = ("smokes", "works", "age")
    with pytest.raises(DataError, match=r"the columns of the fitted data, but 'works' is missing \(1 in all\)"):
        check_states(frame(TABLE).drop(columns="works"), names=names)
    with pytest.raises(DataError, match=r"X has 2 features, but bayesmrf is expecting 3"):
        check_states(TABLE[:, :2], names=names)


@pytest.mark.parametrize("fields", [False, True])
def test_statistics_are_agreements_and_means(fields, rng):
    model = Agreement(graphs.grid(2, 3), fields)
    states = rng.integers(0, 2, (50, 6)).astype(np.int8)
    x = 2 * states - 1
    wanted = [np.mean(x[:, u] == x[:, v]) for u, v in model.graph.edges] + [x[:, u].mean() for u in range(6) if fields]
    np.testing.assert_allclose(model.statistics(states), wanted, atol=1e-14)
    assert len(model.feature_names) == model.n_features == len(wanted)


def test_weighted_statistics_are_those_of_repeated_rows(rng):
    model = Agreement(graphs.complete(4), True)
    states = rng.integers(0, 2, (20, 4)).astype(np.int8)
    weights = rng.integers(0, 4, 20)
    weights[0] = 1
    np.testing.assert_allclose(
        model.statistics(states, weights), model.statistics(np.repeat(states, weights, axis=0)), atol=1e-14
    )


def test_statistics_of_a_model_without_features(rng):
    assert Agreement(graphs.path(1)).statistics(np.zeros((3, 1), np.int8)).shape == (0,)


@pytest.mark.parametrize("fields", [False, True])
def test_the_compiled_form_has_the_same_potential(fields, rng):
    model = Agreement(graphs.grid(2, 3), fields)
    theta = rng.normal(size=model.n_features)
    states = oracle.all_states(6)
    per_state = [model.statistics(states[[s]]) @ theta for s in range(len(states))]
    np.testing.assert_allclose(log_potential(model.pairwise(theta), states), per_state, atol=1e-12)


@pytest.mark.parametrize("fields", [False, True])
def test_moments_are_averages_of_statistics(fields, rng):
    model = Agreement(graphs.grid(2, 3), fields)
    states = rng.integers(0, 2, (30, 6)).astype(np.int8)
    x = 2.0 * states - 1
    u, v = model.graph.edges.T
    found = model.moments((x[:, u] * x[:, v]).mean(axis=0), x.mean(axis=0))
    np.testing.assert_allclose(found, model.statistics(states), atol=1e-14)


# Nodes with many states

THREE = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]])


@pytest.mark.parametrize(
    ("X", "n_states", "levels"),
    [
        (THREE, 3, (0, 1, 2)),
        (THREE.astype(np.int8), "auto", (0, 1, 2)),
        (THREE.astype(float), 3, (0, 1, 2)),
        (THREE.tolist(), 3, (0, 1, 2)),
        (THREE.astype(object), 3, (0, 1, 2)),
        (THREE.astype(str), 3, (0, 1, 2)),
        (THREE, 5, (0, 1, 2, 3, 4)),
        (THREE + 1, 3, (1, 2, 3)),
        (THREE - 1, 3, (-1, 0, 1)),
        (10 * THREE, "auto", (0, 10, 20)),
        (THREE / 2, 3, (0.0, 0.5, 1.0)),
        (np.array(["high", "low", "mid"])[THREE], 3, ("high", "low", "mid")),
        (pd.DataFrame(THREE), 3, (0, 1, 2)),
        (pd.DataFrame(THREE, dtype="Int64"), 3, (0, 1, 2)),
        (pd.DataFrame(np.array(["a", "b", "c"])[THREE]), "auto", ("a", "b", "c")),
    ],
)
def test_levels_become_states_and_are_given_back(X, n_states, levels):
    states = check_states(X, n_states=n_states)
    assert states.coding == levels
    assert states.n_states == len(levels)
    assert states.values.dtype == np.int8
    np.testing.assert_array_equal(states.values, THREE)
    np.testing.assert_array_equal(decode(states.values, states.coding), np.asarray(X).astype(type(levels[0])))
    again = check_states(X, levels=states.coding)
    np.testing.assert_array_equal(again.values, THREE)
    assert again.coding == levels


def test_two_states_of_any_coding():
    for X, levels in ((TABLE, (0, 1)), (2 * TABLE - 1, (-1, 1)), (TABLE.astype(bool), (False, True))):
        for n_states in (2, "auto"):
            states = check_states(X, n_states=n_states)
            assert states.coding == levels
            np.testing.assert_array_equal(states.values, TABLE)
            np.testing.assert_array_equal(decode(states.values, states.coding), X)


def test_categories_have_the_order_that_pandas_says():
    levels = ["never", "sometimes", "always"]
    X = pd.DataFrame(np.array(levels)[THREE]).astype(pd.CategoricalDtype(levels, ordered=True))
    for n_states in (3, "auto"):
        states = check_states(X, n_states=n_states)
        assert states.coding == tuple(levels)
        np.testing.assert_array_equal(states.values, THREE)
    # A level that no row shows is a level all the same.
    few = check_states(X.where(X != "always", "never"), n_states="auto")
    assert few.coding == tuple(levels)
    np.testing.assert_array_equal(few.values, np.where(THREE == 2, 0, THREE))


def test_levels_in_an_order_of_their_own():
    levels = ("never", "sometimes", "always")
    states = check_states(np.array(levels)[THREE], levels=levels)
    np.testing.assert_array_equal(states.values, THREE)
    np.testing.assert_array_equal(check_states(THREE, levels=(2, 0, 1)).values, np.array([1, 2, 0])[THREE])
    with pytest.warns(ConstantColumnWarning):
        np.testing.assert_array_equal(check_states(np.array([["always"]]), levels=levels).values, [[2]])


@pytest.mark.parametrize("text", [False, True])
def test_missing_levels(text):
    X = np.array(["a", "b", "c"], dtype=object)[THREE] if text else THREE.astype(float)
    X[0, 0] = X[3, 2] = None if text else np.nan
    with pytest.raises(
        DataError,
        match=r"but 2 are missing in 2 column\(s\), the first in row 0",
    ):
        check_states(X, n_states=3)
    expected = THREE.copy()
    expected[0, 0] = expected[3, 2] = -1
    for option in ({"n_states": 3}, {"n_states": "auto"}, {"levels": ("a", "b", "c") if text else (0, 1, 2)}):
        np.testing.assert_array_equal(check_states(X, missing=True, **option).values, expected)
    X[:, 1] = X[0, 0]
    with pytest.raises(DataError, match=r"all are missing in 1 column\(s\): '1'"):
        check_states(X, missing=True, n_states=3)


def three(value, dtype=float):
    X = THREE.astype(dtype)
    X[2, 1] = value
    return X


@pytest.mark.parametrize(
    ("X", "option", "message"),
    [
        (
            three(7),
            {"n_states": 3},
            r"X must contain states from 0 to 2, .*, the first is 7 in row 2, column '1'; recode the 4",
        ),
        (
            three(-1),
            {"n_states": 3},
            r"states from 0 to 2, .* the first is -1 in row 2, column '1'",
        ),
        (
            three(0.5),
            {"n_states": 3},
            r"states from 0 to 2, .* the first is 0\.5 in row 2, column '1'",
        ),
        (
            three(np.inf),
            {"n_states": 3},
            r"states from 0 to 2, .* the first is inf in row 2, column '1'",
        ),
        (three(np.inf), {"n_states": "auto"}, r"X must have from 2 to 127 finite levels, got 4 "),
        (
            three("x", object),
            {"n_states": 3},
            r"levels of one type, got 0 in row 0, column '0' and texts",
        ),
        (
            three(3, "<U2"),
            {"levels": ("0", "1", "2")},
            r"the levels '0', .*'2' only, .* the first is '3'",
        ),
        (three(7), {"levels": (0, 1, 2)}, r"the levels 0, 1, 2 only, .* the first is 7\.0 in row 2, column '1'"),
        (three("x", object), {"levels": (0, 1, 2)}, r"numbers, got 'x' in row 2, column '1'; code .* as 0, 1, 2"),
        (
            np.array([["a", "b"], ["c", "d"]]),
            {"n_states": 3},
            r"X must have 3 levels \(n_states=3\), got 4 \('a', .*'d'\)",
        ),
        (
            np.arange(300).reshape(150, 2),
            {"n_states": "auto"},
            r"X must have from 2 to 127 finite levels, got 300 .*; merge levels until they are at most 127\.$",
        ),
        (np.zeros((3, 2)), {"n_states": "auto"}, r"X must have from 2 to 127 finite levels, got 1 \(0\)"),
        (THREE, {"n_states": 1}, r"n_states must be .*, got 1"),
        (THREE, {"n_states": 2.5}, r"n_states must be .*, got 2\.5"),
        (THREE, {"n_states": "many"}, r"n_states must be .*, got 'many'"),
        (THREE, {"levels": (0, 1, 1)}, r"levels must be from 2 to 127 different values, got 0, 1, 1"),
    ],
)
def test_tables_and_levels_that_do_not_go_together(X, option, message):
    with pytest.raises(DataError, match=message):
        check_states(X, **option)


@pytest.mark.parametrize("n_states", ["auto", "keep"])
def test_levels_that_are_written_in_two_ways_are_named(n_states):
    X = pd.DataFrame({"a": ["no", "yes", "Yes"], "b": ["Yes", "no", "yes"]})
    if n_states == "keep":
        X = X.apply(lambda column: pd.Categorical(column, ["no", "yes", "Yes"], ordered=True))
    with pytest.warns(
        LevelsWarning, match="'[Yy]es' and '[Yy]es' of X differ in upper and lower case or in spaces only"
    ):
        check_states(X, n_states=n_states)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_states(X.astype(str).replace("Yes", "yess"), n_states="auto")


@pytest.mark.parametrize("n_states", ["auto", "keep"])
@pytest.mark.parametrize(
    "word", ["refused", "Don't know", "(-8) Not applicable", "DK/NA", "9. Refused", "no answer", "missing"]
)
def test_levels_that_say_that_there_is_no_answer_are_named(word, n_states):
    """As pandas reads the labels of Stata's and SPSS's codes."""
    levels = ["no", "yes", word]
    X = pd.DataFrame({"a": levels, "b": levels[::-1]}).apply(lambda c: pd.Categorical(c, levels, ordered=True))
    with pytest.warns(LevelsWarning, match=f"of X counts like the others; replace {re.escape(repr(word))} by NaN if"):
        check_states(X, n_states=n_states)
    fine = ["never", "none", "I know", "dkw"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_states(pd.DataFrame({"a": fine, "b": fine}), n_states="auto")


@pytest.mark.parametrize("values", [[99.0, 99.0], [-9.0, 4.0], [2.25, 1.75]])
def test_values_outside_the_levels_that_become_levels_are_named(values, rng):
    X = pd.DataFrame(rng.integers(1, 6, (100, 2)).astype(float), columns=["a", "b"])
    X.loc[100] = values
    with pytest.warns(LevelsWarning, match=r"of X \([12] values\) lie outside the levels 1 to 5, and become levels"):
        check_states(X, n_states="merge")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_states(X.iloc[:100], n_states="merge")


CELLS = {
    "header": ([[np.nan, np.nan], ["a", "b"], [1, 0]], r"leave out this row, .* \(pandas.read_excel: header=2\), else"),
    "date": ([[pd.Timestamp(0), 1], [pd.Timestamp(1), 0]], "drop the column if it is no answer, else code the states"),
    "text": ([["a", 1], ["b", 0]], "; code the states as"),
}


@pytest.mark.parametrize("case", CELLS)
def test_the_remedy_for_a_cell_that_is_no_number(case):
    rows, message = CELLS[case]
    with pytest.raises(DataError, match=message):
        check_states(pd.DataFrame(rows), missing=True)


# What strangers give


@pytest.mark.parametrize("dtype", [int, float, bool])
def test_masked_values_are_missing(dtype):
    X = np.ma.masked_array((TABLE == 1).astype(dtype), GONE)
    for given in (X, np.ma.masked_array(X.data, GONE, fill_value=1)):
        states = check_states(given, missing=True)
        np.testing.assert_array_equal(states.values, WITH_GAPS)
        assert states.coding == ("bool" if dtype is bool else "01")
        with pytest.raises(DataError, match=r"3 are missing in 3 column\(s\), the first in row 0"):
            check_states(given)
    np.testing.assert_array_equal(check_states(np.ma.masked_array(TABLE)).values, TABLE)
    levels = np.ma.masked_array(THREE, GONE)
    found = check_states(levels, missing=True, n_states=3).values
    np.testing.assert_array_equal(found, np.where(GONE, -1, THREE))
    texts = np.ma.masked_array(np.array(["a", "b", "c"])[THREE], GONE)
    np.testing.assert_array_equal(check_states(texts, missing=True, n_states=3).values, np.where(GONE, -1, THREE))
    hidden = np.ma.masked_array(np.where(GONE, 99, TABLE), GONE)  # what a mask hides is not looked at
    np.testing.assert_array_equal(check_states(hidden, missing=True).values, WITH_GAPS)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_tables_of_many_makers_are_alike():
    gaps = pd.DataFrame(TABLE).mask(GONE)
    for X in (
        TABLE.view(np.matrix),
        tuple(map(tuple, TABLE)),
        pd.DataFrame(TABLE).astype(pd.SparseDtype(int, 0)),
        pd.DataFrame(TABLE).astype({0: bool, 1: "Int8", 2: float}),
        pd.DataFrame(TABLE).astype(object),
        pd.DataFrame(TABLE, columns=pd.MultiIndex.from_product([["q"], [1, 2, 3]])),
    ):
        np.testing.assert_array_equal(check_states(X).values, TABLE)
    xr = pytest.importorskip("xarray")
    np.testing.assert_array_equal(check_states(xr.DataArray(TABLE)).values, TABLE)
    for X in (gaps.astype("Int64"), gaps.astype("boolean"), gaps.astype(pd.SparseDtype(float)), gaps.astype(object)):
        np.testing.assert_array_equal(check_states(X, missing=True).values, WITH_GAPS)
    pytest.importorskip("pyarrow")
    for dtype in ("int64[pyarrow]", "bool[pyarrow]", "double[pyarrow]"):
        np.testing.assert_array_equal(check_states(gaps.astype(dtype), missing=True).values, WITH_GAPS)


def test_tables_that_are_not_of_pandas(rng):
    table = pd.DataFrame(TABLE, columns=list("abc"))
    gaps = table.astype(object).mask(GONE)
    np.testing.assert_array_equal(check_states(NotOfPandas(table)).values, TABLE)
    np.testing.assert_array_equal(check_states(NotOfPandas(gaps), missing=True).values, WITH_GAPS)
    np.testing.assert_array_equal(check_states(NotOfPandas(table[list("cab")]), names=tuple("abc")).values, TABLE)
    words = table.apply(lambda column: pd.Categorical.from_codes(column, ["no", "a bit"], ordered=True))
    ordered = check_states(NotOfPandas(words), n_states="keep")
    np.testing.assert_array_equal(ordered.values, TABLE)
    assert ordered.coding.columns == (("no", "a bit"),) * 3
    answers, est = pd.DataFrame(rng.integers(0, 3, (50, 2)), columns=["a", "b"]), MaximumLikelihoodMRF()
    np.testing.assert_array_equal(est.fit(NotOfPandas(answers)).theta_, est.fit(answers).theta_)
    assert est.model_ == "ordinal"
    assert list(est.feature_names_in_) == ["a", "b"]


@pytest.mark.parametrize("word", [" ", "NA", "", " n/a ", "null", "nan"])
def test_texts_for_missing_values(word):
    """They are missing among numbers and among texts, in arrays, lists and categories."""
    numbers, texts = with_value(word, dtype=object), np.array(["no", "yes"], dtype=object)[TABLE]
    wanted = with_value(-1, dtype=int)
    for X in (numbers, numbers.astype(str), numbers.tolist()):
        np.testing.assert_array_equal(check_states(X, missing=True).values, wanted)
        with pytest.raises(DataError, match=r"X must not have missing values .*, the first in row 2, column '1'"):
            check_states(X)
    texts[2, 1] = word
    kind = pd.CategoricalDtype(["no", word, "yes"], ordered=True)
    for X in (texts, texts.astype(str), texts.tolist(), pd.DataFrame(texts), pd.DataFrame(texts).astype(kind)):
        states = check_states(X, n_states="auto", missing=True)
        np.testing.assert_array_equal(states.values, wanted)
        assert states.coding == ("no", "yes")
    states = check_states(pd.DataFrame(texts).astype(kind), n_states="keep", missing=True)
    np.testing.assert_array_equal(states.values, wanted)
    assert states.coding.columns == (("no", "yes"),) * 3


def test_a_missing_value_in_a_list_of_texts_is_no_text():
    for gap in (np.nan, None, pd.NA):
        states = check_states([["x", "y"], ["y", gap], ["x", "x"]], n_states="auto", missing=True)
        np.testing.assert_array_equal(states.values, [[0, 1], [1, -1], [0, 0]])
        assert states.coding == ("x", "y")
    with pytest.raises(DataError, match="X must have levels of one type, got 1 in row 1"):
        check_states([["x", "y"], ["y", 1]], n_states="auto")


def test_spaces_around_texts_are_left_out():
    X = np.array([["yes ", "no"], ["no", " yes"], ["yes", "no"]])
    categories = pd.CategoricalDtype(["no", "no ", "yes", "yes ", " yes"])
    for table in (X, pd.DataFrame(X), pd.DataFrame(X).astype(categories)):
        found = check_states(table, n_states="auto")
        assert found.coding == ("no", "yes")
        np.testing.assert_array_equal(found.values, [[1, 0], [0, 1], [1, 0]])


def test_columns_that_are_not_read():
    """Their values may be anything; those of others are checked."""
    X = pd.DataFrame({"a": [1, 0, 1], "b": [np.nan, 99, 1]})
    np.testing.assert_array_equal(check_states(X, names=("a", "b"), unused=[1]).values[:, 0], X["a"])
    np.testing.assert_array_equal(check_states(X, names=("b", "a"), unused=[0]).values[:, 1], X["a"])
    with pytest.raises(DataError, match="column 'b'"):
        check_states(X, names=("a", "b"), unused=[0])


@pytest.mark.parametrize("word", ["?", "None", "missing"])
def test_words_for_missing_values_are_no_numbers(word):
    X = with_value(word, dtype=object)
    with pytest.raises(DataError, match=r"X must contain numbers, got '.*' in row 2, column '1'; replace .* by NaN"):
        check_states(X, missing=True)


@pytest.mark.parametrize("first", ["0,1,0,0,1", "1,1,2", "No,Yes,No", "1,3,3,2"])
@pytest.mark.parametrize("gone", [False, True])
def test_a_row_that_became_the_header_is_missed(first, gone):
    row = first.split(",")
    text = "\n".join(
        [first, *(",".join(np.roll(row, k)) for k in range(len(row))), "," * (len(row) - 1)][: None if gone else -1]
    )
    with pytest.raises(DataError, match=r"must have names of columns, not values .*header=None"):
        check_states(pd.read_csv(io.StringIO(text), skip_blank_lines=False), missing=True, n_states="auto")
    given = pd.read_csv(io.StringIO(text), header=None, skip_blank_lines=False)
    assert len(check_states(given, missing=True, n_states="auto").values) == 1 + len(row)


def test_rows_that_spss_selects_are_no_answer():
    rows = pd.DataFrame([[0, 1, 0], [1, 0, 1]], columns=["a", "b", "filter_$"])
    with pytest.raises(DataError, match=r"must contain answers, got column 'filter_\$', .* drop the column"):
        check_states(rows)
    assert check_states(rows.rename(columns={"filter_$": "filter"})).names == ("a", "b", "filter")


def test_the_same_as_polars_numbers_names():
    rows = pd.DataFrame([[0, 1, 0], [1, 0, 1]], columns=["0", "1", "0_duplicated_0"])
    with pytest.raises(DataError, match="must have names of columns, not values"):
        check_states(rows)


@pytest.mark.parametrize("names", [["1", "2", "3"], ["1", "1.5", "2"], ["q1", "q1.1", "q1.2"], ["7", "7.1", "7.2"]])
def test_names_that_are_not_values_of_their_columns_are_taken(names):
    rows = np.random.default_rng(0).integers(1, 4, (20, len(names)))
    assert check_states(pd.DataFrame(rows, columns=names), n_states="keep").names == tuple(names)


def test_names_must_differ():
    for names in (["a", "b", "a"], [1, "1", 2]):
        with pytest.raises(DataError, match=r"X must have unique column names, but '[a1]' occurs twice"):
            check_states(pd.DataFrame(TABLE, columns=names))
    assert check_states(pd.DataFrame(TABLE, columns=["", 0, 1.5])).names == ("", "0", "1.5")


def test_codes_and_identifiers_are_named(rng):
    X = frame(rng.integers(0, 2, (60, 3)))
    spoilt = X.mask(np.arange(180).reshape(60, 3) == 7, -9)
    with pytest.raises(
        DataError, match=r"first is -9 in row 2, column 'works'; replace -9 by NaN .*the levels are 0 and 1"
    ):
        check_states(spoilt)
    with pytest.raises(DataError, match=r"not answers: 'id' \(the first looks like an identifier\)"):
        check_states(X.assign(id=range(60)))
    with pytest.raises(DataError, match=r"'years' .* a different scale than the others, whose levels are 0 and 1\)"):
        check_states(X.assign(years=rng.integers(18, 80, 60)))
    with pytest.raises(DataError, match=r"one coding, but 0/1 and -1/\+1 are mixed .* replace 0 or -1 by NaN"):
        check_states(X.mask(np.arange(180).reshape(60, 3) == 7, -1))
    Y = frame(rng.integers(1, 6, (60, 3)))
    with pytest.raises(DataError, match=r"X must contain answers only: .* 'id' .*, or set n_states=6\d if"):
        check_states(Y.assign(id=range(60)), n_states="auto")
    with pytest.raises(
        DataError, match=r"replace 99 by NaN if it codes missing values \(the levels are 1 to 5\), or set n"
    ):
        check_states(Y.mask(Y == 3, 99).mask(rng.random((60, 3)) < 0.3, 3), n_states="auto")
    assert check_states(Y.replace(3, 99), n_states=5).coding == (1, 2, 4, 5, 99)  # said to be answers
    texts = frame(np.array(["no", "yes"])[rng.integers(0, 2, (60, 3))])
    with pytest.raises(DataError, match=r"'who' \(the first looks like an identifier\)"):
        check_states(texts.assign(who=[f"P{i}" for i in range(60)]), n_states="auto")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ma.masked_array([1, 2, 3, 4], [0, 1, 0, 0]), "got nan in row 1"),
        (pd.array([1, 2, None, 4], dtype="Int64"), "got nan in row 2"),
        ([1, 2, None, 4], "got nan in row 2"),
        (["1", "2", "3", "4"], "contain numbers, .* got '1' in row 0"),
        ([1, 2, 3, "4"], "contain numbers, .* got '4' in row 3"),
        ([[1], [2, 3], [4], [5]], "contain numbers"),
        ([1, 2, 1 - 1e-9, 4], "got 0.999999999 in row 2"),
        ([1, 2, 3, 4j], "contain numbers"),
        ([1.5, 2, 3.5, 4], "got 1.5 in row 0 and others in 1 more"),
        ([1, 2, 3, np.inf], "got inf in row 3"),
        ([[1], [2], [3], [4]], r"got shape \(4, 1\)"),
        ([1, 2, 3, 1e15], r"sum to at most 1,000,000,000,000, got a sum of 1,000,000,000,000,006; divide"),
        ({"a": 1}, "contain numbers"),
    ],
)
def test_weights_of_every_kind_that_are_no_counts(weights, message):
    with pytest.raises(DataError, match=f"^sample_weight must .*{message}"):
        check_states(TABLE, sample_weight=weights)


def test_weights_of_every_kind_that_are_counts():
    for given in (
        [1, 2, 3, 4],
        (1.0, 2.0, 3.0, 4.0),
        pd.Series([1, 2, 3, 4], index=list("abcd")),
        pd.array([1, 2, 3, 4], dtype="Int64"),
        np.ma.masked_array([1, 2, 3, 4]),
        np.array([1, 2, 3, 4], dtype=object),
    ):
        np.testing.assert_array_equal(check_states(TABLE, sample_weight=given).weights, [1, 2, 3, 4])


def test_weights_with_labels_must_have_those_of_the_table():
    X = pd.DataFrame(TABLE, index=list("abcd"))
    right = pd.Series([1, 2, 3, 4], index=list("abcd"))
    np.testing.assert_array_equal(check_states(X, sample_weight=right).weights, [1, 2, 3, 4])
    np.testing.assert_array_equal(check_states(X, sample_weight=right.to_numpy()).weights, [1, 2, 3, 4])
    for wrong in (right[::-1], right.reset_index(drop=True)):
        with pytest.raises(
            DataError, match=r"sample_weight must have the index of X, in the same order, got another one"
        ):
            check_states(X, sample_weight=wrong)
    np.testing.assert_array_equal(check_states(X, sample_weight=right[::-1].reindex(X.index)).weights, [1, 2, 3, 4])


def test_large_weights_are_not_listed():
    states = check_states(TABLE, sample_weight=[10**11, 1, 1, 3 * 10**11])
    assert states.n_samples == 4 * 10**11 + 2
    with pytest.raises(
        DataError, match=r"sample_weight must sum to at most 16,666,666 here, .*, got a sum of 400,000,"
    ):
        states.rows  # noqa: B018
    np.testing.assert_array_equal(states.spread(4), TABLE[[0, 3, 3, 3]])


def test_observations_are_evenly_spread():
    weights = [3, 0, 1, 4]
    for states in (check_states(TABLE, sample_weight=weights), check_states(np.repeat(TABLE, weights, axis=0))):
        np.testing.assert_array_equal(states.spread(8), states.rows)
        np.testing.assert_array_equal(states.spread(4), states.rows[1::2])
        np.testing.assert_array_equal(states.spread(16), np.repeat(states.rows, 2, axis=0))
    assert states.row_numbers.tolist() == list(range(8))
    assert check_states(TABLE, sample_weight=weights).row_numbers.tolist() == [0, 0, 0, 2, 3, 3, 3, 3]
