"""Groups of people whose networks may differ in some edges: the model, and its sampler with exact moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ...declare.option import Checked, option
from ...declare.rule import COUNT, choice
from ...errors import DataError, OptionError, argument
from ...likelihood import Likelihood, Sample
from ...memory import MostlyZero
from ...models.bases import edge_starts
from ...models.linear_map import LinearMap
from ...priors import Cauchy, SpikeSlab
from ..conditionals.group_lines import GroupProblem, GroupTheta, own_problem, stacked_lines
from ..conditionals.group_problem import group_problem, lines_of
from ..conditionals.group_scan import scan_groups
from ..conditionals.rivals import rivals_in
from ..conditionals.spike import edge_prior, require_finite
from ..conditionals.state_table import BlockOrder, block_order
from .spike_slab import EDGE_DIMS, EdgeFit, EdgeInfo, drawn, present_edges, start_theta

MAX_STATES = 2**23  # of a group, in a table of 64 MiB


def contrasts(sizes: Sequence[float]) -> np.ndarray:
    r"""Return a matrix of contrasts (G, G - 1) between G groups.

    Its columns are orthogonal, sum to zero, and have length :math:`1 / \sqrt 2`, so that a slab of scale s on the
    coordinates of a difference has the scale s on the difference of any two groups. For two groups it is (-1/2, 1/2).
    As slabs are spherical, any rotation of the columns gives the same model; they are rotated so that the
    coordinates of groups of these sizes are nearly independent in the likelihood.

    Parameters
    ----------
    sizes : sequence of float
        Number of observations of each group.

    Returns
    -------
    (G, G - 1) array
    """
    n = np.asarray(sizes, dtype=np.float64)
    g = len(n)
    basis = np.linalg.svd(np.eye(g) - 1 / g)[0][:, : g - 1]
    away = basis - n @ basis / n.sum()
    rotated: np.ndarray = basis @ np.linalg.eigh(away.T @ (n[:, None] * away))[1] / np.sqrt(2)
    return rotated * np.where(rotated[-1] < 0, -1.0, 1.0)


def group_maps(model: Any, contrast: np.ndarray, biases: str = "free") -> list[LinearMap]:
    """Return the natural parameters of each group as a linear map of phi.

    phi has the baseline of each edge, the coordinates of the differences of all edges (one coordinate after another),
    and the parameters of the nodes in each group. If ``biases`` is not "free", the latter have baselines and
    differences as edges have.
    """
    r = int(edge_starts(model)[-1]) if biases == "free" else model.n_features
    n_others, (n_groups, q) = model.n_features - r, contrast.shape
    names = model.feature_names
    phi = [*names[:r], *(f"{e} ({k})" for k in range(q) for e in names[:r])]
    phi += [f"{node} [{t}]" for t in range(n_groups) for node in names[r:]]
    edges, maps = np.arange(r), []
    for t in range(n_groups):
        first = r * (1 + q) + t * n_others
        rows = np.concatenate([np.tile(edges, 1 + q), r + np.arange(n_others)])
        columns = np.concatenate([np.arange(r * (1 + q)), first + np.arange(n_others)])
        values = np.concatenate([np.ones(r), np.repeat(contrast[t], r), np.ones(n_others)])
        shape = model.n_features, len(phi)
        maps.append(LinearMap(rows, columns, values, shape, tuple(phi)))
    return maps


def group_likelihood(
    model: Any, samples: Sequence[Sample], contrast: np.ndarray, engine: Any, biases: str = "free"
) -> Likelihood:
    """Return the likelihood of phi (see `group_maps`), given the samples of the groups."""
    maps = group_maps(model, contrast, biases)
    first, *others = (
        Sample(s.s_bar, s.n_samples, s.hidden, a) for s, a in zip(samples, maps, strict=True)
    )  # fmt: skip
    return Likelihood(model, first.s_bar, first.n_samples, engine, first.hidden, first.curve, others)


class DifferencePrior(NamedTuple):
    """The prior of differences between groups, in the order of `DifferencesKernel`, which describes its parts."""

    contrast: np.ndarray
    prior: SpikeSlab
    baseline: Any
    biases: str


class DifferencesState(NamedTuple):
    """phi of `group_maps`."""

    theta: np.ndarray


@dataclass(frozen=True, eq=False)
class DifferencesKernel(Checked):
    """Base of samplers of differences between groups.

    Parameters
    ----------
    likelihood : Likelihood
        Of several samples, from `group_likelihood`.
    contrast : (n_groups, n_groups - 1) array
        That of the likelihood.
    prior : SpikeSlab
        Of the differences, and (`SpikeSlab.bias_scale`, `SpikeSlab.biases`) of the parameters of nodes.
    baseline : Cauchy, Normal, Gamma or SpikeSlab
        Of the baselines: a slab, if every edge has one, or a spike and a slab.
    biases : {"free", "slab", "spike-slab"}
        Whether the parameters of nodes are free in each group; or have a baseline, with that prior, and a difference
        with the slab of those of edges, or with their spike, too.
    n_scans : int
        Scans that make one step.
    """

    likelihood: Likelihood
    contrast: np.ndarray
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    baseline: Any = Cauchy(1.0)  # noqa: RUF009
    biases: str = option("free", choice("free", "slab", "spike-slab"))
    n_scans: int = option(1, COUNT)

    dims = EDGE_DIMS | {"theta": MostlyZero("group", "feature")}

    def __post_init__(self) -> None:
        super().__post_init__()
        for prior in (self.prior, self.baseline):
            if prior.inclusion.blocks is not None:
                expected, remedy = "other than blocks of nodes for groups of people", "these are for SpikeSlabMRF"
                raise OptionError(option="density", got=prior.density, expected=expected, remedy=remedy)
        if self.biases == "spike-slab" and self.prior.inclusion.has_pairs:
            expected = "'free' or 'slab' where each edge has a probability of its own"
            raise OptionError(option="biases", got=self.biases, expected=expected)

    @property
    def _model(self) -> Any:
        return self.likelihood.model

    @cached_property
    def problem(self) -> GroupProblem:
        """The constants of the lines of edges and nodes."""
        model, samples = self._model, self.likelihood.samples
        graph, n_others = model.graph, self._n_spiked - int(edge_starts(model)[-1])
        baseline = edge_prior(self.baseline, graph, biases_of=self.prior)
        prior = edge_prior(self.prior, graph, n_others * (self.biases == "spike-slab"))
        free = self.biases == "free"
        # The prior of free parameters is that of each group, otherwise it is that of the baseline.
        tilt = baseline.tilt if free else 0.0
        lines = stacked_lines([lines_of(model, s.s_bar, s.n_samples, tilt) for s in samples])
        n = lines.n
        drift, totals = n @ self.contrast / max(n.sum(), 1), n @ np.array([s.s_bar for s in samples])
        lines, rivals = lines._replace(pull=free * lines.pull), rivals_in(model, totals / max(n.sum(), 1), n.sum())
        priors = self.prior.slab, prior, self.baseline.slab, baseline, self.biases
        return group_problem(model, lines, self.contrast, drift, *priors, rivals)

    @property
    def _n_spiked(self) -> int:
        return int(edge_starts(self._model)[-1] if self.biases == "free" else self._model.n_features)

    def first(self) -> np.ndarray:
        """Return phi without weights, with parameters of nodes fitted to each node of each group alone."""
        model, n, q = self._model, self._n_spiked, self.contrast.shape[1]
        starts = np.array([start_theta(model, s.s_bar, s.n_samples, None) for s in self.likelihood.samples])
        baseline = starts.mean(axis=0)[:n]  # of edges, 0
        return np.concatenate([baseline, np.zeros(q * n), starts[:, n:].ravel()])

    def group_theta(self, phi: np.ndarray) -> GroupTheta:
        """Return the parameters as scans change them."""
        weights = phi[: self._n_spiked * (1 + self.contrast.shape[1])].reshape(-1, self._n_spiked).copy()
        natural = np.array([s.curve.natural(phi) for s in self.likelihood.samples if s.curve is not None])
        return GroupTheta(weights, natural, np.ones(natural.shape))

    def phi(self, theta: GroupTheta) -> np.ndarray:
        """Return phi.

        Raises
        ------
        DivergenceError
            If a parameter is not finite.
        """
        natural = theta.natural
        require_finite(natural)
        return np.concatenate([theta.weights.ravel(), natural[:, self._n_spiked :].ravel()])

    def draw(self, theta: GroupTheta, density: float, precision: float) -> EdgeInfo:
        """Return a draw."""
        included = present_edges(self._model, (theta.weights[1:] != 0).any(axis=0))
        return drawn(theta.natural, included, density, precision)


@dataclass(frozen=True, eq=False)
class Differences(DifferencesKernel):
    """Birth, death or move of the difference of every edge between groups, by its exact full conditional.

    The weights of all states of each group are in a table, of at most 2^23 states. See
    `bayesmrf.posterior.conditionals.group_scan`.
    """

    name = "differences"
    dims = DifferencesKernel.dims | {"log_likelihood": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self._model)

    @cached_property
    def _order(self) -> BlockOrder:
        return block_order(self._model.graph.edges, self._model.graph.n_nodes)

    def init(self, rng: np.random.Generator) -> DifferencesState:
        """Start without weights."""
        return DifferencesState(self.first())

    def step(self, rng: np.random.Generator, state: DifferencesState) -> tuple[DifferencesState, EdgeFit]:
        """Run ``n_scans`` scans."""
        samples, theta = self.likelihood.samples, self.group_theta(state.theta)
        problem = own_problem(self.problem)
        (density, precision, *_), log_z = scan_groups(rng, problem, self._order, theta, self.n_scans)
        phi = self.phi(theta)
        fit = sum(s.n_samples * (t @ s.s_bar - z) for s, t, z in zip(samples, theta.natural, log_z, strict=True))
        return DifferencesState(phi), EdgeFit(*self.draw(theta, density, precision), float(fit))


def check_size(model: Any) -> None:
    """Check that the states of a model fit in a table.

    Raises
    ------
    DataError
    """
    n_states = prod([model.n_states] * model.graph.n_nodes)
    if n_states > MAX_STATES:
        raise DataError(
            f"{argument('X')} must have at most {MAX_STATES:,} joint states, all of which are summed over to compare "
            f"groups, got {n_states:,} of {model.graph.n_nodes} columns; use {argument('method', 'reversible-jump')}."
        )
