"""Tables of Excel, SPSS, Stata, SAS transport, R, Parquet and Feather files, as text with comma-separated values.

So one reader checks tables of all kinds. Answers are their codes, not their labels, and factors of R their levels. What
a file declares missing (user-missing values and ranges of SPSS and haven, .a to .z of Stata) is missing. Text has no
categories and no labels: these are returned next to it.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from io import BytesIO, StringIO
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DataError
from ..names import listed, quoted, shown
from .labelled_files import read_labelled

if TYPE_CHECKING:
    import pandas as pd

MEASURE = "variable_measure"  # of SPSS, in the attributes of a table that pandas read
WORKBOOK = "xl/workbook.xml"  # in the archive that an Excel workbook is
_MOST = 2**29  # bytes of an unpacked workbook
_EXACT = 2**53  # up to which floats without a fraction are written as integers
_FORMULA = re.compile(rb"<f[ >/]")


class Categories(NamedTuple):
    """The categories of a column as texts, and whether they are ordered."""

    levels: tuple[str, ...]
    ordered: bool


class Declared(NamedTuple):
    """What a file declares about its columns; values are texts as in the table."""

    categories: Mapping[str, Categories] = MappingProxyType({})
    measure: Mapping[str, str] = MappingProxyType({})  # "nominal", "ordinal" or "scale"
    weight: str | None = None  # the column by which SPSS weights the rows
    labels: Mapping[str, Mapping[str, str]] = MappingProxyType({})  # of values, also of those that do not occur
    question: Mapping[str, str] = MappingProxyType({})  # the labels of columns


class Rows(NamedTuple):
    """The rows of a table, names first, and what its file says about columns."""

    rows: Iterable[Sequence[Any]]
    declared: Declared


class Format(NamedTuple):
    """What a file is, the package that reads it if pandas needs one, and how its rows are read."""

    what: str
    package: str | None
    rows: Callable[[bytes], Rows]


def text_of(name: str, data: bytes) -> tuple[str, Declared] | None:
    """Convert the table of a known format to text, and read what the file declares; None for other formats.

    Raises
    ------
    DataError
        If a package is missing, the file is damaged, or a workbook does not have one plain table.
    """
    file_format = next((f for start, f in FORMATS.items() if data.startswith(start)), None)
    if file_format is None or (file_format.rows is _excel and WORKBOOK.encode() not in data):
        return None
    if file_format.package is not None:
        try:
            import_module(file_format.package)
        except ImportError:
            raise DataError(f"{name}: this is {file_format.what}, which the package {file_format.package} reads; "
                            "install it with pip install 'bayesmrf[files]', or save the table as "
                            "CSV") from None  # fmt: skip
    out = StringIO(newline="")
    try:
        rows, declared = file_format.rows(data)
        csv.writer(out, lineterminator="\n").writerows(map(_cell, row) for row in rows)
    except DataError as e:
        raise DataError(f"{name}: {e}") from None
    except Exception as e:  # packages raise what they like where a file is damaged
        reason = shown(" ".join(str(e).split()), 200) or type(e).__name__
        raise DataError(
            f"{name}: this is {file_format.what} that cannot be read ({reason}); repair it, or save the table as CSV"
        ) from None
    return out.getvalue(), declared


def _cell(value: Any) -> str:
    """Return a value as text, an integer without a decimal point."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return str(value)


def _by_pandas(read: Callable[[Any, bytes], tuple[pd.DataFrame, dict[str, Any]]]) -> Callable[[bytes], Rows]:
    """Make the function that reads rows by ``read(pandas, data)``, a table and what its file declares about columns."""

    def rows(data: bytes) -> Rows:
        import pandas  # slow to import

        from .frames import in_pandas

        table, said = read(pandas, data)
        table = in_pandas(table)
        kinds = {str(name): kind for name, kind in table.dtypes.items() if isinstance(kind, pandas.CategoricalDtype)}
        categories = {name: Categories(tuple(map(_cell, k.categories)), bool(k.ordered)) for name, k in kinds.items()}
        values = table.astype(object).where(table.notna(), None).itertuples(index=False, name=None)
        header = [[str(name) for name in table.columns]]
        return Rows(chain(header, values), _declared(categories, **said))

    return rows


def _declared(
    categories: Mapping[str, Categories], labels: Mapping[str, Mapping[Any, str]] = MappingProxyType({}), **said: Any
) -> Declared:
    """Collect what a file declares about its columns, with values as texts."""
    texts = {name: {_cell(value): label for value, label in of_values.items()} for name, of_values in labels.items()}
    return Declared(categories, labels=texts, **said)


def _labelled(reader: str) -> Callable[[bytes], Rows]:
    return _by_pandas(lambda pandas, data: read_labelled(data, reader))


def _r(data: bytes) -> Rows:
    from .r_files import read_r  # needs numpy, which help texts do not

    columns = read_r(data)
    categories = {c.name: Categories(c.levels, c.ordered) for c in columns if c.levels is not None}
    labels = {c.name: c.labels for c in columns if c.labels}
    question = {c.name: c.question for c in columns if c.question}
    rows = zip(*(c.values for c in columns), strict=True)
    return Rows(chain([[c.name for c in columns]], rows), _declared(categories, labels, question=question))


def _excel(data: bytes) -> Rows:
    """Return the rows of the only sheet with values, without empty rows above and below and empty columns at the right.

    Formulas have the values that were saved with them.
    """
    from openpyxl import load_workbook

    with zipfile.ZipFile(BytesIO(data)) as archive:
        if sum(i.file_size for i in archive.infolist()) > _MOST:
            raise DataError(f"this workbook contains more than {_MOST / 2**30:g} GiB; give a smaller table")
        sheets = [i for i in archive.namelist() if i.startswith("xl/worksheets/") and i.endswith(".xml")]
        computes = any(_FORMULA.search(archive.read(i)) for i in sheets)
    filled = [s for s in load_workbook(BytesIO(data), data_only=True).worksheets if _has_values(s)]
    if len(filled) != 1:
        names = f": {listed([quoted(s.title) for s in filled])}" if filled else ""
        raise DataError(f"this workbook has {len(filled)} sheets with values{names}; give one with a single table, or "
                        "save the sheet as CSV")  # fmt: skip
    sheet = filled[0]
    if computes:
        formulas = load_workbook(BytesIO(data))[sheet.title]
        empty = (c.coordinate for row in formulas.iter_rows() for c in row
                 if c.data_type == "f" and sheet[c.coordinate].value is None)  # fmt: skip
        if cell := next(empty, None):
            raise DataError(f"the formula in cell {cell} was saved without its value; open and save the workbook in "
                            "Excel, or save the sheet as CSV")  # fmt: skip
    if sheet.merged_cells.ranges:
        merged = sorted(sheet.merged_cells.ranges, key=lambda r: (r.min_row, r.min_col))[0]
        raise DataError(f"cells {merged.coord} are merged, so that all but one are empty; split them, and leave "
                        "one line of names with a row for each observation below")  # fmt: skip
    rows = list(sheet.iter_rows(values_only=True))
    used = [k for k, row in enumerate(rows) if any(v is not None for v in row)]
    rows = rows[used[0] : used[-1] + 1]
    width = max(k for row in rows for k, v in enumerate(row, start=1) if v is not None)
    return Rows([row[:width] for row in rows], Declared())


def _has_values(sheet: Any) -> bool:
    return any(v is not None for row in sheet.iter_rows(values_only=True) for v in row)


_STATA = Format("a Stata file", "pyreadstat", _labelled("read_dta"))
_TRANSPORT = Format("a SAS transport file", "pyreadstat", _labelled("read_xport"))
_R = Format("an R file", "rdata", _r)
# By the first bytes of a file. Older Stata files begin with their version, the order of their bytes, and 1.
FORMATS = {
    b"PK\x03\x04": Format("an Excel workbook", "openpyxl", _excel),
    b"$FL": Format("an SPSS file", "pyreadstat", _labelled("read_sav")),
    b"PAR1": Format(
        "a Parquet file", "pyarrow", _by_pandas(lambda pandas, data: (pandas.read_parquet(BytesIO(data)), {}))
    ),
    b"ARROW1": Format(
        "a Feather file", "pyarrow", _by_pandas(lambda pandas, data: (pandas.read_feather(BytesIO(data)), {}))
    ),
    b"<stata_dta>": _STATA,
    **{bytes([version, order, 1]): _STATA for version in range(104, 116) for order in (1, 2)},
    **dict.fromkeys((b"HEADER RECORD*******LIBRARY HEADER", b"HEADER RECORD*******LIBV8"), _TRANSPORT),
    **dict.fromkeys((b"RDX", b"X\n\0\0\0"), _R),  # of save and saveRDS
}
