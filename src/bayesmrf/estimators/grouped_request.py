"""The options of `GroupedMRF`: checks of their combination, and the choice of a sampler."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import OptionError, argument
from ..families import FAMILIES, Custom, FamilyRow
from ..inference.elimination.engine import cost
from ..methods import GROUPS, Particle
from ..methods.rows import MethodRow, refusal, row_of
from ..models.bases import is_stated
from ..models.categorical import states_of
from ..posterior.groups.items import base_precision
from ..posterior.groups.two_states import default_particles
from ..priors import FIELD_SCALE, Beta, DirichletProcess, Normal

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
        return self.prior.has_spike

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
        request = replace(self, family=family_like(model), name=model.name)
        request.check(row_of("exact" if self.method is None else self.method, GROUPS))
        return request


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
    if prior.base.is_of_agreement == is_normal:
        expected = "Normal or MultivariateNormal" if is_normal else "a Beta distribution of the agreement"
        raise OptionError(
            option="prior.base", got=prior.base, expected=f"{expected} for {argument('model', family.name)}"
        )
    fields = DirichletProcess(prior.alpha, Normal(FIELD_SCALE)) if settings.fields == "grouped" else None
    method = None if settings.method == "auto" else estimator._object("method")
    request = Request(family, model, prior, fields, bool(settings.fields), method)
    if not isinstance(model, Custom):  # which is not made yet
        request.check(row_of("exact" if method is None else method, GROUPS))
    return request


def choose_method(request: Request, model: Any, missing: bool, n: float) -> Any:
    """Return the given method, or the choice of "auto"; with the default number of particles instead of None."""
    method = request.method
    if method is None:
        most = _EXACT_WORK / model.n_features
        usual = "exact" if cost(model.graph, most, states_of(model))[1] <= most else "particle"
        of_forests = [row.name for row in GROUPS if row.on_forests and request.refusal(row, missing) is None]
        method = GROUPS.read(next(iter(of_forests), usual) if model.graph.is_forest else usual)
    else:
        request.check(row_of(method, GROUPS), missing)
    if isinstance(method, Particle) and method.n_particles is None:
        return Particle(default_particles(n, model.graph.n_nodes))
    return method
