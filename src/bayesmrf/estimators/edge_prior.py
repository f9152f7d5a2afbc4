"""The default prior of the edges, and warnings about one that dominates the data."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import log, pi
from typing import Any

import numpy as np
from scipy import stats

from ..errors import ApproximatePosteriorWarning, ConvergenceWarning, OptionError, PriorWarning, in_python
from ..families import FAMILIES, FamilyRow
from ..findings import BAD, tell
from ..graphs import Graph, path
from ..models.bases import has_lines
from ..models.boltzmann import Coding
from ..models.categorical import is_categorical
from ..posterior.conditionals.centred import edge_correlations
from ..priors import CAUCHY_TAPER, Cauchy, Slab, SpikeSlab
from ..results.blocks import Columns, stacked
from ..results.median_model import ABOVE, in_median_model

_ALL = 0.95  # share of the candidates that counts as all of them
_SUPPORTED = log(3)  # log Bayes factor above which the data support an edge
_EVEN, _NARROW = 0.5, 0.99  # mean density, and scale of the slab in log odds ratios, of priors that favour no edge
_FALSE_ALARM = 1e-6  # significance level of dependence
_TAPERED = 1.2  # factor by which the taper of a Cauchy slab raises Bayes factors, from which on it is said
_WIDE = 10.0  # log odds: an edge of this weight makes a state 22,000 times as probable


def default_prior(family: Any) -> SpikeSlab:
    """Return the default prior of the parameters of a model (an object of `bayesmrf.families`).

    It has a uniform density, Cauchy log odds ratios of scale 1 of the ends of an edge, and normal log odds of the
    states of a node with standard deviation 10, whatever the coding.
    """
    coding, boltzmann = Coding.of(family.without_columns.on(path(2), (2, 2), True)), SpikeSlab()
    return SpikeSlab(slab=Cauchy(1.0 / abs(coding.edge)), bias_scale=boltzmann.bias_scale / coding.node)


def as_attribute(prior: SpikeSlab) -> dict[str, Any]:
    """Return a prior as summaries and reports read it; the density is None where edges have their own (`constants`)."""
    values = asdict(replace(prior, density=_EVEN)) | {"density": prior.inclusion.record}
    values["slab"] = {"family": type(prior.slab).__name__, "words": prior.slab.words} | values["slab"]
    return values


def possible(candidates: Graph, prior: SpikeSlab) -> Graph:
    """Return the graph of the edges that may exist: candidates, unless the prior has the probability 0 of them.

    Others than the candidates have it, too: this is the one place where both ways to forbid an edge meet.
    """
    p = prior.inclusion.probabilities(candidates)
    if p is None or (allowed := p > 0).all():
        return candidates
    return Graph(candidates.n_nodes, candidates.edges[allowed], candidates.names)


def named_pairs(prior: Any, graph: Graph) -> np.ndarray:
    """Return which edges a prior names, as they have probabilities of their own, (n_edges,)."""
    named: np.ndarray = prior.inclusion.named(graph)
    return named


def in_order(prior: Any, graph: Graph) -> Any:
    """Return a prior in which probabilities of pairs are a matrix in the order of the nodes, 0 without a candidate.

    The name of a prior, and None, stay what they are.
    """
    if prior is None or isinstance(prior, str) or (p := prior.inclusion.probabilities(graph)) is None:
        return prior
    (u, v), matrix = graph.edges.T, np.zeros((graph.n_nodes,) * 2)
    matrix[u, v] = matrix[v, u] = p
    return replace(prior, density=matrix)


def constants(prior: Any, graph: Graph, name: str = "edge_probability") -> dict[str, np.ndarray]:
    """Return the probability of each edge, if edges have their own, as it is stored with the draws."""
    p = prior.inclusion.probabilities(graph)
    return {} if p is None else {name: p}


def in_words(prior: Any) -> str:
    """Return a prior as text, without the numbers of all pairs."""
    if not prior.inclusion.has_pairs:
        return f"{prior}"
    return f"{replace(prior, density=0.5)}".replace("density=0.5", "density=of each pair", 1)


def like(model: Any) -> FamilyRow:
    """Return the row of the model that a user's own one is like, for methods of edges.

    Raises
    ------
    OptionError
    """
    if not (model.fields and has_lines(model)):
        expected = "a PairwiseModel with fields whose edges have one parameter"
        raise OptionError(option="model", got=model.name, expected=expected)
    return FAMILIES.row("potts" if is_categorical(model) else "boltzmann")


def log_bayes_factors(weights: np.ndarray, slab_scale: np.ndarray, slab: Slab) -> np.ndarray:
    """Return the log Bayes factor of each edge against its absence, with the other edges as in the posterior.

    By Savage and Dickey it is the slab's density at 0 over that of the weight given the data, with a normal
    approximation of the posterior of the weight. A factor that is 0 at 0, as a^2 of a moment slab, is taken away first,
    by weights 1 / a^2 of the draws, whose mean is the ratio of the two integrals. NaN if fewer than two draws have the
    edge.

    Parameters
    ----------
    weights : (n_draws, n_edges) array
        0 where an edge is absent.
    slab_scale : (n_draws,) array
    slab : Slab
    """
    is_present = weights != 0
    n = is_present.sum(axis=0)
    enough = np.maximum(n, 1)
    share = is_present / slab.factor(np.where(is_present, weights, 1.0) ** 2)
    total = np.maximum(share.sum(axis=0), np.finfo(float).tiny)
    mean = (share * weights).sum(axis=0) / total
    variance = (share * (weights - mean) ** 2).sum(axis=0) / total
    top = slab.log_top(slab_scale) - np.log(total / enough)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_factor = top + 0.5 * np.log(2 * pi * variance) + 0.5 * mean**2 / variance
    return np.where(n > 1, log_factor, np.nan)


def strongest_pair(model: Any, s_bar: np.ndarray, n: float) -> tuple[str, float, float]:
    """Return the candidate whose ends are the most correlated in the data, the correlation, and its p-value.

    The correlation is that of `bayesmrf.posterior.conditionals.centred.edge_correlations`, and the p-value that of the
    largest of all candidates (Bonferroni).
    """
    rho = edge_correlations(model, s_bar)
    e = int(np.abs(rho).argmax())
    return model.feature_names[e], float(rho[e]), float(model.n_edges * stats.chi2.sf(n * rho[e] ** 2, 1))


def warn_of_wide_slab(slab_scale: np.ndarray, prior: SpikeSlab, model: Any, n: float) -> None:
    """Warn if the slab's scale, which is learnt, is so wide that chains with such weights hardly change their states.

    Their moments then are wrong, whatever the weights, which grow on.
    """
    coding, wide = Coding.of(model), float(slab_scale.mean())
    if prior.slab.may_widen and wide > _WIDE / abs(coding.edge):
        tell(
            f"The slab's standard deviation, which is learnt, is {wide:.3g}: {n:,.0f} observations are too few to "
            f"bound the weights between {model.graph.n_nodes} nodes, and chains hardly move at such weights, so that "
            "their moments are wrong. Use a slab of fixed scale"
            f"{in_python(f', such as SpikeSlab(slab=Cauchy({1 / abs(coding.edge)}))')}.",
            ApproximatePosteriorWarning,
            BAD,
        )


def warn_of_taper(slab: Slab) -> None:
    """Warn if a slab with Cauchy tails is so wide that its taper (`bayesmrf.priors.SpikeSlab`) changes its density."""
    factor = slab.taper_factor
    if factor > _TAPERED:
        tell(
            f"A {slab.title} slab is multiplied by a normal density of standard deviation {CAUCHY_TAPER:g}. At scale "
            f"{slab.scale:g} Bayes factors for what may be absent are therefore at least {factor:.3g} times as large "
            f"as those under a {slab.title} slab. Use a smaller scale, or a normal slab.",
            PriorWarning,
        )


def warn_of_prior(
    weights: Columns,
    slab_scale: np.ndarray,
    prior: SpikeSlab,
    model: Any,
    s_bar: np.ndarray | None,
    n: float,
    has_converged: bool,
) -> None:
    """Warn if the prior includes nearly all edges without support by the data, or none despite clear dependence.

    Under a density of mean 1/2 at most and a slab of one log odds ratio or wider, many edges without support of their
    own are included only where others have much, from which p0 is learnt: this is no fault of the prior. That no edge
    is included has other reasons than the prior where chains are too short.
    """
    n_included = int(in_median_model(weights.map(lambda draws: (draws != 0).mean(axis=(0, 1)))).sum())
    r = weights.shape[2]
    if n_included >= _ALL * r:
        factors = weights.map(lambda draws: log_bayes_factors(stacked(draws), slab_scale, prior.slab))
        supported = int((factors > _SUPPORTED).sum())
        code, mean = Coding.of(model).edge, prior.inclusion.mean(model.graph)
        width = float(slab_scale.mean()) * code
        reasons = []
        if mean > _EVEN:
            reasons.append(
                f"the density has a prior mean of {mean:.3g}; use one with a smaller mean"
                f"{in_python(', such as the default, SpikeSlab(density=Beta(1, 1))')}"
            )
        if width < _NARROW:
            reasons.append(
                f"the slab has a scale of {width:.2g} log odds ratios, so that an edge with hardly any weight is about "
                f"as probable as none; use a wider slab{in_python(f', such as SpikeSlab(slab=Cauchy({1 / code}))')}"
            )
        if supported <= r / 2 and reasons:
            tell(
                f"{n_included} of {r} candidate edges have an {ABOVE}, but the data by themselves support only "
                f"{supported} of them (Bayes factor > 3). The prior includes the others: {', and '.join(reasons)}.",
                PriorWarning,
            )
    elif n_included == 0 and s_bar is not None:
        pair, correlation, p_value = strongest_pair(model, s_bar, n)
        if p_value < _FALSE_ALARM:
            reason = (
                "the prior keeps the edges out. Use a prior of the density with a larger mean"
                f"{in_python(', such as the default, SpikeSlab(density=Beta(1, 1))')}, or a narrower slab."
                if has_converged
                else "the chains have not found the edges yet. Use more draws, or another method."
            )
            tell(
                f"No candidate edge has an {ABOVE}, but the ends of {pair} have a correlation of "
                f"{correlation:.2f} (p = {p_value:.0e} over all pairs): {reason}",
                PriorWarning if has_converged else ConvergenceWarning,
            )
