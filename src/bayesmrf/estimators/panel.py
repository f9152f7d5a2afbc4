"""Which items follow which in time: posterior of lagged and contemporaneous edges of a panel or a series."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..data.chosen_model import choose
from ..data.frames import column_names, in_pandas, is_frame, record_columns
from ..data.read import read
from ..data.states import States, levels_of
from ..data.transitions import Transitions, transitions, without_order
from ..data.waves_side_by_side import refuse_waves
from ..declare.option import check_params
from ..errors import DataError, OptionError, TransitionsWarning, argument
from ..families import AUTO, FAMILIES, Boltzmann
from ..findings import FAIR, tell
from ..graphs import Graph
from ..models.panel import Panel
from ..parameters import PanelParameters
from ..posterior.conditionals.panel_hidden import PanelHidden
from ..posterior.edges.panel_edges import PanelKernel
from ..priors import inclusion_of
from ..progress import announced
from ..results.blocks import Columns, variable
from ..results.edge_evidence import FIELD, add_recorded_evidence
from ..results.median_model import in_median_model
from ..results.stored import Kept
from ..runs.run import Draws
from ..states.panel_tables import panel_tables
from ..types import Column, Rows
from .edge_evidence import evidence_table
from .edge_prior import as_attribute, default_prior, warn_of_taper
from .estimator import begin
from .fitted_columns import type_table
from .panel_checks import checks_of
from .panel_predictive import PanelPredictive
from .pipeline import Sampled, Setup
from .predictive_checks import Checked
from .rarely_observed import silent_edges

if TYPE_CHECKING:
    import networkx as nx
    import xarray as xr

_MOST, _FAST = (
    2**23,
    2**19,
)  # probabilities of states that a chain keeps, 64 MiB, and those beyond which chains are faster
_EACH, _IN_ALL, _MOST_CHAINS = (
    32,
    2**13,
    2**27,
)  # chains of a transition, of all, and chains times items, at least and most
_OF_EVIDENCE = ("log_factor", "prior_log_odds")
_OF_INTERCEPTS = ("intercept_sd", "intercept_slope", "intercept_root")


class _Transitional(NamedTuple):
    """The model, and which rows follow each other: the place of a likelihood."""

    model: Panel
    transitions: Transitions


@dataclass(eq=False, repr=False)
class PanelMRF(PanelParameters, PanelPredictive, Sampled, BaseEstimator):
    r"""Posterior over lagged edges, and edges within a wave, of waves of the same people or of one series.

    Each row depends on the row of the wave before it:

    .. math:: p(x_t \mid x_{t-1}) \propto \exp\Big(\sum_{ji} x_{t-1,j} B_{ji} x_{ti} + \sum_{u < v} W_{uv} x_{tu} x_{tv}
              + \sum_i \mu_i(x_{ti}) + \sum_i a_i x_{ti}\Big),

    with scores 0, 1 of yes/no items and 0, 1, 2, ... of ordered ones. Lagged weights B are directed, with
    autoregression on the diagonal. Each edge is absent with probability 1 - p0, and has a weight from the slab
    otherwise. Autoregressions, other lagged edges and edges within a wave have each a p0 of their own.

    Without ``within`` draws are from the posterior itself: an item is a logistic term given the row before (with
    adjacent categories, if it is ordered), and there is no Z. With it there is a Z for each distinct row before, which
    ``method`` computes.

    Parameters
    ----------
    prior : "spike-slab" or `priors.SpikeSlab`
        As in `SpikeSlabMRF`; by default each density is uniform, and weights are Cauchy of scale 1.
    within : bool
        Whether items of a wave have edges, too.
    intercepts : {"common", "own"}
        "own": each person has an intercept a_i of each item, as far as it is not explained by the first wave:
        :math:`a \mid x_1 \sim N(G (x_1 - \bar x_1), S)`. People who differ for good look like lagged weights where
        intercepts are common; intercepts that were independent of the first wave would leave a part of this. They are
        drawn with the parameters, so that a step takes longer; there should be four waves or more.
    model : {"auto", "boltzmann", "ordinal"}
        boltzmann: yes/no items; ordinal: ordered ones. "auto" chooses by the levels.
    method : {"auto", "exact", "chains"}
        How each Z is followed if items of a wave have edges. exact: by the probabilities of all states of a row, for
        about twelve yes/no items and some hundred distinct rows. chains: by averages over persistent chains of each
        distinct row before, 32 or more for each of its transitions, whose noise each step allows for; for any number of
        items. "auto": exact where its tables are small.
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, executor, progress, checkpoint, columns
        As in `GroupedMRF`.

    Attributes
    ----------
    lagged_inclusion_ : (n_items, n_items) array
        Probability that an edge from the item of the row at one wave to that of the column at the next exists.
    within_inclusion_ : (n_items, n_items) array
        The same of edges within a wave; symmetric, 0 without ``within``.
    lagged_weights_, within_weights_ : (n_items, n_items) array
        Posterior means of weights given that the edge exists; 0 if it never does.
    lagged_graph_ : networkx.DiGraph
        Lagged edges with inclusion above 0.5, loops among them, with attributes ``inclusion`` and ``weight``.
    within_graph_ : networkx.Graph
        The same within a wave.
    theta_ : (n_features,) array
        Posterior means of all parameters, 0 where absent.
    transitions_ : `bayesmrf.data.transitions.Transitions`
        Which rows were taken as following each other. Of a stored run there are only the numbers, in
        ``table("transitions")``.
    model_ : str
        "boltzmann" or "ordinal".
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    """

    evidence_table = evidence_table

    def fit(self, X: Rows, person: Column = None, wave: Column = None, day: Column = None) -> PanelMRF:
        """Sample the posterior.

        Rows follow each other if they are of one person and their waves have the least distance that two successive
        waves of any person have: lags never go from one person to another, over a night (if days are given), or over a
        missing wave. A finding says how many transitions are left out. People may be asked on different days; if the
        distance of their waves varies, number the waves of each person 1, 2, 3, .... Missing answers are drawn with the
        parameters, given the rows before and after; those of first waves have the shares of the answers of the item as
        their prior, and own intercepts take the mean of the item in their place. Where Z is followed by chains,
        transitions with missing answers are left out instead.

        Parameters
        ----------
        X : (n_samples, n_items) array or DataFrame
            A long table with a row for each person and wave; yes/no or ordered items, as in `SpikeSlabMRF`.
        person : str or (n_samples,) sequence, optional
            The column of X with the person (or series) of each row, or its values; None if all rows are one series.
        wave : str or (n_samples,) sequence, optional
            The column of X with the number of the wave, or a date or time such as 2024-03-01 09:00 (the most frequent
            distance is a step), or its values; None if the rows of a person follow each other.
        day : str or (n_samples,) sequence, optional
            The column of X with the day, or session, of the row, or its values: lags stay within a day, and waves may
            begin again each day.

        Raises
        ------
        DataError, OptionError, StoreError
            If an option, the data or the checkpoint is not valid.

        Warns
        -----
        BayesMRFWarning
            Of every doubt about the result. ``table("findings")`` lists them.
        """
        fitted: PanelMRF = self._fit(X, person, wave, day)
        return fitted

    def check(self, X: Rows, person: Column = None, wave: Column = None, day: Column = None) -> None:
        """Raise the errors that `fit` raises before its first draw; as by `fit`, a former fit is forgotten."""
        self._prepare(X, person, wave, day)

    def _tree(self, setup: Setup, draws: Draws) -> xr.DataTree:
        left_out = {*_OF_EVIDENCE} | ({*_OF_INTERCEPTS} if self._settings.intercepts == "common" else set())
        left_out |= set() if self._settings.within else {"within_density"}
        left_out |= {"log_likelihood"} if setup.method == "chains" else set()
        fields = {name: v for name, v in draws.fields.items() if name not in left_out}
        tree = super()._tree(setup, replace(draws, fields=fields))
        add_recorded_evidence(tree, *(draws.values[name] for name in _OF_EVIDENCE))
        return tree

    def _doubt(self, setup: Setup, draws: Draws, has_converged: bool) -> None:
        warn_of_taper(self._object("prior").slab)

    def _prepare(self, X: Any, person: Any, wave: Any, day: Any = None) -> Setup:
        with announced("reading and checking the table", self.progress):
            return self._understand(X, person, wave, day)

    def _understand(self, X: Any, person: Any, wave: Any, day: Any) -> Setup:
        check_params(self)
        begin(self)
        density = self._object("prior").density
        if not inclusion_of(density).has_one_p0:
            expected = "a prior whose density is a number or a Beta, of all edges of a kind"
            raise OptionError(option="prior", got=type(density).__name__, expected=expected)
        X, order = without_order(X, person, wave, day)
        if is_frame(X):
            refuse_waves(list(map(str, column_names(in_pandas(X)))))
        chooses = self._settings.model == AUTO
        X = type_table(self, X, () if chooses else self._family(self._settings.model).takes, of_panel=True).table
        name = choose(X, None, "boltzmann", ("boltzmann", "ordinal")) if chooses else self._settings.model
        states = read(X, None, self._family(name), missing=True)
        record_columns(self, X, len(states.names))
        self.model_, self._names, self._coding = name, states.names, states.coding
        if len(states.names) < 2:
            raise DataError(f"{argument('X')} must have at least two items, got {len(states.names)}.")
        model, order = self._panel(), order.at(states.given_rows)
        self._graph = Graph(model.n_nodes, model.pairs, model.names)
        steps = transitions(states.values, order, complete=True)
        n_chains = self._chains_of(model, states.values, steps)
        if n_chains and steps.n_missing:
            steps = transitions(states.values, order)
            n_chains = self._chains_of(model, states.values, steps) or _EACH
        if steps.n_left_out:
            severity = FAIR if steps.is_mostly_left_out else None
            tell(f"{steps.said[0].upper()}{steps.said[1:]}.", TransitionsWarning, severity)
        self.transitions_ = steps.in_table(states.given_rows)
        people, person_of = np.unique(steps.person, return_inverse=True)
        is_own = self._settings.intercepts == "own"
        if is_own and len(people) < 2:
            expected = f"'common' for one series; or give {argument('person')}"
            raise OptionError(option="intercepts", got=self._settings.intercepts, expected=expected)
        scores = states.values.astype(float)
        first = np.zeros((0, model.n_nodes))
        if is_own:
            first = scores[steps.first[people]]
            is_missing = first < 0
            mean = np.where(is_missing, 0, first).sum(axis=0) / np.maximum((~is_missing).sum(axis=0), 1)
            self._first_mean = mean
            first = np.where(is_missing, 0.0, first - mean)
        values = np.maximum(states.values, 0).astype(int)
        person = person_of if is_own else None
        tables = panel_tables(model, values[steps.before], values[steps.after], person, with_states=not n_chains)
        hidden = PanelHidden.of(states.values, model.sizes, steps.before, steps.after, person_of)
        kernel = PanelKernel(tables, first, self._object("prior"), n_chains, hidden, model)
        is_silent = silent_edges(states, steps, model)
        return Setup(
            [states],
            _Transitional(model, steps),
            kernel,
            "chains" if n_chains else "exact",
            self._attrs(states, steps, kernel),
            0,
            constant={FIELD: is_silent} if is_silent.any() else {},
            observed={"n_samples": len(steps.before)},
            check=_check,
        )

    def _chains_of(self, model: Panel, values: np.ndarray, steps: Transitions) -> int:
        """Choose the number of chains for each transition; 0 if Z is exact."""
        if not self._settings.within:
            if self._settings.method == "chains":
                raise OptionError(option="method", got="chains", expected="'auto' or 'exact' without within=True")
            return 0
        n, before = len(steps.before), values[steps.before]
        is_each = self._settings.intercepts == "own" or steps.n_missing  # a row of its own
        n_rows = n if is_each else len(np.unique(before, axis=0))
        size = n_rows * model.n_states
        if self._settings.method == "exact" and size > _MOST:
            expected = (
                f"'auto' or 'chains' where {n_rows:,} distinct rows before times {size / n_rows:,.0f} states of a row "
                f"are more than {_MOST:,}"
            )
            raise OptionError(option="method", got="exact", expected=expected)
        if self._settings.method == "exact" or (self._settings.method == AUTO and size <= _FAST):
            return 0
        each = max(_EACH, 2 * -(-_IN_ALL // (2 * n)))
        if each * n * model.n_nodes > _MOST_CHAINS:
            raise OptionError(
                option="within",
                got=True,
                expected=f"False where {each} chains for each of {n:,} transitions of {model.n_nodes} items are more "
                f"than {_MOST_CHAINS:,} answers",
                remedy="leave out items or people, or use within=False",
            )
        return each

    @staticmethod
    def _family(name: str) -> Any:
        return FAMILIES.row(name).options()

    def _object(self, name: str) -> Any:
        """Return the value of a parameter as an object."""
        if name == "prior" and isinstance(self._settings.prior, str):
            return default_prior(Boltzmann())
        return super()._object(name)

    def _panel(self) -> Panel:
        levels = [tuple(map(str, levels_of(self._coding, i))) for i in range(len(self._names))]
        return Panel(self._names, tuple(map(len, levels)), bool(self._settings.within), tuple(levels))

    def _attrs(self, states: States, steps: Transitions, kernel: PanelKernel) -> dict[str, Any]:
        t, cells = kernel.tables, b"" if kernel.hidden is None else kernel.hidden.cells.tobytes()
        data = t.counts.tobytes() + t.before.tobytes() + kernel.first_wave.tobytes() + cells
        return {
            "model": Panel.name,
            "items": self.model_,
            "method": "chains" if kernel.n_row_chains else "exact",
            "kind": "approximate (moments from persistent chains)" if kernel.n_row_chains else "exact",
            "n_chains_of_transition": kernel.n_row_chains,
            "prior": as_attribute(kernel.prior),
            "intercepts": self._settings.intercepts,
            "within": int(self._settings.within),
            "sizes": t.sizes.tolist(),
            "transitions": {"rows": len(states.values), **steps.numbers},
            "first_mean": self._first_mean.tolist() if self._settings.intercepts == "own" else [],
            "data_hash": hashlib.sha256(data).hexdigest(),
        }

    def _follow(self, tree: xr.DataTree, kept: Kept) -> None:
        self._graph, self.model_ = kept.graph, tree.attrs["items"]
        self._first_mean = np.array(json.loads(tree.attrs["first_mean"]))

    def _summarise(self) -> None:
        """Set the attributes that sum up the tree, and depend on it alone."""
        model, d = self._panel(), len(self._names)
        self.theta_ = Columns(variable(self.posterior_, "theta")).means()
        share = Columns(variable(self.posterior_, "included")).means()
        weights = self.theta_[: model.n_edges] / np.where(share > 0, share, 1)
        self.lagged_inclusion_, self.lagged_weights_ = (v[: d * d].reshape(d, d) for v in (share, weights))
        self.within_inclusion_, self.within_weights_ = (self._symmetric(v[d * d :]) for v in (share, weights))

    def _symmetric(self, values: np.ndarray) -> np.ndarray:
        matrix = np.zeros((len(self._names), len(self._names)))
        u, v = self._graph.edges.T
        matrix[u, v] = matrix[v, u] = values
        return matrix

    @property
    def lagged_graph_(self) -> nx.DiGraph:
        """Lagged edges with an inclusion above 0.5; see the class."""
        import networkx as nx

        return self._network(nx.DiGraph(), self.lagged_inclusion_, self.lagged_weights_)

    @property
    def within_graph_(self) -> nx.Graph:
        """Edges within a wave with an inclusion above 0.5; see the class."""
        import networkx as nx

        return self._network(nx.Graph(), self.within_inclusion_, self.within_weights_)

    def _network(self, graph: Any, inclusion: np.ndarray, weights: np.ndarray) -> Any:
        check_is_fitted(self)
        graph.add_nodes_from(self._names)
        for u, v in np.argwhere(in_median_model(inclusion)):
            about = {"inclusion": float(inclusion[u, v]), "weight": float(weights[u, v])}
            graph.add_edge(self._names[u], self._names[v], **about)
        return graph


def _check(estimator: PanelMRF, setup: Setup, rng: np.random.Generator) -> Checked | None:
    """Compare the transitions of whole rows with those that the posterior predicts, if there are any."""
    (states,), steps = setup.parts, setup.likelihood.transitions.of_whole(setup.parts[0].values)
    return checks_of(estimator, states.values, steps, rng) if len(steps.before) else None
