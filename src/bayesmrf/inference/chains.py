"""Moments from samples: persistent chains, brief chains, and exact samples.

All estimate E[s(x)] by the mean of the statistics over states: of ``n_chains`` Gibbs chains after ``n_sweeps`` sweeps,
with different starts, or of an exact sampler. Their moments are random and not those of any log Z, so they do not
support accept steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from ..base import (
    BINARY,
    EVERY_FAMILY,
    MOMENTS,
    POTTS,
    SAMPLE,
    Engine,
    Inference,
    Kind,
    Model,
    SamplingEngine,
    Stateless,
)
from ..data.states import States
from ..declare.option import Checked, option
from ..declare.rule import COUNT, FLAG, JOBS, STATES, choice, optional
from ..errors import DataError, OptionError, argument
from ..models.categorical import Categorical, compiled_form, states_of, without_absent
from ..models.clamped import Clamped
from ..models.pairwise import Pairwise
from ..rng import generator_from_array, generator_to_array, spawn_generators
from ..samplers import swendsen_wang
from ..samplers.cftp import CouplingFromThePast
from ..samplers.following import Followed, move, swap, watch
from ..samplers.gibbs import LANES, Chains, counts, from_states, start, sweep, to_states
from .elimination.engine import Elimination, is_cheap

Form = Pairwise | Categorical
Memory = TypeVar("Memory", Chains, Followed, np.ndarray)
_MOVES = choice("gibbs", "swendsen-wang")


class _MomentsOfChains:
    """Base of engines that estimate moments from Markov chains on x."""

    moves: str

    answers = frozenset({MOMENTS})
    kind = Kind.RANDOM

    @property
    def families(self) -> frozenset[str]:
        """Supported models."""
        return EVERY_FAMILY if self.moves == "gibbs" else frozenset({BINARY, POTTS})


@dataclass(frozen=True)
class Persistent(_MomentsOfChains, Stateless):
    """Chains that continue from their states in the last call (Tieleman 2008).

    If theta moves slowly, the chains stay close to p(x | theta); at a fixed theta they converge to it. Chains that keep
    their mode get weights and a ladder of tempered chains (see `bayesmrf.samplers.following`).

    Parameters
    ----------
    moves
        Clusters mix faster in strongly ordered models.
    n_jobs
        The moments do not depend on it.
    tempered
        Of few chains, only those with Gibbs sweeps are watched.
    """

    n_chains: int = option(1024, STATES, "Chains.", label="particles", flag="n_particles")
    n_sweeps: int = option(1, COUNT, "Sweeps of each chain in each call.", label="Gibbs sweeps")
    moves: str = option("gibbs", _MOVES, "Sweeps of single nodes, or of clusters.")
    n_jobs: int = option(1, JOBS, "Threads of Gibbs sweeps; -1 is one for each core.")
    tempered: bool = option(True, FLAG, "Whether chains that keep their mode get a ladder.")

    name = "persistent"

    def start(self, model: Model, rng: np.random.Generator) -> Followed:
        """Start chains at uniform random states."""
        return watch(start(self.n_chains, model.graph.n_nodes, rng, n_states=states_of(model)))

    def infer(
        self, model: Model, theta: np.ndarray, plan: None, want: str = MOMENTS, state: Followed | None = None
    ) -> Inference:
        """Estimate the moments after ``n_sweeps`` sweeps; ``state`` is advanced in place and returned.

        Statistics are the ``round_trips`` of each chain so far, and whether the call was ``late``.
        """
        form, before = compiled_form(model, theta), _started(self.name, state)
        late = self._sweep(form, before)
        moments = _moments(model, form, before.chains, self.n_chains)
        followed = self._interim_check(form, before)
        stats: dict[str, float] = {"n_chains": self.n_chains, "n_sweeps": self.n_sweeps, "late": late}
        stats["round_trips"] = followed.round_trips
        return Inference(moments=moments, stats=stats, state=followed)

    def follow(self, model: Model, theta: np.ndarray, state: Followed) -> Followed:
        """Advance the chains in place as `infer` does, without moments."""
        form = compiled_form(model, theta)
        self._sweep(form, state, without_absent)
        return self._interim_check(form, state, without_absent(form))

    def _sweep(self, form: Form, followed: Followed, visited: Callable[[Form], Form] = lambda form: form) -> bool:
        """Advance the chains, and return whether the call is late; ``visited`` are forms for sweeps."""
        late, n_swept = False, self._n_swept(followed)
        if followed.ladder is not None:
            _advance(self, visited(followed.former(form)), followed.chains, n_swept)
            late = move(form, followed)
        if followed.ladder is None or late:
            _advance(self, visited(form), followed.chains, n_swept)
        return late

    def _interim_check(self, form: Form, followed: Followed, visited: Form | None = None) -> Followed:
        return swap(form, followed, self._n_swept(followed), self.n_sweeps, visited) if self.tempered else followed

    def _n_swept(self, followed: Followed) -> int:
        # Gibbs sweeps of the chains that fill up the last block cost nothing, those of Swendsen and Wang do.
        is_part = self.moves != "gibbs" and followed.ladder is None
        return self.n_chains if is_part else LANES * len(followed.chains.states)

    def states(self, model: Model, memory: Followed, n_samples: int) -> np.ndarray:
        """Return the states of the first ``n_samples`` chains, (n_samples, n_nodes)."""
        return to_states(memory.chains, n_samples, states_of(model))


@dataclass(frozen=True, eq=False)
class Brief(_MomentsOfChains, Checked):
    """Chains that restart at the data in each call: contrastive divergence (Hinton 2002).

    With few sweeps the moments are biased towards those of the data; those of `Persistent` are not.

    Parameters
    ----------
    states : (n_samples, n_nodes) array in {0, ..., n_states - 1}, optional
        The data. Estimators set them.
    n_chains
        By default one for each row; fewer restart at evenly spaced rows, as tables may be sorted.
    moves
        Clusters mix faster in strongly ordered models.
    n_jobs
        The moments do not depend on it.
    """

    states: np.ndarray | None = field(default=None, repr=False)
    n_chains: int | None = option(
        None, optional(STATES), "Chains.", label="particles", unset="one per observation", flag="n_particles"
    )
    n_sweeps: int = option(1, COUNT, "Sweeps of each chain in each call.", label="Gibbs sweeps")
    moves: str = option("gibbs", _MOVES, "Sweeps of single nodes, or of clusters.")
    n_jobs: int = option(1, JOBS, "Threads of Gibbs sweeps; -1 is one for each core.")

    name = "brief"

    def given(self, states: States) -> Brief:
        """Return the engine with its data; missing values are imputed at each start (see `restarts`)."""
        if states.survey is not None:
            raise DataError(f"{argument('survey_weight')} must be omitted with brief chains, which restart at whole "
                            f"rows; give {argument('engine', 'auto')}")  # fmt: skip
        if self.n_chains is not None and (states.values >= 0).all():
            return replace(self, states=states.spread(self.n_chains))
        return replace(self, states=np.maximum(states.rows, 0))

    def restarts(self, plan: np.ndarray, hidden: Clamped, n_chains: int) -> Restarts:
        """Return the imputation of hidden entries of the starting points from ``n_chains`` chains on them."""
        return Restarts(hidden, self._n_chains, len(plan), n_chains)

    def prepare(self, model: Model) -> np.ndarray:
        """Lay out the data as the chains store them, (n_blocks, n_nodes, 64)."""
        rows = self._rows[_rows_of_chains(len(self._rows), self._n_chains)]
        return from_states(rows, self._n_chains, model.graph.n_nodes, states_of(model))

    def start(self, model: Model, rng: np.random.Generator) -> Chains:
        """Start chains at the data; only their generators are kept between calls."""
        return start(self._n_chains, model.graph.n_nodes, rng, self._rows, states_of(model))

    def infer(
        self, model: Model, theta: np.ndarray, plan: np.ndarray, want: str = MOMENTS, state: Chains | None = None
    ) -> Inference:
        """Estimate the moments ``n_sweeps`` sweeps from the data; ``state`` is overwritten and returned."""
        chains, n = _started(self.name, state), self._n_chains
        chains.states[...] = plan
        form = compiled_form(model, theta)
        _advance(self, form, chains, n)
        moments = _moments(model, form, chains, n)
        return Inference(moments=moments, stats={"n_chains": n, "n_sweeps": self.n_sweeps}, state=chains)

    @property
    def _rows(self) -> np.ndarray:
        if self.states is None:
            raise OptionError(option="states", got=None, expected="the data, for brief chains restart there")
        return self.states

    @property
    def _n_chains(self) -> int:
        return len(self._rows) if self.n_chains is None else self.n_chains


def _rows_of_chains(n_rows: int, n_chains: int) -> np.ndarray:
    """Return the row at which each chain restarts: every row equally often, and those left over evenly spaced."""
    n_rounds, n_left = divmod(n_chains, n_rows)
    spaced = (np.arange(n_left) + 0.5) * (n_rows / max(n_left, 1))
    return np.concatenate([np.tile(np.arange(n_rows), n_rounds), spaced.astype(np.int64)])


class Restarts:
    """Imputation of hidden entries in the starting points of brief chains, from the chains of the positive phase.

    The hidden entries of the row at which chain c starts are those of chain c % ``n_positive`` of the positive phase.
    """

    def __init__(self, model: Clamped, n_chains: int, n_blocks: int, n_positive: int):
        rows = _rows_of_chains(len(model.states), n_chains)[np.arange(n_blocks * LANES) % n_chains]
        chain, node = np.nonzero(model.states[rows] < 0)
        entry, other = model.entry_of[rows[chain], node], chain % n_positive
        self._to = chain // LANES, node, chain % LANES
        self._from = other // LANES, entry, other % LANES

    def __call__(self, plan: np.ndarray, memory: Followed) -> np.ndarray:
        """Return the starting points."""
        start = plan.copy()
        start[self._to] = memory.chains.states[self._from]
        return start


@dataclass(frozen=True)
class FromExact(Checked):
    """New exact samples in each call (Murray and Ghahramani 2004, section 4).

    The moments are unbiased, with the error of ``n_samples`` independent states. Equal memories give equal samples.

    Parameters
    ----------
    sampler : SamplingEngine
        An exact engine. None (default) selects `Elimination` if it is cheap, else `CouplingFromThePast`.
    """

    sampler: SamplingEngine | None = None
    n_samples: int = option(64, STATES, "States drawn in each call.", label="particles", flag="n_particles")

    name = "from-exact"
    answers = frozenset({MOMENTS})
    kind = Kind.RANDOM

    def __post_init__(self) -> None:
        super().__post_init__()
        s = self.sampler
        if s is not None and (not isinstance(s, Engine) or s.kind is not Kind.EXACT or SAMPLE not in s.answers):
            raise OptionError(option="sampler", got=s, expected="an engine that draws exact samples",
                              remedy="give an Elimination, CouplingFromThePast or Enumeration")  # fmt: skip

    @property
    def families(self) -> frozenset[str]:
        """Models it takes: those of the sampler."""
        return EVERY_FAMILY if self.sampler is None else self.sampler.families

    def prepare(self, model: Model) -> tuple[SamplingEngine, Any]:
        """Prepare the sampler; return it with its plan."""
        sampler = self.sampler
        if sampler is None:
            sampler = Elimination() if is_cheap(model.graph, states_of(model)) else CouplingFromThePast()
        return sampler, sampler.prepare(model)

    def start(self, model: Model, rng: np.random.Generator) -> np.ndarray:
        """Return a generator as an array."""
        return generator_to_array(spawn_generators(rng, 1)[0])

    def infer(
        self, model: Model, theta: np.ndarray, plan: Any, want: str = MOMENTS, state: np.ndarray | None = None
    ) -> Inference:
        """Average the statistics of ``n_samples`` states; the generator is advanced and returned."""
        rng = generator_from_array(_started(self.name, state))
        sampler, order = plan
        states = sampler.sample(model, theta, order, self.n_samples, rng)
        memory = generator_to_array(rng)
        return Inference(moments=model.statistics(states), stats={"n_samples": self.n_samples}, state=memory)


def _advance(engine: Persistent | Brief, form: Pairwise | Categorical, chains: Chains, n_chains: int) -> None:
    if engine.moves == "gibbs":
        sweep(form, chains, engine.n_sweeps, engine.n_jobs)
    else:
        swendsen_wang.sweep(form, chains, engine.n_sweeps, n_chains)


def _moments(model: Any, form: Pairwise | Categorical, chains: Chains, n_chains: int) -> np.ndarray:
    agree, node = counts(form, chains, n_chains)
    if isinstance(form, Categorical):
        return model.moments(agree / n_chains, node / n_chains)
    return model.moments(2 / n_chains * agree - 1, 2 / n_chains * node - 1)


def _started(name: str, state: Memory | None) -> Memory:
    if state is None:
        raise OptionError(f"state must be the memory of the engine {name!r}, got None; make it with start(model, rng).")
    return state
