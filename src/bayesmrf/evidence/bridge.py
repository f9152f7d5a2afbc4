r"""Bridge sampling of the evidence, between the posterior and the prior (Meng and Wong 1996).

With q_1 = p(X | theta) p(theta), whose normaliser is the evidence, and q_2 = p(theta), whose normaliser is 1,

.. math:: p(X) = \frac{E_2[q_1 \alpha]}{E_1[q_2 \alpha]}

for any alpha. The geometric bridge is :math:`\alpha = (q_1 q_2)^{-1/2}`. The bridge with the smallest error is
:math:`\alpha \propto 1 / (s_1 q_1 + s_2 \, p(X) q_2)`, with s_i the shares of the draws. It contains the evidence
itself, which is found as the fixed point of the equation. Both fail if no draw of the prior comes near the posterior,
as with a thousand parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_expit, logsumexp

from ..declare.option import option
from ..declare.rule import STATES, choice, optional
from .means import FEW, Estimate, log_mean, mean_ess, mean_of
from .posterior_draws import FromDraws, PosteriorDraws, log_likelihoods
from .target import Evidence, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class BridgeSampling(FromDraws):
    """Estimate the evidence from posterior and prior draws.

    ``parts`` has those of the draws, ``n_prior``, ``prior_not_converged`` (the share of prior draws at which belief
    propagation did not converge), and the effective sample sizes ``n_effective_posterior`` and ``n_effective_prior``.
    If one of these is below ten, the status says so and the standard error is NaN.

    Parameters
    ----------
    sampler
        As in `FromDraws`.
    n_prior
        By default as many as from the posterior.
    """

    variant: str = option("optimal", choice("geometric", "optimal"), "The function at both ends of the bridge.")
    n_prior: int | None = option(None, optional(STATES), "Number of draws from the prior.")

    @property
    def name(self) -> str:
        """Name of the method, with its variant."""
        return f"bridge-{self.variant}"

    def _estimate(self, target: Target, rng: np.random.Generator, work: PosteriorDraws, progress: bool) -> Evidence:
        n = work.log_likelihood.size if self.n_prior is None else int(self.n_prior)
        thetas = target.prior.sample(n, target.n_features, rng)
        prior, n_astray = log_likelihoods(target, thetas, work.is_exact, progress)
        ratio, n_posterior = bridge_ratio(work.log_likelihood, prior, self.variant)
        remarks = []
        if n_astray:
            remarks.append(f"belief propagation did not converge at {n_astray} of {n} draws of the prior")
        few = not min(ratio.n_effective, n_posterior) >= FEW
        if few:
            remarks.append(
                f"prior and posterior overlap too little: {ratio.n_effective:.1f} effective draws from the prior and "
                f"{n_posterior:.1f} from the posterior are too few for the estimate and its standard error; use "
                "more draws (in Python, also by n_prior), or 'laplace'"
            )
        parts = {
            "n_prior": n,
            "prior_not_converged": n_astray / n,
            "n_effective_posterior": n_posterior,
            "n_effective_prior": ratio.n_effective,
        }
        error = np.nan if few else ratio.standard_error
        return self._result(target, work, ratio.value, error, parts, remarks, prior_log_likelihood=prior)


def bridge_ratio(posterior: np.ndarray, prior: np.ndarray, variant: str) -> tuple[Estimate, float]:
    r"""Estimate the log evidence from log likelihoods of posterior (n_chains, n_draws) and prior draws (n_prior,).

    The variance is the sum of the relative variances of the two means (Meng and Wong 1996, eq. 3.2, with effective
    sample sizes in place of numbers of draws); estimation of the optimal alpha adds nothing to this order. If few draws
    of the prior reach the posterior, the largest terms are missing among them. Their mean square is therefore also
    estimated from the draws of the posterior, and the larger estimate is used:

    .. math:: E_2[(q_1 \alpha)^2] = p(X) E_1[q_1 \alpha \, q_2 \alpha].

    Returns
    -------
    Estimate, n_effective
        The estimate with the effective sample size of the prior, and the effective sample size of the posterior.
    """
    shift = 0.0 if variant == "geometric" else _optimal(posterior, prior)

    def log_terms(log_likelihood: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return log q_1 alpha and log q_2 alpha, up to a factor e^shift in their ratio."""
        x = log_likelihood - shift
        return (x / 2, -x / 2) if variant == "geometric" else (log_expit(x), log_expit(-x))

    above, _ = log_terms(prior)
    above_posterior, below = log_terms(posterior)
    log_below, v_below, n_below = mean_of(below)
    ratio = log_mean(above) - log_below
    _, v_above, n_above = mean_of(above, chains=False, log_square=ratio + log_mean(above_posterior + below))
    return Estimate(ratio + shift, float(np.sqrt(v_above + v_below)), n_above), n_below


def _optimal(posterior: np.ndarray, prior: np.ndarray) -> float:
    r"""Return log(s_2 p(X) / s_1) at the fixed point, where the bridge of this alpha gives p(X).

    With x = log p(X | theta) - shift the equation is
    :math:`s_1 \overline{\sigma(-x)}_{posterior} = s_2 \overline{\sigma(x)}_{prior}`; the left side increases with the
    shift and the right side decreases.
    """
    n = mean_ess(posterior)
    odds = np.log(n if np.isfinite(n) else posterior.size) - np.log(prior.size)

    def excess(shift: float) -> float:
        left = logsumexp(log_expit(shift - posterior)) - np.log(posterior.size)
        right = logsumexp(log_expit(prior - shift)) - np.log(prior.size)
        return float(odds + left - right)

    low = min(posterior.min(), prior.min()) - abs(odds) - 1
    high = max(posterior.max(), prior.max()) + abs(odds) + 1
    return float(brentq(excess, low, high, xtol=1e-10))
