"""The file of --density with the prior probability of each pair: a square matrix, or a list of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.files import call, read_text
from ..errors import OptionError
from ..names import quoted

_FORMS = "a row and a column for each column of the data, or two of these and a probability a line"


def read_pairs(density: Any, columns: Sequence[Any]) -> Any:
    """Return the probabilities in a file as `bayesmrf.priors.SpikeSlab` takes them, and other priors as they are.

    A matrix may have the names of columns in its first line, and then in the first column, too. A list of pairs may
    have a header.

    Raises
    ------
    DataError, OptionError
        If the file cannot be read, or is neither; what it says of pairs is checked with the data.
    """
    import pandas as pd

    from ..data.text_tables import lines_of, separator_of

    if not isinstance(density, Path):
        return density
    text, names = read_text(density), [str(c) for c in columns]
    separator = separator_of(text)
    lines = [[s.strip() for s in line] for line in lines_of(density, text, separator)]
    lines = [line for line in lines if any(line)]
    shape, d = (len(lines), max(map(len, lines), default=0)), len(names)
    if len({*map(len, lines)}) > 1 or shape[1] < 2:
        raise _refused(density, "lines of different numbers of entries" if lines else "no line")

    def numbers(rows: list[list[str]]) -> list[list[float]]:
        return [[_number(density, s, separator) for s in row] for row in rows]

    if shape == (d, d) and not {*lines[0]} & {*names}:
        return pd.DataFrame(numbers(lines), names, names)
    if shape == (d + 1, d) and {*lines[0]} == {*names}:
        return pd.DataFrame(numbers(lines[1:]), lines[0], lines[0])
    if shape[0] == shape[1] and (shape[1] != 3 or {*lines[0][1:]} == {*names}):
        return pd.DataFrame(numbers([line[1:] for line in lines[1:]]), [row[0] for row in lines[1:]], lines[0][1:])
    if shape[1] != 3:
        raise _refused(density, f"{shape[0]} lines of {shape[1]} entries")
    known = {*names, "*"}
    if not {*lines[0][:2]} & known and ((len(lines) > 1 and {*lines[1][:2]} & known) or not _is_number(lines[0][2])):
        lines = lines[1:]
    pairs = [(a, b, _number(density, p, separator)) for a, b, p in lines]
    if not any({a, b} & known for a, b, _ in pairs) and all(a.isdecimal() and b.isdecimal() for a, b, _ in pairs):
        return [(int(a), int(b), p) for a, b, p in pairs]
    return pairs


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(path: Path, text: str, separator: str) -> float:
    value = text if separator == "," else text.replace(",", ".")
    if not _is_number(value):
        raise OptionError(f"--density: {call(path)} must have numbers as probabilities, got {quoted(text)}; correct it")
    return float(value)


def _refused(path: Path, got: str) -> OptionError:
    return OptionError(f"--density: {call(path)} must have {_FORMS}, got {got}; write one of these.")
