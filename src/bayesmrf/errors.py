"""Errors and warnings.

Every message names the argument, what it must be, the value that was given, and a remedy.
"""

from __future__ import annotations

import reprlib
from typing import Any


class BayesMRFError(ValueError):
    """Base class of all user-fixable errors; the command line prints them and exits with code 2.

    Parameters
    ----------
    message : str
        The whole sentence, where the error is not about the value of one argument.
    option : str, optional
        Name of the argument. The sentence is then "<option> must be <expected>, got <got>; <remedy>.".
    got : object
        Its value.
    expected : str
        What it must be, such as "a finite number > 0".
    remedy : str
        What to do, where ``expected`` does not say it all.
    """

    def __init__(
        self, message: str = "", *, option: str | None = None, got: Any = None, expected: str = "", remedy: str = ""
    ) -> None:
        self.option, self.got, self.expected, self.remedy = option, in_words(got), expected, remedy
        super().__init__(message if option is None else self.sentence(option))

    def sentence(self, name: str) -> str:
        """Return the message with the argument called ``name``, as on the command line."""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{name} must be {self.expected}, got {self.got}{remedy}."


class DataError(BayesMRFError):
    """The states (the table of observations) cannot be used."""


class GraphError(BayesMRFError):
    """The graph cannot be used."""


class TooWideError(GraphError):
    """Exact inference on the graph would need more memory than allowed."""


class OptionError(BayesMRFError):
    """An option, or a combination of options, is not valid."""


class StoreError(BayesMRFError):
    """A result or checkpoint on disk cannot be read or written."""


class DivergenceError(BayesMRFError, FloatingPointError):
    """A value became non-finite; the draws so far are in the attribute ``draws`` of the error."""


class BayesMRFWarning(UserWarning):
    """Base class of all warnings."""


class ApproximatePosteriorWarning(BayesMRFWarning):
    """The stationary distribution of a sampler is further from the posterior than it should be."""


class PriorWarning(BayesMRFWarning):
    """The prior dominates the posterior."""


class ApproximateScoreWarning(BayesMRFWarning):
    """A score contains an imprecise estimate of log Z."""


class BoundaryWarning(BayesMRFWarning):
    """A maximum likelihood estimate lies at infinity and was bounded."""


class ConstantColumnWarning(BayesMRFWarning):
    """A column of the data is constant."""


class FieldsWarning(BayesMRFWarning):
    """A model without fields was fitted to columns that are far from balanced."""


class ConvergenceWarning(BayesMRFWarning):
    """An iterative method stopped before it reached its tolerance, or the chains of a run have not converged."""


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
        text = _REPR.repr(value.item() if type(value).__module__ == "numpy" else value)
    except Exception:  # a foreign object may refuse to describe itself
        text = "<"
    return _article(type(value).__name__) if text.startswith("<") else text


def _article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"
