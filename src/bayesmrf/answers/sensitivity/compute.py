"""Runs under other priors of the edges, made where those so far do not tell: `est.sensitivity`."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import ConvergenceWarning, DataError, OptionError, StoppedWarning
from ...findings import BAD, collected, dumped, loaded, tell
from ...priors import Fixed, Inclusion
from ...results import convergence
from ...results.sensitivity import ENOUGH, Joined, PriorRun, Setting, add_sensitivity
from ...rng import OTHER
from ..result import Result

if TYPE_CHECKING:
    import xarray as xr

Refit = Callable[[Any, str, int], "xr.DataTree"]
MOST_RUNS = 5  # along a path, with the one that was fitted
_DENSITIES, _FACTORS = np.linspace(0.1, 0.9, 17), 2.0 ** np.linspace(-2, 2, 17)
_ROUNDING = 1e-9  # of values on a path
_log = logging.getLogger(__name__)


class _Path(NamedTuple):
    """Priors that differ in one number."""

    name: str
    values: np.ndarray
    settings: list[Setting]
    prior_at: Callable[[Any, float], Any]
    ends: tuple[float, float]  # of its core, which has runs before the rest has any

    @property
    def core(self) -> slice:
        first, last = np.searchsorted(self.values, (self.ends[0] - _ROUNDING, self.ends[1] + _ROUNDING))
        return slice(int(first), int(last))


def compute(result: Result, run_under: Refit) -> None:
    """Add the sensitivity to the prior of edges to the tree of a fit; see `bayesmrf.SpikeSlabMRF.sensitivity`.

    Parameters
    ----------
    result : Result
    run_under : callable
        Makes a run of the fit under another prior of edges, (prior, name, seed) -> tree.
    """
    if "included" not in result.tree["posterior"]:
        raise OptionError(
            "The sensitivity to the prior of edges needs edges that may be absent, and here all exist; use "
            "SpikeSlabMRF, or give candidates to GroupedMRF."
        )
    prior = result.priors.of_edges
    slabs = [] if prior.slab is None else [prior.slab.scaled(factor) for factor in _FACTORS]
    probability = prior.inclusion.probabilities(result.graph)
    paths, at_fit = _paths(prior.inclusion, slabs)
    runs = [PriorRun(result.tree, at_fit, slabs, probability)]
    bad, is_stopped = [], False
    for path in paths:
        made = [k for k, s in enumerate(path.settings) if s == at_fit]
        for _ in range(MOST_RUNS - 1):
            k = _next(Joined(runs).n_effective(path.settings), made, path.core)
            if k is None or is_stopped:
                break
            tree = _run(result, path, k, run_under)
            is_stopped = not tree.attrs["complete"]
            if is_stopped:
                break
            made.append(k)
            runs.append(PriorRun(tree, path.settings[k], slabs, probability))
            if any(severity == BAD for severity, _ in convergence.of_chains(tree)):
                bad.append(f"{path.name} {path.values[k]:.3g}")
    settings = [s for path in paths for s in path.settings]
    add_sensitivity(
        result.tree,
        np.repeat([path.name for path in paths], [len(path.values) for path in paths]),
        np.concatenate([path.values for path in paths]),
        Joined(runs).curve(settings),
        [any(run.prior == s for run in runs) for s in settings],
        at_fit.inclusion.p0,
    )
    _record(result.tree, len(runs), bad, is_stopped)


def _record(tree: xr.DataTree, n_runs: int, bad: list[str], is_stopped: bool) -> None:
    """Warn of runs that have not converged, or are left out, and store these findings with the fit."""
    with collected() as findings:
        if bad:
            tell(
                f"{len(bad)} of the {n_runs - 1} runs under other priors have not converged ({', '.join(bad)}), "
                "and the sensitivity near them is uncertain; use more draws.",
                ConvergenceWarning, "fair",
            )  # fmt: skip
        if is_stopped:
            tell(f"Stopped: the sensitivity is that of the {n_runs} runs so far.", StoppedWarning)
    attrs = tree.attrs
    attrs["findings"] = dumped([*loaded(str(attrs.get("findings", "[]"))), *findings])


def _run(result: Result, path: _Path, k: int, run_under: Refit) -> xr.DataTree:
    """Sample a run under a prior of a path."""
    seed = np.random.SeedSequence(_entropy(result.tree), spawn_key=(OTHER, len(path.values), k))
    _log.info("A run under another prior: %s %.3g", path.name, path.values[k])
    prior = path.prior_at(result.priors.of_edges, float(path.values[k]))
    tree = run_under(prior, f"{path.name}-{path.values[k]:.3g}", int(seed.generate_state(1)[0]))
    if tree.attrs["data_hash"] != result.tree.attrs["data_hash"]:
        raise DataError("X must be the data of the fit, with the same weights; these are other ones.")
    return tree


def _paths(inclusion: Inclusion, slabs: Sequence[Any]) -> tuple[list[_Path], Setting]:
    """List the paths, and the prior of the fit; with blocks, p0 is not one number."""
    unit = int(np.flatnonzero(_FACTORS == 1)[0]) if slabs else 0
    setting, values, p0 = Setting(inclusion, unit), _DENSITIES, inclusion.p0
    if p0 is not None:
        values = np.union1d(values[np.abs(values - p0) > _ROUNDING], p0)
    paths = []
    if inclusion.blocks is None:
        settings = [Setting(Fixed(float(p)), unit) for p in values]
        paths.append(_Path("inclusion", values, settings, _at_density, (0.2, 0.8)))
    if slabs:
        settings = [Setting(inclusion, k) for k in range(len(slabs))]
        paths.append(_Path("scale", _FACTORS, settings, _at_scale, (0.5, 2.0)))
    return paths, setting


def _at_density(prior: Any, p: float) -> Any:
    return replace(prior, density=prior.inclusion.at(p))


def _at_scale(prior: Any, factor: float) -> Any:
    return replace(prior, slab=prior.slab.scaled(factor))


def _next(n_effective: np.ndarray, made: Sequence[int], core: slice) -> int | None:
    """Choose where the next run is: an end of the core, or the middle of its longest stretch with too few draws.

    The same of the whole path once the core has enough; None if there is no such stretch.
    """
    few = n_effective < ENOUGH
    few[list(made)] = False
    for first, stretch_few in ((core.start, few[core]), (0, few)):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], stretch_few, [0]])))
        if len(ends):
            start, stop = max(ends.reshape(-1, 2), key=lambda stretch: stretch[1] - stretch[0])
            if stop == len(stretch_few):
                return int(first + stop - 1)
            return int(first if start == 0 else first + (start + stop - 1) // 2)
    return None


def _entropy(tree: xr.DataTree) -> list[int]:
    entropy = json.loads(str(tree.attrs["seed"]))
    return entropy if isinstance(entropy, list) else [entropy]
