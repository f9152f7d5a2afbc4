"""Threads at work on the particles of one chain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import Any

import numpy as np

from ..compiled import strict_leaf
from .cluster_flips import by_cluster, flip_all, flip_grown, random_clusters
from .crew import FLIP, LOOK, REDRAW, STOP, begin, next_order, report
from .local_refresh import look, redraw
from .particles import Crowd, RefreshGraph, fill_hubs, shares


@strict_leaf
def _follow(graph, crowd):
    """Do as the leader orders, until it orders to stop."""
    number = 0
    while True:
        number += 1
        what, which = next_order(crowd.crew, number)
        if what == LOOK:
            look(graph, crowd, which)
        elif what == REDRAW:
            redraw(graph, crowd, which, crowd.crew.value[0])
        elif what == FLIP:
            flip_grown(graph, crowd, which)
        report(crowd.crew, crowd.rank, number)
        if what == STOP:
            return


@contextmanager
def led(graph: RefreshGraph, crowd: Crowd, n_threads: int) -> Iterator[Crowd]:
    """The leader's share of ``crowd``: what is done with it edge by edge, other threads do with theirs.

    What concerns all particles at once (their weights, the local fields of hubs anew) needs ``crowd`` itself.
    """
    leader, *others = shares(crowd, n_threads, together=True)
    threads = [Thread(target=_follow, args=(graph, share), daemon=True) for share in others]
    for thread in threads:
        thread.start()
    try:
        yield leader
    finally:
        begin(leader.crew, STOP, 0)
        for thread in threads:
            thread.join()


def each_share(function: Callable[..., Any], graph: RefreshGraph, crowd: Crowd, n_threads: int, *args: Any) -> None:
    """Call ``function(graph, share, *args)`` for every thread's share of the particles, without orders."""
    first, *others = shares(crowd, n_threads, together=False)
    with ThreadPoolExecutor(max(1, len(others))) as threads:
        begun = [threads.submit(function, graph, share, *args) for share in others]
        function(graph, first, *args)
        for call in begun:
            call.result()


def flip_clusters(
    rng: np.random.Generator, graph: RefreshGraph, crowd: Crowd, n_times: int, n_threads: int = 1
) -> None:
    """Gibbs flips of all clusters of more than one node, for ``n_times`` ways to bind them."""
    for _ in range(n_times):
        label = random_clusters(rng, graph.edges, crowd.theta, len(crowd.x))
        each_share(flip_all, graph, crowd, n_threads, label, *by_cluster(label))
    fill_hubs(graph, crowd)
