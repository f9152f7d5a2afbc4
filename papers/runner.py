"""The runner of all reproductions: the command of a paper, its records, tables, figures and verdicts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
from joblib import cpu_count
from rich.console import Console
from rich.table import Table

from bayesmrf.errors import BayesMRFError, OptionError
from bayesmrf.runs.lock import hold
from bayesmrf.runs.workers import connect

from .cells import CellSettings, Experiment, run
from .findings import Finding, Verdict, evaluate
from .shown import Makers, draw
from .store import Record


def _nothing(*_: Any) -> dict[str, pd.DataFrame]:
    return {}


def _whole(plan: Any, args: argparse.Namespace) -> Any:
    return plan


class Experiments(Protocol):
    """The module of a paper's experiments, by name."""

    @property
    def FULL(self) -> Mapping[str, Experiment]:
        """In full size."""

    @property
    def QUICK(self) -> Mapping[str, Experiment]:
        """Small."""

    @property
    def MEASURES(self) -> Mapping[str, Callable[[list[Record]], pd.DataFrame]]:
        """The tables that the findings are about."""


@dataclass(frozen=True)
class Paper:
    """A reproduction.

    Parameters
    ----------
    title : str
    replicates : str
        What the replicates are, for the help.
    settings : class
    experiments : module
        ``Experiments``, in the folder of the paper, which has expected.json.
    tables : callable
        From experiment and records to the printed tables and lines.
    figures : mapping
        For each experiment, the functions that make its figures, by the end of the file name.
    files : callable, optional
        From experiment and records to the tables that are written as CSV, by the end of the file name.
    axes : mapping, optional
        The column of ``measures`` at whose points findings are judged, if there is one.
    options : mapping, optional
        Command line options that the paper adds.
    narrow : callable, optional
        From plan and arguments to the plan with fewer points.
    """

    title: str
    replicates: str
    settings: type[CellSettings]
    experiments: Experiments
    tables: Callable[[str, list[Record]], Iterable[Table | str]]
    figures: Mapping[str, Makers]
    files: Callable[[str, list[Record]], Mapping[str, pd.DataFrame]] = _nothing
    axes: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    narrow: Callable[[Any, argparse.Namespace], Any] = _whole

    @property
    def folder(self) -> Path:
        """The folder of the paper."""
        return Path(str(self.experiments.__file__)).parent

    @property
    def expected(self) -> dict[str, list[Finding]]:
        """The findings of each experiment."""
        return json.loads((self.folder / "expected.json").read_text())

    def verdicts(self, experiment: str, records: list[Record], quick: bool = False) -> list[Verdict]:
        """Judge all findings of an experiment, in the order of expected.json."""
        table = self.experiments.MEASURES[experiment](records)
        return [evaluate(f, table, self.axes.get(experiment), quick) for f in self.expected[experiment]]

    def main(self, argv: Sequence[str] | None = None) -> int:
        """Run the cells that are not stored yet, then show all records; return the exit code."""
        args = self._parser().parse_args(argv)
        name, found = args.experiment + "-quick" * args.quick, self.experiments
        folder = args.out / "checkpoints" / name
        settings = self.settings(args.experiment, args.seed, args.quick)
        try:
            plan = self.narrow((found.QUICK if args.quick else found.FULL)[args.experiment], args)
            methods = tuple(args.methods or plan.methods)
            one_of("--methods", methods, plan.methods)
            with hold(folder):
                store = settings.store(args.out / "results" / f"{name}.jsonl", plan)
                done = {tuple(record["cell"]) for record in store.records()}
                replicates = plan.replicates if args.replicates is None else args.replicates
                cells = [cell for cell in plan.cells(replicates, methods) if cell not in done]
                run(plan, settings, cells, store, args.jobs, folder, args.cluster and connect(args.cluster))
        except BayesMRFError as e:
            print(e, file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print("Stopped. The same command continues from here.", file=sys.stderr)
            return 130
        print("\nWritten:", store.path, *self.show(args.experiment, store.records(), store.path, args.quick))
        return 0

    def show(self, experiment: str, records: list[Record], path: Path, quick: bool) -> list[Path]:
        """Print tables and verdicts; write CSV files and figures next to ``path``; return the paths written."""
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = 200
        if not records:
            console.print("There are no records yet.")
            return []
        for part in self.tables(experiment, records):
            console.print(part, soft_wrap=isinstance(part, str), markup=False)
        for verdict in self.verdicts(experiment, records, quick):
            console.print(str(verdict), soft_wrap=True, markup=False)
        written = []
        for suffix, frame in self.files(experiment, records).items():
            written.append(path.with_name(f"{path.stem}{suffix}.csv"))
            frame.to_csv(written[-1], index=False, float_format="%.7g")
        return [*written, *draw(self.figures[experiment], records, path.parents[1] / "figures", path.stem)]

    def _parser(self) -> argparse.ArgumentParser:
        name = self.folder.name
        found = argparse.ArgumentParser(prog=f"python -m papers.{name}", description=f"Reproduce {self.title}.")
        found.add_argument("experiment", choices=list(self.experiments.FULL))
        found.add_argument("--replicates", type=int, help=f"{self.replicates}; 0 shows the stored records")
        found.add_argument("--quick", action="store_true", help="smaller models and shorter chains, which show that "
                           "everything runs; most findings are not judged")  # fmt: skip
        found.add_argument("--out", type=Path, default=Path(f"runs/{name}"), help="folder (default %(default)s); "
                           "a run continues from the records in it")  # fmt: skip
        found.add_argument("--seed", type=int, default=0)
        found.add_argument("--jobs", type=positive, default=cpu_count(), help="processes (default: one per core)")
        found.add_argument("--cluster", metavar="tcp://HOST:PORT", help="scheduler of a dask cluster that runs the "
                           "cells; its workers run in this folder, on a common disk")  # fmt: skip
        found.add_argument("--methods", nargs="+", metavar="METHOD", help="only these")
        for option, given in self.options.items():
            found.add_argument(option, **given)
        return found


def one_of(option: str, given: Iterable[Any], known: Sequence[Any]) -> None:
    """Check that all values given are known.

    Raises
    ------
    OptionError
        If one is not.
    """
    for value in given:
        if value not in known:
            raise OptionError(option=option, got=value, expected=f"one of {', '.join(map(str, known))}")


def positive(text: str) -> int:
    """Read an integer >= 1."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"must be an integer >= 1, got {text!r}")
    return int(text)
