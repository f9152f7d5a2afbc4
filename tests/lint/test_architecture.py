"""The rules of docs/notes/architecture.md that a machine can check."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import pytest

from tests import ROOT

SOURCE = ROOT / "src" / "bayesmrf"
PAPERS = ROOT / "papers"

# Layers from the ground up, as the page lists them; a module may import its own layer and those below.
PAGE = (ROOT / "docs" / "notes" / "architecture.md").read_text()
LAYERS = [set(line.split()[1:]) for line in PAGE.partition("```text\nlayer\n")[2].partition("```")[0].splitlines()]
LEVEL = {name: i for i, layer in enumerate(LAYERS) for name in layer}


def top(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def modules(path, root=SOURCE, typing=False):
    """Modules inside a package, as tuples of names, that a file imports, for type checking as well where asked."""
    package = (root.name, *path.relative_to(root).parts[:-1])
    tree = ast.parse(path.read_text())
    skipped = {
        id(n)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test) and not typing
        for n in ast.walk(block)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in skipped:
            base = package[: len(package) - node.level + 1] if node.level else ()
            full = (*base, *(node.module.split(".") if node.module else ()))
            if full[:1] == package[:1]:
                inner = [(*full[1:], a.name) for a in node.names]
                yield from [m if is_module(m, root) else m[:-1] or m for m in inner]


def is_module(names, root=SOURCE):
    """Whether the names lead to a file or a folder."""
    at = root.joinpath(*names)
    return at.is_dir() or at.with_suffix(".py").is_file()


def imports(path):
    """Top-level names inside bayesmrf that a file imports."""
    return [m[0] for m in modules(path)]


FILES = sorted(SOURCE.rglob("*.py"))


def offenders(files, found_in):
    """Each file with what a rule finds in it, if it finds anything; a rule over no files says nothing."""
    assert files
    return {str(path.relative_to(ROOT)): found for path in files if (found := found_in(path))}


def upward(here, names):
    """Layers above that of ``here``, or without a place, among those that a file imports."""
    return [name for name in (here, *names) if name != "__version__" and LEVEL.get(name, 99) > LEVEL.get(here, 0)]


def test_every_module_has_one_layer():
    placed = [name for layer in LAYERS for name in layer]
    assert sorted(placed) == sorted({top(path) for path in FILES})


def test_imports_go_one_way():
    assert not offenders(FILES, lambda path: upward(top(path), imports(path)))


def test_imports_of_a_higher_layer_are_found():
    assert upward("models", ["errors", "models", "__version__", "estimators", "likelihood"]) == [
        "estimators",
        "likelihood",
    ]
    assert upward("nowhere", ["errors"]) == ["nowhere"]


KERNELS = sorted([*(SOURCE / "posterior").rglob("*.py"), *(SOURCE / "states").rglob("*.py")])
# Which of its own folders a folder of posterior/ may import.
ROOMS = {"conditionals": set(), "parameters": {"conditionals"}, "groups": {"conditionals"}, "edges": {"conditionals"}}


def test_kernels_know_no_engine():
    assert not offenders(KERNELS, lambda path: {"inference"} & set(imports(path)))


def test_rooms_of_posterior():
    def foreign(path):
        room = path.relative_to(SOURCE / "posterior").parts[0]
        return {m[1] for m in modules(path) if m[0] == "posterior"} - {room} - ROOMS[room]

    inside = [p for p in KERNELS if p.parts[-3] == "posterior" or p.parts[-4] == "posterior"]
    assert not offenders(inside, foreign)


def import_graph(root, typing=False):
    """The modules that each module of a package imports."""
    graph = {}
    for path in sorted(root.rglob("*.py")):
        here = path.relative_to(root).with_suffix("").parts
        here = here[:-1] if here[-1] == "__init__" else here
        graph[here] = {m for m in modules(path, root, typing) if m != here}
    return graph


def test_no_modules_import_each_other():
    """Nor for type checking."""
    graph = import_graph(SOURCE, typing=True)
    tuple(TopologicalSorter(graph).static_order())  # raises where there is a circle


def test_no_papers_import_each_other():
    """Each paper stands alone on what they share."""
    graph = import_graph(PAPERS, typing=True)
    tuple(TopologicalSorter(graph).static_order())
    for here, found in graph.items():
        for there in found:
            shared = len(there) == 1 and (PAPERS / f"{there[0]}.py").is_file()
            assert shared or here[:1] == there[:1], f"{here} imports {there}"


def test_a_circle_is_found(tmp_path):
    root = tmp_path / "shelf"
    root.mkdir()
    (root / "a.py").write_text("from shelf.b import x\n")
    (root / "b.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import y\n")
    tuple(TopologicalSorter(import_graph(root)).static_order())
    with pytest.raises(CycleError):
        tuple(TopologicalSorter(import_graph(root, typing=True)).static_order())


# Files that look for attributes, and whose objects these are; abilities of our own are declared.
FOREIGN = {
    "compiled/code_digest.py": "NamedTuples and dispatchers in compiled code",
    "data/frames.py": "tables of pandas and polars, which are not imported",
    "data/cells.py": "arrays and tables, against lists",
    "data/pair_probabilities.py": "matrices and tables, against lists",
    "data/states.py": "types of columns of pandas",
    "declare/rule.py": "matrices and tables, against lists",
    "errors.py": "values in messages, which may be arrays",
    "data/group_labels.py": "columns of pandas and polars",
    "estimators/ties.py": "Series of pandas",
    "evidence/methods.py": "functions of the user, which have a name, and callable objects, which have none",
    "graphs.py": "graphs of networkx, tables of pandas",
    "runs/chain.py": "numbers of numpy and of Python",
    "runs/identity.py": "any object of the user",
    "runs/state_spec.py": "NamedTuples, which have no base class",
    "runs/sealed.py": "flags of the operating system",
    "samplers/gibbs.py": "functions of the operating system",
}


def undeclared(code):
    """Lines that ask an object whether it has an attribute, and lines that only refuse."""
    asked, refused = [], []
    for node in ast.walk(ast.parse(code)):
        match node:
            case (
                ast.Call(func=ast.Name("hasattr"))
                | ast.Call(func=ast.Name("getattr"), args=[_, _, _])
                | ast.Attribute(value=ast.Call(func=ast.Name("vars")), attr="get" | "keys")
                | ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Call(func=ast.Name("vars"))])
            ):
                asked.append(node.lineno)
            case ast.Raise(exc=ast.Name("NotImplementedError") | ast.Call(func=ast.Name("NotImplementedError"))):
                refused.append(node.lineno)
    return asked, refused


def test_abilities_are_declared():
    found = {path.relative_to(SOURCE).as_posix(): undeclared(path.read_text()) for path in FILES}
    assert {path: asked for path, (asked, _) in found.items() if asked and path not in FOREIGN} == {}
    assert [path for path in FOREIGN if not found[path][0]] == [], "look for no attributes any more"
    assert {path: refused for path, (_, refused) in found.items() if refused} == {}


@pytest.mark.parametrize(
    "line",
    ["hasattr(x, 'y')", "getattr(x, 'y', None)", "vars(x).get('y')", "{'y'} & vars(x).keys()", "'y' not in vars(x)"],
)
def test_what_is_not_declared_is_found(line):
    code = f"value = getattr(x, 'y'), vars(x)['y']\nif value:\n    raise NotImplementedError\nvalue = {line}"
    assert undeclared(code) == ([4], [3])
    assert undeclared(code.replace("NotImplementedError", "NotImplementedError('here')")) == ([4], [3])


def test_no_file_is_too_long():
    lengths = {p: len(p.read_text().splitlines()) for p in [*FILES, *sorted(PAPERS.rglob("*.py"))]}
    assert not offenders(lengths, lambda path: lengths[path] > 400 and lengths[path])


def test_tuples_passed_to_compiled_code_have_names_of_their_own():
    """numba takes two NamedTuples of one name for each other."""
    known = {}
    for path in FILES:
        text = path.read_text()
        if re.search("^from .*compiled import", text, re.M):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and "NamedTuple" in [ast.unparse(b) for b in node.bases]:
                    assert node.name not in known, f"{path} and {known[node.name]} define a NamedTuple {node.name}"
                    known[node.name] = path
    assert len(known) > 20


def test_importing_the_package_is_light():
    heavy = ("numba", "sklearn", "pandas", "xarray", "matplotlib")
    code = f"import sys, bayesmrf; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def unseeded(path):
    """Lines that make a generator without a seed."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node).endswith(("default_rng()", "SeedSequence()"))
    ]


def test_tests_draw_from_the_seed_of_the_run():
    """A generator without a seed in a fixture of a module would escape the seed that is printed.

    The control is the one file that may have such generators, and has them.
    """
    found = offenders(sorted((ROOT / "tests").rglob("*.py")), unseeded)
    assert [*found] == ["tests/lint/test_seed.py"], found
