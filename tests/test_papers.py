"""The reproduction of Liu and Page (2013): commands, resumption, verdicts, and the results that are stored."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayesmrf import graphs
from bayesmrf.models.agreement import Agreement
from papers.liu_page_2013.__main__ import main, run
from papers.liu_page_2013.experiments import FULL, QUICK, Cell, Settings, Simulation
from papers.liu_page_2013.findings import EXPECTED, evaluate, verdicts
from papers.liu_page_2013.report import senate_table
from papers.liu_page_2013.store import Store, read

STORED = Path(__file__).parents[1] / "papers" / "liu_page_2013" / "results"
TIME = "seconds"
SMALL = ["small-grid", "--points", "100", "--methods", "mle", "oracle", "exact", "--jobs", "1"]


def command(out, seed, *arguments):
    return main([*arguments, "--quick", "--out", str(out), "--seed", str(seed)])


def results(out, name="small-grid"):
    return read(out / "results" / f"{name}-quick.csv")


@pytest.fixture
def seed(rng):
    return int(rng.integers(2**31))


@pytest.mark.parametrize("experiment", ["tree", "small-grid", "large-grid"])
def test_simulations_end_to_end(experiment, seed, tmp_path, capsys):
    methods = FULL[experiment].methods
    assert command(tmp_path, seed, experiment, "--replicates", "1", "--points", "100", "--jobs", "1") == 0
    rows = results(tmp_path, experiment)
    assert set(rows["method"]) == set(methods)
    assert len(rows) == len(methods)
    bayes = rows["method"].isin(FULL[experiment].bayes)
    assert np.isfinite(rows[["error", "log_likelihood", "seconds"]]).all(axis=None)
    assert np.isfinite(rows.loc[bayes, ["vi_difference", "n_groups"]]).all(axis=None)
    assert rows.loc[~bayes, "n_groups"].isna().all()
    assert rows["error"].between(0, 0.5).all()
    # All are likelihoods of the same test samples: what an estimate loses is a small part of it.
    oracle = rows.loc[rows["method"] == "oracle", "log_likelihood"].item()
    assert (rows["log_likelihood"] / oracle).between(0.9, 1.2).all()
    assert rows["data_z"].notna().all() == (experiment == "large-grid")
    out = capsys.readouterr().out
    assert sum(out.count(w) for w in ("HOLDS", "FAILS", "NOT RUN", "NOT JUDGED")) == len(
        EXPECTED[experiment]["findings"]
    )
    assert "NOT JUDGED" in out
    assert ("NOT RUN" in out) == (experiment == "tree")  # no trend can be seen at one point
    assert ("88136.3" in out) == (experiment == "small-grid")
    for figure in (f"{experiment}-quick.png", f"{experiment}-quick-groups.png"):
        assert (tmp_path / "figures" / figure).read_bytes().startswith(b"\x89PNG")


def test_senate_end_to_end(data_folder, seed, tmp_path, capsys):
    assert command(tmp_path, seed, "senate", "--points", "2", "--methods", "mle", "stripped-beta", "--jobs", "1") == 0
    rows = results(tmp_path, "senate").set_index("method")
    assert set(rows["n_train"]) == {222}
    assert (rows[["lpl_train", "lpl_test"]] < 0).all(axis=None)
    assert rows.loc["stripped-beta", "n_groups"] >= 1
    out = capsys.readouterr().out
    assert "-11446.45" in out
    assert sum(out.count(w) for w in ("HOLDS", "FAILS", "NOT RUN", "NOT JUDGED")) == len(EXPECTED["senate"]["findings"])
    assert (tmp_path / "figures" / "senate-quick.png").exists()


def test_missing_data_are_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("BAYESMRF_DATA", str(tmp_path))
    assert command(tmp_path, 0, "senate", "--jobs", "1") == 2
    assert "senate109_votes.csv.gz is not in" in capsys.readouterr().err


def test_a_killed_run_goes_on_where_it_was(seed, tmp_path):
    assert command(tmp_path, seed, *SMALL, "--replicates", "2") == 0
    whole = results(tmp_path)
    file = tmp_path / "results" / "small-grid-quick.csv"
    lines = file.read_text().splitlines(keepends=True)
    torn = lines[-1].split(",")[:3]
    # Two cells are gone: one not begun, and one whose line was torn where what is left reads as a number.
    file.write_text("".join(lines[:-2]) + lines[-1][: len(",".join(torn)) + 5])
    assert command(tmp_path, seed, *SMALL, "--replicates", "2") == 0
    resumed = results(tmp_path)
    pd.testing.assert_frame_equal(resumed.drop(columns=TIME), whole.drop(columns=TIME), check_exact=True)
    redone = (resumed["seconds"] != whole["seconds"]).to_numpy()
    assert redone.sum() == 2  # times never repeat: the other cells were skipped
    assert torn in resumed.loc[redone, ["replicate", "n", "method"]].astype(str).to_numpy().tolist()
    # Killed while the first lines were written.
    file.write_text(lines[0][:20])
    assert command(tmp_path, seed, *SMALL, "--replicates", "1") == 0
    assert len(results(tmp_path)) == 3


def test_results_do_not_depend_on_the_processes_and_seeds_matter(seed, tmp_path):
    cells = [Cell(r, 100, method) for r in (0, 1) for method in ("mle", "oracle", "exact")]

    def rows(seed, jobs, cells):
        settings = Settings("small-grid", seed, quick=True)
        store = Store(
            tmp_path / f"{seed}-{jobs}.csv",
            settings.describe(),
            ["replicate", "n", "method", *QUICK["small-grid"].measures],
        )
        run(cells, settings, store, jobs)
        return store.rows().drop(columns=TIME)

    one = rows(seed, 1, cells)
    pd.testing.assert_frame_equal(one, rows(seed, 2, cells[::-1]), check_exact=True)
    assert len(set(one["error"])) == len(cells)
    assert not np.isin(rows(seed + 1, 1, cells)["error"], one["error"]).any()


def test_a_file_of_other_settings_is_refused(tmp_path, capsys):
    assert command(tmp_path, 1, *SMALL, "--replicates", "1") == 0
    before = (tmp_path / "results" / "small-grid-quick.csv").read_bytes()
    assert command(tmp_path, 2, *SMALL, "--replicates", "1") == 2
    assert "other settings" in capsys.readouterr().err
    assert (tmp_path / "results" / "small-grid-quick.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "word"),
    [(["tree", "--methods", "exact"], "--methods: exact"), (["tree", "--points", "150"], "--points: 150")],
)
def test_what_an_experiment_has_not_is_refused(arguments, word, tmp_path, capsys):
    assert command(tmp_path, 0, *arguments) == 2
    assert word in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def made_up(**errors):
    """Rows in which replicate 0 has the errors given, at n = 100, 200, ..., and replicate 1 twice those."""
    records = [
        {"replicate": r, "n": 100 * (i + 1), "method": method, "error": (1 + r) * value}
        for method, values in errors.items()
        for i, value in enumerate(values)
        for r in (0, 1)
    ]
    return pd.DataFrame(records)


def verdict(rows, **expectation):
    return evaluate({"finding": "", "measure": "error", **expectation}, rows).holds


def test_verdicts_on_made_up_rows():
    rows = made_up(a=[1.0, 2.0, 3.0, 5.0], b=[2.0, 3.0, 4.0, 5.5])
    ratio, difference = {"kind": "ratio", "of": "a", "to": "b"}, {"kind": "difference", "of": "a", "to": "b"}
    assert verdict(rows, **ratio, below=1) is True
    assert verdict(rows, **ratio, below=0.9) is False  # 5 / 5.5 at one n is enough to fail
    assert verdict(rows, **ratio, below=0.9, at=[100, 200, 300]) is True
    assert verdict(rows, **difference, below=-0.7) is True
    assert verdict(rows, **difference, below=-0.8) is False  # 1.5 (5 - 5.5) = -0.75
    assert verdict(rows, kind="value", of="a", above=1.4, below=7.6) is True
    assert verdict(rows, kind="value", of="a", above=1.4, below=7.4) is False
    assert verdict(rows, kind="trend", of="a", above=0.9) is True
    assert verdict(made_up(a=[5.0, 1.0, 3.0, 2.0]), kind="trend", of="a", above=0.9) is False
    # a grows, but what it lacks to b grows first and shrinks then.
    assert verdict(rows, kind="trend", of="a", to="b", above=0.9) is False
    assert verdict(rows, kind="ratio", of="a", to="c", below=1) is None
    assert verdict(rows[rows["n"] == 100], kind="trend", of="a", above=0) is None


def test_methods_are_compared_over_the_same_replicates():
    rows = made_up(a=[1.0], b=[1.1])
    rows = rows[(rows["method"] == "b") | (rows["replicate"] == 1)]  # a lacks the replicate with the small errors
    assert verdict(rows, kind="ratio", of="a", to="b", below=1) is True
    unpaired = rows.groupby("method")["error"].mean()
    assert unpaired["a"] > unpaired["b"]  # what a comparison of plain means would say


@pytest.mark.parametrize("experiment", list(EXPECTED))
def test_stored_results_are_as_expected(experiment):
    rows = read(STORED / f"{experiment}.csv")
    expected = [finding.get("holds", True) for finding in EXPECTED[experiment]["findings"]]
    found = verdicts(experiment, rows)
    wrong = [str(v) for v, holds in zip(found, expected, strict=True) if v.holds is not holds]
    assert not wrong
    assert sorted(rows["replicate"].unique()) == list(range(rows["replicate"].nunique()))
    if "data_z" in rows:
        assert (rows["data_z"].abs().dropna() < 5).all()
    # Negative control: with the two estimators of a comparison exchanged, most verdicts are not those expected.
    pairs = [finding for finding in EXPECTED[experiment]["findings"] if "to" in finding]
    found = [evaluate(finding | {"of": finding["to"], "to": finding["of"]}, rows).holds for finding in pairs]
    changed = [holds is not finding.get("holds", True) for holds, finding in zip(found, pairs, strict=True)]
    assert sum(changed) > 0.6 * len(pairs)


def test_every_method_of_the_senate_has_its_gain():
    """The gains are computed by hand: over the mean of both replicates, from the MLE of the same session and kind."""
    nan = np.nan
    likelihoods = ["lpl_train", "lpl_test", "ll_train", "ll_test"]
    rows = pd.DataFrame(
        [
            (0, 1, "stripped-beta", -101.25, -201.0, -300.0, -405.0, 3.0),
            (0, 1, "mle", -100.0, -200.0, -300.0, -400.0, nan),
            (1, 1, "mle", -102.0, -204.0, -306.0, -408.0, nan),
            (0, 1, "particle", -90.0, -210.0, -303.5, nan, 4.0),
            (0, 1, "exact", -101.0, -202.0, -303.0, -404.0, 2.0),
            (0, 1, "particle-fields", -9.0, -18.0, -33.0, -44.0, 4.0),  # no MLE with fields
            (0, 2, "mle-fields", -10.0, -20.0, -30.0, -40.0, nan),
            (0, 2, "particle-fields", -9.0, -18.5, -33.0, -1044.0, 4.0),
            (0, 2, "stripped-beta", -1.0, -2.0, -3.0, -4.0, 3.0),  # no MLE without
        ],
        columns=["replicate", "session", "method", *likelihoods, "n_groups"],
    ).assign(seconds=1.0)
    published = {
        "1": {
            "mle": {"lpl_train": -50.0, "lpl_test": -60.0},
            "stripped-beta": {"lpl_train": -53.0, "lpl_test": -55.5},
        }
    }
    lines = list(zip(*(column.cells for column in senate_table(rows, published).columns), strict=True))
    assert [line[1] for line in lines] == [
        *["mle", "exact", "stripped-beta", "particle"],
        *["gain of exact", "gain of stripped-beta", "gain of particle"],
        *["mle, paper", "stripped-beta, paper", "gain of stripped-beta, paper"],
        "particle-fields",
        *["stripped-beta", "mle-fields", "particle-fields", "gain of particle-fields"],
    ]
    assert {line[1]: line[2:] for line in lines if line[1].startswith("gain")} == {
        "gain of exact": ("+0.00", "+0.00", "+0.00", "+0.00", "", ""),
        "gain of stripped-beta": ("-0.25", "+1.00", "+3.00", "-1.00", "", ""),
        "gain of particle": ("+11.00", "-8.00", "-0.50", "", "", ""),
        "gain of stripped-beta, paper": ("-3.00", "+4.50", "", "", "", ""),
        "gain of particle-fields": ("+1.00", "+1.50", "-3.00", "-1004.00", "", ""),
    }
    assert lines[0] == ("1", "mle", "-101.00", "-202.00", "-303.00", "-404.00", "", "1 s")


@pytest.mark.parametrize(("n_sweeps", "passes"), [(400, True), (2, False)])
def test_samples_are_checked(n_sweeps, passes, rng):
    plan = replace(FULL["large-grid"], make_graph=partial(graphs.grid, 6, 6), n_sweeps=n_sweeps)
    assert isinstance(plan, Simulation)
    model = Agreement(plan.make_graph())
    states, z = plan.draw(model, np.full(model.n_edges, 1.0), 2000, rng)
    assert states.shape == (2000, 36)
    assert (abs(z) < 5) == passes  # 6e-7
