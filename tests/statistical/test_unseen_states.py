"""Fields of states that never occur at a node are determined by the prior alone, with moments of any kind.

The node has no edges, so that its fields have a posterior in closed form, here on a grid.
"""

import numpy as np
import pytest

from bayesmrf import GroupedMRF, SpikeSlabMRF
from tests.oracle.bounds import Comparison, assert_estimate

N = 60
GRID = np.linspace(-60, 60, 1201)
QUICK = {"n_chains": 16, "n_draws": 120, "n_warmup": 60, "progress": False}
LONGER = {"n_draws": 400}  # fields that the prior alone holds move slowly next to edges that come and go
GROUPS, EDGES = ["exact", "particle"], ["exact", "reversible-jump"]
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")


def mean(log_density, h):
    p = np.exp(log_density - log_density.max())
    return float((p * h).sum() / p.sum())


def constant_mean():
    """Mean of the field of a node that is always 1, in {-1, 1}; its prior is N(0, 10^2)."""
    return mean(-N * np.logaddexp(0, -2 * GRID) - GRID**2 / 200, GRID)


def unseen_mean():
    """Mean of the field of the last of three states, whose numbers of rows are 20, 40 and 0."""
    one = np.linspace(-2, 4, 121)[:, None]
    log_z = np.logaddexp(np.logaddexp(0, one), GRID)
    return mean(40 * one - N * log_z - one**2 / 200 - GRID**2 / 200, np.broadcast_to(GRID, log_z.shape))


def last_fields(estimator, X):
    return estimator.fit(X).posterior_["posterior"]["theta"].values[:, :, -1]


def agrees(draws, truth):
    return Comparison().means(draws[..., None], [truth], bias=0.3)


@pytest.mark.parametrize("fields", [True, "grouped"])
@pytest.mark.parametrize("method", GROUPS)
def test_constant_columns(method, fields, rng):
    X = np.column_stack([rng.integers(0, 2, (N, 2)), np.ones(N, int)])
    given = {"graph": [(0, 1)], "method": method, "fields": fields, "random_state": rng} | QUICK
    draws = last_fields(GroupedMRF(**given), X)
    found = agrees(draws, constant_mean())
    assert found.holds, str(found)
    assert not agrees(draws, constant_mean() - 6).holds


@pytest.mark.parametrize(
    ("estimator", "options", "method"),
    [
        *((GroupedMRF, {"graph": [(0, 1)], "model": "potts"}, method) for method in GROUPS),
        *((GroupedMRF, {"graph": [(0, 1)], "model": "potts", "fields": "grouped"}, method) for method in GROUPS),
        *((GroupedMRF, {"graph": [(0, 1)], "model": "symmetric"}, method) for method in GROUPS),
        *((SpikeSlabMRF, {"model": "potts"} | LONGER, method) for method in EDGES),
    ],
)
def test_states_that_never_occur(estimator, options, method, rng):
    X = np.column_stack([rng.integers(0, 3, (N, 2)), np.repeat([0, 1], [20, 40])])
    draws = last_fields(estimator(method=method, random_state=rng, **QUICK | options), X)
    found = agrees(draws, unseen_mean())
    assert found.holds, str(found)
    assert not agrees(draws, unseen_mean() - 19).holds  # it was -19 to -29 where half a particle was counted


def test_probabilities_that_round_to_one(rng):
    """Where a field is so large that 1 - P is 0 in floating point, its next draw does not depend on it."""
    X = np.column_stack([rng.integers(0, 2, (N, 2)), np.ones(N, int)])
    est = GroupedMRF([(0, 1)], method="exact", random_state=rng, n_chains=2, n_draws=4000, n_warmup=10, progress=False)
    h = est.fit(X).posterior_["posterior"]["theta"].values[:, :, -1]
    after = h[:, 1:][h[:, :-1] > 18]
    assert len(after) > 100
    assert_estimate(after.mean(), constant_mean(), 5.7 / np.sqrt(len(after)))
