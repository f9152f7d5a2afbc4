"""Priors of which edges exist: their base, fixed probabilities, a Beta prior of p0, and probabilities of pairs.

A user's number or table of pairs is brought to one of these by `inclusion_of`. `Blocks` is in block_model.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import exp
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..declare.option import Checked, option
from ..declare.rule import constant_of, is_number
from .group_base import GroupBase

if TYPE_CHECKING:
    from ..graphs import Graph


class Inclusion(Checked):
    """Prior of which edges exist; by default they have one probability p0."""

    has_pairs: ClassVar[bool] = False  # whether pairs have probabilities of their own
    has_one_p0: ClassVar[bool] = True  # whether p0 is that of all edges
    p0: float | None = None  # if it is a number
    blocks: Any = None  # of nodes, on which the probability of an edge depends
    # What each class has: how it is stored with a run of edges; the mean probability of an edge of a graph; draws of
    # the probabilities of edges with some ends (n_edges, 2), of a shape like (n_draws, n_edges); the probability that n
    # edges are all absent, if it is known; and log probabilities (n,) of graphs from how many edges (n,) exist of n
    # candidates, p0 integrated out, and from those where pairs have their own (None if parameters of the draw have
    # them).
    record: Any
    mean: Callable[..., float]
    draw: Callable[[np.ndarray, int, np.random.Generator], Any]
    all_absent: Callable[[int], float | None]
    log_graph: Callable[..., np.ndarray | None]

    @property
    def constants(self) -> dict[str, Any]:
        """Constants of compiled code, other than probabilities of each edge."""
        return {}

    def probabilities(self, graph: Graph) -> np.ndarray | None:
        """Return the probability of each edge, (n_edges,), where pairs have their own."""
        return None

    def named(self, graph: Graph) -> np.ndarray:
        """Return which edges it names, as they have probabilities of their own, (n_edges,)."""
        return np.zeros(graph.n_edges, dtype=bool)

    def of(self, graph: Graph, edges: np.ndarray) -> Inclusion:
        """Return the prior of some edges of a graph."""
        return self

    def at(self, p: float) -> Any:
        """Return the density under which edges that are not certain have the probability p."""
        return p

    def mean_given(self, n_present: int, n: int) -> float:
        """Return the mean of p0 given that so many of n edges exist."""
        return self.mean()

    def draw_p0(self, rng: np.random.Generator, n: int = 0, n_absent: int = 0) -> float:
        """Draw p0 given that so many of n edges are absent."""
        return self.mean()

    @property
    def is_even(self) -> bool:
        """Whether all edges have the same probability, and any two of them can change places."""
        return True

    def inverse_odds(self, n_present: np.ndarray, n_candidates: int) -> np.ndarray:
        """Compute E[(1 - p0) / p0] given the edges of each draw, of which one that exists is left out.

        It is 1 where edges have probabilities of their own, by themselves or by blocks.
        """
        return np.ones(len(n_present))


@dataclass(frozen=True)
class Fixed(Inclusion):
    """A probability p of all edges, or of each."""

    p: Any

    @property
    def p0(self) -> float | None:  # type: ignore[override]
        """The probability, if all edges have one."""
        return float(self.p) if np.ndim(self.p) == 0 else None

    @property
    def record(self) -> Any:
        """The probability."""
        return self.p

    @property
    def constants(self) -> dict[str, Any]:
        """The probability."""
        return {"fixed": float(self.p)}

    def mean(self, graph: Graph | None = None) -> float:
        """Return the probability."""
        return float(self.p)

    def draw(self, ends: np.ndarray, n_draws: int, rng: np.random.Generator) -> Any:
        """Return the probability."""
        return self.p

    def all_absent(self, n: int) -> float:
        """Return the probability that n edges are all absent."""
        return float(np.prod(1 - np.broadcast_to(self.p, n)))

    @property
    def is_even(self) -> bool:
        """Whether all edges have the same probability."""
        return len(np.unique(self.p)) == 1

    def log_graph(self, n_present: np.ndarray, n_candidates: int, of_pairs: Any = None) -> np.ndarray:
        """Return the log probability of graphs with some of the candidates."""
        return np.asarray(n_present * np.log(self.p) + (n_candidates - n_present) * np.log1p(-self.p))

    def inverse_odds(self, n_present: np.ndarray, n_candidates: int) -> np.ndarray:
        """Return (1 - p) / p."""
        return np.full(len(n_present), (1 - self.p) / self.p)


@dataclass(frozen=True)
class Beta(Inclusion, GroupBase):
    """Beta(a, b) on (0, 1); Beta(1, 1) is uniform."""

    a: float = option(1.0, constant_of("Beta(a, b)"), "First constant.")
    b: float = option(1.0, constant_of("Beta(a, b)"), "Second constant.")

    is_of_agreement: ClassVar[bool] = True

    @property
    def record(self) -> dict[str, Any]:
        """The constants, by name."""
        return asdict(self)

    @property
    def constants(self) -> dict[str, Any]:
        """The constants; p0 is not fixed."""
        return {"a": float(self.a), "b": float(self.b), "fixed": 0.0}

    def mean(self, graph: Graph | None = None) -> float:
        """Return a / (a + b)."""
        return self.a / (self.a + self.b)

    def mean_given(self, n_present: int, n: int) -> float:
        """Return the mean of p0 given that so many of n edges exist."""
        return float((self.a + n_present) / (self.a + self.b + n))

    def draw_p0(self, rng: np.random.Generator, n: int = 0, n_absent: int = 0) -> float:
        """Draw p0 given that so many of n edges are absent."""
        return float(rng.beta(self.a + n - n_absent, self.b + n_absent))

    def draw(self, ends: np.ndarray, n_draws: int, rng: np.random.Generator) -> np.ndarray:
        """Draw p0, (n_draws, 1)."""
        return rng.beta(self.a, self.b, (n_draws, 1))

    def all_absent(self, n: int) -> float:
        """Return the probability that n edges are all absent."""
        from scipy.special import betaln

        return exp(betaln(self.a, self.b + n) - betaln(self.a, self.b))

    def log_graph(self, n_present: np.ndarray, n_candidates: int, of_pairs: Any = None) -> np.ndarray:
        """Return the log probability of graphs with some of the candidates, p0 integrated out."""
        from scipy.special import betaln

        log_p = betaln(self.a + n_present, self.b + (n_candidates - n_present))
        return np.asarray(log_p - betaln(self.a, self.b))

    def inverse_odds(self, n_present: np.ndarray, n_candidates: int) -> np.ndarray:
        """Compute E[(1 - p0) / p0] given the edges of each draw, of which one that exists is left out."""
        rest = np.maximum(n_present, 1) - 1
        return np.asarray((self.b + n_candidates - 1 - rest) / (self.a + rest))

    @property
    def group_record(self) -> dict[str, Any]:
        """How it is stored with a run."""
        return {"base": [self.a, self.b]}

    def draw_values(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw logits, (n,)."""
        return draw_logits(self.a, self.b, (n,), rng)

    def of_value(self, unit: float) -> tuple[float, float, float]:
        """Return the constants, and no precision."""
        return float(self.a), float(self.b), 0.0


EVERY = Fixed(1.0)  # all edges exist


@dataclass(frozen=True, eq=False)
class Pairs(Inclusion):
    """Probabilities of pairs: a matrix, or a table of pairs, which is read with the nodes of a graph."""

    table: Any
    has_pairs: ClassVar[bool] = True
    has_one_p0: ClassVar[bool] = False

    @property
    def record(self) -> Any:
        """None: the probabilities of edges are stored with the draws."""
        return None

    def probabilities(self, graph: Graph) -> np.ndarray:
        """Return the probability of each edge, (n_edges,)."""
        from ..data.pair_probabilities import edge_probabilities  # needs numba

        return edge_probabilities(self.table, graph)

    def named(self, graph: Graph) -> np.ndarray:
        """Return which edges the table names, (n_edges,)."""
        from ..data.pair_probabilities import names_pairs

        return names_pairs(self.table, graph)

    def of(self, graph: Graph, edges: np.ndarray) -> Fixed:
        """Return the probabilities of some edges of a graph."""
        return Fixed(self.probabilities(graph)[edges])

    def at(self, p: float) -> Any:
        """Return the matrix with p in place of the probabilities of pairs that are not certain."""
        return np.where((self.table > 0) & (self.table < 1), p, self.table)

    def mean(self, graph: Graph | None = None) -> float:
        """Return the mean probability of the edges of a graph."""
        assert graph is not None
        return float(self.probabilities(graph).mean())

    def log_graph(self, n_present: np.ndarray, n_candidates: int, of_pairs: Any = None) -> Any:
        """Return what the probabilities of pairs give."""
        return of_pairs


def inclusion_of(density: Any) -> Inclusion:
    """Return the prior that a density stands for: itself, the number p0, probabilities of pairs, or None for all."""
    if isinstance(density, Inclusion):
        return density
    if density is None:
        return EVERY
    return Fixed(density) if is_number(density) else Pairs(density)


def draw_logits(a: float, b: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw logits of Beta(a, b) variables."""
    # Ratios of Gamma variables have finite logits even if a Beta variable would round to 0 or 1.
    return _log_gamma(a, shape, rng) - _log_gamma(b, shape, rng)


def _log_gamma(a: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw logs of Gamma(a, 1) variables, which themselves would round to 0 if a is small."""
    if a >= 1:
        return np.log(rng.standard_gamma(a, shape))
    return np.log(rng.standard_gamma(a + 1, shape)) - rng.standard_exponential(shape) / a
