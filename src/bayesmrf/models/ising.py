"""The Ising model: couplings and fields over {-1, +1}."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bases import PairwiseModel


@dataclass(frozen=True, eq=False)
class Ising(PairwiseModel):
    r"""Binary field over x in {-1, +1}.

    .. math:: p(x \mid \theta) \propto \exp\Big(\sum_{(u,v)} J_{uv} x_u x_v + \sum_u h_u x_u\Big)

    with theta = (J of each edge[, h of each node]). Parameters are those of `PairwiseModel`.
    """

    name = "ising"
    about = "couplings and fields over {-1, +1}"
    edge_features = np.array([[[1.0, -1.0], [-1.0, 1.0]]])
    node_features = np.array([[-1.0, 1.0]])
