"""Simulation-based calibration as a function: its tests, what it finds, and what it refuses."""

import numpy as np
import pytest
from scipy.stats import binom

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, calibrate
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.estimators.calibration import FromPrior, position
from bayesmrf.priors import Beta, Cauchy, Normal, SpikeSlab
from bayesmrf.results.calibration import LEVEL, Calibration, smallest_tail, uniform_tails

RUN = {"n_draws": 150, "n_warmup": 60, "n_chains": 1, "progress": False}
PRIOR = SpikeSlab(0.5, Normal(1.0), bias_scale=0.3)
EST = SpikeSlabMRF(**RUN, prior=PRIOR, method="exact")
HERE = {"n_jobs": 1, "progress": False}


def test_positions_of_the_truth(rng):
    draws = np.array([0.0, 0, 1, 2])
    places = np.array([position(draws, 0.0, rng) for _ in range(3000)])
    assert places.min() > 0
    assert places.max() < 3 / 5
    assert abs(places.mean() - 0.3) < 5 * 0.6 / np.sqrt(12 * 3000)
    assert 4 / 5 < position(draws, 3.0, rng) < 1


def test_smallest_tail_is_that_of_a_loop(rng):
    u = rng.random(30)
    tails = []
    for z in np.arange(1, 50) / 50:
        k = int((u <= z).sum())
        tails += [binom.cdf(k, 30, z), binom.sf(k - 1, 30, z)]
    assert smallest_tail(u) == pytest.approx(min(tails))


def test_false_alarms_of_the_test(rng):
    null = uniform_tails(40)
    low = (smallest_tail(rng.random((2000, 40))) < np.quantile(null, 0.05)).sum()
    # The quantile of 4,000 simulations has an error, too: within 0.067 but for 1e-6.
    assert binom.ppf(1e-6, 2000, 0.03) <= low <= binom.ppf(1 - 1e-6, 2000, 0.067)


def made(rng, power):
    """Replicates of edges that exist with a probability, whose odds are claimed to be another power."""
    rows = []
    for _ in range(150):
        p = rng.random(8)
        odds = (p / (1 - p)) ** power
        pit = {"theta": rng.random()}
        exists = (rng.random(8) < p).astype(int).tolist()
        rows.append({"pit": pit, "inclusion": (odds / (1 + odds)).tolist(), "exists": exists, "verdict": "good"})
    return Calibration(rows, "made up")


def test_inclusion_that_claims_too_much_is_found(rng):
    right, wrong = made(rng, 1.0), made(rng, 3.0)
    p = [one.frame.set_index("quantity").loc["inclusion", "p_value"] for one in (right, wrong)]
    assert p[0] > 1e-6 > p[1]
    assert not wrong.is_calibrated
    table = right.inclusion
    assert (np.abs(table["exists"] - table["inclusion"]) < 6 * table["error"] + 0.05).all()
    assert table["edges"].sum() == 8 * 150


def test_a_calibrated_estimator_passes_and_a_wrong_prior_is_found():
    right = calibrate(EST, 40, nodes=2, replicates=40, **HERE)
    wrong = calibrate(EST, 40, nodes=2, replicates=40, prior=SpikeSlab(0.5, Normal(1.0), bias_scale=6.0), **HERE)
    assert set(right.pit) == {"theta[x1-x2]", "theta[x1]", "theta[x2]", "number of edges"}
    bound = 1e-6 / (2 * 49 * 4)  # each of 49 points has two tails, and there are four quantities
    assert min(smallest_tail(u) for u in right.pit.values()) > bound
    assert min(smallest_tail(u) for u in wrong.pit.values()) < bound
    assert not wrong.is_calibrated
    assert wrong.sentence.startswith("Not calibrated: over 40 tables the positions of ")
    assert wrong.frame["coverage_90"].min() < 0.7
    assert wrong.frame["p_adjusted"].iloc[0] < LEVEL
    lines = bayesmrf.plots.plot_calibration(wrong).get_lines()
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("est", "levels", "n_pit"),
    [
        (SpikeSlabMRF(**RUN, prior=SpikeSlab(Beta(1.0, 1.0), Cauchy(1.0), 1.0)), 3, 3 + 6 + 1),
        (CompareMRF(**RUN, prior=PRIOR), 2, 2 * (3 + 3) + 1),
        (BayesianMRF(**RUN), 2, 3 + 3),
    ],
)
def test_estimators_of_networks(est, levels, n_pit, tmp_path):
    found = calibrate(est, 60, nodes=3, levels=levels, replicates=2, folder=tmp_path / "study", **HERE)
    assert len(found.pit) == n_pit
    assert len(found.replicates[0]["inclusion"]) == (0 if isinstance(est, BayesianMRF) else 3)
    more = calibrate(est, 60, nodes=3, levels=levels, replicates=3, folder=tmp_path / "study", **HERE)
    assert more.replicates[:2] == found.replicates
    with pytest.raises(StoreError, match="contains a study with another setting"):
        calibrate(est, 61, nodes=3, levels=levels, replicates=2, folder=tmp_path / "study", **HERE)


def test_truths_have_the_prior(rng):
    source = FromPrior(SpikeSlabMRF(prior=SpikeSlab(0.3, Normal(2.0), 0.5)), 4, 2)
    thetas = np.array([source.truth(rng).thetas[0] for _ in range(800)])
    there = thetas[:, :6] != 0
    assert abs(there.mean() - 0.3) < 5 * np.sqrt(0.21 / there.size)
    assert thetas[:, :6][there].std() == pytest.approx(2.0, rel=5 / np.sqrt(2 * there.sum()))
    assert thetas[:, 6:].std() == pytest.approx(0.5, rel=5 / np.sqrt(2 * 3200))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"estimator": GroupedMRF()}, "estimator must be a SpikeSlabMRF, CompareMRF or BayesianMRF"),
        ({"estimator": SpikeSlabMRF(candidates=[("a", "b")])}, "candidates must be 'complete' in a calibration"),
        ({"estimator": BayesianMRF(prior=Cauchy(1.0))}, "prior must be a prior that can be sampled"),
        ({"n": 1}, "n must be"),
        ({"nodes": 1}, "nodes must be"),
        ({"replicates": 0}, "replicates must be"),
    ],
)
def test_wrong_options_are_refused(given, message):
    with pytest.raises(OptionError, match=message):
        calibrate(**{"estimator": EST, "n": 30, "replicates": 1} | HERE | given)
