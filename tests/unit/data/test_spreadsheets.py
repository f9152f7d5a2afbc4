"""Names that spreadsheets run as formulas, in CSV files: they are named, and made safe when that is asked for."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesmrf import SpikeSlabMRF, export
from bayesmrf.data.codebook import Codebook
from bayesmrf.data.spreadsheets import csv_of, escaped, is_formula, unguarded
from bayesmrf.errors import FormulaWarning, OptionError
from tests.helpers.commands import one_sentence

NAMES = ["=1+1", "+x", "-z", "@y"]
SHORT = ["--n-draws", "20", "--n-warmup", "5", "--n-chains", "2", "-q", "--seed", "1"]


@pytest.mark.parametrize("text", [*NAMES, "\tx", "\rx", "\nx", "-1 < 1", "=", "＝1", "--", "-1a"])
def test_formulas(text):
    assert is_formula(text)


@pytest.mark.parametrize(
    "value", ["x", "'=1", "a-b", "1 + 1", "-1", "+2.5", "-.5e-3", "", " =1", -1, -1.5, None, np.nan]
)
def test_what_is_none(value):
    assert not is_formula(value)


@pytest.mark.parametrize("text", [*NAMES, "x", "'x", "'=x", "''=x", "'", "-1 < 1", "-1"])
def test_guarded_texts_are_read_back(text):
    written = escaped(text)
    assert unguarded(written) == text
    assert unguarded(f"'{written}" if is_formula(written) else written) == text
    assert written == text or text.startswith("'")


def test_numbers_and_other_texts_are_not_changed():
    frame = pd.DataFrame({"=a": [-1.5, 2.0], "b": ["-1", "=2"], "c": pd.Categorical(["@x", "y"]), "n": [-1, 1]})
    (text,) = csv_of({"": frame}, True).values()
    assert text == "'=a,b,c,n\n-1.5,-1,'@x,-1\n2.0,'=2,y,1\n"
    with pytest.warns(FormulaWarning, match=r"^3 texts of the tables begin like formulas, such as '=2', which"):
        (text,) = csv_of({"": frame}, False).values()
    assert text == frame.to_csv(index=False)
    with pytest.warns(FormulaWarning, match=r"^A text begins like a formula, such as '=a', .* set spreadsheet_safe=T"):
        csv_of({"": frame[["=a", "n"]]}, False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        csv_of({"": frame[["n"]]}, False)


@pytest.fixture
def answers(folder, rng):
    table = pd.DataFrame(rng.choice([-1, 1], (40, 4)), columns=NAMES)
    table.to_csv("answers.csv", index=False)
    return table


def test_commands(bayesmrf, answers, folder):
    code, _, err = bayesmrf("columns", "answers.csv", "--out", "plain.csv")
    assert code == 0
    assert err == (
        "warning: 5 texts of the tables begin like formulas, such as '+x', which spreadsheets run; set "
        "--spreadsheet-safe for an apostrophe before them.\n"
    )
    assert pd.read_csv("plain.csv")["name"].tolist() == NAMES
    code, _, err = bayesmrf("columns", "answers.csv", "--out", "safe.csv", "--spreadsheet-safe")
    assert (code, err) == (0, "")
    assert pd.read_csv("safe.csv")["name"].tolist() == [f"'{name}" for name in NAMES]
    assert Codebook.read("safe.csv") == Codebook.read("plain.csv")
    assert bayesmrf("structure", "answers.csv", "--columns", "safe.csv", *SHORT, "--out", "votes_run")[0] == 0
    code, _, err = bayesmrf("export", "votes_run", "--to", "csv")
    assert code == 0
    assert "set --spreadsheet-safe for an apostrophe" in err
    assert pd.read_csv("votes_run-csv/nodes.csv")["node"].tolist() == NAMES
    code, _, err = bayesmrf("export", "votes_run", "--to", "csv", "--overwrite", "--spreadsheet-safe")
    assert (code, err) == (0, "")
    nodes = pd.read_csv("votes_run-csv/nodes.csv")
    assert nodes["node"].tolist() == [f"'{name}" for name in NAMES]
    assert nodes["mean"].min() < 0
    assert (pd.read_csv("votes_run-csv/edges.csv")["first"].str[0] == "'").all()
    assert bayesmrf("export", "votes_run", "--to", "json")[1:] == ("The result is written to votes_run.json\n", "")
    assert json.loads((folder / "votes_run.json").read_text())["tables"]["nodes"]["rows"][0]["node"] == NAMES[0]
    one_sentence(
        bayesmrf("export", "votes_run", "--to", "json", "--spreadsheet-safe"), "omitted with --to json, got True"
    )
    one_sentence(bayesmrf("columns", "answers.csv", "--spreadsheet-safe"), "--spreadsheet-safe must be omitted without")


def test_in_python(answers, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est = SpikeSlabMRF(n_draws=20, n_warmup=5, n_chains=2, progress=False, random_state=1).fit(answers)
    with pytest.warns(FormulaWarning, match="set spreadsheet_safe=True for an apostrophe before them"):
        export(est, "plain", "csv")
    est.export("safe", "csv", spreadsheet_safe=True)
    assert pd.read_csv("plain/nodes.csv")["node"].tolist() == NAMES
    assert pd.read_csv("safe/nodes.csv")["node"].tolist() == [f"'{name}" for name in NAMES]
    with pytest.raises(OptionError, match="spreadsheet_safe must be omitted with to='graphml', got True"):
        export(est, "n.graphml", "graphml", spreadsheet_safe=True)
    again = SpikeSlabMRF(n_draws=20, n_warmup=5, progress=False, columns=est.columns_)
    again.check(answers)
