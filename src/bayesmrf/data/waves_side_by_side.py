"""Waves of the same people side by side, such as ``sad_t1`` and ``sad_t2``: which columns they are, and a row of each.

Names have a stem and a wave: a letter or word and a number at the end (``sad_t1``, ``sad.w2``, ``sadT1``,
``sad_wave1``) or in front (``T1_sad``), a year (``sad_2019``), or ``pre`` and ``post`` (``before`` and ``after``,
``baseline`` and ``followup``) at either place. Two or
more stems must have the same two or more waves. A number alone, as in ``q1`` or ``item_1``, is that of an item of a
scale unless a user says that it is a wave.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DataError, OptionError, SideBySideWarning, argument, in_python
from ..findings import tell
from ..names import listed, quoted
from .frames import column_names, in_pandas, is_frame

if TYPE_CHECKING:
    import pandas as pd

_MARK = r"wave|time|visit|session|day|week|month|t|w"
_NUMBERED = (
    re.compile(rf"(?P<stem>.+?)[._ -]+[(\[]?(?P<mark>(?i:{_MARK}))[._ -]?(?P<wave>\d+)[)\]]?"),
    re.compile(r"(?P<stem>.+?)[._ -]+(?P<mark>)[(\[]?(?P<wave>(19|20)\d\d)[)\]]?"),  # years
    re.compile(r"(?P<stem>.*[a-z0-9])(?P<mark>T|W|Wave|Time)(?P<wave>\d+)"),
    re.compile(rf"(?P<mark>(?i:{_MARK}))[._ -]?(?P<wave>\d+)[._ -]+(?P<stem>.+)"),
)
_PLACES = {
    "pre": 1, "before": 1, "baseline": 1, "vorher": 1, "avant": 1, "antes": 1,
    "post": 2, "after": 2, "followup": 2, "follow_up": 2, "nachher": 2, "après": 2, "después": 2,
}  # fmt: skip
_WORDS = "|".join(_PLACES)
_TWO = (
    re.compile(rf"(?P<stem>.+?)[._ -]+(?P<mark>)[(\[]?(?P<wave>(?i:{_WORDS}))[)\]]?"),
    re.compile(rf"(?P<mark>)[(\[]?(?P<wave>(?i:{_WORDS}))[)\]]?[._ -]+(?P<stem>.+)"),
)
_PLAIN = (re.compile(r"(?P<stem>.+?)(?P<mark>)[._ -]+(?P<wave>\d+)"),)
_FEWEST = 2  # stems, and waves
PERSON, WAVE = "person", "wave"  # columns of a stacked table


class SideBySide(NamedTuple):
    """Columns of waves.

    Parameters
    ----------
    columns : dict of stem to dict of wave to column
        The waves are numbers.
    waves : tuple of int
        All waves, in order.
    rest : tuple of str
        Columns that are of no wave.
    """

    columns: dict[str, dict[int, str]]
    waves: tuple[int, ...]
    rest: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """The columns of the waves, in words."""
        first = next(iter(self.columns.values()))
        each = listed([*map(quoted, self.columns)], 3, total=True)
        return f"{each} at {len(self.waves)} waves, such as {listed([*map(quoted, first.values())], 3)}"


def side_by_side(names: Sequence[str], plain: bool = False) -> SideBySide | None:
    """Find the columns that are waves side by side; None if there are none.

    Parameters
    ----------
    names : sequence of str
    plain : bool
        Whether a number after a point, an underscore or a blank is a wave if no name has a mark such as ``t``.
    """
    kinds = [*_NUMBERED, *_TWO, *(_PLAIN if plain else ())]
    return next((layout for kind in kinds if (layout := _of_kind(names, kind)) is not None), None)


def _of_kind(names: Sequence[str], kind: re.Pattern[str]) -> SideBySide | None:
    by_mark: dict[str, dict[str, dict[int, str]]] = {}
    for name in names:
        if (match := kind.fullmatch(name)) is not None:
            wave = match["wave"].lower()
            stems = by_mark.setdefault(match["mark"].lower(), {})
            stems.setdefault(match["stem"], {})[_PLACES.get(wave) or int(wave)] = name
    for stems in by_mark.values():
        columns = {stem: dict(sorted(of.items())) for stem, of in stems.items() if len(of) >= _FEWEST}
        sets = [tuple(of) for of in columns.values()]
        if any(sets.count(waves) >= _FEWEST for waves in sets):
            used = {name for of in columns.values() for name in of.values()}
            waves = tuple(sorted({wave for of in sets for wave in of}))
            return SideBySide(columns, waves, tuple(name for name in names if name not in used))
    return None


def warn_of_waves(names: Sequence[str]) -> None:
    """Warn of waves side by side in a table from which a network is learnt."""
    if (waves := side_by_side(names)) is not None:
        tell(
            f"Columns look like waves of the same items: {waves.in_words}. In a single network, edges between waves "
            f"have no direction, and the edges within each wave are learnt separately. {_REMEDY} to learn what follows "
            "what.",
            SideBySideWarning,
        )


def refuse_waves(names: Sequence[str]) -> None:
    """Refuse waves side by side in a table whose rows are to be waves.

    Raises
    ------
    DataError
    """
    if (waves := side_by_side(names)) is not None:
        raise DataError(f"{argument('X')} must have a row for each wave, got waves side by side ({waves.in_words}); "
                        f"{in_python('give bayesmrf.data.stack_waves(X)', 'give --wide')}.")  # fmt: skip


_REMEDY = in_python(
    "Use PanelMRF with a row of each wave, bayesmrf.data.stack_waves(X),",
    "Use bayesmrf panel with its option for waves side by side",
)


def stack_waves(table: Any, person: str | None = None) -> pd.DataFrame:
    """Bring a table with waves side by side to a row for each person and wave.

    Names are a stem and a wave: ``sad_t1``, ``sad.w2``, ``sadT1``, ``T1_sad``, ``sad_pre`` and ``sad_post``; or
    ``sad.1`` or ``sad_1`` if no column has a mark such as ``t``. Two or more stems must have the same waves.

    Parameters
    ----------
    table : DataFrame
        A row for each person.
    person : str, optional
        The column that identifies people; without it people are numbered from 1, in the column ``person``.

    Returns
    -------
    DataFrame
        The person; ``wave``, a number (of pre and post 1 and 2); a column for each stem, with missing values where it
        is not in a wave; and the other columns, repeated in each wave.

    Raises
    ------
    DataError
        If there are no such columns, or one has the name of the new ones.
    OptionError
        If there is no column of the person.
    """
    frame = in_pandas(table)
    if not is_frame(frame):
        raise DataError(option="table", got=type(table).__name__, expected="a DataFrame, whose names say the waves")
    names = list(map(str, column_names(frame)))
    if person is not None and person not in names:
        raise OptionError(option="person", got=person, expected="a column of the table")
    layout = side_by_side([name for name in names if name != person], plain=True)
    if layout is None:
        raise DataError(
            option="table", got=listed([*map(quoted, names)]), remedy="rename the columns", expected="columns of two "
            "or more items at two or more waves, named such as sad_t1, sad_t2, or sad_pre, sad_post",
        )  # fmt: skip
    twice = next((name for name in (WAVE, person or PERSON) if name in {*layout.columns, *layout.rest}), None)
    if twice is not None:
        raise DataError(f"{argument('table')} must have no column {quoted(twice)}, which the result adds; rename it.")
    frame = frame.set_axis(names, axis=1)
    return stacked(frame, layout, person or PERSON, None if person is None else frame[person].to_numpy())


def stacked(frame: pd.DataFrame, layout: SideBySide, person: str, labels: np.ndarray | None) -> pd.DataFrame:
    """Stack the waves of a table one below the other, and keep what files declare of its columns."""
    import pandas as pd

    who = np.arange(1, len(frame) + 1) if labels is None else labels
    parts = []
    for wave in layout.waves:
        columns: dict[str, Any] = {person: who, WAVE: wave}
        for stem, of in layout.columns.items():
            columns[stem] = frame[of[wave]] if wave in of else np.full(len(frame), np.nan)
        parts.append(pd.DataFrame(columns | {name: frame[name] for name in layout.rest}, frame.index))
    long = pd.concat(parts, ignore_index=True)
    first = {stem: next(iter(of.values())) for stem, of in layout.columns.items()}
    long.attrs = {
        key: {name: of[column] for name, column in first.items() if column in of} if isinstance(of, Mapping) else of
        for key, of in frame.attrs.items()
    }
    return long
