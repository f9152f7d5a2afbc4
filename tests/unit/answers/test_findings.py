"""What `fit` warns of is in the verdict, on the terminal, in the report, and in the stored run."""

import ast
import html
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, LabelFieldMRF, SpikeSlabMRF, results
from bayesmrf.errors import ApproximatePosteriorWarning, BayesMRFWarning, OptionError, argument
from bayesmrf.estimators import edge_start
from bayesmrf.findings import collected, dumped, loaded, recorded, tell
from bayesmrf.report import write_report
from bayesmrf.results import convergence

SOURCE = Path(bayesmrf.__file__).parent
RUN = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "random_state": 1, "progress": False}
# A lost cache; a stopped run, which says so itself; files that are written after a run
NOT_KEPT = {"findings.py", "compiled/leaves.py", "runs/run.py", "data/spreadsheets.py", "plugins.py"}


def table(rng):
    """A constant column, two equal ones, and rows that follow each other."""
    states = np.cumsum(rng.random((300, 4)) < 0.05, axis=0) % 2
    states[:, 3] = states[:, 2]
    return pd.DataFrame(np.column_stack([states, np.zeros(300, dtype=int)]), columns=list("abcde"))


ESTIMATORS = {
    "parameters": lambda: BayesianMRF(engine="mean-field", kernel="hamiltonian", **RUN),
    "edges": lambda: SpikeSlabMRF(method="exact", **RUN),
    "groups": lambda: GroupedMRF(method="exact", fields=False, **RUN),
    "differences": lambda: CompareMRF(method="exact", **RUN),
}


def fitted(name, X, rng):
    """An estimator, and what it warned of."""
    est, more = ESTIMATORS[name](), {}
    if name == "differences":
        X, more = X.drop(columns="e"), {"groups": np.arange(len(X)) % 2}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        est.fit(X, **more)
    return est, [str(w.message) for w in found if issubclass(w.category, BayesMRFWarning)]


def plain(page):
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_warning_reaches_the_verdict_the_store_and_the_page(name, rng, tmp_path):
    est, warned = fitted(name, table(rng), rng)
    for part in ("are constant", "determine each other", "follow")[name == "differences" :]:
        assert any(part in text for text in warned)
    results.save(est.posterior_, tmp_path / "run")
    stored = results.load(tmp_path / "run")
    write_report(tmp_path / "run", tmp_path / "run.html", False)
    page = plain((tmp_path / "run.html").read_text(encoding="utf-8"))
    for tree in (est.posterior_, stored):
        found = convergence.verdict(tree)
        assert found.grade != "good"
        assert all(text in found.sentence for text in warned)
    assert all(" ".join(text.split()) in page for text in warned)


def test_a_label_field_keeps_its_warnings(rng):
    points = rng.random((12, 2)) * [1000.0, 1.0]
    est = LabelFieldMRF(**RUN)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        est.fit(points, rng.permutation(np.arange(12) % 2))
    warned = [str(w.message) for w in found]
    assert any("length scale of" in text for text in warned)
    assert all(text in convergence.verdict(est.posterior_).sentence for text in warned)


def test_edges_that_are_off_are_not_called_good(rng, monkeypatch):
    """As moments are extrapolated over a posterior that is too wide; the control is the same run without the doubt."""
    X = (rng.random((20_000, 5)) < 0.4).astype(int)
    monkeypatch.setattr(edge_start, "_NEGLECTED", -1.0)
    run = {"method": "reversible-jump", "n_draws": 400, "n_chains": 2, "random_state": 1, "progress": False}
    with pytest.warns(ApproximatePosteriorWarning, match="the large-sample approximation is unreliable") as found:
        est = SpikeSlabMRF(**run).fit(X)
    verdict = convergence.verdict(est.posterior_)
    assert str(found[0].message) in verdict.sentence
    assert verdict.grade != "good"
    est.posterior_.attrs["findings"] = "[]"
    assert "are off by" not in convergence.verdict(est.posterior_).sentence


def test_the_shell_says_it_by_its_flags(bayesmrf, folder, rng):
    table(rng).to_csv("rows.csv", index=False)
    options = ["--method", "exact", "--n-draws", 20, "--n-chains", 2, "--seed", 1, "--out", "run"]
    code, out, err = bayesmrf("structure", "rows.csv", *options)
    assert code == 0
    text, warned = " ".join(out.split()), re.findall(r"^warning: (.*)$", err, flags=re.M)
    assert len(warned) == 2
    stored = [finding.text for finding in loaded(results.load("run").attrs["findings"])]
    assert all(" ".join(line.split()) in text and line in stored for line in warned)
    assert not any("\ue000" in line or " of X " in line for line in stored)
    assert len(stored) == 3  # that rows follow each other is found at the end, and printed once


def test_nothing_else_warns():
    """What is not told is not kept with the run."""
    calls = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in sorted(SOURCE.rglob("*.py"))
        if str(path.relative_to(SOURCE)) not in NOT_KEPT
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn"
        if "FutureWarning" not in ast.unparse(node)  # of names that go: it is about a call, not about a result
    ]
    assert not calls


def test_collections(rng):
    """One in another has its own findings, which the other gets as well; each is kept once; marks are written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tell("outside", BayesMRFWarning)
        with collected() as outer:
            tell(f"give {argument('n_draws', 5)}", BayesMRFWarning)
            with collected() as inner:
                tell("two", BayesMRFWarning, "bad")
                tell("two", BayesMRFWarning, "bad")
    assert [f.text for f in inner] == ["two"]
    assert [f.severity for f in outer] == ["fair", "bad"]
    assert [f.text for f in loaded(dumped(outer))] == ["give n_draws=5", "two"]


def test_a_warning_points_to_the_line_that_called():
    with pytest.warns(BayesMRFWarning) as found:
        tell("where", BayesMRFWarning)
    assert found[0].filename == __file__


def test_a_fit_that_fails_keeps_nothing():
    @recorded
    def fit(self):
        tell("before", BayesMRFWarning)
        raise OptionError(option="a", got=1, expected="2")

    with pytest.warns(BayesMRFWarning), pytest.raises(OptionError):
        fit(None)
    with collected() as found:
        pass
    assert not found
