"""What the rows of a table are: people, single answers, counts, or repeated observations of people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import DataError, argument, in_python
from ..names import in_shell, quoted
from .codebook import TOTAL
from .frames import cells, in_pandas, is_frame
from .kinds.count import forgotten_count, whole_numbers
from .kinds.identifier import repeated_identifier
from .kinds.number import are_many_values
from .made_of_others import relations
from .missing import unmasked
from .other_tables import problem_of

if TYPE_CHECKING:
    import pandas as pd

_QUESTION = re.compile(r"(?i)^(items?|questions?|question_?(id|nr|number|name)|item_?(id|nr|number|name)|variables?|"
                       r"symptoms?|features?|statements?|words?|stimul(us|i)|tasks?)$")  # fmt: skip


class Answers(NamedTuple):
    """The columns of a table with one row for each answer: who gave it, to which question, and what it is."""

    person: str
    question: str
    answer: str


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
        is_text = whole_numbers(frame[question]) is None
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
        give = in_python(f"sample_weight=X[{quoted(count)}], without this column in X", f"--weight {in_shell(count)}")
        texts.append(f"column {quoted(count)} looks like the number of times that each row was observed; give {give}")
    if (name := repeated_identifier(frame)) is not None:
        n = len(frame) / frame[name].nunique()
        labelled = in_python(f"make it the index, X.set_index({quoted(name)})", f"give --drop {in_shell(name)}")
        texts.append(
            f"column {quoted(name)} looks like an identifier with {round(n, 1):g} rows each, and rows of one person "
            f"are not independent; {labelled}, and the result says what that means for it"
        )
    numbers = [name for name in map(str, frame.columns) if frame[name].dtype.kind in "iuf"]
    many = [name for name in numbers if are_many_values(frame[name].dropna().to_numpy())]
    totals = [r for r in relations(frame) if r.kind == TOTAL and r.columns[0] in many] if many else []
    return texts + [relation.sentence for relation in totals]


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
