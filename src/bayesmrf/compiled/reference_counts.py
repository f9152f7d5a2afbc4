"""Counts of references to arrays in a leaf, without atomic instructions.

numba counts the references to the memory of an array by atomic instructions, as another thread may change the same
count. No other thread does so in a leaf: it starts no threads, and an array from Python gets a count of its own in each
call. A leaf passes NamedTuples of arrays from function to function, so that counting was a quarter of the time of an
exact scan of edges, and two fifths of that of Langevin dynamics.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

from llvmlite import ir
from llvmlite.binding import Linkage, parse_assembly
from numba.core.codegen import CPUCodegen
from numba.core.runtime import nrtdynmod


def knows_counts() -> bool:
    """Return whether numba has the functions from which `inline_counts` makes its own."""
    calls = nrtdynmod._define_nrt_incref, nrtdynmod._define_nrt_decref, CPUCodegen._module_pass_manager
    return [len(inspect.signature(c).parameters) for c in calls] == [2, 2, 2]


@cache
def _plain(triple: str, layout: str) -> str:
    """Return the two functions in the language of LLVM."""
    module = ir.Module()
    module.triple, module.data_layout = triple, layout
    word = nrtdynmod._word_type
    changes = []
    for change in ("add", "sub"):
        function = ir.Function(module, ir.FunctionType(word, [word.as_pointer()]), name=f"plain_{change}")
        function.linkage = "internal"
        builder = ir.IRBuilder(function.append_basic_block())
        (place,) = function.args
        new = getattr(builder, change)(builder.load(place), ir.Constant(word, 1))
        builder.store(new, place)
        builder.ret(new)
        changes.append(function)
    nrtdynmod._define_nrt_incref(module, changes[0])
    nrtdynmod._define_nrt_decref(module, changes[1])
    return str(module).replace("noinline", "alwaysinline")  # noinline was for the search for needless calls


def inline_counts(module: Any) -> None:
    """Replace numba's two functions in the code of a leaf, from which it has removed needless calls of them."""
    module.link_in(parse_assembly(_plain(module.triple, module.data_layout)))
    for name in ("NRT_incref", "NRT_decref"):
        module.get_function(name).linkage = Linkage.internal
