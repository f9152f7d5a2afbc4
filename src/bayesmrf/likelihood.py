r"""The likelihood of theta, which connects engines with samplers of theta.

.. math:: \log p(X \mid \phi) = \sum_t N_t \big(\theta_t \cdot \bar s_t - \log Z(\theta_t)\big), \qquad
          \theta_t = A_t \phi,

over samples t, usually a single one with theta = phi. Tied parameters, and differences between groups of people, are
linear maps A_t (`bayesmrf.models.linear_map.LinearMap`); length scales are a nonlinear map.

Data enter through the mean statistics and N only. If some entries are hidden, the first term becomes the normaliser of
the model clamped to the observed entries, with a second engine (Murray and Ghahramani 2004, eq. 12):

.. math:: \log p(X_\mathrm{seen} \mid \theta) = \sum_n \log Z_n(\theta) - N \log Z(\theta).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from typing import Any, cast

import numpy as np

from .base import LOG_Z, MOMENTS, SAMPLE, AskedEngine, ChainEngine, Engine, Inference, Kind, Model, Moves, WalkingEngine
from .errors import OptionError, argument
from .inference.registry import check_model, require_answers
from .likelihood_terms import NO_MEMORY, Curve, Evaluation, Hidden, Memory, Sample, Term, linked, rows
from .models.bases import is_binary, is_two_valued
from .models.linear_map import LinearMap

__all__ = ["NO_MEMORY", "Curve", "Evaluation", "Hidden", "Likelihood", "Memory", "Sample", "require_answers"]


class Likelihood:
    """Likelihood of theta (or of phi, if there is a curve), computed by an engine.

    Parameters
    ----------
    model : Model
    s_bar : (n_features,) array
        Mean sufficient statistics of the data (of observed entries, if some are hidden; these only set a scale).
    n_samples : float
        Number of observations N.
    engine : Engine
        Computes log Z, moments or samples.
    hidden : Hidden, optional
        If some entries of the data are hidden.
    curve : Curve, optional
        If theta is not the natural parameter of the model.
    others : sequence of Sample
        Further samples of the same model, with other natural parameters.

    Attributes
    ----------
    is_exact : bool
        Whether the engines' answers are exact.
    is_linear : bool
        Whether the one-coordinate identity holds: one sample without hidden entries, natural parameters, and features
        of two values.
    """

    def __init__(
        self,
        model: Model,
        s_bar: np.ndarray,
        n_samples: float,
        engine: Engine,
        hidden: Hidden | None = None,
        curve: Curve | None = None,
        others: Sequence[Sample] = (),
    ):
        check_model(engine, model)
        self.model = model
        self.s_bar = np.asarray(s_bar, dtype=np.float64)
        self.n_samples = float(n_samples)
        self.engine = cast(AskedEngine, engine)
        self.hidden = hidden
        self.curve = curve
        self.others = tuple(others)
        self.plan = engine.prepare(model)
        self.low, self.high = model.feature_low, model.feature_high
        self._compiled: Any = engine if isinstance(engine, WalkingEngine) and is_binary(model) else None
        self._describe()

    def _describe(self) -> None:
        """Set what depends on samples and hidden entries, and is asked in every step."""
        self._terms = [Term(self.model, self.engine, self.plan, sample) for sample in self.samples]
        engines = [self.engine, *(s.hidden.engine for s in self.samples if s.hidden is not None)]
        self.is_exact = all(e.kind is Kind.EXACT for e in engines)
        two = is_two_valued(self.model)
        self.is_linear = self.hidden is None and self.curve is None and not self.others and two

    @property
    def samples(self) -> tuple[Sample, ...]:
        """All samples."""
        return (Sample(self.s_bar, self.n_samples, self.hidden, self.curve), *self.others)

    @property
    def sizes(self) -> np.ndarray:
        """Observations of each sample, in the shape of sums of statistics: (1,), or (n_samples, 1) of several."""
        n = np.array([s.n_samples for s in self.samples])
        return n if len(n) == 1 else n[:, None]

    @property
    def n_parameters(self) -> int:
        """Number of parameters: of phi, if there is a curve."""
        return self.model.n_features if self.curve is None else self.curve.n_features

    def replaced(self, s_bar: np.ndarray, engine: Engine | None = None) -> Likelihood:
        """Return the same likelihood of complete data with mean statistics ``s_bar``, a row for each sample."""
        first, *rest = np.reshape(s_bar, (len(self.samples), -1))
        others = tuple(replace(s, s_bar=row, hidden=None) for s, row in zip(self.others, rest, strict=True))
        if engine is not None:
            return Likelihood(self.model, first, self.n_samples, engine, None, self.curve, others)
        changed = copy(self)
        changed.s_bar, changed.hidden, changed.others = np.asarray(first, dtype=np.float64), None, others
        changed._describe()
        return changed

    def require(self, kernel: str, needs: Iterable[str]) -> None:
        """Check that the engines compute what a kernel needs.

        Raises
        ------
        OptionError
            With the engines that would do. A random ``log_z`` is refused, too: an unbiased Z does not give an unbiased
            1 / Z^N for an accept step.
        """
        require_answers(self.engine, kernel, needs, self.model)
        self.require_hidden(kernel, needs)
        if SAMPLE in needs and any(sample.n_samples % 1 for sample in self.samples):
            raise OptionError(f"{kernel} draws a whole number of observations, which {argument('survey_weight')} does "
                              "not have; take another kernel or method")  # fmt: skip

    def require_hidden(self, kernel: str, needs: Iterable[str]) -> None:
        """Check the engines of the positive phase."""
        for sample in self.samples:
            # A sampler of theta and the hidden entries only needs a chain on these (see `complete`).
            if sample.hidden and not (SAMPLE in needs and isinstance(sample.hidden.engine, ChainEngine)):
                require_answers(sample.hidden.engine, kernel, needs, sample.hidden.model, "hidden_engine")

    @property
    def completes_exactly(self) -> bool:
        """Whether `complete` draws hidden entries independently of those before, and not by chains."""
        return all(sample.hidden is None or SAMPLE in sample.hidden.engine.answers for sample in self.samples)

    def start(self, rng: np.random.Generator) -> Memory:
        """Return the memory of engines that have one (persistent chains)."""
        return linked([term.start(rng) for term in self._terms])

    def evaluate(self, theta: np.ndarray, want: str = MOMENTS, memory: Memory = NO_MEMORY) -> Evaluation:
        """Compute the log likelihood (``want`` "log_z"), or its gradient sum N (s_bar - E[s]) and, if known, its value.

        With hidden entries the first term of the gradient is an expectation, too (Murray and Ghahramani 2004, eq. 4).
        """
        if len(self._terms) == 1:
            return self._terms[0].evaluate(theta, want, memory)
        evaluations = [t.evaluate(theta, want, m) for t, m in zip(self._terms, self._memories(memory), strict=True)]
        values, scores = [f.log_likelihood for f in evaluations], [f.score for f in evaluations]
        return Evaluation(
            None if None in values else math.fsum(values),
            None if any(s is None for s in scores) else np.sum(scores, axis=0),
            None,
            linked([f.memory for f in evaluations]),
        )

    def _memories(self, memory: Memory) -> list[Memory]:
        memories = [memory]
        while len(memories) < len(self._terms):
            memories.append(memories[-1].rest or NO_MEMORY)
        return memories

    def inference(self, theta: np.ndarray, want: str = MOMENTS) -> Inference:
        """Return the engine's answer at natural parameters."""
        return self.engine.infer(self.model, theta, self.plan, want)

    def log_likelihood(self, theta: np.ndarray, log_z: float) -> float:
        """Return N (theta . s_bar - log Z)."""
        return float(self.n_samples * (theta @ self.s_bar - log_z))

    def log_z(self, theta: np.ndarray) -> float:
        """Return the log of the normaliser."""
        return self.inference(theta, LOG_Z).log_z

    def moments(self, theta: np.ndarray) -> np.ndarray:
        """Return the expectation of the statistics."""
        return self.inference(theta, MOMENTS).moments

    def log_ratio(self, theta: np.ndarray, theta_new: np.ndarray) -> float:
        """Return log p(X | theta_new) - log p(X | theta)."""
        return self.evaluate(theta_new, LOG_Z).log_likelihood - self.evaluate(theta, LOG_Z).log_likelihood

    def curvature_alone(self) -> np.ndarray:
        """Return the curvature N Var[s] along each parameter if features were independent with the means of the data.

        Half an observation is added to either side, as some features may be constant.
        """
        total = np.zeros(self.n_parameters)
        for s in self.samples:
            span, n = self.high - self.low, s.n_samples
            share = (n * (s.s_bar - self.low) / span + 0.5) / (n + 1)
            each = n * span**2 * share * (1 - share)
            assert s.curve is None or isinstance(s.curve, LinearMap)
            total += each if s.curve is None else s.curve.squares(each)
        return total

    def coordinate_log_ratio(self, moment: float, j: int, delta: float) -> float:
        """Return the change of the log likelihood when theta_j moves by ``delta``, from the moment of feature j.

        Feature j takes the values 1 and ``low``, with probability p = (moment - low) / (1 - low) of 1, so that Z
        changes exactly by the factor p e^delta + (1 - p) e^(low delta). This is the expectation of Murray and
        Ghahramani 2004, eq. 8, for a move of one coordinate.
        """
        low = self.low[j]
        p = min(max((moment - low) / (1 - low), 0.0), 1.0)
        top = max(delta, low * delta)
        growth = p * math.exp(delta - top) + (1 - p) * math.exp(low * delta - top)
        return self.n_samples * (delta * self.s_bar[j] - top - math.log(growth))

    def walk(
        self, theta: np.ndarray, at: Evaluation, deltas: np.ndarray, thresholds: np.ndarray
    ) -> tuple[np.ndarray, Evaluation, int]:
        """Try theta_j + deltas_j for each coordinate in turn; accept if the log likelihood increases by more than
        thresholds_j.

        If ``at``, the evaluation at theta, has moments, each increase is computed from one of them (see
        `coordinate_log_ratio`), so that only accepted moves need a solve; this requires `is_linear`. Otherwise it has
        the log likelihood, and each proposal needs a solve. A `bayesmrf.base.WalkingEngine` has its own compiled sweep.

        Returns theta, its evaluation, and the number of accepted moves.
        """
        by = LOG_Z if at.moments is None else MOMENTS
        if self._compiled is not None and self._compiled.walks_by == by and self.is_linear:
            return self._walk_compiled(theta, at, deltas, thresholds)
        accepted = 0
        for j, delta in enumerate(deltas):
            if by == MOMENTS and not self.coordinate_log_ratio(at.moments[j], j, delta) > thresholds[j]:
                continue
            new = theta.copy()
            new[j] += delta
            proposed = self.evaluate(new, by, at.memory)
            if by == LOG_Z and not proposed.log_likelihood - at.log_likelihood > thresholds[j]:
                continue
            theta, at = new, proposed
            accepted += 1
        return theta, at, accepted

    def _walk_compiled(
        self, theta: np.ndarray, at: Evaluation, deltas: np.ndarray, thresholds: np.ndarray
    ) -> tuple[np.ndarray, Evaluation, int]:
        n, value = self.n_samples, at.log_likelihood
        log_z = None if value is None or at.moments is not None else float(theta @ self.s_bar - value / n)
        moves = Moves(self.s_bar, n, deltas, thresholds)
        theta, after, accepted = self._compiled.walk(self.model, theta, self.plan, Inference(log_z, at.moments), moves)
        value = None if after.log_z is None else self.log_likelihood(theta, after.log_z)
        return theta, Evaluation(value, None, after.moments, at.memory), accepted

    def score(self, theta: np.ndarray) -> np.ndarray:
        """Return the gradient sum N (s_bar - E[s])."""
        return self.evaluate(theta).score

    def auxiliary(self, theta: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Sum the statistics of new data drawn at theta (Moeller et al. 2006); a row for each of several samples."""
        return rows([term.auxiliary(theta, rng) for term in self._terms])

    def complete(self, theta: np.ndarray, rng: np.random.Generator, memory: Memory) -> tuple[np.ndarray, Memory]:
        """Sum the statistics of the data, with hidden entries drawn given theta and the observed ones.

        It is exact if the engine of the positive phase samples; persistent chains leave the conditional distribution
        invariant, which suffices for a chain on (theta, hidden entries). There is a row for each of several samples.
        """
        completed = [t.complete(theta, rng, m) for t, m in zip(self._terms, self._memories(memory), strict=True)]
        return rows([sums for sums, _ in completed]), linked([m for _, m in completed])

    def gain(self, theta: np.ndarray, theta_new: np.ndarray, statistics: np.ndarray) -> float:
        """Return (theta' - theta) . S, the change of the unnormalised log probability of data with ``statistics`` S."""
        rows = statistics.reshape(len(self._terms), -1)
        return math.fsum(
            float((t.natural(theta_new) - t.natural(theta)) @ s) for t, s in zip(self._terms, rows, strict=True)
        )

    def hidden_probabilities(self, thetas: np.ndarray, rng: np.random.Generator, sample: int = 0) -> np.ndarray:
        """Return the mean over draws (n_draws, n_parameters) of the probability that each hidden entry is 1.

        With many states: the probability of each, (n_hidden, n_states). ``sample`` is the index of the sample.
        """
        return self._terms[sample].hidden_probabilities(thetas, rng)
