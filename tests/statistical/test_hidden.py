"""Hidden entries: the clamped model against enumeration, posteriors with missing values against the grid."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.base import LOG_Z
from bayesmrf.engines import Bethe, Brief, Elimination, MeanField, Persistent, Tree
from bayesmrf.errors import DataError, OptionError
from bayesmrf.estimators import BayesianMRF
from bayesmrf.likelihood import Hidden, Likelihood
from bayesmrf.methods import AuxiliaryVariable, Exchange, Langevin, Metropolis
from bayesmrf.models import Agreement, Boltzmann, Ising, Potts, Symmetric
from bayesmrf.models.clamped import Clamped, HiddenEntries
from bayesmrf.models.clamped_categorical import clamp
from bayesmrf.posterior.hidden_entries import DrawHiddenEntries
from bayesmrf.posterior.parameters.coordinate_gibbs import CoordinateGibbs
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.priors import Normal
from bayesmrf.published.auxiliary_variable import AuxiliaryVariableKernel
from bayesmrf.published.exchange import ExchangeKernel
from bayesmrf.runs import run
from tests.helpers.flat import bayesian
from tests.oracle import potts as potts_oracle
from tests.oracle import states as oracle
from tests.oracle.bounds import Comparison, assert_mean, assert_other_mean

MODELS = {"ising": Ising, "boltzmann": Boltzmann, "agreement": lambda g: Agreement(g, fields=True)}
by_model = pytest.mark.parametrize("family", MODELS.values(), ids=MODELS)


def with_holes(rng, n, d, share):
    states = rng.integers(0, 2, size=(n, d)).astype(np.int8)
    states[rng.random((n, d)) < share] = -1
    return states


def completions(row):
    """All full rows that agree with ``row`` where it is seen."""
    states = oracle.all_states(len(row))
    return states[((states == row) | (row < 0)).all(axis=1)]


def by_enumeration(model, states, theta):
    """Sum over rows of log Z_n, and of the statistics expected given what was seen."""
    total, moments = 0.0, np.zeros(model.n_features)
    for row in states:
        s = np.array([model.statistics(x[None]) for x in completions(row)])
        log_weight = s @ theta
        log_z = np.logaddexp.reduce(log_weight)
        total += log_z
        moments += np.exp(log_weight - log_z) @ s
    return total, moments


@by_model
@pytest.mark.parametrize("share", [0.2, 0.6, 1.0])
def test_clamped_is_enumeration_over_hidden_entries(family, share, rng):
    model = family(graphs.complete(5))
    states = with_holes(rng, 12, 5, share)
    clamped, theta = Clamped(model, states), rng.normal(size=model.n_features)
    engine = Elimination()
    found = engine.infer(clamped, theta, engine.prepare(clamped))
    log_z, moments = by_enumeration(model, states, theta)
    assert found.log_z == pytest.approx(log_z, rel=1e-11)
    np.testing.assert_allclose(found.moments, moments, atol=1e-10)
    # control: a flipped entry is another table
    seen = np.argwhere(states >= 0)
    if len(seen):
        states[tuple(seen[0])] ^= 1
        other = Clamped(model, states)
        assert engine.infer(other, theta, engine.prepare(other)).log_z != pytest.approx(log_z, rel=1e-6)


@pytest.mark.parametrize(("kind", "fields"), [(Potts, True), (Symmetric, False), (Symmetric, True)])
def test_clamped_states_are_enumeration_over_hidden_entries(kind, fields, rng):
    """Of nodes with many states, whose edges have one parameter or a table."""
    model, m = kind(graphs.complete(4), 3, fields), 3
    states = rng.integers(0, m, (9, 4)).astype(np.int8)
    states[rng.random(states.shape) < 0.4] = -1
    clamped, theta, engine = clamp(model, states), rng.normal(size=model.n_features), Elimination()
    every, total, moments = potts_oracle.all_states(4, m), 0.0, np.zeros(model.n_features)
    for row in states:
        s = np.array([model.statistics(x[None]) for x in every[((every == row) | (row < 0)).all(axis=1)]])
        log_z = np.logaddexp.reduce(s @ theta)
        total, moments = total + log_z, moments + np.exp(s @ theta - log_z) @ s
    found = engine.infer(clamped, theta, engine.prepare(clamped))
    assert found.log_z == pytest.approx(total, rel=1e-11)
    np.testing.assert_allclose(found.moments, moments, atol=1e-10)
    other = clamp(model, np.where(states == 0, 1, states).astype(np.int8))
    assert engine.infer(other, theta, engine.prepare(other)).log_z != pytest.approx(total, rel=1e-6)


@by_model
def test_clamped_bounds_and_trees(family, rng):
    """Bounds stay below; Bethe and tree are exact, as rows of a chain graph have no cycle."""
    model = family(graphs.path(5))
    clamped = Clamped(model, with_holes(rng, 20, 5, 0.7))
    theta = rng.normal(size=model.n_features)
    exact, low, tree, bethe = (
        e.infer(clamped, theta, e.prepare(clamped), LOG_Z).log_z for e in (Elimination(), MeanField(), Tree(), Bethe())
    )
    assert low < exact
    assert tree == pytest.approx(exact)
    assert bethe == pytest.approx(exact, abs=1e-4)


def test_samples_fill_the_table_by_its_law(rng):
    model = Boltzmann(graphs.complete(4))
    states = with_holes(rng, 15, 4, 0.4)
    clamped, theta = Clamped(model, states), rng.normal(size=model.n_features)
    engine = Elimination()
    drawn = engine.sample(clamped, theta, engine.prepare(clamped), 2000, rng)
    seen = states >= 0
    tables = np.tile(states, (len(drawn), 1, 1))
    tables[:, ~seen] = drawn
    assert (tables[:, seen] == states[seen]).all()
    per_table = 15 * np.array([model.statistics(t) for t in tables])
    np.testing.assert_allclose(clamped.statistics(drawn[:50]), per_table[:50].mean(axis=0))
    exact = by_enumeration(model, states, theta)[1]
    assert Comparison().means(per_table[:, None], exact, least=1e-9).holds  # an edge may be known in all rows
    assert_other_mean(per_table[:, None], by_enumeration(model, states, theta + 1)[1])


def test_probabilities_of_hidden_entries(rng):
    model = Ising(graphs.cycle(4))
    states = with_holes(rng, 6, 4, 0.5)
    theta = rng.normal(size=8)
    entries, engine = HiddenEntries(model, states), Elimination()
    found = engine.infer(entries, theta, engine.prepare(entries)).moments
    for (row, node), p in zip(entries.cells, found, strict=True):
        full = completions(states[row])
        weight = np.exp([model.statistics(x[None]) @ theta for x in full])
        assert p == pytest.approx(weight[full[:, node] == 1].sum() / weight.sum())


def test_brief_chains_start_at_what_was_seen(rng):
    """Where entries are hidden, each chain starts from its own draw of them."""
    model = Boltzmann(graphs.complete(4))
    states = with_holes(rng, 30, 4, 0.3)
    clamped = Clamped(model, states)
    positive = Persistent(n_chains=64, n_sweeps=3)
    lik = Likelihood(model, np.zeros(10), 30, Brief(np.maximum(states, 0), n_chains=90), Hidden(clamped, positive))
    memory = lik.evaluate(np.zeros(10), memory=lik.start(rng)).memory
    start = lik._terms[0]._restarts(lik.plan, memory.positive)
    table = start.transpose(0, 2, 1).reshape(-1, 4)  # one row a chain
    rows = states[np.arange(len(table)) % 30]
    assert (table[rows >= 0] == 2 * rows[rows >= 0] - 1).all()
    assert set(np.unique(table)) == {-1, 1}
    drawn = table[rows < 0]
    assert 0.2 < (drawn > 0).mean() < 0.8  # at theta = 0 half of them are 1


@pytest.mark.parametrize("n_chains", [64, 320])
def test_brief_chains_start_at_rows_of_the_whole_table(rng, n_chains):
    """Tables may be sorted: the first rows alone, or twice, have other means."""
    model = Boltzmann(graphs.complete(4))
    states = np.repeat([[0, 0, 0, 0], [1, 1, 1, 1]], 128, axis=0).astype(np.int8)
    states[rng.random(states.shape) < 0.1] = -1
    positive = Persistent(n_chains=64, n_sweeps=3)
    engine = Brief(np.maximum(states, 0), n_chains=n_chains)
    lik = Likelihood(model, np.zeros(10), 256, engine, Hidden(Clamped(model, states), positive))
    memory = lik.evaluate(np.zeros(10), memory=lik.start(rng)).memory
    table = lik._terms[0]._restarts(lik.plan, memory.positive).transpose(0, 2, 1).reshape(-1, 4)
    of_zeros = (table == -1).sum(axis=1) > 2
    of_ones = (table == 1).sum(axis=1) > 2
    assert abs(int(of_zeros.sum()) - int(of_ones.sum())) <= n_chains // 10


# Posteriors: a path of four nodes without fields, three parameters, a fifth of the values missing.

PATH = Agreement(graphs.path(4))
N = 40


@pytest.fixture
def table(rng):
    states = rng.integers(0, 2, size=(N, 4)).astype(np.int8)
    states[: N // 2, 1] = states[: N // 2, 0]
    states[N // 4 :, 3] = states[N // 4 :, 2]
    holes = rng.permutation(N * 4)[: N * 4 // 5]
    states.ravel()[holes] = -1
    return states


def grid_posterior(states, scale=1.0, points=61):
    """theta, their weights: log p = sum over rows of log Z_n - N log Z + prior."""
    axis = np.linspace(-5, 5, points)
    theta = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    every = oracle.all_states(4)
    weights = np.exp(theta @ np.array([PATH.statistics(x[None]) for x in every]).T)  # of 15 nats at most
    rows, counts = np.unique(states, axis=0, return_counts=True)
    fits = ((rows[:, None] == every) | (rows[:, None] < 0)).all(axis=2)
    log_p = np.log(weights @ fits.T) @ counts - len(states) * np.log(weights.sum(axis=1))
    log_p -= 0.5 * ((theta / scale) ** 2).sum(axis=1)
    w = np.exp(log_p - log_p.max())
    return theta, w / w.sum()


def moments_of(theta, w):
    return np.concatenate([w @ theta, w @ theta**2])


def draws_of(kernel, rng):
    draws = run.sample(kernel, n_draws=30, n_warmup=15, n_chains=48, random_state=rng, progress=False)
    theta = draws.values["theta"]
    return np.concatenate([theta, theta**2], axis=2)


def kernels(lik, start):
    prior = Normal(1.0)
    return {
        "metropolis": lambda: MetropolisKernel(lik, prior, start, Metropolis(0.9)),
        "langevin": lambda: LangevinKernel(lik, prior, start, Langevin(0.5, adjusted=True)),
        "exchange": lambda: ExchangeKernel(lik, prior, start, Exchange(0.7)),
        "auxiliary-variable": lambda: AuxiliaryVariableKernel(lik, prior, start, AuxiliaryVariable(0.5)),
        "gibbs": lambda: DrawHiddenEntries(
            CoordinateGibbs(Likelihood(PATH, np.zeros(3), N, Elimination()), prior, start), lik
        ),
        "drawn before each step": lambda: DrawHiddenEntries(
            MetropolisKernel(Likelihood(PATH, np.zeros(3), N, Elimination()), prior, start, Metropolis(0.7)), lik
        ),
    }


CASES = [
    ("metropolis", Elimination()),
    ("langevin", Elimination()),
    ("exchange", Elimination()),
    ("exchange", Persistent(n_chains=1)),
    ("auxiliary-variable", Elimination()),
    ("auxiliary-variable", Persistent(n_chains=1)),
    ("gibbs", Elimination()),
    ("gibbs", Persistent(n_chains=1)),
    ("drawn before each step", Elimination()),
    ("drawn before each step", Persistent(n_chains=1)),
]


@pytest.mark.parametrize(("name", "engine"), CASES, ids=[f"{k}-{e.name}" for k, e in CASES])
def test_posterior_with_missing_values_is_the_grid_posterior(name, engine, table, rng):
    exact = moments_of(*grid_posterior(table))
    hidden = Hidden(Clamped(PATH, table), engine)
    lik = Likelihood(PATH, np.zeros(3), N, Elimination(), hidden)
    assert_mean(draws_of(kernels(lik, exact[:3])[name](), rng), exact)


@pytest.mark.parametrize("name", ["metropolis", "exchange"])
def test_missing_values_that_are_taken_for_zeros_are_noticed(name, table, rng):
    exact = moments_of(*grid_posterior(table))
    zeros = np.maximum(table, 0)
    lik = Likelihood(PATH, PATH.statistics(zeros), N, Elimination())
    assert_other_mean(draws_of(kernels(lik, exact[:3])[name](), rng), exact)


def test_a_row_of_which_nothing_was_seen_changes_nothing(table, rng):
    lik = Likelihood(PATH, np.zeros(3), N, Elimination(), Hidden(Clamped(PATH, table), Elimination()))
    more = np.concatenate([table, np.full((5, 4), -1, np.int8)])
    lik_more = Likelihood(PATH, np.zeros(3), N + 5, Elimination(), Hidden(Clamped(PATH, more), Elimination()))
    theta = rng.normal(size=(2, 3))
    assert lik.log_ratio(*theta) == pytest.approx(lik_more.log_ratio(*theta))
    np.testing.assert_allclose(lik.score(theta[0]), lik_more.score(theta[0]), atol=1e-9)


# The estimator

QUICK = {"model": "agreement", "n_draws": 10, "n_warmup": 2, "n_chains": 2, "progress": False, "random_state": 0}


@pytest.mark.parametrize(
    ("kernel", "engine"),
    [
        ("metropolis", "exact"),
        ("metropolis", "mean-field"),
        ("metropolis", "tree"),
        ("metropolis", "bethe"),
        ("langevin", "exact"),
        ("langevin", "brief"),
        ("langevin", "persistent"),
        ("exchange", "cftp"),
        ("auxiliary-variable", "gibbs"),
    ],
)
def test_estimator_takes_missing_values(kernel, engine, table):
    X = np.where(table < 0, np.nan, table)
    est = BayesianMRF(graph=[(0, 1), (1, 2), (2, 3)], kernel=kernel, engine=engine, **QUICK).fit(X)
    assert np.isfinite(est.theta_).all()
    # Rows without any value are left out.
    row, column = np.argwhere((table < 0) & (table >= 0).any(axis=1, keepdims=True)).T
    assert (est.missing_["row"] == row).all()
    assert (est.missing_["node"] == column.astype(str)).all()
    assert est.missing_["probability"].between(0, 1).all()
    stored = est.posterior_["posterior_predictive"].dataset
    np.testing.assert_array_equal(stored["probability"], est.missing_["probability"])
    exact = (kernel, engine) in {("metropolis", "exact"), ("exchange", "cftp")}
    assert (est.posterior_.attrs["kind"] == "exact") == exact


def test_predictive_probabilities_are_those_of_the_grid(table):
    """The average over draws of P(x = 1 | seen, theta), here against the average over the grid."""
    X = np.where(table < 0, np.nan, table)
    options = QUICK | {"n_draws": 2500, "n_warmup": 100, "n_chains": 2}
    est = bayesian(graph=[(0, 1), (1, 2), (2, 3)], bias_scale=1e-6, kernel="metropolis", step_size=0.9, **options).fit(
        X
    )
    theta, w = grid_posterior(table, points=31)
    keep = w > 1e-7
    theta, w = theta[keep], w[keep] / w[keep].sum()
    expected = []
    for row, node in np.argwhere(table < 0):
        full = completions(table[row])
        s = np.array([PATH.statistics(x[None]) for x in full])
        weight = np.exp(theta @ s.T)
        expected.append(w @ (weight[:, full[:, node] == 1].sum(axis=1) / weight.sum(axis=1)))
    error = np.abs(est.missing_["probability"] - expected)
    assert error.max() < 0.06  # 7 standard errors: sd over theta below 0.2, more than 500 effective draws
    assert np.abs(0.5 - np.array(expected)).max() > 0.12  # a constant 1/2 would fail


def test_weights_count_rows_with_missing_values(table):
    X = np.where(table < 0, np.nan, table)
    rows, counts = np.unique(X[:20], axis=0, return_counts=True, equal_nan=True)
    a = bayesian(**QUICK).fit(rows, sample_weight=counts)
    b = bayesian(**QUICK).fit(np.repeat(rows, counts, axis=0))
    np.testing.assert_allclose(a.theta_, b.theta_, rtol=1e-9)
    gaps = np.argwhere(np.isnan(rows))
    assert (a.missing_[["row", "node"]].astype(int).to_numpy() == gaps).all()
    first = np.repeat(np.arange(len(rows)), counts)
    expected = (
        b.missing_.assign(row=first[b.missing_["row"]]).groupby(["row", "node"], sort=False)["probability"].mean()
    )
    np.testing.assert_allclose(a.missing_["probability"], expected)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        (
            {"kernel": "pseudo-posterior"},
            OptionError,
            "kernel must be 'gibbs', .* for missing values, got 'pseudo-posterior'",
        ),
        ({"engine": "pseudo-likelihood"}, DataError, "which the pseudo-likelihood cannot take"),
        ({"hidden_engine": "magic"}, OptionError, "hidden_engine must be .*, got 'magic'"),
        (
            {"kernel": "metropolis", "hidden_engine": "persistent"},
            OptionError,
            "hidden_engine must be .*, got 'persistent'; 'metropolis' needs log_z, use one of elimination",
        ),
        (
            {"kernel": "exchange", "hidden_engine": "bethe"},
            OptionError,
            "hidden_engine must .*'exchange' needs sample",
        ),
        (
            {"kernel": "langevin", "engine": "brief", "hidden_engine": "exact"},
            OptionError,
            "hidden_engine must be .* brief chains, which start from .*, got 'exact'",
        ),
        (
            {"graph": "learn:2"},
            OptionError,
            "graph must be edges or 'complete' for a table with missing values, got 'learn:2'",
        ),
    ],
)
def test_bad_input(options, error, message, table):
    with pytest.raises(error, match=message):
        bayesian(**QUICK | options).fit(np.where(table < 0, np.nan, table))


def test_a_column_of_which_nothing_was_seen():
    with pytest.raises(DataError, match="missing"):
        bayesian(**QUICK).fit([[0, np.nan], [1, np.nan], [1, np.nan]])
