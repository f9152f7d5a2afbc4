"""Independent runs by workers: the results of one process, and one sentence where a worker is lost."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace

import pytest

from bayesmrf import RBM, log_evidence
from bayesmrf.errors import WorkerError
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.published.cross_validation import CrossValidation
from bayesmrf.runs.independent import run_each
from papers.cells import CellSettings
from papers.runner import Paper
from papers.store import read
from tests import ROOT
from tests.unit.runs.test_workers import dask, processes, threads


def square(n):
    time.sleep(0.001 * (9 - n))  # later ones end first
    return os.getpid(), n**2


def here(n, folder):
    (folder / str(n)).touch()
    if n == 2:
        raise FloatingPointError("theta is not finite")
    time.sleep(0.01 * (n > 2))  # so that the error is seen before all have begun
    return n


def end(n):
    os._exit(1)


class Squares:
    """A plan of cells of a paper."""

    replicates, methods = 5, ("all",)

    def describe(self):
        return {}

    def cells(self, replicates, methods):
        return [(k,) for k in range(replicates)]

    def run(self, settings, cell, checkpoint):
        return {"square": cell[0] ** 2, "draw": settings.rng(*cell).random(), "process": os.getpid()}


class Settings(CellSettings):
    names = ("squares",)


@pytest.fixture
def priors():
    """The grid of priors, as a script: two tasks, with one prior and one number of observations."""
    spec = spec_from_file_location("edge_priors", ROOT / "benchmarks/edge_priors.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.SLABS, module.DENSITIES, module.SIZES = ("normal:1",), ("0.5",), {8: (1, (100,))}
    return partial(module.records_of, module.simulated, [(8, "empty", 0), (8, "dense, weak", 0)])


@pytest.mark.parametrize("kind", [threads, processes], ids=lambda k: k.__name__)
def test_same_results_wherever_they_are_run(kind):
    assert list(run_each(lambda n: n**2, range(10), "")) == [(n, n**2) for n in range(10)]
    with kind(2) as executor:
        found = dict(run_each(square, range(10), "", executor=executor))
    assert {i: value for i, (_, value) in found.items()} == {n: n**2 for n in range(10)}
    assert ({process for process, _ in found.values()} == {os.getpid()}) == (kind is threads)


def test_folds_cells_of_papers_and_prior_grids_on_a_cluster(rng, tmp_path, priors):
    X = rng.integers(0, 2, size=(60, 4))
    method = partial(CrossValidation, n_folds=3, search=ModeSearch(n_steps=50))
    plans, nothing = {"squares": Squares()}, lambda *_: []
    experiments = SimpleNamespace(
        __file__=str(tmp_path / "experiments.py"), FULL=plans, QUICK=plans, MEASURES={"squares": nothing}
    )
    paper = Paper("squares", "numbers", Settings, experiments, nothing, {"squares": {}})
    (tmp_path / "expected.json").write_text('{"squares": []}')
    with dask(2) as client:
        found = log_evidence(RBM(n_hidden=1), X, method(executor=client), random_state=1)
        there = [of_paper(paper, tmp_path / "there", "--cluster", client.scheduler.address)]
        grid = priors(executor=client)
    there.append(of_paper(paper, tmp_path / "here", "--jobs", "1"))
    assert found.log_evidence == log_evidence(RBM(n_hidden=1), X, method(), random_state=1).log_evidence
    assert found.log_evidence != log_evidence(RBM(n_hidden=1), X, method(), random_state=2).log_evidence
    assert without(there[0], "process") == without(there[1], "process")
    assert len(there[0]) == 5
    assert {r["process"] for r in there[1]} == {os.getpid()}
    assert os.getpid() not in {r["process"] for r in there[0]}
    assert grid.equals(priors())
    assert list(grid["network"]) == ["empty", "dense, weak"]
    assert grid["loss"].nunique() == 2


def of_paper(paper, out, *options):
    assert paper.main(["squares", "--out", str(out), *options]) == 0
    return read(out / "results" / "squares.jsonl")


def without(records, name):
    return [{k: v for k, v in record.items() if k != name} for record in records]


def test_an_error_cancels_what_has_not_begun(tmp_path):
    with ThreadPoolExecutor(1) as pool:
        results = run_each(partial(here, folder=tmp_path), range(200), "", executor=pool)
        assert {next(results)[0], next(results)[0]} == {0, 1}
        with pytest.raises(FloatingPointError, match="theta is not finite"):
            list(results)
    assert len(list(tmp_path.iterdir())) < 200


def test_a_lost_worker_is_one_sentence():
    with processes(1) as executor, pytest.raises(WorkerError, match=r"(?m)^a worker was lost \(.*\); call again with"):
        list(run_each(end, range(4), "", executor=executor))
