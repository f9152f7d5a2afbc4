"""Parameters that edges and nodes share, and samples that share parameters: theta = A phi."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from bayesmrf import BayesianMRF, MaximumLikelihoodMRF, graphs
from bayesmrf.engines import Elimination
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.estimators.ties import read_ties
from bayesmrf.likelihood import Hidden, Likelihood, Sample
from bayesmrf.methods import Exchange, Langevin, Metropolis
from bayesmrf.models import Boltzmann, Ising, Potts, Symmetric
from bayesmrf.models.clamped import Clamped
from bayesmrf.models.linear_map import LinearMap
from bayesmrf.posterior.parameters.hamiltonian import HamiltonianKernel
from bayesmrf.posterior.parameters.langevin import LangevinKernel
from bayesmrf.posterior.parameters.metropolis import MetropolisKernel
from bayesmrf.priors import Normal
from bayesmrf.published.exchange import ExchangeKernel
from bayesmrf.results.summary import ParameterSummary
from bayesmrf.runs import run
from tests.helpers.flat import bayesian
from tests.oracle.bounds import assert_mean, assert_other_mean

QUICK = {"n_draws": 20, "n_warmup": 10, "n_chains": 2, "random_state": 1, "progress": False}


def features(graph, states):
    """Statistics of the Ising model, written apart from the package."""
    x = 2.0 * np.asarray(states) - 1
    u, v = graph.edges.T
    return np.hstack([x[:, u] * x[:, v], x])


def all_states(n):
    return np.array(list(itertools.product([0, 1], repeat=n)))


def grid_mean(log_p, *axes):
    """Posterior mean on a grid of equal steps; ``log_p`` of all its points (n, n_axes) at once."""
    at = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    p = log_p(at)
    return np.exp(p - p.max()) @ at / np.exp(p - p.max()).sum()


# Maps


def test_a_map_and_its_transpose(rng):
    a = rng.standard_normal((7, 3)) * (rng.random((7, 3)) < 0.6)
    found = LinearMap.of(a, ["x", "y", "z"])
    phi, gradient = rng.standard_normal(3), rng.standard_normal(7)
    np.testing.assert_allclose(found.natural(phi), a @ phi)
    np.testing.assert_allclose(found.natural(np.array([[phi, -phi]])), np.array([[a @ phi, -a @ phi]]))
    np.testing.assert_allclose(found.pull_back(phi, gradient), a.T @ gradient)
    np.testing.assert_allclose(found.squares(gradient**2), np.diag(a.T @ np.diag(gradient**2) @ a))
    label = np.array([2, 0, 0, 1])
    np.testing.assert_allclose(LinearMap.tied(label, "abc").natural(phi), phi[label])
    with pytest.raises(OptionError, match="feature_names must be 3 names"):
        LinearMap.of(a, ["x"])


# Several samples


@pytest.fixture
def two_groups(rng):
    """A path of three nodes in two groups of people: theta = baseline +- half a contrast; N and data differ."""
    graph = graphs.path(3)
    model = Ising(graph)
    full = features(graph, all_states(3))
    maps = [np.hstack([np.eye(5), sign * np.eye(5)]) for sign in (-0.5, 0.5)]
    phi = np.concatenate([[0.4, -0.3, 0.2, 0.0, -0.2], [0.8, 0.0, -0.6, 0.5, 0.0]])
    samples = []
    for a, n in zip(maps, (60, 90), strict=True):
        p = np.exp(full @ (a @ phi))
        samples.append(all_states(3)[rng.choice(8, n, p=p / p.sum())])

    def log_likelihood(phi, maps=maps):
        terms = zip(maps, samples, strict=True)
        return sum((features(graph, x) @ (a @ phi)).sum() - len(x) * logsumexp(full @ (a @ phi)) for a, x in terms)

    return model, samples, maps, phi, log_likelihood


def of_two(model, samples, maps, engine=None, hidden=(None, None)):
    curves = [LinearMap.of(a, [f"phi_{k}" for k in range(a.shape[1])]) for a in maps]
    first, second = (
        Sample(model.statistics(np.maximum(x, 0)), len(x), h, c)
        for x, h, c in zip(samples, hidden, curves, strict=True)
    )
    return Likelihood(model, first.s_bar, first.n_samples, engine or Elimination(), first.hidden, first.curve, [second])


def test_two_samples_against_enumeration(two_groups, rng):
    model, samples, maps, phi, expected = two_groups
    lik = of_two(model, samples, maps)
    found = lik.evaluate(phi)
    assert found.log_likelihood == pytest.approx(expected(phi), rel=1e-12)
    step = 1e-6 * np.eye(10)
    slope = [(expected(phi + e) - expected(phi - e)) / 2e-6 for e in step]
    np.testing.assert_allclose(found.score, slope, atol=1e-5)
    assert lik.log_ratio(phi, 0.5 * phi) == pytest.approx(expected(0.5 * phi) - expected(phi))
    assert (lik.n_parameters, lik.is_exact, lik.is_linear) == (10, True, False)
    sums, _ = lik.complete(phi, rng, lik.start(rng))
    u = np.array([features(model.graph, x).sum(axis=0) for x in samples])
    np.testing.assert_allclose(sums, u)
    gain = sum(s @ (a @ phi) for s, a in zip(u, maps, strict=True))
    assert lik.gain(0 * phi, phi, sums) == pytest.approx(gain)
    # The negative control: the groups exchanged.
    assert abs(found.log_likelihood - expected(phi, maps[::-1])) > 1


def test_hidden_entries_in_two_samples(two_groups, rng):
    """Against the sum over all completions, sample by sample."""
    model, samples, maps, phi, _ = two_groups
    samples = [x[:4].astype(np.int8) for x in samples]
    for x in samples:
        x[rng.random(x.shape) < 0.3] = -1
        x[0, 0] = -1
    lik = of_two(model, samples, maps, hidden=[Hidden(Clamped(model, x), Elimination()) for x in samples])
    full, states = features(model.graph, all_states(3)), all_states(3)
    expected = 0.0
    for a, x in zip(maps, samples, strict=True):
        log_p = full @ (a @ phi)
        for row in x:
            fits = ((states == row) | (row < 0)).all(axis=1)
            expected += logsumexp(log_p[fits]) - logsumexp(log_p)
    assert lik.evaluate(phi).log_likelihood == pytest.approx(expected, rel=1e-12)
    assert [len(lik.hidden_probabilities(phi[None], rng, t)) for t in (0, 1)] == [(x < 0).sum() for x in samples]


@pytest.mark.parametrize("kernel", ["metropolis", "langevin", "hamiltonian", "exchange"])
def test_posterior_of_a_difference_between_two_samples(kernel, rng):
    """Two parameters, a coupling and its contrast, by quadrature; the negative control has the groups exchanged."""
    graph = graphs.path(2)
    model = Ising(graph, fields=False)
    samples = [np.repeat([[0, 0], [0, 1]], k, axis=0) for k in ([30, 10], [16, 14])]
    maps = [np.array([[1.0, sign / 2]]) for sign in (-1, 1)]

    def log_p(phi, maps):
        found = -(phi**2).sum(axis=1) / 2
        for a, x in zip(maps, samples, strict=True):
            j = phi @ a[0]
            found += j * (2 * (x[:, 0] == x[:, 1]) - 1).sum() - len(x) * np.log(2 * np.cosh(j))
        return found

    grid = np.linspace(-2.5, 2.5, 201)
    truth, wrong = (grid_mean(lambda phi, m=m: log_p(phi, m), grid, grid) for m in (maps, maps[::-1]))
    lik, start = of_two(model, samples, maps), np.zeros(2)
    made = {
        "metropolis": lambda: MetropolisKernel(lik, Normal(), start, Metropolis(0.7)),
        "langevin": lambda: LangevinKernel(lik, Normal(), start, Langevin(0.25, adjusted=True)),
        "hamiltonian": lambda: HamiltonianKernel(lik, Normal(), start, scale=np.full(2, 0.2)),
        "exchange": lambda: ExchangeKernel(lik, Normal(), start, Exchange(0.7)),
    }[kernel]()
    n_draws, thin = {"exchange": (60, 2), "hamiltonian": (25, 1)}.get(kernel, (100, 2))
    found = run.sample(made, n_draws=n_draws, n_warmup=50, n_chains=24, thin=thin, random_state=rng, progress=False)
    assert_mean(found.values["theta"], truth)
    assert_other_mean(found.values["theta"], wrong)


def test_memory_of_several_samples_is_kept(two_groups, rng, tmp_path):
    from bayesmrf.engines import Persistent

    model, samples, maps, phi, _ = two_groups
    kernel = LangevinKernel(of_two(model, samples, maps, Persistent(64)), Normal(), 0 * phi, Langevin(0.05))
    options = {"n_chains": 2, "random_state": 5, "progress": False}
    whole = run.sample(kernel, n_draws=8, **options)
    run.sample(kernel, n_draws=3, checkpoint=tmp_path / "run", **options)
    resumed = run.sample(kernel, n_draws=8, checkpoint=tmp_path / "run", **options)
    assert (resumed.values["theta"] == whole.values["theta"]).all()


# The estimator


@pytest.fixture(scope="module")
def lattice():
    graph = graphs.grid(3, 3)
    p = np.exp(features(graph, all_states(9)) @ np.repeat([0.35, 0.1], [12, 9]))
    return graph, all_states(9)[np.random.default_rng(3).choice(512, 80, p=p / p.sum())]


@pytest.mark.parametrize("options", [{}, {"kernel": "hamiltonian"}, {"kernel": "exchange"}])
def test_one_coupling_against_quadrature(lattice, options, rng):
    """The coupling of all edges without fields: one dimension, log Z by enumeration."""
    graph, X = lattice
    full, seen = (features(graph, s)[:, :12].sum(axis=1) for s in (all_states(9), X))

    def mean(n_edges):
        def log_p(phi):
            log_z = logsumexp(phi * full, axis=1)
            return phi[:, 0] * seen.sum() * n_edges / 12 - len(X) * log_z - phi[:, 0] ** 2 / 2

        return grid_mean(log_p, np.linspace(-0.5, 1.2, 2001))

    common = {"n_chains": 24, "n_draws": 100, "n_warmup": 100, "random_state": rng, "progress": False}
    common["thin"] = 2 if options.get("kernel") == "exchange" else 1
    fit = bayesian(graph, model=lambda g: Ising(g, fields=False), ties="all", **common | options).fit(X)
    phi = fit.posterior_["posterior"]["phi"]
    assert list(phi["parameter"].values) == fit.parameter_names_ == ["edges"]
    assert fit.posterior_.attrs["kind"] == "exact"
    assert_mean(phi.values, mean(12))
    assert_other_mean(phi.values, mean(10))  # two edges forgotten
    np.testing.assert_array_equal(fit.posterior_["posterior"]["theta"].values, np.repeat(phi.values, 12, axis=2))
    np.testing.assert_allclose(fit.theta_, np.full(12, fit.phi_[0]))


def test_forms_of_ties(lattice):
    graph, X = lattice

    def fit(ties, **options):
        return bayesian(graph, model="ising", ties=ties, **QUICK | options).fit(X)

    assert fit("all").parameter_names_ == ["edges", "nodes"]
    assert fit("edges").parameter_names_ == ["edges", *graph.names]
    labels = np.where(graph.edges[:, 1] - graph.edges[:, 0] == 1, "across", "down")
    by_order = fit(labels)
    assert set(by_order.parameter_names_[:2]) == {"edges across", "edges down"}
    by_name = fit(pd.Series(labels, index=graph.edge_names))
    assert by_name.posterior_["posterior"].equals(by_order.posterior_["posterior"])
    pairs = {(v, u): k for (u, v), k in zip(graph.edges.astype(str).tolist(), labels, strict=True)}
    both = fit(pairs | dict.fromkeys(graph.names, "x") | {"4": "y"})
    assert both.parameter_names_ == [*by_order.parameter_names_[:2], "nodes x", "nodes y"]
    theta = both.posterior_["posterior"]["theta"].values
    assert (theta[..., 12:16] == theta[..., [12]]).all()
    assert (theta[..., 16] != theta[..., 12]).all()
    one = fit(pd.Series("a", index=graph.edge_names[:2]))
    assert one.parameter_names_ == ["edges a", *graph.edge_names[2:], *graph.names]
    assert fit(None).parameter_names_ == fit(None).posterior_["posterior"]["feature"].values.tolist()
    wide = fit("all", prior_scale=0.5, bias_scale=2.0).posterior_.attrs["prior_scale"]
    assert wide == "[0.5, 2.0]"
    for ties, message in [
        ("nodes", "ties must be None, 'all', 'edges', .*, got 'nodes'"),
        ([1, 2], "ties must be 12 labels, one for each edge, got '2 labels'"),
        (3, "ties must be None, .*, got 3"),
        ({"0-9": 1}, "ties must be labels by the names of edges .*, got '0-9'"),
    ]:
        with pytest.raises(OptionError, match=message):
            fit(ties)


@pytest.mark.parametrize("model", [Potts, Symmetric])
def test_ties_where_nodes_have_many_states(model, rng):
    X = rng.integers(0, 3, size=(40, 4))
    fit = bayesian(graphs.cycle(4), model=lambda g: model(g, 3, True), n_states=3, ties="all", **QUICK).fit(X)
    edges = ["edges"] if model is Potts else ["edges=1,1", "edges=1,2", "edges=2,2"]
    assert fit.parameter_names_ == [*edges, "nodes=1", "nodes=2"]
    theta = fit.posterior_["posterior"]["theta"].values
    p = len(edges)
    np.testing.assert_array_equal(theta[..., :p], theta[..., p : 2 * p])
    np.testing.assert_array_equal(theta[..., 4 * p : 4 * p + 2], theta[..., 4 * p + 2 : 4 * p + 4])
    assert (theta[..., 4 * p] != theta[..., 4 * p + 1]).all()


def test_what_comes_after_a_fit(lattice, tmp_path, rng):
    graph, X = lattice
    table = X.astype(float)
    table[rng.random(X.shape) < 0.05] = np.nan
    options = {"graph": graph, "model": "ising", "ties": "all", **QUICK}
    fit = bayesian(**options).fit(table)
    assert len(fit.missing_) == np.isnan(table).sum()
    assert fit.interval().index.tolist() == ["edges", "nodes"]
    assert np.isfinite(fit.score(X))
    assert fit.sample(5, random_state=1).shape == (5, 9)
    s = ParameterSummary(fit.posterior_)
    assert s.table.index.tolist() == ["edges", "nodes"]
    assert s.worst_feature in ("edges", "nodes")
    assert set(s.diagnostics.index) == {"phi[edges]", "phi[nodes]"}
    short = bayesian(**options | {"n_draws": 7}, checkpoint=tmp_path / "run").fit(table)
    assert short.posterior_["posterior"].sizes["draw"] == 7
    resumed = bayesian(**options, checkpoint=tmp_path / "run").fit(table)
    assert resumed.posterior_["posterior"].equals(fit.posterior_["posterior"])
    with pytest.raises(StoreError, match=r"likelihood\.curve"):
        bayesian(**options | {"ties": "edges"}, checkpoint=tmp_path / "run").fit(table)
    for kernel in ("langevin", "pseudo-posterior", "auxiliary-variable"):
        found = bayesian(**options | {"kernel": kernel}, corrected=kernel == "pseudo-posterior").fit(X)
        assert found.posterior_["posterior"]["phi"].shape == (2, 20, 2)


@pytest.mark.parametrize("name", ["edges", "edges a", "nodes b"])
def test_names_of_two_parameters_differ(name):
    """A column named as a label would be would else share the parameter."""
    graph = graphs.Graph(3, [(0, 1), (1, 2)], names=[name, "x", "y"])
    ties = {"edges": "edges", "edges a": ["a", "a"], "nodes b": {"x": "b", "y": "b"}}[name]
    with pytest.raises(OptionError, match="a name of its own"):
        read_ties(ties, Boltzmann(graph))
    assert read_ties(ties, Boltzmann(graphs.Graph(3, [(0, 1), (1, 2)], names=["z", "x", "y"]))) is not None


def test_states_of_tied_nodes_are_the_same_by_their_numbers(rng):
    """Levels have other names at each node: 1 to 4 and 0 to 3, or texts, of which some have a sign of equality."""
    few = {"n_draws": 5, "n_warmup": 5, "n_chains": 1, "progress": False}
    a, b = rng.integers(1, 5, 60), rng.integers(0, 4, 60)
    ties = {"a": "q", "b": "q"}
    est = BayesianMRF(model="ordinal", ties=ties, **few).fit(pd.DataFrame({"a": a, "b": b}))
    assert est.parameter_names_ == ["a-b", "nodes q=1", "nodes q=2", "nodes q=3"]
    texts = pd.DataFrame({"a": np.array(["x", "b=1", "c=1"])[a % 3], "b": np.array(["x", "b=1", "c=1"])[b % 3]})
    est = BayesianMRF(model="potts", ties=ties, **few).fit(texts)
    assert est.parameter_names_ == ["a-b", "nodes q=1", "nodes q=2"]
    assert list(est.feature_names_[1:3]) == ["a=c=1", "a=x"]


@pytest.mark.parametrize("sizes", [(2, 2, 3), (2, 3, 3), (2, 4, 4)])
def test_tied_nodes_with_different_numbers_of_levels(sizes, rng):
    """Each level has its threshold: at the maximum the mean statistics of the data are those of the model."""
    x = np.vstack([rng.integers(0, sizes, (60, 3)), [[k % m for m in sizes] for k in range(max(sizes))]])
    est = MaximumLikelihoodMRF(model="ordinal", ties="all").fit(x)
    states = np.array(list(itertools.product(*map(range, sizes))))
    level = np.arange(1, max(sizes))

    def features(x):
        return np.column_stack([x[:, 0] * x[:, 1] + x[:, 0] * x[:, 2] + x[:, 1] * x[:, 2],
                                *((x == k).sum(axis=1) for k in level)])  # fmt: skip

    thresholds = [est.theta_[np.flatnonzero(np.char.endswith(est.feature_names_.astype(str), f"={k}"))] for k in level]
    assert max(map(np.ptp, thresholds)) < 1e-12
    p = np.exp(features(states) @ np.append(est.theta_[0], [t[0] for t in thresholds]))
    np.testing.assert_allclose(p @ features(states) / p.sum(), features(x).mean(axis=0), atol=1e-6)
