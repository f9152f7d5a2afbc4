"""What the experiments share: seeds, one cell, one fit."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bayesmrf import SpikeSlabMRF
from bayesmrf.errors import ConstantColumnWarning
from papers.murray_ghahramani_2004.store import Record

NAMES = ("block", "lattice", "mnist", "calibration")  # the place in this list is part of every seed
SAMPLERS = ("exact", "one-edge", "langevin")
BASELINES = ("wainwright-max", "wainwright-min", "pseudo-l1")
LEARNT = "learnt"  # p0 has its prior; else the setting of a cell is the fixed p0
PATH = "path"  # setting of a baseline: all its densities at once
Cell = tuple[Any, ...]  # replicate, number of samples, method, setting


class Experiment(Protocol):
    """A plan of cells, any of which may run in any order and process."""

    @property
    def replicates(self) -> int:
        """Models or data sets of a full run."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of what is run."""

    def describe(self) -> dict[str, Any]:
        """Plain values that the numbers depend on."""

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """What is to be run."""

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Run one cell; ``checkpoint`` is a folder in which it may keep what it has."""


@dataclass(frozen=True)
class Settings:
    """What the numbers of a run depend on; all records of a file share them."""

    experiment: str
    seed: int = 0
    quick: bool = False

    def rng(self, *key: int) -> np.random.Generator:
        """A generator for one purpose."""
        return np.random.default_rng(self.seeds(*key))

    def seeds(self, *key: int) -> np.random.SeedSequence:
        """A seed for one purpose: the SeedSequence's descendant at ``key``."""
        return np.random.SeedSequence(self.seed, spawn_key=(NAMES.index(self.experiment), *key))

    def describe(self, plan: Experiment) -> dict[str, Any]:
        """Plain values that tell whether two runs are of the same kind."""
        return asdict(self) | {"plan": plan.describe()}


def run_cell(plan: Experiment, settings: Settings, cell: Cell, folder: Path) -> tuple[Record, Path]:
    """Run a cell; its checkpoint may be removed when the record is kept."""
    checkpoint = folder / "-".join(map(str, cell))
    with warnings.catch_warnings():
        # Pixels near the rim, and nodes of a small sample, may never vary: the prior of the biases is there for them.
        warnings.simplefilter("ignore", ConstantColumnWarning)
        return {"cell": cell, **plan.run(settings, cell, checkpoint)}, checkpoint


def forget(checkpoint: Path) -> None:
    """Remove the checkpoint of a cell that is recorded."""
    shutil.rmtree(checkpoint, ignore_errors=True)


def fit(
    states: np.ndarray, method: str, options: Mapping[str, Any], seeds: np.random.SeedSequence, checkpoint: Path
) -> tuple[SpikeSlabMRF, float]:
    """One run of `SpikeSlabMRF` and its seconds, taken up where it was if there is a checkpoint.

    The exact sampler takes less than a second or so, and is not worth one.

    Raises
    ------
    KeyboardInterrupt
        If it was stopped before its last draw: nothing is recorded of such a run.
    """
    where = None if method == "exact" else checkpoint
    estimator = SpikeSlabMRF(
        method=method, progress=False, n_jobs=1, random_state=seeds, checkpoint=where, **options
    ).fit(states)
    tree = estimator.posterior_
    if not tree.attrs["complete"]:
        raise KeyboardInterrupt
    return estimator, float(tree.attrs["run_time"])


def particles(method: str, n: int) -> dict[str, int]:
    """Chains of "one-edge": twice as many as there are data, 512 at least, or else strong edges hardly jump."""
    return {"n_particles": max(512, 2 * n)} if method == "one-edge" else {}


def shorter(options: Mapping[str, Mapping[str, Any]], factor: int) -> dict[str, dict[str, Any]]:
    """The same methods with fewer draws and less warm-up."""
    counts = ("n_draws", "n_warmup")
    return {m: {k: -(-v // factor) if k in counts else v for k, v in o.items()} for m, o in options.items()}
