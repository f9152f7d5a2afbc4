"""Models of two states as models of tables: the same parameters and distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import OptionError
from .bases import ManyStateModel


@dataclass(frozen=True, eq=False)
class TwoStateTables(ManyStateModel):
    """Tables of two states.

    Parameters
    ----------
    graph, n_states, fields
        As in `ManyStateModel`.
    edge_features : (1, 2, 2) array
    """

    edge_features: Any = None

    name = "two-state tables"


def tables_of(model: Any) -> TwoStateTables:
    """Return a model of two states, whose features are 0 or 1, as a model of tables.

    Raises
    ------
    OptionError
        If the features of nodes are others.
    """
    if model.fields and model.node_values != (0.0, 1.0):
        expected = "one whose features of nodes are 0 and 1, for particles"
        raise OptionError(option="model", got=f"{model.name}, with {model.node_values}", expected=expected)
    return TwoStateTables(model.graph, 2, model.fields, np.asarray(model.edge_features))
