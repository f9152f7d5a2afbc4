"""Gibbs_SBA: groups by the stripped Beta approximation (Liu and Page 2013, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..declare.option import Checked, needs, option
from ..declare.rule import COUNT, OBSERVATIONS
from ..estimators.grouped_methods import GroupsProblem
from ..learning.maximum_likelihood import bound
from ..learning.persistent import PCDState, PersistentMLE
from ..methods.rows import Built
from ..posterior.groups.dirichlet_process import GROUPED_DIMS, GroupedInfo, Grouping, group_totals, initial_grouping
from ..priors import DirichletProcess
from .conjugate import conjugate_step, conjugate_values
from .options import StrippedBeta


class StrippedBetaState(NamedTuple):
    """Groups, values, alpha, and the persistent chains with the tied estimate of the last step."""

    groups: np.ndarray
    values: np.ndarray
    alpha: float
    tied: PCDState | None


@dataclass(frozen=True, eq=False)
class GroupedStrippedBeta(Checked):
    """Gibbs sampling of groups with a Beta likelihood of each edge (Liu and Page 2013, Algorithm 2).

    * Reassignment: the likelihood of edge i is that of n trials with floor(n t_i) successes, t_i the edge's maximum
      likelihood estimate: Liu and Page 2013, eq. 5, without the rest of the network (section 3.2.1). The integral over
      G0 is then a Beta function; the paper averages over draws from G0.
    * Values: Beta(floor(m n p) + 1, m n - floor(m n p) + 1) for a group of m edges, with the tied estimate p (section
      3.2.2) by persistent contrastive divergence under the current grouping, warm-started from the step before. With a
      base Beta(a, b), a and b replace the ones.
    * Node fields, where the model has them, stay at their tied maximum likelihood estimate.

    The stationary distribution is **not** the posterior: the information of the rest of the network about an edge is
    ignored, and the number of groups is overestimated. On forests without fields t = S / n, the tied estimate is a
    mean, and the sampler is that of `GroupedTree`, exact.

    Parameters
    ----------
    mle : (n_features,) array
        Maximum likelihood estimate, natural parameters.
    persistent : PersistentMLE
        Estimator of tied parameters.
    n_samples : float
    prior : DirichletProcess
    n_pcd : int
        Iterations of persistent contrastive divergence in each step.
    n_pcd_start : int
        Iterations before the first step.
    """

    mle: np.ndarray
    persistent: PersistentMLE
    n_samples: float = field(metadata=needs(OBSERVATIONS))
    prior: DirichletProcess
    n_pcd: int = option(20, COUNT)
    n_pcd_start: int = option(300, COUNT)

    name = "grouped_stripped_beta"
    dims = GROUPED_DIMS

    @property
    def closed_form(self) -> bool:
        """Whether edges are independent: on a forest without fields."""
        model = self.persistent.model
        return model.graph.is_forest and not model.fields

    @property
    def _agreement(self) -> np.ndarray:
        if self.closed_form:
            return self.persistent.s_bar
        return 1 / (1 + np.exp(-self.mle[: self.persistent.model.n_edges]))

    def init(self, rng: np.random.Generator) -> StrippedBetaState:
        """Start from k-means on the maximum likelihood estimate."""
        agreement = self._agreement
        grouping = initial_grouping(agreement, self.prior, rng)
        if self.closed_form:
            return StrippedBetaState(*grouping[:3], None)
        # Chains start at random states, which are samples at theta = 0; they must start at that theta.
        tied = self.persistent.fit(self.persistent.start(rng), self.n_pcd_start, grouping.groups)
        return StrippedBetaState(*grouping[:3], tied)

    def step(self, rng: np.random.Generator, state: StrippedBetaState) -> tuple[StrippedBetaState, GroupedInfo]:
        """Reassign all edges, fit the tied model, redraw all values, then alpha."""
        n = self.n_samples
        s = _floor(n * self._agreement)
        order = np.argsort(s, kind="stable")
        start = Grouping(state.groups, state.values, state.alpha)
        grouping = conjugate_step(rng, start, order, s, n, self.prior)
        groups, k, r = grouping.groups, len(grouping.values), len(grouping.groups)
        if state.tied is None:
            tied = None
            sizes, totals = group_totals(groups, s, k)
        else:
            tied = self.persistent.fit(state.tied, self.n_pcd, groups)
            sizes, totals = group_totals(groups, n / (1 + np.exp(-tied.theta[:r])), k)
            totals = _floor(totals)
        _, values, alpha, *_ = conjugate_values(rng, grouping, sizes * n, totals, self.prior)
        fields = np.zeros(0) if tied is None else tied.theta[r:]
        info = GroupedInfo(np.concatenate([values[groups], fields]), groups, k, alpha)
        return StrippedBetaState(groups, values, alpha, tied), info


def _floor(x: np.ndarray) -> np.ndarray:
    """Round down, with a tolerance for rounding errors just below an integer."""
    return np.floor(x + 1e-6)


def build(_: StrippedBeta, p: GroupsProblem) -> Built:
    """Build the kernel around the maximum likelihood estimate."""
    kernel = GroupedStrippedBeta(p.start, PersistentMLE(p.model, p.s_bar, bound(p.n)), p.n, p.prior)
    return Built(kernel, kind="exact (a forest)" if kernel.closed_form else "")
