"""The blocks of theta of a model whose items may share values: that of its edges and that of its fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...models.categorical import is_categorical
from ...priors import FIELD_SCALE, DirichletProcess, Normal
from ..conditionals.centred import centred_lines, mean_pull
from ..conditionals.centred_tables import centred_tables
from .items import Logits, NodeLines, Products
from .potentials import Potentials

Block = Logits | Products | Potentials


def edge_block(
    model: Any, counts: np.ndarray, n: float, prior: DirichletProcess, field_prior: DirichletProcess | None = None
) -> Block:
    """Make the block of the edges of a model.

    Of the ordinal model it is one of products, else logits if their prior is that of an agreement, or potentials.
    """
    r, p = model.n_edges, model.n_parameters
    if model.is_product:
        s_bar = counts / max(n, 1)
        # Groups move by products of centred scores (`many_states`), so that lines do, too.
        return Products(0, counts[:r], n, prior, lines=centred_lines(model, s_bar, n, pull=mean_pull(model, s_bar, n)))
    if prior.base.is_of_agreement:
        return Logits(0, counts[:r], n, prior)
    # Grouped fields cannot move one by one.
    lines = centred_tables(model, counts / max(n, 1), n) if model.fields and field_prior is None else None
    return Potentials(0, counts[: r * p].reshape(r, p), n, prior, lines=lines)


def field_block(model: Any, counts: np.ndarray, n: float, prior: DirichletProcess | None) -> Block:
    """Make the block of the node fields; those of many states are grouped by node, others one by one."""
    first = model.n_edges * model.n_parameters
    ones, low = counts[first:], model.feature_low[first:]
    field_prior = prior or DirichletProcess(base=Normal(FIELD_SCALE))
    if prior is not None and is_categorical(model):
        return Potentials(first, ones.reshape(-1, model.n_states - 1), n, field_prior)
    unit = float(1 / (1 - low[0])) if len(low) else 1.0
    if model.is_product:
        return NodeLines(first, ones, n, field_prior, False, lines=centred_lines(model, counts / max(n, 1), n))
    return Logits(first, ones, n, field_prior, prior is not None, unit)
