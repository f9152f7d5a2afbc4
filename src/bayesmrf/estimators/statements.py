"""Statements about the network, with their posterior and prior probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..declare.rule import NONE, SEED, Rule, either, integer
from ..models.bases import edge_starts
from ..models.display import ParameterDisplay, display_of
from ..results.blocks import in_turn, variable
from ..results.probability import Probability, probability_of
from ..results.statements import KnownPrior, Language, edges_of, exact_prior, holds
from ..rng import as_seed_sequence
from .prior_draws import EdgesPrior, all_absent, draw_edges, draw_groups, has_one_density, prior_of
from .statistics import Statistics

if TYPE_CHECKING:
    import networkx as nx

_STATEMENT = Rule(
    "a text, such as 'A--B > A--C', or a function of a graph", lambda v: isinstance(v, str) or callable(v)
)
_N_PRIOR = either(NONE, integer(1, 10**9))
_DRAWS, _GRAPHS = 100_000, 2_000  # from the prior, of statements in words, and of functions of a graph
_BLOCK = 2**22  # numbers of draws from the prior that are an array at a time


class Statements(Statistics):
    """Estimators with draws of networks, in which statements hold or do not."""

    _of_edges: ClassVar[tuple[str, ...]] = ()  # priors of edges: of all groups, or of differences and of baselines

    def probability(
        self, statement: str | Callable[..., Any], n_prior: int | None = None, random_state: Any = 0
    ) -> Probability:
        """Compute the posterior probability of a statement, its prior probability, and its Bayes factor.

        Parameters
        ----------
        statement : str or callable
            Comparisons of the weights of edges, joined by ``&``: ``"A--B > A--C"``, ``"A--B = 0 & B--C > 0.5"``. The
            weight of an absent edge is 0. Names with signs such as ``--`` or ``&`` in them are in quotes; names with
            spaces need none. With several groups of people each edge has its group: ``"A--B [g] > A--B [h]"``. An edge
            with a table of log odds has its strength, and so has an edge that it is compared with: the size of its
            weight. Or a function that returns whether a networkx graph of the edges
            that exist, with the attribute ``weight``, is as stated; of several groups of people, of the graph of each.
        n_prior : int, optional
            Number of draws from the prior; by default 100,000, and 2,000 for a function.
        random_state : int, Generator, RandomState or None
            For these.

        Returns
        -------
        Probability
            With its Monte Carlo error, the prior probability (exact for comparisons of different edges with 0, or one
            of two edges or of an edge in two groups; else simulated), and the
            Bayes factor against the complement with the error of its log10. The prior probability of groups of edges
            (`GroupedMRF`), of parameters that are shared, and of priors that cannot be drawn from is not known: it is
            NaN.

        Raises
        ------
        OptionError
            If the statement cannot be read.
        """
        check_is_fitted(self)
        _STATEMENT.check("statement", statement)
        _N_PRIOR.check("n_prior", n_prior)
        SEED.check("random_state", random_state)
        rng = np.random.default_rng(as_seed_sequence(random_state))
        self._tree_with_weights()
        if callable(statement):
            return self._of_function(statement, n_prior or _GRAPHS, rng)
        clauses = self._language().read(statement)
        edges = edges_of(clauses)
        held = np.concatenate([holds(clauses, w[..., edges], edges) for w in self._edge_draws()])
        known = KnownPrior(self._prior_absent, self._prior_equal, self._are_exchangeable)
        prior: Any = exact_prior(clauses, known)
        if prior is None:
            found = [holds(clauses, w, edges) for w in self._prior_draws(edges, n_prior or _DRAWS, rng)]
            prior = np.concatenate(found) if found else None
        return probability_of(statement, held.reshape(self._shape), prior)

    @property
    def _labels(self) -> Sequence[Any]:
        """Labels of the groups of people, if there are several."""
        return ()

    @property
    def _shape(self) -> tuple[int, int]:
        sizes = self.posterior_["posterior"].sizes
        return sizes["chain"], sizes["draw"]

    def _language(self) -> Language:
        labels = [str(label) for label in self._labels] or None
        return Language(self._graph, labels, self._display.signed)

    @property
    def _display(self) -> ParameterDisplay:
        return display_of(self._model())

    def _edge_draws(self) -> Iterator[np.ndarray]:
        """Read the number of each edge in all draws, (n, n_groups, n_edges)."""
        display = self._display
        for theta in in_turn(variable(self.posterior_, "theta")):
            weights = display.numbers(theta)
            yield weights if weights.ndim == 3 else weights[:, None]

    def _prior_draws(self, edges: Any, n_draws: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Draw the numbers of some edges from the prior, (n, n_groups, n_edges); nothing where that cannot be."""
        display = self._display
        sizes = np.diff(display.edge_starts)[edges]
        width = max(1, _BLOCK // max(1, len(self._labels or "1") * int(sizes.sum())))
        for start in range(0, n_draws, width):
            theta = self._draw_prior(np.asarray(edges), sizes, min(width, n_draws - start), rng)
            if theta is None:
                return
            yield display.shown_edges(theta, np.asarray(edges))

    def _priors(self, edges: Any) -> list[EdgesPrior]:
        """Return the priors of edges that ``_of_edges`` names."""
        return [prior_of(self._object(name), self._graph, np.asarray(edges)) for name in self._of_edges]

    def _draw_prior(
        self, edges: np.ndarray, sizes: np.ndarray, n_draws: int, rng: np.random.Generator
    ) -> np.ndarray | None:
        """Draw the parameters of edges that have ``sizes`` of them from the prior, (n_draws, n_groups, n)."""
        priors = self._priors(edges)
        if len(priors) > 1:
            return draw_groups(priors[0], priors[1], len(self._labels), sizes, n_draws, rng)
        return draw_edges(priors[0], sizes, n_draws, rng) if priors else None

    def _prior_absent(self, edges: Sequence[int]) -> float | None:
        """Return the prior probability that some edges are all absent; None where it is not known exactly."""
        priors = self._priors(edges)
        known = [p for p in map(all_absent, priors) if p is not None]
        return float(np.prod(known)) if priors and len(known) == len(priors) else None

    def _prior_equal(self, edge: int) -> float | None:
        """Return the prior probability that an edge has the same number in two groups; None if it is not known.

        It has if the groups do not differ. Of two groups also tables of log odds without a baseline, which are opposite
        ones, have the same strength.
        """
        same, *base = [all_absent(prior) for prior in self._priors([edge])]
        if same is None or self._language().signed[edge] or len(self._labels) > 2:
            return same
        return None if base[0] is None else same + (1 - same) * base[0]

    def _are_exchangeable(self, edges: Sequence[int]) -> bool:
        """Return whether the sizes of two edges can change places in the prior."""
        sizes = np.diff(edge_starts(self._model()))[edges]
        return bool(self._of_edges) and len(set(sizes)) == 1 and all(map(has_one_density, self._priors(edges)))

    def _of_function(self, function: Callable[..., Any], n_prior: int, rng: np.random.Generator) -> Probability:
        every = np.arange(len(self.edges_))
        held = np.array([bool(function(*self._graphs(w))) for block in self._edge_draws() for w in block])
        drawn = self._prior_draws(every, n_prior, rng)
        prior = np.array([bool(function(*self._graphs(w))) for block in drawn for w in block])
        name = function.__name__ if isinstance(function, FunctionType) else type(function).__name__
        return probability_of(name, held.reshape(self._shape), prior if len(prior) else None)

    def _graphs(self, weights: np.ndarray) -> list[nx.Graph]:
        """Return the network of each group of people in a draw, of weights (n_groups, n_edges)."""
        import networkx as nx

        names, found = self._graph.names, []
        for own in weights:
            graph = nx.Graph()
            graph.add_nodes_from(names)
            for e in np.flatnonzero(own):
                u, v = self.edges_[e]
                graph.add_edge(names[u], names[v], weight=float(own[e]))
            found.append(graph)
        return found
