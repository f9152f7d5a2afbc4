"""The exact conditional law of one coordinate of theta, given the others.

Z is linear in an edge's weights theta_c and 1 - theta_c, so the likelihood of one edge parameter given all others is
that of n Bernoulli trials (the exact form behind Liu and Page 2013, eq. 5):

.. math:: L(\\theta_c) \\propto \\lambda^{S} (1 - \\lambda)^{n - S}, \\qquad
          \\mathrm{logit}\\,\\lambda = \\mathrm{logit}\\,\\theta_c + \\nu, \\qquad \\nu = \\mathrm{logit}\\,\\eta_c,

with :math:`\\eta_c` the probability that the two ends agree in the model without the edge. From the moment q of the
model *with* the edge, nu = logit q - logit theta_c. A node field h obeys the same form with t = 2 h + nu, nu = logit
P(x = 1) - 2 h.

Everything here works on t = logit lambda, where the log density

.. math:: g(t) = S \\log\\sigma(t) + (n - S)\\log\\sigma(-t) + a \\log\\sigma(t - \\nu) + b \\log\\sigma(\\nu - t) -
\\tfrac12 \\kappa (t - \\nu)^2

(Beta(a, b) prior on the edge parameter, or a = b = 0 and a normal prior of precision kappa on t) is concave. The
saturated log likelihood is taken off, so that g stays of order log n for any n.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p, sqrt
from typing import NamedTuple

import numpy as np

from ...compiled import strict_leaf

_DROP = 42.0  # the integrand is followed down to exp(-42) of its peak, 6e-19
_TOLERANCE = 1e-11  # relative, of the quadrature
_ROUNDING = 1e-15  # of g, for each trial: with many of them no two sums agree more closely


class OneCoordinate(NamedTuple):
    """Constants of g: successes S of n trials, shift nu, Beta exponents a and b, normal precision kappa."""

    s: float
    n: float
    nu: float
    a: float
    b: float
    kappa: float


@strict_leaf
def log_sigmoid(t):
    """log(1 / (1 + exp(-t))) without cancellation."""
    return -log1p(exp(-t)) if t >= 0 else t - log1p(exp(t))


@strict_leaf
def sigmoid(t):
    """1 / (1 + exp(-t)) without overflow."""
    if t >= 0:
        return 1 / (1 + exp(-t))
    e = exp(t)
    return e / (1 + e)


@strict_leaf
def saturated(s, n):
    """Largest log likelihood of n Bernoulli trials with s successes (reached at s / n)."""
    out = 0.0
    if s > 0:
        out += s * log(s / n)
    if s < n:
        out += (n - s) * log((n - s) / n)
    return out


@strict_leaf
def log_likelihood(t, s, n):
    """Bernoulli log likelihood at logit t, relative to the saturated one; at most 0."""
    return s * log_sigmoid(t) + (n - s) * log_sigmoid(-t) - saturated(s, n)


@strict_leaf
def log_density(t, p):
    """g(t), concave."""
    g = log_likelihood(t, p.s, p.n) - 0.5 * p.kappa * (t - p.nu) ** 2
    if p.a > 0:
        g += p.a * log_sigmoid(t - p.nu) + p.b * log_sigmoid(p.nu - t)
    return g


@strict_leaf
def slope(t, p):
    """g'(t), decreasing."""
    # The two sides of each Bernoulli term apart: n - s may be tiny beside n sigmoid(t).
    g = p.s * sigmoid(-t) - (p.n - p.s) * sigmoid(t) - p.kappa * (t - p.nu)
    return g + p.a * sigmoid(p.nu - t) - p.b * sigmoid(t - p.nu)


@strict_leaf
def mode(p):
    """Where g'(t) = 0: bracket by doubling, then bisect."""
    start = p.nu
    step = 1.0 if slope(start, p) > 0 else -1.0
    near, far = start, start + step
    while slope(far, p) * step > 0:
        near = far
        step *= 2
        far = start + step
    while True:
        middle = 0.5 * (near + far)
        if middle in (near, far) or abs(far - near) < 1e-13 * (1 + abs(middle)):
            return middle
        if slope(middle, p) * step > 0:
            near = middle
        else:
            far = middle


@strict_leaf
def fall(peak, p, drop, sign):
    """A point on one side (sign +-1) of the mode where g has fallen by between drop and 1.2 drop."""
    top = log_density(peak, p)
    curvature = 0.25 * p.n + 0.25 * (p.a + p.b) + p.kappa  # |g''| is at most this
    near, width = 0.0, sqrt(2 * drop / curvature)
    while top - log_density(peak + sign * width, p) < drop:
        near = width
        width *= 2
    far = width
    while top - log_density(peak + sign * far, p) > 1.2 * drop:
        middle = 0.5 * (near + far)
        if top - log_density(peak + sign * middle, p) < drop:
            near = middle
        else:
            far = middle
    return peak + sign * far


@strict_leaf
def log_integral(p):
    """Log of the integral of exp(g) over the real line.

    The trapezoidal rule converges geometrically for an analytic integrand that has died out at both ends;
    intervals are halved until two sums agree.
    """
    peak = mode(p)
    top = log_density(peak, p)
    low, high = fall(peak, p, _DROP, -1.0), fall(peak, p, _DROP, 1.0)
    n_intervals = 32
    h = (high - low) / n_intervals
    tolerance = max(_TOLERANCE, _ROUNDING * p.n)
    total = 0.0
    for i in range(1, n_intervals):
        total += exp(log_density(low + i * h, p) - top)
    while True:
        middle = 0.0
        for i in range(n_intervals):
            middle += exp(log_density(low + (i + 0.5) * h, p) - top)
        agreed = abs(middle - total) <= tolerance * total
        total += middle
        n_intervals *= 2
        h *= 0.5
        if agreed or n_intervals > 2**22:
            return top + log(total * h)


@strict_leaf
def draw(rng, p):
    """An exact draw of t from the density proportional to exp(g), by rejection.

    The hat is flat at the top and follows the tangents where g has fallen by about 1; concavity makes it a hat.
    """
    peak = mode(p)
    top = log_density(peak, p)
    left, right = fall(peak, p, 1.0, -1.0), fall(peak, p, 1.0, 1.0)
    rise, descent = slope(left, p), -slope(right, p)
    # Where the tangents reach the top.
    l0 = left + (top - log_density(left, p)) / rise
    r0 = right - (top - log_density(right, p)) / descent
    areas = 1 / rise, r0 - l0, 1 / descent
    while True:
        u = rng.random() * (areas[0] + areas[1] + areas[2])
        e = -log(1 - rng.random())  # a standard exponential: length of a tail, before scaling
        if u < areas[0]:
            t, hat = l0 - e / rise, top - e
        elif u < areas[0] + areas[1]:
            t, hat = l0 + (u - areas[0]), top
        else:
            t, hat = r0 + e / descent, top - e
        if log(1 - rng.random()) <= log_density(t, p) - hat:
            return t


@strict_leaf
def log_beta(a, b):
    """Log of the Beta function."""
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def log_marginal(s: float, n: float, eta: float, a: float = 1.0, b: float = 1.0) -> float:
    """Log of the integral of lambda^s (1 - lambda)^(n - s) over theta_c ~ Beta(a, b).

    Parameters
    ----------
    s, n : float
        Samples in which the ends agree, and samples in all.
    eta : float
        Probability in (0, 1) that the ends agree in the model without the edge.
    """
    p = OneCoordinate(float(s), float(n), float(np.log(eta) - np.log1p(-eta)), float(a), float(b), 0.0)
    return float(log_integral(p) + saturated(p.s, p.n) - log_beta(p.a, p.b))
