"""Edges with a spike and a slab, and differences between groups of people, with log Z from a frozen bank of states.

All that is approximate is frozen before the first draw: the banks, the surrogate, and the number of steps in a draw.
Chains differ in nothing but their numbers, so that draws do not depend on the number of workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...states.bank import Bank
from ..conditionals.group_lines import GroupProblem, GroupTheta, own_problem
from ..conditionals.spike import require_finite
from .bank_moves import Counts, Place, move
from .differences import DifferencesKernel
from .spike_slab import EDGE_DIMS, EdgeKernel, drawn, present_edges, with_blocks
from .surrogate import Coordinates, Surrogate, Tables

BANK_DIMS = {"n_jumps": (), "walled": (), "bank_share": ()}


class BankDesign(NamedTuple):
    """What is frozen at the end of the pilot runs."""

    problem: GroupProblem
    coordinates: Coordinates
    surrogate: Surrogate
    tables: Tables
    sums: np.ndarray  # (G, F), those of the data that the surrogate is for
    starts: np.ndarray  # (k, V), phi where chains may start
    sizes: np.ndarray  # (2,), first sizes of blocks of edges and of nodes
    n_steps: int  # in a draw
    n_warm: int  # in a draw of warm-up
    banks: tuple[Bank, ...]  # of all groups


class BankState(NamedTuple):
    """phi; sizes of blocks; steps so far; the block of each node, if the prior has any."""

    theta: np.ndarray
    sizes: np.ndarray
    age: int
    blocks: np.ndarray


class BankInfo(NamedTuple):
    """Draw; births and deaths of the step, the share of its blocks that the wall rejected, and the least effective
    share of a bank.
    """

    theta: np.ndarray
    included: np.ndarray
    n_edges: int
    density: float
    slab_scale: float
    n_jumps: int
    walled: float
    bank_share: float


def first_state(design: BankDesign, rng: np.random.Generator) -> BankState:
    """Return where a chain starts."""
    start = design.starts[rng.integers(len(design.starts))].copy()
    return BankState(start, design.sizes.copy(), 0, design.problem.baseline.blocks.labels.copy())


def walk(
    design: BankDesign, rng: np.random.Generator, state: BankState, sums: np.ndarray, n_adapt: int
) -> tuple[BankState, GroupTheta, np.ndarray, Counts]:
    """Make the steps of a draw, for data with the ``sums`` (G, F) of their features."""
    is_adapted = state.age < n_adapt * design.n_warm
    n_steps = design.n_warm if is_adapted else design.n_steps
    of, coordinates, problem = design.surrogate, design.coordinates, own_problem(design.problem, state.blocks)
    n_weights, y = len(of.at), state.theta[coordinates.order]
    w, away = y[:n_weights].copy(), y[:n_weights] - of.at
    xi = of.lower.T @ (y[n_weights:] - of.offset + of.gain @ away)
    r = of.slope - of.hessian @ away
    d = of.apart + of.curve @ np.concatenate([away, xi])
    if (sums != design.sums).any():  # answers that are missing are others
        more = np.einsum("gfv,gf->v", coordinates.maps, sums - design.sums)
        of_weights, of_nodes = np.split(more, [n_weights])
        r += of_weights - of.gain.T @ of_nodes
        d[n_weights:] += of.inverse.T @ of_nodes
    place = Place(w, xi, np.empty(len(xi)), r, d, np.empty(design.tables.base.shape, np.float32))
    (n_groups, n_coordinates), s = problem.contrast.shape, problem.n_spiked
    weights = state.theta[: n_coordinates * s].reshape(n_coordinates, s).copy()
    theta = GroupTheta(weights, np.empty((n_groups, 0)), np.empty((n_groups, 0)))
    sizes = state.sizes.copy()
    hyper, counts = move(rng, problem, of, design.tables, theta, place, sizes, n_steps, state.age, is_adapted)
    phi = np.empty(len(y))
    phi[coordinates.order] = np.concatenate([place.w, place.t])
    require_finite(phi)
    natural = coordinates.maps @ phi[coordinates.order]
    now = BankState(phi, sizes, state.age + n_steps, problem.baseline.blocks.labels)
    return now, theta._replace(natural=natural), hyper, counts


@dataclass(frozen=True, eq=False)
class SpikeSlabBank(EdgeKernel):
    """Blocks of births, deaths and swaps of edges by a surrogate, accepted by a bank of states.

    Parameters
    ----------
    model, s_bar, n_samples, prior, start
        As in `EdgeKernel`.
    design : BankDesign
    n_adapt : int
        Steps in which the sizes of blocks are adapted.
    """

    design: BankDesign | None = None
    n_adapt: int = 0

    name = "spike_slab_bank"
    dims = EDGE_DIMS | BANK_DIMS

    def init(self, rng: np.random.Generator) -> BankState:
        """Start where pilot runs have been."""
        assert self.design is not None
        return first_state(self.design, rng)

    def step(self, rng: np.random.Generator, state: BankState) -> tuple[BankState, BankInfo]:
        """Make the steps of a draw."""
        assert self.design is not None
        sums = float(self.n_samples) * np.asarray(self.s_bar)[None]
        now, _, hyper, counts = walk(self.design, rng, state, sums, self.n_adapt)
        draw = drawn(now.theta, present_edges(self.model, now.theta), hyper[2], hyper[3])
        info = BankInfo(*draw, counts.n_jumps, counts.n_walled / max(counts.n_blocks, 1), counts.share)
        return now, with_blocks(info, now.blocks)


@dataclass(frozen=True, eq=False)
class GroupsBank(DifferencesKernel):
    """The same for baselines and differences of edges between groups of people, with a bank for each group.

    Parameters
    ----------
    likelihood, contrast, prior, baseline, biases, n_scans
        As in `DifferencesKernel`.
    design, n_adapt
        As in `SpikeSlabBank`.
    """

    design: BankDesign | None = None
    n_adapt: int = 0

    name = "groups_bank"
    dims = DifferencesKernel.dims | BANK_DIMS

    def init(self, rng: np.random.Generator) -> BankState:
        """Start where pilot runs have been."""
        assert self.design is not None
        return first_state(self.design, rng)

    def step(self, rng: np.random.Generator, state: BankState) -> tuple[BankState, BankInfo]:
        """Make the steps of a draw."""
        assert self.design is not None
        sums = np.array([float(s.n_samples) * s.s_bar for s in self.likelihood.samples])
        now, theta, hyper, counts = walk(self.design, rng, state, sums, self.n_adapt)
        draw = self.draw(theta, hyper[0], hyper[1])
        share = counts.n_walled / max(counts.n_blocks, 1)
        return now, BankInfo(*draw, counts.n_jumps, share, counts.share)
