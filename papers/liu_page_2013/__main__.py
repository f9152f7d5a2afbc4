"""``python -m papers.liu_page_2013 tree|small-grid|large-grid|senate|structure|structure-senate|...``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from papers.runner import Paper, one_of

from .common import Settings
from .experiments import FULL, MEASURES, QUICK, Plan
from .figures import FIGURES
from .tables import tables


def narrow(plan: Plan, args: argparse.Namespace) -> Plan:
    """Only the points given."""
    points = tuple(args.points or plan.points)
    one_of("--points", points, plan.points)
    return replace(plan, points=points)


PAPER = Paper(
    Path(__file__).parent,
    "Liu and Page (2013)",
    "by default as many as in the paper",
    Settings,
    FULL,
    QUICK,
    MEASURES,
    tables,
    FIGURES,
    axes={name: plan.axis for name, plan in FULL.items()},
    options={"--points": {"nargs": "+", "type": int, "help": "only these numbers of samples, or this session"}},
    narrow=narrow,
)
main = PAPER.main

if __name__ == "__main__":
    sys.exit(main())
