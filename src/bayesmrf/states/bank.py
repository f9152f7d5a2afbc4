r"""A bank of states at one theta, from which log Z is known at every theta nearby (Geyer and Thompson 1992).

With :math:`\mu` and V the mean and the covariance of the features at :math:`\theta_0`, and :math:`\delta = \theta -
\theta_0`,

.. math:: \log \frac{Z(\theta)}{Z(\theta_0)} = \delta \cdot \mu + \tfrac12 \delta^\top V \delta + R(\delta), \qquad
          R(\delta) = \log E \, e^z - E z - \tfrac12 \operatorname{Var} z, \quad z = \delta \cdot f(x),

exactly. The mean and the covariance come from many states, and the third and higher cumulants R from fewer of them.
The effective share of these, :math:`(E e^z)^2 / E e^{2z}`, is small where theta has left the bank: R is then too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..compiled import strict_leaf
from ..models.boltzmann import Coding
from ..models.categorical import is_categorical
from ..models.ordinal import Ordinal
from .edge_tables import TableParticles, potentials_of, start_particles, table_graph, unpack
from .importance import START_SWEEPS
from .level_flips import flip_levels
from .table_sweeps import sweep

_EVERY = 4  # sweeps, after flips of clusters, between two states of a chain
_ROWS = 4096  # of features at a time


class Bank(NamedTuple):
    """Moments of features at theta, and states that are drawn there."""

    theta: np.ndarray  # (F,)
    mean: np.ndarray  # (F,)
    error: np.ndarray  # (F,), standard errors of the mean
    covariance: np.ndarray  # (F, F)
    states: np.ndarray  # (m, n_nodes) int8


class BankChains:
    """Chains of states at any theta.

    Parameters
    ----------
    model : NodeFeatures
    rows : (n_chains, n_nodes) int array
        Where chains start; their number is a multiple of 64.
    rng : Generator
    """

    def __init__(self, model: Any, rows: np.ndarray, rng: np.random.Generator) -> None:
        self._model, self._rng = model, rng
        self._tables: Any = model if is_categorical(model) else Ordinal(model.graph, 2)
        particles = start_particles(len(rows), model.graph.n_nodes, self._tables.n_states, rng)
        self._particles = particles._replace(x=np.ascontiguousarray(rows.T.astype(np.int8)))

    def states(self, theta: np.ndarray, n_times: int) -> np.ndarray:
        """Return the states of all chains ``n_times``, (n_times, n_chains, n_nodes) int8, after sweeps at theta."""
        tables, same = self._tables, theta
        if tables is not self._model:
            same = Coding.of(self._model).weights(self._model, theta)
        unpacked = unpack(self._particles, potentials_of(tables, same), tables.categorical(same).field)
        out = np.empty((n_times, unpacked.x.shape[1], len(unpacked.x)), np.int8)
        _record(self._rng, self._graph, unpacked, out)
        self._particles = TableParticles(unpacked.x, unpacked.lanes)
        return out

    @cached_property
    def _graph(self) -> Any:
        return table_graph(self._tables)


@strict_leaf
def _record(rng, graph, unpacked, out):
    """Sweep all particles, and set ``out`` to their states."""
    n_times, n_particles, n_nodes = out.shape
    for t in range(-START_SWEEPS // _EVERY, n_times):
        flip_levels(rng, graph, unpacked)
        for _ in range(_EVERY):
            sweep(graph, unpacked)
        if t >= 0:
            for i in range(n_nodes):
                for c in range(n_particles):
                    out[t, c, i] = unpacked.x[i, c]


def covariance_of(model: Any, states: np.ndarray) -> np.ndarray:
    """Compute the covariance of the features over states (m, n_nodes)."""
    shift = model.features(states[:_ROWS].astype(np.int64)).mean(axis=0)
    squares, total = np.zeros((len(shift), len(shift))), np.zeros(len(shift))
    for f in features_of(model, states, shift):
        squares += f.T @ f
        total += f.sum(axis=0, dtype=np.float64)
    mean = total / len(states)
    return squares / len(states) - np.outer(mean, mean)


def features_of(model: Any, states: np.ndarray, shift: np.ndarray) -> Iterator[np.ndarray]:
    """Return the features less ``shift``, (rows, F) float32, of some of the states at a time."""
    for first in range(0, len(states), _ROWS):
        f = model.features(states[first : first + _ROWS].astype(np.int64), np.float32)
        f -= shift.astype(np.float32)
        yield f


def log_z(model: Any, bank: Bank, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute log Z at ``theta`` (n, F) over that at the bank's, and the effective share of its states, (n,) each."""
    delta = theta - bank.theta
    slim, n = delta.T.astype(np.float32), len(bank.states)
    shift = model.features(bank.states[:_ROWS].astype(np.int64)).mean(axis=0)
    first, second, total, squares = np.zeros((4, len(theta)))
    for f in features_of(model, bank.states, shift):
        z = f @ slim
        first += z.sum(axis=0, dtype=np.float64)
        second += np.einsum("ij,ij->j", z, z)
        weight = np.exp(z, out=z)
        total += weight.sum(axis=0, dtype=np.float64)
        squares += np.einsum("ij,ij->j", weight, weight)
    mean = first / n
    rest = np.log(total / n) - mean - 0.5 * (second / n - mean**2)
    quadratic = delta @ bank.mean + 0.5 * np.einsum("ni,ij,nj->n", delta, bank.covariance, delta, optimize=True)
    return quadratic + rest, total**2 / (n * squares)
