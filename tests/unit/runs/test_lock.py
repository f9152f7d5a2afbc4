"""Two runs never write into one folder; a run that was killed keeps nobody out."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import bayesmrf
from bayesmrf.errors import StoreError
from bayesmrf.runs import lock
from bayesmrf.runs.lock import hold
from bayesmrf.runs.run import sample
from tests import ROOT
from tests.helpers.walks import OPTIONS, Walk, equal, seed_of, slow


def start(code, folder):
    """A process that holds a folder until it is killed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(bayesmrf.__file__).parent.parent)])}
    code = (
        f"import time\nfrom pathlib import Path\nfrom bayesmrf.runs import lock\nfolder = Path({str(folder)!r})\n{code}"
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    return process


HOLD = "with lock.hold(folder):\n    print('held', flush=True)\n    time.sleep(60)"


def files(folder):
    return sorted(p.name for p in folder.iterdir())


def test_another_process_is_named_and_its_death_frees_the_folder(tmp_path):
    process = start(HOLD, tmp_path / "run")
    with pytest.raises(StoreError, match=rf"run is in use by process {process.pid} on this machine; wait"):
        hold(tmp_path / "run").__enter__()
    assert len(files(tmp_path / "run")) == 1  # our own is taken back
    process.kill()
    process.wait()
    process.stdout.close()
    assert len(files(tmp_path / "run")) == 1  # a kill leaves it
    with hold(tmp_path / "run"):
        assert len(files(tmp_path / "run")) == 1
    assert files(tmp_path / "run") == []


@pytest.fixture
def short(monkeypatch):
    """Leases that end after a second."""
    for name, value in {"LEASE": 1.0, "_BEAT": 0.1, "_OBSERVED": 3.0}.items():
        monkeypatch.setattr(lock, name, value)


def test_a_killed_process_that_nobody_waited_for_frees_the_folder_when_its_lease_ends(tmp_path, short):
    process = start(f"lock.LEASE, lock._BEAT = 1.0, 0.1\n{HOLD}", tmp_path)
    os.kill(process.pid, signal.SIGKILL)  # it is a zombie then
    with pytest.raises(StoreError, match=f"process {process.pid} on this machine; .* call again in a minute"):
        hold(tmp_path).__enter__()
    time.sleep(1.1)
    with hold(tmp_path):
        pass
    process.wait()
    process.stdout.close()


def put(folder, content=None, age=0.0, **changes):
    """A lock file of another holder."""
    folder.mkdir(exist_ok=True)
    path = folder / lock._NAME
    if content is None:
        about = {"pid": os.getpid(), "host": socket.gethostname(), "mode": "lease", "token": "ab"}
        about |= {"duration": lock.LEASE, **changes}
        content = "filelock/2\n" + "".join(f"{name}={value}\n" for name, value in about.items())
    path.write_text(content)
    os.utime(path, (time.time() - age,) * 2)
    return path


@pytest.mark.parametrize("stale", [{"start": 1}, {"pid": 2**22 + 1}])
def test_locks_of_the_dead_are_taken_over(tmp_path, stale):
    """Of a process whose number another has now, or of none."""
    if stale.get("pid") and Path(f"/proc/{stale['pid']}").exists():
        pytest.skip("that process exists")
    put(tmp_path / "run", **stale)
    with hold(tmp_path / "run"):
        assert len(files(tmp_path / "run")) == 1
    assert files(tmp_path / "run") == []


@pytest.mark.parametrize(
    ("host", "shown"), [("node\x1b[31m7", r"'node\\x1b\[31m7'"), ("node7?pidns-f0000001", "'node7'")]
)
def test_of_another_host_it_is_said_who_and_how_to_remove_it(tmp_path, host, shown):
    path = put(tmp_path / "run", pid=4711, host=host)
    with pytest.raises(StoreError, match=f"in use by process 4711 on {shown}; wait") as caught:
        hold(tmp_path / "run").__enter__()
    assert f"if it no longer runs, call again in a minute, or remove {path}" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert files(tmp_path / "run") == [path.name]


@pytest.mark.parametrize(("age", "taken"), [(lock.LEASE - 20, False), (lock.LEASE + 1, True)])
def test_of_another_host_a_lock_that_is_not_renewed_is_taken_over(tmp_path, short, age, taken, monkeypatch):
    monkeypatch.setattr(lock, "LEASE", 1.0 if taken else 60.0)
    put(tmp_path, pid=4711, host="node7", age=age)
    if taken:
        began = time.monotonic()
        with hold(tmp_path):
            assert files(tmp_path) == [lock._NAME]
            assert time.monotonic() - began > 1  # it is observed first
    else:
        with pytest.raises(StoreError, match="in use by process 4711 on 'node7'"):
            hold(tmp_path).__enter__()


def test_of_another_host_a_lock_that_only_seems_old_is_kept(tmp_path, short):
    """Clocks may differ; its holder renews it."""
    path = put(tmp_path, pid=4711, host="node7", age=1000)
    end = threading.Event()

    def renew():
        while not end.wait(0.1):
            os.utime(path, (path.stat().st_mtime + 0.1,) * 2)

    holder = threading.Thread(target=renew)
    holder.start()
    with pytest.raises(StoreError, match="in use by process 4711 on 'node7'"):
        hold(tmp_path).__enter__()
    end.set()
    holder.join()


def test_a_lease_of_another_length_is_a_lock(tmp_path):
    """Of another version, say."""
    put(tmp_path, pid=4711, host="node7", duration=7.0, age=1000)
    with pytest.raises(StoreError, match="in use by process 4711 on 'node7'"):
        hold(tmp_path).__enter__()


def test_a_lock_is_renewed_while_it_is_held(tmp_path, short):
    path = tmp_path / lock._NAME
    with hold(tmp_path):
        os.utime(path, (0, 0))
        deadline = time.monotonic() + 10
        while path.stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        assert time.time() - path.stat().st_mtime < 60


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


@pytest.mark.parametrize("content", ["", "{", "filelock/2\npid=1\n"])
def test_files_that_no_process_wrote_keep_nobody_out(tmp_path, content):
    """Such as an empty one, after a loss of power."""
    put(tmp_path, content)
    (tmp_path / "poetry.lock").write_text("mine")
    with pytest.raises(StoreError, match="in use by another process; wait"):
        hold(tmp_path).__enter__()  # it may be being written
    put(tmp_path, content, age=lock.LEASE + 1)
    with hold(tmp_path):
        assert files(tmp_path) == [lock._NAME, "poetry.lock"]
    assert files(tmp_path) == ["poetry.lock"]


def test_a_link_in_the_place_of_a_lock_is_not_followed(tmp_path):
    target = tmp_path / "target"
    target.write_text("")
    os.utime(target, (0, 0))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / lock._NAME).symlink_to(target)
    with pytest.raises(StoreError, match="in use by another process"):
        hold(tmp_path / "run").__enter__()
    assert target.read_text() == ""


def test_of_many_that_come_at_once_at_most_one_gets_in(tmp_path):
    """Whoever holds it writes alone; there is no moment between the look and the lock."""
    inside, most, got, refused, said = [0], [0], [0], [0], set()
    barrier, guard = threading.Barrier(8), threading.Lock()

    def come():
        for _ in range(5):
            barrier.wait(60)  # an error in another thread breaks it
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
                with guard:
                    refused[0] += 1
                    said.add(str(e).partition("; ")[0])

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most[0] == 1
    assert got[0] + refused[0] == 40
    assert got[0] >= 1
    # The lock may have changed hands between two looks at its owner.
    ours = ("another run of this process", "another process", f"process {os.getpid()} on this machine")
    assert said <= {f"{tmp_path} is in use by {who}" for who in ours}
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

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(StoreError, match="No space left on device"):
            hold(tmp_path / "run").__enter__()
    assert files(tmp_path / "run") == []
