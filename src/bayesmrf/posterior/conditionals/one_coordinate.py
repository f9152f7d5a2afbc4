"""The full conditional of one logit of theta, given the others.

Z is linear in an edge's weights theta_c and 1 - theta_c, so the likelihood of one edge parameter given all others is
that of n Bernoulli trials (the exact form behind Liu and Page 2013, eq. 5):

.. math:: L(\\theta_c) \\propto \\lambda^{S} (1 - \\lambda)^{n - S}, \\qquad
          \\mathrm{logit}\\,\\lambda = \\mathrm{logit}\\,\\theta_c + \\nu, \\qquad \\nu = \\mathrm{logit}\\,\\eta_c,

with :math:`\\eta_c` the probability that the two ends agree in the model without the edge. With the moment q of the
model *with* the edge, nu = logit q - logit theta_c. A node field h has the same form with t = 2 h + nu, nu = logit P(x
= 1) - 2 h.

Everything here works on t = logit lambda, where the log density

.. math:: g(t) = S \\log\\sigma(t) + (n - S)\\log\\sigma(-t) + a \\log\\sigma(t - \\nu) + b \\log\\sigma(\\nu - t) -
\\tfrac12 \\kappa (t - \\nu)^2

(Beta(a, b) prior on the edge parameter, or a = b = 0 and a normal prior of precision kappa on t) is concave. The
saturated log likelihood is subtracted, so that g is of order log n for any n.

This is the line (`bayesmrf.posterior.conditionals.line`) of a feature with two values, as a function of the logit:
there is no cancellation, even if lambda is 1e-12 from 0 or 1 or n is 1e12, and the prior may be that of a Beta
variable. Integral and exact draws are those of `bayesmrf.posterior.conditionals.log_concave`.
"""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from typing import NamedTuple

from ...compiled import strict_leaf


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
    """Return log(1 / (1 + exp(-t))) without cancellation."""
    return -log1p(exp(-t)) if t >= 0 else t - log1p(exp(t))


@strict_leaf
def sigmoid(t):
    """Return 1 / (1 + exp(-t)) without overflow."""
    if t >= 0:
        return 1 / (1 + exp(-t))
    e = exp(t)
    return e / (1 + e)


@strict_leaf
def saturated(s, n):
    """Return the largest log likelihood of n Bernoulli trials with s successes (reached at s / n)."""
    out = 0.0
    if s > 0:
        out += s * log(s / n)
    if s < n:
        out += (n - s) * log((n - s) / n)
    return out


@strict_leaf
def log_likelihood(t, s, n):
    """Return the Bernoulli log likelihood at logit t, relative to the saturated one; at most 0."""
    return s * log_sigmoid(t) + (n - s) * log_sigmoid(-t) - saturated(s, n)


@strict_leaf
def coordinate_log_density(t, p):
    """Return g(t), a concave function."""
    g = log_likelihood(t, p.s, p.n) - 0.5 * p.kappa * (t - p.nu) ** 2
    if p.a > 0:
        g += p.a * log_sigmoid(t - p.nu) + p.b * log_sigmoid(p.nu - t)
    return g


@strict_leaf
def coordinate_slope(t, p):
    """Return g'(t), a decreasing function."""
    # Separate terms: n - s may be tiny compared with n sigmoid(t).
    g = p.s * sigmoid(-t) - (p.n - p.s) * sigmoid(t) - p.kappa * (t - p.nu)
    return g + p.a * sigmoid(p.nu - t) - p.b * sigmoid(t - p.nu)


@strict_leaf
def coordinate_tangent(t, p):
    """Return g(t) and g'(t)."""
    return coordinate_log_density(t, p), coordinate_slope(t, p)


@strict_leaf
def coordinate_mode(p):
    """Solve g'(t) = 0: bracket by doubling, then bisect."""
    start = p.nu
    step = 1.0 if coordinate_slope(start, p) > 0 else -1.0
    near, far = start, start + step
    while coordinate_slope(far, p) * step > 0:
        near = far
        step *= 2
        far = start + step
    while True:
        middle = 0.5 * (near + far)
        if middle in (near, far) or abs(far - near) < 1e-13 * (1 + abs(middle)):
            return middle
        if coordinate_slope(middle, p) * step > 0:
            near = middle
        else:
            far = middle


@strict_leaf
def coordinate_peak(p):
    """Return the mode, a bound of -g'', and the number of trials."""
    return coordinate_mode(p), 0.25 * p.n + 0.25 * (p.a + p.b) + p.kappa, p.n


@strict_leaf
def log_beta(a, b):
    """Return the log of the Beta function."""
    return lgamma(a) + lgamma(b) - lgamma(a + b)
