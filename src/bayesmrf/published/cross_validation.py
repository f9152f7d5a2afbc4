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
from functools import partial
from typing import Any

import numpy as np

from ..declare.option import option
from ..declare.rule import EXECUTOR, integer
from ..errors import OptionError, argument, in_python
from ..evidence.at_mode import AtMode
from ..evidence.target import Evidence, Target
from ..runs.independent import run_each


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
    executor
        See `bayesmrf.runs.independent`. The score does not depend on it.
    """

    n_folds: int = option(10, integer(2, 10**6), "From 2 to the number of observations.")
    executor: Any = option(
        None, EXECUTOR, "A concurrent.futures.Executor or dask.distributed.Client with workers that learn the folds."
    )

    name = "cross-validation"

    @property
    def work(self) -> None:
        """None: the mode is sought for each fold."""
        return None

    def require(self, target: Target) -> None:
        """Raise an error if there are fewer observations than folds, or that of ``search``."""
        n = len(target.rows)
        if n < self.n_folds:
            fewer = in_python(f", or CrossValidation(n_folds={n})") if n > 1 else ""
            raise OptionError(
                f"{argument('method', self.name)} needs an observation for each of {self.n_folds} folds, got {n}; use "
                f"{argument('method', 'laplace')}{fewer}."
            )
        self.search.require(target)

    def _estimate(self, target: Target, rng: np.random.Generator, work: None, progress: bool) -> Evidence:
        n = len(target.rows)
        sizes = [len(part) for part in np.array_split(np.arange(n), self.n_folds)]
        left = target.weights.astype(np.int64)
        folds = []
        for size in sizes:
            # How often each row is in the next ``size`` of the observations in random order.
            folds.append(rng.multivariate_hypergeometric(left, size, method="marginals"))
            left = left - folds[-1]
        score = partial(_score, replace(self, executor=None), target)
        items = list(zip(folds, rng.spawn(self.n_folds), strict=True))
        results = dict(run_each(score, items, "cross-validation", executor=self.executor, progress=progress))
        means, errors, notes = zip(*(results[i] for i in range(self.n_folds)), strict=True)
        scores = np.array(means)
        statuses = [f"fold {i + 1}: {status}" for i, note in enumerate(notes) for status in note if status]
        total = float(scores @ sizes)
        parts = {
            "log_likelihood_per_observation": total / n,
            "sd_over_folds": float(scores.std(ddof=1)),
            "log_z_error": max(errors),
            "folds": float(self.n_folds),
        }
        return target.evidence(self.name, total, np.nan, parts, statuses, {"folds": scores})


def _score(
    method: CrossValidation, target: Target, fold: tuple[np.ndarray, np.random.Generator]
) -> tuple[float, float, tuple[str, str]]:
    """Learn from the observations outside a fold; return the score of the fold, the error of log Z, and statuses."""
    counts, rng = fold
    training, test = _counted(target, target.weights - counts), _counted(target, counts)
    mode = method.search(training, rng)
    point = method.point(training, mode.theta, rng)
    log_normaliser = -point.parts["log_z"] / training.n_samples
    return test.positive(mode.theta) / counts.sum() - log_normaliser, point.error, (mode.status, point.status)


def _counted(target: Target, counts: np.ndarray) -> Target:
    """Reweight the target to the observations with these ``counts`` of the rows."""
    is_drawn = counts > 0
    return replace(target, states=target.states[is_drawn], weights=counts[is_drawn].astype(np.float64))
