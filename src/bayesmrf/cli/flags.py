"""Options that several commands share, declared once as the fields of records."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from ..errors import OptionError
from ..families import AUTO, Ordinal, families_of
from . import common

if TYPE_CHECKING:
    from rich.console import Console


def flag(text: str, metavar: str | None = None, default: Any = None, *names: str, shown: str = "", **more: Any) -> Any:
    """Declare an option; ``shown`` describes the default in the help text where ``default`` is None."""
    tail = f" [dim]\\[default: {shown}][/dim]" if shown else ""
    return typer.Option(default, *names, metavar=metavar, help=text + tail, show_default=not shown, **more)


def observations(metavar: str, codes: str) -> Any:
    """Declare the table of observations; ``codes`` describes its values."""
    return typer.Argument(
        ...,
        metavar=metavar,
        help="Table with one row per observation and one column per node, named in the first line; "
        f"{codes}. May be compressed (.csv.gz).",
    )


def model_flag(estimator: str, yes_no: str, text: str) -> Any:
    """Declare the model of an estimator; ``yes_no`` is that of yes/no columns, if it is to be chosen."""
    chosen = f"auto is ordinal if columns have more than two ordered levels, else {yes_no}. "
    return flag(chosen + text, "|".join([AUTO, *families_of(estimator).names]), AUTO)


GRAPH_HELP = (
    "A file with the two ends of each edge (column names, or numbers from 0); or all pairs; or K edges learnt from "
    "the data."
)
CANDIDATES = "all pairs, or two columns, the ends of each (column names, or numbers from 0)."
SLAB = "cauchy:SCALE|normal:SCALE|SHAPE,RATE"
_CONTINUES = "A run that was stopped, even killed, continues when the same command is given again."
BINARIZE: Any = flag('Levels that count as yes: ">=4", ">2", "<=1", "<3" or "==5", in quotes.', '">=4"')


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each field of the records among the parameters of a function.

    A parameter that is named as a field declares its option, such as the table of observations. The help text of a
    command with a `Run` says that runs continue.
    """
    hints = get_type_hints(function)
    kinds: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    own = {p.name: p.replace(kind=Parameter.KEYWORD_ONLY) for p in signature(function).parameters.values()}
    found: dict[str, Parameter] = {}
    for name, parameter in own.items():
        if name not in kinds:
            found[name] = parameter.replace(annotation=hints[name])
            continue
        kind, given = get_type_hints(kinds[name]), signature(kinds[name]).parameters
        inherited = {f.name for base in kinds[name].__bases__ if is_dataclass(base) for f in fields(base)}
        for f in sorted(given.keys() - own.keys(), key=lambda f: (f in inherited, [*given].index(f))):
            found[f] = Parameter(f, Parameter.KEYWORD_ONLY, default=given[f].default, annotation=kind[f])

    @functools.wraps(function)
    def called(**given: Any) -> None:
        records = {name: kind(**{f.name: given[f.name] for f in fields(kind)}) for name, kind in kinds.items()}
        function(**{name: records[name] if name in records else given[name] for name in own})

    if Run in kinds.values():
        called.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{_CONTINUES}"
    called.__signature__ = Signature(list(found.values()))  # type: ignore[attr-defined]
    called.__annotations__ = {name: p.annotation for name, p in found.items()}
    return called


@dataclass
class Data:
    """Options of every command that reads observations."""

    context: typer.Context
    table: Path
    weight: str | None = flag("Column of the number of times each row occurs.", "COLUMN")
    drop: list[str] | None = flag("Column to leave out; may be given several times.", "COLUMN")
    missing_code: list[str] | None = flag(
        "Code of a missing value, such as -9; may be given several times. Use 'none' if every value is valid, "
        "however far from the others.",
        "CODE",
    )
    neutral: list[str] | None = flag(
        "Column of ordered levels with a neutral category, and its score, from 0; may be given several times.",
        "COLUMN=SCORE",
    )
    seed: int | None = flag("Seed; the same seed gives the same draws.", min=0)
    overwrite: bool = flag("Replace the contents of --out.", None, False, "--overwrite")
    quiet: bool = flag("No progress bars and no summary.", None, False, "--quiet", "-q")

    @cached_property
    def console(self) -> Console:
        """Where results are printed."""
        return common.new_console(self.quiet)

    def path(self, out: Path | None, suffix: str) -> Path:
        """Return ``out``, or the name of the table with a suffix."""
        return out or Path(f"{common.stem_of(self.table)}{suffix}")

    def read(self, by: str | None = None) -> tuple[Any, Any, Any]:
        """Return the observations, how often each occurs, and the groups in the column ``by``."""
        from ..tables import read_by_group

        return read_by_group(self.table, by, self.weight, self.drop or (), self.missing_code or ())

    def around(self, model: str) -> str | Ordinal:
        """Return the name of a model, or the ordinal model with the neutral categories that are given."""
        return _around(self.neutral, model) if self.neutral else model

    def edges(self, table: Any, text: str, option: str = "--graph") -> Any:
        """Return the edges that an option names among the columns of a table."""
        return common.edges_of(text, [str(c) for c in table.columns], self.console, option)


def _around(neutral: Sequence[str], model: str) -> Ordinal:
    """Return the ordinal model with neutral categories, given as COLUMN=SCORE."""
    if model not in (AUTO, "ordinal"):
        raise OptionError(option="neutral", got=neutral[0], expected="omitted without --model ordinal")
    found = {}
    for text in neutral:
        name, _, score = text.rpartition("=")
        try:
            found[name] = float(score)
        except ValueError:
            raise OptionError(option="neutral", got=text, expected="COLUMN=SCORE, such as tired=2") from None
    return Ordinal(neutral=found)


@dataclass
class Run(Data):
    """Options of every command that samples."""

    n_draws: int = flag("Draws per chain.", default=1000)
    n_warmup: int = flag("Warm-up steps of each chain, before its first draw.", default=500)
    n_chains: int = flag("Number of chains; convergence diagnostics need several.", default=4)
    thin: int = flag("Steps per draw.", default=1)
    n_jobs: int | None = flag("Number of chains run in parallel; by default the number of cores.")
    cluster: str | None = flag("Scheduler of a dask cluster that runs the chains.", "tcp://HOST:PORT")
    chain: int | None = flag(
        "Run this chain alone, from 0, such as $SLURM_ARRAY_TASK_ID; bayesmrf collect joins the chains.", min=0
    )
    out: Path | None = flag("Folder for the result, written during the run.", shown="the name of the table, with .zarr")

    @property
    def options(self) -> dict[str, Any]:
        """Options of the estimator that concern its chains."""
        if self.chain is not None and self.chain >= self.n_chains:
            raise OptionError(option="chain", got=self.chain, expected=f"an integer from 0 to {self.n_chains - 1}")
        return {name: getattr(self, name) for name in ("n_draws", "n_warmup", "n_chains", "thin", "n_jobs")}

    def estimator(self, kind: type, out: Path, **options: Any) -> Any:
        """Return an estimator that keeps its run in ``out``."""
        from ..store import Checkpoint

        options |= self.options | {"random_state": self.seed, "progress": not self.quiet, "executor": self.executor}
        options["model"] = self.around(options["model"])
        return kind(**options, checkpoint=Checkpoint(out, self.overwrite, self.chain, self.arguments))

    @cached_property
    def executor(self) -> Any:
        """Workers of --cluster, if it was given."""
        from ..workers import connect

        return None if self.cluster is None else connect(self.cluster)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command line without --chain."""
        given = list(self.context.obj)
        for i, word in enumerate(given):
            if word == "--chain":
                del given[i : i + 2]
                break
            if word.startswith("--chain="):
                del given[i]
                break
        return tuple(given)

    def sample(self, estimator: Any, out: Path, data: Sequence[Any], **more: Any) -> Any:
        """Fit to a table, its weights and its groups; return the result, which is written with attributes ``more``."""
        table, weights, groups = data
        groups = {} if groups is None else {"groups": groups}
        tree = common.sample(estimator, table, weights, self.table, out, self.console, **groups)
        if self.chain is not None:
            common.end_chain(out, self.chain, self.console)
        common.finish(tree, out, self.table, self.context.obj, **more)
        return tree

    def show(self, summary: Any, out: Path) -> None:
        """Print a summary of the result, and where it is."""
        from .show import show

        show(summary, self.console)
        common.point_to_report(out, self.console)
