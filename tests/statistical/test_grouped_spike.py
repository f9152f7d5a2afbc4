"""Groups and structure at once, against the exact posterior over all structures and partitions of a few edges.

Compared are the probabilities of every pair (structure, partition) that is not rare and of every edge, and posterior
means of agreements and of p0.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement
from bayesmrf.posterior.groups import items
from bayesmrf.posterior.groups import prior as group_prior
from bayesmrf.posterior.groups.kernels import exact_groups, particle_groups
from bayesmrf.priors import Beta, DirichletProcess, Gamma
from bayesmrf.runs import run
from tests.oracle import grouped_spike as oracle
from tests.oracle.bounds import Comparison
from tests.oracle.ranks import few_draws, p_value, rank
from tests.oracle.states import all_states
from tests.statistical.test_partition_posterior import loop_posterior

ENGINE = Elimination()
COMPLETE = graphs.complete(4)
PAIRS = COMPLETE.edges
TRUTH = np.array([1.2, 0, -0.5, 1.2, 0, -0.5])
N, ALPHA, DENSITY, BASE = 20, 0.8, Beta(2.0, 6.0), Beta(1.5, 0.8)
LENGTH = {"n_draws": 100, "n_warmup": 20, "n_chains": 32, "progress": False}


def counts(edges, theta, n, rng):
    """Agreements of the ends of each candidate in n states of a model on four nodes."""
    states = all_states(4)
    agrees = np.array([states[:, u] == states[:, v] for u, v in edges], dtype=float).T
    p = np.exp(agrees @ theta)
    return agrees[rng.choice(len(p), size=n, p=p / p.sum())].sum(axis=0)


def test_oracle_has_all_pairs():
    # Subsets with their partitions are the partitions of one item more: Bell numbers.
    assert [len(oracle.structures(m)) for m in range(7)] == [1, 2, 5, 15, 52, 203, 877]
    labels = oracle.structures(5)
    assert (oracle.canonical(labels) == labels).all()
    assert len({tuple(row) for row in labels}) == len(labels)
    np.testing.assert_allclose(np.exp(oracle.log_prior(labels, 0.7, (2.0, 3.0))).sum(), 1)
    np.testing.assert_allclose(np.exp(oracle.log_prior(labels, 0.7, 0.4)).sum(), 1)


def test_oracle_of_one_edge_is_an_integral():
    n, s, (a, b) = 40, 27.0, (2.0, 0.7)
    found = oracle.posterior(2, np.array([[0, 1]]), np.array([s]), n, 1.0, (5.0, 3.0), (a, b), points=30)
    density = lambda x: x ** (a - 1) * (1 - x) ** (b - 1)  # noqa: E731
    scale, _ = quad(density, 0, 1)
    # At theta = 0 both outcomes have probability 1/2.
    marginal, _ = quad(lambda x: (2 * x) ** s * (2 - 2 * x) ** (n - s) * density(x) / scale, 0, 1)
    first, _ = quad(lambda x: x * (2 * x) ** s * (2 - 2 * x) ** (n - s) * density(x) / scale, 0, 1)
    odds = 5 / 3 * marginal
    p = odds / (1 + odds)
    np.testing.assert_allclose(found.probability, [1 - p, p], rtol=1e-5)
    np.testing.assert_allclose(found.agreement, [(1 - p) / 2 + p * first / marginal], rtol=1e-5)
    np.testing.assert_allclose(found.density, (5 + p) / 9)


def test_oracle_without_a_spike_is_that_of_partitions(rng):
    edges = PAIRS[[0, 1, 4, 5]]  # a loop
    s = counts(edges, np.array([1.6, -0.4, 1.6, -0.4]), 60, rng)
    found = oracle.posterior(4, edges, s, 60, 0.8, 1.0, points=16)
    p, means = loop_posterior(s, 60, 0.8)
    whole = (found.labels >= 0).all(axis=1)
    assert found.probability[~whole].max() == 0
    np.testing.assert_allclose(found.probability[whole], p, rtol=2e-4, atol=1e-12)
    np.testing.assert_allclose(found.agreement, means, rtol=1e-4)


def test_oracle_is_as_good_as_it_says(rng):
    s = counts(PAIRS, np.array([1.2, 0, -0.5, 1.2, 0, -0.5]), 50, rng)
    coarse, fine = (oracle.posterior(4, PAIRS, s, 50, 1.0, (5.0, 5.0), points=k) for k in (9, 12))
    assert len(fine.labels) == 877
    np.testing.assert_allclose(np.exp(coarse.log_marginal - fine.log_marginal), 1, atol=5e-3)
    assert np.abs(coarse.probability - fine.probability).sum() < 1e-3
    np.testing.assert_allclose(coarse.agreement, fine.agreement, atol=1e-4)


@pytest.fixture(scope="module")
def problem(module_rng):
    """Agreements of all six pairs in N states, and the posterior of all 877 structures with their partitions."""
    s = counts(PAIRS, TRUTH, N, module_rng)
    exact = oracle.posterior(4, PAIRS, s, N, ALPHA, (DENSITY.a, DENSITY.b), (BASE.a, BASE.b))
    return s / N, exact


def exact_kernel(s_bar, n, prior, graph=COMPLETE):
    return exact_groups(Likelihood(Agreement(graph), s_bar, n, ENGINE), prior, np.zeros(graph.n_edges))


def compared(draws, exact):
    """Compare every functional that is not all but certain."""
    common = exact.probability > 0.02
    in_doubt = (exact.included > 0.02) & (exact.included < 0.98)
    p = np.concatenate([exact.probability[common], exact.included[in_doubt]])
    groups, r = draws["groups"], exact.labels.shape[1]
    there = [(groups[:, :, None] == exact.labels[common]).all(axis=-1), groups[..., in_doubt] >= 0]
    found = Comparison().shares(np.concatenate(there, axis=2), p)
    found.means(expit(draws["theta"][:, :, :r]), exact.agreement)
    return found.means(draws["density"], exact.density, least=1e-9)  # it may be fixed


PRIOR = DirichletProcess(ALPHA, BASE, DENSITY)


def test_exact(problem, rng):
    s_bar, exact = problem
    draws = run.sample(exact_kernel(s_bar, N, PRIOR), random_state=rng, **LENGTH).values
    there = draws["groups"] >= 0
    assert ((draws["theta"] == 0) == ~there).all()
    assert (draws["n_groups"] == draws["groups"].max(axis=2) + 1).all()
    assert compared(draws, exact).holds


def test_exact_with_a_fixed_density(rng):
    edges = PAIRS[[0, 1, 2, 4, 5]]
    s = counts(edges, TRUTH[[0, 1, 2, 4, 5]], N, rng)
    exact = oracle.posterior(4, edges, s, N, ALPHA, 0.3)
    kernel = exact_kernel(s / N, N, DirichletProcess(ALPHA, density=0.3), graphs.Graph(4, edges))
    draws = run.sample(kernel, random_state=rng, **LENGTH).values
    assert (draws["density"] == 0.3).all()
    assert compared(draws, exact).holds
    assert not compared(draws, oracle.posterior(4, edges, s, N, ALPHA, 0.4)).holds


def of_all_candidates(prior, n_others):
    """The restaurant's weights as if edges that are absent sat in it."""
    return np.log1p(-prior.density) - np.log(prior.density) + np.log(prior.alpha + len(PAIRS) - 1)


def of_the_mirrored_prior(rng, prior, groups):
    """p0 under Beta(b, a)."""
    return float(rng.beta(prior.density.b + (groups >= 0).sum(), prior.density.a + (groups < 0).sum()))


@pytest.mark.parametrize("broken", ["restaurant", "density"])
def test_exact_broken_is_caught(broken, problem, rng, monkeypatch):
    s_bar, exact = problem
    if broken == "restaurant":
        monkeypatch.setattr(group_prior, "log_odds_absent", of_all_candidates)
        monkeypatch.setattr(group_prior, "_log_weights", group_prior._log_weights.py_func)
        monkeypatch.setattr(items, "reassign", group_prior.reassign.py_func)
    else:
        monkeypatch.setattr(items, "draw_density", of_the_mirrored_prior)
    draws = run.sample(exact_kernel(s_bar, N, PRIOR), random_state=rng, n_jobs=1, **LENGTH).values
    assert not compared(draws, exact).holds


SHORT = LENGTH | {"n_draws": 60, "n_warmup": 15, "n_chains": 24}


def particle_kernel(s_bar, prior, sampler=None, n_particles=1024):
    """Particles drawn afresh by ``sampler`` before every use, or their own."""
    model = Agreement(COMPLETE)
    fed = None if sampler is None else Likelihood(model, s_bar, N, sampler)
    return particle_groups(model, s_bar, N, prior, np.zeros(6), n_particles, fed, n_jumps=3)


class AtZero(Elimination):
    """Exact samples of the model without edges."""

    def sample(self, model, theta, plan, n_samples, rng):
        return super().sample(model, 0 * theta, plan, n_samples, rng)


def test_particle_fed_by_exact_samples(problem, rng):
    s_bar, exact = problem
    assert compared(run.sample(particle_kernel(s_bar, PRIOR, ENGINE), random_state=rng, **SHORT).values, exact).holds


def test_particle_fed_by_another_model_is_caught(rng):
    s = np.array([18.0, 10, 10, 10, 10, 18])  # two edges that are all but sure
    exact = oracle.posterior(4, PAIRS, s, N, ALPHA, (DENSITY.a, DENSITY.b), (BASE.a, BASE.b), points=9)
    more = SHORT | {"n_draws": 30, "n_chains": 48}
    draws = run.sample(particle_kernel(s / N, PRIOR, AtZero()), random_state=rng, **more).values
    assert not compared(draws, exact).holds


def test_particle_fed_by_its_own_is_nearly_exact(problem, rng):
    """Inclusions within 0.03 of the exact ones, the mean number of groups within 0.05, agreements within 0.01."""
    s_bar, exact = problem
    n_groups = exact.probability @ (exact.labels.max(axis=1) + 1)

    def compare(prior):
        draws = run.sample(particle_kernel(s_bar, prior), random_state=rng, **SHORT).values
        found = Comparison().shares(draws["groups"] >= 0, exact.included, bias=0.03)
        found.means(expit(draws["theta"]), exact.agreement, bias=0.01)
        return found.means(draws["n_groups"], n_groups, bias=0.05)

    assert compare(PRIOR).holds
    assert not compare(DirichletProcess(ALPHA, BASE, Beta(20.0, 2.0))).holds


def prior_posterior(n_edges, alpha, density):
    """The prior itself in the form of a posterior."""
    labels = oracle.structures(n_edges)
    p = np.exp(oracle.log_prior(labels, alpha, density))
    included = np.full(n_edges, density[0] / sum(density))
    means = np.full(n_edges, 0.5)
    return oracle.Posterior(labels, p, np.zeros(len(p)), means, included, density[0] / sum(density))


def test_without_data_the_prior_is_recovered(rng):
    kernel = exact_kernel(np.full(4, 0.5), 0, DirichletProcess(ALPHA, density=DENSITY), graphs.cycle(4))
    draws = run.sample(kernel, random_state=rng, **LENGTH).values
    assert compared(draws, prior_posterior(4, ALPHA, (DENSITY.a, DENSITY.b))).holds
    assert not compared(draws, prior_posterior(4, ALPHA, (DENSITY.a + 1, DENSITY.b - 2))).holds


def prior_draw(n_edges, prior, rng):
    """Labels, natural parameters, p0 and alpha from the prior."""
    density = rng.beta(prior.density.a, prior.density.b)
    alpha = rng.gamma(prior.alpha.shape) / prior.alpha.rate
    sizes, labels = [], np.full(n_edges, -1)
    for i in np.flatnonzero(rng.random(n_edges) < density):
        weights = np.array([*sizes, alpha])
        labels[i] = rng.choice(len(weights), p=weights / weights.sum())
        if labels[i] == len(sizes):
            sizes.append(0)
        sizes[labels[i]] += 1
    values = rng.beta(prior.base.a, prior.base.b, size=len(sizes))
    return labels, np.append(np.log(values) - np.log1p(-values), 0.0)[labels], density, alpha


def ranks(prior, assumed, n_simulations, rng, n=20, thin=8):
    """Ranks of the first edge's theta, the number of edges and of groups, p0 and alpha; ties at random."""
    graph, out = graphs.cycle(3), []
    model = Agreement(graph)
    for _ in range(n_simulations):
        labels, theta, density, alpha = prior_draw(model.n_edges, prior, rng)
        s_bar = model.statistics(ENGINE.sample(model, theta, ENGINE.prepare(model), n, rng))
        draws = few_draws(exact_kernel(s_bar, n, assumed, graph), rng, thin)
        truth = [theta[0], (labels >= 0).sum(), labels.max() + 1, density, alpha]
        edges = (draws["groups"] >= 0).sum(axis=1)
        drawn = [draws["theta"][:, 0], edges, draws["n_groups"], draws["density"], draws["alpha"]]
        out.append(rank(np.transpose(drawn), truth, rng))
    return np.array(out)


SBC_PRIOR = DirichletProcess(Gamma(3.0, 2.0), Beta(), Beta(4.0, 3.0))


@pytest.mark.parametrize("n_simulations", [100, pytest.param(1000, marks=[pytest.mark.calibration])])
def test_ranks_are_uniform(n_simulations, rng):
    assert p_value(ranks(SBC_PRIOR, SBC_PRIOR, n_simulations, rng)) > 2e-7


def test_ranks_under_a_wrong_prior_of_the_density_are_not(rng):
    wrong = DirichletProcess(SBC_PRIOR.alpha, SBC_PRIOR.base, Beta(1.0, 12.0))
    assert p_value(ranks(SBC_PRIOR, wrong, 100, rng)) < 2e-7
