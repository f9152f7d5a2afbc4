"""Items of several parameters each, which may share them: tables of edges, and fields of nodes with many states."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...priors import FIELD_SCALE
from ..conditionals.one_potential import OnePotential, log_odds
from .dirichlet_process import Grouping, Urn, initial_potentials
from .items import Items, base_precision
from .moves import split_merge
from .moves.category_fits import Categories
from .prior import PotentialPrior, reassign_potential


@dataclass(frozen=True, eq=False)
class Potentials(Items):
    """Items with several parameters each, with a normal base distribution.

    Parameters
    ----------
    lines : CentredTables
        Directions in which tables of edges move; None of fields.
    """

    lines: Any = None

    kappa = FIELD_SCALE**-2  # precision of the normal prior of the fields that move with tables

    @cached_property
    def base(self) -> tuple[np.ndarray, float]:
        """Precision of the base, and the log constant of its density."""
        return base_precision(self.prior.base, self.p)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance of the features that change with each item, (n_items, p, p), of edges if ends are independent."""
        if self.lines is not None:
            return np.asarray(self.lines.covariance)
        share = (self.counts + 1 / (self.p + 1)) / (self.n_samples + 1)
        return np.eye(self.p) * share[:, None] - share[:, :, None] * share[:, None]

    def move_of(self, members: np.ndarray, n_features: int) -> np.ndarray:
        """Return the change of theta with the value that ``members`` share, (n_features, p)."""
        move = np.zeros((n_features, self.p))
        move[self.features(members)] = np.tile(np.eye(self.p), (len(members), 1))
        if self.lines is not None:
            fields = move[self.end :]
            fields += self.lines.of_fields(members, len(fields) // self.lines.pull.shape[2])
        return move

    def start(self, estimate: np.ndarray, rng: np.random.Generator) -> Grouping:
        """Start from k-means on the estimates of the items."""
        return initial_potentials(estimate.reshape(self.counts.shape), self.prior, rng)

    def constants(self, state: Grouping) -> PotentialPrior:
        """Return the constants of the prior."""
        return PotentialPrior(float(state.alpha), float(state.density), *self.base)

    def nu(self, i: int, theta: np.ndarray, moments: np.ndarray) -> np.ndarray:
        """Return the log odds of categories 1 to p against category 0 in the model without item i."""
        features = slice(self.first + i * self.p, self.first + (i + 1) * self.p)
        return log_odds(moments[features], theta[features])

    def reassign(self, rng: np.random.Generator, urn: Urn, i: int, nu: np.ndarray) -> None:
        """Redraw the group of item i, and with it the value of an item alone, given all else (Neal 2000)."""
        conditional = OnePotential(self.counts[i], self.n_samples, nu, urn.prior.precision, urn.prior.log_constant)
        reassign_potential(rng, i, conditional, 0.0, urn)

    def propose(self, rng: np.random.Generator, state: Grouping, nu: np.ndarray) -> split_merge.Proposal:
        """Propose a split or a merge of groups, by the likelihoods of the items with ``nu`` held fixed."""
        fits = Categories(self.counts, nu, self.n_samples, *self.base)
        return split_merge.propose(rng, state.groups, state.values, float(state.alpha), fits)
