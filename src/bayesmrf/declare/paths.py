"""Paths that arguments must be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import OptionError, StoreError, argument, in_python
from .rule import PATH

_OTHER_FORMS = {
    *(".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods", ".json", ".graphml", ".gml", ".gexf", ".html", ".htm", ".pdf"),
    *(
        ".png",
        ".svg",
        ".pkl",
        ".pickle",
        ".joblib",
        ".npz",
        ".npy",
        ".rds",
        ".rda",
        ".rdata",
        ".sav",
        ".dta",
        ".parquet",
    ),
    *(".feather", ".h5", ".hdf5", ".zip"),
}


def path_of(option: str, value: Any) -> Path:
    """Return the path that an argument must be."""
    PATH.check(option, value)
    return Path(value)


def result_path(option: str, value: Any) -> Path:
    """Return where a result is to be written; refuse the name of a file of another kind."""
    path = path_of(option, value)
    if path.suffix.lower() in _OTHER_FORMS:
        expected = f"a folder, such as votes_run{in_python(', or a file whose name ends with .nc')}"
        tables = in_python("bayesmrf.export(result, out, to='csv')", "bayesmrf export")
        remedy = f"{tables} writes tables, and {in_python('write_report', 'bayesmrf report')} a page"
        raise OptionError(option=option, got=str(path), expected=expected, remedy=remedy)
    return path


def refuse_existing(out: Path, can_overwrite: bool = True) -> None:
    """Refuse to replace ``out``, and name the option that allows it, if there is one."""
    if out.exists():
        replace = f" or set {argument('overwrite', True)}" if can_overwrite else ""
        raise StoreError(f"{argument('out')}: {out} exists already; give another path{replace}.")
