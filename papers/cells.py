"""What reproductions in cells share: any cell may run in any order and process, and a stopped run goes on."""

from __future__ import annotations

import argparse
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from joblib import Parallel, cpu_count, delayed, parallel_config

from bayesmrf.errors import BayesMRFError, ConstantColumnWarning, ConvergenceWarning
from bayesmrf.lock import hold
from bayesmrf.progress import track

from .store import Record, Store

Cell = tuple[Any, ...]


class Experiment(Protocol):
    """A plan of cells."""

    @property
    def replicates(self) -> int:
        """Chains, systems or data sets of a full run."""

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of what is run."""

    def describe(self) -> dict[str, Any]:
        """Plain values that the numbers depend on."""

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """What is to be run."""

    def run(self, settings: Any, cell: Cell, checkpoint: Path) -> Record:
        """Run one cell; ``checkpoint`` is a folder in which it may keep what it has."""


@dataclass(frozen=True)
class CellSettings:
    """What the numbers of a run depend on; all records of a file share them."""

    experiment: str
    seed: int = 0
    quick: bool = False

    names: ClassVar[tuple[str, ...]]  # of the paper's experiments; the place in this list is part of every seed

    def seeds(self, *key: int) -> np.random.SeedSequence:
        """A seed for one purpose: the SeedSequence's descendant at ``key``."""
        return np.random.SeedSequence(self.seed, spawn_key=(self.names.index(self.experiment), *key))

    def describe(self, plan: Experiment) -> dict[str, Any]:
        """Plain values that tell whether two runs are of the same kind."""
        return asdict(self) | {"plan": plan.describe()}


def run_cell(plan: Experiment, settings: CellSettings, cell: Cell, folder: Path) -> tuple[Record, Path]:
    """Run a cell; its checkpoint may be removed when the record is kept."""
    checkpoint = folder / "-".join(map(str, cell))
    with warnings.catch_warnings():
        # Some pixels, and nodes of a small sample, never vary: that is part of the problem.
        warnings.simplefilter("ignore", ConstantColumnWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)  # tables show it, for every method
        return {"cell": cell, **plan.run(settings, cell, checkpoint)}, checkpoint


def forget(checkpoint: Path) -> None:
    """Remove the checkpoint of a cell that is recorded."""
    shutil.rmtree(checkpoint, ignore_errors=True)


def shorter(options: Mapping[str, Mapping[str, Any]], factor: int) -> dict[str, dict[str, Any]]:
    """The same methods with fewer draws and less warm-up."""
    counts = ("n_draws", "n_warmup")
    return {m: {k: -(-v // factor) if k in counts else v for k, v in o.items()} for m, o in options.items()}


def each(call: Callable[[Any], Any], cells: Sequence[Any], jobs: int, name: str) -> Iterable[Any]:
    """What ``call`` gives for each cell, as it comes, from ``jobs`` processes of one thread each."""
    with parallel_config("loky", inner_max_num_threads=1):
        found = Parallel(jobs, batch_size=1, return_as="generator_unordered")(delayed(call)(cell) for cell in cells)
        yield from track(found, name, total=len(cells))


def run(plan: Experiment, settings: CellSettings, cells: Sequence[Cell], store: Store, jobs: int, folder: Path) -> None:
    """Run the cells in ``jobs`` processes; records are written as they come."""
    call = partial(run_cell, plan, settings, folder=folder)
    for record, checkpoint in each(call, cells, jobs, settings.experiment):
        store.append(record)
        forget(checkpoint)


def command(
    plan: Experiment,
    settings: CellSettings,
    args: argparse.Namespace,
    show: Callable[[list[Record], Path, str], Sequence[Path]],
) -> int:
    """Run what is not in the file yet, then ``show`` all records; returns the exit code.

    ``show`` takes the records, the store's file and the name of the run, and gives the files it wrote.
    """
    methods = tuple(args.methods or plan.methods)
    if wrong := [m for m in methods if m not in plan.methods]:
        print(f"--methods: {wrong[0]!r} came; {args.experiment} has {', '.join(plan.methods)}", file=sys.stderr)
        return 2
    replicates = plan.replicates if args.replicates is None else args.replicates
    name = args.experiment + "-quick" * args.quick
    folder = args.out / "checkpoints" / name
    try:
        with hold(folder):
            store = Store(args.out / "results" / f"{name}.jsonl", settings.describe(plan))
            done = {tuple(record["cell"]) for record in store.records()}
            cells = [cell for cell in plan.cells(replicates, methods) if cell not in done]
            run(plan, settings, cells, store, args.jobs, folder)
    except BayesMRFError as e:
        print(e, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. The same command goes on from here.", file=sys.stderr)
        return 130
    print("\nWritten:", store.path, *show(store.records(), store.path, name))
    return 0


def parser(package: str, description: str, experiments: Sequence[str], replicates: str) -> argparse.ArgumentParser:
    """The options that all have; ``replicates`` says what they are."""
    found = argparse.ArgumentParser(prog=f"python -m papers.{package}", description=description)
    found.add_argument("experiment", choices=list(experiments))
    found.add_argument("--replicates", type=int, help=f"{replicates}; 0 shows what is there")
    found.add_argument("--quick", action="store_true", help="smaller models and shorter chains, which show that all "
                       "runs; findings are not judged")  # fmt: skip
    found.add_argument("--out", type=Path, default=Path(f"runs/{package}"), help="folder (default %(default)s); "
                       "a run goes on from the records it finds there")  # fmt: skip
    found.add_argument("--seed", type=int, default=0)
    found.add_argument("--jobs", type=positive, default=cpu_count(), help="processes (default: one a core)")
    found.add_argument("--methods", nargs="+", metavar="METHOD", help="only these")
    return found


def positive(text: str) -> int:
    """A whole number >= 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} came; a whole number >= 1 is wanted")
    return int(text)
