"""The digest of everything that the machine code of a leaf depends on."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core.dispatcher import Dispatcher


def digest(content: bytes) -> bytes:
    """Return the digest of bytes."""
    return sha256(content).digest()


@cache
def _compiler() -> str:
    """Return the versions of what compiles: numba reads that of NumPy, and the files of this folder change its passes.

    Code that is kept in ``NUMBA_CACHE_DIR`` is met by other environments and other versions of the package.
    """
    own = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return f"numba {numba.__version__}, llvmlite {llvmlite.__version__}, numpy {np.__version__}, {digest(own).hex()}"


def digest_of(leaf: Any) -> bytes:
    """Return the digest of everything that the machine code of a leaf depends on.

    That is its Python code and that of all leaves it calls, in any file, with their constants and options, and the
    versions of the compiler; comments and docstrings do not matter.
    """
    parts = [_compiler()]
    for function, used in functions_of(leaf):
        if isinstance(function, Dispatcher):
            parts.append(repr(sorted(function.targetoptions.items(), key=str)))
            function = function.py_func
        else:
            parts.append(digest(Path(inspect.getfile(function)).read_bytes()).hex())
        parts.append(repr((function.__module__, function.__qualname__, function.__defaults__)))
        parts.append(_code_text(function.__code__))
        parts += [_constant_text(value) for value in used]
    return digest("\n".join(parts).encode())


def functions_of(leaf: Any) -> Iterator[tuple[Any, list[Any]]]:
    """Yield a leaf and all functions that it may call, in any file, each with the constants that it uses."""
    waiting, seen = [leaf], [leaf]
    while waiting:
        function = waiting.pop()
        if isinstance(function, Dispatcher):
            used = [*_values(function.py_func)]
        else:  # such as the stub of an overload: all leaves in the namespace of its file
            used = [v for v in function.__globals__.values() if isinstance(v, Dispatcher)]
        constants = []
        for value in used:
            called = value if isinstance(value, Dispatcher) else inspect.unwrap(value) if callable(value) else None
            if not isinstance(called, Dispatcher | FunctionType):
                constants.append(value)
            elif all(called is not s for s in seen):
                seen.append(called)
                waiting.append(called)
        yield function, constants


def _code_text(code: CodeType) -> str:
    """Return Python code as text, without its location."""
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return repr((code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars, code.co_argcount))


def _names(code: CodeType) -> Iterator[str]:
    """Return the global names and attributes in Python code."""
    yield from code.co_names
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _names(c)


def _values(function: FunctionType) -> Iterator[Any]:
    """Return the values of the global names in a function's code, and of its closure."""
    names = [*dict.fromkeys(_names(function.__code__))]
    found = [function.__globals__[n] for n in names if n in function.__globals__]
    found += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in found:
        if isinstance(value, ModuleType):
            yield from (v for n in names if isinstance(v := vars(value).get(n), Dispatcher))
        elif isinstance(value, tuple):
            yield from value
        yield value


def _constant_text(value: Any) -> str:
    """Return a constant that is frozen into compiled code as text."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {digest(value.tobytes()).hex()}"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__} {vars(value).get('_fields')}"
    if isinstance(value, ModuleType):
        return value.__name__
    return repr(value).partition(" at 0x")[0]
