"""The samplers of `SpikeSlabMRF`: how they are built from their options and the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..data.states import States
from ..errors import OptionError, argument
from ..families import AUTO
from ..inference.elimination.engine import Elimination
from ..learning.sparse_path import sparse_start
from ..likelihood import Likelihood
from ..methods import ReversibleJump
from ..methods.edges import BANK, EXTRAPOLATED
from ..methods.rows import Built
from ..models.bases import has_lines
from ..models.boltzmann import Coding
from ..models.categorical import is_categorical
from ..names import shown
from ..posterior.conditionals.group_lines import GroupProblem
from ..posterior.conditionals.group_problem import lines_of, one_group_problem
from ..posterior.conditionals.pair_tables import pair_tables
from ..posterior.conditionals.spike import edge_prior
from ..posterior.edges.bank import BankDesign, SpikeSlabBank
from ..posterior.edges.exact import SpikeSlabExact
from ..posterior.edges.exact_tables import SpikeSlabTables
from ..posterior.edges.many_states import SpikeSlabManyStates
from ..posterior.edges.reference import SpikeSlabReference
from ..posterior.edges.spike_slab import SWEEPS, iterations_of
from ..posterior.edges.two_states import BitWalker, SpikeSlabTwoStates
from ..states.reference import Reference
from .bank_choice import refuse_bank, takes_bank
from .bank_start import design_of
from .built_kernels import Problem
from .edge_start import EXTRAPOLATES, default_particles, find_reference

_SCANS, _TABLE = 10, 2**15  # scans that make a step with many states, at most, and states that they read


@dataclass(frozen=True, eq=False)
class EdgeProblem(Problem):
    """What a sampler of edges is built for."""

    n_warmup: int
    states: States

    def reference(self, moments: str | None = None) -> Reference | None:
        """Return where moments are extrapolated from (`find_reference`), None where they are not."""
        if self.data.hidden is not None or is_categorical(self.model):
            return None
        return find_reference(self.model, self.s_bar, self.n, self.prior, moments)

    def start(self, reference: Reference | None = None) -> np.ndarray | None:
        """Return where chains start: at a reference, at a sparse estimate, or None where there is neither."""
        if reference is not None:
            return Coding.of(self.model).theta(self.model, reference.theta)
        weights = None if self.states.n_states > 2 else sparse_start(self.model.graph, self.states)
        return None if weights is None else Coding.of(self.model).theta(self.model, weights)


def exact(_: Any, p: EdgeProblem) -> Built:
    """Build the sampler with exact moments."""
    # Structures of ordered categories exchange slowly, and scans of small tables are fast.
    model = p.model
    n_scans = int(np.clip(_TABLE // model.n_states**model.graph.n_nodes, 1, _SCANS)) if model.n_states > 2 else 1
    kernel = SpikeSlabExact if has_lines(model) else SpikeSlabTables
    return Built(kernel(Likelihood(model, p.s_bar, p.n, Elimination()), p.prior, p.start(), n_scans))


def reversible_jump(options: ReversibleJump, p: EdgeProblem) -> Built:
    """Build the sampler with log Z from a bank of states, moments from persistent chains, or extrapolated ones."""
    if takes_bank(options, p.model, [p.states]) and (built := _with_bank(options, p)) is not None:
        return built
    moments = None if options.moments == AUTO and options.n_particles is not None else options.moments
    reference = None if moments == "chains" else p.reference(moments)
    start = p.start(reference)
    if options.moments == "extrapolated" and reference is None:
        expected = f"'auto' or 'chains' unless there are {EXTRAPOLATES}"
        raise OptionError(option="moments", got=options.moments, expected=expected)
    kernel: Any
    if reference is not None and options.n_particles is None:
        refuse_dynamics(options)
        n_scans = max(
            1, round(iterations_of(options, BitWalker.n_iterations, False) * p.model.graph.n_nodes / p.model.n_edges)
        )
        kernel = SpikeSlabReference(p.model, p.s_bar, p.n, reference, p.prior, start, n_scans)
        attrs = dict.fromkeys(asdict(options)) | {"moments": "extrapolated", "n_particles": kernel.n_particles}
        return Built(kernel, kernel.particle_sweeps, attrs=attrs, row=EXTRAPOLATED)
    if options.n_particles is None:
        options = replace(options, n_particles=default_particles(p.n))
    arguments = p.model, p.s_bar, p.n, p.prior, start, options, p.n_warmup
    if is_categorical(p.model):
        tables = pair_tables(p.model, p.states.values, p.states.weights)
        kernel, camp = SpikeSlabManyStates(*arguments, tables=tables), ""
    else:
        kernel = SpikeSlabTwoStates(*arguments)
        camp = shown(", ".join(kernel.camp))
    attrs = {"camp": camp, "moments": "chains", "n_particles": kernel.n_particles}
    return Built(kernel, kernel.particle_sweeps, attrs=attrs)


def _with_bank(options: ReversibleJump, p: EdgeProblem) -> Built | None:
    """Build the sampler with log Z from a bank of states."""
    model, prior = p.model, edge_prior(p.prior)
    lines, rivals = lines_of(model, p.s_bar, p.n, prior.tilt), np.empty((0, 2), np.int64)
    problem = one_group_problem(model, lines, p.prior, rivals)

    def make(design: BankDesign, n_adapt: int) -> SpikeSlabBank:
        return SpikeSlabBank(model, p.s_bar, p.n, p.prior, None, design, n_adapt)

    return built_with_bank(options, p, problem, [p.states], make)


def built_with_bank(
    options: ReversibleJump, p: Any, problem: GroupProblem, parts: Sequence[States], make: Any
) -> Built | None:
    """Return the kernel with the bank that pilots find, and what results say of it; None where there is none.

    Raises
    ------
    OptionError
        If there is none, and a user asks for it.
    """
    refuse_dynamics(options)
    design = design_of(p.model, problem, p.data, parts, make, options.n_iterations)
    if design is None:
        refuse_bank(options)
        return None
    size = design.tables.base.shape[1]
    attrs = dict.fromkeys(asdict(options)) | {"moments": "bank", "n_particles": size, "n_iterations": design.n_steps}
    return Built(make(design, p.n_warmup), SWEEPS * size, attrs=attrs, row=BANK)


def refuse_dynamics(options: ReversibleJump) -> None:
    """Raise OptionError for options of dynamics where there are none; defaults are not given ones."""
    for name in ("epsilon", "momentum"):
        if (got := getattr(options, name)) != getattr(ReversibleJump, name):
            expected = "omitted where moments are extrapolated from one point, or log Z is from a bank"
            remedy = f"remove it, or give {argument('moments', 'chains')}"
            raise OptionError(option=name, got=got, expected=expected, remedy=remedy)
