"""The command ``bayesmrf plot``: a figure for a paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..data.files import call
from ..errors import OptionError, renamed
from . import common
from .field_flags import flag


def plot(
    run: common.Finished,
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="network, networks, evidence, edges, differences, inclusion, communities, statistics, checks, "
            "sensitivity, groups, panel or trace: those that a result has.",
        ),
    ] = "network",
    out: Path | None = flag("File to write: .svg, .pdf or .png.", shown="RUN-KIND.pdf"),
    labels: Path | None = flag("Labels of nodes: lines of a name and its label.", "FILE.csv"),
    groups: str | None = flag(
        "Groups of nodes, which colour them: lines of a name and its group; or those of a prior with blocks.",
        "FILE.csv|communities",
    ),
    layout: str = flag(
        "Positions of nodes: of springs, on a circle, those of another result, or lines of a name and two numbers.",
        "spring|circle|RUN|FILE.csv",
        "spring",
    ),
    shown: str = flag(
        "Which edges: included by their Bayes factors, weakly included ones, too, all, or those with an inclusion "
        "above a number.",
        "included|weakly|all|P",
        "included",
    ),
    node_size: float | None = flag("Diameter of nodes in points.", shown="by their number"),
    width: str = flag("Width: 3.3 inches, 6.9 inches, or inches.", "column|page|INCHES", "column"),
    theme: str = flag("Colours.", "light|dark|grey", "light"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace --out.")] = False,
) -> None:
    """Draw a figure of a result for a paper."""
    common.say_at_once(f"reading {run.name}")
    from ..plots.figure import figure
    from ..show.page import check_out

    target = out or Path(f"{run.stem}-{kind}.pdf")
    check_out(target, overwrite)
    try:
        figure(
            common.finished(run),
            kind,
            target,
            labels=None if labels is None else _texts("--labels", labels),
            groups=groups if groups in (None, "communities") else _texts("--groups", Path(str(groups))),
            layout=_layout(layout),
            shown=_number(shown),
            node_size=node_size,
            width=_number(width),
            theme=theme,
        )
    except OptionError as e:
        if e.option != "groups":
            raise
        raise OptionError(renamed(e.text, "groups", "--groups")) from None  # of nodes; those of people are --by
    common.new_console().print(f"The figure is {target}", soft_wrap=True)


def _texts(option: str, path: Path) -> dict[str, str]:
    return {name: text for name, (text,) in _lines(option, path, 1).items()}


def _layout(text: str) -> Any:
    path = Path(text)
    if text not in ("spring", "circle") and not path.exists():
        expected = "spring, circle, the folder of a result, or a file with a name and two numbers a line"
        raise OptionError(option="--layout", got=text, expected=expected)
    if text in ("spring", "circle") or path.is_dir() or path.suffix == ".nc":
        return text
    rows = _lines("--layout", path, 2)
    try:
        return {name: (float(x), float(y)) for name, (x, y) in rows.items()}
    except ValueError:
        raise OptionError(option="--layout", got=text, expected="lines of a name and two numbers") from None


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _lines(option: str, path: Path, n_values: int) -> dict[str, list[str]]:
    """Return the values of each name in a file; a first line with the word "name" or "node" is a header."""
    from ..data.text_tables import entries_of

    lines = entries_of(path)
    if lines and lines[0][0].lower() in ("name", "node"):
        lines = lines[1:]
    wrong = next((line for line in lines if len(line) != 1 + n_values), None)
    if wrong is not None:
        expected = f"lines of a name and {'its text' if n_values == 1 else 'two numbers'}"
        raise OptionError(option=option, got=f"{call(path)} with a line of {len(wrong)} entries", expected=expected)
    return {name: values for name, *values in lines}
