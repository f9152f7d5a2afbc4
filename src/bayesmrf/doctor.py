"""What a machine has for this package, and whether answers that are known come out of it."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from joblib import cpu_count
from scipy.special import logsumexp

from . import graphs
from .engines import Gibbs
from .estimators import SpikeSlabMRF
from .inference.elimination.engine import Elimination
from .inference.elimination.many_states import categorical_log_z
from .memory import machine_bytes
from .models import Boltzmann
from .priors import Normal, SpikeSlab

_PACKAGES = (
    "numpy",
    "scipy",
    "pandas",
    "numba",
    "scikit-learn",
    "xarray",
    "arviz-stats",
    "networkx",
    "matplotlib",
    "rich",
)
_OPTIONAL = {  # what is read or written with each
    "pyarrow": "Parquet and Feather", "openpyxl": "Excel", "pyreadstat": "SPSS and Stata", "rdata": "files of R",
    "h5netcdf": "results in one file", "docx": "Word", "arviz_plots": "more figures", "distributed": "dask clusters",
}  # fmt: skip
_COUNTS = np.array([30, 15, 16, 19])  # of the answers 00, 01, 10 and 11 of the posterior that is known
_SCALE, _BIAS = 1.0, 2.0  # of its priors
_STEPS = 81  # of each axis of its grid
_ERRORS = 5.0  # Monte Carlo standard errors that a right answer is rarely off by


class Check(NamedTuple):
    """An answer that is known: what it is of, what came out, what is right, and how far the two may be apart."""

    name: str
    value: float
    right: float
    tolerance: float

    @property
    def is_right(self) -> bool:
        """Whether the two agree; never of an answer that is not a number."""
        return abs(self.value - self.right) <= self.tolerance


def machine() -> list[tuple[str, str]]:
    """Return facts about versions, processors, memory, and the folder of machine code."""
    cache = categorical_log_z._cache.cache_path
    missing = [f"{package} ({use})" for package, use in _OPTIONAL.items() if find_spec(package) is None]
    return [
        ("bayesmrf", f"{version('bayesmrf')}, Python {platform.python_version()}, {platform.platform(terse=True)}"),
        ("packages", ", ".join(f"{name} {_version(name)}" for name in _PACKAGES)),
        ("not installed", ", ".join(missing) or "nothing"),
        ("processors", f"{cpu_count()}, each for one chain"),
        ("memory", f"{machine_bytes() / 2**30:.1f} GiB"),
        ("machine code", cache or "is not kept, as no folder can be written to; set NUMBA_CACHE_DIR to one that can"),
        ("data sets", os.environ.get("BAYESMRF_DATA", "BAYESMRF_DATA is not set; datasets.fetch downloads tables")),
    ]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def checks() -> Iterator[tuple[Check, float]]:
    """Yield answers that are known, and the seconds of each."""
    for check in (_normalizing_constant, _states, lambda: _posterior("exact"), lambda: _posterior("reversible-jump")):
        began = time.monotonic()
        yield check(), time.monotonic() - began


def _small_model() -> tuple[Any, np.ndarray, np.ndarray]:
    """Return a model of eight nodes, its parameters, and the log weight of each of its 256 states."""
    rng = np.random.default_rng(0)
    model = Boltzmann(graphs.complete(8))
    theta = rng.normal(0, 0.5, model.n_features)
    states = (np.arange(256)[:, None] >> np.arange(8)) & 1
    pairs = np.array([states[:, u] * states[:, v] for u, v in model.graph.edges]).T
    return model, theta, np.hstack([pairs, states]) @ theta


def _normalizing_constant() -> Check:
    model, theta, log_weights = _small_model()
    right, engine = float(logsumexp(log_weights)), Elimination()
    return Check(
        "log of a normalizing constant", float(engine.infer(model, theta, engine.prepare(model)).log_z), right, 1e-9
    )


def _states() -> Check:
    model, theta, log_weights = _small_model()
    p = np.exp(log_weights - logsumexp(log_weights))
    right = float(p @ ((np.arange(256) >> 3) & 1))
    n = 20_000
    states = Gibbs(n_sweeps=50).sample(model, theta, None, n, np.random.default_rng(1))
    return Check("share of a node in simulated states", float(states[:, 3].mean()), right, _ERRORS * 0.5 / np.sqrt(n))


def _posterior(method: str) -> Check:
    """Compare the inclusion probability of one edge with quadrature."""
    axis = np.linspace(-8, 8, _STEPS)
    log_p = []
    for w in (np.zeros(1), axis):
        b, c, w = np.meshgrid(axis, axis, w, indexing="ij")
        cells = np.array([0 * b, c, b, b + c + w])
        log_likelihood = np.tensordot(_COUNTS, cells, 1) - _COUNTS.sum() * logsumexp(cells, axis=0)
        prior = -0.5 * (b**2 + c**2) / _BIAS**2 - 0.5 * (w / _SCALE) ** 2
        width = (axis[1] - axis[0]) / (_SCALE * np.sqrt(2 * np.pi)) if w.shape[2] > 1 else 1.0
        log_p.append(logsumexp(log_likelihood + prior) + np.log(width))
    right = float(1 / (1 + np.exp(log_p[0] - log_p[1])))
    table = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], _COUNTS, axis=0)
    spike = SpikeSlab(density=0.5, slab=Normal(_SCALE), bias_scale=_BIAS)
    est = SpikeSlabMRF(prior=spike, method=method, n_draws=1500, n_warmup=200, n_chains=2, n_jobs=1, random_state=0,
                       progress=False).fit(table)  # fmt: skip
    row = est.table("edges").iloc[0]
    error = np.hypot(float(row["inclusion_error"]), 0.0 if method == "exact" else 0.01)
    return Check(f"inclusion of an edge, method {method}", float(row["inclusion"]), right, _ERRORS * error)


def examine(say: Callable[[str], None]) -> bool:
    """Say what the machine has, and whether known answers come out; return whether all are right."""
    for name, fact in machine():
        say(f"{name}: {fact}")
    say("checking known answers (the first time, code is compiled for up to half a minute) ...")
    results = []
    for check, seconds in checks():
        verdict = "right" if check.is_right else "WRONG"
        say(f"  {verdict}: {check.name} {check.value:.6g}, exact {check.right:.6g}, tolerance {check.tolerance:.2g} "
            f"({seconds:.1f} s)")  # fmt: skip
        results.append(check.is_right)
    return all(results)
