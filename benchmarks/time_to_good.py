"""How long a fit by default takes until its draws are good, on all data sets: this version against another one.

Run ``python benchmarks/time_to_good.py [NAME ...] [--against REVISION] [--seed N] [--limit SECONDS]`` from the root of
a repository, with ``BAYESMRF_DATA``. Each fit is a process of its own; those of the two versions alternate, in this
order: the other one, this one. No number of draws is given, so that fits run until they are good. A process is ended
after ``--limit`` seconds of processor time, and its row says so. Results are appended to ``--store`` (a file of JSON
lines), and those that are there are not measured again. The table has the draws of each chain, processor time of the
whole fit, the share of wall time after the draws, peak memory, the grade of the verdict, and ratios of processor times.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from timing import arguments, machine, peak, table

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, PanelMRF, SpikeSlabMRF, datasets

ROOT = Path(__file__).resolve().parents[1]


def of_factors() -> pd.DataFrame:
    """Return 40 ordered columns of five levels, 1,000 rows, that depend on five factors."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(5, 40)) * (rng.random((5, 40)) < 0.3)
    answers = rng.normal(size=(1000, 5)) @ loadings + rng.normal(size=(1000, 40))
    return pd.DataFrame(np.digitize(answers, [-1.2, -0.4, 0.4, 1.2])).add_prefix("item")


def regular(n_nodes: int) -> pd.DataFrame:
    """Return 1,000 rows of an Ising model on a random graph in which each node has three edges, weights 0.3 to 0.6."""
    import networkx as nx

    rng = np.random.default_rng(1)
    weights = np.zeros((n_nodes, n_nodes))
    for u, v in nx.random_regular_graph(3, n_nodes, seed=1).edges:
        weights[u, v] = weights[v, u] = rng.choice([-1, 1]) * rng.uniform(0.3, 0.6)
    x = rng.choice([-1.0, 1.0], (1000, n_nodes))
    for _ in range(300):
        for i in range(n_nodes):
            x[:, i] = np.where(rng.random(1000) < 1 / (1 + np.exp(-2 * x @ weights[i])), 1, -1)
    return pd.DataFrame((x > 0).astype(int)).add_prefix("node")


def senators() -> pd.DataFrame:
    """Return votes of 101 senators in both sessions: yea, or not."""
    votes = pd.read_csv(datasets.data_file("senate109_votes.csv.gz"))
    return votes.drop(columns=["session", "vote", "rollnumber", "date", "yea", "nay"]).eq(1).astype(int)


def boredom() -> tuple[Any, ...]:
    """Return answers of two languages."""
    answers = datasets.boredom()
    return CompareMRF, answers.drop(columns="language"), {"groups": answers["language"]}


def wheeze() -> tuple[Any, ...]:
    """Return a panel of four waves."""
    waves = pd.read_spss(datasets.data_file("wheeze.sav"))
    person, wave = waves.columns[:2]
    return PanelMRF, waves.drop(columns=[person, wave]), {"person": waves[person], "time": waves[wave]}


def of_words(name: str, *drop: str) -> pd.DataFrame:
    """Return a table of words."""
    return pd.read_csv(datasets.data_file(name)).drop(columns=list(drop))


FITS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "wenchuan": lambda: (SpikeSlabMRF, datasets.wenchuan()),
    "items-40": lambda: (SpikeSlabMRF, of_factors()),
    "nodes-100": lambda: (SpikeSlabMRF, regular(100)),
    "nodes-300": lambda: (SpikeSlabMRF, regular(300)),
    "coronary": lambda: (
        SpikeSlabMRF,
        datasets.coronary().drop(columns="count"),
        {"sample_weight": datasets.coronary()["count"]},
    ),
    "adhd": lambda: (SpikeSlabMRF, datasets.adhd()),
    "boredom": boredom,
    "senators": lambda: (SpikeSlabMRF, senators()),
    "senate-2005": lambda: (lambda **o: GroupedMRF("learn:279", **o), datasets.senate109(1)),
    "senate-2005-weights": lambda: (lambda **o: BayesianMRF("learn:100", **o), datasets.senate109(1)),
    "cells-40": lambda: (SpikeSlabMRF, datasets.retina50().reshape(297, 953, 50)[:20, :, :40].reshape(-1, 40)),
    "news-50": lambda: (SpikeSlabMRF, datasets.news20()[0].iloc[:, :50]),
}


def one(name: str, seed: int) -> dict[str, Any]:
    """Fit, and return what it took."""
    kind, X, *more = FITS[name]()
    warnings.simplefilter("ignore")
    begin = time.perf_counter()
    est = kind(random_state=seed, progress=False).fit(X, **(more[0] if more else {}))
    wall, usage = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF)
    tree = est.posterior_
    return {
        "draws": tree["posterior"].sizes["draw"],
        "short": str(tree.attrs.get("short", "")),
        "cpu": usage.ru_utime + usage.ru_stime,
        "after": 1 - float(tree.attrs["run_time"]) / wall,
        "memory": peak(),
        "grade": est.table("findings")["severity"].iloc[0],
        "method": str(tree.attrs.get("method", "")),
    }


def measured(name: str, seed: int, limit: int, source: Path) -> dict[str, Any]:
    """Fit in a process of its own, by the package in ``source``, that ends after so many seconds of processor time."""
    words = [sys.executable, __file__, "--one", name, "--seed", str(seed)]
    environment = {**os.environ, "PYTHONPATH": str(source / "src")}
    ended = subprocess.run(
        words,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
    )
    if ended.returncode < 0:
        return {"cpu": limit, "short": "ended at the limit"}
    if ended.returncode:
        raise SystemExit(ended.stderr)
    found: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return found


def row(name: str, found: dict[str, Any], before: dict[str, Any]) -> tuple[str, ...]:
    """Return the cells of a data set: this version, the other one, and the ratio of their processor times."""
    cells = [name]
    for each in (found, before):
        more = ">" if "draws" not in each else ""
        cells += [
            f"{each['draws']:,}{' (most)' if each['short'] else ''}" if "draws" in each else "–",
            f"{more}{each['cpu']:.0f}",
            f"{each['after']:.0%}" if "after" in each else "–",
            f"{each['memory']:.2f}" if "memory" in each else "–",
            str(each.get("grade", "–")),
        ]
    less = "<" if "draws" not in before else ">" if "draws" not in found else ""
    return *cells, f"{less}{found['cpu'] / before['cpu']:.2f}"


HEAD = ("data", *2 * ("draws", "CPU, s", "after", "GiB", "grade"), "ratio")


def main() -> None:
    """Measure, and print the table."""
    args = arguments(__doc__ or "", FITS, against="", seed=1, limit=1500, store="")
    if args.one:
        print(json.dumps(one(args.one, args.seed)))
        return
    print(machine(), flush=True)
    store = Path(args.store) if args.store else None
    known = {}
    if store is not None and store.exists():
        known = {tuple(key): value for key, value in map(json.loads, store.read_text().splitlines())}
    rows = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        sources = {"this": ROOT}
        if args.against:
            other = Path(folder) / "other"
            subprocess.run(["git", "worktree", "add", "--detach", str(other), args.against], cwd=ROOT, check=True)
            sources = {args.against: other, "this": ROOT}
        try:
            for name in args.names:
                for which, source in sources.items():
                    key = (name, args.seed, args.limit, which)
                    if key not in known:
                        known[key] = measured(name, args.seed, args.limit, source)
                        if store is not None:
                            with store.open("a") as file:
                                file.write(json.dumps([key, known[key]]) + "\n")
                    print(name, which, known[key], flush=True)
                here = known[name, args.seed, args.limit, "this"]
                rows.append(row(name, here, known[name, args.seed, args.limit, args.against or "this"]))
        finally:
            if args.against:
                subprocess.run(["git", "worktree", "remove", "--force", str(other)], cwd=ROOT, check=True)
    print(table(*rows))


if __name__ == "__main__":
    main()
