"""Splits and merges, and transfers of single items, leave the exact posterior over all partitions invariant, whatever
they propose by.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss

from bayesmrf import graphs, partitions
from bayesmrf.models import Agreement
from bayesmrf.posterior.groups.dirichlet_process import GROUPED_DIMS, GroupedInfo, Grouping, compact
from bayesmrf.posterior.groups.moves.fits import Parabolas, Trials
from bayesmrf.posterior.groups.moves.split_merge import JOIN, LEAVE, MERGE, NONE, SPLIT, apply, propose, shifts
from bayesmrf.posterior.groups.moves.transfers import propose_transfer
from tests.long import LONG
from tests.statistical.test_partition_posterior import (
    LOOP,
    TREE,
    compare,
    log_crp,
    loop_posterior,
    tied_data,
    tree_posterior,
)

N, N_TRIES = 25, 10
TRANSFERS = 0.85  # share of the tries: splits and merges, which are right, make up for errors of transfers


@dataclass(frozen=True, eq=False)
class Jumps:
    """Splits and merges of ``r`` items, and nothing else but, with ``redraw``, draws of the values of all groups."""

    r: int
    log_likelihood: Callable[[np.ndarray], float]
    fits: Any
    redraw: Any = None
    alpha: float = 1.0
    transfers: bool = False  # also of single items
    flaw: Callable[[Any], float] = lambda tried: 0.0  # added to the log ratio

    name = "jumps"
    dims = GROUPED_DIMS

    def init(self, rng):
        return Grouping(np.zeros(self.r, np.int32), np.zeros(1), self.alpha)

    def step(self, rng, state):
        groups, values, alpha, _ = state
        groups = groups.copy()
        values = values if self.redraw is None else self.redraw(rng, groups)
        for _ in range(N_TRIES):
            if self.transfers and rng.random() < TRANSFERS:
                tried = propose_transfer(rng, groups, values, self.fits)
            else:
                tried = propose(rng, groups, values, alpha, self.fits)
            if tried.kind == NONE:
                continue
            new_groups, new_values = apply(tried, groups.copy(), values.copy())
            ratio = self.log_likelihood(new_values[new_groups]) - self.log_likelihood(values[groups])
            if np.log(1 - rng.random()) < ratio + tried.log_ratio + self.flaw(tried):
                groups, values = new_groups, new_values
        state = compact(Grouping(groups, values, alpha))
        theta = state.values[state.groups]
        return state, GroupedInfo(theta, state.groups, len(state.values), alpha)


def agreements(graph, rng):
    """Z of a forest and of a cycle are known in closed form."""
    model = Agreement(graph)
    s = np.rint(N * tied_data(model, N, rng))
    cycle = not graph.is_forest
    p, means = loop_posterior(s, N, 1.0) if cycle else tree_posterior(s, N, 1.0, 1.5, 0.7)

    def log_likelihood(theta):
        return (s * theta - N * np.logaddexp(0, theta)).sum() - N * np.log1p(np.prod(np.tanh(theta / 2))) * cycle

    nu = 0.4 * rng.standard_normal(len(s))  # any will do
    return log_likelihood, Trials(s, nu, float(N), *((1.0, 1.0) if cycle else (1.5, 0.7))), None, p, means


def weights(_, rng, r=4, sd=0.8):
    """Correlated weights whose log likelihood is a quadratic form, with a normal base, in closed form.

    A split leaves the mean of two values, which needs another move. Modes are so near each other that many partitions
    are likely, and a move that is wrong goes far.
    """
    information = 8 * (np.eye(r) + 0.4)
    slope = information @ rng.permutation(np.linspace(-0.2, 0.7, r))

    def given(labels):
        a = np.eye(labels.max() + 1)[labels]
        covariance = np.linalg.inv(a.T @ information @ a + np.eye(a.shape[1]) / sd**2)
        return covariance @ a.T @ slope, covariance

    def redraw(rng, groups):
        return rng.multivariate_normal(*given(groups))

    p, means, (x, w) = [], [], hermegauss(40)
    for labels in partitions.set_partitions(r):
        mean, covariance = given(labels)
        evidence = 0.5 * (np.linalg.solve(covariance, mean) @ mean + np.linalg.slogdet(covariance / sd**2)[1])
        p.append(log_crp(labels, 1.0) + evidence)
        values = mean[:, None] + np.sqrt(covariance.diagonal())[:, None] * x
        means.append((1 / (1 + np.exp(-values)) @ (w / w.sum()))[labels])
    p = np.exp(np.array(p) - max(p))
    found = slope * rng.uniform(0.7, 1.3, r), information.diagonal() * rng.uniform(0.7, 1.3, r)  # any will do
    fits = Parabolas(*found, sd**-2.0, -0.5 * np.log(2 * np.pi * sd**2))

    def log_likelihood(theta):
        return slope @ theta - 0.5 * theta @ information @ theta

    return log_likelihood, fits, redraw, p / p.sum(), p @ means / p.sum()


def score(problem, graph, rng, flaw=Jumps.flaw):
    *given, p, means = problem(graph, rng)
    kernel = Jumps(len(means), *given, transfers=graph == "transfers", flaw=flaw)
    n_chains, n_draws = (96, 100) if graph == "transfers" else (48, 70)  # its flaw is smaller
    return compare(kernel, p, means, rng, n_chains=n_chains, n_draws=n_draws, n_warmup=20)


CASES = [
    pytest.param(agreements, TREE, marks=[LONG], id="tree"),
    pytest.param(agreements, LOOP, id="loop"),
    pytest.param(weights, "no transfers", id="weights"),
    pytest.param(weights, "transfers", id="transfers"),
]


@pytest.mark.parametrize(("problem", "graph"), CASES)
def test_partitions(problem, graph, rng):
    assert score(problem, graph, rng).holds


@pytest.mark.parametrize(("problem", "graph"), CASES)
def test_a_wrong_acceptance_ratio_is_caught(problem, graph, rng):
    def flaw(tried):
        if graph == "transfers":  # without the prior and the Jacobian
            return -tried.log_ratio * (tried.kind in (JOIN, LEAVE))
        return float(tried.kind)

    assert not score(problem, graph, rng, flaw).holds


def test_a_split_and_its_merge_are_inverses(rng):
    """What a split makes is a legal state with the members of one group apart, and ratios are finite."""
    r, n = 40, 200.0
    groups = np.repeat([0, 1], 20).astype(np.int32)
    values = np.array([-1.0, 1.5])
    s = rng.binomial(200, 1 / (1 + np.exp(-values[groups]))).astype(float)
    found = []
    for _ in range(300):
        tried = propose(rng, groups, values, 1.0, Trials(s, np.zeros(r), n, 1.0, 1.0))
        found.append(tried.kind)
        if tried.kind == NONE:
            continue
        assert np.isfinite(tried.log_ratio)
        new, new_values = apply(tried, groups.copy(), values.copy())
        assert len(np.unique(new)) == len(new_values) == 2 + tried.kind
        moved = new_values[new] - values[groups]
        first, second = shifts(tried)
        np.testing.assert_allclose(moved[tried.members], np.where(tried.part[tried.members] == 1, second, first))
        assert (np.delete(moved, tried.members) == 0).all()
    assert {SPLIT, MERGE} <= set(found)


def test_two_groups_in_one_come_apart(rng):
    """Hundreds of edges of two strengths, put into one group, are told apart by a split that is then all but sure."""
    r, n = 400, 1000.0
    truth = rng.integers(2, size=r)
    s = rng.binomial(1000, np.where(truth, 0.6, 0.45)).astype(float)
    groups, values = np.zeros(r, np.int32), np.array([0.1])
    for _ in range(60):
        tried = propose(rng, groups, values, 1.0, Trials(s, np.zeros(r), n, 1.0, 1.0))
        if tried.kind == SPLIT:
            new, new_values = apply(tried, groups.copy(), values.copy())
            theta, old = new_values[new], values[groups]
            gain = (s * (theta - old) - n * (np.logaddexp(0, theta) - np.logaddexp(0, old))).sum()
            same = max((new == truth).mean(), (new != truth).mean())
            if gain + tried.log_ratio > 100 and same > 0.98:
                return
    raise AssertionError("no split found the two groups")


def test_graphs_of_one_edge_have_nothing_to_split(rng):
    assert graphs.path(2).n_edges == 1
    groups, values = np.zeros(1, np.int32), np.zeros(1)
    fits = Trials(np.ones(1), np.zeros(1), 3.0, 1.0, 1.0)
    kinds = {propose(rng, groups, values, 1.0, fits).kind for _ in range(50)}
    assert kinds == {NONE}
