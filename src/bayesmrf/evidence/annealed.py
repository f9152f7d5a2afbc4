r"""Annealed importance sampling of the evidence, in parameter space (Neal 2001; Chen and Welling 2012, section 3.3).

Chains start from the prior and move to the posterior through the densities
:math:`p_t(\theta) \propto p(\theta) p(X \mid \theta)^{b_t}`, 0 = b_0 < ... < b_T = 1, with one step of Hamiltonian
Monte Carlo at each temperature. The ladder is a power of equal steps, b_t = (t / T)^power: its steps are small near 0,
where the likelihood varies most. With

.. math:: w = \prod_{t=1}^T p(X \mid \theta_{t-1})^{b_t - b_{t-1}}

the mean of w is p(X) for any ladder and any steps that leave p_t invariant; by Jensen's inequality the mean of log w
is at most log p(X). The likelihood, with the exact Z, is computed at every leapfrog step.

Steps adapted by the chains themselves would not leave p_t invariant. Pilot chains therefore set the step size and the
mass of each parameter at each temperature; both are then fixed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise as consecutive
from typing import NamedTuple

import numpy as np

from ..declare.option import option
from ..declare.rule import choice, either, integer, number
from ..errors import argument
from ..inference.annealed import CHAINS, TEMPERATURES, estimate, ladder_of
from ..progress import track
from ..threads import one_thread
from .hamiltonian import Swarm, move, slope, swarm_at
from .method import Method
from .target import Evidence, Target

_ACCEPTED = 0.9
_REMEDY = "give more temperatures"
LADDERS = {"cubic": 3.0, "linear": 1.0}  # powers of equal steps
_LADDER = either(
    choice(*LADDERS), number(0, 10, ends="(]", good=(3, 10)), expected="'cubic', 'linear' or a power in (0, 10]"
)
_PILOTS, _PILOT_STEPS = 32, 200  # chains, and temperatures, of the run that adapts
_ADAPTATION = 0.3  # change of log step size for a unit of acceptance
_MEMORY = 10  # temperatures that the masses are averaged over


class Steps(NamedTuple):
    """Step sizes and masses of the leapfrog steps along the path."""

    temperatures: np.ndarray  # (n,) rising from 0 to 1
    log_size: np.ndarray  # (n,)
    log_mass: np.ndarray  # (n, n_features)

    def at(self, temperature: float) -> tuple[float, np.ndarray]:
        """Interpolate the step size and the masses at a temperature below 1."""
        i = int(np.searchsorted(self.temperatures, temperature, side="right"))
        low, high = self.temperatures[i - 1], self.temperatures[i]
        share = (temperature - low) / (high - low)
        size, mass = ((1 - share) * a[i - 1] + share * a[i] for a in (self.log_size, self.log_mass))
        return float(np.exp(size)), np.exp(mass)


@dataclass(frozen=True, eq=False, kw_only=True)
class AIS(Method):
    """Annealed importance sampling from the prior to the posterior; E[exp(log_evidence)] = p(X).

    ``parts`` has ``acceptance`` (the mean), ``lowest_acceptance`` (that of the worst tenth of the path),
    ``effective_chains``, ``chains``, ``temperatures`` and ``leapfrog_steps``. ``arrays`` has ``theta`` (n_chains,
    n_features), draws at the last temperature but one, and ``log_weights`` (n_chains,). A call raises `TooWideError`
    if the exact Z is not feasible.

    Parameters
    ----------
    n_chains
        At least 2; the spread of their weights gives the standard error.
    temperatures
        A number of steps, or all of them from 0 to 1.
    ladder
        Linear is that of the paper. Not used if ``temperatures`` is an array. With the same number of steps "cubic" had
        2 to 6 times as many effective chains as the linear one.
    """

    n_chains: int = option(100, CHAINS, "Chains of annealing.", label="chains")
    temperatures: int | np.ndarray = option(1000, TEMPERATURES, "Temperatures of annealing.", label="temperatures")
    ladder: str | float = option(
        "cubic",
        _LADDER,
        "Spacing of the temperatures: equal steps raised to a power, such as 3 (cubic) or 1 (linear).",
        label="ladder",
    )
    n_leapfrog: int = option(10, integer(1, 10**6), "Leapfrog steps at each temperature.")

    name = "ais"

    @property
    def _power(self) -> float:
        """The power to which equal steps are raised."""
        return LADDERS[self.ladder] if isinstance(self.ladder, str) else float(self.ladder)

    def require(self, target: Target) -> None:
        """Raise TooWideError if Z cannot be summed."""
        target.require_exact(argument("method", "ais"))

    @one_thread()
    def _estimate(self, target: Target, rng: np.random.Generator, work: None, progress: bool) -> Evidence:
        path = ladder_of(self.temperatures)
        if np.ndim(self.temperatures) == 0:
            path = path**self._power
        steps = _adapt(target, rng, self.n_leapfrog, progress)
        swarm, log_weights, accepted = _start(target, self.n_chains, rng), np.zeros(self.n_chains), []
        for low, high in track(list(consecutive(path)), "ais", progress=progress):
            log_weights += (high - low) * swarm.log_likelihood
            if high < 1:
                size, mass = steps.at(high)
                swarm, acceptance = move(target, swarm, size, mass**-0.5, self.n_leapfrog, rng, high)
                accepted.append(acceptance.mean())
        is_steep = np.ndim(self.temperatures) or self._power >= LADDERS["cubic"]
        estimated = estimate(log_weights, remedy=_REMEDY if is_steep else f"{_REMEDY}, or the ladder 'cubic'")
        parts = {
            "acceptance": float(np.mean(accepted)) if accepted else float("nan"),
            "lowest_acceptance": min((float(a.mean()) for a in np.array_split(accepted, 10) if len(a)), default=np.nan),
            "effective_chains": estimated.n_effective,
            "chains": self.n_chains,
            "temperatures": len(path) - 1,
            "leapfrog_steps": self.n_leapfrog,
        }
        arrays = {"theta": swarm.theta, "log_weights": log_weights}
        return target.evidence(self.name, estimated.log_z, estimated.standard_error, parts, [estimated.status], arrays)


def _start(target: Target, n_chains: int, rng: np.random.Generator) -> Swarm:
    """Start chains at draws from the prior."""
    return swarm_at(target, target.prior.sample(n_chains, target.n_features, rng))


def _adapt(target: Target, rng: np.random.Generator, n_leapfrog: int, progress: bool) -> Steps:
    r"""Adapt the steps in a pilot run, to an acceptance of about 0.9.

    The mass of parameter i is the mean over chains of :math:`(\partial_i \log p_t)^2`, which under p_t has the same
    expectation as :math:`-\partial_i^2 \log p_t`: the mean curvature, also with several modes.
    """
    # More temperatures near the prior, where the curvature changes by the largest factors.
    temperatures = np.linspace(0, 1, _PILOT_STEPS + 1) ** 2
    swarm = _start(target, _PILOTS, rng)
    mass = (slope(target, swarm, 0.0) ** 2).mean(axis=0)
    log_size, sizes, masses = np.log(0.5), [], []
    for b in track(temperatures, "ais: step sizes", progress=progress):
        mass = mass + ((slope(target, swarm, b) ** 2).mean(axis=0) - mass) / _MEMORY
        swarm, acceptance = move(target, swarm, np.exp(log_size), mass**-0.5, n_leapfrog, rng, b)
        log_size = log_size + _ADAPTATION * (acceptance.mean() - _ACCEPTED)
        sizes.append(log_size)
        masses.append(np.log(mass))
    kernel = np.ones(2 * _MEMORY + 1)
    count = np.convolve(np.ones(len(sizes)), kernel, "same")
    return Steps(temperatures, np.convolve(sizes, kernel, "same") / count, np.array(masses))
