"""Edges of several parameters with a spike-and-slab prior, exact: whole tables of log odds are born and die."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import OptionError
from ...models.bases import edge_starts, has_group_lines
from ..conditionals.group_lines import GroupProblem, GroupTheta, own_problem
from ..conditionals.group_problem import lines_of, one_group_problem
from ..conditionals.group_scan import scan_groups
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import edge_prior, require_finite
from ..conditionals.state_table import BlockOrder, block_order
from .differences import check_size
from .spike_slab import EdgeFit, EdgeState, ExactEdges, drawn, present_edges, with_blocks


@dataclass(frozen=True, eq=False)
class SpikeSlabTables(ExactEdges):
    """Birth or death of every edge in turn, by the exact full conditionals of its parameters, one after another.

    The weights of all states are in a table, of at most 2^23 states; the scan is that of groups of people
    (`bayesmrf.posterior.conditionals.group_scan`), of which there is one.

    Parameters
    ----------
    likelihood : Likelihood
        Of a model whose graph is the candidate edges.
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for no edges.
    n_scans : int
        Scans over all edges and nodes that make one step.
    """

    name = "spike_slab_tables"

    def __post_init__(self) -> None:
        super().__post_init__()
        model: Any = self.likelihood.model
        if not (model.fields and has_group_lines(model)):
            raise OptionError(option="model", got=model.name, expected=f"nominal, with fields, for {self.name!r}")
        check_size(model)

    @cached_property
    def _problem(self) -> GroupProblem:
        model, s_bar, n = self.likelihood.model, self.likelihood.s_bar, self.likelihood.n_samples
        lines = lines_of(model, s_bar, n, edge_prior(self.prior).tilt)
        return one_group_problem(model, lines, self.prior, rivals_in(model, s_bar, n))

    @cached_property
    def _order(self) -> BlockOrder:
        graph = self.likelihood.model.graph
        return block_order(graph.edges, graph.n_nodes)

    def step(self, rng: np.random.Generator, state: EdgeState) -> tuple[EdgeState, EdgeFit]:
        """Run ``n_scans`` scans."""
        model: Any = self.likelihood.model
        n_own = int(edge_starts(model)[-1])
        natural = state.theta[None].copy()
        theta = GroupTheta(natural[:, :n_own].copy(), natural, np.ones(natural.shape))
        problem = own_problem(self._problem, state.blocks)
        (_, _, density, precision), (log_z,) = scan_groups(rng, problem, self._order, theta, self.n_scans)
        parameters = theta.natural[0]
        require_finite(parameters)
        fit = self.likelihood.log_likelihood(parameters, float(log_z))
        info = EdgeFit(*drawn(parameters, present_edges(model, parameters), density, precision), fit)
        labels = problem.baseline.blocks.labels
        return EdgeState(parameters, density, precision, labels), with_blocks(info, labels)
