"""Draws kept as bits and the values that are not zero are those of plain arrays, in whatever way they are read."""

import pickle
import re
import tracemalloc
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
import xarray as xr

from bayesmrf import CompareMRF, SpikeSlabMRF, methods, results
from bayesmrf.errors import StoreError
from bayesmrf.memory import MostlyZero
from bayesmrf.results import blocks, on_disk
from bayesmrf.results.sparse_array import variable
from bayesmrf.results.summary import summarise
from bayesmrf.runs import draws, run
from bayesmrf.runs.draws import SparseDraws, SparseRows, is_sparse, loaded, stored
from tests.long import few

SHAPES = [((5000,), np.float64), ((2, 700), np.float64), ((3, 2, 300), np.float32), ((4500,), bool), ((300,), np.int64)]


@pytest.fixture(params=[0, 0.02, 0.5, 1], ids="{:g} present".format)
def share(request):
    return request.param


def made_up(rng, shape, dtype, share, n_chains=2, n_draws=61):
    """Draws of which a share is not zero and, of groups, many are equal."""
    there = rng.random((n_chains, n_draws, *shape)) < share
    x = np.where(there, 100 * rng.standard_normal(there.shape), 0).astype(dtype)
    if len(shape) > 1:
        same = rng.random((n_chains, n_draws, *shape[:-2], shape[-1])) < 0.7
        x[..., 1, :] = np.where(same, x[..., 0, :], x[..., 1, :])
    if np.dtype(dtype).kind == "f":
        x[0, 3].flat[:2] = np.nan, -np.inf
    return x


def rows_of(x):
    """The same draws, appended one after the other."""
    found = SparseRows(x.shape[1:], x.dtype)
    for i, draw in enumerate(x):
        found[i] = draw
    return found


def together(chains, n):
    return SparseDraws([rows.parts(n) for rows in chains], (len(chains), n, *chains[0].shape), chains[0].dtype)


@pytest.mark.parametrize(("shape", "dtype"), SHAPES)
def test_draws_are_those_that_were_appended(rng, monkeypatch, shape, dtype, share):
    """Also if they come in stretches, through pickle and the arrays of a file, and if the last ones are left out."""
    monkeypatch.setattr(draws, "_TAIL", 2**17)
    monkeypatch.setattr(draws, "_PART", 2**18)
    x = made_up(rng, shape, dtype, share)
    first, other = rows_of(x[0]), SparseRows(shape, x.dtype)
    rows = rows_of(x[1])
    other.extend(x[1, :7])
    other.extend(pickle.loads(pickle.dumps(rows[7:40])))
    other.extend(loaded(stored({"theta": rows[40:61]}))["theta"])
    for n in (61, 50):
        found = together([first, other], n)
        assert found.dense().tobytes() == x[:, :n].tobytes()
        some, few = np.flatnonzero(rng.random(n) < 0.3), np.flatnonzero(rng.random(shape[-1]) < 0.01)
        part = found.read(np.array([1, 0]), some, few)
        assert part.tobytes() == np.ascontiguousarray(x[[1, 0]][:, some][..., few]).tobytes()


def test_draws_of_few_edges_take_little_memory(rng):
    """Of 5,000 candidates 2 % exist: 100 doubles and less than their 5,000 bits; the control has all."""
    sizes = [together([rows_of(made_up(rng, (5000,), float, p, 1)[0])], 61).nbytes / 61 for p in (0.02, 1)]
    assert sizes[0] < 100 * 8 + 5000 / 8 < 5000 * 8 <= sizes[1]


def test_the_sign_of_zeros_alone_is_lost():
    x = np.array([[0.0, -0.0, 1.0] * 100])
    found = together([rows_of(x)], 1).dense()[0]
    assert np.array_equal(found, x)
    assert not np.signbit(found).any()
    assert np.signbit(x).any()


def test_arrays_of_a_file_that_do_not_belong_together():
    good = stored({"theta": rows_of(np.eye(300))[0:300]})
    bad = [
        good | {"theta.values": good["theta.values"][1:]},
        good | {"theta.shape": np.array([301 * 8])},
        good | {"theta.bits": good["theta.bits"].astype(np.int16)},
        {name: v for name, v in good.items() if name != "theta.values"},
    ]
    for arrays in bad:
        with pytest.raises((KeyError, ValueError)):
            loaded(arrays)
    assert np.array_equal(together([rows_of(np.eye(300))], 300).dense()[0], np.eye(300))


def test_the_kernel_says_which_draws_are_sparse():
    assert is_sparse(MostlyZero("feature"), (300,), float)
    assert not is_sparse(("feature",), (300,), float)  # by the kernel's word, not by the values
    assert not is_sparse(MostlyZero("feature"), (30,), float)
    assert MostlyZero("group", "feature") == ("group", "feature")


@pytest.mark.parametrize(("shape", "dtype"), SHAPES)
def test_a_variable_is_read_as_an_array(rng, shape, dtype):
    """By numbers, slices, lists in any order, and as a whole, which is kept then."""
    x = made_up(rng, shape, dtype, 0.1)
    dims = ("chain", "draw", *"abc"[: len(shape)])
    found, dense = variable(dims, together([rows_of(chain) for chain in x], 61)), xr.Variable(dims, x)
    if dtype is bool:
        dense = dense.astype(np.int8)
    assert (found.dims, found.shape, found.dtype) == (dense.dims, dense.shape, dense.dtype)
    for key in (
        (0,),
        (slice(None), 5),
        (1, slice(50, 3, -7)),
        (slice(None), [9, 2, 2, 40]),
        (Ellipsis, slice(10, 20)),
        (Ellipsis, [250, 3, 17]),
        (0, [1, 0], Ellipsis, [4, 4, 1]),
        (Ellipsis, np.array([], dtype=int)),
        (Ellipsis, -1),
    ):
        np.testing.assert_array_equal(found[key].values, dense[key].values)
    assert found.copy(deep=True).identical(dense)
    assert pickle.loads(pickle.dumps(found)).identical(dense)
    assert np.shares_memory(found.values, found.values)


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_are_read_as_a_whole(rng, monkeypatch, sparse):
    """Sums of draws are added in the same order, bit for bit; the control is another order."""
    monkeypatch.setattr(blocks, "_BLOCK", 2**14)
    x = made_up(rng, (2, 700), np.float64, 0.5)
    x[~np.isfinite(x)] = 0
    dims = ("chain", "draw", "group", "feature")
    found = variable(dims, together([rows_of(chain) for chain in x], 61)) if sparse else xr.Variable(dims, x)
    columns = blocks.Columns(found, 11, 652)
    assert len(list(columns.blocks())) > 20
    assert columns.means().tobytes() == x.mean(axis=(0, 1))[:, 11:652].tobytes()
    assert x[:, ::-1].mean(axis=(0, 1)).tobytes() != x.mean(axis=(0, 1)).tobytes()
    for item in (640, 3, 4, np.int64(5)):
        np.testing.assert_array_equal(columns[:, :, item], x[..., 11 + item])
    np.testing.assert_array_equal(np.concatenate(list(blocks.in_turn(found))), x.reshape(-1, 2, 700))
    np.testing.assert_array_equal(blocks.at_draws(found, [0, 60, 61, 100]), x.reshape(-1, 2, 700)[[0, 60, 61, 100]])


def data(rng, n_nodes=24, n=150):
    """Yes/no answers of which neighbours agree; 24 nodes have 276 candidates."""
    x = rng.integers(0, 2, (n, n_nodes))
    for i in range(1, n_nodes):
        x[:, i] = np.where(rng.random(n) < 0.5, x[:, i - 1], x[:, i])
    return x


QUICK = {"n_draws": 60, "n_warmup": 20, "n_chains": 2, "random_state": 3, "progress": False}
FITS = {
    "reversible-jump": lambda **more: SpikeSlabMRF(method=methods.ReversibleJump(n_iterations=1), **QUICK | more),
    "comparison": lambda **more: CompareMRF(
        method=methods.ReversibleJump(n_particles=64, n_iterations=1), baseline="spike-slab", **QUICK | more
    ),
}


def fitted(name, X, **more):
    est = FITS[name](**more)
    return est.fit(X, np.arange(len(X)) % 2) if isinstance(est, CompareMRF) else est.fit(X)


def tables_of(est):
    """Everything that is computed from the draws, as texts, in which zeros have no sign."""
    own = ["differences", "node-differences"] if isinstance(est, CompareMRF) else []
    found = [est.table(name).to_csv() for name in ["edges", "nodes", "findings", "convergence", *own]]
    found += [results.diagnostics(est.posterior_, None).to_csv()]
    found += [est.interval().to_csv(), str(est.strength().values.tolist())]
    found += [summarise(est.posterior_).n_edges_sentence, str(est.theta_.tolist()), str(est.density_)]
    return [re.sub(r"-0\.0(?![0-9])", "0.0", text) for text in (*found, str(est.posterior_.attrs["findings"]))]


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_a_fit_is_that_of_plain_arrays(rng, monkeypatch, tmp_path, name):
    """Tables, tree, checksums of a store: of both forms, and if read in small blocks."""
    X = data(rng)
    sparse = fitted(name, X)
    assert not isinstance(sparse.posterior_["posterior"].dataset.variables["theta"]._data, np.ndarray)
    told = tables_of(sparse)
    with monkeypatch.context() as m:
        m.setattr(blocks, "_BLOCK", 2**16)
        assert tables_of(sparse) == told
    results.save(sparse, tmp_path / "whole")
    with monkeypatch.context() as m:
        m.setattr(on_disk, "_BLOCK", 2**12)
        results.save(sparse, tmp_path / "sparse")
    stores = []
    for path in ("whole", "sparse"):
        with np.load(tmp_path / path / "results.npz") as arrays:
            stores.append({member: arrays[member].tobytes() for member in arrays})
    assert stores[0] == stores[1]
    with monkeypatch.context() as m:
        m.setattr(draws, "_FEW", 10**9)
        dense = fitted(name, X)
    assert isinstance(dense.posterior_["posterior"].dataset.variables["theta"]._data, np.ndarray)
    assert tables_of(dense) == told
    for group in ("posterior", "sample_stats", "constant_data", "observed_data"):
        assert sparse.posterior_[group].to_dataset().identical(dense.posterior_[group].to_dataset())
    with monkeypatch.context() as m:
        m.setattr(on_disk, "_BLOCK", 2**12)
        found = results.load(tmp_path / "sparse")
    assert not isinstance(found["posterior"].dataset.variables["theta"]._data, np.ndarray)
    results.save(found, tmp_path / "again")
    assert not isinstance(found["posterior"].dataset.variables["theta"]._data, np.ndarray)
    for each in (found, results.load(tmp_path / "again")):
        assert each["posterior"].identical(dense.posterior_["posterior"])


@pytest.mark.parametrize("name", FITS)
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_a_run_that_goes_on_has_the_same_draws(rng, tmp_path, name):
    """From a checkpoint, by workers, and both; a checkpoint of which a file was exchanged is damaged."""
    X = data(rng)
    whole = fitted(name, X).posterior_["posterior"].to_dataset()
    fitted(name, X, n_draws=25, checkpoint=tmp_path / "run")
    with ProcessPoolExecutor(2) as executor:
        went_on = fitted(name, X, checkpoint=tmp_path / "run", executor=executor)
        by_workers = fitted(name, X, executor=executor)
    for est in (went_on, by_workers, fitted(name, X, checkpoint=tmp_path / "run")):
        found = est.posterior_["posterior"].to_dataset()
        assert found.identical(whole)
        assert found["theta"].values.tobytes() == whole["theta"].values.tobytes()
    file = max((tmp_path / "run" / "checkpoint" / "chain_0").glob("*-draws-*.npz"))
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(StoreError, match="damaged"):
        fitted(name, X, checkpoint=tmp_path / "run")


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_a_run_until_good_takes_as_many_draws(rng, monkeypatch):
    """Looks read blocks: they find what those at plain arrays do, and the draws are theirs."""
    monkeypatch.setattr(run, "MOST", 625)
    X = data(rng)
    est = fitted("reversible-jump", X, n_draws=None)
    monkeypatch.setattr(draws, "_FEW", 10**9)
    dense = fitted("reversible-jump", X, n_draws=None)
    assert est.posterior_["posterior"].identical(dense.posterior_["posterior"])
    assert est.posterior_["posterior"].sizes["draw"] == 625
    assert est.posterior_.attrs["short"] == dense.posterior_.attrs["short"]


@pytest.mark.parametrize("sparse", few([True, False], False))
@pytest.mark.filterwarnings("ignore::bayesmrf.errors.BayesMRFWarning")
def test_peak_memory_of_a_fit_with_many_candidates(rng, monkeypatch, tmp_path, sparse):
    """12,720 candidates, 1,600 draws: as plain arrays, which the control has, 166 MB of theta and 20 of inclusions."""
    X = rng.integers(0, 2, (300, 160))
    X[:, 1::2] = np.where(rng.random((300, 80)) < 0.8, X[:, ::2], X[:, 1::2])
    options = {"method": methods.ReversibleJump(n_particles=64, n_iterations=1), **QUICK, "n_chains": 4, "n_jobs": 1}
    SpikeSlabMRF(**options | {"n_draws": 5}).fit(X).score(X[:10])  # compiles
    monkeypatch.setattr(draws, "_FEW", 256 if sparse else 10**9)
    tracemalloc.start()
    est = SpikeSlabMRF(**options | {"n_draws": 400}).fit(X)
    est.table("edges")
    est.score(X[:10])
    results.save(est, tmp_path / "run")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (peak < 130e6) == sparse
    assert (peak > 186e6) != sparse
    tracemalloc.start()
    found = results.load(tmp_path / "run")
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.attrs["n_warmup"] == est.posterior_.attrs["n_warmup"]
    assert (kept < 40e6) == (peak < 60e6) == sparse
