r"""Parallel tempering: chains at several temperatures, from independent nodes to the model, that swap states.

With V(x) = theta . s(x), rung k of the ladder 0 = b_0 < ... < b_K = 1 has the distribution

.. math:: p_k(x) \propto \exp(b_k V(x)),

so that the nodes of rung 0 are independent and uniform. Each round sweeps every rung (`bayesmrf.samplers.gibbs`), and
then proposes to swap the states x, x' of neighbours k, k + 1, with probability (Geyer 1991)

.. math:: \min(1, \exp((b_{k+1} - b_k) (V(x) - V(x')))),

of even k and of odd k in turn, which carries states up and down the ladder instead of letting them diffuse (Syed,
Bouchard-Cote, Deligiannidis and Doucet 2022, whose ladder this is: rungs between which equally many swaps are rejected,
and twice as many as the sum of the rejections between them, the barrier of the path).

A state at the top that has been at rung 0 since the start is *renewed*: nothing is left of where it began, and it came
to its mode of p by the weight of the mode. The share of these states is the diagnostic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import float64

from ..base import EVERY_FAMILY, SAMPLE, Kind, Model, Stateless
from ..compiled import leaf
from ..compiled.lanes import symmetric_uniform
from ..declare.option import option
from ..declare.rule import COUNT
from ..errors import ConvergenceWarning, argument
from ..findings import FAIR, tell
from ..models.categorical import Categorical, compiled_form, states_of
from ..models.pairwise import Pairwise
from ..rng import next_uint32
from .gibbs import LANES, Chains, check_positive, start, sweep, to_states

_TRIAL = (8, (8, 16, 32))  # rungs, and rounds between which the ladder is laid again, to find the barrier
_RUNGS = 3, 64  # at least and at most
_PER_BARRIER = 2.0  # rungs
_EVEN = 1e-3  # added to rejections, so that rungs are apart where nothing is rejected
RENEWED = 0.9  # share of the states that must be renewed


class Rungs(NamedTuple):
    """Chains of every rung; the state of chain c at rung k may swap with that at rung k + 1."""

    chains: list[Chains]
    renewed: np.ndarray  # (n_rungs, n_blocks, 64) bool, moves with the states
    rejected: np.ndarray  # (n_rungs - 1,) share of swaps


@dataclass(frozen=True)
class Tempered(Stateless):
    """Engine that draws samples by parallel tempering, one ladder for each sample.

    The samples are independent of each other, also of models with several modes; their distribution is p(x | theta) in
    the limit of large ``n_sweeps``. A warning says if fewer than nine of ten are renewed.
    """

    n_sweeps: int = option(200, COUNT, "Rounds of each ladder.", label="rounds")

    name = "tempered"
    answers = frozenset({SAMPLE})
    kind = Kind.APPROXIMATE
    families = EVERY_FAMILY

    def sample(
        self, model: Model, theta: np.ndarray, plan: None, n_samples: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw ``(n_samples, n_nodes)`` int8 states in {0, ..., n_states - 1}."""
        states, share = self.draw(model, theta, n_samples, rng)
        self.warn_unless_renewed(share)
        return states

    def draw(
        self, model: Model, theta: np.ndarray, n_samples: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, float]:
        """Draw states without a warning; return them and the share of them that are renewed."""
        form, n_states = compiled_form(model, theta), states_of(model)
        n = check_positive("n_samples", n_samples)
        rungs = climb(form, find_ladder(form, n_states, rng), n, self.n_sweeps, n_states, rng)
        return to_states(rungs.chains[-1], n, n_states), float(rungs.renewed[-1].reshape(-1)[:n].mean())

    def warn_unless_renewed(self, share: float) -> None:
        """Warn if fewer than nine of ten samples are renewed."""
        if share < RENEWED:
            tell(
                f"only {share:.0%} of the samples came from independent nodes within the {self.n_sweeps} rounds of "
                f"parallel tempering: the weights of the model's modes may be wrong; an engine Tempered with a larger "
                f"{argument('n_sweeps')} makes more rounds",
                ConvergenceWarning,
                FAIR,
            )


def find_ladder(
    form: Pairwise | Categorical, n_states: int | None, rng: np.random.Generator, base: np.ndarray | float = 0.0
) -> np.ndarray:
    """Find the ladder, (n_rungs,) from 0 to 1, from short runs of 64 chains; ``base`` is as in `between`."""
    n_rungs, rounds = _TRIAL
    ladder = np.linspace(0, 1, n_rungs)
    for n_rounds in rounds:
        at, rejected = ladder, climb(form, ladder, LANES, n_rounds, n_states, rng, base).rejected
        ladder = move_rungs(at, rejected, n_rungs)
    n = int(np.clip(np.ceil(_PER_BARRIER * (rejected + _EVEN).sum()) + 1, *_RUNGS))
    return move_rungs(at, rejected, n)


def move_rungs(ladder: np.ndarray, rejected: np.ndarray, n_rungs: int) -> np.ndarray:
    """Place ``n_rungs`` rungs so that equally many swaps are rejected between neighbours, by earlier rejections."""
    barrier = np.append(0, np.cumsum(rejected + _EVEN))
    return np.interp(np.linspace(0, barrier[-1], n_rungs), barrier, ladder)


def climb(
    form: Pairwise | Categorical,
    ladder: np.ndarray,
    n_chains: int,
    n_sweeps: int,
    n_states: int | None,
    rng: np.random.Generator,
    base: np.ndarray | float = 0.0,
    rungs: Rungs | None = None,
) -> Rungs:
    """Run ``n_chains`` ladders from uniform random states, or on from those of ``rungs``, in place.

    Parameters
    ----------
    form : Pairwise or Categorical
        The model at theta.
    ladder : (n_rungs,) array
    n_chains, n_sweeps : int
    n_states : int or None
        Of a categorical model.
    rng : Generator
    base : array
        As in `between`.
    rungs : Rungs, optional
        Of the same ladder.
    """
    if rungs is None:
        chains = [start(n_chains, len(form.field), rng, n_states=n_states) for _ in ladder]
        renewed = np.zeros((len(ladder), len(chains[0].states), LANES), dtype=bool)
    else:
        chains, renewed = rungs.chains, rungs.renewed
    forms, change = [between(form, base, b) for b in ladder], form._replace(field=form.field - base)
    rejected = np.zeros(len(ladder) - 1)
    for j in range(n_sweeps):
        for at, one in zip(forms, chains, strict=True):
            sweep(at, one, 1)
        renewed[0] = True
        for k in range(j % 2, len(ladder) - 1, 2):
            low, high = chains[k], chains[k + 1]
            gap = ladder[k + 1] - ladder[k]
            rejected[k] += swap_states(change, gap, low.states, high.states, low.lanes, renewed[k], renewed[k + 1])
    n_swaps = [len(range(k % 2, n_sweeps, 2)) for k in range(len(rejected))]
    return Rungs(chains, renewed, rejected / np.maximum(n_swaps, 1))


def between(form: Pairwise | Categorical, base: np.ndarray | float, b: float) -> Pairwise | Categorical:
    """Return the model (1 - b) h . x + b V(x) between independent nodes with fields h (``base``) and the model."""
    return form._replace(coupling=b * form.coupling, field=base + b * (form.field - base))


@leaf
def add_potential(edges, coupling, field, x, value):
    """Add V of each lane of a block, x (n_nodes, n_lanes), for two states or many."""
    n_lanes = len(value)
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        for lane in range(n_lanes):
            value[lane] += _pair(coupling, field, e, x[u, lane], x[v, lane])
    for i in range(len(x)):
        for lane in range(n_lanes):
            value[lane] += _own(field, i, x[i, lane])


@leaf
def add_potentials(form, states, values):
    """Add V of each chain of all blocks, states (n_blocks, n_nodes, n_lanes)."""
    for b in range(len(states)):
        add_potential(form.edges, form.coupling, form.field, states[b], values[b])


@leaf
def _pair(coupling, field, e, a, b):
    if field.ndim == 1:
        return coupling[e] * float64(a * b)
    if coupling.ndim == 1:
        return coupling[e] if a == b else 0.0
    return coupling[e, a, b]


@leaf
def _own(field, i, a):
    return field[i] * float64(a) if field.ndim == 1 else field[i, a]


@leaf
def swap_states(form, gap, low, high, lanes, renewed_low, renewed_high):
    """Swap states of two rungs, in place; return the mean probability that a swap is rejected."""
    n_blocks, n_nodes, n_lanes = low.shape
    below, above = np.empty(n_lanes), np.empty(n_lanes)
    rejected = 0.0
    for b in range(n_blocks):
        below[:] = above[:] = 0.0
        add_potential(form.edges, form.coupling, form.field, low[b], below)
        add_potential(form.edges, form.coupling, form.field, high[b], above)
        for lane in range(n_lanes):
            log_ratio = gap * (below[lane] - above[lane])
            accepted = np.exp(min(log_ratio, 0.0))
            rejected += 1 - accepted
            if (symmetric_uniform(next_uint32(lanes[b], lane)) + 1) / 2 < accepted:
                for i in range(n_nodes):
                    low[b, i, lane], high[b, i, lane] = high[b, i, lane], low[b, i, lane]
                renewed_low[b, lane], renewed_high[b, lane] = renewed_high[b, lane], renewed_low[b, lane]
    return rejected / (n_blocks * n_lanes)
