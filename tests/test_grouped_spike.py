"""Groups and structure at once, against the exact posterior over all structures and partitions of a few edges."""

import numpy as np
from scipy.integrate import quad

from bayesmrf import graphs
from tests import grouped_spike_oracle as oracle
from tests.oracle import all_states
from tests.test_partition_posterior import loop_posterior

PAIRS = graphs.complete(4).edges


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
