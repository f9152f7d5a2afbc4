"""Size of the sources, what a warm fit enters, and what a first fit costs, next to another version of the project.

Run ``python benchmarks/structure.py [size] [calls] [first] [import] [--turns N] --against REVISION``, from the root of
a repository; ``first`` takes a minute a turn. A line of code is one that is left without docstrings, comments and blank
lines; ``calls`` counts our modules and functions that `SpikeSlabMRF.fit` enters the second time. ``first`` is the fit
of README with an empty folder for compiled code, ``warm`` the same program again. Processes of the versions alternate;
times are processor times of all threads.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from timing import arguments, machine, table

PARTS = ("size", "calls", "first", "import")
FIT = """
from bayesmrf import SpikeSlabMRF, datasets
table = datasets.coronary()
men, count = table.drop(columns="count"), table["count"]
def fit():
    est = SpikeSlabMRF(method="exact", n_draws=2000, random_state=1, progress=False, n_jobs=1)
    return est.fit(men, sample_weight=count)
est = fit()
"""
SCORE = (
    "(est.table('edges') if hasattr(est, 'table') else est.edge_table()).head(3)\nest.score(men, sample_weight=count)\n"
)
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


def size(root: Path) -> dict[str, float]:
    """Count lines of code and of docstrings in the sources."""
    code = strings = 0
    for path in (root / "src").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        within: set[int] = set()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
                within |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
        lines = {i for i, line in enumerate(text.splitlines(), 1) if line.strip() and not line.strip().startswith("#")}
        code, strings = code + len(lines - within), strings + len(lines & within)
    return {"lines of code": code, "docstrings / (code + docstrings)": strings / (code + strings)}


def process(root: Path, program: str, cache: str) -> tuple[str, float]:
    """Run a program with the sources in a folder; return what it printed, and its processor time in seconds."""
    environment = {**os.environ, "PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": cache}
    before = os.times()
    command = [sys.executable, "-W", "ignore", "-c", program]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return found.stdout, used


def turn(root: Path, parts: list[str], kept: str) -> dict[str, float]:
    """Measure one version once; ``kept`` is a folder for compiled code that stays."""
    found = size(root) if "size" in parts else {}
    if "first" in parts:
        with tempfile.TemporaryDirectory() as empty:
            found["first fit and score, no compiled code: s"] = process(root, FIT + SCORE, empty)[1]
            found["the same, warm: s"] = process(root, FIT + SCORE, empty)[1]
            found["compiled signatures"] = sum(1 for _ in Path(empty).rglob("*.nbc"))
    if "calls" in parts:
        modules, functions = json.loads(process(root, FIT + CALLS, kept)[0])
        found |= {"modules that a warm fit enters": modules, "functions that it enters": functions}
    if "import" in parts:
        found["import bayesmrf: s"] = process(root, "import bayesmrf", kept)[1]
    return found


def main() -> None:
    args = arguments(__doc__, PARTS, turns=3, against="HEAD")
    print(machine())
    here = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder, "other")
        other.mkdir()
        archive = subprocess.run(["git", "archive", args.against, "src"], cwd=here, check=True, capture_output=True)
        subprocess.run(["tar", "x", "-C", str(other)], input=archive.stdout, check=True)
        kept = [str(Path(folder, "before")), str(Path(folder, "now"))]
        turns = [[turn(r, args.names, k) for r, k in zip((other, here), kept, strict=True)] for _ in range(args.turns)]
    rows = [(f"medians of {args.turns} turns, against {args.against}", "before", "now", "now / before")]
    for name in turns[0][0]:
        before, now = (float(np.median([t[i][name] for t in turns])) for i in (0, 1))
        rows.append((name, *(f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in (before, now)), f"{now / before:.2f}"))
    print(table(*rows))


if __name__ == "__main__":
    main()
