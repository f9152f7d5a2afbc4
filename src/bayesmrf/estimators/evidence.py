"""The evidence of a model, p(X), and models compared by it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from .. import graphs
from ..errors import OptionError
from ..evidence.methods import METHODS, SCORES, evaluate
from ..evidence.pairwise_target import PairwiseTarget
from ..evidence.rbm_target import RBMTarget
from ..evidence.target import Evidence, Target
from ..models.agreement import Agreement
from ..models.boltzmann import Boltzmann
from ..models.pairwise import PairwiseModel
from ..models.rbm import RestrictedBoltzmann
from ..partitions import canonical
from ..priors import LogisticBeta, Normal, Prior, ProperPrior
from ..states import States, check_states
from .base import check_choice, check_scale, data_hash
from .bayesian import BayesianMRF
from .grouped import GroupedMRF
from .maximum_likelihood import MaximumLikelihoodMRF
from .rbm import RBM

if TYPE_CHECKING:
    import pandas as pd

_SAME_DATA = "the {} found on the same data, which flatters the model: take the evidence of data it has not seen"


def log_evidence(
    model: Any,
    X: Any = None,
    method: str = "laplace",
    *,
    prior_scale: float | None = None,
    prior: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    progress: bool = True,
    **options: Any,
) -> Evidence:
    r"""Log evidence of a model, :math:`\log \int p(X \mid \theta) p(\theta) d\theta` (Chen and Welling 2012).

    Parameters
    ----------
    model : RBM, BayesianMRF, GroupedMRF, MaximumLikelihoodMRF, "independent" or Target
        * `RBM`: by its ``n_hidden``.
        * `BayesianMRF`: a fixed graph, with model "boltzmann", "ising" or "agreement".
        * `GroupedMRF`, fitted: edges tied by ``groups_``, without those in none (where edges may be absent), and node
          fields by ``field_groups_`` where they are grouped.
        * `MaximumLikelihoodMRF`: edges tied by its ``groups``, if it has some; each free otherwise.
        * "independent": no edges at all, a bias for each node over {0, 1}, as an `RBM` without hidden units.
    X : (n_samples, n_nodes) array or DataFrame
        States coded {0, 1}, {-1, +1} or boolean; none for a Target, which has them.
    method : str
        * "laplace": a Gaussian at the mode, corrected for modes that overlap and for equivalent ones.
        * "laplace0": without the corrections.
        * "map", "bic": without its second-order term; the Bayesian information criterion.
        * "harmonic-1", "harmonic-4", "bridge-geometric", "bridge-optimal", "dic": from draws of the posterior.
        * "ais": annealed importance sampling of the parameters with exact Z, the yardstick where it is feasible.
        * "cross-validation": log likelihood of observations left out.
        * "conjugate": closed form or quadrature, for independent nodes and forests of agreements with Beta priors.

        "map", "dic" and "cross-validation" rank models, and are no estimates of the evidence.
    prior_scale : float, optional
        Standard deviation of the normal prior of every parameter. Without it that of an `RBM` or `BayesianMRF` is its
        own; elsewhere 1.
    prior : Prior, optional
        `priors.Normal` or `priors.LogisticBeta` in the place of that.
    sample_weight : (n_samples,) array, optional
        Counts of rows.
    random_state : int, Generator, RandomState or None
    progress : bool
    **options
        Of the method; see its function in `bayesmrf.evidence`.

    Returns
    -------
    Evidence
        NaN with a ``status`` where the method found none.

    Raises
    ------
    DataError, OptionError
        One sentence each: what came, what is wanted, the remedy.
    TooWideError
        Where a method needs an exact Z that is out of reach.
    """
    check_choice("method", method, METHODS)
    target, note = make_target(model, X, prior_scale, prior, sample_weight)
    found = next(evaluate(target, [method], random_state, progress, **options))
    return label(found, target, note)


def label(found: Evidence, target: Target, note: str) -> Evidence:
    """With what was compared, and what is to be said of the model."""
    status = "; ".join(s for s in (found.status, note) if s)
    return replace(found, status=status, data_hash=hash_of(target), prior=_name(target.prior))


def make_target(
    model: Any, X: Any, prior_scale: float | None = None, prior: Any = None, sample_weight: Any = None
) -> tuple[Target, str]:
    """What a model and data are to the methods, and what a reader of the result must know."""
    if prior_scale is not None:
        check_scale("prior_scale", prior_scale)
        if prior is not None:
            raise OptionError(f"prior_scale: {prior_scale!r} came beside a prior; give one of the two")
    if isinstance(model, Target):
        more = {"X": X, "prior_scale": prior_scale, "prior": prior, "sample_weight": sample_weight}
        given = next((name for name, value in more.items() if value is not None), None)
        if given is not None:
            raise OptionError(f"{given}: it came beside a Target, which has data and prior of its own; leave it out")
        return model, ""
    if prior is None and prior_scale is not None:
        prior = Normal(float(prior_scale))
    if isinstance(model, RBM):
        return _machine(model, check_states(X, sample_weight), prior), ""
    if isinstance(model, str) and model == "independent":
        states = check_states(X, sample_weight)
        field = Boltzmann(graphs.Graph(len(states.names), np.zeros((0, 2), dtype=int), states.names))
        return _field(field, states, prior or Normal()), ""
    if isinstance(model, BayesianMRF):
        return _fixed(model, X, sample_weight, prior)
    if isinstance(model, GroupedMRF):
        return _grouped(model, X, sample_weight, prior)
    if isinstance(model, MaximumLikelihoodMRF):
        return _tied(model, X, sample_weight, prior)
    name = repr(model) if isinstance(model, str) else type(model).__name__
    raise OptionError(f"model: {name} came, whose evidence cannot be taken; give an RBM, a BayesianMRF (with "
                      "graph=est.graph_ of an estimator of edges), a fitted GroupedMRF or 'independent'")  # fmt: skip


def _machine(model: RBM, states: States, prior: Any) -> RBMTarget:
    n_hidden = model.n_hidden
    if not isinstance(n_hidden, int | np.integer) or n_hidden < 1:
        raise OptionError(f"n_hidden: {n_hidden!r} came, a whole number of at least 1 is wanted; a model without "
                          "hidden units is log_evidence('independent', X)")  # fmt: skip
    if prior is None:
        if model.prior_scale is not None:
            check_scale("prior_scale", model.prior_scale)
        prior = Normal(1.0 if model.prior_scale is None else model.prior_scale)
    if np.ndim(getattr(prior, "scale", 0)):
        raise OptionError("prior: scales of each parameter came; one for all parameters of an RBM is wanted")
    machine = RestrictedBoltzmann(len(states.names), int(n_hidden))
    return RBMTarget(machine, *_counted(states), _proper(prior))


def _fixed(model: BayesianMRF, X: Any, sample_weight: Any, prior: Any) -> tuple[Target, str]:
    if model.model == "potts":
        raise OptionError("model: a Potts model came; the evidence is that of yes/no nodes: take model 'boltzmann', "
                          "'ising' or 'agreement'")  # fmt: skip
    check_choice("model", model.model, ("boltzmann", "ising", "agreement"))
    reader = clone(model)
    states = reader._read(X, sample_weight)
    field = reader._model()
    prior = reader._prior(field) if prior is None else prior
    return _field(field, states, prior), _learnt(model.graph)


def _grouped(model: GroupedMRF, X: Any, sample_weight: Any, prior: Any) -> tuple[Target, str]:
    if not hasattr(model, "groups_"):
        raise OptionError("model: a GroupedMRF came that is not fitted, so that it has no groups; fit it first, or "
                          "give groups to MaximumLikelihoodMRF(groups=...)")  # fmt: skip
    if model.model != "agreement":
        raise OptionError(f"model: a GroupedMRF of model {model.model!r} came; the evidence is that of yes/no nodes: "
                          "take model 'agreement'")  # fmt: skip
    states = check_states(X, sample_weight, model._names)
    field, there, what = model._model(), model.groups_ >= 0, "edges and groups" if model.spike else "groups"
    s_bar = field.statistics(states.values, states.weights)
    seen = model.posterior_.attrs["data_hash"] == data_hash(model.graph_, s_bar, states.n_samples)
    if not there.all():
        field = Agreement(graphs.Graph(model.graph_.n_nodes, model.edges_[there], model.graph_.names), field.fields)
    if not field.n_features:
        raise OptionError("model: it has neither edges with an inclusion above 0.5 nor node fields, and so no "
                          "parameters to average over; fit it with fields=True")  # fmt: skip
    shared = model.field_groups_ if model.fields == "grouped" else None
    target = _field(field, states, prior or Normal(), model.groups_[there], shared)
    return target, _SAME_DATA.format(f"{what} were") if seen else _learnt(model.graph)


def _tied(model: MaximumLikelihoodMRF, X: Any, sample_weight: Any, prior: Any) -> tuple[Target, str]:
    reader = clone(model)
    states = reader._read(X, sample_weight)
    field = reader._model()
    return _field(field, states, prior or Normal(), reader._groups(field)), _learnt(model.graph)


def _learnt(graph: Any) -> str:
    return _SAME_DATA.format("graph was") if isinstance(graph, str) and graph.startswith("learn") else ""


def _field(
    model: PairwiseModel, states: States, prior: Any, groups: Any = None, field_groups: Any = None
) -> PairwiseTarget:
    """A field without hidden nodes, its edges tied where there are groups, and its node fields too."""
    tie = None
    if groups is not None:
        label = canonical(np.asarray(groups)) if len(groups) else np.zeros(0, dtype=np.int64)
        n = label.max(initial=-1) + 1
        own = np.arange(model.n_features - model.n_edges) if field_groups is None else canonical(field_groups)
        tie = np.concatenate([label, n + own]).astype(np.int64)
    target = PairwiseTarget(model, *_counted(states), _proper(prior), tie=tie)
    wanted = np.size(getattr(prior, "scale", 1))
    if wanted not in (1, target.n_features):
        raise OptionError(f"prior: {wanted} scales came, one or {target.n_features} are wanted, one for each parameter")
    return target


def _counted(states: States) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows in lexicographic order, and how often each was seen."""
    rows, place = np.unique(states.values, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), states.weights, len(rows))
    return rows[counts > 0], counts[counts > 0].astype(np.float64)


def _proper(prior: Prior) -> ProperPrior:
    if not hasattr(prior, "log_constant"):
        raise OptionError(f"prior: {type(prior).__name__} came, whose evidence is not known how to take; give "
                          "priors.Normal or priors.LogisticBeta")  # fmt: skip
    return prior  # type: ignore[return-value]


def _name(prior: ProperPrior) -> str:
    """The prior in words, equal for equal priors."""
    if isinstance(prior, Normal):
        scales = np.unique(prior.scale)
        return f"normal, scale{'s' * (len(scales) > 1)} {', '.join(f'{s:g}' for s in scales)}"
    return f"logistic Beta({prior.a:g}, {prior.b:g})" if isinstance(prior, LogisticBeta) else repr(prior)


def hash_of(target: Target) -> str:
    """Checksum of the observations, in whatever order they came."""
    order = np.lexsort(target.states.T[::-1])
    digest = hashlib.sha256(repr(target.states.shape).encode())
    digest.update(np.ascontiguousarray(target.states[order], dtype=np.int8).tobytes())
    digest.update(np.rint(target.weights[order]).astype(np.int64).tobytes())
    return digest.hexdigest()


def compare_evidence(evidences: Mapping[Any, Evidence] | Sequence[Evidence]) -> pd.DataFrame:
    """Models of the same data beside each other.

    Parameters
    ----------
    evidences : dict of names and Evidence, or sequence of Evidence

    Returns
    -------
    DataFrame
        For each model ``method``, ``n_features``, ``log_evidence``, ``standard_error``, ``difference`` from the best
        one, ``probability`` of the model given the data if all were equally probable before (NaN for scores that are
        no evidence) and ``status``.

    Raises
    ------
    OptionError
        If data or priors differ, or scores of different methods, which are different quantities, are to be compared.
    """
    import pandas as pd

    named = dict(evidences) if isinstance(evidences, Mapping) else dict(enumerate(evidences))
    if not named:
        raise OptionError("evidences: none came; give at least one result of log_evidence")
    first_name, first = next(iter(named.items()))
    for name, e in named.items():
        if e.data_hash != first.data_hash:
            raise OptionError(f"evidences: {name!r} is of other data ({e.n_samples:g} observations) than "
                              f"{first_name!r} ({first.n_samples:g}); take all of them on the same data")  # fmt: skip
        if e.prior != first.prior:
            raise OptionError(f"evidences: {name!r} has another prior ({e.prior}) than {first_name!r} "
                              f"({first.prior}); give the same prior_scale to all of them")  # fmt: skip
    methods = {e.method: None for e in named.values()}
    score = next((m for m in methods if m in SCORES), None)
    if score is not None and len(methods) > 1:
        other = next(m for m in methods if m != score)
        raise OptionError(f"evidences: those of method {score!r} and of {other!r} are different quantities; compare "
                          "models by one method")  # fmt: skip
    value = np.array([e.log_evidence for e in named.values()], dtype=np.float64)
    difference = value - np.fmax.reduce(value)
    weight = np.exp(difference)
    return pd.DataFrame(
        {
            "method": [e.method for e in named.values()],
            "n_features": [e.n_features for e in named.values()],
            "log_evidence": value,
            "standard_error": [e.standard_error for e in named.values()],
            "difference": difference,
            "probability": np.nan if score else weight / np.nansum(weight),
            "status": [e.status for e in named.values()],
        },
        index=pd.Index(list(named), name="model"),
    )
