r"""Persistent chains that follow theta, also from mode to mode.

Within a mode, a few Gibbs sweeps after each move of theta keep persistent chains close to p(x | theta). The shares of
chains in several modes lag behind: theta then runs ahead, and the probabilities of modes vary much more over draws than
the posterior allows, while single parameters hardly do. So chains are watched, and where they keep their mode they are

* *weighted* by the ratio of their densities at the former theta and at the new one, and resampled, so that shares of
  modes follow at once (where less than 98 % of the chains would be effective, theta has moved too far: weights are
  forgotten, and the call is *late*);
* *swapped* with the states of a ladder of tempered chains (`bayesmrf.samplers.ladder`), so that errors of these shares
  do not add up.

Both together make a call three to four times as long. The test of whether they are needed costs almost nothing: every
64 sweeps the states are projected onto their first principal component, and 64 sweeps later again. Projections of
chains that mix are not correlated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..models.categorical import Categorical
from ..models.pairwise import Pairwise
from .gibbs import LANES, Chains, to_states
from .ladder import Ladder, start_ladder, swap_round
from .resampling import systematic
from .tempered import add_potentials

_NODES = 4096  # that are looked at, at most
_PERIOD = 64  # sweeps between two looks
_KEPT = 0.1  # correlation with the last look above which chains keep their mode
_SURE = 4.0  # standard errors of a correlation of 0 that it exceeds, too
_SWEEPS = 1.0  # sweeps of the ladder's chains for each of the persistent ones, at most
_EFFECTIVE = 0.98  # share of effective chains below which weights are forgotten
_POWER = 5  # iterations that improve on the direction of the last look


class Followed(NamedTuple):
    """Persistent chains, their projections at the last check, and a ladder if they keep their mode."""

    chains: Chains
    direction: np.ndarray  # (n_values,) onto which they were projected at the last look
    seen: np.ndarray  # (n_chains,) projections then
    age: int  # sweeps
    coupling: np.ndarray  # of the model at which the chains are
    field: np.ndarray
    ladder: Ladder | None
    unspent: float  # sweeps of single chains that the ladder may make

    @property
    def round_trips(self) -> float:
        """Round trips of the ladder for each chain; NaN if the chains need no ladder."""
        return np.nan if self.ladder is None else self.ladder.n_trips / (LANES * len(self.chains.states))

    def former(self, form: Pairwise | Categorical) -> Pairwise | Categorical:
        """Return the model of the chains that have a ladder."""
        return form._replace(coupling=self.coupling, field=self.field)


def watch(chains: Chains) -> Followed:
    """Watch chains from now on."""
    nothing = np.zeros(0)
    return Followed(chains, nothing, nothing, 0, nothing, nothing, None, 0.0)


def move(form: Pairwise | Categorical, followed: Followed) -> bool:
    """Let chains with a ladder follow to a new theta by their weights, in place; return whether they are late.

    They must have been swept since their moments moved theta (`Followed.former`). Otherwise theta has moved away from
    what the chains have by chance in each mode, and the modes of which there are few chains lose most by it.
    """
    chains, log_weights = followed.chains, np.zeros((len(followed.chains.states), LANES))
    change = form._replace(coupling=form.coupling - followed.coupling, field=form.field - followed.field)
    add_potentials(change, chains.states, log_weights)
    weights = np.exp(log_weights - log_weights.max()).ravel()
    late = bool(weights.sum() ** 2 < _EFFECTIVE * len(weights) * (weights @ weights))
    if not late:
        spare, dead = systematic(np.random.default_rng(chains.lanes[0, :, 0]), weights)
        chains.states[dead // LANES, :, dead % LANES] = chains.states[spare // LANES, :, spare % LANES]
    # In place, as the chains are: a call whose result is not used, as of a rejected move, has moved them all the same.
    followed.coupling[...], followed.field[...] = form.coupling, form.field
    return late


def swap(
    form: Pairwise | Categorical,
    followed: Followed,
    n_chains: int,
    n_sweeps: int,
    visited: Pairwise | Categorical | None = None,
) -> Followed:
    """Look at chains that have made ``n_sweeps`` sweeps, and swap their states with the ladder's if they need one.

    Parameters
    ----------
    form : Pairwise or Categorical
        The model at theta.
    followed : Followed
        Its chains are advanced in place.
    n_chains : int
        Number of chains that are swept. With a ladder all chains must be, also those that fill up the last block: they
        start at states of the others.
    n_sweeps : int
    visited : Pairwise or Categorical, optional
        The same model for the sweeps of the ladder, without edges that do nothing.
    """
    age = followed.age + n_sweeps
    if age // _PERIOD > followed.age // _PERIOD:
        followed = _interim_check(form, followed, n_chains)
    ladder, unspent = followed.ladder, followed.unspent
    if ladder is not None:
        unspent += _SWEEPS * n_sweeps * n_chains
        while unspent >= ladder.cost:
            unspent -= ladder.cost
            ladder = swap_round(form if visited is None else visited, ladder, followed.chains)
    return followed._replace(age=age, unspent=unspent, ladder=ladder)


def _interim_check(form: Pairwise | Categorical, followed: Followed, n_chains: int) -> Followed:
    """Compare the chains with the last interim check, and start a ladder if they keep their mode."""
    n_states = form.field.shape[1] if isinstance(form, Categorical) else None
    x = followed.chains.states
    part = x[:, :: 1 + x.shape[1] // _NODES]
    states = to_states(followed.chains._replace(states=part), n_chains, n_states)
    values = states.astype(np.float64)
    if n_states is not None:
        values = (states[:, :, None] == np.arange(1, n_states)).reshape(n_chains, -1).astype(np.float64)
    ladder = followed.ladder
    if ladder is None and len(followed.seen):
        kept = _correlation(values @ followed.direction, followed.seen)
        if kept > max(_KEPT, _SURE / np.sqrt(n_chains)):
            # As random as the generator of the first chain, which goes on elsewhere.
            rng = np.random.default_rng(followed.chains.lanes[0, :, 0])
            ladder = start_ladder(form, to_states(followed.chains, n_chains, n_states), rng)
            followed = followed._replace(coupling=form.coupling.copy(), field=form.field.copy())
            still = np.arange(n_chains, LANES * len(x))
            x[still // LANES, :, still % LANES] = x[still % n_chains // LANES, :, still % n_chains % LANES]
    direction = _principal_component(values, followed.direction)
    return followed._replace(direction=direction, seen=values @ direction, ladder=ladder)


def _principal_component(values: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Approximate the first principal component of the rows by power iterations from ``direction``; 0 for equal rows.

    If ``direction`` is empty or 0, the iterations start at the row that is furthest from the mean.
    """
    centred = values - values.mean(axis=0)
    if not direction.any():
        direction = centred[np.square(centred).sum(axis=1).argmax()]
    for _ in range(_POWER):
        length = np.linalg.norm(direction)
        if length == 0:
            break
        direction = centred.T @ (centred @ (direction / length))
    return direction


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the correlation of two series; 0 if one is constant."""
    return 0.0 if np.ptp(a) == 0 or np.ptp(b) == 0 else float(np.corrcoef(a, b)[0, 1])
