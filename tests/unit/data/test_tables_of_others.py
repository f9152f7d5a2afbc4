"""Tables as people have them (shared/tables): each is read with its right meaning, or what to do is said."""

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from bayesmrf import SpikeSlabMRF, datasets
from bayesmrf.data import prepare, read_columns
from bayesmrf.data.derived_columns import COPY, DUMMY, TOTAL, relations
from bayesmrf.data.kinds.count import forgotten_count
from bayesmrf.data.kinds.identifier import repeated_identifier
from bayesmrf.data.kinds.number import dividing_rule, recoded, remedy_for_measurements, remedy_for_pictures
from bayesmrf.data.table_forms import one_row_per_answer, problems
from bayesmrf.errors import DataError, DependentRowsWarning, EqualColumnsWarning, LevelsWarning
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


def refusal(table, **more):
    """What is said of a table that is refused."""
    with pytest.raises(DataError) as e:
        fitted(table, 5, **more)
    assert "\n" not in str(e.value)
    return str(e.value)


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


@pytest.mark.parametrize("levels", [[0, 1, 11], [0, 10, 50, 100], [0, 3, 7, 30], range(20, 32), np.arange(30) / 7])
def test_numbers_that_are_no_scale_are_asked_about(levels):
    table = pd.DataFrame({"b": np.arange(60) % 7 % 2, "a": np.resize(list(levels), 60)})
    assert "'a'" in refusal(table)


def test_levels_of_new_rows_and_of_rows_that_were_not_seen():
    table = pd.DataFrame({"a": [10, 20, 30, 20] * 5, "b": [30, 20, 10, 30] * 5})
    weights = np.r_[np.ones(19), 0.0]
    table.iloc[19] = 25, 30
    with pytest.warns(LevelsWarning, match="10, 15, 20, 25, 30"), pytest.warns(LevelsWarning, match="never occur"):
        SpikeSlabMRF(model="ordinal", n_draws=5, **OPTIONS).fit(table, sample_weight=weights)
    with pytest.warns(LevelsWarning, match="equal steps"):
        est = fitted(table[:19], 5)
    assert set(np.unique(est.sample(20, random_state=1))) <= {10, 20, 30}


def test_a_forgotten_column_of_counts_is_named(tables, bayesmrf):
    path = tables / "forgotten_count.csv"
    table = pd.read_csv(path)
    said = refusal(table)
    assert "column 'count' looks like the number of times that each row was observed" in said
    assert "give sample_weight=X['count'], without this column in X" in said
    code, _, err = bayesmrf("structure", path)
    assert code == 2
    assert "column 'count' looks like the number of times" in err
    assert "give --weight count" in err
    assert bayesmrf("structure", path, "--weight", "count", "--n-draws", 20, "--seed", 1)[0] == 0
    edges = fitted(table.drop(columns="count"), 4000).table("edges")  # each row once: a control
    assert edges["inclusion"].max() < 0.5
    est = SpikeSlabMRF(method="exact", n_draws=4000, **OPTIONS)
    edges = est.fit(table.drop(columns="count"), sample_weight=table["count"]).table("edges")
    found = edges.set_index(["first", "second"])["inclusion"]
    assert near([found["A", "B"], found["A", "D"]], [0.92, 0.82], 2000)


def combinations_of(*sizes, **more):
    """All combinations of levels, with further columns."""
    table = pd.DataFrame(np.indices(sizes).reshape(len(sizes), -1).T, columns=list("abcdef"[: len(sizes)]))
    return table.assign(**more)


COUNTS = {
    "all combinations": (combinations_of(2, 3, 2, seen=np.arange(12)), "seen"),
    "named, with some left out": (combinations_of(2, 2, 2, freq=np.arange(8) + 3).iloc[1:], "freq"),
    "yes/no": (combinations_of(2, 2, 2, n=np.arange(8) % 2), None),
    "named as other answers are": (combinations_of(4, 4, 4, n=np.arange(64) % 4).iloc[:40], None),
    "rows that repeat": (pd.concat([combinations_of(2, 2, 2, n=7)] * 2), None),
    "not all, without a name": (combinations_of(2, 2, 2, seen=np.arange(8) + 3).iloc[1:], None),
    "few": (combinations_of(2, 2, seen=np.arange(4)), None),
    "negative": (combinations_of(2, 2, 2, count=np.arange(8) - 1), None),
    "fractions": (combinations_of(2, 2, 2, weight=np.arange(8) / 3), None),
}


@pytest.mark.parametrize("case", COUNTS)
def test_columns_of_counts_are_found(case):
    table, name = COUNTS[case]
    assert forgotten_count(table) == name


@pytest.mark.parametrize("name", ["panel_exposure", "panel_sorted_by_group"])
def test_rows_of_one_person_are_not_independent(name, tables, bayesmrf, folder):
    """In either order: the standard error by person is 1.375 times the naive one."""
    path = tables / f"{name}.csv"
    table = pd.read_csv(path)
    assert "column 'id' looks like an identifier (4 rows per value)" in refusal(table)
    assert "make it the index, X.set_index('id')" in refusal(table)
    message = r"same 'id' are alike.* up to 1\.4 times as large \(symptom – exposed\)"
    with pytest.warns(DependentRowsWarning, match=message):
        fitted(table.drop(columns="wave").set_index("id"), 5)
    assert "'wave' (1 to 4) looks like a time, not an answer; use PanelMRF if rows of one person follow" in refusal(
        table.set_index("id")
    )
    ordered = table.astype({"wave": pd.CategoricalDtype([1, 2, 3, 4], ordered=True)})  # an answer, as a user says
    for columns in (["symptom", "exposed"], ["wave", "symptom", "exposed"]):  # without the identifier
        with pytest.warns(DependentRowsWarning, match="Dependent rows"):
            fitted(ordered[columns], 5)
    code, _, err = bayesmrf("structure", path)
    assert (code, "give --drop id, and the result says" in err) == (2, True)
    code, out, err = bayesmrf("structure", path, "--drop", "id,wave", "--n-draws", 5, "--seed", 1, "--out", "p_run")
    assert code == 0
    assert "up to 1.4 times as large (symptom – exposed), of the means of nodes up to 2.0 times" in " ".join(
        out.split()
    )


def test_a_real_panel_says_so_in_its_report(data_folder, bayesmrf, folder):
    """Rows of one child: the standard error by child is 1.44 times the naive one."""
    pytest.importorskip("pyreadstat")
    path = data_folder / "wheeze.sav"
    code, _, err = bayesmrf("structure", path)
    assert (code, "'id' looks like an identifier (4 rows per value)" in err) == (2, True)
    assert bayesmrf("structure", path, "--drop", "id", "--n-draws", 20, "--seed", 1)[0] == 0
    assert bayesmrf("report", "wheeze_run")[0] == 0
    page = " ".join((folder / "wheeze_run.html").read_text().split())
    assert "Dependent rows: rows with the same &#x27;id&#x27; are alike" in page.replace("&#39;", "&#x27;")
    assert "up to 1.4 times as large (wheeze – smoker)" in page
    with pytest.warns(DependentRowsWarning, match=r"'age' counts up are alike.* up to 1.4 times"):
        fitted(pd.read_spss(path, convert_categoricals=False).drop(columns="id"), 5)


def test_identifiers_that_repeat_are_found(rng):
    who = np.repeat(np.arange(50), 4)
    answers = {"a": rng.integers(0, 2, 200), "b": rng.integers(1, 6, 200)}
    for name, values, found in (
        ("child", who, True),
        ("pid", rng.integers(0, 60, 200), True),
        ("subject", np.array([f"s{i}" for i in who]), True),
        ("x", rng.permutation(who), True),  # each equally often
        ("id", np.arange(200), False),  # a row of each
        ("age", rng.integers(18, 80, 200), False),
        ("child", who % 4, False),
        ("id", who / 3, False),
    ):
        assert repeated_identifier(pd.DataFrame(answers | {name: values})) == (name if found else None), name


def test_one_row_for_each_answer_is_pivoted(tables, bayesmrf):
    table = pd.read_csv(tables / "long.csv")
    remedy = ".pivot(index='id', columns='item', values='resp')"
    assert remedy in refusal(table)
    code, _, err = bayesmrf("structure", tables / "long.csv")
    assert (code, remedy in err) == (2, True)
    wide = table.pivot(index="id", columns="item", values="resp")
    assert fitted(wide, 5).n_features_in_ == 5
    assert one_row_per_answer(pd.read_csv(tables / "panel_exposure.csv")) is None
    assert one_row_per_answer(table.assign(item=table["item"].str[1:].astype(int))) == ("id", "item", "resp")
    assert one_row_per_answer(table.assign(age=table["id"] % 7)) == ("id", "item", "resp")
    assert one_row_per_answer(pd.concat([table, table])) is None
    assert one_row_per_answer(wide.reset_index()) is None


def test_measurements_are_cut_into_levels(tables, bayesmrf):
    path = tables / "slider.csv"
    table = pd.read_csv(path)
    for model in ("auto", "boltzmann", "potts"):
        said = refusal(table, model=model)
        assert "4 column(s) are measurements: 's0' (65 numbers from 0 to 100)" in said
        way = "(pandas.qcut(column, 4, False, duplicates='drop'))" if model == "potts" else "with .*cut=\\['s0:4', "
        assert re.search(f"into levels of equal counts {re.escape(way) if model == 'potts' else way}", said)
        assert "boltzmann" not in said
    assert "cut it into levels of equal counts (pandas.qcut" in refusal(table, model="ordinal")
    cut = table.apply(lambda column: pd.qcut(column, 4, False, duplicates="drop"))
    assert fitted(cut, 5).model_ == "ordinal"
    code, _, err = bayesmrf("structure", path)
    assert code == 2
    assert "--model ordinal" not in err  # would be refused
    assert 'divide all columns with --binarize ">=50"' in err
    assert bayesmrf("structure", path, "--binarize", ">=50", "--n-draws", 5, "--seed", 1)[0] == 0


def test_a_threshold_divides_every_column():
    low, high = np.arange(40), np.arange(20, 60)
    assert dividing_rule([low, high, np.full(3, 7)]) == ">=30"
    assert dividing_rule([np.arange(5), np.arange(5, 9)]) == ""
    assert dividing_rule([np.array([0, 1]), np.arange(1, 6)]) == ""
    assert dividing_rule([np.full(3, 7)]) == ""
    said = remedy_for_measurements([np.array([0, 1]), high], ["a", "b"])
    assert "1 column(s) are measurements: 'b' (40 numbers from 20 to 59)" in said
    assert "binarize" not in said


def test_pictures_are_no_answers(data_folder):
    pixels = datasets.mnist()[0][:500].reshape(500, -1)
    assert "such as by X >= 128, and drop constant pixels" in refusal(pixels)
    inked = pixels >= 128
    assert remedy_for_pictures(list(inked.T.astype(int))) == ""
    assert remedy_for_pictures(list(pixels[:, :30].T)) == ""


def test_real_answers_have_no_such_columns(data_folder):
    """The shared tables, but for the column of groups of one and the identifier of another."""
    for name in ("adhd", "boredom", "wenchuan", "science", "cad1"):
        assert problems(pd.read_csv(data_folder / f"{name}.csv")) == [], name
    assert ["'count'" in text for text in problems(pd.read_csv(data_folder / "coronary.csv"))] == [True]
    assert problems(datasets.senate542()) == []


def test_a_total_of_items_is_named(tables, bayesmrf):
    table = pd.read_csv(tables / "sumscore_independent.csv")
    said = "column 'total' is the sum of 'i1', 'i2', 'i3', 'i4' in every row, .*; drop it"
    with pytest.warns(EqualColumnsWarning, match=said):
        est = fitted(table)
    assert est.table("edges")["inclusion"].min() > 0.9  # of independent items
    assert "is the sum of 'i1'" in verdict(est.posterior_).sentence
    edges = fitted(table.drop(columns="total"), 4000).table("edges")
    assert near(edges["inclusion"].clip(upper=0.06), edges["inclusion"], 2000)
    code, _, err = bayesmrf("structure", tables / "sumscore_independent.csv", "--n-draws", 5, "--seed", 1)
    assert (code, "column 'total' is the sum of" in err) == (0, True)


def test_dummies_of_one_answer_are_named(tables):
    table = pd.read_csv(tables / "dummies.csv")
    said = "'white', 'black', 'other' add up to 1 in every row, as the dummies of one answer do"
    with pytest.warns(EqualColumnsWarning, match=said):
        fitted(table)
    fitted(table[["white", "q1", "q2"]])  # as it says: all but one dropped


@pytest.mark.parametrize(
    ("name", "column", "kind"),
    [("sumscore_independent", "total", "total of others"), ("dummies", "other", "dummy of others")],
)
def test_the_codebook_shows_what_is_made_of_others(name, column, kind, tables, tmp_path):
    table = pd.read_csv(tables / f"{name}.csv")
    book = read_columns(table).set_index("name")
    assert book["kind"].isin(["total of others", "dummy of others"]).sum() == 1
    assert (book.loc[column, "kind"], "drop" in book.loc[column, "does"]) == (kind, True)
    assert prepare(table, columns=book.reset_index()).equals(prepare(table))  # it goes back in


def items(rng, n=200, d=4, most=4):
    return pd.DataFrame(rng.integers(0, most, (n, d)), columns=list("abcdef"[:d]))


def test_relations_of_columns_are_found(rng):
    table = items(rng)
    a, b, c = (table[name] for name in "abc")
    levels = np.eye(4, dtype=int)[a].T
    sums = table.sum(axis=1)
    for columns, kind, names, text in (
        ({"z": sums}, TOTAL, "zabcd", "'z' is the sum of 'a', 'b', 'c', 'd'"),
        ({"z": sums / 4}, TOTAL, "zabcd", "'z' is the mean of"),
        ({"z": sums / 2 + 7}, TOTAL, "zabcd", "'z' is the sum, divided by 2, of"),
        ({"z": a + b}, TOTAL, "zab", "'z' is the sum of 'a', 'b'"),
        ({"z": a - b}, TOTAL, "azb", "'a' is the sum of"),
        ({"z": 2 * a + 3 * b}, TOTAL, "zab", "'z' is determined by 'a', 'b'"),
        ({"z": 5 - c}, COPY, "zc", "'z' is a copy of 'c'"),
        ({"z": c * 10}, COPY, "zc", "'z' is a copy of 'c'"),
        ({"z": 9 - a - b}, DUMMY, "zab", "'a', 'b', 'z' add up to 9 in every row"),
        ({"z": levels[3], "y": levels[2], "x": levels[1]}, TOTAL, "xazy", "determined"),
    ):
        (found,) = relations(table.assign(**columns))
        assert (found.kind, set(found.columns)) == (kind, set(names)), text
        assert text in found.sentence
        if kind != COPY:
            assert found.columns[0] == names[0]
    first = table.assign(z=sums)[["z", "a", "b", "c", "d"]]
    assert relations(first)[0].columns == ("z", "a", "b", "c", "d")  # in any order
    two = relations(table.assign(y=a + b, z=sums))
    assert [found.columns[0] for found in two] == ["y", "z"]


def test_what_holds_in_most_rows_or_by_chance_is_no_relation(rng):
    table = items(rng)
    total = table.sum(axis=1)
    off = total.copy()
    off.iloc[17] += 1
    assert relations(table.assign(z=off)) == []
    assert relations(table.assign(z=(total / 3).round(1))) == []  # not exact
    assert relations(table.assign(z=total.where(table["a"] > 0))) != []  # the rows that have one
    assert relations(table.assign(z=np.nan, y="text", x=3)) == []
    large = pd.concat([table.assign(z=total)] * 100, ignore_index=True)
    assert relations(large)
    large.loc[19_000, "z"] += 1  # beyond the first rows
    assert relations(large) == []
    for n, d in ((20, 30), (30, 25), (12, 3)):
        assert not any(relations(pd.DataFrame(rng.integers(0, 2, (n, d)))) for _ in range(30)), (n, d)


def test_no_relations_in_real_answers(data_folder):
    for name in ("adhd", "boredom", "coronary", "wenchuan"):
        assert relations(pd.read_csv(data_folder / f"{name}.csv")) == [], name
    words = pd.read_csv(data_folder / "cad1.csv").apply(lambda column: pd.factorize(column)[0])
    assert relations(words) == []
    for table in (datasets.senate542(), datasets.senate109(1), datasets.senate109(2), datasets.news20()[0]):
        assert relations(table) == []
    assert relations(pd.DataFrame(datasets.retina50()[:20_000])) == []
    assert relations(pd.DataFrame(datasets.mnist()[0][:5000].reshape(5000, -1)[:, ::3] > 127)) == []


def test_a_total_with_many_levels_is_named_where_it_is_refused(rng, bayesmrf, folder):
    table = items(rng, d=6, most=5)
    table["score"] = table.sum(axis=1)
    assert "column 'score' is the sum of 'a', 'b', 'c', 'd', 'e', 'f' in every row" in refusal(table)
    table.to_csv("t.csv", index=False)
    code, _, err = bayesmrf("structure", "t.csv")
    assert (code, "column 'score' is the sum of 'a'" in err) == (2, True)


def test_a_panel_names_the_columns_of_people_and_waves(bayesmrf, folder, rng):
    answers = pd.DataFrame(rng.integers(0, 2, (120, 3)), columns=list("abc"))
    answers.insert(0, "id", np.repeat(np.arange(30), 4))
    answers.insert(1, "wave", np.tile(np.arange(1, 5), 30))
    answers.to_csv("p.csv", index=False)
    code, _, err = bayesmrf("panel", "p.csv")
    assert code == 2
    assert "give --person id, so that rows of one person follow each other, or leave it out with --drop id" in err
    assert "give --wave wave" in err
    code, _, err = bayesmrf("structure", "p.csv")
    assert code == 2
    assert "--person" not in err
    assert "use bayesmrf panel if rows of one person follow each other" in err
