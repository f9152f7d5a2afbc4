"""The reproduction of Chen and Welling (2012): commands, resumption, data, competitors, measures, verdicts."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from bayesmrf import datasets
from bayesmrf.errors import DataError
from bayesmrf.inference.enumeration import Enumeration
from bayesmrf.models.boltzmann import Boltzmann
from papers.cells import run
from papers.chen_welling_2012_structure import baselines, calibration, curves, data, measures
from papers.chen_welling_2012_structure.__main__ import main
from papers.chen_welling_2012_structure.common import LEARNT, PATH, Settings
from papers.chen_welling_2012_structure.experiments import FULL, MEASURES, QUICK
from papers.chen_welling_2012_structure.figures import FIGURES
from papers.chen_welling_2012_structure.findings import EXPECTED, verdicts
from papers.store import Store, read

STORED = Path(__file__).parents[1] / "papers" / "chen_welling_2012_structure" / "results"
ARGUMENTS = {
    "block": ["--densities", "0.3"],
    "lattice": ["--densities", "0.3"],
    "mnist": ["--methods", "one-edge"],
    "calibration": ["--small", "2"],
}


def command(out, seed, *arguments):
    return main([*arguments, "--quick", "--out", str(out), "--seed", str(seed), "--jobs", "1"])


def records(out, name):
    return read(out / "results" / f"{name}-quick.jsonl")


def without_time(found):
    """Records without seconds, in which no two runs agree; a share of nothing (NaN) is one like any other."""
    if isinstance(found, dict):
        return {k: without_time(v) for k, v in found.items() if k != "seconds"}
    if isinstance(found, list):
        return [without_time(v) for v in found]
    return "NaN" if isinstance(found, float) and math.isnan(found) else found


@pytest.fixture
def seed(rng):
    return int(rng.integers(2**31))


@pytest.mark.parametrize("experiment", list(FULL))
def test_end_to_end(experiment, seed, tmp_path, capsys):
    if experiment == "mnist":
        try:
            datasets.data_file("mnist.npz")
        except DataError:
            pytest.skip("mnist.npz is not here")
    assert command(tmp_path, seed, experiment, "--replicates", "1", *ARGUMENTS[experiment]) == 0
    found = records(tmp_path, experiment)
    assert len({tuple(r["cell"]) for r in found}) == len(found) > 0
    assert len(MEASURES[experiment](found)) > 0
    out = capsys.readouterr().out
    assert sum(out.count(w) for w in ("HOLDS", "FAILS", "NOT RUN", "NOT JUDGED")) == len(EXPECTED[experiment])
    for suffix in FIGURES[experiment]:
        path = tmp_path / "figures" / f"{experiment}-quick{suffix}.png"
        assert path.exists() or suffix == "-10-1000"
    assert (tmp_path / "results" / f"{experiment}-quick.csv").read_text().count("\n") > 1
    assert not any((tmp_path / "checkpoints" / f"{experiment}-quick").glob("*"))
    assert main([experiment, "--quick", "--out", str(tmp_path / "none"), "--replicates", "0"]) == 0
    assert "no records" in capsys.readouterr().out


def test_a_killed_run_goes_on_where_it_was(seed, tmp_path):
    arguments = ["block", "--methods", "exact", "wainwright-max", "--densities", "0.2", "--replicates", "2"]
    assert command(tmp_path, seed, *arguments) == 0
    whole = records(tmp_path, "block")
    file = tmp_path / "results" / "block-quick.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-2]) + lines[-1][:100])  # a cell not begun, and one whose line was torn
    assert command(tmp_path, seed, *arguments) == 0
    resumed = records(tmp_path, "block")
    assert without_time(resumed) == without_time(whole)
    kept = [json.loads(line)["seconds"] for line in lines[1:-2]]
    assert sum(r["seconds"] in kept for r in resumed) >= len(kept)
    # control: another seed is refused, and gives other data elsewhere
    assert command(tmp_path, seed + 1, *arguments) == 2
    assert command(tmp_path / "other", seed + 1, *arguments) == 0
    assert records(tmp_path / "other", "block")[0]["best"] != whole[0]["best"]


def test_results_do_not_depend_on_the_processes(seed, tmp_path):
    plan, settings = QUICK["calibration"], Settings("calibration", seed, quick=True)
    cells = plan.cells(2, ("exact",))

    def found(jobs, cells):
        store = Store(tmp_path / f"{jobs}.jsonl", settings.describe(plan))
        run(plan, settings, cells, store, jobs, tmp_path)
        return without_time(store.records())

    assert found(1, cells) == found(2, cells[::-1])


def test_what_an_experiment_has_not_is_refused(tmp_path, capsys):
    assert command(tmp_path, 0, "lattice", "--methods", "exact") == 2
    assert "--methods: 'exact' came; lattice has one-edge" in capsys.readouterr().err
    assert command(tmp_path, 0, "calibration", "--densities", "0.1") == 2
    with pytest.raises(SystemExit):
        command(tmp_path, 0, "block", "--densities", "1.5")
    assert not list(tmp_path.iterdir())


def test_true_models(rng):
    """Sizes as in the paper; the Boltzmann machine has the law of the Ising model."""
    truth = data.lattice(10, rng)
    assert truth.model.n_edges == 4950
    assert truth.there.sum() == 180
    counts = [data.block(12, rng).there.sum() for _ in range(200)]
    expected, sd = 18 * 0.8 + 48 * 0.1, np.sqrt(18 * 0.16 + 48 * 0.09)
    assert abs(np.mean(counts) - expected) < 5.5 * sd / np.sqrt(200)
    u, v = data.block(12, rng).model.graph.edges.T
    block = data.block(12, rng)
    assert (block.theta[: len(u)][u // 4 == v // 4] >= 0).all()
    # the Ising weights, read off the Boltzmann machine, have the scale that was asked for
    form = truth.model.pairwise(truth.theta)
    assert abs(form.coupling[truth.there].std() / data.EDGE_SCALE - 1) < 5 / np.sqrt(2 * 180)
    assert abs(form.field.std() / data.BIAS_SCALE - 1) < 5 / np.sqrt(2 * 100)
    assert np.abs(form.field).max() < 0.7
    control = Boltzmann(truth.model.graph).pairwise(np.concatenate([truth.theta[:4950], np.zeros(100)]))
    assert np.abs(control.field).max() > 0.7  # biases that do not undo the weights


def test_conditional_likelihood(rng):
    """A square given the rest, against sums over all states."""
    truth = data.lattice(4, rng)
    states = truth.draw(12, rng)
    test = data.windows(states, (4, 4), rng)
    assert sorted(np.concatenate([rows for _, rows in test.groups])) == list(range(12))
    u, v = truth.model.graph.edges.T

    def energy(x):
        return (x[:, u] * x[:, v]) @ truth.theta[: len(u)] + x @ truth.theta[len(u) :]

    total = 0.0
    for group, rows in test.groups:
        assert len(set(group % 4)) == len(set(group // 4)) == 3
        for row in rows:
            every = np.tile(states[row], (2**9, 1))
            every[:, group] = np.arange(2**9)[:, None] >> np.arange(9) & 1
            total += energy(states[[row]])[0] - np.logaddexp.reduce(energy(every))
    assert test.of_model(truth.model, truth.theta) == pytest.approx(total / 12, abs=1e-9)
    assert test.of_model(truth.model, 0.5 * truth.theta) != pytest.approx(total / 12, abs=1e-6)
    # all states: minus the entropy
    truth = data.block(6, rng)
    every = data.all_states(truth)
    p = np.exp(every.of_model(truth.model, truth.theta))
    found = Enumeration().infer(truth.model, truth.theta, None)
    assert np.log(p) == pytest.approx(truth.theta @ found.moments - found.log_z, abs=1e-6)


def test_competitors(rng):
    """Conditions of optimality; the path grows; without a penalty the two meet the pseudo-likelihood's maximum."""
    truth = data.block(6, rng)
    x = truth.draw(400, rng)
    model, y = truth.model, x.astype(float)
    penalties = baselines._penalties(x)
    u, v = model.graph.edges.T
    counts = []
    for penalty, theta in zip(penalties, baselines.path(x, "pseudo-l1", model), strict=True):
        w = np.zeros((6, 6))
        w[u, v] = w[v, u] = theta[:15]
        rest = 1 / (1 + np.exp(-(y @ w + theta[15:]))) - y
        slope = (y.T @ rest + rest.T @ y)[u, v] / len(y)
        there = theta[:15] != 0
        np.testing.assert_allclose(slope[there], -penalty * np.sign(theta[:15][there]), atol=2e-5)
        assert (np.abs(slope[~there]) <= penalty + 2e-5).all()
        np.testing.assert_allclose(rest.mean(axis=0), 0, atol=2e-5)
        counts.append(there.sum())
    assert counts[0] <= 1
    assert counts[-1] > 10
    larger, smaller = (baselines.path(x, f"wainwright-{rule}", model) for rule in ("max", "min"))
    for a, b in zip(larger, smaller, strict=True):
        assert (np.abs(a[:15]) >= np.abs(b[:15])).all()
    assert any((np.abs(a[:15]) > np.abs(b[:15])).any() for a, b in zip(larger, smaller, strict=True))
    # a node that never varies keeps a finite bias and no edges
    x[:, 2] = 0
    for method in ("pseudo-l1", "wainwright-max"):
        theta = baselines.choose(x, method, model)
        assert not theta[:15][(u == 2) | (v == 2)].any()
        assert theta[15 + 2] == pytest.approx(-np.log(400.5 / 0.5), abs=1e-6)


def small(method, rng, power, n=150):
    """Made-up answers: pairs exist with probability p, inclusion is said to be p^power."""
    found = []
    for i in range(n):
        p = rng.uniform(0, 1, 15)
        there = (rng.random(15) < p).astype(int)
        about = {"edges": int(there.sum()), "false": 0, "missed": 0, "seconds": 0.1}
        found.append({"cell": [i, 100, method, "small"], "inclusion": p**power, "true": there, **about})
    return found


def test_reliability(rng):
    """Right probabilities lie on the line, those that are too sure do not."""
    found = small("exact", rng, 1.0) + small("langevin", rng, 2.0)
    table = calibration.measures(found).set_index("method")
    assert table.loc["exact", "p_value"] > 1e-6
    assert table.loc["exact", "away"] < 0.06
    assert table.loc["langevin", "p_value"] < 1e-6
    curve = calibration.reliability(found)
    assert curve.groupby("method")["pairs"].sum().eq(150 * 15).all()
    mine = curve[curve["method"] == "exact"]
    middle = mine["inclusion"]
    np.testing.assert_allclose(mine["error"], np.sqrt(middle * (1 - middle) / mine["pairs"]), rtol=0.5)
    assert verdicts("calibration", found)[2].holds is False


def test_measures_of_made_up_curves():
    """Peaks, losses and shares of curves that are known."""

    def cell(method, setting, points):
        rows = [
            {"model": method, "density": d, "cll": c, "f1": 0.5, "precision": 0.5, "recall": 0.5, "strength": 1.0}
            for d, c in points
        ]
        return {"cell": [0, 100, method, setting], "seconds": 1.0, "best": 0.0, "true_density": 0.2, "rows": rows}

    densities = np.array([0.01, 0.05, 0.2, 0.7, 0.99])
    flat = [cell("exact", f"{d:g}", [(d, -0.1 * abs(np.log(d / 0.2)))]) for d in densities]
    steep = cell("pseudo-l1", PATH, [(d, -0.05 - abs(np.log(d / 0.7))) for d in densities])
    learnt = cell("exact", LEARNT, [(0.22, 0.0)])
    table = measures.of_curves([*flat, steep, learnt]).set_index("method")
    assert table.loc["exact", "peak_ratio"] == pytest.approx(1)
    assert table.loc["pseudo-l1", "peak_ratio"] == pytest.approx(3.5)
    assert table.loc["exact", "dense_loss"] == pytest.approx(0.1 * np.log(3.5))
    assert 0.5 < table.loc["exact", "share_above"] < 1
    assert table.loc["exact", "density_ratio"] == pytest.approx(1.1)
    assert table.loc["exact", "cll_gain"] == pytest.approx(0.05)
    assert table.loc["exact", "beaten"] == 0


def test_mixing(rng):
    """The autocorrelation time of an autoregression is (1 + a) / (1 - a)."""
    for a in (0.0, 0.8):
        noise = rng.standard_normal((40_000, 2))
        x = np.zeros_like(noise)
        for t in range(1, len(x)):
            x[t] = a * x[t - 1] + noise[t]
        found = np.mean(curves._mixing(x[None])["time"])
        assert found == pytest.approx((1 + a) / (1 - a), rel=0.3)


@pytest.mark.skipif(not STORED.exists(), reason="no stored results")
def test_stored_results_are_those_of_the_code():
    """Settings in the files are the plans', and what expected.json says to fail does, and nothing else."""
    for path in sorted(STORED.glob("*.jsonl")):
        name = path.stem
        head = json.loads(path.read_text().splitlines()[0])["settings"]
        assert head == json.loads(json.dumps(Settings(name).describe(FULL[name])))
        for expectation, verdict in zip(EXPECTED[name], verdicts(name, read(path)), strict=True):
            if verdict.holds is not None:
                assert verdict.holds == expectation.get("holds", True), str(verdict)


def test_a_curve_without_an_edge_is_nowhere():
    nothing = np.zeros(0)
    assert np.isnan(measures.at(nothing, nothing, measures.GRID)).all()
    one = measures.at(np.array([0.1]), np.array([-2.0]), np.array([0.05, 0.1, 0.2]))
    np.testing.assert_array_equal(np.isnan(one), [True, False, True])


def test_a_truth_without_edges_has_no_recall(rng):
    truth = data.block(6, rng)
    none = truth._replace(theta=np.where(np.arange(len(truth.theta)) < truth.model.n_edges, 0.0, truth.theta))
    found = curves._recovery(none, np.ones(none.model.n_edges))
    assert math.isnan(found["recall"])
    assert math.isnan(found["f1"])
    assert found["false"] == none.model.n_edges
    there = curves._recovery(truth, truth.theta[: truth.model.n_edges])
    assert truth.there.sum() == 0 or there["recall"] == there["f1"] == 1
