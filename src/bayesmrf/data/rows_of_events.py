"""One row for each event of a person, with the questions of that event: how to make one row of each person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import DataError, argument, in_python
from ..names import in_shell, listed, quoted, shown

if TYPE_CHECKING:
    import pandas as pd

_FEWEST = 2  # columns that are answered in one row of a person at most, and are blank in others
_MOST = 2  # columns with several values of a person, such as the name of the event


def event_columns(frame: pd.DataFrame, person: str) -> list[str] | None:
    """Return what differs between the rows of a person, such as the name of an event, if each answer is in one of them.

    None is returned for other tables: the rows of a person have their answers in different columns.

    Parameters
    ----------
    frame : DataFrame
        Columns have unique texts as their names.
    person : str
        The column that says which rows are of one person.
    """
    rest = frame.drop(columns=person)
    observed = rest.notna()
    answered = observed.groupby(frame[person].to_numpy()).sum()
    apart = (answered.max() == 1) & ~observed.all()  # in one row of a person at most
    several = _differing(rest.loc[:, ~apart], frame[person])
    of_event = observed.loc[:, apart].any(axis=1).groupby(frame[person].to_numpy()).sum()
    if apart.sum() < _FEWEST or len(several) > _MOST or of_event.max() < 2:
        return None
    return several


def rows_of_events(frame: pd.DataFrame, person: str) -> str:
    """Say how to make one row of each person, if the rows of each have their answers in different columns; else ""."""
    several = event_columns(frame, person)
    if several is None:
        return ""
    drop = f".drop(columns={several!r})" if several else ""
    combine = f"--combine-rows {in_shell(person)}"
    combine += f" --drop {','.join(map(in_shell, several))}" if several else ""
    return (
        f"rows with the same {quoted(person)} have their answers in different columns, as where a row is an event of a "
        "person; make one row of each person with "
        f"{in_python(f'X{drop}.groupby({quoted(person)}).first()', combine)}"
    )


def one_row_each(frame: pd.DataFrame, person: pd.Series) -> pd.DataFrame:
    """Return a table with one row for each person: the only value of each column, missing where there is none.

    Raises
    ------
    DataError
        If a row has no person, or a person has several values of a column.
    """
    import pandas as pd

    name = str(person.name)
    if person.isna().any():
        raise DataError(f"{argument('combine_rows')}: {int(person.isna().sum()):,} row(s) have no {quoted(name)}; "
                        "correct them, or delete these rows")  # fmt: skip
    if several := _differing(frame, person):
        drop = ",".join(map(in_shell, several))
        values = frame[several[0]].groupby(person.to_numpy()).unique()
        of = next(key for key, answers in values.items() if len(pd.Series(answers).dropna()) > 1)
        raise DataError(
            f"{argument('combine_rows')} must be a column with one answer of each person to each question, but people "
            f"have several answers in {listed(list(map(quoted, several)), total=True)}, such as {quoted(name)} "
            f"{shown(str(of))}; leave out what differs between the events with --drop {drop}, or use bayesmrf panel if "
            "the rows are waves of the same questions"
        )
    return frame.groupby(person.to_numpy(), sort=False).first().reset_index(drop=True)


def combined(table: pd.DataFrame, person: pd.Series, *more: Any) -> tuple[Any, ...]:
    """Return `one_row_each` of a table, and of series with the same rows, or None, in the same order.

    Raises
    ------
    DataError, OptionError
    """
    import pandas as pd

    series = [values for values in more if values is not None]
    whole = one_row_each(pd.concat([table, *series], axis=1), person)
    answers = whole.iloc[:, : table.shape[1]]
    answers.attrs = table.attrs
    columns = iter(range(table.shape[1], whole.shape[1]))
    return answers, *(None if values is None else whole.iloc[:, next(columns)] for values in more)


def _differing(frame: pd.DataFrame, person: pd.Series) -> list[str]:
    """Find the columns in which some person has several values."""
    n = frame.groupby(person.to_numpy()).nunique()
    return [str(c) for c in frame.columns[(n > 1).any().to_numpy()]]
