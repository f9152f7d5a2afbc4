"""Tables of the command line whose waves are side by side, with a row of each wave."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.files import call
from ..data.waves_side_by_side import PERSON, WAVE, side_by_side, stacked
from ..errors import OptionError
from ..names import listed, quoted

if TYPE_CHECKING:
    import pandas as pd


def one_below_the_other(
    path: Path, table: pd.DataFrame, others: Mapping[str, Any] | None
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the items of a table whose waves are side by side, a row for each person and wave, and these by flag.

    Parameters
    ----------
    path : Path
        The file of the table, for messages.
    table : DataFrame
        A row for each person.
    others : mapping or None
        The column of the person by its flag, if there is one.

    Raises
    ------
    OptionError
        If there are no waves side by side, or columns that are of no wave.
    """
    found = side_by_side(list(map(str, table.columns)), plain=True)
    if found is None:
        raise OptionError(f"--wide: {call(path)} must have two or more items at two or more waves, named such as "
                          "sad_t1, sad_t2, or sad_pre, sad_post; rename the columns, or give a row for each wave "
                          "without --wide")  # fmt: skip
    if found.rest:
        each = " ".join(f"--drop {name}" for name in found.rest[:5])
        raise OptionError(f"--wide: {listed([*map(quoted, found.rest)], total=True)} of {call(path)} "
                          f"{'are' if len(found.rest) > 1 else 'is'} of no wave; leave out with {each}, or give "
                          f"--person {found.rest[0]} if it identifies people")  # fmt: skip
    given = (others or {}).get("--person")
    long = stacked(table, found, PERSON, None if given is None else given.to_numpy())
    return long, {"--person": long.pop(PERSON), "--wave": long.pop(WAVE)}
