"""Common code of samplers of edges: records, starts, and the noise of moments from chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import OptionError
from ..conditionals.centred import node_shares

EDGE_DIMS = {"theta": ("feature",), "included": ("edge",), "n_edges": (), "density": (), "slab_scale": ()}


def noise_share(n_samples: float, n_chains: int, alpha: float) -> float:
    r"""Return the relative increase of a posterior variance by noisy moments, over :math:`\epsilon^2`.

    Where the posterior has the curvature :math:`N S^2`, the mean of n chains adds a noise of variance :math:`N^2 S^2 /
    n` to its slope. With steps of epsilon standard deviations the variance grows by the factor :math:`1 + \epsilon^2 N
    (1 + \alpha) / 4 n (1 - \alpha)`, if the noises of successive steps are independent.
    """
    return n_samples * (1 + alpha) / (4 * n_chains * (1 - alpha))


def start_theta(model: Any, s_bar: np.ndarray, n_samples: float, start: np.ndarray | None) -> np.ndarray:
    """Check ``start``, or start without edges, with node parameters fitted to each node alone."""
    if start is None:
        low, high = model.node_values
        share = (n_samples * node_shares(model, s_bar) + 1 / model.n_states) / (n_samples + 1)
        has = np.arange(1, model.n_states) <= np.diff(model.node_starts)[:, None]
        fields = np.log(share[:, 1:] / share[:, :1])[has] / (high - low)
        return np.concatenate([np.zeros(model.n_edges), fields])
    start = np.array(start, dtype=np.float64)
    if start.shape != (model.n_features,) or not np.isfinite(start).all():
        raise OptionError(
            option="start",
            got=start if start.shape == (model.n_features,) else f"shape {start.shape}",
            expected=f"finite numbers of shape ({model.n_features},)",
            remedy="the weights of the candidate edges, 0 where there is none, then those of the nodes",
        )
    return start
