"""Parallel tempering against exact moments of models with two modes, which Gibbs sweeps do not weigh."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Elimination, Gibbs, Tempered
from bayesmrf.errors import ConvergenceWarning
from bayesmrf.models import Ising, Potts, Symmetric
from bayesmrf.samplers.tempered import find_ladder
from tests.oracle.bounds import assert_mean, assert_other_mean

GRID, EXACT = graphs.grid(4, 4), Elimination()


def two_modes():
    """Both camps are stable under Gibbs sweeps; fields favour one by 0.9 to 0.1."""
    return Ising(GRID), np.concatenate([np.full(GRID.n_edges, 0.9), np.full(16, 0.07)])


def many_states():
    """A state of three that two thirds of the mass are in, and two others."""
    model = Potts(GRID, 3)
    return model, np.concatenate([np.full(GRID.n_edges, 1.8), np.full(32, -0.09)])


def features(model, states):
    """Statistics of each state, and whether a mode has it."""
    each = np.array([model.statistics(x[None]) for x in states])
    return each[:, None]


@pytest.mark.parametrize("problem", [two_modes, many_states])
def test_samples_have_the_moments(problem, rng):
    model, theta = problem()
    exact = EXACT.infer(model, theta, EXACT.prepare(model)).moments
    assert_mean(features(model, Tempered().sample(model, theta, None, 2000, rng)), exact)
    # control: the share of random starts that end in a mode is not its weight
    assert_other_mean(features(model, Gibbs(200).sample(model, theta, None, 2000, rng)), exact)


def test_tables_of_edges(rng):
    model = Symmetric(graphs.cycle(5), 3, True)
    theta = rng.normal(0, 1, model.n_features)
    states = features(model, Tempered(n_sweeps=40).sample(model, theta, None, 2000, rng))
    assert_mean(states, EXACT.infer(model, theta, EXACT.prepare(model)).moments)
    assert_other_mean(states, EXACT.infer(model, 0.5 * theta, EXACT.prepare(model)).moments)


def test_few_rounds_are_noticed(rng):
    model, theta = two_modes()
    with pytest.warns(ConvergenceWarning, match="of the samples came from independent nodes within the 2 rounds"):
        Tempered(n_sweeps=2).sample(model, theta, None, 64, rng)


def test_the_ladder_is_short_where_there_is_one_mode(rng):
    model, theta = two_modes()
    long = find_ladder(model.pairwise(theta), None, rng)
    short = find_ladder(model.pairwise(0.1 * theta), None, rng)
    assert len(short) == 3 < 5 < len(long)
    assert (np.diff(long) > 0).all()
    assert long[[0, -1]] == pytest.approx([0, 1])
