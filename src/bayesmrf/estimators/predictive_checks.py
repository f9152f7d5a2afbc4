"""Posterior predictive checks: tables simulated from draws, with the rows and missing values of the data."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..answers.predictions.partly_seen import log_potential
from ..base import EVERY_FAMILY
from ..data.check_columns import rows_with_answers
from ..data.row_weights import is_weighted
from ..data.states import States, are_ordered, levels_of
from ..declare.rule import SEED
from ..errors import DataError, ModelFitWarning
from ..findings import tell
from ..models.bases import sizes_of
from ..models.categorical import compiled_form, draw_numbers, states_of, without_absent
from ..models.clamped_categorical import clamp
from ..models.display import display_of
from ..names import shown
from ..results.blocks import at_draws, variable
from ..results.invalid_draws import invalid_values
from ..results.predictive_checks import (
    FAMILIES,
    Family,
    Name,
    Quantities,
    add_checks,
    judged,
    less_given,
    quantities,
    sentences,
)
from ..results.surveyed import refuse_surveyed
from ..rng import OTHER, as_seed_sequence, descendant
from ..samplers import gibbs
from ..threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

FIRST, MOST, _DOUBTFUL = 200, 1000, 0.02  # replicates; the rest are made where a family has a p-value below
ENOUGH = 400  # with which a deviation that no replicate has is outside
_WORK = 2**31  # updates of nodes by edges, by which there are fewer
_BLOCK = 2**20  # numbers that are an array at a time
_ENTRIES = 2**16  # values of a table, at most: of the rows, evenly spaced ones are checked
_STATES = 2**9  # that are listed
_NODES = 200
_SWEEPS = 50, 10  # before the first draw, and between two
_KEY = OTHER + 3


class Checked(NamedTuple):
    """The checks of a table."""

    frame: pd.DataFrame
    n_replicates: int
    n_rows: int
    is_counted: bool  # whether answers are yes or no, and products of them counts


class Table:
    """Observed rows, and what is computed of them and of tables like them from draws.

    Parameters
    ----------
    estimator : Estimator
    quantities : Quantities
    n_rows : int
    people : str
        Their label, if there are several groups of people.
    """

    is_completed = False  # by each draw, as values are missing

    def __init__(self, estimator: Any, quantities: Quantities, n_rows: int, people: str = "") -> None:
        self.quantities, self.n_rows, self.people = quantities, n_rows, people
        self.nodes, coding = [shown(n) for n in estimator._names], estimator._coding
        self.answers = [f"{self.nodes[i]} = {shown(str(levels_of(coding, int(i))[k]))}" for i, k in quantities.answers]
        self.is_counted = quantities.scores.shape[1] == 2  # answers are yes or no, and products of them counts

    @abstractmethod
    def compare(self, draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the statistics of the data, and of a table like them from a draw, by family; and what is given."""

    def given(self, family: str) -> np.ndarray:
        """Return, for each statistic of a family, the places of what is given; see `Quantities.given`."""
        return self.quantities.given(family)

    def names(self, family: str) -> list[Name]:
        """Return the group of people, name and unit of each check of a family."""
        what, is_product = self.what(family)
        unit = self.n_rows if is_product and not self.is_counted else 1
        return [Name(self.people, one, unit) for one in what]

    def what(self, family: str) -> tuple[list[str], bool]:
        """Return the name of each check of a family, and whether they are products of answers."""
        if family == "answers":
            return self.answers, False
        if family == "sums":
            ends = [-1, *self.quantities.bounds.tolist()]
            bins = [f"{a + 1}" if b == a + 1 else f"{a + 1} to {b}" for a, b in pairwise(ends)]
            return [*bins, f"above {ends[-1]}"], False
        places = self.quantities.triples if family == "triples" else self.quantities.pairs
        return [_listed([self.nodes[i] for i in place]) for place in places], True


class Rows(Table):
    """The rows of one group of people, and tables like them from draws.

    All states are listed where they are few; elsewhere chains that start at the rows follow the draws. Missing values
    are drawn given the others by each draw, so that data and replicates are whole tables: which values are missing
    may depend on those that are not.
    """

    def __init__(
        self, estimator: Any, number: int | None, states: States, central: np.ndarray, ordered: Sequence[bool], rng: Any
    ) -> None:
        model = estimator._model()
        n_nodes, self.model, self.rng = len(states.names), model, rng
        n = int(min(states.n_samples, max(1, _ENTRIES // n_nodes)))
        at = ((np.arange(n) + 0.5) * (states.n_samples / n)).astype(np.int64)
        if states.weights is not None:
            at = np.searchsorted(np.cumsum(states.weights), at, side="right")
        self.number, self.numbers, x = number, states.given_rows[at], states.values[at]
        self.gone = x < 0
        most = np.array([np.bincount(c[c >= 0], minlength=1).argmax() for c in x.T])
        self.x = np.where(self.gone, most, x).astype(np.int8)
        sizes = [int(size) for size in sizes_of(model)]
        people = "" if number is None else str(estimator.groups_[number])
        super().__init__(estimator, quantities(self.x, sizes, ordered, central), n, people)
        self.seen: dict[str, Any] | None = None  # statistics of the data
        self.listed = np.indices(sizes, dtype=np.int8).reshape(n_nodes, -1).T if prod(sizes) <= _STATES else None
        self.chains: Any = None
        self.hidden: Any = None
        self.hidden_chains: Any = None
        self.is_completed = bool(self.gone.any())
        if self.is_completed:
            self.some = np.flatnonzero(self.gone.any(axis=1))
            self.hidden = clamp(model, x[self.some])

    @property
    def work(self) -> float:
        """What a table takes: updates of nodes by edges."""
        return 0.0 if self.listed is not None else 2.0 * len(self.x) * self.model.n_edges * _SWEEPS[1]

    def compare(self, draw: np.ndarray) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the statistics of the data, and of a table from a draw; see `Table`."""
        x, other, nats, other_nats = self.tables(draw if self.number is None else draw[self.number])
        if self.is_completed or self.seen is None:
            self.seen = self.quantities.of(x)
        less = 1 - np.searchsorted(np.sort(other_nats), nats, side="left") / len(other_nats)
        return self.seen | {"rows": nats}, self.quantities.of(other) | {"largest": other_nats.max(), "less": less}

    def what(self, family: str) -> tuple[list[str], bool]:
        """Return the name of each check of a family, and whether they are products of answers."""
        return ([f"row {n}" for n in self.numbers], False) if family == "rows" else super().what(family)

    def tables(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return the data, completed, and a table from the model at theta; and how improbable their rows are (nats)."""
        model, rng, n = self.model, self.rng, len(self.x)
        form = without_absent(compiled_form(model, theta))
        if self.hidden is not None:
            hidden = without_absent(compiled_form(self.hidden, theta))
            self.hidden_chains = _follow(self.hidden, hidden, self.hidden_chains, 1, rng)
            drawn = gibbs.to_states(self.hidden_chains, 1, states_of(model))[0]
            rows, nodes = self.hidden.cells.T
            self.x[self.some[rows], nodes] = drawn
        if self.listed is not None:
            log_p = log_potential(model, theta, self.listed, form)
            which = draw_numbers(log_p, n, rng)
            other = self.listed[which]
            drawn_log_p = log_p[which]
        else:
            self.chains = _follow(model, form, self.chains, n, rng, self.x)
            other = gibbs.to_states(self.chains, n, states_of(model))
            drawn_log_p = _by_parts(model, theta, other, form)
        data_log_p = _by_parts(model, theta, self.x, form)
        mean = drawn_log_p.mean()
        return self.x, other, mean - data_log_p, mean - drawn_log_p


def _by_parts(model: Any, theta: np.ndarray, x: np.ndarray, form: Any) -> np.ndarray:
    """Return the log potential of rows, a part of them after the other, as each has a number for each edge."""
    parts = np.array_split(x, -(-len(x) * max(len(form.edges), 1) // _BLOCK))
    return np.concatenate([log_potential(model, theta, part, form) for part in parts])


def _follow(model: Any, form: Any, chains: Any, n: int, rng: Any, start: np.ndarray | None = None) -> Any:
    """Return chains of the model, moved to the theta of its ``form``."""
    n_sweeps = _SWEEPS[chains is not None]
    if chains is None:
        chains = gibbs.start(n, model.graph.n_nodes, rng, start, states_of(model))
    gibbs.sweep(form, chains, n_sweeps)
    return chains


def tables_of(estimator: Any, parts: Sequence[tuple[int | None, States]], rng: np.random.Generator) -> list[Rows]:
    """Return the tables of groups of people; pairs and triples are those of the most connected nodes."""
    model, names = estimator._model(), estimator._names
    ordered = are_ordered(estimator._coding, len(names))
    if estimator._family.shares_levels and model.n_states > 2:
        ordered = (False,) * len(names)
    strength = display_of(model).strength(np.atleast_2d(estimator.theta_)).sum(axis=0)
    central = np.zeros(len(names))
    np.add.at(central, estimator.edges_.ravel(), np.repeat(strength, 2))
    order = np.argsort(-central, kind="stable")
    return [Rows(estimator, g, states, order, ordered, rng) for g, states in parts]


def compared(
    tables: Sequence[Table],
    families: Sequence[str],
    work: float,
    n_draws: int,
    read: Callable[[np.ndarray], Iterable[Any]],
) -> Checked:
    """Compare tables with tables like them from draws that are evenly spread over all.

    Parameters
    ----------
    tables : sequence of Table
    families : sequence of str
        Names of what is compared.
    work : float
        What the tables of a draw take, by which there are fewer.
    n_draws : int
    read : callable
        Returns draws by their numbers, in turn.
    """
    most = FIRST * int(np.clip(_WORK / max(work, 1), ENOUGH, MOST) // FIRST)
    numbers = np.linspace(0, n_draws - 1, most).astype(int)
    sparse = np.arange(most) % (most // FIRST) == 0
    pairs: list[list[Any]] = [[] for _ in tables]
    for batch in (numbers[sparse], numbers[~sparse]):
        for draw in read(batch):
            for table, of_table in zip(tables, pairs, strict=True):
                of_table.append(table.compare(draw))
        results = [_family(name, tables, pairs) for name in families]
        if min(family.largest_p for family in results if family.observed.shape[1]) > _DOUBTFUL:
            break
    frame = judged(results, {name: [one for table in tables for one in table.names(name)] for name in families})
    return Checked(frame, len(pairs[0]), sum(table.n_rows for table in tables), tables[0].is_counted)


def in_parts(draws: Any, numbers: np.ndarray) -> Iterator[np.ndarray]:
    """Read draws by their numbers, a part of them after the other."""
    for part in np.array_split(numbers, -(-len(numbers) * prod(draws.shape[2:]) // _BLOCK)):
        yield from at_draws(draws, part)


def _family(name: str, tables: Sequence[Table], pairs: list[list[Any]]) -> Family:
    """Gather a family of checks from all tables."""
    if name == "rows":
        nats = np.concatenate([np.array([one[name] for one, _ in of_table]) for of_table in pairs], axis=1)
        largest = np.max([[other["largest"] for _, other in of_table] for of_table in pairs], axis=0)
        tails = np.concatenate([np.mean([other["less"] for _, other in of_table], axis=0) for of_table in pairs])
        return Family(name, nats, tails[None], np.zeros(nats.shape[1]), largest)
    parts = []
    for table, of_table in zip(tables, pairs, strict=True):
        # Equal tables have equal statistics.
        first = [one for one, _ in (of_table if table.is_completed else of_table[:1])]
        second = [other for _, other in of_table]
        observed, conditions = (np.array([one[key] for one in first]) for key in (name, "given"))
        replicated, others = (np.array([other[key] for other in second]) for key in (name, "given"))
        parts.append(less_given(observed, replicated, conditions, others, table.given(name)))
    n_seen = max(len(part[0]) for part in parts)
    observed = np.concatenate([np.broadcast_to(part[0], (n_seen, part[0].shape[1])) for part in parts], axis=1)
    replicated, expected = (np.concatenate([part[i] for part in parts], axis=-1) for i in (1, 2))
    return Family(name, observed, replicated, expected)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def can_be_checked(estimator: Any) -> bool:
    """Return whether the model has the compiled form that chains need, and not too many nodes."""
    return estimator._model().family in EVERY_FAMILY and len(estimator._names) <= _NODES


def checks_of(estimator: Any, parts: Sequence[tuple[int | None, States]], rng: np.random.Generator) -> Checked:
    """Compare the rows of each group of people with tables from draws."""
    draws, tables = variable(estimator.posterior_, "theta"), tables_of(estimator, parts, rng)
    work = sum(table.work for table in tables)
    return compared(tables, FAMILIES, work, draws.shape[0] * draws.shape[1], lambda numbers: in_parts(draws, numbers))


def check_fit(estimator: Any, setup: Any, seeds: np.random.SeedSequence, is_told: bool) -> None:
    """Check a fit by its own data, store the checks in its tree, and tell of what is outside if chains have converged.

    A run of fewer than 200 draws, or with draws that are no numbers, is not checked.
    """
    draws = variable(estimator.posterior_, "theta")
    if draws.shape[0] * draws.shape[1] < FIRST or invalid_values(estimator.posterior_):
        return
    with one_thread():
        checked = setup.check(estimator, setup, descendant(seeds, _KEY))
    if checked is None:
        return
    add_checks(estimator.posterior_, *checked)
    for sentence in sentences(checked.frame, checked.is_counted) if is_told else ():
        tell(sentence, ModelFitWarning)


def check_table(estimator: Any, parts: Sequence[tuple[int | None, States]], rng: np.random.Generator) -> pd.DataFrame:
    """Return the checks of a table.

    Raises
    ------
    DataError
        If the model has no compiled form, or there are too many nodes.
    """
    if not can_be_checked(estimator):
        raise DataError(f"predictive_checks needs a model of the package and at most {_NODES} nodes; draw tables with "
                        "sample, and compare their statistics with those of the data.")  # fmt: skip
    with one_thread():
        return checks_of(estimator, parts, rng).frame


def checks_of_fit(estimator: Any, setup: Any, rng: np.random.Generator) -> Checked | None:
    """Compare the data of a fit with tables from draws; None of survey weights, which tables do not have."""
    parts: Sequence[States] = setup.parts
    if is_weighted(parts) or not can_be_checked(estimator):
        return None
    return checks_of(estimator, list(enumerate(parts)) if len(parts) > 1 else [(None, parts[0])], rng)


def check_new(estimator: Any, X: Any, sample_weight: Any, random_state: Any, groups: Any = None) -> pd.DataFrame:
    """Return the checks of a new table, whose rows may have groups of people; see `bayesmrf.SpikeSlabMRF`."""
    mixture = estimator._mixture
    refuse_surveyed(estimator.posterior_, "predictive_checks", "tables from the posterior have no weights")
    states = mixture.read(X, sample_weight)
    SEED.check("random_state", random_state)
    rng = np.random.default_rng(as_seed_sequence(estimator.random_state if random_state is None else random_state))
    kept = rows_with_answers(states.values, states.weights)
    parts = [(g, np.intersect1d(rows, kept)) for g, rows in mixture.codes(groups, X, len(states.values))]
    return check_table(estimator, [(g, states.at(rows)) for g, rows in parts if len(rows)], rng)
