"""Splits and merges alone leave the exact posterior over all partitions invariant, whatever they propose by."""

from dataclasses import dataclass

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.models.agreement import Agreement
from bayesmrf.posterior.groups.dirichlet_process import GROUPED_DIMS, GroupedInfo, Grouping, compact
from bayesmrf.posterior.groups.moves.split_merge import MERGE, NONE, SPLIT, apply, propose, shifts
from tests.long import LONG
from tests.test_partition_posterior import LOOP, TREE, compare, loop_posterior, tied_data, tree_posterior

N, N_TRIES = 25, 10


@dataclass(frozen=True, eq=False)
class Jumps:
    """Splits and merges, and nothing else; Z of a forest and of a cycle are known in closed form."""

    successes: np.ndarray
    n: float
    nu: np.ndarray
    alpha: float
    base: tuple
    cycle: bool
    extra: float = 0.0  # added to the log ratio of a split

    name = "jumps"
    dims = GROUPED_DIMS

    def log_likelihood(self, theta):
        value = (self.successes * theta - self.n * np.logaddexp(0, theta)).sum()
        return value - self.n * np.log1p(np.prod(np.tanh(theta / 2))) * self.cycle

    def init(self, rng):
        r = len(self.successes)
        return Grouping(np.zeros(r, np.int32), np.zeros(1), self.alpha)

    def step(self, rng, state):
        groups, values, alpha, _ = state
        groups = groups.copy()
        for _ in range(N_TRIES):
            tried = propose(rng, groups, values, self.successes, self.nu, self.n, alpha, *self.base)
            if tried.kind == NONE:
                continue
            new_groups, new_values = apply(tried, groups.copy(), values.copy())
            ratio = self.log_likelihood(new_values[new_groups]) - self.log_likelihood(values[groups])
            if np.log(1 - rng.random()) < ratio + tried.log_ratio + self.extra * tried.kind:
                groups, values = new_groups, new_values
        state = compact(Grouping(groups, values, alpha))
        theta = state.values[state.groups]
        return state, GroupedInfo(theta, state.groups, len(state.values), alpha)


def score(graph, rng, extra=0.0):
    model = Agreement(graph)
    s = np.rint(N * tied_data(model, N, rng))
    cycle = not graph.is_forest
    if cycle:
        p, means = loop_posterior(s, N, 1.0)
    else:
        p, means = tree_posterior(s, N, 1.0, 1.5, 0.7)
    nu = 0.4 * rng.standard_normal(len(s))  # any will do
    kernel = Jumps(s, float(N), nu, 1.0, (1.0, 1.0) if cycle else (1.5, 0.7), cycle, extra)
    return compare(kernel, p, means, rng, n_chains=64, n_draws=100, n_warmup=20)


GRAPHS = [pytest.param(TREE, marks=[LONG]), LOOP]


@pytest.mark.parametrize("graph", GRAPHS, ids=["tree", "loop"])
def test_partitions(graph, rng):
    assert score(graph, rng).holds


@pytest.mark.parametrize("graph", GRAPHS, ids=["tree", "loop"])
def test_a_wrong_acceptance_ratio_is_caught(graph, rng):
    assert not score(graph, rng, extra=1.0).holds


def test_a_split_and_its_merge_are_inverses(rng):
    """What a split makes is a legal state with the members of one group apart, and ratios are finite."""
    r, n = 40, 200.0
    groups = np.repeat([0, 1], 20).astype(np.int32)
    values = np.array([-1.0, 1.5])
    s = rng.binomial(200, 1 / (1 + np.exp(-values[groups]))).astype(float)
    found = []
    for _ in range(300):
        tried = propose(rng, groups, values, s, np.zeros(r), n, 1.0, 1.0, 1.0)
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
        tried = propose(rng, groups, values, s, np.zeros(r), n, 1.0, 1.0, 1.0)
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
    kinds = {propose(rng, groups, values, np.ones(1), np.zeros(1), 3.0, 1.0, 1.0, 1.0).kind for _ in range(50)}
    assert kinds == {NONE}
