r"""Moments of a Boltzmann machine at one point of the posterior, from a long run of persistent chains there.

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
from ..learning.persistent_ascent import persistent_ascent
from ..models.boltzmann import Boltzmann, regression_on_ends
from .chain_flips import flip_clusters
from .persistent_chains import count_both, start_chains, start_rows, sweep, unpack

MOST_FEATURES = 4096  # whose covariance, with the work on it, takes 1 GiB
CHAINS = 4096
_NOISE = 0.005  # of a posterior variance, which the noise of the moments adds at most
_BATCH, _N_BATCHES = 64, 16  # sweeps of a batch, and batches from which the noise is estimated
_MOST_BATCHES = 512
_PRODUCTS = 400  # states for each feature, at least, behind the covariance
_STATES, _BETWEEN = 65_536, 4  # that test the extrapolation, and sweeps between those of a chain
_N_ROUNDS = 20  # Newton steps
_NEAR = 2.0  # posterior standard deviations from the mode at which the climb ends
_LONGEST = 0.5  # a Newton step, in standard deviations of the log density
_RARE = 30.0  # observations that vary, below which log Z is not quadratic in a coordinate
_SEEN = 1e-3  # of a variance, in the states behind the covariance; below, a feature was not seen to vary
_DECIMALS = 6  # of theta, so that a continued run does not depend on last bits of a solver


class Reference(NamedTuple):
    """Moments at a reference."""

    # theta, moments: (n_features,), weights and biases, and the probabilities that both ends of an edge, or a node, are
    # 1
    theta: np.ndarray
    moments: np.ndarray
    # (n_edges, 4), probabilities of the states 00, 01, 10, 11 of the ends of each edge, at least half a state of a
    # chain
    cells: np.ndarray
    pull: np.ndarray  # (n_edges, 2), coefficients of the two nodes in the regression of their product on them
    covariance: np.ndarray  # (n_features, n_features), of the residuals of products, and of the nodes
    # (n_features,), whether so many observations vary that log Z is quadratic in the coordinate. Where few vary,
    # covariances are shrunk to 0: they are those of a feature that has nearly none at a smaller weight.
    is_normal: np.ndarray
    noise: float  # variance of the moments, over that of those of the data; the mean over features


class ReferenceChains:
    r"""Persistent chains that climb to the mode of n (theta . s_bar - log Z) - sum penalty theta^2 / 2.

    Parameters
    ----------
    model : Boltzmann
    s_bar, penalty : (n_features,) arrays
        Mean statistics of the data, and precisions of normal priors.
    n_samples : float
    rng : Generator
    """

    def __init__(
        self, model: Boltzmann, s_bar: np.ndarray, n_samples: float, penalty: np.ndarray, rng: np.random.Generator
    ) -> None:
        graph = model.graph
        self.model, self.s_bar, self.n_samples, self.penalty, self.rng = model, s_bar, n_samples, penalty, rng
        self.pull = regression_on_ends(s_bar, n_samples, graph.edges)
        self.blocks = unpack(start_chains(CHAINS, graph.n_nodes, rng), CHAINS)
        self.rows = start_rows(graph, np.ones(model.n_edges, bool))

    def climb(self) -> tuple[Reference, float]:
        """Climb to the mode, and measure the moments there.

        An ascent by persistent chains (`persistent_ascent`) is followed by Newton steps with moments and covariance of
        a run of chains at each point, until the mode is within two posterior standard deviations in all directions.

        Returns
        -------
        Reference
        float
            Distance from the mode along the worst axis of the posterior, in standard deviations. In this unit the
            moments of the data have a sampling error of about 1.
        """
        n, s_bar, penalty, r = self.n_samples, self.s_bar, self.penalty, self.model.n_edges
        theta = persistent_ascent(self.model, s_bar, n, self.rng, penalty, np.full(len(s_bar), np.inf))
        for k in range(_N_ROUNDS):
            reference = self.measure(theta, _N_BATCHES)
            slope = n * residual(s_bar - reference.moments, self.rows.edges, self.pull) - penalty * reference.theta
            step, misfit = _newton(n * reference.covariance + np.diag(penalty), slope)
            if misfit < _NEAR or k == _N_ROUNDS - 1:
                break
            step *= min(1.0, _LONGEST / np.sqrt(step @ reference.covariance @ step))
            theta = reference.theta + step
            theta[r:] -= self._carried(step)
        return reference, misfit

    def neglected(self, reference: Reference, draws: np.ndarray) -> float:
        r"""Estimate the error of the extrapolation at draws of theta, (n_draws, n_features), from states of the chains.

        It is the standard deviation over draws of :math:`n (\log Z - \log Z_2)`, with :math:`Z_2` of the extrapolation,
        times :math:`\sqrt{3 / p}`: the leading error is of third order, so that each term belongs to three of p
        coordinates, and this is about its share in the log odds of one edge, in nats. The moments and covariance of the
        same states take the place of those of the reference, so that the noise is of third order as well.
        """
        states = np.concatenate([self._states(reference.theta) for _ in range(_STATES // CHAINS)])
        errors = np.empty(len(draws))
        for k, step in enumerate(draws - reference.theta):
            step[self.model.n_edges :] += self._carried(step)
            a = self._exponents(states, step)
            normal = a if reference.is_normal.all() else self._exponents(states, step * reference.is_normal)
            errors[k] = np.log(np.mean(np.exp(a))) - np.mean(normal**2) / 2 - _not_normal(reference, step)
        return float(self.n_samples * errors.std() * np.sqrt(3 / len(reference.theta)))

    def _carried(self, step: np.ndarray) -> np.ndarray:
        """Compute the fall of the biases for a step of the weights along the coordinates."""
        pull, edges = self.pull * step[: self.model.n_edges, None], self.rows.edges
        return np.bincount(edges.ravel(), pull.ravel(), self.model.graph.n_nodes)

    def _states(self, theta: np.ndarray) -> np.ndarray:
        """Return the states of all chains, (CHAINS, n_nodes), a few sweeps later."""
        _batch(self.rng, self.blocks, self.rows, theta, _BETWEEN, 0, np.empty((0, 0)))
        return self.blocks.states.transpose(0, 2, 1).reshape(CHAINS, -1).astype(np.float32)

    def _exponents(self, states: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return by how much the log density of each state rises along a step, relative to its mean."""
        r = self.model.n_edges
        weights = np.diag(step[r:] - self._carried(step)).astype(np.float32)
        weights[tuple(self.rows.edges.T)] = step[:r]
        exponents = np.einsum("ij,ij->i", states @ weights, states).astype(np.float64)
        return exponents - exponents.mean()

    def measure(self, theta: np.ndarray, most: int = _MOST_BATCHES) -> Reference:
        """Run at most ``most`` batches of sweeps at theta, until their noise is small against posterior variances."""
        theta = np.round(theta, _DECIMALS)
        p, per_batch, edges = len(theta), CHAINS * _BATCH, self.rows.edges
        every = int(np.clip(_BATCH * _N_BATCHES * CHAINS // (_PRODUCTS * p), 1, _BATCH))
        products, n_products = np.zeros((p, p)), 0
        counts: list[np.ndarray] = []
        _batch(self.rng, self.blocks, self.rows, theta, _BATCH, 0, products)  # warm-up
        while True:
            few = len(counts) < _N_BATCHES
            batch = _batch(self.rng, self.blocks, self.rows, theta, _BATCH, every * few, products)
            counts.append(batch / per_batch)
            n_products += few * (-(-_BATCH // every)) * CHAINS
            if len(counts) < _N_BATCHES:
                continue
            moments = np.mean(counts, axis=0)
            variance = moments * (1 - moments)
            varying = variance > 0
            noise = np.mean(np.var(counts, axis=0, ddof=1)[varying] / variance[varying]) * self.n_samples / len(counts)
            if noise <= _NOISE or len(counts) >= most:
                break
        products = (products + np.triu(products, 1).T) / n_products
        mean = products.diagonal().copy()
        covariance = residual(residual(products - np.outer(mean, mean), edges, self.pull).T, edges, self.pull)
        # All sweeps give the variances, and a part of them the correlations.
        least = 0.5 / (len(counts) * per_batch)
        moments = np.clip(moments, least, 1 - least)
        cells = _cells(moments, edges, least)
        variance, fourth = _central(cells, moments[len(edges) :], self.pull)
        n_like = self.n_samples * variance**2 / fourth
        drawn = covariance.diagonal()
        known = drawn > _SEEN * variance
        scale = np.sqrt(np.where(known, variance / np.where(known, drawn, 1), 0) / (1 + (_RARE / n_like) ** 2))
        covariance *= np.outer(scale, scale)
        np.fill_diagonal(covariance, variance)
        return Reference(theta, moments, cells, self.pull, covariance, n_like >= _RARE, float(noise))


def _not_normal(reference: Reference, step: np.ndarray) -> float:
    """Return log Z of a step, relative to its slope, less the quadratic form of the coordinates that are normal."""
    rare = ~reference.is_normal
    if not rare.any():
        return 0.0
    r, C = len(reference.cells), reference.covariance
    g, p = residual_values(reference.pull), reference.moments[r:]
    g = g - (reference.cells * g).sum(axis=1, keepdims=True)
    alone = np.log((reference.cells * np.exp(step[:r, None] * g)).sum(axis=1))
    alone = np.concatenate([alone, np.log1p(p * np.expm1(step[r:])) - p * step[r:]])
    shared = step[rare] @ (C[rare] @ (step * np.where(rare, 0.5, 1))) - C.diagonal()[rare] @ step[rare] ** 2 / 2
    return float(alone[rare].sum() + shared)


def _newton(hessian: np.ndarray, slope: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the Newton step, and its largest length along an axis of the posterior in standard deviations."""
    scale = 1 / np.sqrt(hessian.diagonal())
    values, axes = np.linalg.eigh(hessian * np.outer(scale, scale))
    along = axes.T @ (slope * scale)
    return scale * (axes @ (along / values)), float(np.abs(along / np.sqrt(values)).max())


def residual(values: np.ndarray, edges: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Return values along the first axis of the residuals of products, and of the nodes, from those of features."""
    r, (u, v) = len(edges), edges.T
    k_u, k_v = (k.reshape(-1, *[1] * (values.ndim - 1)) for k in pull.T)
    return np.concatenate([values[:r] - k_u * values[r + u] - k_v * values[r + v], values[r:]])


def residual_values(pull: np.ndarray) -> np.ndarray:
    """Return the residuals (n_edges, 4) in the states 00, 01, 10, 11 of the ends of edges, up to a constant."""
    k_u, k_v = pull.T
    return np.column_stack([np.zeros(len(pull)), -k_v, -k_u, 1 - k_u - k_v])


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
def _batch(rng, blocks, rows, theta, n_sweeps, every, products):
    """Sweep the chains; return how often each feature was 1, and add products of features of some sweeps."""
    r, n_nodes, n_words = len(rows.edges), len(rows.degree), blocks.words.shape[1]
    counts, features = np.zeros(r + n_nodes), np.empty((r + n_nodes, n_words), np.uint64)
    for t in range(n_sweeps):
        flip_clusters(rng, blocks, rows, theta)
        sweep(blocks, rows, theta)
        for e in range(r):
            counts[e] += count_both(blocks.words, rows.edges[e, 0], rows.edges[e, 1])
        for i in range(n_nodes):
            counts[r + i] += blocks.ones[i]
        if every and t % every == 0:
            for e in range(r):
                for k in range(n_words):
                    features[e, k] = blocks.words[rows.edges[e, 0], k] & blocks.words[rows.edges[e, 1], k]
            features[r:] = blocks.words
            for a in range(r + n_nodes):
                for b in range(a, r + n_nodes):
                    products[a, b] += count_both(features, a, b)
    return counts
