"""Tables in text files: separators, headers, numbers with marks, and codes of missing values."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import DataError, OptionError
from ..names import digits, in_shell, quoted, shown
from .cells import MISSING_TEXTS, stripped
from .codebook import as_text
from .files import call, read_declared, read_text
from .formats import MEASURE, Categories, Declared
from .headers import extra_headers
from .kinds.values import LABELS, QUESTIONS, WRITTEN

if TYPE_CHECKING:
    import pandas as pd

_VALUES = {"0", "1", "-1", "0.0", "1.0", "-1.0", "true", "false"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}[.,]\d{3}")  # 1.250: a little more than one, or a thousand and more
_COMMA = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?")
_CODE = re.compile(r"[1-9]\d?")  # of an answer in a list of them
_SEPARATORS = ",;\t|"
_SEPARATOR_LINE = re.compile(r"\Asep=.\r?\n")  # which tells Excel how columns are separated
_LOOKED_AT = 100_000  # characters in which the separator is detected
_LONGEST_CELL = 10_000_000  # letters


class TextTable(NamedTuple):
    """A table as its file has it.

    Parameters
    ----------
    path : Path
    frame : DataFrame
    names : list of str
        Of the columns, in the order of the file.
    text : str
    separator : str
    declared : Declared
        What the file says of its columns, next to the text.
    """

    path: Path
    frame: pd.DataFrame
    names: list[str]
    text: str
    separator: str
    declared: Declared

    def lines(self) -> Iterator[list[str]]:
        """Iterate over the entries of each line that has some, the names first."""
        return (line for line in lines_of(self.path, self.text, self.separator) if line)


def read_table(path: Path) -> TextTable:
    """Read a table, one observation a row, from a file whose first line names the columns.

    Columns are separated by commas, semicolons, tabs or bars; numbers may have decimal commas, which are in quotes
    where commas separate columns.

    Raises
    ------
    DataError
        If the file cannot be read, is not a table, or has no header line.
    """
    text, declared = read_declared(path)
    text = _SEPARATOR_LINE.sub("", text)
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
    n = extra_headers(header, islice((line for line in lines_of(path, text, separator) if line), 1, None))
    if n == 2:
        raise DataError(f"{call(path)}: rows 1 and 2 below the first line are headers of Qualtrics, not answers; "
                        "delete these two rows")  # fmt: skip
    if n:
        row = next(islice((line for line in lines_of(path, text, separator) if line), 1, None))
        what = "texts in every column that the other rows do not" if all(row) else "names of columns, and no answers"
        raise DataError(f"{call(path)}: row 1 below the first line contains {what}, as a header of two lines; leave "
                        "one line with a name for each column, such as 'question: choice'")  # fmt: skip
    names = [c or f"Unnamed: {i}" for i, c in enumerate(header)]
    frame = _parsed(path, text, separator, names)
    if numbered and _are_answers(header, frame):
        raise values
    return TextTable(path, frame, names, text, separator, declared)


def with_declared(table: TextTable, frame: pd.DataFrame) -> pd.DataFrame:
    """Return columns of a table with the categories, labels and questions that its file declares for them."""
    for name, categories in table.declared.categories.items():
        if name in frame:
            frame[name] = _in_categories(frame[name], categories)
    declared = table.declared._asdict()  # by format
    of_file = {
        MEASURE: table.declared.measure,
        LABELS: declared.get("labels", {}),
        QUESTIONS: declared.get("question", {}),
    }
    of_file[WRITTEN] = texts_for_missing(frame, table.lines(), table.names)
    frame.attrs = {key: {name: value for name, value in of.items() if name in frame} for key, of in of_file.items()}
    return frame


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


def entries_of(path: Path) -> list[list[str]]:
    """Return the entries of each line of a text file that is not blank, without spaces around them."""
    text = read_text(path)
    lines = ([entry.strip() for entry in line] for line in lines_of(path, text, separator_of(text)))
    return [line for line in lines if any(line)]


def _parsed(path: Path, text: str, separator: str, names: list[str]) -> pd.DataFrame:
    """Parse the table, with decimal points or decimal commas, which are in quotes where commas separate columns."""
    import pandas as pd

    def parsed(text: str, names: list[str], decimal: str, separator: str = separator) -> pd.DataFrame:
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

    table = parsed(text, names, ".")
    tidy = table.select_dtypes(["object", "string"]).map(stripped)
    commas = [str(c) for c in tidy if _are_decimals(tidy[c][~tidy[c].isin(MISSING_TEXTS)].dropna())]
    spaced = [str(c) for c in tidy if c not in commas and not tidy[c].equals(table[c])]
    for columns, decimal in ((commas, ","), (spaced, ".")):  # read again: spaces hide numbers and missing values
        if columns:
            table[columns] = parsed(tidy[columns].to_csv(sep=";", index=False, na_rep="NA"), columns, decimal, ";")
    return table


def _are_decimals(texts: pd.Series) -> bool:
    """Return whether texts are numbers with decimal commas, and not lists of one or two codes, such as "1", "1,3"."""
    if not texts.map(lambda v: isinstance(v, str) and _COMMA.fullmatch(v) is not None).all():
        return False
    sides = [text.split(",") for text in texts.unique() if "," in text]
    are_lists = all(_CODE.fullmatch(a) and _CODE.fullmatch(b) and int(a) < int(b) for a, b in sides)
    return bool(sides) and not (are_lists and {a for a, _ in sides} & {b for _, b in sides})


def _are_answers(header: list[str], table: pd.DataFrame) -> bool:
    """Return whether the numbers in the first line are answers: they do not rise, and each is in its own column."""
    numbers = list(map(float, header))
    rises = all(a < b for a, b in itertools.pairwise(numbers))
    return not rises and all(
        (column == number).any() for number, (_, column) in zip(numbers, table.items(), strict=True)
    )


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


def refuse_thousands(table: TextTable, wanted: Sequence[str], weight: str | None) -> None:
    """Refuse numbers such as 1.250 that may have a decimal point (or comma) or a mark of thousands.

    They are decimals where a cell of the column has another number of digits before or after its mark, and in columns
    of answers also where all cells have a mark, as in 1.000, 2.000, 3.000.
    """
    path, names, rows = table.path, table.names, [*table.lines()][1:]
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


def without_codes(path: Path, table: pd.DataFrame, codes: Sequence[str]) -> pd.DataFrame:
    """Return the table with codes of missing values replaced by NaN."""
    import pandas as pd

    table = table.copy() if codes else table
    written = table.attrs.setdefault(WRITTEN, {})
    for code in codes:
        number, occurs = pd.to_numeric(code, errors="coerce"), False
        for name, column in table.items():
            if pd.api.types.is_bool_dtype(column):
                continue
            if isinstance(column.dtype, pd.CategoricalDtype):
                levels = [level for level in column.cat.categories if str(level) == code.strip() or level == number]
                occurs |= bool(column.isin(levels).any())
                written[name] = (*written.get(name, ()), *map(as_text, levels))
                table[name] = column.cat.remove_categories(levels)
                continue
            is_number = pd.api.types.is_numeric_dtype(column)
            is_code = column == number if is_number else column.astype(str).str.strip() == code.strip()
            if is_code.any():
                occurs = True
                written[name] = (*written.get(name, ()), as_text(code))
                rest = column.mask(is_code)
                numbers = pd.to_numeric(rest, errors="coerce")
                table[name] = numbers if (numbers.notna() == rest.notna()).all() else rest
        if not occurs:
            raise OptionError(option="--missing-code", got=code, expected=f"a value that is in {call(path)}")
    return table


def texts_for_missing(table: pd.DataFrame, lines: Iterator[list[str]], names: list[str]) -> dict[str, tuple[str, ...]]:
    """Return the texts, such as "NA", by which missing values of columns of words are written in a file."""
    import pandas as pd

    columns = [c for c in names if c in table and not pd.api.types.is_numeric_dtype(table[c]) and table[c].isna().any()]
    places = {name: names.index(name) for name in columns}
    spellings: dict[str, dict[str, None]] = {name: {} for name in columns}
    for line in itertools.islice((line for line in lines if line), 1, None) if places else ():
        for name, i in places.items():
            if (cell := line[i].strip()) and cell in MISSING_TEXTS:
                spellings[name][cell] = None
    return {name: tuple(texts) for name, texts in spellings.items() if texts}


def refuse_weighted(path: Path, table: pd.DataFrame, name: str) -> None:
    """Refuse a table whose file weights the rows by a column, unless the column is a weight or left out."""
    values = table[name]
    without = f"--drop {in_shell(name)} to use each row once"
    counts = values.dtype.kind in "iuf" and bool(((values >= 0) & (values == values.round())).all())
    counted = f"--weight {in_shell(name)} if it counts how often each row was observed, " if counts else ""
    remedy = f"give {counted}--survey-weight {in_shell(name)} if it is the weight of a survey, or {without}"
    raise DataError(f"{call(path)}: SPSS weights the rows of this file by column {quoted(name)}; {remedy}")
