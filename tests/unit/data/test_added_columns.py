"""Columns and rows that programs add to tables of answers: metadata, empty boxes, crossings, and blank instruments."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf.data import prepare, read_columns
from bayesmrf.data.infer_columns import infer_columns, problems_of
from bayesmrf.data.table_forms import answered, one_row_per_answer
from bayesmrf.errors import DataError, said


def kinds(table):
    columns = read_columns(table)
    return dict(zip(columns["name"], columns["kind"], strict=True))


def told(table):
    return " ".join(map(said, problems_of(infer_columns(table))))


@pytest.fixture
def items(rng):
    return pd.DataFrame(rng.integers(0, 4, (160, 4)), columns=["phq1", "phq2", "phq3", "phq4"])


@pytest.mark.parametrize(
    ("added", "apart"),
    [
        ({"record_id": range(160), "phq_complete": [0, 1, 2, 2] * 40}, {"phq_complete"}),
        ({"record_id": range(160), "phq_complete": ["Complete", "Incomplete"] * 80}, {"phq_complete"}),
        (
            {"redcap_event_name": ["baseline_arm_1"] * 160, "phq_complete": [2] * 160},
            {"redcap_event_name", "phq_complete"},
        ),
        (
            {"ResponseId": [f"R_{i}" for i in range(160)], "Finished": [0, 1] * 80, "Status": [0] * 160},
            {"ResponseId", "Finished", "Status"},
        ),
        ({"submitdate": ["2024-01-01"] * 160, "lastpage": [1, 2] * 80}, {"submitdate", "lastpage"}),
        # Without a second sign, such names are those of items.
        ({"Status": [0, 1] * 80, "Finished": [1, 0] * 80}, set()),
        ({"task_complete": [0, 1, 2, 2] * 40}, set()),
        ({"record_id": range(160), "is_complete": [1, 2, 3, 4] * 40}, set()),
    ],
)
def test_metadata(items, added, apart):
    table = items.assign(**{name: list(values) for name, values in added.items()})
    assert {name for name, kind in kinds(table).items() if kind == "metadata"} == apart
    for name in apart:
        assert f"'{name}'" in told(table)
    if apart:
        assert list(prepare(table, drop=[*added])) == list(items)  # the remedy is read


@pytest.mark.parametrize(("value", "code"), [(1, -99), (1, -9), (1, 99), (5, -99)])
def test_empty_boxes(items, rng, value, code):
    table = items.assign(**{f"box{i}": np.where(rng.random(160) < 0.5, value, code) for i in range(3)})
    assert f"'box0', 'box1', 'box2' have {value} next to {code} alone" in told(table)
    read = prepare(table, no=str(code))
    assert [str(c) for c in read["box0"].cat.categories] == [str(code), str(value)]
    assert (read["box0"].cat.codes == (table["box0"] == value)).all()


@pytest.mark.parametrize("values", [(-1, 1), (0, 1), (1, 2), (1, -99, 2), (1, 9)])
def test_other_pairs_are_no_boxes(items, rng, values):
    assert "next to" not in told(items.assign(box=rng.choice(values, 160)))


def test_a_crossing_is_answers(rng):
    voters, calls = np.meshgrid(np.arange(14_000, 14_040), np.arange(20))
    votes = pd.DataFrame({"rollnumber": calls.ravel(), "icpsr": voters.ravel()})
    votes["party"] = votes["icpsr"] % 2
    cast = votes.assign(cast_code=rng.integers(1, 4, 800))
    assert one_row_per_answer(cast) == ("icpsr", "rollnumber", "cast_code")
    with pytest.raises(DataError, match=r"pivot\(index='icpsr', columns='rollnumber', values='cast_code'\)"):
        prepare(cast)
    assert one_row_per_answer(cast.sample(frac=0.95, random_state=1)) is not None  # some are absent
    # Counts of a table of two factors have many values, and a panel has several items.
    assert one_row_per_answer(votes.assign(count=rng.integers(0, 500, 800))) is None
    assert one_row_per_answer(votes.assign(n=rng.integers(1, 4, 800))) is None
    assert one_row_per_answer(cast.assign(other=rng.integers(1, 4, 800))) is None
    assert one_row_per_answer(cast.sample(frac=0.5, random_state=1)) is not None  # no pair twice is no chance
    assert one_row_per_answer(cast.sample(frac=0.5, random_state=1, replace=True)) is None
    assert one_row_per_answer(cast.rename(columns={"rollnumber": "wave"})) is None


def test_rows_of_blank_instruments_are_no_people(items):
    table = items.astype(float).assign(record_id=np.arange(160))
    blank = pd.DataFrame({"record_id": np.arange(160)}).reindex(columns=table.columns)
    both = pd.concat([table, blank]).sort_values("record_id", kind="stable")
    assert len(answered(both)) == 160
    assert "rows per value" not in told(both)
    assert "2 rows per value" in told(pd.concat([table, table]))  # control


@pytest.mark.parametrize("name", ["form_status", "votes_crossed", "boxes_99"])
def test_shared_tables(data_folder, name):
    path = data_folder.parent / "tables" / f"{name}.csv"
    if not path.is_file():
        pytest.skip("the made-up tables are not here")
    expected = {
        "form_status": "'phq_complete' was added by the survey program",
        "votes_crossed": "pivot(index='icpsr', columns='rollnumber', values='cast_code')",
        "boxes_99": "'Q3_1', 'Q3_2', 'Q3_3' have 1 next to -99 alone",
    }
    assert expected[name] in told(pd.read_csv(path))
