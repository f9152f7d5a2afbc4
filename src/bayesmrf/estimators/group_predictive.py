"""Predictions in the networks of several groups of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..data.group_labels import code_of, codes_of
from .predictive import Predictive


class GroupPredictive(Predictive):
    r"""Predictions of an observation by the network of its group.

    .. math:: \log p(x \mid g) = \log \frac1K \sum_{k=1}^K \exp(\theta_{kg} \cdot s(x) - \log Z(\theta_{kg})),

    where :math:`\theta_{kg}` are the parameters of group g in 100 draws, as in `Predictive`. ``groups`` has the label
    of the group of each row, one of ``groups_``, and is a Series with the index of ``X`` or another sequence.
    """

    groups_: np.ndarray

    def score(  # type: ignore[override]
        self, X: Any, groups: Any, sample_weight: Any = None, average: str = "bayes"
    ) -> float:
        """Compute the mean log predictive density of an observation in the network of its group, in nats.

        It can be compared with the score of one network for all rows, such as that of `bayesmrf.SpikeSlabMRF`. Log Z is
        computed, and an `ApproximateScoreWarning` given, as by `Predictive.score`: ``score_kind_`` says whether log Z
        is exact in all groups, and ``log_z_error_`` is its mean standard error over the draws of all groups.
        """
        return self._score(X, average, sample_weight, groups)

    def score_samples(self, X: Any, groups: Any, average: str = "bayes") -> np.ndarray:  # type: ignore[override]
        """Compute the log predictive density of each row in the network of its group; see `score`."""
        return self._score_samples(X, average, groups)

    def sample(  # type: ignore[override]
        self, n_samples: int = 1, group: Any = None, random_state: Any = None, average: str = "bayes"
    ) -> np.ndarray:
        """Draw states from the network of the group with the label ``group``; see `Predictive.sample`."""
        check_is_fitted(self)
        return self._sample(n_samples, random_state, average, code_of(group, self.groups_))

    def predict_conditional(  # type: ignore[override]
        self, X: Any, groups: Any, nodes: Sequence[Any], average: str = "bayes"
    ) -> np.ndarray:
        r"""Compute the probability of each joint state of some nodes, given the other nodes of each row and its group.

        .. math:: p(x_A \mid x_{-A}, g) = \frac1K \sum_{k=1}^K p(x_A \mid x_{-A}, \theta_{kg}),

        exactly for each draw; see `Predictive.predict_conditional`.
        """
        return np.exp(self._conditional(X, nodes, average, is_read=False, groups=groups))

    def conditional_log_likelihood(  # type: ignore[override]
        self, X: Any, groups: Any, nodes: Sequence[Any], average: str = "bayes"
    ) -> np.ndarray:
        """Compute the log of `predict_conditional` at the states that X has, (n_samples,)."""
        return self._conditional(X, nodes, average, is_read=True, groups=groups)

    def _groups(self) -> Sequence[int]:
        return range(len(self.groups_))

    def _codes(self, groups: Any, X: Any, n: int) -> list[tuple[int | None, np.ndarray]]:
        codes = codes_of(groups, X, n, self.groups_)
        return [(int(g), np.flatnonzero(codes == g)) for g in np.unique(codes)]
