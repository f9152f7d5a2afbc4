"""The command line: whole runs, resumption, and one sentence for everything a user can mend."""

import re
import shutil
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from bayesmrf import GroupedMRF, __version__, demo
from bayesmrf.cli import common
from bayesmrf.errors import StoreError
from bayesmrf.priors import Beta, DirichletProcess, Gamma
from bayesmrf.results import load
from bayesmrf.runs.checkpoint import committed
from tests.conftest import is_silent
from tests.helpers.commands import one_sentence, stopped_by
from tests.long import LONG

SMALL = ["--n-draws", "30", "--n-warmup", "10", "--n-chains", "2"]


def same_draws(a, b):
    assert set(a["posterior"].variables) == set(b["posterior"].variables)
    for name in ("groups", "agreement", "n_groups", "theta"):
        np.testing.assert_array_equal(a["posterior"][name].values, b["posterior"][name].values)


def test_version_and_help(bayesmrf):
    assert bayesmrf("--version") == (0, f"bayesmrf {__version__}\n", "")
    for arguments in (["--help"], [], ["groups", "--help"], ["report", "--help"], ["demo", "--help"]):
        code, out, err = bayesmrf(*arguments)
        assert (code, err) == (0, "")
        assert "Usage: bayesmrf" in out


def test_import_and_help_stay_light():
    heavy = "{'numpy', 'numba', 'scipy', 'pandas', 'xarray', 'sklearn', 'matplotlib', 'networkx'}"
    code = (
        f"import sys, bayesmrf.cli as c; c.run(['--help']); assert not {heavy} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_public_names_are_there():
    import bayesmrf

    assert all(getattr(bayesmrf, name) is not None for name in bayesmrf.__all__)
    assert set(bayesmrf.__all__) <= set(dir(bayesmrf))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        bayesmrf.nothing  # noqa: B018


@pytest.mark.parametrize("header", [True, False])
def test_groups_then_report(header, bayesmrf, votes, folder):
    pairs = [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dot"), ("Dot", "Ann"), ("Ann", "Eve")]
    pd.DataFrame(pairs, columns=["from", "to"]).to_csv("edges.csv", index=False, header=header)
    code, out, err = bayesmrf("groups", "votes.csv", "--graph", "edges.csv", "--method", "exact", "--seed", 3, *SMALL)
    assert (code, err) == (0, "")
    assert ("read as a header" in out) == header
    assert "60 observations of 5 nodes, 5 edges" in out
    assert "Ann" in out
    assert "bayesmrf report votes_run" in out
    tree = load("votes_run")
    np.testing.assert_array_equal(tree["posterior"]["edge"].values, ["-".join(p) for p in pairs])
    assert "--seed 3" in tree.attrs["command"]
    direct = GroupedMRF(graph=pairs, method="exact", n_draws=30, n_warmup=10, n_chains=2, random_state=3).fit(votes)
    same_draws(tree, direct.posterior_)

    code, out, err = bayesmrf("report", "votes_run")
    assert (code, err) == (0, "")
    assert "votes_run.html" in out
    assert "votes.csv: 60 observations" in (folder / "votes_run.html").read_text()
    one_sentence(bayesmrf("report", "votes_run"), "^error: --out: votes_run.html exists already", "--overwrite")
    assert bayesmrf("report", "votes_run", "--overwrite")[0] == 0


def test_numbers_learnt_edges_fields_and_weights(bayesmrf, votes, folder):
    (folder / "edges.csv").write_text("0,1\n4, 2\n")
    assert is_silent(bayesmrf("groups", "votes.csv", "--graph", "edges.csv", "-q", *SMALL))
    np.testing.assert_array_equal(load("votes_run")["constant_data"]["edges"].values, [[0, 1], [4, 2]])

    counts = votes.value_counts().reset_index()
    counts["note"] = "text"
    counts.to_csv("counts.csv.gz", index=False)
    options = [
        "--graph",
        "learn:4",
        "--fields",
        "--method",
        "exact",
        "--alpha",
        "2,4",
        "--base",
        "2,3",
        "--seed",
        1,
        *SMALL,
    ]
    assert bayesmrf("groups", "counts.csv.gz", "--weight", "count", "--drop", "note", *options)[0] == 0
    tree = load("counts_run")
    assert tree["posterior"].sizes["edge"] == 4
    assert tree["posterior"].sizes["feature"] == 9
    assert np.ptp(tree["posterior"]["alpha"].values) > 0
    given = {"method": "exact", "prior": DirichletProcess(Gamma(2.0, 4.0), Beta(2.0, 3.0))}
    size = {"n_draws": 30, "n_warmup": 10, "n_chains": 2, "random_state": 1}
    direct = GroupedMRF(graph="learn:4", **given, **size)
    same_draws(tree, direct.fit(counts[list(votes)], sample_weight=counts["count"]).posterior_)


def test_columns_named_by_numbers_are_names(bayesmrf, votes, folder):
    votes.set_axis(["1", "2", "3", "4", "5"], axis=1).to_csv("n.csv", index=False)
    (folder / "edges.csv").write_text("1,2\n5,1\n")
    assert bayesmrf("groups", "n.csv", "--graph", "edges.csv", *SMALL)[0] == 0
    np.testing.assert_array_equal(load("n_run")["constant_data"]["edges"].values, [[0, 1], [4, 0]])
    (folder / "edges.csv").write_text("0,1\n")
    one_sentence(
        bayesmrf("groups", "n.csv", "--graph", "edges.csv", "--overwrite"), "'0' in line 1 of edges.csv is not a column"
    )


def test_what_out_holds_is_kept_unless_told(bayesmrf, votes, folder):
    run = ["groups", "votes.csv", "--graph", "complete", *SMALL]
    assert bayesmrf(*run, "--seed", 1)[0] == 0
    first = load("votes_run")
    one_sentence(bayesmrf(*run, "--seed", 2), "--out: votes_run holds a finished result", "--overwrite")
    same_draws(load("votes_run"), first)
    assert bayesmrf(*run, "--seed", 2, "--overwrite")[0] == 0
    assert load("votes_run").attrs["seed"] == "2"


def test_constant_column_is_a_warning_of_one_line(bayesmrf, votes):
    votes.assign(Cid=1).to_csv("votes.csv", index=False)
    code, _, err = bayesmrf("groups", "votes.csv", "--graph", "learn:3", "-q", *SMALL)
    assert code == 0
    assert re.fullmatch(
        r"warning: 1 column\(s\) of the data are constant: 'Cid'; .*\n(warning: Not (converged|judged): .*\n)?", err
    )


def spoil(row, column, value):
    def change(table):
        table = table.astype(object)
        table.iloc[row, column] = value
        table.to_csv("votes.csv", index=False)

    return change


BAD_VOTES = {
    "not binary": (
        spoil(3, 1, 7),
        r"votes\.csv must .*: 7 \(1 cell\) lie outside the levels 0 and 1, the first in row 4 below the first line, "
        r"column 'Bob'; give --missing-code 7 if it codes missing values, or",
    ),
    "mixed": (spoil(3, 1, -1), r"votes\.csv must have one coding, but 0/1 and -1/\+1 are mixed .*use one coding"),
    "text": (
        spoil(3, 1, "yes"),
        r"votes\.csv must .* column 'Bob' .* text such as 'yes' in row 4 below .*; give --missing-code yes if it",
    ),
    "no rows": (lambda t: t[:0].to_csv("votes.csv", index=False), r"votes\.csv must be a table with at least one row"),
    "row labels": (lambda t: t.to_csv("votes.csv"), r"votes\.csv: a column has no name .*--drop 'Unnamed: 0'"),
    "no header": (
        lambda t: t.to_csv("votes.csv", index=False, header=False),
        "first line contains values.*add a",
    ),
    "names twice": (
        lambda t: t.set_axis(list("abcda"), axis=1).to_csv("votes.csv", index=False),
        r"votes\.csv: column name 'a' occurs twice .*rename one",
    ),
    "ragged": (
        lambda t: Path("votes.csv").write_text(t.to_csv(index=False) + "1,0,1,0,1,0\n"),
        r"votes\.csv: row 61 below the first line has 6 entries, but the first line names 5",
    ),
    "all too long": (
        lambda t: Path("votes.csv").write_text("a,b\n1,0,1\n0,1,1\n"),
        r"row 1 below the first line has 3 entries, but the first line names 2 columns",
    ),
    "empty": (lambda t: Path("votes.csv").write_text(""), r"votes\.csv: the file is empty; write a header line"),
    "one column": (
        lambda t: t[["Ann"]].to_csv("votes.csv", index=False),
        "must have at least two nodes, got 1 col",
    ),
    "no such file": (lambda t: shutil.move("votes.csv", "v"), r"votes\.csv: this file does not exist; give the path"),
    "not text": (
        lambda t: Path("votes.csv").write_bytes(b"\xff\xfe\x00,\x81"),
        r"votes\.csv: line 1 is not UTF-16 text",
    ),
}


@pytest.mark.parametrize("case", BAD_VOTES)
def test_bad_votes(case, bayesmrf, votes):
    change, message = BAD_VOTES[case]
    change(votes)
    one_sentence(bayesmrf("groups", "votes.csv", "--graph", "complete"), message)


BAD_GRAPHS = {
    "self-loop": ("Ann,Bob\n\nCid,Cid\n", "line 3 of edges.csv joins 'Cid' to itself; remove"),
    "duplicate": ("Ann,Bob\nBob,Ann\n", r"line 2 of edges.csv \('Bob', 'Ann'\) is a duplicate; list each pair once"),
    "out of range": ("0,1\n1,77\n", "node number 77 in line 2 of edges.csv is out of range; .* from 0 to 4"),
    "unknown name": ("Ann,Bob\nAnn,Zoe\n", "'Zoe' in line 2 of edges.csv is not a column .*columns are 'Ann', 'Bob'"),
    "unknown names first": ("Ann,Zoe\nAnn,Bob\n", "'Zoe' in line 1"),
    "names and numbers": ("Ann,Bob\n0,1\n", "'0' in line 2 of edges.csv is not a column"),
    "three columns": ("Ann,Bob,Cid\n", r"edges.csv must have two columns, .*got 3"),
    "one end": ("Ann,Bob\nCid,\n", "line 2 of edges.csv has only one end; write two"),
    "only a header": ("from,to\n", "edges.csv contains no edges; write"),
    "empty": ("", "edges.csv: the file is empty"),
}


@pytest.mark.parametrize("case", BAD_GRAPHS)
def test_bad_graphs(case, bayesmrf, votes, folder):
    text, message = BAD_GRAPHS[case]
    (folder / "edges.csv").write_text(text)
    one_sentence(bayesmrf("groups", "votes.csv", "--graph", "edges.csv"), f"^error: --graph: .*{message}")


BAD_OPTIONS = {
    "graph": (["--graph", "all"], "--graph: 'all' is neither a file, nor complete, nor learn:K"),
    "learn": (["--graph", "learn:x"], "--graph: 'learn:x' is neither"),
    "learn too many": (["--graph", "learn:99"], "--graph learn:K must be at most 10, .* got 99"),
    "learn none": (["--graph", "learn:0"], "--graph must be a graph with at least one edge"),
    "alpha zero": (["--alpha", "0"], "--alpha must be .*, got 0.0"),
    "alpha text": (["--alpha", "x"], "--alpha must be .*, got 'x'"),
    "alpha rate": (["--alpha", "1,-2"], "--alpha must be .*, got '1,-2'"),
    "base": (["--base", "1"], "--base must be .*, got '1'"),
    "base zero": (["--base", "1,0"], "--base must be .*, got '1,0'"),
    "draws": (["--n-draws", "0"], "--n-draws must be .*, got 0"),
    "warmup": (["--n-warmup", "-1"], "--n-warmup must be .*, got -1"),
    "jobs": (["--n-jobs", "0"], "--n-jobs must be .*, got 0"),
    "method": (["--method", "magic"], "--method must be one of .*'stripped-beta', got 'magic'"),
    "tree with loops": (
        ["--method", "tree", "--no-fields"],
        "--method must be .* for a graph with a cycle, got 'tree'",
    ),
    "tree with fields": (["--method", "tree", "--fields"], "--method must be .* for node fields"),
    "weight": (["--weight", "Zoe"], "--weight: there is no column 'Zoe' in votes.csv; its columns are 'Ann'"),
    "weight dropped": (["--weight", "Ann", "--drop", "Ann"], "--weight: column 'Ann' is also named by --drop"),
    "drop": (["--drop", "Zoe"], "--drop: there is no column 'Zoe' in votes.csv"),
    "unknown option": (["--magic"], "No such option.*--magic.*; see bayesmrf groups --help"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options(case, bayesmrf, votes):
    options, message = BAD_OPTIONS[case]
    graph = [] if "--graph" in options else ["--graph", "complete"]
    one_sentence(bayesmrf("groups", "votes.csv", *graph, *options), f"^error: .*{message}")


def test_weights_that_are_no_counts(bayesmrf, votes):
    votes.assign(n=1.5).to_csv("votes.csv", index=False)
    given = bayesmrf("groups", "votes.csv", "--graph", "complete", "--weight", "n")
    one_sentence(
        given, "--weight must contain integers >= 0, .*, got 1.5 in row 1 below the first line and others in 59 more"
    )


def test_graph_too_wide_for_exact(bayesmrf, rng, folder):
    table = pd.DataFrame(np.vstack([np.zeros(45, int), np.ones(45, int), rng.integers(0, 2, (30, 45))])).add_prefix("n")
    table.to_csv("wide.csv", index=False)
    given = bayesmrf("groups", "wide.csv", "--graph", "complete", "--method", "exact")
    one_sentence(given, "width at least 44 .* GiB", "use --method particle, or a graph with fewer")


def test_wrong_commands(bayesmrf):
    one_sentence(bayesmrf("magic"), "No such command 'magic'")
    one_sentence(bayesmrf("groups"), "Missing argument .*; see bayesmrf groups --help")


def test_out_that_is_not_ours(bayesmrf, votes, folder):
    (folder / "file").write_text("mine")
    (folder / "mine_run").mkdir()
    (folder / "mine_run" / "notes").write_text("mine")
    for out, message in {
        "file": "--out: file must be a folder, but is a file; give another path",
        "mine_run": "--out: mine_run is not a store of bayesmrf.* not changed; give another path",
        "file/x": "--out: file/x cannot be written.*give another path",
        "/proc/x_run": "--out: /proc/x_run cannot be written.*give a",
    }.items():
        for overwrite in ([], ["--overwrite"]):
            one_sentence(
                bayesmrf("groups", "votes.csv", "--graph", "complete", *SMALL, "--out", out, *overwrite), message
            )
    assert (folder / "file").read_text() == (folder / "mine_run" / "notes").read_text() == "mine"


def test_report_of_what_is_no_result(bayesmrf, folder):
    one_sentence(bayesmrf("report", "none_run"), "none_run does not exist; give the path")
    (folder / "file").write_text("mine")
    one_sentence(bayesmrf("report", "file"), "file must be a folder, but is a file")


RUN = ["groups", "votes.csv", "--graph", "complete", "--n-draws", "200", "--n-warmup", "10", "--n-chains", "2"]


@pytest.mark.parametrize("how", [pytest.param(signal.SIGKILL, marks=[LONG]), signal.SIGINT])  # test_cli_groups.py
def test_run_that_was_stopped_continues_with_the_same_draws(how, bayesmrf, votes, folder):
    code, _, err = stopped_by(how, RUN, "votes_run", folder)
    if how == signal.SIGINT:
        assert code == 130
        assert re.fullmatch(r"interrupted: stopped; .* kept in votes_run; give the same command again .*\n", err)
    else:
        assert code == -signal.SIGKILL
    one_sentence(bayesmrf("report", "votes_run"), "votes_run contains an unfinished run .* of 200 draws")
    one_sentence(bayesmrf(*RUN, "--alpha", "2"), "--out: votes_run belongs to another run: .*alpha", "or --overwrite")

    cut = committed(shutil.copytree(folder / "votes_run", folder / "cut_run") / "checkpoint" / "chain_0")
    cut.write_bytes(cut.read_bytes()[:100])
    one_sentence(bayesmrf(*RUN, "--out", "cut_run"), r"cut_run.*1-.*\.json is damaged: .*--overwrite")

    code, out, err = bayesmrf(*RUN)
    assert (code, err) == (0, "")
    assert int(re.search(r"continuing, its chains have at least (\d+) of 200 draws", out)[1]) > 20
    resumed = load("votes_run")
    assert bayesmrf(*RUN, "--seed", resumed.attrs["seed"], "--out", "whole_run")[0] == 0
    same_draws(resumed, load("whole_run"))


def test_demo_prints_both_parts_and_writes_its_report(folder, monkeypatch):
    text = StringIO()
    console = Console(file=text, width=100, markup=False, highlight=False)
    small = {"n_samples": 300, "n_draws": (20, 30), "n_chains": 2}
    grid, summary = demo.run_demo(folder / "d.html", 1, console, **small)
    for wanted in ("mean absolute error", "stripped-beta", "exact", "mental work", "90 % interval", "d.html"):
        assert wanted in text.getvalue()
    assert len(set(grid.groups)) == 5
    assert set(grid.agreement) == {"MLE", "stripped-beta", "exact"}
    assert all(a.shape == (24,) and np.abs(a - grid.truth).max() < 0.5 for a in grid.agreement.values())
    assert summary.names == list(demo.RISK_FACTORS.values())
    assert summary.n_edges == 15
    page = (folder / "d.html").read_text()
    assert page.count("<section") == 15
    (folder / "d.html").write_text(page + "<!-- older -->")
    monkeypatch.setattr(demo, "known_grid", lambda *_: grid)
    demo.run_demo(folder / "d.html", 1, console, **small)  # a demonstration's own report may go
    assert "<!-- older -->" not in (folder / "d.html").read_text()
    (folder / "d.html").write_text("mine")
    with pytest.raises(StoreError, match=r"d\.html exists already"):
        demo.run_demo(folder / "d.html", 1, console, **small)
    assert (folder / "d.html").read_text() == "mine"


def test_demo_refuses_before_the_work(bayesmrf, folder):
    one_sentence(bayesmrf("demo", "--out", "none/d.html"), r"out: the folder .*none does not exist; give a path")
    (folder / "d.html").write_text("mine")
    one_sentence(bayesmrf("demo", "--out", "d.html"), r"d\.html exists already; give another path\.\n$")


def test_a_picture_stays_until_the_new_one_is_complete(tmp_path):
    """Before, one cut short was in its place, which the same command then refused as a stranger's."""
    ax = Figure().subplots()
    picture = tmp_path / "a.png"
    common.save_picture(ax, picture)
    before = picture.read_bytes()

    def stopped(path, **_):
        Path(path).write_bytes(before[:9])
        raise KeyboardInterrupt

    ax.figure.savefig = stopped
    with pytest.raises(KeyboardInterrupt):
        common.save_picture(ax, picture)
    assert picture.read_bytes() == before


def test_shells_complete_commands_and_options(bayesmrf, monkeypatch, capsys):
    """Also those of methods, which stand in modules that are read when a command is called."""
    monkeypatch.setenv("_BAYESMRF_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "bayesmrf structure votes.csv --mome")
    monkeypatch.setenv("COMP_CWORD", "3")
    with pytest.raises(SystemExit, match="0"):
        bayesmrf("structure")
    out, err = capsys.readouterr()
    assert (out.split(), err) == (["--moments", "--momentum"], "")


def test_help_pages_have_panels(bayesmrf, monkeypatch):
    """Options of one method stand apart, and a page of 120 columns has at most two screens of 60 lines."""
    monkeypatch.setenv("COLUMNS", "120")
    _, out, _ = bayesmrf("structure", "--help")
    titles = re.findall(r"^╭─ (.+?) ─+╮$", out, re.MULTILINE)
    assert titles[:2] == ["Arguments", "Options"]
    assert {"Options of langevin", "Draws and result"} < set(titles)
    of_langevin = out.split("Options of langevin ─")[1].split("╭─")[0]
    assert "--n-sweeps" in of_langevin
    assert "--n-draws" not in of_langevin
    assert len(out.splitlines()) <= 120
