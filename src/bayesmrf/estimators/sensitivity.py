"""Runs under other priors of the edges, made where those so far do not tell: `est.sensitivity`."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..declare.rule import PATH, optional
from ..errors import BayesMRFWarning, ConvergenceWarning, DataError, OptionError, StoppedWarning
from ..findings import BAD, collected, dumped, loaded, tell
from ..graphs import Graph
from ..priors import Beta, Blocks, DirichletProcess
from ..results import convergence
from ..results.sensitivity import ENOUGH, Density, Joined, PriorRun, Setting, add_sensitivity
from ..rng import OTHER
from .edge_prior import constants, in_order

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

MOST_RUNS = 5  # along a path, with the one that was fitted
_DENSITIES, _FACTORS = np.linspace(0.1, 0.9, 17), 2.0 ** np.linspace(-2, 2, 17)
_ROUNDING = 1e-9  # of values on a path
_CHECKPOINT = optional(PATH)
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


class Sensitive:
    """Estimators whose edges may be absent: how results depend on the prior of the edges."""

    posterior_: xr.DataTree
    _graph: Graph
    _prior_of_edges: Any  # the prior of the fit; defined by estimators
    _as_fitted: Callable[[], Any]
    table: Callable[..., pd.DataFrame]

    def sensitivity(
        self,
        X: Any,
        sample_weight: Any = None,
        checkpoint: str | PathLike[str] | None = None,
        survey_weight: Any = None,
    ) -> pd.DataFrame:
        """Compute how the evidence for each edge depends on its prior: its inclusion, and the scale of its slab.

        Prior inclusion (a fixed p0 for all candidates) goes from 0.1 to 0.9 under the slab of the fit, and the scale of
        the slab from a quarter to four times that of the fit under its density. The draws of the fit are joined with
        those of at most four more runs along each path, each with as many draws, and made in the middle of the longest
        stretch of priors of which the runs so far tell too little (fewer than 1,000 effective draws;
        docs/sensitivity.md): first from 0.2 to 0.8 and from half to double the scale, then of the whole path. Groups of
        edges (`GroupedMRF`), whose weights have no slab, have the first path, and a density of blocks, whose p0 is not
        one number, the second.

        Parameters
        ----------
        X : (n_samples, n_nodes) array or DataFrame
            The data of the fit, which a stored run does not have.
        sample_weight : (n_samples,) array, optional
            As in the fit.
        checkpoint : path, optional
            Folder in which the runs are stored, each as a checkpoint, and from which they continue.
        survey_weight : (n_samples,) array, optional
            As in the fit.

        Returns
        -------
        DataFrame
            The table "sensitivity": ``prior`` ("inclusion" or "scale") and its ``value``, the shares of edges
            ``included``, ``inconclusive`` and ``excluded``, the effective number of draws, and whether these suffice
            (``trusted``). ``table("sensitivity-edges")`` has the inclusion and Bayes factor of each edge.

        Raises
        ------
        OptionError
            If no edge may be absent.
        DataError
            If X is other data than that of the fit.

        Warns
        -----
        ConvergenceWarning
            If some of the runs have not converged.
        """
        return self._sensitivity(X, {"sample_weight": sample_weight, "survey_weight": survey_weight}, checkpoint)

    def _sensitivity(self, X: Any, more: Mapping[str, Any], checkpoint: Any) -> pd.DataFrame:
        check_is_fitted(self)
        _CHECKPOINT.check("checkpoint", checkpoint)
        if "included" not in self.posterior_["posterior"]:
            raise OptionError(
                "The sensitivity to the prior of edges needs edges that may be absent, and here all exist; use "
                "SpikeSlabMRF, or give candidates to GroupedMRF."
            )
        prior = in_order(self._prior_of_edges, self._graph)
        is_grouped = isinstance(prior, DirichletProcess)
        slabs = [] if is_grouped else [prior.slab.scaled(factor) for factor in _FACTORS]
        probability = constants(prior, self._graph).get("edge_probability")
        density = None if probability is not None else prior.density
        if not (density is None or isinstance(density, Beta | Blocks)):
            density = float(density)
        paths, own = _paths(density, slabs)
        runs = [PriorRun(self.posterior_, own, slabs, probability)]
        bad, is_stopped = [], False
        for path in paths:
            made = [k for k, s in enumerate(path.settings) if s == own]
            for _ in range(MOST_RUNS - 1):
                k = _next(Joined(runs).n_effective(path.settings), made, path.core)
                if k is None or is_stopped:
                    break
                tree = self._run_under(path, k, X, more, checkpoint)
                is_stopped = not tree.attrs["complete"]
                if is_stopped:
                    break
                made.append(k)
                runs.append(PriorRun(tree, path.settings[k], slabs, probability))
                if any(severity == BAD for severity, _ in convergence.of_chains(tree)):
                    bad.append(f"{path.name} {path.values[k]:.3g}")
        settings = [s for path in paths for s in path.settings]
        add_sensitivity(
            self.posterior_,
            np.repeat([path.name for path in paths], [len(path.values) for path in paths]),
            np.concatenate([path.values for path in paths]),
            Joined(runs).curve(settings),
            [any(run.prior == s for run in runs) for s in settings],
            own.density,
        )
        with collected() as found:
            if bad:
                tell(
                    f"{len(bad)} of the {len(runs) - 1} runs under other priors have not converged ({', '.join(bad)}), "
                    "and the sensitivity near them is uncertain; use more draws.",
                    ConvergenceWarning, "fair",
                )  # fmt: skip
            if is_stopped:
                tell(f"Stopped: the sensitivity is that of the {len(runs)} runs so far.", StoppedWarning)
        attrs = self.posterior_.attrs
        attrs["findings"] = dumped([*loaded(str(attrs.get("findings", "[]"))), *found])
        return self.table("sensitivity")

    def _run_under(self, path: _Path, k: int, X: Any, more: Mapping[str, Any], checkpoint: Any) -> xr.DataTree:
        """Return the draws of a run under a prior of a path; warnings about it are not those of the fit."""
        seed = np.random.SeedSequence(_entropy(self.posterior_), spawn_key=(OTHER, len(path.values), k))
        name = f"{path.name}-{path.values[k]:.3g}"
        _log.info("A run under another prior: %s %.3g", path.name, path.values[k])
        other = self._as_fitted()
        other.set_params(
            **self._under(path.prior_at(in_order(self._prior_of_edges, self._graph), float(path.values[k]))),
            random_state=int(seed.generate_state(1)[0]),
            n_draws=self.posterior_["posterior"].sizes["draw"],
            checkpoint=None if checkpoint is None else Path(checkpoint) / name,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesMRFWarning)
            other.fit(X, **more)
        tree: xr.DataTree = other.posterior_
        if tree.attrs["data_hash"] != self.posterior_.attrs["data_hash"]:
            raise DataError("X must be the data of the fit, with the same weights; these are other ones.")
        return tree

    def _under(self, prior: Any) -> dict[str, Any]:
        """Return the parameters of an estimator that differs in the prior of its edges alone."""
        return {"prior": prior}


def _paths(density: Density, slabs: Sequence[Any]) -> tuple[list[_Path], Setting]:
    """Return the paths, and the prior of the fit; with blocks, p0 is not one number."""
    unit = int(np.flatnonzero(_FACTORS == 1)[0]) if slabs else 0
    own, values = Setting(density, unit), _DENSITIES
    if isinstance(density, float):
        values = np.union1d(values[np.abs(values - density) > _ROUNDING], density)
    paths = []
    if not isinstance(density, Blocks):
        paths.append(_Path("inclusion", values, [Setting(float(p), unit) for p in values], _at_density, (0.2, 0.8)))
    if slabs:
        paths.append(_Path("scale", _FACTORS, [Setting(density, k) for k in range(len(slabs))], _at_scale, (0.5, 2.0)))
    return paths, own


def _at_density(prior: Any, p: float) -> Any:
    given = prior.density
    if not isinstance(given, np.ndarray):
        return replace(prior, density=p)
    return replace(prior, density=np.where((given > 0) & (given < 1), p, given))  # others stay certain


def _at_scale(prior: Any, factor: float) -> Any:
    return replace(prior, slab=prior.slab.scaled(factor))


def _next(n_effective: np.ndarray, made: Sequence[int], core: slice) -> int | None:
    """Return where the next run is: an end of the core, or the middle of its longest stretch with too few draws.

    The same of the whole path once the core has enough; None if there is no such stretch.
    """
    few = n_effective < ENOUGH
    few[list(made)] = False
    for first, some in ((core.start, few[core]), (0, few)):
        ends = np.flatnonzero(np.diff(np.concatenate([[0], some, [0]])))
        if len(ends):
            start, stop = max(ends.reshape(-1, 2), key=lambda stretch: stretch[1] - stretch[0])
            if stop == len(some):
                return int(first + stop - 1)
            return int(first if start == 0 else first + (start + stop - 1) // 2)
    return None


def _entropy(tree: xr.DataTree) -> list[int]:
    entropy = json.loads(str(tree.attrs["seed"]))
    return entropy if isinstance(entropy, list) else [entropy]
