"""Exact answers on narrow graphs: variable elimination in min-fill order (a junction tree)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base import LOG_Z, MOMENTS, SAMPLE, Inference, Kind, Model
from ..compiled import leaf
from ..errors import OptionError, TooWideError
from ..graphs import EliminationOrder, Graph, min_fill

BYTES_PER_ENTRY = 16  # a message and a conditional probability, both float64
LOG_2 = float(np.log(2))
INVERSE_LOG_2 = 1 / LOG_2


class EliminationPlan(NamedTuple):
    """All that depends on the graph alone.

    Step i eliminates ``order[i]`` and leaves a table over its bag of k = ``starts[i + 1] - starts[i]`` nodes: 2^k
    entries from ``tables[i]`` on. Bit b of an entry's number is the state of node ``bags[starts[i] + b]``. Bit k - 1 is
    the node eliminated first; its step is the table's parent. The bag's other nodes are in the parent's bag too, and
    ``subset[i]`` has their bits there. The children of step i are ``children[child_starts[i]:child_starts[i + 1]]``.
    """

    order: np.ndarray  # (n_nodes,) nodes
    starts: np.ndarray  # (n_nodes + 1,)
    bags: np.ndarray  # (starts[-1],) nodes
    bag_edges: np.ndarray  # (starts[-1],) edge between the eliminated node and the bag's, -1 where there is none
    tables: np.ndarray  # (n_nodes + 1,)
    child_starts: np.ndarray  # (n_nodes + 1,)
    children: np.ndarray  # (child_starts[-1],) steps
    subset: np.ndarray  # (n_nodes,) bits
    width: int


def cost(graph: Graph, max_bytes: float = 2 * 1024**3) -> tuple[int, float]:
    """Width of the min-fill order and bytes of its tables; both are lower bounds where the bytes exceed ``max_bytes``.

    The width is the size of the largest bag, an upper bound of the treewidth: 0 without edges, 1 for trees, n_nodes - 1
    for complete graphs. The search is broken off at ``max_bytes``, and nothing is allocated for the tables.
    """
    return _cost(min_fill(graph, max_bytes / BYTES_PER_ENTRY))


def width(graph: Graph) -> int:
    """Width of the min-fill order (see `cost`), however wide: tables have up to 2^width entries."""
    return min_fill(graph).width


def _cost(order: EliminationOrder) -> tuple[int, float]:
    return order.width, BYTES_PER_ENTRY * (order.n_entries + 2.0**order.width)


@dataclass(frozen=True)
class Elimination:
    r"""Sum out one node after another.

    Summing out node v with later neighbours N (its bag) leaves the message

    .. math:: m_v(x_N) = \log \sum_{x_v = \pm 1} \exp\Big(x_v \big(h_v + \sum_{u \in N} J_{uv} x_u\big)
              + \sum_{c} m_c(x_v, x_N)\Big)

    over the messages c in whose bag v comes first, and the conditional probability q_v(x_N) = P(x_v = +1 | x_N)
    (Koller and Friedman 2009, chapters 9 and 10). The constants that remain add up to log Z. In reverse order,
    P(x_v = +1, x_N) = P(x_N) q_v(x_N) gives the marginals of all bags, and with them every E[x_u x_v] and E[x_v];
    drawing x_v from q_v gives exact samples. Messages are kept as logarithms, so that no strength of parameters
    overflows; the way back is in probabilities.

    Parameters
    ----------
    max_bytes : float
        Memory that the tables of one call may take (calls from several threads take as much each). Wider graphs are
        refused by `prepare`, before anything is allocated.
    """

    max_bytes: float = 2 * 1024**3

    name = "elimination"
    answers = frozenset({LOG_Z, MOMENTS, SAMPLE})
    kind = Kind.EXACT

    def __post_init__(self) -> None:
        if not self.max_bytes > 0:
            raise OptionError(f"max_bytes: {self.max_bytes} came; a positive number of bytes is wanted")

    def prepare(self, model: Model) -> EliminationPlan:
        """Find the order and lay out the tables.

        Raises
        ------
        TooWideError
            If the tables would take more than ``max_bytes``.
        """
        order = min_fill(model.graph, self.max_bytes / BYTES_PER_ENTRY)
        width, n_bytes = _cost(order)
        if n_bytes > self.max_bytes:
            least = "at least " if len(order.order) < model.graph.n_nodes else ""
            raise TooWideError(
                f"graph: exact elimination over {model.graph.n_nodes} nodes has width {least}{width} and would need "
                f"{least}{n_bytes / 2**30:.3g} GiB, more than max_bytes = {self.max_bytes / 2**30:.3g} GiB; "
                "use a method without exact inference (stripped-beta, chains), a sparser graph, or raise max_bytes"
            )
        adjacency = model.graph.adjacency
        bags, bag_edges, tables, child_starts, children, subset = _layout(
            *order, adjacency.starts, adjacency.neighbours, adjacency.edge_of
        )
        return EliminationPlan(
            order.order, order.starts, bags, bag_edges, tables, child_starts, children, subset, width
        )

    def start(self, model: Model, rng: np.random.Generator) -> None:
        """No memory between calls."""

    def infer(
        self, model: Model, theta: np.ndarray, plan: EliminationPlan, want: str = MOMENTS, state: Any = None
    ) -> Inference:
        """Log Z, and the moments when wanted: one pass forward, and one back for the moments."""
        p = model.pairwise(theta)
        if want == LOG_Z:
            return Inference(log_z=_log_z(plan, p.coupling, p.field) + p.offset)
        log_z, pair, node = _moments(plan, p.coupling, p.field)
        return Inference(log_z=log_z + p.offset, moments=model.moments(pair, node))

    def sample(
        self, model: Model, theta: np.ndarray, plan: EliminationPlan, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Independent states: one pass forward, and one back for each state."""
        p = model.pairwise(theta)
        return _sample(plan, p.coupling, p.field, n_samples, rng)


@leaf
def _layout(order, starts, bags, adjacency_starts, neighbours, edge_of):
    n = len(order)
    step_of = np.empty(n, np.int64)
    step_of[order] = np.arange(n)
    tables = np.zeros(n + 1, np.int64)
    child_starts = np.zeros(n + 1, np.int64)
    by_step = np.empty_like(bags)
    for i in range(n):
        bag = by_step[starts[i] : starts[i + 1]]
        bag[:] = order[np.sort(step_of[bags[starts[i] : starts[i + 1]]])[::-1]]
        tables[i + 1] = tables[i] + (1 << len(bag))
        if len(bag) > 0:
            child_starts[step_of[bag[-1]] + 1] += 1
    child_starts = np.cumsum(child_starts)
    children = np.empty(child_starts[-1], np.int64)
    bag_edges = np.full(len(bags), -1, np.int64)
    subset = np.zeros(n, np.int64)
    filled = child_starts.copy()
    place = np.empty(n, np.int64)
    for i in range(n):
        if starts[i + 1] > starts[i]:
            parent = step_of[by_step[starts[i + 1] - 1]]
            children[filled[parent]] = i
            filled[parent] += 1
        for e in range(starts[i], starts[i + 1]):
            place[by_step[e]] = e - starts[i]
        for a in range(adjacency_starts[order[i]], adjacency_starts[order[i] + 1]):
            if step_of[neighbours[a]] > i:
                bag_edges[starts[i] + place[neighbours[a]]] = edge_of[a]
        for c in children[child_starts[i] : child_starts[i + 1]]:
            for e in range(starts[c], starts[c + 1] - 1):
                subset[c] |= 1 << place[by_step[e]]
    return by_step, bag_edges, tables, child_starts, children, subset


@leaf
def _spread(k, subset, low, high):
    """For entry s of the parent's bag, the entry of the child's table: ``low[s % n_low] + high[s // n_low]``.

    That is, gather those bits of s that are in ``subset``. As bits add up, two lists of about 2^(k/2) numbers do for
    all 2^k entries. Returns n_low and n_high, the lengths of the lists.
    """
    n_low = (k + 1) // 2
    low[0] = 0
    high[0] = 0
    stride = 1
    for b in range(k):
        part, size = (low, 1 << b) if b < n_low else (high, 1 << (b - n_low))
        inside = subset >> b & 1
        for s in range(size):
            part[size + s] = part[s] + inside * stride
        stride <<= inside
    return 1 << n_low, 1 << (k - n_low)


@leaf
def _sum_out(up, down, table):
    """``table`` = log(exp(up) + exp(down)); ``up`` becomes exp(up) / (exp(up) + exp(down)), and ``down`` is used up.

    With g = |up - down|, both follow from exp(-g) and log(1 + exp(-g)). Their series are written out because calls of
    the C library do not vectorise, and would take three quarters of the time: exp(-g) = 2^-n exp(r), |r| < 0.35, by
    Taylor; log(1 + t) = 2 artanh(t / (2 + t)), argument < 1/3. Both agree with the library to the last bits.
    """
    power = down.view(np.int64)
    for s in range(len(table)):
        gap = up[s] - down[s]
        table[s] = max(up[s], down[s])
        up[s] = gap
        # The bits of the float64 2^-n. Beyond 700 the smaller term is nothing beside the larger.
        power[s] = np.int64(1023 - np.int32(min(abs(gap), 700.0) * INVERSE_LOG_2 + 0.5)) << 52
    for s in range(len(table)):
        g = min(abs(up[s]), 700.0)
        r = np.int32(g * INVERSE_LOG_2 + 0.5) * LOG_2 - g
        ratio = 1.0
        for n in range(13, 0, -1):
            ratio = 1 + ratio * r * (1 / n)
        ratio *= down[s]
        z = ratio / (2 + ratio)
        series = 0.0
        for n in range(35, 0, -2):
            series = series * z * z + 1 / n
        table[s] += 2 * z * series
        up[s] = (1.0 if up[s] > 0 else ratio) / (1 + ratio)


@leaf
def _forward(plan, coupling, field, message, conditional):
    """Fill ``message`` (each table less its first entry) and, where it is not empty, ``conditional``; return log Z."""
    n = len(plan.order)
    up = np.empty(1 << plan.width)
    down = np.empty(1 << plan.width)
    low = np.empty(1 << (plan.width + 1) // 2, np.int64)
    high = np.empty_like(low)
    log_z = 0.0
    for i in range(n):
        start, k = plan.starts[i], plan.starts[i + 1] - plan.starts[i]
        up[0] = field[plan.order[i]]
        for b in range(k):
            e = plan.bag_edges[start + b]
            c = coupling[e] if e >= 0 else 0.0
            for s in range(1 << b):
                up[(1 << b) + s] = up[s] + c
                up[s] -= c
        for s in range(1 << k):
            down[s] = -up[s]
        for j in plan.children[plan.child_starts[i] : plan.child_starts[i + 1]]:
            table = message[plan.tables[j] : plan.tables[j + 1]]
            half = len(table) // 2
            n_low, n_high = _spread(k, plan.subset[j], low, high)
            for t in range(n_high):
                down_part, up_part = table[high[t] : half], table[half + high[t] :]
                for s in range(n_low):
                    down[t * n_low + s] += down_part[low[s]]
                    up[t * n_low + s] += up_part[low[s]]
        table = message[plan.tables[i] : plan.tables[i + 1]]
        _sum_out(up[: 1 << k], down[: 1 << k], table)
        if len(conditional) > 0:
            conditional[plan.tables[i] : plan.tables[i + 1]] = up[: 1 << k]
        # Tables hold differences between their entries, which stay small where the sums grow with the graph.
        first = table[0]
        log_z += first
        for s in range(1 << k):
            table[s] -= first
    return log_z


@leaf
def _log_z(plan, coupling, field):
    return _forward(plan, coupling, field, np.empty(plan.tables[-1]), np.empty(0))


@leaf
def _moments(plan, coupling, field):
    """Log Z without the offset, E[x_u x_v] of each edge and E[x_v] of each node."""
    n = len(plan.order)
    message = np.empty(plan.tables[-1])
    conditional = np.empty(plan.tables[-1])
    log_z = _forward(plan, coupling, field, message, conditional)
    # The messages have done their duty; their place takes the marginals of the bags.
    marginal = message
    pair = np.empty(len(coupling))
    node = np.empty(n)
    up = np.empty(1 << plan.width)
    down = np.empty(1 << plan.width)
    low = np.empty(1 << (plan.width + 1) // 2, np.int64)
    high = np.empty_like(low)
    for i in range(n - 1, -1, -1):
        start, k = plan.starts[i], plan.starts[i + 1] - plan.starts[i]
        first = plan.tables[i]
        if k == 0:
            marginal[first] = 1.0
        for s in range(1 << k):
            up[s] = marginal[first + s] * conditional[first + s]
            down[s] = marginal[first + s] - up[s]
        for j in plan.children[plan.child_starts[i] : plan.child_starts[i + 1]]:
            table = marginal[plan.tables[j] : plan.tables[j + 1]]
            half = len(table) // 2
            table[:] = 0.0
            n_low, n_high = _spread(k, plan.subset[j], low, high)
            for t in range(n_high):
                down_part, up_part = table[high[t] : half], table[half + high[t] :]
                for s in range(n_low):
                    down_part[low[s]] += down[t * n_low + s]
                    up_part[low[s]] += up[t * n_low + s]
        # E[x_v x_u] is a signed sum of P(+1, x_N) - P(-1, x_N); the bits are folded away one by one, the highest first.
        for s in range(1 << k):
            up[s] -= down[s]
        for b in range(k - 1, -1, -1):
            difference = 0.0
            for s in range(1 << b):
                difference += up[(1 << b) + s] - up[s]
                up[s] += up[(1 << b) + s]
            if plan.bag_edges[start + b] >= 0:
                pair[plan.bag_edges[start + b]] = difference
        node[plan.order[i]] = up[0]
    return log_z, pair, node


@leaf
def _sample(plan, coupling, field, n_samples, rng):
    n = len(plan.order)
    message = np.empty(plan.tables[-1])
    conditional = np.empty(plan.tables[-1])
    _forward(plan, coupling, field, message, conditional)
    states = np.empty((n_samples, n), np.int8)
    for t in range(n_samples):
        x = states[t]
        for i in range(n - 1, -1, -1):
            entry = plan.tables[i]
            for e in range(plan.starts[i], plan.starts[i + 1]):
                entry += x[plan.bags[e]] << (e - plan.starts[i])
            x[plan.order[i]] = rng.random() < conditional[entry]
    return states
