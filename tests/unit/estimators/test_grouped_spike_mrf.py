"""`GroupedMRF` whose edges may be absent and whose nodes may share fields: attributes, resumption, bad input.

The data are all states with the counts that a model makes most probable, so that what they say is known beforehand.
"""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from bayesmrf import GroupedMRF, graphs
from bayesmrf.errors import GraphError, OptionError
from bayesmrf.models import Agreement
from bayesmrf.partitions import canonical
from bayesmrf.priors import Beta, DirichletProcess
from bayesmrf.results.summary import summarise
from tests.oracle import states as oracle

NAMES = list("abcde")
LINKS = {("a", "b"): 1.5, ("b", "c"): 1.5, ("c", "d"): -0.9, ("d", "e"): -0.9}
FIELDS = np.array([0.7, 0.7, -0.5, -0.5, 0.7])
QUICK = {"method": "exact", "n_draws": 120, "n_warmup": 30, "n_chains": 2, "progress": False}


def table_of(links, biases=None, n=600):
    """Every state of five nodes, and how often it is seen."""
    graph = graphs.complete(5, tuple(NAMES))
    model = Agreement(graph, biases is not None)
    theta = [links.get((NAMES[u], NAMES[v]), 0.0) for u, v in graph.edges]
    p = oracle.probabilities(model, np.append(theta, [] if biases is None else biases))
    return pd.DataFrame(oracle.all_states(5), columns=NAMES), np.rint(n * p)


def fit(links, biases=None, **options):
    X, counts = table_of(links, biases)
    share = {"candidates": "complete", "fields": False if biases is None else "grouped"}
    return GroupedMRF(**QUICK | share | options).fit(X, sample_weight=counts)


def says_the_truth(est):
    """Two groups of two edges each, and no others."""
    there = np.array([est.inclusion_[u, v] > 0.5 for u, v in est.edges_])
    named = [(est.feature_names_in_[u], est.feature_names_in_[v]) for u, v in est.edges_]
    assert [pair for pair, t in zip(named, there, strict=True) if t] == list(LINKS)
    np.testing.assert_array_equal(est.groups_[~there], -1)
    np.testing.assert_array_equal(canonical(est.groups_[there]), [0, 0, 1, 1])
    assert est.n_groups_.idxmax() == 2
    truth = 1 / (1 + np.exp(-np.array([LINKS.get(pair, 0.0) for pair in named])))
    np.testing.assert_allclose(est.agreement_, truth, atol=0.05)


@pytest.mark.parametrize("method", ["exact", "particle"])
def test_structure_and_groups_of_a_strong_truth(method, rng):
    est = fit(LINKS, method=method, random_state=int(rng.integers(2**31)))
    says_the_truth(est)
    assert est.method_ == method
    assert not hasattr(est, "mle_")
    assert "mle" not in est.posterior_["constant_data"]
    posterior = est.posterior_["posterior"]
    np.testing.assert_array_equal(posterior["included"] == 0, posterior["groups"] == 0)
    np.testing.assert_array_equal(posterior["included"] == 0, posterior["agreement"] == 0.5)
    n_edges = posterior["included"].sum("edge")
    np.testing.assert_array_equal(est.statistic(nx.number_of_edges, of="graph"), n_edges)
    u, v = est.edges_.T
    np.testing.assert_allclose(est.inclusion_[u, v], posterior["included"].mean(("chain", "draw")))
    np.testing.assert_array_equal(est.inclusion_, est.inclusion_.T)
    assert (np.diag(est.inclusion_) == 0).all()
    # Given which edges exist, p0 is Beta(5 + m, 5 + 10 - m): some hundred independent draws give its mean.
    m = posterior["included"].sum("edge").values.mean()
    assert est.density_ == pytest.approx((5 + m) / 20, abs=6 * 0.12 / np.sqrt(100))


@pytest.mark.parametrize("other", [{}, {**LINKS, ("a", "e"): 1.5}, {**LINKS, ("d", "e"): -1.8}])
def test_another_truth_is_not_mistaken_for_it(other):
    with pytest.raises(AssertionError):
        says_the_truth(fit(other))


def test_edges_that_are_no_candidates_do_not_exist():
    spike = DirichletProcess(density=Beta(5.0, 5.0))
    some = [("b", "c"), ("a", "b"), ("a", "c")]
    est = fit(LINKS, candidates=some)
    assert est.posterior_["posterior"]["edge"].values.tolist() == ["b-c", "a-b", "a-c"]
    np.testing.assert_array_equal(est.inclusion_[3:], 0)
    assert est.inclusion_[0, 1] > 0.9 > 0.5 > est.inclusion_[0, 2]
    again = fit(LINKS, candidates=None, graph=some, prior=spike)  # with a spike, the edges of a graph may be absent too
    np.testing.assert_array_equal(np.sign(again.inclusion_ - 0.5), np.sign(est.inclusion_ - 0.5))


def test_a_fixed_density_is_no_variable_and_matters():
    few, many = (fit({}, prior=DirichletProcess(density=p0), random_state=0) for p0 in (0.01, 0.99))
    assert few.density_ == 0.01
    assert "density" not in few.posterior_["posterior"]
    assert many.inclusion_.sum() > few.inclusion_.sum()
    np.testing.assert_array_equal(few.groups_, -1)
    default, given = (fit({}, random_state=0, **more) for more in ({}, {"prior": DirichletProcess(density=Beta(5, 5))}))
    np.testing.assert_array_equal(default.inclusion_, given.inclusion_)


@pytest.mark.parametrize("method", ["exact", "particle"])
def test_node_fields_in_groups(method, rng):
    est = fit(LINKS, FIELDS, method=method, random_state=int(rng.integers(2**31)))
    np.testing.assert_array_equal(canonical(est.field_groups_), canonical((FIELDS < 0).astype(int)))
    np.testing.assert_allclose(est.theta_[10:], FIELDS, atol=0.15)
    assert est.posterior_["posterior"]["field_groups"].dims == ("chain", "draw", "node")
    own = fit(LINKS, FIELDS, fields=True)
    assert not hasattr(own, "field_groups_")
    assert "field_groups" not in own.posterior_["posterior"].coords


def test_node_fields_that_are_alike_make_one_group():
    assert len(set(fit(LINKS, np.full(5, 0.4)).field_groups_)) == 1


@pytest.mark.parametrize("method", ["exact", "particle"])
def test_a_run_that_was_stopped_goes_on_with_the_same_draws(method, rng, tmp_path):
    given = {"method": method, "n_warmup": 5, "random_state": int(rng.integers(2**31))}
    whole = fit(LINKS, FIELDS, n_draws=30, **given)
    fit(LINKS, FIELDS, n_draws=11, checkpoint=tmp_path / "run", **given)
    resumed = fit(LINKS, FIELDS, n_draws=30, checkpoint=tmp_path / "run", **given)
    for name in ("theta", "groups", "field_groups", "included", "density", "n_groups"):
        np.testing.assert_array_equal(whole.posterior_["posterior"][name], resumed.posterior_["posterior"][name])
    np.testing.assert_array_equal(whole.groups_, resumed.groups_)
    other = fit(LINKS, FIELDS, n_draws=30, **given | {"random_state": given["random_state"] + 1})
    assert (other.posterior_["posterior"]["theta"].values != whole.posterior_["posterior"]["theta"].values).any()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"prior": DirichletProcess()}, OptionError, "candidates must be None where the prior has no density"),
        ({"method": "tree"}, OptionError, "method must be 'exact' or 'particle' for absent edges"),
        ({"method": "stripped-beta"}, OptionError, "method must be 'exact' or 'particle' for absent edges"),
        ({"method": "auxiliary-variable"}, OptionError, "method must be 'exact' or 'particle' for absent edges"),
        (
            {"candidates": [("a", "Zoe")]},
            GraphError,
            "candidates: 1 node.s. are not columns of the data: 'Zoe'; the col",
        ),
        ({"candidates": [(0, 77)]}, GraphError, "candidates: edge 0 = .0, 77. is out of range for 5 nodes"),
        ({"candidates": [(0, 1), (1, 0)]}, GraphError, "candidates: .* duplicate"),
        ({"graph": [(0, 1)]}, OptionError, "graph must be omitted with candidates, .*; remove one of the two"),
        ({"candidates": "some"}, OptionError, "candidates must be .*, got 'some'"),
        ({"candidates": []}, OptionError, "candidates must be a graph with at least one edge"),
        ({"fields": "own"}, OptionError, "fields must be .*, got 'own'"),
    ],
)
def test_bad_options(options, error, message):
    with pytest.raises(error, match=f"^{message}"):
        fit(LINKS, **options)


@pytest.mark.parametrize("method", ["tree", "stripped-beta", "auxiliary-variable"])
def test_methods_that_know_no_groups_of_fields(method):
    with pytest.raises(OptionError, match=r"^method must be 'exact' or 'particle' for .*fields"):
        fit(LINKS, FIELDS, method=method, candidates=None, graph=[("a", "b")])


@pytest.mark.parametrize("method", ["exact", "particle"])
def test_missing_values_are_drawn_with_the_parameters(method, rng):
    """Of two nodes that always agree the missing value is that of the other; the summary tells how many there were."""
    x = rng.random(200) < 0.5
    X = pd.DataFrame({"a": x, "b": x, "c": rng.random(200) < 0.5}).astype(float)
    X.loc[:9, "a"] = np.nan
    found = GroupedMRF(candidates="complete", **QUICK | {"method": method}).fit(X)
    assert list(found.missing_["node"].unique()) == ["a"]
    probability = found.missing_.set_index("row")["probability"].sort_index()
    # The posterior of an agreement with 190 of 190 observations is about Beta(191, 1): its mean is 0.995.
    np.testing.assert_allclose(probability, X["b"][:10], atol=0.1)
    assert "10 missing values" in summarise(found.posterior_).data_sentence


@pytest.mark.parametrize("method", ["tree", "stripped-beta", "auxiliary-variable"])
def test_methods_without_missing_values(method):
    X = pd.DataFrame({"a": [0, 1, np.nan], "b": [0, 1, 1]})
    with pytest.raises(OptionError, match=r"^method must be 'exact' or 'particle' for missing values with .*, got"):
        GroupedMRF([("a", "b")], fields=False, **QUICK | {"method": method}).fit(X)
