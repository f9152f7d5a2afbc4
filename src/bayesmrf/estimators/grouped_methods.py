"""The samplers behind `GroupedMRF`: which one fits the problem, how it is built, and whether it is exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base import Engine, Kernel
from ..errors import OptionError
from ..inference.elimination.two_states import Elimination, cost
from ..learning.maximum_likelihood import bound
from ..learning.persistent import PersistentMLE
from ..likelihood import Likelihood
from ..models.categorical import states_of
from ..options import check_params
from ..posterior.groups.auxiliary_variable import GroupedAuxiliaryVariable
from ..posterior.groups.gibbs import GroupedGibbs
from ..posterior.groups.kernels import exact_groups, particle_groups
from ..posterior.groups.stripped_beta import GroupedStrippedBeta
from ..posterior.groups.tree import GroupedTree
from ..posterior.groups.two_states import default_particles
from ..priors import FIELD_SCALE, Beta, DirichletProcess, Gamma, Normal
from ..sample_weight import check_listed
from ..samplers.gibbs import Gibbs
from .grouped_states import check_states_options, potential_base

_PAIRS_WITH_SPIKE = 4  # for each edge in a step
_EXACT_WORK = 2.0**28  # edges times bytes of tables: a scan of method "exact" then takes some tenth of a second


def check_options(options: Any) -> None:
    """Refuse what does not go together in the options of a `GroupedMRF`.

    Raises
    ------
    OptionError
    """
    check_params(options)
    check_states_options(options)
    method = options.method
    if method in ("tree", "auxiliary-variable", "stripped-beta"):
        for name, given, what in (
            ("spike", options.spike, "absent edges"),
            ("fields", options.fields == "grouped", "groups of node fields"),
        ):
            if given:
                raise OptionError(f"{name}: method {method!r} knows no {what}; use method='exact' or 'particle'")
    if method == "tree" and options.fields:
        raise OptionError("method='tree' does not support fields; set fields=False or use method='exact'.")
    if options.candidate is not None and not options.spike:
        raise OptionError("candidate: edges that may be absent need spike=True; edges that all exist go into graph")


def priors(options: Any) -> tuple[DirichletProcess, DirichletProcess | None]:
    """Of edges, and of node fields where they are grouped."""
    alpha = Gamma(*options.alpha) if isinstance(options.alpha, tuple | list) else options.alpha
    base: Any = options.base if isinstance(options.base, Beta) else Beta(*options.base)
    if options.model == "symmetric":
        base = potential_base(options)
    fields = DirichletProcess(alpha, Normal(FIELD_SCALE)) if options.fields == "grouped" else None
    density = Beta(*options.density) if isinstance(options.density, tuple | list) else options.density
    return DirichletProcess(alpha, base, density if options.spike else None), fields


def choose_method(options: Any, model: Any) -> str:
    """What "auto" stands for."""
    if options.method != "auto":
        return options.method
    if options.model == "agreement" and model.graph.is_forest and not model.fields and not options.spike:
        return "tree"
    most = _EXACT_WORK / model.n_features
    return "exact" if cost(model.graph, most, states_of(model))[1] <= most else "particle"


def n_particles(options: Any, model: Any, n: float) -> int:
    """The option, or its default."""
    return options.n_particles or default_particles(n, model.graph.n_nodes)


def build_kernel(
    method: str, options: Any, model: Any, s_bar: np.ndarray, n: float, start: np.ndarray, engine: Engine
) -> Kernel:
    """The sampler; ``start`` is the maximum likelihood estimate, or with a spike a sparse one."""
    prior, field_prior = priors(options)
    if method == "tree":
        return GroupedTree(model.graph, np.rint(n * s_bar), n, prior)
    if method == "exact":
        return exact_groups(Likelihood(model, s_bar, n, engine), prior, start, field_prior)
    if method == "particle":
        m, n_pairs = n_particles(options, model, n), _PAIRS_WITH_SPIKE if options.spike else GroupedGibbs.n_pairs
        return particle_groups(model, s_bar, n, prior, start, m, n_pairs=n_pairs, field_prior=field_prior)
    persistent = PersistentMLE(model, s_bar, bound(n))
    if method == "stripped-beta":
        return GroupedStrippedBeta(start, persistent, n, prior)
    check_listed(n, model.graph.n_nodes)  # it draws as many states as there are observations
    particles = Elimination() if options.inner == "exact" else Gibbs(n_sweeps=options.n_sweeps)
    return GroupedAuxiliaryVariable(
        Likelihood(model, s_bar, n, particles),
        prior,
        start,
        persistent,
        n_proposals=options.n_proposals,
        sigma_q=options.sigma_q,
        n_walk=options.n_walk,
        restart=options.restart,
    )


def kind(method: str, options: Any, model: Any) -> str:
    """Whether the chain's stationary law is the posterior, in words."""
    if method in ("tree", "exact"):
        return "exact"
    if method == "stripped-beta":
        exact = model.graph.is_forest and not model.fields
        return "exact (a forest)" if exact else "approximate (stripped Beta likelihood)"
    if method == "particle":
        return "approximate (moments from particles)"
    if options.inner == "gibbs":
        return f"approximate (particles from {options.n_sweeps} Gibbs sweeps)"
    return "approximate (values restart at the tied estimate)" if options.restart else "exact"
