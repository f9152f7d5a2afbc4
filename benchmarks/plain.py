"""The algorithms of Liu and Page (2013) in plain NumPy, for comparison in `groups.py`.

Each sampler is an infinite generator that yields (groups, agreements) after every step. Its start is an argument, so
that it can be that of the compiled sampler; ``tests/pages/test_benchmarks.py`` checks that both then have the same
distribution. Agreements are Uniform(0, 1) a priori and nodes have no fields, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import betaln, expit, logsumexp, xlog1py, xlogy
from scipy.special import logit as exact_logit

Step = tuple[np.ndarray, np.ndarray]  # groups (n_edges,), agreements (k,)
LEAST = 1e-12  # least distance of agreements from 0 and 1


def logit(agreement: Any) -> Any:
    return exact_logit(np.clip(agreement, LEAST, 1 - LEAST))


def bernoulli(p: np.ndarray, s: float, n: float) -> np.ndarray:
    """Return the log likelihood of s successes in n trials."""
    return xlogy(s, p) + xlog1py(n - s, -p)


def compact(groups: np.ndarray, phi: np.ndarray) -> Step:
    """Drop empty groups."""
    kept, groups = np.unique(groups, return_inverse=True)
    return groups, phi[kept]


# Groups, given the likelihood of one edge (eq. 4)


def move(
    rng: np.random.Generator,
    i: int,
    groups: np.ndarray,
    phi: np.ndarray,
    sizes: np.ndarray,
    log_old: np.ndarray,
    log_new: float,
    draw: Callable[[], Any],
) -> Step:
    """Reassign edge i, already removed from ``sizes``; return agreements and sizes, extended by a new group."""
    with np.errstate(divide="ignore"):
        log_weight = np.append(np.log(sizes) + log_old, log_new)
    weight = np.exp(log_weight - log_weight.max())
    c = int(np.searchsorted(np.cumsum(weight), rng.random() * weight.sum()))
    if c == len(phi):
        phi, sizes = np.append(phi, draw()), np.append(sizes, 0)
    groups[i] = c
    sizes[c] += 1
    return phi, sizes


def conjugate_scan(
    rng: np.random.Generator, groups: np.ndarray, phi: np.ndarray, s: np.ndarray, n: float, alpha: float
) -> Step:
    """Reassign all edges, edge i having s_i successes in n trials, in the order of s."""
    groups, sizes = groups.copy(), np.bincount(groups, minlength=len(phi))
    for i in np.argsort(s, kind="stable"):
        sizes[groups[i]] -= 1
        log_new = np.log(alpha) + betaln(1 + s[i], 1 + n - s[i])
        draw = lambda i=i: rng.beta(1 + s[i], 1 + n - s[i])  # noqa: E731
        phi, sizes = move(rng, i, groups, phi, sizes, bernoulli(phi, s[i], n), log_new, draw)
    return compact(groups, phi)


def beta_values(rng: np.random.Generator, groups: np.ndarray, s: np.ndarray, n: float) -> np.ndarray:
    successes = np.floor(np.bincount(groups, s) + 1e-6)
    return rng.beta(successes + 1, np.bincount(groups) * n - successes + 1)


def tree(
    rng: np.random.Generator, groups: np.ndarray, phi: np.ndarray, s: np.ndarray, n: float, alpha: float = 1.0
) -> Iterator[Step]:
    """Sample groups on forests by conjugacy (section 4.1)."""
    while True:
        groups, phi = conjugate_scan(rng, groups, phi, s, n, alpha)
        phi = beta_values(rng, groups, s, n)
        yield groups, phi


# Chains of states, and the tied estimate


def neighbourhoods(n_nodes: int, edges: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the neighbours of each node, and the edges to them."""
    found = []
    for i in range(n_nodes):
        out, back = np.flatnonzero(edges[:, 0] == i), np.flatnonzero(edges[:, 1] == i)
        found.append((np.concatenate([edges[out, 1], edges[back, 0]]), np.concatenate([out, back])))
    return found


def gibbs(
    rng: np.random.Generator,
    x: np.ndarray,
    theta: np.ndarray,
    around: list[tuple[np.ndarray, np.ndarray]],
    n_sweeps: int,
) -> None:
    """Sweep states x (n_nodes, n_chains) in {-1, +1}, in place."""
    half = theta.astype(np.float32) / 2
    for _ in range(n_sweeps):
        for i, (nodes, edges) in enumerate(around):
            up = rng.random(x.shape[1], dtype=np.float32) < (1 + np.tanh(half[edges] @ x[nodes])) / 2
            x[i] = np.where(up, 1, -1)


def random_states(rng: np.random.Generator, n_nodes: int, n_chains: int) -> np.ndarray:
    return rng.choice(np.array([-1, 1], dtype=np.float32), size=(n_nodes, n_chains))


class PCD:
    """Tied maximum likelihood by persistent contrastive divergence, with the step sizes of `PersistentMLE`."""

    def __init__(self, rng: np.random.Generator, edges: np.ndarray, x: np.ndarray, s_bar: np.ndarray, bound: float):
        self.rng, self.edges, self.x, self.s_bar, self.bound = rng, edges, x, s_bar, bound
        self.around = neighbourhoods(len(x), edges)

    def fit(self, theta: np.ndarray, groups: np.ndarray, n_steps: int) -> np.ndarray:
        """Continue from ``theta`` (n_edges,); return the averaged estimate."""
        k, (u, v) = groups.max() + 1, self.edges.T
        sizes, target = np.bincount(groups), np.bincount(groups, self.s_bar)
        psi = np.bincount(groups, theta) / sizes
        full = k <= 400
        fisher, weight, total = np.zeros((k, k) if full else k), 0.0, np.zeros(k)
        burn = max(1, n_steps // 2)
        for j in range(n_steps):
            gibbs(self.rng, self.x, psi[groups], self.around, 1)
            agree = (self.x[u] == self.x[v]).astype(np.float32)
            late = 1 + max(0, j - burn)
            weight = 0.9 * weight + 0.1
            if full:
                t = np.array([agree[groups == c].sum(axis=0) for c in range(k)])
                fisher = 0.9 * fisher + 0.1 * np.cov(t, bias=True).reshape(k, k)
                scale = fisher / weight
                scale = scale + 1e-3 * np.diag(1e-3 + np.diag(scale))
                step = np.linalg.solve(scale, target - t.mean(axis=1)) / late
            else:
                q = agree.mean(axis=1)
                fisher = 0.9 * fisher + 0.1 * np.bincount(groups, q * (1 - q))
                step = 0.5 * (target - np.bincount(groups, q)) / (fisher / weight + 1e-3) / late ** (2 / 3)
            psi = np.clip(psi + np.clip(step, -0.5, 0.5), -self.bound, self.bound)
            if j >= burn or n_steps == 1:
                total += psi
        return (total / max(1, n_steps - burn))[groups]


def stripped_beta(
    rng: np.random.Generator,
    groups: np.ndarray,
    phi: np.ndarray,
    mle: np.ndarray,
    n: float,
    pcd: PCD,
    theta: np.ndarray,
    n_pcd: int = 20,
    alpha: float = 1.0,
) -> Iterator[Step]:
    """Sample groups by stripped-beta (section 3.2); ``theta`` is the tied estimate at the start."""
    s = np.floor(n * expit(mle) + 1e-6)
    while True:
        groups, phi = conjugate_scan(rng, groups, phi, s, n, alpha)
        theta = pcd.fit(theta, groups, n_pcd)
        phi = beta_values(rng, groups, n * expit(theta), n)
        yield groups, phi


# The exact likelihood, by enumeration


def agreements(n_nodes: int, edges: np.ndarray) -> np.ndarray:
    """Return whether the ends of each edge agree in each of the 2^d states: (n_edges, 2^d)."""
    state = np.arange(2**n_nodes)
    return np.array([(state >> u & 1) == (state >> v & 1) for u, v in edges], dtype=np.float64)


def log_z(theta: np.ndarray, agree: np.ndarray) -> float:
    return float(logsumexp(theta @ agree))


def eta(theta: np.ndarray, agree: np.ndarray, c: int) -> float:
    """Return P(ends of c agree) in the model without edge c (section 3.2.1)."""
    rest = theta.copy()
    rest[c] = 0
    log_weight = rest @ agree
    weight = np.exp(log_weight - log_weight.max())
    return float(weight @ agree[c] / weight.sum())


def exact(
    rng: np.random.Generator,
    groups: np.ndarray,
    phi: np.ndarray,
    agree: np.ndarray,
    s: np.ndarray,
    n: float,
    alpha: float = 1.0,
    n_points: int = 10_000,
) -> Iterator[Step]:
    """Sample groups exactly (section 4.2): sums over a grid for a new group's agreement, slice sampling of values."""
    grid = (np.arange(n_points) + 0.5) / n_points
    groups = groups.copy()

    def one_edge(theta: np.ndarray, i: int) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
        """Return the log likelihood of the agreement of edge i given the others, and the same on the grid."""
        nu = logit(eta(theta, agree, i))
        log_likelihood = lambda p: bernoulli(expit(logit(p) + nu), s[i], n)  # noqa: E731
        return log_likelihood, log_likelihood(grid)

    def draw(log_density: np.ndarray) -> float:
        total = np.cumsum(np.exp(log_density - log_density.max()))
        return grid[np.searchsorted(total, rng.random() * total[-1])]

    while True:
        sizes = np.bincount(groups, minlength=len(phi))
        for i in range(len(groups)):
            log_likelihood, on_grid = one_edge(logit(phi[groups]), i)
            sizes[groups[i]] -= 1
            log_new = np.log(alpha) + logsumexp(on_grid) - np.log(n_points)
            fresh = lambda on_grid=on_grid: draw(on_grid)  # noqa: E731
            phi, sizes = move(rng, i, groups, phi, sizes, log_likelihood(phi), log_new, fresh)
        groups, phi = compact(groups, phi)
        for c in range(len(phi)):
            members = np.flatnonzero(groups == c)
            if len(members) == 1:
                phi[c] = draw(one_edge(logit(phi[groups]), members[0])[1])
            else:
                phi[c] = slice_sample(rng, phi, c, groups, agree, s, n)
        yield groups, phi.copy()


def slice_sample(
    rng: np.random.Generator,
    phi: np.ndarray,
    c: int,
    groups: np.ndarray,
    agree: np.ndarray,
    s: np.ndarray,
    n: float,
) -> float:
    """Redraw one group's agreement on the logit scale, with stepping out (Neal 2003)."""
    members, theta = groups == c, logit(phi[groups])

    def log_target(t: float) -> float:
        theta[members] = t
        return theta @ s - n * log_z(theta, agree) - np.logaddexp(0, t) - np.logaddexp(0, -t)

    here, trials = float(logit(phi[c])), members.sum() * n
    p = (s[members].sum() + 0.5) / (trials + 1)
    width = 4 / np.sqrt((trials + 1) * p * (1 - p))
    height = log_target(here) + np.log(1 - rng.random())
    low = here - width * rng.random()
    high = low + width
    while log_target(low) > height:
        low -= width
    while log_target(high) > height:
        high += width
    while True:
        t = rng.uniform(low, high)
        if log_target(t) >= height:
            return float(expit(t))
        low, high = (t, high) if t < here else (low, t)


# Auxiliary variables


def auxiliary_variable(
    rng: np.random.Generator,
    groups: np.ndarray,
    phi: np.ndarray,
    mle: np.ndarray,
    s: np.ndarray,
    n: int,
    pcd: PCD,
    tied: np.ndarray,
    *,
    n_sweeps: int,
    n_proposals: int = 5,
    n_walk: int = 100,
    sigma_q: float = 0.001,
    n_pcd: int = 20,
    alpha: float = 1.0,
) -> Iterator[Step]:
    """Sample groups by auxiliary variables (section 3.1 as published); ``tied`` is the tied estimate at the start."""
    r, (u, v) = len(groups), pcd.edges.T

    def particles(theta: np.ndarray) -> np.ndarray:
        x = random_states(rng, len(pcd.x), n)
        gibbs(rng, x, theta, pcd.around, n_sweeps)
        return (x[u] == x[v]).sum(axis=1)

    def log_ratio(theta: np.ndarray, new: np.ndarray, reference: np.ndarray, z: np.ndarray, z_new: np.ndarray) -> float:
        return (new - theta) @ s + (reference - new) @ z_new - (reference - theta) @ z

    while True:
        groups, theta = groups.copy(), logit(phi[groups])
        for i in range(r):
            z = particles(theta)
            for _ in range(n_proposals):
                other = int(rng.random() * (r - 1 + alpha))
                fresh = other >= r - 1
                c = len(phi) if fresh else groups[other + (other >= i)]
                value = rng.random() if fresh else phi[c]
                new = theta.copy()
                new[i] = logit(value)
                z_new = particles(new)
                if np.log(1 - rng.random()) < log_ratio(theta, new, mle, z, z_new):
                    phi = np.append(phi, value) if fresh else phi
                    groups[i], theta, z = c, new, z_new
        groups, phi = compact(groups, phi)

        tied = pcd.fit(tied, groups, n_pcd)
        position = expit(np.bincount(groups, tied) / np.bincount(groups))
        y, keep = particles(tied), rng.integers(n_walk)
        for step in range(n_walk):
            trial = position + sigma_q * rng.standard_normal(len(position))
            log_u = np.log(1 - rng.random())
            if ((trial > 0) & (trial < 1)).all():
                old, new = logit(position)[groups], logit(trial)[groups]
                y_new = particles(new)
                if log_u < log_ratio(old, new, tied, y, y_new):
                    position, y = trial, y_new
            if step == keep:
                phi = position
        yield groups, phi
