"""Folders from strangers run no code, follow no link and fill no memory: one sentence, or what they honestly hold."""

import copy
import hashlib
import io
import json
import os
import pickle
import re
import shutil
import time
import tracemalloc
import warnings
import zipfile
from contextlib import contextmanager

import numpy as np
import pytest

import bayesmrf
from bayesmrf import BayesianMRF, GroupedMRF, LabelFieldMRF, SpikeSlabMRF, graphs, save
from bayesmrf.errors import BayesMRFError, StoreError
from bayesmrf.report import write_report
from bayesmrf.results import load
from bayesmrf.runs import sealed
from bayesmrf.runs.checkpoint import committed
from bayesmrf.runs.identity import checksum
from bayesmrf.runs.run import sample
from tests.helpers.walks import OPTIONS, Fails, equal

VALUES = [None, True, -1, 0, 1, 2.5, 10**10, 10**30, 1e308, float("nan"), "", "x", "../x", "\x1b[31m", [], [[]], {}]
VALUES += [{"a": []}, [10**10] * 3, ["theta"], {"type": "os:system", "fields": {}}, {"array": "x"}]
FAST = {**OPTIONS, "n_draws": 4, "n_warmup": 2, "thin": 1, "n_chains": 2, "n_jobs": 1}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "run"
    X = np.random.default_rng(5).integers(0, 2, size=(50, 3))
    options = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "random_state": 1, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(SpikeSlabMRF(method="exact", **options).fit(X), path)
    return path


@pytest.fixture
def run(result, tmp_path):
    return shutil.copytree(result, tmp_path / "run")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("checkpoints") / "run"
    sample(Fails(), random_state=6, checkpoint=path, **FAST)
    return path


@pytest.fixture
def checkpoint(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture
def closed(monkeypatch):
    """Fail where an array is decoded before everything was checked."""

    def opened(*args, **kwargs):
        raise AssertionError("opened")

    monkeypatch.setattr(sealed.Arrays, "verify", opened)
    monkeypatch.setattr(sealed.Arrays, "blocks", opened)


def edit(path, change):
    """Change the JSON of a file; checksums of records are made right again."""
    record = json.loads(path.read_text())
    change(record)
    if isinstance(record, dict) and "checksum" in record:
        del record["checksum"]
        record["checksum"] = checksum([record])
    path.write_text(json.dumps(record))


def sealed_again(run):
    """Make the checksum of the arrays that of the file, whatever it contains."""
    digest = hashlib.blake2b((run / "results.npz").read_bytes(), digest_size=16).hexdigest()
    edit(run / "record.json", lambda record: record["arrays"].__setitem__(1, digest))


class Code:
    """What is called when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def zipped(path, arrays, compression=zipfile.ZIP_STORED):
    """A .npz file of given members."""
    with zipfile.ZipFile(path, "w", compression) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that occur twice
        for name, content in arrays.items() if isinstance(arrays, dict) else arrays:
            file.writestr(name, content)


def array(a, version=None):
    file = io.BytesIO()
    np.lib.format.write_array(file, a, allow_pickle=True, version=version)
    return file.getvalue()


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


@contextmanager
def few_bytes():
    """Refuse what takes much memory, whose time follows from it."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def refused(run, *words):
    """One sentence, soon, and in little memory."""
    with few_bytes(), pytest.raises(StoreError) as caught:
        load(run)
    for word in words:
        assert re.search(word, str(caught.value)), caught.value
    assert "\n" not in str(caught.value)
    return str(caught.value)


# Results: the record


def theta(record):
    return record["groups"]["posterior"]["variables"]["theta"]


def edge(record):
    return record["groups"]["posterior"]["variables"]["edge"]


RECORDS = {
    "object type": lambda r: theta(r).update(type="|O"),
    "structured type": lambda r: theta(r).update(type="<f8,<f8"),
    "times": lambda r: theta(r).update(type="<M8[ns]"),
    "another type": lambda r: theta(r).update(type="<i8"),
    "10^10 chains": lambda r: theta(r)["shape"].__setitem__(0, 10**10),
    "10^30 draws": lambda r: theta(r)["shape"].__setitem__(1, 10**30),
    "many entries of nothing": lambda r: theta(r).update(shape=[0, 10**12, 6]),
    "dimensions": lambda r: theta(r).update(shape=[1] * 40),
    "twice a dimension": lambda r: theta(r).update(dims=["chain", "chain", "feature"]),
    "names of dimensions": lambda r: theta(r).update(dims=["chain", "draw", "../x"]),
    "negative": lambda r: theta(r)["shape"].__setitem__(0, -2),
    "fraction": lambda r: theta(r)["shape"].__setitem__(0, 2.0),
    "truth": lambda r: theta(r)["shape"].__setitem__(0, True),
    "sizes that differ": lambda r: r["groups"]["posterior"]["variables"]["chain"].update(shape=[3]),
    "sparse": lambda r: theta(r).update(sparse="<f8"),
    "unknown entry": lambda r: theta(r).update(scale_factor=2),
    "attributes": lambda r: theta(r).update(attributes={"a": [1]}),
    "no attributes": lambda r: theta(r).update(attributes=3),
    "a coordinate": lambda r: theta(r).update(coordinate=1),
    "texts of numbers": lambda r: theta(r).update(type="text", texts=["a"]),
    "fewer texts": lambda r: edge(r)["texts"].pop(),
    "other texts": lambda r: edge(r)["texts"].__setitem__(0, 3),
    "texts in the file": lambda r: edge(r).pop("texts"),
    "no variable": lambda r: r["groups"]["posterior"]["variables"].pop("theta"),
    "a variable": lambda r: r["groups"]["posterior"]["variables"].update(other=theta(r)),
    "many variables": lambda r: r["groups"]["posterior"]["variables"].update({f"v{i}": edge(r) for i in range(300)}),
    "unknown group": lambda r: r["groups"].update(other={"attributes": {}, "variables": {}}),
    "no posterior": lambda r: r["groups"].pop("posterior"),
    "path of a group": lambda r: r["groups"].update({"../x": r["groups"].pop("sample_stats")}),
    "texts of the run": lambda r: r["attributes"].update(method=["exact"]),
    "arrays elsewhere": lambda r: r["arrays"].__setitem__(0, "../other.npz"),
    "arrays of the system": lambda r: r["arrays"].__setitem__(0, "/etc/passwd"),
    "arrays by number": lambda r: r["arrays"].__setitem__(0, 3),
    "no arrays": lambda r: r.pop("arrays"),
}


@pytest.mark.parametrize("what", RECORDS)
def test_the_record_is_checked_before_anything_is_decoded(run, closed, what):
    shutil.copy(run / "results.npz", run.parent / "other.npz")
    edit(run / "record.json", RECORDS[what])
    refused(run, "is damaged")


def test_what_is_checked_is_what_is_written(run, closed):
    """The control of the tests above: an honest store gets as far as being opened."""
    refused(run, r"results\.npz is damaged: it cannot be read \(AssertionError: opened\)")


TEXTS = {
    "deep": lambda: "[" * 10**6,
    "deep, complete": lambda: '{"a":' * 10**5 + "1" + "}" * 10**5,
    "many values": lambda: "[" + "[]," * 2**20 + "[]]",
    "many texts": lambda: "[" + '"ab",' * (2**20 + 1) + '"a"]',
    "large": lambda: '{"a": "' + "é" * 2**23 + '"}',
    "a long number": lambda: '{"a": ' + "9" * 10**6 + "}",
    "a name twice": lambda: '{"bayesmrf": {"format": 4, "holds": "results"}, "bayesmrf": {}}',
    "no JSON": lambda: "results",
    "not UTF-8": lambda: b"{\xff",
    "nothing": lambda: "",
}


@pytest.mark.parametrize("what", TEXTS)
def test_records_that_cost_much_are_not_read(run, what):
    """No value of them is made: that of a folder, and that of a commit."""
    text = TEXTS[what]()
    data = text if isinstance(text, bytes) else text.encode()
    (run / "record.json").write_bytes(data)
    refused(run, "is not a store of bayesmrf, or its record.json is damaged")
    with pytest.raises(ValueError):  # noqa: PT011
        sealed.parse(data)


def test_records_of_commits_that_cost_much_are_not_read(checkpoint):
    for text in ('{"attributes":' * 10**5, "[" + "[]," * 2**20 + "[]]"):
        committed(checkpoint / "checkpoint" / "chain_0").write_text(text)
        with pytest.raises(StoreError, match="is damaged: it cannot be read"):
            sample(Fails(), checkpoint=checkpoint, **FAST)


def test_brackets_in_texts_are_no_nesting():
    text = json.dumps({"levels": ["[18,25)" + "[" * 100, '\\"[[', "\\"] * 500})
    assert sealed.parse(text) == json.loads(text)


# Results: the arrays


def theta_as(content):
    def change(path):
        found = members(path)
        found["posterior/theta.npy"] = content
        zipped(path, found)

    return change


def with_member(name, content, compression=zipfile.ZIP_STORED):
    return lambda path: zipped(path, [*members(path).items(), (name, content)], compression)


def directory(position, value, size=4):
    """Change a field of the directory's first entry (APPNOTE 4.3.12)."""

    def change(path):
        data = bytearray(path.read_bytes())
        at = int.from_bytes(data[-6:-2], "little")
        assert data[at : at + 4] == b"PK\x01\x02"
        data[at + position : at + position + size] = value.to_bytes(size, "little")
        path.write_bytes(data)

    return change


def with_shape(text):
    return array(np.zeros(3)).replace(b"(3,), }" + b" " * (len(text) - 4), text + b", }")


FILES = {
    "object": lambda path: theta_as(array(np.array([Code(str(path.parent / "ran"))], dtype=object)))(path),
    "pickle": lambda path: path.write_bytes(pickle.dumps(Code(str(path.parent / "ran")))),
    "pickle as a member": lambda path: theta_as(pickle.dumps(Code(str(path.parent / "ran"))))(path),
    "npy": lambda path: path.write_bytes(array(np.zeros(3))),
    "bytes": theta_as(b"no array"),
    "nothing": theta_as(b""),
    "text": theta_as(array(np.array(["text"]))),
    "other version": theta_as(array(np.zeros((2, 20, 6)), (2, 0))),
    "huge": theta_as(with_shape(b"(300000000000,)")),
    "negative": theta_as(with_shape(b"(-3,)")),
    "code in a header": theta_as(with_shape(b"(print(3),)")),
    "shorter": theta_as(array(np.zeros((2, 20, 6)))[:-8]),
    "longer": theta_as(array(np.zeros((2, 20, 6))) + b"more"),
    "bomb": with_member("posterior/more.npy", array(np.zeros(10**7)), zipfile.ZIP_DEFLATED),
    "another member": with_member("posterior/more.npy", array(np.zeros(3))),
    "a member twice": lambda path: with_member("posterior/theta.npy", members(path)["posterior/theta.npy"])(path),
    "a path": with_member("../more.npy", array(np.zeros(3))),
    "a folder": with_member("more/", b""),
    "no suffix": with_member("record.json", b"{}"),
    "bzip2": with_member("posterior/more.npy", array(np.zeros(3)), zipfile.ZIP_BZIP2),
    "many members": lambda path: zipped(path, {f"{i}.npy": b"" for i in range(5000)}),
    "long directory": lambda path: zipped(path, {f"{'x' * 60000}{i}.npy": b"" for i in range(20)}),
    "encrypted": directory(8, 1, 2),
    "declared size": directory(24, 2**31),
    "declared size on the disk": directory(20, 2**31),
    "sizes that overlap": directory(20, 10**4),
    "elsewhere": directory(42, 2**31),
    "no directory": lambda path: path.write_bytes(path.read_bytes()[:-60]),
    "a comment": lambda path: path.write_bytes(path.read_bytes()[:-2] + b"\x04\0mine"),
    "empty": lambda path: path.write_bytes(b""),
    "holes": lambda path: os.truncate(path, 2**40),
    "removed": lambda path: path.unlink(),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a device": lambda path: (path.unlink(), path.symlink_to("/dev/zero")),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_the_file_of_arrays_is_checked_before_anything_is_decoded(run, closed, what):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        FILES[what](run / "results.npz")
    if (run / "results.npz").is_file() and not (run / "results.npz").is_symlink() and what != "holes":
        sealed_again(run)
    refused(run, r"results\.npz is damaged: it cannot be read")
    assert not (run / "ran").exists()


def test_no_member_becomes_larger_than_it_declares(run):
    """Deflated zeros that go on behind the declared end, and those that end before it."""
    found = members(run / "results.npz")
    whole = found["posterior/theta.npy"]
    for content in (whole[:300] + bytes(10**6), whole[:300]):
        zipped(run / "results.npz", found | {"posterior/theta.npy": content}, zipfile.ZIP_DEFLATED)
        data = (run / "results.npz").read_bytes()
        sizes = [len(content).to_bytes(4, "little"), len(whole).to_bytes(4, "little")]
        assert 1 <= data.count(sizes[0]) <= 3
        (run / "results.npz").write_bytes(data.replace(*sizes))
        sealed_again(run)
        refused(run, r"results\.npz is damaged: it cannot be read")


def test_arrays_that_no_memory_holds_are_not_decoded(run, closed, monkeypatch):
    monkeypatch.setattr(sealed, "machine_bytes", lambda: 1e3)
    refused(run, "its arrays take 0.0 GiB, more than the memory of this machine.*the folder may be intact")


def test_a_bomb_in_a_checkpoint_is_not_decoded(checkpoint, closed):
    """Zeros that are packed more densely than this package packs them."""
    record = committed(checkpoint / "checkpoint" / "chain_0")
    path = record.with_name(sealed.read_record(record)["state"][0])
    zipped(path, {"generator.npy": array(np.zeros(10**7))}, zipfile.ZIP_DEFLATED)
    with pytest.raises(StoreError, match=r"an array would take 8e\+07 bytes in memory, and takes 7\d,\d+ on the disk"):
        sample(Fails(), checkpoint=checkpoint, **FAST)


def test_zeros_take_no_room_and_are_no_bomb(tmp_path):
    digest = sealed.write_arrays(tmp_path / "a.npz", {"a": np.zeros((1000, 1000))})
    assert (tmp_path / "a.npz").stat().st_size < 50_000
    assert np.array_equal(sealed.read_arrays(tmp_path / "a.npz", digest)["a"], np.zeros((1000, 1000)))


# Results: attributes, which are read later


def estimator(change):
    def edit_estimator(record):
        found = json.loads(record["attributes"]["estimator"])
        change(found)
        record["attributes"]["estimator"] = json.dumps(found)

    return edit_estimator


def parameters(found):
    return dict(map(tuple, found[1]["mapping"]))


ATTRIBUTES = {
    "deep": lambda r: r["attributes"].update(estimator="[" * 10**5),
    "many values": lambda r: r["attributes"].update(findings="[" + "[]," * 2**20 + "[]]"),
    "an array of another size": estimator(lambda e: e.__setitem__(3, {"array": ["<f8", [10**12], ""]})),
    "an array of objects": estimator(lambda e: e.__setitem__(3, {"array": ["|O", [1], "AAAAAAAAAAA="]})),
    "an array of one large type": estimator(lambda e: e.__setitem__(3, {"array": ["|V1000000000", [1], "AAAA"]})),
    "an unknown class": estimator(lambda e: e.__setitem__(3, {"os.system": {"command": "true"}})),
    "a class of the package": estimator(lambda e: e.__setitem__(3, {"graphs.Graph": {"n_nodes": 10**9}})),
    "two entries": estimator(lambda e: e.__setitem__(3, {"tuple": [], "graph": None})),
    "a huge codebook": estimator(lambda e: e.__setitem__(3, {"columns": "name,kind,levels\n" + "a,b,c\n" * 2**17})),
    "a codebook of one name": estimator(lambda e: e.__setitem__(3, {"columns": "name,kind\n" + "a,text\n" * 10**4})),
    "levels of other columns": estimator(lambda e: e.__setitem__(2, [[0, 1]] * 10**4)),
    "another kind": estimator(lambda e: e.__setitem__(0, "Other")),
    "states": estimator(lambda e: e[1]["mapping"].append(["model", {"families.Potts": {"n_states": 10**9}}])),
    "an option": estimator(lambda e: e[1]["mapping"].append(["n_nodes", 10**9])),
}  # fmt: skip


@pytest.mark.parametrize("what", ATTRIBUTES)
def test_estimators_of_strangers_fill_no_memory(run, what):
    edit(run / "record.json", ATTRIBUTES[what])
    with few_bytes(), pytest.raises(BayesMRFError) as caught:
        bayesmrf.load(run)
    assert "\n" not in str(caught.value)


# Links and names


@pytest.mark.parametrize("place", ["results.npz", "record.json"])
def test_links_are_not_followed(run, tmp_path, place):
    target = tmp_path / "elsewhere"
    (run / place).rename(target)
    (run / place).symlink_to(target)
    with pytest.raises(StoreError):
        load(run)
    assert target.exists()


def test_a_checkpoint_is_not_continued_through_a_link(checkpoint, tmp_path):
    for place in ("checkpoint/chain_1", "checkpoint"):
        there, outside = tmp_path / "run" / place, tmp_path / "outside"
        if there.exists():
            there.rename(outside)
        else:
            outside.mkdir()
        there.symlink_to(outside)
        before = {p: p.read_bytes() for p in outside.rglob("*") if p.is_file()}
        with pytest.raises(StoreError, match="it is a link"):
            sample(Fails(), checkpoint=tmp_path / "run", **FAST)
        assert {p: p.read_bytes() for p in outside.rglob("*") if p.is_file()} == before
        there.unlink()
        outside.rename(there)


def test_records_are_not_written_through_a_link(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "record.json.partial").symlink_to(tmp_path / "mine")
    (tmp_path / "run" / "a.npz").symlink_to(tmp_path / "mine")
    sealed.write_record(tmp_path / "run" / "record.json", {"bayesmrf": {}})
    sealed.write_arrays(tmp_path / "run" / "a.npz", {"a": np.zeros(3)})
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "subprocess:Popen", "fields": {"args": {"value": "true"}}},
        {"type": "os:stat_result", "fields": {}},
        {"type": "bayesmrf:GroupedMRF", "fields": {}},
        {"type": "bayesmrf.posterior.parameters.metropolis:np.ndarray", "fields": {}},
        {"type": "bayesmrf.errors:StoreError", "fields": {}},
        {"type": "tests.helpers.walks:Info", "fields": {}},
        {"type": 3, "fields": {}},
        {"array": "nothing"},
        {"value": [1]},
        {},
        [],
    ],
)
def test_a_state_is_made_of_namedtuples_of_the_kernel_alone(checkpoint, spec):
    def change(record):
        record["spec"] = spec

    edit(committed(checkpoint / "checkpoint" / "chain_0"), change)
    with pytest.raises(StoreError):
        sample(Fails(), checkpoint=checkpoint, **FAST)


def test_other_formats_are_refused_in_one_sentence(result, tmp_path, checkpoint):
    def newer(record):
        record["bayesmrf"]["format"] = 5

    run = shutil.copytree(result, tmp_path / "result")
    for folder, act in ((run, load), (checkpoint, load), (checkpoint, lambda p: sample(Fails(), checkpoint=p, **FAST))):
        edit(folder / "record.json", newer)
        with pytest.raises(StoreError, match="has store format 5, which this version cannot read"):
            act(folder)
    assert sample(Fails(), checkpoint=checkpoint, overwrite=True, **FAST).complete


@pytest.mark.parametrize("name", ["../other.npz", "/etc/passwd", "1-00000000-state-0.npz/../x.npz", "", 3])
def test_names_of_arrays_lead_nowhere_else(checkpoint, name):
    def change(record):
        record["state"][0] = name

    edit(committed(checkpoint / "checkpoint" / "chain_0"), change)
    with pytest.raises(StoreError, match="its record was not written by this package"):
        sample(Fails(), checkpoint=checkpoint, **FAST)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_honest_results_of_every_estimator_are_read(tmp_path):
    """Also those without edges, and with missing values."""
    rng = np.random.default_rng(3)
    X = rng.integers(0, 2, size=(30, 3)).astype(float)
    options = {"n_draws": 8, "n_warmup": 4, "n_chains": 1, "random_state": 1, "progress": False}
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    trees = [
        BayesianMRF([], model="agreement", **options).fit(X).posterior_,
        BayesianMRF(model="potts", **options).fit(gaps).posterior_,
        GroupedMRF(graphs.path(3), fields=False, **options).fit(X).posterior_,
        LabelFieldMRF(**options).fit(rng.normal(size=(5, 2)), [0, 1, -1, 0, 1]).posterior_,
    ]
    for i, tree in enumerate(trees):
        save(tree, tmp_path / str(i))
        assert load(tmp_path / str(i)).equals(tree)


# Mutations


def places(value, path=()):
    """Each place in a JSON value."""
    yield path
    for key, v in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(v, (*path, key))


def mutate(record, rng):
    """One place removed, or with another value; what was done."""
    record = copy.deepcopy(record)
    *path, last = list(places(record))[rng.integers(1, sum(1 for _ in places(record)))]
    inner = record
    for key in path:
        inner = inner[key]
    value = VALUES[rng.integers(len(VALUES))]
    if rng.random() < 0.25:
        del inner[last]
    else:
        inner[last] = value
    return record, (*path, last), value


def mutants(folder, files, rng, n):
    """Change a file at a time, and put it back."""
    for _ in range(n):
        path = folder / files[rng.integers(len(files))]
        before = path.read_bytes()
        changed, *done = mutate(json.loads(before), rng)
        path.write_text(json.dumps(changed))
        if path.parent in (folder, folder / "checkpoint" / "chain_0"):
            edit(path, lambda record: None)
        yield path, done
        path.write_bytes(before)


def test_mutated_results_are_one_sentence_or_the_same(run, rng, tmp_path):
    honest = load(run)
    n_refused = 0
    for path, done in mutants(run, ["record.json"], rng, 120):
        began = time.perf_counter()
        try:
            found = load(run)
        except StoreError as e:
            n_refused += 1
            assert "\n" not in str(e), (path, done)  # noqa: PT017
            continue
        finally:
            assert time.perf_counter() - began < 5, (path, done)
        for group, node in found.children.items():
            for name, v in node.dataset.variables.items():
                if v.dtype.kind in "biuf":
                    np.testing.assert_array_equal(v, honest[group].dataset.variables[name])
    assert n_refused > 40


def test_mutated_results_make_a_page_or_one_sentence(run, rng, tmp_path):
    """Attributes may say anything that is text or a number."""
    page = tmp_path / "page.html"
    for path, done in mutants(run, ["record.json"], rng, 12):
        try:
            write_report(run, page, True)
        except StoreError:
            continue
        except Exception as e:
            raise AssertionError((path, done)) from e


def test_mutated_checkpoints_are_one_sentence_or_the_same(rng, tmp_path, checkpoint):
    run, kept = checkpoint, shutil.copytree(checkpoint, tmp_path / "kept")
    whole = sample(Fails(), checkpoint=kept, **FAST)
    files = ["record.json", *[committed(run / "checkpoint/chain_0").relative_to(run)] * 5]
    n_refused = 0
    for path, done in mutants(run, files, rng, 30):
        try:
            assert equal(whole, sample(Fails(), checkpoint=run, **FAST)), (path, done)
        except StoreError as e:
            n_refused += 1
            assert "\n" not in str(e), (path, done)  # noqa: PT017
        shutil.rmtree(run)
        shutil.copytree(kept, run)
    assert n_refused > 5
