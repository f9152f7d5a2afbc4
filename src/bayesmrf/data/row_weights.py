"""Weights of rows: of a survey, or counts that look like such weights, or that were left among the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr

from ..errors import DataError, WeightWarning, argument, data_row
from ..findings import NOTE, tell
from ..names import digits, shown
from .cells import unmasked
from .counts_and_labels import Survey, read_weights
from .frames import cells, in_pandas, is_frame
from .kinds.count import count_problem, forgotten_count
from .states import States, levels_of

_WEIGHT = argument("survey_weight")
_LARGEST = 1e150  # weight, whose square is a number


def with_survey(states: States, survey_weight: Any, X: Any, n: int) -> States:
    """Return states whose rows have the weights of a survey, one for each of the ``n`` rows of ``X``.

    Rows that occur several times (``sample_weight``) are as many people with this weight each.

    Raises
    ------
    DataError
        If they are not numbers > 0 for each row, or a Series whose index differs from that of the DataFrame ``X``; if
        they differ, and values are missing: a weighted likelihood has no complete table from which to draw them.
    """
    if survey_weight is None:
        return states
    w = read_weights("survey_weight", survey_weight, X, n)
    bad = np.flatnonzero(~(np.isfinite(w) & (w > 0) & (w < _LARGEST)))
    if bad.size:
        more = f" and others in {bad.size - 1:,} more" if bad.size > 1 else ""
        raise DataError(f"{_WEIGHT} must contain numbers > 0, how many people each row stands for, got "
                        f"{digits(w[bad[0]])} in {data_row(bad[0])}{more}; leave out rows "
                        "without a weight")  # fmt: skip
    w = w[states.given_rows]
    weighted = replace(states, survey=Survey(w, states.weights)).at(np.arange(len(w)))
    weighted = replace(weighted, places=states.places)
    n_gone = int((weighted.values < 0).any(axis=1).sum())
    if weighted.survey is not None and n_gone:
        raise DataError(f"{_WEIGHT} must be omitted where answers are missing, as in {n_gone:,} of {len(w):,} rows: "
                        "missing answers are drawn for whole observations, and a weighted row is not one "
                        "observation; leave out the rows or the columns with missing answers")  # fmt: skip
    return weighted


def is_weighted(parts: Sequence[States]) -> bool:
    """Return whether rows of a group of people have different weights of a survey."""
    return any(part.survey is not None for part in parts)


def n_rows(parts: Sequence[States]) -> int:
    """Return the number of observed rows of all groups of people."""
    return sum(len(p.values) if p.counts is None else int(p.counts.sum()) for p in parts)


def warn_of_survey(parts: Sequence[States], labels: Sequence[Any] = ()) -> None:
    """Warn of what weights of a survey mean for a posterior, if there are any."""
    if not is_weighted(parts):
        return
    sizes = [f"{part.n_samples:.1f} of {n_rows([part]):,} rows" for part in parts]
    if len(parts) > 1:
        sizes = [f"{size} ({shown(str(label))})" for size, label in zip(sizes, labels, strict=True)]
    tell(
        f"Survey weights: the effective sample size is {', '.join(sizes)}. Clusters and strata of the design are not "
        "used, so that intervals are too narrow if people of one cluster are alike. Bayes factors are approximate, as "
        "those of a likelihood with scaled weights. The fit was not compared with simulated tables.",
        WeightWarning,
        NOTE,
    )


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


def warn_of_weights(parts: Sequence[States]) -> None:
    """Tell of counts that look like weights of a survey."""
    if remark := remark_on_weights(parts):
        tell(remark, WeightWarning)


def remark_on_weights(parts: Sequence[States]) -> str:
    """Describe counts that look like weights of a survey; empty if they do not."""
    suspects = [one for part in parts if (one := weights_as_counts(part)) is not None]
    if not suspects:
        return ""
    most, n, rows, n_effective = zip(*suspects, strict=True)
    return WeightsAsCounts(max(most), sum(n), sum(rows), sum(n_effective)).sentence


def weights_as_counts(states: States) -> WeightsAsCounts | None:
    """Find weights of a survey among the counts of a table; None if they look like counts."""
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


def refuse_forgotten_counts(X: Any, sample_weight: Any) -> None:
    """Name a column of counts in place of an error about its values.

    Raises
    ------
    DataError
    """
    import pandas as pd

    X = in_pandas(X)
    values = cells(X) if is_frame(X) else unmasked(X)
    if sample_weight is not None or values.ndim != 2 or values.dtype.kind not in "biufO":
        return
    frame = X if is_frame(X) else pd.DataFrame(values)
    frame = frame.set_axis(list(map(str, frame.columns)), axis=1)
    if (name := forgotten_count(frame) if frame.columns.is_unique else None) is not None:
        raise DataError(f"{argument('X')} must contain answers only: {count_problem(name)}")


def warn_of_forgotten_counts(parts: Sequence[States]) -> bool:
    """Warn of a column of counts among the answers of all groups of people; return whether there is one."""
    if remark := remark_on_counts(parts):
        tell(remark, WeightWarning)
    return bool(remark)


def remark_on_counts(parts: Sequence[States]) -> str:
    """Say what a column of counts among the answers means; empty if there is none."""
    names = {_forgotten(part) for part in parts}
    if len(names) > 1 or None in names:
        return ""
    return f"Counts: each row was taken as one observation, but {count_problem(str(names.pop()))}."


def _forgotten(states: States) -> str | None:
    """Return the column of counts of a table without weights; None if there is none."""
    import pandas as pd

    if states.weights is not None or len(states.names) < 2 or (states.values < 0).any():
        return None
    if len(np.unique(states.values, axis=0)) < len(states.values):
        return None
    each = enumerate(states.names)
    return forgotten_count(
        pd.DataFrame({n: np.asarray(levels_of(states.coding, i))[states.values[:, i]] for i, n in each})
    )
