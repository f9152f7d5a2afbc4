r"""The Bayes factor of each edge, or difference, given all else: its likelihood averaged over the slab.

.. math:: L_e = \int \mathrm{slab}(a) \, e^{\ell(a) - \ell(0)} da

along the lines of `bayesmrf.posterior.conditionals.group_lines`, where the parameters of its nodes (and the baseline of
a difference) move with the edge: these are integrated together with it, so that L varies less over draws than with
these held.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiled import strict_leaf
from .centred import by_node, line_values
from .group_lines import BASELINE, GroupProblem
from .slab_mean import SlabLine, fill_slab_estimates, fill_slab_means
from .state_table import fill_table, pair_sums, sum_out

_BLOCK = 2**18  # numbers that are an array at a time


class Places(NamedTuple):
    """Where some draws are, and the probabilities of the states 00, 01, ... of the ends of each edge there."""

    weights: np.ndarray  # (n, 1 + q, parameters of edges), of `GroupTheta`
    natural: np.ndarray  # (n, G, F)
    cells: np.ndarray  # (n, G, n_edges, m^2)
    precision: np.ndarray  # (n, 2), of the slabs of baselines and of differences


@strict_leaf
def table_cells(lines, order, thetas, cells):
    """Set ``cells`` (n, n_edges, m^2) to the weights of the states of the ends of each edge at parameters (n, F), the
    smaller node first.
    """
    cells[:] = 0.0
    for i in range(len(thetas)):
        table, _ = fill_table(lines, thetas[i])
        for k in range(len(order.blocks)):
            small = sum_out(table, lines.base.shape[1], order.blocks[k])
            for row in range(order.edge_starts[k], order.edge_starts[k + 1]):
                e = order.edges[row, 4]
                pair_sums(small, lines.base.shape[1], order.edges[row, 0], order.edges[row, 1], cells[i, e])


def log_factors(
    rng: np.random.Generator, model: Any, problem: GroupProblem, at: Places, part: int, n_chains: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log Bayes factor of a part of each edge given all else, and the variance that is noise, (n, n_edges).

    Parameters
    ----------
    rng : numpy.random.Generator
        For edges with several coordinates.
    model : TwoArrays
    problem : GroupProblem
    at : Places
    part : {BASELINE, DIFFERENCE}
    n_chains : float
        Independent ones, of which the probabilities are shares; infinite if they are exact.
    """
    (log_factor, noise), starts = np.zeros((2, len(at.weights), problem.n_edges)), problem.places[: problem.n_edges + 1]
    groups = [problem.lines._replace(n=n, sums=s, pull=p) for n, s, p in zip(*problem.lines[3:6], strict=True)]
    values = np.array([line_values(model, lines) for lines in groups])
    rows = by_node(model, np.arange(len(model.node_rows))).astype(int) + len(problem.lines.edges)
    slab, n_coordinates = (problem.baseline, 1) if part == BASELINE else (problem.prior, at.weights.shape[1] - 1)
    for size in np.unique(np.diff(starts)):
        d, edges = int(size) * n_coordinates, np.flatnonzero(np.diff(starts) == size)
        draw, edge = (x.ravel() for x in np.meshgrid(np.arange(len(log_factor)), edges, indexing="ij"))
        top = float(problem.tops[part, edges[0]])
        width = max(1, _BLOCK // (values.shape[0] * values.shape[2] * d))
        for i in range(0, len(edge), width):
            batch = draw[i : i + width], edge[i : i + width]
            lines, cells = _lines(problem, at, part, batch, int(size), values, rows)
            means, modes, variance = np.empty(len(cells)), np.empty((len(cells), d)), np.zeros(len(cells))
            if d == 1:
                fill_slab_means(lines, slab, top, problem.baseline, means, modes)
            else:
                fill_slab_estimates(rng, lines, slab, top, problem.baseline, means, modes, variance)
            log_factor[batch] = means
            noise[batch] = variance + (_variance(lines, cells, modes) / n_chains if n_chains < np.inf else 0.0)
    return log_factor, noise


def _lines(
    problem: GroupProblem,
    at: Places,
    part: int,
    batch: tuple[np.ndarray, np.ndarray],
    size: int,
    values: np.ndarray,
    rows: np.ndarray,
) -> tuple[SlabLine, np.ndarray]:
    """Compute the lines of edges with ``size`` parameters each, whose draws and numbers are ``batch``, and the
    probabilities (B, G, m^2) of the states of their ends at the draws.
    """
    of, (draw, edges) = problem.lines, batch
    own = problem.places[edges][:, None] + np.arange(size)  # (B, K)
    coordinates = slice(0, 1) if part == BASELINE else slice(1, None)
    each = np.arange(at.weights.shape[1])[None, :, None]
    weights = at.weights[draw[:, None, None], each, own[:, None]]  # (B, 1 + q, K)
    base, a = weights[:, 0], weights[:, coordinates].reshape(len(edges), -1)
    moves = (base != 0).any(axis=1) & (part != BASELINE)
    drift = moves[:, None] * problem.drift[coordinates]  # (B, q)
    rate = problem.contrast[None, :, coordinates] - drift[:, None]  # (B, G, q)
    eye = np.eye(size)  # a parameter of an edge moves by the rates of its own coordinates
    along = (rate[:, :, None, :, None] * eye[:, None]).reshape(*rate.shape[:2], size, -1)
    gain = np.einsum("bgkd,bgks->bgds", along, values[:, own].swapaxes(0, 1))
    ends = rows[of.edges[own[:, 0]]]  # (B, 2, N)
    pull = of.pull[:, own].swapaxes(0, 1)  # (B, G, K, 2, N)
    sums = of.sums[:, own].swapaxes(0, 1) - np.einsum("bgken,gben->bgk", pull, of.sums[:, ends])
    rates = -np.einsum("bgken,bgkd->bgend", pull, along)
    node = at.natural[draw[:, None, None], :, ends].transpose(0, 3, 1, 2) - np.einsum("bgend,bd->bgen", rates, a)
    x, rates = node.reshape(len(edges), node[0].size), rates.reshape(len(edges), node[0].size, a.shape[1])
    cells = at.cells[draw, :, edges] / at.cells[draw, :, edges].sum(axis=2, keepdims=True)
    with np.errstate(divide="ignore"):  # all may be in states that are far away
        log_share = np.log(cells) - np.einsum("bgds,bd->bgs", gain, a)
    log_share -= np.logaddexp.reduce(log_share, axis=2, keepdims=True)
    score, n, stiffness = np.einsum("bgkd,bgk->bd", along, sums), of.n, np.zeros((len(edges), a.shape[1], a.shape[1]))
    if (beta := problem.baseline.logistic) > 0:  # its density is that of beta observations of two states
        halves, none = np.array([-0.5, 0.5]), ((0, 0), (0, 0), (0, gain.shape[3] - 2))
        own = x[..., None] * halves - np.logaddexp(-0.5 * x, 0.5 * x)[..., None]
        log_share = np.concatenate([log_share, np.pad(own, none, constant_values=-np.inf)], axis=1)
        gain = np.concatenate([gain, np.pad(rates[..., None] * halves, ((0, 0), *none))], axis=1)
        n = np.concatenate([n, np.full(x.shape[1], beta)])
    else:
        force = np.tile(problem.scales[ends].reshape(len(edges), -1), len(of.n))[..., None] * rates
        score -= np.einsum("bn,bnd->bd", x, force)
        stiffness += np.einsum("bnd,bne->bde", rates, force)
    base_rate = -(drift[:, None, :, None] * eye[:, None]).reshape(len(edges), size, -1)
    lines = SlabLine(
        np.ascontiguousarray(gain), log_share, n, score, stiffness,
        np.where(moves[:, None], base - np.einsum("bkd,bd->bk", base_rate, a), 0.0), base_rate,
        moves, at.precision[draw, part], at.precision[draw, BASELINE],
    )  # fmt: skip
    return lines, cells


def _variance(lines: SlabLine, cells: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Estimate the variance, times the number of chains, of the log ratio of likelihoods at a and without the edge."""
    n_groups = cells.shape[1]
    without = lines.log_share[:, :n_groups]
    change = np.einsum("bd,bgds->bgs", a, lines.gain[:, :n_groups]) + without
    p = np.exp(change - change.max(axis=2, keepdims=True))
    away = p / p.sum(axis=2, keepdims=True) - np.exp(without)
    observed = np.where(cells > 0, cells, np.inf)
    return np.asarray(np.einsum("g,bgs->b", lines.n[:n_groups] ** 2, away**2 / observed))
