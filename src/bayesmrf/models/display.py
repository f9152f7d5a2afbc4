"""What is shown of the parameters of a model: a number of each edge, whether it has a sign, its table, and of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np


class ParameterDisplay:
    """What tables, pictures and sentences show of theta: by default, the parameters themselves.

    A model whose edges have one parameter needs nothing else. One whose edges have several may show one number of each
    edge, its strength, and a table of log odds (`bayesmrf.models.nominal.Nominal`).

    Attributes
    ----------
    edge_starts : (n_edges + 1,) int array
        Place in theta of the first parameter of each edge, and of the first one of a node.
    feature_names : sequence of str
        Names of the entries of theta.
    has_tables : bool
        Whether edges have a table of log odds by the levels of their ends, `log_odds`.
    note : str
        What must be known of the intervals of edges, as further sentences.
    about : str
        What the parameters are, in words; empty if they have no better name than that of the model.
    is_agreement : bool
        Whether the parameter of an edge is the logit of the agreement of its ends, which is shown, too.
    edge_kinds : sequence of str, or None
        The kind of each edge, if there are several.
    """

    edge_starts: Any
    feature_names: Any
    has_tables: ClassVar[bool] = False
    note: ClassVar[str] = ""
    about: Any = ""
    is_agreement: ClassVar[bool] = False
    edge_kinds: Any = None

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edge_starts) - 1

    @property
    def is_one_each(self) -> bool:
        """Whether each edge has one parameter."""
        return int(self.edge_starts[-1]) == self.n_edges

    @cached_property
    def signed(self) -> np.ndarray:
        """Whether the number of an edge has a sign, (n_edges,)."""
        return np.diff(self.edge_starts) == 1

    def places(self, edges: Any) -> Any:
        """Return where the parameters of some edges (a slice, or increasing numbers) are in theta."""
        if self.is_one_each:
            return edges
        items = np.arange(self.n_edges)[edges]
        return np.concatenate([np.arange(0), *(np.arange(*self.edge_starts[e : e + 2]) for e in items)])

    def shown_edges(self, theta: np.ndarray, edges: Any = slice(None)) -> np.ndarray:
        r"""Return one number of each of some ``edges`` from their parameters, (..., n): its weight, or its strength.

        The strength is the root mean square of the parameters, :math:`\lVert W \rVert / \sqrt{K}` of K of them. Of
        booleans it is whether any is true.
        """
        signed = self.signed[edges]
        if self.is_one_each and signed.all():
            return theta
        sizes = np.diff(self.edge_starts)[edges]
        starts = np.cumsum(sizes) - sizes
        if theta.dtype == bool:
            return np.asarray(np.logical_or.reduceat(theta, starts, axis=-1))
        root = np.sqrt(np.add.reduceat(theta**2, starts, axis=-1) / sizes)
        return np.where(signed, theta[..., starts], root)

    def numbers(self, theta: np.ndarray) -> np.ndarray:
        """Return the number of each edge, (..., n_edges), of all parameters."""
        return self.shown_edges(theta[..., : self.edge_starts[-1]])

    def strength(self, theta: np.ndarray) -> np.ndarray:
        """Return how strong each edge is, (..., n_edges): the size of its number."""
        return np.abs(self.numbers(theta))

    def shown_nodes(self, theta: np.ndarray) -> np.ndarray:
        """Return what is shown of the parameters of nodes, (..., n)."""
        return theta

    def shown(self, theta: np.ndarray) -> np.ndarray:
        """Return what is shown of parameters, by the names `shown_names`."""
        return theta

    @property
    def shown_names(self) -> list[str]:
        """Names of what is shown: first those of edges."""
        return [str(name) for name in self.feature_names]

    @property
    def shown_node_names(self) -> list[str]:
        """Those of nodes alone."""
        return self.shown_names[int(self.edge_starts[-1]) :]

    def as_attributes(self) -> dict[str, str]:
        """Return what must be stored with draws for `bayesmrf.results.display.restored`."""
        return {}


@dataclass(frozen=True, eq=False)
class PlainDisplay(ParameterDisplay):
    """Parameters that are shown as they are, of a model that is not known or says nothing of it."""

    edge_starts: np.ndarray
    feature_names: Any
    edge_kinds: Any = None


def display_of(model: Any) -> ParameterDisplay:
    """Return what a model says of it, or the default."""
    if isinstance(model, ParameterDisplay):
        return model
    return PlainDisplay(np.arange(model.n_edges + 1) * model.n_parameters, model.feature_names)
