"""Student's t around the mode of a log-concave density: proposals with heavier tails."""

from __future__ import annotations

from math import lgamma, log, log1p, pi, sqrt

from ...compiled import strict_leaf

_DF = 5.0  # degrees of freedom
_LOG_T = lgamma((_DF + 1) / 2) - lgamma(_DF / 2) - 0.5 * log(_DF * pi)


@strict_leaf
def draw_t(rng, mode, scale):
    """Draw from Student's t around a mode."""
    return mode + scale * rng.standard_normal() / sqrt(2 * rng.standard_gamma(0.5 * _DF) / _DF)


@strict_leaf
def log_t(a, mode, scale):
    """Return the log density of `draw_t`."""
    z = (a - mode) / scale
    return _LOG_T - log(scale) - 0.5 * (_DF + 1) * log1p(z * z / _DF)
