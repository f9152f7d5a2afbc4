"""Visits of edges by a quadratic surrogate, against sums over a grid of weights."""

import numpy as np
import pytest

from bayesmrf.posterior.conditionals.slab_leaves import in_numpy
from bayesmrf.posterior.conditionals.slabs import constants_of, log_densities
from bayesmrf.posterior.edges import surrogate_visits
from bayesmrf.priors import Cauchy, Moment, Normal
from tests.oracle.bounds import Comparison, assert_mean, assert_other_mean

N_BLOCKS = 20_000
INFORMATION = np.array([[9.0, 7.5], [7.5, 9.0]])  # of the data on two weights of one edge
SLABS = pytest.mark.parametrize("slab", [Normal(1.0), Cauchy(0.3), Moment(0.3)], ids=repr)


def law(slab, hessian, slope):
    """The log Bayes factor of an edge, and the mean of its weights where it exists, by sums over a grid."""
    n = len(slope)
    axis = np.linspace(-9, 9, 3600 if n == 1 else 900)
    w = np.stack(np.meshgrid(*[axis] * n, indexing="ij"), axis=-1).reshape(-1, n)
    logs = w @ slope - 0.5 * np.einsum("ki,ij,kj->k", w, hessian, w) + n * np.log(axis[1] - axis[0])
    logs += log_densities(slab, slab.precision, (w**2).sum(axis=1), n)
    top = logs.max()
    p = np.exp(logs - top)
    total = p.sum()
    return top + np.log(total), p @ w / total


def draws(rng, slab, hessian, slope, log_odds, start):
    """The weights of an edge after each block of two visits."""
    n, constants, w = len(slope), constants_of(slab), np.array(start, float)
    top = log_odds + in_numpy(constants, "log_top")(constants, slab.precision, n, slab.log_constant(n))
    units = surrogate_visits.Units(
        (constants, constants), (slab.precision, slab.precision), np.array([top]), np.array([0, n]),
        np.zeros(1, np.int64), np.ones(1, bool), hessian, w, slope - hessian @ w, np.empty((n, n + 3)),
    )  # fmt: skip
    stored, picked = np.empty((N_BLOCKS, n)), np.empty(8, np.int64)
    for k in range(N_BLOCKS):
        surrogate_visits.visit_block(rng, units, np.zeros(1, np.int64), np.empty((0, 2), np.int64), 1, picked)
        stored[k] = w
    np.testing.assert_allclose(units.r, slope - hessian @ w, atol=1e-8)
    return stored


@SLABS
@pytest.mark.parametrize("far", [0.3, 3.5])
@pytest.mark.parametrize("n", [1, 2])
def test_edges_and_weights_follow_the_surrogate_from_any_start(n, far, slab, rng):
    """A weight, and a table of two that are correlated, near 0 and far from it, where a narrow slab is nearly flat."""
    hessian, centre = INFORMATION[:n, :n].copy(), np.array([far, -far])[:n]
    slope = hessian @ centre
    log_factor, mean = law(slab, hessian, slope)
    log_odds = -1 - log_factor  # posterior odds are 1 : e; even ones would let two visits undo each other
    inclusion = 1 / (1 + np.e)
    some = 0.1 * np.sign(centre)
    w = np.array([draws(rng, slab, hessian, slope, log_odds, start) for start in (0 * centre, some, centre)])
    included = w[..., 0] != 0
    found = Comparison().means(included, inclusion).means(w, inclusion * mean)
    assert found.holds, str(found)


def test_a_table_far_from_0_is_reached_from_near_0(rng):
    """With an edge that is nearly certain. Control: another slab."""
    slab, centre = Cauchy(0.3), np.array([3.5, -3.5])
    slope = INFORMATION @ centre
    w = draws(rng, slab, INFORMATION, slope, 20.0, centre / 9)[None, 100:]
    assert_mean(w, law(slab, INFORMATION, slope)[1])
    assert_other_mean(w, law(Normal(1.0), INFORMATION, slope)[1])
