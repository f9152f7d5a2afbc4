"""Waves in Python: which rows follow each other, what a fit says, and what it predicts."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logsumexp

from bayesmrf import Normal, PanelMRF, SpikeSlab, SpikeSlabMRF, load, plots, save
from bayesmrf.data.transitions import transitions, without_order
from bayesmrf.errors import BayesMRFError, DataError, OptionError, TransitionsWarning
from tests.helpers.commands import one_sentence
from tests.statistical.test_panel_kernel import log_weights

QUICK = {"n_draws": 60, "n_warmup": 30, "n_chains": 2, "progress": False, "random_state": 1}
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")


def simulated(rng, lagged, bias, n_people, n_waves, own=0.0):
    """A long table of yes/no items, whose order of rows is random."""
    d = len(lagged)
    a = own * rng.standard_normal((n_people, 1)) * np.ones(d)
    x, rows = (rng.random((n_people, d)) < expit(bias + a)).astype(int), []
    for t in range(n_waves):
        rows.append(pd.DataFrame(x, columns=list("abcdefgh"[:d])).assign(id=np.arange(n_people), t=t))
        x = (rng.random((n_people, d)) < expit(bias + x @ lagged + a)).astype(int)
    return pd.concat(rows).sample(frac=1, random_state=rng.integers(2**31)).reset_index(drop=True)


LAGGED = np.array([[1.5, 1.5, 0.0], [0.0, 1.2, 0.0], [0.0, -1.5, 1.0]])


@pytest.fixture(scope="module")
def table(module_rng):
    return simulated(module_rng, LAGGED, -0.5, 100, 4)


@pytest.fixture(scope="module")
def fitted(table):
    return PanelMRF(**QUICK | {"n_draws": 500}).fit(table, "id", "t")


# Which rows follow each other.


def naive(values, person, wave, step):
    """Pairs of rows, by a loop over all."""
    found = set()
    for i, j in itertools.product(range(len(values)), repeat=2):
        if person[i] == person[j] and abs(wave[j] - wave[i] - step) < 1e-9 and min(*values[i], *values[j]) >= 0:
            found.add((i, j))
    return found


@pytest.mark.parametrize("step", [1, 2, 0.5])
def test_transitions_are_those_of_a_loop(step, rng):
    """With people in any order, gaps, and missing answers; each pair that is left out is counted once."""
    for _ in range(30):
        n = 40
        person, wave = rng.integers(0, 6, n), step * rng.integers(0, 9, n)
        _, first = np.unique(np.stack([person, wave]), axis=1, return_index=True)
        person, wave = person[first], wave[first]
        order = rng.permutation(len(person))
        person, wave = person[order], wave[order]
        values = rng.integers(-1, 5, (len(person), 2)).clip(-1, 1)
        values[rng.random(len(values)) < 0.6] = 0
        _, given = without_order(values, [f"p{q}" for q in person], wave)
        found, whole = transitions(values, given), transitions(values, given, complete=True)
        both = set(zip(whole.before.tolist(), whole.after.tolist(), strict=True))
        assert both == naive(np.zeros_like(values), person, wave, step)
        np.testing.assert_array_equal(whole.of_whole(values).before, found.before)
        assert set(zip(found.before.tolist(), found.after.tolist(), strict=True)) == naive(values, person, wave, step)
        assert len(found.before) + found.n_gaps + found.n_missing == found.n_pairs
        assert found.n_pairs == len(person) - len(np.unique(person))
        assert found.step == step
        earliest = [wave[person == person[i]].min() for i in found.first]
        np.testing.assert_array_equal(wave[found.first], earliest)


def test_waves_may_be_rounded_and_staggered(table):
    """Waves 0.3 and 3 * 0.1 are one; people who are asked every seven days, on days of their own, have one step."""
    same = [
        table.assign(t=np.where(table["id"] % 2, 0.1 * table["t"], table["t"] / 10)),  # 0.30000000000000004, 0.3
        table.assign(t=(0.1 * table["t"]).astype("float32")),
        table.assign(t=7 * table["t"] + table["id"] % 5),
        table.assign(t=1.7e9 + 0.1 * table["t"]),
    ]
    _, order = without_order(table, "id", "t")
    right = transitions(np.zeros((400, 3)), order)
    for one in same:
        _, order = without_order(one, "id", "t")
        found = transitions(np.zeros((400, 3)), order)
        np.testing.assert_array_equal(found.before, right.before)
        np.testing.assert_array_equal(found.after, right.after)
        assert len(found.before) == 300
    _, order = without_order(table.assign(t=7 * table["t"] + (table["t"] == 1)), "id", "t")  # 8, 6 and 7 days
    found = transitions(np.zeros((400, 3)), order)
    assert found.distances == ((6.0, 100), (7.0, 100), (8.0, 100))
    assert found.said == (
        "100 of 300 pairs of consecutive rows are used; skipped are 200 not 6 apart (distances "
        "of successive waves: 6 (100 times), 7 (100 times), 8 (100 times)); if those of a person are one step apart, "
        "number them 1, 2, 3, ..."
    )
    with pytest.raises(DataError, match=r"one row for each wave of person '?1'?, got wave 0.3"):
        without_order(table.assign(t=0.3 + 1e-17 * table["t"]).query("id == 1"), "id", "t")
    values = np.where(table[["t"]] % 2, -1, 0)
    with pytest.raises(
        DataError, match=r"at a distance of 1 without missing answers, got none \(.*: 1 \(300 times\)\)"
    ):
        transitions(values, without_order(table, "id", "t")[1])
    with pytest.raises(DataError, match="two waves of a person, got one row of each of 100 people; check person"):
        PanelMRF(**QUICK).fit(table.query("t == 1"), "id", "t")


def test_a_series_needs_neither_person_nor_wave(table):
    rows = table[["a", "b", "c"]]
    est = PanelMRF(**QUICK).fit(rows)
    assert est.transitions_.n_people == 1
    np.testing.assert_array_equal(est.transitions_.after - est.transitions_.before, 1)
    same = PanelMRF(**QUICK).fit(rows, wave=np.arange(len(rows)))
    np.testing.assert_array_equal(same.theta_, est.theta_)


def test_draws_do_not_depend_on_the_order_of_rows_or_how_columns_are_given(fitted, table):
    rows = table.sort_values("t")
    again = PanelMRF(**QUICK | {"n_draws": 500}).fit(rows[["a", "b", "c"]], rows["id"].to_numpy(), rows["t"])
    np.testing.assert_allclose(again.theta_, fitted.theta_, rtol=1e-9)
    own = [PanelMRF(intercepts="own", **QUICK).fit(one, "id", "t").theta_ for one in (rows, table)]
    np.testing.assert_array_equal(*own)
    for one in (fitted, again):  # transitions are in the order of persons and waves
        given = (table, "id", "t") if one is fitted else (rows[["a", "b", "c"]], rows["id"].to_numpy(), rows["t"])
        one.add_log_likelihood(*given)
    same = [one.posterior_["log_likelihood"]["answers"].values for one in (fitted, again)]
    np.testing.assert_allclose(*same, rtol=1e-6)
    other = rows.assign(t=-rows["t"])  # control: backwards
    assert np.abs(PanelMRF(**QUICK).fit(other, "id", "t").theta_ - again.theta_).max() > 0.1


def test_gaps_are_left_out_and_missing_answers_are_completed(table):
    """Where Z is followed by chains, transitions with missing answers are left out, too."""
    few = table[~((table["id"] == 3) & (table["t"] == 1))].astype({"a": float})
    few.loc[(few["id"] == 7) & (few["t"] == 2), "a"] = np.nan
    with pytest.warns(TransitionsWarning, match=r"298 of 299 .* are used; skipped are 1 not 1 apart\.$"):
        est = PanelMRF(**QUICK).fit(few, "id", "t")
    found = est.table("transitions").set_index("what")["number"]
    assert found.tolist() == [399, 100, 299, 1, 0, 298, 2]
    assert est.table("findings")["text"].str.contains("298 of 299").any()
    with pytest.warns(TransitionsWarning, match="296 of 299 .*; skipped are 1 not 1 apart and 2 with missing"):
        est = PanelMRF(within=True, method="chains", **QUICK).fit(few, "id", "t")
    assert est.table("transitions")["number"].tolist() == [399, 100, 299, 1, 2, 296]


@pytest.mark.parametrize(
    ("options", "given", "error", "message"),
    [
        ({}, {"person": "who"}, OptionError, "person must be a column of X"),
        ({}, {"person": [1, 2]}, OptionError, "person must be one value for each of 400 rows"),
        ({}, {"wave": "t"}, DataError, "one row for each wave, got wave"),
        ({}, {"person": "id", "wave": ["May"] * 400}, OptionError, "wave must be a number for each row, got 'May'"),
        ({}, {"person": "id", "wave": [np.nan] * 400}, DataError, "wave must have a value for each row"),
        (
            {"intercepts": "own"},
            {"wave": np.arange(400), "person": [1] * 400},
            OptionError,
            "intercepts must be 'common' for one series",
        ),
        ({"intercepts": "mine"}, {}, OptionError, "intercepts must be"),
        ({"model": "potts"}, {}, OptionError, "model must be"),
    ],
)
def test_refusals(table, options, given, error, message):
    named = [v for v in given.values() if isinstance(v, str)]
    with pytest.raises(error, match=message):
        PanelMRF(**QUICK | options).fit(table[["a", "b", "c", *{"id", "t"}.intersection(named)]], **given)


# What is found.


def test_lagged_edges_are_found_with_their_direction(fitted):
    there = LAGGED != 0
    assert fitted.lagged_inclusion_[there].min() > 0.9
    assert fitted.lagged_inclusion_[~there].mean() < 0.6  # one of four may be above 0.5 by chance
    likely = {(u, v) for u, v in np.argwhere(fitted.lagged_inclusion_ > 0.5)}
    assert {("abc"[u], "abc"[v]) for u, v in likely} == set(fitted.lagged_graph_.edges)
    assert {("a", "a"), ("b", "b"), ("c", "c"), ("a", "b"), ("c", "b")} <= set(fitted.lagged_graph_.edges)
    assert fitted.lagged_graph_.edges["c", "b"]["weight"] < 0
    assert not fitted.within_inclusion_.any()
    assert fitted.table("lagged").iloc[0]["inclusion"] == fitted.lagged_inclusion_.max()
    np.testing.assert_array_equal(fitted.matrix(), fitted.lagged_inclusion_)
    assert fitted.matrix("weight").loc["c", "b"] < 0


def test_without_a_spike_weights_are_those_of_logistic_regressions(rng):
    """With wide priors and p0 near 1; the two differ by less than a fifth of a standard error at 4,000 transitions."""
    from sklearn.linear_model import LogisticRegression

    table = simulated(rng, 0.5 * LAGGED, -0.3, 1000, 5)
    prior = SpikeSlab(1 - 1e-9, Normal(100.0), 100.0)
    est = PanelMRF(prior, **QUICK | {"n_draws": 1500}).fit(table, "id", "t")
    rows = table.sort_values(["id", "t"])
    before = rows[rows["t"] < 4][["a", "b", "c"]].to_numpy()
    after = rows[rows["t"] > 0][["a", "b", "c"]].to_numpy()
    sd = est.posterior_["posterior"]["theta"].values.reshape(-1, 12).std(axis=0)
    for i in range(3):
        glm = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(before, after[:, i])
        at = [i, 3 + i, 6 + i, 9 + i]
        z = (est.theta_[at] - np.append(glm.coef_[0], glm.intercept_)) / sd[at]
        assert np.abs(z).max() < 0.2
        control = LogisticRegression(C=np.inf).fit(after, before[:, i])  # backwards in time
        assert np.abs((est.theta_[at[:3]] - control.coef_[0]) / sd[at[:3]]).max() > 1


def test_own_intercepts_keep_differences_between_people_out_of_the_lags(rng):
    """People differ, and nothing follows from anything; control: with common intercepts it seems to."""
    table = simulated(rng, np.zeros((3, 3)), -0.3, 150, 8, own=1.5)
    own, common = (PanelMRF(intercepts=i, **QUICK | {"n_draws": 300}).fit(table, "id", "t") for i in ("own", "common"))
    assert own.lagged_inclusion_.mean() < 0.5
    assert common.lagged_inclusion_.mean() > 0.8
    assert set(own.table("intercepts").columns) == {"node", "mean", "lower", "upper"}
    assert own.table("intercepts")["mean"].min() > 0.5
    assert "intercept_sd[a]" in own.table("convergence")["quantity"].to_list()
    assert own.score(table, "id", "t") > common.score(table, "id", "t")


# Predictions.


@pytest.mark.parametrize("within", [False, True])
def test_scores_and_predictions_are_those_of_enumeration(within, rng):
    table = simulated(rng, LAGGED, -0.5, 60, 3)
    table["c"] = (table["c"] + rng.integers(0, 2, len(table))).clip(0, 2)  # an ordered item
    est = PanelMRF(within=within, **QUICK | {"n_draws": 40}).fit(table, "id", "t")
    assert est.model_ == "ordinal"
    items, found, draws = ["a", "b", "c"], est.transitions_, est.posterior_["posterior"]["theta"].values
    before, after = (table[items].to_numpy()[rows] for rows in (found.before, found.after))
    w, states = log_weights(est._panel(), draws.reshape(80, -1), before, 0.0)
    log_p = w - logsumexp(w, axis=-1, keepdims=True)
    at = (states == after[:, None]).all(axis=2).argmax(axis=1)
    each = logsumexp(log_p[:, np.arange(len(at)), at], axis=0) - np.log(80)
    assert est.score(table, "id", "t") == pytest.approx(each.mean(), rel=1e-10)
    p = np.exp(log_p).mean(axis=0)
    wanted = [[p[:, states[:, i] == k].sum(axis=1) for k in range(3)] for i in range(3)]
    found = est.predict_next(table[items].iloc[found.before])
    np.testing.assert_allclose(found, np.transpose(wanted, (2, 0, 1)), atol=1e-12)


# One face.


def test_a_stored_run_is_the_same(tmp_path, table):
    for options in ({}, {"intercepts": "own", "within": True}):
        est = PanelMRF(**QUICK | options).fit(table, "id", "t")
        save(est, path := tmp_path / f"{len(options)}_run")
        same = load(path)
        assert isinstance(same, PanelMRF)
        for name in ("lagged", "nodes", "transitions", "convergence", "findings", *(["within"] if options else [])):
            pd.testing.assert_frame_equal(same.table(name), est.table(name))
        assert same.score(table, "id", "t") == est.score(table, "id", "t")
        assert same.lagged_graph_.edges == est.lagged_graph_.edges
        np.testing.assert_array_equal(same.theta_, est.theta_)
        with pytest.raises(BayesMRFError, match=r"use PanelMRF.load"):
            SpikeSlabMRF.load(path)


def test_a_resumed_run_is_the_same(tmp_path, table):
    """Control: another lag is another run."""
    whole = PanelMRF(**QUICK).fit(table, "id", "t")
    path = tmp_path / "run"
    PanelMRF(**QUICK, checkpoint=path).fit(table, "id", "t")
    again = PanelMRF(**QUICK, checkpoint=path).fit(table, "id", "t")
    np.testing.assert_array_equal(again.theta_, whole.theta_)
    with pytest.raises(BayesMRFError, match="data differ"):
        PanelMRF(**QUICK, checkpoint=path).fit(table.assign(t=-table["t"]), "id", "t")


def test_factors_are_stored_as_of_other_estimators(fitted):
    found, p = fitted.posterior_["edge_evidence"].dataset, fitted.posterior_["posterior"].dataset
    assert {"log_factor", "prior_log_odds", "chain_number", "draw_number"} <= set(found.variables)
    share = expit(found["log_factor"].values + found["prior_log_odds"].values).mean(axis=0)
    np.testing.assert_allclose(share, p["included"].values.mean(axis=(0, 1)), atol=0.15)


def test_pictures_and_the_report_show_both_networks(tmp_path, table):
    est = PanelMRF(within=True, intercepts="own", **QUICK).fit(table, "id", "t")
    ax = plots.plot_panel(est)
    assert len(ax.child_axes) == 2
    arrows = [p for p in ax.child_axes[0].patches if type(p).__name__ == "FancyArrowPatch"]
    loops = [p for p in ax.child_axes[0].patches if type(p).__name__ == "Circle"]
    edges = list(est.lagged_graph_.edges)
    assert (len(arrows), len(loops)) == (sum(u != v for u, v in edges), sum(u == v for u, v in edges))
    assert plots.plot_trace(est).get_ylabel() == "number of edges"
    for plot in (plots.plot_network, plots.plot_inclusion):
        with pytest.raises(OptionError, match="use plot_panel"):
            plot(est)
    text = est.report(tmp_path / "r.html").read_text()
    assert all(
        part in text
        for part in ("Lagged edges", "Edges within a wave", "How much people differ", "from the wave before")
    )


def test_networks_are_exported_with_their_direction(tmp_path, table):
    import networkx as nx

    est = PanelMRF(within=True, **QUICK).fit(table, "id", "t")
    assert repr(est).startswith("PanelMRF, fitted: 300 transitions of 100 people")
    lagged, within = (nx.read_graphml(est.export(tmp_path / "g", "graphml", True) / f"{name}.graphml") for name in
                      ("lagged", "within"))  # fmt: skip
    assert lagged.is_directed()
    assert not within.is_directed()
    for u, v, about in lagged.edges(data=True):
        assert about["inclusion"] == est.lagged_inclusion_["abc".index(u), "abc".index(v)]
    assert (len(lagged.edges), len(within.edges)) == (9, 3)
    assert "a->b" in est.table("structures")["edges"].iloc[0]


def test_the_command_makes_the_same_draws(bayesmrf, table):
    table.to_csv("long.csv", index=False)
    options = ["--n-draws", 60, "--n-warmup", 30, "--n-chains", 2, "--seed", 1, "--out", "run"]
    code, out, _ = bayesmrf("panel", "long.csv", "--person", "id", "--wave", "t", *options)
    assert code == 0
    assert "300 transitions of 100 people, 3 yes/no items, 9 lagged edges" in " ".join(out.split())
    np.testing.assert_array_equal(load("run").theta_, PanelMRF(**QUICK).fit(table, "id", "t").theta_)
    one_sentence(bayesmrf("panel", "long.csv", "--person", "who"), "--person: there is no column 'who'")
    one_sentence(bayesmrf("panel", "long.csv", "--weight", "id"), "--weight must be omitted")


def test_missing_answers_are_drawn(rng, tmp_path):
    """A tenth of all answers is missing at random: edges are those of the whole table, and the run can be resumed."""
    whole = simulated(rng, LAGGED, -0.5, 150, 5).astype({"a": float, "b": float, "c": float})
    table = whole.copy()
    table[["a", "b", "c"]] = whole[["a", "b", "c"]].mask(rng.random((len(whole), 3)) < 0.1)
    empty = table[["a", "b", "c"]].isna().all(axis=1)  # a wave without answers is as one that is not there
    table.loc[empty, "c"] = whole.loc[empty, "c"]
    options = QUICK | {"n_draws": 300}
    est, all_ = (PanelMRF(**options).fit(t, "id", "t") for t in (table, whole))
    assert est.transitions_.n_missing > 150
    assert len(est.transitions_.before) == 600
    sd = all_.posterior_["posterior"]["theta"].values.reshape(600, -1).std(axis=0)
    assert np.abs((est.theta_ - all_.theta_) / sd)[:9][(LAGGED != 0).ravel()].max() < 3
    assert est.lagged_inclusion_[LAGGED != 0].min() > 0.5  # others may be above 0.5 by chance, too
    assert np.abs(est.lagged_inclusion_ - all_.lagged_inclusion_).mean() < 0.3
    for _ in range(2):
        again = PanelMRF(**options, checkpoint=tmp_path / "run").fit(table, "id", "t")
        np.testing.assert_array_equal(again.theta_, est.theta_)
    other = table.copy()
    other.loc[table["a"].isna(), "a"] = 0.0  # control: they are not taken as no
    with pytest.raises(BayesMRFError, match=r"another run|data differ"):
        PanelMRF(**options, checkpoint=tmp_path / "run").fit(other, "id", "t")
    assert np.abs(PanelMRF(**options).fit(other, "id", "t").theta_ - est.theta_).max() > 0.1
    assert "with missing answers, which are drawn" in est.report(tmp_path / "r.html").read_text()


def test_evidence_is_tabulated_by_kind(table):
    est = PanelMRF(within=True, **QUICK | {"n_draws": 500}).fit(table, "id", "t")
    found = est.evidence_table()
    assert found["kind"].value_counts().to_dict() == {"lagged": 6, "autoregression": 3, "within": 3}
    own = found[(found["kind"] == "lagged") & (found["evidence"] == "included")]
    assert {("a", "b"), ("c", "b")} <= set(zip(own["first"], own["second"], strict=True))
    assert (found.loc[found["kind"] == "autoregression", "first"] == found["second"][found["kind"] ==
            "autoregression"]).all()  # fmt: skip
    assert set(est.evidence_table("marginal")["evidence"]) >= {"included"}
