"""Scores and samples of fitted models, averaged over the draws of a posterior."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import DensityMixin
from sklearn.utils.validation import check_is_fitted

from .. import metrics
from ..base import EVERY_FAMILY, SAMPLE, Kind
from ..data.check_columns import LEFT_OUT, NO_DENSITY, rows_with_answers
from ..data.read import read_new
from ..data.states import States, decode
from ..declare.rule import SEED, choice, integer
from ..memory import check_samples
from ..models.bases import edge_of, present
from ..results.blocks import at_draws, variable
from ..results.median_model import in_median_model
from ..rng import as_seed_sequence
from ..samplers.tempered import Tempered
from .network import Network
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


class Predictive(Network, DensityMixin):
    r"""Predictions by a fitted field, or by the mixture of fields over the draws of a posterior.

    .. math:: \log p(x) = \log \frac1K \sum_{k=1}^K \exp(\theta_k \cdot s(x) - \log Z(\theta_k)),

    where :math:`\theta_k` are 100 draws, evenly spaced over all that were kept (all of them where there are fewer).
    With several groups of people each row has the parameters of its group (`bayesmrf.CompareMRF`).

    Rows may have missing values. They are summed out: exactly under each draw where elimination on the missing values
    is cheap (twenty yes/no values that all depend on each other, or any number on a narrow graph), else by annealed
    importance sampling. Rows without any value are left out of `score`, as by `fit`: the density of no answer is 1, and
    says nothing of the fit. In `score_samples` their density is NaN.
    """

    _has_draws: ClassVar[bool] = True
    """Whether a fit has draws, in which edges may be absent, or a single network with all edges."""

    _engine: Any = None  # the user's own, in the fit, of models whose compiled form it alone knows
    random_state: Any
    posterior_: xr.DataTree
    _names: tuple[str, ...]
    _coding: Any
    _log_z: dict[tuple[str, int | None], tuple[np.ndarray, list[Normaliser]]]

    def score(
        self, X: Any, y: None = None, sample_weight: Any = None, average: str = "bayes", clamped: Any = None
    ) -> float:
        """Compute the mean log predictive density of an observation, in nats.

        It is exact where elimination takes a second at most for each draw. Elsewhere log Z of a draw is an estimate by
        annealed importance sampling, with the mean standard error ``log_z_error_``. Where that is above 0.1 nats, or
        the standard error of the average over 100 draws is, an `ApproximateScoreWarning` says so. ``score_kind_`` says
        how log Z is computed. The pseudo-likelihood, another quantity, is `bayesmrf.metrics.log_pseudo_likelihood`.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            Missing values are summed out. Rows without any answer that is not ``clamped`` are left out.
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.
        average : {"bayes", "mean"}
            The log of the mean density over 100 draws, or the log density at ``theta_`` (without the edges whose
            inclusion is 0.5 or less). They are the same for `MaximumLikelihoodMRF`, which has no draws.
        clamped : sequence, optional
            Nodes, by name or by number, that are held at their values in each row: the density is that of the other
            values given these, under each draw. Where all rows have them, log Z is not needed.
        """
        return self._score(X, average, sample_weight, clamped=clamped)

    def score_samples(self, X: Any, average: str = "bayes", clamped: Any = None) -> np.ndarray:
        """Compute the log predictive density of each row of X, in nats, (n_samples,); see `score`.

        It is NaN for rows without any answer (that is not ``clamped``), of which an `EmptyRowsWarning` says how many
        there are. An `ApproximateScoreWarning` says how many rows have a standard error above 0.25 nats, as few of the
        100 draws give them most of their density.
        """
        return self._score_samples(X, average, clamped=clamped)

    def sample(
        self, n_samples: int = 1, random_state: Any = None, average: str = "bayes", clamped: Any = None
    ) -> np.ndarray:
        """Draw states from the mixture ("bayes") or from the one model ("mean"), in the coding of the data fitted.

        They are exact where elimination is cheap, else by parallel tempering, which visits all modes of a model.

        Parameters
        ----------
        n_samples : int
        random_state : int, Generator, RandomState or None
            None draws from the estimator's own ``random_state``.
        average : {"bayes", "mean"}
            As in `score`.
        clamped : mapping, Series, or (n_rows, n_nodes) array or DataFrame, optional
            Values that are held: of some nodes, by name or by number; or a table with missing values. Others are drawn
            given these under each draw, as in `predict_conditional`. A table has ``n_samples`` states for each row, one
            row after another.
        """
        return self._sample(n_samples, random_state, average, clamped)

    def predict_conditional(self, X: Any, nodes: Sequence[Any], average: str = "bayes") -> np.ndarray:
        r"""Compute the probability of each joint state of some nodes, given the other nodes of each row.

        .. math:: p(x_A \mid x_{-A}) = \frac1K \sum_{k=1}^K p(x_A \mid x_{-A}, \theta_k),

        exactly for each draw, by the sum over the joint states of the nodes A.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            The values of the nodes A are not used. Values of others may be missing, and are summed out of the
            probability given the values that the row has (where they are too many for an exact sum, averaged over 64
            draws of them under each :math:`\theta_k`). A row without any other answer has the marginal probability.
        nodes : sequence
            Nodes by name or by number, at most 16 (fewer if they have many states: m^g <= 2^16).
        average : {"bayes", "mean"}
            A mixture over 100 draws, or the model with ``theta_`` (without the edges whose inclusion is 0.5 or less:
            "Bayes PM").

        Returns
        -------
        (n_samples, m^g) array
            Of g nodes with m states: the first of them is the highest digit of the number of a joint state.
        """
        return np.exp(self._conditional(X, nodes, average, is_read=False))

    def conditional_log_likelihood(self, X: Any, nodes: Sequence[Any], average: str = "bayes") -> np.ndarray:
        """Compute the log probability of the states of some nodes, given the other nodes of each row, in nats.

        It is the log of `predict_conditional` at the states that X has, (n_samples,), summed over those of the nodes
        that are missing; NaN for rows in which all of them are, of which an `EmptyRowsWarning` tells.
        """
        return self._conditional(X, nodes, average, is_read=True)

    @property
    def score_kind_(self) -> str:
        """What `score` is: a log likelihood or log predictive, with log Z exact or by annealed importance sampling."""
        check_is_fitted(self)
        what = "log predictive" if self._has_draws else "log likelihood"
        if self._engine is not None:
            kind = self._engine.kind
            return what if kind is Kind.EXACT else f"{what}, log Z by {self._engine.name}: {kind.value}"
        exact = all(is_within_reach(model) for group in self._groups() for model, _ in self._fields("bayes", group))
        return what if exact else f"{what}, log Z by annealed importance sampling"

    @property
    def log_z_error_(self) -> float:
        """Mean standard error of log Z over the draws behind `score`; 0 where it is exact."""
        check_is_fitted(self)
        return float(np.mean([z.error for group in self._groups() for z in self._normalisers("bayes", group)]))

    def _groups(self) -> Sequence[int | None]:
        """Return the groups that have a network each; None stands for the only network."""
        return (None,)

    def _sample(
        self, n_samples: int, random_state: Any, average: str, clamped: Any = None, group: int | None = None
    ) -> np.ndarray:
        """Draw states from the mixture, in the coding of the data fitted; see `Predictive.sample`."""
        check_is_fitted(self)
        _N_SAMPLES.check("n_samples", n_samples)
        SEED.check("random_state", random_state)
        rows = held_rows(clamped, self)
        check_samples(n_samples, len(rows), len(self._names))
        rng = np.random.default_rng(as_seed_sequence(self.random_state if random_state is None else random_state))
        thetas = self._components(average, group)
        row_of = np.repeat(np.arange(len(rows)), n_samples)
        states = np.empty((len(row_of), len(self._names)), dtype=np.int8)
        which, tempered, renewed = rng.integers(len(thetas), size=len(states)), Tempered(), 1.0
        own = self._engine if self._engine is not None and SAMPLE in self._engine.answers else None
        for k, r in np.unique(np.stack([which, row_of], axis=1), axis=0):
            mine, (model, theta) = (which == k) & (row_of == r), self._present(thetas[k])
            states[mine], share = draw_missing(model, theta, rows[r], int(mine.sum()), rng, tempered, own)
            renewed -= (1 - share) * mine.mean()
        tempered.warn_unless_renewed(renewed)
        return decode(states, self._coding)

    def _new(self, X: Any, sample_weight: Any = None, unused: Sequence[int] = ()) -> States:
        """Check data in the coding of those that were fitted; the values of ``unused`` columns are arbitrary."""
        check_is_fitted(self)
        return read_new(X, sample_weight, self, unused)

    def _components(self, average: str, group: int | None = None) -> np.ndarray:
        """Return the parameters of the fields that are averaged, (n_components, n_features)."""
        AVERAGE.check("average", average)
        if average == "bayes" and self._has_draws:
            draws = variable(self.posterior_, "theta")
            draws = draws if group is None else draws[:, :, group]
            n = draws.shape[0] * draws.shape[1]
            return at_draws(draws, np.unique(np.linspace(0, n - 1, _DRAWS).astype(int)))
        theta = self.theta_.copy() if group is None else self.theta_[group].copy()
        if self._inclusion is not None:
            model = self._model()
            of_edge = edge_of(model)
            theta[: len(of_edge)][~in_median_model(self._inclusion[of_edge])] = 0.0
        return theta[None]

    def _present(self, theta: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the model on the edges that exist in a draw, and its parameters."""
        return present(self._model(), theta, self._model) if self._has_draws else (self._model(), theta)

    def _fields(self, average: str, group: int | None = None) -> list[tuple[Any, np.ndarray]]:
        return [self._present(theta) for theta in self._components(average, group)]

    def _normalisers(self, average: str, group: int | None = None) -> list[Normaliser]:
        """Compute log Z of each component, once while the draws (or theta) are the same."""
        thetas = self._components(average, group)
        known, found = self._log_z.get((average, group), (np.empty(0), []))
        if not np.array_equal(known, thetas):
            fields = [self._present(theta) for theta in thetas]
            annealing = ANNEALING if len(fields) > 1 else ()
            if self._engine is not None:
                found = own_normalisers(self._engine, fields)
            else:
                found = [normaliser(model, theta, *annealing) for model, theta in fields]
            self._log_z[average, group] = thetas, found
        return found

    def _log_predictive(
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
        thetas = self._components(average, group)
        n, n_draws = len(values), len(thetas)
        weights = np.full(n, 1 / n) if weights is None else weights
        each, error, share = np.empty(n), np.empty(n), np.zeros(n_draws)
        block = max(1, min(_ROWS // max(1, len(self.edges_), len(self._names)), _DENSITIES // n_draws))
        for start in range(0, n, block):
            rows = slice(start, start + block)
            logs = self._log_sums(values[rows], average, group)
            logs -= self._log_sums(only(values[rows], clamped), average, group)
            each[rows] = np.logaddexp.reduce(logs, axis=0)
            of_draws = np.exp(logs - each[rows])
            error[rows] = np.sqrt(((of_draws - 1 / n_draws) ** 2).sum(axis=0))
            share += of_draws @ weights[rows]
        return each - np.log(n_draws), error, share - 1 / n_draws

    def _log_sums(self, values: np.ndarray, average: str, group: int | None) -> np.ndarray:
        """Compute the log of the sum over missing values of each row under each component, (n_components, n_rows)."""
        thetas = self._components(average, group)
        return log_sums(
            values,
            thetas,
            lambda: [z.log_z for z in self._normalisers(average, group)],
            lambda rows: [log_potential(*self._present(theta), rows) for theta in thetas],
            lambda rows: PartlySeen(self._model(), rows, self._present),
        )

    def _warn_of_log_z(self, average: str, groups: Iterable[int | None]) -> None:
        found = [z for group in groups for z in self._normalisers(average, group)]
        warn_if_rough(float(np.mean([z.error for z in found])), next((z.status for z in found if z.status), ""))

    def _codes(self, groups: Any, X: Any, n: int) -> list[tuple[int | None, np.ndarray]]:
        """Return the groups of the rows of a table, and the numbers of the rows of each."""
        return [(None, np.arange(n))]

    def _log_predictive_of_rows(
        self,
        X: Any,
        average: str,
        sample_weight: Any = None,
        groups: Any = None,
        clamped: Any = None,
        what: str = LEFT_OUT,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute what `_log_predictive` does of each row in the network of its group, and weights, whose sum is 1.

        Rows without an answer that is predicted have the density NaN and the weight 0; the warning says ``what`` this
        means.
        """
        states = self._new(X, sample_weight)
        nodes = numbers_of(clamped, self._names, "clamped")
        n, free = len(states.values), [i for i in range(len(self._names)) if i not in nodes]
        kept = rows_with_answers(states.values, states.weights, free, what)
        parts = [(g, np.intersect1d(mine, kept)) for g, mine in self._codes(groups, X, n)]
        weights = np.zeros(n)
        weights[kept] = 1.0 if states.weights is None else states.weights[kept]
        weights /= weights.sum() or 1.0
        each, error, away = np.full(n, np.nan), np.zeros(n), np.zeros(1)
        if (states.values[kept][:, nodes] < 0).all(axis=1).any():
            self._warn_of_log_z(average, [g for g, mine in parts if len(mine)])
        for g, mine in parts:
            if len(mine):
                share = weights[mine].sum()  # 0 if no row of the group counts
                of_group = self._log_predictive(states.values[mine], average, weights[mine] / (share or 1.0), g, nodes)
                each[mine], error[mine] = of_group[:2]
                away = away + share * of_group[2]  # the same draws, in which groups may depend on each other
        return each, error, away, weights

    def _score(self, X: Any, average: str, sample_weight: Any = None, groups: Any = None, clamped: Any = None) -> float:
        each, _, away, weights = self._log_predictive_of_rows(X, average, sample_weight, groups, clamped)
        warn_if_few("the score", error_of_mean(away), LARGEST_ERROR)
        return float(each[weights > 0] @ weights[weights > 0])

    def _score_samples(self, X: Any, average: str, groups: Any = None, clamped: Any = None) -> np.ndarray:
        each, error, _, _ = self._log_predictive_of_rows(X, average, None, groups, clamped, NO_DENSITY)
        warn_if_few("the log density of {} of {} rows", error, LARGEST_ERROR_OF_A_ROW)
        return each

    def _conditional(self, X: Any, nodes: Any, average: str, is_read: bool, groups: Any = None) -> np.ndarray:
        """Return the log probability of each joint state of some nodes, or of the state in X if that ``is_read``."""
        check_is_fitted(self)
        model = self._model()
        numbers = predicted(nodes, self._names, model.n_states)
        states = self._new(X, unused=() if is_read else numbers).values
        n_states = model.n_states ** len(numbers)
        found = np.empty((len(states), n_states))
        others = np.delete(states, numbers, axis=1)
        partly = np.asarray((others < 0).any(axis=1) | (model.family not in EVERY_FAMILY))
        for g, mine in self._codes(groups, X, len(states)):
            thetas = self._components(average, g)
            whole, some = mine[~partly[mine]], mine[partly[mine]]
            if len(whole):
                found[whole] = metrics.conditional_log_probability(model, thetas, states[whole], numbers)
            if len(some):
                found[some] = conditional_log_probability(model, thetas, states[some], numbers, self._present)
        if not is_read:
            return found
        joint = np.array(np.unravel_index(np.arange(n_states), (model.n_states,) * len(numbers))).T
        at = states[:, None, numbers]
        kept = rows_with_answers(states, None, numbers, NO_DENSITY)
        each = np.full(len(states), np.nan)
        fits = ((at == joint) | (at < 0)).all(axis=2)
        each[kept] = np.logaddexp.reduce(np.where(fits, found, -np.inf), axis=1)[kept]
        return each


def error_of_mean(away: np.ndarray) -> np.ndarray:
    """Compute the standard error of a mean of log densities, (1,), from how far shares of draws are from equal ones."""
    return np.sqrt((away**2).sum(keepdims=True))
