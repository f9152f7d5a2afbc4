"""Pairwise models, each stated by two arrays: the features of an edge and those of a node."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit

from ..base import BINARY, POTTS, TABLES
from ..data.states import check_codes
from ..errors import OptionError
from .categorical import Categorical, categorical, node_statistics, pair_counts
from .node_features import NodeFeatures, require_shape
from .pairwise import FeatureForm, Pairwise, edge_statistics, pairwise

_NEAR = 1e-9


class TwoArrays(NodeFeatures):
    r"""Base of models whose edges all have the same features, as have all nodes with the same states.

    An edge (u, v) with the parameters :math:`\theta_1, \dots, \theta_p` has the table of log potentials

    .. math:: W(k, l) = \sum_j \theta_j f_j(k, l),

    with the features :math:`f_j` of ``edge_features``, and a node that of ``node_features``. All else follows from
    these arrays and cannot be given. theta has the parameters of edges first, then those of nodes if there are
    ``fields``.

    Attributes
    ----------
    edge_features : (p, m, m) array
        Features of an edge in the states of its ends, symmetric.
    node_features : (q, m) array, or a sequence of these
        Features of a node in its states; a sequence has those of each node.
    score : (m,) array or None
        Scores of the states whose products are the one feature of an edge; None if it is 0 or 1, or no product.
    used : (n_nodes, m) bool array
        Whether a node has a state.
    """

    edge_features: Any

    def __init_subclass__(cls, **more: Any) -> None:
        """Refuse what follows from the two arrays."""
        super().__init_subclass__(**more)
        if wrong := sorted(_DERIVED & cls.__dict__.keys()):
            raise OptionError(f"{cls.__name__} must not define {', '.join(wrong)}, which follow from edge_features and "
                              "node_features.")  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        f, m = np.asarray(self.edge_features), self.n_states
        if f.ndim != 3 or f.shape[1:] != (m, m) or not len(f) or not np.isfinite(f).all():
            expected = f"a finite array (parameters, {m}, {m}), the features of an edge in the states of its ends"
            raise OptionError(option="edge_features", got=f.tolist(), expected=expected)
        if not _are_close(f, f.transpose(0, 2, 1)):
            expected = "one whose log potentials do not depend on the order of the ends of an edge"
            raise OptionError(option="model", got=self.name, expected=expected)
        for y in {y.tobytes(): y for y in self._arrays}.values():
            if y.ndim != 2 or y.shape[1] != m or np.linalg.matrix_rank(y - y[:, :1]) < len(y):
                expected = f"an array (parameters of a node, {m} states), whose rows and a constant one are independent"
                raise OptionError(option="node_features", got=y.tolist(), expected=expected)

    @cached_property
    def form(self) -> FeatureForm:
        """Features of two states as polynomials in x = -1, 1."""
        f, (low, high) = self.edge_values, self.node_values
        mean = (f[0, 0] + 2 * f[0, 1] + f[1, 1]) / 4
        return FeatureForm(*map(float, (mean, (f[0, 0] - 2 * f[0, 1] + f[1, 1]) / 4, (f[1, 1] - f[0, 0]) / 4,
                                        (low + high) / 2, (high - low) / 2)))  # fmt: skip

    @cached_property
    def _found(self) -> str:
        """Compiled form: of two states, of edges that reward agreement, or else of tables."""
        return BINARY if self.n_states == 2 else POTTS if self._is_agreement else TABLES

    @cached_property
    def _is_agreement(self) -> bool:
        return len(self.edge_features) == 1 and np.array_equal(self.edge_features[0], np.eye(self.n_states))

    @property
    def family(self) -> str:
        """Compiled form."""
        return self._found

    @property
    def n_parameters(self) -> int:
        """Number p of parameters of an edge."""
        return len(self.edge_features)

    @cached_property
    def edge_starts(self) -> np.ndarray:
        """Place in theta of the first parameter of each edge, and of the first one of a node, (n_edges + 1,)."""
        return self.n_parameters * np.arange(self.n_edges + 1)

    @property
    def edge_values(self) -> np.ndarray:
        """Feature of an edge with one parameter in the states of its ends, (m, m)."""
        return np.asarray(self.edge_features[0])

    @property
    def is_indicator(self) -> bool:
        """Whether edges and nodes have indicators of states, of which one at most is 1."""
        f = np.asarray(self.edge_features)
        return bool(np.isin(f, (0.0, 1.0)).all() and f.sum(axis=0).max() == 1 and (self.node_states > 0).all())

    @cached_property
    def gains(self) -> np.ndarray:
        """Values of the feature of an edge but 0, times which its parameters are its log potentials."""
        values = np.unique(self.edge_features)
        return values[values != 0] if self.n_parameters == 1 else np.ones(1)

    @cached_property
    def category(self) -> np.ndarray:
        """Number from 1 of the gain, or of the feature, that an edge has at each pair of states, (m, m); 0 for none.

        Raises
        ------
        OptionError
            If several features of an edge differ from 0 at one pair of states.
        """
        f = np.asarray(self.edge_features)
        if self.n_parameters == 1:
            return np.where(f[0] != 0, 1 + np.searchsorted(self.gains, f[0]), 0)
        if not (np.isin(f, (0.0, 1.0)).all() and f.sum(axis=0).max() <= 1):
            expected = "one whose edges have one parameter, or features that are 0 but for one of 1"
            raise OptionError(option="model", got=self.name, expected=expected)
        return np.tensordot(np.arange(1, 1 + len(f)), f, 1).astype(np.int64)

    @cached_property
    def score(self) -> np.ndarray | None:
        """Scores of the states whose products are the one feature of an edge; None if it is 0 or 1, or no product."""
        f = self.edge_values
        if self._found != TABLES or self.n_parameters > 1 or np.isin(f, (0.0, 1.0)).all():
            return None
        largest = self.n_states - 1 - int(np.argmax(f.diagonal()[::-1]))
        if f[largest, largest] <= 0:
            return None
        scores = f[largest] / np.sqrt(f[largest, largest])
        return scores if _are_close(np.outer(scores, scores), f) else None

    @property
    def is_product(self) -> bool:
        """Whether the feature of an edge is the product of the scores of its ends."""
        return self.score is not None

    @property
    def centres_products(self) -> bool:
        """Whether the feature of an edge is a product of scores that are linear in the features of a node, if any."""
        s = self.score
        return s is not None and all(
            np.linalg.matrix_rank(np.vstack([y, s * used])) == len(y) or not len(y)
            for y, used in zip(self._by_node, self.used, strict=True)
        )

    @cached_property
    def _is_square(self) -> bool:
        """Whether the feature of an edge is exactly the product of its square roots at equal states, as of scores."""
        f = self.edge_values
        with np.errstate(invalid="ignore"):
            roots = np.sqrt(f.diagonal())
            return self.n_parameters == 1 and bool((np.outer(roots, roots) == f).all())

    @cached_property
    def two_valued(self) -> bool:
        """Whether each feature has two values, the larger of which is 1."""
        used = self.used
        edges = np.asarray(self.edge_features) if self.n_edges else ()
        parts = [*edges, *(y[used[i]] for i, y in zip(self.node_of, self.node_rows, strict=True))]
        by_feature = [np.unique(values) for values in {values.tobytes(): values for values in parts}.values()]
        return all(len(values) == 2 and values[1] == 1 for values in by_feature)

    @cached_property
    def _ranges(self) -> np.ndarray:
        """Smallest and largest value of each feature, (2, n_features)."""
        sizes, f = self.used.sum(axis=1), np.asarray(self.edge_features)
        distinct = np.unique(sizes)
        u, v = np.searchsorted(distinct, sizes[self.graph.edges.T])
        by_size = np.array([[[(g[:a, :b].min(), g[:a, :b].max()) for g in f] for b in distinct] for a in distinct])
        edges = by_size[u, v].reshape(-1, 2).T if self.n_edges else np.zeros((2, 0))
        y = self.node_rows
        return np.hstack([edges, [y.min(axis=1, initial=np.inf), y.max(axis=1, initial=-np.inf)]])

    @property
    def feature_names(self) -> list[str]:
        """``u-v``, or ``u-v=j`` if an edge has several features, and the names of the parameters of nodes.

        These are ``u`` for two states, ``u=k`` for the indicator of the label k, and otherwise ``u:j``.
        """
        marks = [""] if self.n_parameters == 1 else [f"={j + 1}" for j in range(self.n_parameters)]
        return [edge + mark for edge in self.graph.edge_names for mark in marks] + list(self._node_names())

    @cached_property
    def agreement_contrast(self) -> np.ndarray:
        """Mean of each feature of an edge over the states that agree minus that over those that differ, (p,)."""
        alike, f = np.eye(self.n_states, dtype=bool), np.asarray(self.edge_features)
        return np.asarray(f[:, alike].mean(axis=1) - f[:, ~alike].mean(axis=1))

    def table(self, theta: np.ndarray) -> np.ndarray:
        """Return W of each edge, (..., n_edges, m, m)."""
        edges, features = self._edges(theta), np.asarray(self.edge_features)
        return edges[..., None] * features[0] if len(features) == 1 else np.tensordot(edges, features, 1)

    def agreement(self, theta: np.ndarray) -> np.ndarray:
        r"""Measure how strongly each edge rewards agreement of its ends, (..., n_edges), from 0 to 1; 0.5 is neutral.

        It is 1 / (1 + exp(-j)) with j the mean of W over pairs of states that agree minus that over pairs that differ.
        It does not depend on terms f(k) + f(l) of W, and for W(k, l) = J [k = l] it is 1 / (1 + exp(-J)).
        """
        return np.asarray(expit(self._edges(theta) @ self.agreement_contrast))

    def _edges(self, theta: np.ndarray) -> np.ndarray:
        """Select the parameters of each edge, (..., n_edges, p)."""
        r, p = self.n_edges, self.n_parameters
        return theta[..., : r * p].reshape(*theta.shape[:-1], r, p)

    def features(self, states: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        """Return the statistics of each row of ``states``, (n_samples, n_features), feature after feature in memory."""
        x, (u, v), r = np.ascontiguousarray(states.T), self.graph.edges.T, self.n_edges * self.n_parameters
        out, rows = np.empty((self.n_features, len(states)), dtype), np.arange(len(self.node_of))[:, None]
        if self._is_square:
            y = np.sqrt(self.edge_values.diagonal()).astype(dtype)[x]
            np.multiply(y[u], y[v], out=out[:r])
        else:
            edges = np.asarray(self.edge_features)[:, x[u], x[v]]
            out[:r] = np.moveaxis(edges, 0, 1).reshape(r, len(states))
        out[r:] = self.node_rows.astype(dtype)[rows, x[self.node_of]]
        return out.T

    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return the mean statistics of ``states`` (n_samples, n_nodes), rows weighted by ``weights``."""
        check_codes(states, self.used.sum(axis=1))
        if self._found == BINARY:
            agree, ones = edge_statistics(self.graph, states, weights)
            return self._by_signs(2 * agree - 1, 2 * ones - 1)
        shares = node_statistics(states, self.n_states, weights)
        w = np.ones(len(states)) if weights is None else np.asarray(weights, dtype=np.float64)
        if self._found == POTTS:
            edge = edge_statistics(self.graph, states, weights)[0]
        elif self.score is not None:
            x, (u, v) = self.score[states], self.graph.edges.T
            # Sums of products of integers are exact.
            edge = ((w[:, None] * x).T @ x / w.sum())[u, v]
        else:
            m = self.n_states
            pairs = pair_counts(self.graph.edges, states, m, w)
            edge = pairs.reshape(-1, m * m) @ np.reshape(self.edge_features, (-1, m * m)).T / w.sum()
        return self._with_nodes(edge, shares)

    def categorical(self, theta: np.ndarray) -> Categorical:
        """Return the compiled form of many states; states that a node does not have get `NEVER`."""
        require_shape("theta", theta, (self.n_features,))
        edges, nodes = np.split(theta, [self.n_edges * self.n_parameters])
        return categorical(self.graph, edges if self._found == POTTS else self.table(edges), self.field_table(nodes))

    def pairwise(self, theta: np.ndarray) -> Pairwise:
        """Return the compiled form of two states: log potential theta . s(x) as a polynomial in x."""
        require_shape("theta", theta, (self.n_features,))
        f, edge, node = self.form, theta[: self.n_edges], theta[self.n_edges :]
        n = self.graph.n_nodes
        field = f.q * node if self.fields else np.zeros(n)
        if f.c:
            u, v = self.graph.edges.T
            field = field + np.bincount(u, f.c * edge, minlength=n) + np.bincount(v, f.c * edge, minlength=n)
        offset = (f.a * edge.sum() if f.a else 0.0) + (f.p * node.sum() if f.p else 0.0)  # 0 times infinity is NaN
        return pairwise(self.graph, f.b * edge, field, offset)

    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        """Compute the moments of the statistics from the answers of engines.

        They are E[x_u x_v] and E[x_u] of two states x = -1, 1; P(x_u = x_v) if edges reward agreement, or else P(x_u =
        k, x_v = l), (n_edges, m, m); and P(x_i = k), (n_nodes, m).
        """
        if self._found == BINARY:
            return self._by_signs(pair, node)
        if self._found == TABLES and self.n_parameters == 1:
            pair = (pair * self.edge_values).sum(axis=(1, 2))
        elif self._found == TABLES:
            each = np.reshape(self.edge_features, (self.n_parameters, -1)).T
            pair = pair.reshape(self.n_edges, self.n_states**2) @ each
        return self._with_nodes(pair, node)

    def _by_signs(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray:
        f = self.form
        edge = f.a + f.b * pair
        if f.c:
            u, v = self.graph.edges.T
            edge += f.c * (node[u] + node[v])
        return np.concatenate([edge, f.p + f.q * node]) if self.fields else edge


# What models of the package and of users cannot define; `statistics`, `moments` and the compiled forms are compared
# with the arrays (`bayesmrf.models.agreeing_tables`).
_DERIVED = {"edge_values", "category", "gains", "is_product", "two_valued", "node_rows", "node_starts", "node_values",
            "node_states", "node_of", "edge_starts", "feature_low", "feature_high", "form", "table", "field_table",
            "from_field_table", "n_parameters", "n_features"}  # fmt: skip


def _are_close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max(initial=0.0) <= _NEAR * (1 + np.abs(b).max(initial=0.0)))
