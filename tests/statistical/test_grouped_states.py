"""Groups where nodes have many states, against the exact posterior over all partitions of a few edges."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

from bayesmrf import graphs, partitions
from bayesmrf.base import Inference
from bayesmrf.engines import Elimination
from bayesmrf.errors import OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Potts, Symmetric
from bayesmrf.posterior.groups.items import base_precision
from bayesmrf.posterior.groups.kernels import exact_groups
from bayesmrf.priors import FIELD_SCALE, Beta, DirichletProcess, MultivariateNormal, Normal
from bayesmrf.runs import run
from tests.long import LONG
from tests.oracle.bounds import Comparison
from tests.oracle.grouped_states import potts_posterior, symmetric_posterior
from tests.statistical.test_partition_posterior import LOOP

ENGINE = Elimination()
TRIANGLE = graphs.cycle(3)


def drawn(model, theta, n, rng):
    """Statistics of n exact states."""
    return model.statistics(ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng))


def compare(kernel, exact, rng):
    """Compare partitions that are not rare, and the means of the parameters."""
    draws = run.sample(kernel, n_draws=80, n_warmup=40, n_chains=40, random_state=rng, progress=False).values
    labels, common = np.array(list(partitions.set_partitions(draws["groups"].shape[2]))), exact.p > 0.02
    there = (draws["groups"][:, :, None] == labels[common]).all(axis=-1)
    found = Comparison().shares(there, exact.p[common], error=exact.error[common])
    return found.means(draws["theta"] if exact.is_natural else expit(draws["theta"]), exact.means)


def potts_problem(graph, rng, n=30):
    model = Potts(graph, 3, fields=False)
    return model, drawn(model, np.where(np.arange(graph.n_edges) % 2 == 0, 1.6, -0.6), n, rng), n


@pytest.mark.parametrize("graph", [LOOP], ids=["loop"])
def test_partitions_of_potts_edges(graph, rng):
    model, s_bar, n = potts_problem(graph, rng)
    exact = potts_posterior(graph, 3, np.rint(n * s_bar), n, 0.8, 2.0, 1.0)
    kernel = exact_groups(
        Likelihood(model, s_bar, n, ENGINE), DirichletProcess(0.8, Beta(2.0, 1.0)), np.zeros(graph.n_edges)
    )
    assert compare(kernel, exact, rng).holds


class AsTwoStates(Elimination):
    """Moments as if agreement had an even chance without the edge, as it has between two states."""

    def infer(self, model, theta, plan, want="moments", state=None):
        found = super().infer(model, theta, plan, want, state)
        moments = None if found.moments is None else 1 / (1 + np.exp(-theta))
        return Inference(log_z=found.log_z, moments=moments)


def test_taking_them_for_two_states_is_caught(rng):
    model, s_bar, n = potts_problem(TRIANGLE, rng)
    exact = potts_posterior(TRIANGLE, 3, np.rint(n * s_bar), n, 1.0)
    kernel = exact_groups(Likelihood(model, s_bar, n, AsTwoStates()), DirichletProcess(1.0), np.zeros(3))
    assert not compare(kernel, exact, rng).holds


CASES = [(TRIANGLE, 2, False), pytest.param(TRIANGLE, 3, True, marks=[LONG])]  # paths: test_grouped_cells.py
COVARIANCE = np.diag([1.0, 0.5, 0.8, 1.2, 0.6])


def symmetric_problem(graph, m, fields, rng, n=40, n_groups=2):
    model = Symmetric(graph, m, fields)
    p = model.n_parameters
    while True:  # all states occur at each node: the field of one that does not has a tail as wide as its prior
        potentials = rng.normal(size=(n_groups, p))[np.arange(graph.n_edges) % n_groups]
        theta = np.concatenate([potentials.ravel(), rng.normal(0, 0.5, model.n_features - graph.n_edges * p)])
        states = ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng)
        if all((states == k).sum(axis=0).min() >= 4 for k in range(m)):
            return model, model.statistics(states), n, COVARIANCE[:p, :p] + 0.2


def symmetric_kernel(model, s_bar, n, covariance, alpha=0.8, engine=ENGINE):
    prior = DirichletProcess(alpha, MultivariateNormal(covariance))
    return exact_groups(Likelihood(model, s_bar, n, engine), prior, np.zeros(model.n_features))


@pytest.mark.parametrize(("graph", "m", "fields"), CASES)
def test_partitions_of_potentials(graph, m, fields, rng):
    model, s_bar, n, covariance = symmetric_problem(graph, m, fields, rng)
    exact = symmetric_posterior(model, s_bar, n, 0.8, covariance, FIELD_SCALE, rng)
    assert compare(symmetric_kernel(model, s_bar, n, covariance), exact, rng).holds


class Alone(Elimination):
    """Moments of each edge as if there were no others: nu = 0 but for the number of pairs of states in a category."""

    def infer(self, model, theta, plan, want="moments", state=None):
        found = super().infer(model, theta, plan, want, state)
        number = np.bincount(model.category.ravel())
        weight = number[1:] * np.exp(theta.reshape(model.n_edges, -1))
        q = weight / (number[0] + weight.sum(axis=1, keepdims=True))
        return Inference(log_z=found.log_z, moments=q.ravel())


def test_taking_potentials_for_those_of_lone_edges_is_caught(rng):
    model, _, n, covariance = symmetric_problem(TRIANGLE, 3, False, rng)
    theta = np.tile([-1.5, -1.5, 0.0, -1.5, 0.0], 3)
    s_bar = drawn(model, theta, n, rng)
    exact = symmetric_posterior(model, s_bar, n, 0.8, covariance, FIELD_SCALE, rng)
    assert not compare(symmetric_kernel(model, s_bar, n, covariance, engine=Alone()), exact, rng).holds


@LONG  # fields, and other controls: tests/statistical/test_grouped_cells.py
def test_a_wrong_base_of_potentials_is_caught(rng):
    model, s_bar, n, covariance = symmetric_problem(graphs.path(3), 3, False, rng)
    exact = symmetric_posterior(model, s_bar, n, 0.8, covariance, FIELD_SCALE, rng)
    assert not compare(symmetric_kernel(model, s_bar, n, 30 * covariance), exact, rng).holds


def test_bases_that_do_not_fit_are_refused():
    model = Symmetric(TRIANGLE, 3)
    for base, message in [
        (Beta(), "a normal prior of 5 parameters"),
        (Normal(np.ones(3)), r"base must be one scale, or one for each of 5 parameters, got .*3 scales"),
        (MultivariateNormal(np.eye(2)), r"base must be of shape 5 x 5, got .*shape 2 x 2"),
    ]:
        with pytest.raises(OptionError, match=message):
            base_precision(base, model.n_parameters)
    for covariance in (np.eye(3)[:2], -np.eye(2), [[1.0, 2.0], [0.0, 1.0]], [[np.nan]]):
        with pytest.raises(OptionError, match="covariance must be a symmetric matrix"):
            MultivariateNormal(covariance)
    precision, constant = base_precision(Normal([1.0, 2.0]), 2)
    same = base_precision(MultivariateNormal(np.diag([1.0, 4.0])), 2)
    np.testing.assert_allclose(precision, same[0])
    assert constant == pytest.approx(same[1]) == pytest.approx(-np.log(2) - np.log(2 * np.pi))


@LONG
def test_fields_of_a_potts_model(rng):
    """One edge: means of its parameter and the four fields, by importance sampling from a t at the mode."""
    model, n = Potts(graphs.path(2), 3), 60
    states = np.array([(k, j) for k in range(3) for j in range(3)])
    s = np.stack([states[:, 0] == states[:, 1], *[states[:, i] == k for i in (0, 1) for k in (1, 2)]], axis=1)
    counts = rng.multinomial(n - 18, rng.dirichlet(np.full(9, 3.0))) + 2
    s_bar = counts @ s / n

    def log_density(t):
        log_prior = -np.logaddexp(0, t[..., 0]) - np.logaddexp(0, -t[..., 0])
        log_prior = log_prior - 0.5 * (t[..., 1:] ** 2).sum(axis=-1) / FIELD_SCALE**2
        return n * (t @ s_bar - logsumexp(t @ s.T.astype(float), axis=-1)) + log_prior

    mode = minimize(lambda t: -log_density(t), np.zeros(5), method="BFGS").x
    q = np.exp(s @ mode - logsumexp(s @ mode))
    lower = np.linalg.cholesky(n * ((s.T * q) @ s - np.outer(q @ s, q @ s)) + np.eye(5) / FIELD_SCALE**2)
    z = rng.standard_normal((60_000, 5)) / np.sqrt(rng.chisquare(6, (60_000, 1)) / 6)
    draws = mode + np.linalg.solve(lower.T, z.T).T
    w = np.exp(log_density(draws) - log_density(mode) + 5.5 * np.log1p((z**2).sum(axis=1) / 6))
    w /= w.sum()
    means = w @ draws
    error = np.sqrt((w**2) @ (draws - means) ** 2)
    kernel = exact_groups(Likelihood(model, s_bar, n, ENGINE), DirichletProcess(1.0), np.zeros(5))
    found = run.sample(kernel, n_draws=150, n_warmup=40, n_chains=40, random_state=rng, progress=False).values["theta"]
    assert Comparison().means(found, means, error=error).holds
    for i in range(5):  # the precision of the comparison
        assert not Comparison().means(found[..., i], means[i] + 0.5, error=error[i]).holds
