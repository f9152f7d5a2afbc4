"""Lines of edges from the table of each pair of columns, next to least squares on the rows."""

import numpy as np
import pytest

from bayesmrf import graphs
from bayesmrf.models import Ordinal, Potts
from bayesmrf.posterior.conditionals.centred import centred_lines, line_values
from bayesmrf.posterior.conditionals.pair_tables import line_variance, pair_tables, regression_pull

N = 400


def answers(rng):
    """Three columns in which high levels are rare, the first two almost equal."""
    z = rng.normal(size=(N, 3))
    z[:, 1] = z[:, 0] + 0.2 * z[:, 1]
    return np.digitize(z, [0.3, 0.9, 1.6])


def features(model, node, x):
    """Values of the features of a node in rows, (n, k)."""
    first, last = model.node_starts[node : node + 2] - model.n_edges
    return model.node_rows[first:last][:, x].T


def with_added(pairs):
    """The rows of a pair, and those of one observation more, evenly over its states; and the weights of rows."""
    rows = np.concatenate([pairs, np.argwhere(np.ones((4, 4)))])
    return rows, np.repeat([1.0, 1 / 16], [len(pairs), 16])


@pytest.mark.parametrize("make", [Ordinal, Potts])
def test_coefficients_are_those_of_least_squares(make, rng):
    x, model = answers(rng), make(graphs.complete(3), 4)
    pull = regression_pull(model, pair_tables(model, x, None))
    for e, (u, v) in enumerate(model.graph.edges):
        pairs, weights = with_added(x[:, [u, v]])
        root, ends = np.sqrt(weights)[:, None], [features(model, i, pairs[:, k]) for k, i in enumerate((u, v))]
        columns = np.column_stack([np.ones(len(pairs)), *ends])
        f = model.edge_values[pairs[:, 0], pairs[:, 1]]
        found = np.linalg.lstsq(root * columns, root[:, 0] * f)[0][1:]
        np.testing.assert_allclose(pull[e].ravel(), found, atol=1e-5)


def test_weights_and_missing_answers_are_counted(rng):
    x, model, weights = answers(rng), Ordinal(graphs.complete(3), 4), rng.integers(0, 4, N)
    whole = pair_tables(model, np.repeat(x, weights, axis=0), None)
    np.testing.assert_allclose(pair_tables(model, x, weights.astype(float)), whole)
    hidden = np.where(np.arange(N)[:, None] < 100, [[-1, 0, 0]], x)
    hidden[:100, 1:] = x[:100, 1:]
    found = pair_tables(model, hidden, None)
    edge = [tuple(pair) for pair in model.graph.edges.tolist()].index((0, 1))
    np.testing.assert_allclose(found[edge], pair_tables(model, x[100:], None)[edge])


def test_the_feature_of_a_line_varies_least_and_without_its_ends(rng):
    """Of all lines this has the least variance; that of normal ends has more where the columns are nearly equal."""
    x, model = answers(rng), Ordinal(graphs.complete(3), 4)
    tables, s_bar = pair_tables(model, x, None), model.statistics(x)
    normal = centred_lines(model, s_bar, N)
    exact = normal._replace(pull=regression_pull(model, tables))
    variance, of_normal = (line_variance(line_values(model, lines), tables) for lines in (exact, normal))
    assert (variance <= of_normal + 1e-12).all()
    edge = [tuple(pair) for pair in model.graph.edges.tolist()].index((0, 1))
    assert of_normal[edge] > 1.02 * variance[edge]
    u, v = model.graph.edges[edge]
    rows, weights = with_added(x[:, [u, v]])
    g = line_values(model, exact)[edge].reshape(4, 4)[rows[:, 0], rows[:, 1]]
    g = g - np.average(g, weights=weights)
    np.testing.assert_allclose(np.average(g**2, weights=weights), variance[edge])
    own = np.column_stack([features(model, u, rows[:, 0]), features(model, v, rows[:, 1])])
    own = own - np.average(own, axis=0, weights=weights)
    assert np.abs((weights * g) @ own).max() < 1e-5 * N
