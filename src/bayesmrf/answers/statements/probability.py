"""The posterior probability of a statement, and its Bayes factor against its complement, with errors."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, nan

import numpy as np

from ...results.bayes_factors import bounded, is_bound, text_of
from ...results.indicator_diagnostics import errors_of_shares


@dataclass(frozen=True)
class Probability:
    """How probable a statement is.

    Parameters
    ----------
    statement : str
    probability, error : float
        Share of the draws in which it holds, and its Monte Carlo standard error (NaN if it holds in all or in none).
    prior, prior_error : float
        The same of the prior; the error is 0 where it is exact, and both are NaN where it is not known.
    bayes_factor : float
        Posterior odds over prior odds: of the statement against its complement. NaN where it is not known.
    log10_bf_error : float
        Standard error of its log10; NaN for a bound.
    bound : str
        ">" or "<" if the factor is a bound: beyond 10^4 or 10^-4, or of a statement that holds in all draws or in none,
        as if it failed, or held, in one.
    """

    statement: str
    probability: float
    error: float
    prior: float
    prior_error: float
    bayes_factor: float
    log10_bf_error: float
    bound: str = ""

    def __str__(self) -> str:
        """Return it as a sentence."""
        error = "" if self.error != self.error else f" (error {self.error:.2g})"
        text = f"{self.statement}: probability {self.probability:.3f}{error}"
        if self.prior != self.prior:
            return f"{text}; the prior probability is not known"
        text += f", prior {self.prior:.3f}"
        if self.bayes_factor != self.bayes_factor:
            return text
        times = "" if self.bound else f" (up to a factor of {10**self.log10_bf_error:.2f})"
        return f"{text}, Bayes factor {text_of(self.bayes_factor, self.bound)}{times}"


def probability_of(statement: str, held: np.ndarray, prior: np.ndarray | float | None) -> Probability:
    """Return the probability of a statement.

    Parameters
    ----------
    statement : str
    held : (n_chains, n_draws) array of bool
    prior : (n,) array of bool, float, or None
        Whether it holds in independent draws of the prior; its prior probability; None if that is not known.
    """
    p, n = float(held.mean()), held.size
    is_sure = p in (0, 1)
    error = nan if is_sure else float(errors_of_shares(held[..., None])[0])
    if prior is None:
        return Probability(statement, p, error, nan, nan, nan, nan)
    drawn = isinstance(prior, np.ndarray)
    p0 = float(np.mean(prior))
    p0_error = float(np.sqrt(p0 * (1 - p0) / np.size(prior))) if drawn else 0.0
    if p0 in (0, 1) and (not drawn or (is_sure and p == p0)):
        return Probability(statement, p, error, p0, p0_error, nan, nan)
    odds = [_odds(p, n), _odds(p0, np.size(prior))]
    factor, bound = odds[0] / odds[1], ""
    if is_sure or p0 in (0, 1):
        bound = ">" if p == 1 or p0 == 0 else "<"
    factor = float(bounded(np.log10(factor)))
    if is_bound(factor):
        bound = ">" if factor > 1 else "<"
    if bound:
        return Probability(statement, p, error, p0, p0_error, factor, nan, bound)
    away = np.hypot(error / (p * (1 - p)), p0_error / (p0 * (1 - p0)))
    return Probability(statement, p, error, p0, p0_error, factor, float(away / log(10)))


def _odds(p: float, n: int) -> float:
    """Compute the odds of a share of n draws, of which one at least counts as another."""
    p = min(max(p, 1 / (n + 1)), n / (n + 1)) if p in (0, 1) else p
    return p / (1 - p)
