"""Runs without a number of draws: where they stop, that nothing but draws decides it, and what is said of them."""

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from itertools import combinations
from pathlib import Path

import arviz_stats
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, LabelFieldMRF, SpikeSlabMRF, graphs, methods, results
from bayesmrf.engines import Enumeration
from bayesmrf.errors import ConvergenceWarning, MoreDrawsError, OptionError, StoppedWarning, StoreError
from bayesmrf.estimators import pipeline
from bayesmrf.estimators.edge_evidence import add_edge_evidence
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.priors import Beta, Gamma, SpikeSlab
from bayesmrf.results import edge_evidence, marks
from bayesmrf.results.summary import summarise
from bayesmrf.results.until_good import outlook, shortfall
from bayesmrf.runs import checkpoint, stopping
from bayesmrf.runs.run import sample
from bayesmrf.runs.stopping import Outlook
from bayesmrf.runs.store import Checkpoint
from tests import ROOT
from tests.helpers.commands import one_sentence
from tests.helpers.walks import Autoregressive, Walk, equal, error_of_groups, like, seed_of
from tests.long import LONG
from tests.oracle.ranks import p_value, rank
from tests.unit.answers.test_convergence import autoregressive, edges_come_and_go, made_up, parameters
from tests.unit.runs.test_run import wait_for
from tests.unit.runs.test_workers import processes, threads

COUNTS = [500, 625, 781, 977, 1221, 1526, 1907, 2384, 2980, 3725, 4657, 5821, 7276, 9095, 11369, 14211, 17764, 20000]
WALK = {"n_draws": None, "judge": error_of_groups, "n_warmup": 7, "thin": 3, "n_chains": 3, "progress": False}


@pytest.fixture
def early(monkeypatch):
    """Looks at few draws, of which walks need several."""
    monkeypatch.setattr(stopping, "FIRST", 40)
    monkeypatch.setattr(stopping, "TIMES", 1.5)
    monkeypatch.setattr(stopping, "MOST", 400)
    monkeypatch.setattr("bayesmrf.runs.run.MOST", 400)


def first(draws, n):
    """The first draws of each chain."""
    return {name: values[:, :n] for name, values in draws.values.items()}


# Where a run stops


def test_the_counts():
    assert stopping.interim_checks() == COUNTS
    assert stopping.interim_checks(600) == [500, 600]


def of_arviz(theta):
    """Whether all R-hat and effective sizes of draws are good, by ArviZ."""
    wanted = 100 * len(theta)
    for i in range(theta.shape[2]):
        series = xr.DataArray(theta[:, :, i], dims=["chain", "draw"])
        sizes = arviz_stats.ess(series), arviz_stats.ess(series, method="tail", prob=(0.05, 0.95))
        if arviz_stats.rhat(series) > 1.01 or min(map(float, sizes)) < wanted:
            return False
    return True


@pytest.mark.parametrize("phi", [0.0, 0.8, 0.9])
def test_it_stops_at_the_second_of_two_good_looks(phi, rng):
    """With the autocorrelation phi a draw is worth (1 - phi) / (1 + phi): 400 need 100, 900 or 1,900 of four chains."""
    seed, model = seed_of(rng), Boltzmann(graphs.complete(4))

    def judge(draws):
        return outlook(made_up(draws.values, model, draws.dims))

    options = {"n_chains": 4, "random_state": seed, "progress": False}
    found = sample(Autoregressive(phi), n_draws=None, judge=judge, **options)
    whole = sample(Autoregressive(phi), n_draws=found.n_draws + 50, **options)
    assert found.complete
    assert found.short == ""
    assert np.array_equal(found.values["theta"], first(whole, found.n_draws)["theta"])
    seen = [of_arviz(first(whole, n)["theta"]) for n in COUNTS if n <= found.n_draws]
    assert seen[-2:] == [True, True]
    assert [True, True] not in [seen[i : i + 2] for i in range(len(seen) - 2)]
    least = 400 * (1 + phi) / (1 - phi) / 4
    assert found.n_draws >= max(625, 0.7 * least)


def test_one_good_look_is_not_enough(early):
    answers, seen = iter(["", "short", "", "short", "", "", ""]), []
    found = sample(
        Walk(), **WALK | {"judge": lambda draws: seen.append(draws.n_draws) or Outlook(next(answers))}, random_state=1
    )
    assert seen == stopping.interim_checks(400)[:6]
    assert found.n_draws == seen[-1]


def test_control_what_never_gets_good_goes_to_the_limit(rng, early):
    model = Boltzmann(graphs.complete(4))
    found = sample(
        Autoregressive(0.999),
        n_draws=None,
        judge=lambda draws: outlook(made_up(draws.values, model, draws.dims)),
        n_chains=4,
        random_state=rng,
        progress=False,
    )
    assert found.complete
    assert found.n_draws == 400
    assert re.search(r"bulk ESS [\d,]+, recommended 400 \(theta\[\d", found.short)
    assert re.search(r"R-hat \d\.\d+, recommended 1\.01 \(theta\[\d", found.short)


def test_a_third_of_the_memory_is_a_limit_too(rng, monkeypatch):
    n_bytes = WALK["n_chains"] * len(Walk.dims)  # of a draw, at least
    monkeypatch.setattr("bayesmrf.memory.machine_bytes", lambda: 3 * 700.0 * n_bytes)
    found = sample(Walk(), **WALK | {"judge": lambda draws: Outlook("short")}, random_state=rng)
    assert found.n_draws == 700
    monkeypatch.setattr("bayesmrf.memory.machine_bytes", lambda: 400.0 * n_bytes)
    with pytest.raises(OptionError, match="n_draws must be at most 400 "):
        sample(Walk(), **WALK, random_state=rng)


def test_somebody_has_to_judge():
    with pytest.raises(OptionError, match="n_draws must be an integer, as nothing judges the draws, got None"):
        sample(Walk(), **WALK | {"judge": None})


# What is good


def correlated(rng, phi, n_draws=1000):
    """Edges in half of the draws, whose indicators are 0/1 chains with the autocorrelation ``phi``."""
    tree = edges_come_and_go(rng, 0.5)
    stays = rng.random((4, n_draws, 6)) < phi
    fresh = rng.random((4, n_draws, 6)) < 0.5
    included = fresh.copy()
    for t in range(1, n_draws):
        included[:, t] = np.where(stays[:, t], included[:, t - 1], fresh[:, t])
    theta = rng.normal(size=(4, n_draws, 10))
    theta[..., :6] *= included
    values = {"theta": theta, "included": included}
    return made_up(values, Boltzmann(graphs.complete(4)), {"theta": ("feature",), "included": ("edge",)}, **tree.attrs)


def test_good_draws_are_short_of_nothing(rng):
    assert shortfall(parameters(rng)) == ""
    assert shortfall(edges_come_and_go(rng, 0.5)) == ""
    assert shortfall(parameters(rng, n_chains=1)) == ""


def test_each_criterion_is_named(rng):
    model, shape = Boltzmann(graphs.complete(4)), (4, 1000, 10)
    theta = rng.normal(size=shape)
    for name, change, said in [
        ("apart", lambda x: x + 0.3 * np.arange(4)[:, None], r"R-hat 1\.\d+, recommended 1\.01 \(theta\[2\]\)"),
        ("slow", lambda x: autoregressive(rng, 0.95, x.shape), r"bulk ESS \d+, recommended 400 \(theta\[2\]\)"),
        ("still", lambda x: np.where(np.arange(4)[:, None] == 1, 0.5, x), "chain 1 never moved"),
    ]:
        wrong = theta.copy()
        wrong[:, :, 8] = change(theta[:, :, 8])
        assert re.search(said, shortfall(made_up({"theta": wrong}, model, {"theta": ("feature",)}))), name
    tree = edges_come_and_go(rng, 0.03)
    included, weights = tree["posterior"]["included"].values, tree["posterior"]["theta"].values
    included[2, :, 4] = weights[2, :, 4] = 0
    assert re.fullmatch(r"the chains disagree about included\[b-d\], with shares .*", shortfall(tree))


def test_the_error_of_an_inclusion_is_that_of_its_autocorrelation(rng):
    """Of a 0/1 chain with the autocorrelation phi it is sqrt(p (1 - p) (1 + phi) / (1 - phi) / n).

    With phi = 0.5 that is 0.0137, and the largest of six estimates is within a quarter of it.
    """
    found = marks.edge_errors(correlated(rng, 0.5))
    assert found.shape == (6,)
    assert 0.9 < found.max() / np.sqrt(0.25 * 3 / 4000) < 1.25
    said = (
        r"6 of 6 edges are marked, recommended at most 5% \(Monte Carlo error of inclusions up to 0\.01\d, .* 0\.01\)"
    )
    assert re.search(said, shortfall(correlated(rng, 0.5)))
    assert shortfall(correlated(rng, 0.1)) == ""


def many_edges(rng, n_slow, n_edges=100):
    """Independent indicators, but for those of the last edges."""
    phi = np.where(np.arange(n_edges) < n_edges - n_slow, 0.0, 0.6)
    fresh, stays = rng.random((2, 4, 1000, n_edges))
    included = fresh < 0.6
    for t in range(1, 1000):
        included[:, t] = np.where(stays[:, t] < phi, included[:, t - 1], included[:, t])
    values = {"theta": rng.normal(size=(4, 1000, n_edges + 15)), "included": included}
    values["theta"][..., :n_edges] *= included
    model = Boltzmann(graphs.from_edges(list(combinations(range(15), 2))[:n_edges], range(15)))
    return made_up(values, model, {"theta": ("feature",), "included": ("edge",)})


def test_five_of_a_hundred_edges_may_be_marked(rng):
    assert "edges are marked" not in shortfall(many_edges(rng, 5))
    assert re.search(r"\b6 of 100 edges are marked, recommended at most 5%", shortfall(many_edges(rng, 6)))


def with_evidence(rng, log10, spread, n=100):
    """Draws of six edges that all exist always, with evaluations of Bayes factors around ``log10``."""
    tree = edges_come_and_go(rng, [1.0] * 6)
    tree["posterior"]["density"].values[:] = 0.5
    chain, draw = np.repeat(np.arange(4), n // 4), np.tile(np.arange(n // 4), 4)
    logs = np.log(10) * (log10 + spread * rng.standard_normal((n, 6)))
    edge_evidence.add_edge_evidence(tree, np.column_stack([chain, draw]), logs, np.zeros(n))
    return tree


@pytest.mark.parametrize(("log10", "is_short"), [(0.8, True), (-0.8, True), (3.5, False)])
def test_errors_of_bayes_factors_count_where_they_may_change_a_word(rng, log10, is_short):
    tree = with_evidence(rng, log10, 1.2)
    assert not (edge_evidence.evidence(tree).error <= 0.04).any()
    assert ("error of log10 Bayes factors" in shortfall(tree)) == is_short
    assert "error of log10" not in shortfall(with_evidence(rng, log10, 0.1))


def test_errors_of_bayes_factors_of_rare_edges_do_not_count(rng):
    """Under a sparse prior an edge with a factor of 1 has few draws: no run would end."""
    tree = edges_come_and_go(rng, 0.01)
    tree["posterior"]["density"].values[:] = 0.01
    chain, draw = np.repeat(np.arange(4), 10), np.tile(np.arange(10), 4)
    logs = np.log(10) * 0.5 * rng.standard_normal((40, 6))
    edge_evidence.add_edge_evidence(tree, np.column_stack([chain, draw]), logs, np.full(40, np.log(1 / 99)))
    assert edge_evidence.is_uncertain(edge_evidence.evidence(tree)).mean() > 0.5
    assert "log10 Bayes factors" not in shortfall(tree)


def test_evidence_is_added_when_nothing_else_is_short(rng):
    """It takes as long as many draws."""
    added = []
    assert shortfall(edges_come_and_go(rng, 0.5), added.append) == ""
    assert len(added) == 1
    assert shortfall(correlated(rng, 0.5), added.append)
    assert len(added) == 1


@pytest.mark.parametrize(("inclusion", "factor", "is_read"), [(0.45, 1.0, False), (0.45, 6.0, True), (0.55, 1.0, True)])
def test_weights_are_read_by_inclusion_or_bayes_factor(rng, inclusion, factor, is_read):
    """The rule waits for weights that are read: an inclusion of 0.5, or a Bayes factor of 3 within two errors."""
    tree = edges_come_and_go(rng, inclusion)
    odds = inclusion / (1 - inclusion) / factor
    tree["posterior"]["density"].values[:] = odds / (1 + odds)
    chain, draw = np.repeat(np.arange(4), 25), np.tile(np.arange(25), 4)
    zeros = np.zeros((100, 6))
    edge_evidence.add_edge_evidence(
        tree, np.column_stack([chain, draw]), zeros + np.log(factor), np.log(odds) + zeros[:, 0]
    )
    theta = tree["posterior"]["theta"].values
    theta[1, :, 2] += 0.8 * (theta[1, :, 2] != 0)
    assert ("theta[a-d]" in shortfall(tree)) == is_read
    assert summarise(tree).edge_table["few_draws"].tolist() == [False, False, True, False, False, False]


# The same draws


@pytest.mark.parametrize("kind", [threads, processes])
def test_the_same_run_on_any_number_of_workers(kind, rng, early):
    seed = seed_of(rng)
    found = [sample(Walk(), random_state=seed, n_jobs=n, **WALK) for n in (1, 2)]
    with kind(2) as executor:
        found.append(sample(Walk(), random_state=seed, executor=executor, **WALK))
    assert 135 <= found[0].n_draws < 400
    whole = sample(Walk(), random_state=seed, **WALK | {"n_draws": 400})
    for draws in found:
        assert draws.complete
        assert all(np.array_equal(draws.values[name], values) for name, values in first(whole, draws.n_draws).items())
    assert len({draws.n_draws for draws in found}) == 1


CHILD = """
import sys
from bayesmrf.runs import checkpoint, run, stopping
from tests.helpers.walks import error_of_groups, slow
checkpoint.pause = lambda run_time, cost: 0.02
stopping.FIRST, stopping.TIMES, stopping.MOST, run.MOST = 40, 1.5, 400, 400
run.sample(slow(1e-3), n_draws=None, judge=error_of_groups, n_warmup=7, thin=3, n_chains=3, progress=False,
           checkpoint=sys.argv[1], random_state=int(sys.argv[2]), n_jobs=3)
"""


def killed_in(folder, seed, n_draws):
    """Kill a run in the stage that goes to so many draws, in its midst; return the least steps of a chain."""
    paths = os.pathsep.join([str(ROOT), str(Path(bayesmrf.__file__).parent.parent)])
    command = [sys.executable, "-c", CHILD, str(folder), str(seed)]
    process = subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    wait_for(folder, process)
    while True:
        steps, settings = checkpoint.steps_of(folder)
        if settings["n_draws"] >= n_draws and min(steps) > 7 + 3 * (n_draws / 1.5 + 5):
            break
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return min(checkpoint.steps_of(folder)[0])


def test_killed_in_the_midst_of_stages_it_is_the_same_run(rng, tmp_path, early):
    seed, folder = seed_of(rng), tmp_path / "run"
    whole = sample(Walk(), random_state=seed, **WALK)
    ends = [n for n in stopping.interim_checks(400) if 40 < n <= whole.n_draws]
    seen = [killed_in(folder, seed, n) for n in ends[1:3]]
    assert len(seen) == 2
    assert seen == sorted(seen)
    assert seen[-1] < 7 + 3 * whole.n_draws
    counted = []
    judge = WALK | {"judge": lambda draws: counted.append(draws.n_draws) or error_of_groups(draws)}
    assert equal(sample(Walk(), checkpoint=folder, **judge), whole)
    assert counted == [n for n in stopping.interim_checks(400) if n <= whole.n_draws]  # again before the kills
    again = sample(like(Walk, step=None), checkpoint=folder, **WALK)  # which has no step to make
    assert equal(again, whole)
    assert again.complete


def test_ctrl_c_returns_what_there_is_and_the_run_goes_on(rng, tmp_path, early):
    seed, folder = seed_of(rng), tmp_path / "run"
    whole = sample(Walk(), random_state=seed, **WALK)

    def interrupted(draws):
        if draws.n_draws == 60:
            signal.raise_signal(signal.SIGINT)
        return error_of_groups(draws)

    with pytest.warns(StoppedWarning, match="stopped: 60 of at most 400 draws of 3 of 3 chains .* the same checkpoint"):
        cut = sample(Walk(), random_state=seed, checkpoint=folder, **WALK | {"judge": interrupted})
    assert not cut.complete
    assert all(np.array_equal(cut.values[name], values) for name, values in first(whole, 60).items())
    assert equal(sample(Walk(), checkpoint=folder, **WALK), whole)


def test_a_number_and_until_good_continue_each_other(rng, tmp_path, early):
    seed = seed_of(rng)
    options = WALK | {"random_state": seed}
    whole, until = sample(Walk(), **options | {"n_draws": 400}), sample(Walk(), **options)
    fixed = tmp_path / "fixed"
    sample(Walk(), checkpoint=fixed, **options | {"n_draws": 100})
    assert "until_good" not in checkpoint.steps_of(fixed)[1]
    assert equal(sample(Walk(), checkpoint=fixed, **options), until)
    assert equal(sample(Walk(), checkpoint=fixed, **options | {"n_draws": 400}), whole)
    assert "until_good" not in checkpoint.steps_of(fixed)[1]
    with pytest.raises(StoreError, match="n_draws is 50, was 400"):
        sample(Walk(), checkpoint=fixed, **options | {"n_draws": 50})
    assert equal(sample(Walk(), checkpoint=fixed, **options), until)  # of more draws than it looks at


# One chain of a job array


def test_tasks_draw_a_stated_number_and_are_judged_together(rng, tmp_path, early, monkeypatch):
    monkeypatch.setattr("bayesmrf.runs.run.OF_A_TASK", 90)
    seed, folder = seed_of(rng), tmp_path / "run"
    whole = sample(Walk(), random_state=seed, **WALK)

    def tasks():
        for chain in range(3):
            draws = sample(Walk(), random_state=seed, checkpoint=Checkpoint(folder, chain=chain), **WALK)
            assert not draws.complete
            assert draws.short is None
        return draws.n_draws

    drawn, joining = [tasks()], Checkpoint(folder, joins=True)
    while drawn[-1] < whole.n_draws:
        with pytest.raises(
            MoreDrawsError, match=r"more draws are needed \((error 0\.0|they were good at one l)"
        ) as caught:
            sample(Walk(), random_state=seed, checkpoint=joining, **WALK)
        drawn.append(tasks())
        assert drawn[-1] == caught.value.n_draws
    assert drawn[:2] == [90, 202]  # the first end after 90 that were not good
    assert equal(sample(Walk(), random_state=seed, checkpoint=joining, **WALK), whole)


@pytest.fixture
def answers(folder, rng):
    u = rng.random((300, 1)) < 0.5
    table = pd.DataFrame(np.where(rng.random((300, 4)) < 0.7, u, rng.random((300, 4)) < 0.5) * 1, columns=[*"abcd"])
    table.to_csv("answers.csv", index=False)
    return table


def test_a_job_array_is_collected_when_it_is_good(bayesmrf, votes):
    words = ["structure", "votes.csv", "--n-chains", "2", "--out", "run"]
    drawn = 1221
    for _ in range(8):
        for chain in "01":
            code, out, _ = bayesmrf(*words, "--chain", chain)
            assert code == 0
            assert f"Chain {chain} of run has {drawn:,} draws" in out
        assert "To judge and join the chains: bayesmrf collect run" in out
        given = bayesmrf("collect", "run")
        if given[0] == 0:
            break
        with pytest.raises(StoreError, match="an unfinished run, until good \\("):
            results.load("run")
        one_sentence(
            given,
            rf"run needs more draws than {drawn:,} of each chain: .*(rec\w+|good at one look).*\. Submit the tasks "
            r"again, in SLURM by --array=0-1: each goes on to [\d,]+ draws\. Or go on here: bayesmrf structure "
            r"votes\.csv --n-chains 2 --out run$",
        )
        drawn = int(re.search(r"goes on to ([\d,]+)", given[2])[1].replace(",", ""))
    assert "draws (until good) after 500 steps of warm-up" in given[1]
    assert bayesmrf(*words[:-1], "whole_run", "--seed", "0")[0] == 0
    found, whole = (results.load(name) for name in ("run", "whole_run"))
    assert found["posterior"].equals(whole["posterior"])
    assert found.attrs["short"] == ""
    assert drawn > 1221  # two chains of 1,221 draws cannot have 2,500 effective ones


# Estimators and commands


@pytest.fixture
def two_looks(monkeypatch):
    """Looks at 40 and 60 draws, which are not good, and no more."""
    monkeypatch.setattr(stopping, "FIRST", 40)
    monkeypatch.setattr("bayesmrf.runs.run.MOST", 60)


def fits(rng):
    """All estimators of posteriors, and their data."""
    X, points = rng.integers(0, 2, (200, 3)), rng.normal(size=(8, 1))
    run = {"n_warmup": 100, "n_chains": 3, "random_state": 1, "progress": False}
    return {
        "SpikeSlabMRF": (SpikeSlabMRF(method="exact", **run), X, {}),
        "BayesianMRF": (BayesianMRF(ties="edges", **run), X, {}),
        "GroupedMRF": (GroupedMRF("complete", fields=True, method="exact", **run), X, {}),
        "CompareMRF": (CompareMRF(method="exact", **run), X, {"groups": np.repeat([0, 1], 100)}),
        "LabelFieldMRF": (
            LabelFieldMRF(engine="exact", **run),
            points,
            {"y": np.where(np.arange(8) < 6, points[:, 0] > 0, -1)},
        ),
    }


def test_an_estimator_runs_until_good(rng):
    est, X, _ = fits(rng)["SpikeSlabMRF"]
    found = est.fit(X).posterior_
    n_draws = found["posterior"].sizes["draw"]
    assert n_draws in COUNTS[1:-1]
    assert (found.attrs["short"], found.attrs["complete"]) == ("", 1)
    assert est.table("findings")["severity"].tolist() == ["good"]
    whole = est.set_params(n_draws=n_draws + 50).fit(X).posterior_
    assert found["posterior"].equals(whole["posterior"].isel(draw=slice(n_draws)))
    assert "short" not in whole.attrs


def test_the_evidence_of_the_last_look_is_that_of_the_run(rng, monkeypatch):
    """It is computed once, and is what a run of this length has."""
    est, X, _ = fits(rng)["SpikeSlabMRF"]
    sizes = []

    def counting(tree, *rest):
        sizes.append(tree["posterior"].sizes["draw"])
        add_edge_evidence(tree, *rest)

    monkeypatch.setattr(pipeline, "add_edge_evidence", counting)
    until = est.fit(X).posterior_
    n_draws = until["posterior"].sizes["draw"]
    assert sizes.count(n_draws) == 1
    assert len(sizes) > 1  # a look before was good, too
    sizes.clear()
    whole = est.set_params(n_draws=n_draws).fit(X).posterior_
    assert sizes == [n_draws]
    assert until["edge_evidence"].equals(whole["edge_evidence"])


@pytest.mark.parametrize("name", ["SpikeSlabMRF", "BayesianMRF", "GroupedMRF", "CompareMRF", "LabelFieldMRF"])
def test_at_the_limit_it_is_said_what_is_short(name, rng, two_looks):
    est, X, more = fits(rng)[name]
    said = (
        r"Not good after 60 draws of each chain, the most without n_draws: .*ESS \d+, rec\w+ 300 \(.*a larger n_draws"
    )
    with pytest.warns(ConvergenceWarning) as caught:
        est.fit(X, **more)
    assert any(re.match(said, str(warning.message)) for warning in caught)
    assert est.posterior_["posterior"].sizes["draw"] == 60
    findings = est.table("findings")
    assert findings["text"].str.match(said).sum() == 1
    found = est.posterior_
    assert "ESS" in found.attrs["short"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = est.set_params(n_draws=70).fit(X, **more).posterior_
    assert found["posterior"].equals(whole["posterior"].isel(draw=slice(60)))


def test_your_own_kernel_is_judged_by_the_same_rule(rng, two_looks):
    def make(likelihood, prior):
        return SpikeSlabExact(likelihood, prior)

    X = rng.integers(0, 2, (100, 3))
    est = SpikeSlabMRF(method=methods.Custom(make), n_warmup=50, random_state=1, progress=False)
    with pytest.warns(ConvergenceWarning, match="Not good after 60 draws"):
        est.fit(X)
    own, theirs = est.posterior_, SpikeSlabMRF(method="exact", n_warmup=50, random_state=1, progress=False)
    assert own["posterior"].sizes["draw"] == 60
    assert theirs.n_draws is None


def test_the_command_says_how_many_draws_it_took(bayesmrf, answers, two_looks):
    words = ["structure", "answers.csv", "--n-warmup", "50", "--seed", "1"]
    code, out, err = bayesmrf(*words)
    assert (code, err) == (0, "")  # as the verdict says it
    assert "4 chains of 60 draws (the most) after 50 steps of warm-up" in out
    assert re.search(
        r"Not good after 60 draws of each chain, the most without --n-draws: .*, rec\w+ 400 \(.*a larger --n-draws\.",
        " ".join(out.split()),
    )
    assert bayesmrf("report", "answers_run")[0] == 0
    page = Path("answers_run.html").read_text(encoding="utf-8")
    assert "4 chains of 60 draws (the most) after 50 steps of warm-up" in page
    assert "Not good after 60 draws of each chain" in page
    code, out, _ = bayesmrf(*words, "--n-draws", "60", "--overwrite")
    assert code == 0
    assert "4 chains of 60 draws after 50 steps of warm-up" in out
    assert "Not good after" not in out
    assert results.load("answers_run")["posterior"].sizes["draw"] == 60


@pytest.mark.parametrize("command", ["structure", "posterior", "groups", "compare"])
def test_the_default_of_all_commands(command, bayesmrf):
    out = " ".join(re.sub(r"[│╭╮╰╯─]", " ", bayesmrf(command, "--help")[1]).split())
    assert re.search(r"Draws per chain\. \[default: until good, at most 20,000; 1,221 with --chain", out)


# Does it bias to stop?


N_CHAINS = 3


def ranks(judge, n_simulations, rng):
    """Ranks of the truth among draws of the chains of runs until ``judge`` finds them good.

    Columns: density, a weight, a bias and the number of edges, among one draw of each chain at random, and among their
    last ones, on which a rule has most effect.
    """
    prior = SpikeSlab(Beta(2.0, 2.0), Gamma(5.0, 5.0), 1.0)
    model, engine, out = Boltzmann(graphs.path(3)), Enumeration(), []
    for _ in range(n_simulations):
        density, scale = rng.beta(2, 2), (rng.gamma(5) / 5) ** -0.5
        weights = (rng.random(2) < density) * scale * rng.standard_normal(2)
        theta = np.concatenate([weights, rng.standard_normal(3)])
        states = engine.sample(model, theta, None, 30, rng)
        kernel = SpikeSlabExact(Likelihood(model, model.statistics(states), 30, engine), prior, n_scans=5)
        options = {"n_warmup": 50, "n_chains": N_CHAINS, "random_state": rng, "progress": False}
        found = sample(kernel, n_draws=None, judge=lambda draws: judge(model, draws), **options)
        truth, v = [density, weights[0], theta[2], np.count_nonzero(weights)], found.values
        drawn = np.dstack([v["density"], v["theta"][..., 0], v["theta"][..., 2], v["n_edges"]])
        some = drawn[range(N_CHAINS), rng.integers(found.n_draws, size=N_CHAINS)]
        out.append(np.concatenate([rank(of_chains, truth, rng) for of_chains in (some, drawn[:, -1])]))
    return np.array(out)


def as_is(model, draws):
    return outlook(made_up(draws.values, model, draws.dims))


def when_density_is_high(model, draws):
    """A rule that stops where it likes the result."""
    density = draws.values["density"]
    return Outlook("" if density[:, -1].mean() > density.mean() + density.std() / 2 else "a low density")


@LONG
def test_draws_of_runs_until_good_are_calibrated(rng):
    """Of the right posterior the smallest of eight p-values is below 1e-6 in 8 of a million runs."""
    assert p_value(ranks(as_is, 250, rng), N_CHAINS + 1) > 1e-6


@LONG
def test_control_a_rule_that_looks_at_the_result_is_caught(rng, monkeypatch):
    """It looks after 20, 21, 22, ... draws, as two looks in a row must like them."""
    monkeypatch.setattr(stopping, "FIRST", 20)
    monkeypatch.setattr(stopping, "TIMES", 1.05)
    monkeypatch.setattr("bayesmrf.runs.run.MOST", 1000)
    assert p_value(ranks(when_density_is_high, 250, rng), N_CHAINS + 1) < 1e-6


@LONG
def test_estimators_that_run_until_good_are_calibrated(rng):
    """100 sets, by the whole rule: looks with Bayes factors of edges, and weights that are read.

    Of the right posterior the smallest of eight p-values is below 1e-6 in 8 of a million runs.
    """
    prior, out = SpikeSlab(Beta(2.0, 2.0), Gamma(5.0, 5.0), 1.0), []
    graph = graphs.path(3)
    options = {"method": "exact", "n_warmup": 50, "n_chains": N_CHAINS, "progress": False}
    for _ in range(100):
        density, scale = rng.beta(2, 2), (rng.gamma(5) / 5) ** -0.5
        weights = (rng.random(2) < density) * scale * rng.standard_normal(2)
        theta = np.concatenate([weights, rng.standard_normal(3)])
        states = Enumeration().sample(Boltzmann(graph), theta, None, 30, rng)
        X = pd.DataFrame(np.concatenate([states, [[0, 0, 0], [1, 1, 1]]]), columns=[*"abc"])
        counts = np.append(np.ones(30, int), [0, 0])  # rows without people: both answers are known of each column
        est = SpikeSlabMRF([("a", "b"), ("b", "c")], prior=prior, random_state=seed_of(rng), **options)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = est.fit(X, sample_weight=counts).posterior_
        assert tree.attrs["short"] == ""
        v = {name: tree["posterior"][name].values for name in ("density", "theta", "included")}
        truth = [density, weights[0], theta[2], np.count_nonzero(weights)]
        drawn = np.dstack([v["density"], v["theta"][..., 0], v["theta"][..., 2], (v["included"] != 0).sum(axis=2)])
        some = drawn[range(N_CHAINS), rng.integers(drawn.shape[1], size=N_CHAINS)]
        out.append(np.concatenate([rank(of_chains, truth, rng) for of_chains in (some, drawn[:, -1])]))
    assert p_value(np.array(out), N_CHAINS + 1) > 1e-6
