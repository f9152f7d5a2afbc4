"""First use in a fresh process, compile cache warm: ``import bayesmrf``, and a small fit.

Run ``python benchmarks/startup.py [--turns N]``. The fit is `GroupedMRF` with fields on the coronary table, 2 chains of
100 draws. Times are of processes, with interpreter and imports; processes alternate.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter

import numpy as np
from timing import Seconds, arguments, duration, machine, median, table

IMPORT = "import bayesmrf"
ESTIMATOR = "from bayesmrf import GroupedMRF"
FIT = """
from bayesmrf import GroupedMRF, datasets
table = datasets.coronary()
X, count = table[list("ABCDEF")], table["count"]
def fit():
    options = {"n_draws": 100, "n_chains": 2, "progress": False, "random_state": 0}
    GroupedMRF("complete", method="stripped-beta", **options).fit(X, sample_weight=count)
fit()
"""
PROGRAMS = {
    "python -c pass": ("pass", None),
    IMPORT: (IMPORT, 1.0),
    ESTIMATOR: (ESTIMATOR, None),
    "a small fit": (FIT, 3.0),
    "the same fit twice": (FIT + "fit()", None),
}


def process(program: str, *options: str) -> tuple[Seconds, str]:
    """Run a program in a fresh interpreter; return its times and what it wrote to standard error."""
    begin, before = time.perf_counter(), os.times()
    found = subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True, check=True)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Seconds(time.perf_counter() - begin, cpu), found.stderr


def offenders(program: str, n_worst: int) -> list[tuple[str, float]]:
    """Return the import time of each top-level package in seconds, without other packages."""
    own: Counter[str] = Counter()
    for microseconds, name in re.findall(
        r"import time: +(\d+) \| +\d+ \| +(\S+)", process(program, "-X", "importtime")[1]
    ):
        own[name.partition(".")[0]] += int(microseconds)
    return [(name, t / 1e6) for name, t in own.most_common(n_worst)]


def report(n_turns: int) -> None:
    rng = np.random.default_rng()
    print(machine())
    process(FIT)  # fills the compile cache
    found: dict[str, list[Seconds]] = {name: [] for name in PROGRAMS}
    for _ in range(n_turns):
        for name in rng.permutation(list(PROGRAMS)):
            found[name].append(process(PROGRAMS[name][0])[0])
    rows = [(f"medians of {n_turns} processes", "wall", "CPU", "target", "target / wall")]
    for name, (_, target) in PROGRAMS.items():
        wall, cpu = median(found[name])
        goal = ("", "") if target is None else (f"< {duration(target)}", f"{target / wall:.2f}")
        rows.append((name, duration(wall), duration(cpu), *goal))
    print(f"\n{table(*rows)}\n")
    packages = offenders(FIT, 12)
    print(table(("imported in a small fit, by package", "its own modules"), *((n, duration(t)) for n, t in packages)))


if __name__ == "__main__":
    report(arguments(__doc__, turns=5).turns)
