"""Chains in other processes: the draws of one process, whatever runs them and whoever is killed."""

import os
import pickle
import signal
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import get_context

import numpy as np
import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone

from bayesmrf import SpikeSlabMRF
from bayesmrf.errors import BayesMRFWarning, OptionError, WorkerError
from bayesmrf.runs import checkpoint, workers
from bayesmrf.runs.run import sample
from tests.helpers.walks import OPTIONS, Failing, Slow, Traced, Walk, equal, killed, seed_of, slow
from tests.long import LONG, few


@pytest.fixture(autouse=True)
def chains_in_turn():
    """Chains in threads: steps sleep."""


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """Many exchanges in a short run."""
    monkeypatch.setattr(workers, "SECONDS", 0.02)


@contextmanager
def processes(n):
    with ProcessPoolExecutor(n, mp_context=get_context("spawn")) as pool:
        yield pool


@contextmanager
def threads(n):
    with ThreadPoolExecutor(n) as pool:
        yield pool


class Loky(Executor):
    """As in docs/cluster.md: processes of loky, and new ones after one was killed."""

    def submit(self, function, *args):
        return get_reusable_executor(2).submit(function, *args)


@contextmanager
def loky(n):
    yield Loky()


@contextmanager
def dask(n, allowed_failures=3):
    distributed = pytest.importorskip("distributed")
    # Without workers there is an error, and not a test that hangs. A LocalCluster closes a worker that is missing after
    # the last timeout, even if it is starting again after another kill.
    settings = {
        "scheduler.allowed-failures": allowed_failures,
        "scheduler.no-workers-timeout": "60 s",
        "deploy.lost-worker-timeout": "1 hour",
    }
    with (
        import_module("dask").config.set({f"distributed.{name}": value for name, value in settings.items()}),
        distributed.LocalCluster(
            n_workers=n, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def draws_by(kind, n, kernel, seed, **more):
    """The draws of one run by workers of a kind."""
    with kind(n) as executor:
        return sample(kernel, random_state=seed, executor=executor, **{**OPTIONS, **more})


def processes_of(folder):
    return {p.name for p in folder.glob("process-*")}


@pytest.mark.parametrize(("kind", "n"), few([(threads, 2), (processes, 1), (processes, 4), (loky, 2)], (processes, 1)))
def test_same_draws_wherever_chains_run(rng, tmp_path, kind, n):
    seed = seed_of(rng)
    there = draws_by(kind, n, Traced(tmp_path, 1e-3), seed, checkpoint=tmp_path / "run")
    assert equal(there, sample(Walk(), random_state=seed, **OPTIONS))
    assert not equal(there, sample(Walk(), random_state=seed + 1, **OPTIONS))
    assert min(checkpoint.steps_of(tmp_path / "run")[0]) == 127
    assert (processes_of(tmp_path) == {f"process-{os.getpid()}"}) == (kind is threads)


@LONG
def test_same_draws_on_a_cluster_that_grows(rng, tmp_path):
    seed = seed_of(rng)
    here = sample(Walk(), random_state=seed, **OPTIONS)
    with dask(1) as client:
        for n in (1, 3):
            client.cluster.scale(n)
            client.wait_for_workers(n, timeout=60)
            assert equal(here, sample(Traced(tmp_path, 1e-3), random_state=seed, executor=client, **OPTIONS))
    assert 2 <= len(processes_of(tmp_path)) <= 3


class ReadOnly(ThreadPoolExecutor):
    """Arrays arrive in a memory that cannot be written to, as from ray."""

    def submit(self, function, *args):
        buffers = []
        text = pickle.dumps(args, 5, buffer_callback=buffers.append)
        return super().submit(function, *pickle.loads(text, buffers=[b.raw().tobytes() for b in buffers]))


def test_arrays_that_cannot_be_written_to(rng, monkeypatch):
    monkeypatch.setattr(workers, "SECONDS", 0.0)  # of work: a step
    seed = seed_of(rng)
    with ReadOnly(2) as executor:
        there = sample(Walk(), random_state=seed, executor=executor, **OPTIONS)
    assert equal(there, sample(Walk(), random_state=seed, **OPTIONS))


@pytest.mark.filterwarnings("default")  # of ray
def test_same_draws_on_ray(rng, tmp_path):
    ray, seed = pytest.importorskip("ray"), seed_of(rng)

    class Ray(Executor):
        """As in docs/cluster.md."""

        def submit(self, function, *args):
            return ray.remote(function).remote(*args).future()

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        there = sample(Traced(tmp_path, 1e-3), random_state=seed, executor=Ray(), **OPTIONS)
    finally:
        ray.shutdown()
    assert equal(there, sample(Walk(), random_state=seed, **OPTIONS))
    assert processes_of(tmp_path)
    assert f"process-{os.getpid()}" not in processes_of(tmp_path)


@contextmanager
def dask_once(n):
    with dask(n, allowed_failures=1) as client:
        yield client


@pytest.mark.parametrize(("kind", "times"), [(loky, 1), (dask, 2)])
def test_a_killed_worker_loses_nothing(rng, tmp_path, kind, times):
    seed = seed_of(rng)
    there = draws_by(kind, 1 + times, Traced(tmp_path, 1e-3, times), seed)
    assert killed(tmp_path) == times
    assert equal(there, sample(Walk(), random_state=seed, **OPTIONS))


@LONG
@pytest.mark.parametrize(("n", "kills"), [(1, 33), (2, 33), (4, 34)])
def test_workers_of_a_cluster_killed_at_random_lose_and_change_nothing(rng, tmp_path, n, kills, monkeypatch):
    monkeypatch.setattr(workers, "SECONDS", 0.2)
    monkeypatch.setattr(checkpoint, "pause", lambda run_time, cost: 0.1)
    seed, folder = seed_of(rng), tmp_path / "run"
    options = {**OPTIONS, "n_draws": 10_000}
    over = threading.Event()

    def kill():
        """Kill workers that make steps, one at a time, each when all chains have gone on since the last one."""
        steps = [0] * OPTIONS["n_chains"]
        while killed(tmp_path) < kills and not over.wait(rng.uniform(0, 1)):
            found = [p for p in tmp_path.glob("process-*") if time.time() - p.stat().st_mtime < 0.2]
            now = checkpoint.steps_of(folder)[0] if (folder / "record.json").exists() else steps
            if found and all(n > m for n, m in zip(now, steps, strict=True)):
                os.kill(int(rng.choice(found).name.partition("-")[2]), signal.SIGKILL)
                (tmp_path / f"killed-{time.time_ns()}").touch()
                steps = now
        (tmp_path / "enough").touch()

    with dask(n) as client:
        thread = threading.Thread(target=kill)
        thread.start()
        try:
            there = sample(Slow(tmp_path, 0.05), random_state=seed, executor=client, checkpoint=folder, **options)
        finally:
            over.set()
            thread.join()
    assert killed(tmp_path) == kills
    assert len(processes_of(tmp_path)) >= kills  # each had made steps
    assert equal(there, sample(Walk(), random_state=seed, **options))


@pytest.mark.parametrize(
    ("kind", "tries"),
    [(dask_once, 1), pytest.param(dask, 3, marks=[LONG])],
)
def test_a_chain_that_kills_its_workers_is_named_and_the_others_finish(rng, tmp_path, kind, tries):
    seed = seed_of(rng)
    whole = sample(Walk(), random_state=seed, **OPTIONS)
    with pytest.raises(WorkerError, match=r"(?m)^chain \d lost its workers .* new workers to continue$") as caught:
        draws_by(kind, 2, Traced(tmp_path, 1e-3, 99), seed, checkpoint=tmp_path / "run")
    assert killed(tmp_path) > tries  # more, if a slow chain has made steps between two of them
    draws = caught.value.draws
    assert draws.n_draws == 40
    assert draws.n_chains == 2
    assert np.array_equal(draws.values["x"], whole.values["x"][list(draws.chains)])
    at = checkpoint.steps_of(tmp_path / "run")[0]
    assert sorted(at)[1:] == [127, 127]
    assert 0 < min(at) <= 50  # until its last exchange


@LONG
def test_dask_blames_only_the_chain_that_ends_its_workers(rng, tmp_path):
    seed = seed_of(rng)
    with pytest.raises(WorkerError, match=r"(?m)^chain \d lost its workers .KilledWorker.*$") as caught:
        # A worker holds more calls than it makes at a time, and all are blamed when it ends.
        draws_by(lambda n: dask(n, allowed_failures=0), 1, Traced(tmp_path, 1e-3, 99), seed)
    whole, draws = sample(Walk(), random_state=seed, **OPTIONS), caught.value.draws
    assert draws.n_chains == 2
    assert np.array_equal(draws.values["x"], whole.values["x"][list(draws.chains)])


def test_a_broken_executor_is_one_sentence_and_a_new_one_goes_on(rng, tmp_path):
    seed, folder = seed_of(rng), tmp_path / "run"
    kernel = Traced(tmp_path, 1e-3, 1)
    with pytest.raises(WorkerError, match=r"(?m)^chain 0 lost its workers \(BrokenProcessPool: .*to continue$"):
        draws_by(processes, 1, kernel, seed, checkpoint=folder)
    assert 0 < min(checkpoint.steps_of(folder)[0]) <= 50
    assert equal(draws_by(processes, 1, kernel, None, checkpoint=folder), sample(Walk(), random_state=seed, **OPTIONS))
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(WorkerError, match=r"lost its workers \(RuntimeError: cannot schedule new futures after shut"):
        sample(Walk(), executor=pool, **OPTIONS)


@pytest.mark.parametrize("kind", [threads, processes], ids=lambda k: k.__name__)
def test_an_error_in_one_chain_leaves_the_finished_ones(rng, tmp_path, kind, monkeypatch):
    monkeypatch.setattr(workers, "SECONDS", 60)  # one chain after the other
    seed, folder, kernel = seed_of(rng), tmp_path / "run", Failing(tmp_path)
    whole = sample(Walk(), random_state=seed, **OPTIONS)
    with pytest.raises(FloatingPointError, match="theta is not finite") as caught:
        draws_by(kind, 1, kernel, seed, checkpoint=folder)
    remote, here = caught.value.__notes__
    assert remote.startswith("In a worker on '")
    assert "in step" in remote  # the traceback
    assert " failed in step 61 of 127" in here
    draws = caught.value.draws
    assert (draws.n_chains, draws.n_draws) == (2, 40)
    assert np.array_equal(draws.values["x"], whole.values["x"][list(draws.chains)])
    (tmp_path / "mended").touch()
    assert equal(whole, draws_by(kind, 1, kernel, None, checkpoint=folder))


def test_errors_that_cannot_be_pickled_are_told():
    class Odd(Exception):
        def __reduce__(self):
            raise TypeError

    error = workers.sendable(Odd("theta is odd"))
    assert type(error) is RuntimeError
    assert str(error) == "Odd: theta is odd"


@pytest.mark.parametrize(
    "kind",
    [pytest.param(loky, marks=[LONG]), processes, pytest.param(dask, marks=[LONG])],
    ids=lambda k: k.__name__,
)
def test_ctrl_c_keeps_the_draws_and_the_run_goes_on(rng, tmp_path, kind, monkeypatch):
    monkeypatch.setattr(checkpoint, "pause", lambda run_time, cost: 0.2)
    seed, folder = seed_of(rng), tmp_path / "run"
    kernel = Traced(tmp_path, 3e-3)
    options = {**OPTIONS, "n_draws": 160, "checkpoint": folder}

    def stop():
        while not (folder / "record.json").exists() or min(checkpoint.steps_of(folder)[0]) < 30:
            time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=stop)
    with kind(2) as executor:
        thread.start()
        with pytest.warns(BayesMRFWarning, match=r"was stopped: \d+ of 160 draws"):
            draws = sample(kernel, random_state=seed, executor=executor, **options)
    thread.join()
    whole = sample(Walk(), random_state=seed, **{**OPTIONS, "n_draws": 160})
    assert 0 < draws.n_draws < 160
    assert np.array_equal(draws.values["x"], whole.values["x"][list(draws.chains), : draws.n_draws])
    assert equal(whole, sample(kernel, **options))


@pytest.mark.parametrize("kind", [threads, pytest.param(dask, marks=[LONG])], ids=lambda k: k.__name__)
def test_workers_of_another_version_are_refused(kind, monkeypatch):
    theirs, ours = workers.VERSIONS, "bayesmrf 9.9 on Python 3.99"

    class Relabelled(ThreadPoolExecutor):
        """Threads that were asked by another version."""

        def submit(self, function, versions, *rest):
            return super().submit(function, ours, *rest)

    with kind(1) as executor:
        if kind is threads:
            executor = Relabelled(1)
        else:
            monkeypatch.setattr(workers, "VERSIONS", ours)
        said = (
            f"(?m)^a worker on '.*' runs {theirs}, and this process {ours}; install the same versions for all workers$"
        )
        with pytest.raises(WorkerError, match=said):
            sample(Walk(), executor=executor, **OPTIONS)


@pytest.mark.parametrize("lost", [False, True])
def test_the_kernel_is_sent_once_for_each_chain_and_where_it_was_lost(rng, lost):
    sent = []

    class Counting(ThreadPoolExecutor):
        def submit(self, function, versions, key, kernel, *chain):
            sent.append(kernel is not None)
            if lost and len(sent) == 10:
                workers._kernels.clear()
            return super().submit(function, versions, key, kernel, *chain)

    seed = seed_of(rng)
    with Counting(1) as pool:
        draws = sample(slow(1e-3), random_state=seed, executor=pool, **OPTIONS)
    assert len(sent) > 12
    assert (sum(sent) > OPTIONS["n_chains"]) == lost
    assert equal(draws, sample(Walk(), random_state=seed, **OPTIONS))


@pytest.mark.parametrize("wrong", [4, "processes", ThreadPoolExecutor, object()])
def test_what_is_no_executor_is_refused(wrong):
    expected = r"executor must be a concurrent\.futures\.Executor or a dask\.distributed\.Client or None, got"
    with pytest.raises(OptionError, match=expected):
        sample(Walk(), executor=wrong, **OPTIONS)


def test_estimators_share_their_executor_with_clones(rng):
    X = rng.integers(0, 2, size=(60, 4))
    options = {"n_draws": 30, "n_warmup": 10, "n_chains": 2, "random_state": 1, "progress": False}
    here = SpikeSlabMRF(**options).fit(X)
    with processes(1) as pool:
        there = clone(SpikeSlabMRF(**options, executor=pool))
        assert there.executor is pool
        there.fit(X)
        again = pickle.loads(pickle.dumps(there))
    assert again.executor is None
    for tree in (there.posterior_, again.posterior_):
        assert tree["posterior"].equals(here.posterior_["posterior"])
