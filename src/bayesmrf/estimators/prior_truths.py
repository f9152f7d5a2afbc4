"""Truths from the prior of an estimator: networks, groups of edges, and panels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from .. import families, graphs
from ..errors import OptionError
from ..families import AUTO
from ..models.bases import edge_starts
from ..models.node_features import require_invariant_biases
from ..models.panel import Panel, kinds_of
from ..posterior.edges.panel_edges import DF, SD, SLOPE
from ..priors import FIELD_SCALE, Fixed, ProperPrior, SpikeSlab, of_parameters
from .bayesian import BayesianMRF
from .compare import CompareMRF
from .fitted_priors import parameters_prior
from .grouped import GroupedMRF
from .panel import PanelMRF
from .planning import Truth, exist_or_differ, family_of
from .prior_draws import EdgesPrior, draw_edges, draw_groups, prior_of


@dataclass(frozen=True, eq=False)
class FromPrior:
    """Truths from the prior of an estimator.

    Parameters
    ----------
    estimator : SpikeSlabMRF, CompareMRF, BayesianMRF, GroupedMRF or PanelMRF
    nodes, levels : int
    groups : int
        Of people, of `CompareMRF`.
    waves : int
        Of each person, of `PanelMRF`.
    """

    estimator: Any
    nodes: int
    levels: int
    groups: int
    waves: int

    @property
    def words(self) -> str:
        """What a table has, in words."""
        of = f"{self.nodes} nodes with {self.levels} levels"
        if isinstance(self.estimator, PanelMRF):
            return f"people, each with {self.waves} waves of {of}"
        return f"rows of {of}" + (f" in {self.groups} groups" if isinstance(self.estimator, CompareMRF) else "")

    @property
    def _columns(self) -> tuple[list[str], list[tuple[int, ...]], list[bool]]:
        names = [f"x{i + 1}" for i in range(self.nodes)]
        return names, [tuple(range(self.levels))] * self.nodes, [True] * self.nodes

    def truth(self, rng: np.random.Generator) -> Truth:
        """Draw the parameters of each group of people."""
        est, graph = self.estimator, graphs.complete(self.nodes)
        if isinstance(est, PanelMRF):
            return self._panel(rng)
        # As fit names it: "auto" is chosen by the levels.
        is_agreement = isinstance(est, GroupedMRF) and self.levels == 2
        family: Any = families.Agreement() if is_agreement else family_of(self.levels)
        family = est._object("model") if est.model != AUTO else family
        has_fields = bool(est.fields) if isinstance(est, GroupedMRF) else True
        model = family.on(graph, (self.levels,) * self.nodes, has_fields)
        named, others = clone(est).set_params(model=family), {}
        if isinstance(est, BayesianMRF):
            thetas = self._prior(model).sample(1, model.n_features, rng)
        elif isinstance(est, GroupedMRF):
            values, n_groups = self._process(named).draw(model.n_edges, rng)
            fields = FIELD_SCALE * rng.standard_normal(model.n_features - model.n_edges)
            thetas, others = np.concatenate([values, fields])[None], {"n_groups": n_groups}
        else:
            prior, counts = named._object("prior"), np.diff(edge_starts(model))
            require_invariant_biases(prior, model)
            edges = prior_of(prior, graph, np.arange(graph.n_edges))
            if isinstance(est, CompareMRF):
                baseline = prior_of(named._object("baseline"), graph, np.arange(graph.n_edges))
                weights = draw_groups(edges, baseline, self.groups, counts, 1, rng)[0]
            else:
                weights = draw_edges(edges, counts, 1, rng)[0]
            thetas = np.hstack([weights, _biases(prior, (len(weights), model.n_features - weights.shape[1]), rng)])
        names, levels, _ = self._columns
        ordered = [family.are_ordered] * self.nodes
        return Truth(model, thetas, exist_or_differ(model, thetas), names, levels, ordered, others)

    def _prior(self, model: Any) -> ProperPrior:
        prior = parameters_prior(self.estimator._object("prior"), model, None)
        if not of_parameters(prior).is_proper:
            raise OptionError(option="prior", got=prior, expected="a prior that can be sampled, such as priors.Normal")
        return cast(ProperPrior, prior)

    def _process(self, named: GroupedMRF) -> Any:
        """Return the prior of groups of edges with one value."""
        request = named._request()
        if request.family.shared == "table" or request.field_prior is not None:
            option = "model" if request.field_prior is None else "fields"
            expected = "one whose edges share a number" if option == "model" else "True or False"
            raise OptionError(option=option, got=getattr(named, option), expected=f"{expected} in a calibration")
        return request.prior

    def _panel(self, rng: np.random.Generator) -> PanelTruth:
        est, d = self.estimator, self.nodes
        names, levels, ordered = self._columns
        model = Panel(tuple(names), (self.levels,) * d, bool(est.within))
        prior = est._object("prior")
        kind = kinds_of(d, len(model.pairs))  # each has a density of its own
        each = np.broadcast_to(prior.inclusion.draw(np.empty((0, 2)), 3, rng), (3, 1))[kind, 0]
        weights = draw_edges(EdgesPrior(Fixed(each), prior.slab, model.edges), np.ones(len(kind), int), 1, rng)[0]
        theta = np.hstack([weights, _biases(prior, (1, model.n_features - model.n_edges), rng)])
        others: dict[str, Any] = {}
        root = np.zeros((d, d))
        if est.intercepts == "own":
            from scipy.stats import invwishart

            inverse = rng.gamma(0.5, SD**2, d)  # of the auxiliary scales of Huang and Wand
            covariance = np.atleast_2d(invwishart.rvs(DF + d - 1, 2 * DF * np.diag(inverse), random_state=rng))
            root = np.linalg.cholesky(covariance)
            slope = SLOPE * rng.standard_normal((d, d)) @ root.T
            others = {"intercept_sd": np.sqrt(np.diag(covariance)), "intercept_slope": slope}
        return PanelTruth(model, theta, weights[0] != 0, names, levels, ordered, others, self.waves, root)


@dataclass(frozen=True, eq=False)
class PanelTruth(Truth):
    """Known lagged edges and edges within a wave.

    Parameters
    ----------
    model, thetas, exists, names, levels, ordered, others
        As of `Truth`; ``others`` has ``intercept_slope`` where people have own intercepts.
    waves : int
        Of each person.
    root : (n_nodes, n_nodes) array
        Cholesky factor of the covariance of intercepts given the first wave.
    """

    waves: int = 2
    root: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def table(self, n: int, rng: np.random.Generator) -> tuple[Any, tuple[np.ndarray, ...]]:
        """Draw waves of ``n`` people, the first one uniformly, and the person and the wave of each row."""
        rows = [np.stack([rng.integers(0, m, n) for m in self.model.sizes], axis=1)]
        intercepts: Any = rng.standard_normal((n, len(self.root))) @ self.root.T
        if "intercept_slope" in self.others:
            intercepts += (rows[0] - rows[0].mean(axis=0)) @ self.others["intercept_slope"]
        for _ in range(self.waves - 1):
            rows.append(self._after(rows[-1], intercepts, rng))
        of_rows = np.tile(np.arange(n), self.waves), np.repeat(np.arange(self.waves), n)
        return self.frame(np.concatenate(rows)), of_rows

    def _after(self, before: np.ndarray, intercepts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw the row after each one: an item at a time, or all together if they have edges within a wave."""
        model, theta, d = self.model, self.thetas[0], self.model.n_nodes
        lagged, after = before @ theta[: d * d].reshape(d, d) + intercepts, np.empty_like(before)
        for items in [np.arange(d)] if model.within else np.arange(d)[:, None]:
            states = np.indices([model.sizes[i] for i in items]).reshape(len(items), -1)
            log_weights = lagged[:, items] @ states
            for i, x in zip(items, states, strict=True):
                log_weights += np.append(0.0, theta[model.starts[i] : model.starts[i + 1]])[x]
            for w, (u, v) in zip(theta[d * d : model.n_edges], model.pairs, strict=True):
                log_weights += w * states[u] * states[v]
            after[:, items] = states[:, (log_weights + rng.gumbel(size=log_weights.shape)).argmax(axis=1)].T
        return after


def _biases(prior: SpikeSlab, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    if prior.biases is not None:
        return prior.biases.sample(*shape, rng)
    return prior.bias_scale * rng.standard_normal(shape)
