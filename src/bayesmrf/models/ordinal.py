"""The ordinal model: nodes with ordered categories, and edges that reward products of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.states import check_codes
from ..declare.option import option
from ..declare.rule import SCORES, Rule, is_integer, is_score
from ..errors import OptionError
from .categorical import NEVER, Categorical, ManyStateModel, categorical, node_statistics, sizes_of
from .shapes import require_shape

_SIZES = Rule(
    "integers >= 2, one for each node, or None",
    lambda v: v is None or (isinstance(v, tuple) and all(is_integer(k) and k >= 2 for k in v)),
    (None,),
)
_NEUTRAL = Rule(
    "None, or a score >= 0 or None for each node",
    lambda v: v is None or (isinstance(v, tuple) and all(s is None or is_score(s) for s in v)),
    (None,),
)
LINEAR, QUADRATIC = -1, -2  # in `Ordinal.node_states`: x, and (x - r)^2 - r^2


@dataclass(frozen=True, eq=False)
class Ordinal(ManyStateModel):
    r"""Field over ordered categories (Anderson and Vermunt 2000; Marsman, van den Bergh and Haslbeck 2025).

    .. math:: p(x \mid \theta) \propto
              \exp\Big(\sum_{(u,v)} w_{uv} x_u x_v + \sum_i \sum_{k=1}^{m_i - 1} \mu_{ik} [x_i = k]\Big), \qquad
              x_i \in \{0, \dots, m_i - 1\},

    with theta = (w of each edge, then the thresholds :math:`\mu_{i1}, \dots, \mu_{i,m_i-1}` of each node). Category 0
    is the reference, whose threshold is 0. With two categories everywhere it is the Boltzmann machine.

    A node with a neutral category r has two parameters in place of thresholds (Blume 1966, Capel 1966), ``i:linear``
    (:math:`a_i`) and ``i:quadratic`` (:math:`b_i`): :math:`\mu_i(x) = a_i x + b_i (x - r_i)^2 - b_i r_i^2`.

    Parameters
    ----------
    graph, n_states, fields
        As in `ManyStateModel`: ``n_states`` is the largest number of categories of a node, fields are thresholds.
    """

    sizes: Any = option(
        None, _SIZES, "Number m_i of categories of each node, from 2 to ``n_states``; None if all have ``n_states``."
    )
    neutral: Any = option(None, _NEUTRAL, "For each node the score r_i of its neutral category, or None.")
    scores: Any = option(
        None,
        SCORES,
        "Scores of the categories, which take the place of x in products and around neutral categories: increasing "
        "from 0.",
    )

    name = "ordinal"
    is_product = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sizes is not None and len(self.sizes) != self.graph.n_nodes:
            expected = f"{self.graph.n_nodes} numbers of categories, one for each node"
            raise OptionError(option="sizes", got=self.sizes, expected=expected)
        if self.sizes is not None and max(self.sizes, default=self.n_states) > self.n_states:
            expected = f"at most n_states = {self.n_states} categories of each node"
            raise OptionError(option="sizes", got=self.sizes, expected=expected)
        if self.scores is not None and len(self.scores) < self.n_states:
            expected = f"at least {self.n_states} increasing numbers from 0, as a column has so many levels"
            raise OptionError(option="scores", got=self.scores, expected=expected)

    @property
    def score(self) -> np.ndarray:
        """Score of each category, (m,)."""
        return np.array(range(self.n_states) if self.scores is None else self.scores[: self.n_states], np.float64)

    @cached_property
    def used(self) -> np.ndarray:
        """Whether a node has a category, (n_nodes, n_states)."""
        sizes = np.full(self.graph.n_nodes, self.n_states) if self.sizes is None else np.array(self.sizes, int)
        return np.arange(self.n_states) < sizes[:, None]

    @property
    def with_pairs(self) -> OrdinalPairs:
        """The same model, with the joint distributions of the ends of edges as moments."""
        return OrdinalPairs(self.graph, self.n_states, self.fields, self.sizes, self.neutral, self.scores)

    @cached_property
    def node_starts(self) -> np.ndarray:
        """Place in theta of the first parameter of each node, and the length of theta, (n_nodes + 1,)."""
        counts = [len(states) for states in self._states_of_nodes]
        return self.n_edges + np.append(0, np.cumsum(counts, dtype=np.int64))

    @cached_property
    def _states_of_nodes(self) -> list[np.ndarray]:
        if not self.fields:
            return [np.zeros(0, np.int64)] * self.graph.n_nodes
        neutral = self.neutral or (None,) * self.graph.n_nodes
        free = [np.arange(1, size) for size in self.used.sum(axis=1)]
        return [own if r is None else np.array([LINEAR, QUADRATIC]) for own, r in zip(free, neutral, strict=True)]

    @property
    def node_states(self) -> np.ndarray:
        """Category of which the feature of each parameter of a node is the indicator, or `LINEAR` or `QUADRATIC`."""
        return np.concatenate(self._states_of_nodes)

    @cached_property
    def _node_of(self) -> np.ndarray:
        """Node of each parameter of a node."""
        return np.repeat(np.arange(self.graph.n_nodes), np.diff(self.node_starts))

    @cached_property
    def node_features(self) -> np.ndarray:
        """Feature of each parameter of a node in the categories of its node, (n_node_parameters, n_states)."""
        states, nodes = self.node_states, self._node_of
        found = np.eye(self.n_states)[np.maximum(states, 0)]
        for k in np.flatnonzero(states < 0):
            x = np.where(self.used[nodes[k]], self.score, 0.0)
            r = self.neutral[nodes[k]]
            found[k] = x if states[k] == LINEAR else (x - r) ** 2 - r**2
        return found

    @property
    def feature_names(self) -> list[str]:
        """``u-v``; for a node ``u=k`` for each label k but the first, or ``u:linear`` and ``u:quadratic``."""
        names, marks = self.graph.names, {LINEAR: ":linear", QUADRATIC: ":quadratic"}
        states = zip(self._node_of, self.node_states, strict=True)
        own = [names[u] + (marks[k] if k < 0 else f"={self.label(u, k)}") for u, k in states]
        return self.graph.edge_names + own

    @property
    def category(self) -> np.ndarray:
        """Number of the feature of an edge among its values 0, 1, ..., (m, m)."""
        values = self.edge_values
        return np.searchsorted(np.unique(values), values)

    @property
    def feature_high(self) -> np.ndarray:
        """Largest value of each feature."""
        most = self.score[self.used.sum(axis=1) - 1]
        u, v = self.graph.edges.T
        return np.concatenate([most[u] * most[v], self.node_features.max(axis=1)])

    @property
    def feature_low(self) -> np.ndarray:
        """Smallest value of each feature."""
        return np.concatenate([np.zeros(self.n_edges), self.node_features.min(axis=1)])

    @cached_property
    def gains(self) -> np.ndarray:
        """Products of two scores but 0, in the order of ``category``."""
        return np.unique(self.edge_values)[1:]

    @property
    def edge_values(self) -> np.ndarray:
        """Feature of an edge whose ends are in the states 0, ..., m - 1, (m, m)."""
        return np.outer(self.score, self.score)

    @cached_property
    def edge_features(self) -> np.ndarray:
        """The one feature of an edge, (1, m, m)."""
        return self.edge_values[None]

    @property
    def agreement_contrast(self) -> np.ndarray:
        """A half: the agreement of an edge is the logistic function of half its weight.

        It is the share of two adjacent categories of one end that go with the same of two adjacent ones of the other,
        where each is as frequent. With two categories it is that of the model of agreements.
        """
        return np.array([0.5])

    def features(self, states: np.ndarray) -> np.ndarray:
        """Return the statistics of each row of ``states``, (n_samples, n_features)."""
        u, v = self.graph.edges.T
        x = self.score[states]
        nodes = self._node_of
        return np.hstack([x[:, u] * x[:, v], self.node_features[np.arange(len(nodes)), states[:, nodes]]])

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of weighted ``states`` (n_samples, n_nodes) in {0, ..., m_i - 1}."""
        check_codes(states, sizes_of(self))
        shares = node_statistics(states, self.n_states, weights)
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        x, (u, v) = self.score[states], self.graph.edges.T
        # Sums of products of integers are exact.
        products = (w[:, None] * x).T @ x / w.sum()
        return self._features(products[u, v], shares)

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form, with a table for each edge; categories that a node does not have get `NEVER`."""
        require_shape("theta", theta, (self.n_features,))
        edges, own = np.split(theta, [self.n_edges])
        return categorical(self.graph, edges[:, None, None] * self.edge_values, self.field_table(own))

    def field_table(self, own: np.ndarray) -> np.ndarray:
        """Return the log weight of each category of each node, (n_nodes, m), of the parameters of nodes."""
        require_shape("own", own, (len(self._node_of),))
        found = np.where(self.used, 0.0, NEVER)
        np.add.at(found, self._node_of, own[:, None] * self.node_features)
        return found

    def from_field_table(self, field: np.ndarray) -> np.ndarray:
        """Return the parameters of nodes whose log weights of categories are ``field``."""
        require_shape("field", field, self.used.shape)
        found = field[self._node_of, self.node_states]
        for k in np.flatnonzero(self.node_states == LINEAR):
            found[k : k + 2] = np.linalg.solve(self.node_features[k : k + 2, 1:3].T, field[self._node_of[k], 1:3])
        return found

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments of the statistics from P(x_u = k, x_v = l), (n_edges, m, m), and P(x_i = k)."""
        return self._features((pair * self.edge_values).sum(axis=(1, 2)), node)

    def _features(self, edge: np.ndarray, node: np.ndarray) -> np.ndarray:
        return np.concatenate([edge, (node[self._node_of] * self.node_features).sum(axis=1)])


class OrdinalPairs(Ordinal):
    """The ordinal model whose moments are P(x_u = k, x_v = l) of each edge, then P(x_i = k) of each node."""

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Return the probabilities of the pairs of states of each edge, then those of the states of each node."""
        return np.concatenate([pair.ravel(), node.ravel()])
