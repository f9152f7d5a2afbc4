"""Posterior and prior probabilities of a statement about the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...declare.rule import NONE, SEED, Rule, either, integer
from ...models.display import display_of
from ...results.blocks import in_turn, variable
from ...results.statistics import require_weights
from ...rng import as_seed_sequence
from ..result import Result
from .language import KnownPrior, Language, edges_of, exact_prior, holds
from .probability import Probability, probability_of

if TYPE_CHECKING:
    import networkx as nx

_STATEMENT = Rule(
    "a text, such as 'A--B > A--C', or a function of a graph", lambda v: isinstance(v, str) or callable(v)
)
_N_PRIOR = either(NONE, integer(1, 10**9))
_DRAWS, _GRAPHS = 100_000, 2_000  # from the prior, of statements in words, and of functions of a graph
_BLOCK = 2**22  # numbers of draws from the prior that are an array at a time


def compute(
    result: Result, statement: str | Callable[..., Any], n_prior: int | None = None, random_state: Any = 0
) -> Probability:
    """Compute the probability of a statement; see `bayesmrf.SpikeSlabMRF.probability`."""
    _STATEMENT.check("statement", statement)
    _N_PRIOR.check("n_prior", n_prior)
    SEED.check("random_state", random_state)
    rng = np.random.default_rng(as_seed_sequence(random_state))
    require_weights(result.tree)
    if callable(statement):
        return _of_function(result, statement, n_prior or _GRAPHS, rng)
    language = language_of(result)
    clauses = language.read(statement)
    edges = edges_of(clauses)
    held = np.concatenate([holds(clauses, w[..., edges], edges) for w in edge_draws(result)])
    priors, sizes = result.priors, np.diff(display_of(result.model).edge_starts)
    known = KnownPrior(
        priors.absent,
        lambda edge: priors.alike(edge, bool(language.signed[edge])),
        lambda pair: len(set(sizes[pair])) == 1 and priors.are_exchangeable(pair),
    )
    prior: Any = exact_prior(clauses, known)
    if prior is None:
        blocks = [holds(clauses, w, edges) for w in prior_draws(result, edges, n_prior or _DRAWS, rng)]
        prior = np.concatenate(blocks) if blocks else None
    return probability_of(statement, held.reshape(result.shape), prior)


def language_of(result: Result) -> Language:
    """Return the language of statements about the network of a fit."""
    labels = [str(label) for label in result.labels] or None
    return Language(result.graph, labels, display_of(result.model).signed)


def edge_draws(result: Result) -> Iterator[np.ndarray]:
    """Read the number of each edge in all draws, (n, n_groups, n_edges)."""
    display = display_of(result.model)
    for theta in in_turn(variable(result.tree, "theta")):
        weights = display.numbers(theta)
        yield weights if weights.ndim == 3 else weights[:, None]


def prior_draws(result: Result, edges: Any, n_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Draw the numbers of edges from the prior, (n, n_groups, n_edges); nothing where that cannot be."""
    display = display_of(result.model)
    sizes = np.diff(display.edge_starts)[edges]
    width = max(1, _BLOCK // max(1, len(result.labels or "1") * int(sizes.sum())))
    for start in range(0, n_draws, width):
        theta = result.priors.draw(np.asarray(edges), sizes, min(width, n_draws - start), rng)
        if theta is None:
            return
        yield display.shown_edges(theta, np.asarray(edges))


def _of_function(result: Result, function: Callable[..., Any], n_prior: int, rng: np.random.Generator) -> Probability:
    def held_in(blocks: Iterator[np.ndarray]) -> np.ndarray:
        return np.array([bool(function(*_graphs(result, weights))) for block in blocks for weights in block])

    held = held_in(edge_draws(result))
    prior = held_in(prior_draws(result, np.arange(result.graph.n_edges), n_prior, rng))
    name = function.__name__ if isinstance(function, FunctionType) else type(function).__name__
    return probability_of(name, held.reshape(result.shape), prior if len(prior) else None)


def _graphs(result: Result, weights: np.ndarray) -> list[nx.Graph]:
    """Build the network of each group of people in a draw, of weights (n_groups, n_edges)."""
    import networkx as nx

    names, graphs = result.graph.names, []
    for of_group in weights:
        graph = nx.Graph()
        graph.add_nodes_from(names)
        for e in np.flatnonzero(of_group):
            u, v = result.graph.edges[e]
            graph.add_edge(names[u], names[v], weight=float(of_group[e]))
        graphs.append(graph)
    return graphs
