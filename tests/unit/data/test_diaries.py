"""Diaries: lags do not cross nights, waves are times, and columns that number days and beeps are no answers."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf import PanelMRF, SpikeSlabMRF
from bayesmrf.data.infer_columns import infer_columns, problems_of
from bayesmrf.data.time_columns import time_columns
from bayesmrf.data.transitions import transitions, without_order
from bayesmrf.errors import DataError, OptionError

ITEMS = ["sad", "tired", "alone"]


@pytest.fixture(scope="module")
def path(data_folder):
    folder = data_folder.parent / "tables"
    if not folder.is_dir():
        pytest.skip("the made-up tables are not here")
    return folder / "days_and_beeps.csv"


@pytest.fixture(scope="module")
def diary(path):
    return pd.read_csv(path)


@pytest.fixture(scope="module")
def fitted(diary):
    shuffled = diary.sample(frac=1, random_state=1)
    est = PanelMRF(n_draws=300, n_warmup=100, n_chains=2, random_state=1, progress=False)
    return est.fit(shuffled, person="id", wave="beep", day="day"), shuffled


def with_times(diary, jitter=0.0):
    """Beeps at 9:00, 12:00, ..., 21:00, up to ``jitter`` hours early or late."""
    hours = 9 + 3 * (diary["beep"] - 1) + 24 * (diary["day"] - 1)
    hours += np.random.default_rng(1).uniform(-jitter, jitter, len(diary))
    time = pd.Timestamp("2024-03-01") + pd.to_timedelta(hours, unit="h").dt.round("min")
    return diary.assign(time=time)


def pairs(X, person, wave=None, day=None):
    table, found = without_order(X, person, wave, day)
    used = transitions(table[ITEMS].to_numpy(), found)
    return {*zip(used.before.tolist(), used.after.tolist(), strict=True)}


def of_days(diary):
    """Rows of one person and day with successive beeps, one by one."""
    at = {key: i for i, key in enumerate(diary[["id", "day", "beep"]].itertuples(index=False, name=None))}
    return {(i, at[q, d, b + 1]) for (q, d, b), i in at.items() if (q, d, b + 1) in at}


def slope(diary, found):
    """Weight of sad on tired, a beep later, by a logistic regression on all three items."""
    before, after = (diary[ITEMS].to_numpy(float)[[pair[k] for pair in found]] for k in (0, 1))
    design, beta, y = np.column_stack([before, np.ones(len(before))]), np.zeros(4), after[:, 1]
    for _ in range(30):
        p = 1 / (1 + np.exp(-design @ beta))
        beta += np.linalg.solve(design.T @ (design * (p * (1 - p))[:, None]), design.T @ (y - p))
    return beta[0]


def test_lags_do_not_cross_nights(diary, fitted):
    est, shuffled = fitted
    right = of_days(shuffled.reset_index(drop=True))
    used = est.transitions_
    assert {*zip(used.before.tolist(), used.after.tolist(), strict=True)} == right
    assert (len(right), used.n_pairs, used.n_gaps, used.n_nights) == (560, 560, 0, 120)
    assert slope(diary, of_days(diary)) == pytest.approx(1.29, abs=0.01)
    assert est.lagged_weights_[0, 1] == pytest.approx(1.29, abs=0.1)  # of the posterior, with the prior's shrinkage
    over_nights = pairs(diary[["id", *ITEMS]], "id")  # control
    assert slope(diary, over_nights) == pytest.approx(1.05, abs=0.03)


def test_the_result_says_so_and_scores_read_days(fitted):
    est, shuffled = fitted
    table = est.table("transitions").set_index("what")["number"]
    assert table["nights (or breaks between sessions), which lags do not cross"] == 120
    assert est.score(shuffled, "id", "beep", "day") > est.score(shuffled.drop(columns=["day", "beep"]), "id")
    checks = est.predictive_checks(shuffled, "id", "beep", random_state=1, day="day")
    pd.testing.assert_frame_equal(checks, est.predictive_checks(shuffled, "id", "beep", random_state=1, day="day"))


def test_own_intercepts_are_those_of_people_not_of_days(diary):
    _, order = without_order(diary, "id", "beep", "day")
    found = transitions(diary[ITEMS].to_numpy(), order)
    first = diary[(diary["day"] == 1) & (diary["beep"] == 1)].index
    assert len(np.unique(order.person)) == len(found.first) == 20
    assert found.first.tolist() == first.tolist()


def test_rows_of_a_day_without_waves_follow_each_other(diary):
    assert pairs(diary.drop(columns="beep"), "id", None, "day") == of_days(diary)


@pytest.mark.parametrize("as_text", [True, False])
def test_times_are_waves(diary, as_text):
    for jitter in (0.0, 0.3):
        timed = with_times(diary, jitter)
        timed = timed.assign(time=timed["time"].astype(str)) if as_text else timed
        assert pairs(timed, "id", "time") == of_days(diary)  # nights are gaps
        assert pairs(timed, "id", "time", "day") == of_days(diary)
    dates = diary[diary["beep"] == 1].reset_index(drop=True)
    dates["date"] = (pd.Timestamp("2024-02-27") + pd.to_timedelta(dates["day"], unit="D")).dt.strftime("%Y-%m-%d")
    lacking = dates.drop(index=3).reset_index(drop=True)
    assert pairs(lacking, "id", "date") == pairs(lacking, "id", "day")
    assert pairs(lacking, "id", "date") != pairs(lacking.drop(columns=["day", "date"]), "id")  # control


def test_times_at_any_distance_are_refused(diary):
    with pytest.raises(OptionError, match=r"wave must be times at about equal distances.*number the rows of each day"):
        without_order(with_times(diary, 1.5), "id", "time")
    with pytest.raises(OptionError, match=r"a number for each row, got '1\.3\.24.*such as 2024-03-01 09:00"):
        without_order(diary.assign(time="1.3.24 9:00"), "id", "time")
    with pytest.raises(OptionError, match="such as 2024-03-01 09:00"):
        without_order(diary.assign(time="2024-02-31"), "id", "time")


def test_waves_that_begin_again_each_day_name_the_day(diary):
    message = r"one row for each wave of person '1', got wave 1 in 7 rows; give day='day', as waves begin again"
    with pytest.raises(DataError, match=message):
        PanelMRF().fit(diary, "id", "beep")
    with pytest.raises(DataError, match="keep one row of each wave"):  # also within a day
        PanelMRF().fit(pd.concat([diary, diary]), "id", "beep")


def test_columns_that_number_times_are_asked_about(diary, path, bayesmrf):
    message = r"'day' \(1 to 7\), 'beep' \(1 to 5\) look like times, not answers; use PanelMRF if rows of one"
    with pytest.raises(DataError, match=message):
        SpikeSlabMRF().fit(diary.drop(columns="id"))
    with pytest.raises(DataError, match=r"give day='day' and wave='beep', so that rows follow each other in time"):
        PanelMRF().fit(diary, "id")
    code, _, err = bayesmrf("structure", path, "--drop", "id")
    assert (code, "use bayesmrf panel if rows of one person follow each other, or leave them out" in err) == (2, True)
    code, _, err = bayesmrf("panel", path, "--person", "id")
    assert (code, "give --day day and --wave beep" in err) == (2, True)
    assert bayesmrf("structure", path, "--drop", "id,day,beep", "--n-draws", 5, "--seed", 1)[0] == 0
    ordered = diary.drop(columns=["id", "beep"]).astype({"day": pd.CategoricalDtype(range(1, 8), ordered=True)})
    assert not problems_of(infer_columns(ordered))  # as a user says


def test_the_command_for_diaries(path, bayesmrf):
    given = ("--person", "id", "--day", "day", "--wave", "beep", "--n-draws", 20, "--seed", 1)
    code, out, _ = bayesmrf("panel", path, *given)
    assert (code, "560 transitions of 20 people (120 nights" in " ".join(out.split())) == (0, True)


@pytest.mark.parametrize(
    ("name", "values", "is_time"),
    [
        ("day", [1, 2, 3], True), ("Beep_nr", [0, 1, 2], True), ("studyDay", [1, 2, 3], True), ("wave", [1, 2], True),
        ("session.number", [3, 4, 5], True), ("time", [0, 1], True),
        ("time", [1, 2, 4], False),  # minutes
        ("bedtime", [1, 2, 3], False), ("daytime_sleepy", [1, 2, 3], False), ("tired_day", [1, 2, 3], False),
        ("q1", [1, 2, 3], False), ("day", [0.5, 1.5, 2.5], False),
    ],
)  # fmt: skip
def test_names_of_times(name, values, is_time):
    table = pd.DataFrame({name: np.tile(values, 10), "a": np.arange(10 * len(values)) % 2})
    assert time_columns(table) == ([name] if is_time else [])
    assert time_columns(table.iloc[: len(values)]) == []  # each once


def test_no_column_of_real_data_is_a_time(data_folder):
    for path in sorted(data_folder.glob("*.csv")):
        assert not time_columns(pd.read_csv(path)), path
