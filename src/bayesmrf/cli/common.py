"""What the commands share: options, reading of files, runs, and messages."""

from __future__ import annotations

import hashlib
import logging
import re
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..data.files import STDIN, call, check_path, kind_of
from ..declare.option import rule_of
from ..declare.paths import result_path
from ..errors import (
    AND,
    BayesMRFError,
    BayesMRFWarning,
    DataError,
    OptionError,
    StoppedWarning,
    StoreError,
    argument,
    said,
    said_in_python,
)
from ..names import file_stem, shown

if TYPE_CHECKING:
    from rich.console import Console

    from ..declare.registries import Registry

# Flags whose name differs from that of the argument; all others are spelled like the argument.
_FLAGS = {
    "checkpoint": "--out",
    "estimator": "RUN",
    "folder": "--out",
    "groups": "--by",
    "hidden": "--hidden-engine",
    "kind": "KIND",
    "n_edges": "--graph learn:K",
    "n_hidden": "--hidden",
    "partition": "--blocks",
    "path": "--out",
    "random_state": "--seed",
    "run": "RUN",
    "sample_weight": "--weight",
}


def flag_of(option: str) -> str:
    """Return the flag of an argument of the library, or of a field of one."""
    name = option.rpartition(".")[2]
    return option if option.startswith("-") or option == "X" else _FLAGS.get(name, "--" + name.replace("_", "-"))


Finished = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a finished result.")]
_TABLES = {".xlsx", ".xlsm", ".sav", ".zsav", ".dta", ".parquet", ".feather"}  # names of tables that are no text
_LONGEST = 3000  # letters of a message
_MOST = 10  # chains that are listed
_MARK = "bayesmrf"  # in the first bytes of pictures


class Joining(list[str]):
    """The words of a command that judges and joins chains, and makes no step."""


class Stopped(Exception):
    """The run was interrupted by Ctrl-C; the message says what was kept."""


def stem_of(path: Path) -> str:
    """Return the name of a table without its extensions, as the stem of the name of a result."""
    name = "stdin" if path == STDIN else path.name.split(".csv")[0]
    return file_stem(Path(name).stem if Path(name).suffix.lower() in _TABLES else name)


def checked(owner: Any, **options: Any) -> dict[str, Any]:
    """Check options of the estimator ``owner`` before anything is read or written, and return them."""
    for name, value in options.items():
        rule = rule_of(owner, name)
        if rule is not None:
            rule.check(name, value)
    return options


def own_options(registry: Registry[Any], name: str, options: dict[str, Any]) -> Any:
    """Build the options of a method from those given; "auto", which has none, is returned as it is."""
    if name != "auto":
        return registry.build(name, options)
    for option, value in options.items():
        raise OptionError(
            option=option,
            got=value,
            expected=f"omitted with {argument(registry.option, name)}",
            remedy=f"give a {registry.option}",
        )
    return name


def prior_of(flag: str, text: str, counts: tuple[int, ...], prior: Callable[..., Any], expected: str) -> Any:
    """Return the prior with the numbers of a text as its parameters, or a single number if one is allowed."""
    try:
        values = tuple(float(part) for part in text.split(","))
        if len(values) in counts:
            return values[0] if len(values) == 1 else prior(*values)
    except OptionError as e:
        raise OptionError(option=flag, got=text, expected=e.expected) from None
    except ValueError:
        pass
    raise OptionError(option=flag, got=text, expected=expected)


def density(text: str, files: bool = True) -> Any:
    """Return the share of edges that exist, or its Beta prior; or the path of a file with the probability of each."""
    from ..priors import Beta

    if files and kind_of(Path(text)) == "file":
        return Path(text)
    more = ", or a file of probabilities" if files else ""
    return prior_of("--density", text, (1, 2), Beta, f"a number, or A,B, such as 0.2 or 5,5{more}")


def check_out(out: Path, overwrite: bool) -> None:
    """Check before the run that its result can be written."""
    from ..runs.netcdf import SUFFIX
    from ..runs.store import CHECKPOINT, is_ours, read_kind

    if out.suffix == SUFFIX:
        remedy = "save(load(folder), file), in Python, writes the result as a netCDF file"
        raise OptionError(option="--out", got=str(out), expected="a folder, such as votes_run", remedy=remedy)
    result_path("--out", out)
    try:
        finished = is_ours(out) and not overwrite and read_kind(out) != CHECKPOINT
    except StoreError as e:
        raise StoreError(f"--out: {e}") from None
    if finished:
        raise StoreError(f"--out: {out} holds a finished result; give another path, or --overwrite to replace it")
    check_writable(out)


def finished(run: Path) -> Path:
    """Return the path of a result; refuse one of draws alone, and say which commands complete it."""
    from ..runs.checkpoint import steps_of
    from ..runs.store import CHECKPOINT, RECORD, is_ours, read_kind

    if (run / RECORD).is_file() and is_ours(run) and read_kind(run) == CHECKPOINT:
        left = [*unfinished(*steps_of(run)).values()] or ["all chains have their draws, and are not joined"]
        raise StoreError(
            f"{run} contains an unfinished run ({', '.join(left[:_MOST])}); give the command that made it again, or, "
            f"if tasks ran its chains, bayesmrf collect {shlex.quote(str(run))}."
        )
    return run


@contextmanager
def shown_log(console: Console) -> Iterator[None]:
    """Print the log messages of the library, such as that a run continues."""
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
    """Check that a path can be written, by writing: permissions alone do not suffice."""
    check_path(out, "--out: ")
    above = next(p for p in (out.absolute(), *out.absolute().parents) if p.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".bayesmrf-", dir=above):
            pass
    except OSError as e:
        raise StoreError(f"--out: {out} cannot be written, as {above} is not writable ({e.strerror}); give another "
                         "path") from e  # fmt: skip


def check_folder(out: Path) -> None:
    """Check that several results can be written to a folder, which is not that of one."""
    from ..runs.store import RECORD

    check_path(out, "--out: ")
    if out.exists() and not out.is_dir():
        raise StoreError(f"--out: {out} must be a folder, got a file; give another path.")
    if (out / RECORD).exists():
        raise StoreError(f"--out: {out} is the result of a single run; give another path.")
    check_writable(out)


def checksum(asked: Mapping[str, Any], data: Any, weights: Any) -> str:
    """Return a checksum of the data, and of all options on which results depend."""
    import pandas as pd

    digest = hashlib.sha256(repr((sorted(asked.items()), list(data.columns))).encode())
    for table in (data, weights):
        if table is not None:
            digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    ordered = data.select_dtypes("category").dtypes
    kinds = [(name, list(kind.categories)) for name, kind in ordered.items()]
    if kinds:  # whose order hashes of values do not depend on
        digest.update(repr(kinds).encode())
    return digest.hexdigest()


def check_picture(picture: Path, overwrite: bool) -> None:
    """Refuse to replace a picture that `save_picture` did not write."""
    if picture.exists() and not overwrite and _MARK.encode() not in picture.read_bytes()[:1000]:
        raise StoreError(f"--out: {picture} exists and was not written by bayesmrf; give another path.")


def save_picture(axes: Any, picture: Path) -> None:
    """Write the figure of some axes; a picture of that name stays as it is until the new one is complete."""
    partial = picture.with_name(f"{picture.stem}.partial{picture.suffix}")
    axes.get_figure(root=True).savefig(partial, dpi=150, metadata={"Software": _MARK})
    partial.replace(picture)


@contextmanager
def about_file(source: Path) -> Iterator[None]:
    """Turn messages about the table X, or its weights, into messages about the file, with rows counted from 1."""

    def say_of_file(kind: str, name: str, value: str) -> str:
        return call(source) if name == "X" else spoken(kind, name, value)

    try:
        yield
    except DataError as e:
        raise DataError(said(e.text, say_of_file)) from None


def unfinished(steps: Sequence[int], settings: dict[str, Any]) -> dict[int, str]:
    """Return what is missing of each chain that is not complete."""
    from ..runs.chain import Plan

    plan = Plan(*(settings[name] for name in Plan._fields))
    return {
        i: f"chain {i} has {plan.kept(n):,} of {plan.n_draws:,} draws" if n else f"chain {i} has not begun"
        for i, n in enumerate(steps)
        if n < plan.n_steps
    }


def new_console(quiet: bool = False) -> Console:
    """Return a console for results, in which names from files cannot control the terminal."""
    from rich.console import Console
    from rich.text import Text

    class SafeConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str(shown(text, None, keep="\n"), **options)

    return SafeConsole(markup=False, highlight=False, emoji=False, quiet=quiet)


def say_at_once(text: str, quiet: bool = False) -> None:
    """Print what a command does on a terminal, before the slow imports."""
    if sys.stderr.isatty() and not quiet:
        typer.echo(shown(text, _LONGEST), err=True)


def spoken(kind: str, name: str, value: str) -> str:
    """Write a marked term of a message (`bayesmrf.errors.said`) as on the command line."""
    if kind == "python":
        return value
    if kind == "row":
        return f"row {int(name) + 1} below the first line"
    if kind == "preparing":
        return " ".join(f"--{name} {shlex.quote(shown(text, None))}" for text in value.split(AND))
    if kind == "code":
        return " ".join(["give", *(f"--missing-code {shlex.quote(shown(value, None))}" for value in name.split(AND))])
    if kind != "argument" or name == "X":
        return "the data" if name == "X" else said_in_python(kind, name, value)
    flag = flag_of(name)
    if value in ("True", "False"):
        return flag if value == "True" else flag.replace("--", "--no-", 1)
    return f"{flag} {value}".rstrip().replace("'", "")


def say(kind: str, message: str | BayesMRFError | Warning) -> None:
    """Write one line to standard error, with arguments called by their flags."""
    text = said(message.text, spoken) if isinstance(message, BayesMRFError | BayesMRFWarning) else str(message)
    text = re.sub(r"(\S{100})\S{200,}", r"\1...", " ".join(text.split()))
    typer.echo(f"{kind}: {shown(text, _LONGEST)}", err=True)


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Print each warning once, in one line."""
    known = set[str]()

    def show_one(message: Any, category: Any, *_: Any, **__: Any) -> None:
        if str(message) not in known:
            known.add(str(message))
            say("warning", message)

    with warnings.catch_warnings():
        warnings.simplefilter("always", BayesMRFWarning)
        warnings.simplefilter("error", StoppedWarning)  # no command takes a part of the draws for all of them
        warnings.showwarning = show_one
        yield
