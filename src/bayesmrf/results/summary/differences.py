"""Summary of a posterior over the differences between groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...errors import OptionError
from ...methods import COMPARISONS
from ...methods.edges import OF_KIND
from ...methods.rows import MethodRow
from ...names import shown
from ...parameters import CompareParameters
from ..blocks import Columns, stacked
from ..differences import bias_table, difference_table, exist_in_groups, may_be_absent
from ..intervals import intervals, intervals_given
from ..surveyed import SURVEYED
from .common import count
from .inclusion import InclusionSummary

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


@dataclass(frozen=True, eq=False)
class DifferenceSummary(InclusionSummary):
    """Tables and sentences about the differences between groups."""

    estimator, over, title, has_populations = "CompareMRF", "differences", "Differences between groups", True
    thing, counted, verb, of_what, weighed = "difference", "edges", "differ", "a difference", "difference"
    number, traced = "number of edges that differ", "edges that differ"
    parameters = CompareParameters

    @cached_property
    def groups(self) -> list[str]:
        """Labels of the groups, as they are shown."""
        return [shown(g) for g in self["posterior"]["group"].values]

    @property
    def sizes(self) -> np.ndarray:
        """Observations of each group."""
        return self["observed_data"]["group_sizes"].values

    @property
    def pairs(self) -> int:
        """Number of pairs of groups."""
        return len(self.groups) * (len(self.groups) - 1) // 2

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Differences of all edges in order; see `bayesmrf.results.differences.difference_table`."""
        table = difference_table(self.tree, self.tails)
        for name, values in self.marks.items():
            table.insert(list(table).index("upper") + 1, name, np.repeat(values, len(table) // self.n_edges))
        return table

    @cached_property
    def bias_differences(self) -> pd.DataFrame:
        """Differences of all parameters of nodes, the most probable or the largest first.

        Those that are free in each group have no inclusion.
        """
        table = bias_table(self.tree, self.tails)
        order = table["inclusion"] if "inclusion" in table else table["difference"].abs()
        return table.loc[order.sort_values(ascending=False, kind="stable").index]

    @property
    def if_negative(self) -> str:
        """What a minus means."""
        if self.pairs == 1:
            return f"negative difference ({self.direction})"
        groups = ", ".join(self.groups)
        return f"the largest difference of two groups is negative (the later minus the earlier of {groups})"

    def trace_of(self, feature: str) -> xr.DataArray:
        """Refuse: parameters differ between groups."""
        raise OptionError(option="feature", got=feature, expected="None for a posterior of CompareMRF")

    @property
    def may_be_absent(self) -> bool:
        """Whether edges may be absent in all groups."""
        return may_be_absent(self.tree)

    @cached_property
    def edge_table(self) -> pd.DataFrame:
        """Edges in order: ends, probability of a difference, and its mean given that there is one.

        Of more than two groups, the mean is that of the difference with the largest absolute mean.
        """
        table = self.differences
        size = table["difference"].abs().fillna(0).to_numpy().reshape(self.n_edges, -1).argmax(axis=1)
        rows = np.arange(self.n_edges) * self.pairs + size
        return table.iloc[rows].reset_index(drop=True).rename(columns={"difference": "weight"})

    @cached_property
    def weight_table(self) -> pd.DataFrame:
        """Weights of the edges in each group: ends, group, mean and ends of the interval given that the edge exists.

        If edges may be absent, their inclusion, too: the probability that the edge exists, which is the same in all
        groups. The weight of an edge that never existed is NaN.
        """
        table = self._of_groups(self.named_ends, "weight", self.weights_given(self.tails))
        if self.may_be_absent:
            table.insert(2, "inclusion", np.repeat(self.existence, len(self.groups)))
        return table

    @cached_property
    def existence(self) -> np.ndarray:
        """Probability that each edge exists, in all groups: (n_edges,)."""
        return self._exist.means()

    @property
    def _exist(self) -> Columns:
        return self.edge_columns(exist_in_groups)

    @property
    def forest(self) -> np.ndarray:
        """The same of each group: (3, n_groups, n_edges)."""
        return self.weights_given(self.tails).reshape(3, self.n_edges, -1).swapaxes(1, 2)

    def weights_given(self, tails: tuple[float, float]) -> np.ndarray:
        """Return mean and ends of the interval of weights given that the edge exists, (3, n_edges * n_groups)."""
        return intervals_given(self.edge_columns(), self._exist, tails)

    @cached_property
    def node_table(self) -> pd.DataFrame:
        """Parameters of nodes in each group: name, group, mean, ends of the interval."""
        draws, names = self.node_draws
        values = stacked(draws).swapaxes(1, 2).reshape(self.n_draws, -1)
        moments = np.array([values.mean(axis=0), *intervals(values, self.tails)])
        return self._of_groups({"node": np.array(names, dtype=object)}, "mean", moments)

    def _of_groups(self, names: dict[str, np.ndarray], mean: str, moments: np.ndarray) -> pd.DataFrame:
        """Tabulate means and intervals (3, n_items * n_groups), one item after the other."""
        import pandas as pd

        labels = self["posterior"]["group"].values
        means, low, high = moments
        table = {name: np.repeat(values, len(labels)) for name, values in names.items()}
        table["group"] = np.tile([str(g) for g in labels], len(means) // len(labels))
        return pd.DataFrame(table | {mean: means, "lower": low, "upper": high})

    @property
    def n_edges_sentence(self) -> str:
        """Mean and 90 % interval of the number of edges that differ, and how many are likely to."""
        return super().n_edges_sentence.replace("candidates", "edges")

    @property
    def direction(self) -> str:
        """Which group is subtracted from which."""
        if len(self.groups) == 2:
            return f"{self.groups[1]} minus {self.groups[0]}"
        return "the other group minus the group"

    @property
    def size(self) -> str:
        """Number of rows of each group."""
        row = "effective row" if SURVEYED in self.attrs else "row"
        return ", ".join(f"{count(round(n), row)} of {g}" for g, n in zip(self.groups, self.sizes, strict=True))

    @property
    def data_sentence(self) -> str:
        """Size of the groups, of the network, and how many values were missing."""
        return f"{self.size}: {count(len(self.names), 'node')}, {count(self.n_edges, 'edge')}, {self.model_clause}"

    @property
    def row(self) -> MethodRow | None:
        """The row of the method in the registry of its estimator."""
        return OF_KIND.get(self.kind) or COMPARISONS.find(str(self.attrs.get("method")))

    @property
    def prior_options(self) -> dict[str, str]:
        """The priors of differences, of weights and of parameters of nodes."""
        return super().prior_options | self.parameter_options

    @property
    def options(self) -> dict[str, str]:
        """The priors."""
        return self.prior_options
