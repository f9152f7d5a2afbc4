"""What the commands share: their options, reading, running, and how they speak."""

from __future__ import annotations

import logging
import re
import shlex
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import (
    BayesMRFError,
    BayesMRFWarning,
    ConvergenceWarning,
    DataError,
    OptionError,
    StoreError,
    TooWideError,
    in_words,
    said,
    said_in_python,
)
from ..files import call, check_path, kind_of
from ..names import file_stem, shown
from ..options import check
from ..rules import is_count

if TYPE_CHECKING:
    from rich.console import Console

    from ..registry import Registry

# Flags that have another name than the argument; those of all other arguments are spelled as these are.
_FLAGS = {
    "checkpoint": "--out",
    "n_edges": "--graph learn:K",
    "n_hidden": "--hidden",
    "random_state": "--seed",
    "sample_weight": "--weight",
}


def flag_of(option: str) -> str:
    """Return what an argument of the library, or a field of one, is called on the command line."""
    name = option.rpartition(".")[2]
    return option if option.startswith("-") or option == "X" else _FLAGS.get(name, "--" + name.replace("_", "-"))


# Options of every command that samples.
Draws = Annotated[int, typer.Option(help="Draws of each chain.")]
Warmup = Annotated[int, typer.Option(help="Steps of each chain before its first draw.")]
Chains = Annotated[int, typer.Option(help="Chains; several show whether they agree.")]
Thin = Annotated[int, typer.Option(help="Steps for each draw.")]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column that says how many times a row was seen.")]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be given several times.")
]
MissingCode = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CODE",
        help="Value that stands for a missing one, such as -9; may be given several times; none: every value is an "
        "answer, however far from the others.",
    ),
]
Binarize = Annotated[
    str | None,
    typer.Option(metavar='">=4"', help='Which levels mean yes: ">=4", ">2", "<=1", "<3" or "==5", in quotes.'),
]
Seed = Annotated[int | None, typer.Option(min=0, help="Same seed, same draws.")]
Jobs = Annotated[int | None, typer.Option(help="Chains at work at a time; as many as cores if not given.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what --out holds.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars and no summary.")]
GRAPH_HELP = (
    "Two columns, the ends of each edge (column names, or numbers from 0); or all pairs; or K edges learnt from the "
    "data."
)


_LONGEST = 3000  # letters of a message


class Stopped(Exception):
    """Ctrl-C, and what was kept."""


def stem_of(path: Path) -> str:
    """Name of a table without its endings, fit to begin the name of a result."""
    return file_stem(path.name.split(".csv")[0])


def checked(owner: str, **options: Any) -> dict[str, Any]:
    """Return the options of an estimator, named ``owner``, after a check of each; nothing is read or written before."""
    check(options, owner)
    return options


def own_options(registry: Registry[Any], name: str, **given: Any) -> Any:
    """Return the options of a method or kernel, of which those that are not None were given."""
    return registry.build(name, {option: value for option, value in given.items() if value is not None})


def number_or_prior(flag: str, text: str, prior: Callable[[float, float], Any], expected: str) -> Any:
    """Return a number, or a prior of the two numbers given."""
    found = numbers(flag, text, (1, 2), expected)
    try:
        return prior(*found) if isinstance(found, tuple) else found
    except OptionError as e:
        raise OptionError(option=flag, got=text, expected=e.expected) from None


def beta(flag: str, text: str) -> Any:
    """Return the Beta distribution of two numbers."""
    from ..priors import Beta

    a, b = numbers(flag, text, (2,), "two numbers A,B, such as 1,1")  # type: ignore[misc]
    try:
        return Beta(a, b)
    except OptionError as e:
        raise OptionError(option=flag, got=text, expected=e.expected) from None


def check_out(out: Path, overwrite: bool) -> None:
    """Refuse early what would be refused after all the work."""
    from ..store import CHECKPOINT, is_ours, read_kind

    try:
        finished = is_ours(out) and not overwrite and read_kind(out) != CHECKPOINT
    except StoreError as e:
        raise StoreError(f"--out: {e}") from None
    if finished:
        raise StoreError(f"--out: {out} holds a finished result; give another path, or --overwrite to replace it")
    check_writable(out)


@contextmanager
def shown_log(console: Console) -> Iterator[None]:
    """Print what the library logs, such as that a run continues."""
    log, handler = logging.getLogger("bayesmrf"), logging.Handler(logging.INFO)
    handler.emit = lambda record: console.print(record.getMessage(), soft_wrap=True)  # type: ignore[method-assign]
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def check_writable(out: Path) -> None:
    """Refuse a place that does not allow writing: by writing, as permissions alone do not tell."""
    check_path(out, "--out: ")
    above = next(p for p in (out.absolute(), *out.absolute().parents) if p.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".bayesmrf-", dir=above):
            pass
    except OSError as e:
        raise StoreError(f"--out: {out} cannot be written, as {above} does not allow it ({e.strerror}); give another "
                         "path") from e  # fmt: skip


def numbers(flag: str, text: str, counts: tuple[int, ...], expected: str) -> float | tuple[float, ...]:
    """Return numbers separated by commas; one alone where one is allowed."""
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if len(values) not in counts:
        raise OptionError(option=flag, got=text, expected=expected)
    return values[0] if len(values) == 1 else values


def edges_of(graph: str, names: Sequence[str], console: Console, flag: str = "--graph") -> Any:
    """The argument --graph, or --candidates, which are never learnt, in the form the estimators take."""
    from ..tables import read_edges

    learns, everything = flag == "--graph", "complete"
    if graph == everything or (learns and graph.startswith("learn:") and is_count(graph[6:])):
        return graph
    if graph.startswith("learn:") or kind_of(Path(graph)) == "nothing":
        forms = f"a file{',' if learns else ''} nor {everything}"
        forms += ", nor learn:K with a whole number K" if learns else ""
        raise OptionError(f"{flag}: {in_words(graph)} is neither {forms}; give one of these")
    edges, header = read_edges(Path(graph), names, flag)
    if header is not None:
        console.print(f"The first line of {graph} ({header}) is read as a header.")
    return edges


@contextmanager
def about_file(source: Path) -> Iterator[None]:
    """Messages about the table X, or its weights, as ones about the file, whose rows people count from 1."""

    def say_of_file(kind: str, name: str, value: str) -> str:
        if kind == "row":
            return f"row {int(name) + 1} below the first line"
        if kind == "code":
            return f"give --missing-code {name}"
        return call(source) if name == "X" else spoken(kind, name, value)

    try:
        yield
    except DataError as e:
        raise DataError(said(e.text, say_of_file)) from None


@contextmanager
def about_fit(source: Path, instead: str) -> Iterator[None]:
    """Messages of a fit; ``instead`` is the way out where a graph is too wide."""
    try:
        with about_file(source):
            yield
    except TooWideError as e:
        raise TooWideError(e.problem, remedy=f"use {instead}, or a graph with fewer edges") from None


def sample(estimator: Any, table: Any, weights: Any, source: Path, out: Path, console: Console, instead: str) -> Any:
    """Fit, and return the tree of a run that is complete; ``instead`` is the way out where a graph is too wide."""
    try:
        with about_fit(source, instead), shown_log(console), warnings.catch_warnings():
            if estimator.progress:  # else nothing is printed, and neither is the verdict, which says the same
                warnings.filterwarnings("ignore", "Not converged", ConvergenceWarning)
            estimator.fit(table, sample_weight=weights)
    except KeyboardInterrupt:
        again = "give the same command again to continue" if out.exists() else "nothing was written"
        raise Stopped(f"stopped before the first draw; {again}") from None
    tree = estimator.posterior_
    if not tree.attrs["complete"]:
        raise Stopped(f"stopped; the draws so far are kept in {out}; give the same command again to continue")
    return tree


def finish(tree: Any, out: Path, source: Path, arguments: Sequence[str], **more: Any) -> None:
    """Write a result in the place of its checkpoint, with what the command line knows of it."""
    from .. import results

    command = shlex.join(["bayesmrf", *arguments])
    tree.attrs |= {"data_file": source.name, "command": command, **more}
    results.finish(tree, out)


def point_to_report(out: Path, console: Console) -> None:
    """Say where the result is and what can be made of it."""
    again = f"For a page with pictures: bayesmrf report {shlex.quote(str(out))}"
    console.print(f"\nThe result is in {out}\n{again}", soft_wrap=True)


def new_console(quiet: bool = False) -> Console:
    """Where results are printed; whatever is printed there, no name can steer the terminal."""
    from rich.console import Console
    from rich.text import Text

    class SafeConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(shown(text, None, keep="\n"), **options)

    return SafeConsole(markup=False, highlight=False, emoji=False, quiet=quiet)


def spoken(kind: str, name: str, value: str) -> str:
    """Write a marked term of a message (`bayesmrf.errors.said`) as on the command line."""
    if kind == "python":
        return ""
    if kind != "argument" or name == "X":
        return "the data" if name == "X" else said_in_python(kind, name, value)
    flag = flag_of(name)
    if value in ("True", "False"):
        return flag if value == "True" else flag.replace("--", "--no-", 1)
    return f"{flag} {value}".rstrip().replace("'", "")


def say(kind: str, message: str | BayesMRFError | BayesMRFWarning) -> None:
    """Write one line to standard error, with arguments called by their flags."""
    text = message if isinstance(message, str) else said(message.text, spoken)
    text = re.sub(r"(\S{100})\S{200,}", r"\1...", " ".join(text.split()))
    typer.echo(f"{kind}: {shown(text, _LONGEST)}", err=True)


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Show each warning as one line, and once."""
    known = set[str]()

    def show_one(message: Any, category: Any, *_: Any, **__: Any) -> None:
        if str(message) not in known:
            known.add(str(message))
            say("warning", message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", BayesMRFWarning)
        warnings.filterwarnings("ignore", "the run was stopped", BayesMRFWarning)  # said at the end
        warnings.showwarning = show_one
        yield
