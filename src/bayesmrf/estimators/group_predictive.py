"""Scores and samples of the networks of several groups, averaged over the draws of a posterior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.group_labels import code_of, codes_of
from .normaliser import LARGEST_ERROR, warn_if_few
from .predictive import LARGEST_ERROR_OF_A_ROW, Predictive, error_of_mean


class GroupPredictive(Predictive):
    r"""Predictions of an observation by the network of its group.

    .. math:: \log p(x \mid g) = \log \frac1K \sum_{k=1}^K \exp(\theta_{kg} \cdot s(x) - \log Z(\theta_{kg})),

    where :math:`\theta_{kg}` are the parameters of group g in 100 draws, as in `Predictive`.
    """

    groups_: np.ndarray

    def score(  # type: ignore[override]
        self, X: Any, groups: Any, sample_weight: Any = None, average: str = "bayes"
    ) -> float:
        """Compute the mean log predictive density of an observation in the network of its group, in nats.

        It can be compared with the score of one network for all rows, such as that of `bayesmrf.SpikeSlabMRF`. Log Z is
        computed, and an `ApproximateScoreWarning` given, as by `Predictive.score`: ``score_kind_`` says whether log Z
        is exact in all groups, and ``log_z_error_`` is its mean standard error over the draws of all groups.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
        groups : (n_samples,) sequence
            Label of the group of each row, one of ``groups_``; a Series with the index of ``X``.
        sample_weight : (n_samples,) array, optional
            Counts of rows, integers >= 0; a Series with the index of ``X``.
        average : {"bayes", "mean"}
            The log of the mean density over 100 draws, or the log density at ``theta_``.
        """
        each, _, away, weights = self._log_predictive_of_rows(X, groups, average, sample_weight)
        warn_if_few("the score", error_of_mean(away), LARGEST_ERROR)
        return float(each @ weights)

    def score_samples(  # type: ignore[override]
        self, X: Any, groups: Any, average: str = "bayes"
    ) -> np.ndarray:
        """Compute the log predictive density of each row in the network of its group, (n_samples,); see `score`.

        An `ApproximateScoreWarning` says how many rows have a standard error above 0.25 nats, as few of the 100 draws
        give them most of their density.
        """
        each, error, _, _ = self._log_predictive_of_rows(X, groups, average)
        warn_if_few("the log density of {} of {} rows", error, LARGEST_ERROR_OF_A_ROW)
        return each

    def sample(  # type: ignore[override]
        self, n_samples: int = 1, group: Any = None, random_state: Any = None, average: str = "bayes"
    ) -> np.ndarray:
        """Draw states from the network of a group, in the coding of the data fitted.

        They are exact where elimination is cheap, else by parallel tempering, which visits all modes of a model.

        Parameters
        ----------
        n_samples : int
        group : label
            One of ``groups_``; required.
        random_state : int, Generator, RandomState or None
            None draws from the estimator's own ``random_state``.
        average : {"bayes", "mean"}
            From the mixture over 100 draws, or from the one network with ``theta_``.
        """
        check_is_fitted(self)
        return self._sample(n_samples, random_state, average, code_of(group, self.groups_))

    def _groups(self) -> Sequence[int]:
        return range(len(self.groups_))

    def _log_predictive_of_rows(
        self, X: Any, groups: Any, average: str, sample_weight: Any = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Compute what `_log_predictive` does, and the weights of the rows, whose sum is 1."""
        states = self._new(X, sample_weight)
        n = len(states.values)
        codes = codes_of(groups, X, n, self.groups_)
        weights = np.ones(n) if states.weights is None else states.weights
        weights = weights / weights.sum()
        each, error, away, present = np.empty(n), np.empty(n), 0.0, np.unique(codes)
        self._warn_of_log_z(average, present)
        for g in present:
            mine = codes == g
            share = weights[mine].sum()  # 0 if no row of the group counts
            of_group = self._log_predictive(states.values[mine], average, weights[mine] / (share or 1.0), g)
            each[mine], error[mine] = of_group[:2]
            away = away + share * of_group[2]  # the same draws, in which groups may depend on each other
        return each, error, np.asarray(away), weights
