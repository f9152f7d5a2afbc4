"""Labels on points in space: couplings that decrease with distance (Murray and Ghahramani 2004, section 6.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..graphs import Graph, complete
from .agreement import Agreement
from .display import ParameterDisplay
from .node_features import require_shape


@dataclass(frozen=True, eq=False)
class LabelField(ParameterDisplay):
    r"""A field whose couplings are functions of the distances between points.

    .. math:: p(S \mid \sigma) \propto \exp\Big(\sum_{i < j} [s_i = s_j]\, W_{ij}(\sigma)\Big), \qquad
              W_{ij} = \exp\Big(-\tfrac12 \sum_k \frac{(x_{ik} - x_{jk})^2}{\sigma_k^2}\Big).

    (Murray and Ghahramani 2004, eq. 13 and 14), theta = log sigma, one scale for each coordinate. It is an `Agreement`
    model on all pairs with natural parameters W, and this class is the map theta -> W (a `bayesmrf.likelihood.Curve`).

    Parameters
    ----------
    points : (n_points, n_coordinates) array
    names : tuple of str
        Names of the coordinates.
    """

    points: np.ndarray
    names: tuple[str, ...]

    name = "label_field"

    @cached_property
    def graph(self) -> Graph:
        """All pairs of points."""
        return complete(len(self.points))

    @cached_property
    def base(self) -> Agreement:
        """The field with its natural parameters, one for each pair."""
        return Agreement(self.graph)

    @cached_property
    def _squares(self) -> np.ndarray:
        """Squared differences of each pair in each coordinate."""
        u, v = self.graph.edges.T
        return (self.points[u] - self.points[v]) ** 2

    @property
    def n_features(self) -> int:
        """Number of coordinates."""
        return self.points.shape[1]

    @property
    def feature_names(self) -> list[str]:
        """``log_sigma_`` and the coordinate's name."""
        return [f"log_sigma_{name}" for name in self.names]

    def natural(self, theta: np.ndarray) -> np.ndarray:
        """Return W of each pair."""
        require_shape("theta", theta, (self.n_features,), "the logarithm of a length scale for each coordinate")
        return np.exp(-0.5 * (self._squares @ np.exp(-2 * theta)))

    def pull_back(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return the gradient in theta from that in W: dW_ij / dlog sigma_k = W_ij (x_ik - x_jk)^2 / sigma_k^2."""
        return (gradient * self.natural(theta)) @ self._squares * np.exp(-2 * theta)
