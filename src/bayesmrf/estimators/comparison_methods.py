"""The samplers of `CompareMRF`: how they are built from their options and the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..data.states import States
from ..errors import OptionError
from ..methods import ReversibleJump
from ..methods.rows import Built
from ..models.categorical import is_categorical
from ..posterior.conditionals.pair_tables import pair_tables
from ..posterior.edges.bank import BankDesign, GroupsBank
from ..posterior.edges.differences import DifferencePrior, Differences
from ..posterior.edges.group_chains import GroupChains
from .bank_choice import takes_bank
from .built_kernels import Problem
from .edge_methods import built_with_bank
from .edge_start import default_particles

_SCANS, _MANY_STATES = 2, 2**16  # of a step; states from which it is one


@dataclass(frozen=True, eq=False)
class DifferencesProblem(Problem):
    """What a sampler of differences is built for; its data have a sample for each group."""

    prior: DifferencePrior
    n_warmup: int
    parts: Sequence[States]


def exact(_: Any, p: DifferencesProblem) -> Built:
    """Build the sampler with exact moments."""
    n_states = p.model.n_states**p.model.graph.n_nodes
    return Built(Differences(p.data, *p.prior, _SCANS if n_states < _MANY_STATES else 1))


def reversible_jump(options: ReversibleJump, p: DifferencesProblem) -> Built:
    """Build the sampler with log Z from banks of states, or moments from persistent chains, of each group."""
    if takes_bank(options, p.model, p.parts):

        def make(design: BankDesign, n_adapt: int) -> GroupsBank:
            return GroupsBank(p.data, *p.prior, design=design, n_adapt=n_adapt)

        built = built_with_bank(options, p, GroupsBank(p.data, *p.prior).problem, p.parts, make)
        if built is not None:
            return built
    if options.moments == "extrapolated":
        expected = "'auto', 'bank' or 'chains' for groups of people"
        raise OptionError(option="moments", got=options.moments, expected=expected)
    if options.n_particles is None:
        options = replace(options, n_particles=default_particles(max(s.n_samples for s in p.data.samples)))
    known = is_categorical(p.model)
    tables = [pair_tables(p.model, part.values, part.weights) for part in p.parts] if known else None
    kernel = GroupChains(p.data, *p.prior, options=options, n_adapt=p.n_warmup, tables=tables)
    return Built(kernel, kernel.particle_sweeps, attrs={"n_particles": kernel.n_particles})
