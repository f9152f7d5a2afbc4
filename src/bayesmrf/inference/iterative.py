"""What the engines that iterate towards a fixed point have in common: options, and a word when they do not arrive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base import LOG_Z, MOMENTS, Inference, Model
from ..options import Checked


@dataclass(frozen=True)
class Iterative(Checked):
    """Deterministic iteration, from the same start in every call: log Z is a function of theta and of nothing else.

    A start at the last answer would be quicker, but a solution that depends on the path makes log Z ambiguous wherever
    there are several, and accept steps that use it wrong.

    Parameters
    ----------
    max_iterations : int
        Sweeps after which a solve is given up; its answer then carries a ``status``.
    tolerance : float
        Largest change within one sweep at which the iteration counts as converged.
    """

    max_iterations: int = 1000
    tolerance: float = 1e-8

    name: ClassVar[str]
    remedy: ClassVar[str] = "raise max_iterations"
    answers: ClassVar[frozenset[str]] = frozenset({LOG_Z, MOMENTS})

    def start(self, model: Model, rng: np.random.Generator) -> None:
        """Return None: the engine has no memory."""

    def _answer(self, log_z: float, moments: np.ndarray, n_iterations: int, change: float) -> Inference:
        status = ""
        if not change < self.tolerance:
            status = (
                f"engine {self.name!r}: not converged after max_iterations = {n_iterations} (the last sweep changed a "
                f"value by {change:.2g}, tolerance = {self.tolerance:.2g}); {self.remedy}, or take 'elimination' where "
                "the graph is narrow"
            )
        return Inference(float(log_z), moments, status, {"n_iterations": n_iterations, "change": change})
