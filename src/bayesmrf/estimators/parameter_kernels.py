"""The kernels of `BayesianMRF`: the choice of one, starts around the mode, and steps that follow from the curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..base import LOG_Z, SAMPLE, ChainEngine, Engine, Kernel, Kind
from ..inference.elimination.engine import width
from ..likelihood import Likelihood
from ..methods import KERNELS, Langevin
from ..methods.parameters import Setting, choose_kernel, row_of
from ..models.bases import has_lines
from ..posterior.conditionals.exact_scan import MAX_STATES
from ..posterior.hidden_entries import DrawHiddenEntries
from ..posterior.parameters.auxiliary_variable import AuxiliaryVariableKernel
from ..posterior.parameters.exchange import ExchangeKernel
from ..posterior.parameters.gibbs import CoordinateGibbs
from ..posterior.parameters.hamiltonian import HamiltonianKernel
from ..posterior.parameters.langevin import LangevinKernel
from ..posterior.parameters.metropolis import MetropolisKernel
from ..priors import Prior
from .own_kernels import own_kernel
from .starts import Start, uncorrected_epsilon

_WIDER = 2.0  # spread of the chains' starts, in posterior standard deviations
_FEW_STATES = 2**14  # of all nodes, which a scan reads in the time of a few calls of an engine
_SOLVES = 64  # of elimination, each with its largest table, that take as long as a scan of a table of all states


class Problem(NamedTuple):
    """Input of a kernel."""

    likelihood: Likelihood
    prior: Prior
    at: Start
    n_warmup: int


def automatic_kernel(likelihood: Likelihood, prior: Prior) -> Any:
    """Return the options of the kernel that "auto" stands for (see `bayesmrf.methods.parameters.choose_kernel`)."""
    hidden = None
    if likelihood.hidden is not None:
        engine = likelihood.hidden.engine
        hidden = _answers(engine) | ({SAMPLE} if isinstance(engine, ChainEngine) else set())
    return choose_kernel(
        Setting(
            answers=_answers(likelihood.engine),
            kind=likelihood.engine.kind,
            hidden=hidden,
            prior=prior,
            ties=likelihood.curve is not None,
            by_table=_by_table(likelihood.model),
        )
    )


def _answers(engine: Engine) -> frozenset[str]:
    return engine.answers - {LOG_Z} if engine.kind is Kind.RANDOM else engine.answers


def _by_table(model: Any) -> bool:
    """Whether a scan with a table of all states is faster than elimination."""
    m, graph = model.n_states, model.graph
    if not has_lines(model) or m**graph.n_nodes > MAX_STATES:
        return False
    return bool(m**graph.n_nodes <= max(_FEW_STATES, _SOLVES * m ** width(graph)))


def parameter_kernel(options: Any, problem: Problem) -> Kernel:
    """Return the kernel of some options (`bayesmrf.methods.parameters`)."""
    return _BUILD[row_of(options).name](options, problem)


def _start(options: Any, at: Start) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the centre and the spread of the starts of chains."""
    return (0 * at.theta, None) if options.start == "zero" else (at.theta, _WIDER * at.root)


def _walk(kernel: Callable[..., Kernel], options: Any, p: Problem, scale: np.ndarray) -> Kernel:
    """Return a random walk, whose step is adapted in units of the curvature at the mode unless it is given."""
    theta, spread = _start(options, p.at)
    unit, n_adapt = (scale, p.n_warmup) if options.step_size is None else (None, 0)
    return kernel(p.likelihood, p.prior, theta, options, unit, spread, n_adapt)


def _metropolis(options: Any, p: Problem) -> Kernel:
    # Walks along coordinates are compiled, and need moments only.
    oblique = p.at.is_oblique and LOG_Z in p.likelihood.engine.answers
    return _walk(MetropolisKernel, options, p, p.at.root if oblique else p.at.scale)


def _exchange(options: Any, p: Problem) -> Kernel:
    return _walk(ExchangeKernel, options, p, p.at.root)


def _auxiliary_variable(options: Any, p: Problem) -> Kernel:
    # The reference must be in the posterior, with chains near it, or nearly all proposals are rejected.
    scale = p.at.root if options.step_size is None else None
    spread = None if options.start == "zero" else p.at.root
    return AuxiliaryVariableKernel(p.likelihood, p.prior, p.at.theta, options, scale, spread)


def _gibbs(options: Any, p: Problem) -> Kernel:
    theta, spread = _start(options, p.at)
    gibbs = CoordinateGibbs(p.likelihood.replaced(p.likelihood.s_bar), p.prior, theta, spread)
    return gibbs if p.likelihood.hidden is None else DrawHiddenEntries(gibbs, p.likelihood)


def _hamiltonian(options: Any, p: Problem) -> Kernel:
    theta, spread = _start(options, p.at)
    return HamiltonianKernel(p.likelihood, p.prior, theta, options, p.at.root, spread, p.n_warmup)


def _langevin(options: Any, p: Problem) -> Kernel:
    precondition = options.epsilon is None if options.precondition is None else options.precondition
    scale, epsilon = p.at.root if precondition else None, options.epsilon
    if epsilon is None or not options.adjusted:
        epsilon = uncorrected_epsilon(epsilon, p.at.stiffness(scale))
    theta, spread = _start(options, p.at)
    n_adapt = p.n_warmup if options.epsilon is None else 0
    return LangevinKernel(p.likelihood, p.prior, theta, replace(options, epsilon=epsilon), scale, spread, n_adapt)


def _pseudo_posterior(options: Any, p: Problem) -> Kernel:
    return _langevin(Langevin(momentum=options.momentum, adjusted=True, start=options.start), p)


def _custom(options: Any, p: Problem) -> Kernel:
    draws = {"theta": {"feature": p.likelihood.n_parameters}}
    return own_kernel(KERNELS, options, p.likelihood, p.prior, draws)


_BUILD: dict[str, Callable[[Any, Problem], Kernel]] = {
    "metropolis": _metropolis,
    "gibbs": _gibbs,
    "hamiltonian": _hamiltonian,
    "langevin": _langevin,
    "exchange": _exchange,
    "auxiliary-variable": _auxiliary_variable,
    "pseudo-posterior": _pseudo_posterior,
    "custom": _custom,
}
