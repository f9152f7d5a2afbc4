"""The exact sampler of edges against every structure by brute force, its reversible-jump law, and its calibration.

Where a control has another prior, the draws are compared with its posterior, too.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from bayesmrf import graphs
from bayesmrf.engines import Enumeration, PseudoLikelihood
from bayesmrf.errors import OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement, Boltzmann, Ising, Potts
from bayesmrf.posterior.conditionals import exact_scan
from bayesmrf.posterior.conditionals import spike as edges
from bayesmrf.posterior.conditionals.centred import CentredLines, TwoStates, edge_line
from bayesmrf.posterior.conditionals.line import line_log_density
from bayesmrf.posterior.conditionals.rivals import swaps_in
from bayesmrf.posterior.conditionals.slab_leaves import slab_slope
from bayesmrf.posterior.conditionals.state_table import fill_table
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.priors import CAUCHY_TAPER, Beta, Cauchy, Gamma, Moment, Normal, SpikeSlab
from bayesmrf.runs import run
from tests.oracle import spike_slab as oracle
from tests.oracle.bounds import Comparison, assert_estimate, assert_mean, assert_other_estimate, assert_other_mean
from tests.oracle.ranks import few_draws, p_value, rank

N = 30
ENGINE = Enumeration()
PRIOR = SpikeSlab(Beta(2.0, 3.0), Gamma(3.0, 2.0), 2.0)


def problem(graph, rng, n=N, engine=ENGINE):
    """Data from weights that are strong enough to be seen."""
    model = Boltzmann(graph)
    theta = np.concatenate([1.5 * rng.standard_normal(graph.n_edges), 0.5 * rng.standard_normal(graph.n_nodes)])
    states = ENGINE.sample(model, theta, None, n, rng)
    return Likelihood(model, model.statistics(states), n, engine)


N_CHAINS = 32


def draw(kernel, rng, n_draws=100, n_warmup=5):
    return run.sample(
        kernel, n_draws=n_draws, n_warmup=n_warmup, n_chains=N_CHAINS, random_state=rng, progress=False
    ).values


def compare(kernel, rng, exact, **options):
    return oracle.compared(draw(kernel, rng, **options), *exact)


def test_oracle_matches_a_grid(rng):
    lik = problem(graphs.path(2), rng)
    means, error = oracle.posterior(graphs.path(2), lik.s_bar, N, PRIOR, rng, 100_000)
    axis = np.linspace(-9, 9, 121)
    theta = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    step = axis[1] - axis[0]
    f = oracle._features(graphs.path(2))

    def log_p(theta):
        fit = N * (theta @ lik.s_bar - np.logaddexp.reduce(theta @ f.T, axis=-1))
        return fit + stats.norm.logpdf(theta[:, 1:], scale=PRIOR.bias_scale).sum(axis=1)

    with_edge = np.exp(log_p(theta) + oracle.log_weights_prior(theta[:, :1], PRIOR)) * step**3 * (2 / 5)
    empty = theta[np.isclose(theta[:, 0], 0)]
    without = np.exp(log_p(empty)) * step**2 * (3 / 5)
    total = with_edge.sum() + without.sum()
    exact = np.concatenate([[with_edge.sum()], with_edge @ theta + without @ empty]) / total
    assert_estimate(means[:4], exact, error[:4], bias=1e-5)


OTHERS = {
    "ising": Ising(graphs.complete(3)),
    "agreement": Agreement(graphs.complete(3), True),
    "potts": Potts(graphs.complete(3), 3),
}
GRAPHS = {
    "all pairs of 4": graphs.complete(4),
    "cycle of 4": graphs.cycle(4),
    "pair and a node": graphs.Graph(3, np.array([[2, 0]])),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_every_structure(name, rng):
    lik = problem(GRAPHS[name], rng)
    exact = oracle.posterior(GRAPHS[name], lik.s_bar, N, PRIOR, rng)
    assert compare(SpikeSlabExact(lik, PRIOR, n_scans=10), rng, exact).holds


@pytest.mark.parametrize(
    ("slab", "wrong"),
    [(Cauchy(1.5), Normal(1.5)), (Normal(1.5), Normal(3.0)), (Moment(0.6), Cauchy(0.6))],
    ids=["Cauchy", "Normal", "Moment"],
)
def test_every_structure_under_a_fixed_slab(slab, wrong, rng):
    n = 150 if isinstance(slab, Moment) else N  # so that the proposals of the oracle have tails that are heavy enough
    lik = problem(graphs.complete(3), rng, n)
    prior = SpikeSlab(PRIOR.density, slab, PRIOR.bias_scale)
    exact = oracle.posterior(lik.model.graph, lik.s_bar, n, prior, rng)
    values = draw(SpikeSlabExact(lik, prior, n_scans=10), rng)
    assert oracle.compared(values, *exact).holds
    assert np.ptp(values["slab_scale"]) == 0
    other = SpikeSlab(PRIOR.density, wrong, PRIOR.bias_scale)
    values["slab_scale"][:] = wrong.scale  # the wrong one shows by itself
    assert not oracle.compared(values, *oracle.posterior(lik.model.graph, lik.s_bar, n, other, rng)).holds


def test_a_cauchy_slab_without_data(rng):
    """Shares of weights beyond 1, 5 and 50 scales, and the number of edges."""
    model = Boltzmann(graphs.complete(3))
    prior = SpikeSlab(0.6, Cauchy(2.0), 1.5)
    lik = Likelihood(model, np.full(6, 0.3), 0, ENGINE)
    values = draw(SpikeSlabExact(lik, prior, n_scans=20), rng, n_draws=300)
    weights, limits = np.abs(values["theta"][..., :3]), np.array([2.0, 10.0, 100.0])
    beyond = (weights[..., None] > limits).reshape(N_CHAINS, -1, 3)

    def compare(taper):
        def density(a):
            return stats.cauchy.pdf(a, scale=2.0) * np.exp(-((a / taper) ** 2) / 2)

        tails = np.array([2 * quad(density, x, np.inf, limit=200)[0] for x in (0.0, *limits)])
        return Comparison().shares(beyond, 0.6 * tails[1:] / tails[0]).means(values["n_edges"], 1.8)

    assert compare(CAUCHY_TAPER).holds
    assert not compare(10.0).holds


def test_a_pair_that_is_never_both(rng):
    """Its weight has no lower end but that of the prior: the chain stays finite, and comes back."""
    states = (rng.random((300, 4)) < 0.1).astype(np.int8)
    states[states[:, 0] == 1, 1] = 0
    model = Boltzmann(graphs.complete(4))
    lik = Likelihood(model, model.statistics(states), 300, ENGINE)
    values = draw(SpikeSlabExact(lik, SpikeSlab(0.5, Cauchy(2.5)), n_scans=20), rng, 200)
    assert np.isfinite(values["theta"]).all()
    assert np.isfinite(values["log_likelihood"]).all()
    assert 0 < np.mean(values["theta"][..., 0] < -20) < 0.5


def shows_all_cells(lik):
    """Whether each pair of nodes is in all its four states in two rows or more: else Cauchy weights have no mean."""
    graph, n = lik.model.graph, np.rint(N * lik.s_bar)
    both, first, second = n[: graph.n_edges], *n[graph.n_edges :][graph.edges.T]
    return min(np.min(cell) for cell in (both, first - both, second - both, N - first - second + both)) >= 2


def test_fixed_density_and_default_prior(rng):
    lik = next(filter(shows_all_cells, (problem(graphs.complete(3), rng) for _ in range(1000))))
    fixed = SpikeSlab(0.2, Gamma(5.0, 5.0), 10.0)
    exact = oracle.posterior(graphs.complete(3), lik.s_bar, N, fixed, rng)
    assert compare(SpikeSlabExact(lik, fixed, n_scans=10), rng, exact).holds
    exact = oracle.posterior(graphs.complete(3), lik.s_bar, N, SpikeSlab(), rng)
    assert compare(SpikeSlabExact(lik, n_scans=10), rng, exact).holds


def test_asking_the_engine_gives_the_same(rng, monkeypatch):
    monkeypatch.setattr(exact_scan, "MAX_STATES", 0)
    lik = problem(graphs.complete(3), rng)
    exact = oracle.posterior(graphs.complete(3), lik.s_bar, N, PRIOR, rng)
    assert compare(SpikeSlabExact(lik, PRIOR), rng, exact, n_draws=40, n_warmup=10).holds
    # Negative control: an engine that answers at other parameters than those asked.
    wrong = Likelihood(lik.model, lik.s_bar, N, AtZero())
    assert not compare(SpikeSlabExact(wrong, PRIOR), rng, exact, n_draws=15, n_warmup=10).holds


class AtZero(Enumeration):
    def infer(self, model, theta, plan, want="moments", state=None):
        return super().infer(model, np.zeros_like(theta), plan, want, state)


OTHER_PRIORS = {
    "density": SpikeSlab(Beta(3.0, 2.0), PRIOR.slab, PRIOR.bias_scale),
    "precision": SpikeSlab(PRIOR.density, Gamma(3.0, 1.0), PRIOR.bias_scale),
    "biases": SpikeSlab(PRIOR.density, PRIOR.slab, 0.7),
}


def test_another_prior_is_caught(rng):
    lik = problem(graphs.complete(3), rng)
    values = draw(SpikeSlabExact(lik, PRIOR, n_scans=10), rng, 200)
    for prior in (PRIOR, *OTHER_PRIORS.values()):
        exact = oracle.posterior(graphs.complete(3), lik.s_bar, N, prior, rng)
        assert oracle.compared(values, *exact).holds == (prior is PRIOR)


@pytest.mark.parametrize("n_nodes", [3, 9])
def test_without_data_the_prior_comes_back(n_nodes, rng):
    """The larger case is cut into blocks of nodes."""
    model = Boltzmann(graphs.complete(n_nodes))
    m = model.n_edges
    lik = Likelihood(model, np.full(model.n_features, 0.3), 0, ENGINE)
    prior = SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0), 1.5)
    square = 5 / 4  # mean of the inverse of the precision
    k2 = m * 0.5 + m * (m - 1) * (0.25 + 0.25 / 11)
    values = draw(SpikeSlabExact(lik, prior, n_scans=10), rng, n_draws=300)
    density, scale, edges, theta = (values[k] for k in ("density", "slab_scale", "n_edges", "theta"))
    found = [
        density, density**2, scale**-2.0, scale**2, edges, edges.astype(float) ** 2, theta[..., 0],
        (theta[..., :m] ** 2).mean(axis=-1), (theta[..., m:] ** 2).mean(axis=-1), theta[..., m:].mean(axis=-1),
    ]  # fmt: skip
    exact = np.array([0.5, 0.25 + 0.25 / 11, 1.0, square, m / 2, k2, 0, 0.5 * square, 1.5**2, 0])
    assert_mean(np.stack(found, axis=-1), exact)
    assert_other_mean(np.stack(found, axis=-1), exact * 1.2)


def test_blocks_of_nodes_see_each_other(rng):
    """Nine nodes, so four blocks: against the posterior of the same candidates as a model of their own."""
    first, last = np.array([[0, 8], [3, 4], [8, 4]]), np.array([[0, 1], [2, 3], [1, 3]])
    small, large = Boltzmann(graphs.Graph(4, last)), Boltzmann(graphs.Graph(9, first))
    states = rng.integers(0, 2, size=(N, 9))
    states[: N // 2, 8] = states[: N // 2, 0]
    states[N // 4 :, 4] = states[N // 4 :, 3]
    exact, error = oracle.posterior(small.graph, small.statistics(states[:, [0, 8, 3, 4]]), N, PRIOR, rng)
    values = draw(SpikeSlabExact(Likelihood(large, large.statistics(states), N, ENGINE), PRIOR, n_scans=10), rng)
    kept = dict(values, theta=values["theta"][..., [0, 1, 2, 3, 11, 6, 7]])
    assert oracle.compared(kept, exact, error).holds
    states[:, 8] = 1 - states[:, 8]  # negative control: other data
    values = draw(SpikeSlabExact(Likelihood(large, large.statistics(states), N, ENGINE), PRIOR, n_scans=10), rng)
    kept = dict(values, theta=values["theta"][..., [0, 1, 2, 3, 11, 6, 7]])
    assert not oracle.compared(kept, exact, error).holds


def test_log_likelihood_of_the_draw(rng):
    lik = problem(graphs.complete(9), rng)
    kernel = SpikeSlabExact(lik, PRIOR, n_scans=20)
    state, info = kernel.step(rng, kernel.init(rng))
    assert info.log_likelihood == pytest.approx(lik.log_likelihood(info.theta, lik.log_z(info.theta)), abs=1e-8)
    assert info.n_edges == info.included.sum() == np.count_nonzero(info.theta[:36])
    assert info.slab_scale == pytest.approx(state.precision**-0.5)


@pytest.mark.parametrize("model", OTHERS.values(), ids=OTHERS)
def test_every_structure_of_another_model(model, rng):
    m, d = model.n_states, model.graph.n_nodes
    x = rng.integers(0, m, size=(N, d))
    x[: N // 2, 1] = x[: N // 2, 0]
    lik = Likelihood(model, model.statistics(x), N, ENGINE)
    states = np.array(np.unravel_index(np.arange(m**d), (m,) * d)).T.astype(np.int8)
    features = np.array([model.statistics(s[None]) for s in states])
    values = draw(SpikeSlabExact(lik, PRIOR, n_scans=10), rng)
    for prior in (PRIOR, OTHER_PRIORS["density"]):
        exact = oracle.posterior(model.graph, lik.s_bar, N, prior, rng, features=features)
        assert oracle.compared(values, *exact).holds == (prior is PRIOR)


# Rival edges


def alike(rng, n=N):
    """Nodes 1 and 2 are all but the same, and node 0 is as near to either."""
    x = rng.integers(0, 2, size=(n, 3))
    x[:, 2] = x[:, 1]
    x[: n // 10, 2] = 1 - x[: n // 10, 1]
    x[n // 3 :, 0] = x[n // 3 :, 1]
    model = Boltzmann(graphs.complete(3))
    return Likelihood(model, model.statistics(x), n, ENGINE)


@pytest.mark.parametrize("by_engine", [False, True])
def test_swaps_leave_the_posterior_as_it_is(by_engine, rng):
    """Draws of a sampler that knows no swaps, swapped five times each."""
    lik = alike(rng)
    model, prior = lik.model, SpikeSlab(0.4, Cauchy(1.5), 2.0)
    exact = oracle.posterior(model.graph, lik.s_bar, N, prior, rng)
    kernel = SpikeSlabExact(lik, prior, n_scans=10, pairs=np.empty((0, 2), np.int64))
    values = draw(kernel, rng, 40 if by_engine else 100)
    problem = kernel._problem

    def swapped(problem):
        thetas, moved = values["theta"].copy(), 0
        for theta in thetas.reshape(-1, 6):
            before = theta[:3] != 0
            walk = exact_scan._EngineScan(rng, lik, problem, theta)
            table, _ = fill_table(problem.lines, theta)
            for e, f in rng.permutation([(0, 1), (0, 2), (1, 2), (0, 1), (0, 1)]).tolist():
                if by_engine:
                    walk.swap(e, f)
                else:
                    scales = problem.scales
                    exact_scan._swap(rng, problem.prior, problem.lines, table, e, f, theta, scales, scales.copy())
            if not by_engine:
                np.testing.assert_allclose(table / table.sum(), (t := fill_table(problem.lines, theta)[0]) / t.sum())
            moved += (before != (theta[:3] != 0)).any()
        return values | {"theta": thetas, "included": thetas[..., :3] != 0}, moved

    found, moved = swapped(problem)
    assert moved > 0.02 * found["n_edges"].size
    assert oracle.compared(found, *exact).holds
    # Negative control: swaps by sums over the data that favour one edge.
    lines = problem.lines._replace(sums=problem.lines.sums + np.array([8.0, -8.0, -8.0, 0, 0, 0]))
    assert not oracle.compared(swapped(problem._replace(lines=lines))[0], *exact).holds


def test_rivals_swap_more_often(rng):
    """Node 0 is as near to 1 as to 2, which are all but the same: its edge goes from one to the other."""
    x = rng.integers(0, 2, size=(300, 6))
    x[:, 2] = x[:, 0] = x[:, 1]
    x[:4, 2] = 1 - x[:4, 1]
    x[2:34, 0] = 1 - x[2:34, 1]  # from 1 in samples 2 to 33, from 2 in 0, 1 and 4 to 33
    model = Boltzmann(graphs.complete(6))
    lik = Likelihood(model, model.statistics(x), 300, ENGINE)
    assert [0, 1] in swaps_in(model, lik.s_bar, 300).tolist()

    def n_swaps(**pairs):
        values = draw(SpikeSlabExact(lik, SpikeSlab(0.2), **pairs), rng, 1000)
        first, second = values["included"][..., 0], values["included"][..., 1]
        return int((first[:, :-1] & ~second[:, :-1] & ~first[:, 1:] & second[:, 1:]).sum())

    with_swaps, without = n_swaps(), n_swaps(pairs=np.empty((0, 2), np.int64))
    assert with_swaps > 2 * without
    assert_other_estimate(with_swaps, without, np.sqrt(with_swaps + without))


# The law of one edge


def line_of_pair(p11, p10, p01, p00, c_i, c_j, a, b_i, b_j, s_ij, s_i, s_j, n, precision, bias_precision):
    """The line of the edge of a Boltzmann machine of two nodes."""
    values, edge, sums = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0, 1]]), np.array([s_ij, s_i, s_j])
    starts, base = np.array([1, 2, 3]), np.zeros((2, 2))
    pull, of_state = np.array([[[c_j], [c_i]]]), np.array([[0.0, 1.0]] * 2)
    lines = CentredLines(TwoStates(0.0, 1.0), values, edge, n, sums, pull, starts, base, of_state)
    precisions = np.array([precision, bias_precision, bias_precision])
    return edge_line(lines, (p00, p01, p10, p11), 1.0, 0, 0, 1, np.array([a, b_i, b_j]), precisions)


def powers(a):
    """Whether an edge is there, its weight and its square: (n_draws, n_chains) to (n_chains, n_draws, 3)."""
    return np.stack([a != 0, a, a**2]).T


def test_visits_of_one_edge_follow_its_law(rng):
    """P(edge), and mean and second moment of the weight, by quadrature."""
    log_slab = -1.5
    line = line_of_pair(0.4, 0.2, 0.1, 0.3, 0.5, 0.4, 0.7, -0.3, 0.2, 9.0, 14.0, 11.0, 25.0, 0.6, 0.05)

    def moment(k):
        return quad(lambda a: a**k * np.exp(log_slab + line_log_density(a, line)), -15, 15, epsabs=1e-12)[0]

    with_edge = np.array([moment(k) for k in range(3)])
    exact = with_edge / (with_edge[0] + np.exp(line_log_density(0.0, line)))

    def draws(log_slab):
        a = np.zeros((401, 200))
        for t in range(400):
            a[t + 1] = [edges.visit_edge(rng, line, x, log_slab, edges.plain_prior()) for x in a[t]]
        return powers(a[1:])

    assert_mean(draws(log_slab), exact)
    assert_other_mean(draws(log_slab + 0.3), exact)


@pytest.mark.parametrize("slab", [Cauchy(0.3), Cauchy(3.0), Moment(0.3), Moment(2.0)], ids=lambda s: f"{s}")
def test_visits_of_one_edge_under_a_cauchy_slab(slab, rng):
    """As above; the precision that is drawn before each visit makes the tails Cauchy, a factor the density 0 at 0."""
    prior, scale = edges.edge_prior(SpikeSlab(0.5, slab)), slab.scale
    log_slab = np.log(0.25) + edges.slab_top(prior, prior.precision) + (4.0 if slab == Moment(0.3) else 0.0)
    cells = 0.4, 0.2, 0.1, 0.3, 0.5, 0.4, 0.7, -0.3, 0.2, 9.0, 14.0, 11.0, 25.0

    def log_density(a, slab):
        return line_log_density(a, line_of_pair(*cells, slab, 0.05))

    def moment(k):
        def density(a):
            tails = np.exp(log_slab + log_density(a, CAUCHY_TAPER**-2)) / (1 + (a / scale) ** 2)
            return a**k * tails * (a**2 / (1 + (a / scale) ** 2) if slab.is_0_at_0 else 1.0)

        return quad(density, -15, 15)[0]

    with_edge = np.array([moment(k) for k in range(3)])
    exact = with_edge / (with_edge[0] + np.exp(log_density(0.0, 0.0)))

    def draws(wrong, factor):
        a = np.zeros((251, 100))
        for t in range(250):
            precisions = [edges.normal_precision(rng, prior, wrong * prior.precision, x) for x in a[t]]
            lines = [line_of_pair(*cells, q, 0.05) for q in precisions]
            a[t + 1] = [edges.visit_edge(rng, line, x, log_slab, factor) for line, x in zip(lines, a[t], strict=True)]
        return powers(a[1:])

    assert_mean(draws(1.0, prior), exact)
    if slab.is_0_at_0:
        assert_other_mean(draws(1.0, edges.edge_prior(SpikeSlab(0.5, Cauchy(scale)))), exact)
    else:
        assert_other_mean(draws(scale**4 / 0.81, prior), exact)  # the scale 0.9 / scale


@pytest.mark.parametrize(
    "slab",
    [Gamma(3.0, 2.0), Normal(0.7), Cauchy(0.7), Cauchy(2.5), Cauchy(Gamma(2.0, 2.0)), Moment(0.7), Moment(2.5)],
    ids=str,
)
def test_what_kernels_know_of_a_slab(slab):
    """Its slope is that of its log density, whose integral is 1, and its density that of its factors."""
    prior = edges.edge_prior(SpikeSlab(0.5, slab))
    precision = prior.precision or 0.9

    def log_density(a):
        normal, rest = edges.slab_factors(prior, precision, a)
        return edges.slab_top(prior, precision) - 0.5 * normal * a * a + rest

    assert quad(lambda a: 2 * np.exp(log_density(a)), 0, np.inf, limit=200)[0] == pytest.approx(1, abs=1e-6)
    for a in (-30.0, -0.4, 1e-3, 2.0):
        density = edges.log_slab_density(prior, precision, a * a, 1, prior.log_constant)
        assert density == pytest.approx(log_density(a), abs=1e-9)
        slope = (log_density(a * 1.0001) - log_density(a * 0.9999)) / (0.0002 * a)
        assert -slab_slope(prior.slab, precision, a * a, precision * a * a, 1, 0.0) * a == pytest.approx(
            slope, rel=1e-4
        )


def test_hyper_parameters_are_conjugate(rng):
    prior = edges.edge_prior(SpikeSlab(Beta(2.0, 3.0), Gamma(4.0, 0.5)))
    has = np.arange(9) < 4
    weights = has * np.sqrt(2.5 / 4)
    draws = np.array([edges.draw_hyper(rng, prior, has, weights) for _ in range(20_000)])
    laws = stats.beta(6, 8), stats.gamma(6, scale=1 / 1.75)
    for column, law in zip(draws.T, laws, strict=True):
        assert stats.kstest(column, law.cdf).pvalue > 1e-6
    for column, law in zip(draws.T, (stats.beta(6, 7), stats.gamma(5.5, scale=1 / 1.75)), strict=True):
        assert stats.kstest(column, law.cdf).pvalue < 1e-6
    fixed = edges.edge_prior(SpikeSlab(0.3, Gamma(5.0, 5.0)))
    assert edges.draw_hyper(rng, fixed, has, weights)[0] == 0.3


def test_bad_input(rng):
    lik = problem(graphs.complete(3), rng)
    with pytest.raises(OptionError, match="engine must be an exact engine"):
        SpikeSlabExact(Likelihood(lik.model, lik.s_bar, N, PseudoLikelihood(np.eye(3, dtype=np.int8))))
    with pytest.raises(OptionError, match=r"start must be finite numbers of shape \(6,\), got 'shape \(2,\)'"):
        SpikeSlabExact(lik, start=np.zeros(2)).init(rng)
    with pytest.raises(OptionError, match="density"):
        SpikeSlab(density=1.0)
    with pytest.raises(OptionError, match=r"slab must be .*Gamma.*, got 2\.5"):
        SpikeSlab(slab=2.5)
    with pytest.raises(OptionError, match=r"slab must be .* with one scale, got Cauchy"):
        SpikeSlab(slab=Cauchy(np.ones(3)))
    with pytest.raises(OptionError, match="bias_scale"):
        SpikeSlab(bias_scale=0.0)


# Calibration


def ranks(prior, assumed, n_simulations, rng):
    """Ranks of the truth among 9 draws: p0, slab scale, one weight, one bias, number of edges; ties at random."""
    model = Boltzmann(graphs.complete(4))
    out = []
    for _ in range(n_simulations):
        density = rng.beta(prior.density.a, prior.density.b)
        scale = (rng.gamma(prior.slab.shape) / prior.slab.rate) ** -0.5
        weights = (rng.random(6) < density) * scale * rng.standard_normal(6)
        theta = np.concatenate([weights, prior.bias_scale * rng.standard_normal(4)])
        states = ENGINE.sample(model, theta, None, N, rng)
        lik = Likelihood(model, model.statistics(states), N, ENGINE)
        values = few_draws(SpikeSlabExact(lik, assumed, n_scans=40), rng, warmup=2)
        truth = [density, scale, weights[0], theta[6], np.count_nonzero(weights)]
        found = values["theta"]
        drawn = [values["density"], values["slab_scale"], found[:, 0], found[:, 6], values["n_edges"]]
        out.append(rank(np.transpose(drawn), truth, rng))
    return np.array(out)


CALIBRATED = SpikeSlab(Beta(2.0, 2.0), Gamma(5.0, 5.0), 1.0)


@pytest.mark.parametrize("n_simulations", [300, pytest.param(10_000, marks=[pytest.mark.calibration])])
def test_ranks_are_uniform(n_simulations, rng):
    assert p_value(ranks(CALIBRATED, CALIBRATED, n_simulations, rng)) > 1e-6


def test_a_wrong_prior_is_caught_by_the_ranks(rng):
    wrong = SpikeSlab(Beta(2.0, 2.0), Gamma(5.0, 25.0), 1.0)
    assert p_value(ranks(CALIBRATED, wrong, 300, rng)) < 1e-6


def test_a_constant_column_leaves_the_chains_finite(rng):
    """Weights of a node's states differ by factors of 1e16. With their total kept by additions, half of 24 pairs of
    such chains failed."""
    model = Boltzmann(graphs.complete(5))
    x = rng.integers(0, 2, size=(60, 5))
    x[:, 2] = 1
    kernel = SpikeSlabExact(Likelihood(model, model.statistics(x), 60, ENGINE), SpikeSlab())
    theta = run.sample(kernel, n_draws=40, n_warmup=0, n_chains=48, random_state=rng, progress=False).values["theta"]
    assert np.isfinite(theta).all()
