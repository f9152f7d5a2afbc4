"""How the threads that share the particles of one chain go through its edges together.

Each thread has particles of its own. One of them leads: it draws groups and values, and for each edge it gives two
orders, to look at the edge and to redraw its ends. All do as ordered with their own particles, and the leader adds up
what they found. An order takes some ten microseconds, which is less than the system needs to wake a thread, so that
both sides watch a number in memory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from ..compiled import strict_leaf

_intrinsic: Any = intrinsic  # its first argument is not one of the caller's, which type checkers do not know
LOOK, REDRAW, FLIP, STOP = range(4)
_MOST_KEYS, _CACHE_LINE = 128, 8


class Crew(NamedTuple):
    """What the threads read and write of each other."""

    order: np.ndarray  # (3,) int64: number of the order, what to do, with which edge or cluster
    value: np.ndarray  # (1,) the edge's theta before
    done: np.ndarray  # (n_threads, 8) int64: [k, 0] is the number of the last order that thread k did
    counts: np.ndarray  # (n_threads, 128) int32: each thread's particles by key
    sums: np.ndarray  # (n_tiles, 3): sums over the particles of a tile
    cluster: np.ndarray  # (n_nodes,) int64: nodes to be flipped
    size: np.ndarray  # (1,) int64: how many
    label: np.ndarray  # (n_nodes,) int64: number of the last cluster that each node was in
    n_grown: np.ndarray  # (1,) int64: number of the last cluster


def start_crew(n_threads: int, n_tiles: int, n_nodes: int) -> Crew:
    """A crew that has done nothing yet."""
    return Crew(
        order=np.zeros(3, np.int64),
        value=np.zeros(1),
        done=np.zeros((n_threads, _CACHE_LINE), np.int64),
        counts=np.zeros((n_threads, _MOST_KEYS), np.int32),
        sums=np.zeros((n_tiles, 3)),
        cluster=np.zeros(n_nodes, np.int64),
        size=np.zeros(1, np.int64),
        label=np.zeros(n_nodes, np.int64),
        n_grown=np.zeros(1, np.int64),
    )


def _item(context, builder, signature, args):
    """Address of the first item of row i of an array of whole numbers."""
    kind, ndim = signature.args[0], signature.args[0].ndim
    zero = context.get_constant(types.intp, 0)
    array = make_array(kind)(context, builder, args[0])
    return cgutils.get_item_pointer(context, builder, kind, array, [args[1]] + [zero] * (ndim - 1))


# What one thread wrote before it published a number can be seen by any thread that has watched the number change.


@_intrinsic
def _watch(typing_context, numbers, i):
    """The number in row i as it is now."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_item(context, builder, signature, args), "acquire", 8)

    return types.int64(numbers, types.intp), generate


@_intrinsic
def _publish(typing_context, numbers, i, number):
    """Set the number in row i, after all that was written before."""

    def generate(context, builder, signature, args):
        builder.store_atomic(args[2], _item(context, builder, signature, args), "release", 8)
        return context.get_dummy_value()

    return types.void(numbers, types.intp, types.int64), generate


@strict_leaf
def begin(crew, what, which):
    """Give an order to all other threads."""
    if len(crew.done) > 1:
        crew.order[1], crew.order[2] = what, which
        _publish(crew.order, 0, crew.order[0] + 1)


@strict_leaf
def finish(crew):
    """Wait until all other threads have done as ordered."""
    for k in range(1, len(crew.done)):
        while _watch(crew.done, k) != crew.order[0]:
            pass


@strict_leaf
def next_order(crew, number):
    """Wait for the order of this number; returns what to do, with which edge or cluster."""
    while _watch(crew.order, 0) != number:
        pass
    return crew.order[1], crew.order[2]


@strict_leaf
def report(crew, rank, number):
    """Say that the order of this number is done."""
    _publish(crew.done, rank, number)
