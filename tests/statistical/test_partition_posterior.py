"""Samplers of groups against the exact posterior over all partitions of a few edges."""

import numpy as np
import pytest
from scipy.special import betaln, gammaln, roots_legendre

from bayesmrf import graphs, partitions
from bayesmrf.base import Inference
from bayesmrf.engines import Elimination
from bayesmrf.learning.maximum_likelihood import bound
from bayesmrf.learning.persistent import PersistentMLE
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import AuxiliaryParticles
from bayesmrf.models import Agreement
from bayesmrf.posterior.groups.kernels import exact_groups
from bayesmrf.priors import Beta, DirichletProcess
from bayesmrf.published.auxiliary_particles import GroupedAuxiliaryVariable
from bayesmrf.published.stripped_beta import GroupedStrippedBeta
from bayesmrf.published.tree import GroupedTree
from bayesmrf.runs import run
from tests.long import few
from tests.oracle.bounds import Comparison


def log_crp(labels, alpha):
    sizes = np.bincount(labels)
    r = len(labels)
    return len(sizes) * np.log(alpha) + gammaln(sizes).sum() - (gammaln(alpha + r) - gammaln(alpha))


def tree_posterior(successes, n, alpha, a=1.0, b=1.0):
    """Partition probabilities and mean agreements on a forest, in closed form."""
    found, means = [], []
    for labels in partitions.set_partitions(len(successes)):
        s = np.bincount(labels, successes)
        m = np.bincount(labels) * n
        found.append(log_crp(labels, alpha) + (betaln(a + s, b + m - s) - betaln(a, b)).sum())
        means.append(((a + s) / (a + b + m))[labels])
    p = np.exp(np.array(found) - max(found))
    p /= p.sum()
    return p, p @ np.array(means)


def loop_posterior(successes, n, alpha, points=40):
    """The same on a cycle, where Z = 1 + prod (2 theta_c - 1), by Gauss-Legendre quadrature over the groups' values."""
    x, w = roots_legendre(points)
    x, w = (x + 1) / 2, w / 2
    found, means = [], []
    for labels in partitions.set_partitions(len(successes)):
        k = labels.max() + 1
        s, m = np.bincount(labels, successes), np.bincount(labels)
        shape = [[-1 if j == c else 1 for j in range(k)] for c in range(k)]
        log_f, product = np.zeros((1,) * k), np.ones((1,) * k)
        for c in range(k):
            f = np.log(w) + s[c] * np.log(x) + (m[c] * n - s[c]) * np.log1p(-x)
            log_f = log_f + f.reshape(shape[c])
            product = product * ((2 * x - 1) ** m[c]).reshape(shape[c])
        log_f = log_f - n * np.log1p(product)
        top = log_f.max()
        f = np.exp(log_f - top)
        found.append(log_crp(labels, alpha) + top + np.log(f.sum()))
        values = np.array([(f * x.reshape(shape[c])).sum() / f.sum() for c in range(k)])
        means.append(values[labels])
    p = np.exp(np.array(found) - max(found))
    p /= p.sum()
    return p, p @ np.array(means)


def compare(kernel, p, means, rng, n_chains=128, n_draws=150, n_warmup=30):
    return compared(draws_of(kernel, rng, n_chains, n_draws, n_warmup), p, means)


def draws_of(kernel, rng, n_chains=128, n_draws=150, n_warmup=30):
    options = {"n_draws": n_draws, "n_warmup": n_warmup, "n_chains": n_chains, "progress": False}
    return run.sample(kernel, random_state=rng, **options).values


def compared(draws, p, means):
    """All partitions that are not rare, and the posterior mean agreements, over independent chains."""
    r = len(means)
    code = {tuple(labels): i for i, labels in enumerate(partitions.set_partitions(r))}
    index = np.array([[code[tuple(g)] for g in chain] for chain in draws["groups"]])
    common = np.flatnonzero(p > 0.02)
    found = Comparison().shares(index[..., None] == common, p[common])
    found.shares(np.isin(index, common), p[common].sum())
    return found.means(1 / (1 + np.exp(-draws["theta"][:, :, :r])), means)


def tied_data(model, n, rng):
    """Statistics of n states of a model with two distinct strengths, drawn exactly."""
    engine = Elimination()
    theta = np.where(np.arange(model.n_edges) % 2 == 0, 1.6, -0.4)
    states = engine.sample(model, theta, engine.prepare(model), n, rng)
    return model.statistics(states)


def auxiliary_variable(likelihood, prior, means):
    """The exact chain; any reference is valid, and one where the posterior is sticks least."""
    model = likelihood.model
    persistent = PersistentMLE(model, likelihood.s_bar, 3.0)
    reference = np.log(means) - np.log1p(-means)
    return GroupedAuxiliaryVariable(
        likelihood,
        prior,
        reference,
        persistent,
        AuxiliaryParticles(n_proposals=2, sigma_q=0.25, n_walk=3, restart=False),
    )


# Moeller's ratio is accepted rarely where the data are many, and a chain that sticks gives scores with heavy tails.
N_SAMPLES = {"tree": 25, "exact": 25, "stripped-beta": 25, "auxiliary-variable": 3}
LENGTH = {
    "exact": {"n_chains": 64, "n_draws": 100},
    "tree": {"n_chains": 64, "n_draws": 100},
    "stripped-beta": {"n_chains": 64, "n_draws": 100},
    "auxiliary-variable": {"n_chains": 48, "n_draws": 120, "n_warmup": 50},
}

TREE = graphs.Graph(6, np.array([[0, 1], [1, 2], [1, 3], [3, 4], [3, 5]]))


def tree_kernel(method, s_bar, n, prior, means):
    model = Agreement(TREE)
    mle = np.log(np.clip(s_bar, 0.5 / n, 1 - 0.5 / n) / np.clip(1 - s_bar, 0.5 / n, 1 - 0.5 / n))
    persistent = PersistentMLE(model, s_bar, bound(n))
    likelihood = Likelihood(model, s_bar, n, Elimination())
    return {
        "tree": lambda: GroupedTree(TREE, np.rint(n * s_bar), n, prior),
        "exact": lambda: exact_groups(likelihood, prior, mle),
        "stripped-beta": lambda: GroupedStrippedBeta(mle, persistent, n, prior),
        "auxiliary-variable": lambda: auxiliary_variable(likelihood, prior, means),
    }[method]()


@pytest.mark.parametrize("method", few(["tree", "exact", "stripped-beta", "auxiliary-variable"], "auxiliary-variable"))
def test_tree_partitions(method, rng):
    """Control: another concentration."""
    n, prior = N_SAMPLES[method], DirichletProcess(0.8, Beta(1.5, 0.7))
    s_bar = tied_data(Agreement(TREE), n, rng)
    p, means = tree_posterior(np.rint(n * s_bar), n, 0.8, 1.5, 0.7)
    assert p.sum() == pytest.approx(1)
    draws = draws_of(tree_kernel(method, s_bar, n, prior, means), rng, **LENGTH[method])
    assert compared(draws, p, means).holds
    assert not compared(draws, *tree_posterior(np.rint(n * s_bar), n, 8.0, 1.5, 0.7)).holds


LOOP = graphs.Graph(4, np.array([[0, 1], [0, 2], [1, 3], [2, 3]]))  # the 2 x 2 grid


class WithoutTheRest(Elimination):
    """Elimination that says the ends of every edge are even but for the edge itself: eta = 1/2."""

    def infer(self, model, theta, plan, want="moments", state=None):
        found = super().infer(model, theta, plan, want, state)
        moments = None if found.moments is None else 1 / (1 + np.exp(-theta))
        return Inference(log_z=found.log_z, moments=moments)


def loop_kernel(method, s_bar, n, prior, means, engine=None):
    model = Agreement(LOOP)
    likelihood = Likelihood(model, s_bar, n, engine or Elimination())
    if method == "exact":
        return exact_groups(likelihood, prior, np.zeros(4))
    return auxiliary_variable(likelihood, prior, means)


@pytest.mark.parametrize("method", ["exact", "auxiliary-variable"])
def test_loop_partitions(method, rng):
    n = N_SAMPLES[method]
    s_bar = tied_data(Agreement(LOOP), n, rng)
    p, means = loop_posterior(np.rint(n * s_bar), n, 1.0)
    kernel = loop_kernel(method, s_bar, n, DirichletProcess(1.0), means)
    assert compare(kernel, p, means, rng, **LENGTH.get(method, {})).holds


def test_loop_quadrature_agrees_with_the_tree_where_the_loop_is_cut():
    # An edge that is ignored (n = 0) leaves the prior on partitions.
    p, means = loop_posterior(np.zeros(4), 0, 1.0)
    expected = np.exp([log_crp(labels, 1.0) for labels in partitions.set_partitions(4)])
    np.testing.assert_allclose(p, expected, rtol=1e-10)
    np.testing.assert_allclose(means, 0.5, rtol=1e-10)


def test_loop_partitions_eta_one_half_is_caught(rng):
    n, s_bar = 25, np.array([0.72, 0.4, 0.96, 0.16])  # other data may tell less
    p, means = loop_posterior(np.rint(n * s_bar), n, 1.0)
    kernel = loop_kernel("exact", s_bar, n, DirichletProcess(1.0), means, WithoutTheRest())
    assert not compare(kernel, p, means, rng, n_chains=32, n_draws=60, n_warmup=20).holds


def test_all_calls_of_the_engine_are_counted(rng, monkeypatch):
    """Also those for ends that always agree, whose moments round to 1."""
    model, calls, infer = Agreement(LOOP), [], Elimination.infer
    s_bar, start = np.array([1.0, 0.6, 0.5, 0.7]), np.array([20.0, 0.4, 0.0, 0.8])
    kernel = exact_groups(Likelihood(model, s_bar, 1e8, Elimination()), DirichletProcess(1.0), start, n_jumps=2)
    state = kernel.init(rng)
    monkeypatch.setattr(Elimination, "infer", lambda *args: calls.append(args) or infer(*args))
    _, info = kernel.step(rng, state)
    assert info.n_solves == len(calls) > 0


def test_auxiliary_variable_as_published_is_too_narrow(rng):
    """One edge, n = 25: the exact chain has the spread of the Beta posterior, the restarted walk that of 0.001
    sqrt(S)."""
    model, n = Agreement(graphs.path(2)), 25
    s_bar = np.array([0.6])
    exact_sd = np.sqrt(16 * 11 / (27**2 * 28))  # Beta(16, 11)
    spread = {}
    for restart, sigma_q in [(True, 0.001), (False, 0.2)]:
        kernel = GroupedAuxiliaryVariable(
            Likelihood(model, s_bar, n, Elimination()),
            DirichletProcess(1.0),
            np.log([1.5]),
            PersistentMLE(model, s_bar, bound(n)),
            AuxiliaryParticles(n_proposals=1, sigma_q=sigma_q, n_walk=20, restart=restart),
        )
        draws = run.sample(kernel, n_draws=60, n_warmup=20, n_chains=6, random_state=rng, progress=False).values
        spread[restart] = (1 / (1 + np.exp(-draws["theta"]))).std()
    assert spread[True] < 0.3 * exact_sd
    assert 0.7 * exact_sd < spread[False] < 1.4 * exact_sd
