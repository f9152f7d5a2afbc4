r"""Draws from a full conditional of which the moments have an error.

With the log density in error by u(v) at the value v, with mean 0 over the errors, a value is drawn from p(v) exp(u(v)),
normalised. On average over the errors it has, to second order, the density

.. math:: p(v) \left(1 + \tfrac12 \operatorname{Var}(u(v) - \bar u)
          - \tfrac12 \operatorname E_p \operatorname{Var}(u(v) - \bar u)\right), \qquad \bar u = \operatorname E_p u,

which is too wide. So half the variance is subtracted from the log density, as in the penalty method (Ceperley and
Dewing 1999), but about the mean of the full conditional instead of the present value. It holds for any mixture of
values and groups, and for a normal p it is exact. Where u(v) varies by more than about one nat, draws are still a
little too wide.

For n observations of a statistic, whose mean is in error by e, u(v) = -n e (v - v_0), and the variance is that of c n
observations, c the share of a posterior variance that the errors add: the penalty has the form of the likelihood of c n
more observations, whose mean statistic is that of the full conditional. So the same algorithms draw with it, from
counts with these observations (`more`).
"""

from __future__ import annotations

from ...compiled import strict_leaf
from .line import Line, LineSample, line_derivatives
from .one_coordinate import OneCoordinate
from .one_potential import OnePotential

_MOST = 0.5  # largest share of a posterior variance that is allowed for


@strict_leaf
def more(noise):
    """Return the observations to be added, as a share of n, if errors add the share ``noise`` to the variance.

    It is c / (1 - c), as the errors count for the observations that are added, too.
    """
    noise = min(noise, _MOST)
    return noise / (1 - noise)


@strict_leaf
def coordinate_with(p, noise, total):
    """Return the full conditional of a logit with `more` observations; in n of them there are ``total`` successes."""
    share = more(noise)
    return OneCoordinate(p.s + share * total, p.n * (1 + share), p.nu, p.a, p.b, p.kappa)


@strict_leaf
def potential_with(p, noise, totals):
    """Return the full conditional of a potential with `more` observations; n of these count ``totals``."""
    share = more(noise)
    return OnePotential(p.counts + share * totals, p.n * (1 + share), p.nu, p.precision, p.log_constant)


@strict_leaf
def line_with(line, noise, total):
    """Return a line of one sample with `more` observations; n of them have the sum ``total`` of g."""
    share, sample = more(noise), line.samples[0]
    sample = LineSample(sample.p, sample.g, sample.at, sample.n * (1 + share))
    return Line((sample,), line.score + share * total, line.kappa, line.mu)


@strict_leaf
def expected_sum(line, a):
    """Return the expected sum of g over the observations where the coordinate is ``a``."""
    return line.score - line.kappa * (a - line.mu) - line_derivatives(a, line)[0]
