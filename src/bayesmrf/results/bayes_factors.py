"""How Bayes factors are told: the bounds beyond which they are not told apart, limits of words, and texts."""

from __future__ import annotations

from typing import Any

import numpy as np

LIMITS = (3.0, 10.0)  # of the words, docs/definitions.md
BOUND = 4.0  # log10 of the factors that are bounds


def bounded(log10: np.ndarray) -> np.ndarray:
    """Return Bayes factors from their log10, those beyond 10^4 or 10^-4 as these bounds."""
    factors: np.ndarray = 10.0 ** np.clip(log10, -BOUND, BOUND)
    return factors


def is_bound(factor: Any) -> Any:
    """Return whether Bayes factors are at a bound."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.abs(np.log10(factor)) >= BOUND


def text_of(factor: float, sign: str = "") -> str:
    """Return a Bayes factor as a text; ``sign`` is ">" or "<" of one that is a bound for another reason."""
    sign = (">" if factor > 1 else "<") if is_bound(factor) else sign
    digits = 0 if factor >= 100 else 1 if factor >= 10 else 2 if factor >= 0.1 else 4
    number = f"10^{BOUND if factor > 1 else -BOUND:g}" if is_bound(factor) else f"{factor:,.{digits}f}"
    return f"{sign} {number}" if sign else number
