r"""Moments of a Boltzmann machine near its mode, from one long run of persistent chains at a reference.

With many observations the posterior is so narrow that chains that follow theta waste their time: m chains add noise of
n / m posterior variances to a moment. All sweeps at one reference :math:`\theta_0` are of use for every theta nearby
(Geyer and Thompson 1992). With d the distance of theta from the reference,

.. math:: \log \frac{Z(\theta)}{Z(\theta_0)} \approx \sum_k h_k(d_k) + \sum_{k < l} C_{kl} d_k d_l,

where :math:`h_k(d) = \log E_{\theta_0} e^{d g_k}` is exact along each coordinate, as g has few values, and C is the
covariance of the features at the reference. The coordinates are such that they are nearly uncorrelated: a weight moves
together with the biases of its nodes, so that its feature is the residual of their product in its regression on both.
Of nodes that are seldom 1 together, this is nearly the state 11 alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import leaf
from ..learning.many_states import persistent_ascent
from ..models.boltzmann import Boltzmann
from .chain_flips import flip_clusters
from .persistent_chains import EdgeBlocks, EdgeRows, count_both, start_chains, start_rows, sweep, unpack

MOST_FEATURES = 4096  # whose covariance, with the work on it, takes 1 GiB
CHAINS = 4096
_NOISE = 0.02  # of a posterior variance, which the noise of the moments adds at most
_BATCH, _N_BATCHES = 64, 16  # sweeps of a batch, and batches from which the noise is estimated
_MOST_BATCHES = 512
_PRODUCTS = 100  # states for each feature, at least, behind the covariance
_N_ROUNDS = 20  # Newton steps
_NEAR = 2.0  # posterior standard deviations from the mode at which the climb ends
_LONGEST = 0.5  # a Newton step, in standard deviations of the log density
_RARE = 30.0  # observations that vary, below which log Z is not quadratic in a coordinate
_SEEN = 1e-3  # of a variance, in the states behind the covariance; below, a feature was not seen to vary
_DECIMALS = 6  # of theta, so that a continued run does not depend on last bits of a solver


class Reference(NamedTuple):
    """Moments at a reference.

    Attributes
    ----------
    theta, moments : (n_features,) arrays
        Weights and biases, and the probabilities that both ends of an edge, or a node, are 1.
    cells : (n_edges, 4) array
        Probabilities of the states 00, 01, 10, 11 of the ends of each edge, at least half a state of a chain.
    pull : (n_edges, 2) array
        Coefficients of the two nodes in the regression of their product on them.
    covariance : (n_features, n_features) array
        Of the residuals of products, and of the nodes.
    is_normal : (n_features,) bool array
        Whether so many observations vary that log Z is quadratic in the coordinate. Where few vary, covariances are
        shrunk to 0: they are those of a feature that has nearly none at a smaller weight.
    noise : float
        Variance of the moments, over that of those of the data; the mean over features.
    misfit : float
        Distance of theta from the mode along the worst axis of the posterior, in standard deviations. In this unit the
        moments of the data have a sampling error of about 1.
    flattest : float
        Least eigenvalue of the correlations of the coordinates, near 0 if the data say little about one combination.
    """

    theta: np.ndarray
    moments: np.ndarray
    cells: np.ndarray
    pull: np.ndarray
    covariance: np.ndarray
    is_normal: np.ndarray
    noise: float
    misfit: float
    flattest: float


def climb(
    model: Boltzmann, s_bar: np.ndarray, n_samples: float, penalty: np.ndarray, rng: np.random.Generator
) -> Reference:
    r"""Climb to the mode of n (theta . s_bar - log Z) - sum penalty theta^2 / 2, and measure the moments there.

    An ascent by persistent chains (`persistent_ascent`) is followed by Newton steps with moments and covariance of a
    run of chains at each point, until the mode is within two posterior standard deviations in all directions. There the
    chains run until the noise of the moments adds no more than 2 % to posterior variances.

    Parameters
    ----------
    model : Boltzmann
    s_bar, penalty : (n_features,) arrays
        Mean statistics of the data, and precisions of normal priors.
    n_samples : float
    rng : Generator
    """
    graph, r, (u, v) = model.graph, model.n_edges, model.graph.edges.T
    pull = _pull(s_bar, n_samples, graph.edges)
    theta = persistent_ascent(model, s_bar, n_samples, rng, penalty, np.full(len(s_bar), np.inf))
    blocks = unpack(start_chains(CHAINS, graph.n_nodes, rng), CHAINS)
    rows = start_rows(graph, np.ones(r, bool))
    most = _N_BATCHES
    for k in range(_N_ROUNDS):
        theta = np.round(theta, _DECIMALS)
        found = _measure(rng, blocks, rows, theta, n_samples, pull, most)
        slope = n_samples * residual(s_bar - found.moments, graph.edges, pull) - penalty * theta
        step, misfit, flattest = _newton(n_samples * found.covariance + np.diag(penalty), slope)
        found = found._replace(misfit=misfit, flattest=flattest)
        if most == _MOST_BATCHES or k == _N_ROUNDS - 1:
            break
        if misfit < _NEAR:  # the last run is a long one, at the same theta
            most = _MOST_BATCHES
            continue
        step *= min(1.0, _LONGEST / np.sqrt(step @ found.covariance @ step))
        theta = theta + step
        for ends, weights in zip((u, v), pull.T, strict=True):
            theta[r:] -= np.bincount(ends, weights * step[:r], graph.n_nodes)
    return found


def _newton(hessian: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the Newton step, its largest length along an axis of the posterior in standard deviations, and the least
    eigenvalue of ``hessian`` scaled to a diagonal of 1.
    """
    scale = 1 / np.sqrt(hessian.diagonal())
    values, axes = np.linalg.eigh(hessian * np.outer(scale, scale))
    along = axes.T @ (slope * scale)
    return scale * (axes @ (along / values)), float(np.abs(along / np.sqrt(values)).max()), float(values[0])


def _pull(s_bar: np.ndarray, n_samples: float, edges: np.ndarray) -> np.ndarray:
    """Return the coefficients of x_u and x_v, (n_edges, 2), in the regression of x_u x_v on both in the data.

    One observation is added, evenly over the states.
    """
    r, (u, v) = len(edges), edges.T
    both, p = (n_samples * s_bar[:r] + 0.25) / (n_samples + 1), (n_samples * s_bar[r:] + 0.5) / (n_samples + 1)
    p_u, p_v = p[u], p[v]
    shared, own_u, own_v = both - p_u * p_v, p_u * (1 - p_u), p_v * (1 - p_v)
    found = np.column_stack([(1 - p_u) * own_v - shared * (1 - p_v), (1 - p_v) * own_u - shared * (1 - p_u)])
    return found * (both / (own_u * own_v - shared**2))[:, None]


def residual(values: np.ndarray, edges: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Return values along the first axis of the residuals of products, and of the nodes, from those of features."""
    r, (u, v) = len(edges), edges.T
    k_u, k_v = (k.reshape(-1, *[1] * (values.ndim - 1)) for k in pull.T)
    return np.concatenate([values[:r] - k_u * values[r + u] - k_v * values[r + v], values[r:]])


def residual_values(pull: np.ndarray) -> np.ndarray:
    """Return the residuals (n_edges, 4) in the states 00, 01, 10, 11 of the ends of edges, up to a constant."""
    k_u, k_v = pull.T
    return np.column_stack([np.zeros(len(pull)), -k_v, -k_u, 1 - k_u - k_v])


def _measure(
    rng: np.random.Generator,
    blocks: EdgeBlocks,
    rows: EdgeRows,
    theta: np.ndarray,
    n_samples: float,
    pull: np.ndarray,
    most: int,
) -> Reference:
    """Run at most ``most`` batches of sweeps at theta, until the noise of the moments is small."""
    p, per_batch, n_products = len(theta), CHAINS * _BATCH, 0
    counts: list[np.ndarray] = []
    products, every = np.zeros((p, p)), int(np.clip(_BATCH * _N_BATCHES * CHAINS // (_PRODUCTS * p), 1, _BATCH))
    _batch(rng, blocks, rows, theta, _BATCH + 1, products)  # warm-up
    while True:
        few = len(counts) < _N_BATCHES
        counts.append(_batch(rng, blocks, rows, theta, every if few else _BATCH + 1, products) / per_batch)
        n_products += few * (-(-_BATCH // every)) * CHAINS
        if len(counts) < _N_BATCHES:
            continue
        moments = np.mean(counts, axis=0)
        variance = moments * (1 - moments)
        seen = variance > 0
        noise = n_samples * np.mean(np.var(counts, axis=0, ddof=1)[seen] / variance[seen]) / len(counts)
        if noise <= _NOISE or len(counts) >= most:
            break
    products = (products + np.triu(products, 1).T) / n_products
    mean = products.diagonal().copy()
    covariance = residual(residual(products - np.outer(mean, mean), rows.edges, pull).T, rows.edges, pull)
    # All sweeps give the variances, and a part of them the correlations.
    least = 0.5 / (len(counts) * per_batch)
    moments = np.clip(moments, least, 1 - least)
    cells = _cells(moments, rows.edges, least)
    variance, fourth = _central(cells, moments[len(pull) :], pull)
    n_like = n_samples * variance**2 / fourth
    drawn = covariance.diagonal()
    known = drawn > _SEEN * variance
    scale = np.sqrt(np.where(known, variance / np.where(known, drawn, 1), 0) / (1 + (_RARE / n_like) ** 2))
    covariance *= np.outer(scale, scale)
    np.fill_diagonal(covariance, variance)
    return Reference(theta, moments, cells, pull, covariance, n_like >= _RARE, float(noise), np.inf, 0.0)


def _cells(moments: np.ndarray, edges: np.ndarray, least: float) -> np.ndarray:
    """Return the probabilities (n_edges, 4) of the states 00, 01, 10, 11 of the ends of edges, ``least`` or more."""
    r, (u, v) = len(edges), edges.T
    both, p, q = moments[:r], moments[r + u], moments[r + v]
    cells = np.maximum(np.column_stack([1 - p - q + both, q - both, p - both, both]), least)
    return cells / cells.sum(axis=1, keepdims=True)


def _central(cells: np.ndarray, ones: np.ndarray, pull: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the second and fourth central moments of the residuals of products, and of the nodes."""
    g = residual_values(pull)
    g -= (cells * g).sum(axis=1, keepdims=True)
    one = ones * (1 - ones)
    second = np.concatenate([(cells * g**2).sum(axis=1), one])
    return second, np.concatenate([(cells * g**4).sum(axis=1), one * (1 - 3 * one)])


@leaf
def _batch(rng, blocks, rows, theta, every, products):
    """Sweep the chains ``_BATCH`` times; return how often each feature was 1, and add products of features."""
    r, n_nodes, n_words = len(rows.edges), len(rows.degree), blocks.words.shape[1]
    counts, features = np.zeros(r + n_nodes), np.empty((r + n_nodes, n_words), np.uint64)
    for t in range(_BATCH):
        flip_clusters(rng, blocks, rows, theta)
        sweep(blocks, rows, theta)
        for e in range(r):
            counts[e] += count_both(blocks.words, rows.edges[e, 0], rows.edges[e, 1])
        for i in range(n_nodes):
            counts[r + i] += blocks.ones[i]
        if every <= _BATCH and t % every == 0:
            for e in range(r):
                for k in range(n_words):
                    features[e, k] = blocks.words[rows.edges[e, 0], k] & blocks.words[rows.edges[e, 1], k]
            features[r:] = blocks.words
            for a in range(r + n_nodes):
                for b in range(a, r + n_nodes):
                    products[a, b] += count_both(features, a, b)
    return counts
