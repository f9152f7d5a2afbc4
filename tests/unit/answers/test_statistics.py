"""Statistics of nodes and networks by name, against loops of networkx and sums over all states."""

from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import bayesmrf
from bayesmrf import BayesianMRF, CompareMRF, SpikeSlabMRF, graphs, results
from bayesmrf.answers.registry import table_of
from bayesmrf.errors import OptionError
from bayesmrf.models import Boltzmann, Nominal, Ordinal, Potts
from bayesmrf.priors import Cauchy, SpikeSlab
from bayesmrf.results.predictability import _by_samples, predictability
from bayesmrf.results.shortest_paths import path_measures
from bayesmrf.results.statistics import NetworkStatistics, summed_up
from bayesmrf.results.summary import summarise
from tests.helpers.posterior_tree import posterior_tree, structure_tree

COMMUNITIES = {"a": "x", "b": "x", "c": "y", "d": "y", "e": "y"}
QUICK = {"n_draws": 40, "n_warmup": 20, "n_chains": 2, "progress": False, "random_state": 3}
EDGES = ("strength", "expected influence", "closeness", "betweenness", "bridge strength", "bridge expected influence")


def network_of(weights, edges, names):
    g = nx.Graph()
    g.add_nodes_from(names)
    for (u, v), w in zip(edges, weights, strict=True):
        if w:
            g.add_edge(names[u], names[v], weight=float(w), length=1 / abs(float(w)))
    return g


def by_networkx(g, communities):
    """All statistics of a network, by networkx and loops over its definitions."""
    d, e = len(g), g.edges(data="weight")
    across = {n: [w for _, m, w in g.edges(n, data="weight") if communities[m] != communities[n]] for n in g}
    harmonic = nx.harmonic_centrality(g, distance="length")
    nodes = {
        "strength": {n: sum(abs(w) for _, _, w in g.edges(n, data="weight")) for n in g},
        "expected influence": {n: sum(w for _, _, w in g.edges(n, data="weight")) for n in g},
        "closeness": {n: harmonic[n] / (d - 1) for n in g},
        "betweenness": nx.betweenness_centrality(g, weight="length"),
        "bridge strength": {n: sum(map(abs, across[n])) for n in g},
        "bridge expected influence": {n: sum(across[n]) for n in g},
    }
    big = g.subgraph(max(nx.connected_components(g), key=len))
    paths = sum(k * (k - 1) for _, k in g.degree)
    k, n, small = 2 * big.number_of_edges() / len(big), len(big), np.nan
    if k > 1:
        usual = (np.log(n) - 0.5772156649) / np.log(k) + 0.5
        small = nx.transitivity(big) / (k / (n - 1)) / (nx.average_shortest_path_length(big) / usual)
    network = {
        "density": len(e) / (d * (d - 1) / 2),
        "global clustering": nx.transitivity(g) if paths else np.nan,
        "average path": nx.average_shortest_path_length(big, weight="length") if n > 1 else np.nan,
        "largest component": n,
        "small-worldness": small,
    }
    return nodes, network


@pytest.mark.parametrize("most", [0.25, 0.6, 1.0])
def test_each_draw_has_the_statistics_of_networkx(rng, most):
    """Half of the weights are negative, and many draws are not connected, or have no edge."""
    tree = structure_tree(rng, inclusion=np.linspace(0, most, 10), n_draws=60)
    found, theta = NetworkStatistics(tree, COMMUNITIES), tree["posterior"]["theta"].values.reshape(120, -1)
    networks = [network_of(t[:10], found.edges, "abcde") for t in theta]
    if most == 0.25:
        assert sum(not nx.is_connected(g) for g in networks) > 20
    assert any(w < 0 for g in networks for *_, w in g.edges(data="weight"))
    each = [by_networkx(g, COMMUNITIES) for g in networks]
    for name in EDGES:
        np.testing.assert_allclose(found.draws(name), [list(nodes[name].values()) for nodes, _ in each], atol=1e-12)
    for name in each[0][1]:
        np.testing.assert_allclose(found.draws(name), [network[name] for _, network in each], err_msg=name)
    table = found.table().set_index(["statistic", "node"])
    mean = np.nanmean([network["global clustering"] for _, network in each])
    np.testing.assert_allclose(table["mean"]["global clustering", ""], mean)
    assert table["n_draws"]["global clustering", ""] == sum(max(dict(g.degree).values()) > 1 for g in networks)


def test_the_statistic_of_the_mean_network_is_another_one(rng):
    """The control: shares of draws, and negative weights taken as lengths, do not pass for the statistic."""
    tree = structure_tree(rng, inclusion=np.full(10, 0.4))
    found, theta = NetworkStatistics(tree), tree["posterior"]["theta"].values.reshape(100, -1)
    closeness = found.draws("closeness").mean(axis=0)
    of_mean = by_networkx(network_of(theta[:, :10].mean(axis=0), found.edges, "abcde"), COMMUNITIES)[0]["closeness"]
    assert np.abs(closeness - list(of_mean.values())).min() > 0.05
    negative = network_of([-1.0, 2.0], [(0, 1), (1, 2)], "abc")
    with pytest.raises(ValueError, match="negative"):
        nx.harmonic_centrality(negative, distance="weight")


def test_paths_that_are_equally_short_count_in_parts(rng):
    """Weights are inverses of integers, so that networkx adds exact lengths; sums of others are rounded apart."""
    edges = np.array([(i, j) for i in range(9) for j in range(i)])
    for _ in range(20):
        lengths = rng.integers(1, 4, len(edges)) * (rng.random(len(edges)) < 0.5)
        weights = np.where(lengths, 1 / np.maximum(lengths, 1), 0)
        g = nx.Graph([(u, v, {"length": int(n)}) for (u, v), n in zip(edges.tolist(), lengths, strict=True) if n])
        g.add_nodes_from(range(9))
        expected = nx.betweenness_centrality(g, weight="length")
        for scale in (1, 3, 1 / 7, -0.1):  # with these, lengths of one sum differ by rounding
            found = path_measures(scale * weights[None], edges, 9)[1][0]
            np.testing.assert_allclose(found, [expected[i] for i in range(9)], atol=1e-12)


def test_edges_of_a_group_have_one_weight(rng):
    found = NetworkStatistics(posterior_tree(rng, inclusion=np.full(12, 0.7)))
    assert "betweenness" in found.names
    assert found.draws("betweenness").shape == (100, 9)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_small_networks(d):
    edges = np.array([(i, j) for i in range(d) for j in range(i)]).reshape(-1, 2)
    for weights in (np.zeros((1, len(edges))), np.full((1, len(edges)), 2.0)):
        closeness, betweenness, network = path_measures(weights, edges, d)
        there = d > 1 and weights.any()
        np.testing.assert_allclose(closeness, 2.0 if there else 0.0)
        np.testing.assert_allclose(betweenness, 0)
        np.testing.assert_allclose(network[0, :2], [d, 0.5] if there else [1, np.nan])


def entropy(p):
    return -sum(x * np.log(x) for x in p if x > 0)


def by_loops(model, theta, sizes):
    """Predictability, correct classification and base rate by a loop over all states."""
    states = np.array(list(product(*map(range, sizes))), np.int8)
    if model.family == "binary":
        form = model.pairwise(theta)
        x = 2.0 * states - 1
        log_p = x @ form.field + (x[:, form.edges[:, 0]] * x[:, form.edges[:, 1]]) @ form.coupling
    else:
        log_p = np.array([theta @ model.statistics(x[None]) for x in states])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    found = []
    for u, m in enumerate(sizes):
        given, right = 0.0, 0.0
        rest = np.delete(states, u, axis=1)
        for other in np.unique(rest, axis=0):
            same = (rest == other).all(axis=1)
            q = [p[same & (states[:, u] == k)].sum() for k in range(m)]
            given += sum(q) * entropy(np.array(q) / sum(q))
            right += max(q)
        own = [p[states[:, u] == k].sum() for k in range(m)]
        found.append((1 - given / entropy(own), right, max(own)))
    return np.array(found).T


GRAPH = graphs.complete(4, tuple("abcd"))
MODELS = {
    "boltzmann": (Boltzmann(GRAPH), (2, 2, 2, 2)),
    "potts": (Potts(GRAPH, 3), (3, 3, 3, 3)),
    "ordinal": (Ordinal(GRAPH, 4, True, (2, 4, 3, 3)), (2, 4, 3, 3)),
    "nominal": (Nominal(GRAPH, 3, True, (3, 2, 3, 3), (False, True, False, True)), (3, 2, 3, 3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_predictability_is_a_sum_over_all_states(rng, name):
    model, sizes = MODELS[name]
    # So that no state is nearly certain: by samples, the ratio of two small entropies is not known.
    theta = rng.uniform(0.7, 1.5, model.n_features) * rng.choice([-1, 1], model.n_features) / (max(sizes) - 1)
    expected = by_loops(model, theta, sizes)
    np.testing.assert_allclose(predictability(model, theta, rng), expected, atol=1e-10)
    # By samples: with 20,000 exact ones the error is below 6 standard errors, 1 / sqrt(20,000) at most.
    from bayesmrf.engines import Elimination
    from bayesmrf.models.categorical import many_state_form

    states = Elimination().sample(model, theta, Elimination().prepare(model), 20_000, rng)
    found = _by_samples(many_state_form(model, theta), list(sizes), states)
    np.testing.assert_allclose(found, expected, atol=6 / np.sqrt(20_000))
    other = by_loops(model, np.where(np.arange(len(theta)) < model.edge_starts[-1], 0, theta), sizes)  # the control
    assert np.abs(found - other).max() > 6 / np.sqrt(20_000)


def test_a_node_without_edges_is_not_predictable():
    model = Boltzmann(graphs.from_edges([(0, 1)], tuple("abc")))
    share, right, base = predictability(model, np.array([3.0, -1.0, -1.0, 0.5]), None)
    assert share[2] == pytest.approx(0, abs=1e-12)
    assert right[2] == pytest.approx(base[2])
    assert share[0] > 0.1


@pytest.fixture(scope="module")
def table(module_rng):
    a = module_rng.integers(0, 2, 150)
    b = np.where(module_rng.random(150) < 0.15, 1 - a, a)
    c = np.where(module_rng.random(150) < 0.15, b, 1 - b)
    return pd.DataFrame({"a": a, "b": b, "c": c, "with space": module_rng.integers(0, 2, 150)})


@pytest.fixture(scope="module")
def fitted(table):
    prior = SpikeSlab(0.5, Cauchy(1.0))
    return {
        "edges": SpikeSlabMRF(prior=prior, **QUICK).fit(table),
        "parameters": BayesianMRF(**QUICK).fit(table),
        "groups": CompareMRF(prior=prior, baseline="spike-slab", **QUICK).fit(table, np.repeat(["g", "h"], 75)),
    }


@pytest.mark.filterwarnings("ignore")
def test_estimators_trees_and_stored_runs_have_one_table(fitted, tmp_path):
    for name, est in fitted.items():
        found = est.statistics()
        assert list(found.columns[-6:]) == ["node", "statistic", "mean", "lower", "upper", "n_draws"]
        assert set(found["statistic"]) >= {"strength", "betweenness", "predictability", "density", "small-worldness"}
        pd.testing.assert_frame_equal(est.table("statistics"), found)
        results.save(est, tmp_path / name)
        pd.testing.assert_frame_equal(bayesmrf.load(tmp_path / name).statistics(), found)
        pd.testing.assert_frame_equal(table_of(tmp_path / name, "statistics").frame, found)
        strength = found[found["statistic"] == "strength"]["mean"].to_numpy()
        np.testing.assert_allclose(strength, est.strength().mean(("chain", "draw")).values.ravel())
        np.testing.assert_allclose(est.statistic("strength"), est.strength())
        density = est.statistic(lambda g: g.number_of_edges() / 6, of="graph")
        np.testing.assert_allclose(est.statistic("density"), density)
        assert est.statistic("density").dims == density.dims


@pytest.mark.filterwarnings("ignore")
def test_differences_between_nodes_and_between_groups(fitted):
    est = fitted["groups"]
    draws = est.statistic("strength").values.reshape(80, 2, 4)
    nodes = est.statistics("strength", between="nodes").set_index(["group", "node", "other"])
    assert len(nodes) == 12
    row = nodes.loc["h", "b", "with space"]
    difference = draws[:, 1, 1] - draws[:, 1, 3]
    assert row["mean"] == pytest.approx(difference.mean())
    assert row["probability"] == pytest.approx((difference > 0).mean())
    groups = est.statistics(["strength", "density"], between="groups").set_index(["statistic", "node"])
    difference = draws[:, 1] - draws[:, 0]
    np.testing.assert_allclose(groups["mean"]["strength"], difference.mean(axis=0))
    np.testing.assert_allclose(groups["probability"]["strength"], (difference > 0).mean(axis=0), atol=1e-12)
    assert groups.loc["density", ""]["probability"] == 0  # an edge exists in both
    assert groups["probability"]["strength"].min() > 0
    with pytest.raises(OptionError, match="between"):
        fitted["edges"].statistics(between="groups")


def test_intervals_are_the_shortest(rng):
    draws = rng.gamma(1, size=(1000, 2))
    found, ordered = summed_up(draws, 0.8), np.sort(draws, axis=0)
    widths = [ordered[i + 800] - ordered[i] for i in range(200)]
    np.testing.assert_allclose(found["upper"] - found["lower"], np.min(widths, axis=0))
    assert (found["lower"] < np.quantile(draws, 0.1, axis=0) / 2).all()  # the control: central ones are longer
    draws[::2, 0], draws[:, 1] = np.nan, np.nan
    found = summed_up(draws, 0.8)
    assert found["mean"][0] == pytest.approx(np.nanmean(draws[:, 0]))
    assert found["upper"][0] == pytest.approx(summed_up(draws[1::2, :1], 0.8)["upper"][0])
    assert np.isnan([found[key][1] for key in ("mean", "lower", "upper")]).all()
    assert found["n_draws"].tolist() == [500, 0]


def test_draws_are_evenly_spaced_where_they_are_many(rng, monkeypatch):
    tree = structure_tree(rng)
    assert NetworkStatistics(tree, n_draws=10).draws("strength").shape == (10, 5)
    every = NetworkStatistics(tree).draws("closeness")
    np.testing.assert_array_equal(NetworkStatistics(tree, n_draws=2).draws("closeness"), every[[0, 99]])
    monkeypatch.setattr("bayesmrf.results.statistics._MOST_SECONDS", dict.fromkeys(("paths", "model"), 1e-12))
    monkeypatch.setattr("bayesmrf.results.statistics._FEWEST", {"paths": 7, "model": 3})
    assert len(NetworkStatistics(tree).draws("betweenness")) == 7
    monkeypatch.setattr("bayesmrf.results.statistics._LONGEST", 1e-12)
    found = table_of(tree, "statistics")
    assert "closeness" not in set(found.frame["statistic"])
    assert "Not computed, as they take long: closeness, betweenness, average path" in found.note
    assert "closeness" in set(NetworkStatistics(tree).table(["closeness"])["statistic"])


@pytest.mark.filterwarnings("ignore")
def test_what_is_refused(fitted, rng):
    est = fitted["edges"]
    with pytest.raises(OptionError, match=r"names must be names of statistics: 'strength', .*, got 'degree'"):
        est.statistics(["degree"])
    with pytest.raises(OptionError, match="communities, such as"):
        est.statistics("bridge strength")
    with pytest.raises(OptionError, match="communities"):
        est.statistics("bridge strength", communities=[1, 2])
    with pytest.raises(OptionError, match="there is none for 'with space'"):
        est.statistics("bridge strength", communities={"a": 1, "b": 1, "c": 2})
    for wrong in ({"n_draws": 0}, {"between": "edges"}, {"probability": 2}):
        with pytest.raises(OptionError, match=next(iter(wrong))):
            est.statistics(**wrong)
    assert est.statistics("bridge strength", communities=pd.Series([1, 1, 2, 2], list(est.feature_names_[-4:]))).shape
    nominal = structure_tree(rng, GRAPH, lambda graph: Nominal(graph, 3))
    found = NetworkStatistics(nominal)
    assert "expected influence" not in found.names
    with pytest.raises(OptionError, match="edges without a sign"):
        found.draws("expected influence")
    strength = found.draws("strength")
    root = Nominal(GRAPH, 3).strength(nominal["posterior"]["theta"].values.reshape(100, -1))
    np.testing.assert_allclose(strength[:, 0], root[:, (GRAPH.edges == 0).any(axis=1)].sum(axis=1))


def test_tables_without_one_weight_for_each_edge_have_none(rng):
    from bayesmrf.answers.registry import names_of
    from bayesmrf.models import Symmetric
    from tests.helpers.posterior_tree import parameter_tree

    assert "statistics" in names_of(structure_tree(rng))
    assert "statistics" not in names_of(parameter_tree(rng, model=lambda graph: Symmetric(graph, 3)))
    assert summarise(structure_tree(rng)).statistics.fitted is None
