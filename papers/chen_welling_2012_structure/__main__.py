"""``python -m papers.chen_welling_2012_structure block|lattice|mnist|calibration``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from papers.cells import command, parser, positive
from papers.shown import draw
from papers.store import Record

from . import report
from .common import Settings
from .curves import Curves
from .experiments import FULL, QUICK
from .figures import FIGURES


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is not in the file yet, then print tables and findings and draw the figures. Returns the exit code."""
    args = _parser().parse_args(argv)
    plan = (QUICK if args.quick else FULL)[args.experiment]
    if args.densities and not isinstance(plan, Curves):
        print("--densities: calibration learns p0; leave the option out", file=sys.stderr)
        return 2
    given = {k: tuple(v) for k, v in (("n_samples", args.samples), ("densities", args.densities)) if v}
    if not isinstance(plan, Curves):
        given |= {k: v for k, v in (("small", args.small), ("lattices", args.lattices)) if v is not None}

    def show(records: list[Record], path: Path, name: str) -> Sequence[Path]:
        tables = report.show(args.experiment, records, path, args.quick)
        return [*tables, *draw(FIGURES[args.experiment], records, args.out / "figures", name)]

    return command(replace(plan, **given), Settings(args.experiment, args.seed, args.quick), args, show)


def _parser() -> argparse.ArgumentParser:
    found = parser(
        "chen_welling_2012_structure", "Reproduce Chen and Welling (2012).", list(FULL), "models or data sets"
    )
    found.add_argument("--samples", nargs="+", type=positive, metavar="N", help="only these sizes of data")
    found.add_argument("--densities", nargs="+", type=_share, metavar="P0", help="only these fixed p0")
    found.add_argument("--small", type=int, help="calibration: small data sets of the reliability diagram")
    found.add_argument("--lattices", type=int, help="calibration: lattices")
    return found


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
