r"""Coordinates of the dynamics of edges and nodes, their scales from the data, and the longest stable step.

The scale of a baseline or a difference is one over the root of the curvature of the log posterior along its line, at
independent nodes with the states of the data; the parameters of a node are scaled together, by the Cholesky factor of
their covariance there.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import unwrap
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...models.bases import edge_of
from ..conditionals.centred import CentredLines, by_node, line_values, smoothed_shares
from ..conditionals.group_lines import one_group
from ..conditionals.pair_tables import line_variance


class GroupSteps(NamedTuple):
    """Constants of the dynamics."""

    sums: np.ndarray  # (G, F) of the data, of edges along their lines
    scale: np.ndarray  # (2, 1 + q, n_spiked), one over the roots of curvatures, without a baseline and with one
    factor: np.ndarray  # (G, n_nodes, k, k), lower Cholesky factors of the covariance of the parameters of each node
    values: np.ndarray  # (G, n_edges, m^2), centred features in the states 00, 01, ... of the ends
    epsilon: float
    momentum: float


class GroupMomentum(NamedTuple):
    """Momenta of the coordinates of features, (1 + q, n_spiked), and of the free parameters of nodes, (G, number)."""

    weights: np.ndarray
    own: np.ndarray


def steps_of(
    model: Any,
    problem: Any,
    samples: Sequence[tuple[np.ndarray, float]],
    tables: Sequence[np.ndarray] | None,
    momentum: float,
) -> GroupSteps:
    """Return the constants for data of mean statistics and sizes ``samples``; the step size is to be chosen.

    ``tables`` are the shares of the data of each group in pairs of states, if they are known.
    """
    lines, r, n_groups = problem.lines, len(problem.lines.edges), len(samples)
    sizes = np.diff(lines.starts)
    curvature = np.zeros((n_groups, problem.n_spiked))
    factor = np.zeros((n_groups, len(sizes), sizes.max(), sizes.max()))
    values = np.zeros((n_groups, r, model.n_states**2))
    bias = problem.baseline.bias_precision
    for t, (s_bar, n) in enumerate(samples):
        one = unwrap(one_group)(problem, t)
        share = np.maximum(smoothed_shares(model, s_bar, n), 0.0)
        share /= share.sum(axis=1, keepdims=True)
        curvature[t] = n * independent_variance(model, one, share)[: problem.n_spiked]
        if tables is not None:
            curvature[t, :r] = n * line_variance(line_values(model, one), tables[t][edge_of(model)])
        curvature[t, :r] += bias * (one.pull**2).sum(axis=(1, 2))
        values[t] = line_values(model, one)
        for i, (first, last) in enumerate(pairwise(lines.starts)):
            y = model.node_rows[first - r : last - r]
            away = y - (y @ share[i])[:, None]
            precision = n * (away * share[i]) @ away.T + bias * np.eye(last - first)
            factor[t, i, : last - first, : last - first] = np.linalg.cholesky(np.linalg.inv(precision))
    scale = _scales(problem, curvature)
    return GroupSteps(along_lines(model, lines), scale, factor, values, 0.0, momentum)


def along_lines(model: Any, lines: Any) -> np.ndarray:
    """Return the sums of the data, (G, F), of edges along their lines."""
    sums, r = lines.sums.copy(), len(lines.edges)
    for t in range(len(sums)):
        sums[t, :r] -= (lines.pull[t] * by_node(model, sums[t, r:])[lines.edges]).sum(axis=(1, 2))
    return sums


def _scales(problem: Any, curvature: np.ndarray) -> np.ndarray:
    """Compute the scales of `GroupSteps`."""
    n, scales = curvature.shape[1], []
    prior = np.where(
        np.arange(n) < len(problem.lines.edges), problem.baseline.stiffness, problem.baseline.bias_precision
    )
    for drift in (np.zeros(len(problem.drift)), problem.drift):
        along = (np.arange(len(drift)) == 0) - drift
        stiffness = along[:, None] ** 2 * prior + ((problem.contrast - drift) ** 2).T @ curvature
        stiffness[1:] += problem.prior.stiffness
        scales.append(1 / np.sqrt(stiffness))
    return np.array(scales)


def independent_variance(model: Any, lines: CentredLines, share: np.ndarray) -> np.ndarray:
    """Return the variance of each feature if nodes are independent, in states with probabilities ``share``."""
    p, q = share[lines.edges.T]
    pair, one = (p[:, :, None] * q[:, None]).reshape(len(p), -1), np.repeat(share, np.diff(model.node_starts), axis=0)
    parts = (pair, line_values(model, lines)), (one, model.node_rows)
    return np.concatenate([(w * y**2).sum(axis=1) - (w * y).sum(axis=1) ** 2 for w, y in parts])
