"""Which faults that are put into the sources the tests find: signs, factors, indices and terms, drawn by a stated seed.

    python benchmarks/mutations.py STORE [--count N] [--seed S] [--files K] [--limit SECONDS] [--against REVISION]
    python benchmarks/mutations.py --list [--count N] [--seed S]

Each fault is put into a copy of the last commit, and the K files of tests that are nearest to the file are run until
one fails; near are those that import the file, then those that import what imports it. STORE keeps each fault that is
done, so that the same call goes on where it was stopped. With ``--against`` the tests of that revision are run on the
same sources: record both, each in its own store, before tests are removed.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
OTHER = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
WITHOUT_FAULTS = ast.JoinedStr | ast.Raise | ast.AnnAssign  # words, whatever they are made from


class Fault(NamedTuple):
    """A place in a file, and what stands there instead."""

    kind: str
    path: str
    line: int
    start: int  # offsets in the text
    end: int
    text: str


# ---- faults


def faults_of(path: str, source: str) -> Iterator[Fault]:
    """List every fault that can be put into a file."""
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    rows = source.splitlines()

    def offset(row: int, column: int) -> int:
        return lines[row - 1] + len(rows[row - 1].encode()[:column].decode())

    def ends(node: ast.expr) -> tuple[int, int]:
        return offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)

    def fault(kind: str, node: ast.expr, text: str) -> Fault:
        return Fault(kind, path, node.lineno, *ends(node), f"({text})")

    def of(node: ast.expr) -> str:
        return f"({source[slice(*ends(node))]})"  # `ast.get_source_segment` splits the source into lines in each call

    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, WITHOUT_FAULTS):
            continue
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.FunctionDef):
            children = list(node.body)  # no decorators, defaults and annotations
        waiting += children
        if isinstance(node, ast.BinOp) and not any(map(is_text, (node.left, node.right))):
            left, right, kind = of(node.left), of(node.right), type(node.op)
            if kind in (ast.Add, ast.Sub):
                yield fault("sign", node, f"{left} {OTHER[kind]} {right}")
                yield fault("term", node, left)
            elif kind in (ast.Mult, ast.Div):
                yield fault("factor", node, f"{left} {OTHER[kind]} {right}")
                yield fault("term", node, left)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            yield fault("sign", node, of(node.operand))
        elif isinstance(node, ast.Constant) and type(node.value) is float and node.value not in (0.0, float("inf")):
            yield fault("factor", node, f"2.0 * {node.value!r}")
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Name):
            yield fault("index", node.slice, f"{node.slice.id} - 1")


def is_text(node: ast.expr) -> bool:
    """Whether an operand is made of words, or is a list or tuple, which are joined and not added."""
    words = ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp
    return isinstance(node, words) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def drawn(root: Path, count: int, seed: int) -> list[Fault]:
    """Draw faults: first the kind, then the place, so that rare kinds are as frequent as others."""
    kinds: dict[str, list[Fault]] = {}
    for path in sorted((root / "src").rglob("*.py")):
        for fault in faults_of(str(path.relative_to(root)), path.read_text(encoding="utf-8")):
            kinds.setdefault(fault.kind, []).append(fault)
    rng = random.Random(seed)
    return [rng.choice(kinds[rng.choice(sorted(kinds))]) for _ in range(count)]


# ---- which tests are near


def imports(path: Path, package: tuple[str, ...]) -> set[str]:
    """Name what a file may import, modules or names in them."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join([*base, *filter(None, [node.module])])
            names |= {home, *(f"{home}.{alias.name}" for alias in node.names)}
    return names


def near(root: Path, path: str, k: int) -> list[str]:
    """List the files of tests whose imports lead to a file by the fewest steps, those of its name first."""
    modules: dict[str, Path] = {}
    for base in (root / "src", root):
        for file in sorted(base.glob("bayesmrf/**/*.py" if base.name == "src" else "tests/**/*.py")):
            name = ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
            modules[name] = file
    imported = {}
    for name, file in modules.items():
        package = tuple(name.split(".")) if file.name == "__init__.py" else tuple(name.split(".")[:-1])
        imported[name] = imports(file, package) & set(modules) - {"bayesmrf", name}
    (target,) = (name for name, file in modules.items() if file == root / path)
    steps, edge = {target: 0}, {target}
    while edge:
        edge = {name for name, others in imported.items() if others & edge} - set(steps)
        steps |= dict.fromkeys(edge, max(steps.values()) + 1)
    stem = Path(path).stem
    tests = [name for name in modules if name.rpartition(".")[2].startswith("test_")]
    order = sorted(tests, key=lambda name: (stem not in name, steps.get(name, len(modules)), name))
    return [str(modules[name].relative_to(root)) for name in order[:k]]


# ---- runs


def copy_of(revision: str, parts: list[str], folder: Path) -> None:
    """Write parts of a revision into a folder."""
    archive = subprocess.run(["git", "archive", revision, *parts], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)


def outcome(root: Path, fault: Fault, k: int, limit: float) -> dict[str, object]:
    """Put a fault into a file, run the tests next to it, and put the file back."""
    path, tests = root / fault.path, near(root, fault.path, k)
    right = path.read_text(encoding="utf-8")
    path.write_text(right[: fault.start] + fault.text + right[fault.end :], encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "PYTHONDONTWRITEBYTECODE": "1"}
    begun = time.monotonic()
    try:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no", *tests]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=limit)
        found = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, flags=re.M)
        result = {0: "missed", 1: "caught", 2: "caught"}.get(done.returncode, f"pytest ended with {done.returncode}")
    except subprocess.TimeoutExpired:
        result, found = "over the limit", []
    finally:
        path.write_text(right, encoding="utf-8")
    return {"result": result, "by": found[:1], "seconds": round(time.monotonic() - begun), "files": len(tests)}


def described(root: Path, fault: Fault) -> str:
    text = (root / fault.path).read_text(encoding="utf-8")
    place = " ".join(text[fault.start : fault.end].split())
    return f"{fault.kind:6} {fault.path}:{fault.line}  {place}  ->  {' '.join(fault.text.split())}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", nargs="?", type=Path, help="a file of JSON, made or continued")
    parser.add_argument("--list", action="store_true", help="print the faults only")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=12, help="files of tests to run for each fault")
    parser.add_argument("--limit", type=float, default=3600, help="seconds for each fault")
    parser.add_argument("--against", metavar="REVISION", help="take the tests of this revision")
    given = parser.parse_args()
    if given.list or not given.store:
        print("\n".join(described(ROOT, fault) for fault in drawn(ROOT, given.count, given.seed)))
        return
    done = json.loads(given.store.read_text()) if given.store.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        root = Path(name).resolve()
        copy_of("HEAD", ["."], root)
        if given.against:
            subprocess.run(["rm", "-r", str(root / "tests")], check=True)
            copy_of(given.against, ["tests"], root)
        for fault in drawn(root, given.count, given.seed):
            key = described(root, fault)
            if key not in done:
                done[key] = outcome(root, fault, given.files, given.limit)
                given.store.write_text(json.dumps(done, indent=1))
            print(f"{done[key]['result']:8} {done[key]['seconds']:5} s  {key}", flush=True)
    counts = Counter(entry["result"] for entry in done.values())
    print(f"\n{len(done)} faults: {', '.join(f'{n} {result}' for result, n in counts.most_common())}")


if __name__ == "__main__":
    main()
