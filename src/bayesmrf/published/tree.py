"""Exact conjugate Gibbs sampling of groups on forests (Neal 2000, Algorithm 2; Liu and Page 2013, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ..declare.option import Checked, needs
from ..declare.rule import OBSERVATIONS
from ..errors import GraphError
from ..estimators.grouped_methods import GroupsProblem
from ..graphs import Graph
from ..methods.rows import Built
from ..posterior.groups.dirichlet_process import (
    GROUPED_DIMS,
    GroupedInfo,
    Grouping,
    group_totals,
    initial_grouping,
    sums_of_counts,
)
from ..priors import DirichletProcess
from .conjugate import conjugate_step, conjugate_values
from .options import Tree


@dataclass(frozen=True, eq=False)
class GroupedTree(Checked):
    """Groups on a forest without fields, where the edges' agreements are independent given theta.

    S_c is Binomial(n, theta_c), so that both conditionals of the Gibbs sampler are Beta: the value of a group with m
    edges is Beta(a + sum S, b + m n - sum S).

    Parameters
    ----------
    graph : Graph
        A forest.
    successes : (n_edges,) array
        S_c, number of samples in which the ends of each edge agree.
    n_samples : float
    prior : DirichletProcess

    Raises
    ------
    GraphError
        If the graph has a cycle.
    """

    graph: Graph
    successes: np.ndarray
    n_samples: float = field(metadata=needs(OBSERVATIONS))
    prior: DirichletProcess

    name = "grouped_tree"
    dims = GROUPED_DIMS

    def __post_init__(self) -> None:
        if not self.graph.is_forest:
            expected = "'exact', 'particle' or 'stripped-beta' for a graph with a cycle"
            raise GraphError(option="method", got="tree", expected=expected)
        super().__post_init__()

    @cached_property
    def _order(self) -> np.ndarray:
        """Edges sorted by S, so that equal ones share a row of likelihoods."""
        return np.argsort(self.successes, kind="stable")

    def init(self, rng: np.random.Generator) -> Grouping:
        """Start from k-means on S / n."""
        return initial_grouping(self.successes / self.n_samples, self.prior, rng)

    def step(self, rng: np.random.Generator, state: Grouping) -> tuple[Grouping, GroupedInfo]:
        """Reassign all edges, then redraw all values, then alpha."""
        state = conjugate_step(rng, state, self._order, self.successes, self.n_samples, self.prior)
        sizes, totals = group_totals(state.groups, self.successes, len(state.values))
        state = conjugate_values(rng, state, sizes * self.n_samples, totals, self.prior)
        return state, GroupedInfo(state.values[state.groups], state.groups, len(state.values), state.alpha)


def build(_: Tree, p: GroupsProblem) -> Built:
    """Build the kernel."""
    return Built(GroupedTree(p.model.graph, sums_of_counts(p.s_bar, p.n), p.n, p.prior))
