"""Cells: the independent parts of an experiment, which may run in any order and in any process."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from bayesmrf.errors import (
    BoundaryWarning,
    ConstantColumnWarning,
    ConvergenceWarning,
    DependentRowsWarning,
    EqualColumnsWarning,
    FieldsWarning,
    PriorWarning,
    StoppedWarning,
)
from bayesmrf.runs.independent import run_each

from .store import Record, Store

Cell = tuple[Any, ...]
# Some pixels, and nodes in small samples, are constant; nodes in small samples always agree; models without fields are
# those of the papers; the tables show convergence for every method.
EXPECTED_WARNINGS = (
    BoundaryWarning, ConstantColumnWarning, ConvergenceWarning, DependentRowsWarning, EqualColumnsWarning, FieldsWarning
)  # fmt: skip


class Experiment(Protocol):
    """A plan of cells."""

    @property
    def replicates(self) -> int:
        """Chains, systems or data sets of a full run."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods."""

    def describe(self) -> dict[str, Any]:
        """Return plain values that identify the settings of the numbers."""

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return the cells to run."""

    def run(self, settings: Any, cell: Cell, checkpoint: Path) -> Record:
        """Run one cell; ``checkpoint`` is a folder for its partial results."""


@dataclass(frozen=True)
class CellSettings:
    """The settings that the numbers of a run depend on; all records of a file share them."""

    experiment: str
    seed: int = 0
    quick: bool = False

    names: ClassVar[tuple[str, ...]]  # of the paper's experiments; the position in this list is part of every seed
    digits: ClassVar[int | None] = 4  # of stored floats; None keeps all

    def seeds(self, *key: int) -> np.random.SeedSequence:
        """Return a seed for one purpose: the descendant of the SeedSequence at ``key``."""
        return np.random.SeedSequence(self.seed, spawn_key=(self.names.index(self.experiment), *key))

    def rng(self, *key: int) -> np.random.Generator:
        """Return a generator for one purpose."""
        return np.random.default_rng(self.seeds(*key))

    def describe(self, plan: Experiment) -> dict[str, Any]:
        """Return plain values that are equal for runs of the same kind."""
        return asdict(self) | {"plan": plan.describe()}

    def store(self, path: Path, plan: Experiment) -> Store:
        """Open the file of the run."""
        return Store(path, self.describe(plan), self.digits)


def run_cell(plan: Experiment, settings: CellSettings, cell: Cell, folder: Path) -> tuple[Record, Path]:
    """Run a cell in one thread; its checkpoint may be removed when the record is stored."""
    checkpoint = folder / "-".join(map(str, cell))
    with threadpool_limits(1), warnings.catch_warnings():
        for category in EXPECTED_WARNINGS:
            warnings.simplefilter("ignore", category)
        warnings.filterwarnings("ignore", "combinations that never occur", PriorWarning)  # in small samples
        warnings.simplefilter("error", StoppedWarning)
        try:
            return {"cell": cell, **plan.run(settings, cell, checkpoint)}, checkpoint
        except StoppedWarning as e:  # nothing is recorded of a run that was stopped
            raise KeyboardInterrupt from e


def forget(checkpoint: Path) -> None:
    """Remove the checkpoint of a cell that is stored."""
    shutil.rmtree(checkpoint, ignore_errors=True)


def shorter(options: Mapping[str, Mapping[str, Any]], factor: int) -> dict[str, dict[str, Any]]:
    """Return the same methods with fewer draws and less warm-up."""
    counts = ("n_draws", "n_warmup")
    return {m: {k: -(-v // factor) if k in counts else v for k, v in o.items()} for m, o in options.items()}


def run(
    plan: Experiment,
    settings: CellSettings,
    cells: Sequence[Cell],
    store: Store,
    jobs: int,
    folder: Path,
    executor: Any = None,
) -> None:
    """Run the cells in ``jobs`` processes, or by an executor; records are written as they are computed."""
    call = partial(run_cell, plan, settings, folder=folder.absolute())
    given = jobs == 1 or executor is not None
    pool = nullcontext(executor) if given else ProcessPoolExecutor(jobs, get_context("spawn"))
    with parallel_config(n_jobs=1), pool as executor:
        for _, (record, checkpoint) in run_each(call, cells, settings.experiment, executor=executor):
            store.append(record)
            forget(checkpoint)
