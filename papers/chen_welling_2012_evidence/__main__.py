"""``python -m papers.chen_welling_2012_evidence hidden-units|five-words|full``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from papers.cells import command, parser, positive
from papers.shown import draw
from papers.store import Record

from . import report
from .common import Settings
from .experiments import FULL, QUICK
from .figures import FIGURES
from .hidden_units import HiddenUnits
from .words import Words


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is not in the file yet, then print tables and findings and draw the figures. Returns the exit code."""
    found = parser(
        "chen_welling_2012_evidence", "Reproduce Chen and Welling (2012), evidence.", list(FULL),
        "true machines or subsets of documents",
    )  # fmt: skip
    found.add_argument("--samples", nargs="+", type=positive, metavar="N", help="only these sizes of data")
    found.add_argument("--units", nargs="+", type=positive, metavar="K", help="only these numbers of hidden units")
    args = found.parse_args(argv)
    plan: Any = (QUICK if args.quick else FULL)[args.experiment]
    if isinstance(plan, HiddenUnits):
        plan = replace(plan, sizes=tuple(args.samples or plan.sizes), candidates=tuple(args.units or plan.candidates))
    elif isinstance(plan, Words):
        points = [(n, k) for n, k in plan.points if n in (args.samples or [n]) and k in (args.units or [k])]
        beyond = [k for k in plan.beyond if k in (args.units or [k])]
        plan = replace(plan, points=tuple(points), beyond=tuple(beyond))

    def show(records: list[Record], path: Path, name: str) -> Sequence[Path]:
        tables = report.show(args.experiment, records, path, args.quick)
        return [*tables, *draw(FIGURES[args.experiment], records, args.out / "figures", name)]

    return command(plan, Settings(args.experiment, args.seed, args.quick), args, show)


if __name__ == "__main__":
    sys.exit(main())
