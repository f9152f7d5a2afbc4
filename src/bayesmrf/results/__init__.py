"""Draws as an `xarray.DataTree` in the form of ArviZ, and on disk."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from importlib.metadata import version
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from ..declare.option import named
from ..declare.paths import path_of, result_path
from ..declare.rule import FLAG
from ..errors import OptionError, StoreError
from ..findings import GRADES, loaded
from ..models.display import display_of
from ..runs import netcdf
from ..runs.draws import SparseDraws
from ..runs.run import TIMES, Draws
from ..runs.sealed import as_written
from ..runs.store import CHECKPOINT, check_single, is_ours, read_kind
from . import on_disk
from .convergence import diagnostics

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from ..inference.unseen_modes import ModelTails, Unseen

__all__ = ["add_missing", "add_mode_check", "add_partition", "diagnostics", "finish", "load", "save", "to_datatree"]

DENSITIES = ("density", "autoregression_density", "within_density")
POSTERIOR = (
    "phi", "theta", "agreement", "groups", "n_groups", "field_groups", "blocks", "n_blocks", "included", *DENSITIES,
    "slab_scale", "alpha",
    "intercept_sd", "intercept_slope", "intercept_root",
)  # fmt: skip
LABELS = ("groups", "field_groups", "blocks")
_STATS = {"log_likelihood": "total_log_likelihood"}  # ArviZ takes the first for values of each observation
_UNSEEN = ("ratio", "state", "most", "probability", "share")


def to_datatree(
    draws: Draws,
    model: Any,
    *,
    attrs: Mapping[str, Any],
    observed: Mapping[str, Any],
    constant: Mapping[str, np.ndarray] | None = None,
    parameters: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
) -> xr.DataTree:
    r"""Collect the draws, the data and the settings of a run.

    Group ``posterior`` contains the fields in `POSTERIOR`, ``sample_stats`` the others, ``observed_data`` the
    mean statistics, and ``constant_data`` the edges. In the model of Liu and Page (2013) ``agreement`` is added to
    ``theta``: :math:`a_c = 1 / (1 + e^{-\theta_c})` for each edge.

    A constant ``alpha`` or ``density`` was not sampled, and is a number in ``constant_data``. The labels in ``groups``
    are a coordinate of ``posterior``, not a variable: the number of a group has no meaning, so summaries must not
    contain its mean or R-hat. If grouped edges may be absent, the label 0 means absence (see ``included``).

    Parameters
    ----------
    draws : Draws
        From `bayesmrf.runs.run.sample`.
    model : Model, LabelField or Panel
        Names the features, edges and nodes.
    attrs : mapping
        ``method``, ``engine``, ``engine_kind``, ``options``, ``data_hash`` and the like; other values than numbers and
        texts are stored as JSON. Seed, versions, run time, time of creation, warm-up, thinning, completeness and what a
        run until good is short of are added.
    observed : mapping
        ``n_samples``, and ``statistics`` (n_features,) where they are those of theta; with groups ``statistics``
        (n_groups, n_features) and ``group_sizes``.
    constant : mapping, optional
        ``mle`` (n_features,) and other arrays, with a value for each edge.
    parameters : sequence of str, optional
        Names of ``phi``, the parameters that were sampled if ``theta`` is a linear map of them.
    groups : sequence of str, optional
        Labels of groups of observations, each with its own ``theta``.

    Returns
    -------
    xarray.DataTree
    """
    import xarray as xr

    names = {
        "parameter": np.array(parameters or [], dtype=object),
        "group": np.array(groups or [], dtype=object),
        "chain": np.array(draws.chains),
        "draw": np.arange(draws.n_draws),
        "feature": np.array(model.feature_names, dtype=object),
        "edge": np.array(model.graph.edge_names, dtype=object),
        "node": np.array(model.graph.names, dtype=object),
    }

    def dataset(variables: Mapping[str, tuple[tuple[str, ...], Any]], *always: str) -> xr.Dataset:
        used = {d for dims, _ in variables.values() for d in dims}.union(always)
        made = {name: _variable(dims, v) for name, (dims, v) in variables.items()}
        return xr.Dataset(made, coords={d: names[d] for d in names if d in used})

    fields: dict[str, Any] = draws.fields
    grouped, display = "groups" in fields, display_of(model)
    values = {name: (("chain", "draw", *draws.dims[name]), v) for name, v in fields.items()}
    if "theta" in values and (grouped or display.is_agreement):
        values["agreement"] = (("chain", "draw", "edge"), model.agreement(draws.values["theta"]))
    if "groups" in values and "density" in values:
        values["included"] = (values["groups"][0], fields["groups"] >= 0)
        values["groups"] = (values["groups"][0], fields["groups"] + 1)
    fixed: dict[str, Any] = {}
    for name in ("alpha", *DENSITIES):
        if name in fields and fields[name].size > 1 and np.ptp(fields[name]) == 0:
            fixed[name] = ((), values.pop(name)[1][0, 0])
    posterior = {n: values[n] for n in POSTERIOR if n in values}
    arrays: dict[str, Any] = {"edges": (("edge", "end"), np.asarray(model.graph.edges)), **fixed}
    if grouped:
        arrays["agreement_contrast"] = (("edge_parameter",), model.agreement_contrast)
    for name, value in (constant or {}).items():
        arrays[name] = (("feature",) if name == "mle" else ("edge",), np.asarray(value))
    statistics = {}
    if "statistics" in observed:
        given_dims = ("feature",) if groups is None else ("group", "feature")
        statistics["statistics"] = (given_dims, np.asarray(observed["statistics"], dtype=float))
    if groups is not None:
        statistics["group_sizes"] = (("group",), np.asarray(observed["group_sizes"], dtype=float))
    tree = xr.DataTree.from_dict(
        {
            "posterior": dataset(posterior).set_coords([n for n in LABELS if n in posterior]),
            "sample_stats": dataset({_STATS.get(n, n): v for n, v in values.items() if n not in posterior}),
            "observed_data": dataset(statistics).assign_attrs(n_samples=_plain(observed["n_samples"])),
            "constant_data": dataset(arrays, "node").assign_attrs(display.as_attributes()),
        }
    )
    tree.attrs = {k: _plain(v) for k, v in {**attrs, **_circumstances(draws)}.items()}
    return tree


def add_missing(tree: xr.DataTree, missing: pd.DataFrame) -> None:
    """Add the probabilities of missing values as group ``posterior_predictive``, in place.

    ``total_log_likelihood`` becomes ``completed_log_likelihood``: it is that of the table with the missing values that
    were drawn in a step, not that of the observed ones.

    Parameters
    ----------
    tree : xarray.DataTree
        From `to_datatree`.
    missing : DataFrame
        Columns row, node and probability, and state if nodes have many states.
    """
    import xarray as xr

    tree["posterior_predictive"] = xr.DataTree(
        xr.Dataset(
            {"probability": ("value", missing["probability"].to_numpy())},
            coords={c: ("value", missing[c].to_numpy()) for c in missing.columns.drop("probability")},
        )
    )
    stats = tree["sample_stats"].to_dataset()
    if "total_log_likelihood" in stats:
        tree["sample_stats"] = xr.DataTree(stats.rename(total_log_likelihood="completed_log_likelihood"))


def add_mode_check(
    tree: xr.DataTree,
    draws: Sequence[tuple[int, int]],
    each: Sequence[Unseen],
    tails: Sequence[ModelTails],
    worst: Unseen,
    level: str,
    group: str = "",
) -> None:
    """Add a search for unseen modes as group ``mode_check``, in place.

    It contains, for each draw that was checked, the numbers of its chain and draw, the tail of `Unseen`, and the
    estimates of log Z by the starts of annealing, of which the first is the reverse one. Attributes are the tail that
    exceeds the data's most, of one draw or on average, the name of its state, and the group of people.

    Parameters
    ----------
    tree : xarray.DataTree
        From `to_datatree`.
    draws : sequence of (int, int)
        Chain and draw.
    each, tails : sequence
        What was found at each of them.
    worst : Unseen
    level, group : str
    """
    import xarray as xr

    chain, draw = np.array(draws).T
    numbers = np.asarray(tree["posterior"].dataset["chain"])[chain]
    arrays: dict[str, Any] = {"chain_number": ("check", numbers), "draw_number": ("check", draw)}
    for name in _UNSEEN:
        arrays[name] = "check", np.array([getattr(tail, name) for tail in each])
    for name in ("log_z", "log_z_error"):
        arrays[name] = ("check", "start"), np.array([getattr(tail, name) for tail in tails])
    about = worst._asdict() | {"level": level, "group": group}
    tree["mode_check"] = xr.DataTree(xr.Dataset(arrays, attrs={name: _plain(value) for name, value in about.items()}))


def add_partition(tree: xr.DataTree, labels: str, partition: np.ndarray) -> None:
    """Add the point partition of all draws of ``labels`` to ``constant_data``, in place.

    Parameters
    ----------
    tree : xarray.DataTree
        From `to_datatree`.
    labels : {"groups", "field_groups", "blocks"}
        The partition is ``groups_point`` and the like; its attribute ``n_draws`` is the number of draws,
        so that it is not mistaken for the partition of a part of them.
    partition : (n_edges,) or (n_nodes,) int array
        -1 for items in no group.
    """
    import xarray as xr

    draws: Any = tree["posterior"][labels]
    about = {"n_draws": draws.sizes["chain"] * draws.sizes["draw"]}
    tree["constant_data"][f"{labels}_point"] = xr.Variable(draws.dims[2:], np.asarray(partition), about)


@runtime_checkable
class WithPosterior(Protocol):
    """Estimators with tables of a posterior, which can be given wherever their ``posterior_`` can."""

    def table(self, name: str) -> pd.DataFrame:
        """Return a table of results."""

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a posterior."""


def posterior_of(result: Any) -> xr.DataTree:
    """Return the posterior of a fitted estimator, of a path that a run was written to, or itself."""
    import xarray as xr
    from sklearn.utils.validation import check_is_fitted

    if isinstance(result, WithPosterior):
        check_is_fitted(result)
        of_fit: Any = result
        return cast("xr.DataTree", of_fit.posterior_)
    if isinstance(result, str | PathLike):
        return load(result)
    if not (isinstance(result, xr.DataTree) and {"posterior", "constant_data"} <= result.children.keys()):
        expected = "a fitted estimator of a posterior, its posterior_, or the path of a run"
        raise OptionError(option="tree", got=result, expected=expected)
    return result


@named
def save(tree: xr.DataTree | WithPosterior, path: str | PathLike[str], overwrite: bool = False) -> None:
    """Write results to a folder, or export them to a netCDF file for other programs if the path ends with ``.nc``.

    Parameters
    ----------
    tree : estimator or xarray.DataTree
        A fitted estimator, or its ``posterior_``.
    path : path
        Folder or file to create.
    overwrite : bool
        Replace existing results or an existing checkpoint. Other files are never replaced.

    Raises
    ------
    OptionError
        If ``tree`` is no posterior.
    StoreError
        If the folder contains something already, or cannot be written; or no package for netCDF is installed.
    """
    tree, path = posterior_of(tree), result_path("path", path)
    FLAG.check("overwrite", overwrite)
    form = netcdf if path.suffix == netcdf.SUFFIX else on_disk
    form.write(tree, path, overwrite)


def finish(tree: xr.DataTree | WithPosterior, path: str | PathLike[str]) -> None:
    """Replace the checkpoint of a complete run by its results.

    The results are written next to the checkpoint, which stays valid until they are complete.

    Parameters
    ----------
    tree : estimator or xarray.DataTree
        A fitted estimator, or its ``posterior_``.
    path : path
        Where the checkpoint is.

    Raises
    ------
    OptionError
        If ``tree`` is no posterior.
    StoreError
        If there is no checkpoint, the run is not complete, or the folder cannot be written.
    """
    tree, path = posterior_of(tree), path_of("path", path)
    if not is_ours(path) or read_kind(path) != CHECKPOINT:
        raise StoreError(f"{path} contains no checkpoint; use save")
    if not tree.attrs["complete"]:
        raise StoreError(
            f"{path} contains an unfinished run, and these are not all of its draws; save them to another path"
        )
    on_disk.write(tree, path, overwrite=True)


def load(path: str | PathLike[str]) -> xr.DataTree:
    """Read results into memory, from the folder of a run.

    Raises
    ------
    StoreError
        If there are none, if the run is not finished (the message states its progress), or if something is damaged.
    """
    path = path_of("path", path)
    check_single(path)
    if path.suffix == netcdf.SUFFIX and path.is_file():
        raise StoreError(f"{path} is an export, which xarray.open_datatree and ArviZ read; give the folder of the run "
                         "that it was exported from")  # fmt: skip
    tree = on_disk.read(path)
    with as_written(path):
        if not all(_facts(tree)):  # wrong dimensions, types, or numbers
            raise ValueError
    return tree


def _facts(tree: xr.DataTree) -> Iterator[bool]:
    """Check what `to_datatree` guarantees, one fact after another, as later ones follow from earlier ones."""
    for name, kinds in {"run_time": (int, float), "n_warmup": (int,), "thin": (int,), "complete": (bool, int)}.items():
        yield isinstance(tree.attrs[name], kinds) and 0 <= tree.attrs[name] < np.inf
    yield all(isinstance(t := tree.attrs.get(name, 0.0), float) and 0 <= t < np.inf for name in TIMES)
    yield isinstance(tree.attrs.get("short", ""), str)
    yield all(isinstance(v, str) for v in dict(json.loads(tree.attrs["versions"])).values())
    yield all(finding.severity in GRADES for finding in loaded(str(tree.attrs.get("findings", "[]"))))
    n_samples, edges = tree["observed_data"].attrs["n_samples"], tree["constant_data"]["edges"]
    yield isinstance(n_samples, int | float) and 0 < n_samples < np.inf
    ends = np.asarray(edges)
    yield edges.dims == ("edge", "end") and edges.shape[1] == 2 and edges.dtype.kind in "iu"
    yield bool(((ends >= 0) & (ends < tree["constant_data"].sizes["node"])).all())
    for key, group in tree.children.items():
        for name in {"node", "edge", "feature", "parameter", "group"} & set(group.coords):
            names = group.coords[name]
            along = "value" if key == "posterior_predictive" else name  # there, the node of each missing value
            yield names.dims == (along,) and all(isinstance(v, str) for v in names.values.tolist())
    if "mode_check" in tree.children:
        attrs = tree["mode_check"].attrs
        yield all(isinstance(attrs[name], int | float) for name in _UNSEEN) and isinstance(attrs["level"], str)
    for v in tree["posterior"].dataset.data_vars.values():
        yield v.dims[:2] == ("chain", "draw") and v.dtype.kind in "biuf" and 0 not in v.shape[:2]


def _variable(dims: Sequence[str], v: Any) -> xr.Variable:
    """Make a variable of an array; booleans become 0 and 1, as ArviZ computes quantiles of every variable."""
    if isinstance(v, SparseDraws):
        from .sparse_array import variable  # xarray is slow to import

        return variable(dims, v)
    import xarray as xr

    return xr.Variable(dims, v.astype(np.int8) if v.dtype == bool else v)


def _plain(value: Any) -> Any:
    """Write values other than numbers and texts as JSON."""
    if isinstance(value, Enum):
        value = value.value
    value = on_disk.plain(value)
    return value if isinstance(value, str | int | float) else json.dumps(value)


def _circumstances(draws: Draws) -> dict[str, Any]:
    """Describe the circumstances of a run by the attributes that `to_datatree` adds."""
    return {
        "kernel": draws.kernel,
        "n_warmup": draws.n_warmup,
        "thin": draws.thin,
        "seed": json.dumps(draws.seed["entropy"]),
        "run_time": draws.run_time,
        "complete": int(draws.complete),
        **({} if draws.short is None else {"short": draws.short}),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "inference_library": "bayesmrf",
        "versions": {"python": platform.python_version(), **{p: version(p) for p in ("bayesmrf", "numpy", "numba")}},
    }
