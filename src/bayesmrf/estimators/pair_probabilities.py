"""Probabilities of the states of the ends of each edge at draws: by tables of all states, elimination, or chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base import MOMENTS
from ..inference.chains import Persistent
from ..inference.elimination.engine import Elimination
from ..models.categorical import states_of
from ..posterior.conditionals.centred import node_shares, pair_cells
from ..posterior.conditionals.edge_factors import table_cells
from ..posterior.conditionals.group_lines import GroupProblem, one_group
from ..posterior.conditionals.state_table import block_order
from ..samplers.pair_counts import pair_shares

TABLE = 2**20  # joint states that are summed over at a draw
_EACH = 8  # chains for each observation, within these numbers
_FEWEST, _MOST = 2**13, 2**17
_SWEEPS, _START = 16, 10  # sweeps between two draws, and times that before the first
_SLOW = 8  # times that a sweep of nodes with many states takes


class PairProbabilities:
    """Probabilities of the states 00, 01, ... of the ends of each edge.

    Parameters
    ----------
    model : TwoArrays
    sizes : sequence of float
        Observations of each group.
    is_exact : bool
        Whether the run computes moments exactly, where all states do not fit into a table.
    rng : numpy.random.Generator
        For chains.
    """

    def __init__(self, model: Any, sizes: Sequence[float], is_exact: bool, rng: np.random.Generator) -> None:
        self.model, graph, m = model, model.graph, model.n_states
        self.n_chains, self.n_groups = np.inf, len(sizes)
        self.work: float = m**graph.n_nodes  # of a draw, in states
        self._order = block_order(graph.edges, graph.n_nodes) if m**graph.n_nodes <= TABLE else None
        self._exact = Elimination() if self._order is None and is_exact else None
        if self._exact is not None:
            self._plan, self.work = self._exact.prepare(model), TABLE
        elif self._order is None:
            self.n_chains = int(np.clip(_EACH * max(sizes), _FEWEST, _MOST))
            self._engine = Persistent(n_chains=self.n_chains, n_sweeps=_SWEEPS)
            self._memory = [self._engine.start(model, rng) for _ in sizes]
            self._left, self._values = _START, (-1, 1) if states_of(model) is None else range(m)
            self.work = self.n_chains * graph.n_nodes * _SWEEPS / 16 * (1 if m == 2 else _SLOW)

    def at(self, problem: GroupProblem, thetas: np.ndarray) -> np.ndarray:
        """Return them at the parameters of each group at some draws (n, G, F): (n, G, n_edges, m^2)."""
        model, (u, v), m = self.model, self.model.graph.edges.T, self.model.n_states
        cells = np.empty((*thetas.shape[:2], model.n_edges, m * m))
        if self._order is not None:
            for t in range(self.n_groups):
                table_cells(one_group(problem, t), self._order, thetas[:, t], cells[:, t])
            turned = np.flatnonzero(u > v)
            swapped = cells[:, :, turned].reshape(*cells.shape[:2], len(turned), m, m).swapaxes(3, 4)
            cells[:, :, turned] = swapped.reshape(*swapped.shape[:3], m * m)
            return cells
        for i, t in np.ndindex(thetas.shape[:2]):
            if self._exact is not None:
                moments = self._exact.infer(model, thetas[i, t], self._plan, MOMENTS).moments
                cells[i, t] = pair_cells(model, moments, node_shares(model, moments), np.arange(model.n_edges)).T
            else:
                for _ in range(self._left if i == 0 else 1):
                    self._memory[t] = self._engine.follow(model, thetas[i, t], self._memory[t])
                cells[i, t] = pair_shares(self._memory[t].chains, int(self.n_chains), model.graph.edges, self._values)
        self._left = 1
        return cells
