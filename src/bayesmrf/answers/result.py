"""What an answer may know of a fit: `Result`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..graphs import Graph
from ..results.fitted_model import model_on

if TYPE_CHECKING:
    import xarray as xr


class Priors(Protocol):
    """The priors of a fit, as they were then."""

    @property
    def of_edges(self) -> Any:
        """The prior of which edges exist and of their weights, with probabilities of pairs in the order of nodes."""

    def under(self, prior: Any) -> dict[str, Any]:
        """Return the parameters of an estimator that differs in the prior of its edges alone."""

    def draw(self, edges: np.ndarray, sizes: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw the parameters of edges that have ``sizes`` of them, (n_draws, n_groups, n); None without draws."""

    def absent(self, edges: Sequence[int]) -> float | None:
        """Return the prior probability that edges are all absent; None where it is not known exactly."""

    def alike(self, edge: int, is_signed: bool) -> float | None:
        """Return the prior probability that an edge has the same number in two groups; None if it is not known."""

    def are_exchangeable(self, edges: Sequence[int]) -> bool:
        """Return whether edges of one size can change places in the prior."""

    def log_terms(self, tree: xr.DataTree) -> dict[str, np.ndarray]:
        """Return the log prior of each draw, term by term."""


@dataclass(frozen=True, eq=False)
class Result:
    """What an answer may know of a fit; parameters that are set after the fit have no say in it.

    Parameters
    ----------
    tree : xarray.DataTree
        ``posterior_``.
    graph : Graph
    family : object of `bayesmrf.families`
    coding : Coding
        Of the data.
    fields : bool
        Whether nodes have parameters.
    labels : sequence
        Of groups of people, if there are several.
    make_priors : callable
        Makes the priors on first use: a stored run without its model has answers that need none.
    """

    tree: xr.DataTree
    graph: Graph
    family: Any
    coding: Any
    fields: bool
    labels: Sequence[Any]
    make_priors: Callable[[], Priors]

    @cached_property
    def priors(self) -> Priors:
        """The priors as they were at the fit."""
        return self.make_priors()

    @cached_property
    def model(self) -> Any:
        """The model on the graph of the data."""
        return self.model_on(self.graph)

    def model_on(self, graph: Graph) -> Any:
        """Return the model on a graph."""
        return model_on(graph, self.family, self.coding, self.fields)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of chains, and of draws of each."""
        sizes: Mapping[Any, int] = self.tree["posterior"].sizes
        return sizes["chain"], sizes["draw"]
