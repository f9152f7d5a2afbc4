"""Scores and predictions of the next wave, averaged over the draws of a posterior of a panel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from scipy.special import logsumexp
from sklearn.utils.validation import check_is_fitted

from ..data.check_columns import rows_with_answers
from ..data.read import read_new
from ..data.transitions import Order, transitions, without_order
from ..declare.rule import NONE, SEED, choice, either, integer
from ..errors import ApproximateScoreWarning
from ..findings import tell
from ..models.panel import Panel
from ..results.blocks import at_draws, variable
from ..results.panel_statistics import PanelStatistics
from ..results.statistics import INTERVAL
from ..rng import as_seed_sequence
from ..states.panel_tables import panel_tables
from ..states.row_chains import RowChains, conditionals_of, first_chains, start_chains, sweep
from ..threads import one_thread
from ..types import Column, Rows
from .fitted_columns import reading
from .panel_checks import checks_of
from .panel_observations import add_transitions

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_BETWEEN, _N_DRAWS = either(NONE, choice("nodes")), either(NONE, integer(1, 10**9))
_DRAWS = 100  # over which predictions are averaged
_OWN = 10  # intercepts of a person for each of them
_MOST = 2**23  # states of rows that are summed over; beyond it, chains are annealed
_CHAINS, _STEPS = 16, 32  # of each row, and steps from independent items to joined ones
_ROUGH = 0.1  # nats by which a score may be too large


class PanelPredictive:
    r"""Predictions of a wave from the one before it, over 100 draws evenly spaced over all.

    .. math:: p(x_t \mid x_{t-1}) = \frac1K \sum_{k=1}^K p(x_t \mid x_{t-1}, \theta_k)

    Where people have their own intercepts, each draw comes with ten intercepts of a person given the first wave, from
    N(G (x_1 - mean), S); the average is over these, too (Monte Carlo). Where items of a wave have edges and the states
    of rows are too many for a sum, Z of each row is by annealed importance sampling from independent items (Neal 2001),
    with 16 chains and 32 steps.
    """

    posterior_: xr.DataTree
    intercepts: str
    table: Callable[..., pd.DataFrame]
    _settings: Any
    _coding: Any
    _first_mean: np.ndarray

    @abstractmethod
    def _panel(self) -> Panel:
        """Return the names and sizes of the fitted items."""

    def score(self, X: Rows, person: Column = None, wave: Column = None, day: Column = None) -> float:
        """Compute the mean log predictive density of a transition, in nats.

        Where people have their own intercepts it is that of all transitions of a person together, given the first wave,
        over their number.

        Parameters
        ----------
        X, person, wave, day
            As in `PanelMRF.fit`; rows with missing answers are left out.

        Warns
        -----
        ApproximateScoreWarning
            If Z of rows is by annealing, and its estimates are so rough that the score is too large by above 0.1 nats.
        """
        check_is_fitted(self)
        X, order = without_order(X, person, wave, day)
        values, order = self._values(X, order)
        steps = transitions(values, order)
        excess: list[float] = []
        before, after = values[steps.before].astype(float), values[steps.after]
        person_of = steps.person if self._settings.intercepts == "own" else np.arange(len(before))
        total = []
        for theta, intercepts in self._draws(values[steps.first].astype(float), steps.person):
            each = self._log_density(theta, before, after, intercepts, excess)
            sums = np.zeros(person_of.max() + 1)
            np.add.at(sums, person_of, each)
            total.append(sums[np.unique(person_of)])
        if excess and (rough := float(np.mean(excess))) > _ROUGH:
            tell(f"Z of the rows is estimated by few chains, so that the score is too large by about {rough:.2g} nats; "
                 "do not compare it with the score of another model.", ApproximateScoreWarning)  # fmt: skip
        return float((logsumexp(total, axis=0) - np.log(len(total))).sum() / len(before))

    def predict_next(self, X: Rows) -> np.ndarray:
        """Compute the probability of each category of each item one wave after each row.

        Where people have their own intercepts, the rows are first waves.

        Parameters
        ----------
        X : (n_samples, n_items) array or DataFrame
            Rows without missing answers, and without columns of persons and waves.

        Returns
        -------
        (n_samples, n_items) array of the probability of yes; or (n_samples, n_items, n_categories) for ordered items
        """
        check_is_fitted(self)
        rows = read_new(X, None, reading(self), missing=False).values.astype(float)
        model = self._panel()
        probabilities, n = np.zeros((len(rows), model.n_nodes, max(model.sizes))), 0
        for theta, intercepts in self._draws(rows, np.arange(len(rows))):
            probabilities += self._probabilities(theta, rows, intercepts)
            n += 1
        probabilities /= n
        return probabilities[:, :, 1] if max(model.sizes) == 2 else probabilities

    def statistics(
        self,
        names: Sequence[str] | None = None,
        communities: Any = None,
        probability: float = INTERVAL,
        between: str | None = None,
        n_draws: int | None = None,
    ) -> pd.DataFrame:
        """Tabulate statistics of items and of the network within a wave, each computed in every draw.

        Parameters
        ----------
        names : sequence of str, optional
            Of lagged edges, without autoregressions: "in-strength", "out-strength", "in-expected influence",
            "out-expected influence"; "autoregression"; of the network within a wave those of `SpikeSlabMRF.statistics`,
            without predictability. All by default.
        communities, probability, n_draws
            As in `SpikeSlabMRF.statistics`.
        between : {None, "nodes"}
            Tabulate the differences of a statistic between two items.

        Returns
        -------
        DataFrame
            As of `SpikeSlabMRF.statistics`.
        """
        check_is_fitted(self)
        _BETWEEN.check("between", between)
        tabulated = PanelStatistics(self.posterior_, communities, n_draws)
        return (tabulated.between_nodes if between else tabulated.table)(names, probability)

    def predictive_checks(
        self, X: Rows, person: Column = None, wave: Column = None, random_state: int | None = None, day: Column = None
    ) -> pd.DataFrame:
        """Compare the waves of a table with waves from the posterior, each given the wave before it in the table.

        `fit` does this with its own data; ``table("checks")`` has the result. Families are the answers, two items a
        wave apart (lags), two of one wave (waves), the sum of the answers, and an item with its mean over up to five
        waves before the last one (earlier). Where people have their own intercepts, these are as in `predict_next`.

        Parameters
        ----------
        X, person, wave, day
            As in `PanelMRF.fit`.
        random_state : int, optional

        Returns
        -------
        DataFrame
            As of `SpikeSlabMRF.predictive_checks`.
        """
        check_is_fitted(self)
        SEED.check("random_state", random_state)
        rng = np.random.default_rng(as_seed_sequence(random_state))
        X, order = without_order(X, person, wave, day)
        values, order = self._values(X, order)
        with one_thread():
            return checks_of(self, values, transitions(values, order), rng).frame

    def add_log_likelihood(
        self, X: Rows, person: Column = None, wave: Column = None, n_draws: int | None = None, day: Column = None
    ) -> pd.DataFrame:
        """Add the log density of each transition under each draw to ``posterior_``, as ArviZ's `loo` reads it.

        Transitions are independent given the parameters, and are left out one at a time, where people have common
        intercepts. Group ``prediction`` has, for each item, the share of transitions after which the most probable
        answer given the wave before is given, next to that of the most frequent answer.

        Parameters
        ----------
        X, person, wave, day
            As in `PanelMRF.fit`; transitions with missing answers are left out.
        n_draws : int, optional
            Evenly spaced draws of each chain that are used; None for all.

        Returns
        -------
        DataFrame
            The table "loo".

        Raises
        ------
        OptionError
            If people have their own intercepts, or there are more than 2^28 log likelihoods, or 2^31 states of rows.
        """
        check_is_fitted(self)
        _N_DRAWS.check("n_draws", n_draws)
        X, order = without_order(X, person, wave, day)
        values, order = self._values(X, order)
        add_transitions(self, values, transitions(values, order), n_draws)
        loo: pd.DataFrame = self.table("loo")
        return loo

    def _values(self, X: Any, order: Order) -> tuple[np.ndarray, Order]:
        states = read_new(X, None, reading(self))
        states = states.at(rows_with_answers(states.values))
        return states.values, order.at(states.given_rows)

    def _draws(self, first: np.ndarray, person: np.ndarray) -> Any:
        """Yield parameters of draws, each with intercepts of the person of each row, or 0."""
        theta = variable(self.posterior_, "theta")
        numbers = np.unique(np.linspace(0, theta.shape[0] * theta.shape[1] - 1, _DRAWS).astype(int))
        numbers = np.repeat(numbers, _OWN if self._settings.intercepts == "own" else 1)
        for row, intercepts in zip(
            at_draws(theta, numbers), self._own_of(numbers, first, np.random.default_rng(0)), strict=True
        ):
            yield row, intercepts if np.ndim(intercepts) == 0 else intercepts[person]

    def _own_of(self, numbers: np.ndarray, first: np.ndarray, rng: np.random.Generator) -> Any:
        """Draw intercepts of each person in draws by their ``numbers``, given the first wave (n_people, d); or 0."""
        if self._settings.intercepts != "own":
            yield from (0.0 for _ in numbers)
            return
        slope, root = (at_draws(variable(self.posterior_, f"intercept_{name}"), numbers) for name in ("slope", "root"))
        x = np.where(first < 0, 0.0, first - self._first_mean)
        for g, factor in zip(slope, root, strict=True):
            yield x @ g + rng.standard_normal(x.shape) @ factor.T

    def _fields(self, theta: np.ndarray, before: np.ndarray, intercepts: Any) -> tuple[list[np.ndarray], np.ndarray]:
        """Compute the log weights of the categories of each item without edges within, and weights within."""
        model = self._panel()
        d, starts = model.n_nodes, model.starts
        h = before @ theta[: d * d].reshape(d, d) + intercepts
        each = []
        for i, m in enumerate(model.sizes):
            biases = np.append(0.0, theta[starts[i] : starts[i + 1]])
            each.append(biases + np.arange(m) * h[:, i : i + 1])
        return each, theta[d * d : model.n_edges]

    def _joint(self, each: list[np.ndarray], weights: np.ndarray) -> np.ndarray:
        """Compute the log probability of each state of each row, (n, m_1, ..., m_d)."""
        model, d = self._panel(), len(each)
        out = np.zeros((len(each[0]), *model.sizes))
        for i, log_weights in enumerate(each):
            out += log_weights.reshape(-1, *(m if j == i else 1 for j, m in enumerate(model.sizes)))
        scores = np.meshgrid(*map(np.arange, model.sizes), indexing="ij")
        for w, (u, v) in zip(weights, model.pairs, strict=True):
            if w != 0:
                out += w * scores[u] * scores[v]
        total: np.ndarray = logsumexp(out, axis=tuple(range(1, d + 1)), keepdims=True)
        return out - total

    def _is_summed(self, rows: np.ndarray) -> bool:
        """Whether the states of rows are few enough for a sum."""
        return len(rows) * self._panel().n_states <= _MOST

    def _annealed(
        self, each: list[np.ndarray], theta: np.ndarray, before: np.ndarray, intercepts: Any
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Estimate log Z and probabilities of categories of each row, (n,) and (n, d, m).

        And by how much log Z is too small in the mean over rows: half the relative variance of the estimate of Z.
        """
        # Each draw has random numbers of its own, so that errors average out.
        model, rng, n = self._panel(), np.random.default_rng(crc32(theta.tobytes())), len(before)
        d, u, v = model.n_nodes, *model.pairs.T
        rows = before.astype(int)
        tables = panel_tables(model, rows, rows, np.arange(n), with_states=False)
        intercepts, at = np.zeros((n, d)) + intercepts, theta.copy()
        at[d * d : model.n_edges] = 0.0
        chains = RowChains(start_chains(rng, tables, _CHAINS, at, intercepts), first_chains(tables.n, _CHAINS))
        weights, log_w = theta[d * d : model.n_edges], np.zeros(n * _CHAINS)
        for step in range(1, _STEPS + 1):
            x = chains.x.astype(float)
            for w, a, b in zip(weights, u, v, strict=True):
                if w != 0:
                    log_w += w / _STEPS * x[a] * x[b]
            at[d * d : model.n_edges] = step / _STEPS * weights
            sweep(rng, chains, tables, at, intercepts)
        of_row = log_w.reshape(n, _CHAINS)
        log_z = np.sum([logsumexp(w, axis=1) for w in each], axis=0) + logsumexp(of_row, axis=1) - np.log(_CHAINS)
        share = np.exp(of_row - logsumexp(of_row, axis=1, keepdims=True))
        p = np.zeros((n, d, max(model.sizes)))
        for i, m in enumerate(model.sizes):
            q = conditionals_of(chains, tables, theta, intercepts, i)
            p[:, i, :m] = (share[:, :, None] * q.reshape(n, _CHAINS, m)).sum(axis=1)
        return log_z, p, 0.5 * float(((share**2).sum(axis=1) - 1 / _CHAINS).mean()) * _CHAINS / (_CHAINS - 1)

    def _log_density(
        self,
        theta: np.ndarray,
        before: np.ndarray,
        after: np.ndarray,
        intercepts: Any,
        excess: list[float] | None = None,
    ) -> np.ndarray:
        """Compute the log density of each transition; append to ``excess`` by how much it is too large."""
        each, weights = self._fields(theta, before, intercepts)
        rows, model = np.arange(len(before)), self._panel()
        if model.within and self._is_summed(before):
            return np.asarray(self._joint(each, weights)[(rows, *after.T.astype(int))])
        if model.within:
            log_weight = np.sum([w[rows, x] for w, x in zip(each, after.T, strict=True)], axis=0)
            u, v = model.pairs.T
            log_z, _, rough = self._annealed(each, theta, before, intercepts)
            if excess is not None:
                excess.append(rough)
            return np.asarray(log_weight + (after[:, u] * after[:, v]) @ weights - log_z)
        return np.sum([w[rows, x] - logsumexp(w, axis=1) for w, x in zip(each, after.T, strict=True)], axis=0)

    def _probabilities(self, theta: np.ndarray, before: np.ndarray, intercepts: Any) -> np.ndarray:
        each, weights = self._fields(theta, before, intercepts)
        model = self._panel()
        if model.within and not self._is_summed(before):
            return self._annealed(each, theta, before, intercepts)[1]
        probabilities = np.zeros((len(before), model.n_nodes, max(model.sizes)))
        joint = np.exp(self._joint(each, weights)) if model.within else None
        for i, (w, m) in enumerate(zip(each, model.sizes, strict=True)):
            others = tuple(k + 1 for k in range(model.n_nodes) if k != i)
            p = np.exp(w - logsumexp(w, axis=1, keepdims=True)) if joint is None else joint.sum(axis=others)
            probabilities[:, i, :m] = p
        return probabilities
