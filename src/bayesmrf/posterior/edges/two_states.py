r"""Edges with a spike-and-slab prior between yes/no nodes: reversible jumps on persistent chains of bits.

See `bayesmrf.posterior.edges.bit_chains`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import OptionError
from ...models.bases import has_lines
from ...models.boltzmann import Coding
from ...states.chain_flips import flip_clusters
from ...states.persistent_chains import EdgeChains, start_chains, start_rows, sweep, unpack
from ..conditionals.centred import centred_lines
from ..conditionals.group_lines import GroupProblem, GroupTheta
from ..conditionals.group_problem import one_group_problem
from ..conditionals.rivals import ALIKE, RIVAL, likeness, other_ends, rival_pairs
from ..conditionals.spike import edge_prior
from .bit_chains import BitChains, follow_in_bits
from .line_steps import steps_of
from .reversible_jump import ChainsWalk, Design, OneGroup, Walker
from .spike_slab import moderate, n_chains_of, visit_rate
from .stiffness import stiffness
from .two_states_problem import TwoStatesProblem, data_moments, has_rare_state, pair_tables_of, together

_CAMP = 3  # almost equal nodes of a node of a camp
_JOINT = 0.6  # least similarity of the other ends of edges that are born and die together
_JOINT_VISITS = 0.05  # most births, and deaths, of such pairs that are proposed in an iteration, for each node
_SETTLE = 20  # initial sweeps of the chains, and steps of the power method
_NONE = np.empty((0, 2), np.int64)


@dataclass(frozen=True)
class BitWalker(Walker):
    """Steps on chains of bits, of yes/no answers of one group. The memory of the design is a `TwoStatesProblem`."""

    n_iterations = 20

    def start(self, theta: GroupTheta, rng: np.random.Generator) -> ChainsWalk:
        """Return the walk at ``theta``, with chains swept there, and the stiffness."""
        walk = super().start(theta, rng)
        chains = self.unpack_chains(walk.chains, theta, self.problem, walk.share)
        for _ in range(_SETTLE):
            quotient = stiffness(self.problem, self.design.steps, chains, theta, walk.direction)
        return walk._replace(stiffness=quotient)

    def start_chains(self, theta: GroupTheta, rng: np.random.Generator) -> EdgeChains:
        """Return chains that were swept at theta, from random states."""
        share, graph = np.full((1, self.model.n_edges), 0.5), self.model.graph
        chains = self.unpack_chains(start_chains(self.n_chains, graph.n_nodes, rng), theta, self.problem, share)
        follow_in_bits(chains, self.problem, theta)
        for _ in range(_SETTLE):
            flip_clusters(rng, chains.blocks, chains.rows, chains.weights)
            sweep(chains.blocks, chains.rows, chains.weights)
        return self.pack_chains(chains)

    def unpack_chains(
        self, chains: EdgeChains, theta: GroupTheta, problem: GroupProblem, share: np.ndarray
    ) -> BitChains:
        """Return a working copy of the chains, without weights, which are to follow."""
        model, of = self.model, self.constants(problem, theta.now[0], share)
        rows = start_rows(model.graph, theta.weights[0] != 0)
        return BitChains(of, rows, unpack(chains, self.n_chains), np.zeros(model.n_features))

    def pack_chains(self, chains: BitChains) -> EdgeChains:
        """Return the bits."""
        return EdgeChains(chains.blocks.words, chains.blocks.lanes)

    def constants(self, problem: GroupProblem, now: np.ndarray, share: np.ndarray) -> TwoStatesProblem:
        """Return the constants with the priors and data of a problem, and how often each edge is visited."""
        of, n_nodes, share = self.design.memory, self.model.graph.n_nodes, moderate(share[0])
        least = share[of.joint].min(axis=1)
        rate = float(visit_rate(share, n_nodes))
        joint_rate = min(rate, _JOINT_VISITS * n_nodes / max(np.minimum(least, 1 - least).sum(), 1.0))
        lines = of.lines._replace(sums=problem.lines.sums[0])
        return of._replace(
            prior=problem.baseline, lines=lines, now=now, share=share, rate=rate, joint_rate=float(joint_rate)
        )


@dataclass(frozen=True, eq=False)
class SpikeSlabTwoStates(OneGroup):
    """Birth and death of edges in proportion to doubt, and Langevin steps of all parameters, on chains of bits.

    The chains are those of the Boltzmann machine with the distribution of theta; the prior is on theta. An iteration is
    a Gibbs sweep of the chains, proposals for as many candidates as there are nodes, and a Langevin step.

    Parameters
    ----------
    model : TwoArrays
        Binary, with node parameters.
    s_bar, n_samples, prior, start, options, n_adapt, design
        As in `OneGroup`.
    """

    name, walks = "spike_slab_two_states", BitWalker

    def check_model(self) -> None:
        """Raise OptionError unless the model is binary, with parameters of nodes."""
        model: Any = self.model
        if model.n_states > 2 or model.n_features == model.n_edges or not has_lines(model):
            expected = f"binary and with node parameters for {self.name!r}: boltzmann, ising or agreement"
            raise OptionError(option="model", got=model.name, expected=expected)

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

    def make_design(self) -> Design:
        """Return the design for the kernel's data."""
        model, n, (u, v) = self.model, float(self.n_samples), self.model.graph.edges.T
        prior, coding = edge_prior(self.prior, model.graph), Coding.of(model)
        moments, lines = data_moments(model, self.s_bar, n), centred_lines(model, self.s_bar, n, prior.tilt)
        ends = (coding.node * lines.pull[:, :, 0] - coding.shift) / coding.edge
        # The data choose these pairs, not the chains, so the choice adds no bias.
        counted = self._in_camp[u] & self._in_camp[v] & ~has_rare_state(u, v, moments, n_chains_of(self.options) / 2)
        of = TwoStatesProblem(
            prior, lines, np.empty(0), coding, ends, counted, np.full(len(u), 0.5), 1.0, 1.0, *self._pairs,
            together(lines.edges, moments),
        )  # fmt: skip
        problem = one_group_problem(model, lines, self.prior, _NONE)
        tables = [pair_tables_of(moments, lines.edges)]
        return Design(problem, steps_of(model, problem, [(self.s_bar, n)], tables, self.options.momentum), of)
