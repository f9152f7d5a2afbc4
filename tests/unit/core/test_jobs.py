"""One meaning of ``n_jobs`` wherever it exists: that of joblib."""

from contextlib import nullcontext
from importlib import import_module
from inspect import signature
from pkgutil import walk_packages

import joblib
import numpy as np
import pytest

import bayesmrf
from bayesmrf import SpikeSlabMRF, calibrate, plan, threads
from bayesmrf.data.states import check_states
from bayesmrf.engines import Brief, Gibbs, Persistent
from bayesmrf.errors import OptionError
from bayesmrf.learning.persistent import PersistentMLE
from bayesmrf.learning.sparse import learn_graph
from bayesmrf.runs import replicates, run
from bayesmrf.samplers import gibbs
from tests.helpers.walks import OPTIONS, Walk

X = np.random.default_rng(1).integers(0, 2, (30, 3))


@pytest.fixture(autouse=True)
def four_cores(monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 4)


@pytest.mark.parametrize(
    ("n_jobs", "n_tasks", "expected"),
    [
        (None, 9, 4),
        (None, 3, 3),
        (-1, 9, 4),
        (-2, 9, 3),
        (-4, 9, 1),
        (-9, 9, 1),
        (1, 9, 1),
        (7, 9, 7),
        (7, 3, 3),
        (2, 0, 1),
    ],
)
def test_numbers_are_those_of_joblib(n_jobs, n_tasks, expected):
    assert threads.count_jobs(n_jobs, n_tasks) == expected


def test_joblibs_own_setting_is_the_default():
    for n_jobs, expected in ((2, 2), (-1, 4), (-2, 3)):
        with joblib.parallel_config("threading", n_jobs=n_jobs):
            assert threads.count_jobs(None, 9) == expected
            assert threads.count_jobs(1, 9) == 1


def functions():
    """Return all functions and classes of the package with an argument ``n_jobs``, by name."""
    found = {}
    for module in walk_packages(bayesmrf.__path__, "bayesmrf."):
        if not module.name.startswith(("bayesmrf.__main__", "bayesmrf.cli")):  # commands hand it on
            for name, value in vars(import_module(module.name)).items():
                if callable(value) and getattr(value, "__module__", "") == module.name and not name.startswith("_"):
                    try:
                        parameters = signature(value).parameters
                    except (TypeError, ValueError):
                        continue
                    if "n_jobs" in parameters:
                        found[name] = value
    return found


STUDY = {"nodes": 3, "replicates": 1, "progress": False}
TINY = {"n_draws": 2, "n_warmup": 1, "n_chains": 2, "progress": False}

# How each of them is called with a number of jobs; estimators are called by their `fit`, which is the same for all.
CALLS = {
    "plan": lambda n: plan(n=[20], estimator=SpikeSlabMRF(**TINY), **STUDY, n_jobs=n),
    "calibrate": lambda n: calibrate(SpikeSlabMRF(**TINY), 20, **STUDY, n_jobs=n),
    "replicates": lambda n: replicates.replicates(dict, {"a": {}}, {}, "", n_jobs=n, progress=False),
    "sample": lambda n: run.sample(Walk(), **OPTIONS | {"n_jobs": n}),
    "learn_graph": lambda n: learn_graph(check_states(X), 1, n_jobs=n),
    "sweep": lambda n: gibbs.sweep(None, gibbs.start(64, 3, np.random.default_rng(0)), 1, n),
    "count_jobs": lambda n: threads.count_jobs(n, 1),
    "choose": None,  # hands it on to an engine
    "Gibbs": lambda n: Gibbs(n_jobs=n),
    "Persistent": lambda n: Persistent(n_jobs=n),
    "Brief": lambda n: Brief(X, n_jobs=n),
    "PersistentMLE": lambda n: PersistentMLE(None, None, 1.0, n_jobs=n),
}


def test_zero_is_refused_by_name():
    kinds = functions()
    estimators = [name for name, kind in kinds.items() if hasattr(kind, "fit") and name not in CALLS]
    assert {"SpikeSlabMRF", "CompareMRF", "PanelMRF", "GroupedMRF", "BayesianMRF", "LabelFieldMRF"} <= set(estimators)
    assert set(kinds) - set(estimators) <= set(CALLS) | {"RunOptions", "Sampled"}
    calls = {name: call for name, call in CALLS.items() if call}
    calls |= {name: lambda n, name=name: getattr(bayesmrf, name)(n_jobs=n).fit(X, X[:, 0]) for name in estimators if
              name in bayesmrf.__all__}  # fmt: skip
    for call in calls.values():
        for wrong in (0, 1.5, True, "2"):
            with pytest.raises(OptionError, match=f"n_jobs must be an integer other than 0.*, got {wrong!r}"):
                call(wrong)


@pytest.mark.parametrize(("n_jobs", "expected"), [(-1, 4), (-2, 3), (2, 2), (1, None)])
def test_replicates_start_so_many_processes(n_jobs, expected, monkeypatch):
    started = []
    monkeypatch.setattr(replicates, "_processes", lambda n: nullcontext(started.append(n)))
    replicates.replicates(dict, {name: {} for name in "abcdef"}, {}, "", n_jobs=n_jobs, progress=False)
    assert started == ([] if expected is None else [expected])


def test_chains_run_in_so_many_threads(monkeypatch):
    started = []

    class Counted(joblib.Parallel):
        def __init__(self, n_jobs, **options):
            started.append(n_jobs)
            super().__init__(n_jobs, **options)

    monkeypatch.setattr(run, "Parallel", Counted)
    for n_jobs in (-1, -2, 2, None):
        SpikeSlabMRF(**TINY | {"n_chains": 6}, n_jobs=n_jobs).fit(X)
    assert started == [4, 3, 2, 4]


def test_the_command_takes_negative_numbers(bayesmrf, folder):
    words = ["plan", "--nodes", "3", "--n", "60", "--replicates", "1", "--out", "study", "--quiet"]
    assert bayesmrf(*words, "--n-jobs", "-1")[0] == 0
    code, _, err = bayesmrf(*words, "--n-jobs", "0")
    assert code != 0
    assert "--n-jobs must be an integer other than 0" in err
