r"""Edges with a spike-and-slab prior by Langevin dynamics and reversible jump.

Misprints of the paper are corrected as follows. The preconditioner of Chen and Welling 2012 structure, eq. 6, has
:math:`C C^T = H^{-1}`, and H is :math:`N \mathrm{Cov} f + \sigma_0^{-2}`, so that a step of size epsilon is epsilon
posterior standard deviations; the variance in eq. 12 there is multiplied by N too.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import exp, expm1, log, sqrt
from typing import NamedTuple

import numpy as np

from ...compiled import leaf
from ...errors import ApproximatePosteriorWarning, DivergenceError, argument
from ...particles.persistent_chains import (
    EdgeChains,
    add_edge,
    count_both,
    remove_edge,
    start_chains,
    start_rows,
    sweep,
    unpack,
)
from ..conditionals.spike import (
    EdgePrior,
    draw_hyper,
    edge_prior,
    log_slab_odds,
    slab_factors,
    slab_slope,
)
from .spike_slab import EdgeInfo, EdgeKernel, drawn, noise_share

_DIVERGED = 1e3  # a hundred standard deviations of the default prior of a bias
_NOISE = 0.1  # share of a posterior variance that the noise of moments may add without a warning
_DEPTH = 45.0  # nats below its top at which an exponential is negligible
_MOST_LOG = 700.0  # whose exponential is finite
_SURE = 40.0  # a hazard at which a candidate is always selected: exp(-40) is below rounding
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


class SpikeSlabState(NamedTuple):
    """Position and momentum, p0 and the slab's precision, minus the diagonal of the Hessian (averaged), the number of
    steps, and the particles.
    """

    theta: np.ndarray
    momentum: np.ndarray
    density: float
    precision: float
    curvature: np.ndarray
    age: int
    chains: EdgeChains


class JumpRows(NamedTuple):
    """Candidates grouped by the rarer of their ends, with bounds of the acceptance of a birth for each group."""

    order: np.ndarray  # (n_candidates,) int64
    starts: np.ndarray  # (n_nodes + 1,) int64
    width: np.ndarray  # (n_nodes,) widest jump of the group
    most: np.ndarray  # (n_nodes,) largest sum of x_i x_j of the data in the group


class LangevinJump(NamedTuple):
    """Constants of an iteration."""

    prior: EdgePrior
    n: float
    sums: np.ndarray  # (n_features,) of the data
    width: np.ndarray  # (n_candidates,) Delta
    step: np.ndarray  # (n_features,) epsilon C
    alpha: float
    n_sweeps: int
    groups: JumpRows


@dataclass(frozen=True, eq=False)
class SpikeSlabLangevin(EdgeKernel):
    r"""Conjugate draws, persistent Gibbs sweeps, Langevin dynamics, and jumps near 0, without rejection.

    This is Chen and Welling 2012 structure, Algorithm 1, with the leapfrog steps of eq. 4, the gradient of eq. 5 and
    the momentum of eq. 7 there.

    Births and deaths happen at :math:`|A| \le \Delta`; in between weights move by Langevin dynamics. Births are
    proposed for all candidates in parallel, from the same particles. At most one in a thousand is accepted, and with
    the optimal proposal the acceptance of a birth is nearly a constant that is easily bounded. So only candidates whose
    uniform number is below a bound are evaluated (thinning, as of a Poisson process). This does not change the
    algorithm as published, and an iteration costs O(particles x (nodes + edges)) for any number of candidates.

    Parameters
    ----------
    model : Boltzmann
    s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    n_particles : int
        Persistent chains n, at least 2.
    n_sweeps : int
        Gibbs sweeps of an iteration.
    epsilon, alpha : float
        Step size, and share of the momentum kept.
    width : float
        Delta times sqrt(N Var f): the variance of the estimated ratio grows with its square (Chen and Welling 2012
        structure, eq. 11).
    n_iterations : int
        Iterations that make one step.
    n_adapt : int
        Steps over which the diagonal of H is averaged, beginning with that at the data's own moments.

    Raises
    ------
    DivergenceError
        If a weight exceeds 1000 in absolute value; use a smaller epsilon.
    """

    n_particles: int = 100
    n_sweeps: int = 1
    epsilon: float = 1e-3
    alpha: float = 0.9
    width: float = 0.01
    n_iterations: int = 1000
    n_adapt: int = 100

    name = "spike_slab"

    @property
    def particle_sweeps(self) -> int:
        """Gibbs sweeps of single particles in a step."""
        return self.n_sweeps * self.n_iterations * self.n_particles

    def __post_init__(self) -> None:
        super().__post_init__()
        noise = self.epsilon**2 * noise_share(self.n_samples, self.n_particles, self.alpha)
        if noise > _NOISE and self.epsilon < 2:  # longer steps diverge, which is an error
            longest = self.epsilon * sqrt(_NOISE / noise)
            warnings.warn(
                f"{argument('epsilon', self.epsilon)} is too long for {self.n_particles:,} particles and "
                f"{self.n_samples:,g} observations: the "
                f"noise of the moments makes posterior standard deviations {sqrt(1 + noise):.2g} "
                f"times too wide; use {argument('epsilon')} <= {longest:.1g}, or more particles",
                ApproximatePosteriorWarning,
                stacklevel=2,
            )

    def init(self, rng: np.random.Generator) -> SpikeSlabState:
        """Start at ``start``, with particles at random."""
        prior, r = edge_prior(self.prior), self.model.n_edges
        theta, density, precision = self.first(rng)
        curvature = self.n_samples * self._variance + prior.bias_precision
        curvature[:r] += prior.curvature - prior.bias_precision
        chains = start_chains(self.n_particles, self.model.graph.n_nodes, rng)
        momentum = rng.standard_normal(len(theta))
        return SpikeSlabState(theta, momentum, density, precision, curvature, 0, chains)

    @property
    def _variance(self) -> np.ndarray:
        """Variance of each statistic in the data, half an observation added to either side."""
        share = (self.n_samples * self.s_bar + 0.5) / (self.n_samples + 1)
        return share * (1 - share)

    def _jumps(self, step: np.ndarray) -> LangevinJump:
        r, graph, prior = self.model.n_edges, self.model.graph, edge_prior(self.prior)
        sums = self.n_samples * self.s_bar
        # The precision of the slab bounds the width if the data are uninformative.
        width = self.width / np.sqrt(np.maximum(self.n_samples * self._variance[:r], prior.curvature))
        u, v = graph.edges.T
        rarer = np.where(sums[r + u] <= sums[r + v], u, v)
        starts = np.concatenate([[0], np.cumsum(np.bincount(rarer, minlength=graph.n_nodes))])
        widest, most = np.zeros(graph.n_nodes), np.zeros(graph.n_nodes)
        np.maximum.at(widest, rarer, width)
        np.maximum.at(most, rarer, sums[:r])
        groups = JumpRows(np.argsort(rarer, kind="stable"), starts, widest, most)
        return LangevinJump(prior, self.n_samples, sums, width, step, self.alpha, self.n_sweeps, groups)

    def step(self, rng: np.random.Generator, state: SpikeSlabState) -> tuple[SpikeSlabState, EdgeInfo]:
        """Run ``n_iterations`` iterations."""
        r = self.model.n_edges
        theta, momentum = state.theta.copy(), state.momentum.copy()
        rows = start_rows(self.model.graph, theta[:r] != 0)
        blocks = unpack(state.chains, self.n_particles)
        jumps = self._jumps(self.epsilon / np.sqrt(state.curvature))
        density, precision = _iterate(rng, jumps, rows, blocks, theta, momentum, self.n_iterations)
        if not (np.abs(theta) <= _DIVERGED).all():
            raise DivergenceError(
                option="epsilon", got=self.epsilon, expected=f"smaller, as a weight exceeded {_DIVERGED:g}"
            )
        curvature = state.curvature
        if state.age < self.n_adapt:
            now = self.n_samples * _particle_variance(rows.edges, blocks.words, blocks.ones, blocks.n_chains)
            now[:r] += jumps.prior.curvature if jumps.prior.cauchy else precision
            now[r:] += jumps.prior.bias_precision
            curvature = curvature + (now - curvature) / (state.age + 2)
        chains = EdgeChains(blocks.words, blocks.lanes)
        new = SpikeSlabState(theta, momentum, density, precision, curvature, state.age + 1, chains)
        return new, drawn(theta, rows.place >= 0, density, precision)


@leaf
def _iterate(rng, jumps, rows, blocks, theta, momentum, n_iterations):
    r, n_chains, n = len(rows.edges), blocks.n_chains, jumps.n
    fresh = sqrt(1 - jumps.alpha**2)
    density = precision = squares = 0.0
    for k in range(rows.n_present[0]):
        squares += theta[rows.present[k]] ** 2
    for _ in range(n_iterations):
        density, precision = draw_hyper(rng, jumps.prior, rows.n_present[0], r, squares)
        for _ in range(jumps.n_sweeps):
            sweep(blocks, rows, theta)
        slab = exp(log_slab_odds(jumps.prior, density, precision))
        n_old = rows.n_present[0]
        _births(rng, jumps, rows, blocks, theta, slab, precision)
        squares = furthest = 0.0
        # From the last to the first: a death moves an edge that was visited already into the free place.
        for k in range(rows.n_present[0] - 1, -1, -1):
            e = rows.present[k]
            f = count_both(blocks.words, rows.edges[e, 0], rows.edges[e, 1]) / n_chains
            slope = slab_slope(jumps.prior, precision, theta[e])
            kick = 0.5 * jumps.step[e] * (jumps.sums[e] - n * f - slope * theta[e])
            p = momentum[e]
            if k < n_old:
                p += kick  # the second half of the step before, at the particles of this one
                a = theta[e]
                if abs(a) < jumps.width[e]:
                    variance = f * (1 - f) * n_chains / (n_chains - 1)
                    normal, rest = slab_factors(jumps.prior, precision, a)
                    log_ratio = log(slab) + rest + jump_log_ratio(
                        a, jumps.sums[e] - n * (f - a * variance), normal, variance, n, n_chains, jumps.width[e], -1.0
                    )  # fmt: skip
                    if log(1 - rng.random()) < -log_ratio:
                        theta[e] = 0.0
                        remove_edge(rows, e)
                        continue
            p = jumps.alpha * p + fresh * rng.standard_normal() + kick
            theta[e] += jumps.step[e] * p
            momentum[e] = p
            squares += theta[e] ** 2
            furthest = max(furthest, abs(theta[e]))
        for i in range(len(theta) - r):
            k = r + i
            pull = jumps.sums[k] - n * blocks.ones[i] / n_chains - jumps.prior.bias_precision * theta[k]
            kick = 0.5 * jumps.step[k] * pull
            p = jumps.alpha * (momentum[k] + kick) + fresh * rng.standard_normal() + kick
            theta[k] += jumps.step[k] * p
            momentum[k] = p
            furthest = max(furthest, abs(theta[k]))
        if furthest > _DIVERGED:  # before it becomes non-finite, which compiled code does not handle
            break
    return density, precision


@leaf
def _births(rng, jumps, rows, blocks, theta, slab, precision):
    """Propose all absent edges; those whose uniform number is above a bound of their acceptance are skipped."""
    n, n_chains = jumps.n, blocks.n_chains
    wait = -log(1 - rng.random())
    for i in range(len(jumps.groups.width)):
        width = jumps.groups.width[i]
        # |sum of the data - n f| is at most the larger of the two, and f at most the share of ones of the rarer end.
        strongest = max(jumps.groups.most[i], n * blocks.ones[i] / n_chains)
        bound = slab * 2 * width * exp(min(width * strongest, _SURE))
        hazard = _SURE if bound >= 0.97 else bound / (1 - bound)  # 1 - exp(-hazard) >= bound
        k, stop = jumps.groups.starts[i], jumps.groups.starts[i + 1]
        while k < stop:
            if wait >= (stop - k) * hazard:
                wait -= (stop - k) * hazard
                break
            k += int(wait / hazard)
            e = jumps.groups.order[k]
            wait = -log(1 - rng.random())
            k += 1
            if rows.place[e] >= 0:
                continue
            f = count_both(blocks.words, rows.edges[e, 0], rows.edges[e, 1]) / n_chains
            variance = f * (1 - f) * n_chains / (n_chains - 1)
            pull = jumps.sums[e] - n * f
            normal, _ = slab_factors(jumps.prior, precision, 0.0)
            a = draw_jump(rng, pull, normal + n * variance, jumps.width[e])
            _, rest = slab_factors(jumps.prior, precision, a)
            log_ratio = rest + jump_log_ratio(a, pull, normal, variance, n, n_chains, jumps.width[e], 1.0)
            ratio = slab * exp(min(log_ratio, _MOST_LOG))
            if rng.random() * -expm1(-hazard) < ratio:
                theta[e] = a
                add_edge(rows, e)


@leaf
def jump_log_ratio(a, pull, precision, variance, n, n_chains, width, sign):
    r"""Return log Q* without p0 and the top of the slab; for a death with the sign -1.

    Q* is the ratio of Chen and Welling 2012 structure, eq. 8, with log Z to the second order by its mean and variance
    (eq. 9 and 10 there). With the optimal proposal h(a) / int h (eq. 12 and 13) the terms that depend on a cancel,
    which leaves the integral of

    .. math:: h(a) = \exp(a\,\mathrm{pull} - a^2 (\sigma_0^{-2} + N S^2) / 2)

    and the correction of the estimate's bias, (1 + N^2 a^2 S^2 / 2n)^(-1) on the ratio of both births and deaths.
    """
    correction = log(1 + (n * a) ** 2 * variance / (2 * n_chains))
    return log_jump_integral(pull, precision + n * variance, width) - sign * correction


@leaf
def _jump_range(pull, tau, width):
    """Return the top of a pull - a^2 tau / 2 on -width..width, and middle and half length of the range within 45 of it.

    Beyond, its exponential is below rounding, and pieces and proposals there would be a waste of time for wide jumps.
    """
    best = min(max(pull, -tau * width), tau * width) / tau
    slope = abs(pull - tau * best)
    reach = 2 * _DEPTH / (slope + sqrt(slope**2 + 2 * _DEPTH * tau))
    low, high = max(-width, best - reach), min(width, best + reach)
    return best * (pull - 0.5 * best * tau), 0.5 * (low + high), 0.5 * (high - low)


@leaf
def log_jump_integral(pull, tau, width):
    """Return the log integral of exp(a pull - a^2 tau / 2) over -width..width, by Gauss-Legendre quadrature."""
    top, centre, half = _jump_range(pull, tau, width)
    pieces = 1 + int(0.5 * half * (abs(pull - tau * centre) + tau * half))
    half, total = half / pieces, 0.0
    for k in range(pieces):
        middle = centre + (2 * k + 1 - pieces) * half
        for q in range(8):
            a = middle + half * _NODES[q]
            total += _WEIGHTS[q] * exp(a * (pull - 0.5 * a * tau) - top)
    return top + log(half * total)


@leaf
def draw_jump(rng, pull, tau, width):
    """Draw a normal of precision tau and mean pull / tau, truncated to -width..width, by rejection.

    With the pull and curvature of the log posterior at 0: Chen and Welling 2012 structure, eq. 13.
    """
    top, centre, half = _jump_range(pull, tau, width)
    while True:
        a = centre + half * (2 * rng.random() - 1)
        if not log(1 - rng.random()) > a * (pull - 0.5 * a * tau) - top:  # NaN ends it
            return a


@leaf
def _particle_variance(edges, words, ones, n_chains):
    """Return the variance of each statistic over the particles."""
    r = len(edges)
    out = np.empty(r + len(ones))
    for e in range(r):
        f = count_both(words, edges[e, 0], edges[e, 1]) / n_chains
        out[e] = f * (1 - f) * n_chains / (n_chains - 1)
    for i in range(len(ones)):
        f = ones[i] / n_chains
        out[r + i] = f * (1 - f) * n_chains / (n_chains - 1)
    return out
