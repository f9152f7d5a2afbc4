"""Options that several commands share, declared once as the fields of records."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_origin, get_type_hints

import typer

from ..declare.registries import Registry
from ..errors import StoppedWarning
from .common import Stopped
from .field_flags import flag, record_of, record_of_fields
from .records import NOTHING, Data, Run


def observations(metavar: str, codes: str) -> Any:
    """Declare the table of observations; ``codes`` describes its values."""
    return typer.Argument(
        ...,
        metavar=metavar,
        help="Table with one row per observation and one column per node, named in the first line; "
        f"{codes}. CSV, plain or compressed (.csv.gz), Excel, SPSS, Stata, Parquet or Feather; - is standard input.",
    )


def density_flag(share: str, default: str | None, **more: Any) -> Any:
    """Declare the prior of a share of edges."""
    text = f"Beta prior of the share of {share}, or its fixed value; or a file with the probability of each pair, as a "
    text += "square matrix or as lines of two columns and a number: 0 forbids, and 1 forces."
    return flag(text, "A,B|P0|FILE.csv", default, **more)


def slab_flag(weights: str, default: str | None, **more: Any) -> Any:
    """Declare the prior of weights, or of differences."""
    text = (
        f"Prior of the {weights}: cauchy:SCALE, normal:SCALE or moment:SCALE (which is 0 at 0); cauchy:SHAPE,RATE with "
    )
    text += "a Gamma prior of the scale, SHAPE,RATE, normal with one of the precision, or FILE.py:NAME:SCALE."
    return flag(text, SLAB, default, **more)


SLAB = "SLAB"
_OF_COLUMNS, _OF_DRAWS = (
    "Rows and columns of the table (options of columns may be given several times)",
    "Draws and result",
)  # panels of help pages
_DRAWS = {f.name for f in fields(Run)} - {f.name for f in fields(Data)} | {"seed", "overwrite", "quiet"}
_CONTINUES = "A run that was stopped, even killed, continues when the same command is given again."
SENSITIVITY: Any = flag(
    "How the evidence depends on the prior of the edges, too: at most eight more runs.", None, False, "--sensitivity"
)
BINARIZE: Any = flag('Levels that count as yes: ">=4", ">2", "<=1", "<3" or "==5", in quotes.', '">=4"')


def command(function: Callable[..., None], whole: bool = False) -> Callable[..., None]:
    """Return a command with an option for each field of the records among the parameters of a function.

    A parameter that is named as a field declares its option, such as the table of observations. One that is annotated
    with the parameters of an estimator gets those that have flags; one that is annotated with `Methods` gets their
    options that were given, by flag; those of slow modules are read if the command is to be ``whole``. The help text of
    a command with a `Run` says that runs continue.
    """
    hints = get_type_hints(function, include_extras=True)
    kinds: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    declared = {name: kind.__metadata__[0] for name, kind in hints.items() if get_origin(kind) is Annotated}
    parameters = {name: record_of_fields(of, hints) for name, of in declared.items() if isinstance(of, type)}
    methods = {
        name: record_of(of if whole or isinstance(of, Registry) else list)
        for name, of in declared.items()
        if name not in parameters
    }
    kinds |= parameters | methods
    outer = {p.name: p.replace(kind=Parameter.KEYWORD_ONLY) for p in signature(function).parameters.values()}
    flattened: dict[str, Parameter] = {}
    for name, parameter in outer.items():
        if name not in kinds:
            flattened[name] = parameter.replace(annotation=hints[name])
            continue
        kind, inner = get_type_hints(kinds[name]), signature(kinds[name]).parameters
        inherited = {f.name for base in kinds[name].__bases__ if is_dataclass(base) for f in fields(base)}
        for f in sorted(inner.keys() - outer.keys(), key=lambda f: (f in inherited, [*inner].index(f))):
            if issubclass(kinds[name], Data):
                inner[f].default.rich_help_panel = _OF_DRAWS if f in _DRAWS else _OF_COLUMNS
            flattened[f] = Parameter(f, Parameter.KEYWORD_ONLY, default=inner[f].default, annotation=kind[f])

    @functools.wraps(function)
    def called(**values: Any) -> None:
        records = {name: kind(**{f.name: values[f.name] for f in fields(kind)}) for name, kind in kinds.items()}
        records |= {name: vars(records[name]) for name in parameters}
        for name in methods:
            records[name] = {option: value for option, value in vars(records[name]).items() if value is not None}
        try:
            function(**{name: records[name] if name in records else values[name] for name in outer})
        except (KeyboardInterrupt, StoppedWarning):
            kept = next((record.kept for record in records.values() if isinstance(record, Data)), NOTHING)
            raise Stopped(kept) from None

    if Run in kinds.values():
        called.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{_CONTINUES}"
    called.__signature__ = Signature(list(flattened.values()))  # type: ignore[attr-defined]
    called.__annotations__ = {name: p.annotation for name, p in flattened.items()}
    return called
