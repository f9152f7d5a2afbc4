"""What the columns of a table are: read from words, labels and numbers, said by a user, edited, and given back."""

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesmrf import RBM, BayesianMRF, Beta, CompareMRF, MaximumLikelihoodMRF, SpikeSlabMRF, load, log_evidence, save
from bayesmrf.cli.common import spoken_warnings
from bayesmrf.data import Codebook, prepare, read_columns
from bayesmrf.data.column_options import ColumnOptions
from bayesmrf.data.frames import frame_of
from bayesmrf.data.infer_columns import infer_columns, require_readable
from bayesmrf.data.known_words import SCALES, known_order, leading_numbers, yes_and_no
from bayesmrf.data.typed_table import typed
from bayesmrf.errors import ConstantColumnWarning, DataError, LevelsWarning, OptionError
from bayesmrf.priors import Cauchy, SpikeSlab
from tests.helpers.commands import one_sentence

QUICK = {"method": "exact", "n_draws": 20, "n_warmup": 10, "n_chains": 1, "random_state": 1, "progress": False}
SMALL = ["--method", "exact", "--n-draws", 20, "--n-warmup", 10, "--n-chains", 1, "--seed", 1]


@pytest.fixture
def made_up(data_folder):
    """The function that reads a table in which everyday trouble was made."""
    folder = Path(os.environ["BAYESMRF_DATA"]).parent / "tables"
    if not folder.exists():
        pytest.skip("the made-up tables are not here")
    return lambda name: pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""])


def levels(table, name):
    """Levels of a column in order, and whether they have one."""
    kind = table[name].dtype
    return list(kind.categories), kind.ordered


def kinds(table):
    return dict(zip(*read_columns(table)[["name", "kind"]].to_numpy().T, strict=True))


ORDERS = [
    ["Never", "Rarely", "Sometimes", "Often", "Always"],
    ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"],
    ["Disagree strongly", "Slightly disagree", "neutral", "agree a little", "agree strongly"],
    ["very dissatisfied", "dissatisfied", "satisfied", "very satisfied"],
    ["Not at all", "Several days", "More than half the days", "Nearly every day"],
    ["not at all worried", "slightly worried", "moderately worried", "very worried", "extremely worried"],
    ["not worried at all", "somewhat worried", "very worried"],
    ["Not true", "Somewhat true", "Certainly true"],
    ["never", "less than monthly", "monthly", "weekly", "daily or almost daily"],
    ["low", "medium", "high"],
    ["mild", "moderate", "severe"],
]


@pytest.mark.parametrize("words", ORDERS, ids=lambda words: words[0])
def test_known_words_are_in_order(words, rng):
    """Whatever the order in which they come, and whichever of them occur."""
    for n in range(2, len(words) + 1):
        some = sorted(rng.choice(len(words), n, replace=False))
        shuffled = rng.permutation([words[i] for i in some]).tolist()
        _, rank = known_order(shuffled)
        assert sorted(shuffled, key=rank.__getitem__) == [words[i] for i in some]


@pytest.mark.parametrize(
    "words",
    [["north", "south"], ["often", "red"], ["occasionally", "sometimes"], ["None", "Typical", "Atypical"], ["a", "b"]],
    ids=str,
)
def test_other_words_have_no_order(words):
    """Among them two that mean the same to some people, so that their order is for the user to say."""
    assert known_order(words) is None


def test_no_scale_has_a_word_twice():
    for scale in SCALES:
        words = [word for rank in scale.ranks for word in rank]
        assert len(set(words)) == len(words)


def test_words_of_yes_and_no():
    assert yes_and_no(["Yes", "NO"]) == (["NO"], ["Yes"])
    assert yes_and_no(["ja", "nein"]) == (["nein"], ["ja"])
    assert yes_and_no(["y", "n"]) == (["n"], ["y"])
    for others in (["f", "m"], ["yes", "maybe"], ["yes"], ["yes", "no", "unknown"], ["y", "f"]):
        assert yes_and_no(others) is None


def test_numbers_in_front_of_words():
    words = ["2 - Rarely", "10 Always", "1. Never"]
    assert sorted(words, key=leading_numbers(words).__getitem__) == ["1. Never", "2 - Rarely", "10 Always"]
    assert sorted(leading_numbers(["65+", "18-24", "25-64"]).values()) == [18, 25, 65]
    for others in (["2024-01-05", "2024-01-06"], ["1 a", "1 b"], ["1 a", "b"], ["3/4/2024", "4/4/2024"]):
        assert leading_numbers(others) is None


def test_never_to_always(made_up):
    table = made_up("never_to_always")
    typed = prepare(table)
    assert all(levels(typed, name) == (["Never", "Sometimes", "Often", "Always"], True) for name in typed)
    assert typed.astype(str).equals(table.astype(str))


def test_columns_of_a_scale_have_the_levels_of_all():
    """One column lacks "Often", which stays a level of it."""
    words = np.array(["never", "sometimes", "often", "always"])
    table = pd.DataFrame({"a": words[np.resize([0, 1, 2, 3], 80)], "b": words[np.resize([0, 1, 3], 80)]})
    assert levels(prepare(table), "b")[0] == words.tolist()


def test_text_in_three_columns(made_up):
    table = made_up("text_in_three_columns")
    with pytest.raises(DataError, match=r"\(1\) .*'date'.*\(2\) .*'job'.*\(3\) .*'sex' \(f, m\)"):
        require_readable(infer_columns(frame_of(table)))
    assert list(prepare(table, drop="date,job")) == ["q0", "q1", "q2", "q3", "q4", "sex"]
    with pytest.raises(DataError, match=r"'date'.*'job'"):
        prepare(table)


def test_ticked_or_blank(made_up):
    table = made_up("ticked_or_blank")
    with pytest.raises(DataError, match=r"'q0', 'q1', 'q2'.*one value.*blank may mean no.*no=\[''\]"):
        prepare(table)
    typed = prepare(table, no="")
    assert all(levels(typed, name) == (["no", "yes"], True) for name in table)
    assert ((typed == "yes") == (table == 1)).all(axis=None)
    assert not typed.isna().any(axis=None)
    assert kinds(table) == dict.fromkeys(table, "constant")


def test_a_slider_is_cut_at_equal_counts(made_up):
    table = made_up("slider")
    assert kinds(table) == dict.fromkeys(table, "number")
    with pytest.raises(DataError, match=r"4 column\(s\) are measurements.*cut=\['s0:4', 's1:4', 's2:4', 's3:4'\]"):
        prepare(table)
    typed = prepare(table, cut=["s0:4", "s1:4", "s2:4", "s3:4"])  # as the message says
    for name in table:
        counts = typed[name].value_counts()
        assert typed[name].cat.ordered
        assert len(counts) == 4
        assert counts.min() >= 25  # of 120: equal numbers stay together
        low = table[name].groupby(typed[name], observed=True).min()
        high = table[name].groupby(typed[name], observed=True).max()
        assert (high.to_numpy()[:-1] < low.to_numpy()[1:]).all()
        assert list(low.index) == [f"{a} to {b}" for a, b in zip(low, high, strict=True)]


def test_numbers_that_mean_what_they_say_stay(rng):
    table = pd.DataFrame({"a": rng.integers(0, 2, 50), "b": rng.integers(0, 2, 50) == 1, "c": np.resize([1, 2, 3], 50)})
    typed = prepare(table)
    assert all(typed[name] is not None and typed[name].dtype == table[name].dtype for name in table)
    assert kinds(table) == {"a": "yes/no", "b": "yes/no", "c": "ordered"}


def mixed(n=60):
    return pd.DataFrame(
        {
            "mood": np.resize(["good", "bad", "very good"], n),
            "sex": np.resize(["f", "m"], n),
            "age": np.arange(n) + 18,
            "q1": np.resize([1, 2, 4, 5], n),
            "done": np.resize(["ja", "nein", None], n),
        }
    )


CONSTANT = {
    "booleans": lambda: pd.Series([True] * 40),
    "nullable": lambda: pd.Series([True] * 40, dtype="boolean"),
    "some missing": lambda: pd.Series([True] * 38 + [None] * 2, dtype="boolean"),
    "objects": lambda: pd.Series([True] * 40, dtype=object),
    "Arrow": lambda: pd.Series([True] * 40, dtype="bool[pyarrow]"),
    "categories": lambda: pd.Series(pd.Categorical([True] * 40)),
    "one category of two": lambda: pd.Series(pd.Categorical(["yes"] * 40, ["no", "yes"])),
    "one text of two": lambda: pd.Series(pd.Categorical(["True"] * 40, ["False", "True"])),
    "texts": lambda: pd.Series(["True"] * 40),
}


@pytest.mark.parametrize("kind", CONSTANT)
def test_a_constant_boolean_column_is_read_as_the_same_integers(kind):
    column = CONSTANT[kind]()
    table = pd.DataFrame({"a": np.resize([0, 1, 1], 40), "b": np.resize([0, 1], 40)})
    given = []
    for c in (column, column.isna().map({True: np.nan, False: 1})):
        with pytest.warns(ConstantColumnWarning, match="'c'"):
            given.append(SpikeSlabMRF(**QUICK).fit(table.assign(c=c)))
    np.testing.assert_array_equal(given[0].theta_, given[1].theta_)
    new = table.assign(c=~column.head(40).astype(bool)) if column.dtype == bool else table.assign(c=column)
    assert np.isfinite(given[0].score_samples(new, average="mean")).all()


def test_texts_of_booleans_are_read_as_the_booleans(rng):
    x = pd.DataFrame(rng.integers(0, 2, (40, 3)).astype(bool), columns=list("abc"))
    same = [SpikeSlabMRF(**QUICK).fit(table).theta_ for table in (x, x.astype(str), x.assign(c=x["c"].astype(str)))]
    np.testing.assert_array_equal(same, same[:1] * 3)


def test_constant_booleans_of_polars_and_of_all_columns(rng):
    polars = pytest.importorskip("polars")
    x = rng.integers(0, 2, (40, 2)).astype(bool)
    numbers = pd.DataFrame(x, columns=["a", "b"]).assign(c=True)
    found = []
    for table in (numbers, polars.DataFrame(numbers.to_dict("list")), numbers.astype(int)):
        with pytest.warns(ConstantColumnWarning, match="'c'"):
            found.append(SpikeSlabMRF(**QUICK).fit(table).theta_)
    np.testing.assert_array_equal(found, found[:1] * 3)


def test_options_say_what_columns_are():
    table = mixed()
    typed = prepare(table, nominal="sex", cut={"age": 3}, reverse="mood", merge={"q1": [2, 3]}, levels=[1, 2, 3, 4, 5])
    assert levels(typed, "mood") == (["very good", "good", "bad"], True)
    assert levels(typed, "sex") == (["f", "m"], True)
    assert levels(typed, "age")[0] == ["18 to 37", "38 to 57", "58 to 77"]
    assert levels(typed, "q1")[0] == ["1", "2 / 3", "4", "5"]
    assert levels(typed, "done")[0] == ["nein", "ja"]
    assert typed["done"].isna().sum() == 20
    assert (typed["q1"].to_numpy() == table["q1"].map({1: "1", 2: "2 / 3", 4: "4", 5: "5"})).all()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("q1,q2", ["q1", "q2"]),
        ("q2-q10", ["q2", "q10"]),
        ("mood_*", ["mood_a", "mood_b"]),
        (["q10", "mood_b"], ["q10", "mood_b"]),
        ("q10-mood_a", ["q10", "mood_a"]),
        ("a,b", ["a,b"]),
    ],
)
def test_patterns_of_names(given, expected, rng):
    names = ["q1", "q2", "q10", "mood_a", "mood_b", "a,b"]
    table = pd.DataFrame(rng.integers(0, 2, (20, len(names))), columns=names)
    assert list(prepare(table, keep=given)) == expected
    assert list(prepare(table, drop=given)) == [name for name in names if name not in expected]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "q7"}, "keep: there is no column 'q7'"),
        ({"cut": "age"}, "cut must be ITEM:N, such as age:4"),
        ({"cut": {"mood": 3}}, "cut must be a column of numbers"),
        ({"cut": {"age": 1}}, "cut must be a column and two or more levels"),
        ({"levels": "good,bad"}, "levels='good,bad': no column has these levels only; column 'mood' also has 'very"),
        ({"levels": "good"}, "levels must be two or more different levels"),
        ({"yes": "oui"}, "yes must be answers of a column"),
        ({"yes": "1", "no": "1"}, "no must be other answers than those of yes"),
        ({"ordered": "sex"}, r"the order of the words \(f,m\) is not known; .*levels=\['FIRST,...,LAST'\]"),
        ({"merge": {"mood": ["bad", "very good"]}}, "merge must be two or more neighbouring levels of it"),
        ({"reverse": "age", "missing": "none"}, "reverse must be a column whose levels have an order"),
        ({"drop": 3.5}, "there is no column '3.5'"),
        ({"drop": [None]}, "drop must be a text or several, got None"),
    ],
    ids=str,
)
def test_options_that_cannot_be_meant(options, message):
    with pytest.raises((OptionError, DataError), match=message):
        prepare(mixed(), **options)


def test_words_of_several_yes_and_no():
    table = pd.DataFrame({"a": ["x", "", "x", ""], "b": ["ja", "nein", "yes", "no"], "c": [1, 0, 0, 1]})
    typed = prepare(table, yes="yes,ja,x,1", no="no,nein,,0")
    assert (typed["a"] == "yes").tolist() == [True, False, True, False]
    assert typed["b"].tolist() == ["yes", "no", "yes", "no"]
    assert (typed["c"].astype(str) == ["yes", "no", "no", "yes"]).all() or typed["c"].tolist() == [1, 0, 0, 1]


def test_words_without_an_answer_are_shown_as_missing_or_as_a_level(data_folder):
    table = pd.DataFrame({"q": np.resize(["often", "never", "-", "don't know", "NA", "always", "None"][:6], 60)})
    row = read_columns(table).iloc[0]
    assert row["levels"] == "never < often < always"
    assert sorted(row["codes"].split(" | ")) == ["-", "NA", "don't know"]
    assert row["missing"] == 30
    heart = pd.read_csv(data_folder / "cad1.csv", keep_default_na=False, na_values=[""])
    row = read_columns(heart).set_index("name").loc["AngPec"]
    assert (row["kind"], row["levels"], row["counts"]) == ("nominal", "Atypical | None | Typical", "30, 85, 121")
    assert row["missing"] == 0


def test_labels_of_a_file():
    table = pd.DataFrame({"a": [1.0, 2, 2, 1, 9], "b": [1.0, 2, 4, 5, 1], "c": [1.0, 2, 3, 1, 2]})
    table.attrs["variable_value_labels"] = {
        "a": {1.0: "Yes", 2.0: "No", 9.0: "Refused"},
        "b": {1.0: "low", 3.0: "medium", 5.0: "high"},
        "c": {1.0: "red", 2.0: "green", 3.0: "blue"},
    }
    table.attrs["variable_measure"] = {"c": "nominal"}
    table.attrs["column_names_to_labels"] = {"a": "Do you?"}
    book = read_columns(table).set_index("name")
    assert book.loc["a", ["kind", "levels", "codes", "question"]].tolist() == [
        "yes/no",
        "2 = No < 1 = Yes",
        "9",
        "Do you?",
    ]
    assert book.loc["b", "levels"] == "1 = low < 2 < 3 = medium < 4 < 5 = high"
    assert book.loc["c", ["kind", "levels"]].tolist() == ["nominal", "1 = red | 2 = green | 3 = blue"]
    typed = prepare(table)
    assert typed["a"].tolist()[:4] == ["Yes", "No", "No", "Yes"]
    assert typed["a"].isna().tolist() == [False] * 4 + [True]
    assert levels(typed, "c") == (["red", "green", "blue"], False)


@pytest.mark.parametrize("levels", ["18 to 30 < 31 to 60", "18 to 30 < 40 to 90"])
def test_numbers_outside_the_ranges_of_a_codebook_are_no_answers(levels):
    """In the table that is fitted; of new people they are in the nearest range."""
    table = pd.DataFrame({"age": [18, 29, 35, 59, 61, 90] * 5, "ill": [0, 1, 1, 0, 1, 0] * 5})
    book = pd.DataFrame({"name": ["age", "ill"], "kind": ["ordered", "yes/no"], "levels": [levels, "0 < 1"]})
    with pytest.raises(DataError, match=r"must contain the levels of its codebook only, .*'age'"):
        prepare(table, columns=book)
    est = MaximumLikelihoodMRF(columns=book.assign(levels=["18 to 30 < 31 to 90", "0 < 1"])).fit(table)
    new = pd.DataFrame({"age": [17, 90], "ill": [0, 1]})
    np.testing.assert_array_equal(
        est.score_samples(new.assign(age=[10, 99])), est.score_samples(new.assign(age=[18, 90]))
    )


def test_levels_with_commas_go_into_the_remedy_as_they_are_read():
    party = np.resize(['Free, "Liberal"', "Greens", "Christian Democrats (CDU)"], 60)
    table = pd.DataFrame({"party": party, "ill": np.resize([0, 1], 60)})
    with pytest.raises(DataError, match="values without a natural order") as e:
        SpikeSlabMRF().fit(table)
    listed = re.search(r"'party' \((.*)\); give", str(e.value))[1]
    assert prepare(table, levels=listed)["party"].cat.categories.tolist() == sorted(set(party))


def test_an_edited_codebook_goes_back_in(tmp_path):
    """Read, edited as text, and given back: other order, other labels, merged levels, codes, and columns left out."""
    table = mixed()
    read_columns(table).to_csv(tmp_path / "columns.csv", index=False)
    again = Codebook.read(tmp_path / "columns.csv").frame()
    shown = ["name", "kind", "levels", "codes"]
    assert again[shown].equals(read_columns(table)[shown])
    edited = pd.read_csv(tmp_path / "columns.csv", dtype=str, keep_default_na=False).set_index("name")
    assert edited.loc["mood", "levels"] == "bad < good < very good"
    edited.loc["mood", "levels"] = "very good < good + bad = not so good"
    edited.loc["sex", ["kind", "levels"]] = "ordered", "m < f"
    edited.loc["q1", ["levels", "codes"]] = '1 < 2 < 4 = "a < b"', "5"
    edited.to_csv(tmp_path / "edited.csv")
    typed = prepare(table, columns=tmp_path / "edited.csv")
    assert list(typed) == ["mood", "sex", "q1", "done"]  # age is a number, which is no answer
    assert levels(typed, "mood") == (["very good", "not so good"], True)
    assert levels(typed, "sex") == (["m", "f"], True)
    assert levels(typed, "q1") == (["1", "2", "a < b"], True)
    assert typed["q1"].isna().sum() == 15
    assert prepare(table, columns=pd.read_csv(tmp_path / "edited.csv")).equals(typed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda b: b.drop(columns="kind"), "must have the columns name, kind and levels, got no 'kind'"),
        (lambda b: b.assign(kind="odd"), "the kind of 'mood' must be one of"),
        (lambda b: b.assign(levels=b["levels"].replace("f | m", "f")), "'sex' must have two or more different levels"),
        (lambda b: pd.concat([b, b]), "must have one row for each column, got two for 'mood'"),
        (lambda b: b.assign(name=b["name"] + "x"), "must have the columns of .*, but lacks 'moodx'"),
        (lambda b: b.assign(levels=b["levels"].replace("f | m", "f | w")), "has other values .*'sex': 'm'"),
    ],
)
def test_codebooks_that_cannot_be_meant(change, message):
    with pytest.raises(DataError, match=message):
        prepare(mixed(), columns=change(read_columns(mixed())))


def test_levels_with_marks_of_the_codebook():
    words = ["a < b", 'say "no"', "x | y", "1 + 1 = 2", "-"]
    table = pd.DataFrame({"q": np.resize(words[:4], 40)})
    book = read_columns(table)
    back = Codebook.from_frame(book)
    assert [level.value for level in back.columns[0].levels] == sorted(words[:4])


def test_no_column_is_left_out_of_the_lines():
    """More kinds than lines, of two columns each: all are named or counted, next to a code of missing values."""
    frame = {f"{name}{i}": np.resize(range(i + 2), 60) for i in range(7) for name in ("first", "second")}
    lines = infer_columns(pd.DataFrame(frame)).lines()
    assert all(name in "\n".join(lines) for name in frame)
    frame |= {f"{name}{i}": np.resize(range(i + 2), 60) for i in range(7, 11) for name in ("first", "second")}
    lines = infer_columns(pd.DataFrame(frame | {"word": np.resize(["yes", "no", "refused"], 60)})).lines()
    assert len(lines) == 5
    named = [name for name in frame if name in "\n".join(lines)]
    more = int(re.search(r"; and (\d+) more columns?$", lines[3])[1])
    assert lines[4].startswith("read as missing: word")
    assert len(named) + more == len(frame) + 1  # "word" is in the last line, and among those that are counted


def test_at_most_five_lines_say_what_was_understood(made_up):
    table = pd.concat([mixed(60), pd.DataFrame({f"x{i}": np.resize(range(i + 2), 60) for i in range(8)})], axis=1)
    lines = infer_columns(table).lines()
    assert len(lines) == 5
    assert infer_columns(made_up("never_to_always")).lines() == [
        "i0, i1, i2, i3: ordered, Never < Sometimes < Often < Always"
    ]


def test_words_have_the_edges_of_their_numbers(made_up):
    """Inclusions by an oracle apart, to its tolerance and a Monte Carlo error of five standard errors."""
    prior = SpikeSlab(density=Beta(1, 1), slab=Cauchy(1.0), bias_scale=10.0)
    options = QUICK | {"n_draws": 4000, "n_warmup": 200, "n_chains": 2, "prior": prior}
    est = SpikeSlabMRF(**options).fit(made_up("never_to_always"))
    assert est.model_ == "ordinal"
    found = est.table("edges")["inclusion"].to_numpy()
    np.testing.assert_allclose(found, [1.00, 1.00, 0.98, 0.97, 0.53, 0.38], atol=0.02 + 0.05)


def survey(rng, n=120):
    mood = rng.integers(0, 4, n)
    words = np.array(["never", "sometimes", "often", "always"])
    table = pd.DataFrame({"sad": words[mood], "tired": words[np.clip(mood + rng.integers(-1, 2, n), 0, 3)]})
    return table.assign(ill=np.where(rng.random(n) < 0.2 + 0.2 * mood, "yes", "no"), age=rng.integers(18, 80, n))


def test_estimators_read_new_tables_by_the_codebook_of_the_fit(rng, tmp_path):
    table = survey(rng)
    book = read_columns(table)
    typed = prepare(table, cut="age:3")
    columns = infer_columns(typed).frame()
    columns = columns.assign(levels=[*columns["levels"][:3], infer_columns(typed).frame()["levels"][3]])
    given = SpikeSlabMRF(columns=columns, **QUICK).fit(table)
    same = SpikeSlabMRF(**QUICK).fit(typed)
    np.testing.assert_array_equal(given.theta_, same.theta_)
    np.testing.assert_array_equal(given.score_samples(table), same.score_samples(typed))
    part = table.head(3).assign(ill=None)
    np.testing.assert_array_equal(given.predict_conditional(part, ["ill"]), same.predict_conditional(part.assign(
        age=typed["age"].head(3)), ["ill"]))  # fmt: skip
    save(given, tmp_path / "run")
    again = load(tmp_path / "run")
    np.testing.assert_array_equal(again.score_samples(table), given.score_samples(table))
    assert again.columns_.equals(given.columns_)
    assert given.columns_["levels"].tolist()[:2] == ["never < sometimes < often < always"] * 2
    assert book["kind"].tolist() == ["ordered", "ordered", "yes/no", "number"]
    with pytest.raises(DataError, match=r"has other values \('sad': 'rarely', 'tired'"):
        given.score(table.replace("always", "rarely"))


def test_all_estimators_take_a_codebook(rng):
    table = survey(rng)
    words = table.drop(columns="age")
    book = read_columns(words)
    options = {k: v for k, v in QUICK.items() if k != "method"}
    for est in (BayesianMRF(columns=book, **options), MaximumLikelihoodMRF(columns=book)):
        assert est.fit(words).model_ == "ordinal"
        assert list(est.columns_["kind"]) == ["ordered", "ordered", "yes/no"]
        assert est.sample(2).tolist()[0][2] in ("yes", "no")
    twice = book.assign(levels=["never + sometimes < often + always"] * 2 + ["no < yes"], kind="yes/no")
    groups = np.repeat(["a", "b"], 60)
    assert CompareMRF(columns=twice, **QUICK).fit(words, groups).model_ == "boltzmann"
    machine = RBM(2, columns=twice, n_steps=20, random_state=1).fit(words)
    assert machine.transform(words).shape == (120, 2)
    found = log_evidence(MaximumLikelihoodMRF(columns=twice), words, progress=False)
    high = words.isin(["often", "always", "yes"]).astype(int)
    same = log_evidence(MaximumLikelihoodMRF(), high, progress=False)
    assert found.log_evidence == pytest.approx(same.log_evidence, rel=1e-12)
    with pytest.raises(OptionError, match="columns must be a codebook"):
        SpikeSlabMRF(columns=3, **QUICK).fit(words)


def test_the_command_shows_writes_and_takes_columns(bayesmrf, folder, rng):
    table = survey(rng).assign(sex=rng.choice(["f", "m"], 120))
    table.to_csv("t.csv", index=False)
    code, out, err = bayesmrf("columns", "t.csv", "--out", "columns.csv")
    assert (code, err) == (0, "")
    assert "never < sometimes" in out
    assert "--cut age:4" in out
    assert "--nominal sex" in out
    pd.testing.assert_frame_equal(
        pd.read_csv("columns.csv", keep_default_na=False), read_columns(table), check_dtype=False
    )
    one_sentence(bayesmrf("columns", "t.csv", "--out", "columns.csv"), "exists already.*--overwrite")
    table.loc[[3, 5], "tired"] = None
    table.to_csv("t.csv", index=False)
    given = bayesmrf("structure", "t.csv", *SMALL)
    one_sentence(given, r"\(1\) 1 column.*measurements.*--cut age:4.*\(2\) two values.*--nominal sex.*FIRST,LAST")
    code, out, err = bayesmrf("structure", "t.csv", *SMALL, "--cut", "age:3", "--nominal", "sex", "--reverse", "ill")
    assert code == 0
    assert "sad, tired: ordered, never < sometimes < often < always" in out
    assert "ill: yes/no, yes < no" in out
    assert "sex: nominal, f | m; m counts as yes" in out
    assert bayesmrf("report", "t_run")[0] == 0
    assert "sad, tired: ordered, never &lt; sometimes" in (folder / "t_run.html").read_text()
    stored = load("t_run")
    assert stored.columns_.set_index("name").loc["ill", ["levels", "counts"]].tolist()[0] == "yes < no"
    asked = "--cut", "age:3", "--nominal", "sex", "--reverse", "ill"
    assert bayesmrf("columns", "t.csv", *asked, "--out", "asked.csv")[0] == 0
    assert bayesmrf("export", "t_run", "--to", "csv", "--out", "tables")[0] == 0
    as_columns_says = pd.read_csv("asked.csv", keep_default_na=False).drop(columns=["codes", "question"])
    assert as_columns_says["counts"].str.match(r"[1-9]\d*(, [1-9]\d*)+$").all()
    pd.testing.assert_frame_equal(pd.read_csv("tables/columns.csv", keep_default_na=False), as_columns_says)
    pd.testing.assert_frame_equal(stored.table("columns"), as_columns_says, check_dtype=False)
    typed = prepare(table, cut="age:3", nominal="sex", reverse="ill")
    np.testing.assert_array_equal(stored.score_samples(table), stored.score_samples(typed))
    np.testing.assert_array_equal(SpikeSlabMRF(**QUICK).fit(typed).theta_, stored.theta_)
    code, out, _ = bayesmrf("structure", "t.csv", *SMALL, "--columns", "columns.csv", "--overwrite")
    assert code == 0
    assert load("t_run").feature_names_in_.tolist() == ["sad", "tired", "ill", "sex"]


def test_the_command_says_what_an_edited_codebook_lacks(bayesmrf, folder):
    table = pd.DataFrame({"ill": np.resize(["no", "yes", "maybe"], 30), "sad": np.resize([0, 1, 1], 30)})
    table["glad"] = 1 - table["sad"].shift(fill_value=0)
    table.to_csv("t.csv", index=False)
    book = pd.DataFrame({"name": ["ill", "sad", "glad"], "kind": "yes/no", "levels": ["no < yes", *["0 < 1"] * 2]})
    book.to_csv("columns.csv", index=False)
    code, out, err = bayesmrf("columns", "t.csv", "--columns", "columns.csv")
    assert (code, err) == (0, "")
    assert re.search(r"Please decide: .* has other values \('ill': 'maybe'\); add them to the levels", out)
    one_sentence(bayesmrf("structure", "t.csv", *SMALL, "--columns", "columns.csv"), r"\('ill': 'maybe'\)")
    book.assign(levels=["no < yes + maybe = yes", *["0 < 1"] * 2]).to_csv("columns.csv", index=False)
    code, out, _ = bayesmrf("columns", "t.csv", "--columns", "columns.csv")
    assert code == 0
    assert "To answer" not in out
    assert bayesmrf("structure", "t.csv", *SMALL, "--columns", "columns.csv")[0] == 0  # one without counts
    assert load("t_run").table("columns")["counts"].tolist() == ["10, 10, 10", "10, 20", "19, 11"]
    book.assign(name=["angry", "sad", "glad"]).to_csv("columns.csv", index=False)
    assert "lacks 'angry'" in " ".join(bayesmrf("columns", "t.csv", "--columns", "columns.csv")[1].split())


def test_ticks_on_the_command_line(bayesmrf, folder, made_up):
    table = made_up("ticked_or_blank")
    table.to_csv("t.csv", index=False)
    given = bayesmrf("structure", "t.csv", *SMALL)
    one_sentence(given, "blank may mean no: give --no ''")
    code, out, _ = bayesmrf("structure", "t.csv", *SMALL, "--no", "")
    assert code == 0
    assert "q0, q1, q2, q3, q4: yes/no, no < yes" in out
    same = SpikeSlabMRF(**QUICK).fit(table.notna().astype(int))
    np.testing.assert_array_equal(load("t_run").theta_, same.theta_)


def test_labels_of_an_spss_file(bayesmrf, folder):
    pyreadstat = pytest.importorskip("pyreadstat")
    mood = np.resize([1.0, 2, 3, 4], 60)
    table = pd.DataFrame({"mood": mood, "ill": np.resize([1.0, 2], 60), "calm": np.roll(mood, 7)})
    labels = {"mood": {1.0: "low", 4.0: "high"}, "ill": {1.0: "Yes", 2.0: "No"}}
    pyreadstat.write_sav(table, "t.sav", variable_value_labels=labels)
    book = read_columns(pd.read_spss("t.sav", convert_categoricals=False)).set_index("name")
    assert book["levels"].tolist() == ["1 = low < 2 < 3 < 4 = high", "2 = No < 1 = Yes", "1 < 2 < 3 < 4"]


def test_the_codebook_says_what_no_answer_is(made_up):
    assert set(read_columns(made_up("codes_0_25_50"))["levels"]) == {"0 < 25 < 50"}
    assert prepare(made_up("codes_0_25_50"))["a"].dtype.kind == "i"  # which the reader takes for one step apart
    assert kinds(made_up("forgotten_count"))["count"] == "count"
    assert kinds(made_up("panel_exposure"))["id"] == "identifier"
    with pytest.raises(DataError, match=r"only: a row must be a person, but here it is an answer.*if all values") as e:
        prepare(made_up("long"))
    assert "item'; give" not in str(e.value)


def test_none_is_no_code_of_columns_of_words(bayesmrf, folder, rng):
    work = rng.choice(["full time", "part time", "none"], 60)
    table = pd.DataFrame({"work": work, "ill": rng.integers(0, 2, 60)})
    typed = prepare(table, nominal="work", missing="none")
    assert (typed["work"].astype(str) == work).all()
    table["ill"] = table["ill"].astype(object)
    table.loc[3, "ill"] = "none"
    assert prepare(table, nominal="work", missing="none").isna().sum().tolist() == [0, 1]
    table.to_csv("t.csv", index=False)
    found = bayesmrf("structure", "t.csv", "--nominal", "work", "--missing-code", "none", *SMALL, "--out", "r")
    assert found[0] == 0, found[2]
    assert "read as missing: ill: 'none'" in found[1]


def test_a_measurement_next_to_a_scale_can_be_cut(rng):
    table = pd.DataFrame({"mood": rng.integers(1, 6, 200), "calm": rng.integers(1, 6, 200)})
    table["age"] = rng.integers(18, 90, 200)
    with pytest.raises(DataError, match=r"'age' is on a different scale .*cut measurements .*cut=\['age:4'\]"):
        require_readable(infer_columns(table))
    assert len(levels(prepare(table, cut="age:4"), "age")[0]) == 4
    table["age"] = np.resize([50, 90], 200)  # has too few numbers
    with pytest.raises(DataError, match="different scale than the others, whose levels are 1 to 5; drop"):
        require_readable(infer_columns(table))


def test_a_kind_that_was_changed_without_its_levels_is_told_how_they_are_written():
    book = read_columns(mixed())
    for name, kind, mark in (("sex", "ordered", "<"), ("mood", "nominal", "[|]")):
        edited = book.assign(kind=[kind if n == name else k for n, k in zip(book["name"], book["kind"], strict=True)])
        with pytest.raises(DataError, match=f"with {mark} between them, as its kind is {kind}"):
            prepare(mixed(), columns=edited)


def test_missing_values_of_categories_that_are_integers_stay_missing(rng):
    codes = np.where(rng.random(60) < 0.2, -1, rng.integers(0, 3, 60))
    table = pd.DataFrame({"a": pd.Categorical.from_codes(codes, [0, 1, 2], ordered=True), "b": rng.integers(0, 3, 60)})
    est = SpikeSlabMRF(**QUICK).fit(table)
    plain = SpikeSlabMRF(**QUICK).fit(table.astype(float))
    assert set(est.missing_["row"]) == set(np.flatnonzero(codes < 0))
    np.testing.assert_array_equal(est.inclusion_, plain.inclusion_)


def test_warnings_of_other_packages_are_spoken(capsys):
    with spoken_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        warnings.warn("invalid value encountered in cast", RuntimeWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: invalid value encountered in cast\n"


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_a_level_without_order_that_a_group_never_has_has_no_next_one(rng):
    words, groups = np.resize(["a", "b", "c"], 80), np.repeat(["x", "y"], 40)
    words[40:] = np.where(words[40:] == "a", "b", words[40:])
    table = prepare(pd.DataFrame({"word": words, "ill": rng.integers(0, 2, 80)}), nominal="word")
    with pytest.warns(
        LevelsWarning, match="'word' is never a in 'y'. Its log weight .*merge it with another one.*groups.$"
    ):
        CompareMRF(**QUICK).fit(table, groups)


@pytest.mark.parametrize("low", [0, -1])
@pytest.mark.parametrize("kind", [float, int, str])
def test_a_table_of_two_numbers_alone_is_described_as_any_other(low, kind):
    bits = pd.DataFrame(np.where(np.random.default_rng(2).random((60, 4)) < 0.4, 1, low), columns=list("abcd"))
    table = bits.astype(kind)
    if kind is float:
        table.iloc[3, 1] = np.nan
    short, full = infer_columns(table), infer_columns(table, ColumnOptions())
    assert (short.plain, full.plain) == (True, False)
    assert short.frame().equals(full.frame())
    assert short.problems == full.problems
    assert typed(table, full) is table


@pytest.mark.parametrize(
    "column", [[0] * 60, [0, 1, 2] * 20, [0, -1] * 30, [True, False] * 30, pd.Categorical([0, 1] * 30)]
)
def test_another_column_is_looked_at(column):
    table = pd.DataFrame(np.random.default_rng(2).integers(0, 2, (60, 3)), columns=list("abc")).assign(d=column)
    assert not infer_columns(table).plain
