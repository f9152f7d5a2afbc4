"""Draws that no sampler makes: numbers that are not finite or out of range, and chains that are copies of others."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ..names import LONGEST, listed, shown
from .blocks import in_turn, variable

if TYPE_CHECKING:
    import xarray as xr

INVALID, COPIES = "Invalid draws", "Copied chains"  # begin the sentences about them
_ALL = (-np.inf, np.inf)
_PROBABILITIES = ("included", "agreement", "density", "autoregression_density", "within_density")
_OF_EDGES = ("edge_probability", "baseline_probability")
_POSITIVE = ("slab_scale", "alpha", "intercept_sd", "n_groups", "n_blocks")
_RANGES = dict.fromkeys((*_PROBABILITIES, *_OF_EDGES), (0.0, 1.0)) | dict.fromkeys(_POSITIVE, (0.0, np.inf))
_VARY = ("theta", "phi", "agreement")  # of which the first that a run has tells chains apart
_FEWEST = 5  # different draws of a chain from which another one cannot have the same by chance
_ROUNDING = 1e-9  # of sums over the parameters of a draw, relative to the largest


def invalid_values(tree: xr.DataTree) -> str:
    """Describe numbers that are not finite, or not in the range of their quantity; empty if there are none.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    """
    posterior, constant = tree["posterior"].dataset, tree["constant_data"].dataset
    clauses = [
        _first_wrong(str(name), array.variable, posterior)
        for name, array in posterior.data_vars.items()
        if array.dims[:2] == ("chain", "draw")
        and (array.dtype.kind == "f" or (name in _RANGES and array.dtype.kind != "b"))
    ]
    # Constants have no draws: each is checked as one draw of one chain.
    clauses += [
        _first_wrong(str(name), array.variable.expand_dims("draw").expand_dims("chain"), posterior)
        for name, array in constant.data_vars.items()
        if name in _RANGES
    ]
    if not (wrong := [clause for clause in clauses if clause]):
        return ""
    more = f"; {len(wrong) - 1} more quantities have invalid values, too" if len(wrong) > 1 else ""
    return (
        f"{INVALID}: {wrong[0]}{more}. Results that use them are wrong. Run again; if this occurs again, use a "
        "narrower prior or another method. A stored run may have been damaged: restore the file."
    )


def _first_wrong(name: str, draws: Any, posterior: xr.Dataset) -> str:
    """Find which entry of a variable is wrong first, how, and in how many draws; empty if none is."""
    low, high = _RANGES.get(name, _ALL)
    n_draws, start, n_wrong, first = draws.shape[1], 0, 0, ""
    for block in in_turn(draws):
        if block.size and not _is_sound(block, low, high):
            wrong = ~(np.isfinite(block) & (block >= low) & (block <= high))
            each = np.flatnonzero(wrong.reshape(len(block), -1).any(axis=1))
            if not first:
                at = np.argwhere(wrong)[0]
                labels = [
                    str(posterior[dim].values[i]) if dim in posterior.coords else str(i)
                    for dim, i in zip(draws.dims[2:], at[1:], strict=True)
                ]
                label = shown(f"{name}[{' in '.join(reversed(labels))}]" if labels else name, 2 * LONGEST)
                chain, draw = divmod(start + int(at[0]), n_draws)
                wanted = "finite" if (low, high) == _ALL else "0 or more" if high == np.inf else "from 0 to 1"
                first = (
                    f"{label} is {float(block[tuple(at)]):.3g} and must be {wanted}, in draw {draw} of chain "
                    f"{posterior['chain'].values[chain]}"
                )
            n_wrong += len(each)
        start += len(block)
    return f"{first} and in {n_wrong - 1:,} more draw{'s' * (n_wrong > 2)}" if n_wrong > 1 else first


def _is_sound(block: np.ndarray, low: float, high: float) -> bool:
    """Check that all numbers are finite and in a range, without arrays of their size."""
    least, most = float(block.min()), float(block.max())  # NaN if one is
    return bool(np.isfinite(least) and np.isfinite(most) and low <= least and most <= high)


def copied_chains(tree: xr.DataTree) -> str:
    """Describe chains whose parameters are those of another chain in all draws; empty if there are none.

    Parameters vary continuously, so that independent chains have no draw in common. What may be equal: which edges
    exist in each draw; parameters that are constant, or take fewer than five different values in a chain, as in a run
    that hardly moved, of which `convergence.never_moved` speaks.

    Parameters
    ----------
    tree : xarray.DataTree
        From `bayesmrf.results.to_datatree`.
    """
    posterior = tree["posterior"].dataset
    name = next((name for name in _VARY if name in posterior), None)
    chains = posterior["chain"].values
    if name is None or len(chains) < 2:
        return ""
    draws = variable(tree, name)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, int(np.prod(draws.shape[2:])))
    parts = [np.asarray(block).reshape(len(block), -1) @ weights for block in in_turn(draws)]
    sums = np.concatenate(parts).reshape(draws.shape[:2])
    sums /= max(float(np.abs(sums).max(initial=0.0)), 1e-300)
    source: dict[int, int] = {}
    for a, b in combinations(range(len(sums)), 2):
        if np.abs(sums[a] - sums[b]).max() <= _ROUNDING and len(np.unique(sums[a].round(9))) >= _FEWEST:
            source.setdefault(b, a)
    if not source:
        return ""
    each = listed([f"chain {chains[b]} is a copy of chain {chains[a]}" for b, a in source.items()])
    return (
        f"{COPIES}: {each}. Copies agree whether they have converged or not, and Monte Carlo errors are larger than "
        "reported. Run again, each chain with random numbers of its own."
    )
