"""Results of every estimator exported to one netCDF file, by each engine that is installed, and in ArviZ."""

import arviz_stats
import numpy as np
import pytest
import xarray as xr

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, SpikeSlabMRF, results, save
from bayesmrf.errors import StoreError
from bayesmrf.estimators import LabelFieldMRF
from bayesmrf.inference.unseen_modes import ModelTails, Unseen
from bayesmrf.results import load
from bayesmrf.runs import netcdf
from tests.helpers.commands import one_sentence
from tests.helpers.posterior_tree import parameter_tree, posterior_tree, structure_tree

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


def opened(path, engine):
    """The export as others read it."""
    with xr.open_datatree(path, engine=engine, decode_times=False, decode_timedelta=False) as file:
        return file.load()


def test_of_every_estimator(fitted, engine, tmp_path):
    assert len(fitted) == 6
    for name, tree in fitted.items():
        save(tree, tmp_path / f"{name}.nc")
        save(tree, tmp_path / name)
        export = opened(tmp_path / f"{name}.nc", engine)
        for found in (export, load(tmp_path / name)):
            assert found.equals(tree), name
            assert all(a.dtype.kind == b.dtype.kind or a.dtype.kind in "OTU"
                       for key in tree.children
                       for a, b in ((found[key][v], tree[key][v]) for v in tree[key].dataset.variables))  # fmt: skip
        assert load(tmp_path / name).identical(tree)
        assert set(export.attrs) == set(tree.attrs)


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
    assert opened(tmp_path / "run.nc", engine).equals(tree)
    for node in tree.subtree:
        assert not any(isinstance(value, bool | np.bool) for value in node.attrs.values())
        assert not any(v.dtype == bool for v in node.dataset.variables.values())


def test_an_export_is_not_read_as_a_run(rng, engine, bayesmrf, folder):
    save(parameter_tree(rng), "run.nc")
    says = r"run\.nc is an export, which xarray\.open_datatree and ArviZ read; give the folder of the run"
    with pytest.raises(StoreError, match=says):
        load("run.nc")
    one_sentence(bayesmrf("report", "run.nc"), says)
    one_sentence(bayesmrf("report", "none.nc", "--out", "other.html"), r"none\.nc does not exist")
    assert arviz_stats.summary(opened("run.nc", engine)).shape[0]


def test_a_run_is_a_folder(bayesmrf, folder):
    given = bayesmrf("structure", "votes.csv", "--out", "run.nc")
    one_sentence(given, r"--out must be a folder, such as votes_run, got 'run\.nc'; save\(load\(folder\), file\)")


def test_files_are_replaced_only_if_asked_and_ours(tree, engine, tmp_path):
    path = tmp_path / "run.nc"
    save(tree, path)
    with pytest.raises(StoreError, match="holds results already; give another path or set overwrite=True"):
        save(tree, path)
    tree.attrs["name"] = "other"
    save(tree, path, overwrite=True)
    assert opened(path, engine).attrs["name"] == "other"
    assert [p.name for p in tmp_path.iterdir()] == ["run.nc"]
    path.write_text("mine")
    with pytest.raises(StoreError, match="exists and was not written by bayesmrf; give another path"):
        save(tree, path, overwrite=True)
    assert path.read_text() == "mine"


def test_without_an_engine(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(netcdf, "find_spec", lambda name: None)
    with pytest.raises(StoreError, match=r"needs h5netcdf or netCDF4; run pip install 'bayesmrf\[netcdf\]'"):
        save(tree, tmp_path / "run.nc")
