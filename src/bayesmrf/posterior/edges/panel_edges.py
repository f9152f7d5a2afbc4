"""Lagged and contemporaneous edges of a panel with spike-and-slab priors, by exact full conditionals."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import unwrap
from typing import Any, NamedTuple

import numpy as np

from ...declare.option import Checked
from ...memory import MostlyZero
from ...models.panel import Panel, kinds_of
from ...priors import SpikeSlab
from ...states.panel_tables import PanelTables, panel_tables
from ...states.row_chains import RowChains, first_chains, start_chains
from ..conditionals.panel_chains import scale_by_chains, scan_chains
from ..conditionals.panel_hidden import PanelHidden, completed, neighbours, redraw_missing
from ..conditionals.panel_scan import Intercepts, PanelPrior, log_ratio_of_scale, scan_panel
from ..conditionals.spike import draw_density, draw_precision, edge_prior

_EVERY = 20  # steps of which one computes the factors of edges, by chance: steps may be thinned
SLOPE, DF, SD = 1.0, 2.0, 1.0  # priors of own intercepts
_STEPS = 0.1, 0.4, 1.5  # standard deviations of the log of a factor of the intercepts of an item
NO_CHAINS, NONE_MISSING = np.zeros((0, 0), np.int8), np.zeros(0, np.int8)


class PanelState(NamedTuple):
    """Parameters, densities of the kinds of edges, the slab's precision, intercepts of people with their prior,
    chains of the rows after each row before, and missing answers, if any.
    """

    theta: np.ndarray
    densities: np.ndarray
    precision: float
    own: np.ndarray  # (n_people, d)
    slope: np.ndarray  # G, (d, d)
    covariance: np.ndarray  # S, (d, d)
    chains: np.ndarray = NO_CHAINS  # (d, n_chains)
    missing: np.ndarray = NONE_MISSING  # (n_missing,)


class PanelInfo(NamedTuple):
    """Draw, and its log likelihood given the intercepts, which is NaN where chains stand for Z."""

    theta: np.ndarray
    included: np.ndarray
    n_edges: int
    autoregression_density: float
    density: float
    within_density: float
    slab_scale: float
    log_likelihood: float
    log_factor: np.ndarray
    prior_log_odds: np.ndarray
    intercept_sd: np.ndarray
    intercept_slope: np.ndarray
    intercept_root: np.ndarray  # of Cholesky


@dataclass(frozen=True, eq=False)
class PanelKernel(Checked):
    r"""Visit every coordinate in turn by an independence step that nearly is its full conditional.

    Own intercepts are a person's :math:`a \mid x_1 \sim N(G (x_1 - \bar x_1), S)`, with
    :math:`G \mid S \sim N(0, S \otimes I)` and the prior of S of Huang and Wand (2013): standard deviations are half-t
    with 2 degrees of freedom and scale 1, correlations uniform. They are drawn with the parameters (data
    augmentation), so that the chain's stationary distribution is the posterior; and so are missing answers.

    Parameters
    ----------
    tables : PanelTables
        Of the table with some answers in the place of those that are missing.
    first_wave : (n_people, d) array
        Scores of the first wave less their means; without rows if intercepts are common.
    prior : SpikeSlab
    n_row_chains : int
        For each transition, an even number: Z of a row is followed by chains, where its states are too many for a
        table; 0 if tables are used, so that draws are exact.
    hidden : PanelHidden, optional
        The missing answers.
    model : Panel, optional
        Where answers are missing.
    """

    tables: PanelTables
    first_wave: np.ndarray
    prior: SpikeSlab = field(default_factory=SpikeSlab)
    n_row_chains: int = 0
    hidden: PanelHidden | None = None
    model: Panel | None = None

    name = "panel"
    dims = {  # noqa: RUF012
        "theta": MostlyZero("feature"),
        "included": MostlyZero("edge"),
        "n_edges": (),
        "autoregression_density": (),
        "density": (),
        "within_density": (),
        "slab_scale": (),
        "log_likelihood": (),
        "log_factor": ("edge",),
        "prior_log_odds": ("edge",),
        "intercept_sd": ("node",),
        "intercept_slope": ("first", "node"),
        "intercept_root": ("node", "factor"),
    }

    @cached_property
    def _kind(self) -> np.ndarray:
        """The kind of each edge."""
        return kinds_of(len(self.tables.sizes), len(self.tables.pairs))

    @cached_property
    def _person(self) -> np.ndarray:
        """The person of each row."""
        people = self.tables.people
        return np.repeat(np.arange(len(people) - 1), np.diff(people)) if len(people) else np.zeros(0, int)

    def init(self, rng: np.random.Generator) -> PanelState:
        """Start without edges, with thresholds fitted to each item alone, and missing answers by their shares."""
        if self.hidden is None:
            return self._start(rng)
        share = np.exp(self.hidden.log_share[self.hidden.cells[:, 1]]).cumsum(axis=1)
        missing = (share < rng.random((len(share), 1)) * share[:, -1:]).sum(axis=1).astype(np.int8)
        return self._given(completed(self.hidden, missing))._start(rng)._replace(missing=missing)

    def step(self, rng: np.random.Generator, state: PanelState) -> tuple[PanelState, PanelInfo]:
        """Redraw missing answers, then all else."""
        if self.hidden is None:
            return self._scan(rng, state)
        x = completed(self.hidden, state.missing)
        intercepts = state.own if len(state.own) else np.zeros((int(self.hidden.person.max()) + 1, x.shape[1]))
        redraw_missing(rng, x, self.hidden, state.theta, intercepts, self.tables, *neighbours(self.hidden))
        state, info = self._given(x)._scan(rng, state)
        return state._replace(missing=x[tuple(self.hidden.cells.T)].astype(np.int8)), info

    def _given(self, x: np.ndarray) -> PanelKernel:
        """Make the kernel of completed rows."""
        hidden = self.hidden
        assert hidden is not None
        assert self.model is not None
        person = hidden.person[hidden.after] if len(self.first_wave) else None
        return replace(self, tables=panel_tables(self.model, x[hidden.before], x[hidden.after], person), hidden=None)

    def _start(self, rng: np.random.Generator) -> PanelState:
        t, d, n = self.tables, len(self.tables.sizes), len(self.first_wave)
        counts = t.counts.sum(axis=1) + 0.5
        biases = [np.log(counts[i, 1:m] / counts[i, 0]) for i, m in enumerate(t.sizes)]
        theta = np.concatenate([np.zeros(len(self._kind)), *biases])
        slope = np.zeros((d, d)) if n else np.zeros((0, 0))
        state = PanelState(theta, np.full(3, 0.5), 1.0, np.zeros((n, d)), slope, 0.25 * np.eye(len(slope)))
        if self.n_row_chains:
            chains = start_chains(rng, t, self.n_row_chains, theta, np.zeros((len(t.n), d)))
            state = state._replace(chains=chains)
        return self._with_hyper(rng, state)

    def _scan(self, rng: np.random.Generator, state: PanelState) -> tuple[PanelState, PanelInfo]:
        """Scan all coordinates once, then draw densities, the slab's scale, and the prior of the intercepts."""
        t, d, theta = self.tables, len(self.tables.sizes), state.theta.copy()
        is_evaluated, kind = rng.random() < 1 / _EVERY, self._kind
        factors = np.zeros(len(kind) if is_evaluated else 0)
        people = len(state.own) > 0
        intercepts = Intercepts(
            state.own[self._person] if people else np.zeros((len(t.n), d)),
            self.first_wave @ state.slope if people else np.zeros((0, d)),
            np.linalg.inv(state.covariance) if people else np.eye(d),
        )
        thresholds = np.empty(len(theta) - len(kind))
        prior = PanelPrior(edge_prior(self.prior), state.densities, state.precision, thresholds, factors)
        chains = self._chains(state)
        if self.n_row_chains:
            log_likelihood = scan_chains(rng, t, chains, prior, theta, intercepts)
        else:
            log_likelihood = scan_panel(rng, t, prior, theta, intercepts)
        odds = np.zeros(len(kind))
        if is_evaluated:
            odds = np.log(state.densities / (1 - state.densities))[kind]
        else:
            factors = np.full(len(kind), np.nan)
        state = state._replace(theta=theta, chains=chains.x)
        if people:
            state = self._with_intercepts(rng, state._replace(own=intercepts.values[t.people[:-1]]))
            state = self._with_scales(rng, state)
        state = self._with_hyper(rng, state)
        included = theta[: len(kind)] != 0
        sd = np.sqrt(np.diag(state.covariance)) if people else np.zeros(d)
        slope = state.slope if people else np.zeros((d, d))
        root = np.linalg.cholesky(state.covariance) if people else np.zeros((d, d))
        info = PanelInfo(
            state.theta, included, int(included.sum()),
            float(state.densities[0]), float(state.densities[1]), float(state.densities[2]),
            float(state.precision**-0.5), log_likelihood, factors.astype(np.float32), odds.astype(np.float32),
            sd, slope, root,
        )  # fmt: skip
        return state, info

    def _chains(self, state: PanelState) -> RowChains:
        """Make a working copy of the chains."""
        n = self.tables.n if self.n_row_chains else np.zeros(0)
        return RowChains(state.chains.copy(), first_chains(n, self.n_row_chains))

    def _with_hyper(self, rng: np.random.Generator, state: PanelState) -> PanelState:
        """Draw the densities and the slab's precision given the edges."""
        prior, kind = edge_prior(self.prior), self._kind
        weights = state.theta[: len(kind)]
        n, most = (np.bincount(kind[which], minlength=3) for which in (weights != 0, weights == weights))
        densities = [float(unwrap(draw_density)(rng, prior, a, b)) for a, b in zip(n, most, strict=True)]
        precision = draw_precision(rng, prior, weights**2, np.ones(len(weights)))
        return state._replace(densities=np.array(densities), precision=precision)

    def _with_intercepts(self, rng: np.random.Generator, state: PanelState) -> PanelState:
        """Draw G and S given the intercepts, and shift these against thresholds."""
        t, x, intercepts, d = self.tables, self.first_wave, state.own.copy(), len(state.slope)
        # G and S, conjugate given the auxiliary scales of Huang and Wand.
        inverse = np.linalg.inv(state.covariance)
        scales = rng.gamma((DF + d) / 2, 1 / (DF * np.diag(inverse) + SD**-2))  # 1 / their alpha
        root = np.linalg.cholesky(x.T @ x + np.eye(d) / SLOPE**2)
        mean = np.linalg.solve(root.T, np.linalg.solve(root, x.T @ intercepts))
        rest = intercepts - x @ mean
        spread = 2 * DF * np.diag(scales) + rest.T @ rest + mean.T @ mean / SLOPE**2
        freedom = DF + d - 1 + len(intercepts)
        covariance = _draw_inverse_wishart(rng, freedom, spread)
        factor = np.linalg.cholesky(covariance)
        slope = mean + np.linalg.solve(root.T, rng.standard_normal((d, d))) @ factor.T
        # Thresholds and the mean of the intercepts are known together only: a shift of both changes no probability.
        theta, inverse = state.theta.copy(), np.linalg.inv(covariance)
        prior = edge_prior(self.prior)
        if prior.logistic == 0:
            for i in range(d):
                score, biases = t.score[1 : t.sizes[i]], theta[t.starts[i] : t.starts[i + 1]]
                pull = ((intercepts - x @ slope) @ inverse[i]).sum() - prior.bias_precision * score @ biases
                kappa = len(intercepts) * inverse[i, i] + prior.bias_precision * score @ score
                move = pull / kappa + rng.standard_normal() / np.sqrt(kappa)
                intercepts[:, i] -= move
                biases += move * score
        return state._replace(theta=theta, own=intercepts, slope=slope, covariance=covariance)

    def _with_scales(self, rng: np.random.Generator, state: PanelState) -> PanelState:
        """Multiply the intercepts of an item by a factor, and G and S with them: small ones cannot grow alone."""
        t, d, intercepts = self.tables, len(state.slope), state.own[self._person]
        slope, covariance = state.slope.copy(), state.covariance.copy()
        chains = self._chains(state)
        # Joined items have one likelihood, which takes longer.
        for i in [int(rng.integers(d))] if t.digits.size else range(d):
            log_factor = rng.choice(_STEPS) * rng.standard_normal()
            factor, precision = np.exp(log_factor), np.linalg.inv(covariance)[i, i]
            # The density of S without its auxiliary scales, and the determinant of the change of S.
            ratio = (d + 1 - DF - 2 * d) * log_factor - 0.5 * (DF + d) * np.log(
                (DF * precision / factor**2 + SD**-2) / (DF * precision + SD**-2)
            )
            if self.n_row_chains:
                is_moved = scale_by_chains(rng, t, chains, i, state.theta, intercepts, factor, ratio)
            else:
                ratio += log_ratio_of_scale(t, i, state.theta, intercepts, factor)
                is_moved = np.log1p(-rng.random()) < ratio
                intercepts[:, i] *= factor if is_moved else 1.0
            if is_moved:
                slope[:, i] *= factor
                covariance[i] *= factor
                covariance[:, i] *= factor
        return state._replace(own=intercepts[t.people[:-1]], slope=slope, covariance=covariance, chains=chains.x)


def _draw_inverse_wishart(rng: np.random.Generator, freedom: float, spread: np.ndarray) -> np.ndarray:
    """Draw a covariance matrix by Bartlett's decomposition of its inverse."""
    d = len(spread)
    a = np.tril(rng.standard_normal((d, d)), -1)
    a[np.diag_indices(d)] = np.sqrt(rng.chisquare(freedom - np.arange(d)))
    half = np.linalg.solve(a, np.linalg.cholesky(spread).T)
    covariance: Any = half.T @ half
    return covariance
