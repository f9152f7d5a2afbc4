"""Base class of engines that iterate to a fixed point: options, and the status if they do not converge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..base import LOG_Z, MOMENTS, Inference, Stateless
from ..declare.option import option
from ..declare.rule import COUNT, POSITIVE


@dataclass(frozen=True)
class Iterative(Stateless):
    """Deterministic iteration, from the same start in every call: log Z is a function of theta alone.

    A start at the last solution would be faster, but with several solutions log Z would depend on the path, which makes
    accept steps wrong.
    """

    max_iterations: int = option(
        1000, COUNT, "Largest number of sweeps; if it is reached, the answer has a ``status``."
    )
    tolerance: float = option(1e-8, POSITIVE, "Largest change in a sweep at convergence.")

    name: ClassVar[str]
    remedy: ClassVar[str] = "raise max_iterations"
    answers: ClassVar[frozenset[str]] = frozenset({LOG_Z, MOMENTS})

    def _answer(self, log_z: float, moments: np.ndarray, n_iterations: int, change: float) -> Inference:
        status = ""
        if not change < self.tolerance:
            status = (
                f"engine {self.name!r}: not converged after max_iterations = {n_iterations} (the last sweep changed a "
                f"value by {change:.2g}, tolerance = {self.tolerance:.2g}); {self.remedy}, or take 'elimination' where "
                "the graph is narrow"
            )
        return Inference(float(log_z), moments, status, {"n_iterations": n_iterations, "change": change})
