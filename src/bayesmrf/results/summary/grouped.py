"""Summary of a posterior over groups of edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from ... import partitions
from ...data.cells import COMPLETE_PAIRS
from ...methods import GROUPS
from ...methods.rows import MethodRow
from ...names import shown
from ...parameters import GroupedParameters
from ..categories import NOT_IDENTIFIED
from ..convergence import NOT_CONVERGED
from ..edge_evidence import not_identified
from ..intervals import given_inclusion, intervals
from .common import INTERVAL, count, mean_of_existing, plain, rows
from .inclusion import SOURCE, InclusionSummary, prior_of_density
from .potentials import PotentialSummary

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_SOURCE = (
    "J. Liu and D. Page, Bayesian Estimation of Latently-grouped Parameters in Undirected Graphical Models, Advances "
    "in Neural Information Processing Systems 26 (2013)"
)


@dataclass(frozen=True, eq=False)
class GroupedSummary(InclusionSummary, PotentialSummary):
    """Tables and sentences about the posterior of a grouped model.

    If edges may be absent, groups are those of the edges of the median probability model, and agreements are over the
    draws in which an edge exists.
    """

    estimator, over, title = "GroupedMRF", "groups", "Groups of shared parameters"
    picture, styled_by, trace_title = "plot_agreement", "group", "Number of groups"
    parameters = GroupedParameters
    signed_by, if_negative = ("agreement", 0.5), "the ends tend to differ"

    @property
    def judged(self) -> str:
        """Numbers of groups and edges, and the worst parameters."""
        numbers = "numbers of groups and of edges, the density," if self.spike else "number of groups,"
        return f"the {numbers} and the edges and fields with the worst convergence"

    @property
    def source(self) -> str:
        """The paper on groups, and the one on edges that may be absent."""
        return f"{_SOURCE}; edges that may be absent: {SOURCE}" if self.spike else _SOURCE

    @cached_property
    def shown(self) -> np.ndarray:
        """Indices of the edges of the median probability model."""
        return np.flatnonzero(self.in_median_model)

    @cached_property
    def label_draws(self) -> np.ndarray:
        """Labels (n_draws, n_shown) of these edges; edges absent in a draw share a label."""
        draws = self.stacked("groups")
        return draws[:, self.shown] if self.spike else draws

    @cached_property
    def groups(self) -> np.ndarray:
        """The point partition, labels 0..k-1 by decreasing agreement; -1 for edges that are not shown."""
        labels = np.full(self.n_edges, -1)
        if len(self.shown):
            labels[self.shown] = ranked(self._point("groups", self.shown), self._agreement[0][self.shown])
        return labels

    def _point(self, labels: str, members: np.ndarray) -> np.ndarray:
        """Find the point partition of some members: the stored one, if it is of the same draws."""
        draws, stored = self.stacked(labels), self["constant_data"].get(f"{labels}_point")
        if stored is not None and stored.attrs["n_draws"] == len(draws):
            return stored.values[members]
        return partitions.point_partition(draws[:, members])

    @cached_property
    def _agreement(self) -> np.ndarray:
        """Mean of each edge's agreement, and ends of its interval."""
        draws = self.stacked("agreement")
        if self.spike:
            return given_inclusion(draws, self.stacked("included"), self.tails)
        return np.vstack([draws.mean(axis=0), intervals(draws, self.tails)])

    @cached_property
    def edge_table(self) -> pd.DataFrame:
        """Edges: ends, group (from 1, 0 for none), posterior mean agreement with its interval, and MLE.

        If edges may be absent, the inclusion replaces the MLE; the agreement of an edge that never existed is NaN. If
        the rows say nothing of some edges, a column "evidence" names these.
        """
        import pandas as pd

        mean, low, high = self._agreement
        table = {"group": self.groups + 1, "agreement": mean, "lower": low, "upper": high}
        if (silent := not_identified(self.tree)).any():
            table["evidence"] = np.where(silent, NOT_IDENTIFIED, "").astype(object)
        if self.spike:
            return pd.DataFrame(self.named_ends | {"inclusion": self.inclusion} | table)
        return pd.DataFrame(self.named_ends | table | {"mle": self.agreement_at(self["constant_data"]["mle"].values)})

    @property
    def mle_name(self) -> str:
        """The name of the estimate that ignores groups."""
        method = str(self.attrs.get("mle_method"))
        name = "posterior mode" if method.startswith("posterior mode") else "maximum likelihood"
        name += f" of {COMPLETE_PAIRS}" if method.endswith(COMPLETE_PAIRS) else ""
        return f"{name} ({NOT_CONVERGED})" if NOT_CONVERGED in method else name

    @property
    def strongest(self) -> pd.DataFrame:
        """The edges that are shown, by decreasing distance of their agreement from 0.5."""
        return self.likely.sort_values("agreement", key=lambda a: -(a - 0.5).abs(), kind="stable")

    @property
    def by_group(self) -> pd.DataFrame:
        """The edges that are shown, by group and decreasing agreement."""
        return self.likely.sort_values(["group", "agreement"], ascending=[True, False], kind="stable")

    @cached_property
    def group_table(self) -> pd.DataFrame:
        """Groups of the point partition, by decreasing agreement: number of edges, agreement with 90 % interval.

        The agreement of a group in one draw is the mean over its edges that exist in it.
        """
        exists = self.stacked("included") != 0 if self.spike else None
        return _levels("agreement", self.stacked("agreement"), self.groups, self.tails, exists)

    @cached_property
    def ball(self) -> partitions.CredibleBall:
        """The 95 % credible ball around the point partition of the edges that are shown."""
        return partitions.credible_ball(self.label_draws, self.groups[self.shown])

    @cached_property
    def ball_table(self) -> pd.DataFrame:
        """The point partition and the bounds of its credible ball: groups, distance in nats, sizes of the groups.

        If several draws are bounds of one kind, the first is shown.
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
        """How far the draws are from the point partition."""
        fewest, most = self.ball_table["groups"][["fewest groups", "most groups"]]
        number = f"{fewest} to {most}" if fewest < most else f"{fewest}"
        mean = partitions.expected_vi(self.groups[self.shown], self.label_draws)
        absent = ", the absent edges of a draw counted as one" if self.spike else ""
        return (
            f"the {100 * self.ball.share:.0f} % credible ball around this partition has radius "
            f"{self.ball.radius:.2f} nats (variation of information, at most {np.log(len(self.shown)):.2f}; "
            f"{mean:.2f} on average) and contains partitions of {number} {'group' if most == 1 else 'groups'}{absent}"
        )

    def examples(self, group: int, most: int = 3) -> list[str]:
        """Return names of edges of a group (from 1), those closest to its agreement first, and the number of others."""
        table = self.edge_table[self.edge_table["group"] == group]
        order = (table["agreement"] - self.group_table["agreement"][group]).abs().argsort(kind="stable")
        return _first(
            (f"{shown(a)} – {shown(b)}" for a, b in rows(table[["first", "second"]].iloc[order])), len(table), most
        )

    @property
    def fields_grouped(self) -> bool:
        """Whether nodes share fields."""
        return "field_groups" in self["posterior"].coords

    @cached_property
    def field_table(self) -> pd.DataFrame:
        """Field h of each node with 90 % interval, and its group (from 1, by decreasing field) if nodes share fields.

        Nodes with many states have a field for each state but the first. Empty for a model without fields.
        """
        import pandas as pd

        first = self.n_edge_features
        draws = self.stacked("theta")[:, first:]
        low, high = intervals(draws, self.tails)
        names, mean = [str(f) for f in self["posterior"]["feature"].values[first:]], draws.mean(axis=0)
        table = {"node": names, "field": mean, "lower": low, "upper": high}
        if self.fields_grouped:
            level = mean.reshape(len(self.names), -1).mean(axis=1)
            groups = ranked(self._point("field_groups", np.arange(len(level))), level) + 1
            table["group"] = np.repeat(groups, len(mean) // len(level))
        return pd.DataFrame(table)

    @cached_property
    def field_group_table(self) -> pd.DataFrame:
        """Groups of nodes that share a field, by decreasing field: number of nodes, field with 90 % interval.

        Nodes with many states have a row and a ``state`` for each state but the first.
        """
        import pandas as pd

        draws = self.stacked("theta")[:, self.n_edge_features :]
        p = draws.shape[1] // len(self.names)
        groups = self.field_table["group"].to_numpy()[::p] - 1
        tables = [_levels("field", draws[:, k::p], groups, self.tails) for k in range(p)]
        if p == 1:
            return tables[0]
        table = pd.concat([t.assign(state=level) for t, level in zip(tables, self.levels[1:], strict=True)])
        return table.sort_index(kind="stable")

    def field_examples(self, group: int, most: int = 6) -> list[str]:
        """Return names of nodes of a group (from 1), and the number of others."""
        p = len(self.field_table) // len(self.names)
        members = np.flatnonzero(self.field_table["group"].to_numpy()[::p] == group)
        return _first((shown(self.names[i]) for i in members), len(members), most)

    @property
    def field_groups_sentence(self) -> str:
        """Number of groups of node fields, and of groups of their point partition."""
        labels = np.sort(self.stacked("field_groups"), axis=1)
        shown = count(int(self.field_table["group"].max()), "group")
        return f"{_of_groups((np.diff(labels, axis=1) != 0).sum(axis=1) + 1)}; {shown} in the partition shown"

    @cached_property
    def n_groups(self) -> pd.Series:
        """Posterior probability of each number of groups."""
        import pandas as pd

        number, count = np.unique(self.stacked("n_groups"), return_counts=True)
        return pd.Series(count / count.sum(), index=pd.Index(number, name="n_groups"), name="probability")

    @property
    def headline(self) -> str:
        """The number of groups."""
        return f"Number of groups: {self.n_groups_sentence}"

    def trace(self) -> tuple[str, xr.DataArray]:
        """Return what the number of groups is called, and its draws."""
        return "number of groups", self["posterior"]["n_groups"]

    @property
    def n_groups_sentence(self) -> str:
        """Mean, mode and 90 % interval of the number of groups."""
        return _of_groups(self.stacked("n_groups"))

    @property
    def row(self) -> MethodRow | None:
        """The row of the method in the registry of its estimator."""
        return GROUPS.find(str(self.attrs.get("method")))

    @property
    def data_sentence(self) -> str:
        """Size of data and graph, whether edges may be absent, and whether nodes have fields."""
        states = f" with {len(self.levels)} states" if self.levels else ""
        more = f", {self.model_clause}" if self.has_named_nodes else self.missing_clause
        edges = count(self.n_edges, "candidate edge" if self.spike else "edge")
        with_or_without = "with" if self.attrs.get("fields") in (True, 1) else "without"
        fields = "node fields in groups" if self.fields_grouped else f"{with_or_without} node fields"
        return f"{self.size} of {count(len(self.names), 'node')}{states}, {edges}, {fields}{more}"

    @property
    def has_named_nodes(self) -> bool:
        """Whether the parameters of nodes have the name of the model, as edges do not share an agreement or a table."""
        return self.family is None or self.family.shared == "weight"

    @property
    def printed_options(self) -> dict[str, str]:
        """None: they are on the page."""
        return {}

    @property
    def prior_options(self) -> dict[str, str]:
        """The Dirichlet process, and the prior of the density."""
        a = self.attrs
        chosen = {"alpha": "concentration alpha", "base": "base distribution Beta(a, b)"}
        chosen |= {"prior_scale": "scale (or covariance) of the normal base distribution"}
        options = {label: ", ".join(map(str, plain(a[k]))) for k, label in chosen.items() if k in a}
        prior = {"prior of the density": prior_of_density(plain(a["density"]))} if self.spike and "density" in a else {}
        return options | prior


def ranked(groups: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Relabel groups 0..k-1 by decreasing mean ``level`` of their members."""
    mean = np.bincount(groups, weights=level) / np.bincount(groups)
    rank = np.empty(len(mean), dtype=np.int64)
    rank[np.argsort(-mean, kind="stable")] = np.arange(len(mean))
    return rank[groups]


def _levels(
    name: str, draws: np.ndarray, groups: np.ndarray, tails: tuple[float, float], included: np.ndarray | None = None
) -> pd.DataFrame:
    """Compute, for each group, the size, and mean and interval of ``draws`` over its members that exist."""
    import pandas as pd

    sizes = np.bincount(groups[groups >= 0])
    levels = np.empty((len(sizes), 3))
    for k in range(len(sizes)):
        level = mean_of_existing(draws[:, groups == k], None if included is None else included[:, groups == k])
        levels[k] = level.mean(), *np.quantile(level, tails)
    table = pd.DataFrame(levels, columns=[name, "lower", "upper"], index=pd.RangeIndex(1, len(sizes) + 1, name="group"))
    table.insert(0, "size", sizes)
    return table


def _first(names: Iterable[str], number: int, most: int) -> list[str]:
    """List the first of a number of names, and the number of others."""
    most += number == most + 1  # "1 more" would take as much room as the name
    named = list(islice(names, most))
    return [*named, f"{number - most} more"] if number > most else named


def _of_groups(draws: np.ndarray) -> str:
    """Describe draws of a number of groups: mean, mode and 90 % interval."""
    low, high = np.quantile(draws, INTERVAL, method="inverted_cdf")
    number, times = np.unique(draws, return_counts=True)
    return (
        f"{draws.mean():.2f} on average; most probable {number[times.argmax()]} (probability "
        f"{times.max() / len(draws):.2f}); 90 % interval {low:g} to {high:g}"
    )
