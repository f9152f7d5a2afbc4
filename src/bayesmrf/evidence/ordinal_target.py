"""Target of the evidence for models of ordered and nominal categories, without hidden nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..inference import annealed
from ..inference.auto import choose
from ..inference.chains import Brief, Persistent
from ..inference.elimination.engine import Elimination, cost
from ..likelihood import Likelihood
from ..models.categorical import node_statistics
from .pairwise_target import QUICK_BYTES, SUMMED, PairwiseTarget, SummedNodes


@dataclass(frozen=True, eq=False)
class OrdinalTarget(PairwiseTarget):
    """A model of categories, all of whose nodes are seen.

    Parameters
    ----------
    model : Ordinal or Nominal
        States are in {0, ..., m - 1}.
    linear : LinearMap, optional
        As in `PairwiseTarget`.
    """

    model: Any

    @property
    def n_states(self) -> int:
        """Largest number of levels of a node."""
        return int(self.model.n_states)

    @cached_property
    def _engine(self) -> Elimination | Persistent:
        return choose(self.model.graph, n_states=self.model.n_states)

    @property
    def row_size(self) -> int:
        """Number of features."""
        return self.n_features

    def prepare(self, states: np.ndarray) -> np.ndarray:
        """Return s(x) of each row, (n_rows, 1, n_features)."""
        return self._pull(self.model.features(states))[:, None]

    def given(self, theta: np.ndarray, prepared: np.ndarray) -> SummedNodes:
        """Return the rows, which have no hidden nodes."""
        return SummedNodes(prepared, prepared @ theta)

    @property
    def can_enumerate(self) -> bool:
        """Whether a sum over all states is faster than elimination, for many theta at once."""
        return self.model.used.sum(axis=1).prod() <= 2**SUMMED

    @cached_property
    def _visible(self) -> tuple[np.ndarray, np.ndarray]:
        sizes = tuple(self.model.used.sum(axis=1).tolist())
        every = np.array(list(np.ndindex(sizes)), np.int8)
        number = np.ravel_multi_index(tuple(self.states.T.astype(np.int64)), sizes)
        return self.prepare(every), np.bincount(number, self.weights, len(every))

    @property
    def is_quick(self) -> bool:
        """Whether elimination takes at most some milliseconds."""
        return cost(self.model.graph, QUICK_BYTES, self.model.n_states)[1] <= QUICK_BYTES

    def anneal(
        self, theta: np.ndarray, rng: np.random.Generator, n_chains: int, temperatures: int | np.ndarray
    ) -> annealed.Annealed:
        """Estimate log Z by annealed importance sampling from independent nodes with the shares of the data."""
        shares = node_statistics(self.states, self.model.n_states, self.weights)
        return annealed.forward(self.model, self.natural(theta), rng, n_chains, temperatures, shares)

    def brief(self, n_sweeps: int) -> Likelihood:
        """Return the likelihood with contrastive divergence (brief chains from the data)."""
        rows = self.rows
        return Likelihood(
            self.model, self.model.statistics(rows), len(rows), Brief(rows, n_sweeps=n_sweeps), None, self.linear
        )
