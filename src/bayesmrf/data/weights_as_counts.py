"""Counts of rows that look like the weights of a survey.

In a table of counts each combination of answers occurs once or, where columns such as a site were left out, at most
once for each value of these. If the most frequent of K combinations occurs M times, there are M sites or more, and a
table of R rows has a share 1 - R / (K M) or more of empty cells. Where many cells are empty, others have counts of 1 or
2: with rates of cells that differ as much as those of a Gamma distribution of shape 0.1 (a coefficient of variation of
3.2), the probabilities of 1 and 2 relative to that of 0 are at least about 0.1 and 0.055. Counts have fewer of these
than that with a probability of at most 1e-6. Weights of a survey are hardly ever 1 or 2, and people with equal answers
are many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr

from ..errors import WeightWarning, argument
from ..findings import tell
from .states import States

_SMALL = 2.0  # a count that an empty cell makes likely elsewhere
_ODDS = 0.155  # of a small count against none, at least
_MOST_ODDS = 1.0  # of no count, that are relied on
_FEWEST = 5  # rows of one combination
_CHANCE = 1e-6  # probability that counts seem weights


class WeightsAsCounts(NamedTuple):
    """Weights that were given as counts.

    Parameters
    ----------
    most : int
        Rows with the most frequent answers.
    n, n_rows, n_effective : float
        The sum of the weights, the number of rows with a weight, and the effective sample size of these.
    """

    most: int
    n: float
    n_rows: int
    n_effective: float

    @property
    def sentence(self) -> str:
        """What is wrong, by how much, and what to do."""
        return (
            f"Weights: up to {self.most} rows have the same answers and different weights, so that these look like "
            "weights of a survey, not like counts, with which each combination of answers has one row. The likelihood "
            f"takes {self.n:,.0f} observations for {self.n_rows:,} rows, and intervals are far too narrow, by a factor "
            f"of about {np.sqrt(self.n / self.n_effective):.0f}: give them as {argument('survey_weight')} in place of "
            f"{argument('sample_weight')}, or ignore this if they are counts of several tables, such as one of "
            "each site."
        )


def tell_of_weights(parts: Sequence[States]) -> None:
    """Tell of counts that look like weights of a survey."""
    if remark := remark_on_weights(parts):
        tell(remark, WeightWarning)


def remark_on_weights(parts: Sequence[States]) -> str:
    """Return what is wrong with counts that look like weights of a survey; empty if they do not."""
    found = [one for part in parts if (one := weights_as_counts(part)) is not None]
    if not found:
        return ""
    most, n, rows, n_effective = zip(*found, strict=True)
    return WeightsAsCounts(max(most), sum(n), sum(rows), sum(n_effective)).sentence


def weights_as_counts(states: States) -> WeightsAsCounts | None:
    """Return what looks like weights of a survey among the counts of a table; None if they look like counts."""
    if states.survey is not None or states.weights is None:
        return None
    w, x = states.weights[states.weights > 0], states.values[states.weights > 0]
    small = int((w <= _SMALL).sum())
    if small >= _ODDS * len(w):
        return None
    _, place, often = np.unique(x, axis=0, return_inverse=True, return_counts=True)
    most, of_most = int(often.max()), w[place.ravel() == often.argmax()]
    filled = len(w) / (len(often) * most)
    share = _ODDS * min((1 - filled) / filled, _MOST_ODDS)
    if most < _FEWEST or (of_most == of_most[0]).all() or share <= 0 or bdtr(small, len(w), share) > _CHANCE:
        return None
    return WeightsAsCounts(most, float(w.sum()), len(w), float(w.sum() ** 2 / (w @ w)))
