"""What every command makes is read by every other one, or refused in one sentence that names the remedy.

The commands are those of the application, so that a new one is missed here until somebody says what reads its result.
"""

import contextlib
import io
import os
import shutil

import numpy as np
import pandas as pd
import pytest
import typer

import bayesmrf
from bayesmrf import cli
from bayesmrf.cli.app import app
from bayesmrf.errors import StoreError
from bayesmrf.results import load
from tests.helpers.commands import one_sentence

COMMANDS = typer.main.get_command(app).commands
ONE_BY_ONE = {"chain", "task"}  # options of tasks: a command with one of them makes a run
MADE = {
    "groups": ["answers.csv", "--drop", "by", "--candidates", "complete"],
    "posterior": ["answers.csv", "--drop", "by"],
    "structure": ["answers.csv", "--drop", "by"],
    "compare": ["answers.csv", "--by", "by"],
    "panel": ["waves.csv", "--person", "person", "--wave", "wave"],
    "evidence": ["answers.csv", "--drop", "by", "--compare", "independent,complete"],
}
NO_RUN = {"demo", "columns", "doctor"}  # a page, a codebook, and facts
STUDY = ["--n", "60", "--replicates", "1", "--n-jobs", "1", "--out", "new"]
NEW_FIGURE = "new.svg"
READ = {
    "report": [["--out", "new"]],
    "plot": [["trace", "--out", NEW_FIGURE]],
    "export": [["--to", to, "--out", "new"] for to in ("csv", "json", "graphml")],
    "plan": [STUDY],
    "calibrate": [[*STUDY, "--nodes", "3"]],
    "collect": [[]],
    "bgms": [["bgms.csv", "--out", "new"]],
}
EVIDENCE = "has evidences of models, which no other command reads; give the same command of bayesmrf evidence again"
NO_PLAN = r"RUN must be a result of structure or compare, got .*; give one, or leave it out and state a network"
REFUSED = {(of, "plan"): NO_PLAN for of in ("groups", "posterior", "panel")}
REFUSED |= {
    (of, "bgms"): "result must be a result of SpikeSlabMRF" for of in ("groups", "posterior", "panel", "compare")
}
REFUSED |= {("evidence", read): EVIDENCE for read in (*READ, "load")}


def options(command):
    return {option.name for option in COMMANDS[command].params}


def give(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run([str(word) for word in words])
    return code, out.getvalue(), err.getvalue()


def test_every_command_is_here():
    assert {command for command in COMMANDS if options(command) & ONE_BY_ONE} == MADE.keys()
    assert {command for command in COMMANDS if "run" in options(command)} == READ.keys()
    assert COMMANDS.keys() == {*MADE, *READ, *NO_RUN}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, module_rng):
    """A folder with what each command made, as a whole, and with the first of its tasks."""
    with contextlib.chdir(tmp_path_factory.mktemp("runs")):
        answers = module_rng.integers(0, 2, (60, 3))
        table = pd.DataFrame(answers, columns=list("abc"))
        table.assign(by=np.repeat(["x", "y"], 30)).to_csv("answers.csv", index=False)
        table.assign(person=np.repeat(range(15), 4), wave=np.tile(range(4), 15)).to_csv("waves.csv", index=False)
        pd.DataFrame(0.5 - 0.5 * np.eye(3), list("abc"), list("abc")).to_csv("bgms.csv")
        for command, words in MADE.items():
            assert give(*task_of(command, words, "run"))[0] == 0, command
            assert give(*task_of(command, words, "tasks", 0))[0] == 0, command
        yield


def task_of(command, words, form, task=None):
    """The words of a command, or of one of its tasks."""
    short = ["--n-draws", "30", "--n-warmup", "10", "--n-chains", "2"] if "n_draws" in options(command) else []
    (one,) = options(command) & ONE_BY_ONE
    of_task = [] if task is None else [f"--{one}", task]
    return [command, *words, *short, "--seed", 1, "-q", "--out", f"{command}.{form}", *of_task]


@pytest.fixture
def nothing_new(runs):
    """The files before and after are the same, but for what is named "new"; that is removed."""
    before = set(os.listdir())
    yield
    assert set(os.listdir()) == before


def removed(path):
    found = os.path.exists(path)
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif found:
        os.unlink(path)
    return found


@pytest.mark.parametrize("read", READ)
@pytest.mark.parametrize("made", MADE)
def test_what_a_command_made_is_read(made, read, nothing_new):
    for words in READ[read]:
        result = give(read, f"{made}.run", *words)
        if (made, read) in REFUSED:
            one_sentence(result, REFUSED[made, read])
            assert not removed("new")
        else:
            assert result[0] == 0, result
            assert (removed("new") or removed(NEW_FIGURE)) == (read != "collect")


@pytest.mark.parametrize("made", MADE)
def test_what_a_command_made_is_loaded(made, nothing_new):
    if (made, "load") in REFUSED:
        with pytest.raises(StoreError, match=REFUSED[made, "load"]):
            bayesmrf.load(f"{made}.run")
    else:
        est = bayesmrf.load(f"{made}.run")
        assert est.feature_names_in_.tolist() == ["a", "b", "c"]
        assert isinstance(est.table("findings"), pd.DataFrame)


@pytest.mark.parametrize("made", MADE)
def test_tasks_of_a_command_are_collected(made, nothing_new):
    """Those of evidence are joined by the command itself."""
    of_chains, run = "chain" in options(made), f"{made}.tasks"
    remedy = f"give the command that made it again, or, if tasks ran its chains, bayesmrf collect {run}"
    for read in READ:
        if read != "collect":
            one_sentence(give(read, run, *READ[read][0]), remedy if of_chains else EVIDENCE)
            assert not removed("new")
    with pytest.raises(StoreError, match="call again with the same data" if of_chains else EVIDENCE):
        bayesmrf.load(run)
    missing = "chain 1 has not begun; submit these tasks again" if of_chains else "of evidence without --task to join"
    one_sentence(give("collect", run), missing)
    assert give(*task_of(made, MADE[made], "tasks", 1))[0] == 0
    if of_chains:
        assert give("collect", run)[0] == 0
        assert load(run)["posterior"].equals(load(f"{made}.run")["posterior"])
    else:
        one_sentence(give(*task_of(made, MADE[made], "run"), "--chain", 0), r"--chain \(did you mean --task\?\)")
        assert give(*task_of(made, MADE[made], "tasks"))[0] == 0
