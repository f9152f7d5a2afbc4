"""The three experiments, in full size and small (``--quick``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pandas as pd

from papers.cells import Experiment
from papers.store import Record

from . import measures
from .common import CV, LAPLACE, TRUTH, Options
from .hidden_units import HiddenUnits
from .words import PARAMETERS, SLICES, Words

SIZES = (10, 20, 50, 100, 200, 500, 1000)
UNITS = tuple(range(1, 10))

FIVE: dict[str, Options] = {
    LAPLACE: {"n_steps": 20_000},
    "bic": {"n_steps": 20_000},
    "langevin": {"n_draws": 500, "n_warmup": 5000, "thin": 20},
    TRUTH: {"n_chains": 100, "temperatures": 1000, "power": 3},
    CV: {"n_folds": 10, "n_steps": 5000},
    PARAMETERS: {"n_chains": 20, "n_draws": 500, "n_warmup": 50, "n_leapfrog": 10, "size": 0.3},
}
FULL_WORDS: dict[str, Options] = {
    LAPLACE: {"n_steps": 20_000},
    "bic": {"n_steps": 20_000},
    "langevin": {"n_draws": 150, "n_warmup": 3000, "thin": 20, "more": 10},
    TRUTH: {"n_chains": 100, "temperatures": 1000, "power": 3},
    CV: {"n_folds": 10, "n_steps": 2000},
}
SMALL: dict[str, Options] = {
    LAPLACE: {"n_steps": 300, "n_states": 500},
    "bic": {"n_steps": 300, "n_states": 100},
    "langevin": {"n_draws": 20, "n_warmup": 100, "thin": 2, "n_chains": 4, "more": 2},
    TRUTH: {"n_chains": 8, "temperatures": 50, "power": 3},
    CV: {"n_folds": 3, "n_steps": 200},
    PARAMETERS: {"n_chains": 4, "n_draws": 50, "n_warmup": 10, "n_leapfrog": 5, "size": 0.3},
}

_FIVE = tuple(dict.fromkeys([*((n, 3) for n in SIZES), *((100, k) for k in UNITS)]))
_METHODS = (LAPLACE, "bic", TRUTH, "langevin", CV)
_FULL = tuple((100, k) for k in (1, 9, 5, 3, 7, 2, 4, 6, 8))  # the ends first

FULL: Mapping[str, Experiment] = {
    "hidden-units": HiddenUnits(
        options={
            LAPLACE: {"n_steps": 1000},
            CV: {"n_folds": 10, "n_steps": 1000},
            TRUTH: {"n_chains": 50, "temperatures": 1000, "power": 3},
        }
    ),
    "five-words": Words(5, _FIVE, (*_METHODS, PARAMETERS, SLICES), FIVE, shown=(1000, 3), sliced=(500, 3)),
    "full": Words(100, _FULL, _METHODS, FULL_WORDS, beyond=(11, 13), every_word=False, replicates=1),
}
QUICK: Mapping[str, Experiment] = {
    "hidden-units": HiddenUnits(
        5, (100, 2000), (1, 2, 3), 1, {LAPLACE: {"n_steps": 200}, CV: SMALL[CV], TRUTH: SMALL[TRUTH]}, replicates=2
    ),
    "five-words": Words(
        5,
        ((10, 2), (100, 2), (100, 1)),
        (*_METHODS, PARAMETERS, SLICES),
        SMALL,
        shown=(100, 2),
        sliced=(100, 2),
        replicates=1,
    ),
    "full": Words(12, ((50, 1), (50, 2)), _METHODS, SMALL, beyond=(3,), every_word=False, replicates=1),
}
MEASURES: Mapping[str, Callable[[list[Record]], pd.DataFrame]] = {
    "hidden-units": measures.of_units,
    "five-words": measures.of_words,
    "full": measures.of_words,
}
