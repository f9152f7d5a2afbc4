"""Groups from particles where nodes have many states: how far they may be from the exact posterior of few edges."""

import numpy as np
import pytest
from scipy.special import expit

from bayesmrf import graphs, partitions
from bayesmrf.errors import OptionError
from bayesmrf.models import Potts, Symmetric
from bayesmrf.posterior.groups.kernels import particle_groups
from bayesmrf.posterior.groups.moves.potential_values import category_counts, move_potentials
from bayesmrf.priors import FIELD_SCALE, Beta, DirichletProcess, MultivariateNormal
from bayesmrf.runs import run
from bayesmrf.states.edge_tables import table_graph
from tests.oracle.bounds import Comparison, assert_mean, assert_other_mean
from tests.oracle.grouped_states import potts_posterior, symmetric_posterior
from tests.statistical.test_grouped_states import ENGINE, TRIANGLE, potts_problem, symmetric_problem
from tests.statistical.test_partition_posterior import LOOP

N_CHAINS = 16


def compare(kernel, exact, rng, bias, n_warmup=20):
    """Compare the number of groups, within 0.06, and the means of the parameters, within ``bias``."""
    draws = run.sample(
        kernel, n_draws=120, n_warmup=n_warmup, n_chains=N_CHAINS, random_state=rng, progress=False
    ).values
    sizes = np.array([labels.max() + 1 for labels in partitions.set_partitions(draws["groups"].shape[2])])
    values = draws["theta"] if exact.is_natural else expit(draws["theta"])
    return Comparison().means(draws["n_groups"], exact.p @ sizes, bias=0.06).means(values, exact.means, bias)


@pytest.mark.parametrize("graph", [LOOP], ids=["loop"])
def test_potts_bias_is_small(graph, rng):
    model, s_bar, n = potts_problem(graph, rng)
    exact = potts_posterior(graph, 3, np.rint(n * s_bar), n, 1.0, 2.0, 1.0)
    start = np.zeros(graph.n_edges)

    def kernel(alpha):
        return particle_groups(model, s_bar, n, DirichletProcess(alpha, Beta(2.0, 1.0)), start, n_jumps=3)

    assert compare(kernel(1.0), exact, rng, 0.01).holds
    assert not compare(kernel(30.0), exact, rng, 0.01).holds


@pytest.mark.calibration  # tests/statistical/test_grouped_cells.py has a path of such potentials
@pytest.mark.parametrize(("graph", "m", "fields"), [(TRIANGLE, 2, False)])
def test_potentials_bias_is_small(graph, m, fields, rng):
    # One group: where the data leave no doubt that there are two, a wrong alpha is not seen.
    model, s_bar, n, covariance = symmetric_problem(graph, m, fields, rng, n_groups=1)
    exact = symmetric_posterior(model, s_bar, n, 1.0, covariance, FIELD_SCALE, rng)
    start = np.zeros(model.n_features)

    def kernel(alpha):
        prior = DirichletProcess(alpha, MultivariateNormal(covariance))
        return particle_groups(model, s_bar, n, prior, start, n_particles=2048)

    # Fields and tables make up for each other, and mix slowly.
    assert compare(kernel(1.0), exact, rng, 0.08, n_warmup=100).holds
    assert not compare(kernel(30.0), exact, rng, 0.08).holds


def test_values_of_a_group_have_the_posteriors_spread(rng):
    """Two edges of a path in one group, exact particles: the draws against the posterior on a grid."""
    model, n, m = Symmetric(graphs.path(3), 2), 100.0, 512
    counts, precision = np.array([[30.0, 40.0], [45.0, 30.0]]), np.linalg.inv(np.array([[1.0, 0.3], [0.3, 0.5]]))
    rows, plan = table_graph(model), ENGINE.prepare(model)
    groups, values = np.zeros(2, np.int32), np.zeros((1, 2))
    draws = []
    for step in range(1600):
        theta = np.tile(values[0], 2)
        x = np.ascontiguousarray(ENGINE.sample(model, theta, plan, m, rng).T)
        t = category_counts(rows.edges, rows.category, np.arange(2), 2, x)
        move_potentials(rng, lambda members, t=t: t, x, groups, values, counts, n, precision)
        if step % 4 == 3:
            draws.append(values[0].copy())
    axis = np.linspace(-2.5, 3.5, 241)
    w = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    # The transfer matrix of a path: log Z of x_0, x_1, x_2.
    e1, e2 = np.exp(w[..., 0]), np.exp(w[..., 1])
    log_z = np.log((1 + e1) ** 2 + (e1 + e2) ** 2)
    log_p = w @ counts.sum(axis=0) - n * log_z - 0.5 * np.einsum("...i,ij,...j", w, precision, w)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = np.einsum("xy,xyi->i", p, w)
    spread = np.einsum("xy,xyi->i", p, np.abs(w - mean))
    away = (np.array(draws) - mean)[:, None]
    assert_mean(away, 0)
    assert_mean(np.abs(away), spread)
    for i in range(2):
        assert_other_mean(np.abs(away[..., i]), 1.4 * spread[i])


def test_what_is_asked_of_the_particles():
    prior = DirichletProcess(1.0, MultivariateNormal(np.eye(2)))
    potts = Potts(TRIANGLE, 3), np.zeros(9), 1, prior, np.zeros(9)
    for kernel, name in [
        (lambda: particle_groups(*potts, 0), "n_particles must be an integer .* got 0"),
        (lambda: particle_groups(*potts, 64, n_jumps=-1), "n_jumps must be an integer .* got -1"),
        (
            lambda: particle_groups(Symmetric(TRIANGLE, 2), np.zeros(6), 1, prior, np.zeros(6), 0),
            "n_particles",
        ),
    ]:
        with pytest.raises(OptionError, match=name):
            kernel()
