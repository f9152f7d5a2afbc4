"""All reproductions: their commands, resumption, independence of processes, findings and stored results."""

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from bayesmrf import datasets
from bayesmrf.errors import DataError
from papers.cells import forget, run
from papers.findings import NOT_JUDGED, as_judged, evaluate
from papers.store import Record, plain, read
from tests import ROOT
from tests.long import LONG, few


class Row(NamedTuple):
    """A paper and small commands of it."""

    brief: dict[str, list[str]]  # options of an experiment that make it short
    resumed: list[str]  # a command of a few cells, run for two replicates
    processes: tuple[str, tuple[str, ...]]  # an experiment and methods for two processes
    refused: list[tuple[list[str], str]]  # options that the paper does not have, and a part of the message
    value: str  # a number in the first record that another seed changes
    check: Callable[[str, list[Record], str], None]  # of the records of an experiment, and what was printed


def check_liu_page(experiment, found, out):
    plan = PAPERS["liu_page_2013"].experiments.QUICK[experiment]
    rows = plan.rows(found)
    if experiment == "senate":
        assert "-11446.45" in out
        assert set(rows["n_train"]) == {222}
    if experiment.endswith("senate"):
        assert (rows[["lpl_train", "lpl_test"]] < 0).all(axis=None)
        assert rows["n_groups"].dropna().between(1, 40).all()
    elif experiment == "structure":
        assert np.isfinite(rows.drop(columns="method")).all(axis=None)
        assert rows["f1"].between(0, 1).all()
        assert (rows["lpl_test"] < 25).all()  # the truth cannot be beaten by much
        assert (rows.loc[rows["method"].isin(["spike-exact", "stripped-beta-learnt"]), "n_groups"] < 8).all()
    else:
        assert tuple(sorted(rows["method"])) == tuple(sorted(plan.methods))
        bayes = rows["method"].isin(plan.bayes)
        assert np.isfinite(rows[["error", "log_likelihood", "seconds"]]).all(axis=None)
        assert np.isfinite(rows.loc[bayes, ["vi_difference", "n_groups"]]).all(axis=None)
        assert rows.loc[~bayes, "n_groups"].isna().all()
        assert rows["error"].between(0, 0.5).all()
        # All are likelihoods of the same test samples: the loss of an estimate is a small part of it.
        oracle = rows.loc[rows["method"] == "oracle", "log_likelihood"].item()
        assert (rows["log_likelihood"] / oracle).between(0.9, 1.2).all()
        assert rows["data_z"].notna().all() == (experiment == "large-grid")
        assert ("NOT RUN" in out) == (experiment == "tree")  # no trend can be seen at one point
        assert ("88136.3" in out) == (experiment == "small-grid")


def check_murray_ghahramani(experiment, found, out):
    assert len(PAPERS["murray_ghahramani_2004"].experiments.MEASURES[experiment](found)) == len(found)


def check_structure(experiment, found, out):
    assert all(r["seconds"] > 0 for r in found)


def check_evidence(experiment, found, out):
    scores = [row["millinats"] for r in found for row in r.get("rows", ())]
    known = np.array([v for v in scores if v is not None])
    assert len(known) > 0.5 * len(scores)
    assert (known < 0).all()


POINT = ["--points", "100"]
ROWS = {
    "liu_page_2013": Row(
        {**dict.fromkeys(["tree", "small-grid", "large-grid", "no-groups"], POINT),
         "consistency": ["--points", "1000"], "senate": ["--points", "2", "--methods", "mle", "stripped-beta"],
         "structure": ["--points", "1000", "--methods", "spike-exact", "stripped-beta-learnt", "spike-slab", "l1-cv"],
         "structure-senate": ["--points", "2", "--methods", "stripped-beta-learnt"]},
        ["small-grid", *POINT, "--methods", "mle", "oracle", "exact"],
        ("small-grid", ("mle", "oracle", "exact")),
        [
            (["tree", "--methods", "exact"], "--methods must be one of mle, oracle, tree, got 'exact'"),
            (["tree", "--points", "150"], "--points must be one of 100, 400, 1000, got 150"),
        ],
        "error",
        check_liu_page,
    ),
    "murray_ghahramani_2004": Row(
        {},
        ["coverage", "--methods", "reference", "pseudo-posterior"],
        ("coverage", ("reference", "pseudo-posterior")),
        [(["labels", "--methods", "exact"], "--methods must be one of brief, loopy, exchange, at, loopy-zero, got")],
        "mean",
        check_murray_ghahramani,
    ),
    "chen_welling_2012_structure": Row(
        {
            "block": ["--densities", "0.3"],
            "lattice": ["--densities", "0.3"],
            "mnist": ["--methods", "reversible-jump"],
            "calibration": ["--small", "2"],
        },
        ["block", "--methods", "exact", "wainwright-max", "--densities", "0.2"],
        ("calibration", ("exact",)),
        [
            (["lattice", "--methods", "exact"], "--methods must be one of reversible-jump"),
            (["calibration", "--densities", "0.1"], "--densities: calibration learns p0"),
        ],
        "best",
        check_structure,
    ),
    "chen_welling_2012_evidence": Row(
        {},
        ["hidden-units", "--methods", "laplace", "--samples", "100"],
        ("hidden-units", ("laplace", "cross-validation", "ais")),
        [(["hidden-units", "--methods", "bic"], "--methods must be one of laplace")],
        "rows",
        check_evidence,
    ),
}  # fmt: skip
PAPERS = {name: import_module(f"papers.{name}.__main__").PAPER for name in ROWS}
EXPERIMENTS = [(name, experiment) for name, paper in PAPERS.items() for experiment in paper.experiments.FULL]
# A short one of each paper; the others are in the long run.
BRIEFEST = [
    ("liu_page_2013", "consistency"), ("murray_ghahramani_2004", "coverage-complete"),
    ("chen_welling_2012_structure", "lattice"), ("chen_welling_2012_evidence", "hidden-units"),
]  # fmt: skip
END_TO_END = [pytest.param(*e, marks=[] if e in BRIEFEST else [LONG]) for e in EXPERIMENTS]
NEEDS = {"mnist": "mnist.npz", "five-words": "news20_w100.npz", "full": "news20_w100.npz"} | dict.fromkeys(
    ["senate", "structure-senate"], "senate109_votes.csv.gz"
)
WORDS = ("HOLDS", "FAILS", "NOT RUN", "NOT JUDGED")


def command(paper, out, seed, *arguments):
    return PAPERS[paper].main([*arguments, "--quick", "--out", str(out), "--seed", str(seed), "--jobs", "1"])


def records(out, experiment):
    return read(out / "results" / f"{experiment}-quick.jsonl")


def without_time(found):
    """Records without seconds, in which no two runs agree; NaN (a share of nothing) equals itself."""
    if isinstance(found, dict):
        return {k: without_time(v) for k, v in found.items() if k != "seconds"}
    if isinstance(found, list):
        return [without_time(v) for v in found]
    return "NaN" if isinstance(found, float) and math.isnan(found) else found


def needs_data(experiment):
    try:
        if experiment in NEEDS:
            datasets.data_file(NEEDS[experiment])
    except DataError:
        pytest.skip(f"{NEEDS[experiment]} is not here")


@pytest.fixture
def seed(rng):
    return int(rng.integers(2**31))


def test_each_paper_runs_end_to_end():
    assert [paper for paper, _ in BRIEFEST] == list(PAPERS)
    assert {*BRIEFEST} < {*EXPERIMENTS}


@pytest.mark.parametrize(("paper", "experiment"), END_TO_END)
def test_end_to_end(paper, experiment, seed, tmp_path, capsys):
    needs_data(experiment)
    this = PAPERS[paper]
    options = ROWS[paper].brief.get(experiment, [])
    assert command(paper, tmp_path, seed, experiment, "--replicates", "1", *options) == 0
    found = records(tmp_path, experiment)
    plan = this.experiments.QUICK[experiment]
    if not options:
        assert {tuple(r["cell"]) for r in found} == set(plan.cells(1, plan.methods))
    assert len({tuple(r["cell"]) for r in found}) == len(found) > 0
    assert len(this.experiments.MEASURES[experiment](found)) > 0
    out = capsys.readouterr().out
    assert sum(out.count(word) for word in WORDS) == len(this.expected[experiment])
    ROWS[paper].check(experiment, found, out)
    for suffix in this.figures[experiment]:
        path = tmp_path / "figures" / f"{experiment}-quick{suffix}.png"
        assert suffix == "-10-1000" or path.read_bytes().startswith(b"\x89PNG")
    for suffix in this.files(experiment, found):
        assert len(pd.read_csv(tmp_path / "results" / f"{experiment}-quick{suffix}.csv")) > 0
    assert not any((tmp_path / "checkpoints" / f"{experiment}-quick").glob("*"))
    assert command(paper, tmp_path / "none", 0, experiment, "--replicates", "0") == 0
    assert "no records" in capsys.readouterr().out


@pytest.mark.parametrize("paper", few(ROWS, "liu_page_2013", "chen_welling_2012_structure"))
def test_a_killed_run_continues(paper, seed, tmp_path, capsys):
    arguments = [*ROWS[paper].resumed, "--replicates", "2"]
    experiment = arguments[0]
    assert command(paper, tmp_path, seed, *arguments) == 0
    whole = records(tmp_path, experiment)
    file = tmp_path / "results" / f"{experiment}-quick.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-2]) + lines[-1][:60])  # a cell not begun, and one whose line was torn
    assert command(paper, tmp_path, seed, *arguments) == 0
    resumed = records(tmp_path, experiment)
    assert without_time(resumed) == without_time(whole)
    kept = {line for line in lines[1:-2]}
    assert set(file.read_text().splitlines(keepends=True)[1:-2]) == kept  # these were not run again
    file.write_text(lines[0][:20])  # killed while the first line was written
    assert command(paper, tmp_path, seed, *arguments[:-1], "1") == 0
    assert len(records(tmp_path, experiment)) == len(whole) / 2
    # control: another seed is refused, and gives other data elsewhere
    before = file.read_bytes()
    assert command(paper, tmp_path, seed + 1, *arguments) == 2
    assert "other settings" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert command(paper, tmp_path / "other", seed + 1, *arguments) == 0
    assert records(tmp_path / "other", experiment)[0][ROWS[paper].value] != whole[0][ROWS[paper].value]


@pytest.mark.parametrize("paper", few(ROWS, "liu_page_2013"))
def test_results_do_not_depend_on_the_processes(paper, seed, tmp_path):
    experiment, methods = ROWS[paper].processes
    plan, settings = PAPERS[paper].experiments.QUICK[experiment], PAPERS[paper].settings(experiment, seed, quick=True)
    cells = plan.cells(2, methods)
    cells = cells[:: max(1, len(cells) // 6)]

    def found(jobs, cells):
        store = settings.store(tmp_path / f"{jobs}.jsonl", plan)
        run(plan, settings, cells, store, jobs, tmp_path)
        return without_time(store.records())

    one = found(1, cells)
    assert one == found(2, cells[::-1])
    assert len({json.dumps(r) for r in one}) == len(cells)


def test_a_copy_of_the_papers_needs_the_installed_package_alone(tmp_path):
    """Control: without a part of the folder it does not run."""
    shutil.copytree(ROOT / "papers", tmp_path / "papers", ignore=shutil.ignore_patterns("figures", "__pycache__"))
    options = ["no-groups", "--replicates", "0", "--out", "papers/liu_page_2013"]
    words = [sys.executable, "-m", "papers.liu_page_2013", *options]
    shown = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "HOLDS   [ours] It is above the MLE's at n = 1000" in shown
    (tmp_path / "papers" / "findings.py").unlink()
    assert subprocess.run(words, cwd=tmp_path, capture_output=True).returncode == 1


@pytest.mark.parametrize("paper", ROWS)
def test_unknown_options_are_refused(paper, tmp_path, capsys):
    for arguments, message in ROWS[paper].refused:
        assert command(paper, tmp_path, 0, *arguments) == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_missing_data_are_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BAYESMRF_DATA", str(tmp_path))
    assert command("liu_page_2013", tmp_path, 0, "senate") == 2
    assert "senate109_votes.csv.gz is not in" in capsys.readouterr().err


def test_checkpoints_are_removed(tmp_path):
    (tmp_path / "a").mkdir()
    forget(tmp_path / "a")
    assert not (tmp_path / "a").exists()
    forget(tmp_path / "a")


def test_values_are_stored_plain():
    found = plain({"a": np.array([1.23456, np.nan]), "b": (np.int64(3), True, "c")})
    assert found == {"a": [1.235, None], "b": [3, True, "c"]}
    assert plain(-3900845.812679423, None) == -3900845.812679423


@pytest.mark.parametrize(("paper", "experiment"), EXPERIMENTS)
def test_stored_results_are_as_expected(paper, experiment):
    """Settings in the files are those of the plans; what expected.json says to fail does, and nothing else."""
    this = PAPERS[paper]
    path = this.folder / "results" / f"{experiment}.jsonl"
    head = json.loads(path.read_text().splitlines()[0])["settings"]
    assert head == json.loads(json.dumps(this.settings(experiment).describe(this.experiments.FULL[experiment])))
    found = read(path)
    table, axis = this.experiments.MEASURES[experiment](found), this.axes.get(experiment)
    verdicts = [evaluate(finding, table, axis) for finding in this.expected[experiment]]
    assert any(v.holds for v in verdicts)
    for finding, verdict in zip(this.expected[experiment], verdicts, strict=True):
        if verdict.holds is None:
            continue
        assert verdict.holds == finding.get("holds", True), str(verdict)
        # control: with the bound turned round, no verdict at a single point is as expected
        if not axis and not ("above" in finding and "below" in finding):
            bound = {"below": np.nextafter(finding["above"], np.inf)} if "above" in finding else {
                "above": np.nextafter(finding["below"], -np.inf)}  # fmt: skip
            turned = {k: v for k, v in finding.items() if k not in ("above", "below")} | bound
            assert evaluate(turned, table).holds is not verdict.holds
    # control: with the two methods of a comparison exchanged, most verdicts over points are not those expected
    pairs = [finding for finding in this.expected[experiment] if "to" in finding] if axis else []
    exchanged = [evaluate(f | {"of": f["to"], "to": f["of"]}, table, axis).holds for f in pairs]
    assert sum(h is not f.get("holds", True) for h, f in zip(exchanged, pairs, strict=True)) >= 0.6 * len(pairs)


def test_replicates_are_stored_without_gaps():
    for name, experiment in EXPERIMENTS:
        found = {r["cell"][0] for r in read(PAPERS[name].folder / "results" / f"{experiment}.jsonl")}
        assert found == set(range(len(found)))


def verdict(table, axis=None, **finding):
    return evaluate({"finding": "", "source": "", "measure": "x", **finding}, table, axis).holds


def made_up(**values):
    """Rows in which replicate 0 has the values given, at n = 100, 200, ..., and replicate 1 twice those."""
    return pd.DataFrame(
        {"replicate": r, "n": 100 * (i + 1), "method": method, "x": (1 + r) * value}
        for method, given in values.items()
        for i, value in enumerate(given)
        for r in (0, 1)
    )


def test_verdicts_over_points():
    rows = made_up(a=[1.0, 2.0, 3.0, 5.0], b=[2.0, 3.0, 4.0, 5.5])
    ratio, difference = {"kind": "ratio", "of": "a", "to": "b"}, {"kind": "difference", "of": "a", "to": "b"}
    assert verdict(rows, "n", **ratio, below=1) is True
    assert verdict(rows, "n", **ratio, below=0.9) is False  # 5 / 5.5 at one n is enough to fail
    assert verdict(rows, "n", **ratio, below=0.9, at=[100, 200, 300]) is True
    assert verdict(rows, "n", **difference, below=-0.7) is True
    assert verdict(rows, "n", **difference, below=-0.8) is False  # 1.5 (5 - 5.5) = -0.75
    assert verdict(rows, "n", kind="value", of="a", above=1.4, below=7.6) is True
    assert verdict(rows, "n", kind="value", of="a", above=1.4, below=7.4) is False
    assert verdict(rows, "n", kind="trend", of="a", above=0.9) is True
    assert verdict(made_up(a=[5.0, 1.0, 3.0, 2.0]), "n", kind="trend", of="a", above=0.9) is False
    # a grows, but its deficit to b first grows and then shrinks.
    assert verdict(rows, "n", kind="trend", of="a", to="b", above=0.9) is False
    assert verdict(rows, "n", kind="ratio", of="a", to="c", below=1) is None
    assert verdict(rows[rows["n"] == 100], "n", kind="trend", of="a", above=0) is None


def test_verdicts_over_all_rows():
    plain = pd.DataFrame({"x": {"a": 1.0, "b": 2.0}})
    assert verdict(plain, kind="ratio", of="a", to="b", below=0.6) is True
    assert verdict(plain, kind="ratio", of="b", to="a", below=0.6) is False
    assert verdict(plain, kind="difference", of="a", to="b", above=-1.1, below=-0.9) is True
    assert verdict(plain, kind="value", of="a", above=1.0) is False  # strictly
    assert verdict(plain, kind="value", of="c", above=0) is None
    assert verdict(plain, kind="ratio", of="a", to="c", above=0) is None
    cells = pd.DataFrame(
        [(0, 204, "a", 1.0), (0, 204, "b", 2.0), (1, 204, "a", 9.0), (0, 500, "a", 5.0)],
        columns=["replicate", "edges", "method", "x"],
    )
    where = {"where": {"edges": 204}}
    # Over the same systems: the second of a, which b lacks, does not count.
    assert verdict(cells, kind="ratio", of="a", to="b", below=0.6, **where) is True
    assert verdict(cells, kind="value", of="a", above=4.9, below=5.1, **where) is True
    assert verdict(cells, kind="value", of="b", above=0, where={"edges": 500}) is None


def test_methods_are_compared_over_the_same_replicates():
    rows = made_up(a=[1.0], b=[1.1])
    rows = rows[(rows["method"] == "b") | (rows["replicate"] == 1)]  # a lacks the replicate with the small values
    assert verdict(rows, "n", kind="ratio", of="a", to="b", below=1) is True
    unpaired = rows.groupby("method")["x"].mean()
    assert unpaired["a"] > unpaired["b"]  # what a comparison of plain means would say


def test_bounds_of_full_runs_judge_full_runs_only():
    table = pd.DataFrame({"coverage": [0.81]}, index=["metropolis, exact"])
    full = {"finding": "Coverage", "source": "ours", "kind": "value", "measure": "coverage", "of": "metropolis, exact"}
    full |= {"above": 0.93, "below": 0.97}
    assert evaluate(full, table).holds is False
    found = evaluate(full, table, quick=True)
    assert (found.holds, found.numbers) == (None, NOT_JUDGED)
    assert str(found) == "NOT JUDGED [ours] Coverage: quick run"
    quick = full | {"quick": {"above": 0.5}}
    assert evaluate(quick, table, quick=True).holds is True
    assert evaluate(quick, table).holds is False


@pytest.mark.parametrize("paper", ROWS)
def test_every_paper_says_what_its_quick_runs_show(paper):
    own = [finding for found in PAPERS[paper].expected.values() for finding in found]
    assert any(as_judged(finding, quick=True) is None for finding in own)
    assert all(as_judged(finding, quick=False) is finding for finding in own)
    assert all(finding["source"] in ("paper", "ours") for finding in own)
    assert "NOT JUDGED" in (ROOT / "papers" / paper / "README.md").read_text()
    found = PAPERS[paper].experiments
    assert set(found.FULL) == set(found.QUICK) == set(PAPERS[paper].settings.names)
    assert tuple(found.FULL) == PAPERS[paper].settings.names  # places in seeds
