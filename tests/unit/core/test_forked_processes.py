"""Processes that were forked have none of the threads of their parent: whatever was fitted before is fitted there, too.

A fork keeps locks and pools of threads as they were, but not the threads, so that whoever waits for one waits for ever.
"""

import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_all_start_methods, get_context

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import bayesmrf
from bayesmrf import Checkpoint, engines
from bayesmrf.runs.replicates import replicates

LIMIT = 90.0  # seconds, after which processes that hang are killed
STATES = np.random.default_rng(1).integers(0, 2, (40, 4))
# One chain, which runs in the main thread: it is the one that a fork keeps, with what it knows of other threads.
RUN = {"n_draws": 20, "n_warmup": 5, "n_chains": 1, "random_state": 0, "progress": False}
THREADS = engines.Persistent(n_chains=200, n_jobs=2)

# Estimators by name, each with options and data.
FITS = {
    "BayesianMRF": ({"kernel": "langevin", "engine": THREADS, **RUN}, STATES),
    "CompareMRF": (RUN, STATES, np.arange(40) % 2),
    "GroupedMRF": (RUN, STATES),
    "LabelFieldMRF": (RUN, np.arange(24.0).reshape(12, 2), np.arange(12) % 2),
    "MaximumLikelihoodMRF": ({}, STATES),
    "PanelMRF": (RUN, STATES),
    "RBM": ({"n_hidden": 2, "n_steps": 20, "random_state": 0}, STATES),
    "SpikeSlabMRF": (RUN, STATES),
}

quiet = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
forks = pytest.mark.skipif("fork" not in get_all_start_methods(), reason="processes are not forked here")


def estimators():
    """All estimators of the package, so that a new one has to be fitted here, too."""
    public = ((name, getattr(bayesmrf, name)) for name in bayesmrf.__all__)
    return sorted(name for name, value in public if isinstance(value, type) and issubclass(value, BaseEstimator))


def fit(name, **options):
    """Fit an estimator, where libraries have two threads on any machine; return all its numbers."""
    parameters, *data = FITS[name]
    with warnings.catch_warnings(), threadpool_limits(2):
        warnings.simplefilter("ignore")
        est = getattr(bayesmrf, name)(**parameters, **options).fit(*data)
    if hasattr(est, "posterior_"):
        return {key: value.to_numpy() for key, value in est.posterior_["posterior"].items()}
    return {key: value for key, value in vars(est).items() if key.endswith("_") and isinstance(value, np.ndarray)}


def study():
    """Return the items of a study, each by another process."""
    return replicates(dict, {"first": {"item": 1}, "second": {"item": 2}}, {}, "", n_jobs=2, progress=False)


@contextmanager
def pool(method):
    """Return processes, which are killed after a while, so that nobody waits for them for ever."""
    others = set(active_children())

    def kill():
        for process in set(active_children()) - others:
            process.kill()

    # A spawned process imports everything, and takes seconds: one is enough.
    with ProcessPoolExecutor(2 if method == "fork" else 1, mp_context=get_context(method)) as processes:
        timer = threading.Timer(LIMIT, kill)
        timer.start()
        try:
            yield processes
        finally:
            timer.cancel()
            kill()  # what an error left behind


@quiet
@pytest.mark.parametrize("method", [pytest.param("fork", marks=forks), "spawn"])
def test_every_estimator_is_fitted_in_processes_after_fits_in_their_parent(method, tmp_path):
    assert estimators() == sorted(FITS)
    with threadpool_limits(2):  # threads of OpenMP, as the script of a user may have started them
        KMeans(2, n_init=1, random_state=0).fit(STATES)
    here = {name: fit(name) for name in FITS}
    with pool(method) as processes:
        there = {name: processes.submit(fit, name) for name in FITS}
        stored = processes.submit(fit, "SpikeSlabMRF", checkpoint=Checkpoint(str(tmp_path / "votes_run")))
        for name, values in here.items():
            np.testing.assert_equal(there[name].result(), values, err_msg=name)
            if "n_draws" in FITS[name][0]:  # whose chains are advanced by workers
                np.testing.assert_equal(fit(name, executor=processes), values, err_msg=name)
        np.testing.assert_equal(stored.result(), here["SpikeSlabMRF"])


@quiet
@forks
def test_studies_in_processes_after_one_in_their_parent():
    found = study()
    assert found == [{"item": 1}, {"item": 2}]
    with pool("fork") as processes:
        assert processes.submit(study).result() == found
