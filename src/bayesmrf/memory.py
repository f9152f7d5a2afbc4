"""Refusals of what cannot fit into the memory of this machine, before any of it is made."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from .errors import OptionError

_GIB = 2**30


def machine_bytes() -> float:
    """Return the memory of this machine in bytes; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return math.inf


def check_draws(dims: Mapping[str, tuple[str, ...]], sizes: Mapping[str, int], n_draws: int, n_chains: int) -> None:
    """Raise OptionError where the draws of a run need more memory than there is.

    Parameters
    ----------
    dims : mapping of str to tuple of str
        Dimensions of what a kernel draws.
    sizes : mapping of str to int
        Sizes of dimensions; 1 where they are not known.
    n_draws, n_chains : int
    """
    # Parameters are doubles; of edges and nodes there may be a byte each.
    each = sum(
        math.prod(sizes.get(d, 1) for d in names) * (8 if names in ((), ("feature",)) else 1) for names in dims.values()
    )
    room = machine_bytes()
    most = int(room // (each * n_chains))
    if n_draws > most:
        raise OptionError(
            option="n_draws",
            got=n_draws,
            expected=f"at most {most:,} with {n_chains} chains in the {room / _GIB:.1f} GiB of memory here",
            remedy=f"these draws need at least {n_draws * n_chains * each / _GIB:,.0f} GiB; thin=10 keeps each tenth step",
        )
