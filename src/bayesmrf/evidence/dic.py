r"""Deviance information criterion (Spiegelhalter et al. 2002).

.. math:: \mathrm{DIC} = D(\bar\theta) + 2 p_D, \qquad p_D = \overline{D(\theta)} - D(\bar\theta), \qquad
          D(\theta) = -2 \log p(X \mid \theta)

-DIC / 2 stands in the place of the log evidence so that models can be compared by it on one scale; it is no
approximation to the evidence (Chen and Welling 2012, section 3.2): its penalty does not know the prior.
"""

from __future__ import annotations

import numpy as np

from .posterior_draws import PosteriorDraws, log_likelihoods, posterior_draws
from .target import Evidence, Target


def dic(
    target: Target, rng: np.random.Generator, *, draws: PosteriorDraws | None = None, progress: bool = False
) -> Evidence:
    """Score the model by -DIC / 2.

    The mean of the parameters makes sense within one mode only: chains that exchange hidden units give a mean that
    fits badly, a large p_D and a status.

    Parameters
    ----------
    target : Target
    rng : numpy.random.Generator
    draws : PosteriorDraws, optional
        By `posterior_draws` when absent.
    progress : bool

    Returns
    -------
    Evidence
        ``parts`` are those of the draws, ``mean_deviance``, ``deviance_at_mean``, ``n_effective_parameters`` (p_D) and
        ``dic``. The standard error is the jackknife's over chains, NaN for one chain.
    """
    if draws is None:
        draws = posterior_draws(target, rng, progress=progress)
    m, means = len(draws.theta), draws.theta.mean(axis=1)
    points = means.mean(axis=0)[None]
    if m > 1:
        points = np.vstack([points, (means.sum(axis=0) - means) / (m - 1)])  # without each chain in turn
    at_mean, n_astray = log_likelihoods(target, points, draws.is_exact)
    by_chain = draws.log_likelihood.mean(axis=1)
    score = 2 * by_chain.mean() - at_mean[0]
    error = np.nan
    if m > 1:
        without = 2 * (by_chain.sum() - by_chain) / (m - 1) - at_mean[1:]
        error = np.sqrt((m - 1) / m * ((without - without.mean()) ** 2).sum())
    p_d = 2 * (at_mean[0] - by_chain.mean())
    remarks = [draws.status] if draws.status else []
    if n_astray:
        remarks.append("belief propagation did not converge at the mean of the parameters")
    if p_d < 0 or p_d > target.n_features:
        remarks.append(f"p_D = {p_d:.3g} is no number of parameters from 0 to {target.n_features}: the posterior is "
                       "far from normal, or its draws exchange hidden units")  # fmt: skip
    return Evidence(
        float(score),
        float(error),
        "dic",
        target.n_samples,
        target.n_features,
        {
            **draws.parts,
            "mean_deviance": float(-2 * by_chain.mean()),
            "deviance_at_mean": float(-2 * at_mean[0]),
            "n_effective_parameters": float(p_d),
            "dic": float(-2 * score),
        },
        "; ".join(remarks),
        arrays={"theta": draws.theta, "log_likelihood": draws.log_likelihood},
    )
