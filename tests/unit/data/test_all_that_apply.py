"""Questions of which all that apply are ticked: in one cell, next to its dummies, and in new tables."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesmrf import SpikeSlabMRF, load, save
from bayesmrf.data import prepare, read_columns
from bayesmrf.errors import DataError, OptionError
from tests.helpers.commands import one_sentence

QUICK = {"method": "exact", "n_draws": 20, "n_warmup": 10, "n_chains": 1, "random_state": 1, "progress": False}
CHOICES = ["Friends", "Sport", "Music"]
QUESTION = "Which of these help you?"
# As Google Forms (in Sheets, in CSV), Microsoft Forms, Qualtrics (texts, codes), Jotform, KoboToolbox and JSON write it
FORMS = {
    "commas": (", ", CHOICES, "{}"),
    "choices with commas": (", ", ["Friends, family or neighbours", "Sport", "Music"], "{}"),
    "semicolons": (";", ["Friends, family", "Sport", "Music"], "{}"),
    "semicolon at the end": (";", CHOICES, "{};"),
    "bars": ("|", CHOICES, "{}"),
    "spaced bars": (" | ", ["Good friends", "Sport", "Loud music"], "{}"),
    "commas alone": (",", CHOICES, "{}"),
    "codes": (",", ["1", "2", "4"], "{}"),
    "lines": ("\n", ["Good friends", "Sport", "Loud music"], "{}"),
    "spaces": (" ", ["friends", "sport", "music"], "{}"),
    "lists": (", ", ["'Friends'", "'Sport'", "'Music'"], "[{}]"),
}
# Answers that have what separates others.
ONE_ANSWER = [
    ["Never", "Rarely, if ever", "Sometimes", "Often", "Always"],
    ["Agree, strongly", "Agree, somewhat", "Disagree, strongly", "Disagree, somewhat"],
    ["not very often", "very often", "often", "not often", "never"],
    ["one", "two", "two or three", "one or two", "three or more", "two or more", "none"],
    ["strongly agree", "agree", "neither agree nor disagree", "disagree", "strongly disagree"],
    ["Berlin, Germany", "Paris, France", "Lyon, France", "Bonn, Germany", "Rome, Italy"],
    ["1,5", "2,5", "3,5", "4,5"],
]


def ticks(rng, n=120):
    return rng.random((n, 3)) < [0.5, 0.4, 0.3]


def cells(ticked, separator, choices, form):
    return [form.format(separator.join(np.array(choices)[row])) if row.any() else None for row in ticked]


@pytest.fixture
def tables(data_folder):
    folder = Path(os.environ["BAYESMRF_DATA"]).parent / "tables"
    if not folder.exists():
        pytest.skip("the made-up tables are not here")
    return folder


@pytest.mark.parametrize("form", FORMS)
def test_each_answer_becomes_a_column(form, rng):
    separator, choices, shape = FORMS[form]
    ticked = ticks(rng)
    table = pd.DataFrame({"help": cells(ticked, separator, choices, shape), "alone": rng.choice(["yes", "no"], 120)})
    assert read_columns(table)["kind"].tolist() == ["all that apply", "yes/no"]
    with pytest.raises(DataError, match=r"several answers in one cell: 'help' .*split=\['help'\].*drop=\['help'\]"):
        prepare(table)
    found = prepare(table, split="help")
    names = [f"help: {choice.strip(chr(39))}" for choice in choices]
    assert list(found) == [*names, "alone"]
    np.testing.assert_array_equal(found[names] == "yes", ticked)
    assert all(list(found[name].cat.categories) == ["no", "yes"] and found[name].cat.ordered for name in names)
    part = prepare(table[:7], columns=read_columns(found))  # by a codebook, of few rows, which lack answers
    pd.testing.assert_frame_equal(part, found[:7])
    pd.testing.assert_frame_equal(prepare(table, split="help", drop="alone"), found[names])
    skipped = prepare(table.assign(help=["-99", *table["help"][1:]]), split="help", missing="-99")
    assert skipped[names].isna().sum(axis=1).tolist() == [3] + [0] * 119
    pd.testing.assert_frame_equal(prepare(table, split="help", keep="help"), found[names])


@pytest.mark.parametrize("words", ONE_ANSWER, ids=lambda words: words[0])
def test_one_answer_is_not_several(words, rng):
    table = pd.DataFrame({"a": [*words, *rng.choice(words, 150)], "b": rng.choice(["yes", "no"], 150 + len(words))})
    assert read_columns(table)["kind"][0] != "all that apply"


def test_texts_that_people_wrote_are_one_column(rng):
    given = cells(ticks(rng), ", ", CHOICES, "{}")
    for i in range(0, 120, 10):
        given[i] = f"{given[i] or 'Music'}, my dog {i}"
    table = pd.DataFrame({"help": given})
    found = prepare(table, split="help")
    assert list(found) == ["help: Friends", "help: Sport", "help: Music", "help: other text"]
    assert (found["help: other text"] == "yes").to_numpy().nonzero()[0].tolist() == list(range(0, 120, 10))
    new = pd.DataFrame({"help": ["Sport, my cat"]})
    assert prepare(new, columns=read_columns(found)).to_numpy().tolist() == [["no", "yes", "no", "yes"]]
    few = read_columns(found[["help: Friends", "help: Sport", "help: Music"]])
    with pytest.raises(DataError, match=r"'help' has others: 'my cat'; add a row 'help: other text' to columns"):
        prepare(new, columns=few)


@pytest.mark.parametrize("coded", [lambda x, c: x.astype(int), lambda x, c: np.where(x, c, ""), lambda x, c: x])
def test_a_list_of_the_columns_that_are_ticked(coded, rng):
    """As KoboToolbox, SurveyCTO and SurveyMonkey write it: numbers, texts of the choices, or booleans next to it."""
    ticked = ticks(rng)
    table = pd.DataFrame({"help": cells(ticked, " ", ["friends", "sport", "music"], "{}")})
    for i, name in enumerate(["friends", "sport", "music"]):
        table[f"help/{name}"] = coded(ticked[:, i], name)
    what = (
        r"'help' lists which of 'help/friends', 'help/sport', 'help/music' are ticked; leave it out .*drop=\['help'\]"
    )
    with pytest.raises(DataError, match=what):
        prepare(table)
    table["help/music"] = rng.permutation(table["help/music"])  # another question
    with pytest.raises(DataError, match="several answers in one cell: 'help'"):
        prepare(table)


def test_what_cannot_be_split(rng):
    table = pd.DataFrame({"a": ["x", "y"], "b": ["u, v", "u"], "b: u": [1, 0]})
    with pytest.raises(OptionError, match=r"split must be a column with several answers in one cell.*got 'a'"):
        prepare(table, split="a")
    with pytest.raises(OptionError, match="split: there is no column 'c'"):
        prepare(table, split="c")
    with pytest.raises(DataError, match="has a column 'b: u' already"):
        prepare(table, split="b")


def test_new_tables_and_stored_runs_have_the_columns_of_the_fit(bayesmrf, folder, tables):
    file = str(tables / "boxes_in_one_cell.csv")
    said = r"several answers in one cell: 'Which of these help you\?'.*--split 'Which of these help you\?'"
    small = ["--method", "exact", "--n-draws", 20, "--n-warmup", 10, "--n-chains", 1, "--seed", 1]
    one_sentence(bayesmrf("structure", file, *small), said)
    code, _, _ = bayesmrf("columns", file, "--split", QUESTION, "--out", "columns.csv")
    assert code == 0
    assert bayesmrf("structure", file, *small, "--split", QUESTION, "--out", "a_run")[0] == 0
    assert bayesmrf("structure", file, *small, "--columns", "columns.csv", "--out", "b_run")[0] == 0
    runs = [load("a_run"), load("b_run")]
    raw = pd.read_csv(file)
    fitted = SpikeSlabMRF(columns=pd.read_csv("columns.csv", keep_default_na=False), **QUICK).fit(raw)
    save(fitted, "c_run")
    typed = prepare(raw, split=QUESTION)
    assert list(typed) == [*(f"{QUESTION}: {choice}" for choice in CHOICES), "Do you live alone?"]
    for run in (*runs, fitted, load("c_run")):
        assert run.feature_names_in_.tolist() == list(typed)
        np.testing.assert_array_equal(run.score_samples(raw[:9]), runs[0].score_samples(typed[:9]))
    dropped = [*small, "--split", QUESTION, "--drop", f"{QUESTION}: Sport", "--out", "d_run"]
    assert bayesmrf("structure", file, *dropped)[0] == 0
    assert load("d_run").feature_names_in_.tolist() == list(typed.drop(columns=f"{QUESTION}: Sport"))
