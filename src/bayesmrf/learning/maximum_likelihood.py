"""Maximum likelihood estimates of theta, free or with parameters tied."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from ..base import LOG_Z, MOMENTS, POTTS, Engine, Model
from ..errors import BoundaryWarning
from ..findings import tell
from ..inference.chains import Persistent
from ..likelihood import Hidden, Likelihood
from ..models.bases import edge_of, edge_starts, has_contrasts, is_binary
from ..models.boltzmann import Coding
from ..models.display import display_of
from ..models.ising import Ising
from ..models.linear_map import LinearMap
from ..names import listed
from ..threads import one_thread
from .persistent import PersistentMLE, has_fisher_matrix
from .persistent_ascent import persistent_ascent

_MOST_RUNS, _FLAT = 20, 1e-7  # of L-BFGS-B; slope of the mean log likelihood at which they end
_ZERO = 1e-9  # share of no row, but for rounding
N_STEPS = 1000  # iterations of persistent contrastive divergence from a cold start


@dataclass(frozen=True)
class Estimate:
    """A maximum likelihood estimate."""

    theta: np.ndarray  # (n_features,)
    method: str
    at_bound: np.ndarray  # (m,), edges whose estimate was bounded


def bound(n_samples: float) -> float:
    """Return the largest absolute logit, logit(1 - 1 / 2n): half an observation from the boundary on a tree."""
    return float(np.log(max(2 * n_samples - 1, 3.0)))


@one_thread()
def maximum_likelihood(
    model: Model,
    s_bar: np.ndarray,
    n_samples: float,
    engine: Engine,
    rng: np.random.Generator,
    curve: LinearMap | None = None,
    hidden: Hidden | None = None,
) -> Estimate:
    r"""Maximise :math:`N (\theta \cdot \bar s - \log Z(\theta))`, with theta = A phi where parameters are tied.

    Of Agreement, Ising and Potts models on a forest without fields the estimate is in closed form, from S / n (averaged
    over tied edges); with an engine that answers log Z and moments it is found by L-BFGS-B on the concave objective;
    otherwise by persistent contrastive divergence.

    Parameters
    ----------
    model : Model
    s_bar : (n_features,) array
        Mean statistics.
    n_samples : float
    engine : Engine
    rng : Generator
        Used by persistent chains only.
    curve : LinearMap, optional
        Which parameters are shared (`LinearMap.tied`), such as those of edges in a group (the oracle of Liu and Page
        2013, when the groups are true).
    hidden : Hidden, optional
        The missing entries of the data, with exact engines: the likelihood is that of the observed ones. ``s_bar`` is
        over the rows that show both ends of an edge.

    Warns
    -----
    BoundaryWarning
        If an estimate is infinite (the ends of an edge always, or never, agree; two states of them never occur
        together; a state of a node occurs always, or never) and was bounded.
    """
    starts = edge_starts(model)
    r = int(starts[-1])
    limit = bound(n_samples) * _stretch(model)
    curve = LinearMap.tied(np.arange(model.n_features), model.feature_names) if curve is None else curve
    if hidden is not None:
        data = Likelihood(model, s_bar, n_samples, engine, hidden, curve)
        theta, method = _exact(data, limit, r), "exact"
    elif model.graph.is_forest and not model.fields and _has_closed_form(model):
        theta, method = _closed(model, s_bar, curve, limit), "closed form"
    elif {LOG_Z, MOMENTS} <= engine.answers:
        theta, method = _exact(Likelihood(model, s_bar, n_samples, engine, None, curve), limit, r), "exact"
    elif display_of(model).is_agreement and _suits_newton(model, curve, r):
        chains = PersistentMLE(model, s_bar, limit, n_jobs=engine.n_jobs if isinstance(engine, Persistent) else 1)
        theta, method = chains.fit(chains.start(rng), N_STEPS, curve.columns[:r]).theta, "persistent"
    elif is_binary(model) and model.fields and _ties_edges_alone(curve, r):
        # Features of 0/1 states are correlated with those of their nodes, those of -1/+1 states hardly.
        centred, model_coding = Ising(model.graph), Coding.of(model)
        coding, boltzmann = Coding.of(centred), model_coding.statistics(model, s_bar)
        theta = _persistent(centred, coding.features(centred, boltzmann), n_samples, rng, curve)
        theta, method = model_coding.theta(model, coding.weights(centred, theta)), "persistent"
    else:
        theta, method = _persistent(model, s_bar, n_samples, rng, curve), "persistent"
    far = np.flatnonzero(np.abs(theta[:r]) >= limit * (1 - 1e-6))
    at_bound = np.unique(np.searchsorted(starts, far, side="right") - 1)
    apart = np.setdiff1d(_apart(model, s_bar, curve), at_bound)
    if method != "persistent":
        apart = apart[:0]  # the others end at a bound
    never, edges = _infinite(model, s_bar, _shares(model, s_bar, curve)[r:]), model.graph.edge_names
    for what, items, names, why in (
        ("edge(s)", at_bound, edges, f"infinite or large and was bounded at {_named(model, limit)}"),
        ("edge(s)", apart, edges, "infinite, as two states of the ends never occur together, and has the finite value "
                                  "at which the search ended"),
        ("parameter(s) of nodes", range(len(never)), never, "infinite, as a state occurs never or always, and was "
                                                            "bounded"),
    ):  # fmt: skip
        if len(items):
            text = f"the maximum likelihood estimate of {len(items)} {what} is {why}"
            named = listed([str(names[i]) for i in items])
            tell(f"{text}: {named}", BoundaryWarning)
    return Estimate(theta, method, at_bound)


def _apart(model: Model, s_bar: np.ndarray, curve: LinearMap) -> np.ndarray:
    """List the free edges between varying nodes of two states that have a combination which never occurs."""
    is_free = curve.n_features == model.n_features
    if not (is_binary(model) and model.fields and is_free):
        return np.zeros(0, dtype=np.int64)
    share = Coding.of(model).statistics(model, s_bar)
    both, p = share[: model.n_edges], share[model.n_edges :]
    p_u, p_v = p[model.graph.edges].T
    cells = np.stack([both, p_u - both, p_v - both, 1 - p_u - p_v + both])
    margins = np.stack([p_u, p_v, 1 - p_u, 1 - p_v])
    return np.flatnonzero((np.abs(cells).min(axis=0) < _ZERO) & (margins.min(axis=0, initial=1) > _ZERO))


def _infinite(model: Model, s_bar: np.ndarray, share: np.ndarray) -> list[str]:
    """Name the parameters of nodes that are infinite, except those of constant nodes, which have a separate warning."""
    extreme, node = (share <= 0) | (share >= 1), np.repeat(np.arange(model.graph.n_nodes), np.diff(model.node_starts))
    varies = np.bincount(node, ~extreme, model.graph.n_nodes) > 0
    contrasts, lacking = has_contrasts(model), []
    if model.fields and contrasts.any():  # contrasts are in between even where a category never occurs
        categorical: Any = model
        p = categorical.shares(s_bar)
        several = (p > _ZERO).sum(axis=1) > 1
        never = np.argwhere(categorical.used & (p <= _ZERO) & (contrasts & several)[:, None])
        lacking = [f"{model.graph.names[i]}={categorical.label(i, k)}" for i, k in never]
    infinite = np.flatnonzero(extreme & varies[node] & ~contrasts[node])
    return [str(model.feature_names[len(s_bar) - len(share) + j]) for j in infinite] + lacking


def _stretch(model: Model) -> float:
    """Return an edge's parameter over the logit of agreement that has the same coupling."""
    return 1 / (2 * model.form.b) if is_binary(model) else 1.0


def _named(model: Model, limit: float) -> str:
    """Return the bound of an edge's parameter in words."""
    if is_binary(model) or model.family == POTTS:
        return f"an agreement of {expit(limit / _stretch(model)):.6g} (or one minus it)"
    return f"{limit:.4g} (or minus it)"  # a weight of scores, or log potentials


def _has_closed_form(model: Model) -> bool:
    """Return whether edges only depend on whether their ends agree."""
    return model.family == POTTS or (is_binary(model) and model.form.c == 0)


def _ties_edges_alone(curve: LinearMap, n_edges: int) -> bool:
    nodes = curve.columns[n_edges:]
    return bool((np.diff(nodes) == 1).all() and (not len(nodes) or nodes[0] > curve.columns[:n_edges].max(initial=-1)))


def _suits_newton(model: Model, curve: LinearMap, n_edge_features: int) -> bool:
    """Return whether `PersistentMLE` is used: with a Fisher matrix, or without fields (on grids it is fast)."""
    return _ties_edges_alone(curve, n_edge_features) and (not model.fields or has_fisher_matrix(curve.n_features))


def _persistent(
    model: Model, s_bar: np.ndarray, n_samples: float, rng: np.random.Generator, curve: LinearMap
) -> np.ndarray:
    """Maximise the likelihood by persistent chains, within bounds."""
    r, limit = int(edge_starts(model)[-1]), bound(n_samples) * _stretch(model)
    box = np.repeat([limit, bound_of_nodes(limit, model)], [r, model.n_features - r])
    return persistent_ascent(model, s_bar, n_samples, rng, np.zeros(len(box)), box, curve)


def _shares(model: Model, s_bar: np.ndarray, curve: LinearMap) -> np.ndarray:
    """Return the mean of each feature, from 0 at its lowest value to 1 at its highest, averaged over those tied."""
    share = (s_bar - model.feature_low) / (model.feature_high - model.feature_low)
    mean: np.ndarray = curve.natural(curve.pull_back(share, share) / curve.squares(np.ones(len(share))))
    return np.clip(mean, 0, 1)


def _closed(model: Model, s_bar: np.ndarray, curve: LinearMap, limit: float) -> np.ndarray:
    agree = _shares(model, s_bar, curve)
    with np.errstate(divide="ignore"):
        logit = np.log(agree) - np.log1p(-agree) + np.log(model.n_states - 1)
    return np.clip(_stretch(model) * logit, -limit, limit)


def _exact(likelihood: Likelihood, limit: float, n_edge_features: int) -> np.ndarray:
    curve = likelihood.curve
    assert isinstance(curve, LinearMap)

    def objective(phi: np.ndarray) -> tuple[float, np.ndarray]:
        if likelihood.hidden is not None:
            value, score, *_ = likelihood.evaluate(phi)
            return -value / likelihood.n_samples, -score / likelihood.n_samples
        theta = curve.natural(phi)
        inference = likelihood.inference(theta, MOMENTS)
        gradient = curve.pull_back(phi, inference.moments - likelihood.s_bar)
        return float(inference.log_z - theta @ likelihood.s_bar), gradient

    k = int(curve.columns[:n_edge_features].max(initial=-1)) + 1
    box = np.repeat([limit, bound_of_nodes(limit, likelihood.model)], [k, curve.n_features - k])
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000, "maxcor": 30}
    bounds, phi = np.stack([-box, box], axis=1), np.zeros(len(box))
    for _ in range(_MOST_RUNS):  # near bounds a run may end early; the next one forgets its curvatures
        minimum = minimize(objective, phi, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        phi = minimum.x
        if np.abs(np.clip(phi - minimum.jac, -box, box) - phi).max(initial=0) < _FLAT:
            break
    return curve.natural(phi)


def bound_of_nodes(limit: float, model: Model) -> float:
    """Return a bound of the parameters of nodes, given that those of edges are within ``limit``.

    The log odds of two states of a node given the others change by at most the sum of the ranges of its edges' terms,
    so that fields which fit its margin are at most so far from the log odds of the margin.
    """
    starts = edge_starts(model)
    of_edge = edge_of(model)
    ranges = np.bincount(of_edge, (model.feature_high - model.feature_low)[: starts[-1]], model.n_edges)
    at_node = np.bincount(model.graph.edges.ravel(), np.repeat(ranges, 2), model.graph.n_nodes)
    return float(limit * (1 + at_node.max()))
