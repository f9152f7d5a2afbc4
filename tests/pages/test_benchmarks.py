"""The plain NumPy versions in `benchmarks/` are the same algorithms as the compiled ones; traces show what changes.

Both chains start at the same state and make the same number of steps, many times over; then the law of where they are
must agree. No stationarity is needed. Replicates are independent.
"""

import importlib
import re
from itertools import islice
from typing import NamedTuple

import numpy as np
import pytest
from scipy.special import expit

from bayesmrf import graphs, partitions
from bayesmrf.engines import Elimination
from bayesmrf.errors import DivergenceError
from bayesmrf.learning.maximum_likelihood import bound, maximum_likelihood
from bayesmrf.learning.persistent import PersistentMLE
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import AuxiliaryParticles
from bayesmrf.models import Agreement
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.posterior.groups.kernels import exact_groups
from bayesmrf.priors import DirichletProcess
from bayesmrf.published.auxiliary_particles import GroupedAuxiliaryVariable
from bayesmrf.published.stripped_beta import GroupedStrippedBeta
from bayesmrf.published.tree import GroupedTree
from bayesmrf.samplers import gibbs
from benchmarks import mutations, plain, traces
from tests import ROOT
from tests.oracle.bounds import assert_estimate, assert_mean, assert_other_estimate, assert_other_mean

N_REPLICATES = 280
LOOP = graphs.grid(2, 2)
TREE = graphs.Graph(5, np.array([[0, 1], [1, 2], [1, 3], [3, 4]]))
AUXILIARY = {"n_proposals": 2, "n_walk": 5, "sigma_q": 0.05}
N_SWEEPS = 3  # few, so that their number shows


class Problem:
    """Four edges, their statistics, and the same start for both versions."""

    def __init__(self, method, rng):
        self.method = method
        self.n = 5 if method == "auxiliary-variable" else 20
        self.model = Agreement(TREE if method == "tree" else LOOP)
        engine = Elimination()
        states = engine.sample(self.model, np.array([1.6, -0.4, 1.6, -0.4]), engine.prepare(self.model), self.n, rng)
        self.s_bar = self.model.statistics(states)
        self.mle = rng.normal(0, 0.5, 4)  # any reference will do
        self.persistent = PersistentMLE(self.model, self.s_bar, bound(self.n), n_chains=64)
        self.likelihood = Likelihood(self.model, self.s_bar, self.n, engine)

    def kernel(self, alpha=1.0):
        prior = DirichletProcess(alpha)
        if self.method == "tree":
            return GroupedTree(self.model.graph, np.rint(self.n * self.s_bar), self.n, prior)
        if self.method == "exact":
            return exact_groups(self.likelihood, prior, self.mle)
        if self.method == "stripped-beta":
            return GroupedStrippedBeta(self.mle, self.persistent, self.n, prior, n_pcd=4, n_pcd_start=4)
        particles = Likelihood(self.model, self.s_bar, self.n, gibbs.Gibbs(n_sweeps=N_SWEEPS))
        return GroupedAuxiliaryVariable(
            particles, prior, self.mle, self.persistent, AuxiliaryParticles(**AUXILIARY), n_pcd=4, n_pcd_start=4
        )

    def plain(self, state, rng, alpha):
        """The plain chain from a state of the compiled one."""
        edges, s, n = self.model.graph.edges, np.rint(self.n * self.s_bar), self.n
        grouping = state.edges if self.method == "exact" else state
        start = grouping.groups.copy(), expit(grouping.values)
        if self.method == "tree":
            return plain.tree(rng, *start, s, n, alpha)
        if self.method == "exact":
            return plain.exact(rng, *start, plain.agreements(4, edges), s, n, alpha, n_points=500)
        x = gibbs.to_states(state.tied.chains, 64).T * np.float32(2) - 1
        pcd = plain.PCD(rng, edges, x, self.s_bar, bound(n))
        if self.method == "stripped-beta":
            return plain.stripped_beta(rng, *start, self.mle, n, pcd, state.tied.theta, 4, alpha)
        return plain.auxiliary_variable(
            rng, *start, self.mle, s, n, pcd, state.tied.theta,
            n_sweeps=N_SWEEPS, **AUXILIARY, n_pcd=4, alpha=alpha,
        )  # fmt: skip


def features(groups, agreement):
    """Which partition of four edges, and the agreements with their squares."""
    label = tuple(partitions.canonical(groups))
    return [label == tuple(g) for g in partitions.set_partitions(4)] + [*agreement, *agreement**2]


def differences(method, rng, plain_alpha=1.0, n_steps=2):
    """Features of ours less those of the plain version after ``n_steps`` steps, of each replicate."""
    problem = Problem(method, rng)
    kernel = problem.kernel()
    start = kernel.init(rng)
    ours, theirs = [], []
    for _ in range(N_REPLICATES):
        state = start
        if getattr(start, "tied", None) is not None:  # chains are advanced in place: new ones, for both
            state = start._replace(tied=start.tied._replace(chains=gibbs.start(64, 4, rng)))
        groups, phi = next(islice(problem.plain(state, rng, plain_alpha), n_steps - 1, None))
        theirs.append(features(groups, phi[groups]))
        for _ in range(n_steps):
            state, info = kernel.step(rng, state)
        ours.append(features(info.groups, expit(info.theta)))
    a, b = np.array(ours, dtype=float), np.array(theirs, dtype=float)
    common = (a + b).sum(axis=0) > 20
    return (a - b)[:, None, common]


METHODS = ["tree", "exact", "stripped-beta", "auxiliary-variable"]


@pytest.mark.parametrize("method", METHODS)
def test_plain_is_the_same_algorithm(method, rng):
    assert_mean(differences(method, rng), 0)


@pytest.mark.parametrize("method", METHODS)
def test_another_concentration_is_caught(method, rng):
    assert_other_mean(differences(method, rng, plain_alpha=8.0), 0)


def test_plain_eta_is_ours(rng):
    model, engine = Agreement(graphs.grid(3, 3)), Elimination()
    theta = rng.normal(0, 1.5, model.n_edges)
    found = engine.infer(model, theta, engine.prepare(model))
    agree = plain.agreements(9, model.graph.edges)
    ours = expit(np.log(found.moments) - np.log1p(-found.moments) - theta)
    theirs = np.array([plain.eta(theta, agree, c) for c in range(model.n_edges)])
    np.testing.assert_allclose(theirs, ours, rtol=1e-9)
    assert not np.allclose(theirs, found.moments, rtol=1e-3)  # the edge itself would show
    assert plain.log_z(theta, agree) == pytest.approx(found.log_z, rel=1e-12)


def test_plain_pcd_finds_the_tied_estimate(rng):
    """Moments at the average of 150 estimates are those of the data, within what one sweep of 1,024 chains can err."""
    model, engine, groups = Agreement(graphs.grid(3, 3)), Elimination(), np.arange(12) % 3
    plan = engine.prepare(model)
    s_bar = engine.infer(model, rng.normal(0, 0.7, 12), plan).moments
    pcd = plain.PCD(rng, model.graph.edges, plain.random_states(rng, 9, 1024), s_bar, 8.0)
    theta = pcd.fit(np.zeros(12), groups, 300)
    target = np.bincount(groups, s_bar)

    def total(theta):
        return np.bincount(groups, engine.infer(model, theta, plan).moments)

    agree = engine.sample(model, theta, plan, 4096, rng)[:, model.graph.edges]
    agree = agree[..., 0] == agree[..., 1]
    error = np.array([agree[:, groups == c].sum(axis=1).std() for c in range(3)]) / np.sqrt(1024)

    exact = maximum_likelihood(model, s_bar, 1e6, engine, rng, LinearMap.tied(groups, "abc")).theta
    np.testing.assert_allclose(total(exact), target, atol=1e-4)
    assert_estimate(total(theta), target, error)
    assert_other_estimate(total(theta + 0.5 * (groups == 1)), target, error)


# ---- traces


class Walk(NamedTuple):
    theta: np.ndarray


class RandomWalk:
    """A kernel of two parameters, which a test moves by one bit in one step."""

    def __init__(self, moved_in=None, n_steps=traces.N_STEPS):
        self.moved_in, self.most, self.n_steps = moved_in, n_steps, 0

    def init(self, rng):
        return Walk(np.zeros(2))

    def step(self, rng, state):
        theta = state.theta + rng.normal(size=2)
        self.n_steps += 1
        if self.n_steps > self.most:
            raise DivergenceError("theta became non-finite")
        return Walk(theta), Walk(np.nextafter(theta, 9.0) if self.n_steps == self.moved_in else theta)


def record_of(kernel):
    return {"draws": traces.recorded({"walk": lambda: traces.trace_of_kernel(kernel), "none": lambda: 1 / 0})}


def test_one_bit_of_one_draw_changes_the_trace():
    before = record_of(RandomWalk())
    said, some = traces.differences(before, record_of(RandomWalk()))
    assert (said, some) == ("draws: 2 of 2 are identical; 1 could not be recorded", False)
    for step in (1, traces.N_STEPS):
        said, some = traces.differences(before, record_of(RandomWalk(step)))
        assert some
        assert re.fullmatch(r"\ndraws: walk\n  -theta: .*\n  \+theta: .*\ndraws: 1 of 2 .*", said)


def test_draws_before_an_error_are_traced():
    first, again, moved = (traces.trace_of_kernel(RandomWalk(step, n_steps=6)) for step in (None, None, 6))
    assert first == again != moved
    assert re.fullmatch(r"theta: float64 \(6, 2\) .*\ntheta became non-finite\nstate\.theta: .*\nrandom = .*", first)


def test_traces_that_are_new_or_missing_are_told():
    before = {"fits": {"a": "1\n", "b": "2\n", "d": "4\n2\n", "e": "2\n"}}
    now = {"fits": {"b": "2\n", "c": "3\n", "d": "4\n5\n", "e": "5\n"}}
    said, some = traces.differences(before, now)
    assert some
    assert re.findall(r"fits: (.*)", said) == ["a", "d; e", "c", "1 of 5 are identical"]


def test_times_dates_versions_and_folders_are_left_out_and_other_numbers_are_not(tmp_path):
    def page(folder, date, version, seconds, mean):
        return f"{folder}/run of {date}, numpy {version}; 80 draws took {seconds} s; mean {mean}, R-hat 1.07"

    first = traces.normalised(page(tmp_path / "a", "2024-05-01T10:00:00Z", "2.4.6", 1.3, 0.25), tmp_path / "a")
    again = traces.normalised(page(tmp_path / "b", "2025-06-02T11:30:09Z", "2.5.0", 12, 0.25), tmp_path / "b")
    other = traces.normalised(page(tmp_path / "b", "2025-06-02T11:30:09Z", "2.5.0", 12, 0.26), tmp_path / "b")
    assert first == again != other


def test_type_order_and_bits_of_an_array_are_in_its_line(rng):
    x = rng.integers(0, 9, (3, 4)).astype(float)
    x[0] = np.nan, 1.0, 2.0, 3.0
    changed = (np.nextafter(x, 9.0), x[:, ::-1], x.T, x.astype(np.float32), np.where(x == 1.0, np.nan, x))
    assert len({traces.array_line(y) for y in (x, *changed)}) == 1 + len(changed)
    assert traces.array_line(x) == traces.array_line(np.where(np.isnan(x), -np.nan, x))


@pytest.mark.parametrize(("last", "code"), [("1\n", 0), ("2\n", 1)])
def test_the_exit_code_tells_whether_something_differs(last, code, tmp_path, monkeypatch):
    found = iter([{"draws": {"walk": "1\n"}}, {"draws": {"walk": last}}])
    monkeypatch.setattr(traces, "record", lambda *_: next(found))
    for option, expected in (("--record", 0), ("--compare", code)):
        monkeypatch.setattr("sys.argv", ["traces.py", option, str(tmp_path / "kept.json")])
        assert traces.main() == expected


def test_stages_that_are_timed_exist(monkeypatch):
    """Functions that a benchmark replaces by name; those of a module that has moved are not found."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    groups = importlib.import_module("groups")
    assert [name for module, name in groups.STAGES.values() if not callable(getattr(module, name, None))] == []
    assert len(groups.STAGES) > 3


def test_faults_are_all_of_a_source_and_leave_a_program():
    source = '''
def f(x, i, k=1.5):
    """Add a - b."""
    text = "a" + f"{x - 1}"
    if not text:
        raise ValueError(x + 1)
    é = -x[i] * 2
    return é - 1.0 + x.size, ["a"] + ["b"]
'''
    faults = list(mutations.faults_of("f.py", source))
    made = sorted((one.kind, source[one.start : one.end], one.text) for one in faults)
    assert made == [
        ("factor", "-x[i] * 2", "((-x[i]) / (2))"),
        ("factor", "1.0", "(2.0 * 1.0)"),
        ("index", "i", "(i - 1)"),
        ("sign", "-x[i]", "((x[i]))"),
        ("sign", "é - 1.0", "((é) + (1.0))"),
        ("sign", "é - 1.0 + x.size", "((é - 1.0) - (x.size))"),
        ("term", "-x[i] * 2", "((-x[i]))"),
        ("term", "é - 1.0", "((é))"),
        ("term", "é - 1.0 + x.size", "((é - 1.0))"),
    ]
    for one in faults:
        compile(source[: one.start] + one.text + source[one.end :], "f.py", "exec")


def test_tests_near_a_file_are_those_that_import_it():
    assert mutations.near(ROOT, "src/bayesmrf/partitions/distance.py", 1) == [
        "tests/unit/partitions/test_partitions.py"
    ]
