"""Errors about one option, and the rules of the parameters of estimators."""

import ast
import pickle
import re
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesmrf
from bayesmrf import memory
from bayesmrf.cli.common import about_file, say
from bayesmrf.declare.option import check_params, options_of, rule_of
from bayesmrf.declare.rule import integer, optional
from bayesmrf.errors import (
    DataError,
    FieldsWarning,
    GraphError,
    OptionError,
    argument,
    data_row,
    in_words,
    missing_code,
)


def test_the_sentence_of_an_error_is_made_of_its_parts():
    error = OptionError(option="epsilon", got=np.nan, expected="a finite number > 0", remedy="take 0.1")
    assert str(error) == "epsilon must be a finite number > 0, got nan; take 0.1."
    assert str(OptionError(option="thin", got=0, expected="an integer >= 1")) == "thin must be an integer >= 1, got 0."
    assert str(OptionError("a sentence")) == "a sentence"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.option, again.got) == (str(error), "epsilon", "nan")


def test_sentences_without_marked_terms_name_no_option_of_python():
    """The command line prints verdicts and statuses of evidences as they are: they use words, or say "in Python"."""
    source, named, n_texts = Path(bayesmrf.__file__).parent, re.compile(r"raise \w+_\w+|, thin or| \w+='"), 0
    for path in (
        source / "results/convergence.py",
        source / "estimators/stein_check.py",
        *(source / "evidence").glob("*.py"),
    ):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                n_texts += 1
                assert "in Python" in node.value or not named.search(node.value), (path.name, node.value)
    assert n_texts > 100


class Rude:
    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float64(1.5), "1.5"),
        (True, "True"),
        (10**20, "100000000000000000000"),
        (10**5000, "an integer of about 4984 digits"),
        (np.zeros((2, 3)), "an array of shape (2, 3)"),
        (pd.DataFrame({"a": [1]}), "a DataFrame of shape (1, 1)"),
        (object(), "an object"),
        (Rude(), "a Rude"),
        (int, "the class int"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_any_value_is_shown_in_few_words(value, text):
    assert in_words(value) == text


def test_the_command_line_calls_options_by_their_flags(capsys):
    """Arguments that are marked have flags; words that are merely spelled like one, and names of columns, stay."""
    remedy = f"or set {argument('thin', 2)}, {argument('fields', True)}"
    error = OptionError(option="n_draws", got=0, expected="an integer >= 1", remedy=remedy)
    assert str(error) == "n_draws must be an integer >= 1, got 0; or set thin=2, fields=True."
    warning = FieldsWarning(f"{argument('fields', False)}, but the graph and 'n_draws=3' must be wider")
    assert str(warning) == "fields=False, but the graph and 'n_draws=3' must be wider"
    say("error", pickle.loads(pickle.dumps(error)))
    say("warning", warning)
    with pytest.raises(OptionError, match=r"must be an integer from 1 .* or None, got 0") as none:
        optional(integer(1, 5)).check("n_particles", 0)
    say("error", none.value)
    with pytest.raises(DataError) as about, about_file(Path("v.csv")):
        raise DataError(f"{argument('X')} must be binary, got -9 in {data_row(3)}; {missing_code('-9')}.")
    say("error", about.value)
    assert capsys.readouterr().err == (
        "error: --n-draws must be an integer >= 1, got 0; or set --thin 2, --fields.\n"
        "warning: --no-fields, but the graph and 'n_draws=3' must be wider\n"
        "error: --n-particles must be an integer from 1 to 5, got 0.\n"
        "error: v.csv must be binary, got -9 in row 4 below the first line; give --missing-code -9.\n"
    )


FOREIGN = [float("nan"), float("inf"), "x", -1, 1.5, [], {}, object(), np.zeros(2), pd.DataFrame(), 1j, 10**400]


def answer(call, *arguments):
    """What a check says, None if it allows."""
    try:
        call(*arguments)
    except OptionError as e:
        return str(e)
    return None


ESTIMATORS = "BayesianMRF", "GroupedMRF", "LabelFieldMRF", "MaximumLikelihoodMRF", "SpikeSlabMRF", "CompareMRF", "RBM"
RULES = {
    f"{kind}.{name}": found.rule for kind in ESTIMATORS for name, found in options_of(getattr(bayesmrf, kind)).items()
}


def test_each_rule_allows_its_ends_and_refuses_foreign_values():
    refused = {name: [value for value in FOREIGN if not rule.allows(value)] for name, rule in RULES.items()}
    assert not [name for name, v in refused.items() if len(v) <= 3 and name.rpartition(".")[2] not in READ]
    good = [(name, value) for name, rule in RULES.items() for value in rule.good]
    assert len(good) > len(RULES)
    assert not {(name, str(value)) for name, value in good if answer(RULES[name].check, name, value)}
    said = [(name, answer(RULES[name].check, "it", v)) for name, values in refused.items() for v in values]
    assert not [row for row in said if row[1] is None or "must be" not in row[1] or "\n" in row[1]]


# Edges, and labels of edges, are checked where they are read.
READ = {"graph", "candidates", "ties"}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_parameter_of_an_estimator_has_a_rule(name):
    estimator = getattr(bayesmrf, name)
    lacking = [p for p in signature(estimator).parameters if rule_of(estimator, p) is None]
    assert set(lacking) <= READ
    check_params(estimator())


@pytest.mark.parametrize("n_draws", [10**11, 10**12])
@pytest.mark.parametrize("estimator", [bayesmrf.BayesianMRF, bayesmrf.GroupedMRF, bayesmrf.SpikeSlabMRF])
def test_draws_beyond_the_memory_are_refused_before_they_are_made(estimator, n_draws, rng, tmp_path):
    est = estimator(n_draws=n_draws, checkpoint=tmp_path / "run", progress=False)
    with pytest.raises(OptionError, match=r"n_draws must be at most [\d,]+ for 4 chains in .* GiB, .* take [\d,]+ GiB"):
        est.fit(rng.integers(0, 2, size=(30, 3)))
    assert not (tmp_path / "run").exists()


def test_draws_that_fit_into_memory_are_allowed():
    dims = {"theta": ("feature",), "accepted": ()}
    room = memory.machine_bytes()
    most = int(room / (2 * (8 * 10 + 1)))
    memory.check_draws(dims, {"feature": 10}, most, 2)
    with pytest.raises(OptionError):
        memory.check_draws(dims, {"feature": 10}, most + 1, 2)


@pytest.mark.filterwarnings("ignore:.*are constant")
@pytest.mark.parametrize("learns", [False, True])
def test_all_pairs_of_many_columns_are_refused_at_once(learns, rng):
    x = rng.integers(0, 2, size=(20, 100_000), dtype=np.int8)
    message = (
        r"(graph|candidates) must have at most 20,000,000 edges, got 4,999,\d+,\d+, all pairs of (100,000|99,\d+) nodes"
    )
    estimators = [bayesmrf.BayesianMRF("learn:5")] if learns else [bayesmrf.GroupedMRF(), bayesmrf.SpikeSlabMRF()]
    for est in estimators:
        with pytest.raises(GraphError, match=message):
            est.fit(x)
