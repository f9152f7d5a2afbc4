"""How a leaf is compiled with the leaves that it calls.

numba makes each function that a leaf calls a complete one: with a wrapper for Python, one for C, and machine code,
which is all of no use inside the leaf, as it contains their code. This is a third of the time of compilation. So here
the leaves that a leaf calls are *parts*: optimised code without wrappers and machine code. A leaf that is called from
Python later is compiled again as a whole.

A leaf also calls no machine code of others. Its calls of functions that it contains would go to whichever code of the
same name the process has loaded first: code that was compiled alone, for another leaf, rounds sums of fastmath in
another way. So draws of a process that compiles would differ in their last digits, and soon in all, from those of one
that finds its code on disk. Here the functions that a leaf contains are its own.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from llvmlite.binding import Linkage, parse_bitcode
from numba.core import sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.environment import lookup_environment
from numba.core.registry import CPUDispatcher
from numpy.random import Generator

from .generators import GENERATOR
from .reference_counts import inline_counts

_ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of global variables of functions begin
_COLLECTIONS = 100_000, 20, 20  # thresholds of the garbage collector


class SelfContained(JITCodeLibrary):
    """The code of a leaf whose machine code calls no machine code of other leaves, and counts references plainly."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        inline_counts(self._final_module)
        passes, options = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, cost="cheap")
        passes.run(self._final_module, options)

    def _finalize_final_module(self) -> None:
        if self._shared_module is None:  # not from disk
            self._shared_module = self._final_module.clone()
            _link(self._shared_module, Linkage.external, Linkage.linkonce_odr)
            _link(self._final_module, Linkage.linkonce_odr, Linkage.internal)
        super()._finalize_final_module()


class Part(JITCodeLibrary):
    """The code of a leaf for others that call it, which has no machine code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        _link(self._final_module, Linkage.external, Linkage.linkonce_odr)
        self._shared_module = self._final_module
        self._finalized = True


def _link(module: Any, old: Linkage, new: Linkage) -> None:
    """Change the linkage of all functions that have the ``old`` one."""
    for f in module.functions:
        if not f.is_declaration and f.linkage == old:
            f.linkage = new


class LeafCompiler(Compiler):
    """Compile a leaf, or a part of one.

    numba compiles its own functions that a leaf calls, such as powers and sums of arrays, and what
    `numba.extending.overload` chooses, once in a process: with the fastmath of the leaf that calls them first. Draws
    would depend on what was compiled before. Here functions of numba are compiled once for leaves with fastmath and
    once for those without, and what it dispatches, without.
    """

    _internal: ClassVar[dict[bool, dict[Any, Any]]] = {True: {}, False: {}}  # functions of numba, by fastmath

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)  # the context has the fastmath of the leaf now
        self.state.targetctx.cached_internal_func = self._internal[bool(self.state.flags.fastmath)]
        self.state.flags = self.state.flags.copy()
        self.state.flags.fastmath = False

    def define_pipelines(self) -> Any:
        """Return numba's passes, whose result is our kind of code."""
        kind = Part if self.state.flags.no_compile else SelfContained
        self.state.library = kind(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return super().define_pipelines()


def is_part(found: Any) -> bool:
    """Return whether compiled code is that of a part."""
    return isinstance(found.library, Part)


class LeafDispatcher(CPUDispatcher):
    """A leaf: numba's dispatcher, for which leaves called by others are parts."""

    _depth = 0  # leaves that are being compiled now, each for the one before

    @classmethod
    def in_leaf(cls) -> bool:
        """Return whether what is compiled now is a part."""
        return LeafDispatcher._depth > 1

    @classmethod
    def of(cls, dispatcher: Any) -> Any:
        """Make a dispatcher one of a leaf."""
        dispatcher.__class__ = cls
        dispatcher._compiler._customize_flags = _without_wrappers
        return dispatcher

    def _compile_for_args(self, *args: Any, **kws: Any) -> Any:
        """Compile the leaf for a call from Python, which may be made while another one is being compiled."""
        with global_compiler_lock:
            numbas: Any = super()
            depth, LeafDispatcher._depth = LeafDispatcher._depth, 0
            try:
                return numbas._compile_for_args(*args, **kws)
            finally:
                LeafDispatcher._depth = depth

    def compile(self, sig: Any) -> Any:
        """Compile the leaf for a signature, as a part if another one is being compiled."""
        args = tuple(sigutils.normalize_signature(sig)[0])
        with global_compiler_lock:
            known = self.overloads.get(args)
            if LeafDispatcher._depth == 0 and known is not None and is_part(known):
                del self.overloads[args]  # it is now called from Python
            LeafDispatcher._depth += 1
            try:
                with _few_collections():
                    found = super().compile(sig)
                if not self.in_leaf():
                    _set_environments(self.overloads[args])
            finally:
                LeafDispatcher._depth -= 1
        return found

    def typeof_pyval(self, val: Any) -> Any:
        """Return the type of an argument that numba's own table does not have."""
        return GENERATOR if type(val) is Generator else super().typeof_pyval(val)

    def add_overload(self, cres: Any) -> None:
        """Keep compiled code; parts are not among what Python calls."""
        if not is_part(cres):
            super().add_overload(cres)
            return
        if cres.entry_point is None:  # not from disk
            cres = cres._replace(entry_point=object())
            self.targetctx.insert_user_function(cres.entry_point, cres.fndesc, [cres.library])
        self.overloads[tuple(cres.signature.args)] = cres


@contextmanager
def _few_collections() -> Iterator[None]:
    """Collect garbage less often: numba makes so many objects that the collector takes a fifth of the time."""
    before = gc.get_threshold()
    if before[0] > 0:
        gc.set_threshold(*_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _without_wrappers(flags: Any) -> Any:
    flags.no_cfunc_wrapper = True
    flags.no_compile = flags.no_cpython_wrapper = LeafDispatcher.in_leaf()
    return flags


def _set_environments(found: Any) -> None:
    """Give the functions in a leaf their environments, which numba does when their machine code is made."""
    for variable in found.library._final_module.global_variables:
        if variable.name.startswith(_ENVIRONMENT) and (known := lookup_environment(variable.name)) is not None:
            found.library.codegen.set_env(variable.name, known)


def reduce_part(part: Any) -> tuple[Any, ...]:
    """Return what `rebuild_part` makes a part from, in a form that can be pickled."""
    part.library._ensure_finalized()
    part.fndesc.typemap = part.fndesc.calltypes = None
    environments = tuple(part._find_referenced_environments())
    code = part.library._final_module.as_bitcode()
    return part.library.name, code, part.fndesc, part.environment, part.signature, part.reload_init, environments


def rebuild_part(target_context: Any, reduced: tuple[Any, ...]) -> Any:
    """Make a part from what `reduce_part` returned."""
    name, code, descriptor, environment, signature, reload_init, environments = reduced
    for function in reload_init:
        function()
    library = Part(target_context.codegen(), name)
    library._final_module = parse_bitcode(code)
    library._finalize_final_module()
    fields = dict.fromkeys(CompileResult._fields) | {
        "target_context": target_context,
        "typing_context": target_context.typing_context,
        "library": library,
        "environment": environment,
        "entry_point": object(),
        "fndesc": descriptor,
        "signature": signature,
        "objectmode": False,
        "lifted": (),
        "reload_init": reload_init,
        "referenced_envs": environments,
    }
    return CompileResult(**fields)
