r"""Contrastive divergence of restricted Boltzmann machines (Hinton 2002), compiled.

.. math:: \sum_n \big(E[s(x, z) \mid x_n] - E[s(x, z) \mid x'_n]\big), \qquad
          z_n \sim p(z \mid x_n), \; x'_n \sim p(x \mid z_n)

approximates the gradient of the log likelihood: x' is one sweep away from the data instead of a sample of the model.
The bias decreases with the number of sweeps. It is a likelihood for
`bayesmrf.posterior.parameters.langevin.LangevinKernel`, in one call of compiled code that draws and sums out the hidden
units.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..base import MOMENTS
from ..compiled import leaf
from ..declare.option import Checked, option
from ..declare.rule import COUNT
from ..errors import OptionError
from ..likelihood import NO_MEMORY, Evaluation, Memory
from ..models.rbm import RestrictedBoltzmann
from ..samplers.rbm_gibbs import draw_units, generators, mean_units


@dataclass(frozen=True, eq=False)
class BriefRBM(Checked):
    """Gradient of the log likelihood, with one chain for each row of the data.

    Parameters
    ----------
    model : RestrictedBoltzmann
    states : (n_samples, n_visible) array in {0, 1}
        A row that was observed k times is repeated k times.
    """

    model: RestrictedBoltzmann
    states: np.ndarray
    n_sweeps: int = option(1, COUNT, "Sweeps from the data to x'.")

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.ascontiguousarray(self.states, dtype=np.float32)

    def require(self, kernel: str, needs: Iterable[str]) -> None:
        """Check that a kernel needs no more than ``moments``."""
        missing = sorted(set(needs) - {MOMENTS})
        if missing:
            remedy = f"brief chains do not compute {', '.join(missing)}"
            raise OptionError(option="adjusted", got=True, expected="False with brief chains", remedy=remedy)

    def start(self, rng: np.random.Generator) -> Memory:
        """Return the generators of the chains."""
        return Memory(generators(rng))

    def evaluate(self, theta: np.ndarray, want: str = MOMENTS, memory: Memory = NO_MEMORY) -> Evaluation:
        """Estimate the gradient; the generators in ``memory`` are advanced in place."""
        w = self.model.split(theta)
        weights, visible, hidden = (np.ascontiguousarray(part, dtype=np.float32) for part in w)
        score = np.empty(len(theta))
        _contrast(weights, visible, hidden, self._rows, self.n_sweeps, memory.negative, score)
        return Evaluation(None, score, None, memory)


@leaf
def _contrast(w, alpha, beta, data, n_sweeps, lanes, score):
    """Put the gradient into ``score``: weights row by row, visible and hidden biases."""
    n_hidden, n_visible = w.shape
    n = len(data)
    mean = np.empty((n, n_hidden), np.float32)
    z = np.empty((n, n_hidden), np.float32)
    field = np.empty((n, n_visible), np.float32)
    x = np.empty((n, n_visible), np.float32)
    after = np.empty((n, n_hidden), np.float32)
    pair, other = np.empty_like(w), np.empty_like(w)
    np.dot(data, w.T, mean)
    draw_units(mean, beta, lanes, z)
    np.dot(mean.T, data, pair)
    for s in range(n_sweeps):
        np.dot(z, w, field)
        draw_units(field, alpha, lanes, x)
        np.dot(x, w.T, after)
        if s + 1 < n_sweeps:
            draw_units(after, beta, lanes, z)
        else:
            mean_units(after, beta)
    np.dot(after.T, x, other)
    for k in range(n_hidden):
        for d in range(n_visible):
            score[k * n_visible + d] = pair[k, d] - other[k, d]
    n_pairs = n_hidden * n_visible
    score[n_pairs:] = 0.0
    for i in range(n):
        for d in range(n_visible):
            score[n_pairs + d] += data[i, d] - x[i, d]
        for k in range(n_hidden):
            score[n_pairs + n_visible + k] += mean[i, k] - after[i, k]
