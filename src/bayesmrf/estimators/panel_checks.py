"""Posterior predictive checks of a panel: waves simulated from draws, each given the wave before it in the data."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ..blas import one_thread
from ..data.panel import Transitions
from ..names import shown
from ..posterior.conditionals.panel_chains import (
    RowChains,
    first_chains,
    flip_clusters,
    start_chains,
    sweep,
)
from ..posterior.conditionals.panel_tables import panel_tables
from ..results.blocks import at_draws, variable
from ..results.predictive_checks import OF_PANELS, Family, Name, judged, less_given, quantities
from .predictive_checks import (
    ENOUGH,
    FIRST,
    MOST,
    Checked,
    answer_names,
    are_inside,
    keep_checks,
    sum_names,
)

_WORK = 2**29  # redraws of items, by which there are fewer replicates
_SWEEPS = 10  # of items that are joined, between two replicates
_EARLIER = 5  # waves before the one before


class _Waves:
    """The rows after transitions, rows like them from draws given the rows before, and what is computed of both."""

    def __init__(self, estimator: Any, values: np.ndarray, found: Transitions, rng: np.random.Generator) -> None:
        model, self.rng = estimator._panel(), rng
        self.before, self.after = values[found.before].astype(int), values[found.after].astype(np.int8)
        self.tables = panel_tables(model, self.before, self.before, np.arange(len(self.before)), with_states=False)
        self.chains: RowChains | None = None
        sizes = list(model.sizes)
        self.own = quantities(self.after, sizes, [True] * len(sizes), np.arange(len(sizes)))
        scores = self.own.scores
        self.previous = scores[np.arange(len(sizes)), self.before]
        of_all = np.where(values < 0, 0.0, scores[np.arange(len(sizes)), np.maximum(values, 0)])
        self.earlier = _earlier(of_all, found)

    def drawn(self, theta: np.ndarray, own: Any) -> np.ndarray:
        """Return a wave after each row before."""
        t, own = self.tables, np.zeros(self.before.shape) + own
        if self.chains is None:
            self.chains = RowChains(start_chains(self.rng, t, 1, theta, own), first_chains(t.n, 1))
        for _ in range(_SWEEPS if len(t.pairs) else 1):  # independent items need one
            flip_clusters(self.rng, self.chains, t, theta, own)
            sweep(self.rng, self.chains, t, theta, own)
        x: np.ndarray = self.chains.x.T
        return x

    def of(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the statistics of rows after transitions, by family; and what is given."""
        found, y = self.own.of(x), self.own.scores[np.arange(x.shape[1]), x].astype(float)
        return {
            "answers": found["answers"],
            "lags": (self.previous.T.astype(float) @ y).ravel(),
            "waves": found["pairs"],
            "sums": found["sums"],
            "earlier": (self.earlier * y).sum(axis=0) if self.earlier.any() else np.empty(0),
            "given": np.concatenate([found["means"], found["pairs"], found["moments"]]),
        }

    def given(self, family: str) -> np.ndarray:
        """Return, for each statistic of a family, the places of what is given among means, products and moments."""
        d = self.before.shape[1]
        if family in ("lags", "earlier"):
            return np.tile(np.arange(d), d if family == "lags" else int(self.earlier.any()))[:, None]
        return self.own.given("pairs" if family == "waves" else family)


def _earlier(scores: np.ndarray, found: Transitions) -> np.ndarray:
    """Return the mean scores of up to five waves before the row before each transition, less their means.

    It is 0 where there are none.
    """
    last, before = np.full(len(scores), -1), found.before
    last[found.after] = before
    total, n, at = np.zeros((len(before), scores.shape[1])), np.zeros(len(before)), last[before]
    for _ in range(_EARLIER):
        there = at >= 0
        total[there] += scores[at[there]]
        n += there
        at = np.where(there, last[at], -1)
    mean, there = total / np.maximum(n, 1)[:, None], n > 0
    if there.any():
        mean[there] -= mean[there].mean(axis=0)
    return mean


def checks_of(estimator: Any, values: np.ndarray, found: Transitions, rng: np.random.Generator) -> Checked:
    """Compare the waves of transitions with waves from draws that are evenly spread over all."""
    waves, draws = _Waves(estimator, values, found, rng), variable(estimator.posterior_, "theta")
    n = int(np.clip(_WORK / (waves.before.size * _SWEEPS), ENOUGH, MOST) // FIRST * FIRST)
    numbers = np.linspace(0, draws.shape[0] * draws.shape[1] - 1, n).astype(int)
    sparse, seen = np.arange(n) % (n // FIRST) == 0, waves.of(waves.after)
    replicates: list[dict[str, np.ndarray]] = []
    first = values[found.first].astype(float)
    for some in (numbers[sparse], numbers[~sparse]):
        for theta, own in zip(at_draws(draws, some), estimator._own_of(some, first, rng), strict=True):
            replicates.append(waves.of(waves.drawn(theta, own if np.ndim(own) == 0 else own[found.person])))
        families = [_family(name, waves, seen, replicates) for name in OF_PANELS]
        if are_inside(families):
            break
    frame = judged(families, {name: _names(estimator, name, waves) for name in OF_PANELS})
    return Checked(frame, len(replicates), len(waves.after), max(estimator._panel().sizes) == 2)


def _family(name: str, waves: _Waves, seen: dict[str, np.ndarray], replicates: list[Any]) -> Family:
    others, given = (np.array([one[key] for one in replicates]) for key in (name, "given"))
    observed, replicated, expected = less_given(seen[name][None], others, seen["given"][None], given, waves.given(name))
    return Family(name, observed, replicated, expected)


def _names(estimator: Any, name: str, waves: _Waves) -> list[Name]:
    """Return the name and the unit of each check of a family."""
    nodes, q = [shown(n) for n in estimator._names], waves.own
    n = 1 if max(estimator._panel().sizes) == 2 else len(waves.after)
    if name == "answers":
        return [Name("", one, 1) for one in answer_names(estimator, q)]
    if name == "lags":
        return [Name("", f"{a} and, a wave later, {b}", n) for a, b in product(nodes, nodes)]
    if name == "waves":
        return [Name("", f"{nodes[i]} and {nodes[j]}", n) for i, j in q.pairs]
    if name == "earlier":
        return [Name("", one, len(waves.after)) for one in nodes]
    return [Name("", one, 1) for one in sum_names(q)]


def check_fit(estimator: Any, values: np.ndarray, found: Transitions, rng: np.random.Generator, is_told: bool) -> None:
    """Check a fit by its own transitions, store the checks, and tell of what is outside if chains have converged.

    A run of fewer than 200 draws is not checked, and transitions with missing answers are not.
    """
    draws, whole = variable(estimator.posterior_, "theta"), found.of_whole(values)
    if draws.shape[0] * draws.shape[1] < FIRST or not len(whole.before):
        return
    with one_thread():
        checks = checks_of(estimator, values, whole, rng)
    keep_checks(estimator, checks, is_told)
