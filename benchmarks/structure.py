"""Size of the sources, what a warm fit enters, and what a first fit costs, next to another version of the project.

Run ``python benchmarks/structure.py [size] [house] [calls] [first] [import] [--turns N] --against REVISION``, from the
root of a repository; ``first`` takes a minute a turn. A line of code is one that is left without docstrings, comments
and blank lines; ``house`` counts what tests/lint/budgets.toml limits; ``calls`` counts our modules and functions that
`SpikeSlabMRF.fit` enters the second time. ``first`` is the fit of README with an empty folder for compiled code,
``warm`` the same program again. Processes of the versions alternate; times are processor times of all threads.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import house
import numpy as np
from house import CALLS, FIT
from timing import arguments, machine, table

PARTS = ("size", "house", "calls", "first", "import")
SCORE = (
    "(est.table('edges') if hasattr(est, 'table') else est.edge_table()).head(3)\nest.score(men, sample_weight=count)\n"
)


def size(root: Path) -> dict[str, float]:
    """Count lines of code, of all rooms together and of each."""
    lines = house.code_lines(root)
    return {"lines of code": lines.total(), **{f"- {room}": n for room, n in sorted(lines.items())}}


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
    found: dict[str, float] = size(root) if "size" in parts else {}
    if "house" in parts:
        found |= house.counts(root)
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
    for name in {**turns[0][0], **turns[0][1]}:  # rooms come and go
        before, now = (float(np.median([t[i].get(name, 0) for t in turns])) for i in (0, 1))
        rows.append(
            (
                name,
                *(f"{x:,.0f}" if x >= 100 else f"{x:.3g}" for x in (before, now)),
                f"{now / before:.2f}" if before else "",
            )
        )
    print(table(*rows))


if __name__ == "__main__":
    main()
