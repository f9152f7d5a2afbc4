"""Columns of a table that are no answers: counts of rows, persons with several rows, questions and measurements."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DataError, argument, in_python
from ..names import digits, listed, quoted, shown
from .codebook import TOTAL
from .frames import cells, in_pandas, is_frame
from .made_of_others import relations
from .missing import unmasked
from .ordered_levels import CUT, MOST_LEVELS
from .row_blocks import label_columns

if TYPE_CHECKING:
    import pandas as pd

_COUNTS = re.compile(r"(?i)^(counts?|n|freq(uency|uencies)?|weights?|wt|times|n_?obs|cases)$")
_PERSON = re.compile(
    r"(?i)(^|[\W_])(ids?|uuid|guid|case|caseid|subject|subj|participant|pid|respondent|person|child|patient|student|"
    r"pupil|family|household|couple|dyad|code)([\W_]|\d*$)|[a-z]ID$|(?-i:[a-z]Id$)"
)
_QUESTION = re.compile(r"(?i)^(items?|questions?|question_?(id|nr|number|name)|item_?(id|nr|number|name)|variables?|"
                       r"symptoms?|features?|statements?|words?|stimul(us|i)|tasks?)$")  # fmt: skip
_FEWEST_ROWS = 8  # of all combinations
_FEWEST_PERSONS = 20
_MANY_PIXELS, _BRIGHT = 64, 200  # columns, and the least largest value, of pictures


class Answers(NamedTuple):
    """The columns of a table with one row for each answer: who gave it, to which question, and what it is."""

    person: str
    question: str
    answer: str


def forgotten_count(frame: pd.DataFrame) -> str | None:
    """Return the column that counts how often the rest of its row was observed; None if there is none.

    Its values are integers from 0, others than 0 and 1. Either the other columns have each of all their combinations
    once, 8 or more; or they have none of them twice, and it is named like a count and has larger values than each.
    """
    numbers = {name: v for name in map(str, frame.columns) if (v := _whole(frame[name])) is not None}
    candidates = [name for name, v in numbers.items() if v.min() >= 0 and v.max() > 1 and len(v) == len(frame)]
    sizes = {name: frame[name].nunique() for name in map(str, frame.columns)} if candidates else {}
    for name in sorted(candidates, key=lambda name: not is_count(name)):
        others = [other for other in sizes if other != name]
        is_all = _FEWEST_ROWS <= len(frame) == math.prod(sizes[other] for other in others)
        larger = is_count(name) and all(numbers[name].max() > numbers[o].max() for o in others if o in numbers)
        if others and (is_all or larger) and not frame[others].duplicated().any():
            return name
    return None


def repeated_identifier(frame: pd.DataFrame) -> str | None:
    """Return the column that says which rows are of one person; None if there is none.

    It has 20 or more different integers or texts, nearly all of which occur several times, and is named like an
    identifier, or has all equally often.
    """
    for name in map(str, frame.columns):
        values = frame[name]
        is_text = values.dtype.kind in "OTU" or values.dtype.name in ("str", "string")
        if not is_text and _whole(values) is None:
            continue
        counts = values.value_counts().to_numpy()
        if len(counts) < _FEWEST_PERSONS or np.mean(counts > 1) < 0.5:
            continue
        if _PERSON.search(name) or (counts[0] == counts[-1] and len(counts) > len(values) / len(counts)):
            return name
    return None


def one_row_per_answer(frame: pd.DataFrame) -> Answers | None:
    """Return person, question and answer of a table with one row for each answer; None for another one.

    Persons repeat (`repeated_identifier`), no person has the same question twice, questions are texts or the column is
    named like them, and one other column differs between the rows of a person.
    """
    person = repeated_identifier(frame)
    if person is None:
        return None
    rest = [name for name in map(str, frame.columns) if name != person]
    varies = [name for name in rest if (frame.groupby(person)[name].nunique() > 1).any()]
    for question in varies:
        is_text = _whole(frame[question]) is None
        n = frame[question].nunique()
        if not (is_text or _QUESTION.search(question)) or n < 3 or frame.duplicated([person, question]).any():
            continue
        answers = [name for name in varies if name != question]
        if len(answers) == 1 and 2 * len(frame) > n * frame[person].nunique():
            return Answers(person, question, answers[0])
    return None


def problems(frame: pd.DataFrame) -> list[str]:
    """Return what is wrong with a table whose columns are no answers, each with what to do; names are unique texts."""
    if (found := one_row_per_answer(frame)) is not None:
        person, question, answer = map(quoted, found)
        return [
            f"a row must be a person, but here it is an answer ({answer}) of a person ({person}) to a question "
            f"({question}); make a column of each question (pandas: .pivot(index={person}, columns={question}, "
            f"values={answer}))"
        ]
    texts = []
    if (count := forgotten_count(frame)) is not None:
        give = in_python(f"sample_weight=X[{quoted(count)}], without this column in X", f"--weight {_in_shell(count)}")
        texts.append(f"column {quoted(count)} looks like the number of times that each row was observed; give {give}")
    if (name := repeated_identifier(frame)) is not None:
        n = len(frame) / frame[name].nunique()
        labelled = in_python(f"make it the index, X.set_index({quoted(name)})", f"give --drop {_in_shell(name)}")
        texts.append(
            f"column {quoted(name)} looks like an identifier with {round(n, 1):g} rows each, and rows of one person "
            f"are not independent; {labelled}, and the result says what that means for it"
        )
    numbers = [name for name in map(str, frame.columns) if frame[name].dtype.kind in "iuf"]
    many = [name for name in numbers if _many(frame[name].dropna().to_numpy())]
    totals = [r for r in relations(frame) if r.kind == TOTAL and r.columns[0] in many] if many else []
    return texts + [relation.sentence for relation in totals]


def remedy_for_measurements(columns: Sequence[np.ndarray], names: Sequence[str]) -> str:
    """Return what to do about columns with more different numbers than answers have levels; "" if there are none.

    The numbers are those that are not missing.
    """
    some = [(n, v) for n, v in zip(names, columns, strict=True) if v.dtype.kind in "iuf" and _many(v)]
    if not some:
        return ""
    each = [f"{quoted(n)} ({len(np.unique(v))} numbers from {v.min():g} to {v.max():g})" for n, v in some]
    rule = dividing_rule(columns)
    cut = in_python(f"cut them into levels of equal counts ({CUT})", f'divide all columns with --binarize "{rule}"')
    if not rule:
        cut = in_python(f"cut them into levels of equal counts ({CUT})", "drop them, or cut them in another program")
    return f"{len(some)} column(s) are measurements: {listed(each, 3)}; {cut}"


def remedy_for_pictures(columns: Sequence[np.ndarray]) -> str:
    """Return what to do about pixels of pictures, with grey values from 0 to 255; "" for other columns."""
    some = [c for c in columns if len(c)] if len(columns) >= _MANY_PIXELS else []
    if not some or not (min(c.min() for c in some) == 0 and _BRIGHT <= max(c.max() for c in some) <= 255):
        return ""
    if 2 * sum(map(_many, some)) <= len(some):
        return ""
    return "the columns look like pixels with grey values: divide these, such as by X >= 128, and drop constant pixels"


def dividing_rule(columns: Sequence[np.ndarray]) -> str:
    """Return the rule, such as ``>=50``, that divides the values of each column that is not constant; "" if none does.

    Of these it divides all values most evenly.
    """
    some = [c for c in columns if c.dtype.kind in "iuf" and len(c) and c.min() < c.max()]
    if not some:
        return ""
    every = np.sort(np.concatenate(some))
    levels = np.unique(every)
    levels = levels[(levels > max(c.min() for c in some)) & (levels <= min(c.max() for c in some))]
    if not levels.size:
        return ""
    share = np.searchsorted(every, levels) / len(every)
    return f">={digits(levels[np.abs(share - 0.5).argmin()])}"


def require_answers(X: Any) -> None:
    """Refuse a table with columns that are no answers; see `problems`.

    Raises
    ------
    DataError
    """
    import pandas as pd

    X = in_pandas(X)
    if not is_frame(X):
        values = unmasked(X)
        if values.ndim != 2 or values.dtype.kind == "c":
            return
        X = pd.DataFrame(values)
    values = cells(X)
    if not values.size or (values.dtype.kind in "biuf" and not ((values > 1) | (values < -1)).any()):
        return
    frame = X.set_axis(list(map(str, X.columns)), axis=1)
    if found := problems(frame) if frame.columns.is_unique else []:
        raise DataError(f"{argument('X')} must contain answers only: {'; '.join(found)}, or set "
                        f"{argument('model', 'ordinal')} if all values are answers.")  # fmt: skip


def without(frame: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Return a table without some columns; those that say which rows belong together become its index."""
    return _labelled(frame.drop(columns=list(names)), frame[list(names)])


def without_others(frame: pd.DataFrame, of: Any) -> pd.DataFrame:
    """Return a table with the columns that it lacks of another one as its index, as `without` does.

    An index that is not that of pandas' defaults stays.
    """
    import pandas as pd

    other = in_pandas(of)
    if other is frame or not is_frame(other) or not isinstance(other.index, pd.RangeIndex):
        return frame
    lacking = other.iloc[:, [str(name) not in set(map(str, frame.columns)) for name in other.columns]]
    return _labelled(frame, lacking.set_axis(list(map(str, lacking.columns)), axis=1))


def _labelled(frame: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    labels = label_columns(others)
    if not labels:
        return frame
    index = (
        pd.Index(others[labels[0]], name=labels[0]) if len(labels) == 1 else pd.MultiIndex.from_frame(others[labels])
    )
    return frame.set_axis(index, axis=0)


def is_count(name: str) -> bool:
    """Return whether a column is named as one that counts rows."""
    return bool(_COUNTS.search(name))


def _many(values: np.ndarray) -> bool:
    return len(values) > MOST_LEVELS and len(np.unique(values)) > MOST_LEVELS


def _whole(column: pd.Series) -> np.ndarray | None:
    """Return the integers of a column that are not missing; None if it has other values, or none."""
    if column.dtype.kind not in "iuf":
        return None
    values = column.dropna().to_numpy(dtype=np.float64)
    return values if len(values) and bool((values == np.round(values)).all()) else None


def _in_shell(name: str) -> str:
    return shlex.quote(shown(name))
