r"""The penalty for jumps by an estimated log ratio: it is subtracted, so that detailed balance holds.

The ratio contains :math:`-n \log \hat m`, where m is the mean of a weight w over c chains. Were its error normal with
known variance s^2, half of s^2 subtracted would restore detailed balance (the penalty method, Ceperley and Dewing
1999). Here the variance is estimated, and w is skewed, as it is large in rare states. With the moments

.. math:: v = \operatorname{Var} w / m^2, \qquad k = \operatorname E (w - m)^3 / m^3

of a birth, the death has :math:`v' = v - k` and :math:`k' = -k` to third order: its weight is 1 / w under the
distribution that is tilted by w. An Edgeworth expansion of both errors then gives what must hold to third order:

* the estimate of v comes with a share :math:`a = (1 - c / n) / 2` from the chains that decide, whose errors of v and of
  m are correlated, and with 1 - a from other chains;
* half the variance, with the bias of the logarithm, and a multiple of k are subtracted:

.. math:: \frac{n (n + 1)}{2 c} v + \left(\frac{n^3}{12 c^2} - \frac{n^2}{4 c}\right) k.
"""

from __future__ import annotations

from ...compiled import leaf


@leaf
def penalty(n, own, others, n_chains):
    """Return what is subtracted from a log ratio that is estimated by ``n_chains`` chains, never negative.

    ``own`` and ``others`` are v and k by these chains and by as many others.
    """
    share = max(0.5 * (1 - n_chains / n), -1.0) if n > 0 else 0.0
    v = max(share * own[0] + (1 - share) * others[0], 0.0)
    k = max(-v, min(v, 0.5 * (own[1] + others[1])))  # where it is larger, the expansion fails
    return max(0.5 * n * (n + 1) * v + n * n * (n / (12 * n_chains) - 0.25) * k, 0.0) / n_chains
