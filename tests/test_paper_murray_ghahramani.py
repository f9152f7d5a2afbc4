"""The reproduction of Murray and Ghahramani (2004): commands, resumption, measures, verdicts, stored results."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayesmrf import graphs
from bayesmrf.errors import OptionError
from bayesmrf.inference.enumeration import Enumeration
from bayesmrf.models.boltzmann import Boltzmann
from papers.cells import forget, run
from papers.murray_ghahramani_2004 import artificial, common, coronary, coverage, labels
from papers.murray_ghahramani_2004.__main__ import main
from papers.murray_ghahramani_2004.common import Settings
from papers.murray_ghahramani_2004.experiments import FULL, MEASURES, QUICK
from papers.murray_ghahramani_2004.findings import EXPECTED, evaluate, verdicts
from papers.store import Store, read

STORED = Path(__file__).parents[1] / "papers" / "murray_ghahramani_2004" / "results"
FIGURES = {
    "coronary": ["", "-ranges"],
    "artificial": ["", "-stronger"],
    "labels": [""],
    "coverage": [""],
    "coverage-complete": [""],
}


def command(out, seed, *arguments):
    return main([*arguments, "--quick", "--out", str(out), "--seed", str(seed), "--jobs", "1"])


def records(out, name):
    return read(out / "results" / f"{name}-quick.jsonl")


@pytest.fixture
def seed(rng):
    return int(rng.integers(2**31))


@pytest.mark.parametrize("experiment", list(FULL))
def test_end_to_end(experiment, seed, tmp_path, capsys):
    assert command(tmp_path, seed, experiment, "--replicates", "1") == 0
    found, plan = records(tmp_path, experiment), QUICK[experiment]
    assert [tuple(r["cell"]) for r in found] == sorted(plan.cells(1, plan.methods))
    assert len(MEASURES[experiment](found)) == len(found)
    out = capsys.readouterr().out
    assert sum(out.count(w) for w in ("HOLDS", "FAILS", "NOT RUN", "NOT JUDGED")) == len(EXPECTED[experiment])
    for suffix in FIGURES[experiment]:
        assert (tmp_path / "figures" / f"{experiment}-quick{suffix}.png").read_bytes().startswith(b"\x89PNG")
    assert not any((tmp_path / "checkpoints" / f"{experiment}-quick").glob("*"))
    # What is not run is said to be so.
    assert main([experiment, "--quick", "--out", str(tmp_path / "none"), "--replicates", "0"]) == 0
    assert "no records" in capsys.readouterr().out


def without_time(found):
    return [{k: v for k, v in r.items() if k != "seconds"} for r in found]


def test_a_killed_run_goes_on_where_it_was(seed, tmp_path):
    arguments = ["coverage", "--methods", "reference", "pseudo-posterior", "--replicates", "2"]
    assert command(tmp_path, seed, *arguments) == 0
    whole = records(tmp_path, "coverage")
    file = tmp_path / "results" / "coverage-quick.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-2]) + lines[-1][:100])  # a cell not begun, and one whose line was torn
    kept = [json.loads(line)["seconds"] for line in lines[1:-2]]
    assert command(tmp_path, seed, *arguments) == 0
    resumed = records(tmp_path, "coverage")
    assert without_time(resumed) == without_time(whole)
    assert sum(r["seconds"] in kept for r in resumed) == len(kept) == 2  # times never repeat: these were not run again
    file.write_text(lines[0][:20])  # killed while the first line was written
    assert command(tmp_path, seed, *arguments[:-1], "1") == 0
    assert len(records(tmp_path, "coverage")) == 2
    # control: another seed is refused, and gives other draws elsewhere
    assert command(tmp_path, seed + 1, *arguments) == 2
    assert command(tmp_path / "other", seed + 1, *arguments) == 0
    assert records(tmp_path / "other", "coverage")[0]["mean"] != whole[0]["mean"]


def test_a_chain_that_was_stopped_is_taken_up_and_not_recorded(seed, tmp_path, monkeypatch):
    """The checkpoint of a cell is used: a run stopped between two draws ends with the draws of a whole one."""
    options = {"kernel": "metropolis", "n_draws": 30, "n_warmup": 0, "n_chains": 1}
    X = np.random.default_rng(seed).integers(0, 2, (30, 3))
    seeds = np.random.SeedSequence(seed)
    whole = common.fit(X, options, seeds)
    again = common.fit(X, options, seeds, checkpoint=tmp_path / "a")
    np.testing.assert_array_equal(whole.theta, again.theta)
    loaded = common.fit(X, options, seeds, checkpoint=tmp_path / "a")
    np.testing.assert_array_equal(whole.theta, loaded.theta)
    forget(tmp_path / "a")
    assert not (tmp_path / "a").exists()

    class Stopped(common.BayesianMRF):
        def fit(self, *args, **kwargs):
            super().fit(*args, **kwargs)
            self.posterior_.attrs["complete"] = False
            return self

    monkeypatch.setattr(common, "BayesianMRF", Stopped)
    with pytest.raises(KeyboardInterrupt):
        common.fit(X, options, seeds)


def test_results_do_not_depend_on_the_processes(seed, tmp_path):
    plan, settings = QUICK["coverage"], Settings("coverage", seed, quick=True)
    cells = plan.cells(2, ("reference", "pseudo-posterior"))

    def found(jobs, cells):
        store = Store(tmp_path / f"{jobs}.jsonl", settings.describe(plan))
        run(plan, settings, cells, store, jobs, tmp_path)
        return without_time(store.records())

    one = found(1, cells)
    assert one == found(2, cells[::-1])
    assert len({json.dumps(r["mean"]) for r in one}) == len(cells)


def test_what_an_experiment_has_not_is_refused(tmp_path, capsys):
    assert command(tmp_path, 0, "labels", "--methods", "exact") == 2
    assert "--methods: 'exact' came; labels has brief" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def made_up_chain(method, theta, n_quarters=4):
    quarters = np.array_split(theta, n_quarters)
    marks = np.arange(10, len(theta) + 1, 10)
    return {
        "cell": [0, method],
        "seconds": 1.0,
        "acceptance": 0.5,
        "features": ["a", "b"],
        **{k: v.tolist() for k, v in common.summary(theta[None]).items()},
        "quarter_mean": [q.mean(axis=0) for q in quarters],
        "quarter_sd": [q.std(axis=0) for q in quarters],
        "range_at": marks,
        "range": [np.ptp(theta[:m], axis=0).mean() for m in marks],
    }


def test_coronary_measures(rng):
    """Distances and ratios of made-up chains; a chain that drifts is seen."""
    n = 4000
    exact, near = rng.normal(size=(2, n, 2)) * [1.0, 2.0] + [1.0, -1.0]
    far = near * [1.0, 3.0] + [2.0, 2.0]  # means 2 sd away and 0; sds once and three times exact ones
    drift = near + np.linspace(0, 20, n)[:, None]
    chains = {"exact": exact, "loopy": near, "tree": far, "mean-field": drift}
    found = [made_up_chain(m, theta) for m, theta in chains.items()]
    table, away = coronary.measures(found), coronary.distances(found)
    error = 6 / np.sqrt(n)  # false-alarm rate about 1e-8
    np.testing.assert_allclose(away.loc["tree", "distance"], [2, 0], atol=2 * 3 * error)
    np.testing.assert_allclose(away.loc["tree", "sd_ratio"], [1, 3], rtol=error)
    assert table.loc["loopy", "close"] == 1
    assert table.loc["tree", "close"] == 0
    assert table.loc[["exact", "loopy", "tree"], "r_hat"].max() < 1.02
    assert table.loc["mean-field", "r_hat"] > 1.5
    assert table.loc["mean-field", "growth"] > 1.3 * table.loc["exact", "growth"]
    assert table.loc["exact", "important"] == 0
    assert np.isnan(table.loc["exact", "close"])


def fake_cell(data_set, method, truth, centre, sd, rng, ratio=1.0):
    draws = centre + ratio * sd * rng.standard_normal((2, 1500, len(truth)))
    about = {"cell": [data_set, method], "seconds": 1.0, "acceptance": 1.0, "truth": truth}
    return about | common.summary(draws)


def test_coverage_measures(rng):
    """Right posteriors hold 95 %, narrow ones less; the standard errors are those of the means."""
    names = ["reference", "metropolis, exact", "pseudo-posterior"]
    found = []
    for i in range(60):
        truth, sd = rng.normal(size=10), rng.uniform(0.2, 0.5, size=10)
        centre = truth + sd * rng.normal(size=10)
        ratios = [1.0, 1.0, 0.7]
        found += [fake_cell(i, m, truth, centre, sd, rng, q) for m, q in zip(names, ratios, strict=True)]
    table = coverage.measures(found)
    right, narrow = table.loc["metropolis, exact"], table.loc["pseudo-posterior"]
    assert right["data_sets"] == 60
    assert abs(right["sd_ratio"] - 1) < 5 * right["sd_ratio_error"] < 0.02
    assert abs(right["coverage"] - 0.95) < 5 * right["coverage_error"] + 0.002  # quantiles of 3,000 draws
    assert right["coverage_error"] == pytest.approx(np.sqrt(0.95 * 0.05 / 600), rel=0.6)
    assert narrow["sd_ratio"] == pytest.approx(0.7, abs=0.01)
    expected = stats.norm.cdf(0.7 * 1.96) - stats.norm.cdf(-0.7 * 1.96)
    assert abs(narrow["coverage"] - expected) < 5 * narrow["coverage_error"] + 0.002
    assert abs(narrow["coverage"] - 0.95) > 5 * narrow["coverage_error"]
    assert verdicts("coverage", found)[0].holds is True
    assert verdicts("coverage", found)[4].holds is None


def test_labels_data():
    points, seen = labels.draw_points(80)
    assert points.shape == (80, 2)
    assert [(seen == v).sum() for v in (labels.CROSS, labels.RING, labels.HIDDEN)] == [20, 20, 40]
    cross, ring, cluster = (points[i].mean(axis=0) for i in (slice(20), slice(20, 40), slice(60, 80)))
    assert abs(cluster[1] - cross[1]) < 0.5 < abs(cluster[0] - cross[0])
    assert abs(cluster[0] - ring[0]) < 0.5 < abs(cluster[1] - ring[1])
    np.testing.assert_array_equal(points, labels.draw_points(80)[0])


def moments_z(states, form, theta):
    """Largest z of the mean statistics of independent states."""
    expected = Enumeration().infer(form, theta, None).moments
    error = np.sqrt(expected * (1 - expected) / len(states))
    return np.abs((form.statistics(states) - expected) / error).max()


def test_tempering(rng):
    """A frustrated model with strong weights; a few rounds are not enough (control)."""
    model = Boltzmann(graphs.complete(8))
    theta = 3 * rng.standard_normal(model.n_features)
    form = model.pairwise(theta)
    limit = stats.norm.isf(1e-7 / model.n_features)
    # The normal approximation fails for rare events, where a count is compared with its Poisson law.
    states = artificial.tempered(form, 2000, rng, n_rounds=300)
    expected = Enumeration().infer(model, theta, None).moments
    counts = len(states) * model.statistics(states)
    low = stats.binom.cdf(np.round(counts), len(states), expected)
    high = stats.binom.sf(np.round(counts) - 1, len(states), expected)
    assert min(low.min(), high.min()) > 1e-7 / model.n_features
    assert moments_z(artificial.tempered(form, 2000, rng, n_levels=16, n_rounds=1), model, theta) > limit


def test_how_the_data_were_drawn_is_said(seed, monkeypatch):
    settings = Settings("artificial", seed)
    systems = []
    for limit in (2**26, 0):
        monkeypatch.setattr(artificial, "LARGEST", limit)
        artificial.draw_system.cache_clear()
        systems.append(artificial.draw_system(settings, 12, 50, 0, 14, 1.0))

    def refuse(*args):
        raise OptionError("none have coalesced")

    monkeypatch.setattr(artificial.cftp, "draw", refuse)
    artificial.draw_system.cache_clear()
    systems.append(artificial.draw_system(settings, 12, 50, 0, 14, 1.0))
    artificial.draw_system.cache_clear()
    words = ["elimination", "coupling from the past", "parallel tempering, since none have coalesced"]
    for system, word in zip(systems, words, strict=True):
        assert system.how.startswith(word)
        assert system.states.shape == (50, 12)
        np.testing.assert_array_equal(system.theta, systems[0].theta)
        np.testing.assert_array_equal(system.graph.edges, systems[0].graph.edges)


def test_weights_are_scaled_and_biases_are_not(seed):
    settings = Settings("artificial", seed)
    theta = artificial.draw_system(settings, 200, 1, 0, 200, 4.0).theta
    assert theta[:200].std() == pytest.approx(4, abs=1.2)  # 6 standard errors
    assert theta[200:].std() == pytest.approx(1, abs=0.3)


def test_a_graph_too_wide_has_no_exact_posterior(seed, monkeypatch, tmp_path):
    monkeypatch.setattr(artificial, "LARGEST_EXACT", 0)
    plan = QUICK["artificial"]
    record = plan.run(Settings("artificial", seed, quick=True), (0, 24, 1.0, "exact"), tmp_path)
    assert record["skipped"] == "the graph is too wide"
    assert MEASURES["artificial"]([{"cell": [0, 24, 1.0, "exact"], **record}]).empty


def verdict(table, **expectation):
    return evaluate({"finding": "", "source": "", "measure": "x", **expectation}, table).holds


def test_verdicts_on_made_up_tables():
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


@pytest.mark.parametrize("experiment", list(EXPECTED))
def test_stored_results_are_as_expected(experiment):
    found = read(STORED / f"{experiment}.jsonl")
    expected = [finding.get("holds", True) for finding in EXPECTED[experiment]]
    wrong = [str(v) for v, h in zip(verdicts(experiment, found), expected, strict=True) if v.holds is not h]
    assert not wrong
    # control: with every bound turned round, no verdict is as expected
    table = MEASURES[experiment](found)
    for finding, holds in zip(EXPECTED[experiment], expected, strict=True):
        bound = {"below": finding.get("above", -np.inf)} if "above" in finding else {"above": finding["below"]}
        turned = {k: v for k, v in finding.items() if k not in ("above", "below")} | bound
        if not ("above" in finding and "below" in finding):
            assert evaluate(turned, table).holds is not holds
