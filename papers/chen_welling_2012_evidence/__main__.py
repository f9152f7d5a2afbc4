"""``python -m papers.chen_welling_2012_evidence hidden-units|five-words|full``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from papers.runner import Paper, positive

from . import experiments
from .common import Settings
from .figures import FIGURES
from .hidden_units import HiddenUnits
from .tables import files, tables


def narrow(plan: Any, args: argparse.Namespace) -> Any:
    """Only the sizes of data and numbers of hidden units given."""
    if isinstance(plan, HiddenUnits):
        return replace(plan, sizes=tuple(args.samples or plan.sizes), candidates=tuple(args.units or plan.candidates))
    points = [(n, k) for n, k in plan.points if n in (args.samples or [n]) and k in (args.units or [k])]
    beyond = [k for k in plan.beyond if k in (args.units or [k])]
    return replace(plan, points=tuple(points), beyond=tuple(beyond))


PAPER = Paper(
    "Chen and Welling (2012), evidence",
    "true machines or subsets of documents",
    Settings,
    experiments,
    tables,
    FIGURES,
    files,
    options={
        "--samples": {"nargs": "+", "type": positive, "metavar": "N", "help": "only these sizes of data"},
        "--units": {"nargs": "+", "type": positive, "metavar": "K", "help": "only these numbers of hidden units"},
    },
    narrow=narrow,
)
main = PAPER.main

if __name__ == "__main__":
    sys.exit(main())
