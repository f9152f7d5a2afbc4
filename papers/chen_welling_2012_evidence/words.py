"""Number of hidden units for words in newsgroup postings, by every method: 5 and 100 words (figures 4 to 8)."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import parallel_config

from bayesmrf import datasets
from papers.cells import Cell
from papers.store import Record

from . import modes
from .common import CV, GROUPS, LAPLACE, TRUTH, Options, Settings, summary, target_of

PARAMETERS, SLICES = "parameters", "slices"  # figures 5 and 3, as methods of their own
_DATA = 99  # in seeds: what no group of methods has


@dataclass(frozen=True)
class Words:
    """Machines for the most frequent words, in random subsets of the postings.

    Parameters
    ----------
    n_words : int
    points : tuple of (int, int)
        Numbers of documents and of hidden units.
    methods : tuple of str
        Groups of methods, see `common.GROUPS`, "parameters" and "slices".
    options : mapping
        Of each.
    beyond : tuple of int
        Numbers of hidden units for Laplace alone, at the first number of documents.
    shown : (int, int), optional
        The point whose parameters are drawn.
    sliced : (int, int), optional
        The point with slices along flat directions.
    every_word : bool
        Whether each word has to occur in each subset (practically impossible with 100 rare words).
    replicates : int
        Subsets of documents.
    """

    n_words: int
    points: tuple[tuple[int, int], ...]
    methods: tuple[str, ...]
    options: dict[str, Options] = field(default_factory=dict)
    beyond: tuple[int, ...] = ()
    shown: tuple[int, int] | None = None
    sliced: tuple[int, int] | None = None
    every_word: bool = True
    replicates: int = 5

    def describe(self) -> dict[str, Any]:
        """Return plain values that identify the settings of the numbers; points are cells."""
        return {"n_words": self.n_words, "options": self.options}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return one cell per subset, point and group; Laplace first, as it is fast."""
        found: list[Cell] = []
        single = {PARAMETERS: self.shown, SLICES: self.sliced}
        for replicate in range(replicates):
            for method in methods:
                points = [single[method]] if method in single else self.points
                if method == LAPLACE and self.beyond:
                    points = [*points, *((self.points[0][0], k) for k in self.beyond)]
                found += [(replicate, n, k, method) for n, k in points]
        return found

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Run one group of methods at one point."""
        replicate, n, k, method = cell
        target = target_of(documents(self.n_words, n, self.every_word, settings.rng(replicate, n, _DATA)), k)
        rng = settings.rng(replicate, n, k, [*GROUPS, PARAMETERS, SLICES].index(method))
        options = self.options.get(method, {})
        begin = time.perf_counter()
        with parallel_config("sequential"):  # a cell is one process
            if method == PARAMETERS:
                found: Record = modes.compare(target, rng, **options)
            elif method == SLICES:
                found = modes.slices(target, rng, **self.options[LAPLACE])
            else:
                found = {"rows": [summary(name, e) for name, e in GROUPS[method](target, rng, options)]}
        return found | {"seconds": time.perf_counter() - begin}


@lru_cache
def _words(n_words: int) -> np.ndarray:
    """Return the most frequent words."""
    table = datasets.news20()[0]
    order = table.sum().sort_values(ascending=False, kind="stable").index
    return table[order[:n_words]].to_numpy(dtype=np.int8)


def documents(n_words: int, n: int, every_word: bool, rng: np.random.Generator) -> np.ndarray:
    """Return random postings, (n, n_words), optionally with every word occurring."""
    table = _words(n_words)
    while True:
        drawn = table[rng.choice(len(table), n, replace=False)]
        if drawn.any(axis=0).all() or not every_word:
            return drawn


def rows(records: list[Record]) -> pd.DataFrame:
    """Return one row per evidence: ``away`` is its distance from that by AIS, in nats per document."""
    found: list[dict[str, Any]] = []
    for record in records:
        replicate, n, k, _ = record["cell"]
        for row in record.get("rows", ()):
            value = np.nan if row["millinats"] is None else row["millinats"] / 1000
            about = {"replicate": replicate, "n": n, "k": k, "method": row["method"], "log_evidence": value}
            parts = {name: row["parts"].get(name) for name in PARTS if name in row["parts"]}
            error = np.nan if row["error"] is None else row["error"]
            found.append(about | {"error": error, "seconds": record["seconds"]} | parts | {"status": row["status"]})
    table = pd.DataFrame(found)
    if table.empty:
        return table
    truth = table[table["method"] == TRUTH].set_index(["replicate", "n", "k"])["log_evidence"]
    place = pd.MultiIndex.from_frame(table[["replicate", "n", "k"]])
    table.insert(5, "away", (table["log_evidence"] - truth.reindex(place).to_numpy()) / table["n"])
    table.loc[table["method"] == CV, "away"] = np.nan  # another quantity
    return table


PARTS = ("n_trapezoids", "n_negative", "equivalent_modes", "scale_reduction", "bethe_bias", "effective_chains",
         "acceptance", "n_effective", "n_effective_prior", "n_effective_posterior", "sd_over_folds")  # fmt: skip
