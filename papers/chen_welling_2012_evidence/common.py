"""What the experiments share: seeds, targets, groups of methods that start from the same work, records of evidences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bayesmrf.evidence.annealed import ais
from bayesmrf.evidence.bridge import bridge
from bayesmrf.evidence.criteria import bic, map_score
from bayesmrf.evidence.cross_validation import cross_validate
from bayesmrf.evidence.dic import dic
from bayesmrf.evidence.harmonic import harmonic
from bayesmrf.evidence.laplace import laplace
from bayesmrf.evidence.mode import find_mode
from bayesmrf.evidence.posterior_draws import posterior_draws
from bayesmrf.evidence.rbm_target import RBMTarget
from bayesmrf.evidence.target import Evidence
from bayesmrf.models.rbm import RestrictedBoltzmann
from bayesmrf.priors import Normal
from papers.cells import CellSettings

Options = Mapping[str, Any]
TRUTH, CV, LAPLACE = "ais", "cross-validation", "laplace"
MORE = "*"  # ends the name of a bridge with more draws from the prior, as in the paper
BETTER = ("laplace", "laplace0")


class Settings(CellSettings):
    """Of this paper's experiments."""

    names = ("hidden-units", "five-words", "full")


def target_of(rows: np.ndarray, n_hidden: int, counts: np.ndarray | None = None) -> RBMTarget:
    """A machine with the prior N(0, 1) for ``rows`` that came ``counts`` times (once)."""
    if counts is None:
        rows, counts = np.unique(rows, axis=0, return_counts=True)
    seen = counts > 0
    model = RestrictedBoltzmann(rows.shape[1], n_hidden)
    return RBMTarget(model, rows[seen].astype(np.int8), counts[seen].astype(np.float64), Normal(1.0))


def by_mode(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Laplace's approximation, the same without corrections, and MAP, at one mode."""
    mode = find_mode(target, rng, **options)
    yield "laplace", laplace(target, rng, mode=mode)
    yield "laplace0", laplace(target, rng, mode=mode, corrected=False)
    yield "map", map_score(target, rng, mode=mode)


def by_draws(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Everything from the same draws; ``more`` is how many times more the starred bridges take from the prior."""
    left = dict(options)
    more = left.pop("more", 1)
    draws = posterior_draws(target, rng, dynamics="brief", **left)  # and belief propagation, as in the paper
    yield "harmonic-1", harmonic(target, rng, variant=1, draws=draws)
    yield "harmonic-4", harmonic(target, rng, variant=4, draws=draws)
    for times in sorted({1, more}):
        for variant in ("geometric", "optimal"):
            found = bridge(target, rng, variant=variant, n_prior=times * draws.log_likelihood.size, draws=draws)
            yield f"bridge-{variant}{MORE if times > 1 else ''}", found
    yield "dic", dic(target, rng, draws=draws)


def by_annealing(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """AIS on a ladder that is finer near 0: as a power of equal steps."""
    left = dict(options)
    ladder = np.linspace(0, 1, left.pop("temperatures") + 1) ** left.pop("power")
    yield TRUTH, ais(target, rng, temperatures=ladder, **left)


def by_likelihood(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """BIC, which has a mode of its own."""
    yield "bic", bic(target, rng, **options)


def by_folds(target: RBMTarget, rng: np.random.Generator, options: Options) -> Iterable[tuple[str, Evidence]]:
    """Cross-validation."""
    yield CV, cross_validate(target, rng, **options)


# The place in this list is part of every seed.
GROUPS: dict[str, Callable[[RBMTarget, np.random.Generator, Options], Iterable[tuple[str, Evidence]]]] = {
    LAPLACE: by_mode,
    "bic": by_likelihood,
    "langevin": by_draws,
    TRUTH: by_annealing,
    CV: by_folds,
}


def summary(method: str, found: Evidence) -> dict[str, Any]:
    """A row of a record; a log evidence of millions is kept to the thousandth of a nat, as a whole number."""
    value = found.log_evidence
    return {
        "method": method,
        "millinats": round(1000 * value) if np.isfinite(value) else None,
        "error": found.standard_error,
        "parts": found.parts,
        "status": found.status,
    }
