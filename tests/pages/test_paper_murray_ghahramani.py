"""The reproduction of Murray and Ghahramani (2004): chains that were stopped, data and measures."""

import numpy as np
import pytest
from scipy import stats

from bayesmrf import graphs
from bayesmrf.engines import Enumeration
from bayesmrf.errors import OptionError
from bayesmrf.models import Boltzmann
from papers.murray_ghahramani_2004 import artificial, common, coronary, coverage, labels
from papers.murray_ghahramani_2004.__main__ import PAPER
from papers.murray_ghahramani_2004.common import Settings
from papers.murray_ghahramani_2004.experiments import MEASURES, QUICK
from tests.oracle.bounds import (
    assert_estimate,
    assert_mean,
    assert_other_estimate,
    assert_other_mean,
    assert_other_share,
    assert_share,
)


@pytest.fixture
def seed(rng):
    return int(rng.integers(2**31))


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

    class Stopped(common.BayesianMRF):
        def fit(self, *args, **kwargs):
            super().fit(*args, **kwargs)
            self.posterior_.attrs["complete"] = False
            return self

    monkeypatch.setattr(common, "BayesianMRF", Stopped)
    with pytest.raises(KeyboardInterrupt):
        common.fit(X, options, seeds)


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
    shifted = coronary.measures([*found, made_up_chain("loopy-ratio", 3 * near + [0.5, 1.0])])
    assert shifted.loc["loopy-ratio", "sd_to_loopy"] == pytest.approx(3)
    # The means of loopy are 1 and -1, tripled by the scaling: 2 + 0.5 and -2 + 1 sds of 1 and 2.
    assert shifted.loc["loopy-ratio", "from_loopy"] == pytest.approx(np.median([2.5, 0.5]), abs=6 * error)


def test_engines_of_figure_1(rng):
    """Equation (8) takes moments alone; reused random numbers make the moments a function of theta."""
    model, n = Boltzmann(graphs.complete(4)), 2000
    theta = rng.standard_normal(model.n_features)
    expected = Enumeration().infer(model, theta, None).moments
    for engine, reused in ((coronary.FromExact(n_samples=n), False), (coronary.Reused(n_samples=n), True)):
        plan, memory = engine.prepare(model), engine.start(model, rng)
        first = engine.infer(model, theta, plan, "moments", memory)
        second = engine.infer(model, theta, plan, "moments", first.state)
        assert np.array_equal(first.moments, second.moments) == reused
        assert_share(n * second.moments, n, expected)
    X = rng.integers(0, 2, (50, 4))
    for engine, by_moments in (("bethe", False), (coronary.Expectations(), True)):
        estimator = common.BayesianMRF("complete", kernel="metropolis", engine=engine, n_draws=20, progress=False)
        solves = estimator.fit(X).posterior_["sample_stats"]["n_solves"].values
        assert (solves < model.n_features).any() == by_moments  # a solve for each accepted move, or for each proposal


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
    assert_estimate(right["sd_ratio"], 1, right["sd_ratio_error"])
    assert right["sd_ratio_error"] < 0.004
    assert_estimate(right["coverage"], 0.95, right["coverage_error"], bias=0.002)  # quantiles of 3,000 draws
    assert right["coverage_error"] == pytest.approx(np.sqrt(0.95 * 0.05 / 600), rel=0.6)
    assert narrow["sd_ratio"] == pytest.approx(0.7, abs=0.01)
    expected = stats.norm.cdf(0.7 * 1.96) - stats.norm.cdf(-0.7 * 1.96)
    assert_estimate(narrow["coverage"], expected, narrow["coverage_error"], bias=0.002)
    assert_other_estimate(narrow["coverage"], 0.95, narrow["coverage_error"])
    assert PAPER.verdicts("coverage", found)[0].holds is True
    assert PAPER.verdicts("coverage", found)[4].holds is None


def test_labels_data():
    points, seen = labels.draw_points(80)
    assert points.shape == (80, 2)
    assert [(seen == v).sum() for v in (labels.CROSS, labels.RING, labels.HIDDEN)] == [20, 20, 40]
    cross, ring, cluster = (points[i].mean(axis=0) for i in (slice(20), slice(20, 40), slice(60, 80)))
    assert abs(cluster[1] - cross[1]) < 0.5 < abs(cluster[0] - cross[0])
    assert abs(cluster[0] - ring[0]) < 0.5 < abs(cluster[1] - ring[1])
    np.testing.assert_array_equal(points, labels.draw_points(80)[0])


def test_tempering(rng):
    """A frustrated model with strong weights; a few rounds are not enough (control)."""
    model = Boltzmann(graphs.complete(8))
    theta = 3 * rng.standard_normal(model.n_features)
    expected, n = Enumeration().infer(model, theta, None).moments, 2000
    for n_rounds, check in ((300, assert_share), (1, assert_other_share)):
        states = artificial.tempered(model.pairwise(theta), n, rng, n_rounds=n_rounds)
        check(n * model.statistics(states), n, expected)


def test_sparse_chains():
    points, seen = labels.draw_chains(40)
    distance = np.hypot(*(points[:, None] - points).transpose(2, 0, 1)) + 9 * np.eye(40)
    assert ((distance < 0.9).sum(axis=1) <= 2).all()
    assert [(seen == v).sum() for v in (labels.CROSS, labels.RING, labels.HIDDEN)] == [10, 10, 20]


def test_how_the_data_were_drawn_is_said(seed, monkeypatch):
    settings = Settings("artificial", seed)
    systems = []
    for limit in (2**26, 0):
        monkeypatch.setattr(artificial, "LARGEST", limit)
        artificial.draw_system.cache_clear()
        systems.append(artificial.draw_system(settings, 12, 50, 0, 14, 1.0))

    def refuse(*args):
        raise OptionError("none have coalesced")

    monkeypatch.setattr(artificial.cftp, "sample_exact", refuse)
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
    assert_mean(theta[:200, None] ** 2, 16)
    assert_mean(theta[200:, None] ** 2, 1)
    assert_other_mean(theta[:200, None] ** 2, 1)


def test_a_graph_too_wide_has_no_exact_posterior(seed, monkeypatch, tmp_path):
    monkeypatch.setattr(artificial, "LARGEST_EXACT", 0)
    plan = QUICK["artificial"]
    record = plan.run(Settings("artificial", seed, quick=True), (0, 24, 1.0, "exact"), tmp_path)
    assert record["skipped"] == "the graph is too wide"
    assert MEASURES["artificial"]([{"cell": [0, 24, 1.0, "exact"], **record}]).empty
