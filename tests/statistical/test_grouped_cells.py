"""Every model x prior x marginals of groups against one oracle (`tests.oracle.grouped`).

Particles have a bias, which is allowed for: 0.06 of a probability, 0.1 of a mean parameter.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import pytest

from bayesmrf import graphs, support
from bayesmrf.engines import Elimination
from bayesmrf.errors import DivergenceError
from bayesmrf.likelihood import Hidden, Likelihood
from bayesmrf.models import Agreement, Boltzmann, ManyStateModel, Ordinal, Potts, Symmetric
from bayesmrf.models.clamped_categorical import clamp
from bayesmrf.models.two_state_tables import tables_of
from bayesmrf.posterior.groups.kernels import exact_groups, particle_groups
from bayesmrf.posterior.hidden_entries import DrawHiddenEntries
from bayesmrf.priors import FIELD_SCALE, Beta, DirichletProcess, MultivariateNormal, Normal
from bayesmrf.runs import run
from tests.oracle import grouped as oracle
from tests.oracle.bounds import Comparison
from tests.oracle.grouped_spike import canonical

ENGINE = Elimination()
PATH, ALPHA, DENSITY, N = graphs.path(3), 0.8, (2.0, 2.0), 40
MODELS = {
    "agreement": lambda fields: Agreement(PATH, fields),
    "potts": lambda fields: Potts(PATH, 3, fields),
    "symmetric": lambda fields: Symmetric(PATH, 3, fields),
}
CELLS = [*product(MODELS, [False, True], [False, True, "grouped"]), ("ordinal", False, False), ("ordinal", True, True)]
CELLS += [("neighbours", True, True), ("neighbours", False, "grouped"), ("boltzmann", True, "grouped")]
MISSING = [("agreement", True, True), ("potts", True, False), ("symmetric", False, False), ("ordinal", True, True)]
# In tests.statistical.test_partition_posterior, of the agreement model:
ELSEWHERE = {("groups", "tree"), ("groups", "auxiliary-variable"), ("groups", "stripped-beta")}
BIAS = {"exact": (0.0, 0.0), "particles": (0.06, 0.1)}
MODELS["ordinal"] = lambda fields: Ordinal(PATH, 3, fields)


@dataclass(frozen=True, eq=False)
class Neighbours(ManyStateModel):
    """A model from outside: an edge rewards neighbouring states of its ends."""

    name = "neighbours"

    @property
    def edge_features(self):
        k = np.arange(self.n_states)
        return np.array([np.abs(k[:, None] - k) == 1], np.float64)


MODELS |= {
    "neighbours": lambda fields: Neighbours(PATH, 3, fields),
    "boltzmann": lambda fields: Boltzmann(PATH, fields),
}
DATA = 1  # seed of the data: with some, the posterior has two modes between which chains move too rarely for this test


def problem_of(name, spike, fields, rng, spread=0.9):
    """A model, its statistics of N states drawn at random parameters, and the problem as the oracle knows it."""
    model = MODELS[name](bool(fields))
    r, p = model.n_edges, model.n_parameters
    base = (2.0, 1.5) if name in ("agreement", "potts") else 0.6 * np.eye(p) + 0.2
    while True:  # all states occur at each node: the field of one that does not has a tail as wide as its prior
        theta = np.concatenate([rng.normal(0, spread, r * p), rng.normal(0, 0.4, model.n_features - r * p)])
        states = ENGINE.sample(model, theta, ENGINE.prepare(model), N, rng)
        if all((states == k).sum(axis=0).min() >= 6 for k in range(model.n_states)):
            break
    density = DENSITY if spike else None
    problem = oracle.Problem(name, 3, PATH.edges.tolist(), model.n_states, fields, ALPHA, base, density)
    return model, model.statistics(states), problem, states


def kernel_of(model, s_bar, problem, marginals, alpha=ALPHA):
    base = Beta(*problem.base) if isinstance(problem.base, tuple) else MultivariateNormal(problem.base)
    prior = DirichletProcess(alpha, base, None if problem.density is None else Beta(*problem.density))
    fields = DirichletProcess(alpha, Normal(FIELD_SCALE)) if problem.fields == "grouped" else None
    start = np.zeros(model.n_features)
    if marginals == "exact":
        return exact_groups(Likelihood(model, s_bar, N, ENGINE), prior, start, fields, n_jumps=2)
    model = tables_of(model) if isinstance(model, Boltzmann) else model
    return particle_groups(model, s_bar, N, prior, start, 1024, field_prior=fields, n_jumps=3)


def compare(kernel, exact, rng, bias=0.0, mean_bias=0.0, n_draws=40):
    """Compare structures and partitions that are not rare, the edges' inclusion and the means of theta."""
    options = {"n_draws": n_draws, "n_warmup": 15, "n_chains": 16, "progress": False}
    draws = run.sample(kernel, random_state=rng, **options).values
    grouped = len(np.unique(exact.nodes, axis=0)) > 1
    found, error = Comparison(), np.sqrt((exact.error**2).sum())
    for labels, drawn in ((exact.edges, draws["groups"]), (exact.nodes, draws["field_groups"]))[: 1 + grouped]:
        kinds, kind = np.unique(labels, axis=0, return_inverse=True)
        p = np.concatenate([np.bincount(kind.ravel(), exact.p), exact.p @ (labels >= 0)])
        there = np.concatenate([(canonical(drawn)[:, :, None] == kinds).all(axis=-1), drawn >= 0], axis=2)
        in_doubt = (p > 0.03) & (p < 0.97)
        found.shares(there[..., in_doubt], p[in_doubt], bias, error)
    return found.means(draws["theta"], exact.means, mean_bias)


@cache
def truth_of(name, spike, fields, seed):
    """The problem of a cell and its exact posterior, which the tests of all samplers share."""
    model, s_bar, problem, _ = problem_of(name, spike, fields, np.random.default_rng(DATA))
    return model, s_bar, problem, oracle.posterior(problem, s_bar, N, np.random.default_rng([seed, DATA]))


@pytest.mark.parametrize(("name", "spike", "fields"), CELLS)
def test_exact_marginals_have_the_posterior(name, spike, fields, rng, request):
    model, s_bar, problem, exact = truth_of(name, spike, fields, request.config.seed)
    assert compare(kernel_of(model, s_bar, problem, "exact"), exact, rng).holds


@pytest.mark.parametrize(("name", "spike", "fields"), CELLS)
def test_particles_are_near_the_posterior(name, spike, fields, rng, request):
    model, s_bar, problem, exact = truth_of(name, spike, fields, request.config.seed)
    assert compare(kernel_of(model, s_bar, problem, "particles"), exact, rng, *BIAS["particles"]).holds


@pytest.mark.parametrize(
    ("name", "marginals"), list(product(["agreement", "potts", "symmetric"], ["exact", "particles"]))
)
def test_a_wrong_concentration_is_caught(name, marginals, rng):
    together = 0.0
    while together < 0.4:  # the concentration decides whether edges that are much alike are in one group
        model, s_bar, problem, _ = problem_of(name, False, "grouped", rng, spread=0.1)
        exact = oracle.posterior(problem, s_bar, N, rng)
        together = exact.p @ (exact.edges[:, 0] == exact.edges[:, 1])
    assert not compare(kernel_of(model, s_bar, problem, marginals, 60.0), exact, rng, *BIAS[marginals]).holds


@pytest.mark.parametrize(("name", "spike", "fields"), MISSING)
@pytest.mark.parametrize("marginals", ["exact", "particles"])
def test_missing_values(name, spike, fields, marginals, rng):
    """A fifth of the entries missing at random, drawn with the parameters; taking them for state 0 is noticed."""
    data = np.random.default_rng(DATA)
    model, _, problem, states = problem_of(name, spike, fields, data)
    rows = np.where(data.random(states.shape) < 0.2, -1, states).astype(np.int8)
    clamped = clamp(model, rows)
    s_bar = clamped.seen_statistics()
    likelihood = Likelihood(model, s_bar, N, ENGINE, Hidden(clamped, ENGINE))
    kernel = DrawHiddenEntries(kernel_of(model, s_bar, problem, marginals), likelihood)
    exact = oracle.posterior(problem, s_bar, N, rng, rows=rows)
    assert compare(kernel, exact, rng, *BIAS[marginals]).holds
    if marginals == "exact":
        as_zero = kernel_of(model, model.statistics(np.maximum(rows, 0)), problem, "exact")
        assert not compare(as_zero, exact, rng, n_draws=160).holds


def test_all_cells_that_run_are_tested():
    tested = {(*cell, False) for cell in CELLS} | {(*cell, True) for cell in MISSING}
    for (model, prior), row in support().loc["GroupedMRF"].iterrows():
        for method in row.index[row.isin(["exact", "approximate"])]:
            of = {(spike, fields, gaps) for name, spike, fields, gaps in tested if name == model}
            if method not in ("exact", "particle"):
                assert model == "agreement", (model, method)
                assert (prior, method) in ELSEWHERE
            elif prior == "groups, absent edges":
                assert any(spike for spike, _, _ in of), model
            elif prior == "groups, grouped fields":
                assert any(fields == "grouped" for _, fields, _ in of), model
            else:
                assert any(gaps == prior.endswith("missing values") for _, _, gaps in of), (model, prior)


def test_statistics_that_no_data_have_are_noticed(rng):
    """Of the three pairs of a triangle one at least agrees: with smaller means the likelihood has no maximum."""
    model, problem = Agreement(graphs.cycle(3)), oracle.Problem("agreement", 3, [], 2, False, ALPHA, (2.0, 1.5), None)
    options = {"n_draws": 20, "n_warmup": 0, "n_chains": 1, "random_state": rng, "progress": False}
    with pytest.raises(DivergenceError, match="s_bar is not the mean of the features of any data"):
        run.sample(kernel_of(model, np.full(3, 0.1), problem, "exact"), **options)
    theta = run.sample(kernel_of(model, np.full(3, 1 / 3), problem, "exact"), **options).values["theta"]
    assert np.isfinite(theta).all()  # at the boundary the prior ends it
