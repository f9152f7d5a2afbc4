r"""States that a model makes probable and the data do not have: modes that persistent chains may never visit.

Particles that follow theta see the modes in which they are. A mode that none of them visits has no weight in the
moments, and nothing keeps it from growing. Here fresh chains look for such modes at one theta. Let n_k(x) be the number
of nodes in state k. The tail :math:`P_\theta(n_k > q)` is bounded from below, for every k and q,
by annealed importance sampling (`bayesmrf.inference.annealed`). Chains are annealed to theta from independent nodes
with the means of the data, and from nodes that are nearly all in one state. Each start gives unbiased
estimates of Z and,
with the last states as an importance sample, of the part of Z above q,

.. math:: Z_q = \mathrm{E}\big[w\, 1[n_k(x) > q]\big],

so that the start with the highest estimate has found a mode that others miss. Both fall short where chains miss a mode.
The rest of Z is taken from above: the larger of the forward estimates and a reverse one, from chains that start at the
data, of the mean of 1 / w, which is at least 1 / Z on average. The bound is :math:`Z_q / (Z_q + Z_\text{rest})`, with
the numerator lowered by 4.75 standard errors, which a mean that rests on fewer than 23 chains does not survive.

Other chains start at rows of the data and make Gibbs sweeps at theta. What these reach, particles that follow theta
reach, too: a tail of theirs is one of a model that fits badly, and no unseen mode.

A tail is *unseen* if its bound exceeds what the data, and the chains from there, allow. Let c(q) of n rows
have n_k > q. With
probability
1 - 1e-6 the rows have a larger share under a tail of :math:`(c + \sqrt{2ac} + a) / n`, a = 14 (Chernoff's bound of a
Poisson count). Three times that is allowed, as draws of theta vary around the truth; and where the tails of the data
fall faster than those of any model, as of sums that are bounded by design, a tail of the model must also exceed that of
the data one standard deviation further inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data.states import States
from ..models.categorical import compiled_form, states_of
from ..samplers.gibbs import start, sweep, to_states
from .annealed import Annealed, draw_independent, forward, reverse

_SURE = 4.75  # standard errors: 1e-6
_LOG_RATE = 14.0  # minus the log of 1e-6
_SLACK = 3.0  # of the tail of a draw over that of the truth
_NEARLY = 0.95  # P(x_i = k) of nodes that are nearly all in state k
_RECORDS = 5  # times at which chains from the data are counted


class CountTails(NamedTuple):
    """Tails of the number of nodes in each state, over the rows of the data."""

    # (n_states, n_nodes + 1), number of rows c(q) with more than q nodes in state k; missing values count as if they
    # were in it
    above: np.ndarray
    n: float  # number of rows
    spread: np.ndarray  # (n_states,), standard deviation of the number of nodes, at least 1
    margins: np.ndarray  # (n_nodes, n_states), share of each state of each node


class Unseen(NamedTuple):
    """The tail of the model that exceeds that of the data most."""

    ratio: float  # its lower bound over what the data allow; above 1 it is unseen
    # state, most: the tail has states with more than ``most`` nodes in ``state``
    state: int
    most: int
    probability: float  # lower bound of its probability
    share: float  # share of the rows in it


class ModelTails(NamedTuple):
    """What fresh chains find at one theta."""

    # mean, error: (n_starts, n_states, n_nodes + 1), estimates of each tail, and their standard errors: from the data
    # first, then from each start of annealing
    mean: np.ndarray
    error: np.ndarray
    # log_z, log_z_error: (n_starts,), of each start; the first is the reverse estimate
    log_z: np.ndarray
    log_z_error: np.ndarray


@dataclass(frozen=True)
class ModeSearch:
    """Numbers of chains and sweeps.

    Parameters
    ----------
    n_chains, temperatures : int
        Of annealing, from each start.
    n_followed, n_sweeps : int
        Chains from the data, and their sweeps.
    """

    n_chains: int = 128
    temperatures: int = 200
    n_followed: int = 2048
    n_sweeps: int = 50

    def work(self, data: CountTails) -> int:
        """Return the sweeps of single chains at one theta."""
        return (2 + len(_sided(data))) * self.n_chains * self.temperatures + self.n_followed * self.n_sweeps

    def tails(
        self, model: Any, theta: np.ndarray, states: States, data: CountTails, rng: np.random.Generator
    ) -> ModelTails:
        """Estimate all tails of the model at theta.

        Parameters
        ----------
        model : Model
        theta : (n_features,) array
        states : States
            The data.
        data : CountTails
            Their tails.
        rng : numpy.random.Generator
        """
        tails, followed = self._follow(model, theta, states, data, rng)
        binary, (m, d1) = states_of(model) is None, data.above.shape
        bases = [data.margins, *(_nearly(data.margins, k) for k in _sided(data))]
        margins = [base[:, 1] if binary else base for base in bases]
        back = reverse(model, theta, followed[: self.n_chains], rng, self.temperatures, margins[0])
        runs = [forward(model, theta, rng, self.n_chains, self.temperatures, base) for base in margins]
        top = max(run.log_z for run in (back, *runs))
        parts = np.array([_parts(run, m, d1, top) for run in runs])
        mean, error = parts[:, 0], parts[:, 1]
        # Parts of Z become shares of it. On average a share is no larger than the true one, as Z_q / (Z_q + Z_rest) is
        # concave in Z_q; so this is also true of the mean over draws.
        z = np.exp([run.log_z - top for run in runs])[:, None, None]
        rest = np.maximum(np.exp(back.log_z - top), (z - mean).max(axis=0))
        scale = 1 / (mean + rest)
        log_z = [(run.log_z, run.standard_error) for run in (back, *runs)]
        return ModelTails(
            np.concatenate([tails[:1], mean * scale]), np.concatenate([tails[1:], error * scale]), *np.array(log_z).T
        )

    def _follow(
        self, model: Any, theta: np.ndarray, states: States, data: CountTails, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and error of the tails of chains from the data in their later sweeps, and the last states."""
        n_states, form, (m, d1) = states_of(model), compiled_form(model, theta), data.above.shape
        rows = states.spread(self.n_followed)
        if (rows < 0).any():
            rows = np.where(rows < 0, draw_independent(data.margins, len(rows), rng), rows)
        chains = start(self.n_followed, rows.shape[1], rng, rows, n_states)
        each = max(1, self.n_sweeps // (2 * _RECORDS))
        sweep(form, chains, max(1, self.n_sweeps - _RECORDS * each))
        numbers = np.empty((_RECORDS, self.n_followed, m), dtype=np.int64)
        for t in range(_RECORDS):
            sweep(form, chains, each)
            rows = to_states(chains, self.n_followed, n_states)
            numbers[t] = _numbers(rows, m)
        # A chain is above q at r or more of its records where its r-th largest number is.
        numbers = -np.sort(-numbers, axis=0)
        share, square = np.zeros((2, m, d1))
        for r in range(_RECORDS):
            fraction = _tails(numbers[r], None, d1) / self.n_followed
            share += fraction / _RECORDS
            square += (2 * r + 1) * fraction / _RECORDS**2
        return np.array([share, np.sqrt(np.maximum(square - share**2, 0) / (self.n_followed - 1))]), rows


def count_tails(states: States) -> CountTails:
    """Count the nodes in each state, over the rows of the data."""
    x, m = states.values, states.n_states
    w = np.ones(len(x)) if states.weights is None else states.weights
    n, d, n_missing = float(w.sum()), x.shape[1], (x < 0).sum(axis=1)
    above, spread, margins = np.empty((m, d + 1)), np.empty(m, dtype=np.int64), np.empty((d, m))
    for k in range(m):
        here = x == k
        number = here.sum(axis=1) + n_missing
        above[k] = _tails(number[:, None], w, d + 1)[0]
        spread[k] = max(1, round(float(np.sqrt(np.cov(number, aweights=w, ddof=0))))) if len(x) > 1 else 1
        margins[:, k] = here.sum(axis=0) if states.weights is None else w @ here
    n_observed = margins.sum(axis=1, keepdims=True)
    return CountTails(above, n, spread, np.where(n_observed > 0, margins / np.maximum(n_observed, 1), 1 / m))


def unseen(mean: np.ndarray, error: np.ndarray, data: CountTails, n_followed: int) -> Unseen:
    """Return the tail that exceeds most what the data, and chains that start there, allow.

    Parameters
    ----------
    mean, error : (n_starts, n_states, n_nodes + 1) array
        As in `ModelTails`, of one draw or the mean over draws.
    data : CountTails
    n_followed : int
        Chains from the data.
    """
    lower = np.max(mean[1:] - _SURE * error[1:], axis=0)
    c, q = data.above, np.arange(data.above.shape[1]) - data.spread[:, None]
    inside = np.where(q < 0, data.n, np.take_along_axis(c, np.maximum(q, 0), axis=1))
    allowed = np.maximum(_above(c, data.n), inside / data.n)
    allowed = np.maximum(allowed, _above(n_followed * mean[0], n_followed))
    ratio = lower / allowed
    at = np.unravel_index(int(ratio.argmax()), ratio.shape)
    return Unseen(float(ratio[at]), int(at[0]), int(at[1]), float(lower[at]), float(c[at] / data.n))


def _above(c: np.ndarray, n: float) -> np.ndarray:
    """Return the largest share of a tail that c of n independent states in it allow."""
    return _SLACK * (c + np.sqrt(2 * _LOG_RATE * c) + _LOG_RATE) / n


def _sided(data: CountTails) -> list[int]:
    """Return the states in which the data do not have nearly all nodes."""
    return [k for k, share in enumerate(data.margins.mean(axis=0)) if share < _NEARLY]


def _nearly(margins: np.ndarray, k: int) -> np.ndarray:
    """Return margins of nodes that are nearly all in state k."""
    m = margins.shape[1]
    base = np.full_like(margins, (1 - _NEARLY) / (m - 1))
    base[:, k] = _NEARLY
    return base


def _numbers(states: np.ndarray, n_states: int) -> np.ndarray:
    """Return the number of nodes in each state, (n, n_states)."""
    return np.stack([(states == k).sum(axis=1) for k in range(n_states)], axis=1)


def _tails(numbers: np.ndarray, weights: np.ndarray | None, length: int) -> np.ndarray:
    """Return the weight of the rows with more than q nodes in each state, (n_states, length)."""
    counts = np.array([np.bincount(number, weights, length) for number in numbers.T], dtype=np.float64)
    at_least = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    return np.append(at_least[:, 1:], np.zeros((len(counts), 1)), axis=1)


def _parts(run: Annealed, n_states: int, length: int, top: float) -> np.ndarray:
    """Return the means over chains of exp(-top) w 1[n_k > q] and their standard errors, (2, n_states, length)."""
    assert run.states is not None
    numbers, w = _numbers(run.states, n_states), np.exp(run.log_weights - top)
    mean, square = _tails(numbers, w, length) / len(w), _tails(numbers, w * w, length) / len(w)
    return np.array([mean, np.sqrt(np.maximum(square - mean**2, 0) / (len(w) - 1))])
