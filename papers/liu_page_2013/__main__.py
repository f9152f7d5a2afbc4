"""``python -m papers.liu_page_2013 tree|small-grid|large-grid|senate|structure|structure-senate|...``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from papers.runner import Paper, one_of

from . import experiments
from .common import Settings
from .experiments import Plan
from .figures import FIGURES
from .tables import tables


def narrow(plan: Plan, args: argparse.Namespace) -> Plan:
    """Only the points given."""
    points = tuple(args.points or plan.points)
    one_of("--points", points, plan.points)
    return replace(plan, points=points)


PAPER = Paper(
    "Liu and Page (2013)",
    "by default as many as in the paper",
    Settings,
    experiments,
    tables,
    FIGURES,
    axes={name: plan.axis for name, plan in experiments.FULL.items()},
    options={"--points": {"nargs": "+", "type": int, "help": "only these numbers of samples, or this session"}},
    narrow=narrow,
)
main = PAPER.main

if __name__ == "__main__":
    sys.exit(main())
