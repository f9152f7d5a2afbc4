"""The names of the parameters of a panel: lagged weights, weights within a wave, thresholds of items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from .display import ParameterDisplay

KINDS = ("autoregression", "lagged", "within")
DENSITIES = dict(zip(KINDS, ("autoregression_density", "density", "within_density"), strict=True))  # names in draws


def kinds_of(n_nodes: int, n_pairs: int) -> np.ndarray:
    """Return the number of the kind of each edge among `KINDS`: n_nodes^2 lagged ones, then pairs within a wave."""
    return np.append(1 - np.eye(n_nodes, dtype=int).ravel(), np.full(n_pairs, 2))


def named_kinds(n_nodes: int, n_edges: int) -> np.ndarray:
    """Return the kind of each edge, as a text."""
    return np.array(KINDS, dtype=object)[kinds_of(n_nodes, n_edges - n_nodes**2)]


@dataclass(frozen=True, eq=False)
class Panel(ParameterDisplay):
    r"""A Markov chain of rows, each of which is a Markov random field given the one before it.

    .. math:: p(x_t \mid x_{t-1}) \propto \exp\Big(\sum_{j, i} B_{ji} x_{t-1,j} x_{ti} + \sum_{u < v} W_{uv} x_{tu}
              x_{tv} + \sum_i \sum_{k \ge 1} \mu_{ik} [x_{ti} = k]\Big)

    with theta = (B by rows, W of each pair, thresholds of each item); see `bayesmrf.models.ordinal.Ordinal`. It has the
    place of a graph, too: its ``edges`` are directed ones with loops, from the wave before, then pairs within a wave.

    Parameters
    ----------
    names : tuple of str
    sizes : tuple of int
        Number of categories of each item.
    within : bool
        Whether items of a wave are joined.

    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    within: bool
    levels: tuple[tuple[str, ...], ...] = ()

    name = "panel"

    @property
    def graph(self) -> Panel:
        """Itself: what is asked of a graph is the names of nodes and edges, and the ends."""
        return self

    @property
    def n_nodes(self) -> int:
        """Number of items d."""
        return len(self.names)

    @cached_property
    def pairs(self) -> np.ndarray:
        """Pairs of items within a wave, (n_pairs, 2)."""
        every = list(combinations(range(self.n_nodes), 2)) if self.within else []
        return np.array(every, dtype=np.int32).reshape(-1, 2)

    @cached_property
    def edges(self) -> np.ndarray:
        """Ends of the lagged edges, from and to, then those of the pairs within a wave."""
        lagged = list(product(range(self.n_nodes), repeat=2))
        return np.concatenate([np.array(lagged, dtype=np.int32), self.pairs])

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.edges)

    @cached_property
    def edge_starts(self) -> np.ndarray:
        """Place in theta of the parameter of each edge, and of the first one of an item, (n_edges + 1,)."""
        return np.arange(self.n_edges + 1)

    @cached_property
    def edge_kinds(self) -> np.ndarray:
        """The kind of each edge, as a text."""
        return named_kinds(self.n_nodes, self.n_edges)

    @property
    def edge_names(self) -> list[str]:
        """``u->v`` of a lagged edge, ``u-v`` of a pair within a wave, in quotes where names have such marks."""
        names = [repr(name) if "-" in name else name for name in self.names]
        n_lagged = self.n_nodes**2
        return [f"{names[u]}{'->' if e < n_lagged else '-'}{names[v]}" for e, (u, v) in enumerate(self.edges)]

    @property
    def starts(self) -> np.ndarray:
        """Where the thresholds of each item begin in theta, (d + 1,)."""
        return self.n_edges + np.append(0, np.cumsum(np.array(self.sizes) - 1))

    @property
    def n_states(self) -> float:
        """Number of states of a row whose items are joined."""
        return float(np.prod([float(m) for m in self.sizes]))

    @property
    def n_features(self) -> int:
        """Number of parameters."""
        return int(self.starts[-1])

    @property
    def feature_names(self) -> list[str]:
        """Names of theta: those of edges, then ``u`` of a yes/no item, else ``u=level`` of each threshold."""
        names = self.edge_names
        for i, (name, size) in enumerate(zip(self.names, self.sizes, strict=True)):
            levels = self.levels[i] if self.levels else tuple(map(str, range(size)))
            names += [name] if size == 2 else [f"{name}={levels[k]}" for k in range(1, size)]
        return names
