"""Compilation of leaves, and the cache of their machine code on disk.

A *leaf* is a plain function over arrays and NamedTuples of arrays; everything above it is ordinary Python.

numba's own cache does not notice changes in another file of a function that a leaf calls, uses an index that two
processes may write at the same time, and fails if no folder is writable. Here each signature of a leaf has its own
file, which begins with a digest of everything that its code depends on.
"""

from __future__ import annotations

import inspect
import os
import pickle
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from numba import njit, types
from numba.core.dispatcher import Dispatcher

from ..errors import BayesMRFWarning
from .code_digest import digest, digest_of

try:
    from numba.core import caching
    from numba.core.serialize import dumps

    from .cache_folder import Serialisation
    from .code_parts import LeafCompiler, LeafDispatcher, is_part, rebuild_part, reduce_part
    from .reference_counts import knows_counts
except (AttributeError, ImportError):  # another version of numba: use its own cache
    caching = None  # type: ignore[assignment]


class Files:
    """The machine code of a leaf on disk, as numba's dispatchers ask for it."""

    def __init__(self, leaf: Any) -> None:
        self._leaf = leaf
        self._enabled = True

    def enable(self) -> None:
        """Read and write files from now on."""
        self._enabled = True

    def disable(self) -> None:
        """Stop reading and writing files."""
        self._enabled = False

    def flush(self) -> None:
        """Remove the files of all signatures."""
        for path in self._siblings():
            path.unlink(missing_ok=True)

    @property
    def cache_path(self) -> str | None:
        """The folder, None if none is writable."""
        return self._impl.locator.get_cache_path() if self._impl else None

    @cached_property
    def _impl(self) -> Any:
        """Serialisation of code by numba, and its cache folder; None if there is no folder."""
        try:
            return Serialisation(self._leaf.py_func)
        except RuntimeError:
            _warn_of_no_folder()
        return None

    @property
    def _prefix(self) -> str:
        function = self._leaf.py_func
        name = function.__qualname__.replace("<", "").replace(">", "")
        return f"{Path(inspect.getfile(function)).stem}.{name}.{sys.implementation.cache_tag}."

    def _siblings(self) -> list[Path]:
        return [*Path(self.cache_path).glob(f"{self._prefix}*")] if self.cache_path else []

    def _path(self, signature: Any, codegen: Any, part: bool) -> Path:
        # NamedTuples of the same name have the same repr, but differ in their modules.
        key = repr((signature, sorted(_classes(signature)), codegen.magic_tuple(), part))
        return Path(self.cache_path or "", f"{self._prefix}{digest(key.encode()).hex()[:20]}.nbc")

    def _head(self, code: bytes) -> bytes:
        return digest_of(self._leaf) + digest(code)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the code compiled for a signature; None if there is none, or if it is outdated."""
        target_context.refresh()
        if not (self._enabled and self._impl):
            return None
        for part in (True, False) if LeafDispatcher.in_leaf() else (False,):
            with suppress(OSError):
                content = self._path(signature, target_context.codegen(), part).read_bytes()
                head, code = content[:_HEAD], content[_HEAD:]
                if head == self._head(code):
                    return (rebuild_part if part else self._impl.rebuild)(target_context, pickle.loads(code))
        return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Store the code compiled for a signature, if possible."""
        if not (self._enabled and self._impl and self._impl.check_cachable(data)):
            return
        part = is_part(data)
        code = dumps((reduce_part if part else self._impl.reduce)(data))
        path, head = self._path(signature, data.codegen, part), self._head(code)
        written = path.with_name(f"{path.name}.{uuid4().hex}")
        try:
            self._remove_old(path.parent, head[: _HEAD // 2])
            written.write_bytes(head + code)
            os.replace(written, path)
        except OSError:  # such as a full disk; the compiled code still runs
            with suppress(OSError):
                written.unlink(missing_ok=True)

    def _remove_old(self, folder: Path, made_from: bytes) -> None:
        """Remove other versions of this leaf, and leaves that its file no longer defines."""
        for path in self._siblings():
            with path.open("rb") as file:
                if file.read(len(made_from)) != made_from:
                    path.unlink(missing_ok=True)
        source = Path(inspect.getfile(self._leaf.py_func))
        defined = set(re.findall(r"^\s*def (\w+)", source.read_text(encoding="utf-8"), flags=re.M))
        for path in folder.glob(f"{source.stem}.*.{sys.implementation.cache_tag}.*.nbc"):
            if path.name[len(source.stem) + 1 :].split(".")[0] not in defined:
                path.unlink(missing_ok=True)


_HEAD = 2 * sha256().digest_size


@cache
def _warn_of_no_folder() -> None:
    """Warn once that every process compiles again."""
    warnings.warn(
        "compiled code cannot be cached, as neither the installation nor the home folder is writable: each process "
        "compiles it again, which takes up to a minute. Set NUMBA_CACHE_DIR to a writable folder.",
        BayesMRFWarning,
        stacklevel=2,
    )


def _classes(part: Any) -> Iterator[str]:
    """Return the full names of the Python classes in a numba type or a tuple of them, and the digests of their leaves:
    code that calls those does not name them.
    """
    if isinstance(part, types.Type):
        yield from _classes(part.key)
    elif isinstance(part, tuple):
        for p in part:
            yield from _classes(p)
    elif isinstance(part, type):
        yield f"{part.__module__}.{part.__qualname__}"
        yield from _leaves_of(part)


@cache
def _leaves_of(kind: Any) -> tuple[str, ...]:
    """Return the digests of the leaves of a class (`bayesmrf.posterior.conditionals.slab_leaves.with_leaves`)."""
    return tuple(digest_of(leaf).hex() for leaf in kind.leaves) if "leaves" in dir(kind) else ()


def _is_known() -> bool:
    """Return whether numba caches code with the methods and arguments that `Files` implements and uses."""
    try:
        protocol, impl = caching._Cache, caching.CompileResultCacheImpl
        compiled: Any = njit(_is_known)
        calls = protocol.load_overload, protocol.save_overload, impl, impl.reduce, impl.rebuild, impl.check_cachable
        return (
            {n for n in vars(Files) if not n.startswith("_")} == protocol.__abstractmethods__
            and [len(inspect.signature(c).parameters) for c in calls] == [3, 3, 1, 2, 3, 2]
            and isinstance(compiled._cache, caching.NullCache)
            and len(inspect.signature(compiled._compiler._customize_flags).parameters) == 1
            and knows_counts()
        )
    except (AttributeError, TypeError, ValueError):
        return False


_OWN_FILES = _is_known()


def compiling() -> tuple[int, int] | None:
    """Return how many leaves are ready of those that are compiled now, and how many there are at most; None if no leaf
    is compiled, or it is not known.
    """
    return LeafDispatcher.progress() if _OWN_FILES else None


def _compiled(**options: Any) -> Any:
    if _OWN_FILES:
        options["pipeline_class"] = LeafCompiler
    compiler = njit(nogil=True, error_model="numpy", **options)

    def decorate(function: Any) -> Any:
        found = compiler(function)
        if isinstance(found, Dispatcher):  # the function itself if compilation is disabled
            _keep(found)
        return found

    return decorate


def _keep(leaf: Any) -> None:
    """Cache the compiled code of a leaf on disk."""
    if _OWN_FILES:
        LeafDispatcher.of(leaf)._cache = Files(leaf)
        return
    try:
        leaf.enable_caching()
    except RuntimeError:
        _warn_of_no_folder()


# error_model="numpy" removes the ZeroDivisionError branch, which would prevent vectorisation of the lane loops.
leaf = _compiled(fastmath=True)

# The same without fastmath: for code with infinities (log of zero) or a required order of summation. The option is
# given, as numba else takes that of the leaf in whose compilation this one is compiled first, and draws would depend on
# what was fitted before.
strict_leaf = _compiled(fastmath=False)


@leaf
def copy_to(target, source):
    """Copy an array of one dimension into another of the same length.

    Where ``target[:] = source`` is compiled, so is the text of numba's message about shapes that differ: a fifth of the
    time in which the leaves of a fit are compiled.
    """
    for k in range(len(target)):
        target[k] = source[k]
