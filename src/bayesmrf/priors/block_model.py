r"""The prior of edges by blocks of nodes, whose partition is a mixture of finite mixtures, or a Dirichlet process.

Both are

.. math:: p(c) = V_n(t) \prod_{j=1}^t \frac{\Gamma(\gamma + n_j)}{\Gamma(\gamma)}

for a partition into t blocks of sizes n_j (Miller and Harrison 2018, Mixture models with a prior on the number of
components, eq. 3.3 and 3.4). With K - 1 ~ Poisson(rate) components, of which some may have no node,

.. math:: V_n(t) = \sum_{k \ge t} \frac{k!}{(k - t)!} \frac{\Gamma(\gamma k)}{\Gamma(\gamma k + n)} p(K = k).

Under the Dirichlet process gamma is 0, with :math:`(n_j - 1)!` in place of the ratio, and :math:`V_n(t) = \alpha^t
\Gamma(\alpha) / \Gamma(\alpha + n)`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..declare.option import option
from ..declare.rule import BETA, CONSTANT, choice, number
from .densities import draw_partitions
from .inclusion import Beta, Inclusion

if TYPE_CHECKING:
    from ..graphs import Graph

_MOST = 1000  # components beyond those that have a node; the terms fall as those of a Poisson distribution
_AT_A_TIME = 4096  # draws of blocks that are arrays together


@dataclass(frozen=True)
class Blocks(Inclusion):
    r"""Prior of edges by blocks of nodes (a stochastic block model): an edge exists with the probability of its blocks.

    .. math:: Y_{uv} \sim \mathrm{Bern}(q_{z_u z_v}), \quad q_{rr} \sim \text{within}, \quad q_{rs} \sim \text{between}

    How many blocks there are, and which nodes are in each, is learnt. By default nodes are divided as by a mixture of
    finite mixtures (Miller and Harrison 2018): K components, of which some may have no node, with K - 1 ~
    Poisson(rate) and shares ~ Dirichlet(concentration, ..., concentration).
    """

    partition: str = option(
        "mixture",
        choice("mixture", "process"),
        "Prior of the partition: a mixture of finite mixtures, or a Dirichlet process.",
    )
    concentration: float = option(
        1.0, CONSTANT, "Of the Dirichlet distribution of the shares of components, or of the process."
    )
    rate: float = option(
        1.0,
        number(0, 100, ends="(]", good=(0.5, 100)),
        "Prior mean of the number of components, less one; of no effect with a process.",
    )
    within: Beta = option(Beta(), BETA, "Prior of the probability of an edge within a block.")
    between: Beta = option(Beta(), BETA, "Prior of the probability of an edge between two blocks.")

    has_one_p0: ClassVar[bool] = False

    @property
    def blocks(self) -> Self:
        """The prior itself."""
        return self

    @property
    def record(self) -> dict[str, Any]:
        """The constants, by name."""
        return asdict(self)

    @property
    def constants(self) -> dict[str, Any]:
        """The probability before the first draw."""
        return {"fixed": 0.5}

    def mean(self, graph: Graph | None = None) -> float:
        """Return the prior probability that an edge exists, the same for all of them."""
        log_v, log_size = self.log_weights(2)
        together, within, between = float(np.exp(log_v[1] + log_size[2])), self.within, self.between
        return together * within.a / (within.a + within.b) + (1 - together) * between.a / (between.a + between.b)

    def draw(self, ends: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw blocks of the ends of edges, and return the probability of each edge given these, (n_draws, n_edges)."""
        sizes = [min(_AT_A_TIME, n_draws - k) for k in range(0, n_draws, _AT_A_TIME)]
        return np.concatenate([self._probabilities(ends, n, rng) for n in sizes])

    def _probabilities(self, ends: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        nodes, places = np.unique(ends, return_inverse=True)
        blocks = self._draw_blocks(n, len(nodes), rng)
        k = int(blocks.max()) + 1
        q = rng.beta(self.between.a, self.between.b, (n, k, k))
        q[:, np.arange(k), np.arange(k)] = rng.beta(self.within.a, self.within.b, (n, k))
        pair = np.sort(blocks[:, places.reshape(ends.shape)], axis=2)
        return q[np.arange(n)[:, None], pair[..., 0], pair[..., 1]]

    def _draw_blocks(self, n: int, n_nodes: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the block of each node, (n, n_nodes); partitions of some nodes have the prior of these nodes alone."""
        if self.partition == "process":
            return draw_partitions(self.concentration, n, n_nodes, rng)
        components = 1 + rng.poisson(self.rate, n)
        share = rng.standard_gamma(self.concentration, (n, int(components.max())))
        share[np.arange(share.shape[1]) >= components[:, None]] = 0
        cumulated = np.cumsum(share, axis=1)
        at = rng.random((n, n_nodes, 1)) * cumulated[:, None, -1:]
        return np.asarray((at > cumulated[:, None]).sum(axis=2))

    def all_absent(self, n: int) -> float | None:
        """Return the probability that an edge is absent; None of several."""
        return 1 - self.mean() if n == 1 else None

    def log_graph(self, n_present: np.ndarray, n_candidates: int, of_pairs: Any = None) -> None:
        """Return None: the probabilities of edges between blocks are parameters of the draw."""
        return None

    def log_weights(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return log V_n(t) for t = 0..n + 1, (n + 2,), and the log factor of a block of each size 0..n, (n + 1,)."""
        from scipy.special import gammaln, logsumexp

        alpha, sizes, t = float(self.concentration), np.arange(1.0, n + 1), np.arange(n + 2.0)
        if self.partition == "process":
            return t * np.log(alpha) + gammaln(alpha) - gammaln(alpha + n), np.append(0.0, gammaln(sizes))
        rate, k = float(self.rate), np.arange(1, n + _MOST)
        log_p = (k - 1) * np.log(rate) - rate - gammaln(k)
        log_p = log_p + gammaln(alpha * k) - gammaln(alpha * k + n) + gammaln(k + 1)
        more = k - t[:, None]
        log_v = logsumexp(np.where(more >= 0, log_p - gammaln(np.maximum(more, 0) + 1.0), -np.inf), axis=1)
        return log_v, np.append(0.0, gammaln(alpha + sizes) - gammaln(alpha))

    def log_prior_of_numbers(self, n: int) -> np.ndarray:
        r"""Return the log prior probability of t = 1..n blocks that have a node, (n,).

        The sum over all partitions into t blocks is a partial Bell polynomial of the factors of blocks, by its
        recursion over the size of the block of the last node.
        """
        from scipy.special import gammaln, logsumexp

        log_v, log_size = self.log_weights(n)
        log_sums = np.full((n + 1, n + 1), -np.inf)  # of the first m nodes in t blocks
        log_sums[0, 0] = 0.0
        for m in range(1, n + 1):
            size = np.arange(1, m + 1)
            ways = gammaln(m) - gammaln(size) - gammaln(m - size + 1) + log_size[size]
            log_sums[m, 1:] = logsumexp(ways[:, None] + log_sums[m - size, :-1], axis=0)
        return log_sums[n, 1:] + log_v[1 : n + 1]
