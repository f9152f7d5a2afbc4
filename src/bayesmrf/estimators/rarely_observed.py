"""Columns that were observed in so few rows that these hardly determine the signs of their edges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.states import States
from ..errors import ConvergenceWarning
from ..findings import tell
from ..graphs import Graph
from ..names import shown
from ..results.convergence import MISSING

FEW = 30  # rows: with so many, a mode with other signs of edges that matter has hardly any probability


def rarely_observed(states: States, graph: Graph) -> list[int]:
    """Return the nodes with edges that were observed in fewer than 30 rows, and in fewer than not."""
    there = states.values >= 0
    seen = there.sum(axis=0) if states.weights is None else states.weights @ there
    few = (seen < FEW) & (2 * seen < states.n_samples)
    return [int(i) for i in np.intersect1d(np.flatnonzero(few), graph.edges)]


def tell_of_rare(parts: Sequence[States], graph: Graph) -> None:
    """Tell of columns of which the data of a group of people hardly determine the signs of edges, if there are any."""
    nodes = sorted({i for part in parts for i in rarely_observed(part, graph)})
    if nodes:
        names = shown(", ".join(graph.names[i] for i in nodes))
        tell(
            f"{MISSING}: fewer than {FEW} rows have a value of {names}, which may be too few for the signs of edges. "
            "The posterior then has a mode for each sign, and all chains may be in one of them: drop such columns.",
            ConvergenceWarning,
        )
