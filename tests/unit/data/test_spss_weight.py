"""Files whose rows SPSS weights (WEIGHT BY) are refused until --weight, --survey-weight or --drop names the column."""

import struct

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from bayesmrf import cli
from bayesmrf.cli.table_options import read_votes
from bayesmrf.data.column_options import ColumnOptions
from bayesmrf.data.counts_and_labels import check_weights
from bayesmrf.data.files import read_declared
from bayesmrf.errors import DataError

ITEMS = pd.DataFrame({"sleep": [0.0, 1, 1, 0, 1], "mood": [1.0, 0, 1, 0, 1]})
WT = [1.0, 2, 3, 4, 2]


def weighted(path, table, segment, **options):
    """Write a file whose header names a segment of 8 bytes as that of the weights."""
    pyreadstat.write_sav(table, path, **options)
    data = bytearray(path.read_bytes())
    data[76:80] = struct.pack("<i", segment)
    path.write_bytes(data)


def documented(path, order, widths, weight):
    """Write a file as the format is documented, in an order of bytes; ``widths`` has 0 for a number.

    Its columns are called C0, C1, ... and its two rows are zeros and blanks. Returns the names of the columns.
    """
    records, segments = [], []
    for i, width in enumerate(widths):
        segments.append(len(records) + 1)
        for kind in [width, *[-1] * ((width - 1) // 8)]:  # -1 continues a text
            numbers = struct.pack(f"{order}6i", 2, kind, 0, 0, 0x050802, 0x050802)
            records.append(numbers + f"C{i}".ljust(8).encode())
    head = b"$FL2" + b"@(#) SPSS DATA FILE".ljust(60)
    head += struct.pack(f"{order}5i", 2, len(records), 0, segments[weight], 2) + struct.pack(f"{order}d", 100.0)
    head += b"01 Jan 26" + b"00:00:00" + b" " * 64 + bytes(3)
    row = b"".join(b" " * (-(-w // 8) * 8) if w else struct.pack(f"{order}d", 1.0) for w in widths)
    end = struct.pack(f"{order}2i", 999, 0)
    path.write_bytes(head + b"".join(records) + end + 2 * row)
    return [f"C{i}" for i in range(len(widths))]


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("widths", [[0, 0, 0], [1, 0, 0], [8, 9, 0], [20, 0, 255, 0]])
def test_the_column_is_found_by_its_segment(order, widths, tmp_path):
    """In the file as the format is documented, and in both orders of bytes."""
    for weight, width in enumerate(widths):
        if width == 0:
            names = documented(tmp_path / "votes.sav", order, widths, weight)
            assert read_declared(tmp_path / "votes.sav")[1].weight == names[weight]


@pytest.mark.parametrize("width", [1, 8, 9, 20, 248, 255, 256, 300, 504, 505, 700, 1000])
@pytest.mark.parametrize("compress", [False, True])
def test_long_texts_before_it_take_several_segments(width, compress, tmp_path):
    """The number of segments is what the writer states in the header: that of the text, and those of two numbers."""
    path = tmp_path / "votes.sav"
    table = pd.DataFrame({"the_text_before": ["x" * width] * 5}).join(ITEMS["mood"]).assign(the_weight_of_rows=WT)
    pyreadstat.write_sav(table, path, compress=compress)
    in_a_row = struct.unpack("<i", path.read_bytes()[68:72])[0]
    weighted(path, table, in_a_row, compress=compress)
    assert read_declared(path)[1].weight == "the_weight_of_rows"
    weighted(path, table, in_a_row - 1, compress=compress)
    assert read_declared(path)[1].weight == "mood"
    weighted(path, table, 0, compress=compress)
    assert read_declared(path)[1].weight is None


def test_a_weighted_file_is_not_run_in_silence(tmp_path, capsys):
    path = tmp_path / "votes.sav"
    weighted(path, ITEMS.assign(wt=WT), 3)
    with pytest.raises(DataError) as e:
        read_votes(path)
    assert str(e.value) == (f"{path}: SPSS weights the rows of this file by column 'wt'; give --weight wt if it counts "
                            "how often each row was observed, --survey-weight wt if it is the weight of a survey, or "
                            "--drop wt to use each row once")  # fmt: skip
    table, weights, _ = read_votes(path, "wt")
    assert list(table) == ["sleep", "mood"]
    assert weights.tolist() == WT
    table, weights, others = read_votes(path, also={"--survey-weight": "wt"})
    assert list(table) == ["sleep", "mood"]
    assert weights is None
    assert others["--survey-weight"].tolist() == WT
    table, weights, _ = read_votes(path, asked=ColumnOptions(drop=("wt",)))
    assert list(table) == ["sleep", "mood"]
    assert weights is None
    with pytest.raises(DataError, match="SPSS weights the rows"):  # another weight does not make it an answer
        read_votes(path, "mood")
    with pytest.raises(DataError, match="SPSS weights the rows"):
        read_votes(path, by="wt")
    assert cli.run(["structure", str(path), "--out", str(tmp_path / "edges_run")]) == 2
    assert "--weight wt" in capsys.readouterr().err
    assert not (tmp_path / "edges_run").exists()


@pytest.mark.parametrize("value", [0.5, -1, np.nan, "texts"])
def test_weights_that_are_no_counts(value, tmp_path):
    path = tmp_path / "votes.sav"
    if value == "texts":
        weighted(path, ITEMS.assign(wt=list("abcde")), 3)
    else:
        weighted(path, ITEMS.assign(wt=[*WT[:4], value]), 3)
    with pytest.raises(
        DataError, match="by column 'wt'; give --survey-weight wt if it is the weight of a survey, or --drop wt to"
    ):
        read_votes(path)
    table, weights, _ = read_votes(path, "wt")
    match = "must contain numbers" if value == "texts" else "give weights of a survey as survey_weight, where"
    with pytest.raises(DataError, match=match):
        check_weights(weights, table, len(table))


def test_packed_files_and_names_that_need_quotes(tmp_path):
    for start, options in ((b"$FL2", {"row_compress": True}), (b"$FL3", {"compress": True})):
        weighted(tmp_path / "votes.any", ITEMS.assign(wéight=WT), 3, **options)
        assert (tmp_path / "votes.any").read_bytes().startswith(start)
        with pytest.raises(DataError, match="give --weight 'wéight' if"):
            read_votes(tmp_path / "votes.any")


@pytest.mark.parametrize("segment", [2, 99, -1])
def test_a_segment_that_begins_no_column_is_refused(segment, tmp_path):
    weighted(tmp_path / "votes.sav", pd.DataFrame({"name": ["x" * 20] * 5}).join(ITEMS), segment)
    with pytest.raises(DataError, match=r"by a column that is not found \(segment .*WEIGHT OFF"):
        read_declared(tmp_path / "votes.sav")


def test_the_reader_does_not_tell(tmp_path):
    """If it does one day, the header need not be read here."""
    weighted(tmp_path / "votes.sav", ITEMS.assign(wt=WT), 3)
    pyreadstat.write_sav(ITEMS.assign(wt=WT), tmp_path / "plain.sav")
    told = []
    for name in ("votes.sav", "plain.sav"):
        about = vars(pyreadstat.read_sav(tmp_path / name, metadataonly=True)[1])
        told.append({key: value for key, value in about.items() if not key.endswith("_time")})
    assert told[0] == told[1]
