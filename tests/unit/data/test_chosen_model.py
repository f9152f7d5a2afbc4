"""The model and the method that the levels of the data choose."""

import logging

import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, MaximumLikelihoodMRF, SpikeSlabMRF, families
from bayesmrf.data.chosen_model import choose_model, ordered_column
from bayesmrf.errors import DataError, LevelsWarning, OptionError
from bayesmrf.models import Potts

QUICK = {"n_draws": 5, "n_warmup": 5, "n_chains": 1, "progress": False, "random_state": 1}
FOUR = np.tile(np.arange(4), 15)  # levels 0 to 3
TWO = np.tile([0, 1, 1, 0, 1], 12)
WORDS = pd.Series(pd.Categorical.from_codes(FOUR, ["never", "seldom", "often", "always"], ordered=True))

ORDERED = {
    "integers from 0": (np.column_stack([TWO, FOUR]), "1"),
    "integers from 1": (pd.DataFrame({"a": FOUR + 1, "b": FOUR + 1}), "a"),
    "with missing values": (pd.DataFrame({"a": TWO, "b": np.where(TWO == 1, np.nan, FOUR)}), "b"),
    "objects": (pd.DataFrame({"a": TWO, "b": [None, *FOUR[1:]]}, dtype=object), "b"),
    "ordered categories": (pd.DataFrame({"a": TWO, "words": WORDS}), "words"),
    "unused ordered categories": (pd.DataFrame({"a": WORDS.iloc[[0, 1, 0, 1]], "b": [0, 1, 1, 0]}), "a"),
    "a list": ([[0, 2], [1, 1], [0, 0]], "1"),
}
NOT_ORDERED = {
    "yes/no": np.column_stack([TWO, 1 - TWO]),
    "booleans": np.column_stack([TWO, 1 - TWO]).astype(bool),
    "two levels a column": np.column_stack([TWO, TWO + 1]),
    "negative": np.column_stack([TWO, FOUR - 1]),
    "no integers": np.column_stack([TWO, FOUR / 2]),
    "too many": np.column_stack([np.arange(60) % 13, (np.arange(60) * 7) % 13]),
    "texts": pd.DataFrame({"a": np.array(["red", "green", "blue", "grey"])[FOUR], "b": FOUR}),
    "unordered categories": pd.DataFrame({"a": WORDS.astype(str).astype("category")}),
    "two ordered categories": pd.DataFrame({"a": pd.Categorical(["no", "yes"], ordered=True)}),
    "a code": np.column_stack([np.tile(FOUR, 4), np.append(np.tile(FOUR, 4)[:-2], [9, 9])]),
    "a code beyond 12": np.column_stack([np.tile(FOUR, 4), np.append(np.tile(FOUR, 4)[:-2], [99, 99])]),
    "an identifier": pd.DataFrame({"id": np.arange(60), "b": FOUR, "c": FOUR}),
    "nothing": np.zeros((0, 3)),
    "a vector": FOUR,
}


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.LevelsWarning")  # of a list with few rows
@pytest.mark.parametrize("case", ORDERED)
def test_ordered_levels_are_found(case):
    X, column = ORDERED[case]
    assert ordered_column(X) == column
    assert choose_model(X, None, "ising") == "ordinal"


@pytest.mark.parametrize("case", NOT_ORDERED)
def test_other_tables_have_none(case):
    assert ordered_column(NOT_ORDERED[case]) is None
    assert choose_model(NOT_ORDERED[case], None, "ising") == "ising"


@pytest.mark.parametrize("case", [c for c in NOT_ORDERED if c not in ("yes/no", "booleans")])
def test_what_is_neither_yes_no_nor_ordered_is_refused(case):
    with pytest.raises(DataError):
        SpikeSlabMRF(**QUICK).fit(NOT_ORDERED[case])


MANY = np.tile(FOUR, 4)
SCALE = pd.concat([WORDS] * 4, ignore_index=True)
SPOILT = {
    "a code": ({"tired": np.append(MANY[:-20] + 1, [99] * 20)}, "99 .* outside the levels 1 to 4, .*replace 99 by NaN"),
    "a negative code": ({"tired": np.append(MANY[:-20], [-9] * 20)}, "replace -9 by NaN"),
    "another scale": (
        {"tired": MANY, "age": 30 + np.arange(240) % 10},
        "column 'age' .* different scale.*drop columns",
    ),
    "a scale of its own": (
        {"ill": SCALE, "age": 30 + np.arange(240) % 10},
        "column 'age' .* different scale.*drop columns",
    ),
    "an identifier": ({"id": np.arange(240)}, "column 'id' .* identifier.*drop columns"),
    "a rare -1": ({"tired": MANY - 1}, "replace -1 by NaN if it codes missing values"),
    "negative": ({"tired": MANY - 2}, "integers from 0 next to ordered categories, got -2 in column 'tired'"),
    "no integers": ({"tired": MANY / 2}, r"no scale of answers: 'tired' \(4 numbers from 0 to 1.5\)"),
}


@pytest.mark.parametrize("case", SPOILT)
def test_columns_next_to_ordered_categories_must_be_answers(case):
    """Until the ordinal model is named."""
    more, message = SPOILT[case]
    X = pd.DataFrame({"sad": SCALE, **more})
    with pytest.raises(DataError, match=f"X must contain .*{message}.*or set model='ordinal' if all values") as e:
        SpikeSlabMRF(**QUICK).fit(X)
    assert "\n" not in str(e.value)
    if case == "negative":
        X["tired"] = np.sort(X["tired"].to_numpy())  # no copy of the other
        assert SpikeSlabMRF(model="ordinal", **QUICK).fit(X).model_ == "ordinal"


def test_answers_next_to_ordered_categories(rng):
    """Other scales, yes/no columns and booleans."""
    two = pd.Categorical.from_codes(MANY % 2, ["no", "yes"], ordered=True)
    for more in (MANY, MANY + 1, MANY % 2, MANY % 2 == 1, rng.integers(0, 11, 240), np.where(MANY == 1, np.nan, 2)):
        assert ordered_column(pd.DataFrame({"more": more, "two": two, "sad": SCALE})) == "sad"


ESTIMATORS = {
    "spike and slab": (SpikeSlabMRF, QUICK, "boltzmann"),
    "parameters": (BayesianMRF, QUICK, "boltzmann"),
    "maximum likelihood": (MaximumLikelihoodMRF, {}, "agreement"),
    "groups of people": (CompareMRF, QUICK, "boltzmann"),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_chosen_model_is_the_named_one_and_it_is_said(name, rng, caplog):
    kind, options, yes_no = ESTIMATORS[name]
    more = [np.repeat([0, 1], 30)] if kind is CompareMRF else []
    levels, answers = rng.integers(0, 3, (60, 3)), rng.integers(0, 2, (60, 3))
    est = kind(**options)
    with caplog.at_level(logging.INFO, "bayesmrf"):
        for X, model in ((levels, "ordinal"), (answers, yes_no)):  # refitted: the choice is made again
            caplog.clear()
            est.fit(X, *more)
            named = kind(model=model, **options).fit(X, *more)
            assert est.model_ == named.model_ == model
            np.testing.assert_array_equal(est.theta_, named.theta_)
            assert ("The model is ordinal, as column '0' has" in caplog.text) == (model == "ordinal")
    assert est.model == "auto"


def test_a_stray_level_in_a_table_of_two_is_warned_of(rng, recwarn):
    X = pd.DataFrame(rng.integers(1, 3, (100, 3)), columns=list("abc"))
    X.iloc[:2] = 1, 2, 1
    X.loc[[3, 4], "b"] = 3
    X.loc[5, "c"] = 3
    message = r"'b' has the value 3 in 2 of 100 rows, as have 1 other column\(s\), where all other answers are 1 or 2;"
    with pytest.warns(LevelsWarning, match=f"'auto' is ordinal only because column {message}") as found:
        assert MaximumLikelihoodMRF().fit(X).model_ == "ordinal"
    assert len(found) == 1
    assert found[0].filename == __file__
    X.loc[10:13, "b"] = 3  # too many to be mistakes
    MaximumLikelihoodMRF().fit(X)
    MaximumLikelihoodMRF().fit(X.assign(d=rng.integers(0, 5, 100), b=X["a"].sample(frac=1, random_state=1).to_numpy()))
    MaximumLikelihoodMRF(model="ordinal").fit(X)
    assert not recwarn.list


def test_levels_that_never_occur_are_not_stray(rng):
    kind = pd.CategoricalDtype([0, 1, 2], ordered=True)
    X = pd.DataFrame({name: pd.Categorical(rng.integers(0, 2, 50), dtype=kind) for name in "ab"})
    assert choose_model(X, None, "boltzmann") == "ordinal"


def test_stray_levels_are_counted_by_weights(recwarn):
    X = pd.DataFrame([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)] + [[2, 0, 0], [2, 1, 1]])
    few, many = np.r_[np.full(8, 50), 1, 1], np.r_[np.full(8, 50), 300, 300]
    with pytest.warns(LevelsWarning, match="column '0' has the value 2 in 2 of 402 rows"):
        MaximumLikelihoodMRF().fit(X, sample_weight=few)
    recwarn.clear()
    MaximumLikelihoodMRF().fit(X.iloc[:9], sample_weight=many[:9])  # one row of the table, but 300 observations
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.PriorWarning")  # of some random answers
def test_the_method_follows_the_number_of_joint_states(rng):
    levels = rng.integers(0, 3, (40, 13))
    for n_nodes, method in ((3, "exact"), (13, "reversible-jump")):
        est = SpikeSlabMRF(**QUICK).fit(levels[:, :n_nodes])
        assert (est.model_, est.method_) == ("ordinal", method)
        assert est.posterior_.attrs["method"] == method
    for n_nodes, method in ((3, "exact"), (17, "reversible-jump")):
        assert SpikeSlabMRF(**QUICK).fit(rng.integers(0, 2, (40, n_nodes))).method_ == method
    assert SpikeSlabMRF(model="potts", **QUICK).fit(levels[:, :3]).method_ == "exact"


@pytest.mark.parametrize(
    ("build", "key"),
    [
        (SpikeSlabMRF, "method__n_particles"),
        (GroupedMRF, "method__n_particles"),
        (CompareMRF, "method__n_particles"),
        (BayesianMRF, "kernel__step_size"),
        (SpikeSlabMRF, "model__unused"),
    ],
)
def test_options_wait_for_a_choice(build, key):
    """Before a fit and after one: the options of one method would choose it, whatever the data."""
    name, estimator = key.partition("__")[0], build()
    estimator.method_, estimator.model_ = "exact", "ordinal"  # as a fit sets them
    with pytest.raises(OptionError, match=f"^{name} must be chosen before {key} is set, got 'auto'; set {name} to"):
        estimator.set_params(**{key: 64})


def test_options_of_a_choice():
    est = SpikeSlabMRF(method="reversible-jump", model="ordinal", **QUICK)
    est.set_params(prior__density=0.3, method__n_iterations=2, model__unused="merge")
    assert (est.prior.density, est.method.n_iterations) == (0.3, 2)
    assert est.model == families.Ordinal(unused="merge")
    with pytest.raises(OptionError, match="method__width must be a parameter that exists"):
        est.set_params(method__width=1)
    both = SpikeSlabMRF().set_params(method="reversible-jump", method__n_particles=64)  # the choice comes first
    assert both.method.n_particles == 64


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.PriorWarning")
def test_parameters_of_states_have_the_names_of_levels(rng):
    """Numbers of states were taken for answers: sad=3 was the threshold of answer 4."""
    X = pd.DataFrame({"sad": rng.integers(1, 5, 80), "up": rng.integers(0, 2, 80)})
    few = {"n_draws": 5, "n_warmup": 5, "n_chains": 1, "progress": False}
    names = ["sad=2", "sad=3", "sad=4", "up=1"]
    for est in (BayesianMRF(**few), SpikeSlabMRF(**few), GroupedMRF(**few), MaximumLikelihoodMRF()):
        assert list(est.fit(X).feature_names_) == ["sad-up", *names]
    gaps = X.astype(float)
    gaps.iloc[0, 0] = np.nan
    assert list(BayesianMRF(**few).fit(gaps).feature_names_[1:]) == names
    words = pd.CategoricalDtype(["never", "often", "always"], ordered=True)
    texts = pd.DataFrame({"sad": pd.Categorical(np.resize(words.categories, 80), dtype=words), "up": X["up"]})
    assert list(SpikeSlabMRF(**few).fit(texts).feature_names_[1:]) == ["sad=often", "sad=always", "up=1"]


def test_states_that_the_data_do_not_have_are_numbers(rng):
    """Of a model with three states for data with two levels."""
    few = {"n_draws": 5, "n_warmup": 5, "n_chains": 1, "progress": False}
    est = BayesianMRF(model=lambda graph: Potts(graph, 3), **few).fit(pd.DataFrame(rng.integers(0, 2, (50, 2))))
    assert list(est.feature_names_) == ["0-1", "0=1", "0=2", "1=1", "1=2"]
    tenths = pd.DataFrame({"a": rng.integers(1, 4, 50) / 10, "b": rng.integers(1, 4, 50) / 10})
    est = BayesianMRF(model="potts", **few).fit(tenths)
    assert list(est.feature_names_) == ["a-b", "a=0.2", "a=0.3", "b=0.2", "b=0.3"]
