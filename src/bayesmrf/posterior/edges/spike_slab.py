"""Common code of samplers of edges: records, starts, and the noise of moments from chains."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from functools import cache
from inspect import unwrap
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...declare.option import Checked, needs, option
from ...declare.rule import COUNT, OBSERVATIONS, STATES, instance
from ...errors import DivergenceError, OptionError
from ...likelihood import Likelihood
from ...memory import MostlyZero
from ...methods import ReversibleJump
from ...models.bases import edge_starts
from ...priors import SpikeSlab
from ...states.persistent_chains import LANES
from ..conditionals.centred import node_fields, smoothed_shares
from ..conditionals.spike import draw_density, draw_precision, edge_prior

EDGE_DIMS = {
    "theta": MostlyZero("feature"),
    "included": MostlyZero("edge"),
    "n_edges": (),
    "density": (),
    "slab_scale": (),
}
BLOCK_DIMS = {"blocks": ("node",), "n_blocks": ()}  # further ones, where the prior has blocks
DIVERGED = 1e3  # a hundred standard deviations of the default prior of a bias
_NOISE = 0.1  # largest share of a posterior variance that the noise of moments may add
_STIFF_NOISE = 0.3  # the same in the stiffest direction, one of many
_LONGEST = 1.0  # standard deviations of a step in the stiffest direction, at most
_VISITS = 0.2  # most proposals for an uncertain edge in an iteration; more would see nearly the same chains again
_DOUBT = 0.01  # least share of draws, and least rest, that is taken for granted
_PRIOR = 4  # draws that the first shares count as, half of them with the edge
_SHORT = 2  # by which the iterations of a step of warm-up are divided: it needs no more steps than there are draws
SMALL = 1e-6  # where edges that are forced start: 0 is an absent edge
SWEEPS = 4  # of all particles take as long as an iteration with clusters and proposals of edges


class EdgeState(NamedTuple):
    """Weights of the candidate edges (0 if absent) and parameters of nodes; p0; the slab's precision; the block of each
    node, if the prior has any.
    """

    theta: np.ndarray
    density: float
    precision: float
    blocks: np.ndarray


class EdgeInfo(NamedTuple):
    """Draw."""

    theta: np.ndarray
    included: np.ndarray
    n_edges: int
    density: float
    slab_scale: float


class JumpInfo(NamedTuple):
    """Draw, and the births and deaths of the step."""

    theta: np.ndarray
    included: np.ndarray
    n_edges: int
    density: float
    slab_scale: float
    n_jumps: int


class EdgeFit(NamedTuple):
    """Draw, and its log likelihood."""

    theta: np.ndarray
    included: np.ndarray
    n_edges: int
    density: float
    slab_scale: float
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class EdgeKernel(Checked):
    """Base of samplers of edges that need the mean statistics of the data only.

    Parameters
    ----------
    model : object
        Its graph is the candidate edges.
    s_bar : (n_features,) array
        Mean statistics of the data.
    n_samples : float
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for no edges.
    """

    model: Any
    s_bar: np.ndarray
    n_samples: float = field(metadata=needs(OBSERVATIONS))
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    start: np.ndarray | None = None

    dims = EDGE_DIMS

    def __post_init__(self) -> None:
        super().__post_init__()
        declare_blocks(self)

    def first(self, rng: np.random.Generator) -> EdgeState:
        """Return the start, with p0 and precision drawn given its edges."""
        theta = start_theta(self.model, self.s_bar, self.n_samples, self.start)
        return with_hyper(rng, self.prior, theta, self.model)


@dataclass(frozen=True, eq=False)
class ExactEdges(Checked):
    """Base of the exact samplers of edges.

    Parameters
    ----------
    likelihood : Likelihood
        Of a model whose graph is the candidate edges.
    prior : SpikeSlab
    start : (n_features,) array or None
        Where the chain starts; None for no edges.
    n_scans : int
        Scans over all edges and nodes that make one step.
    """

    likelihood: Likelihood
    prior: SpikeSlab = SpikeSlab()  # noqa: RUF009
    start: np.ndarray | None = None
    n_scans: int = option(1, COUNT)

    dims = EDGE_DIMS | {"log_likelihood": ()}

    def __post_init__(self) -> None:
        super().__post_init__()
        declare_blocks(self)

    @property
    def _model(self) -> Any:
        return self.likelihood.model

    def init(self, rng: np.random.Generator) -> EdgeState:
        """Start at ``start``."""
        theta = start_theta(self._model, self.likelihood.s_bar, self.likelihood.n_samples, self.start)
        return with_hyper(rng, self.prior, theta, self._model)


def n_particles_of(options: ReversibleJump) -> int:
    """Return the number of particles; estimators choose it by the data if it is not given.

    Raises
    ------
    OptionError
        If it is None.
    """
    STATES.check("n_particles", options.n_particles)
    assert options.n_particles is not None
    return options.n_particles


def n_chains_of(options: ReversibleJump) -> int:
    """Return the number of chains of a group, a multiple of 128."""
    return -(-n_particles_of(options) // LANES) * LANES


def with_hyper(rng: np.random.Generator, prior: SpikeSlab, theta: np.ndarray, model: Any) -> EdgeState:
    """Return theta, in which edges that are forced exist, with p0 and the slab's precision drawn given its edges."""
    starts, of = edge_starts(model), edge_prior(prior, model.graph)
    weights, certain = theta[: starts[-1]], np.repeat(np.where(of.free, 0.0, of.log_odds), np.diff(starts))
    weights[certain < 0] = 0.0
    weights[(certain > 0) & (weights == 0)] = SMALL
    density = unwrap(draw_density)(rng, of, present_edges(model, theta).sum(), model.n_edges)  # not compiled for it
    sizes = np.add.reduceat(weights**2, starts[:-1])
    precision = draw_precision(rng, of, sizes, np.diff(starts).astype(float))
    return EdgeState(theta, density, precision, of.blocks.labels.copy())


def present_edges(model: Any, theta: np.ndarray) -> np.ndarray:
    """Return whether each edge has a parameter other than 0, (n_edges,)."""
    starts = edge_starts(model)
    return np.add.reduceat(theta[: starts[-1]] != 0, starts[:-1], dtype=np.int64) > 0


def drawn(theta: np.ndarray, included: np.ndarray, density: float, precision: float) -> EdgeInfo:
    """Return a draw."""
    return EdgeInfo(theta, included, int(included.sum()), density, precision**-0.5)


def declare_blocks(kernel: Any) -> None:
    """Let the draws of a kernel have the blocks of nodes, if its prior has any."""
    if kernel.prior.inclusion.blocks is not None:
        object.__setattr__(kernel, "dims", kernel.dims | BLOCK_DIMS)


def with_blocks(draw: Any, labels: np.ndarray) -> Any:
    """Return a draw with the blocks of nodes and their number, if there are any."""
    if not len(labels):
        return draw
    return _with_blocks(draw.__class__)(*draw, labels.copy(), int(labels.max()) + 1)


@cache
def _with_blocks(kind: Any) -> Any:
    return namedtuple(f"{kind.__name__}WithBlocks", [*kind._fields, *BLOCK_DIMS])


def check_bounded(theta: np.ndarray, epsilon: float, prior: SpikeSlab, precision: float) -> None:
    """Check that no parameter exceeds `DIVERGED`.

    A step that is too long is one cause. If the slab's scale is learnt, few observations of many nodes may be another:
    they can be told from all other states by large weights, at which the states of chains no longer change.

    Raises
    ------
    DivergenceError
    """
    if (np.abs(theta) <= DIVERGED).all():
        return
    remedy = ""
    if prior.slab.may_widen:
        remedy = (
            "if a smaller one does not help, give the slab a fixed scale, such as Cauchy(1.0): its standard "
            f"deviation, which is learnt, is {precision**-0.5:.3g}"
        )
    expected = f"smaller, as a weight exceeded {DIVERGED:g}"
    raise DivergenceError(option="epsilon", got=epsilon, expected=expected, remedy=remedy)


def noise_share(n_samples: float, n_chains: int, momentum: float) -> float:
    r"""Return the relative increase of a posterior variance by noisy moments, over :math:`\epsilon^2`.

    Where the posterior has the curvature :math:`N S^2`, the mean of n chains adds a noise of variance :math:`N^2 S^2 /
    n` to its slope. With steps of epsilon standard deviations the variance grows by the factor :math:`1 + \epsilon^2 N
    (1 + \alpha) / 4 n (1 - \alpha)`, with the share :math:`\alpha` of the momentum kept, if the noises of successive
    steps are independent.
    """
    return n_samples * (1 + momentum) / (4 * n_chains * (1 - momentum))


@dataclass(frozen=True, eq=False)
class OnChains(Checked):
    """What kernels of reversible jumps on persistent chains have in common.

    Parameters
    ----------
    options : ReversibleJump
        The number of particles must be given; it is rounded up to a multiple of 128.
    n_adapt : int
        Steps with half of the iterations, in which the shares of draws with each edge are found.
    """

    options: ReversibleJump = option(ReversibleJump(n_particles=512), instance("methods", "ReversibleJump"))
    n_adapt: int = 0

    walks: ClassVar[Any]  # the class of the walker

    def __post_init__(self) -> None:
        super().__post_init__()
        n_particles_of(self.options)

    @property
    def n_particles(self) -> int:
        """Requested number of persistent chains of a group of people."""
        return n_particles_of(self.options)

    @property
    def particle_sweeps(self) -> int:
        """Gibbs sweeps of single particles that a step is worth."""
        return SWEEPS * iterations_of(self.options, self.walks.n_iterations, False) * self.n_particles


def moderate(share: np.ndarray) -> np.ndarray:
    """Return shares of draws, none of which is taken for granted."""
    return np.asarray(share.astype(float).clip(_DOUBT, 1 - _DOUBT))


def visit_rate(share: np.ndarray, n_nodes: int) -> Any:
    """Return how often an uncertain edge is visited in an iteration: with as many visits as nodes, at most.

    ``share`` (..., n_edges) is from `moderate`, or 0 or 1 where there is no doubt.
    """
    return np.minimum(_VISITS, n_nodes / np.maximum(2 * np.minimum(share, 1 - share).sum(axis=-1), _DOUBT))


def adapted(share: np.ndarray, has: np.ndarray, age: int) -> np.ndarray:
    """Return the shares of draws after one more, in warm-up."""
    return share + (has - share) / (age + _PRIOR + 1)


def averaged(stiffness: float, found: float, age: int) -> float:
    """Return the stiffness over the steps, with increasing weight of the past."""
    return stiffness + 2 / (age + 3) * (found - stiffness)


def iterations_of(options: ReversibleJump, usual: int, is_early: bool) -> int:
    """Return the iterations of a step, ``usual`` if they are not given, and half of them in warm-up."""
    n = usual if options.n_iterations is None else options.n_iterations
    return max(1, n // _SHORT) if is_early else n


def longest_step(options: ReversibleJump, n_samples: float, n_chains: int, stiffness: float) -> float:
    """Return the step of Langevin dynamics: ``epsilon``, or less where the posterior is stiff or the moments noisy."""
    noise = noise_share(n_samples, n_chains, options.momentum)
    longest, epsilon = _LONGEST, options.epsilon
    if noise > 0:
        longest, epsilon = min(longest, sqrt(_STIFF_NOISE / noise)), min(epsilon, sqrt(_NOISE / noise))
    return float(min(epsilon, longest / sqrt(max(1.0, stiffness))))


def start_theta(model: Any, s_bar: np.ndarray, n_samples: float, start: np.ndarray | None) -> np.ndarray:
    """Check ``start``, or start without edges, with node parameters fitted to each node alone."""
    if start is None:
        return np.concatenate(
            [np.zeros(edge_starts(model)[-1]), node_fields(model, smoothed_shares(model, s_bar, n_samples))]
        )
    start = np.array(start, dtype=np.float64)
    if start.shape != (model.n_features,) or not np.isfinite(start).all():
        raise OptionError(
            option="start",
            got=start if start.shape == (model.n_features,) else f"shape {start.shape}",
            expected=f"finite numbers of shape ({model.n_features},)",
            remedy="the weights of the candidate edges, 0 where there is none, then those of the nodes",
        )
    return start
