"""Scores, predictions and samples of rows with missing values and clamped nodes, against sums over all states."""

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from bayesmrf import RBM, BayesianMRF, CompareMRF, GroupedMRF, MaximumLikelihoodMRF, SpikeSlabMRF, graphs
from bayesmrf.answers.predictions import normaliser, partly_seen
from bayesmrf.answers.predictions.partly_seen import PartlySeen
from bayesmrf.base import LOG_Z, MOMENTS, SAMPLE, Inference, Kind, Stateless
from bayesmrf.engines import Tempered
from bayesmrf.errors import ApproximateScoreWarning, ConvergenceWarning, DataError, OptionError
from bayesmrf.models import Boltzmann, Ordinal, Potts, Symmetric
from tests.oracle.bounds import P, assert_mean, assert_other_mean
from tests.oracle.potts import p_value

FEW = {"n_draws": 40, "n_warmup": 20, "n_chains": 2, "random_state": 0, "progress": False}
D = 4

pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")  # few draws of few rows


class Triples:
    """Weights of pairs and of triples of active nodes, and biases: a form that the package does not have."""

    name, family, fields, n_states, n_parameters = "triples", "triples", True, 2, 1

    def __init__(self, graph):
        r, d = graph.n_edges, graph.n_nodes
        self.graph, self.n_edges = graph, r
        self.triples = list(combinations(range(d), 3))
        self.feature_names = [*graph.edge_names, *graph.names, *("-".join(map(str, t)) for t in self.triples)]
        self.n_features = len(self.feature_names)
        self.node_starts = r + np.arange(d + 1)
        self.feature_low, self.feature_high = np.zeros(self.n_features), np.ones(self.n_features)

    def features(self, states):
        u, v = self.graph.edges.T
        triples = [states[:, t].prod(axis=1) for t in self.triples]
        return np.column_stack([states[:, u] * states[:, v], states, *triples])

    def statistics(self, states, weights=None):
        return np.average(self.features(np.asarray(states, float)), axis=0, weights=weights)


class All(Stateless):
    """Engine of `Triples`: sums over all states."""

    name, kind, families, answers = "all", Kind.EXACT, frozenset({"triples"}), frozenset({LOG_Z, MOMENTS, SAMPLE})

    def prepare(self, model):
        states = np.array(list(product([0, 1], repeat=model.graph.n_nodes)), np.int8)
        return states, model.features(states.astype(float))

    def infer(self, model, theta, plan, want=MOMENTS, state=None):
        log_weight = plan[1] @ theta
        log_z = np.logaddexp.reduce(log_weight)
        return Inference(log_z=float(log_z), moments=np.exp(log_weight - log_z) @ plan[1])

    def sample(self, model, theta, plan, n_samples, rng):
        p = np.exp(plan[1] @ theta - self.infer(model, theta, plan).log_z)
        return plan[0][rng.choice(len(p), n_samples, p=p / p.sum())]


CASES = {
    "agreement, maximum likelihood": (MaximumLikelihoodMRF(), 2),
    "ising, maximum likelihood": (MaximumLikelihoodMRF(model="ising"), 2),
    "ordinal, maximum likelihood": (MaximumLikelihoodMRF(model="ordinal"), 3),
    "potts, maximum likelihood": (MaximumLikelihoodMRF(model="potts"), 3),
    "symmetric, maximum likelihood": (MaximumLikelihoodMRF(model="symmetric"), 3),
    "boltzmann": (BayesianMRF(**FEW), 2),
    "ising": (BayesianMRF(model="ising", **FEW), 2),
    "ordinal": (BayesianMRF(model="ordinal", **FEW), 3),
    "potts": (BayesianMRF(model="potts", **FEW), 3),
    "own model": (BayesianMRF(model=Triples, engine=All(), **FEW), 2),
    "edges, boltzmann": (SpikeSlabMRF(**FEW), 2),
    "edges, ising": (SpikeSlabMRF(model="ising", **FEW), 2),
    "edges, ordinal": (SpikeSlabMRF(model="ordinal", **FEW), 3),
    "edges, potts": (SpikeSlabMRF(model="potts", **FEW), 3),
    "groups of edges": (GroupedMRF(**FEW), 2),
    "groups of edges, absent edges": (GroupedMRF(candidates="complete", **FEW), 2),
    "groups of edges, ordinal": (GroupedMRF(model="ordinal", **FEW), 3),
    "groups of edges, potts": (GroupedMRF(model="potts", **FEW), 3),
    "groups of edges, tables": (GroupedMRF(model="symmetric", **FEW), 3),
    "two groups of people": (CompareMRF(**FEW), 2),
    "three groups of people, ordinal": (CompareMRF(model="ordinal", baseline="spike-slab", **FEW), 3),
    "hidden units": (RBM(n_hidden=3, n_steps=300, random_state=0), 2),
}


def laws(est, group):
    """All states, and their probabilities under each draw that is averaged, (n_draws, n_states)."""
    m = 3 if est.__class__ is not RBM and est._model().n_states == 3 else 2
    states = np.array(list(product(range(m), repeat=D)), dtype=np.int8)
    if isinstance(est, RBM):
        hidden, k = np.array(list(product((0, 1), repeat=est.n_hidden))), est.n_hidden * D
        fields = states @ est.theta_[:k].reshape(-1, D).T + est.theta_[k + D :]
        log_p = (np.logaddexp.reduce(fields @ hidden.T, axis=1) + states @ est.theta_[k : k + D])[None]
    else:
        thetas = np.atleast_2d(est.theta_)
        if not isinstance(est, MaximumLikelihoodMRF):
            thetas = est.posterior_["posterior"]["theta"].values
            thetas = thetas if group is None else thetas[:, :, group]
            thetas = thetas.reshape(-1, thetas.shape[-1])
        log_p = thetas @ np.array([est._model().statistics(x[None]) for x in states]).T
    return states, np.exp(log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True))


def seen_in(states, row, nodes=range(D)):
    """Whether states have the values that some nodes of a row have."""
    there = [i for i in nodes if row[i] >= 0]
    return (states[:, there] == row[there]).all(axis=1)


@pytest.fixture(scope="module")
def fit(module_rng):
    known = {}

    def fitted(name):
        if name not in known:
            est, m = CASES[name]
            X = module_rng.integers(0, m, (60, D))
            X[:, 1] = np.where(module_rng.random(60) < 0.8, X[:, 0], X[:, 1])
            X[:m] = np.arange(m)[:, None]
            groups = ["abc"[i % (2 if "two" in name else 3)] for i in range(60)] if "people" in name else None
            given = (X,) if groups is None else (X, groups)
            known[name] = clone(est).fit(*given), m, sorted({*(groups or ())})
            if isinstance(est, RBM):  # which finds no weights in so few rows
                machine = known[name][0]
                machine.theta_ = module_rng.normal(0, 1, len(machine.theta_))
                machine.theta_[:D], machine.theta_[-machine.n_hidden] = [4, 4, -4, 4], -4
        return known[name]

    return fitted


def table(rng, m, n=12):
    """Rows with any number of missing values, the first without any, the next without a missing one."""
    states = rng.integers(0, m, (n, D))
    states[rng.random((n, D)) < 0.4] = -1
    states[0], states[1] = -1, np.abs(states[1])
    return states, np.where(states < 0, np.nan, states)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.EmptyRowsWarning")
@pytest.mark.parametrize("name", CASES)
def test_scores_and_predictions_sum_out_what_is_missing(name, fit, rng):
    """Controls: a missing value taken as 0; clamped values that are not held; seen values that are not read.

    Rows in which all that is predicted is missing have no density.
    """
    est, m, labels = fit(name)
    rows, X = table(rng, m)
    given = [list(np.resize(labels, len(X)))] if labels else []
    scores, clamped, predicted = (np.empty(len(X)) for _ in range(3))
    tables = np.empty((len(X), m**2))
    for i, row in enumerate(rows):
        states, p = laws(est, labels.index(given[0][i]) if labels else None)
        here = p @ seen_in(states, row)
        scores[i] = np.log(here.mean())
        clamped[i] = np.log((here / (p @ seen_in(states, row, [1, 3]))).mean())
        rest = p * seen_in(states, row, [1, 3])
        joint = [rest @ seen_in(states, np.array([a, -1, b, -1])) for a, b in product(range(m), repeat=2)]
        tables[i] = (joint / rest.sum(axis=1)).mean(axis=1)
        predicted[i] = np.log((here / rest.sum(axis=1)).mean())
    scores[(rows < 0).all(axis=1)] = np.nan
    clamped[(rows[:, [0, 2]] < 0).all(axis=1)] = predicted[(rows[:, [0, 2]] < 0).all(axis=1)] = np.nan
    found, there = est.score_samples(X, *given), ~np.isnan(scores)
    np.testing.assert_allclose(found, scores, rtol=1e-8, atol=1e-12)
    weights = rng.integers(0, 3, len(X)) + 1
    keep = {"sample_weight": weights}
    assert est.score(X, *given, **keep) == pytest.approx(np.average(scores[there], weights=weights[there]))
    np.testing.assert_allclose(est.score_samples(X, *given, clamped=[1, 3]), clamped, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(est.predict_conditional(X, *given, [0, 2]), tables, rtol=1e-8, atol=1e-12)
    if not isinstance(est, RBM):
        read = est.conditional_log_likelihood(X, *given, nodes=[0, 2])
        np.testing.assert_allclose(read, predicted, rtol=1e-8, atol=1e-12)
    filled = np.nan_to_num(X)
    assert np.nanmax(np.abs(est.score_samples(filled, *given) - scores)[2:]) > 0.1
    assert np.nanmax(np.abs(clamped - scores)[2:]) > 0.1
    assert np.abs(est.predict_conditional(filled, *given, [0, 2]) - tables).max() > 1e-4
    assert np.abs(tables - tables[0])[2:].max() > 1e-3


@pytest.mark.parametrize("name", CASES)
def test_samples_hold_what_is_clamped(name, fit):
    """Chi-squared test of the joint states. Control: the distribution given another value of the clamped node."""
    est, m, labels = fit(name)
    n, node = 4000, [est.feature_names_in_[1] if "feature_names_in_" in vars(est) else 1][0]
    group = {"group": labels[-1]} if labels else {}
    X = est.sample(n, clamped={node: m - 1}, random_state=3, **group)
    states, p = laws(est, len(labels) - 1 if labels else None)

    def given(value):
        held = p * (states[:, 1] == value)
        return (held / held.sum(axis=1, keepdims=True)).mean(axis=0)

    moved = np.roll(given(0).reshape((m,) * D), m - 1, axis=1).ravel()
    assert (X[:, 1] == m - 1).all()
    assert p_value(SimpleNamespace(graph=graphs.path(D), n_states=m), X, given(m - 1)) > P
    assert p_value(SimpleNamespace(graph=graphs.path(D), n_states=m), X, moved) < P
    rows = np.array([[0, np.nan, m - 1, np.nan], [np.nan] * 4, [1, 0, 1, 0]])
    drawn = est.sample(5, clamped=rows, random_state=1, **group)
    assert drawn.shape == (15, D)
    for row, mine in zip(rows, drawn.reshape(3, 5, D), strict=True):
        there = ~np.isnan(row)
        assert (mine[:, there] == row[there]).all()
    np.testing.assert_array_equal(drawn, est.sample(5, clamped=rows, random_state=1, **group))
    free = est.sample(5, random_state=1, **group)
    np.testing.assert_array_equal(free, est.sample(5, clamped=np.full((1, D), np.nan), random_state=1, **group))


MODELS = {
    "boltzmann": lambda g: Boltzmann(g, fields=True),
    "potts": lambda g: Potts(g, 3),
    "symmetric": lambda g: Symmetric(g, 3),
    "ordinal": lambda g: Ordinal(g, 3, sizes=(3, 2, 3, 3, 2, 3)),
}


@pytest.mark.parametrize("name", MODELS)
def test_sums_of_rows_on_a_sparse_graph(name, rng, monkeypatch):
    """Elimination; and annealed importance sampling where that is too wide, whose sums are right on average."""
    model = MODELS[name](graphs.Graph(6, [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)]))
    theta = rng.normal(0, 0.7, model.n_features)
    sizes = model.used.sum(axis=1)
    states = np.array(list(product(*map(range, sizes))), dtype=np.int8)
    rows = states[rng.integers(0, len(states), 30)]
    rows[rng.random(rows.shape) < 0.5] = -1
    log_p = np.array([model.statistics(x[None]) @ theta for x in states])
    right = np.array([np.logaddexp.reduce(log_p[(states == row)[:, row >= 0].all(axis=1)]) for row in rows])
    found, error = PartlySeen(model, rows).log_sums(theta)
    np.testing.assert_allclose(found, right, rtol=1e-9)
    assert not error.any()
    assert np.abs(PartlySeen(model, rows).log_sums(1.2 * theta)[0] - right).max() > 0.01  # control
    monkeypatch.setattr(partly_seen, "is_cheap", lambda *_: False)
    gone = np.argsort(-(rows < 0).sum(axis=1))[:4]
    ratios, errors = [], []
    for seed in rng.integers(0, 2**32, 60):
        monkeypatch.setattr(partly_seen, "_SEED", int(seed))
        found, error = PartlySeen(model, rows[gone]).log_sums(theta)
        ratios.append(np.exp(found - right[gone]))
        errors.append(error)
    ratios = np.array(ratios)[:, None]
    assert_mean(ratios, 1.0)
    assert_other_mean(1.1 * ratios, 1.0)
    # The relative error of a standard deviation of 60 values is 0.09.
    assert (np.abs(np.log(ratios.std(axis=(0, 1)) / np.mean(errors, axis=0))) < np.log(2)).all()


def test_predictions_and_samples_where_sums_are_not_exact(fit, monkeypatch):
    """They are averaged over draws of what is missing, by tempering; a warning says if these are not renewed."""
    est, _, _ = fit("boltzmann")
    X = np.array([[np.nan, 1, np.nan, 0]])
    right, score = est.predict_conditional(X, [0]), est.score(X)
    monkeypatch.setattr(partly_seen, "is_cheap", lambda *_: False)
    # 80 draws with 64 completions each, of which a conditional probability is averaged.
    found = est.predict_conditional(X, [0])
    assert 0 < np.abs(found - right).max() < 6 * 0.5 / np.sqrt(80 * 64)
    assert est.score(X) == pytest.approx(score, abs=0.05)
    assert (est.sample(50, clamped={1: 1})[:, 1] == 1).all()
    monkeypatch.setattr(partly_seen, "Tempered", lambda: Tempered(n_sweeps=1))
    with pytest.warns(ConvergenceWarning, match="of the samples came from independent nodes"):
        est.predict_conditional(X, [0])


def test_rough_sums_are_told(fit, monkeypatch):
    est, _, _ = fit("boltzmann")
    monkeypatch.setattr(partly_seen, "is_cheap", lambda *_: False)
    monkeypatch.setattr(normaliser, "LARGEST_ERROR", 1e-9)
    with pytest.warns(ApproximateScoreWarning, match="sums over the missing values of 1 different rows"):
        est.score_samples([[np.nan, 1, np.nan, 0]] * 2, clamped=[1])


def test_log_z_is_not_needed_where_all_rows_have_the_clamped_values(fit, monkeypatch):
    est, _, _ = fit("boltzmann")
    X = np.array([[0, 1, np.nan, 0]])
    right = est.score(X, clamped=[1])
    est._log_z = {}
    monkeypatch.setattr(normaliser, "_MOST_BYTES", 1)
    monkeypatch.setattr(normaliser.annealed, "forward", None)  # control: it would fail
    assert est.score(X, clamped=[1]) == right
    with pytest.raises(TypeError):
        est.score(X)


def test_names_and_levels(rng):
    levels = pd.CategoricalDtype(["no", "maybe", "yes"], ordered=True)
    table = pd.DataFrame({c: pd.Categorical.from_codes(rng.integers(0, 3, 40), dtype=levels) for c in "abcd"})
    est = BayesianMRF(**FEW).fit(table)
    for clamped in ({"b": "yes"}, pd.Series({"b": "yes"}), {1: "yes"}):
        assert {*est.sample(20, clamped=clamped)[:, 1]} == {"yes"}
    new = table[:5].copy()
    new.loc[:2, "a"] = None
    assert est.score(new, clamped=["b", "c"]) == est.score(new, clamped=[1, 2])
    drawn = est.sample(clamped=new[["d", "c", "b", "a"]])
    assert (drawn[:, 1:] == new.to_numpy()[:, 1:]).all()
    with pytest.raises(OptionError, match="clamped: 'e' is not a node; give names, or numbers from 0 to 3"):
        est.sample(clamped={"e": "yes"})
    with pytest.raises(OptionError, match="clamped must be different nodes"):
        est.score(new, clamped=["b", "b"])
    with pytest.raises(DataError, match="certainly"):
        est.sample(clamped={"b": "certainly"})


def test_models_without_a_compiled_form_list_few_states(fit, monkeypatch):
    est, _, _ = fit("own model")
    monkeypatch.setattr(partly_seen, "_LISTED", 2)
    est.score([[np.nan, 1, 1, 0]])
    with pytest.raises(DataError, match="X has a row with 2 missing values, whose 4 states are more than the 2"):
        est.score([[np.nan, 1, np.nan, 0]])


def test_what_needs_all_values_of_a_row_refuses_missing_ones(fit):
    machine, _, _ = fit("hidden units")
    for use in (machine.transform, machine.gibbs, machine.partial_fit):
        with pytest.raises(DataError, match="missing"):
            use([[np.nan, 1, 0, 0]])
