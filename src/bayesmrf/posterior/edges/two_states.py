r"""Edges with a spike-and-slab prior: birth and death of an edge at any weight, on graphs of any size.

In Chen and Welling (2012) an edge is born and dies near 0 only, where the likelihood hardly changes and a few particles
suffice to estimate its ratio; a strong edge has to move there first. Here an edge jumps along its line, where Z at any
weight follows from the joint distribution of the pair at one weight, which many persistent chains estimate:

* One half of them is used to propose the weight, the other to accept it, and the error has its penalty; the chains
  follow each jump (`bayesmrf.posterior.edges.edge_jumps`).
* Proposals are made where they are accepted. With o the odds of the share s of draws of warm-up with an edge, an
  iteration proposes its birth with probability v min(1, o), its death with v min(1, 1 / o), and the ratio of a birth is
  divided by o. A birth of an edge that is in 1 % of the draws is thus proposed 100 times less often than its death, but
  accepted as often. A swap to an edge that is in a share s is proposed with probability v s. With a larger v visits
  would see the same chains with the same errors, which would give too many edges.
* Between jumps all weights and biases move together by Langevin dynamics, in the coordinates of the lines, with a step
  size for the stiffest direction: if many nodes flip together, such as parties in a parliament, it is much shorter than
  that of a single weight (`bayesmrf.posterior.edges.dynamics`).
* Whole clusters of nodes are flipped in the chains, which would otherwise stay in their first mode: some drawn by the
  weights, and some by the correlations of the data. If rows follow a few patterns, weights that are each moderate hold
  all nodes together, and the first are rarely all nodes that differ. The shares of chains in the modes would then lag
  behind the weights, errors of moments would last from one iteration to the next, and there would be too many edges.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, NamedTuple

import numpy as np

from ...compiled import leaf
from ...errors import OptionError
from ...models.bases import has_lines
from ...models.boltzmann import Coding
from ...states.chain_flips import flip_clusters, flip_correlated
from ...states.persistent_chains import LANES, EdgeChains, start_chains, start_rows, sweep, unpack
from ..conditionals.centred import centred_lines
from ..conditionals.rivals import ALIKE, RIVAL, likeness, other_ends, rival_pairs
from ..conditionals.spike import draw_hyper, edge_prior, own_odds, slab_top
from .dynamics import drift, kick
from .edge_jumps import jump
from .rival_moves import visit_rivals
from .spike_slab import (
    DIVERGED,
    EDGE_DIMS,
    EdgeKernel,
    JumpInfo,
    OnChains,
    adapted,
    averaged,
    check_bounded,
    drawn,
    iterations_of,
    longest_step,
    moderate,
    visit_rate,
    with_blocks,
)
from .stiffness import settle, stiffness
from .two_states_problem import TwoStatesProblem, curvature_of, data_moments, has_rare_state, together

_FLIPS = 2  # sets of nodes that are flipped in an iteration
_CAMP = 3  # almost equal nodes of a node of a camp
_JOINT = 0.6  # least similarity of the other ends of edges that are born and die together
_JOINT_VISITS = 0.05  # most births, and deaths, of such pairs that are proposed in an iteration, for each node
ITERATIONS = 20  # in a step


class TwoStatesState(NamedTuple):
    """Position and momentum, p0 and the slab's precision, the share of draws with each edge, and the particles; the
    stiffness of the posterior (averaged), its direction, and the number of steps; the block of each node, if any.
    """

    theta: np.ndarray
    momentum: np.ndarray
    density: float
    precision: float
    share: np.ndarray
    chains: EdgeChains
    stiffness: float
    direction: np.ndarray
    age: int
    blocks: np.ndarray


@dataclass(frozen=True, eq=False)
class SpikeSlabTwoStates(OnChains, EdgeKernel):
    """Single-edge birth and death at any weight, with moments from many persistent chains.

    The chains are those of the Boltzmann machine with the distribution of theta (`bayesmrf.models.boltzmann.Coding`),
    whose centred features are those of any binary model, up to a factor; the prior is on theta. An iteration is a Gibbs
    sweep of the chains, proposals for as many candidates as there are nodes, and a Langevin step.

    Parameters
    ----------
    model : TwoArrays
        Binary, with node parameters.
    s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    options : ReversibleJump
        The number of particles must be given; it is rounded up to a multiple of 128. Between half and twice the number
        of observations mix fastest: with fewer the penalty prevents births of strong edges, with more a sweep costs
        more. A Langevin step is no longer than one standard deviation in the stiffest direction (see
        `bayesmrf.posterior.edges.stiffness`), and such that the noise of moments increases a posterior variance by at
        most 10 %, and by 30 % in that direction (see `noise_share`).
    n_adapt : int
        Steps with half of the iterations, in which the shares of draws with each edge are found. Were they changed
        later, an edge that was just born would be visited more often than before, and would die too soon.

    Raises
    ------
    DivergenceError
        If a weight exceeds 1000 in absolute value (`check_bounded`).
    """

    name, iterations = "spike_slab_two_states", ITERATIONS
    dims = EDGE_DIMS | {"n_jumps": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        model: Any = self.model
        if model.n_states > 2 or model.n_features == model.n_edges or not has_lines(model):
            expected = f"binary and with node parameters for {self.name!r}: boltzmann, ising or agreement"
            raise OptionError(option="model", got=model.name, expected=expected)

    @property
    def _n_chains(self) -> int:
        return -(-self.n_particles // LANES) * LANES

    def init(self, rng: np.random.Generator) -> TwoStatesState:
        """Start at ``start``, with particles at random."""
        theta, density, precision, labels = self.first(rng)
        chains = start_chains(self._n_chains, self.model.graph.n_nodes, rng)
        momentum, direction = rng.standard_normal((2, len(theta)))
        share = np.full(self.model.n_edges, 0.5, np.float32)
        return TwoStatesState(theta, momentum, density, precision, share, chains, 1.0, direction, 0, labels)

    @cached_property
    def _rivals(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pairs of rival edges, (n_pairs, 2), the two nodes that each pair does not share, and how similar they are."""
        graph, similar = self.model.graph, likeness(self.model, self.s_bar, self.n_samples)
        pairs = rival_pairs(graph, similar, RIVAL)
        others = other_ends(graph.edges, pairs)
        (u, v), of_nodes = graph.edges.T, np.zeros((graph.n_nodes, graph.n_nodes))
        of_nodes[u, v] = of_nodes[v, u] = similar
        return pairs, others, of_nodes[others[:, 0], others[:, 1]]

    @cached_property
    def _in_camp(self) -> np.ndarray:
        """(n_nodes,) bool, whether a node is almost equal to three others at least."""
        (_, others, similar), n_nodes = self._rivals, self.model.graph.n_nodes
        nodes = np.divmod(np.unique(others[similar >= ALIKE] @ [n_nodes, 1]), n_nodes)
        return np.bincount(np.concatenate(nodes), minlength=n_nodes) >= _CAMP

    @property
    def camp(self) -> list[str]:
        """Nodes that are almost equal to three others at least: there are no moves of edges to one for another."""
        return [str(name) for name, is_member in zip(self.model.graph.names, self._in_camp, strict=True) if is_member]

    @cached_property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rival edges, those to nodes that are more similar, and to almost equal ones, but for nodes of a camp."""
        pairs, others, similar = self._rivals
        free = ~self._in_camp[others].all(axis=1) & edge_prior(self.prior, self.model.graph).free[pairs].all(axis=1)
        pairs, similar = pairs[free], similar[free]
        return pairs, pairs[similar >= _JOINT], pairs[similar >= ALIKE]

    @cached_property
    def _constants(self) -> TwoStatesProblem:
        """What is the same in all steps; the rest is of a first step."""
        n, (u, v) = self.n_samples, self.model.graph.edges.T
        prior, coding = edge_prior(self.prior, self.model.graph), Coding.of(self.model)
        moments, lines = data_moments(self.model, self.s_bar, n), centred_lines(self.model, self.s_bar, n)
        ends = (coding.node * lines.pull[:, :, 0] - coding.shift) / coding.edge
        # The data choose these pairs, not the chains, so the choice adds no bias.
        counted = self._in_camp[u] & self._in_camp[v] & ~has_rare_state(u, v, moments, self._n_chains / 2)
        scale = 1 / np.sqrt(curvature_of(lines, moments, ends, prior, coding))
        now = np.full(self.model.n_features, prior.bias_precision)
        pairs, joint, alike = self._pairs
        return TwoStatesProblem(
            prior, lines, now, scale, scale, self.options.momentum, coding, moments.centre, ends, moments.sums, counted,
            np.full(len(u), 0.5), 1.0, 1.0, pairs, joint, alike, together(lines.edges, moments),
        )  # fmt: skip

    def _problem(self, stiffness: float, share: np.ndarray, labels: np.ndarray | None = None) -> TwoStatesProblem:
        """Collect the constants with the step sizes, and how often each edge is visited."""
        of, epsilon = self._constants, longest_step(self.options, self.n_samples, self._n_chains, stiffness)
        share = moderate(share)
        n_nodes, together = self.model.graph.n_nodes, share[of.joint].min(axis=1)
        rate = visit_rate(share, n_nodes)
        joint_rate = min(rate, _JOINT_VISITS * n_nodes / max(np.minimum(together, 1 - together).sum(), 1.0))
        of = of._replace(prior=own_odds(of.prior, labels), now=of.now.copy(), step=epsilon * of.scale)
        return of._replace(share=share, rate=rate, joint_rate=joint_rate)

    def step(self, rng: np.random.Generator, state: TwoStatesState) -> tuple[TwoStatesState, JumpInfo]:
        """Run ``n_iterations`` iterations."""
        r = self.model.n_edges
        theta, momentum = state.theta.copy(), state.momentum.copy()
        rows = start_rows(self.model.graph, theta[:r] != 0)
        blocks = unpack(state.chains, self._n_chains)
        direction, now = state.direction.copy(), state.stiffness
        problem = self._problem(now, state.share, state.blocks)
        weights = problem.coding.weights(self.model, theta)
        scale = problem.scale * np.repeat([problem.coding.edge, problem.coding.node], [r, len(theta) - r])
        of = problem.centre, problem.ends, scale, self.n_samples
        if state.age == 0:
            now = settle(rng, blocks, rows, weights, *of, direction)
            problem = self._problem(now, state.share, state.blocks)
        n = iterations_of(self.options, ITERATIONS, state.age < self.n_adapt)
        density, precision, n_jumps = _iterate(rng, problem, n, rows, blocks, theta, weights, momentum)
        check_bounded(theta, self.options.epsilon, self.prior, state.precision)
        quotient = stiffness(blocks, rows, *of, direction)
        now = averaged(now, quotient, state.age)
        chains, included = EdgeChains(blocks.words, blocks.lanes), rows.place >= 0
        share = state.share
        if state.age < self.n_adapt:
            share = adapted(share, included, state.age)
        labels = problem.prior.blocks.labels
        new = TwoStatesState(theta, momentum, density, precision, share, chains, now, direction, state.age + 1, labels)
        return new, with_blocks(JumpInfo(*drawn(theta, included, density, precision), n_jumps), labels)


@leaf
def _iterate(rng, problem, n_iterations, rows, blocks, theta, weights, momentum):
    """Make iterations; ``weights`` are those of the Boltzmann machine of the chains, and follow theta."""
    n_jumps, density, precision = 0, 0.0, 0.0
    for _ in range(n_iterations):
        density, precision = draw_hyper(rng, problem.prior, rows.place >= 0, theta[: len(rows.edges)])
        flip_clusters(rng, blocks, rows, weights)
        for _ in range(_FLIPS):
            flip_correlated(rng, blocks, rows, weights, problem.correlation)
        sweep(blocks, rows, weights)
        kick(problem, rows, blocks, theta, momentum, precision)
        log_slab = slab_top(problem.prior, precision)
        for e in range(len(rows.edges)):
            if not problem.prior.free[e]:
                continue
            odds = problem.share[e] / (1 - problem.share[e])
            log_birth = problem.prior.log_odds[e] + log_slab - log(odds)
            if rng.random() < problem.rate * min(1.0, odds if rows.place[e] < 0 else 1 / odds) and jump(
                rng, problem, rows, blocks, theta, weights, e, log_birth, precision
            ):
                momentum[e] = rng.standard_normal()
                n_jumps += 1
        n_jumps += visit_rivals(rng, problem, rows, blocks, theta, weights, momentum, precision, log_slab)
        if np.abs(weights).max() > DIVERGED:
            break
        kick(problem, rows, blocks, theta, momentum, precision)
        furthest = drift(rng, problem, rows, theta, weights, momentum)
        if furthest > DIVERGED:  # before it becomes non-finite, which compiled code does not handle
            break
    return density, precision, n_jumps
