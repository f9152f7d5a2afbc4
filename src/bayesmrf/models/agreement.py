"""The model of Liu and Page (2013): one agreement parameter for each edge, and optional node fields."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bases import PairwiseModel


@dataclass(frozen=True, eq=False)
class Agreement(PairwiseModel):
    """Binary field with one agreement parameter for each edge c = (u, v).

    .. math:: p(x \\mid \\theta) \\propto \\prod_c a_c^{[x_u = x_v]} (1 - a_c)^{[x_u \\ne x_v]} \\, e^{\\sum_u h_u x_u},

    (Liu and Page 2013, eq. 1), with agreement :math:`a_c = 1 / (1 + e^{-\\theta_c})`. Natural parameters are theta =
    (logit a_1, ..., logit a_r[, h_1, ..., h_d]) and the statistics are ([x_u = x_v] for each edge[, x_u in {-1, +1} for
    each node]). Z normalises exp(theta . s), without the constant factors 1 - a_c.

    Parameters are those of `PairwiseModel`.
    """

    fields: bool = False

    name = "agreement"
    about = "log odds of agreement and fields over {-1, +1}"
    is_agreement = True
    edge_features = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    node_features = np.array([[-1.0, 1.0]])
