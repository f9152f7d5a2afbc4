"""Reading the command line's tables: observations and edges from CSV files."""

from __future__ import annotations

import operator
import re
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import DataError, GraphError, OptionError

if TYPE_CHECKING:
    import pandas as pd

_VALUES = {"0", "1", "-1", "0.0", "1.0", "-1.0", "true", "false"}
_COMPARISONS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq}


def read_votes(
    path: Path, weight: str | None = None, drop: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.Series | None]:
    """Read observations, one a row, from a CSV file whose first line names the columns.

    Parameters
    ----------
    path : Path
        ``.csv``, or compressed as ``.csv.gz``, ``.bz2``, ``.xz`` or ``.zip``.
    weight : str, optional
        Column that counts how many times each row was seen.
    drop : sequence of str
        Columns to leave out.

    Returns
    -------
    table : DataFrame
        Columns are the nodes; values are not checked here.
    weights : Series or None

    Raises
    ------
    DataError
        If the file cannot be read, is not a table, or has no header line.
    OptionError
        If ``weight`` or ``drop`` names a column that is not there.
    """
    header = [str(c) for c in _read(path, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]]
    twice = next((c for i, c in enumerate(header) if c and c in header[:i]), None)
    if twice is not None and all(c.strip().lower() in _VALUES for c in header):
        raise DataError(f"{path}: the first line holds values, not names; put a header line with the columns' names")
    if twice is not None:
        raise DataError(f"{path}: column name {twice!r} occurs twice in the first line; give each column its own name")
    table = _read(path, index_col=False)
    names = [str(c) for c in table.columns]
    for option, wanted in (("--drop", drop), ("--weight", [weight] if weight is not None else [])):
        unknown = next((c for c in wanted if c not in names), None)
        if unknown is not None:
            raise OptionError(f"{option}: there is no column {unknown!r} in {path}; its columns are {_some(names)}")
    if weight is not None and weight in drop:
        raise OptionError(f"--weight: column {weight!r} is also named by --drop; leave it out there")
    weights = None if weight is None else table[weight]
    table = table.drop(columns=[*drop, *([weight] if weight is not None else [])])
    unnamed = next((str(c) for c in table.columns if re.fullmatch(r"Unnamed: \d+", str(c))), None)
    if unnamed is not None:
        raise DataError(f"{path}: a column has no name in the first line; if it holds row labels leave it out with "
                        f"--drop {unnamed!r}, else name it")  # fmt: skip
    if table.shape[1] < 2:
        raise DataError(f"{path}: {table.shape[1]} column(s) are left; at least two nodes are wanted, in columns "
                        "separated by commas")  # fmt: skip
    return table, weights


def read_edges(path: Path, names: Sequence[str], option: str = "--graph") -> tuple[list[tuple[Any, Any]], str | None]:
    """Read edges from a CSV file of two columns, the ends of each edge.

    Ends are node names or, where every end is a whole number and no node has a number for a name, node numbers from 0.
    The first line is a header if neither of its entries is a node while the next line has one.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        Names of the nodes.
    option : str
        What asked for the edges, for the messages.

    Returns
    -------
    edges : list of pairs
    header : str or None
        The header line, if there was one.

    Raises
    ------
    GraphError
        If the file cannot be read, or is not two columns of nodes (the message names the line).
    """
    try:
        table = _read(path, header=None, dtype=str, keep_default_na=False, skip_blank_lines=False)
    except DataError as e:
        raise GraphError(f"{option}: {e}") from None
    if table.shape[1] != 2:
        raise GraphError(f"{option}: {path} has {table.shape[1]} column(s); two are wanted, the ends of each edge")
    lines = [(i, a.strip(), b.strip()) for i, (a, b) in enumerate(table.itertuples(index=False, name=None), start=1)]
    lines = [(i, a, b) for i, a, b in lines if a or b]
    half = next((i for i, a, b in lines if not (a and b)), None)
    if half is not None:
        raise GraphError(f"{option}: line {half} of {path} has one end only; write two nodes, separated by a comma")
    known, seen = set(names), set[frozenset[str]]()

    def is_node(s: str) -> bool:
        return s in known or _is_number(s)

    header = None
    if lines and not any(map(is_node, lines[0][1:])) and (len(lines) == 1 or any(map(is_node, lines[1][1:]))):
        header = ",".join(lines.pop(0)[1:])
    if not lines:
        raise GraphError(f"{option}: {path} holds no edges; write two nodes a line, or give complete"
                         f"{' or learn:K' if option == '--graph' else ''}")  # fmt: skip
    for i, a, b in lines:
        if a == b:
            raise GraphError(f"{option}: line {i} of {path} joins {a!r} to itself; remove self-loops")
        if frozenset((a, b)) in seen:
            raise GraphError(f"{option}: line {i} of {path} ({a!r}, {b!r}) is a duplicate; list each pair once")
        seen.add(frozenset((a, b)))
    if all(_is_number(s) for _, *ends in lines for s in ends) and not any(map(_is_number, names)):
        wrong = next(((i, s) for i, *ends in lines for s in ends if not 0 <= int(s) < len(names)), None)
        if wrong is not None:
            raise GraphError(f"{option}: node number {wrong[1]} in line {wrong[0]} of {path} is out of range; the "
                             f"{len(names)} columns of the data are numbered from 0 to {len(names) - 1}")  # fmt: skip
        return [(int(a), int(b)) for _, a, b in lines], header
    missing = [(i, s) for i, *ends in lines for s in ends if s not in known]
    if missing:
        line, name = missing[0]
        count = len({s for _, s in missing})
        raise GraphError(f"{option}: {name!r} in line {line} of {path} is not a column of the data ({count} such "
                         f"name(s) in all); the columns are {_some(list(names))}")  # fmt: skip
    return [(a, b) for _, a, b in lines], header


def to_binary(path: Path, table: pd.DataFrame, rule: str | None) -> pd.DataFrame:
    """Make yes/no of ordered levels.

    Parameters
    ----------
    path : Path
        Where the table is from, for the messages.
    table : DataFrame
        From `read_votes`.
    rule : str or None
        Which levels mean yes: ``>=4``, ``>2``, ``<=1``, ``<3`` or ``==5``. Without it a table of more than two levels
        is refused. What is missing stays so.

    Raises
    ------
    OptionError
        If the rule cannot be read, or does not tell any two levels apart.
    DataError
        If there are levels that no rule was given for, or texts that cannot be compared.
    """
    import numpy as np

    numbers = table.select_dtypes(["number", "bool"])
    levels = np.unique(numbers.to_numpy(dtype=float))
    levels = levels[~np.isnan(levels)]
    listed = ", ".join(f"{v:g}" for v in levels[:7]) + (f", ... ({len(levels)} in all)" if len(levels) > 7 else "")
    if rule is None:
        many = ~(numbers.isna() | numbers.isin([-1, 0, 1])).all()
        if many.any():
            example = levels[min((len(levels) + 1) // 2, len(levels) - 1)]
            raise DataError(f"{path}: the levels {listed} came (column {str(many.idxmax())!r} is the first with others "
                            "than yes and no); say which of them mean yes, such as --binarize \">="
                            f'{example:g}", or leave columns out with --drop')  # fmt: skip
        return table
    found = re.fullmatch(r"\s*(>=|<=|==|>|<)\s*([+-]?(\d+\.?\d*|\.\d+))\s*", rule)
    if found is None:
        raise OptionError(f'--binarize: {rule!r} came; a comparison with a number is wanted, such as ">=4", ">2", '
                          '"<=1" or "==5"')  # fmt: skip
    text = next((c for c in table.columns if c not in numbers), None)
    if text is not None:
        value = table[text].dropna().iloc[0] if table[text].notna().any() else ""
        raise DataError(f"{path}: --binarize compares numbers, and column {str(text)!r} holds others such as "
                        f"{value!r}; recode it, or leave it out with --drop")  # fmt: skip
    compare, than = _COMPARISONS[found[1]], float(found[2])
    if len(set(compare(levels, than))) < 2:
        raise OptionError(f"--binarize: {rule!r} came, which puts all levels ({listed}) on one side; give a rule that "
                          "tells them apart")  # fmt: skip
    yes = compare(numbers.astype(float), than)
    return yes.astype(float).where(numbers.notna()) if numbers.isna().any(axis=None) else yes.astype(np.int8)


def _read(path: Path, **options: Any) -> pd.DataFrame:
    """A CSV file, or one sentence why not."""
    import pandas as pd

    if not path.is_file():
        there = "is a folder" if path.is_dir() else "does not exist"
        raise DataError(f"{path}: this file {there}; give the path of a CSV file")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # rows longer than the header would be cut
            return pd.read_csv(path, **options)
    except pd.errors.EmptyDataError:
        raise DataError(f"{path}: the file is empty; a header line and a row for each observation are wanted") from None
    except pd.errors.ParserWarning:
        raise DataError(f"{path}: rows have more entries than the first line; name each column there") from None
    except (pd.errors.ParserError, UnicodeDecodeError, EOFError, zlib.error, OSError, ValueError) as e:
        reason = " ".join(str(e).split()) or type(e).__name__
        raise DataError(f"{path}: cannot be read as comma-separated values ({reason}); mend the file") from None


def _is_number(s: str) -> bool:
    return re.fullmatch(r"-?\d+", s) is not None


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f", ... ({len(names)} in all)" if len(names) > 5 else "")
