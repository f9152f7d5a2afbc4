"""Full conditionals of scalar coordinates: lines of all models against the whole posterior, their draws and integrals.

A Kolmogorov-Smirnov test of exact draws passes 1e-6 in all but one of a million runs.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from bayesmrf import SpikeSlabMRF, graphs
from bayesmrf.engines import Enumeration
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement, Boltzmann, Ising, Potts
from bayesmrf.posterior.conditionals import centred
from bayesmrf.posterior.conditionals.centred import centred_lines, edge_line, mean_pull, move_edge, own_line
from bayesmrf.posterior.conditionals.line import Line, LineSample, line_log_density, line_mode
from bayesmrf.posterior.conditionals.log_concave import draw_around, draw_exactly, log_integral
from bayesmrf.results.rank_diagnostics import rank_diagnostics

N = 30
GRAPH = graphs.complete(3)
MODELS = {
    "boltzmann": Boltzmann(GRAPH),
    "ising": Ising(GRAPH),
    "agreement": Agreement(GRAPH, fields=True),
    "potts": Potts(GRAPH, 3),
}


def problem(model, rng):
    """Likelihood, lines, a point, and normal precisions of a prior."""
    s_bar = model.statistics(rng.integers(0, model.n_states, size=(N, GRAPH.n_nodes)))
    theta, precision = 0.7 * rng.standard_normal(model.n_features), rng.uniform(0.2, 1.0, model.n_features)
    return Likelihood(model, s_bar, N, Enumeration()), centred_lines(model, s_bar, N), theta, precision


def cells_of(model, theta, i, j):
    """Probabilities of the joint states of two nodes, by enumeration."""
    m, d = model.n_states, model.graph.n_nodes
    states = np.array(np.unravel_index(np.arange(m**d), (m,) * d)).T.astype(np.int8)
    log_p = np.array([model.statistics(x[None]) for x in states]) @ theta
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    return np.bincount(states[:, i] * m + states[:, j], weights=p, minlength=m * m)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_lines_are_the_posterior_along_them(model, rng):
    """And the nodes follow an edge, so that at another point of its line it is the same line."""
    lik, lines, theta, precision = problem(model, rng)

    def log_posterior(theta):
        return lik.log_likelihood(theta, lik.log_z(theta)) - 0.5 * precision @ theta**2

    points = np.linspace(-3, 3, 7)
    for e, (i, j) in enumerate(GRAPH.edges):
        line = edge_line(lines, cells_of(model, theta, i, j), 1.0, e, i, j, theta, precision)
        difference = []
        for a in points:
            moved = theta.copy()
            move_edge(lines, e, i, j, moved, a)
            difference.append(log_posterior(moved) - line_log_density(a, line))
            other = edge_line(lines, cells_of(model, moved, i, j), 1.0, e, i, j, moved, precision)
            change = [line_log_density(b, other) - line_log_density(b, line) for b in (-1.0, 0.0, 2.0)]
            np.testing.assert_allclose(change, change[0], atol=1e-8)
        np.testing.assert_allclose(difference, difference[0], atol=1e-8)
    low, high = model.node_values
    moments = lik.moments(theta)
    for k in range(GRAPH.n_edges, model.n_features):
        p = (moments[k] - low) / (high - low)
        line = own_line(lines, p, 1 - p, k, low, high - low, theta, precision)
        difference = []
        for a in points:
            moved = theta.copy()
            moved[k] = a
            difference.append(log_posterior(moved) - line_log_density(a, line))
        np.testing.assert_allclose(difference, difference[0], atol=1e-8)


def tuples(p, g, at, n):
    return LineSample(tuple(p), tuple(g), at, n)


def arrays(p, g, at, n):
    return LineSample(np.array(p), np.array(g), at, n)


BINARY = tuples([0.4, 0.2, 0.1, 0.3], [0.3, -0.2, -0.3, 0.2], 0.7, 25.0)
LINES = {
    "two values": Line((tuples([0.3, 0.7], [1.0, 0.0], 0.5, 10.0),), 4.0, 0.2, 0.0),
    "four values": Line((BINARY,), 1.5, 0.6, 0.1),
    "nine values": Line((arrays(np.full(9, 1 / 9), np.linspace(-1, 2, 9), 0.0, 40.0),), 12.0, 0.1, 0.5),
    "two samples": Line((BINARY, tuples([0.25, 0.25, 0.25, 0.25], [0.5, -0.5, -0.5, 0.5], -0.3, 60.0)), 3.0, 0.3, 0.0),
    "no observations": Line((tuples([0.5, 0.5], [1.0, 0.0], 2.0, 0.0),), 0.0, 0.7, -1.0),
    "no end but the prior's": Line((tuples([1e-9, 1 - 1e-9], [1.0, 0.0], -15.0, 300.0),), 0.0, 0.01, 0.0),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_mode_integral_and_draws(line, rng):
    mode, scale = line_mode(line)
    top = line_log_density(mode, line)
    for step in (-0.1, -1e-3, 1e-3, 0.1):
        assert line_log_density(mode + step * scale, line) <= top + 1e-7
    ends = mode - 60 * max(scale, 1), mode + 60 * max(scale, 1)
    density = [lambda a: np.exp(line_log_density(a, line) - top)] * 2
    parts = [
        quad(f, x, y, epsabs=0, limit=400)[0] for f, x, y in zip(density, (ends[0], mode), (mode, ends[1]), strict=True)
    ]
    assert log_integral(line) == pytest.approx(top + np.log(sum(parts)), abs=1e-7)
    grid = np.linspace(*ends, 100_001)
    p = np.exp([line_log_density(a, line) - top for a in grid])
    cdf = np.cumsum(p) / p.sum()
    for draws in (
        np.array([draw_exactly(rng, line) for _ in range(10_000)]),
        np.array([draw_around(rng, line, mode, scale) for _ in range(10_000)]),
    ):
        assert stats.kstest(draws, lambda a: np.interp(a, grid, cdf)).pvalue > 1e-6
        shifted = draws + 0.15 * draws.std()
        assert stats.kstest(shifted, lambda a: np.interp(a, grid, cdf)).pvalue < 1e-6


@pytest.mark.parametrize("n", [0.0, 5.0, 1e6])
@pytest.mark.parametrize("p", [(0.25, 0.25, 0.25, 0.25), (1e-9, 0.7, 0.3, 1e-12), (0.0, 0.0, 1e-4, 1 - 1e-4)])
def test_mode_is_found_everywhere(n, p):
    for share in (0.0, 1e-3, 0.5, 1.0):
        both = n * (0.4 + 0.1 * share)  # between what the shares 0.5 and 0.9 of ones allow
        line = Line((tuples(p, (0.45, -0.45, -0.05, 0.05), 2.0, n),), both - n * 0.45, 0.21, 0.3)
        mode, scale = line_mode(line)
        top = line_log_density(mode, line)
        assert np.isfinite(mode)
        assert scale > 0
        for step in (-0.1, -1e-3, 1e-3, 0.1):
            assert line_log_density(mode + step * scale, line) <= top + 1e-3


@pytest.mark.parametrize("make", [Boltzmann, Ising, lambda graph: Agreement(graph, fields=True)])
def test_feature_of_an_edge_is_uncorrelated_with_its_ends(make, rng):
    """In the data, with one observation more, evenly over the states of the two; not if it is centred on means."""
    graph = graphs.complete(4)
    model, x = make(graph), dependent(rng, 50, 4)
    s_bar = model.statistics(x, np.ones(len(x)))

    def covariance(pull):
        lines = centred_lines(model, s_bar, 50.0, pull=pull)
        f, y, found = lines.values, lines.features, []
        for e, (u, v) in enumerate(graph.edges):
            states = np.concatenate([x[:, [u, v]], [[0, 0], [0, 1], [1, 0], [1, 1]]])
            weights = np.concatenate([np.ones(50), np.full(4, 0.25)])
            own = np.stack([y[u][states[:, 0]], y[v][states[:, 1]]])
            g = f[states[:, 0], states[:, 1]] - lines.pull[e, :, 0] @ own
            found += [np.average((g - np.average(g, weights=weights)) * row, weights=weights) for row in own]
        return np.abs(found).max()

    assert covariance(None) < 1e-12
    assert covariance(mean_pull(model, s_bar, 50.0)) > 1e-3


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
@pytest.mark.parametrize("method", ["exact", "reversible-jump"])
def test_parameters_of_a_rare_node_mix(method, monkeypatch):
    """A node that is 1 only where most others are: on lines of means its bias has a tenth of the effective draws."""
    x = dependent(np.random.default_rng(0), 300, 8)
    assert 5 < x[:, 0].sum() < 50

    def effective():
        est = SpikeSlabMRF(method=method, n_draws=400, n_chains=2, random_state=0, progress=False).fit(x)
        return rank_diagnostics(est.posterior_["posterior"]["theta"].values).ess_bulk[28]

    found = effective()
    monkeypatch.setattr(centred, "residual_pull", mean_pull)
    assert found > 4 * effective()


def dependent(rng, n, n_nodes):
    """Draw states that depend on one trait, so that node 0 is rare, and is 1 where most others are."""
    trait = rng.standard_normal((n, 1))
    x = trait + rng.standard_normal((n, n_nodes)) > 0
    x[:, 0] = trait[:, 0] + 0.5 * rng.standard_normal(n) > 1.6
    return x.astype(np.int8)
