r"""Cross-validation, with which Chen and Welling (2012, sections 2 and 4) compare the evidence.

The observations are split at random into folds. For each, the model is learnt from the others, and the mean log
likelihood of its own observations, log Z(x, theta) - log Z(theta), is the fold's score. Learning and log Z are those of
Laplace's approximation, fine-tuning included: persistent chains alone stay near independent units for a hundred
thousand steps where hidden units matter little. theta is then a mode of the posterior given the other folds: the
likelihood alone has its maximum at infinity where a column of a small training set never varies.

The score estimates how well new observations are predicted. It is no evidence, and no term of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..progress import track
from ..rules import integer
from .laplace import evaluate
from .mode import find_mode
from .target import Evidence, Target


def cross_validate(
    target: Target,
    rng: np.random.Generator,
    *,
    n_folds: int = 10,
    log_z: str = "auto",
    n_steps: int = 20_000,
    n_chains: int = 100,
    temperatures: int = 1000,
    progress: bool = False,
) -> Evidence:
    """Mean log likelihood of observations that were left out in learning.

    Parameters
    ----------
    target : Target
    rng : numpy.random.Generator
        Splits the observations, and learns.
    n_folds : int
        From 2 to the number of observations.
    log_z, n_steps, n_chains, temperatures, progress
        As in `laplace`.

    Returns
    -------
    Evidence
        ``parts`` has ``log_likelihood_per_observation``, ``sd_over_folds`` (of the means of the folds),
        ``log_z_error`` (the largest standard error of a fold's log Z) and ``folds``; ``arrays`` has ``folds``, the mean
        of each. ``log_evidence`` is N times the score, so that it can be set beside other methods: it ranks models, and
        its differences are no log Bayes factors. ``standard_error`` is NaN: folds share their training data, and the
        spread of their means does not tell it.

    Raises
    ------
    OptionError
        For fewer than 2 folds, or more folds than observations.
    DataError
        If weights are no whole numbers.
    """
    n = len(target.rows)
    integer(2, n, "a fold has at least one observation").check("n_folds", n_folds)
    scores, errors, statuses = np.empty(n_folds), [], []
    sizes = [len(part) for part in np.array_split(np.arange(n), n_folds)]
    counts = target.weights.astype(np.int64)
    left = counts.copy()
    for i, size in enumerate(track(sizes, "cross-validation", progress=progress)):
        # How often each row is in the next ``size`` of the observations in random order.
        fold = rng.multivariate_hypergeometric(left, size, method="marginals")
        left -= fold
        training, test = _counted(target, counts - fold), _counted(target, fold)
        mode = find_mode(training, rng, n_steps=n_steps, log_z=log_z)
        point = evaluate(training, mode.theta, rng, log_z, n_chains, temperatures)
        log_normaliser = -point.parts["log_z"] / training.n_samples
        scores[i] = test.positive(mode.theta) / size - log_normaliser
        errors.append(point.error)
        statuses += [f"fold {i + 1}: {status}" for status in (mode.status, point.status) if status]
    total = float(scores @ sizes)
    return Evidence(
        total,
        np.nan,
        "cross-validation",
        target.n_samples,
        target.n_features,
        parts={
            "log_likelihood_per_observation": total / n,
            "sd_over_folds": float(scores.std(ddof=1)),
            "log_z_error": max(errors),
            "folds": float(n_folds),
        },
        status="; ".join(statuses),
        arrays={"folds": scores},
    )


def _counted(target: Target, counts: np.ndarray) -> Target:
    """The same of the observations that these ``counts`` of the rows have."""
    seen = counts > 0
    return replace(target, states=target.states[seen], weights=counts[seen].astype(np.float64))
