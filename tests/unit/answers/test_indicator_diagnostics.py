"""Comparisons of chains by the shares and weights of edges."""

import numpy as np
import pytest
from scipy.stats import binom

from bayesmrf.results import convergence, indicator_diagnostics
from bayesmrf.results.indicator_diagnostics import shares_that_differ, weights_that_differ
from tests.helpers.posterior_tree import columns, structure_tree


def chains(p, tau, n_chains, n_draws, rng):
    """Indicators (n_chains, n_draws, n) with probabilities p that are Markov chains of autocorrelation times tau."""
    rate = 2 / (tau + 1)
    x, state = np.empty((n_chains, n_draws, len(p)), dtype=bool), rng.random((n_chains, len(p))) < p
    for t in range(n_draws):
        u = rng.random(state.shape)
        state = np.where(state, u >= rate * (1 - p), u < rate * p)
        x[:, t] = state
    return x


def random_edges(n, rng):
    """Probabilities from 0.0003 to 0.9997, and autocorrelation times from 1 to 200."""
    p = 10 ** rng.uniform(-3.5, 0, n)
    return np.where(rng.random(n) < 0.3, 1 - p, p), 10 ** rng.uniform(0, 2.3, n)


@pytest.mark.parametrize("ignores", ["", "autocorrelation"])
def test_false_alarms_of_a_family(rng, monkeypatch, ignores):
    """In 120 runs of 60 edges whose chains agree; the control takes draws as independent."""
    rate = 0.05
    monkeypatch.setattr(indicator_diagnostics, "FALSE_ALARMS", rate)
    if ignores:
        monkeypatch.setattr(indicator_diagnostics, "_markov_times", lambda x: np.ones(x.shape[2]))
        monkeypatch.setattr(indicator_diagnostics, "effective_size", lambda x: x.size)
    alarms = sum(bool(shares_that_differ(columns(chains(*random_edges(60, rng), 4, 400, rng)))) for _ in range(120))
    assert (alarms <= binom.isf(1e-6, 120, rate)) == (not ignores)


@pytest.mark.parametrize("tau", [1.0, 5.0])
def test_a_chain_that_never_finds_an_edge(rng, tau):
    """Three chains have it in 0.12 of their draws, one never; also the reverse."""
    x = chains(np.full(45, 0.12), np.full(45, tau), 4, 1000, rng)
    x[2, :, 7] = False
    x[:, :, 9] = ~x[:, :, 9]
    x[1, :, 9] = True
    found = shares_that_differ(columns(x))
    assert sorted((one.item, one.chain) for one in found) == [(7, 2), (9, 1)]


@pytest.mark.parametrize("differ", [False, True])
def test_weights_of_a_rare_edge(rng, differ):
    x = chains(np.full(20, 0.06), np.full(20, 3.0), 4, 1000, rng)
    visit = np.cumsum(np.diff(x, axis=1, prepend=False) & x, axis=1)
    weights = np.where(x, rng.standard_normal(visit.max() + 1)[visit], 0)  # slow: one value for a visit
    if differ:
        weights[3, :, 4] = np.where(x[3, :, 4], 3 + weights[3, :, 4], 0)
    found = weights_that_differ(weights, range(20))
    assert [(one.item, one.chain) for one in found] == [(4, 3)] * differ


def with_edges(included, rng):
    """A posterior with these edges, and independent draws of everything else."""
    tree = structure_tree(rng, n_chains=len(included), n_draws=included.shape[1])
    theta = np.array(tree["posterior"]["theta"].values)
    theta[:, :, :10] = np.where(included, rng.standard_normal(included.shape), 0)
    tree["posterior"]["theta"].values = theta
    tree["posterior"]["included"].values = included.astype(np.int8)
    return tree


def test_the_verdict_on_a_chain_without_an_edge(rng):
    """R-hat is below 1.05, and the chain of zeros was called converged."""
    x = chains(np.full(10, 0.12), np.full(10, 3.0), 4, 1000, rng)
    assert convergence.verdict(with_edges(x, rng)).grade in ("good", "fair")
    x[3, :, 2] = False
    tree = with_edges(x, rng)
    found = convergence.verdict(tree)
    assert convergence.diagnostics(tree, None)["r_hat"].max() < 1.05
    assert found.grade == "bad"
    assert found.sentence.startswith("Not converged: the chains disagree about included[")
    assert ", 0;" in found.sentence
