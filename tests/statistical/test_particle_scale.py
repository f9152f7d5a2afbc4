"""What makes particles fast: states of neighbours as keys, and pairs that are left out."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.posterior.groups.moves.pairs import screened_correlation
from bayesmrf.posterior.groups.scans import scan_order
from bayesmrf.states.cluster_flips import flip_near
from bayesmrf.states.keys import add_agreements, add_states, look_up, random_bits, threshold, weigh_keys
from bayesmrf.states.memory import fill_hubs, pack, refresh_graph, start_particles, unpack
from bayesmrf.states.refresh import edge_moment, move_to, refresh
from tests.statistical.test_grouped_particle import M, exact_particles, have_moments

WHEEL = graphs.Graph(7, np.array([(0, i) for i in range(1, 7)] + [(i, i % 6 + 1) for i in range(1, 7)]))


def test_keys_are_the_states_of_nodes(rng):
    x = rng.choice(np.array([-1, 1], np.int8), (5, 192))
    key = np.zeros(192, np.uint8)
    for bit in range(4):
        add_states(x[bit], 1 << bit, key)
    add_agreements(x[0], x[4], 1 << 7, key)
    expected = ((x[:4] > 0) * 2 ** np.arange(4)[:, None]).sum(axis=0) + 128 * (x[0] == x[4])
    np.testing.assert_array_equal(key, expected)
    weights = rng.random(192).astype(np.float32)
    np.testing.assert_allclose(weigh_keys(key, weights, 256), np.bincount(expected, weights, 256), atol=1e-6)
    table, found = rng.random(256).astype(np.float32), np.empty(192, np.float32)
    look_up(key, table, found)
    np.testing.assert_array_equal(found, table[expected])


def test_random_bits_are_those_of_each_particles_generator(rng):
    """Wherever a tile begins; and a particle keeps its generator between steps."""
    particles = start_particles(256, 3, rng)
    whole, tiles = (unpack(particles, refresh_graph(graphs.path(3)), np.zeros(2)) for _ in range(2))
    bits, parts = np.empty(256, np.uint32), np.empty(256, np.uint32)
    random_bits(whole.lanes, 0, bits)
    for first in (192, 0, 64, 128):
        random_bits(tiles.lanes, first, parts[first : first + 64])
    np.testing.assert_array_equal(bits, parts)
    assert len(np.unique(bits)) > 250
    np.testing.assert_array_equal(pack(whole).lanes, pack(tiles).lanes)
    again = unpack(pack(whole), refresh_graph(graphs.path(3)), np.zeros(2))
    np.testing.assert_array_equal(again.lanes, whole.lanes)
    assert threshold(0.0) == 0
    assert threshold(1.0) == 2**32 - 1
    assert threshold(0.25) == 2**30


@pytest.mark.parametrize("fields", [False, True])
@pytest.mark.parametrize("graph", [WHEEL, graphs.complete(7)], ids=["wheel", "complete"])
def test_keys_and_particles_one_by_one_say_the_same(graph, fields, rng):
    """An edge's moment by keys (few neighbours), from local fields (many) and from hubs' kept ones."""
    r = graph.n_edges
    theta = rng.normal(size=r + fields * 7)
    theta[rng.permutation(r)[: r // 4]] = 0  # absent
    _, rows, unpacked = exact_particles(graph, theta, 4096, rng, fields)
    all_hubs = refresh_graph(graph, 0)
    hubs = unpack(pack(unpacked), all_hubs, theta)

    def errors():
        out = []
        for i in range(len(theta)):
            found = edge_moment(rows, unpacked, i)
            ends = graph.edges[i] if i < r else [i - r]
            others = sum(np.sum((graph.edges[:r] == end).any(axis=1) & (theta[:r] != 0)) for end in ends)
            others -= 2 * (i < r and theta[i] != 0)
            assert (unpacked.n_bits[0] >= 0) == (others <= 7)
            out.append(np.abs(np.subtract(found, edge_moment(all_hubs, hubs, i))).max())
        return max(out)

    assert errors() < 2e-4
    hubs.theta[:r] += 0.1
    fill_hubs(all_hubs, hubs)
    assert errors() > 2e-3


@pytest.mark.parametrize("graph", [WHEEL, graphs.complete(7)], ids=["wheel", "complete"])
def test_redraws_leave_the_law_and_follow_theta(graph, rng):
    """By keys and one by one in the same scan; clusters of many nodes whose boundaries fill several keys."""
    r = graph.n_edges
    theta = 0.7 * rng.normal(size=r)
    model, rows, unpacked = exact_particles(graph, theta, M, rng)
    for _ in range(30):
        refresh(rows, unpacked, rng.permutation(r))
        flip_near(rng, rows, unpacked, int(rng.integers(r)))
    assert have_moments(model, unpacked, theta)
    for i in rng.permutation(r):
        edge_moment(rows, unpacked, i)
        move_to(rows, unpacked, i, theta[i] - 0.4)
    for _ in range(25):
        refresh(rows, unpacked, rng.permutation(r))
    assert have_moments(model, unpacked, theta - 0.4)
    assert not have_moments(model, unpacked, theta)


def test_screened_correlation_is_that_where_model_and_data_agree(rng):
    """It is the same at all values of the two parameters, and the correlation itself is not."""
    table = rng.dirichlet(np.ones(4)).reshape(2, 2)
    p, q = table[1].sum(), table[:, 1].sum()
    expected = (table[1, 1] - p * q) / np.sqrt(p * (1 - p) * q * (1 - q))
    for a, b in rng.normal(size=(20, 2)):
        tilted = table * np.exp([[0, b], [a, a + b]])
        tilted /= tilted.sum()
        cells = tilted[1, 1], tilted[1, 0], tilted[0, 1], tilted[0, 0]
        assert screened_correlation(*cells, p, q) == pytest.approx(expected, abs=1e-9)
        here, there = tilted[1].sum(), tilted[:, 1].sum()
        plain = (tilted[1, 1] - here * there) / np.sqrt(here * (1 - here) * there * (1 - there))
        assert abs(plain - expected) > 1e-9 or abs(expected) < 1e-6
    assert screened_correlation(0.12, 0.18, 0.28, 0.42, 0.3, 0.9) == 0
    assert screened_correlation(0.6 - 1e-12, 1e-12, 1e-12, 0.4, 0.6, 0.6) == pytest.approx(1, abs=1e-4)


def test_correlation_of_two_edges_is_told_at_other_values_of_theirs(rng):
    """On a loop, whose other edges have the same parameters."""
    x = np.array(list(np.ndindex(*[2] * 5)))
    agree = x == np.roll(x, 1, axis=1)

    def probabilities(theta):
        p = np.exp(agree @ theta)
        return p / p.sum()

    theta = rng.normal(size=5)
    there = theta + np.r_[rng.normal(size=2), 0, 0, 0]
    p = probabilities(theta)
    mean, both = p @ agree, p @ (agree[:, 0] & agree[:, 1])
    expected = (both - mean[0] * mean[1]) / np.sqrt(np.prod(mean[:2] * (1 - mean[:2])))

    def told(theta):
        p = probabilities(theta)
        cells = [p @ ((agree[:, 0] == a) & (agree[:, 1] == b)) for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))]
        return screened_correlation(*cells, *mean[:2])

    assert told(there) == pytest.approx(expected, abs=1e-9)
    assert told(there + np.r_[0, 0, 1, 0, 0]) != pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("size", [0, 1, 64, 65, 1000])
def test_scans_visit_all_and_neighbours_soon(size, rng):
    order = scan_order(rng, size)
    np.testing.assert_array_equal(np.sort(order), np.arange(size))
    jumps = np.sum(np.diff(order // 64) != 0)
    assert jumps == max(0, -(-size // 64) - 1)
    if size == 1000:
        assert (np.diff(order[order < 64]) != 1).any()
        assert any((np.diff(scan_order(rng, size)[::64] // 64) != 1).any() for _ in range(3))
