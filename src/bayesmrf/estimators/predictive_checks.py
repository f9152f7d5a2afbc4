"""Posterior predictive checks: tables simulated from draws, with the rows and missing values of the data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..base import EVERY_FAMILY
from ..blas import one_thread
from ..data.states import States, are_ordered, levels_of
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
from ..rng import OTHER, descendant
from ..samplers import gibbs
from .partly_seen import log_potential

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


class Group:
    """The data of one group of people, and tables like them from draws.

    All states are listed where they are few; elsewhere chains that start at the rows follow the draws. Missing values
    are drawn given the others by each draw, so that data and replicates are whole tables: which values are missing
    may depend on those that are not.
    """

    def __init__(self, model: Any, states: States, central: np.ndarray, ordered: Sequence[bool], rng: Any) -> None:
        n_nodes, self.model, self.rng = len(states.names), model, rng
        n = int(min(states.n_samples, max(1, _ENTRIES // n_nodes)))
        at = ((np.arange(n) + 0.5) * (states.n_samples / n)).astype(np.int64)
        if states.weights is not None:
            at = np.searchsorted(np.cumsum(states.weights), at, side="right")
        self.numbers, x = states.given_rows[at], states.values[at]
        self.gone = x < 0
        most = np.array([np.bincount(c[c >= 0], minlength=1).argmax() for c in x.T])
        self.x = np.where(self.gone, most, x).astype(np.int8)
        sizes = [int(size) for size in sizes_of(model)]
        self.quantities = quantities(self.x, sizes, ordered, central)
        self.listed = np.indices(sizes, dtype=np.int8).reshape(n_nodes, -1).T if prod(sizes) <= _STATES else None
        self.chains: Any = None
        self.hidden: Any = None
        self.hidden_chains: Any = None
        if self.gone.any():
            self.some = np.flatnonzero(self.gone.any(axis=1))
            self.hidden = clamp(model, x[self.some])

    @property
    def work(self) -> float:
        """What a table takes: updates of nodes by edges."""
        return 0.0 if self.listed is not None else 2.0 * len(self.x) * self.model.n_edges * _SWEEPS[1]

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
        seen = _by_parts(model, theta, self.x, form)
        mean = drawn_log_p.mean()
        return self.x, other, mean - seen, mean - drawn_log_p


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


def checks_of(estimator: Any, parts: Sequence[tuple[int | None, States]], rng: np.random.Generator) -> Checked:
    """Compare the data of each group of people with tables from draws that are evenly spread over all."""
    model, draws = estimator._model(), variable(estimator.posterior_, "theta")
    names, coding = estimator._names, estimator._coding
    ordered = are_ordered(coding, len(names))
    if estimator._family.shares_levels and model.n_states > 2:
        ordered = (False,) * len(names)
    theta = np.atleast_2d(estimator.theta_)
    strength = display_of(model).strength(theta).sum(axis=0)
    central = np.zeros(len(names))
    np.add.at(central, estimator.edges_.ravel(), np.repeat(strength, 2))
    order = np.argsort(-central, kind="stable")
    groups = [Group(model, states, order, ordered, rng) for _, states in parts]
    most = sum(group.work for group in groups)
    most = FIRST * int(np.clip(_WORK / max(most, 1), ENOUGH, MOST) // FIRST)
    numbers = np.linspace(0, draws.shape[0] * draws.shape[1] - 1, most).astype(int)
    sparse = np.arange(most) % (most // FIRST) == 0
    seen: list[list[Any]] = [[] for _ in parts]
    for some in (numbers[sparse], numbers[~sparse]):
        for few in np.array_split(some, -(-len(some) * prod(draws.shape[2:]) // _BLOCK)):
            unique, place = np.unique(few, return_inverse=True)
            thetas = at_draws(draws, unique)
            for k in place:
                for (g, _), group, found in zip(parts, groups, seen, strict=True):
                    x, other, seen_nats, other_nats = group.tables(thetas[k] if g is None else thetas[k][g])
                    of = group.quantities.of
                    of_data = of(x) if group.hidden is not None or not found else found[0][0]  # of equal tables once
                    ahead = np.searchsorted(np.sort(other_nats), seen_nats, side="left")
                    found.append((of_data, of(other), seen_nats, other_nats.max(), 1 - ahead / len(other_nats)))
        families = [_family(name, groups, seen) for name in FAMILIES]
        if are_inside(families):
            break
    names_of = {name: _names(estimator, name, parts, groups) for name in FAMILIES}
    frame = judged(families, names_of)
    return Checked(frame, len(seen[0]), sum(len(group.x) for group in groups), _are_yes_no(estimator))


def _family(name: str, groups: Sequence[Group], seen: list[list[Any]]) -> Family:
    """Return a family of checks, of all groups of people together."""
    if name == "rows":
        nats = np.concatenate([np.array([one[2] for one in found]) for found in seen], axis=1)
        largest = np.max([[one[3] for one in found] for found in seen], axis=0)
        tails = np.concatenate([np.mean([one[4] for one in found], axis=0) for found in seen])
        return Family(name, nats, tails[None], np.zeros(nats.shape[1]), largest)
    parts = []
    for group, found in zip(groups, seen, strict=True):
        n_seen = 1 if group.hidden is None else len(found)  # equal tables are equal statistics
        first, second = ([one[i] for one in found[:n]] for i, n in ((0, n_seen), (1, None)))
        observed, replicated = (np.array([one[name] for one in tables]) for tables in (first, second))
        lower = ("means", "pairs", "moments")
        given, others = (
            np.array([np.concatenate([one[k] for k in lower]) for one in tables]) for tables in (first, second)
        )
        parts.append(less_given(observed, replicated, given, others, group.quantities.given(name)))
    n_seen = max(len(part[0]) for part in parts)
    observed = np.concatenate([np.broadcast_to(part[0], (n_seen, part[0].shape[1])) for part in parts], axis=1)
    replicated, expected = (np.concatenate([part[i] for part in parts], axis=-1) for i in (1, 2))
    return Family(name, observed, replicated, expected)


def _names(
    estimator: Any, name: str, parts: Sequence[tuple[int | None, States]], groups: Sequence[Group]
) -> list[Name]:
    """Return the group of people, name and unit of each check of a family."""
    nodes, found = [shown(n) for n in estimator._names], list[Name]()
    for (g, _), group in zip(parts, groups, strict=True):
        q, people = group.quantities, "" if g is None else str(estimator.groups_[g])
        if name == "answers":
            what = answer_names(estimator, q)
        elif name in ("pairs", "triples"):
            what = [_listed([nodes[i] for i in some]) for some in (q.pairs if name == "pairs" else q.triples)]
        elif name == "sums":
            what = sum_names(q)
        else:
            what = [f"row {n}" for n in group.numbers]
        unit = len(group.x) if name in ("pairs", "triples") and not _are_yes_no(estimator) else 1
        found += [Name(people, one, unit) for one in what]
    return found


def are_inside(families: Sequence[Family]) -> bool:
    """Return whether no family needs further replicates."""
    return min(family.largest_p for family in families if family.observed.shape[1]) > _DOUBTFUL


def answer_names(estimator: Any, q: Quantities) -> list[str]:
    """Return the names of the answers whose shares are compared."""
    nodes, coding = estimator._names, estimator._coding
    return [f"{shown(nodes[i])} = {shown(str(levels_of(coding, int(i))[k]))}" for i, k in q.answers]


def sum_names(q: Quantities) -> list[str]:
    """Return the names of the bins of the sum."""
    ends = [-1, *q.bounds.tolist()]
    bins = [f"{a + 1}" if b == a + 1 else f"{a + 1} to {b}" for a, b in pairwise(ends)]
    return [*bins, f"above {ends[-1]}"]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _are_yes_no(estimator: Any) -> bool:
    return bool(estimator._model().n_states == 2)


def can_be_checked(estimator: Any) -> bool:
    """Return whether the model has the compiled form that chains need, and not too many nodes."""
    return estimator._model().family in EVERY_FAMILY and len(estimator._names) <= _NODES


def check_fit(estimator: Any, parts: Sequence[States], seeds: np.random.SeedSequence, is_told: bool) -> None:
    """Check a fit by its own data, store the checks in its tree, and tell of what is outside if chains have converged.

    A run of fewer than 200 draws, or with draws that are no numbers, is not checked.
    """
    draws = variable(estimator.posterior_, "theta")
    is_short = draws.shape[0] * draws.shape[1] < FIRST
    if is_short or not can_be_checked(estimator) or invalid_values(estimator.posterior_):
        return
    several = len(parts) > 1
    with one_thread():
        found = checks_of(estimator, [(g if several else None, part) for g, part in enumerate(parts)],
                          descendant(seeds, _KEY))  # fmt: skip
    keep_checks(estimator, found, is_told)


def keep_checks(estimator: Any, found: Checked, is_told: bool) -> None:
    """Store the checks of a fit in its tree, and tell of what is outside."""
    add_checks(estimator.posterior_, *found)
    for sentence in sentences(found.frame, found.is_counted) if is_told else ():
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
