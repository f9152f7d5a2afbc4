"""How far a result is from that of another bank of states, and whether its chains met the wall."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..errors import ApproximatePosteriorWarning, argument
from ..findings import BAD, FAIR, NOTE, tell
from ..posterior.edges.bank_moves import WALL
from ..posterior.hidden_entries import DrawHiddenEntries
from ..results.blocks import at_draws, variable
from ..results.rank_diagnostics import pareto_k
from ..states.bank import Bank, log_z
from ..threads import one_thread
from .bank_start import another_bank

_DRAWS = 1000  # that are weighted, at most
_SHAPE = 0.7  # Pareto k, above which weighted means have no error that is known
_WALLED = 1e-3  # of blocks


class BankError(NamedTuple):
    """Changes of inclusions from the weights of another bank."""

    mean: float
    largest: float
    noise: float  # Monte Carlo standard error of a change, the mean over edges
    shape: float  # Pareto k of the weights


@one_thread()
def bank_error(model: Any, banks: Sequence[Bank], n: np.ndarray, theta: np.ndarray, included: np.ndarray) -> BankError:
    """Weight draws by the ratio of the posteriors with independent banks and with those of the run.

    Parameters
    ----------
    model : NodeFeatures
    banks : sequence of Bank
        Of each group.
    n : (G,) array
        Observations.
    theta : (n_draws, G, F) array
        Natural parameters of each group.
    included : (n_draws, n_edges) array of bool
    """
    rng, logs = np.random.default_rng(1), np.zeros(len(theta))
    for g, bank in enumerate(banks):
        other = another_bank(model, bank, n[g], rng)
        logs += n[g] * (log_z(model, bank, theta[:, g])[0] - log_z(model, other, theta[:, g])[0])
    weight = np.exp(logs - logs.max())
    weight /= weight.sum()
    has = included.astype(np.float64)
    weighted, plain = weight @ has, has.mean(axis=0)
    error = np.sqrt(((weight[:, None] * (has - weighted) - (has - plain) / len(has)) ** 2).sum(axis=0))
    shape = float(pareto_k(logs[:, None])[0])
    change = np.abs(weighted - plain)
    return BankError(float(change.mean()), float(change.max()), float(error.mean()), shape)


def judge_bank(tree: xr.DataTree, model: Any, kernel: Any) -> None:
    """Tell how far the result of a run with a bank is from that of another bank.

    Warns
    -----
    ApproximatePosteriorWarning
        If the wall rejected more than 0.1 % of the blocks, or weights vary so much that nothing can be said.
    """
    design = (kernel.kernel if isinstance(kernel, DrawHiddenEntries) else kernel).design
    remedy = f"; {argument('moments', 'chains')} does not use these states"
    banks, n = design.banks, design.tables.n
    source = f"The normalizing constant is estimated from {len(banks[0].states):,} simulated states"
    walled = float(tree["sample_stats"]["walled"].mean())
    if walled > _WALLED:
        tell(
            f"{source}, and {walled:.1%} of the proposals were rejected because less than {WALL:.0%} of these states "
            f"have weight there: the draws do not follow the posterior{remedy}.",
            ApproximatePosteriorWarning,
            BAD,
        )
        return
    draws = variable(tree, "theta")
    numbers = np.unique(np.linspace(0, draws.shape[0] * draws.shape[1] - 1, _DRAWS).astype(int))
    theta, included = at_draws(draws, numbers), at_draws(variable(tree, "included"), numbers)
    error = bank_error(model, banks, n, theta.reshape(len(theta), len(banks), -1), included)
    tree.attrs |= {f"bank_{name}": value for name, value in error._asdict().items()}
    if not error.shape <= _SHAPE:  # NaN of weights that are all equal, too
        tell(
            f"{source}, and the error of this estimate could not be assessed: too few draws have weight under an "
            f"independent set of states (Pareto k {error.shape:.2f}, should be below {_SHAPE:g}){remedy}.",
            ApproximatePosteriorWarning,
            FAIR,
        )
        return
    tell(
        f"{source}; with an independent set of states, inclusion probabilities change by {error.mean:.3f} on average "
        f"and {error.largest:.3f} at most (Monte Carlo standard error {error.noise:.3f}).",
        ApproximatePosteriorWarning,
        NOTE,
    )
