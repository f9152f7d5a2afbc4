"""Counts of what makes the sources hard to live in, by the syntax tree alone ("Budgets", docs/notes/architecture.md).

`counts` returns a number for each rule, `code_lines` those of each room; tests/lint/test_budgets.py compares them with
tests/lint/budgets.toml, and ``python benchmarks/structure.py house`` prints them next to those of another version.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

EMPTY_NAMES = frozenset({"found", "own", "given", "there", "some", "seen", "gone", "mine"})
MOST_LINES, MOST_ARGUMENTS, MOST_OF_A_LEAF, MOST_ROOMS = 80, 9, 10, 2
COMMON_NAMES = frozenset({"__init__", "compute", "shown"})  # of files that every room may have
FIT = """
from bayesmrf import SpikeSlabMRF, datasets
table = datasets.coronary()
men, count = table.drop(columns="count"), table["count"]
def fit():
    est = SpikeSlabMRF(method="exact", n_draws=2000, random_state=1, progress=False, n_jobs=1)
    return est.fit(men, sample_weight=count)
est = fit()
"""
# Appended to FIT, it prints how many of our modules and functions the second fit enters.
CALLS = """
import json, sys
from pathlib import Path
import bayesmrf
root, seen = str(Path(bayesmrf.__file__).parent), set()
def enter(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(root) and not code.co_qualname.endswith(">"):
        seen.add((code.co_filename, code.co_qualname))
sys.setprofile(enter)
fit()
sys.setprofile(None)
print(json.dumps([len({file for file, _ in seen}), len(seen)]))
"""
LEAVES = frozenset({"leaf", "strict_leaf"})


def sources(root: Path) -> list[Path]:
    """Return the files of the package below the root of a repository."""
    return sorted((root / "src" / "bayesmrf").rglob("*.py"))


def room(path: Path) -> str:
    """Return the room of a file: its folder in the package, of posterior/ and answers/ with the one below."""
    parts = path.parts[path.parts.index("bayesmrf") + 1 : -1]
    return "/".join(parts[: 2 if parts[:1] in (("posterior",), ("answers",)) else 1]) or "."


def code_lines(root: Path) -> Counter[str]:
    """Count lines of code in each room: lines that are left without docstrings, comments and blank lines."""
    lines: Counter[str] = Counter()
    for path in sources(root):
        text = path.read_text(encoding="utf-8")
        within: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
                within |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        numbered = enumerate(text.splitlines(), 1)
        lines[room(path)] += sum(
            1 for i, line in numbered if i not in within and line.strip() and not line.strip().startswith("#")
        )
    return lines


def counts(root: Path) -> dict[str, int]:
    """Count what each rule is about, over all sources."""
    files = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sources(root)}
    return {
        "names of files in more than two rooms": len(repeated_names(list(files))),
        "questions after the class of a prior": _questions(files, _classes(files, "priors.py", "priors/")),
        "questions after the class of a model": _questions(files, _classes(files, "models/")),
        "questions after the class of a summary": _questions(files, _named(files, "Summary")),
        f"functions of more than {MOST_LINES} lines": sum(1 for tree in files.values() for _ in long_functions(tree)),
        f"functions of more than {MOST_ARGUMENTS} arguments": sum(
            1 for tree in files.values() for _ in crowded(tree, is_leaf=False)
        ),
        f"leaves of more than {MOST_OF_A_LEAF} arguments": sum(
            1 for tree in files.values() for _ in crowded(tree, is_leaf=True)
        ),
        "assignments to names that say nothing": sum(1 for tree in files.values() for _ in empty_names(tree)),
    }


def repeated_names(files: list[Path]) -> dict[str, set[str]]:
    """Return the names of files that occur in more than two rooms, and these."""
    rooms: dict[str, set[str]] = {}
    for path in files:
        if path.stem not in COMMON_NAMES:
            rooms.setdefault(path.stem, set()).add(room(path))
    return {name: where for name, where in rooms.items() if len(where) > MOST_ROOMS}


def _classes(files: dict[Path, ast.Module], *places: str) -> dict[str, Path]:
    """Return the classes that are declared in some places of the package, and their files."""
    return {
        node.name: path
        for path, tree in files.items()
        if any(f"bayesmrf/{place}" in path.as_posix() for place in places)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def _named(files: dict[Path, ast.Module], ending: str) -> dict[str, Path]:
    """Return the classes whose names have an ending, and their files."""
    return {
        node.name: path
        for path, tree in files.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name.endswith(ending)
    }


def _questions(files: dict[Path, ast.Module], homes: dict[str, Path]) -> int:
    """Count calls of `isinstance` or `issubclass` with one of these classes, outside the file of the class."""
    return sum(
        1
        for path, tree in files.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("isinstance", "issubclass")
        and len(node.args) > 1
        and any(name in homes and homes[name] != path for name in re.findall(r"\w+", ast.unparse(node.args[1])))
    )


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def long_functions(tree: ast.Module) -> Iterator[str]:
    """Yield the names of functions with too many lines, docstring included."""
    return (f.name for f in _functions(tree) if (f.end_lineno or 0) - f.lineno + 1 > MOST_LINES)


def crowded(tree: ast.Module, is_leaf: bool) -> Iterator[str]:
    """Yield the names of functions, or of compiled leaves, with too many arguments; constructors have options."""
    most = MOST_OF_A_LEAF if is_leaf else MOST_ARGUMENTS
    for f in _functions(tree):
        marks = {name for d in f.decorator_list for name in re.findall(r"\w+", ast.unparse(d))}
        if bool(marks & LEAVES) == is_leaf and f.name != "__init__" and "command" not in marks:
            n = len(f.args.posonlyargs) + len(f.args.args) + len(f.args.kwonlyargs)
            if n - (f.args.args[:1] != [] and f.args.args[0].arg in ("self", "cls")) > most:
                yield f.name


def empty_names(tree: ast.Module) -> Iterator[str]:
    """Yield the names that are assigned and say nothing of the thing."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in EMPTY_NAMES:
            yield node.id
        elif isinstance(node, ast.arg) and node.arg in EMPTY_NAMES:
            yield node.arg


def ancestors(kind: type) -> int:
    """Count the classes of the package in the line of ancestors of a class."""
    return sum(1 for c in kind.__mro__[1:] if c.__module__.partition(".")[0] == "bayesmrf")


def private_names(kind: type) -> int:
    """Count the names of a class that begin with one underscore."""
    return sum(1 for name in dir(kind) if name.startswith("_") and not name.startswith("__"))
