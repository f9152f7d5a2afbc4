"""Rows of new data of which values are missing: what is missing is summed out, or drawn given the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ... import metrics
from ...base import EVERY_FAMILY
from ...data.read import Reading, read_new
from ...declare.rule import Rule, is_integer, is_list
from ...errors import DataError, OptionError, argument, in_words
from ...inference import annealed
from ...inference.auto import is_cheap
from ...inference.elimination.engine import Elimination
from ...inference.elimination.many_states import categorical_log_z
from ...inference.elimination.passes import log_z_of
from ...inference.registry import check_model
from ...models import categorical, pairwise
from ...models.bases import sizes_of
from ...models.categorical import Categorical, compiled_form, draw_numbers, is_categorical, states_of
from ...models.clamped_categorical import clamp
from ...samplers.tempered import Tempered
from .normaliser import warn_if_summed_roughly

ANNEALING = 128, 200  # chains and temperatures behind a sum under one of many draws that elimination does not reach
_LISTED = 2**16  # states of the missing values of a row of a model that has no compiled form
_COMPLETED = 64  # draws of missing values over which probabilities are averaged where sums are not exact
_MOST_BITS = 16  # of a joint state of nodes that are predicted together
_NODES = Rule("a list of nodes, by name or by number", is_list, ([0],))
_TABLE = 2**22  # entries of the probabilities of joint states of a block of rows
_SEED = 0  # the same for all models, so that equal models have equal sums

Present = Callable[[np.ndarray], tuple[Any, np.ndarray]]


class PartlySeen:
    r"""Rows of which some values are missing, under one model at several parameters.

    .. math:: \log \sum_{x_H} \exp(\theta \cdot s(x_S, x_H))

    of each row, over its missing values H, is computed by elimination on the graph of H, with a plan that rows with the
    same missing values share. Where that is too wide, it is estimated by annealed importance sampling of the row.

    Parameters
    ----------
    model : Model
    rows : (n, n_nodes) int8 array
        -1 where a value is missing.
    present : callable, optional
        Returns the model on the edges that exist at theta, and its parameters, for graphs that are too wide with all.
    """

    def __init__(self, model: Any, rows: np.ndarray, present: Present | None = None) -> None:
        self.model, self.rows, self.present = model, rows, present or (lambda theta: (model, theta))

    @cached_property
    def _union(self) -> Any:
        """The missing values of all rows as one model."""
        return clamp(self.model, self.rows)

    @cached_property
    def _starts(self) -> tuple[np.ndarray, np.ndarray]:
        """First node and first edge of each row in the union."""
        missing, (u, v) = self.rows < 0, self.model.graph.edges.T
        counts = missing.sum(axis=1), (missing[:, u] & missing[:, v]).sum(axis=1)
        nodes, edges = (np.append(0, np.cumsum(n)) for n in counts)
        return nodes, edges

    @property
    def is_exact(self) -> np.ndarray:
        """Whether the sum of each row is exact, whichever edges exist."""
        return np.array([plan is not None for plan in self._plans], dtype=bool)

    @cached_property
    def _plans(self) -> list[Any]:
        """A plan of elimination for each row; None where it is too wide."""
        if self.model.family not in EVERY_FAMILY:
            return [()] * len(self.rows)  # all states are listed
        engine, known = Elimination(), dict[bytes, Any]()
        for row in self.rows:
            key = (row < 0).tobytes()
            if key not in known:
                one: Any = clamp(self.model, row[None])
                known[key] = engine.prepare(one) if is_cheap(one.graph, states_of(one)) else None
        return [known[(row < 0).tobytes()] for row in self.rows]

    def log_sums(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log of the sum of each row, and its standard error, which is 0 where the sum is exact."""
        error = np.zeros(len(self.rows))
        if self.model.family not in EVERY_FAMILY:
            return np.array([np.logaddexp.reduce(_listed(self.model, theta, row)[1]) for row in self.rows]), error
        whole, form = compiled_form(self.model, theta), compiled_form(self._union, theta)
        many = isinstance(form, Categorical)
        nodes, edges = self._starts
        # What does not depend on the missing values: log potentials of the whole rows in one state of them, less those
        # of the missing values themselves.
        low = form.coupling[:, 0, 0] if form.coupling.ndim > 1 else form.coupling
        fields = form.field[:, 0] if many else -form.field
        sums = log_potential(self.model, theta, np.maximum(self.rows, 0), whole)
        sums -= np.add.reduceat(np.append(fields, 0.0), nodes[:-1]) * (np.diff(nodes) > 0)
        sums -= np.add.reduceat(np.append(low, 0.0), edges[:-1]) * (np.diff(edges) > 0)
        log_z = categorical_log_z if many else log_z_of
        for i, plan in enumerate(self._plans):
            if plan is not None:
                at, to = slice(*edges[i : i + 2]), slice(*nodes[i : i + 2])
                sums[i] += log_z(plan, form.coupling[at], form.field[to])
                continue
            model, existing = self.present(theta)
            one: Any = clamp(model, self.rows[i][None])
            if is_cheap(one.graph, states_of(one)):
                sums[i] = Elimination().infer(one, existing, Elimination().prepare(one), want="log_z").log_z
            else:
                estimate = annealed.forward(one, existing, np.random.default_rng(_SEED), *ANNEALING)
                sums[i], error[i] = estimate.log_z, estimate.standard_error
        return sums, error


def log_sums(
    values: np.ndarray,
    thetas: np.ndarray,
    log_z: Callable[[], Any],
    whole: Callable[[np.ndarray], Any],
    partly: Callable[[np.ndarray], PartlySeen],
) -> np.ndarray:
    """Compute the log of the sum over the missing values of each row at each theta, (n_thetas, n_rows).

    Rows without any value have ``log_z()``, (n_thetas,); those without a missing one ``whole(rows)``; and sums over
    missing values are those of ``partly(rows)``. A warning says if they are rough.
    """
    is_missing, log_p = values < 0, np.empty((len(thetas), len(values)))
    nothing, all_seen = is_missing.all(axis=1), ~is_missing.any(axis=1)
    if nothing.any():
        log_p[:, nothing] = np.asarray(log_z())[:, None]
    if all_seen.any():
        log_p[:, all_seen] = whole(values[all_seen])
    if (is_partial := ~(nothing | all_seen)).any():
        rows, place = np.unique(values[is_partial], axis=0, return_inverse=True)
        sums, errors = map(np.array, zip(*map(partly(rows).log_sums, thetas), strict=True))
        log_p[:, is_partial] = sums[:, place.ravel()]
        warn_if_summed_roughly(errors.mean(axis=0))
    return log_p


def draw_missing(
    model: Any, theta: np.ndarray, row: np.ndarray, n: int, rng: np.random.Generator, by: Tempered, own: Any = None
) -> tuple[np.ndarray, float]:
    """Draw the missing values of a row given the others ``n`` times: whole rows (n, n_nodes), and the share renewed.

    They are exact where elimination is cheap, else ``by`` parallel tempering. The ``own`` engine of a user draws rows
    without any value.
    """
    whole = (row < 0).all()
    if own is not None and whole:
        check_model(own, model)
        return own.sample(model, theta, own.prepare(model), n, rng), 1.0
    if not (model.family in EVERY_FAMILY or whole):
        every, log_weight = _listed(model, theta, row)
        return every[draw_numbers(log_weight, n, rng)], 1.0
    check_model(by, model)
    rows, share = np.tile(row, (n, 1)), 1.0
    if (row >= 0).all():
        return rows, share
    one: Any = model if whole else clamp(model, row[None])
    if is_cheap(one.graph, states_of(one)):
        rows[:, row < 0] = Elimination().sample(one, theta, Elimination().prepare(one), n, rng)
    else:
        rows[:, row < 0], share = by.draw(one, theta, n, rng)
    return rows, share


def _listed(model: Any, theta: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List a row with every state of its missing values, and the log potential of each.

    Raises
    ------
    DataError
        If there are too many.
    """
    sizes = [int(n) for n in sizes_of(model)[row < 0]]
    if prod(sizes) > _LISTED:
        raise DataError(
            f"{argument('X')} has a row with {len(sizes)} missing values, whose {prod(sizes):.3g} "
            f"states are more than the {_LISTED:,} that are summed over with the model {model.name!r}; leave it out."
        )
    every = np.tile(row, (prod(sizes), 1))
    every[:, row < 0] = np.indices(sizes).reshape(len(sizes), len(every)).T
    return every, log_potential(model, theta, every)


def log_potential(model: Any, theta: np.ndarray, states: np.ndarray, form: Any = None) -> np.ndarray:
    """Return theta . s(x) of each row of states, by the compiled ``form`` of the model if it is known."""
    if model.family not in EVERY_FAMILY:
        kinds, kind = np.unique(states, axis=0, return_inverse=True)
        return np.array([model.statistics(x[None]) @ theta for x in kinds])[kind.ravel()]
    form = compiled_form(model, theta) if form is None else form
    return (categorical if is_categorical(model) else pairwise).log_potential(form, states)


def conditional_log_probability(
    model: Any, thetas: np.ndarray, rows: np.ndarray, nodes: Sequence[int], present: Present | None = None
) -> np.ndarray:
    """Compute what `metrics.conditional_log_probability` does given the seen values of other nodes alone.

    It is exact for each theta where the sum over the missing values is. Elsewhere it is averaged over 64 draws of them,
    exact or by parallel tempering, of each theta.

    Parameters
    ----------
    model, thetas
        As there.
    rows : (n_samples, n_nodes) int8 array
        -1 where a value is missing; the values of ``nodes`` are ignored.
    nodes : sequence of int
    present : callable, optional
        As in `PartlySeen`.
    """
    n_states = model.n_states ** len(nodes)
    joint = np.array(np.unravel_index(np.arange(n_states), (model.n_states,) * len(nodes))).T
    rows, place = np.unique(_with(rows, nodes, 0), axis=0, return_inverse=True)
    exact, total = PartlySeen(model, rows).is_exact, np.full((len(rows), n_states), -np.inf)
    for part in np.array_split(np.flatnonzero(exact), 1 + exact.sum() * n_states // _TABLE):
        sums = PartlySeen(model, _with(np.repeat(rows[part], n_states, axis=0), nodes, np.tile(joint, (len(part), 1))))
        for theta in thetas if len(part) else ():
            log_p = sums.log_sums(theta)[0].reshape(-1, n_states)
            total[part] = np.logaddexp(total[part], log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True))
    rng, tempered, shares = np.random.default_rng(_SEED), Tempered(), [1.0]
    for i in np.flatnonzero(~exact):
        row = _with(rows[[i]], nodes, -1)[0]
        for theta in thetas:
            existing_model, existing = present(theta) if present else (model, theta)
            states, share = draw_missing(existing_model, existing, row, _COMPLETED, rng, tempered)
            each = metrics.conditional_log_probability(model, theta[None], states, nodes)
            total[i] = np.logaddexp(total[i], np.logaddexp.reduce(each, axis=0) - np.log(_COMPLETED))
            shares.append(share)
    tempered.warn_unless_renewed(float(np.mean(shares)))
    return total[place.ravel()] - np.log(len(thetas))


def _with(rows: np.ndarray, nodes: Sequence[int], values: Any) -> np.ndarray:
    """Copy rows with other values of some nodes."""
    changed = rows.copy()
    changed[:, nodes] = values
    return changed


def only(values: np.ndarray, nodes: Sequence[int]) -> np.ndarray:
    """Return rows that have the values of some nodes alone."""
    rows = np.full_like(values, -1)
    rows[:, nodes] = values[:, nodes]
    return rows


def numbers_of(nodes: Any, names: Sequence[str], option: str) -> list[int]:
    """Return the numbers of some different nodes, by name or by number; those of None are none.

    Raises
    ------
    OptionError
    """
    if nodes is None:
        return []
    _NODES.check(option, nodes)
    place = {name: i for i, name in enumerate(names)}
    numbered = all(map(is_integer, nodes)) and not all(str(g) in place for g in nodes)  # as ends of edges
    numbers = [g if numbered else place.get(str(g), g if is_integer(g) else -1) for g in nodes]
    for requested, node in zip(nodes, numbers, strict=True):
        if not 0 <= node < len(names):
            expected = f"names, or numbers from 0 to {len(names) - 1}"
            raise OptionError(f"{option}: {in_words(requested)} is not a node; give {expected}")
    if len(set(numbers)) < len(numbers):
        raise OptionError(option=option, got=nodes, expected="different nodes")
    return [int(i) for i in numbers]


def predicted(nodes: Any, names: Sequence[str], n_states: int) -> list[int]:
    """Return the numbers of nodes that are predicted together, which must not be too many."""
    numbers, most = numbers_of(nodes, names, "nodes"), int(_MOST_BITS / np.log2(n_states))
    if not 1 <= len(numbers) <= most:
        raise OptionError(option="nodes", got=nodes, expected=f"1 to {most} different nodes")
    return numbers


def held_rows(clamped: Any, reading: Reading) -> np.ndarray:
    """Return the states of the rows that are sampled, -1 where they are drawn; see `bayesmrf.SpikeSlabMRF.sample`."""
    import pandas as pd

    names = reading.names
    if clamped is None:
        return np.full((1, len(names)), -1, dtype=np.int8)
    if isinstance(clamped, Mapping | pd.Series):
        answers = dict(pd.Series(clamped, dtype=object))
        values = dict(zip(numbers_of([*answers], names, "clamped"), answers.values(), strict=True))
        clamped = pd.DataFrame({name: pd.Series([values.get(i)], dtype=object) for i, name in enumerate(names)})
    return read_new(clamped, None, reading).values
