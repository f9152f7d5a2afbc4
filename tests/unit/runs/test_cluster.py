"""Tasks that run one chain each in one folder: the draws of one process, and no two writers of one chain."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from filelock import SoftFileLease

import bayesmrf
from bayesmrf import SpikeSlabMRF
from bayesmrf.errors import BayesMRFWarning, OptionError, StoreError
from bayesmrf.results import load
from bayesmrf.runs import checkpoint, lock
from bayesmrf.runs.run import sample
from bayesmrf.runs.store import Checkpoint
from tests import ROOT
from tests.helpers.commands import one_sentence, stopped_by
from tests.helpers.walks import OPTIONS, Walk, equal, like, seed_of
from tests.long import LONG

TASK = """
import sys
from bayesmrf.runs import checkpoint, lock
from bayesmrf.runs.run import sample
from bayesmrf.runs.store import Checkpoint
from tests.helpers.walks import slow
checkpoint.pause = lambda run_time, cost: 0.05
folder, seed, chain, n_draws, seconds = sys.argv[1:]
sample(slow(float(seconds)), n_draws=int(n_draws), n_warmup=50, thin=2, n_chains=3, progress=False,
       random_state=int(seed), checkpoint=Checkpoint(folder, chain=int(chain)))
"""
LEASES = {"LEASE": 1.0, "_BEAT": 0.1, "_OBSERVED": 3.0}
LONGER = {"n_warmup": 50, "thin": 2, "n_chains": 3, "progress": False}


def task(folder, seed, chain, n_draws, seconds, before=""):
    """A process that runs one chain, with a pause before each step."""
    paths = [str(ROOT), str(Path(bayesmrf.__file__).parent.parent)]
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            TASK.replace("folder, seed", f"{before}\nfolder, seed", 1),
            *map(str, (folder, seed, chain, n_draws, seconds)),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stderr=subprocess.PIPE,
        text=True,
    )


def test_chains_run_one_by_one_are_those_of_one_run(rng, tmp_path):
    seed, folder = seed_of(rng), tmp_path / "run"
    whole = sample(Walk(), random_state=seed, **OPTIONS)
    for chain in (2, 0, 1):
        draws = sample(Walk(), random_state=seed, checkpoint=Checkpoint(folder, chain=chain), **OPTIONS)
        assert draws.chains == (chain,)
        assert not draws.complete
        assert np.array_equal(draws.values["x"][0], whole.values["x"][chain])
    assert equal(whole, sample(Walk(), checkpoint=folder, **OPTIONS))


@LONG
def test_tasks_killed_at_random_lose_and_change_nothing(rng, tmp_path):
    seed, folder, n_draws = seed_of(rng), tmp_path / "run", 20_000
    running = {chain: task(folder, seed, chain, n_draws, 0.02) for chain in range(3)}
    steps = [0, 0, 0]

    def kill(chain):
        """Kill the task of a chain that it has locked, and check that nothing committed is lost."""
        locked = SoftFileLease(folder / "checkpoint" / f"chain_{chain}" / lock._NAME)
        while locked.pid != running[chain].pid:
            assert running[chain].poll() is None, running[chain].communicate()[1]
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 1))
        running[chain].kill()
        running[chain].communicate()
        assert running[chain].returncode == -signal.SIGKILL
        now = checkpoint.steps_of(folder)[0]
        assert all(n >= m for n, m in zip(now, steps, strict=True))
        steps[:] = now

    for _ in range(100):
        chain = int(rng.integers(3))
        kill(chain)
        running[chain] = task(folder, seed, chain, n_draws, 0.02)  # submitted again
    for chain in running:
        kill(chain)
        running[chain] = task(folder, seed, chain, n_draws, 0)
    for process in running.values():
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    assert all(0 < n < 50 + 2 * n_draws for n in steps)
    assert checkpoint.steps_of(folder)[0] == [50 + 2 * n_draws] * 3
    options = {**LONGER, "n_draws": n_draws}
    assert equal(sample(Walk(), checkpoint=folder, **options), sample(Walk(), random_state=seed, **options))


def test_one_writer_a_chain(rng, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "LEASE", 0.1)  # the patience of a task
    seed, folder = seed_of(rng), tmp_path / "run"
    again = {"random_state": seed, **OPTIONS}
    others = threading.Event()

    def step(self, rng, state):  # a late one waits for the others
        if state.steps == 100:
            others.wait(60)
        return Walk.step(self, rng, state)

    held = like(Walk, step=step)
    first = threading.Thread(target=lambda: sample(held, checkpoint=Checkpoint(folder, chain=0), **again))
    first.start()
    while not any((folder / "checkpoint" / "chain_0").glob("*.json")):
        time.sleep(0.005)
    for more in ({"checkpoint": Checkpoint(folder, chain=0)}, {"checkpoint": folder}):
        with pytest.raises(StoreError, match="chain_0 is in use by another run of this process"):
            sample(Walk(), **more, **again)
    with pytest.raises(StoreError, match="chain_0 is in use by another run of this process"):
        sample(Walk(), checkpoint=Checkpoint(folder, overwrite=True), **again)
    sample(Walk(), checkpoint=Checkpoint(folder, chain=1), **again)  # meanwhile
    assert first.is_alive()
    others.set()
    first.join()
    assert equal(sample(Walk(), checkpoint=folder, **OPTIONS), sample(Walk(), **again))
    with lock.hold(folder), pytest.raises(StoreError, match="run is in use by another run of this process"):
        sample(Walk(), checkpoint=Checkpoint(folder, chain=2), **again)


@pytest.mark.parametrize("asleep", ["between commits", "within a commit", "overwritten"])
def test_a_holder_that_slept_while_its_chain_was_taken_over(rng, tmp_path, monkeypatch, asleep):
    """It sleeps in step 30; its lock is lost; another process makes the chain; it wakes up, and stops."""
    seed, folder, sleeping, awake = seed_of(rng), tmp_path / "run", threading.Event(), threading.Event()
    monkeypatch.setattr(checkpoint, "pause", lambda run_time, cost: 0.0)
    whole, errors = sample(Walk(), random_state=seed, **OPTIONS), []

    def sleep(when):
        if when and not sleeping.is_set():
            sleeping.set()
            assert awake.wait(60)

    def step(self, rng, state):
        sleep(asleep != "within a commit" and state.steps == 30)
        return Walk.step(self, rng, state)

    def write(file, record):  # between the check of the claim and the record
        sleep(asleep == "within a commit" and record.get("steps") == 30)
        write_record(file, record)

    def first():
        try:
            sample(like(Walk, step=step), random_state=seed, checkpoint=Checkpoint(folder, chain=1), **OPTIONS)
        except StoreError as e:
            errors.append(str(e))

    write_record = checkpoint.write_record
    monkeypatch.setattr(checkpoint, "write_record", write)
    thread = threading.Thread(target=first)
    thread.start()
    assert sleeping.wait(60)
    for path in folder.rglob("*.lock"):
        path.unlink()
    others = {"checkpoint": Checkpoint(folder, overwrite=asleep == "overwritten"), "random_state": seed}
    assert equal(whole, sample(Walk(), **others, **OPTIONS))
    n_steps = checkpoint.steps_of(folder)[0]
    awake.set()
    thread.join()
    assert len(errors) == 1
    assert "chain_1 was taken over by another process" in errors[0]
    assert checkpoint.steps_of(folder)[0] == n_steps
    assert equal(whole, sample(Walk(), checkpoint=folder, **OPTIONS))


def test_a_stopped_process_wakes_up_after_its_lease_was_taken_over(rng, tmp_path, monkeypatch):
    """Its machine was suspended, say."""
    for name, value in LEASES.items():
        monkeypatch.setattr(lock, name, value)
    seed, folder = seed_of(rng), tmp_path / "run"
    sleeper = task(folder, seed, 0, 300, 0.02, f"vars(lock).update({LEASES})")
    while not any((folder / "checkpoint" / "chain_0").glob("*.json")):
        assert sleeper.poll() is None, sleeper.communicate()[1]
        time.sleep(0.01)
    sleeper.send_signal(signal.SIGSTOP)
    options = {"random_state": seed, **LONGER, "n_draws": 300}
    assert sample(Walk(), checkpoint=Checkpoint(folder, chain=0), **options).n_draws == 300
    n_steps = checkpoint.steps_of(folder)[0]
    sleeper.send_signal(signal.SIGCONT)
    _, err = sleeper.communicate(timeout=60)
    assert sleeper.returncode == 1
    assert "chain_0 was taken over by another process" in err
    assert checkpoint.steps_of(folder)[0] == n_steps
    assert equal(sample(Walk(), checkpoint=folder, **options), sample(Walk(), **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chain": 3}, "chain must be an integer from 0 to 2, got 3"),
        ({"chain": 1, "overwrite": True}, "chain=1 does not support overwrite=True; remove the folder"),
    ],
)
def test_what_cannot_be_asked_of_one_chain(tmp_path, options, message):
    with pytest.raises(OptionError, match=message):
        sample(Walk(), checkpoint=Checkpoint(tmp_path / "run", **options), **OPTIONS)
    assert not (tmp_path / "run").exists()


def test_estimators_without_a_seed_share_one(rng, tmp_path):
    X = rng.integers(0, 2, size=(50, 4))
    options = {"n_draws": 30, "n_warmup": 10, "n_chains": 2, "progress": False}
    for chain in range(2):
        SpikeSlabMRF(**options, checkpoint=Checkpoint(tmp_path / "run", chain=chain)).fit(X)
    joined = SpikeSlabMRF(**options, checkpoint=tmp_path / "run").fit(X).posterior_
    assert joined["posterior"].equals(SpikeSlabMRF(**options, random_state=0).fit(X).posterior_["posterior"])


# The command line

SHORT = ["--n-draws", "60", "--n-warmup", "20", "--n-chains", "3"]


@pytest.fixture
def given(bayesmrf):
    return bayesmrf


@pytest.fixture
def table(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("answers.csv", rng.integers(0, 2, (80, 4)), fmt="%d", delimiter=",", header="a,b,c,d", comments="")
    return "answers.csv"


@pytest.mark.parametrize("command", ["structure", "posterior", "groups"])
def test_tasks_of_a_job_array_are_collected(command, table, given):
    graph = ["--graph", "complete"] if command == "groups" else []
    arguments = [command, table, *graph, *SHORT, "--out", "run"]
    for chain in ("2", "0"):
        code, out, _ = given(*arguments, f"--chain={chain}")
        assert code == 0
        assert f"Chain {chain} of run is complete; not yet complete: " in out
    one_sentence(given("collect", "run"), r"not complete: chain 1 has not begun; .* by --array=1\.$")
    code, out, _ = given(*arguments, "--chain", "1")
    assert "Chain 1 of run is complete\n" in out
    shutil.copytree("run", "moved_run")
    shutil.copy(table, "kept.csv")
    (1 - pd.read_csv(table)).to_csv(table, index=False)
    one_sentence(given("collect", "moved_run"), "the data differ from .*; collect where the table is as the tasks re")
    shutil.copy("kept.csv", table)
    code, out, _ = given("collect", "moved_run")
    assert code == 0
    assert "The result is in moved_run" in out
    assert "moved_run holds the result already" in given("collect", "moved_run")[1]
    code, *_ = given(*arguments[:-1], "whole_run", "--seed", "0")
    assert load("moved_run")["posterior"].equals(load("whole_run")["posterior"])
    assert load("moved_run").attrs["command"] == f"bayesmrf {' '.join(arguments)}"


def test_a_killed_task_goes_on(table, given):
    arguments = ["structure", table, *SHORT, "--n-chains", "1", "--n-draws", "1000", "--out", "run"]
    code, _, err = stopped_by(signal.SIGKILL, [*arguments, "--chain", "0"], "run", Path.cwd())
    assert code == -signal.SIGKILL, err
    one_sentence(given("collect", "run"), r"chain 0 has [\d,]+ of 1,000 draws; .* --array=0\.$")
    assert given(*arguments, "--chain", "0")[0] == 0
    assert given("collect", "run")[0] == 0
    assert given(*arguments[:-1], "whole_run", "--seed", "0")[0] == 0
    assert load("run")["posterior"].equals(load("whole_run")["posterior"])


def test_tasks_of_models_are_joined(table, given):
    arguments = ["evidence", table, "--hidden", "1:3"]
    for task in ("2", "0"):
        assert given(*arguments, "--out", "models", "--task", task)[0] == 0
    with lock.hold(Path("models/model_3")):
        one_sentence(given(*arguments, "--out", "models"), "model_3 is in use by another run of this process")
    assert not Path("models/evidence.jsonl").exists()
    one_sentence(
        given("collect", "models"), "models has models and not chains; give the command of evidence without --task"
    )
    code, out, _ = given(*arguments, "--out", "models")
    assert code == 0
    assert "models contains 2 finished results, which are kept" in out
    assert given(*arguments, "--out", "whole", "--seed", "0")[0] == 0
    assert values("models") == values("whole")
    assert len(values("models")) == 3
    one_sentence(
        given(*arguments, "--out", "models", "--task", "0", "--seed", "1"), "other data, options or another seed"
    )
    assert given(*arguments, "--out", "models", "--seed", "1", "--overwrite")[0] == 0
    assert not [*Path("models").glob("model_*")]
    assert values("models") != values("whole")


def values(folder):
    """What was computed, without seconds."""
    text = (Path(folder) / "evidence.jsonl").read_text()
    return sorted(re.findall(r'"model".*?"log_evidence": [-.\d]+', text))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["structure", "answers.csv", "--chain", "4"], "--chain must be an integer from 0 to 3, got 4"),
        (["structure", "answers.csv", "--chain", "1", "--overwrite"], "--chain 1 does not support --overwrite"),
        (["evidence", "answers.csv", "--hidden", "1:3", "--task", "3"], "--task must be an integer from 0 to 2, got 3"),
        (
            ["evidence", "answers.csv", "--hidden", "1", "--task", "0", "--overwrite"],
            "--task 0 does not support --overw",
        ),
        (["collect", "nothing_run"], "nothing_run is not there; give the folder that the tasks have as --out"),
    ],
)
def test_what_cannot_be_asked_of_tasks(table, given, arguments, message):
    one_sentence(given(*arguments), message)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.PriorWarning")  # of some short chains
def test_a_run_of_python_is_not_collected_by_a_command(table, given):
    with pytest.warns(BayesMRFWarning, match="Not converged|not converged"):
        SpikeSlabMRF(n_draws=30, n_warmup=10, progress=False, checkpoint="run").fit(np.eye(4, dtype=int))
    one_sentence(given("collect", "run"), r"was not made by a command; call fit with checkpoint='run'")


def test_without_dask_or_a_scheduler_there_is_one_sentence(table, given, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "distributed", None)
        one_sentence(given("structure", table, "--cluster", "tcp://127.0.0.1:9"), r"--cluster needs dask.distributed; ")
    pytest.importorskip("distributed")
    monkeypatch.setattr("bayesmrf.runs.workers.CONNECT", 1)
    for address in ("tcp://127.0.0.1:9", "nowhere:at:all"):
        found = given("structure", table, "--cluster", address)
        one_sentence(found, f"--cluster must be the address of a dask scheduler that .* got {re.escape(repr(address))}")


@LONG
def test_a_command_on_a_cluster(table, given):
    distributed, here = pytest.importorskip("distributed"), "127.0.0.1"
    arguments = ["structure", table, *SHORT, "--seed", "1"]
    models = ["evidence", table, "--hidden", "1:3", "--seed", "1"]
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host=here, dashboard_address="127.0.0.1:0"
    ) as cluster:
        assert given(*arguments, "--out", "there_run", "--cluster", cluster.scheduler_address)[0] == 0
        assert given(*models, "--out", "there", "--cluster", cluster.scheduler_address)[0] == 0
    assert given(*arguments, "--out", "here_run")[0] == 0
    assert load("there_run")["posterior"].equals(load("here_run")["posterior"])
    assert given(*models, "--out", "here")[0] == 0
    assert values("there") == values("here")
    assert len(values("here")) == 3


def test_the_script_of_the_page(rng, tmp_path):
    """Two of its tasks, at the same time and without SLURM; the second is killed and submitted again."""
    script = re.search(r"^```bash\n(#!/bin/bash\n.*?)^```$", (ROOT / "docs/cluster.md").read_text(), re.M | re.S)[1]
    (tmp_path / "answers.sh").write_text(script)
    np.savetxt(tmp_path / "answers.csv", rng.integers(0, 2, (80, 4)), "%d", ",", header="a,b,c,d", comments="")

    def submit(chain):
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(chain)}
        environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
        command = ["bash", "answers.sh"]
        return subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, start_new_session=True)

    tasks = {chain: submit(chain) for chain in (0, 2)}
    while not any((tmp_path / "run" / "checkpoint" / "chain_2").glob("*.json")):
        assert tasks[2].poll() is None
        time.sleep(0.01)
    os.killpg(tasks[2].pid, signal.SIGKILL)
    tasks[2].communicate()
    tasks[2] = submit(2)
    for process in tasks.values():
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    assert checkpoint.steps_of(tmp_path / "run")[0] == [500 + 1221, 0, 500 + 1221, 0]
