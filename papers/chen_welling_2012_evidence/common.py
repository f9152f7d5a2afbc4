"""Common to the experiments: seeds, targets, groups of methods with the same mode or draws, records of evidences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bayesmrf.evidence.annealed import AIS
from bayesmrf.evidence.bridge import BridgeSampling
from bayesmrf.evidence.laplace import Laplace
from bayesmrf.evidence.methods import with_options
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.evidence.posterior_draws import PosteriorSampler
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.evidence.target import Evidence
from bayesmrf.models import RestrictedBoltzmann
from bayesmrf.priors import Normal
from bayesmrf.published.criteria import BIC, MAP
from bayesmrf.published.cross_validation import CrossValidation
from bayesmrf.published.dic import DIC
from bayesmrf.published.harmonic import HarmonicMean
from papers.cells import CellSettings

Options = Mapping[str, Any]
TRUTH, CV, LAPLACE = "ais", "cross-validation", "laplace"
MORE = "*"  # ends the name of a bridge with more draws from the prior, as in the paper
BETTER = ("laplace", "laplace0")


class Settings(CellSettings):
    """Settings of this paper's experiments."""

    names = ("hidden-units", "five-words", "full")


def target_of(rows: np.ndarray, n_hidden: int, counts: np.ndarray | None = None) -> RBMTarget:
    """Return a machine with the prior N(0, 1) for ``rows``, each observed ``counts`` times (by default once)."""
    if counts is None:
        rows, counts = np.unique(rows, axis=0, return_counts=True)
    seen = counts > 0
    model = RestrictedBoltzmann(rows.shape[1], n_hidden)
    return RBMTarget(model, rows[seen].astype(np.int8), counts[seen].astype(np.float64), Normal(1.0))


def by_mode(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Compute Laplace's approximation, the same without corrections, and MAP, at one mode."""
    mode = ModeSearch(**options)(target, rng)
    yield "laplace", Laplace(scales=False)(target, rng, mode)
    yield "laplace0", Laplace(corrected=False, scales=False)(target, rng, mode)
    yield "map", MAP()(target, rng, mode)


def by_draws(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Compute everything from the same draws; starred bridges take ``more`` times as many draws from the prior."""
    left = dict(options)
    more = left.pop("more", 1)
    draws = PosteriorSampler(dynamics="brief", **left)(target, rng)  # and belief propagation, as in the paper
    yield "harmonic-1", HarmonicMean(variant=1)(target, rng, draws)
    yield "harmonic-4", HarmonicMean(variant=4)(target, rng, draws)
    for times in sorted({1, more}):
        for variant in ("geometric", "optimal"):
            found = BridgeSampling(variant=variant, n_prior=times * draws.log_likelihood.size)(target, rng, draws)
            yield f"bridge-{variant}{MORE if times > 1 else ''}", found
    yield "dic", DIC()(target, rng, draws)


def by_annealing(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Run AIS on a ladder that is finer near 0: a power of equal steps."""
    left = dict(options)
    ladder = np.linspace(0, 1, left.pop("temperatures") + 1) ** left.pop("power")
    yield TRUTH, AIS(temperatures=ladder, **left)(target, rng)


def by_likelihood(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Compute BIC, at the maximum of the likelihood."""
    yield "bic", with_options(BIC(), **options)(target, rng)


def by_folds(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Run cross-validation."""
    yield CV, with_options(CrossValidation(), **options)(target, rng)


# The position in this list is part of every seed.
GROUPS: dict[str, Callable[[RBMTarget, np.random.Generator, Options], Iterable[tuple[str, Evidence]]]] = {
    LAPLACE: by_mode,
    "bic": by_likelihood,
    "langevin": by_draws,
    TRUTH: by_annealing,
    CV: by_folds,
}


def summary(method: str, found: Evidence) -> dict[str, Any]:
    """Return a row of a record; log evidences of millions are kept to a thousandth of a nat, as integers."""
    value = found.log_evidence
    return {
        "method": method,
        "millinats": round(1000 * value) if np.isfinite(value) else None,
        "error": found.standard_error,
        "parts": found.parts,
        "status": found.status,
    }
