"""The six experiments, in full size and small (``--quick``)."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from papers.cells import Experiment, shorter
from papers.store import Record

from . import artificial, coronary, coverage, labels

FULL: dict[str, Experiment] = {
    "coronary": coronary.Coronary(),
    "artificial": artificial.Artificial(),
    "labels": labels.Labels(),
    "coverage": coverage.Coverage(),
    "coverage-complete": coverage.Coverage("complete", replicates=60),
    "labels-chains": labels.Chains(),
}
QUICK: dict[str, Experiment] = {
    "coronary": coronary.Coronary(n_iterations=120, n_warmup=50, n_tree=60, n_tree_warmup=20),
    "artificial": artificial.Artificial(
        n_nodes=16, systems=((24, 1.0), (60, 1.0), (24, 2.0)), options=shorter(artificial.OPTIONS, 40)
    ),
    "labels": labels.Labels(n_points=20, options=shorter(labels.OPTIONS, 20), n_chains=2),
    "coverage": coverage.Coverage(shorter=50, replicates=2),
    "coverage-complete": coverage.Coverage("complete", shorter=50, replicates=2),
    "labels-chains": labels.Chains(n_points=12, options=shorter(labels.OPTIONS, 20), n_chains=2),
}
MEASURES: dict[str, Callable[[list[Record]], pd.DataFrame]] = {
    "coronary": coronary.measures,
    "artificial": artificial.measures,
    "labels": labels.measures,
    "coverage": coverage.measures,
    "coverage-complete": coverage.measures,
    "labels-chains": labels.measures,
}
