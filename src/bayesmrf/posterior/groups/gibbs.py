"""Gibbs sampling of groups of edges that share a parameter: one kernel for all models and engines.

A step consists of

* a scan of the edges: the group of each is drawn by Liu and Page 2013, eq. 4, extended to edges that may be absent;
* draws of the values of all groups;
* draws of node fields, separately or in groups of nodes;
* splits and merges of groups (`bayesmrf.posterior.groups.moves.split_merge`), of products also transfers of one item
  (`bayesmrf.posterior.groups.moves.transfers`);
* alpha and p0.

Blocks (`bayesmrf.posterior.groups.blocks`) define the items and the prior of their values. Marginals of the model at
theta come from an exact engine (`bayesmrf.posterior.groups.exact`), or from particles of two states
(`bayesmrf.posterior.groups.two_states`) or of many (`bayesmrf.posterior.groups.group_potentials`).
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...base import PairMarginals, PairWalk
from ...declare.option import Checked, needs, option
from ...declare.rule import OBSERVATIONS, integer
from ...priors import DirichletProcess
from .blocks import Block, edge_block, field_block
from .dirichlet_process import GROUPED_DIMS, Grouping, compact, sums_of_counts
from .moves.split_merge import JOIN, LEAVE, MERGE, NONE, SPLIT

_FORGET = 0.7  # weight t^-0.7 of the t-th scan in the mean of nu


class GroupsState(NamedTuple):
    """Groups of edges and of fields; theta, and the memory of the marginals; the mean over the scans of what
    splits and merges are proposed by, and the number of scans.
    """

    edges: Grouping
    fields: Grouping
    theta: np.ndarray
    memory: Any
    nu: np.ndarray
    n_scans: int


@dataclass(frozen=True, eq=False)
class GroupedGibbs(Checked):
    """Gibbs sampling of groups.

    Parameters
    ----------
    marginals : PairMarginals
        `ExactMarginals`, `TwoStateParticles` or `ManyStateParticles`, of the model.
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    prior : DirichletProcess
        Of the edges. Its base is a Beta distribution of the agreement, or normal if edges have tables.
    start : (n_features,) array
        Estimate that ignores groups, for the start of the chain.
    field_prior : DirichletProcess, optional
        Of grouped node fields; None for separate fields of the nodes.
    n_jumps : int
        Splits and merges proposed in a step; of the ordinal model, half of them are transfers of one edge.
    n_pairs : int
        With particles, joint reassignments of each edge and one near it in a step.
    """

    marginals: PairMarginals
    s_bar: np.ndarray
    n_samples: float = field(metadata=needs(OBSERVATIONS))
    prior: DirichletProcess
    start: np.ndarray
    field_prior: DirichletProcess | None = None
    n_jumps: int = option(10, integer(0, 10**6))
    n_pairs: int = option(2, integer(1, 10**6))

    @property
    def name(self) -> str:
        """Name, such as grouped_exact."""
        return f"grouped_{self.marginals.name}"

    @property
    def dims(self) -> dict[str, tuple[str, ...]]:
        """Dimensions of the fields of Info."""
        dims = GROUPED_DIMS | {"density": (), "field_groups": ("node",)}
        return dims | {"n_splits": (), "n_merges": ()} | self.marginals.dims

    @cached_property
    def _blocks(self) -> tuple[Block, Block]:
        model, n = self.marginals.model, float(self.n_samples)
        low = model.feature_low
        # The features of ordered states are no indicators.
        counts = n * self.s_bar if model.is_product else sums_of_counts((self.s_bar - low) / (1 - low), n)
        return edge_block(model, counts, n, self.prior, self.field_prior), field_block(
            model, counts, n, self.field_prior
        )

    def _theta(self, *state: Grouping) -> np.ndarray:
        return np.concatenate([b.theta(g) for b, g in zip(self._blocks, state, strict=True)])

    def init(self, rng: np.random.Generator) -> GroupsState:
        """Start from k-means on the estimate."""
        edges, fields = (b.start(self.start[b.first : b.end], rng) for b in self._blocks)
        theta = self._theta(edges, fields)
        memory = self.marginals.start(theta, rng)
        return GroupsState(edges, fields, theta, memory, np.zeros(self._blocks[0].fit_shape), 0)

    def step(self, rng: np.random.Generator, state: GroupsState) -> tuple[GroupsState, Any]:
        """Make one scan of the edges, values and fields, splits and merges, alpha and p0."""
        block, field_block = self._blocks
        walk = self.marginals.thaw(state.memory, state.theta, self.s_bar, float(self.n_samples))
        walk.mix(rng)
        edges, nu = walk.scan(rng, block, state.edges, self.n_pairs)
        mean_nu = state.nu + (nu - state.nu) * (1 + state.n_scans) ** -_FORGET
        edges, fields = walk.move_values(rng, block, edges), state.fields
        if len(field_block.counts):
            fields = walk.move_fields(rng, field_block, fields)
        edges, jumped = self._jump(rng, walk, edges, mean_nu)
        edges, fields = block.draw_constants(rng, edges), field_block.draw_constants(rng, fields)
        info = _info(tuple(self.dims))(
            theta=walk.theta,
            groups=edges.groups,
            n_groups=len(edges.values),
            alpha=edges.alpha,
            density=edges.density,
            field_groups=fields.groups,
            n_splits=jumped[SPLIT],
            n_merges=jumped[MERGE],
            **walk.stats(),
        )
        return GroupsState(edges, fields, walk.theta, walk.freeze(), mean_nu, state.n_scans + 1), info

    def _jump(
        self, rng: np.random.Generator, walk: PairWalk, edges: Grouping, nu: np.ndarray
    ) -> tuple[Grouping, dict[int, int]]:
        """Try splits and merges of groups of edges."""
        block, jumped = self._blocks[0], dict.fromkeys((SPLIT, MERGE, LEAVE, JOIN), 0)
        for _ in range(self.n_jumps):
            tried = block.propose(rng, edges, nu)
            if tried.kind != NONE:
                new = block.apply(tried, edges)
                theta = block.placed(walk.theta, new)
                moved = block.log_prior_moved(theta) - block.log_prior_moved(walk.theta)
                if walk.accept(rng, block, tried._replace(log_ratio=tried.log_ratio + moved), theta):
                    edges = new
                    jumped[tried.kind] += 1
        return (compact(edges) if self.n_jumps else edges), jumped


@lru_cache
def _info(names: tuple[str, ...]) -> Any:
    return namedtuple("GroupsInfo", names)
