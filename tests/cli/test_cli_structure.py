"""``bayesmrf structure``: one run and its report, levels made yes/no, resumption, bad input."""

import inspect
import re
import signal
from dataclasses import fields
from html import escape

import numpy as np
import pandas as pd
import pytest

from bayesmrf import SpikeSlabMRF, families
from bayesmrf.answers.sensitivity import compute as sensitivity
from bayesmrf.cli.structure import structure
from bayesmrf.cli.table_options import read_votes
from bayesmrf.data import chosen_model
from bayesmrf.data.chosen_model import ordered_column
from bayesmrf.data.kinds.binarized import to_binary
from bayesmrf.methods import EDGES
from bayesmrf.priors import Cauchy, Gamma, Moment, SpikeSlab
from bayesmrf.results import load
from bayesmrf.results.summary import StructureSummary
from tests.conftest import is_silent
from tests.helpers.commands import one_sentence, stopped_by

SMALL = ["--method", "exact", "--n-draws", "30", "--n-warmup", "10", "--n-chains", "2"]
QUICK = {"method": "exact", "n_draws": 30, "n_warmup": 10, "n_chains": 2, "progress": False}


def same(path, direct):
    found, wanted = load(path), direct.posterior_
    for name in ("theta", "included", "density"):
        group = "posterior" if name in wanted["posterior"] else "constant_data"  # a density that was given
        np.testing.assert_array_equal(found[group][name], wanted[group][name])


@pytest.fixture
def linked(votes):
    """The same votes, Bob with Ann in nine of ten."""
    votes["Bob"] = votes["Ann"] ^ (np.arange(60) % 10 == 9)
    votes.to_csv("votes.csv", index=False)
    return votes


@pytest.fixture
def levels(folder, rng):
    """Answers from 1 to 5, some missing."""
    table = pd.DataFrame(rng.integers(1, 6, (50, 4)), columns=list("abcd")).astype(float)
    table.iloc[0], table.iloc[1] = 1, 5
    table.iloc[2:7, 1] = np.nan
    table.to_csv("answers.csv", index=False)
    return table


def test_one_run_then_its_report(bayesmrf, linked, folder):
    code, out, err = bayesmrf("structure", "votes.csv", "--seed", 3, *SMALL)
    assert (code, err) == (0, "")
    tree = load("votes_run")
    s = StructureSummary(tree)
    text = " ".join(out.split())
    for wanted in ("60 observations of 5 nodes, 10 candidate edges", "Method: exact: ", "exact: only Monte Carlo error",
                   s.n_edges_sentence, s.density_sentence, s.verdict.sentence,
                   "bayesmrf report votes_run"):  # fmt: skip
        assert wanted in text
    shown = [[c.strip() for c in line.strip("│").split("│")] for line in out.splitlines() if line.startswith("│")]
    assert shown[0][0] == "Ann – Bob"
    inclusions = [f"{e.inclusion:.3f}{'†' * (e.inclusion_error > 0.01)}" for e in s.strongest.itertuples()]
    assert [row[:4] for row in shown] == [
        [f"{e.first} – {e.second}", there, f"{e.weight:.3f}{'†' * e.few_draws}", f"{e.lower:.3f} to {e.upper:.3f}"]
        for there, e in zip(inclusions, s.strongest.itertuples(), strict=True)
    ]
    assert [row[5].rstrip("*") for row in shown] == s.strongest["evidence"].tolist()
    same("votes_run", SpikeSlabMRF(random_state=3, **QUICK).fit(linked))
    assert tree.attrs["command"] == "bayesmrf structure votes.csv --seed 3 " + " ".join(SMALL)
    assert bayesmrf("report", "votes_run")[0] == 0
    page = (folder / "votes_run.html").read_text()
    assert "Which edges exist" in page
    assert "votes.csv: 60 observations" in page
    one_sentence(bayesmrf("structure", "votes.csv", *SMALL), "--out: votes_run holds a finished result")


def test_defaults_are_those_of_the_estimator():
    there = inspect.signature(SpikeSlabMRF).parameters
    declared = inspect.signature(structure).parameters.items()
    here = {name: p.default.default for name, p in declared if p.default is not p.empty}
    assert here["method"] == there["method"].default
    names = ("density", "blocks", "slab", "bias_scale", "model")
    assert [here[name] for name in names] == [None, None, None, None, there["model"].default]


def test_a_cauchy_slab(bayesmrf, votes, folder):
    out = bayesmrf("structure", "votes.csv", "--method", "exact", "--slab", "cauchy:1.5", "--seed", 3, *SMALL)[1]
    assert "slab Cauchy(0, 1.5)" in " ".join(out.split())
    assert "slab scale 1.500 (fixed)" in " ".join(out.split())
    same("votes_run", SpikeSlabMRF(prior=SpikeSlab(slab=Cauchy(1.5)), random_state=3, **QUICK).fit(votes))


@pytest.mark.parametrize(
    ("given", "slab", "shown"),
    [
        ("moment:0.5", Moment(0.5), "slab Moment(0.5)"),
        ("cauchy:2,4", Cauchy(Gamma(2, 4)), "slab Cauchy(0, s), s ~ Gamma(2, 4)"),
    ],
)
def test_slabs_that_keep_weak_edges_out_or_learn(bayesmrf, votes, folder, given, slab, shown):
    out = bayesmrf("structure", "votes.csv", "--method", "exact", "--slab", given, "--seed", 3, *SMALL)[1]
    assert shown in " ".join(out.split())
    same("votes_run", SpikeSlabMRF(prior=SpikeSlab(slab=slab), random_state=3, **QUICK).fit(votes))
    assert bayesmrf("report", "votes_run")[0] == 0
    assert escape(shown.removeprefix("slab ")) in " ".join((folder / "votes_run.html").read_text().split())


@pytest.mark.parametrize("model", ["ising", "potts"])
def test_models(model, bayesmrf, levels, votes, folder):
    """Potts models take any levels; the default slab is that of the model, a slab that is given is not scaled."""
    name, table = ("answers", levels) if model == "potts" else ("votes", votes)
    code, out, err = bayesmrf("structure", f"{name}.csv", "--model", model, "--seed", 3, *SMALL)
    assert (code, err) == (0, "")
    scale = SpikeSlabMRF(model=model)._object("prior").slab.scale
    for wanted in (f"model {model}", f"slab Cauchy(0, {scale:g})"):
        assert wanted in " ".join(out.split())
    same(f"{name}_run", SpikeSlabMRF(model=model, random_state=3, **QUICK).fit(table))
    assert bayesmrf("report", f"{name}_run")[0] == 0
    assert families.FAMILIES.row(model).meaning in (folder / f"{name}_run.html").read_text()
    if model == "potts":
        few = ["--method", "reversible-jump", "--moments", "extrapolated", "--overwrite"]
        refused = bayesmrf("structure", "answers.csv", "--model", model, *few)
        one_sentence(
            refused, "--moments must be 'auto' or 'chains' unless there are yes/no columns", "got 'extrapolated'"
        )


# Options that some methods know: flag, value, what is said of it.
OWN = {
    "n_particles": ("--n-particles", 128, "simulated states 128"),
    "moments": ("--moments", "chains", "moments chains"),
    "n_sweeps": ("--n-sweeps", 2, "Gibbs sweeps 2"),
    "epsilon": ("--epsilon", 0.02, "step epsilon 0.02"),
    "momentum": ("--momentum", 0.4, "share of momentum kept 0.4"),
    "width": ("--width", 0.05, "width of jumps 0.05"),
    "n_iterations": ("--n-iterations", 15, "iterations in a step 15"),
}


@pytest.mark.parametrize("method", EDGES.names)
def test_options_reach_the_estimator(method, bayesmrf, votes, folder):
    pd.DataFrame([("Ann", "Bob"), ("Bob", "Eve"), ("Cid", "Eve")]).to_csv("edges.csv", index=False, header=False)
    counts = votes.value_counts().reset_index().assign(note="text")
    counts.to_csv("counts.csv.gz", index=False)
    given = ["--candidates", "edges.csv", "--method", method, "--weight", "count", "--drop", "note", "--seed", 1]
    given += ["--density", 0.3, "--slab", "2,3", "--bias-scale", 4, "--thin", 2]
    options = {"prior": SpikeSlab(0.3, Gamma(2, 3), 4.0), "thin": 2, "random_state": 1}
    known, own = {f.name for f in fields(EDGES.row(method).options)}, {}
    for name, (flag, value, _) in OWN.items():
        if name in known:
            given, own = [*given, flag, value], own | {name: value}
    if "boltzmann" not in EDGES.row(method).supports["spike"]:
        given, options = [*given, "--model", "potts"], options | {"model": "potts"}
    sizes = ["--n-draws", 30, "--n-warmup", 10, "--n-chains", 2]
    assert is_silent(bayesmrf("structure", "counts.csv.gz", *given, "-q", *sizes))
    direct = SpikeSlabMRF([(0, 1), (1, 4), (2, 4)], **QUICK | options | {"method": EDGES.build(method, own)})
    same("counts_run", direct.fit(counts[list(votes)], sample_weight=counts["count"]))
    text = " ".join(bayesmrf("structure", "counts.csv.gz", *given, "--overwrite", *sizes)[1].split())
    assert "3 candidate edges" in text
    assert "prior of the density 0.3, fixed; prior of the slab's precision Gamma(2, 3); scale of the biases 4" in text
    for name, (_, _, said) in OWN.items():
        assert (f"; {said}" in text) == (name in known)
    assert "Density 0.300 (fixed)" in text


def test_long_lists_are_cut_and_the_rest_is_counted(bayesmrf, rng, folder):
    one = rng.random((300, 1)) < 0.5
    table = pd.DataFrame(one ^ (rng.random((300, 8)) < 0.3)).astype(int).add_prefix("n")
    table.to_csv("t.csv", index=False)
    code, out, _ = bayesmrf("structure", "t.csv", "--density", 0.95, *SMALL)
    assert code == 0
    likely = StructureSummary(load("t_run")).strongest
    cells = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
    listed = [cell for cell in cells if cell]  # a word of evidence may take a second line
    assert len(likely) > 21
    assert listed == [f"{e.first} – {e.second}" for e in likely.iloc[:20].itertuples()]
    assert f"Not listed: {len(likely) - 20} weaker edges" in out


def test_no_edge_is_likely(bayesmrf, votes):
    code, out, _ = bayesmrf("structure", "votes.csv", "--density", 0.001, *SMALL)
    assert code == 0
    assert "No edge has an inclusion above 0.5." in out
    assert bayesmrf("report", "votes_run")[0] == 0


# ---- ordered levels


@pytest.mark.parametrize(
    ("rule", "yes"),
    [(">=4", {4, 5}), (" > 2 ", {3, 4, 5}), ("<=1", {1}), ("<3", {1, 2}), ("==5", {5}), (">=3.5", {4, 5})],
)
def test_rules(rule, yes, levels, folder):
    found = to_binary(folder / "answers.csv", levels, rule)
    wanted = levels.isin(yes).astype(float).mask(levels.isna())
    pd.testing.assert_frame_equal(found, wanted)
    whole = to_binary(folder / "answers.csv", levels.dropna().astype(int), rule)
    pd.testing.assert_frame_equal(whole, wanted.dropna().astype(np.int8))


@pytest.mark.parametrize("gap", ["", "0"])
def test_columns_that_are_partly_text_keep_their_place(gap, levels, tmp_path):
    """Booleans with a missing value, and booleans among numbers, are not read as numbers."""
    table = levels.assign(yes=(levels["a"] > 3).astype(object))
    table.loc[table.index[1], "yes"] = gap
    table.to_csv(tmp_path / "mixed.csv", index=False)
    table, _, _ = read_votes(tmp_path / "mixed.csv")
    found = to_binary(tmp_path, table, "<1")
    assert list(found) == [*levels, "yes"]
    wanted = (levels["a"] <= 3).astype(float).mask(table["yes"].isna())
    wanted.iloc[1] = np.nan if gap == "" else 1
    np.testing.assert_array_equal(found["yes"], wanted)


def test_yes_no_data_need_no_rule(folder, votes):
    for table in (votes, votes.astype(bool), 2 * votes - 1, votes.astype(float).where(votes == 1)):
        assert to_binary(folder, table, None) is table
    texts = votes.astype(str)
    texts.iloc[::2, 0] = texts.iloc[::2, 0].map({"0": "FALSE", "1": "true"})
    assert (to_binary(folder, texts, None) == votes).all(axis=None)


def test_levels_are_asked_for_and_then_used(bayesmrf, levels, folder):
    (levels.dropna() - 3).to_csv("answers.csv", index=False)
    given = bayesmrf("structure", "answers.csv", *SMALL)
    one_sentence(
        given, r"answers\.csv: the table has the levels -2, -1, 0, 1, 2 \(column 'a' is the first", r'--binarize ">=1"'
    )
    assert not (folder / "answers_run").exists()
    levels.dropna().to_csv("answers.csv", index=False)
    code, out, err = bayesmrf("structure", "answers.csv", "--binarize", ">=4", "--seed", 2, *SMALL)
    assert (code, err) == (0, "")
    assert "; levels >=4 count as yes" in " ".join(out.split())
    same("answers_run", SpikeSlabMRF(random_state=2, **QUICK).fit((levels.dropna() >= 4).astype(int)))
    assert "--binarize '>=4'" in load("answers_run").attrs["command"]


def test_ordered_levels_choose_the_model_and_it_is_said(bayesmrf, levels, folder):
    code, out, err = bayesmrf("structure", "answers.csv", "--seed", 2, *SMALL)
    assert (code, err) == (0, "")
    assert "The model is ordinal, as column 'a' has more than two ordered levels." in out
    assert "model ordinal (chosen by the ordered levels)" in " ".join(out.split())
    same("answers_run", SpikeSlabMRF(model="ordinal", random_state=2, **QUICK).fit(levels))
    assert bayesmrf("report", "answers_run")[0] == 0
    assert "model ordinal (chosen by the ordered levels)" in (folder / "answers_run.html").read_text()


def test_the_model_is_chosen_once_and_what_is_noticed_then_is_kept(bayesmrf, folder, rng, monkeypatch):
    table, calls = pd.DataFrame(rng.integers(1, 3, (100, 3)), columns=list("abc")), []
    table.loc[3, "b"] = 3
    table.to_csv("answers.csv", index=False)
    monkeypatch.setattr(chosen_model, "ordered_column", lambda X: calls.append(X) or ordered_column(X))
    code, out, err = bayesmrf("structure", "answers.csv", "--seed", 2, *SMALL)
    assert (code, len(calls), out.count("The model is ordinal, as column 'b'")) == (0, 1, 1)
    said = "--model auto is ordinal only because column 'b' has the value 3 in 1 of 100 rows"
    assert err.count(said) == 1
    assert said in load("answers_run").attrs["findings"]


def test_missing_values(bayesmrf, levels, folder):
    code, out, err = bayesmrf("structure", "answers.csv", "--binarize", ">=4", "--seed", 2, *SMALL)
    assert (code, err) == (0, "")
    assert "levels >=4 count as yes; 5 missing values" in " ".join(out.split())
    assert "5 missing values, with probability: row 3 b=1 " in out
    direct = SpikeSlabMRF(random_state=2, **QUICK).fit((levels >= 4).astype(float).mask(levels.isna()))
    same("answers_run", direct)
    found = StructureSummary(load("answers_run")).missing_table
    pd.testing.assert_frame_equal(found.drop(columns="state"), direct.missing_, check_dtype=False)
    assert bayesmrf("report", "answers_run")[0] == 0
    assert "5 values were missing" in (folder / "answers_run.html").read_text()
    levels.assign(b=np.nan).to_csv("answers.csv", index=False)
    given = bayesmrf("structure", "answers.csv", "--binarize", ">=4", "--out", "x_run", *SMALL)
    one_sentence(given, r"answers\.csv must have observed values .* in 1 column\(s\): 'b'; drop them")


def test_real_answers(bayesmrf, data_folder, folder):
    small = ["--n-draws", 10, "--n-warmup", 5, "--n-chains", 1]
    code, out, err = bayesmrf("structure", data_folder / "wenchuan.csv", "--binarize", ">=4", *small)
    assert (code, err) == (0, "")
    said = "362 observations of 17 nodes, 136 candidate edges, model boltzmann; levels >=4 count as yes; 22 missing"
    assert said in " ".join(out.split())
    assert bayesmrf("structure", data_folder / "adhd.csv", "--drop", "group", *small)[0] == 0
    assert load("adhd_run")["posterior"].sizes["edge"] == 153


LEVELS = {
    "no rule": (
        ["--binarize", "4"],
        r"--binarize must be a comparison with a number, got '4'; give a rule such as \">=4\"",
    ),
    "unknown sign": (["--binarize", "=>4"], "--binarize must be a comparison with a number, got '=>4'"),
    "two rules": (["--binarize", ">=4,<2"], "--binarize must be a comparison with a number, got '>=4,<2'"),
    "all on one side": (
        ["--binarize", ">=9"],
        r"--binarize must divide the levels \(1, 2, 3, 4, 5\), got '>=9', which puts all of them on",
    ),
    "two levels": (
        ["--drop", "a", "--drop", "b", "--drop", "c", "--drop", "d"],
        r"the table has the levels 1, 2 \(column 'e' is the first with others than 0/1, -1/\+1 or true/false\); "
        r"keep them with --model ordinal.*\">=2\"",
    ),
    "no rule divides all": (
        ["--model", "boltzmann"],
        r"others than 0/1, -1/\+1 or true/false\); keep them with --model ordinal$",  # none makes 'yes' constant
    ),
    "infinite": (["--binarize", ">=4"], "answers.csv: the table has infinite values; give --missing-code inf"),
    "huge": (["--binarize", ">=4"], "column 'e' contains text such as '9999.*; recode it as numbers, or drop"),
    "few texts": (
        ["--binarize", ">=4"],
        "text such as 'refused' in row 4 .*; give --missing-code refused if it me",
    ),
    "no numbers": (
        ["--binarize", ">=4"],
        "answers.csv must .*: one word only: 'e' .often.; leave out with --drop e",
    ),
}


@pytest.mark.parametrize("case", LEVELS)
def test_bad_levels(case, bayesmrf, levels):
    options, message = LEVELS[case]
    few = pd.Series(1, index=levels.index).astype(object).where(levels.index != 3, "x")
    extra = {"two levels": {"e": 1 + levels.index % 2, "f": 1 + levels.index // 25}, "no numbers": {"e": "often"}}
    for name, other in (("few texts", "refused"), ("infinite", np.inf), ("huge", "9" * 400)):
        extra[name] = {"e": [other if value == "x" else value for value in few]}
    extra["no rule divides all"] = {"yes": levels.index % 2}
    levels.assign(**extra.get(case, {})).to_csv("answers.csv", index=False)
    one_sentence(bayesmrf("structure", "answers.csv", *options), f"^error: .*{message}")


def test_any_levels_are_answers_if_it_is_said(bayesmrf, levels):
    levels.replace(5, 99).to_csv("answers.csv", index=False)
    given = ["answers.csv", "--model", "potts", "--n-draws", 5, "--n-warmup", 5, "--n-chains", 1, "--n-jobs", 1]
    for name, *more in (("structure",), ("groups", "--graph", "complete"), ("posterior",)):
        one_sentence(bayesmrf(name, *given, *more), "or --missing-code none if all values are answers")
        code, _, err = bayesmrf(name, *given, *more, "--missing-code", "none", "--out", f"{name}_run")
        assert code == 0, err


# ---- a run that was stopped

RUN = ["structure", "votes.csv", "--method", "exact", "--n-draws", "70", "--n-warmup", "5", "--n-chains", "2", "--out"]


def test_run_that_was_killed_continues_with_the_same_draws(bayesmrf, votes, folder):
    assert stopped_by(signal.SIGKILL, [*RUN, "v_run"], "v_run", folder, after=15)[0] == -signal.SIGKILL
    one_sentence(bayesmrf(*RUN, "v_run", "--slab", "2,2"), "--out: v_run belongs to another run: .*prior")
    one_sentence(bayesmrf("report", "v_run"), r"v_run contains an unfinished run")
    code, out, err = bayesmrf(*RUN, "v_run")
    assert (code, err) == (0, "")
    assert int(re.search(r"continuing, its chains have at least (\d+) of 70", out)[1]) > 5
    assert bayesmrf(*RUN, "w_run", "--seed", load("v_run").attrs["seed"])[0] == 0
    for name in ("theta", "included"):
        np.testing.assert_array_equal(load("v_run")["posterior"][name], load("w_run")["posterior"][name])


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")
def test_sensitivity_is_stored_with_the_run_and_continues(bayesmrf, linked, folder, monkeypatch):
    command = ["structure", "votes.csv", "--seed", 3, *SMALL, "--sensitivity"]
    begun, under = [], sensitivity._run

    def stops(result, path, k, *more):
        begun.append((path.name, k))
        if len(begun) == 3:
            raise KeyboardInterrupt
        return under(result, path, k, *more)

    with monkeypatch.context() as stopping:
        stopping.setattr(sensitivity, "_run", stops)
        code, _, err = bayesmrf(*command)
    assert code == 130
    assert "all draws are kept in votes_run; give the same command again to continue" in err
    assert len(list((folder / "votes_run" / "sensitivity.partial").iterdir())) == 2
    one_sentence(bayesmrf("report", "votes_run"), r"an unfinished run \(all chains have their draws")
    code, out, _ = bayesmrf(*command)
    assert code == 0
    assert "A run under another prior: scale 2" in out
    assert "Sensitivity to the prior" in out
    assert not (folder / "votes_run" / "sensitivity.partial").exists()
    direct = SpikeSlabMRF(random_state=3, **QUICK).fit(linked)
    direct.sensitivity(linked)
    tree = load("votes_run")
    np.testing.assert_array_equal(tree["sensitivity"]["inclusion"], direct.posterior_["sensitivity"]["inclusion"])
    same("votes_run", direct)
    assert bayesmrf("report", "votes_run")[0] == 0
    assert "Sensitivity to the prior" in (folder / "votes_run.html").read_text()


# ---- bad input

BAD = {
    "method": (
        ["--method", "magic"],
        "--method must be one of 'reversible-jump', 'exact', 'langevin', got 'magic'",
    ),
    "candidates": (["--candidates", "all"], "--candidates: 'all' is neither a file nor complete"),
    "learn": (["--candidates", "learn:3"], "--candidates: 'learn:3' is neither a file nor complete"),
    "unknown node": (["--candidates", "edges.csv"], "--candidates: 'Zoe' in line 2 of edges.csv is not a column"),
    "density": (["--density", "x"], "--density must be .*, got 'x'"),
    "density too large": (["--density", "1.5"], "--density must be .*, got 1.5"),
    "density zero": (["--density", "0"], "--density must be .*, got 0.0"),
    "density negative": (["--density", "5,-1"], "--density must be .*, got '5,-1'"),
    "slab": (["--slab", "3"], '--slab must be "cauchy:SCALE", .*, got \'3\'; an example is "cauchy:2.5"'),
    "slab negative": (["--slab", "3,-1"], "--slab must be .*, got '3,-1'"),
    "slab infinite": (["--slab", "cauchy:inf"], "--slab must be .*, got 'cauchy:inf'"),
    "bias scale": (["--bias-scale", "-1"], "--bias-scale must be .*, got -1.0"),
    "not of exact": (["--method", "exact", "--epsilon", "0.1"], "--epsilon must be omitted with --method exact"),
    "not of reversible-jump": (
        ["--method", "reversible-jump", "--width", "1"],
        "--width must be omitted with --method reversible-jump, got 1.0; methods with this option: langevin",
    ),
    "iterations": (["--method", "langevin", "--n-iterations", "0"], "--n-iterations must be .*, got 0"),
    "particles": (["--method", "langevin", "--n-particles", "1"], "--n-particles must be .*, got 1"),
    "momentum": (["--method", "langevin", "--momentum", "1"], "--momentum must be .*, got 1.0"),
    "diverges": (["--method", "langevin", "--epsilon", "1e9"], "--epsilon must be smaller, as a weight exceeded 1000"),
    "draws": (["--n-draws", "0"], "--n-draws must be .*, got 0"),
    "weight": (["--weight", "Zoe"], "--weight: there is no column 'Zoe'"),
    "one node": ([x for n in ("Bob", "Cid", "Dot", "Eve") for x in ("--drop", n)], "at least two nodes, got 1 column"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case, bayesmrf, votes, folder):
    (folder / "edges.csv").write_text("Ann,Bob\nBob,Zoe\n")
    options, message = BAD[case]
    one_sentence(bayesmrf("structure", "votes.csv", *options, "--n-warmup", 5), f"^error: .*{message}")


def test_too_wide_for_exact(bayesmrf, rng, folder):
    table = pd.DataFrame(np.vstack([np.zeros(45, int), np.ones(45, int), rng.integers(0, 2, (30, 45))])).add_prefix("n")
    table.to_csv("wide.csv", index=False)
    one_sentence(
        bayesmrf("structure", "wide.csv", "--method", "exact"), "width at least 44", "use --method reversible-jump"
    )


def test_a_constant_column_is_said(bayesmrf, votes):
    votes.assign(Cid=1).to_csv("votes.csv", index=False)
    code, _, err = bayesmrf("structure", "votes.csv", *SMALL)
    assert code == 0
    assert re.fullmatch(r"warning: 1 column\(s\) of the data are constant: 'Cid'; .*\n", err)
