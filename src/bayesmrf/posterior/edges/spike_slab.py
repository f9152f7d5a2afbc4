r"""What samplers of edges share: hyper-parameters, and the exact law of one edge given all else.

An edge of weight a between nodes with means c_i and c_j is moved along the *line*

.. math:: \theta_{ij} = a, \qquad b_i = b_i^0 - a c_j, \qquad b_j = b_j^0 - a c_i,

so that what changes is the weight of the centred product :math:`g = (x_i - c_i)(x_j - c_j)`, which has little to do
with the biases: they need not follow before an edge can come or go. On the line g has four values, one for each state
of the pair, and the four probabilities at one point give Z at all others:

.. math:: \frac{Z(a')}{Z(a)} = \sum_{x_i, x_j} p_a(x_i, x_j)\, e^{(a' - a)\, g(x_i, x_j)}.

The map from (a, biases) to (a, biases at a = 0) has Jacobian 1, and the log density along the line is concave.
"""

from __future__ import annotations

from math import exp, log, log1p, pi, sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx

from ...compiled import strict_leaf
from ...errors import OptionError
from ...models.boltzmann import Boltzmann
from ...priors import CAUCHY_TAPER, Beta, Cauchy, Gamma, SpikeSlab
from ..conditionals.student_t import draw_t, log_t

EDGE_DIMS = {"theta": ("feature",), "included": ("edge",), "n_edges": (), "density": (), "slab_scale": ()}

_LEAST = 1e-100  # draws of a Gamma variable of small shape round to 0
_TAPER = CAUCHY_TAPER**-2  # precision of the normal factor of a Cauchy slab
_FAR, _NEAR, _MAX_NEWTON = 3.0, 1e-3, 100  # Newton steps: the longest, and the last one, in standard deviations


class EdgePrior(NamedTuple):
    """Constants of `bayesmrf.priors.SpikeSlab` for compiled code."""

    a: float
    b: float
    fixed: float  # p0, or 0 where it has a Beta prior
    shape: float
    rate: float
    precision: float  # of the slab, scale^-2, or 0 where it has a Gamma prior
    cauchy: bool
    log_top: float  # log density of a Cauchy slab at 0
    curvature: float  # of minus the log density of the slab at 0, at the prior mean of the precision
    bias_precision: float


class EdgeLine(NamedTuple):
    """The line of one edge: probabilities and values of g of the pair's states 11, 10, 01 and 00; the point ``at``
    where the probabilities hold; the data's sum of g over n observations; and the normal prior along the line.
    """

    p11: float
    p10: float
    p01: float
    p00: float
    g11: float
    g10: float
    g01: float
    g00: float
    at: float
    score: float
    n: float
    kappa: float
    mu: float


def edge_prior(prior: SpikeSlab) -> EdgePrior:
    """Constants of a prior."""
    density, slab = prior.density, prior.slab
    a, b, fixed = (density.a, density.b, 0.0) if isinstance(density, Beta) else (1.0, 1.0, float(density))
    if isinstance(slab, Gamma):
        return EdgePrior(
            a=float(a), b=float(b), fixed=fixed, shape=float(slab.shape), rate=float(slab.rate), precision=0.0,
            cauchy=False, log_top=0.0, curvature=slab.shape / slab.rate, bias_precision=prior.bias_scale**-2.0,
        )  # fmt: skip
    cauchy, scale = isinstance(slab, Cauchy), float(slab.scale)
    return EdgePrior(
        a=float(a), b=float(b), fixed=fixed, shape=1.0, rate=1.0, precision=scale**-2, cauchy=cauchy,
        log_top=-log(pi * scale * erfcx(scale * sqrt(_TAPER / 2))) if cauchy else 0.0,
        curvature=2 * scale**-2 + _TAPER if cauchy else scale**-2, bias_precision=prior.bias_scale**-2.0,
    )  # fmt: skip


def noise_share(n_samples: float, n_chains: int, alpha: float) -> float:
    r"""What the noise of moments from chains adds to a posterior variance, over :math:`\epsilon^2` and that variance.

    Where the posterior has the curvature :math:`N S^2`, the mean of n chains adds a noise of variance
    :math:`N^2 S^2 / n` to its slope. With steps of epsilon standard deviations the variance grows by the factor
    :math:`1 + \epsilon^2 N (1 + \alpha) / 4 n (1 - \alpha)`, if the noise of a step does not depend on that before.
    """
    return n_samples * (1 + alpha) / (4 * n_chains * (1 - alpha))


def start_theta(model: Boltzmann, s_bar: np.ndarray, n_samples: float, start: np.ndarray | None) -> np.ndarray:
    """``start``, checked; or no edges, and the biases that fit each node alone (half an observation added)."""
    if start is None:
        ones = (n_samples * s_bar[model.n_edges :] + 0.5) / (n_samples + 1)
        return np.concatenate([np.zeros(model.n_edges), np.log(ones / (1 - ones))])
    start = np.array(start, dtype=np.float64)
    if start.shape != (model.n_features,) or not np.isfinite(start).all():
        raise OptionError(
            f"start: an array of shape {start.shape} came, ({model.n_features},) finite numbers are wanted: the "
            "weights of the candidate edges, 0 where there is none, then the biases"
        )
    return start


@strict_leaf
def draw_hyper(rng, prior, n_included, n_candidates, sum_of_squares):
    """Draw p0 and the slab's precision given the edges, where not fixed (Chen and Welling 2012 structure, eq. 14)."""
    density, precision = prior.fixed, prior.precision
    if density == 0:
        density = rng.beta(prior.a + n_included, prior.b + n_candidates - n_included)
    if precision == 0:
        drawn = max(rng.standard_gamma(prior.shape + 0.5 * n_included), _LEAST)
        precision = drawn / (prior.rate + 0.5 * sum_of_squares)
    return density, precision


@strict_leaf
def log_slab_odds(prior, density, precision):
    """Log of p0 / (1 - p0) times the slab's density at its top."""
    return log(density) - log1p(-density) + (prior.log_top if prior.cauchy else 0.5 * log(precision / (2 * pi)))


@strict_leaf
def draw_slab_precision(rng, prior, precision, a):
    r"""Precision of a normal density that stands for the slab on the line of an edge with weight a, 0 if it is absent.

    A Cauchy slab of precision q has the density of its top times the mean of :math:`e^{-\lambda a^2 / 2}` over
    exponential :math:`\lambda` of mean 2 q. So given :math:`\lambda` the slab is normal, and the line concave. Given a,
    :math:`\lambda` depends on nothing else: it is drawn before each visit, and need not be kept.
    """
    if not prior.cauchy:
        return precision
    return _TAPER + 2 * precision * rng.standard_exponential() / (1 + precision * a * a)


@strict_leaf
def slab_slope(prior, precision, a):
    """Minus the slope of the slab's log density at a, over a."""
    return _TAPER + 2 * precision / (1 + precision * a * a) if prior.cauchy else precision


@strict_leaf
def slab_factors(prior, precision, a):
    """The slab's density over that at its top, as a normal factor and the rest: precision, and log of the rest at a."""
    if prior.cauchy:
        return _TAPER, -log1p(precision * a * a)
    return precision, 0.0


@strict_leaf
def edge_line(p11, p10, p01, p00, c_i, c_j, a, b_i, b_j, s_ij, s_i, s_j, n, precision, bias_precision):
    """The line through a point with weight a and biases b_i and b_j; s are the data's sums of x_i x_j, x_i and x_j."""
    score = s_ij - c_j * s_i - c_i * s_j + n * c_i * c_j
    kappa = precision + bias_precision * (c_i * c_i + c_j * c_j)
    mu = bias_precision * (c_j * (b_i + a * c_j) + c_i * (b_j + a * c_i)) / kappa
    g11, g10, g01, g00 = (1 - c_i) * (1 - c_j), -(1 - c_i) * c_j, -c_i * (1 - c_j), c_i * c_j
    return EdgeLine(p11, p10, p01, p00, g11, g10, g01, g00, a, score, n, kappa, mu)


@strict_leaf
def bias_line(p, b, s, n, bias_precision):
    """The line of one bias b alone, from the probability p that its node is 1; s is the data's sum of x."""
    return EdgeLine(p, 0.0, 0.0, 1 - p, 1.0, 0.0, 0.0, 0.0, b, s, n, bias_precision, 0.0)


@strict_leaf
def growth(line, a):
    """Z at a over Z at ``line.at``."""
    d = a - line.at
    return (
        line.p11 * exp(d * line.g11)
        + line.p10 * exp(d * line.g10)
        + line.p01 * exp(d * line.g01)
        + line.p00 * exp(d * line.g00)
    )


@strict_leaf
def line_log_density(line, a):
    """Log density along the line, up to a constant."""
    return a * line.score - line.n * log(growth(line, a)) - 0.5 * line.kappa * (a - line.mu) ** 2


@strict_leaf
def line_mode(line):
    """Mode of the line, and the standard deviation that its curvature there gives: Newton's method in a bracket."""
    a, low, high, scale = 0.0, -np.inf, np.inf, 1.0
    for _ in range(_MAX_NEWTON):
        d = a - line.at
        w11, w10 = line.p11 * exp(d * line.g11), line.p10 * exp(d * line.g10)
        w01, w00 = line.p01 * exp(d * line.g01), line.p00 * exp(d * line.g00)
        total = w11 + w10 + w01 + w00
        mean = (w11 * line.g11 + w10 * line.g10 + w01 * line.g01 + w00 * line.g00) / total
        square = (w11 * line.g11**2 + w10 * line.g10**2 + w01 * line.g01**2 + w00 * line.g00**2) / total
        slope = line.score - line.n * mean - line.kappa * (a - line.mu)
        curvature = line.n * max(square - mean * mean, 0.0) + line.kappa
        step, scale = slope / curvature, 1 / sqrt(curvature)
        if abs(step) < _NEAR * scale:
            return a + step, scale
        if slope > 0:
            low = a
        else:
            high = a
        new = a + min(max(step, -_FAR), _FAR)
        a = new if low < new < high else 0.5 * (low + high)
    return a, scale


@strict_leaf
def visit_edge(rng, line, a, log_slab):
    """Birth or death of an edge, then a fresh weight if it is there; a = 0 is an absent edge.

    Both propose the weight from a t at the line's mode, which is the same from either end of a jump, so that the
    Metropolis-Hastings ratio of a birth is the inverse of that of the death.
    """
    mode, scale = line_mode(line)
    new = draw_t(rng, mode, scale) if a == 0 else a
    excess = line_log_density(line, new) - log_t(new, mode, scale)  # log density over proposal, where the edge is
    ratio = log_slab + excess - line_log_density(line, 0.0)
    if (log1p(-rng.random()) < (ratio if a == 0 else -ratio)) == (a != 0):
        return 0.0
    # An edge just born too: a chain that spares it has another stationary law.
    return refresh(rng, line, new, mode, scale, excess)


@strict_leaf
def visit_bias(rng, line):
    """A fresh value of a bias."""
    mode, scale = line_mode(line)
    return refresh(rng, line, line.at, mode, scale, line_log_density(line, line.at) - log_t(line.at, mode, scale))


@strict_leaf
def refresh(rng, line, a, mode, scale, excess):
    """Metropolis-Hastings with an independent proposal; ``excess`` is log density minus log proposal at a."""
    new = draw_t(rng, mode, scale)
    ratio = line_log_density(line, new) - log_t(new, mode, scale) - excess
    return new if log1p(-rng.random()) < ratio else a
