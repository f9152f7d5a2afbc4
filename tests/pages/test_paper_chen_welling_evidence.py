"""The reproduction of Chen and Welling (2012), evidence: data, samplers, measures."""

from dataclasses import replace

import numpy as np
import pytest

from bayesmrf import datasets
from bayesmrf.evidence.mode import Mode
from bayesmrf.priors import Normal
from papers.chen_welling_2012_evidence import hidden_units, measures, modes, words
from papers.chen_welling_2012_evidence.common import target_of
from papers.chen_welling_2012_evidence.experiments import FULL
from tests.oracle.bounds import assert_mean, assert_other_mean
from tests.pages.test_papers import needs_data


def test_plans_are_the_papers():
    """Points of figures 2, 4, 6 and 7."""
    assert FULL["hidden-units"].candidates == tuple(range(1, 11))
    assert FULL["hidden-units"].sizes[-1] == 625_000
    five = set(FULL["five-words"].points)
    assert five == {(n, 3) for n in (10, 20, 50, 100, 200, 500, 1000)} | {(100, k) for k in range(1, 10)}
    full = FULL["full"].cells(1, ("laplace", "ais"))
    assert {c[2] for c in full if c[3] == "laplace"} == {*range(1, 10), 11, 13}
    assert {c[2] for c in full if c[3] == "ais"} == set(range(1, 10))


def test_true_machines(rng):
    """Probabilities are those of sums over all joint states."""
    seed = rng.integers(2**31)
    states, p = hidden_units.machine(3, np.random.default_rng(seed))
    theta = np.random.default_rng(seed).standard_normal(3 * 5 + 3 + 5)
    w, a, b = theta[:15].reshape(5, 3), theta[15:18], theta[18:]
    hidden = np.arange(32)[:, None] >> np.arange(5) & 1
    joint = np.exp(states @ w.T @ hidden.T + (states @ a)[:, None] + hidden @ b)
    np.testing.assert_allclose(p, joint.sum(axis=1) / joint.sum(), rtol=1e-10)
    assert sorted(map(tuple, states)) == sorted(np.ndindex(2, 2, 2))


def test_documents(rng):
    """Every word occurs where it must; subsets are of distinct postings, and differ."""
    needs_data("full")
    drawn = [words.documents(5, 10, True, rng) for _ in range(50)]
    assert all(rows.shape == (10, 5) and rows.any(axis=0).all() for rows in drawn)
    assert len({rows.tobytes() for rows in drawn}) > 45
    # control: without the condition about three quarters of the subsets lack a word
    free = [words.documents(5, 10, False, rng) for _ in range(50)]
    assert sum(not rows.any(axis=0).all() for rows in free) > 10
    table = datasets.news20()[0].sum()
    every = words.documents(5, 16_242, True, rng).sum(axis=0)
    assert every.tolist() == sorted(table, reverse=True)[:5]


def small_target(rng):
    return target_of(rng.integers(0, 2, (30, 3)), 2)


def test_hamiltonian_leaves_the_posterior_invariant(rng):
    """E[grad] = 0 and E[theta . grad] = -F of the log posterior; a sampler of another prior has neither."""
    target = small_target(rng)
    scale, size = np.full(target.n_features, 0.5), 60

    def sampled_scores(sampled):
        draws, accepted = modes.hamiltonian(
            sampled, np.zeros(target.n_features), scale, 0.3, size, 200, 50, 8, np.random.default_rng(rng)
        )
        assert 0.6 < accepted < 1
        flat = draws.reshape(-1, target.n_features)
        slope = target.log_likelihoods(flat)[1] + target.prior.gradient(flat)
        each = np.column_stack([slope, (flat * slope).sum(axis=1) + target.n_features])
        return each.reshape(size, 200, -1)

    assert_mean(sampled_scores(target), 0)
    assert_other_mean(sampled_scores(replace(target, prior=Normal(0.7))), 0)


def test_draws_of_other_modes_are_brought_to_one(rng):
    """Exchanged units are put back, and the density is the same; draws that are near already are left alone."""
    target = small_target(rng)
    theta = rng.normal(0, 3, target.n_features)
    mode = Mode(target, theta, True, None, 0, "")
    near = theta + 0.01 * rng.standard_normal((40, target.n_features))
    swapped = near.copy()
    swapped[:, target.units.ravel()] = near[:, target.units[::-1].ravel()]
    hessian = np.diag(rng.uniform(0.5, 2, target.n_features))
    found, moved = modes.nearest(mode, np.vstack([near, swapped]), hessian)
    np.testing.assert_array_equal(found, np.vstack([near, near]))
    assert moved == 0.5
    np.testing.assert_allclose(target.log_likelihoods(swapped)[0], target.log_likelihoods(near)[0])


def test_slices_are_of_the_posterior(rng):
    """Density, its half width, integral and curvature along a direction, by sums over all states of the machine."""
    target = small_target(rng)
    found = modes.slices(target, rng, n_steps=500)["slices"]
    assert len(found) == 3
    seed = int(rng.integers(2**31))
    theta = modes.ModeSearch(n_steps=500)(target, np.random.default_rng(seed)).theta
    mode = Mode(target, theta, True, None, 0, "")
    direction = np.linalg.eigh(mode.curvature)[1][:, 0]
    one = modes.slices(target, np.random.default_rng(seed), n_steps=500)["slices"][0]

    def density(t):
        points = np.atleast_1d(t)[:, None] * direction + theta
        value = target.log_likelihoods(np.vstack([theta, points]))[0]
        value += target.prior.log_density(np.vstack([theta, points])).sum(axis=1)
        return np.exp(value[1:] - value[0])

    np.testing.assert_allclose(one["density"], density(one["t"]), rtol=1e-6)
    np.testing.assert_allclose(density([one["left"], one["right"]]), 0.5, atol=1e-3)
    near = np.log(density([-1e-2, 1e-2]))
    assert -near.sum() / 1e-4 == pytest.approx(one["eigenvalue"], rel=1e-2)
    wide = np.linspace(-30, 30, 6001)
    assert one["posterior"] == pytest.approx(density(wide).sum() * 0.01, rel=0.02)
    # control: another direction has another curvature
    assert -near.sum() / 1e-4 != pytest.approx(found[-1]["eigenvalue"], rel=1e-2)


def test_integrals_of_made_up_slices():
    one = {"normal": 3.0, "trapezoid": 2.2, "posterior": 2.0}
    records = [{"cell": [0, 500, 3, "slices"], "seconds": 1.0, "slices": [one, one | {"normal": None}]}]
    found = measures.of_words(records).set_index(["curve", "method"])["integral_ratio"]
    assert found.to_dict() == {("slices", "laplace0"): 1.5, ("slices", "laplace"): pytest.approx(1.1)}
    records[0]["slices"] = [one | {"normal": None}]  # a direction that curves upwards has no normal
    found = measures.of_words(records).set_index(["curve", "method"])["integral_ratio"]
    assert np.isnan(found["slices", "laplace0"])


def made_up(values, parts=None):
    """Records of one subset: log evidences by (n, k) and method."""
    return [
        {
            "cell": [0, n, k, method],
            "seconds": 1.0,
            "rows": [{"method": method, "millinats": round(1000 * v) if np.isfinite(v) else None, "error": 0.1,
                      "parts": parts or {}, "status": ""}],
        }
        for (n, k, method), v in values.items()
    ]  # fmt: skip


def test_measures_of_made_up_evidences():
    values = {}
    for n, k in ((10, 3), (100, 3), (100, 1), (100, 9)):
        values |= {(n, k, "ais"): -10.0 * n, (n, k, "laplace"): -10.1 * n, (n, k, "map"): -11.0 * n}
        values |= {(n, k, "laplace0"): (-9.8 if k == 9 else -10.2) * n, (n, k, "dic"): -10.0 * n}
    values[100, 1, "laplace"] = np.nan
    found = measures.of_words(made_up(values)).set_index(["curve", "method"])
    assert found.loc[("documents", "laplace"), "worst"] == pytest.approx(0.1)
    assert found.loc[("documents", "map"), "highest"] == pytest.approx(-1.0)
    assert found.loc[("documents", "laplace"), "closest"] == 1
    assert found.loc[("units", "laplace"), "closest"] == pytest.approx(2 / 3)  # laplace0 is nearer where it is unknown
    assert found.loc[("units", measures.EITHER), "closest"] == 1
    assert found.loc[("units", "laplace0"), "last"] == pytest.approx(0.2)
    assert found.loc[("units", "laplace"), "above_laplace0"] == pytest.approx(-30)
    # a method that is right everywhere takes the first place
    worse = measures.of_words(made_up(values | {(n, 3, "bic"): -10.0 * n for n in (10, 100)}))
    worse = worse.set_index(["curve", "method"])
    assert worse.loc[("documents", "laplace"), "closest"] == 0
    assert worse.loc[("documents", measures.EITHER), "closest"] == 0


def test_choices_of_made_up_scores():
    values, folds = {}, {"sd_over_folds": 0.2}
    for n, best in ((100, 2), (1000, 5)):
        values |= {(n, k, "laplace"): -float(n) - abs(k - best) for k in range(1, 9)}
    found = measures.of_units(made_up(values))
    assert found.set_index("n")["chosen"].to_dict() == {100: 2, 1000: 5}
    assert found.set_index("n")["rise"].to_dict() == {100: 0, 1000: 3}
    cv = {(100, k, "cross-validation"): 100 * (-6.0 - 0.1 * abs(k - 7)) for k in range(1, 9)}
    one = measures.of_units(made_up(cv, folds)).iloc[0]
    assert one["chosen"] == 7
    assert one["within"] == pytest.approx(4 / 8)  # 5 to 8: 7 +- 2
    del values[100, 3, "laplace"]
    assert set(measures.of_units(made_up(values))["n"]) == {1000}
