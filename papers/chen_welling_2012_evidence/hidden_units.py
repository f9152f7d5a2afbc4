"""Number of hidden units chosen by the evidence and by cross-validation, for machines with five (figures 1 and 2)."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import softmax

from bayesmrf.evidence.laplace import Laplace
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.evidence.target import Evidence
from bayesmrf.models import RestrictedBoltzmann
from papers.cells import Cell
from papers.store import Record

from .common import CV, GROUPS, LAPLACE, TRUTH, Options, Settings, summary, target_of

TRUE_UNITS = 5
MOST = 1000  # observations for which AIS is also run: is the choice due to Laplace or to the evidence?
_TRUTH, _DATA = 98, 99  # in seeds


@dataclass(frozen=True)
class HiddenUnits:
    """Data of random machines, as counts of the states.

    Parameters
    ----------
    n_visible : int
    sizes : tuple of int
        Of the data.
    candidates : tuple of int
        Numbers of hidden units.
    n_starts : int
        Searches for the mode; that of the highest posterior is taken.
    options : mapping
        Of the search, of cross-validation and of AIS.
    replicates : int
        True machines.
    """

    n_visible: int = 10
    sizes: tuple[int, ...] = (100, 1000, 5000, 25_000, 125_000, 625_000)
    candidates: tuple[int, ...] = tuple(range(1, 11))
    n_starts: int = 2
    options: dict[str, Options] = field(default_factory=dict)
    replicates: int = 50

    methods = (LAPLACE, CV, TRUTH)

    def describe(self) -> dict[str, Any]:
        """Return plain values that identify the settings of the numbers."""
        return {"n_visible": self.n_visible, "n_starts": self.n_starts, "options": self.options}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return the cells, machine by machine."""
        return [
            (replicate, n, k, method)
            for replicate in range(replicates)
            for method in methods
            for n in self.sizes
            if method != TRUTH or n <= MOST
            for k in self.candidates
        ]

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Run one number of hidden units."""
        replicate, n, k, method = cell
        states, p = machine(self.n_visible, settings.rng(replicate, _TRUTH))
        target = target_of(states, k, settings.rng(replicate, n, _DATA).multinomial(n, p))
        rng = settings.rng(replicate, n, k, list(GROUPS).index(method))
        begin = time.perf_counter()
        found = self._laplace(target, rng) if method == LAPLACE else GROUPS[method](target, rng, self.options[method])
        return {"rows": [summary(name, e) for name, e in found], "seconds": time.perf_counter() - begin}

    def _laplace(self, target: RBMTarget, rng: np.random.Generator) -> Iterable[tuple[str, Evidence]]:
        modes = [ModeSearch(**self.options[LAPLACE])(target, rng) for _ in range(self.n_starts)]
        heights = [mode.density(mode.theta)[0] for mode in modes]
        found = Laplace(scales=False)(target, rng, modes[int(np.argmax(heights))])
        yield LAPLACE, replace(found, parts=found.parts | {"heights_spread": float(np.ptp(heights))})


def machine(n_visible: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return all visible states, and their probabilities under a machine from the prior."""
    model = RestrictedBoltzmann(n_visible, TRUE_UNITS)
    states = (np.arange(2**n_visible)[:, None] >> np.arange(n_visible)) & 1
    return states, softmax(-model.free_energy(rng.standard_normal(model.n_features), states))


def rows(records: list[Record]) -> pd.DataFrame:
    """Return one row per candidate: the score per observation minus that of the true number, and its sd over folds."""
    found = []
    for record in records:
        replicate, n, k, method = record["cell"]
        for row in record["rows"]:
            value = np.nan if row["millinats"] is None else row["millinats"] / 1000
            about = {"replicate": replicate, "n": n, "k": k, "method": method, "score": value}
            parts = {name: row["parts"][name] for name in PARTS if name in row["parts"]}
            found.append(about | parts | {"seconds": record["seconds"], "status": row["status"]})
    return pd.DataFrame(found)


PARTS = ("heights_spread", "n_trapezoids", "n_negative", "equivalent_modes", "sd_over_folds")
