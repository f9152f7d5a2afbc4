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
    """Return the items of a table with waves side by side in a row for each person and wave, and both by flag.

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
        If there are no waves side by side, or columns that belong to no wave.
    """
    waves = side_by_side(list(map(str, table.columns)), plain=True)
    if waves is None:
        raise OptionError(f"--wide: {call(path)} must have two or more items at two or more waves, named such as "
                          "sad_t1, sad_t2, or sad_pre, sad_post; rename the columns, or give a row for each wave "
                          "without --wide")  # fmt: skip
    if waves.rest:
        each = " ".join(f"--drop {name}" for name in waves.rest[:5])
        raise OptionError(f"--wide: {listed([*map(quoted, waves.rest)], total=True)} of {call(path)} "
                          f"{'belong' if len(waves.rest) > 1 else 'belongs'} to no wave; leave out with {each}, or "
                          f"give --person {waves.rest[0]} if it identifies people")  # fmt: skip
    person = (others or {}).get("--person")
    long = stacked(table, waves, PERSON, None if person is None else person.to_numpy())
    return long, {"--person": long.pop(PERSON), "--wave": long.pop(WAVE)}
