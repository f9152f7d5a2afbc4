"""How well the other nodes predict a node, in the model of a draw."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from scipy.special import xlogy

from ..compiled import strict_leaf
from ..inference.elimination.engine import Elimination, is_cheap
from ..models.bases import sizes_of
from ..models.categorical import Categorical, compiled_form, many_state_form, states_of
from ..models.pairwise import Pairwise
from ..samplers.gibbs import LANES, to_states
from ..samplers.tempered import Tempered, climb, find_ladder

_MOST_STATES = 2**18  # joint states that are summed over
_SAMPLES = 512  # states that stand for all others
_APART = 40  # rounds of parallel tempering between two of a ladder


def predictability(model: Any, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Compute :math:`1 - H(x_u \mid x_{-u}) / H(x_u)` of each node, and how often its most probable state is right.

    The sums are over all joint states if these are at most 2^18, else over 512 states of the model: exact draws by
    elimination where it is cheap, else by parallel tempering.

    Returns
    -------
    (3, n_nodes) array
        The share of the entropy, at least 0; the probability that the most probable state given all other nodes is
        right, and that the most probable state is (the base rate). The share of a node whose state is certain is NaN.
    """
    sizes, form = [int(n) for n in sizes_of(model)], many_state_form(model, theta)
    if prod(sizes) <= _MOST_STATES:
        return _by_enumeration(form, sizes)
    if is_cheap(model.graph, states_of(model)):
        states = Elimination().sample(model, theta, Elimination().prepare(model), _SAMPLES, rng)
    else:
        states = _tempered(compiled_form(model, theta), states_of(model), rng)
    return _by_samples(form, sizes, states)


def _tempered(form: Pairwise | Categorical, n_states: int | None, rng: np.random.Generator) -> np.ndarray:
    """Draw states by parallel tempering: of few ladders, at several times after they have forgotten their start."""
    ladder = find_ladder(form, n_states, rng)
    rungs = climb(form, ladder, LANES, Tempered().n_sweeps, n_states, rng)
    states = [to_states(rungs.chains[-1], LANES, n_states)]
    while len(states) * LANES < _SAMPLES:
        rungs = climb(form, ladder, LANES, _APART, n_states, rng, rungs=rungs)
        states.append(to_states(rungs.chains[-1], LANES, n_states))
    return np.concatenate(states)


def time_of(model: Any, n_edges: float) -> float:
    """Return about how many seconds `predictability` takes with so many edges."""
    n_states = prod(map(int, sizes_of(model)))
    if n_states <= _MOST_STATES:
        return 1e-4 + 1e-8 * len(sizes_of(model)) * n_states
    return (1e-3 * model.graph.n_nodes + 2e-4 * n_edges) * model.n_states * (model.n_states - 1) / 2


def _shares(entropy: np.ndarray, conditional_entropy: np.ndarray, right: np.ndarray, base: np.ndarray) -> np.ndarray:
    """Compute the three rows of `predictability`."""
    share = np.where(entropy > 0, np.maximum(0, 1 - conditional_entropy / np.where(entropy > 0, entropy, 1)), np.nan)
    return np.stack([share, right, base])


def _table(form: Categorical, e: int, first: int, second: int) -> np.ndarray:
    """Compute the log potentials (first, second) of the states of the ends of an edge."""
    w = form.coupling[e]
    return w[:first, :second] if np.ndim(w) else w * np.eye(first, second)


def _by_enumeration(form: Categorical, sizes: list[int]) -> np.ndarray:
    """Sum over all joint states."""
    log_p = np.zeros(1)
    tables = {}
    for e, (u, v) in enumerate(form.edges):
        table = _table(form, e, sizes[u], sizes[v])
        tables[max(u, v), min(u, v)] = table if u < v else table.T
    for i, m in enumerate(sizes):  # a node more: its states are the last axis
        by_state = form.field[i : i + 1, :m]
        for j, n in enumerate(sizes[:i]):  # given the states of one node before it more
            by_state = (by_state[:, None] + tables.get((i, j), np.zeros((n, m)))).reshape(-1, m)
        log_p = (log_p[:, None] + by_state).ravel()
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    rows, joint = np.empty((4, len(sizes))), -xlogy(p, p).sum()
    for i, m in enumerate(sizes):
        by_state, others, rows[2, i] = _of_others(p.reshape(prod(sizes[:i]), m, -1))
        rows[0, i], rows[1, i], rows[3, i] = -xlogy(by_state, by_state).sum(), max(joint - others, 0.0), by_state.max()
    return _shares(*rows)


@strict_leaf
def _of_others(table):
    """Return P(x_u), H(others) and how often the most probable state is right, of P (before, m, after)."""
    m = table.shape[1]
    own, entropy, right = np.zeros(m), 0.0, 0.0
    for i in range(len(table)):
        for j in range(table.shape[2]):
            other, most = 0.0, 0.0
            for k in range(m):
                p = table[i, k, j]
                own[k] += p
                other += p
                most = max(most, p)
            right += most
            if other > 0:
                entropy -= other * np.log(other)
    return own, entropy, right


def _by_samples(form: Categorical, sizes: list[int], states: np.ndarray) -> np.ndarray:
    """Average full conditionals over states of the model."""
    n, rows = len(states), np.empty((4, len(sizes)))
    fields = [np.tile(form.field[i, :m], (n, 1)) for i, m in enumerate(sizes)]
    for e, (u, v) in enumerate(form.edges):
        table = _table(form, e, sizes[u], sizes[v])
        fields[u] += table[:, states[:, v]].T
        fields[v] += table[states[:, u]]
    for i, field in enumerate(fields):
        p = np.exp(field - field.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        marginal = p.mean(axis=0)
        conditional_entropy = -xlogy(p, p).sum(axis=1).mean()
        rows[:, i] = -xlogy(marginal, marginal).sum(), conditional_entropy, p.max(axis=1).mean(), marginal.max()
    return _shares(*rows)
