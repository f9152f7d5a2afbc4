r"""Annealed importance sampling of log Z, from both sides (Neal 2001; Burda, Grosse and Salakhutdinov 2015).

Chains go from independent units, whose Z_0 is known, to the model along the geometric path
:math:`f_t = f_0^{1 - b_t} f^{b_t}`, 0 = b_0 < ... < b_T = 1, with a sweep that leaves p_t invariant at each rung. With

.. math:: w = \prod_{t=1}^T \frac{f_t(x_{t-1})}{f_{t-1}(x_{t-1})}

the mean of Z_0 w is Z for any ladder, so that by Jensen's inequality log Z is underestimated on average. From exact
samples of the model back to the independent units, 1 / w has the mean Z_0 / Z, and log Z is overestimated. The two
bracket it. The last states of the chains, with these weights, are an importance sample of the model:
E[w h(x)] = Z / Z_0 E_theta[h(x)] for any h. Hidden units of a restricted Boltzmann machine are summed out of f_t.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.special import logit, logsumexp

from ..base import RBM, Model
from ..compiled import leaf, strict_leaf
from ..declare.rule import Rule, integer, is_integer, is_ladder
from ..errors import DataError, OptionError
from ..models.categorical import NEVER, Categorical, compiled_form, states_of
from ..models.pairwise import Pairwise
from ..models.rbm import RBMWeights, RestrictedBoltzmann
from ..samplers.categorical_gibbs import categorical_sweep
from ..samplers.gibbs import pairwise_sweep, start, to_states
from ..samplers.rbm_gibbs import draw_units, generators
from ..samplers.tempered import add_potentials
from ..threads import one_thread

CHAINS = integer(2, 10**7, "their spread gives the standard error")
TEMPERATURES = Rule(
    "an integer from 1 to 10,000,000, or an array of numbers that rise from 0 to 1",
    lambda v: (is_integer(v) and 1 <= v <= 10**7) or is_ladder(v),
    (1, (0, 0.5, 1)),
)
_MARGIN = 0.01  # margins of the independent units are kept this far from 0 and 1
_FEW = 10.0  # effective chains below which the estimate and its error are unreliable
_REMEDY = "give more temperatures, or margins near those of the model"


@dataclass(frozen=True, eq=False)
class Annealed:
    """An estimate of log Z."""

    log_z: float
    standard_error: float  # of log Z, from the spread of the chains' weights
    n_effective: float  # (sum w)^2 / sum w^2: the number of chains of equal weight with the same precision
    # (n_chains,), each chain's own estimate of log Z; forward below it on average, reverse above
    log_weights: np.ndarray = field(repr=False)
    status: str  # empty when all is well
    # (n_chains, n_visible), the last state of each chain; forward, and with the weights, an importance sample of the
    # model
    states: np.ndarray | None = field(default=None, repr=False)


def forward(
    model: Model | RestrictedBoltzmann,
    theta: np.ndarray,
    rng: np.random.Generator,
    n_chains: int = 100,
    temperatures: int | np.ndarray = 1000,
    margins: np.ndarray | None = None,
) -> Annealed:
    """Anneal chains from independent units to the model; E[exp(log_z)] = Z.

    Parameters
    ----------
    model : RestrictedBoltzmann, or a pairwise model
    theta : (n_features,) array
    rng : numpy.random.Generator
    n_chains : int
        At least 2, for the standard error.
    temperatures : int or array
        Number of equal steps, or the whole ladder from 0 to 1.
    margins : (n_visible,) or (n_nodes,) array, optional
        P(x_i = 1) of the independent units, such as the means of the data; 1/2 by default. For a model with m > 2
        states (n_nodes, m): P(x_i = k).

    Raises
    ------
    OptionError
        For fewer than 2 chains, a ladder that does not rise from 0 to 1, or parameters that are not finite.
    """
    CHAINS.check("n_chains", n_chains)
    path = _path(model, theta, margins)
    states = draw_independent(path.margins, n_chains, rng)
    log_weights, states = path.anneal(states, ladder_of(temperatures), rng)
    return replace(estimate(path.log_z + log_weights, 1), states=states)


def reverse(
    model: Model | RestrictedBoltzmann,
    theta: np.ndarray,
    states: np.ndarray,
    rng: np.random.Generator,
    temperatures: int | np.ndarray = 1000,
    margins: np.ndarray | None = None,
) -> Annealed:
    """Anneal a chain from each of ``states`` back to the independent units; E[exp(-log_z)] = 1 / Z.

    This holds for exact samples of the model. From data, the bracket holds as far as the model fits (Burda et al.
    2015).

    Parameters
    ----------
    model, theta, rng, temperatures, margins
        As in `forward`.
    states : (n_chains, n_visible) or (n_chains, n_nodes) array in {0, 1} or {0, ..., m - 1}
        Independent samples from the model.

    Raises
    ------
    OptionError, DataError
        As in `forward`; and for states with the wrong values, or the wrong number of columns.
    """
    path = _path(model, theta, margins)
    states, most = np.asarray(states), path.n_states - 1
    if states.ndim != 2 or states.shape[1] != len(path.margins) or not np.isin(states, np.arange(most + 1)).all():
        values = f"{{0, {'..., ' * (most > 1)}{most}}}"
        expected = f"an array of shape (n_chains, {len(path.margins)}) with values in {values}"
        raise DataError(option="states", got=states, expected=expected, remedy="sample the model")
    CHAINS.check("states", len(states))
    log_weights, states = path.anneal(states, ladder_of(temperatures)[::-1], rng)
    return replace(estimate(path.log_z - log_weights, -1), states=states)


@dataclass(frozen=True, eq=False)
class _RBMPath:
    """Path from independent units to a restricted Boltzmann machine, the hidden units summed out."""

    weights: RBMWeights
    margins: np.ndarray
    n_states: int = 2

    @property
    def _base(self) -> RBMWeights:
        # Independent hidden units, with fields from the margins, give the least variance.
        w = self.weights
        return RBMWeights(np.zeros_like(w.weights), logit(self.margins), w.hidden + w.weights @ self.margins)

    @property
    def log_z(self) -> float:
        return float(np.logaddexp(0, self._base.visible).sum() + np.logaddexp(0, self._base.hidden).sum())

    @one_thread()
    def anneal(self, states: np.ndarray, ladder: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        log_weights, x = np.zeros(len(states)), states.astype(np.float64)
        _anneal_rbm(self.weights, self._base, ladder, x, generators(rng), log_weights)
        return log_weights, x.astype(np.int8)


@dataclass(frozen=True, eq=False)
class _FieldPath:
    """Path from independent nodes to a pairwise field, of two or of many states."""

    form: Pairwise | Categorical
    margins: np.ndarray

    @property
    def n_states(self) -> int:
        return self.margins.shape[1] if self.margins.ndim > 1 else 2

    @property
    def _field(self) -> np.ndarray:
        if self.margins.ndim == 1:
            return logit(self.margins) / 2
        return np.where(self.margins > 0, np.log(np.maximum(self.margins, 1e-300)), NEVER)

    @property
    def log_z(self) -> float:
        h = self._field
        return float(logsumexp(h, axis=1).sum() if h.ndim > 1 else np.logaddexp(h, -h).sum())

    def anneal(self, states: np.ndarray, ladder: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        form, base, n_chains = self.form, self._field, len(states)
        n_states = None if isinstance(form, Pairwise) else self.n_states
        chains = start(n_chains, len(base), rng, states, n_states)
        log_weights = np.zeros((len(chains.states), chains.states.shape[2]))
        rung, change = (form._replace(coupling=form.coupling.copy(), field=form.field.copy()) for _ in range(2))
        _anneal_field(form, base, ladder, chains.states, chains.lanes, rung, change, log_weights)
        log_weights = log_weights.ravel()[:n_chains] + (ladder[-1] - ladder[0]) * form.offset
        return log_weights, to_states(chains, n_chains, n_states)


def draw_independent(margins: np.ndarray, n_chains: int, rng: np.random.Generator) -> np.ndarray:
    """Draw states of independent units, (n_chains, n_units)."""
    if margins.ndim == 1:
        return (rng.random((n_chains, len(margins))) < margins).astype(np.int8)
    above = rng.random((n_chains, len(margins), 1)) >= np.cumsum(margins, axis=1)[:, :-1]
    return above.sum(axis=2, dtype=np.int8)


def _path(model: Any, theta: np.ndarray, margins: np.ndarray | None) -> _RBMPath | _FieldPath:
    is_rbm = model.family == RBM
    n = model.n_visible if is_rbm else model.graph.n_nodes
    many = None if is_rbm else states_of(model)
    theta = np.asarray(theta, dtype=np.float64)
    if not np.isfinite(theta).all():
        raise OptionError(option="theta", got=theta[~np.isfinite(theta)][0], expected="finite")
    shape = (n,) if many is None else (n, many)
    m = np.full(shape, 1 / (many or 2)) if margins is None else np.asarray(margins, dtype=np.float64)
    if m.shape != shape or not ((m >= 0) & (m <= 1)).all():
        expected = f"an array of shape {shape} of probabilities, such as the means of the data"
        raise OptionError(option="margins", got=m, expected=expected)
    m = np.clip(m, _MARGIN, 1 - _MARGIN)
    if is_rbm:
        return _RBMPath(model.split(theta), m)
    form = compiled_form(model, theta)
    if many is not None:
        m = np.where(form.field > NEVER, m, 0)  # states that a node does not have
        m = m / m.sum(axis=1, keepdims=True)
    return _FieldPath(form, m)


def ladder_of(temperatures: int | np.ndarray) -> np.ndarray:
    """Return equal steps from 0 to 1, or a given ladder after checking it."""
    TEMPERATURES.check("temperatures", temperatures)
    if np.ndim(temperatures) == 0:
        return np.linspace(0, 1, int(temperatures) + 1)
    return np.asarray(temperatures, dtype=np.float64)


def estimate(log_weights: np.ndarray, sign: int = 1, remedy: str = _REMEDY) -> Annealed:
    """Return the log of the mean of exp(sign log_weights); ``remedy`` ends the status if few chains count."""
    signed = sign * log_weights
    top = signed.max()
    weight = np.exp(signed - top)
    mean, n = weight.mean(), len(weight)
    n_effective = float(weight.sum() ** 2 / (weight**2).sum())
    status = ""
    if n_effective < _FEW:
        status = f"only {n_effective:.1f} of {n} chains count: {remedy}"
    return Annealed(
        sign * float(top + np.log(mean)),
        float(weight.std(ddof=1) / mean / np.sqrt(n)),
        n_effective,
        log_weights,
        status,
    )


@leaf
def _softplus(x):
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@leaf
def _anneal_rbm(weights, base, ladder, x, lanes, log_weights):
    """Move the chains ``x`` (n_chains, n_visible) along the ladder, up or down, and sum their log weights."""
    n_chains, n_visible, n_hidden = len(x), len(base.visible), len(base.hidden)
    z = np.empty((n_chains, n_hidden))
    input_z, input_x = np.empty((n_chains, n_hidden)), np.empty((n_chains, n_visible))
    tilt = weights.visible - base.visible
    for t in range(1, len(ladder)):
        a, b = ladder[t - 1], ladder[t]
        np.dot(x, weights.weights.T, input_z)
        for c in range(n_chains):
            gain = 0.0
            for d in range(n_visible):
                gain += tilt[d] * x[c, d]
            gain *= b - a
            for k in range(n_hidden):
                h, slope = base.hidden[k], weights.hidden[k] - base.hidden[k] + input_z[c, k]
                gain += _softplus(h + b * slope) - _softplus(h + a * slope)
                input_z[c, k] = b * slope
            log_weights[c] += gain
        if t < len(ladder) - 1:
            draw_units(input_z, base.hidden, lanes, z)
            np.dot(z, weights.weights, input_x)
            for c in range(n_chains):
                for d in range(n_visible):
                    input_x[c, d] = b * (tilt[d] + input_x[c, d])
            draw_units(input_x, base.visible, lanes, x)


@strict_leaf
def _between(base, full, b, step, at, change):
    """Set the parameters of a rung, base + b (full - base), and of a step from it, step (full - base)."""
    h, v, new, gain = base.ravel(), full.ravel(), at.ravel(), change.ravel()  # views: all are contiguous
    for i in range(len(h)):
        new[i], gain[i] = h[i] + b * (v[i] - h[i]), step * (v[i] - h[i])


@leaf
def _anneal_field(form, base, ladder, states, lanes, rung, change, log_weights):
    """Move blocks of chains along the ladder, up or down, and sum their log weights.

    ``rung`` and ``change`` are overwritten: the model of a rung, and what a step adds to its log density.
    """
    none = np.zeros_like(form.coupling)
    for t in range(1, len(ladder)):
        a, b = ladder[t - 1], ladder[t]
        _between(none, form.coupling, b, b - a, rung.coupling, change.coupling)
        _between(base, form.field, b, b - a, rung.field, change.field)
        add_potentials(change, states, log_weights)
        if t < len(ladder) - 1:
            if base.ndim == 1:
                pairwise_sweep(rung, states, lanes, 1)
            else:
                categorical_sweep(rung, states, lanes, 1)
