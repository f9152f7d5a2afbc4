"""Tables of groups that move with fields: the prior of the fields is part of the ratio.

Without data, the value v that the edges of a group share has a normal distribution along the line on which the fields
are h + D (v - v0). Their own prior is so wide that posteriors (test_grouped_cells.py) hardly depend on it.
"""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.models import Symmetric
from bayesmrf.posterior.groups.blocks import edge_block
from bayesmrf.posterior.groups.dirichlet_process import Grouping
from bayesmrf.posterior.groups.exact import ExactMarginals
from bayesmrf.posterior.groups.group_potentials import ManyStateParticles
from bayesmrf.posterior.groups.potentials import Potentials
from bayesmrf.priors import DirichletProcess, MultivariateNormal
from tests.oracle.bounds import Comparison

MODEL = Symmetric(graphs.path(3), 3, True)
KAPPA, N_CHAINS, N_DRAWS, N_WARMUP = 3.0, 20, 150, 20
BASE = DirichletProcess(1.0, MultivariateNormal(0.6 * np.eye(3) + 0.2))


def drawn(marginals, block, rng):
    """Draws of v and of its square, in chains that start at v = 0 and fields of 0.7."""
    theta = np.concatenate([np.zeros(block.end), np.full(6, 0.7)])
    found = np.empty((N_CHAINS, N_DRAWS, block.p))
    for chain in range(N_CHAINS):
        walk = marginals.thaw(marginals.start(theta, rng), theta, np.zeros(MODEL.n_features), 0.0)
        state = Grouping(np.zeros(2, np.int32), np.zeros((1, block.p)), 1.0, 1.0)
        for t in range(-N_WARMUP, N_DRAWS):
            state = walk.move_values(rng, block, state)
            if t >= 0:
                found[chain, t] = state.values[0]
        move = block.move_of(np.arange(2), len(theta))
        np.testing.assert_allclose(walk.theta, theta + move @ state.values[0], atol=1e-5)
    return np.concatenate([found, found**2], axis=-1)


@pytest.mark.parametrize("of", [lambda: ExactMarginals(MODEL, Elimination()), lambda: ManyStateParticles(MODEL, 256)])
def test_the_prior_of_fields_holds_tables(of, rng, monkeypatch):
    monkeypatch.setattr(Potentials, "kappa", KAPPA)
    block = edge_block(MODEL, np.zeros(MODEL.n_features), 0.0, BASE)
    draws = drawn(of(), block, rng)

    def moments(kappa):
        d = block.move_of(np.arange(2), MODEL.n_features)[block.end :]
        covariance = np.linalg.inv(block.base[0] + kappa * d.T @ d)
        mean = -covariance @ d.T @ np.full(6, kappa * 0.7)
        return np.concatenate([mean, covariance.diagonal() + mean**2])

    assert (found := Comparison().means(draws, moments(KAPPA))).holds, found
    assert not Comparison().means(draws, moments(0.0)).holds
