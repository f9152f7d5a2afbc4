"""Node fields grouped by a Dirichlet process of their own, against quadrature over both partitions of two nodes."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logsumexp

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Agreement, Potts
from bayesmrf.posterior.conditionals.log_concave import draw_exactly
from bayesmrf.posterior.conditionals.one_coordinate import OneCoordinate
from bayesmrf.posterior.groups import two_states
from bayesmrf.posterior.groups.dirichlet_process import open_urn
from bayesmrf.posterior.groups.kernels import exact_groups, particle_groups
from bayesmrf.posterior.groups.moves import table_fields
from bayesmrf.posterior.groups.moves.fields import scan_fields
from bayesmrf.posterior.groups.prior import GroupPrior
from bayesmrf.posterior.groups.scans import scan_coordinates
from bayesmrf.priors import FIELD_SCALE, DirichletProcess, Normal
from bayesmrf.runs import run
from bayesmrf.states import edge_tables as table_refresh
from bayesmrf.states.memory import refresh_graph, start_particles, unpack
from tests.long import LONG
from tests.oracle.bounds import Comparison

ENGINE = Elimination()
PAIR = Agreement(graphs.Graph(2, np.array([[0, 1]])), True)
N = 30
N_CHAINS = 32
FIELDS = GroupPrior(1.0, 1.0, 0.0, 0.0, (2 * FIELD_SCALE) ** -2, 0.0)


def data(rng):
    """Statistics of N states of a model whose two fields are not far apart."""
    theta = np.array([0.8, 0.3, 0.1])
    return PAIR.statistics(ENGINE.sample(PAIR, theta, ENGINE.prepare(PAIR), N, rng))


def oracle(s_bar, alpha):
    """P(both nodes share a field) and the posterior mean of theta, by sums over a grid."""
    edge, field = np.linspace(-9, 12, 106), np.linspace(-5, 5, 161)
    log_p, means = [], []
    for shared in (True, False):
        h, g = (field, field) if shared else (x.ravel() for x in np.meshgrid(field, field, indexing="ij"))
        theta = np.stack(np.broadcast_arrays(edge[:, None], h, g))
        states = np.array([[1, 1, 1], [0, 1, -1], [0, -1, 1], [1, -1, -1]])  # agreement, x_u, x_v
        log_z = logsumexp(np.tensordot(states, theta, 1), axis=0)
        f = N * (np.tensordot(s_bar, theta, 1) - log_z)
        f += np.log(expit(edge) * expit(-edge))[:, None]  # a uniform agreement
        step = field[1] - field[0]
        for x in (h,) if shared else (h, g):
            f += stats.norm.logpdf(x, scale=FIELD_SCALE) + np.log(step)
        f += 0.0 if shared else np.log(alpha)
        top = f.max()
        w = np.exp(f - top)
        log_p.append(top + np.log(w.sum()))
        means.append((w * theta).sum(axis=(1, 2)) / w.sum())
    p = np.exp(np.array(log_p) - logsumexp(log_p))
    return p[0], p @ np.array(means)


def compare(kernel, p, means, rng, n_draws=60):
    """How often the nodes share a field, and the means of theta, against the oracle."""
    options = {"n_warmup": 20, "n_chains": N_CHAINS, "random_state": rng, "progress": False}
    found = run.sample(kernel, n_draws=n_draws, **options).values
    together = found["field_groups"][..., 0] == found["field_groups"][..., 1]
    return Comparison().shares(together, p).means(found["theta"], means)


def kernel_of(method, s_bar, alpha=1.0):
    fields = DirichletProcess(alpha, Normal(FIELD_SCALE))
    likelihood = Likelihood(PAIR, s_bar, N, ENGINE)
    if method == "exact":
        return exact_groups(likelihood, DirichletProcess(), np.zeros(3), fields)
    fed = likelihood if method == "fed" else None
    return particle_groups(PAIR, s_bar, N, DirichletProcess(), np.zeros(3), 2048, fed, field_prior=fields)


@LONG  # tests/statistical/test_grouped_cells.py
@pytest.mark.parametrize("method", ["fed"])
def test_groups_of_fields_have_the_posterior(method, rng):
    s_bar = data(rng)
    # The noise of 2,048 particles is n / m of a variance: far below what these chains can see.
    assert compare(kernel_of(method, s_bar), *oracle(s_bar, 1.0), rng).holds


@LONG
@pytest.mark.parametrize("method", ["fed"])
def test_a_wrong_concentration_is_caught(method, rng):
    s_bar = data(rng)
    assert not compare(kernel_of(method, s_bar, 30.0), *oracle(s_bar, 1.0), rng).holds


def pulled(scan, rng):
    """Score of the mean states of particles after the fields of bound nodes were moved, against exact moments."""
    model = Agreement(graphs.complete(8), True)
    theta = np.concatenate([np.full(model.n_edges, 0.6), np.zeros(8)])
    plan, m, n = ENGINE.prepare(model), 4096, 400.0
    graph = refresh_graph(model.graph)
    unpacked = unpack(start_particles(m, 8, rng), graph, theta)
    unpacked.x[...] = 2 * ENGINE.sample(model, theta, plan, m, rng).T - 1
    scan(rng, graph, unpacked, np.full(model.n_features, 0.9 * n), n)
    exact = ENGINE.infer(model, unpacked.theta, plan).moments[model.n_edges :]
    return np.abs((unpacked.x.mean(axis=1) - exact) / np.sqrt((1 - exact**2) / m)).max()


def weighted(rng, graph, unpacked, successes, n):
    urn = open_urn(np.arange(8, dtype=np.int32), np.zeros(8), FIELDS)
    scan_fields(rng, np.arange(8), unpacked.theta[-8:], successes[-8:], n, urn, False, unpacked.x)


def redrawn(rng, graph, unpacked, successes, n):
    scan_coordinates(rng, graph, unpacked, successes, n, FIELDS, len(graph.edges) + np.arange(8))


def test_weighted_particles_follow_fields_that_pull_at_all_nodes(rng):
    """Of six runs each: scores of weighted particles are near those of independent states, of redrawn ones far."""
    assert np.mean([pulled(weighted, rng) for _ in range(6)]) < 6
    assert np.mean([pulled(redrawn, rng) for _ in range(6)]) > 12


def spread_of_a_lone_node(rng):
    """Spread of the field of a node without edges over long chains, relative to that of its exact law."""
    model = Agreement(graphs.Graph(3, np.array([[0, 1]])), True)
    kernel = particle_groups(model, np.array([0.7, 0.2, 0.1, 0.3]), 100, DirichletProcess(), np.zeros(4), 1024)
    found = run.sample(kernel, n_draws=300, n_warmup=20, n_chains=4, random_state=rng, progress=False)
    law = OneCoordinate(65.0, 100.0, 0.0, FIELDS.a, FIELDS.b, FIELDS.kappa)
    exact = np.array([0.5 * draw_exactly(rng, law) for _ in range(4000)])
    return np.sqrt(((found.values["theta"][..., 3] - exact.mean()) ** 2).mean()) / exact.std()


def test_nodes_without_edges_are_redrawn_too(rng, monkeypatch):
    """Else resampling alone moves their particles, which become copies of each other, and the field drifts away."""
    assert spread_of_a_lone_node(rng) < 1.25
    monkeypatch.setattr(two_states, "refresh", lambda *args: None)
    assert spread_of_a_lone_node(rng) > 1.25


def pulled_states(scan, rng):
    """As `pulled`, of nodes with three states that are bound to each other: shares of the states."""
    model = Potts(graphs.complete(6), 3)
    theta = np.concatenate([np.full(model.n_edges, 0.7), np.zeros(12)])
    plan, m, n = ENGINE.prepare(model), 4096, 400.0
    start = table_refresh.start_particles(m, 6, 3, rng)
    unpacked = table_refresh.unpack(start, theta[: model.n_edges, None], np.zeros((6, 3)))
    unpacked.x[...] = ENGINE.sample(model, theta, plan, m, rng).T
    counts = np.tile([0.6 * n, 0.2 * n], (6, 1))
    scan(rng, table_refresh.table_graph(model), unpacked, counts, n)
    theta[model.n_edges :] = unpacked.field[:, 1:].ravel()
    exact = ENGINE.infer(model, theta, plan).moments[model.n_edges :].reshape(6, 2)
    seen = np.stack([(unpacked.x == k).mean(axis=1) for k in (1, 2)], axis=1)
    return np.abs((seen - exact) / np.sqrt(exact * (1 - exact) / m)).max()


def weighted_states(rng, graph, unpacked, counts, n):
    table_fields.draw_fields(rng, graph, unpacked, np.arange(6), counts, n)


def redrawn_states(rng, graph, unpacked, counts, n):
    for i in range(6):
        table_fields._draw_field(rng, graph, unpacked, i, counts, n)


def test_weighted_particles_follow_fields_of_many_states(rng):
    assert np.mean([pulled_states(weighted_states, rng) for _ in range(6)]) < 8
    assert np.mean([pulled_states(redrawn_states, rng) for _ in range(6)]) > 12
