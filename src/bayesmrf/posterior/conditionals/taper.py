r"""The normal factor of slabs with Cauchy tails, for any number of parameters of an edge.

The squared length of n Cauchy parameters of scale s is :math:`|d|^2 = s^2 \chi^2_n / \chi^2_1`, so that

.. math:: P(|d| > r) \to h_n s / r, \qquad h_n = \frac{2 \Gamma((n + 1) / 2)}{\sqrt\pi \, \Gamma(n / 2)}.

A normal factor :math:`e^{-|d|^2 / 2 \tau^2}` takes away a share in proportion to :math:`h_n s / \tau`. With
:math:`\tau_n = \tau h_n / h_1` it is the same for any n, to the first order in :math:`s / \tau`: normalizing constants
differ by 0.25 % at scale 6, and by 1.2 % at the scales from which on the factor is warned of. A slab with the factor
:math:`|d|^k` has the length of n + k Cauchy parameters.
"""

from __future__ import annotations

from ...compiled import strict_leaf
from ...priors import taper_precision as _precision

taper_precision = strict_leaf(_precision)
