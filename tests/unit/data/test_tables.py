"""Files from strangers: what can be read is read rightly, everything else is refused in one sentence."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesmrf.cli.table_options import read_edges, read_votes
from bayesmrf.data import prepare
from bayesmrf.data.column_options import ColumnOptions
from bayesmrf.data.levels import find_foreign
from bayesmrf.errors import DataError, GraphError, OptionError
from tests.helpers.commands import one_sentence
from tests.oracle.bounds import P

TEXT = "a,b,c\n1,0,1\n0,1,1\n1,1,0\n"
TABLE = pd.DataFrame({"a": [1, 0, 1], "b": [0, 1, 1], "c": [1, 1, 0]})


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("votes.csv")
        info.size = len(TEXT)
        archive.addfile(info, io.BytesIO(TEXT.encode()))
    return out.getvalue()


READ = {
    "plain": TEXT.encode(),
    "gzip": gzip.compress(TEXT.encode()),
    "bzip2": bz2.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
    "zip": zipped(**{"votes.csv": TEXT, "__MACOSX/._votes.csv": "x"}),
    "mark": TEXT.encode("utf-8-sig"),
    "utf-16": TEXT.encode("utf-16"),
    "utf-32": TEXT.encode("utf-32"),
    "windows": TEXT.replace("\n", "\r\n").encode(),
    "old mac": TEXT.replace("\n", "\r").encode(),
    "semicolons": TEXT.replace(",", ";").encode(),
    "tabs": TEXT.replace(",", "\t").encode(),
    "bars": TEXT.replace(",", "|").encode(),
    "decimal commas": TEXT.replace(",", ";").replace("0", "0,0").encode(),
    "blank lines": TEXT.replace("\n", "\n\n").encode(),
    "no last line end": TEXT.encode()[:-1],
    "spaces in names": TEXT.replace("b", " b ").encode(),
    "quotes": b'"a","b","c"\n"1","0","1"\n"0","1","1"\n"1","1","0"\n',
}


@pytest.mark.parametrize("case", READ)
def test_what_is_read(case, tmp_path):
    (tmp_path / "votes.csv").write_bytes(READ[case])
    table, weights, _ = read_votes(tmp_path / "votes.csv")
    pd.testing.assert_frame_equal(table.astype(float), TABLE.astype(float))
    assert weights is None


def test_names_may_hold_what_separates_elsewhere(tmp_path):
    (tmp_path / "a.csv").write_text('"Q1, yes";"Q2; no"\n1;0\n0;1\n')
    assert list(read_votes(tmp_path / "a.csv")[0]) == ["Q1, yes", "Q2; no"]
    (tmp_path / "b.csv").write_text("one;two,three\n1,0\n")
    assert list(read_votes(tmp_path / "b.csv")[0]) == ["one;two", "three"]


@pytest.mark.parametrize("names", ["1,2,3", "10,2,3", "1,3,5"])
def test_names_may_be_numbers(names, tmp_path):
    (tmp_path / "a.csv").write_text(f"{names}\n1,2,3\n3,1,5\n1,3,5\n")
    assert list(read_votes(tmp_path / "a.csv")[0]) == names.split(",")


REFUSED = {
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(30), "this is a Zstandard archive, which is not supported"),
    "tar": (tarred(), "this is a tar archive"),
    "packed tar": (gzip.compress(tarred()), "this is a tar archive"),
    "two files": (zipped(a="1", b="2"), r"this archive contains 2 files; give one with a single table"),
    "no files": (zipped(), "this is an empty ZIP archive"),
    "cut zip": (zipped(a=TEXT)[:40], r"cannot be read \(.*zip.*\)"),
    "broken zip": (zipped(a=TEXT).replace(b"1,0,1", b"1,1,1"), "cannot be read .*CRC"),
    "cut gzip": (gzip.compress(os.urandom(500))[:-20], "cannot be read .*ended"),
    "broken gzip": (b"\x1f\x8b" + bytes(30), "cannot be read"),
    "cut xz": (lzma.compress(os.urandom(500))[:-20], "cannot be read .*ended"),
    "broken bzip2": (b"BZh9" + bytes(30), "cannot be read"),
    "pickle": (b"\x80\x04\x95" + bytes(30), "binary file"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(30), "this is a binary file, which is not supported; give a text file"),
    "spss portable": (b"ASCII SPSS PORT FILE    \n", "this is a portable file of SPSS"),
    "cut workbook": (
        zipped(**{"[Content_Types].xml": "", "xl/workbook.xml": ""}),
        "Excel workbook that cannot be read",
    ),
    "document": (zipped(**{"[Content_Types].xml": "", "word/document.xml": ""}), "this is a document of Office; save"),
    "old workbook": (
        b"\xd0\xcf\x11\xe0" + bytes(30),
        "this is an Excel workbook of before 2007, or one with a password",
    ),
    "cut parquet": (b"PAR1" + bytes(30), "this is a Parquet file that cannot be read"),
    "cut feather": (b"ARROW1\0\0\xff\xff", "this is a Feather file that cannot be read"),
    "cut spss": (b"$FL2@(#)", "this is an SPSS file that cannot be read"),
    "cut stata": (b"<stata_dta><header>", "this is a Stata file that cannot be read"),
    "cut old stata": (b"r\x02\x01\x00\xfd", "this is a Stata file that cannot be read"),
    "sas": (bytes(12) + b"\xc2\xea\x81\x60\xb3", "this is a SAS file, which is not supported"),
    "sas transport": (b"HEADER RECORD*******LIBV8   HEADER", "this is a SAS transport file that cannot be read"),
    "packed spss": (zipped(a="$FL2@(#)"), "this is an SPSS file that cannot be read"),
    "json": (b'[{"a":0,"b":1}]', "this is a JSON file"),
    "page": (b"<table><tr></tr></table>", "this is an HTML or XML document"),
    "open document": (
        zipped(mimetype="", **{"content.xml": ""}),
        "this is an OpenDocument file; save the sheet as CSV",
    ),
    "archive in an archive": (zipped(a=zipped(b="1")), "this is a ZIP archive in an archive"),
    "latin-1": ("a,b\n1,é\n".encode("latin-1"), r"line 2 is not UTF-8 text \(byte 0xe9\); save the file as UTF-8"),
    "nul": (b"a,b\n1,0\n1,\x000\n", "line 3 contains a NUL character"),
    "utf-16 without a mark": (TEXT.encode("utf-16-le"), "line 1 contains a NUL character"),
    "empty": (b"", "the file is empty; write a header line"),
    "blank": (b"\n\n\n", "the file is empty"),
    "only spaces": (b"  \n", r"at least two nodes, got 1 column\(s\)|no name"),
    "one column": (b"a b c\n1 0 1\n", r"at least two nodes, got 1 column\(s\)"),
    "short line": (b"a,b,c\n1,0,1\n1,0\n", "row 2 below the first line has 2 entries, but the first line names 3"),
    "long line": (b"a,b,c\n1,0,1,\n", "row 1 below the first line has 4 entries"),
    "open quote": (b'a,b\n1,"0\n1,0\n', "cannot be read as comma-separated values .*fix the file"),
    "stray quote": (b'a,b\n1,"0"x\n', "cannot be read as comma-separated values"),
    "huge entry": (b"a,b\n1," + b"0" * 200, "cannot be read as comma-separated values .*field larger"),
    "same names": (b"a,b, a\n1,0,1\n", "column name 'a' occurs twice"),
    "two headers": (
        b"Mood,,Sleep\na,b,c\n1,0,1\n",
        "row 1 below the first line contains texts in every .* of two lines",
    ),
    "labels": (b"a,b\nfirst item,second\n1,\n0,1\n", "row 1 below the first line contains texts in every column"),
    "answers, some equal": (b"3,1,3\n1,2,3\n3,1,2\n", "the first line contains values, not names"),
    "answers, all different": (b"3,1,2\n1,2,3\n3,1,2\n", "the first line contains values, not names"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case, tmp_path, monkeypatch):
    data, message = REFUSED[case]
    monkeypatch.setattr("bayesmrf.data.text_tables._LONGEST_CELL", 100)
    path = tmp_path / "votes.csv"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message) as e:
        read_votes(path)
    assert str(e.value).startswith(f"{path}: ")
    assert len(str(e.value)) < 600
    if not case.endswith(("line", "names", "column")):
        with pytest.raises(GraphError, match=r"--graph: .*votes\.csv"):
            read_edges(path, ["a", "b"])


def test_an_archive_of_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("bayesmrf.data.files._MOST", 1000)
    for packed in (gzip.compress(bytes(10**6)), zipped(a=bytes(10**6)), b"1" * 2000):
        (tmp_path / "bomb.csv").write_bytes(packed)
        with pytest.raises(DataError, match=r"bomb\.csv: this file contains more than .* GiB of text"):
            read_votes(tmp_path / "bomb.csv")


PATHS = {
    "missing": ("none.csv", "does not exist"),
    "folder": (".", "this file is a folder"),
    "under a file": ("votes.csv/x", "does not exist"),
    "too long": ("x" * 300, "file name too long"),
    "far too long": ("/".join(["x" * 200] * 50), "file name too long"),
    "loop": ("loop", "too many levels of symbolic links"),
    "pipe": ("pipe", "not a regular file"),
    "device": ("/dev/null", "not a regular file"),
    "escape": ("\x1b[2J.csv", r"\\x1b\[2J\.csv: this file does not exist"),
}


@pytest.mark.parametrize("case", PATHS)
def test_paths_that_lead_nowhere(case, bayesmrf, votes, folder):
    path, message = PATHS[case]
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    for given in (
        ["groups", path, "--graph", "complete", "--out", "o"],
        ["posterior", path, "--out", "o"],
        ["structure", path, "--out", "o"],
        ["evidence", path, "--hidden", "1", "--out", "o"],
    ):
        one_sentence(bayesmrf(*given), message)
    for given in (
        ["groups", "votes.csv", "--graph", path],
        ["posterior", "votes.csv", "--graph", path],
        ["structure", "votes.csv", "--candidates", path],
        ["evidence", "votes.csv", "--compare", "structure", "--edges", path],
    ):
        one_sentence(bayesmrf(*given), "--(graph|candidates|edges): ")
    assert len(list(folder.iterdir())) == 3


def test_results_that_no_file_can_hold(bayesmrf, votes):
    for out in ("x" * 300, "/".join(["x" * 200] * 50)):
        given = ["--out", out]
        one_sentence(bayesmrf("groups", "votes.csv", "--graph", "complete", *given), "--out: x+…x+: file name too long")
        one_sentence(bayesmrf("posterior", "votes.csv", *given), "file name too long")
        one_sentence(bayesmrf("structure", "votes.csv", *given), "file name too long")
        one_sentence(bayesmrf("evidence", "votes.csv", "--hidden", "1", *given), "file name too long")
        one_sentence(bayesmrf("report", "x_run", *given), "")


def test_lines_of_edges(tmp_path):
    names = ["a", "b", "c"]
    for text in ("a;b\nb;c\n", "a\tb\nb\tc", "a,b\r\nb,c\r\n", "\ufeffa, b\n\nb ,c\n"):
        (tmp_path / "e.csv").write_text(text)
        assert read_edges(tmp_path / "e.csv", names) == ([("a", "b"), ("b", "c")], None)


# ---- which values are answers


def items(rng, n=60, levels=(1, 2, 3, 4, 5)):
    return pd.DataFrame(rng.choice(levels, (n, 4)), columns=list("abcd"))


def foreign(table):
    seen = [table[c].dropna().to_numpy() for c in table]
    return find_foreign([c.astype(str) if c.dtype == object else c for c in seen], [str(c) for c in table])


def test_answers_are_left_alone(rng):
    for levels in ((0, 1), (-1, 1), (-1, 0, 1), (-2, -1, 0, 1, 2), (1, 2, 4, 5), (0, 10, 20, 30), (0, 0.5, 1)):
        found = foreign(items(rng, levels=levels))
        assert (found.ids, found.scales, found.codes) == ([], [], {})
    assert not foreign(pd.DataFrame(rng.integers(300, 2000, (60, 3)))).ids
    assert not foreign(items(rng, 10).assign(id=range(10))).ids  # ten rows may differ by chance


def test_few_fractions_among_integers_are_codes(rng):
    """A row of means below the answers; a scale with half steps is one."""
    table = items(rng).astype(float)
    table.loc[60] = [2.25, 2.25, 3.5, 2.75]
    assert foreign(table).codes == {2.25: 2, 2.75: 1, 3.5: 1}
    assert foreign(items(rng, levels=(1, 1.5, 2, 2.5, 3))).codes == {}
    assert foreign(table.iloc[-10:]).codes == {}  # among ten values a fraction may be an answer


SPARSE = {
    "long scale": (lambda rng: rng.integers(0, 101, (40, 4)), 0.003),
    "counts": (lambda rng: rng.geometric(0.3, (200, 4)), 0.01),
    "small counts": (lambda rng: rng.poisson(3, (60, 4)), 0.05),
}


@pytest.mark.parametrize("case", SPARSE)
def test_levels_that_are_empty_by_chance_make_no_codes(case, rng, monkeypatch):
    """At most a share of tables has codes: more than that fails with a false-alarm rate below 1e-6.

    Control: without the expected number of values in a gap, more tables than that have codes.
    """
    draw, share = SPARSE[case]
    tables = [pd.DataFrame(draw(rng)) for _ in range(1000)]

    def p_value():
        return stats.binom.sf(sum(bool(foreign(t).codes) for t in tables) - 1, len(tables), share)

    assert p_value() > P
    monkeypatch.setattr("bayesmrf.data.levels._EXPECTED", 0.0)
    assert p_value() < P


def test_a_customary_code_is_found_after_a_scale_whose_upper_levels_are_rare(rng):
    """Thirty people, answers 1 to 5 with 65 % of them 1; another number as far from the scale may be an answer."""
    p = 0.35 ** np.arange(5)
    tables = [1 + rng.choice(5, (30, 4), p=p / p.sum()) for _ in range(300)]

    def found(code):
        for x in tables:
            x[0, 0] = code
        return sum(foreign(pd.DataFrame(x)).codes == {code: 1} for x in tables)

    assert found(9) > 240 > found(10)  # 278 and 192 on average, with standard deviations of 5 and 8


def test_codes_far_from_a_long_scale_are_found_in_few_answers(rng):
    for code in (999, -9):
        table = pd.DataFrame(rng.integers(0, 101, (40, 4)))
        table.iloc[3, 1] = code
        assert foreign(table).codes == {float(code): 1}


@pytest.mark.parametrize(
    ("levels", "codes"),
    [
        ((1, 2, 3, 4, 5), (-9,)),
        ((1, 2, 3, 4, 5), (-1,)),
        ((0, 1, 2, 3), (-1,)),
        ((0, 1, 2), (9999999,)),
        ((1, 2, 3, 4, 5), (-9, 99, 999)),
        ((1, 2, 3, 4, 5), (8, 9)),
        ((0, 1), (9,)),
        ((0, 1), (-9, -8, -7)),
        ((-1, 1), (9, 99)),
        ((0, 10, 20), (98, 99)),
        (tuple(range(101)), (-99, 999)),
    ],
)
def test_codes_lie_apart_from_the_levels(levels, codes, rng):
    table = items(rng, 600, levels).astype(float)
    for i, code in enumerate(codes):
        table.iloc[7 * i : 7 * i + 3, 1] = code
    found = foreign(table)
    assert found.codes == {float(c): 3 for c in codes}
    assert (found.ids, found.scales) == ([], [])
    assert set(found.levels) <= set(levels)


def test_identifiers_and_other_scales(rng):
    table = items(rng)
    n = len(table)
    for name, values in {
        "nr": np.arange(n),
        "x": 1000 + rng.permutation(n),
        "zip": rng.choice(10**5, n, replace=False),
        "who": np.array([f"P{i}" for i in range(n)], dtype=object),
        "subject_id": np.repeat(np.arange(n // 2), 2),
    }.items():
        found = foreign(table.assign(**{name: values}))
        assert found.ids == [4], name
        assert not found.codes
    for values in (rng.integers(18, 80, n), 100 + 10 * rng.integers(0, 3, n), np.arange(n) % 40):
        assert foreign(table.assign(age=values)).scales == [4]


def test_the_command_line_names_what_is_no_answer(bayesmrf, folder, rng):
    table = items(rng)
    table.assign(id=range(1, 61), **{"my age": rng.integers(18, 80, 60)}).to_csv("t.csv", index=False)
    for command in (
        ["structure", "t.csv"],
        ["structure", "t.csv", "--binarize", ">=4"],
        ["groups", "t.csv", "--graph", "complete", "--model", "potts"],
        ["posterior", "t.csv", "--model", "potts"],
        ["evidence", "t.csv", "--hidden", "1", "--binarize", ">=4"],
    ):
        given = bayesmrf(*command)
        one_sentence(given, "t.csv must .*: column 'id' looks like an identifier; .*with --drop id --drop 'my age'")
        assert ">=" not in given[2]
    table.mask(table == 3, 9999999).to_csv("t.csv", index=False)
    one_sentence(bayesmrf("structure", "t.csv"), "9999999 .* give --missing-code 9999999 if it codes missing values")
    table.mask(table == 3, -9).to_csv("t.csv", index=False)
    given = bayesmrf("structure", "t.csv", "--binarize", ">=4")
    one_sentence(
        given,
        r"t.csv must contain answers only: -9 \(\d+ cells\) lie outside the levels 1 to 5, the first in row \d+ below",
    )
    assert (
        "give --missing-code -9 if it codes missing values, or --missing-code none if all values are answers"
        in given[2]
    )
    counts = pd.DataFrame({"a": [0, 1] * 10, "b": [0, 0, 1, 1] * 5, "count": rng.choice(500, 20, replace=False)})
    counts.to_csv("t.csv", index=False)
    one_sentence(bayesmrf("structure", "t.csv"), "--drop count, or give --weight count if it counts how often a row")


def test_missing_codes(tmp_path, rng):
    table = items(rng, 200).astype(object)
    table.iloc[:5, 0], table.iloc[5:9, 2], table.iloc[3, 3] = -9, 99, "refused"
    table.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(DataError, match="-9"):
        prepare(read_votes(tmp_path / "t.csv", asked=ColumnOptions(missing=("refused",)))[0])
    found, _, _ = read_votes(
        tmp_path / "t.csv",
        asked=ColumnOptions(
            missing=(
                "-9",
                "99",
                "refused",
            )
        ),
    )
    wanted = table.where(~table.isin([-9, 99, "refused"])).astype(float)
    pd.testing.assert_frame_equal(found.astype(float), wanted)
    kept, _, _ = read_votes(
        tmp_path / "t.csv",
        asked=ColumnOptions(
            missing=(
                "none",
                "refused",
            )
        ),
    )
    assert (kept["a"] == -9).sum() == 5
    with pytest.raises(OptionError, match=r"--missing-code must be a value that is in .*t\.csv, got '8'"):
        read_votes(tmp_path / "t.csv", asked=ColumnOptions(missing=("8",)))


def test_spaces_around_values(tmp_path):
    """A table is read as if they were not there; quoted texts keep those within."""
    pairs = [
        ("a,b\n1 , \n 0,NA \n1,0\n", "a,b\n1,\n0,NA\n1,0\n"),
        ("a;b\n1,5 ; \n 0,5;NA \n1,0;0,5\n", "a;b\n1,5;\n0,5;NA\n1,0;0,5\n"),
        ("a,b\nTrue , \nFalse,True\nTrue,False\n", "a,b\nTrue,\nFalse,True\nTrue,False\n"),
        ('a,b\nyes ," a, b"\nno, \nyes,no\n', 'a,b\nyes,"a, b"\nno,\nyes,no\n'),
    ]
    for spaced, plain in pairs:
        (tmp_path / "t.csv").write_text(spaced)
        (tmp_path / "plain.csv").write_text(plain)
        found, wanted = (
            read_votes(tmp_path / name, asked=ColumnOptions(missing=("none",)))[0] for name in ("t.csv", "plain.csv")
        )
        pd.testing.assert_frame_equal(found, wanted)


NUMBERS = {  # of column n; and whether they are refused as answers, and as weights
    "marks of thousands": ("7 1.250 980", True, True),
    "marks or decimals": ("1.000 2.000 12.000", False, True),
    "decimals": ("0.000 1.000 2.000", False, False),
    "halves": ("1 1.500 2.5", False, False),
    "fractions": ("1 1.5 1.333", False, False),
    "without marks": ("1 1000 12", False, False),
}


@pytest.mark.parametrize("mark", [".", ","])
@pytest.mark.parametrize("case", NUMBERS)
def test_marks_of_thousands(case, mark, tmp_path):
    """A table of German or English numbers: 1.250 was read as a fraction, and 1.000 as one observation."""
    numbers, *refused = NUMBERS[case]
    rows = [f"{i % 2};{i // 2};{number}" for i, number in enumerate(numbers.replace(".", mark).split())]
    (tmp_path / "t.csv").write_text("\n".join(["a;b;n", *rows, ""]))
    for weight, is_refused in zip((None, "n"), refused, strict=True):
        if is_refused:
            with pytest.raises(DataError, match=r"column 'n' must have .*, got '1[.,]\d+' in row .* or 1\d+; write"):
                read_votes(tmp_path / "t.csv", weight, asked=ColumnOptions(missing=("none",)))
        else:
            read_votes(tmp_path / "t.csv", weight, asked=ColumnOptions(missing=("none",)))


def test_codes_and_spaces_in_the_column_of_groups(tmp_path, rng):
    table = items(rng, 200)
    sex = np.where(np.arange(200) < 5, "-9", np.where(table["a"] > 2, "male ", "female"))
    for codes in (["-9"], ["-9", " "], ["-9", "NA"]):
        table.assign(sex=sex, n=9).to_csv(tmp_path / "t.csv", index=False)
        found, _, groups = read_votes(tmp_path / "t.csv", "n", asked=ColumnOptions(missing=tuple(codes)), by="sex")
        pd.testing.assert_frame_equal(found, table)
        assert groups[:5].isna().all()
        assert set(groups[5:]) == {"male", "female"}
    table.assign(sex=np.arange(200) % 2, n=np.arange(200) % 2 + 8).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(OptionError, match=r"--missing-code must be a value that is in .*, got '9'"):
        read_votes(
            tmp_path / "t.csv", "n", asked=ColumnOptions(missing=("9",)), by="sex"
        )  # of weights, which are no answers


def test_a_code_that_is_read_as_missing_may_be_named(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,NA\n0,1\n1,0\n")
    assert read_votes(tmp_path / "t.csv", asked=ColumnOptions(missing=("NA",)))[0].isna().to_numpy().sum() == 1


def test_header_rows_of_qualtrics_are_told(tmp_path):
    rows = ["Q1,Q2", "I am sad,I am tired", '"{""ImportId"":""Q1""}","{""ImportId"":""Q2""}"', "1,0", "0,1"]
    (tmp_path / "t.csv").write_text("\n".join(rows))
    with pytest.raises(DataError, match="rows 1 and 2 below the first line are headers of Qualtrics, not answers; del"):
        read_votes(tmp_path / "t.csv")


def test_none_is_a_word_and_no_missing_value(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\nNone,some\nsome,None\nNA,some\n")
    assert read_votes(tmp_path / "t.csv")[0]["a"].tolist()[:2] == ["None", "some"]
    assert read_votes(tmp_path / "t.csv")[0]["a"].isna().sum() == 1
