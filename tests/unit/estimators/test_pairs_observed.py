"""Pairs of columns that no row shows together: left out of the candidates and named, or not identified if asked for."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from bayesmrf import BayesianMRF, CompareMRF, GroupedMRF, PanelMRF, SpikeSlabMRF, graphs, load
from bayesmrf.data.check_columns import pairs_observed
from bayesmrf.errors import DataError, UnobservedPairsWarning
from bayesmrf.priors import Beta, Normal, SpikeSlab
from bayesmrf.results import convergence
from bayesmrf.results.categories import NOT_IDENTIFIED
from bayesmrf.results.judged_series import judged_series
from bayesmrf.results.until_good import shortfall
from tests.helpers.made_up_tables import made_up_table
from tests.oracle import spike_slab as spike_slab_oracle
from tests.oracle.bounds import Comparison
from tests.oracle.states import all_states

QUICK = {"n_draws": 40, "n_warmup": 20, "n_chains": 2, "random_state": 1, "progress": False}
PRIOR = SpikeSlab(density=Beta(1, 1), slab=Normal(1.0), bias_scale=1.0)
NAMES = ("a", "b", "c")


def forms(n=50, seed=3):
    """Three items in two forms, a and b, or b and c: a and c are related through b, and never observed together."""
    rng = np.random.default_rng(seed)
    b = rng.random(2 * n) < 0.5
    x = np.column_stack([b ^ (rng.random(2 * n) < 0.2), b, b ^ (rng.random(2 * n) < 0.3)]).astype(float)
    x[:n, 2] = x[n:, 0] = np.nan
    return pd.DataFrame(x, columns=NAMES)


def fitted(est, *data):
    """The fit, and the texts of what it says of pairs."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        est.fit(*data)
    return est, [str(w.message) for w in said if w.category is UnobservedPairsWarning]


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_counted(weighted, rng):
    """Against loops over pairs and rows, of a table with itself and of one with another."""
    first, second = rng.integers(-1, 3, (2, 12, 4))
    second[:, 1] = np.where(first[:, 2] == 1, second[:, 1], -1)  # asked only of those with one answer of another
    second[:, 0] = np.where(first[:, 3] < 0, second[:, 0], -1)
    w = rng.integers(0, 3, 12).astype(float) if weighted else np.ones(12)
    for a, b in ((first, second), (second, second)):
        found = pairs_observed(a, b, w if weighted else None)
        for i, j in np.ndindex(4, 4):
            rows = [r for r in range(12) if a[r, i] >= 0 and b[r, j] >= 0 and w[r]]
            assert found.rows[i, j] == sum(w[r] for r in rows)
            each = [sum(w[r] for r in rows if a[r, i] == k) for k in range(3)]
            assert found.with_both[i, j] == sum(each) - max(each)
            seen = [[r for r in range(12) if x[r, at] >= 0 and w[r]] for x, at in ((a, i), (b, j))]
            alone = [
                len({x[r, at] for r in rows}) < 2 and rows == of for x, at, of in ((a, i, seen[1]), (b, j, seen[0]))
            ]
            vary = [
                len({v for v, k in zip(x[:, at], w, strict=True) if v >= 0 and k}) > 1 for x, at in ((a, i), (b, j))
            ]
            assert found.is_silent[i, j] == (not rows or (any(alone) and all(vary)))
            assert found.is_never[i, j] == (not rows)


@pytest.fixture(scope="module")
def exact(module_rng):
    """Sums over the structures without the edge that no row shows, and with it: graphs, means and errors."""
    x, two = forms().to_numpy(), graphs.from_edges([(0, 1), (1, 2)], NAMES)
    seen = (np.isnan(x)[:, None] | (x[:, None] == all_states(3))).all(axis=2).astype(float)
    return [
        (g, *spike_slab_oracle.posterior(g, np.zeros(g.n_edges + 3), len(x), PRIOR, module_rng, 20_000, seen=seen))
        for g in (two, graphs.complete(3, NAMES))
    ]


@pytest.mark.parametrize(
    "asked", [False, pytest.param(True, marks=pytest.mark.calibration)], ids=["left out", "asked for"]
)
def test_posterior_is_that_of_the_sum_over_structures(asked, exact, rng):
    """With the edge that no row shows left out, and with it. The control is the sum over the other candidates."""
    options = {"n_draws": 1400, "n_warmup": 100, "n_chains": 4, "random_state": rng, "progress": False}
    candidates = [("a", "b"), ("a", "c"), ("b", "c")] if asked else "complete"
    est, said = fitted(SpikeSlabMRF(candidates, PRIOR, "exact", **options), forms())
    assert est.edges_.tolist() == exact[asked][0].edges.tolist()
    assert len(said) == 1
    assert said[0].startswith("Not identified" if asked else "Never observed together")
    assert "no row shows both ends of 1 pair (a – c)" in said[0]
    tree, names = est.posterior_["posterior"], ["a-b", "b-c"]
    for k, (graph, means, error) in enumerate(exact):
        edges = np.array([graph.edge_names.index(name) for name in names])
        theta = graph.n_edges + np.array([*edges, *(graph.n_edges + np.arange(3))])
        found = Comparison().shares(tree["included"].sel(edge=names).values, means[edges], error=error[edges])
        found.means(tree["theta"].sel(feature=[*names, *NAMES]).values, means[theta], error=error[theta])
        assert found.holds == (k == asked), str(found)
    if asked:
        there = tree["included"].sel(edge=["a-c"]).values
        assert Comparison().shares(there, means[[1]], error=error[[1]]).holds
        assert means[1] > 0.6  # of a pair of which the rows say nothing


def test_asked_for_edges_are_not_identified_and_never_ask_for_draws():
    """By candidates or by a density of the pair; not by the density of all others."""
    x = forms()
    few = {**QUICK, "n_draws": 100}
    est, said = fitted(SpikeSlabMRF([("a", "b"), ("a", "c")], **few), x)
    edges = est.table("edges").set_index(["first", "second"])
    assert edges.loc[("a", "c"), "evidence"] == NOT_IDENTIFIED
    assert edges.loc[("a", "b"), "evidence"] != NOT_IDENTIFIED
    assert not edges.loc[("a", "c"), "near_limit"]
    assert np.isnan(edges.loc[("a", "c"), "bayes_factor"])
    assert "more draws do not change this" in said[0]
    scalars, others = judged_series(est.posterior_)
    judged = {name for series in [*scalars, *others] for name in series.names}
    assert "theta[b]" in judged
    assert not judged & {"theta[a-c]", "included[a-c]", "theta[a]", "theta[c]", "n_edges", "density"}
    assert not any(name in shortfall(est.posterior_) for name in ("a-c", "theta[a]", "theta[c]", "n_edges"))
    tree = est.posterior_.copy()
    tree["constant_data"] = tree["constant_data"].to_dataset().drop_vars("not_identified")
    scalars, others = judged_series(tree)
    judged = {name for series in [*scalars, *others] for name in series.names}
    assert {"theta[a]", "theta[c]", "n_edges", "density"} <= judged  # the control
    named = [("a", "c", 0.5), ("*", "*", 0.4)]
    est, _ = fitted(SpikeSlabMRF(prior=SpikeSlab(density=named), **QUICK), x)
    assert len(est.edges_) == 3
    est, _ = fitted(SpikeSlabMRF(prior=SpikeSlab(density=[("a", "b", 0.5), ("*", "*", 0.4)]), **QUICK), x)
    assert est.edges_.tolist() == [[0, 1], [1, 2]]


def test_a_question_that_only_some_are_asked():
    """c is asked of those who said yes to b: where both are observed b is constant, and a is not."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(0, 2, (80, 3)).astype(float), columns=NAMES)
    x.loc[x["b"] == 0, "c"] = np.nan
    est, (said,) = fitted(SpikeSlabMRF(**QUICK), x)
    assert est.edges_.tolist() == [[0, 1], [0, 2]]
    assert "one end is constant in all rows that show the other end of 1 pair (b – c)" in said
    assert convergence.findings_of(est.posterior_)[0].text == said
    for column, value in (("c", 1.0), ("b", np.nan)):  # controls: c of one who said no to b, or of one who did not say
        other = x.copy()
        other.loc[x.index[x["b"] == (0 if column == "c" else 1)][0], column] = value
        assert len(fitted(SpikeSlabMRF(**QUICK), other)[0].edges_) == 3
    alone = pd.DataFrame({"a": [0, 1, np.nan, np.nan] * 5, "b": [np.nan, np.nan, 0, 1] * 5})
    with pytest.raises(DataError, match=r"rows that show two columns together.*X\.groupby\(PERSON\)\.first\(\)"):
        SpikeSlabMRF(**QUICK).fit(alone)


def test_every_estimator_says_what_is_not_identified():
    x, listed = forms(), [("a", "b"), ("b", "c"), ("a", "c")]
    est, (said,) = fitted(GroupedMRF(candidates="complete", **QUICK), x)
    assert est.edges_.tolist() == [[0, 1], [1, 2]]
    assert said.startswith("Never observed together")
    for est in (GroupedMRF(**QUICK), GroupedMRF(candidates=listed, **QUICK), BayesianMRF(**QUICK)):
        _, (said,) = fitted(est, x)
        assert said.startswith("Not identified: no row shows both ends of 1 pair (a – c)")
        column = "excludes_zero" if isinstance(est, BayesianMRF) else "evidence"
        words = est.table("edges").set_index(["first", "second"])[column]
        assert words[("a", "c")] == NOT_IDENTIFIED
        assert (words == NOT_IDENTIFIED).sum() == 1
    assert "Their parameters are determined by the prior" in said


def test_a_pair_that_one_group_of_people_does_not_show():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(0, 2, (160, 4)).astype(float), columns=list("abcd"))
    x.loc[80:119, "c"] = x.loc[120:, "a"] = np.nan  # of the second group
    x.loc[::2, "d"] = x.loc[1::2, "b"] = np.nan
    est, (left_out, said) = fitted(CompareMRF(**QUICK), x, np.repeat(["first", "second"], 80))
    assert left_out.startswith("Never observed together: no row shows both ends of 1 pair (b – d)")
    assert "1 pair (a – c), in the group second. The differences between groups in them are determined" in said
    words = est.table("differences").set_index(["first", "second"])["evidence"]
    assert words[("a", "c")] == NOT_IDENTIFIED
    assert (words == NOT_IDENTIFIED).sum() == 1
    assert len(words) == 5


def test_lagged_pairs_that_no_transition_shows():
    """c is asked at every other wave."""
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.integers(0, 2, (90, 3)).astype(float), columns=NAMES)
    wave = np.tile(np.arange(6), 15)
    x.loc[wave % 2 == 0, "c"] = np.nan
    est, (said,) = fitted(PanelMRF(**QUICK), x, np.repeat(np.arange(15), 6), wave)
    assert "no transition shows both ends of 1 pair (c->c)" in said
    words = est.table("lagged").set_index(["source", "target"])["evidence"]
    assert words[("c", "c")] == NOT_IDENTIFIED
    assert (words == NOT_IDENTIFIED).sum() == 1


def test_terminal_page_and_files_say_it(bayesmrf, folder):
    made_up_table("events_in_rows").to_csv("t.csv", index=False)
    pd.DataFrame([("a1", "a2"), ("a1", "b1")]).to_csv("pairs.csv", index=False, header=False)
    given = ["--drop", "record_id,redcap_event_name", "--n-draws", "40", "--n-chains", "2", "--n-warmup", "20"]
    code, out, err = bayesmrf("structure", "t.csv", *given, "--out", "all_run")
    assert code == 0
    words = " ".join((out + err).split())
    assert "Never observed together: no row shows both ends of 9 pairs (a1 – b1, a1 – b2, a1 – b3, ...)" in words
    assert "with --combine-rows PERSON; to keep such an edge, name its pair in --candidates." in words
    code, out, err = bayesmrf("structure", "t.csv", *given, "--candidates", "pairs.csv", "--out", "asked_run")
    words = " ".join((out + err).split())
    assert "Not identified: no row shows both ends of 1 pair (a1 – b1)" in words
    assert "1 not identified" in words
    assert bayesmrf("report", "asked_run", "--out", "page.html")[0] == 0
    assert (folder / "page.html").read_text().count("not identified") >= 2
    assert bayesmrf("export", "asked_run", "--to", "json", "--out", "asked.json")[0] == 0
    rows = json.loads((folder / "asked.json").read_text())["tables"]["edges"]["rows"]
    assert {(r["first"], r["second"]): r["evidence"] for r in rows}[("a1", "b1")] == "not identified"
    assert load("asked_run").table("findings")["text"].str.startswith("Not identified").any()


def test_real_tables_have_one_pair(data_folder):
    """Of the two senators who had one seat after the other."""
    votes = {name: pd.read_csv(data_folder / f"{name}_votes.csv.gz") for name in ("senate109", "senate542")}
    found = {}
    for name, table in votes.items():
        there = table.loc[:, [c for c in table if table[c].isin([-1, 0, 1]).all()]]
        found[name] = list(there), np.where(there == 0, -1, there > 0)
    trauma = pd.read_csv(data_folder / "wenchuan.csv")
    found["wenchuan"] = list(trauma), trauma.fillna(0).to_numpy(int) - 1
    pairs = []
    for names, values in found.values():
        assert (values < 0).any()
        silent = np.argwhere(pairs_observed(values, values).is_silent)
        pairs += [{names[i], names[j]} for i, j in silent if i < j]
    assert pairs == [{"CORZINE_NJ", "MENENDEZ_NJ"}]
