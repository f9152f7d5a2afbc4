"""Exact inference by summing over all states: for small models, and as the reference for other engines."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import EVERY_FAMILY, LOG_Z, MOMENTS, SAMPLE, Inference, Kind, Model, Stateless
from ..declare.option import option
from ..declare.rule import integer
from ..errors import TooWideError
from ..models.categorical import Categorical, compiled_form, draw_numbers, normalised
from ..models.pairwise import Pairwise


@dataclass(frozen=True)
class Enumeration(Stateless):
    """Exact engine that sums over all states x in {-1, +1}^d (Murray and Ghahramani 2004, eq. 2).

    Log weights are built by doubling: those of nodes 0..i follow from those of nodes 0..i-1 by adding +-(h_i +
    sum_{u<i} J_ui x_u), so that all 2^d of them cost O(2^d). The moments E[prod_{i in S} x_i] of all subsets S are the
    Walsh-Hadamard transform of the probabilities, which contains those of singletons and edges. With m states a node,
    marginals are sums over the other digits.
    """

    max_nodes: int = option(
        20, integer(1, 40), "Models with more than 2^max_nodes states are refused; memory is about 32 bytes a state."
    )

    name = "enumeration"
    answers = frozenset({LOG_Z, MOMENTS, SAMPLE})
    families = EVERY_FAMILY
    kind = Kind.EXACT

    def prepare(self, model: Model) -> None:
        """Check the number of nodes; there is nothing to plan.

        Raises
        ------
        TooWideError
            If the model has more states than ``max_nodes`` binary nodes.
        """
        d, m = model.graph.n_nodes, model.n_states
        bits = d * math.log2(m)
        if bits > self.max_nodes:
            raise TooWideError(
                f"graph: enumeration over {d} nodes would need {2 ** (bits - 25):.3g} GiB for {m}^{d} states, more "
                f"than max_nodes = {self.max_nodes} allows",
                remedy="use elimination, persistent chains, or a larger max_nodes",
            )

    def infer(self, model: Model, theta: np.ndarray, plan: None, want: str = MOMENTS, state: Any = None) -> Inference:
        """Compute log Z, and the moments on request."""
        p = compiled_form(model, theta)
        probability, log_z = normalised(_log_weights(p))
        if want == LOG_Z:
            return Inference(log_z=log_z)
        if isinstance(p, Categorical):
            return Inference(log_z=log_z, moments=model.moments(*_marginals(p, probability)))
        subset_moment = _walsh_hadamard(probability)
        bit = 1 << np.arange(model.graph.n_nodes)
        u, v = model.graph.edges.T
        return Inference(log_z=log_z, moments=model.moments(subset_moment[bit[u] | bit[v]], subset_moment[bit]))

    def sample(
        self, model: Model, theta: np.ndarray, plan: None, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Sample independent states."""
        number = draw_numbers(_log_weights(compiled_form(model, theta)), n_samples, rng)
        return (number[:, None] // model.n_states ** np.arange(model.graph.n_nodes) % model.n_states).astype(np.int8)


def _log_weights(p: Pairwise | Categorical) -> np.ndarray:
    """Return the unnormalised log probability of state number s; its digit i, to base m, is the state of node i."""
    log_weight = np.array([p.offset])
    for i in range(len(p.field)):
        coupling = np.zeros((i, *p.coupling.shape[1:]))
        for n in range(p.starts[i], p.starts[i + 1]):
            if p.neighbours[n] < i:
                e = p.edge_of[n]
                is_first = p.coupling.ndim == 1 or p.edges[e, 0] == i  # in tables the first end has the rows
                coupling[p.neighbours[n]] = p.coupling[e] if is_first else p.coupling[e].T
        if isinstance(p, Categorical):
            log_weight = np.concatenate([log_weight + _local(p.field[i], coupling, k) for k in range(p.field.shape[1])])
            continue
        local = np.array([p.field[i]])
        for c in coupling:
            local = np.concatenate([local - c, local + c])
        log_weight = np.concatenate([log_weight - local, log_weight + local])
    return log_weight


def _local(field: np.ndarray, coupling: np.ndarray, k: int) -> np.ndarray:
    """Return the contribution of a node in state k to the log weight of each state of the nodes before it."""
    local, digits = field[k : k + 1], np.arange(len(field))
    for c in coupling:
        gain = c[k] if coupling.ndim > 1 else c * (digits == k)
        local = (gain[:, None] + local).ravel()
    return local


def _marginals(p: Categorical, probability: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return P(x_u = x_v) of each edge (the joint distribution if edges have tables) and P(x_i = k) of each node."""
    n, m = p.field.shape
    node, pair = np.empty((n, m)), np.empty(p.coupling.shape)
    for i in range(n):
        node[i] = probability.reshape(-1, m, m**i).sum(axis=(0, 2))
    for e, (u, v) in enumerate(p.edges.tolist()):
        low, high = min(u, v), max(u, v)
        joint = probability.reshape(-1, m, m ** (high - low - 1), m, m**low).sum(axis=(0, 2, 4))  # (high, low)
        pair[e] = (joint.T if u == low else joint) if pair.ndim > 1 else np.trace(joint)
    return pair, node


def _walsh_hadamard(probability: np.ndarray) -> np.ndarray:
    """Compute E[prod_{i in S} x_i] into entry S, a set of nodes given by its bits."""
    moment = probability
    for i in range(len(probability).bit_length() - 1):
        pairs = moment.reshape(-1, 2, 2**i)
        moment = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 1] - pairs[:, 0]], axis=1)
    return moment.ravel()
