"""The ordinal model: nodes with ordered categories, and edges that reward products of their scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..declare.option import Checked, option
from ..declare.rule import SCORES, Rule, is_integer, is_score
from ..errors import OptionError
from .bases import ManyStateModel

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

    def __post_init__(self) -> None:
        Checked.__post_init__(self)  # before the arrays are made
        if self.sizes is not None and len(self.sizes) != self.graph.n_nodes:
            expected = f"{self.graph.n_nodes} numbers of categories, one for each node"
            raise OptionError(option="sizes", got=self.sizes, expected=expected)
        if self.sizes is not None and max(self.sizes, default=self.n_states) > self.n_states:
            expected = f"at most n_states = {self.n_states} categories of each node"
            raise OptionError(option="sizes", got=self.sizes, expected=expected)
        if self.scores is not None and len(self.scores) < self.n_states:
            expected = f"at least {self.n_states} increasing numbers from 0, as a column has so many levels"
            raise OptionError(option="scores", got=self.scores, expected=expected)
        super().__post_init__()

    @cached_property
    def score(self) -> np.ndarray:
        """Score of each category, (m,)."""
        return np.array(range(self.n_states) if self.scores is None else self.scores[: self.n_states], np.float64)

    @cached_property
    def used(self) -> np.ndarray:
        """Whether a node has a category, (n_nodes, n_states)."""
        sizes = np.full(self.graph.n_nodes, self.n_states) if self.sizes is None else np.array(self.sizes, int)
        return np.arange(self.n_states) < sizes[:, None]

    @property
    def edge_features(self) -> np.ndarray:
        """The one feature of an edge, (1, m, m)."""
        return np.outer(self.score, self.score)[None]

    @cached_property
    def node_features(self) -> list[np.ndarray]:
        """Features of the parameters of each node in its categories, (n_parameters of the node, m)."""
        features, eye = [], np.eye(self.n_states)
        for used, r in zip(self.used, self.neutral or (None,) * self.graph.n_nodes, strict=True):
            x = np.where(used, self.score, 0.0)
            features.append(eye[1 : used.sum()] if r is None else np.stack([x, (x - r) ** 2 - r**2]))
        return features

    @property
    def about(self) -> str:
        """What the parameters are, in words."""
        scores = "0, 1, ..." if self.scores is None else ", ".join(f"{x:g}" for x in self.scores)
        return f"weights and thresholds over the scores {scores}"

    def _mark(self, j: int) -> str:
        """Name a parameter around a neutral category."""
        return ("linear", "quadratic")[j]

    @property
    def agreement_contrast(self) -> np.ndarray:
        """A half: the agreement of an edge is the logistic function of half its weight.

        It is the share of two adjacent categories of one end that go with the same of two adjacent ones of the other,
        where each is as frequent. With two categories it is that of the model of agreements.
        """
        return np.array([0.5])
