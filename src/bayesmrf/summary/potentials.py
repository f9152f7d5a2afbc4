"""Summary of groups of edges between nodes with more than two states."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from ..graphs import Graph
from ..intervals import intervals
from ..models.symmetric import Symmetric
from ..names import shown
from .base import INTERVAL, Summary, mean_of_existing, plain

if TYPE_CHECKING:
    import pandas as pd


class PotentialSummary(Summary):
    """Levels of the states, log potentials of groups of edges, and the agreements of an estimate."""

    @property
    def levels(self) -> list[str]:
        """Names of the states of a node, if there are more than two."""
        return [shown(level) for level in plain(self.attrs.get("levels", []))]

    @cached_property
    def tabled(self) -> Symmetric | None:
        """The model if edges have tables of log potentials; None if they have one parameter."""
        if self.attrs.get("model") != "symmetric":
            return None
        graph = Graph(len(self.names), self.ends, tuple(self.names))
        return Symmetric(graph, int(self.attrs["n_states"]), self.attrs.get("fields") in (True, 1, "grouped"))

    @property
    def n_edge_features(self) -> int:
        """Number of parameters of edges, which come first in theta."""
        return self.n_edges * len(self._contrast)

    def agreement_at(self, theta: np.ndarray) -> np.ndarray:
        """Return the agreements of the edges at ``theta``."""
        edges = theta[..., : self.n_edge_features].reshape(*theta.shape[:-1], self.n_edges, -1)
        return np.asarray(expit(edges @ self._contrast))

    @cached_property
    def _contrast(self) -> np.ndarray:
        """What turns the parameters of an edge into its agreement (`bayesmrf.models.edge_tables.EdgeTables`), (p,)."""
        return np.asarray(self["constant_data"]["agreement_contrast"].values)

    def potential_table(self, groups: np.ndarray) -> pd.DataFrame:
        """Return the log potentials of each group and unordered pair of levels, means over its edges that exist.

        Entries that are 0 by definition are omitted; ``groups`` are labels of the edges from 0, -1 for none.
        """
        import pandas as pd

        model = self.tabled
        assert model is not None
        draws = self.stacked("theta")[:, : self.n_edge_features].reshape(-1, self.n_edges, model.n_parameters)
        there = self.stacked("included") != 0 if "included" in self["posterior"] else None
        found = []
        for g in range(groups.max() + 1):
            own = mean_of_existing(draws[:, groups == g], None if there is None else there[:, groups == g])
            low, high = intervals(own, INTERVAL)
            for j, (k, other) in enumerate(model.pairs):
                found.append((g + 1, self.levels[k], self.levels[other], own[:, j].mean(), low[j], high[j]))
        return pd.DataFrame(found, columns=["group", "one", "other", "potential", "lower", "upper"])

    @property
    def reference_sentence(self) -> str:
        """The reference of the log potentials."""
        assert self.tabled is not None
        first = self.levels[0]
        pairs = f"all pairs with {first}, which have" if self.tabled.fields else f"the pair {first}, {first}, which has"
        return f"Log potentials of pairs of states are relative to {pairs} log potential 0."
