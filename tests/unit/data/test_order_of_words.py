"""Codes in front of words, words in the order of the alphabet, and numbers with gaps: asked about, never an order."""

import io
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from bayesmrf import MaximumLikelihoodMRF, SpikeSlabMRF, datasets
from bayesmrf.data import Codebook, prepare, read_columns
from bayesmrf.data.alphabet import check_order, is_alphabetical
from bayesmrf.data.coded_words import bare_words, quantities, split_code
from bayesmrf.data.columns import described
from bayesmrf.data.frames import frame_of
from bayesmrf.data.infer_columns import infer_columns, problems_of
from bayesmrf.data.kinds.number import with_gaps
from bayesmrf.errors import DataError, LevelsWarning, OptionError
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.results.convergence import verdict
from tests.helpers.commands import one_sentence

PRIOR = SpikeSlab(Beta(1, 1), Cauchy(1.0), 10.0)  # that of the right values, whatever the default is
QUICK = {"method": "exact", "n_chains": 1, "n_warmup": 20, "random_state": 1, "progress": False, "prior": PRIOR}
SMALL = ["--method", "exact", "--n-draws", 20, "--n-warmup", 10, "--n-chains", 1, "--seed", 1]
HOW_OFTEN = ["Never", "Almost never", "Sometimes", "Fairly often", "Very often"]
BIRDS = ["crow", "duck", "gull", "wren"]


@pytest.fixture
def tables(data_folder):
    """The folder of the made-up tables, which lies next to the real data."""
    folder = data_folder.parent / "tables"
    if not folder.is_dir():
        pytest.skip("the made-up tables are not here")
    return folder


def columns_of(words, labels=None, measure="", n=60):
    """A table of a column of these words next to a yes/no column."""
    table = pd.DataFrame({"q": np.resize(np.array(words, dtype=object), n), "z": np.resize([0, 1, 1], n)})
    if labels is not None:
        table["q"] = table["q"].astype(float)
        table.attrs = {"variable_value_labels": {"q": labels}, "variable_measure": {"q": measure} if measure else {}}
    return table


def row_of(*given, **more):
    return read_columns(columns_of(*given, **more)).iloc[0]


YES = {
    "1. Yes": ["2. No", "-9. Refused", "-8. Don't know"],
    "1 - Yes": ["2 - No", "9 - DK"],
    "(1) Yes": ["(2) No", "(8) Don't know", "(9) Refused"],
    "1=Yes": ["2=No", "99=Missing"],
    "1: Yes": ["5: No", "98: not asked"],
    "1) Oui": ["2) Non", "9) ne sait pas"],
    "1 Ja": ["2 Nein", "-1 keine Angabe"],
    "[1] Ja": ["[2] Nee", "[-2] weet niet"],
    "01 Sí": ["02 No", "97 no contesta"],
    "Yes (1)": ["No (0)", "Refused (-9)"],
    "1–Yes": ["2–No", "-9–Refused"],
    "1_Yes": ["2_No", "77_unknown"],
    "1. Yes ": ["2. No", "88. Not sure"],
}


@pytest.mark.parametrize("yes", YES)
def test_codes_of_yes_and_no(yes):
    """Whatever stands between a code and its word; codes of no answer are missing before the run."""
    no, *gone = YES[yes]
    row = row_of([yes, no, *gone])
    assert (row["kind"], row["levels"]) == ("yes/no", f"{no} < {yes.strip()}")
    assert sorted(row["codes"].split(" | ") if row["codes"] else []) == sorted(gone)
    typed = prepare(columns_of([yes, no, *gone]))
    assert typed["q"].isna().sum() == np.isin(np.resize([yes, no, *gone], 60), gone).sum()


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        (["1. Always", "2. Most of the time", "3. About half the time", "5. Never", "-1. Inapplicable, skip"],
         "5. Never < 3. About half the time < 2. Most of the time < 1. Always"),
        (["1 Not at all", 2, 3, 4, "5 Extremely"], "1 Not at all < 2 < 3 < 4 < 5 Extremely"),
        (["1. Low", "2", "3", "4. middle", "5", "6", "7. Top", "-9. Refused"],
         "1. Low < 2 < 3 < 4. middle < 5 < 6 < 7. Top"),
        (["-1 Worse", "0 Same", "1 Better"], "-1 Worse < 0 Same < 1 Better"),  # no codes of missing values
        (["1 child", "2 children", "10 children"], "1 child < 2 children < 10 children"),
        (["18-24", "25-64", "65+"], "18-24 < 25-64 < 65+"),
        (["1. 65+", "2. 45-64", "3. 18-44"], "3. 18-44 < 2. 45-64 < 1. 65+"),
        (["3rd class", "1st class", "2nd class"], "1st class < 2nd class < 3rd class"),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else "",
)  # fmt: skip
def test_known_scales_and_quantities_have_an_order(words, levels):
    row = row_of(words)
    assert (row["kind"], row["levels"]) == ("ordered", levels)


@pytest.mark.parametrize(
    "words",
    [
        ["1. Democrat", "2. Republican", "3. Independent"],
        ["1 CDU", "2 SPD", "3 Grüne", "-9 verweigert"],
        ["1 - Party A", "2 - Party B", "3 - Party C"],
        ["(1) nord", "(2) sud", "(3) est", "(9) refus"],
        ["1 Democrat", "2", "3 Republican", "4 Independent"],  # not only the ends have words
        ["Catholic (1)", "Jewish (2)", "None (3)"],
        ["30 minutes", "1 hour", "2 hours"],
        ["1. More", "2. Less", "3. Other"],
    ],
    ids=str,
)
def test_codes_of_other_words_are_no_order(words, bayesmrf, folder):
    """They are asked about, in Python and in the shell, and are nominal if a user says so."""
    table = columns_of(words)
    row = read_columns(table).iloc[0]
    assert row["kind"] == "nominal"
    with pytest.raises(
        DataError, match=r"values without a natural order: 'q' .*levels=\['FIRST,...,LAST'\].*nominal=\['q'\]"
    ):
        SpikeSlabMRF(**QUICK).check(table)
    typed = prepare(table, nominal="q")
    assert not typed["q"].cat.ordered
    gone = [word for word in words if re.search("verweigert|refus", str(word))]
    assert (row["codes"].split(" | ") if row["codes"] else []) == gone
    table.to_csv("t.csv", index=False)
    one_sentence(bayesmrf("structure", "t.csv"), "values without a natural order.*--levels FIRST,...,LAST.*--nominal q")


def test_codes_below_zero_in_front_of_other_words_may_mean_no_answer(bayesmrf, folder):
    table = columns_of(["1. Yes", "2. No", "-5. Gizmo"])
    table.to_csv("t.csv", index=False)
    _, out, _ = bayesmrf("columns", "t.csv")
    given = re.search("if codes below zero mean that there is no answer, give (--missing-code '-5. Gizmo')", out)
    _, out, _ = bayesmrf("columns", "t.csv", *shlex.split(given[1]))
    assert "2. No < 1. Yes" in out
    assert "To answer" not in out


def test_parts_of_coded_words():
    assert split_code("1. Yes") == (1, "Yes", True)
    assert split_code("−8 Don't know") == (-8, "Don't know", False)
    assert split_code("7") == (7, "", False)
    for text in ("18-24", "65+", "2024-01-05", "12:30", "1st", "Yes", "", "3/4/2024", "5kg"):
        assert split_code(text) is None, text
    assert bare_words(["1. Yes", "1. No"]) == {"1. Yes": "1. Yes", "1. No": "1. No"}  # a code is of one word
    assert quantities(["1. Democrat", "2. Republican"]) is None
    assert quantities(["1 day", "2 days"]) == {"1 day": 1, "2 days": 2}


LABELS = {
    "names": ({1: "Democrat", 2: "Republican", 3: "Independent", -9: "Refused"}, "", "nominal",
              "1 = Democrat | 2 = Republican | 3 = Independent"),
    "two names": ({1: "Male", 2: "Female"}, "", "nominal", "1 = Male | 2 = Female"),
    "0 and 1": ({0: "Control", 1: "Treated"}, "", "yes/no", "0 = Control < 1 = Treated"),
    "ordinal in its file": ({1: "Primary", 2: "Secondary", 3: "College"}, "ordinal", "ordered",
                            "1 = Primary < 2 = Secondary < 3 = College"),
    "scale in its file": ({1: "CDU", 2: "SPD", 3: "FDP"}, "scale", "nominal", "1 = CDU | 2 = SPD | 3 = FDP"),
    "codes by the alphabet": ({1: "Always", 2: "Never", 3: "Often"}, "", "ordered",
                              "2 = Never < 3 = Often < 1 = Always"),
    "ends": ({1: "Not at all", 5: "Extremely", 99: "Don't know"}, "", "ordered",
             "1 = Not at all < 2 < 3 < 4 < 5 = Extremely"),
    "quantities": ({1: "Under 18", 2: "18-24", 3: "25+"}, "", "ordered", "1 = Under 18 < 2 = 18-24 < 3 = 25+"),
    "yes and no": ({1: "Yes", 2: "No", 8: "Don't know", 9: "Refused"}, "", "yes/no", "2 = No < 1 = Yes"),
}  # fmt: skip


@pytest.mark.parametrize("case", LABELS)
def test_labels_of_files_follow_the_same_rules(case):
    labels, measure, kind, levels = LABELS[case]
    given = sorted({*labels, 2, 3, 4}) if case == "ends" else list(labels)
    row = row_of(given, {float(code): label for code, label in labels.items()}, measure)
    assert (row["kind"], row["levels"]) == (kind, levels)
    assert row["codes"] == " | ".join(str(c) for c in sorted(labels) if labels[c] in ("Refused", "Don't know"))
    table = columns_of(given, {float(code): label for code, label in labels.items()}, measure)
    assert bool(problems_of(infer_columns(table))) == (kind == "nominal")


def test_labels_are_put_in_order_by_their_names():
    table = columns_of([1, 2, 3], {1.0: "College", 2.0: "Primary", 3.0: "Secondary"})
    typed = prepare(table, levels="Primary,Secondary,College")
    assert typed["q"].tolist()[:3] == ["College", "Primary", "Secondary"]
    assert typed["q"].cat.categories.tolist() == ["Primary", "Secondary", "College"]


def test_names_with_codes(tables, bayesmrf, folder):
    path = tables / "names_with_codes.csv"
    one_sentence(bayesmrf("structure", path), r"'party' \(1. Democrat, 2. Republican, 3. Independent\)")
    edges = SpikeSlabMRF(n_draws=200, **QUICK).fit(prepare(pd.read_csv(path), nominal="party")).table("edges")
    assert edges["inclusion"].min() == 1  # chi-square 61.4 at 2 degrees of freedom


def logistic(X, y):
    """Coefficients of a logistic regression, and their standard errors, by Newton's method."""
    beta = np.zeros(X.shape[1])
    for _ in range(25):
        p = 1 / (1 + np.exp(-X @ beta))
        information = (X * (p * (1 - p))[:, None]).T @ X
        beta += np.linalg.solve(information, X.T @ (y - p))
    return beta, np.sqrt(np.diag(np.linalg.inv(information)))


def test_codes_in_front(tables, bayesmrf, folder):
    """Sign and size of an edge are those of a regression written apart, on the same people."""
    path = tables / "codes_in_front.csv"
    table = pd.read_csv(path)
    out = " ".join(bayesmrf("columns", path)[1].split())
    for name, column in table.items():
        gone = column[column.str.startswith("-")]
        assert read_columns(table).set_index("name").loc[name, "missing"] == len(gone)
    assert "--nominal care" in out
    assert "--nominal party" in out
    people = prepare(table, nominal="care,party").dropna()
    est = MaximumLikelihoodMRF().fit(people)
    found = dict(zip(est.feature_names_, est.theta_, strict=True))["vote-care"]
    raw = table.loc[people.index]
    trust = raw["trust"].str.extract(r"^(\d)", expand=False).astype(float)
    parts = [np.ones(len(raw)), raw["care"].str.startswith("2"), trust]
    parts += [raw["party"].str.startswith(code) for code in "235"]
    beta, error = logistic(np.column_stack(parts).astype(float), raw["vote"].str.startswith("1").to_numpy(float))
    np.testing.assert_allclose([beta[1], error[1]], [1.20, 0.49], atol=0.02)  # as the README of the tables has it
    assert abs(found - beta[1]) < error[1] / 4  # another estimator of the same coefficient
    code, out, err = bayesmrf("structure", path, "--nominal", "care,party", *SMALL)
    assert code == 0, err
    assert "vote: yes/no, 2. No < 1. Yes" in out


def test_words_of_unknown_order(tables, bayesmrf, folder):
    """Nothing that is ready to paste has the order of the alphabet, and this order itself is refused."""
    path = tables / "words_of_unknown_order.csv"
    table = pd.read_csv(path)
    _, out, _ = bayesmrf("columns", path)
    text = " ".join(out.split())
    words = re.search(r"'pss0' \((.*?)\)", text)[1].split(", ")
    assert sorted(words) == sorted(HOW_OFTEN)
    assert ",".join(sorted(HOW_OFTEN)) not in text
    levels = re.search(r"--levels (\S+),", text)[1]
    one_sentence(bayesmrf("structure", path, "--levels", levels), "must be all words of a column")
    for order in (sorted(HOW_OFTEN), sorted(HOW_OFTEN)[::-1]):
        given = bayesmrf("structure", path, "--levels", ",".join(order))
        one_sentence(given, "order of the alphabet.*--order-as-given")
        with pytest.raises(DataError, match=r"order of the alphabet.*order_as_given=True"):
            prepare(table, levels=order)
    est = SpikeSlabMRF(n_draws=100, **QUICK).fit(prepare(table, levels=HOW_OFTEN))
    assert est.table("edges")["inclusion"].max() == 1
    assert bayesmrf("structure", path, "--levels", ",".join(sorted(HOW_OFTEN)), "--order-as-given", *SMALL)[0] == 0


ALPHABETS = {
    "birds": BIRDS,
    "the other way": BIRDS[::-1],
    "without case": ["crow", "Duck", "gull", "Wren"],
    "as Python sorts": ["Duck", "Wren", "crow", "gull"],
    "accents": ["âne", "bœuf", "écureuil", "zèbre"],
    "codes": ["1. wren", "2. duck", "3. gull", "10. crow"],
    "bare words": ["4. crow", "3. duck", "7. gull", "5. wren"],
}
ORDERS = {
    "another order": ["duck", "crow", "gull", "wren"],
    "a known scale": ["a little", "moderately", "quite a bit", "very"],
    "merged words": ["always", "most of the time / often", "occasionally", "rarely / never"],
    "intervals": ["(-inf, 0.0]", "(0.0, 5.0]", "(5.0, 9.0]", "(9.0, inf]"],
    "ranges": ["18-24", "25-34", "35-64", "65+"],
    "ages": ["18 to 24 years", "25 to 34 years", "35 to 64 years", "65 years and more"],
    "stages": ["Stage I", "Stage II", "Stage III", "Stage IV"],
    "quarters": ["Q1", "Q2", "Q3", "Q4"],
    "ends": ["1 Not at all", "2", "3", "4 Very"],
    "numbers": ["1", "2", "3", "4"],
}  # fmt: skip


@pytest.mark.parametrize("case", [*ALPHABETS, *ORDERS])
def test_the_order_of_the_alphabet(case):
    assert is_alphabetical({**ALPHABETS, **ORDERS}[case]) == (case in ALPHABETS)


def birds(words=tuple(BIRDS), n=40):
    kind = pd.CategoricalDtype(list(words), ordered=True)
    return pd.DataFrame({"bird": pd.Series(np.resize(list(words), n), dtype=kind), "z": np.resize([0, 1, 1], n)})


@pytest.mark.parametrize("model", ["auto", "ordinal", "nominal"])
def test_ordered_categories_in_the_order_of_the_alphabet(model):
    """A user says that it is meant once; parts of the table keep it, and another order of it is another question."""
    table = birds()
    with pytest.raises(DataError, match=r"order of the alphabet.*'bird' \(crow, duck, gull, wren\)"):
        SpikeSlabMRF(model=model, **QUICK).check(table)
    typed = prepare(table, order_as_given=True)
    for same in (typed, typed[5:], typed[["z", "bird"]], typed.assign(y=1).drop(columns="y"), prepare(typed)):
        SpikeSlabMRF(model=model, **QUICK).check(same)
    turned = typed.assign(bird=typed["bird"].cat.reorder_categories(BIRDS[::-1]))
    with pytest.raises(DataError, match="order of the alphabet"):
        SpikeSlabMRF(model=model, **QUICK).check(turned)
    SpikeSlabMRF(model=model, **QUICK).check(birds(["duck", "crow", "gull", "wren"]))
    assert list(table.attrs) == []


def test_a_codebook_keeps_that_an_order_is_meant():
    table = columns_of(BIRDS)
    book = read_columns(table).assign(kind=["ordered", "yes/no"], levels=[" < ".join(BIRDS), "0 < 1"])
    est = SpikeSlabMRF(n_draws=5, columns=book, **QUICK)
    with pytest.raises(DataError, match="order of the alphabet"):
        est.fit(table)
    with pytest.raises(DataError, match="order of the alphabet"):
        prepare(table, columns=book)
    typed = prepare(table, columns=book, order_as_given=True)
    assert SpikeSlabMRF(n_draws=5, **QUICK).fit(typed).columns_["does"][0] == "order as given"
    est.set_params(columns=book.assign(does=["order as given", ""])).fit(table)
    again = SpikeSlabMRF(n_draws=5, columns=est.columns_, **QUICK).fit(table)
    np.testing.assert_array_equal(est.theta_, again.theta_)
    shown = described(frame_of(table), None).frame()
    assert Codebook.read(shown).columns[0].kind == "nominal"


def test_two_or_three_words_are_a_finding():
    with pytest.warns(LevelsWarning, match=r"'bird' \(crow, duck, gull\) are in the order of the alphabet.*'gull'"):
        est = SpikeSlabMRF(n_draws=5, **QUICK).fit(birds(BIRDS[:3]))
    assert "order of the alphabet" in verdict(est.posterior_).sentence
    with pytest.warns(LevelsWarning, match="'duck' counts as yes"):
        SpikeSlabMRF(n_draws=5, **QUICK).fit(prepare(columns_of(BIRDS[:2]), levels="crow,duck"))
    for meant in (
        prepare(birds(BIRDS[:3]), order_as_given=True),
        prepare(columns_of(BIRDS[:2]), nominal="q"),  # the second counts as yes, whatever it is
        birds(["gull", "crow", "duck"]),
        birds(["duck", "crow"]),
        birds(["no", "yes"]),
    ):
        SpikeSlabMRF(n_draws=5, **QUICK).fit(meant)
    with pytest.raises(DataError, match="order of the alphabet"):
        check_order(BIRDS, "bird", {"bird": BIRDS[::-1]})


@pytest.mark.parametrize("kind", ["parquet", "feather"])
def test_ordered_categories_of_files(kind, bayesmrf, folder):
    pytest.importorskip("pyarrow")
    getattr(birds(), f"to_{kind}")(f"t.{kind}")
    one_sentence(bayesmrf("structure", f"t.{kind}"), "order of the alphabet.*--levels FIRST,...,LAST.*--order-as-given")
    assert "Please decide: words in the order of the alphabet" in bayesmrf("columns", f"t.{kind}")[1]
    code, _, err = bayesmrf("columns", f"t.{kind}", "--order-as-given", "--out", "columns.csv")
    assert (code, err) == (0, "")
    for option in (["--order-as-given"], ["--columns", "columns.csv"], ["--levels", "gull,crow,duck,wren"]):
        code, out, err = bayesmrf("columns", f"t.{kind}", *option)
        assert (code, "To answer" in out, err) == (0, False, "")
    code, _, err = bayesmrf("structure", f"t.{kind}", "--columns", "columns.csv", *SMALL)
    assert code == 0, err


def test_options_of_order_that_cannot_be_meant():
    with pytest.raises(OptionError, match="order_as_given must be True or False, got 'yes'"):
        prepare(birds(), order_as_given="yes")
    with pytest.raises(OptionError, match="levels must be all words of a column, in the order of their meaning"):
        prepare(columns_of(BIRDS), levels="FIRST,...,LAST")
    with pytest.raises(OptionError, match="no column has these levels only"):
        prepare(columns_of(BIRDS[:2]), levels="FIRST,LAST")


GAPS = {
    "roll calls": ({"a": [1, 6, 9]}, ["a"]),
    "a level was never chosen": ({"a": [1, 2, 3, 5]}, []),
    "a level was never chosen, of three": ({"a": [1, 2, 4]}, []),
    "half of the levels": ({"a": [1, 2, 6]}, ["a"]),
    "few people on a long scale": ({"a": [0, 2, 3, 5, 8, 10]}, []),
    "another column has the levels": ({"a": [1, 6, 9], "b": list(range(11))}, []),
    "a shorter scale does not": ({"a": [1, 6, 9], "b": [1, 2, 3, 4, 5]}, ["a"]),
    "roll calls together": ({"a": [1, 6, 9], "b": [1, 6, 7, 9]}, ["a", "b"]),
    "equal steps": ({"a": [0, 5, 10]}, []),
    "two values": ({"a": [1, 6]}, []),
    "fractions": ({"a": [0.5, 1, 9]}, []),
    "counts of a far value": ({"a": [0, 1, 2, 15]}, ["a"]),
    "nothing": ({"a": []}, []),
}


@pytest.mark.parametrize("case", GAPS)
def test_gaps_of_numbers(case):
    columns, found = GAPS[case]
    assert list(with_gaps({name: np.array(values, float) for name, values in columns.items()})) == found


def test_codes_of_roll_calls_are_asked_about(bayesmrf, folder):
    """In arrays, frames and files alike; real scales of which a level was never chosen are not."""
    votes = pd.DataFrame({"a": np.resize([1, 6, 1, 9, 6], 60), "b": np.resize([6, 1, 1, 9, 6, 1, 6], 60)})
    said = r"numbers that are no scale of answers: '\w' \(3 numbers: 1, 6, 9\).*nominal=\['\w', '\w'\].*drop="
    for table in (votes, votes.to_numpy()):
        with pytest.raises(DataError, match=said):
            SpikeSlabMRF(**QUICK).check(table)
    votes.to_csv("t.csv", index=False)
    one_sentence(bayesmrf("structure", "t.csv"), "3 numbers: 1, 6, 9.*--nominal a --nominal b.*--levels FIRST,...,LAST")
    typed = prepare(votes, nominal="a,b")
    assert [typed[name].cat.ordered for name in typed] == [False, False]
    assert prepare(votes, ordered="a,b")["a"].cat.categories.tolist() == [1, 6, 9]
    assert prepare(votes, levels="9,1,6")["a"].cat.categories.tolist() == [9, 1, 6]
    yes = prepare(votes, missing=9)
    assert yes["a"].isna().sum() == (votes["a"] == 9).sum()
    scale = pd.DataFrame({"a": np.resize([1, 2, 3, 5], 60), "b": np.resize([5, 1, 2, 4, 3, 1, 2], 60)})
    for table in (scale, scale.to_numpy()):
        with pytest.warns(LevelsWarning, match=r"never occur \(4\)"):
            SpikeSlabMRF(**QUICK).check(table)


def test_no_such_questions_about_real_answers(data_folder):
    """Nothing in the shared tables has gaps, codes in front of words, or words in the order of the alphabet."""
    for name in ("adhd", "boredom", "wenchuan", "science", "cad1", "coronary"):
        table = pd.read_csv(data_folder / f"{name}.csv")
        said = " ".join(problems_of(infer_columns(table)))
        assert "numbers that are no scale" not in said, name
        assert "alphabet" not in said, name
        numbers = {str(n): c.dropna().to_numpy() for n, c in table.items() if c.dtype.kind in "if"}
        assert [n for n in with_gaps(numbers) if n != "count"] == [], name
    for table in (datasets.senate542(), datasets.senate109(1)):
        assert problems_of(infer_columns(table)) == []


def test_a_printed_codebook_goes_back_in_with_codes():
    table = columns_of(["1. Yes", "2. No", "-9. Refused"])
    book = read_columns(table)
    text = io.StringIO(book.to_csv(index=False))
    assert prepare(table, columns=pd.read_csv(text, keep_default_na=False)).equals(prepare(table))


def test_tables_of_signs_are_asked_what_0_means(bayesmrf, folder):
    rng = np.random.default_rng(0)
    votes = pd.DataFrame(rng.choice([-1, 0, 1], p=[0.4, 0.1, 0.5], size=(60, 3)), columns=list("abc"))
    asked = "columns such as 'a' have the values -1, 0 and 1; give --missing-code 0 if 0 is no answer"
    for table, is_asked in ((votes, True), (votes.assign(d=rng.integers(1, 5, 60)), False), (votes.abs(), False)):
        table.to_csv("t.csv", index=False)
        assert (asked in " ".join(bayesmrf("columns", "t.csv")[1].split())) == is_asked
