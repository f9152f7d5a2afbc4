"""Results of every estimator as one netCDF file, by each engine that is installed, and in ArviZ."""

import gc
from contextlib import suppress

import arviz_stats
import numpy as np
import pytest

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, results, save
from bayesmrf.errors import StoreError
from bayesmrf.estimators import LabelFieldMRF
from bayesmrf.inference.unseen_modes import ModelTails, Unseen
from bayesmrf.results import load
from bayesmrf.runs import netcdf

from .commands import one_sentence
from .posterior_tree import parameter_tree, posterior_tree, structure_tree

OPTIONS = {"n_draws": 40, "n_warmup": 20, "n_chains": 2, "random_state": 1, "progress": False}


@pytest.fixture(params=netcdf.ENGINES)
def engine(request, monkeypatch):
    for package in netcdf.ENGINES[request.param]:
        pytest.importorskip(package)
    monkeypatch.setattr(netcdf, "ENGINES", {request.param: netcdf.ENGINES[request.param]})
    return request.param


def of_estimators(rng):
    """A small fit of each estimator, with what its results may contain."""
    binary = rng.integers(0, 2, (60, 4))
    levels = rng.integers(0, 3, (60, 4))
    lacking = np.where(rng.random(binary.shape) < 0.05, np.nan, binary)
    people = np.array(["a", "b"] * 30)
    yield "parameters", BayesianMRF(**OPTIONS).fit(lacking)
    yield "edges", SpikeSlabMRF(**OPTIONS).fit(levels)
    yield "groups", GroupedMRF(**OPTIONS).fit(binary)
    yield "groups and edges", GroupedMRF(candidates="complete", **OPTIONS).fit(binary)
    yield "differences", CompareMRF(**OPTIONS).fit(binary, groups=people)
    points = np.linspace(0, 1, 40)[:, None]
    yield "labels", LabelFieldMRF(**OPTIONS).fit(points, (points[:, 0] > 0.5).astype(int))


@pytest.fixture(scope="module")
def fitted(module_rng):
    return {name: estimator.posterior_ for name, estimator in of_estimators(module_rng)}


@pytest.fixture
def tree(rng):
    """A posterior with everything that is added later: a search for modes, a partition."""
    tree = posterior_tree(rng, fields="grouped", inclusion=[0.5] * 12, name="é", constants={"a": True})
    unseen = Unseen(1.5, np.int64(1), np.float32(2.0), 0.5, 0.25)
    tails = ModelTails(*[np.zeros(2) for _ in ModelTails._fields])
    results.add_mode_check(tree, [(0, 1), (1, 2)], [unseen] * 2, [tails] * 2, unseen, "yes")
    results.add_partition(tree, "groups", np.arange(12) % 3)
    return tree


def test_of_every_estimator(fitted, engine, tmp_path):
    assert len(fitted) == 6
    for name, tree in fitted.items():
        tree.to_netcdf(tmp_path / "plain.nc", engine=engine)
        save(tree, tmp_path / f"{name}.nc")
        save(tree, tmp_path / f"{name}.zarr")
        for path in ("plain.nc", f"{name}.nc", f"{name}.zarr"):
            found = load(tmp_path / path)
            assert found.identical(tree), (name, path)
            assert all(a.dtype.kind == b.dtype.kind or a.dtype.kind in "OTU"
                       for key in tree.children
                       for a, b in ((found[key][v], tree[key][v]) for v in tree[key].dataset.variables))  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")  # R-hat of a constant
def test_arviz_summarises_every_posterior(fitted, rng):
    made_up = {"structure": structure_tree(rng), "absent": structure_tree(rng, inclusion=np.zeros(10))}
    for name, tree in (fitted | made_up).items():
        n = sum(v[0, 0].size for v in tree["posterior"].dataset.data_vars.values())
        assert len(arviz_stats.summary(tree)) == n, name
        for interval in (arviz_stats.hdi, arviz_stats.eti):
            for group in ("posterior", "sample_stats"):
                found = interval(tree, group=group)
                assert set(found[group].data_vars if group in found else found.data_vars) == (
                    set(tree[group].dataset.data_vars)
                ), (name, group)


def test_all_that_is_added(tree, engine, tmp_path):
    save(tree, tmp_path / "run.nc")
    assert load(tmp_path / "run.nc").identical(tree)
    tree.to_netcdf(tmp_path / "plain.nc", engine=engine)
    assert load(tmp_path / "plain.nc").identical(tree)
    for node in tree.subtree:
        assert not any(isinstance(value, bool | np.bool) for value in node.attrs.values())
        assert not any(v.dtype == bool for v in node.dataset.variables.values())


def test_engines_read_the_files_of_each_other(tree, tmp_path, monkeypatch):
    found = []
    for name, packages in netcdf.ENGINES.items():
        for package in packages:
            pytest.importorskip(package)
        with monkeypatch.context() as only:
            only.setattr(netcdf, "ENGINES", {name: packages})
            save(tree, tmp_path / f"{name}.nc")
    for written in netcdf.ENGINES:
        for name, packages in netcdf.ENGINES.items():
            with monkeypatch.context() as only:
                only.setattr(netcdf, "ENGINES", {name: packages})
                found.append(load(tmp_path / f"{written}.nc").identical(tree))
    assert found == [True] * 4


def test_report_of_a_file(rng, engine, bayesmrf, folder):
    save(parameter_tree(rng), "run.nc")
    assert bayesmrf("report", "run.nc")[0] == 0
    assert (folder / "report.html").stat().st_size > 10_000
    one_sentence(bayesmrf("report", "none.nc", "--out", "other.html"), r"none\.nc does not exist")
    (folder / "text.nc").write_text("mine")
    one_sentence(bayesmrf("report", "text.nc", "--out", "other.html"), r"text\.nc is damaged, or has no results")


def test_a_run_is_a_folder(bayesmrf, folder):
    given = bayesmrf("structure", "votes.csv", "--out", "run.nc")
    one_sentence(given, r"--out must be a folder, such as run\.zarr, got 'run\.nc'; save\(load\(folder\), file\)")


def test_files_are_replaced_only_if_asked_and_ours(tree, engine, tmp_path):
    path = tmp_path / "run.nc"
    save(tree, path)
    with pytest.raises(StoreError, match="holds results already; give another path or set overwrite=True"):
        save(tree, path)
    tree.attrs["name"] = "other"
    save(tree, path, overwrite=True)
    assert load(path).attrs["name"] == "other"
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]
    path.write_text("mine")
    with pytest.raises(StoreError, match="exists and was not written by bayesmrf; give another path"):
        save(tree, path, overwrite=True)
    assert path.read_text() == "mine"


# h5netcdf closes a file again that it could not open, when it is collected, which fails.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_damage_is_one_sentence(tree, engine, tmp_path, rng):
    save(tree, path := tmp_path / "run.nc")
    whole = path.read_bytes()
    for cut in (0, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(StoreError, match="damaged"):
            load(path)
    theta = tree["posterior"]["theta"].values
    at = whole.index(theta[0].tobytes())  # all of it: it may begin with zeros
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(StoreError, match=r"posterior/theta is damaged: its contents have changed"):
        load(path)
    for _ in range(30):
        changed = bytearray(whole)
        changed[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
        path.write_bytes(changed)
        with suppress(StoreError):  # any other error fails; some bytes of the format have no meaning
            assert load(path).equals(tree)
    gc.collect()


def test_attributes_are_in_the_checksum(tree, engine, tmp_path):
    save(tree, path := tmp_path / "run.nc")
    whole = path.read_bytes()
    assert whole.count(b"stripped-beta") == 1
    path.write_bytes(whole.replace(b"stripped-beta", b"stripped-bets"))
    with pytest.raises(StoreError, match="damaged"):
        load(path)


def test_a_small_file_that_declares_much_is_refused(tree, engine, tmp_path, monkeypatch):
    save(tree, path := tmp_path / "run.nc")
    monkeypatch.setattr(netcdf, "FREE", 1)
    load(path)
    monkeypatch.setattr(netcdf, "DENSEST", 0)
    with pytest.raises(StoreError, match="its arrays would take"):
        load(path)


def test_without_an_engine(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(netcdf, "find_spec", lambda name: None)
    (tmp_path / "there.nc").touch()
    for call in (lambda: save(tree, tmp_path / "run.nc"), lambda: load(tmp_path / "there.nc")):
        with pytest.raises(StoreError, match=r"needs h5netcdf or netCDF4; run pip install 'bayesmrf\[netcdf\]'"):
            call()
