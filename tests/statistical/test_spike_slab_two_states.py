"""Births and deaths at any weight, with moments from chains: against brute force, and against the exact sampler."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.errors import DivergenceError, OptionError
from bayesmrf.methods import ReversibleJump
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.edges import spike_slab
from bayesmrf.posterior.edges.two_states import SpikeSlabTwoStates
from bayesmrf.priors import Beta, Cauchy, Gamma, Normal, SpikeSlab
from bayesmrf.runs import run
from tests.oracle import spike_slab as oracle
from tests.oracle.bounds import Comparison, assert_mean, assert_other_mean, units
from tests.statistical.test_spike_slab import (
    PAPER,
    N,
    agreement,
    block_model,
    draw,
    exact_draws,
    exact_start,
    problem,
)

PRIOR = SpikeSlab(Beta(2.0, 3.0), Gamma(3.0, 2.0), 2.0)
CAUCHY = SpikeSlab(Beta(2.0, 3.0), Cauchy(1.5), 2.0)


def test_every_structure_of_three_nodes(rng):
    model, s_bar = problem(graphs.complete(3), rng)
    exact = oracle.posterior(model.graph, s_bar, N, PRIOR, rng)

    values = draw(
        SpikeSlabTwoStates(model, s_bar, N, PRIOR, options=ReversibleJump(512, epsilon=0.1, n_iterations=10)),
        rng,
        150,
        20,
    )
    assert oracle.compared(values, *exact).holds
    other = SpikeSlab(Beta(3.0, 2.0), PRIOR.slab, PRIOR.bias_scale)
    assert not oracle.compared(values, *oracle.posterior(model.graph, s_bar, N, other, rng)).holds


def test_every_structure_under_a_cauchy_slab(rng):
    model, s_bar = problem(graphs.complete(3), rng)
    exact = oracle.posterior(model.graph, s_bar, N, CAUCHY, rng)

    def compare(prior):
        kernel = SpikeSlabTwoStates(model, s_bar, N, prior, options=ReversibleJump(512, epsilon=0.1, n_iterations=10))
        values = draw(kernel, rng, 150, 20)
        values["slab_scale"][:] = CAUCHY.slab.scale  # the wrong one shows by itself
        return oracle.compared(values, *exact)

    assert compare(CAUCHY).holds
    assert not compare(SpikeSlab(CAUCHY.density, Normal(0.4), 2.0)).holds


def test_without_data_the_prior_comes_back(rng):
    prior = SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0), 1.5)
    model = Boltzmann(graphs.complete(3))
    kernel = SpikeSlabTwoStates(model, np.zeros(6), 0.0, prior, options=ReversibleJump(1))
    values = draw(kernel, rng, 250)
    columns = [
        values["density"], values["slab_scale"] ** -2.0, values["n_edges"],
        (values["theta"][..., :3] ** 2).mean(axis=-1), values["theta"].mean(axis=-1),
    ]  # fmt: skip
    exact = np.array([0.5, 1.0, 1.5, 0.5 * 5 / 4, 0.0])
    assert_mean(np.stack(columns, axis=-1), exact)
    assert_other_mean(np.stack(columns, axis=-1), 1.2 * exact)


def test_long_steps_do_not_widen_a_normal_posterior(rng):
    """Steps of one standard deviation; with half steps of x at the ends, variances were 4 / 3 times as large."""
    kernel = SpikeSlabTwoStates(
        Boltzmann(graphs.complete(3)),
        np.zeros(6),
        0.0,
        SpikeSlab(1e-9, Normal(1.0), 1.0),
        options=ReversibleJump(1, epsilon=1.0),
    )
    squares = (draw(kernel, rng, 400)["theta"][..., 3:] ** 2).mean(axis=2)
    assert_mean(squares, 1.0)
    assert_other_mean(squares, 4 / 3)


@pytest.mark.calibration
def test_block_model(rng):
    """Each inclusion within 0.03, and their mean within 0.02, but for Monte Carlo error."""
    model, s_bar = block_model(rng, 100)
    exact = exact_draws(model, s_bar, PAPER, rng, 800)

    def compare(prior):
        chains = [
            draw(
                SpikeSlabTwoStates(model, s_bar, 100, prior, exact_start(exact, c), options=ReversibleJump(256)),
                rng,
                175,
                20,
                1,
            )
            for c in range(16)
        ]
        included = np.concatenate([v["included"] for v in chains])
        by_batch = units(exact["included"].mean(axis=2))
        error = by_batch.std(ddof=1) / np.sqrt(len(by_batch))
        return agreement({"included": included}, exact).means(included.mean(axis=2), by_batch.mean(), 0.02, error)

    assert compare(PAPER).holds
    assert not compare(SpikeSlab(0.9, PAPER.slab)).holds


def test_pairs_with_rare_states(rng):
    """Two nodes that are 1 in four of 300 rows, both in two: inclusion is within 0.02 of brute force (0.97 for their
    edge, and 0.36 if states of the chains are counted), apart from Monte Carlo error."""
    n, x = 300, np.zeros((300, 3), np.int8)
    x[:, 0] = rng.random(n) < 0.5
    x[:4, 1] = x[2:6, 2] = 1
    model = Boltzmann(graphs.complete(3))
    s_bar, prior = model.statistics(x), SpikeSlab(0.5, Cauchy(1.0))
    found = draw(SpikeSlabTwoStates(model, s_bar, n, prior, options=ReversibleJump(256)), rng, 150)["included"]

    def compare(s_bar):
        exact, error = oracle.posterior(model.graph, s_bar, n, prior, rng, 100_000)
        return Comparison().shares(found, exact[:3], bias=0.02, error=error[:3])

    assert compare(s_bar).holds
    assert not compare(s_bar - [0, 0, 2 / n, 0, 0, 0]).holds  # negative control: both are 1 in no row


def test_shares_are_those_of_warm_up(rng):
    """Births and deaths are proposed by them, and the ratio allows for fixed ones only."""
    model, s_bar = problem(graphs.complete(3), rng)
    kernel = SpikeSlabTwoStates(model, s_bar, N, PRIOR, n_adapt=3, options=ReversibleJump(128, n_iterations=1))
    state, shares = kernel.init(rng), []
    for _ in range(6):
        state, _ = kernel.step(rng, state)
        shares.append(state.walk.share[0])
    assert (shares[1] != shares[2]).all()
    np.testing.assert_array_equal(shares[2:], [shares[2]] * 4)


def camps(n, d, stray, rng):
    """Votes of two camps that decide at random; each node strays from its camp now and then, and once at least."""
    votes = rng.random((n, 2))[:, np.arange(d) % 2] < 0.5
    model, strays = Boltzmann(graphs.complete(d)), rng.random((n, d)) < stray
    strays[np.arange(d), np.arange(d)] = True
    return model, model.statistics((votes ^ strays).astype(np.int8))


def test_camps_that_turn_over_together(rng):
    """As `test_block_model`, where nodes are bound to each other."""
    model, s_bar = camps(100, 10, 0.1, rng)
    exact = exact_draws(model, s_bar, PAPER, rng, 800)

    def compare(prior, n_draws):
        chains = [
            draw(
                SpikeSlabTwoStates(model, s_bar, 100, prior, exact_start(exact, c), options=ReversibleJump(256)),
                rng,
                n_draws,
                20,
                1,
            )
            for c in range(16)
        ]
        return agreement({"included": np.concatenate([v["included"] for v in chains])}, exact)

    assert compare(PAPER, 150).holds
    assert not compare(SpikeSlab(0.1, PAPER.slab), 50).holds


def test_steps_are_as_short_as_the_stiffest_direction_wants(rng):
    """Two camps of 75: with steps of 0.5 the slab grows and grows; with those that the kernel finds it does not."""
    model, s_bar = camps(150, 150, 0.02, rng)
    within = (model.graph.edges.sum(axis=1) % 2 == 0) * 0.2
    start = np.concatenate([within, -0.5 * np.bincount(model.graph.edges.ravel(), np.repeat(within, 2))])
    kernel = SpikeSlabTwoStates(model, s_bar, 150, PAPER, start=start, options=ReversibleJump(512, epsilon=0.5))

    def slab(**held):
        state = kernel.init(rng)
        state = state._replace(walk=state.walk._replace(**held))
        for _ in range(40):
            try:
                state, info = kernel.step(rng, state)
            except DivergenceError:
                return np.inf
        return info.slab_scale

    assert slab() < 2.5
    assert slab(stiffness=0.0, age=10**9) > 2.5


def test_the_same_seed_and_a_resumed_run_give_the_same_draws(rng, tmp_path):
    model, s_bar = problem(graphs.complete(4), rng)
    kernel = SpikeSlabTwoStates(model, s_bar, N, CAUCHY, options=ReversibleJump(200))
    options = {"n_chains": 2, "random_state": int(rng.integers(2**32)), "progress": False}
    whole = run.sample(kernel, n_draws=8, **options).values
    run.sample(kernel, n_draws=3, checkpoint=tmp_path / "run", **options)
    resumed = run.sample(kernel, n_draws=8, checkpoint=tmp_path / "run", **options).values
    for name in whole:
        np.testing.assert_array_equal(whole[name], resumed[name])
    state = kernel.init(rng)
    before = state.theta.copy(), *(x.copy() for x in state.walk.chains)
    kernel.step(rng, state)
    for old, now in zip(before, (state.theta, *state.walk.chains), strict=True):
        np.testing.assert_array_equal(old, now)


def test_many_more_observations_than_particles(rng, monkeypatch):
    """The noise of moments would make variances of the biases 3.3 times too large; a shorter step does not.

    Some 150 effective draws of three biases have a mean square within 1 +- 0.12 at one standard deviation.
    """
    n, model = 10_000, Boltzmann(graphs.complete(3))
    kernel = SpikeSlabTwoStates(
        model, np.repeat([0.25, 0.5], 3), n, SpikeSlab(0.01), options=ReversibleJump(128, n_iterations=50)
    )

    def ratio():
        return (draw(kernel, rng, 100, 5, 8)["theta"][..., 3:] ** 2).mean() * n / 4

    assert 0.4 < ratio() < 1.75
    for limit in ("_NOISE", "_STIFF_NOISE"):  # negative control: the step as it was given
        monkeypatch.setattr(spike_slab, limit, np.inf)
    assert ratio() > 2


def test_candidates_and_constant_columns(rng):
    """A node that is never 1, one without candidates, and edges given in any order."""
    model = Boltzmann(graphs.Graph(5, np.array([[3, 1], [0, 3], [4, 0]])))
    states = rng.integers(0, 2, size=(60, 5))
    states[:, 4] = 0
    values = draw(SpikeSlabTwoStates(model, model.statistics(states), 60), rng, 50, 10, 2)
    assert np.isfinite(values["theta"]).all()
    assert (values["theta"][..., 7] < 0).mean() > 0.9


def test_a_thousand_nodes(rng):
    """State and draw are of the order of the candidates, and of chains times nodes."""
    model = Boltzmann(graphs.complete(1000))
    s_bar = np.repeat([0.25, 0.5], [model.n_edges, 1000])
    kernel = SpikeSlabTwoStates(model, s_bar, 100, options=ReversibleJump(128, n_iterations=2))
    state, info = kernel.step(rng, kernel.init(rng))
    assert np.isfinite(info.theta).all()
    assert info.n_edges == info.included.sum() == (info.theta[:499_500] != 0).sum()
    momentum, share, chains, _, direction, _ = state.walk
    arrays = [x for x in (state.theta, *momentum, *direction, share, *chains, *info) if isinstance(x, np.ndarray)]
    assert sum(x.nbytes for x in arrays) < 8 * 5.5 * model.n_features + 128 * 1000


def test_bad_input(rng, monkeypatch):
    model, s_bar = problem(graphs.complete(3), rng)
    for option, match in [
        ({"epsilon": 0.0}, "epsilon must be .*, got 0.0"),
        ({"momentum": -0.1}, "momentum must be .*, got -0.1"),
        ({"n_particles": 0}, "n_particles must be .*, got 0"),
        ({"n_particles": None}, "n_particles must be .*, got None"),
    ]:
        with pytest.raises(OptionError, match=match):
            SpikeSlabTwoStates(model, s_bar, N, options=ReversibleJump(**option))

    def diverge():
        for limit in (
            "_NOISE",
            "_STIFF_NOISE",
            "_LONGEST",
        ):  # else the step would be cut, for this or for its stiffness
            monkeypatch.setattr(spike_slab, limit, np.inf)
        kernel = SpikeSlabTwoStates(model, s_bar, N, options=ReversibleJump(512, epsilon=50.0))
        state = kernel.init(rng)
        state = state._replace(walk=state.walk._replace(stiffness=0.0, age=10**9))
        for _ in range(20):
            state, _ = kernel.step(rng, state)

    with pytest.raises(DivergenceError, match=r"^epsilon must be smaller, as a weight exceeded 1000, got"):
        diverge()
