"""Results in ArviZ's form, on disk and back; whatever is wrong with a store is said, and nothing is lost."""

import errno
import json
import re
import signal
import warnings
from enum import Enum
from types import SimpleNamespace
from typing import NamedTuple

import arviz_stats
import numpy as np
import pytest
import xarray as xr
from scipy.special import expit

from bayesmrf import BayesianMRF, GroupedMRF, SpikeSlabMRF, graphs, results
from bayesmrf.errors import OptionError, StoreError
from bayesmrf.models import Agreement
from bayesmrf.results import on_disk
from bayesmrf.results.summary.inclusion import mean_and_interval
from bayesmrf.runs import sealed, store
from bayesmrf.runs.run import sample
from tests.oracle import states as oracle


class State(NamedTuple):
    theta: np.ndarray


class Info(NamedTuple):
    theta: np.ndarray
    groups: np.ndarray
    n_groups: int
    alpha: float
    included: np.ndarray
    accepted: bool
    effort: np.ndarray


class Noise:
    """Independent draws, except that the first edge of a stuck kernel never leaves where it began."""

    name = "noise"
    dims = {  # noqa: RUF012
        "theta": ("feature",),
        "groups": ("edge",),
        "n_groups": (),
        "alpha": (),
        "included": ("edge",),
        "accepted": (),
        "effort": ("node",),
    }

    def __init__(self, model, stuck=False):
        self.model, self.stuck = model, stuck

    def init(self, rng):
        return State(rng.normal(size=self.model.n_features))

    def step(self, rng, state):
        theta = rng.normal(size=self.model.n_features)
        if self.stuck:
            theta[0] = 5 * state.theta[0] + 0.1 * theta[0]
            state = state
        else:
            state = State(theta)
        r = self.model.n_edges
        groups = np.append(0, rng.integers(3, size=r - 1)).astype(np.int32)  # the first edge is always in group 0
        effort = rng.normal(size=self.model.graph.n_nodes)
        included = rng.random(r) < 0.8  # (ArviZ's R-hat warns when exactly half of the draws are true)
        return state, Info(theta, groups, rng.integers(1, 9), rng.gamma(2), included, bool(rng.random() < 0.3), effort)


class Kind(Enum):
    EXACT = "exact"


MODEL = Agreement(graphs.from_edges([("ann", "bé"), ("bé", "cy"), ("cy", "ann")], ("ann", "bé", "cy")), fields=True)
OPTIONS = {"n_draws": 120, "n_chains": 3, "progress": False}


def tree_of(draws, model=MODEL):
    return results.to_datatree(
        draws,
        model,
        attrs={"method": "exact", "engine": "elimination", "engine_kind": Kind.EXACT, "options": {"alpha": 1.0},
               "data_hash": "ab12", "n_cut": np.int64(3)},
        observed={"statistics": np.arange(model.n_features) / 10, "n_samples": 100.0},
        constant={"mle": np.ones(model.n_features), "agreements": np.arange(model.n_edges)},
    )  # fmt: skip


@pytest.fixture
def draws(rng):
    return sample(Noise(MODEL), random_state=int(rng.integers(2**32)), **OPTIONS)


@pytest.fixture
def tree(draws):
    return tree_of(draws)


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_form(draws, tree):
    posterior = tree["posterior"]
    assert {"theta", "agreement", "groups", "n_groups", "alpha", "included"} == set(posterior.data_vars) | {"groups"}
    assert posterior["theta"].dims == ("chain", "draw", "feature")
    assert posterior["agreement"].dims == posterior["groups"].dims == ("chain", "draw", "edge")
    assert posterior["n_groups"].dims == ("chain", "draw")
    assert posterior["groups"].dtype == np.int32
    assert list(posterior["edge"].values) == ["ann-bé", "bé-cy", "cy-ann"]
    assert list(posterior["feature"].values) == ["ann-bé", "bé-cy", "cy-ann", "ann", "bé", "cy"]
    np.testing.assert_array_equal(posterior["agreement"], expit(draws.values["theta"][..., :3]))
    np.testing.assert_array_equal(posterior["groups"], draws.values["groups"])
    assert np.shares_memory(posterior["theta"].values, draws.values["theta"])
    assert set(tree["sample_stats"].data_vars) == {"accepted", "effort"}
    assert list(tree["sample_stats"]["effort"].sel(chain=0, draw=0)["node"].values) == ["ann", "bé", "cy"]
    assert tree["observed_data"]["statistics"].sel(feature="ann").item() == 0.3
    assert tree["observed_data"].attrs == {"n_samples": 100.0}
    constant = tree["constant_data"]
    assert constant["edges"].dims == ("edge", "end")
    np.testing.assert_array_equal(constant["edges"], MODEL.graph.edges)
    assert list(constant["node"].values) == ["ann", "bé", "cy"]
    assert constant["mle"].dims == ("feature",)
    assert constant["agreements"].dims == ("edge",)


def test_the_attributes_tell_how_it_was_made(draws, tree):
    a = tree.attrs
    assert (a["method"], a["engine"], a["engine_kind"], a["data_hash"]) == ("exact", "elimination", "exact", "ab12")
    assert json.loads(a["options"]) == {"alpha": 1.0}
    assert set(json.loads(a["versions"])) == {"python", "bayesmrf", "numpy", "numba"}
    assert a["complete"] == 1  # netCDF has no booleans
    assert a["run_time"] > 0
    assert a["created_at"].endswith("+00:00")
    again = sample(Noise(MODEL), random_state=int(a["seed"]), **OPTIONS)
    np.testing.assert_array_equal(again.values["theta"], draws.values["theta"])


def test_a_single_draw_is_not_a_given_value():
    tree = tree_of(sample(Noise(MODEL), random_state=1, **OPTIONS | {"n_draws": 1, "n_chains": 1}))
    assert "alpha" in tree["posterior"]
    assert mean_and_interval(tree["posterior"]["alpha"].values[0]).endswith("(a single draw)")


def test_only_posteriors_are_written(tmp_path):
    for write in (results.save, results.finish):
        with pytest.raises(OptionError, match="tree must be a fitted estimator of a posterior, its posterior_, or"):
            write(SimpleNamespace(posterior_=None), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_given_alpha_is_not_a_posterior(draws, tmp_path):
    draws.values["alpha"][:] = 1.5
    tree = tree_of(draws)
    assert "alpha" not in tree["posterior"]
    assert tree["constant_data"]["alpha"].item() == 1.5
    assert "alpha" not in results.diagnostics(tree).index
    results.save(tree, tmp_path / "run")
    xr.testing.assert_identical(tree, results.load(tmp_path / "run"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        arviz_stats.summary(tree)


def test_arviz_summary_has_no_complaints(tree):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = arviz_stats.summary(tree)
    assert {"n_groups", "alpha", "agreement[ann-bé]", "theta[cy]", "included[bé-cy]"} <= set(table.index)
    assert not any(name.startswith("groups") for name in table.index)


def every_edge_exists(draws):
    """The tree of draws without inclusions, in which agreements are judged."""
    del draws.fields["included"]
    return tree_of(draws)


def test_diagnostics_find_the_edge_that_does_not_mix(rng, draws):
    tree = every_edge_exists(draws)
    table = results.diagnostics(tree, n_worst=2)
    assert list(table.index[:2]) == ["n_groups", "alpha"]
    assert len(table) == 4
    # Independent draws: R-hat - 1 is about 1 / (chains x draws), and 1.1 is out of reach.
    assert (table["r_hat"] < 1.1).all()
    np.testing.assert_allclose(table.loc["alpha", "mean"], float(tree["posterior"]["alpha"].mean()))
    stuck = every_edge_exists(sample(Noise(MODEL, stuck=True), random_state=int(rng.integers(2**32)), **OPTIONS))
    table = results.diagnostics(stuck, n_worst=2)
    assert table.index[2] == "agreement[ann-bé]"
    assert table["r_hat"].iloc[2] > 1.5


def test_diagnostics_of_edges_that_may_be_absent(tree):
    """Their number, the uncertain inclusions, agreements of the edges that exist, and fields."""
    table = results.diagnostics(tree, n_worst=2)
    assert list(table.index[:3]) == ["n_groups", "alpha", "n_edges"]
    assert len(table) == 5
    table = results.diagnostics(tree, n_worst=None)
    edges, nodes = tree["posterior"]["edge"].values, tree["constant_data"]["node"].values
    names = [f"{what}[{e}]" for what in ("included", "agreement") for e in edges]
    assert set(table.index[3:]) == {*names, *(f"theta[{node}]" for node in nodes)}


def test_diagnostics_of_what_never_varies_or_is_short(rng):
    draws = sample(Noise(MODEL), n_draws=3, n_chains=1, progress=False)
    assert results.diagnostics(tree_of(draws))["r_hat"].isna().all()
    draws = sample(Noise(MODEL), **OPTIONS)
    draws.values["n_groups"][:] = 4
    draws.values["alpha"][:] = np.arange(120) % 2
    table = results.diagnostics(tree_of(draws))
    assert np.isnan(table.loc["n_groups", "r_hat"])
    assert np.isfinite(table.loc["alpha", "r_hat"])


# On disk


def test_there_and_back(tree, tmp_path):
    results.save(tree, tmp_path / "a" / "run")
    back = results.load(tmp_path / "a" / "run")
    xr.testing.assert_identical(tree, back)
    assert "groups" in back["posterior"].coords
    assert back["posterior"]["groups"].dtype == np.int32
    assert back["sample_stats"]["accepted"].dtype == np.int8  # neither ArviZ's quantiles nor netCDF support booleans
    results.save(back, tmp_path / "b")
    xr.testing.assert_identical(tree, results.load(tmp_path / "b"))


def test_numpy_alone_reads_the_arrays(tree, tmp_path):
    tree["sample_stats"]["accepted"] = tree["sample_stats"]["accepted"].astype(bool)
    results.save(tree, tmp_path / "run")
    xr.testing.assert_identical(tree, results.load(tmp_path / "run"))
    with np.load(tmp_path / "run" / "results.npz", allow_pickle=False) as arrays:
        for group, node in tree.children.items():
            for name, v in node.dataset.variables.items():
                if v.dtype.kind not in "OTU":
                    found = arrays[f"{group}/{name}"]
                    np.testing.assert_array_equal(found, v.values)
                    assert found.dtype == v.dtype
    record = json.loads((tmp_path / "run" / "record.json").read_text())
    assert record["groups"]["posterior"]["variables"]["edge"]["texts"] == ["ann-bé", "bé-cy", "cy-ann"]


@pytest.mark.parametrize("texts", [["a" * 5000, "b", "", "é" * 9000], ["a\0b", "c" * 20000, "", "d"], ["a"] * 4])
def test_texts_come_back_from_the_record_and_from_the_file(texts, tree, tmp_path):
    tree["constant_data"] = tree["constant_data"].to_dataset().assign(words=("word", np.array(texts, dtype=object)))
    tree.attrs |= {"long": texts[-1][:1] * 20_000, "escaped": "\udc80" * 20_000}
    results.save(tree, tmp_path / "run")
    found = results.load(tmp_path / "run")
    assert found["constant_data"]["words"].values.tolist() == texts
    xr.testing.assert_identical(tree, found)


def test_what_no_function_makes_is_not_stored(tree, tmp_path):
    other, odd = tree.copy(), tree.copy()
    other["mine"] = xr.DataTree(xr.Dataset({"x": 1}))
    odd["sample_stats"] = tree["sample_stats"].to_dataset().assign(x=("word", np.array(["a", 1], dtype=object)))
    for wrong, words in ((other, "the group 'mine' is none that bayesmrf makes"), (odd, "'sample_stats/x' has values")):
        with pytest.raises(StoreError, match=words):
            results.save(wrong, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda tree: tree.attrs.update(mine=[1, 2]), "the attribute mine is neither text nor number"),
        (
            lambda tree: tree["posterior"].attrs.update(mine=None),
            "posterior/attributes/mine is missing",
        ),
        (lambda tree: tree["posterior"]["theta"].attrs.update(mine=[1]), "posterior/theta has other attributes"),
        (lambda tree: tree["posterior"].__setitem__("x" * 101, 1), "has other dimensions"),
    ],
)
def test_what_would_not_be_read_is_not_written(change, words, tree, tmp_path):
    results.save(tree, tmp_path / "run")
    before, other = contents(tmp_path), tree.copy()
    change(other)
    with pytest.raises(StoreError, match=f"these results cannot be stored: .*{words}"):
        results.save(other, tmp_path / "run", overwrite=True)
    assert contents(tmp_path) == before


def test_names_may_be_any_words(tree, tmp_path):
    tree["sample_stats"] = tree["sample_stats"].to_dataset().assign({"θ of a person": (("chain", "a b-c"), np.eye(3))})
    results.save(tree, tmp_path / "run")
    xr.testing.assert_identical(tree, results.load(tmp_path / "run"))


def test_results_are_not_replaced_unasked(rng, tree, tmp_path):
    results.save(tree, tmp_path / "run")
    other = tree_of(sample(Noise(MODEL), n_draws=7, progress=False))
    before = contents(tmp_path)
    with pytest.raises(StoreError, match="contains results already"):
        results.save(other, tmp_path / "run")
    assert contents(tmp_path) == before
    (tmp_path / "run" / "notes.txt").write_text("mine")
    results.save(other, tmp_path / "run", overwrite=True)
    xr.testing.assert_identical(other, results.load(tmp_path / "run"))
    assert (tmp_path / "run" / "notes.txt").read_text() == "mine"
    with pytest.raises(StoreError, match="contains finished results"):
        sample(Noise(MODEL), checkpoint=tmp_path / "run", **OPTIONS)


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("end", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_results_are_kept_until_others_are_complete(there, end, rng, tree, tmp_path, monkeypatch):
    """Before, they were removed first, and a full disk or a kill left neither."""
    if there:
        results.save(tree, tmp_path / "run")
    other, write = tree_of(sample(Noise(MODEL), n_draws=7, progress=False)), on_disk.write_arrays

    def stopped(file, arrays):
        write(file, arrays)
        raise end

    monkeypatch.setattr(on_disk, "write_arrays", stopped)
    with pytest.raises((StoreError, KeyboardInterrupt), match=r"cannot be written|^$"):
        results.save(other, tmp_path / "run", overwrite=True)
    monkeypatch.undo()
    assert not list((tmp_path / "run").glob("*.partial")) or isinstance(end, KeyboardInterrupt)
    if there:
        xr.testing.assert_identical(tree, results.load(tmp_path / "run"))
    else:
        with pytest.raises(StoreError, match="contains no results"):
            results.load(tmp_path / "run")
    results.save(other, tmp_path / "run", overwrite=there)
    xr.testing.assert_identical(other, results.load(tmp_path / "run"))
    assert not list((tmp_path / "run").glob("*.partial"))


@pytest.mark.parametrize("error", [MemoryError(), ImportError("no zlib"), PermissionError(13, "Permission denied")])
def test_what_cannot_be_read_here_is_not_called_damaged(error, tree, tmp_path, monkeypatch):
    results.save(tree, tmp_path / "run")

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(sealed.Arrays, "read", fails)
    with pytest.raises(StoreError, match=r"it cannot be read \(.*Error: .*\); the folder may be intact") as e:
        results.load(tmp_path / "run")
    assert "damaged" not in str(e.value)
    monkeypatch.undo()
    monkeypatch.setattr(store, "open_plain", fails)
    if isinstance(error, PermissionError):
        with pytest.raises(StoreError, match=r"run cannot be read \(Permission denied: record.json\)"):
            results.load(tmp_path / "run")


@pytest.mark.parametrize("overwrite", [False, True])
def test_foreign_places_are_left_alone(tree, tmp_path, overwrite):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("mine")
    before = contents(tmp_path)
    for place in ("file", "folder", "file/inside"):
        with pytest.raises(StoreError, match=place):
            results.save(tree, tmp_path / place, overwrite=overwrite)
    for place in ("file", "folder"):
        with pytest.raises(StoreError, match=place):
            results.load(tmp_path / place)
    assert contents(tmp_path) == before


def test_missing_results(tmp_path):
    with pytest.raises(StoreError, match=r"nothing does not exist; give the path that a run was written to"):
        results.load(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(StoreError, match="empty contains no results; give the path that a run was written to"):
        results.load(tmp_path / "empty")


@pytest.mark.parametrize("damage", ["cut", "flip", "remove"])
def test_damaged_results_are_never_read(rng, tree, tmp_path, damage):
    results.save(tree, tmp_path / "run")
    files = contents(tmp_path / "run")
    assert len(files) == 2
    for name, content in files.items():
        place = tmp_path / "run" / name
        for at in [0, len(content) - 1, *rng.integers(len(content), size=20).tolist()]:
            if damage == "remove":
                place.unlink()
            else:
                flipped = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
                place.write_bytes(content[:at] if damage == "cut" else flipped)
            with pytest.raises(StoreError, match=re.escape(str(tmp_path / "run"))):
                results.load(tmp_path / "run")
            place.write_bytes(content)
    xr.testing.assert_identical(tree, results.load(tmp_path / "run"))


def test_an_unfinished_run_says_how_far_it_is(rng, tmp_path):
    class Fails(Noise):
        def step(self, rng, state):
            if rng.random() < 0.1:
                raise FloatingPointError("theta is not finite")
            return super().step(rng, state)

    with pytest.raises(FloatingPointError):
        sample(Fails(MODEL), checkpoint=tmp_path / "run", **OPTIONS)
    with pytest.raises(StoreError, match=r"unfinished run \(\d+ of 120 draws of each of 3 chains\); call again"):
        results.load(tmp_path / "run")


def test_finished_results_take_the_place_of_the_checkpoint(tmp_path):
    draws = sample(Noise(MODEL), checkpoint=tmp_path / "run", **OPTIONS)
    tree = tree_of(draws)
    with pytest.raises(StoreError, match="contains a checkpoint already"):
        results.save(tree, tmp_path / "run")
    with pytest.raises(
        StoreError, match=r"contains the draws of a run, but not its results; .* then results\.finish\("
    ):
        results.load(tmp_path / "run")
    results.finish(tree, tmp_path / "run")
    xr.testing.assert_identical(tree, results.load(tmp_path / "run"))
    assert {p.name for p in (tmp_path / "run").iterdir()} == {"record.json", "results.npz"}
    with pytest.raises(StoreError, match="contains no checkpoint"):
        results.finish(tree, tmp_path / "run")


def test_an_incomplete_run_keeps_its_checkpoint(tmp_path):
    tree = tree_of(sample(Noise(MODEL), checkpoint=tmp_path / "run", **OPTIONS))
    tree.attrs["complete"] = False
    before = contents(tmp_path)
    with pytest.raises(StoreError, match="not all of its draws"):
        results.finish(tree, tmp_path / "run")
    assert contents(tmp_path) == before


@pytest.mark.parametrize("where", ["sync", "write_record", "clear", "remove"])
def test_a_stop_while_finishing_loses_nothing(tmp_path, monkeypatch, where):
    draws = sample(Noise(MODEL), checkpoint=tmp_path / "run", **OPTIONS)
    tree = tree_of(draws)
    with monkeypatch.context() as patch:
        patch.setattr(store, where, lambda *a, **k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            results.finish(tree, tmp_path / "run")
    if where in ("clear", "remove"):  # the record stands: these are results, with the checkpoint's remains beside them
        xr.testing.assert_identical(tree, results.load(tmp_path / "run"))
        return
    again = sample(Noise(MODEL), checkpoint=tmp_path / "run", **OPTIONS)
    np.testing.assert_array_equal(again.values["theta"], draws.values["theta"])
    results.finish(tree, tmp_path / "run")
    xr.testing.assert_identical(tree, results.load(tmp_path / "run"))


def test_a_kill_at_any_moment_of_a_replacement_leaves_one_of_both(tree, tmp_path, monkeypatch):
    """Also a kill between the record and the name of the arrays, and several one after the other."""
    trees, run = [tree.copy() for _ in range(6)], tmp_path / "run"
    for i, each in enumerate(trees):
        each.attrs["number"] = i
    results.save(trees[0], run)
    for i, (where, after) in enumerate([("write_marker", 1), ("write_marker", 1), ("sync", 0), ("write_marker", 1)], 1):
        original = getattr(store, where)

        def stopped(*given, original=original, **options):
            original(*given, **options)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(store, where, stopped)
            with pytest.raises(KeyboardInterrupt):
                results.save(trees[i], run, overwrite=True)
        assert results.load(run).attrs["number"] == (i if after else i - 1)
    results.save(trees[5], run, overwrite=True)
    assert results.load(run).identical(trees[5])
    assert len(list(run.iterdir())) == 2
    with monkeypatch.context() as patch:
        patch.setattr(store, "sync", lambda *_, **__: signal.raise_signal(signal.SIGINT))  # before the first record
        with pytest.raises(KeyboardInterrupt):
            results.save(tree, tmp_path / "new")
    results.save(tree, tmp_path / "new")
    assert results.load(tmp_path / "new").identical(tree)


def test_a_folder_of_the_former_form_is_refused_by_its_version(tree, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    former = {"zarr_format": 3, "node_type": "group", "attributes": {"bayesmrf": {"format": 3, "holds": "results"}}}
    (run / "zarr.json").write_text(json.dumps(former))
    before = contents(run)
    for call in (
        lambda: results.load(run),
        lambda: results.save(tree, run, overwrite=True),
        lambda: sample(Noise(MODEL), checkpoint=run, **OPTIONS),
    ):
        with pytest.raises(StoreError, match=r"which only versions before the release of 0\.2\.0 read; use"):
            call()
    assert contents(run) == before


def test_arviz_does_not_take_the_likelihood_of_all_data_for_that_of_an_observation(rng):
    """ArviZ looks for a variable log_likelihood among the statistics of a step."""
    tree = (
        SpikeSlabMRF(n_draws=30, n_warmup=10, progress=False, random_state=0)
        .fit(rng.integers(0, 2, (50, 3)))
        .posterior_
    )
    assert "total_log_likelihood" in tree["sample_stats"]
    assert "log_likelihood" not in tree["sample_stats"]
    with pytest.raises(Exception, match=r"log.likelihood"):
        arviz_stats.loo(tree)


@pytest.mark.filterwarnings("ignore::bayesmrf.errors.PriorWarning")  # 20 draws
@pytest.mark.parametrize("estimator", [SpikeSlabMRF, BayesianMRF, GroupedMRF])
def test_the_likelihood_of_drawn_values_is_not_that_of_the_data(estimator, rng):
    """It is that of the data where none is missing, by enumeration; otherwise it has another name."""
    x = rng.integers(0, 2, (40, 3)).astype(float)
    est = estimator(n_draws=20, n_warmup=10, progress=False, random_state=0, n_chains=1)
    tree = est.fit(x).posterior_
    states = oracle.all_states(3)
    features = np.array([est._model().statistics(s[None]) for s in states])
    log_p = features @ tree["posterior"]["theta"].values[0].T
    log_p -= np.logaddexp.reduce(log_p, axis=0)
    total = log_p[oracle.state_numbers(x)].sum(axis=0)
    np.testing.assert_allclose(tree["sample_stats"]["total_log_likelihood"].values[0], total)
    x[:5, 0] = np.nan
    stats = est.fit(x).posterior_["sample_stats"]
    assert "completed_log_likelihood" in stats
    assert "total_log_likelihood" not in stats
