"""``python -m papers.liu_page_2013 tree|small-grid|large-grid|senate|structure|structure-senate``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from joblib import cpu_count

from bayesmrf.errors import BayesMRFError
from papers.cells import each, positive

from . import figures, report
from .experiments import FULL, Cell, Settings, run_cell
from .store import Store


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is not in the file yet, then print tables and findings and draw the figures. Returns the exit code."""
    args = _parser().parse_args(argv)
    settings = Settings(args.experiment, args.seed, args.quick)
    plan = settings.plan
    points, methods = args.points or plan.points, args.methods or plan.methods
    for name, values, known in (("--methods", methods, plan.methods), ("--points", points, plan.points)):
        if wrong := [v for v in values if v not in known]:
            known_names = ", ".join(map(str, known))
            print(f"{name}: {wrong[0]} came; {args.experiment} has {known_names}", file=sys.stderr)
            return 2
    replicates = plan.replicates if args.replicates is None else args.replicates
    cells = [Cell(r, p, m) for r in range(replicates) for p in points for m in methods]
    name = args.experiment + "-quick" * args.quick
    try:
        store = Store(
            args.out / "results" / f"{name}.csv",
            settings.describe(),
            ["replicate", plan.axis, "method", *plan.measures],
        )
        done = set(store.rows()[["replicate", plan.axis, "method"]].itertuples(index=False, name=None))
        run([cell for cell in cells if cell not in done], settings, store, args.jobs)
    except BayesMRFError as e:
        print(e, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    rows = store.rows()
    report.show(settings, rows)
    drawn = figures.draw(settings, rows, args.out / "figures")
    print("\nWritten:", store.path, *drawn)
    return 0


def run(cells: Sequence[Cell], settings: Settings, store: Store, jobs: int) -> None:
    """Run the cells in ``jobs`` processes; rows are written as they come."""
    for row in each(partial(run_cell, settings), cells, jobs, settings.experiment):
        store.append(row)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m papers.liu_page_2013", description="Reproduce Liu and Page (2013)."
    )
    parser.add_argument("experiment", choices=list(FULL))
    parser.add_argument("--replicates", type=int, help="by default as many as in the paper; 0 shows what is there")
    parser.add_argument("--quick", action="store_true", help="smaller models and fewer points, about a minute")
    parser.add_argument("--out", type=Path, default=Path("runs/liu_page_2013"), help="folder (default %(default)s); "
                        "a run goes on from the rows it finds there")  # fmt: skip
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=positive, default=cpu_count(), help="processes (default: one a core)")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="only these")
    parser.add_argument("--points", nargs="+", type=int, help="only these numbers of training samples, or this session")
    return parser


if __name__ == "__main__":
    sys.exit(main())
