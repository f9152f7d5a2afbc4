"""The samplers of `GroupedMRF`: how they are built from their options and the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.states import States
from ..likelihood import Likelihood, Sample
from ..methods.rows import Built
from ..models.categorical import is_categorical
from ..models.display import display_of
from ..models.two_state_tables import tables_of
from ..posterior.groups.gibbs import GroupedGibbs
from ..posterior.groups.kernels import exact_groups, particle_groups
from .built_kernels import Problem
from .grouped_request import Request
from .grouped_start import GroupedStart, find_start

_PAIRS_WITH_SPIKE = 4  # for each edge in a step
_JUMPS_OF_WEIGHTS = 10  # splits and merges in an exact step of ordered answers, whose groups mix slowest
_SWEEPS = 10  # of all particles take less time than a scan of the edges


@dataclass(frozen=True, eq=False)
class GroupsProblem(Problem):
    """What a sampler of groups is built for."""

    request: Request
    states: States
    sample: Sample
    rng: np.random.Generator  # of the start

    @cached_property
    def estimate(self) -> GroupedStart:
        """An estimate that ignores groups or, with a spike, a sparse one."""
        return find_start(self.request, self.model, self.states, self.sample, self.data.engine, self.rng)

    @property
    def start(self) -> np.ndarray:
        """Where chains start."""
        return self.estimate.theta


def exact(_: Any, p: GroupsProblem) -> Built:
    """Build the sampler with exact moments."""
    likelihood = Likelihood(p.model, p.s_bar, p.n, p.data.engine)
    n_jumps = _JUMPS_OF_WEIGHTS if p.model.is_product else 0
    return Built(exact_groups(likelihood, p.prior, p.start, p.request.field_prior, n_jumps), engine=p.data.engine)


def particle(options: Any, p: GroupsProblem) -> Built:
    """Build the sampler with moments from particles."""
    pairs = _PAIRS_WITH_SPIKE if p.request.spike else GroupedGibbs.n_pairs
    model = p.model
    if not (display_of(model).is_agreement or is_categorical(model)):
        model = tables_of(model)
    arguments = model, p.s_bar, p.n, p.prior, p.start, options.n_particles
    kernel = particle_groups(*arguments, n_pairs=pairs, field_prior=p.request.field_prior)
    return Built(kernel, _SWEEPS * int(options.n_particles or 0))
