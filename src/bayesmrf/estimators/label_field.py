"""Semi-supervised classification with a Markov random field, averaged over the posterior of its length scales."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_array, check_is_fitted

from .. import methods, results
from ..base import LOG_Z, MOMENTS, Kernel
from ..data.cells import unmasked
from ..data.frames import check_index, record_columns, text_names
from ..data.kinds.identifier import names_rows
from ..declare.option import check_params, option
from ..declare.rule import ENGINE, choice, either, instance
from ..engines import Phases
from ..errors import DataError, PriorWarning, argument
from ..families import AUTO
from ..findings import recorded, tell
from ..inference.chains import Brief
from ..inference.registry import engine_of
from ..likelihood import Hidden, Likelihood
from ..methods.parameters import LABEL_KERNELS, row_of
from ..methods.rows import Built, stored_options
from ..models.clamped import Clamped
from ..models.label_field import LabelField
from ..names import quoted, shown
from ..posterior.parameters.langevin import LangevinKernel
from ..priors import Normal
from ..results import convergence
from ..results.blocks import variable
from ..results.intervals import central
from ..results.until_good import tell_if_short
from ..runs import run
from ..runs.run_options import RunOptions
from ..samplers.swendsen_wang import SwendsenWang
from ..types import Rows
from .base import hidden_probabilities, run_seed, sample_posterior
from .built_kernels import kind_with
from .estimator import Estimator, begin
from .parameter_kernels import Problem, parameter_kernel
from .pipeline import Sampled
from .starts import uncorrected_epsilon

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_CHAINS, _SWEEPS = 16, 20  # of engines that are named
_LARGEST = 2**53  # label: larger integers are not exact as floats
_FAR = 3.0  # standard deviations of the prior between which length scales are
_N_SCALES, _N_STATES = 16, 100  # draws from the prior at which curvatures are computed, and states at each


@dataclass(frozen=True)
class _Prior:
    """Draws from the prior, where chains start."""

    theta: np.ndarray
    root: np.ndarray  # standard deviations
    stiffness: Callable[[], float]
    is_oblique = False

    @property
    def scale(self) -> np.ndarray:
        """Standard deviation of each parameter."""
        return self.root


class _Problem(Problem):
    """What a kernel is built for."""

    def starts(self, start: str = "mode") -> tuple[np.ndarray, np.ndarray | None]:
        """Return the centre and the spread of the starts of chains."""
        return self.at.theta, self.at.root


def langevin(options: Any, p: Problem) -> Built:
    """Build Langevin dynamics, whose step follows from curvatures under the prior."""
    theta, spread = p.starts()
    options = replace(options, epsilon=uncorrected_epsilon(options.epsilon, p.at.stiffness()))
    return Built(LangevinKernel(p.likelihood, p.prior, theta, options, spread=spread))


@dataclass(eq=False, repr=False)
class LabelFieldMRF(Estimator, RunOptions, BaseEstimator):
    """Labels of points, some observed and the rest hidden, by a `LabelField` (Murray and Ghahramani 2004, section 6.2).

    The posterior is over the logarithms of the length scales, sigma_k for each coordinate; predictions are averages
    over it, which a single choice of scales cannot match if the posterior is wide. The field has the points of ``fit``
    alone: there is no ``predict`` or ``score`` for others.

    Parameters
    ----------
    prior : "normal" or `priors.Normal`
        Prior, with centre 0, of each log sigma: scale the points to about 1. The name selects a standard deviation
        of 1. A `PriorWarning` names coordinates whose standard deviation is beyond three of the prior.
    kernel : {"exchange", "langevin", "metropolis"} or an object of `bayesmrf.methods`
        The Markov chain on log sigma. "exchange" also draws the hidden labels, and converges to the posterior with more
        cluster sweeps of its engine; the paper uses "langevin" with "brief", and "metropolis" with "bethe", which
        fails. Random walks are adapted during warm-up to an acceptance of 0.44; the step of Langevin follows from the
        curvatures under the prior. Other steps are options of the objects, which here have no ``start``, ``momentum``,
        ``precondition`` or ``adjusted``: chains start at draws from the prior. ``methods.Custom`` makes your own kernel
        from the likelihood and the prior.
    engine : str, Engine or `engines.Phases`
        How Z is approximated, or states are drawn. Exchange takes "swendsen-wang" or "exact", langevin "brief" or
        "persistent", metropolis "mean-field", "tree" or "bethe". "exact" is for at most about twenty points. The names
        select 16 chains and 20 cluster sweeps; your own engine can be given instead, as in `BayesianMRF`.
        ``Phases`` also has the chains of the hidden labels: Persistent(16, 20, moves="swendsen-wang") by default.
    n_draws, n_warmup, n_chains, thin, random_state, n_jobs, executor, progress, checkpoint
        As in `GroupedMRF`.

    Attributes
    ----------
    classes_ : (2,) array
    label_distributions_ : (n_points, 2) array
        Posterior probability of each class at each point; 0 or 1 if the label was observed.
    transduction_ : (n_points,) array
        The more probable class.
    theta_ : (n_coordinates,) array
        Posterior mean of log sigma.
    posterior_ : xarray.DataTree
        Draws in ArviZ's form.
    """

    _readers = {"kernel": LABEL_KERNELS.read, "prior": lambda _: Normal(1.0)}  # noqa: RUF012

    prior: Any = option("normal", either(choice("normal"), instance("priors", "Normal")))
    kernel: Any = option("exchange", LABEL_KERNELS.rule_with_own())
    engine: Any = option("swendsen-wang", ENGINE)

    table, export, report, _outcome = Sampled.table, Sampled.export, Sampled.report, Sampled._outcome

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags, tags.target_tags.required = ClassifierTags(multi_class=False), True
        return tags

    @recorded
    def fit(self, X: Rows, y: Any) -> LabelFieldMRF:
        """Sample the posterior of the scales and the hidden labels.

        Parameters
        ----------
        X : (n_points, n_coordinates) array or DataFrame
            Coordinates of the points.
        y : (n_points,) array
            Two integer classes, and -1 (or a mask) for hidden labels; a Series with the index of ``X``.

        Raises
        ------
        DataError
            If points are not finite numbers, or there are not two classes.
        """
        check_params(self)
        begin(self)
        points, names, labels = self._read(X, y)
        field = LabelField(points, names)
        self._warn_of_scale(field)
        likelihood = self._likelihood(field, labels)
        kernel = self._kernel(likelihood, field)
        engine = likelihood.engine
        options, hidden = self._object("kernel"), likelihood.hidden
        row = row_of(options, LABEL_KERNELS)
        kind = kind_with(row, engine, *([] if hidden is None else [hidden.engine]))
        if row.name == "langevin":
            kind = f"approximate ({engine.name}: {engine.kind.value})"
        name = kernel.name if row.options is methods.Custom else row.name
        attrs: dict[str, Any] = stored_options(options) | {"method": name, "kind": kind}
        attrs |= {
            "data_hash": hashlib.sha256(np.ascontiguousarray(points).tobytes() + labels.tobytes()).hexdigest(),
            "model": field.name,
            "engine": engine.name,
            "prior": type(self._object("prior")).__name__,
            "prior_scale": np.atleast_1d(self._object("prior").scale).tolist(),
        }
        seeds = run_seed(self)

        def tree_of(draws: run.Draws) -> xr.DataTree:
            return results.to_datatree(draws, field, attrs=attrs, observed={"n_samples": 1})

        draws = sample_posterior(self, field, kernel, seeds, tree_of)
        self.posterior_ = tree_of(draws)
        self.theta_ = draws.values["theta"].mean(axis=(0, 1))
        self._predict(likelihood, draws, labels, seeds)
        if likelihood.hidden is not None:
            results.add_missing(self.posterior_, self._hidden_table(labels))
        tell_if_short(draws)
        convergence.warn_unless_converged(self.posterior_)
        return self

    def _read(self, X: Any, y: Any) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
        """Check the table and the labels: points, names of coordinates, and labels 0, 1 or -1 (hidden)."""
        values = X if issparse(X) else unmasked(X)
        if values.ndim != 2:
            remedy = "Reshape your data so that rows are points and columns are coordinates"
            raise DataError(option="X", got=X, expected="a table (n_points, n_coordinates)", remedy=remedy)
        try:
            points = check_array(values, dtype=np.float64, ensure_all_finite=False)
        except (TypeError, ValueError) as e:
            raise DataError(f"{argument('X')}: {shown(' '.join(str(e).split()), 200)}") from None
        if y is None:
            raise DataError("LabelFieldMRF requires y to be passed, but the target y is None.")
        check_index("y", y, X)
        labels = y.filled(-1) if isinstance(y, np.ma.MaskedArray) else np.asarray(y)
        if labels.shape != (len(points),):
            expected = f"an array of shape ({len(points)},), a label for each point"
            raise DataError(option="y", got=labels, expected=expected)
        if labels.dtype.kind not in "iuf" or (labels != np.round(labels)).any() or (np.abs(labels) > _LARGEST).any():
            expected = "an array of integers, -1 where the label is hidden"
            raise DataError(option="y", got=f"Unknown label type: {labels.dtype}", expected=expected)
        labels = labels.astype(np.int64)
        self.classes_ = np.unique(labels[labels != -1])
        if len(self.classes_) != 2:
            got = f"{len(self.classes_)} class(es) ({', '.join(map(str, self.classes_))})"
            expected = "labels of two classes, each observed at least once (-1 is a hidden label, not a class)"
            raise DataError(option="y", got=got, expected=expected)
        record_columns(self, X, points.shape[1])
        named: Any = text_names(X)
        if named is None and points.shape[1] <= 3:
            named = "xyz"[: points.shape[1]]
        names = tuple(map(str, range(points.shape[1])) if named is None else named)
        wrong = ~np.isfinite(points)
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            what = "NaN" if np.isnan(points[row, column]) else "infinity"
            raise DataError(f"{argument('X')}: Input contains {what}, the first in row {row}, column "
                            f"{quoted(names[column])}; give coordinates that are finite, or leave out the "
                            f"{wrong.any(axis=1).sum()} point(s) without")  # fmt: skip
        numbered = next((n for n, column in zip(names, points.T, strict=True) if names_rows(column, n)), None)
        if numbered is not None and len(names) > 1:
            raise DataError(f"{argument('X')} must contain coordinates only, and column {quoted(numbered)} looks like "
                            "an identifier; drop it, or give it another name if it is a coordinate")  # fmt: skip
        if len(set(names)) < len(names):
            raise DataError("X: two coordinates have the same name; give each column its own name")
        return points, names, np.where(labels == -1, -1, labels == self.classes_[1]).astype(np.int8)

    def _warn_of_scale(self, field: LabelField) -> None:
        """Warn of coordinates that are far wider or narrower than the length scales that the prior allows."""
        spread = field.points.std(axis=0)
        most = np.exp(_FAR * np.broadcast_to(np.asarray(self._object("prior").scale, dtype=np.float64), spread.shape))
        # A prior that is tighter than the default is meant to determine the length scale.
        allowed = np.maximum(most, np.exp(_FAR))
        far = np.flatnonzero((spread > allowed) | (spread < 1 / allowed))
        if len(far):
            i, prior = far[0], argument("prior")
            scaled = f"divide it by its standard deviation, or give another {prior}"
            more = f", as that of {len(far) - 1} other coordinate(s)" if len(far) > 1 else ""
            tell(
                f"The length scale of {quoted(field.names[i])} is determined by the prior, and hardly by the "
                f"labels{more}: under the prior it is from {1 / most[i]:.2g} to {most[i]:.2g}, and the coordinate has "
                f"the standard deviation {spread[i]:.2g}; {scaled if spread[i] > 0 else 'drop it'}.",
                PriorWarning,
            )

    def _likelihood(self, field: LabelField, labels: np.ndarray) -> Likelihood:
        chains: dict[str, Any] = {"n_chains": _CHAINS, "n_sweeps": _SWEEPS, "moves": "swendsen-wang"}
        phases = self._settings.engine if isinstance(self._settings.engine, Phases) else Phases(self._settings.engine)
        is_default = isinstance(phases.model, str) and phases.model == AUTO
        engine = engine_of(type(self).engine if is_default else phases.model, **chains)
        if isinstance(engine, Brief):
            engine = replace(engine, states=np.maximum(labels, 0)[None])
        if (labels >= 0).all():
            return Likelihood(field.base, field.base.statistics(labels[None]), 1, engine, curve=field)
        # Bounds and Bethe also compute the positive phase, as in the paper; others run chains on the hidden labels.
        hidden_engine = "persistent" if phases.hidden is None else phases.hidden
        same = phases.hidden is None and {LOG_Z, MOMENTS} <= engine.answers
        positive = engine if same else engine_of(hidden_engine, **chains)
        hidden = Hidden(Clamped(field.base, labels[None]), positive)
        return Likelihood(field.base, np.zeros(field.base.n_features), 1, engine, hidden, field)

    def _kernel(self, likelihood: Likelihood, field: LabelField) -> Kernel:
        """Return the kernel; chains start at draws from the prior, as the posterior may have several modes."""
        prior = self._object("prior")
        spread = np.broadcast_to(np.asarray(prior.scale, dtype=np.float64), field.n_features).copy()
        at = _Prior(np.zeros(field.n_features), spread, partial(self._stiffness, field, spread))
        problem = _Problem(likelihood, prior, at, self._settings.n_warmup)
        return parameter_kernel(self._object("kernel"), problem, LABEL_KERNELS)

    def _stiffness(self, field: LabelField, spread: np.ndarray) -> float:
        """Estimate the largest curvature of the log posterior at 0 and at draws from the prior, by cluster samples.

        With J = dW / dlog sigma it is that of J Cov[s] J^T, without the term of the hidden labels, and of the prior.
        """
        rng, engine, k = np.random.default_rng(0), SwendsenWang(n_sweeps=_SWEEPS), field.n_features
        (u, v), largest = field.graph.edges.T, 0.0
        for theta in np.vstack([np.zeros(k), spread * rng.standard_normal((_N_SCALES, k))]):
            states = engine.sample(field.base, field.natural(theta), None, _N_STATES, rng)
            slopes = np.array([field.pull_back(theta, row) for row in (states[:, u] == states[:, v]).astype(float)])
            slopes -= slopes.mean(axis=0)
            largest = max(largest, float(np.linalg.norm(slopes, 2)) ** 2 / (_N_STATES - 1))
        return largest + float(spread.min()) ** -2

    def _predict(
        self, likelihood: Likelihood, draws: run.Draws, labels: np.ndarray, seeds: np.random.SeedSequence
    ) -> None:
        """Fill ``label_distributions_`` and ``transduction_``."""
        one = (labels == 1).astype(np.float64)
        if likelihood.hidden is not None:
            one[labels < 0] = hidden_probabilities(likelihood, variable(self.posterior_, "theta"), seeds)
        self.label_distributions_ = np.stack([1 - one, one], axis=1)
        self.transduction_ = self.classes_[(one > 0.5).astype(int)]

    def _hidden_table(self, labels: np.ndarray) -> pd.DataFrame:
        import pandas as pd

        point = np.flatnonzero(labels < 0)
        return pd.DataFrame(
            {"row": 0, "node": [str(i) for i in point], "probability": self.label_distributions_[point, 1]}
        )

    def interval(self, probability: float = 0.9) -> pd.DataFrame:
        """Return the central posterior interval of each length scale sigma: columns median, lower, upper."""
        import pandas as pd

        check_is_fitted(self)
        theta = self.posterior_["posterior"].dataset["theta"]
        sigma = np.exp(np.asarray(theta)).reshape(-1, theta.sizes["feature"])
        median, lower, upper = np.quantile(sigma, (0.5, *central(probability)), axis=0)
        names = [str(name).removeprefix("log_") for name in theta["feature"].values]
        return pd.DataFrame({"median": median, "lower": lower, "upper": upper}, index=pd.Index(names, name="scale"))
