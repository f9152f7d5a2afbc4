"""Comparison of several posteriors of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import plots, results
from ..errors import OptionError, StoreError, TooWideError, renamed
from ..results.summary import ParameterSummary
from ..runs.store import RESULTS, has_evidence, is_ours, read_kind
from . import common
from .show import show_comparison

if TYPE_CHECKING:
    from .flags import Run

_NOT_ASKED = ("graph", "checkpoint", "progress", "n_jobs", "executor")  # arguments on which the draws do not depend


class Job(NamedTuple):
    """One posterior to sample."""

    name: str
    method: str
    path: Path
    estimator: Any


def run_all(jobs: Sequence[Job], run: Run, data: Any, weights: Any, out: Path, graph: str) -> None:
    """Run the jobs that are not finished, print the table and plot the marginals.

    Each run has its own store in the folder ``out``; one that the same request finished before is loaded.
    """
    picture = out / "marginals.png"
    common.check_folder(out)
    if has_evidence(out):
        raise StoreError(f"--out: {out} has evidences of models; give another path.")
    common.check_picture(picture, run.overwrite)
    requests = {}
    for job in jobs:
        asked = {k: v for k, v in job.estimator.get_params(deep=False).items() if k not in _NOT_ASKED}
        requests[job.name] = common.checksum(asked, data, weights, job.estimator.graph.edges.tobytes())
    trees: dict[str, Any] = {}
    for job in jobs:  # check everything before the first run
        found = None if run.overwrite else _finished(job.path, requests[job.name])
        if found is None:
            common.check_out(job.path, run.overwrite)
            _check(job, data, weights, run.table)
        else:
            run.console.print(f"{job.name}: {job.path} is already finished")
        trees[job.name] = found
    for job in jobs:
        if trees[job.name] is None:
            run.console.print(f"{job.name}: {job.method} ...")
            about = {"graph": graph, "request": requests[job.name]}
            trees[job.name] = run.sample(job.estimator, job.path, [data, weights, None], **about)
    run.kept = f"stopped; the results are in {out}; give the same command again to plot them"
    summaries = {name: ParameterSummary(tree) for name, tree in trees.items()}
    first = next(iter(summaries.values()))
    run.console.print(f"\n{first.data_sentence}\n{first.draws_sentence}\n")
    show_comparison(summaries, run.console)
    common.save_picture(plots.plot_marginals(summaries)[0], picture)
    run.console.print(f"\nThe marginals are plotted in {picture}; the results are in {out}", soft_wrap=True)


def _check(job: Job, data: Any, weights: Any, table: Path) -> None:
    """Check the options and the data of a job, which has its kernel and engine from --compare."""
    try:
        with common.about_file(table):
            job.estimator.check(data, weights)
    except TooWideError as e:
        remedy = f"replace {job.name} in --compare, for example by persistent, or use a graph with fewer edges"
        raise TooWideError(e.problem, remedy=remedy) from None
    except OptionError as e:
        raise OptionError(renamed(renamed(e.text, "engine", "compare"), "kernel", "compare")) from None


def _finished(path: Path, request: str) -> Any:
    """Return the finished result of the same request; None if the run has to start or to continue."""
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
