"""Floats of 32 and 16 bits are the decimals that they are written as, in files and in Python: 0.7, not 0.699999988."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf import CompareMRF, SpikeSlabMRF
from bayesmrf.cli.table_options import read_votes
from bayesmrf.data.cells import widened
from bayesmrf.data.column_options import ColumnOptions
from bayesmrf.data.frames import in_pandas
from bayesmrf.data.group_labels import code_of, codes_of, read_groups
from bayesmrf.data.kinds.binarized import to_binary
from bayesmrf.data.states import check_states
from bayesmrf.errors import DataError, in_words
from tests.helpers.tables_of_others import NotOfPandas

LEVELS = np.array([0.5, 0.7, 0.9, 0.7] * 20)
TABLE = pd.DataFrame({"a": LEVELS, "b": LEVELS[::-1], "group": np.repeat([1.1, 2.2], 40)})
OPTIONS = {"n_draws": 5, "n_warmup": 2, "n_chains": 1, "random_state": 1, "progress": False}

NARROW = {
    "float32": lambda t: t.astype(np.float32),
    "float16": lambda t: t.astype(np.float16),
    "nullable": lambda t: t.astype("Float32"),
    "arrow": lambda t: t.astype("float[pyarrow]"),
    "sparse": lambda t: t.astype(pd.SparseDtype(np.float32, np.nan)),
    "categories": lambda t: t.astype(np.float32).astype("category"),
    "one column": lambda t: t.astype({"a": np.float32}),
}
FILES = {
    "stata": lambda t, path: t.astype(np.float32).to_stata(path, write_index=False),
    "parquet": lambda t, path: t.astype(np.float32).to_parquet(path),
    "parquet, 16 bits": lambda t, path: t.astype(np.float16).to_parquet(path),
    "parquet, nullable": lambda t, path: t.astype("Float32").to_parquet(path),
    "feather": lambda t, path: t.astype(np.float32).to_feather(path),
    "feather, categories": lambda t, path: t.astype(np.float32).astype("category").to_feather(path),
}


@pytest.mark.parametrize("case", FILES)
def test_files_have_the_decimals_of_the_table_as_text(case, tmp_path):
    path = tmp_path / "votes.any"
    FILES[case](TABLE, path)
    table, _, groups = read_votes(path, by="group")
    pd.testing.assert_frame_equal(table, TABLE[["a", "b"]], check_exact=True)
    assert groups.tolist() == TABLE["group"].tolist()
    assert to_binary(path, table, ">=0.7").mean().tolist() == [0.75, 0.75]
    coded, *_ = read_votes(path, asked=ColumnOptions(drop=("group",), missing=("0.9",)))
    assert coded.isna().mean().tolist() == [0.25, 0.25]


def test_missing_values_of_narrow_columns_stay_missing(tmp_path):
    path, table = tmp_path / "votes.any", TABLE.drop(columns="group")
    table.loc[3, "a"] = np.nan
    for case, write in FILES.items():
        write(table, path)
        assert read_votes(path)[0].isna().to_numpy().nonzero() == ([3], [0]), case
    for case, narrow in NARROW.items():
        assert np.argwhere(np.isnan(in_pandas(narrow(table)).to_numpy(float))).tolist() == [[3, 0]], case


@pytest.mark.parametrize("n_states", ["auto", "keep"])
@pytest.mark.parametrize("case", NARROW)
def test_levels_of_frames(case, n_states):
    if case == "categories" and n_states == "keep":
        return  # these have no order
    table = TABLE[["a", "b"]]
    found, right = check_states(NARROW[case](table), n_states=n_states), check_states(table, n_states=n_states)
    assert found.coding == right.coding
    assert (found.values == right.values).all()
    check_states(table, levels=found.coding)  # new data in 64 bits have the same levels
    check_states(NARROW[case](table), levels=right.coding)


def test_levels_of_ordered_categories():
    kind = pd.CategoricalDtype(np.array([0.9, 0.7, 0.5], np.float32), ordered=True)
    table = TABLE[["a", "b"]].astype(np.float32).astype(kind)
    found = check_states(table, n_states="keep")
    assert found.coding.columns == ((0.9, 0.7, 0.5),) * 2
    assert found.values[:, 0].tolist() == [2, 1, 0, 1] * 20


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_levels_of_arrays_and_of_tables_of_others(kind):
    narrow = TABLE[["a", "b"]].to_numpy(kind)
    masked = np.ma.masked_array(narrow, np.arange(160).reshape(-1, 2) == 5)
    other = NotOfPandas(pd.DataFrame(narrow, columns=["a", "b"]))
    for X in (narrow, masked, other):
        assert check_states(X, n_states="auto", missing=True).coding == (0.5, 0.7, 0.9)


def test_duplicate_names_and_the_index_are_kept():
    table = TABLE.set_axis(["a", "a", "b"], axis=1).set_axis(np.arange(80) + 7)
    found = in_pandas(table.astype(np.float32))
    pd.testing.assert_frame_equal(found, table, check_exact=True)
    assert in_pandas(table) is table


@pytest.mark.parametrize("case", NARROW)
def test_labels_of_groups(case):
    groups = NARROW[case](TABLE.rename(columns={"group": "a", "a": "group"}))["a"]
    labels, code = read_groups(groups, None, 80)
    assert labels.tolist() == [1.1, 2.2]
    assert code.tolist() == [0] * 40 + [1] * 40
    assert codes_of(groups, None, 80, labels).tolist() == code.tolist()
    assert codes_of(TABLE["group"], None, 80, labels).tolist() == code.tolist()
    assert [code_of(kind(2.2), labels) for kind in (float, np.float32, np.float16)] == [1, 1, 1]


def test_fits_are_those_of_64_bits(rng):
    X = pd.DataFrame(rng.choice([0.1, 0.2, 0.3], (80, 3)), columns=list("abc"))
    groups = np.repeat([1.1, 2.2], 40)
    for est in (SpikeSlabMRF(model="ordinal", **OPTIONS), CompareMRF(model="ordinal", **OPTIONS)):
        a, b = (
            est.fit(
                X.astype(kind), **({"groups": groups.astype(kind)} if isinstance(est, CompareMRF) else {})
            ).posterior_
            for kind in (float, np.float32)
        )
        assert a["posterior"].identical(b["posterior"])


def test_weights_and_values_in_messages():
    with pytest.raises(DataError, match=r"got 1\.1 in row 1"):
        check_states(np.eye(2), np.array([1, 1.1], np.float32))
    assert in_words(np.float32(0.7)) == in_words(np.float64(0.7)) == "0.7"
    assert in_words(np.float16(0.7)) == "0.7"
    with pytest.raises(DataError, match=r"the first is 0\.7 in row 0"):
        check_states(np.array([[0.7, 1]], np.float32))


def test_widened_values_are_the_shortest_decimals(rng):
    """As NumPy prints them; each is read back as the same number of 32 bits. Conversion alone is the control."""
    values = rng.integers(0, 2**32, 2000, dtype=np.uint32).view(np.float32)
    values = np.append(values[np.isfinite(values)], np.float32([0, -0.0, 1, 2**24, 123456789, 1e10, 0.1, 1e-45]))
    wide = widened(values)
    assert [*map(float, map(str, values))] == wide.tolist()
    assert (wide.astype(np.float32) == values).all()
    assert (wide != values.astype(float)).any()
    assert np.array_equal(widened(np.float32([np.nan, np.inf, -np.inf])), [np.nan, np.inf, -np.inf], equal_nan=True)
    assert widened(LEVELS) is LEVELS
