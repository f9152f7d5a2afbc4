"""Tables of Excel, SPSS, Stata, SAS, R, Parquet and Feather files have the values of the same table as text."""

import bz2
import io
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyreadstat
import pytest
import rdata

import bayesmrf
from bayesmrf import cli
from bayesmrf.cli.table_options import read_edges, read_votes
from bayesmrf.data import prepare
from bayesmrf.errors import DataError

GROUPS = ["men ", "women", "men ", "women", "men ", "women"]
# Codes with declared missing values (8 of SPSS), whole numbers as floats, and a text.
TABLE = pd.DataFrame(
    {
        "sleep": [0.0, 1, np.nan, 1, 0, 1],
        "mood": [1.0, 0, 0, 1, np.nan, 1],
        "energy": [1.0, 1, 0, 0, 1, 0],
        "count": [1.0, 2, 3, 1, 2, 1],
        "sex": GROUPS,
    }
)
LABELS = {0: "no", 1: "yes", 8: "refused"}


def spss(path, **options):
    answers = ["sleep", "mood", "energy"]
    coded = TABLE.fillna({name: 8.0 for name in answers})
    labels, missing = ({name: of for name in answers} for of in (LABELS, [8]))
    pyreadstat.write_sav(coded, path, variable_value_labels=labels, missing_ranges=missing, **options)


def packed_spss(path):
    spss(path.with_suffix(".sav"))
    path.write_bytes(bz2.compress(path.with_suffix(".sav").read_bytes()))


def labelled_stata(path):
    pyreadstat.write_dta(
        TABLE.astype(object).fillna({"sleep": "a", "mood": "b"}),
        path,
        variable_value_labels={"energy": LABELS},
        missing_user_values={"sleep": ["a"], "mood": ["b"]},
    )


def padded_workbook(path):
    """Write a sheet with empty rows above and below, an empty column that was formatted, and an empty sheet."""
    book = openpyxl.Workbook()
    sheet = book.create_sheet("answers")
    for i, row in enumerate([list(TABLE), *TABLE.astype(object).where(TABLE.notna(), None).to_numpy().tolist()]):
        for j, value in enumerate(row):
            sheet.cell(i + 3, j + 1, value)
    sheet["J20"].font = openpyxl.styles.Font(bold=True)
    book.save(path)


def zipped_workbook(path):
    inner = io.BytesIO()
    TABLE.to_excel(inner, index=False)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("votes.xlsx", inner.getvalue())


WRITTEN = {
    "csv": lambda path: TABLE.to_csv(path, index=False),
    "excel": lambda path: TABLE.to_excel(path.with_suffix(".xlsx"), index=False),
    "excel, padded": padded_workbook,
    "excel in an archive": zipped_workbook,
    "parquet": lambda path: TABLE.to_parquet(path),
    "parquet, nullable, with an index": lambda path: (
        TABLE.convert_dtypes().set_index(np.arange(6) + 9).to_parquet(path)
    ),
    "parquet, categories": lambda path: TABLE.astype({"sex": "category"}).to_parquet(path),
    "feather": lambda path: TABLE.to_feather(path),
    "spss": spss,
    "spss, compressed": lambda path: spss(path, compress=True),
    "spss in an archive": packed_spss,
    "stata": lambda path: TABLE.to_stata(path, write_index=False),
    "stata, old": lambda path: TABLE.to_stata(path, write_index=False, version=114),
    "stata, with codes of missing values": labelled_stata,
    "sas transport": lambda path: pyreadstat.write_xport(TABLE, path),
    "r": lambda path: rdata.write_rds(path, TABLE.astype({"sex": "category"})),
    "r, in a workspace": lambda path: rdata.write_rda(
        path, {"answers": TABLE.astype({"sex": "string[python]"}), "other": 1.0}
    ),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_values_are_those_of_the_table_as_text(case, tmp_path):
    path = tmp_path / "votes.any"
    WRITTEN[case](path)
    path = next(p for p in (tmp_path / "votes.xlsx", path) if p.exists())
    table, weights, groups = read_votes(path, "count", by="sex")
    pd.testing.assert_frame_equal(table.astype(float), TABLE[["sleep", "mood", "energy"]])
    assert weights.tolist() == TABLE["count"].tolist()
    assert groups.tolist() == [g.strip() for g in GROUPS]


@pytest.mark.parametrize("case", ["excel, padded", "parquet", "spss", "stata", "r", "standard input"])
def test_a_command_draws_the_same(case, tmp_path, monkeypatch):
    """Of these files as of the table as text; ``-`` is standard input."""
    monkeypatch.chdir(tmp_path)
    WRITTEN["csv"](tmp_path / "text.csv")
    if case == "standard input":
        given = "-"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((tmp_path / "text.csv").read_bytes())))
    else:
        given = "other.any"
        WRITTEN[case](tmp_path / given)
    draws = []
    for name in ("text.csv", given):
        run = ["--drop", "sex", "--weight", "count", "--method", "exact", "--n-draws", "20", "--n-chains", "1"]
        assert cli.run(["structure", name, *run, "--seed", "1", "--quiet", "--out", "edges_run", "--overwrite"]) == 0
        tree = bayesmrf.load("edges_run").posterior_
        draws.append(tree["posterior"]["theta"].values)
        assert tree.attrs["data_file"] == ("standard input" if name == "-" else name)
    assert np.array_equal(*draws)


def test_edges_may_be_a_sheet(tmp_path):
    pd.DataFrame({"from": ["a", "b"], "to": ["b", "c"]}).to_excel(tmp_path / "edges.xlsx", index=False)
    assert read_edges(tmp_path / "edges.xlsx", "abc")[0] == [("a", "b"), ("b", "c")]


def test_codes_that_are_not_declared_are_found(tmp_path):
    """Negative control of the tests above: a value label alone declares no missing value."""
    pyreadstat.write_sav(TABLE[["sleep", "mood", "energy"]].fillna(8.0), tmp_path / "votes.sav")
    with pytest.raises(DataError, match=r"8 .* outside the levels 0 and 1"):
        prepare(read_votes(tmp_path / "votes.sav")[0])


def two_sheets(book):
    book.create_sheet("codebook")["A1"] = "what it means"


def no_values(book):
    book.active.delete_rows(1, 9)


def formula(book):
    book.active["B3"] = "=A3"


def merged(book):
    book.active.merge_cells("A3:A4")


def title(book):
    book.active.insert_rows(1)
    book.active["A1"] = "Survey of 2024"


SHEETS = {
    two_sheets: r"2 sheets with values: 'Sheet1', 'codebook'; give one with a single table",
    no_values: "0 sheets with values",
    formula: "the formula in cell B3 was saved without its value; open and save the workbook",
    merged: "cells A3:A4 are merged",
    title: "a header of two lines",
}


@pytest.mark.parametrize("change", SHEETS, ids=lambda f: f.__name__)
def test_workbooks_that_are_no_plain_table_are_refused(change, tmp_path):
    path = tmp_path / "votes.xlsx"
    TABLE[["sleep", "mood", "energy"]].to_excel(path, index=False)
    book = openpyxl.load_workbook(path)
    change(book)
    book.save(path)
    with pytest.raises(DataError, match=SHEETS[change]) as e:
        read_votes(path)
    assert str(e.value).startswith(str(path))


@pytest.mark.parametrize(
    ("case", "package"), [("excel", "openpyxl"), ("stata", "pyreadstat"), ("parquet", "pyarrow"), ("r", "rdata")]
)
def test_a_package_that_is_missing_is_named(case, package, tmp_path, monkeypatch):
    WRITTEN[case](tmp_path / "votes.any")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        DataError, match=rf"the package {package} reads; install it with pip install 'bayesmrf\[files\]'"
    ):
        read_votes(next(tmp_path.iterdir()))


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("bayesmrf.data.formats._MOST", 1000)
    TABLE.to_excel(tmp_path / "votes.xlsx", index=False)
    with pytest.raises(DataError, match=r"more than .* GiB; give a smaller table"):
        read_votes(tmp_path / "votes.xlsx")
