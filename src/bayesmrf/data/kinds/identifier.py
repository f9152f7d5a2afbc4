"""Columns that are no answers: they number or name rows, say which are of one person, or come from a survey program."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import preparing
from ...names import listed, quoted
from ..cells import is_whole
from ..codebook import METADATA, Column
from ..counts_and_labels import label_columns
from ..frames import in_pandas, is_frame
from .count import whole_numbers
from .values import Values

if TYPE_CHECKING:
    import pandas as pd
_MANY_ROWS = 20  # fewer rows may differ by chance
_DISTINCT = 0.9  # share of an identifier's values that differ
_ID_NAME = re.compile(
    r"(?i)(^|[\W_])(ids?|uuid|guid|index|idx|row|rows|nr|case|caseid|record|serial|key|subject|subj|participant|pid|"
    r"respondent|person|code)([\W_]|$)|[a-z]ID$|(?-i:[a-z]Id$)|^unnamed: 0$"
)
_PERSON = re.compile(
    r"(?i)(^|[\W_])(ids?|uuid|guid|case|caseid|subject|subj|participant|pid|respondent|person|child|patient|student|"
    r"pupil|family|household|couple|dyad|code)([\W_]|\d*$)|[a-z]ID$|(?-i:[a-z]Id$)"
)
_NAME = re.compile(r"(?i)\W*(person|people|(first|last|full)? ?_?name|legislator|senator|member)s?\W*")
_PERSON_ALONE = re.compile(
    r"(?i)(record|study|subject|subj|participant|person|patient|respondent|case|student|child|pupil|family|household|"
    r"couple|dyad|proband(in|en)?|teilnehmer|vpn?)[ _.-]?(ids?|nr|no|number|nummer|code)|ids?|uuid|pid|ppn|"
    r"(subject|participant|respondent|proband|teilnehmer|vpn?)"
)
FEWEST_PERSONS = 20
# Names that one program alone gives, and names of others that count next to a name of the same program.
_OF_ANY = re.compile(r"redcap_(event_name|repeat_instrument|repeat_instance|survey_identifier|data_access_group)")
_OF_PROGRAM = {
    "Qualtrics": (
        {"ResponseId", "DistributionChannel", "RecordedDate", "UserLanguage", "RecipientEmail", "ExternalReference"},
        {"StartDate", "EndDate", "Status", "Progress", "Finished", "Duration (in seconds)", "IPAddress",
         "RecipientLastName", "RecipientFirstName", "LocationLatitude", "LocationLongitude"},
    ),
    "LimeSurvey": (
        {"submitdate", "startlanguage", "lastpage", "Date submitted", "Last page", "Start language"},
        {"id", "seed", "startdate", "datestamp", "Response ID", "Seed", "Date started", "Date last action",
         "IP address"},
    ),
    "SoSci Survey": (
        {"QUESTNNR", "MAILSENT", "LASTDATA", "Q_VIEWER", "MAXPAGE", "MISSREL", "TIME_RSI", "DEG_TIME", "TIME_SUM"},
        {"CASE", "SERIAL", "REF", "MODE", "LANGUAGE", "STARTED", "FINISHED", "LASTPAGE", "MISSING"},
    ),
    "Unipark": (
        {"lfdn", "external_lfdn", "dispcode", "rts_last_answer", "p_sc", "rts_first_answer"},
        {"tester", "lastpage", "quality", "duration", "browser", "referer", "device_type", "participant_browser"},
    ),
    "REDCap": ({"Record ID", "Event Name", "Repeat Instrument", "Repeat Instance", "Survey Identifier"},
               {"Complete?", "Survey Timestamp", "Data Access Group"}),
    "SurveyMonkey": ({"Respondent ID", "Collector ID"}, {"Start Date", "End Date", "IP Address", "Email Address"}),
}  # fmt: skip
_TIME = re.compile(r"TIME\d{3}")  # of SoSci Survey: seconds on a page
_COMPLETE = re.compile(r"\w+_complete")  # of REDCap, next to a record id
_STATES = {"0", "1", "2", "Incomplete", "Unverified", "Complete"}
_FEWEST_NAMED = 3  # persons, where the column has the name of an identifier alone


def is_named_identifier(name: str) -> bool:
    """Return whether a column is named like one that numbers or names rows."""
    return bool(_ID_NAME.search(name))


def is_named_person(name: str) -> bool:
    """Return whether a column is named like one that says which rows are of one person."""
    return bool(_PERSON.search(name))


def names_rows(values: np.ndarray, name: str) -> bool:
    """Return whether a column is named like an identifier, and has another integer in each row."""
    return is_named_identifier(name) and is_whole(values) and len(np.unique(values)) == len(values)


def names_people(name: str) -> bool:
    """Check whether a name is that of a column that identifies people."""
    return bool(_PERSON.search(name) or _NAME.fullmatch(name))


def is_unnamed_number(values: np.ndarray | None, name: str) -> bool:
    """Return whether numbers that differ in nearly all rows may be a measurement: with gaps, without such a name."""
    return values is not None and not is_named_identifier(name) and not _is_consecutive(np.unique(values))


def _is_consecutive(levels: np.ndarray) -> bool:
    return float(levels[-1]) - float(levels[0]) < 1.5 * len(levels)


def is_identifier(i: int, counted: Sequence[tuple[np.ndarray, np.ndarray]], distinct: np.ndarray, name: str) -> bool:
    """Return whether column ``i`` numbers or names the rows."""
    levels, counts = counted[i]
    n, text = counts.sum(), levels.dtype.kind in "US"
    if len(levels) < _MANY_ROWS or not (text or is_whole(levels)):
        return False
    usual = np.median(np.delete(distinct, i)) if len(distinct) > 1 else np.inf
    if len(levels) < _DISTINCT * n:  # repeated observations of a person have the same number
        return is_named_identifier(name) and len(levels) > 3 * usual
    return (not text and _is_consecutive(levels)) or is_named_identifier(name) or usual < 0.5 * n


def repeated_identifier(frame: pd.DataFrame) -> str | None:
    """Return the column that says which rows are of one person; None if there is none.

    It has 20 or more different integers or texts, nearly all of which occur several times, and is named like an
    identifier, or has all equally often. With a name such as ``participant_id``, three are enough.
    """
    for name in map(str, frame.columns):
        values = frame[name]
        is_text = values.dtype.kind in "OTU" or values.dtype.name in ("str", "string")
        if not is_text and whole_numbers(values) is None:
            continue
        counts = values.value_counts().to_numpy()
        is_alone = bool(_PERSON_ALONE.fullmatch(name.strip()))
        if len(counts) < (_FEWEST_NAMED if is_alone else FEWEST_PERSONS) or np.mean(counts > 1) < 0.5:
            continue
        if is_alone or is_named_person(name) or (counts[0] == counts[-1] and len(counts) > len(values) / len(counts)):
            return name
    return None


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


def metadata_columns(contents: Sequence[Values]) -> list[str]:
    """Return the columns that survey programs such as REDCap, Qualtrics and LimeSurvey add to a table, by their names.

    A column with a name such as ``phq_complete`` is one if it has no values but 0, 1 and 2, or their words, and another
    column is named as an identifier.
    """
    names = {s.name for s in contents}
    columns = {name for name in names if _OF_ANY.fullmatch(name)}
    for certain, others in _OF_PROGRAM.values():
        if len(names & certain) > 1 or (names & certain and names & others):
            columns |= names & (certain | others)
    columns |= {name for name in names if columns & _OF_PROGRAM["SoSci Survey"][0] and _TIME.fullmatch(name)}
    has_id = bool(columns) or any(map(is_named_identifier, names))
    columns |= {s.name for s in contents if has_id and _COMPLETE.fullmatch(s.name) and s.counts.keys() <= _STATES}
    return [s.name for s in contents if s.name in columns]


def problems_of_metadata(columns: Sequence[Column]) -> list[str]:
    """Return what is wrong with columns that a survey program added."""
    names = [c.name for c in columns if c.kind == METADATA]
    if not names:
        return []
    return [
        f"{listed(list(map(quoted, names)), 4, total=True)} {'were' if len(names) > 1 else 'was'} added by the survey "
        "program (such as the status of a form, an event or a date) and "
        f"{'are no answers' if len(names) > 1 else 'is no answer'}; leave out with "
        f"{preparing('drop', *names)}"  # all of them: some are known by others only
    ]
