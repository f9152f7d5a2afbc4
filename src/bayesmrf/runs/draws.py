"""Draws of fields that are mostly zeros, such as weights of candidate edges: a bit an entry, and the others' values.

A draw is an array (..., n). Along the axis before the last, if there is one, such as that of groups of people, entries
are compared with those of the first place, and stored where they differ. Everything is kept bit for bit,
but for the sign of zeros, which the weights of absent edges have by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ..declare.rule import MOST_CHAINS
from ..memory import MostlyZero

_FEW = 256  # entries of a draw below which a plain array is small
_TAIL, _PART = 2**20, 2**23  # bytes of draws that are encoded together, and of parts that are joined
_STEP = 128  # bytes of bits between two places at which values are counted
_WIDTH = 2**12  # entries of a draw that are decoded together


def is_sparse(dims: tuple[str, ...], shape: tuple[int, ...], dtype: Any) -> bool:
    """Check whether a kernel declares a field sparse, and its draws are large."""
    return isinstance(dims, MostlyZero) and prod(shape) >= _FEW and np.dtype(dtype).itemsize <= 8


def is_packed(dtype: Any, kind: str, shape: tuple[int, ...], fortran: bool) -> bool:
    """Return whether an array of a file may be draws (n_chains, n_draws, ..., n) of this form and type."""
    legal = dtype == ("|b1" if kind == "|i1" else kind) and np.dtype(kind).itemsize <= 8 and not fortran
    return legal and len(shape) > 2 and shape[0] <= MOST_CHAINS and 0 not in shape and prod(shape[2:]) >= _FEW


@dataclass(frozen=True, eq=False)
class Part:
    """Consecutive draws of a field in one chain.

    Attributes
    ----------
    where : (n_draws, n_rows, n_bytes) uint8 array, or Part
        The bits, packed; a Part itself, as whole bytes are zero mostly.
    values : (n_values,) unsigned integer array
        The entries that are not zero, in order, as unsigned integers of their size; none of booleans.
    width : int
        Entries of a row n.
    """

    where: np.ndarray | Part
    values: np.ndarray
    width: int

    @classmethod
    def of(cls, entries: np.ndarray, depth: int = 1) -> Part:
        """Encode entries (n_draws, n_rows, n) that are booleans or unsigned integers."""
        nonzero = entries != 0
        values = np.empty(0, bool) if entries.dtype == bool else entries[nonzero]
        return cls.at(np.packbits(nonzero, axis=-1), values, entries.shape[-1], depth)

    @classmethod
    def at(cls, bits: np.ndarray, values: np.ndarray, width: int, depth: int = 1) -> Part:
        """Return the values at the places of bits (n_draws, n_rows, n_bytes)."""
        return cls(cls.of(bits, depth - 1) if depth else bits, values, width)

    def __len__(self) -> int:
        return len(self.where)

    @property
    def n_rows(self) -> int:
        """Rows of a draw."""
        return self.where.n_rows if isinstance(self.where, Part) else self.where.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.where.nbytes + self.values.nbytes

    def bits(self, draws: Any = slice(None), start: int = 0, stop: int | None = None) -> np.ndarray:
        """Return bytes ``start`` to ``stop`` of the packed bits of some draws."""
        stop = -(-self.width // 8) if stop is None else stop
        where = self.where
        return where.read(draws, start, stop) if isinstance(where, Part) else where[draws, :, start:stop]

    @cached_property
    def _starts(self) -> np.ndarray:
        """Number of values before every `_STEP`-th byte of each row, (n_draws, n_rows, n_steps)."""
        counts = np.bitwise_count(self.bits())
        each = np.add.reduceat(counts, range(0, counts.shape[2], _STEP), axis=2, dtype=np.int64)
        return (each.cumsum().reshape(each.shape) - each).astype(np.uint32)

    def read(self, draws: Any, start: int, stop: int) -> np.ndarray:
        """Decode entries ``start`` to ``stop`` of some draws (a slice or an array of numbers)."""
        first, last = start // 8, -(-stop // 8)
        step = first // _STEP
        bits = self.bits(draws, _STEP * step, last)
        before, bits = np.split(bits, [first - _STEP * step], axis=2)
        nonzero = np.unpackbits(bits, axis=2).view(bool)
        wanted = slice(start - 8 * first, stop - 8 * first)
        if self.values.dtype == bool:
            return nonzero[..., wanted]
        begin = self._starts[draws, :, step] + np.bitwise_count(before).sum(axis=2, dtype=np.int64)
        counts = np.bitwise_count(bits).sum(axis=2, dtype=np.int64)
        ends = counts.cumsum().reshape(counts.shape)
        at = np.repeat((begin - ends + counts).ravel(), counts.ravel())
        at += np.arange(len(at))
        entries = np.zeros(nonzero.shape, self.values.dtype)
        entries[nonzero] = self.values[at]
        return entries[..., wanted]

    def cut(self, start: int, stop: int) -> Part:
        """Return draws ``start`` to ``stop``."""
        if (start, stop) == (0, len(self)):
            return self
        bits = self.bits(slice(start, stop))
        if self.values.dtype == bool:
            return Part.at(bits, self.values, self.width)
        ends = [*self._starts[:, 0, 0].tolist(), len(self.values)]
        return Part.at(bits, self.values[ends[start] : ends[stop]], self.width)

    @classmethod
    def joined(cls, parts: Sequence[Part]) -> Part:
        """Join parts one after the other."""
        if len(parts) == 1:
            return parts[0]
        where = [part.where for part in parts]
        values = np.concatenate([part.values for part in parts])
        if isinstance(where[0], Part):
            return cls(cls.joined(where), values, parts[0].width)  # type: ignore[arg-type]
        return cls(np.concatenate(where), values, parts[0].width)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Stretch:
    """Draws of a field between two steps of a chain: the shape of each, and the type of the numbers."""

    part: Part
    of_draw: tuple[int, ...]
    dtype: np.dtype

    def __len__(self) -> int:
        return len(self.part)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array of these draws."""
        return len(self.part), *self.of_draw


def stored(draws: Mapping[str, np.ndarray | Stretch]) -> dict[str, np.ndarray]:
    """Return draws as plain arrays, for a file."""
    arrays: dict[str, np.ndarray] = {}
    for name, v in draws.items():
        if isinstance(v, Stretch):
            arrays |= {f"{name}.bits": v.part.bits(), f"{name}.values": v.part.values.view(v.dtype)}
            arrays[f"{name}.shape"] = np.array(v.of_draw)
        else:
            arrays[name] = v
    return arrays


def loaded(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray | Stretch]:
    """Invert `stored`.

    Raises
    ------
    KeyError, ValueError
        If arrays are missing, or do not belong together.
    """
    draws: dict[str, np.ndarray | Stretch] = {}
    for name, v in arrays.items():
        field, _, what = name.rpartition(".")
        if not field:
            draws[name] = v
        elif what == "bits":
            values, shape = arrays[f"{field}.values"], tuple(arrays[f"{field}.shape"].tolist())
            sizes = (len(v), prod(shape[:-1]), -(-shape[-1] // 8))
            n_values = 0 if values.dtype == bool else int(np.bitwise_count(v).sum(dtype=np.int64))
            if v.dtype != np.uint8 or v.shape != sizes or values.shape != (n_values,):
                raise ValueError
            plain = values if values.dtype == bool else values.view(f"u{values.dtype.itemsize}")
            draws[field] = Stretch(Part.at(v, plain, shape[-1]), shape, values.dtype)
    return draws


class SparseRows:
    """Draws of a field in one chain, which grow: assigned one after the other, read as parts.

    Parameters
    ----------
    shape : tuple of int
        Of a draw.
    dtype : dtype
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape, self.dtype = shape, np.dtype(dtype)
        n = max(1, _TAIL // (prod(shape) * self.dtype.itemsize))
        self._tail, self._n_tail = np.empty((n, *shape), dtype), 0
        self._whole: list[Part] = []
        self._recent: list[Part] = []
        self._size = 0
        self._first: int | None = None  # number of the first draw: a worker has a part of a chain

    def __setitem__(self, i: int, draw: Any) -> None:
        """Append draw number i."""
        self._first = i if self._first is None else self._first
        self._tail[self._n_tail] = draw
        self._n_tail += 1
        if self._n_tail == len(self._tail):
            self._encode()

    def extend(self, draws: Stretch | np.ndarray) -> None:
        """Append several draws."""
        self._first = self._first or 0
        self._encode()
        self._add(draws.part if isinstance(draws, Stretch) else encode(draws))

    def __getitem__(self, numbers: slice) -> Stretch:
        """Return the draws with these numbers."""
        self._encode()
        parts, at = [], self._first or 0
        for part in [*self._whole, *self._recent]:
            low, high = max(numbers.start - at, 0), min(numbers.stop - at, len(part))
            if low < high:
                parts.append(part.cut(low, high))
            at += len(part)
        return Stretch(Part.joined(parts) if parts else encode(self._tail[:0]), self.shape, self.dtype)

    def parts(self, n: int) -> list[Part]:
        """Return the first n draws of a chain."""
        self._encode()
        self._join()
        parts, at = [], 0
        for part in self._whole:
            if at < n:
                parts.append(part.cut(0, min(len(part), n - at)))
            at += len(part)
        return parts

    def _encode(self) -> None:
        if self._n_tail:
            n, self._n_tail = self._n_tail, 0
            self._add(encode(self._tail[:n]))

    def _add(self, part: Part) -> None:
        self._recent.append(part)
        self._size += part.nbytes
        if self._size > _PART:
            self._join()

    def _join(self) -> None:
        if self._recent:
            self._whole.append(Part.joined(self._recent))
            self._recent, self._size = [], 0


def encode(draws: np.ndarray) -> Part:
    """Return draws (n_draws, ..., n) in this form."""
    n_rows = draws.shape[-2] if draws.ndim > 2 else 1
    entries = np.ascontiguousarray(draws).reshape(-1, n_rows, draws.shape[-1])
    if entries.dtype != bool:
        entries = (entries + np.zeros((), draws.dtype)).view(f"u{draws.dtype.itemsize}")  # -0.0 becomes 0.0
        if n_rows > 1:
            entries = np.concatenate([entries[:, :1], entries[:, 1:] ^ entries[:, :1]], axis=1)
    return Part.of(entries.reshape(len(draws), prod(draws.shape[1:-1]), draws.shape[-1]))


class SparseDraws:
    """Draws of a field in all chains.

    Parameters
    ----------
    chains : sequence of list of Part
        From `SparseRows.parts`.
    shape : (n_chains, n_draws, ...) tuple of int
    dtype : dtype
    """

    def __init__(self, chains: Sequence[list[Part]], shape: tuple[int, ...], dtype: Any) -> None:
        self.chains, self.shape, self.dtype = chains, shape, np.dtype(dtype)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(part.nbytes for chain in self.chains for part in chain)

    def dense(self) -> np.ndarray:
        """Return all draws as one array."""
        return self.read(*(np.arange(n) for n in (*self.shape[:2], self.shape[-1])))

    def read(self, chains: np.ndarray, draws: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return some draws of some entries along the last axis, (n_chains, n_draws, ..., n_items).

        ``draws`` and ``items`` are increasing.
        """
        inner = self.shape[2:-1]
        selected = np.empty((len(chains), len(draws), *inner, len(items)), self.dtype)
        blocks = np.split(np.arange(len(items)), np.flatnonzero(np.diff(items // _WIDTH)) + 1)
        for into, chain in zip(selected, chains, strict=True):
            at = 0
            for part in self.chains[chain]:
                low, high = np.searchsorted(draws, (at, at + len(part)))
                here = _slice(draws[low:high] - at)
                for block in blocks if low < high and len(items) else ():
                    numbers = items[block]
                    entries = self._decoded(part.read(here, int(numbers[0]), int(numbers[-1]) + 1))
                    into[low:high, ..., _slice(block)] = entries[..., _slice(numbers - numbers[0])]
                at += len(part)
        return selected

    def _decoded(self, entries: np.ndarray) -> np.ndarray:
        """Return entries (n_draws, n_rows, n) of a part as draws."""
        inner = self.shape[2:-1]
        if self.dtype != bool:
            if inner:
                groups = entries.reshape(-1, inner[-1], entries.shape[2])
                groups[:, 1:] ^= groups[:, :1]
                entries = groups
            entries = entries.view(self.dtype)
        return entries.reshape(-1, *inner, entries.shape[-1])


def _slice(numbers: np.ndarray) -> Any:
    """Convert increasing numbers without gaps to a slice, which numpy does not copy."""
    n = len(numbers)
    return slice(int(numbers[0]), int(numbers[-1]) + 1) if n and numbers[-1] - numbers[0] == n - 1 else numbers
