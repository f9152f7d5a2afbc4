"""What holds for every row of `tests.tables`: a new model, prior, engine or kernel is tested by being there."""

import copy
import inspect
from dataclasses import fields, replace

import numpy as np
import pytest
from scipy.integrate import quad

from bayesmrf import priors
from bayesmrf.base import LOG_Z, MOMENTS, SAMPLE, Kind
from bayesmrf.engines import Enumeration
from bayesmrf.posterior.conditionals.one_potential import log_odds
from bayesmrf.posterior.groups.exact import ExactWalk
from bayesmrf.posterior.groups.two_states import TwoStateWalk
from bayesmrf.runs import run
from bayesmrf.runs.state_spec import flatten, unflatten
from bayesmrf.states.edge_tables import edge_categories
from bayesmrf.states.refresh import edge_moment
from tests.oracle.bounds import Comparison, assert_mean, assert_other_mean
from tests.oracle.potts import all_states
from tests.tables import CHAINS_IN_PLACE, ENGINES, KERNELS, MARGINALS, MODELS, PRIORS, N


def statistics(model):
    """Statistics of every state."""
    states = all_states(model.graph.n_nodes, model.n_states).astype(np.int8)
    return np.array([model.statistics(x[None]) for x in states])


# ---- models


@pytest.mark.parametrize("name", MODELS)
def test_moments_are_the_slope_of_log_z(name, rng):
    """The compiled form of a model and its statistics are of the same model."""
    model = MODELS[name]
    theta, s = rng.normal(0, 0.5, model.n_features), statistics(model)
    p = np.exp(s @ theta - np.logaddexp.reduce(s @ theta))
    found = Enumeration().infer(model, theta, Enumeration().prepare(model))
    assert found.log_z == pytest.approx(np.logaddexp.reduce(s @ theta), rel=1e-10)
    np.testing.assert_allclose(found.moments, p @ s, atol=1e-10)
    other = Enumeration().infer(model, theta + 0.1, Enumeration().prepare(model))
    assert np.abs(other.moments - p @ s).max() > 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_features_have_names_and_extremes(name):
    model = MODELS[name]
    assert len(set(model.feature_names)) == model.n_features == len(model.feature_low)
    s = statistics(model)
    two = model.feature_high == 1
    assert (np.isin(s, [0, 1]) | (s == model.feature_low))[:, two].all()
    assert (s.max(axis=0) == model.feature_high).all()
    assert two.all() == (model.name not in ("ordinal", "nominal"))
    assert (s.min(axis=0) == model.feature_low).all()


@pytest.mark.parametrize("name", MODELS)
def test_weights_of_rows_count(name, rng):
    model = MODELS[name]
    x, w = rng.integers(0, model.n_states, (30, model.graph.n_nodes)), rng.integers(0, 4, 30)
    np.testing.assert_allclose(model.statistics(x, w), model.statistics(np.repeat(x, w, axis=0)), atol=1e-12)
    assert np.abs(model.statistics(x, w) - model.statistics(x)).max() > 1e-6


# ---- priors


@pytest.mark.parametrize("name", PRIORS)
def test_gradient_of_a_prior(name, rng):
    prior, theta, h = PRIORS[name], rng.normal(size=2), 1e-6
    slope = (prior.log_density(theta + h) - prior.log_density(theta - h)) / (2 * h)
    np.testing.assert_allclose(prior.gradient(theta), slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", [n for n in PRIORS if isinstance(PRIORS[n], priors.ProperPrior)])
def test_density_of_a_proper_prior_integrates_to_one(name):
    prior = PRIORS[name]
    each = [quad(lambda x, j=j: np.exp(prior.log_density(np.full(2, x))[j]), -np.inf, np.inf)[0] for j in range(2)]
    assert np.log(each).sum() + prior.log_constant(2) == pytest.approx(0, abs=1e-7)


def test_the_table_has_every_prior_of_theta():
    there = {k for k in vars(priors).values() if inspect.isclass(k) and not inspect.isabstract(k)}
    there = {k for k in there if not getattr(k, "_is_protocol", False) and {"gradient"} <= set(vars(k))}
    assert there == {type(p) for p in PRIORS.values()}


# ---- engines

SUPPORTED = [(name, model) for name in ENGINES for model in MODELS if MODELS[model].family in ENGINES[name].families]


@pytest.mark.parametrize(("name", "model"), SUPPORTED)
def test_answers_of_an_engine(name, model, rng):
    """On a loop with small weights: exact, bounds, or near what a sum over all states gives."""
    engine, model = ENGINES[name], MODELS[model]
    theta, s = np.linspace(0.35, 0.1, model.n_features), statistics(model)
    log_z, of_data = np.logaddexp.reduce(s @ theta), "states" in {f.name for f in fields(engine)}
    moments, others = (p @ s for p in (np.exp(s @ theta - log_z), np.exp(-s @ theta) / np.exp(-s @ theta).sum()))
    if of_data:  # of the model, so that the moments are nearly its own
        engine = replace(engine, states=Enumeration().sample(model, theta, None, 4096, rng))
    plan, is_exact = engine.prepare(model), engine.kind is Kind.EXACT
    if LOG_Z in engine.answers and not of_data:
        gap = engine.infer(model, theta, plan, LOG_Z, engine.start(model, rng)).log_z - log_z
        assert abs(gap) < (1e-9 if is_exact else 0.25)
        assert gap < 1e-9 or engine.kind is not Kind.LOWER
    if MOMENTS in engine.answers:
        state = engine.start(model, rng)
        for _ in range(20):  # of persistent chains
            found = engine.infer(model, theta, plan, MOMENTS, state)
            state = found.state
        found = found.moments
        gap = np.abs(found - moments).max()
        assert gap < (1e-9 if is_exact else 0.25)
        assert np.abs(found - others).max() > gap or engine.kind is Kind.LOWER  # which may take nodes for independent
    if SAMPLE in engine.answers:
        drawn = np.array([model.statistics(x[None]) for x in engine.sample(model, theta, plan, 2000, rng)])[:, None]
        assert_mean(drawn, moments)
        assert_other_mean(drawn, others)


# ---- pair marginals


def odds(walk, model, e):
    """Log odds of the categories of edge e in the model without it, as scans compute them."""
    if isinstance(walk, ExactWalk):
        own = slice(e * model.n_parameters, (e + 1) * model.n_parameters)
        return log_odds(walk.memory.moments[own], walk.theta[own])
    if isinstance(walk, TwoStateWalk):
        return edge_moment(walk._graph, walk._unpacked, e)[0]
    q, _ = edge_categories(walk._graph, walk._unpacked, e)
    return np.log(q[1:] / q[0]) - walk._unpacked.potentials[e]


@pytest.mark.parametrize("name", MARGINALS)
def test_odds_of_every_edge_are_those_of_enumeration(name, rng):
    """The log odds nu that a scan finds: exact, or as by that many independent particles."""
    marginals = MARGINALS[name]
    model, s = marginals.model, statistics(marginals.model)
    r, p = model.n_edges, model.n_parameters
    theta = rng.normal(0, 0.2, model.n_features)
    walk = marginals.thaw(marginals.start(theta, rng), theta, np.full(model.n_features, 0.5), float(N))
    walk.mix(rng)
    weight, found = np.exp(s @ theta), Comparison()
    for e in range(r):
        q = (weight @ s / weight.sum())[e * p : e * p + p]
        truth = np.log(q / (1 - q.sum())) - theta[e * p : e * p + p]
        error = 0 if isinstance(walk, ExactWalk) else np.sqrt((1 / q + 1 / (1 - q.sum())) / 4096)
        found.estimates(odds(walk, model, e), truth, error, bias=1e-9)
    assert found.holds
    assert same(walk.freeze(), walk.freeze())


# ---- kernels


def same(a, b):
    """Whether two States hold the same."""
    one, other = {}, {}
    return flatten(a, "s", one, {"tests"}) == flatten(b, "s", other, {"tests"}) and all(
        np.array_equal(one[k], other[k]) for k in one
    )


@pytest.mark.parametrize("name", KERNELS)
def test_a_step_depends_on_state_and_generator_alone(name):
    """The same again from a copy, from a State kept and read back; the State given stays as it was.

    Persistent chains are advanced in place, as a copy costs a tenth of a sweep and more.
    """
    kernel = KERNELS[name]()
    state = kernel.init(np.random.default_rng(1))
    kept, arrays = copy.deepcopy(state), {}
    spec = flatten(copy.deepcopy(state), "state", arrays, set())
    new, info = kernel.step(np.random.default_rng(2), state)
    assert same(state, kept) == (name not in CHAINS_IN_PLACE)
    for start in (copy.deepcopy(kept), copy.deepcopy(unflatten(spec, arrays, set()))):
        again, told = KERNELS[name]().step(np.random.default_rng(2), start)
        assert same(new, again)
        assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(info, told, strict=True))
    other, _ = kernel.step(np.random.default_rng(3), unflatten(spec, arrays, set()))
    assert not same(new, other)


@pytest.mark.parametrize("name", KERNELS)
def test_chains_in_threads_have_the_draws_of_one_after_the_other(name):
    """Chains of one kernel share nothing that a step changes; control: with another seed there are other draws."""
    options = {"n_draws": 2, "n_warmup": 1, "n_chains": 2, "progress": False}
    one, threads, other = (
        run.sample(KERNELS[name](), random_state=seed, n_jobs=n_jobs, **options).values
        for seed, n_jobs in ((3, 1), (3, 2), (4, 1))
    )
    assert all(np.array_equal(one[k], threads[k], equal_nan=True) for k in one)
    assert not all(np.array_equal(one[k], other[k], equal_nan=True) for k in one)


@pytest.mark.parametrize("name", KERNELS)
def test_info_has_the_dimensions_that_are_declared(name):
    kernel = KERNELS[name]()
    draws = run.sample(kernel, n_draws=2, n_warmup=0, n_chains=1, random_state=1, progress=False)
    assert set(draws.values) == set(kernel.dims)
    sizes = {}
    for field, dims in kernel.dims.items():
        shape = draws.values[field].shape[2:]
        assert len(shape) == len(dims)
        for dim, size in zip(dims, shape, strict=True):
            assert sizes.setdefault(dim, size) == size
