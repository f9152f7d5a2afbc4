"""The scalars of a run whose convergence is judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .differences import differ, exist_in_groups

if TYPE_CHECKING:
    import xarray as xr

IN_DOUBT = (0.1, 0.9)  # inclusion of the edges whose indicators are judged
SCALARS = ("n_groups", "alpha", "density", "slab_scale")


class Series(NamedTuple):
    """Scalars of one kind: names (n,), draws (n_chains, n_draws, n), and whether they vary continuously."""

    names: list[str]
    draws: np.ndarray
    is_continuous: bool = True


def judged_series(tree: xr.DataTree) -> tuple[list[Series], list[Series]]:
    """Divide scalars into those that are always shown, and all others."""
    posterior: Any = tree["posterior"].to_dataset()
    scalars = [Series([name], posterior[name].values[..., None], False) for name in SCALARS if name in posterior]
    if "field_groups" in posterior:
        number = posterior["field_groups"].values.max(axis=2, keepdims=True) + 1
        scalars.append(Series(["n_field_groups"], number, False))
    included = posterior["included"].values != 0 if "included" in posterior else np.empty((0, 0, 0), dtype=bool)
    others = []
    if included.size:
        scalars.append(Series(["n_edges"], included.sum(axis=2, keepdims=True), False))
    others += [_in_doubt(series) for series in indicators(tree)]
    seen: set[str] = set()
    names_of = {"theta": "feature"}
    if "phi" in posterior:
        names_of = {"phi": "parameter"}  # theta is a function of it
    elif "groups" in posterior.coords and "agreement" in posterior:
        names_of = {"agreement": "edge", "theta": "feature"}
    for name, dim in names_of.items():
        if name not in posterior:
            continue
        labels = [str(label) for label in posterior[dim].values]
        if "group" in posterior[name].dims:  # of observations
            values = posterior[name].values
            # Baselines may be absent: a weight that exists in few draws may be 0 in all draws of a chain.
            exist = (values != 0).any(axis=2).mean(axis=1).max(axis=0) >= IN_DOUBT[0]
            labels = [label for label, there in zip(labels, exist, strict=True) if there]
            of_groups = [f"{name}[{label} in {g}]" for g in posterior["group"].values for label in labels]
            others.append(Series(of_groups, values[..., exist].reshape(*included.shape[:2], -1)))
            continue
        own = [i for i, label in enumerate(labels) if label not in seen]  # theta is the logit of the agreement there
        values, kept = posterior[name].values, [f"{name}[{labels[i]}]" for i in own]
        present = np.repeat(included, _of_an_edge(tree), axis=2) if name == "theta" else included
        r = sum(i < present.shape[2] for i in own)
        if r:
            others += _given_inclusion(kept[:r], values[:, :, own[:r]], present)
        if len(own) > r:
            others.append(Series(kept[r:], values[:, :, own[r:]]))
        seen |= set(labels)
    return scalars, [s for s in others if s.names]


def indicators(tree: xr.DataTree) -> Iterable[Series]:
    """Return what exists in some draws: edges, differences between groups of people, edges in any of these groups."""
    posterior: Any = tree["posterior"].to_dataset()
    if "included" in posterior and posterior["included"].size:
        included = posterior["included"].values != 0
        yield Series([f"included[{name}]" for name in posterior["edge"].values], included, False)
        if "group" in posterior["theta"].dims:
            theta, labels, r = posterior["theta"].values, posterior["feature"].values, included.shape[2]
            yield Series([f"included[{name}]" for name in labels[r:]], differ(theta[..., r:]), False)
            yield Series([f"exists[{name}]" for name in labels[:r]], exist_in_groups(theta[..., :r]), False)


def _in_doubt(series: Series) -> Series:
    """Return those of the indicators that are uncertain in a chain, or differ between chains."""
    share = series.draws.mean(axis=1)
    doubt = np.flatnonzero((share.max(axis=0) >= IN_DOUBT[0]) & (share.min(axis=0) <= IN_DOUBT[1]))
    return Series([series.names[i] for i in doubt], series.draws[:, :, doubt], False)


def rare_weights(tree: xr.DataTree) -> Iterable[tuple[list[str], np.ndarray]]:
    """Return the weights of edges, and their differences between groups, that exist in too few draws for R-hat."""
    posterior: Any = tree["posterior"].to_dataset()
    if "included" not in posterior or "theta" not in posterior:
        return
    theta, labels = posterior["theta"].values, posterior["feature"].values
    groups = [theta] if theta.ndim == 3 else [theta[:, :, g] - theta[:, :, 0] for g in range(1, theta.shape[2])]
    for values in groups:
        there = (values != 0).mean(axis=(0, 1))
        rare = np.flatnonzero((there > 0) & (there < IN_DOUBT[0]))
        yield [f"theta[{labels[i]}]" for i in rare], values[:, :, rare]


def _of_an_edge(tree: xr.DataTree) -> int:
    """Return the number of entries of theta of each edge; only groups have several."""
    return int(tree["constant_data"].sizes.get("edge_parameter", 1))


def _given_inclusion(names: list[str], values: np.ndarray, included: np.ndarray) -> Iterable[Series]:
    """Return the parameters of edges over the draws in which they are present, grouped by similar numbers of draws."""
    counts = included.sum(axis=1)
    fewest = counts.min(axis=0)
    judged = np.flatnonzero((included.mean(axis=(0, 1)) >= IN_DOUBT[0]) & (fewest >= 4))
    # Lengths in steps of 3 %, so that `rank_diagnostics` processes many edges at once.
    steps = np.unique(np.floor(4 * 1.03 ** np.arange(500)).astype(int))
    length = steps[np.searchsorted(steps, fewest[judged], side="right") - 1]
    length[fewest[judged] == included.shape[1]] = included.shape[1]
    for n in np.unique(length):
        edges = judged[length == n]
        draws = np.empty((len(values), n, len(edges)))
        for i, e in enumerate(edges):
            for c in range(len(values)):
                draws[c, :, i] = values[c, np.flatnonzero(included[c, :, e])[:n], e]
        yield Series([names[e] for e in edges], draws)
