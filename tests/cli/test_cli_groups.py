"""``bayesmrf groups`` where edges may be absent or nodes share fields: runs, reports, resumption, bad input."""

import re
import signal

import numpy as np
import pandas as pd
import pytest

from bayesmrf import GroupedMRF
from bayesmrf.priors import DirichletProcess
from bayesmrf.results import load
from bayesmrf.results.summary import GroupedSummary
from tests.conftest import is_silent
from tests.helpers.commands import one_sentence, stopped_by
from tests.unit.show.test_report import Page

SMALL = ["--n-draws", "40", "--n-warmup", "10", "--n-chains", "2"]
QUICK = {"n_draws": 40, "n_warmup": 10, "n_chains": 2, "progress": False, "random_state": 3}


@pytest.fixture
def linked(votes):
    """The same votes, Bob with Ann in nine of ten."""
    votes["Bob"] = votes["Ann"] ^ (np.arange(60) % 10 == 9)
    votes.to_csv("votes.csv", index=False)
    return votes


def same(path, direct):
    found = load(path)["posterior"]
    assert set(found.variables) == set(direct.posterior_["posterior"].variables)
    for name in ("theta", "groups", "n_groups"):
        np.testing.assert_array_equal(found[name], direct.posterior_["posterior"][name])


def cells(out):
    return [[c.strip() for c in line.strip("│").split("│")] for line in out.splitlines() if line.startswith("│")]


def test_one_run_then_its_report(bayesmrf, linked, folder):
    code, out, err = bayesmrf("groups", "votes.csv", "--candidates", "complete", "--seed", 3, *SMALL)
    assert (code, err) == (0, "")
    tree = load("votes_run")
    s, text = GroupedSummary(tree), " ".join(out.split())
    for wanted in ("60 observations of 5 nodes, 10 candidate edges, with node fields",
                   "Method: exact: Gibbs sampling with exact moments of every edge given the others.",
                   s.n_edges_sentence, s.density_sentence, s.n_groups_sentence, s.verdict.sentence,
                   "bayesmrf report votes_run"):  # fmt: skip
        assert wanted in text
    edges = [
        [
            f"{e.first} – {e.second}",
            f"{e.inclusion:.3f}",
            f"{e.group}",
            f"{e.agreement:.3f}",
            f"{e.lower:.3f} to {e.upper:.3f}",
        ]
        for e in s.strongest.itertuples()
    ]
    assert edges[0][0] == "Ann – Bob"
    assert cells(out)[: len(edges)] == edges
    groups = [
        [f"{g}", f"{r.size}", f"{r.agreement:.3f}"]
        for g, r in zip(s.group_table.index, s.group_table.itertuples(index=False), strict=True)
    ]
    assert [row[:3] for row in cells(out)[len(edges) :]] == groups
    same("votes_run", GroupedMRF(candidates="complete", **QUICK).fit(linked))
    assert bayesmrf("report", "votes_run")[0] == 0
    page = Page((folder / "votes_run.html").read_text())
    assert "Which edges exist" in page.text
    assert "complete" in page.text[page.text.index("Candidate edges") :][:2]
    assert len(page.table("one end")) == 11


def test_candidates_of_a_file_a_density_and_fields_in_groups(bayesmrf, linked, folder):
    pairs = [("Ann", "Bob"), ("Bob", "Cid"), ("Cid", "Dot")]
    pd.DataFrame(pairs).to_csv("edges.csv", index=False, header=False)
    run = ["groups", "votes.csv", "--density", "0.3", "--field-groups", "--seed", 3, *SMALL]
    code, out, err = bayesmrf(*run, "--candidates", "edges.csv", "--out", "a_run")
    assert (code, err) == (0, "")
    s, text = GroupedSummary(load("a_run")), " ".join(out.split())
    assert "3 candidate edges, node fields in groups" in text
    assert "Density 0.300 (fixed)." in text
    assert f"Number of groups of node fields: {s.field_groups_sentence}" in text
    table = s.field_group_table
    shown = [
        [f"{g}", f"{r.size}", f"{r.field:.3f}"] for g, r in zip(table.index, table.itertuples(index=False), strict=True)
    ]
    assert [row[:3] for row in cells(out)[-len(table) :]] == shown
    given = {"prior": DirichletProcess(density=0.3), "fields": "grouped"}
    same("a_run", GroupedMRF(candidates=pairs, **given, **QUICK).fit(linked))
    assert is_silent(bayesmrf(*run, "--graph", "edges.csv", "--out", "b_run", "-q"))
    same("b_run", GroupedMRF(graph=pairs, **given, **QUICK).fit(linked))
    assert is_silent(bayesmrf(*run, "--candidates", "complete", "--out", "c_run", "-q"))
    assert load("c_run")["posterior"].sizes["edge"] == 10  # all pairs


def test_no_likely_edge_is_said(bayesmrf, votes):
    code, out, _ = bayesmrf("groups", "votes.csv", "--candidates", "complete", "--density", "0.001", *SMALL)
    assert code == 0
    assert "No edge has an inclusion above 0.5." in out
    assert cells(out) == []


RUN = ["groups", "votes.csv", "--candidates", "complete", "--field-groups"]
RUN += ["--n-draws", "100", "--n-warmup", "10", "--n-chains", "2", "--out"]


def test_run_that_was_stopped_continues_with_the_same_draws(bayesmrf, linked, folder):
    code, _, _ = stopped_by(signal.SIGKILL, [*RUN, "v_run"], "v_run", folder)
    assert code == -signal.SIGKILL
    one_sentence(bayesmrf(*RUN, "v_run", "--density", "2,2"), "--out: v_run belongs to another run: .*density")
    code, out, err = bayesmrf(*RUN, "v_run")
    assert (code, err) == (0, "")
    assert int(re.search(r"continuing, its chains have at least (\d+) of 100", out)[1]) > 5
    resumed = load("v_run")
    assert bayesmrf(*RUN, "w_run", "--seed", resumed.attrs["seed"])[0] == 0
    for name in ("theta", "included", "field_groups", "density"):
        np.testing.assert_array_equal(resumed["posterior"][name], load("w_run")["posterior"][name])


BAD = {
    "nothing": ([], "--graph must be given unless --candidates is, got None; --candidates complete finds which"),
    "both": (
        ["--graph", "complete", "--candidates", "complete"],
        "--graph must be omitted with --candidates, got 'complete'",
    ),
    "sensitivity": (
        ["--graph", "complete", "--sensitivity"],
        "--sensitivity must be omitted with edges that all exist",
    ),
    "candidates": (["--candidates", "all"], "--candidates: 'all' is neither a file nor complete"),
    "sweeps": (
        ["--graph", "complete", "--method", "auxiliary-variable", "--inner", "exact", "--n-sweeps", "7"],
        "--n-sweeps must be omitted with --inner exact, .*, got 7; remove it",
    ),
    "learn": (["--candidates", "learn:3"], "--candidates: 'learn:3' is neither a file nor complete"),
    "unknown node": (
        ["--candidates", "edges.csv"],
        "--candidates: 'Zoe' in line 2 of edges.csv is not a column",
    ),
    "density": (["--candidates", "complete", "--density", "x"], "--density must be .*, got 'x'"),
    "density three": (["--candidates", "complete", "--density", "1,2,3"], "--density must be .*, got '1,2,3'"),
    "density too large": (["--candidates", "complete", "--density", "1.5"], "--density must be .*, got 1.5"),
    "density zero": (["--candidates", "complete", "--density", "0"], "--density must be .*, got 0.0"),
    "density negative": (["--candidates", "complete", "--density", "5,-1"], "--density must be .*, got '5,-1'"),
    **{
        method: (
            ["--candidates", "complete", "--method", method],
            "--method must be 'exact' or 'particle' for absent edges",
        )
        for method in ("stripped-beta", "auxiliary-variable")
    },
    "fields": (
        ["--graph", "complete", "--field-groups", "--method", "stripped-beta"],
        "--method must be .* for grouped fields",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case, bayesmrf, votes, folder):
    (folder / "edges.csv").write_text("Ann,Bob\nBob,Zoe\n")
    options, message = BAD[case]
    one_sentence(bayesmrf("groups", "votes.csv", *options, "--n-warmup", 5), f"^error: {message}")


def test_too_wide_for_exact(bayesmrf, rng, folder):
    table = pd.DataFrame(np.vstack([np.zeros(45, int), np.ones(45, int), rng.integers(0, 2, (30, 45))])).add_prefix("n")
    table.to_csv("wide.csv", index=False)
    given = bayesmrf("groups", "wide.csv", "--candidates", "complete", "--method", "exact")
    one_sentence(given, "width at least 44", "use --method particle")
