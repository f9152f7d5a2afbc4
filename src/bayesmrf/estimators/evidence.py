"""The evidence of a model, p(X), and model comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..declare.option import named
from ..declare.rule import FLAG, SEED
from ..errors import OptionError
from ..evidence.methods import MethodLike, evaluate, find_method
from ..evidence.target import SCALES, Evidence, Target
from ..methods import EVIDENCE
from ..types import Rows, Seed, Weights
from .evidence_targets import hash_of, make_target, prior_name

if TYPE_CHECKING:
    import pandas as pd


@named
def log_evidence(
    model: Any,
    X: Rows | None = None,
    method: MethodLike = "laplace",
    *,
    prior_scale: float | None = None,
    prior: Any = None,
    coding: str | None = None,
    sample_weight: Weights = None,
    random_state: Seed = None,
    progress: bool = True,
) -> Evidence:
    r"""Compute the log evidence :math:`\log \int p(X \mid \theta) p(\theta) d\theta` (Chen and Welling 2012).

    Parameters
    ----------
    model : RBM, BayesianMRF, GroupedMRF, MaximumLikelihoodMRF, "independent" or Target
        * `RBM`: by its ``n_hidden``.
        * `BayesianMRF`: a fixed graph, with model "boltzmann", "ising", "agreement", "ordinal" or "nominal".
        * `GroupedMRF`, fitted: edges tied by ``groups_``, without absent edges, and node fields tied by
          ``field_groups_`` if they are grouped.
        * `MaximumLikelihoodMRF`: edges tied by its ``ties``, if any.
        * "independent": no edges, a bias for each node over {0, 1}, as an `RBM` without hidden units, or thresholds of
          ordered levels.

        Data with levels have the model "ordinal" or "nominal", as in `BayesianMRF`; there are no RBMs of them.
    X : (n_samples, n_nodes) array or DataFrame
        States coded {0, 1}, {-1, +1} or boolean, or levels; none for a Target, which has them.
    method : str, Method or callable
        A name in `bayesmrf.methods.EVIDENCE`, which describes each method and its exactness: "laplace",
        "laplace0", "map", "bic", "harmonic-1", "harmonic-4", "bridge-geometric", "bridge-optimal", "dic", "ais",
        "cross-validation" or "conjugate". Or an object of one of the classes there, which has the
        options, such as ``AIS(n_chains=50)`` or ``Laplace(search=ModeSearch(n_steps=500))``. Or a function
        ``method(target, rng)`` that returns ``target.evidence(name, value, standard_error)``.

        "map", "dic" and "cross-validation" rank models and are not estimates of the evidence.
    prior_scale : float, optional
        Standard deviation of the normal prior of every parameter. By default that of the `RBM` or `BayesianMRF`, and 1
        for other models.
    prior : Prior, optional
        `priors.Normal` or `priors.LogisticBeta`, instead of ``prior_scale``; normal for columns without order.
    coding : {"boltzmann", "ising", "agreement"}, optional
        Parameters of the prior: weights and biases over {0, 1}, couplings and fields over {-1, +1}, or log odds of
        agreement with fields over {-1, +1}. The three codings describe the same likelihoods, but the same density is a
        different prior in each: only evidences with one coding can be compared. By default that of the
        model: "boltzmann" for an `RBM` (for ordered levels it is weights and thresholds over the scores 0, 1, ...) and
        "independent", ``model`` of a `BayesianMRF`, "agreement" for the others.
    sample_weight : (n_samples,) array, optional
        Counts of rows, integers >= 0; a Series with the index of ``X``.
    random_state : int, Generator, RandomState or None
    progress : bool

    Returns
    -------
    Evidence
        NaN with a ``status`` if the method fails.

    Raises
    ------
    DataError
        For data that are neither binary nor of ordered levels, or have missing values.
    OptionError
        For a model, method, prior or coding that cannot be used.
    TooWideError
        If the method needs an exact Z that is not feasible.
    """
    find_method(method)
    SEED.check("random_state", random_state)
    FLAG.check("progress", progress)
    target, note = make_target(model, X, prior_scale, prior, sample_weight, coding)
    evidence = next(evaluate(target, [method], random_state, progress))
    return label(evidence, target, note)


def label(evidence: Evidence, target: Target, note: str) -> Evidence:
    """Add data, prior and a remark on the model to a result."""
    status = "; ".join(s for s in (evidence.status, note) if s)
    return replace(evidence, status=status, data_hash=hash_of(target), prior=prior_name(target))


def compare_evidence(evidences: Mapping[Any, Evidence] | Sequence[Evidence]) -> pd.DataFrame:
    """Compare models of the same data.

    Parameters
    ----------
    evidences : dict of names and Evidence, or sequence of Evidence

    Returns
    -------
    DataFrame
        For each model ``method``, ``n_features``, ``log_evidence``, ``standard_error``, ``difference`` from the best
        one, posterior ``probability`` of the model with equal prior probabilities (NaN for scores) and ``status``. If
        all results have it ("laplace" if Z can be summed, and "conjugate", under normal priors),
        ``at_half_prior_scale`` and ``at_double_prior_scale`` are the differences from the best at these scales of the
        prior, which show whether the best model depends on the prior.

    Raises
    ------
    OptionError
        If data or priors differ, or for scores of different methods, which are different quantities.
    """
    import pandas as pd

    results = evidences if isinstance(evidences, Iterable) else [evidences]
    named = dict(results) if isinstance(results, Mapping) else dict(enumerate(results))
    for e in named.values():
        if not isinstance(e, Evidence):
            expected, remedy = "a dict or a list of results of log_evidence", "compute them first"
            raise OptionError(option="evidences", got=e, expected=expected, remedy=remedy)
    if not named:
        raise OptionError("evidences must contain at least one result of log_evidence.")
    first_name, first = next(iter(named.items()))
    for name, e in named.items():
        if e.data_hash != first.data_hash:
            raise OptionError(f"evidences must be of the same data, but {name!r} ({e.n_samples:g} observations) and "
                              f"{first_name!r} ({first.n_samples:g}) are not.")  # fmt: skip
        if e.prior != first.prior:
            raise OptionError(f"evidences must have the same prior, but {name!r} has {e.prior} and {first_name!r} has "
                              f"{first.prior}; give all the same prior_scale and coding.")  # fmt: skip
    methods = {e.method: None for e in named.values()}
    score = next((row.name for m in methods if (row := EVIDENCE.find(m)) and row.kind == "score"), None)
    if score is not None and len(methods) > 1:
        other = next(m for m in methods if m != score)
        raise OptionError(f"evidences must be by one method, as those by {score!r} and {other!r} are different "
                          "quantities.")  # fmt: skip
    value = np.array([e.log_evidence for e in named.values()], dtype=np.float64)
    difference = value - np.fmax.reduce(value)
    weight = np.exp(difference)
    at = {
        p: np.array([e.parts[p] for e in named.values()]) for p in SCALES if all(p in e.parts for e in named.values())
    }
    return pd.DataFrame(
        {
            "method": [e.method for e in named.values()],
            "n_features": [e.n_features for e in named.values()],
            "log_evidence": value,
            "standard_error": [e.standard_error for e in named.values()],
            "difference": difference,
            "probability": np.nan if score else weight / np.nansum(weight),
            **{part: values - np.fmax.reduce(values) for part, values in at.items()},
            "status": [e.status for e in named.values()],
        },
        index=pd.Index(list(named), name="model"),
    )
