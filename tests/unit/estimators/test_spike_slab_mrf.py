"""SpikeSlabMRF: what it finds, predicts and refuses."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayesmrf import SpikeSlabMRF, datasets, graphs, methods, metrics
from bayesmrf.engines import Elimination
from bayesmrf.errors import ConstantColumnWarning, DataError, EmptyRowsWarning, OptionError
from bayesmrf.families import FAMILIES, families_of
from bayesmrf.methods import Exact, ReversibleJump
from bayesmrf.models import Boltzmann, Ising
from bayesmrf.models.boltzmann import Coding
from bayesmrf.priors import Beta, Cauchy, Gamma, Normal, SpikeSlab, read_slab
from bayesmrf.results.summary import StructureSummary, summarise
from tests.oracle import states as oracle
from tests.oracle.bounds import assert_other_share, assert_share

QUICK = {"n_draws": 30, "n_warmup": 10, "n_chains": 2, "progress": False, "random_state": 0}
METHODS = ["exact", "reversible-jump", "langevin"]


@pytest.fixture
def data(rng):
    """Six nodes, two strong edges: 0-1 and 3-4."""
    model = Boltzmann(graphs.from_edges([(0, 1), (3, 4)], [str(i) for i in range(6)]))
    theta = np.array([3.0, -3.0, -1.5, -1.5, 0, 1, 1, 0])
    engine = Elimination()
    return engine.sample(model, theta, engine.prepare(model), 400, rng)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_and_says_what_it_is(method, data):
    est = SpikeSlabMRF(method=method, **QUICK).fit(data)
    posterior = est.posterior_["posterior"]
    assert posterior["theta"].sizes == {"chain": 2, "draw": 30, "feature": 21}
    assert posterior["included"].sizes == {"chain": 2, "draw": 30, "edge": 15}
    assert {"density", "slab_scale"} <= set(posterior.data_vars)
    assert est.posterior_.attrs["kind"].startswith("exact" if method == "exact" else "approximate")
    assert est.inclusion_.shape == (6, 6)
    np.testing.assert_array_equal(est.inclusion_, est.inclusion_.T)
    theta = posterior["theta"].values[..., :15]
    np.testing.assert_array_equal(theta != 0, posterior["included"].values)


def test_a_network_of_a_draw_has_its_edges_only(data):
    est = SpikeSlabMRF(method="exact", **QUICK).fit(data)
    found = est.statistic(nx.number_of_edges, of="graph")
    np.testing.assert_array_equal(found, est.posterior_["posterior"]["included"].sum("edge"))
    assert found.min() < 15


def test_edges_of_equal_inclusion_are_in_the_order_of_the_summary(data):
    est = SpikeSlabMRF(method="exact", **QUICK | {"n_draws": 3}).fit(np.hstack([data, data[::-1, :4]]))
    found = summarise(est.posterior_).edge_table.sort_values("inclusion", ascending=False, kind="stable")
    assert found["inclusion"].duplicated().any()
    pd.testing.assert_frame_equal(est.table("edges"), found.reset_index(drop=True))


@pytest.mark.parametrize("method", ["exact", "reversible-jump"])
def test_strong_edges_are_found(method, data):
    est = SpikeSlabMRF(method=method, **QUICK | {"n_draws": 300, "n_warmup": 100}).fit(data)
    assert est.inclusion_[0, 1] > 0.99
    assert est.inclusion_[3, 4] > 0.99
    others = est.inclusion_[np.triu_indices(6, 1)].sum() - est.inclusion_[0, 1] - est.inclusion_[3, 4]
    assert others / 13 < 0.5
    found = est.graph_
    assert found.edges["0", "1"]["weight"] > 1
    assert found.edges["3", "4"]["weight"] < -1
    assert set(found.nodes) == set("012345")
    table = est.table("edges")
    assert {tuple(row) for row in table[["first", "second"]].head(2).to_numpy()} == {("0", "1"), ("3", "4")}
    top = table.head(2)
    assert ((top["lower"] < top["weight"]) & (top["weight"] < top["upper"])).all()


def test_a_strong_edge_is_there_from_the_start():
    """Persistent chains hardly find the strongest edge of the coronary data by themselves."""
    table = datasets.coronary()
    est = SpikeSlabMRF(**QUICK).fit(table.iloc[:, :6], sample_weight=table["count"])
    assert est.graph_.edges["B", "C"]["inclusion"] == 1
    assert -3.5 < est.graph_.edges["B", "C"]["weight"] < -2


def test_means_given_inclusion(data):
    est = SpikeSlabMRF(method="exact", **QUICK).fit(data)
    theta = est.posterior_["posterior"]["theta"].values.reshape(-1, 21)
    for e in range(15):
        there = theta[:, e] != 0
        assert est.theta_[e] == pytest.approx(theta[there, e].mean() if there.any() else 0.0)
    np.testing.assert_allclose(est.theta_[15:], theta[:, 15:].mean(axis=0))


def test_predict_conditional_against_enumeration(data):
    est = SpikeSlabMRF(method="exact", **QUICK).fit(data)
    draws = est.posterior_["posterior"]["theta"].values.reshape(-1, 21)
    model, rows, group = Boltzmann(graphs.complete(6)), data[:5], [4, 1]
    found = est.predict_conditional(rows, group)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for row, p in zip(rows, found, strict=True):
        full = np.repeat(row[None], 4, axis=0)
        full[:, 4], full[:, 1] = [0, 0, 1, 1], [0, 1, 0, 1]
        s = np.array([model.statistics(x[None]) for x in full])
        weight = np.exp(draws @ s.T)
        np.testing.assert_allclose(p, (weight / weight.sum(axis=1, keepdims=True)).mean(axis=0), rtol=1e-9)
    log_p = est.conditional_log_likelihood(rows, group)
    np.testing.assert_allclose(np.exp(log_p), found[np.arange(5), 2 * rows[:, 4] + rows[:, 1]])
    # every node: the whole likelihood
    np.testing.assert_allclose(est.conditional_log_likelihood(rows, range(6)).mean(), est.score(rows), rtol=1e-9)
    one = est.conditional_log_likelihood(rows, range(6), average="mean")
    np.testing.assert_allclose(one.mean(), est.score(rows, average="mean"), rtol=1e-9)


@pytest.mark.parametrize("model", ["boltzmann", "potts", "ordinal"])
def test_predict_conditional_does_not_read_the_group(model, data):
    rows = pd.DataFrame(data[:, :4], columns=list("abcd"))
    if model == "potts":
        rows = rows.replace({0: "no", 1: "yes"})
    est = SpikeSlabMRF(model=model, method="exact", **QUICK).fit(rows)
    wanted = est.predict_conditional(rows[:5], ["b", "d"])
    for value in (np.nan, 99, "unknown"):
        other = rows[:5].astype(object).assign(b=value, d=[value, *rows["d"][1:5]])
        np.testing.assert_array_equal(est.predict_conditional(other, ["b", "d"]), wanted)
        np.testing.assert_array_equal(est.predict_conditional(other.to_numpy(), [1, 3]), wanted)
        if value != value:  # what is not seen is summed out
            assert np.isfinite(est.predict_conditional(other, ["a", "d"])).all()
            with pytest.warns(EmptyRowsWarning, match="every value that is predicted"):
                log_p = est.conditional_log_likelihood(other, ["b", "d"])
            assert np.flatnonzero(np.isnan(log_p)).tolist() == [0]  # nothing is predicted in that row
            continue
        with pytest.raises(DataError):
            est.conditional_log_likelihood(other, ["b", "d"])
        with pytest.raises(DataError, match="column 'b'"):
            est.predict_conditional(other, ["a", "d"])


def test_groups_are_numbered_as_ends_of_edges(data):
    table = pd.DataFrame(data[:, :3], columns=[1, 2, 3])
    est = SpikeSlabMRF(method="exact", **QUICK).fit(table)
    for group, nodes in (([1, 2], ["1", "2"]), ([0, 2], ["1", "3"]), ([0], ["1"]), (["1", 2], ["1", "2"])):
        np.testing.assert_array_equal(
            est.predict_conditional(table[:3], group), est.predict_conditional(table[:3], nodes)
        )


@pytest.mark.filterwarnings("ignore:columns .* are associated, but hardly by equal levels")  # "potts" of ordered levels
@pytest.mark.parametrize("name", families_of("SpikeSlabMRF").names)
def test_use_of_every_model(name, data, rng):
    """Predictions against enumeration, and tables and draws of the same size."""
    m = 3 if name in ("potts", "ordinal") else 2
    x = data[:, :3] + (rng.random((400, 3)) < 0.4) * data[:, :1] if m == 3 else data[:, :3]
    est = SpikeSlabMRF(model=name, method="exact", **QUICK).fit(x)
    model, draws = est._model(), est.posterior_["posterior"]["theta"].values.reshape(60, -1)
    assert (model.name, est.posterior_.attrs["model"]) == (name, name)
    every = np.array(np.unravel_index(np.arange(m**3), (m,) * 3)).T.astype(np.int8)
    p = np.exp(draws @ np.array([model.statistics(s[None]) for s in every]).T)
    p /= p.sum(axis=1, keepdims=True)
    log_p = np.log(p.mean(axis=0))
    np.testing.assert_allclose(est.score_samples(every), log_p)
    np.testing.assert_allclose(est.conditional_log_likelihood(every, range(3)), log_p)
    given = p.reshape(60, m, m, m) / p.reshape(60, m, m, m).sum(axis=(1, 3), keepdims=True)  # the middle node
    wanted = given.mean(axis=0)[:, every[:, 1]].transpose(1, 2, 0).reshape(len(every), -1)  # node 2 comes first
    np.testing.assert_allclose(est.predict_conditional(every, [2, 0]), wanted)
    assert np.isin(est.sample(50), np.arange(m)).all()
    np.testing.assert_allclose(np.sort(est.table("edges")["inclusion"]), np.sort(est.inclusion_[np.triu_indices(3, 1)]))
    bias = [np.size(value) for _, value in est.graph_.nodes(data="bias")]
    assert (est.strength().shape, bias) == ((2, 30, 3), [m - 1] * 3)
    assert est.graph_.edges["0", "1"]["weight"] > 0
    if m == 2 and name != "nominal":
        assert np.abs(est.correlation()).max() <= 1
    assert "model " + name in StructureSummary(est.posterior_).data_sentence
    x = np.where(rng.random(x.shape) < 0.05, np.nan, x)
    missing = SpikeSlabMRF(model=name, method="exact", **QUICK).fit(x).missing_
    by_state = m == 3 or name == "nominal"
    assert ("state" in missing) == by_state
    assert len(missing) == np.isnan(x).sum() * (m if by_state else 1)


@pytest.mark.parametrize(
    ("name", "scale", "bias_scale"),
    [("boltzmann", 1.0, 10.0), ("ising", 0.25, 5.0), ("agreement", 0.5, 5.0), ("potts", 0.5, 10.0)],
)
def test_the_default_prior_is_the_same_in_all_codings(name, scale, bias_scale, rng):
    prior = SpikeSlabMRF(model=name)._object("prior")
    assert repr(prior) == repr(SpikeSlab(slab=Cauchy(scale), bias_scale=bias_scale))
    if name == "potts":
        return
    graph, theta = graphs.complete(3), rng.normal(size=6)
    model, machine = FAMILIES.row(name).options().on(graph, (2,) * graph.n_nodes, True), Boltzmann(graph)
    weights = Coding.of(model).weights(model, theta)
    np.testing.assert_allclose(Coding.of(model).theta(model, weights), theta)
    p, q = ([a.statistics(x[None]) @ t for x in oracle.all_states(3)] for a, t in ((model, theta), (machine, weights)))
    np.testing.assert_allclose(np.subtract(p, p[0]), np.subtract(q, q[0]))


@pytest.mark.parametrize("family", [Ising, Boltzmann])
def test_log_probability_against_enumeration(family, rng):
    model = family(graphs.cycle(5))
    theta = rng.normal(size=10)
    found = metrics.log_probability(model, theta, oracle.all_states(5), Elimination())
    log_p = np.array([model.statistics(x[None]) @ theta for x in oracle.all_states(5)])
    np.testing.assert_allclose(found, log_p - np.logaddexp.reduce(log_p))


def test_samples_follow_the_mixture(data):
    est = SpikeSlabMRF(method="exact", **QUICK).fit(data)
    states = est.sample(20_000, random_state=3)
    every = oracle.all_states(6)
    expected = np.array([np.exp(est.score(x[None])) for x in every])
    assert expected.sum() == pytest.approx(1)
    counts = np.bincount(oracle.state_numbers(states), minlength=64)
    assert_share(counts, 20_000, expected)
    margin = expected @ every
    apart = np.prod(np.where(every == 1, margin, 1 - margin), axis=1)  # control: the same margins without edges
    assert_other_share(counts, 20_000, apart)


def test_candidates_and_fixed_density(data):
    est = SpikeSlabMRF([(0, 1), (1, 2)], SpikeSlab(0.3), "exact", **QUICK).fit(data)
    assert list(est.feature_names_[:2]) == ["0-1", "1-2"]
    assert est.density_ == pytest.approx(0.3)
    assert est.inclusion_[3, 4] == 0
    by_name = SpikeSlabMRF([(0, 1), (1, 2)], method="exact", **QUICK).fit(data)
    by_object = SpikeSlabMRF([(0, 1), (1, 2)], SpikeSlab(), Exact(), **QUICK).fit(data)
    np.testing.assert_array_equal(by_object.theta_, by_name.theta_)
    graph = nx.Graph([("a", "b")])
    frame = pd.DataFrame(data[:, :3], columns=["a", "b", "c"])
    assert list(SpikeSlabMRF(graph, method="exact", **QUICK).fit(frame).feature_names_) == ["a-b", "a", "b", "c"]


@pytest.mark.parametrize("method", METHODS)
def test_the_slab(method, data):
    cauchy, normal = (
        SpikeSlabMRF(prior=SpikeSlab(slab=slab), method=method, **QUICK).fit(data)
        for slab in (Cauchy(1.5), Normal(1.5))
    )
    assert cauchy.slab_scale_ == normal.slab_scale_ == pytest.approx(1.5)
    assert normal.posterior_.attrs["prior"] != cauchy.posterior_.attrs["prior"]
    assert (normal.theta_ != cauchy.theta_).any()


def test_slabs_are_read_from_text():
    assert repr(read_slab("normal")) == repr(Normal(1.0))
    assert repr(read_slab("cauchy:1.5")) == repr(Cauchy(1.5))
    assert read_slab("5,4") == Gamma(5.0, 4.0)
    for text in ("cauchy:x", "student:3", "1,2,3", "5,-1", "cauchy:-1", ""):
        with pytest.raises(OptionError, match=r'slab must be "cauchy:SCALE", .*; an example is "cauchy:2.5"'):
            read_slab(text)


def test_options_are_seen_by_scikit_learn(data):
    est = SpikeSlabMRF(method=ReversibleJump(n_iterations=5), prior=SpikeSlab(Beta(2, 3)), **QUICK)
    params = est.get_params()
    assert params["method__n_iterations"] == 5
    assert params["prior__density__b"] == 3
    other = clone(est)
    assert repr(other.get_params()) == repr(params)
    other.set_params(method__n_particles=256, prior__density__a=4.0, n_draws=7)
    assert other.method == ReversibleJump(n_particles=256, n_iterations=5)
    assert other.prior.density == Beta(4.0, 3)
    assert repr(est.get_params()) == repr(params)
    named = SpikeSlabMRF(method="reversible-jump").set_params(method__n_particles=128, prior__slab__scale=2.0)
    assert named.method == ReversibleJump(n_particles=128)
    assert named.prior.slab.scale == 2.0
    with pytest.raises(OptionError, match="method__width must be a parameter that exists"):
        named.set_params(method__width=1.0)
    with pytest.raises(OptionError, match="n_particles must be an integer"):
        named.set_params(method__n_particles=0)


def test_weights_are_counts(data):
    rows, counts = np.unique(data, axis=0, return_counts=True)
    a = SpikeSlabMRF(method="exact", **QUICK).fit(rows, sample_weight=counts)
    b = SpikeSlabMRF(method="exact", **QUICK).fit(data)
    np.testing.assert_allclose(a.theta_, b.theta_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_are_drawn(method, data):
    """A value whose neighbour is a strong edge away is known better than a coin; a copy of the data gains nothing."""
    X = data.astype(float)
    X[:40, 0] = np.nan
    est = SpikeSlabMRF(method=method, **QUICK | {"n_draws": 100, "n_warmup": 50}).fit(X)
    assert list(est.missing_["row"]) == list(range(40))
    assert set(est.missing_["node"]) == {"0"}
    assert est.missing_["probability"].between(0, 1).all()
    if method != "langevin":  # whose edges have not come yet
        assert est.inclusion_[0, 1] > 0.9
        p, other = est.missing_["probability"].to_numpy(), data[:40, 1]
        assert p[other == 1].mean() > p[other == 0].mean() + 0.2
    assert len(SpikeSlabMRF(method=method, **QUICK).fit(data).missing_) == 0


def test_a_constant_column_is_allowed(data):
    data[:, 2] = 1
    with pytest.warns(ConstantColumnWarning):
        est = SpikeSlabMRF(method="exact", **QUICK).fit(data)
    assert np.isfinite(est.theta_).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "magic"},
            "method must be one of 'auto', 'reversible-jump', 'exact', 'langevin', or an object of ",
        ),
        ({"method": methods.Tree()}, "method must be .*, got Tree"),
        ({"prior": "slab"}, "prior must be 'spike-slab' or a priors.SpikeSlab, got 'slab'"),
        ({"prior": Beta()}, "prior must be .*, got Beta"),
        ({"candidates": "all"}, "candidates must be .*, got 'all'"),
    ],
)
def test_bad_options(options, message, data):
    with pytest.raises(OptionError, match=message):
        SpikeSlabMRF(**QUICK | options).fit(data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SpikeSlab(1.5), "density must be .*, got 1.5"),
        (lambda: SpikeSlab((5, 5)), r"density must be .*, got \(5, 5\)"),
        (lambda: SpikeSlab(slab=3.0), "slab must be .*, got 3.0"),
        (lambda: SpikeSlab(slab="cauchy:1"), "slab must be .*, got 'cauchy:1'"),
        (lambda: SpikeSlab(slab=Cauchy([1.0, 2.0])), "slab must be .*, got "),
        (lambda: SpikeSlab(bias_scale=-1), "bias_scale must be .*, got -1"),
        (lambda: methods.LangevinJumps(n_particles=1), "n_particles must be an integer from 2 .*, got 1"),
    ],
)
def test_bad_options_of_objects(make, message):
    with pytest.raises(OptionError, match=message):
        make()


def test_bad_data(data):
    with pytest.raises(DataError, match="X must have at least two columns, got 1"):
        SpikeSlabMRF(**QUICK).fit(data[:, :1])
    with pytest.raises(OptionError, match="candidates must be a graph with at least one edge, got 'no edges'"):
        SpikeSlabMRF(candidates=[], **QUICK).fit(data)
    with pytest.raises(DataError, match=r"must be binary, .* the first is 2"):
        SpikeSlabMRF(**QUICK).fit(data + 1)
    with pytest.raises(Exception, match="7"):
        SpikeSlabMRF([(0, 7)], **QUICK).fit(data)
    est = SpikeSlabMRF(method="exact", **QUICK).fit(data)
    for group, message in (
        ([9], "nodes: 9 is not a node"),
        ([1, 1], "nodes must be different nodes, got"),
        (["x"], "nodes: 'x' is not"),
    ):
        with pytest.raises(OptionError, match=message):
            est.predict_conditional(data, group)
    with pytest.raises(OptionError, match=r"average must be .*, got 'median'"):
        est.score(data, average="median")
    with pytest.raises(OptionError, match=r"probability must be .*, got 1"):
        est.table("edges", 1)
