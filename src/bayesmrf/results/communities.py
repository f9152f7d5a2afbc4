"""Communities of nodes from draws of their blocks: the allocation, the number of blocks, and Bayes factors."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import partitions
from ..priors import Beta, Blocks
from .bayes_factors import bounded, is_bound, text_of
from .indicator_diagnostics import errors_of_shares

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

_LEAST = 1e-300  # Gamma variables of small shape round to 0


def blocks_of(tree: xr.DataTree) -> Blocks | None:
    """Return the prior of the blocks of a run; None of a run without blocks."""
    density = json.loads(str(tree.attrs.get("prior", "{}"))).get("density")
    if not (isinstance(density, dict) and "within" in density):
        return None
    return Blocks(**density | {name: Beta(**density[name]) for name in ("within", "between")})


def draw_log_odds(
    rng: np.random.Generator, prior: Blocks, blocks: np.ndarray, included: np.ndarray, edges: np.ndarray
) -> np.ndarray:
    """Draw the prior log odds of each edge given the blocks, of which draws have no other record.

    Parameters
    ----------
    rng : numpy Generator
    prior : Blocks
    blocks : (n_draws, n_nodes) int array
    included : (n_draws, n_edges) bool array
    edges : (n_edges, 2) int array

    Returns
    -------
    (n_draws, n_edges) array
        Of :math:`q / (1 - q)` with q, the probability of the pair of blocks, drawn from its conditional Beta
        distribution given blocks and edges of the draw: of the joint posterior of all three.
    """
    pairs = BlockPairs(prior, blocks, edges)
    every = slice(None)
    pairs.count(every, included)
    used = np.flatnonzero(pairs.n)
    log_odds = np.zeros(len(pairs.n))
    edge, none = (np.maximum(rng.standard_gamma(shape[used]), _LEAST) for shape in pairs.shapes())
    log_odds[used] = np.log(edge) - np.log(none)
    drawn: np.ndarray = log_odds[pairs.of(every)]
    return drawn


class BlockPairs:
    """Candidates and edges between each pair of blocks of each draw, counted for some candidates after others.

    Parameters
    ----------
    prior : Blocks
    blocks : (n_draws, n_nodes) int array
    edges : (n_edges, 2) int array
        The candidates.
    """

    def __init__(self, prior: Blocks, blocks: np.ndarray, edges: np.ndarray) -> None:
        self.prior, self.blocks, self.edges, self.k = prior, blocks, edges, int(blocks.max()) + 1
        self.n, self.m = np.zeros((2, len(blocks) * self.k**2))

    def of(self, candidates: slice) -> np.ndarray:
        """Return the number of the pair of blocks of the ends of some candidates, (n_draws, n)."""
        ends = np.sort(self.blocks[:, self.edges[candidates]], axis=2)
        pairs: np.ndarray = ends[..., 0] * self.k + ends[..., 1] + self.k**2 * np.arange(len(ends))[:, None]
        return pairs

    def count(self, candidates: slice, included: np.ndarray) -> None:
        """Count some candidates, of which those ``included`` (n_draws, n) exist."""
        pair = self.of(candidates).ravel()
        self.n += np.bincount(pair, minlength=len(self.n))
        self.m += np.bincount(pair, included.ravel(), len(self.m))

    def shapes(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the two parameters of the Beta distribution of the probability of each pair of blocks."""
        same, of = np.tile(np.eye(self.k, dtype=bool).ravel(), len(self.blocks)), self.prior
        a, b = (np.where(same, getattr(of.within, x), getattr(of.between, x)) for x in "ab")
        return a + self.m, b + self.n - self.m

    def inverse_odds(self, candidates: slice, included: np.ndarray) -> np.ndarray:
        """Return E[(1 - q) / q] given blocks, other edges, and that the candidate exists, (n_draws, n)."""
        pair, (a, b) = self.of(candidates), self.shapes()
        odds: np.ndarray = (b[pair] - (1 - included)) / (a[pair] - included)
        return odds


@dataclass(frozen=True, eq=False)
class Communities:
    """What draws say of the blocks of nodes.

    Parameters
    ----------
    draws : (n_chains, n_draws, n_nodes) int array
        The block of each node, from 0.
    prior : Blocks
    nodes : (n_nodes,) array of str
    point : (n_nodes,) int array or None
        The stored point partition; None to find it.
    """

    draws: np.ndarray
    prior: Blocks
    nodes: np.ndarray
    point: np.ndarray | None = None

    @cached_property
    def allocation(self) -> np.ndarray:
        """The partition with the least expected variation of information, (n_nodes,): 1..k, the largest first."""
        labels = partitions.point_partition(self.draws) if self.point is None else self.point
        order = np.argsort(-np.bincount(labels), kind="stable")
        rank: np.ndarray = np.argsort(order, kind="stable")[labels] + 1
        return rank

    @cached_property
    def together(self) -> np.ndarray:
        """Probability that two nodes share a block, (n_nodes, n_nodes)."""
        return partitions.co_clustering(self.draws, np.arange(len(self.nodes)))

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """Numbers of blocks: blocks, probability, its Monte Carlo error, prior, and bayes_factor against one block.

        The first row, "2 or more", is clustering against none. A number that no draw has counts as if one draw had it:
        the factor is then a bound, as are those beyond 10^4 and 10^-4, and ``bound`` is ">" or "<". Of two numbers
        that no draw has it is NaN.
        """
        import pandas as pd

        number, n = self.draws.max(axis=2) + 1, len(self.nodes)
        prior = np.exp(self.prior.log_prior_of_numbers(n))
        most = int(number.max())
        numbers = np.arange(1, max(most, 2) + 1)
        has_number = np.concatenate([(number > 1)[..., None], number[..., None] == numbers], axis=2)
        share, before = has_number.mean(axis=(0, 1)), np.append(1 - prior[0], prior[: len(numbers)])
        least = 1 / number.size
        p, one = np.maximum(share, least), max(share[1], least)
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = bounded(np.log10(p / one / (before / before[1])))
        factor[(before == 0) | ((share == 0) & (share[1] == 0))] = np.nan
        factor[1] = 1.0
        above, below = (is_bound(factor) & (factor > 1), is_bound(factor) & (factor < 1))
        bound = np.where(above | (share[1] == 0), ">", np.where(below | (share == 0), "<", ""))
        bound[1] = ""
        return pd.DataFrame({
            "blocks": np.array(["2 or more", *map(str, numbers)], dtype=object),
            "probability": share,
            "error": errors_of_shares(has_number),
            "prior": before,
            "bayes_factor": factor,
            "bound": bound.astype(object),
        })  # fmt: skip

    def factor(self, k: int, against: int = 1) -> float:
        """Return the Bayes factor of k blocks against another number, NaN if the draws have neither."""
        known = self.numbers.set_index("blocks")["bayes_factor"]
        return float(known.get(str(k), np.nan) / known.get(str(against), np.nan))

    @cached_property
    def members(self) -> pd.DataFrame:
        """Nodes: node, community (from 1), and the mean probability of sharing a block with the others of it, or of not
        sharing one with any other node where it is alone.
        """
        import pandas as pd

        in_same_block = self.allocation[:, None] == self.allocation
        others = in_same_block & ~np.eye(len(in_same_block), dtype=bool)
        with np.errstate(invalid="ignore"):
            mean = np.where(others, self.together, 0).sum(axis=1) / others.sum(axis=1)
        alone = np.flatnonzero(~others.any(axis=1))
        for i in alone:
            mean[i] = ((self.draws == self.draws[..., i : i + 1]).sum(axis=2) == 1).mean()
        return pd.DataFrame({"node": self.nodes, "community": self.allocation, "probability": mean})

    @property
    def sentence(self) -> str:
        """Number of blocks and of communities, and the evidence of clustering."""
        table = self.numbers.iloc[1:]
        best, first = table.iloc[int(table["probability"].argmax())], self.numbers.iloc[0]
        k = int(self.allocation.max())
        shown = "all nodes share a community" if k == 1 else f"nodes are in {k} communities"
        number = f"{best['blocks']} {'block is' if best['blocks'] == '1' else 'blocks are'} the most probable number"
        return (
            f"{shown}; {number} (probability {best['probability']:.2f}, prior {best['prior']:.2f}); the Bayes factor "
            f"of two or more blocks against one is {text_of(first['bayes_factor'], first['bound'])}"
        )


def communities_of(tree: Any) -> Communities | None:
    """Return the communities of a run; None of one without blocks."""
    prior = blocks_of(tree)
    if prior is None or "blocks" not in tree["posterior"].coords:
        return None
    draws, point = tree["posterior"]["blocks"].values, tree["constant_data"].to_dataset().get("blocks_point")
    if point is not None and point.attrs["n_draws"] != draws.shape[0] * draws.shape[1]:
        point = None
    nodes = np.array([str(n) for n in tree["constant_data"]["node"].values], dtype=object)
    return Communities(draws, prior, nodes, None if point is None else point.values)
