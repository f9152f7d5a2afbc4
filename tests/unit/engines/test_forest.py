"""The likeliest forest of edges as a sparse estimate."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.engines import Elimination
from bayesmrf.learning.forest import forest_start
from bayesmrf.models import Potts, Symmetric

COMPLETE = graphs.complete(5)


def drawn(n, rng):
    """States of a path of three-state nodes, whose edges are 0-1, ..., 3-4, the last one apart."""
    path = Potts(graphs.path(5), 3)
    theta = np.zeros(path.n_features)
    theta[:3] = 2.0
    engine = Elimination()
    return engine.sample(path, theta, engine.prepare(path), n, rng)


@pytest.mark.parametrize("kind", [Potts, Symmetric])
def test_edges_of_the_truth_are_found(kind, rng):
    """Node 4 is independent of the others: of its four pairs, two above the penalty have a probability of 2e-9."""
    values, model = drawn(1000, rng), kind(COMPLETE, 3, True)
    p = model.n_parameters
    theta = forest_start(model, values, None, np.eye(p), rng)
    there = theta[: model.n_edges * p].reshape(-1, p).any(axis=1)
    found = {tuple(e) for e in model.graph.edges[there].tolist()}
    assert {(0, 1), (1, 2), (2, 3)} <= found
    assert len(found) <= 4
    assert theta.shape == (model.n_features,)
    if kind is Potts:
        np.testing.assert_allclose(np.sort(theta[: model.n_edges][there])[-3:], 2.0, atol=1.0)


def test_weights_count_rows_and_missing_values_are_left_out(rng):
    values, model = drawn(300, rng), Potts(COMPLETE, 3)
    weights = rng.integers(0, 3, 300)
    found = forest_start(model, values, weights, np.eye(1), rng)
    np.testing.assert_allclose(found, forest_start(model, np.repeat(values, weights, axis=0), None, np.eye(1), rng))
    more = np.concatenate([values, np.full((40, 5), -1, values.dtype)])
    np.testing.assert_allclose(
        forest_start(model, values, None, np.eye(1), rng), forest_start(model, more, None, np.eye(1), rng)
    )


def test_independent_nodes_have_no_edges(rng):
    values = rng.integers(0, 3, (400, 5))
    theta = forest_start(Potts(COMPLETE, 3), values, None, np.eye(1), rng)
    # Each of ten pairs is above the penalty with probability 8e-5.
    assert np.count_nonzero(theta[: COMPLETE.n_edges]) < 3
