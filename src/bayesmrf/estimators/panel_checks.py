"""Posterior predictive checks of a panel: waves simulated from draws, each given the wave before it in the data."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from ..data.transitions import Transitions
from ..results.blocks import variable
from ..results.predictive_checks import OF_PANELS, Name, quantities
from ..states.panel_tables import panel_tables
from ..states.row_chains import (
    RowChains,
    first_chains,
    flip_clusters,
    start_chains,
    sweep,
)
from .predictive_checks import Checked, Table, compared, in_parts

_SWEEPS = 10  # of items that are joined, between two replicates
_EARLIER = 5  # waves before the one before


class Waves(Table):
    """The rows after transitions, and rows like them from draws given the rows before.

    Parameters
    ----------
    estimator : PanelMRF
    values : (n, d) array
    found : Transitions
    rng : Generator
    """

    def __init__(self, estimator: Any, values: np.ndarray, found: Transitions, rng: np.random.Generator) -> None:
        model, self.rng, self.person = estimator._panel(), rng, found.person
        self.before, after = values[found.before].astype(int), values[found.after].astype(np.int8)
        self.tables = panel_tables(model, self.before, self.before, np.arange(len(self.before)), with_states=False)
        self.chains: RowChains | None = None
        sizes = list(model.sizes)
        super().__init__(estimator, quantities(after, sizes, [True] * len(sizes), np.arange(len(sizes))), len(after))
        scores = self.quantities.scores
        self.previous = scores[np.arange(len(sizes)), self.before]
        of_all = np.where(values < 0, 0.0, scores[np.arange(len(sizes)), np.maximum(values, 0)])
        self.earlier = _earlier(of_all, found)
        self.seen = self.of(after)

    @property
    def work(self) -> float:
        """What a table takes: redraws of items, each of some updates."""
        return 4.0 * self.before.size * _SWEEPS

    def compare(self, draw: tuple[np.ndarray, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the statistics of the data, and of waves from a draw; see `Table`."""
        theta, own = draw
        t, own = self.tables, np.zeros(self.before.shape) + (own if np.ndim(own) == 0 else own[self.person])
        if self.chains is None:
            self.chains = RowChains(start_chains(self.rng, t, 1, theta, own), first_chains(t.n, 1))
        for _ in range(_SWEEPS if len(t.pairs) else 1):  # independent items need one
            flip_clusters(self.rng, self.chains, t, theta, own)
            sweep(self.rng, self.chains, t, theta, own)
        return self.seen, self.of(self.chains.x.T)

    def of(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the statistics of rows after transitions, by family; and what is given."""
        y = self.quantities.scores[np.arange(x.shape[1]), x].astype(float)
        earlier = (self.earlier * y).sum(axis=0) if self.earlier.any() else np.empty(0)
        found = self.quantities.of(x)
        return found | {
            "lags": (self.previous.T.astype(float) @ y).ravel(), "waves": found["pairs"], "earlier": earlier
        }  # fmt: skip

    def given(self, family: str) -> np.ndarray:
        """Return, for each statistic of a family, the places of what is given; see `Quantities.given`."""
        d = self.before.shape[1]
        if family in ("lags", "earlier"):
            return np.tile(np.arange(d), d if family == "lags" else int(self.earlier.any()))[:, None]
        return super().given("pairs" if family == "waves" else family)

    def names(self, family: str) -> list[Name]:
        """Return the name and unit of each check of a family."""
        if family == "earlier":
            return [Name("", one, self.n_rows) for one in self.nodes]
        return super().names(family)

    def what(self, family: str) -> tuple[list[str], bool]:
        """Return the name of each check of a family, and whether they are products of answers."""
        if family == "lags":
            return [f"{a} and, a wave later, {b}" for a, b in product(self.nodes, self.nodes)], True
        return super().what(family)


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
    """Compare the waves of transitions with waves from draws."""
    waves, draws = Waves(estimator, values, found, rng), variable(estimator.posterior_, "theta")
    first = values[found.first].astype(float)

    def read(some: np.ndarray) -> Iterable[tuple[np.ndarray, Any]]:
        return zip(in_parts(draws, some), estimator._own_of(some, first, rng), strict=True)

    return compared([waves], OF_PANELS, waves.work, draws.shape[0] * draws.shape[1], read)
