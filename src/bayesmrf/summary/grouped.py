"""What is said of a posterior over groups of edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from .. import partitions
from .base import INTERVAL, Summary, intervals, plain

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class GroupedSummary(Summary):
    """Tables and sentences about the posterior of a grouped model.

    Parameters
    ----------
    tree : xarray.DataTree
        From `GroupedMRF.posterior_` or `bayesmrf.results.load`.
    """

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
        low, high = intervals(draws)
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

    @cached_property
    def ball(self) -> partitions.CredibleBall:
        """The 95 % credible ball around the point partition."""
        return partitions.credible_ball(self.stacked("groups"), self.groups)

    @cached_property
    def ball_table(self) -> pd.DataFrame:
        """The point partition and the bounds of its credible ball: groups, distance in nats, sizes of the groups.

        Of several bounds of a kind the first drawn is shown.
        """
        import pandas as pd

        ball = self.ball
        shown = {
            "point partition": ball.center,
            "most distant": ball.horizontal[0],
            "fewest groups": ball.upper[0],
            "most groups": ball.lower[0],
        }
        sizes = [np.sort(np.bincount(groups))[::-1] for groups in shown.values()]
        away = [partitions.variation_of_information(ball.center, groups) for groups in shown.values()]
        index = pd.Index(shown, name="partition")
        return pd.DataFrame({"groups": [len(n) for n in sizes], "distance": away, "sizes": sizes}, index=index)

    @property
    def ball_sentence(self) -> str:
        """How far the draws lie from the point partition."""
        fewest, most = self.ball_table["groups"][["fewest groups", "most groups"]]
        number = f"{fewest} to {most}" if fewest < most else f"{fewest}"
        mean = partitions.expected_vi(self.groups, self.stacked("groups"))
        return (
            f"{100 * self.ball.share:.0f} % of the draws are within {self.ball.radius:.2f} nats of this partition, in "
            f"variation of information (0: the same; {np.log(self.n_edges):.2f}: the farthest there are), {mean:.2f} "
            f"on average; those have {number} {'group' if most == 1 else 'groups'}"
        )

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
        low, high = intervals(draws)
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

    @property
    def kind_sentence(self) -> str:
        """Whether the draws are from the posterior itself."""
        kind = self.kind
        if kind.startswith("exact"):
            return f"{kind}: the longer the run, the closer they are to the posterior itself"
        if "stripped Beta" in kind:
            return f"{kind}: fast on any graph, but it finds more groups than the posterior has"
        return f"{kind}: close to the posterior, but not the posterior itself however long the run"

    @property
    def data_sentence(self) -> str:
        """Size of data and graph, and whether nodes have fields."""
        fields = "with" if self.attrs.get("fields") in (True, 1) else "without"
        return f"{self.size_sentence}, {fields} node fields"

    @property
    def options(self) -> dict[str, str]:
        """Options that matter for the method of the run."""
        a = self.attrs
        chosen = {"alpha": "concentration alpha", "base": "base distribution Beta(a, b)"}
        if a.get("method") == "auxiliary-variable":
            chosen |= {k: k for k in ("inner", "n_sweeps", "n_proposals", "n_walk", "sigma_q", "restart")}
        found = {label: a[k] for k, label in chosen.items() if k in a}
        return {label: ", ".join(map(str, plain(v))) for label, v in found.items()}
