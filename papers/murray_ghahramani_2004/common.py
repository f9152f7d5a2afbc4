"""Common to the experiments: seeds, one fit, and summaries of its draws."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bayesmrf import BayesianMRF
from bayesmrf.errors import ApproximatePosteriorWarning
from bayesmrf.inference.registry import engine_of
from bayesmrf.methods import KERNELS
from bayesmrf.priors import WeightsAndBiases
from papers.cells import CellSettings
from papers.options import method_of

_RECORDED = {"alpha": "momentum"}  # names of options in stored settings, and now
LONGEST = 4000  # draws of a chain used for effective sample sizes


class Settings(CellSettings):
    """Settings of this paper's experiments."""

    names = ("coronary", "artificial", "labels", "coverage", "coverage-complete", "labels-chains")


class Fit(NamedTuple):
    """Draws (n_chains, n_draws, n_features), the share of accepted proposals, seconds, and names of the features."""

    theta: np.ndarray
    acceptance: float
    seconds: float
    features: list[str]


def fit(
    X: Any,
    options: Mapping[str, Any],
    seeds: np.random.SeedSequence,
    weights: Any = None,
    checkpoint: Path | None = None,
) -> Fit:
    """Run `BayesianMRF`; a checkpoint is continued.

    Raises
    ------
    KeyboardInterrupt
        If it was stopped before its last draw: nothing is recorded of such a run.
    """
    options = dict(options)
    if "n_sweeps" in options:  # of the engine
        options["engine"] = engine_of(options["engine"], n_sweeps=options.pop("n_sweeps"))
    given = {_RECORDED.get(name, name): value for name, value in options.items()}
    kernel, others = method_of(KERNELS, given.pop("kernel", "metropolis"), given)
    if "prior_scale" in others or "bias_scale" in others:
        scale = others.pop("prior_scale", 1.0)
        others["prior"] = WeightsAndBiases(scale, others.pop("bias_scale", scale))
    estimator = BayesianMRF(
        kernel=kernel, progress=False, n_jobs=1, random_state=seeds, checkpoint=checkpoint, **others
    )
    with warnings.catch_warnings():  # steps are fixed by hand, as in the paper; one that is replaced is still told
        warnings.filterwarnings("ignore", "epsilon = .* makes variances", ApproximatePosteriorWarning)
        warnings.filterwarnings("ignore", "Approximate posterior", ApproximatePosteriorWarning)  # which is compared
        tree = estimator.fit(X, sample_weight=weights).posterior_
    if not tree.attrs["complete"]:
        raise KeyboardInterrupt
    stats = tree["sample_stats"]
    accepted = [float(stats[name].mean()) for name in ("acceptance", "accepted") if name in stats]
    theta = tree["posterior"]["theta"].values
    # A full conditional is drawn from: nothing is rejected.
    return Fit(theta, [*accepted, 1.0][0], float(tree.attrs["run_time"]), list(estimator.feature_names_))


def summary(theta: np.ndarray) -> dict[str, np.ndarray]:
    """Return mean, sd, 95 % interval and bulk effective sample size of each feature, all chains together."""
    lower, upper = np.quantile(theta, [0.025, 0.975], axis=(0, 1))
    return {
        "mean": theta.mean(axis=(0, 1)),
        "sd": theta.std(axis=(0, 1)),
        "lower": lower,
        "upper": upper,
        "ess": effective_size(theta),
    }


def effective_size(theta: np.ndarray) -> np.ndarray:
    """Return the bulk effective sample size (Vehtari et al. 2021), from at most `LONGEST` evenly spaced draws."""
    from arviz_stats import ess

    thinned = theta[:, :: -(-theta.shape[1] // LONGEST)]
    with np.errstate(invalid="ignore", divide="ignore"):  # a parameter that never moved has none
        return ess(xr.DataArray(thinned, dims=["chain", "draw", "feature"])).values


def histogram(theta: np.ndarray, n_bins: int) -> dict[str, Any]:
    """Return histograms of all draws of each feature, with ``n_bins`` bins from the smallest to the largest."""
    flat = theta.reshape(-1, theta.shape[2])
    low, high = flat.min(axis=0), flat.max(axis=0)
    counts = [np.histogram(x, n_bins, (a, b if b > a else a + 1))[0] for x, a, b in zip(flat.T, low, high, strict=True)]
    return {"low": low, "high": high, "counts": np.array(counts)}


def split_r_hat(means: np.ndarray, sds: np.ndarray) -> np.ndarray:
    """Compute the split R-hat (Gelman et al. 2013, eq. 11.4) of each feature.

    Parameters
    ----------
    means, sds : (n_parts, n_features) arrays
        Of the parts into which chains are split.
    """
    within, between = (sds**2).mean(axis=0), means.var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):  # a parameter that never moved has none
        return np.sqrt(1 + between / within)
