"""What a reader wants to know of a run, in tables and sentences: the command line and the report show the same."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from . import partitions, results

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

INTERVAL = (0.05, 0.95)  # ends of the 90 % interval
_BLOCK = 512  # edges whose quantiles are taken together

# Vehtari et al. (2021): R-hat at most 1.01 and 100 effective draws for each chain.
_GOOD_R_HAT, _FAIR_R_HAT, _DRAWS_PER_CHAIN = 1.01, 1.05, 100


@dataclass(frozen=True, eq=False)
class Summary:
    """Tables and sentences about the posterior of a grouped model.

    Parameters
    ----------
    tree : xarray.DataTree
        From `GroupedMRF.posterior_` or `bayesmrf.results.load`.
    """

    tree: xr.DataTree

    def __getitem__(self, group: str) -> Any:
        """A group of the tree: "posterior", "constant_data", ..."""
        return self.tree[group]

    @property
    def attrs(self) -> dict[str, Any]:
        """How the run came about."""
        return {str(k): v for k, v in self.tree.attrs.items()}

    @cached_property
    def names(self) -> list[str]:
        """Names of the nodes."""
        return [str(n) for n in self["constant_data"]["node"].values]

    @cached_property
    def ends(self) -> np.ndarray:
        """Ends (n_edges, 2) of the edges."""
        return self["constant_data"]["edges"].values

    @property
    def n_edges(self) -> int:
        """Number of edges r."""
        return len(self.ends)

    @property
    def n_draws(self) -> int:
        """Draws of all chains together."""
        sizes = self["posterior"].sizes
        return sizes["chain"] * sizes["draw"]

    def stacked(self, name: str) -> np.ndarray:
        """Draws of one variable, chains joined: (n_draws, ...)."""
        values = self["posterior"][name].values
        return values.reshape(-1, *values.shape[2:])

    @cached_property
    def groups(self) -> np.ndarray:
        """The point partition, labels 0..k-1 by falling agreement."""
        found = partitions.point_partition(self.stacked("groups"))
        mean = self.stacked("agreement").mean(axis=0)
        level = np.bincount(found, weights=mean) / np.bincount(found)
        rank = np.empty(len(level), dtype=np.int64)
        rank[np.argsort(-level, kind="stable")] = np.arange(len(level))
        return rank[found]

    @cached_property
    def edge_table(self) -> pd.DataFrame:
        """Each edge: its ends, group (from 1), posterior mean agreement with 90 % interval, and its MLE."""
        import pandas as pd

        draws = self.stacked("agreement")
        low, high = np.empty((2, self.n_edges))
        for i in range(0, self.n_edges, _BLOCK):
            low[i : i + _BLOCK], high[i : i + _BLOCK] = np.quantile(draws[:, i : i + _BLOCK], INTERVAL, axis=0)
        first, second = (np.array(self.names, dtype=object)[self.ends[:, i]] for i in (0, 1))
        return pd.DataFrame(
            {
                "first": first,
                "second": second,
                "group": self.groups + 1,
                "agreement": draws.mean(axis=0),
                "low": low,
                "high": high,
                "mle": expit(self["constant_data"]["mle"].values[: self.n_edges]),
            }
        )

    @cached_property
    def group_table(self) -> pd.DataFrame:
        """Each group of the point partition, by falling agreement: number of edges, agreement with 90 % interval.

        A group's agreement in one draw is the mean over its edges.
        """
        import pandas as pd

        draws, sizes = self.stacked("agreement"), np.bincount(self.groups)
        level = np.array([draws[:, self.groups == k].mean(axis=1) for k in range(len(sizes))])
        low, high = np.quantile(level, INTERVAL, axis=1)
        index = pd.RangeIndex(1, len(sizes) + 1, name="group")
        return pd.DataFrame({"size": sizes, "agreement": level.mean(axis=1), "low": low, "high": high}, index=index)

    def examples(self, group: int, most: int = 3) -> list[str]:
        """Names of the edges of a group (from 1), those closest to its agreement first, and how many more there are."""
        table = self.edge_table[self.edge_table["group"] == group]
        most += len(table) == most + 1  # "1 more" takes as much room as its name
        order = (table["agreement"] - self.group_table["agreement"][group]).abs().argsort(kind="stable")
        named = [f"{a} – {b}" for a, b in table[["first", "second"]].iloc[order[:most]].itertuples(index=False)]
        return [*named, f"{len(table) - most} more"] if len(table) > most else named

    @cached_property
    def field_table(self) -> pd.DataFrame:
        """Each node's field h with 90 % interval; empty for a model without fields."""
        import pandas as pd

        draws = self.stacked("theta")[:, self.n_edges :]
        low, high = np.quantile(draws, INTERVAL, axis=0)
        names = self.names if draws.shape[1] else []
        return pd.DataFrame({"node": names, "field": draws.mean(axis=0), "low": low, "high": high})

    @cached_property
    def n_groups(self) -> pd.Series:
        """Posterior probability of each number of groups."""
        import pandas as pd

        number, count = np.unique(self.stacked("n_groups"), return_counts=True)
        return pd.Series(count / count.sum(), index=pd.Index(number, name="n_groups"), name="probability")

    @property
    def n_groups_sentence(self) -> str:
        """Mean, mode and 90 % interval of the number of groups."""
        draws = self.stacked("n_groups")
        low, high = np.quantile(draws, INTERVAL, method="inverted_cdf")
        p = self.n_groups
        return (
            f"{draws.mean():.2f} on average; most probable {p.idxmax()} (probability {p.max():.2f}); "
            f"90 % interval {low:g} to {high:g}"
        )

    @cached_property
    def diagnostics(self) -> pd.DataFrame:
        """R-hat and effective sample size of what varies."""
        return results.diagnostics(self.tree).dropna(how="all", subset=["r_hat", "ess_bulk"])

    @cached_property
    def verdict(self) -> tuple[str, str]:
        """Whether the chains can be trusted: "good", "fair" or "bad", and a sentence that says why."""
        table, n_chains = self.diagnostics, self["posterior"].sizes["chain"]
        if table.empty:
            return "fair", "Nothing varied in these draws, or they are too few to judge: make more draws."
        ess = float(table["ess_bulk"].min())
        worst = f"the smallest effective sample size is {ess:,.0f} of {self.n_draws:,} draws"
        if table["r_hat"].isna().all():
            return "fair", f"One chain cannot show whether it has forgotten its start: run several; {worst}."
        r_hat = float(table["r_hat"].max())
        worst = f"the largest R-hat is {r_hat:.3f} ({table['r_hat'].idxmax()}), {worst}"
        if r_hat <= _GOOD_R_HAT and ess >= _DRAWS_PER_CHAIN * n_chains:
            return "good", f"The chains agree: {worst}."
        if r_hat <= _FAIR_R_HAT:
            return "fair", f"The chains nearly agree, means can be used, tails call for more draws: {worst}."
        return "bad", f"The chains do not agree yet, do not rely on these numbers, make more draws: {worst}."

    @property
    def kind_sentence(self) -> str:
        """Whether the draws are from the posterior itself."""
        kind = str(self.attrs.get("kind", "unknown"))
        if kind.startswith("exact"):
            return f"{kind}: the longer the run, the closer they are to the posterior itself"
        if "stripped Beta" in kind:
            return f"{kind}: fast on any graph, but it finds more groups than the posterior has"
        return f"{kind}: close to the posterior, but not the posterior itself however long the run"

    @property
    def data_sentence(self) -> str:
        """Size of data and graph."""
        n = self["observed_data"].attrs["n_samples"]
        fields = "with" if self.attrs.get("fields") in (True, 1) else "without"
        nodes, edges = count(len(self.names), "node"), count(self.n_edges, "edge")
        return f"{count(round(n), 'observation')} of {nodes}, {edges}, {fields} node fields"

    @property
    def draws_sentence(self) -> str:
        """Size of the run."""
        sizes, a = self["posterior"].sizes, self.attrs
        thin = f", every {a['thin']}th step kept" if a.get("thin", 1) != 1 else ""
        cut = "" if a.get("complete", True) else " (the run was stopped before its end)"
        size = f"{count(sizes['chain'], 'chain')} of {count(sizes['draw'], 'draw')}"
        return f"{size} after {count(a.get('n_warmup', 0), 'step')} of warm-up{thin}{cut}"

    @property
    def options(self) -> dict[str, str]:
        """Options that matter for the method of the run."""
        a = self.attrs
        chosen = {"alpha": "concentration alpha", "base": "base distribution Beta(a, b)"}
        if a.get("method") == "auxiliary-variable":
            chosen |= {k: k for k in ("inner", "n_sweeps", "n_proposals", "n_walk", "sigma_q", "restart")}
        found = {label: a[k] for k, label in chosen.items() if k in a}
        return {label: ", ".join(map(str, _plain(v))) for label, v in found.items()}


def count(number: int, noun: str) -> str:
    """A number and its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _plain(value: Any) -> list[Any]:
    """A stored attribute (a number, a text, or JSON of a list) as a list."""
    with suppress(ValueError):
        value = json.loads(value) if isinstance(value, str) else value
    return value if isinstance(value, list) else [value]
