"""The parts of the package as tables: one row each, for tests that hold for all of them."""

from dataclasses import replace
from itertools import product

import numpy as np

from bayesmrf import graphs, methods
from bayesmrf.engines import (
    Bethe,
    Brief,
    CouplingFromThePast,
    Elimination,
    Enumeration,
    FromExact,
    Gibbs,
    MeanField,
    Persistent,
    PseudoLikelihood,
    SwendsenWang,
    Tree,
)
from bayesmrf.inference import registry
from bayesmrf.learning.persistent import PersistentMLE
from bayesmrf.likelihood import Hidden, Likelihood, Sample
from bayesmrf.methods import AuxiliaryVariable, Exchange, Langevin, Metropolis
from bayesmrf.models import Agreement, Boltzmann, Ising, Nominal, Ordinal, Potts, Symmetric
from bayesmrf.models.clamped import Clamped
from bayesmrf.models.label_field import LabelField
from bayesmrf.models.panel import Panel
from bayesmrf.posterior.conditionals.group_problem import lines_of, one_group_problem
from bayesmrf.posterior.conditionals.panel_hidden import PanelHidden
from bayesmrf.posterior.edges.bank import BankDesign, GroupsBank, SpikeSlabBank
from bayesmrf.posterior.edges.differences import Differences, contrasts, group_likelihood
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.exact_tables import SpikeSlabTables
from bayesmrf.posterior.edges.group_chains import GroupChains
from bayesmrf.posterior.edges.many_states import SpikeSlabManyStates
from bayesmrf.posterior.edges.panel_edges import PanelKernel
from bayesmrf.posterior.edges.reference import SpikeSlabReference
from bayesmrf.posterior.edges.surrogate import coordinates_of, surrogate_of, tables_of
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.posterior.groups.exact import ExactMarginals
from bayesmrf.posterior.groups.group_potentials import ManyStateParticles
from bayesmrf.posterior.groups.kernels import exact_groups, particle_groups
from bayesmrf.posterior.groups.two_states import TwoStateParticles
from bayesmrf.posterior.hidden_entries import DrawHiddenEntries
from bayesmrf.posterior.parameters.coordinate_gibbs import CoordinateGibbs
from bayesmrf.posterior.parameters.hamiltonian import HamiltonianKernel
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.priors import (
    Beta,
    Blocks,
    Cauchy,
    DirichletProcess,
    Gamma,
    LogisticBeta,
    MultivariateNormal,
    Normal,
    SpikeSlab,
)
from bayesmrf.published.auxiliary_particles import GroupedAuxiliaryVariable
from bayesmrf.published.auxiliary_variable import AuxiliaryVariableKernel
from bayesmrf.published.exchange import ExchangeKernel
from bayesmrf.published.langevin import SpikeSlabLangevin
from bayesmrf.published.stripped_beta import GroupedStrippedBeta
from bayesmrf.published.tree import GroupedTree
from bayesmrf.states.bank import Bank
from bayesmrf.states.panel_tables import panel_tables
from bayesmrf.states.reference import ReferenceChains

N = 20
ROWS = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]], np.int8)
GAPS = np.array([[0, -1, 1, 0], [1, 1, -1, 0], [0, 0, 0, 1]], np.int8)
GRAPH = graphs.from_edges([(0, 1), (1, 2), (2, 3), (3, 0)], tuple("abcd"))
BINARY, AGREEMENT = Boltzmann(GRAPH), Agreement(GRAPH, fields=True)
POTTS, TABLES, ORDINAL = Potts(GRAPH, 3), Symmetric(GRAPH, 2), Ordinal(GRAPH, 3)
PROCESS = DirichletProcess(Gamma(2.0, 3.0), Beta(1.0, 2.0), Beta(3.0, 4.0))
FIELDS = DirichletProcess(0.5, Normal(10.0))
POTENTIALS = DirichletProcess(1.0, MultivariateNormal(np.eye(2)))
WEIGHTS = DirichletProcess(Gamma(2.0, 3.0), Normal(0.7), Beta(3.0, 4.0))
EDGES = SpikeSlab(0.3, Gamma(4.0, 5.0), 9.0)


MODELS = {
    "boltzmann": BINARY,
    "ising": Ising(GRAPH),
    "agreement": AGREEMENT,
    "agreement without fields": Agreement(GRAPH),
    "potts": POTTS,
    "potts without fields": Potts(GRAPH, 3, fields=False),
    "ordinal": ORDINAL,
    "symmetric": TABLES,
    "symmetric with fields": Symmetric(GRAPH, 3, True),
    "nominal": Nominal(GRAPH, 3, True),
    "nominal next to ordered": Nominal(GRAPH, 3, True, ordered=(False, True, True, False)),
}
PRIORS = {
    "normal": Normal([0.5, 2.0]),
    "logistic-beta": LogisticBeta(2.0, 0.7),
    "cauchy": Cauchy(2.5),
}
ENGINES = {row.name: row.engine_class() for row in registry.ROWS}
ENGINES |= {e.name: e for e in (FromExact(Elimination(), 4096), Persistent(4096))}
# Pair marginals, and the model that they are of.
MARGINALS = {
    "exact, agreement": ExactMarginals(AGREEMENT, Elimination()),
    "exact, potts": ExactMarginals(POTTS, Elimination()),
    "exact, symmetric": ExactMarginals(TABLES, Elimination()),
    "particles, agreement": TwoStateParticles(AGREEMENT, 4096),
    "particles, potts": ManyStateParticles(POTTS, 4096),
    "particles, symmetric": ManyStateParticles(TABLES, 4096),
}


CHAINS_IN_PLACE = {
    "langevin", "langevin-brief", "label-field", "grouped-stripped-beta", "grouped-auxiliary-variable",
}  # fmt: skip


def s_bar(model):
    """Statistics of states of which no two are equally frequent."""
    states = np.array(list(product(range(model.n_states), repeat=model.graph.n_nodes)), np.int8)
    return model.statistics(states, 1 + np.arange(len(states)))


def likelihood(model, engine, **more):
    return Likelihood(model, s_bar(model), N, engine, **more)


def start(model):
    return np.linspace(-1.0, 1.0, model.n_features)


def with_gaps(model, engine, hidden):
    return likelihood(model, engine, hidden=Hidden(Clamped(model, GAPS), hidden))


def differences(kernel=Differences):
    contrast = contrasts([3, 9])
    samples = [Sample(s_bar(BINARY), 3.0), Sample(s_bar(BINARY)[::-1], 9.0)]
    return kernel(group_likelihood(BINARY, samples, contrast, Persistent()), contrast, EDGES, EDGES)


def with_bank(kernel, problem, samples):
    """A kernel with a bank of random states, at parameters that are 0."""
    rng, c = np.random.default_rng(3), coordinates_of(problem)
    model = BINARY
    banks, at = [], np.zeros(len(c.order))
    for _ in samples:
        states = rng.integers(0, 2, (256, 4)).astype(np.int8)
        f = model.features(states.astype(np.int64))
        banks.append(Bank(np.zeros(f.shape[1]), f.mean(axis=0), np.zeros(f.shape[1]), np.cov(f.T, bias=True), states))
    surrogate = surrogate_of(problem, c, banks, np.array(samples), at, np.full(len(c.part), 0.5))
    n = problem.lines.n
    tables = tables_of(model, c, banks, surrogate, n)
    starts = 0.1 * rng.normal(size=(3, len(at)))
    sums = n[:, None] * np.array(samples)
    design = BankDesign(problem, c, surrogate, tables, sums, starts, np.array([8.0, 4.0]), 2, 2, tuple(banks))
    return replace(kernel, design=design)


def spike_slab_bank():
    lines = lines_of(BINARY, s_bar(BINARY), float(N), 0.0)
    problem = one_group_problem(BINARY, lines, EDGES, np.empty((0, 2), int))
    return with_bank(SpikeSlabBank(BINARY, s_bar(BINARY), N, EDGES), problem, [s_bar(BINARY)])


def groups_bank():
    kernel = differences(GroupsBank)
    return with_bank(kernel, kernel.problem, [s.s_bar for s in kernel.likelihood.samples])


def label_field():
    field = LabelField(np.array([[0.0, 1.0], [2.0, 0.5], [1.0, 3.0]]), ("x", "y"))
    labels = np.array([[0, 1, -1]], np.int8)
    hidden = Hidden(Clamped(field.base, labels), Persistent(64, 2, "swendsen-wang"))
    return LangevinKernel(
        Likelihood(field.base, np.zeros(3), 1, Persistent(64), hidden, field), Normal(1.0), np.zeros(2)
    )


def of(kernel, likelihood, prior=None, *given, **more):
    """A kernel of parameters that starts at a fixed point."""
    return kernel(likelihood, prior or Normal(), start(BINARY), *given, **more)


def panel(within, own, n_chains=0):
    """A kernel for four people with three waves of two items."""
    rows = np.random.default_rng(2).integers(0, 2, (4, 3, 2))
    before, after = rows[:, :-1].reshape(8, 2), rows[:, 1:].reshape(8, 2)
    person = np.repeat(np.arange(4), 2) if own else None
    first = rows[:, 0] - rows[:, 0].mean(axis=0) if own else np.zeros((0, 2))
    tables = panel_tables(Panel(("a", "b"), (2, 2), within), before, after, person, with_states=not n_chains)
    return PanelKernel(tables, first, EDGES, n_chains)


def panel_missing():
    """A kernel for a series of four rows of two items, one answer of which is missing."""
    kernel, rows = panel(within=True, own=False), np.array([[0, 1], [1, 1], [0, 0], [1, 0]])
    at = np.arange(3)
    hidden = PanelHidden(rows, np.array([[1, 0]]), at, at + 1, np.zeros(4, int), np.log(np.full((2, 2), 0.5)))
    return replace(kernel, hidden=hidden, model=Panel(("a", "b"), (2, 2), True))


KERNELS = {
    "metropolis": lambda: of(MetropolisKernel, likelihood(BINARY, Elimination()), LogisticBeta(1, 1), Metropolis(0.1)),
    "metropolis-hidden": lambda: of(
        MetropolisKernel, with_gaps(BINARY, Enumeration(), Elimination()), Normal([1.0] * 8), Metropolis(0.1)
    ),
    "gibbs": lambda: CoordinateGibbs(likelihood(BINARY, Elimination()), Normal(), start(BINARY)),
    "gibbs-cauchy": lambda: CoordinateGibbs(likelihood(BINARY, Enumeration()), Cauchy(2.5), start(BINARY)),
    "gibbs-hidden": lambda: DrawHiddenEntries(
        CoordinateGibbs(likelihood(BINARY, Elimination()), Normal(), start(BINARY)),
        with_gaps(BINARY, Persistent(), Elimination()),
    ),
    "metropolis-bethe": lambda: of(MetropolisKernel, likelihood(BINARY, Bethe()), Cauchy(2.5), Metropolis(0.2)),
    "metropolis-tree": lambda: of(MetropolisKernel, likelihood(BINARY, Tree()), Normal(), Metropolis(0.1)),
    "metropolis-mean-field": lambda: of(MetropolisKernel, likelihood(BINARY, MeanField()), Normal(), Metropolis(0.1)),
    "hamiltonian": lambda: of(HamiltonianKernel, likelihood(BINARY, Elimination()), scale=0.1 * np.eye(8), n_adapt=60),
    "hamiltonian-diagonal": lambda: of(HamiltonianKernel, likelihood(BINARY, Bethe()), Cauchy(2.5), n_adapt=60),
    "langevin": lambda: of(
        LangevinKernel, likelihood(BINARY, Persistent(64)), Normal(), Langevin(0.02, momentum=0.5), np.ones(8)
    ),
    "langevin-brief": lambda: of(LangevinKernel, with_gaps(BINARY, Brief(ROWS, 64), Persistent(64))),
    "langevin-from-exact": lambda: of(LangevinKernel, likelihood(BINARY, FromExact(Elimination(), 9))),
    "pseudo-posterior": lambda: of(
        LangevinKernel,
        likelihood(BINARY, PseudoLikelihood(ROWS, np.array([1.0, 2.0, 3.0]))), Normal(), Langevin(0.01, adjusted=True),
    ),
    "label-field": label_field,
    "exchange": lambda: of(ExchangeKernel, likelihood(BINARY, CouplingFromThePast()), Normal(), Exchange(0.1)),
    "auxiliary-variable": lambda: of(
        AuxiliaryVariableKernel, likelihood(BINARY, SwendsenWang()), Normal(), AuxiliaryVariable(0.1)
    ),
    "grouped-tree": lambda: GroupedTree(graphs.path(4), np.array([3.0, 4.0, 5.0]), 9.0, PROCESS),
    "grouped-exact": lambda: exact_groups(
        likelihood(AGREEMENT, Elimination()), PROCESS, start(AGREEMENT), FIELDS
    ),
    "grouped-particle": lambda: particle_groups(
        AGREEMENT, s_bar(AGREEMENT), N, PROCESS, start(AGREEMENT), field_prior=FIELDS
    ),
    "grouped-particle-sampler": lambda: particle_groups(
        AGREEMENT, s_bar(AGREEMENT), N, PROCESS, start(AGREEMENT), sampler=likelihood(AGREEMENT, Elimination())
    ),
    "grouped-stripped-beta": lambda: GroupedStrippedBeta(
        start(AGREEMENT), PersistentMLE(AGREEMENT, s_bar(AGREEMENT), 3.0), N, PROCESS
    ),
    "grouped-auxiliary-variable": lambda: GroupedAuxiliaryVariable(
        likelihood(AGREEMENT, Gibbs(50)), PROCESS, start(AGREEMENT), PersistentMLE(AGREEMENT, s_bar(AGREEMENT), 3.0)
    ),
    "grouped-potts-particle": lambda: particle_groups(POTTS, s_bar(POTTS), N, PROCESS, start(POTTS)),
    "grouped-potts-fields": lambda: particle_groups(
        POTTS, s_bar(POTTS), N, DirichletProcess(), start(POTTS), field_prior=FIELDS
    ),
    "grouped-potts-exact": lambda: exact_groups(likelihood(POTTS, Elimination()), PROCESS, start(POTTS), FIELDS),
    "grouped-ordinal": lambda: exact_groups(likelihood(ORDINAL, Elimination()), WEIGHTS, start(ORDINAL)),
    "grouped-ordinal-particle": lambda: particle_groups(ORDINAL, s_bar(ORDINAL), N, WEIGHTS, start(ORDINAL)),
    "grouped-symmetric": lambda: exact_groups(likelihood(TABLES, Elimination()), POTENTIALS, start(TABLES)),
    "grouped-symmetric-particle": lambda: particle_groups(
        TABLES, s_bar(TABLES), N, POTENTIALS, start(TABLES)
    ),
    "spike-slab-langevin": lambda: SpikeSlabLangevin(BINARY, s_bar(BINARY), N, EDGES, start(BINARY)),
    "spike-slab-langevin-ordinal": lambda: SpikeSlabLangevin(
        ORDINAL, s_bar(ORDINAL), N, EDGES, start(ORDINAL),
        options=methods.LangevinJumps(epsilon=0.1, width=0.3, n_iterations=50),
    ),
    "differences": differences,
    "group-chains": lambda: differences(GroupChains),
    "groups-bank": groups_bank,
    "spike-slab-bank": spike_slab_bank,
    "spike-slab-exact": lambda: SpikeSlabExact(
        likelihood(BINARY, Elimination()), EDGES, start(BINARY), pairs=np.array([[0, 1]])
    ),
    "spike-slab-exact-blocks": lambda: SpikeSlabExact(
        likelihood(BINARY, Elimination()), SpikeSlab(Blocks()), start(BINARY)
    ),
    "spike-slab-exact-pairs": lambda: SpikeSlabExact(
        likelihood(BINARY, Elimination()), SpikeSlab([(0, 1, 1.0), ("*", "*", 0.3)]), start(BINARY)
    ),
    "spike-slab-tables": lambda: SpikeSlabTables(
        likelihood(MODELS["nominal"], Elimination()), EDGES, start(MODELS["nominal"])
    ),
    "spike-slab-reversible-jump": lambda: SpikeSlabTwoStates(BINARY, s_bar(BINARY), N, EDGES, start(BINARY)),
    "spike-slab-reference": lambda: SpikeSlabReference(
        BINARY, s_bar(BINARY), N,
        ReferenceChains(BINARY, s_bar(BINARY), N, np.ones(BINARY.n_features), np.random.default_rng(1)).climb()[0],
    ),
    "spike-slab-many-states": lambda: SpikeSlabManyStates(POTTS, s_bar(POTTS), N, EDGES, start(POTTS)),
    "panel": lambda: panel(within=False, own=False),
    "panel-own-within": lambda: panel(within=True, own=True),
    "panel-missing": lambda: panel_missing(),
    "panel-chains": lambda: panel(within=True, own=True, n_chains=32),
    "hidden-entries": lambda: DrawHiddenEntries(
        SpikeSlabTwoStates(BINARY, s_bar(BINARY), N, EDGES), with_gaps(BINARY, Persistent(), Elimination())
    ),
}  # fmt: skip
