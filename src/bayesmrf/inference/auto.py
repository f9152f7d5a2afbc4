"""The automatic choice of an engine: exact where it is cheap, persistent chains elsewhere."""

from __future__ import annotations

from ..base import Engine
from ..graphs import Graph
from .chains import Persistent
from .elimination.two_states import Elimination, cost

# One solve of 2^22 table entries takes some ten milliseconds; fits need hundreds of them.
_CHEAP_BYTES = 8 * 2**22


def is_cheap(graph: Graph, n_states: int | None = None) -> bool:
    """Whether exact elimination on the graph costs at most some ten milliseconds a solve (see `elimination.cost`)."""
    return cost(graph, _CHEAP_BYTES, n_states)[1] <= _CHEAP_BYTES


def choose(graph: Graph, n_jobs: int = 1, n_states: int | None = None) -> Engine:
    """Elimination where it is cheap, else persistent chains; ``n_states`` is that of a categorical model."""
    return Elimination() if is_cheap(graph, n_states) else Persistent(n_jobs=n_jobs)
