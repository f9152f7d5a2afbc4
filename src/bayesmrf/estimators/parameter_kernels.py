"""The kernels of `BayesianMRF`: the choice of one, starts around the mode, and steps that follow from the curvature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..base import LOG_Z, SAMPLE, ChainEngine, Engine, Kernel, Kind
from ..declare.registries import Registry
from ..inference.elimination.engine import width
from ..likelihood import Likelihood
from ..methods import KERNELS, Langevin
from ..methods.parameters import KernelRow, Setting, choose_kernel, row_of
from ..methods.rows import Built
from ..models.bases import has_lines
from ..posterior.conditionals.exact_scan import MAX_STATES
from ..posterior.hidden_entries import DrawHiddenEntries
from ..posterior.parameters.coordinate_gibbs import CoordinateGibbs
from ..posterior.parameters.hamiltonian import HamiltonianKernel
from ..posterior.parameters.langevin import LangevinKernel
from ..posterior.parameters.metropolis import MetropolisKernel
from ..priors import Prior
from .built_kernels import build_kernel
from .starts import uncorrected_epsilon

_WIDER = 2.0  # spread of the chains' starts, in posterior standard deviations
_FEW_STATES = 2**14  # of all nodes, which a scan reads in the time of a few calls of an engine
_SOLVES = 64  # of elimination, each with its largest table, that take as long as a scan of a table of all states


class Problem(NamedTuple):
    """What a kernel is built for."""

    likelihood: Likelihood
    prior: Prior
    at: Any  # where chains start, and the scales of the posterior there: a `Start`, or draws from the prior
    n_warmup: int

    def starts(self, start: str = "mode") -> tuple[np.ndarray, np.ndarray | None]:
        """Return the centre and the spread of the starts of chains."""
        return (0 * self.at.theta, None) if start == "zero" else (self.at.theta, _WIDER * self.at.root)

    def walk(self, kernel: Callable[..., Kernel], options: Any, scale: np.ndarray) -> Built:
        """Return a random walk, whose step is adapted in units of ``scale`` unless it is given."""
        theta, spread = self.starts(options.start)
        unit, n_adapt = (scale, self.n_warmup) if options.step_size is None else (None, 0)
        return Built(kernel(self.likelihood, self.prior, theta, options, unit, spread, n_adapt))


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


def parameter_kernel(options: Any, problem: Problem, rows: Registry[KernelRow] = KERNELS) -> Kernel:
    """Return the kernel of some options (`bayesmrf.methods.parameters`)."""
    draws = {"theta": {"feature": problem.likelihood.n_parameters}}
    made = build_kernel(rows, row_of(options, rows), options, problem, draws)
    return made.kernel if isinstance(made, Built) else made


def metropolis(options: Any, p: Problem) -> Built:
    """Build the random walk."""
    # Walks along coordinates are compiled, and need moments only.
    oblique = p.at.is_oblique and LOG_Z in p.likelihood.engine.answers
    return p.walk(MetropolisKernel, options, p.at.root if oblique else p.at.scale)


def gibbs(options: Any, p: Problem) -> Built:
    """Build the sampler by exact full conditionals."""
    kernel = CoordinateGibbs(p.likelihood.replaced(p.likelihood.s_bar), p.prior, *p.starts(options.start))
    return Built(kernel if p.likelihood.hidden is None else DrawHiddenEntries(kernel, p.likelihood))


def hamiltonian(options: Any, p: Problem) -> Built:
    """Build Hamiltonian dynamics."""
    theta, spread = p.starts(options.start)
    return Built(HamiltonianKernel(p.likelihood, p.prior, theta, options, p.at.root, spread, p.n_warmup))


def langevin(options: Any, p: Problem) -> Built:
    """Build Langevin dynamics."""
    precondition = options.epsilon is None if options.precondition is None else options.precondition
    scale, epsilon = p.at.root if precondition else None, options.epsilon
    if epsilon is None or not options.adjusted:
        epsilon = uncorrected_epsilon(epsilon, p.at.stiffness(scale))
    theta, spread = p.starts(options.start)
    n_adapt = p.n_warmup if options.epsilon is None else 0
    options = replace(options, epsilon=epsilon)
    return Built(LangevinKernel(p.likelihood, p.prior, theta, options, scale, spread, n_adapt))


def pseudo_posterior(options: Any, p: Problem) -> Built:
    """Build adjusted Langevin dynamics, with the engine of the pseudo-likelihood."""
    return langevin(Langevin(momentum=options.momentum, adjusted=True, start=options.start), p)
