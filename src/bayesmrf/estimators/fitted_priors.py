"""The priors of a fit, for answers about it: draws, exact probabilities and log densities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import OptionError
from ..graphs import Graph
from ..models.bases import edge_starts
from ..models.linear_map import LinearMap
from ..models.node_features import require_invariant
from ..priors import Prior, of_parameters
from ..results.log_prior import parameter_terms, spike_slab_terms
from .edge_prior import in_order
from .prior_draws import EdgesPrior, draw_edges, draw_groups, prior_of
from .ties import n_edge_parameters, read_ties

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class GroupsPrior:
    """A prior of groups of edges, of which no probabilities are known."""

    of_edges: Any

    def under(self, prior: Any) -> dict[str, Any]:
        """Return the parameters of an estimator that differs in the prior of its edges alone."""
        return {"prior": prior}

    def draw(self, edges: np.ndarray, sizes: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray | None:
        """Return None: edges are not independent of others."""
        return None

    def absent(self, edges: Sequence[int]) -> float | None:
        """Return None: that is not known."""
        return None

    def alike(self, edge: int, is_signed: bool) -> float | None:
        """Return None: there is one network."""
        return None

    def are_exchangeable(self, edges: Sequence[int]) -> bool:
        """Return False: that is not known."""
        return False

    def log_terms(self, tree: xr.DataTree) -> dict[str, np.ndarray]:
        """Refuse: powers need terms."""
        raise OptionError("The prior of groups of edges has no terms that powers would scale; use `sensitivity`.")


@dataclass(frozen=True)
class SpikedPriors(GroupsPrior):
    """Spikes and slabs of edges; or of differences between groups of people, and of their baselines."""

    graph: Graph
    baseline: Any = None
    n_groups: int = 1

    def under(self, prior: Any) -> dict[str, Any]:
        """Return the parameters of an estimator that differs in the prior of its edges alone."""
        return {"prior": prior} | ({} if self.baseline is None else {"baseline": self.baseline})  # may be made of prior

    def _at(self, edges: Sequence[int] | np.ndarray) -> list[EdgesPrior]:
        priors = [self.of_edges] if self.baseline is None else [self.of_edges, self.baseline]
        return [prior_of(prior, self.graph, np.asarray(edges)) for prior in priors]

    def draw(self, edges: np.ndarray, sizes: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw the parameters of edges that have ``sizes`` of them, (n_draws, n_groups, n)."""
        prior, *baseline = self._at(edges)
        if baseline:
            return draw_groups(prior, baseline[0], self.n_groups, sizes, n_draws, rng)
        return draw_edges(prior, sizes, n_draws, rng)

    def absent(self, edges: Sequence[int]) -> float | None:
        """Return the prior probability that edges are all absent; None where it is not known exactly."""
        priors = self._at(edges)
        known = [p for p in (prior.all_absent for prior in priors) if p is not None]
        return float(np.prod(known)) if len(known) == len(priors) else None

    def alike(self, edge: int, is_signed: bool) -> float | None:
        """Return the prior probability that an edge has the same number in two groups; None if it is not known.

        It has if the groups do not differ. Of two groups also tables of log odds without a baseline, which are opposite
        ones, have the same strength.
        """
        same, *base = [prior.all_absent for prior in self._at([edge])]
        if same is None or is_signed or self.n_groups > 2:
            return same
        return None if base[0] is None else same + (1 - same) * base[0]

    def are_exchangeable(self, edges: Sequence[int]) -> bool:
        """Return whether edges of one size can change places in the prior."""
        return all(prior.inclusion.is_even for prior in self._at(edges))

    def log_terms(self, tree: xr.DataTree) -> dict[str, np.ndarray]:
        """Return the log prior of each draw, term by term."""
        return spike_slab_terms(tree, self.of_edges, self.baseline)


def spiked_priors(graph: Graph, prior: Any, baseline: Any = None, n_groups: int = 1) -> SpikedPriors:
    """Return priors of edges in which probabilities of pairs are in the order of the nodes."""
    return SpikedPriors(in_order(prior, graph), graph, in_order(baseline, graph), n_groups)


@dataclass(frozen=True)
class ParametersPrior(GroupsPrior):
    """A prior of parameters of edges that all exist; parameters may be tied."""

    model: Any
    ties: Any

    def draw(self, edges: np.ndarray, sizes: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw the parameters of edges; None of shared ones, and where the prior has no draws."""
        if self.ties is not None:
            return None
        prior, starts = of_parameters(parameters_prior(self.of_edges, self.model, None)), edge_starts(self.model)
        places = np.concatenate([np.arange(*starts[e : e + 2]) for e in edges])
        drawn = prior.draw_at(places, n_draws, rng)
        return None if drawn is None else drawn[:, None]

    def absent(self, edges: Sequence[int]) -> float | None:
        """Return 0, as all edges exist; None of ties, and of priors that may not be even."""
        return 0.0 if self.ties is None and of_parameters(self.of_edges).is_even else None

    def log_terms(self, tree: xr.DataTree) -> dict[str, np.ndarray]:
        """Return the log prior of each draw, of weights and of parameters of nodes."""
        return parameter_terms(tree, parameters_prior(self.of_edges, self.model, read_ties(self.ties, self.model)))


def parameters_prior(prior: Any, model: Any, curve: LinearMap | None) -> Prior:
    """Return the prior of the parameters of a model, or of those that are shared."""
    n = model.n_features if curve is None else curve.n_features
    of_all: Prior = of_parameters(prior).over(n_edge_parameters(model, curve), n)
    require_invariant(of_all, model, None if curve is None else curve.columns)
    return of_all
