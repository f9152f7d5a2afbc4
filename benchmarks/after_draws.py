"""What a fit does after its draws: processor time of the evidence for edges, predictive checks and statistics.

Run ``python benchmarks/after_draws.py [NAME ...] [--draws N] [--store FOLDER] [--turns N] [--against REVISION]`` from
the root of a repository, with ``BAYESMRF_DATA``. The draws of each workload are made once, and kept in a folder as a
checkpoint, from which each later fit continues at once; only what follows is measured. Each turn is a process of its
own, the first of which may compile; the least processor time of all threads counts. With ``--against`` processes of
that revision alternate with those of this one, and the last column has the ratios. Names:

* ``forty``: 40 ordered columns of five levels, 1,000 rows, drawn from factors (780 candidates);
* ``groups``: groups of 279 learnt edges on the votes of 99 senators in 2005, as in examples/senate.py;
* ``senators``: votes of 101 senators in both sessions (5,050 candidates).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from timing import arguments, machine, stages, table

from bayesmrf import GroupedMRF, SpikeSlabMRF, datasets
from bayesmrf.answers import registry as base
from bayesmrf.estimators import pipeline

QUIET: dict[str, Any] = {"n_warmup": 500, "n_chains": 4, "random_state": 1, "progress": False}
PLACES = {
    "draws": [(pipeline, "sample_posterior")],
    "evidence": [(pipeline, "add_edge_evidence")],
    "checks": [(pipeline, "check_fit")],
    "modes": [(pipeline, "check_modes")],
    "convergence": [(pipeline.convergence, "warn_unless_converged")],
}
SUM = ("evidence", "checks", "statistics")


def forty() -> tuple[Any, pd.DataFrame]:
    """Return ordered answers that depend on five factors, and no two columns on the same."""
    rng = np.random.default_rng(0)
    loadings = rng.normal(size=(5, 40)) * (rng.random((5, 40)) < 0.3)
    answers = rng.normal(size=(1000, 5)) @ loadings + rng.normal(size=(1000, 40))
    return SpikeSlabMRF, pd.DataFrame(np.digitize(answers, [-1.2, -0.4, 0.4, 1.2])).add_prefix("item")


def groups() -> tuple[Any, pd.DataFrame]:
    """Return votes of 2005."""
    return lambda **options: GroupedMRF("learn:279", **options), datasets.senate109(1)


def senators() -> tuple[Any, pd.DataFrame]:
    """Return votes of both sessions: yea, or not."""
    votes = pd.read_csv(Path(os.environ["BAYESMRF_DATA"]) / "senate109_votes.csv.gz")
    return SpikeSlabMRF, votes.iloc[:, 6:].eq(1).astype(int)


WORKLOADS = {"forty": forty, "groups": groups, "senators": senators}


def one(name: str, n_draws: int, store: Path) -> None:
    """Print, as JSON, the processor seconds of each stage of a fit whose draws are in the folder, or are made now."""
    warnings.simplefilter("ignore")
    estimator, data = WORKLOADS[name]()
    with stages(PLACES) as spent:
        begin = time.process_time()
        fitted = estimator(n_draws=n_draws, checkpoint=store / f"{name}{n_draws}", **QUIET).fit(data)
        spent["fit"] = time.process_time() - begin
    spent["rest"] = 2 * spent["fit"] - sum(spent.values())
    begin = time.process_time()
    base.table_of(fitted, "statistics")
    spent["statistics"] = time.process_time() - begin
    begin = time.process_time()
    for made in base.all_tables(fitted):
        str(made.frame)
    spent["tables"] = time.process_time() - begin
    print(json.dumps(spent))


def child(root: Path, name: str, args: Any) -> dict[str, float]:
    """Measure one workload with the version in a folder."""
    command = [sys.executable, __file__, "--one", name, "--draws", str(args.draws), "--store", args.store]
    environment = {**os.environ, "PYTHONPATH": str(root / "src")}
    return dict(json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    here, place = Path(__file__).parents[1], Path(tempfile.gettempdir()) / "after_draws"
    args = arguments(__doc__, WORKLOADS, draws=500, turns=2, against="", store=str(place))
    if args.one:
        return one(args.one, args.draws, Path(args.store))
    Path(args.store).mkdir(parents=True, exist_ok=True)
    print(machine())
    rows = [("workload", "stage", "before, s", "now, s", "now / before")]
    with tempfile.TemporaryDirectory() as folder:
        roots = [here]
        if args.against:
            command = ["git", "archive", args.against, "src"]
            archive = subprocess.run(command, cwd=here, check=True, capture_output=True)
            subprocess.run(["tar", "x", "-C", folder], input=archive.stdout, check=True)
            roots = [Path(folder), here]
        for name in args.names:
            turns = [[child(root, name, args) for root in roots] for _ in range(args.turns)]
            least = [{stage: min(turn[i][stage] for turn in turns) for stage in turns[0][0]} for i in range(len(roots))]
            for spent in least:
                spent["all three"] = sum(spent[stage] for stage in SUM)
            for stage, now in least[-1].items():
                before = least[0][stage]
                against = (
                    (f"{before:.2f}", f"{now:.2f}", f"{now / max(before, 1e-9):.2f}")
                    if args.against
                    else ("", f"{now:.2f}", "")
                )
                rows.append((name, stage, *against))
    print(table(*rows))


if __name__ == "__main__":
    main()
