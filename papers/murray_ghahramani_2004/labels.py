"""Section 6.2: labels on 80 points, and the posterior of two length scales (figure 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesmrf import LabelFieldMRF
from bayesmrf.engines import Phases
from bayesmrf.inference.registry import engine_of
from bayesmrf.methods.parameters import LABEL_KERNELS
from bayesmrf.priors import Normal
from papers.cells import Cell
from papers.options import method_of
from papers.store import Record

from .common import Settings, summary

CROSS, RING, HIDDEN = 1, 0, -1
N_KEPT = 1000  # draws of sigma in the record, for the scatter
ARM = 2.0  # a scale is long beyond it ...
SHORT = 1.0  # ... where the other stays below about one, as the paper says
OPTIONS: dict[str, dict[str, Any]] = {
    "brief": {"kernel": "langevin", "engine": "brief", "epsilon": 0.2, "n_sweeps": 5}
    | {"n_draws": 1250, "n_warmup": 250, "thin": 2},
    "loopy": {"kernel": "metropolis", "engine": "bethe", "step_size": 1.0, "n_draws": 500, "n_warmup": 50},
    "exchange": {"kernel": "exchange", "engine": "swendsen-wang", "step_size": 1.0, "n_sweeps": 20}
    | {"n_draws": 1250, "n_warmup": 100},
}
ZERO = "loopy-zero"  # loopy with messages that start at zero, and stay there where there is no field: without labels


@dataclass(frozen=True)
class Labels:
    """The paper's two methods, and exchange with cluster moves, which converges to the posterior.

    Parameters
    ----------
    n_points : int
        A multiple of four: crosses, rings, bridge and cluster are equally many.
    options : mapping
        Of `LabelFieldMRF`, for each method.
    prior_scale : float
        Standard deviation of each log sigma.
    replicates : int
        Runs of four chains.
    """

    n_points: int = 80
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: OPTIONS)
    prior_scale: float = 1.0
    n_chains: int = 4
    replicates: int = 1

    methods = (*OPTIONS, "at", ZERO)

    @staticmethod
    def draw(n_points: int) -> tuple[np.ndarray, np.ndarray]:
        """Return points and labels."""
        return draw_points(n_points)

    def describe(self) -> dict[str, Any]:
        """Return plain values; the number of runs may increase."""
        return {k: v for k, v in asdict(self).items() if k != "replicates"}

    def cells(self, replicates: int, methods: tuple[str, ...]) -> list[Cell]:
        """Return each method in turn."""
        return [(r, method) for r in range(replicates) for method in methods]

    def run(self, settings: Settings, cell: Cell, checkpoint: Path) -> Record:
        """Sample log sigma and the hidden labels; or predict at one long scale ("at")."""
        replicate, method = cell
        seeds = settings.seeds(replicate, self.methods.index(method))
        if method == "at":
            return {"long_x": at((4.0, 0.5), self.n_points, seeds), "long_y": at((0.5, 4.0), self.n_points, seeds)}
        points, labels = self.draw(self.n_points)
        options = {
            "prior_scale": self.prior_scale,
            "n_chains": self.n_chains,
            **self.options[method.removesuffix("-zero")],
        }
        if method == ZERO:
            options["initial_message"] = 0.0
        estimator = _estimator(n_jobs=1, progress=False, random_state=seeds, checkpoint=checkpoint, **options)
        tree = estimator.fit(points, labels).posterior_
        if not tree.attrs["complete"]:
            raise KeyboardInterrupt
        theta = tree["posterior"]["theta"].values
        sigma = np.exp(theta.reshape(-1, 2))
        stats = tree["sample_stats"]
        return {
            "seconds": float(tree.attrs["run_time"]),
            "acceptance": float(stats["acceptance" if "acceptance" in stats else "accepted"].mean()),
            **summary(theta),
            "chain_mean": theta.mean(axis=1),
            "long_x": np.mean((sigma[:, 0] > ARM) & (sigma[:, 1] < SHORT)),
            "long_y": np.mean((sigma[:, 1] > ARM) & (sigma[:, 0] < SHORT)),
            "both_long": np.mean((sigma > ARM).all(axis=1)),
            "both_short": np.mean((sigma < 0.2).all(axis=1)),
            "sigma": sigma[np.linspace(0, len(sigma) - 1, N_KEPT).astype(int)],
            "cross": estimator.label_distributions_[:, 1],
        }


@dataclass(frozen=True)
class Chains(Labels):
    """The same for sparse points in chains; there is no unlabelled cluster to predict."""

    n_points: int = 40

    methods = (*OPTIONS, ZERO)

    @staticmethod
    def draw(n_points: int) -> tuple[np.ndarray, np.ndarray]:
        """Return points and labels."""
        return draw_chains(n_points)


def at(sigma: tuple[float, float], n_points: int, seeds: np.random.SeedSequence) -> float:
    """Return the mean probability of a cross over the unlabelled cluster at one sigma, fixed by a narrow prior."""
    points, labels = draw_points(n_points)
    options = {"prior_scale": 1e-3, "step_size": 1e-3, "n_draws": 200, "n_warmup": 50, "n_chains": 2}
    estimator = _estimator(n_jobs=1, progress=False, random_state=seeds, **options)
    estimator.fit(points / np.array(sigma), labels)
    return float(estimator.label_distributions_[-(n_points // 4) :, 1].mean())


def measures(records: list[Record]) -> pd.DataFrame:
    """Return one row per method, means over its runs: the position of sigma, and the spread of chains."""
    rows: dict[str, list[dict[str, float]]] = {}
    exchange = {r["cell"][0]: r for r in records if r["cell"][1] == "exchange"}
    for r in records:
        method = r["cell"][1]
        if method == "at":
            row = {"cross_long_x": r["long_x"], "cross_long_y": r["long_y"]}
        else:
            spread = np.array(r["chain_mean"]).std(axis=0, ddof=1) / np.array(r["sd"])
            names = ("long_x", "long_y", "both_long", "both_short", "acceptance", "seconds")
            row = {name: r[name] for name in names}
            row |= {"arms": r["long_x"] + r["long_y"], "ess": min(r["ess"]), "spread": float(spread.max())}
            row["cross"] = float(np.mean(r["cross"][-(len(r["cross"]) // 4) :]))
            if method != "exchange" and (best := exchange.get(r["cell"][0])):
                away = (np.array(r["mean"]) - best["mean"]) / best["sd"]
                ratio = np.array(r["sd"]) / best["sd"]
                row |= {"distance": np.abs(away).max(), "sd_ratio": ratio[np.argmax(np.abs(np.log(ratio)))]}
        rows.setdefault(method, []).append(row)
    return pd.DataFrame({m: pd.DataFrame(rows[m]).mean() for m in Labels.methods if m in rows}).T


def draw_points(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw our data set, made to the paper's description, with a fixed seed.

    Crosses are at the top right and rings at the bottom left, each around a corner of a square of side four; an
    unlabelled cluster is at the top left, level with the crosses and above the rings; unlabelled points form a bridge
    from rings to crosses. A long sigma_x couples the cluster to the crosses, a long sigma_y to the rings, and both
    together couple the crosses to the rings.
    """
    rng, n = np.random.default_rng(2004), n_points // 4
    cross, ring, cluster = (c + 0.5 * rng.standard_normal((n, 2)) for c in ([2.0, 2.0], [-2.0, -2.0], [-2.0, 2.0]))
    along = np.linspace(0, 1, n)[:, None]
    bridge = [-1.2, -1.6] + 2.8 * along + 0.15 * rng.standard_normal((n, 2))
    return np.concatenate([cross, ring, bridge, cluster]), np.repeat([CROSS, RING, HIDDEN, HIDDEN], n)


def draw_chains(n_points: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw two horizontal chains of points two apart, crosses and rings, with every second label hidden.

    Neighbours in a chain are 0.6 apart, so that few points have more than two strong edges.
    """
    rng, n = np.random.default_rng(2004), n_points // 2
    along = 0.6 * np.arange(n)
    chains = [np.stack([along, np.full(n, y)], axis=1) for y in (0.0, 2.0)]
    labels = np.repeat([CROSS, RING], n)
    labels[1::2] = HIDDEN
    return np.concatenate(chains) + 0.05 * rng.standard_normal((2 * n, 2)), labels


def _estimator(
    prior_scale: float = 1.0,
    kernel: str = "exchange",
    engine: str = "swendsen-wang",
    n_sweeps: int = 20,
    initial_message: float = 1.0,
    **options: Any,
) -> LabelFieldMRF:
    """Return an estimator with the flat options of a cell; all chains make ``n_sweeps`` sweeps."""
    chains = {"n_chains": 16, "n_sweeps": n_sweeps, "moves": "swendsen-wang", "initial_message": initial_message}
    moves, others = method_of(LABEL_KERNELS, kernel, options)
    found = Phases(engine_of(engine, **chains), None if engine == "bethe" else engine_of("persistent", **chains))
    return LabelFieldMRF(prior=Normal(prior_scale), kernel=moves, engine=found, **others)
