r"""Cluster sampling (Swendsen and Wang 1987), for couplings of any signs and with fields.

Edwards and Sokal (1988): with J_e x_u x_v = -|J_e| + 2 |J_e| [edge e is satisfied], the factor of an edge is

.. math:: e^{J_e x_u x_v} = e^{-|J_e|} \sum_{b_e \in \{0, 1\}} \Big((e^{2 |J_e|} - 1) [J_e x_u x_v > 0]\Big)^{b_e},

so that p(x) is a marginal of a joint distribution of x and bonds b. A sweep draws each in turn: given x, a satisfied
edge gets a bond with probability 1 - exp(-2 |J_e|), and other edges get none; given b, the nodes connected by bonds (a
cluster C) keep their relative signs and are flipped together,

.. math:: P(x_C \text{ stays}) = \frac{e^{F}}{e^{F} + e^{-F}}, \qquad F = \sum_{i \in C} h_i x_i.

This is valid for frustrated signs, too, as unsatisfied edges never have bonds. Sweeps mix fast if large clusters are
flipped, and slowly with strong frustration (clusters of nearly all nodes) or strong fields (clusters that are rarely
flipped).

With m states and J_e >= 0, e^{J_e [x_u = x_v]} = 1 + (e^{J_e} - 1) [x_u = x_v]: ends that agree get a bond with
probability 1 - exp(-J_e), and a cluster draws its common state k with weight exp(sum_{i in C} h_ik). Negative couplings
have no such form for m > 2, and are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base import BINARY, POTTS
from ..compiled import copy_to, strict_leaf
from ..declare.option import option
from ..declare.rule import COUNT
from ..errors import OptionError
from ..models.categorical import Categorical
from ..models.pairwise import Pairwise
from ..rng import next_uint32
from .clusters import bind
from .gibbs import LANES, Chains, SweepEngine, check_nodes, check_positive, check_room


def check_finite(model: Pairwise | Categorical) -> None:
    """Refuse couplings and fields that are infinite or NaN.

    Raises
    ------
    OptionError
        With the first of them.
    """
    for name, values in (("coupling of edge", model.coupling), ("field of node", model.field)):
        bad = np.argwhere(~np.isfinite(values))
        if len(bad):
            remedy = "put a node whose state is given into its neighbours' fields"
            got = f"{values[tuple(bad[0])]} as the {name} {bad[0, 0]}"
            raise OptionError(option="theta", got=got, expected="finite", remedy=remedy)


def sweep(model: Pairwise | Categorical, chains: Chains, n_sweeps: int, n_chains: int | None = None) -> None:
    """Advance the first ``n_chains`` chains, in place, by ``n_sweeps`` draws of all bonds and clusters.

    The chains are those of `bayesmrf.samplers.gibbs`, with its ``start``, ``counts`` and ``to_states``; sweeps of both
    kinds may alternate.

    Parameters
    ----------
    model, chains, n_sweeps
        As in `bayesmrf.samplers.gibbs.sweep`.
    n_chains : int, optional
        By default all chains. Clusters are grown chain by chain, so extra chains would cost time here.

    Raises
    ------
    OptionError
        If a number is not an integer >= 1, there are too few chains or their number of nodes differs, a parameter is
        not finite, or a coupling of a categorical model is negative.
    """
    n_chains = len(chains.states) * LANES if n_chains is None else n_chains
    check_room(chains, n_chains)
    check_positive("n_sweeps", n_sweeps)
    check_nodes(model, chains)
    check_finite(model)
    if isinstance(model, Categorical):
        if model.coupling.ndim > 1:
            raise OptionError(option="model", got="one with a table for each edge",
                              expected="one whose edges reward agreement for cluster moves",
                              remedy="use moves='gibbs'")  # fmt: skip
        if (model.coupling < 0).any():
            e = int(np.flatnonzero(model.coupling < 0)[0])
            expected = f"couplings >= 0 for cluster moves with more than two states (edge {e})"
            remedy = "use moves='gibbs', or engine='elimination' if the treewidth is small"
            raise OptionError(option="theta", got=model.coupling[e], expected=expected, remedy=remedy)
    _sweep(model.edges, model.coupling, model.field, chains.states, chains.lanes, n_chains, n_sweeps)


@dataclass(frozen=True)
class SwendsenWang(SweepEngine):
    """As `bayesmrf.samplers.gibbs.Gibbs`, by cluster sweeps."""

    n_sweeps: int = option(100, COUNT, "Cluster sweeps of each chain.", label="cluster sweeps")

    name = "swendsen-wang"
    families = frozenset({BINARY, POTTS})

    def _advance(self, form: Pairwise | Categorical, chains: Chains, n_chains: int) -> None:
        sweep(form, chains, self.n_sweeps, n_chains)


@strict_leaf
def _uniform(generators, lane):
    """Draw uniformly from the odd multiples of 2^-33 in (0, 1)."""
    return (next_uint32(generators, lane) + 0.5) * 2.0**-32


@strict_leaf
def _sweep(edges, coupling, field, states, lanes, n_chains, n_sweeps):
    n_nodes, n_lanes = len(field), states.shape[2]
    bond = -np.expm1(-2 * np.abs(coupling) if field.ndim == 1 else -coupling)
    x = np.empty(n_nodes, np.int8)
    parent = np.empty(n_nodes, np.int64)
    pull = np.empty_like(field)
    for c in range(n_chains):
        generators, lane = lanes[c // n_lanes], c % n_lanes
        copy_to(x, states[c // n_lanes, :, lane])
        for _ in range(n_sweeps):
            for i in range(n_nodes):
                parent[i] = i
            pull[:] = 0
            if field.ndim == 1:
                _flip_clusters(edges, coupling, bond, field, x, parent, pull, generators, lane)
            else:
                _redraw_clusters(edges, bond, field, x, parent, pull, generators, lane)
        copy_to(states[c // n_lanes, :, lane], x)


@strict_leaf
def _flip_clusters(edges, coupling, bond, field, x, parent, pull, generators, lane):
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        if coupling[e] * (x[u] * x[v]) > 0 and _uniform(generators, lane) < bond[e]:
            bind(parent, u, v)
    for i in range(len(x)):
        parent[i] = parent[parent[i]]
        pull[parent[i]] += field[i] * x[i]
    for i in range(len(x)):
        # A root precedes its cluster; once its sign is drawn, it overwrites the pull.
        if parent[i] == i:
            pull[i] = 1 if _uniform(generators, lane) * (1 + np.exp(-2 * pull[i])) < 1 else -1
        if pull[parent[i]] < 0:
            x[i] = -x[i]


@strict_leaf
def _redraw_clusters(edges, bond, field, x, parent, pull, generators, lane):
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        if x[u] == x[v] and _uniform(generators, lane) < bond[e]:
            bind(parent, u, v)
    for i in range(len(x)):
        parent[i] = parent[parent[i]]
        for k in range(field.shape[1]):
            pull[parent[i], k] += field[i, k]
    for i in range(len(x)):
        # A root precedes its cluster.
        x[i] = _draw(pull, i, _uniform(generators, lane)) if parent[i] == i else x[parent[i]]


@strict_leaf
def _draw(pull, i, u):
    """Draw state k with probability proportional to exp(pull[i, k]), by one uniform number; the row is overwritten."""
    m = pull.shape[1]
    top = pull[i, 0]
    for k in range(1, m):
        top = max(top, pull[i, k])
    total = 0.0
    for k in range(m):
        total += np.exp(pull[i, k] - top)
        pull[i, k] = total
    k = 0
    while pull[i, k] <= u * total:
        k += 1
    return k
