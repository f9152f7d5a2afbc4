"""How many people: shares over simulated tables, resumption, and the command."""

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import bayesmrf
from bayesmrf import CompareMRF, SpikeSlabMRF, plan
from bayesmrf.answers.study.planning import Plan, ratio
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.estimators import planning
from bayesmrf.priors import SpikeSlab

RUN = {"n_draws": 250, "n_warmup": 100, "n_chains": 2, "progress": False}
EST = SpikeSlabMRF(**RUN, prior=SpikeSlab(density=0.5), method="exact")
SMALL = {"nodes": 4, "density": 0.4, "weight": 2.0, "estimator": EST, "n_jobs": 1, "progress": False}


def test_error_of_a_ratio(rng):
    top, bottom = rng.integers(0, 5, 60), rng.integers(5, 9, 60)
    share, error = ratio(top, bottom)
    assert share == top.sum() / bottom.sum()
    picks = rng.integers(0, 60, (4000, 60))
    bootstrap = (top[picks].sum(axis=1) / bottom[picks].sum(axis=1)).std()
    assert error == pytest.approx(bootstrap, rel=0.12)  # 5 standard errors of a standard deviation of 4,000, and 1/60
    assert np.isnan(ratio([0, 0], [0, 0])).all()


def test_shares_are_those_of_counts():
    one = dict.fromkeys(("wrongly_found", "wrongly_ruled_out"), 0)
    sizes = {"edges": 6, "present": 2, "absent": 4}
    counts = ((50, 0), (50, 1), (90, 2))
    rows = [one | sizes | {"n": n, "found": f, "ruled_out": 1, "inconclusive": 5 - f} for n, f in counts]
    made = Plan(rows, "edge", "a network")
    assert made.frame["found"].tolist() == [0.25, 1.0]
    assert made.frame["ruled_out"].tolist() == [0.25, 0.25]
    assert made.sentence == (
        "90 people find 80% of the true edges: with 90, 100% of the true edges are found and 25% of the absent edges "
        "are ruled out."
    )
    assert "50 people are too few" in Plan(rows[:2], "edge", "a network").sentence


@pytest.mark.parametrize("levels", [2, 3])
def test_stated_networks_are_balanced(levels, rng):
    source = planning.Stated(4, levels, 0.5, 0.7, 0.4)
    truth = source.truth(rng, 0)
    assert truth.exists.sum() == 1  # a fifth of six pairs
    first, second = truth.thetas[:, :6]
    np.testing.assert_allclose(np.abs(first - second), 0.4 * truth.exists)
    assert sorted(np.round((first + second) / 2, 9)) == [0, 0, 0, 0.7, 0.7, 0.7]
    every = np.indices((levels,) * 4).reshape(4, -1).T
    for theta in truth.thetas:
        log_p = np.array([truth.model.statistics(x[None]) @ theta for x in every])
        p = np.exp(log_p - log_p.max())
        means = every.T @ p / p.sum()
        np.testing.assert_allclose(means, (levels - 1) / 2)
    X, (groups,) = truth.table(11, rng)
    assert X.shape == (11, 4)
    assert np.bincount(groups).tolist() == [6, 5]


def test_factors_are_the_odds_of_draws_over_those_of_the_prior(rng):
    X = rng.integers(0, 2, (150, 3))
    X[:, 1] = np.where(rng.random(150) < 0.3, X[:, 0], X[:, 1])
    est = SpikeSlabMRF(**RUN | {"n_draws": 4000}, prior=SpikeSlab(density=0.3), method="exact", random_state=1).fit(X)
    share = est.inclusion_[tuple(est.edges_.T)]
    np.testing.assert_allclose(
        planning.factors(est), share / (1 - share) / (0.3 / 0.7), rtol=0.15
    )  # 3 errors of a share


def test_more_people_find_more(rng):
    found = plan(n=[40, 600], replicates=4, **SMALL)
    assert found.frame["n"].tolist() == [40, 600]
    few, many = found.frame["found"]
    assert few < 0.7 < 0.99 < many
    assert found.frame["undecided"].iloc[0] > found.frame["undecided"].iloc[1]
    assert found.frame["replicates"].tolist() == [4, 4]
    assert bayesmrf.plots.plot_plan(found).get_xlabel() == "people"


def test_a_study_goes_on_in_its_folder(tmp_path, monkeypatch):
    folder, calls = tmp_path / "study", []
    whole = plan(n=[60, 90], replicates=2, **SMALL)
    run = planning.Replicate.__call__

    def stopped(self, item):
        calls.append(item)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(self, item)

    monkeypatch.setattr(planning.Replicate, "__call__", stopped)
    with pytest.raises(KeyboardInterrupt):
        plan(n=[60, 90], replicates=2, folder=folder, **SMALL)
    assert len(list(folder.glob("replicates/*.json"))) == 2
    again = plan(n=[60, 90], replicates=2, folder=folder, **SMALL)
    assert again.replicates == whole.replicates
    assert len(calls) == 5  # two before, one that was stopped, and two after
    with ThreadPoolExecutor(2) as workers:
        assert plan(n=[60, 90], replicates=2, executor=workers, **SMALL).replicates == whole.replicates
    with pytest.raises(StoreError, match=r"contains a study with another truth \(random networks of 4 nodes"):
        plan(n=[60], replicates=2, folder=folder, **SMALL | {"weight": 1.0})
    file, other = (folder / "replicates" / f"n60-{i}.json" for i in range(2))
    text = file.read_text()
    without = {k: v for k, v in json.loads(text).items() if k != "verdict"}
    for wrong in (
        "{",
        "",
        "[" * 10**5,
        text.replace('"found": ', '"found": 1'),
        json.dumps(without),
        other.read_text(),
    ):
        assert wrong != text
        file.write_text(wrong)
        with pytest.raises(StoreError, match=r"n60-0\.json is damaged: .*; remove it, and call again"):
            plan(n=[60], replicates=2, folder=folder, **SMALL)
    file.unlink()  # the remedy
    assert plan(n=[60, 90], replicates=2, folder=folder, **SMALL).replicates == whole.replicates
    study = (folder / "study.json").read_text()
    (folder / "study.json").write_text(study.replace("plan", "plam"))
    with pytest.raises(
        StoreError, match=r"study\.json is damaged: its checksum is wrong; remove the folder, or give ano"
    ):
        plan(n=[60], replicates=2, folder=folder, **SMALL)
    (folder / "study.json").write_text(study)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("")
    with pytest.raises(StoreError, match="contains other files"):
        plan(n=[60], replicates=2, folder=tmp_path / "other", **SMALL)


def test_draws_of_a_run_are_truths(tmp_path, rng):
    X = rng.integers(0, 3, (200, 3))
    X[:, 1] = np.where(rng.random(200) < 0.7, X[:, 0], X[:, 1])
    est = SpikeSlabMRF(**RUN, random_state=1).fit(X)
    bayesmrf.save(est, tmp_path / "run")
    found = plan(tmp_path / "run", n=[300], replicates=2, n_jobs=1, progress=False, estimator=SpikeSlabMRF(**RUN))
    assert found.truth.startswith("2 draws of a run of SpikeSlabMRF on 3 nodes")
    included = est.posterior_["posterior"]["included"].values.reshape(-1, 3)
    assert [one["present"] for one in found.replicates] == included[[0, -1]].sum(axis=1).tolist()


def test_differences_of_two_groups_are_found(rng):
    est = CompareMRF(**RUN)
    stated = {"nodes": 3, "density": 0.4, "weight": 0.5, "difference": 4.0}
    found = plan(n=[600], replicates=2, estimator=est, n_jobs=1, progress=False, **stated)
    assert found.noun == "difference"
    assert found.frame["found"].iloc[0] == 1
    X, (groups,) = planning.Stated(3, 2, 0.4, 0.5, 4.0).truth(rng, 0).table(600, rng)
    run = CompareMRF(**RUN, random_state=1).fit(X, groups)
    again = plan(run, n=[600], replicates=2, estimator=est, n_jobs=1, progress=False)
    differs = run.posterior_["posterior"]["included"].values.reshape(-1, 3)
    assert [one["present"] for one in again.replicates] == differs[[0, -1]].sum(axis=1).tolist()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n": [50.5]}, "n must be integers > 1"),
        ({"n": []}, "n must be integers > 1"),
        ({"density": 2}, "density must be"),
        ({"weight": -1}, "weight must be"),
        ({"levels": 1}, "levels must be"),
        ({"replicates": 0}, "replicates must be"),
        ({"estimator": CompareMRF()}, "estimator must be a SpikeSlabMRF, as edges are to be found"),
        ({"run": 3}, "run must be a fitted SpikeSlabMRF or CompareMRF"),
    ],
)
def test_wrong_options_are_refused(given, message):
    with pytest.raises(OptionError, match=message):
        plan(**SMALL | given)


def test_the_command_writes_page_table_and_replicates(bayesmrf, folder):
    words = ["plan", "--nodes", "3", "--density", "0.4", "--weight", "2", "--n", "60,90", "--replicates", "1"]
    code, out, _ = bayesmrf(*words, "--n-jobs", "1", "--out", "study", "--quiet")
    assert (code, out) == (0, "")
    assert "How many people?" in (folder / "study" / "plan.html").read_text()
    assert (folder / "study" / "plan.csv").read_text().startswith("n,found,found_error,ruled_out")
    assert json.loads((folder / "study" / "study.json").read_text())["study"] == "plan"
    code, out, _ = bayesmrf(*words, "--n-jobs", "1", "--out", "study")  # all is there
    assert code == 0
    assert "people" in out
    assert "The page is study" in out
    code, _, err = bayesmrf("plan", "--n", "ten", "--out", "other")
    assert code == 2
    assert "--n must be integers with commas between them" in err


def test_certain_edges_have_the_largest_factor():
    """Of an edge of all draws log10 may be beyond what a float holds; nothing overflows."""
    from types import SimpleNamespace

    import bayesmrf.estimators.planning as of_plans

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_plans, "has_evidence", lambda tree: True)
        patch.setattr(of_plans, "evidence", lambda tree: SimpleNamespace(log10=np.array([400.0, 0.0, -400.0, np.nan])))
        np.testing.assert_array_equal(of_plans.factors(SimpleNamespace(posterior_=None)), [1e4, 1.0, 1e-4, np.nan])
