"""``python -m papers.chen_welling_2012_structure block|lattice|mnist|calibration``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from joblib import Parallel, cpu_count, delayed, parallel_config

from bayesmrf.errors import BayesMRFError
from bayesmrf.progress import track
from papers.murray_ghahramani_2004.store import Store

from . import figures, report
from .common import Cell, Experiment, Settings, forget, run_cell
from .curves import Curves
from .experiments import FULL, QUICK


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is not in the file yet, then print tables and findings and draw the figures. Returns the exit code."""
    args = _parser().parse_args(argv)
    settings = Settings(args.experiment, args.seed, args.quick)
    plan = (QUICK if args.quick else FULL)[args.experiment]
    methods = tuple(args.methods or plan.methods)
    if wrong := [m for m in methods if m not in plan.methods]:
        print(f"--methods: {wrong[0]!r} came; {args.experiment} has {', '.join(plan.methods)}", file=sys.stderr)
        return 2
    if args.densities and not isinstance(plan, Curves):
        print("--densities: calibration learns p0; leave the option out", file=sys.stderr)
        return 2
    given = {k: tuple(v) for k, v in (("n_samples", args.samples), ("densities", args.densities)) if v}
    if not isinstance(plan, Curves):
        given |= {k: v for k, v in (("small", args.small), ("lattices", args.lattices)) if v is not None}
    plan = replace(plan, **given)
    replicates = plan.replicates if args.replicates is None else args.replicates
    name = args.experiment + "-quick" * args.quick
    try:
        store = Store(args.out / "results" / f"{name}.jsonl", settings.describe(plan))
        done = {tuple(record["cell"]) for record in store.records()}
        cells = [cell for cell in plan.cells(replicates, methods) if cell not in done]
        run(plan, settings, cells, store, args.jobs, args.out / "checkpoints" / name)
    except BayesMRFError as e:
        print(e, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    records = store.records()
    tables = report.show(args.experiment, records, store.path)
    drawn = figures.draw(args.experiment, records, args.out / "figures", name)
    print("\nWritten:", store.path, *tables, *drawn)
    return 0


def run(plan: Experiment, settings: Settings, cells: Sequence[Cell], store: Store, jobs: int, folder: Path) -> None:
    """Run the cells in ``jobs`` processes of one thread each; records are written as they come."""
    with parallel_config("loky", inner_max_num_threads=1):
        records = Parallel(jobs, batch_size=1, return_as="generator_unordered")(
            delayed(run_cell)(plan, settings, cell, folder) for cell in cells
        )
        for record, checkpoint in track(records, settings.experiment, total=len(cells)):
            store.append(record)
            forget(checkpoint)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m papers.chen_welling_2012_structure", description="Reproduce Chen and Welling (2012)."
    )
    parser.add_argument("experiment", choices=list(FULL))
    parser.add_argument("--replicates", type=int, help="models or data sets; 0 shows what is there")
    parser.add_argument("--samples", nargs="+", type=_positive, metavar="N", help="only these sizes of data")
    parser.add_argument("--densities", nargs="+", type=_share, metavar="P0", help="only these fixed p0")
    parser.add_argument("--small", type=int, help="calibration: small data sets of the reliability diagram")
    parser.add_argument("--lattices", type=int, help="calibration: lattices")
    parser.add_argument("--quick", action="store_true", help="smaller models and shorter chains, seconds each")
    parser.add_argument("--out", type=Path, default=Path("runs/chen_welling_2012_structure"), help="folder (default "
                        "%(default)s); a run goes on from the records it finds there")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=_positive, default=cpu_count(), help="processes (default: one a core)")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="only these")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} came; a whole number >= 1 is wanted")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} came; a number between 0 and 1 is wanted")
    return value


if __name__ == "__main__":
    sys.exit(main())
