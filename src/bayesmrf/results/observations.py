"""Log likelihoods of persons in the tree of draws, leave-one-out by importance sampling, and predictions of nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import OptionError
from .rank_diagnostics import effective_sizes

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


MOST, LOG_LIKELIHOODS = 2**28, "log likelihoods"


class Observed(NamedTuple):
    """What `add_observations` adds."""

    draws: np.ndarray  # (n_draws,), their numbers in each chain
    log_likelihood: np.ndarray  # (n_chains, n_draws, n_rows)
    rows: np.ndarray  # (n_rows,), their numbers in the table
    weights: np.ndarray  # (n_rows,) int, how many persons a row is
    log_z: np.ndarray  # (n_chains, n_draws[, n_groups])
    log_z_error: np.ndarray  # the same, standard errors; 0 where log Z is exact
    groups: list[int]  # numbers of the groups of people; empty if there are none
    sizes: list[int]  # persons of each network
    correct: np.ndarray  # (n_nodes,), shares of persons whose answer is the most probable one given the others
    base_rate: np.ndarray  # (n_nodes,), of the most frequent answer
    unit: str = "persons"  # what is left out one at a time


def spaced_draws(n_chains: int, n_own: int, n_draws: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return evenly spaced draws of a chain, and the numbers of these draws among those of all chains."""
    kept = np.unique(np.linspace(0, n_own - 1, min(n_draws or n_own, n_own)).astype(int))
    return kept, (np.arange(n_chains)[:, None] * n_own + kept).ravel()


def check_size(size: float, most: float, what: str, n_draws: int | None) -> None:
    """Raise an OptionError if there are more than ``most`` of something."""
    if size > most:
        expected = f"smaller: {size:.2g} {what} are more than {most:.2g}"
        raise OptionError(option="n_draws", got=n_draws, expected=expected)


def add_observations(tree: xr.DataTree, found: Observed) -> None:
    """Add the groups ``log_likelihood``, ``normaliser``, ``loo`` and ``prediction``, in place.

    ``log_likelihood`` has a column for each person. Leaving out one of several persons with the same answers leaves the
    others in, so that these have the same estimate, and it is computed once.
    """
    import xarray as xr

    posterior = tree["posterior"].dataset
    coords = {"chain": posterior["chain"].values, "draw": posterior["draw"].values[found.draws]}
    dims, normal = ("chain", "draw"), {"log_z": found.log_z, "log_z_error": found.log_z_error}
    more = ("group",) if found.groups else ()
    labels = {"group": posterior["group"].values[found.groups]} if found.groups else {}
    persons = np.repeat(np.arange(len(found.rows)), found.weights)
    each = xr.Dataset(
        {"answers": ((*dims, "person"), found.log_likelihood[:, :, persons])},
        coords=coords | {"row": ("person", found.rows[persons])},
    )
    tree["log_likelihood"] = xr.DataTree(each)
    tree["normaliser"] = xr.DataTree(
        xr.Dataset({name: ((*dims, *more), v) for name, v in normal.items()}, coords=coords | labels)
    )
    elpd, k, p = leave_one_out(found.log_likelihood)
    out = {"elpd": elpd, "pareto_k": k, "p": p, "weight": found.weights}
    # The error of log Z of each draw is that of all persons of a network; draws have nearly equal weights.
    n = found.log_z[..., 0].size if found.groups else found.log_z.size
    errors = found.log_z_error.reshape(n, -1)
    common = float(np.sqrt((np.asarray(found.sizes) ** 2 @ (errors**2).sum(axis=0)) / n**2))
    tree["loo"] = xr.DataTree(
        xr.Dataset(
            {name: ("row", v) for name, v in out.items()},
            coords={"row": found.rows},
            attrs={"log_z_error": common, "unit": found.unit},
        )
    )
    shares = {"correct": ("node", found.correct), "base_rate": ("node", found.base_rate)}
    nodes = tree["constant_data"].dataset["node"].values
    tree["prediction"] = xr.DataTree(xr.Dataset(shares, coords={"node": nodes}))


def leave_one_out(log_likelihood: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the log density of each row given the others, Pareto k, and the number of parameters that it uses.

    By Pareto-smoothed importance sampling (Vehtari, Gelman and Gabry 2017), of equal rows once.

    Parameters
    ----------
    log_likelihood : (n_chains, n_draws, n_rows) array
    """
    from arviz_stats.base.array import array_stats

    kinds, kind = np.unique(log_likelihood.reshape(-1, log_likelihood.shape[2]), axis=1, return_inverse=True)
    draws = kinds.reshape(*log_likelihood.shape[:2], -1)
    relative = effective_sizes(np.exp(draws - draws.max(axis=(0, 1)))) / draws[..., 0].size
    worth = float(np.clip(np.nanmean(relative), 1e-3, 1.0)) if draws.shape[1] > 3 else 1.0
    elpd, k, p = array_stats.loo(np.moveaxis(draws, 2, 0), r_eff=worth)
    kind = kind.ravel()
    return np.asarray(elpd)[kind], np.asarray(k)[kind], np.asarray(p)[kind]


def loo_table(tree: xr.DataTree) -> pd.DataFrame:
    """Return the table "loo": a row with sums over persons.

    Columns persons (or transitions), elpd (the sum of log densities of persons given the others), se (its standard
    error over persons), p (effective number of parameters), largest_k (of Pareto), unsure (persons above 0.7, or the
    limit of few draws), and log_z_error (the part of the error of log Z).
    """
    import pandas as pd

    loo, sizes = tree["loo"].dataset, tree["log_likelihood"].sizes
    w, elpd, k = (loo[name].values for name in ("weight", "elpd", "pareto_k"))
    n = int(w.sum())
    mean = w @ elpd / n
    limit = min(1 - 1 / np.log10(sizes["chain"] * sizes["draw"]), 0.7)
    return pd.DataFrame(
        {
            str(loo.attrs.get("unit", "persons")): [n],
            "elpd": [w @ elpd],
            "se": [np.sqrt(n * (w @ (elpd - mean) ** 2) / n)],
            "p": [w @ loo["p"].values],
            "largest_k": [k[w > 0].max()],
            "unsure": [int(w[k > limit].sum())],
            "log_z_error": [loo.attrs["log_z_error"]],
        }
    )
