"""The automatic choice of an engine: exact if it is cheap, else persistent chains."""

from __future__ import annotations

from ..graphs import Graph
from .chains import Persistent
from .elimination.engine import Elimination, is_cheap

__all__ = ["choose", "is_cheap"]


def choose(graph: Graph, n_jobs: int = 1, n_states: int | None = None) -> Elimination | Persistent:
    """Choose elimination if it is cheap, else persistent chains; ``n_states`` is that of a categorical model."""
    return Elimination() if is_cheap(graph, n_states) else Persistent(n_jobs=n_jobs)
