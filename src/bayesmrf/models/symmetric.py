"""Nodes with m states, and a symmetric table of log potentials for each edge."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..declare.option import option
from ..declare.rule import FLAG
from .bases import ManyStateModel


@dataclass(frozen=True, eq=False)
class Symmetric(ManyStateModel):
    r"""Field over states {0, ..., m - 1} whose edges have more than one parameter.

    .. math:: p(x \mid \theta) \propto
              \exp\Big(\sum_{c = (u,v)} W_c(x_u, x_v) + \sum_i \sum_{k=1}^{m-1} h_{ik} [x_i = k]\Big), \qquad
              W_c(k, l) = W_c(l, k).

    The free entries of W_c are its *potential*, one natural parameter for each unordered pair of states {k, l}: its
    feature is [{x_u, x_v} = {k, l}], which is 0 or 1. At most one feature of an edge is 1: its index, from 1 to the
    number of parameters p, or 0 for none, is the *category* of the edge.

    Entries that are not identified are fixed at 0:

    * without fields, W(0, 0), as a constant can be added to W: p = m (m + 1) / 2 - 1;
    * with fields, all W(0, l), as f(k) + f(l) added to W(k, l) is a field of both ends: p = m (m - 1) / 2.

    Without fields, separate tables of the edges of an even cycle are not identified either: f(k) + f(l) can be added to
    every other table of the cycle and subtracted from the rest. Tables shared by groups of edges rarely have such a
    direction; a proper prior identifies them.

    theta contains the potentials edge by edge, each in the order (0, 1), (0, 2), ..., (1, 1), (1, 2), ... of its pairs,
    then h_{i1}, ..., h_{i,m-1} of each node. Parameters are those of `ManyStateModel`.
    """

    fields: bool = option(False, FLAG)

    name = "symmetric"

    @property
    def without_order(self) -> np.ndarray:
        """Whether the names and the order of the categories of a node have no meaning, (n_nodes,)."""
        return np.ones(self.graph.n_nodes, bool)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Unordered pairs of states that have a parameter."""
        m = self.n_states
        first = 1 if self.fields else 0
        return [(k, j) for k in range(first, m) for j in range(k, m) if (k, j) != (0, 0)]

    @cached_property
    def edge_features(self) -> np.ndarray:
        """Indicator of each of ``pairs``, (p, m, m)."""
        out = np.zeros((len(self.pairs), self.n_states, self.n_states))
        for feature, (k, other) in zip(out, self.pairs, strict=True):
            feature[k, other] = feature[other, k] = 1
        return out

    @property
    def feature_names(self) -> list[str]:
        """``u-v=k,l`` for an edge and pair of states, ``u=k`` for each label k but the first for a node."""
        ends = zip(self.graph.edge_names, self.graph.edges, strict=True)
        edges = [f"{e}={self.label(u, k)},{self.label(v, other)}" for e, (u, v) in ends for k, other in self.pairs]
        return edges + list(self._node_names())
