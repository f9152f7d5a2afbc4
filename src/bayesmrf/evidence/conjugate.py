r"""Evidence as a product of one-dimensional integrals: independent nodes, and forests without fields.

In these models every feature is an independent binary variable with log odds :math:`\kappa \theta_j`: the state of a
node, or the agreement of the ends of an edge. The agreements of a forest leave the sign of each tree free,

.. math:: p(X) = 2^{-N (d - r)} \prod_j \int \sigma(\kappa \theta)^{S_j} \sigma(-\kappa \theta)^{N_j - S_j}
          p(\theta) \, d\theta.

S_j is the number of successes in N_j trials, N for each feature that has parameter j; r is the number of edges, or d
where the features are nodes. If the prior is that of the logit of a Beta(a, b) variable and kappa is 1, the integral is
B(a + S, b + N - S) / B(a, b); for other priors it is a trapezoid sum, with negligible error for such integrands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from ..errors import OptionError, argument
from ..priors import ProperPrior, of_parameters
from .method import Method
from .ordinal_target import OrdinalTarget
from .pairwise_target import PairwiseTarget
from .target import Evidence, Target

_DEPTH = 50.0  # nats below the peak at which an integrand is negligible
_POINTS = 2001


@dataclass(frozen=True, eq=False, kw_only=True)
class Conjugate(Method):
    """Exact evidence: in closed form under `LogisticBeta` if kappa = 1, else by quadrature in one dimension.

    The target must have no edges, or be a forest without node fields, and have no hidden nodes; a call raises
    `OptionError` for any other model. The result is deterministic. ``parts`` has ``integrals``, the sum of the log
    integrals, ``free_signs``, -N (d - r) log 2, and under normal priors the log evidence ``at_half_prior_scale`` and
    ``at_double_prior_scale``; ``arrays`` has the ``log_integrals`` (n_features,).
    """

    name = "conjugate"

    def require(self, target: Target) -> None:
        """Raise OptionError if the parameters are not independent given the data."""
        _independent(target)

    def _estimate(self, target: Target, rng: np.random.Generator, work: None, progress: bool) -> Evidence:
        integrals, log_integrals, constant = _integrate(target, target.prior)
        others = {name: _integrate(target, prior)[0] + constant for name, prior in target.other_scales().items()}
        parts = {"integrals": integrals, "free_signs": constant, **others}
        return target.evidence(self.name, integrals + constant, 0.0, parts, arrays={"log_integrals": log_integrals})


def _integrate(target: Target, prior: ProperPrior) -> tuple[float, np.ndarray, float]:
    """Integrate over each parameter: the sum of the log integrals, each of them, and the term of the free signs."""
    kappa, features, free, label = _independent(target)
    n, n_features = target.n_samples, target.n_features
    successes = np.bincount(label, target.weights @ features, n_features)
    trials = n * np.bincount(label, minlength=n_features)
    log_integrals = of_parameters(prior).log_integrals(successes, trials) if kappa == 1 else None
    if log_integrals is not None:
        integrals = float(log_integrals.sum())
    else:
        log_integrals = _quadrature(kappa, successes, trials, prior)
        integrals = float(log_integrals.sum()) + prior.log_constant(n_features)
    return integrals, log_integrals, -free * n * float(np.log(2))


def _independent(target: Target) -> tuple[float, np.ndarray, int, np.ndarray]:
    """Return kappa, successes in each row (n_rows, n_features), free signs, and the parameter of each feature."""
    if isinstance(target, OrdinalTarget):
        raise _refusal("the thresholds of a node depend on each other", others=False)
    if not isinstance(target, PairwiseTarget) or target.n_hidden:
        raise _refusal("hidden units make them dependent")
    model, x = target.model, target.states
    label, a = np.arange(target.n_features), target.linear
    if a is not None:
        label = a.columns[np.argsort(a.rows)]
        if len(label) != model.n_features or len(np.unique(a.rows)) < len(label) or (a.values != 1).any():
            raise _refusal("features depend on sums of them")
    graph, form = model.graph, model.form
    if graph.n_edges == 0:
        return 2 * form.q, x if model.fields else x[:, :0], 0 if model.fields else graph.n_nodes, label
    if model.fields:
        raise _refusal("the nodes have both fields and edges")
    if form.c:
        raise _refusal("an edge feature is not an agreement of its ends")
    if not graph.is_forest:
        raise _refusal("the graph has a cycle")
    u, v = graph.edges.T
    return 2 * form.b, x[:, u] == x[:, v], graph.n_nodes - graph.n_edges, label


def _refusal(reason: str, others: bool = True) -> OptionError:
    """Return the error; ``others`` says whether other edges or fields of the same model are a remedy."""
    conjugate, ais, laplace = (argument("method", name) for name in ("conjugate", "ais", "laplace"))
    models = "nodes without edges, a forest without fields, " if others else ""
    return OptionError(
        f"{conjugate} needs parameters that are independent given the data, but {reason}; use {models}{ais} or "
        f"{laplace}."
    )


def _quadrature(kappa: float, successes: np.ndarray, trials: np.ndarray, prior: ProperPrior) -> np.ndarray:
    """Return the log integral of each parameter, without the constant of its prior; integrands are log-concave."""

    def log_integrand(t: np.ndarray) -> np.ndarray:
        return successes * log_expit(kappa * t) + (trials - successes) * log_expit(-kappa * t) + prior.log_density(t)

    def slope(t: np.ndarray) -> np.ndarray:
        return kappa * (successes - trials * expit(kappa * t)) + prior.gradient(t)

    low, high = np.full(len(successes), -1.0), np.full(len(successes), 1.0)
    while (outside := slope(low) < 0).any():
        low[outside] *= 2
    while (outside := slope(high) > 0).any():
        high[outside] *= 2
    for _ in range(60):
        middle = (low + high) / 2
        rises = slope(middle) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    mode = (low + high) / 2
    peak = log_integrand(mode)

    def end(sign: float) -> np.ndarray:
        reach = np.full(len(mode), 1e-3)
        while (inside := log_integrand(mode + sign * reach) > peak - _DEPTH).any():
            reach[inside] *= 1.25
        return mode + sign * reach

    grid = np.linspace(end(-1.0), end(1.0), _POINTS)
    return logsumexp(log_integrand(grid), axis=0) + np.log(grid[1] - grid[0])
