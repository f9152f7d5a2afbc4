"""Log likelihoods of single observations under every draw, and how well nodes are predicted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...data.check_columns import rows_with_answers
from ...data.states import States, levels_of
from ...declare.rule import integer, optional
from ...errors import ApproximateScoreWarning
from ...findings import tell
from ...results.blocks import at_draws
from ...results.observations import (
    LOG_LIKELIHOODS,
    MOST,
    Observed,
    add_observations,
    check_size,
    loo_table,
    spaced_draws,
)
from ...results.surveyed import refuse_surveyed
from ..predictions.mixture import ANNEALING, Mixture
from ..predictions.normaliser import normaliser, own_normalisers
from ..predictions.partly_seen import PartlySeen, log_potential, log_sums

if TYPE_CHECKING:
    import xarray as xr

_DRAWS = optional(integer(1, 10**6))


def compute(
    tree: xr.DataTree, mixture: Mixture, X: Any, sample_weight: Any, n_draws: int | None, groups: Any = None
) -> None:
    """Add the log likelihood of each observation to a tree; see `bayesmrf.SpikeSlabMRF.add_log_likelihood`."""
    _DRAWS.check("n_draws", n_draws)
    refuse_surveyed(tree, "add_log_likelihood", "leave-one-out leaves out whole rows, and not weights")
    states = mixture.read(X, sample_weight)
    rows, theta = states.values, mixture.draws
    assert theta is not None
    n_chains, n_kept = theta.shape[:2]
    kept, numbers = spaced_draws(n_chains, n_kept, n_draws)
    weights = np.ones(len(rows), dtype=int) if states.weights is None else np.asarray(states.weights).astype(int)
    check_size(len(numbers) * int(weights.sum()), MOST, LOG_LIKELIHOODS, n_draws)
    persons, log_z, error = rows_with_answers(rows, states.weights), [], []
    parts = [(g, np.intersect1d(which, persons)) for g, which in mixture.codes(groups, X, len(rows))]
    parts = [(g, which) for g, which in parts if len(which)]
    log_p = np.empty((len(numbers), len(rows)))
    for g, which in parts:
        thetas = at_draws(theta if g is None else theta[:, :, g], numbers)
        fields = [mixture.present(t) for t in thetas]
        if mixture.engine is not None:
            each = own_normalisers(mixture.engine, fields)
        else:
            each = [normaliser(model, t, *ANNEALING) for model, t in fields]
        log_z.append([z.log_z for z in each])
        error.append([z.error for z in each])
        log_p[:, which] = _sums(mixture, rows[which], thetas, fields, log_z[-1]) - np.array(log_z[-1])[:, None]
    shape = n_chains, len(kept)
    correct, base = _predicted(mixture, states, X, groups, weights)
    of_groups = slice(None) if theta.ndim == 4 else 0
    its_log_z, its_error = (np.array(v).T.reshape(*shape, -1)[..., of_groups] for v in (log_z, error))
    labels, sizes = [g for g, _ in parts if g is not None], [int(weights[which].sum()) for _, which in parts]
    each_person = log_p[:, persons].reshape(*shape, -1), persons, weights[persons]
    add_observations(tree, Observed(kept, *each_person, its_log_z, its_error, labels, sizes, correct, base))
    _warn_if_rough(float(loo_table(tree)["log_z_error"].iloc[0]))


def _warn_if_rough(error: float) -> None:
    """Warn of an error of log Z that may change the sum over persons by more than 1 nat."""
    if error > 1:
        tell(
            f"log Z has an error that changes the sum of the log densities of all persons by {error:.2g} nats; "
            "comparisons of models by loo are uncertain by as much.",
            ApproximateScoreWarning,
        )


def _sums(mixture: Mixture, rows: np.ndarray, thetas: np.ndarray, fields: list[Any], log_z: list[float]) -> np.ndarray:
    """Compute the log of the sum over the missing values of each row under each draw, (n_draws, n_rows)."""
    return log_sums(
        rows,
        thetas,
        lambda: log_z,
        lambda part: [log_potential(model, theta, part) for model, theta in fields],
        lambda part: PartlySeen(mixture.model, part, mixture.present),
    )


def _predicted(
    mixture: Mixture, states: States, X: Any, groups: Any, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute the shares of answers of each node that are the most probable, given others, and most frequent."""
    values, correct, base = states.values, [], []
    for node in range(values.shape[1]):
        is_seen = values[:, node] >= 0
        answers, w = values[:, node][is_seen], weights[is_seen]
        likely = mixture.conditional(X, [node], "bayes", False, groups)[is_seen].argmax(axis=1)
        n = float(w.sum()) or np.nan  # NaN of a node that no person has answered
        correct.append(w[likely == answers].sum() / n)
        base.append(np.bincount(answers, w, len(levels_of(states.coding, node))).max() / n)
    return np.array(correct), np.array(base)
