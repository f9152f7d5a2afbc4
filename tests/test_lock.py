"""Two runs never write into one folder; a run that was killed keeps nobody out."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import bayesmrf
from bayesmrf.errors import StoreError
from bayesmrf.runs import lock
from bayesmrf.runs.lock import hold
from bayesmrf.runs.run import sample
from tests.walks import OPTIONS, Walk, equal, seed_of, slow

ROOT = Path(__file__).parent.parent


def start(code, folder):
    """A process that holds a folder until it is killed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(bayesmrf.__file__).parent.parent)])}
    imports = "import time\nfrom pathlib import Path\nfrom bayesmrf.runs.lock import hold"
    code = f"{imports}\nfolder = Path({str(folder)!r})\n{code}"
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


HOLD = "with hold(folder):\n    print('held', flush=True)\n    time.sleep(60)"


def files(folder):
    return sorted(p.name for p in folder.iterdir())


def test_another_process_is_named_and_its_death_frees_the_folder(tmp_path):
    process = start(HOLD, tmp_path / "run")
    with pytest.raises(StoreError, match=rf"run is in use by process {process.pid} on this machine since 2.*; wait"):
        hold(tmp_path / "run").__enter__()
    assert len(files(tmp_path / "run")) == 1  # our own is taken back
    process.kill()
    process.wait()
    process.stdout.close()
    assert len(files(tmp_path / "run")) == 1  # a kill leaves it
    with hold(tmp_path / "run"):
        assert len(files(tmp_path / "run")) == 1
    assert files(tmp_path / "run") == []


def test_a_killed_process_that_nobody_waited_for_frees_the_folder(tmp_path):
    process = start(HOLD, tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while lock._started(process.pid) is not None and time.monotonic() < deadline:
        time.sleep(0.01)  # it is a zombie then
    with hold(tmp_path):
        pass
    process.wait()
    process.stdout.close()


def put(folder, **changes):
    """A lock file of another holder."""
    folder.mkdir(exist_ok=True)
    path = folder / f"bayesmrf-{changes.get('process', os.getpid())}-abc.lock"
    path.write_text(json.dumps({**lock._me(), **changes}))
    return path


@pytest.mark.parametrize("stale", [{"boot": "another"}, {"started": "1"}, {"process": 2**22 + 1}])
def test_locks_of_the_dead_are_taken_over(tmp_path, stale):
    """Of before the machine started, of a process whose number another has now, or of none."""
    if stale.get("process") and Path(f"/proc/{stale['process']}").exists():
        pytest.skip("that process exists")
    put(tmp_path / "run", **stale)
    with hold(tmp_path / "run"):
        assert len(files(tmp_path / "run")) == 1
    assert files(tmp_path / "run") == []


@pytest.mark.parametrize("other", [{"host": "node\x1b[31m7"}, {"machine": "another container"}])
def test_of_another_host_it_is_said_who_and_how_to_remove_it(tmp_path, other):
    path = put(tmp_path / "run", process=4711, **other)
    with pytest.raises(StoreError, match="in use by process 4711 on ") as caught:
        hold(tmp_path / "run").__enter__()
    assert str(path) in str(caught.value)
    assert "if it no longer runs, wait for 60 s, or remove" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert files(tmp_path / "run") == [path.name]


@pytest.mark.parametrize(("age", "taken"), [(lock.LEASE - 20, False), (lock.LEASE + 1, True)])
def test_of_another_host_a_lock_that_is_not_renewed_is_taken_over(tmp_path, age, taken):
    path = put(tmp_path, process=4711, host="node7")
    now = time.time()
    os.utime(path, (now - age, now - age))
    if taken:
        with hold(tmp_path) as mine:
            assert files(tmp_path) == [mine.name]
    else:
        with pytest.raises(StoreError, match="in use by process 4711 on 'node7'"):
            hold(tmp_path).__enter__()


def test_a_lock_is_renewed_while_it_is_held(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_BEAT", 0.01)
    with hold(tmp_path) as mine:
        os.utime(mine, (0, 0))
        deadline = time.monotonic() + 10
        while mine.stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert time.time() - mine.stat().st_mtime < 60
    deadline = time.monotonic() + 10
    while any(t.name == lock.RENEWING for t in threading.enumerate()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(t.name == lock.RENEWING for t in threading.enumerate())


def test_who_is_patient_gets_it_next(tmp_path):
    order = []

    def other():
        with hold(tmp_path, patience=30):
            order.append("other")

    with hold(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        time.sleep(0.3)
        order.append("mine")
    thread.join()
    assert order == ["mine", "other"]


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100_000, '{"host": 1}', "null"])
def test_files_that_no_process_wrote_keep_nobody_out(tmp_path, content):
    (tmp_path / "bayesmrf-1-ab.lock").write_text(content)
    (tmp_path / "poetry.lock").write_text("mine")
    with hold(tmp_path):
        assert len(files(tmp_path)) == 2
    assert files(tmp_path) == ["poetry.lock"]


def test_of_many_that_come_at_once_at_most_one_gets_in(tmp_path):
    """Whoever holds it writes alone; there is no moment between the look and the lock."""
    inside, most, got, refused = [0], [0], [0], [0]
    barrier, guard = threading.Barrier(8), threading.Lock()

    def come():
        for _ in range(5):
            barrier.wait()
            try:
                with hold(tmp_path):
                    with guard:
                        inside[0] += 1
                        most[0] = max(most[0], inside[0])
                    time.sleep(0.002)
                    with guard:
                        inside[0] -= 1
                        got[0] += 1
            except StoreError as e:
                assert "another run of this process" in str(e) or "another process" in str(e)  # noqa: PT017
                with guard:
                    refused[0] += 1

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert got[0] + refused[0] == 40
    assert got[0] >= 1
    assert files(tmp_path) == []


def test_two_runs_of_one_checkpoint(rng, tmp_path):
    """The second is refused in one sentence; the first ends as if nothing had been."""
    seed, run = seed_of(rng), tmp_path / "run"
    whole, found = sample(Walk(), random_state=seed, **OPTIONS), []
    first = threading.Thread(
        target=lambda: found.append(sample(slow(0.005), random_state=seed, checkpoint=run, **OPTIONS))
    )
    first.start()
    while not any((run / "checkpoint" / "chain_0").glob("*.json")):
        time.sleep(0.005)
    with pytest.raises(StoreError, match="run is in use by another run of this process"):
        sample(Walk(), random_state=seed, checkpoint=run, overwrite=True, **OPTIONS)
    first.join()
    assert equal(found[0], whole)
    assert not list(run.glob("*.lock"))
    assert equal(sample(Walk(), checkpoint=run, **OPTIONS), whole)


def test_where_nothing_can_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file" / "run", Path("/proc/run"), tmp_path / ("x" * 300)):
        with pytest.raises(StoreError, match="cannot be written"):
            hold(place).__enter__()

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(json, "dump", full)
    with pytest.raises(StoreError, match="No space left on device"):
        hold(tmp_path / "run").__enter__()
    assert files(tmp_path / "run") == []


def test_what_is_told_of_this_process():
    me = lock._me()
    assert me["host"] == socket.gethostname()
    assert lock._started(me["process"]) == me["started"]
    assert np.all([isinstance(me[name], str) for name in ("machine", "boot", "since")])
    assert lock._started(2**22 + 1) is None
