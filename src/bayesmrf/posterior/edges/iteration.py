"""An iteration of reversible jumps on persistent chains, whatever the chains are kept in.

The chains take a Gibbs sweep; all parameters get half a kick of Langevin dynamics by the moments of the chains; edges
are born, die and swap, and the chains follow; after the other half of the kick all parameters move
(`bayesmrf.posterior.edges.line_dynamics`). What depends on how states are kept is chosen by the class of the chains,
which are bits (`bayesmrf.posterior.edges.bit_chains`) or bytes (`bayesmrf.posterior.edges.byte_chains`): sharing
more than this is no use, as yes/no answers take a third of the time as bits (docs/notes/moves_of_theta.md).
"""

from __future__ import annotations

import numpy as np

from ...compiled import strict_leaf
from ..conditionals.by_class import by_class
from ..conditionals.group_lines import draw_group_scales
from .bit_chains import BitChains, follow_in_bits, means_of_bits, refresh_bits, visit_in_bits
from .byte_chains import ByteChains, follow_in_bytes, means_of_bytes, refresh_bytes, visit_in_bytes
from .line_dynamics import draw_node_precisions, drift, find_parts, kick
from .spike_slab import DIVERGED


@by_class({BitChains: refresh_bits, ByteChains: refresh_bytes}, place=1)
def refresh(rng, chains):
    """Flip clusters of nodes, and sweep the chains of all groups."""


@by_class({BitChains: means_of_bits, ByteChains: means_of_bytes}, place=0)
def chain_means(chains, problem, has, out):
    """Set ``out`` (G, F) to the means over the chains of the features of nodes, and of present edges on their lines."""


@by_class({BitChains: visit_in_bits, ByteChains: visit_in_bytes}, place=1)
def visit(rng, chains, problem, theta, momentum, has, drawn):
    """Propose births, deaths and swaps, which chains and ``has`` follow; return how many were accepted."""


@by_class({BitChains: follow_in_bits, ByteChains: follow_in_bytes}, place=0)
def follow(chains, problem, theta):
    """Let the chains' weights be those of the present parameters."""


@strict_leaf
def iterate(rng, chains, problem, steps, theta, momentum, n_iterations):
    """Make iterations; return p0 and precision of the slabs, and the number of births, deaths and swaps."""
    means, drawn, n_moves = np.zeros(theta.natural.shape), np.zeros(4), 0
    has, precision = np.empty((2, len(problem.places) - 1), np.bool_), np.empty(theta.natural.shape[1])
    find_parts(problem, theta, has)
    follow(chains, problem, theta)  # bits have no weights yet
    for _ in range(n_iterations):
        drawn[:] = draw_group_scales(rng, problem, theta)
        refresh(rng, chains)
        chain_means(chains, problem, has, means)
        draw_node_precisions(rng, problem, theta, precision)
        kick(problem, steps, theta, momentum, means, has, precision, drawn)
        n = visit(rng, chains, problem, theta, momentum, has, drawn)
        if n > 0:
            chain_means(chains, problem, has, means)
        draw_node_precisions(rng, problem, theta, precision)
        kick(problem, steps, theta, momentum, means, has, precision, drawn)
        n_moves += n
        if not drift(rng, problem, steps, theta, momentum, has) < DIVERGED:
            break  # before it becomes non-finite, which compiled code does not handle
        follow(chains, problem, theta)
    return drawn, n_moves
