r"""Simulation-based calibration: do posteriors have the coverage that they claim?

A truth from the prior, a table from the truth, and a posterior: the position of the truth among the draws (its PIT,
ties at random) is uniform if prior, likelihood and sampler agree (Talts et al. 2018). The test of one quantity is the
smallest pointwise binomial tail of its empirical distribution function (Säilynoja, Bürkner and Vehtari 2022), whose
distribution is simulated; those of all quantities are joined by Holm's method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.predictive_checks import holm
from ...rng import descendant
from ...show.tables import Column, Listing, Table, number, text

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.01  # of all tests together
COVERED = 0.5, 0.9  # intervals whose coverage is listed
_GRID, _SIMULATED, _SEED = 49, 4000, 0
_BINS = np.array([0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1])  # of inclusion


def smallest_tail(pit: np.ndarray) -> np.ndarray:
    """Return the smallest two-sided binomial tail of the empirical distribution functions of samples (..., n)."""
    from scipy.stats import binom

    n, grid = pit.shape[-1], np.arange(1, _GRID + 1) / (_GRID + 1)
    below = (pit[..., None] <= grid).sum(axis=-2)
    tails = np.minimum(binom.cdf(below, n, grid), binom.sf(below - 1, n, grid))
    smallest: np.ndarray = tails.min(axis=-1)
    return smallest


def uniform_tails(n: int) -> np.ndarray:
    """Return the smallest tails of many samples of n uniform numbers, sorted; they are the same for the same n."""
    rng = descendant(np.random.SeedSequence(_SEED), n)
    return np.sort(np.concatenate([smallest_tail(rng.random((_SIMULATED // 20, n))) for _ in range(20)]))


@dataclass(frozen=True, eq=False)
class Calibration:
    """Where truths lie in their posteriors.

    Parameters
    ----------
    replicates : sequence of dict
        One for each simulated table: ``pit``, by name of the quantity; ``inclusion`` and ``exists`` of each edge that
        may be absent; and the ``verdict`` on the chains.
    setting : str
        What was simulated, in words.
    """

    replicates: Sequence[dict[str, Any]]
    setting: str

    @cached_property
    def pit(self) -> dict[str, np.ndarray]:
        """Positions of the truths, (n_replicates,) in (0, 1), by quantity."""
        return {name: np.array([one["pit"][name] for one in self.replicates]) for name in self.replicates[0]["pit"]}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """For each quantity: p-value that its positions are uniform, alone and adjusted; coverage of intervals."""
        import pandas as pd

        n, tests = len(self.replicates), [*self.pit]
        null = uniform_tails(n)
        p = [(1 + np.searchsorted(null, smallest_tail(u), side="right")) / (1 + len(null)) for u in self.pit.values()]
        columns: dict[str, Any] = {"quantity": tests, "p_value": p}
        for share in COVERED:
            inside = np.array([(np.abs(u - 0.5) <= share / 2).mean() for u in self.pit.values()])
            columns[f"coverage_{100 * share:g}"] = inside
            columns[f"error_{100 * share:g}"] = np.sqrt(share * (1 - share) / n)
        frame = pd.DataFrame(columns)
        if (inclusion := self._inclusion_p) is not None:
            frame = pd.concat([frame, pd.DataFrame({"quantity": ["inclusion"], "p_value": [inclusion]})])
        frame.insert(2, "p_adjusted", holm(frame["p_value"].tolist()))
        return frame.sort_values("p_value", kind="stable", ignore_index=True)

    @property
    def _inclusion_p(self) -> float | None:
        """The p-value that edges with inclusion p exist in a share p, for all and where p is large."""
        from scipy.stats import norm

        if not self.replicates[0]["inclusion"]:
            return None
        p, y = (np.array([one[name] for one in self.replicates], dtype=float) for name in ("inclusion", "exists"))
        sums = [(y - p).sum(axis=1), ((y - p) * (p - 0.5)).sum(axis=1)]
        tails = [2 * norm.sf(abs(s.sum()) / np.sqrt((s**2).sum() or 1.0)) for s in sums]
        return float(min(1.0, 2 * min(tails)))

    @cached_property
    def inclusion(self) -> pd.DataFrame:
        """Edges by inclusion: its mean, the share that exists, the standard error of that, and their number."""
        import pandas as pd

        p, y = (np.array([one[name] for one in self.replicates], dtype=float) for name in ("inclusion", "exists"))
        rows = []
        for low, high in pairwise(_BINS):
            in_bin = (p >= low) & ((p < high) | ((high == 1) & (p == 1)))
            if n := int(in_bin.sum()):
                off = (in_bin * (y - p)).sum(axis=1)
                error = np.sqrt((off**2).sum()) / n
                rows.append({"inclusion": p[in_bin].mean(), "exists": y[in_bin].mean(), "error": error, "edges": n})
        return pd.DataFrame(rows, columns=["inclusion", "exists", "error", "edges"])

    @property
    def is_calibrated(self) -> bool:
        """Whether no adjusted p-value is below 0.01."""
        return bool(self.frame["p_adjusted"].min() >= LEVEL)

    @property
    def sentence(self) -> str:
        """Whether the posterior is calibrated, and what is not."""
        n, frame = len(self.replicates), self.frame
        bad = [one["verdict"] for one in self.replicates].count("bad")
        also = f" The chains of {bad} had not converged." if bad else ""
        worst, coverage = frame.iloc[0], frame["coverage_90"].mean()
        holds = f"90 % intervals contain {100 * coverage:.0f} % of the truths.{also}"
        how = f"adjusted p-value {worst['p_adjusted']:.2g}"
        if self.is_calibrated:
            return (
                f"Nothing speaks against calibration: over {n} tables the positions of {len(frame)} quantities in "
                f"their posteriors are uniform (smallest {how}), and {holds}"
            )
        out = int((frame["p_adjusted"] < LEVEL).sum())
        return (
            f"Not calibrated: over {n} tables the positions of {out} of {len(frame)} quantities in their posteriors "
            f"are not uniform (worst {worst['quantity']}, {how}), and {holds}"
        )

    @property
    def table(self) -> Table:
        """The frame as a table."""
        columns = [text("quantity"), number("p_value", "p"), number("p_adjusted", "adjusted p")]
        for share in COVERED:
            name = f"{100 * share:g}"
            columns.append(Column(f"{name} % coverage", (f"coverage_{name}", f"error_{name}"), "{:.2f}", "{} ± {}"))
        rows = Listing("", self.frame)
        note = f"Simulated: {self.setting}. p: that positions of the truth in the posterior are uniform; of inclusion, "
        note += "that edges with inclusion p exist in a share p."
        return Table("calibration", self.frame, tuple(columns), rows, rows, self.sentence, note)
