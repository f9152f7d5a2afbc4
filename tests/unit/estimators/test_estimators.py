"""The scikit-learn face: contract, attributes, agreement with the exact answers, and bad input."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayesmrf import datasets, graphs
from bayesmrf.engines import Elimination
from bayesmrf.errors import DataError, GraphError, OptionError, TooWideError
from bayesmrf.estimators import (
    RBM,
    BayesianMRF,
    CompareMRF,
    GroupedMRF,
    LabelFieldMRF,
    MaximumLikelihoodMRF,
    SpikeSlabMRF,
)
from bayesmrf.estimators.base import data_hash
from bayesmrf.methods import AuxiliaryParticles
from bayesmrf.models import Agreement
from bayesmrf.priors import Beta, DirichletProcess
from tests.oracle import states as oracle
from tests.oracle.bounds import assert_other_share, assert_share

RUN = {"n_draws": 30, "n_warmup": 5, "n_chains": 2, "progress": False, "random_state": 0}
QUICK = {"fields": False, **RUN}


class Signs:
    """scikit-learn's checks fit real numbers; these estimators take binary states. The checks run on the signs."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(signs(X), y, sample_weight)

    def score(self, X, y=None, sample_weight=None):
        return super().score(signs(X), y, sample_weight)

    def score_samples(self, X):
        return super().score_samples(signs(X))


def signs(X):
    if issparse(X):
        return X
    values = np.asarray(X)
    if values.dtype == object and any(isinstance(v, dict) for v in values.ravel()):
        return X  # to be refused
    values = values.astype(complex if np.iscomplexobj(values) else float)
    if np.iscomplexobj(values) or np.isinf(values).any():
        return X  # to be refused
    if np.isnan(values).any():
        return np.where(np.isnan(values), np.nan, values > 0)
    return X.gt(0).astype(int) if hasattr(X, "columns") else (values > 0).astype(int)


class GroupedSigns(Signs, GroupedMRF):
    pass


class SpikeSlabSigns(Signs, SpikeSlabMRF):
    pass


class MaximumLikelihoodSigns(Signs, MaximumLikelihoodMRF):
    pass


class BayesianSigns(Signs, BayesianMRF):
    pass


class CompareParities(CompareMRF):
    """Columns of the checks may be positive; a second group has the rows of the first with the other states."""

    def fit(self, X, y=None, sample_weight=None):
        X = parities(X)
        if issparse(X) or np.asarray(X).ndim != 2 or np.asarray(X).dtype.kind not in "iuf":
            return super().fit(X, np.zeros(len(X.toarray() if issparse(X) else X)), sample_weight)  # to be refused
        both = pd.concat([X, 1 - X]) if hasattr(X, "columns") else np.concatenate([X, 1 - X])
        weight = None if sample_weight is None else np.tile(np.asarray(sample_weight), 2)
        return super().fit(both, np.repeat([0, 1], len(X)), weight)

    def score(self, X, y=None, sample_weight=None):
        return super().score(parities(X), np.zeros(len(X)), sample_weight)

    def score_samples(self, X):
        return super().score_samples(parities(X), np.zeros(len(X)))


def parities(X):
    """Whether 2.5 x without its fraction is odd, of each x."""
    x = signs(X)
    if x is X:
        return X
    found = np.floor(2.5 * np.asarray(X, dtype=float)) % 2
    return pd.DataFrame(found, X.index, X.columns) if hasattr(X, "columns") else found


class RBMSigns(Signs, RBM):
    def partial_fit(self, X, y=None):
        return super().partial_fit(signs(X), y)

    def transform(self, X):
        return super().transform(signs(X))

    def score(self, X, y=None):
        return RBM.score(self, signs(X), y)


def expected_failures(estimator):
    failures = {
        "check_dtype_object": "a cell that is no number is refused by a DataError that names it, not a TypeError"
    }
    if isinstance(estimator, SpikeSlabMRF | BayesianMRF | CompareMRF):
        failures["check_sample_weight_equivalence_on_dense_data"] = "all pairs of 30 nodes are too wide for 'exact'"
    if isinstance(estimator, CompareMRF):
        failures["check_fit2d_1sample"] = "a small group is refused by a DataError that names it, not a single sample"
    return failures


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
@parametrize_with_checks(
    [
        GroupedSigns(**QUICK | {"n_draws": 5}),
        GroupedSigns(**QUICK | {"n_draws": 5, "candidates": "complete", "fields": "grouped"}),
        SpikeSlabSigns(method="exact", **RUN | {"n_draws": 5}),
        MaximumLikelihoodSigns(),
        BayesianSigns(kernel="gibbs", **RUN | {"n_draws": 5}),
        CompareParities(method="exact", **RUN | {"n_draws": 5}),
        RBMSigns(n_hidden=2, n_steps=20, random_state=0),
        LabelFieldMRF(kernel="metropolis", engine="mean-field", **RUN | {"n_draws": 5}),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def grid_data(rng):
    """4 x 4 grid, two groups far apart, 400 states."""
    graph = graphs.grid(4, 4)
    groups = rng.integers(2, size=24)
    theta = np.array([1.2, -0.6])[groups]
    model, engine = Agreement(graph), Elimination()
    return graph, groups, theta, engine.sample(model, theta, engine.prepare(model), 400, rng)


def test_sweeps_of_exact_particles_are_refused():
    with pytest.raises(OptionError, match=r"n_sweeps must be omitted with inner='exact', .*, got 7; remove it"):
        AuxiliaryParticles(inner="exact", n_sweeps=7)


@pytest.mark.parametrize("method", ["exact", "stripped-beta", "auxiliary-variable"])
def test_attributes(method, grid_data):
    graph, _groups, theta, X = grid_data
    slow = method == "auxiliary-variable"
    options = QUICK | ({"n_draws": 4, "n_warmup": 1} if slow else {})
    est = GroupedMRF(graph=graph.edges, method=AuxiliaryParticles(n_walk=5) if slow else method, **options).fit(X)
    truth = 1 / (1 + np.exp(-theta))
    assert est.agreement_.shape == est.groups_.shape == est.mle_.shape == (24,)
    assert np.abs(est.agreement_ - truth).mean() < 0.1
    assert est.n_groups_.sum() == pytest.approx(1)
    np.testing.assert_array_equal(est.edges_, graph.edges)
    posterior = est.posterior_["posterior"]
    assert posterior["agreement"].dims == ("chain", "draw", "edge")
    np.testing.assert_allclose(posterior["agreement"].mean(("chain", "draw")), est.agreement_)
    assert est.posterior_.attrs["method"] == method
    shared = est.co_clustering([0, "0-1", 5])
    assert shared[0, 1] == 1.0
    np.testing.assert_allclose(shared, shared.T)
    states = est.sample(50)
    assert states.shape == (50, 16)
    assert set(np.unique(states)) <= {0, 1}


def test_score_at_the_mean_is_the_exact_log_likelihood(grid_data):
    graph, _, _, X = grid_data
    est = GroupedMRF(graph=graph, **QUICK).fit(X)
    model = Agreement(graph)
    expected = est.theta_ @ model.statistics(X[:50]) - oracle.log_z(model, est.theta_)
    assert est.score(X[:50], average="mean") == pytest.approx(expected)
    doubled = est.score(X[:2], sample_weight=[3, 1])
    assert doubled == pytest.approx((3 * est.score(X[:1]) + est.score(X[1:2])) / 4)


def test_samples_follow_the_fitted_moments(grid_data):
    graph, _, _, X = grid_data
    est = MaximumLikelihoodMRF(graph=graph, fields=False, random_state=1).fit(X)
    moments = oracle.moments(Agreement(graph), est.theta_)
    found = Agreement(graph).statistics(est.sample(4000))
    assert_share(4000 * found, 4000, moments)
    assert_other_share(4000 * found, 4000, oracle.moments(Agreement(graph), 0.8 * est.theta_))


def test_grouping_beats_the_grouping_blind_estimate(grid_data):
    """Two groups, 24 edges: the exact posterior mean has a smaller error than the MLE (fails with odds below 1e-6)."""
    graph, _, theta, X = grid_data
    est = GroupedMRF(graph=graph, method="exact", **QUICK | {"n_draws": 100}).fit(X)
    truth = 1 / (1 + np.exp(-theta))
    assert np.abs(est.agreement_ - truth).mean() < np.abs(est.mle_ - truth).mean()


def test_tied_estimate_has_one_value_for_each_group(grid_data):
    graph, groups, theta, X = grid_data
    tied = MaximumLikelihoodMRF(graph=graph, ties=groups, fields=False).fit(X)
    assert len(np.unique(np.round(tied.agreement_, 12))) == len(np.unique(groups))
    assert tied.method_ == "exact"
    truth = 1 / (1 + np.exp(-theta))
    assert np.abs(tied.agreement_ - truth).mean() < 0.06


def test_codings_and_graph_forms_give_the_same_draws(grid_data):
    graph, _, _, X = grid_data
    reference = GroupedMRF(graph=graph, **QUICK).fit(X)
    names = [f"n{i}" for i in range(16)]
    frame = pd.DataFrame(X, columns=names)
    edges = pd.DataFrame([(names[u], names[v]) for u, v in graph.edges])
    forms = [(2 * X - 1, graph.edges), (X.astype(bool), graph.edges.tolist()), (frame, edges)]
    g = nx.Graph()
    g.add_nodes_from(names)
    g.add_edges_from(edges.itertuples(index=False))
    for data, form in forms:
        est = GroupedMRF(graph=form, **QUICK).fit(data)
        np.testing.assert_array_equal(est.agreement_, reference.agreement_)
    assert set(np.unique(GroupedMRF(graph=graph, **QUICK).fit(2 * X - 1).sample(20))) == {-1, 1}
    assert GroupedMRF(graph=g, **QUICK).fit(frame).graph_.nodes == g.nodes


def test_counts_equal_repeated_rows(rng):
    table = datasets.coronary()
    X, counts = table.iloc[:, :6], table["count"].to_numpy()
    rows = np.repeat(X.to_numpy(), counts, axis=0)
    a = GroupedMRF(**QUICK | {"fields": True}).fit(X, sample_weight=counts)
    b = GroupedMRF(**QUICK | {"fields": True}).fit(rows)
    np.testing.assert_allclose(a.agreement_, b.agreement_, rtol=1e-9)
    assert a.posterior_["posterior"]["theta"].sizes["feature"] == 21


def test_checksums_tell_data_apart_by_fractions_of_a_count(rng):
    """Scores and weights may be halves or quarters; sums in another order differ in their last bits."""
    graph, n = graphs.path(3), 120.25
    sums = rng.integers(0, 400, 5) / 4
    known = data_hash(graph, sums / n, n)
    assert data_hash(graph, sums / n * (1 + 1e-13 * rng.standard_normal(5)), n) == known
    for change in (0.25, -0.25, 0.5):
        assert data_hash(graph, (sums + change * (np.arange(5) == 2)) / n, n) != known


def test_new_data_are_brought_to_the_order_of_the_columns(grid_data):
    graph, _, _, X = grid_data
    frame = pd.DataFrame(X, columns=[f"n{i}" for i in range(16)])
    est = MaximumLikelihoodMRF(graph=graph).fit(frame)
    assert est.score(frame[frame.columns[::-1]]) == pytest.approx(est.score(frame))
    with pytest.raises(DataError, match="columns of the fitted data, but 'n3' is missing"):
        est.score(frame.drop(columns="n3"))


def test_names_of_a_former_fit_are_forgotten(rng):
    """As scikit-learn requires: an array has no names."""
    x = rng.integers(2, size=(40, 3))
    for estimator in (SpikeSlabMRF(method="exact", **RUN), MaximumLikelihoodMRF(), RBM(n_hidden=1)):
        assert list(estimator.fit(pd.DataFrame(x, columns=list("abc"))).feature_names_in_) == list("abc")
        assert not hasattr(estimator.fit(x), "feature_names_in_")


def two_states(rng):
    return np.vstack([rng.integers(2, size=(40, 4)), np.eye(4, dtype=int), 1 - np.eye(4, dtype=int)])


REFITS = {
    "edges that exist": (
        GroupedMRF(candidates="complete", fields="grouped", **RUN),
        {"candidates": None, "fields": True},
    ),
    "estimate without groups": (GroupedMRF(**RUN), {"candidates": "complete"}),
    "agreement": (MaximumLikelihoodMRF(), {"model": "ising"}),
}


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")  # few draws
@pytest.mark.parametrize("name", REFITS)
def test_a_former_fit_is_forgotten(name, rng):
    """Inclusions of a former fit removed edges of ``graph_`` and of the score at the mean."""
    X = two_states(rng)
    est, changed = clone(REFITS[name][0]).fit(X), REFITS[name][1]
    before = set(vars(est))
    again, new = est.set_params(**changed).fit(X), clone(est).set_params(**changed).fit(X)
    assert vars(again).keys() == vars(new).keys()
    assert before - vars(new).keys()  # something was left
    assert again.score(X, average="mean") == new.score(X, average="mean")
    assert nx.utils.graphs_equal(again.graph_, new.graph_)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_a_fit_that_is_stopped_leaves_no_results_of_other_data(rng):
    """The next data may be in another coding or order, in which old draws would be wrong; control: the same data."""
    X = two_states(rng)
    est = BayesianMRF(**RUN).fit(X)
    est.score(X)
    with pytest.raises(OptionError, match="ties must be"):
        est.set_params(ties="none").fit(2 * X[:, ::-1] - 1)
    with pytest.raises(NotFittedError):
        est.score(X)
    machine = RBM(n_hidden=1, n_steps=5).fit(X)
    machine.score(X)
    with pytest.raises(DataError):
        machine.fit(X + 1)
    with pytest.raises(NotFittedError):
        machine.score(X)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
@pytest.mark.parametrize(
    ("estimator", "changed"),
    [
        (BayesianMRF(**RUN), {"model": "ising"}),
        (SpikeSlabMRF(method="exact", **RUN), {"model": "agreement"}),
        (GroupedMRF(**RUN), {"fields": False}),
        (MaximumLikelihoodMRF(), {"fields": False}),
    ],
)
def test_parameters_that_are_set_later_do_not_change_the_model_of_theta(estimator, changed, rng):
    """Until the next fit."""
    X = two_states(rng)
    est = clone(estimator).fit(X)
    known = est.score(X), est.feature_names_.tolist(), est.sample(5, random_state=0).tolist()
    est.set_params(**changed)
    assert known == (est.score(X), est.feature_names_.tolist(), est.sample(5, random_state=0).tolist())
    assert est.fit(X).feature_names_.tolist() != known[1] or est.score(X) != known[0]


def test_learn_graph_by_number(rng):
    X = (rng.random((300, 6)) < 0.5).astype(int)
    X[:, 1] = X[:, 0] ^ (rng.random(300) < 0.1)
    est = GroupedMRF(graph="learn:3", **QUICK).fit(X)
    assert len(est.edges_) == 3
    assert [0, 1] in est.edges_.tolist()


def test_same_seed_same_draws_for_any_number_of_workers(grid_data):
    graph, _, _, X = grid_data
    one, two = (GroupedMRF(graph=graph, n_jobs=j, **QUICK).fit(X) for j in (1, 2))
    np.testing.assert_array_equal(one.posterior_["posterior"]["theta"], two.posterior_["posterior"]["theta"])
    other = GroupedMRF(graph=graph, **QUICK | {"random_state": 1}).fit(X)
    assert (one.agreement_ != other.agreement_).any()


def test_checkpoint_of_the_estimator_continues(grid_data, tmp_path):
    graph, _, _, X = grid_data
    est = GroupedMRF(graph=graph, checkpoint=tmp_path / "run", **QUICK | {"random_state": None})
    first = est.fit(X).agreement_
    again = clone(est).fit(X).agreement_  # the seed is the stored one, and nothing is left to do
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "magic"}, OptionError, "method must be one of 'auto', 'tree', 'exact'.*, got 'magic'"),
        ({"prior": Beta()}, OptionError, "prior must be 'dirichlet-process' or a priors.DirichletProcess, got Beta"),
        (
            {"prior": DirichletProcess(), "candidates": "complete"},
            OptionError,
            "candidates must be None where the prior",
        ),
        (
            {"method": "tree"},
            GraphError,
            "method must be 'exact', 'particle' or 'stripped-beta' for a graph with a cycle",
        ),
        (
            {"method": "tree", "fields": True, "graph": [(0, 1)]},
            OptionError,
            "^method must be 'exact', 'particle', .* for node fields with model='agreement', got 'tree'.$",
        ),
        ({"n_draws": 0}, OptionError, "n_draws must be .*, got 0"),
        ({"n_chains": 0}, OptionError, "n_chains must be .*, got 0"),
        ({"graph": [(0, 0)]}, GraphError, "joins '0' to itself"),
        ({"graph": [(0, 1), (1, 0)]}, GraphError, "duplicate"),
        ({"graph": [(0, 99)]}, GraphError, "out of range"),
        ({"graph": [("0", "nobody")]}, GraphError, "'nobody'"),
        ({"graph": []}, OptionError, "graph must be a graph with at least one edge, got 'no edges'"),
        ({"graph": "learn:many"}, OptionError, "graph must be .*, got 'learn:many'"),
    ],
)
def test_bad_options(options, error, message, rng):
    X = rng.integers(0, 2, size=(30, 6))
    with pytest.raises(error, match=message):
        GroupedMRF(**QUICK | options).fit(X)


def test_exact_on_a_wide_graph_says_how_wide(rng):
    X = rng.integers(0, 2, size=(30, 900))
    with pytest.raises(TooWideError, match=r"width .*GiB|GiB.*width"):
        GroupedMRF(graph=graphs.grid(30, 30), method="exact", **QUICK).fit(X)


def test_unknown_edge_in_co_clustering(grid_data):
    graph, _, _, X = grid_data
    est = GroupedMRF(graph=graph, **QUICK).fit(X)
    with pytest.raises(OptionError, match="'0-9' is not an edge"):
        est.co_clustering(["0-9"])


def test_networks_carry_what_was_estimated(rng):
    X = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=["a", "b", "c"])
    X["b"] = X["a"] ^ (rng.random(60) < 0.2)
    est = GroupedMRF(candidates="complete", fields="grouped", **RUN).fit(X)
    found = est.graph_
    assert list(found.nodes) == ["a", "b", "c"]
    assert set(found.edges) == {pair for pair in [("a", "b"), ("a", "c"), ("b", "c")] if inclusion(est, *pair) > 0.5}
    assert ("a", "b") in found.edges
    assert (est.edges_[0].tolist(), est.feature_names_.tolist()) == ([0, 1], ["a-b", "a-c", "b-c", "a", "b", "c"])
    expected = {"index": 0, "weight": est.theta_[0], "agreement": est.agreement_[0], "group": est.groups_[0]}
    assert found.edges["a", "b"] == expected | {"inclusion": inclusion(est, "a", "b")}
    assert found.nodes["c"] == {"bias": est.theta_[5], "group": est.field_groups_[2]}
    assert list(est.interval().columns) == ["mean", "lower", "upper"]
    free = MaximumLikelihoodMRF(found, fields=False).fit(X)  # networks are graphs for other estimators
    assert free.graph_.edges["a", "b"]["weight"] == free.theta_[list(free.feature_names_).index("a-b")]
    assert free.graph_.nodes["c"] == {}
    tables = MaximumLikelihoodMRF(model="symmetric", fields=False).fit(X)
    assert tables.graph_.edges["a", "b"]["weight"].shape == (tables._model().n_parameters,)
    alone = MaximumLikelihoodMRF([]).fit(X)
    assert dict(alone.graph_.nodes(data="bias")) == dict(zip("abc", alone.theta_, strict=True))
    assert not alone.graph_.edges


def inclusion(est, first, second):
    place = list(est.feature_names_in_).index
    return est.inclusion_[place(first), place(second)]
