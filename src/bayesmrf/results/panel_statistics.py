"""Statistics of the lagged edges of each item, and of the network within a wave."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from .statistics import OF_LAGS, NetworkStatistics


class PanelStatistics(NetworkStatistics):
    """Draws of the statistics of a panel, which are computed when they are asked for.

    In- and out-strength are sums of the absolute weights of lagged edges to and from an item, without its
    autoregression; expected influence is the sum with signs. Those of an undirected network are of edges within a wave.
    """

    @cached_property
    def _n_lagged(self) -> int:
        return len(self.nodes) ** 2

    @cached_property
    def edges(self) -> np.ndarray:
        """Ends of the edges within a wave, (n_pairs, 2)."""
        return np.asarray(self.tree["constant_data"].dataset["edges"].values)[self._n_lagged :]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the statistics, in the order of tables."""
        return (*OF_LAGS, *(super().names if len(self.edges) else ()))

    def _weights(self, numbers: np.ndarray | None) -> Iterator[np.ndarray]:
        first, last = self._n_lagged, self._n_lagged + len(self.edges)
        return (theta.reshape(-1, theta.shape[-1])[:, first:last] for theta in self._blocks(numbers))

    def draws(self, name: str) -> np.ndarray:
        """Return the draws of a statistic: (n_draws, n_items) of items, (n_draws,) of the network within a wave."""
        if name in OF_LAGS and name not in self._found:
            d = len(self.nodes)
            parts = []
            for theta in self._blocks(None):
                weights = theta[..., : d * d].reshape(-1, d, d)
                loops = np.diagonal(weights, axis1=1, axis2=2).copy()
                others = weights * (1 - np.eye(d))
                sizes = np.abs(others)
                parts.append([sizes.sum(axis=1), sizes.sum(axis=2), others.sum(axis=1), others.sum(axis=2), loops])
            statistics = (np.concatenate(each) for each in zip(*parts, strict=True))
            self._found.update(zip(OF_LAGS, statistics, strict=True))
        return super().draws(name)
