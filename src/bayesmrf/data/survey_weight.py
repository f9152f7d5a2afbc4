"""Weights of a survey: how many people of the population each row stands for.

The likelihood of weighted rows is the product of p(row)^w, with the weights w of a sample scaled so that their sum is
the effective sample size of Kish, n_eff = (sum w)^2 / sum w^2: the size of a simple random sample in which means are as
precise, if weights are unrelated to answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import DataError, WeightWarning, argument, data_row
from ..findings import NOTE, tell
from ..names import digits, shown
from .sample_weight import Survey, read_weights
from .states import States

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
    found = replace(states, survey=Survey(w, states.weights)).at(np.arange(len(w)))
    found = replace(found, places=states.places)
    n_gone = int((found.values < 0).any(axis=1).sum())
    if found.survey is not None and n_gone:
        raise DataError(f"{_WEIGHT} must be omitted where answers are missing, as in {n_gone:,} of {len(w):,} rows: "
                        "missing answers are drawn for whole observations, and a weighted row is not one "
                        "observation; leave out the rows or the columns with missing answers")  # fmt: skip
    return found


def is_weighted(parts: Sequence[States]) -> bool:
    """Return whether rows of a group of people have different weights of a survey."""
    return any(part.survey is not None for part in parts)


def n_rows(parts: Sequence[States]) -> int:
    """Return the number of observed rows of all groups of people."""
    return sum(len(p.values) if p.counts is None else int(p.counts.sum()) for p in parts)


def tell_of_survey(parts: Sequence[States], labels: Sequence[Any] = ()) -> None:
    """Tell what the weights of a survey mean for a posterior, if there are any."""
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
