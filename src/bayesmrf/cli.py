"""The command line: ``bayesmrf demo``, ``bayesmrf groups``, ``bayesmrf report``.

Whatever a user can mend is one sentence on standard error and exit code 2. Heavy imports wait inside the commands.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import __version__
from .errors import BayesMRFError, BayesMRFWarning, DataError, OptionError, StoreError, TooWideError

if TYPE_CHECKING:
    from rich.console import Console

    from .summary import Summary

USER_ERROR, INTERRUPTED = 2, 130

# What the library calls its arguments, and what they are called here.
_FLAGS = {
    "alpha": "--alpha",
    "base": "--base",
    "checkpoint": "--out",
    "fields": "--fields",
    "graph": "--graph",
    "inner": "--inner",
    "method": "--method",
    "out": "--out",
    "n_edges": "--graph learn:K",
    "n_jobs": "--jobs",
    "random_state": "--seed",
    "sample_weight": "--weight",
}

app = typer.Typer(
    help="Bayesian learning in Markov random fields: which edges of a network share a parameter, and what it is.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


class Method(StrEnum):
    """Samplers of groups."""

    tree = "tree"
    exact = "exact"
    auxiliary_variable = "auxiliary-variable"
    stripped_beta = "stripped-beta"


class Inner(StrEnum):
    """How auxiliary-variable draws its particles."""

    gibbs = "gibbs"
    exact = "exact"


class Stopped(Exception):
    """Ctrl-C, and what was kept."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayesmrf {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and stop.")
    ] = False,
) -> None:
    pass


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The report to write.")] = Path("demo-report.html"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the data drawn and of the chains.")] = 1,
) -> None:
    """Show the point in under a minute: a grid whose groups are known, then real data on 1,841 men."""
    from .demo import run_demo

    run_demo(out, seed, _console())


@app.command()
def groups(
    context: typer.Context,
    votes: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES.csv",
            help="Observations: one row each, one column a node, named in the first line; 0/1, -1/+1 or True/False. "
            "May be compressed (.csv.gz).",
        ),
    ],
    graph: Annotated[
        str,
        typer.Option(
            metavar="EDGES.csv|complete|learn:K",
            help="Two columns, the ends of each edge (column names, or numbers from 0); or all pairs; or K edges "
            "learnt from the data.",
        ),
    ],
    fields: Annotated[
        bool,
        typer.Option("--fields", help="Give each node a field of its own: wanted where yes and no differ in number."),
    ] = False,
    method: Annotated[
        Method, typer.Option(help="stripped-beta is fast and approximate, exact needs a narrow graph, tree a forest.")
    ] = Method.stripped_beta,
    alpha: Annotated[
        str,
        typer.Option(metavar="ALPHA|SHAPE,RATE", help="Concentration of the Dirichlet process, or its Gamma prior."),
    ] = "1.0",
    base: Annotated[str, typer.Option(metavar="A,B", help="Base distribution Beta(A, B) of an agreement.")] = "1,1",
    draws: Annotated[int, typer.Option(help="Draws of each chain.")] = 3000,
    warmup: Annotated[int, typer.Option(help="Steps of each chain before its first draw.")] = 500,
    chains: Annotated[int, typer.Option(help="Chains; several show whether they agree.")] = 4,
    thin: Annotated[int, typer.Option(help="Steps for each draw.")] = 1,
    inner: Annotated[Inner, typer.Option(help="Particles of auxiliary-variable.")] = Inner.gibbs,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column that says how many times a row was seen.")
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be given several times.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Same seed, same draws.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Chains at work at a time; as many as cores if not given.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the result, kept as it grows. [dim]\\[default: VOTES.zarr][/dim]"),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what --out holds.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no summary.")] = False,
) -> None:
    """Find the groups of edges that share a parameter.

    A run that was stopped, even killed, continues when the same command is given again.
    """
    from .tables import read_votes

    stem = votes.name.split(".csv")[0] or "groups"
    out = out or Path(f"{stem}.zarr")
    console = _console(quiet)
    for flag, value, least in (("draws", draws, 1), ("warmup", warmup, 0), ("chains", chains, 1), ("thin", thin, 1)):
        if value < least:
            raise OptionError(f"--{flag}: {value} came, a whole number >= {least} is wanted")
    prior = {"alpha": _numbers("--alpha", alpha, (1, 2)), "base": _numbers("--base", base, (2,))}
    _announce(out, overwrite, console)
    table, weights = read_votes(votes, weight, drop or ())
    edges = _edges(graph, [str(c) for c in table.columns], console)

    from . import results
    from .estimators import GroupedMRF
    from .summary import Summary

    estimator = GroupedMRF(
        graph=edges,
        method=method.value,
        alpha=prior["alpha"] if len(prior["alpha"]) == 2 else prior["alpha"][0],
        base=prior["base"],
        fields=fields,
        n_draws=draws,
        n_warmup=warmup,
        n_chains=chains,
        thin=thin,
        inner=inner.value,
        random_state=seed,
        n_jobs=jobs,
        progress=not quiet,
        checkpoint=out,
        overwrite=overwrite,
    )
    try:
        estimator.fit(table, sample_weight=weights)
    except DataError as e:
        raise DataError(_in_file(str(e), votes)) from None
    except TooWideError as e:
        raise TooWideError(f"{str(e).split(';')[0]}; use --method stripped-beta, or a graph with fewer edges") from None
    except KeyboardInterrupt:
        raise Stopped(f"stopped before the first draw; {_again(out)}") from None
    tree = estimator.posterior_
    if not tree.attrs["complete"]:
        raise Stopped(f"stopped; the draws so far are kept in {out}; {_again(out)}")
    tree.attrs |= {"data_file": votes.name, "graph": graph, "command": shlex.join(["bayesmrf", *context.obj])}
    results.finish(tree, out)
    show(Summary(tree), console)
    again = f"For a page with pictures: bayesmrf report {shlex.quote(str(out))}"
    console.print(f"\nThe result is in {out}\n{again}", soft_wrap=True)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(metavar="RUN.zarr", help="A finished result.")],
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
) -> None:
    """Write one self-contained HTML page about a result."""
    from .report import write_report

    _console().print(f"The report is {write_report(run, out, overwrite)}", soft_wrap=True)


def show(summary: Summary, console: Console) -> None:
    """Print what was run, the groups, and whether the chains agree."""
    from rich.table import Table

    console.print(f"\n{summary.data_sentence}")
    console.print(f"Method: {summary.attrs['method']}. Its draws are {summary.kind_sentence}.")
    console.print(f"{summary.draws_sentence}; {summary.attrs['run_time']:.1f} s.")
    console.print(f"Number of groups: {summary.n_groups_sentence}\n")
    table = Table(title="Groups (the partition closest to all draws)", title_justify="left")
    table.add_column("group", justify="right")
    table.add_column("edges", justify="right")
    table.add_column("agreement", justify="right")
    table.add_column("90 % interval", justify="right", no_wrap=True)
    table.add_column("for example")
    for g, row in zip(summary.group_table.index, summary.group_table.itertuples(index=False), strict=True):
        low_high = f"{row.low:.3f} to {row.high:.3f}"
        table.add_row(f"{g}", f"{row.size}", f"{row.agreement:.3f}", low_high, "; ".join(summary.examples(g)))
    console.print(table)
    console.print("Agreement: 0.5 where an edge says nothing, more where its ends tend to be alike, less where unlike.")
    console.print(f"\n{summary.verdict[1]}")


def _announce(out: Path, overwrite: bool, console: Console) -> None:
    """Refuse early what would be refused after all the work, and say whether a run continues."""
    from .checkpoint import CHECKPOINT, is_ours, progress_of, what
    from .run import Plan

    try:
        there = is_ours(out)
    except StoreError as e:
        raise StoreError(f"--out: {e}") from None
    if there and not overwrite:
        if what(out) != CHECKPOINT:
            raise StoreError(f"--out: {out} holds a finished result; give another path, or --overwrite to replace it")
        steps, s = progress_of(out)
        draw = Plan(s["n_draws"], s["n_warmup"], s["thin"]).kept(steps)
        console.print(f"{out} holds a run that was stopped: continuing at draw {draw} of {s['n_draws']}")
    above = next(p for p in (out.absolute(), *out.absolute().parents) if p.exists())
    if not (above.is_dir() and os.access(above, os.W_OK | os.X_OK)):
        raise StoreError(f"--out: {out} cannot be written, as {above} does not allow it; give another path")


def _edges(graph: str, names: Sequence[str], console: Console) -> Any:
    """The argument --graph in the form the estimator takes."""
    from .tables import read_edges

    if graph == "complete" or re.fullmatch(r"learn:\d+", graph):
        return graph
    if graph.startswith("learn:") or not Path(graph).exists():
        raise OptionError(f"--graph: {graph!r} is neither a file, nor complete, nor learn:K with a whole number K; "
                          "give one of these")  # fmt: skip
    edges, header = read_edges(Path(graph), names)
    if header is not None:
        console.print(f"The first line of {graph} ({header}) is read as a header.")
    return edges


def _numbers(flag: str, text: str, counts: tuple[int, ...]) -> tuple[float, ...]:
    """Numbers separated by commas."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) not in counts:
        wanted = "a number, or SHAPE,RATE, is" if 1 in counts else "two numbers A,B are"
        raise OptionError(f"{flag}: {text!r} came, {wanted} wanted, such as {'1.0 or 2,4' if 1 in counts else '1,1'}")
    return values


def _in_file(message: str, votes: Path) -> str:
    """A message about the table X, or its weights, as one about the file, whose rows people count from 1."""
    message = re.sub(r"\brow (\d+)", lambda m: f"row {int(m[1]) + 1} below the first line", message)
    return re.sub(r"^X(?=:)", str(votes), message)


def _again(out: Path) -> str:
    return "give the same command again to continue" if out.exists() else "nothing was written"


def _console(quiet: bool = False) -> Console:
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, quiet=quiet)


def _say(kind: str, message: str) -> None:
    """One line on standard error, arguments called by their names here."""
    message = " ".join(message.split())
    for name, flag in _FLAGS.items():
        message = re.sub(rf"(?<![\w-]){name}(?=[:=])", flag, message)
    message = re.sub(
        r"(set |or )?overwrite=True", lambda m: (m[1] or "").replace("set", "give") + "--overwrite", message
    )
    message = re.sub(r"^(shape|rate) of Gamma", r"--alpha: \g<0>", message)
    message = re.sub(r"\bof X\b", "of the data", message)
    message = re.sub(r"(--[\w-]+)='?([\w-]+)'?", r"\1 \2", message)
    typer.echo(f"{kind}: {message}", err=True)


@contextmanager
def _spoken_warnings() -> Iterator[None]:
    """Show each warning as one line."""

    def show_one(message: Any, category: Any, *_: Any, **__: Any) -> None:
        _say("warning", str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", BayesMRFWarning)
        warnings.filterwarnings("ignore", "the run was stopped", BayesMRFWarning)  # said at the end
        warnings.showwarning = show_one
        yield


def run(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit code."""
    command, arguments = typer.main.get_command(app), list(arguments) or ["--help"]
    usage_error: Any = typer.BadParameter.__base__
    try:
        with _spoken_warnings():
            code = command.main(arguments, prog_name="bayesmrf", standalone_mode=False, obj=list(arguments)) or 0
    except usage_error as e:
        where = e.ctx.command_path if getattr(e, "ctx", None) else "bayesmrf"
        _say("error", f"{e.format_message().rstrip('.')}; see {where} --help")
        return USER_ERROR
    except BayesMRFError as e:
        _say("error", str(e))
        return USER_ERROR
    except Stopped as e:
        _say("interrupted", str(e))
        return INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:  # typer's newer versions make this of Ctrl-C, older ones raise
        _say("interrupted", "nothing was written")
    return code


def main() -> None:
    """Entry point of the command ``bayesmrf``."""
    sys.exit(run(sys.argv[1:]))
