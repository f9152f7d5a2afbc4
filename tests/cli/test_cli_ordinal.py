"""The commands on ordered answers, some of them missing: the same draws as the estimators, and bad input."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, families, graphs, log_evidence, methods
from bayesmrf.engines import Elimination
from bayesmrf.errors import TooWideError
from bayesmrf.estimators.engines import suitable_engine
from bayesmrf.results import load
from tests.helpers.commands import one_sentence

SMALL = ["--n-draws", "20", "--n-warmup", "10", "--n-chains", "2", "--seed", "2"]
QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 2, "progress": False}
ITEMS = ["sad", "tired", "asleep"]


@pytest.fixture
def answers(folder, rng):
    """Three items of 4, 3 and 2 levels, and the group of each person."""
    mood = rng.normal(size=120)
    table = pd.DataFrame({"sad": np.digitize(mood, [-1, 0, 1]) + 1.0, "tired": rng.integers(0, 3, 120) * 1.0})
    table["asleep"], table["sex"] = (rng.random(120) < 0.4) * 1.0, np.where(np.arange(120) % 2, "f", "m")
    table.iloc[:8, :2] = [[1, 0], [1, 0], [2, 1], [2, 1], [3, 2], [3, 2], [4, 0], [4, 0]]
    table.loc[[20, 31], "tired"] = table.loc[20, "sad"] = np.nan
    table.to_csv("answers.csv", index=False)
    return table


COMMANDS = {
    "structure": (["--drop", "sex"], SpikeSlabMRF()),
    "posterior": (["--drop", "sex", "--graph", "complete"], BayesianMRF()),
    "groups": (["--drop", "sex", "--graph", "complete"], GroupedMRF()),
    "compare": (["--by", "sex"], CompareMRF()),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_has_the_draws_of_its_estimator(command, bayesmrf, answers, folder):
    more, est = COMMANDS[command]
    code, out, err = bayesmrf(command, "answers.csv", *more, *SMALL)
    assert (code, err) == (0, "")
    text = " ".join(out.split())
    assert "The model is ordinal, as column 'sad' has more than two ordered levels." in text
    assert "3 missing values, with probability: row 21 sad=1" in text
    assert "neutral" not in text
    est.set_params(**QUICK).fit(answers[ITEMS], *([answers["sex"]] if command == "compare" else []))
    found = load("answers_run")["posterior"]["theta"]
    np.testing.assert_array_equal(found, est.posterior_["posterior"]["theta"])
    assert found["feature"].values.tolist()[3:] == ["sad=2", "sad=3", "sad=4", "tired=1", "tired=2", "asleep=1"]
    assert bayesmrf("report", "answers_run")[0] == 0


def test_a_level_that_never_occurs_is_told_without_python(bayesmrf, answers):
    answers.replace({"sad": {3.0: 4.0}}).to_csv("answers.csv", index=False)
    code, _, err = bayesmrf("structure", "answers.csv", "--drop", "sex", *SMALL)
    assert code == 0
    assert "1 level(s) of column 'sad' never occur (3), so that the prior alone determines their thresholds\n" in err


def test_the_engine_of_posterior_supports_the_model(bayesmrf, folder, rng):
    table = rng.integers(1, 5, (60, 15))
    table[:4] = np.arange(1, 5)[:, None]
    wide = pd.DataFrame(table).add_prefix("n")
    wide.to_csv("wide.csv", index=False)
    run = ["posterior", "wide.csv", *SMALL, "--overwrite"]
    assert bayesmrf(*run)[0] == 0
    assert load("wide_run").attrs["engine"] == "persistent"
    # Ten items of the levels 1 to 4 have 4^10 states, of which exact inference is cheap.
    graph = graphs.complete(10)
    assert suitable_engine("auto", families.Ordinal().on(graph, (4,) * 10, True)) == "exact"
    assert suitable_engine("auto", families.Ordinal().on(graph, (5,) * 10, True)) == "persistent"
    # Every remedy runs.
    for given in (["--engine", "exact"], ["--kernel", "gibbs"]):
        code, _, err = bayesmrf(*run, *given)
        assert code == 2
        use, or_else = re.search(r"; use (.*), or (.*)\.\n", err).groups()
        assert or_else == "a graph with fewer edges"
        options = [*given, *use.replace(" with ", " ").split()]
        assert bayesmrf(*run, *options, "--n-draws", "2", "--n-warmup", "1")[0] == 0
    bayesian = BayesianMRF(**QUICK)
    with pytest.raises(TooWideError, match="; use engine='persistent', or a graph with fewer edges"):
        bayesian.set_params(engine=Elimination(max_bytes=100)).fit(wide)
    with pytest.raises(TooWideError, match="; use method='reversible-jump', or"):
        SpikeSlabMRF(method="exact", **QUICK).fit(
            pd.concat([wide, wide.add_prefix("m").apply(np.roll, shift=1)], axis=1)
        )
    given = bayesmrf(*run, "--kernel", "hamiltonian", "--engine", "persistent")
    one_sentence(given, "--engine must be one that computes log_z, .* which nothing .* so wide a graph: take another")


def test_langevin_dynamics(bayesmrf, answers, folder):
    chosen = ["--method", "langevin", "--epsilon", "0.05", "--width", "0.3", "--n-iterations", "20"]
    code, _, err = bayesmrf("structure", "answers.csv", "--drop", "sex", *chosen, *SMALL)
    assert (code, err) == (0, "")
    method = methods.LangevinJumps(epsilon=0.05, width=0.3, n_iterations=20)
    est = SpikeSlabMRF(method=method, **QUICK).fit(answers[ITEMS])
    found = load("answers_run")["posterior"]["theta"]
    np.testing.assert_array_equal(found, est.posterior_["posterior"]["theta"])


@pytest.mark.parametrize("command", COMMANDS)
def test_neutral_categories(command, bayesmrf, answers, folder):
    more, est = COMMANDS[command]
    code, _, err = bayesmrf(command, "answers.csv", *more, "--neutral", "sad=1", "--neutral", "tired=1.5", *SMALL)
    assert (code, err) == (0, "")
    est = clone(est).set_params(model=families.Ordinal(neutral={"sad": 1, "tired": 1.5}), **QUICK)
    est.fit(answers[ITEMS], *([answers["sex"]] if command == "compare" else []))
    found = load("answers_run")["posterior"]["theta"]
    np.testing.assert_array_equal(found, est.posterior_["posterior"]["theta"])
    assert found["feature"].values.tolist()[3:5] == ["sad:linear", "sad:quadratic"]
    assert bayesmrf("report", "answers_run")[0] == 0
    assert "Of a column with a neutral category, linear x + quadratic" in (folder / "answers_run.html").read_text()


def test_neutral_categories_that_cannot_be(bayesmrf, answers):
    for given, message in {
        "sad": "--neutral must be COLUMN=SCORE, such as tired=2, got 'sad'",
        "sad=x": "--neutral must be COLUMN=SCORE, such as tired=2, got 'sad=x'",
        "mad=1": r"--neutral must be scores by the names of columns \('sad', 'tired', 'asleep'\), got 'mad'; "
        "there is no column 'mad'",
        "sad=4": "--neutral must be a score from 0 to 3 for column 'sad', got 4.0",
    }.items():
        one_sentence(bayesmrf("structure", "answers.csv", "--drop", "sex", "--neutral", given, *SMALL), message)
    command = ["structure", "answers.csv", "--drop", "sex", "--model", "potts", "--neutral", "sad=1"]
    one_sentence(bayesmrf(*command), "--neutral must be omitted without --model ordinal, got 'sad=1'")


def test_evidence_is_of_complete_rows(bayesmrf, answers):
    command = ["evidence", "answers.csv", "--drop", "sex", "--compare", "complete,independent", "--seed", 2]
    one_sentence(bayesmrf(*command), r"but 3 are missing in 2 column\(s\), the first in row 21 .*, column 'sad'; drop")
    answers.dropna().to_csv("answers.csv", index=False)
    code, out, err = bayesmrf(*command)
    assert (code, err) == (0, "")
    X = answers.dropna()[ITEMS]
    for model in (BayesianMRF("complete"), "independent"):
        assert f"{log_evidence(model, X, random_state=2, progress=False).log_evidence:.2f}" in out


def test_evidence_with_neutral_categories(bayesmrf, answers):
    X = answers.dropna()[ITEMS]
    X.to_csv("answers.csv", index=False)
    more = ["--neutral", "sad=1", "--seed", "2"]
    pd.DataFrame({"node_1": ["sad"], "node_2": ["tired"]}).to_csv("edges.csv", index=False)
    code, out, err = bayesmrf(
        "evidence", "answers.csv", "--compare", "complete,structure", "--edges", "edges.csv", *more
    )
    assert (code, err) == (0, "")
    for graph in ("complete", [("sad", "tired")]):
        neutral, free = (
            log_evidence(BayesianMRF(graph, model=model), X, random_state=2, progress=False).log_evidence
            for model in (families.Ordinal(neutral={"sad": 1}), "ordinal")
        )
        assert f"{neutral:.2f}" in out
        assert f"{free:.2f}" not in out
    one_sentence(
        bayesmrf("evidence", "answers.csv", "--hidden", "1:2", "--binarize", ">=2", *more),
        "--hidden does not support --neutral; remove it, or use --compare instead of --hidden",
    )


BAD = {
    "one level": ({"tired": 2}, "structure", "'tired' must have at least two levels, got 1 (2); drop it"),
    "no level": ({"tired": np.nan}, "structure", "must have at least two levels, but all its values are missing"),
    "many levels": (
        {"sad": np.arange(120) % 15},
        "structure",
        "1 column(s) are measurements: 'sad' (15 numbers from 0 to 14)",
    ),
    "no order": ({"sad": ["red", "blue"] * 60}, "structure", "two values without a natural order: 'sad' (blue, red); "),
    "few rows": ({"sex": ["f"] * 3 + ["m"] * 117}, "compare", "groups of at least 10 rows each, but 'f' has 3"),
    "a level": ({"asleep": lambda t: (t["sex"] == "f").astype(int)}, "compare", "is constant in every group"),
    "no label": ({"sex": lambda t: t["sex"].where(t.index != 4)}, "compare", "1 row(s) have none, the first of them"),
    "one group": ({"sex": "f"}, "compare", "--by must have at least two different labels, but all are 'f'"),
    "no groups": ({}, "compare --by gender", "--by: there is no column 'gender' in answers.csv; its columns are"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name, bayesmrf, answers):
    changed, command, message = BAD[name]
    answers.assign(**changed).to_csv("answers.csv", index=False)
    command, *more = command.split()
    more = more or (["--by", "sex"] if command == "compare" else ["--drop", "sex"])
    given = bayesmrf(command, "answers.csv", *more, "--model", "ordinal", *SMALL)
    assert message in given[2]
    one_sentence(given)
