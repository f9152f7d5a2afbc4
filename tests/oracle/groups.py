"""The posterior of differences between groups by brute force: every structure, importance sampling over the weights.

Nothing of the package is used but numbers in the prior. The weights of an edge in G groups are w = b + H d with
Helmert's contrasts H; a slab is a density of |d|, with |d|^2 = 2 sum over t of (w_t - b)^2 whatever the contrasts.
"""

import itertools
from dataclasses import replace
from functools import cache
from math import gamma, log, pi

import numpy as np
from scipy import stats
from scipy.integrate import quad
from scipy.linalg import helmert
from scipy.optimize import minimize
from scipy.special import betaln

from bayesmrf.priors import Moment, Normal
from tests.oracle import spike_slab as one_group

_DF = 6.0


def log_slab(d, slab):
    """Log density of differences (..., k, q), summed over k edges: normal, Cauchy or moment with a taper."""
    k, q = d.shape[-2:]
    squares = (d**2).sum(axis=-1)
    if isinstance(slab, Normal):
        return one_group.log_normal(d, slab.scale).sum(axis=(-2, -1))
    if type(slab).__name__ == "Laplace":
        area = 2 * pi ** (q / 2) / gamma(q / 2) * gamma(q) * slab.scale**q
        return -(np.sqrt(squares).sum(axis=-1) / slab.scale) - k * log(area)

    return np.log(cauchy(squares, slab, q)).sum(axis=-1) - k * log_total(slab, q)


def cauchy(squares, slab, q):
    """Density of a Cauchy or moment slab of q coordinates, up to a factor."""
    limit = one_group.taper(q, 2 * isinstance(slab, Moment))
    tails = (1 + squares / slab.scale**2) ** (-(q + 1) / 2) * np.exp(-squares / 2 / limit**2)
    return tails * squares / (1 + squares / slab.scale**2) if isinstance(slab, Moment) else tails


@cache
def log_total(slab, q):
    """Log integral of `cauchy`."""
    shell = 2 * pi ** (q / 2) / gamma(q / 2)
    steps = [0, slab.scale, 10 * slab.scale, 100 * slab.scale, 1000 * slab.scale]
    parts = [
        quad(lambda r: shell * r ** (q - 1) * cauchy(r**2, slab, q), *ends)[0] for ends in itertools.pairwise(steps)
    ]
    return log(sum(parts))


def log_biases(x, prior):
    """Log density of each bias: normal, or the logit of a Beta variable."""
    if prior.biases is None:
        return one_group.log_normal(x, prior.bias_scale)
    a, b = prior.biases.a, prior.biases.b
    return a * x - (a + b) * np.logaddexp(0, x) - betaln(a, b)


def posterior(
    edges,
    n_nodes,
    groups,
    prior,
    rng,
    n_samples=10_000,
    shared=False,
    always=True,
    features=None,
    biases="free",
    spike=None,
):
    """Posterior means and their standard errors.

    Parameters
    ----------
    edges : (r, 2) array
    groups : sequence of (n, s_bar, seen)
        Observations and mean statistics of each group, or the states (n, 2^d) that each row may be in.
    prior : SpikeSlab
        Its slab is that of baselines, too.
    shared : bool
        Whether the biases are the same in all groups.
    always : bool
        Whether every baseline is present; otherwise it has the same spike, or that of ``spike``.
    features : (n_states, n_features) array
        Features of all states, those of edges first; by default those of a Boltzmann machine.
    biases : {"free", "slab", "spike-slab"}
        Whether biases have a baseline, and differences as edges have, without or with the spike.

    Returns
    -------
    means, errors
        Of: inclusion, the number of differences, and `bounded` functions of theta of each group.
    """
    if features is None:
        states = np.array(list(itertools.product((0, 1), repeat=n_nodes)), dtype=float)
        features = np.concatenate([states[:, edges[:, 0]] * states[:, edges[:, 1]], states], axis=1)
    r, n_groups = len(edges), len(groups)
    n_own = features.shape[1] - r
    q, h = n_groups - 1, helmert(n_groups).T / np.sqrt(2)
    n_biases = n_own if shared or biases != "free" else n_own * n_groups
    n_spiked = r + n_own if biases != "free" else r
    n_absent = r + n_own if biases == "spike-slab" else r
    kinds = [(n, s_bar, one_group.kinds_of(seen)) for n, s_bar, seen in groups]
    weights, values = [], []
    present = [(True,) * r] if always else list(itertools.product((False, True), repeat=r))
    for differs, there in itertools.product(itertools.product((False, True), repeat=n_absent), present):
        structure = one_group.log_structure(differs, prior, edges)
        structure += 0 if always else one_group.log_structure(there, spike or prior, edges)
        if structure == -np.inf:
            continue
        differs, there = np.array([*differs, *(True,) * (n_spiked - n_absent)]), np.array(there)
        k, n_base = differs.sum(), there.sum()
        size = n_base + q * k + n_biases

        def naturals(x, differs=differs, there=there, k=k, n_base=n_base):
            base, d = np.zeros((*x.shape[:-1], r)), np.zeros((*x.shape[:-1], n_spiked, q))
            base[..., there] = x[..., :n_base]
            d[..., differs, :] = x[..., n_base : n_base + q * k].reshape(*x.shape[:-1], k, q)
            biases = x[..., n_base + q * k :].reshape(*x.shape[:-1], -1, n_own)
            biases = np.broadcast_to(biases, (*x.shape[:-1], n_groups, n_own))
            theta = np.concatenate([np.broadcast_to(base[..., None, :], (*biases.shape[:-1], r)), biases], axis=-1)
            theta[..., :n_spiked] += np.moveaxis(d @ h.T, -1, -2)
            return base[..., there], d[..., differs, :], theta

        def log_posterior(x, prior=prior, n_base=n_base, k=k, naturals=naturals, structure=structure):
            base, d, theta = naturals(x)
            found = sum(
                one_group.log_likelihood(theta[..., t, :], features, s_bar, n, seen)
                for t, (n, s_bar, seen) in enumerate(kinds)
            )
            found = found + one_group.log_weights_prior(base, prior) + log_slab(d, prior.slab)
            found = found + log_biases(x[..., n_base + q * k :], prior).sum(axis=-1)
            return found + structure

        guide = replace(prior, slab=one_group.guiding(prior.slab))
        mode = minimize(lambda x, f=log_posterior, guide=guide: -f(x, guide), np.zeros(size), method="BFGS").x
        steps = 1e-3 * np.eye(size)
        plus = log_posterior(mode + steps[:, None] + steps, guide)
        minus = log_posterior(mode + steps[:, None] - steps, guide)
        curvature = -(plus + log_posterior(mode - steps[:, None] - steps, guide) - minus - minus.T) / 4e-6
        root = np.linalg.cholesky(np.linalg.inv((curvature + curvature.T) / 2))
        proposal = stats.multivariate_t(mode, root @ root.T, _DF, seed=rng)
        x = proposal.rvs(n_samples).reshape(n_samples, size)
        weights.append(log_posterior(x) - proposal.logpdf(x))
        theta = naturals(x)[2].reshape(n_samples, -1)
        one = np.ones((n_samples, 1))
        values.append(np.concatenate([one * differs[:r], one * differs[:r].sum(), *bounded(theta)], axis=1))
    top = max(w.max() for w in weights)
    weights = [np.exp(w - top) for w in weights]
    total = sum(w.mean() for w in weights)
    means = sum((w[:, None] * v).mean(axis=0) for w, v in zip(weights, values, strict=True)) / total
    variance = sum(np.var(w[:, None] * (v - means), axis=0) / n_samples for w, v in zip(weights, values, strict=True))
    return means, np.sqrt(variance) / total


def bounded(theta):
    """Functions of theta whose means do not depend on the far tails of the slab."""
    size = np.sqrt(1 + theta**2)
    return theta / size, 1 / size


def functionals(values):
    """The same of draws (n_chains, n_draws, ...), for each draw, without inclusion."""
    theta = values["theta"].reshape(*values["theta"].shape[:2], -1)
    return np.concatenate([values["n_edges"][..., None], *bounded(theta)], axis=2)
