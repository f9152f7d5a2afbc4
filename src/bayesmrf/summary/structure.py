"""What is said of a posterior over which edges exist."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..results import IN_DOUBT
from .base import INTERVAL, Summary, count

if TYPE_CHECKING:
    import pandas as pd

_BLOCK = 512  # columns sorted together

# What a method does, and why its draws are approximate.
METHODS = {
    "langevin": (
        "Langevin dynamics of the weights, and jumps of weak edges (Algorithm 1 of Chen and Welling)",
        "no step of a weight is accepted or rejected, and moments are estimates by finitely many particles",
    ),
    "one-edge": (
        "edges of any strength come and go by the law of one edge given the others, moments from persistent chains",
        "jumps allow for the error of moments that come from finitely many particles, but Langevin steps between them "
        "are neither accepted nor rejected",
    ),
    "exact": ("edges of any strength come and go by the exact law of one edge given the others", ""),
}
_LABELS = {
    "n_particles": "particles",
    "n_sweeps": "Gibbs sweeps",
    "epsilon": "step epsilon",
    "alpha": "share of momentum kept",
    "width": "width of jumps",
    "n_iterations": "iterations in a step",
}


@dataclass(frozen=True, eq=False)
class StructureSummary(Summary):
    """Tables and sentences about a posterior over which edges exist.

    Parameters
    ----------
    tree : xarray.DataTree
        From `SpikeSlabMRF.posterior_` or `bayesmrf.results.load`.
    """

    n_judged: ClassVar[int] = 24

    @cached_property
    def inclusion(self) -> np.ndarray:
        """Probability of each candidate edge: (n_edges,)."""
        return self.stacked("included").mean(axis=0)

    @cached_property
    def edge_table(self) -> pd.DataFrame:
        """Each candidate: its ends, inclusion, and mean and 90 % interval of its weight given that it exists.

        NaN stands for the weight of an edge that never existed.
        """
        import pandas as pd

        first, second = (np.array(self.names, dtype=object)[self.ends[:, i]] for i in (0, 1))
        mean, low, high = _given_inclusion(self.stacked("theta")[:, : self.n_edges], self.stacked("included"))
        table = {"first": first, "second": second, "inclusion": self.inclusion}
        return pd.DataFrame(table | {"weight": mean, "low": low, "high": high})

    @property
    def likely(self) -> pd.DataFrame:
        """The edges with an inclusion above 0.5, in the order of the candidates."""
        return self.edge_table[self.edge_table["inclusion"] > 0.5]

    @property
    def strongest(self) -> pd.DataFrame:
        """The same by falling size of the mean weight."""
        return self.likely.sort_values("weight", key=np.abs, ascending=False, kind="stable")

    @property
    def drawn(self) -> np.ndarray:
        """Ends (n, 2) of the edges with an inclusion above 0.5."""
        return self.ends[self.inclusion > 0.5]

    @property
    def n_in_doubt(self) -> int:
        """Number of edges with an inclusion from 0.1 to 0.9."""
        return int(((self.inclusion >= IN_DOUBT[0]) & (self.inclusion <= IN_DOUBT[1])).sum())

    @property
    def n_edges_sentence(self) -> str:
        """Mean and 90 % interval of the number of edges, how many are likely, and how many in doubt."""
        draws = self.stacked("included").sum(axis=1)
        low, high = np.quantile(draws, INTERVAL, method="inverted_cdf")
        return (
            f"{draws.mean():.1f} on average, 90 % interval {low:,g} to {high:,g}, of {self.n_edges:,} candidates; "
            f"inclusion is above 0.5 for {len(self.drawn):,}, and in doubt (0.1 to 0.9) for {self.n_in_doubt:,}"
        )

    @property
    def density_sentence(self) -> str:
        """Mean and 90 % interval of p0 and of sigma0."""
        density, scale = (_mean_and_interval(self.stacked(name)) for name in ("density", "slab_scale"))
        return f"Density {density}, slab scale {scale}"

    @property
    def kind_sentence(self) -> str:
        """Whether the draws are from the posterior itself, and why."""
        if self.kind.startswith("exact"):
            return f"{self.kind}: the longer the run, the closer they are to the posterior itself"
        reason = METHODS.get(str(self.attrs.get("method")), ("", ""))[1]
        return f"{self.kind}: {reason}" if reason else self.kind

    @property
    def data_sentence(self) -> str:
        """Size of data and candidate set, which answers are yes, and how many values were missing."""
        n, rule = self["observed_data"].attrs["n_samples"], self.attrs.get("binarize")
        yes = f"; yes is an answer {rule}" if rule else ""
        size = f"{count(round(n), 'observation')} of {count(len(self.names), 'node')}"
        return f"{size}, {count(self.n_edges, 'candidate edge')}{yes}{self.missing_clause}"

    @property
    def method_sentence(self) -> str:
        """The method, and what it does."""
        method = str(self.attrs.get("method", "unknown"))
        return f"{method}: {METHODS[method][0]}" if method in METHODS else method

    @property
    def options(self) -> dict[str, str]:
        """The prior, and the options given to the method."""
        prior, a = json.loads(self.attrs.get("prior", "{}")), self.attrs
        found = {}
        if prior:
            density, slab = prior["density"], prior["precision"]
            beta = f"Beta({density['a']:g}, {density['b']:g})" if isinstance(density, dict) else f"{density:g}, fixed"
            found["prior of the density"] = beta
            found["prior of the slab's precision"] = f"Gamma({slab['shape']:g}, {slab['rate']:g})"
            found["scale of the biases"] = f"{prior['bias_scale']:g}"
        given = {label: a[k] for k, label in _LABELS.items() if a.get(k, "null") != "null"}
        return found | {label: f"{v:g}" for label, v in given.items()}


def _given_inclusion(theta: np.ndarray, included: np.ndarray) -> Any:
    """Mean and ends of the central 90 % interval of each column over the draws that include it; NaN where none does."""
    found = np.full((3, theta.shape[1]), np.nan)
    for i in range(0, theta.shape[1], _BLOCK):
        here = included[:, i : i + _BLOCK] != 0
        n = here.sum(axis=0)
        seen = np.flatnonzero(n)
        draws = np.sort(np.where(here, theta[:, i : i + _BLOCK], np.inf)[:, seen], axis=0)
        last = n[seen] - 1
        rank = np.arange(len(draws))[:, None]
        found[0, i + seen] = np.where(rank <= last, draws, 0.0).sum(axis=0) / n[seen]
        for k, q in enumerate(INTERVAL, start=1):
            below = np.floor(q * last).astype(int)
            above, column = np.minimum(below + 1, last), np.arange(len(seen))
            low, high = draws[below, column], draws[above, column]
            found[k, i + seen] = low + (q * last - below) * (high - low)
    return found


def _mean_and_interval(draws: np.ndarray) -> str:
    if np.ptp(draws) == 0:
        return f"{draws[0]:.3f} (fixed)"
    low, high = np.quantile(draws, INTERVAL)
    return f"{draws.mean():.3f} (90 % interval {low:.3f} to {high:.3f})"
