r"""A ladder of tempered chains below persistent ones, by which their states change modes.

Persistent chains stay in the modes in which they are: the share of chains in a mode does not follow its weight. Below
them are rungs k = 0, ..., K - 1 of 64 chains each, with

.. math:: p_k(x) \propto \exp\big((1 - b_k) h \cdot x + b_k V(x)\big), \qquad 0 = b_0 < \dots < b_{K-1} < 1,

where V is the log density of the model, and h are the fields of independent nodes with the means of the persistent
chains, which are those of the data. Rungs swap states with their neighbours as in `bayesmrf.samplers.tempered`, and the
highest one with the persistent chains, which have b = 1: with a block of 64 of them in turn. The distribution of all
remains what it was, so that persistent chains have p at any theta, and now come to each mode by its weight.

The rungs move to where equally many swaps are rejected. A state that was at rung 0 makes a *round trip* when it arrives
at the persistent chains. The number of round trips is the number of independent visits to the modes, if independent
nodes with the fields h lead to all of them. A mode behind a first-order transition is not reached; the check of kept
draws (`bayesmrf.inference.unseen_modes`) searches for those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..models.categorical import Categorical
from ..models.pairwise import Pairwise
from .gibbs import LANES, Chains, start, sweep
from .tempered import between, find_ladder, move_rungs, swap_states

_MEMORY = 0.05  # weight of a swap in the running mean of rejections
_ROUNDS = 100  # of swaps between two moves of the rungs
_LEAST = 0.01  # probability of a state of an independent node


class Ladder(NamedTuple):
    """Rungs below persistent chains; block k of ``chains`` is rung k."""

    temperatures: np.ndarray  # (n_rungs,) from 0, below 1
    base: np.ndarray  # (n_nodes,) or (n_nodes, n_states), fields h
    chains: Chains
    fallen: np.ndarray  # (n_rungs, 64) bool, moves with the states: was at rung 0
    rejected: np.ndarray  # (n_rungs,) running share of swaps with the next, at last with the persistent chains
    n_rounds: int
    n_trips: int  # round trips

    @property
    def cost(self) -> int:
        """Sweeps of single chains in a round."""
        return LANES * len(self.temperatures)


def start_ladder(form: Pairwise | Categorical, states: np.ndarray, rng: np.random.Generator) -> Ladder:
    """Lay a ladder below chains with the given states.

    Parameters
    ----------
    form : Pairwise or Categorical
        The model at theta.
    states : (n_chains, n_nodes) array in {0, ..., n_states - 1}
        The rungs start there, too.
    rng : numpy.random.Generator
    """
    n_states = form.field.shape[1] if isinstance(form, Categorical) else None
    base = independent_fields(states, n_states)
    rungs = find_ladder(form, n_states, rng, base)[:-1]
    chains = start(LANES * len(rungs), len(form.field), rng, states, n_states)
    fallen = np.zeros((len(rungs), LANES), dtype=bool)
    return Ladder(rungs, base, chains, fallen, np.full(len(rungs), 0.5), 0, 0)


def independent_fields(states: np.ndarray, n_states: int | None) -> np.ndarray:
    """Return the fields of independent nodes with the means of ``states``, at least 0.01 for each state."""
    share = np.stack([(states == k).mean(axis=0) for k in range(n_states or 2)], axis=1).clip(_LEAST)
    log_share = np.log(share / share.sum(axis=1, keepdims=True))
    return log_share if n_states is not None else (log_share[:, 1] - log_share[:, 0]) / 2


def swap_round(form: Pairwise | Categorical, ladder: Ladder, chains: Chains) -> Ladder:
    """Sweep every rung once and swap states of neighbours, those of the chains too, in place.

    Parameters
    ----------
    form : Pairwise or Categorical
        The model at theta.
    ladder : Ladder
    chains : Chains
        The persistent chains, which are not swept.
    """
    b, n, replicas, fallen = ladder.temperatures, ladder.n_rounds, ladder.chains, ladder.fallen
    for k in range(len(b)):
        sweep(between(form, ladder.base, b[k]), Chains(replicas.states[k : k + 1], replicas.lanes[k : k + 1]), 1)
    fallen[0] = True
    block, arrived = (n // 2) % len(chains.states), np.zeros((1, LANES), dtype=bool)
    states, marks = (*replicas.states, chains.states[block]), (*fallen, *arrived)
    change, above, rejected = form._replace(field=form.field - ladder.base), np.append(b, 1.0), ladder.rejected.copy()
    for k in range(n % 2, len(b), 2):
        low, high = states[k][None], states[k + 1][None]
        gap, lanes = above[k + 1] - above[k], replicas.lanes[k : k + 1]
        share = swap_states(change, gap, low, high, lanes, marks[k][None], marks[k + 1][None])
        rejected[k] += _MEMORY * (share - rejected[k])
    if (n + 1) % _ROUNDS == 0:
        b = move_rungs(above, rejected, len(above))[:-1]
    return ladder._replace(
        temperatures=b, rejected=rejected, n_rounds=n + 1, n_trips=ladder.n_trips + int(arrived.sum())
    )
