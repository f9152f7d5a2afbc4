"""Common to the experiments: seeds, one cell, one fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bayesmrf import SpikeSlabMRF
from bayesmrf.methods import EDGES
from bayesmrf.priors import Beta, Gamma, SpikeSlab
from papers.cells import CellSettings
from papers.options import method_of

SAMPLERS = ("exact", "reversible-jump", "langevin")
BASELINES = ("wainwright-max", "wainwright-min", "pseudo-l1")
LEARNT = "learnt"  # p0 has a prior; otherwise the setting of a cell is the fixed p0
PATH = "path"  # setting of a baseline: all its densities at once


PRIOR = SpikeSlab(Beta(5.0, 5.0), Gamma(5.0, 5.0))  # of the paper
_RECORDED = {"alpha": "momentum"}  # names of options in stored settings, and now


class Settings(CellSettings):
    """Settings of this paper's experiments."""

    names = ("block", "lattice", "mnist", "calibration")


def fit(
    states: np.ndarray, method: str, options: Mapping[str, Any], seeds: np.random.SeedSequence, checkpoint: Path
) -> tuple[SpikeSlabMRF, float]:
    """Run `SpikeSlabMRF` and return it with its seconds; a checkpoint is continued.

    The exact sampler takes about a second and has no checkpoint.

    Raises
    ------
    KeyboardInterrupt
        If it was stopped before its last draw: nothing is recorded of such a run.
    """
    where = None if method == "exact" else checkpoint
    given = {_RECORDED.get(name, name): value for name, value in options.items()}
    own, others = method_of(EDGES, method, given)
    of_prior = {k: others.pop(k) for k in ("density", "bias_scale") if k in others}
    estimator = SpikeSlabMRF(
        prior=replace(PRIOR, **of_prior),
        method=own,
        random_state=seeds,
        checkpoint=where,
        progress=False,
        n_jobs=1,
        **others,
    ).fit(states)
    tree = estimator.posterior_
    if not tree.attrs["complete"]:
        raise KeyboardInterrupt
    return estimator, float(tree.attrs["run_time"])


def particles(method: str, n: int) -> dict[str, int]:
    """Return the chains of "reversible-jump": twice the observations, at least 512, for strong edges to jump."""
    return {"n_particles": max(512, 2 * n)} if method == "reversible-jump" else {}
