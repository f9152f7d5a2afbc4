r"""Edges with a spike-and-slab prior by Langevin dynamics and reversible jump.

Misprints of the paper are corrected as follows. The preconditioner of Chen and Welling 2012 structure, eq. 6, has
:math:`C C^T = H^{-1}`, and H is :math:`N \mathrm{Cov} f + \sigma_0^{-2}`, so that a step of size epsilon is epsilon
posterior standard deviations; the variance in eq. 12 there is multiplied by N too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, log, sqrt
from typing import NamedTuple

import numpy as np

from ..compiled import copy_to, leaf
from ..declare.option import option
from ..declare.rule import instance, integer
from ..errors import ApproximatePosteriorWarning, OptionError, argument
from ..estimators.edge_methods import EdgeProblem
from ..findings import tell
from ..methods.rows import Built
from ..models.bases import has_lines
from ..models.boltzmann import has_these_features
from ..posterior.conditionals.centred import CentredLines, by_node, centred_lines, line_values, smoothed_shares
from ..posterior.conditionals.slab_leaves import slab_slope
from ..posterior.conditionals.spike import EdgePrior, draw_hyper, edge_prior, own_odds, slab_factors, slab_top
from ..posterior.edges.line_steps import independent_variance
from ..posterior.edges.spike_slab import DIVERGED, EdgeInfo, EdgeKernel, check_bounded, drawn, noise_share, with_blocks
from ..states.edge_tables import TableParticles, start_particles
from ..states.persistent_chains import EdgeBlocks, EdgeChains, add_edge, remove_edge, start_chains, start_rows, unpack
from .langevin_chains import TableChains, edge_moments, move, node_variance, pull_on_ends, swept, table_chains
from .langevin_jumps import draw_jump, jump_log_ratio
from .options import LangevinJumps

_NOISE = 0.1  # share of a posterior variance that the noise of moments may add without a warning
_MOST_LOG = 700.0  # whose exponential is finite
_SURE = 40.0  # a hazard at which a candidate is always selected: exp(-40) is below rounding


class SpikeSlabState(NamedTuple):
    """Position and momentum, p0 and the slab's precision, minus the diagonal of the Hessian (averaged), the number of
    steps, and the particles; the block of each node, if any.
    """

    theta: np.ndarray
    momentum: np.ndarray
    density: float
    precision: float
    curvature: np.ndarray
    age: int
    chains: EdgeChains | TableParticles
    blocks: np.ndarray


class JumpRows(NamedTuple):
    """Candidates grouped by one of their ends, with bounds of the acceptance of a birth for each group.

    Of the Boltzmann machine it is the rarer end.
    """

    order: np.ndarray  # (n_candidates,) int64
    starts: np.ndarray  # (n_nodes + 1,) int64
    width: np.ndarray  # (n_nodes,) widest jump of the group
    most: np.ndarray  # (n_nodes,) largest sum of x_i x_j of the data in the group, or bound of |that of f - n E f|
    alone: bool  # which of the two: weights move without the parameters of their nodes
    reach: float  # bound of the slope of the log prior of the ends' parameters, over the largest of these


class LangevinJump(NamedTuple):
    """Constants of an iteration."""

    prior: EdgePrior
    n: float
    sums: np.ndarray  # (n_features,) of the data, of edges along their lines
    bend: np.ndarray  # (n_candidates,) precision of the normal priors of the ends' parameters along each line
    width: np.ndarray  # (n_candidates,) Delta
    step: np.ndarray  # (n_features,) epsilon C
    momentum: float
    n_sweeps: int
    groups: JumpRows


@dataclass(frozen=True, eq=False)
class SpikeSlabLangevin(EdgeKernel):
    r"""Conjugate draws, persistent Gibbs sweeps, Langevin dynamics, and jumps near 0, without rejection.

    This is Chen and Welling 2012 structure, Algorithm 1, with the leapfrog steps of eq. 4, the gradient of eq. 5 and
    the momentum of eq. 7 there. In a Boltzmann machine weights are born and move alone, as published. In other models
    an edge moves along its line, together with the parameters of its ends (`bayesmrf.posterior.conditionals.centred`):
    products of scores are nearly sums of functions of one end each, and with the other parameters fixed a weight would
    hardly move.

    Births and deaths happen at :math:`|A| \le \Delta`; in between weights move by Langevin dynamics. Births are
    proposed for all candidates in parallel, from the same particles. At most one in a thousand is accepted, and with
    the optimal proposal the acceptance of a birth is nearly a constant that is easily bounded. So only candidates whose
    uniform number is below a bound are evaluated (thinning, as of a Poisson process). This does not change the
    algorithm as published, and in a Boltzmann machine an iteration costs O(particles x (nodes + edges)) for any number
    of candidates.

    Parameters
    ----------
    model : TwoArrays
        With parameters of nodes.
    s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    options : LangevinJumps
        Its width is Delta times sqrt(N Var f).
    n_adapt : int
        Steps over which the diagonal of H is averaged, beginning with that at the data's own moments.

    Raises
    ------
    DivergenceError
        If a weight exceeds 1000 in absolute value (`check_bounded`).
    """

    options: LangevinJumps = option(LangevinJumps(), instance("published.options", "LangevinJumps"))
    n_adapt: int = option(100, integer(0))

    name = "spike_slab"

    @property
    def particle_sweeps(self) -> int:
        """Gibbs sweeps of single particles in a step."""
        return self.options.n_sweeps * self.options.n_iterations * self.n_particles

    @property
    def n_particles(self) -> int:
        """Requested number of persistent chains."""
        return self.options.n_particles

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (has_lines(self.model) and len(self.model.node_rows)):
            expected = f"with one parameter for each edge, and with fields, for {self.name!r}"
            raise OptionError(option="model", got=self.model.name, expected=expected)
        if self.prior.slab.is_0_at_0:
            raise OptionError(
                option="slab",
                got=self.prior.slab,
                expected="one under which weights near 0 are probable, as edges are born and die there",
                remedy=f"use {argument('method', 'reversible-jump')}",
            )
        noise = self.options.epsilon**2 * noise_share(self.n_samples, self.n_particles, self.options.momentum)
        if noise > _NOISE and self.options.epsilon < 2:  # longer steps diverge, which is an error
            longest = self.options.epsilon * sqrt(_NOISE / noise)
            tell(
                f"{argument('epsilon', self.options.epsilon)} is too long for {self.n_particles:,} particles and "
                f"{self.n_samples:,g} observations: the "
                f"noise of the moments makes posterior standard deviations {sqrt(1 + noise):.2g} "
                f"times too wide; use {argument('epsilon')} <= {longest:.1g}, or more particles",
                ApproximatePosteriorWarning,
            )

    @property
    def _alone(self) -> bool:
        """Whether weights move alone, and chains are bits."""
        return has_these_features(self.model)

    @cached_property
    def _lines(self) -> CentredLines:
        model, n = self.model, float(self.n_samples)
        pull = np.zeros((model.n_edges, 2, 1)) if self._alone else None
        return centred_lines(model, self.s_bar, n, pull=pull)

    @property
    def _bend(self) -> np.ndarray:
        """Precision of the normal priors of the parameters of the ends along the line of each edge."""
        return edge_prior(self.prior).bias_precision * (self._lines.pull**2).sum(axis=(1, 2))

    @cached_property
    def _variance(self) -> np.ndarray:
        """Variance of each feature in the data, or between nodes that are independent; an observation is added."""
        if self._alone:
            share = (self.n_samples * self.s_bar + 0.5) / (self.n_samples + 1)
            return share * (1 - share)
        share = np.maximum(smoothed_shares(self.model, self.s_bar, self.n_samples), 0.0)
        return independent_variance(self.model, self._lines, share / share.sum(axis=1, keepdims=True))

    def init(self, rng: np.random.Generator) -> SpikeSlabState:
        """Start at ``start``, with particles at random."""
        prior, r, graph = edge_prior(self.prior), self.model.n_edges, self.model.graph
        theta, density, precision, labels = self.first(rng)
        curvature = self.n_samples * self._variance + prior.bias_precision
        curvature[:r] += prior.stiffness - prior.bias_precision + self._bend
        chains: EdgeChains | TableParticles
        if self._alone:
            chains = start_chains(self.n_particles, graph.n_nodes, rng)
        else:
            chains = start_particles(self.n_particles, graph.n_nodes, self.model.n_states, rng)
        momentum = rng.standard_normal(len(theta))
        return SpikeSlabState(theta, momentum, density, precision, curvature, 0, chains, labels)

    def _jumps(self, step: np.ndarray) -> LangevinJump:
        model, lines, n, bend = self.model, self._lines, self.n_samples, self._bend
        prior = edge_prior(self.prior, model.graph)
        r, n_nodes, (u, v), sums = model.n_edges, model.graph.n_nodes, model.graph.edges.T, lines.sums.copy()
        sums[:r] -= (lines.pull * by_node(model, sums[r:])[model.graph.edges]).sum(axis=(1, 2))
        # The precision of the prior bounds the width if the data are uninformative.
        width = self.options.width / np.sqrt(np.maximum(n * self._variance[:r], prior.stiffness + bend))
        if self._alone:
            end, pull = np.where(sums[r + u] <= sums[r + v], u, v), sums[:r]
        else:
            values = line_values(model, lines)
            end, pull = u, np.maximum(sums[:r] - n * values.min(axis=1), n * values.max(axis=1) - sums[:r])
        starts = np.concatenate([[0], np.cumsum(np.bincount(end, minlength=n_nodes))])
        widest, most = np.zeros(n_nodes), np.zeros(n_nodes)
        np.maximum.at(widest, end, width)
        np.maximum.at(most, end, pull)
        reach = prior.bias_precision * np.abs(lines.pull).sum(axis=(1, 2)).max(initial=0.0)
        groups = JumpRows(np.argsort(end, kind="stable"), starts, widest, most, self._alone, reach)
        return LangevinJump(prior, n, sums, bend, width, step, self.options.momentum, self.options.n_sweeps, groups)

    def step(self, rng: np.random.Generator, state: SpikeSlabState) -> tuple[SpikeSlabState, EdgeInfo]:
        """Run ``n_iterations`` iterations."""
        r = self.model.n_edges
        theta, momentum = state.theta.copy(), state.momentum.copy()
        rows = start_rows(self.model.graph, theta[:r] != 0)
        chains: EdgeBlocks | TableChains
        kept: EdgeChains | TableParticles
        if isinstance(state.chains, EdgeChains):
            chains = unpack(state.chains, self.n_particles)
            kept = EdgeChains(chains.words, chains.lanes)
        else:
            chains = table_chains(self.model, self._lines, state.chains)
            kept = TableParticles(chains.unpacked.x, chains.unpacked.lanes)
        jumps = self._jumps(self.options.epsilon / np.sqrt(state.curvature))
        jumps = jumps._replace(prior=own_odds(jumps.prior, state.blocks))
        density, precision = _iterate(rng, jumps, rows, chains, theta, momentum, self.options.n_iterations)
        check_bounded(theta, self.options.epsilon, self.prior, state.precision)
        curvature = state.curvature
        if state.age < self.n_adapt:
            now = self.n_samples * _chain_variance(jumps, rows, chains)
            now[:r] += self.prior.slab.stiffness_at(precision) + jumps.bend
            now[r:] += jumps.prior.bias_precision
            curvature = curvature + (now - curvature) / (state.age + 2)
        labels = jumps.prior.blocks.labels
        new = SpikeSlabState(theta, momentum, density, precision, curvature, state.age + 1, kept, labels)
        return new, with_blocks(drawn(theta, rows.place >= 0, density, precision), labels)


@leaf
def _iterate(rng, jumps, rows, chains, theta, momentum, n_iterations):
    r, n_chains, n = len(rows.edges), chains.n_chains, jumps.n
    fresh = sqrt(1 - jumps.momentum**2)
    density = precision = 0.0
    own = np.empty(len(theta) - r)
    for _ in range(n_iterations):
        density, precision = draw_hyper(rng, jumps.prior, rows.place >= 0, theta[:r])
        for _ in range(jumps.n_sweeps):
            swept(chains, rows, theta)
        log_slab, n_old = slab_top(jumps.prior, precision), rows.n_present[0]
        _births(rng, jumps, rows, chains, theta, log_slab, precision)
        furthest = 0.0
        copy_to(own, theta[r:])  # at which all slopes are, while edges move one after another
        # From the last to the first: a death moves an edge that was visited already into the free place.
        for k in range(rows.n_present[0] - 1, -1, -1):
            e = rows.present[k]
            f, variance = edge_moments(chains, rows, e)
            size = theta[e] * theta[e]
            slope = slab_slope(jumps.prior.slab, precision, size, precision * size, 1, jumps.step[e])
            pull = jumps.sums[e] - n * f - slope * theta[e] + _push(jumps, rows, chains, e, own)
            kick = 0.5 * jumps.step[e] * pull
            p = momentum[e]
            if k < n_old:
                p += kick  # the second half of the step before, at the particles of this one
                a = theta[e]
                if abs(a) < jumps.width[e] and jumps.prior.free[e]:
                    normal, rest = slab_factors(jumps.prior, precision, a)
                    pull = jumps.sums[e] - n * (f - a * variance) + jumps.bend[e] * a
                    pull += _push(jumps, rows, chains, e, theta[r:])
                    log_ratio = jumps.prior.log_odds[e] + log_slab + rest + jump_log_ratio(
                        a, pull, normal + jumps.bend[e], variance, n, n_chains, jumps.width[e], -1.0
                    )  # fmt: skip
                    if log(1 - rng.random()) < -log_ratio:
                        move(chains, rows, e, theta, 0.0)
                        remove_edge(rows, e)
                        continue
            p = jumps.momentum * p + fresh * rng.standard_normal() + kick
            move(chains, rows, e, theta, theta[e] + jumps.step[e] * p)
            momentum[e] = p
            furthest = max(furthest, abs(theta[e]))
        for i in range(len(own)):
            k = r + i
            pull = jumps.sums[k] - n * chains.ones[i] / n_chains - jumps.prior.bias_precision * own[i]
            kick = 0.5 * jumps.step[k] * pull
            p = jumps.momentum * (momentum[k] + kick) + fresh * rng.standard_normal() + kick
            theta[k] += jumps.step[k] * p
            momentum[k] = p
            furthest = max(furthest, abs(theta[k]))
        if furthest > DIVERGED:  # before it becomes non-finite, which compiled code does not handle
            break
    return density, precision


@leaf
def _push(jumps, rows, chains, e, own):
    """Return the slope of the log prior of the parameters ``own`` of nodes along the line of edge e."""
    return jumps.prior.bias_precision * pull_on_ends(chains, rows, e, own)


@leaf
def _births(rng, jumps, rows, chains, theta, log_slab, precision):
    """Propose all absent edges; those whose uniform number is above a bound of their acceptance are skipped."""
    n, n_chains, r, largest = jumps.n, chains.n_chains, len(rows.edges), 0.0
    for k in range(r, len(theta)):
        largest = max(largest, abs(theta[k]))
    odds, free, most = jumps.prior.log_odds, jumps.prior.free, -1e300
    for e in range(r):
        if free[e]:
            most = max(most, odds[e])
    slab = exp(most + log_slab)  # of the most probable candidate
    wait = -log(1 - rng.random())
    for i in range(len(jumps.groups.width)):
        width = jumps.groups.width[i]
        # |sum of the data - n f| is at most the larger of the two, and f at most the share of ones of the rarer end.
        share = chains.ones[i] if jumps.groups.alone else 0
        strongest = max(jumps.groups.most[i], n * share / n_chains) + jumps.groups.reach * largest
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
            if rows.place[e] >= 0 or not free[e]:
                continue
            f, variance = edge_moments(chains, rows, e)
            pull = jumps.sums[e] - n * f + _push(jumps, rows, chains, e, theta[r:])
            normal, _ = slab_factors(jumps.prior, precision, 0.0)
            normal += jumps.bend[e]
            a = draw_jump(rng, pull, normal + n * variance, jumps.width[e])
            _, rest = slab_factors(jumps.prior, precision, a)
            log_ratio = rest + jump_log_ratio(a, pull, normal, variance, n, n_chains, jumps.width[e], 1.0)
            ratio = exp(odds[e] + log_slab) * exp(min(log_ratio, _MOST_LOG))
            if rng.random() * -expm1(-hazard) < ratio:
                move(chains, rows, e, theta, a)
                add_edge(rows, e)


@leaf
def _chain_variance(jumps, rows, chains):
    """Return the variance of each feature over the chains."""
    r, out = len(rows.edges), np.empty(len(jumps.sums))
    for e in range(r):
        _, out[e] = edge_moments(chains, rows, e)
    for i in range(len(out) - r):
        out[r + i] = node_variance(chains, i)
    return out


def build(options: LangevinJumps, p: EdgeProblem) -> Built:
    """Build the kernel; chains start where moments could be extrapolated from, or at a sparse estimate."""
    kernel = SpikeSlabLangevin(p.model, p.s_bar, p.n, p.prior, p.start(p.reference()), options)
    return Built(kernel, kernel.particle_sweeps)
