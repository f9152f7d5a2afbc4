r"""Deviance information criterion (Spiegelhalter et al. 2002).

.. math:: \mathrm{DIC} = D(\bar\theta) + 2 p_D, \qquad p_D = \overline{D(\theta)} - D(\bar\theta), \qquad
          D(\theta) = -2 \log p(X \mid \theta)

-DIC / 2 is returned as the log evidence, on the scale of the other methods. It is not an approximation to the evidence
(Chen and Welling 2012, section 3.2): its penalty does not depend on the prior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..evidence.posterior_draws import FromDraws, PosteriorDraws, log_likelihoods
from ..evidence.target import Evidence, Target


@dataclass(frozen=True, eq=False, kw_only=True)
class DIC(FromDraws):
    """Deviance information criterion, as the score -DIC / 2.

    The mean of the parameters is meaningful within one mode only: chains that exchange hidden units give a mean that
    fits badly, a large p_D and a status. ``parts`` has those of the draws, ``mean_deviance``, ``deviance_at_mean``,
    ``n_effective_parameters`` (p_D) and ``dic``. The standard error is a jackknife over chains, NaN for one chain.

    Parameters
    ----------
    sampler
        As in `FromDraws`.
    """

    name = "dic"

    def _estimate(self, target: Target, rng: np.random.Generator, work: PosteriorDraws, progress: bool) -> Evidence:
        m, means = len(work.theta), work.theta.mean(axis=1)
        points = means.mean(axis=0)[None]
        if m > 1:
            points = np.vstack([points, (means.sum(axis=0) - means) / (m - 1)])  # without each chain in turn
        at_mean, n_astray = log_likelihoods(target, points, work.is_exact)
        by_chain = work.log_likelihood.mean(axis=1)
        score = 2 * by_chain.mean() - at_mean[0]
        error = np.nan
        if m > 1:
            without = 2 * (by_chain.sum() - by_chain) / (m - 1) - at_mean[1:]
            error = np.sqrt((m - 1) / m * ((without - without.mean()) ** 2).sum())
        p_d = 2 * (at_mean[0] - by_chain.mean())
        remarks = []
        if n_astray:
            remarks.append("belief propagation did not converge at the mean of the parameters")
        if p_d < 0 or p_d > target.n_features:
            remarks.append(f"p_D = {p_d:.3g} is not between 0 and the number of parameters, {target.n_features}: the "
                           "posterior is far from normal, or its draws exchange hidden units")  # fmt: skip
        parts = {
            "mean_deviance": float(-2 * by_chain.mean()),
            "deviance_at_mean": float(-2 * at_mean[0]),
            "n_effective_parameters": float(p_d),
            "dic": float(-2 * score),
        }
        return self._result(target, work, score, error, parts, remarks)
