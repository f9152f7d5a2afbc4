"""The loop: the same draws for any number of workers, after any kill, and nothing lost when a run is stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pytest

import bayesmrf
from bayesmrf.errors import BayesMRFWarning, OptionError, StoreError
from bayesmrf.progress import track
from bayesmrf.runs import checkpoint, sealed
from bayesmrf.runs.run import sample, seed_sequence
from tests import ROOT
from tests.helpers.walks import OPTIONS, Drift, Fails, Walk, equal, fails, like, seed_of, slow


@pytest.fixture(autouse=True)
def chains_in_turn():
    """Chains in threads, one for each core."""


@pytest.fixture
def eager(monkeypatch):
    """Commit much more often than is good for speed."""
    monkeypatch.setattr(checkpoint, "pause", lambda run_time, cost: 0.003)


# The loop


def test_same_draws_for_any_number_of_workers(rng):
    seed = seed_of(rng)
    runs = [sample(Walk(), random_state=seed, n_jobs=n, **OPTIONS) for n in (1, 2, 4, None)]
    assert all(equal(runs[0], r) for r in runs)
    assert not equal(runs[0], sample(Walk(), random_state=seed + 1, **OPTIONS))
    x = runs[0].values["x"]
    assert not np.array_equal(x[0], x[1])


def test_chains_are_threads_whatever_joblib_runs_elsewhere(rng, tmp_path, eager):
    seed = seed_of(rng)
    here = sample(Walk(), random_state=seed, **OPTIONS)
    with joblib.parallel_config("loky", n_jobs=2):
        there = sample(Walk(), random_state=seed, checkpoint=tmp_path / "run", **OPTIONS)
    assert equal(here, there)
    assert equal(here, sample(Walk(), checkpoint=tmp_path / "run", **OPTIONS))


def test_warmup_and_thinning_choose_the_draws(rng):
    seed = seed_of(rng)
    every = sample(Walk(), random_state=seed, n_draws=60, n_chains=2, progress=False)
    some = sample(Walk(), random_state=seed, n_draws=10, n_warmup=9, thin=5, n_chains=2, progress=False)
    assert some.n_draws == 10
    assert some.n_chains == 2
    assert some.complete
    for name, v in every.values.items():
        assert np.array_equal(v[:, 9 + 4 : 9 + 50 : 5], some.values[name])
    assert some.values["groups"].shape == (2, 10, 4)
    assert some.values["groups"].dtype == np.int32
    assert some.values["odd"].dtype == bool


@pytest.mark.parametrize("wrong", [{"n_draws": 0}, {"n_warmup": -1}, {"thin": 0}, {"n_chains": 1.5}, {"n_jobs": 0}])
def test_numbers_out_of_range(wrong):
    with pytest.raises(OptionError, match=next(iter(wrong))):
        sample(Walk(), **{**OPTIONS, **wrong})


def test_a_kernel_that_breaks_its_word_is_refused(rng):
    class Cut(Walk):
        def step(self, rng, state):
            state, info = super().step(rng, state)
            return state, info._replace(n_groups=2 if state.steps < 20 else 2.5)

    class Unnamed(Walk):
        dims = {"x": (), "n_groups": ("edge",), "groups": ("edge",), "odd": ()}  # noqa: RUF012

    with pytest.raises(TypeError, match=r"n_groups is 2\.5 now"):
        sample(Cut(), random_state=1, **OPTIONS)
    with pytest.raises(TypeError, match="n_groups"):
        sample(Unnamed(), random_state=1, **OPTIONS)


def test_an_error_in_a_step_keeps_the_draws(rng, tmp_path, eager):
    seed = seed_of(rng)
    whole = sample(Walk(), random_state=seed, **OPTIONS)
    with pytest.raises(FloatingPointError, match="theta is not finite") as caught:
        sample(
            fails(67, FloatingPointError("theta is not finite")),
            random_state=seed,
            checkpoint=tmp_path / "run",
            n_jobs=3,
            **OPTIONS,
        )
    draws = caught.value.draws
    assert "failed in step 68 of 127" in caught.value.__notes__[0]
    assert not draws.complete
    assert 1 <= draws.n_draws <= 20
    for name, v in draws.values.items():
        assert np.array_equal(v, whole.values[name][list(draws.chains), : draws.n_draws])
    # With the cause mended (the kernel has the same name) the run goes on to the same end.
    assert equal(whole, sample(Fails(), checkpoint=tmp_path / "run", **OPTIONS))


# Interruption


def test_ctrl_c_in_a_thread_returns_the_draws(rng):
    seed = seed_of(rng)
    whole = sample(Walk(), random_state=seed, **OPTIONS)
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.warns(BayesMRFWarning, match=r"was stopped: \d+ of 100000"):
        draws = sample(slow(1e-3), random_state=seed, **{**OPTIONS, "n_draws": 100_000, "n_jobs": 3})
    assert not draws.complete
    assert draws.n_chains == 3
    n = min(40, draws.n_draws)
    assert n > 0
    assert np.array_equal(draws.values["x"][:, :n], whole.values["x"][:, :n])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupted_one_after_the_other_keeps_whole_chains(rng):
    seed = seed_of(rng)
    whole = sample(Walk(), random_state=seed, **OPTIONS)

    class Second(Walk):
        n = 0

        def step(self, rng, state):
            Second.n += 1
            if Second.n == 127 + 20:
                raise KeyboardInterrupt
            return super().step(rng, state)

    with pytest.warns(BayesMRFWarning, match="40 of 40 draws of 1 of 3 chains"):
        draws = sample(Second(), random_state=seed, n_jobs=1, **OPTIONS)
    assert draws.chains == (0,)
    assert np.array_equal(draws.values["x"][0], whole.values["x"][0])
    with pytest.raises(KeyboardInterrupt, match="before the first draw"):
        sample(fails(3, KeyboardInterrupt()), n_jobs=1, **OPTIONS)


# Killing

CHILD = """
import sys
from bayesmrf.runs import checkpoint
from bayesmrf.runs.run import sample
from tests.helpers.walks import slow
pause = float(sys.argv[3])
checkpoint.pause = lambda run_time, cost: pause
draws = sample(slow(5e-4), n_draws=300, n_warmup=50, thin=2, n_chains=3, progress=False, checkpoint=sys.argv[1],
               random_state=int(sys.argv[2]), n_jobs=3)
print("draws", draws.n_draws, draws.complete)
"""


def child(folder, seed, pause):
    command = [sys.executable, "-c", CHILD, str(folder), str(seed), str(pause)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(bayesmrf.__file__).parent.parent)])}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for(folder, process):
    """Wait until the run of a process has begun."""
    while not checkpoint.committed(folder / "checkpoint" / "chain_0"):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.005)


LONG = {"n_draws": 300, "n_warmup": 50, "thin": 2, "n_chains": 3, "progress": False}


@pytest.mark.parametrize("pause", [0.0, 0.05])
def test_killed_again_and_again_is_the_same_run(rng, tmp_path, pause):
    seed, folder, seen = seed_of(rng), tmp_path / "run", [0]
    while len(seen) < 5 or (seen[-1] == 0 and len(seen) < 30):
        process = child(folder, seed, pause)
        wait_for(folder, process)
        # A new run commits within this time often, and is killed while it writes as well as while it draws. On a busy
        # machine it may need longer.
        time.sleep(rng.uniform(0.3 if len(seen) > 1 else 0, 1.2) * max(1, len(seen) - 4))
        process.kill()
        process.communicate()
        seen.append(min(checkpoint.steps_of(folder)[0]))
    assert seen == sorted(seen)
    assert seen[-1] > 0
    assert equal(sample(Walk(), random_state=seed, **LONG), sample(Walk(), checkpoint=folder, **LONG))


def test_without_its_generator_a_resumed_run_differs(rng, tmp_path, monkeypatch):
    """Negative control: the comparison sees a generator that was not restored."""
    folder = tmp_path / "run"
    seed = stopped(folder, rng)
    shutil.copytree(folder, tmp_path / "copy")
    load = checkpoint.ChainStore.load

    def forgetful(self):
        position = load(self)
        return position and position._replace(generator=np.array(position.generator) ^ np.uint64(2))

    monkeypatch.setattr(checkpoint.ChainStore, "load", forgetful)
    resumed = sample(Fails(), checkpoint=folder, **OPTIONS)
    whole = sample(Walk(), random_state=seed, **OPTIONS)
    assert not equal(resumed, whole)
    assert np.array_equal(resumed.values["x"][0, :6], whole.values["x"][0, :6])  # 25 steps leave (25 - 7) // 3 draws
    monkeypatch.undo()
    assert equal(whole, sample(Fails(), checkpoint=tmp_path / "copy", **OPTIONS))


def test_sigint_to_a_process_returns_draws_and_the_run_goes_on(rng, tmp_path):
    seed, folder = seed_of(rng), tmp_path / "run"
    process = child(folder, seed, 0.05)
    wait_for(folder, process)
    time.sleep(0.4)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "was stopped" in err
    assert "Traceback" not in err
    n, complete = out.split()[1:]
    assert complete == "False"
    records = [sealed.read_record(checkpoint.committed(p)) for p in (folder / "checkpoint").iterdir()]
    kept = [(record["steps"] - LONG["n_warmup"]) // LONG["thin"] for record in records]
    assert 0 < int(n) < 300
    assert int(n) in kept  # a chain that the others left far behind is not part of the block returned
    assert equal(sample(Walk(), random_state=seed, **LONG), sample(Walk(), checkpoint=folder, **LONG))


# The store


def stopped(folder, rng):
    """Leave a checkpoint of many commits whose chain 0 is unfinished; return its seed."""
    seed = seed_of(rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "pause", lambda run_time, cost: 0.0)
        with pytest.raises(ValueError, match="stop"):
            sample(fails(25, ValueError("stop")), random_state=seed, checkpoint=folder, n_jobs=1, **OPTIONS)
    return seed


def test_a_finished_checkpoint_is_not_sampled_again_but_extended(rng, tmp_path):
    seed, folder = seed_of(rng), tmp_path / "run"
    first = sample(Walk(), random_state=seed, checkpoint=folder, **OPTIONS)

    def step(self, rng, state):
        raise AssertionError("sampled")

    again = sample(like(Walk, step=step), checkpoint=folder, **OPTIONS)
    assert equal(first, again)
    assert again.complete
    assert again.run_time == pytest.approx(first.run_time, abs=0.5)
    assert again.seed == first.seed
    longer = {**OPTIONS, "n_draws": 55}
    assert equal(sample(Walk(), random_state=seed, **longer), sample(Walk(), checkpoint=folder, **longer))
    with pytest.raises(StoreError, match="n_draws is 40, was 55 in the stored run"):
        sample(Walk(), checkpoint=folder, **OPTIONS)


def test_arrays_that_become_small_are_packed(rng, tmp_path):
    dense = rng.normal(size=(500, 40))
    arrays = {"dense": dense, "sparse": np.where(rng.random((500, 40)) < 0.05, dense, 0), "order": dense.T, "self": 3.0}
    sizes = {}
    for name, a in arrays.items():
        digest = sealed.write_arrays(tmp_path / name, {name: np.asarray(a), "file": np.zeros((0, 2))})
        found, sizes[name] = sealed.read_arrays(tmp_path / name, digest), (tmp_path / name).stat().st_size
        assert np.array_equal(found[name], a)
        assert found[name].flags.f_contiguous == np.asarray(a).flags.f_contiguous
        assert found["file"].shape == (0, 2)
    assert sizes["sparse"] < dense.nbytes / 5
    assert dense.nbytes < sizes["dense"] < dense.nbytes + 1000


def test_the_store_is_plain_arrays_and_json(rng, tmp_path):
    stopped(tmp_path / "run", rng)
    found = {}
    for path in (tmp_path / "run" / "checkpoint" / "chain_0").glob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            found |= {f"{path.stem[11:]} {name}": arrays[name].dtype.kind for name in arrays.files}
    assert {"draws-0 groups", "draws-5 x", "state-0 generator", "state-1 state.table"} <= set(found)
    assert set("".join(found.values())) <= set("biuf")
    suffixes = {p.suffix for p in (tmp_path / "run").rglob("*") if p.is_file()}
    assert suffixes == {".json", ".npz", ".claim"}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"n_chains": 2}, "n_chains is 2, was 3 in the stored run"),
        ({"n_warmup": 8}, "n_warmup is 8"),
        ({"thin": 2}, "thin is 2"),
        ({"n_draws": 39}, "n_draws is 39"),
        ({"random_state": 77}, "seed is"),
        ({"kernel": Drift(1, 2.0)}, r"alpha is 2\.0, was 1\.0 in the stored run"),
        ({"kernel": Drift(2, 1.0), "thin": 2}, "data is 2, was 1 in the stored run"),
        ({"kernel": Walk()}, "kernel is 'walk', was 'drift'"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change, named):
    options = {"kernel": Drift(1, 1.0), **OPTIONS, "checkpoint": tmp_path / "run", "random_state": 76}
    sample(**options)
    before = contents(tmp_path / "run")
    with pytest.raises(StoreError, match=named) as caught:
        sample(**{**options, **change})
    assert "another path" in str(caught.value)
    assert "Checkpoint(path, overwrite=True)" in str(caught.value)
    assert contents(tmp_path / "run") == before
    assert sample(**{**options, **change, "overwrite": True}).complete


@pytest.mark.parametrize("other", ["chain", "run"])
def test_a_folder_of_another_chain_or_run_is_refused(rng, tmp_path, other):
    """Each commit says whose it is."""
    run, chains = tmp_path / "run", tmp_path / "run" / "checkpoint"
    stopped(run, rng)
    sample(Fails(), checkpoint=run, **OPTIONS)
    if other == "run":
        stopped(tmp_path / "other", rng)
        shutil.rmtree(chains / "chain_0")
        shutil.copytree(tmp_path / "other" / "checkpoint" / "chain_0", chains / "chain_0")
    else:
        (chains / "chain_0").rename(chains / "x")
        (chains / "chain_1").rename(chains / "chain_0")
        (chains / "x").rename(chains / "chain_1")
    with pytest.raises(StoreError, match="chain_0 is damaged: its commits belong to another chain or run"):
        sample(Fails(), checkpoint=run, **OPTIONS)


def test_going_on_is_said_after_the_identity_was_checked(rng, tmp_path, caplog):
    stopped(tmp_path / "run", rng)
    with caplog.at_level("INFO", "bayesmrf"), pytest.raises(StoreError, match="belongs to another run"):
        sample(Walk(), checkpoint=tmp_path / "run", **OPTIONS)
    assert not caplog.records
    with caplog.at_level("INFO", "bayesmrf"):
        sample(Fails(), checkpoint=tmp_path / "run", **OPTIONS)
    assert "continuing, its chains have at least 0 of 40 draws" in caplog.text


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("damage", ["cut", "empty", "flip", "remove"])
def test_damage_is_an_error_or_does_no_harm(rng, tmp_path, damage):
    """Whatever file is damaged: the same draws as ever, or a StoreError."""
    folder, copy = tmp_path / "run", tmp_path / "copy"
    seed = stopped(folder, rng)
    files = contents(folder)
    whole = sample(Walk(), random_state=seed, **OPTIONS)
    outcomes = {"same": 0, "error": 0}
    record = sealed.read_record(checkpoint.committed(folder / "checkpoint" / "chain_0"))
    some = [p for p in files if p.name in (record["state"][0], record["draws"][3][0]) or p.suffix == ".json"]
    for name in some:
        for p, content in files.items():
            (copy / p).parent.mkdir(parents=True, exist_ok=True)
            (copy / p).write_bytes(content)
        content = files[name]
        at = int(rng.integers(len(content)))
        new = {"cut": content[:at], "empty": b"", "flip": content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]}
        if damage == "remove":
            (copy / name).unlink()
        else:
            (copy / name).write_bytes(new[damage])
        try:
            assert equal(whole, sample(Fails(), checkpoint=copy, **OPTIONS)), name
            outcomes["same"] += 1
        except StoreError as e:
            assert str(copy) in str(e)  # noqa: PT017
            assert "another path" in str(e)  # noqa: PT017
            outcomes["error"] += 1
        shutil.rmtree(copy)
    assert outcomes["error"] > len(some) / 3, outcomes


def test_a_damaged_checkpoint_can_be_overwritten(rng, tmp_path):
    stopped(tmp_path / "run", rng)
    record = checkpoint.committed(tmp_path / "run" / "checkpoint" / "chain_0")
    record.write_bytes(record.read_bytes()[:-40])
    with pytest.raises(StoreError, match=r"chain_0/1-.*\.json is damaged"):
        sample(Fails(), checkpoint=tmp_path / "run", **OPTIONS)
    assert sample(Walk(), checkpoint=tmp_path / "run", overwrite=True, **OPTIONS).complete


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("foreign", ["notes.txt", "record.json", "zarr.json", "sub/record.json"])
def test_foreign_folders_are_left_alone(tmp_path, overwrite, foreign):
    place = tmp_path / "thesis" / foreign
    place.parent.mkdir(parents=True)
    place.write_text(json.dumps({"settings": {}}))
    before = contents(tmp_path)
    with pytest.raises(StoreError, match="not a store of bayesmrf"):
        sample(Walk(), checkpoint=tmp_path / "thesis", overwrite=overwrite, **OPTIONS)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("where", ["file", "file/run", "/proc/run"])
def test_unwritable_places_are_found_before_sampling(tmp_path, where):
    class Never(Walk):
        def init(self, rng):
            raise AssertionError("sampled")

    (tmp_path / "file").write_text("here already")
    with pytest.raises(StoreError, match=where):
        sample(Never(), checkpoint=tmp_path / where, overwrite=True, **OPTIONS)
    assert (tmp_path / "file").read_text() == "here already"


def test_the_seed_of_a_checkpoint_serves_its_caller_too(rng, tmp_path):
    """A caller that draws from a child of the seed before the chains do, as an estimator does."""

    def fit(random_state, **options):
        seeds = seed_sequence(random_state, options.get("checkpoint"))
        before = np.random.default_rng(seeds.spawn(1)[0]).random()
        return before, sample(Walk(), random_state=seeds, **OPTIONS, **options)

    before, first = fit(None, checkpoint=tmp_path / "run")
    again, second = fit(None, checkpoint=tmp_path / "run")
    assert before == again
    assert equal(first, second)
    assert fit(None)[0] != before
    assert equal(first, fit(first.seed["entropy"])[1])


def test_empty_folders_may_be_used(tmp_path):
    assert sample(Walk(), checkpoint=tmp_path, **OPTIONS).complete


def test_a_state_that_cannot_be_kept_is_refused_at_once(tmp_path):
    class Odd(Walk):
        __module__ = Walk.__module__  # where the class of the State is

        def init(self, rng):
            return super().init(rng)._replace(label=object())

    with pytest.raises(TypeError, match=r"state\.label: a object cannot be kept"):
        sample(Odd(), checkpoint=tmp_path / "run", **OPTIONS)


# Progress


def test_progress_is_silent_without_a_terminal(capfd, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    sample(Walk(), **{**OPTIONS, "progress": True})
    assert list(track(range(3), "papers")) == [0, 1, 2]
    assert capfd.readouterr() == ("", "")


def test_progress_shows_each_chain(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "150")
    sample(slow(2e-3), **{**OPTIONS, "progress": True})
    assert list(track(range(3), "papers")) == [0, 1, 2]
    out, err = capfd.readouterr()
    assert out == ""
    for shown in ("chain 0", "chain 2", "n_groups=", "127/127", "papers", "/s"):
        assert shown in err
    sample(Walk(), **OPTIONS)
    list(track(range(3), "papers", progress=False))
    assert capfd.readouterr().err == ""
