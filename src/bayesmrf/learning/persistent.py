"""Maximum likelihood by persistent contrastive divergence (Tieleman 2008), with tied parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..compiled import leaf
from ..declare.option import Checked, needs, option
from ..declare.rule import JOBS, POSITIVE, STATES
from ..samplers import gibbs

# Up to this many free parameters the chains give a full Fisher matrix; above, its diagonal.
_MAX_NEWTON = 400
_MAX_STEP = 0.5  # of a natural parameter in one iteration


def has_fisher_matrix(n_free: int) -> bool:
    """Return whether the chains give the full Fisher matrix of so many free parameters."""
    return n_free <= _MAX_NEWTON


class PCDState(NamedTuple):
    """State between calls: the last estimate and the persistent chains."""

    theta: np.ndarray  # (n_features,)
    chains: gibbs.Chains


@dataclass(frozen=True, eq=False)
class PersistentMLE(Checked):
    """Stochastic Newton ascent of the likelihood with persistent Gibbs chains.

    With psi the free parameters (one for each group of edges, one for each node field) and t their summed statistics,

    .. math:: \\psi \\leftarrow \\psi + \\gamma_j F^{-1} (\\bar t - \\hat E_\\psi[t]),

    where the expectation is over the chains after one more sweep, and F is their running covariance of t (its
    diagonal for more than 400 free parameters). The rate gamma is constant over the first half of the iterations and
    falls as 1/j in the second (with F of full rank; as j^(-2/3) with the diagonal), whose average is the estimate
    (Polyak and Juditsky 1992).

    Parameters
    ----------
    model : PairwiseModel
    s_bar : (n_features,) array
        Mean statistics of the data.
    """

    model: Any
    s_bar: np.ndarray
    bound: float = field(metadata=needs(POSITIVE, "Edge parameters stay within +-bound."))
    n_chains: int = option(1024, STATES, "Persistent chains.")
    n_jobs: int = option(1, JOBS, "Threads that sweep the chains; -1 is one for each core.")

    def start(self, rng: np.random.Generator) -> PCDState:
        """Start chains at random states, at theta = 0."""
        chains = gibbs.start(self.n_chains, self.model.graph.n_nodes, rng)
        return PCDState(np.zeros(self.model.n_features), chains)

    def fit(self, state: PCDState, n_steps: int, groups: np.ndarray | None = None) -> PCDState:
        """Run ``n_steps`` iterations from ``state`` with edge parameters tied by ``groups`` (untied by default).

        Chains are advanced in place. The result's ``theta`` is the averaged estimate.
        """
        r = self.model.n_edges
        groups = np.arange(r, dtype=np.int32) if groups is None else np.asarray(groups, dtype=np.int32)
        k = int(groups.max(initial=-1)) + 1
        sizes = np.bincount(groups, minlength=k)
        n_fields = self.model.n_features - r

        def tie(per_feature: np.ndarray) -> np.ndarray:
            return np.concatenate([np.bincount(groups, per_feature[:r], minlength=k), per_feature[r:]])

        def untie(psi: np.ndarray) -> np.ndarray:
            return np.concatenate([psi[:k][groups], psi[k:]])

        psi = tie(state.theta)
        psi[:k] /= sizes
        target = tie(self.s_bar)
        newton = has_fisher_matrix(len(psi))
        fisher = np.zeros((len(psi), len(psi)) if newton else len(psi))
        weight, burn = 0.0, max(1, n_steps // 2)
        average = np.zeros_like(psi)
        for j in range(n_steps):
            form = self.model.pairwise(untie(psi))
            gibbs.sweep(form, state.chains, 1, self.n_jobs)
            late = max(0, j - burn)
            if newton:
                t = summed_statistics(self.model.graph.edges, groups, k, n_fields > 0, state.chains.states)
                t = t.reshape(len(psi), -1)[:, : self.n_chains]
                # Plain operations: on small models their calls are most of the time.
                mean = t.sum(axis=1) / self.n_chains
                t = t - mean[:, None]
                fisher, weight = 0.9 * fisher + 0.1 * (t @ t.T) / self.n_chains, 0.9 * weight + 0.1
                scale = fisher / weight
                diagonal = scale.ravel()[:: len(psi) + 1]  # a view
                diagonal += 1e-3 * (1e-3 + diagonal)
                step = np.linalg.solve(scale, target - mean) / (1 + late)
            else:
                agree, ones = gibbs.counts(form, state.chains, self.n_chains)
                pair, node = 2 * agree / self.n_chains - 1, 2 * ones / self.n_chains - 1
                moments = self.model.moments(pair, node)
                mean = tie(moments)
                variance = np.concatenate([moments[:r] * (1 - moments[:r]), 1 - moments[r:] ** 2])
                fisher, weight = 0.9 * fisher + 0.1 * tie(variance), 0.9 * weight + 0.1
                step = 0.5 * (target - mean) / (fisher / weight + 1e-3) / (1 + late) ** (2 / 3)
            psi = psi + np.minimum(np.maximum(step, -_MAX_STEP), _MAX_STEP)
            psi[:k] = np.minimum(np.maximum(psi[:k], -self.bound), self.bound)
            if j >= burn or n_steps == 1:
                average += psi
        return PCDState(untie(average / max(1, n_steps - burn)), state.chains)


@leaf
def summed_statistics(edges, groups, k, fields, states):
    """Sum the statistics of each chain over each group, then node states: (k [+ n_nodes], n_blocks, n_lanes)."""
    n_blocks, n_nodes, n_lanes = states.shape
    out = np.zeros((k + (n_nodes if fields else 0), n_blocks, n_lanes), np.float32)
    for block in range(n_blocks):
        for i in range(len(edges)):
            u, v, row = edges[i, 0], edges[i, 1], out[groups[i], block]
            for lane in range(n_lanes):
                row[lane] += np.float32(states[block, u, lane] == states[block, v, lane])
        if fields:
            for u in range(n_nodes):
                for lane in range(n_lanes):
                    out[k + u, block, lane] = states[block, u, lane]
    return out
