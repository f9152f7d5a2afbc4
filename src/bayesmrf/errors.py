"""Errors and warnings.

Every message names the argument, what it must be, the value that was given, and a remedy.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# Private characters of Unicode: they enclose what Python and the command line call by different names.
AND = "\ue003"  # between the values of a term
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf")
_TERM = re.compile("\ue000(\\w+)\ue001(.*?)\ue001(.*?)\ue002", re.DOTALL)


def _term(kind: str, name: object, value: str = "") -> str:
    return f"\ue000{kind}\ue001{name}\ue001{value}\ue002"


def argument(name: str, value: Any = None) -> str:
    """Mark an argument in the text of an error or warning, for example ``f"set {argument('fields', True)}"``.

    Python's message says "fields=True", that of the command line "--fields".

    Parameters
    ----------
    name : str
    value : object
        None for the name alone.
    """
    return _term("argument", name, "" if value is None else in_words(value))


def data_row(number: int) -> str:
    """Mark the number of a row of the data, from 0, in the text of an error."""
    return _term("row", number)


def missing_code(*values: str) -> str:
    """Mark, as a remedy, that values, given as texts, are codes of missing values."""
    return _term("code", AND.join(values))


def preparing(option: str, *values: str) -> str:
    """Mark an option of `bayesmrf.data.prepare` with its values, in a form to paste."""
    return _term("preparing", option, AND.join(values))


def in_python(text: str, in_shell: str = "") -> str:
    """Mark a text in whose place the command line says nothing, or ``in_shell``."""
    return _term("python", text, in_shell)


def said_in_python(kind: str, name: str, value: str) -> str:
    """Write a marked term as in Python."""
    if kind == "argument":
        return f"{name}={value}" if value else name
    if kind == "preparing":
        return f"bayesmrf.data.prepare(X, {name}={value.split(AND)!r})"
    if kind == "code":
        codes = (code if _NUMBER.fullmatch(code) else repr(code) for code in name.split(AND))
        return f"replace {' and '.join(codes)} by NaN"
    return f"row {name}" if kind == "row" else name


def said(text: str, say: Callable[[str, str, str], str] = said_in_python) -> str:
    """Return a text with each marked term as ``say(kind, name, value)`` writes it.

    Parameters
    ----------
    text : str
    say : callable
        Its arguments are "argument", a name and a value as Python writes it, or ""; "row", a number, ""; "code", values
        with `AND` between them, ""; "preparing", an option, values with `AND` between them; or
        "python", a text, the one of the command line.
    """
    return _TERM.sub(lambda term: say(*term.groups()), text)


def renamed(text: str, old: str, new: str) -> str:
    """Return a marked text in which an argument has another name."""
    return said(text, lambda kind, name, value: _term(kind, new if name == old else name, value))


class BayesMRFError(ValueError):
    """Base class of all user-fixable errors; the command line prints them and exits with code 2.

    Parameters
    ----------
    message : str
        What is wrong, where the error is not about the value of one argument.
    option : str, optional
        Name of the argument. The message is then "<option> must be <expected>, got <got>; <remedy>.".
    got : object
        Its value.
    expected : str
        What it must be, such as "a finite number > 0".
    remedy : str
        What to do, where ``expected`` does not say it all.

    Attributes
    ----------
    problem, text : str
        The message without the remedy, and with it, for `said`.
    """

    def __init__(
        self, message: str = "", *, option: str | None = None, got: Any = None, expected: str = "", remedy: str = ""
    ) -> None:
        self.option, self.got, self.expected, self.remedy = option, in_words(got), said(expected), said(remedy)
        self.problem = message if option is None else f"{argument(option)} must be {expected}, got {self.got}"
        self.text = f"{self.problem}; {remedy}." if remedy else f"{self.problem}." if option else message
        super().__init__(said(self.text))


class DataError(BayesMRFError):
    """The states (the table of observations) cannot be used."""


class GraphError(BayesMRFError):
    """The graph cannot be used."""


class TooWideError(GraphError):
    """Exact inference on the graph would need more memory than allowed."""


@contextmanager
def instead_of_exact(remedy: str) -> Iterator[None]:
    """Let a `TooWideError` name the options of the caller that do without exact inference."""
    try:
        yield
    except TooWideError as e:
        raise TooWideError(e.problem, remedy=f"use {remedy}, or a graph with fewer edges") from None


class OptionError(BayesMRFError):
    """An option, or a combination of options, is not valid."""


class UnknownArgumentError(OptionError, TypeError):
    """A function or class has no argument of this name."""


class StoreError(BayesMRFError):
    """A result or checkpoint on disk cannot be read or written."""


class MoreDrawsError(StoreError):
    """The chains of a job array are short of something, and go on to ``n_draws`` draws when its tasks are run again."""

    n_draws: int
    short: str


class WorkerError(BayesMRFError):
    """A chain cannot be run by the workers it was given to."""


class DivergenceError(BayesMRFError, FloatingPointError):
    """A value became non-finite; the draws so far are in the attribute ``draws`` of the error."""


class BayesMRFWarning(UserWarning):
    """Base class of all warnings.

    Attributes
    ----------
    text : str
        The message, for `said`.
    severity : str
        That of a doubt about a result (`bayesmrf.findings`): "note", "fair" or "bad".
    """

    severity = "fair"

    def __init__(self, message: str = "") -> None:
        self.text = message
        super().__init__(said(message))


class ApproximatePosteriorWarning(BayesMRFWarning):
    """The stationary distribution of a sampler is further from the posterior than it should be."""


class PriorWarning(BayesMRFWarning):
    """The prior dominates the posterior."""


class ApproximateScoreWarning(BayesMRFWarning):
    """A score contains an imprecise estimate of log Z."""


class ModelFitWarning(BayesMRFWarning):
    """The data have a feature that tables from the fitted model do not have."""


class BoundaryWarning(BayesMRFWarning):
    """A maximum likelihood estimate lies at infinity and was bounded."""

    severity = "note"


class LevelsWarning(BayesMRFWarning):
    """Levels of the data seem to be mistakes: rare, never seen, written in two ways, or codes of missing values."""


class ConstantColumnWarning(BayesMRFWarning):
    """A column of the data is constant."""

    severity = "note"


class EqualColumnsWarning(BayesMRFWarning):
    """Columns of the data determine each other in every row, as copies do, or an item and a total of items."""


class FieldsWarning(BayesMRFWarning):
    """A model without fields was fitted to columns that are far from balanced."""


class DependentRowsWarning(BayesMRFWarning):
    """Rows that follow each other, or rows of one person, are alike, and the likelihood takes them as independent."""


class WeightWarning(BayesMRFWarning):
    """Rows have survey weights, or counts that look like survey weights; or a column of answers looks like counts."""


class SideBySideWarning(BayesMRFWarning):
    """Columns look like waves of the same items side by side, in a model whose edges have no direction in time."""

    severity = "note"


class EmptyRowsWarning(BayesMRFWarning):
    """Rows in which every value is missing were left out, as they are uninformative."""

    severity = "note"


class UnobservedPairsWarning(BayesMRFWarning):
    """Columns were never observed together, so that the data say nothing about an edge between them."""

    severity = "note"


class TransitionsWarning(BayesMRFWarning):
    """Rows of a panel were not taken as following each other, as waves or answers between them are missing."""

    severity = "note"


class ConvergenceWarning(BayesMRFWarning):
    """An iterative method stopped before it reached its tolerance, or the chains of a run have not converged."""

    severity = "bad"


class FormulaWarning(BayesMRFWarning):
    """Texts in a table begin as formulas, which spreadsheets run."""

    severity = "note"


class StoppedWarning(BayesMRFWarning):
    """A run was stopped by Ctrl-C, and only its first draws are returned."""


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60
_MOST_DIGITS = 40


def in_words(value: Any) -> str:
    """Return a short text of any value, for messages."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 3 * _MOST_DIGITS:
        return f"an integer of about {value.bit_length() * 3 // 10 + 1} digits"  # Python refuses to print huge ones
    shape = getattr(value, "shape", ())
    if isinstance(shape, tuple) and shape:
        return f"{_article(type(value).__name__.replace('ndarray', 'array'))} of shape {shape}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    try:
        if type(value).__module__ == "numpy":  # 0.7 of 32 bits is 0.699999988 in 64
            value = float(str(value)) if type(value).__name__ in ("float16", "float32") else value.item()
        text = _REPR.repr(value)
    except Exception:  # a foreign object may refuse to describe itself
        text = "<"
    return _article(type(value).__name__) if text.startswith("<") else text


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
