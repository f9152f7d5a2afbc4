"""Summary of groups of edges between nodes with more than two states."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from ...names import shown
from ..intervals import intervals
from .common import Summary, mean_of_existing, plain

if TYPE_CHECKING:
    import pandas as pd


class PotentialSummary(Summary):
    """Levels of the states, log potentials of groups of edges, and the agreements of an estimate."""

    @property
    def levels(self) -> list[str]:
        """Names of the states of a node, if there are more than two."""
        return [shown(level) for level in plain(self.attrs.get("levels", []))]

    @cached_property
    def entries(self) -> list[str]:
        """Names of the parameters of an edge where groups share a table; else none."""
        if self.family is not None and self.family.shared != "table":
            return []
        edge, features = str(self["posterior"]["edge"].values[0]), self["posterior"]["feature"].values
        marks = [str(name).removeprefix(edge) for name in features[: len(self._contrast)]]
        return [shown(mark.removeprefix("=").replace(",", ", ")) or "parameter" for mark in marks]

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
        """What turns the parameters of an edge into its agreement (`bayesmrf.models.two_arrays.TwoArrays`), (p,)."""
        return np.asarray(self["constant_data"]["agreement_contrast"].values)

    def potential_table(self, groups: np.ndarray) -> pd.DataFrame:
        """Return the parameters of each group, the log potentials of `entries`, means over its edges that exist.

        Entries that are 0 by definition are omitted; ``groups`` are labels of the edges from 0, -1 for none.
        """
        import pandas as pd

        draws = self.stacked("theta")[:, : self.n_edge_features].reshape(-1, self.n_edges, len(self.entries))
        exists = self.stacked("included") != 0 if "included" in self["posterior"] else None
        rows = []
        for g in range(groups.max() + 1):
            means = mean_of_existing(draws[:, groups == g], None if exists is None else exists[:, groups == g])
            low, high = intervals(means, self.tails)
            rows += [(g + 1, entry, means[:, j].mean(), low[j], high[j]) for j, entry in enumerate(self.entries)]
        return pd.DataFrame(rows, columns=["group", "entry", "potential", "lower", "upper"])

    @property
    def reference_sentence(self) -> str:
        """The reference of the log potentials; of a user's own model, their definition."""
        if self.family is None:
            return "Log potentials are the parameters of the edges, in the order of their categories."
        first, fields = self.levels[0], self.attrs.get("fields") in (True, 1, "grouped")
        pairs = f"all pairs with {first}, which have" if fields else f"the pair {first}, {first}, which has"
        return f"Log potentials of pairs of states are relative to {pairs} log potential 0."
