"""``bayesmrf posterior``: one run, resumption, missing values, bad input."""

import re
import signal
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, datasets, graphs
from bayesmrf.base import LOG_Z, MOMENTS, SAMPLE
from bayesmrf.cli.posterior import _engine
from bayesmrf.errors import ConvergenceWarning, OptionError, TooWideError
from bayesmrf.estimators.engines import suitable_engine
from bayesmrf.inference.chains import FromExact, Persistent
from bayesmrf.inference.registry import engines_that_answer, engines_to_propose
from bayesmrf.models.boltzmann import Boltzmann
from bayesmrf.models.potts import Potts
from bayesmrf.results import load
from bayesmrf.results.summary import ParameterSummary
from bayesmrf.samplers.gibbs import Gibbs
from tests.conftest import is_silent
from tests.helpers.commands import one_sentence, stopped_by
from tests.helpers.flat import bayesian

SMALL = ["--n-draws", "30", "--n-warmup", "10", "--n-chains", "2"]
QUICK = {"n_draws": 30, "n_warmup": 10, "n_chains": 2, "progress": False}


def theta_of(path):
    return load(path)["posterior"]["theta"].values


def test_one_run_then_its_report(bayesmrf, votes, folder):
    code, out, err = bayesmrf("posterior", "votes.csv", "--seed", 3, *SMALL)
    assert (code, err) == (0, "")
    for wanted in (
        "60 observations of 5 nodes, 10 edges, model boltzmann",
        "gibbs, with elimination",
        "exact: only Monte Carlo error remains",
        "Ann – Bob",
        "weight",
        "bias",
        "bayesmrf report votes_run",
    ):
        assert wanted in " ".join(out.split())
    tree = load("votes_run")
    direct = bayesian(random_state=3, **QUICK).fit(votes)
    np.testing.assert_array_equal(tree["posterior"]["theta"], direct.posterior_["posterior"]["theta"])
    assert tree.attrs["command"] == "bayesmrf posterior votes.csv --seed 3 " + " ".join(SMALL)
    table = ParameterSummary(tree).table
    marked = {line.split("│")[1].strip(): "yes" in line.split("│")[3] for line in out.splitlines() if "│" in line}
    assert marked == dict(zip(table["label"], table["clear"], strict=True))
    assert bayesmrf("report", "votes_run")[0] == 0
    assert "votes.csv: 60 observations" in (folder / "votes_run.html").read_text()
    one_sentence(bayesmrf("posterior", "votes.csv", *SMALL), "--out: votes_run holds a finished result")


def test_the_command_of_the_documents_on_real_data(bayesmrf, folder):
    datasets.coronary().to_csv("coronary.csv", index=False)
    given = ["--weight", "count", "--kernel", "metropolis", "--engine", "bethe", "--n-draws", "30", "--n-warmup", "5"]
    code, out, err = bayesmrf("posterior", "coronary.csv", *given)
    assert (code, err) == (0, "")
    assert "1,841 observations of 6 nodes, 15 edges" in out
    assert "approximate (bethe" in out
    assert load("coronary_run")["posterior"].sizes == {"chain": 4, "draw": 30, "feature": 21}


def test_options_reach_the_estimator(bayesmrf, votes, folder):
    pd.DataFrame([("Ann", "Bob"), ("Bob", "Eve")]).to_csv("edges.csv", index=False, header=False)
    counts = votes.value_counts().reset_index().assign(note="text")
    counts.to_csv("counts.csv.gz", index=False)
    given = ["--graph", "edges.csv", "--model", "ising", "--weight", "count", "--drop", "note", "--seed", 1]
    given += ["--kernel", "langevin", "--engine", "persistent", "--epsilon", 0.3, "--momentum", 0.5, "--precondition"]
    given += ["--n-sweeps", 2, "--n-particles", 64, "--prior-scale", 0.7, "--bias-scale", 2, "--thin", 2]
    assert is_silent(bayesmrf("posterior", "counts.csv.gz", *given, "-q", *SMALL))
    options = {"kernel": "langevin", "engine": Persistent(n_chains=64, n_sweeps=2), "epsilon": 0.3, "momentum": 0.5}
    options |= {"precondition": True, "prior_scale": 0.7, "bias_scale": 2.0, "thin": 2, "random_state": 1}
    direct = bayesian([(0, 1), (1, 4)], model="ising", **options, **QUICK)
    direct.fit(counts[list(votes)], sample_weight=counts["count"])
    np.testing.assert_array_equal(theta_of("counts_run"), direct.posterior_["posterior"]["theta"])
    text = " ".join(bayesmrf("posterior", "counts.csv.gz", *given, "--overwrite", *SMALL)[1].split())
    assert "prior normal, scale 0.7 (coupling) and 2 (field); step epsilon 0.3; share of momentum kept 0.5" in text
    assert "preconditioned yes; particles 64; Gibbs sweeps 2." in text


def test_ties(bayesmrf, votes, folder):
    pd.DataFrame([("Ann", "Bob"), ("Bob", "Eve"), ("Ann", "Eve")]).to_csv("edges.csv", index=False, header=False)
    Path("labels.csv").write_text("from,to,label\nBob,Ann,x\nBob,Eve,x\n")
    Path("named.csv").write_text("Ann-Bob,x\nBob-Eve,x\nAnn,y\nEve,y\n")
    run = ["posterior", "votes.csv", "--graph", "edges.csv", "--model", "ising", "--seed", 1, *SMALL]
    others = [c for c in votes.columns if c not in ("Ann", "Eve")]
    for given, names in [
        ("all", ["edges", "nodes"]),
        ("edges", ["edges", *votes.columns]),
        ("labels.csv", ["edges x", "Ann-Eve", *votes.columns]),
        ("named.csv", ["edges x", "Ann-Eve", "nodes y", *others]),
    ]:
        code, out, err = bayesmrf(*run, "--ties", given, "--out", f"{given}_run")
        assert (code, err) == (0, "")
        tree = load(f"{given}_run")
        assert sorted(tree["posterior"]["parameter"].values) == sorted(names)
        assert names[0] in out
    assert bayesmrf("report", "labels.csv_run")[0] == 0
    Path("bad.csv").write_text("Ann,Zoe,x\n")
    one_sentence(bayesmrf(*run, "--ties", "bad.csv"), r"--ties must be labels by the names of edges .*, got .*Zoe")
    for text, words in (
        ("Ann,Bob,x\nBob,Ann,y\n", "line 2 of bad.csv names Ann - Bob again; list each once"),
        (
            "Ann-Bob,x\nBob-Ann,x\n",
            "--ties must be one label for each edge, got 'Bob-Ann'; an edge has no direction",
        ),
    ):
        Path("bad.csv").write_text(text)
        one_sentence(bayesmrf(*run, "--ties", "bad.csv"), words)


def test_a_graph_is_learnt_as_the_estimator_learns_it(bayesmrf, votes):
    votes.assign(Cid=1).to_csv("votes.csv", index=False)
    code, _, err = bayesmrf("posterior", "votes.csv", "--graph", "learn:3", "--seed", 2, *SMALL)
    assert code == 0
    assert re.fullmatch(r"warning: 1 column\(s\) of the data are constant: 'Cid'; .*\n", err)
    with pytest.warns(UserWarning, match="are constant"):
        direct = bayesian(graph="learn:3", random_state=2, **QUICK).fit(votes.assign(Cid=1))
    np.testing.assert_array_equal(theta_of("votes_run"), direct.posterior_["posterior"]["theta"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--hidden-engine", "bethe"], "--hidden-engine must be omitted, as no value is missing, got 'bethe'"),
        (
            ["--kernel", "pseudo-posterior", "--engine", "exact"],
            "--engine must be omitted with --kernel pseudo-posterior, .*, got 'elimination'; remove it",
        ),
    ],
)
def test_engines_that_nothing_would_use_are_refused(given, message, bayesmrf, votes, folder):
    one_sentence(bayesmrf("posterior", "votes.csv", *given), message)
    assert {p.name for p in folder.iterdir()} == {"votes.csv"}


def test_every_kernel_runs_with_the_engine_that_belongs_to_it(bayesmrf, votes):
    own = {
        "auto": ("elimination", "persistent"),
        "metropolis": ("elimination", "exact"),
        "gibbs": ("elimination", "exact"),
        "langevin": ("elimination", "persistent"),
        "exchange": ("elimination", "gibbs"),
        "auxiliary-variable": ("elimination", "gibbs"),
        "pseudo-posterior": ("pseudo-likelihood", "pseudo-likelihood"),
    }
    for kernel, (narrow, wide) in own.items():
        given = ["--kernel", kernel, "--out", f"{kernel}_run", "--n-draws", 3, "--n-warmup", 0, "--n-chains", 1]
        assert bayesmrf("posterior", "votes.csv", *given)[0] == 0
        assert load(f"{kernel}_run").attrs["engine"] == narrow
        assert suitable_engine(kernel, Boltzmann(graphs.complete(45))) == wide


@pytest.mark.parametrize("kernel", ["auto", "langevin", "exchange"])
def test_python_and_the_shell_choose_the_same_engine_on_a_wide_graph(kernel, bayesmrf, rng, folder):
    """Where exact inference is too expensive, and approximations of log Z are off by posterior standard deviations."""
    table = pd.DataFrame(rng.integers(0, 2, (60, 36))).add_prefix("n")
    table.to_csv("wide.csv", index=False)
    edges = graphs.complete(26).edges  # a clique is too wide, and a path of ten nodes leads to it
    edges = np.vstack([edges, np.stack([np.arange(25, 35), np.arange(26, 36)], axis=1)])
    named = [(f"n{u}", f"n{v}") for u, v in edges]
    pd.DataFrame(named).to_csv("edges.csv", index=False, header=False)
    given = ["--n-draws", 4, "--n-warmup", 2, "--n-chains", 1, "--seed", 1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        direct = BayesianMRF(
            named, "boltzmann", kernel=kernel, n_draws=4, n_warmup=2, n_chains=1, random_state=1, progress=False
        ).fit(table)
    assert bayesmrf("posterior", "wide.csv", "--graph", "edges.csv", "--kernel", kernel, *given)[0] == 0
    found = load("wide_run")
    np.testing.assert_array_equal(found["posterior"]["theta"], direct.posterior_["posterior"]["theta"])
    engine = "gibbs" if kernel == "exchange" else "persistent"
    assert found.attrs["engine"] == direct.posterior_.attrs["engine"] == engine
    assert direct.kernel_ == ("langevin" if kernel == "auto" else kernel)
    assert direct.posterior_.attrs["kind"].startswith("approximate (")


def test_remedies_name_no_engine_that_is_off(rng):
    wide, narrow = Boltzmann(graphs.complete(40)), Boltzmann(graphs.complete(6))
    off = {"mean-field", "tree", "bethe", "pseudo-likelihood"}
    assert engines_to_propose({LOG_Z}, narrow) == ["enumeration", "elimination"]
    assert engines_to_propose({LOG_Z}, wide) == []
    for needs in (set(), {MOMENTS}, {SAMPLE}):
        assert not off & set(engines_to_propose(needs, wide))
        assert not {"enumeration", "elimination"} & set(engines_to_propose(needs, wide))
    assert off < set(engines_that_answer((), wide))  # control
    X = rng.integers(0, 2, (20, 40))
    quick = {"model": "boltzmann", "n_draws": 2, "progress": False}
    for kernel, engine, error in (
        ("hamiltonian", "exact", TooWideError),
        ("metropolis", "auto", TooWideError),
        ("auto", "exact", TooWideError),
        ("hamiltonian", "persistent", OptionError),
        ("exchange", "persistent", OptionError),
    ):
        with pytest.raises(error) as refused:
            BayesianMRF(kernel=kernel, engine=engine, **quick).check(X)
        remedy = str(refused.value).partition("; ")[2]
        assert remedy
        assert not any(name in remedy for name in off)


def test_flags_of_engines():
    assert _engine("gibbs", {}) == "gibbs"
    assert _engine("gibbs", {"n_sweeps": 3}) == Gibbs(n_sweeps=3)
    assert _engine("persistent", {"n_sweeps": 3, "n_particles": 9}) == Persistent(n_chains=9, n_sweeps=3)
    assert _engine("from-exact", {"n_particles": 9}) == FromExact(n_samples=9)


RUN = ["posterior", "votes.csv", "--n-draws", "70", "--n-warmup", "5", "--n-chains", "2", "--out"]


def test_run_that_was_stopped_continues_with_the_same_draws(bayesmrf, votes, folder):
    code, _, err = stopped_by(signal.SIGINT, [*RUN, "v_run"], "v_run", folder, after=15)
    assert code == 130
    assert re.fullmatch(r"interrupted: stopped; .* kept in v_run; give the same command again .*\n", err)
    one_sentence(bayesmrf(*RUN, "v_run", "--prior-scale", 0.2), "--out: v_run belongs to another run: .*prior")
    code, out, err = bayesmrf(*RUN, "v_run")
    assert (code, err) == (0, "")
    assert int(re.search(r"continuing, its chains have at least (\d+) of 70", out)[1]) > 5
    assert bayesmrf(*RUN, "w_run", "--seed", load("v_run").attrs["seed"])[0] == 0
    np.testing.assert_array_equal(theta_of("v_run"), theta_of("w_run"))


def test_many_states(bayesmrf, rng, folder):
    table = pd.DataFrame(rng.integers(0, 3, (60, 4)), columns=list("abcd")).astype(float)
    table.iloc[0], table.iloc[1, 2] = 2, np.nan
    table.to_csv("t.csv", index=False)
    code, out, err = bayesmrf("posterior", "t.csv", "--model", "potts", *SMALL)
    assert (code, err) == (0, "")
    assert "a=2" in out
    assert "1 missing value, with probability: row 2 c=0 " in out
    assert ParameterSummary(load("t_run")).missing_table["probability"].sum() == pytest.approx(1)
    assert bayesmrf("report", "t_run")[0] == 0
    one_sentence(bayesmrf("posterior", "t.csv", "--model", "ising", "--out", "b_run"), r"t\.csv must be binary")
    assert suitable_engine("auto", Boltzmann(graphs.grid(10, 10))) == "exact"
    assert suitable_engine("auto", Potts(graphs.grid(10, 10), 5)) == "persistent"


def test_missing_values(bayesmrf, votes, rng, folder):
    gaps = votes.astype(float).mask(rng.random(votes.shape) < 0.1)
    gaps.iloc[2, 1] = np.nan
    gaps.to_csv("votes.csv", index=False)
    code, out, err = bayesmrf("posterior", "votes.csv", "--seed", 3, *SMALL)
    assert (code, err) == (0, "")
    n = int(gaps.isna().to_numpy().sum())
    assert f"{n} missing values, with probability: row " in out
    found = ParameterSummary(load("votes_run")).missing_table
    direct = bayesian(random_state=3, **QUICK).fit(gaps).missing_
    pd.testing.assert_frame_equal(found.drop(columns="state"), direct, check_dtype=False)
    assert (found["state"] == 1).all()
    assert bayesmrf("report", "votes_run")[0] == 0
    row = found[(found["row"] == 2) & (found["node"] == "Bob")].iloc[0]
    page = re.sub(r' data-order="[^"]*"', "", (folder / "votes_run.html").read_text())
    cells = f'<td class="n">3</td><td>Bob</td><td class="n">1</td><td class="n">{row["probability"]:.3f}</td>'
    assert cells in page
    given = bayesmrf("posterior", "votes.csv", "--kernel", "pseudo-posterior", "--out", "p_run")
    one_sentence(given, r"--kernel must be .* for missing values, got 'pseudo-posterior'")


BAD = {
    "kernel": (["--kernel", "magic"], "--kernel must be .*, got 'magic'"),
    "engine": (["--engine", "magic"], "--engine must be .*, got 'magic'"),
    "model": (["--model", "magic"], "--model must be .*, got 'magic'"),
    "pair": (["--kernel", "exchange", "--engine", "bethe"], "--engine must be .* sample, got .* use one of enum"),
    "graph": (["--graph", "all"], "--graph: 'all' is neither a file, nor complete"),
    "learn too many": (["--graph", "learn:99"], "--graph learn:K must be at most"),
    "prior scale": (["--prior-scale", "0"], "--prior-scale must be .*, got 0.0"),
    "epsilon": (["--kernel", "langevin", "--epsilon", "-1"], "--epsilon must be .*, got -1.0"),
    "momentum": (["--kernel", "langevin", "--momentum", "1"], "--momentum must be .*, got 1.0"),
    "diverges": (["--kernel", "langevin", "--adjusted", "--epsilon", "1e60"], "--epsilon must be smaller"),
    "adjusted": (["--kernel", "langevin", "--engine", "brief", "--adjusted"], "--engine must .* needs log_z"),
    "no use": (["--epsilon", "0.1"], "--epsilon must be omitted with --kernel auto, got 0.1; give a kernel"),
    "no sweeps": (["--n-sweeps", "3"], "--n-sweeps must be omitted with --engine auto, got 3; name an engine that"),
    "no correction": (["--kernel", "langevin", "--corrected"], "--corrected must be omitted with --kernel langevin"),
    "sweeps": (["--engine", "gibbs", "--n-sweeps", "0"], "--n-sweeps must be an integer from 1 to .*, got 0"),
    "draws": (["--n-draws", "0"], "--n-draws must be .*, got 0"),
    "no particles": (["--engine", "gibbs", "--n-particles", "9"], "--n-particles must be omitted with --engine gibbs"),
    "weight": (["--weight", "Zoe"], "--weight: there is no column 'Zoe'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_options(case, bayesmrf, votes):
    options, message = BAD[case]
    one_sentence(bayesmrf("posterior", "votes.csv", *options, "--n-warmup", 5), f"^error: .*{message}")


def test_bad_values_are_told_by_file_and_row(bayesmrf, votes):
    votes.iloc[3, 1] = 7
    votes.to_csv("votes.csv", index=False)
    for graph in ("complete", "learn:3"):
        given = bayesmrf("posterior", "votes.csv", "--graph", graph)
        one_sentence(
            given,
            r"votes\.csv must .*: 7 \(1 cell\) lie outside .* row 4 below the first line, column 'Bob'; give",
        )
        given = bayesmrf("posterior", "votes.csv", "--graph", graph, "--missing-code", "none")
        one_sentence(given, r"binary, but 1 value.* 7 in row 4 below the first line, column 'Bob'; give --missing")


def test_graph_too_wide_for_exact(bayesmrf, rng, folder):
    table = pd.DataFrame(np.vstack([np.zeros(45, int), np.ones(45, int), rng.integers(0, 2, (30, 45))])).add_prefix("n")
    table.to_csv("wide.csv", index=False)
    one_sentence(bayesmrf("posterior", "wide.csv", "--engine", "exact"), "width at least 44", "use --engine persistent")
    given = bayesmrf("posterior", "wide.csv", "--kernel", "pseudo-posterior", "--corrected")
    one_sentence(given, "more than max_bytes = 2 GiB; use it without --corrected, or a graph")
    table.iloc[2, 1:] = np.nan
    table.to_csv("wide.csv", index=False)
    given = bayesmrf("posterior", "wide.csv", "--hidden-engine", "exact")
    one_sentence(given, "width at least 43 .*; use --hidden-engine persistent, or a graph with fewer edges")


def test_long_tables_are_cut_and_the_rest_is_counted(bayesmrf, rng, folder):
    table = pd.DataFrame(rng.integers(0, 2, (40, 13))).add_prefix("n")
    table.to_csv("t.csv", index=False)
    code, out, _ = bayesmrf("posterior", "t.csv", "--graph", "learn:30", *SMALL)
    assert code == 0
    s = ParameterSummary(load("t_run"))
    listed = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
    assert listed == [*s.strongest["label"][:20], *s.strongest["label"][30:40]]
    rest = s.strongest[["clear"]].to_numpy().ravel()
    wanted = f"Not listed: 10 weaker (weight), {rest[20:30].sum()} of them excluding zero; 3 weaker (bias), "
    assert wanted + f"{rest[40:].sum()} of them excluding" in " ".join(out.split())
