r"""The seam: the only file that knows both engines and what samplers of theta ask for.

.. math:: \log p(X \mid \theta) = N (\theta \cdot \bar s - \log Z(\theta))

Data enter through the mean statistics and N only; the raw states are never looked at again. Where some entries are
hidden, the first term becomes a normaliser of its own, that of the model clamped to what was seen, and a second engine
answers the same questions about it (Murray and Ghahramani 2004, eq. 12):

.. math:: \log p(X_\mathrm{seen} \mid \theta) = \sum_n \log Z_n(\theta) - N \log Z(\theta).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

import numpy as np

from .base import LOG_Z, MOMENTS, SAMPLE, Engine, Inference, Kind, Model
from .errors import OptionError
from .models.categorical import is_categorical, states_of
from .models.clamped import Clamped, HiddenEntries
from .models.clamped_categorical import HiddenStates
from .samplers.gibbs import Chains, to_states


class Hidden(NamedTuple):
    """The model clamped to the data, and the engine of the positive phase."""

    model: Clamped
    engine: Engine


class Curve(Protocol):
    """Parameters that are not the model's natural ones: theta -> natural(theta), and gradients on their way back."""

    def natural(self, theta: np.ndarray) -> np.ndarray: ...  # noqa: D102
    def pull_back(self, theta: np.ndarray, gradient: np.ndarray) -> np.ndarray: ...  # noqa: D102


class Memory(NamedTuple):
    """What the engines of the negative and the positive phase remember between calls (persistent chains), or None."""

    negative: Any = None
    positive: Any = None


NO_MEMORY = Memory()


class Evaluation(NamedTuple):
    """Log likelihood and its gradient, as far as they were wanted; the engine's own moments, and its memory."""

    log_likelihood: float | None
    score: np.ndarray | None
    moments: np.ndarray | None
    memory: Memory


class Likelihood:
    """Likelihood of theta as an engine sees it.

    Parameters
    ----------
    model : Model
    s_bar : (n_features,) array
        Mean sufficient statistics of the data (with hidden entries: of what was seen; only a scale).
    n_samples : float
        Number of observations N.
    engine : Engine
        Answers what is asked of Z.
    hidden : Hidden, optional
        Where some entries of the data are hidden.
    curve : Curve, optional
        Where theta is not the natural parameter of the model.
    """

    def __init__(
        self,
        model: Model,
        s_bar: np.ndarray,
        n_samples: float,
        engine: Engine,
        hidden: Hidden | None = None,
        curve: Curve | None = None,
    ):
        self.model = model
        self.s_bar = np.asarray(s_bar, dtype=np.float64)
        self.n_samples = float(n_samples)
        self.engine = engine
        self.hidden = hidden
        self.curve = curve
        self.plan = engine.prepare(model)
        self.low = model.feature_low
        self._restarts: Restarts | None = None
        if hidden is not None:
            self._hidden_plan = hidden.engine.prepare(hidden.model)
            if getattr(engine, "restarts", False):
                self._restarts = Restarts(self.plan, hidden.model, hidden.engine.n_chains)  # type: ignore[attr-defined]

    @property
    def is_exact(self) -> bool:
        """Whether the engines' answers are exact."""
        return self.engine.kind is Kind.EXACT and (self.hidden is None or self.hidden.engine.kind is Kind.EXACT)

    @property
    def is_linear(self) -> bool:
        """Whether the one-coordinate identity holds: no hidden entries, and theta the natural parameter."""
        return self.hidden is None and self.curve is None

    def require(self, kernel: str, needs: Iterable[str]) -> None:
        """Check that the engines answer what a kernel needs.

        Raises
        ------
        OptionError
            Naming the engines that would do. A random ``log_z`` is refused too: whoever asks for it compares two of
            them, N times over, and a Z without bias does not give the 1 / Z^N of an accept step.
        """
        require_answers(self.engine, kernel, needs)
        if self.hidden is not None:
            self.require_hidden(kernel, needs)

    def require_hidden(self, kernel: str, needs: Iterable[str]) -> None:
        """Check the same of the engine of the positive phase."""
        assert self.hidden is not None
        # A sampler of theta and the hidden entries needs no more than a chain on these (see `complete`).
        if not (SAMPLE in needs and getattr(self.hidden.engine, "is_chain", False)):
            require_answers(self.hidden.engine, kernel, needs, "hidden_engine")

    def start(self, rng: np.random.Generator) -> Memory:
        """Memory of engines that have one (persistent chains)."""
        hidden = self.hidden
        positive = None if hidden is None else hidden.engine.start(hidden.model, rng)
        return Memory(self.engine.start(self.model, rng), positive)

    def evaluate(self, theta: np.ndarray, want: str = MOMENTS, memory: Memory = NO_MEMORY) -> Evaluation:
        """Log likelihood (``want`` "log_z"), or its gradient N (s_bar - E_theta[s]) and, where known, its value too.

        With hidden entries the first term of the gradient is an expectation as well (Murray and Ghahramani 2004, eq.
        4).
        """
        natural = self._natural(theta)
        positive = self._positive(natural, want, memory.positive)
        plan = self.plan
        if positive.state is not None and self._restarts is not None:
            plan = self._restarts(plan, positive.state)
        found = self.engine.infer(self.model, natural, plan, want, memory.negative)
        value = score = None
        if found.log_z is not None and positive.log_z is not None:
            value = float(positive.log_z - self.n_samples * found.log_z)
        if found.moments is not None and positive.moments is not None:
            score = positive.moments - self.n_samples * found.moments
            if self.curve is not None:
                score = self.curve.pull_back(theta, score)
        return Evaluation(value, score, found.moments, Memory(found.state, positive.state))

    def _natural(self, theta: np.ndarray) -> np.ndarray:
        return theta if self.curve is None else self.curve.natural(theta)

    def _positive(self, natural: np.ndarray, want: str, state: Any) -> Inference:
        """Sum over rows of log Z_n and of the statistics expected given what was seen."""
        if self.hidden is None:
            return Inference(log_z=self.n_samples * float(natural @ self.s_bar), moments=self.n_samples * self.s_bar)
        return self.hidden.engine.infer(self.hidden.model, natural, self._hidden_plan, want, state)

    def inference(self, theta: np.ndarray, want: str = MOMENTS, state: Any = None) -> Inference:
        """The engine's answer at theta."""
        return self.engine.infer(self.model, theta, self.plan, want, state)

    def log_likelihood(self, theta: np.ndarray, log_z: float) -> float:
        """N (theta . s_bar - log Z)."""
        return float(self.n_samples * (theta @ self.s_bar - log_z))

    def log_z(self, theta: np.ndarray) -> float:
        """Log of the normaliser."""
        log_z = self.inference(theta, LOG_Z).log_z
        assert log_z is not None
        return log_z

    def moments(self, theta: np.ndarray) -> np.ndarray:
        """Expectation of the statistics."""
        moments = self.inference(theta, MOMENTS).moments
        assert moments is not None
        return moments

    def log_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """Log p(X | theta_new) - log p(X | theta)."""
        old, new = (self.evaluate(t, LOG_Z).log_likelihood for t in (theta, theta_new))
        assert old is not None
        assert new is not None
        return new - old

    def coordinate_log_ratio(self, moment: float, j: int, delta: float) -> float:
        """Change of the log likelihood when theta_j moves by ``delta``, from the moment of feature j at theta.

        Feature j takes the values 1 and ``low``, with probability p = (moment - low) / (1 - low) of 1, so that Z
        changes by exactly p e^delta + (1 - p) e^(low delta): no other knowledge of Z is needed. This is the expectation
        of Murray and Ghahramani 2004, eq. 8, for a move of one coordinate.
        """
        low = self.low[j]
        p = min(max((moment - low) / (1 - low), 0.0), 1.0)
        top = max(delta, low * delta)
        growth = p * math.exp(delta - top) + (1 - p) * math.exp(low * delta - top)
        return self.n_samples * (delta * self.s_bar[j] - top - math.log(growth))

    def walk(
        self, theta: np.ndarray, moments: np.ndarray, deltas: np.ndarray, thresholds: np.ndarray, memory: Memory
    ) -> tuple[np.ndarray, np.ndarray, int, Memory]:
        """Try theta_j + deltas_j for each coordinate in turn; move where the log likelihood gains over thresholds_j.

        Each gain comes from one moment (see `coordinate_log_ratio`), so that only moves made cost a solve. An engine
        may have a compiled ``walk`` of its own.

        Returns
        -------
        theta, moments, n_accepted, memory
        """
        compiled = getattr(self.engine, "walk", None)
        if compiled is not None and hasattr(self.model, "form"):
            return (
                *compiled(self.model, theta, self.plan, moments, self.s_bar, self.n_samples, deltas, thresholds),
                memory,
            )
        accepted = 0
        for j, delta in enumerate(deltas):
            if self.coordinate_log_ratio(moments[j], j, delta) > thresholds[j]:
                theta = theta.copy()
                theta[j] += delta
                found = self.evaluate(theta, MOMENTS, memory)
                assert found.moments is not None
                moments, memory = found.moments, found.memory
                accepted += 1
        return theta, moments, accepted, memory

    def walk_by_log_z(
        self, theta: np.ndarray, value: float, deltas: np.ndarray, thresholds: np.ndarray, memory: Memory
    ) -> tuple[np.ndarray, float, int, Memory]:
        """The same, with the log likelihood at both ends of each move (``value`` at theta): a solve for each.

        Returns
        -------
        theta, log_likelihood, n_accepted, memory
        """
        compiled = getattr(self.engine, "walk_by_log_z", None)
        if compiled is not None and self.is_linear and hasattr(self.model, "form"):
            n = self.n_samples
            log_z = theta @ self.s_bar - value / n
            theta, log_z, accepted = compiled(self.model, theta, self.plan, log_z, self.s_bar, n, deltas, thresholds)
            return theta, self.log_likelihood(theta, log_z), accepted, memory
        accepted = 0
        for j, delta in enumerate(deltas):
            new = theta.copy()
            new[j] += delta
            found = self.evaluate(new, LOG_Z, memory)
            assert found.log_likelihood is not None
            if found.log_likelihood - value > thresholds[j]:
                theta, value, memory = new, found.log_likelihood, found.memory
                accepted += 1
        return theta, value, accepted, memory

    def score(self, theta: np.ndarray) -> np.ndarray:
        """Gradient N (s_bar - E_theta[s])."""
        score = self.evaluate(theta).score
        assert score is not None
        return score

    def auxiliary(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Summed statistics of a fresh data set of N states drawn at theta (Moeller et al. 2006)."""
        states = self.engine.sample(self.model, self._natural(theta), self.plan, round(self.n_samples), rng)
        return self.n_samples * self.model.statistics(states)

    def complete(self, theta: np.ndarray, rng: np.random.Generator, memory: Memory) -> tuple[np.ndarray, Memory]:
        """Summed statistics of the data, hidden entries drawn from their law given theta and what was seen.

        Exact where the engine of the positive phase samples; its persistent chains leave that law invariant, which is
        all that a chain on (theta, hidden entries) needs.
        """
        if self.hidden is None:
            return self.n_samples * self.s_bar, memory
        model, engine = self.hidden
        if SAMPLE in engine.answers:
            states = engine.sample(model, self._natural(theta), self._hidden_plan, 1, rng)
        else:
            found = engine.infer(model, self._natural(theta), self._hidden_plan, MOMENTS, memory.positive)
            memory = memory._replace(positive=found.state)
            states = to_states(found.state, 1, states_of(model))
        return model.statistics(states), memory

    def gain(self, theta: np.ndarray, theta_new: np.ndarray, statistics: np.ndarray) -> float:
        """Change of the unnormalised log probability of data with summed ``statistics``: (theta' - theta) . S."""
        return float((self._natural(theta_new) - self._natural(theta)) @ statistics)

    def hidden_probabilities(self, thetas: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Probability that each hidden entry is 1 given what was seen, averaged over draws (n_draws, n_features).

        Of nodes with many states: the probability of each, (n_hidden, n_states).
        """
        assert self.hidden is not None
        clamped, engine = self.hidden
        ask = HiddenStates if is_categorical(clamped) else HiddenEntries
        entries = ask(clamped.model, clamped.states)
        state, found = engine.start(entries, rng), []
        for theta in thetas:
            answer = engine.infer(entries, self._natural(theta), self._hidden_plan, MOMENTS, state)
            state = answer.state
            found.append(answer.moments)
        return np.mean(np.array(found), axis=0)


def require_answers(engine: Engine, kernel: str, needs: Iterable[str], option: str = "engine") -> None:
    """Check that an engine answers what a kernel needs.

    Raises
    ------
    OptionError
        Naming the engines that would do.
    """
    missing = sorted(set(needs) - engine.answers)
    if missing:
        raise OptionError(
            f"{option}: {kernel!r} needs {', '.join(missing)}, which {engine.name!r} does not answer; "
            f"engines that do: {', '.join(engines_that_answer(needs))}"
        )
    if LOG_Z in needs and engine.kind is Kind.RANDOM:
        raise OptionError(
            f"{option}: {kernel!r} needs a log_z without noise, and that of {engine.name!r} is random (a Z without "
            f"bias does not give 1 / Z^N); engines that do: {', '.join(engines_that_answer(needs))}"
        )


class Restarts:
    """Fill the hidden entries of brief chains' starting points from the chains of the positive phase.

    Chain c starts at row c % N, with that row's hidden entries from chain c % ``n_positive`` of the positive phase.
    """

    def __init__(self, plan: np.ndarray, model: Clamped, n_positive: int):
        n_blocks, _, n_lanes = plan.shape
        chain = np.arange(n_blocks * n_lanes)
        row, node = model.cells.T
        order = np.argsort(row, kind="stable")
        starts = np.searchsorted(row[order], np.arange(len(model.states) + 1))
        mine = chain % len(model.states)
        count = starts[mine + 1] - starts[mine]
        entry = order[np.repeat(starts[mine] - np.cumsum(count) + count, count) + np.arange(count.sum())]
        chain = np.repeat(chain, count)
        other = chain % n_positive
        self._to = chain // n_lanes, node[entry], chain % n_lanes
        self._from = other // n_lanes, entry, other % n_lanes

    def __call__(self, plan: np.ndarray, chains: Chains) -> np.ndarray:
        """The starting points."""
        start = plan.copy()
        start[self._to] = chains.states[self._from]
        return start


def engines_that_answer(needs: Iterable[str]) -> list[str]:
    """Names of the engines that answer all of ``needs`` (log Z without noise)."""
    from .inference.bethe.two_states import Bethe
    from .inference.chains import Brief, FromExact, Persistent
    from .inference.elimination.two_states import Elimination
    from .inference.enumeration import Enumeration
    from .inference.mean_field import MeanField
    from .inference.pseudo_likelihood import PseudoLikelihood
    from .inference.tree import Tree
    from .samplers.cftp import CouplingFromThePast
    from .samplers.gibbs import Gibbs
    from .samplers.swendsen_wang import SwendsenWang

    engines: list[Any] = [
        Enumeration,
        Elimination,
        MeanField,
        Tree,
        Bethe,
        PseudoLikelihood,
        Persistent,
        Brief,
        FromExact,
        Gibbs,
        SwendsenWang,
        CouplingFromThePast,
    ]
    return [e.name for e in engines if set(needs) <= set(e.answers)]
