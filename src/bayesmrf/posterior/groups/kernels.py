"""Kernels of groups for a model and its data: `GroupedGibbs` with exact marginals, or with particles."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import PairMarginals
from ...likelihood import Likelihood
from ...models.categorical import is_categorical
from ...priors import DirichletProcess
from ..conditionals.rivals import rivals
from .exact import ExactMarginals
from .gibbs import GroupedGibbs
from .group_potentials import ManyStateParticles
from .two_states import TwoStateParticles


def exact_groups(
    likelihood: Likelihood,
    prior: DirichletProcess,
    start: np.ndarray,
    field_prior: DirichletProcess | None = None,
    n_jumps: int = 0,
) -> GroupedGibbs:
    """Make the kernel that samples groups with an engine; it is exact if the engine is.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that computes ``log_z`` and ``moments``.
    prior, start, field_prior, n_jumps
        As in `GroupedGibbs`.
    """
    marginals = ExactMarginals(likelihood.model, likelihood.engine)
    return GroupedGibbs(marginals, likelihood.s_bar, likelihood.n_samples, prior, start, field_prior, n_jumps)


def particle_groups(
    model: Any,
    s_bar: np.ndarray,
    n_samples: float,
    prior: DirichletProcess,
    start: np.ndarray,
    n_particles: int = 1024,
    sampler: Likelihood | None = None,
    n_jumps: int = 10,
    n_pairs: int = 2,
    field_prior: DirichletProcess | None = None,
) -> GroupedGibbs:
    """Make the kernel that samples groups on any graph with particles that follow theta.

    Parameters
    ----------
    model : Agreement or ManyStateModel
    n_particles : int
        Rounded up to a multiple of 64.
    sampler : Likelihood, optional
        For two states, with an exact sampling engine, to redraw the particles before every use.
    s_bar, n_samples, prior, start, n_jumps, n_pairs, field_prior
        As in `GroupedGibbs`.
    """
    others = None
    if prior.has_spike and prior.base.is_of_agreement:
        # If edges may be absent, swaps of two edges mix slowest.
        others = rivals(model.graph, np.abs(2 * s_bar[: model.n_edges] - 1))
    marginals: PairMarginals
    if is_categorical(model):
        marginals = ManyStateParticles(model, n_particles, others)
    else:
        marginals = TwoStateParticles(model, n_particles, sampler, others)
    return GroupedGibbs(marginals, s_bar, n_samples, prior, start, field_prior, n_jumps, n_pairs)
