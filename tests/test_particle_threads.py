"""Threads that share the particles of a chain: the same draws, bit by bit, as one thread makes."""

from dataclasses import replace

import numpy as np
import pytest

from bayesmrf import GroupedMRF, graphs, run
from bayesmrf.errors import OptionError
from bayesmrf.models.agreement import Agreement
from bayesmrf.posterior.group_prior import GroupPrior
from bayesmrf.posterior.grouped_particle import GroupedParticle
from bayesmrf.posterior.particle_scans import RefreshData, scan_groups
from bayesmrf.posterior.particle_threads import led
from bayesmrf.posterior.particles import TILE, fill_hubs, pack, refresh_graph, shares, start_particles, unpack
from bayesmrf.priors import Beta, DirichletProcess, Normal

M = 12 * TILE + 64  # the last tile is a small one
STAR = graphs.Graph(40, np.array([(0, i) for i in range(1, 40)] + [(i, i + 1) for i in range(1, 39)]))
CASES = {
    "keys": (graphs.grid(4, 4), False, None),
    "hub and fields": (STAR, True, None),
    "absent edges, no keys": (graphs.complete(11), "grouped", Beta(5.0, 5.0)),
}


def kernel_of(case, rng):
    graph, fields, density = CASES[case]
    model = Agreement(graph, bool(fields))
    theta = np.concatenate([np.where(np.arange(graph.n_edges) % 2, 1.0, -0.3), 0.1 * rng.normal(size=graph.n_nodes)])
    theta = theta[: model.n_features]
    states = rng.integers(0, 2, (60, graph.n_nodes))
    prior = DirichletProcess(1.0, density=density)
    field_prior = DirichletProcess(1.0, Normal(1.0)) if fields == "grouped" else None
    return GroupedParticle(model, model.statistics(states), 60, prior, theta, M, field_prior=field_prior)


def steps(kernel, seed, n_steps=3):
    rng = np.random.default_rng(seed)
    state = kernel.init(rng)
    for _ in range(n_steps):
        state, info = kernel.step(rng, state)
    return state, info


@pytest.mark.parametrize("case", CASES)
def test_draws_do_not_depend_on_the_threads(case, rng):
    kernel, seed = kernel_of(case, rng), int(rng.integers(2**31))
    state, info = steps(kernel, seed)
    for n_threads in (2, 3):
        other, also = steps(replace(kernel, n_threads=n_threads), seed)
        np.testing.assert_array_equal(other.particles.words, state.particles.words)
        np.testing.assert_array_equal(other.particles.lanes, state.particles.lanes)
        np.testing.assert_array_equal(also.theta, info.theta)
        assert also.likelihood_noise == info.likelihood_noise
    assert not np.array_equal(steps(kernel, seed + 1)[0].particles.words, state.particles.words)


def test_shares_are_all_particles_in_whole_tiles(rng):
    graph = graphs.path(3)
    crowd = unpack(start_particles(M, 3, rng), refresh_graph(graph), np.zeros(2))
    for n_threads, wanted in ((1, 1), (2, 2), (3, 3), (7, 3)):  # 13 tiles, at least four for each
        parts = shares(crowd, n_threads, together=True)
        assert len(parts) == wanted
        assert [p.first for p in parts] == [0, *(p.last for p in parts[:-1])]
        assert parts[-1].last == M
        assert all(p.first % TILE == 0 and p.last - p.first >= 4 * TILE for p in parts)
        assert all(p.x is crowd.x for p in parts)


def test_what_another_thread_holds_counts(rng):
    """One scan by a crew of two is that by one thread; by its leader alone it is not."""
    graph, seed = graphs.grid(3, 3), int(rng.integers(2**31))
    rows, r = refresh_graph(graph), graph.n_edges
    data = RefreshData(rng.integers(0, 60, r).astype(float), 60.0, *[GroupPrior(1.0, 1.0, 1.0, 1.0, 0.0, 0.0)] * 2)

    def scan(crowd, worked):
        g = np.random.default_rng(seed)
        nu, between, sizes = np.empty(r), np.empty(r), np.array([float(r)])
        scan_groups(g, rows, worked, data, np.arange(r), np.zeros(r, np.int32), np.zeros(1), sizes, 1, nu, between)
        fill_hubs(rows, crowd)
        return nu, pack(crowd).words

    def fresh():
        return unpack(start_particles(M, 9, np.random.default_rng(seed)), rows, np.zeros(r))

    crowd = fresh()
    nu, words = scan(crowd, crowd)
    crowd = fresh()
    with led(rows, crowd, 2) as leader:
        assert leader.last < M
        found = scan(crowd, leader)
    np.testing.assert_array_equal(found[0], nu)
    np.testing.assert_array_equal(found[1], words)
    crowd = fresh()
    alone = scan(crowd, shares(crowd, 2, together=False)[0])
    assert not np.array_equal(alone[0], nu)
    assert not np.array_equal(alone[1], words)


def test_an_error_beside_the_threads_ends_them(rng):
    graph = graphs.path(3)
    rows = refresh_graph(graph)
    crowd = unpack(start_particles(M, 3, rng), rows, np.zeros(2))
    with pytest.raises(ZeroDivisionError), led(rows, crowd, 2):
        raise ZeroDivisionError
    with led(rows, crowd, 2) as leader:  # and others take their place
        assert leader.crew.done[1, 0] == 0


def test_workers_left_over_share_the_particles(rng):
    """One chain and two workers, or two chains and one: the same draws."""
    X = rng.integers(0, 2, (30, 9))
    graph = [(i, (i + 1) % 9) for i in range(9)]
    options = {"n_draws": 3, "n_warmup": 1, "n_particles": 8 * TILE, "random_state": 3, "progress": False}
    found = [
        GroupedMRF(graph, "particle", n_jobs=n_jobs, n_chains=1, **options).fit(X).posterior_.posterior["theta"].values
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*found)
    assert run.threads_of_a_chain(1, 2) == run.threads_of_a_chain(3, 2) == 1
    assert run.threads_of_a_chain(4, 2) == 2


def test_bad_numbers_of_threads(rng):
    with pytest.raises(OptionError, match=r"n_threads must be .*, got 0"):
        replace(kernel_of("keys", rng), n_threads=0)
