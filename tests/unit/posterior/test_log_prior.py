"""Log prior densities of weights, next to quadrature: each is a density, whatever the slab."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import kstest

from bayesmrf.estimators.prior_draws import EdgesPrior, draw_edges
from bayesmrf.posterior.conditionals.slabs import log_densities
from bayesmrf.posterior.conditionals.spike import edge_prior, log_slab_density
from bayesmrf.priors import Cauchy, Fixed, Gamma, Moment, Normal, SpikeSlab
from bayesmrf.results.log_prior import Present, log_slab

SLABS = [Cauchy(0.5), Moment(1.5), Cauchy(Gamma(2, 2)), Normal(2.0), Gamma(2, 2)]


@pytest.mark.parametrize("slab", SLABS, ids=str)
def test_the_density_of_a_weight_has_the_integral_one(slab):
    def density(a):
        return np.exp(log_slab(slab, Present(np.array([0]), np.array([a * a]), np.array([1])), 1)[0])

    total = 2 * sum(quad(density, *ends)[0] for ends in [(1e-12, 1), (1, 20), (20, 2000)])
    assert total == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("slab", [Cauchy(0.5), Moment(1.5), Normal(2.0)], ids=str)
def test_weights_are_independent_given_the_scale_and_share_it_where_it_is_learnt(slab):
    squares = np.array([0.3, 2.0, 1.0])
    both = log_slab(slab, Present(np.array([0, 0, 1]), squares, np.ones(3, dtype=int)), 2)
    alone = [log_slab(slab, Present(np.array([0]), squares[i : i + 1], np.array([1])), 1)[0] for i in range(3)]
    np.testing.assert_allclose(both, [alone[0] + alone[1], alone[2]])
    learnt, one = Gamma(2, 2), np.ones(1, dtype=int)
    joint = log_slab(learnt, Present(np.array([0, 0]), squares[:2], np.ones(2, dtype=int)), 1)[0]
    apart = sum(log_slab(learnt, Present(np.array([0]), squares[i : i + 1], one), 1)[0] for i in range(2))
    assert abs(joint - apart) > 0.01


@pytest.mark.parametrize("slab", SLABS, ids=str)
@pytest.mark.parametrize("n", [1, 3])
def test_densities_of_arrays_are_those_of_compiled_code(slab, n):
    prior, top, squares = edge_prior(SpikeSlab(slab=slab)), slab.log_constant(n), np.array([1e-3, 0.5, 9.0, 1e4])
    for precision in [0.3, 2.0] if prior.precision == 0 else [prior.precision]:
        each = [log_slab_density(prior, precision, square, n, top) for square in squares]
        np.testing.assert_allclose(log_densities(slab, precision, squares, n), each, rtol=1e-12)


@pytest.mark.parametrize("slab", SLABS, ids=str)
def test_draws_from_the_prior_have_this_density(slab):
    grid = np.concatenate([[0], np.geomspace(1e-4, 3000, 4000)])
    size = np.ones(len(grid) - 1, dtype=int)
    middle = 0.5 * (grid[1:] + grid[:-1])
    density = np.exp(log_slab(slab, Present(np.arange(len(size)), middle**2, size), len(size)))
    below = np.concatenate([[0], np.cumsum(2 * density * np.diff(grid))])
    rng = np.random.default_rng(0)
    drawn = np.abs(draw_edges(EdgesPrior(Fixed(1.0), slab, np.array([[0, 1]])), np.array([1]), 4000, rng)).ravel()
    assert kstest(drawn, lambda x: np.interp(x, grid, below)).pvalue > 1e-4
    assert kstest(1.2 * drawn, lambda x: np.interp(x, grid, below)).pvalue < 1e-4  # the control: another scale
