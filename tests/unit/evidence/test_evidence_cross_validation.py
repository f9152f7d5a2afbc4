"""Cross-validation: its score against the true model's, whatever way counts are given; what it refuses."""

from dataclasses import replace

import numpy as np
import pytest

from bayesmrf.errors import OptionError
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.models import RestrictedBoltzmann
from bayesmrf.priors import Normal
from bayesmrf.published.cross_validation import CrossValidation

N = 4000
MODEL = RestrictedBoltzmann(4, 1)
STATES = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(np.int8)


def problem(rng):
    """Counts of a machine whose hidden unit matters, and log probabilities of all states under it."""
    theta = MODEL.join(np.full((1, 4), 3.0), np.full(4, -1.5), np.array([-6.0]))
    log_p = -MODEL.free_energy(theta, STATES)
    log_p -= np.logaddexp.reduce(log_p)
    counts = rng.multinomial(N, np.exp(log_p)).astype(float)
    return RBMTarget(MODEL, STATES[counts > 0], counts[counts > 0], Normal(3.0)), log_p, counts


def test_score_is_that_of_the_true_model(rng):
    """Learnt from 9 folds it loses about F / 2N to the true model on the tenth: 2N times the loss is near chi-squared.

    Of 9 parameters it is below 60 but in 1e-9 of runs, and the prior and the correlation of folds are worth little.
    """
    target, log_p, counts = problem(rng)
    found = CrossValidation(search=ModeSearch(n_steps=500))(target, rng)
    true = counts @ log_p / N
    assert abs(found.parts["log_likelihood_per_observation"] - true) < 60 / (2 * N)
    assert found.log_evidence == pytest.approx(N * found.parts["log_likelihood_per_observation"])
    scores = found.arrays["folds"]
    assert scores.mean() == pytest.approx(found.parts["log_likelihood_per_observation"])  # equal sizes
    spread = np.sqrt(np.exp(log_p) @ log_p**2 - (np.exp(log_p) @ log_p) ** 2) / np.sqrt(N / 10)
    assert 0.1 < found.parts["sd_over_folds"] / spread < 3
    # Controls: units that are independent, and persistent chains that are not fine-tuned, are far below.
    margins = counts @ STATES / N
    independent = counts @ (STATES @ np.log(margins) + (1 - STATES) @ np.log1p(-margins)) / N
    assert independent < true - 60 / (2 * N)
    raw = target.climb(rng, 500)
    value = target.log_likelihood(raw)[0] / N
    assert value < true - 60 / (2 * N)


def test_folds_are_a_partition_of_the_observations(rng, monkeypatch):
    """Every observation is left out once, and a fold has what its size says."""
    target, _, _ = problem(rng)
    target = replace(target, weights=np.arange(1.0, len(target.weights) + 1))
    left_out, sizes = np.zeros(16), []

    def watch(self, theta):
        left_out[self.states @ [1, 2, 4, 8]] += self.weights
        sizes.append(self.n_samples)
        return 0.0

    monkeypatch.setattr(CrossValidation, "point", lambda self, training, *a: _Point(training))
    monkeypatch.setattr(RBMTarget, "positive", watch)
    monkeypatch.setattr(ModeSearch, "__call__", lambda *a, **k: _Mode)
    CrossValidation(n_folds=7)(target, rng)
    assert sum(sizes) == target.n_samples
    assert max(sizes) - min(sizes) <= 1
    np.testing.assert_array_equal(left_out[target.states @ [1, 2, 4, 8]], target.weights)


class _Mode:
    theta, status = np.zeros(9), ""


class _Point:
    error, status = 0.0, ""

    def __init__(self, training):
        self.parts = {"log_z": -training.n_samples}


def test_refused(rng):
    target, _, _ = problem(rng)
    for n_folds in (1, N + 1):
        with pytest.raises(OptionError, match="n_folds"):
            CrossValidation(n_folds=n_folds)(target, rng)
