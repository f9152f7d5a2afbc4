"""Posterior predictive checks: their statistics, their level, and what they find."""

import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF
from bayesmrf.answers.checks.shown import _name
from bayesmrf.answers.registry import table_of as table_of_result
from bayesmrf.errors import ModelFitWarning, OptionError
from bayesmrf.findings import loaded
from bayesmrf.results.predictive_checks import LEVEL, Family, Name, holm, judged, less_given, quantities
from bayesmrf.show.style import axes

RUN = {"n_draws": 150, "n_warmup": 100, "n_chains": 2, "progress": False, "random_state": 3}


def table_of(rng, n, size=0.0, d=5, weight=0.0):
    """Yes/no rows with equal weights of all pairs, and an interaction of the first three nodes."""
    every = np.indices((2,) * d).reshape(d, -1).T
    spins = 2 * every - 1
    pairs = sum(spins[:, i] * spins[:, j] for i, j in combinations(range(d), 2))
    log_p = weight * pairs + size / 8 * spins[:, :3].prod(axis=1)
    p = np.exp(log_p)
    return every[rng.choice(len(every), n, p=p / p.sum())]


def test_statistics_are_those_of_a_loop(rng):
    sizes, ordered = [2, 3, 4, 2, 3], [True, True, True, True, False]
    x = np.stack([rng.integers(0, m, 60) for m in sizes], axis=1).astype(np.int8)
    q = quantities(x, sizes, ordered, np.arange(5))
    found = q.of(x)
    scores = np.zeros(x.shape)
    for i in range(5):
        if not ordered[i]:
            scores[:, i] = x[:, i] == np.bincount(x[:, i]).argmax()
        else:
            scores[:, i] = x[:, i] if sizes[i] == 2 else (x[:, i] - x[:, i].mean()) / x[:, i].std()
    pairs, triples = list(combinations(range(5), 2)), list(combinations(range(5), 3))
    np.testing.assert_allclose(found["pairs"], [(scores[:, i] * scores[:, j]).sum() for i, j in pairs], atol=1e-3)
    products = [(scores[:, i] * scores[:, j] * scores[:, k]).sum() for i, j, k in triples]
    np.testing.assert_allclose(found["triples"], products, atol=1e-3)
    total = x[:, :4].sum(axis=1)
    assert found["sums"].sum() == 60
    np.testing.assert_array_equal(found["sums"][:3], [(total == 0).sum(), (total == 1).sum(), (total == 2).sum()])
    given, lower = found["given"], [scores.sum(axis=0), found["pairs"], [total.sum(), (total**2).sum()]]
    np.testing.assert_allclose(given, np.concatenate(lower), atol=1e-3)
    i, j, k = triples[4]
    below = [scores[:, [i]].sum(), scores[:, [j]].sum(), scores[:, [k]].sum()]
    below += [(scores[:, a] * scores[:, b]).sum() for a, b in ((i, j), (i, k), (j, k))]
    np.testing.assert_allclose(given[q.given("triples")[4]], below, atol=1e-3)


def test_residuals_are_those_of_least_squares(rng):
    others = rng.normal(size=(80, 4))
    replicated = others @ rng.normal(size=(4, 3)) + rng.normal(size=(80, 3))
    given, observed, at = rng.normal(size=(1, 4)), rng.normal(size=(1, 3)), np.array([[0, 1], [1, 3], [2, 3]])
    left, right, expected = less_given(observed, replicated, given, others, at)
    for j in range(3):
        X = np.column_stack([np.ones(80), others[:, at[j]]])
        slope = np.linalg.lstsq(X, replicated[:, j], rcond=None)[0]
        predicted = slope[0] + given[0, at[j]] @ slope[1:]
        np.testing.assert_allclose(right[:, j], replicated[:, j] - X @ slope, atol=1e-6)
        np.testing.assert_allclose([left[0, j], expected[j]], [observed[0, j] - predicted, predicted], atol=1e-6)


def test_holm():
    assert holm([0.01, 0.5, 0.02]) == pytest.approx([0.03, 0.5, 0.04])


def flagged(rng, shift, n=300):
    """In how many of n data sets anything is outside, of two families of 20 statistics that depend on each other."""
    found = 0
    for _ in range(n):
        common = rng.normal(size=(401, 1, 1))
        values = 10 * (common + rng.normal(size=(401, 2, 20)))
        values[0, 0, 0] += shift
        families = [Family(name, values[:1, f], values[1:, f], np.zeros(20)) for f, name in enumerate("ab")]
        found += judged(families, dict.fromkeys("ab", [Name("", "", 1.0)] * 20))["outside"].any()
    return found


def test_false_alarms_of_all_checks_together(rng):
    assert flagged(rng, 0.0) <= binom.ppf(1 - 1e-6, 300, LEVEL)
    assert flagged(rng, 80.0, 30) > 25  # 5.6 standard errors of one of forty


def told(est, *data):
    """Fit, and return what is told of the fit of the model."""
    with pytest.warns(ModelFitWarning) as found:
        est.fit(*data)
    return est, [str(one.message) for one in found]


@pytest.fixture(scope="module")
def planted(module_rng):
    """A run on a table with an interaction of three nodes."""
    X = table_of(module_rng, 600, size=6.0)
    est, texts = told(SpikeSlabMRF(**RUN), X)
    assert any(re.search("0, 1 and 2 are all yes in .* rows; the model predicts", text) for text in texts)
    return X, est


def test_an_interaction_of_three_is_found(planted):
    _, est = planted
    frame = est.table("checks")
    assert list(frame["what"][frame["outside"] & (frame["family"] == "triples")]) == ["0, 1 and 2"]
    assert frame["what"].iloc[0] == "0, 1 and 2"
    kinds = {one.kind: one.severity for one in loaded(est.posterior_.attrs["findings"])}
    assert kinds == {"ModelFitWarning": "fair"}


def test_a_stored_run_has_its_checks(planted, tmp_path):
    _, est = planted
    bayesmrf.save(est, tmp_path / "run")
    again = bayesmrf.load(tmp_path / "run")
    pd.testing.assert_frame_equal(again.table("checks"), est.table("checks"), check_dtype=False)
    page = bayesmrf.write_report(again, tmp_path / "report.html").read_text()
    assert "Does the model fit?" in page
    assert "0, 1 and 2 are all yes" in page
    assert bayesmrf.plots.plot_checks(again).get_yticklabels()[2].get_text() == "triples"


def test_checks_of_new_data(planted, rng):
    X, est = planted
    weights = rng.integers(0, 3, len(X))
    frame = est.predictive_checks(X, sample_weight=weights, random_state=1)
    assert frame["what"][frame["outside"]].iloc[0] == "0, 1 and 2"
    pd.testing.assert_frame_equal(frame, est.predictive_checks(X, sample_weight=weights, random_state=1))
    pd.testing.assert_frame_equal(frame, est.predictive_checks(np.repeat(X, weights, axis=0), random_state=1).assign(
        what=frame["what"]))  # but for the numbers of rows  # fmt: skip


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.UnobservedPairsWarning")
@pytest.mark.parametrize("estimator", [SpikeSlabMRF, BayesianMRF, GroupedMRF])
def test_a_true_model_is_not_flagged(estimator, rng):
    X = table_of(rng, 300, weight=0.2).astype(float)
    gate = X[:, 0] == 0  # of those who say no, the next answer is not known
    X[gate, 1] = np.nan
    est = estimator(**RUN).fit(X)
    assert "ModelFitWarning" not in est.posterior_.attrs["findings"]
    frame = est.table("checks")
    assert not frame["outside"].any()
    assert len(frame[frame["family"] == "triples"]) == 10


def test_names_of_checks_do_not_overlap(rng):
    ax = axes(None, (6.0, 3.0))
    ax.set(xlim=(-3, 3), ylim=(4, -1))
    marks = [(x, y, f"family {y:.0f}", "a name of twenty let") for y in (0.0, 0.05, 3.0) for x in (-1.0, -0.9, 2.0)]
    _name(ax, marks)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) >= 3
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_an_improbable_row_is_found(rng):
    X = (rng.random((400, 8)) < 0.04).astype(int)
    X[17] = 1
    est, texts = told(BayesianMRF(**RUN), X)
    assert any("row 17 is" in text for text in texts)
    frame = est.table("checks")
    assert list(frame["what"][frame["outside"] & (frame["family"] == "rows")]) == ["row 17"]
    for name in ("row 17", "row 18"):
        made = table_of_result(est, "checks")
        assert f"{name} is " in made.lead
        assert made.wide.rows["what"].tolist().count(name) == 1
        assert name in [text.get_text() for text in bayesmrf.plots.plot_checks(est).texts]
        assert "row 17" in made.frame["what"].tolist()
        est.posterior_.attrs["command"] = "bayesmrf posterior t.csv"  # which counts rows of files from 1


def test_the_group_is_named(rng):
    X = np.concatenate([table_of(rng, 300), table_of(rng, 300, size=7.0)])
    est, texts = told(CompareMRF(**RUN), X, np.repeat(["a", "b"], 300))
    assert any("in group b; the model predicts" in text for text in texts)
    frame = est.table("checks")
    assert set(frame["group"]) == {"a", "b"}
    assert set(frame["group"][frame["outside"]]) == {"b"}
    again = est.predictive_checks(X, np.repeat(["a", "b"], 300), random_state=0)
    assert set(again["group"][again["outside"]]) == {"b"}


def test_ordered_answers_and_chains(rng):
    X = rng.integers(0, 4, (300, 6))  # more states than are listed
    three = rng.random(300) < 0.6
    X[three, 2] = np.where((X[three, 0] > 1) == (X[three, 1] > 1), 3, 0)
    _, texts = told(SpikeSlabMRF(**RUN), X)
    assert any("mean product of the standardised 0, 1 and 2 is" in text for text in texts)


def test_a_short_run_is_not_checked(rng):
    est = SpikeSlabMRF(**RUN | {"n_draws": 40}).fit(table_of(rng, 100))
    with pytest.raises(OptionError, match="table of this result"):
        est.table("checks")
    with pytest.raises(OptionError, match=r"use est\.predictive_checks, or run more draws"):
        bayesmrf.plots.plot_checks(est)
