"""An interrupted command: it never looks finished, and says what it leaves."""

import signal
import subprocess
import sys

import pytest

from bayesmrf import RBM, log_evidence
from bayesmrf.cli import records
from bayesmrf.errors import StoppedWarning, StoreError
from bayesmrf.evidence.posterior_draws import PosteriorSampler
from bayesmrf.published.harmonic import HarmonicMean
from bayesmrf.results import load, on_disk
from bayesmrf.runs.chain import Chain
from bayesmrf.runs.checkpoint import steps_of

UNDERSTOOD = "Ann, Bob, Cid, Dot, Eve: yes/no, 0 < 1\n"  # what was read
RUN = [
    "structure",
    "votes.csv",
    "--method",
    "exact",
    "--n-draws",
    "30",
    "--n-warmup",
    "5",
    "--n-chains",
    "2",
    "--seed",
    "1",
]


@pytest.fixture
def stop_after_one_chain(monkeypatch):
    """Ctrl-C when the first chain has all draws and the second, which would run after it, has none."""
    whole = Chain.run

    def run(chain):
        whole(chain)
        if chain.index == 0:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Chain, "run", run)


def stop(*_, **__):
    raise KeyboardInterrupt


def stop_after(function):
    def call(*arguments, **options):
        function(*arguments, **options)
        raise KeyboardInterrupt

    return call


def unfinished(path):
    with pytest.raises(StoreError, match=r"unfinished run|draws of a run, but not its results"):
        load(path)
    return True


def test_while_it_reads(bayesmrf, votes, monkeypatch, folder):
    monkeypatch.setattr(records.Run, "read_coded", stop)
    assert bayesmrf(*RUN) == (130, "", "interrupted: nothing was written\n")
    assert not (folder / "votes_run").exists()


def test_while_it_samples(bayesmrf, votes, folder, stop_after_one_chain):
    code, out, err = bayesmrf(*RUN)
    assert (code, out) == (130, UNDERSTOOD)
    again = "give the same command again to continue\n"
    assert err == f"interrupted: stopped; the draws so far are kept in votes_run; {again}"
    assert steps_of(folder / "votes_run")[0] == [35, 0]
    assert unfinished("votes_run")


def test_with_overwrite_the_same_command_would_start_again(bayesmrf, votes, folder, stop_after_one_chain):
    code, _, err = bayesmrf(*RUN, "--overwrite")
    assert code == 130
    assert err.endswith("give the same command again without --overwrite to continue\n")


def test_before_the_first_draw_of_a_run_that_has_draws(bayesmrf, votes, folder, monkeypatch, request):
    request.getfixturevalue("stop_after_one_chain")
    assert bayesmrf(*RUN)[0] == 130
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("bayesmrf.estimators.pipeline.sample_posterior", stop)
    assert "the draws so far are kept in votes_run; give" in bayesmrf(*RUN)[2]
    assert "votes_run" not in bayesmrf(*RUN, "--out", "new_run")[2]


def test_before_results_are_overwritten(bayesmrf, votes, folder, monkeypatch):
    assert bayesmrf(*RUN)[0] == 0
    earlier = load("votes_run")
    monkeypatch.setattr("bayesmrf.estimators.pipeline.sample_posterior", stop)
    code, out, err = bayesmrf(*RUN, "--overwrite")
    assert (code, out) == (130, UNDERSTOOD)
    assert err == "interrupted: stopped before the first draw; votes_run is as it was\n"
    assert load("votes_run").identical(earlier)


def test_while_it_writes_the_result(bayesmrf, votes, folder, monkeypatch):
    monkeypatch.setattr(on_disk, "publish", stop)
    code, out, err = bayesmrf(*RUN)
    assert (code, out) == (130, UNDERSTOOD)
    again = "give the same command again to continue\n"
    assert err == f"interrupted: stopped; all draws are kept in votes_run; {again}"
    assert unfinished("votes_run")
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert bayesmrf(*RUN)[0] == 0
    assert load("votes_run").attrs["complete"]


@pytest.mark.parametrize("where", ["finish", "show"])
def test_when_the_result_is_written(where, bayesmrf, votes, folder, monkeypatch):
    if where == "finish":
        monkeypatch.setattr(on_disk, "publish", stop_after(on_disk.publish))
    else:
        monkeypatch.setattr(records.Run, "show", stop)
    code, _, err = bayesmrf(*RUN)
    assert (code, err) == (130, "interrupted: stopped; the result is in votes_run\n")
    assert load("votes_run").attrs["complete"]


def test_of_an_evidence_no_part_of_the_draws_is_used(rng, stop_after_one_chain, monkeypatch):
    """It was computed from the draws so far, and `bayesmrf evidence` stored it as if they were all, with code 0."""
    monkeypatch.setattr("bayesmrf.evidence.brief_draws._STAGES", 0)  # of one chain each, which would be stopped first
    few = PosteriorSampler(dynamics="brief", n_draws=20, n_warmup=20, n_chains=2)
    with (
        pytest.warns(StoppedWarning, match="20 of 20 draws of 1 of 2 chains"),
        pytest.raises(KeyboardInterrupt, match="before its last draw"),
    ):
        log_evidence(RBM(n_hidden=1), rng.integers(0, 2, (60, 5)), method=HarmonicMean(sampler=few), random_state=1)


def test_the_demonstration_writes_no_report_of_a_part_of_its_draws(bayesmrf, folder, stop_after_one_chain):
    code, _, err = bayesmrf("demo")
    assert (code, err) == (130, "interrupted: nothing was written\n")
    assert not [*folder.iterdir()]


# What Python does with an interruption

DROPPED = """
import signal, sys, time
import bayesmrf.cli as cli

class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def run(arguments):
    Callback()
    for _ in range(100):
        time.sleep(0.1)
    return 0
"""
AT_THE_END = """
import os, signal, sys, threading, time
import bayesmrf.cli as cli

def late():
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)

def run(arguments):
    threading.Thread(target=late).start()
    return 0
"""
AGAIN = "interrupted: give the same command again\n"
MAIN, BARE = "cli.run = run\ncli.main()", "sys.exit(run([]))"
IMPORTING = "import sys\nimport bayesmrf.cli as cli\ndef run(arguments):\n    raise KeyboardInterrupt\n"


@pytest.mark.parametrize(
    ("code", "status", "said"),
    [
        (DROPPED + MAIN, 130, AGAIN),
        (DROPPED.replace("range(100)", "()") + MAIN, 130, AGAIN),  # the command ends before it is repeated
        (DROPPED.replace("return 0", "raise RuntimeError").replace("range(100)", "()") + MAIN, 130, AGAIN),
        (AT_THE_END + MAIN, -signal.SIGINT, ""),
        (AT_THE_END + BARE, 0, "Traceback"),  # as it was: status 0 and a traceback
        (IMPORTING + MAIN, 130, AGAIN),
    ],
)
def test_process_that_is_interrupted_never_ends_with_status_0(code, status, said):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done.stderr
    assert done.stderr == said if said != "Traceback" else said in done.stderr


def test_control_python_drops_an_interruption_of_a_callback():
    code = DROPPED.replace("range(100)", "range(1)") + BARE
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "Traceback" in done.stderr
