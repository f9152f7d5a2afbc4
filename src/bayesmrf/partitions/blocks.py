r"""Partitions of n nodes into blocks: a mixture of finite mixtures, or a Dirichlet process.

Both are

.. math:: p(c) = V_n(t) \prod_{j=1}^t \frac{\Gamma(\gamma + n_j)}{\Gamma(\gamma)}

for a partition into t blocks of sizes n_j (Miller and Harrison 2018, Mixture models with a prior on the number of
components, eq. 3.3 and 3.4). With K - 1 ~ Poisson(rate) components, of which some may have no node,

.. math:: V_n(t) = \sum_{k \ge t} \frac{k!}{(k - t)!} \frac{\Gamma(\gamma k)}{\Gamma(\gamma k + n)} p(K = k).

Under the Dirichlet process gamma is 0, with :math:`(n_j - 1)!` in place of the ratio, and :math:`V_n(t) = \alpha^t
\Gamma(\alpha) / \Gamma(\alpha + n)`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from ..priors import Blocks

_MOST = 1000  # components beyond those that have a node; the terms fall as those of a Poisson distribution


def log_weights(prior: Blocks, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return log V_n(t) for t = 0..n + 1, (n + 2,), and the log factor of a block of each size 0..n, (n + 1,)."""
    alpha, sizes, t = float(prior.concentration), np.arange(1.0, n + 1), np.arange(n + 2.0)
    if prior.partition == "process":
        return t * np.log(alpha) + gammaln(alpha) - gammaln(alpha + n), np.append(0.0, gammaln(sizes))
    rate, k = float(prior.rate), np.arange(1, n + _MOST)
    log_p = (k - 1) * np.log(rate) - rate - gammaln(k) + gammaln(alpha * k) - gammaln(alpha * k + n) + gammaln(k + 1)
    more = k - t[:, None]
    log_v = logsumexp(np.where(more >= 0, log_p - gammaln(np.maximum(more, 0) + 1.0), -np.inf), axis=1)
    return log_v, np.append(0.0, gammaln(alpha + sizes) - gammaln(alpha))


def log_prior_of_numbers(prior: Blocks, n: int) -> np.ndarray:
    r"""Return the log prior probability of t = 1..n blocks that have a node, (n,).

    The sum over all partitions into t blocks is a partial Bell polynomial of the factors of blocks, by its recursion
    over the size of the block of the last node.
    """
    log_v, log_size = log_weights(prior, n)
    log_sums = np.full((n + 1, n + 1), -np.inf)  # of the first m nodes in t blocks
    log_sums[0, 0] = 0.0
    for m in range(1, n + 1):
        size = np.arange(1, m + 1)
        ways = gammaln(m) - gammaln(size) - gammaln(m - size + 1) + log_size[size]
        log_sums[m, 1:] = logsumexp(ways[:, None] + log_sums[m - size, :-1], axis=0)
    return log_sums[n, 1:] + log_v[1 : n + 1]
