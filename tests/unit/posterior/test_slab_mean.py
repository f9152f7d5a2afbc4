"""Means of likelihoods over slabs, next to sums over grids and adaptive quadrature."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from bayesmrf.posterior.conditionals.slab_mean import SlabLine, fill_slab_estimates, fill_slab_means
from bayesmrf.posterior.conditionals.spike import edge_prior, log_slab_density
from bayesmrf.priors import Cauchy, Gamma, Moment, Normal, SpikeSlab
from tests.oracle.bounds import assert_mean, assert_other_mean

SLABS = [Normal(0.7), Cauchy(1.0), Cauchy(Gamma(2.0, 2.0)), Moment(0.6)]
LIKELIHOODS = {  # observations, and their mean of g over the range of its values; None is that without the edge
    "no data": (0.0, 0.5),
    "little": (20.0, 0.6),
    "strong": (2000.0, 0.8),
    "absent": (50_000.0, None),
    "one side": (200.0, 1.0),
}


def one_line(rng, n, share, d=1, base=0.0):
    """Two samples, of which the second moves half as far; a baseline moves if it is not 0."""
    g = np.sort(rng.normal(size=(d, 4)), axis=1)
    gain, p = np.array([g, 0.5 * g]), rng.dirichlet(np.ones(4))
    mean = (gain @ p).sum(axis=0) if share is None else 1.5 * (g[:, 0] + share * (g[:, -1] - g[:, 0]))
    rates = np.full((1, d), -0.3 * (base != 0))
    own = np.array([base]), rates, base != 0, 1.3, 0.7
    return SlabLine(gain, np.log([p, p]), np.array([n, n]), n * mean, 0.8 * np.eye(d), *own)


def log_integrand(line, slab, a):
    """At points a (P, D)."""
    prior, d = edge_prior(SpikeSlab(0.5, slab)), a.shape[1]
    precision = prior.precision or line.precision
    found = a @ line.score - 0.5 * np.einsum("pd,de,pe->p", a, line.stiffness, a)
    for gain, log_share, n in zip(line.gain, line.log_share, line.n, strict=True):
        found = found - n * np.logaddexp.reduce(a @ gain + log_share, axis=1)
    squares = (a**2).sum(axis=1)
    found += [log_slab_density(prior, precision, x, d, slab.log_constant(d)) for x in squares]
    if line.moves:
        b, own = (line.base[0] + a @ line.base_rate[0]) ** 2, partial(log_slab_density, prior, line.base_precision)
        found += [own(x, 1, 0.0) - own(line.base[0] ** 2, 1, 0.0) for x in b]
    return found


def means(rng, lines, slab):
    prior, d = edge_prior(SpikeSlab(0.5, slab)), lines[0].gain.shape[1]
    if prior.precision:
        lines = [line._replace(precision=prior.precision, base_precision=prior.precision) for line in lines]
    parts = [np.array([getattr(line, name) for line in lines]) for name in SlabLine._fields]
    batch = SlabLine(*parts)._replace(n=lines[0].n)
    found, modes, noise = np.empty(len(lines)), np.empty((len(lines), d)), np.zeros(len(lines))
    of = batch, prior, slab.log_constant(d), prior, found, modes
    if d == 1:
        fill_slab_means(*of)
    else:
        fill_slab_estimates(rng, *of, noise)
    return lines, found, modes, noise


@pytest.mark.parametrize("data", LIKELIHOODS)
@pytest.mark.parametrize("base", [0.0, 1.2])
@pytest.mark.parametrize("slab", SLABS, ids=str)
def test_means_along_one_coordinate(rng, slab, base, data):
    given = [one_line(rng, *LIKELIHOODS[data], base=base) for _ in range(2)]
    lines, found, modes, _ = means(rng, given, slab)
    for line, log_mean, mode in zip(lines, found, modes[:, 0], strict=True):
        assert log_mean == pytest.approx(by_quadrature(line, slab, mode), abs=2e-4)


def by_quadrature(line, slab, centre):
    """Sum of adaptive integrals over pieces, of which the one around the centre is as wide as the likelihood."""
    x = centre + np.concatenate([-np.geomspace(1e-4, 400, 30)[::-1], np.geomspace(1e-4, 400, 30)])
    top = log_integrand(line, slab, np.append(x, centre)[:, None]).max()
    ends = np.sort(np.append(x, 0.0))

    def density(a):
        return np.exp(log_integrand(line, slab, np.array([[a]]))[0] - top)

    return top + np.log(sum(quad(density, *pair)[0] for pair in pairwise(ends)))


@pytest.mark.parametrize("slab", SLABS, ids=str)
def test_estimates_along_two_coordinates_are_unbiased(rng, slab):
    lines, found, _, noise = means(rng, [one_line(rng, 30.0, 0.6, d=2)] * 2000, slab)
    t = np.linspace(-7, 7, 401)
    x = np.sinh(t)
    grid = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    weight = np.log(np.cosh(t)) + np.log(t[1] - t[0])
    exact = np.logaddexp.reduce(log_integrand(lines[0], slab, grid) + np.add.outer(weight, weight).ravel())
    ratios = np.exp(found - 0.5 * noise - exact)[:, None]  # the estimate is of the log
    assert_mean(ratios, 1.0)
    assert_other_mean(ratios, 1.1)
