"""Summary of a posterior over which edges exist."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...methods import EDGES
from ...methods.edges import OF_KIND
from ...methods.rows import MethodRow
from ...parameters import SpikeSlabParameters
from ..communities import Communities, communities_of
from ..statistics import NetworkStatistics
from .inclusion import InclusionSummary, mean_and_interval

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class StructureSummary(InclusionSummary):
    """Tables and sentences about a posterior over which edges exist."""

    estimator, edge_noun = "SpikeSlabMRF", "candidate edge"
    over, title, parameters = "which edges exist", "Which edges exist", SpikeSlabParameters

    @property
    def n_no_candidates(self) -> int:
        """Pairs of nodes without a candidate edge."""
        n = len(self.names)
        return n * (n - 1) // 2 - self.n_edges

    @cached_property
    def communities(self) -> Communities | None:
        """Communities of nodes; None where the prior has no blocks."""
        return communities_of(self.tree)

    @cached_property
    def statistics(self) -> NetworkStatistics:
        """Draws of the statistics of nodes and networks; given the communities, if there are any."""
        statistics = super().statistics
        return statistics if self.communities is None else statistics.with_communities(self.communities.allocation)

    @property
    def share_informing(self) -> np.ndarray:
        """Share of draws that inform the parameters of each edge: those in which it exists."""
        return self.inclusion

    @property
    def strongest(self) -> pd.DataFrame:
        """The edges of the median probability model, by decreasing absolute mean weight."""
        return self.likely.sort_values("weight", key=np.abs, ascending=False, kind="stable")

    @property
    def density_sentence(self) -> str:
        """Mean and 90 % interval of p0 and of the slab's scale."""
        return f"{super().density_sentence}, slab scale {mean_and_interval(self.stacked('slab_scale'))}"

    @property
    def row(self) -> MethodRow | None:
        """The row of the method in the registry of its estimator."""
        return OF_KIND.get(self.kind) or EDGES.find(str(self.attrs.get("method")))
