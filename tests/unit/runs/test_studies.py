"""Folders of studies: what could not be written goes on with the same call, and two studies never share a folder."""

import errno
import json
import os
from pathlib import Path

import pytest

from bayesmrf import SpikeSlabMRF, calibrate
from bayesmrf.errors import DataError, OptionError, StoreError
from bayesmrf.estimators import planning
from bayesmrf.runs.lock import hold
from bayesmrf.runs.replicates import replicates
from tests.helpers.commands import one_sentence

ITEMS = {"r0": 0, "r1": 1}
ONE = ["--n", "60", "--nodes", "3", "--replicates", "1", "--n-jobs", "1", "--out", "study", "--quiet"]


def study(folder, function=lambda r: {"r": r}):
    return replicates(function, ITEMS, {"study": "test"}, "", folder=folder, n_jobs=1, progress=False)


def full(name):
    """A function of paths that fails for files of a name, as on a full disk."""

    def wrapped(function):
        def called(self, *args, **kwargs):
            if self.name == name:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
            return function(self, *args, **kwargs)

        return called

    return wrapped


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("open", "study.json.partial"),
        ("replace", "study.json.partial"),
        ("mkdir", "replicates"),
        ("open", "r0.json.partial"),
    ],
)
def test_a_start_on_a_full_disk_goes_on(tmp_path, monkeypatch, what, name, exists):
    folder = tmp_path / "new" / "study"
    if exists:
        folder.mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(Path, what, full(name)(getattr(Path, what)))
        with pytest.raises(StoreError, match=r"^folder: .* cannot be written \(No space left on device\); free disk"):
            study(folder)
        assert [p.name for p in tmp_path.rglob("*")] == (["new", "study"] if exists else [])
    assert study(folder) == [{"r": 0}, {"r": 1}]


def test_a_folder_without_permission_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "iterdir", refuse)
        with pytest.raises(StoreError, match=r"^folder: .* cannot be written \(Permission denied\)"):
            study(tmp_path)
        patch.setattr(os, "open", refuse)
        with pytest.raises(StoreError, match=r"^folder: .* cannot be written \(Permission denied\)"):
            study(tmp_path)
    assert study(tmp_path) == [{"r": 0}, {"r": 1}]


def test_what_a_killed_start_left_is_no_other_file(tmp_path):
    (tmp_path / "replicates").mkdir()
    for name in ("study.json.partial", "replicates/r0.json.partial"):
        (tmp_path / name).write_text('{"r"')
    assert study(tmp_path) == [{"r": 0}, {"r": 1}]


def test_files_of_others_are_kept(tmp_path):
    (tmp_path / "mine.partial").write_text("mine")
    with pytest.raises(StoreError, match="contains other files; give a new path"):
        study(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.partial"]


def test_a_study_without_a_replicate_leaves_nothing(tmp_path):
    def refuse(r):
        if r == refused:
            raise DataError("no")
        return {"r": r}

    refused = 0
    with pytest.raises(DataError, match="no"):
        study(tmp_path / "a" / "b", refuse)
    assert not [*tmp_path.iterdir()]
    refused = 1
    with pytest.raises(DataError, match="no"):
        study(tmp_path / "a" / "b", refuse)
    assert [p.name for p in (tmp_path / "a" / "b").glob("replicates/*")] == ["r0.json"]


def test_a_study_whose_record_is_damaged_is_not_removed(tmp_path):
    study(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(StoreError, match=r"study\.json is damaged: .*; remove the folder, or give another path"):
        study(tmp_path)


def test_one_writer_at_a_time(tmp_path, bayesmrf):
    with hold(tmp_path / "study"):
        with pytest.raises(StoreError, match=r"^folder: .*study is in use by another run of this process; wait until"):
            study(tmp_path / "study")
        for command in ("plan", "calibrate"):
            one_sentence(bayesmrf(command, *ONE), "^error: --out: study is in use by another run of this process; wait")
    assert bayesmrf("plan", *ONE)[0] == 0
    one_sentence(bayesmrf("calibrate", *ONE), "--out study contains a study with another")


def test_commands_go_on_after_a_full_disk(bayesmrf, monkeypatch):
    for command in ("plan", "calibrate"):
        words = [command, *ONE[:-2], command, "--quiet"]
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", full("study.json.partial")(Path.open))
            one_sentence(bayesmrf(*words), f"--out: {command}/study.json cannot be written .*; free disk space and ")
        assert bayesmrf(*words)[0] == 0
        assert json.loads(Path(command, "study.json").read_text())["study"] == command


def test_a_table_that_is_refused_is_drawn_again(monkeypatch, rng):
    refused = iter([DataError("constant"), DataError("constant"), None])

    class Drawn:
        def fitted(self, estimator, n, rng):
            if error := next(refused):
                raise error
            return "fitted"

    truths = []

    def draw():
        truths.append(Drawn())
        return truths[-1]

    truth, est = planning.fitted_to_one(draw, None, 5, rng)
    assert est == "fitted"
    assert truth is truths[2]
    monkeypatch.setattr(Drawn, "fitted", planning.Truth.fitted)
    monkeypatch.setattr(Drawn, "table", lambda *_: (_ for _ in ()).throw(DataError("constant.")), raising=False)
    with pytest.raises(OptionError, match=r"n must be so large that one of 100 .* got 5; the last .* \(constant\)\."):
        planning.fitted_to_one(draw, SpikeSlabMRF(), 5, rng)


def test_what_belongs_to_one_table_is_left_out(tmp_path):
    options = {"n_draws": 30, "n_warmup": 10, "n_chains": 1, "progress": False, "checkpoint": tmp_path / "votes_run"}
    est = SpikeSlabMRF(**options, columns="codebook.csv")  # which is not there
    found = calibrate(est, 60, nodes=2, replicates=2, n_jobs=1, progress=False)
    assert len(found.replicates) == 2
    assert not [*tmp_path.iterdir()]
    planning.plan(None, [60], nodes=3, replicates=1, estimator=est, n_jobs=1, progress=False)
    assert not [*tmp_path.iterdir()]
