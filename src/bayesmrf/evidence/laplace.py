r"""Evidence by Laplace's approximation around one mode (Chen and Welling 2012 evidence, Algorithm 1).

.. math:: \log p(X) \approx \sum_n \log Z(x_n, \lambda) - N \log Z(\lambda) + \log p(\lambda)
          - \frac F2 \log N + \frac F2 \log 2 \pi + \frac12 \log \det(N \Sigma)

(Chen and Welling 2012 evidence, eq. 5) at the mode lambda of the posterior, where the inverse of Sigma is minus the
second derivative. Steps of the algorithm: 1 to 3 are `ModeSearch`; 4, the determinant, with trapezoids in place of the
normal distribution along eigenvectors in which the likelihood adds no curvature to the prior's (section 3.1.3); 5, log
Z at the mode by annealed importance sampling, or by the exact sum if that is feasible; 6, the sum, and the number of
equivalent modes (section 3.1.4).

If Z can be summed, mode, determinant and log Z are exact. Otherwise two terms are added that the paper does not have,
both for the noise of the sampled states:

* The log determinant of an average over states has a bias of the order of the variance. The jackknife over ten batches
  of states removes its first order and gives the standard error.
* The mode of the sampled posterior is lower than the true one by about F N / 2T nats. The gradient g from fresh states
  estimates how much the quadratic rises above it (Chen and Welling 2012 evidence, eq. 3 and 4), g' Sigma g / 2. This
  estimate is unbiased: the two factors are from different batches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from ..declare.option import option
from ..declare.rule import FLAG, integer
from ..progress import track
from .at_mode import AtMode
from .mode import Mode, climb_exactly
from .normality import normality
from .overlap import groups_of_units, log_equivalent_modes, log_mirrored_modes, trapezoid
from .sampled import BATCHES, Hessian, SampledPosterior
from .target import SCALES, Evidence, Target

_SLACK = 1e-6  # relative rounding allowed when eigenvalues are compared with the prior's curvature
_SHOWN = 5
_OFF = 0.25  # error in nats that is not reported
_SURE = 5.0  # standard errors: a false-alarm rate of 3e-7
_FEW = 100.0  # effective draws below which the posterior is far from normal
_MORE = 8  # times as many draws where they do not decide whether the error is above that
_EACH = 10  # observations per parameter below which errors of nats are expected


@dataclass(frozen=True, eq=False, kw_only=True)
class Laplace(AtMode):
    """Laplace's approximation of the evidence, corrected for overlapping and for equivalent modes.

    ``standard_error`` is that of log Z and of the sampled states, 0 if both are exact. It covers neither the error of
    Laplace's approximation nor the choice of the mode.

    Terms in ``parts``: ``data`` (sum of log Z(x_n, lambda)), ``log_z`` (-N log Z), ``log_prior``, ``dimension``
    (-F/2 log N), ``constant`` (F/2 log 2 pi), ``determinant`` (half of log det(N Sigma) over the directions that are
    not pathological), ``bias`` (of the determinant, subtracted), ``trapezoids`` (which replace the determinant in the
    other directions), ``first_order`` (the rise to the true mode) and ``equivalent_modes``.

    Other numbers in ``parts``: ``n_trapezoids``, ``n_trapezoids_by_states`` (which ended because too few states were
    effective), ``n_negative`` (eigenvalues), ``least_eigenvalue``, ``n_groups`` (of equivalent units),
    ``mirrored_modes`` (the term of modes with exchanged values of hidden units, which is not added),
    ``is_exact_log_z``, ``log_z_error``. With sampled states: ``n_rounds``, ``n_states`` and ``effective_states``.
    Without: ``importance_sampling``, the log evidence by importance sampling around the mode, ``importance_error`` and
    ``importance_draws`` (the effective number), and with ``scales`` ``at_half_prior_scale`` and
    ``at_double_prior_scale``.

    The status says if importance sampling gives another value (by 0.25 nats and by five standard errors), if fewer than
    100 of its draws are effective, and if it is infeasible and there are fewer than ten observations per parameter. If
    it says nothing at the given scale of the prior, it says so for half and twice the scale.
    ``arrays`` has ``theta``, ``eigenvalues``, ``trapezoids`` (eigenvalue, left and right end of each) and ``groups`` of
    units.

    Parameters
    ----------
    search, n_chains, temperatures
        As in `AtMode`.
    scales
        The evidence, and sometimes the best model, depends on the prior.
    n_checks
        Eight times as many where these do not decide whether the approximation is 0.25 nats off. 0 omits it.
    """

    corrected: bool = option(
        True, FLAG, "False is the plain approximation, Laplace0 in the paper: no trapezoids and a single mode."
    )
    scales: bool = option(
        True,
        FLAG,
        "Whether to compute the evidence also at half and at twice the scale of a normal prior, if Z can be summed.",
    )
    n_checks: int = option(
        2000,
        integer(0, 10**7),
        "Draws of the importance sampling that measures how far the posterior is from normal, if Z can be summed.",
    )

    @property
    def name(self) -> str:
        """Name of the method, "laplace0" without the corrections."""
        return "laplace" if self.corrected else "laplace0"

    def _estimate(self, target: Target, rng: np.random.Generator, work: Mode, progress: bool) -> Evidence:
        mode = self._checked(work)
        point = self.point(target, mode.theta, rng)
        n, f = target.n_samples, target.n_features
        parts = {**point.parts, "dimension": -f / 2 * np.log(n), "constant": f / 2 * np.log(2 * np.pi)}
        statuses = [mode.status, point.status]

        hessian = mode.curvature
        values, vectors = eigh(hessian)
        curvature = np.broadcast_to(target.prior.curvature(mode.theta), f) @ vectors**2
        below = values < (1 - _SLACK) * curvature if self.corrected else np.zeros(f, dtype=bool)
        arrays = {"theta": mode.theta, "eigenvalues": values}
        numbers = {
            "n_negative": float((values <= 0).sum()),
            "least_eigenvalue": float(values[0]),
            "is_exact_log_z": float(self.search.is_exact(target)),
            "log_z_error": point.error,
        }
        if mode.states is not None:
            numbers["n_rounds"], numbers["n_states"] = float(mode.n_rounds), mode.states.n_states
            numbers["effective_states"] = mode.states.n_states * mode.density(mode.theta)[1]
        if (values[~below] <= 0).any():
            first = ", ".join(f"{v:.3g}" for v in values[:_SHOWN] if v <= 0)
            more = ", ..." if numbers["n_negative"] > _SHOWN else ""
            statuses.append(
                f"the second derivative at the mode is not positive definite: {numbers['n_negative']:.0f} of {f} "
                f"directions have eigenvalues <= 0 ({first}{more}); use 'laplace', which uses trapezoids there, or, in "
                "Python, raise n_states of ModeSearch"
            )
            return target.evidence(self.name, np.nan, np.nan, parts | numbers, statuses, arrays)

        # Along pathological directions the matrix of the determinant has the curvature of the prior.
        raised = (vectors[:, below] * (curvature - values)[below]) @ vectors[:, below].T
        standing = np.where(below, curvature, values)
        half = -0.5 * np.log(standing).sum()
        parts["determinant"] = float(-0.5 * np.log(values[~below] / n).sum())
        spread = rise = _Spread(0.0, 0.0)
        if mode.hessian is not None and mode.states is not None:
            spread = _jackknife(mode.hessian, raised, half)
            rise = _rise(mode.states, mode.theta, vectors / np.sqrt(standing), rng)
            parts["bias"], parts["first_order"] = -spread.value, rise.value
        if np.isnan(spread.error):
            statuses.append("the second derivative without a tenth of the states is not positive definite, so that the "
                            "error of the determinant is unknown; in Python, raise n_states of ModeSearch")  # fmt: skip

        if self.corrected:
            top = mode.density(mode.theta)[0]
            spans = []
            for i in track(np.flatnonzero(below), "overlapping modes", progress=progress):
                # A little beyond the point at which a normal density has dropped to a half.
                step = 1.05 * np.sqrt(2 * np.log(2) / max(values[i], curvature[i] / 10))
                spans.append(trapezoid(mode.density, mode.theta, vectors[:, i], step, top))
            width = np.array([t.right - t.left for t in spans])
            parts["trapezoids"] = float(np.log(width).sum() - len(width) / 2 * np.log(2 * np.pi / n))
            arrays["trapezoids"] = np.array([(v, t.left, t.right) for v, t in zip(values[below], spans, strict=True)])
            arrays["groups"] = groups_of_units(mode.theta, hessian, target.units)
            parts["equivalent_modes"] = log_equivalent_modes(arrays["groups"])
            numbers["n_trapezoids"] = float(len(spans))
            numbers["n_trapezoids_by_states"] = float(sum(t.by_states for t in spans))
            numbers["n_groups"] = float(len(np.unique(arrays["groups"])))

        numbers["mirrored_modes"] = log_mirrored_modes(target, mode.theta, hessian)
        if numbers["mirrored_modes"] > _OFF:
            statuses.append("modes with exchanged values of hidden units are not included and would add about "
                            f"{numbers['mirrored_modes']:.1f} nats; compare with 'ais'")  # fmt: skip
        error = float(np.sqrt((n * point.error) ** 2 + spread.error**2 + rise.error**2))
        value = float(sum(parts.values()))
        if mode.states is None and self.search.is_exact(target):
            if self.n_checks:
                found_by_draws, remark = _check(
                    target, mode.theta, vectors / np.sqrt(standing), value, self.n_checks, rng
                )
                numbers |= found_by_draws
                statuses.append(remark)
            if self.scales:
                is_clear = not any(statuses)  # otherwise the other values are no better
                plain = replace(self, scales=False, n_checks=self.n_checks if is_clear else 0)
                for name, prior in target.other_scales().items():
                    other = replace(target, prior=prior)
                    rerun = plain(other, rng, climb_exactly(other, mode.theta))
                    numbers[name] = rerun.log_evidence
                    if is_clear and rerun.status:
                        statuses.append(f"at {'half' if SCALES[name] < 1 else 'twice'} the prior scale: {rerun.status}")
        elif n < _EACH * f or numbers.get("n_trapezoids"):
            statuses.append(
                f"the posterior may be far from normal with {n:,.0f} observations for {f:,} parameters: Laplace's "
                "approximation may be off by nats, which cannot be checked as Z cannot be summed"
            )
        return target.evidence(self.name, value, error, parts | numbers, statuses, arrays)


def _check(
    target: Target, theta: np.ndarray, root: np.ndarray, value: float, n_checks: int, rng: np.random.Generator
) -> tuple[dict[str, float], str]:
    """Compute the log evidence by importance sampling around the mode; return its numbers and a remark on ``value``."""
    draws = normality(target, theta, root, rng.spawn(1)[0], n_checks)
    gap, error = abs(draws.log_integral - value), draws.standard_error
    if draws.n_effective >= _FEW and gap <= _SURE * error and gap + 2 * error > _OFF:
        n_checks *= _MORE
        draws = normality(target, theta, root, rng.spawn(1)[0], n_checks)
    numbers = {
        "importance_sampling": draws.log_integral,
        "importance_error": draws.standard_error,
        "importance_draws": draws.n_effective,
    }
    about = f"{target.n_samples:,.0f} observations for {target.n_features:,} parameters"
    gap = draws.log_integral - value
    if draws.n_effective < _FEW:
        return numbers, (f"the posterior is far from normal ({about}): {draws.n_effective:.0f} of {n_checks:,} draws "
                         "from the Gaussian are effective, and Laplace's approximation may be off by nats; compare "
                         "with 'ais'")  # fmt: skip
    if abs(gap) > max(_OFF, _SURE * draws.standard_error):
        side = "low" if gap > 0 else "high"
        return numbers, (f"Laplace's approximation is {abs(gap):.2f} nats too {side} ({about}): importance sampling "
                         f"around the mode gives {draws.log_integral:,.2f} ± {draws.standard_error:.2f}; compare with "
                         "'ais'")  # fmt: skip
    return numbers, ""


class _Spread(NamedTuple):
    """An estimate from batches of states, with its standard error."""

    value: float
    error: float


def _jackknife(hessian: Hessian, raised: np.ndarray, half: float) -> _Spread:
    """Estimate the bias of -1/2 log det and its error, from the matrices without one batch of states."""
    left = np.empty(BATCHES)
    for b in range(BATCHES):
        try:
            root = np.linalg.cholesky(hessian.without(b) + raised)
        except np.linalg.LinAlgError:
            return _Spread(0.0, np.nan)
        left[b] = -np.log(np.diag(root)).sum()
    error = np.sqrt((BATCHES - 1) * left.var())
    return _Spread(float((BATCHES - 1) * (left.mean() - half)), float(error))


def _rise(states: SampledPosterior, theta: np.ndarray, root: np.ndarray, rng: np.random.Generator) -> _Spread:
    """Estimate the rise g' Sigma g / 2 from gradients g of different batches of fresh states."""
    g = SampledPosterior.draw(states.target, theta, int(states.n_states), rng).slopes(theta) @ root
    product = g @ g.T
    np.fill_diagonal(product, 0.0)
    total, m = product.sum(), BATCHES
    left = (total - 2 * product.sum(axis=1)) / ((m - 1) * (m - 2)) / 2
    return _Spread(float(total / (m * (m - 1)) / 2), float(np.sqrt((m - 1) * left.var())))
