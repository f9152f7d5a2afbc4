"""Read the tables of the command line: observations and edges."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.asked import Asked, matching
from ..data.column_kinds import LABELS, QUESTIONS, WRITTEN
from ..data.files import call, read_declared, read_text
from ..data.formats import MEASURE, Categories
from ..data.missing import MISSING_TEXTS, stripped
from ..data.no_answers import without
from ..data.text_cells import is_number
from ..data.understand import ALL_ANSWERS
from ..errors import DataError, GraphError, OptionError
from ..names import digits, listed, quoted, shown
from .answers import in_shell, texts_for_missing, without_codes

if TYPE_CHECKING:
    import pandas as pd

SURVEY = "--survey-weight"  # the flag of a column
_VALUES = {"0", "1", "-1", "0.0", "1.0", "-1.0", "true", "false"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")  # 1.250: a little more than one, or a thousand and more
_SEPARATORS = ",;\t|"
_LOOKED_AT = 100_000  # characters in which the separator is detected
_LONGEST_CELL = 10_000_000  # letters


def read_votes(
    path: Path,
    weight: str | None = None,
    asked: Asked | None = None,
    by: str | None = None,
    also: Mapping[str, str] | None = None,
) -> tuple[pd.DataFrame, pd.Series | None, Any]:
    """Read observations, one a row, from a file whose first line names the columns.

    Columns are separated by commas, semicolons, tabs or bars; with the latter three, numbers may have decimal commas.

    Parameters
    ----------
    path : Path
        See `bayesmrf.data.files.read_declared`.
    weight : str, optional
        Column that counts how often each row was observed.
    asked : Asked, optional
        Columns to keep or to drop, and values that code missing ones, also in the column ``by``. What else it says is
        not done here.
    by : str, optional
        Column with the group of each row.
    also : mapping, optional
        Other columns that are not nodes, by flag; they are returned by flag in the place of the groups, which are among
        them as "--by".

    Returns
    -------
    table : DataFrame
        Columns are the nodes; what they are is not checked here (`bayesmrf.data.understand`).
    weights, groups : Series or None

    Raises
    ------
    DataError
        If the file cannot be read, is not a table, or has no header line; if SPSS weights the rows by a column that is
        neither ``weight`` nor left out.
    OptionError
        If an option names a column that does not exist, or a missing code does not occur.
    """
    text, declared = read_declared(path)
    separator = separator_of(text)
    header = [c.strip() for c in next((line for line in lines_of(path, text, separator) if line), [])]
    if not header:
        raise DataError(f"{call(path)}: the file is empty; write a header line and one row for each observation")
    twice = next((c for c, n in Counter(header).items() if c and n > 1), None)
    numbered = all(_NUMBER.fullmatch(c) for c in header)
    values = DataError(f"{call(path)}: the first line contains values, not names; add a header line with the names of "
                       "the columns")  # fmt: skip
    if twice is not None and (numbered or all(c.lower() in _VALUES for c in header)):
        raise values
    if twice is not None:
        raise DataError(f"{call(path)}: column name {quoted(twice)} occurs twice in the first line; rename one of "
                        "them")  # fmt: skip
    for i, line in enumerate(line for line in lines_of(path, text, separator) if line):
        if len(line) != len(header):  # pandas would treat missing entries as missing values
            raise DataError(f"{call(path)}: row {i} below the first line has {len(line)} entries, but the first line "
                            f"names {len(header)} columns; fix the file")  # fmt: skip
    names = [c or f"Unnamed: {i}" for i, c in enumerate(header)]
    table = _parsed(path, text, separator, names)
    if numbered and _are_answers(header, table):
        raise values
    if _is_header(table):
        raise DataError(f"{call(path)}: row 1 below the first line contains texts in every column that the other rows "
                        "do not, as a header of two lines; leave one line with a name for each column")  # fmt: skip
    if len(table) > 1 and table.iloc[1].astype(str).str.startswith('{"ImportId"').all():
        raise DataError(f"{call(path)}: rows 1 and 2 below the first line are headers of Qualtrics, not answers; "
                        "delete these two rows")  # fmt: skip
    kept = {"--weight": weight, "--by": by, **(also or {})}
    asked = asked or Asked()
    drop = matching("drop", asked.drop, names, f" in {call(path)}")
    for option, column in kept.items():
        if column is not None and column not in names:
            raise OptionError(f"{option}: there is no column {quoted(column)} in {call(path)}; its columns are "
                              f"{listed(list(map(quoted, names)), total=True)}")  # fmt: skip
    for option, column in kept.items():
        same = [o for o in kept if o != option and kept[o] == column and {o, option} & {"--weight", SURVEY}]
        other = "--drop" if column in drop else same[-1] if same else ""
        if column is not None and other:
            raise OptionError(f"{option}: column {column!r} is also named by {other}; remove it there")
    weighting = declared.weight and declared.weight.strip()
    if weighting and weighting not in (weight, *drop, (also or {}).get(SURVEY)):
        _refuse_weighted(path, table, weighting)
    chosen = asked.chosen(names, f" in {call(path)}")
    table = without(table, [c for c in names if c not in chosen and c not in kept.values()])
    others = {option: table[column] for option, column in (also or {}).items()}
    table = without(table, [*(also or {}).values()])
    _refuse_thousands(
        path, lines_of(path, text, separator), names, [c for c in names if c in table and c != by], weight
    )
    weights = None if weight is None else table.pop(weight)
    for name, categories in declared.categories.items():
        if name in table:
            table[name] = _in_categories(table[name], categories)
    says = declared._asdict()  # by format
    of_file: dict[str, Any] = {MEASURE: declared.measure, LABELS: says.get("labels", {})}
    of_file[QUESTIONS] = says.get("question", {})
    of_file[WRITTEN] = texts_for_missing(table, lines_of(path, text, separator), names)
    table.attrs = {key: {name: value for name, value in of.items() if name in table} for key, of in of_file.items()}
    codes = [c for c in asked.missing if c.strip().lower() != ALL_ANSWERS and c.strip() not in MISSING_TEXTS]
    table = without_codes(path, table, codes)
    groups: Any = None if by is None else table.pop(by)
    if by is not None and groups is not None:
        place = names.index(by)
        _check_labels(groups, [line[place].strip() for line in lines_of(path, text, separator) if line][1:], by)
    unnamed = next((c for c in table.columns if re.fullmatch(r"Unnamed: \d+", c)), None)
    if unnamed is not None:
        raise DataError(f"{call(path)}: a column has no name in the first line; drop it with --drop {unnamed!r} if it "
                        "contains row labels, else name it")  # fmt: skip
    if table.shape[1] < 2:
        raise DataError(f"{call(path)}: the table must have at least two nodes, got {table.shape[1]} column(s); "
                        "separate columns by commas")  # fmt: skip
    return table, weights, groups if not others else others if by is None else others | {"--by": groups}


def _refuse_weighted(path: Path, table: pd.DataFrame, name: str) -> None:
    """Refuse a table whose file weights the rows by a column, unless the column is a weight or left out."""
    values = table[name]
    without = f"--drop {in_shell(name)} to use each row once"
    counts = values.dtype.kind in "iuf" and bool(((values >= 0) & (values == values.round())).all())
    counted = f"--weight {in_shell(name)} if it counts how often each row was observed, " if counts else ""
    remedy = f"give {counted}{SURVEY} {in_shell(name)} if it is the weight of a survey, or {without}"
    raise DataError(f"{call(path)}: SPSS weights the rows of this file by column {quoted(name)}; {remedy}")


def _in_categories(column: pd.Series, declared: Categories) -> pd.Series:
    """Return a column with the categories of its file; numbers without order, and booleans, stay as they are."""
    import pandas as pd

    texts = list(dict.fromkeys(text for c in declared.levels if (text := c.strip()) not in MISSING_TEXTS))
    if column.dtype.kind not in "biuf":
        return column.astype(pd.CategoricalDtype(texts, declared.ordered))
    if column.dtype.kind == "b" or not declared.ordered:
        return column
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").dropna()  # texts do not occur
    return column.astype(pd.CategoricalDtype(numbers.tolist(), True))


def _is_header(table: pd.DataFrame) -> bool:
    """Return whether the first row has a text in every column, and no column has one in a row below."""
    if len(table) < 2 or not all(isinstance(v, str) and not is_number(v) for v in table.iloc[0]):
        return False
    return not any(isinstance(v, str) and not is_number(v) for v in table.iloc[1:].to_numpy(dtype=object).flat)


def _refuse_thousands(
    path: Path, lines: Iterator[list[str]], names: list[str], wanted: list[str], weight: str | None
) -> None:
    """Refuse numbers such as 1.250 that may have a decimal point (or comma) or a mark of thousands.

    They are decimals where a cell of the column has another number of digits before or after its mark, and in columns
    of answers also where all cells have a mark, as in 1.000, 2.000, 3.000.
    """
    rows = [line for line in lines if line][1:]
    for place in map(names.index, wanted):
        cells = [line[place].strip() for line in rows]
        marked = [i for i, cell in enumerate(cells) if "." in cell or "," in cell]
        if not marked or not all(_THOUSANDS.fullmatch(cells[i]) for i in marked):
            continue
        if names[place] == weight or any(cell.isdecimal() for cell in cells):
            got, row = cells[marked[0]], marked[0] + 1
            raise DataError(f"{call(path)}: column {quoted(names[place])} must have numbers that can be read in one "
                            f"way, got {quoted(got)} in row {row} below the first line, which may be "
                            f"{digits(float(got.replace(',', '.')))} or {re.sub('[.,]', '', got)}; write "
                            f"numbers without marks of thousands, and integers without decimals")  # fmt: skip


def _check_labels(groups: pd.Series, texts: Sequence[str], by: str) -> None:
    """Refuse different texts, such as 1.1 and 1.10, that are the same number and so would be one group."""
    if groups.dtype.kind not in "iuf" or len(texts) != len(groups):
        return
    known: dict[Any, str] = {}
    for value, text in zip(groups.tolist(), texts, strict=True):
        if value == value and known.setdefault(value, text) != text:
            raise DataError(f"--by: labels {quoted(known[value])} and {quoted(text)} of column {quoted(by)} are the "
                            "same number; write a letter before the labels if they are different groups, else write "
                            "them in one way")  # fmt: skip


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
        given = list(lines_of(path, text, separator_of(text)))
    except DataError as e:
        raise GraphError(f"{option}: {e}") from None
    width = max(map(len, given), default=0)
    if width == 0:
        raise GraphError(f"{option}: {call(path)}: the file is empty; write two nodes a line, separated by a comma")
    if width != 2:
        raise GraphError(f"{option}: {call(path)} must have two columns, the ends of each edge, got {width}.")
    padded = ((i, [*(s.strip() for s in line), "", ""]) for i, line in enumerate(given, start=1))
    lines = [(i, ends[0], ends[1]) for i, ends in padded if ends[0] or ends[1]]
    half = next((i for i, a, b in lines if not (a and b)), None)
    if half is not None:
        raise GraphError(
            f"{option}: line {half} of {call(path)} has only one end; write two nodes, separated by a comma"
        )
    known, seen = set(names), set[frozenset[str]]()

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
        if frozenset((a, b)) in seen:
            raise GraphError(
                f"{option}: line {i} of {call(path)} ({quoted(a)}, {quoted(b)}) is a duplicate; list each pair once"
            )
        seen.add(frozenset((a, b)))
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


def separator_of(text: str) -> str:
    """Detect the separator of columns: the one that gives the first lines equal and largest numbers of entries."""
    lines = text[:_LOOKED_AT].split("\n")[:20]

    def suits(separator: str) -> tuple[bool, int]:
        try:
            sizes = [len(line) for line in csv.reader(lines, delimiter=separator) if line]
        except csv.Error:
            sizes = []
        return len(set(sizes)) == 1 and sizes[0] > 1, sizes[0] if sizes else 0

    return max(_SEPARATORS, key=suits)


def lines_of(path: Path, text: str, separator: str) -> Iterator[list[str]]:
    """Iterate over the entries of each line."""
    csv.field_size_limit(_LONGEST_CELL)
    try:
        yield from csv.reader(StringIO(text, newline=""), delimiter=separator, strict=True)
    except csv.Error as e:
        raise DataError(f"{call(path)}: cannot be read as comma-separated values ({e}); fix the file") from None


def _parsed(path: Path, text: str, separator: str, names: list[str]) -> pd.DataFrame:
    """Parse the table, with decimal points or, unless commas separate columns, decimal commas."""
    import pandas as pd

    def parsed(text: str, names: list[str], decimal: str) -> pd.DataFrame:
        try:
            return pd.read_csv(
                StringIO(text),
                sep=separator,
                header=0,
                names=names,
                index_col=False,
                decimal=decimal,
                low_memory=False,
                keep_default_na=False,
                na_values=list(MISSING_TEXTS),
            )
        except (pd.errors.ParserError, ValueError, OverflowError) as e:
            raise DataError(f"{call(path)}: cannot be read as comma-separated values "
                            f"({shown(' '.join(str(e).split()), 200)}); fix the file") from None  # fmt: skip

    table, decimal = parsed(text, names, "."), "."
    if separator != ",":
        seen = (table[c].dropna().astype(str) for c in table.select_dtypes(["object", "string"]))
        if any(t.str.fullmatch(r"\s*[+-]?\d+,\d+\s*").any() for t in seen):
            table, decimal = parsed(text, names, ","), ","
    texts = table.select_dtypes(["object", "string"])
    tidy = texts.map(stripped)
    spaced = [str(c) for c in texts if not tidy[c].equals(texts[c])]
    if spaced:  # read again without spaces, which hide numbers and missing values
        table[spaced] = parsed(tidy[spaced].to_csv(sep=separator, index=False, na_rep="NA"), spaced, decimal)
    return table


def _are_answers(header: list[str], table: pd.DataFrame) -> bool:
    """Return whether the numbers in the first line are answers: they do not rise, and each is in its own column."""
    numbers = list(map(float, header))
    rises = all(a < b for a, b in itertools.pairwise(numbers))
    return not rises and all(
        (column == number).any() for number, (_, column) in zip(numbers, table.items(), strict=True)
    )


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
        If the file cannot be read, or a line has neither two nor three entries.
    """
    text = read_text(path)
    lines = [[s.strip() for s in line] for line in lines_of(path, text, separator_of(text))]
    if lines and not any(name in names or "-" in name for name in lines[0][:-1]):
        lines = lines[1:]
    found: dict[Any, str] = {}
    for number, line in enumerate(lines, start=1):
        if len(line) not in (2, 3) or not all(line):
            raise DataError(f"{option}: {call(path)} must have two ends and a label a line, or a name and a label; "
                            f"line {number} has {len(line)} entries")  # fmt: skip
        found[tuple(line[:-1]) if len(line) == 3 else line[0]] = line[-1]
    return found
