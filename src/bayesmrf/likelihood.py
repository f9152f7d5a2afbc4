"""The seam: the only file that knows both engines and what samplers of theta ask for.

.. math:: \\log p(X \\mid \\theta) = N (\\theta \\cdot \\bar s - \\log Z(\\theta))

Data enter through the mean statistics and N only; the raw states are never looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from .base import LOG_Z, MOMENTS, Engine, Inference, Kind, Model
from .errors import OptionError


class Likelihood:
    """Likelihood of theta as an engine sees it.

    Parameters
    ----------
    model : Model
    s_bar : (n_features,) array
        Mean sufficient statistics of the data.
    n_samples : float
        Number of observations N.
    engine : Engine
        Answers what is asked of Z.
    """

    def __init__(self, model: Model, s_bar: np.ndarray, n_samples: float, engine: Engine):
        self.model = model
        self.s_bar = np.asarray(s_bar, dtype=np.float64)
        self.n_samples = float(n_samples)
        self.engine = engine
        self.plan = engine.prepare(model)
        self.low = model.feature_low

    @property
    def is_exact(self) -> bool:
        """Whether the engine's answers are exact."""
        return self.engine.kind is Kind.EXACT

    def require(self, kernel: str, needs: Iterable[str]) -> None:
        """Check that the engine answers what a kernel needs.

        Raises
        ------
        OptionError
            Naming the engines that would do.
        """
        missing = sorted(set(needs) - self.engine.answers)
        if missing:
            raise OptionError(
                f"engine: {kernel!r} needs {', '.join(missing)}, which {self.engine.name!r} does not answer; "
                f"engines that do: {', '.join(engines_that_answer(needs))}"
            )

    def start(self, rng: np.random.Generator) -> Any:
        """Memory of an engine that has one (persistent chains), else None."""
        return self.engine.start(self.model, rng)

    def inference(self, theta: np.ndarray, want: str = MOMENTS, state: Any = None) -> Inference:
        """The engine's answer at theta."""
        return self.engine.infer(self.model, theta, self.plan, want, state)

    def log_likelihood(self, theta: np.ndarray, log_z: float) -> float:
        """N (theta . s_bar - log Z)."""
        return float(self.n_samples * (theta @ self.s_bar - log_z))

    def log_z(self, theta: np.ndarray) -> float:
        """Log of the normaliser."""
        log_z = self.inference(theta, LOG_Z).log_z
        assert log_z is not None
        return log_z

    def moments(self, theta: np.ndarray) -> np.ndarray:
        """Expectation of the statistics."""
        moments = self.inference(theta, MOMENTS).moments
        assert moments is not None
        return moments

    def log_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """Log p(X | theta_new) - log p(X | theta)."""
        return self.log_likelihood(theta_new, self.log_z(theta_new)) - self.log_likelihood(theta, self.log_z(theta))

    def coordinate_log_ratio(self, moment: float, j: int, delta: float) -> float:
        """Change of the log likelihood when theta_j moves by ``delta``, from the moment of feature j at theta.

        Feature j takes the values 1 and ``low``, with probability p = (moment - low) / (1 - low) of 1, so that Z
        changes by exactly p e^delta + (1 - p) e^(low delta): no other knowledge of Z is needed.
        """
        low = self.low[j]
        p = min(max((moment - low) / (1 - low), 0.0), 1.0)
        top = max(delta, low * delta)
        growth = p * math.exp(delta - top) + (1 - p) * math.exp(low * delta - top)
        return self.n_samples * (delta * self.s_bar[j] - top - math.log(growth))

    def score(self, theta: np.ndarray) -> np.ndarray:
        """Gradient N (s_bar - E_theta[s])."""
        return self.n_samples * (self.s_bar - self.moments(theta))

    def auxiliary(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Summed statistics of a fresh data set of N states drawn at theta (Moeller et al. 2006)."""
        states = self.engine.sample(self.model, theta, self.plan, round(self.n_samples), rng)
        return self.n_samples * self.model.statistics(states)


def engines_that_answer(needs: Iterable[str]) -> list[str]:
    """Names of the engines that answer all of ``needs``."""
    from .inference.bethe import Bethe
    from .inference.chains import Brief, Persistent
    from .inference.elimination import Elimination
    from .inference.enumeration import Enumeration
    from .inference.mean_field import MeanField
    from .inference.pseudo_likelihood import PseudoLikelihood
    from .inference.tree import Tree
    from .samplers.cftp import CouplingFromThePast
    from .samplers.gibbs import Gibbs
    from .samplers.swendsen_wang import SwendsenWang

    engines: list[Any] = [
        Enumeration,
        Elimination,
        MeanField,
        Tree,
        Bethe,
        PseudoLikelihood,
        Persistent,
        Brief,
        Gibbs,
        SwendsenWang,
        CouplingFromThePast,
    ]
    return [e.name for e in engines if set(needs) <= set(e.answers)]
