"""A slab that is 0 at 0, and one whose scale is learnt: laws by quadrature, posteriors by every structure, and ranks.

Single visits of an edge, its posterior under the exact sampler, and what kernels know of all slabs are in
tests/statistical/test_spike_slab_exact.py; whole tables of log odds in tests/statistical/test_nominal_edges.py.
"""

from dataclasses import replace
from math import gamma

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.special import gammaln

from bayesmrf import BayesianMRF, SpikeSlabMRF, graphs
from bayesmrf.errors import OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.conditionals import spike as edges
from bayesmrf.posterior.conditionals.slab_leaves import draw_slab_mixture, draw_slab_scale, in_numpy
from bayesmrf.posterior.conditionals.slabs import log_densities
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.priors import CAUCHY_TAPER, Beta, Cauchy, Gamma, Moment, Normal, SpikeSlab, read_slab, taper_precision
from tests.oracle import spike_slab as oracle
from tests.oracle.ranks import few_draws, p_value, rank
from tests.statistical import test_differences as groups
from tests.statistical.test_spike_slab_exact import ENGINE, PRIOR, N, draw, problem

NEW = [Moment(0.6), Cauchy(Gamma(8.0, 10.0))]


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("slab", [Normal(0.7), Cauchy(0.7), Cauchy(Gamma(2.0, 2.0)), Moment(0.7)], ids=str)
def test_slabs_of_several_coordinates(slab, n):
    """Their densities are spherical, with integral 1."""
    prior = edges.edge_prior(SpikeSlab(0.5, slab))
    precision, top = prior.precision or 0.9, slab.log_constant(n)
    surface = 2 * np.pi ** (n / 2) / gamma(n / 2)

    def shell(t):
        return np.exp(edges.log_slab_density(prior, precision, np.exp(2 * t), n, top) + n * t)

    assert surface * quad(shell, -30, 8, limit=400)[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("slab", [Cauchy(6.0), Moment(6.0), Cauchy(12.0)], ids=str)
def test_the_taper_takes_the_same_share_of_any_number_of_parameters(slab, rng):
    """Densities are normalised, by quadrature over the radius, have constants as of one, and are those of prior draws.

    The control has the taper of one parameter.
    """
    prior, power = edges.edge_prior(SpikeSlab(0.5, slab)), slab.power
    t, factors = np.linspace(-17, 9, 26_001), {}
    for n in (1, 2, 4, 9):
        log_r = t + np.log(slab.scale)
        shell = np.log(2) + n / 2 * np.log(np.pi) - gammaln(n / 2) + n * log_r
        top, squares = slab.log_constant(n), np.exp(2 * log_r)
        density = np.exp(log_densities(slab, prior.precision, squares, n) + shell)
        assert np.trapezoid(density, t) == pytest.approx(1, abs=1e-6)
        found = [edges.log_slab_density(prior, prior.precision, x, n, top) for x in squares[14_000:21_000:500]]
        size, h = slab.scale**2, 1e-4 * slab.scale**2
        ends = [edges.log_slab_density(prior, prior.precision, size + e, n, top) for e in (h, -h)]
        slope = in_numpy(prior.slab, "slope")(prior.slab, prior.precision, size, 1.0, n, 0.0)
        assert (ends[1] - ends[0]) / h == pytest.approx(slope, rel=1e-5)
        drawn = [draw_slab_mixture(rng, prior.slab, prior.precision, 1.0, n) for _ in range(2000)]
        assert np.mean(drawn) == pytest.approx(slope + power / size, rel=5 / np.sqrt(1000 * (n + 1 + power)))
        np.testing.assert_allclose(np.exp(found + shell[14_000:21_000:500]), density[14_000:21_000:500], rtol=1e-9)
        plain = power * log_r - (n + power + 1) / 2 * np.log1p(np.exp(2 * t)) + shell
        factors[n] = np.trapezoid(np.exp(plain), t) * np.exp(top)  # constant, over that of the density without taper
        wrong = np.trapezoid(np.exp(plain), t) / np.trapezoid(np.exp(plain - squares / 2 / CAUCHY_TAPER**2), t)
        assert n == 1 or wrong > 1.02 * factors[1]
        radius = np.sqrt((slab.draw((4000, 1, n), rng) ** 2).sum(axis=2))[:, 0]
        law = np.cumsum(density) / density.sum()
        assert stats.kstest(np.log(radius), lambda x, law=law, at=log_r: np.interp(x, at, law)).pvalue > 1e-6
    np.testing.assert_allclose(list(factors.values()), factors[1], rtol=0.01)
    assert taper_precision(1, power) == CAUCHY_TAPER**-2  # draws of one parameter are as ever


def test_a_learnt_scale_follows_its_law(rng):
    """By quadrature, for edges of one and of several coordinates; the control lacks an edge."""
    prior = edges.edge_prior(SpikeSlab(0.5, Cauchy(Gamma(2.0, 1.5))))
    sizes, n = np.array([0.0, 0.04, 1.5, 9.0, 1e-8, 0.3]), np.array([1.0, 1.0, 4.0, 2.0, 1.0, 1.0])
    grid = np.exp(np.linspace(-14, 5, 20_000))
    found = np.array([draw_slab_scale(rng, prior.slab, prior.precision, sizes, n) ** -0.5 for _ in range(20_000)])

    limits = np.array([oracle.taper(k) for k in n])

    def p_value(there):
        x, k = sizes[there] / grid[:, None] ** 2, n[there]
        log_p = stats.gamma.logpdf(grid, 2, scale=1 / 1.5) + np.log(grid) - np.log(grid) * k.sum()
        log_p -= ((k + 1) / 2 * np.log1p(x) + x / limits[there] ** 2 / 2).sum(axis=1)
        share = np.cumsum(np.exp(log_p - log_p.max()))
        return stats.kstest(found, lambda s: np.interp(s, grid, share / share[-1])).pvalue

    assert p_value(sizes > 0) > 1e-6
    assert p_value(sizes > 0.05) < 1e-6


def test_every_structure_under_a_learnt_scale(rng):
    lik = problem(graphs.complete(3), rng)
    prior = SpikeSlab(PRIOR.density, Cauchy(Gamma(8.0, 10.0)), PRIOR.bias_scale)
    values = draw(SpikeSlabExact(lik, prior, n_scans=10), rng)
    assert oracle.compared(values, *oracle.posterior(lik.model.graph, lik.s_bar, N, prior, rng)).holds
    other = SpikeSlab(PRIOR.density, Cauchy(Gamma(8.0, 5.0)), PRIOR.bias_scale)
    assert not oracle.compared(values, *oracle.posterior(lik.model.graph, lik.s_bar, N, other, rng)).holds


@pytest.mark.parametrize("slab", NEW, ids=str)
def test_reversible_jumps_on_chains_of_bits(slab, rng):
    """The dynamics has the slope of the density, which is infinite at 0 under the first of these slabs."""
    lik, prior = problem(graphs.complete(3), rng, 150), replace(PRIOR, slab=slab)
    options = ReversibleJump(512, epsilon=0.1, n_iterations=10)
    values = draw(SpikeSlabTwoStates(lik.model, lik.s_bar, 150, prior, options=options), rng, 150, 20)
    assert oracle.compared(values, *oracle.posterior(lik.model.graph, lik.s_bar, 150, prior, rng)).holds
    other = replace(prior, slab=Normal(0.2))
    values["slab_scale"][:] = 0.2  # the other one shows by itself
    assert not oracle.compared(values, *oracle.posterior(lik.model.graph, lik.s_bar, 150, other, rng)).holds


# Groups of people


@pytest.mark.parametrize("chains", [False, True], ids=["exact", "chains"])
def test_baselines_and_differences_away_from_0(chains, rng):
    """An edge of two groups, of which neither the baseline nor the difference needs to exist."""
    model, prior = Boltzmann(graphs.path(2)), replace(groups.PRIOR, slab=Moment(0.5))
    data = groups.rows(model, [80, 120], rng)
    draws = groups.draws_of(groups.kernel(model, data, prior, baseline=prior, chains=chains), rng, 60)
    found = groups.compared(draws, groups.exact(model, data, rng, prior, always=False))
    assert found.holds, found
    other = replace(prior, slab=Normal(0.2))
    assert not groups.compared(draws, groups.exact(model, data, rng, other, always=False)).holds


def test_a_difference_of_three_groups_away_from_0(rng):
    """It has two coordinates; every baseline exists, and moves with the difference."""
    model, prior = Boltzmann(graphs.path(2)), replace(groups.PRIOR, slab=Moment(0.5))
    data = groups.rows(model, [60, 80, 120], rng)
    draws = groups.draws_of(groups.kernel(model, data, prior), rng)
    found = groups.compared(draws, groups.exact(model, data, rng, prior))
    assert found.holds, found
    assert not groups.compared(draws, groups.exact(model, data, rng, replace(prior, slab=Normal(0.2)))).holds


# Calibration


def from_slab(slab, n, rng):
    """A scale and n weights from a slab, with its taper."""
    scale = slab.scale if isinstance(slab, Moment) else rng.gamma(slab.scale.shape) / slab.scale.rate
    limit, found = CAUCHY_TAPER / (scale if isinstance(slab, Moment) else 1.0), []
    while len(found) < n:
        angle = np.pi * (rng.random() - 0.5)
        x = np.tan(angle)
        share = np.exp(-0.5 * (x / limit) ** 2) * (np.sin(angle) ** 2 if isinstance(slab, Moment) else 1.0)
        if rng.random() < share:
            found.append(scale * x)
    return scale, np.array(found)


def ranks(slab, assumed, n_simulations, rng):
    """Ranks of the truth among 9 draws: p0, slab scale, one weight, one bias, number of edges; ties at random."""
    model, prior = Boltzmann(graphs.complete(4)), SpikeSlab(Beta(2.0, 2.0), assumed, 1.0)
    out = []
    for _ in range(n_simulations):
        density, (scale, weights) = rng.beta(2.0, 2.0), from_slab(slab, 6, rng)
        weights = weights * (rng.random(6) < density)
        theta = np.concatenate([weights, rng.standard_normal(4)])
        states = ENGINE.sample(model, theta, None, N, rng)
        lik = Likelihood(model, model.statistics(states), N, ENGINE)
        values = few_draws(SpikeSlabExact(lik, prior, n_scans=40), rng, warmup=2)
        drawn = [values["density"], values["slab_scale"], values["theta"][:, 0], values["theta"][:, 6]]
        truth = [density, scale, weights[0], theta[6], np.count_nonzero(weights)]
        out.append(rank(np.transpose([*drawn, values["n_edges"]]), truth, rng))
    return np.array(out)


@pytest.mark.parametrize("n_simulations", [200, pytest.param(5_000, marks=[pytest.mark.calibration])])
@pytest.mark.parametrize("slab", NEW, ids=str)
def test_ranks_are_uniform(slab, n_simulations, rng):
    assert p_value(ranks(slab, slab, n_simulations, rng)) > 1e-6


def test_a_wrong_slab_is_caught_by_the_ranks(rng):
    assert p_value(ranks(Moment(1.5), Moment(0.2), 200, rng)) < 1e-6


# What users see


def test_slabs_in_text():
    assert read_slab("moment:0.5") == Moment(0.5)
    assert read_slab("cauchy:2,3").scale == Gamma(2.0, 3.0)
    for text in ("moment:0", "cauchy:1,2,3", "cauchy:2,", "moment:1,2"):
        with pytest.raises(OptionError, match=r"slab|scale|SCALE"):
            read_slab(text)


def test_a_scale_with_a_prior_is_for_slabs_only():
    with pytest.raises(OptionError, match="scale"):
        Normal(Gamma(2.0, 2.0))
    with pytest.raises(OptionError, match="prior must be"):
        BayesianMRF(prior=Cauchy(Gamma(2.0, 2.0))).fit(np.eye(2))


def test_births_near_0_are_refused(rng):
    est = SpikeSlabMRF(prior=SpikeSlab(slab=Moment(1.0)), method="langevin", progress=False)
    with pytest.raises(OptionError, match=r"slab must be one under which .* are born and die there.*reversible-jump"):
        est.fit(rng.integers(0, 2, (50, 3)))
