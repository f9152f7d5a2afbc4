"""Columns with several answers in a cell, such as "Friends, Music", of each of which a yes/no column is made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import DataError, OptionError, argument, preparing
from ...names import listed, quoted
from ..cells import is_missing, is_number
from ..codebook import MOST_NAMED, SEVERAL, Codebook, Column, as_text
from ..column_options import JOINT, ColumnOptions, matching
from .values import Values

if TYPE_CHECKING:
    import pandas as pd

# Those that are least probable within an answer come first. Google Forms writes "a, b" or "a;b", Microsoft Forms
# "a;b;", Qualtrics "a,b", Jotform lines, and ODK and KoboToolbox "a b".
SEPARATORS = ("\n", ";", "|", " / ", " + ", " & ", ", ", ",", " ")
_BRACKETS = {"[": "]", "{": "}"}  # of lists in JSON, Python and PostgreSQL
OTHER = "other text"  # the column of parts that occur in one cell only, where these are many
_FEWEST_CELLS = 8
_JOINED = 0.2  # share of the cells with several parts, from which all of them may be combinations
_MOST_PARTS = 40  # that occur more than once
_RARE = 3  # parts of one cell only, up to which each is a column
_COVERED = 0.8  # share of the parts of all cells that are not of one cell only
_INSEPARABLE = 5  # cells, from which texts that always follow each other are one answer
_SHOWN = 8  # parts that a message names
_Group = tuple[str, ...]  # the texts of one answer


class Parts(NamedTuple):
    """The answers that the cells of a column combine, in the order of the cells, and what separates them."""

    separator: str
    names: tuple[str, ...]

    def of(self, cell: str) -> tuple[set[str], list[str]]:
        """Divide a cell into its parts and its other texts."""
        atoms, known, others = _atoms(cell, self.separator), {*self.names}, []
        parts, i = set[str](), 0
        while i < len(atoms):
            ends = range(len(atoms), i, -1)  # an answer may have commas
            j = next((j for j in ends if _joined(atoms[i:j], self.separator) in known), None)
            if j is None:
                others.append(atoms[i])
            else:
                parts.add(_joined(atoms[i:j], self.separator))
            i = j or i + 1
        return parts, others


def of_words(content: Values) -> Column | None:
    """Return a column most of whose cells are combinations of few parts; None for another one."""
    parts = None if content.declared else combined(content.counts)
    if parts is None:
        return None
    return content.column(SEVERAL, [], f"combinations of {len(parts.names)} answers: {_listed(parts)}")


def problems(columns: Sequence[tuple[Column, Values]], frame: pd.DataFrame) -> list[str]:
    """Describe columns with several answers in a cell, or that list which other columns are ticked."""
    texts, open_ones = list[str](), list[Column]()
    for column, content in columns:
        neighbours = _neighbours(column.name, content, frame)
        if neighbours:
            texts.append(
                f"column {quoted(column.name)} lists which of {listed(list(map(quoted, neighbours)), _SHOWN)} are "
                f"ticked; leave it out with {preparing('drop', column.name)}"
            )
        else:
            open_ones.append(column)
    if open_ones:
        each = listed([f"{quoted(column.name)} ({column.does})" for column in open_ones], total=True)
        names = [column.name for column in open_ones[:MOST_NAMED]]
        texts.append(
            f"several answers in one cell: {each}; make a yes/no column of each answer with "
            f"{preparing('split', *names)} (a blank cell means none of them), or leave them out with "
            f"{preparing('drop', *names)}"
        )
    return texts


def _listed(parts: Parts) -> str:
    return listed(list(parts.names), _SHOWN, total=True)


def combined(counts: dict[str, int]) -> Parts | None:
    """Find the parts that texts combine, given how often each text occurs; None if they are no combinations.

    A separator divides a fifth or more of the cells into different numbers of parts, none twice in a cell, and there
    are more different cells than parts, so that these are combined in several ways. If spaces separate them, each part
    is also alone in a cell.
    """
    if sum(counts.values()) < _FEWEST_CELLS or all(map(is_number, counts)):
        return None
    for separator in SEPARATORS:
        atoms = {cell: _atoms(cell, separator) for cell in counts}
        sizes = {len(texts) for texts in atoms.values()}
        several = sum(n for cell, n in counts.items() if len(atoms[cell]) > 1)
        if len(sizes) < 2 or several < _JOINED * sum(counts.values()):
            continue
        if any(len(set(texts)) < len(texts) for texts in atoms.values()):
            continue
        parts, n = _parts(atoms, counts, separator)
        alone = {texts[0] for texts in atoms.values() if len(texts) == 1}
        if separator == " " and not all(part in alone for part in parts.names if n[part] > 1):
            continue  # words of one answer, such as "very often"
        often = [part for part in parts.names if n[part] > 1]
        of_often = sum(n[part] for part in often)
        common = [cell for cell in counts if set(parts.of(cell)[0]) <= {*often}]
        if 2 <= len(often) <= _MOST_PARTS and len(common) > len(often) and of_often >= _COVERED * sum(n.values()):
            return parts
    return None


def _atoms(cell: str, separator: str) -> list[str]:
    """Return the texts between separators, without brackets around all and quotes around each."""
    cell = cell.strip()
    if cell[:1] in _BRACKETS and cell[-1:] == _BRACKETS[cell[:1]] and separator != " ":
        cell = cell[1:-1]
    texts = (text.strip().strip("\"'").strip() for text in cell.split(separator))
    return [text for text in texts if text]


def _joined(atoms: Iterable[str], separator: str) -> str:
    return (separator if separator in (" ", ", ") else f"{separator.strip()} ").join(atoms)


def _parts(atoms: dict[str, list[str]], counts: dict[str, int], separator: str) -> tuple[Parts, Counter[str]]:
    """List the parts, and count the cells of each; texts that always follow each other are one part.

    So are those of an answer with commas, "Friends, or family"; of two answers that were always ticked together, two
    columns would be copies. In few cells this may be chance, unless the second text goes on in lower case.
    """
    groups: dict[str, list[_Group]] = {
        cell: [(text,) for text in dict.fromkeys(pieces)] for cell, pieces in atoms.items()
    }
    while (pair := _inseparable(groups, counts)) is not None:
        groups = {cell: _merged(pieces, *pair) for cell, pieces in groups.items()}
    named = {cell: [_joined(group, separator) for group in pieces] for cell, pieces in groups.items()}
    n = Counter({name: 0 for name in _in_order(named.values())})
    for cell, pieces in named.items():
        n.update(dict.fromkeys(pieces, counts[cell]))
    return Parts(separator, tuple(n)), n


def _inseparable(groups: dict[str, list[_Group]], counts: dict[str, int]) -> tuple[_Group, _Group] | None:
    """Find two groups of texts that occur only next to each other; None if there are none."""
    after: dict[_Group, set[_Group]] = {}
    before: dict[_Group, set[_Group]] = {}
    n: Counter[_Group] = Counter()
    for cell, pieces in groups.items():
        for left, right in pairwise([(), *pieces, ()]):
            after.setdefault(left, set()).add(right)
            before.setdefault(right, set()).add(left)
            n[left] += counts[cell]
    for left, rights in after.items():
        right = next(iter(rights))
        if left and right and rights == {right} and before[right] == {left}:
            goes_on = left[-1][:1].isupper() and right[0][:1].islower()
            if n[left] >= _INSEPARABLE or goes_on:
                return left, right
    return None


def _merged(pieces: list[_Group], left: _Group, right: _Group) -> list[_Group]:
    if left not in pieces:
        return pieces
    i = pieces.index(left)
    return [*pieces[:i], left + right, *pieces[i + 2 :]]


def _in_order(cells: Iterable[list[str]]) -> list[str]:
    """Return parts in the order of the cells, which is that of the questionnaire; numbers in theirs."""
    first: Counter[str] = Counter()
    for names in cells:
        for i, name in enumerate(names):
            first[name] += len(names) - 1 - 2 * i
    names = sorted(first, key=lambda name: -first[name])
    return sorted(names, key=float) if all(map(is_number, names)) else names


def expanded(frame: pd.DataFrame, asked: ColumnOptions) -> pd.DataFrame:
    """Return a table in which columns of several answers are replaced by a yes/no column of each answer.

    Raises
    ------
    OptionError
        If the cells of a column are no combinations.
    """
    names = list(map(str, frame.columns))
    for name in matching("split", asked.split, names):
        place = list(map(str, frame.columns)).index(name)
        cells = _cells(frame.iloc[:, place])
        counts = Counter(cell for cell in cells if cell and cell not in asked.missing)
        parts = combined(counts) or _declared(counts)
        if parts is None:
            raise OptionError(option="split", got=name, expected="a column with several answers in one cell, with "
                              "commas, semicolons or bars between them")  # fmt: skip
        frame = _replaced(frame, place, _columns(name, cells, _few(parts, counts), asked.missing))
    return frame if asked.columns is None else with_parts(frame, asked.columns)


def with_parts(frame: pd.DataFrame, book: Codebook) -> pd.DataFrame:
    """Replace columns of combinations by the yes/no columns that a codebook has of their parts.

    Raises
    ------
    DataError
        If a cell has a part that the codebook does not have.
    """
    columns = list(map(str, frame.columns))
    sources: dict[str, list[str]] = {}
    for column in book.columns:
        source = None if column.name in columns else source_of(column.name, columns)
        if source is not None:
            sources.setdefault(source, []).append(column.name.removeprefix(f"{source}{JOINT}"))
    for source, names in sources.items():
        place = list(map(str, frame.columns)).index(source)
        cells = _cells(frame.iloc[:, place])
        counts = Counter(cell for cell in cells if cell)
        tried = [Parts(separator, tuple(names)) for separator in SEPARATORS]
        parts = min(tried, key=lambda parts: sum(len(text) for cell in counts for text in parts.of(cell)[1]))
        others = dict.fromkeys(text for cell in counts for text in parts.of(cell)[1])
        if others and OTHER not in names:
            raise DataError(f"{argument('X')} must contain the answers of its codebook only, but {quoted(source)} has "
                            f"others: {listed(list(map(quoted, others)))}; add a row {quoted(source + JOINT + OTHER)} "
                            f"to {argument('columns')}, or correct them")  # fmt: skip
        frame = _replaced(frame, place, _columns(source, cells, parts))
    return frame


def source_of(name: str, columns: Iterable[str]) -> str | None:
    """Find the column that a column of a part comes from, by its name; None if there is none."""
    return max((source for source in columns if name.startswith(f"{source}{JOINT}")), key=len, default=None)


def _declared(counts: dict[str, int]) -> Parts | None:
    """Return the parts of cells that a user says to be combinations, by the first separator that occurs."""
    for separator in SEPARATORS:
        atoms = {cell: _atoms(cell, separator) for cell in counts}
        if any(len(texts) > 1 for texts in atoms.values()):
            return _parts(atoms, counts, separator)[0]
    return None


def _few(parts: Parts, counts: dict[str, int]) -> Parts:
    """Return parts with a common one for those of one cell only, which people wrote themselves, if they are many."""
    n = Counter(part for cell, k in counts.items() for part in parts.of(cell)[0] for _ in range(k))
    often = [part for part in parts.names if n[part] > 1]
    if len(parts.names) - len(often) <= _RARE:
        return parts
    return parts._replace(names=(*often, OTHER))


def _cells(column: pd.Series) -> list[str]:
    """Return the texts of cells; of missing ones ""."""
    values = column.to_numpy(dtype=object)
    return ["" if missing else as_text(v) for v, missing in zip(values, is_missing(values), strict=True)]


def _columns(name: str, cells: Sequence[str], parts: Parts, codes: Sequence[str] = ()) -> dict[str, Any]:
    """Return a column of yes and no for each part, in which codes are missing."""
    import pandas as pd

    kind = pd.CategoricalDtype(["no", "yes"], ordered=True)
    by_cell = {cell: parts.of(cell) for cell in dict.fromkeys(cells)}

    def state(cell: str, part: str) -> int:
        is_there = part in by_cell[cell][0] or (part == OTHER and bool(by_cell[cell][1]))
        return -1 if cell in codes else int(is_there)

    return {
        f"{name}{JOINT}{part}": pd.Categorical.from_codes([state(cell, part) for cell in cells], dtype=kind)
        for part in parts.names
    }


def _replaced(frame: pd.DataFrame, place: int, columns: dict[str, Any]) -> pd.DataFrame:
    """Replace one column of a table by several."""
    import pandas as pd

    twice = next((name for name in columns if name in set(map(str, frame.columns))), None)
    if twice is not None:
        raise DataError(f"{argument('X')} has a column {quoted(twice)} already; rename it, or drop the column of which "
                        "it is a part")  # fmt: skip
    parts = [frame.iloc[:, :place], pd.DataFrame(columns, index=frame.index), frame.iloc[:, place + 1 :]]
    joined = pd.concat(parts, axis=1)
    joined.attrs = frame.attrs
    return joined


def _neighbours(name: str, content: Values, frame: pd.DataFrame) -> list[str]:
    """Find the yes/no columns that repeat the parts of a column, if every part has one."""
    import pandas as pd

    parts = combined(content.counts)
    if parts is None:
        return []
    names = list(map(str, frame.columns))
    few = _few(parts, content.counts)
    columns = _columns(name, _cells(frame.iloc[:, names.index(name)]), few)
    ticks = dict[bytes, str]()
    for i, other in enumerate(names):
        codes, uniques = pd.factorize(frame.iloc[:, i])
        if other != name and len(uniques) + int((codes < 0).any()) == 2:
            codes = np.where(codes < 0, len(uniques), codes)
            ticks.setdefault((codes != codes[0]).tobytes(), other)
    ticked = []
    for part, column in columns.items():
        if part.endswith(f"{JOINT}{OTHER}"):
            continue
        tick = ticks.get((column.codes != column.codes[0]).tobytes())
        if tick is None:
            return []
        ticked.append(tick)
    return ticked if len(set(ticked)) > 1 else []
