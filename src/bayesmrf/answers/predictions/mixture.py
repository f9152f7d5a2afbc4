"""Scores and samples of a fitted field, or of the mixture of fields over the draws of a posterior."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import metrics
from ...base import EVERY_FAMILY, SAMPLE, Kind
from ...data.check_columns import LEFT_OUT, NO_DENSITY, rows_with_answers
from ...data.group_labels import codes_of
from ...data.read import Reading, read_new
from ...data.states import States, decode
from ...declare.rule import SEED, choice, integer
from ...graphs import Graph
from ...memory import check_samples
from ...models.bases import edge_of, present
from ...results.blocks import at_draws
from ...results.median_model import in_median_model
from ...rng import as_seed_sequence
from ...samplers.tempered import Tempered
from ...types import Column, Rows, Seed, Weights
from .normaliser import (
    LARGEST_ERROR,
    Normaliser,
    is_within_reach,
    normaliser,
    own_normalisers,
    warn_if_few,
    warn_if_rough,
)
from .partly_seen import (
    PartlySeen,
    conditional_log_probability,
    draw_missing,
    held_rows,
    log_potential,
    log_sums,
    numbers_of,
    only,
    predicted,
)

if TYPE_CHECKING:
    import xarray as xr

_DRAWS = 100  # over which predictions are averaged, as in Chen and Welling (2012)
ANNEALING = 128, 200  # chains and temperatures behind log Z of each of them, where elimination does not reach
_ROWS = 2**24  # entries of the features of a block of rows
LARGEST_ERROR_OF_A_ROW = 0.25  # nats
AVERAGE, _N_SAMPLES = choice("bayes", "mean"), integer(1, 10**9)
_DENSITIES = 2**22  # of the rows of a block under all draws
LogZ = dict[tuple[str, int | None], tuple[np.ndarray, list[Normaliser]]]


@dataclass(eq=False, frozen=True)
class Mixture:
    r"""Predict by a fitted field, or by the mixture of fields over the draws of a posterior.

    .. math:: \log p(x) = \log \frac1K \sum_{k=1}^K \exp(\theta_k \cdot s(x) - \log Z(\theta_k)),

    where :math:`\theta_k` are 100 draws, evenly spaced over all that were kept (all of them where there are fewer).
    With several groups of people each row has the parameters of its group (`bayesmrf.CompareMRF`).

    Rows may have missing values. They are summed out: exactly under each draw where elimination on the missing values
    is cheap (twenty yes/no values that all depend on each other, or any number on a narrow graph), else by annealed
    importance sampling. Rows without any value are left out of `score`, as by `fit`: the density of no answer is 1, and
    says nothing of the fit. In `score_samples` their density is NaN.

    Parameters
    ----------
    reading : Reading
        How the table of the fit was read.
    model_on : callable
        Makes the model on a graph.
    graph : Graph
    means : (n_features,) or (n_groups, n_features) array
        The parameters of the one field.
    draws : xarray.Variable or None
        Of theta; None where there is a single network with all edges.
    inclusion : (n_edges,) array or None
        None if no edge may be absent.
    labels : (n_groups,) array or None
        Of groups that have a network each.
    engine : Engine or None
        The user's own, of models whose compiled form it alone knows.
    known : dict
        Log Z of each component, computed once while the draws (or the means) are the same.
    """

    reading: Reading
    model_on: Callable[[Graph], Any]
    graph: Graph
    means: np.ndarray
    draws: xr.Variable | None = None
    inclusion: np.ndarray | None = None
    labels: np.ndarray | None = None
    engine: Any = None
    known: LogZ = field(default_factory=dict)

    @cached_property
    def model(self) -> Any:
        """The model on the graph of the data."""
        return self.model_on(self.graph)

    @property
    def score_kind(self) -> str:
        """What `score` is: a log likelihood or log predictive, with log Z exact or by annealed importance sampling."""
        what = "log likelihood" if self.draws is None else "log predictive"
        if self.engine is not None:
            kind = self.engine.kind
            return what if kind is Kind.EXACT else f"{what}, log Z by {self.engine.name}: {kind.value}"
        exact = all(is_within_reach(model) for group in self.groups for model, _ in self.fields("bayes", group))
        return what if exact else f"{what}, log Z by annealed importance sampling"

    @property
    def log_z_error(self) -> float:
        """Mean standard error of log Z over the components; 0 where it is exact."""
        return float(np.mean([z.error for group in self.groups for z in self.normalisers("bayes", group)]))

    @property
    def groups(self) -> Sequence[int | None]:
        """The groups that have a network each; None stands for the only network."""
        return (None,) if self.labels is None else range(len(self.labels))

    def read(self, X: Rows, sample_weight: Weights = None, unused: Sequence[int] = ()) -> States:
        """Check data in the coding of those that were fitted; the values of ``unused`` columns are arbitrary."""
        return read_new(X, sample_weight, self.reading, unused)

    def codes(self, groups: Column, X: Rows, n: int) -> list[tuple[int | None, np.ndarray]]:
        """Return the groups of the rows of a table, and the numbers of the rows of each."""
        if self.labels is None:
            return [(None, np.arange(n))]
        codes = codes_of(groups, X, n, self.labels)
        return [(int(g), np.flatnonzero(codes == g)) for g in np.unique(codes)]

    def sample(
        self, n_samples: int, random_state: Seed, average: str, clamped: Any = None, group: int | None = None
    ) -> np.ndarray:
        """Draw states from the mixture, in the coding of the data fitted; see `bayesmrf.SpikeSlabMRF.sample`."""
        _N_SAMPLES.check("n_samples", n_samples)
        SEED.check("random_state", random_state)
        rows = held_rows(clamped, self.reading)
        check_samples(n_samples, len(rows), len(self.reading.names))
        rng = np.random.default_rng(as_seed_sequence(random_state))
        thetas = self.components(average, group)
        row_of = np.repeat(np.arange(len(rows)), n_samples)
        states = np.empty((len(row_of), len(self.reading.names)), dtype=np.int8)
        which, tempered, renewed = rng.integers(len(thetas), size=len(states)), Tempered(), 1.0
        engine = self.engine if self.engine is not None and SAMPLE in self.engine.answers else None
        for k, r in np.unique(np.stack([which, row_of], axis=1), axis=0):
            drawn, (model, theta) = (which == k) & (row_of == r), self.present(thetas[k])
            states[drawn], share = draw_missing(model, theta, rows[r], int(drawn.sum()), rng, tempered, engine)
            renewed -= (1 - share) * drawn.mean()
        tempered.warn_unless_renewed(renewed)
        return decode(states, self.reading.coding)

    def components(self, average: str, group: int | None = None) -> np.ndarray:
        """Return the parameters of the fields that are averaged, (n_components, n_features)."""
        AVERAGE.check("average", average)
        if average == "bayes" and self.draws is not None:
            draws = self.draws if group is None else self.draws[:, :, group]
            n = draws.shape[0] * draws.shape[1]
            return at_draws(draws, np.unique(np.linspace(0, n - 1, _DRAWS).astype(int)))
        theta = self.means.copy() if group is None else self.means[group].copy()
        if self.inclusion is not None:
            model = self.model
            of_edge = edge_of(model)
            theta[: len(of_edge)][~in_median_model(self.inclusion[of_edge])] = 0.0
        return theta[None]

    def present(self, theta: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the model on the edges that exist in a draw, and its parameters."""
        return (self.model, theta) if self.draws is None else present(self.model, theta, self.model_on)

    def fields(self, average: str, group: int | None = None) -> list[tuple[Any, np.ndarray]]:
        """Return the fields that are averaged: the model on the edges that exist, and its parameters."""
        return [self.present(theta) for theta in self.components(average, group)]

    def normalisers(self, average: str, group: int | None = None) -> list[Normaliser]:
        """Compute log Z of each component, once while the draws (or theta) are the same."""
        thetas = self.components(average, group)
        known, computed = self.known.get((average, group), (np.empty(0), []))
        if not np.array_equal(known, thetas):
            fields = [self.present(theta) for theta in thetas]
            annealing = ANNEALING if len(fields) > 1 else ()
            if self.engine is not None:
                computed = own_normalisers(self.engine, fields)
            else:
                computed = [normaliser(model, theta, *annealing) for model, theta in fields]
            self.known[average, group] = thetas, computed
        return computed

    def log_predictive(
        self,
        values: np.ndarray,
        average: str,
        weights: np.ndarray | None = None,
        group: int | None = None,
        clamped: Sequence[int] = (),
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Compute the log density of each row under the mixture.

        Returns
        -------
        each, error : (n_samples,) arrays
            The logs, and their standard errors. With :math:`w_k` the share of draw k in the density, that of a row is
            :math:`\sqrt{\sum_k (w_k - 1/K)^2}`.
        away : (n_draws,) array
            Mean of :math:`w_k - 1/K` over rows of these weights (of equal ones if None); see `error_of_mean`.
        """
        thetas = self.components(average, group)
        n, n_draws = len(values), len(thetas)
        weights = np.full(n, 1 / n) if weights is None else weights
        each, error, share = np.empty(n), np.empty(n), np.zeros(n_draws)
        block = max(1, min(_ROWS // max(1, self.graph.n_edges, len(self.reading.names)), _DENSITIES // n_draws))
        for start in range(0, n, block):
            rows = slice(start, start + block)
            logs = self.log_sums(values[rows], average, group)
            logs -= self.log_sums(only(values[rows], clamped), average, group)
            each[rows] = np.logaddexp.reduce(logs, axis=0)
            of_draws = np.exp(logs - each[rows])
            error[rows] = np.sqrt(((of_draws - 1 / n_draws) ** 2).sum(axis=0))
            share += of_draws @ weights[rows]
        return each - np.log(n_draws), error, share - 1 / n_draws

    def log_sums(self, values: np.ndarray, average: str, group: int | None) -> np.ndarray:
        """Compute the log of the sum over missing values of each row under each component, (n_components, n_rows)."""
        thetas = self.components(average, group)
        return log_sums(
            values,
            thetas,
            lambda: [z.log_z for z in self.normalisers(average, group)],
            lambda rows: [log_potential(*self.present(theta), rows) for theta in thetas],
            lambda rows: PartlySeen(self.model, rows, self.present),
        )

    def _warn_of_log_z(self, average: str, groups: Iterable[int | None]) -> None:
        all_z = [z for group in groups for z in self.normalisers(average, group)]
        warn_if_rough(float(np.mean([z.error for z in all_z])), next((z.status for z in all_z if z.status), ""))

    def log_predictive_of_rows(
        self,
        X: Rows,
        average: str,
        sample_weight: Weights = None,
        groups: Column = None,
        clamped: Any = None,
        what: str = LEFT_OUT,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute what `_log_predictive` does of each row in the network of its group, and weights, whose sum is 1.

        Rows without an answer that is predicted have the density NaN and the weight 0; the warning says ``what`` this
        means.
        """
        states = self.read(X, sample_weight)
        nodes = numbers_of(clamped, self.reading.names, "clamped")
        n, free = len(states.values), [i for i in range(len(self.reading.names)) if i not in nodes]
        kept = rows_with_answers(states.values, states.weights, free, what)
        parts = [(g, np.intersect1d(rows, kept)) for g, rows in self.codes(groups, X, n)]
        weights = np.zeros(n)
        weights[kept] = 1.0 if states.weights is None else states.weights[kept]
        weights /= weights.sum() or 1.0
        each, error, away = np.full(n, np.nan), np.zeros(n), np.zeros(1)
        if (states.values[kept][:, nodes] < 0).all(axis=1).any():
            self._warn_of_log_z(average, [g for g, rows in parts if len(rows)])
        for g, rows in parts:
            if len(rows):
                share = weights[rows].sum()  # 0 if no row of the group counts
                of_group = self.log_predictive(states.values[rows], average, weights[rows] / (share or 1.0), g, nodes)
                each[rows], error[rows] = of_group[:2]
                away = away + share * of_group[2]  # the same draws, in which groups may depend on each other
        return each, error, away, weights

    def score(
        self, X: Rows, average: str, sample_weight: Weights = None, groups: Column = None, clamped: Any = None
    ) -> float:
        """Compute the mean log density of a row; see `bayesmrf.SpikeSlabMRF.score`."""
        each, _, away, weights = self.log_predictive_of_rows(X, average, sample_weight, groups, clamped)
        warn_if_few("the score", error_of_mean(away), LARGEST_ERROR)
        return float(each[weights > 0] @ weights[weights > 0])

    def score_samples(self, X: Rows, average: str, groups: Column = None, clamped: Any = None) -> np.ndarray:
        """Compute the log density of each row; see `bayesmrf.SpikeSlabMRF.score_samples`."""
        each, error, _, _ = self.log_predictive_of_rows(X, average, None, groups, clamped, NO_DENSITY)
        warn_if_few("the log density of {} of {} rows", error, LARGEST_ERROR_OF_A_ROW)
        return each

    def conditional(self, X: Rows, nodes: Any, average: str, is_read: bool, groups: Column = None) -> np.ndarray:
        """Return the log probability of each joint state of some nodes, or of the state in X if that ``is_read``."""
        model = self.model
        numbers = predicted(nodes, self.reading.names, model.n_states)
        states = self.read(X, unused=() if is_read else numbers).values
        n_states = model.n_states ** len(numbers)
        log_p = np.empty((len(states), n_states))
        others = np.delete(states, numbers, axis=1)
        partly = np.asarray((others < 0).any(axis=1) | (model.family not in EVERY_FAMILY))
        for g, rows in self.codes(groups, X, len(states)):
            thetas = self.components(average, g)
            whole, gaps = rows[~partly[rows]], rows[partly[rows]]
            if len(whole):
                log_p[whole] = metrics.conditional_log_probability(model, thetas, states[whole], numbers)
            if len(gaps):
                log_p[gaps] = conditional_log_probability(model, thetas, states[gaps], numbers, self.present)
        if not is_read:
            return log_p
        joint = np.array(np.unravel_index(np.arange(n_states), (model.n_states,) * len(numbers))).T
        at = states[:, None, numbers]
        kept = rows_with_answers(states, None, numbers, NO_DENSITY)
        each = np.full(len(states), np.nan)
        fits = ((at == joint) | (at < 0)).all(axis=2)
        each[kept] = np.logaddexp.reduce(np.where(fits, log_p, -np.inf), axis=1)[kept]
        return each


def error_of_mean(away: np.ndarray) -> np.ndarray:
    """Compute the standard error of a mean of log densities, (1,), from how far shares of draws are from equal ones."""
    return np.sqrt((away**2).sum(keepdims=True))
