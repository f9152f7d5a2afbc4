r"""How the evidence for each edge depends on the prior: a few runs under other priors, joined by reweighting.

A draw of one run is one of another prior with a weight that needs the two prior densities alone, as the likelihood is
the same. It depends on the number of edges for the prior inclusion, and on the weights of those that exist for the
scale of the slab, which is a normalised density of each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..priors import Inclusion
from .bayes_factors import BOUND
from .blocks import at_draws, divided, variable
from .categories import categories, words_in
from .communities import BlockPairs, blocks_of
from .log_prior import EdgeTerms, edge_terms
from .rank_diagnostics import effective_size
from .reweighting import effective, log_mixture, log_weights

if TYPE_CHECKING:
    import xarray as xr

ENOUGH = 1000  # effective draws: two standard errors of an inclusion are at most 0.03
_MOST = 10_000  # draws of a run that are read
_BATCHES = 20  # of draws, each of which is left out once
_BLOCK = 2**23  # entries of the inclusion of edges that are an array at a time


class Setting(NamedTuple):
    """A prior of edges along a path."""

    inclusion: Inclusion
    slab: int = 0  # its number


class Curve(NamedTuple):
    """What is known under some priors."""

    inclusion: np.ndarray  # (n_priors, n_edges)
    log10_bayes_factor: np.ndarray  # (n_priors, n_edges), local
    log10_bf_error: np.ndarray  # (n_priors, n_edges), standard errors
    n_effective: np.ndarray  # (n_priors,)


@dataclass(frozen=True, eq=False)
class PriorRun:
    """Draws of a run, of which at most 10,000 are read, evenly spaced in each chain.

    Parameters
    ----------
    tree : xarray.DataTree
    prior : Setting
        Under which it was made.
    slabs : sequence
        All slabs of the path; empty where weights have none.
    probability : (n_edges,) array, optional
        Of the edges of the fit, if they have their own.
    """

    tree: xr.DataTree
    prior: Setting
    slabs: Sequence[Any]
    probability: np.ndarray | None = None

    @cached_property
    def numbers(self) -> np.ndarray:
        """Numbers of the draws among those of all chains."""
        n_chains, n_draws = variable(self.tree, "included").shape[:2]
        step = -(-n_chains * n_draws // _MOST)
        return (np.arange(n_chains)[:, None] * n_draws + np.arange(0, n_draws, step)).ravel()

    @cached_property
    def terms(self) -> EdgeTerms:
        """What the prior depends on."""
        return edge_terms(self.tree, self.numbers, self.slabs, self.probability)

    @cached_property
    def worth(self) -> float:
        """Independent draws that one is worth: the fewest of those for the terms of the prior."""
        n_chains, slab = self.tree["posterior"].sizes["chain"], self.terms.slab
        series = [self.terms.n_present, *([slab[-1] - slab[0]] if len(slab) > 1 else [])]
        sizes = [effective_size(x.reshape(n_chains, -1)) for x in series if np.ptp(x) > 0]
        return min([1.0, *(size / len(self.numbers) for size in sizes)])

    def included(self, some: slice) -> np.ndarray:
        """Return whether some edges exist, (n_draws, n)."""
        return at_draws(variable(self.tree, "included")[..., some], self.numbers).astype(np.float32)

    @cached_property
    def pairs(self) -> BlockPairs | None:
        """Edges between blocks of nodes, if the run has them."""
        prior = blocks_of(self.tree)
        if prior is None:
            return None
        blocks = at_draws(variable(self.tree, "blocks"), self.numbers)
        pairs = BlockPairs(prior, blocks, self.tree["constant_data"].dataset["edges"].values)
        for part in divided(len(pairs.edges), max(2, _BLOCK // len(blocks))):
            pairs.count(part, self.included(part))
        return pairs


class Joined:
    """Several runs under different priors, on the same data.

    Parameters
    ----------
    runs : sequence of PriorRun
    """

    def __init__(self, runs: Sequence[PriorRun]) -> None:
        terms = [run.terms for run in runs]
        self.runs, self.n_candidates = runs, terms[0].n_candidates
        self.n_present = np.concatenate([t.n_present for t in terms])
        self.pairs = np.concatenate([t.pairs for t in terms])
        self.slab = np.concatenate([t.slab for t in terms], axis=1)
        sizes = [len(run.numbers) for run in runs]
        self.run = np.repeat(np.arange(len(runs)), sizes)
        self.worth = np.repeat([run.worth for run in runs], sizes)
        self.batch = np.concatenate([np.arange(n) * _BATCHES // n for n in sizes])
        self.log_q = self.log_priors([run.prior for run in runs])

    def log_priors(self, priors: Sequence[Setting]) -> np.ndarray:
        """Return the log density of each draw under each prior, (n_priors, n_draws)."""

        def of_graph(inclusion: Inclusion) -> np.ndarray | float:
            log_graph = inclusion.log_graph(self.n_present, self.n_candidates, self.pairs)
            return 0.0 if log_graph is None else log_graph  # blocks are those of the fit throughout

        return np.array([of_graph(p.inclusion) + (self.slab[p.slab] if len(self.slab) else 0.0) for p in priors])

    def mixture(self, kept: np.ndarray) -> np.ndarray:
        """Return the log density under the mixture of the draws that are ``kept``, (n_kept,)."""
        return log_mixture(self.log_q[:, kept], np.bincount(self.run[kept], minlength=len(self.runs)))

    def n_effective(self, priors: Sequence[Setting]) -> np.ndarray:
        """Return the effective sample size under each prior, (n_priors,)."""
        mixture = self.mixture(np.arange(len(self.run)))
        return effective(np.exp(log_weights(self.log_priors(priors), mixture)), self.worth)

    def curve(self, priors: Sequence[Setting]) -> Curve:
        """Return inclusions and Bayes factors under each prior.

        The Bayes factor is local (docs/definitions.md): E[Y / o] / E[1 - Y], with o the prior odds given the other
        edges. No probability is taken to be below that of one effective draw, and the error is then not known.
        Standard errors are those of the jackknife over 20 batches of draws, each time with other constants of the runs.
        """
        log_target, every = self.log_priors(priors), np.arange(len(self.run))
        inverse = np.array([p.inclusion.inverse_odds(self.n_present, self.n_candidates) for p in priors])
        n_effective = self.n_effective(priors)
        least = 1 / n_effective[:, None]
        kept = [every, *(np.flatnonzero(self.batch != b) for b in range(_BATCHES))]
        mixtures = [self.mixture(which) for which in kept]
        n_edges, probability = variable(self.runs[0].tree, "included").shape[-1], self.runs[0].probability
        width, parts = max(1, _BLOCK // len(every)), []
        for first in range(0, n_edges, width):
            edges = slice(first, first + width)
            each = [run.included(edges) for run in self.runs]
            included, estimates = np.concatenate(each), []
            own_inverse = [
                np.ones((len(y), 1), y.dtype) if run.pairs is None else run.pairs.inverse_odds(edges, y)
                for run, y in zip(self.runs, each, strict=True)
            ]
            per_edge = np.concatenate(own_inverse)
            for which, mixture in zip(kept, mixtures, strict=True):
                weights = np.exp(log_weights(log_target[:, which], mixture))
                over = weights * inverse[:, which]
                inclusion = (weights @ included[which]).clip(0, 1)
                present = over @ (included[which] * per_edge[which])
                present = np.maximum(present, over @ per_edge[which] * least)
                estimates.append((inclusion, np.log10(present / np.maximum(1 - inclusion, least))))
            inclusion, logs = estimates[0]
            error = np.sqrt((_BATCHES - 1) * np.var([left for _, left in estimates[1:]], axis=0))
            is_known = (inclusion > least) & (1 - inclusion > least)
            parts.append((inclusion, logs, np.where(is_known, error, np.nan)))
        inclusion, logs, error = (np.concatenate(part, axis=1) for part in zip(*parts, strict=True))
        if probability is not None:
            has_own = np.array([p.inclusion.has_pairs for p in priors])
            known = (probability > 0) & (probability < 1)
            logs[np.ix_(has_own, known)] += np.log10(1 / probability[known] - 1)
            logs[:, ~known] = error[:, ~known] = np.nan  # no factor of what is certain
        return Curve(inclusion, logs.clip(-BOUND, BOUND), error, n_effective)


def add_sensitivity(
    tree: xr.DataTree,
    path: Sequence[str] | np.ndarray,
    value: np.ndarray,
    curve: Curve,
    is_run: Sequence[bool],
    p0: float | None,
) -> None:
    """Add group ``sensitivity`` to a tree, in place.

    Parameters
    ----------
    tree : xarray.DataTree
    path : (n,) sequence of str
        "inclusion" or "scale": what each prior has another value of than the fit.
    value : (n,) array
        p0, or the factor of the scale.
    curve : Curve
    is_run : (n,) sequence of bool
        Whether there is a run under this very prior.
    p0 : float, optional
        That of the fit, if it is a number.
    """
    import xarray as xr

    by_edge = {name: (("prior", "edge"), getattr(curve, name)) for name in Curve._fields[:3]}
    variables = by_edge | {
        "value": ("prior", value),
        "n_effective": ("prior", curve.n_effective),
        "is_run": ("prior", np.asarray(is_run, dtype=np.int8)),
    }
    coords = {"prior": np.asarray(path, dtype=object), "edge": tree["posterior"].dataset["edge"].values}
    attrs = {} if p0 is None else {"density": p0}
    tree["sensitivity"] = xr.DataTree(xr.Dataset(variables, coords=coords, attrs=attrs))


def table_of_priors(tree: xr.DataTree) -> dict[str, np.ndarray]:
    """Return the columns of the table "sensitivity": shares of edges by evidence under each prior.

    Parameters
    ----------
    tree : xarray.DataTree
        With the group ``sensitivity``.
    """
    dataset = tree["sensitivity"].dataset
    logs, n_effective = dataset["log10_bayes_factor"].values, dataset["n_effective"].values
    n, of = (~np.isnan(logs)).sum(axis=1), categories(logs)
    return {
        "prior": np.array([str(name) for name in dataset["prior"].values], dtype=object),
        "value": dataset["value"].values,
        **{word.replace(" ", "_"): (of == k).sum(axis=1) / n for k, word in enumerate(words_in(tree))},
        "n_effective": n_effective,
        "trusted": n_effective >= ENOUGH,
    }
