"""The terms of a likelihood: one for each sample, with the memory and the answers of its engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from .base import MOMENTS, SAMPLE, AskedEngine, Inference, Model, RestartingEngine
from .inference.registry import check_model
from .models.categorical import is_categorical
from .models.clamped import Clamped, HiddenEntries
from .models.clamped_categorical import HiddenStates


class Hidden(NamedTuple):
    """The model clamped to the data, and the engine of the positive phase."""

    model: Clamped
    engine: Any


class Curve(Protocol):
    """A map phi -> natural(phi) to the natural parameters of a model, and the map of gradients back to phi."""

    @property
    def n_features(self) -> int: ...  # noqa: D102
    def natural(self, theta: np.ndarray) -> np.ndarray: ...  # noqa: D102
    def pull_back(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Sample:
    """One of several samples that share parameters."""

    s_bar: np.ndarray  # (n_features,), mean sufficient statistics
    n_samples: float  # number of observations N
    hidden: Hidden | None = None  # if some entries are hidden
    # Natural parameters of this sample as a function of phi, such as a `bayesmrf.models.linear_map.LinearMap`
    curve: Curve | None = None


class Memory(NamedTuple):
    """Memory of the engines of the negative and the positive phase between calls (persistent chains), or None.

    ``rest`` is the memory of the samples after the first.
    """

    negative: Any = None
    positive: Any = None
    rest: Memory | None = None


NO_MEMORY = Memory()


class Evaluation(NamedTuple):
    """Log likelihood and its gradient, as far as requested; moments, memory and statistics of the engine."""

    log_likelihood: float | Any
    score: np.ndarray | Any
    moments: np.ndarray | Any
    memory: Memory
    stats: Mapping[str, float] = MappingProxyType({})


class Term:
    """The term of one sample in the likelihood: both phases, at its natural parameters."""

    def __init__(self, model: Model, engine: AskedEngine, plan: Any, sample: Sample):
        self.model, self.engine, self.plan = model, engine, plan
        self.s_bar, self.n = np.asarray(sample.s_bar, dtype=np.float64), float(sample.n_samples)
        self.hidden, self.curve = sample.hidden, sample.curve
        self._restarts = None
        if self.hidden is not None:
            check_model(self.hidden.engine, self.hidden.model, "hidden_engine")
            self._hidden_plan = self.hidden.engine.prepare(self.hidden.model)
            if isinstance(self.engine, RestartingEngine):
                self._restarts = self.engine.restarts(self.plan, self.hidden.model, self.hidden.engine.n_chains)

    def natural(self, theta: np.ndarray) -> np.ndarray:
        """Return the natural parameters."""
        return theta if self.curve is None else self.curve.natural(theta)

    def start(self, rng: np.random.Generator) -> Memory:
        """Return the memory of both engines."""
        hidden = self.hidden
        positive = None if hidden is None else hidden.engine.start(hidden.model, rng)
        return Memory(self.engine.start(self.model, rng), positive)

    def evaluate(self, theta: np.ndarray, want: str, memory: Memory) -> Evaluation:
        """Compute the term, and its gradient as far as `want` says, as does `Likelihood.evaluate`."""
        natural = self.natural(theta)
        positive = self._positive(natural, want, memory.positive)
        plan = self.plan
        if positive.state is not None and self._restarts is not None:
            plan = self._restarts(plan, positive.state)
        inference = self.engine.infer(self.model, natural, plan, want, memory.negative)
        value = score = None
        if inference.log_z is not None and positive.log_z is not None:
            value = float(positive.log_z - self.n * inference.log_z)
        if inference.moments is not None and positive.moments is not None:
            score = positive.moments - self.n * inference.moments
            if self.curve is not None:
                score = self.curve.pull_back(theta, score)
        return Evaluation(value, score, inference.moments, Memory(inference.state, positive.state), inference.stats)

    def _positive(self, natural: np.ndarray, want: str, state: Any) -> Inference:
        """Sum log Z_n and the expected statistics given the observed entries over rows."""
        if self.hidden is None:
            return Inference(log_z=self.n * float(natural @ self.s_bar), moments=self.n * self.s_bar)
        return self.hidden.engine.infer(self.hidden.model, natural, self._hidden_plan, want, state)

    def auxiliary(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sum the statistics of new data drawn at theta."""
        states = self.engine.sample(self.model, self.natural(theta), self.plan, round(self.n), rng)
        return self.n * self.model.statistics(states)

    def complete(self, theta: np.ndarray, rng: np.random.Generator, memory: Memory) -> tuple[np.ndarray, Memory]:
        """Sum the statistics of the data, with hidden entries drawn."""
        if self.hidden is None:
            return self.n * self.s_bar, memory
        model, engine = self.hidden
        if SAMPLE in engine.answers:
            states = engine.sample(model, self.natural(theta), self._hidden_plan, 1, rng)
        else:
            inference = engine.infer(model, self.natural(theta), self._hidden_plan, MOMENTS, memory.positive)
            memory = memory._replace(positive=inference.state)
            states = engine.states(model, inference.state, 1)
        return model.statistics(states), memory

    def hidden_probabilities(self, thetas: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the mean over draws of the probabilities of hidden entries."""
        assert self.hidden is not None
        clamped, engine = self.hidden
        ask = HiddenStates if is_categorical(clamped) else HiddenEntries
        entries = ask(clamped.model, clamped.states)
        state, moments = engine.start(entries, rng), []
        for theta in thetas:
            answer = engine.infer(entries, self.natural(theta), self._hidden_plan, MOMENTS, state)
            state = answer.state
            moments.append(answer.moments)
        return np.mean(np.array(moments), axis=0)


def linked(memories: Sequence[Memory]) -> Memory:
    """Return the memories of several samples as one."""
    chain: Any = None
    for memory in reversed(memories):
        chain = memory._replace(rest=chain)
    return chain


def rows(sums: Sequence[np.ndarray]) -> np.ndarray:
    """Arrange sums of statistics: a vector for one sample, a row for each of several."""
    return sums[0] if len(sums) == 1 else np.array(sums)
