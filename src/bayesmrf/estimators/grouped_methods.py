"""The samplers of `GroupedMRF`: options, choice of the sampler, and how it is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..base import Engine, Kernel
from ..data.sample_weight import check_listed
from ..errors import OptionError, argument
from ..families import FAMILIES, Custom, FamilyRow
from ..inference.elimination.engine import Elimination, cost
from ..learning.maximum_likelihood import bound
from ..learning.persistent import PersistentMLE
from ..likelihood import Likelihood
from ..methods import GROUPS, AuxiliaryParticles, Particle
from ..methods.rows import MethodRow, refusal, row_of
from ..models.bases import is_stated
from ..models.categorical import is_categorical, states_of
from ..models.display import display_of
from ..models.two_state_tables import tables_of
from ..posterior.groups.auxiliary_variable import GroupedAuxiliaryVariable
from ..posterior.groups.dirichlet_process import sums_of_counts
from ..posterior.groups.gibbs import GroupedGibbs
from ..posterior.groups.items import base_precision
from ..posterior.groups.kernels import exact_groups, particle_groups
from ..posterior.groups.stripped_beta import GroupedStrippedBeta
from ..posterior.groups.tree import GroupedTree
from ..posterior.groups.two_states import default_particles
from ..priors import FIELD_SCALE, Beta, DirichletProcess, Normal
from ..samplers.gibbs import Gibbs

_PAIRS_WITH_SPIKE = 4  # for each edge in a step
_JUMPS_OF_WEIGHTS = 10  # splits and merges in an exact step of ordered answers, whose groups mix slowest
_EXACT_WORK = 2.0**28  # edges times bytes of tables: a scan of method "exact" then takes about a tenth of a second
_DENSITY = Beta(5.0, 5.0)  # prior of the density if candidates are given without a prior


@dataclass(frozen=True, eq=False)
class Request:
    """The checked options of a `GroupedMRF`."""

    family: FamilyRow  # the model, or what a user's own one is like
    model: Any  # its options
    # prior, field_prior: of edges, and of node fields if they are grouped
    prior: DirichletProcess
    field_prior: DirichletProcess | None
    fields: bool
    method: Any  # options of the method; None for "auto"
    name: str = ""  # of a user's own model

    @property
    def spike(self) -> bool:
        """Whether edges may be absent."""
        return self.prior.density is not None

    def features(self, missing: bool) -> list[str]:
        """The features that the method must support."""
        grouped = self.field_prior is not None
        asked = {"fields": self.fields and not grouped, "spike": self.spike, "field_groups": grouped}
        asked["missing"] = missing
        return ["groups", *(name for name, wanted in asked.items() if wanted)]

    def check(self, row: MethodRow, missing: bool = False) -> None:
        """Raise OptionError unless a method supports the options and, if there are any, missing values."""
        if refused := self.refusal(row, missing):
            raise refused

    def refusal(self, row: MethodRow, missing: bool) -> OptionError | None:
        """Return the error unless a method supports the options and, if there are any, missing values."""
        return refusal(row, GROUPS, self.features(missing), self.name or self.family.name, self.family.name)

    def precision(self, model: Any) -> np.ndarray | None:
        """Return the precision of the prior of an edge's table, (p, p); None for edges of agreements or weights."""
        return base_precision(self.prior.base, model.n_parameters)[0] if self.family.shared == "table" else None

    def of(self, model: Any) -> Request:
        """Return the request for the model, which may be a user's own.

        Raises
        ------
        OptionError
        """
        if not isinstance(self.model, Custom):
            return self
        found = replace(self, family=family_like(model), name=model.name)
        found.check(row_of("exact" if self.method is None else self.method, GROUPS))
        return found


def family_like(model: Any) -> FamilyRow:
    """Return the row of the model that a user's own one is like: of weights, or else of tables.

    Raises
    ------
    OptionError
    """
    if not (is_stated(model) and (model.centres_products or model.is_indicator)):
        features = "features that are 0 or 1, or products of scores that are features of nodes"
        expected = f"a PairwiseModel whose edges have {features}"
        raise OptionError(option="model", got=model.name, expected=expected)
    return FAMILIES.row("ordinal" if model.is_product else "symmetric")


def read_request(estimator: Any) -> Request:
    """Read the options of a `GroupedMRF`, and check their combination.

    Raises
    ------
    OptionError
    """
    settings, model = estimator._settings, estimator._object("model")
    family = FAMILIES.row("symmetric" if isinstance(model, Custom) else model)
    prior = estimator._object("prior")
    if settings.candidates is not None and prior.density is None:
        if not isinstance(settings.prior, str):
            expected = "None where the prior has no density, so that all edges exist"
            remedy = "give the edges as graph, or DirichletProcess(density=Beta(5, 5))"
            raise OptionError(option="candidates", got=settings.candidates, expected=expected, remedy=remedy)
        prior = replace(prior, density=_DENSITY)
    if settings.candidates is not None and not (isinstance(settings.graph, str) and settings.graph == "complete"):
        expected = "omitted with candidates, which are the edges"
        raise OptionError(option="graph", got=settings.graph, expected=expected, remedy="remove one of the two")
    is_normal = family.shared != "agreement"
    if is_normal and prior.base == Beta():  # the default
        prior = replace(prior, base=Normal())
    if isinstance(prior.base, Beta) == is_normal:
        expected = "Normal or MultivariateNormal" if is_normal else "a Beta distribution of the agreement"
        raise OptionError(
            option="prior.base", got=prior.base, expected=f"{expected} for {argument('model', family.name)}"
        )
    fields = DirichletProcess(prior.alpha, Normal(FIELD_SCALE)) if settings.fields == "grouped" else None
    method = None if settings.method == "auto" else estimator._object("method")
    own = method if isinstance(method, AuxiliaryParticles) and method.inner == "exact" else None
    if own is not None and own.n_sweeps != AuxiliaryParticles.n_sweeps:  # the default is not one given
        expected = f"omitted with {argument('inner', 'exact')}, whose particles need no sweeps"
        raise OptionError(option="n_sweeps", got=own.n_sweeps, expected=expected, remedy="remove it")
    found = Request(family, model, prior, fields, bool(settings.fields), method)
    if not isinstance(model, Custom):  # which is not made yet
        found.check(row_of("exact" if method is None else method, GROUPS))
    return found


def choose_method(request: Request, model: Any, missing: bool, n: float) -> Any:
    """Return the given method, or the choice of "auto"; with the default number of particles instead of None."""
    method = request.method
    if method is None:
        refused = request.refusal(GROUPS.row("tree"), missing)
        most = _EXACT_WORK / model.n_features
        cheap = cost(model.graph, most, states_of(model))[1] <= most
        method = GROUPS.read("tree" if refused is None and model.graph.is_forest else "exact" if cheap else "particle")
    else:
        request.check(row_of(method, GROUPS), missing)
    if isinstance(method, Particle) and method.n_particles is None:
        return Particle(default_particles(n, model.graph.n_nodes))
    return method


class Problem(NamedTuple):
    """Input of a sampler; ``start`` is the maximum likelihood estimate or, with a spike, a sparse one."""

    request: Request
    model: Any
    s_bar: np.ndarray
    n: float
    start: np.ndarray
    engine: Engine


def _tree(_: Any, p: Problem) -> Kernel:
    return GroupedTree(p.model.graph, sums_of_counts(p.s_bar, p.n), p.n, p.request.prior)


def _exact(_: Any, p: Problem) -> Kernel:
    likelihood = Likelihood(p.model, p.s_bar, p.n, p.engine)
    n_jumps = _JUMPS_OF_WEIGHTS if p.model.is_product else 0
    return exact_groups(likelihood, p.request.prior, p.start, p.request.field_prior, n_jumps)


def _particle(method: Any, p: Problem) -> Kernel:
    pairs = _PAIRS_WITH_SPIKE if p.request.spike else GroupedGibbs.n_pairs
    model = p.model
    if not (display_of(model).is_agreement or is_categorical(model)):
        model = tables_of(model)
    given = model, p.s_bar, p.n, p.request.prior, p.start, method.n_particles
    return particle_groups(*given, n_pairs=pairs, field_prior=p.request.field_prior)


def _stripped_beta(_: Any, p: Problem) -> Kernel:
    return GroupedStrippedBeta(p.start, PersistentMLE(p.model, p.s_bar, bound(p.n)), p.n, p.request.prior)


def _auxiliary_variable(method: Any, p: Problem) -> Kernel:
    check_listed(p.n, p.model.graph.n_nodes)  # it draws as many states as there are observations
    particles = Elimination() if method.inner == "exact" else Gibbs(n_sweeps=method.n_sweeps)
    return GroupedAuxiliaryVariable(
        Likelihood(p.model, p.s_bar, p.n, particles),
        p.request.prior,
        p.start,
        PersistentMLE(p.model, p.s_bar, bound(p.n)),
        method,
    )


KERNELS: dict[str, Callable[[Any, Problem], Kernel]] = {
    "tree": _tree,
    "exact": _exact,
    "particle": _particle,
    "auxiliary-variable": _auxiliary_variable,
    "stripped-beta": _stripped_beta,
}
