"""Compiled code on disk: in files that several processes write, found again, and never that of something else."""

import ast
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from numba.core import caching
from numba.core.runtime import _nrt_python as _nrt
from numba.core.runtime import rtsys

import bayesmrf
from bayesmrf.compiled import leaf, leaves, strict_leaf
from bayesmrf.compiled.code_parts import is_part
from bayesmrf.compiled.generators import GENERATOR
from bayesmrf.errors import BayesMRFWarning
from tests import ROOT
from tests.helpers.memory_checks import sums_that_depend_on_memory
from tests.long import LONG

TOTAL = "def total(x):\n    s = 0.0\n    for v in x:\n        s += v\n    return s\n"
POINT = "from typing import NamedTuple\n\nclass Point(NamedTuple):\n    x: float\n    y: float\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a module, and import it as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files of one second and one size are not told apart

    def give(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        for known in [m for m in sys.modules if m.startswith("made_here")]:
            monkeypatch.delitem(sys.modules, known)
        return importlib.import_module(name)

    return give


@pytest.fixture
def total(write):
    """A function in a file of its own; each time it is compiled as another process would."""
    return write("made_here_total", TOTAL).total


def hits(function):
    return sum(function.stats.cache_hits.values())


def files(function):
    return sorted(p.name for p in Path(function.stats.cache_path).glob("*.nb*"))


def numba_alone(total):
    """Two processes compile for floats and for integers; the first is slow to write. What a third finds for both."""
    first, second, third = (njit(cache=True)(total) for _ in range(3))
    one, two = first._cache._cache_file, second._cache._cache_file
    write = one._save_data

    def late(name, data):
        two._load_index = dict  # it was read before there was one
        second(np.arange(4))
        write(name, data)

    one._save_data = late
    first(np.arange(4.0))
    return [third(np.arange(4, dtype=kind)) for kind in (float, np.int64)]


def test_signatures_compiled_at_the_same_time_are_kept_apart(total, monkeypatch):
    first, second, third = (strict_leaf(total) for _ in range(3))
    replace = leaves.os.replace

    def late(*paths):
        monkeypatch.undo()
        second(np.arange(4))
        second(np.arange(4.0))  # what the first is writing
        replace(*paths)

    monkeypatch.setattr(leaves.os, "replace", late)
    first(np.arange(4.0))
    assert [third(np.arange(4, dtype=kind)) for kind in (float, np.int64)] == [6, 6]
    assert hits(third) == 2
    assert len(files(third)) == 2


def test_control_numba_alone_takes_one_for_the_other(total):
    assert numba_alone(total) != [6, 6]


def test_code_is_found_again(total):
    first, second = strict_leaf(total), strict_leaf(total)
    first(np.arange(4.0))
    first(np.arange(4))
    assert second(np.arange(4)) == 6
    assert second(np.arange(4.0)) == 6
    assert hits(second) == 2
    assert not second.stats.cache_misses


def test_tuples_of_one_name_in_two_modules_are_told_apart(write):
    """Compiled for one module's Point, then for the other's, whose code is another one."""
    source = (
        "from numba.extending import overload\nfrom bayesmrf.compiled import leaf\n"
        "import made_here_a, made_here_b\n\ndef sign(p): ...\n\n@overload(sign)\ndef _sign(p):\n"
        "    if p.instance_class is made_here_a.Point:\n        return lambda p: -p.x\n    return lambda p: p.x\n\n"
        "@leaf\ndef value(p):\n    return sign(p)\n"
    )

    found = []
    for name in "abab":
        write("made_here_a", POINT)
        write("made_here_b", POINT)
        module = write("made_here_value", source)
        found.append((module.value(sys.modules[f"made_here_{name}"].Point(2.0, 3.0)), hits(module.value)))
    assert found == [(-2.0, 0), (2.0, 0), (-2.0, 1), (2.0, 1)]
    assert len(files(module.value)) == 2


LEAF = "from bayesmrf.compiled import leaf"
CALLER = "from bayesmrf.compiled import leaf\n{}\n\n@leaf\ndef outer(x):\n    return 10 * {}(x)\n"
CALLEE = "from bayesmrf.compiled import leaf\nFACTOR = {}\n\n@leaf\ndef inner(x):\n    return FACTOR * x\n"


@pytest.mark.parametrize(
    ("way", "call"),
    [("from made_here_inner import inner", "inner"), ("import made_here_inner", "made_here_inner.inner")],
)
def test_a_change_of_what_is_called_is_noticed(way, call, write):
    """Of a constant in another file, one call further on."""
    found = []
    for factor in (2.0, 2.0, 3.0):
        write("made_here_inner", CALLEE.format(factor))
        outer = write("made_here_outer", CALLER.format(way, call)).outer
        found.append((outer(1.0), hits(outer)))
        assert len([f for f in files(outer) if "outer" in f]) == 1  # the old one is gone
    assert found == [(20.0, 0), (20.0, 1), (30.0, 0)]


def test_control_numba_alone_does_not_notice(write):
    numba = "from numba import njit"
    source = [s.replace(LEAF, numba).replace("@leaf", "@njit(cache=True)") for s in (CALLEE, CALLER)]
    found = []
    for factor in (2.0, 3.0):
        write("made_here_inner", source[0].format(factor))
        found.append(
            write("made_here_outer", source[1].format("from made_here_inner import inner", "inner")).outer(1.0)
        )
    assert found == [20.0, 20.0]


CHANGES = {
    "a constant that was imported": ("FACTOR = 2.0", "FACTOR = 5.0"),
    "an array": ("np.array([1.0])", "np.array([4.0])"),
    "a default": ("y=1.0", "y=3.0"),
    "a number in the code": ("7 *", "8 *"),
    "an operator": ("x + y", "x - y"),
    "what a name stands for": ("from math import exp as f", "from math import log as f"),
    "a function of an overload": ("lambda x: 3 * x", "lambda x: 4 * x"),
    "a leaf chosen by class": ("return a.b", "return -a.b"),
}
MADE = (
    "import numpy as np\nfrom math import exp as f\nfrom numba.extending import overload\n"
    "from bayesmrf.compiled import strict_leaf as leaf\nfrom bayesmrf.posterior.conditionals.by_class import by_class\n"
    "from typing import NamedTuple\n\n\nclass OfHere(NamedTuple):\n    b: float\n\n"
    "@leaf\ndef of_here(a):\n    return a.b\n\n@by_class({OfHere: of_here})\ndef chosen(a): ...\n\n"
    "FACTOR = 2.0\nARRAY = np.array([1.0])\n\n"
    "def stub(x): ...\n\n@overload(stub)\ndef _stub(x):\n    return lambda x: 3 * x\n\n"
    "@leaf\ndef inner(x, y=1.0):\n    return 7 * (x + y) + FACTOR + ARRAY[0] + f(x) + stub(x) + chosen(OfHere(x))\n"
)
OUTER = f"{LEAF}\nfrom made_here_inner import inner\n\n@leaf\ndef outer(x):\n    return inner(x)\n"


def test_every_change_is_noticed_and_comments_are_none(write):
    def digest(text):
        write("made_here_inner", text)
        return leaves.digest_of(write("made_here_outer", OUTER).outer)

    changed = {name: digest(MADE.replace(*change)) for name, change in CHANGES.items()}
    assert len({digest(MADE), *changed.values()}) == 1 + len(CHANGES)
    plain = (
        MADE.replace("def stub(x): ...", "").partition("@overload")[0] + "@leaf\ndef inner(x):\n    return FACTOR * x\n"
    )
    assert digest(plain) == digest(plain.replace("@leaf", "# a comment\n\n@leaf"))
    assert digest(plain) != digest(plain.replace("strict_leaf as", "leaf as"))


def test_code_of_leaves_that_are_gone_does_not_pile_up(write):
    first = write("made_here_leaves", "from bayesmrf.compiled import leaf\n\n@leaf\ndef old(x):\n    return x\n").old
    first(1.0)
    assert len(files(first)) == 1
    second = write("made_here_leaves", "from bayesmrf.compiled import leaf\n\n@leaf\ndef new(x):\n    return x\n").new
    second(1.0)
    assert [f.split(".")[1] for f in files(second)] == ["new"]


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"", lambda b: b[:200] + b"\0\0\0" + b[203:]])
def test_a_damaged_file_is_as_good_as_none(damage, total):
    first, second, third = (leaf(total) for _ in range(3))
    first(np.arange(4.0))
    (path,) = Path(first.stats.cache_path).glob("*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    assert second(np.arange(4.0)) == third(np.arange(4.0)) == 6
    assert (hits(second), hits(third)) == (0, 1)


def test_a_full_disk_keeps_nothing_and_stops_nothing(total, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(leaves.os, "replace", full)
    function = leaf(total)
    assert function(np.arange(4.0)) == 6
    assert files(function) == []


COUNT = (
    "import numpy as np; from bayesmrf.samplers.clusters import bind\n"
    "parent = np.arange(3); bind(parent, 1, 2); print(parent, sum(bind.stats.cache_hits.values()))"
)


def test_a_checkout_in_another_place_finds_the_code_and_takes_none_of_other_sources(tmp_path):
    """In NUMBA_CACHE_DIR, where numba alone has a folder for each place."""
    source, said = Path(bayesmrf.__file__).parent, []
    for place in ("first", "second", "changed"):
        copy = tmp_path / place / "bayesmrf"
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if place == "changed":
            file = copy / "samplers" / "clusters.py"
            file.write_text(file.read_text().replace("parent[max(a, b)] = min(a, b)", "parent[:] = 7"))
        more = {"PYTHONPATH": str(tmp_path / place), "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
        done = subprocess.run([sys.executable, "-c", COUNT], env=os.environ | more, capture_output=True, text=True)
        said.append(done.stdout.strip() or done.stderr)
    assert said == ["[0 1 1] 0", "[0 1 1] 1", "[7 7 7] 0"]
    assert {p.name for p in (tmp_path / "kept").iterdir()} == {"bayesmrf.samplers"}


STEPS = """
import gc, sys, warnings
import numpy as np
from numba.core.errors import NumbaWarning
from bayesmrf.compiled.code_parts import LeafDispatcher
from bayesmrf.compiled.leaves import Files
from tests import tables
warnings.simplefilter("error", NumbaWarning)
for make in [tables.KERNELS[name] for name in sys.argv[1:]] or tables.KERNELS.values():
    kernel, rng = make(), np.random.default_rng(1)
    state, info = kernel.step(rng, kernel.init(rng))
    print(*map(np.asarray, info))
leaves = [x for x in gc.get_objects() if isinstance(x, LeafDispatcher) and isinstance(x._cache, Files)]
print(sum(sum(x.stats.cache_misses.values()) for x in leaves), file=sys.stderr)
"""


@pytest.mark.parametrize("kernels", [["spike-slab-exact"], pytest.param([], id="all", marks=LONG)])
def test_a_second_process_compiles_nothing_and_draws_the_same(kernels, tmp_path):
    """All leaves and parts are kept: none has the address of something in the process that compiled it."""
    said, of = [], {"env": environment(NUMBA_CACHE_DIR=str(tmp_path)), "cwd": ROOT}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", STEPS, *kernels], **of, capture_output=True, text=True)
        said.append((done.stdout, int(done.stderr.splitlines()[-1])))
    (first, compiled), (second, again) = said
    assert first == second
    assert compiled > 20
    assert again == 0


def test_flush_removes_the_files(total):
    function = leaf(total)
    function(np.arange(4.0))
    assert len(files(function)) == 1
    function._cache.flush()
    assert files(function) == []


# ---- another numba


def another(monkeypatch):
    """The module as it is imported where numba has changed."""
    spec = importlib.util.spec_from_file_location("bayesmrf.compiled._leaves_again", leaves.__file__)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


def renamed(monkeypatch):
    monkeypatch.delattr(caching, "CompileResultCacheImpl")


def moved(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba.core.caching", None)
    monkeypatch.delattr("numba.core.caching")


def other_arguments(monkeypatch):
    monkeypatch.setattr(caching.CompileResultCacheImpl, "rebuild", lambda self, payload: None)


def other_protocol(monkeypatch):
    monkeypatch.setattr(caching._Cache, "__abstractmethods__", frozenset({"load", "save"}))


@pytest.mark.parametrize("change", [renamed, moved, other_arguments, other_protocol], ids=lambda f: f.__name__)
def test_where_numba_has_changed_its_own_files_are_used(change, total, monkeypatch):
    with monkeypatch.context() as patch:
        change(patch)
        module = another(monkeypatch)
    assert not module._OWN_FILES
    function = module.leaf(total)
    assert isinstance(function._cache, caching.FunctionCache)
    assert function(np.arange(4.0)) == 6
    assert leaves._OWN_FILES  # and with this one, ours


def test_where_compilation_is_switched_off_functions_stay_as_they_are():
    code = "from bayesmrf.compiled import leaf; f = lambda x: x; print(leaf(f) is f)"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(NUMBA_DISABLE_JIT="1"), capture_output=True, text=True
    )
    assert done.stdout == "True\n", done.stderr


# ---- nowhere to write


def environment(**more):
    return os.environ | {"PYTHONPATH": str(Path(bayesmrf.__file__).parents[1])} | more


@pytest.mark.parametrize("own", [True, False])
def test_where_nothing_can_be_written_code_is_compiled_every_time(own, total, monkeypatch):
    def refused(self):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(caching._CacheLocator, "ensure_cache_path", refused)
    monkeypatch.setattr(leaves, "_OWN_FILES", own)
    leaves._warn_of_no_folder.cache_clear()

    def call():
        function = leaf(total)
        return function(np.arange(4.0)), function.stats.cache_path

    with pytest.warns(BayesMRFWarning, match="Set NUMBA_CACHE_DIR to a writable folder"):
        assert call() == (6, None)
    assert call() == (6, None)  # said once


def test_import_where_nothing_can_be_written():
    code = (
        "import numpy as np, warnings; from numba.core import caching\n"
        "def refused(self): raise OSError(30, 'Read-only file system')\n"
        "caching._CacheLocator.ensure_cache_path = refused\n"
        "import bayesmrf, bayesmrf.cli\n"
        "for name in bayesmrf.__all__: getattr(bayesmrf, name)\n"
        "from bayesmrf.samplers.clusters import bind\n"
        "parent = np.arange(3); bind(parent, 1, 2); print(parent)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.stdout == "[0 1 1]\n", done.stderr
    assert "compiled code cannot be cached" in done.stderr


LONG = (
    "def long(x):\n    s = 0.0\n"
    + "".join(f"    for v in x:\n        s += v ** {k} * s\n" for k in range(3, 40))
    + "    return s\n\n"
)
CALLS = (
    f"from bayesmrf.compiled import leaf\nfrom numba import njit\n\n@DECORATOR\n{LONG}"
    "@DECORATOR\ndef calls(x, y):\n    return long(x) + long(y)\n"
)


@pytest.mark.parametrize(("decorator", "own"), [("leaf", True), ("njit(fastmath=True)", False)])
def test_a_leaf_calls_no_machine_code_of_others(decorator, own, write):
    """Else what it draws would depend on what the process has loaded before; the control is numba alone."""
    calls = write("made_here_twice", CALLS.replace("DECORATOR", decorator)).calls
    calls(np.ones(3), np.ones(3))
    (library,) = [found.library for found in calls.overloads.values()]
    called = [f.linkage.name for f in library.get_defined_functions() if "long" in f.name and "calls" not in f.name]
    assert called
    assert all((linkage == "internal") == own for linkage in called)


STRICT = (
    "from numba import njit\nfrom bayesmrf.compiled import leaf, strict_leaf\n\n"
    "@INNER\ndef missing(x):\n    return x != x\n\n@OUTER\ndef calls(x):\n    return missing(x)\n"
)


@pytest.mark.parametrize(
    ("inner", "outer", "right"),
    [("strict_leaf", "leaf", True), ("njit", "leaf", True), ("njit", "njit(fastmath=True)", False)],
)
def test_a_strict_leaf_is_strict_in_any_leaf(inner, outer, right, write):
    """Also if it is compiled for one with fastmath first, which takes no number for missing; the control is numba."""
    module = write("made_here_strict", STRICT.replace("INNER", inner).replace("OUTER", outer))
    assert module.calls(np.nan) == right
    assert not module.calls(1.0)
    assert module.missing(np.nan) == right


POWERS = (
    "from numba import njit\nfrom bayesmrf.compiled import leaf, strict_leaf\n\n"
    "@FAST\ndef fast(x):\n    return x**7\n\n@STRICT\ndef strict(x):\n    return x**7\n"
)


@pytest.mark.parametrize("first", ["fast", "strict"])
@pytest.mark.parametrize(
    ("fast", "strict", "own"), [("leaf", "strict_leaf", True), ("njit(fastmath=True)", "njit", False)]
)
def test_functions_of_numba_have_the_fastmath_of_their_leaf(fast, strict, own, first, write):
    """Whatever was compiled first: else draws would depend on it. numba has one power for all, the control."""
    module = write(f"made_here_powers_{first}", POWERS.replace("FAST", fast).replace("STRICT", strict))
    for name in (first, "fast", "strict"):
        assert getattr(module, name)(2.0) == 128
    is_fast = {name: "fmul fast" in next(iter(getattr(module, name).inspect_llvm().values()))
               for name in ("fast", "strict")}  # fmt: skip
    assert (is_fast == {"fast": True, "strict": False}) == own


PARTS = (
    f"{LEAF}\n\n@leaf\ndef inner(x):\n    if x < 0:\n        raise ValueError('negative')\n    return x + 1\n\n"
    "@leaf\ndef outer(x):\n    return 2 * inner(x)\n\n@leaf\ndef third(x):\n    return 3 * inner(x)\n"
)


def test_leaves_that_others_call_have_no_wrappers_and_no_machine_code(write):
    """They are found on disk by the next process, and compiled as a whole when Python calls them."""
    module = write("made_here_parts", PARTS)
    inner = module.inner
    assert module.outer(1.0) == 4
    (part,) = inner.overloads.values()
    assert is_part(part)
    assert not [f for f in part.library.get_defined_functions() if "wrapper" in f.name or "cpython" in f.name]
    assert inner(1.0) == 2
    (whole,) = inner.overloads.values()
    assert not is_part(whole)
    assert module.outer(2.0) == 6
    for call in (inner, module.outer):
        with pytest.raises(ValueError, match="negative"):
            call(-1.0)

    (signature,), library = inner.overloads, whole.library
    path = inner._cache._path(signature, library.codegen, True)
    assert path.exists()
    again = write("made_here_parts", PARTS)
    assert again.third(1.0) == 6
    assert hits(again.inner) == 1
    assert is_part(*again.inner.overloads.values())
    with pytest.raises(ValueError, match="negative"):
        again.third(-1.0)
    path.write_bytes(path.read_bytes()[:-9])  # control: a damaged part is replaced by the code of the whole leaf
    once_more = write("made_here_parts", PARTS.replace("3 *", "4 *"))
    assert once_more.third(1.0) == 8
    assert not is_part(*once_more.inner.overloads.values())


ARRAYS = (
    "from typing import NamedTuple\nimport numpy as np\nimport numba\nfrom bayesmrf.compiled import strict_leaf\n\n"
    "class MadeHerePair(NamedTuple):\n    x: np.ndarray\n    y: np.ndarray\n\n"
    "@DECORATOR\ndef part(pair, k):\n    if pair.x[k] > 2:\n        return pair.y[:]\n    return pair.x.copy()\n\n"
    "@DECORATOR\ndef whole(x, n):\n    pair = MadeHerePair(x, x + 1)\n    for k in range(n):\n"
    "        pair = MadeHerePair(part(pair, k % len(x)), pair.x + 1)\n    return pair.x, x\n"
)


@pytest.mark.parametrize(("decorator", "atomic"), [("strict_leaf", False), ("numba.njit", True)])
def test_references_in_a_leaf_are_counted_without_atomic_instructions(decorator, atomic, write):
    """All memory is freed, and what Python gives is given back; the control is numba alone."""
    found = write("made_here_arrays", ARRAYS.replace("DECORATOR", decorator)).whole
    x = np.arange(5.0)
    _nrt.memsys_enable_stats()
    found(x, 10)
    before = rtsys.get_allocation_stats()
    out = [found(x, 1000) for _ in range(3)]
    assert all(mine is x for _, mine in out)
    assert all((first == found.py_func(x, 1000)[0]).all() for first, _ in out)
    del out
    after = rtsys.get_allocation_stats()
    assert after.alloc - before.alloc == after.free - before.free > 3000
    assert sys.getrefcount(x) == 2
    assert any("atomicrmw" in code for code in found.inspect_llvm().values()) == atomic


# ---- sums that depend on where arrays are


def sums_and_writes(a, b, out):
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
        out[k] = b[k]
    return total


def sums_then_writes(a, b, out):
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    for k in range(len(a)):
        out[k] = b[k]
    return total


@pytest.mark.parametrize("function", [sums_and_writes, sums_then_writes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("fastmath", [True, False])
def test_sums_that_depend_on_memory_are_found(function, fastmath, rng):
    compiled, varies = njit(fastmath=fastmath)(function), False
    for _ in range(40):
        memory = rng.normal(size=300)
        a, b = rng.normal(size=30), memory[:30]
        near, far = (compiled(a, b, memory[start : start + 30]) for start in (30, 150))
        varies |= near != far
    code = "".join(f.library.get_llvm_str() for f in compiled.overloads.values())
    found = bool(sums_that_depend_on_memory(code))
    assert found == (function is sums_and_writes and fastmath)
    assert found or not varies  # whether a sum varies where it may depends on the processor, and on where memory is


def test_a_leaf_with_such_a_sum_is_refused_while_tests_run(rng):
    with pytest.raises(AssertionError, match="make it two loops"):
        leaf(sums_and_writes)(*rng.normal(size=(3, 30)))


# ---- generators


def variates(rng):
    return rng.random(), rng.standard_normal(), rng.standard_gamma(2.5), rng.beta(0.5, 2.0), rng.integers(0, 10)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_a_leaf_draws_what_numpy_draws_and_lets_go_of_the_generator(bits):
    inner = leaf(variates)

    def outer(rng):
        return inner(rng)

    draw, ours, numpys = leaf(outer), np.random.Generator(bits(1)), np.random.Generator(bits(1))
    kept = ours, ours.bit_generator, ours.bit_generator.capsule
    counts = [sys.getrefcount(o) for o in kept]
    for _ in range(100):
        np.testing.assert_allclose(draw(ours), variates(numpys), rtol=1e-12)  # fastmath rounds sums in another way
    assert [sys.getrefcount(o) for o in kept] == counts
    assert ours.random() == numpys.random()
    assert draw.signatures == [(GENERATOR,)]


def test_a_generator_that_a_leaf_does_not_know_is_numbas():
    class Derived(np.random.Generator):
        pass

    ours, numpys = Derived(np.random.PCG64(1)), np.random.default_rng(1)
    assert leaf(variates)(ours) == pytest.approx(variates(numpys))


def _untyped(tree: ast.AST) -> list[ast.FunctionDef]:
    """Return functions with an argument or a result without type, other than those within such a function."""
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            arguments = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
            bare = [a for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
            if bare or (node.returns is None and (node.name != "__init__" or not arguments[1:])):
                found.append(node)
                continue
        found += _untyped(node)
    return found


def _is_compiled(function: ast.FunctionDef) -> bool:
    names = {ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in function.decorator_list}
    return bool(names & {"leaf", "strict_leaf", "by_class"})


def test_only_compiled_leaves_have_no_types():
    source = Path(bayesmrf.__file__).parent
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in source.rglob("*.py")}
    untyped = [(path, f) for path, tree in trees.items() for f in _untyped(tree)]
    assert [f"{path.relative_to(source)}:{f.lineno} {f.name}" for path, f in untyped if not _is_compiled(f)] == []
    assert len(untyped) > 300  # the lint finds functions without types


@pytest.mark.parametrize(
    "code", ["def f(x): ...", "def f(x: int): ...", "class A:\n    def f(self): ...", "def f(): ..."]
)
def test_functions_without_types_are_found(code):
    assert [f.name for f in _untyped(ast.parse(code))] == ["f"]
