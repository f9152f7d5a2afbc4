"""Measures of an estimate."""

import numpy as np
import pytest

from bayesmrf import graphs, metrics, partitions
from bayesmrf.engines import Enumeration, Persistent
from bayesmrf.errors import DataError, OptionError
from bayesmrf.models import Agreement, Boltzmann, Nominal, Ordinal, Potts, RestrictedBoltzmann, Symmetric


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


TRIPLE = graphs.complete(3)
MODELS = [Agreement(TRIPLE), Boltzmann(TRIPLE), Ordinal(TRIPLE, 3), Potts(TRIPLE, 3), Symmetric(TRIPLE, 3)]
MODELS += [Nominal(TRIPLE, 3)]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_statistics_want_states_numbered_from_0(model):
    good = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.int8)
    model.statistics(good)
    for bad in (2 * good - 1, good + model.n_states - 1, np.where(good == 1, np.nan, 0), 0.5 * good):
        with pytest.raises(DataError, match=r"^states must be .* in each cell, got .*; number states from 0\.$"):
            model.statistics(bad)


def test_measures_want_states_numbered_from_0():
    model, machine, rows = Agreement(TRIPLE), RestrictedBoltzmann(3, 2), np.array([[-1, 1, 1], [1, -1, 1]])
    theta, engine = np.full(3, 0.5), Enumeration()
    for of in (
        lambda x: metrics.log_probability(model, theta, x, engine),
        lambda x: metrics.log_likelihood(model, theta, x, engine),
        lambda x: metrics.log_pseudo_likelihood(model, theta, x),
        lambda x: metrics.conditional_log_probability(model, theta[None], x, [0]),
        lambda x: machine.free_energy(np.zeros(machine.n_features), x),
    ):
        of((rows + 1) // 2)
        with pytest.raises(DataError, match="number states from 0"):
            of(rows)
    # The values of the group do not count.
    given = np.array([[np.nan, 1, 0]])
    assert np.isfinite(metrics.conditional_log_probability(model, theta[None], given, [0])).all()


def test_states_that_a_node_does_not_have_are_refused(rng):
    """Nodes have two, four and three categories; control: states that they have."""
    model, rows = Ordinal(TRIPLE, 4, sizes=(2, 4, 3)), np.array([[1, 3, 2], [0, 2, 1]])
    theta, engine = rng.normal(size=model.n_features), Enumeration()
    for of in (
        lambda x: metrics.log_likelihood(model, theta, x, engine),
        lambda x: metrics.conditional_log_probability(model, theta[None], x, [1]),
    ):
        assert np.isfinite(of(rows)).all()
        with pytest.raises(DataError, match="states must be an integer from 0 to 2 in column 2, got 3"):
            of(np.array([[1, 3, 3]]))


def test_measures_of_groupings_are_here():
    assert metrics.vi_difference is partitions.vi_difference
    assert metrics.variation_of_information is partitions.variation_of_information
