"""Independent runs by workers: the results of one process, and one sentence where a worker is lost."""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from bayesmrf import RBM, log_evidence
from bayesmrf.errors import WorkerError
from bayesmrf.evidence.cross_validation import CrossValidation
from bayesmrf.evidence.mode import ModeSearch
from bayesmrf.independent import run_each
from papers.cells import CellSettings, run
from papers.store import Store
from tests.test_workers import by_joblib, dask, processes, threads


def square(n):
    time.sleep(0.001 * (9 - n))  # later ones end first
    return os.getpid(), n**2


def here(n, folder):
    (folder / str(n)).touch()
    if n == 2:
        raise FloatingPointError("theta is not finite")
    return n


def end(n):
    os._exit(1)


class Squares:
    """A plan of cells of a paper."""

    def describe(self):
        return {}

    def run(self, settings, cell, checkpoint):
        return {"square": cell[0] ** 2, "draw": settings.rng(*cell).random()}


class Settings(CellSettings):
    names = ("squares",)


@pytest.mark.parametrize("kind", [threads, by_joblib], ids=lambda k: k.__name__)
def test_same_results_wherever_they_are_run(kind):
    assert list(run_each(lambda n: n**2, range(10), "")) == [(n, n**2) for n in range(10)]
    with kind(2) as executor:
        found = dict(run_each(square, range(10), "", executor=executor))
    assert {i: value for i, (_, value) in found.items()} == {n: n**2 for n in range(10)}
    assert ({process for process, _ in found.values()} == {os.getpid()}) == (kind is threads)


def test_folds_models_and_cells_on_a_cluster(rng, tmp_path):
    X = rng.integers(0, 2, size=(60, 4))
    method = partial(CrossValidation, n_folds=3, search=ModeSearch(n_steps=50))
    there = []
    with dask(2) as client:
        found = log_evidence(RBM(n_hidden=1), X, method(executor=client), random_state=1)
        for executor in (client, None):
            settings, plan = Settings("squares"), Squares()
            store = Store(tmp_path / f"{executor is None}.jsonl", settings.describe(plan), settings.digits)
            run(plan, settings, [(k,) for k in range(5)], store, 1, tmp_path, executor)
            there.append(store.records())
    assert found.log_evidence == log_evidence(RBM(n_hidden=1), X, method(), random_state=1).log_evidence
    assert found.log_evidence != log_evidence(RBM(n_hidden=1), X, method(), random_state=2).log_evidence
    assert there[0] == there[1]
    assert len(there[0]) == 5


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
