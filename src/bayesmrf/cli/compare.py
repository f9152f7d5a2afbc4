"""Several posteriors of the same data beside each other."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import plots, results
from ..errors import StoreError
from ..files import check_path
from ..store import RESULTS, is_ours, read_kind
from ..summary import ParameterSummary
from . import common
from .show import show_comparison

if TYPE_CHECKING:
    from rich.console import Console

_MARK = b"bayesmrf"  # in the first bytes of pictures of this package
_NOT_ASKED = ("graph", "checkpoint", "progress", "n_jobs")  # arguments that draws do not depend on


class Job(NamedTuple):
    """One posterior to make."""

    name: str
    method: str
    path: Path
    estimator: Any


def run_all(
    jobs: Sequence[Job],
    data: Any,
    weights: Any,
    source: Path,
    out: Path,
    overwrite: bool,
    console: Console,
    write: Callable[..., None],
) -> None:
    """Run what is not finished yet, print the table and draw the marginals.

    Each run has a store of its own in the folder ``out``; one that was finished by the same request is read again.
    """
    picture = out / "marginals.png"
    _check_folder(out, picture, overwrite)
    requests = {job.name: _request(job.estimator, data, weights) for job in jobs}
    trees: dict[str, Any] = {}
    for job in jobs:  # all that can be refused is refused before the first run
        found = None if overwrite else _finished(job.path, requests[job.name])
        if found is None:
            common.check_out(job.path, overwrite)
            with common.about_fit(source, instead="another engine"):
                job.estimator.check(data, weights)
        else:
            console.print(f"{job.name}: {job.path} is finished already")
        trees[job.name] = found
    for job in jobs:
        if trees[job.name] is None:
            console.print(f"{job.name}: {job.method} ...")
            tree = common.sample(job.estimator, data, weights, source, job.path, console, instead="another engine")
            write(tree, job.path, request=requests[job.name])
            trees[job.name] = tree
    summaries = {name: ParameterSummary(tree) for name, tree in trees.items()}
    first = next(iter(summaries.values()))
    console.print(f"\n{first.data_sentence}\n{first.draws_sentence}\n")
    show_comparison(summaries, console)
    figure = plots.plot_marginals(summaries)[0].get_figure(root=True)
    figure.savefig(picture, dpi=150, metadata={"Software": _MARK.decode()})
    console.print(f"\nThe marginals are drawn in {picture}; each result is in {out}", soft_wrap=True)


def _check_folder(out: Path, picture: Path, overwrite: bool) -> None:
    """Refuse a folder that must not or cannot be written to."""
    check_path(out, "--out: ")
    if out.exists() and not out.is_dir():
        raise StoreError(f"--out: {out} must be a folder, but is a file; give another path")
    if (out / "zarr.json").exists():
        raise StoreError(f"--out: {out} holds a run; give a folder in which each method has a store of its own")
    if picture.exists() and not overwrite and _MARK not in picture.read_bytes()[:1000]:
        raise StoreError(f"--out: {picture} is there and not of this package; give another path")
    common.check_writable(out)


def _finished(path: Path, request: str) -> Any:
    """The result that is there, if it answers the request; None where a run is to begin or to continue."""
    try:
        if not is_ours(path) or read_kind(path) != RESULTS:
            return None
    except StoreError as e:
        raise StoreError(f"--out: {e}") from None
    tree = results.load(path)
    if tree.attrs.get("request") != request:
        raise StoreError(f"--out: {path} holds the finished result of another run; give another path, or --overwrite "
                         "to replace it")  # fmt: skip
    return tree


def _request(estimator: Any, data: Any, weights: Any) -> str:
    """Checksum of all that draws depend on."""
    import pandas as pd

    options = {k: v for k, v in estimator.get_params(deep=False).items() if k not in _NOT_ASKED}
    digest = hashlib.sha256(repr((sorted(options.items()), list(data.columns))).encode())
    digest.update(estimator.graph.edges.tobytes())
    for table in (data, weights):
        if table is not None:
            digest.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return digest.hexdigest()
