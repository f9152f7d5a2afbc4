"""Columns that survey programs add to a table: whether a form was completed, and when, where and in which event."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import preparing
from ...names import listed, quoted
from ..codebook import METADATA, Column
from .identifier import is_named_identifier
from .values import Values

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


def problems(columns: Sequence[Column]) -> list[str]:
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
