"""A spike and a slab on a line: constants of the prior, its hyperparameters, birth and death of an edge.

A normal or Cauchy prior without a spike is the case of edges that are always present.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, gamma, log, log1p, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.special import erfcx

from ...compiled import strict_leaf
from ...data.pair_probabilities import edge_probabilities
from ...declare.rule import is_number
from ...errors import DivergenceError
from ...graphs import Graph
from ...priors import CAUCHY_TAPER, Beta, Blocks, Cauchy, Gamma, Moment, SpikeSlab
from .line import line_log_density, line_mode
from .log_concave import draw_around, draw_exactly
from .node_blocks import BlockPrior, block_prior, draw_blocks, no_blocks
from .polya_gamma import draw_polya_gamma
from .slab_scale import SlabScale
from .student_t import draw_t, log_t
from .taper import TAPER, taper_precision, taper_precisions

_LEAST = 1e-100  # draws of a Gamma variable of small shape round to 0


class EdgePrior(NamedTuple):
    """Constants of `bayesmrf.priors.SpikeSlab`, or of a prior without a spike, for compiled code."""

    a: float
    b: float
    fixed: float  # p0 (its mean, if each edge has its own), 0 if it has a Beta prior, or 1 if every edge is present
    is_given: bool  # whether each edge has a probability of its own
    log_odds: np.ndarray  # (n,) of each edge at present: infinite if it is forced, minus that if it is forbidden
    free: np.ndarray  # (n,) bool, whether it is neither
    blocks: BlockPrior  # of nodes, on which log odds depend
    shape: float  # of the precision of a normal slab, or of the scale of a Cauchy one
    rate: float
    precision: float  # of the slab, scale^-2, or 0 if it has a Gamma prior
    cauchy: bool  # whether it is a mixture of normal ones, over their precision, times |a|^power
    power: float  # 2 for a slab away from 0, else 0
    cauchy_nodes: bool  # whether the node parameters have Cauchy priors, too
    log_top: float  # log density of a Cauchy slab at 0, or of the factor of |a|^power there
    curvature: float  # of minus the log density of the slab at 0, at the prior mean of the precision
    bias_precision: float
    logistic: float  # a + b of a logistic-beta prior of the node parameters, or 0 if it is normal or Cauchy
    tilt: float  # (a - b) / 2


def edge_prior(prior: SpikeSlab, graph: Graph | None = None, n_others: int = 0) -> EdgePrior:
    """Return the constants of a prior, with log odds of the edges of a graph and of ``n_others`` like them."""
    density, slab, biases = prior.density, prior.slab, prior.biases
    n = 0 if graph is None else graph.n_edges + n_others
    found = plain_prior(False, n)._replace(bias_precision=prior.bias_scale**-2.0)
    found = found._replace(log_odds=np.zeros(n), free=np.ones(n, dtype=bool))
    if biases is not None:
        found = found._replace(logistic=float(biases.a + biases.b), tilt=0.5 * float(biases.a - biases.b))
    if isinstance(density, Beta):
        found = found._replace(a=float(density.a), b=float(density.b), fixed=0.0)
    elif is_number(density):
        found = found._replace(fixed=float(density))
    elif isinstance(density, Blocks):
        found = found._replace(fixed=0.5)  # before the first draw
        if graph is not None:
            found = found._replace(blocks=block_prior(density, graph))
    elif graph is not None:
        p = edge_probabilities(density, graph)
        with np.errstate(divide="ignore"):
            log_odds = np.log(p) - np.log1p(-p)
        found = found._replace(fixed=float(p.mean()), is_given=True, log_odds=log_odds, free=np.isfinite(log_odds))
    if isinstance(slab, Gamma):
        shape, rate = float(slab.shape), float(slab.rate)
        return found._replace(shape=shape, rate=rate, precision=0.0, curvature=shape / rate)
    if isinstance(slab.scale, Gamma):
        shape, rate = float(slab.scale.shape), float(slab.scale.rate)
        found = found._replace(shape=shape, rate=rate, precision=0.0)
        return found._replace(cauchy=True, log_top=log_top(slab, 1), curvature=(2 + TAPER) * (rate / shape) ** 2)
    scale = float(slab.scale)
    found = found._replace(precision=scale**-2, curvature=scale**-2)
    if isinstance(slab, Cauchy | Moment):
        # The curvature of the second is that at its modes.
        found = found._replace(cauchy=True, log_top=log_top(slab, 1), curvature=2 * scale**-2 + TAPER)
    return found._replace(power=2.0) if isinstance(slab, Moment) else found


@lru_cache
def log_top(slab: Any, n: int) -> float:
    r"""Return the log density at 0 of a Cauchy slab of n coordinates, with the taper of `SpikeSlab`; 0 for others.

    The density is proportional to :math:`|d|^k e^{-|d|^2 / 2 \tau_n^2} (1 + |d|^2 / s^2)^{-(n + k + 1) / 2}`, with
    k = 0, or 2 for `Moment`, of which the factor of :math:`|d|^k` is returned, and :math:`\tau_n` as in
    `bayesmrf.posterior.conditionals.taper`. With :math:`|d| = s \tan \varphi` its integral is one of
    :math:`\sin^{n + k - 1} \varphi`. A scale that is learnt counts as 1.
    """
    if not isinstance(slab, Cauchy | Moment):
        return 0.0
    scale = 1.0 if isinstance(slab.scale, Gamma) else float(slab.scale)
    if isinstance(slab, Cauchy) and n == 1:
        return -log(pi * scale * erfcx(scale * sqrt(TAPER / 2)))
    power = 2 * isinstance(slab, Moment)
    ratio = 0.5 * (scale / CAUCHY_TAPER) ** 2 * float(taper_precisions(n, power) / TAPER)
    integral = quad(lambda x: np.exp(-ratio * np.tan(x) ** 2) * np.sin(x) ** (n + power - 1), 0, pi / 2)[0]
    return -log(2 * pi ** (n / 2) / gamma(n / 2) * scale ** (n + power) * integral)


def plain_prior(cauchy: bool, n_edges: int = 0) -> EdgePrior:
    """Return the constants of a prior without a spike: Cauchy, or normal, in all coordinates."""
    return EdgePrior(
        a=1.0, b=1.0, fixed=1.0, is_given=False, log_odds=np.full(n_edges, np.inf), free=np.zeros(n_edges, dtype=bool),
        blocks=no_blocks(), shape=1.0, rate=1.0, precision=1.0, cauchy=cauchy, power=0.0, cauchy_nodes=cauchy,
        log_top=0.0, curvature=1.0, bias_precision=1.0, logistic=0.0, tilt=0.0,
    )  # fmt: skip


def own_odds(prior: EdgePrior, labels: np.ndarray | None = None) -> EdgePrior:
    """Return a prior with room of its own for the log odds of edges, which chains in other threads do not change.

    ``labels`` are those of the present blocks, if there are any, which get room of their own, too.
    """
    if labels is not None and len(labels):
        prior = prior._replace(blocks=prior.blocks._replace(labels=labels.copy()))
    return prior._replace(log_odds=prior.log_odds.copy())


def prior_scales(prior: EdgePrior, n_edges: int, n_features: int) -> np.ndarray:
    """Return scale^-2 of the prior of each parameter, (n_features,), first of edges: 0 if the slab's is drawn."""
    return np.repeat([prior.precision, prior.bias_precision], [n_edges, n_features - n_edges])


def require_finite(theta: np.ndarray) -> None:
    """Check that all parameters are finite.

    Raises
    ------
    DivergenceError
    """
    if not np.isfinite(theta).all():
        got, remedy = theta[~np.isfinite(theta)][0], "use a tighter prior"
        raise DivergenceError(option="theta", got=got, expected="finite", remedy=remedy)


@strict_leaf
def draw_hyper(rng, prior, has, sum_of_squares, weights):
    """Draw p0 and the slab's precision given which edges exist, unless fixed (Chen and Welling 2012 structure, eq. 14).

    The log odds of each edge follow. The ``weights`` are those of all edges, whose squares have the sum.
    """
    density = draw_odds(rng, prior, has)
    if has_cauchy_scale(prior):
        return density, draw_cauchy_precision(rng, prior, weights * weights, np.ones(len(weights)))
    return density, draw_precision(rng, prior, has.sum(), sum_of_squares)


@strict_leaf
def draw_odds(rng, prior, has):
    """Draw p0, or the blocks, given which edges exist; let the log odds of each edge follow, and return p0, or the mean
    probability of an edge.
    """
    if len(prior.blocks.labels) > 0:
        return draw_blocks(rng, prior.blocks, has, prior.log_odds)
    density = draw_density(rng, prior, has.sum(), len(has))
    if not prior.is_given:
        prior.log_odds[:] = log(density) - log1p(-density)
    return density


@strict_leaf
def draw_density(rng, prior, n_included, n_candidates):
    """Draw p0 given the number of edges, unless fixed."""
    if prior.fixed == 0:
        return rng.beta(prior.a + n_included, prior.b + n_candidates - n_included)
    return prior.fixed


@strict_leaf
def draw_precision(rng, prior, n_values, sum_of_squares):
    """Draw the slab's precision given its values, unless fixed."""
    if prior.precision == 0:
        drawn = max(rng.standard_gamma(prior.shape + 0.5 * n_values), _LEAST)
        return drawn / (prior.rate + 0.5 * sum_of_squares)
    return prior.precision


@strict_leaf
def has_cauchy_scale(prior):
    """Return whether the scale of a Cauchy slab has a prior."""
    return prior.cauchy and prior.precision == 0


@strict_leaf
def draw_cauchy_precision(rng, prior, sizes, n_values):
    """Draw scale^-2 of a Cauchy slab given the squared lengths of all edges, 0 if absent, and their coordinates."""
    return exp(-2 * draw_exactly(rng, SlabScale(sizes, n_values, prior.shape, prior.rate)))


@strict_leaf
def slab_top(prior, precision):
    """Return the log of the slab's density at its top."""
    return group_slab_top(prior, precision, 1, prior.log_top)


@strict_leaf
def group_slab_top(prior, precision, n_values, log_top):
    """Return the log density at 0 of a slab of ``n_values`` coordinates, or that of the factor of |a|^power there.

    ``log_top`` is that of a Cauchy slab (`EdgePrior.log_top`, `log_top`).
    """
    if not prior.cauchy:
        return 0.5 * n_values * log(precision / (2 * pi))
    return log_top + 0.5 * n_values * log(precision) if prior.precision == 0 else log_top


@strict_leaf
def log_slab_density(prior, precision, size, n_values, log_top):
    """Return the log density of any slab of ``n_values`` coordinates, the sum of whose squares is ``size``.

    ``log_top`` is as in `group_slab_top`.
    """
    found = group_slab_top(prior, precision, n_values, log_top) + log_power(prior, size)
    if not prior.cauchy:
        return found - 0.5 * precision * size
    tails = (n_values + 1 + prior.power) * log1p(precision * size)
    return found - 0.5 * (taper(prior, precision, n_values) * size + tails)


@strict_leaf
def log_power(prior, size):
    """Return the log of the factor |a|^power of a slab where a present edge has the squared length ``size``."""
    return 0.5 * prior.power * log(max(size, _LEAST)) if prior.power > 0 else 0.0


@strict_leaf
def taper(prior, precision, n_values):
    """Return the precision of the normal factor of a Cauchy slab: relative to its scale where this is learnt, so that
    the constant does not depend on it.
    """
    own = taper_precision(n_values, prior.power)
    return own * precision if prior.precision == 0 else own


@strict_leaf
def normal_precision(rng, prior, precision, a):
    """Return `group_precision` of a single coordinate at a (0 for an absent edge)."""
    return group_precision(rng, prior, precision, precision * a * a, 1)


@strict_leaf
def group_precision(rng, prior, precision, growth, n_values):
    r"""Return the precision of a normal density that represents a slab of ``n_values`` coordinates.

    A Cauchy density of precision q is the density at its top times the mean of :math:`e^{-\lambda a^2 / 2}` over
    :math:`\lambda = 2 q g`, with g drawn from Gamma((n + 1) / 2), which is exponential in one dimension. Given
    :math:`\lambda` the prior is normal, and the line log-concave. Given a, :math:`\lambda` is independent of everything
    else: it is drawn before each visit, and not stored. ``growth`` is :math:`q a^2`. A slab with the factor
    :math:`|a|^k` is the same with Gamma((n + k + 1) / 2), and has the factor `log_power` in all ratios.
    """
    if not prior.cauchy:
        return precision
    shape = 0.5 * (n_values + 1 + prior.power)
    return taper(prior, precision, n_values) + 2 * precision * rng.standard_gamma(shape) / (1 + growth)


@strict_leaf
def node_precision(rng, prior, precision, a):
    """Return the precision of a normal density that represents the prior of a node's parameter at a.

    That of a logistic-beta prior is a Polya-Gamma variable; its factor exp(tilt a) counts as data.
    """
    if prior.logistic > 0:
        return draw_polya_gamma(rng, prior.logistic, a)
    if not prior.cauchy_nodes:
        return precision
    return TAPER + 2 * precision * rng.standard_gamma(1.0) / (1 + precision * a * a)


@strict_leaf
def slab_slope(prior, precision, a, step):
    """Return minus the slope of the slab's log density at a, divided by a, for steps of about ``step``."""
    return group_slope(prior, precision, a * a, precision * a * a, 1, step)


@strict_leaf
def group_slope(prior, precision, size, growth, n_values, step):
    """Return `slab_slope` of ``n_values`` coordinates, the sum of whose squares is ``size``, and ``growth`` times the
    precision.

    The slope of |a|^power is infinite at 0. It is that of (a^2 + step^2)^(power / 2), so that no step is longer than
    others: the difference matters within a step of 0 only, where hardly any weight is.
    """
    if not prior.cauchy:
        return precision
    found = taper(prior, precision, n_values) + (n_values + 1 + prior.power) * precision / (1 + growth)
    return found - prior.power / (size + step * step) if prior.power > 0 else found


@strict_leaf
def slab_factors(prior, precision, a):
    """Factor the slab's density, over its top, into a normal one and the rest; return precision and log rest at a."""
    if prior.cauchy:
        return taper(prior, precision, 1), log_power(prior, a * a) - (1 + 0.5 * prior.power) * log1p(precision * a * a)
    return precision, 0.0


@strict_leaf
def visit_edge(rng, line, a, log_slab, prior):
    """Propose the birth or death of an edge, then redraw its weight if it is present; a = 0 is an absent edge.

    ``log_slab`` are the prior log odds of the edge times the slab's density at its top, infinite without a spike.

    The weight is proposed from a t around the line's mode, which is the same before and after a jump, so that the
    Metropolis-Hastings ratio of a birth is the inverse of that of the death.
    """
    mode, scale = line_mode(line)
    if log_slab < np.inf:
        new = draw_t(rng, mode, scale) if a == 0 else a
        ratio = log_slab + birth_log_ratio(line, new, mode, scale) + log_power(prior, new * new)
        if (log1p(-rng.random()) < (ratio if a == 0 else -ratio)) == (a != 0):
            return 0.0
        a = new
    # Also after a birth: otherwise the stationary distribution would be different.
    return redraw(rng, line, a, mode, scale, prior)


@strict_leaf
def redraw(rng, line, a, mode, scale, prior):
    """Redraw the weight a of an edge that is present.

    A slab with the factor |a|^power is not log-concave: its weight is drawn without the factor, which decides whether
    it is taken. The line is on both sides of 0 where the data allow it, and so are the draws.
    """
    new = draw_around(rng, line, mode, scale)
    if prior.power > 0 and log1p(-rng.random()) >= log_power(prior, new * new) - log_power(prior, a * a):
        return a
    return new


@strict_leaf
def birth_log_ratio(line, a, mode, scale):
    """Return the log ratio of the densities with weight a and without the edge, over the density of its proposal."""
    return line_log_density(a, line) - log_t(a, mode, scale) - line_log_density(0.0, line)


@strict_leaf
def visit_node(rng, line):
    """Redraw a parameter that is always present."""
    mode, scale = line_mode(line)
    return draw_around(rng, line, mode, scale)
