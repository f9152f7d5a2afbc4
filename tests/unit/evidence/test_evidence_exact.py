"""Exact likelihoods of many parameters at once, and evidence in closed form."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import betaln

from bayesmrf import graphs, threads
from bayesmrf.errors import OptionError, TooWideError
from bayesmrf.evidence import conjugate as conjugate_module
from bayesmrf.evidence import rbm_exact
from bayesmrf.evidence import target as target_module
from bayesmrf.evidence.conjugate import Conjugate
from bayesmrf.evidence.laplace import Laplace
from bayesmrf.evidence.pairwise_target import PairwiseTarget
from bayesmrf.evidence.rbm_exact import rbm_log_likelihoods
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.evidence.sampled import SampledPosterior
from bayesmrf.evidence.target import Target
from bayesmrf.models import Agreement, Boltzmann, Ising, RestrictedBoltzmann
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.priors import LogisticBeta, Normal
from tests.oracle import evidence as oracle
from tests.oracle.evidence import TINY, machine_likelihood, rows, target_of

# ---- likelihoods of many parameters at once


@pytest.mark.parametrize("name", TINY)
def test_likelihood_and_gradient_are_those_of_enumeration(name, rng):
    target = TINY[name](rng)
    thetas = rng.normal(0, 1.5, (7, target.n_features))
    values, gradients = target.log_likelihoods(thetas)
    np.testing.assert_allclose(values, oracle.log_likelihoods(target, thetas), rtol=1e-12)
    steps = 1e-4 * np.eye(target.n_features)
    slopes = [oracle.log_likelihoods(target, thetas + h) - oracle.log_likelihoods(target, thetas - h) for h in steps]
    np.testing.assert_allclose(gradients, np.array(slopes).T / 2e-4, atol=1e-5)


@pytest.mark.parametrize("size", [(1, 1), (5, 3), (3, 7), (12, 10), (11, 13), (700, 2)])
@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_batches_of_machines(size, scale, rng):
    """Against the model itself: many blocks of states, rows of more than 512 units, fields that saturate."""
    model = RestrictedBoltzmann(*size)
    states, weights = rows(40, size[0], rng), rng.uniform(0.5, 3, 40)
    thetas = rng.normal(0, scale, (5, model.n_features))
    values, gradients = rbm_log_likelihoods(model, thetas, states, weights)
    for theta, value, gradient in zip(thetas, values, gradients, strict=True):
        expected = machine_likelihood(model, theta, states, weights)
        assert value == pytest.approx(expected[0], rel=1e-11)
        np.testing.assert_allclose(gradient, expected[1], atol=1e-10 * weights.sum())


def test_threads_change_nothing(rng, monkeypatch):
    model = RestrictedBoltzmann(6, 4)
    states, weights, thetas = rows(40, 6, rng), np.ones(40), rng.normal(size=(9, model.n_features))
    one = rbm_log_likelihoods(model, thetas, states, weights)
    monkeypatch.setattr(rbm_exact, "_WORTH", 1)
    monkeypatch.setattr(threads, "cpu_count", lambda: 4)
    for a, b in zip(one, rbm_log_likelihoods(model, thetas, states, weights), strict=True):
        np.testing.assert_array_equal(a, b)


def test_values_do_not_depend_on_the_distance_of_arrays_in_memory(rng):
    """A compiled loop that sums and writes is vectorized only where arrays are far apart, and rounds otherwise."""
    d, k = 6, 3
    states, n = rows(9, d, rng).astype(float), d * k + d + k
    for theta in 3 * rng.normal(size=(40, n)):
        found = set()
        for gap in range(0, 64, 3):
            memory, value = np.zeros(200), np.empty(1)
            thetas, gradient = memory[:n], memory[n + gap : 2 * n + gap]
            thetas[:] = theta
            rbm_exact._log_likelihoods(thetas[None], states, np.ones(9), d, k, value, gradient[None])
            found.add((value.tobytes(), gradient.tobytes()))
        assert len(found) == 1


def test_compiled_is_python(rng, monkeypatch):
    """And blocks of two states give the same as one block."""
    d, k = 4, 3
    states, weights = rows(9, d, rng).astype(float), rng.uniform(1, 2, 9)
    thetas, found = rng.normal(size=(2, d * k + d + k)), []
    for function in (rbm_exact._log_likelihoods, rbm_exact._log_likelihoods.py_func):
        values, gradients = np.empty(2), np.empty_like(thetas)
        function(thetas, states, weights, d, k, values, gradients)
        found.append(np.column_stack([values, gradients]))
        monkeypatch.setattr(rbm_exact, "_BLOCK", 8)
    np.testing.assert_allclose(*found, atol=1e-11)


@pytest.mark.parametrize("name", TINY)
def test_rows_are_prepared_once_and_sums_are_those_of_the_rows(name, rng, monkeypatch):
    """In blocks of any size, kept or not."""
    target, calls = TINY[name](rng), []
    theta, n = rng.normal(size=target.n_features), len(target.states)
    wanted = target.given(theta, target.prepare(target.states))
    made = type(target).prepare

    def prepare(self, states):
        calls.append(len(states) * (states.dtype != np.float64))  # of a machine's floats only views are taken
        return made(self, states)

    monkeypatch.setattr(type(target), "prepare", prepare)
    for size, kept in ((n, True), (2, True), (1, False)):
        monkeypatch.setattr(Target, "rows_at_once", property(lambda _, size=size: size))
        monkeypatch.setattr(PairwiseTarget, "rows_at_once", Target.rows_at_once)
        monkeypatch.setattr(target_module, "_KEPT", 2**24 if kept else 0)
        again = replace(target)  # forgets what it knows
        calls.clear()
        for _ in range(5):
            value, statistics = again.sums(theta)
            assert again.positive(theta) == pytest.approx(value)
        assert value == pytest.approx(target.weights @ wanted.log_weights)
        np.testing.assert_allclose(statistics, target.weights @ wanted.mean(), atol=1e-9)
        np.testing.assert_allclose(statistics, wanted.sum(target.weights), atol=1e-9)
        # Without hidden nodes the sums are the same at any theta.
        once = kept or not target.has_hidden or isinstance(target, RBMTarget)
        assert sum(calls) == (1 if once else 10) * n


def test_parameters_of_which_features_depend_on_sums(rng):
    """The evidence under a linear map, by quadrature: a baseline and the difference of two edges, and tied fields."""
    matrix = [[1, 0.5, 0], [1, -0.5, 0], [0, 0, 1], [0, 0, 1], [0, 0, -1]]
    states = rows(40, 3, rng)
    states[:30, 0], states[:30, 2] = states[:30, 1], 1 - states[:30, 1]  # the two edges differ, whatever the seed
    target = target_of(Boltzmann(graphs.path(3)), states, linear=LinearMap.of(matrix, "abc"))
    thetas = rng.normal(size=(5, 3))
    values, gradients = target.log_likelihoods(thetas)
    np.testing.assert_allclose(values, oracle.log_likelihoods(target, thetas), rtol=1e-12)
    for theta, value, gradient in zip(thetas, values, gradients, strict=True):
        one = Target.log_likelihood(target, theta)
        assert one[0] == pytest.approx(value)
        np.testing.assert_allclose(one[1], gradient, atol=1e-9)
    found = Laplace()(target, rng).parts
    error = 6 * found["importance_error"]
    assert abs(found["importance_sampling"] - oracle.log_evidence(target, rng)) < error
    other = replace(target, linear=LinearMap.of(np.abs(matrix), "abc"))
    assert abs(found["importance_sampling"] - oracle.log_evidence(other, rng)) > error  # control: another map
    with pytest.raises(OptionError, match="features depend on sums of them"):
        Conjugate()(target_of(Agreement(graphs.path(3)), rows(9, 3, rng), linear=LinearMap.of([[1], [2]], "a")), rng)


@pytest.mark.parametrize("n_edges", [12, 66])
@pytest.mark.parametrize("model", [Agreement, Boltzmann, Ising])
def test_sums_without_a_table_of_features(model, n_edges, rng):
    """Of few edges one by one, of many by products of matrices."""
    pairs = np.stack(np.triu_indices(12, 1), axis=1)
    field = model(graphs.Graph(12, rng.permutation(pairs)[:n_edges]))
    target = target_of(field, rows(50, 12, rng))
    theta, x = rng.normal(size=target.n_features), 2.0 * target.states - 1
    given, table = target.given(theta, x), target._features(x)
    assert given._is_dense == (n_edges == 66)
    np.testing.assert_allclose(given.log_weights, table @ theta, atol=1e-9)
    np.testing.assert_allclose(given.sum(target.weights), target.weights @ table, atol=1e-9)
    mean, square = (np.average(t, axis=0, weights=target.weights) for t in (table, table**2))
    np.testing.assert_allclose(target._spread(), square - mean**2, atol=1e-9)


def test_no_table_of_the_features_of_the_rows(rng, monkeypatch):
    """That of 16,000 rows of a complete graph on 100 nodes has 646 MB; only sampled states have a table."""
    n, d, sizes, features = 16_000, 100, [], PairwiseTarget._features
    monkeypatch.setattr(PairwiseTarget, "_features", lambda of, x: sizes.append(len(x)) or features(of, x))
    target = target_of(Boltzmann(graphs.complete(d)), rows(n, d, rng))
    table = 8 * len(target.states) * target.n_features
    target.climb(rng, 1)  # compiles
    tracemalloc.start()
    theta = replace(target).climb(rng, 2)
    states = SampledPosterior.draw(target, theta, 1000, rng)
    states.slope(theta)
    assert max(sizes, default=0) <= 1000
    peak = tracemalloc.get_traced_memory()[1]
    assert np.zeros(table // 8).nbytes == table
    assert tracemalloc.get_traced_memory()[1] > table  # control: the table would be seen
    tracemalloc.stop()
    assert peak < table / 3


@pytest.mark.parametrize("hidden", [0, 1])
def test_batches_of_pairwise_fields(hidden, rng):
    """Few nodes by the sum, more by elimination: as one by one."""
    for n in (5, 11):
        target = target_of(Ising(graphs.path(n)), rows(20, n - hidden, rng), n_hidden=hidden)
        thetas = rng.normal(size=(3, target.n_features))
        for a, b in zip(target.log_likelihoods(thetas), Target.log_likelihoods(target, thetas), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-9)


def test_wide_machines_are_refused(rng):
    target = target_of(RestrictedBoltzmann(15, 20), rows(5, 15, rng))
    with pytest.raises(TooWideError, match=r"2\^15 = 32768 terms, more than the 2\^14 allowed; use method='laplace'"):
        target.log_likelihoods(np.zeros((2, target.n_features)))


# ---- conjugate

EMPTY = graphs.from_edges([], "abc")
CLOSED = {
    "tree": (Agreement(graphs.path(4)), LogisticBeta(0.7, 2.0), {}),
    "normal tree": (Agreement(graphs.path(4)), Normal(2.0), {}),
    "ising tree": (Ising(graphs.path(3), fields=False), LogisticBeta(0.7, 2.0), {}),
    "two trees": (Agreement(graphs.from_edges([("a", "b")], "abcd")), Normal(1.0), {}),
    "nodes": (Boltzmann(EMPTY), LogisticBeta(3.0, 1.2), {}),
    "normal nodes": (Ising(EMPTY), Normal(np.array([0.5, 1.0, 2.0])), {}),
    "tied": (Agreement(graphs.path(4)), LogisticBeta(2.0, 1.0), {"linear": LinearMap.tied([0, 1, 0], "ab")}),
}


@pytest.mark.parametrize("name", CLOSED)
def test_conjugate_is_quadrature(name, rng):
    model, prior, options = CLOSED[name]
    target = target_of(model, rows(int(rng.integers(1, 60)), model.graph.n_nodes, rng), prior, **options)
    found = Conjugate()(target, rng)
    truth = oracle.log_evidence(target, rng)
    assert found.log_evidence == pytest.approx(truth, abs=oracle.PRECISION)
    assert found.log_evidence == pytest.approx(found.parts["integrals"] + found.parts["free_signs"])
    assert (found.standard_error, found.method, found.status) == (0, "conjugate", "")
    # One observation more costs what it was not foreseen; a prior without its constant integrates to something else.
    more = replace(target, weights=target.weights + (np.arange(len(target.weights)) == 0))
    assert abs(Conjugate()(more, rng).log_evidence - truth) > 1e-2
    assert abs(found.log_evidence - prior.log_constant(target.n_features) - truth) > 1e-2


def test_other_scales_of_the_prior(rng):
    for name in ("normal tree", "normal nodes"):
        model, prior, options = CLOSED[name]
        target = target_of(model, rows(40, model.graph.n_nodes, rng), prior, **options)
        found = Conjugate()(target, rng)
        for part, factor in (("at_half_prior_scale", 0.5), ("at_double_prior_scale", 2.0)):
            other = replace(target, prior=Normal(np.multiply(factor, prior.scale)))
            assert found.parts[part] == pytest.approx(oracle.log_evidence(other, rng), abs=oracle.PRECISION)
            assert found.parts[part] != pytest.approx(found.log_evidence, abs=1e-2)
    beta = Conjugate()(target_of(Boltzmann(EMPTY), rows(9, 3, rng), LogisticBeta(1.0, 1.0)), rng)
    assert set(beta.parts) == {"integrals", "free_signs"}


@pytest.mark.parametrize("a", [0.05, 1.0, 30.0])
def test_quadrature_is_the_closed_form(a):
    """From one trial to a million, all successes and none."""
    trials = np.array([1.0, 30.0, 1e6, 1e6, 1e6])
    successes = np.array([1.0, 7.5, 0.0, 1e6, 3e5])
    prior = LogisticBeta(a, 2.0)
    found = conjugate_module._quadrature(1.0, successes, trials, prior) + prior.log_constant(1)
    expected = betaln(a + successes, 2 + trials - successes) - betaln(a, 2)
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_nothing_to_integrate(rng):
    found = Conjugate()(target_of(Agreement(EMPTY), rows(9, 3, rng)), rng)
    assert found.log_evidence == pytest.approx(-27 * np.log(2))


def test_conjugate_refuses_the_rest(rng):
    refused = {
        "hidden units make them dependent": [TINY["rbm 2x1"](rng), TINY["hidden node"](rng)],
        "the thresholds of a node depend on each other": [TINY["ordinal"](rng)],
        "the nodes have both fields and edges": [TINY["pair"](rng), TINY["tied"](rng)],
        "the graph has a cycle": [TINY["triangle"](rng)],
        "an edge feature is not an agreement": [target_of(Boltzmann(graphs.path(2), fields=False), rows(9, 2, rng))],
    }
    for reason, targets in refused.items():
        for target in targets:
            with pytest.raises(OptionError, match=f"{reason}.*; use .*method='ais' or method='laplace'") as told:
                Conjugate()(target, rng)
            # Without edges and fields thresholds depend on each other as much.
            assert ("without edges" in str(told.value)) == ("thresholds" not in reason)
