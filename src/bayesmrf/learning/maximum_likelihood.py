"""Maximum likelihood estimates of theta, free or with edges tied into groups."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from ..base import LOG_Z, MOMENTS, Engine
from ..errors import BoundaryWarning
from ..inference.chains import Persistent
from ..likelihood import Likelihood
from ..models.agreement import Agreement
from ..models.potts import Potts
from .many_states import persistent_ascent
from .persistent import PersistentMLE

_LOOSE = 3.0  # fields compensate for couplings: their box is so much wider
N_STEPS = 1000  # iterations of persistent contrastive divergence from a cold start


@dataclass(frozen=True)
class Estimate:
    """A maximum likelihood estimate.

    Attributes
    ----------
    theta : (n_features,) array
    method : {"closed form", "exact", "persistent"}
    at_bound : (m,) int array
        Edges whose estimate was bounded.
    """

    theta: np.ndarray
    method: str
    at_bound: np.ndarray


def bound(n_samples: float) -> float:
    """Edge parameters are kept within logit(1 - 1 / 2n): half an observation from the boundary on a tree."""
    return float(np.log(max(2 * n_samples - 1, 3.0)))


@threadpool_limits.wrap(limits=1, user_api="blas")  # matrices are small: threads cost more than they give
def maximum_likelihood(
    model: Agreement | Potts,
    s_bar: np.ndarray,
    n_samples: float,
    engine: Engine,
    rng: np.random.Generator,
    groups: np.ndarray | None = None,
) -> Estimate:
    """Maximise N (theta . s_bar - log Z(theta)), optionally with edge parameters tied by ``groups``.

    On a forest without fields the estimate is S / n (averaged over a group); with an engine that answers log Z and
    moments it is found by L-BFGS-B on the concave objective; otherwise by persistent contrastive divergence.

    Parameters
    ----------
    model : Agreement or Potts
    s_bar : (n_features,) array
        Mean statistics.
    n_samples : float
    engine : Engine
    rng : Generator
        Used by persistent chains only.
    groups : (n_edges,) int array, optional
        Edges with the same label share a parameter (the oracle of Liu and Page 2013, when the labels are true); not
        with persistent chains of a Potts model.

    Warns
    -----
    BoundaryWarning
        Names the edges whose estimate lies at infinity (edges whose ends always, or never, agree) and was bounded.
    """
    r = model.n_edges
    limit = bound(n_samples)
    if model.graph.is_forest and not model.fields:
        agree = s_bar if groups is None else np.clip(_group_mean(s_bar, groups), 0, 1)
        with np.errstate(divide="ignore"):
            theta = np.log(agree) - np.log1p(-agree) + np.log(model.n_states - 1)
        theta = np.clip(theta, -limit, limit)
        method = "closed form"
    elif {LOG_Z, MOMENTS} <= set(engine.answers):
        theta, method = _exact(Likelihood(model, s_bar, n_samples, engine), limit, groups), "exact"
    elif isinstance(model, Potts):
        box = np.repeat([limit, _LOOSE * limit], [r, model.n_features - r])
        theta, method = persistent_ascent(model, s_bar, n_samples, rng, np.zeros(len(box)), box), "persistent"
    else:
        chains = PersistentMLE(model, s_bar, limit, n_jobs=engine.n_jobs if isinstance(engine, Persistent) else 1)
        theta, method = chains.fit(chains.start(rng), N_STEPS, groups).theta, "persistent"
    at_bound = np.flatnonzero(np.abs(theta[:r]) >= limit * (1 - 1e-6))
    if at_bound.size:
        names = model.graph.edge_names
        some = ", ".join(names[i] for i in at_bound[:5]) + (", ..." if at_bound.size > 5 else "")
        warnings.warn(
            f"the maximum likelihood estimate of {at_bound.size} edge(s) lies at or near infinity and was bounded "
            f"at an agreement of {1 / (1 + np.exp(-limit)):.6g} (or one minus it): {some}",
            BoundaryWarning,
            stacklevel=4,
        )
    return Estimate(theta, method, at_bound)


def _group_mean(x: np.ndarray, groups: np.ndarray) -> np.ndarray:
    _, label = np.unique(groups, return_inverse=True)
    return (np.bincount(label, x) / np.bincount(label))[label]


def _exact(likelihood: Likelihood, limit: float, groups: np.ndarray | None) -> np.ndarray:
    r = likelihood.model.graph.n_edges
    label = np.arange(r) if groups is None else np.unique(groups, return_inverse=True)[1]
    k = int(label.max(initial=-1)) + 1

    def objective(psi: np.ndarray) -> tuple[float, np.ndarray]:
        theta = np.concatenate([psi[:k][label], psi[k:]])
        found = likelihood.inference(theta, MOMENTS)
        assert found.log_z is not None
        assert found.moments is not None
        gradient = found.moments - likelihood.s_bar
        return float(found.log_z - theta @ likelihood.s_bar), np.concatenate(
            [np.bincount(label, gradient[:r], minlength=k), gradient[r:]]
        )

    n_free = k + len(likelihood.s_bar) - r
    # Fields compensate for the couplings of all their edges, so their box is wider.
    box = np.concatenate([np.full(k, limit), np.full(n_free - k, limit * (1 + np.sqrt(r)))])
    found = minimize(
        objective,
        np.zeros(n_free),
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack([-box, box], axis=1),
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000, "maxcor": 30},
    )
    return np.concatenate([found.x[:k][label], found.x[k:]])
