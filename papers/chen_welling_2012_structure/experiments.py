"""The four experiments, in full size and small (``--quick``)."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from papers.cells import Experiment, shorter
from papers.store import Record

from . import calibration, curves, measures
from .calibration import Calibration
from .common import BASELINES, SAMPLERS
from .curves import LONG, MIXING, Curves

APPROXIMATE = tuple(m for m in SAMPLERS if m != "exact")
_FEW = (0.01, 0.3, 0.9)
_SHORT = shorter(curves.OPTIONS | {LONG: curves.LONG_OPTIONS}, 200)

FULL: dict[str, Experiment] = {
    "block": Curves("block", 12, (100, 50, 200, 500, 1000), (*SAMPLERS, *BASELINES, *MIXING, LONG)),
    "lattice": Curves("lattice", 10, (100, 50, 200, 500, 1000), (*APPROXIMATE, *BASELINES), options=curves.LARGE),
    "mnist": Curves("mnist", 0, (100, 1000), (*APPROXIMATE, *BASELINES), n_test=10_000, options=curves.LARGE),
    "calibration": Calibration(),
}
QUICK: dict[str, Experiment] = {
    "block": Curves("block", 6, (100,), (*SAMPLERS, *BASELINES, *MIXING, LONG), _FEW, options=_SHORT),
    "lattice": Curves(
        "lattice", 4, (100,), (*APPROXIMATE, *BASELINES), _FEW, n_test=50, options=shorter(curves.OPTIONS, 200)
    ),
    "mnist": Curves(
        "mnist", 0, (100,), (*APPROXIMATE, *BASELINES), (0.1,), n_test=30, options=shorter(curves.OPTIONS, 200)
    ),
    "calibration": Calibration(
        6, 4, (100,), (100,), 1, 10, {k: shorter(v, 100) for k, v in calibration.OPTIONS.items()}, 2
    ),
}
MEASURES: dict[str, Callable[[list[Record]], pd.DataFrame]] = {
    "block": measures.of_curves,
    "lattice": measures.of_curves,
    "mnist": measures.of_curves,
    "calibration": calibration.measures,
}
