"""Read the tables of the command line: observations and edges."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.cells import MISSING_TEXTS
from ..data.column_options import ColumnOptions, matching
from ..data.files import call, read_text
from ..data.group_labels import check_written
from ..data.infer_columns import ALL_ANSWERS
from ..data.kinds.identifier import without
from ..data.kinds.several import expanded
from ..data.rows_of_events import combined
from ..data.text_tables import (
    lines_of,
    read_table,
    refuse_thousands,
    refuse_weighted,
    separator_of,
    with_declared,
    without_codes,
)
from ..errors import DataError, GraphError, OptionError
from ..names import listed, quoted

if TYPE_CHECKING:
    import pandas as pd

SURVEY = "--survey-weight"  # the flag of a column


def read_votes(
    path: Path,
    weight: str | None = None,
    asked: ColumnOptions | None = None,
    by: str | None = None,
    also: Mapping[str, str] | None = None,
    person: str | None = None,
) -> tuple[pd.DataFrame, pd.Series | None, Any]:
    """Read observations, one a row, from a file whose first line names the columns.

    Columns are separated by commas, semicolons, tabs or bars; with the latter three, numbers may have decimal commas.

    Parameters
    ----------
    path : Path
        See `bayesmrf.data.files.read_declared`.
    weight : str, optional
        Column that counts how often each row was observed.
    asked : ColumnOptions, optional
        Columns to keep or to drop, and values that code missing ones, also in the column ``by``. What else it says is
        not done here.
    by, person : str, optional
        Columns with the group of each row, and with the person, whose rows become one.
    also : mapping, optional
        Other columns that are not nodes, by flag; they are returned by flag in the place of the groups, which are among
        them as "--by".

    Returns
    -------
    table : DataFrame
        Columns are the nodes; what they are is not checked here (`bayesmrf.data.infer_columns`).
    weights, groups : Series or None

    Raises
    ------
    DataError
        If the file cannot be read, is not a table, or has no header line; if SPSS weights the rows by a column that is
        neither ``weight`` nor left out.
    OptionError
        If an option names a column that does not exist, or a missing code does not occur.
    """
    read = read_table(path)
    names = read.names
    kept = {"--weight": weight, "--by": by, "--combine-rows": person, **(also or {})}
    asked = asked or ColumnOptions()
    table = expanded(read.frame, asked)
    columns = list(map(str, table))
    drop = matching("drop", asked.drop, columns, f" in {call(path)}")
    for option, column in kept.items():
        if column is not None and column not in names:
            raise OptionError(f"{option}: there is no column {quoted(column)} in {call(path)}; its columns are "
                              f"{listed(list(map(quoted, names)), total=True)}")  # fmt: skip
    for option, column in kept.items():
        same = [o for o in kept if o != option and kept[o] == column and {o, option} & {"--weight", SURVEY}]
        other = "--drop" if column in drop else "--split" if column not in columns else same[-1] if same else ""
        if column is not None and other:
            raise OptionError(f"{option}: column {column!r} is also named by {other}; remove it there")
    weighting = read.declared.weight and read.declared.weight.strip()
    if weighting and weighting not in (weight, *drop, (also or {}).get(SURVEY)):
        refuse_weighted(path, table, weighting)
    chosen = asked.chosen(columns, f" in {call(path)}")
    table = without(table, [c for c in columns if c not in chosen and c not in kept.values()])
    others = {option: table[column] for option, column in (also or {}).items()}
    table = without(table, [*(also or {}).values()])
    refuse_thousands(read, [c for c in names if c in table and c != by], weight)
    weights = None if weight is None else table.pop(weight)
    table = with_declared(read, table)
    codes = [c for c in asked.missing if c.strip().lower() != ALL_ANSWERS and c.strip() not in MISSING_TEXTS]
    table = without_codes(path, table, codes)
    groups: Any = None if by is None else table.pop(by)
    if by is not None and groups is not None:
        place = names.index(by)
        check_written(groups, [line[place].strip() for line in read.lines()][1:], by)
    if person is not None:
        if others.keys() - {SURVEY}:
            expected = "omitted where rows are waves of a person"
            raise OptionError(option="combine_rows", got=person, expected=expected)
        table, weights, groups, *rest = combined(table, table.pop(person), weights, groups, *others.values())
        others = dict(zip(others, rest, strict=True))
    unnamed = next((c for c in table.columns if re.fullmatch(r"Unnamed: \d+", c)), None)
    if unnamed is not None:
        raise DataError(f"{call(path)}: a column has no name in the first line; drop it with --drop {unnamed!r} if it "
                        "contains row labels, else name it")  # fmt: skip
    if table.shape[1] < 2:
        raise DataError(f"{call(path)}: the table must have at least two nodes, got {table.shape[1]} column(s); "
                        "separate columns by commas")  # fmt: skip
    return table, weights, groups if not others else others if by is None else others | {"--by": groups}


def read_edges(path: Path, names: Sequence[str], option: str = "--graph") -> tuple[list[tuple[Any, Any]], str | None]:
    """Read edges from a CSV file of two columns, the ends of each edge.

    Ends are node names or, if every end is an integer and no node name is, node numbers from 0.
    The first line is a header if neither of its entries is a node while the next line has one.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        Names of the nodes.
    option : str
        The option that names the file, for messages.

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
        text = read_text(path)
        rows = list(lines_of(path, text, separator_of(text)))
    except DataError as e:
        raise GraphError(f"{option}: {e}") from None
    width = max(map(len, rows), default=0)
    if width == 0:
        raise GraphError(f"{option}: {call(path)}: the file is empty; write two nodes a line, separated by a comma")
    if width != 2:
        raise GraphError(f"{option}: {call(path)} must have two columns, the ends of each edge, got {width}.")
    padded = ((i, [*(s.strip() for s in line), "", ""]) for i, line in enumerate(rows, start=1))
    lines = [(i, ends[0], ends[1]) for i, ends in padded if ends[0] or ends[1]]
    half = next((i for i, a, b in lines if not (a and b)), None)
    if half is not None:
        raise GraphError(
            f"{option}: line {half} of {call(path)} has only one end; write two nodes, separated by a comma"
        )
    known, pairs = set(names), set[frozenset[str]]()

    def is_node(s: str) -> bool:
        return s in known or _is_number(s)

    header = None
    if lines and not any(map(is_node, lines[0][1:])) and (len(lines) == 1 or any(map(is_node, lines[1][1:]))):
        header = ",".join(lines.pop(0)[1:])
    if not lines:
        raise GraphError(f"{option}: {call(path)} contains no edges; write two nodes a line, or give complete"
                         f"{' or learn:K' if option == '--graph' else ''}")  # fmt: skip
    for i, a, b in lines:
        if a == b:
            raise GraphError(f"{option}: line {i} of {call(path)} joins {quoted(a)} to itself; remove self-loops")
        if frozenset((a, b)) in pairs:
            raise GraphError(
                f"{option}: line {i} of {call(path)} ({quoted(a)}, {quoted(b)}) is a duplicate; list each pair once"
            )
        pairs.add(frozenset((a, b)))
    if all(_is_number(s) for _, *ends in lines for s in ends) and not any(map(_is_number, names)):
        wrong = next(((i, s) for i, *ends in lines for s in ends if not 0 <= int(s) < len(names)), None)
        if wrong is not None:
            raise GraphError(f"{option}: node number {wrong[1]} in line {wrong[0]} of {call(path)} is out of range; "
                             f"the {len(names)} columns are numbered from 0 to {len(names) - 1}")  # fmt: skip
        return [(int(a), int(b)) for _, a, b in lines], header
    missing = [(i, s) for i, *ends in lines for s in ends if s not in known]
    if missing:
        line, name = missing[0]
        count = len({s for _, s in missing})
        raise GraphError(f"{option}: {quoted(name)} in line {line} of {call(path)} is not a column of the data "
                         f"({count} such name(s) in all); the columns are "
                         f"{listed(list(map(quoted, names)), total=True)}")  # fmt: skip
    return [(a, b) for _, a, b in lines], header


def _is_number(s: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,18}", s) is not None


def read_labels(path: Path, names: Sequence[str], option: str = "--ties") -> dict[Any, str]:
    """Read labels of edges and nodes from a CSV file: two ends and a label a line, or a name and a label.

    A name is that of a node, or ``u-v`` of an edge. The first line is a header if it names no node.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Names of the nodes.
    option : str
        Option that names the file, for messages.

    Returns
    -------
    dict
        Labels by (u, v), or by name.

    Raises
    ------
    DataError
        If the file cannot be read, a line has neither two nor three entries, or two lines have one name.
    """
    text = read_text(path)
    lines = [[s.strip() for s in line] for line in lines_of(path, text, separator_of(text))]
    if lines and not any(name in names or "-" in name for name in lines[0][:-1]):
        lines = lines[1:]
    labels, named = dict[Any, str](), set[tuple[str, ...]]()
    for number, line in enumerate(lines, 1):
        if len(line) not in (2, 3) or not all(line):
            got = f"line {number} has {len(line)} entries"
            raise DataError(f"{option}: {call(path)} must have two ends, or a name, and a label a line; {got}")
        if (ends := tuple(sorted(line[:-1]))) in named:
            raise DataError(f"{option}: line {number} of {call(path)} names {' - '.join(ends)} again; list each once")
        named.add(ends)
        labels[tuple(line[:-1]) if len(line) == 3 else line[0]] = line[-1]
    return labels
