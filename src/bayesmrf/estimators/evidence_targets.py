"""Targets of estimators and data for the methods of evidence, with the names of priors and data."""

from __future__ import annotations

import hashlib
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from .. import graphs
from ..base import BINARY
from ..data.dependent_rows import remark_on_rows
from ..data.read import read, read_new
from ..data.row_weights import remark_on_counts, remark_on_weights
from ..data.states import States
from ..declare.option import check_params
from ..declare.rule import PRIOR, SCALE, choice, optional
from ..errors import OptionError, argument
from ..evidence.ordinal_target import OrdinalTarget
from ..evidence.pairwise_target import PairwiseTarget
from ..evidence.rbm_target import RBMTarget
from ..evidence.target import Target
from ..models.agreement import Agreement
from ..models.bases import PairwiseModel, edge_starts
from ..models.boltzmann import Boltzmann, Coding
from ..models.display import display_of
from ..models.ising import Ising
from ..models.linear_map import LinearMap
from ..models.node_features import require_invariant
from ..models.rbm import RestrictedBoltzmann
from ..partitions import canonical
from ..priors import Normal, Prior, ProperPrior, of_parameters
from ..results.median_model import NO_EDGE
from .base import data_hash
from .bayesian import BayesianMRF
from .fitted_columns import reading, type_table
from .fitted_priors import parameters_prior
from .grouped import GroupedMRF
from .maximum_likelihood import MaximumLikelihoodMRF
from .network import choose_model
from .rbm import RBM
from .ties import read_ties

_CODINGS: dict[str, type[PairwiseModel]] = {"boltzmann": Boltzmann, "ising": Ising, "agreement": Agreement}
_SAME_DATA = "the {} found on the same data, which favours the model; compute the evidence on other data"


def make_target(
    model: Any,
    X: Any,
    prior_scale: float | None = None,
    prior: Any = None,
    sample_weight: Any = None,
    coding: str | None = None,
) -> tuple[Target, str]:
    """Return the target of a model and data, and a remark for the result."""
    choice(None, *_CODINGS).check("coding", coding)
    optional(SCALE).check("prior_scale", prior_scale)
    optional(PRIOR).check("prior", prior)
    if prior_scale is not None and prior is not None:
        raise OptionError(
            option="prior_scale",
            got=prior_scale,
            expected="None where a prior is given",
            remedy="remove one of the two",
        )
    if isinstance(model, Target):
        more = {"X": X, "prior_scale": prior_scale, "prior": prior, "sample_weight": sample_weight, "coding": coding}
        for name, value in more.items():
            if value is not None:
                expected = "None with a Target, which has data and a prior"
                raise OptionError(option=name, got=value, expected=expected, remedy="remove it")
        model.check_data()
        return model, ""
    if prior is None and prior_scale is not None:
        prior = Normal(float(prior_scale))
    if isinstance(model, RBM):
        if coding not in (None, "boltzmann"):
            raise OptionError(
                option="coding", got=coding, expected="'boltzmann' for an RBM, whose units are in {0, 1}",
                remedy=f"give {argument('coding', 'boltzmann')} to the models that it is compared with",
            )  # fmt: skip
        states = read(type_table(clone(model), X).table, sample_weight)
        return _machine(model, states, prior), _remark(states)
    if isinstance(model, str) and model == "independent":
        model = BayesianMRF([])
    if isinstance(model, BayesianMRF | MaximumLikelihoodMRF):
        return _fixed(model, X, sample_weight, prior, coding)
    if isinstance(model, GroupedMRF):
        return _grouped(model, X, sample_weight, prior, coding)
    name = repr(model) if isinstance(model, str) else type(model).__name__
    raise OptionError(f"model must be an RBM, a BayesianMRF (with graph=est.graph_ of an estimator of edges), a fitted "
                      f"GroupedMRF, a MaximumLikelihoodMRF or 'independent', got {name}")  # fmt: skip


def _supported(model: Any) -> Any:
    if model.family != BINARY and not display_of(model).about:
        raise OptionError(
            option="model", got=model.name, expected="ordinal, nominal or a model of yes/no nodes for the evidence"
        )
    return model


def _machine(model: RBM, states: States, prior: Any) -> RBMTarget:
    check_params(model)
    if prior is None:
        prior = Normal(1.0 if model.prior_scale is None else model.prior_scale)
    scale = of_parameters(prior).normal_scale
    if np.ndim(scale):
        raise OptionError(option="prior", got=scale, expected="of one scale for all parameters of an RBM")
    machine = RestrictedBoltzmann(len(states.names), int(model.n_hidden))
    return RBMTarget(machine, *_counted(states), _proper(prior))


def _fixed(
    model: BayesianMRF | MaximumLikelihoodMRF, X: Any, sample_weight: Any, prior: Any, coding: str | None
) -> tuple[Target, str]:
    check_params(model)
    reader = clone(model)
    X = choose_model(reader, X, sample_weight)
    states = reader._read(X, sample_weight)
    field = _supported(reader._model())
    curve, learns = read_ties(model.ties, field), isinstance(model.graph, str) and model.graph.startswith("learn")
    if prior is None:
        is_bayesian = isinstance(model, BayesianMRF)
        prior = parameters_prior(reader._object("prior"), field, curve) if is_bayesian else Normal()
    return _field(field, states, prior, coding, *_shared(curve, field)), _remark(states, "graph was" if learns else "")


def _grouped(model: GroupedMRF, X: Any, sample_weight: Any, prior: Any, coding: str | None) -> tuple[Target, str]:
    if not model.__sklearn_is_fitted__():
        raise OptionError("model must be a fitted GroupedMRF, which has groups; fit it first, or give known groups as "
                          f"{argument('ties')} of MaximumLikelihoodMRF.")  # fmt: skip
    field, exists = _supported(model._model()), model.groups_ >= 0
    states = read_new(X, sample_weight, reading(model))
    what = "edges and groups" if "density" in model.posterior_.attrs else "groups"
    s_bar = field.statistics(states.values, states.weights)
    is_same_data = model.posterior_.attrs["data_hash"] == data_hash(model._graph, s_bar, states.n_samples)
    if not exists.all():
        field = model._model(graphs.Graph(model._graph.n_nodes, model.edges_[exists], model._graph.names))
    if not field.n_features:
        raise OptionError(f"model must have parameters, but {NO_EDGE} and there are no node "
                          f"fields; fit it with {argument('fields', True)}.")  # fmt: skip
    shared = model._of_fit.get("field_groups_")
    target = _field(field, states, prior or Normal(), coding, model.groups_[exists], shared)
    return target, _remark(states, f"{what} were" if is_same_data else "")


def _shared(curve: LinearMap | None, model: PairwiseModel) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return the labels of edges and of nodes whose parameters are shared."""
    if curve is None:
        return None, None
    edges, nodes = np.split(curve.columns, edge_starts(model)[-1:])
    return edges, nodes if len(np.unique(nodes)) < len(nodes) else None


def _remark(states: States, learnt: str = "") -> str:
    """Remark on rows that are dependent, and on what was ``learnt`` from the same data."""
    of_rows = remark_on_counts([states]) or remark_on_rows([states], evidence=True), remark_on_weights([states])
    return "; ".join(s for s in (_SAME_DATA.format(learnt) if learnt else "", *of_rows) if s)


def _field(
    model: Any,
    states: States,
    prior: Any,
    coding: str | None,
    groups: Any = None,
    field_groups: Any = None,
) -> PairwiseTarget:
    """Build the target of a model without hidden nodes, with tied edges and node fields if there are groups."""
    model = _in_coding(model, coding, free=model.fields and field_groups is None)
    tied = None
    if groups is not None:
        label = canonical(np.asarray(groups)) if len(groups) else np.zeros(0, dtype=np.int64)
        n = label.max(initial=-1) + 1
        field_label = np.arange(model.n_features - len(label)) if field_groups is None else canonical(field_groups)
        tie = np.concatenate([label, n + field_label]).astype(np.int64)
        tied = LinearMap.tied(tie, [str(i) for i in range(tie.max(initial=-1) + 1)])
    require_invariant(prior, model, None if tied is None else tied.columns)
    kind = PairwiseTarget if model.family == BINARY else OrdinalTarget
    target = kind(model, *_counted(states), _proper(prior), linear=tied)
    wanted = np.size(of_parameters(prior).normal_scale)  # 1 of None
    if wanted not in (1, target.n_features):
        raise OptionError(
            option="prior", got=f"{wanted} scales", expected=f"of one scale or {target.n_features}, one a parameter"
        )
    return target


def _in_coding(model: Any, coding: str | None, free: bool) -> Any:
    """Return the same model in another coding; ``free``: each node has its own field.

    A weight over {0, 1} is a coupling plus a field at both ends, which free fields absorb.
    """
    if coding in (None, model.name):
        return model
    if model.family != BINARY:
        if coding != "boltzmann":
            unordered = display_of(model).has_tables
            levels = "columns without order" if unordered else "ordered levels, whose scores are 0, 1, 2, ..."
            raise OptionError(option="coding", got=coding, expected=f"'boltzmann' for {levels}")
        return model
    assert coding is not None
    recoded = _CODINGS[coding](model.graph, fields=model.fields)
    if not free and Coding.of(model).centre != Coding.of(recoded).centre:
        raise OptionError(
            option="coding", got=coding, expected=f"{model.name!r} for a model without a free field for each node",
            remedy="a weight over {0, 1} is a coupling and two fields",
        )  # fmt: skip
    return recoded


def _counted(states: States) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows in lexicographic order, and their counts."""
    rows, place = np.unique(states.values, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), states.weights, len(rows))
    return rows[counts > 0], counts[counts > 0].astype(np.float64)


def _proper(prior: Prior) -> ProperPrior:
    if not of_parameters(prior).is_proper:
        raise OptionError(
            option="prior", got=prior, expected="a proper prior that can be drawn from, such as priors.Normal or "
            "priors.LogisticBeta",
        )  # fmt: skip
    return cast(ProperPrior, prior)


def prior_name(target: Target) -> str:
    """Return the prior and its coding in words, which identify the prior."""
    prior = of_parameters(target.prior)
    density, scale = prior.in_evidence, prior.normal_scale
    if scale is not None:
        density = f"normal, {_scales(np.broadcast_to(scale, target.n_features), _n_edges(target))}"
    return f"{density}, on {display_of(target.joint).about or f'parameters of {target.joint.name}'}"


def _n_edges(target: Target) -> int:
    """Parameters of edges, which come first."""
    number = target.natural(np.arange(target.n_features))[: edge_starts(target.joint)[-1]]
    return int(number.max(initial=-1)) + 1


def _scales(scale: np.ndarray, n_edges: int) -> str:
    """Return the standard deviations of edges and nodes in words."""
    first, *more = (np.unique(part) for part in np.split(scale, [n_edges]) if len(part))
    if len(first) == 1 and (not more or np.array_equal(first, more[0])):
        return f"scale {first[0]:.10g}"
    if more and len(first) == len(more[0]) == 1:
        return f"scale {first[0]:.10g} of edges and {more[0][0]:.10g} of nodes"
    digest = hashlib.sha256(np.ascontiguousarray(scale, dtype=np.float64).tobytes()).hexdigest()[:8]
    return f"scales from {scale.min():g} to {scale.max():g} ({digest})"


def hash_of(target: Target) -> str:
    """Return a checksum of the observations that does not depend on their order."""
    order = np.lexsort(target.states.T[::-1])
    digest = hashlib.sha256(repr(target.states.shape).encode())
    digest.update(np.ascontiguousarray(target.states[order], dtype=np.int8).tobytes())
    weights = target.weights[order]
    whole = (weights == np.rint(weights)).all()
    digest.update((weights.astype(np.int64) if whole else weights).tobytes())
    return digest.hexdigest()
