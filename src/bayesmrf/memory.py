"""Memory of draws and graphs: which draws take little, and a check that all fit, before they are made."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from .errors import GraphError, OptionError, argument

_GRAPH = argument("graph")
_GIB = 2**30
_MOST_EDGES = 20_000_000  # some GiB with their names: all pairs of 6,000 nodes


class MostlyZero(tuple[str, ...]):
    """Dimensions of a field of Info that is mostly zeros, or mostly equal along the last dimension but one.

    Draws of such a field are kept as bits and the other values (`bayesmrf.runs.draws`), which changes no value.
    """

    def __new__(cls, *dims: str) -> MostlyZero:
        """Make the dimensions from their names."""
        return super().__new__(cls, dims)


def machine_bytes() -> float:
    """Return the memory of this machine in bytes; infinity if unknown."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return math.inf


def check_draws(dims: Mapping[str, tuple[str, ...]], sizes: Mapping[str, int], n_draws: int, n_chains: int) -> int:
    """Return how many draws fit into memory; raise OptionError if those of a run do not.

    Parameters
    ----------
    dims : mapping of str to tuple of str
        Dimensions of the quantities that a kernel draws.
    sizes : mapping of str to int
        Sizes of dimensions; 1 if unknown.
    n_draws, n_chains : int
    """
    each = sum(math.prod(sizes.get(d, 1) for d in names) * _bytes(names) for names in dims.values())
    room = machine_bytes()
    most = int(room // (each * n_chains))
    if n_draws > most:
        raise OptionError(
            option="n_draws",
            got=n_draws,
            expected=f"at most {most:,} for {n_chains} chains in {room / _GIB:.1f} GiB, the memory of this machine",
            remedy=f"these take {n_draws * n_chains * each / _GIB:,.0f} GiB or more; keep fewer, with a larger thin",
        )
    return most


def check_samples(n_samples: int, n_rows: int, n_nodes: int) -> None:
    """Raise OptionError if states that are to be drawn, ``n_samples`` for each of some rows, do not fit into memory."""
    each = n_rows * (n_nodes + 8)  # the number of its draw, too
    room = machine_bytes()
    if n_samples * each > room:
        expected = f"at most {int(room // each):,} in {room / _GIB:.1f} GiB, the memory of this machine"
        raise OptionError(option="n_samples", got=n_samples, expected=expected, remedy="draw fewer at a time")


def _bytes(dims: tuple[str, ...]) -> float:
    """Return the bytes of an entry of a draw: of parameters 8, of everything else one; mostly zeros take an eighth."""
    return (8 if "feature" in dims else 1) * (1 / 8 if isinstance(dims, MostlyZero) else 1)


def check_pairs(n_nodes: int) -> None:
    """Raise GraphError if the edges between all pairs of nodes do not fit into memory."""
    n_edges = n_nodes * (n_nodes - 1) // 2
    if n_edges > _MOST_EDGES:
        raise GraphError(
            f"{_GRAPH} must have at most {_MOST_EDGES:,} edges, got {n_edges:,}, all pairs of {n_nodes:,} nodes; give "
            "a list of edges, or fewer columns."
        )
