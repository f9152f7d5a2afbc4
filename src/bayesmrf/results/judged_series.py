"""The scalars of a run whose convergence is judged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .bayes_factors import LIMITS
from .blocks import Columns, divided, variable
from .differences import differ, exist_in_groups, minus
from .display import display_in
from .edge_evidence import Evidence, evidence, has_evidence, not_identified
from .median_model import INCLUSION
from .rank_diagnostics import batch

if TYPE_CHECKING:
    import xarray as xr

IN_DOUBT = (0.1, 0.9)  # inclusion of the edges whose indicators are judged
SCALARS = ("n_groups", "n_blocks", "alpha", "density", "autoregression_density", "within_density", "slab_scale")
_BLOCK = 2**25  # bytes of draws of a series


class Series(NamedTuple):
    """Scalars of one kind."""

    names: list[str]
    draws: np.ndarray  # (n_chains, n_draws, n)
    is_continuous: bool = True  # whether they vary continuously
    is_judged: bool = True  # whether a run is judged by them
    edges: np.ndarray | None = None  # (n,), the edge of each weight


def judged_series(tree: xr.DataTree, likely: np.ndarray | None = None) -> tuple[list[Series], Iterator[Series]]:
    """Divide scalars into those that are always shown, and all others, which are read in turn.

    What all edges share is not judged if some of them are not identified, of whose draws it depends.

    Parameters
    ----------
    tree : xarray.DataTree
    likely : (n_edges,) array of bool, optional
        The edges by whose weights a run is judged; all if omitted.
    """
    posterior: Any = tree["posterior"].dataset
    if not_identified(tree).any():
        return [], (series for series in _others(tree, likely) if series.names)
    scalars = [Series([name], posterior[name].values[..., None], False) for name in SCALARS if name in posterior]
    if "field_groups" in posterior:
        number = posterior["field_groups"].values.max(axis=2, keepdims=True) + 1
        scalars.append(Series(["n_field_groups"], number, False))
    if included := _included(tree):
        number = sum(included[:, :, part].sum(axis=2, keepdims=True) for part in included.blocks())
        scalars.append(Series(["n_edges"], number, False))
    return scalars, (series for series in _others(tree, likely) if series.names)


def evidence_of(tree: xr.DataTree) -> Evidence | None:
    """Return the Bayes factors of the edges of a run, if it has some."""
    return evidence(tree) if has_evidence(tree) else None


def read_edges(tree: xr.DataTree, factors: Evidence | None) -> np.ndarray | None:
    """Return the edges, or differences, whose weights are read, (n_edges,) bool; None if no edge may be absent.

    Their inclusion is that of the median probability model or more, or their Bayes factor is within two errors of 3 or
    more.
    """
    if not (exists := _included(tree)):
        return None
    likely: np.ndarray = exists.means() >= INCLUSION
    if factors is not None:
        likely |= factors.log10 + 2 * np.nan_to_num(factors.error) >= np.log10(LIMITS[0])
    return likely


def _others(tree: xr.DataTree, likely: np.ndarray | None) -> Iterator[Series]:
    for names, exists in indicators(tree):
        yield _in_doubt(names, exists)
    posterior, included = tree["posterior"].dataset, _included(tree)
    if included and likely is None:
        likely = np.ones(included.shape[2], dtype=bool)
    if "intercept_sd" in posterior:
        yield Series([f"intercept_sd[{n}]" for n in posterior["node"].values], posterior["intercept_sd"].values)
    labels_before: set[str] = set()
    names_of = {"theta": "feature"}
    if "phi" in posterior:
        names_of = {"phi": "parameter"}  # theta is a function of it
    elif "groups" in posterior.coords and "agreement" in posterior:
        names_of = {"agreement": "edge", "theta": "feature"}
    for name, dim in names_of.items():
        if name not in posterior:
            continue
        draws, labels = variable(tree, name), [str(label) for label in posterior[dim].values]
        edges = _edge_of(tree) if name == "theta" else np.arange(len(labels))
        known = np.ones(len(labels), dtype=bool)
        if name != "phi":
            known = judged_features(tree, edges) if name == "theta" else ~not_identified(tree)
        if "group" in draws.dims:  # of observations
            groups = [str(g) for g in posterior["group"].values]
            yield from _of_groups(name, labels, groups, draws, known)
            if included and likely is not None:
                of = np.flatnonzero(known[: len(edges)])
                yield from _of_differences([labels[i] for i in of], groups, draws, of, included, edges[of], likely)
            continue
        items = np.array([i for i, label in enumerate(labels) if label not in labels_before and known[i]], dtype=int)
        kept = [f"{name}[{labels[i]}]" for i in items]  # theta is the logit of the agreement there
        r = int((items < len(edges)).sum()) if included else 0
        if included and likely is not None and r:
            yield from _given_inclusion(kept[:r], Columns(draws), items[:r], included, edges[items[:r]], likely)
        for part in _divided(len(items) - r, *draws.shape[:2]):
            yield Series(kept[r:][part], Columns(draws)[:, :, items[r:][part]])
        labels_before |= set(labels)


def indicators(tree: xr.DataTree) -> Iterator[tuple[list[str], Columns]]:
    """Return what exists in some draws: edges, differences between groups of people, edges in any of these groups.

    Those of which the rows say nothing are left out: what the prior says of them needs no draws.
    """
    if _included(tree):
        posterior: Any = tree["posterior"].dataset
        theta, labels, r = variable(tree, "theta"), posterior["feature"].values, len(_edge_of(tree))
        known = ~not_identified(tree)
        draws = variable(tree, "included")
        if known.any():
            known_draws = draws if known.all() else draws[..., np.flatnonzero(known)]
            names = posterior["edge"].values[known]
            yield [f"included[{name}]" for name in names], Columns(known_draws, function=partial(np.not_equal, 0))
        if "group" in theta.dims and known.all():
            yield [f"included[{name}]" for name in labels[r:]], Columns(theta, r, None, differ)
            names = posterior["edge"].values
            yield (
                [f"exists[{name}]" for name in names],
                Columns(theta, 0, len(names), exist_in_groups, display_in(tree)),
            )


def _included(tree: xr.DataTree) -> Columns | None:
    """Read whether each edge is included, if edges may be absent."""
    if "included" not in tree["posterior"].dataset or not prod((draws := variable(tree, "included")).shape):
        return None
    return Columns(draws, function=partial(np.not_equal, 0))


def _in_doubt(names: list[str], exists: Columns) -> Series:
    """Select the indicators that are uncertain in a chain, or differ between chains."""
    share = exists.map(lambda draws: draws.mean(axis=1))
    doubt = np.flatnonzero((share.max(axis=0) >= IN_DOUBT[0]) & (share.min(axis=0) <= IN_DOUBT[1]))
    return Series([names[i] for i in doubt], exists[:, :, doubt], False)


def rare_weights(tree: xr.DataTree, likely: np.ndarray | None) -> Iterator[tuple[list[str], Columns, np.ndarray]]:
    """Return the weights of edges, and their differences between groups, and which exist in too few draws for R-hat.

    These are of ``likely`` edges, whose prior is so low that a few draws are much.
    """
    if likely is None or not likely.any():
        return
    posterior: Any = tree["posterior"].dataset
    theta, edge_of = variable(tree, "theta"), _edge_of(tree)
    labels, n = [f"theta[{label}]" for label in posterior["feature"].values[: len(edge_of)]], len(edge_of)
    each = [Columns(theta, 0, n)]
    if "group" in theta.dims:
        each = [Columns(theta, 0, n, function=partial(minus, a=0, b=g)) for g in range(1, theta.shape[2])]
    known = judged_features(tree, edge_of)[:n] & likely[edge_of]
    for values in each:
        share = values.map(lambda draws: (draws != 0).mean(axis=(0, 1)))
        yield labels, values, np.flatnonzero((share > 0) & (share < IN_DOUBT[0]) & known)


def _edge_of(tree: xr.DataTree) -> np.ndarray:
    """Number the edge of each of the first entries of theta; edges of groups, and those with tables, have several."""
    sizes = np.diff(display_in(tree).edge_starts)
    return np.repeat(np.arange(len(sizes)), sizes)


def _of_groups(
    name: str, labels: list[str], groups: list[str], draws: xr.Variable, known: np.ndarray
) -> Iterator[Series]:
    """Select the parameters of each group of people that exist in enough draws, of those that are ``known``."""
    # Baselines may be absent: a weight that exists in few draws may be 0 in all draws of a chain.
    exist = np.flatnonzero((Columns(draws, function=exist_in_groups).means() >= INCLUSION) & known)
    names = [f"{name}[{labels[i]} in {g}]" for g in groups for i in exist]
    for block in _divided(len(names), *draws.shape[:2]):
        group, item = np.divmod(np.arange(block.start, block.stop), max(len(exist), 1))
        distinct, at = np.unique(exist[item], return_inverse=True)
        values = draws[:, :, group[0] : group[-1] + 1][..., distinct].values[:, :, group - group[0], at]
        yield Series(names[block], np.ascontiguousarray(values))


def _of_differences(
    labels: list[str],
    groups: list[str],
    draws: xr.Variable,
    items: np.ndarray,
    included: Columns,
    edge_of: np.ndarray,
    likely: np.ndarray,
) -> Iterator[Series]:
    """Take differences of weights between each group of people and the first, over the draws that have them."""
    for g in range(1, len(groups)):
        names = [f"difference[{label} in {groups[g]}]" for label in labels]
        values = Columns(draws, function=partial(minus, a=0, b=g))
        yield from _given_inclusion(names, values, items, included, edge_of, likely)


def _given_inclusion(
    names: list[str], values: Columns, items: np.ndarray, included: Columns, edge_of: np.ndarray, likely: np.ndarray
) -> Iterator[Series]:
    """Take the parameters of edges over the draws in which they are present, grouped by similar numbers of draws.

    A run is judged by those of ``likely`` edges.
    """
    n_chains, n_draws = values.shape[:2]
    counts = included.map(lambda exists: exists.sum(axis=1))[:, edge_of]
    fewest = counts.min(axis=0)
    judged = np.flatnonzero((counts.sum(axis=0) / (n_chains * n_draws) >= IN_DOUBT[0]) & (fewest >= 4))
    # Lengths in steps of 3 %, so that `rank_diagnostics` processes many edges at once.
    steps = np.unique(np.floor(4 * 1.03 ** np.arange(500)).astype(int))
    length = steps[np.searchsorted(steps, fewest[judged], side="right") - 1]
    length[fewest[judged] == n_draws] = n_draws
    of_likely = likely[edge_of[judged]]
    width = max(1, _BLOCK // (8 * n_chains * n_draws))
    for block in divided(len(judged), width) if len(judged) else ():  # each is read once
        chosen = judged[block]
        weights, exists = values[:, :, items[chosen]], included[:, :, edge_of[chosen]]
        for n, is_judged in product(np.unique(length[block]), (True, False)):
            same = np.flatnonzero((length[block] == n) & (of_likely[block] == is_judged))
            draws = np.empty((n_chains, n, len(same)))
            for k, i in enumerate(same):
                for c in range(n_chains):
                    draws[c, :, k] = weights[c, np.flatnonzero(exists[c, :, i])[:n], i]
            yield Series([names[e] for e in chosen[same]], draws, True, is_judged, edge_of[chosen[same]])


def _divided(n: int, n_chains: int, n_draws: int) -> Iterator[slice]:
    """Divide n scalars into series, in which `rank_diagnostics` makes the same batches as in one."""
    width = batch(n_chains, n_draws)
    return divided(n, max(1, _BLOCK // (8 * n_chains * n_draws * width)) * width) if n else iter(())


def judged_features(tree: xr.DataTree, edge_of: np.ndarray) -> np.ndarray:
    """Return which entries of theta are judged for convergence, (n_features,) bool.

    The weight of an edge that is not identified and the biases of its ends are known together only: a change of one is
    made up for by the others, and draws follow such a ridge of the likelihood slowly, over the width of the prior.

    Parameters
    ----------
    tree : xarray.DataTree
    edge_of : (n_weights,) array
        The edge of each of the first entries.
    """
    silent, labels = not_identified(tree), [str(label) for label in tree["posterior"].dataset["feature"].values]
    judged = np.ones(len(labels), dtype=bool)
    if not silent.any():
        return judged
    constant = tree["constant_data"].dataset
    names = [str(name) for name in constant["node"].values]
    ends = {names[i] for i in np.unique(constant["edges"].values[silent])}
    judged[: len(edge_of)] = ~silent[edge_of]
    for i in range(len(edge_of), len(labels)):
        of = [name for name in names if labels[i] == name or labels[i].startswith((f"{name}=", f"{name}:"))]
        judged[i] = max(of, key=len, default="") not in ends
    return judged
