"""A table of what is known of nodes besides the data, by their names."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from ..declare.paths import path_of
from ..errors import DataError, OptionError, argument
from ..names import shown

if TYPE_CHECKING:
    import pandas as pd

_NODES = argument("nodes")
_EXPECTED = "a table with the names of nodes in its index, or a file with these in its first column"


def nodes_of(value: Any, names: Sequence[str]) -> pd.DataFrame:
    """Return a table whose index are names of nodes.

    Raises
    ------
    OptionError
        If it is no table, or none of its rows is about a node.
    DataError
        If a name has several rows.
    """
    import pandas as pd

    if isinstance(value, str | PathLike):
        value = _read(path_of("nodes", value))
    if not isinstance(value, pd.DataFrame):
        raise OptionError(option="nodes", got=value, expected=_EXPECTED)
    table = value.set_axis([str(name) for name in value.index])
    twice = table.index[table.index.duplicated()]
    if len(twice):
        raise DataError(f"{_NODES}: {shown(twice[0])} has {int((table.index == twice[0]).sum())} rows; give each node "
                        "one row.")  # fmt: skip
    if not table.index.isin(list(names)).any():
        got = f"names such as {shown(table.index[0])}" if len(table) else "a table without rows"
        raise OptionError(option="nodes", got=got, expected=f"rows about nodes, such as {shown(names[0])}")
    return table


def _read(path: Any) -> pd.DataFrame:
    """Return the table of a text file, with the names of nodes in its index."""
    import pandas as pd

    from ..data.text_tables import entries_of

    head, *rows = entries_of(path) or [[""]]
    wrong = next((i for i, row in enumerate(rows) if len(row) != len(head)), None)
    if wrong is not None:
        raise DataError(f"{_NODES}: the first line of {path} has {len(head)} columns, row {wrong + 1} has "
                        f"{len(rows[wrong])}; give each row a value of each column.")  # fmt: skip
    table = pd.DataFrame(rows, columns=head)
    return table.replace("", None).set_index(table.columns[0])
