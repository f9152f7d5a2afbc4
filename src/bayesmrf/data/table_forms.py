"""What the rows of a table are: people, single answers, counts, or repeated observations of people."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DataError, argument, in_python, preparing
from ..names import in_shell, quoted
from .cells import is_missing, unmasked
from .codebook import MOST_LEVELS, MOST_WORDS, TOTAL
from .frames import cells, in_pandas, is_frame
from .kinds.count import count_problem, forgotten_count, is_count, whole_numbers
from .kinds.identifier import FEWEST_PERSONS, is_named_identifier, is_named_person, repeated_identifier
from .kinds.number import are_many_values
from .made_of_others import Relation, relations
from .other_tables import problem_of
from .rows_of_events import rows_of_events
from .time_columns import is_named_time

if TYPE_CHECKING:
    import pandas as pd

_QUESTION = re.compile(r"(?i)^(items?|questions?|question_?(id|nr|number|name)|item_?(id|nr|number|name)|variables?|"
                       r"symptoms?|features?|statements?|words?|stimul(us|i)|tasks?|targets?|"
                       r"roll(call|number|[ _.-](call|number|nr|id))s?|votes?|bills?|votenumber|"
                       r"fragen?|frage(n?nummer)?)$")  # fmt: skip
_MOST_COLUMNS = 20  # of a table with a row for each answer
_FEWEST_CROSSED = 8  # values of each of two crossed identifiers
_EXPECTED = 20.0  # pairs that would occur twice in unrelated columns, from which that none does is no chance


class Answers(NamedTuple):
    """The columns of a table with one row for each answer: who gave it, to which question, and what it is."""

    person: str
    question: str
    answer: str


def answered(frame: pd.DataFrame, added: Collection[str] = ()) -> pd.DataFrame:
    """Return the rows with an answer: others, of instruments that were not filled in, have identifiers alone.

    Columns that a survey program ``added`` have none.
    """
    named = [c for c in frame.columns if c in added or is_named_person(str(c)) or is_named_identifier(str(c))]
    rest = frame.drop(columns=named) if named else None
    if rest is None or not rest.shape[1]:
        return frame
    rows = np.flatnonzero(~is_missing(rest.to_numpy(dtype=object)).all(axis=1))
    return frame if len(rows) == len(frame) else frame.iloc[rows]


def one_row_per_answer(frame: pd.DataFrame) -> Answers | None:
    """Return person, question and answer of a table with one row for each answer; None for another one.

    Persons repeat (`repeated_identifier`), no person has the same question twice, questions are texts or the column is
    named like them, and one other column differs between the rows of a person; or two identifiers are crossed.
    """
    return _by_question(frame) or _crossing(frame)


def _by_question(frame: pd.DataFrame) -> Answers | None:
    person = repeated_identifier(frame)
    if person is None:
        return None
    rest = [name for name in map(str, frame.columns) if name != person]
    varies = [name for name in rest if (frame.groupby(person)[name].nunique() > 1).any()]
    for question in varies:
        is_text = whole_numbers(frame[question]) is None
        n = frame[question].nunique()
        if not (is_text or _QUESTION.search(question)) or n < 3 or frame.duplicated([person, question]).any():
            continue
        answers = [name for name in varies if name != question]
        if len(answers) > 1 and _QUESTION.search(question):  # a time of reaction, for example, goes with the answer
            answers = [name for name in answers if frame[name].nunique() <= MOST_LEVELS]
        if len(answers) == 1 and not is_count(answers[0]) and 2 * len(frame) > n * frame[person].nunique():
            return Answers(person, question, answers[0])
    return None


def _crossing(frame: pd.DataFrame) -> Answers | None:
    """Return the crossing of two identifiers, such as of roll calls and legislators, with one answer for each pair.

    No pair occurs twice, though 20 or more would if the columns were unrelated. One column has 20 different values or
    more, the other eight or more, or three texts, and neither is named as a time (people by waves are a panel). One
    more column alone differs among the rows of both; it has at most 12 values, or one of the two has more than an
    answer has, so that it is no count of the pairs. A table with a row for each answer has few columns.
    """
    if frame.shape[1] > _MOST_COLUMNS:
        return None
    sizes = {name: frame[name].nunique() for name in map(str, frame.columns)}
    shares = {name: float((frame[name].value_counts() / len(frame)).pow(2).sum()) for name in sizes}
    crossed = [
        name for name, size in sizes.items() if size >= _FEWEST_CROSSED or (size > 2 and not _is_numeric(frame[name]))
    ]
    for first, second in combinations([name for name in crossed if not is_named_time(name)], 2):
        most = max(sizes[first], sizes[second])
        if not FEWEST_PERSONS <= most <= len(frame) / 2:
            continue
        if len(frame) ** 2 / 2 * shares[first] * shares[second] < _EXPECTED:
            continue
        if frame.duplicated([first, second]).any() or frame[[first, second]].isna().any(axis=None):
            continue
        rest = [name for name in sizes if name not in (first, second)]
        free = [name for name in rest if all((frame.groupby(by)[name].nunique() > 1).any() for by in (first, second))]
        if len(free) == 1 and (sizes[free[0]] <= MOST_LEVELS or most > MOST_WORDS) and not is_count(free[0]):
            person = max((first, second), key=lambda n: (is_named_person(n), not _QUESTION.search(n), sizes[n]))
            return Answers(person, second if person == first else first, free[0])
    return None


def _is_numeric(column: pd.Series) -> bool:
    return column.dtype.kind in "biuf"


class Rows(NamedTuple):
    """What the columns of a table that are no answers say about its rows.

    Parameters
    ----------
    answers : Answers or None
        The columns of a table of which a row is one answer; nothing else is looked for in it.
    person, frequency : str or None
        The column of a repeated identifier, and one that counts how often each row was observed.
    totals : list of Relation
        Columns of many numbers that are totals or means of others.
    """

    answers: Answers | None
    person: str | None
    frequency: str | None
    totals: list[Relation]


def understood_rows(frame: pd.DataFrame) -> Rows:
    """Return what the columns of a table say about its rows; names are unique texts."""
    answers, person = one_row_per_answer(frame), repeated_identifier(frame)
    return Rows(answers, person, None, []) if answers else Rows(None, person, forgotten_count(frame), _totals(frame))


def problems(frame: pd.DataFrame, added: Collection[str] = (), rows: Rows | None = None) -> list[str]:
    """Return what is wrong with a table whose columns are no answers, each with what to do; names are unique texts.

    Of the columns that a survey program ``added`` it says which are to be left out where a row is an event. ``rows``
    is what the others say, if it is known: the search takes seconds in a wide table.
    """
    every, frame = frame, frame.drop(columns=list(added))
    rows = understood_rows(frame) if rows is None else rows
    if rows.answers is not None:
        person, question, answer = map(quoted, rows.answers)
        return [
            f"a row must be a person, but here it is an answer ({answer}) of a person ({person}) to a question "
            f"({question}); make a column of each question (pandas: .pivot(index={person}, columns={question}, "
            f"values={answer}))"
        ]
    texts, name = [], rows.person
    if rows.frequency is not None:
        texts.append(count_problem(rows.frequency))
    if name is not None and (events := rows_of_events(every, name)):
        texts.append(events)
    elif name is not None:
        n = len(frame) / frame[name].nunique()
        labelled = in_python(f"make it the index, X.set_index({quoted(name)})", f"give --drop {in_shell(name)}")
        labelled += ", and the result says what that means for it"
        if frame[name].nunique() < FEWEST_PERSONS:
            labelled = f"{frame[name].nunique()} are too few to estimate what that means for the result, so that "
            labelled += f"intervals may be too narrow; leave it out with {preparing('drop', name)}, or use "
            labelled += f"{in_python('PanelMRF', 'bayesmrf panel')} if rows follow each other in time"
        texts.append(
            f"column {quoted(name)} looks like an identifier with {round(n, 1):g} rows each, and rows of one person "
            f"are not independent; {labelled}"
        )
    return texts + [f"{relation.sentence} with {preparing('drop', relation.columns[0])}" for relation in rows.totals]


def _totals(frame: pd.DataFrame) -> list[Relation]:
    """Return the columns of many numbers that are totals or means of others."""
    numbers = [name for name in map(str, frame.columns) if frame[name].dtype.kind in "iuf"]
    many = [name for name in numbers if are_many_values(frame[name].dropna().to_numpy())]
    return [r for r in relations(frame) if r.kind == TOTAL and r.columns[0] in many] if many else []


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
    if (found := problem_of(X)) is not None:
        unless = f", or set {argument('model', 'ordinal')} if all values are answers" if found.unless else ""
        raise DataError(f"{argument('X')} must contain answers only: {found.text}{unless}.")
    values = cells(X)
    if not values.size or (values.dtype.kind in "biuf" and not ((values > 1) | (values < -1)).any()):
        return
    frame = X.set_axis(list(map(str, X.columns)), axis=1)
    if texts := problems(frame) if frame.columns.is_unique else []:
        raise DataError(f"{argument('X')} must contain answers only: {'; '.join(texts)}, or set "
                        f"{argument('model', 'ordinal')} if all values are answers.")  # fmt: skip
