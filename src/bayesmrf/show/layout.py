"""Positions of the nodes in a plot of a network."""

from __future__ import annotations

import numpy as np

from ..compiled import leaf

_MOST_SPRINGS = 120  # nodes up to which springs are solved to their minimum
_MOST_CROWDED = 40  # nodes whose positions are those of the springs alone
_N_ROUNDS = 30
_MOST_ROUNDS, _CLOSE = 400, 0.02  # in which nodes are moved apart; what may lack of their distance


def layout(n_nodes: int, ends: np.ndarray) -> np.ndarray:
    """Return positions (n_nodes, 2) of nodes that all have edges, with the long side horizontal.

    Kamada and Kawai (1989): a spring joins every two nodes, with the length of the shortest path between them and the
    inverse square of it as stiffness. Beyond 120 nodes the springs are relaxed one after the other, in random order and
    with decreasing steps (Zheng, Pawar and Goodman 2019), which takes seconds for 3,000 nodes. Beyond 40 nodes dense
    regions are spread out.
    """
    import networkx as nx
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    if n_nodes == 0:
        return np.empty((0, 2))
    links = csr_array((np.ones(len(ends)), ends.T.astype(np.int32)), shape=(n_nodes, n_nodes))
    d = shortest_path(links, directed=False, unweighted=True)
    d[~np.isfinite(d)] = d[np.isfinite(d)].max() + 1  # components side by side
    if n_nodes <= 2:
        place = np.array([[0.0, 0.0], [1.0, 0.0]])[:n_nodes]
    elif n_nodes <= _MOST_SPRINGS:
        g = nx.Graph()
        g.add_nodes_from(range(n_nodes))
        g.add_edges_from(ends.tolist())
        positions = nx.kamada_kawai_layout(g, dist={i: dict(enumerate(row)) for i, row in enumerate(d.tolist())})
        place = np.array([positions[i] for i in range(n_nodes)])
    else:
        rng = np.random.default_rng(0)
        place = d.max() * rng.random((n_nodes, 2))
        # The first round moves even the longest spring to its length, the last one changes very little.
        for step in np.geomspace(d.max() ** 2, 0.1, _N_ROUNDS):
            _relax(place, d, step, rng.permutation(n_nodes), rng.permutation(n_nodes))
    place = place - place.mean(axis=0)
    place = place @ np.linalg.svd(place, full_matrices=False)[2].T
    if n_nodes > _MOST_CROWDED:  # halfway to an even spread along each axis, so that dense regions become readable
        rank = place.argsort(axis=0).argsort(axis=0) / (n_nodes - 1) - 0.5
        place = place / np.ptp(place, axis=0) + rank
    return place


@leaf
def _relax(place, d, step, first, second):
    """Move the two ends of each spring towards its length, without overshooting."""
    for i in first:
        for j in second:
            if i < j:
                x, y = place[i, 0] - place[j, 0], place[i, 1] - place[j, 1]
                size = max(np.sqrt(x * x + y * y), 1e-9)
                move = 0.5 * min(1.0, step / d[i, j] ** 2) * (size - d[i, j]) / size
                place[i, 0] -= move * x
                place[i, 1] -= move * y
                place[j, 0] += move * x
                place[j, 1] += move * y


def spread(place: np.ndarray, least: float) -> np.ndarray:
    """Move nodes that are nearer to each other than the ``least`` distance apart, the nearest first in each round."""
    place = place + 1e-6 * least * np.random.default_rng(0).standard_normal(place.shape)
    for _ in range(_MOST_ROUNDS):
        apart = place[:, None] - place[None]
        distance = np.sqrt((apart**2).sum(axis=2)) + 2 * least * np.eye(len(place))
        lacking = np.maximum(least - distance, 0.0)
        if lacking.max(initial=0.0) < _CLOSE * least:
            break
        place = place + 0.5 * ((lacking / distance)[:, :, None] * apart).sum(axis=1)
    return np.asarray(place)
