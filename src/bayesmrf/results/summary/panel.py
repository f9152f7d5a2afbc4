"""Summary of a posterior over lagged edges and edges within a wave."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...families import FAMILIES
from ...parameters import PanelParameters
from ..panel_statistics import PanelStatistics
from .common import Terms, count
from .inclusion import SOURCE, InclusionSummary, mean_and_interval

if TYPE_CHECKING:
    import pandas as pd

_TERMS = {
    "boltzmann": Terms(
        "weight",
        "bias",
        "A lagged weight is the log odds ratio of an item and another one (or itself) a wave before, given all others "
        "then; one within a wave is that of two items, given all others and the wave before. A bias is the log odds of "
        "yes where all others are 0.",
    ),
    "ordinal": Terms(
        "weight",
        "threshold",
        "A lagged weight is the log odds ratio for each step of an item and each step of another one (or itself) a "
        "wave before, given all others then; one within a wave is that of two items, given all others and the wave "
        "before. A threshold is the log odds of its category against the lowest where all others are in theirs.",
    ),
}
_DENSITIES = {
    "autoregression_density": "autoregressions",
    "density": "other lagged edges",
    "within_density": "edges within a wave",
}
_REASON = (
    "each step allows for the noise of averages over finitely many chains, but the chains remember the steps before"
)


@dataclass(frozen=True, eq=False)
class PanelSummary(InclusionSummary):
    """Tables and sentences about a posterior over lagged edges and edges within a wave."""

    estimator, over, picture, has_lags = "PanelMRF", "lagged edges", "plot_panel", True
    title, edge_noun, counted = "What follows what in time", "candidate edge", "edges"
    judged = "the densities, the slab scale, the number of edges, and the parameters with the worst convergence"
    source = f"a Markov chain of Markov random fields with spike-and-slab priors as in {SOURCE}"
    parameters = PanelParameters

    @cached_property
    def statistics(self) -> PanelStatistics:
        """Draws of the statistics of items and of the network within a wave."""
        return PanelStatistics(self.tree)

    @property
    def terms(self) -> Terms:
        """Names of the parameters."""
        return _TERMS[str(self.attrs["items"])]

    @property
    def n_lagged(self) -> int:
        """Number of lagged edges, d^2."""
        return len(self.names) ** 2

    @property
    def within(self) -> bool:
        """Whether items of a wave have edges."""
        return self.n_edges > self.n_lagged

    @property
    def edge_texts(self) -> list[str]:
        """The two ends of each edge, with an arrow between those of a lagged one."""
        ends = enumerate(zip(*self.named_ends.values(), strict=True))
        return [f"{a}{'->' if e < self.n_lagged else '--'}{b}" for e, (a, b) in ends]

    @cached_property
    def intercept_table(self) -> pd.DataFrame:
        """Standard deviations of people's own intercepts, given the first wave."""
        return self.interval_table(self["posterior"]["intercept_sd"].values, list(self.nodes))

    @cached_property
    def numbers_of_transitions(self) -> dict[str, Any]:
        """Numbers of rows, people, pairs of successive rows, those that are used, and those left out."""
        numbers: dict[str, Any] = json.loads(self.attrs["transitions"])
        return numbers

    @property
    def size(self) -> str:
        """Number of pairs of successive rows, and of people."""
        t = self.numbers_of_transitions
        whose = f" of {count(t['people'], 'person', 'people')}" if t["people"] > 1 else " of one series"
        return f"{count(t['used'], 'transition')}{whose}"

    @property
    def data_sentence(self) -> str:
        """Size of the data, which rows follow each other, and the model."""
        t = self.numbers_of_transitions
        left = [f"{t['gaps']:,} not {t['step']:g} apart are skipped"] if t["gaps"] else []
        how = "with missing answers, which are drawn" if t.get("completed") else "with missing answers are skipped"
        left += [f"{t['missing']:,} {how}"] if t["missing"] else []
        left += [f"{t['nights']:,} nights, or breaks between sessions, are not crossed"] if t.get("nights") else []
        out = f" ({'; '.join(left)})" if left else ""
        intercepts = "; intercepts of each person" if self.attrs["intercepts"] == "own" else ""
        kind = "ordered" if FAMILIES.row(self.attrs["items"]).many_states else "yes/no"
        networks = "lagged edges and edges within a wave" if self.within else "lagged edges"
        return f"{self.size}{out}, {count(len(self.names), f'{kind} item')}, {self.n_edges:,} {networks}{intercepts}"

    @property
    def density_sentence(self) -> str:
        """Mean and 90 % interval of the probability that an edge of each kind exists, and of the slab's scale."""
        clauses = []
        for name, noun in _DENSITIES.items():
            if name == "within_density" and not self.within:
                continue
            fixed = self["constant_data"].get(name)
            value = mean_and_interval(self.stacked(name)) if fixed is None else f"{fixed.item():.3f} (fixed)"
            clauses.append(f"of {noun} {value}")
        return f"Density {', '.join(clauses)}; slab scale {mean_and_interval(self.stacked('slab_scale'))}"

    @property
    def reason(self) -> str:
        """Why draws are approximate."""
        return _REASON

    @property
    def method_sentence(self) -> str:
        """How draws are made."""
        name = "every edge in turn by a step that is nearly its full conditional"
        is_exact, each = self.kind == "exact", self.attrs.get("n_chains_of_transition")
        name = f"exact: {name}" if is_exact else f"chains: {name}, by averages over {each} chains for each transition"
        return f"{name}; intercepts of people are drawn, too" if self.attrs["intercepts"] == "own" else name
