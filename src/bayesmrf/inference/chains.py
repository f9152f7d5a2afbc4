"""Moments from samples: persistent chains, brief chains, and exact samples.

All estimate E[s(x)] by the mean of the statistics over states: of ``n_chains`` Gibbs chains after ``n_sweeps`` sweeps,
which differ in where they start, or of an exact sampler. Their moments are random and belong to no log Z, so no accept
step can be built on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ..base import MOMENTS, SAMPLE, Engine, Inference, Kind, Model
from ..errors import OptionError
from ..models.categorical import Categorical, compiled_form, states_of
from ..options import check_fields
from ..rng import generator_from_array, generator_to_array, spawn_generators
from ..samplers import swendsen_wang
from ..samplers.gibbs import Chains, counts, from_states, start, sweep

Memory = TypeVar("Memory", Chains, np.ndarray)


@dataclass(frozen=True)
class Persistent:
    """Chains that go on where the last call left them (Tieleman 2008).

    While theta moves slowly, the chains stay close to p(x | theta); at a fixed theta their law tends to it.

    Parameters
    ----------
    n_chains : int
    n_sweeps : int
        Sweeps of each chain in each call.
    moves : {"gibbs", "swendsen-wang"}
        Sweeps of single nodes, or of clusters, which pay where the field is strongly ordered.
    n_jobs : int
        Threads of Gibbs sweeps; the moments do not depend on it.
    """

    n_chains: int = 1024
    n_sweeps: int = 1
    moves: str = "gibbs"
    n_jobs: int = 1

    name = "persistent"
    answers = frozenset({MOMENTS})
    kind = Kind.RANDOM
    is_chain = True  # whose law at a fixed theta is left as it is

    def __post_init__(self) -> None:
        check_fields(self)

    def prepare(self, model: Model) -> None:
        """Nothing depends on the graph alone."""

    def start(self, model: Model, rng: np.random.Generator) -> Chains:
        """Chains at uniform random states."""
        return start(self.n_chains, model.graph.n_nodes, rng, n_states=states_of(model))

    def infer(
        self, model: Model, theta: np.ndarray, plan: None, want: str = MOMENTS, state: Chains | None = None
    ) -> Inference:
        """Moments after ``n_sweeps`` sweeps; ``state`` is advanced in place and handed back."""
        chains = _check_call(self.name, want, state)
        return _moments(self, model, theta, chains, self.n_chains)

    def sample(
        self, model: Model, theta: np.ndarray, plan: None, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Refuse: this engine answers "moments" only."""
        raise _no_samples(self.name)


@dataclass(frozen=True, eq=False)
class Brief:
    """Chains that restart at the data in each call: contrastive divergence (Hinton 2002).

    With few sweeps the moments are biased towards those of the data, which `Persistent` mends.

    Parameters
    ----------
    states : (n_samples, n_nodes) array in {0, ..., n_states - 1}
        The data; chain c restarts at row ``c % n_samples``.
    n_chains : int, optional
        One chain for each row when absent.
    n_sweeps, moves, n_jobs
        As in `Persistent`.
    """

    states: np.ndarray = field(repr=False)
    n_chains: int | None = None
    n_sweeps: int = 1
    moves: str = "gibbs"
    n_jobs: int = 1

    name = "brief"
    answers = frozenset({MOMENTS})
    kind = Kind.RANDOM
    restarts = True  # at the plan, in which `Likelihood` fills hidden entries

    def __post_init__(self) -> None:
        check_fields(self)

    def prepare(self, model: Model) -> np.ndarray:
        """The data as the chains hold them, (n_blocks, n_nodes, 64)."""
        return from_states(self.states, self._n_chains, model.graph.n_nodes, states_of(model))

    def start(self, model: Model, rng: np.random.Generator) -> Chains:
        """Chains at the data; only their generators are remembered between calls."""
        return start(self._n_chains, model.graph.n_nodes, rng, self.states, states_of(model))

    def infer(
        self, model: Model, theta: np.ndarray, plan: np.ndarray, want: str = MOMENTS, state: Chains | None = None
    ) -> Inference:
        """Moments ``n_sweeps`` sweeps away from the data; ``state`` is overwritten and handed back."""
        chains = _check_call(self.name, want, state)
        chains.states[...] = plan
        return _moments(self, model, theta, chains, self._n_chains)

    def sample(
        self, model: Model, theta: np.ndarray, plan: np.ndarray, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Refuse: this engine answers "moments" only."""
        raise _no_samples(self.name)

    @property
    def _n_chains(self) -> int:
        return len(self.states) if self.n_chains is None else self.n_chains


@dataclass(frozen=True)
class FromExact:
    """Fresh exact samples in each call (Murray and Ghahramani 2004, section 4).

    The moments have no bias, and the error of ``n_samples`` independent states. Equal memories give equal samples.

    Parameters
    ----------
    sampler : Engine
        Draws the states: an EXACT engine that answers "sample", such as `Elimination` or `CouplingFromThePast`.
    n_samples : int
        States drawn in each call.
    """

    sampler: Engine
    n_samples: int = 64

    name = "from-exact"
    answers = frozenset({MOMENTS})
    kind = Kind.RANDOM

    def __post_init__(self) -> None:
        check_fields(self)
        if getattr(self.sampler, "kind", None) is not Kind.EXACT or SAMPLE not in self.sampler.answers:
            name = getattr(self.sampler, "name", self.sampler)
            raise OptionError(f"sampler: {name!r} came, which is no engine that draws exact samples; give an "
                              "Elimination, CouplingFromThePast or Enumeration")  # fmt: skip

    def prepare(self, model: Model) -> Any:
        """The sampler's plan."""
        return self.sampler.prepare(model)

    def start(self, model: Model, rng: np.random.Generator) -> np.ndarray:
        """A generator of its own, as an array."""
        return generator_to_array(spawn_generators(rng, 1)[0])

    def infer(
        self, model: Model, theta: np.ndarray, plan: Any, want: str = MOMENTS, state: np.ndarray | None = None
    ) -> Inference:
        """Mean statistics of ``n_samples`` states; the generator that has drawn them is handed back."""
        rng = generator_from_array(_check_call(self.name, want, state))
        states = self.sampler.sample(model, theta, plan, self.n_samples, rng)
        memory = generator_to_array(rng)
        return Inference(moments=model.statistics(states), stats={"n_samples": self.n_samples}, state=memory)

    def sample(
        self, model: Model, theta: np.ndarray, plan: Any, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Refuse: this engine answers "moments" only."""
        raise _no_samples(self.name)


def _moments(engine: Persistent | Brief, model: Model, theta: np.ndarray, chains: Chains, n_chains: int) -> Inference:
    compiled = compiled_form(model, theta)
    if engine.moves == "gibbs":
        sweep(compiled, chains, engine.n_sweeps, engine.n_jobs)
    else:
        swendsen_wang.sweep(compiled, chains, engine.n_sweeps, n_chains)
    agree, node = counts(compiled, chains, n_chains)
    if isinstance(compiled, Categorical):
        moments = model.moments(agree / n_chains, node / n_chains)
    else:
        moments = model.moments(2 / n_chains * agree - 1, 2 / n_chains * node - 1)
    return Inference(moments=moments, stats={"n_chains": n_chains, "n_sweeps": engine.n_sweeps}, state=chains)


def _check_call(name: str, want: str, state: Memory | None) -> Memory:
    if want != MOMENTS:
        raise OptionError(f"engine {name!r}: {want!r} was asked, only 'moments' are answered; take an engine that "
                          f"answers {want!r}, such as 'elimination'")  # fmt: skip
    if state is None:
        raise OptionError(f"engine {name!r}: state=None came, its memory is wanted; make it with start(model, rng)")
    return state


def _no_samples(name: str) -> OptionError:
    return OptionError(f"engine {name!r}: 'sample' was asked, only 'moments' are answered; take 'gibbs', or an exact "
                       "engine such as 'elimination'")  # fmt: skip
