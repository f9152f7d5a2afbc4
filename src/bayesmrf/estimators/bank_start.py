"""Pilot runs that find where a bank of states is needed, and all that is frozen before the first draw."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..data.states import States
from ..inference.control_variates import controlled_moments
from ..learning.pseudo_mode import pseudo_mode
from ..likelihood import Likelihood
from ..posterior.conditionals.group_lines import GroupProblem
from ..posterior.edges.bank import BankDesign
from ..posterior.edges.surrogate import (
    Tilt,
    coordinates_of,
    corrected,
    quadratic_of,
    surrogate_of,
    tables_of,
    tilts_of,
)
from ..states.bank import Bank, BankChains, covariance_of, log_z
from ..threads import one_thread
from .pipeline import completed

SEED = 0  # the same for the same data, so that a run can be continued
_CHAINS = 2048
_PILOT_TIMES, _PILOT_BANK = 5, 4096  # states of each chain behind the moments of pilots, and in their banks
_TIMES, _FEW_TIMES = 50, 16  # the same of the last bank's, and of its means where these are known well
_NOISE_OF_MEAN = 1e-3  # of posterior variances, which the noise of means may add
_LEAST, MOST, _TOO_MANY, _ROOM = 8192, 32_768, 4, 2**21  # states in the last bank; times more; numbers in small tables
_PARTS = 8  # of a bank of a pilot run, by which its noise is known
_NOISE = 0.85  # standard deviation of the log likelihood over draws that the bank may add
_DRAWS, _PILOT_CHAINS, _TURNS = 60, 4, 2  # of a pilot run; surrogates of a bank
_MOST_STAGES, _STABLE, _SHARE = 10, 0.05, 0.2  # of pilots; relative change of the number of edges; share of the bank
_COMPLETIONS = 20  # of missing answers, whose mean the surrogate is for
_DENSE = 2.0  # standard deviations from 0, below which an edge is absent at the start
_LEFT, _OF_ALL = 0.15, 0.9  # autocorrelation of draws that is aimed at, for this share of the weights
_MOST_STEPS, _PILOT_STEPS = 40, 2  # in a draw
_WARM = 4  # times fewer steps in a draw of warm-up: chains start where pilot runs have been
_MOST_STEPS_UP, _REACH = 30, 0.5  # Newton steps, and their lengths at most, in standard deviations of log densities
_RIDGE = 1e-10
_FARTHEST = 8.0  # from the centre, of a weight of a draw, in standard deviations of the surrogate
_ALWAYS = 10**9  # steps in which pilots adapt
_FIRST, _WEAK = 8.0, 1e-2  # size of the first blocks; precision of the parameters of nodes at the start, at least


class _Pilots:
    """Chains that move with the centre of the posterior, and the banks of states around it."""

    def __init__(
        self,
        model: Any,
        problem: GroupProblem,
        data: Likelihood,
        parts: Sequence[States],
        make: Callable[[BankDesign, int], Any],
    ) -> None:
        self.model, self.problem, self.data, self.make = model, problem, data, make
        self.rng, self.coordinates = np.random.default_rng(SEED), coordinates_of(problem)
        rows = [_completed(part, self.rng) for part in parts]
        self.s_bar = np.array([model.statistics(x, part.weights) for x, part in zip(rows, parts, strict=True)])
        self.at = self._mode(rows, parts)
        self.chains = [
            BankChains(model, _drawn(x, part, self.rng), self.rng) for x, part in zip(rows, parts, strict=True)
        ]
        self.all_states = rows
        self.share = np.ones(len(self.coordinates.part))
        self.states: list[Any] = []
        self.draws = self.at[None]
        self.sizes, self.least, self.farthest, self.left = np.full(2, _FIRST), 1.0, 0.0, 1.0

    def _mode(self, rows: Sequence[np.ndarray], parts: Sequence[States]) -> np.ndarray:
        """Return the coordinates of the mode of the pseudo-likelihood of each group."""
        problem, maps = self.problem, self.coordinates.maps
        precision, r = problem.scales.clip(min=_WEAK), int(problem.places[problem.n_edges])
        precision[:r] = problem.baseline.stiffness
        each = [pseudo_mode(self.model, x, part.weights, precision) for x, part in zip(rows, parts, strict=True)]
        return np.asarray(np.linalg.lstsq(maps.reshape(-1, maps.shape[2]), np.concatenate(each))[0])

    def measure(self, n_times: int, size: int) -> list[Bank]:
        """Return banks of ``size`` states at the centre, whose moments are those of more states."""
        banks = []
        for g, chains in enumerate(self.chains):
            theta = self.coordinates.maps[g] @ self.at
            states = chains.states(theta, n_times)
            banks.append(_bank(self.model, theta, states, float(self.problem.lines.n[g]), size, self.rng))
            self.all_states[g] = states.reshape(-1, states.shape[2])
        return banks

    def climb(self) -> list[Bank]:
        """Move the centre by Newton steps until the mode with all candidates is within a bank; return this bank.

        Where rows are of no network of pairs, that of the pseudo-likelihood is far away.
        """
        problem, c = self.problem, self.coordinates
        stiff = np.where(c.part == 0, problem.baseline.stiffness, problem.prior.stiffness)
        precision = np.concatenate([np.repeat(stiff, np.diff(c.first)), problem.scales[c.nodes]])
        n = problem.lines.n.sum()
        for _ in range(_MOST_STEPS_UP):
            banks = self.measure(_PILOT_TIMES, _PILOT_BANK)
            slope, full = quadratic_of(problem, c, banks, self.s_bar)
            step = np.linalg.solve(full + np.diag(precision), slope - precision * self.at)
            length = np.sqrt(step @ full @ step / n)
            if length < _REACH:
                break
            self.at = self.at + step * min(1.0, _REACH / length)
        return banks

    def turn(self, banks: Sequence[Bank], tilts: Sequence[Tilt] | None, n_draws: int) -> list[Tilt]:
        """Make a pilot run; return the tilts at its draws."""
        design = self.design(banks, tilts, _PILOT_STEPS, _PILOT_STEPS)
        kernel = completed(self.make(design, _ALWAYS), self.data)
        if not self.states:
            design = design._replace(starts=self._sparse(design)[None])
            kernel = completed(self.make(design, _ALWAYS), self.data)
            self.states = [kernel.init(self.rng) for _ in range(_PILOT_CHAINS)]
        phi, self.least = np.empty((_PILOT_CHAINS, n_draws, len(self.at))), 1.0
        for k, state in enumerate(self.states):
            now = self._renewed(state)
            for i in range(n_draws):
                now, info = kernel.step(self.rng, now)
                phi[k, i] = _inner(now).theta
                if 2 * i >= n_draws:
                    self.least = min(self.least, info.bank_share)
            self.states[k] = now
        late = phi[:, n_draws // 2 :, self.coordinates.order]
        self.draws = late.reshape(-1, len(self.at))
        self.share = (self.draws[:, self.coordinates.first[:-1]] != 0).mean(axis=0)
        of, n_weights = design.surrogate, len(design.surrogate.at)
        weights, self.left = self.draws[:, :n_weights], _autocorrelation(late[:, :, :n_weights])
        ridge = _RIDGE * of.hessian.diagonal().max(initial=1.0)  # what the data do not limit has a large deviation
        sd = np.sqrt(np.linalg.inv(of.hessian + ridge * np.eye(n_weights)).diagonal())
        self.farthest = float(np.where(weights != 0, np.abs(weights - of.at) / sd, 0.0).max(initial=0.0))
        self.sizes = np.mean([_inner(s).sizes for s in self.states], axis=0)
        self._complete()
        return tilts_of(self.model, self.coordinates, banks, self.draws - self.at)

    def design(self, banks: Sequence[Bank], tilts: Sequence[Tilt] | None, n_steps: int, n_warm: int) -> BankDesign:
        """Freeze what there is."""
        c, problem = self.coordinates, self.problem
        surrogate = surrogate_of(problem, c, banks, self.s_bar, self.at, self.share, tilts)
        tables = tables_of(self.model, c, banks, surrogate, problem.lines.n)
        starts = np.empty_like(self.draws)
        starts[:, c.order] = self.draws
        sums = problem.lines.n[:, None] * self.s_bar
        return BankDesign(problem, c, surrogate, tables, sums, starts, self.sizes, n_steps, n_warm, tuple(banks))

    def _sparse(self, design: BankDesign) -> np.ndarray:
        """Return phi at the centre without edges that differ from 0 by little, or that are forbidden."""
        c, of = self.coordinates, design.surrogate
        w, first, is_visited = of.at.copy(), c.first, np.isin(np.arange(len(c.part)), of.visit)
        for u in range(len(c.part)):
            weights = slice(first[u], first[u + 1])
            far = w[weights] @ of.hessian[weights, weights] @ w[weights]
            if not is_visited[u] or (of.free[u] and far < _DENSE**2 * (first[u + 1] - first[u])):
                w[weights] = 0.0
        phi = np.empty(len(self.at))
        phi[c.order] = np.concatenate([w, of.offset - of.gain @ (w - of.at)])
        return phi

    def _renewed(self, state: Any) -> Any:
        """Return a state whose sizes of blocks are adapted again."""
        inner = _inner(state)._replace(age=0)
        return inner if inner.__class__ is state.__class__ else state._replace(inner=inner)

    def _complete(self) -> None:
        """Set the data to the mean of completions at the last draws, if answers are missing."""
        if all(s.hidden is None for s in self.data.samples):
            return
        state, total = self.states[0], np.zeros(self.s_bar.size)
        memory = state.memory
        places = np.linspace(0, len(self.draws) - 1, _COMPLETIONS).astype(int)
        for k in places:
            phi = np.empty(len(self.at))
            phi[self.coordinates.order] = self.draws[k]
            sums, memory = self.data.complete(phi, self.rng, memory)
            total += np.ravel(sums)
        self.s_bar = total.reshape(self.s_bar.shape) / _COMPLETIONS / self.problem.lines.n[:, None]


def _inner(state: Any) -> Any:
    """Return the state of the kernel of complete data."""
    return state.inner if "inner" in state._fields else state


@one_thread()
def design_of(
    model: Any,
    problem: GroupProblem,
    data: Likelihood,
    parts: Sequence[States],
    make: Callable[[BankDesign, int], Any],
    n_steps: int | None = None,
) -> BankDesign | None:
    """Run pilots until the number of edges and the share of the bank are stable, and freeze a larger bank.

    Random numbers are the same for the same data, so that a run can be continued.

    Parameters
    ----------
    model : NodeFeatures
    problem : GroupProblem
    data : Likelihood
        Whose hidden entries are drawn before each step.
    parts : sequence of States
        The rows of each group.
    make : callable
        Returns the kernel of a design, which adapts the sizes of blocks in so many steps.
    n_steps : int, optional
        In a draw; by default that of the sizes of blocks.

    Returns
    -------
    BankDesign or None
        None where no bank holds the posterior.
    """
    pilots, before = _Pilots(model, problem, data, parts, make), np.inf
    banks, is_last, size = pilots.climb(), False, _PILOT_BANK
    tilts: list[Tilt] | None = None
    for _ in range(_MOST_STAGES):
        for turn in range(_TURNS):
            tilts = pilots.turn(banks, tilts, _DRAWS)
            if pilots.farthest > _FARTHEST:  # noise of the bank grows with the distance from its centre
                return None
            if is_last and turn == 0:
                away = pilots.draws - pilots.at
                banks = corrected(model, pilots.coordinates, banks, pilots.all_states, away)
        n_edges = pilots.share.sum()
        is_stable = abs(n_edges - before) <= max(1.0, _STABLE * n_edges) and pilots.least > _SHARE
        before = n_edges
        if is_stable and is_last:
            n_steps = _steps(pilots) if n_steps is None else n_steps
            return pilots.design(banks, tilts, n_steps, max(1, n_steps // _WARM))
        if is_stable:
            is_last, wanted = True, _wanted(model, pilots, banks)
            if wanted > _TOO_MANY * MOST:
                return None
            # Tables of few coordinates cost little.
            size = int(np.clip(-(-max(wanted, _ROOM / len(pilots.at) / len(banks)) // _LEAST) * _LEAST, _LEAST, MOST))
        pilots.at = pilots.draws.mean(axis=0)
        banks = pilots.measure(_TIMES if is_last else _PILOT_TIMES, size)
        tilts = tilts_of(model, pilots.coordinates, banks, pilots.draws - pilots.at)
    return None


def _bank(model: Any, theta: np.ndarray, states: np.ndarray, n: float, size: int, rng: np.random.Generator) -> Bank:
    """Return a bank of some of the states (n_times, n_chains, n_nodes) of chains at theta, for n observations."""
    flat = states.reshape(-1, states.shape[2])
    covariance = covariance_of(model, flat)
    for n_times in sorted({min(_FEW_TIMES, len(states)), len(states)}):
        moments = controlled_moments(model, theta, states[:n_times])
        if n * (moments.error**2).sum() < _NOISE_OF_MEAN * covariance.diagonal().sum():
            break
    return Bank(theta, moments.mean, moments.error, covariance, flat[rng.permutation(len(flat))[:size]])


def another_bank(model: Any, bank: Bank, n: float, rng: np.random.Generator) -> Bank:
    """Return an independent bank at the same theta, of all states of its chains, for n observations."""
    states = BankChains(model, bank.states[:_CHAINS], rng).states(bank.theta, _TIMES)
    return _bank(model, bank.theta, states, n, states.shape[0] * states.shape[1], rng)


def _wanted(model: Any, pilots: _Pilots, banks: Sequence[Bank]) -> float:
    """Return how many states a bank needs so that it adds little to the log likelihood, by parts of a smaller one."""
    size, values = _PILOT_BANK // _PARTS, np.zeros((_PARTS, len(pilots.draws)))
    for bank, n, maps in zip(banks, pilots.problem.lines.n, pilots.coordinates.maps, strict=True):
        theta = pilots.draws @ maps.T
        parts = bank.states.reshape(_PARTS, size, -1)
        values += n * np.array([log_z(model, bank._replace(states=x), theta)[0] for x in parts])
    away = values - values.mean(axis=1, keepdims=True)
    return float(away.var(axis=0, ddof=1).mean() * size / _NOISE**2)


def _steps(pilots: _Pilots) -> int:
    """Return how many blocks of edges a draw needs, of which a pilot run has few."""
    steps = _PILOT_STEPS * np.log(_LEFT) / np.log(np.clip(pilots.left, 0.01, 0.99))
    return int(np.clip(np.ceil(steps), 1, _MOST_STEPS))


def _autocorrelation(draws: np.ndarray) -> float:
    """Return the autocorrelation of successive draws (n_chains, n_draws, W) that most weights do not exceed."""
    away = draws - draws.mean(axis=(0, 1))
    squares = (away**2).mean(axis=(0, 1))
    products = (away[:, 1:] * away[:, :-1]).mean(axis=(0, 1))
    return float(np.quantile(products[squares > 0] / squares[squares > 0], _OF_ALL))


def _completed(part: States, rng: np.random.Generator) -> np.ndarray:
    """Return the rows with an answer of another row in place of each that is missing."""
    x = part.values.astype(np.int64)
    for i in range(x.shape[1]):
        lost = x[:, i] < 0
        if lost.any():
            x[lost, i] = rng.choice(x[~lost, i], size=lost.sum()) if not lost.all() else 0
    return x


def _drawn(x: np.ndarray, part: States, rng: np.random.Generator) -> np.ndarray:
    """Return rows as often as they were seen, where chains start."""
    p = None if part.weights is None else part.weights / part.weights.sum()
    return x[rng.choice(len(x), size=_CHAINS, p=p)]
