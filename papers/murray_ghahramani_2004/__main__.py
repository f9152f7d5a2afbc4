"""``python -m papers.murray_ghahramani_2004 coronary|artificial|labels|coverage|coverage-complete``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from papers.cells import command, parser
from papers.shown import draw
from papers.store import Record

from . import report
from .common import Settings
from .experiments import FULL, QUICK
from .figures import FIGURES


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is not in the file yet, then print tables and findings and draw the figures. Returns the exit code."""
    args = parser(
        "murray_ghahramani_2004", "Reproduce Murray and Ghahramani (2004).", list(FULL), "chains, systems or data sets"
    ).parse_args(argv)

    def show(records: list[Record], path: Path, name: str) -> Sequence[Path]:
        report.show(args.experiment, records, args.quick)
        return draw(FIGURES[args.experiment], records, args.out / "figures", name)

    plan = (QUICK if args.quick else FULL)[args.experiment]
    return command(plan, Settings(args.experiment, args.seed, args.quick), args, show)


if __name__ == "__main__":
    sys.exit(main())
