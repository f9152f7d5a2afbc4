"""Tables that are none of answers, lines of headers, codes before a cut, and more levels than there may be."""

import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rdata

from bayesmrf import SpikeSlabMRF
from bayesmrf.cli.table_options import read_votes
from bayesmrf.data import prepare, read_columns
from bayesmrf.data.headers import extra_headers
from bayesmrf.data.kinds.cut import codes_of, cut
from bayesmrf.data.kinds.values import values_of
from bayesmrf.data.levels import find_foreign
from bayesmrf.errors import DataError, LevelsWarning
from tests.helpers.commands import one_sentence


@pytest.fixture
def tables(data_folder):
    folder = Path(os.environ["BAYESMRF_DATA"]).parent / "tables"
    if not folder.exists():
        pytest.skip("the made-up tables are not here")
    return folder


COMMANDS = {
    "two_lines_of_headers.csv": "row 1 below the first line contains names of columns.*header of two lines; leave one",
    "correlations.csv": "a matrix of correlations, not of answers; give the table from which they were computed",
    "species_in_rows.csv": "more columns .30. than rows .14., which 'species' names; .* transpose the table, else",
    "alignment.fasta": "an alignment of sequences .FASTA., which is not supported; make a table of it: a row for each",
    "age_999999.csv": "'age' .999999 in 30 cells.; give --missing-code 999999 if it codes missing values",
    "abundances.csv": '5 column.s. are measurements.*--cut sp0:4 .*divide all columns with --binarize ">=1"',
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name, bayesmrf, tables):
    one_sentence(bayesmrf("structure", str(tables / name), "--seed", 1), COMMANDS[name])


def rows(text):
    return [line.split(",") for line in text.split("\n")]


# The first line, those below, and how many of these are headers.
HEADERS = {
    "SurveyMonkey": ("ID,How?,Which?,,Else?\n,Response,A,B,Other (please specify)\n1,Never,A,B,\n2,Often,,B,x", 1),
    "SurveyMonkey, texts": (
        "ID,Why?\n,Open-Ended Response\n1,a b\n2,c d",
        0,
    ),  # every column has a name: columns are texts
    "Qualtrics": ('Q1,Q2\nHow?,Which?\n{"ImportId":"QID1"},{"ImportId":"QID2"}\n1,2', 2),
    "Qualtrics, older": ("Date,Q1,Q2\nStart,How?,Which?\n" + "\n".join(f"d{i},{i % 3},{i % 2}" for i in range(12)), 1),
    "choices": ("A,B,C\nHow?,Which?,Why?\n" + "\n".join(["Never,x,p", "Often,y,q"] * 9), 1),
    "numbers": ("A,B\nitem 1,item 2\n1,0\n0,1", 1),
    "answers": ("A,B,C\nNever,x,p\n" + "\n".join(["Never,x,p", "Often,y,q"] * 9), 0),
    "a rare first row": ("A,B,C\nRarely,x,p\n" + "\n".join(["Never,x,p", "Often,y,q"] * 9), 0),
    "row names": (",A,B\nAnn,1,0\nBob,0,1\nCid,1,1", 0),
    "ticks": ("A,B,C\nx,,x\nx,x,\n,x,x", 0),
    "texts for missing": ("A,B\nNA,NA\n1,0\n0,1", 0),
}


@pytest.mark.parametrize("case", HEADERS)
def test_lines_of_headers(case):
    text, n = HEADERS[case]
    names, *below = rows(text)
    assert extra_headers(names, iter(below)) == n
    assert extra_headers(names, iter(below[n:])) == 0  # without them there is none
    frame = pd.DataFrame(below, columns=[name or f"Unnamed: {i}" for i, name in enumerate(names)]).replace("", None)
    message = {1: "row 0 is a second line of headers.*header=.0, 1", 2: "row 0 and row 1 are headers of Qualtrics"}
    if n:
        with pytest.raises(DataError, match=message[n]):
            prepare(frame)


def test_matrices_in_python(rng):
    est = SpikeSlabMRF(progress=False)
    half = np.triu((rng.random((8, 8)) < 0.5).astype(int), 1)
    correlations = pd.DataFrame(rng.normal(size=(50, 5)), columns=list("abcde")).corr()
    lower = correlations.where(np.tril(np.ones((5, 5)), -1) > 0)
    named = correlations.reset_index(names="item")
    network = pd.DataFrame([[0, 1, 1], [1, 0, 0], [1, 0, 0]], list("xyz"), list("xyz"))
    for X in (correlations, correlations.to_numpy(), lower, named, correlations.round(2)):
        with pytest.raises(DataError, match="a matrix of correlations, not of answers; give the table"):
            est.check(X)
    for X in (half + half.T, pd.DataFrame(half + half.T), network):
        with pytest.raises(DataError, match="its rows are the same nodes as its columns; give a table with a row for"):
            est.check(X)
    square = rng.integers(0, 2, (8, 8))
    for X in (square, pd.DataFrame(square), pd.DataFrame([[0, 1, 1], [1, 0, 0], [1, 0, 0]])):
        est.check(X)


def test_species_in_rows_and_sequences(tables, rng):
    X = pd.read_csv(tables / "species_in_rows.csv")
    with pytest.raises(DataError, match=r"transpose the table \(pandas: X.set_index\('species'\).T\), else leave"):
        prepare(X)
    assert prepare(X.set_index("species").T).shape == (30, 14)
    assert "transpose" not in message_of(X.rename(columns={"species": "participant"}))
    letters = rng.choice(list("ACGT-"), (30, 8))
    X = pd.DataFrame({"id": range(30), "bases": ["".join(row) for row in letters]})
    with pytest.raises(DataError, match=r"'bases' has aligned sequences of 8 letters; make a column of each position"):
        prepare(X)
    assert prepare(pd.DataFrame(X["bases"].map(list).tolist())).shape == (30, 8)  # as the message says
    words = pd.DataFrame({"a": rng.choice(["strong", "medium"], 30), "b": rng.integers(0, 2, 30)})
    assert "sequences" not in message_of(words)


def message_of(X):
    try:
        prepare(X)
    except DataError as e:
        return str(e)
    return ""


REFUSED = {
    "a.fasta": (b">seq0 of a virus\nACGT-ACGT\n>seq1\nACGTTACGT\n", r"FASTA.*a column for each position"),
    "a.aln": (b"CLUSTAL W (1.83)\n\nseq0 ACGT\n", "an alignment of sequences, .*a column for each position"),
    "a.sav": (b"\x1c" + bytes(7) + b"ENCRYPTEDSAV\x15" + bytes(40), "an SPSS file with a password, .*save it without"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_no_tables(name, tmp_path):
    (tmp_path / name).write_bytes(REFUSED[name][0])
    with pytest.raises(DataError, match=REFUSED[name][1]):
        read_votes(tmp_path / name)
    (tmp_path / "a.csv").write_text(">=3 drinks,sex\n1,0\n0,1\n")
    assert list(read_votes(tmp_path / "a.csv")[0]) == [">=3 drinks", "sex"]


def test_roll_calls_of_r(tmp_path):
    calls = {"votes": np.eye(3), "legis.data": pd.DataFrame({"party": [1.0, 2.0, 1.0]}), "desc": "House"}
    rdata.write_rds(tmp_path / "a.rds", calls)
    rdata.write_rda(tmp_path / "b.RData", {"h109": calls})
    for name, called in (("a.rds", "x"), ("b.RData", "h109")):
        with pytest.raises(DataError, match=rf"a list of roll calls \(pscl\).*convertCodes\({called}\)"):
            read_votes(tmp_path / name)
    rdata.write_rds(tmp_path / "a.rds", {"votes": np.eye(3)})
    with pytest.raises(DataError, match="this R file has 0 data frames"):
        read_votes(tmp_path / "a.rds")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_decimal_commas(separator, tmp_path):
    """They are in quotes where commas separate columns; "1,3" in lists of codes is none."""
    cells = [("1,5", "1", "1"), ("0,25", "1,3", "2,5"), ("2", "2,3", "1,5"), ("", "1,2", "3,5"), ("-3,0", "", "4,5")]
    lines = [separator.join(f'"{cell}"' for cell in row) for row in [("x", "codes", "half"), *cells]]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    found = read_votes(tmp_path / "a.csv")[0]
    np.testing.assert_array_equal(found["x"], [1.5, 0.25, 2, np.nan, -3])
    np.testing.assert_array_equal(found["half"], [1, 2.5, 1.5, 3.5, 4.5])
    assert found["codes"].dropna().tolist() == ["1", "1,3", "2,3", "1,2"]


def test_codes_of_limesurvey_are_in_order(rng):
    codes = rng.choice(["AO01", "AO02", "AO04", "AO05"], (60, 2))
    table = pd.DataFrame(codes, columns=["q[SQ001]", "q[SQ002]"]).assign(a=rng.choice(["A1", "A2", "A10"], 60))
    table.iloc[0, 1] = "AO03"  # a level of the other column, too
    found = dict(read_columns(table)[["name", "levels"]].to_numpy())
    assert found["q[SQ001]"] == found["q[SQ002]"] == "AO01 < AO02 < AO03 < AO04 < AO05"
    assert found["a"] == "A1 < A2 < A10"
    others = table.assign(a=rng.choice(["A1", "B2", "C1"], 60))  # of plots, for example
    assert read_columns(others)["kind"].tolist() == ["ordered", "ordered", "nominal"]


def values(numbers):
    return values_of(pd.DataFrame({"x": numbers}))[0]


def test_codes_are_asked_about_before_a_cut(tables, rng):
    table = pd.read_csv(tables / "age_999999.csv")
    with pytest.raises(DataError, match=r"look like codes of missing values: 'age' \(999999 in 30 cells\); replace"):
        prepare(table, cut="age:4")
    found = prepare(table, cut="age:4", missing="999999")["age"]
    assert found.isna().sum() == 30
    assert found.cat.categories[-1].endswith("to 79")
    assert prepare(table, cut="age:4", missing="none")["age"].cat.categories[-1].endswith("to 999999")
    age = rng.integers(18, 85, 200)
    cases = [
        ([99] * 4, {"99"}),
        ([999], {"999"}),
        ([-9, -8, -1], {"-9", "-8", "-1"}),
        ([997, 998, 999], {"997", "998", "999"}),
    ]
    for codes, expected in cases:
        assert codes_of(values([*age, *codes])).keys() == expected
    with pytest.raises(DataError, match=r"'mood' \(-9 in 4 cells\)"):
        prepare(pd.DataFrame({"mood": [-9] * 4 + [1, 2, 3, 4, 5] * 9}), cut="mood:3")
    counts = [rng.negative_binomial(0.3, 0.02, 150), np.round(np.exp(rng.normal(1, 1.5, 150))), rng.poisson(30, 150)]
    for numbers in (*counts, age, [*age, 99], rng.integers(0, 101, 200), rng.normal(0, 3, 150).round(), [0, 9, 99]):
        assert not codes_of(values(numbers))


def test_large_counts_are_no_codes_of_missing_values(rng):
    """Sparse counts of animals have single large ones; 9 and 99 next to a scale are codes as ever."""
    sparse = np.repeat([0, 1, 2, 3, 4, 5], [1200, 60, 24, 12, 9, 4])
    assert not find_foreign([np.append(sparse, [9, 9])], ["x"]).codes
    assert find_foreign([np.append(sparse, [99, 99])], ["x"]).codes == {99: 2}
    symptoms = np.repeat([0, 1, 2, 3], [600, 300, 150, 90])
    assert find_foreign([np.append(symptoms, [9, 9])], ["x"]).codes == {9: 2}


CUTS = {
    "equal counts": (np.arange(100), 4, ["0 to 24", "25 to 49", "50 to 74", "75 to 99"]),
    "many zeros": (np.r_[np.zeros(60), np.arange(1, 41)], 3, ["0", "1 to 20", "21 to 40"]),
    "a heavy middle": (np.r_[np.arange(30), np.full(60, 50), np.arange(70, 100)], 3, ["0 to 29", "50", "70 to 99"]),
    "two heavy": (np.r_[np.zeros(40), np.full(40, 7), np.arange(1, 7)], 3, ["0", "1 to 6", "7"]),
    "as few levels as asked for": (
        np.r_[np.arange(20), np.full(60, 50), np.arange(70, 80)],
        2,
        ["0 to 19", "50 to 79"],
    ),
}


@pytest.mark.parametrize("case", CUTS)
def test_a_number_with_a_large_share_is_a_level(case):
    numbers, n, labels = CUTS[case]
    column = cut(values(numbers), n)
    assert column.labels == labels
    assert sum(level.n for level in column.levels) == len(numbers)


def test_cuts_that_are_asked_for(rng):
    table = pd.DataFrame({"a": rng.permutation(100), "b": rng.permutation(100), "how old, in years?": range(100)})
    found = prepare(table, cut="a:4, b:3,how old, in years?:2")
    assert [len(found[name].cat.categories) for name in table] == [4, 3, 2]
    assert [len(c.cat.categories) for _, c in prepare(table, cut="a,b:10,how*:4").items()] == [10, 10, 4]
    table["a"] = rng.choice([0, 5], 100)
    with pytest.warns(LevelsWarning, match="'a' is cut into 2 levels instead of 4, as few numbers fill most"):
        found = prepare(table, cut="a:4,b:3,how*:3")
    zeros = pd.DataFrame({"n": np.r_[np.zeros(60), np.arange(1, 41)], "y": rng.integers(0, 2, 100)})
    book = read_columns(prepare(zeros, cut="n:3"))
    assert book["levels"][0] == "0 < 1 to 20 < 21 to 40"
    est = SpikeSlabMRF(method="exact", n_draws=5, n_warmup=5, n_chains=1, random_state=1, progress=False, columns=book)
    est.fit(zeros)
    new = pd.DataFrame({"n": [0, 20, 20.4, 1000, -3], "y": 0})
    same = pd.DataFrame({"n": [0, 20, 20, 40, 0], "y": 0})
    np.testing.assert_array_equal(est.score_samples(new), est.score_samples(same))


def test_more_levels_than_there_may_be(rng):
    """The limit is said at once, with levels to merge that the next step takes."""
    n = 400
    states = [f"S{i:02d}" for i in range(49)]
    other = rng.choice(["A", "B", "C"], n).astype(object)
    other[::10] = [f"Other: text {i}" for i in range(n // 10)]
    for name, column, merged in (("state", rng.choice(states, n), None), ("party", other, 4)):
        table = pd.DataFrame({name: column, "y": rng.choice(["yes", "no"], n)})
        for given in ({}, {"nominal": name}):
            with pytest.raises(
                DataError, match=f"column '{name}' must have at most 20 levels, got 4[39]; .*merge"
            ) as e:
                prepare(table, **given)
        merge = re.search(r"merge=\['(.*?)'\]", str(e.value))[1]
        found = prepare(table, nominal=name, merge=merge)[name]
        assert len(found.cat.categories) <= 20
        assert merged is None or (len(found.cat.categories) == merged and merge == "party:Other*")
    free = pd.DataFrame({"why": [f"text {i // 2} {i}" for i in range(30)], "y": rng.choice(["yes", "no"], 30)})
    assert "nominal" not in message_of(free)
