"""A model from outside by two arrays, Blume-Capel, in every method that "ordinal" has, against enumeration.

The oracles know the features of spins as they are written here. Negative controls compare the same draws with the
posterior of products of the numbers of states, or with missing values taken for the first state.
"""

from itertools import product

import numpy as np
import pytest

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, graphs, partitions
from bayesmrf.methods import COMPARISONS, EDGES, GROUPS
from bayesmrf.models import PairwiseModel
from bayesmrf.models.agreeing_tables import disagreeing
from bayesmrf.posterior.edges.differences import contrasts
from bayesmrf.priors import Cauchy, DirichletProcess, Normal, SpikeSlab
from bayesmrf.runs import run
from tests.oracle import grouped_states as grouped_states_oracle
from tests.oracle import groups as groups_oracle
from tests.oracle import spike_slab as spike_slab_oracle
from tests.oracle.bounds import Comparison
from tests.statistical.test_differences import compared
from tests.statistical.test_edge_cells import METHODS, PRIOR

N = 40
FIELD_SCALE = 10.0


class BlumeCapel(PairwiseModel):
    """Spins -1, 0, 1: one coupling an edge, a field and a crystal field a node."""

    name = "blume-capel"
    spins = np.array([-1.0, 0.0, 1.0])
    edge_features = np.outer(spins, spins)[None]
    node_features = np.stack([spins, spins**2])


def features_of(edges, d, values=(-1.0, 0.0, 1.0)):
    """Features of all states of d nodes with these values, by their definition."""
    s = np.array(list(product(values, repeat=d)))
    pairs = [s[:, u] * s[:, v] for u, v in edges]
    return np.stack(pairs + [own for i in range(d) for own in (s[:, i], s[:, i] ** 2)], axis=1)


def states_of(d):
    return np.array(list(product(range(3), repeat=d)))


def rows(edges, d, rng, missing, n=N):
    """Rows of d nodes with all states, of which some values may be missing (-1), and the states that each may be in."""
    features, states = features_of(edges, d), states_of(d)
    p = np.exp(features @ np.concatenate([rng.normal(0, 1.0, len(edges)), rng.normal(0, 0.3, 2 * d)]))
    x = states[rng.choice(len(p), n, p=p / p.sum())]
    x[:3] = np.arange(3)[:, None]
    gone = (rng.random(x.shape) < 0.25) & missing & (np.arange(n)[:, None] >= 3)
    gone[gone.all(axis=1), 0] = False
    return np.where(gone, -1, x), (gone[:, None] | (x[:, None] == states)).all(axis=2)


def cells(rows, feature):
    """The methods of "ordinal", without and with missing values where these are supported."""
    able = [row for row in rows if "ordinal" in row.supports.get(feature, ())]
    return [(r.name, gaps) for r in able for gaps in (False, True) if not gaps or "ordinal" in r.supports["missing"]]


def test_what_follows_from_the_arrays():
    model = BlumeCapel(graphs.complete(3))
    states = states_of(3)
    np.testing.assert_array_equal([model.statistics(s[None]) for s in states], features_of(model.graph.edges, 3))
    np.testing.assert_array_equal(model.score, model.spins)
    assert model.feature_names[2:5] == ["1-2", "0:1", "0:2"]
    assert disagreeing(model) == []
    own = np.arange(6.0)
    np.testing.assert_allclose(model.from_field_table(model.field_table(own)), own, atol=1e-12)


@pytest.mark.parametrize(("method", "missing"), cells(EDGES, "spike"))
def test_edges(method, missing, rng):
    graph = graphs.complete(3)
    x, seen = rows(graph.edges, 3, rng, missing)
    est = SpikeSlabMRF(model=BlumeCapel, method=METHODS[method], prior=PRIOR, progress=False)
    kernel = est._prepare(np.where(x < 0, np.nan, x))[2]
    slow = missing or method != "exact"
    options = {"n_draws": 35 if missing else 20 if slow else 60, "n_warmup": 30 if slow else 5, "n_chains": 24}
    draws = run.sample(kernel, random_state=rng, progress=False, thin=1 if slow else 2, **options).values

    def truth(seen, **values):
        f = features_of(graph.edges, 3, **values)
        return spike_slab_oracle.posterior(graph, f.mean(axis=0), N, PRIOR, rng, features=f, seen=seen)

    assert spike_slab_oracle.compared(draws, *truth(seen)).holds
    if missing:
        other = truth((np.maximum(x, 0)[:, None] == states_of(3)).all(axis=2))
    else:
        other = truth(seen, values=(0.0, 1.0, 3.0))
    assert not spike_slab_oracle.compared(draws, *other).holds


@pytest.mark.parametrize(("method", "missing"), cells(COMPARISONS, "spike"))
def test_differences(method, missing, rng):
    prior, edges = SpikeSlab(0.4, Cauchy(1.0), 1.5), [(0, 1)]
    data = [rows(edges, 2, rng, missing, n) for n in (30, 60)]
    x = np.concatenate([x for x, _ in data])
    group = np.repeat([0, 1], [30, 60])
    est = CompareMRF(model=BlumeCapel, method=method, prior=prior, baseline=prior.slab, progress=False)
    kernel = est._prepare(np.where(x < 0, np.nan, x), groups=group).kernel
    draws = run.sample(kernel, n_draws=40, n_warmup=20, n_chains=32, random_state=rng, progress=False).values

    def truth(seen, **values):
        groups = [(len(own), None, own.astype(float)) for own in seen]
        f = features_of(edges, 2, **values)
        return groups_oracle.posterior(np.array(edges), 2, groups, prior, rng, features=f)

    assert contrasts([30, 60]).shape == (2, 1)
    assert (found := compared(draws, truth([seen for _, seen in data]))).holds, found
    if missing:
        other = truth([(np.maximum(own, 0)[:, None] == states_of(2)).all(axis=2) for own, _ in data])
    else:
        other = truth([seen for _, seen in data], values=(0.0, 1.0, 3.0))
    assert not compared(draws, other).holds


def grouped_truth(edges, d, s_bar, rng, **values):
    """Of groups of edges with a normal base of scale 1 and concentration 1."""
    f, labels = features_of(edges, d, **values), list(partitions.set_partitions(len(edges)))
    log_prior = [grouped_states_oracle.log_crp(row, 1.0) for row in labels]
    return labels, grouped_states_oracle.tied_posterior(f, labels, log_prior, s_bar, N, np.eye(1), FIELD_SCALE, rng)


@pytest.mark.parametrize("method", [name for name, missing in cells(GROUPS, "groups") if not missing])
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_groups(method, rng):
    graph = graphs.path(3)
    x, seen = rows(graph.edges, 3, rng, missing=False)
    prior = DirichletProcess(alpha=1.0, base=Normal(1.0))
    est = GroupedMRF(graph, model=BlumeCapel, method=method, prior=prior, fields=True, n_draws=60, n_chains=16,
                     n_warmup=20, random_state=3, progress=False).fit(x)  # fmt: skip
    draws = est.posterior_["posterior"]
    f = features_of(graph.edges, 3)
    s_bar = f[seen.argmax(axis=1)].mean(axis=0)
    bias = (0.0, 0.0) if method == "exact" else (0.06, 0.1)

    def holds(s_bar, **values):
        labels, exact = grouped_truth(graph.edges, 3, s_bar, rng, **values)
        drawn = np.asarray(draws["groups"])
        p = exact.p[[i for i, row in enumerate(labels) if row.max() == 0]]
        together = drawn[..., :1] == drawn[..., 1:]
        return Comparison().shares(together, p, bias[0], exact.error.max()).means(
            np.asarray(draws["theta"]), exact.means, bias[1]).holds  # fmt: skip

    assert holds(s_bar)
    other = features_of(graph.edges, 3, values=(0.0, 1.0, 3.0))
    assert not holds(other[seen.argmax(axis=1)].mean(axis=0), values=(0.0, 1.0, 3.0))
    assert len(est.table("edges")) == 2
    assert len(est.table("nodes")) == 6


@pytest.mark.parametrize("method", [name for name, missing in cells(GROUPS, "groups") if missing])
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_groups_with_missing_values(method, rng):
    x, _ = rows(graphs.path(3).edges, 3, rng, missing=True)
    for prior in ({}, {"candidates": "complete"}):
        graph = {} if prior else {"graph": graphs.path(3)}
        est = GroupedMRF(**graph, model=BlumeCapel, method=method, fields=True, n_draws=20, n_chains=2, random_state=3,
                         progress=False, **prior).fit(np.where(x < 0, np.nan, x))  # fmt: skip
        assert np.isfinite(est.theta_).all()


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_parameters(rng):
    graph = graphs.path(3)
    x, seen = rows(graph.edges, 3, rng, missing=False)
    est = BayesianMRF(graph, model=BlumeCapel, prior=Normal(2.0), n_draws=400, n_chains=8, random_state=3,
                      progress=False).fit(x)  # fmt: skip

    def means(**values):
        f = features_of(graph.edges, 3, **values)
        given = f, [np.arange(2)], [0.0], f[seen.argmax(axis=1)].mean(axis=0), N, 4 * np.eye(1), 2.0, rng
        return grouped_states_oracle.tied_posterior(*given).means

    draws = np.asarray(est.posterior_["posterior"]["theta"])
    assert Comparison().means(draws, means(), 0.03).holds
    assert not Comparison().means(draws, means(values=(0.0, 1.0, 3.0)), 0.03).holds
