"""What the rows of a table are: people, single answers, counts, repeated observations; or no observations at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import DataError, argument, data_row, in_python, preparing
from ..names import in_shell, quoted
from .cells import is_missing, unmasked
from .codebook import MOST_LEVELS, MOST_WORDS, TOTAL, Problem, as_text
from .derived_columns import Relation, relations
from .frames import cells, in_pandas, is_frame
from .headers import extra_headers
from .kinds.count import count_problem, forgotten_count, is_count, whole_numbers
from .kinds.identifier import FEWEST_PERSONS, is_named_identifier, is_named_person, names_people, repeated_identifier
from .kinds.number import are_many_values
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
    """Infer from the columns of a table what its rows are; names are unique texts."""
    answers, person = one_row_per_answer(frame), repeated_identifier(frame)
    return Rows(answers, person, None, []) if answers else Rows(None, person, forgotten_count(frame), _totals(frame))


def problems(
    frame: pd.DataFrame, added: Collection[str] = (), rows: Rows | None = None, of_panel: bool = False
) -> list[str]:
    """Return what is wrong with a table whose columns are no answers, each with what to do; names are unique texts.

    Of the columns that a survey program ``added`` it says which are to be left out where a row is an event. ``rows``
    is what the others say, if it is known: the search takes seconds in a wide table. ``of_panel`` says whether rows of
    one person may follow each other.
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
        if of_panel:
            labelled = f"give {argument('person', name)}, so that rows of one person follow each other, or leave it "
            labelled += f"out with {preparing('drop', name)}"
        elif frame[name].nunique() < FEWEST_PERSONS:
            labelled = f"{frame[name].nunique()} are too few to estimate what that means for the result, so that "
            labelled += f"intervals may be too narrow; leave it out with {preparing('drop', name)}, or use "
            labelled += f"{in_python('PanelMRF', 'bayesmrf panel')} if rows follow each other in time"
        texts.append(
            f"column {quoted(name)} looks like an identifier ({round(n, 1):g} rows per value), and rows of one "
            f"person are not independent; {labelled}"
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
    if (problem := problem_of(X)) is not None:
        unless = f", or set {argument('model', 'ordinal')} if all values are answers" if problem.unless else ""
        raise DataError(f"{argument('X')} must contain answers only: {problem.text}{unless}.")
    values = cells(X)
    if not values.size or (values.dtype.kind in "biuf" and not ((values > 1) | (values < -1)).any()):
        return
    frame = X.set_axis(list(map(str, X.columns)), axis=1)
    if texts := problems(frame) if frame.columns.is_unique else []:
        raise DataError(f"{argument('X')} must contain answers only: {'; '.join(texts)}, or set "
                        f"{argument('model', 'ordinal')} if all values are answers.")  # fmt: skip


_FEWEST = 3  # rows of a symmetric matrix whose names are those of its columns, or which has fractions
_FEWEST_OF_INTEGERS = 6  # of another one: two in a million tables of yes and no are symmetric by chance
_SAME = 1e-8  # largest difference of the halves of a matrix
_CORRELATION = 1.5  # no value of a matrix of correlations, on whose diagonal is 1, is as large
_SEQUENCE = re.compile(r"[A-Za-z*.~-]+")
_SHORTEST = 6  # letters of a sequence
_FIRST = 1000  # rows that are looked at
_LEFT_OUT = ("", "-", "–", "—", ".")
_BASES = set("ACGTUNacgtun-.")
_MOST_LETTERS = 25  # different ones of sequences: 20 of amino acids, gaps and unknown ones


def problem_of(frame: pd.DataFrame) -> Problem | None:
    """Describe rows that are no observations, with a remedy; None if they may be observations."""
    for what in (_of_headers, _of_sequences, _of_matrix, _of_columns):
        if (problem := what(frame)) is not None:
            return problem
    return None


def _texts(frame: pd.DataFrame) -> list[int]:
    """Return the columns that may have texts."""
    return [i for i, kind in enumerate(frame.dtypes) if kind.name in ("object", "string", "str")]


def _of_headers(frame: pd.DataFrame) -> Problem | None:
    """Propose a remedy for lines of headers among the rows."""
    if not _texts(frame):
        return None

    def rows() -> Iterator[list[str]]:
        for row in frame.itertuples(index=False, name=None):
            cells = np.array([*row, None], dtype=object)[:-1]
            yield ["" if missing else as_text(cell) for cell, missing in zip(cells, is_missing(cells), strict=True)]

    n = extra_headers(list(map(str, frame.columns)), rows())
    if not n:
        return None
    if n == 2:
        return Problem(f"{data_row(0)} and {data_row(1)} are headers of Qualtrics, not answers; "
                       "leave them out when the file is read (pandas: skiprows=[1, 2])")  # fmt: skip
    return Problem(f"{data_row(0)} is a second line of headers, not answers; read both lines (pandas: header=[0, 1]) "
                   "and give each column one name, such as 'question: choice'")  # fmt: skip


def _of_sequences(frame: pd.DataFrame) -> Problem | None:
    """Propose a remedy for a column of sequences of equal length, or the lines of a FASTA file."""
    names = list(map(str, frame.columns))
    if names[:1] and names[0].startswith(">") and len(names) == 1:
        return Problem("the table has the lines of an alignment of sequences (FASTA); make a row of each sequence and "
                       "a column of each position")  # fmt: skip
    for i in _texts(frame):
        name = names[i]
        cells = [cell for cell in frame.iloc[:_FIRST, i] if isinstance(cell, str) and cell.strip()]
        letters = set("".join(cells))
        gaps = "-" in letters and "".join(cells).isupper() and 2 * len(set(cells)) > len(cells)
        if (
            len(set(cells)) > 1
            and len(set(map(len, cells))) == 1
            and len(cells[0]) >= _SHORTEST
            and (letters <= _BASES or (gaps and len(letters) <= _MOST_LETTERS))
            and all(map(_SEQUENCE.fullmatch, cells))
        ):
            split = in_python(f" (pandas: pd.DataFrame(X[{quoted(name)}].map(list).tolist()))")
            return Problem(
                f"column {quoted(name)} has aligned sequences of {len(cells[0])} letters; make a column of each "
                f"position{split}, with letters as answers without order"
            )
    return None


def _of_matrix(frame: pd.DataFrame) -> Problem | None:
    """Propose a remedy for a matrix whose rows are the same nodes as its columns."""
    if not 0 <= frame.shape[1] - len(frame) <= 1:
        return None
    numbers = _numbers(frame)
    rest = frame.loc[:, [name not in numbers.columns for name in frame.columns]]
    if numbers.shape[0] != numbers.shape[1] or rest.shape[1] > 1 or len(frame) < _FEWEST:
        return None
    labels = [as_text(v) for v in (rest.iloc[:, 0] if rest.shape[1] else frame.index)]
    is_named = labels == list(map(str, numbers.columns)) and any(not label.isdecimal() for label in labels)
    matrix = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    both = _symmetric(matrix)
    if both is None and is_named:
        return Problem(
            "the table is a matrix, such as that of a network, and not one of answers: its rows have the names of its "
            "columns; give a table with a row for each observation",
            unless=True,
        )
    if both is None or (rest.shape[1] and not is_named):
        return None
    is_whole = bool((both == np.round(both)).all())
    if len(both) < (_FEWEST if is_named or not is_whole else _FEWEST_OF_INTEGERS) or len(np.unique(both)) < 2:
        return None
    if not is_whole and (np.abs(np.diag(both) - 1) < _SAME).all() and np.abs(both).max() < _CORRELATION:
        return Problem("the table is a matrix of correlations, not of answers; give the table from which they were "
                       "computed, with a row for each observation", unless=True)  # fmt: skip
    return Problem(
        "the table is a symmetric matrix, such as that of a network, and not one of answers: its rows are the same "
        "nodes as its columns; give a table with a row for each observation",
        unless=True,
    )


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of numbers, among them texts that are numbers, blank, or marks of a cell that is left out."""
    import pandas as pd

    columns = {}
    for name, column in frame.items():
        if column.dtype.kind not in "biufO" and column.dtype.name not in ("string", "str"):
            continue
        texts = column.map(lambda v: np.nan if isinstance(v, str) and v.strip() in _LEFT_OUT else v)
        numbers = pd.to_numeric(texts, errors="coerce") if frame.columns.is_unique else column
        if (numbers.isna() == texts.isna()).all():
            columns[name] = numbers
    return pd.DataFrame(columns, frame.index)


def _symmetric(matrix: np.ndarray) -> np.ndarray | None:
    """Complete a symmetric matrix, one half of which may be blank; None for other matrices."""
    missing, lower = np.isnan(matrix), np.tril(np.ones(matrix.shape, dtype=bool), -1)
    for half in (lower, lower.T):
        if missing[half].all() and not missing[half.T].any():
            matrix = np.where(half, matrix.T, matrix)
            break
    off = ~np.eye(len(matrix), dtype=bool)
    if np.isnan(matrix[off]).any() or not (np.abs(matrix - matrix.T)[off] <= _SAME).all():
        return None
    if len(np.unique(matrix[off])) < 2:
        return None  # of which nothing can be told
    return np.where(np.isnan(matrix) & ~off, 1.0, matrix)


def _of_columns(frame: pd.DataFrame) -> Problem | None:
    """Propose a remedy for a table with more columns than rows, where one column names the rows."""
    if len(frame) < _FEWEST or frame.shape[1] - 1 <= len(frame):
        return None
    texts = frame.select_dtypes(exclude=["number", "bool"])
    index = frame.index
    if not texts.shape[1] and index.name is not None and index.dtype.kind not in "iufM" and index.is_unique:
        if names_people(str(index.name)):
            return None
        return Problem(f"there are more columns ({frame.shape[1]}) than rows ({len(frame)}), which the index "
                       f"{quoted(str(index.name))} names; if the rows are what the network is about, such as species, "
                       "transpose the table (X.T), else leave the names out with X.reset_index(drop=True)",
                       unless=True)  # fmt: skip
    if texts.shape[1] != 1 or not _texts(texts):
        return None
    name, values = str(texts.columns[0]), texts.iloc[:, 0]
    is_name = values.notna().all() and values.is_unique and not values.map(lambda v: isinstance(v, float)).any()
    if not is_name or names_people(name):
        return None
    flip = in_python(f" (pandas: X.set_index({quoted(name)}).T)")
    return Problem(
        f"there are more columns ({frame.shape[1] - 1}) than rows ({len(frame)}), which {quoted(name)} names; if "
        f"the rows are what the network is about, such as species, transpose the table{flip}, else leave the names "
        f"out with {preparing('drop', name)}"
    )
