"""Measures of an estimate."""

import numpy as np
import pytest

from bayesmrf import graphs, metrics, partitions
from bayesmrf.errors import DataError, OptionError
from bayesmrf.inference.chains import Persistent
from bayesmrf.inference.enumeration import Enumeration
from bayesmrf.models.agreement import Agreement


def test_mean_absolute_error():
    assert metrics.mean_absolute_error([0.1, 0.5, 0.9], [0.2, 0.5, 0.6]) == pytest.approx(0.4 / 3)
    with pytest.raises(DataError, match="agreement must have one value for each edge"):
        metrics.mean_absolute_error([0.1, 0.2], [0.1])


@pytest.mark.parametrize("fields", [False, True])
def test_log_likelihood_is_the_sum_of_log_probabilities(rng, fields):
    model = Agreement(graphs.cycle(5), fields)
    theta = rng.normal(size=model.n_features)
    cells = ((np.arange(32)[:, None] >> np.arange(5)) & 1).astype(np.int8)
    log_p = np.array([theta @ model.statistics(c[None]) for c in cells])
    log_p -= np.log(np.exp(log_p).sum())
    rows = rng.integers(32, size=40)
    found = metrics.log_likelihood(model, theta, cells[rows], Enumeration())
    assert found == pytest.approx(log_p[rows].sum(), rel=1e-12)
    times = np.bincount(rows, minlength=32)
    assert metrics.log_likelihood(model, theta, cells, Enumeration(), times) == pytest.approx(found, rel=1e-12)


def test_log_likelihood_wants_an_exact_engine():
    model = Agreement(graphs.cycle(4))
    with pytest.raises(OptionError, match="engine must be one with an exact log_z"):
        metrics.log_likelihood(model, np.zeros(4), np.zeros((1, 4), dtype=np.int8), Persistent())


def test_measures_of_groupings_are_here():
    assert metrics.vi_difference is partitions.vi_difference
    assert metrics.variation_of_information is partitions.variation_of_information
