"""Swaps of the differences, or of the baselines, of two rival edges: they leave the posterior invariant."""

from dataclasses import replace

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.models import Boltzmann
from bayesmrf.posterior.conditionals.group_lines import GroupTheta, draw_group_scales, one_group
from bayesmrf.posterior.conditionals.group_swaps import swap_in_table
from bayesmrf.posterior.conditionals.state_table import fill_table
from bayesmrf.priors import Beta
from tests.statistical.test_differences import PRIOR, compared, draws_of, exact, kernel

MODEL = Boltzmann(graphs.complete(3))
NONE = np.empty((0, 2), np.int64)


def alike(rng, sizes=(60, 50)):
    """Groups in which nodes 1 and 2 differ in a tenth of the rows, and node 0 goes with them in the last one only."""
    found = []
    for t, n in enumerate(sizes):
        x = np.zeros((n, 3))
        while len(np.unique(x, axis=0)) < 5:
            x = rng.integers(0, 2, size=(n, 3)).astype(float)
            x[:, 2] = np.where(rng.random(n) < 0.9, x[:, 1], x[:, 2])
            x[:, 0] = np.where(rng.random(n) < 0.6 * t, x[:, 1], x[:, 0])
        found.append(x)
    return found


def without_swaps(of):
    of.__dict__["problem"] = of.problem._replace(rivals=NONE)
    return of


@pytest.fixture(scope="module")
def spiked(module_rng):
    """Data, and the posterior where baselines may be absent; under another prior of the density, too."""
    data, other = alike(module_rng), replace(PRIOR, density=Beta(9.0, 1.0))
    given = {"always": False, "n_samples": 4000}
    return data, exact(MODEL, data, module_rng, **given), exact(MODEL, data, module_rng, other, **given)


@pytest.mark.parametrize("always", [True, False], ids=["differences", "baselines"])
def test_swaps_leave_the_posterior_invariant(always, spiked, rng):
    """Draws of a sampler without swaps, each followed by ten of them; the tables of the groups follow."""
    data, truth, _ = spiked
    if always:
        truth = exact(MODEL, data, rng, n_samples=4000)
    of = kernel(MODEL, data, baseline=None if always else PRIOR)
    right = of.problem
    assert len(right.rivals)
    values = draws_of(without_swaps(of), rng, 60)
    assert compared(values, truth).holds

    def moved(problem, n_draws=60):
        kept = {name: v[:, :n_draws] for name, v in values.items()}
        thetas, included, n_moved = kept["theta"].copy(), kept["included"].copy(), 0
        for at in np.ndindex(thetas.shape[:2]):
            natural = thetas[at]
            weights = np.array([natural[:, :3].mean(axis=0), (natural[1] - natural[0])[:3]])
            weights[0] *= ~np.isclose(weights[0], 0, atol=1e-12)
            weights[1] *= included[at]
            theta = GroupTheta(weights, natural, np.ones(natural.shape))
            tables = np.array([fill_table(one_group(problem, t), natural[t])[0] for t in range(2)])
            drawn, before = draw_group_scales(rng, problem, theta), natural.copy()
            for _ in range(10):
                swap_in_table(rng, problem, tables, theta, drawn)
            included[at] = weights[1] != 0
            n_moved += (natural != before).any()
        end = fill_table(one_group(problem, 1), natural[1])[0]
        np.testing.assert_allclose(tables[1] / tables[1].sum(), end / end.sum(), rtol=1e-9)
        n_edges = included.sum(axis=-1)
        return compared(kept | {"theta": thetas, "included": included, "n_edges": n_edges}, truth), n_moved

    found, n_moved = moved(right)
    assert found.holds, found
    assert n_moved > 100
    sums = right.lines.sums * np.array([[1] * 6, [0.7, *[1] * 5]])
    wrong = right._replace(lines=right.lines._replace(sums=sums))
    assert not moved(wrong, 30)[0].holds


@pytest.mark.parametrize("chains", [False, True], ids=["exact", "reversible-jump"])
def test_samplers_with_swaps(chains, spiked, rng):
    data, truth, other = spiked
    draws = draws_of(kernel(MODEL, data, baseline=PRIOR, chains=chains), rng, 60)
    found = compared(draws, truth)
    assert found.holds, found
    assert not compared(draws, other).holds
