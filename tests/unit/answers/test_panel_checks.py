"""Checks and statistics of panels: what is left out of the model is found, and a true model is not flagged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

from bayesmrf import PanelMRF, load, plots, save
from bayesmrf.errors import ModelFitWarning, OptionError
from tests.statistical.test_panel_kernel import log_weights
from tests.unit.estimators.test_panel import LAGGED, simulated

QUICK = {"n_draws": 150, "n_warmup": 100, "n_chains": 2, "progress": False, "random_state": 1}
pytestmark = pytest.mark.filterwarnings("ignore::bayesmrf.errors.ConvergenceWarning")


def outside(est):
    frame = est.table("checks")
    return set(frame.loc[frame["outside"], "family"])


def joined(rng, n_people, n_waves):
    """Waves of three items, two of which are answered alike at each wave."""
    table = simulated(rng, np.zeros((3, 3)), 0.0, n_people, n_waves)
    table["b"] = np.where(rng.random(len(table)) < 0.7, table["a"], table["b"])
    return table


def test_edges_within_a_wave_that_are_left_out_are_found(rng):
    """Control: with them nothing is outside."""
    table = joined(rng, 150, 4)
    est = PanelMRF(**QUICK).fit(table, "id", "t")
    assert "waves" in outside(est)
    first = est.table("checks").query("family == 'waves'").iloc[0]
    assert first["what"] == "a and b"
    after = table[table["t"] > 0]
    assert first["observed"] == (after["a"] & after["b"]).sum()  # a statistic of yes/no answers is a count of rows
    with pytest.warns(ModelFitWarning, match=r"a and b are both yes in .* in one wave; .* take within=True"):
        PanelMRF(**QUICK | {"n_draws": 500}).fit(table, "id", "t")
    # Anything is outside in one of fifty tables.
    assert "waves" not in outside(PanelMRF(within=True, **QUICK).fit(table, "id", "t"))
    assert "waves" not in outside(PanelMRF(within=True, method="chains", **QUICK).fit(table, "id", "t"))


def test_people_who_differ_for_good_are_found(rng):
    """Control: with their own intercepts nothing is outside."""
    table = simulated(rng, np.zeros((3, 3)), -0.3, 150, 6, own=1.5)
    common, own = (PanelMRF(intercepts=i, **QUICK).fit(table, "id", "t") for i in ("common", "own"))
    assert "earlier" in outside(common)
    assert "earlier" not in outside(own)


def test_a_true_model_is_rarely_outside(rng):
    """Level 0.02 of each table; 5 or more of 40 come by chance with a probability of 2e-4."""
    n = 0
    for seed in range(40):
        table = simulated(rng, LAGGED, -0.5, 80, 3)
        est = PanelMRF(**QUICK | {"random_state": seed, "n_warmup": 50, "n_draws": 100}).fit(table, "id", "t")
        n += bool(outside(est))
    assert n < 5


def test_lagged_products_are_those_of_a_loop(rng):
    table = simulated(rng, LAGGED, -0.5, 60, 3)
    est = PanelMRF(**QUICK).fit(table, "id", "t")
    at = {(row.id, row.t): row for row in table.itertuples()}
    seen = sum(at[i, t].a * at[i, t + 1].b for i in range(60) for t in range(2))
    frame = est.predictive_checks(table, "id", "t", random_state=0).set_index("what")
    assert frame.loc["a and, a wave later, b", "observed"] == seen
    assert (frame.loc["a and, a wave later, b", ["lower", "upper"]] != seen).all()


def test_statistics_are_those_of_a_loop_over_draws(rng, tmp_path):
    import networkx as nx

    est = PanelMRF(within=True, **QUICK).fit(joined(rng, 80, 3), "id", "t")
    theta = est.posterior_["posterior"]["theta"].values.reshape(-1, est._panel().n_features)
    each = {name: [] for name in ("in-strength", "out-strength", "in-expected influence", "out-expected influence",
                                  "autoregression", "strength")}  # fmt: skip
    for draw in theta:
        graph = nx.DiGraph()
        graph.add_weighted_edges_from([(u, v, draw[3 * u + v]) for u in range(3) for v in range(3) if u != v])
        for name, of in {"in-": graph.pred, "out-": graph.succ}.items():
            weights = [[about["weight"] for about in of[i].values()] for i in range(3)]
            each[f"{name}strength"].append([sum(map(abs, w)) for w in weights])
            each[f"{name}expected influence"].append([sum(w) for w in weights])
        each["autoregression"].append(draw[[0, 4, 8]])
        w = np.abs(draw[9:12])
        each["strength"].append([w[0] + w[1], w[0] + w[2], w[1] + w[2]])
    found = est.statistics()
    for name, values in each.items():
        own = found[found["statistic"] == name]
        np.testing.assert_allclose(own["mean"], np.mean(values, axis=0), atol=1e-9)
        assert own["node"].tolist() == ["a", "b", "c"]
    assert {"closeness", "density"} <= set(found["statistic"])
    assert "density" not in set(PanelMRF(**QUICK).fit(joined(rng, 30, 3), "id", "t").statistics()["statistic"])
    pd.testing.assert_frame_equal(est.table("statistics"), found)
    save(est, tmp_path / "r_run")
    same = load(tmp_path / "r_run")
    pd.testing.assert_frame_equal(same.statistics("in-strength", between="nodes"),
                                  est.statistics("in-strength", between="nodes"))  # fmt: skip
    pd.testing.assert_frame_equal(same.table("checks"), est.table("checks"))
    assert len(plots.plot_statistics(est)) == 9
    text = est.report(tmp_path / "r.html").read_text()
    assert all(part in text for part in ("out-expected influence", "Does the model fit?"))
    with pytest.raises(OptionError, match="names must be names of statistics: 'in-strength'"):
        est.statistics("predictability")


@pytest.mark.parametrize("within", [False, True])
def test_log_likelihoods_are_those_of_enumeration(within, rng, tmp_path):
    """And leave-one-out prefers the network within a wave that there is."""
    import arviz_stats

    table = joined(rng, 100, 3)
    est = PanelMRF(within=within, **QUICK).fit(table, "id", "t")
    loo = est.add_log_likelihood(table, "id", "t")
    found, rows = est.transitions_, table[["a", "b", "c"]].to_numpy()
    draws = est.posterior_["posterior"]["theta"].values
    w, states = log_weights(est._panel(), draws.reshape(300, -1), rows[found.before], 0.0)
    at = (states == rows[found.after][:, None]).all(axis=2).argmax(axis=1)
    log_p = (w - logsumexp(w, axis=-1, keepdims=True))[:, np.arange(200), at]
    np.testing.assert_allclose(est.posterior_["log_likelihood"]["answers"].values.reshape(300, 200), log_p, atol=1e-9)
    assert loo["elpd"][0] == pytest.approx(arviz_stats.loo(est.posterior_).elpd, abs=0.1)
    fitted = logsumexp(log_p, axis=0).sum() - 200 * np.log(300)
    assert fitted - 20 < loo["elpd"][0] < fitted - 1  # by about as much as there are parameters
    p = np.exp(w - logsumexp(w, axis=-1, keepdims=True)).mean(axis=0)
    likely = np.stack([p[:, states[:, i] == 1].sum(axis=1) > 0.5 for i in range(3)], axis=1)
    np.testing.assert_allclose(est.table("prediction")["correct"], (likely == rows[found.after]).mean(axis=0))
    other = PanelMRF(within=not within, **QUICK).fit(table, "id", "t").add_log_likelihood(table, "id", "t")
    assert (loo["elpd"][0] > other["elpd"][0] + 3 * loo["se"][0] / 10) == within
    assert "How well are transitions predicted?" in est.report(tmp_path / "r.html").read_text()
    own = PanelMRF(intercepts="own", **QUICK | {"n_draws": 5}).fit(table, "id", "t")
    with pytest.raises(OptionError, match="intercepts must be 'common', as waves of one person are not independent"):
        own.add_log_likelihood(table, "id", "t")
