"""Algorithm 1 of Chen and Welling (2012): its parts against closed forms, its posterior against brute force.

The settings of the paper mix slowly: their own comparison runs with ``-m calibration``.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from bayesmrf import graphs
from bayesmrf.engines import Enumeration
from bayesmrf.errors import ApproximatePosteriorWarning, DivergenceError, OptionError
from bayesmrf.likelihood import Likelihood
from bayesmrf.methods import LangevinJumps
from bayesmrf.models import Boltzmann, Ordinal
from bayesmrf.posterior.conditionals.spike import edge_prior
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.priors import Beta, Cauchy, Gamma, SpikeSlab
from bayesmrf.published import langevin, langevin_jumps
from bayesmrf.published.langevin import SpikeSlabLangevin
from bayesmrf.published.langevin_chains import table_chains
from bayesmrf.runs import run
from bayesmrf.states import persistent_chains as edge_chains
from bayesmrf.states.edge_tables import start_particles
from tests.oracle import spike_slab as oracle
from tests.oracle import states as states_oracle
from tests.oracle.bounds import Comparison, assert_mean, assert_other_mean, assert_other_share, assert_share, units

N_CHAINS = 24
N = 30
PRIOR = SpikeSlab(0.4, Gamma(3.0, 2.0), 2.0)
PAPER = SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0))
# A proposal density that is wrong by a factor of two does to the ratio what this prior does: odds of 4/3, not 2/3.
WRONG_PROPOSAL = SpikeSlab(4 / 7, Gamma(3.0, 2.0), 2.0)
ENGINE = Enumeration()


def problem(graph, rng, n=N):
    model = Boltzmann(graph)
    theta = np.concatenate([1.5 * rng.standard_normal(graph.n_edges), 0.5 * rng.standard_normal(graph.n_nodes)])
    return model, model.statistics(ENGINE.sample(model, theta, None, n, rng))


def draw(kernel, rng, n_draws, n_warmup=10, n_chains=N_CHAINS):
    return run.sample(
        kernel, n_draws=n_draws, n_warmup=n_warmup, n_chains=n_chains, random_state=rng, progress=False
    ).values


# Chains on a graph whose edges come and go


def test_rows_follow_the_edges(rng):
    graph = graphs.Graph(7, graphs.complete(7).edges[rng.permutation(21)[:15]])
    included = rng.random(15) < 0.4
    rows = edge_chains.start_rows(graph, included)
    for _ in range(200):
        e = int(rng.integers(15))
        (edge_chains.remove_edge if included[e] else edge_chains.add_edge)(rows, e)
        included[e] = not included[e]
        assert set(rows.present[: rows.n_present[0]]) == set(np.flatnonzero(included))
        assert (rows.place >= 0).tolist() == included.tolist()
        for i in range(7):
            first, stop = rows.starts[i], rows.starts[i] + rows.degree[i]
            found = sorted(zip(rows.neighbours[first:stop], rows.edge_of[first:stop], strict=True))
            assert found == sorted(
                (graph.edges[k].sum() - i, k) for k in np.flatnonzero(included) if i in graph.edges[k]
            )


def test_sweeps_have_the_law_of_the_model(rng):
    """Chi-squared of the states of 6,400 chains; and their words are their bytes."""
    graph = graphs.complete(4)
    theta = np.concatenate([rng.normal(size=6) * np.array([1, 0, 1, 1, 0, 1]), rng.normal(size=4)])
    n_chains = 6_400
    blocks = edge_chains.unpack(edge_chains.start_chains(n_chains, 4, rng), n_chains)
    rows = edge_chains.start_rows(graph, theta[:6] != 0)
    for _ in range(60):
        edge_chains.sweep(blocks, rows, theta)
    x = blocks.states.transpose(1, 0, 2).reshape(4, -1)[:, :n_chains]
    assert blocks.ones.tolist() == x.sum(axis=1).tolist()
    for i in range(4):
        for j in range(4):
            assert edge_chains.count_both(blocks.words, i, j) == (x[i] & x[j]).sum()
    again = edge_chains.unpack(edge_chains.EdgeChains(blocks.words, blocks.lanes), n_chains)
    np.testing.assert_array_equal(again.states, blocks.states)

    f = oracle._features(graph)

    def p_value(theta):
        p = np.exp(f @ theta - np.logaddexp.reduce(f @ theta))
        return stats.chisquare(np.bincount(states_oracle.state_numbers(x.T), minlength=16), n_chains * p).pvalue

    assert p_value(theta) > 1e-6
    assert p_value(theta + 0.3) < 1e-6


def test_extra_chains_are_not_counted(rng):
    blocks = edge_chains.unpack(edge_chains.start_chains(70, 3, rng), 70)
    edge_chains.sweep(blocks, edge_chains.start_rows(graphs.complete(3), np.zeros(3, bool)), np.full(6, 30.0))
    assert blocks.ones.tolist() == [70, 70, 70]


@pytest.mark.parametrize("delta", [0.8, 3.0])
def test_resampling_carries_chains_to_another_law(delta, rng):
    """Mean counts of each pair after resampling by exp(delta x_0 x_1) are those of the weighted chains.

    With the larger delta some chains are drawn three times.
    """
    n_chains = 512
    blocks = edge_chains.unpack(edge_chains.start_chains(n_chains, 3, rng), n_chains)
    rows = edge_chains.start_rows(graphs.complete(3), np.ones(3, bool))
    edge_chains.sweep(blocks, rows, np.array([0.5, -1.0, 1.0, 0.0, 0.3, -0.2]))
    x = blocks.states.transpose(1, 0, 2).reshape(3, -1).astype(float)
    w = np.exp(delta * x[0] * x[1])
    expected = (x * w) @ x.T / w.sum()
    weights = 1.0, 1.0, 1.0, np.exp(delta)
    found = []
    for _ in range(400):
        copy = blocks._replace(states=blocks.states.copy(), words=blocks.words.copy(), ones=blocks.ones.copy())
        edge_chains.resample(rng, copy, (0, 1), weights, 0, n_chains)
        found.append([[edge_chains.count_both(copy.words, i, j) / n_chains for j in range(3)] for i in range(3)])
    np.testing.assert_array_equal(
        edge_chains.unpack(edge_chains.EdgeChains(copy.words, copy.lanes), n_chains).states, copy.states
    )
    assert copy.ones.tolist() == copy.states.sum(axis=(0, 2)).tolist()
    found = np.array(found)[:, None]
    assert_mean(found, expected)
    assert_other_mean(found, x @ x.T / n_chains)  # unweighted


# Jumps


@pytest.mark.parametrize(
    ("pull", "tau", "width"),
    [(0.3, 20.0, 0.002), (-40.0, 1.0, 1.0), (500.0, 3e4, 0.1), (0, 1, 6), (5e4, 1.0, 0.2), (3.0, 4e4, 5.0)],
)
def test_proposal_of_a_jump(pull, tau, width, rng):
    best = np.clip(pull / tau, -width, width)
    top = best * (pull - 0.5 * best * tau)
    near = best + np.array([-1, 1]) * np.minimum(60 / max(abs(pull - tau * best), 1e-9), 12 * tau**-0.5)
    points = [best, *np.clip(near, -width, width)]
    expected = quad(lambda a: np.exp(a * (pull - 0.5 * a * tau) - top), -width, width, points=points, epsabs=0)[0]
    assert langevin_jumps.log_jump_integral(pull, tau, width) == pytest.approx(top + np.log(expected), abs=1e-9)
    draws = [langevin_jumps.draw_jump(rng, pull, tau, width) for _ in range(3000)]
    ends = (np.array([-width, width]) - pull / tau) * np.sqrt(tau)
    law = stats.truncnorm(*ends, loc=pull / tau, scale=tau**-0.5)
    assert stats.kstest(draws, law.cdf).pvalue > 1e-6


@pytest.mark.parametrize("birth", [True, False])
def test_the_estimated_ratio_is_unbiased(birth):
    """Section 4.1: the mean of (Z0 / Z1)^N, or its inverse, over all counts of n particles, summed exactly."""
    n, n_particles, m, a, precision, width = 1000, 100, 0.3, 0.005, 1.0, 0.05
    p = m if birth else m * np.exp(a) / (1 - m + m * np.exp(a))
    counts = np.arange(n_particles + 1)
    weights = stats.binom.pmf(counts, n_particles, p)
    exact = -n * np.log(1 - m + m * np.exp(a)) * (1 if birth else -1)
    data = 310.0  # cancels
    log_r, plain = [], []
    for f in counts / n_particles:
        s2 = f * (1 - f) * n_particles / (n_particles - 1)
        pull = data - n * (f if birth else f - a * s2)
        sign = 1.0 if birth else -1.0
        log_q = langevin_jumps.jump_log_ratio(a, pull, precision, s2, n, n_particles, width, sign)
        log_h = a * pull - 0.5 * a**2 * (precision + n * s2)
        proposal = log_h - langevin_jumps.log_jump_integral(pull, precision + n * s2, width)
        log_r.append(sign * (log_q + proposal - a * data + 0.5 * precision * a**2))
        plain.append(log_r[-1] + np.log1p((n * a) ** 2 * s2 / (2 * n_particles)))
    third_order = n * a**3 + ((n * a) ** 2 * m * (1 - m) / n_particles) ** 2
    assert abs(weights @ np.exp(np.array(log_r) - exact) - 1) < third_order
    assert abs(weights @ np.exp(np.array(plain) - exact) - 1) > 2 * third_order  # without the correction


def test_thinning_has_the_law_of_asking_every_edge(rng):
    """How often each of ten edges is born, against its acceptance integrated over the proposal."""
    model = Boltzmann(graphs.complete(5))
    s_bar = model.statistics(rng.integers(0, 2, size=(200, 5)))
    kernel = SpikeSlabLangevin(model, s_bar, 200, PRIOR, options=LangevinJumps(width=0.3))
    jumps = kernel._jumps(np.ones(15))
    blocks = edge_chains.unpack(edge_chains.start_chains(100, 5, rng), 100)
    blocks.ones[:] = [edge_chains.count_both(blocks.words & np.uint64(2**50 - 1), i, i) for i in range(5)]
    blocks.words[:] &= np.uint64(2**50 - 1)
    slab, precision, n_calls = 2.0, 0.7, 20_000
    expected = []
    for e, (i, j) in enumerate(model.graph.edges):
        f = edge_chains.count_both(blocks.words, i, j) / 100
        s2 = f * (1 - f) * 100 / 99
        pull, tau, width = jumps.sums[e] - 200 * f, precision + 200 * s2, jumps.width[e]
        total = np.exp(langevin_jumps.log_jump_integral(pull, tau, width))

        def accepted(a, pull=pull, s2=s2, tau=tau, width=width, total=total):
            ratio = slab * np.exp(langevin_jumps.jump_log_ratio(a, pull, precision, s2, 200.0, 100, width, 1.0))
            return min(1.0, ratio) * np.exp(a * (pull - 0.5 * a * tau)) / total

        expected.append(quad(accepted, -width, width, limit=200)[0])
    expected, births = np.minimum(expected, 1.0), np.zeros(10)
    for _ in range(n_calls):
        rows, theta = edge_chains.start_rows(model.graph, np.zeros(10, bool)), np.zeros(15)
        langevin._births(rng, jumps, rows, blocks, theta, np.log(slab) - jumps.prior.log_odds[0], precision)
        births += theta[:10] != 0
    assert_share(births, n_calls, expected)
    assert_other_share(births, n_calls, 0.8 * expected)


def test_births_along_lines(rng):
    """The same of three ordered nodes, with moments and the prior of thresholds by their definitions.

    Thresholds move with the weight that is born. Negative controls: other frequencies; no prior of thresholds.
    """
    model, n, prior, n_calls = Ordinal(graphs.complete(3), 3), 60, SpikeSlab(0.4, Gamma(3.0, 2.0), 0.1), 10_000
    x = rng.integers(0, 3, size=(n, 3))
    x[:30, 1] = x[:30, 0]
    kernel = SpikeSlabLangevin(model, model.statistics(x), n, prior, options=LangevinJumps(width=0.3))
    jumps, k = kernel._jumps(np.ones(9)), kernel._lines.pull
    chains = table_chains(model, kernel._lines, start_particles(128, 3, 3, rng))
    start, slab, precision = np.append(np.zeros(3), np.full(6, 0.3)), 5.0, 0.7

    def feature(e, x):
        parts = [k[e, end, j] * (x[i] == j + 1) for end, i in enumerate(model.graph.edges[e]) for j in range(2)]
        return np.prod(x[model.graph.edges[e]].astype(float), axis=0) - sum(parts)

    def frequency(e, weight):
        g, width = feature(e, chains.unpacked.x), jumps.width[e]
        own = k[e].ravel() @ start[3:].reshape(3, 2)[model.graph.edges[e]].ravel()
        pull = feature(e, x.T).sum() - n * g.mean() + weight * own / 0.1**2
        normal, s2 = precision + weight * (k[e] ** 2).sum() / 0.1**2, g.var(ddof=1)
        tau = normal + n * s2
        total = np.exp(langevin_jumps.log_jump_integral(pull, tau, width))

        def accepted(a):
            ratio = slab * np.exp(langevin_jumps.jump_log_ratio(a, pull, normal, s2, float(n), 128, width, 1.0))
            return min(1.0, ratio) * np.exp(a * (pull - 0.5 * a * tau)) / total

        return min(1.0, quad(accepted, -width, width, limit=200)[0])

    births = np.zeros(3)
    for _ in range(n_calls):
        rows, theta = edge_chains.start_rows(model.graph, np.zeros(3, bool)), start.copy()
        langevin._births(rng, jumps, rows, chains, theta, np.log(slab) - jumps.prior.log_odds[0], precision)
        births += theta[:3] != 0
        moved = np.zeros((3, 2))
        np.add.at(moved, model.graph.edges, -theta[:3, None, None] * k)
        np.testing.assert_allclose(theta[3:] - start[3:], moved.ravel(), atol=1e-12)
    expected = np.array([frequency(e, 1.0) for e in range(3)])
    assert_share(births, n_calls, expected)
    assert_other_share(births, n_calls, 0.8 * expected)
    assert_other_share(births, n_calls, np.array([frequency(e, 0.0) for e in range(3)]))


# The posterior


def test_without_data_the_prior_comes_back(rng):
    prior = SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0), 1.5)
    model = Boltzmann(graphs.complete(3))
    kernel = SpikeSlabLangevin(
        model, np.zeros(6), 0.0, prior, options=LangevinJumps(epsilon=0.2, width=0.5, n_iterations=400)
    )
    values = draw(kernel, rng, 150)
    columns = [
        values["density"], values["density"] ** 2, values["slab_scale"] ** -2.0, values["n_edges"],
        (values["theta"][..., :3] ** 2).mean(axis=-1), (values["theta"][..., 3:] ** 2).mean(axis=-1),
        values["theta"].mean(axis=-1),
    ]  # fmt: skip
    exact = np.array([0.5, 0.25 + 0.25 / 11, 1.0, 1.5, 0.5 * 5 / 4, 2.25, 0.0])
    assert_mean(np.stack(columns, axis=-1), exact)
    assert_other_mean(np.stack(columns, axis=-1), 1.2 * exact)


def test_every_structure_of_three_nodes(rng):
    model, s_bar = problem(graphs.complete(3), rng)
    exact = oracle.posterior(model.graph, s_bar, N, PRIOR, rng)

    def compare(prior):
        kernel = SpikeSlabLangevin(model, s_bar, N, prior, options=LangevinJumps(epsilon=0.03, width=0.1))
        values = draw(kernel, rng, 100)
        values["density"] = np.full_like(values["density"], PRIOR.density)  # the wrong one shows by itself
        return oracle.compared(values, *exact)

    assert compare(PRIOR).holds
    assert not compare(WRONG_PROPOSAL).holds


@pytest.mark.calibration  # as tests/statistical/test_spike_slab_exact.py
def test_every_structure_under_a_cauchy_slab(rng):
    model, s_bar = problem(graphs.complete(3), rng)
    prior = SpikeSlab(0.4, Cauchy(0.5), 2.0)
    exact = oracle.posterior(model.graph, s_bar, N, prior, rng)

    def compare(prior):
        kernel = SpikeSlabLangevin(
            model, s_bar, N, prior, options=LangevinJumps(epsilon=0.05, width=0.3, n_iterations=500)
        )
        values = draw(kernel, rng, 100)
        values["density"][:], values["slab_scale"][:] = 0.4, 0.5  # the wrong one shows by itself
        return oracle.compared(values, *exact)

    assert compare(prior).holds
    assert not compare(SpikeSlab(4 / 7, Cauchy(0.5), 2.0)).holds


def block_model(rng, n):
    """12 nodes in three groups, as in section 6.1; the statistics of exact samples."""
    graph = graphs.complete(12)
    u, v = graph.edges.T
    within = u // 4 == v // 4
    j = rng.normal(0, 0.5, 66) * (rng.random(66) < np.where(within, 0.8, 0.1))
    j[within] = np.abs(j[within])
    bias = 2 * rng.normal(0, 0.1, 12) - 2 * np.bincount(u, j, 12) - 2 * np.bincount(v, j, 12)
    model = Boltzmann(graph)
    return model, model.statistics(ENGINE.sample(model, np.concatenate([4 * j, bias]), None, n, rng))


def agreement(values, exact):
    """Compare inclusions, of which a bias of 0.03 is allowed, with those of exact draws."""
    by_batch = units(exact["included"].astype(float))
    error = by_batch.std(axis=0, ddof=1) / np.sqrt(len(by_batch))
    return Comparison().shares(values["included"], by_batch.mean(axis=0), bias=0.03, error=error)


def exact_start(exact, c):
    return exact["theta"][c % len(exact["theta"]), -1 - 100 * (c // len(exact["theta"]))]


def compare(model, s_bar, prior, exact, rng, n_chains, n_draws, n_adapt=100, **options):
    """Chains of Algorithm 1 that start at exact draws."""
    jumps, chains = LangevinJumps(**options), []
    for c in range(n_chains):
        start = exact_start(exact, c)
        kernel = SpikeSlabLangevin(model, s_bar, 100, prior, start=start, n_adapt=n_adapt, options=jumps)
        chains.append(draw(kernel, rng, n_draws, 2, 1))
    return {k: np.concatenate([v[k] for v in chains]) for k in chains[0]}


def exact_draws(model, s_bar, prior, rng, n_draws):
    kernel = SpikeSlabExact(Likelihood(model, s_bar, 100, ENGINE), prior, n_scans=10)
    return draw(kernel, rng, n_draws, 20, 4)


@pytest.mark.calibration
def test_block_model_with_longer_steps(rng):
    """Steps and jumps ten and twenty times those of the paper; inclusions within 0.03 but for Monte Carlo error."""
    model, s_bar = block_model(rng, 100)
    prior = SpikeSlab(0.3, PAPER.slab)
    exact = exact_draws(model, s_bar, prior, rng, 800)
    options = {"epsilon": 0.03, "width": 0.1, "n_iterations": 300, "n_adapt": 2}
    assert agreement(compare(model, s_bar, prior, exact, rng, 16, 200, **options), exact).holds
    # The odds of the wrong proposal density of above.
    wrong = compare(model, s_bar, SpikeSlab(0.6 / 1.3, PAPER.slab), exact, rng, 16, 200, **options)
    assert np.abs(wrong["included"].mean(axis=(0, 1)) - exact["included"].mean(axis=(0, 1))).max() > 0.1


@pytest.mark.calibration
def test_block_model_at_the_published_settings(rng):
    """Eight chains of 10^7 iterations, some five minutes on one core."""
    model, s_bar = block_model(rng, 100)
    exact = exact_draws(model, s_bar, PAPER, rng, 2000)
    values = compare(model, s_bar, PAPER, exact, rng, 8, 10_000)
    assert agreement(values, exact).holds
    wrong = compare(model, s_bar, SpikeSlab(Beta(20.0, 5.0), PAPER.slab), exact, rng, 8, 10_000)
    assert agreement(wrong, exact).p_value < agreement(values, exact).p_value


# Use


@pytest.mark.parametrize("ordered", [False, True])
def test_the_same_seed_and_a_resumed_run_give_the_same_draws(ordered, rng, tmp_path):
    model, s_bar = problem(graphs.complete(4), rng)
    if ordered:
        model = Ordinal(model.graph, 3)
        s_bar = model.statistics(rng.integers(0, 3, size=(N, 4)))
    kernel = SpikeSlabLangevin(
        model, s_bar, N, n_adapt=3, options=LangevinJumps(n_iterations=200, epsilon=0.1, width=0.5)
    )
    seed = int(rng.integers(2**32))
    options = {"n_chains": 2, "random_state": seed, "progress": False}
    whole = run.sample(kernel, n_draws=8, **options).values
    run.sample(kernel, n_draws=3, checkpoint=tmp_path / "run", **options)
    resumed = run.sample(kernel, n_draws=8, checkpoint=tmp_path / "run", **options).values
    for name in whole:
        np.testing.assert_array_equal(whole[name], resumed[name])
    assert (whole["theta"][0] != whole["theta"][1]).any()
    state = kernel.init(rng)
    before = state.theta.copy(), *(a.copy() for a in state.chains)
    kernel.step(rng, state)
    for old, now in zip(before, (state.theta, *state.chains), strict=True):
        np.testing.assert_array_equal(old, now)


def test_a_thousand_nodes(rng):
    model = Boltzmann(graphs.complete(1000))
    kernel = SpikeSlabLangevin(model, np.full(model.n_features, 0.25), 500, options=LangevinJumps(n_iterations=5))
    _, info = kernel.step(rng, kernel.init(rng))
    assert info.theta.shape == (499_500 + 1000,)
    assert info.n_edges == info.included.sum()


def test_steps_too_long_for_the_particles_are_warned_of(rng):
    """Standard deviations sqrt(1 + 0.1^2 N 19 / 400) times too wide."""
    model, s_bar = Boltzmann(graphs.complete(3)), np.repeat([0.25, 0.5], 3)
    with pytest.warns(
        ApproximatePosteriorWarning, match=r"epsilon=0\.1 is too long .* 6\.2 times too wide; .* <= 0\.0"
    ):
        SpikeSlabLangevin(model, s_bar, 8e4, options=LangevinJumps(epsilon=0.1))
    SpikeSlabLangevin(model, s_bar, 8e4)  # no warning, which would be an error
    SpikeSlabLangevin(model, s_bar, 100, options=LangevinJumps(epsilon=0.1))


def test_bad_input(rng):
    model, s_bar = problem(graphs.complete(3), rng)
    for option, match in [
        ({"epsilon": 0.0}, "epsilon must be .*, got 0.0"),
        ({"momentum": 1.0}, "momentum must be .*, got 1.0"),
        ({"width": -1.0}, "width must be .*, got -1.0"),
        ({"n_particles": 1}, "n_particles must be .*, got 1"),
    ]:
        with pytest.raises(OptionError, match=match):
            SpikeSlabLangevin(model, s_bar, N, options=LangevinJumps(**option))
    with pytest.raises(DivergenceError, match=r"^epsilon must be smaller, as a weight exceeded 1000, got") as caught:
        run.sample(
            SpikeSlabLangevin(model, s_bar, N, options=LangevinJumps(epsilon=50.0)),
            n_draws=5,
            n_chains=1,
            progress=False,
        )
    assert caught.value.draws.n_draws == 0
    assert edge_prior(SpikeSlab(0.2)).fixed == 0.2
