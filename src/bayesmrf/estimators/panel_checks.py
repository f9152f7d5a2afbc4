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
from ..states.row_chains import RowChains, first_chains, flip_clusters, start_chains, sweep
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

    def __init__(self, estimator: Any, values: np.ndarray, steps: Transitions, rng: np.random.Generator) -> None:
        model, self.rng, self.person = estimator._panel(), rng, steps.person
        self.before, after = values[steps.before].astype(int), values[steps.after].astype(np.int8)
        self.tables = panel_tables(model, self.before, self.before, np.arange(len(self.before)), with_states=False)
        self.chains: RowChains | None = None
        sizes = list(model.sizes)
        super().__init__(estimator, quantities(after, sizes, [True] * len(sizes), np.arange(len(sizes))), len(after))
        scores = self.quantities.scores
        self.previous = scores[np.arange(len(sizes)), self.before]
        of_all = np.where(values < 0, 0.0, scores[np.arange(len(sizes)), np.maximum(values, 0)])
        self.earlier = _earlier(of_all, steps)
        self.seen = self.of(after)

    @property
    def work(self) -> float:
        """What a table takes: redraws of items, each of some updates."""
        return 4.0 * self.before.size * _SWEEPS

    def compare(self, draw: tuple[np.ndarray, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the statistics of the data, and of waves from a draw; see `Table`."""
        theta, intercepts = draw
        t, intercepts = (
            self.tables,
            np.zeros(self.before.shape) + (intercepts if np.ndim(intercepts) == 0 else intercepts[self.person]),
        )
        if self.chains is None:
            self.chains = RowChains(start_chains(self.rng, t, 1, theta, intercepts), first_chains(t.n, 1))
        for _ in range(_SWEEPS if len(t.pairs) else 1):  # independent items need one
            flip_clusters(self.rng, self.chains, t, theta, intercepts)
            sweep(self.rng, self.chains, t, theta, intercepts)
        return self.seen, self.of(self.chains.x.T)

    def of(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return the statistics of rows after transitions, by family; and what is given."""
        y = self.quantities.scores[np.arange(x.shape[1]), x].astype(float)
        earlier = (self.earlier * y).sum(axis=0) if self.earlier.any() else np.empty(0)
        statistics = self.quantities.of(x)
        return statistics | {
            "lags": (self.previous.T.astype(float) @ y).ravel(), "waves": statistics["pairs"], "earlier": earlier
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


def _earlier(scores: np.ndarray, steps: Transitions) -> np.ndarray:
    """Average the scores of up to five waves before the row before each transition, less their means.

    It is 0 where there are none.
    """
    last, before = np.full(len(scores), -1), steps.before
    last[steps.after] = before
    total, n, at = np.zeros((len(before), scores.shape[1])), np.zeros(len(before)), last[before]
    for _ in range(_EARLIER):
        has_earlier = at >= 0
        total[has_earlier] += scores[at[has_earlier]]
        n += has_earlier
        at = np.where(has_earlier, last[at], -1)
    mean, has_earlier = total / np.maximum(n, 1)[:, None], n > 0
    if has_earlier.any():
        mean[has_earlier] -= mean[has_earlier].mean(axis=0)
    return mean


def checks_of(estimator: Any, values: np.ndarray, steps: Transitions, rng: np.random.Generator) -> Checked:
    """Compare the waves of transitions with waves from draws."""
    waves, draws = Waves(estimator, values, steps, rng), variable(estimator.posterior_, "theta")
    first = values[steps.first].astype(float)

    def read(numbers: np.ndarray) -> Iterable[tuple[np.ndarray, Any]]:
        return zip(in_parts(draws, numbers), estimator._own_of(numbers, first, rng), strict=True)

    return compared([waves], OF_PANELS, waves.work, draws.shape[0] * draws.shape[1], read)
