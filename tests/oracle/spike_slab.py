"""The posterior of edges and weights by brute force: every structure, importance sampling over the parameters of each.

Nothing of the package but ``model.graph`` and the numbers in the prior is used. p0 and the slab's precision are
integrated out: the structure has a Beta-binomial prior, the weights of k edges a k-variate Student t (Gamma), or
independent normal or tapered Cauchy or moment densities; a Cauchy scale that has a prior is summed over a grid.
"""

import itertools
from functools import lru_cache
from math import exp, lgamma, log, pi

import numpy as np
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import logsumexp

from bayesmrf.priors import Blocks, Cauchy, Gamma, Moment, Normal, SpikeSlab
from tests.oracle import blocks as blocks_oracle
from tests.oracle.bounds import Comparison
from tests.oracle.states import all_states

_DF = 6.0
TAPER = 50.0  # standard deviation of the normal factor of a Cauchy slab of one parameter


def _features(graph):
    states = all_states(graph.n_nodes).astype(float)
    return np.concatenate([states[:, graph.edges[:, 0]] * states[:, graph.edges[:, 1]], states], axis=1)


def _log_beta(a, b):
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def log_structure(included, prior, edges=()):
    """Log prior probability of one structure; of a matrix of probabilities, the ends of the edges are given."""
    k, m = sum(included), len(included)
    if isinstance(prior.density, Blocks):
        return logsumexp(blocks_oracle.log_joint(included, edges, prior.density)[0])
    if isinstance(prior.density, np.ndarray):
        p = prior.density[edges[:, 0], edges[:, 1]]
        with np.errstate(divide="ignore"):
            return np.log(np.where(included, p, 1 - p)).sum()
    if isinstance(prior.density, float):
        return k * log(prior.density) + (m - k) * log(1 - prior.density)
    a, b = prior.density.a, prior.density.b
    return _log_beta(a + k, b + m - k) - _log_beta(a, b)


def log_normal(x, scale):
    """Log density of each element; that of scipy.stats takes ten times as long, most of the time of a search."""
    return -0.5 * (x / scale) ** 2 - log(scale) - 0.5 * log(2 * pi)


def log_weights_prior(weights, prior):
    """Log density of the weights (..., k) of k edges, the slab's precision integrated out where it is not fixed."""
    k, slab = weights.shape[-1], prior.slab
    if isinstance(slab, Cauchy) and isinstance(slab.scale, Gamma):
        return np.logaddexp.reduce(scale_terms(weights, slab.scale)[1], axis=-1)
    if isinstance(slab, Moment):
        found = 2 * np.log(np.abs(weights)) - 2 * np.log1p((weights / slab.scale) ** 2)
        return (found - (weights / TAPER) ** 2 / 2).sum(axis=-1) - k * log_moment(slab.scale)
    if isinstance(slab, Cauchy):
        cauchy = -np.log1p((weights / slab.scale) ** 2) - log(pi * slab.scale)
        return (cauchy - (weights / TAPER) ** 2 / 2).sum(axis=-1) - k * log_taper(slab.scale)
    if isinstance(slab, Normal):
        return log_normal(weights, slab.scale).sum(axis=-1)
    if type(slab).__name__ == "Laplace":
        return -(np.abs(weights).sum(axis=-1) / slab.scale) - k * log(2 * slab.scale)
    c, rate = slab.shape, slab.rate
    log_constant = lgamma(c + k / 2) - lgamma(c) + c * log(rate) - k / 2 * log(2 * pi)
    return log_constant - (c + k / 2) * np.log(rate + (weights**2).sum(axis=-1) / 2)


def guiding(slab):
    if isinstance(slab, Moment):
        return Cauchy(2 * slab.scale)
    if type(slab).__name__ == "Laplace":
        return Cauchy(slab.scale)
    is_learnt = isinstance(slab, Cauchy) and isinstance(slab.scale, Gamma)
    return Cauchy(slab.scale.shape / slab.scale.rate) if is_learnt else slab


def scale_terms(weights, prior):
    """Scales of Cauchy slabs on a grid, and the log of each term (..., n) of the sum over them of prior times slabs."""
    t = np.linspace(-9, 5, 400)
    s = np.exp(t)
    terms = stats.gamma.logpdf(s, prior.shape, scale=1 / prior.rate) + t + log(t[1] - t[0])
    terms = terms - weights.shape[-1] * (t + log(pi) + log_taper(1.0))
    x = (weights[..., None] / s) ** 2
    return s, terms - (np.log1p(x) + x / TAPER**2 / 2).sum(axis=-2)


@lru_cache
def taper(n, power=0):
    """Standard deviation of the normal factor of a slab of n parameters: as probable to be exceeded as 50 is by one.

    With m = n + power, the tail of the density of |d| is r^-2 over the integral of r^(m - 1) (1 + r^2)^(-(m + 1) / 2).
    """

    def integral(m):
        return quad(lambda r: r ** (m - 1) * (1 + r**2) ** (-(m + 1) / 2), 0, np.inf)[0]

    return TAPER * integral(1 + power) / integral(n + power)


@lru_cache
def log_moment(scale):
    """Log of the integral of a^2 / (1 + a^2 / scale^2)^2 with the normal factor, by quadrature."""
    return log(quad(lambda a: 2 * a**2 / (1 + (a / scale) ** 2) ** 2 * exp(-((a / TAPER) ** 2) / 2), 0, np.inf)[0])


@lru_cache
def log_taper(scale):
    """Log of the mean of the normal factor under the Cauchy distribution, by quadrature."""
    return log(quad(lambda a: 2 * stats.cauchy.pdf(a, scale=scale) * exp(-((a / TAPER) ** 2) / 2), 0, np.inf)[0])


def kinds_of(seen):
    """Different rows of ``seen`` (n, n_states), which states they may be in, and how often each occurs."""
    return None if seen is None else np.unique(seen, axis=0, return_counts=True)


def log_likelihood(theta, f, s_bar, n, kinds_seen):
    """Of statistics s_bar, or of rows of which only `kinds_of` their states is known."""
    energy = theta @ f.T
    log_z = np.logaddexp.reduce(energy, axis=-1)
    if kinds_seen is None:
        return n * (theta @ s_bar - log_z)
    kinds, counts = kinds_seen
    return np.log(np.exp(energy - log_z[..., None]) @ kinds.T) @ counts


def weighted_draws(log_posterior, p, rng, n_samples, guide=None):
    """Draws (n_samples, p) of a Student t around the mode, and the logs of their weights; the mean weight is the
    integral of the density. The mode is that of ``guide``, if it is given."""
    guide = log_posterior if guide is None else guide
    found = minimize(lambda t: -guide(t), np.zeros(p), method="BFGS")
    # Curvature by differences.
    steps = 1e-3 * np.eye(p)
    points = found.x + steps[:, None, :] + steps[None, :, :]
    plus, minus = guide(points), guide(found.x + steps[:, None, :] - steps[None, :, :])
    back = guide(found.x - steps[:, None, :] - steps[None, :, :])
    curvature = -(plus + back - minus - minus.T) / 4e-6
    root = np.linalg.cholesky(np.linalg.inv((curvature + curvature.T) / 2))
    z = rng.standard_normal((n_samples, p)) / np.sqrt(rng.chisquare(_DF, size=(n_samples, 1)) / _DF)
    theta = found.x + z @ root.T
    log_proposal = (
        lgamma((_DF + p) / 2)
        - lgamma(_DF / 2)
        - p / 2 * log(_DF * pi)
        - np.log(np.diag(root)).sum()
        - (_DF + p) / 2 * np.log1p((z**2).sum(axis=1) / _DF)
    )
    return theta, log_posterior(theta) - log_proposal


def posterior(graph, s_bar, n, prior, rng, n_samples=10_000, features=None, seen=None, more=None, also=None):
    """Posterior means, and their standard errors, of: inclusion of each edge, theta, theta^2, the number of edges, p0
    and the slab's precision (in this order, one vector). ``features`` of all states are those of a Boltzmann machine,
    or of another model whose edges come first; ``seen`` (n, n_states) are the states that each row may be in, where
    values are missing. ``more`` returns further quantities of a structure, and ``also`` of theta (n, n_features), 0 for
    an absent edge, which come last."""
    features, m = _features(graph) if features is None else features, graph.n_edges
    d, kinds_seen = features.shape[1] - m, kinds_of(seen)
    weights, values = [], []
    for included in itertools.product((False, True), repeat=m):
        kept = np.concatenate([np.flatnonzero(included), m + np.arange(d)])
        k, structure = sum(included), log_structure(included, prior, graph.edges)
        if structure == -np.inf:
            continue
        f, s = features[:, kept], s_bar[kept]

        def log_posterior(theta, k=k, f=f, s=s, structure=structure):
            return (
                log_likelihood(theta, f, s, n, kinds_seen)
                + log_weights_prior(theta[..., :k], prior)
                + log_normal(theta[..., k:], prior.bias_scale).sum(axis=-1)
                + structure
            )

        def guide(theta, k=k, f=f, s=s):  # where the proposals are: with a slab that is neither 0 nor infinite at 0
            fields = log_normal(theta[..., k:], prior.bias_scale).sum(axis=-1)
            slab = SpikeSlab(slab=guiding(prior.slab))
            return log_likelihood(theta, f, s, n, kinds_seen) + log_weights_prior(theta[..., :k], slab) + fields

        theta, log_weights = weighted_draws(log_posterior, k + d, rng, n_samples, guide)
        weights.append(log_weights)
        full = np.zeros((n_samples, m + d))
        full[:, kept] = theta
        if isinstance(prior.density, Blocks):
            density = blocks_oracle.mean_probability(included, graph.edges, prior.density)
        elif isinstance(prior.density, float | np.ndarray):
            density = np.mean(prior.density[tuple(graph.edges.T)] if np.ndim(prior.density) else prior.density)
        else:
            density = (prior.density.a + k) / (prior.density.a + prior.density.b + m)
        if isinstance(prior.slab, Gamma):
            precision = (prior.slab.shape + k / 2) / (prior.slab.rate + (theta[:, :k] ** 2).sum(axis=1) / 2)
        elif isinstance(prior.slab.scale, Gamma):
            scales, terms = scale_terms(theta[:, :k], prior.slab.scale)
            share = np.exp(terms - terms.max(axis=1, keepdims=True))
            precision = share @ scales**-2.0 / share.sum(axis=1)
        else:
            precision = np.full(n_samples, prior.slab.scale**-2.0)
        one, further = np.ones((n_samples, 1)), np.zeros(0) if more is None else more(included)
        values.append(
            np.concatenate(
                [one * np.array(included), full, full**2, k * one, density * one, precision[:, None], one * further]
                + ([] if also is None else [also(full)]),
                axis=1,
            )
        )
    top = max(w.max() for w in weights)
    weights = [np.exp(w - top) for w in weights]
    total = sum(w.mean() for w in weights)
    means = sum((w[:, None] * v).mean(axis=0) for w, v in zip(weights, values, strict=True)) / total
    variance = (
        sum(np.var(w[:, None] * (v - means), axis=0) / n_samples for w, v in zip(weights, values, strict=True))
        / total**2
    )
    return means, np.sqrt(variance)


def compared(values, exact, error):
    """Compare draws with posterior means that have these standard errors."""
    theta, m = values["theta"], values["included"].shape[-1]
    found = Comparison().shares(values["included"], exact[:m], error=error[:m])
    hyper = [values["n_edges"], values["density"], values["slab_scale"] ** -2.0]
    others = np.concatenate([theta, theta**2, np.stack(hyper, axis=-1)], axis=2)
    least = np.full(others.shape[2], 1e-9)  # hyperparameters may be fixed
    least[-3] = m / values["n_edges"].size  # the number of edges may be the same in every draw
    return found.means(others, exact[m:], error=error[m:], least=least)
