"""Second computation: importance sampling with scrambled Sobol points, repeated for a standard error.

The proposal of each structure is Student's t at the mode. Scales that are learnt are coordinates of their own, and
densities of edges are integrated out by Gauss-Legendre quadrature: the first computation has closed forms of both.
"""

from __future__ import annotations

import itertools
from math import exp, gamma, log

import numpy as np
from energies import log_likelihood
from scipy import optimize, special, stats
from scipy.stats import qmc

_DF = 5.0
N_REPLICATES = 16
_LEGENDRE = np.polynomial.legendre.leggauss(60)


def edge_probability(present: int, absent: int, a: float, b: float) -> float:
    """Integrate p^present (1 - p)^absent over a Beta(a, b) density by quadrature (a and b at least 1)."""
    p, w = (_LEGENDRE[0] + 1) / 2, _LEGENDRE[1] / 2
    return float(w @ (p**present * (1 - p) ** absent * stats.beta.pdf(p, a, b)))


def canonical(labels: tuple) -> tuple:
    """Number labels by first appearance."""
    order: dict = {}
    return tuple(order.setdefault(label, len(order)) for label in labels)


def prior_of_partitions(n: int, blocks: dict, most: int = 13) -> dict[tuple, float]:
    """Add up the prior of all assignments of n items to components, one item after the other."""
    total: dict[tuple, float] = {}
    if blocks["partition"] == "process":
        alpha = blocks["concentration"]
        for labels in itertools.product(range(n), repeat=n):
            if canonical(labels) == labels:
                p = 1.0
                for i, label in enumerate(labels):
                    p *= (labels[:i].count(label) or alpha) / (alpha + i)
                total[labels] = p
        return total
    c, rate = blocks["concentration"], blocks["rate"]
    for k in range(1, most + 1):
        weight = rate ** (k - 1) * exp(-rate) / gamma(k)
        for labels in itertools.product(range(k), repeat=n):
            p = weight
            for i, label in enumerate(labels):
                p *= (c + labels[:i].count(label)) / (k * c + i)
            key = canonical(labels)
            total[key] = total.get(key, 0.0) + p
    return total


def structure_prior(included: dict[str, int], density: dict, nodes: list[str]) -> float:
    """Return the prior probability that just these edges are present."""
    if density["type"] == "beta":
        k = sum(included.values())
        return edge_probability(k, len(included) - k, density["a"], density["b"])
    if density["type"] != "blocks":
        p = density["values"] if density["type"] == "pairs" else dict.fromkeys(included, density["value"])
        return float(np.prod([p[e] if y else 1 - p[e] for e, y in included.items()]))
    return sum(blocks_and_edges(included, density, nodes).values())


_PARTITIONS: dict = {}


def blocks_and_edges(included: dict[str, int], density: dict, nodes: list[str]) -> dict[tuple, float]:
    """Return the prior probability of the edges together with each partition of the nodes."""
    key = (len(nodes), str(density))
    if key not in _PARTITIONS:
        _PARTITIONS[key] = prior_of_partitions(len(nodes), density)
    joint = {}
    for labels, p in _PARTITIONS[key].items():
        of = dict(zip(nodes, labels, strict=True))
        cells: dict = {}
        for edge, y in included.items():
            ends = frozenset(of[end] for end in edge.split("-"))
            cells.setdefault(ends, []).append(y)
        for ends, ys in cells.items():
            a, b = density["within" if len(ends) == 1 else "between"]
            p *= edge_probability(sum(ys), len(ys) - sum(ys), a, b)
        joint[labels] = p
    return joint


def log_prior(values: list[np.ndarray], kinds: list[str], prior: dict, hyper: np.ndarray | None) -> np.ndarray:
    """Return the log density of blocks of weights and of biases, each an array (n, size), given a learnt scale."""
    total = 0.0
    for x, kind in zip(values, kinds, strict=True):
        law = prior["bias"] if kind == "bias" else prior["slab"]
        if law["type"] == "normal":
            total = total + stats.norm.logpdf(x, scale=law["scale"]).sum(axis=1)
        elif law["type"] == "logistic-beta":
            p = special.expit(x)
            total = total + (stats.beta.logpdf(p, law["a"], law["b"]) + np.log(p * special.expit(-x))).sum(axis=1)
        elif law["type"] == "cauchy":
            shape = law["scale"] ** 2 * np.eye(x.shape[1])
            total = total + stats.multivariate_t.logpdf(x, shape=shape, df=1).reshape(len(x))
        elif law["type"] == "normal-gamma":
            total = total + stats.norm.logpdf(x, scale=np.exp(-hyper / 2)[:, None]).sum(axis=1)
        elif law["type"] == "cauchy-gamma":
            total = total + stats.cauchy.logpdf(x, scale=np.exp(hyper)[:, None]).sum(axis=1)
    if hyper is not None:
        law = prior["slab"]
        total = total + stats.gamma.logpdf(np.exp(hyper), law["shape"], scale=1 / law["rate"]) + hyper
    return total


class Target:
    """Likelihood times prior of one structure, as a function of its free coordinates."""

    n_rounds = 1  # in which the proposal is corrected

    def __init__(self, case: dict, data: dict, names: list[str], blocks: list, biases: list[str], absent: list[str]):
        self.case, self.data, self.names, self.absent = case, data, names, absent
        self.blocks = blocks  # each a list of coordinates, a coordinate being a list of names that share it
        self.biases = biases
        self.has_hyper = case["prior"]["slab"]["type"].endswith("-gamma") and bool(blocks)
        self.size = sum(map(len, blocks)) + len(biases) + self.has_hyper

    def values(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return all parameters by name."""
        t = {name: np.zeros(len(x)) for name in self.absent}
        coordinates = [c for block in self.blocks for c in block] + [[b] for b in self.biases]
        for k, shared in enumerate(coordinates):
            t |= dict.fromkeys(shared, x[:, k])
        return t

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log of likelihood times prior at each row of x."""
        parts, kinds, k = [], [], 0
        for block in self.blocks:
            parts.append(x[:, k : k + len(block)])
            kinds.append("slab")
            k += len(block)
        parts.append(x[:, k : k + len(self.biases)])
        hyper = x[:, -1] if self.has_hyper else None
        likelihood = log_likelihood(self.case, self.data, self.values(x))
        return likelihood + log_prior(parts, [*kinds, "bias"], self.case["prior"], hyper)


def proposal(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and root of a proposal: mode and curvature, corrected by a first sample."""
    d = target.size
    steps = 1e-4 * np.eye(d)

    def gradient(x: np.ndarray) -> np.ndarray:
        both = target.log_density(np.concatenate([x + steps, x - steps]))
        return -(both[:d] - both[d:]) / 2e-4

    mode = optimize.minimize(lambda x: -target.log_density(x[None])[0], np.zeros(d), jac=gradient, method="BFGS").x
    curvature = np.array([(gradient(mode + s) - gradient(mode - s)) / 2e-4 for s in steps])
    root = np.linalg.cholesky(np.linalg.inv((curvature + curvature.T) / 2))
    centre, root = mode, 1.2 * root
    for _ in range(target.n_rounds):
        x, log_w = weighted(target, centre, root, 2**12, 1)
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        centre = w @ x
        covariance = (x - centre).T @ ((x - centre) * w[:, None])
        root = 1.05 * np.linalg.cholesky(covariance)
    return centre, root


def weighted(target: Target, centre: np.ndarray, root: np.ndarray, n: int, seed: int) -> tuple:
    """Return Student's t points at scrambled Sobol points, and the logs of their weights."""
    d = len(centre)
    u = np.clip(qmc.Sobol(d + 1, rng=seed).random(n), 1e-12, 1 - 1e-12)
    z = special.ndtri(u[:, :d]) / np.sqrt(stats.chi2.ppf(u[:, d:], _DF) / _DF)
    x = centre + z @ root.T
    log_q = stats.multivariate_t.logpdf(z, shape=np.eye(d), df=_DF).reshape(n) - np.log(np.diag(root)).sum()
    return x, target.log_density(x) - log_q


def integrate(target: Target, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the log integral, means and mean squares of all parameters in each replicate."""
    centre, root = proposal(target)
    logs, means, squares = [], [], []
    for replicate in range(N_REPLICATES):
        x, log_w = weighted(target, centre, root, n, seed + replicate)
        top = log_w.max()
        w = np.exp(log_w - top)
        t = target.values(x)
        full = np.stack([t[name] for name in target.names], axis=1)
        logs.append(top + log(w.mean()))
        means.append(w @ full / w.sum())
        squares.append(w @ full**2 / w.sum())
    return np.array(logs), np.array(means), np.array(squares)


def modes(target: Target, seed: int, n_starts: int = 60) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return different local modes, and roots of the inverse curvature there."""
    rng, d = np.random.default_rng(seed), target.size
    steps, kept = 1e-4 * np.eye(d), []

    def gradient(x: np.ndarray) -> np.ndarray:
        both = target.log_density(np.concatenate([x + steps, x - steps]))
        return -(both[:d] - both[d:]) / 2e-4

    for _ in range(n_starts):
        x = optimize.minimize(
            lambda x: -target.log_density(x[None])[0], 1.2 * rng.standard_normal(d), jac=gradient, method="BFGS"
        ).x
        curvature = np.array([(gradient(x + s) - gradient(x - s)) / 2e-4 for s in steps])
        values, axes = np.linalg.eigh((curvature + curvature.T) / 2)
        if values.min() > 0 and all(np.abs(x - other).max() > 0.05 for other, _ in kept):
            kept.append((x, axes / np.sqrt(values)))
    return kept


def integrate_mixture(target: Target, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Do what `integrate` does with a mixture of the prior, which is standard normal, and a t at each mode."""
    d, logs, means, squares = target.size, [], [], []
    places = modes(target, seed)
    for replicate in range(N_REPLICATES):
        points = []
        for k in range(len(places) + 1):
            u = np.clip(qmc.Sobol(d + 1, rng=seed + 1000 * replicate + k).random(n), 1e-12, 1 - 1e-12)
            z = special.ndtri(u[:, :d])
            if k:
                centre, root = places[k - 1]
                z = centre + 1.3 * (z / np.sqrt(stats.chi2.ppf(u[:, d:], _DF) / _DF)) @ root.T
            points.append(z)
        x = np.concatenate(points)
        parts = [stats.norm.logpdf(x).sum(axis=1)]
        for centre, root in places:
            y = (x - centre) @ np.linalg.inv(1.3 * root).T
            log_t = stats.multivariate_t.logpdf(y, shape=np.eye(d), df=_DF)
            parts.append(log_t - np.linalg.slogdet(1.3 * root)[1])
        log_w = target.log_density(x) - special.logsumexp(parts, axis=0) + log(len(parts))
        top = log_w.max()
        w = np.exp(log_w - top)
        t = target.values(x)
        full = np.stack([t[name] for name in target.names], axis=1)
        logs.append(top + log(w.mean()))
        means.append(w @ full / w.sum())
        squares.append(w @ full**2 / w.sum())
    return np.array(logs), np.array(means), np.array(squares)
