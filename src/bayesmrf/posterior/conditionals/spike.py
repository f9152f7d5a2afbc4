"""A spike and a slab on a line: constants of the prior, its hyperparameters, birth and death of an edge.

A normal or Cauchy prior without a spike is the case of edges that are always present.
"""

from __future__ import annotations

from math import log, log1p
from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from ...errors import DivergenceError
from ...graphs import Graph
from ...priors import Normal, Slab, SpikeSlab
from .by_class import by_class
from .line import line_log_density, line_mode
from .log_concave import draw_around
from .node_blocks import BlockPrior, NoBlocks, block_prior, draw_blocks
from .polya_gamma import draw_polya_gamma
from .slab_leaves import (
    draw_slab_mixture,
    draw_slab_scale,
    has_slab_factor,
    in_numpy,
    log_slab_factor,
    log_slab_shape,
    log_slab_top,
    slab_normal_part,
)
from .slabs import constants_of
from .student_t import draw_t, log_t

_NORMAL = Normal(1.0)


class EdgePrior(NamedTuple):
    """Constants of `bayesmrf.priors.SpikeSlab`, or of a prior without a spike, for compiled code."""

    a: float
    b: float
    fixed: float  # p0 (its mean, if each edge has its own), 0 if it has a Beta prior, or 1 if every edge is present
    is_given: bool  # whether each edge has a probability of its own
    log_odds: np.ndarray  # (n,) of each edge at present: infinite if it is forced, minus that if it is forbidden
    free: np.ndarray  # (n,) bool, whether it is neither
    blocks: BlockPrior | NoBlocks  # of nodes, on which log odds depend
    slab: Any  # constants of a class that has leaves (`bayesmrf.posterior.conditionals.slab_leaves`)
    precision: float  # of the slab, scale^-2, or 0 if it is learnt
    log_constant: float  # of one parameter (`bayesmrf.priors.Slab.log_constant`)
    stiffness: float  # of minus the log density of the slab at its modes
    nodes: Any  # constants of the prior of the node parameters, as of a slab
    bias_precision: float
    logistic: float  # a + b of a logistic-beta prior of the node parameters, or 0 if they have another one
    tilt: float  # (a - b) / 2


def edge_prior(
    prior: SpikeSlab | Slab, graph: Graph | None = None, n_others: int = 0, biases_of: SpikeSlab | None = None
) -> EdgePrior:
    """Return the constants of a prior, with log odds of the edges of a graph and of ``n_others`` like them.

    ``biases_of`` has the prior of the biases, if another one has.
    """
    of_nodes: Any = prior if biases_of is None else biases_of
    inclusion, biases = prior.inclusion, of_nodes.biases
    n = 0 if graph is None else graph.n_edges + n_others
    constants = plain_prior(prior.slab)._replace(bias_precision=of_nodes.bias_scale**-2.0, **inclusion.constants)
    constants = constants._replace(log_odds=np.zeros(n), free=np.ones(n, dtype=bool))
    if biases is not None:
        constants = constants._replace(logistic=float(biases.a + biases.b), tilt=0.5 * float(biases.a - biases.b))
    if graph is None:
        return constants
    if inclusion.blocks is not None:
        constants = constants._replace(blocks=block_prior(inclusion.blocks, graph))
    p = inclusion.probabilities(graph)
    if p is not None:
        with np.errstate(divide="ignore"):
            log_odds = np.log(p) - np.log1p(-p)
        constants = constants._replace(
            fixed=float(p.mean()), is_given=True, log_odds=log_odds, free=np.isfinite(log_odds)
        )
    return constants


def plain_prior(slab: Slab = _NORMAL, nodes: Slab = _NORMAL, n_edges: int = 0) -> EdgePrior:
    """Return the constants of a prior without a spike, of the coordinates of edges and of nodes."""
    return EdgePrior(
        a=1.0, b=1.0, fixed=1.0, is_given=False, log_odds=np.full(n_edges, np.inf), free=np.zeros(n_edges, dtype=bool),
        blocks=NoBlocks(), slab=constants_of(slab), precision=slab.precision, log_constant=slab.log_constant(1),
        stiffness=slab.stiffness, nodes=constants_of(nodes), bias_precision=1.0, logistic=0.0, tilt=0.0,
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
def _draw_common_odds(rng, prior, has):
    density = draw_density(rng, prior, has.sum(), len(has))
    if not prior.is_given:
        prior.log_odds[:] = log(density) - log1p(-density)
    return density


@strict_leaf
def _draw_odds_of_blocks(rng, prior, has):
    return draw_blocks(rng, prior.blocks, has, prior.log_odds)


@by_class({NoBlocks: _draw_common_odds, BlockPrior: _draw_odds_of_blocks}, field="blocks", place=1)
def draw_odds(rng, prior, has):
    """Draw p0, or the blocks, given which edges exist; let the log odds of each edge follow, and return p0, or the mean
    probability of an edge.
    """


@strict_leaf
def draw_hyper(rng, prior, has, weights):
    """Draw p0 and the slab's precision given which edges exist, unless fixed (Chen and Welling 2012 structure, eq. 14).

    The log odds of each edge follow. The ``weights`` are those of all edges, 0 where they do not exist.
    """
    density = draw_odds(rng, prior, has)
    return density, draw_slab_scale(rng, prior.slab, prior.precision, weights * weights, np.ones(len(weights)))


@strict_leaf
def draw_density(rng, prior, n_included, n_candidates):
    """Draw p0 given the number of edges, unless fixed."""
    if prior.fixed == 0:
        return rng.beta(prior.a + n_included, prior.b + n_candidates - n_included)
    return prior.fixed


def draw_precision(rng: np.random.Generator, prior: EdgePrior, sizes: np.ndarray, n_values: np.ndarray) -> float:
    """Draw the slab's precision as compiled code does (`draw_slab_scale`), without compiling it."""
    return float(in_numpy(prior.slab, "draw_scale")(rng, prior.slab, prior.precision, sizes, n_values))


@strict_leaf
def slab_top(prior, precision):
    """Return the log of the density of one parameter at 0, without the factor that is 0 there."""
    return log_slab_top(prior.slab, precision, 1, prior.log_constant)


@strict_leaf
def log_slab_density(prior, precision, size, n_values, constant):
    """Return the log density of any slab of ``n_values`` coordinates, the sum of whose squares is ``size``."""
    top = log_slab_top(prior.slab, precision, n_values, constant) + log_slab_factor(prior.slab, size)
    return top + log_slab_shape(prior.slab, precision, size, n_values)


@strict_leaf
def normal_precision(rng, prior, precision, a):
    """Return `draw_slab_mixture` of a single coordinate at a (0 for an absent edge)."""
    return draw_slab_mixture(rng, prior.slab, precision, precision * a * a, 1)


@strict_leaf
def node_precision(rng, prior, precision, a):
    """Return the precision of a normal density that represents the prior of a node's parameter at a.

    That of a logistic-beta prior is a Polya-Gamma variable; its factor exp(tilt a) counts as data.
    """
    if prior.logistic > 0:
        return draw_polya_gamma(rng, prior.logistic, a)
    return draw_slab_mixture(rng, prior.nodes, precision, precision * a * a, 1)


@strict_leaf
def slab_factors(prior, precision, a):
    """Factor the slab's density, over its top, into a normal one and the rest; return precision and log rest at a."""
    normal, size = slab_normal_part(prior.slab, precision), a * a
    rest = log_slab_shape(prior.slab, precision, size, 1) + 0.5 * normal * size
    return normal, log_slab_factor(prior.slab, size) + rest


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
        ratio = log_slab + birth_log_ratio(line, new, mode, scale) + log_slab_factor(prior.slab, new * new)
        if (log1p(-rng.random()) < (ratio if a == 0 else -ratio)) == (a != 0):
            return 0.0
        a = new
    # Also after a birth: otherwise the stationary distribution would be different.
    return redraw(rng, line, a, mode, scale, prior)


@strict_leaf
def redraw(rng, line, a, mode, scale, prior):
    """Redraw the weight a of an edge that is present.

    A slab with a factor that is 0 at 0 is not log-concave: its weight is drawn without the factor, which decides
    whether it is taken. The line is on both sides of 0 where the data allow it, and so are the draws.
    """
    new = draw_around(rng, line, mode, scale)
    if has_slab_factor(prior.slab):
        ratio = log_slab_factor(prior.slab, new * new) - log_slab_factor(prior.slab, a * a)
        return new if log1p(-rng.random()) < ratio else a
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
