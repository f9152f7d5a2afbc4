"""How a leaf is compiled with the leaves that it calls.

numba makes each function that a leaf calls a complete one: with a wrapper for Python, one for C, and machine code,
which is all of no use inside the leaf, as it contains their code. This is a third of the time of compilation. So here
the leaves that a leaf calls are *parts*: code without wrappers and machine code. A leaf that is called from Python
later is compiled again as a whole.

Parts without fastmath are not optimised: the leaf is, once, with all its parts. numba would optimise a function again
in every leaf on the way, which took a fifth of the time. What `numba.extending.overload` chooses, such as `np.empty`,
is a part, too.

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
from numba import jit, types
from numba.core import sigutils
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.datamodel.models import OpaqueModel
from numba.core.environment import lookup_environment
from numba.core.imputils import lower_constant
from numba.core.registry import CPUDispatcher
from numba.core.target_extension import CPU, dispatcher_registry, jit_registry
from numba.core.targetconfig import ConfigStack
from numba.extending import register_model
from numpy.random import Generator

from .code_digest import functions_of
from .generators import GENERATOR
from .reference_counts import inline_counts

_ENVIRONMENT = "_ZN08NumbaEnv"  # how the names of global variables of functions begin
# Options of a leaf for which numba would compile its own functions again.
_OF_NO_MATTER = "no_compile no_cpython_wrapper no_cfunc_wrapper release_gil enable_looplift enable_pyobject_looplift"
_COLLECTIONS = 100_000, 20, 20  # thresholds of the garbage collector


class SelfContained(JITCodeLibrary):
    """The code of a leaf whose machine code calls no machine code of other leaves, and counts references plainly."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        inline_counts(self._final_module)
        few = {"loop_vectorize": False, "slp_vectorize": False, "opt": 1}
        passes, options = self._codegen._module_pass_manager(**few, cost="cheap")
        passes.run(self._final_module, options)

    def _finalize_final_module(self) -> None:
        if self._shared_module is None:  # not from disk
            self._shared_module = self._final_module.clone()
            _link(self._shared_module, Linkage.external, Linkage.linkonce_odr)
            _link(self._final_module, Linkage.linkonce_odr, Linkage.internal)
        super()._finalize_final_module()


class Part(JITCodeLibrary):
    """The code of a leaf for others that call it, which has no machine code."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Leave it to the leaf."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        _link(self._final_module, Linkage.external, Linkage.linkonce_odr)
        self._shared_module = self._final_module
        self._finalized = True


class OptimisedPart(Part):
    """A part with fastmath, or one of numba's functions: else sums of fastmath would be rounded in another way."""

    _optimize_functions = JITCodeLibrary._optimize_functions
    _optimize_final_module = JITCodeLibrary._optimize_final_module


def _link(module: Any, old: Linkage, new: Linkage) -> None:
    """Change the linkage of all functions that have the ``old`` one."""
    for f in module.functions:
        if not f.is_declaration and f.linkage == old:
            f.linkage = new


class LeafType(types.Dispatcher):
    """The type of a leaf in the leaves that call it.

    numba loads the address of a function that is called, which only optimisation removes again: code with addresses
    cannot be kept on disk, and parts are not optimised. A leaf is called by its name, so here it has no address.
    """


register_model(LeafType)(OpaqueModel)


@lower_constant(LeafType)
def _no_address(context: Any, *_: Any) -> Any:
    return context.get_dummy_value()


class LeafTarget(CPU):
    """The processor, as a target of which functions that `numba.extending.overload` chooses are parts."""


class LeafCompiler(Compiler):
    """Compile a leaf, or a part of one.

    numba compiles its own functions that a leaf calls, such as powers and sums of arrays, and what
    `numba.extending.overload` chooses, once in a process: with the fastmath of the leaf that calls them first. Draws
    would depend on what was compiled before. Here functions of numba are compiled once for leaves with fastmath and
    once for those without, and what it dispatches, without.
    """

    is_numbas: ClassVar[bool] = False  # a function that `numba.extending.overload` chooses
    _internal: ClassVar[dict[bool, dict[Any, Any]]] = {True: {}, False: {}}  # functions of numba, by fastmath

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)  # the context has the fastmath of the leaf now
        self.fastmath = bool(self.state.flags.fastmath)
        self.state.targetctx.cached_internal_func = self._internal[self.fastmath]
        self.state.targetctx.target = LeafTarget
        self.state.flags = self.state.flags.copy()
        self.state.flags.fastmath = False

    def define_pipelines(self) -> Any:
        """Return numba's passes, whose result is our kind of code."""
        part = OptimisedPart if self.fastmath or self.is_numbas else Part
        kind = part if self.state.flags.no_compile else SelfContained
        self.state.library = kind(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        of_called: Any = ConfigStack.top_or_none()
        for name in _OF_NO_MATTER.split():
            of_called.discard(name)
        return super().define_pipelines()


class NumbasCompiler(LeafCompiler):
    """Compile a function that `numba.extending.overload` chooses."""

    is_numbas = True


def is_part(found: Any) -> bool:
    """Return whether compiled code is that of a part."""
    return isinstance(found.library, Part)


class LeafDispatcher(CPUDispatcher):
    """A leaf: numba's dispatcher, for which leaves called by others are parts."""

    _depth = 0  # leaves that are being compiled now, each for the one before
    _ready: ClassVar[set[Any]] = set()  # those of the first one's leaves that are compiled
    _first: ClassVar[Any] = None

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
            if LeafDispatcher._depth == 0:
                LeafDispatcher._first, LeafDispatcher._ready = self, set()
            LeafDispatcher._depth += 1
            try:
                with _few_collections():
                    found = super().compile(sig)
                if not self.in_leaf():
                    _set_environments(self.overloads[args])
            finally:
                LeafDispatcher._depth -= 1
                LeafDispatcher._ready.add(self)
                if LeafDispatcher._depth == 0:
                    LeafDispatcher._first = None
        return found

    @classmethod
    def progress(cls) -> tuple[int, int] | None:
        """Return how many leaves are ready of those that are compiled now, and how many there are at most."""
        if (first := cls._first) is None:
            return None
        leaves = {function for function, _ in functions_of(first) if isinstance(function, LeafDispatcher)}
        return len(leaves & cls._ready), len(leaves)

    @property
    def _numba_type_(self) -> LeafType:
        return LeafType(self)

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


def _part_of_numba(**options: Any) -> Any:
    """Compile a function of numba as the leaves that call it are."""
    decorate = jit(pipeline_class=NumbasCompiler, **options)
    return lambda function: LeafDispatcher.of(decorate(function))


dispatcher_registry[LeafTarget] = LeafDispatcher
jit_registry[LeafTarget] = _part_of_numba


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
