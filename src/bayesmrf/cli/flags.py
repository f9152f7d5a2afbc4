"""Options that several commands share, declared once as the fields of records."""

from __future__ import annotations

import functools
import inspect
import shlex
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin, get_type_hints

import typer

from ..data.files import STDIN, kind_of
from ..declare.registry import Registry
from ..declare.rule import is_count
from ..errors import (
    ApproximatePosteriorWarning,
    ConvergenceWarning,
    DependentRowsWarning,
    OptionError,
    StoppedWarning,
    WeightWarning,
    in_words,
    said,
)
from ..families import AUTO, FAMILIES, FamilyRow, chosen_by_data, families_of
from ..findings import Finding, collected, dumped
from ..methods.rows import MethodRow
from ..runs.looks import MOST, OF_A_TASK
from ..runs.run_options import RunOptions
from . import common
from .column_flags import ColumnFlags
from .common import Stopped
from .method_flags import flag, record_of

if TYPE_CHECKING:
    from rich.console import Console

    from ..data.codebook import Codebook


def observations(metavar: str, codes: str) -> Any:
    """Declare the table of observations; ``codes`` describes its values."""
    return typer.Argument(
        ...,
        metavar=metavar,
        help="Table with one row per observation and one column per node, named in the first line; "
        f"{codes}. CSV, plain or compressed (.csv.gz), Excel, SPSS, Stata, Parquet or Feather; - is standard input.",
    )


def model_flag(estimator: str, yes_no: str) -> Any:
    """Declare the model of an estimator; ``yes_no`` is that of yes/no columns, if it is to be chosen."""
    rows = families_of(estimator)
    nominal = "nominal if columns have categories without order, " if "nominal" in rows.names else ""
    chosen = f"auto is {nominal}ordinal if columns have more than two ordered levels, else {yes_no}. "
    return flag(
        chosen + "; ".join(f"{row.name}: {row.brief}" for row in rows) + ".", "|".join([AUTO, *rows.names]), AUTO
    )


def method_flag(rows: Registry[MethodRow], auto: str) -> Any:
    """Declare the method of an estimator; ``auto`` says which is chosen."""
    briefs = "; ".join(f"{row.name}: {row.brief}" for row in rows)
    return flag(f"auto is {auto}. {briefs}.", "|".join([AUTO, *rows.names]), AUTO)


GRAPH_HELP = "A file with the two ends of each edge (column names, or numbers from 0); all pairs; or K learnt edges."
CANDIDATES = "all pairs, or two columns, the ends of each (column names, or numbers from 0)."
SLAB = "cauchy:SCALE|moment:SCALE|normal:SCALE|cauchy:SHAPE,RATE|SHAPE,RATE"
_NOTHING = "nothing was written"
_CONTINUES = "A run that was stopped, even killed, continues when the same command is given again."
SENSITIVITY: Any = flag(
    "How the evidence depends on the prior of the edges, too: at most eight more runs.", None, False, "--sensitivity"
)
BINARIZE: Any = flag('Levels that count as yes: ">=4", ">2", "<=1", "<3" or "==5", in quotes.', '">=4"')


def command(function: Callable[..., None], whole: bool = False) -> Callable[..., None]:
    """Return a command with an option for each field of the records among the parameters of a function.

    A parameter that is named as a field declares its option, such as the table of observations. One that is annotated
    with `Methods` gets their options that were given, by flag; those of slow modules are read if the command is to be
    ``whole``. The help text of a command with a `Run` says that runs continue.
    """
    hints = get_type_hints(function, include_extras=True)
    kinds: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    methods = {name: kind.__metadata__[0] for name, kind in hints.items() if get_origin(kind) is Annotated}
    given_to = {n: record_of(of if whole or isinstance(of, Registry) else list) for n, of in methods.items()}
    kinds |= given_to
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
        for name in given_to:
            records[name] = {option: value for option, value in vars(records[name]).items() if value is not None}
        try:
            function(**{name: records[name] if name in records else given[name] for name in own})
        except (KeyboardInterrupt, StoppedWarning):
            kept = next((record.kept for record in records.values() if isinstance(record, Data)), _NOTHING)
            raise Stopped(kept) from None

    if Run in kinds.values():
        called.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{_CONTINUES}"
    called.__signature__ = Signature(list(found.values()))  # type: ignore[attr-defined]
    called.__annotations__ = {name: p.annotation for name, p in found.items()}
    return called


@dataclass
class Data(ColumnFlags):
    """Options of every command that reads observations."""

    context: typer.Context
    table: Path
    weight: str | None = flag("Column of the number of times each row occurs.", "COLUMN")
    survey_weight: str | None = flag("Column of survey weights: how many people each row stands for.", "COLUMN")
    neutral: list[str] | None = flag(
        "Column of ordered levels with a neutral category, and its score, from 0; may be given several times.",
        "COLUMN=SCORE",
    )
    seed: int | None = flag("Seed; the same seed gives the same draws.", min=0)
    overwrite: bool = flag("Replace the contents of --out.", None, False, "--overwrite")
    quiet: bool = flag("No progress bars and no summary.", None, False, "--quiet", "-q")

    def __post_init__(self) -> None:
        self.n_levels, self.survey = 0, None  # of a table whose values are all valid, and its weights, once it is read
        self.kept = _NOTHING  # what an interruption leaves
        self.chosen, self.noticed = False, list[Finding]()  # whether the table chose the model, and what was found
        self.book: Codebook | None = None  # by which the columns of the table were read

    @cached_property
    def console(self) -> Console:
        """Where results are printed."""
        return common.new_console(self.quiet)

    def path(self, out: Path | None, suffix: str) -> Path:
        """Return ``out``, or the name of the table with a suffix."""
        return out or Path(f"{common.stem_of(self.table)}{suffix}")

    def read(
        self, model: str = AUTO, by: str | None = None, takes: Collection[str] = (),
        also: Mapping[str, str] | None = None, wide: bool = False,
    ) -> tuple[Any, Any, Any]:  # fmt: skip
        """Return the observations, how often each occurs, and the groups in the column ``by``, or columns ``also``.

        Columns have the types that a model reads or ``takes``. A ``wide`` table gets a row for each person and wave.
        """
        from ..data.codebook import Codebook
        from ..data.codes import MOST_STATES
        from ..data.infer_columns import ALL_ANSWERS, infer_columns, require_readable
        from ..data.typed_table import typed
        from .tables import SURVEY, read_votes
        from .wide_tables import one_below_the_other

        surveyed = {} if self.survey_weight is None else {SURVEY: self.survey_weight}
        raw, weights, groups = read_votes(self.table, self.weight, self.asked, by, surveyed or also, self.combine_rows)
        if surveyed:
            self.survey, groups = groups.pop(SURVEY), groups.get("--by")
        if wide:
            raw, groups = one_below_the_other(self.table, raw, groups)
        family: Any = None if model == AUTO else FAMILIES.row(model).options
        takes = {*takes, *(family.takes if family is not None and "names" in family.takes else ())} - {"values"}
        from ..progress import announced  # imports numpy

        understands = announced("understanding the columns of the table", not self.quiet)
        with common.about_file(self.table), understands, collected() as self.noticed:
            book = infer_columns(raw, self.asked.of_columns, takes, of_panel=also is not None)
            require_readable(book)
            as_it_is = "names" in takes and not self.asked.says  # edges compare levels
            table = raw if as_it_is else typed(raw, book)
        self.book = None if as_it_is else Codebook(book.columns)
        for line in book.lines():
            self.console.print(line, soft_wrap=True)
        if any(code.strip().lower() == ALL_ANSWERS for code in self.missing_code or ()):
            n = len({level for _, column in table.items() for level in column.dropna()})
            self.n_levels = n if 2 <= n <= MOST_STATES else 0
        return table, weights, groups

    def choose(self, model: str, data: Sequence[Any], estimator: str, yes_no: str = "boltzmann") -> str:
        """Return the name of the model; if it is "auto", the table chooses it, and what is noticed is a finding."""
        from ..data.read import choose

        if model != AUTO or self.neutral:
            return "ordinal" if model == AUTO else model
        self.chosen = True
        with common.about_file(self.table), common.shown_log(self.console), collected() as noticed:
            chosen = choose(data[0], data[1], yes_no, families_of(estimator).names)
        self.noticed += noticed
        return chosen

    def read_coded(
        self, model: str, binarize: str | None, estimator: str, by: str | None = None
    ) -> tuple[list[Any], FamilyRow]:
        """Return what `read` does, with yes/no columns where the model has these, and the row of the model."""
        from ..data.kinds.binarized import to_binary

        data = list(self.read(model, by, () if binarize is None else ("numbers",)))
        if binarize is not None:
            data[0], self.book = to_binary(self.table, data[0], binarize), None
        family = FAMILIES.row(self.choose(model, data, estimator))
        if not family.many_states:
            data[0] = to_binary(self.table, data[0], None, "--model ordinal")
        return data, family

    def around(self, model: str) -> Any:
        """Return the name of a model, or the model with the neutral categories or the levels that are given."""
        scores, row = {}, FAMILIES.find(model)
        has = {field.name for field in fields(row.options)} if row is not None else set()
        if self.neutral and "neutral" not in has:
            raise OptionError(option="neutral", got=self.neutral[0], expected="omitted without --model ordinal")
        for text in self.neutral or ():
            name, _, score = text.rpartition("=")
            try:
                scores[name] = float(score)
            except ValueError:
                raise OptionError(option="neutral", got=text, expected="COLUMN=SCORE, such as tired=2") from None
        if scores:
            return FAMILIES.row(model).options(neutral=scores)
        if self.n_levels and "n_states" in has:
            return FAMILIES.row(model).options(n_states=self.n_levels)
        return chosen_by_data(model) if self.chosen else model

    def edges(self, table: Any, text: str, option: str = "--graph") -> Any:
        """Return the edges that an option names among the columns of a table; only --graph may be learnt."""
        from .tables import read_edges

        learns = option == "--graph"
        if text == "complete" or (learns and text.startswith("learn:") and is_count(text[6:])):
            return text
        if text.startswith("learn:") or kind_of(Path(text)) == "nothing":
            forms = "a file, nor complete, nor learn:K with an integer K" if learns else "a file nor complete"
            raise OptionError(f"{option}: {in_words(text)} is neither {forms}; give one of these.")
        edges, header = read_edges(Path(text), [str(c) for c in table.columns], option)
        if header is not None:
            self.console.print(f"The first line of {text} ({header}) is read as a header.")
        return edges


@dataclass
class Run(Data):
    """Options of every command that samples."""

    n_draws: int | None = flag(
        "Draws per chain.", shown=f"until good, at most {MOST:,}; {OF_A_TASK:,} with --chain, of which collect judges"
    )
    n_warmup: int = flag("Warm-up steps of each chain, before its first draw.", default=RunOptions.n_warmup)
    n_chains: int = flag("Number of chains; convergence diagnostics need several.", default=RunOptions.n_chains)
    thin: int = flag("Steps per draw.", default=RunOptions.thin)
    n_jobs: int | None = flag(
        "Number of chains run in parallel; -1: one for each core, -2: leave one free.", shown="one for each core"
    )
    cluster: str | None = flag("Scheduler of a dask cluster that runs the chains.", "tcp://HOST:PORT")
    chain: int | None = flag(
        "Run this chain alone, from 0, such as $SLURM_ARRAY_TASK_ID; bayesmrf collect joins the chains.", min=0
    )
    out: Path | None = flag("Folder for the result, written during the run.", shown="the name of the table, with _run")

    @property
    def options(self) -> dict[str, Any]:
        """Options of the estimator that concern its chains."""
        if self.chain is not None and self.chain >= self.n_chains:
            raise OptionError(option="chain", got=self.chain, expected=f"an integer from 0 to {self.n_chains - 1}")
        return {name: getattr(self, name) for name in ("n_draws", "n_warmup", "n_chains", "thin", "n_jobs")}

    def estimator(self, kind: type, out: Path, **options: Any) -> Any:
        """Return an estimator that keeps its run in ``out``."""
        from ..runs.store import Checkpoint

        options |= self.options | {"random_state": self.seed, "progress": not self.quiet, "executor": self.executor}
        options |= {"model": self.around(options["model"]), "columns": self.book}
        joins = isinstance(self.context.obj, common.Joining)
        return kind(**options, checkpoint=Checkpoint(out, self.overwrite, self.chain, self.arguments, joins))

    @cached_property
    def executor(self) -> Any:
        """Workers of --cluster, if it was given."""
        from ..runs.workers import connect

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

    @property
    def _again(self) -> str:
        """How to continue a run that was stopped."""
        return f"give the same command again{' without --overwrite' if self.overwrite else ''} to continue"

    def sample(self, estimator: Any, out: Path, data: Sequence[Any], sensitivity: bool = False, **more: Any) -> Any:
        """Fit to a table, its weights and its groups; return the result, which is written with attributes ``more``."""
        from .. import results
        from ..runs.store import RESULTS, read_kind

        table, weights, groups = data
        with collected() as found:
            of_rows = {"sample_weight": weights, "survey_weight": self.survey, "groups": groups}
            given = groups if isinstance(groups, dict) else {k: v for k, v in of_rows.items() if v is not None}
            self._fit(estimator, table, out, given)
        tree = estimator.posterior_
        if self.chain is not None:
            self._end_chain(out, self.chain)
        if not tree.attrs["complete"]:
            raise Stopped(f"stopped; the draws so far are kept in {out}; {self._again}")
        self.kept = f"stopped; all draws are kept in {out}; {self._again}"
        tree.attrs |= {
            "data_file": "standard input" if self.table == STDIN else self.table.name,
            "command": shlex.join(["bayesmrf", *self.context.obj]),
            "chosen_model": self.chosen,
            "findings": dumped([*self.noticed, *found], lambda text: said(text, common.spoken)),
            **more,
        }
        if sensitivity:
            with common.shown_log(self.console):  # its runs are removed with the checkpoint
                estimator.sensitivity(table, **given, checkpoint=out / "sensitivity.partial")
        try:
            results.finish(tree, out)
        finally:  # an interruption may come when the result is complete
            if read_kind(out) == RESULTS:
                self.kept = f"stopped; the result is in {out}"
        return tree

    def _fit(self, estimator: Any, table: Any, out: Path, more: dict[str, Any]) -> None:
        """Fit, with messages about the file, and without warnings that the printed verdict repeats, of all chains."""
        from ..results.convergence import FAR, MISSING, UNSEEN
        from ..results.until_good import LIMIT

        try:
            with common.about_file(self.table), common.shown_log(self.console), warnings.catch_warnings():
                if not self.quiet or self.chain is not None:
                    warnings.filterwarnings("ignore", f"Not (converged|judged)|{LIMIT}|{MISSING}", ConvergenceWarning)
                    warnings.filterwarnings("ignore", f"{UNSEEN}|{FAR}", ApproximatePosteriorWarning)
                    for kind in (DependentRowsWarning, WeightWarning):
                        warnings.simplefilter("ignore", kind)
                warnings.simplefilter("ignore", StoppedWarning)  # said at the end
                estimator.fit(table, **more)
        except KeyboardInterrupt:
            raise Stopped(self._left(out)) from None

    def _left(self, out: Path) -> str:
        """Say what an interrupted fit without draws in memory left in ``out``."""
        from ..runs.checkpoint import steps_of
        from ..runs.store import CHECKPOINT, is_ours, read_kind

        if not is_ours(out):
            return "stopped before the first draw; nothing was written"
        if read_kind(out) != CHECKPOINT:  # of a run that --overwrite would have replaced
            return f"stopped before the first draw; {out} is as it was"
        kept = f"; the draws so far are kept in {out}" if max(steps_of(out)[0]) else " before the first draw"
        return f"stopped{kept}; {self._again}"

    def _end_chain(self, out: Path, chain: int) -> None:
        """End a command that ran one chain."""
        from ..runs.checkpoint import UNTIL_GOOD, steps_of

        steps, settings = steps_of(out)
        left = common.unfinished(steps, settings)
        if chain in left:
            raise Stopped(f"stopped; {left[chain]}; {self._again}")
        rest = f"; not yet complete: {', '.join(map(str, left))}" if left else ""
        whole = f"has {settings['n_draws']:,} draws" if UNTIL_GOOD in settings else "is complete"
        join = "judge and join" if UNTIL_GOOD in settings else "join"
        self.console.print(f"Chain {chain} of {out} {whole}{rest}\nTo {join} the chains: bayesmrf collect "
                           f"{shlex.quote(str(out))}", soft_wrap=True)  # fmt: skip
        raise typer.Exit

    def show(self, summary: Any, out: Path) -> None:
        """Print a summary of the result, where it is, and how to make a report."""
        from .show import show

        show(summary, self.console)
        make = f"bayesmrf report {shlex.quote(str(out))}"
        self.console.print(f"\nThe result is in {out}\nFor a report with figures: {make}", soft_wrap=True)
