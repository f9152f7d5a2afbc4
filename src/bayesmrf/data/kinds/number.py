"""Numbers that are no scale of answers: measurements, pixels, and few numbers with gaps."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ...errors import LevelsWarning, in_python, preparing
from ...findings import NOTE, tell
from ...names import digits, in_shell, listed, quoted
from ..cells import is_whole
from ..codebook import MOST_LEVELS, MOST_NAMED, NUMBER, Column
from ..column_options import TEMPLATE
from .values import Values

_MANY_PIXELS, _BRIGHT = 64, 200  # columns, and the least largest value, of pictures
_WEIGHT = re.compile(r"(?i)(survey|sampl(e|ing)|final|person|pop|psp|design|analysis|an|d|p)?[ _.-]?"
                     r"(w|wt|wgt|wght|weight(ing|s)?|gewicht(ung)?|poids|peso|ponderaci[oó]n)")  # fmt: skip
_FEWEST_TO_CUT = 5  # different numbers
CUT = "pandas.qcut(column, 4, False, duplicates='drop')"  # of a measurement, into levels of about equal counts


def weight_of_survey(names: Sequence[str]) -> str:
    """Return how to give the first column that is named like the weight of a survey, at the end of a remedy; or ""."""
    name = next(filter(_WEIGHT.fullmatch, names), None)
    if name is None:
        return ""
    give = in_python(f"survey_weight=X[{quoted(name)}], without this column in X", f"--survey-weight {in_shell(name)}")
    return f"; if {quoted(name)} is the weight of a survey, give {give}"


def are_many(column: Column) -> bool:
    """Return whether a column has more numbers than a scale of answers has levels."""
    return int((column.does or "0").split()[0]) > MOST_LEVELS


def problems_of_few(columns: list[Column], contents: list[Values]) -> list[str]:
    """Describe columns of few different numbers that are no scale.

    Integers may be codes of names, or counts with gaps if they are many; fractions have their order.
    """
    of = {s.name: s for s in contents}
    wide = [c for c in columns if c.name in of and len(of[c.name].counts) >= _FEWEST_TO_CUT]
    numbers = {c.name: of[c.name].numbers for c in columns if c.name in of}
    codes = [c for c in columns if c not in wide and (v := numbers.get(c.name)) is not None and is_whole(v)]
    rest = [c for c in columns if c not in wide and c not in codes]
    return [*_of_few(wide, contents, is_wide=True), *_of_few(codes, contents, are_codes=True), *_of_few(rest, contents)]


def _of_few(columns: list[Column], contents: list[Values], is_wide: bool = False, are_codes: bool = False) -> list[str]:
    if not columns:
        return []
    names = [c.name for c in columns][:MOST_NAMED]
    each = listed([f"{quoted(c.name)} ({c.does})" if c.does else quoted(c.name) for c in columns], 3, total=True)
    ways = f"take them in their order with {preparing('ordered', *names)}"
    if are_codes:
        ways = f"count them as codes of names with {preparing('nominal', *names)}, or give them in their order with "
        ways += preparing("levels", TEMPLATE)
    if is_wide:
        cuts = preparing("cut", *(f"{n}:3" for n in names))
        ways += f", cut them into levels of equal counts with {cuts}"
    divide, drop = _division(contents) if is_wide else "", preparing("drop", *names)
    return [f"numbers that are no scale of answers: {each}; {ways}, {divide}or leave them out with {drop}"]


def with_gaps(columns: Mapping[str, np.ndarray]) -> dict[str, list[int]]:
    """Return the values of columns of few integers, such as 1, 6, 9, that leave out half of their range or more.

    Such numbers are codes of names, or counts, rather than a scale of which some levels were never chosen. An integer
    counts as a level if another column has it and values on both sides of the gap, as of one scale. Equal steps are a
    coding (`bayesmrf.data.kinds.number.recoded`), and no gaps.

    Parameters
    ----------
    columns : mapping of names to arrays
        The values of each column of numbers, without missing ones.
    """
    whole = {name: np.unique(v).astype(np.int64) for name, v in columns.items() if len(v) and is_whole(v)}
    even, gaps = recoded(columns), dict[str, list[int]]()
    for name, values in whole.items():
        if name in even or not 3 <= len(values) <= MOST_LEVELS or values[-1] - values[0] >= 2 * MOST_LEVELS:
            continue
        if 2 * len(values) > values[-1] - values[0] + 1:  # others would only add levels
            continue
        levels = set(values.tolist())
        for low, high in pairwise(values.tolist()):
            for other in whole.values():
                if other[0] <= low and other[-1] >= high:
                    levels.update(other[(other > low) & (other < high)].tolist())
        if 2 * len(levels) <= values[-1] - values[0] + 1:
            gaps[name] = values.tolist()
    return gaps


def without_scale(contents: Sequence[Values]) -> dict[str, Column]:
    """Return columns of integers with gaps (`with_gaps`), by name."""
    by_name = {s.name: s for s in contents if s.numbers is not None and not s.labels}
    gaps = with_gaps({name: s.numbers for name, s in by_name.items() if s.numbers is not None})
    return {name: by_name[name].column(NUMBER, [], few_numbers(values)) for name, values in gaps.items()}


def few_numbers(values: Sequence[int]) -> str:
    """Describe a column of integers with gaps for a codebook."""
    return f"{len(values)} numbers: {', '.join(map(digits, values))}"


def _division(contents: list[Values]) -> str:
    """Propose a rule of the command line that divides all columns; "" if none does."""
    values = [s.numbers for s in contents if s.numbers is not None]
    rule = dividing_rule(values) if len(values) == len(contents) else ""
    return in_python("", f'divide all columns with --binarize "{rule}", ') if rule else ""


def problems_of_many(columns: list[Column], contents: list[Values]) -> list[str]:
    """Describe columns of many different numbers; a rule is proposed if it divides every column."""
    if not columns:
        return []
    values = [s.numbers for s in contents if s.numbers is not None]
    if pictures := remedy_for_pictures(values):
        return [pictures]
    names = [c.name for c in columns][:MOST_NAMED]
    each = listed([f"{quoted(c.name)} ({c.does})" for c in columns], 3, total=True)
    return [
        f"{len(columns)} column(s) are measurements: {each}; cut them into levels of equal counts with "
        f"{preparing('cut', *(f'{name}:4' for name in names))}, {_division(contents)}or leave them out with "
        f"{preparing('drop', *names)}{weight_of_survey(names)}"
    ]


def remedy_for_measurements(columns: Sequence[np.ndarray], names: Sequence[str]) -> str:
    """Propose a remedy for columns with more different numbers than answers have levels; "" if there are none.

    The numbers are those that are not missing.
    """
    measured = [(n, v) for n, v in zip(names, columns, strict=True) if v.dtype.kind in "iuf" and are_many_values(v)]
    if not measured:
        return ""
    each = [f"{quoted(n)} ({len(np.unique(v))} numbers from {v.min():g} to {v.max():g})" for n, v in measured]
    rule = dividing_rule(columns)
    cut = in_python(f"cut them into levels of equal counts ({CUT})", f'divide all columns with --binarize "{rule}"')
    if not rule:
        cut = in_python(f"cut them into levels of equal counts ({CUT})", "drop them, or cut them in another program")
    return f"{len(measured)} column(s) are measurements: {listed(each, 3)}; {cut}"


def remedy_for_pictures(columns: Sequence[np.ndarray]) -> str:
    """Propose a remedy for pixels of pictures, with grey values from 0 to 255; "" for other columns."""
    pixels = [c for c in columns if len(c)] if len(columns) >= _MANY_PIXELS else []
    if not pixels or not (min(c.min() for c in pixels) == 0 and _BRIGHT <= max(c.max() for c in pixels) <= 255):
        return ""
    if 2 * sum(map(are_many_values, pixels)) <= len(pixels):
        return ""
    return "the columns look like pixels with grey values: divide these, such as by X >= 128, and drop constant pixels"


def dividing_rule(columns: Sequence[np.ndarray]) -> str:
    """Find a rule, such as ``>=50``, that divides each column that is not constant; "" if none does.

    Of these it divides all values most evenly.
    """
    varying = [c for c in columns if c.dtype.kind in "iuf" and len(c) and c.min() < c.max()]
    if not varying:
        return ""
    every = np.sort(np.concatenate(varying))
    levels = np.unique(every)
    levels = levels[(levels > max(c.min() for c in varying)) & (levels <= min(c.max() for c in varying))]
    if not levels.size:
        return ""
    share = np.searchsorted(every, levels) / len(every)
    return f">={digits(levels[np.abs(share - 0.5).argmin()])}"


def are_many_values(values: np.ndarray) -> bool:
    """Return whether a column has more different numbers than a scale of answers has levels."""
    return len(values) > MOST_LEVELS and len(np.unique(values)) > MOST_LEVELS


def of_numbers(content: Values, values: list[str]) -> Column:
    """Return a column of numbers that are no scale."""
    return content.column(NUMBER, [], f"{len(values)} numbers from {values[0]} to {values[-1]}")


def recoded(columns: Mapping[str, np.ndarray]) -> dict[str, tuple[int, ...]]:
    """Return the levels of each column whose steps are a coding, from its lowest to its highest one.

    The step of a column is the greatest common divisor of the differences of its values and of those that fill it: the
    values inside its range of columns that span a step or more. So an unused 4 among columns from 1 to 5 is a level,
    as other columns have it, and a column of 1 and 2 does not fill 1, 3, 5. A step above 1 is a coding if there are at
    most 12 levels in the range of the column, of which the columns with this step use more than half.

    Parameters
    ----------
    columns : mapping of names to arrays
        The values that occur in each column of numbers, without missing ones.
    """
    distinct = {name: np.unique(v).astype(np.int64) for name, v in columns.items() if _is_whole(v)}
    steps = {name: int(np.gcd.reduce(np.diff(x))) for name, x in distinct.items() if len(x) > 1}
    changed = True
    while changed:
        changed = False
        for name in [name for name, step in steps.items() if step > 1]:
            x, step = distinct[name], steps[name]
            others = [v[(v > x[0]) & (v < x[-1])] - x[0] for v in distinct.values() if v[-1] - v[0] >= step]
            steps[name] = int(np.gcd.reduce(np.concatenate([[step], *others])))
            changed |= steps[name] < step
    used: dict[tuple[int, int], set[int]] = {}  # the levels of columns with one step, where they are on one scale
    for name, step in steps.items():
        used.setdefault((step, int(distinct[name][0]) % step), set()).update(distinct[name].tolist())
    coded = {}
    for name, step in steps.items():
        low, high = distinct[name][[0, -1]].tolist()
        if step == 1 or high - low >= MOST_LEVELS * step:
            continue
        levels = tuple(range(low, high + 1, step))
        if 2 * len(used[step, low % step].intersection(levels)) > len(levels):
            coded[name] = levels
    return coded


def warn_of_steps(columns: Mapping[str, tuple[int, ...]]) -> None:
    """Tell which columns of more than two levels have steps that are taken for a coding; see `recoded`."""
    several = [name for name, levels in columns.items() if len(levels) > 2]
    if several:
        levels = columns[several[0]]
        tell(
            f"{len(several)} column(s) have levels in equal steps, and no column has one between them: "
            f"{listed(list(map(quoted, several)))} (the first: {listed([digits(v) for v in levels])}); the levels are "
            "taken as one step apart. Give ordered categories with all levels if there are others that nobody chose",
            LevelsWarning,
            NOTE,
        )


def _is_whole(values: np.ndarray) -> bool:
    if not len(values) or values.dtype.kind not in "iuf":
        return False
    return bool(np.isfinite(values).all() and (values == np.round(values)).all() and np.abs(values).max() < 2**53)
