"""Spike and slab on whole tables of nominal edges, next to evidences of all graphs by importance sampling.

The oracle sums the likelihood over all states and integrates over parameters around the mode of each graph; the prior
is a multivariate Cauchy density of the parameters of an edge.
"""

import itertools
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln
from scipy.stats import multivariate_t

from bayesmrf import CompareMRF, SpikeSlabMRF, calibrate, graphs, plan
from bayesmrf.engines import Elimination
from bayesmrf.errors import OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Nominal, Ordinal
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.posterior.edges.exact_tables import SpikeSlabTables
from bayesmrf.posterior.edges.many_states import SpikeSlabManyStates
from bayesmrf.priors import Beta, Cauchy, LogisticBeta, Moment, Normal, SpikeSlab
from bayesmrf.runs import run
from tests.oracle import table_differences as tables_oracle
from tests.oracle.bounds import Comparison
from tests.oracle.ranks import few_draws, p_value, rank
from tests.oracle.spike_slab import taper

PAIRS = [(0, 1), (0, 2), (1, 2)]
KINDS = {
    "nominal": ((3, 2, 3), (False, False, False)),
    "mixed": ((3, 2, 3), (False, True, True)),
}
OPTIONS = {"progress": False, "random_state": 0, "n_jobs": 1}
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")


def answers(sizes, n, rng):
    """Rows of which a part follows another column by a shuffled code."""
    x = (rng.random((n, len(sizes))) * sizes).astype(int)
    for i in range(1, len(sizes)):
        code = rng.permutation(np.arange(max(sizes)) % sizes[i])
        x[:, i] = np.where(rng.random(n) < 0.2, code[x[:, i - 1]], x[:, i])
    x[: max(sizes)] = np.minimum(np.arange(max(sizes))[:, None], np.array(sizes) - 1)
    return x


def typed(x, sizes, ordered, names="uvwxyz"):
    """A table of pandas categories."""
    columns = {
        names[i]: pd.Categorical.from_codes(x[:, i], [f"{names[i]}{k}" for k in range(size)], ordered=ordered[i])
        for i, size in enumerate(sizes)
    }
    return pd.DataFrame(columns)


def log_evidence(x, sizes, ordered, edges, slab, seed, n_draws=60_000):
    """Log evidence of a graph, and its standard error."""
    model = Nominal(graphs.Graph(len(sizes), np.array(edges, int).reshape(-1, 2)), max(sizes), True, sizes, ordered)
    features = model.features(np.array(list(itertools.product(*map(range, sizes)))))
    sums, starts = model.features(x).sum(axis=0), model.edge_starts

    def log_density(theta, slab=slab):
        found = theta @ sums - len(x) * np.log(np.exp(features @ theta.T).sum(axis=0))
        for first, last in itertools.pairwise(starts):
            k, square = last - first, (theta[..., first:last] ** 2).sum(axis=-1)
            if isinstance(slab, Normal):
                found -= 0.5 * square + 0.5 * k * np.log(2 * np.pi)
            elif isinstance(slab, Moment):
                found += gammaln((k + 3) / 2) + np.log(2 / k) - (k + 1) / 2 * np.log(np.pi)
                found += np.log(square) - (k + 3) / 2 * np.log1p(square) - 0.5 * square / taper(k, 2) ** 2
            else:
                found += gammaln((k + 1) / 2) - (k + 1) / 2 * (np.log(np.pi) + np.log1p(square))
                found -= 0.5 * square / taper(k) ** 2
        own = theta[..., starts[-1] :] / 10
        return found - 0.5 * (own**2).sum(axis=-1) - own.shape[-1] * np.log(10 * np.sqrt(2 * np.pi))

    guide = Cauchy(1.0) if isinstance(slab, Moment) else slab
    mode = minimize(lambda theta: -log_density(theta, guide), np.zeros(model.n_features), method="BFGS")
    p = np.exp(features @ mode.x)
    p /= p.sum()
    away = features - p @ features
    precision = len(x) * (away * p[:, None]).T @ away + np.diag(
        np.repeat([0.5, 0.01], [starts[-1], len(sums) - starts[-1]])
    )
    around = multivariate_t(mode.x, 1.3 * np.linalg.inv(precision), df=6, seed=seed)
    drawn = around.rvs(n_draws).reshape(n_draws, -1)
    log_weights = log_density(drawn) - around.logpdf(drawn)
    weights = np.exp(log_weights - log_weights.max())
    return log_weights.max() + np.log(weights.mean()), weights.std() / weights.mean() / np.sqrt(n_draws)


def exact_inclusions(x, sizes, ordered, slab, seed):
    """Inclusions of all pairs of three nodes with a density of a half, and a bound of their standard errors."""
    sets = list(itertools.product((False, True), repeat=len(PAIRS)))
    found = [
        log_evidence(x, sizes, ordered, list(itertools.compress(PAIRS, there)), slab, seed + k)
        for k, there in enumerate(sets)
    ]
    logs, errors = np.transpose(found)
    p = np.exp(logs - logs.max())
    return (p / p.sum()) @ np.array(sets), errors.max() / 2


def fitted(table, method, slab=None, n_draws=3000, **more):
    prior = SpikeSlab(0.5, Cauchy(1.0) if slab is None else slab)
    given = {"n_warmup": 400, "n_chains": 2, "prior": prior, **OPTIONS, **more}
    return SpikeSlabMRF(model="nominal", method=method, n_draws=n_draws, **given).fit(table)


def agree(draws, truth, **options):
    found = Comparison().means(draws, truth, **options)
    assert found.holds, found


def upper(matrix):
    return matrix[tuple(np.transpose(PAIRS))]


def included(est):
    return est.posterior_["posterior"]["included"].values


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slab", [Cauchy(1.0), Normal(1.0), Moment(1.0)], ids=["cauchy", "normal", "moment"])
def test_exact_draws_have_the_evidences_of_all_graphs(kind, slab, rng):
    sizes, ordered = KINDS[kind]
    x = answers(sizes, 200, rng)
    truth, error = exact_inclusions(x, sizes, ordered, slab, 1)
    assert ((truth > 0.03) & (truth < 0.97)).any(), truth
    draws = included(fitted(typed(x, sizes, ordered), "exact", slab))
    agree(draws, truth, error=error)


@pytest.mark.parametrize(("kind", "slab"), [*((kind, Cauchy(1.0)) for kind in KINDS), ("mixed", Moment(1.0))], ids=str)
def test_reversible_jumps_agree(kind, slab, rng):
    sizes, ordered = KINDS[kind]
    x = answers(sizes, 200, rng)
    truth, error = exact_inclusions(x, sizes, ordered, slab, 1)
    draws = included(fitted(typed(x, sizes, ordered), "reversible-jump", slab))
    agree(draws, truth, bias=0.02, error=error)


def test_names_and_order_of_levels_change_nothing(rng):
    sizes, ordered = (3, 4, 3), (False,) * 3
    x = answers(sizes, 250, rng)
    orders = [rng.permutation(size) for size in sizes]
    other = np.stack([order[column] for order, column in zip(orders, x.T, strict=True)], axis=1)
    truth, draws = (included(fitted(typed(t, sizes, ordered), "exact")) for t in (x, other))
    error = truth.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(len(truth))
    agree(draws, truth.mean(axis=(0, 1)), error=np.maximum(error, 0.008))


def test_two_words_are_yes_and_no(rng):
    """The slab of a nominal edge between two levels is that of a Boltzmann machine, but for the prior of biases."""
    x = answers((2, 2, 2), 150, rng)
    boltzmann = SpikeSlabMRF(
        method="exact", prior=SpikeSlab(0.5, Cauchy(1.0)), n_draws=4000, n_warmup=200, n_chains=2, **OPTIONS
    ).fit(x)
    nominal = fitted(typed(x, (2, 2, 2), (False,) * 3), "exact", n_draws=4000)
    agree(included(nominal), included(boltzmann).mean(axis=(0, 1)), bias=0.01, error=0.01)
    np.testing.assert_allclose(np.abs(nominal.theta_[:3]), np.abs(boltzmann.theta_[:3]), atol=0.08)


def test_ordered_columns_alone_are_the_ordinal_model(rng):
    """The scan of whole tables has the posterior of the scan of single weights."""
    model = Nominal(graphs.complete(3), 3, True, (3, 2, 3), (True,) * 3)
    s_bar = model.statistics(answers((3, 2, 3), 150, rng))
    prior = SpikeSlab(0.5, Cauchy(1.0))
    ordinal = Ordinal(graphs.complete(3), 3, True, (3, 2, 3))
    one, other = Likelihood(model, s_bar, 150, Elimination()), Likelihood(ordinal, s_bar, 150, Elimination())
    options = {"n_draws": 3000, "n_warmup": 200, "n_chains": 2, "progress": False, "random_state": 3, "n_jobs": 1}
    tables, weights = (
        run.sample(k, **options).values for k in (SpikeSlabTables(one, prior), SpikeSlabExact(other, prior))
    )
    agree(tables["included"], weights["included"].mean(axis=(0, 1)), error=0.01)
    agree(tables["theta"], weights["theta"].mean(axis=(0, 1)), error=0.02)


def test_groups_of_people(rng):
    sizes, ordered = KINDS["mixed"]
    x, group = answers(sizes, 300, rng), np.repeat(["a", "b"], 150)
    x[150:, 0] = np.where(rng.random(150) < 0.8, x[150:, 2], x[150:, 0])
    options = {"n_draws": 2500, "n_warmup": 400, "n_chains": 2, **OPTIONS}
    exact, chains = (
        CompareMRF(model="nominal", method=method, **options).fit(typed(x, sizes, ordered), group)
        for method in ("exact", "reversible-jump")
    )
    agree(included(chains), included(exact).mean(axis=(0, 1)), bias=0.02, error=0.008)
    assert upper(exact.difference_inclusion_)[1] > 0.9


def test_differences_of_a_table_between_four_groups_have_their_probability(rng):
    """Under a moment slab, whose 12 coordinates of a difference are proposed one after another."""
    counts = tables_oracle.simulate(rng, (100, 100, 100, 100), 3, 0.6)
    truth, error = tables_oracle.probability(counts, rng, 2, taper)
    x = np.repeat(np.array(list(np.ndindex(3, 3, 1)))[:, :2], 4, axis=0).reshape(9, 4, 2).swapaxes(0, 1).reshape(-1, 2)
    groups = np.repeat(np.arange(4), 9)
    given = {"n_draws": 1600, "n_warmup": 200, "n_chains": 2, "model": "nominal", "method": "exact", **OPTIONS}
    est = CompareMRF(prior=SpikeSlab(0.5, Moment(1.0)), **given)
    est.fit(typed(x, (3, 3), (False, False)), groups, sample_weight=counts.ravel())
    agree(included(est), [truth], error=np.array([error * truth * (1 - truth)]))
    other = 0.5 * truth if truth > 0.5 else 0.5 + 0.5 * truth
    assert not Comparison().means(included(est), [other], error=np.array([error * truth * (1 - truth)])).holds


@pytest.mark.parametrize("biases", ["slab", "spike-slab"])
def test_differences_of_biases_that_depend_on_the_order_of_categories_are_refused(biases, rng):
    sizes, ordered = KINDS["mixed"]
    with pytest.raises(OptionError, match="biases must be 'free' with columns without order"):
        CompareMRF(biases=biases).check(typed(answers(sizes, 60, rng), sizes, ordered), np.repeat(["a", "b"], 30))


def test_priors_of_biases_that_depend_on_the_order_of_categories_are_refused(rng):
    """By every estimator, and in each model of columns without order; yes/no and ordered columns have an order."""
    table, groups = typed(answers((3, 3), 60, rng), (3, 3), (False, False)), np.repeat(["a", "b"], 30)
    ranks = table.apply(lambda column: column.cat.codes.astype(int))
    prior, message = (
        SpikeSlab(biases=LogisticBeta(0.5, 0.5)),
        "prior must be a SpikeSlab with biases=None for columns w",
    )
    for model in ("nominal", "potts"):
        x = table if model == "nominal" else ranks
        with pytest.raises(OptionError, match=message):
            SpikeSlabMRF(prior=prior, model=model).check(x)
        with pytest.raises(OptionError, match=message):
            CompareMRF(prior=prior, model=model).check(x, groups)
    est = SpikeSlabMRF(prior=prior, model="potts", progress=False)
    with pytest.raises(OptionError, match=message):
        calibrate(est, 50, nodes=3, levels=3, replicates=2, progress=False, n_jobs=1)
    with pytest.raises(OptionError, match=message):
        plan(n=[50], nodes=3, levels=3, estimator=est, replicates=2, progress=False, n_jobs=1)
    SpikeSlabMRF(prior=prior, model="ordinal").check(ranks)
    two = typed(answers((2, 2), 60, rng), (2, 2), (False, False))
    SpikeSlabMRF(prior=prior, model="nominal").check(two)  # the same for either order
    with pytest.raises(OptionError, match=message):
        SpikeSlabMRF(prior=SpikeSlab(biases=LogisticBeta(2, 1)), model="nominal").check(two)


def test_missing_answers(rng):
    sizes, ordered = KINDS["mixed"]
    table = typed(answers(sizes, 250, rng), sizes, ordered)
    table.iloc[::5, 0], table.iloc[1::6, 2] = np.nan, np.nan
    exact, chains = (fitted(table, method) for method in ("exact", "reversible-jump"))
    agree(included(chains), included(exact).mean(axis=(0, 1)), bias=0.02, error=0.01)
    assert set(exact.missing_["state"][exact.missing_["node"] == "u"]) == {"u0", "u1", "u2"}


MODEL = Nominal(graphs.complete(3), 3, True, (3, 2, 3), (False, True, False))
PRIOR, WRONG = SpikeSlab(0.5, Normal(0.7), 1.0), SpikeSlab(0.9, Normal(0.1), 1.0)


def ranks(prior, n_simulations, rng):
    """Ranks of the number of edges, of a parameter of a nominal edge, and of one of a node."""
    engine, out, starts = Elimination(), [], MODEL.edge_starts
    plan = engine.prepare(MODEL)
    for _ in range(n_simulations):
        there = rng.random(MODEL.n_edges) < 0.5
        theta = rng.standard_normal(MODEL.n_features)
        theta[: starts[-1]] *= 0.7 * np.repeat(there, np.diff(starts))
        s_bar = MODEL.statistics(engine.sample(MODEL, theta, plan, 120, rng))
        kernel = SpikeSlabManyStates(MODEL, s_bar, 120, prior, options=ReversibleJump(256), n_adapt=60)
        draws = few_draws(kernel, rng, 10, 60)
        drawn = np.transpose([draws["n_edges"], draws["theta"][:, starts[1]], draws["theta"][:, -1]])
        out.append(rank(drawn, np.array([there.sum(), theta[starts[1]], theta[-1]]), rng))
    return np.array(out)


@pytest.mark.parametrize("n_simulations", [40, pytest.param(500, marks=[pytest.mark.calibration])])
def test_ranks_are_uniform(n_simulations, rng):
    assert p_value(ranks(PRIOR, n_simulations, rng)) > 1e-6


def test_a_wrong_prior_is_caught(rng):
    assert p_value(ranks(WRONG, 40, rng)) < 1e-6


@pytest.mark.parametrize("name", ["nominal_other_names", "nominal_same_names"])
@pytest.mark.skipif("BAYESMRF_DATA" not in os.environ, reason="needs the folder BAYESMRF_DATA")
def test_words_of_two_columns_may_be_equal_or_not(name):
    table = pd.read_csv(Path(os.environ["BAYESMRF_DATA"]).parent / "tables" / f"{name}.csv")
    est = fitted(table, "exact", n_draws=400)
    assert upper(est.inclusion_)[0] > 0.999


def test_default_prior():
    prior = SpikeSlabMRF(model="nominal")._object("prior")
    assert (prior.density, prior.slab.scale, prior.bias_scale) == (Beta(1.0, 1.0), 1.0, 10.0)
