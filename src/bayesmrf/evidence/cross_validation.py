r"""Cross-validation, with which Chen and Welling (2012, sections 2 and 4) compare the evidence.

The observations are split at random into folds. For each, the model is learnt by persistent contrastive divergence from
the others, and the mean log likelihood of its own observations, log Z(x, theta) - log Z(theta), is the fold's score.
Learning and log Z are those of Laplace's approximation, so that theta is near the mode of the posterior given the other
folds: the likelihood alone has its maximum at infinity where a column of a small training set never varies.

The score estimates how well new observations are predicted. It is no evidence, and no term of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import OptionError
from ..progress import track
from ..samplers.gibbs import check_positive
from .laplace import evaluate
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
    rows = target.rows
    n = len(rows)
    if not 2 <= check_positive("n_folds", n_folds) <= n:
        raise OptionError(f"n_folds: {n_folds} came, a whole number from 2 to the number of observations, {n}, is "
                          "wanted")  # fmt: skip
    order, scores, errors, statuses = rng.permutation(n), np.empty(n_folds), [], []
    folds = np.array_split(order, n_folds)
    for i, fold in enumerate(track(folds, "cross-validation", progress=progress)):
        training = _of_rows(target, np.delete(rows, fold, axis=0))
        theta = training.climb(rng, n_steps)
        point = evaluate(training, theta, rng, log_z, n_chains, temperatures)
        log_normaliser = -point.parts["log_z"] / training.n_samples
        scores[i] = target.log_weights(theta, rows[fold]).mean() - log_normaliser
        errors.append(point.error)
        if point.status:
            statuses.append(f"fold {i + 1}: {point.status}")
    total = float(scores @ [len(fold) for fold in folds])
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


def _of_rows(target: Target, rows: np.ndarray) -> Target:
    states, counts = np.unique(rows, axis=0, return_counts=True)
    return replace(target, states=states, weights=counts.astype(np.float64))
