"""Folders from strangers run no code, follow no link and fill no memory: one sentence, or what they honestly hold."""

import copy
import hashlib
import io
import json
import os
import pickle
import re
import resource
import shutil
import time
import warnings
import zipfile

import numpy as np
import pytest
import xarray as xr
import zarr

from bayesmrf import BayesianMRF, GroupedMRF, LabelFieldMRF, SpikeSlabMRF, graphs, results, save
from bayesmrf.errors import StoreError
from bayesmrf.report import write_report
from bayesmrf.results import load
from bayesmrf.runs import store
from bayesmrf.runs.checkpoint import committed
from bayesmrf.runs.identity import checksum
from bayesmrf.runs.run import sample
from bayesmrf.runs.zarr_results import check_group
from tests.walks import OPTIONS, Fails, equal

VALUES = [None, True, -1, 0, 1, 2.5, 10**10, 10**30, 1e308, float("nan"), "", "x", "../x", "\x1b[31m", [], [[]], {}]
VALUES += [{"a": []}, [10**10] * 3, ["theta"], {"type": "os:system", "fields": {}}, {"array": "x"}]
FAST = {**OPTIONS, "n_draws": 4, "n_warmup": 2, "thin": 1, "n_chains": 2, "n_jobs": 1}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "run.zarr"
    X = np.random.default_rng(5).integers(0, 2, size=(50, 3))
    options = {"n_draws": 20, "n_warmup": 5, "n_chains": 2, "random_state": 1, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(SpikeSlabMRF(method="exact", **options).fit(X).posterior_, path)
    return path


@pytest.fixture
def run(result, tmp_path):
    return shutil.copytree(result, tmp_path / "run.zarr")


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
    """Fail where anything is opened before it was checked."""

    def opened(*args, **kwargs):
        raise AssertionError("opened")

    for module, name in ((zarr, "open_array"), (zarr, "open_group"), (zarr, "open"), (xr, "open_dataset")):
        monkeypatch.setattr(module, name, opened)


def edit(path, change):
    """Change the JSON of a file; checksums of records are made right again."""
    record = json.loads(path.read_text())
    change(record)
    attributes = record.get("attributes")
    if isinstance(attributes, dict) and "checksum" in attributes:
        del attributes["checksum"]
        attributes["checksum"] = checksum(attributes)
    path.write_text(json.dumps(record))


class Code:
    """What is called when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


def test_a_pickle_in_an_array_of_format_2_is_never_read(run, tmp_path, closed):
    array = run / "posterior" / "theta"
    shutil.rmtree(array)
    array.mkdir()
    about = {"zarr_format": 2, "shape": [1, 1, 1], "chunks": [1, 1, 1], "dtype": "|O", "fill_value": None, "order": "C",
             "filters": [{"id": "pickle", "protocol": 5}], "compressor": None}  # fmt: skip
    (array / ".zarray").write_text(json.dumps(about))
    (array / "0.0.0").write_bytes(pickle.dumps([Code(str(tmp_path / "ran"))]))
    with pytest.raises(StoreError, match="posterior is damaged, or was not written by this package"):
        load(run)
    with pytest.raises(StoreError):
        write_report(run, tmp_path / "page.html", False)
    assert not (tmp_path / "ran").exists()


def zstd_of(size):
    """A Zstandard frame that says it holds so many bytes."""
    return b"\x28\xb5\x2f\xfd" + bytes([0xE0]) + size.to_bytes(8, "little") + b"\x01\x00\x00"


ONE = {"chunk_shape": [1, 1, 1]}
ARRAYS = {
    "object type": lambda a: a.update(data_type="variable_length_bytes"),
    "numpy type": lambda a: a.update(data_type={"name": "numpy.datetime64", "configuration": {"unit": "s"}}),
    "pickle": lambda a: a["codecs"].append({"name": "numcodecs.pickle", "configuration": {}}),
    "blosc": lambda a: a["codecs"].__setitem__(1, {"name": "blosc", "configuration": {}}),
    "sharding": lambda a: a["codecs"].__setitem__(0, {"name": "sharding_indexed", "configuration": {}}),
    "format 2": lambda a: a.update(zarr_format=2),
    "transformers": lambda a: a.update(storage_transformers=[{"name": "x"}]),
    "10^10 chains": lambda a: a["shape"].__setitem__(0, 10**10),
    "10^30 draws": lambda a: a["shape"].__setitem__(1, 10**30),
    "a huge chunk": lambda a: a["chunk_grid"]["configuration"].update(chunk_shape=[10**10, 20, 6]),
    "chunks of nothing": lambda a: a["chunk_grid"]["configuration"].update(chunk_shape=[0, 20, 6]),
    "many chunks": lambda a: a["shape"].__setitem__(0, 10**5) or a["chunk_grid"].update(configuration=ONE),
    "dimensions": lambda a: a.update(shape=[1] * 40),
    "negative": lambda a: a["shape"].__setitem__(0, -2),
    "fraction": lambda a: a["shape"].__setitem__(0, 2.0),
    "scaled": lambda a: a["attributes"].update(scale_factor=2),
    "keys": lambda a: a.update(chunk_key_encoding={"name": "v2", "configuration": {"separator": "."}}),
    "unknown": lambda a: a.update(extension={"must_understand": False}),
    "group": lambda a: a.update(node_type="group"),
}  # fmt: skip


@pytest.mark.parametrize("what", ARRAYS)
def test_metadata_are_checked_before_anything_is_opened(run, closed, what):
    edit(run / "posterior" / "theta" / "zarr.json", ARRAYS[what])
    began = time.perf_counter()
    with pytest.raises(StoreError, match="posterior is damaged, or was not written by this package"):
        load(run)
    assert time.perf_counter() - began < 2


def test_what_is_checked_is_what_is_written(run, closed):
    """The control of the tests above: an honest store gets as far as being opened."""
    with pytest.raises(StoreError, match=r"zarr cannot read it \(AssertionError: opened\)"):
        load(run)


@pytest.mark.parametrize(
    "content", [zstd_of(2**40), zstd_of(4800), b"", b"\x28\xb5\x2f\xfd\x00X" + b"\0" * 20, b"x" * 40]
)
def test_a_chunk_that_unpacks_to_another_size_is_refused(run, closed, content):
    (run / "posterior" / "theta" / "c" / "0" / "0" / "0").write_bytes(content)
    with pytest.raises(StoreError, match="a chunk"):
        load(run)


def test_a_text_that_claims_to_be_many_is_refused(run, closed):
    from numcodecs.zstd import compress

    chunk = run / "posterior" / "edge" / "c" / "0"
    chunk.write_bytes(compress(b"\xff\xff\xff\xff" + b"\0" * 40, 0))
    with pytest.raises(StoreError, match="a chunk does not have the declared size"):
        load(run)


@pytest.mark.parametrize(
    "place", ["posterior", "posterior/theta", "posterior/theta/zarr.json", "posterior/theta/c/0/0/0", "zarr.json"]
)
def test_links_are_not_followed(run, tmp_path, place):
    target = tmp_path / "elsewhere"
    (run / place).rename(target)
    (run / place).symlink_to(target)
    with pytest.raises(StoreError):
        load(run)
    assert target.exists()


def test_names_lead_nowhere_else(run, result, closed):
    for group in ("../other.zarr/posterior", "/etc", "posterior/../posterior", ".", ""):

        def change(record, group=group):
            record["attributes"]["bayesmrf"]["groups"].append(group)

        edit(run / "zarr.json", change)
        with pytest.raises(StoreError):
            load(run)
        shutil.copy(result / "zarr.json", run / "zarr.json")


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
    (tmp_path / "run" / "zarr.json.partial").symlink_to(tmp_path / "mine")
    (tmp_path / "run" / "a.npz").symlink_to(tmp_path / "mine")
    store.write_record(tmp_path / "run" / "zarr.json", {"bayesmrf": {}})
    store.write_arrays(tmp_path / "run" / "a.npz", {"a": np.zeros(3)})
    assert (tmp_path / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    "spec",
    [
        {"type": "subprocess:Popen", "fields": {"args": {"value": "true"}}},
        {"type": "os:stat_result", "fields": {}},
        {"type": "bayesmrf:GroupedMRF", "fields": {}},
        {"type": "bayesmrf.posterior.parameters.metropolis:np.ndarray", "fields": {}},
        {"type": "bayesmrf.errors:StoreError", "fields": {}},
        {"type": "tests.walks:Info", "fields": {}},
        {"type": 3, "fields": {}},
        {"array": "nothing"},
        {"value": [1]},
        {},
        [],
    ],
)
def test_a_state_is_made_of_namedtuples_of_the_kernel_alone(checkpoint, spec):
    def change(record):
        record["attributes"]["spec"] = spec

    edit(committed(checkpoint / "checkpoint" / "chain_0"), change)
    with pytest.raises(StoreError):
        sample(Fails(), checkpoint=checkpoint, **FAST)


def test_nesting_without_end(result, tmp_path, checkpoint):
    run = shutil.copytree(result, tmp_path / "result.zarr")
    (run / "zarr.json").write_text("[" * 10**6)
    with pytest.raises(StoreError):
        load(run)
    committed(checkpoint / "checkpoint" / "chain_0").write_text('{"attributes":' * 10**5)
    with pytest.raises(StoreError):
        sample(Fails(), checkpoint=checkpoint, **FAST)


def test_other_formats_are_refused_in_one_sentence(run, checkpoint):
    def older(record):
        record["attributes"]["bayesmrf"]["format"] = 1

    for folder, act in ((run, load), (checkpoint, load), (checkpoint, lambda p: sample(Fails(), checkpoint=p, **FAST))):
        edit(folder / "zarr.json", older)
        with pytest.raises(StoreError, match="has store format 1, which this version cannot read"):
            act(folder)
    assert sample(Fails(), checkpoint=checkpoint, overwrite=True, **FAST).complete


def zipped(path, arrays, compression=zipfile.ZIP_STORED):
    """A .npz file of given members."""
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in arrays.items():
            file.writestr(name, content)


def array(a):
    file = io.BytesIO()
    np.lib.format.write_array(file, a, allow_pickle=True)
    return file.getvalue()


HUGE = array(np.zeros(3)).replace(b"(3,), }           ", b"(300000000000,), }")


@pytest.mark.parametrize(
    "write",
    [
        lambda path, ran: zipped(path, {"generator.npy": array(np.array([Code(ran)], dtype=object))}),
        lambda path, ran: path.write_bytes(pickle.dumps(Code(ran))),
        lambda path, ran: path.write_bytes(array(np.zeros(3))),
        lambda path, ran: zipped(path, {"generator.npy": b"no array"}),
        lambda path, ran: zipped(path, {"generator.npy": array(np.zeros(10**8))}, zipfile.ZIP_DEFLATED),
        lambda path, ran: zipped(path, {"generator.npy": HUGE}),
        lambda path, ran: zipped(path, {"generator.npy": array(np.array(["text"]))}),
        lambda path, ran: path.symlink_to("/dev/zero"),
    ],
    ids=["object", "pickle", "npy", "bytes", "bomb", "huge", "text", "link"],
)
def test_arrays_of_strangers_run_no_code_and_fill_no_memory(checkpoint, tmp_path, write, monkeypatch):
    """Also where the checksum is right."""
    monkeypatch.setattr(store, "FREE", 2**26)
    record = committed(checkpoint / "checkpoint" / "chain_0")
    name = store.read_record(record)["state"][0]
    path = record.with_name(name)
    path.unlink()
    write(path, str(tmp_path / "ran"))
    digest = "" if path.is_symlink() else hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
    edit(record, lambda found: found["attributes"]["state"].__setitem__(1, digest))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(StoreError, match=re.escape(str(path))) as caught:
        sample(Fails(), checkpoint=checkpoint, **FAST)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 10**5  # kilobytes
    assert "have changed" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["../other.npz", "/etc/passwd", "1-00000000-state-0.npz/../x.npz", "", 3])
def test_names_of_arrays_lead_nowhere_else(checkpoint, name):
    def change(record):
        record["attributes"]["state"][0] = name

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
    files = [p.relative_to(run) for p in run.rglob("zarr.json")]
    files += [p for p in files if len(p.parts) == 1] * len(files)  # half of the time the record
    n_refused = 0
    for path, done in mutants(run, files, rng, 80):
        began = time.perf_counter()
        try:
            found = load(run)
        except StoreError as e:
            n_refused += 1
            assert "\n" not in str(e), (path, done)  # noqa: PT017
            continue
        finally:
            assert time.perf_counter() - began < 5, (path, done)
        assert results._digests(found) == results._digests(honest), (path, done)
    assert n_refused > 15


def test_mutated_results_make_a_page_or_one_sentence(run, rng, tmp_path):
    """Attributes may say anything that is text or a number."""
    page = tmp_path / "page.html"
    for path, done in mutants(run, ["zarr.json"], rng, 12):
        try:
            write_report(run, page, True)
        except StoreError:
            continue
        except Exception as e:
            raise AssertionError((path, done)) from e


def test_mutated_checkpoints_are_one_sentence_or_the_same(rng, tmp_path, checkpoint):
    run, kept = checkpoint, shutil.copytree(checkpoint, tmp_path / "kept")
    whole = sample(Fails(), checkpoint=kept, **FAST)
    files = ["zarr.json", *[committed(run / "checkpoint/chain_0").relative_to(run)] * 5]
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


def test_sizes_that_are_declared_may_be_sparse(tmp_path):
    """What is all zeros takes no room on the disk, and is no attack."""
    group = zarr.create_group(tmp_path / "zeros", zarr_format=3)
    group.create_array("a", shape=(1000, 1000), dtype="f8", chunks=(1000, 1000))
    assert check_group(tmp_path / "zeros") == ["a"]
