"""Base of all summaries: data, run, convergence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ...declare.option import options_of
from ...errors import OptionError
from ...families import FAMILIES, FamilyRow
from ...names import shown
from ...runs.run import TIMES
from .. import convergence
from ..blocks import Columns, stacked, variable
from ..display import display_in
from ..fitted_model import fitted_model
from ..intervals import central, intervals
from ..judged_series import evidence_of
from ..statistics import NetworkStatistics
from ..surveyed import SURVEYED
from .kind import Kind

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ...methods.rows import MethodRow
    from ...models.display import ParameterDisplay
    from ..edge_evidence import Evidence

INTERVAL = (0.05, 0.95)  # ends of the 90 % interval of sentences and pictures
_MISSING = 5  # missing values that are named in a sentence


class Terms(NamedTuple):
    """Names of the parameters of a model, and their meaning."""

    edge: str
    node: str
    meaning: str


_OTHER_TERMS = Terms("edge parameter", "node parameter", "Parameters are natural parameters of the model.")


@dataclass(frozen=True, eq=False)
class Summary(Kind):
    """Tables and sentences about a posterior.

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_`` of an estimator, or a result of `bayesmrf.results.load`.
    probability : float
        Of the central intervals in tables; those in sentences are 90 % intervals.
    """

    tree: xr.DataTree
    probability: float = 0.9
    parameters: ClassVar[type]  # of the estimator

    def __getitem__(self, group: str) -> Any:
        """Return a group of the tree: "posterior", "constant_data", ..."""
        return self.tree[group]

    @property
    def tails(self) -> tuple[float, float]:
        """Quantile levels of the ends of intervals in tables."""
        return central(self.probability)

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the run: options, seed, versions, data."""
        return {str(k): v for k, v in self.tree.attrs.items()}

    @property
    def terms(self) -> Terms:
        """Names of the parameters."""
        row = self.family
        return Terms(row.edge, row.node, row.meaning + self.neutral_clause) if row else _OTHER_TERMS

    @property
    def family(self) -> FamilyRow | None:
        """The row of the model; None of a user's own model."""
        return FAMILIES.find(str(self.attrs.get("model")))

    @cached_property
    def display(self) -> ParameterDisplay:
        """What is shown of the parameters of edges and nodes."""
        return display_in(self.tree)

    @cached_property
    def statistics(self) -> NetworkStatistics:
        """Draws of the statistics of nodes and networks."""
        return NetworkStatistics(self.tree, fitted=fitted_model(self.tree))

    @property
    def neutral_clause(self) -> str:
        """The meaning of the parameters of columns with a neutral category, if any, as a further sentence."""
        has_neutral = any(str(name).endswith(":linear") for name in self["posterior"]["feature"].values)
        return self.family.neutral if self.family and has_neutral else ""

    @cached_property
    def names(self) -> list[str]:
        """Names of the nodes, as they are shown."""
        return [shown(n) for n in self["constant_data"]["node"].values]

    @cached_property
    def nodes(self) -> np.ndarray:
        """Names of the nodes, as they are in the data."""
        return np.array([str(n) for n in self["constant_data"]["node"].values], dtype=object)

    @cached_property
    def ends(self) -> np.ndarray:
        """Ends (n_edges, 2) of the edges."""
        return self["constant_data"]["edges"].values

    @property
    def n_edges(self) -> int:
        """Number of edges r."""
        return len(self.ends)

    @property
    def drawn(self) -> np.ndarray:
        """Ends (n, 2) of the edges in a plot of the network."""
        return self.ends

    @property
    def edge_labels(self) -> list[tuple[str, str]]:
        """Names of the two ends of each edge."""
        return [(self.names[u], self.names[v]) for u, v in self.ends]

    @property
    def named_ends(self) -> dict[str, np.ndarray]:
        """Names of the two ends of each edge, as columns of a table."""
        return {"first": self.nodes[self.ends[:, 0]], "second": self.nodes[self.ends[:, 1]]}

    @property
    def n_draws(self) -> int:
        """Number of draws of all chains together."""
        sizes = self["posterior"].sizes
        return sizes["chain"] * sizes["draw"]

    def stacked(self, name: str) -> np.ndarray:
        """Return the draws of one variable, chains joined: (n_draws, ...)."""
        return stacked(self["posterior"][name].values)

    def trace_of(self, feature: str) -> xr.DataArray:
        """Return the draws of one parameter.

        Raises
        ------
        OptionError
            If there is no such parameter.
        """
        drawn = self["posterior"][self.drawn_as]
        if feature not in drawn[drawn.dims[-1]].values:
            raise OptionError(f"feature must be a parameter of the posterior; it has no parameter {feature!r}.")
        return drawn.sel({drawn.dims[-1]: feature})

    def columns(self, name: str, start: int = 0, stop: int | None = None) -> Columns:
        """Return entries ``start`` to ``stop`` of one variable, which are read in blocks."""
        return Columns(variable(self.tree, name), start, stop)

    def edge_columns(self, function: Callable[..., Any] | None = None) -> Columns:
        """Return the one number of each edge that is shown, which are read in blocks."""
        return Columns(variable(self.tree, "theta"), 0, self.n_edges, function, self.display)

    @cached_property
    def node_draws(self) -> tuple[np.ndarray, list[str]]:
        """Parameters of nodes in each draw (n_chains, n_draws, ..., n), as they are shown, and their names."""
        draws = self["posterior"]["theta"].variable[..., int(self.display.edge_starts[-1]) :].values
        return self.display.shown_nodes(draws), self.display.shown_node_names

    def interval_table(self, draws: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
        """Return name, mean and ends of the interval of the last axis of draws (n_chains, n_draws, n)."""
        import pandas as pd

        values = stacked(draws)
        low, high = intervals(values, self.tails)
        return pd.DataFrame({"node": names, "mean": values.mean(axis=0), "lower": low, "upper": high})

    @cached_property
    def missing_table(self) -> pd.DataFrame:
        """Missing values: row (from 0), node, state, and the probability of that state (of two states, the second).

        Empty if nothing was missing.
        """
        import pandas as pd

        names = ("row", "node", "state", "probability")
        if "posterior_predictive" not in self.tree.children:
            return pd.DataFrame({name: [] for name in names})
        data = self["posterior_predictive"].to_dataset()
        return pd.DataFrame({name: data[name].values if name in data else 1 for name in names})

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return len(self.missing_table[["row", "node"]].drop_duplicates())

    @property
    def missing_sentence(self) -> str:
        """The number of missing values, and the first of their probabilities."""
        table = self.missing_table
        examples = "; ".join(
            f"row {int(m.row) + 1} {shown(m.node)}={m.state} {m.probability:.2f}" for m in rows(table.iloc[:_MISSING])
        )
        more = "; ..." if len(table) > _MISSING else ""
        return f"{count(self.n_missing, 'missing value')}, with probability: {examples}{more}"

    @property
    def missing_clause(self) -> str:
        """The number of missing values, if any, as the end of a sentence."""
        return f"; {count(self.n_missing, 'missing value')}" if self.n_missing else ""

    @cached_property
    def diagnostics(self) -> pd.DataFrame:
        """R-hat and effective sample sizes of every scalar that varies; the worst edges and parameters first."""
        return self.of_edges.drop(columns="edge").dropna(subset=["ess_bulk"])

    @cached_property
    def of_edges(self) -> pd.DataFrame:
        """`diagnostics` with those that are constant, and with the edge of each weight."""
        return convergence.of_edges(self.tree, self.found_evidence)

    @cached_property
    def found_evidence(self) -> Evidence | None:
        """Bayes factors of edges, or differences; None if there are none."""
        return evidence_of(self.tree)

    @cached_property
    def verdict(self) -> convergence.Verdict:
        """Whether the chains have converged: "good", "fair" or "bad", and a sentence that says why."""
        return convergence.verdict(self.tree, self.of_edges, self.found_evidence)

    @property
    def kind(self) -> str:
        """Whether the stationary distribution of the chains is the posterior, in the words of the estimator."""
        return str(self.attrs.get("kind", "unknown"))

    @property
    def row(self) -> MethodRow | None:
        """The row of the method in the registry of its estimator; None for kernels."""
        return None

    @property
    def method_options(self) -> dict[str, Any]:
        """Options of the method that have a label, by label, as they were stored; without those that were not used."""
        declared = options_of(self.row.options) if self.row else {}
        stored = {
            option.label: plain(self.attrs.get(name, "null"))[0] for name, option in declared.items() if option.label
        }
        return {label: value for label, value in stored.items() if value is not None}

    @property
    def reason(self) -> str:
        """Why draws are approximate."""
        return self.row.reason if self.row else ""

    @property
    def kind_sentence(self) -> str:
        """Whether the draws are from the posterior itself, and why."""
        exact = "only Monte Carlo error remains"
        reason = exact if self.kind.startswith("exact") else self.reason
        return f"{self.kind}: {reason}" if reason else self.kind

    @property
    def model_clause(self) -> str:
        """The model and whether data chose it, levels that are yes, and missing values, as the end of a sentence."""
        name, rule = self.attrs.get("model", "unknown"), self.attrs.get("binarize")
        is_chosen = self.family and self.family.chosen_by and self.attrs.get("chosen_model")
        chosen = f" (chosen by {self.family.chosen_by})" if self.family and is_chosen else ""
        yes = f"; levels {rule} count as yes" if rule else ""
        return f"model {name}{chosen}{yes}{self.missing_clause}"

    @property
    def size(self) -> str:
        """Number of observations; with weights of a survey, of rows, and the effective one."""
        n = self["observed_data"].attrs["n_samples"]
        if SURVEYED in self.attrs:
            return f"{count(int(self.attrs[SURVEYED]), 'row')} with survey weights (effective sample size {n:,.1f})"
        return count(round(n), "observation")

    @property
    def data_sentence(self) -> str:
        """Size of data and graph, the model, which levels count as yes, and how many values were missing."""
        edges = count(self.n_edges, self.edge_noun)
        return f"{self.size} of {count(len(self.names), 'node')}, {edges}, {self.model_clause}"

    @property
    def draws_sentence(self) -> str:
        """Size of the run."""
        sizes, a = self["posterior"].sizes, self.attrs
        thin = f", one of {a['thin']} steps kept" if a.get("thin", 1) != 1 else ""
        cut = "" if a.get("complete", True) else " (the run was stopped before its end)"
        size = f"{count(sizes['chain'], 'chain')} of {count(sizes['draw'], 'draw')}"
        until = "" if "short" not in a or cut else " (the most)" if a["short"] else " (until good)"
        return f"{size}{until} after {count(a.get('n_warmup', 0), 'step')} of warm-up{thin}{cut}"

    @property
    def time_sentence(self) -> str:
        """How long the run took: all of it, and the time before, of, and after the draws."""
        times = [float(self.attrs.get(name, 0.0)) for name in (TIMES[0], "run_time", TIMES[1])]
        before, draws, after = (f"{t:,.1f} s" for t in times)
        parts = f" ({before} before the draws, {draws} of draws, {after} of checks)" if TIMES[1] in self.attrs else ""
        return f"{sum(times):,.1f} s{parts}"

    @property
    def method_sentence(self) -> str:
        """The method, and its description."""
        name = str(self.attrs.get("method", "unknown"))
        return f"{name}: {self.row.sentence}" if self.row else name

    @property
    def headline(self) -> str:
        """The answer in one sentence, without a full stop; "" where there is none."""
        return ""

    @property
    def parameter_options(self) -> dict[str, str]:
        """Parameters of the estimator that have a label, by label."""
        labels = {name: option.label for name, option in options_of(self.parameters).items() if option.label}
        return {label: str(self.attrs[name]) for name, label in labels.items() if name in self.attrs}

    @property
    def prior_options(self) -> dict[str, str]:
        """The priors."""
        return {}

    @property
    def options(self) -> dict[str, str]:
        """The priors, and options of the estimator and of its method."""
        of_method = {label: f"{value}" for label, value in self.method_options.items()}
        return self.prior_options | self.parameter_options | of_method

    @property
    def printed_options(self) -> dict[str, str]:
        """Those that the terminal prints."""
        return self.options

    @property
    def outcome(self) -> list[str]:
        """The data, model, method and prior, the answer, and the verdict, in a line each."""
        priors = "".join(f"; {label} {value}" for label, value in self.prior_options.items())
        (_, first), *others = self.verdict.sentences
        more = f" And {count(len(others), 'more finding')}: table('findings')." if others else ""
        method = dict.fromkeys([str(self.attrs.get("method", "unknown")), self.kind])  # of which either may be "exact"
        answer = [f"{self.headline}."] if self.headline else []
        return [self.data_sentence, f"Method {', '.join(method)}{priors}", *answer, f"{first}{more}"]


def count(number: int, noun: str, many: str = "") -> str:
    """Return a number with its noun, in the singular or plural."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"


def rows(frame: pd.DataFrame) -> Iterable[Any]:
    """Iterate over the rows of a table, with a field for each column."""
    return frame.itertuples(index=False)


def plain(value: Any) -> list[Any]:
    """Return a stored attribute (a number, a text, or JSON of a list) as a list."""
    with suppress(ValueError):
        value = json.loads(value) if isinstance(value, str) else value
    return value if isinstance(value, list) else [value]


def logit_of_beta(a: float, b: float) -> str:
    """Return the prior `priors.LogisticBeta` in words."""
    return f"logit of Beta({a:g}, {b:g})"


def mean_of_existing(draws: np.ndarray, there: np.ndarray | None) -> np.ndarray:
    """Return the mean over the edges that exist, of each draw (n_draws, n_edges, ...) in which one does.

    ``there`` (n_draws, n_edges) says which exist; None if all do.
    """
    if there is None:
        return draws.mean(axis=1)
    draws, there = draws[there.any(axis=1)], there[there.any(axis=1)]
    exists = there.reshape(*there.shape, *[1] * (draws.ndim - 2))
    return np.where(exists, draws, 0).sum(axis=1) / exists.sum(axis=1)
