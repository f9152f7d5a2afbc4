"""Whether edges are sampled with log Z from a bank of states, or by chains that follow the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.states import States
from ..errors import ApproximatePosteriorWarning, OptionError
from ..families import AUTO
from ..findings import NOTE, tell
from ..methods import ReversibleJump
from ..models.bases import edge_starts
from ..models.categorical import is_categorical
from ..names import shown
from .bank_start import MOST

_FEWEST = 5  # rows of a group with a level
_MOST_COORDINATES, _YES_NO = 600, (1000, 4096)  # of a surrogate; rows of yes/no columns for which "auto" is a bank


def takes_bank(options: ReversibleJump, model: Any, parts: Sequence[States]) -> bool:
    """Return whether log Z is from a bank of states: if a user says so, or where that is faster and right.

    It is for ordered answers and other levels, and for 1,000 yes/no rows and more, of which moments are not
    extrapolated; with twice as many rows as there are effective parameters, those of nodes and a third of those of
    edges, a surrogate that is not too large (measured by ``benchmarks/reversible_jump.py``), and no level that is rare.

    Parameters
    ----------
    parts : sequence of States
        The rows of each group.

    Raises
    ------
    OptionError
        If a user asks for a bank of a table with a rare level.
    """
    rare = _rare_level(model, parts)
    if options.moments != AUTO:
        if options.moments == "bank" and rare:
            expected = f"'auto' or 'chains', as a level of {shown(rare)} has fewer than {_FEWEST} rows of a group"
            raise OptionError(option="moments", got="bank", expected=expected)
        return options.moments == "bank"
    if rare or options != ReversibleJump(n_iterations=options.n_iterations):  # of chains
        return False
    n_of_edges, n_samples = int(edge_starts(model)[-1]), min(part.n_samples for part in parts)
    n_of_nodes = model.n_features - n_of_edges
    enough = 2 * (n_of_nodes + n_of_edges / 3) <= n_samples
    small = len(parts) * model.n_features <= _MOST_COORDINATES
    return enough and small and (is_categorical(model) or _YES_NO[0] <= n_samples <= _YES_NO[1])


def _rare_level(model: Any, parts: Sequence[States]) -> str:
    """Return the name of a column with a level that few rows of a group have, whose parameter has a long tail."""
    used = model.used if model.n_features > edge_starts(model)[-1] else np.zeros((len(model.graph.names), 0), bool)
    for part in parts:
        weights = np.ones(len(part.values)) if part.weights is None else part.weights
        for k in range(used.shape[1]):
            rare = np.flatnonzero(used[:, k] & (weights @ (part.values == k) < _FEWEST))
            if len(rare):
                return str(model.graph.names[rare[0]])
    return ""


def refuse_bank(options: ReversibleJump) -> None:
    """Say that chains are taken, where no bank holds the posterior, or refuse if a user asks for a bank.

    Raises
    ------
    OptionError
    """
    why = f"{MOST:,} states do not represent this posterior, in which rare states matter, or weights have long tails"
    if options.moments == "bank":
        raise OptionError(option="moments", got="bank", expected="'auto' or 'chains' for this table", remedy=why)
    tell(
        f"moments are those of persistent chains that follow the weights: {why}",
        ApproximatePosteriorWarning,
        NOTE,
    )
