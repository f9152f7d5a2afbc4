"""The reproduction of Chen and Welling (2012): data, competitors, measures."""

import math

import numpy as np
import pytest

from bayesmrf.engines import Enumeration
from bayesmrf.models import Boltzmann
from papers.chen_welling_2012_structure import baselines, calibration, curves, data, measures
from papers.chen_welling_2012_structure.__main__ import PAPER
from papers.chen_welling_2012_structure.common import LEARNT, PATH
from tests.oracle.bounds import assert_mean, assert_other_mean


def test_true_models(rng):
    """Sizes as in the paper; the Boltzmann machine has the law of the Ising model."""
    truth = data.lattice(10, rng)
    assert truth.model.n_edges == 4950
    assert truth.there.sum() == 180
    counts = [data.block(12, rng).there.sum() for _ in range(200)]
    assert_mean(np.array(counts)[:, None], 18 * 0.8 + 48 * 0.1)
    u, v = data.block(12, rng).model.graph.edges.T
    block = data.block(12, rng)
    assert (block.theta[: len(u)][u // 4 == v // 4] >= 0).all()
    # the Ising weights, read off the Boltzmann machine, have the scale that was asked for
    form = truth.model.pairwise(truth.theta)
    assert_mean(form.coupling[truth.there, None] ** 2, data.EDGE_SCALE**2)
    assert_mean(form.field[:, None] ** 2, data.BIAS_SCALE**2)
    assert np.abs(form.field).max() < 0.7
    control = Boltzmann(truth.model.graph).pairwise(np.concatenate([truth.theta[:4950], np.zeros(100)]))
    assert_other_mean(control.field[:, None] ** 2, data.BIAS_SCALE**2)
    assert np.abs(control.field).max() > 0.7  # biases that do not undo the weights


def test_conditional_likelihood(rng):
    """A square given the rest, against sums over all states."""
    truth = data.lattice(4, rng)
    states = truth.draw(12, rng)
    test = data.windows(states, (4, 4), rng)
    assert sorted(np.concatenate([rows for _, rows in test.groups])) == list(range(12))
    u, v = truth.model.graph.edges.T

    def energy(x):
        return (x[:, u] * x[:, v]) @ truth.theta[: len(u)] + x @ truth.theta[len(u) :]

    total = 0.0
    for group, rows in test.groups:
        assert len(set(group % 4)) == len(set(group // 4)) == 3
        for row in rows:
            every = np.tile(states[row], (2**9, 1))
            every[:, group] = np.arange(2**9)[:, None] >> np.arange(9) & 1
            total += energy(states[[row]])[0] - np.logaddexp.reduce(energy(every))
    assert test.of_model(truth.model, truth.theta) == pytest.approx(total / 12, abs=1e-9)
    assert test.of_model(truth.model, 0.5 * truth.theta) != pytest.approx(total / 12, abs=1e-6)
    # all states: minus the entropy
    truth = data.block(6, rng)
    every = data.all_states(truth)
    p = np.exp(every.of_model(truth.model, truth.theta))
    found = Enumeration().infer(truth.model, truth.theta, None)
    assert np.log(p) == pytest.approx(truth.theta @ found.moments - found.log_z, abs=1e-6)


def test_competitors(rng):
    """Conditions of optimality; the path grows; without a penalty the two meet the pseudo-likelihood's maximum."""
    truth = data.block(6, rng)
    x = truth.draw(400, rng)
    model, y = truth.model, x.astype(float)
    penalties = baselines._penalties(x)
    u, v = model.graph.edges.T
    counts = []
    for penalty, theta in zip(penalties, baselines.path(x, "pseudo-l1", model), strict=True):
        w = np.zeros((6, 6))
        w[u, v] = w[v, u] = theta[:15]
        rest = 1 / (1 + np.exp(-(y @ w + theta[15:]))) - y
        slope = (y.T @ rest + rest.T @ y)[u, v] / len(y)
        there = theta[:15] != 0
        np.testing.assert_allclose(slope[there], -penalty * np.sign(theta[:15][there]), atol=2e-5)
        assert (np.abs(slope[~there]) <= penalty + 2e-5).all()
        np.testing.assert_allclose(rest.mean(axis=0), 0, atol=2e-5)
        counts.append(there.sum())
    assert counts[0] <= 1
    assert counts[-1] > 10
    larger, smaller = (baselines.path(x, f"wainwright-{rule}", model) for rule in ("max", "min"))
    for a, b in zip(larger, smaller, strict=True):
        assert (np.abs(a[:15]) >= np.abs(b[:15])).all()
    assert any((np.abs(a[:15]) > np.abs(b[:15])).any() for a, b in zip(larger, smaller, strict=True))
    # a node that never varies keeps a finite bias and no edges
    x[:, 2] = 0
    for method in ("pseudo-l1", "wainwright-max"):
        theta = baselines.choose(x, method, model)
        assert not theta[:15][(u == 2) | (v == 2)].any()
        assert theta[15 + 2] == pytest.approx(-np.log(400.5 / 0.5), abs=1e-6)


def small(method, rng, power, n=150):
    """Made-up answers: pairs exist with probability p, inclusion is said to be p^power."""
    found = []
    for i in range(n):
        p = rng.uniform(0, 1, 15)
        there = (rng.random(15) < p).astype(int)
        about = {"edges": int(there.sum()), "false": 0, "missed": 0, "seconds": 0.1}
        found.append({"cell": [i, 100, method, "small"], "inclusion": p**power, "true": there, **about})
    return found


def test_reliability(rng):
    """Right probabilities lie on the line, those that are too sure do not."""
    found = small("exact", rng, 1.0) + small("langevin", rng, 2.0)
    table = calibration.measures(found).set_index("method")
    assert table.loc["exact", "p_value"] > 1e-6
    assert table.loc["exact", "away"] < 0.06
    assert table.loc["langevin", "p_value"] < 1e-6
    curve = calibration.reliability(found)
    assert curve.groupby("method")["pairs"].sum().eq(150 * 15).all()
    mine = curve[curve["method"] == "exact"]
    middle = mine["inclusion"]
    np.testing.assert_allclose(mine["error"], np.sqrt(middle * (1 - middle) / mine["pairs"]), rtol=0.5)
    assert PAPER.verdicts("calibration", found)[2].holds is False


def test_measures_of_made_up_curves():
    """Peaks, losses and shares of curves that are known."""

    def cell(method, setting, points):
        rows = [
            {"model": method, "density": d, "cll": c, "f1": 0.5, "precision": 0.5, "recall": 0.5, "strength": 1.0}
            for d, c in points
        ]
        return {"cell": [0, 100, method, setting], "seconds": 1.0, "best": 0.0, "true_density": 0.2, "rows": rows}

    densities = np.array([0.01, 0.05, 0.2, 0.7, 0.99])
    flat = [cell("exact", f"{d:g}", [(d, -0.1 * abs(np.log(d / 0.2)))]) for d in densities]
    steep = cell("pseudo-l1", PATH, [(d, -0.05 - abs(np.log(d / 0.7))) for d in densities])
    learnt = cell("exact", LEARNT, [(0.22, 0.0)])
    table = measures.of_curves([*flat, steep, learnt]).set_index("method")
    assert table.loc["exact", "peak_ratio"] == pytest.approx(1)
    assert table.loc["pseudo-l1", "peak_ratio"] == pytest.approx(3.5)
    assert table.loc["exact", "dense_loss"] == pytest.approx(0.1 * np.log(3.5))
    assert 0.5 < table.loc["exact", "share_above"] < 1
    assert table.loc["exact", "density_ratio"] == pytest.approx(1.1)
    assert table.loc["exact", "cll_gain"] == pytest.approx(0.05)
    assert table.loc["exact", "beaten"] == 0


def test_mixing(rng):
    """The autocorrelation time of an autoregression is (1 + a) / (1 - a)."""
    for a in (0.0, 0.8):
        noise = rng.standard_normal((40_000, 2))
        x = np.zeros_like(noise)
        for t in range(1, len(x)):
            x[t] = a * x[t - 1] + noise[t]
        found = np.mean(curves._mixing(x[None])["time"])
        assert found == pytest.approx((1 + a) / (1 - a), rel=0.3)


def test_a_curve_without_an_edge_is_nowhere():
    nothing = np.zeros(0)
    assert np.isnan(measures.at(nothing, nothing, measures.GRID)).all()
    one = measures.at(np.array([0.1]), np.array([-2.0]), np.array([0.05, 0.1, 0.2]))
    np.testing.assert_array_equal(np.isnan(one), [True, False, True])


def test_a_truth_without_edges_has_no_recall(rng):
    truth = data.block(6, rng)
    none = truth._replace(theta=np.where(np.arange(len(truth.theta)) < truth.model.n_edges, 0.0, truth.theta))
    found = curves._recovery(none, np.ones(none.model.n_edges))
    assert math.isnan(found["recall"])
    assert math.isnan(found["f1"])
    assert found["false"] == none.model.n_edges
    there = curves._recovery(truth, truth.theta[: truth.model.n_edges])
    assert truth.there.sum() == 0 or there["recall"] == there["f1"] == 1
