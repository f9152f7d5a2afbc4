"""``python -m papers.chen_welling_2012_structure block|lattice|mnist|calibration``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import Any

from bayesmrf.errors import OptionError
from papers.runner import Paper, positive

from . import experiments
from .common import Settings
from .curves import Curves
from .figures import FIGURES
from .tables import files, tables


def narrow(plan: Any, args: argparse.Namespace) -> Any:
    """Only the sizes and densities given; as many data sets of the calibration as given."""
    curves = isinstance(plan, Curves)
    if args.densities and not curves:
        raise OptionError("--densities: calibration learns p0; remove the option.")
    given = {k: tuple(v) for k, v in (("n_samples", args.samples), ("densities", args.densities)) if v}
    if not curves:
        given |= {k: v for k, v in (("small", args.small), ("lattices", args.lattices)) if v is not None}
    return replace(plan, **given)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be a number between 0 and 1, got {text!r}")
    return value


PAPER = Paper(
    "Chen and Welling (2012), structure",
    "models or data sets",
    Settings,
    experiments,
    tables,
    FIGURES,
    files,
    options={
        "--samples": {"nargs": "+", "type": positive, "metavar": "N", "help": "only these sizes of data"},
        "--densities": {"nargs": "+", "type": _share, "metavar": "P0", "help": "only these fixed p0"},
        "--small": {"type": int, "help": "calibration: small data sets of the reliability diagram"},
        "--lattices": {"type": int, "help": "calibration: lattices"},
    },
    narrow=narrow,
)
main = PAPER.main

if __name__ == "__main__":
    sys.exit(main())
