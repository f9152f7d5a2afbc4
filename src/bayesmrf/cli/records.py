"""Options that commands share, as fields of records: those of a table of observations, and those of a run."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..data.files import STDIN, kind_of
from ..declare.option import options_of
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
from ..runs.run_options import RunOptions
from . import common
from .column_flags import ColumnFlags
from .common import Stopped
from .field_flags import field_flag, flag

if TYPE_CHECKING:
    from rich.console import Console

    from ..data.codebook import Codebook

NOTHING = "nothing was written"


@dataclass
class Data(ColumnFlags):
    """Options of every command that reads observations."""

    context: typer.Context
    table: Path
    weight: str | None = flag("Column of the number of times each row occurs.", "COLUMN")
    survey_weight: str | None = flag("Column of survey weights: how many people each row stands for.", "COLUMN")
    neutral: list[str] | None = flag(
        "Column of ordered levels with a neutral category, and its score, from 0.",
        "COLUMN=SCORE",
    )
    seed: int | None = flag("Seed; the same seed gives the same draws.", min=0)
    overwrite: bool = flag("Replace the contents of --out.", None, False, "--overwrite")
    quiet: bool = flag("No progress bars and no summary.", None, False, "--quiet", "-q")

    def __post_init__(self) -> None:
        self.n_levels, self.survey = 0, None  # of a table whose values are all valid, and its weights, once it is read
        self.kept = NOTHING  # what an interruption leaves
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
        from .table_options import SURVEY, read_votes
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
        from ..data.chosen_model import choose

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
        from .table_options import read_edges

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

    n_draws: int | None = field_flag(RunOptions, "n_draws")
    n_warmup: int = field_flag(RunOptions, "n_warmup")
    n_chains: int = field_flag(RunOptions, "n_chains")
    thin: int = field_flag(RunOptions, "thin")
    n_jobs: int | None = field_flag(RunOptions, "n_jobs")
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
        return {name: getattr(self, name) for name, declared in options_of(RunOptions).items() if declared.help}

    def settle(self, parameters: type, options: dict[str, Any]) -> dict[str, Any]:
        """Check options of an estimator, and where its result is written, before anything is read; return them."""
        common.checked(parameters, **options)
        common.checked(RunOptions, **self.options)
        self.folder = self.path(self.out, "_run")
        common.check_out(self.folder, self.overwrite)
        return options

    def fit(
        self, kind: str, options: dict[str, Any], data: Sequence[Any], sensitivity: bool = False, **asked: str | None
    ) -> None:
        """Fit an estimator, and print a summary of its result, which is written with what was ``asked``."""
        from .. import estimators
        from ..results.summary import kind_of

        for name in ("graph", "candidates"):
            if options.get(name) is not None:
                options[name] = self.edges(data[0], options[name], f"--{name}")
        estimator = self.estimator(getattr(estimators, kind), self.folder, **options)
        asked = {name: text for name, text in asked.items() if text is not None}
        tree = self.sample(estimator, self.folder, data, sensitivity, **asked)
        self.show(kind_of(tree)(tree), self.folder)

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
        words = list(self.context.obj)
        for i, word in enumerate(words):
            if word == "--chain":
                del words[i : i + 2]
                break
            if word.startswith("--chain="):
                del words[i]
                break
        return tuple(words)

    @property
    def _again(self) -> str:
        """How to continue a run that was stopped."""
        return f"give the same command again{' without --overwrite' if self.overwrite else ''} to continue"

    def sample(self, estimator: Any, out: Path, data: Sequence[Any], sensitivity: bool = False, **more: Any) -> Any:
        """Fit to a table, its weights and its groups; return the result, which is written with attributes ``more``."""
        from .. import results
        from ..runs.store import RESULTS, read_kind

        table, weights, groups = data
        with collected() as findings:
            of_rows = {"sample_weight": weights, "survey_weight": self.survey, "groups": groups}
            fit_arguments = groups if isinstance(groups, dict) else {k: v for k, v in of_rows.items() if v is not None}
            self._fit(estimator, table, out, fit_arguments)
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
            "findings": dumped([*self.noticed, *findings], lambda text: said(text, common.spoken)),
            **more,
        }
        if sensitivity:
            with common.shown_log(self.console):  # its runs are removed with the checkpoint
                estimator.sensitivity(table, **fit_arguments, checkpoint=out / "sensitivity.partial")
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
