"""Log Z of a fitted model, for `score`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...base import LOG_Z
from ...errors import ApproximateScoreWarning, argument
from ...findings import tell
from ...inference import annealed
from ...inference.elimination.engine import Elimination, cost
from ...inference.registry import check_model, require_answers
from ...models.categorical import states_of

_MOST_BYTES = 2**28  # one elimination within them takes a second
LARGEST_ERROR = 0.1  # nats
_SEED = 0  # the same for all models, so that equal models have equal scores


class Normaliser(NamedTuple):
    """Log Z."""

    log_z: float
    error: float  # its standard error; 0 if it is exact
    status: str  # why the error may be larger; empty if there is no problem


def is_within_reach(model: Any) -> bool:
    """Return whether log Z is exact, by elimination."""
    return cost(model.graph, _MOST_BYTES, states_of(model))[1] <= _MOST_BYTES


def own_normalisers(engine: Any, fields: list[tuple[Any, np.ndarray]]) -> list[Normaliser]:
    """Compute log Z of a form that only the user's engine knows, at several parameters.

    Raises
    ------
    OptionError
        If it does not compute log Z.
    """
    model = fields[0][0]
    require_answers(engine, "score", {LOG_Z}, model)
    plan = engine.prepare(model)
    return [Normaliser(engine.infer(model, theta, plan, want=LOG_Z).log_z, 0.0, "") for _, theta in fields]


def normaliser(model: Any, theta: np.ndarray, n_chains: int = 256, temperatures: int = 1000) -> Normaliser:
    """Compute log Z by elimination, or estimate it by annealed importance sampling if the graph is too wide.

    Parameters
    ----------
    model : Model
    theta : (n_features,) array
    n_chains, temperatures : int
        As in `bayesmrf.inference.annealed.forward`.
    """
    engine = Elimination()
    check_model(engine, model)
    if is_within_reach(model):
        log_z = engine.infer(model, theta, engine.prepare(model), want=LOG_Z).log_z
        return Normaliser(log_z, 0.0, "")
    estimate = annealed.forward(model, theta, np.random.default_rng(_SEED), n_chains, temperatures)
    few = f"only {estimate.n_effective:.1f} of {n_chains} chains count" if estimate.status else ""
    return Normaliser(estimate.log_z, estimate.standard_error, few)


def warn_if_rough(error: float, status: str) -> None:
    """Warn about a score with an imprecise log Z."""
    if error > LARGEST_ERROR or status:
        why = f" ({status})" if status else ""
        tell(
            f"log Z, and with it the score, has a standard error of {error:.2g} nats{why}; differences between data "
            "sets are not affected, differences between models are.",
            ApproximateScoreWarning,
        )


def warn_if_summed_roughly(error: np.ndarray) -> None:
    """Warn about rows of which sums over missing values have these standard errors."""
    rough = error[error > LARGEST_ERROR]
    if len(rough):
        tell(
            f"The sums over the missing values of {len(rough)} different rows have a standard error of up to "
            f"{rough.max():.2g} nats, as too many are missing for exact sums; leave out these rows, or columns that "
            "they lack.",
            ApproximateScoreWarning,
        )


def warn_if_few(what: str, error: np.ndarray, most: float) -> None:
    """Warn about averages over draws to which few draws contribute.

    Parameters
    ----------
    what : str
        What is averaged; with places for the numbers of uncertain and of all rows if it is that of rows.
    error : (n,) array
        Their standard errors, in nats.
    most : float
        Largest error without a warning.
    """
    rough = error[error > most]
    if len(rough):
        tell(
            f"{what.format(len(rough), len(error))} has a standard error of up to {rough.max():.2g} nats, as few of "
            f"the draws that are averaged contribute; {argument('average', 'mean')} has no such error.",
            ApproximateScoreWarning,
        )
