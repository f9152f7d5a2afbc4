"""The restricted Boltzmann machine as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..answers.predictions.partly_seen import (
    PartlySeen,
    conditional_log_probability,
    draw_missing,
    held_rows,
    log_sums,
    numbers_of,
    only,
    predicted,
)
from ..data.check_columns import LEFT_OUT, NO_DENSITY, rows_with_answers
from ..data.frames import record_columns
from ..data.read import read, read_new
from ..data.states import States, decode
from ..declare.option import check_params, option
from ..declare.rule import COLUMNS, COUNT, SCALE, SEED, STATES, STEP, integer, optional
from ..errors import ConstantColumnWarning, ConvergenceWarning, OptionError, argument
from ..findings import tell
from ..inference import annealed
from ..inference.annealed import Annealed
from ..learning.rbm_persistent import PersistentRBM, RBMState
from ..memory import check_samples
from ..models.rbm import RestrictedBoltzmann
from ..names import shown
from ..results.summary import count
from ..rng import as_seed_sequence
from ..samplers import rbm_gibbs
from ..samplers.tempered import Tempered
from ..types import Rows, Seed, Weights
from .estimator import Estimator, begin, keep_settings
from .fitted_columns import reading, type_table

_EXACT_UNITS = 16  # on the smaller side, up to which log Z is summed, within seconds
_QUICK = 2**22  # terms of this sum times units on the larger side, up to which `fit` has the time for it
_SATURATED = 0.01  # a unit is, if no row's probability of its value is more than this away from 0, or from 1
_TEMPERATURES = 10, 1000  # of annealed importance sampling: at least in the check of `fit`, and of log_z_
_PART = 10  # steps of `fit` for each temperature of its check, which takes a tenth to a quarter of the time
_FAR, _SURE = 0.1, 6.0  # difference of a column's means in data and model that is reported, and its standard errors


@dataclass(eq=False, repr=False)
class RBM(Estimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Restricted Boltzmann machine by persistent contrastive divergence (Tieleman 2008).

    Both kinds of units are in {0, 1}: p(x, z) ~ exp(z' W x + beta' z + alpha' x). The API is that of scikit-learn's
    ``BernoulliRBM``, except that `score_samples` is the log likelihood.

    Persistent chains may match the data while the model does not, if it has several modes, as they do not change modes.
    A `ConvergenceWarning` of `fit`, and of `log_z_`, says if the mean of a column is another one in the model. One of
    `fit` names hidden units that are on, or off, in all rows.

    Parameters
    ----------
    n_hidden : int
        Number of hidden units.
    learning_rate : float
        Step of the first update; it decreases linearly to zero over the updates of `fit` (Tieleman 2008), and is
        constant in `partial_fit`.
    batch_size : int
        Number of rows per update.
    n_chains : int
        Number of persistent chains.
    n_steps : int
        Number of updates of `fit`.
    prior_scale : float or None
        Standard deviation of a normal prior of every parameter, to maximise the posterior; None maximises the
        likelihood. `partial_fit` treats the rows of each call as the complete data.
    random_state : int, Generator, RandomState or None
    columns
        As in `GroupedMRF`.

    Attributes
    ----------
    components_ : (n_hidden, n_visible) array
        Weights W.
    intercept_hidden_ : (n_hidden,) array
        Biases beta.
    intercept_visible_ : (n_visible,) array
        Biases alpha.
    theta_ : (n_features,) array
        All of them: W row by row, alpha, beta.
    model_ : RestrictedBoltzmann
    log_z_, log_z_error_ : float
        Log of the normaliser and its standard error, computed on first use. Exact, with error 0, if the smaller side
        has at most 16 units; else by annealed importance sampling (100 chains, 1,000 temperatures).
    """

    n_hidden: int = option(20, integer(1, 10**5, "without hidden units the model is 'independent'"))
    learning_rate: float = option(0.1, STEP)
    batch_size: int = option(100, STATES)
    n_chains: int = option(100, STATES)
    n_steps: int = option(10_000, integer(1, 10**8))
    prior_scale: float | None = option(None, optional(SCALE))
    random_state: Any = option(None, SEED)
    _: KW_ONLY
    columns: Any = option(None, COLUMNS)

    def _outcome(self) -> list[str]:
        scale = self._settings.prior_scale
        normal = "" if scale is None else f", prior of each parameter normal, scale {scale:g}"
        objective = "likelihood" if scale is None else "posterior"
        hidden, visible = self.components_.shape
        size = f"{count(visible, 'visible unit')}, {count(hidden, 'hidden unit')}"
        return [size, f"Maximum of the {objective}, by persistent contrastive divergence{normal}"]

    def fit(self, X: Rows, y: None = None, sample_weight: Weights = None) -> RBM:
        """Maximise the likelihood, or the posterior, from small random weights.

        Parameters
        ----------
        X : (n_samples, n_visible) array or DataFrame
            Coded {0, 1}, {-1, +1} or boolean.
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.
        """
        states, n_steps = self._start(X, sample_weight), self._settings.n_steps
        self._climb(states.rows, self._settings.learning_rate * (1 - np.arange(n_steps) / n_steps))
        self._check_fit(states.values)
        return self

    def partial_fit(self, X: Rows, y: None = None) -> RBM:
        """Update once per batch of the rows of X, from the current parameters."""
        if self.__sklearn_is_fitted__():
            check_params(self)
            for option, size in zip(("n_chains", "n_hidden"), self._state.hidden.shape, strict=True):
                if getattr(self, option) != size:
                    expected = f"that of the machine that is fitted, {size}"
                    got, remedy = getattr(self, option), "fit again to change it"
                    raise OptionError(option=option, got=got, expected=expected, remedy=remedy)
            states = self._read(X, missing=False)
            keep_settings(self)  # a step of a fit has those of now
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConstantColumnWarning)  # later rows may differ
                states = self._start(X)
        n_batches = -(-len(states.values) // self._learner(states.n_samples).batch_size)
        self._climb(states.values, np.full(n_batches, self._settings.learning_rate))
        return self

    def transform(self, X: Rows) -> np.ndarray:
        """Compute P(z_k = 1 | x) for each row, (n_samples, n_hidden)."""
        values = self._read(X, missing=False).values
        return self.model_.hidden_probabilities(self.theta_, values)

    def score_samples(self, X: Rows, clamped: Any = None) -> np.ndarray:
        """Compute the log likelihood of each row, in nats: minus its free energy, minus `log_z_`; see `score`.

        It is NaN for rows without any answer (that is not ``clamped``). scikit-learn's ``BernoulliRBM`` returns a
        stochastic pseudo-likelihood instead.
        """
        values = self._read(X).values
        each, kept = np.full(len(values), np.nan), self._kept_rows(values, None, clamped, NO_DENSITY)
        each[kept] = self._log_likelihood(values[kept], clamped)
        return each

    def score(self, X: Rows, y: None = None, sample_weight: Weights = None, clamped: Any = None) -> float:
        """Compute the mean log likelihood of an observation, in nats.

        Missing values are summed out: exactly where they, or the hidden units, are about twenty at most, else by
        annealed importance sampling of the row. Rows without any answer (that is not ``clamped``) are left out.

        Parameters
        ----------
        X : (n_samples, n_visible) array or DataFrame
        y : None
            Ignored.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.
        clamped : sequence, optional
            Columns, by name or by number, that are held at their values in each row: the likelihood is that of the
            other values given these.
        """
        states = self._read(X, sample_weight)
        states = states.at(self._kept_rows(states.values, states.weights, clamped, LEFT_OUT))
        return float(np.average(self._log_likelihood(states.values, clamped), weights=states.weights))

    def sample(self, n_samples: int = 1, random_state: Seed = None, clamped: Any = None) -> np.ndarray:
        """Draw states of the visible units, in the coding of the data fitted.

        They are exact where the units of one side that are drawn are about twenty at most, else by parallel tempering.

        Parameters
        ----------
        n_samples, random_state, clamped
            As in `SpikeSlabMRF.sample`.
        """
        check_is_fitted(self)
        COUNT.check("n_samples", n_samples)
        SEED.check("random_state", random_state)
        rows = self._joint(held_rows(clamped, reading(self)))
        check_samples(n_samples, len(rows), self.model_.joint.graph.n_nodes)
        rng = np.random.default_rng(as_seed_sequence(self.random_state if random_state is None else random_state))
        tempered, model, n = Tempered(), self.model_.joint, self.model_.n_visible
        drawn, shares = zip(*[draw_missing(model, self.theta_, x, n_samples, rng, tempered) for x in rows], strict=True)
        tempered.warn_unless_renewed(float(np.mean(shares)))
        return decode(np.concatenate(drawn)[:, :n], self._coding)

    def predict_conditional(self, X: Rows, nodes: Any) -> np.ndarray:
        """Compute the probability of each joint state of some columns, given the other values of each row.

        Parameters
        ----------
        X : (n_samples, n_visible) array or DataFrame
            The values of the columns ``nodes`` are not used. Others may be missing, and are summed out.
        nodes : sequence
            At most 16 columns by name or by number.

        Returns
        -------
        (n_samples, 2^g) array
            Of g columns: the first of them is the highest digit of the number of a joint state.
        """
        check_is_fitted(self)
        numbers = predicted(nodes, self._names, 2)
        rows = self._joint(read_new(X, None, reading(self), numbers).values)
        return np.exp(conditional_log_probability(self.model_.joint, self.theta_[None], rows, numbers))

    def gibbs(self, X: Rows, n_sweeps: int = 1, random_state: Seed = None) -> np.ndarray:
        """Return states after Gibbs sweeps from X: all hidden units given the visible ones, then all visible ones.

        Parameters
        ----------
        X : (n_samples, n_visible) array or DataFrame
        n_sweeps : int
        random_state : int, Generator, RandomState or None
            None draws from the estimator's own ``random_state``.
        """
        states = self._read(X, missing=False).values
        rng = np.random.default_rng(as_seed_sequence(self.random_state if random_state is None else random_state))
        COUNT.check("n_sweeps", n_sweeps)
        SEED.check("random_state", random_state)
        drawn = rbm_gibbs.sweep(self.model_.split(self.theta_), states, n_sweeps, rbm_gibbs.generators(rng))
        return decode(drawn, self._coding)

    def _start(self, X: Any, sample_weight: Any = None) -> States:
        """Check X and the options, and initialise."""
        check_params(self)
        begin(self)
        X = type_table(self, X).table
        states = read(X, sample_weight)
        record_columns(self, X, len(states.names))
        self._names, self._coding = states.names, states.coding
        self.model_ = RestrictedBoltzmann(len(states.names), self._settings.n_hidden)
        self._rng = np.random.default_rng(as_seed_sequence(self.random_state))
        self._margins = states.rows.mean(axis=0)
        self._seen, self._n_seen = np.zeros(len(states.names)), 0  # sums of all rows that were fitted
        self._state: RBMState = self._learner(states.n_samples).start(states.rows, self._rng)
        self._n_features_out = self._settings.n_hidden
        return states

    def _learner(self, n_samples: float) -> PersistentRBM:
        settings = self._settings
        penalty = 0.0 if settings.prior_scale is None else 1 / (n_samples * settings.prior_scale**2)
        return PersistentRBM(self.model_, settings.n_chains, settings.batch_size, penalty)

    def _climb(self, values: np.ndarray, rates: np.ndarray) -> None:
        learner = self._learner(len(values))
        self._state = learner.fit(self._state, values, rates, self._rng)
        self._seen, self._n_seen = self._seen + values.sum(axis=0), self._n_seen + len(values)
        self._penalty = learner.penalty
        self.theta_ = self._state.theta
        w = self.model_.split(self.theta_)
        self.components_, self.intercept_visible_, self.intercept_hidden_ = w.weights, w.visible, w.hidden
        self._seed = int(self._rng.integers(2**63))
        self._log_z: tuple[np.ndarray, float, float] | None = None

    def _read(self, X: Any, sample_weight: Any = None, missing: bool = True) -> States:
        check_is_fitted(self)
        return read_new(X, sample_weight, reading(self), missing=missing)

    def _kept_rows(self, values: np.ndarray, weights: np.ndarray | None, clamped: Any, what: str) -> np.ndarray:
        """Return the numbers of rows that have an answer whose likelihood is computed; see `rows_with_answers`."""
        held = numbers_of(clamped, self._names, "clamped")
        free = [i for i in range(len(self._names)) if i not in held]
        return rows_with_answers(values, weights, free, what)

    def _joint(self, values: np.ndarray) -> np.ndarray:
        """Return rows of visible and hidden units; the latter are missing."""
        return np.hstack([values, np.full((len(values), self.model_.n_hidden), -1, dtype=np.int8)])

    def _log_likelihood(self, values: np.ndarray, clamped: Any) -> np.ndarray:
        numbers = numbers_of(clamped, self._names, "clamped")
        return self._log_sums(values) - self._log_sums(only(values, numbers))

    def _log_sums(self, values: np.ndarray) -> np.ndarray:
        """Compute the log of the sum over missing values, and hidden units, of each row."""
        sums = log_sums(
            values,
            self.theta_[None],
            lambda: [self.log_z_],
            lambda rows: -self.model_.free_energy(self.theta_, rows),
            lambda rows: PartlySeen(self.model_.joint, self._joint(rows)),
        )
        return np.asarray(sums[0])

    def _check_fit(self, values: np.ndarray) -> None:
        """Warn of uninformative hidden units, else of a mode that the fit has lost."""
        h = self.model_.hidden_probabilities(self.theta_, values)
        saturated = (h.max(axis=0) < _SATURATED) | (h.min(axis=0) > 1 - _SATURATED)
        small, large = sorted((self.model_.n_visible, self.model_.n_hidden))
        if saturated.any():
            lower = argument("learning_rate", min(0.1, self._settings.learning_rate / 10))
            tell(
                f"{saturated.sum()} of {len(saturated)} hidden units are on, or off, in all rows, so that they tell "
                f"nothing, as steps were too large; use {lower} or less",
                ConvergenceWarning,
            )
        elif small > _EXACT_UNITS:
            low, high = _TEMPERATURES
            self._annealed(int(np.clip(self._settings.n_steps // _PART, low, high)))
        elif 2**small * large <= _QUICK:
            self._normaliser()

    def _annealed(self, temperatures: int) -> Annealed:
        """Estimate log Z, with a warning if the means of columns are not those of the data."""
        rng = np.random.default_rng(self._seed)
        estimate = annealed.forward(self.model_, self.theta_, rng, temperatures=temperatures, margins=self._margins)
        if not estimate.status and estimate.states is not None:
            weights = np.exp(estimate.log_weights - estimate.log_weights.max())
            self._warn_unless_matched(np.average(estimate.states, 0, weights), estimate.n_effective)
        return estimate

    def _warn_unless_matched(self, means: np.ndarray, n_annealed: float = np.inf) -> None:
        """Warn if the ``means`` of visible units, exact or of annealed chains, are far from those of the data."""
        data, n = self._seen / self._n_seen, self._n_seen
        error = np.sqrt(np.maximum(means * (1 - means), 1 / n) * (1 / n + 1 / n_annealed))
        # A prior holds the means back by the penalty: either difference is near 0 where the fit has converged.
        off = np.abs(data - means - np.stack([0 * means, self._penalty * self.intercept_visible_])).min(axis=0)
        far = off > np.maximum(_FAR, _SURE * error)
        if not far.any():
            return
        i = int(np.where(far, off, 0).argmax())
        used = self._settings
        scale = 0.3 if used.prior_scale is None or used.prior_scale > 0.3 else used.prior_scale / 2
        remedy = (
            f"use {argument('prior_scale', scale)} and {argument('n_chains', 10 * used.n_chains)}, and compare score"
        )
        if np.isinf(n_annealed):
            problem, where = "persistent contrastive divergence has not converged", "the model"
        else:
            problem, where = "log_z_ misses a mode, or the fit has not converged", "annealed importance sampling"
            remedy = (f"score and score_samples may be off by many nats; {remedy}, or use "
                      f"{argument('n_hidden', _EXACT_UNITS)} at most, for which log_z_ is exact")  # fmt: skip
        tell(
            f"{problem}: the means of {far.sum()} of {len(off)} columns differ between data and {where} by more than "
            f"{_FAR:g}, most that of {shown(self._names[i])} ({data[i]:.2f} and {means[i]:.2f}); {remedy}",
            ConvergenceWarning,
        )

    @property
    def log_z_(self) -> float:
        """Log of the normaliser."""
        return self._normaliser()[1]

    @property
    def log_z_error_(self) -> float:
        """Standard error of `log_z_`; 0 if it is exact."""
        return self._normaliser()[2]

    def _normaliser(self) -> tuple[np.ndarray, float, float]:
        """Compute log Z at theta and its standard error, once while theta is the same; return theta, too."""
        check_is_fitted(self)
        if self._log_z is None or not np.array_equal(self._log_z[0], self.theta_):
            if min(self.model_.n_visible, self.model_.n_hidden) <= _EXACT_UNITS:
                inference = self.model_.exact(self.theta_)
                self._log_z = self.theta_.copy(), inference.log_z, 0.0
                self._warn_unless_matched(self.model_.split(inference.moments).visible)
            else:
                estimate = self._annealed(_TEMPERATURES[1])
                if estimate.status:
                    tell(
                        f"log_z_ is not known well: annealed importance sampling has {estimate.n_effective:.1f} "
                        f"effective chains of {len(estimate.log_weights)}, so that score and score_samples may be off "
                        "by nats; differences between rows are not affected",
                        ConvergenceWarning,
                    )  # fmt: skip
                self._log_z = self.theta_.copy(), estimate.log_z, estimate.standard_error
        return self._log_z
