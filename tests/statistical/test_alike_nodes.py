"""Moves of nodes that are almost equal in the data: they leave the posterior invariant, and the sampler mixes."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.likelihood import Likelihood
from bayesmrf.models import Boltzmann, Ising, Potts
from bayesmrf.posterior.conditionals.alike_nodes import visit_alike
from bayesmrf.posterior.conditionals.spike import slab_top
from bayesmrf.posterior.conditionals.state_table import fill_table
from bayesmrf.posterior.edges.exact import SpikeSlabExact
from bayesmrf.priors import Beta, Cauchy, SpikeSlab
from bayesmrf.results.rank_diagnostics import rank_diagnostics
from bayesmrf.runs import run
from tests.long import LONG
from tests.oracle import spike_slab as oracle
from tests.statistical.test_spike_slab_exact import ENGINE, N, alike, draw

NONE = np.empty((0, 2), np.int64)
EACH = np.array([[0.0, 0.6, 0.25], [0.6, 0.0, 0.4], [0.25, 0.4, 0.0]])
PAIRS = [(0, 1), (0, 2), (1, 2), (0, 1), (0, 1)]  # of edges of three nodes
MODELS = {
    "boltzmann": Boltzmann(graphs.complete(3)),
    "ising": Ising(graphs.complete(3)),
    "potts": Potts(graphs.complete(3), 3),
}


def without_moves(likelihood, prior, **options):
    kernel = SpikeSlabExact(likelihood, prior, pairs=NONE, **options)
    kernel.__dict__["_problem"] = kernel._problem._replace(alike=NONE)
    return kernel


@pytest.mark.parametrize(
    ("name", "density"),
    [("boltzmann", 0.4), ("ising", 0.4), pytest.param("potts", 0.4, marks=LONG), ("boltzmann", EACH)],
)
def test_moves_leave_the_posterior_invariant(name, density, rng):
    """Draws of a sampler without these moves, each followed by five of them; also where edges have their own prior."""
    model, prior = MODELS[name], SpikeSlab(density, Cauchy(1.5), 2.0)
    m, r = model.n_states, 3
    x = rng.integers(0, m, size=(N, 3))
    x[:, 2] = np.where(np.arange(N) < 3, (x[:, 1] + 1) % m, x[:, 1])
    x[N // 2 :, 0] = x[N // 2 :, 1]
    lik = Likelihood(model, model.statistics(x), N, ENGINE)
    states = np.array(np.unravel_index(np.arange(m**3), (m,) * 3)).T.astype(np.int8)
    features = np.array([model.statistics(s[None]) for s in states])
    exact = oracle.posterior(model.graph, lik.s_bar, N, prior, rng, features=features)
    kernel = without_moves(lik, prior, n_scans=10)
    values, problem = draw(kernel, rng, 40), kernel._problem
    if np.ndim(density) == 0:
        problem.prior.log_odds[:] = np.log(density / (1 - density))
    log_slab = slab_top(problem.prior, problem.prior.precision)

    def moved(more):
        thetas, n_moved = values["theta"].copy(), 0
        for theta in thetas.reshape(-1, model.n_features):
            before, table = theta[:r] != 0, fill_table(problem.lines, theta)[0]
            for e, f in rng.permutation(PAIRS).tolist():
                visit_alike(
                    rng, problem.prior, problem.lines, table, e, f, 3 - e - f, theta, problem.scales, log_slab + more
                )
            n_moved += (before != (theta[:r] != 0)).any()
        end = fill_table(problem.lines, theta)[0]
        np.testing.assert_allclose(table / table.sum(), end / end.sum(), rtol=1e-9)
        return values | {"theta": thetas, "included": thetas[..., :r] != 0}, n_moved

    found, n_moved = moved(0.0)
    found["n_edges"] = found["included"].sum(axis=-1)
    assert n_moved > 0.1 * found["n_edges"].size
    assert oracle.compared(found, *exact).holds
    wrong, _ = moved(1.0)  # negative control: odds of an edge that are too large
    wrong["n_edges"] = wrong["included"].sum(axis=-1)
    assert not oracle.compared(wrong, *exact).holds


def test_the_table_keeps_its_scale(rng):
    """The log likelihood of a draw, from log Z that follows the moves, is that of its parameters."""
    lik = alike(rng)
    kernel = SpikeSlabExact(lik, SpikeSlab(Beta(2.0, 3.0), Cauchy(1.5), 2.0), n_scans=20)
    kernel.__dict__["_problem"] = kernel._problem._replace(alike=np.array([(0, 1, 2)]))
    _, info = kernel.step(rng, kernel.init(rng))
    assert info.log_likelihood == pytest.approx(lik.log_likelihood(info.theta, lik.log_z(info.theta)), abs=1e-8)


def test_nodes_that_differ_in_three_rows(rng):
    """Chains of all weights and biases agree after 400 draws; without the moves they do not."""
    n, x = 2000, rng.integers(0, 2, size=(2000, 4))
    x[: n // 4, 2] = x[: n // 4, 0]
    x[n // 4 : n // 2, 2] = x[n // 4 : n // 2, 1]
    x[:, 3] = x[:, 2]
    x[:3, 3] = 1 - x[:3, 3]
    model = Boltzmann(graphs.complete(4))
    lik, prior = Likelihood(model, model.statistics(x), n, ENGINE), SpikeSlab(0.5)

    def r_hat(kernel):
        theta = run.sample(kernel, n_draws=400, n_warmup=100, n_chains=4, random_state=rng, progress=False).values[
            "theta"
        ]
        return np.nanmax(rank_diagnostics(theta).r_hat)

    kernel = SpikeSlabExact(lik, prior)
    assert len(kernel._problem.alike) > 0
    assert r_hat(kernel) < 1.1
    assert r_hat(without_moves(lik, prior)) > 1.3
