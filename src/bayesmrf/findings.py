"""Findings about a result: `tell` warns of one and keeps it, for the stored run, its report and its verdict."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

from .errors import BayesMRFWarning, said

GOOD, NOTE, FAIR, BAD = "good", "note", "fair", "bad"  # severities; a note leaves the grade of a run as it is
GRADES = (GOOD, NOTE, FAIR, BAD)  # from best to worst

_PACKAGE = str(Path(__file__).parent)


class Finding(NamedTuple):
    """A reason to doubt a result."""

    severity: str  # "note", "fair" or "bad": the grade that a run with it has at best
    kind: str  # name of the class of the warning
    text: str  # what is wrong, by how much, and what to do


_kept: ContextVar[list[Finding] | None] = ContextVar("kept", default=None)


def tell(text: str, category: type[BayesMRFWarning], severity: str | None = None) -> None:
    """Warn of a finding about a result, and keep it with the run that `collected` or `recorded` surrounds, if any.

    Parameters
    ----------
    text : str
        What is wrong with the result, by how much, and what to do; with marked terms, as in `errors.argument`.
    category : type
        Class of the warning.
    severity : {"note", "fair", "bad"}, optional
        That of the category by default.
    """
    kept, finding = _kept.get(), Finding(severity or category.severity, category.__name__, text)
    if kept is not None and finding not in kept:
        kept.append(finding)
    warn(text, category)


def warn(text: str, category: type[BayesMRFWarning]) -> None:
    """Warn of a problem that can be computed from the draws at any time, and need not be kept with the run."""
    warnings.warn(text, category, stacklevel=_depth_of_caller())


@contextmanager
def collected() -> Iterator[list[Finding]]:
    """Collect the findings of a block, also of threads that run in a copy of its context."""
    outer, findings = _kept.get(), list[Finding]()
    token = _kept.set(findings)
    try:
        yield findings
    finally:
        _kept.reset(token)
        if outer is not None:
            outer.extend(finding for finding in findings if finding not in outer)


def recorded(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Let the method ``fit`` of an estimator store its findings with its ``posterior_``."""

    @wraps(fit)
    def fit_and_record(self: Any, *args: Any, **kwargs: Any) -> Any:
        with collected() as findings:
            fit(self, *args, **kwargs)
        self.posterior_.attrs["findings"] = dumped(findings)
        return self

    return fit_and_record


def dumped(found: Iterable[Finding], say: Callable[[str], str] = said) -> str:
    """Return findings as a text, JSON, in which ``say`` writes the marked terms."""
    return json.dumps([finding._replace(text=say(finding.text)) for finding in found])


def loaded(text: str) -> list[Finding]:
    """Return the findings of a text of `dumped`.

    Raises
    ------
    ValueError
        If it is another text.
    """
    findings = [Finding(*values) for values in json.loads(text)]
    if not all(isinstance(value, str) for finding in findings for value in finding):
        raise TypeError
    return findings


def _depth_of_caller() -> int:
    """Return the ``stacklevel`` of the first caller outside the package, seen from `warn`."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        depth, frame = depth + 1, frame.f_back
    return depth
