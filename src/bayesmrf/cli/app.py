"""The command-line application: its commands, and how their errors are reported."""

from __future__ import annotations

import inspect
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..declare.option import arguments_of, meant
from ..errors import BayesMRFError, StoppedWarning
from ..names import shown
from .collect import collect
from .columns import SPREADSHEET_SAFE, columns
from .common import Finished, Stopped, finished, flag_of, new_console, say, say_at_once, spoken_warnings
from .compare_groups import compare
from .evidence import evidence
from .field_flags import flag
from .flags import command
from .groups import groups
from .other_programs import bgms
from .panel import panel
from .plot_figure import plot
from .posterior import posterior
from .structure import structure
from .studies import calibrate, plan

USER_ERROR, INTERRUPTED = 2, 130

COMMANDS = {
    function.__name__: function for function in (columns, groups, posterior, structure, compare, panel, evidence)
}


class Commands(TyperGroup):
    """Reads the flags of a command that stand in slow modules when it is called, not when commands are listed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name of a command, the command with all its flags, and its arguments."""
        name, subcommand, rest = super().resolve_command(ctx, args)
        table = next(filter(os.path.isfile, rest), None) if name in COMMANDS else None
        if table is not None and not ctx.resilient_parsing:  # that of completion
            say_at_once(f"reading {Path(table).name}", not {"--quiet", "-q", "--help"}.isdisjoint(rest))
        return name, whole(name) if name in COMMANDS else subcommand, rest


def whole(name: str) -> Any:
    """Return a command with all its flags."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    alone.command(name)(command(inspect.unwrap(COMMANDS[name]), whole=True))
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=Commands,
    help="Bayesian learning in Markov random fields: which edges of a network exist, which share a parameter, what it "
    "is, in which of them groups of people differ, what follows what in time, and how models compare.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


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
    seed: Annotated[int, typer.Option(min=0, help="Seed of the simulated data and of the chains.")] = 1,
) -> None:
    """Show what the package does in under a minute: a simulated grid with known groups, then data on 1,841 men."""
    from ..demo import run_demo

    run_demo(out, seed, new_console())


for function in COMMANDS.values():
    app.command()(function)
for function in (plot, bgms, collect, plan, calibrate):
    app.command()(function)


@app.command()
def doctor() -> None:
    """Show versions, processors, memory and the folder of machine code, and check answers that are known.

    The exit code is 1 if one of the answers is wrong.
    """
    say_at_once("looking at the installation")
    from ..doctor import examine

    console = new_console()
    if not examine(lambda text: console.print(text, soft_wrap=True, markup=False, highlight=False)):
        raise typer.Exit(1)


@app.command()
def report(
    run: Finished,
    out: Annotated[
        Path | None, typer.Option(help="The file to write.", show_default="RUN.html, or .txt, .tex or .docx")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
    to: Annotated[
        str,
        typer.Option(
            metavar="html|text|latex|docx",
            help="The page; or paragraphs for a paper, with the table of the edges: text, LaTeX, or a Word file.",
        ),
    ] = "html",
    nodes: Path | None = flag("More about nodes: a table with their names in its first column.", "FILE.csv"),
) -> None:
    """Write one self-contained HTML page about a result of groups, posterior, structure, compare or panel.

    Or, with --to, text for a paper about it.
    """
    say_at_once(f"reading {run.name}")
    from ..progress import announced
    from ..report import write_report
    from ..report.manuscript import SUFFIXES

    out = out or Path(f"{run.stem}{SUFFIXES.get(to, '.html')}")
    with announced("writing the report", True) as work:
        page = write_report(finished(run), out, overwrite, to, nodes)
    took = f" ({work.took()})" if work.took() else ""
    new_console().print(f"The report is {page}{took}", soft_wrap=True)


@app.command()
def export(
    run: Finished,
    to: Annotated[
        str,
        typer.Option(
            metavar="csv|json|graphml",
            help="A folder of tables; one file of all tables; the network, or a folder with those of groups of people.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file or folder to write.",
            show_default="RUN.json, RUN.graphml, or the folder RUN-csv or RUN-graphml",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
    spreadsheet_safe: Annotated[bool, typer.Option("--spreadsheet-safe", help=SPREADSHEET_SAFE)] = False,
) -> None:
    """Write every table of a result of groups, posterior, structure, compare or panel for other programs, unrounded."""
    from ..report.export import export as write
    from ..report.export import is_folder
    from ..results import load

    tree = load(finished(run))
    name = f"{run.stem}-{to}" if is_folder(tree, to) else f"{run.stem}.{to}"
    written = write(tree, out or Path(name), to, overwrite, spreadsheet_safe)
    new_console().print(f"The result is written to {written}", soft_wrap=True)


def _problem(e: Any) -> str:
    """Say what is wrong with a command line; of an unknown option, also which one was meant."""
    if type(e).__name__ != "NoSuchOption" or e.ctx is None:
        return str(e.format_message())
    unknown = e.option_name
    flags = {flag.removeprefix("--").replace("-", "_"): flag for p in e.ctx.command.params for flag in p.opts}
    words = arguments_of(unknown.removeprefix("--"))  # an argument of Python, or what other packages call it
    guess = next((flag for flag in map(flag_of, words) if flag in flags.values()), flags.get(meant(words[0], flags)))
    return f"No such option: {unknown}" + (f" (did you mean {guess}?)" if guess else "")


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return the exit code."""
    every, arguments = typer.main.get_command(app), list(arguments) or ["--help"]
    usage_error: Any = typer.BadParameter.__base__
    try:
        with spoken_warnings():
            code = every.main(arguments, prog_name="bayesmrf", standalone_mode=False, obj=list(arguments)) or 0
    except usage_error as e:
        where = e.ctx.command_path if e.ctx else "bayesmrf"
        say("error", f"{_problem(e).rstrip('.')}; see {where} --help")
        return USER_ERROR
    except BayesMRFError as e:
        say("error", e)
        return USER_ERROR
    except OSError as e:  # such as a full disk while a figure or report is written
        say("error", f"{shown(e.filename or 'a file', 200)} cannot be read or written ({e.strerror or e}); "
                     "free disk space, or give another path")  # fmt: skip
        return USER_ERROR
    except Stopped as e:
        say("interrupted", str(e))
        return INTERRUPTED
    except (KeyboardInterrupt, StoppedWarning, typer.Abort):
        code = INTERRUPTED
    if code == INTERRUPTED:  # Ctrl-C: newer versions of typer return this code, older ones raise
        say("interrupted", "nothing was written")
    return code
