"""Protocols of models, engines and kernels.

The package is about

.. math:: \\log p(X \\mid \\theta) = N (\\theta \\cdot \\bar s - \\log Z(\\theta)).

A `Model` defines the statistics *s* of p(x | theta) = exp(theta . s(x)) / Z(theta) (Murray and Ghahramani 2004, eq. 1).
An `Engine` computes or approximates one or more of ``log_z``, ``moments`` (the expectation of *s*) and ``sample`` of a
model at ``theta``. A `Kernel` is one transition of a Markov chain on the posterior. Kernels do not use engines
directly, but `bayesmrf.likelihood.Likelihood`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from .declare.option import Checked

if TYPE_CHECKING:
    import numpy as np

    from .data.states import States
    from .graphs import Graph

LOG_Z, MOMENTS, SAMPLE = "log_z", "moments", "sample"
# Compiled form of a model: two states a node; many states, edges that reward agreement; many states, a table of log
# potentials for each edge.
BINARY, POTTS, TABLES = "binary", "potts", "tables"
RBM = "rbm"  # with hidden units, which no engine has
EVERY_FAMILY = frozenset({BINARY, POTTS, TABLES})


class Kind(Enum):
    """How the answer of an engine relates to the true value."""

    EXACT = "exact"
    LOWER = "lower bound"
    UPPER = "upper bound"
    APPROXIMATE = "approximate"
    RANDOM = "random"


@dataclass(frozen=True)
class Inference:
    """Answer of an engine at one ``theta``."""

    # None if they were not requested or are not available; `Any`, as users know what they requested
    log_z: float | Any = None  # log of the normaliser
    moments: np.ndarray | Any = None  # (n_features,), expectation of the statistics
    status: str = ""  # A warning for the user; empty if there is none
    stats: dict[str, float] = field(default_factory=dict)  # statistics of the computation (iterations, width, ...)
    state: Any = None  # start of the next call (persistent chains); None for engines without memory


@runtime_checkable
class OnGraph(Protocol):
    """What distinguishes a model from other objects; a check of all attributes of `Model` would compute each."""

    @property
    def family(self) -> str: ...  # noqa: D102
    @property
    def graph(self) -> Graph: ...  # noqa: D102
    def statistics(self, states: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray: ...  # noqa: D102


class Model(OnGraph, Protocol):
    """An exponential family of pairwise fields: which statistics, and how they map to arrays.

    ``family`` is its compiled form: a `BINARY` model has ``pairwise(theta)``, the form over x in {-1, +1}, the others
    ``categorical(theta)`` (see `bayesmrf.models.categorical.CategoricalModel`). ``statistics(states)`` are the mean
    statistics of data in {0, 1}; ``moments(pair, node)`` turns E[x_u x_v] and E[x_u] into the moments of the model's
    own statistics. theta has ``n_parameters`` of each of ``n_edges`` edges first, then those of nodes if there are
    ``fields``: those of each node begin at ``node_starts``.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def fields(self) -> bool: ...  # noqa: D102
    @property
    def n_states(self) -> int: ...  # noqa: D102
    @property
    def n_edges(self) -> int: ...  # noqa: D102
    @property
    def n_parameters(self) -> int: ...  # noqa: D102
    @property
    def n_features(self) -> int: ...  # noqa: D102
    @property
    def feature_names(self) -> list[str]: ...  # noqa: D102
    @property
    def node_starts(self) -> np.ndarray: ...  # noqa: D102
    @property
    def feature_low(self) -> np.ndarray: ...  # noqa: D102
    @property
    def feature_high(self) -> np.ndarray: ...  # noqa: D102
    def moments(self, pair: np.ndarray, node: np.ndarray) -> np.ndarray: ...  # noqa: D102


@runtime_checkable
class Engine(Protocol):
    """A small frozen dataclass of options.

    ``answers`` is a subset of {"log_z", "moments", "sample"}: an engine with one of the first two is an
    `InferenceEngine`, one with the third a `SamplingEngine`. ``families`` are the supported models. ``prepare(model)``
    does the work that depends on the graph alone (an elimination order) once; its result, the plan, is an argument of
    every call and never changes. ``start`` returns the memory of an engine that has one (persistent chains), else None.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def answers(self) -> frozenset[str]: ...  # noqa: D102
    @property
    def kind(self) -> Kind: ...  # noqa: D102
    @property
    def families(self) -> frozenset[str]: ...  # noqa: D102
    def prepare(self, model: Model) -> Any: ...  # noqa: D102
    def start(self, model: Model, rng: np.random.Generator) -> Any: ...  # noqa: D102


class Stateless(Checked):
    """Base of engines that plan nothing and keep nothing between calls, unless they define otherwise."""

    def prepare(self, model: Model) -> Any:
        """Return None: there is nothing to plan."""

    def start(self, model: Model, rng: np.random.Generator) -> Any:
        """Return None: the engine has no memory."""


class InferenceEngine(Engine, Protocol):
    """An engine that computes "log_z", "moments", or both."""

    def infer(self, model: Model, theta: np.ndarray, plan: Any, want: str = MOMENTS, state: Any = None) -> Inference:
        """Compute ``want`` ("log_z" or "moments"; an engine may return both)."""
        ...


class SamplingEngine(Engine, Protocol):
    """An engine that samples states."""

    def sample(
        self, model: Model, theta: np.ndarray, plan: Any, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw ``(n_samples, n_nodes)`` int8 states in {0, ..., n_states - 1} from p(x | theta)."""
        ...


class AskedEngine(InferenceEngine, SamplingEngine, Protocol):
    """An engine as a `bayesmrf.likelihood.Likelihood` has it: `require` compares what it answers with what is asked."""


class Moves(NamedTuple):
    """Moves theta_j + deltas_j of each coordinate, accepted if the log likelihood gains more than thresholds_j."""

    s_bar: np.ndarray
    n_samples: float
    deltas: np.ndarray
    thresholds: np.ndarray


@runtime_checkable
class WalkingEngine(Protocol):
    """An engine with a compiled sweep of one-coordinate moves, for a `bayesmrf.models.PairwiseModel`.

    ``walks_by`` is the quantity that it uses: `LOG_Z` at both ends of a move, or the `MOMENTS` before it.
    """

    @property
    def walks_by(self) -> str: ...  # noqa: D102
    def walk(
        self, model: Any, theta: np.ndarray, plan: Any, at: Inference, moves: Moves
    ) -> tuple[np.ndarray, Inference, int]:
        """Return theta, the answer there, and the number of moves made; see `bayesmrf.likelihood.Likelihood.walk`."""
        ...


@runtime_checkable
class ChainEngine(Protocol):
    """An engine whose memory consists of chains, and whose ``infer`` leaves p(x | theta) invariant at a fixed theta."""

    @property
    def n_chains(self) -> int: ...  # noqa: D102
    def states(self, model: Model, memory: Any, n_samples: int) -> np.ndarray:
        """Return the states of the first ``n_samples`` chains."""
        ...


@runtime_checkable
class RestartingEngine(Protocol):
    """An engine whose chains restart at the data, with hidden entries of these from other chains."""

    def restarts(self, plan: Any, hidden: Any, n_chains: int) -> Callable[[Any, Any], Any]:
        """Return a function of the plan and the chains on the hidden entries that makes the plan for one call."""
        ...


@runtime_checkable
class DataEngine(Protocol):
    """An engine that depends on the data."""

    def given(self, states: States) -> Engine:
        """Return the same engine with its data."""
        ...


@runtime_checkable
class Kernel(Protocol):
    """One Markov chain on the posterior, as two functions over NamedTuples of arrays.

    ``State`` is the input of the next step (and part of a checkpoint), ``Info`` the draw. ``dims`` names the dimensions
    of every field of Info, e.g. ``{"groups": ("edge",), "n_groups": ()}``, or as
    `bayesmrf.memory.MostlyZero`.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def dims(self) -> dict[str, tuple[str, ...]]: ...  # noqa: D102
    def init(self, rng: np.random.Generator) -> NamedTuple: ...  # noqa: D102
    def step(self, rng: np.random.Generator, state: Any) -> tuple[NamedTuple, NamedTuple]: ...  # noqa: D102


class PairMarginals(Protocol):
    """Pair marginals at theta, from which samplers of groups and edges compute full conditionals.

    The marginal of the two ends of an edge at one theta determines Z along the edge's coordinate
    (docs/notes/derivations.md), so a sampler only needs this marginal, updated with each move of theta. Between steps
    the caller keeps their ``memory``, a NamedTuple of arrays: `start` makes one, and `thaw` converts it to a mutable
    `PairWalk`.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def model(self) -> Any: ...  # noqa: D102
    @property
    def dims(self) -> dict[str, tuple[str, ...]]: ...  # noqa: D102
    def start(self, theta: np.ndarray, rng: np.random.Generator) -> Any: ...  # noqa: D102
    def thaw(self, memory: Any, theta: np.ndarray, s_bar: np.ndarray, n: float) -> PairWalk: ...  # noqa: D102


class PairWalk(Protocol):
    """Pair marginals within a step of a sampler: mutable theta, and the marginals that follow it.

    ``scan`` reassigns the items of a block to groups and returns their log odds, ``move_values`` and ``move_fields``
    redraw values, ``accept`` decides on a split or merge. ``freeze`` returns the memory for the next step; ``stats``
    are statistics of the step, such as the noise of the marginals.
    """

    @property
    def theta(self) -> np.ndarray: ...  # noqa: D102
    def mix(self, rng: np.random.Generator) -> None: ...  # noqa: D102
    def scan(  # noqa: D102
        self, rng: np.random.Generator, block: Any, state: Any, n_pairs: int
    ) -> tuple[Any, np.ndarray]: ...
    def move_values(self, rng: np.random.Generator, block: Any, state: Any) -> Any: ...  # noqa: D102
    def move_fields(self, rng: np.random.Generator, block: Any, state: Any) -> Any: ...  # noqa: D102
    def accept(self, rng: np.random.Generator, block: Any, tried: Any, theta: np.ndarray) -> bool: ...  # noqa: D102
    def stats(self) -> dict[str, float]: ...  # noqa: D102
    def freeze(self) -> Any: ...  # noqa: D102
