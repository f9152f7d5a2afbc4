r"""Exact sampling by coupling from the past (Propp and Wilson 1996) with summary states (Childs et al. 2001).

Gibbs sweeps from time -infinity have the distribution p(x | theta) at time 0. Their state at time 0 is known if sweeps
from some time -T, with given random numbers, lead from *every* state to the same one. All states are followed at once
by an interval at each node: [-1, +1] ("?") at time -T, and then, with a threshold c_i for each visit of node i,
logistic divided by 2,

.. math:: x_i = \begin{cases}+1 & h_i > c_i\\ -1 & \text{else}\end{cases},
          \qquad h_i = b_i + \sum_{j \sim i} w_{ij} x_j \in [h_i^{\min}, h_i^{\max}],

which is the heat bath, as P(c < h) = (1 + tanh h) / 2. The node's interval is a single value unless c_i lies between
the bounds of its field (Childs, Patterson and MacKay 2001; the bounding chains of Huber 1998 and of Haggstrom and
Nelander 1999). T is doubled until all intervals are single values, and each time step keeps its random numbers, which
makes the result exact.

With attractive couplings (w_ij >= 0, or after flipping some nodes, see `is_attractive`) the ends of the intervals are
two chains, from the smallest and the largest state: this *is* the monotone algorithm of Propp and Wilson, whose time is
of the order of the mixing time of Gibbs sampling. With frustrated couplings the intervals may stay open much longer
than the chains need to coalesce. Given open neighbours O, node i stays open with a probability of at most sum_{j in O}
tanh|w_ij|, so row sums of tanh|w| below 1 suffice for quick coalescence; fields help.

64 samples are drawn in parallel. A longer T than a sample needs does not change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..base import BINARY, SAMPLE, Kind, Model, Stateless
from ..compiled import strict_leaf
from ..compiled.lanes import SQRT_HALF
from ..declare.option import option
from ..declare.rule import COUNT
from ..errors import OptionError
from ..models.categorical import binary_form
from ..models.pairwise import Pairwise
from ..rng import lane_generators, next_uint32
from .gibbs import LANES, check_positive
from .swendsen_wang import check_finite


class ExactDraws(NamedTuple):
    """Independent exact samples, and the start time of each."""

    states: np.ndarray  # (n_samples, n_nodes) int8 in {0, 1}
    depths: np.ndarray  # (n_samples,) int64, sweeps, powers of two: the first T at which all states had coalesced


def is_attractive(model: Pairwise) -> bool:
    """Return whether flipping some nodes makes all couplings >= 0: no cycle has an odd number of negative ones.

    Two copies of each node stand for its two signs, and a coupling joins the copies that it favours. The graph is
    frustrated if both copies of a node are connected (Harary's balance of signed graphs).
    """
    n = len(model.field)
    u, v = model.edges[model.coupling != 0].T.astype(np.int64)
    crossed = np.where(model.coupling[model.coupling != 0] < 0, n, 0)
    rows, columns = np.concatenate([u, u + n]), np.concatenate([v + crossed, v + n - crossed])
    links = coo_array((np.ones(len(rows)), (rows, columns)), shape=(2 * n, 2 * n))
    label = connected_components(links, directed=False)[1]
    return bool((label[:n] != label[n:]).all())


def sample_exact(model: Pairwise, n_samples: int, rng: np.random.Generator, max_sweeps: int = 2**16) -> ExactDraws:
    """Draw exact samples, and return them with the start time of each.

    Parameters
    ----------
    model : Pairwise
        The field at one theta.
    n_samples : int
    rng : numpy.random.Generator
        Seeds the lane generators, one for each sample and each doubling of the time.
    max_sweeps : int
        Largest T.

    Raises
    ------
    OptionError
        If a number is not an integer >= 1 or a parameter is not finite, or if a sample has not coalesced within
        ``max_sweeps``. Drawing again in that case would bias the samples towards states that coalesce early.
    """
    check_positive("n_samples", n_samples)
    check_positive("max_sweeps", max_sweeps)
    check_finite(model)
    states = np.empty((n_samples, len(model.field)), np.int8)
    depths = np.empty(n_samples, np.int64)
    for first in range(0, n_samples, LANES):
        rows = slice(first, min(first + LANES, n_samples))
        _coalesce(model, states[rows], depths[rows], rng, max_sweeps)
    return ExactDraws(states, depths)


@dataclass(frozen=True)
class CouplingFromThePast(Stateless):
    """Engine that draws exact samples by coupling from the past: monotone if possible, else by summary states.

    Parameters
    ----------
    max_sweeps
        See `sample_exact`.
    """

    max_sweeps: int = option(2**16, COUNT, "Largest T (a power of two), after which `sample` raises an OptionError.")

    name = "cftp"
    answers = frozenset({SAMPLE})
    families = frozenset({BINARY})
    kind = Kind.EXACT

    def sample(
        self, model: Model, theta: np.ndarray, plan: None, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw ``(n_samples, n_nodes)`` int8 states in {0, 1}."""
        return sample_exact(binary_form(model, theta), n_samples, rng, self.max_sweeps).states


def _coalesce(
    model: Pairwise, states: np.ndarray, depths: np.ndarray, rng: np.random.Generator, max_sweeps: int
) -> None:
    """Fill ``states`` and ``depths`` with up to 64 samples."""
    n_samples, n_nodes = states.shape
    depths[:] = 0
    seeds: list[np.ndarray] = []  # seeds[0] drives the last sweep, seeds[k] the 2^(k - 1) sweeps from time -2^k on
    for n_sweeps in (2**k for k in range(max_sweeps.bit_length())):
        seeds.append(lane_generators(rng, 1, LANES)[0])
        low, high = np.full((n_nodes, LANES), -1, np.int8), np.full((n_nodes, LANES), 1, np.int8)
        for k in reversed(range(len(seeds))):
            _sweep(model, low, high, seeds[k].copy(), 2**k // 2 or 1)
        open_nodes = (low != high)[:, :n_samples]
        met = ~open_nodes.any(axis=0)
        depths[met & (depths == 0)] = n_sweeps
        if met.all():
            states[...] = low.T[:n_samples] > 0
            return
    why = (
        "the couplings are attractive, so Gibbs sampling mixes about as slowly"
        if is_attractive(model)
        else "the couplings are frustrated, so Gibbs sampling may mix much sooner"
    )
    raise OptionError(
        f"max_sweeps={n_sweeps} was too small: {(~met).sum()} of {n_samples} samples have not coalesced, and "
        f"{open_nodes[:, ~met].mean():.0%} of their nodes are still open; {why}; use engine='elimination' if the "
        "treewidth is small, weaker couplings, or a larger max_sweeps."
    )


HALF_LOG_2 = float(np.log(2) / 2)


@strict_leaf
def _thresholds(generators, odds, bits, out):
    """Fill ``out`` with log(u / (1 - u)) / 2 for one uniform u of each lane (an odd multiple of 2^-33).

    The logarithm is computed here because calls of the C library do not vectorise: with odds = 2^e m, m in [0.71,
    1.41], it is e log 2 + 2 artanh((m - 1) / (m + 1)), argument below 0.172, by a series with an error below 1e-12.
    """
    for lane in range(len(out)):
        u = (next_uint32(generators, lane) + 0.5) * 2.0**-32
        odds[lane] = u / (1 - u)
    for lane in range(len(out)):
        exponent = (bits[lane] - SQRT_HALF) >> 52
        bits[lane] -= exponent << 52
        out[lane] = HALF_LOG_2 * exponent
    for lane in range(len(out)):
        z = (odds[lane] - 1) / (odds[lane] + 1)
        y = z * z
        out[lane] += z * (1 + y * (1 / 3 + y * (1 / 5 + y * (1 / 7 + y * (1 / 9 + y * (1 / 11 + y / 13))))))


# Not fastmath: the two ends of an interval must be rounded in the same way, or they could cross.
@strict_leaf
def _sweep(model, low, high, generators, n_sweeps):
    """Run the intervals of a block of lanes, (n_nodes, n_lanes) each end, and its generators through sweeps."""
    # Tells the compiler that n_lanes is a multiple of 64; a constant 64 would be unrolled and not vectorised.
    n_nodes, n_lanes = low.shape[0], low.shape[1] >> 6 << 6
    bottom, top, threshold, odds = np.empty(n_lanes), np.empty(n_lanes), np.empty(n_lanes), np.empty(n_lanes)
    bits = odds.view(np.int64)
    for _ in range(n_sweeps):
        for i in range(n_nodes):
            bottom[:] = model.field[i]
            top[:] = model.field[i]
            for k in range(model.starts[i], model.starts[i + 1]):
                j, w = model.neighbours[k], model.coupling[model.edge_of[k]]
                least, most = (low[j], high[j]) if w > 0 else (high[j], low[j])
                for lane in range(n_lanes):
                    bottom[lane] += w * least[lane]
                    top[lane] += w * most[lane]
            _thresholds(generators, odds, bits, threshold)
            for lane in range(n_lanes):
                low[i, lane] = 1 if bottom[lane] > threshold[lane] else -1
                high[i, lane] = 1 if top[lane] > threshold[lane] else -1
