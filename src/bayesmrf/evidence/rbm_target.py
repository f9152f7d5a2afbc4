"""Target of the evidence for restricted Boltzmann machines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax

from ..base import MOMENTS, Inference
from ..errors import TooWideError, argument
from ..inference import annealed
from ..learning.rbm_brief import BriefRBM
from ..learning.rbm_persistent import PersistentRBM
from ..models.boltzmann import Boltzmann
from ..models.rbm import HiddenGivenVisible, RestrictedBoltzmann
from ..samplers import rbm_gibbs
from .rbm_exact import rbm_log_likelihoods
from .target import Blocks, Target

EXACT_UNITS = 14  # on the smaller side, up to which Z(theta) is summed
_SWEEPS = 100  # from the data to a state of the model


@dataclass(frozen=True, eq=False)
class RBMTarget(Target):
    """A restricted Boltzmann machine: Z(x, theta) is in closed form, as hidden units are independent given x."""

    model: RestrictedBoltzmann

    @property
    def n_features(self) -> int:
        """Number F of parameters, K D + D + K."""
        return self.model.n_features

    @property
    def n_visible(self) -> int:
        """Number of visible units."""
        return self.model.n_visible

    @property
    def joint(self) -> Boltzmann:
        """The same model on the complete bipartite graph."""
        return self.model.joint

    @property
    def has_hidden(self) -> bool:
        """True."""
        return True

    @property
    def units(self) -> np.ndarray:
        """Weights and bias of each hidden unit, (n_hidden, n_visible + 1)."""
        k, d = self.model.n_hidden, self.model.n_visible
        return np.column_stack([np.arange(k * d).reshape(k, d), k * d + d + np.arange(k)])

    def mirrored(self, theta: np.ndarray, swapped: np.ndarray) -> np.ndarray:
        """Replace z_k by 1 - z_k: W_k and beta_k change sign, and W_k is added to alpha."""
        w, sign = self.model.split(theta), np.where(swapped, -1.0, 1.0)
        weights = (sign[:, :, None] * w.weights).reshape(len(swapped), -1)
        return np.hstack([weights, w.visible + swapped @ w.weights, sign * w.hidden])

    @property
    def row_size(self) -> int:
        """Number of visible units."""
        return self.model.n_visible

    def prepare(self, states: np.ndarray) -> np.ndarray:
        """Return the states as floats, for matrix products."""
        return np.asarray(states, dtype=np.float64)

    def given(self, theta: np.ndarray, prepared: np.ndarray) -> HiddenGivenVisible:
        """Return the hidden units given some rows."""
        return self.model.given(theta, prepared)

    @cached_property
    def values(self) -> np.ndarray:
        """``states`` as floats."""
        return self.prepare(self.states)

    @cached_property
    def blocks(self) -> Blocks:
        """Views of `values`."""
        return Blocks(self, self.values)

    def exact(self, theta: np.ndarray, want: str = MOMENTS) -> Inference:
        """Sum over the smaller side."""
        self.require_exact("this")
        return self.model.exact(theta, want, EXACT_UNITS)

    def log_likelihoods(self, thetas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Compute all in one compiled call."""
        self.require_exact("this")
        return rbm_log_likelihoods(self.model, thetas, self.values, self.weights)

    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Sum p(x) (Cov[s | x] + m m') over the states x of the smaller side, less mean mean', with m = E[s | x]."""
        self.require_exact("this")
        model = self.model
        k, d = model.n_hidden, model.n_visible
        if k < d:  # the machine with its sides exchanged
            weights = np.arange(k * d).reshape(k, d).T.ravel()
            place = np.concatenate([weights, k * d + d + np.arange(k), k * d + np.arange(d)])
            turned = RBMTarget(RestrictedBoltzmann(k, d), self.states[:, :0], self.weights, self.prior)
            matrix = np.empty((self.n_features, self.n_features))
            matrix[np.ix_(place, place)] = turned.covariance(np.asarray(theta)[place])
            return matrix
        every = Blocks(self, (np.arange(2**d)[:, None] >> np.arange(d) & 1).astype(np.int8))
        p = softmax(every.log_weights(theta))
        return every.scatter(theta, p, every.sums(theta, p)[1])[0]

    def require_exact(self, method: str) -> None:
        """Raise TooWideError for more than 2^14 terms."""
        if not self.is_quick:
            units = min(self.model.n_visible, self.model.n_hidden)
            raise TooWideError(f"{method} needs the exact Z, a sum of 2^{units} = {2**units} terms, more than the "
                               f"2^{EXACT_UNITS} allowed; use {argument('method', 'laplace')}.")  # fmt: skip

    @property
    def is_quick(self) -> bool:
        """Whether Z has at most 2^14 terms."""
        return min(self.model.n_visible, self.model.n_hidden) <= EXACT_UNITS

    def sample(self, theta: np.ndarray, n_samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draw exactly if the smaller side is small; else by block Gibbs chains that start at the data."""
        if self.is_quick:
            return self.model.sample(theta, n_samples, rng, EXACT_UNITS)
        start = self.states[rng.choice(len(self.states), n_samples, p=self.weights / self.n_samples)]
        return rbm_gibbs.sweep(self.model.split(theta), start, _SWEEPS, rbm_gibbs.generators(rng))

    def anneal(
        self, theta: np.ndarray, rng: np.random.Generator, n_chains: int, temperatures: int | np.ndarray
    ) -> annealed.Annealed:
        """Estimate log Z by annealed importance sampling from independent units with the margins of the data."""
        return annealed.forward(self.model, theta, rng, n_chains, temperatures, self.margins)

    def climb(self, rng: np.random.Generator, n_steps: int, penalised: bool = True) -> np.ndarray:
        """Run persistent contrastive divergence with steps falling as 1 / t (Chen and Welling 2012, section 4)."""
        rows = self.rows
        # The curvature of the prior at 0; that of a normal prior is constant.
        penalty = float(self.prior.curvature(np.zeros(1))[0]) / self.n_samples if penalised else 0.0
        learner = PersistentRBM(self.model, n_chains=100, batch_size=100, penalty=penalty)
        rates = 0.1 / (1 + np.arange(n_steps) / (0.1 * n_steps))
        return learner.fit(learner.start(rows, rng), rows, rates, rng).theta

    def brief(self, n_sweeps: int) -> BriefRBM:
        """Return contrastive divergence with an exact positive phase."""
        return BriefRBM(self.model, self.rows, n_sweeps)
