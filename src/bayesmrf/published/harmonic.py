r"""Harmonic means of the likelihood over posterior draws (Newton and Raftery 1994).

.. math:: \hat p_1 = \Big(\frac1m \sum_i \frac{1}{p(X \mid \theta_i)}\Big)^{-1}

is consistent, but dominated by the few draws with the smallest likelihood. Their :math:`\hat p_4` treats the draws as
part of m / (1 - delta) draws from a mixture of prior (delta) and posterior, and assumes that the
delta m / (1 - delta) draws from the prior all have the likelihood :math:`\hat p_4`:

.. math:: \hat p_4 = \frac{\delta m / (1 - \delta) + \sum_i p(X \mid \theta_i) / q_i}
                          {\delta m / ((1 - \delta) \hat p_4) + \sum_i 1 / q_i}, \qquad
          q_i = \delta \hat p_4 + (1 - \delta) p(X \mid \theta_i).

Draws from the prior usually have smaller likelihoods, so that this estimate has an upward bias which more draws do not
remove.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from ..declare.option import option
from ..declare.rule import Rule, is_integer
from ..evidence.means import FEW, Estimate, mean_ess, mean_of
from ..evidence.posterior_draws import FromDraws, PosteriorDraws, log_likelihoods
from ..evidence.target import Evidence, Target

_VARIANT = Rule("1 or 4", lambda v: is_integer(v) and v in (1, 4), (1, 4))
DELTA = 0.01  # share of the prior in the mixture
_PRIOR_DRAWS = 1000
_REACHED = 0.8  # prior probability of the likelihoods that the draws reach; below this an estimate is too high


@dataclass(frozen=True, eq=False, kw_only=True)
class HarmonicMean(FromDraws):
    """Estimate the evidence from posterior draws alone.

    ``parts`` has those of the draws, ``n_effective``, and ``prior_reached``: the prior probability that the likelihood
    is at least as high as at the draw with the lowest one. The harmonic mean also needs the rest of the prior, which
    the draws do not visit, so that the estimate is usually too high by about -log(``prior_reached``). The status says
    so, and the standard error is then NaN, as with fewer than ten effective draws.

    Parameters
    ----------
    sampler
        As in `FromDraws`.
    """

    variant: int = option(1, _VARIANT, "Newton and Raftery's first estimator, or their fourth with delta = 0.01.")

    @property
    def name(self) -> str:
        """Name of the method, with its variant."""
        return f"harmonic-{self.variant}"

    def _estimate(self, target: Target, rng: np.random.Generator, work: PosteriorDraws, progress: bool) -> Evidence:
        mean = (harmonic_mean if self.variant == 1 else mixture_mean)(work.log_likelihood)
        remarks, few = [], not mean.n_effective >= FEW
        if few:
            remarks.append(f"the harmonic mean has {mean.n_effective:.1f} effective draws, too few for the estimate "
                           "and its standard error; use 'laplace'")  # fmt: skip
        # A separate stream, so that later draws do not depend on this check.
        thetas = target.prior.sample(_PRIOR_DRAWS, target.n_features, rng.spawn(1)[0])
        prior, _ = log_likelihoods(target, thetas, work.is_exact, progress)
        reached = (1 + np.count_nonzero(prior >= work.log_likelihood.min())) / (1 + _PRIOR_DRAWS)
        if reached < _REACHED:
            about = "more than" if prior.max() < work.log_likelihood.min() else "about"
            remarks.append(f"the estimate is probably too high by {about} {-np.log(reached):.1f} nats: no draw has a "
                           f"likelihood as low as {1 - reached:.1%} of the prior has; use 'laplace'")  # fmt: skip
        error = np.nan if few or reached < _REACHED else mean.standard_error
        parts = {"n_effective": mean.n_effective, "prior_reached": reached}
        return self._result(target, work, mean.value, error, parts, remarks)


def harmonic_mean(log_likelihood: np.ndarray) -> Estimate:
    """Compute the first estimator from log likelihoods (n_chains, n_draws)."""
    mean, variance, n_effective = mean_of(-log_likelihood)
    return Estimate(-mean, np.sqrt(variance), n_effective)


def mixture_mean(log_likelihood: np.ndarray, delta: float = DELTA) -> Estimate:
    r"""Compute the fourth estimator from log likelihoods (n_chains, n_draws).

    With :math:`r_i = p(X \mid \theta_i) / \hat p_4` the equation is

    .. math:: \sum_i \psi(r_i) = 0, \qquad \psi(r) = \frac{r - 1}{\delta + (1 - \delta) r}.

    psi increases with r, so that there is one solution, between the smallest and the largest likelihood. The error is
    that of an M-estimator: sd(psi) over r psi' = r / (delta + (1 - delta) r)^2.
    """
    low, high = log_likelihood.min(), log_likelihood.max()

    def mixture(log_p: float) -> tuple[np.ndarray, np.ndarray]:
        log_r = log_likelihood - log_p
        return log_r, np.logaddexp(np.log(delta), np.log1p(-delta) + log_r)

    def excess(log_p: float) -> float:
        log_r, log_q = mixture(log_p)
        return float(logsumexp(log_r - log_q) - logsumexp(-log_q))

    value = float(brentq(excess, low, high, xtol=1e-10)) if high > low else float(low)
    log_r, log_q = mixture(value)
    psi = np.exp(log_r - log_q) - np.exp(-log_q)
    slope = np.exp(log_r - 2 * log_q)
    n = mean_ess(psi)
    error = np.sqrt((psi**2).mean() / n) / slope.mean()
    return Estimate(value, float(error), float(slope.sum() ** 2 / (slope**2).sum() * min(1.0, n / psi.size)))
