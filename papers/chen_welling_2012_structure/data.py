"""Section 6.1: true models, their data, and test data."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from bayesmrf import Graph, SpikeSlabMRF, datasets, graphs, metrics
from bayesmrf.engines import Elimination
from bayesmrf.models import Boltzmann

N_GROUPS = 3  # of the block model
WITHIN, ACROSS = 0.8, 0.1  # probabilities of an edge
EDGE_SCALE, BIAS_SCALE = 0.5, 0.1  # of the Ising models
COUNTS = 1e9
WINDOW = 3  # side of the squares whose conditional likelihood is computed
GREY = 50  # above which a pixel is on
N_ROWS, N_COLUMNS = 12, 9  # of the patch of an image


class Truth(NamedTuple):
    """A Boltzmann machine: candidate edges, and the parameters (0 without an edge)."""

    model: Boltzmann
    theta: np.ndarray

    @property
    def there(self) -> np.ndarray:
        """Which candidates are edges."""
        return self.theta[: self.model.n_edges] != 0

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw exact samples, by elimination on the existing edges."""
        model, theta = present(self.model, self.theta)
        engine = Elimination()
        return engine.sample(model, theta, engine.prepare(model), n, rng)


class Test(NamedTuple):
    """Test data.

    Either all states with their probabilities (``groups`` is empty), which gives the expected log likelihood, or states
    with a group of nodes each, to be predicted from the others: pairs of nodes and the rows they belong to.
    """

    states: np.ndarray
    weights: np.ndarray
    groups: list[tuple[np.ndarray, np.ndarray]]

    def of_posterior(self, estimator: SpikeSlabMRF, average: str) -> float:
        """Return the mean conditional log likelihood of a mixture over draws ("bayes") or of one model ("mean")."""
        if not self.groups:
            return estimator.score(self.states, sample_weight=self.weights, average=average)
        return self._over_groups(lambda x, group: estimator.conditional_log_likelihood(x, list(group), average))

    def of_model(self, model: Boltzmann, theta: np.ndarray) -> float:
        """Return the mean conditional log likelihood of a single model."""
        if not self.groups:
            log_p = metrics.log_probability(model, theta, self.states, Elimination())
            return float(self.weights @ log_p / self.weights.sum())

        def one(x: np.ndarray, group: np.ndarray) -> np.ndarray:
            log_p = metrics.conditional_log_probability(model, theta[None], x, list(group))
            return log_p[np.arange(len(x)), x[:, group].astype(int) @ (1 << np.arange(len(group))[::-1])]

        return self._over_groups(one)

    def _over_groups(self, log_p: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> float:
        return float(np.concatenate([log_p(self.states[rows], group) for group, rows in self.groups]).mean())


def present(model: Boltzmann, theta: np.ndarray) -> tuple[Boltzmann, np.ndarray]:
    """Return the model on the edges whose weight is not 0."""
    there = theta[: model.n_edges] != 0
    graph = Graph(model.graph.n_nodes, model.graph.edges[there])
    return Boltzmann(graph), np.concatenate([theta[: model.n_edges][there], theta[model.n_edges :]])


def from_ising(graph: Graph, coupling: np.ndarray, field: np.ndarray) -> Truth:
    """Convert an Ising model to a Boltzmann machine over {0, 1}: W = 4 J, b_i = 2 h_i - 2 sum_j J_ij."""
    degree = np.zeros(graph.n_nodes)
    for ends in graph.edges.T:
        np.add.at(degree, ends, coupling)
    return Truth(Boltzmann(graph), np.concatenate([4 * coupling, 2 * field - 2 * degree]))


def block(n_nodes: int, rng: np.random.Generator) -> Truth:
    """Draw a block model: three groups; edges within are likely, with absolute normal couplings."""
    graph = graphs.complete(n_nodes)
    u, v = graph.edges.T * N_GROUPS // n_nodes
    within = u == v
    there = rng.random(graph.n_edges) < np.where(within, WITHIN, ACROSS)
    coupling = rng.normal(0, EDGE_SCALE, graph.n_edges)
    coupling = np.where(within, np.abs(coupling), coupling) * there
    return from_ising(graph, coupling, rng.normal(0, BIAS_SCALE, n_nodes))


def lattice(side: int, rng: np.random.Generator) -> Truth:
    """Draw a lattice model: all pairs of nodes are candidates, those of a square lattice are edges."""
    graph, grid = graphs.complete(side**2), graphs.grid(side, side)
    u, v = graph.edges.T
    there = np.isin(u * side**2 + v, grid.edges[:, 0] * side**2 + grid.edges[:, 1])
    coupling = rng.normal(0, EDGE_SCALE, graph.n_edges) * there
    return from_ising(graph, coupling, rng.normal(0, BIAS_SCALE, graph.n_nodes))


def from_prior(n_nodes: int, bias_scale: float, rng: np.random.Generator) -> Truth:
    """Draw edges and parameters from the prior of `SpikeSlabMRF`, with the given scale of the biases."""
    graph = graphs.complete(n_nodes)
    there = rng.random(graph.n_edges) < rng.beta(5, 5)
    weights = rng.normal(0, rng.gamma(5, 1 / 5) ** -0.5, graph.n_edges) * there
    return Truth(Boltzmann(graph), np.concatenate([weights, rng.normal(0, bias_scale, n_nodes)]))


def all_states(truth: Truth) -> Test:
    """Return every state, as often as in `COUNTS` observations on average: the mean log likelihood is exact."""
    d = truth.model.graph.n_nodes
    states = (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(np.int8)
    p = np.exp(metrics.log_probability(truth.model, truth.theta, states, Elimination()))
    return Test(states, np.round(COUNTS * p), [])


def windows(states: np.ndarray, shape: tuple[int, int], rng: np.random.Generator) -> Test:
    """Draw a random square of 3 x 3 nodes for each state."""
    n_places = shape[0] - WINDOW + 1, shape[1] - WINDOW + 1
    place = rng.integers(n_places[0] * n_places[1], size=len(states))
    square = (np.arange(WINDOW)[:, None] * shape[1] + np.arange(WINDOW)).ravel()
    groups = []
    for k in np.unique(place):
        row, column = divmod(int(k), n_places[1])
        groups.append((square + row * shape[1] + column, np.flatnonzero(place == k)))
    return Test(states, np.ones(len(states)), groups)


@lru_cache(maxsize=1)
def patches() -> tuple[np.ndarray, np.ndarray]:
    """Load MNIST training and test images: pixels above 50 are on; then 14 x 14, the central 12 x 9 pixels.

    A pixel of the smaller image is on where at least two of its four are: the paper does not say how it resizes binary
    images. Of the two central positions (nine columns of fourteen) the one whose least variable pixel varies more is
    used; in it the mean of every pixel is in [1e-4, 1 - 1e-4].
    """
    train, _, test, _ = datasets.mnist()
    small = [(x > GREY).reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) >= 0.5 for x in (train, test)]
    mean = small[0].mean(axis=0)
    rim = np.minimum(mean, 1 - mean)
    first = max((2, 3), key=lambda c: rim[1 : 1 + N_ROWS, c : c + N_COLUMNS].min())
    if rim[1 : 1 + N_ROWS, first : first + N_COLUMNS].min() < 1e-4:
        raise AssertionError("a pixel of the patch hardly ever varies")
    cut: Any = [x[:, 1 : 1 + N_ROWS, first : first + N_COLUMNS].reshape(len(x), -1).astype(np.int8) for x in small]
    return cut[0], cut[1]
