"""Natural parameters as a linear map of other parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from ..errors import OptionError
from .node_features import require_shape


@dataclass(frozen=True, eq=False)
class LinearMap:
    r"""The linear map from parameters phi to natural parameters :math:`\theta = A \phi`.

    It is a `bayesmrf.likelihood.Curve`. The likelihood is concave in phi, with the gradient :math:`A^T \nabla_\theta`.

    Parameters
    ----------
    rows, columns : (n_entries,) int arrays
        Row and column of each nonzero entry of A.
    values : (n_entries,) array
    shape : (int, int)
        Length of theta, and of phi.
    feature_names : tuple of str
        Names of phi.
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    shape: tuple[int, int]
    feature_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.feature_names) != self.shape[1]:
            raise OptionError(option="feature_names", got=f"{len(self.feature_names)} names",
                              expected=f"{self.shape[1]} names, one for each column of A")  # fmt: skip

    @classmethod
    def of(cls, matrix: Any, feature_names: Sequence[str]) -> LinearMap:
        """Make the map of a matrix (n_natural, n_features), dense or sparse."""
        a = coo_array(matrix)
        rows, columns = a.coords
        return cls(rows.astype(np.int64), columns.astype(np.int64), a.data.astype(np.float64), a.shape,
                   tuple(feature_names))  # fmt: skip

    @classmethod
    def tied(cls, label: np.ndarray, feature_names: Sequence[str]) -> LinearMap:
        """Make the map in which natural parameter i is phi[label[i]]."""
        n = len(label)
        return cls(np.arange(n), np.asarray(label, dtype=np.int64), np.ones(n), (n, len(feature_names)),
                   tuple(feature_names))  # fmt: skip

    @property
    def n_features(self) -> int:
        """Length of phi."""
        return self.shape[1]

    @cached_property
    def matrix(self) -> csr_array:
        """A."""
        return csr_array((self.values, (self.rows, self.columns)), shape=self.shape)

    @cached_property
    def _transposed(self) -> csr_array:
        return self.matrix.T.tocsr()

    def natural(self, theta: np.ndarray) -> np.ndarray:
        """Return A phi, for one phi or each of an array (..., n_features)."""
        require_shape("theta", theta, (*theta.shape[:-1], self.n_features))
        if theta.ndim == 1:
            return self.matrix @ theta
        return (theta.reshape(-1, self.n_features) @ self._transposed).reshape(*theta.shape[:-1], self.shape[0])

    def pull_back(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray:
        """Return A^T times a gradient in the natural parameters."""
        return self._transposed @ gradient

    def squares(self, curvature: np.ndarray) -> np.ndarray:
        """Return the diagonal of A^T diag(curvature) A."""
        return self._transposed.power(2) @ curvature
