"""Groups from particles: the exact law where exact particles feed them, a stated bias where their own do."""

import warnings

import numpy as np
import pytest
from scipy import stats

from bayesmrf import graphs, partitions
from bayesmrf.engines import Elimination
from bayesmrf.errors import ApproximatePosteriorWarning, OptionError
from bayesmrf.estimators import GroupedMRF
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import Particle
from bayesmrf.models import Agreement
from bayesmrf.posterior.groups import scans as particle_scans
from bayesmrf.posterior.groups.dirichlet_process import open_urn
from bayesmrf.posterior.groups.kernels import particle_groups
from bayesmrf.posterior.groups.moves.values import group_counts, move_values
from bayesmrf.posterior.groups.prior import GroupPrior
from bayesmrf.posterior.groups.two_states import default_particles
from bayesmrf.priors import Beta, DirichletProcess
from bayesmrf.runs import run
from bayesmrf.states.cluster_flips import flip_clusters, flip_near
from bayesmrf.states.memory import fill_hubs, pack, refresh_graph, start_particles, unpack
from bayesmrf.states.refresh import edge_moment, move_to, refresh
from tests.long.test_calibration import prior_draw
from tests.oracle import states as oracle
from tests.oracle.bounds import Comparison, assert_estimate
from tests.oracle.ranks import few_draws, p_value, rank
from tests.statistical.test_partition_posterior import LOOP, TREE, compare, loop_posterior, tied_data, tree_posterior

ENGINE = Elimination()
PRIOR = GroupPrior(1.0, 1.0, 1.0, 1.0, 0.0, 0.0)
N = 25
SHORT = {"n_chains": 24, "n_draws": 60, "n_warmup": 15}  # a score is Student's t with 23 degrees of freedom


class AtZero(Elimination):
    """Exact samples of the wrong model: theta = 0."""

    def sample(self, model, theta, plan, n_samples, rng):
        return super().sample(model, 0 * theta, plan, n_samples, rng)


def kernel_of(graph, s_bar, n, sampler=None, alpha=1.0, n_particles=1024):
    model = Agreement(graph)
    fed = None if sampler is None else Likelihood(model, s_bar, n, sampler)
    start = np.zeros(model.n_edges)
    return particle_groups(model, s_bar, n, DirichletProcess(alpha), start, n_particles, fed, n_jumps=3)


def problem(graph, rng):
    s_bar = tied_data(Agreement(graph), N, rng)
    exact = tree_posterior if graph.is_forest else loop_posterior
    return s_bar, exact(np.rint(N * s_bar), N, 1.0)


# A loop has all that a tree has, and its rest.
GRAPHS = [pytest.param(TREE, marks=[pytest.mark.calibration]), LOOP]


@pytest.mark.parametrize("graph", GRAPHS, ids=["tree", "loop"])
def test_fed_by_exact_particles_the_law_is_exact(graph, rng):
    s_bar, (p, means) = problem(graph, rng)
    assert compare(kernel_of(graph, s_bar, N, ENGINE), p, means, rng, **SHORT).holds


def test_particles_of_another_model_are_caught(rng):
    s_bar, (p, means) = problem(LOOP, rng)
    assert not compare(kernel_of(LOOP, s_bar, N, AtZero()), p, means, rng, **SHORT).holds


@pytest.mark.parametrize("graph", GRAPHS, ids=["tree", "loop"])
def test_fed_by_its_own_particles_the_bias_is_small(graph, rng):
    """The mean number of groups within 0.05 of the exact one, and mean agreements within 0.01."""
    s_bar, (p, means) = problem(graph, rng)
    sizes = np.array([labels.max() + 1 for labels in partitions.set_partitions(graph.n_edges)])

    def compared(alpha):
        draws = run.sample(
            kernel_of(graph, s_bar, N, alpha=alpha),
            n_draws=150,
            n_warmup=20,
            n_chains=16,
            random_state=rng,
            progress=False,
        ).values
        found = Comparison().means(draws["n_groups"], p @ sizes, bias=0.05)
        return found.means(1 / (1 + np.exp(-draws["theta"])), means, bias=0.01)

    assert compared(1.0).holds
    assert not compared(30.0).holds


def exact_particles(graph, theta, m, rng, fields=False, hub=32):
    """Particles drawn exactly, with the graph's rows."""
    model, rows = Agreement(graph, fields), refresh_graph(graph, hub)
    unpacked = unpack(start_particles(m, graph.n_nodes, rng), rows, theta)
    unpacked.x[...] = 2 * ENGINE.sample(model, theta, ENGINE.prepare(model), m, rng).T - 1
    fill_hubs(rows, unpacked)
    return model, rows, unpacked


def have_moments(model, unpacked, theta, noise=1.0):
    """Whether the particles, which are independent of each other, have the moments by enumeration, but for noise."""
    q = oracle.moments(model, theta)
    found = model.statistics((unpacked.x.T + 1) // 2)
    r, m = model.n_edges, unpacked.x.shape[1]
    variance = np.concatenate([q[:r] * (1 - q[:r]), 1 - q[r:] ** 2])
    return Comparison().estimates(found, q, noise * np.sqrt(variance / m)).holds


M = 16384
STAR = graphs.Graph(7, np.array([(0, i) for i in range(1, 7)] + [(1, 2), (3, 4), (5, 6)]))
CASES = [(graphs.grid(3, 3), False, 32), (STAR, False, 1), (STAR, True, 32), (STAR, True, 1), (LOOP, True, 1)]


@pytest.mark.parametrize(("graph", "fields", "hub"), CASES)
def test_moments_and_redraws(graph, fields, hub, rng):
    """nu of every edge and field is that of enumeration; refreshed particles stay, moved ones go where theta goes."""
    r = graph.n_edges
    theta = rng.normal(size=r + fields * graph.n_nodes)
    theta[r:] *= 0.3
    model, rows, unpacked = exact_particles(graph, theta, M, rng, fields, hub)
    q = oracle.moments(model, theta)
    q[r:] = (1 + q[r:]) / 2
    scale = np.repeat([1, 2], [r, len(theta) - r])
    nu, between = np.array([edge_moment(rows, unpacked, i) for i in range(len(theta))]).T
    error = np.sqrt(np.maximum(between, 1e-4) / (M * q * (1 - q)))
    assert_estimate(nu + scale * theta, np.log(q / (1 - q)), error)
    order = rng.permutation(len(theta))
    for _ in range(3):
        refresh(rows, unpacked, order)
    assert have_moments(model, unpacked, theta)
    assert not have_moments(model, unpacked, theta + 0.3)
    for i in order:
        edge_moment(rows, unpacked, i)
        move_to(rows, unpacked, i, theta[i] + 0.3)
    if rows.n_hubs:
        kept = unpacked.hubs.copy()
        fill_hubs(rows, unpacked)
        np.testing.assert_allclose(kept, unpacked.hubs, atol=1e-3)
    for _ in range(25):
        refresh(rows, unpacked, order)
    assert have_moments(model, unpacked, theta + 0.3)


@pytest.mark.parametrize(("graph", "fields", "hub"), CASES)
def test_cluster_flips_leave_the_law(graph, fields, hub, rng):
    r = graph.n_edges
    theta = 2 * rng.normal(size=r + fields * graph.n_nodes)
    theta[r:] *= 0.1
    model, rows, unpacked = exact_particles(graph, theta, M, rng, fields, hub)
    flip_clusters(rng, rows, unpacked, 20)
    for _ in range(20):
        flip_near(rng, rows, unpacked, int(rng.integers(r)))
    assert have_moments(model, unpacked, theta)
    kept = unpacked.hubs.copy()
    fill_hubs(rows, unpacked)
    np.testing.assert_allclose(kept, unpacked.hubs, atol=1e-3)
    unpacked.theta[:] = -theta
    flip_clusters(rng, rows, unpacked, 20)
    assert not have_moments(model, unpacked, theta)


def test_cluster_flips_turn_over_what_single_edges_do_not(rng):
    """Two squares of strong bonds, joined by two weak ones: the particles start with the squares at odds."""
    strong = [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5), (5, 6), (6, 7), (4, 7)]
    graph = graphs.Graph(8, np.array([*strong, (0, 4), (2, 6)]))
    theta = np.array([12.0] * 8 + [0.4] * 2)
    model, rows = Agreement(graph), refresh_graph(graph)
    for flips in (0, 16):
        unpacked = unpack(start_particles(M, 8, rng), rows, theta)
        unpacked.x[:4], unpacked.x[4:] = 1, -1
        for _ in range(4):
            refresh(rows, unpacked, rng.permutation(10))
            flip_clusters(rng, rows, unpacked, flips)
        assert have_moments(model, unpacked, theta) == (flips > 0)


def test_values_of_a_group_have_the_posteriors_spread(rng):
    """Two edges of a path in one group: Beta(1 + S, 1 + 2 n - S), with four or five particles an observation."""
    n, m, s = 100, 448, np.array([70.0, 60.0])
    graph = graphs.path(3)
    values, draws = np.array([0.5]), []
    for step in range(1500):
        agree = rng.random((m, 2)) < 1 / (1 + np.exp(-values[0]))
        x = np.cumprod(np.concatenate([np.ones((m, 1)), 2 * agree - 1], axis=1), axis=1).T.astype(np.int8).copy()
        counts = group_counts(graph.edges, np.arange(2), np.zeros(2, np.int32), 1, x)
        move_values(rng, counts, np.array([2.0]), 1.0, np.array([s.sum()]), values, float(n), PRIOR, x)
        if step % 3 == 2:
            draws.append(1 / (1 + np.exp(-values[0])))
    law = stats.beta(1 + s.sum(), 1 + 2 * n - s.sum())
    assert stats.kstest(draws, law.cdf).pvalue > 1e-6
    assert stats.kstest((np.array(draws) - law.mean()) * 2 + law.mean(), law.cdf).pvalue < 1e-3


def test_particles_keep_their_states_between_steps(rng):
    graph = graphs.grid(3, 4)
    particles = start_particles(100, 12, rng)
    unpacked = unpack(particles, refresh_graph(graph), np.zeros(17))
    assert unpacked.x.shape == (12, 128)
    assert set(np.unique(unpacked.x)) == {-1, 1}
    np.testing.assert_array_equal(pack(unpacked).words, particles.words)


def test_a_run_that_was_stopped_goes_on(rng, tmp_path):
    graph = graphs.grid(3, 3)
    s_bar = tied_data(Agreement(graph), 50, rng)
    kernel = kernel_of(graph, s_bar, 50, n_particles=128)
    seed = int(rng.integers(2**31))
    whole = run.sample(kernel, n_draws=12, n_chains=2, random_state=seed, progress=False)
    store = {"n_chains": 2, "random_state": seed, "progress": False, "checkpoint": tmp_path / "run"}
    run.sample(kernel, n_draws=5, **store)
    resumed = run.sample(kernel, n_draws=12, **store)
    for name in whole.values:
        np.testing.assert_array_equal(whole.values[name], resumed.values[name])


@pytest.fixture(scope="module")
def grid_states(module_rng):
    graph, rng = graphs.grid(4, 4), module_rng
    theta = np.array([1.2, -0.6])[rng.integers(2, size=24)]
    model = Agreement(graph)
    return graph, theta, ENGINE.sample(model, theta, ENGINE.prepare(model), 400, rng)


QUICK = {"n_warmup": 20, "n_chains": 2, "progress": False}


@pytest.mark.parametrize("fields", [False, True])
def test_close_to_exact_on_a_grid(grid_states, fields, rng):
    graph, _, X = grid_states
    seed = int(rng.integers(2**31))
    found = {
        method: GroupedMRF(graph, method=method, fields=fields, n_draws=150, random_state=seed, **QUICK).fit(X)
        for method in ("exact", "particle")
    }
    exact, particle = found["exact"], found["particle"]
    sd = exact.posterior_["posterior"]["agreement"].std(("chain", "draw")).values
    assert np.abs(particle.agreement_ - exact.agreement_).mean() < 0.5 * sd.mean()
    assert np.abs(particle.mle_ - exact.agreement_).mean() > 0.5 * sd.mean()
    if fields:
        draws = (e.posterior_["posterior"]["theta"].values[..., 24:] for e in (exact, particle))
        a, b = ((d.mean(axis=(0, 1)), d.std(axis=(0, 1))) for d in draws)
        assert np.abs((a[0] - b[0]) / a[1]).max() < 1
        np.testing.assert_allclose(b[1], a[1], rtol=0.5)
    assert particle.posterior_.attrs["n_particles"] == default_particles(400, 16) == 4032


def test_too_few_particles_are_warned_of(grid_states, rng):
    graph, _, X = grid_states
    options = QUICK | {"fields": False, "n_draws": 5, "method": "particle", "random_state": int(rng.integers(2**31))}
    said = r"from 128 particles put a noise of .* nats .* the 400 observations.* or more"
    with pytest.warns(ApproximatePosteriorWarning, match=said):
        GroupedMRF(graph, **options | {"method": Particle(128)}).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximatePosteriorWarning)
        GroupedMRF(graph, **options).fit(X)


def test_fewer_particles_than_observations_are_warned_of_where_edges_look_quiet(rng):
    X = rng.integers(0, 2, size=(400, 4))
    options = QUICK | {"fields": False, "n_draws": 5, "method": "particle", "random_state": int(rng.integers(2**31))}
    said = r"from 320 .* put a noise of 0\.[012].* use n_particles=401 or more"
    with pytest.warns(ApproximatePosteriorWarning, match=said):
        GroupedMRF("complete", **options | {"method": Particle(320)}).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximatePosteriorWarning)
        GroupedMRF("complete", **options | {"method": Particle(448)}).fit(X)


def test_noise_is_that_of_repeated_estimates(rng):
    """The spread of nu over fresh sets of particles, in posterior standard deviations of the edge."""
    graph, n, m = graphs.grid(3, 3), 200, 256
    theta = 1.5 * rng.normal(size=12)
    model, rows, unpacked = exact_particles(graph, theta, m, rng)
    q = oracle.moments(model, theta)[4]
    nus, said = [], []
    for _ in range(300):
        unpacked.x[...] = 2 * ENGINE.sample(model, theta, ENGINE.prepare(model), m, rng).T - 1
        nu, between = edge_moment(rows, unpacked, 4)
        nus.append(nu)
        said.append(np.sqrt(n / m * between))
    seen = np.std(nus) * np.sqrt(n * q * (1 - q))
    assert 0.7 < np.median(said) / seen < 1.4


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BoundaryWarning")  # two of many columns may never agree
def test_auto_says_what_it_chose(rng):
    X = rng.integers(0, 2, size=(30, 6))
    options = QUICK | {"n_draws": 3, "n_warmup": 0}
    ring = [(i, (i + 1) % 6) for i in range(6)]
    for given, chosen in (
        ({"graph": ring[:5], "fields": False}, "tree"),
        ({"graph": ring[:5]}, "exact"),
        ({"graph": ring}, "exact"),
    ):
        found = GroupedMRF(**given, **options).fit(X)
        assert found.method == "auto"
        assert found.method_ == found.posterior_.attrs["method"] == chosen
    wide = GroupedMRF(graphs.grid(15, 15), **options | {"n_draws": 1}).fit(rng.integers(0, 2, size=(30, 225)))
    assert wide.method_ == "particle"
    assert wide.posterior_.attrs["kind"].startswith("approximate")


def test_bad_numbers_of_particles(rng):
    with pytest.raises(OptionError, match=r"n_particles must be .*, got 0"):
        Particle(0)
    with pytest.raises(OptionError, match=r"n_particles must be .*, got 0"):
        kernel_of(LOOP, np.full(4, 0.5), 10, n_particles=0)


def test_default_number_of_particles():
    assert default_particles(1000, 90_000) == 10_048  # ten for each observation, in whole words
    assert default_particles(20, 5) == 1024
    assert default_particles(10**6, 10**6) * 10**6 < 2**31


def test_scans_compiled_equal_python(rng):
    """A scan in plain Python, where it is a few particles, gives the draws of the compiled one."""
    graph = graphs.cycle(4)
    successes, found = np.array([8.0, 3.0, 5.0, 9.0]), []
    seed = int(rng.integers(2**31))
    for scan in (particle_scans.scan_groups, particle_scans.scan_groups.py_func):
        g = np.random.default_rng(seed)
        rows = refresh_graph(graph)
        unpacked = unpack(start_particles(64, 4, g), rows, np.array([0.5, -0.5, 0.5, -0.5]))
        urn = open_urn(np.array([0, 1, 0, 1], np.int32), np.array([0.5, -0.5]), PRIOR)
        nu, between = np.empty(4), np.empty(4)
        scan(g, rows, unpacked, successes, 10.0, np.arange(4), urn, nu, between)
        found.append((nu, urn.values[urn.groups], unpacked.x.copy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(found[0][2], found[1][2])


def loop_ranks(assumed, n_simulations, rng):
    """Ranks of an edge's value and of the number of groups on a loop of six edges, truth from the prior."""
    model, prior, thin, out = Agreement(graphs.cycle(6)), DirichletProcess(1.0), 10, []
    for _ in range(n_simulations):
        groups, theta, _ = prior_draw(model, prior, rng)
        s_bar = model.statistics(ENGINE.sample(model, theta, ENGINE.prepare(model), 8, rng))
        kernel = particle_groups(model, s_bar, 8, assumed, np.zeros(6), n_jumps=3)
        draws = few_draws(kernel, rng, thin)
        drawn = draws["theta"][:, 0], draws["n_groups"]
        out.append(rank(np.transpose(drawn), (theta[0], groups.max() + 1), rng))
    return np.array(out)


@pytest.mark.calibration
def test_ranks_on_a_loop_are_uniform(rng):
    assert p_value(loop_ranks(DirichletProcess(1.0), 500, rng)) > 1e-6
    assert p_value(loop_ranks(DirichletProcess(1.0, Beta(6.0, 1.0)), 200, rng)) < 1e-6
