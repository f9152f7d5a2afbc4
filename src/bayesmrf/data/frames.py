"""Tables with named columns, of pandas or of another package such as polars."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DataError, argument, data_row, preparing
from ..names import listed, quoted
from .cells import unmasked, widened

if TYPE_CHECKING:
    import pandas as pd

# What makes a table of objects of other packages, which are known by the names of package and type.
_OTHERS = {
    ("xarray", "Dataset"): "give {}.to_dataframe()",
    ("xarray", "DataTree"): "give {}.to_dataset().to_dataframe()",
    ("polars", "LazyFrame"): "give {}.collect()",
    ("pyspark", "DataFrame"): "give {}.toPandas()",
    ("dask", "DataFrame"): "give {}.compute()",
    ("anndata", "AnnData"): "give {}.to_df()",
    ("pyarrow", "Table"): "give {}.to_pandas()",
}
_SELECTED = "filter_$"
_CONTAINERS = (list, set, frozenset, tuple, dict, np.ndarray)


def is_frame(X: Any) -> bool:
    """Return whether X is a table with names of columns (pandas, polars)."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def categories_of(kind: Any) -> Any:
    """Return the categories of a type of pandas columns; None for other types, and where there is no column."""
    return getattr(kind, "categories", None)


def is_ordered(kind: Any) -> bool | None:
    """Return whether the categories of a type of pandas columns have an order; None for other types."""
    return getattr(kind, "ordered", None)


def text_names(X: Any) -> np.ndarray | None:
    """Return the names of the columns if all are texts (``feature_names_in_`` of scikit-learn), else None."""
    named = is_frame(X) and all(isinstance(c, str) for c in X.columns)
    return np.array(X.columns, dtype=object) if named else None


def column_names(frame: Any) -> tuple[str, ...]:
    """Return the names of the columns of a pandas DataFrame.

    Raises
    ------
    DataError
        If the names are values: the table was read from a file without a header, and its first row is lost. Readers
        number names that occur again ("1.1" in pandas, "1_duplicated_0" in polars), and each is a value of its column.
        If there is the column in which SPSS keeps which rows are selected: it is no answer.
    """
    names, counts, first = [str(c) for c in frame.columns], Counter[str](), list[str]()
    if _SELECTED in names:
        raise DataError(f"{argument('X')} must contain answers, got column {quoted(_SELECTED)}, in which SPSS marks "
                        "the selected rows; keep the rows that count, and drop the column")  # fmt: skip
    for name in names:
        before = re.sub(r"(\.|_duplicated_)\d+$", "", name)
        k = counts[before]
        first.append(before if k and name in (f"{before}.{k}", f"{before}_duplicated_{k - 1}") else name)
        counts[first[-1]] += 1
    if first != names and all(
        {name, f"{name}.0"} & set(map(str, frame.iloc[:, i].unique())) for i, name in enumerate(first)
    ):
        raise DataError(f"{argument('X')} must have names of columns, not values ({listed(names)}), as of a file "
                        "without a header, whose first row is lost; read it with header=None, or rename the "
                        "columns")  # fmt: skip
    return tuple(names)


def record_columns(estimator: Any, X: Any, n_columns: int) -> None:
    """Set ``n_features_in_``, and ``feature_names_in_`` if all names are texts."""
    estimator.n_features_in_ = n_columns
    if (names := text_names(X)) is not None:
        estimator.feature_names_in_ = names


def check_index(option: str, values: Any, X: Any) -> None:
    """Refuse a Series with a value for each row of a DataFrame X, but another index: rows are matched by their place.

    Raises
    ------
    DataError
    """
    pandas = sys.modules.get("pandas")  # if pandas is not imported, there are no Series
    if pandas is None or not (isinstance(X, pandas.DataFrame) and isinstance(values, pandas.Series)):
        return
    if len(values) == len(X) and not values.index.equals(X.index):
        raise DataError(f"{argument(option)} must have the index of {argument('X')}, in the same order, got another "
                        f"one; give {option}.reindex(X.index), or {option}.to_numpy() if rows correspond")  # fmt: skip


def in_pandas(X: Any, option: str = "X") -> Any:
    """Return a table with named columns as a pandas DataFrame (`column_in_pandas`), and anything else as it is.

    Raises
    ------
    DataError
        For a table of another package that its own method makes a DataFrame.
    """
    remedy = _OTHERS.get((type(X).__module__.partition(".")[0], type(X).__name__))
    if remedy is not None:
        expected = "an array or a DataFrame of pandas or polars"
        raise DataError(option=option, got=X, expected=expected, remedy=remedy.format(option))
    pandas = sys.modules.get("pandas")  # if pandas is not imported, there are no DataFrames
    if not is_frame(X):
        return X
    if pandas is None or not isinstance(X, pandas.DataFrame):
        import pandas as pd

        return pd.DataFrame({name: column_in_pandas(X[name]) for name in X.columns})
    _refuse_containers(X)
    recoded = [(i, X.iloc[:, i]) for i, kind in enumerate(X.dtypes) if _is_recoded(kind)]
    X = X.copy(deep=False) if recoded else X
    for i, column in recoded:
        X.isetitem(i, column_in_pandas(column))
    return X


def _refuse_containers(frame: Any) -> None:
    """Refuse cells that hold lists, sets, arrays or dictionaries, as of questions with several answers.

    Raises
    ------
    DataError
    """
    for i in (i for i, kind in enumerate(frame.dtypes) if kind.name == "object"):
        row = next((row for row, v in enumerate(frame.iloc[:, i]) if isinstance(v, _CONTAINERS)), None)
        if row is not None:
            name, what = str(frame.columns[i]), type(frame.iloc[row, i]).__name__
            cell = frame.iloc[row, i]
            join = f"make texts of them, X[{name!r}].str.join('; '), and split these with {preparing('split', name)}"
            are_texts = not isinstance(cell, dict) and all(isinstance(v, str) for v in cell)
            raise DataError(f"{argument('X')} must have one value in each cell, but column {quoted(name)} has a {what} "
                            f"in {data_row(row)}; {join if are_texts else 'drop the column'}.")  # fmt: skip


def cells(frame: Any) -> np.ndarray:
    """Return the cells of a frame of pandas, which itself makes integers of missing values of categories."""
    whole = [
        i for i, kind in enumerate(frame.dtypes)
        if hasattr(kind, "categories") and kind.categories.dtype.kind in "iu" and frame.iloc[:, i].isna().any()
    ]  # fmt: skip
    frame = frame.copy(deep=False) if whole else frame
    for i in whole:
        frame.isetitem(i, frame.iloc[:, i].astype(float))
    values: np.ndarray = frame.to_numpy()
    return values


def _is_recoded(kind: Any) -> bool:
    """Return whether `column_in_pandas` changes pandas columns of this type: Arrow's dictionaries, and intervals."""
    import pandas as pd

    kind_of_categories = kind.categories.dtype if hasattr(kind, "categories") else None
    return _is_dictionary(kind) or _is_narrow(kind) or isinstance(kind_of_categories, pd.IntervalDtype)


def _is_dictionary(kind: Any) -> bool:
    """Return whether a type of pandas is that of Arrow's dictionaries, which are categories."""
    import pandas as pd

    if not isinstance(kind, pd.ArrowDtype):
        return False
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind.pyarrow_dtype))


def no_table(X: Any) -> DataError:
    """Return the error for a value that has no rows and columns."""
    return DataError(option="X", got=X, expected="a table (n_samples, n_nodes)", remedy=make_table(X))


def make_table(X: Any) -> str:
    """Propose, as a remedy, how to make a table of a value that is none."""
    if isinstance(X, str | PathLike):
        return "read the file into a table, such as by pandas.read_csv(X)"
    first = X[0] if isinstance(X, list) and X else X
    if isinstance(first, dict) or getattr(getattr(X, "dtype", None), "names", None):
        return "give pandas.DataFrame(X)"
    return "Reshape your data so that rows are observations and columns are nodes"


def column_in_pandas(column: Any) -> Any:
    """Return the values of a column with the categories of pandas, in their order.

    Categories are those of pandas, of Arrow (``dtype_backend="pyarrow"``) and of the type ``Enum`` (polars). Intervals
    (`pandas.cut`) become texts.
    """
    import pandas as pd

    kind: Any = getattr(column, "dtype", None)
    if type(kind).__name__ == "Enum":
        return pd.Categorical(column.to_numpy(), list(kind.categories), ordered=True)
    if not isinstance(column, pd.Series | pd.Index | pd.Categorical):
        return column.to_numpy()
    if not _is_recoded(kind):
        return column
    series = pd.Series(column)
    if _is_dictionary(kind):
        import pyarrow as pa

        values = pa.chunked_array(series.array.__arrow_array__()).unify_dictionaries().to_pandas()
        series = pd.Series(values.array, series.index, name=series.name)
    if isinstance(series.dtype, pd.CategoricalDtype) and isinstance(series.cat.categories.dtype, pd.IntervalDtype):
        series = series.cat.rename_categories([str(c) for c in series.cat.categories])
    return widened_column(series)


def widened_column(column: Any) -> Any:
    """Widen the values, or the categories, of a pandas Series to floats of 64 bits; see `widened`."""
    kind = column.dtype
    if not _is_narrow(kind):
        return column
    if hasattr(kind, "categories"):
        return column.cat.rename_categories(_wide_array(kind.categories))
    return column.__class__(_wide_array(column), index=column.index, name=column.name)


def _wide_array(values: Any) -> np.ndarray:
    """Return the floats of a pandas Series or Index in 64 bits; missing ones are NaN."""
    return widened(values.to_numpy(dtype=_plain(values.dtype), na_value=np.nan))


def _is_narrow(kind: Any) -> bool:
    """Return whether a type of pandas is that of floats of fewer than 64 bits, or of categories that are."""
    from pandas.api.types import is_float_dtype

    if hasattr(kind, "categories"):
        kind = kind.categories.dtype
    return is_float_dtype(kind) and _plain(kind).itemsize < np.dtype(np.float64).itemsize


def _plain(kind: Any) -> np.dtype:
    """Return NumPy's type of the values of a type of pandas: nullable, of Arrow, sparse, or NumPy's own."""
    return np.dtype(getattr(kind, "numpy_dtype", getattr(kind, "subtype", kind)))


def frame_of(table: Any, names: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a table as a pandas DataFrame; columns of an array have ``names``, or their numbers."""
    import pandas as pd

    table = in_pandas(table)
    if is_frame(table):
        labels = column_names(table)
        if len(set(labels)) < len(labels):
            twice = next(name for i, name in enumerate(labels) if name in labels[:i])
            raise DataError(f"X must have unique column names, but {twice!r} occurs twice; rename one of them.")
        return table
    values = unmasked(table)
    if values.ndim != 2:
        raise no_table(table)
    return pd.DataFrame(values, columns=list(names or map(str, range(values.shape[1]))))
