"""MH_AuxVar: groups by Metropolis-Hastings with auxiliary variables.

Liu and Page (2013), section 3.1; Moeller, Pettitt, Reeves and Berthelsen (2006).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..base import SAMPLE
from ..data.counts_and_labels import check_listed
from ..declare.option import Checked, option
from ..declare.rule import COUNT, instance
from ..estimators.grouped_methods import GroupsProblem
from ..inference.elimination.engine import Elimination
from ..learning.maximum_likelihood import bound
from ..learning.persistent import PCDState, PersistentMLE
from ..likelihood import Likelihood
from ..methods.rows import Built
from ..models.agreement import Agreement
from ..posterior.groups.dirichlet_process import (
    GROUPED_DIMS,
    Grouping,
    compact,
    draw_alpha,
    group_totals,
    initial_grouping,
    logit_beta_variate,
    open_group,
    open_urn,
    put,
    take_out,
)
from ..priors import FIELD_SCALE, DirichletProcess
from ..samplers.gibbs import Gibbs
from .options import AuxiliaryParticles


class AuxiliaryState(NamedTuple):
    """Groups, values, alpha, fields; the summed statistics of the particles Z; the tied estimator's chains."""

    groups: np.ndarray
    values: np.ndarray
    alpha: float
    fields: np.ndarray
    z: np.ndarray | None  # None if Z is redrawn for each edge
    tied: PCDState | None


class AuxiliaryInfo(NamedTuple):
    """Draw, with the share of accepted proposals of groups and of values."""

    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    acceptance_groups: float
    acceptance_values: float


@dataclass(frozen=True, eq=False)
class GroupedAuxiliaryVariable(Checked):
    """Metropolis-Hastings with auxiliary variables (Liu and Page 2013, Algorithm 1).

    A proposal theta -> theta* comes with particles Z* ~ P(. | theta*) and is accepted with the ratio of section 3.1.1,

    .. math:: \\frac{\\tilde P(X;\\theta^*)}{\\tilde P(X;\\theta)} \\cdot
              \\frac{\\tilde P(Z^*;\\tilde\\theta)\\,\\tilde P(Z;\\theta)}
              {\\tilde P(Z;\\tilde\\theta)\\,\\tilde P(Z^*;\\theta^*)},

    which contains no Z(theta), and only summed statistics of the particles. Groups are proposed from their conditional
    prior, M times an edge; values by S steps of a N(phi, sigma_q^2 I) walk on the agreements (and on node fields, on
    their own scale).

    As published (``restart=True``) the particles Z are redrawn at the current theta for each edge; the walk starts at
    the tied estimate of persistent contrastive divergence, which is also the reference of its auxiliary variable Y, and
    one of its S states is kept at random. That leaves the posterior invariant only approximately. With
    ``restart=False`` Z is part of the state, the walk continues from the current values and from Z with the reference
    theta~ = MLE, and its last state is kept: with an exact sampler for the particles the chain is then exact, but for
    large N it accepts few proposals.

    Parameters
    ----------
    likelihood : Likelihood
        With an engine that answers ``sample``: Gibbs (approximate) or an exact one.
    prior : DirichletProcess
    mle : (n_features,) array
        The reference theta~, and the start of the chain.
    persistent : PersistentMLE
        Estimator of tied parameters, used with ``restart=True``.
    options : AuxiliaryParticles
    n_pcd, n_pcd_start : int
        Iterations of persistent contrastive divergence in each step, and before the first.
    """

    likelihood: Likelihood
    prior: DirichletProcess
    mle: np.ndarray
    persistent: PersistentMLE
    options: AuxiliaryParticles = option(AuxiliaryParticles(), instance("published.options", "AuxiliaryParticles"))
    n_pcd: int = option(20, COUNT)
    n_pcd_start: int = option(300, COUNT)

    name = "grouped_auxiliary_variable"
    dims = GROUPED_DIMS | {"acceptance_groups": (), "acceptance_values": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        self.likelihood.require(self.name, {SAMPLE})

    @property
    def _model(self) -> Agreement:
        return self.likelihood.model  # type: ignore[return-value]

    def init(self, rng: np.random.Generator) -> AuxiliaryState:
        """Start from k-means on the maximum likelihood estimate, with Z as if that start had been proposed."""
        r = self._model.n_edges
        g = initial_grouping(expit(self.mle[:r]), self.prior, rng)
        fields = self.mle[r:].copy()
        if self.options.restart:
            tied = self.persistent.fit(self.persistent.start(rng), self.n_pcd_start, g.groups)
            return AuxiliaryState(g.groups, g.values, g.alpha, fields, None, tied)
        # With Z at the reference the chain could not leave a distant start by moves of single edges.
        z = self.likelihood.auxiliary(np.concatenate([g.values[g.groups], fields]), rng)
        return AuxiliaryState(g.groups, g.values, g.alpha, fields, z, None)

    def step(self, rng: np.random.Generator, state: AuxiliaryState) -> tuple[AuxiliaryState, AuxiliaryInfo]:
        """Reassign every edge M times by proposal, then draw the values, then alpha."""
        grouping, z, accepted = self._reassign(rng, state)
        groups, values, *_ = grouping
        start, reference, tied = np.concatenate([values, state.fields]), self.mle, state.tied
        k, r = len(values), len(groups)
        if tied is not None:
            tied = self.persistent.fit(tied, self.n_pcd, groups)
            reference = tied.theta
            sizes, totals = group_totals(groups, reference[:r], k)
            start = np.concatenate([totals / sizes, reference[r:]])
            z = self.likelihood.auxiliary(reference, rng)
        walk, z, walked = self._walk(rng, start, groups, k, reference, z)
        values, fields = walk[:k], walk[k:]
        alpha = draw_alpha(rng, state.alpha, self.prior, k, r)
        info = AuxiliaryInfo(np.concatenate([values[groups], fields]), groups, k, alpha, accepted, walked)
        return AuxiliaryState(groups, values, alpha, fields, None if self.options.restart else z, tied), info

    def _log_ratio(self, theta: np.ndarray, theta_new: np.ndarray, reference: Any, z: Any, z_new: np.ndarray) -> float:
        """Compute the log of the ratio of section 3.1.1, from summed statistics."""
        data = self.likelihood.n_samples * self.likelihood.s_bar
        return float((theta_new - theta) @ data + (reference - theta_new) @ z_new - (reference - theta) @ z)

    def _reassign(self, rng: np.random.Generator, state: AuxiliaryState) -> tuple[Grouping, Any, float]:
        urn, z, base, accepted = open_urn(state.groups, state.values, None), state.z, self.prior.base, 0
        r, theta = len(urn.groups), np.concatenate([state.values[state.groups], state.fields])
        for i in range(r):
            if self.options.restart:
                z = self.likelihood.auxiliary(theta, rng)
            for _ in range(self.options.n_proposals):
                # Conditional prior: edge i joins the group of another edge chosen at random, or opens a new one.
                other = int(rng.random() * (r - 1 + state.alpha))
                new = other >= r - 1
                theta_new, c = theta.copy(), -1 if new else int(urn.groups[other + (other >= i)])
                theta_new[i] = logit_beta_variate(rng, base.a, base.b) if new else urn.values[c]
                z_new = self.likelihood.auxiliary(theta_new, rng)
                if log(1 - rng.random()) < self._log_ratio(theta, theta_new, self.mle, z, z_new):
                    take_out(urn, i)
                    put(urn, i, open_group(urn, theta_new[i]) if new else c)
                    theta, z = theta_new, z_new
                    accepted += 1
        grouping = compact(Grouping(urn.groups, urn.values[: urn.k[0]], state.alpha))
        return grouping, z, accepted / max(1, r * self.options.n_proposals)

    def _walk(
        self, rng: np.random.Generator, start: np.ndarray, groups: np.ndarray, k: int, reference: Any, y: Any
    ) -> tuple[np.ndarray, Any, float]:
        """Make S steps on (phi, Y) (section 3.1.2); return the state kept, its Y, and the share accepted."""
        keep = int(rng.integers(self.options.n_walk)) if self.options.restart else self.options.n_walk - 1
        position, kept, accepted = start, (start, y), 0
        for step in range(self.options.n_walk):
            agreement = expit(position[:k]) + self.options.sigma_q * rng.standard_normal(k)
            fields = position[k:] + self.options.sigma_q * rng.standard_normal(len(position) - k)
            u = log(1 - rng.random())
            if ((agreement > 0) & (agreement < 1)).all():
                new = np.concatenate([np.log(agreement) - np.log1p(-agreement), fields])
                theta, theta_new = self._spread(position, groups, k), self._spread(new, groups, k)
                y_new = self.likelihood.auxiliary(theta_new, rng)
                ratio = self._log_ratio(theta, theta_new, reference, y, y_new)
                if u < ratio + self._log_prior(new, k) - self._log_prior(position, k):
                    position, y = new, y_new
                    accepted += 1
            if step == keep:
                kept = position, y
        return *kept, accepted / self.options.n_walk

    @staticmethod
    def _spread(position: np.ndarray, groups: np.ndarray, k: int) -> np.ndarray:
        return np.concatenate([position[:k][groups], position[k:]])

    def _log_prior(self, position: np.ndarray, k: int) -> float:
        """Compute the log prior density of the agreements (on their own scale, as in the walk) and fields."""
        a, b = self.prior.base.a, self.prior.base.b
        t, h = position[:k], position[k:]
        log_agree, log_differ = -np.logaddexp(0, -t), -np.logaddexp(0, t)
        return float(((a - 1) * log_agree + (b - 1) * log_differ).sum() - (h**2).sum() / (2 * FIELD_SCALE**2))


def build(options: AuxiliaryParticles, p: GroupsProblem) -> Built:
    """Build the kernel, with particles from exact draws or from Gibbs sweeps."""
    check_listed(p.n, p.model.graph.n_nodes)  # it draws as many states as there are observations
    engine = Elimination() if options.inner == "exact" else Gibbs(n_sweeps=options.n_sweeps)
    likelihood, tied = Likelihood(p.model, p.s_bar, p.n, engine), PersistentMLE(p.model, p.s_bar, bound(p.n))
    kernel = GroupedAuxiliaryVariable(likelihood, p.prior, p.start, tied, options)
    return Built(kernel, engine=engine, kind=options.kind)
