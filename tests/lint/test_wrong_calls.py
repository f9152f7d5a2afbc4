"""Calls with one wrong value: every public function and method answers in one sentence of the package, or runs."""

import zlib

import pandas as pd
import pytest
from sklearn.base import clone

import bayesmrf
from bayesmrf import memory, save
from bayesmrf.errors import BayesMRFError, OptionError
from tests.lint.wrong_calls import ARRAYS, TABLE, WRONG, calls, fitted, outcome


@pytest.fixture(scope="module")
def estimators():
    return fitted()


def test_wrong_calls(estimators, folder, monkeypatch, request):
    """One value of each argument; another one with each seed."""
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2**30)
    found, n = {}, 0
    for call in calls(estimators, folder):
        if call.name.startswith(ARRAYS):
            continue
        for argument in call.arguments:
            at = zlib.crc32(f"{request.config.seed} {call.name} {argument}".encode()) % len(WRONG)
            name = [*WRONG][at]
            if text := outcome(call, argument, WRONG[name]):
                found[f"{call.name}({argument}={name})"] = text
            n += 1
    assert not found, "\n".join(f"{call}: {text}" for call, text in found.items())
    assert n > 300


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda est: bayesmrf.load([]), r"path must be a path, got \[\]\."),
        (lambda est: bayesmrf.load(None), r"path must be a path, got None\."),
        (lambda est: est.report(10**9), "path must be a path, got 1000000000"),
        (lambda est: est.export(0, "csv"), "out must be a path, got 0"),
        (lambda est: bayesmrf.save(est, ""), "path must be a path, got ''"),
        (lambda est: bayesmrf.plan(replicates=1, folder=0), "folder must be a path, got 0"),
        (lambda est: bayesmrf.plan(replicates=1, n_jobs="x"), "n_jobs must be an integer other than 0"),
        (lambda est: est.statistics({}), r"names must be None or a name, or a list of names of statistics, got \{\}"),
        (lambda est: est.probability(3), "statement must be a text, such as 'A--B > A--C', or a function"),
        (lambda est: est.statistic(3), "function must be the name of a statistic, or a function, got 3"),
        (lambda est: est.table([]), r"name must be a table of this result: .*, got \[\]"),
        (lambda est: est.table("edges", "x"), "probability must be"),
        (
            lambda est: clone(est).fit(TABLE.assign(a=[[1]] * len(TABLE))),
            "one value in each cell, but column 'a' has a list",
        ),
        (lambda est: bayesmrf.PanelMRF().fit(3), r"X must be a table \(n_samples, n_nodes\), got 3"),
        (lambda est: bayesmrf.graphs.cycle(10**9), "n_nodes must be an integer from 1 to 10,000,000"),
    ],
)
def test_what_must_be_is_said(estimators, call, message):
    with pytest.raises(BayesMRFError, match=message):
        call(estimators["SpikeSlabMRF"])


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.HTML"])
def test_results_have_no_name_of_a_table(estimators, bayesmrf, folder, name):
    pd.DataFrame(TABLE).to_csv("t.csv", index=False)
    with pytest.raises(OptionError, match=r"path must be a folder, .* or a file .*bayesmrf\.export\(result, out"):
        save(estimators["SpikeSlabMRF"], name)
    code, _, err = bayesmrf("structure", "t.csv", "--out", name)
    assert code == 2
    assert "--out must be a folder, such as votes_run, got" in err
    assert "bayesmrf export writes tables, and bayesmrf report a page" in err
    assert [p.name for p in folder.iterdir()] == ["t.csv"]


def test_samples_that_do_not_fit_into_memory_are_refused(estimators, monkeypatch):
    monkeypatch.setattr(memory, "machine_bytes", lambda: 2**30)
    for name in ("SpikeSlabMRF", "MaximumLikelihoodMRF", "RBM"):
        with pytest.raises(
            OptionError, match=r"n_samples must be at most [\d,]+ in 1\.0 GiB, the memory of this machi"
        ):
            estimators[name].sample(10**9)
