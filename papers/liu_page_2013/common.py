"""Names, seeds and rows of all experiments of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import pandas as pd

from papers.cells import Cell, CellSettings
from papers.store import Record

# The position in this list is part of a cell's seed: append new names.
METHODS = (
    "mle",
    "oracle",
    "tree",
    "exact",
    "auxiliary-variable",
    "stripped-beta",
    "mle-fields",
    "stripped-beta-fields",
    "particle",
    "particle-fields",
    "particle-grouped-fields",
    "mle-persistent",
    "oracle-persistent",
)
# The same for the methods that find edges.
STRUCTURE_METHODS = (
    "spike-exact",
    "spike-particle",
    "stripped-beta-learnt",
    "particle-learnt",
    "spike-slab",
    "l1-cv",
    "l1-size",
    "spike-particle-fields",
)
N_EDGES = 279  # of the graphs learnt from votes, as in the paper


class Settings(CellSettings):
    """Settings of this paper's experiments."""

    names = ("tree", "small-grid", "large-grid", "senate", "structure", "structure-senate", "consistency", "no-groups")
    digits = None  # log likelihoods are in the millions, and compared to a hundredth


class Plan(Protocol):
    """The part of a plan that determines its cells and rows."""

    points: tuple[int, ...]
    axis: str
    measures: tuple[str, ...]


class Points:
    """Cells (replicate, point, method): numbers of training samples or, of the votes, the session trained on."""

    def cells(self: Plan, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return all methods at all points, replicate by replicate."""
        return [(r, p, m) for r in range(replicates) for p in self.points for m in methods]

    def rows(self: Plan, records: Iterable[Record]) -> pd.DataFrame:
        """Return one row per cell: replicate, point, method, and every measure (NaN if missing)."""
        cells = [dict(zip(("replicate", self.axis, "method"), r["cell"], strict=True)) for r in records]
        values = pd.DataFrame(list(records), columns=list(self.measures)).astype(float)
        return pd.concat([pd.DataFrame(cells), values], axis=1)


def plain(options: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return options of methods as plain values."""
    return {method: dict(values) for method, values in options.items()}
