r"""Cross-validation, the alternative to the evidence in Chen and Welling (2012, sections 2 and 4).

The observations are split at random into folds. For each fold the model is learnt from the others, and the score is the
mean log likelihood of the fold's observations, log Z(x, theta) - log Z(theta). Learning and log Z are those of
Laplace's approximation, with fine-tuning: persistent chains alone stay near independent units for a hundred thousand
steps if hidden units matter little. theta is a mode of the posterior given the other folds, since the maximum of the
likelihood is at infinity if a column of a small training set is constant.

The score estimates how well new observations are predicted. It is not an estimate of the evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..progress import track
from ..rules import integer
from .criteria import AtMode
from .target import Evidence, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class CrossValidation(AtMode):
    """Mean log likelihood of held-out observations.

    ``log_evidence`` is N times the score, on the scale of the other methods. It ranks models, but its differences are
    not log Bayes factors. ``standard_error`` is NaN: folds share their training data, so that the spread of their means
    is not the error. ``parts`` has ``log_likelihood_per_observation``, ``sd_over_folds`` (of the means of the folds),
    ``log_z_error`` (the largest standard error of a fold's log Z) and ``folds``; ``arrays`` has ``folds``, the mean of
    each.

    Parameters
    ----------
    search, n_chains, temperatures
        As in `AtMode`, for each fold.
    n_folds : int
        From 2 to the number of observations.
    """

    n_folds: int = 10

    name = "cross-validation"

    @property
    def work(self) -> None:
        """None: the mode is sought for each fold."""
        return None

    def require(self, target: Target) -> None:
        """Raise the error of ``search`` if it cannot be used for ``target``."""
        self.search.require(target)

    def _estimate(self, target: Target, rng: np.random.Generator, work: None, progress: bool) -> Evidence:
        n = len(target.rows)
        integer(2, n, "a fold has at least one observation").check("n_folds", self.n_folds)
        scores, errors, statuses = np.empty(self.n_folds), [], []
        sizes = [len(part) for part in np.array_split(np.arange(n), self.n_folds)]
        counts = target.weights.astype(np.int64)
        left = counts.copy()
        for i, size in enumerate(track(sizes, "cross-validation", progress=progress)):
            # How often each row is in the next ``size`` of the observations in random order.
            fold = rng.multivariate_hypergeometric(left, size, method="marginals")
            left -= fold
            training, test = _counted(target, counts - fold), _counted(target, fold)
            mode = self.search(training, rng)
            point = self.point(training, mode.theta, rng)
            log_normaliser = -point.parts["log_z"] / training.n_samples
            scores[i] = test.positive(mode.theta) / size - log_normaliser
            errors.append(point.error)
            statuses += [f"fold {i + 1}: {status}" for status in (mode.status, point.status) if status]
        total = float(scores @ sizes)
        parts = {
            "log_likelihood_per_observation": total / n,
            "sd_over_folds": float(scores.std(ddof=1)),
            "log_z_error": max(errors),
            "folds": float(self.n_folds),
        }
        return target.evidence(self.name, total, np.nan, parts, statuses, {"folds": scores})


def _counted(target: Target, counts: np.ndarray) -> Target:
    """Return the target of the observations with these ``counts`` of the rows."""
    seen = counts > 0
    return replace(target, states=target.states[seen], weights=counts[seen].astype(np.float64))
