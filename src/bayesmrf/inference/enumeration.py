"""Exact answers by summing over all 2^d states: for small models, and as the yardstick of every other engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base import LOG_Z, MOMENTS, SAMPLE, Inference, Kind, Model
from ..errors import OptionError, TooWideError


@dataclass(frozen=True)
class Enumeration:
    """Sum over all states x in {-1, +1}^d.

    Log weights are built by doubling: those of nodes 0..i follow from those of nodes 0..i-1 by adding
    +-(h_i + sum_{u<i} J_ui x_u), so that all 2^d of them cost O(2^d). The moments E[prod_{i in S} x_i] of all subsets S
    are the Walsh-Hadamard transform of the probabilities; the singletons and edges are read off.

    Parameters
    ----------
    max_nodes : int
        Models with more nodes are refused; memory is about 32 bytes times 2^d.
    """

    max_nodes: int = 20

    name = "enumeration"
    answers = frozenset({LOG_Z, MOMENTS, SAMPLE})
    kind = Kind.EXACT

    def __post_init__(self) -> None:
        if not self.max_nodes >= 1:
            raise OptionError(f"max_nodes: {self.max_nodes} came; a number of nodes >= 1 is wanted")

    def prepare(self, model: Model) -> None:
        """Check the number of nodes; there is nothing to plan.

        Raises
        ------
        TooWideError
            If the model has more than ``max_nodes`` nodes.
        """
        d = model.graph.n_nodes
        if d > self.max_nodes:
            raise TooWideError(
                f"graph: enumeration over {d} nodes would need {2 ** (d - 25):.3g} GiB for 2^{d} states, more than "
                f"max_nodes = {self.max_nodes} allows; use elimination or persistent chains, or raise max_nodes"
            )

    def start(self, model: Model, rng: np.random.Generator) -> None:
        """No memory between calls."""

    def infer(self, model: Model, theta: np.ndarray, plan: None, want: str = MOMENTS, state: Any = None) -> Inference:
        """Log Z, and the moments when wanted."""
        log_weight = _log_weights(model, theta)
        top = log_weight.max()
        weight = np.exp(log_weight - top)
        total = weight.sum()
        log_z = float(top + np.log(total))
        if want == LOG_Z:
            return Inference(log_z=log_z)
        subset_moment = _walsh_hadamard(weight / total)
        bit = 1 << np.arange(model.graph.n_nodes)
        u, v = model.graph.edges.T
        return Inference(log_z=log_z, moments=model.moments(subset_moment[bit[u] | bit[v]], subset_moment[bit]))

    def sample(
        self, model: Model, theta: np.ndarray, plan: None, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Independent states by inverting the distribution function."""
        log_weight = _log_weights(model, theta)
        cumulated = np.cumsum(np.exp(log_weight - log_weight.max()))
        number = np.searchsorted(cumulated, rng.random(n_samples) * cumulated[-1], side="right")
        return (number[:, None] >> np.arange(model.graph.n_nodes) & 1).astype(np.int8)


def _log_weights(model: Model, theta: np.ndarray) -> np.ndarray:
    """Unnormalised log probability of state number s, in which node i is +1 where bit i of s is set."""
    p = model.pairwise(theta)
    log_weight = np.array([p.offset])
    for i in range(model.graph.n_nodes):
        local = np.array([p.field[i]])
        coupling = np.zeros(i)
        for n in range(p.starts[i], p.starts[i + 1]):
            if p.neighbours[n] < i:
                coupling[p.neighbours[n]] = p.coupling[p.edge_of[n]]
        for c in coupling:
            local = np.concatenate([local - c, local + c])
        log_weight = np.concatenate([log_weight - local, log_weight + local])
    return log_weight


def _walsh_hadamard(probability: np.ndarray) -> np.ndarray:
    """Entry S of the result is E[prod_{i in S} x_i], S a set of nodes given by its bits."""
    moment = probability
    for i in range(len(probability).bit_length() - 1):
        pairs = moment.reshape(-1, 2, 2**i)
        moment = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 1] - pairs[:, 0]], axis=1)
    return moment.ravel()
