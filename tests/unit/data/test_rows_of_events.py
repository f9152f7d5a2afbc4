"""One row for each event of a person, with the questions of that event: made one row of each person."""

import numpy as np
import pandas as pd
import pytest

from bayesmrf import load
from bayesmrf.data.infer_columns import infer_columns, problems_of
from bayesmrf.data.rows_of_events import rows_of_events
from tests.helpers.commands import one_sentence
from tests.helpers.made_up_tables import made_up_table

SMALL = ["--n-draws", "30", "--n-warmup", "10", "--n-chains", "2", "--seed", "1"]
COMBINED = ["--combine-rows", "record_id", "--drop", "redcap_event_name"]


def logistic_regression(x, y):
    """Slopes and their standard errors, by Newton's method."""
    x, beta = np.column_stack([x, np.ones(len(x))]), np.zeros(x.shape[1] + 1)
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ beta))
        covariance = np.linalg.inv(x.T @ (x * (p * (1 - p))[:, None]))
        beta = beta + covariance @ (x.T @ (y - p))
    return beta[:-1], np.sqrt(np.diag(covariance))[:-1]


def test_events_are_told_and_made_one_row_of_each_person(bayesmrf, folder):
    """From the file to weights: the remedy as it is printed, and a1 - a2 as by logistic regression."""
    table = made_up_table("events_in_rows")
    table.to_csv("t.csv", index=False)
    given = bayesmrf("structure", "t.csv", *SMALL)
    one_sentence(given, f"answers in different columns.*make one row of each person with {' '.join(COMBINED)}")
    (said, *_) = problems_of(infer_columns(table))
    remedy = "X.drop(columns=['redcap_event_name']).groupby('record_id').first()"
    assert remedy in said
    people = eval(remedy, {"X": table})
    assert people.shape == (160, 6)
    assert people.notna().all(axis=None)
    slopes, errors = logistic_regression(people.drop(columns="a1").to_numpy(), people["a1"].to_numpy())
    assert (slopes[0], errors[0]) == pytest.approx((1.11, 0.40), abs=0.01)
    code, out, _ = bayesmrf("posterior", "t.csv", *COMBINED, *SMALL, "--prior-scale", "10", "--kernel", "hamiltonian")
    assert code == 0
    assert "Missing" not in out
    edges = load("t_run").table("edges").set_index(["first", "second"])
    assert abs(edges.loc[("a1", "a2"), "weight"] - 1.11) < 0.4  # one standard error: one of them has the other's field
    assert bayesmrf("columns", "t.csv", *COMBINED, "--out", "columns.csv")[0] == 0
    assert set(pd.read_csv("columns.csv")["missing"]) == {0}


def test_weights_and_groups_are_those_of_the_person(bayesmrf, folder):
    table = made_up_table("events_in_rows").assign(n=1, sex=lambda t: np.where(t["record_id"] % 2, "f", "m"))
    table.loc[table["record_id"] == 7, "n"] = 3
    table.sample(frac=1, random_state=0).to_csv("t.csv", index=False)
    assert bayesmrf("compare", "t.csv", *COMBINED, *SMALL, "--weight", "n", "--by", "sex")[0] == 0
    found = load("t_run").posterior_
    assert found["observed_data"].attrs["n_samples"] == 162
    assert found["observed_data"]["group_sizes"].values.tolist() == [82, 80]


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        (lambda t: t, COMBINED[:2], "several answers in 'redcap_event_name', such as 'record_id' 1; .*--drop redcap"),
        (lambda t: t.assign(a1=t["a1"].fillna(0)), COMBINED, "several answers in 'a1', .*bayesmrf panel"),
        (lambda t: t.assign(record_id=t["record_id"].where(t.index > 1)), COMBINED, "2 row.s. have no 'record_id'"),
        (lambda t: t, ["--combine-rows", "person"], "--combine-rows: there is no column 'person'"),
        (lambda t: t, [*COMBINED, "--drop", "record_id"], "--combine-rows: .*also named by --drop"),
    ],
)
def test_rows_that_cannot_be_one(change, options, said, bayesmrf, folder):
    change(made_up_table("events_in_rows")).to_csv("t.csv", index=False)
    one_sentence(bayesmrf("structure", "t.csv", *options, *SMALL), said)


def test_waves_of_one_questionnaire_are_no_events():
    """Controls: questions that are asked at each wave, blank at random or not, and rows of one answer."""
    waves = made_up_table("panel_exposure")
    person = waves.columns[0]
    assert rows_of_events(waves, person) == ""
    rng = np.random.default_rng(0)
    blank = waves.mask(rng.random(waves.shape) < 0.1).assign(**{person: waves[person]})
    assert rows_of_events(blank, person) == ""
    events = made_up_table("events_in_rows")
    assert rows_of_events(events, "record_id")
    assert rows_of_events(events.drop(columns=["b2", "b3"]).assign(b1=1.0), "record_id") == ""
