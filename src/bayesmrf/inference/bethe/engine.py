"""The Bethe approximation: loopy belief propagation and its free energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base import BINARY, LOG_Z, MOMENTS, POTTS, Inference, Kind, Model, Moves
from ...compiled import leaf
from ...declare.option import option
from ...declare.rule import MOMENTUM, number
from ...models.bases import PairwiseModel
from ...models.categorical import Categorical, compiled_form
from ..coordinate_walk import shift
from ..iterative import Iterative
from .many_states import categorical_beliefs, categorical_propagate, next_node


class BeliefPlan(NamedTuple):
    """Everything that depends on the graph alone.

    ``order`` visits the nodes depth first, and ``root[i]`` is the first node visited in the component of i. Slot k of
    the adjacency, in node i's row, is the pair (i, neighbours[k]); ``reverse[k]`` is the same edge's slot in the
    neighbour's row.
    """

    order: np.ndarray  # (n_nodes,) nodes
    root: np.ndarray  # (n_nodes,) nodes
    reverse: np.ndarray  # (2 n_edges,) slots


@dataclass(frozen=True)
class Bethe(Iterative):
    r"""Stationary point of the Bethe free energy, found by belief propagation.

    The message from k to i, as a field u_ki on x_i, is

    .. math:: u_{ki} = \operatorname{artanh}(\tanh J_{ki} \tanh c_{ki}), \qquad
              c_{ki} = h_k + \sum_{j \ne i} u_{jk}

    (Yedidia, Freeman and Weiss 2005). Fixed points are the stationary points of the Bethe approximation

    .. math:: \log Z_B = \sum_{(i,j)} \log \sum_{x,y} e^{J_{ij} x y + c_{ij} x + c_{ji} y}
              - \sum_i (d_i - 1) \log 2 \cosh \Big(h_i + \sum_k u_{ki}\Big),

    d_i being the number of neighbours, whose gradient there is given by the beliefs: these are the moments. It is exact
    on forests, in three sweeps; elsewhere log Z_B may be too large or too small, most if couplings are strong and loops
    frustrated.

    Messages start at zero in every call; in components without fields, where zero is always a fixed point, they start
    at ``initial_message`` (its mirror image has the same log Z). With m states a node, messages are logarithms with
    mean zero over the m states, and one of the states that are tied for the largest fields of a component starts ahead,
    by twice ``initial_message``. Nodes are visited depth first, backwards and forwards in turn.

    Parameters
    ----------
    max_iterations : int
        Largest number of sweeps over all nodes.
    tolerance : float
        Largest change of a message in a sweep (before damping) at convergence.
    damping
        Damping helps frustrated models to converge, and slows down others. The fixed points do not depend on it, but
        which of them is reached may. It is not used on forests.
    initial_message
        From 0 they stay at the symmetric fixed point, where all states of a node are equally likely, even if couplings
        are so strong that most of the probability is on states in which nodes agree.
    """

    damping: float = option(0.2, MOMENTUM, "Weight of the old message in the new one, in [0, 1).")
    initial_message: float = option(
        1.0,
        number(0, 10, ends="[]", good=(0.0, 1.0)),
        "Value of the messages at the start in components without fields.",
    )

    name = "bethe"
    families = frozenset({BINARY, POTTS})
    kind = Kind.APPROXIMATE
    walks_by = LOG_Z
    remedy = "raise damping (0.5, 0.9) or max_iterations"

    def prepare(self, model: Model) -> BeliefPlan:
        """Order the nodes, and pair the two directions of each edge."""
        a = model.graph.adjacency
        order, root = _depth_first(a.starts, a.neighbours)
        # Sorted by edge, the two slots of an edge are adjacent.
        slots = np.argsort(a.edge_of, kind="stable").reshape(-1, 2)
        reverse = np.empty(len(a.edge_of), np.int64)
        reverse[slots] = slots[:, ::-1]
        return BeliefPlan(order, root, reverse)

    def infer(
        self, model: Model, theta: np.ndarray, plan: BeliefPlan, want: str = MOMENTS, state: Any = None
    ) -> Inference:
        """Compute log Z and moments together."""
        p = compiled_form(model, theta)
        propagate, beliefs = _propagate, _beliefs
        if isinstance(p, Categorical):
            propagate, beliefs = categorical_propagate, categorical_beliefs
        damping = 0.0 if model.graph.is_forest else self.damping
        message, n_iterations, change = propagate(
            plan, p, self.initial_message, damping, self.max_iterations, self.tolerance
        )
        log_z, pair, node = beliefs(plan, p, message)
        return self._answer(log_z + p.offset, model.moments(pair, node), n_iterations, change)

    def walk(
        self, model: PairwiseModel, theta: np.ndarray, plan: BeliefPlan, at: Inference, moves: Moves
    ) -> tuple[np.ndarray, Inference, int]:
        """Sweep over one-coordinate moves in one call; see `bayesmrf.base.WalkingEngine`."""
        p = model.pairwise(theta)
        p = p._replace(coupling=p.coupling.copy(), field=p.field.copy())
        damping, theta = 0.0 if model.graph.is_forest else self.damping, theta.copy()
        gains = moves.n_samples * moves.s_bar * moves.deltas - moves.thresholds
        log_z, accepted = _walk(plan, p, model.form, self.initial_message, damping, self.max_iterations, self.tolerance,
                                theta, at.log_z, moves.n_samples, moves.deltas, gains)  # fmt: skip
        return theta, Inference(log_z=log_z), accepted


@leaf
def _depth_first(starts, neighbours):
    """List the nodes in depth-first preorder, component by component, and the first node of each one's component."""
    n = len(starts) - 1
    order = np.empty(n, np.int64)
    root = np.full(n, -1)
    stack = np.empty(len(neighbours) + 1, np.int64)
    n_ordered = 0
    for first in range(n):
        stack[0] = first
        height = 1
        while height > 0:
            height -= 1
            i = stack[height]
            if root[i] < 0:
                root[i] = first
                order[n_ordered] = i
                n_ordered += 1
                for j in neighbours[starts[i] : starts[i + 1]]:
                    if root[j] < 0:
                        stack[height] = j
                        height += 1
    return order, root


@leaf
def _total(p, message, i):
    """Sum the field of node i and all messages to it; ``message[k]`` is from ``neighbours[k]`` to the row's node."""
    total = p.field[i]
    for k in range(p.starts[i], p.starts[i + 1]):
        total += message[k]
    return total


@leaf
def _propagate(plan, p, initial, damping, max_iterations, tolerance):
    n = len(p.field)
    has_field = np.zeros(n, np.bool_)
    for i in range(n):
        # A start below the tolerance would stop the iteration.
        if abs(p.field[i]) > tolerance:
            has_field[plan.root[i]] = True
    message = np.zeros(len(p.neighbours))
    for i in range(n):
        if not has_field[plan.root[i]]:
            message[p.starts[i] : p.starts[i + 1]] = initial
    n_iterations = 0
    change = tolerance
    while n_iterations < max_iterations and not change < tolerance:
        n_iterations += 1
        change = 0.0
        for step in range(n):
            i = next_node(plan, n_iterations, step)
            total = _total(p, message, i)
            for k in range(p.starts[i], p.starts[i + 1]):
                coupling, cavity = p.coupling[p.edge_of[k]], total - message[k]
                up, down = abs(coupling + cavity), abs(coupling - cavity)
                new = 0.5 * (up - down + np.log((1 + np.exp(-2 * up)) / (1 + np.exp(-2 * down))))
                difference = new - message[plan.reverse[k]]
                change = max(change, abs(difference))
                message[plan.reverse[k]] += (1 - damping) * difference
    return message, n_iterations, change


@leaf
def _log_2_cosh(x):
    return abs(x) + np.log1p(np.exp(-2 * abs(x)))


@leaf
def _beliefs(plan, p, message):
    """Return log Z_B without the offset, E[x_u x_v] of each edge and E[x_i] of each node."""
    n = len(p.field)
    total = np.empty(n)
    log_z = 0.0
    for i in range(n):
        total[i] = _total(p, message, i)
        log_z -= (p.starts[i + 1] - p.starts[i] - 1) * _log_2_cosh(total[i])
    pair = np.empty(len(p.coupling))
    for i in range(n):
        for k in range(p.starts[i], p.starts[i + 1]):
            if i < p.neighbours[k]:
                e = p.edge_of[k]
                to, fro = total[i] - message[k], total[p.neighbours[k]] - message[plan.reverse[k]]
                same = p.coupling[e] + _log_2_cosh(to + fro)
                other = _log_2_cosh(to - fro) - p.coupling[e]
                pair[e] = np.tanh((same - other) / 2)
                log_z += max(same, other) + np.log1p(np.exp(-abs(same - other)))
    return log_z, pair, np.tanh(total)


@leaf
def _walk(plan, p, form, initial, damping, max_iterations, tolerance, theta, log_z, n_samples, deltas, gains):
    """Move theta_j by deltas_j in turn, if N times the increase of log Z is below gains_j."""
    n_edges, offset, accepted = len(p.coupling), p.offset, 0
    for j in range(len(deltas)):
        shift(p.edges, form, p.coupling, p.field, j, deltas[j])
        moved = offset + (form.a if j < n_edges else form.p) * deltas[j]
        message, _, _ = _propagate(plan, p, initial, damping, max_iterations, tolerance)
        new = _beliefs(plan, p, message)[0] + moved
        if n_samples * (new - log_z) < gains[j]:
            theta[j] += deltas[j]
            log_z, offset = new, moved
            accepted += 1
        else:
            shift(p.edges, form, p.coupling, p.field, j, -deltas[j])
    return log_z, accepted
