"""Variants of unclean tables: each is named or read with its right meaning, and what to do works when it is pasted."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesmrf
from bayesmrf.cli import run
from bayesmrf.data import prepare, read_columns, stack_waves
from bayesmrf.data.columns import described
from bayesmrf.data.frames import frame_of
from bayesmrf.data.infer_columns import problems_of
from bayesmrf.data.kinds.count import forgotten_count
from bayesmrf.data.levels import find_foreign
from bayesmrf.data.table_forms import one_row_per_answer
from bayesmrf.data.waves_side_by_side import side_by_side
from bayesmrf.errors import DataError, said

WORDS = ["Never", "Rarely", "Sometimes", "Often", "Always"]


def items(rng, n=200, k=5, low=1, high=5, names=None):
    """Answers of people who differ in one trait."""
    trait = rng.normal(size=(n, 1))
    x = np.round((0.7 * trait + 0.8 * rng.normal(size=(n, k))) * (high - low + 1) / 5 + (low + high) / 2)
    return pd.DataFrame(x.clip(low, high).astype(int), columns=names or [f"q{i + 1}" for i in range(k)])


def problems(table):
    """What is to be answered before a run, as Python says it."""
    return [said(text) for text in problems_of(described(frame_of(table)))]


def one_problem(table):
    (text,) = problems(table)
    return text


def kinds(table):
    return dict(read_columns(table)[["name", "kind"]].to_numpy())


def pasted(text, option, X):
    """Give what a message says of an option of `prepare`."""
    (call,) = re.findall(rf"bayesmrf\.data\.prepare\(X, {option}=.*?\]\)", text)
    return eval(call, {"bayesmrf": bayesmrf, "X": X})


@pytest.mark.parametrize(
    "names",
    [
        [f"day{i}" for i in range(1, 8)],
        [f"week_{i}" for i in range(7)],
        ["time_pressure", "weekday", "session_quality", "q_t1", "patient", "row", "n"],
    ],
)
def test_items_with_names_of_times_are_answers(names, rng):
    table = items(rng, k=7, names=names)
    assert set(kinds(table).values()) == {"ordered"}
    assert not problems(table)


@pytest.mark.parametrize("top", [2, 3, 5, 7, 11])
def test_clean_scales_raise_no_alarm(top, rng):
    table = items(rng, low=0, high=top - 1)
    assert not problems(table)
    some = table.astype(float).mask(rng.random(table.shape) < 0.1)
    for same in (some, some.astype("Int64"), some.astype("float32"), table.astype(str), table.to_numpy()):
        assert not problems(same)


def test_customary_codes_behind_one_empty_level_are_codes(rng):
    table = items(rng, 300)
    seven = table.mask(
        rng.random(table.shape) < 0.1, pd.DataFrame(rng.choice([7, 8, 9], table.shape), columns=table.columns)
    )
    assert re.match("[789] .* lie outside the levels 1 to 5", one_problem(seven))
    of_seven = items(rng, 300, high=7)
    assert "9 (" in one_problem(of_seven.mask(rng.random(of_seven.shape) < 0.08, 9))
    # A level that nobody chose, and scales up to 9, are no codes.
    for scale in (table.replace(4, 5), items(rng, 300, high=9), items(rng, 300, low=0, high=10)):
        assert not problems(scale)
    assert not find_foreign([np.repeat(np.arange(1, 10), [60, 60, 60, 60, 60, 60, 60, 5, 100])], ["q"]).codes


def test_few_people_are_no_answers(rng):
    """Eight people of a diary are not the levels of an item."""
    diary = pd.DataFrame({"id": np.repeat(np.arange(1, 9), 35), "beep": np.tile(np.arange(1, 6), 56)})
    diary = diary.assign(sad=rng.integers(0, 2, 280), tired=rng.integers(0, 2, 280))
    assert kinds(diary) == {"id": "identifier", "beep": "identifier", "sad": "yes/no", "tired": "yes/no"}
    text = problems(diary)[0]
    assert "column 'id' looks like an identifier (35 rows per value)" in text
    assert "8 are too few to estimate what that means" in text  # nothing is promised that is not done
    assert "id" not in pasted(text, "drop", diary.drop(columns="beep"))
    german = diary.rename(columns={"id": "vp", "beep": "messung"})
    assert kinds(german)["vp"] == kinds(german)["messung"] == "identifier"
    events = pd.DataFrame({"record_id": np.repeat(np.arange(12), 2), "event": np.tile(["base", "later"], 12)})
    for name, event in (("a1", "base"), ("a2", "base"), ("b1", "later"), ("b2", "later")):
        events[name] = np.where(events["event"] == event, rng.integers(0, 2, 24), np.nan)
    assert "X.drop(columns=['event']).groupby('record_id').first()" in one_problem(events)
    assert not problems(events.drop(columns=["event"]).groupby("record_id").first())


def test_waves_are_known_by_words(rng):
    people = pd.DataFrame({"id": np.repeat(np.arange(60), 3), "wave": np.tile(["T1", "T2", "T3"], 60)})
    people = people.assign(a=rng.integers(0, 2, 180), b=rng.integers(0, 2, 180))
    text = problems(people)[1]
    assert text.startswith("'wave' (T1, T2, T3) looks like a time, not an answer; use PanelMRF")
    assert "wave" not in pasted(text, "drop", people.drop(columns="id"))
    with pytest.raises(DataError, match=r"number times that are words, 1, 2, 3, .* in order, and give wave='wave'"):
        bayesmrf.PanelMRF(progress=False).check(people.drop(columns="id"), person=people["id"])
    days = people.assign(day=np.tile(["day 1", "day 1", "day 2"], 60), wave=np.tile([1, 2, 1], 60)).drop(
        columns=["id", "wave"]
    )
    with pytest.raises(DataError):  # of the day, which is a column of words
        bayesmrf.PanelMRF(progress=False).check(days, person=people["id"], wave=np.tile([1, 2, 1], 60))
    people["wave"] = np.tile(["mild", "severe", "none"], 60)
    assert kinds(people)["wave"] == "ordered"


def test_a_time_may_be_an_answer(rng):
    table = items(rng, high=4, names=["time", "money", "health", "family", "work"])
    kept = pasted(one_problem(table), "ordered", table)
    assert set(kinds(kept).values()) == {"ordered"}


FORMS = [
    "{}_baseline|{}_followup",
    "{} (T1)|{} (T2)",
    "{} [Wave 1]|{} [Wave 2]",
    "{}_2019|{}_2020",
    "{}_vorher|{}_nachher",
]


@pytest.mark.parametrize("form", FORMS)
def test_waves_side_by_side_of_other_programs(form, rng):
    names = [side.format(stem) for side in form.split("|") for stem in ("sad", "tired")]
    found = side_by_side(names)
    assert set(found.columns) == {"sad", "tired"}
    assert len(stack_waves(items(rng, 30, 4, names=names))) == 60


def test_cells_with_lists_are_texts_to_split(rng):
    boxes = [list(np.array(["Friends", "Sport", "Music"])[rng.random(3) < 0.5]) for _ in range(60)]
    table = pd.DataFrame({"helps": boxes, "ill": rng.integers(0, 2, 60)})
    with pytest.raises(
        DataError, match="must have one value in each cell, but column 'helps' has a list in row 0"
    ) as e:
        read_columns(table)
    table["helps"] = table["helps"].str.join("; ")
    assert pasted(str(e.value), "split", table).shape == (60, 4)
    for cell in ({"a": 1}, np.array([1, 2])):
        table["helps"] = pd.Series([cell] * 60, dtype=object)
        for read in (read_columns, prepare, bayesmrf.SpikeSlabMRF(progress=False).check):
            with pytest.raises(DataError, match="drop the column"):
                read(table)


@pytest.mark.parametrize("separator", [" / ", " + ", " & ", "; ", "|"])
def test_answers_with_commas_between_other_separators(separator, rng):
    answers = np.array(["Friends", "Sport", "Music, film or theatre", "Pets"])
    cells = [separator.join(answers[rng.random(4) < 0.4]) for _ in range(150)]
    split = prepare(pd.DataFrame({"h": cells}), split="h")
    assert set(split) == {f"h: {answer}" for answer in answers}


def test_boxes_of_true_or_a_label(rng):
    ticks = rng.random((100, 3)) < 0.4
    true = pd.DataFrame(np.where(ticks, True, None), columns=list("abc"))
    label = pd.DataFrame(
        {name: np.where(ticks[:, i], name, "0") for i, name in enumerate(["Friends", "Sport", "Music"])}
    )
    for boxes, said_so in ((true, "next to blanks"), (label, "next to 0, as boxes")):
        text = one_problem(boxes)
        assert said_so in text
        typed = pasted(text, "no", boxes)
        assert np.array_equal(typed.apply(lambda c: c.cat.codes).to_numpy() == 1, ticks)
    assert not problems(pd.DataFrame(ticks))


def test_codes_next_to_words_are_named_once(rng):
    answers = items(rng, 100).map(lambda v: WORDS[v - 1])
    for code in ("-99", "99", "-9"):
        some = answers.mask(rng.random(answers.shape) < 0.1, code)
        assert f"replace {code} by NaN if it codes missing values" in one_problem(some)
        assert list(prepare(some, missing=code)["q1"].cat.categories) == WORDS
    assert not problems(items(rng, 100).astype(object).replace(5, "5 or more"))  # numbers that go on
    dots = items(rng, 100).astype(object).mask(rng.random((100, 5)) < 0.1, ".")
    assert "'q1', 'q2', 'q3', ... (5 in all) contain '.' next to numbers" in one_problem(dots)
    stata = dots.replace(".", ".a").mask(rng.random((100, 5)) < 0.1, ".b")
    assert re.search("contain '.[ab]', '.[ab]' next to numbers, the first in row", one_problem(stata))
    assert not problems(prepare(stata, missing=[".a", ".b"]))
    labels = answers.mask(rng.random(answers.shape) < 0.1, ".i:  Inapplicable").mask(
        rng.random(answers.shape) < 0.1, ".d:  Do not know/cannot choose"
    )
    assert list(prepare(labels)["q1"].cat.categories) == WORDS
    with_id = items(rng, 100).mask(rng.random((100, 5)) < 0.1, 99).assign(id=range(100))
    assert not re.search("99 .* column 'id'", problems(with_id)[1])


def test_a_word_and_its_opposite_are_yes_and_no():
    for no, yes in (("not quoted", "quoted"), ("nicht gewählt", "gewählt")):
        assert prepare(pd.DataFrame({"a": [no, yes] * 9, "b": [yes, yes, no] * 6}))["b"].cat.categories[1] == yes


def test_patterns_and_ratings_are_no_counts(rng):
    patterns = pd.DataFrame({"id": range(1, 41), "pattern": rng.permutation(10**6)[:40]})
    assert forgotten_count(patterns) is None
    raters = pd.DataFrame([(r, s) for r in range(30) for s in range(25)], columns=["rater", "target"])
    assert forgotten_count(raters.assign(score=rng.integers(0, 101, 750))) is None
    cells = pd.DataFrame(
        {"a": np.tile([0, 1], 8), "b": np.repeat([0, 1], 8), "c": np.tile(np.repeat([0, 1, 2, 3], 2), 2)}
    )
    assert forgotten_count(cells.assign(score=rng.integers(0, 101, 16))) == "score"


def test_crossings_have_gaps(rng):
    raters = pd.DataFrame([(r, s) for r in range(30) for s in range(25)], columns=["rater", "target"])
    ratings = raters.assign(score=rng.integers(1, 6, 750))
    for share in (1, 0.8, 0.5):
        assert one_row_per_answer(ratings.sample(frac=share, random_state=1)) == ("rater", "target", "score")
    assert one_row_per_answer(raters.assign(score=rng.integers(0, 101, 750))) == ("rater", "target", "score")
    people = pd.DataFrame(
        {"age": rng.integers(18, 60, 400), "kg": rng.integers(50, 80, 400), "q": rng.integers(1, 6, 400)}
    )
    assert one_row_per_answer(people) is None
    votes = raters.rename(columns={"rater": "rollnumber", "target": "icpsr"}).assign(
        cast_code=rng.choice([1, 6, 9], 750)
    )
    assert "person ('icpsr') to a question ('rollnumber')" in one_problem(votes)
    long = pd.DataFrame({"id": np.repeat(np.arange(60), 6), "item": np.tile([f"q{i}" for i in range(6)], 60)})
    long = long.assign(resp=rng.integers(0, 4, 360), rt=rng.normal(900, 100, 360).round(1))
    assert one_row_per_answer(long) == ("id", "item", "resp")


def test_matrices_with_marks_and_names(rng):
    names = list("abcdefgh")
    r = pd.DataFrame(rng.normal(size=(50, 8)), columns=names).corr()
    blank = np.triu(np.ones((8, 8)), 0) > 0
    for table in (r, r.to_numpy() + 1e-12, r.round(2).astype(object).mask(np.eye(8) > 0, "-"),
                  r.round(2).astype(str).mask(blank, "").reset_index(names="item")):  # fmt: skip
        assert "a matrix of correlations" in one_problem(table)
    directed = pd.DataFrame(rng.random((8, 8)).round(2), names, names)
    assert "its rows have the names of its columns" in one_problem(directed)
    assert "its rows have the names" in one_problem(directed.reset_index(names="from"))
    assert not problems(pd.DataFrame(rng.integers(0, 2, (8, 8)), columns=names))
    assert not problems(items(rng, 12, 12))


def test_rows_that_the_index_names(rng):
    table = pd.DataFrame(rng.integers(0, 2, (12, 30)), pd.Index([f"sp {c}" for c in "abcdefghijkl"], name="species"))
    assert "which the index 'species' names" in one_problem(table)
    assert not problems(table.T)
    assert not problems(table.reset_index(drop=True))
    assert not problems(table.rename_axis("participant_id"))


def test_large_counts_are_no_codes(rng):
    for _ in range(8):
        counts = pd.DataFrame(rng.negative_binomial(0.5, 0.05, (100, 6)))
        assert not any("code" in text for text in problems(counts))


def test_one_problem_is_told_once(rng):
    table = items(rng)
    totals = table.assign(total=table.sum(axis=1))
    text = one_problem(totals)
    assert "'total' is the sum of" in text
    assert "total" not in pasted(text, "drop", totals)
    sliders = pd.DataFrame(rng.integers(0, 101, (100, 4))).mask(rng.random((100, 4)) < 0.05, -99)
    assert sum("-99" in text for text in problems(sliders)) == 1


def test_incomes_and_weights_are_not_only_identifiers(rng):
    table = items(rng, low=0, high=1).assign(income=rng.permutation(9000)[:200])
    assert "income" in pasted(one_problem(table), "cut", table)
    for name, w in (("pw", rng.permutation(9000)[:200] + 1), ("pspwght", rng.gamma(4, 0.25, 200))):
        text = one_problem(items(rng).assign(**{name: w}))
        assert f"if '{name}' is the weight of a survey, give survey_weight=X['{name}']" in text


def test_columns_of_other_survey_programs(rng):
    table = items(rng)
    lime = table.assign(**{"Response ID": range(200), "Last page": rng.integers(1, 4, 200), "Start language": "en"})
    sosci = table.assign(CASE=range(200), QUESTNNR="base", LASTPAGE=rng.integers(3, 6, 200), MAXPAGE=5, TIME001=9)
    redcap = table.assign(**{"Record ID": range(200), "Event Name": "Baseline", "Complete?": "Complete"})
    for exported in (lime, sosci, redcap):
        assert list(pasted(one_problem(exported), "drop", exported)) == list(table)
    assert not problems(items(rng, names=["CASE", "MODE", "LANGUAGE", "quality", "duration"]))


def test_dates_are_no_words(rng):
    assert "nominal" not in one_problem(items(rng).assign(started="2024-01-01 10:00"))


def test_numbers_with_marks(rng):
    table = items(rng).assign(bmi=[f"{v:.1f}".replace(".", ",") for v in rng.normal(24, 3, 200)],
                              share=[f"{v}%" for v in rng.integers(0, 100, 200)])  # fmt: skip
    text = one_problem(table)
    assert "numbers with decimal commas or signs of per cent: 'bmi' (such as" in text
    assert table["bmi"].str.rstrip("%").str.replace(",", ".").astype(float).between(10, 40).all()


def test_the_line_that_tells_excel_the_separator(rng, tmp_path, capsys):
    path = tmp_path / "excel.csv"
    path.write_text("sep=;\n" + items(rng).to_csv(index=False, sep=";"))
    assert run(["columns", str(path)]) == 0
    assert "1 < 2 < 3 < 4 < 5" in capsys.readouterr().out


def test_the_names_of_an_arrow_table_are_not_lost(rng):
    arrow = pytest.importorskip("pyarrow")
    with pytest.raises(DataError, match=r"give X\.to_pandas\(\)"):
        read_columns(arrow.table(items(rng)))
