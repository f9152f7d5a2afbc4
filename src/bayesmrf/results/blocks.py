"""Draws read in blocks of entries or of draws, so that those of many edges are never one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

    from ..models.display import ParameterDisplay

_BLOCK = 2**25  # bytes of draws that are an array at a time
_ROUND = 512  # entries of which a wide block is a multiple


def variable(tree: xr.DataTree, name: str) -> xr.Variable:
    """Return a variable of the posterior, of which parts can be read."""
    values: xr.Variable = tree["posterior"].dataset.variables[name]
    return values


class Columns:
    """Draws (n_chains, n_draws, ..., n) of entries ``start`` to ``stop`` of a variable, or a function of these.

    ``columns[:, :, items]`` is an array, as of one; blocks of items are read one after the other.

    Parameters
    ----------
    draws : xarray.Variable
    start, stop : int
    function : callable, optional
        Of an array (n_chains, n_draws, n_groups, n) that makes one (n_chains, n_draws, n), or of one of its shape.
    display : ParameterDisplay, optional
        Items are then edges, with the one number of each that is shown.
    """

    def __init__(
        self,
        draws: xr.Variable,
        start: int = 0,
        stop: int | None = None,
        function: Callable[..., Any] | None = None,
        display: ParameterDisplay | None = None,
    ) -> None:
        n = draws.shape[-1] if display is None else display.n_edges
        self.draws, self.function, self.display = draws, function, display
        self.start, self.stop = start, n if stop is None else min(stop, n)
        self._block: tuple[range, np.ndarray] = range(0), np.empty(0)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of an array of them."""
        inner = self.draws.shape[:2] if self.function else self.draws.shape[:-1]
        return *inner, self.stop - self.start

    def __getitem__(self, key: tuple[slice, slice, Any]) -> np.ndarray:
        """Return all draws of some items: a slice, numbers that increase, or one number."""
        items: Any = key[2]
        if not isinstance(items, slice | np.ndarray):
            if items not in self._block[0]:  # others near it are read next
                block = next(s for s in self.blocks() if s.start <= items < s.stop)
                self._block = range(block.start, block.stop), self[:, :, block]
            numbers_read, values = self._block
            return values[..., items - numbers_read.start]
        numbers: Any
        if isinstance(items, slice):
            numbers = slice(self.start + items.start, self.start + items.stop)
        else:
            numbers = self.start + items
        places = numbers if self.display is None else self.display.places(numbers)
        if isinstance(places, slice):
            values = self.draws[..., places].values
        else:  # each item's draws after the other in memory, as numpy indexes arrays
            values = np.moveaxis(self.draws[..., places].values, -1, 0)
            values = np.moveaxis(np.ascontiguousarray(values), 0, -1)
        values = self.function(values) if self.function else values
        return values if self.display is None else self.display.shown_edges(values, numbers)

    def blocks(self) -> Iterator[slice]:
        """Divide the items."""
        width = _BLOCK // max(1, 8 * prod(self.draws.shape[:-1]))
        return divided(self.stop - self.start, width - width % _ROUND if width > _ROUND else width)

    def map(self, function: Callable[[np.ndarray], Any]) -> np.ndarray:
        """Join the results of a function of arrays (n_chains, n_draws, ..., n) along the last axis."""
        parts = [function(self[:, :, block]) for block in self.blocks()]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)

    def means(self) -> np.ndarray:
        """Return the means over all draws."""

        def mean(values: np.ndarray) -> Any:
            return np.ascontiguousarray(values).mean(axis=(0, 1))  # a sum depends on the order in memory

        return self.map(mean)


def divided(n: int, width: int) -> Iterator[slice]:
    """Divide n items; no part has one alone, whose draws numpy would add in another order."""
    ends = [*range(0, max(n - 1, 1), max(width, 2)), n]
    return (slice(a, b) for a, b in pairwise(ends))


def at_draws(draws: xr.Variable, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return draws by their numbers among those of all chains, which increase: (n, ...)."""
    chain, draw = np.divmod(np.asarray(numbers), draws.shape[1])
    return np.concatenate([draws[c, draw[chain == c]].values for c in np.unique(chain)])


def in_turn(draws: xr.Variable) -> Iterator[np.ndarray]:
    """Read all draws, chain after chain, in arrays (n, ...)."""
    n_chains, n_draws = draws.shape[:2]
    width = max(1, _BLOCK // max(1, 8 * prod(draws.shape[2:])))
    for chain in range(n_chains):
        for start in range(0, n_draws, width):
            yield draws[chain, start : start + width].values


def stacked(draws: np.ndarray) -> np.ndarray:
    """Return draws with the chains joined, (n_draws, ...)."""
    return draws.reshape(-1, *draws.shape[2:])


def mean_of(tree: xr.DataTree, name: str) -> float:
    """Return the posterior mean of a number, which is a constant where it was not sampled."""
    posterior, constant = (tree[group].dataset for group in ("posterior", "constant_data"))
    return float((posterior if name in posterior else constant)[name].mean())


def spread_draws(n_chains: int, n_draws: int, n: int) -> list[tuple[int, int]]:
    """Return the chain and number of about ``n`` draws, evenly spread, the last of each chain first among them."""
    each = max(1, min(n // n_chains, n_draws))
    draws = ((np.arange(each) + 1) * n_draws) // each - 1
    return [(c, int(t)) for c in range(min(n, n_chains)) for t in draws]
