"""Exact inference on graphs of small treewidth: variable elimination in min-fill order (a junction tree)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...base import EVERY_FAMILY, LOG_Z, MOMENTS, SAMPLE, Inference, Kind, Model, Moves, Stateless
from ...declare.option import option
from ...declare.rule import POSITIVE
from ...elimination_order import EliminationOrder
from ...errors import TooWideError
from ...graphs import Graph
from ...models.bases import PairwiseModel
from ...models.categorical import Categorical, compiled_form, states_of
from ..coordinate_walk import walk
from .many_states import bytes_of_tables, categorical_log_z, categorical_moments, categorical_samples
from .passes import log_z_of, moments_of, sample_states

# A solve of 2^22 table entries takes some ten milliseconds; fits need hundreds of solves.
_CHEAP_BYTES = 8 * 2**22
BYTES_PER_ENTRY = 16  # a message and a conditional probability, both float64


class EliminationPlan(NamedTuple):
    """Everything that depends on the graph and the number of states m alone.

    Step i eliminates ``order[i]`` and leaves a table over its bag of k = ``starts[i + 1] - starts[i]`` nodes: m^k
    entries from ``tables[i]`` on. Digit b of an entry's index, to base m, is the state of node ``bags[starts[i] + b]``.
    Digit k - 1 is the node eliminated first; its step is the table's parent. The bag's other nodes are in the parent's
    bag too, and ``subset[i]`` has their bits there. The children of step i are
    ``children[child_starts[i]:child_starts[i + 1]]``.
    """

    order: np.ndarray  # (n_nodes,) nodes
    starts: np.ndarray  # (n_nodes + 1,)
    bags: np.ndarray  # (starts[-1],) nodes
    bag_edges: np.ndarray  # (starts[-1],) edge between the eliminated node and the bag's, -1 if there is none
    tables: np.ndarray  # (n_nodes + 1,)
    child_starts: np.ndarray  # (n_nodes + 1,)
    children: np.ndarray  # (child_starts[-1],) steps
    subset: np.ndarray  # (n_nodes,) bits
    width: int
    n_states: int


def cost(graph: Graph, max_bytes: float = 2 * 1024**3, n_states: int | None = None) -> tuple[int, float]:
    """Return the min-fill width and the bytes of its tables; lower bounds if the bytes exceed ``max_bytes``.

    The width is the size of the largest bag, an upper bound of the treewidth: 0 without edges, 1 for trees, n_nodes - 1
    for complete graphs. The search stops at ``max_bytes``, and tables are not allocated. ``n_states`` is that of
    categorical models.
    """
    order = graph.elimination_order(max_bytes / BYTES_PER_ENTRY)
    if n_states is not None:
        return order.width, bytes_of_tables(order, n_states)
    return order.width, BYTES_PER_ENTRY * (order.n_entries + 2.0**order.width)


def width(graph: Graph) -> int:
    """Return the width of the min-fill order (see `cost`), however large: tables have up to 2^width entries."""
    return graph.elimination_order().width


def is_cheap(graph: Graph, n_states: int | None = None) -> bool:
    """Return whether exact elimination on the graph costs at most some ten milliseconds a solve (see `cost`)."""
    return cost(graph, _CHEAP_BYTES, n_states)[1] <= _CHEAP_BYTES


@dataclass(frozen=True)
class Elimination(Stateless):
    r"""Exact engine that sums out one node after another.

    Summing out node v with later neighbours N (its bag) leaves the message

    .. math:: m_v(x_N) = \log \sum_{x_v = \pm 1} \exp\Big(x_v \big(h_v + \sum_{u \in N} J_{uv} x_u\big)
              + \sum_{c} m_c(x_v, x_N)\Big)

    over the messages c in whose bag v comes first, and the conditional probability q_v(x_N) = P(x_v = +1 | x_N) (Koller
    and Friedman 2009, chapters 9 and 10). The remaining constants sum to log Z. In reverse order, P(x_v = +1, x_N) =
    P(x_N) q_v(x_N) gives the marginals of all bags, and with them every E[x_u x_v] and E[x_v]; drawing x_v from q_v
    gives exact samples. Messages are logarithms, so that large parameters do not overflow; the backward pass uses
    probabilities. Nodes with m states are summed out with tables of m^k entries.

    Parameters
    ----------
    max_bytes
        Wider graphs are refused by `prepare`, before anything is allocated.
    """

    max_bytes: float = option(
        2 * 1024**3, POSITIVE, "Largest memory of the tables of one call (for each of several threads)."
    )

    name = "elimination"
    answers = frozenset({LOG_Z, MOMENTS, SAMPLE})
    families = EVERY_FAMILY
    kind = Kind.EXACT
    walks_by = MOMENTS

    def prepare(self, model: Model) -> EliminationPlan:
        """Find the order and lay out the tables.

        Raises
        ------
        TooWideError
            If the tables would take more than ``max_bytes``.
        """
        order = model.graph.elimination_order(self.max_bytes / BYTES_PER_ENTRY)
        n_states = states_of(model)
        width, n_bytes = cost(model.graph, self.max_bytes, n_states)
        if n_bytes > self.max_bytes:
            least = "at least " if len(order.order) < model.graph.n_nodes else ""
            raise TooWideError(
                f"graph: exact elimination over {model.graph.n_nodes} nodes has width {least}{width} and would need "
                f"{least}{n_bytes / 2**30:.3g} GiB, more than max_bytes = {self.max_bytes / 2**30:.3g} GiB",
                remedy="use persistent chains, a graph with fewer edges, or a larger max_bytes",
            )
        bags, bag_edges, child_starts, children, subset = _layout(order, model.graph.edges)
        tables = np.append(0, np.cumsum(model.n_states ** np.diff(order.starts)))
        return EliminationPlan(
            order.order, order.starts, bags, bag_edges, tables, child_starts, children, subset, width, model.n_states
        )

    def infer(self, model: Model, theta: np.ndarray, plan: Any, want: str = MOMENTS, state: Any = None) -> Inference:
        """Compute log Z in a forward pass, and the moments on request in a backward pass."""
        p = compiled_form(model, theta)
        many = isinstance(p, Categorical)
        if want == LOG_Z:
            log_z = (categorical_log_z if many else log_z_of)(plan, _by_order(plan, p.edges, p.coupling), p.field)
            return Inference(log_z=log_z + p.offset)
        coupling = _by_order(plan, p.edges, p.coupling)
        log_z, pair, node = (categorical_moments if many else moments_of)(plan, coupling, p.field)
        pair = _by_order(plan, p.edges, pair)
        return Inference(log_z=log_z + p.offset, moments=model.moments(pair, node))

    def walk(
        self, model: PairwiseModel, theta: np.ndarray, plan: EliminationPlan, at: Inference, moves: Moves
    ) -> tuple[np.ndarray, Inference, int]:
        """Sweep over one-coordinate moves in one call; see `bayesmrf.base.WalkingEngine`."""
        p = model.pairwise(theta)
        theta, moments = theta.copy(), at.moments.copy()
        accepted = walk(plan, p.edges, model.form, p.coupling.copy(), p.field.copy(), theta, moments,
                        model.feature_low, *moves)  # fmt: skip
        return theta, Inference(moments=moments), accepted

    def sample(
        self, model: Model, theta: np.ndarray, plan: Any, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Sample independent states: one pass forward, and one back for each state."""
        p = compiled_form(model, theta)
        draw = categorical_samples if isinstance(p, Categorical) else sample_states
        return draw(plan, _by_order(plan, p.edges, p.coupling), p.field, n_samples, rng)


def _by_order(plan: EliminationPlan, edges: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Return tables of edges with the end that is eliminated first first, or from that order back."""
    if tables.ndim == 1:
        return tables
    place = np.argsort(plan.order)[edges]
    return np.where((place[:, 0] > place[:, 1])[:, None, None], tables.swapaxes(1, 2), tables)


def _layout(order: EliminationOrder, edges: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return bags, bag_edges, child_starts, children and subset of a plan."""
    n, (nodes, starts, bags) = len(order.order), order
    sizes, step_of = np.diff(starts), np.argsort(nodes)
    owner = np.repeat(np.arange(n), sizes)
    key = np.sort((owner + 1) * n - step_of[bags] - 1)  # by bag, the last step first
    step = (owner + 1) * n - key - 1
    bags = nodes[step]

    def code(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.minimum(u, v) * np.int64(n) + np.maximum(u, v)

    of_edges = code(*edges.T)
    by_code = np.argsort(of_edges)
    wanted = code(nodes[owner], bags)
    place = np.searchsorted(of_edges, wanted, sorter=by_code)
    bag_edges = np.append(by_code, -1)[place]
    bag_edges[np.append(of_edges, -1)[bag_edges] != wanted] = -1

    parents = np.full(n, -1)
    parents[sizes > 0] = step[starts[1:][sizes > 0] - 1]
    child_starts = np.append(0, np.cumsum(np.bincount(parents + 1, minlength=n + 1)[1:]))
    children = np.argsort(parents, kind="stable")[np.count_nonzero(sizes == 0) :]
    subset = np.zeros(n, np.int64)
    others = np.flatnonzero(step != parents[owner])
    above = parents[owner[others]]
    place = np.searchsorted(key, (above + 1) * n - step[others] - 1) - starts[above]
    np.bitwise_or.at(subset, owner[others], 1 << place)
    return bags, bag_edges, child_starts, children, subset
